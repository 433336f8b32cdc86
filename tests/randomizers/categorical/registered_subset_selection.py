"""Subset selection, as the contract suites run over them."""

from typing import Any

from lapwing import SubsetSelection
from tests.contracts.randomizer_rows import RandomizerRow, loosen_near, set_bits


def _wrong_sets(randomizer: Any) -> list[bytes]:
    width, size, members = randomizer.report_width, randomizer.domain.size, randomizer._members
    wrong = [0, 2 ** (members + 1) - 1, 2**size - 1 if members < size else 0]
    # As many bits as a set has, but one of them is spare.
    spare = [2 ** (members - 1) - 1 | 1 << bit for bit in range(size, 8 * width)]
    return [bits.to_bytes(width, "little") for bits in (*wrong, *spare)]


ROWS = {
    "subset-selection": RandomizerRow(
        SubsetSelection,
        ("linear", "circular", "integers", "categories", "categories-missing"),
        loosen_near,
        _wrong_sets,
        set_bits,
        near_sets=lambda randomizer: {"size": randomizer._members},
    ),
    "subset-selection, large sets": RandomizerRow(
        lambda domain, epsilon: SubsetSelection(domain, epsilon, size=4),
        ("linear", "integers"),
        loosen_near,
        _wrong_sets,
        set_bits,
        near_sets=lambda randomizer: {"size": randomizer._members},
    ),
}
