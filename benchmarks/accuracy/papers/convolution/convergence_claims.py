"""What the convolution paper says of figures 2 to 5 and of appendix B, judged."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks import verdicts
from benchmarks.accuracy.papers.convolution.convolution_columns import (
    ITEMS,
    PERMUTED,
    SMOOTH,
    mean_of,
    quotients,
    ratio,
    values,
)
from benchmarks.markdown import listed
from benchmarks.verdicts import Cell, Claim

CLOSE = 0.05
"""Parts within which two powers, or two errors, count as the same."""

SETTLED = 0.1
"""Parts within which a curve counts as converged, from an iteration on: the paper judged by eye."""

FEW, MANY = 10, 30
"""Iterations: "a few", as here read, and as many as the paper gives OUE."""

PRINTED_NOISE = {1: 10.93, 2: 2.95, 3: 0.99, 4: 0.36}
"""d sqrt(Var*) of KRR by epsilon, as section V-B prints it."""

PRINTED_CLICKS = 601_374 / 65_412
"""The largest number of clicks on a page over the tenth largest."""


def uniform_error(law: Any) -> float:
    """Return the squared error of the answer 1 / d everywhere."""
    return float(((law - 1 / law.size) ** 2).mean())


def claims(measured: Mapping[str, Any]) -> list[Claim]:
    """Return what is said of the data, the noise, convergence, spectra and guessed channels."""
    return [
        *_data(measured["data"]),
        *_noise(measured["spectra"]),
        *_convergence(measured["by_column"]),
        *_by_epsilon(measured["by_epsilon"]),
        *_sources(measured["sources"]),
        *_blind(measured["blind"]),
    ]


def _data(data: Mapping[str, Any]) -> list[Claim]:
    clicks, moved = data[ITEMS], np.abs(np.diff(data[SMOOTH]["shares"])).sum()
    shuffled = np.abs(np.diff(data[PERMUTED]["shares"])).sum()
    falls = clicks["largest"] / clicks["tenth"]
    return [
        Claim(
            "The Taxi dataset is relatively smooth, while the RP Taxi dataset and Kosarak are not.",
            [verdicts.certain(bool(10 * moved < shuffled))],
            f"Neighbors differ by {moved:.3g} in all on {SMOOTH}, and by {shuffled:.3g} on "
            f"{PERMUTED}. The most frequent value of {ITEMS} has {falls:.1f} times the tenth's "
            f"people; the paper's counts give {PRINTED_CLICKS:.1f}.",
            where="figure 2",
        )
    ]


def _noise(rows: Sequence[Mapping[str, Any]]) -> list[Claim]:
    krr = [row for row in rows if row["oracle"] == "KRR"]
    means = [mean_of(row, "power", "measured") for row in rows]
    zeros = [mean_of(row, "power", "zero") for row in krr]
    sizes = listed([f"{row['printed']:.5f}" for row in krr])
    pairs = [
        (first, second)
        for first in rows
        for second in rows
        if first["column"] == SMOOTH
        and second["column"] == PERMUTED
        and first["oracle"] == second["oracle"]
    ]
    return [
        Claim(
            "The analytic power spectrum of the noise matches the measured one.",
            [verdicts.nearly(values(row, "power", "measured"), 1, tolerance=CLOSE) for row in rows],
            f"Counted within {100 * CLOSE:.0f}%, off frequency 0: {min(means):.3f} to "
            f"{max(means):.3f} times the analytic power.",
            where="figure 3",
        ),
        Claim(
            "The average measured spectrum of 10 experiments is much closer to the analytic value "
            "than that of one.",
            [
                verdicts.less(
                    values(row, "power", "ten"), [values(row, "power", "one")], factor=0.5
                )
                for row in rows
            ],
            "Counted below half of the distance; independent runs give a factor of √10.",
            where="figure 3",
        ),
        Claim(
            "The noise spectra of Taxi and RP Taxi are very similar.",
            [
                verdicts.nearly(
                    np.subtract(
                        values(one, "power", "measured"), values(other, "power", "measured")
                    ).tolist(),
                    0,
                    tolerance=CLOSE,
                )
                for one, other in pairs
            ],
            where="figure 3",
        ),
        Claim(
            "For KRR the power at frequency 0 is zero.",
            [verdicts.certain(zero < 1e-12) for zero in zeros],
            f"At most {max(zeros):.1g} of the others. Elsewhere equation 20 gives {sizes} of the "
            "exact power for KRR, because it takes the counts for independent.",
            where="figure 3",
        ),
    ]


def settled(row: Mapping[str, Any], reading: int, within: float) -> Cell:
    """Return whether a curve is within parts of its end from an iteration on, everywhere."""
    last = max(map(int, row["methods"]))
    # A curve that was not measured at that iteration is judged from the next one.
    later = [name for name in row["methods"] if reading <= int(name) < last]
    return verdicts.loosely(
        lambda beyond: verdicts.both(
            [verdicts.near(quotients(row, name, str(last)), 1, tolerance=beyond) for name in later]
        ),
        beyond=within,
    )


def needed(row: Mapping[str, Any], within: float) -> int:
    """Return the first iteration from which on the mean error is within parts of the last one."""
    names = sorted(row["methods"], key=int)
    end = mean_of(row, names[-1])
    found = int(names[-1])
    for name in reversed(names):
        if abs(mean_of(row, name) / end - 1) > within:
            break
        found = int(name)
    return found


def _convergence(rows: Sequence[Mapping[str, Any]]) -> list[Claim]:
    found = []
    for oracle, reading, said in (
        ("KRR", FEW, "quickly, for KRR after a few iterations"),
        ("OUE", MANY, "for OUE after at most 30 iterations"),
    ):
        here = [row for row in rows if row["oracle"] == oracle]
        told = listed(
            [
                f"{row['column']} {needed(row, 0.2)}, {needed(row, SETTLED)}, "
                f"{needed(row, CLOSE)}, {needed(row, 0.02)}"
                for row in here
            ]
        )
        found.append(
            Claim(
                f"IIW converges {said}.",
                [settled(row, reading, SETTLED) for row in here],
                f"Judged on the whole curve: from iteration {reading} on within "
                f"{100 * SETTLED:.0f}% of the last. {_readings(here)} Iterations "
                f"from which on the mean is within 20, 10, 5 and 2%: {told}.",
                where="figure 4",
            )
        )
    smooth = [row for row in rows if row["column"] == SMOOTH]
    other = [row for row in rows if row["column"] in (PERMUTED, ITEMS)]
    gains = listed(
        [
            f"{ratio(row, '30', '0'):.2f} ({row['oracle']}, {row['column']})"
            for row in (*smooth, *other)
        ]
    )
    return [
        *found,
        Claim(
            "IIW significantly improves the error of DW on the smooth dataset.",
            [verdicts.less(values(row, "30"), [values(row, "0")]) for row in smooth],
            f"Error after 30 iterations over that of DW: {gains}.",
            where="figure 4",
        ),
        Claim(
            "On non-smooth datasets IIW may even worsen DW.",
            [verdicts.some([verdicts.less(values(r, "0"), [values(r, "30")]) for r in other])],
            "In at least one of them.",
            where="figure 4",
        ),
    ]


def _readings(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the verdict for every other reading of how few iterations are meant."""
    told = []
    for within in (SETTLED, CLOSE):
        by_verdict: dict[str, list[str]] = {}
        for name in sorted(rows[0]["methods"], key=int)[1:-1]:
            verdict = Claim("", [settled(row, int(name), within) for row in rows]).verdict
            by_verdict.setdefault(verdict, []).append(name)
        told.append(
            f"within {100 * within:.0f}%, "
            + "; ".join(f"{verdict} at {', '.join(at)}" for verdict, at in by_verdict.items())
        )
    return f"At every other iteration: {', and '.join(told)}."


