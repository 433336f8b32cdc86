"""The errors behind `lapwing recommend`: every pair that it may name, on made-up columns.

`python -m benchmarks.make_risk_table` writes the package's table from this result.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import lapwing as lw
from benchmarks.markdown import figure, table
from benchmarks.summaries import summary
from lapwing.planning.defaults import decoder_without_band
from lapwing.planning.recommendation import DISTANCES, PAIRS
from lapwing.planning.simulation import KINDS, reference_family, simulated_errors

TITLE = "The risk table"

_EPSILONS = [0.25, 0.5, 1, 2, 4, 6, 8]
_USERS = [10**3, 10**4, 10**5, 10**6, 10**7]


def _sheets(
    pair: str, repeats: Mapping[int, int], epsilons: Sequence[float], users: Sequence[int]
) -> list[dict[str, Any]]:
    return [
        {"pair": pair, "size": size, "repeats": number, "epsilon": epsilons, "users": users}
        for size, number in repeats.items()
    ]


FULL: dict[str, Any] = {
    "sheets": [
        *_sheets("multiscale-wave", dict.fromkeys((8, 16, 32, 64), 24), _EPSILONS, _USERS),
        *_sheets("multiscale-wave", {256: 12, 1024: 6}, _EPSILONS, _USERS),
        *_sheets("square-wave", dict.fromkeys((4, 8, 16), 24), _EPSILONS, _USERS),
        *_sheets("subset-selection", dict.fromkeys((2, 4, 8, 16, 32), 24), _EPSILONS, _USERS),
    ]
}
QUICK: dict[str, Any] = {"sheets": _sheets("multiscale-wave", {64: 2}, [1, 4], [10**4, 10**6])}

SEED = 1
"""Cells have randomness of their own: with common draws a table that is off at one node is off at
its neighbors too, and what is read between them is no better known than either."""

SHOWN = 256


def measure(*, sheets: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean errors over repeats on every sheet, and how well they are known."""
    return {"sheets": [_sheet(**sheet) for sheet in sheets]}


def _sheet(
    *, pair: str, size: int, repeats: int, epsilon: Sequence[float], users: Sequence[int]
) -> dict[str, Any]:
    domain = lw.Interval(0, 1, bins=size, outside="clip")
    means: dict[str, dict[str, list[list[float]]]] = {
        distance: {kind: [] for kind in KINDS} for distance in DISTANCES
    }
    spread = []
    for one in epsilon:
        randomizer = PAIRS[pair](domain, one)
        decoder = decoder_without_band(randomizer)
        rows: dict[str, dict[str, list[float]]] = {
            distance: {kind: [] for kind in KINDS} for distance in DISTANCES
        }
        for people in users:
            found = simulated_errors(
                randomizer,
                decoder,
                users=people,
                columns=reference_family(domain),
                repeats=repeats,
                seed=SEED + 10**6 * size + round(1000 * one),
            )
            for distance, kinds in found.items():
                for kind, errors in kinds.items():
                    known = summary(errors)
                    rows[distance][kind].append(float(f"{known['mean']:.4g}"))
                    spread.append(known["standard_error"] / known["mean"])
        for distance in DISTANCES:
            for kind in KINDS:
                means[distance][kind].append(rows[distance][kind])
    return {
        "pair": pair,
        "size": size,
        "repeats": repeats,
        "epsilon": list(epsilon),
        "users": list(users),
        "relative_standard_error": statistics.median(spread),
        **means,
    }


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the errors on one sheet, and how well all are known."""
    sheets = measured["sheets"]
    shown = max(
        (one for one in sheets if one["pair"] == "multiscale-wave" and one["size"] <= SHOWN),
        key=lambda one: one["size"],
    )
    rows = []
    for row, epsilon in enumerate(shown["epsilon"]):
        for column, people in enumerate(shown["users"]):
            cells = [f"{epsilon:g}", f"{people:,}"]
            for distance, scale in (("wasserstein", 1e4), ("kolmogorov_smirnov", 1e3)):
                cells += [figure(scale * shown[distance][kind][row][column]) for kind in KINDS]
            rows.append(cells)
    known = [
        f"{one['pair']} {one['size']} ({one['repeats']} repeats, "
        f"{100 * one['relative_standard_error']:.0f}%)"
        for one in sheets
    ]
    kinds = ", ".join(f"*{kind}* ({text})" for kind, text in KINDS.items())
    return "\n\n".join(
        [
            f"`recommend` predicts errors from this table. Synthetic columns, new ones in every "
            f"repeat: {kinds}. The method is the multiscale wave with the spectral prior on "
            f"{shown['size']} bins. Errors are exact W1 ×10⁴, as a share of the range, and exact "
            "KS ×10³, relative to the people who reported, in the symbols of the domain.",
            table(
                [
                    "ε",
                    "people",
                    *(f"W1 {kind}" for kind in KINDS),
                    *(f"KS {kind}" for kind in KINDS),
                ],
                rows,
                texts=0,
            ),
            f"Sheets, and the median relative standard error of their cells: {', '.join(known)}."
            + _renewed(settings),
        ]
    )


def _renewed(settings: dict[str, Any]) -> str:
    """Say which cells were measured after the others, when a default changed."""
    if "renewed" not in settings:
        return ""
    part = settings["renewed"]
    return (
        f" The cells of {part['pair']} at ε = {part['epsilon']:g} with "
        f"{' and '.join(f'{size:,}' for size in part['sizes'])} bins were measured again at commit "
        f"{part['commit'][:10]}, with the same seeds."
    )
