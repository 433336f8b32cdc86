"""Arguments that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SurveyFile = Annotated[
    Path, typer.Argument(metavar="SURVEY", help="The survey's JSON document (lapwing new).")
]
OutputFile = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="The file to write. It appears when the work is done; before that, and after an "
        "error, a file of that name stays as it was.",
    ),
]
ColumnName = Annotated[
    str | None,
    typer.Option(
        "--column",
        "-c",
        metavar="NAME",
        help="The column with the values; not needed when there is only one.",
    ),
]
Level = Annotated[
    float,
    typer.Option("--level", metavar="LEVEL", help="Coverage of the intervals, between 0 and 1."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KNOB=VALUE",
        help="Any other knob that the class of this name has, a list as JSON; may be repeated.",
    ),
]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON document instead of tables, for errors too."),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="No tables and no progress bar; warnings and errors stay."),
]
