"""Signed subset selection of the wavelet paper beside plain sets of the signed symbols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.accuracy.papers.figure_runs import cell, kept_figures
from benchmarks.accuracy.papers.index import Entry
from benchmarks.accuracy.papers.streams import stream
from benchmarks.markdown import listed, table
from benchmarks.signed_decoder import SignedDecoder
from benchmarks.verdicts import Claim, certain
from lapwing.papers.wavelet.signed_subset_selection import (
    SignedSubsetSelection,
    summed_variance,
)

TITLE = "The wavelet paper: signed sets and plain ones"
FULL: dict[str, Any] = {
    "seed": 0,
    "repeats": 100,
    "coordinates": [4, 16, 64],
    "epsilons": [0.5, 1, 2, 4],
}
QUICK: dict[str, Any] = {"seed": 0, "repeats": 2, "coordinates": [4], "epsilons": [1]}

STATED = {
    4: {0.5: 1.65, 1: 1.40, 2: 1.00, 4: 1.00},
    16: {0.5: 1.82, 1: 1.53, 2: 1.13, 4: 1.00},
    64: {0.5: 1.87, 1: 1.56, 2: 1.15, 4: 1.01},
}
"""Variance of plain over signed sets in the study that preceded the library, exact."""

REPORTS = 100_000
"""People of the simulated variances, all at one signed symbol."""

LESS = 1.005
"""Plain sets are called less efficient if their variance is more than so many times as large."""

HEADING = "Plain against signed subset selection"
INDEX = (Entry("section 4.4", HEADING),)


def measure(
    *, seed: int, repeats: int, coordinates: Sequence[int], epsilons: Sequence[float]
) -> dict[str, Any]:
    """Return exact variances of both kinds of sets, and simulated ones over the exact ones."""
    return {
        "sets": [
            _sets(number, epsilon, repeats, seed) for number in coordinates for epsilon in epsilons
        ]
    }


def plain_variance(coordinates: int, members: int, epsilon: Any) -> float:
    """Return the summed variance of differences from plain sets, per report, given the people.

    From the exact second moments of the class's own law, for a person at one signed symbol; it is
    the same for every symbol.
    """
    symbols = lw.Integers(0, 2 * coordinates - 1, outside="clip")
    block = lw.SubsetSelection(symbols, epsilon, size=members).channel.blocks[0]
    own = np.zeros(2 * coordinates)
    own[0] = 1.0
    covariance = block.covariance(own).dense()
    plus, minus = np.arange(0, 2 * coordinates, 2), np.arange(1, 2 * coordinates, 2)
    spread = (
        covariance[plus, plus].sum()
        + covariance[minus, minus].sum()
        - 2 * covariance[plus, minus].sum()
    )
    mean = block.mean(own)
    return float(spread / (mean[0] - mean[1]) ** 2)


def _sets(coordinates: int, epsilon: Any, repeats: int, seed: int) -> dict[str, Any]:
    """Return exact variances at the best sizes, and the simulated ones over the exact ones."""
    sizes = range(1, 2 * coordinates)
    plain = min(sizes, key=lambda size: plain_variance(coordinates, size, epsilon))
    symbols = lw.Integers(0, 2 * coordinates - 1, outside="clip")
    signed = SignedSubsetSelection(symbols, epsilon)
    exact = {
        "plain": plain_variance(coordinates, plain, epsilon),
        # Given the people: one less than about the population.
        "signed": summed_variance(coordinates, signed._members, epsilon) - 1,
    }
    people = np.zeros(2 * coordinates, dtype=np.int64)
    people[0] = REPORTS
    held = np.zeros(coordinates)
    held[0] = 1.0
    selection = lw.SubsetSelection(symbols, epsilon, size=plain)
    found: dict[str, list[float]] = {"plain": [], "signed": []}
    for repeat in range(repeats):
        rng = stream(seed, "signed sets", coordinates, f"{epsilon:g}", repeat)
        shares = SignedDecoder(lw.LeastSquares()).decode(
            selection.channel, lw.simulate(selection, people, rng=rng)
        )
        counts = lw.simulate(signed, people, rng=rng).blocks[0]
        for name, difference in (
            ("plain", shares.mass[::2] - shares.mass[1::2]),
            ("signed", signed._law.differences(counts, REPORTS)),
        ):
            squared = REPORTS * float(((difference - held) ** 2).sum())
            found[name].append(squared / exact[name])
    return {
        "coordinates": coordinates,
        "epsilon": epsilon,
        "sizes": {"plain": plain, "signed": signed._members},
        "exact": exact,
        "simulated": kept_figures({"variance": found})["variance"],
    }


def claims(measured: dict[str, Any]) -> list[Claim]:
    """Return what the paper says of plain sets."""
    # Sets of one symbol are the same in both, as the paper says.
    rows = [row for row in measured["sets"] if max(row["sizes"].values()) > 1]
    by_epsilon = {
        epsilon: [_ratio(row) for row in rows if row["epsilon"] == epsilon]
        for epsilon in dict.fromkeys(row["epsilon"] for row in rows)
    }
    ratios = [f"{min(v):.2f} to {max(v):.2f} at ε = {e:g}" for e, v in by_epsilon.items()]
    told = listed(ratios) if ratios else "–"
    return [
        Claim(
            "Plain subset selection on the signed symbols is less efficient.",
            [certain(_ratio(row) > LESS) for row in rows],
            "Where the best sets have more than one symbol; of one symbol both are the same, as "
            f"the paper says. Its exact variance over that of signed sets: {told}; counted from "
            f"{LESS:g} on.",
            where="section 4.4",
        ),
    ]


def _ratio(row: dict[str, Any]) -> float:
    return float(row["exact"]["plain"] / row["exact"]["signed"])


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the comparison and what it says."""
    return "\n\n".join(
        [
            f"### {HEADING}",
            "d coordinates, each present with a sign or absent. Plain: sets of the 2 d signed "
            "symbols, decoded by differences. Signed: the wavelet paper's sets of coordinates with "
            "signs. Both at the size of least variance, summed over the coordinates and times the "
            "reports: exact from the second moments, and simulated over exact "
            f"({REPORTS:,} people at one symbol, {settings['repeats']} repeats).",
            "\n".join(claim.line() for claim in claims(measured)),
            _sets_table(measured["sets"]),
        ]
    )


def _sets_table(rows: list[dict[str, Any]]) -> str:
    lines = []
    for row in rows:
        ratio = row["exact"]["plain"] / row["exact"]["signed"]
        stated = STATED.get(row["coordinates"], {}).get(row["epsilon"])
        lines.append(
            [
                str(row["coordinates"]),
                f"{row['epsilon']:g}",
                *(str(row["sizes"][name]) for name in ("plain", "signed")),
                *(f"{row['exact'][name]:,.2f}" for name in ("plain", "signed")),
                f"{ratio:.3f}",
                "–" if stated is None else f"{stated:.2f}",
                *(cell(row["simulated"][name], scale=1, places=3) for name in ("plain", "signed")),
            ]
        )
    return table(
        [
            "d",
            "ε",
            "plain size",
            "signed size",
            "plain variance",
            "signed variance",
            "ratio",
            "stated",
            "plain simulated / exact",
            "signed simulated / exact",
        ],
        lines,
        texts=2,
    )
