"""Affine subset selection, as the contract suites run over it."""

from typing import Any

from lapwing.randomizers import AffineSubsetSelection
from tests.contracts.randomizer_rows import RandomizerRow, loosen_near

MODULI = {2: 0b111, 3: 0b1011, 4: 0b10011}


def product(a: int, b: int, bits: int) -> int:
    """Return the product of two polynomials, as schoolbooks divide them."""
    found = 0
    for bit in range(bits):
        found ^= (a << bit) * (b >> bit & 1)
    for bit in reversed(range(bits, 2 * bits)):
        found ^= (MODULI[bits] << bit - bits) * (found >> bit & 1)
    return found


def _members(randomizer: Any, report: bytes) -> tuple[int, list[int]]:
    bits = randomizer._bits
    row, b = divmod(int.from_bytes(report, "little"), 2**bits)
    symbols = range(randomizer.domain.size)
    return 0, [x for x in symbols if product(row + 1, x, bits) ^ b < randomizer._members]


def _wrong_codes(randomizer: Any) -> list[bytes]:
    width, sets = randomizer.report_width, randomizer._elements * (randomizer._elements - 1)
    codes = {sets, 256**width - 1}
    return [code.to_bytes(width, "little") for code in codes if sets <= code < 256**width]


ROWS = {
    "affine-subset-selection": RandomizerRow(
        AffineSubsetSelection,
        ("linear", "circular", "eight", "categories"),
        loosen_near,
        _wrong_codes,
        _members,
        near_sets=lambda randomizer: {"size": randomizer._members},
    ),
    "affine-subset-selection, large sets": RandomizerRow(
        lambda domain, epsilon: AffineSubsetSelection(domain, epsilon, size=3),
        ("linear",),
        loosen_near,
        _wrong_codes,
        _members,
        near_sets=lambda randomizer: {"size": randomizer._members},
    ),
}
