"""`lapwing compare --truth`: how far an estimate is from the truth."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

from lapwing.cli.console import Output, grid
from lapwing.cli.reading.stored_answers import read_result
from lapwing.cli.reading.truth import Truth, TruthOptions
from lapwing.cli.showing.table_file import TableOptions
from lapwing.distances import (
    decile_error,
    energy,
    kolmogorov_smirnov,
    kullback_leibler,
    l1,
    l2,
    mean_error,
    mean_squared_error,
    range_query_error,
    variance_error,
    wasserstein,
)
from lapwing.results.distribution import Distribution

GRID = 256
"""Points of the grid on which the papers report W1 and KS."""

RANGES = (0.1, 0.4)

_UNITS = {"number": "", "date": "days", "datetime": "seconds", "time-of-day": "seconds"}


class Measure(NamedTuple):
    """One distance: None where the two cannot be compared in this way, and maybe its unit."""

    name: str
    value: float | None
    unit: str = ""


def show_distances(
    result_file: Path, named: TruthOptions, written: TableOptions, out: Output, *, force: bool
) -> None:
    """Show how far the result in a file is from the truth."""
    inputs = [path for path in (result_file, named.file) if path is not None]
    written.check(inputs=inputs, force=force)
    result = read_result(result_file)
    known = named.exact(result.domain, out)
    measures = measured(result, known)
    document = {
        "command": "compare",
        "result": str(result_file),
        "truth": str(named.file),
        "people": known.distribution.reports,
        # JSON has no infinity: null there means infinite, or not comparable.
        "distances": {
            measure.name: {"value": _finite(measure.value), "unit": measure.unit or None}
            for measure in measures
        },
    }
    written.write(
        [{"distance": one.name, "value": _finite(one.value), "unit": one.unit} for one in measures]
    )
    rows = [[measure.name, _text(measure.value), measure.unit] for measure in measures]
    out.show(document, grid(f"distance from {named.file}", ["", "value", "unit"], rows))


def measured(result: Distribution, truth: Truth) -> list[Measure]:
    """Return all distances that make sense for a domain."""
    return [
        *_between_curves(result, truth),
        *_between_bins(result, truth),
        *_between_shares(result, truth),
    ]


def _between_curves(result: Distribution, truth: Truth) -> list[Measure]:
    if truth.curve is None:
        return []
    one, two, domain = result.cumulative, truth.curve, result.domain
    unit = _UNITS[domain.unit]
    length = float(domain.right[-1] - domain.left[0])
    exact = wasserstein(one, two)
    measures = [Measure("wasserstein", exact, unit)]
    if length > 0:
        measures.append(Measure("wasserstein, domain scaled to 1", exact / length))
    if domain.circular:
        around = wasserstein(one, two, circular=True)
        measures += [
            Measure("wasserstein on the circle", around, unit),
            Measure("wasserstein on the circle, scaled to 1", around / length),
        ]
    measures += [
        Measure("kolmogorov-smirnov", kolmogorov_smirnov(one, two)),
        Measure(f"wasserstein on {GRID} points, scaled to 1", wasserstein(one, two, grid=GRID)),
        Measure(f"kolmogorov-smirnov on {GRID} points", kolmogorov_smirnov(one, two, grid=GRID)),
        Measure("energy", energy(one, two), f"root of {unit}" if unit else ""),
    ]
    measures += [
        Measure(f"range queries of width {width:g}", range_query_error(one, two, width=width))
        for width in RANGES
    ]
    measures += [
        Measure("mean", mean_error(one, two), unit),
        Measure("variance", variance_error(one, two), f"{unit} squared" if unit else ""),
        Measure("deciles", decile_error(one, two), unit),
    ]
    return measures


def _between_bins(result: Distribution, truth: Truth) -> list[Measure]:
    """Return what forecasts are about: both spread evenly in the same bins."""
    domain, counted = result.domain, truth.distribution
    if truth.curve is None or counted.domain.to_document() != domain.to_document():
        return []
    length = float(domain.right[-1] - domain.left[0])
    largest = Measure("kolmogorov-smirnov between bins", kolmogorov_smirnov(result, counted))
    if length <= 0:
        return [largest]
    between = wasserstein(result, counted) / length
    return [Measure("wasserstein between bins, scaled to 1", between), largest]


def _between_shares(result: Distribution, truth: Truth) -> list[Measure]:
    one, two = truth.distribution, result
    same = one.domain.to_document() == two.domain.to_document()
    functions: dict[str, Any] = {
        "l1": l1,
        "l2": l2,
        "mean squared error": mean_squared_error,
        "kullback-leibler of truth from result": kullback_leibler,
    }
    return [
        Measure(name, function(one, two) if same else None, "nats" if "kull" in name else "")
        for name, function in functions.items()
    ]


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _text(value: float | None) -> str:
    if value is None:
        return "other bins"
    return f"{value:.6g}" if math.isfinite(value) else "infinite"
