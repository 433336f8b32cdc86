"""What `decode` does with the log of a domain too large to list: its heavy hitters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lapwing.cli.console import facts, grid
from lapwing.cli.wording import count_text, interval_text, label_text, percent
from lapwing.results.heavy_hitters import HeavyHitters

if TYPE_CHECKING:
    from rich.table import Table

SHOWN_LIMIT = 50
"""Values that are shown in a table; JSON has all."""


def heavy_document(found: HeavyHitters, *, level: float) -> dict[str, Any]:
    """Return what heavy hitters say, as JSON values."""
    band = found.confidence_band(level)
    rows = zip(found.values, found.shares, band.low, band.high, strict=True)
    return {
        "reports": found.reports,
        "guarantee": found.guarantee.to_document() if found.guarantee else None,
        "made": found.made,
        "level": level,
        "band": {"kind": band.kind, "method": band.method},
        "threshold": found.threshold,
        "searched": found.searched,
        "expected_false": found.expected_false,
        "remainder": found.remainder,
        "heavy_hitters": [
            {"value": value, "share": float(share), "low": float(low), "high": float(high)}
            for value, share, low, high in rows
        ],
    }


def heavy_tables(
    name: str, found: HeavyHitters, document: dict[str, Any], *, rest: dict[str, str]
) -> list[Table]:
    """Return the tables of what :func:`heavy_document` returned, as those of other answers."""
    rows = {"reports": count_text(found.reports)}
    if found.guarantee:
        rows["promise of each"] = str(found.guarantee)
    rows["decoder"] = str(found.made.get("class", "unknown"))
    rows["values searched"] = count_text(found.searched)
    rows["listed from"] = percent(found.threshold)
    if found.expected_false is not None:
        rows["listed by chance"] = f"{found.expected_false:g} of them, expected"
    rows["everybody else"] = percent(found.remainder)
    rows["intervals"] = found.confidence_band().method
    return [_table(name, document), facts(rows | rest)]


def _table(name: str, document: dict[str, Any]) -> Table:
    shown = document["heavy_hitters"][:SHOWN_LIMIT]
    body = [
        [label_text(row["value"]), percent(row["share"]), interval_text(row, percent)]
        for row in shown
    ]
    title = f"{name}: heavy hitters"
    if len(shown) < len(document["heavy_hitters"]):
        title += f", the {len(shown)} largest of {len(document['heavy_hitters'])}"
    return grid(title, ["value", "share", f"{100 * document['level']:g} % interval"], body)
