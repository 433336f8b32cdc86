"""`lapwing decode --series`: weeks decoded together, as JSON and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapwing.cli.console import Output, facts, grid
from lapwing.cli.option_groups import option
from lapwing.cli.outputs import check_output, write_text
from lapwing.cli.reading.week_files import read_weeks
from lapwing.cli.showing.table_file import TableOptions
from lapwing.cli.wording import count_text, number_text, percent
from lapwing.errors import ArgumentError
from lapwing.results.series import Series
from lapwing.survey.series_decoding import decode_series

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True, kw_only=True)
class SeriesOptions:
    """The options of several tallies that are decoded together."""

    series: bool = option("Decode many weeks together.", default=False)
    together: bool = option(
        "Decode tallies of several surveys about one distribution to one answer, such as the "
        "epochs of lapwing adapt: SURVEY TALLY SURVEY TALLY ...",
        default=False,
    )
    names: str | None = option(
        "Of the weeks of a series, with commas between; default: the names of the files.", "NAMES"
    )
    so_far: bool = option(
        "Decode each week of a series from those up to it, as it could have been then.",
        default=False,
    )

    def check_alone(self) -> None:
        """Raise ArgumentError when an option of a series is given without one."""
        if self.names is not None or self.so_far:
            raise ArgumentError("--names and --so-far go with --series")

    @property
    def several(self) -> bool:
        """Whether there is more than one tally."""
        return self.series or self.together

    def check_together(self) -> None:
        """Raise ArgumentError when what is decoded to one answer is to be a series, too."""
        if self.series:
            raise ArgumentError("--series gives an answer for each week, --together one for all")
        self.check_alone()


def decode_weeks(
    words: Sequence[str],
    weeks: SeriesOptions,
    table: TableOptions,
    out: Output,
    *,
    output: Path | None,
    force: bool,
    level: float,
) -> None:
    """Decode weeks together, and show and store the series."""
    files = read_weeks(words, dated=weeks.names is None)
    table.check(inputs=files.paths, force=force, output=output)
    if output is not None:
        check_output(output, inputs=files.paths, force=force)
    names = files.names if weeks.names is None else weeks.names.split(",")
    with out.listening():
        series = decode_series(files.weeks, names=names, smooth=not weeks.so_far)
    if output is not None:
        write_text(output, series.to_json())
    document = series_document(series, level=level)
    table.write(document["weeks"])
    said = {"command": "decode", "output": None if output is None else str(output)}
    out.show(said | document, *_tables(series, document, output))


def series_document(series: Series, *, level: float) -> dict[str, Any]:
    """Return what a series says, as JSON values."""
    columns = series.to_dict(level=level)
    return {
        "decoded": "from all weeks" if series.smoothed else "from the weeks up to each",
        "level": level,
        "weeks": [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ],
        "changes": [
            {
                "week": series.weeks[change.week].name,
                "since": series.weeks[change.since].name,
                "kind": change.kind,
                "evidence": change.evidence,
                "size": change.shift.size,
                "low": change.shift.low,
                "high": change.shift.high,
                "words": change.in_words(series.domain),
            }
            for change in series.changes
        ],
    }


def _tables(series: Series, document: dict[str, Any], output: Path | None) -> list[Table]:
    domain = series.domain

    def cell(name: str, value: Any) -> str:
        if name in ("week", "change"):
            return str(value)
        if name == "people":
            return count_text(value)
        if value is None:
            return ""
        return number_text(value, domain) if domain.ordered else percent(value)

    rows = document["weeks"]
    body = [[cell(name, value) for name, value in row.items()] for row in rows]
    told = {
        f"{change['kind']} {change['week']}": f"since {change['since']}: {change['words']}"
        for change in document["changes"]
    }
    rest = told or {
        "changes": "no jump and no odd week is shown" if series.smoothed else "not asked"
    }
    rest["decoded"] = document["decoded"]
    if output is not None:
        rest["written"] = str(output)
    return [grid("weeks decoded together", list(rows[0]), body), facts(rest)]
