"""The rule that judges the papers' claims, on inputs whose right verdict is known."""

import math

import numpy as np
import pytest

from benchmarks import verdicts
from benchmarks.verdicts import CONTRADICTED, HOLDS, MOSTLY, UNDECIDED, Cell, Claim


def cells(seed: int, gains: list[float], *, repeats: int = 40) -> list[Cell]:
    """Return cells in which ours is better by so many standard errors of the difference.

    Both series carry the people's own luck, forty times the size of what is compared.
    """
    rng = np.random.default_rng(seed)
    found = []
    for gain in gains:
        luck = 40 * rng.standard_normal(repeats)
        theirs = luck + rng.standard_normal(repeats) + gain / math.sqrt(repeats)
        found.append(verdicts.less(luck, [theirs]))
    return found


class TestLess:
    def test_pairs_cancel_what_both_share(self):
        luck = np.array([1.0, 50.0, 900.0, 3.0, 77.0])
        cell = verdicts.less(luck, [luck + np.array([0.9, 1.1, 1.0, 1.2, 0.8])])
        assert cell.met
        shuffled = verdicts.less(luck, [(luck + 1)[::-1]])
        assert not shuffled.met and not shuffled.failed

    def test_by_hand(self):
        # Differences 1, 2, 3: mean 2, error 1/sqrt(3); Student's law of 2 degrees of freedom says
        # P(T > 3.4641) = .0371, and so does the normal law at 1.785.
        cell = verdicts.less([0, 0, 0], [[1, 2, 3]])
        assert cell.toward == pytest.approx(1.785, abs=2e-3)

    def test_the_nearest_of_several_decides(self):
        cell = verdicts.less([0, 0, 0, 0], [[9, 9, 8, 9], [-1, -2, -1, -1]])
        assert cell.failed and cell.comparisons == 2

    def test_a_factor_moves_the_bound(self):
        ours, theirs = [1.2, 1.21, 1.19, 1.2], [1.0, 1.0, 1.01, 0.99]
        assert verdicts.less(ours, [theirs], factor=1.25).met
        assert verdicts.less(ours, [theirs]).failed

    def test_what_has_no_error_is_certain_and_one_repeat_is_nothing(self):
        assert verdicts.less([1, 1], [[2, 2]]).toward == math.inf
        assert verdicts.less([2, 2], [[1, 1]]).toward == -math.inf
        assert verdicts.less([1, 1], [[1, 1]]).toward == 0
        assert verdicts.less([1], [[2]]).toward == 0

    def test_series_that_do_not_match_are_refused(self):
        with pytest.raises(ValueError, match="same repeats"):
            verdicts.less([1, 2], [[3]])
        with pytest.raises(ValueError, match="nothing to compare"):
            verdicts.less([1, 2], [])


class TestNear:
    def test_inside_outside_and_on_the_edge(self):
        kept = [1.01, 0.99, 1.0, 1.02, 0.98]
        assert verdicts.near(kept, 1.0, tolerance=0.1).met
        assert verdicts.near(kept, 1.5, tolerance=0.1).failed
        edge = verdicts.near(kept, 1.1, tolerance=0.1)
        assert not edge.met and not edge.failed


class TestResampled:
    def test_a_clear_order_an_unclear_one_and_a_false_one(self):
        rng = np.random.default_rng(5)
        series = {"16": rng.normal(1, 0.1, 50), "32": rng.normal(2, 0.1, 50)}
        series["also 16"] = series["16"] + rng.normal(0, 0.5, 50)
        assert verdicts.resampled(lambda m: m["16"] < m["32"], series).met
        assert verdicts.resampled(lambda m: m["16"] > m["32"], series).failed
        open_ = verdicts.resampled(lambda m: m["16"] < m["also 16"], series)
        assert not open_.met and not open_.failed

    def test_series_of_one_length_are_drawn_together(self):
        luck = 100 * np.random.default_rng(6).standard_normal(30)
        assert verdicts.resampled(lambda m: m["a"] < m["b"], {"a": luck, "b": luck + 0.1}).met


