"""`lapwing quantile`: quantiles of a result or a release, with their intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lapwing.cli.console import Output, grid
from lapwing.cli.reading.options import Level, check_level
from lapwing.cli.reading.stored import read_result
from lapwing.cli.wording import number_text
from lapwing.errors import ArgumentError


def quantile(
    result_file: Annotated[
        Path,
        typer.Argument(metavar="RESULT", help="A decoded distribution, or a release."),
    ],
    probabilities: Annotated[
        list[float], typer.Argument(metavar="P", help="Probabilities between 0 and 1.")
    ],
    level: Level = 0.95,
    *,
    out: Output,
) -> None:
    """Print quantiles with their intervals.

    An interval comes from inverting the band of the distribution function; it ends at whole bins.
    """
    check_level(level)
    for probability in probabilities:
        if not 0 <= probability <= 1:
            raise ArgumentError(f"a quantile's probability must be in [0, 1], got {probability:g}")
    result = read_result(result_file)
    band = result.confidence_band(level)
    rows: list[dict[str, Any]] = []
    for probability in probabilities:
        low, high = (None, None) if band is None else band.quantile(probability)
        value = float(result.quantile(probability))
        rows.append({"probability": probability, "value": value, "low": low, "high": high})
    body = [
        [
            f"{row['probability']:g}",
            number_text(row["value"], result.domain),
            "-"
            if row["low"] is None
            else f"{number_text(row['low'], result.domain)} to "
            f"{number_text(row['high'], result.domain)}",
        ]
        for row in rows
    ]
    document = {"command": "quantile", "level": level, "quantiles": rows}
    headers = ["probability", "quantile", f"{100 * level:g} % interval"]
    out.show(document, grid(result_file.name, headers, body))