def _by_epsilon(rows: Sequence[Mapping[str, Any]]) -> list[Claim]:
    found = []
    for name in dict.fromkeys(row["column"] for row in rows):
        found += _of_column(name, [row for row in rows if row["column"] == name])
    noise = {
        row["epsilon"]: row["noise"]
        for row in rows
        if row["column"] == SMOOTH and row["method"] == "KRR-IIW-G"
    }
    printed = {e: noise[e] for e in PRINTED_NOISE if e in noise}
    found.append(
        Claim(
            "d√Var is 10.93, 2.95, .99 and .36 at ε = 1 to 4 for KRR.",
            [verdicts.certain(abs(printed[e] / PRINTED_NOISE[e] - 1) < 0.02) for e in printed],
            f"Here {listed([f'{printed[e]:.4g} at {e:g}' for e in printed])}; counted within 2%."
            if printed
            else "",
            where="figure 5",
            arithmetic=True,
        )
    )
    return found


def _of_column(name: str, rows: Sequence[Mapping[str, Any]]) -> list[Claim]:
    by = {
        label: {row["epsilon"]: row for row in rows if row["method"] == label}
        for label in ("KRR-IIW", "KRR-IIW-G", "OUE-IIW")
    }
    started = by["KRR-IIW-G"]
    last = str(max(map(int, rows[0]["methods"])))
    valid = [e for e in started if e >= 2]
    low = [e for e in started if started[e]["noise"] < 1]
    epsilons = sorted(started)
    lowest = {e: min(mean_of(started[e], at) for at in started[e]["methods"]) for e in valid}
    over = {
        label: listed([f"{lowest[e] / mean_of(by[label][e], '30'):.2f} at {e:g}" for e in valid])
        if valid
        else ""
        for label in ("KRR-IIW", "OUE-IIW")
    }

    def passes(epsilon: float, label: str, factor: float) -> Cell:
        series = {at: values(started[epsilon], at) for at in started[epsilon]["methods"]}
        theirs = {"theirs": values(by[label][epsilon], "30")}
        return verdicts.resampled(
            lambda means: min(means[at] for at in series) < factor * means["theirs"],
            {**series, **theirs},
        )

    def claim(text: str, cells: list[Cell], evidence: str = "") -> Claim:
        return Claim(text, cells, evidence, where="figure 5", form=name)

    found = [
        claim(
            "The convergence rate of IIW is unaffected by ε.",
            [
                verdicts.nearly(
                    np.subtract(
                        quotients(here[e], "10", last), quotients(here[epsilons[-1]], "10", last)
                    ).tolist(),
                    0,
                    tolerance=CLOSE,
                )
                for here in (by["KRR-IIW"], by["OUE-IIW"])
                for e in epsilons[:-1]
            ],
            "Error after 10 iterations in parts of the last, beside that at the largest ε.",
        ),
        claim(
            "The convergence rate of KRR-IIW-G slows down as ε becomes smaller.",
            [
                verdicts.less(
                    quotients(started[large], "10", "0"), [quotients(started[small], "10", "0")]
                )
                for small, large in itertools.pairwise(epsilons)
            ],
            "Error after 10 iterations in parts of that at the start: "
            + listed([f"{ratio(started[e], '10', '0'):.3f} at {e:g}" for e in epsilons])
            + ".",
        ),
    ]
    if 1 in started:
        first = started[1]
        found.append(
            claim(
                "At ε = 1 KRR-IIW-G is stuck at its start even after 200 iterations.",
                [verdicts.nearly(quotients(first, last, "0"), 1, tolerance=CLOSE)],
                f"After {last} iterations {ratio(first, last, '0'):.3f} times the error at the "
                f"start, which is {mean_of(first, '0') / first['uniform']:.3f} times that of the "
                "answer 1/d everywhere.",
            )
        )
    return [
        *found,
        claim(
            "For ε ≥ 2 KRR-IIW-G can pass through a much lower error than KRR-IIW.",
            [passes(e, "KRR-IIW", 0.5) for e in valid],
            f"Counted below half of KRR-IIW's after 30; its least is {over['KRR-IIW']} of it.",
        ),
        claim(
            "It can pass through an error even lower than that of OUE-IIW.",
            [verdicts.some([passes(e, "OUE-IIW", 1.0) for e in valid])] if valid else [],
            f"For at least one ε; its least over OUE-IIW's after 30: {over['OUE-IIW']}.",
        ),
        claim(
            "Where d√Var is below 1, about 10 iterations of KRR-IIW-G reach a desirable error.",
            [
                verdicts.less(values(started[e], "10"), [values(by["KRR-IIW"][e], "30")])
                for e in low
            ],
            "Counted where it is below that of KRR-IIW after 30.",
        ),
    ]


