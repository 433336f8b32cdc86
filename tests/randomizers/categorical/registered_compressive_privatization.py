"""Compressive privatization, as the contract suites run over them."""

from typing import Any

from lapwing import CompressivePrivatization
from tests.contracts.randomizer_rows import (
    ALL,
    RandomizerRow,
    code_of,
    impossible_codes,
    with_attributes,
)

UNEVEN: Any = (
    (0, 1, 0, 1, 0, 1),
    (1, 0, 0, 0, 1, 1),
    (0, 1, 1, 0, 1, 0),
    (1, 1, 1, 0, 0, 0),
    (1, 0, 0, 1, 0, 0),
)
"""Near sets of three and of two outputs; the first is large, so that its law shows epsilon well."""


def _loosen_by_size(randomizer: Any) -> Any:
    looser = {size: threshold + 1 for size, threshold in randomizer._by_size.items()}
    return with_attributes(randomizer, _by_size=looser)


def _near_sets(randomizer: Any) -> dict[str, Any]:
    return {"weight": randomizer._near} if randomizer.matrix == "balanced" else {}


ROWS = {
    "compressive-privatization": RandomizerRow(
        lambda domain, epsilon: CompressivePrivatization(domain, epsilon, outputs=domain.size - 1),
        ALL,
        _loosen_by_size,
        impossible_codes,
        code_of,
        near_sets=_near_sets,
    ),
    "compressive-privatization, banded": RandomizerRow(
        lambda domain, epsilon: CompressivePrivatization(
            domain, epsilon, matrix=UNEVEN, uneven="banded"
        ),
        ("linear", "integers"),
        _loosen_by_size,
        impossible_codes,
        code_of,
    ),
    "compressive-privatization, scaled": RandomizerRow(
        lambda domain, epsilon: CompressivePrivatization(
            domain, epsilon, matrix=UNEVEN, uneven="scaled"
        ),
        ("linear", "integers"),
        _loosen_by_size,
        impossible_codes,
        code_of,
    ),
}
