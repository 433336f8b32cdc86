"""The joint answer of several surveys in one collector: the library's, and shown as one is."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any, cast

import numpy as np
import pytest

import lapwing as lw
from lapwing.protocol.messages.batch import Batch
from lapwing.service.analyst_routes import MOST_TOGETHER, _together
from lapwing.service.catalog import KeptSurvey
from lapwing.service.decoding import Kept, carried_out
from lapwing.service.decoding_orders import DecodingAnswer, Missing, Order
from lapwing.service.problem_answers import ProblemError
from tests.service.one_collector import Site, problem, site

LINE = lw.Interval(0, 60, bins=8)
FIRST = lw.Survey("wait", lw.SquareWave(LINE, 2), segments=["north"])
SECOND = lw.Survey("wait, next epoch", lw.MultiscaleWave(LINE, 3))
OTHER = lw.Survey("age", lw.SquareWave(lw.Interval(0, 99, bins=8), 2))
REMEMBERED = lw.Survey("kept", lw.SquareWave(LINE, 3), remembered=True)
RARE = lw.Survey("rare", lw.SquareWave(LINE, 1))
VALUES = np.random.default_rng(5).gamma(4, 5, 900)


async def fill(here: Site, survey: lw.Survey, values: Any, *, epoch: str = "e") -> None:
    batch = Batch.of(survey.randomize(values), survey=survey.fingerprint)
    assert (await here.send(batch, epoch=epoch)).status_code == 201


async def test_two_surveys_give_the_answer_of_the_library(here: Site) -> None:
    path = await here.publish(FIRST)
    await here.publish(SECOND, epochs=("f",))
    await fill(here, FIRST, VALUES[:300])
    await fill(here, SECOND, VALUES[300:], epoch="f")
    store = here.collector.store

    def meant() -> lw.Distribution:
        one = (FIRST, store.tally(FIRST.fingerprint, "e"))
        return lw.decode_together([one, (SECOND, store.tally(SECOND.fingerprint, "f"))])

    asked = f"{path}/results/e?together={SECOND.fingerprint}/f"
    alone = (await here.done("GET", f"{path}/results/e")).json()
    for added in (0, 200):
        if added:  # what comes later, also to the other survey, is in the next answer
            await fill(here, SECOND, VALUES[:added], epoch="f")
        found = (await here.done("GET", asked)).json()
        both = meant()
        np.testing.assert_allclose(found["curve"]["columns"]["share"], both.mass)
        assert found["reports"] == both.reports == 900 + added
        (other,) = found["together"]
        assert (other["survey"], other["epoch"]) == (SECOND.fingerprint, "f")
        assert other["look"]["reports"] == 600 + added
        assert found["guarantee_text"] == str(both.guarantee)
        assert len(found["provenance"]["together"]) == 2
    again = (await here.done("GET", f"{path}/results/e")).json()
    assert again == alone and again["reports"] == 300 and "together" not in again
    table = await here.done("GET", asked.replace("/e?", "/e.csv?"))
    assert len(table.text.splitlines()) == 1 + LINE.size


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """What each wrong question is answered."""
    one, two = FIRST.fingerprint, SECOND.fingerprint
    questions = {
        "no epoch": f"together={two}",
        "nothing": "together=",
        "no survey": "together=/e",
        "unknown survey": f"together={'0' * 64}/e",
        "no fingerprint": "together=x/e",
        "unknown epoch": f"together={two}/g",
        "with itself": f"together={one}/e",
        "twice": f"together={two}/e,{two}/e",
        "segment": f"together={two}/e&segment=north",
        "against": f"together={two}/e&against=f",
        "too many": "together=" + ",".join([f"{two}/e"] * 17),
        "other domain": f"together={OTHER.fingerprint}/e",
        "remembered": f"together={REMEMBERED.fingerprint}/e",
        "too few": f"together={RARE.fingerprint}/e",
        "too few behind another": f"together={two}/e,{RARE.fingerprint}/e",
        "enough": f"together={two}/e",
    }

    async def run() -> dict[str, tuple[int, str]]:
        async with site(tmp_path_factory.mktemp("together")) as here:
            for survey in (FIRST, SECOND, OTHER, REMEMBERED, RARE):
                await here.publish(survey, epochs=("e", "f"), minimum=100)
                await fill(here, survey, VALUES[: 99 if survey == RARE else 100])
                if survey == REMEMBERED:
                    await here.close("e", f"/v1/surveys/{survey.fingerprint}")
            path = f"/v1/surveys/{one}/results/e"
            asked = {what: f"{path}?{query}" for what, query in questions.items()}
            asked["too few first"] = f"{path.replace(one, RARE.fingerprint)}?together={one}/e"
            given = {what: await here.ask("GET", where) for what, where in asked.items()}
            given["no token"] = await here.ask("GET", asked["enough"], token=None)
            return {
                what: (answer.status_code, "" if answer.is_success else problem(answer))
                for what, answer in given.items()
            }

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("what", "status", "word"),
    [
        ("no epoch", 400, "malformed-request"),
        ("nothing", 400, "malformed-request"),
        ("no survey", 400, "malformed-request"),
        ("unknown survey", 404, "unknown-survey"),
        ("no fingerprint", 404, "unknown-survey"),
        ("unknown epoch", 404, "unknown-epoch"),
        ("with itself", 400, "malformed-request"),
        ("twice", 400, "malformed-request"),
        ("segment", 400, "malformed-request"),
        ("against", 400, "malformed-request"),
        ("too many", 400, "malformed-request"),
        ("other domain", 422, "cannot-be-said"),
        ("remembered", 422, "cannot-be-said"),
        # What may not be shown alone is not shown together, and both need a role.
        ("too few", 403, "too-few-reports"),
        ("too few behind another", 403, "too-few-reports"),
        ("too few first", 403, "too-few-reports"),
        ("no token", 401, "token-needed"),
        ("enough", 200, ""),
    ],
)
def test_a_wrong_question_is_refused(
    answers: dict[str, tuple[int, str]], what: str, status: int, word: str
) -> None:
    assert answers[what] == (status, word)


def test_as_many_are_named_as_the_limit_says() -> None:
    def find(fingerprint: str) -> KeptSurvey:
        return cast(KeptSurvey, fingerprint)

    parts = [f"{number:064x}/e.{number}" for number in range(MOST_TOGETHER + 1)]
    found = _together(",".join(parts[1:]), find)
    assert [f"{survey}/{epoch}" for survey, epoch in found] == parts[1:]
    with pytest.raises(ProblemError, match="at most 16 other surveys"):
        _together(",".join(parts), find)


class InThisProcess:
    """What decodes, without a process of its own; it forgets at once where it is told to."""

    def __init__(self, *, forgetful: bool) -> None:
        self.forgetful = forgetful
        self.kept: Kept = OrderedDict()
        self.orders: list[Order] = []

    def ask(self, order: Order, materials: Any) -> Missing | DecodingAnswer:
        self.orders.append(order)
        found = carried_out(order, materials, self.kept, most=16)
        if self.forgetful:
            self.kept.clear()
        return found if isinstance(found, Missing) else DecodingAnswer(found, ())

    def stop(self) -> None:
        """There is nothing to end."""


async def test_three_are_decoded_each_by_its_own_minimum(here: Site) -> None:
    path = await here.publish(FIRST, minimum=100)
    await fill(here, FIRST, VALUES[:100])
    for survey, many in ((SECOND, 60), (RARE, 50)):
        await here.publish(survey, minimum=50)
        await fill(here, survey, VALUES[:many])
    decoding = InThisProcess(forgetful=False)
    here.collector.results._processes = cast(Any, [decoding])
    asked = f"{path}/results/e?together={SECOND.fingerprint}/e,{RARE.fingerprint}/e"
    found = (await here.done("GET", asked)).json()
    store = here.collector.store
    surveys = (FIRST, SECOND, RARE)
    meant = lw.decode_together([(one, store.tally(one.fingerprint, "e")) for one in surveys])
    np.testing.assert_allclose(found["curve"]["columns"]["share"], meant.mass)
    assert found["reports"] == 210
    assert decoding.orders[-1].title == "wait, wait, next epoch, rare"


async def test_what_was_forgotten_meanwhile_is_sent_along_again(here: Site) -> None:
    path = await here.publish(FIRST, epochs=("e", "f"))
    for epoch in ("e", "f"):
        await fill(here, FIRST, VALUES[:100], epoch=epoch)
    decoding = InThisProcess(forgetful=False)
    here.collector.results._processes = cast(Any, [decoding])
    await here.done("GET", f"{path}/results/e")  # kept, so only the other is asked for
    decoding.forgetful = True
    found = (await here.done("GET", f"{path}/results/e?against=f")).json()
    assert found["against"] == "f"
    assert len(decoding.orders) == 2 + 3
