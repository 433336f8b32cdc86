"""Results over HTTP: what the library says of the same tally, and nothing of too few people."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.planning.poisoning_alarm import check_poisoning
from lapwing.protocol.messages.batch import Batch
from lapwing.protocol.messages.tally import Tally
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.answers import difference_answer, result_answer
from lapwing.results.asked_numbers import share_between
from lapwing.service.decoding_orders import DecodingAnswer, Key, Material, Missing, Order
from lapwing.service.decoding_process import DecodingFailedError, DecodingProcess
from lapwing.service.settings import Settings
from tests.service.one_collector import Site, batch_of, labels_survey, problem, site

NUMBERS = lw.Survey("hours", lw.SquareWave(lw.Interval(0, 80, bins=32), epsilon=3))
LABELS = labels_survey(segments=["north", "south"], segment_minimum=50)
DAYS = lw.Survey(
    "births",
    lw.SquareWave(lw.Interval("2026-01-01", "2026-12-31", bins=13, unit="date"), epsilon=3),
)
VALUES = np.random.default_rng(5).normal(38, 8, 3000)


def strict(answer: Any) -> dict[str, Any]:
    """The JSON of an answer, which must be strict: no NaN."""

    def refuse(word: str) -> None:
        raise AssertionError(word)

    found: dict[str, Any] = json.loads(answer.text, parse_constant=refuse)
    return found


async def fill(here: Site, survey: lw.Survey, values: Any, **where: Any) -> None:
    reports = survey.randomize(values)
    epoch = where.pop("epoch", "e")
    batch = Batch.of(reports, survey=survey.fingerprint, **where)
    assert (await here.send(batch, epoch=epoch)).status_code == 201


async def test_a_result_is_what_the_library_decodes(here: Site) -> None:
    path = await here.publish(NUMBERS, epochs=("e", "f"), minimum=1000)
    await fill(here, NUMBERS, VALUES)
    await fill(here, NUMBERS, VALUES + 5, epoch="f")
    tally = Tally.from_document((await here.done("GET", f"{path}/tallies/e")).json())
    assert tally == here.collector.store.tally(NUMBERS.fingerprint, "e")
    expected = NUMBERS.decode(tally)

    found = strict(await here.done("GET", f"{path}/results/e?low=20&high=40&level=0.9"))
    columns = found["curve"]["columns"]
    np.testing.assert_allclose(columns["share"], expected.mass[1:-1])
    np.testing.assert_allclose(columns["cdf"], expected.cumulative.sums[1:-1])
    outside = [found["outside"][side]["share"] for side in ("below", "above")]
    np.testing.assert_allclose(outside, expected.mass[[0, -1]])
    assert {len(column) for column in columns.values()} == {32}
    assert found["reports"] == 3000 and found["survey"] == NUMBERS.fingerprint
    (asked,) = found["questions"]
    assert asked["share"] == pytest.approx(expected.probability(20, 40))
    assert (asked["low"], asked["high"]) == pytest.approx(
        expected.probability_interval(20, 40, level=0.9)
    )
    median = next(row for row in found["quantiles"] if row["probability"] == 0.5)
    assert median["value"] == pytest.approx(float(expected.quantile(0.5)))
    assert median["low"] <= median["value"] <= median["high"]
    band = expected.confidence_band(0.9)
    assert band is not None
    # Where next to nobody is above, a deviation is the root of a rounding error.
    np.testing.assert_allclose(columns["low"], band.monotone().low[1:-1], atol=5e-5)

    few = strict(await here.done("GET", f"{path}/results/e?quantiles=0.3,1"))
    assert [row["probability"] for row in few["quantiles"]] == [0.3, 1.0]
    open_end = strict(await here.done("GET", f"{path}/results/e?high=40"))
    assert open_end["questions"][0]["share"] == pytest.approx(float(expected.cdf(40)))

    change = strict(await here.done("GET", f"{path}/results/f?against=e"))
    assert (change["kind"], change["people"]) == ("difference", "same")
    assert change["reports"] == change["against_reports"] == 3000
    assert change["differ"] is True  # by five hours, of 3000 people with epsilon 3
    assert change["mean"]["low"] <= change["mean"]["shift"] <= change["mean"]["high"]
    await pictures_and_tables(here, f"{path}/results/f", f"{path}/results/f")

    alarm = strict(await here.done("GET", f"{path}/alarms/e"))
    told = check_poisoning(NUMBERS.randomizer, tally)
    assert alarm["sounds"] is told.sounds and alarm["sentence"] == told.sentence
    assert alarm["p_value"] == pytest.approx(told.p_value)

    # Reports that come later are in the next look.
    for reports in (3000, 4000):
        await fill(here, NUMBERS, VALUES[:500])
        later = strict(await here.done("GET", f"{path}/results/e"))
        assert later["reports"] == later["look"]["reports"] == reports


async def pictures_and_tables(here: Site, path: str, compared: str) -> None:
    for ending, media_type, start in (
        (
            "csv",
            "text/csv; charset=utf-8",
            b'"left","right","share","cdf","low","high","interval","about"\n',
        ),
        ("svg", "image/svg+xml", b"<?xml"),
        ("png", "image/png", b"\x89PNG"),
    ):
        answer = await here.done("GET", f"{path}.{ending}")
        assert answer.headers["content-type"] == media_type
        assert answer.content.startswith(start)
        again = await here.done("GET", f"{path}.{ending}")
        assert again.content == answer.content
        other = await here.done("GET", f"{compared}.{ending}?against=e")
        assert other.content != answer.content


async def test_labels_and_segments(here: Site) -> None:
    path = await here.publish(LABELS, minimum=20)
    await fill(here, LABELS, [1] * 300 + [2] * 300, segment=1)
    await fill(here, LABELS, [1] * 600, segment=2)
    found = strict(await here.done("GET", f"{path}/results/e"))
    assert found["kind"] == "labels" and found["labels"] == 8
    shares = [row["share"] for row in found["shares"]]
    assert shares == sorted(shares, reverse=True) and sum(shares) == pytest.approx(1)
    assert [row["label"] for row in found["shares"][:2]] == [1, 2]
    assert all(row["low"] <= row["share"] <= row["high"] for row in found["shares"])
    north = strict(await here.done("GET", f"{path}/results/e?segment=north"))
    assert (north["reports"], north["segment"]) == (600, "north")
    change = strict(await here.done("GET", f"{path}/results/e?segment=north&against_segment=south"))
    assert (change["people"], change["against_segment"]) == ("different", "south")
    assert {row["label"] for row in change["shares"][:2]} == {1, 2}
    table = await here.done("GET", f"{path}/results/e.csv?segment=north")
    rows = list(csv.DictReader(io.StringIO(table.text)))
    columns = {"label", "share", "low", "high", "interval", "about"}
    assert len(rows) == 8 and set(rows[0]) == columns
    assert (
        {row["interval"] for row in rows}
        == {"simultaneous"}
        == {row["interval"] for row in (*found["shares"], *change["shares"])}
    )
    # Those of a segment are among everybody.
    whole = await here.done("GET", f"{path}/results/e?against_segment=south")
    assert strict(whole)["people"] == "same"
    picture = await here.done("GET", f"{path}/results/e.svg?segment=south")
    assert b"north" not in picture.content

    for query, status, word in (
        ("segment=east", 404, "unknown-segment"),
        ("segment=other", 403, "too-few-reports"),
        ("against_segment=other", 403, "too-few-reports"),
        ("against=f", 404, "unknown-epoch"),
        ("segment=north&against_segment=north", 400, "malformed-request"),
        ("low=1&high=2", 422, "cannot-be-said"),
        ("level=1", 400, "malformed-request"),
        ("level=nan", 400, "malformed-request"),
        ("quantiles=0.5,2", 400, "malformed-request"),
        ("quantiles=", 400, "malformed-request"),
        ("quantile=0.5", 400, "malformed-request"),
        ("level=0.9&level=0.8", 400, "malformed-request"),
        (f"low={'1' * 200}", 400, "malformed-request"),
    ):
        answer = await here.ask("GET", f"{path}/results/e?{query}")
        assert (answer.status_code, problem(answer)) == (status, word), query


async def test_an_epoch_imported_again_shows_its_own_reports(here: Site) -> None:
    path = await here.publish(LABELS)
    before = list(here.collector.store.export(LABELS.fingerprint))
    shares = []
    for symbol in (1, 6):
        await here.send(batch_of(LABELS, *[symbol] * 50))
        result = strict(await here.done("GET", f"{path}/results/e"))
        shares.append({row["label"]: row["share"] for row in result["shares"]})
        await here.done("DELETE", path)
        here.collector.store.import_(before)
        here.collector.catalog.load()
    assert shares[0] != shares[1]


async def test_a_segment_is_asked_for_in_either_unicode_form(here: Site) -> None:
    survey = labels_survey(segments=["cafe\u0301"], segment_minimum=50)
    path = await here.publish(survey, minimum=20)
    await fill(here, survey, [1] * 300, segment=1)
    found = [
        strict(await here.done("GET", f"{path}/results/e?segment={written}"))
        for written in ("caf%C3%A9", "cafe%CC%81")
    ]
    assert found[0]["reports"] == 300
    assert [found[0][key] for key in ("shares", "segment")] == [
        found[1][key] for key in ("shares", "segment")
    ]


async def test_a_segment_that_is_hidden_beside_a_small_one_says_so(here: Site) -> None:
    path = await here.publish(LABELS, minimum=100)
    await fill(here, LABELS, [1] * 150, segment=1)
    await fill(here, LABELS, [1] * 5, segment=2)
    for segment, said in (("north", "is hidden although"), ("south", "fewer than 100 ")):
        answer = await here.ask("GET", f"{path}/results/e?segment={segment}")
        assert (answer.status_code, problem(answer)) == (403, "too-few-reports")
        assert said in answer.json()["detail"], segment


async def test_nothing_is_shown_of_too_few(here: Site) -> None:
    path = await here.publish(LABELS, minimum=100)
    await fill(here, LABELS, [1] * 99, segment=1)
    for where in ("results/e", "results/e.csv", "results/e.png", "tallies/e"):
        answer = await here.ask("GET", f"{path}/{where}")
        assert (answer.status_code, problem(answer)) == (403, "too-few-reports"), where
        assert answer.json()["minimum"] == 100
    await fill(here, LABELS, [1], segment=1)
    await here.done("GET", f"{path}/tallies/e")
    await here.done("GET", f"{path}/tallies/e?segment=north")
    await fill(here, LABELS, [1] * 30, segment=2)
    # All, less the north, would be the thirty of the south: the look stays.
    for segment in ("", "?segment=north"):
        tally = (await here.done("GET", f"{path}/tallies/e{segment}")).json()
        assert tally["reports"] == [100]
    await here.close("e", path)
    for segment, status in (("north", 200), ("south", 403)):
        answer = await here.ask("GET", f"{path}/tallies/e?segment={segment}")
        assert answer.status_code == status
    assert (await here.done("GET", f"{path}/tallies/e")).json()["reports"] == [100]


@pytest.mark.parametrize("where", ["results/e", "results/e.csv", "tallies/e", "alarms/e"])
@pytest.mark.parametrize("segment", ["", "?segment=north"])
async def test_what_became_too_few_between_two_looks_is_not_shown(
    here: Site, monkeypatch: pytest.MonkeyPatch, where: str, segment: str
) -> None:
    survey = labels_survey(segments=["north"], segment_minimum=10)
    store = here.collector.store
    path = await here.publish(survey, minimum=10)
    await fill(here, survey, [1] * 9, segment=1)
    before = list(store.export(survey.fingerprint))
    await fill(here, survey, [1], segment=1)
    look = store.look

    def looked(fingerprint: str, epoch: str, *, now: float) -> Any:
        found = look(fingerprint, epoch, now=now)
        store.delete_survey(fingerprint)
        store.import_(before)
        return found

    monkeypatch.setattr(store, "look", looked)
    answer = await here.ask("GET", f"{path}/{where}{segment}")
    assert (answer.status_code, problem(answer)) == (403, "too-few-reports")
    monkeypatch.undo()
    await fill(here, survey, [1], segment=1)
    await here.done("GET", f"{path}/{where}{segment}")


@pytest.mark.parametrize(
    "survey",
    [labels_survey(remembered=True), lw.Survey("habit", lw.Rappor(lw.Categories(8), 1))],
    ids=["report", "round"],
)
async def test_periods_of_remembered_answers_are_not_compared(
    here: Site, survey: lw.Survey
) -> None:
    path = await here.publish(survey, epochs=("e", "f"))
    await here.send(batch_of(survey, 1, 2, 3))
    await here.send(batch_of(survey, 1, 2, 3), epoch="f")
    answer = await here.ask("GET", f"{path}/results/e?against=f")
    assert (answer.status_code, problem(answer)) == (422, "cannot-be-said")


async def test_a_slow_decode_holds_up_no_upload(here: Site) -> None:
    begun, go_on = threading.Event(), threading.Event()
    path = await here.publish(NUMBERS)
    await fill(here, NUMBERS, VALUES)
    (process,) = here.collector.results._processes
    ask = process.ask

    def slow(order: Order, materials: Any) -> Any:
        begun.set()
        assert go_on.wait(60)
        return ask(order, materials)

    process.ask = slow  # type: ignore[method-assign]
    waiting = asyncio.create_task(here.ask("GET", f"{path}/results/e"))
    assert await asyncio.to_thread(begun.wait, 60)
    assert (await here.send(batch_of(NUMBERS, 0))).status_code == 201
    assert not waiting.done()
    go_on.set()
    assert (await waiting).json()["reports"] >= 3000


async def test_a_decode_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    async with site(tmp_path, settings=Settings(decode_seconds=0.001)) as here:
        path = await here.publish(NUMBERS)
        await fill(here, NUMBERS, VALUES)
        answer = await here.ask("GET", f"{path}/results/e")
        assert (answer.status_code, problem(answer)) == (503, "no-result-now")
        assert answer.headers["retry-after"]


def order_of(survey: lw.Survey, reports: int, **more: Any) -> Order:
    key = Key(survey.fingerprint, "e", None, reports)
    plain = Order(
        key, None, "same", "population", "json", 0.95, (), (0.5,), "title", ("first", "second")
    )
    return plain._replace(**more)


def test_the_process_asks_for_what_it_lacks_and_keeps_what_it_decoded() -> None:
    tally = NUMBERS.tally(NUMBERS.randomize(VALUES))
    order = order_of(NUMBERS, 3000)
    process = DecodingProcess(seconds=120)
    try:
        assert process.ask(order, {}) == Missing((order.key,))
        material = {order.key: Material(NUMBERS.to_json().encode(), tally)}
        made = process.ask(order, material)
        assert isinstance(made, DecodingAnswer) and made.content["kind"] == "numbers"
        assert process.ask(order._replace(level=0.5), {}) != Missing((order.key,))
    finally:
        process.stop()
    with pytest.raises(DecodingFailedError, match="stopping"):
        process.ask(order, {})


def test_a_survey_that_took_too_long_rests_and_others_are_decoded() -> None:
    others, clock = order_of(labels_survey(), 40), [0.0]
    order = order_of(NUMBERS, 3000)
    process = DecodingProcess(seconds=120, clock=lambda: clock[0])
    try:
        assert process.ask(order, {}) == Missing((order.key,))
        process._seconds = 0.0
        with pytest.raises(DecodingFailedError, match=r"no result within 0 seconds$"):
            process.ask(order, {})
        process._seconds = 120.0
        process._rest[NUMBERS.fingerprint] += 120.0
        for each in (order, order._replace(level=0.5), order_of(NUMBERS, 9000)):
            with pytest.raises(DecodingFailedError, match="other surveys are decoded"):
                process.ask(each, {})
        assert process.ask(others, {}) == Missing((others.key,))
        clock[0] = 121.0
        assert process.ask(order, {}) == Missing((order.key,))
    finally:
        process.stop()


def test_dates_are_told_and_asked_as_dates() -> None:
    days = np.arange("2026-02-01", "2026-12-01", dtype="M8[D]").repeat(10)
    found = DAYS.decode(DAYS.tally(DAYS.randomize(days)))
    ends = (("2026-03-01", "2026-06-30"), ("", "2026-06-30"))
    asked = [share_between(*each, found.domain) for each in ends]
    request = AnswerRequest(curve=True, shares=asked)
    document: Any = result_answer(found, request)
    assert document["unit"] == "date"
    assert document["curve"]["columns"]["right_text"][-1] == "2026-12-31"
    assert all(row["text"].startswith("2026-") for row in document["quantiles"])
    assert document["questions"][0]["share"] < document["questions"][1]["share"]
    change: Any = difference_answer(found.difference(found), AnswerRequest())
    assert change["differ"] is False and change["mean"]["shift"] == 0


async def test_frequent_values_of_a_huge_domain(here: Site) -> None:
    survey = lw.Survey(
        "words", lw.papers.baselines.PrefixHashing(lw.HashedStrings(bits=16), epsilon=4)
    )
    values = ["alpha"] * 2000 + ["beta"] * 1000 + [f"w{number}" for number in range(500)]
    path = await here.publish(survey)
    await fill(here, survey, values)
    found = strict(await here.done("GET", f"{path}/results/e"))
    assert found["kind"] == "heavy-hitters" and found["reports"] == 3500
    assert found["listed"] == len(found["shares"])
    table = await here.done("GET", f"{path}/results/e.csv")
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert len(rows) == found["listed"]
    await here.done("GET", f"{path}/results/e.svg")
    answer = await here.ask("GET", f"{path}/alarms/e")
    assert (answer.status_code, problem(answer)) == (422, "cannot-be-said")
