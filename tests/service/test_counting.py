"""How reports become rows: for every randomizer there is, and whatever bytes come."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from lapwing import registry
from lapwing.documents import canonical
from lapwing.errors import ArgumentError, ReportError, StoreError
from lapwing.privacy.sampling.randomness import seeded
from lapwing.randomizers.two_level import CodeReports
from lapwing.service.storage import counting as module
from lapwing.service.storage.counting import COUNTS, RECORDS, Counting, Row
from tests.contracts.registered import RandomizerCase, randomizer_cases
from tests.service.uploading import HASHED, LABELS

CASES = {
    name: case
    for case in randomizer_cases(1)
    if (name := case.values[0].randomizer.name) in registry.RANDOMIZERS  # others have no surveys
}.values()
"""One domain of each randomizer."""


def counting_of(survey: lw.Survey) -> Counting:
    return Counting(canonical(survey.to_document()))


@pytest.mark.parametrize("case", CASES)
def test_rows_say_what_the_reports_said(case: RandomizerCase) -> None:
    survey = lw.Survey("any", case.randomizer)
    counting = counting_of(survey)
    points = np.arange(40) % case.inputs
    reports = survey.randomize(case.values(points), rng=seeded(1))
    truth = survey.tally(reports)
    assert counting.nothing.total == 0 and counting.nothing + truth == truth
    halves = [reports.data[:13].tobytes(), reports.data[13:].tobytes()]
    rows = [counting.row(half) for half in halves]
    assert sum(row.reports for row in rows) == 40
    assert counting.total(rows) == counting.total(rows[::-1]) == truth
    folded = counting.folded(rows)
    assert counting.total([folded]) == truth and folded.reports == 40
    assert counting.folded([folded, *rows]) == counting.folded([*rows, folded])
    # The order in which they came is in no row that was folded.
    assert counting.folded(rows) == counting.folded(rows[::-1])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("says_faults", [True, False])
def test_any_bytes_are_reports_or_refused(
    case: RandomizerCase, says_faults: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not says_faults:  # as a randomizer of a package of others, which may inherit nothing
        monkeypatch.setattr("lapwing.protocol.randomizer.Randomizer", type("Other", (), {}))
    counting = counting_of(lw.Survey("any", case.randomizer))
    rng = np.random.default_rng(5)
    for _ in range(30):
        reports = int(rng.integers(1, 20))  # all of them are found
        high = int(rng.choice([2, 16, 256]))
        records = rng.integers(0, high, reports * counting.width, dtype=np.uint8).tobytes()
        refused = counting.refused(records, reports)
        good = [place for place in range(reports) if place not in dict(refused)]
        kept = b"".join(
            records[place * counting.width : (place + 1) * counting.width] for place in good
        )
        assert counting.tally(kept).total == len(good)
        assert counting.total([counting.row(kept)]) == counting.tally(kept)
        if refused:
            with pytest.raises(ReportError) as caught:
                counting.row(records)
            assert caught.value.position in dict(refused)
        for place, reason in refused:
            one = records[place * counting.width : (place + 1) * counting.width]
            with pytest.raises(ReportError):
                counting.tally(one)
            assert "report" in reason and "position" not in reason


def test_few_reports_cost_no_look_at_a_large_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    survey = lw.Survey("any", lw.RandomizedResponse(lw.Categories(2**22 - 1), 1))
    counting = counting_of(survey)

    def counted(*_: object) -> None:
        raise AssertionError("the whole domain was counted")

    monkeypatch.setattr(CodeReports, "count", counted)
    good, bad = b"\1\2\3", b"\xff\xff\xff"
    assert counting.width == 3
    assert counting.row(good * 5000) == Row(5000, RECORDS, good * 5000)
    refused = counting.refused((good + bad) * 200, 400)
    assert [place for place, _ in refused] == list(range(1, 200, 2))
    assert {reason for _, reason in refused} == {"every report must be a code in 0..4194302"}


def test_the_first_reports_are_named_whatever_is_wrong_with_them() -> None:
    # Of a mixture: no such group, more than its report, an impossible report of its group.
    counting = counting_of(lw.Survey("any", lw.MultiscaleWave(lw.Interval(0, 1, bins=32), 2)))
    width = counting.width
    no_group, too_long = b"\xff".ljust(width, b"\0"), b"\0".ljust(width, b"\xff")
    good = bytes(width)
    records = good + too_long + good + no_group + too_long
    refused = dict(counting.refused(records, 5))
    assert sorted(refused) == [1, 3, 4] and refused[1] == refused[4] != refused[3]
    assert "be of a group in 0.." in refused[3] and refused[1].endswith(" in group 0")
    with pytest.raises(ReportError) as caught:
        counting.tally(records)
    assert caught.value.position == 1


def test_a_row_is_records_or_counts_whichever_is_shorter() -> None:
    counting = counting_of(LABELS)
    assert counting.counts_bytes == 8 * 65
    few, many = bytes(520), bytes(521)
    assert counting.row(few) == Row(520, RECORDS, few)
    row = counting.row(many)
    assert (row.form, len(row.body), row.reports) == (COUNTS, 520, 521)
    log = counting_of(HASHED)
    records = bytes(log.width * 5000)
    assert log.row(records).form == RECORDS


@pytest.mark.parametrize(
    "row", [Row(2, RECORDS, b"\0"), Row(1, COUNTS, bytes(8)), Row(1, 7, b"\0"), Row(1, 1, b"")]
)
def test_a_row_that_cannot_be_is_damage(row: Row) -> None:
    for counting in (counting_of(LABELS), counting_of(HASHED)):
        with pytest.raises(StoreError, match="Restore a backup"):
            counting.total([row])


def test_the_store_asks_no_clock() -> None:
    # A clock that jumps can change nothing: the times of epochs are numbers that others compare.
    # How long something took is another matter, and told by a clock that never jumps.
    for path in Path(module.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                assert not {"time", "datetime"} & {alias.name for alias in node.names}, path.name
            elif isinstance(node, ast.ImportFrom) and node.module in ("time", "datetime"):
                assert {alias.name for alias in node.names} <= {"perf_counter"}, path.name


def test_a_segment_has_a_number_in_either_unicode_form_and_nothing_else_has() -> None:
    counting = counting_of(lw.Survey("any", LABELS.randomizer, segments=["tea", "cafe\u0301"]))
    for label, number in (("caf\u00e9", 2), ("cafe\u0301", 2), ("tea", 1), ("other", 0)):
        assert counting.segment(label) == number
    for wrong in ("cafe", None, 1, ["tea"]):
        with pytest.raises(ArgumentError, match="one of the survey's"):
            counting.segment(wrong)
