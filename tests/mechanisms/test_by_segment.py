"""A table by segment: one row changes two cells at most, and each segment has an answer."""

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lapwing as lw
from lapwing.cli.console import Output
from lapwing.cli.reading.column_options import summary_of
from lapwing.cli.reading.domain_options import CuratorDomainOptions
from lapwing.decoders.releases.label_shares import MANY, segment_shares
from lapwing.errors import ArgumentError, DomainError
from lapwing.mechanisms.label_counts import CountStrategy
from lapwing.privacy.integer_noise import Noise, Sensitivity
from lapwing.protocol.domains.domain_documents import build_domain
from lapwing.protocol.release import Release

VALUES: list[Any] = ["yes", "no", "maybe", None]
SEGMENTS: list[Any] = ["north", "south", "east", None]
TABLE = lw.protocol.Segmented(lw.Categories(["yes", "no"]), ["north", "south"])


def cells(rows: list[tuple[Any, Any]]) -> np.ndarray:
    values, by = [value for value, _ in rows], [segment for _, segment in rows]
    return lw.protocol.ExactCounts.of_segments(values, by, TABLE).counts


def charged(relation: str) -> tuple[float, float]:
    """Return what the noise that is drawn hides: squared and absolute distance."""
    found = []
    for promise in (
        lw.privacy.Promise(relation, mu="0.5"),
        lw.privacy.Promise(relation, epsilon="0.5"),
    ):
        summary = lw.protocol.ExactCounts.of_segments([], [], TABLE)
        part = lw.mechanisms.LabelCounts().release(summary, promise, rng=lw.seeded(1)).parts[0]
        size = part.noise.scale
        found.append(part.loss.epsilon * size if promise.pure else part.loss.mu_squared * size**2)
    return found[0], found[1]


def moved(relation: str) -> tuple[int, int]:
    """Return the largest distance of the published counts of neighbors, without their noise."""
    rows = list(product(VALUES, SEGMENTS))
    rest = [("yes", "north"), ("no", None)]
    promise = lw.privacy.Promise(relation, epsilon=1)

    def shown(held: list[tuple[Any, Any]]) -> np.ndarray:
        values, by = [value for value, _ in held], [segment for _, segment in held]
        summary = lw.protocol.ExactCounts.of_segments(values, by, TABLE)
        return lw.mechanisms.LabelCounts().release(summary, promise, rng=lw.seeded(1)).answers

    pairs: list[Any] = [([*rest, one], rest) for one in rows]
    if relation == "replace-one":
        pairs = [([*rest, one], [*rest, other]) for one, other in combinations(rows, 2)]
    apart = [shown(one) - shown(other) for one, other in pairs]
    return max(int((d**2).sum()) for d in apart), max(int(np.abs(d).sum()) for d in apart)


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one"])
def test_a_row_that_changes_its_value_and_its_segment_is_hidden_exactly(
    relation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Noise, "draw", lambda self, count, source: np.zeros(count, dtype=np.int64))
    assert charged(relation) == moved(relation)
    # As if a segment were a table of its own, whose rows stay in it; half of what is moved.
    monkeypatch.setattr(CountStrategy, "sensitivity", lambda self, n: Sensitivity(1, 1))
    assert (charged(relation) == moved(relation)) == (relation == "add-or-remove-one")


def test_each_row_is_one_cell_by_itself() -> None:
    rows = [*product(VALUES, SEGMENTS), (["yes"], object()), (np.array([1]), {})]
    for row in rows:
        assert cells([row]).sum() == 1
        assert np.array_equal(cells([rows[0], row]) - cells([rows[0]]), cells([row]))
    assert cells([("no", "south")]).tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0]
    assert cells([("maybe", "east")])[-1] == 1


def test_one_row_of_a_table_changes_two_cells(tmp_path: Any) -> None:
    usual = [b"north,yes", b"south,no", b","]
    strange = [b"\xff,yes", b"north,\xff", b'"a\nb",no', b"NA,NA", b"north , yes", b'"no, th",1']
    out = Output(quiet=True)

    def counted(rows: list[bytes]) -> np.ndarray:
        (tmp_path / "t.csv").write_bytes(b"where,what\n" + b"\n".join(rows) + b"\n")
        curated = TABLE.for_curator()
        return summary_of(
            tmp_path / "t.csv", "what", curated, out, asked=CuratorDomainOptions(by="where")
        ).counts

    before = counted(usual)
    assert before.sum() == 3
    for row in [*usual, *strange]:
        after = counted([usual[0], row, *usual[2:]])
        change = after - before
        assert change.sum() == 0 and np.abs(change).sum() in (0, 2)
        assert np.array_equal(counted([usual[0], row]) - counted([usual[0]]), counted([row]))


