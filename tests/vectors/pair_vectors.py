"""Surveys of pairs, for the test vectors."""

from __future__ import annotations

from typing import Any

from lapwing import Categories, Integers, Interval, Product, Survey
from lapwing.randomizers import BoxWave, MultiscaleBoxes

_LINES = Product(x=Integers(17, 22), y=Interval(0, 1, bins=5, closed="left"))

_APART = Product(
    hour=Interval(0, 24, bins=6, circular=True, missing="bin", closed="left"),
    wait=Interval(0, 10, bins=4, outside="overflow", missing="bin", closed="left"),
)

_LABELS = Product(color=Categories(["red", "green", "blue", "gray"]), age=Integers(17, 20))

PAIRED: dict[str, tuple[Survey, list[Any]]] = {
    "box-wave": (
        Survey("pair", BoxWave(_LINES, 1, widths=(3, 2))),
        [[17, 0], [22, 1], [19, 0.5], [30, -1], [17, 0.2], [17.5, 0.2]],
    ),
    "box-wave-strip": (
        Survey("pair", BoxWave(_LINES, "1/3", widths=(None, 2))),
        [[17, 0], [22, 0.99]],
    ),
    "box-wave-apart": (
        Survey("pair", BoxWave(_APART, 2, widths=(4, 3))),
        [[0, 0], [25, 3], [12, -1], [12, 11], [None, 5], [5, None], [None, None]],
    ),
    "box-wave-labels": (
        Survey("pair", BoxWave(_LABELS, "2.5", widths=(2, 2))),
        [["red", 17], ["gray", 20], ["black", 18], [None, 18]],
    ),
    "multiscale-boxes": (
        Survey(
            "pair",
            MultiscaleBoxes(
                _APART,
                1,
                components=[
                    ("box", (2, None), 0.3),
                    ("box", (3, 3), 0.3),
                    ("blocks", (None, 1), 0.2),
                    ("blocks", (4, 2), 0.2),
                ],
            ),
        ),
        [[0, 0], [25, 3], [12, -1], [12, 11], [None, 5], [5, None], [None, None]],
    ),
    "multiscale-boxes-labels": (
        Survey(
            "pair",
            MultiscaleBoxes(
                _LABELS,
                4,
                components=[("box", (1, 2), 0.5), ("box", (2, 1), 0.25), ("blocks", (1, 1), 0.25)],
            ),
        ),
        [["red", 17], ["gray", 20], ["black", 18], [None, 18]],
    ),
}
