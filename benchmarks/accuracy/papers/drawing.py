"""What the pictures of the papers' figures share: panels, named curves with error bars, files.

    python -m benchmarks.accuracy.papers.drawing

writes `figures/*.png` beside every paper's page, from the kept results. Pictures that read the data
folder are skipped without it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.datasets import DataFolderError

FOLDER = Path(__file__).resolve().parent

PAPERS = ("square_wave", "wavelet", "convolution", "compressive", "functional_approximation")
"""Folders; each may have a module `<paper>_pictures` with a table PICTURES."""

COLORS = (
    *("#1f4e5f", "#c8553d", "#2f9e8f", "#e0a030", "#7a5195"),
    *("#8a8a8a", "#5b8c2a", "#d67ab1", "#4477cc"),
)
MARKS = "osD^vPX*<"

Points = Sequence[tuple[float, float, float]]
"""Of one curve: where, the mean, its standard error."""


@dataclass(frozen=True)
class Picture:
    """One picture: the benchmark whose measured part it is drawn from, and what draws it.

    Parameters
    ----------
    benchmark : str
        As on the command line of the benchmarks.
    draw : callable
        Takes the measured part, returns a matplotlib figure.
    """

    benchmark: str
    draw: Callable[[Mapping[str, Any]], Any]


def panels(rows: int, columns: int, *, wide: float = 3.1, high: float = 2.6) -> tuple[Any, Any]:
    """Return a figure and its axes, an array of shape (rows, columns)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(wide * columns, high * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def curves(
    ax: Any, named: Mapping[str, Points], known: Sequence[str], *, scale: str = "log"
) -> None:
    """Draw named curves with bars of two standard errors, in the color and mark of their name."""
    for name, points in named.items():
        number = list(known).index(name)
        ax.errorbar(
            [x for x, _, _ in points],
            [y for _, y, _ in points],
            yerr=[2 * error for _, _, error in points],
            color=COLORS[number % len(COLORS)],
            marker=MARKS[number % len(MARKS)],
            markersize=3.5,
            linewidth=1.2,
            elinewidth=0.8,
            label=name,
        )
    ax.set_yscale(scale)
    ax.spines[["top", "right"]].set_visible(False)


def uncovered(ax: Any) -> None:
    """Draw the curves of a panel ever thinner, so that one on another leaves both to be seen."""
    drawn = [container[0] for container in ax.containers]
    for place, line in enumerate(drawn):
        line.set_linewidth(1.2 + 0.6 * (len(drawn) - 1 - place))
        line.set_alpha(0.5 if place + 1 < len(drawn) else 1)
        line.set_markersize(3 + 0.4 * (len(drawn) - 1 - place))


def along(
    rows: Sequence[Mapping[str, Any]], key: str, names: Sequence[str], figure: str
) -> dict[str, list[tuple[float, float, float]]]:
    """Return one figure of several methods along a parameter of the rows, for `curves`."""
    return {
        name: [
            (row[key], found["mean"], found["standard_error"])
            for row in rows
            for found in [row["methods"][name][figure]]
        ]
        for name in names
    }


def legend(figure: Any, *, columns: int) -> None:
    """Draw one legend below all panels, each name once."""
    shown: dict[str, Any] = {}
    for ax in figure.axes:
        shown |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    figure.legend(
        shown.values(), shown, loc="outside lower center", ncols=columns, frameon=False, fontsize=8
    )


def save(figure: Any, path: Path) -> None:
    """Write a figure as PNG of 80 dots per inch and 128 colors: half the size, no other look."""
    from PIL import Image

    drawn = BytesIO()
    figure.savefig(drawn, dpi=80)
    with Image.open(drawn) as image:
        image.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)


def pictures(paper: str) -> dict[str, Picture]:
    """Return the pictures of a paper by the name of their file, without ".png"."""
    module = import_module(f"benchmarks.accuracy.papers.{paper}.{paper}_pictures")
    found: dict[str, Picture] = module.PICTURES
    return found


def main() -> None:
    """Draw every picture whose result is kept."""
    for paper in PAPERS:
        folder = FOLDER / paper / "figures"
        folder.mkdir(exist_ok=True)
        for name, picture in pictures(paper).items():
            document = results.read(picture.benchmark)
            if document is None:
                print(
                    f"SKIPPED {paper}/{name}: {picture.benchmark} was never measured",
                    file=sys.stderr,
                )
                continue
            try:
                save(picture.draw(document["measured"]), folder / f"{name}.png")
            except DataFolderError as error:
                _say(f"SKIPPED {paper}/{name}: {error}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
