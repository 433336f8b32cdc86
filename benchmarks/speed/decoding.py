"""Expectation maximization through the structured operator, beside a dense matrix.

The dense loop is the textbook's: two products with the matrix, the log-likelihood, the
normalization. It starts from the same counts and must end at the same distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks import datasets
from benchmarks.markdown import figure, seconds, table, timed
from benchmarks.summaries import ratio_of_pairs
from benchmarks.timing import Times, alternate
from lapwing.decoders.decoder import Neighbors
from lapwing.decoders.likelihood.expectation_maximization import LIMIT, iterate, likelihood_rows

Vector = NDArray[np.float64]

TITLE = "Expectation maximization and a dense matrix"
FULL: dict[str, Any] = {
    "sizes": [256, 1024, 4096, 65_536],
    "rounds": 15,
    "rounds_to_convergence": 5,
    "largest_dense": 4096,
}
QUICK: dict[str, Any] = {
    "sizes": [256, 1024],
    "rounds": 3,
    "rounds_to_convergence": 2,
    "largest_dense": 1024,
}

ASKED = {1024: "25 times faster", 65_536: "under 5 ms"}
OTHERS = {1024: "1.2 ms", 65_536: "impossible"}
"""An iteration of other software, as stated when this was planned."""

_STRUCTURED_WORK, _DENSE_WORK = 4_000_000, 300_000_000
"""Matrix entries, or bins, that one timed repeat should touch: tens of milliseconds."""


def measure(
    *, sizes: Sequence[int], rounds: int, rounds_to_convergence: int, largest_dense: int
) -> dict[str, Any]:
    """Return times of an iteration and of a whole EMS decode for every number of bins."""
    values = datasets.load("beta52").values
    assert values is not None  # beta52 is a column of values
    rows = []
    for size in sizes:
        wave = lw.SquareWave(lw.Interval(0, 1, bins=size, outside="clip"), 1)
        people = np.bincount(wave.domain.index(values), minlength=size)
        tally = lw.simulate(wave, people, rng=1)
        matrix = _dense(wave) if size <= largest_dense else None
        row = {"size": size, "dense_gigabytes": 8e-9 * wave._outputs * size}
        row |= _iterations(wave, tally, matrix, rounds)
        row |= _decodes(wave, tally, matrix, rounds_to_convergence)
        rows.append(row)
    return {"people": values.size, "rows": rows}


def _dense(wave: lw.SquareWave) -> Vector:
    inside, outside = wave._probabilities
    matrix = np.full((wave._outputs, wave._points), outside)
    for point in range(wave._points):
        matrix[point : point + wave._near, point] = inside
    return matrix


def _smooth(mass: Vector) -> Vector:
    """Average (1, 2, 1) / 4, with 3/4 kept at the ends."""
    wide = np.concatenate([mass[:1], mass, mass[-1:]])
    return (wide[:-2] + 2 * wide[1:-1] + wide[2:]) / 4


def _dense_loop(
    matrix: Vector, counts: Vector, *, smooth: bool, tolerance: float, limit: int
) -> tuple[Vector, int]:
    mass = np.full(matrix.shape[1], 1 / matrix.shape[1])
    previous = -np.inf
    for step in range(limit):
        mean = matrix @ mass
        likelihood = counts @ np.log(mean)
        if abs(likelihood - previous) < tolerance:
            return mass, step
        previous = likelihood
        mass = mass * (matrix.T @ (counts / mean))
        mass /= mass.sum()
        if smooth:
            mass = _smooth(mass)
            mass /= mass.sum()
    return mass, limit


def _iterations(
    wave: lw.SquareWave, tally: lw.tallies.CountTally, matrix: Vector | None, rounds: int
) -> dict[str, Any]:
    """Return the time of one iteration: a run of many without a stopping rule, divided."""
    size = wave.domain.size
    rows = likelihood_rows(wave.channel, tally)
    start = np.full(size, 1 / size)
    counts = tally.blocks[0].astype(np.float64)
    smooth = Neighbors.of(wave.domain).smooth
    many = max(20, _STRUCTURED_WORK // (10 * size))
    few = max(3, _DENSE_WORK // (size * wave._outputs))
    few = min(few, 200)

    def structured(step: Callable[[Vector], Vector] | None) -> object:
        return iterate(rows, start, smooth=step, tolerance=0.0, limit=many)

    works: dict[str, Callable[[], object]] = {
        "em": lambda: structured(None),
        "ems": lambda: structured(smooth),
    }
    each = {"em": many, "ems": many, "dense_em": few, "dense_ems": few}
    if matrix is not None:
        works["dense_em"] = lambda: _dense_loop(
            matrix, counts, smooth=False, tolerance=0.0, limit=few
        )
        works["dense_ems"] = lambda: _dense_loop(
            matrix, counts, smooth=True, tolerance=0.0, limit=few
        )
    times = alternate(works, rounds=rounds)
    found: dict[str, Any] = {
        "iteration": {name: spent.summaries(each=each[name]) for name, spent in times.items()}
    }
    if matrix is not None:
        found["faster"] = {
            name: ratio_of_pairs(
                _per_unit(times[f"dense_{name}"], few), _per_unit(times[name], many)
            )
            for name in ("em", "ems")
        }
    return found


def _per_unit(times: Times, units: int) -> list[float]:
    return [second / units for second in times.cpu]


def _decodes(
    wave: lw.SquareWave, tally: lw.tallies.CountTally, matrix: Vector | None, rounds: int
) -> dict[str, Any]:
    """Return the time of EMS to convergence, and how far the two answers are apart."""
    decoder = lw.ExpectationMaximization(smoothed=True, band=False)
    counts = tally.blocks[0].astype(np.float64)
    answer = decoder.decode(wave.channel, tally)
    works: dict[str, Callable[[], object]] = {
        "ems": lambda: decoder.decode(wave.channel, tally),
    }
    found: dict[str, Any] = {
        "iterations": answer.provenance["iterations"],
        "converged": answer.provenance["converged"],
    }
    if matrix is not None:
        works["dense_ems"] = lambda: _dense_loop(
            matrix, counts, smooth=True, tolerance=1e-3, limit=LIMIT
        )
        mass, iterations = _dense_loop(matrix, counts, smooth=True, tolerance=1e-3, limit=LIMIT)
        found["dense_iterations"] = iterations
        found["largest_difference"] = float(np.abs(mass - answer.mass).max() / mass.max())
    # Both have just run once, so nothing is cold.
    times = alternate(works, rounds=rounds, warm=0)
    found["convergence"] = {name: spent.summaries() for name, spent in times.items()}
    return found


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the tables and what they say."""
    rows = measured["rows"]
    return "\n\n".join(
        [
            f"Square wave at ε = 1, Beta(5, 2), {measured['people']:,} people; an iteration is two "
            "products, the log-likelihood and the normalization (EMS: and the smoothing). *Dense* "
            "is the same loop with a NumPy matrix, one thread; "
            f"{settings['rounds']} rounds, {settings['rounds_to_convergence']} to convergence.",
            table(
                ["d", "iteration", "lapwing, CPU", "dense, CPU", "faster", "target", "others"],
                [line for row in rows for line in _iteration_lines(row)],
                texts=2,
            ),
            table(
                ["d", "EMS iterations", "lapwing, CPU", "dense, CPU", "largest difference"],
                [_decode_line(row) for row in rows],
            ),
            _reading(rows),
        ]
    )


