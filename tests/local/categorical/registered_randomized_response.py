"""Generalized randomized response, as the contract suites run over them."""

from __future__ import annotations

from lapwing import GeneralizedRandomizedResponse
from tests.contracts.randomizer_rows import (
    ALL,
    RandomizerRow,
    code_of,
    impossible_codes,
    loosen_near,
)

ROWS = {
    "generalized-randomized-response": RandomizerRow(
        GeneralizedRandomizedResponse, ALL, loosen_near, impossible_codes, code_of
    ),
}
