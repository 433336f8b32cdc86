"""Pictures of the papers' figures: drawn from what a benchmark measures, and there when shown."""

from __future__ import annotations

import json
import re

import pytest

from benchmarks import results
from benchmarks.accuracy.papers import drawing
from benchmarks.isolated import script
from tests.benchmarks.test_runner import TINY

DRAWN = [
    ("wavelet", "figure-2"),
]


@pytest.mark.parametrize(("paper", "name"), DRAWN)
def test_a_picture_is_drawn_from_what_its_benchmark_measures(paper, name, tmp_path):
    picture = drawing.pictures(paper)[name]
    benchmark = picture.benchmark
    measured = json.loads(json.dumps(script(benchmark).measure(**TINY[benchmark])))
    figure = picture.draw(measured)
    assert sum(len(ax.lines) for ax in figure.axes) >= 8
    assert f"(figures/{name}.png)" in script(benchmark).section(measured, TINY[benchmark])
    figure.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_every_picture_that_a_page_shows_is_there():
    shown = {}
    for page in drawing.FOLDER.rglob("README.md"):
        names = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
        shown |= {page.parent / name: page for name in names}
    assert [path for path in shown if not path.is_file()] == []
    there = set(drawing.FOLDER.rglob("*.png"))
    assert there == set(shown)  # and no picture lies there that no page shows
    made = {
        drawing.FOLDER / paper / "figures" / f"{name}.png"
        for paper in drawing.PAPERS
        for name, picture in drawing.pictures(paper).items()
        if results.read(picture.benchmark) is not None
    }
    assert made == there
