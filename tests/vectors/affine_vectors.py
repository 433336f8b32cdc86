"""Vectors of sets that a field names, and of the ladder that sent them all as bits."""

from __future__ import annotations

from typing import Any

from lapwing import Categories, Integers, MultiscaleWave, Survey
from lapwing.randomizers import AffineSubsetSelection

SETS = Survey("browser", AffineSubsetSelection(Categories(11), 1))

NAMED: dict[str, tuple[Survey, list[Any]]] = {
    "affine-subset-selection": (SETS, [0, 5, 10, 11]),
    "affine-subset-selection-size": (
        Survey("age", AffineSubsetSelection(Integers(17, 217, outside="clip"), "1/3", size=100)),
        [17, 18, 217, 218],
    ),
    "affine-subset-selection-large": (
        Survey("page", AffineSubsetSelection(Categories(2**16), 4)),
        [0, 1, 40_000, 65_535, 65_536],
    ),
    "multiscale-wave-affine": (
        Survey(
            "wage",
            MultiscaleWave(
                Integers(0, 39, outside="clip"),
                1,
                components=[("wave", 0.5, 0.5), ("affine", 8, 0.2), ("affine", 40, 0.3)],
            ),
        ),
        [0, 10, 39, 40],
    ),
}

# The field of 11 symbols has 16 elements, and names 15 * 16 sets.
BAD_NAMES = [
    (why, SETS, report, "ReportError")
    for why, report in (
        ("code 240 of 0..239", "f0"),
        ("code 255 of 0..239", "ff"),
        ("two bytes instead of one", "0000"),
    )
]

BIT_LADDER = Survey(
    "wage",
    MultiscaleWave(
        Integers(0, 19),
        2,
        components=[
            *(("wave", 0.35, 0.15), ("wave", 0.6, 0.25), ("wave", 1.0, 0.23), ("wave", 1.4, 0.13)),
            ("subset", 20.0, 0.24),
        ],
    ),
)
