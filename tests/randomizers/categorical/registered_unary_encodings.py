"""The encodings of one bit a symbol, as the contract suites run over them."""

from typing import Any

from lapwing import Rappor
from lapwing.privacy.sampling.randomness import WORD
from lapwing.randomizers import OptimizedUnaryEncoding, UnaryEncoding
from tests.contracts.randomizer_rows import (
    ALL,
    RandomizerRow,
    set_bits,
    spare_bits,
    with_attributes,
)


def _loosen_second_round(randomizer: Any) -> Any:
    keep, again = randomizer._keep_and_repeat
    return with_attributes(randomizer, _keep_and_repeat=(keep, again + 1))


def _loosen_symmetric(randomizer: Any) -> Any:
    own = randomizer._thresholds["own"] + 1
    return with_attributes(randomizer, _own_and_other=(own, WORD - own))


def _loosen_optimized(randomizer: Any) -> Any:
    own, other = randomizer._thresholds["own"], randomizer._thresholds["other"]
    return with_attributes(randomizer, _own_and_other=(own, other - 1))


ROWS = {
    "unary-encoding": RandomizerRow(UnaryEncoding, ALL, _loosen_symmetric, spare_bits, set_bits),
    "optimized-unary-encoding": RandomizerRow(
        OptimizedUnaryEncoding, ALL, _loosen_optimized, spare_bits, set_bits
    ),
    "rappor": RandomizerRow(
        Rappor,
        ("log", "categories", "categories-missing"),
        _loosen_second_round,
        spare_bits,
        set_bits,
    ),
}
