"""The randomizers of pairs, as the contract suites run over them."""

from typing import Any

from lapwing.randomizers import BoxWave, MultiscaleBoxes
from tests.contracts.randomizer_rows import CODES, GROUPS, PAIRS, RandomizerRow


def _mixture(domain: Any, epsilon: Any) -> MultiscaleBoxes:
    """Return a mixture of a box, a strip, a subset of rows and blocks of columns.

    There are at most four blocks: the exact law of a set of many takes hours to list.
    """
    return MultiscaleBoxes(
        domain,
        epsilon,
        components=[
            ("box", (2, 1), 0.3),
            ("box", (None, 1), 0.3),
            ("blocks", (1, None), 0.2),
            ("blocks", (None, 2), 0.2),
        ],
    )


ROWS = {
    "box-wave": RandomizerRow(
        lambda domain, epsilon: BoxWave(domain, epsilon, widths=(2, 1)), PAIRS, *CODES
    ),
    "box-wave, strips": RandomizerRow(
        lambda domain, epsilon: BoxWave(domain, epsilon, widths=(2, None)), PAIRS, *CODES
    ),
    "multiscale-boxes": RandomizerRow(_mixture, PAIRS, *GROUPS),
}
