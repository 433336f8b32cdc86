"""What `decode` does with the log of a domain too large to list: its heavy hitters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lapwing.cli.console import Output, facts, grid
from lapwing.cli.outputs import write_text
from lapwing.cli.wording import count_text, percent
from lapwing.results.heavy_hitters import HeavyHitters
from lapwing.survey.survey import Survey

MOST_SHOWN = 50


def show_found(
    survey: Survey, found: HeavyHitters, out: Output, *, output: Path | None, level: float
) -> None:
    """Write heavy hitters to a file, if there is one, and show them."""
    if output is not None:
        write_text(output, found.to_json() + "\n")
    document = {
        "command": "decode",
        "survey": survey.name,
        "fingerprint": survey.fingerprint,
        "output": None if output is None else str(output),
        **heavy_document(found, level=level),
    }
    rows = _facts(found) | ({} if output is None else {"written": str(output)})
    out.show(document, _table(survey.name, document, level), facts(rows))


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


def _facts(found: HeavyHitters) -> dict[str, str]:
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
    return rows


def _table(name: str, document: dict[str, Any], level: float) -> Any:
    shown = document["heavy_hitters"][:MOST_SHOWN]
    body = [
        [
            "(missing)" if row["value"] is None else str(row["value"]),
            percent(row["share"]),
            f"{percent(row['low'])} to {percent(row['high'])}",
        ]
        for row in shown
    ]
    title = f"{name}: heavy hitters"
    if len(shown) < len(document["heavy_hitters"]):
        title += f", the {len(shown)} largest of {len(document['heavy_hitters'])}"
    return grid(title, ["value", "share", f"{100 * level:g} % interval"], body)
