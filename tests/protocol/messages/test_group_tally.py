"""Tallies of many groups as one table: what it says is what counting each group alone says."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.engines.arrow.report_count import FileCount, ReportCount
from lapwing.errors import ArgumentError, MismatchError, ReportError, TallyError
from lapwing.protocol.messages import group_tally
from lapwing.protocol.messages.group_tallies import count_groups
from lapwing.protocol.messages.group_tally import (
    CellsOfReports,
    GroupCounter,
    GroupTally,
    weighted_tally,
)
from lapwing.protocol.messages.reports import Reports

UNIT = lw.Interval(0, 1, bins=32)
RANDOMIZERS: dict[str, Any] = {
    "one byte": lw.SquareWave(UNIT, 1),
    "two bytes": lw.RandomizedResponse(lw.Categories(700), 2),
    "blocks": lw.MultiscaleWave(UNIT, 1),
    "bits": lw.randomizers.OptimizedUnaryEncoding(lw.Categories(40), 1),
    "sets": lw.SubsetSelection(lw.Categories(30), 1),
    "local hashing": lw.papers.baselines.LocalHashing(lw.Categories(20), 1),
    "hadamard": lw.randomizers.HadamardResponse(lw.Categories(20), 1),
    "affine": lw.randomizers.AffineSubsetSelection(lw.Categories(20), 1),
    "stored": lw.LinearHashing(lw.HashedStrings(32), 2),
    "rappor": lw.Rappor(lw.Categories(12), "0.5", lifetime=1),
}


def _reports(randomizer: Any, number: int = 400) -> Reports:
    domain = randomizer.domain
    if isinstance(domain, lw.HashedStrings):
        values: Any = [f"word {place % 9}" for place in range(number)]
    elif isinstance(domain, lw.Interval):
        values = np.linspace(0, 1, number)
    else:
        values = np.arange(number) % domain.size
    reports: Reports = randomizer.randomize(values, rng=lw.seeded(1))
    return reports


def _counted(randomizer: Any, reports: Reports, labels: Any, *, step: int = 70) -> GroupTally:
    counter = GroupCounter(randomizer, randomizer.report_width)
    for start in range(0, len(reports), step):
        rows = slice(start, start + step)
        records = reports.data[rows]
        counter.add(labels[rows], np.arange(len(records)), records, counter.cells.of(records))
    assert counter.total == len(reports)
    return counter.result()


def _expected(randomizer: Any, reports: Reports, labels: Any) -> dict[Any, Any]:
    return {
        label: randomizer.tally(
            Reports(reports.data[[one == label for one in labels]], reports.fingerprint)
        )
        for label in dict.fromkeys(labels)
    }


@pytest.mark.parametrize("name", RANDOMIZERS)
@pytest.mark.parametrize("dense", [True, False])
def test_every_group_has_the_tally_of_its_reports(
    name: str, dense: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_tally, "_WAITING_ROWS", 100)
    monkeypatch.setattr(group_tally, "_WAITING_BYTES", 2000)
    if not dense:
        monkeypatch.setattr(group_tally, "_DENSE_CELLS", 0)
    randomizer = RANDOMIZERS[name]
    reports = _reports(randomizer)
    labels = [None if place % 7 == 0 else f"g{place**2 % 11}" for place in range(len(reports))]
    joint = _counted(randomizer, reports, labels)
    expected = _expected(randomizer, reports, labels)
    assert dict(joint) == expected and list(joint) == list(expected)
    assert joint.totals.tolist() == [tally.total for tally in expected.values()]
    assert joint.total == len(reports) and joint.added() == randomizer.tally(reports)
    assert pickle.loads(pickle.dumps(joint)) == joint
    some = joint.selection(np.array([3, 0]))
    assert dict(some) == {label: expected[label] for label in (list(expected)[3], None)}
    # Parts of it add up to it, in any order and however they came to be.
    parts = [
        _counted(randomizer, reports[rows], labels[rows])
        for rows in (slice(300, 400), slice(0, 130), slice(130, 131), slice(131, 300))
    ]
    parts.append(GroupTally.of({None: randomizer.tally(reports[:0])}))
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 4, 0, 3, 1]):
        total = parts[order[0]]
        for place in order[1:]:
            total += parts[place]
        assert dict(total) == expected
    assert dict(GroupTally.of(expected)) == expected


@pytest.mark.parametrize("name", RANDOMIZERS)
def test_counted_reports_are_as_many_reports(name: str) -> None:
    randomizer = RANDOMIZERS[name]
    reports = _reports(randomizer, 60)
    weights = np.random.default_rng(1).integers(1, 300, 60)
    weights[0] = 1
    whole = Reports(np.repeat(reports.data, weights, axis=0), reports.fingerprint)
    counter = GroupCounter(randomizer, randomizer.report_width)
    numbers = np.arange(60) % 2
    counter.add(["a", "b", "c"], numbers, reports.data, counter.cells.of(reports.data), weights)
    joint = counter.result()
    assert joint.added() == randomizer.tally(whole) and counter.total == weights.sum()
    expected = Reports(whole.data[np.repeat(numbers, weights) == 1], whole.fingerprint)
    assert joint["b"] == randomizer.tally(expected)
    if not joint.form.is_log:
        huge = weights * 10**11
        counted = weighted_tally(randomizer, reports.data, huge)
        once = weighted_tally(randomizer, reports.data, weights)
        assert once == randomizer.tally(whole)
        assert [n * 10**11 for n in once.reports] == list(counted.reports)
        for few, many in zip(once.blocks, counted.blocks, strict=True):
            assert np.array_equal(np.asarray(few) * 10**11, many)


def test_counts_that_no_tally_can_hold_are_refused() -> None:
    for name, most in (("one byte", 2**53 - 1), ("stored", 2**31)):
        randomizer = RANDOMIZERS[name]
        records = _reports(randomizer, 4).data
        for weights in ([most, 1, 1, 1], [2**63 - 1] * 4, [most // 2, most // 2, 2, 1]):
            counter = GroupCounter(randomizer, randomizer.report_width)
            with pytest.raises(TallyError, match="must add up to at most 2") as caught:
                counter.add(["a"], np.zeros(4, np.int64), records, None, np.array(weights))
            assert str(most) not in str(caught.value) and "9223" not in str(caught.value)


def test_which_count_a_report_adds_to_is_learned_from_few_tallies() -> None:
    asked: list[int] = []

    class Watched:
        randomizer = RANDOMIZERS["two bytes"]

        def tally(self, reports: Reports) -> Any:
            asked.append(len(reports))
            return self.randomizer.tally(reports)

    reports = _reports(Watched.randomizer, 5000)
    cells = CellsOfReports(Watched(), 2)
    first = cells.of(reports.data)
    assert first is not None and len(asked) <= 13 and max(asked) <= 700
    again = len(asked)
    assert np.array_equal(cells.of(reports.data), first) and len(asked) == again
    assert np.array_equal(first, reports.data.view("<u2").ravel())
    with pytest.raises(ReportError):
        cells.of(np.array([[255, 255]], dtype=np.uint8))
    assert CellsOfReports(RANDOMIZERS["bits"], 5).of(reports.data) is None


def test_reports_that_add_to_several_counts_are_not_taken_for_such_as_add_to_one() -> None:
    """One adds to two counts, another to none: together they look like two that add to one."""

    class Odd:
        fingerprint = "f"

        def tally(self, reports: Reports) -> Any:
            counts = np.zeros(4, dtype=np.int64)
            for (code,) in reports.data.tolist():
                counts[[0, 1] if code == 0 else []] += 1
            return lw.tallies.CountTally([counts], [len(reports)], "f")

    cells = CellsOfReports(Odd(), 1)
    records = np.array([[0], [1], [0]], dtype=np.uint8)
    assert cells.of(records) is None and not cells.apply
    counter = GroupCounter(Odd(), 1)
    counter.add(["a", "b"], np.array([0, 1, 0]), records, counter.cells.of(records))
    assert counter.result()["a"].blocks[0].tolist() == [2, 2, 0, 0]
    assert counter.result()["b"].reports == (1,)


def test_labels_with_blanks_around_them_are_one_and_empty_ones_none() -> None:
    counter = GroupCounter(RANDOMIZERS["one byte"], 1)
    records = _reports(RANDOMIZERS["one byte"], 6).data
    labels = ["a", " a ", None, "", "  ", "b"]
    counter.add(labels, np.arange(6), records, counter.cells.of(records))
    joint = counter.result()
    assert list(joint) == ["a", None, "b"] and joint.totals.tolist() == [2, 3, 1]


def test_too_many_groups_are_refused_when_the_first_is_seen() -> None:
    counter = GroupCounter(RANDOMIZERS["one byte"], 1, most=3)
    none = np.zeros(0, np.int64), np.zeros((0, 1), np.uint8), None
    counter.add(["a", "b", "c"], *none)
    with pytest.raises(ArgumentError, match="at most 3 groups"):
        counter.add(["a", "d"], *none)


def test_tallies_of_other_surveys_do_not_add() -> None:
    def one(survey: lw.Survey) -> GroupTally:
        return GroupTally.of({"a": survey.tally(survey.randomize([0.5], rng=lw.seeded(1)))})

    first = lw.Survey("first", RANDOMIZERS["one byte"])
    with pytest.raises(MismatchError, match="the same survey"):
        one(first) + one(lw.Survey("second", RANDOMIZERS["one byte"]))
    with pytest.raises(MismatchError, match="the same survey"):
        one(first) + one(lw.Survey("first", lw.SquareWave(UNIT, 2)))


def test_a_line_says_what_is_counted_however_much_it_is() -> None:
    survey = lw.Survey("x", RANDOMIZERS["one byte"])
    reports = survey.randomize(np.linspace(0, 1, 60), rng=lw.seeded(1))
    joint = count_groups(survey, reports, ["a"] * 20 + [f"b{place}" for place in range(40)])
    said = repr(joint)
    assert said.startswith("<GroupTally of 60 reports: a 20, b0 1, b1 1,")
    assert said.endswith(" and 21 more>") and "0x" not in said
    files = [FileCount(f"part-{place}.parquet", 1) for place in range(5000)]
    counted = ReportCount(joint, True, files=files)
    assert repr(counted) == "<ReportCount of 60 reports in 41 groups, 0 refused, 5,000 files>"
    assert repr(ReportCount({})) == "<ReportCount of 0 reports, 0 refused>"
