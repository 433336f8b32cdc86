"""Fields of 2^k: the generator reaches everything, tables and long multiplication agree."""

import numpy as np
import pytest

from lapwing.randomizers.categorical.affine_subset_selection import MODULI, binary_field


@pytest.mark.parametrize("bits", range(1, len(MODULI) + 1))
def test_it_is_a_field_and_the_tables_are_its_products(bits: int) -> None:
    field = binary_field(bits)
    size = field.size
    # If 2 has every element but 0 as a power, the polynomials modulo this one are a field.
    assert set(field.powers[: size - 1].tolist()) == set(range(1, size))
    a, b = np.random.default_rng(bits).integers(size, size=(2, 200))
    a[:2], b[1:3] = 0, 0
    products = field.products(a, b)
    assert products.tolist() == [field.product(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    assert products.tolist() == field.products(b, a).tolist()
    b[b == 0] = size - 1
    assert field.products(field.quotients(a, b), b).tolist() == a.tolist()


def test_products_distribute_over_exclusive_or() -> None:
    field = binary_field(5)
    a, b, c = np.ogrid[:32, :32, :32]
    split = field.products(a, b) ^ field.products(a, c)
    np.testing.assert_array_equal(field.products(a, b ^ c), split)
