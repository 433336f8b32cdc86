"""The comparison with OpenDP's histograms: the same promise, the same people, and no more noise."""

import numpy as np
import pytest

from benchmarks.accuracy.central.central_labels import compared, deviation_of_laplace

pytest.importorskip("opendp.prelude", reason="opendp is not installed")


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "0"), ("1", "1e-6"), ("0.01", "1e-2")])
def test_ours_has_no_more_noise_at_the_same_promise(epsilon: str, delta: str) -> None:
    found = compared(np.ones(5), epsilon, delta, people=10_000, repeats=1)
    theirs, ours = found["deviations"]
    assert ours <= theirs * (1 + 1e-9)
    if delta == "0":
        assert ours == pytest.approx(theirs) == deviation_of_laplace(2)


def test_where_few_of_many_are_held_the_default_is_nearest() -> None:
    shares = np.zeros(2000)
    shares[:4] = 1
    found = compared(shares, "0.5", "0", people=10_000, repeats=2)["errors"]
    default, nearest, theirs = (
        sum(one for one, _ in found[way]) for way in ("default", "nearest", "OpenDP")
    )
    assert default < nearest < theirs
