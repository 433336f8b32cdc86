"""Questions over HTTP: what a survey asks, and what an address asks with ``ask=``."""

from __future__ import annotations

import csv
import io
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from lapwing.protocol.messages.tally import Tally
from lapwing.service.security import COOKIE
from lapwing.service.settings import Settings
from tests.engines.asked_survey import WAYS, label_survey
from tests.service.one_collector import ANALYST, Site, labels_survey, problem, site
from tests.service.test_results import fill, strict

INCOME = lw.Interval(0, 500_000, bins=50)
VALUES = np.random.default_rng(5).lognormal(10.4, 0.8, 4000).clip(0, 499_000)


@cache
def asking(*questions: str) -> lw.Survey:
    best = lw.recommend(INCOME, epsilon=4, users=20_000, questions=questions)
    return lw.Survey("income", best)


def rich() -> lw.Survey:
    return asking("share above 50000", "mean")


LABELS = labels_survey()


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


async def of_library(here: Site, path: str, survey: lw.Survey) -> lw.Distribution:
    tally = Tally.from_document((await here.done("GET", f"{path}/tallies/e")).json())
    return survey.decode(tally)


async def page_of(here: Site, survey: lw.Survey) -> str:
    headers = {"cookie": f"{COOKIE}={ANALYST}"}
    path = f"/surveys/{survey.fingerprint}?wait=1"
    answer = await here.ask("GET", path, token=None, headers=headers)
    assert answer.status_code == 200
    return answer.text


@pytest.mark.filterwarnings("ignore:.*are outside the range:lapwing.errors.LimitedWarning")
async def test_a_survey_answers_its_questions_and_others(
    tmp_path: Path, settings: Settings
) -> None:
    """On either kind of database, with the numbers of the library."""
    async with site(tmp_path, database=settings.database) as here:
        path = await here.publish(rich())
        await fill(here, rich(), VALUES)
        expected = await of_library(here, path, rich())
        found = strict(await here.done("GET", f"{path}/results/e?level=0.9"))
        named = [each["question"] for each in found["answers"]]
        assert named == [each.to_document() for each in rich().questions]
        for each, question in zip(found["answers"], rich().questions, strict=True):
            same = expected.answer(question, level=0.9).to_document()
            assert {name: each[name] for name in same} == json.loads(json.dumps(same))
        (line,) = found["answers"][0]["lines"]
        assert line["question"] == "share above 50000" and line["text"].endswith("%")

        others = "ask=histogram+edges+0+50000+500000&ask=share+at-most+20000"
        answers = strict(await here.done("GET", f"{path}/results/e?{others}"))["answers"]
        cells = expected.answer("histogram edges 0 50000 500000")
        assert answers[0]["value"] == cells.value.tolist()
        named = [[line["question"] for line in each["lines"]] for each in answers]
        assert named == [["0 to 50000", "50000 to 500000"], ["share at-most 20000"]]

        (share, mean) = rows((await here.done("GET", f"{path}/results/e.csv")).text)
        assert float(share["low"]) == expected.answer("share above 50000").low
        assert mean["question"] == "mean" and mean["about"] == "the people in the data"
        asked = rows((await here.done("GET", f"{path}/results/e.csv?{others}")).text)
        assert [float(row["value"]) for row in asked[:2]] == cells.value.tolist()
        curve = rows((await here.done("GET", f"{path}/results/e.csv?ask=curve")).text)
        assert len(curve) == expected.mass.size

        drawn = [
            (await here.done("GET", f"{path}/results/e.svg{query}")).text
            for query in ("", f"?{others}", "?ask=curve")
        ]
        assert len(set(drawn)) == 3


async def test_what_cannot_be_asked_is_refused(here: Site) -> None:
    path = await here.publish(rich(), epochs=("e", "f"))
    labels = await here.publish(LABELS)
    for epoch in ("e", "f"):
        await fill(here, rich(), VALUES, epoch=epoch)
    await fill(here, LABELS, [1, 2, 3] * 20)
    many = "&".join(f"ask=share+above+{number}" for number in range(17))
    for query, status, word in (
        ("ask=shar+above+3", 400, "malformed-request"),
        ("ask=", 400, "malformed-request"),
        (many, 400, "malformed-request"),
        ("ask=mean&against=f", 400, "malformed-request"),
        ("ask=mean&level=0.9&level=0.8", 400, "malformed-request"),
        ("ask=share+above+monday", 422, "cannot-be-said"),
        ("ask=share+label+nowhere", 422, "cannot-be-said"),
    ):
        answer = await here.ask("GET", f"{path}/results/e?{query}")
        assert (answer.status_code, problem(answer)) == (status, word), query
    for form, query in ((".png", "ask=mean"), (".csv", "ask=mean&ask=curve")):
        answer = await here.ask("GET", f"{path}/results/e{form}?{query}")
        assert (answer.status_code, problem(answer)) == (422, "cannot-be-said")
    answer = await here.ask("GET", f"{labels}/results/e?ask=mean")
    assert (answer.status_code, problem(answer)) == (422, "cannot-be-said")
    found = strict(await here.done("GET", f"{labels}/results/e?ask=share+label+1"))
    assert found["answers"][0]["value"] is not None


