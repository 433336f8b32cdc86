"""What the pictures of the papers' figures share: panels, named curves with error bars, files.

    python -m benchmarks.accuracy.papers.drawing

writes `figures/*.png` and `figures/*.svg` next to every paper's page, from the kept results.
Pictures that read the data folder are skipped without it.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.accuracy.papers.findings import title as finding_of
from benchmarks.datasets import DataFolderError

FOLDER = Path(__file__).resolve().parent

AUTHORS = {
    "square_wave": "Li et al. 2020",
    "wavelet": "Zhao et al. 2026",
    "convolution": "Fang et al. 2023",
    "compressive": "Xiong et al. 2021",
    "functional_approximation": "Tao and Sarwate 2026",
}
PAPERS = tuple(AUTHORS)
"""Folders; each may have a module `<paper>_pictures` with a table PICTURES."""

COLORS = (
    *("#0b5ea8", "#d55e00", "#009e73", "#e69f00", "#56b4e9", "#cc79a7"),
    *("#333333", "#a01400", "#6478f0", "#506450", "#282850", "#786478"),
)
"""The library's two and ten more. Any two differ, also to those who see no red or no green."""

MARKS = "osD^vPX*<>hd"

LETTERS_PER_INCH = 12
"""Of a title in 10 points."""

NAMES = {
    "acs_income": "income",
    "airbnb": "Airbnb days",
    "beta": "Beta(10, 2)",
    "beta52": "Beta(5, 2)",
    "kosarak": "Kosarak",
    "lognormal": "log-normal",
    "sf_benefits": "benefits",
    "sf_retirement": "retirement",
    "spiky": "atoms and waves",
    "yaw": "yaw angle",
}
"""What titles say for the name of a column."""

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


def plain_logarithmic(ax: Any) -> None:
    """Set a logarithmic scale with plain numbers, at 1, 2 and 5 times powers of ten if few."""
    import math

    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    ax.set_yscale("log")
    low, high = ax.get_ylim()
    decades = math.log10(high / low)
    subs = (1, 2, 5) if decades < 2.5 else (1,)
    if decades < 0.6:
        subs = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
    if decades < 0.2:
        subs = tuple(one / 10 for one in range(10, 100, 2))
    ax.yaxis.set_major_locator(LogLocator(subs=subs, numticks=99))
    ax.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1000 else f"{value:g}")
    )
    ax.yaxis.set_minor_locator(NullLocator())


def uncovered(ax: Any) -> None:
    """Draw the curves of a panel ever thinner, so that one on another leaves both to be seen.

    All stay opaque: half transparent, two of the colors would be one to some readers.
    """
    drawn = [container[0] for container in ax.containers]
    for place, line in enumerate(drawn):
        line.set_linewidth(1.2 + 0.6 * (len(drawn) - 1 - place))
        line.set_markersize(3 + 0.4 * (len(drawn) - 1 - place))


def with_between(
    measured: Mapping[str, Any], part: str = "rows", key: str = "epsilon"
) -> list[Mapping[str, Any]]:
    """Return rows and, in their places along a key, those of fewer repeats that are only drawn.

    Parameters
    ----------
    measured : mapping
        Its ``"<part>, between"`` holds the latter; results from before there were any have none.
    """
    rows = [*measured[part], *measured.get(f"{part}, between", [])]
    columns = list(dict.fromkeys(row["column"] for row in rows))
    return sorted(rows, key=lambda row: (columns.index(row["column"]), row[key]))


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


def in_house_style(figure: Any, paper: str, *, finding: str | None = None) -> None:
    """Give every panel its letter, columns the names that people say, and all strings their size.

    The finding is the title. The common part of the panels' titles, such as "Figure 7",
    is once below it, with the paper.
    """
    shared = ""
    for place, ax in enumerate(figure.axes):
        number, colon, rest = ax.get_title().partition(": ")
        if colon and number.startswith(("Figure ", "Theorem ")):
            shared = number
        else:
            rest = ax.get_title()
        title = re.sub(r"\w+", lambda word: NAMES.get(word[0], word[0]), rest)
        letter = f"({_letters(place)}) " if len(figure.axes) > 1 else ""
        ax.set_title((letter + title).rstrip(), fontsize=9)
        ax.xaxis.label.set_fontsize(9)
        ax.yaxis.label.set_fontsize(9)
        ax.tick_params(labelsize=8, which="both")
    if figure.get_suptitle():
        numbered = rf"{AUTHORS[paper]}, figure \1"
        text = re.sub(r"^Figure (\d+)( of the \w+ paper)?", numbered, figure.get_suptitle())
        figure.suptitle(text, fontsize=10)
    elif shared:
        figure.suptitle(f"{AUTHORS[paper]}, {shared[0].lower()}{shared[1:]}", fontsize=10)
    if finding is not None:
        width = round(LETTERS_PER_INCH * figure.get_size_inches()[0])
        lines = [*textwrap.wrap(finding, width), figure.get_suptitle() or AUTHORS[paper]]
        figure.suptitle("\n".join(lines), fontsize=10)


def _letters(place: int) -> str:
    """Return a, b, ..., z, aa, ab, ...: the letters of a panel."""
    first, last = divmod(place, 26)
    return (chr(96 + first) if first else "") + chr(97 + last)


def save(figure: Any, path: Path) -> None:
    """Write a figure as PNG of 200 dots per inch, and beside it as SVG; the same bytes each time.

    A palette of 256 colors halves the PNG and changes no pixel that anybody could see. So do two
    decimals of a point in the SVG, whose texts stay texts.
    """
    from matplotlib import rc_context
    from PIL import Image

    drawn = BytesIO()
    figure.savefig(drawn, dpi=200)
    with Image.open(drawn) as image:
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    lines = BytesIO()
    with rc_context({"svg.hashsalt": path.stem, "svg.fonttype": "none"}):
        figure.savefig(lines, format="svg", metadata={"Date": None})
    short = re.sub(
        r"\d+\.\d{3,}", lambda digits: f"{float(digits[0]):.2f}", lines.getvalue().decode()
    )
    path.with_suffix(".svg").write_text(short, encoding="utf-8")


def pictures(paper: str) -> dict[str, Picture]:
    """Return the pictures of a paper by the name of their file, without ".png"."""
    module = import_module(f"benchmarks.accuracy.papers.{paper}.{paper}_pictures")
    found: dict[str, Picture] = module.PICTURES
    return found


def main() -> None:
    """Draw every picture whose result is kept, with its finding as the title."""
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
                figure = picture.draw(document["measured"])
                in_house_style(figure, paper, finding=finding_of(paper, name))
                save(figure, folder / f"{name}.png")
            except DataFolderError as error:
                _say(f"SKIPPED {paper}/{name}: {error}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
