"""Pictures of the papers' figures: drawn from what a benchmark measures, and there when shown."""

from __future__ import annotations

import json
import re

import pytest

from benchmarks.accuracy.papers import pictures
from benchmarks.accuracy.papers.figure_columns import beta52, blocks
from benchmarks.isolated import script
from tests.benchmarks.test_runner import TINY


@pytest.mark.parametrize("name", list(pictures.PICTURES))
def test_a_picture_is_drawn_from_what_its_benchmark_measures(name, tmp_path):
    benchmark, draw = pictures.PICTURES[name]
    measured = json.loads(json.dumps(script(benchmark).measure(**TINY[benchmark])))
    figure = draw(measured)
    assert sum(len(ax.lines) for ax in figure.axes) >= 8
    assert f"(../figures/{name}.png)" in script(benchmark).section(measured, TINY[benchmark])
    figure.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_every_picture_that_a_page_shows_is_there():
    shown = {}
    for page in pictures.FOLDER.parent.rglob("README.md"):
        names = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
        shown |= {name: page.parent / name for name in names}
    assert [name for name, path in shown.items() if not path.is_file()] == []
    assert "../figures/columns.png" in shown  # the pattern finds what is there


def test_columns_are_drawn(tmp_path):
    figure = pictures.columns([(beta52(), 16), (blocks(4), 32)], (beta52(), 64))
    assert [len(ax.collections) for ax in figure.axes[:2]] == [1, 1]
    assert len(figure.axes[2].lines) == 1
    figure.savefig(tmp_path / "columns.png")
    assert (tmp_path / "columns.png").read_bytes().startswith(b"\x89PNG")
