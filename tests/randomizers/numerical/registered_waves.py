"""The waves, as the contract suites run over them."""

from typing import Any

from lapwing import MultiscaleWave, SquareWave
from lapwing.papers.square_wave import GeneralWave
from lapwing.privacy.exact_numbers import exponential_bounds
from lapwing.privacy.sampling.randomness import WORD
from tests.contracts.randomizer_rows import (
    CODES,
    GROUPS,
    ORDERED,
    RandomizerRow,
    code_of,
    impossible_codes,
    with_attributes,
)


def _loosen_peak(wave: Any) -> Any:
    """Raise the peak by the least number with which it is above the bound times an outside point.

    Outside points lose as much as the peak gains.
    """
    table = list(wave._table)
    place = table.index(max(table))
    bound, outside = exponential_bounds(wave.epsilon)[0], WORD - sum(table)
    table[place] += int((bound * outside / wave._far - table[place]) / (1 + bound / wave._far)) + 1
    return with_attributes(wave, _table=tuple(table))


def _near_sets(wave: Any) -> dict[str, Any]:
    return {"width": (wave._half_window + 0.5) / wave._points}


ROWS = {
    "square-wave": RandomizerRow(SquareWave, ORDERED, *CODES, near_sets=_near_sets),
    "square-wave, fine grid": RandomizerRow(
        lambda domain, epsilon: SquareWave(domain, epsilon, width=0.2, grid=3 * domain.size),
        ("linear", "circular", "log"),
        *CODES,
        near_sets=_near_sets,
    ),
    "square-wave, wide": RandomizerRow(
        lambda domain, epsilon: SquareWave(domain, epsilon, width=0.9),
        ("linear", "circular", "integers"),
        *CODES,
        near_sets=_near_sets,
    ),
    "general-wave": RandomizerRow(
        lambda domain, epsilon: GeneralWave(domain, epsilon, ratio=0.4, width=0.3),
        ORDERED,
        _loosen_peak,
        impossible_codes,
        code_of,
    ),
    "general-wave, of any shape": RandomizerRow(
        lambda domain, epsilon: GeneralWave(domain, epsilon, shape=(0.25, 1, 0)),
        ("linear", "circular", "integers"),
        _loosen_peak,
        impossible_codes,
        code_of,
    ),
    "multiscale-wave": RandomizerRow(
        lambda domain, epsilon: MultiscaleWave(
            domain,
            epsilon,
            components=[("wave", 0.5, 0.4), ("wave", 1.0, 0.35), ("subset", 5, 0.25)],
        ),
        ("eight",),
        *GROUPS,
    ),
    "multiscale-wave, affine": RandomizerRow(
        lambda domain, epsilon: MultiscaleWave(
            domain,
            epsilon,
            components=[("wave", 0.5, 0.4), ("affine", 8, 0.35), ("affine", 5, 0.25)],
        ),
        ("eight",),
        *GROUPS,
    ),
    "multiscale-wave, cells": RandomizerRow(
        lambda domain, epsilon: MultiscaleWave(
            domain,
            epsilon,
            components=[
                ("wave", 0.5, 0.4),
                ("cells", (0, 5), 0.35),
                ("cells", (0, 1, 3, 4, 6, 7), 0.25),
            ],
        ),
        ("eight",),
        *GROUPS,
    ),
    "multiscale-wave, cells alone": RandomizerRow(
        lambda domain, epsilon: MultiscaleWave(domain, epsilon, components=[("cells", (0, 5), 1)]),
        ("eight",),
        *GROUPS,
    ),
}
