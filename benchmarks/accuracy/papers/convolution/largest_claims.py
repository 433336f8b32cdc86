"""What the convolution paper says of figures 8 and 9, judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks import verdicts
from benchmarks.accuracy.papers.convolution.convolution_columns import (
    ITEMS,
    ORACLES,
    PERMUTED,
    PRINTED,
    ROUGH,
    SMOOTH,
    THRESHOLDS,
    TOPS,
    mean_of,
    quotients,
    ratio,
    values,
)
from benchmarks.accuracy.papers.convolution.error_claims import SIMILAR, Row, plain
from benchmarks.markdown import listed
from benchmarks.verdicts import Cell, Claim

ABOUT_TEN = 5
"""How far "about ten fewer" may be from ten."""


def claims(measured: Mapping[str, Any]) -> list[Claim]:
    """Return what is said of the most frequent values and of positives."""
    rows = measured["by_column"]
    found = []
    for name in (SMOOTH, ROUGH):
        if name in rows:
            found += _smooth_tops(name, rows[name])
    found += _other_tops(rows)
    for name in (SMOOTH, ROUGH):
        if name in rows:
            found += _smooth_positives(name, rows[name])
    return [*found, *_other_positives(rows), _thresholds(measured["thresholds"])]


def less(row: Row, key: str, ours: str, others: Sequence[str], factor: float = 1.0) -> Cell:
    """Return whether a method has less of a figure than each of others."""
    theirs = [values(row, name, key) for name in others if name != ours]
    return verdicts.less(values(row, ours, key), theirs, factor=factor)


def more(row: Row, key: str, ours: str, others: Sequence[str]) -> Cell:
    """Return whether a method has more of a figure than each of others."""
    theirs = [np.negative(values(row, name, key)).tolist() for name in others if name != ours]
    return verdicts.less(np.negative(values(row, ours, key)).tolist(), theirs)


def _smooth_tops(name: str, row: Row) -> list[Claim]:
    rest = [one for one in plain(row) if one != "KRR-IIW-G"]
    few = [top for top in TOPS if top < 30]
    over = listed([f"{ratio(row, 'KRR-IIW-G', 'OUE', f'top {top}'):.2f} at {top}" for top in TOPS])
    return [
        Claim(
            "IIW performs best among all algorithms, except KRR-IIW-G.",
            [less(row, f"top {top}", "OUE-IIW", rest) for top in TOPS],
            "OUE-IIW, against both oracles.",
            where="figure 8",
            form=name,
        ),
        Claim(
            "The performance of smoothing is still similar to that of DW.",
            [
                verdicts.nearly(
                    quotients(row, f"{o}-smoothing", f"{o}-DW", f"top {top}"), 1, tolerance=SIMILAR
                )
                for o in ORACLES
                for top in TOPS
            ],
            f"Counted within {100 * SIMILAR:.0f}%.",
            where="figure 8",
            form=name,
        ),
        Claim(
            "When k < 30, KRR-IIW-G is slightly weaker than OUE.",
            [less(row, f"top {top}", "OUE", ["KRR-IIW-G"]) for top in few],
            f"KRR-IIW-G over OUE: {over}.",
            where="figure 8",
            form=name,
        ),
        Claim(
            "When k < 30, KRR-IIW-G is still much better than KRR.",
            [less(row, f"top {top}", "KRR-IIW-G", ["KRR"], factor=0.5) for top in few],
            "Counted below half of its error.",
            where="figure 8",
            form=name,
        ),
    ]


def _other_tops(rows: Mapping[str, Row]) -> list[Claim]:
    smooth, other, clicks = rows[SMOOTH], rows[PERMUTED], rows[ITEMS]
    losses = {o: [ratio(clicks, f"{o}-DW", o, f"top {top}") for top in TOPS] for o in ORACLES}
    kept = [ratio(clicks, f"{o}-DW, 100 kept", o, f"top {top}") for o in ORACLES for top in TOPS]
    return [
        Claim(
            "For the RP Taxi dataset DW is much less effective than for the Taxi dataset.",
            [
                verdicts.less(
                    quotients(smooth, f"{o}-DW", o, f"top {top}"),
                    [quotients(other, f"{o}-DW", o, f"top {top}")],
                )
                for o in ORACLES
                for top in TOPS
            ],
            "DW over no filter, k = 100: "
            + listed(
                [
                    f"{ratio(row, f'{o}-DW', o, 'top 100'):.2f} ({o}, {row['column']})"
                    for o in ORACLES
                    for row in (smooth, other)
                ]
            )
            + ".",
            where="figure 8",
        ),
        Claim(
            "On RP Taxi OUE-DW is even worse than OUE at some points.",
            [verdicts.some([less(other, f"top {top}", "OUE", ["OUE-DW"]) for top in TOPS])],
            "In at least one of them.",
            where="figure 8",
        ),
        Claim(
            "On RP Taxi the addition of AMRP guarantees a certain enhancement for both.",
            [less(other, f"top {top}", f"{o}-DW-AMRP", [o]) for o in ORACLES for top in TOPS],
            where="figure 8",
        ),
        Claim(
            "On Kosarak DW and DW-AMRP are worse than no filter for the top k values.",
            [
                less(clicks, f"top {top}", o, [f"{o}-DW", f"{o}-DW-AMRP"])
                for o in ORACLES
                for top in TOPS
            ],
            f"DW over none: up to {max(losses['KRR']):.2f} (KRR) and {max(losses['OUE']):.2f} "
            "(OUE).",
            where="figure 8",
        ),
        Claim(
            "Leaving the extreme values unchanged after filtering addresses it.",
            [
                less(clicks, f"top {top}", f"{o}-DW, 100 kept", [f"{o}-DW"], factor=0.5)
                for o in ORACLES
                for top in TOPS
            ],
            "With the 100 largest estimates left unfiltered; counted below half of DW's error. "
            f"Over no filter: {min(kept):.2f} to {max(kept):.2f}.",
            where="figure 8",
        ),
    ]


def _smooth_positives(name: str, row: Row) -> list[Claim]:
    counts, every = THRESHOLDS[SMOOTH], plain(row)
    return [
        Claim(
            "KRR outputs the fewest true positives and the most false positives.",
            [less(row, f"true {count}", "KRR", every) for count in counts]
            + [more(row, f"false {count}", "KRR", every) for count in counts],
            "False ones at 500: "
            + listed([f"{mean_of(row, one, 'false 500'):.1f} ({one})" for one in every])
            + ".",
            where="figure 9",
            form=name,
        ),
        Claim(
            "KRR-IIW-G achieves the best performance.",
            [more(row, f"true {count}", "KRR-IIW-G", every) for count in counts]
            + [less(row, f"false {count}", "KRR-IIW-G", every) for count in counts],
            "The most true and the fewest false ones.",
            where="figure 9",
            form=name,
        ),
    ]


def _other_positives(rows: Mapping[str, Row]) -> list[Claim]:
    other, clicks = rows[PERMUTED], rows[ITEMS]
    counts, larger = THRESHOLDS[SMOOTH], THRESHOLDS[ITEMS]
    amrp = [f"{o}-DW-AMRP" for o in ORACLES]
    fewer = {
        (name, count): _difference(clicks, "KRR", name, f"true {count}")
        for name in ("KRR-DW", "KRR-DW-AMRP")
        for count in larger
    }
    shown = listed([f"{np.mean(one):.0f} ({name}, {c:,})" for (name, c), one in fewer.items()])
    false = {
        (name, count): _difference(clicks, "KRR", name, f"false {count}")
        for name in ("KRR-DW", "KRR-DW-AMRP")
        for count in larger
    }
    off = listed([f"{np.mean(one):,.0f} ({name}, {c:,})" for (name, c), one in false.items()])
    return [
        Claim(
            "On RP Taxi DW and DW-AMRP output more true positives than the original approaches.",
            [
                more(other, f"true {count}", name, [o])
                for o in ORACLES
                for name in (f"{o}-DW", f"{o}-DW-AMRP")
                for count in counts
            ],
            where="figure 9",
        ),
        Claim(
            "On RP Taxi they also output more false positives.",
            [
                more(other, f"false {count}", name, [o])
                for o in ORACLES
                for name in (f"{o}-DW", f"{o}-DW-AMRP")
                for count in counts
            ],
            where="figure 9",
        ),
        Claim(
            "On RP Taxi AMRP has improved performance over DW for both KRR and OUE.",
            [
                better
                for name in amrp
                for count in counts
                for better in (
                    more(other, f"true {count}", name, [name.removesuffix("-AMRP")]),
                    less(other, f"false {count}", name, [name.removesuffix("-AMRP")]),
                )
            ],
            "More true and fewer false positives.",
            where="figure 9",
        ),
        Claim(
            "On Kosarak KRR-DW and KRR-DW-AMRP output about ten fewer true positives.",
            [verdicts.nearly(one, 10, tolerance=ABOUT_TEN) for one in fewer.values()],
            f"Counted from {10 - ABOUT_TEN} to {10 + ABOUT_TEN} fewer: {shown}.",
            where="figure 9",
        ),
        Claim(
            "On Kosarak KRR-DW and KRR-DW-AMRP output thousands of fewer false positives.",
            [verdicts.less([1000.0] * len(one), [one]) for one in false.values()],
            f"Counted where they are more than 1,000 fewer: {off}.",
            where="figure 9",
        ),
        Claim(
            "On Kosarak OUE-DW-AMRP improves on OUE by fewer false positives.",
            [less(clicks, f"false {count}", "OUE-DW-AMRP", ["OUE"]) for count in larger],
            where="figure 9",
        ),
    ]


def _difference(row: Row, first: str, second: str, key: str) -> list[float]:
    """Return how much more of a figure the first of two methods has, repeat by repeat."""
    found: list[float] = np.subtract(values(row, first, key), values(row, second, key)).tolist()
    return found


def _thresholds(thresholds: Mapping[str, float]) -> Claim:
    plainly = listed([f"{thresholds[f'{o} undivided']:.1f}" for o in PRINTED])
    stated = listed([f"{thresholds[f'{o} stated']:.0f}" for o in PRINTED])
    printed = listed([f"{number} ({o})" for o, number in PRINTED.items()])
    return Claim(
        f"The significance thresholds of equation 6 are {printed}.",
        [verdicts.certain(abs(thresholds[f"{o} stated"] - PRINTED[o]) < 1) for o in PRINTED],
        "Equation 6, with alpha divided by the number of values, gives "
        f"{stated}; without that division it is {plainly}. The figure itself is drawn at counts.",
        where="figure 9",
        arithmetic=True,
    )
