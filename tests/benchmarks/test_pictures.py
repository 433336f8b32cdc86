"""Pictures of the papers' figures: drawn from what a benchmark measures, and there when shown."""

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


@pytest.mark.soak
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


@pytest.mark.parametrize(
    ("paper", "name"),
    [
        ("compressive", "figure-3"),
        ("compressive", "theorem-1-1"),
        ("convolution", "figure-7"),
        ("functional_approximation", "figure-9"),
        ("functional_approximation", "figure-3"),
    ],
)
def test_curves_are_opaque_and_axes_have_labels_and_plain_numbers(paper, name):
    picture = drawing.pictures(paper)[name]
    figure = picture.draw(results.read(picture.benchmark)["measured"])
    figure.canvas.draw()
    assert {
        part[0].get_alpha() for ax in figure.axes for part in ax.containers if part.get_label()
    } <= {None, 1}
    last = max(ax.get_subplotspec().rowspan.stop for ax in figure.axes)
    for ax in figure.axes:
        place = ax.get_subplotspec()
        assert ax.get_ylabel() or place.colspan.start
        assert ax.get_xlabel() or place.rowspan.stop < last
        numbers = [label.get_text() for label in ax.get_yticklabels(which="both")]
        assert any(numbers) and not any("math" in number for number in numbers)


@pytest.mark.parametrize("paper", drawing.PAPERS)
def test_pictures_name_the_authors_as_the_papers_page_does(paper):
    authors = drawing.AUTHORS[paper].replace(" 20", ", 20")
    pages = (drawing.FOLDER.parents[2] / "docs").rglob(f"*{paper.replace('_', '-')}.md")
    headings = [page.read_text(encoding="utf-8").splitlines()[0] for page in pages]
    assert any(heading.endswith(f" ({authors})") for heading in headings)


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