ROWS = {"north": (600, 300, 100), "south": (50, 440, 10), "east": (200, 200, 0)}


def people() -> tuple[list[Any], list[Any]]:
    values, by = [], []
    for segment, held in ROWS.items():
        for value, number in zip(("yes", "no", None), held, strict=True):
            values += [value] * number
            by += [segment] * number
    return values, by


def published(seed: int = 1, **how: Any) -> lw.survey.Publication:
    values, by = people()
    asked = {"neighbors": "replace-one", "epsilon": 1, "rng": lw.seeded(seed)} | how
    return lw.release(
        values, lw.Categories(["yes", "no"]), by=by, segments=["north", "south"], **asked
    )


def truth(segment: str) -> np.ndarray:
    held = np.array(ROWS[segment])
    return held / held.sum()


def test_each_segment_has_its_shares() -> None:
    found = published().by_segment()
    assert list(found) == ["north", "south", None]
    for segment, name in (("north", "north"), ("south", "south"), (None, "east")):
        result = found[segment]
        assert np.abs(result.mass - truth(name)).max() < 0.04
        assert result.reports == pytest.approx(sum(ROWS[name]), abs=30)
        assert lw.Distribution.from_json(result.to_json()).domain == result.domain


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one"])
def test_bands_hold_for_all_labels_of_a_segment(relation: str) -> None:
    # 120 releases at 0.9; too few inside are found at a false alarm of 1e-6, and so is a band
    # that is too narrow.
    inside = narrow = 0
    for seed in range(120):
        result = published(seed, neighbors=relation).by_segment()["north"]
        assert result.uncertainty is not None
        low, high = result.uncertainty.curves(0.9, "simultaneous", cumulative=False, least=-1.0)
        off, half = np.abs(truth("north") - (low + high) / 2), (high - low) / 2
        inside += bool((off <= half).all())
        narrow += bool((off <= 0.6 * half).all())
    assert stats.binom.cdf(inside, 120, 0.9) > 1e-6
    assert stats.binom.cdf(narrow, 120, 0.9) < 1e-6


def test_a_segment_of_nobody_has_no_band() -> None:
    values, by = people()
    found = lw.release(
        values,
        lw.Categories(["yes", "no"]),
        by=by,
        segments=["north", "west"],
        neighbors="replace-one",
        epsilon=1,
        rng=lw.seeded(1),
    ).by_segment()
    assert found["west"].confidence_band(0.9) is None
    assert found["north"].confidence_band(0.9) is not None


def test_segments_are_decoded_as_asked_and_by_their_own_size() -> None:
    # Many cells in the table, few in each segment: nothing is learned from the shape of these.
    labels, segments = lw.Categories(20), list(range(10))
    release = lw.release(
        [1] * 900, labels, by=[3] * 900, segments=segments, neighbors="replace-one", epsilon=1
    ).release
    assert release.domain.size > MANY
    assert segment_shares(release)[3].provenance["sparse"] is False
    assert (
        segment_shares(release, lw.decoders.LabelShares(sparse=True))[3].provenance["sparse"]
        is True
    )
    wide = lw.Categories(MANY)
    release = lw.release(
        [1] * 900, wide, by=[3] * 900, segments=[3], neighbors="replace-one", epsilon=1
    ).release
    assert segment_shares(release)[3].provenance["sparse"] is True
    assert segment_shares(release)[3].uncertainty is not None
    assert segment_shares(release, lw.decoders.LabelShares(band=False))[3].uncertainty is None


def test_cells_are_named_in_the_unit_of_the_values() -> None:
    days = lw.Interval("2026-01-01", "2026-12-30", bins=3, atoms=["2026-05-01"], unit="date")
    assert lw.protocol.Segmented(days, ["a"]).listed[:2] == [
        "a / 2026-01-01 to 2026-05-01",
        "a / 2026-05-01",
    ]
    assert lw.protocol.Segmented(lw.Interval(0, 3e6, bins=2), ["a"]).listed[0] == "a / 0 to 1500000"