def _sources(rows: Sequence[Mapping[str, Any]]) -> list[Claim]:
    known = [ratio(row, "true signal", "analytic") for row in rows]
    same = [ratio(row, name, "analytic") for row in rows for name in ("equation 20", "measured")]
    return [
        Claim(
            "DW is greatly improved by prior knowledge of the true spectrum of the signal.",
            [
                verdicts.less(values(row, "true signal"), [values(row, "analytic")], factor=0.5)
                for row in rows
            ],
            f"Its error falls to {min(known):.2g} to {max(known):.2g} of that with the estimated "
            f"one. The other sources of the noise spectrum give {min(same):.3f} to "
            f"{max(same):.3f} times the error with the analytic one.",
            where="section IV-C",
        )
    ]


def _blind(rows: Sequence[Mapping[str, Any]]) -> list[Claim]:
    return [
        Claim(
            "Once the type of protocol is known, ε can be estimated from the number of supported "
            "inputs.",
            [
                verdicts.nearly(row["guess"]["values"], row["epsilon"], tolerance=0.01)
                for row in rows
            ],
            "Counted within .01.",
            where="appendix B",
        ),
        Claim(
            "The h-vector can be obtained by sending one input many times.",
            [verdicts.nearly(row["one_input"]["values"], 1, tolerance=CLOSE) for row in rows],
            f"Counted where the squared error is within {100 * CLOSE:.0f}% of that with the known "
            "one.",
            where="appendix B",
        ),
    ]
