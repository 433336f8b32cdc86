"""What the wavelet paper's sentences say of a cell, from the repeats of its methods."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.accuracy.papers.figure_runs import best, ratios
from benchmarks.accuracy.papers.wavelet.wavelet_methods import BEST, FORMS, OTHERS, WAVELET
from benchmarks.markdown import listed
from benchmarks.summaries import geometric
from benchmarks.verdicts import Cell, both, less, loosely, resampled

Row = Mapping[str, Any]
Rows = Sequence[Row]

ALIKE = 1.25
"""What is called similar differs by no more than this factor, either way."""

TWICE = 2.0
"""What has more than so many times the wavelet's error at the largest epsilon does not converge."""

THIRD = 1 / 3
"""What falls to less than this from the smallest to the largest epsilon converges."""


def values(row: Row, method: str, figure: str) -> list[float]:
    """Return the repeats of a method's figure in a row."""
    found: list[float] = row["methods"][method][figure]["values"]
    return found


def below(row: Row, figure: str, ours: str, theirs: Sequence[str], *, factor: float = 1.0) -> Cell:
    """Return whether a method has less than `factor` times the error of each of others."""
    return less(
        values(row, ours, figure), [values(row, name, figure) for name in theirs], factor=factor
    )


def alike(row: Row, figure: str, first: str, second: str) -> Cell:
    """Return whether neither of two methods has more than :data:`ALIKE` times the other's error."""

    def judge(beyond: float) -> Cell:
        pairs = (first, second), (second, first)
        return both([below(row, figure, one, [other], factor=1 + beyond) for one, other in pairs])

    return loosely(judge, beyond=ALIKE - 1)


def worst_even_at_best(row: Row, figure: str, choices: Sequence[str], rest: Sequence[str]) -> Cell:
    """Return whether the best of some choices has more error than the best of the rest."""
    series = {name: values(row, name, figure) for name in (*choices, *rest)}
    return resampled(
        lambda mean: min(mean[name] for name in choices) > min(mean[name] for name in rest), series
    )


def ends(rows: Rows, column: str) -> tuple[Row, Row]:
    """Return a column's rows of the smallest and of the largest epsilon."""
    own = sorted((row for row in rows if row["column"] == column), key=lambda row: row["epsilon"])
    return own[0], own[-1]


def falls(rows: Rows, column: str, figure: str, method: str) -> Cell:
    """Return whether an error falls to a third from the smallest to the largest epsilon."""
    first, last = ends(rows, column)
    return less(values(last, method, figure), [values(first, method, figure)], factor=THIRD)


def stays(rows: Rows, column: str, figure: str, method: str) -> Cell:
    """Return whether an error at the largest epsilon is more than :data:`TWICE` the wavelet's.

    The paper says of the wavelet that its error converges, and of others that theirs does not.
    """
    return below(ends(rows, column)[1], figure, WAVELET, [method], factor=1 / TWICE)


def left_told(
    rows: Rows, columns: Sequence[str], figure: str, methods: Sequence[str], *, scale: float
) -> str:
    """Return means at the largest epsilon as a phrase, and by what factor they fell to it."""
    told = []
    for column in columns:
        first, last = ends(rows, column)
        parts = []
        for name in methods:
            start, end = (row["methods"][name][figure]["mean"] for row in (first, last))
            parts.append(f"{scale * end:.1f} for {name} (down by {start / end:.1f})")
        told.append(f"{listed(parts)} on {column}")
    return (
        f"At the largest ε, and by what factor it is down from the smallest: {'; '.join(told)}. "
        f"Counted where it is more than {TWICE:g} times the wavelet's."
    )


def gains(rows: Rows, first: str, second: str, ours: str, theirs: str) -> Cell:
    """Return whether our error over theirs, over all epsilons, is less on the second column."""
    series = {
        f"{row['column']}, {row['epsilon']}, {name}": values(row, name, "w1")
        for row in rows
        for name in (ours, theirs)
        if row["column"] in (first, second)
    }

    def relative(mean: Mapping[str, float], column: str) -> float:
        own = [row["epsilon"] for row in rows if row["column"] == column]
        return sum(
            math.log(mean[f"{column}, {e}, {ours}"] / mean[f"{column}, {e}, {theirs}"]) for e in own
        ) / len(own)

    return resampled(lambda mean: relative(mean, second) < relative(mean, first), series)


def mean_ratio(rows: Rows, figure: str, ours: str, theirs: str) -> float:
    """Return the geometric mean over rows of one method's error over another's."""
    return geometric(ratios(list(rows), figure, ours, theirs))


def by_column(rows: Rows, figure: str, ours: str, theirs: str) -> str:
    """Return these ratios by column, as a phrase."""
    told = [
        f"{mean_ratio([row for row in rows if row['column'] == column], figure, ours, theirs):.2f} "
        f"on {column}"
        for column in dict.fromkeys(row["column"] for row in rows)
    ]
    return f"{ours} over {theirs}, geometric mean over ε: {listed(told)}."


def wins(rows: Rows, figure: str, form: str, ours: str = WAVELET) -> str:
    """Return in how many cells each of the paper's methods has the least mean, as a phrase."""
    count: dict[str, int] = {}
    among = (ours, form, *OTHERS)
    for row in rows:
        name = best({name: row["methods"][name] for name in among}, figure)
        count[name] = count.get(name, 0) + 1
    ranked = sorted(count, key=lambda name: -count[name])
    return f"Least: {listed([f'{name} {count[name]}' for name in ranked])} of {len(rows)} cells."


def measured_forms(rows: Rows) -> list[str]:
    """Return the forms of SW-EM that these rows hold."""
    return [name for name in FORMS if name in rows[0]["methods"]]


def forms_and_orders(rows: Rows) -> list[tuple[str, str]]:
    """Return each form of SW-EM with the wavelet at the rule's J and at the best one."""
    orders = [name for name in (WAVELET, BEST) if name in rows[0]["methods"]]
    return [(form, name) for name in orders for form in measured_forms(rows)]


def read_as(form: str, ours: str) -> str:
    """Return what a claim's form is called: SW-EM's, and which J if it is not the rule's."""
    return form if ours == WAVELET else f"{form}; {ours}"
