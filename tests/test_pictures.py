"""The pictures of the documentation are those that are drawn today; examples check their own."""

from __future__ import annotations

import importlib.util
import re
from itertools import combinations
from pathlib import Path
from types import ModuleType

import pytest
from PIL import Image, ImageDraw

from tests.clients_js.programs import chromium
from tests.pictures import IMAGES, OTHER_NOISE, SAME_NOISE, apart, check_picture

ROOT = Path(__file__).parents[1]

BY_EXAMPLES = {*("multimodal_column.png", "spiky_column.png", "two_periods.png")}
"""What the tests of the examples compare."""

OF_FIXED_REPORTS = {
    *("income.png", "taxi-hours.png", "compressive-privatization.png"),
    *("taxi-series.png", "taxi-weeks.png"),
}


@pytest.fixture(scope="module")
def pictures() -> ModuleType:
    pytest.importorskip("playwright.sync_api", reason="needs: pip install '.[test]'")
    spec = importlib.util.spec_from_file_location("docs_pictures", ROOT / "docs" / "pictures.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_picture_is_shown_and_every_shown_picture_is_there() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = {
        name for page in pages for name in re.findall(r"images/([\w-]+\.png)", page.read_text())
    }
    # The dark scheme has the same page as the light one.
    assert shown | {"collector-dark.png"} == {path.name for path in IMAGES.iterdir()}


def test_what_is_drawn_from_fixed_reports_is_drawn_as_it_was(
    pictures: ModuleType, tmp_path: Path
) -> None:
    for draw in (
        pictures.draw_incomes,
        pictures.draw_hours,
        pictures.draw_series,
        pictures.draw_scheme,
    ):
        draw(tmp_path)
    drawn = sorted(tmp_path.iterdir())
    assert {path.name for path in drawn} == OF_FIXED_REPORTS
    for path in drawn:
        check_picture(path, path.name, most=SAME_NOISE)


@pytest.mark.soak
@pytest.mark.service
def test_the_pages_are_drawn_as_they_were(pictures: ModuleType, tmp_path: Path) -> None:
    chromium()
    pictures.draw_pages(tmp_path)
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn | OF_FIXED_REPORTS | BY_EXAMPLES == {path.name for path in IMAGES.iterdir()}
    for name in drawn:
        check_picture(tmp_path / name, name, most=SAME_NOISE)


def test_another_picture_is_noticed(tmp_path: Path) -> None:
    name = "collector-numbers.png"
    with Image.open(IMAGES / name) as picture:
        width, height = picture.size
        whole = picture.convert("RGB")
    bare, dark = whole.copy(), whole.point(lambda color: 255 - color)
    # The density is gone, as if it had not been drawn.
    ImageDraw.Draw(bare).rectangle((0, height * 45 // 100, width, height * 7 // 10), fill="white")
    small = whole.resize((width // 2, height // 2))
    for number, changed in enumerate((bare, dark, small, Image.new("RGB", whole.size))):
        path = tmp_path / f"{number}.png"
        changed.quantize(256).save(path)
        with pytest.raises(AssertionError, match="run: make pictures"):
            check_picture(path, name, most=SAME_NOISE)
    whole.save(tmp_path / "other_mode.png")
    with pytest.raises(AssertionError, match="run: make pictures"):
        check_picture(tmp_path / "other_mode.png", name, most=SAME_NOISE)
    check_picture(IMAGES / name, name, most=SAME_NOISE)
    pages = sorted(IMAGES.glob("collector-*.png"))
    assert all(apart(*two) > 2.5 * SAME_NOISE for two in combinations(pages, 2))
    assert OTHER_NOISE > SAME_NOISE
