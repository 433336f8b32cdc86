"""Generalized randomized response, as the contract suites run over them."""

from lapwing import RandomizedResponse
from tests.contracts.randomizer_rows import ALL, CODES, RandomizerRow

ROWS = {
    "randomized-response": RandomizerRow(RandomizedResponse, ALL, *CODES),
}
