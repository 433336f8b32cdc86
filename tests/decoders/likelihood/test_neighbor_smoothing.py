"""Which symbols touch, and what one step of smoothing keeps."""

import numpy as np
import pytest

from lapwing import Categories, Integers, Interval
from lapwing.decoders.decoder import Neighbors, smoother
from lapwing.errors import UnsupportedChannelError
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.product import Product

DOMAINS: dict[str, Domain] = {
    "even": Interval(0, 1, bins=7),
    "circular": Interval(0, 24, bins=7, circular=True),
    "log": Interval(1, 1e6, bins=7, scale="log"),
    "integers": Integers(3, 9),
    "integers, missing": Integers(3, 9, missing="bin"),
    "atom inside a bin": Interval(0, 1, bins=4, atoms=(0.1,)),
    "atoms on edges": Interval(0, 1, bins=4, atoms=(0, 0.5, 1)),
    "atom and missing": Interval(0, 1, bins=4, atoms=(0.3,), missing="bin"),
    "log, split": Interval(1, 16, bins=4, scale="log", atoms=(3,)),
    "circular, atom": Interval(0, 1, bins=4, circular=True, atoms=(0.5,)),
    "one bin": Interval(0, 1, bins=1, missing="bin"),
}
every = pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS.keys())


def _matrix(domain: Domain) -> np.ndarray:
    smooth = Neighbors.of(domain).smooth
    return np.column_stack([smooth(unit) for unit in np.eye(domain.size)])


@every
def test_mass_is_kept_and_nothing_becomes_negative(domain: Domain) -> None:
    matrix = _matrix(domain)
    np.testing.assert_allclose(matrix.sum(axis=0), 1, rtol=1e-14)
    assert matrix.min() >= 0


@every
def test_equal_density_stays(domain: Domain) -> None:
    pairs = Neighbors.of(domain)
    flat = pairs.width / pairs.width.sum()
    np.testing.assert_allclose(pairs.smooth(flat), flat, rtol=1e-13)


@every
def test_what_stands_apart_is_left_alone(domain: Domain) -> None:
    matrix = _matrix(domain)
    extent = domain.right - domain.left
    apart = np.flatnonzero(extent == 0) if extent.any() else np.array([], dtype=int)
    if domain.missing_index is not None:
        apart = np.append(apart, domain.missing_index)
    for symbol in apart:
        np.testing.assert_array_equal(matrix[symbol], np.eye(domain.size)[symbol])
        np.testing.assert_array_equal(matrix[:, symbol], np.eye(domain.size)[symbol])


def test_a_quarter_to_each_neighbor() -> None:
    expected = np.array(
        [[0.75, 0.25, 0, 0], [0.25, 0.5, 0.25, 0], [0, 0.25, 0.5, 0.25], [0, 0, 0.25, 0.75]]
    )
    np.testing.assert_allclose(_matrix(Interval(0, 1, bins=4)), expected)
    np.testing.assert_allclose(_matrix(Integers(1, 4)), expected)
    np.testing.assert_allclose(_matrix(Interval(1, 16, bins=4, scale="log")), expected)
    circle = expected.copy()
    circle[[0, 3], [0, 3]] = 0.5
    circle[[0, 3], [3, 0]] = 0.25
    np.testing.assert_allclose(_matrix(Interval(0, 1, bins=4, circular=True)), circle)


def test_pairs_run_over_atoms_and_round_circles() -> None:
    # Symbols: [0, .1), the atom .1, (.1, .25), then three bins.
    pairs = Neighbors.of(Interval(0, 1, bins=4, atoms=(0.1,)))
    touching = list(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))
    assert touching == [(0, 2), (2, 3), (3, 4), (4, 5)]
    np.testing.assert_allclose(pairs.width, [0.4, 1, 0.6, 1, 1, 1])
    assert not pairs.even and not pairs.circular
    circle = Neighbors.of(Interval(0, 1, bins=4, circular=True))
    assert (circle.first[-1], circle.second[-1]) == (3, 0) and circle.circular
    missing = Neighbors.of(Integers(1, 3, missing="bin"))
    assert missing.first.tolist() == [0, 1] and missing.second.tolist() == [1, 2]


def test_unequal_bins_exchange_mass_by_density() -> None:
    pairs = Neighbors.of(Interval(0, 1, bins=2, atoms=(0.1,)))
    # Widths .1, (atom), .4, .5: mass flows until densities agree, slowly where bins are narrow.
    mass = np.array([1.0, 0, 0, 0])
    moved = pairs.smooth(mass)
    width = pairs.width
    assert moved[1] == 0
    assert moved[2] == pytest.approx(min(width[0], width[2]) / 4 * (1 / width[0]))


def test_labels_have_no_neighbors() -> None:
    with pytest.raises(UnsupportedChannelError, match="labels have no neighbors"):
        Neighbors.of(Categories(4))


@every
def test_a_pair_is_smoothed_along_both_axes(domain: Domain) -> None:
    other = Interval(0, 1, bins=5, circular=True)
    smooth = smoother(Product(first=domain, second=other))
    matrix = np.column_stack([smooth(unit) for unit in np.eye(domain.size * other.size)])
    np.testing.assert_allclose(matrix, np.kron(_matrix(domain), _matrix(other)), atol=1e-14)
    # Of one attribute it is that attribute's own.
    unit = np.eye(domain.size)[0]
    np.testing.assert_array_equal(smoother(domain)(unit), _matrix(domain)[:, 0])


def test_a_pair_with_labels_is_refused() -> None:
    with pytest.raises(UnsupportedChannelError, match="labels have no neighbors"):
        smoother(Product(first=Integers(0, 3), second=Categories(["a", "b"])))