class TestClaim:
    @pytest.mark.parametrize(
        ("gains", "most", "right"),
        [
            ([9] * 20, False, HOLDS),
            ([9] * 19 + [-9], False, MOSTLY),
            ([9] * 18 + [-9], False, CONTRADICTED),
            ([9] * 94 + [-9] * 6, False, CONTRADICTED),
            ([9] * 95 + [-9] * 5, False, MOSTLY),
            ([9] * 100, False, HOLDS),
            ([9] * 38 + [-9] * 2, False, MOSTLY),
            ([9] * 37 + [-9] * 3, False, CONTRADICTED),
            ([9] * 18 + [0.0, -9], False, CONTRADICTED),
            ([9] * 15 + [0.5] * 5, False, HOLDS),
            ([0.0] * 20, False, UNDECIDED),
            ([-9] * 20, False, CONTRADICTED),
            ([9] * 11 + [-9] * 9, True, HOLDS),
            ([9] * 9 + [-9] * 11, True, CONTRADICTED),
            ([9] * 9 + [0.0] * 11, True, UNDECIDED),
            ([9], False, HOLDS),
            ([0.0], False, UNDECIDED),
        ],
    )
    def test_the_right_verdict_at_any_seed(self, gains, most, right):
        found = [Claim("x", cells(seed, gains), most=most).verdict for seed in range(20)]
        # Of no difference at all 2 in 100 are a false alarm, so 1 or 2 of 20 may be.
        assert found.count(right) >= 18
        assert {HOLDS: CONTRADICTED, CONTRADICTED: HOLDS}.get(right) not in found

    def test_a_true_claim_of_many_cells_is_seldom_contradicted(self):
        """100 claims of 40 cells without any difference: 2.3 of them in the mean.

        Binomial(100, .0228): more than 9 with a chance of 2e-4. Without the raised limit it is
        60 of them.
        """
        wrong = [Claim("x", cells(seed, [0.0] * 40)).verdict for seed in range(100)]
        assert wrong.count(CONTRADICTED) <= 9
        assert wrong.count(HOLDS) == 0

    def test_the_direction_counts(self):
        met, failed = Cell(3.0), Cell(-9.0)
        assert Claim("x", [met]).verdict == HOLDS
        assert Claim("x", [failed]).verdict == CONTRADICTED
        assert Claim("x", [Cell(2.0)]).verdict == UNDECIDED  # exactly two is not beyond

    def test_certain_statements_and_none(self):
        assert Claim("x", [verdicts.certain(True)]).verdict == HOLDS
        assert Claim("x", [verdicts.certain(True), verdicts.certain(False)]).verdict == CONTRADICTED
        assert Claim("x", []).verdict == verdicts.NOT_MEASURED
        assert Claim("x", []).line() == "- *x* **Not measured.**"

    def test_the_line_counts_what_it_judges(self):
        line = Claim("It is less.", [Cell(3.0), Cell(3.0), Cell(-9.0)], "By .5.").line()
        assert line == "- *It is less.* **Contradicted** (met in 2 of 3 cells, failed in 1). By .5."


class TestTogether:
    def test_no_cell_alone_turns_what_holds_into_contradicted(self):
        met = [Cell(9.0)] * 3
        found = [Claim("x", [*met, Cell(-size)]).verdict for size in (1.9, 2.35, 3.1)]
        assert found == [HOLDS, UNDECIDED, CONTRADICTED]
        assert Claim("x", [Cell(-2.45)]).verdict == UNDECIDED
        assert Claim("x", [Cell(-2.55)]).verdict == CONTRADICTED

    def test_a_word_without_a_number_has_a_wider_limit_for_failing(self):
        def alike(ratio: float) -> Cell:
            # Six repeats with a small error of their own.
            kept = (ratio + 0.001 * np.arange(6)).tolist()
            return verdicts.nearly(kept, 1, tolerance=0.2)

        assert alike(1.1).met
        for between in (1.21, 1.29, 0.75):
            cell = alike(between)
            assert not cell.met and not cell.failed
            # It misses the limit that we state, so the sentence cannot hold because of ours.
            claim = Claim("x", [Cell(9.0)] * 9 + [cell])
            assert claim.verdict == UNDECIDED and claim.counts == (9, 0, 1)
            assert Claim("x", [Cell(9.0)] * 19 + [cell]).verdict == MOSTLY
            assert Claim("x", [Cell(9.0), cell, cell], most=True).counts == (1, 0, 0)
        assert alike(1.31).failed and alike(0.69).failed

    def test_readings_that_hold_or_mostly_hold_are_one_sentence(self):
        holds = Claim("x", [Cell(9.0)] * 20, form="one")
        mostly = Claim("x", [Cell(9.0)] * 19 + [Cell(-9.0)], form="other")
        fails = Claim("x", [Cell(-9.0)], form="third")
        assert verdicts.Sentence([holds, mostly]).verdict == MOSTLY
        assert verdicts.Sentence([mostly, fails]).verdict == verdicts.IN_SOME

    def test_counts_and_verdict_have_one_limit(self):
        # Of two cells at 2.1 standard errors each alone would fail; both together, by chance.
        claim = Claim("It is less.", [Cell(-2.1), Cell(-2.1)])
        assert claim.verdict == UNDECIDED and claim.counts == (0, 0, 2)
        assert "failed in 0, nearly failed in 2)" in claim.line()
        failed = Claim("It is less.", [Cell(-2.1), Cell(-2.8)])
        assert failed.verdict == CONTRADICTED and failed.counts == (0, 1, 1)
        assert Claim("It is less.", [Cell(-2.1)] * 2, most=True).counts == (0, 2, 0)

    def test_all_of_some_are_as_good_as_the_least(self):
        cell = verdicts.both([Cell(5.0, 2), Cell(-3.0)])
        assert cell.toward == -3 and cell.comparisons == 3
        assert not verdicts.both([Cell(5.0), Cell(-2.1)]).met

    def test_one_of_some_is_enough_and_all_must_fail(self):
        assert verdicts.some([Cell(5.0), Cell(-9.0)]).met
        assert not verdicts.some([Cell(-9.0), Cell(-1.0)]).failed
        assert verdicts.some([Cell(-9.0), Cell(-3.0)]).failed
        assert verdicts.some([Cell(math.inf), Cell(-1.0)]).toward == math.inf

    def test_the_best_of_many_by_chance_is_not_enough(self):
        """Of 10 cells without any effect the best is beyond 2 in 21%; here in 2.3% at most."""
        rng = np.random.default_rng(4)
        draws = rng.standard_normal((2000, 10))
        met = sum(verdicts.some([Cell(float(z)) for z in row]).met for row in draws)
        assert met / 2000 < 0.023 + 4 * math.sqrt(0.023 / 2000)
        assert (draws.max(axis=1) > 2).mean() > 0.15