async def test_a_survey_that_asks_for_the_curve_too_shows_both(here: Site) -> None:
    for survey, only in ((rich(), True), (asking("share above 50000", "curve"), False)):
        path = await here.publish(survey)
        await fill(here, survey, VALUES)
        result = await of_library(here, path, survey)
        page = await page_of(here, survey)
        (line,) = strict(await here.done("GET", f"{path}/results/e"))["answers"][0]["lines"]
        assert f">{line['text']}</td><td>{line['interval']}</td>" in page
        assert ("data-chart" in page) is not only
        assert "Share above 50000 (root mean square)" in page
        assert 'id="error-form"' not in page
        assert ("was not designed for the whole distribution" in page) is only
        table = rows((await here.done("GET", f"{path}/results/e.csv")).text)
        assert ("cdf" in table[0]) is not only
        assert len(table) == (2 if only else result.mass.size)


@pytest.mark.parametrize("more", [(), ("curve",)])
async def test_the_share_of_one_label_is_that_of_the_library(
    here: Site, more: tuple[str, ...]
) -> None:
    survey = label_survey(*more)
    path = await here.publish(survey)
    await fill(here, survey, WAYS)
    expected = (await of_library(here, path, survey)).answer(survey.questions[0])
    (answer,) = strict(await here.done("GET", f"{path}/results/e"))["answers"]
    assert answer["value"] == expected.value and answer["low"] == expected.low
    assert abs(answer["value"] - 0.4) < 0.1
    (line,) = answer["lines"]
    assert f">{line['text']}</td><td>{line['interval']}</td>" in await page_of(here, survey)
    table = rows((await here.done("GET", f"{path}/results/e.csv")).text)
    assert len(table) == (8 if more else 1)


async def test_questions_move_with_the_state_of_a_survey(
    tmp_path: Path, settings: Settings
) -> None:
    async with site(tmp_path, database=settings.database) as here:
        path = await here.publish(rich())
        await fill(here, rich(), VALUES)
        store = here.collector.store
        before = strict(await here.done("GET", f"{path}/results/e"))
        state = b"".join(store.export(rich().fingerprint))
    other = tmp_path / "other"
    other.mkdir()
    async with site(other) as there:
        there.collector.store.import_([state])
        there.collector.catalog.load()
        after = strict(await there.done("GET", f"{path}/results/e"))
        assert after["answers"] == before["answers"] and len(after["answers"]) == 2


async def test_an_admin_changes_the_questions_while_people_answer(
    tmp_path: Path, settings: Settings
) -> None:
    """They are no term of the survey: neither its fingerprint nor its text changes."""
    async with site(tmp_path, database=settings.database) as here:
        path = await here.publish(rich())
        await fill(here, rich(), VALUES)
        asked = lw.Survey("income", rich().randomizer, questions=["share at-most 50000"])
        assert asked.fingerprint == rich().fingerprint
        before = strict(await here.done("GET", f"{path}/results/e"))["answers"]
        for survey in (asked, lw.Survey("income", rich().randomizer)):
            await here.done("PUT", path, json={"survey": survey.to_document(), "minimum": 1})
            (answer,) = strict(await here.done("GET", f"{path}/results/e"))["answers"]
            assert answer["question"] == {"question": "share", "at_most": "50000"}
            assert answer["value"] == pytest.approx(1 - before[0]["value"])
            (row,) = rows((await here.done("GET", f"{path}/results/e.csv")).text)
            assert row["question"] == "share at-most 50000"
        assert here.collector.store.notices(rich().fingerprint) == []
        await here.close("e", path)
        spoken = lw.Survey("income", rich().randomizer, question="What do you earn?")
        await here.done("PUT", path, json={"survey": spoken.to_document(), "minimum": 1})
        kept = here.collector.catalog.get(rich().fingerprint)
        assert kept.survey.question and kept.survey.questions == asked.questions


async def test_a_survey_of_labels_shows_all_shares_after_the_one_that_it_asks(here: Site) -> None:
    survey = lw.Survey("letters", LABELS.randomizer, questions=["share label 1"])
    path = await here.publish(survey)
    await fill(here, survey, [1, 2, 3] * 40)
    found = strict(await here.done("GET", f"{path}/results/e"))
    (answer,) = found["answers"]
    assert answer["question"] == {"question": "share", "label": "1"}
    page = await page_of(here, survey)
    caption = page.index("Questions of the survey")
    assert caption < page.index("Shares of the choices")
    assert "was not designed for the whole distribution" not in page
    assert len(rows((await here.done("GET", f"{path}/results/e.csv")).text)) == 8
