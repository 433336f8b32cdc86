"""Arguments that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast, get_args

import typer

from lapwing.documents import nearest
from lapwing.errors import ArgumentError
from lapwing.privacy.guarantee import Neighbors

SurveyFile = Annotated[
    Path, typer.Argument(metavar="SURVEY", help="The survey's JSON document (lapwing new).")
]

_WRITTEN = (
    "The file to write. It appears when the work is done, whole or not at all; a file of that name "
    "is replaced only with --force."
)

_OUTPUT = typer.Option("--output", "-o", metavar="FILE", help=_WRITTEN)

OutputFile = Annotated[Path, _OUTPUT]

OutputUnlessTried = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help=f"{_WRITTEN} Required, but not with --dry-run."
    ),
]
"""The same of a command that can be tried without writing anything."""

Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Replace an output that is there already, unless it is read-only. An error leaves it "
        "as it was.",
    ),
]

AllowEqual = Annotated[
    bool,
    typer.Option(
        "--allow-equal",
        help="Count files of equal content, too; without it a copy is refused. Two files of a few "
        "people may be equal by chance.",
    ),
]

ColumnName = Annotated[
    str | None,
    typer.Option(
        "--column",
        "-c",
        metavar="NAME",
        help="The column with the values; not needed when there is only one, but for labels in a "
        "CSV, where nothing tells a name from a label.",
    ),
]

NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header",
        help="The first line of a CSV is a row as all others; --column 2 is its second column.",
    ),
]

DecimalName = Annotated[
    str | None,
    typer.Option(
        "--decimal",
        metavar="MARK",
        help="What stands before the fraction of a number in a text: . (default) or , as in 1,5. A "
        "CSV of numbers with semicolons between its fields needs it, as it may mean either.",
    ),
]

Level = Annotated[
    float,
    typer.Option("--level", metavar="LEVEL", help="Coverage of the intervals, between 0 and 1."),
]

SegmentName = Annotated[
    str | None,
    typer.Option(
        "--segment",
        metavar="NAME",
        help='Of a release by segment, this one; "(no segment)" for rows in none of them.',
    ),
]

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of the class of this name, a list as JSON; may be repeated.",
    ),
]


def check_level(level: float) -> None:
    """Raise ArgumentError unless the level of an interval is between 0 and 1."""
    if not 0 < level < 1:
        raise ArgumentError(f"--level must be between 0 and 1, got {level}; for example 0.95")


def relation_of(typed: str) -> Neighbors:
    """Return what is protected; ArgumentError when it is no relation."""
    if typed not in get_args(Neighbors):
        raise ArgumentError(
            "--neighbors must be replace-one (the number of rows is public) or add-or-remove-one, "
            f"got {typed!r}{nearest(typed, get_args(Neighbors))}"
        )
    return cast(Neighbors, typed)
