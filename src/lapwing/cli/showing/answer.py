"""A decoded distribution as the JSON and the tables that `decode` shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from lapwing.cli.console import facts, grid
from lapwing.cli.wording import count_text, interval_text, label_text, number_text, percent
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.domain_answers import to_days
from lapwing.results.distribution import Distribution
from lapwing.results.intervals import days_of_quantile

if TYPE_CHECKING:
    from rich.table import Table

PROBABILITIES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
SHARE_LIMIT = 20
"""Labels that are shown, those of the largest shares: as many as fit on a screen."""

AT_ONCE = ", of all labels at once"
"""What the intervals of a choice of labels are: those shown were chosen for being large."""

ATOM_LIMIT = 12
"""Atoms that are shown in a table; JSON has all."""

RANGE_LIMIT = 4096
"""Symbols up to which errors of ranges are bounded: beyond, it takes seconds that nobody asked
for."""


def answer_document(result: Distribution, *, level: float) -> dict[str, Any]:
    """Return what a distribution says, as JSON values.

    Parameters
    ----------
    result : Distribution
    level : float
        Of the intervals, in (0, 1).
    """
    labels = not result.domain.ordered
    band = result.shown_band(level, SHARE_LIMIT) if labels else result.confidence_band(level)
    document: dict[str, Any] = {
        "reports": result.reports,
        "guarantee": result.guarantee.to_document() if result.guarantee else None,
        "made": result.made,
        "level": level,
        "band": None if band is None else {"kind": band.kind, "method": band.method},
        "share_in_band": result.share_in_band(level),
        "missing_share": result.missing_share,
        "missing_interval": _missing_interval(result, level),
    }
    if not result.domain.ordered:
        return document | {"shares": _shares(result, level)}
    if result.missing_share == 1:
        return document | {"quantiles": [], "mean": None, "atoms": []}
    numbers = result.in_numbers()  # for other programs
    return document | {
        "quantiles": _quantiles(result, level),
        "mean": numbers.mean(),
        "mean_interval": numbers.mean_interval(level=level),
        "variance": result.variance(),
        "variance_interval": result.variance_interval(level=level),
        "range_error_bounds": _range_errors(result, level),
        "atoms": [asdict(atom) for atom in result.atoms],
    }


def answer_rows(document: dict[str, Any], domain: Domain) -> list[dict[str, Any]]:
    """Return the rows of the table that is shown, of what :func:`answer_document` returned."""
    if "shares" in document:
        return [{**row, "label": label_text(row["label"])} for row in document["shares"]]
    return quantile_cells(document["quantiles"], domain)


def quantile_cells(rows: list[dict[str, Any]], domain: Domain) -> list[dict[str, Any]]:
    """Return the cells of a table of quantiles: numbers as they are, dates and times as texts."""

    def cell(number: float | None) -> float | str | None:
        if number is None or domain.unit == "number":
            return number
        return number_text(number, domain)

    ends = ("value", "low", "high")
    return [
        {"probability": row["probability"], **{end: cell(row[end]) for end in ends}} for row in rows
    ]


def _missing_interval(result: Distribution, level: float) -> tuple[float, float] | None:
    if result.domain.missing_index is None:
        return None
    return result.share_interval(None, level=level)


def _range_errors(result: Distribution, level: float) -> dict[str, float] | None:
    if result.domain.size > RANGE_LIMIT:
        return None
    bounds = result.range_error_bounds(level=level)
    return None if bounds is None else bounds._asdict()


def _quantiles(result: Distribution, level: float) -> list[dict[str, Any]]:
    rows = quantile_rows(result, PROBABILITIES, level=level)
    if result.domain.unit != "number":
        for row in rows:
            row["text"] = number_text(row["value"], result.domain)
    return rows


def quantile_rows(
    result: Distribution, probabilities: Sequence[float], *, level: float
) -> list[dict[str, Any]]:
    """Return quantiles with their intervals, as JSON values."""
    band = result.confidence_band(level)
    rows = []
    for probability in probabilities:
        value = float(result.cumulative.quantile(probability))
        ends = None
        if band is not None:
            ends = days_of_quantile(band.quantile(probability), value, result.domain)
        low, high = ends or (None, None)
        value = float(to_days(value, result.domain))
        rows.append({"probability": probability, "value": value, "low": low, "high": high})
    return rows


def quantile_table(
    title: str, rows: list[dict[str, Any]], domain: Domain, *, level: float
) -> Table:
    """Return the table of what :func:`quantile_rows` returned."""

    def write(number: float) -> str:
        return number_text(number, domain)

    body = [
        [f"{row['probability']:g}", write(row["value"]), interval_text(row, write)] for row in rows
    ]
    return grid(title, ["probability", "quantile", f"{100 * level:g} % interval"], body)


def _shares(result: Distribution, level: float) -> list[dict[str, Any]]:
    domain: Any = result.domain  # without an order, so one of labels
    band = result.shown_band(level, SHARE_LIMIT)
    listed = domain.listed
    rows = []
    for symbol in np.argsort(-result.mass, kind="stable")[:SHARE_LIMIT].tolist():
        rows.append(
            {
                "label": listed[symbol] if symbol < len(listed) else None,
                "share": float(result.mass[symbol]),
                "low": None if band is None else float(band.low[symbol]),
                "high": None if band is None else float(band.high[symbol]),
            }
        )
    return rows


def answer_tables(
    name: str, result: Distribution, document: dict[str, Any], *, rest: dict[str, str]
) -> list[Table]:
    """Return the tables for a terminal: quantiles or shares, then everything else.

    Parameters
    ----------
    name : str
        Of the survey.
    result : Distribution
    document : dict
        What :func:`answer_document` returned.
    rest : dict
        Further lines at the end.
    """
    rows = {"reports": count_text(result.reports)}
    if result.guarantee:
        rows["promise of each"] = str(result.guarantee)
    rows["decoder"] = _made_text(result.made)
    if document.get("mean") is not None:
        start = ", counted from the start of the circle" if result.domain.circular else ""
        rows["mean"] = number_text(document["mean"], result.domain)
        if document["mean_interval"] is not None:
            ends = [number_text(end, result.domain) for end in document["mean_interval"]]
            rows["mean"] += f" ({ends[0]} to {ends[1]})"
        rows["mean"] += start
        if result.domain.unit == "number":
            rows["standard deviation"] = _deviation(document)
        if document["range_error_bounds"] is not None:
            bounds = document["range_error_bounds"]
            rows["shares of ranges"] = (
                f"off by at most {percent(bounds['worst'])}, on average over ranges by at most "
                f"{percent(bounds['average'])}"
            )
    if result.domain.missing_index is not None:
        ends = document["missing_interval"]
        around = "" if ends is None else f" ({percent(ends[0])} to {percent(ends[1])})"
        rows["missing"] = f"{percent(result.missing_share)} of all people{around}"
    inside = document["share_in_band"]
    if inside is None:
        rows["intervals"] = "none: not computed for this decoder or this many symbols"
    else:
        rows["intervals"] = document["band"]["method"]
        rows["curve inside them"] = percent(inside)
    title = f"{name}: {'quantiles' if result.domain.ordered else 'shares'}"
    tables = [_answer(title, document, result)]
    if document.get("atoms"):
        tables.append(_atoms(document["atoms"], result))
    return [*tables, facts(rows | rest)]


def _deviation(document: dict[str, Any]) -> str:
    text = f"{math.sqrt(document['variance']):.6g}"
    if document["variance_interval"] is None:
        return text
    low, high = (math.sqrt(end) for end in document["variance_interval"])
    return f"{text} ({low:.6g} to {high:.6g})"


def _atoms(atoms: list[dict[str, Any]], result: Distribution) -> Table:
    """Return the table of the atoms with the largest shares."""
    largest = sorted(atoms, key=lambda atom: -atom["share"])[:ATOM_LIMIT]
    body = []
    for atom in sorted(largest, key=lambda atom: atom["left"]):
        place = number_text(atom["left"], result.domain)
        if atom["left"] < atom["right"]:
            place = f"in {place} to {number_text(atom['right'], result.domain)}"
        how = "declared" if atom["declared"] else "found"
        body.append([place, how, percent(atom["share"]), interval_text(atom, percent)])
    title = "atoms: values that many hold exactly"
    if len(largest) < len(atoms):
        title += f", the {len(largest)} largest of {len(atoms)}"
    return grid(title, ["value", "", "share", "95 % interval"], body)


def _answer(title: str, document: dict[str, Any], result: Distribution) -> Table:
    level, domain = document["level"], result.domain
    if domain.ordered:
        return quantile_table(title, document["quantiles"], domain, level=level)
    body = [
        [label_text(row["label"]), percent(row["share"]), interval_text(row, percent)]
        for row in document["shares"]
    ]
    interval = f"{100 * level:g} % interval"
    if len(body) < domain.size:
        title += f", the {len(body)} largest of {count_text(domain.size)}"
        interval += AT_ONCE
    share = "share" if domain.missing_index is None else "share of all people"
    return grid(title, ["label", share, interval], body)


def _made_text(made: dict[str, Any]) -> str:
    """Return how a result was made: the decoder, and what of its knobs matters to a reader."""
    words = [str(made.get("class", "unknown"))]
    if made.get("smoothed"):
        words.append("smoothed")
    if made.get("simplex") is False:
        words.append("unbiased")
    for key in ("roughness", "tolerance", "projection", "iterations"):
        if made.get(key) is not None:
            words.append(f"{key} {made[key]}")
    if made.get("likelihood", "full") != "full":
        words.append(f"{made['likelihood']} likelihood")
    if made.get("converged") is False:
        words.append("not converged")
    return ", ".join(words)
