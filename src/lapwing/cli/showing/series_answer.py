"""`lapwing series`: weeks decoded together, as JSON and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lapwing.cli.console import facts, grid
from lapwing.cli.wording import count_text, number_text, percent
from lapwing.results.series import Series

if TYPE_CHECKING:
    from rich.table import Table


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


def series_tables(series: Series, document: dict[str, Any], *, rest: dict[str, str]) -> list[Table]:
    """Return the tables of a series: its weeks, then its changes."""
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
    below = told or {
        "changes": "no jump and no odd week is shown" if series.smoothed else "not asked"
    }
    below["decoded"] = document["decoded"]
    return [grid("weeks decoded together", list(rows[0]), body), facts(below | rest)]
