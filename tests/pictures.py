"""Whether a picture that is drawn now has the size and the kind of the committed one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

IMAGES = Path(__file__).parents[1] / "docs" / "images"

COARSE = (36, 24)
"""Blocks of a picture, across and down."""

OTHER_NOISE = 0.08
"""Most of the root mean square difference of the blocks' colors of two draws, from 0 to 1: up to
0.045 was seen."""

SAME_NOISE = 0.02
"""The same where the draws are fixed: what another version of a browser may change. A page without
its density is 0.03 apart, another page 0.06."""


def _coarse(path: Path) -> NDArray[np.float64]:
    with Image.open(path) as picture:
        blocks = picture.convert("RGB").resize(COARSE, Image.Resampling.BOX)
    return np.asarray(blocks, dtype=np.float64) / 255


def apart(first: Path, second: Path) -> float:
    """The root mean square difference of the colors of two pictures' blocks, from 0 to 1."""
    return float(np.sqrt(np.mean((_coarse(first) - _coarse(second)) ** 2)))


def _colors(path: Path) -> int:
    with Image.open(path) as picture:
        return len(picture.convert("RGB").getcolors(2**24) or ())


def check_picture(drawn: Path, name: str, *, most: float = OTHER_NOISE) -> None:
    """Fail unless a picture has the size and the kind of the committed one of a name."""
    committed = IMAGES / name
    again = f"{name} is out of date; run: make pictures"
    with Image.open(drawn) as new, Image.open(committed) as old:
        assert (new.format, new.mode, new.size) == (old.format, old.mode, old.size), again
    colors, known = _colors(drawn), _colors(committed)
    assert min(colors, known) > 20 and 0.5 < colors / known < 2, again
    assert 0.5 < drawn.stat().st_size / committed.stat().st_size < 2, again
    assert apart(drawn, committed) < most, again