def test_the_share_of_a_cell_is_asked_by_its_name() -> None:
    found = published().distribution
    assert found.share("north / yes") == found.mass[0]
    assert found.share("(no segment) / (missing)") == found.mass[-1]
    ends = found.share_interval("south / no")
    assert ends is not None and ends[0] <= found.share("south / no") <= ends[1]
    for wrong in ("north", "yes", 0, ("north", "yes")):
        with pytest.raises(DomainError, match="segment and symbol"):
            found.share(wrong)
    twice = lw.protocol.Segmented(lw.Categories(["c", "b / c"]), ["a / b", "a"])
    assert twice.listed[:4].count("a / b / c") == 2
    with pytest.raises(DomainError, match="segment and symbol"):
        twice.index(["a / b / c"])


def test_segments_are_a_list_and_come_back_as_one() -> None:
    for number in (3, np.int64(3)):
        with pytest.raises(DomainError, match="list of labels"):
            lw.protocol.Segmented(lw.Integers(0, 1), number)  # type: ignore[arg-type]
    table = lw.protocol.Segmented(lw.Integers(0, 1), np.arange(3))  # type: ignore[arg-type]
    assert build_domain(table.to_document()) == table


def test_documents_sums_and_summaries(tmp_path: Any) -> None:
    one = published().release
    assert Release.from_document(one.to_document()).to_document() == one.to_document()
    assert (one + published(2).release).people == 2 * one.people
    values, by = people()
    lw.protocol.ExactCounts.of_segments(values, by, TABLE).save(tmp_path / "a.lws")
    again = lw.protocol.ExactCounts.load(tmp_path / "a.lws")
    made = lw.release(again, neighbors="replace-one", epsilon=1, rng=lw.seeded(1))
    assert made.release.answers.tolist() == one.answers.tolist()


def test_numbers_by_segment_have_a_distribution_function() -> None:
    ages = [20.0] * 500 + [60.0] * 500
    found = lw.release(
        ages,
        lw.Interval(0, 100, bins=10),
        by=["a"] * 500 + ["b"] * 500,
        segments=["a", "b"],
        neighbors="replace-one",
        epsilon=1,
        rng=lw.seeded(1),
    ).by_segment()
    assert found["a"].cdf(30) > 0.9 > 0.1 > found["b"].cdf(30)


def test_what_does_not_fit_is_refused() -> None:
    plain = lw.Categories(["yes"])
    with pytest.raises(ArgumentError, match="belong together"):
        lw.release(["yes"], plain, by=["a"], neighbors="replace-one", epsilon=1)
    with pytest.raises(ArgumentError, match="belong together"):
        lw.release(["yes"], plain, segments=["a"], neighbors="replace-one", epsilon=1)
    with pytest.raises(ArgumentError, match="one segment per value"):
        cells_of_other_lengths()
    with pytest.raises(ArgumentError, match="no segments"):
        lw.release(["yes"], plain, neighbors="replace-one", epsilon=1).by_segment()
    with pytest.raises(ArgumentError, match="Use label-counts"):
        published(mechanism=lw.mechanisms.PrefixSums())
    with pytest.raises(DomainError, match="without segments"):
        lw.protocol.Segmented(TABLE, ["a"])
    with pytest.raises(DomainError, match="segment and symbol"):
        lw.RandomizedResponse(TABLE, 1).randomize(["yes"])


def cells_of_other_lengths() -> None:
    lw.protocol.ExactCounts.of_segments(["yes", "no"], ["north"], TABLE)


@pytest.mark.parametrize("segments", [None, ["north", "south"]])
def test_the_name_of_a_column_is_not_the_column(segments: list[str] | None) -> None:
    """The error was about `values`."""
    how: Any = {"by": "region", "segments": segments, "epsilon": 1, "neighbors": "replace-one"}
    with pytest.raises(lw.errors.ArgumentError, match=r"^by must say the segment of each row"):
        lw.release([1.0, 2.0], lw.Interval(0, 10), **how)


def test_pairs_are_refused_before_their_bins_are_asked_for() -> None:
    pairs = lw.Product(delay=lw.Interval(0, 60), kind=lw.Categories(["a", "b"]))
    with pytest.raises(lw.errors.ArgumentError, match="releases are about one column"):
        lw.release([(1.0, "a")], pairs, epsilon=1, neighbors="replace-one")
