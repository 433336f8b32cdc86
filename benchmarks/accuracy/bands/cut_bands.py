"""Pointwise bands cut to the simultaneous one: how often they hold, and where they were wider."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.markdown import table
from lapwing.errors import LapwingWarning
from lapwing.results.uncertainty import Band

TITLE = "Pointwise bands, cut to the simultaneous one"
FULL: dict[str, Any] = {"people": 20_000, "epsilon": 1, "repeats": 100}
QUICK: dict[str, Any] = FULL | {"repeats": 2}

LINE = lw.Interval(0, 100, bins=64)

COLUMNS: dict[str, tuple[lw.Interval, Callable[[Any, int], NDArray[np.float64]]]] = {
    "uniform": (LINE, lambda rng, n: 100 * rng.random(n)),
    "one peak": (LINE, lambda rng, n: 100 * rng.beta(5, 2, n)),
    "skewed": (LINE, lambda rng, n: np.minimum(rng.lognormal(2.8, 0.7, n), 99.9)),
    "gap": (LINE, lambda rng, n: rng.normal(np.where(rng.random(n) < 0.5, 20, 75), 4)),
    "circle": (
        lw.Interval(0, 24, bins=48, circular=True),
        lambda rng, n: rng.normal(23.2, 1, n) % 24,
    ),
}

ASKED_MEAN, ASKED_LEAST = 0.94, 0.91


def measure(*, people: int, epsilon: float, repeats: int) -> dict[str, Any]:
    """Return coverage and width before and after the cut, for every column and way."""
    rows = []
    for number, (column, (domain, draw)) in enumerate(COLUMNS.items()):
        for way in ("exact band", "reports", "release"):
            rng = np.random.default_rng([19, number])
            answers = []
            for repeat in range(repeats):
                values = draw(rng, people)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", LapwingWarning)
                    result = _decoded(way, domain, values, epsilon, 1000 * number + repeat)
                answers.append(_measured(result, values))
            means = {name: float(np.mean([each[name] for each in answers])) for name in answers[0]}
            rows.append({"column": column, "way": way, **means})
    return {"rows": rows}


def _decoded(
    way: str, domain: lw.Interval, values: NDArray[np.float64], epsilon: float, seed: int
) -> lw.Distribution:
    if way == "release":
        published = lw.release(
            values, domain, epsilon=epsilon, neighbors="replace-one", rng=lw.seeded(seed)
        )
        return published.distribution
    counts = np.bincount(domain.index(values), minlength=domain.size)
    if way == "reports":
        survey = lw.Survey("column", lw.recommend(domain, epsilon=epsilon, users=values.size))
        return survey.decode(lw.simulate(survey.randomizer, counts, rng=seed))
    kind = lw.RandomizedResponse if domain.circular else lw.SquareWave
    randomizer = kind(domain, epsilon)
    tally = lw.simulate(randomizer, counts, rng=seed)
    return lw.LeastSquares().decode(randomizer.channel, tally)


def _measured(result: lw.Distribution, values: NDArray[np.float64]) -> dict[str, float]:
    """Return how much of the people's CDF bands hold, and at how many points one is wider."""
    domain = result.domain
    truth = lw.Distribution.of_values(values, domain).cumulative.sums
    inner = (truth > 0.02) & (truth < 0.98)
    whole, cut = (result.confidence_band(kind=kind) for kind in ("simultaneous", "pointwise"))
    error_law = result._present_uncertainty
    assert whole is not None
    assert cut is not None
    assert error_law is not None
    low, high = error_law.curves(0.95, "pointwise", cumulative=True, least=0.0)
    uncut = replace(cut, low=low, high=high)

    def held(band: Band) -> float:
        return float(((band.low <= truth) & (truth <= band.high))[inner].mean())

    def wider(band: Band) -> float:
        return float((band.high - band.low > whole.high - whole.low + 1e-9).sum())

    return {
        "uncut": held(uncut),
        "cut": held(cut),
        "drawn": held(cut.monotone()),
        "wider uncut": wider(uncut.monotone()),
        "wider cut": max(wider(cut), wider(cut.monotone())),
        "points": float(truth.size),
    }


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the table, and whether the coverage that was asked is reached."""
    rows = measured["rows"]
    cells = [
        [
            row["column"],
            row["way"],
            *(f"{100 * row[name]:.1f}" for name in ("uncut", "cut", "drawn")),
            f"{row['wider uncut']:.1f} of {row['points']:.0f}",
            f"{row['wider cut']:.1f}",
        ]
        for row in rows
    ]
    mean = float(np.mean([row["cut"] for row in rows]))
    columns = {row["column"] for row in rows}
    least = min(
        float(np.mean([row["cut"] for row in rows if row["column"] == name])) for name in columns
    )
    reached = mean >= ASKED_MEAN and least >= ASKED_LEAST
    return "\n\n".join(
        [
            f"Percent of the edges with 0.02 < F < 0.98 that the 95% pointwise band holds, about "
            f"the people themselves; {settings['people']:,} people, epsilon "
            f"{settings['epsilon']:g}, {settings['repeats']} repeats. *Exact band*: least squares "
            "on a square wave, on the circle on randomized response. *Reports*: the recommended "
            "survey. *Release*: a curator's default. *Drawn*: after `Band.monotone`. *Wider*: at "
            "how many points the drawn band is wider than the simultaneous one, on average.",
            table(
                ["column", "way", "uncut", "cut", "cut, drawn", "wider uncut", "wider cut"],
                cells,
                texts=2,
            ),
            f"Target for the cut band: {100 * ASKED_MEAN:.0f}% in the mean and "
            f"{100 * ASKED_LEAST:.0f}% in the worst column; measured: {100 * mean:.1f} and "
            f"{100 * least:.1f}%: {'reached' if reached else 'missed'}.",
        ]
    )
