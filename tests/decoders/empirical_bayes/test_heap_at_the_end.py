"""A heap at the end of the range, which no bin beside it suggests, is in the band of the curve."""

import numpy as np
import pytest

import lapwing as lw


@pytest.mark.parametrize("bins", [200, pytest.param(600, marks=pytest.mark.soak)])
def test_the_whole_curve_of_a_column_with_a_top_code_is_covered(bins: int) -> None:
    # Of ten polls at 0.95 fewer than seven are inside once in 1,000 times. Before the ends could
    # hold anything it was 5 of ten.
    domain = lw.Interval(0, 100, bins=bins, outside="clip")
    few = [2.2, 3.1, 3.3, 4.4, 5.0, 5.2, 7.3, 7.7, 15.0]
    values = np.concatenate([np.zeros(30_000), np.repeat(few, 260), np.full(221, 99.999)])
    counts = np.bincount(domain.index(values), minlength=bins)
    truth = np.cumsum(counts) / counts.sum()
    wave = lw.MultiscaleWave(domain, epsilon=1)
    inside = 0
    for seed in range(10):
        result = lw.SpectralPrior().decode(wave.channel, lw.simulate(wave, counts, rng=seed))
        band = result.confidence_band(0.95, kind="simultaneous")
        assert band is not None
        inside += bool(((band.low <= truth) & (truth <= band.high)).all())
    assert inside >= 7
