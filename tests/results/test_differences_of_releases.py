"""Differences of releases of labels: Laplace noise of less than a person is mostly zero."""

import numpy as np
import pytest

import lapwing as lw

LABELS = 30


@pytest.mark.parametrize("together", [True, False], ids=["weeks", "two releases"])
def test_all_labels_are_held_at_once(together: bool) -> None:
    """Taken as normal, the errors were held in 29 of 40 of these weeks."""
    shares = np.arange(1.0, LABELS + 1) ** -0.8
    held = []
    for repeat in range(40):
        drawn = np.random.default_rng(repeat)
        weeks = [drawn.multinomial(300 + week, shares / shares.sum()) for week in range(2)]
        one, two = (
            lw.release(
                np.repeat(np.arange(LABELS), counts).tolist(),
                lw.Categories(LABELS),
                neighbors="replace-one",
                epsilon=3,
                rng=lw.seeded(100 * repeat + number),
            )
            for number, counts in enumerate(weeks)
        )
        if together:
            found = lw.decode_series([one, two]).between(0, 1, target="empirical")
        else:
            found = two.distribution.difference(one.distribution, people="different")
        band = found.confidence_band(kind="simultaneous")
        assert band is not None
        truth = np.append(weeks[1] / weeks[1].sum() - weeks[0] / weeks[0].sum(), 0.0)
        held.append(((band.low <= truth + 1e-12) & (truth <= band.high + 1e-12)).all())
    assert sum(held) >= 34
