"""Any two colors of the papers' pictures differ, also to readers who see no red or no green."""

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.accuracy.papers.drawing import AUTHORS, COLORS, MARKS, pictures
from benchmarks.accuracy.papers.wavelet.wavelet_pictures import COLOR, KNOWN, MARK
from lapwing.results import plotting

Vector = NDArray[np.float64]

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
VISIONS = {
    "full": np.eye(3),
    "deuteranope": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "protanope": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
}


def lab(color: str, vision: Vector) -> Vector:
    """Return what a reader sees of a color, in CIELAB."""
    coded = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    to_xyz = [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
    xyz = np.array(to_xyz) @ np.clip(vision @ linear, 0, 1) / [0.95047, 1, 1.08883]
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def least(colors: tuple[str, ...], vision: str) -> float:
    seen = [lab(color, VISIONS[vision]) for color in colors]
    return min(float(np.linalg.norm(np.subtract(*pair))) for pair in combinations(seen, 2))


@pytest.mark.parametrize("vision", VISIONS)
def test_any_two_colors_differ_by_fifteen(vision):
    """In CIELAB by Euclid's distance, of which 2.3 is just noticed."""
    assert least(COLORS, vision) >= 15
    # What was drawn before: two of nine were one color to some readers.
    before = ("#1f4e5f", "#c8553d", "#2f9e8f", "#e0a030", "#7a5195", "#8a8a8a", "#5b8c2a")
    assert vision == "full" or least((*before, "#d67ab1", "#4477cc"), vision) < 6


def test_the_first_two_are_the_librarys():
    assert COLORS[:2] == (plotting.ESTIMATE, plotting.TRUTH)


def test_no_two_methods_of_a_picture_look_the_same():
    assert len(set(COLORS)) == len(set(MARKS)) == len(COLORS) == len(MARKS)
    assert len({(COLOR[name], MARK[name]) for name in KNOWN}) == len(KNOWN)
    assert all(pictures(paper) for paper in AUTHORS)
