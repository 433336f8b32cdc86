"""What is said before a release of labels is what its noise then does."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import lapwing as lw
from lapwing.errors import ArgumentError

LABELS = lw.Categories(9)
HELD = np.array([4000, 2000, 1000, 500, 400, 300, 200, 100, 0, 1500])
PROMISES: list[dict[str, Any]] = [
    {"neighbors": "replace-one", "epsilon": "0.05"},
    {"neighbors": "replace-one", "mu": "0.05"},
    {"neighbors": "add-or-remove-one", "epsilon": "0.05"},
]


@pytest.mark.parametrize("promise", PROMISES, ids=repr)
def test_noise_is_as_large_as_was_forecast(promise: dict[str, Any]) -> None:
    # Noise of tens of people, so that whole numbers are nearly continuous.
    # 1000 releases: single shares, and all ten at once, within what was said for 95%. Fewer or
    # more than binomial at a false alarm of 1e-6 are found, and so is twice or half the forecast.
    error = lw.expected_error(LABELS, int(HELD.sum()), **promise)
    summary = lw.protocol.ExactCounts(lw.Categories(9, missing="category"), HELD)
    drawn = np.array(
        [
            lw.mechanisms.LabelCounts()
            .release(summary, lw.privacy.Promise(**promise), rng=lw.seeded(seed))
            .answers
            for seed in range(1000)
        ]
    )
    off = np.abs(drawn - HELD) / HELD.sum()

    def fits(inside: np.ndarray) -> bool:
        count, size = int(inside.sum()), inside.size
        return min(stats.binom.cdf(count, size, 0.95), stats.binom.sf(count - 1, size, 0.95)) > 5e-7

    for factor, right in ((1.0, True), (0.5, False), (2.0, False)):
        assert fits(off <= factor * error.margin) == right
        assert fits((off <= factor * error.simultaneous_margin).all(axis=1)) == right
    assert error.deviation == pytest.approx(np.sqrt(np.mean(off**2)), rel=0.1)
    assert error.simultaneous_margin > 1.3 * error.margin
    assert error.to_document()["people"] == HELD.sum()


def test_of_segments_the_forecast_is_of_all_cells() -> None:
    table = lw.protocol.Segmented(lw.Categories(9), ["a", "b"])
    many, few = (
        lw.expected_error(domain, 100, neighbors="replace-one", epsilon=1)
        for domain in (table, LABELS)
    )
    assert many.margin == few.margin and many.simultaneous_margin > few.simultaneous_margin


def test_what_a_release_would_refuse_is_refused() -> None:
    for domain, users in ((LABELS, 0), (LABELS, True), (LABELS, 1.5)):
        with pytest.raises(ArgumentError):
            lw.expected_error(
                domain,
                users,  # type: ignore[arg-type]
                neighbors="replace-one",
                epsilon=1,
            )


def test_the_error_within_a_segment_is_that_of_its_people() -> None:
    both = lw.expected_error(LABELS, 100, neighbors="replace-one", epsilon=1, segments=["a", "b"])
    assert both.segment is not None and both.segment.people == 50
    assert both.segment.margin == pytest.approx(2 * both.margin)
    assert both.segment.simultaneous_margin < 2 * both.simultaneous_margin
    assert both.to_document()["segment"]["people"] == 50


def test_what_a_release_takes_the_forecast_takes() -> None:
    promise: dict[str, Any] = {"neighbors": "replace-one", "epsilon": 1}
    how: dict[str, Any] = {"unit": [1, 1, 2], "most": 2}
    how |= {"by": ["a", "a", "b"], "segments": ["a", "b"], "mechanism": "label-counts"}
    error = lw.expected_error(LABELS, 100, **promise, **how)
    lw.release(["x"] * 3, lw.Categories(["x"]), **promise, **how)
    assert error.margin > lw.expected_error(LABELS, 100, **promise).margin
    for alone in ({"unit": [1]}, {"by": ["a"]}):
        with pytest.raises(ArgumentError, match="needs"):
            lw.expected_error(LABELS, 100, **promise, **alone)
        with pytest.raises(ArgumentError, match="is for a release"):
            lw.expected_error(LABELS, 100, epsilon=1, **alone)
