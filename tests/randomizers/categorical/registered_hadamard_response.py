"""Hadamard response, as the contract suites run over them."""

from lapwing.randomizers import HadamardResponse
from tests.contracts.randomizer_rows import ALL, CODES, RandomizerRow

ROWS = {
    "hadamard-response": RandomizerRow(
        HadamardResponse, ALL, *CODES, near_sets=lambda response: {"blocks": response._block_count}
    ),
    "hadamard-response, two blocks": RandomizerRow(
        lambda domain, epsilon: HadamardResponse(domain, epsilon, blocks=2),
        ("linear", "categories", "categories-missing"),
        *CODES,
        near_sets=lambda response: {"blocks": response._block_count},
    ),
}
