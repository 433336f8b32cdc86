"""Numbers by segment: a curve for each, with the error that its size allows, or a warning."""

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lapwing as lw
from lapwing.errors import ArgumentError, WeakAnswerWarning
from lapwing.mechanisms.linear_mechanism import SegmentedStrategy
from lapwing.mechanisms.prefix_sums import BlendedStrategy
from lapwing.protocol.release import Release

WAITING = lw.Interval(0, 240)
SIZES = {"small": 253, "large": 5000}


def waiting(sizes: dict[str, int], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return minutes and groups: log-normal about 8 minutes, as in every group."""
    rng = np.random.default_rng(seed)
    drawn = [np.minimum(rng.lognormal(np.log(8), 1, size), 239.9) for size in sizes.values()]
    return np.concatenate(drawn), np.repeat(list(sizes), list(sizes.values()))


def published(seed: int, sizes: dict[str, int] = SIZES, **how: Any) -> lw.survey.Publication:
    values, groups = waiting(sizes, seed)
    asked = {"neighbors": "replace-one", "epsilon": 1, "rng": lw.seeded(seed)} | how
    domain = asked.pop("domain", WAITING)
    return lw.release(values, domain, by=groups, segments=list(sizes), **asked)


@pytest.mark.parametrize(("delta", "most"), [(0, 3.0), (1e-6, 1.8)])
def test_the_median_of_a_small_group_is_near(delta: float, most: float) -> None:
    # 240 counts for each group, decoded as labels, were off by 8 minutes on average.
    off = []
    for seed in range(4):
        values, groups = waiting({"small": 253}, seed)
        small = published(seed, {"small": 253}, delta=delta).by_segment()["small"]
        off.append(abs(float(small.quantile(0.5)) - np.median(values[groups == "small"])))
    assert np.mean(off) < most


def test_the_bins_follow_from_the_guarantee_alone() -> None:
    assert published(1).note.endswith("The interval is cut into 48 bins of width 5.")
    assert published(1, delta=1e-6).note.endswith("is cut into 240 bins of width 1.")
    assert isinstance(published(1).release.mechanism, lw.mechanisms.LabelCounts)
    assert published(1, delta=1e-6).release.mechanism.name == "prefix-sums"


@pytest.mark.parametrize(
    "how",
    [{"delta": 1e-6}, {"domain": lw.Interval(0, 240, bins=80)}],
    ids=["curves", "counts"],
)
def test_intervals_hold(how: dict[str, Any]) -> None:
    # 12 groups of 400 in four tables, three shares of each. Shares of one group depend on each
    # other, so each is tested alone: too few of 12 inside at 0.95 is found at a false alarm of
    # 1e-6, and so are intervals of a fifth of the width.
    sizes, ends = dict.fromkeys("abc", 400), (5, 15, 60)
    inside, narrow = np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64)
    for seed in range(4):
        values, groups = waiting(sizes, seed)
        found = published(seed, sizes, **how).by_segment()
        for name in sizes:
            held = values[groups == name]
            for column, end in enumerate(ends):
                low, high = found[name].probability_interval(0, end)
                truth = (held <= end).mean()
                inside[column] += low - 1e-9 <= truth <= high + 1e-9
                narrow[column] += abs(truth - (low + high) / 2) <= (high - low) / 10
    assert (stats.binom.cdf(inside, 12, 0.95) > 1e-6).all(), inside
    assert (stats.binom.cdf(narrow, 12, 0.95) < 1e-6).any(), narrow


def test_a_table_of_curves_is_read_again_and_added() -> None:
    one = published(1, delta=1e-6).release
    assert Release.from_document(one.to_document()) == one
    one.mechanism.verify(one)
    assert one.people == sum(SIZES.values())
    both = lw.survey.Publication(one + published(2, delta=1e-6).release)
    assert both.release.people == 2 * one.people
    assert both.by_segment()["large"].reports == pytest.approx(10_000, abs=200)


def test_the_whole_table_is_that_of_its_segments() -> None:
    table = published(1, delta=1e-6, neighbors="add-or-remove-one")
    segments, whole = table.by_segment(), table.distribution
    assert whole.mass.sum() == pytest.approx(1)
    assert whole.confidence_band(0.9) is None
    assert table.release.total == pytest.approx(sum(SIZES.values()), abs=100)
    cells = whole.mass.reshape(3, -1)
    assert cells[1] / cells[1].sum() == pytest.approx(segments["large"].mass)
    assert segments["large"].guarantee == table.guarantee


def test_a_row_that_changes_its_segment_is_hidden() -> None:
    each = BlendedStrategy(64, 65, 40)
    table = SegmentedStrategy(each, 3)
    columns = each.operator.matmat(np.eye(65))
    longest = (columns**2).sum(axis=0).max()
    assert table.sensitivity("replace-one").squared == pytest.approx(2 * longest)
    assert table.sensitivity("add-or-remove-one").squared == pytest.approx(longest)
    unit = np.zeros(3 * 65, dtype=np.int64)
    unit[65 + 7] = 1
    answers = table.answers(unit)
    assert answers == pytest.approx(table.operator.matvec(unit.astype(float)), abs=1e-3)


def test_a_group_that_is_too_small_is_named() -> None:
    sizes = {"none": 0, "some": 5000}
    for how in ({}, {"delta": 1e-6}):
        table = published(1, sizes, **how)
        with pytest.warns(WeakAnswerWarning, match=r"^none: too few people .*\(1 of 2 segments\)"):
            table.by_segment()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(published(1, {"some": 5000}).by_segment()) == {"some"}


def test_rows_in_none_of_the_segments_are_told_where_there_are_some() -> None:
    values, groups = waiting({"some": 5000, "other": 2000}, 1)
    for how in ({}, {"delta": 1e-6}):
        table = lw.release(
            values,
            WAITING,
            by=groups,
            segments=["some"],
            neighbors="replace-one",
            epsilon=1,
            rng=lw.seeded(1),
            **how,
        )
        assert table.by_segment()[None].reports == pytest.approx(2000, abs=100)


def test_labels_have_no_curve_by_segment() -> None:
    table = lw.protocol.Segmented(lw.Categories(["a"]), ["x"])
    with pytest.raises(ArgumentError, match="Use label-counts"):
        lw.mechanisms.PrefixSums().check(table)
    large = lw.protocol.Segmented(lw.Integers(0, 4000, outside="clip"), range(300))
    with pytest.raises(ArgumentError, match="cells of a table by segment"):
        lw.mechanisms.PrefixSums().check(large)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_the_error_in_a_segment_is_said_before(delta: float) -> None:
    how: dict[str, Any] = {"neighbors": "replace-one", "epsilon": 1, "delta": delta, "repeats": 2}
    said = lw.expected_error(WAITING, 2000, segments=["a", "b"], **how)
    assert said.segment is not None and said.segment.people == 1000
    # Of four groups, within a factor of about two: the distance is to these people here.
    off = []
    sizes = {"a": 1000, "b": 1000}
    for seed in range(2):
        values, groups = waiting(sizes, seed)
        found = published(seed, sizes, delta=delta).by_segment()
        ends = found["a"].domain.right
        for name in sizes:
            held = values[groups == name]
            off.append(max(abs(found[name].cdf(end) - (held <= end).mean()) for end in ends[1:-1]))
    typical = said.segment["kolmogorov_smirnov"].typical
    assert 0.4 * typical < np.mean(off) < 2 * typical