def _impossible(row: dict[str, Any]) -> str:
    return f"impossible: {figure(row['dense_gigabytes'], digits=2)} GB"


def _iteration_lines(row: dict[str, Any]) -> list[list[str]]:
    lines = []
    for name in ("em", "ems"):
        dense = row["iteration"].get(f"dense_{name}")
        faster = row.get("faster", {}).get(name)
        asked = name == "em"
        lines.append(
            [
                f"{row['size']:,}",
                name.upper(),
                timed(row["iteration"][name]["cpu"]),
                timed(dense["cpu"]) if dense else _impossible(row),
                f"{faster['ratio']:.1f} ± {faster['standard_error']:.1f}" if faster else "–",
                ASKED.get(row["size"], "–") if asked else "–",
                OTHERS.get(row["size"], "–") if asked else "–",
            ]
        )
    return lines


def _decode_line(row: dict[str, Any]) -> list[str]:
    dense = row["convergence"].get("dense_ems")
    return [
        f"{row['size']:,}",
        f"{row['iterations']:,}" + ("" if row["converged"] else " (limit)"),
        timed(row["convergence"]["ems"]["cpu"]),
        timed(dense["cpu"]) if dense else _impossible(row),
        f"{row['largest_difference']:.1e}" if dense else "–",
    ]


def _reading(rows: list[dict[str, Any]]) -> str:
    by_size = {row["size"]: row for row in rows}
    parts = []
    if "faster" in by_size.get(1024, {}):
        ratio = by_size[1024]["faster"]["em"]["ratio"]
        reached = "reached" if ratio >= 25 else "**missed**"
        parts.append(f"{ratio:.0f} times faster than dense at d = 1,024, target 25: {reached}")
    if 65_536 in by_size:
        spent = by_size[65_536]["iteration"]["em"]["cpu"]["median"]
        reached = "reached" if spent < 5e-3 else "**missed**"
        parts.append(f"{seconds(spent)} an iteration at d = 65,536, target under 5 ms: {reached}")
    both = [row for row in rows if "dense_iterations" in row]
    same = all(row["iterations"] == row["dense_iterations"] for row in both)
    parts.append(
        "both loops stop at the same iteration and place"
        if same and all(row["largest_difference"] < 1e-8 for row in both)
        else "**the two loops do not end at the same place**"
    )
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."
