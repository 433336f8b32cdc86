"""Generalized randomized response, as the contract suites run over them."""

from __future__ import annotations

from lapwing import GeneralizedRandomizedResponse
from tests.contracts.randomizer_rows import ALL, CODES, RandomizerRow

ROWS = {
    "generalized-randomized-response": RandomizerRow(GeneralizedRandomizedResponse, ALL, *CODES),
}
