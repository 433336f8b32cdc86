"""Affine sets: the law of uniform ones, pair by pair, exactly; how they are counted and drawn."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from lapwing import Categories, SubsetSelection
from lapwing.errors import DomainError, TallyError
from lapwing.randomizers import AffineSubsetSelection
from lapwing.randomizers.categorical import affine_subset_selection as module
from lapwing.randomizers.categorical.affine_subset_selection import AffineSets
from lapwing.testing.randomizer_contract import exact_law
from tests.false_alarms import accepts, moments_tail


def _held(family: AffineSets) -> np.ndarray:
    """Return what every set holds, one by one: bool [sets, elements]."""
    field = family.field
    return np.array(
        [
            [(field.product(a, x) ^ b) < family.members for x in range(field.size)]
            for a, b in product(range(1, field.size), range(field.size))
        ]
    )


@pytest.mark.parametrize(("bits", "members"), [(1, 1), (2, 1), (2, 3), (3, 3), (4, 5), (4, 12)])
def test_every_pair_is_in_as_many_sets_as_of_uniform_ones(bits: int, members: int) -> None:
    family = AffineSets(bits, members)
    held, size = _held(family), 2**bits
    assert held.shape == (family.sets, size)
    assert (held.sum(axis=1) == members).all()
    together = held.T.astype(int) @ held
    assert (np.diag(together) == (size - 1) * members).all()
    others = together[~np.eye(size, dtype=bool)]
    assert (others == members * (members - 1)).all()


@pytest.mark.parametrize(("symbols", "members"), [(8, 3), (6, 3), (5, 6)])
def test_the_channel_has_the_exact_covariances_also_where_elements_are_nobodys(
    symbols: int, members: int
) -> None:
    randomizer = AffineSubsetSelection(Categories(symbols), 1, size=members)
    (block,) = randomizer.channel.blocks
    held = _held(randomizer._family)[:, :symbols]
    for value in (0, symbols - 1):
        chances = [Fraction(0)] * len(held)
        for report, chance in exact_law(randomizer, value).items():
            chances[int.from_bytes(report, "little")] = chance
        law = np.array(chances, dtype=float)
        mean = law @ held
        covariance = (held.T * law) @ held - np.outer(mean, mean)
        holds = np.eye(symbols)[value]
        np.testing.assert_allclose(block.mean(holds), mean, rtol=1e-13)
        np.testing.assert_allclose(block.covariance(holds).dense(), covariance, atol=1e-14)


def test_where_all_elements_are_symbols_the_block_is_that_of_uniform_sets() -> None:
    affine = AffineSubsetSelection(Categories(256), 2)
    uniform = SubsetSelection(Categories(256), 2)
    assert (affine._threshold, affine._members) == (uniform._threshold, uniform._members)
    mass = np.random.default_rng(1).dirichlet(np.ones(256))
    (one,), (other,) = affine.channel.blocks, uniform.channel.blocks
    np.testing.assert_array_equal(one.mean(mass), other.mean(mass))
    np.testing.assert_array_equal(one.covariance(mass).dense(), other.covariance(mass).dense())


@pytest.mark.parametrize(("bits", "members"), [(1, 1), (3, 5), (5, 1), (5, 12), (6, 63)])
@pytest.mark.parametrize("at_once", [1, 100, 2**18])
def test_all_ways_to_count_agree(
    bits: int, members: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_AT_ONCE", at_once)
    family = AffineSets(bits, members)
    held = _held(family)
    for number in (0, 1, 30, 10_000):
        codes = np.random.default_rng(number).integers(family.sets, size=number)
        np.testing.assert_array_equal(family.count(codes), held[codes].sum(axis=0))


@pytest.mark.parametrize("each", [0, 10**9])
def test_both_ways_to_draw_have_the_moments_of_reports(
    each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PEOPLE_PER_PAIR", each)
    monkeypatch.setattr(module, "_AT_ONCE", 16)
    randomizer = AffineSubsetSelection(Categories(7), 1, size=3)
    (block,) = randomizer.channel.blocks
    people = np.array([60, 0, 10, 20, 1, 0, 109])
    holds = np.eye(7)
    mean = sum(n * block.mean(one) for n, one in zip(people, holds, strict=True))
    covariance = sum(
        n * block.covariance(one).dense() for n, one in zip(people, holds, strict=True)
    )
    rng = np.random.default_rng(3)
    drawn = np.array([block.sample(people, rng) for _ in range(2000)], dtype=float)
    assert accepts(moments_tail(drawn, mean, covariance))
    assert not accepts(moments_tail(drawn, mean, covariance * 1.3))


def test_counts_that_sets_cannot_give_are_refused() -> None:
    (block,) = AffineSubsetSelection(Categories(6), 1, size=4).channel.blocks
    # Two of the eight elements are nobody's: a set of four has 2 to 4 of the six.
    for total in (20, 41):
        counts = np.full(6, total // 6)
        counts[0] += total - counts.sum()
        if total == 20:
            block.law.check_counts(counts, 10)
            counts[1] -= 1
        with pytest.raises(TallyError, match="20 to 40"):
            block.law.check_counts(counts, 10)


def test_domains_that_the_fields_do_not_hold_are_refused() -> None:
    AffineSubsetSelection(Categories(2**16), 1)
    with pytest.raises(DomainError):
        AffineSubsetSelection(Categories(2**16 + 1), 1)
