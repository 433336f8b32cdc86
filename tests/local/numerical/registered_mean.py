"""Reports of which a mean is made, as the contract suites run over them."""

from __future__ import annotations

from lapwing import Piecewise
from tests.contracts.randomizer_rows import RandomizerRow, code_of, impossible_codes, loosen_near

ROWS = {
    "piecewise": RandomizerRow(
        Piecewise, ("linear", "integers"), loosen_near, impossible_codes, code_of
    ),
}
