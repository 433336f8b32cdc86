"""Dictionaries of matching pursuit: splines of several widths, own functions, and unfit ones."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

import lapwing as lw
from lapwing.errors import ArgumentError, LapwingWarning
from lapwing.linear.function_families import independent, nested_splines, normal_curves, splines
from lapwing.papers.functional_approximation.matching_pursuit import STRAIGHT_LINE, MatchingPursuit
from lapwing.privacy.promise import Promise
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.release import Release

DOMAIN = Interval(-1, 1, bins=128, outside="clip")
MIDDLES = (2 * np.arange(128) + 1) / 128 - 1
PROMISE = Promise("replace-one", epsilon="0.5", delta="1e-6")
VALUES = np.random.default_rng(0).normal(0, 0.2, 10_000)
RIGHT = np.linspace(-1, 1, 129)[1:]


def error(mechanism, *, seed=1):
    release = lw.release(
        *(VALUES, DOMAIN),
        mechanism=mechanism,
        rng=lw.seeded(seed),
        neighbors="replace-one",
        epsilon=0.5,
        delta=1e-6,
    )
    truth = np.searchsorted(np.sort(VALUES), RIGHT, side="right") / VALUES.size
    return np.abs(np.cumsum(release.distribution.mass)[:128] - truth).max()


def one_width(count, degree):
    return tuple(map(tuple, splines(count, MIDDLES, degree=degree)))


class TestSplines:
    def test_the_109_are_those_of_the_figures(self):
        levels = [splines(n, MIDDLES, degree=0) for n in (1, 2, 4, 8, 16, 32)]
        levels += [splines(n, MIDDLES, degree=1) for n in (2, 4, 8, 32)]
        assert np.array_equal(nested_splines(109, MIDDLES, degree=1), np.vstack(levels))
        assert MatchingPursuit(30, "splines").atoms == 109

    @pytest.mark.parametrize("degree", [0, 1, 3])
    @pytest.mark.parametrize("points", [2, 3, 5, 64, 1024])
    @pytest.mark.parametrize("count", [1, 2, 3, 9, 40, 109, 1000])
    def test_widths_are_whole_and_none_is_zero(self, count, points, degree):
        middles = (2 * np.arange(points) + 1) / points - 1
        rows = nested_splines(count, middles, degree=degree)
        assert 1 <= len(rows) <= count
        assert (np.abs(rows).sum(axis=1) > 0).all()
        # Every width sums to one, so all of them to their number.
        assert np.allclose(rows.sum(axis=0), round(rows.sum(axis=0)[0]))
        assert np.allclose(rows[0], 1)

    @pytest.mark.parametrize("degree", [0, 1])
    def test_thirty_of_them_draw_what_those_of_one_width_cannot(self, degree):
        assert error(MatchingPursuit(30, "splines", degree=degree)) < 0.15
        with pytest.warns(LapwingWarning, match="cannot represent a simple curve"):
            assert error(MatchingPursuit(30, one_width(109, degree))) > 0.4


class TestDictionariesThatCannotDrawACurve:
    @pytest.mark.parametrize("bins", [32, 128, 1024])
    @pytest.mark.parametrize(
        "mechanism",
        [
            MatchingPursuit(),
            MatchingPursuit(6, "splines"),
            MatchingPursuit(6, "splines", degree=0),
            MatchingPursuit(6, "normal-curves", atoms=25),
            MatchingPursuit(6, "fourier"),
            MatchingPursuit(6, "splines", orthogonal=True),
            MatchingPursuit(6, form="published"),
        ],
        ids=repr,
    )
    def test_the_named_ones_can(self, mechanism, bins):
        mechanism.loss(Interval(0, 9, bins=bins, outside="clip"), PROMISE)  # warnings are errors

    @pytest.mark.parametrize(
        "mechanism",
        [
            MatchingPursuit(30, one_width(109, 0)),
            MatchingPursuit(30, one_width(109, 1)),
            MatchingPursuit(4, one_width(9, 1)),
            MatchingPursuit(1),
            MatchingPursuit(2, "splines"),
            MatchingPursuit(3, (tuple(np.sin(40 * MIDDLES)),) * 3),
        ],
        ids=lambda m: f"{m.terms} of {m.atoms}",
    )
    def test_others_are_warned_of_before_anything_is_drawn(self, mechanism):
        with pytest.warns(LapwingWarning, match=f"^{mechanism.terms} functions .* straight line"):
            mechanism.loss(DOMAIN, PROMISE)

    def test_the_rule_sees_no_data(self):
        said = []
        for values in (VALUES, np.full(50, 0.999), np.array([])):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                lw.release(
                    *(values, DOMAIN),
                    mechanism=MatchingPursuit(4, one_width(9, 1)),
                    neighbors="replace-one",
                    epsilon=1,
                )
            said.append([str(w.message) for w in caught if "simple curve" in str(w.message)])
        assert said[0] == said[1] == said[2] and len(said[0]) == 1

    def test_a_straight_line_is_a_quarter_off(self):
        curve = norm(0, 0.25).cdf(np.linspace(-1, 1, 100_001))
        assert np.abs(curve - np.linspace(0, 1, 100_001)).max() == pytest.approx(
            STRAIGHT_LINE, abs=0.005
        )

    def test_distribution_functions_of_ones_own_are_not_judged(self):
        MatchingPursuit(1, normal_curves(9, MIDDLES).tolist()).loss(DOMAIN, PROMISE)


class TestOwnFunctions:
    CURVES = tuple(norm(0, width).cdf for width in (0.05, 0.1, 0.2, 0.4, 0.8))

    def test_callables_are_those_of_their_values(self):
        by_values = [tuple(curve(MIDDLES).tolist()) for curve in self.CURVES]
        assert error(MatchingPursuit(3, self.CURVES)) == error(MatchingPursuit(3, by_values))
        assert error(MatchingPursuit(3, self.CURVES)) < 0.08

    def test_they_get_values_of_the_domain(self):
        seen = []
        ages = Interval(0, 120, bins=24, outside="clip")

        def curve(ages):
            seen.append(ages)
            return norm(40, 20).cdf(ages)

        MatchingPursuit(1, [curve]).loss(ages, PROMISE)
        assert np.array_equal(seen[0], np.arange(2.5, 120, 5))

    def test_a_release_stores_values_and_can_be_read(self, tmp_path: Path):
        paid = tmp_path / "ledger.json"
        lw.Ledger(lw.Guarantee(1, "1e-5", "replace-one", "central")).save(paid)
        release = lw.release(
            *(VALUES, DOMAIN),
            mechanism=MatchingPursuit(3, ["legendre", *self.CURVES]),
            ledger=paid,
            neighbors="replace-one",
            epsilon=0.5,
            delta=1e-6,
        )
        text = release.release.to_json()
        stored = json.loads(text)["mechanism"]["dictionary"]
        assert stored[0] == "legendre"
        assert stored[1:] == [curve(MIDDLES).tolist() for curve in self.CURVES]
        assert Release.from_json(text).to_json() == text
        changed = json.loads(text)
        changed["choices"]["atoms"][0] = 45
        with pytest.raises(lw.LapwingError, match="a function that does not exist"):
            Release.from_document(changed)

    def test_a_joined_dictionary_has_the_functions_of_all(self):
        joined = MatchingPursuit(3, ["legendre", "splines", *self.CURVES])
        assert len(joined.curves(DOMAIN).curves) == 40 + 109 + 5
        few = MatchingPursuit(3, ["legendre", "splines"], atoms=9)
        assert len(few.curves(DOMAIN).curves) == 9 + 9
        assert error(MatchingPursuit(12, ["legendre", "splines"])) < 0.15

    def test_without_values_there_is_no_document(self):
        with pytest.raises(ArgumentError, match=r"Use mechanism\.on\(domain\)"):
            MatchingPursuit(3, self.CURVES).to_document()
        MatchingPursuit(3, self.CURVES).on(DOMAIN).to_document()

    @pytest.mark.parametrize(
        ("dictionary", "message"),
        [
            ("bsplines", "one of legendre, splines"),
            (["legendre", "bsplines"], "one of legendre, splines"),
            ([], "a list of functions"),
            (norm.cdf, "a list of functions"),
            ([[0.5, np.nan]], "must be finite"),
            (["normal-curves"] * 3, "at most 1000 functions, got 1200"),
        ],
    )
    def test_others_are_refused(self, dictionary, message):
        with pytest.raises(ArgumentError, match=message):
            MatchingPursuit(1, dictionary)

    @pytest.mark.parametrize(
        "function",
        [lambda x: 1.0, lambda x: x[1:], lambda x: float(x), lambda x: "half"],
    )
    def test_a_function_that_does_not_answer_for_all_is_refused(self, function):
        with pytest.raises(ArgumentError, match="one number for every value"):
            MatchingPursuit(1, [function]).loss(DOMAIN, PROMISE)


def test_independent_functions_are_kept_and_combinations_left_out():
    rows = nested_splines(109, MIDDLES, degree=1)
    held = independent(rows)
    assert len(held) == np.linalg.matrix_rank(rows) < 109
    assert np.array_equal(held[0], rows[0])
    # The second half of a width follows from the first half and the width before.
    assert not any(np.array_equal(row, rows[2]) for row in held)
    assert len(independent(np.vstack([held, held.sum(axis=0)]))) == len(held)
