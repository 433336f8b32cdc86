"""The band of a release is exact among those present, at every number of bins."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import erf

from lapwing.decoders.releases.prefix_estimate import prefix_estimate
from lapwing.decoders.releases.step_pursuit import StepPursuit
from lapwing.mechanisms.prefix_sums import PrefixSums
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.results.uncertainty import normal_critical_value

PROMISES = {
    "public": Promise("replace-one", epsilon=1, delta="1e-6"),
    "hidden": Promise("add-or-remove-one", epsilon=1, delta="1e-6"),
}
PEOPLE = 20_000


def law_and_truth(bins, promise, *, missing):
    """Return the decoded error law, shares of people and their exact standard deviations."""
    values = np.random.default_rng(0).beta(5, 2, PEOPLE)
    values[:missing] = np.nan
    held = ExactCounts.of_values(values, Interval(0, 1, bins=bins, missing="bin", outside="clip"))
    release = PrefixSums().release(held, promise, rng=seeded(1))
    result = StepPursuit(smooth=False).decode(release.channel, release)
    estimate = prefix_estimate(release.channel, release)
    if release.people is not None:
        estimate = estimate.condition(-1, release.people)
    # The error of S_k / S_p: that of S_k - F S_p, over S_p, by the covariance of the sums.
    heights = np.cumsum(held.counts[:bins]) / held.counts[:bins].sum()
    own = estimate.root.squared_row_sums() - (estimate.removed**2).sum(axis=1)
    with_last = estimate.column(bins - 1)
    variance = own[:bins] - 2 * heights * with_last[:bins] + heights**2 * own[bins - 1]
    exact = np.sqrt(np.maximum(variance, 0) * estimate.variance) / (PEOPLE - missing)
    return result, heights, exact


def covered(law, heights, exact):
    """Return the coverage of the nominal 95% band, in the bins with 0.02 < F < 0.98."""
    used = (heights > 0.02) & (heights < 0.98)
    ratio = law.cdf_deviation("empirical")[used] / exact[used]
    return float(erf(normal_critical_value(0.95) * ratio / np.sqrt(2)).mean())


@pytest.mark.parametrize("missing", [0, 5_000])
@pytest.mark.parametrize("promise", PROMISES.values(), ids=PROMISES)
@pytest.mark.parametrize("bins", [64, 256, 1024])
def test_it_covers_what_it_says(bins, promise, missing):
    """No draws: errors are normal, so their exact standard deviations say how often."""
    result, heights, exact = law_and_truth(bins, promise, missing=missing)
    assert 0.947 <= covered(result._present_uncertainty, heights, exact) <= 0.953
    # The sum of all present is one, without an error.
    assert result._present_uncertainty.cdf_deviation("empirical")[-1] < 1e-6
    # Broken: what the columns leave out is forgotten. At 64 bins they leave out nothing.
    bare = replace(result.uncertainty, remainder=np.zeros(bins + 1)).given_present()
    assert bins == 64 or covered(bare, heights, exact) < 0.945


def test_real_releases_lie_in_it_as_often():
    """500 releases: a standard error is at most 0.6%, an alarm by chance is below 1e-3."""
    bins, inside = 256, []
    values = np.random.default_rng(0).beta(5, 2, 2_000)
    values[:400] = np.nan
    held = ExactCounts.of_values(values, Interval(0, 1, bins=bins, missing="bin", outside="clip"))
    heights = np.cumsum(held.counts[:bins]) / held.counts[:bins].sum()
    used = (heights > 0.02) & (heights < 0.98)
    forgotten = []
    for seed in range(500):
        release = PrefixSums().release(held, PROMISES["public"], rng=seeded(seed))
        result = StepPursuit(smooth=False).decode(release.channel, release)
        for law, found in (
            (result._present_uncertainty, inside),
            (
                replace(result.uncertainty, remainder=np.zeros(bins + 1)).given_present(),
                forgotten,
            ),
        ):
            reach = normal_critical_value(0.95) * law.cdf_deviation("empirical")
            found.append((np.abs(np.cumsum(law.center) - heights) <= reach)[used].mean())
    assert 0.93 <= np.mean(inside) <= 0.97
    assert np.mean(forgotten) < np.mean(inside) - 0.002
