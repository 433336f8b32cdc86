"""Results of two attributes over HTTP: what the library says of the tally of the look, no more."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import jsonschema_rs
import numpy as np
import pytest

import lapwing as lw
from lapwing.protocol.messages.tally import Tally
from lapwing.results.joint_answers import FEW, JointRequest, joint_answer
from lapwing.service.analyst_routes import MOST_ASKED, pair_question
from lapwing.service.app import ENDPOINTS
from lapwing.service.openapi import openapi_document
from lapwing.service.problem_answers import ProblemError
from lapwing.service.settings import Settings
from tests.service.one_collector import Site, problem, site
from tests.service.test_pair_surveys import PAIRS, fill, starts
from tests.service.test_results import strict

ASKED = (
    "quantile 0.5 of ms",
    "quantile 0.5 of ms given hour at-least 06:00 below 10:00",
    "share ms at-least 1250 and hour at-least 06:00 below 10:00",
)
LABELS = lw.Product(
    kind=lw.Categories(["phone", "tablet", "rare"]), ms=lw.Interval(0, 5000, bins=16)
)
DEVICES = lw.Survey("devices", lw.randomizers.MultiscaleBoxes(LABELS, 4))


def of_devices(people: int) -> list[tuple[str, float]]:
    rng = np.random.default_rng(7)
    kinds = rng.choice(["phone", "tablet", "rare"], people, p=[0.6, 0.395, 0.005])
    return list(zip(kinds.tolist(), rng.gamma(4, 250, people).tolist(), strict=True))


DOCUMENT = openapi_document(ENDPOINTS)


def valid(answer: dict[str, Any]) -> dict[str, Any]:
    """Check an answer against the published schema, and return it."""
    found = DOCUMENT["paths"]["/v1/surveys/{survey}/pairs/{epoch}"]["get"]["responses"]["200"]
    schema = {
        **found["content"]["application/json"]["schema"],
        "components": DOCUMENT["components"],
    }
    jsonschema_rs.Draft202012Validator(schema).validate(answer)
    return answer


def query(*asked: str, **more: str) -> str:
    return str(httpx.QueryParams([*more.items(), *(("ask", each) for each in asked)]))


async def test_a_pair_is_what_the_library_decodes_from_the_tally_of_the_look(here: Site) -> None:
    """More reports are counted meanwhile, and no number of any answer has them."""
    path = await here.publish(PAIRS, epochs=("e", "f"), minimum=3000)
    await fill(here, PAIRS, starts(4000))
    read = here.collector.store.tally
    reads = []

    def noted(*given: Any, **named: Any) -> Tally:
        reads.append(named)
        return read(*given, **named)

    here.collector.store.tally = noted  # type: ignore[method-assign]
    shown = valid(strict(await here.done("GET", f"{path}/pairs/e?{query(*ASKED)}")))
    await fill(here, PAIRS, starts(2900, seed=2))
    tally = Tally.from_document((await here.done("GET", f"{path}/tallies/e")).json())
    joint = PAIRS.decode(tally)
    assert tally.total == 4000 == shown["reports"] == shown["look"]["reports"]
    expected: dict[str, Any] = dict(joint_answer(joint, JointRequest(asks=ASKED)))  # type: ignore[arg-type]
    for key in expected:
        assert json.loads(json.dumps(expected[key])) == shown[key], key
    # Each of these is another order, and decodes or keeps the same.
    for more in ("level=0.9", "draws=true", "level=0.8"):
        later = strict(await here.done("GET", f"{path}/pairs/e?{more}"))
        assert later["map"] == shown["map"] and later["reports"] == 4000
        assert later["level"] == (0.95 if more.startswith("draws") else float(more[6:]))
        for marginal in later["marginals"].values():
            assert marginal["reports"] == 4000
    twice = strict(await here.done("GET", f"{path}/pairs/e?{query(ASKED[0], ASKED[0])}"))
    assert len(twice["questions"]) == 1
    table = await here.done("GET", f"{path}/pairs/e.csv")
    rows = list(csv.DictReader(io.StringIO(table.text)))
    np.testing.assert_allclose([float(row["share"]) for row in rows], joint.mass)
    assert reads and all(named.get("shown") is True for named in reads)
    # The posterior draws come on request alone.
    assert "joint" not in shown
    drawn = valid(strict(await here.done("GET", f"{path}/pairs/e?draws=true")))
    assert not any(order.draws for order in here.collector.results._kept)
    again = lw.results.JointDistribution.from_document(drawn["joint"])
    assert again == joint and again.probability_interval(ms=(0, 1250)) is not None


async def test_pictures_segments_and_what_is_refused(here: Site) -> None:
    path = await here.publish(PAIRS, minimum=500)
    await fill(here, PAIRS, starts(1500), segment=1)
    await fill(here, PAIRS, starts(1000, seed=2), segment=2)
    shown = [
        (await here.done("GET", f"{path}/pairs/e.{form}")).content
        for form in ("svg", "png", "png?quantiles_of=ms", "png?segment=phone")
    ]
    assert shown[0].startswith(b"<?xml") and len({*shown}) == 4
    assert all(each.startswith(b"\x89PNG") for each in shown[1:])
    phone = strict(await here.done("GET", f"{path}/pairs/e?segment=phone"))
    assert phone["reports"] == 1500 == phone["marginals"]["ms"]["reports"]
    other = PAIRS.segments[1]
    gap = f"pairs/e?segment=phone&against=e&against_segment={other}"
    assert np.any(strict(await here.done("GET", f"{path}/{gap}"))["map"]["shares"])
    for asked, words in (
        (f"pairs/e?{query('median')}", "not a question about ms and hour"),
        (f"pairs/e?{query('median')}", "given hour at-least "),
        (f"pairs/e?{query('quantile 2 of ms')}", "from 0 to 1"),
        ("pairs/e.png?quantiles_of=minute", "the axes are ms and hour"),
        ("results/e", "pairs/"),
        ("pairs/e?level=2", "level"),
        ("pairs/e?low=3", "unknown key"),
    ):
        answer = await here.ask("GET", f"{path}/{asked}")
        assert answer.status_code == 400 and words in answer.json()["detail"], asked
    for asked in (f"pairs/e?{query('share ms label x')}", "pairs/e.png?quantiles_of=hour"):
        assert problem(await here.ask("GET", f"{path}/{asked}")) == "cannot-be-said"
    alarm = strict(await here.done("GET", f"{path}/alarms/e"))
    assert alarm["sounds"] is False


def test_at_most_sixteen_questions_are_asked_about_pairs_only() -> None:
    asks = tuple(f"share ms above {number}" for number in range(MOST_ASKED + 1))
    kept: Any = SimpleNamespace(survey=PAIRS)
    assert pair_question(kept, "e", asks=(*asks[1:-1], asks[1])).asks == asks[1:-1]
    with pytest.raises(ProblemError, match="at most 16 questions"):
        pair_question(kept, "e", asks=asks)
    kept.survey = lw.Survey("ms", lw.SquareWave(LABELS.domains[1], 2))
    with pytest.raises(ProblemError, match="asks about one attribute"):
        pair_question(kept, "e")


async def test_a_pair_is_not_decoded_together_with_one_attribute(here: Site) -> None:
    wave = lw.Survey("ms", lw.SquareWave(lw.Interval(0, 5000, bins=16), 2))
    await here.publish(PAIRS, minimum=500)
    path = await here.publish(wave, minimum=500)
    await fill(here, PAIRS, starts(1000))
    await fill(here, wave, [ms for ms, _ in starts(1000)])
    asked = f"results/e?together={PAIRS.fingerprint}/e"
    assert problem(await here.ask("GET", f"{path}/{asked}")) == "cannot-be-said"


async def test_two_epochs_are_compared(here: Site) -> None:
    path = await here.publish(PAIRS, epochs=("e", "f"), minimum=500)
    await fill(here, PAIRS, starts(20_000))
    slower = [(2 * ms, hour) for ms, hour in starts(20_000, seed=2)]
    await fill(here, PAIRS, slower, epoch="f")
    asked = query("share ms at-least 2500", against="e")
    gap = valid(strict(await here.done("GET", f"{path}/pairs/f?{asked}")))
    assert (gap["kind"], gap["people"]) == ("joint-difference", "same")
    (row,) = gap["questions"]
    assert 0 < row["low"] < row["value"] < row["high"]
    assert gap["marginals"]["ms"]["differ"] is True
    assert gap["marginals"]["ms"]["mean"]["low"] > 0
    shares = np.array(gap["map"]["shares"])
    assert abs(shares.sum()) < 1e-9 and (np.array(gap["map"]["low"]) <= shares).all()
    table = await here.done("GET", f"{path}/pairs/f.csv?against=e")
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert len(rows) == shares.size and set(rows[0]) >= {"ms from", "hour to", "low"}
    drawn = await here.done("GET", f"{path}/pairs/f.png?against=e")
    assert drawn.content.startswith(b"\x89PNG")
    refused = await here.ask("GET", f"{path}/pairs/f.png?against=e&quantiles_of=ms")
    assert problem(refused) == "cannot-be-said"
    refused = await here.ask("GET", f"{path}/pairs/f?{query('mean of ms', against='e')}")
    assert problem(refused) == "cannot-be-said"


async def test_few_people_with_a_label_have_no_point(here: Site) -> None:
    path = await here.publish(DEVICES, minimum=500)
    await fill(here, DEVICES, of_devices(40_000))
    asked = query("mean of ms given kind label rare", "mean of ms given kind label phone")
    shown = valid(strict(await here.done("GET", f"{path}/pairs/e?{asked}")))
    few, many = shown["questions"]
    assert few["text"] == "-" and many["text"] != "" != many["interval"]
    assert many["question"] == "mean of ms given kind label phone"
    assert few["note"] == FEW and few["value"] is few["low"] is None
    assert many["note"] is None and many["low"] < many["value"] < many["high"]
    curves = {each["label"]: each for each in shown["labels"]}
    assert curves["rare"]["steps"] is None and curves["rare"]["note"] == FEW
    assert sum(curves["phone"]["steps"]["share"]) == pytest.approx(1, abs=0.05)
    rows = [row for row in shown["quantiles"]["ms"] if row["label"] == "rare"]
    assert rows and all(row["value"] is row["high"] is None for row in rows)


async def test_a_decode_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    async with site(tmp_path, settings=Settings(decode_seconds=0.001)) as here:
        path = await here.publish(PAIRS, minimum=500)
        await fill(here, PAIRS, starts(1000))
        answer = await here.ask("GET", f"{path}/pairs/e")
        assert problem(answer) == "no-result-now" and "retry-after" in answer.headers
