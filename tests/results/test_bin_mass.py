"""Shares of the bins alone, for people who bring a distance of their own."""

from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError

DOMAINS: dict[str, tuple[Any, int]] = {
    "clipped": (lw.Interval(0, 10, bins=4), 4),
    "counted outside": (lw.Interval(0, 10, bins=4, outside="overflow"), 4),
    "missing": (lw.Interval(0, 10, bins=4, outside="overflow", missing="bin"), 4),
    "atoms": (lw.Interval(0, 10, bins=4, atoms=(0, 3), outside="overflow", missing="bin"), 7),
    "circle": (lw.Interval(0, 10, bins=4, circular=True, missing="bin"), 4),
    "integers": (lw.Integers(0, 6, missing="bin"), 7),
    "labels": (lw.Categories(["a", "b"], missing="category"), 2),
}


@pytest.mark.parametrize("domain, bins", DOMAINS.values(), ids=DOMAINS)
def test_it_is_the_shares_within_the_range(domain: Any, bins: int) -> None:
    counts = np.arange(1, domain.size + 1)
    result = lw.Distribution.of_counts(counts, domain)
    first = 0 if domain.below_index is None else 1
    inside = counts[first : first + bins]
    assert result.bin_mass == pytest.approx(inside / inside.sum())


def test_a_release_has_one_entry_more_than_its_bins_and_bin_mass_has_not() -> None:
    values = np.random.default_rng(1).uniform(0, 10, 50_000)
    made = lw.release(values, lw.Interval(0, 10, bins=20), neighbors="replace-one", epsilon=1)
    result = made.distribution
    assert result.mass.size == 21 and result.bin_mass.size == 20
    truth = np.histogram(values, bins=result.domain.bin_edges)[0] / 50_000  # type: ignore[attr-defined]
    assert np.abs(result.bin_mass - truth).sum() < 0.05


def test_without_anybody_in_the_range_there_is_none() -> None:
    domain = lw.Interval(0, 10, bins=4, missing="bin")
    with pytest.raises(ArgumentError, match="nobody has a value in the range"):
        _ = lw.Distribution.of_counts([0, 0, 0, 0, 3], domain).bin_mass
