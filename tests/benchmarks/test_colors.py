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


def ciede2000(first: Vector, second: Vector) -> float:
    """Return the difference of two colors of CIELAB."""
    (l1, a1, b1), (l2, a2, b2) = first, second
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    grey = 1.5 - 0.5 * np.sqrt(mean**7 / (mean**7 + 25.0**7))
    a1, a2 = grey * a1, grey * a2
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    hue = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2))
    middle = (h1 + turn / 2) % 360 if c1 * c2 else h1 + h2
    light, c = (l1 + l2) / 2, (c1 + c2) / 2

    def wave(factor: float, degrees: float) -> float:
        return float(np.cos(np.radians(factor * middle + degrees)))

    t = 1 - 0.17 * wave(1, -30) + 0.24 * wave(2, 0) + 0.32 * wave(3, 6) - 0.2 * wave(4, -63)
    by_l = (l2 - l1) / (1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2))
    by_c = (c2 - c1) / (1 + 0.045 * c)
    by_h = hue / (1 + 0.015 * c * t)
    turned = 60 * np.exp(-(((middle - 275) / 25) ** 2))
    rotation = -2 * np.sqrt(c**7 / (c**7 + 25.0**7)) * np.sin(np.radians(turned))
    return float(np.sqrt(by_l**2 + by_c**2 + by_h**2 + rotation * by_c * by_h))


def least(colors: tuple[str, ...], vision: str) -> float:
    seen = [lab(color, VISIONS[vision]) for color in colors]
    return min(ciede2000(*pair) for pair in combinations(seen, 2))


# Of the test data of Sharma, Wu and Dalal 2005.
@pytest.mark.parametrize(
    ("first", "second", "difference"),
    [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 2.49, -0.001), (50, -2.49, 0.0011), 7.2195),
        ((50, 2.5, 0), (56, -27, -3), 31.9030),
        ((90.8027, -2.0831, 1.441), (91.1528, -1.6435, 0.0447), 1.4441),
        ((2.0776, 0.0795, -1.135), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_the_difference_is_that_of_the_standard(first, second, difference):
    assert ciede2000(np.array(first), np.array(second)) == pytest.approx(difference, abs=1e-4)


@pytest.mark.parametrize("vision", VISIONS)
def test_any_two_colors_differ_by_ten(vision):
    assert least(COLORS, vision) >= 10
    # What was drawn before: two of nine were one color to some readers.
    before = ("#1f4e5f", "#c8553d", "#2f9e8f", "#e0a030", "#7a5195", "#8a8a8a", "#5b8c2a")
    assert vision == "full" or least((*before, "#d67ab1", "#4477cc"), vision) < 5


def test_the_first_two_are_the_librarys():
    assert COLORS[:2] == (plotting.ESTIMATE, plotting.TRUTH)


def test_no_two_methods_of_a_picture_look_the_same():
    assert len(set(COLORS)) == len(set(MARKS)) == len(COLORS) == len(MARKS)
    assert len({(COLOR[name], MARK[name]) for name in KNOWN}) == len(KNOWN)
    assert all(pictures(paper) for paper in AUTHORS)
