"""Label counts: the default release of labels, from rows to a band, and what its noise hides."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, FormatError, MismatchError
from lapwing.mechanisms.label_counts import MOST_SYMBOLS, CountStrategy
from lapwing.privacy.integer_noise import Sensitivity
from lapwing.protocol.release import Release
from lapwing.results.symbols import missing_share
from tests.mechanisms.test_sensitivity import hidden, moved

COLORS = lw.Categories(["red", "green", "blue", "rest"], other="rest")
ROWS = ["red"] * 500 + ["green"] * 300 + ["pink"] * 60 + [None] * 40 + ["blue"] * 100
TRUTH = np.array([500, 300, 100, 60, 40]) / 1000


def published(seed: int = 1, **how: Any) -> lw.survey.Publication:
    with lw.testing.reproducible(seed):
        return lw.release(ROWS, COLORS, **{"neighbors": "replace-one", "epsilon": 1} | how)


def test_labels_are_released_by_default() -> None:
    made = published()
    assert made.release.mechanism == lw.mechanisms.LabelCounts()
    result = made.distribution
    assert np.abs(result.mass - TRUTH).max() < 0.02
    assert missing_share(result) == pytest.approx(0.04, abs=0.02)
    band = result.confidence_band(0.99, kind="simultaneous")
    assert band is not None and (band.low <= TRUTH).all() and (band.high >= TRUTH).all()


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one"])
@pytest.mark.parametrize("labels", [1, 2, 5])
def test_halving_what_the_noise_hides_is_found(
    relation: Any, labels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    domain = lw.Categories(labels)
    rows = np.eye(labels + 1, dtype=np.int64).tolist()
    assert hidden_of(domain, relation, monkeypatch) == moved(rows, relation)
    right = CountStrategy.sensitivity

    def half(self: CountStrategy, neighbors: Any) -> Sensitivity:
        found = right(self, neighbors)
        return Sensitivity(max(1, found.squared // 2), max(1, found.absolute // 2))

    monkeypatch.setattr(CountStrategy, "sensitivity", half)
    is_found = hidden_of(domain, relation, monkeypatch) != moved(rows, relation)
    assert is_found == (relation == "replace-one")  # one count that moves by one has no half


def hidden_of(domain: Any, relation: str, patch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    with patch.context() as silent:
        silent.setattr("lapwing.privacy.integer_noise.Noise.draw", _none)
        return tuple(hidden(lw.mechanisms.LabelCounts(), domain, relation))


def _none(self: Any, count: int, source: Any) -> np.ndarray:
    return np.zeros(count, dtype=np.int64)


@pytest.mark.filterwarnings("ignore::lapwing.errors.PrivacyWarning")
def test_the_lesser_noise_is_taken() -> None:
    pure = published(epsilon=1).release.parts[0].noise
    assert (pure.kind, pure.scale) == ("laplace", Fraction(2))
    assert published(epsilon=1, delta="1e-6").release.parts[0].noise == pure
    wide = published(epsilon="0.01", delta="0.1").release.parts[0].noise
    assert wide.kind == "normal" and wide.variance < 2 * 200**2


def test_sites_add_and_a_ledger_pays(tmp_path: Path) -> None:
    ledger = lw.Ledger.open(tmp_path / "ledger.json")
    lw.Ledger(lw.Guarantee(Fraction(3, 2), Fraction(0), "replace-one", "central")).save(ledger.path)
    one = published(ledger=ledger).release
    with pytest.raises(lw.errors.BudgetError):
        published(ledger=ledger)
    both = one + published(2).release
    assert both.people == 2000
    assert np.abs(lw.survey.Publication(both).distribution.mass - TRUTH).max() < 0.02
    with pytest.warns(lw.errors.RowsWarning, match="not among the labels"):
        other = lw.release(ROWS, lw.Categories(4), neighbors="replace-one", epsilon=1).release
    with pytest.raises(MismatchError):
        one + other


def test_a_document_with_less_noise_is_refused() -> None:
    document = published().release.to_document()
    assert document["domain"]["other"] == "rest"
    assert Release.from_document(document).fingerprint == published(3).release.fingerprint
    document["parts"][0]["noise"]["scale"] = "1"
    with pytest.raises(FormatError, match="Do not use this release"):
        Release.from_document(document)


def test_what_needs_an_order_refuses_labels() -> None:
    for mechanism in (
        lw.mechanisms.PrefixSums(),
        lw.mechanisms.SumTree(),
        lw.mechanisms.HistogramQuery(2),
        lw.papers.functional_approximation.PolynomialProjection(2),
        lw.papers.functional_approximation.AdaptiveQuantiles(),
        lw.papers.functional_approximation.MatchingPursuit(1, atoms=2),
        lw.mechanisms.RunningPrefixSums(2),
    ):
        with pytest.raises(ArgumentError, match="Use label-counts"):
            published(mechanism=mechanism)


def test_numbers_may_be_released_one_by_one() -> None:
    made = lw.release(
        [3] * 900 + [5] * 100,
        lw.Integers(0, 9),
        neighbors="replace-one",
        epsilon=1,
        mechanism=lw.mechanisms.LabelCounts(),
        rng=lw.seeded(1),
    ).distribution
    assert made.cdf(3) == pytest.approx(0.9, abs=0.02)


def test_too_many_labels() -> None:
    with pytest.raises(ArgumentError, match="at most 1048576"):
        lw.mechanisms.LabelCounts().check(lw.Categories(MOST_SYMBOLS).for_curator())
    lw.mechanisms.LabelCounts().check(lw.Categories(MOST_SYMBOLS - 1).for_curator())
