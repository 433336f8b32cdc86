"""Hadamard response, as the contract suites run over them."""

from __future__ import annotations

from lapwing import HadamardResponse
from tests.contracts.randomizer_rows import (
    ALL,
    RandomizerRow,
    code_of,
    impossible_codes,
    loosen_near,
)

ROWS = {
    "hadamard-response": RandomizerRow(
        HadamardResponse,
        ALL,
        loosen_near,
        impossible_codes,
        code_of,
        near_sets=lambda response: {"blocks": response.block_count},
    ),
    "hadamard-response, two blocks": RandomizerRow(
        lambda domain, epsilon: HadamardResponse(domain, epsilon, blocks=2),
        ("linear", "categories", "categories-missing"),
        loosen_near,
        impossible_codes,
        code_of,
        near_sets=lambda response: {"blocks": response.block_count},
    ),
}
