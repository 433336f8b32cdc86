"""Mean, standard deviation and far tail where the range is up to 1,000 times too wide."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.bands.default_release_bands import masses
from benchmarks.markdown import table
from lapwing.decoders.empirical_bayes.gaussian_model import Posterior
from lapwing.decoders.empirical_bayes.spectral_prior import SpectralPrior
from lapwing.planning.chosen_bins import recommended_bins
from lapwing.planning.recommendation import recommend
from lapwing.planning.release_defaults import recommended_mechanism, release_decoder
from lapwing.planning.simulation import simulate
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.results.distribution import Distribution

TITLE = "Means and deviations on wide ranges"
FULL: dict[str, Any] = {
    "columns": [
        *("lognormal", "lognormal, rounded", "normal", "uniform", "two atoms", "80% on one value"),
        *("zeros and a tail", "multimodal", "whole numbers, combs", "dates"),
    ],
    "factors": [1, 10, 100, 1000],
    "epsilons": [1, 2, 4],
    "people": [200_000, 2_000_000, 20_000],
    "repeats": 2,
}
QUICK: dict[str, Any] = FULL | {"columns": ["lognormal"], "factors": [10], "repeats": 1}

MODELS = ("reports", "release")


def counted(
    column: str, factor: int, domain: Any, people: int, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the people in each symbol, the column in the first part of it, and its middles."""
    bins = domain.left.size - 2
    counts = np.zeros(domain.size, dtype=np.int64)
    held = max(bins // factor, 1)
    drawn = np.random.default_rng([seed, people, factor])
    counts[1 : 1 + held] = drawn.multinomial(people, masses(column, held))
    middles = np.zeros(domain.size)
    middles[: bins + 2] = (domain.left + domain.right) / 2
    return counts, middles


def judged(
    found: Distribution, counts: NDArray[np.int64], middles: NDArray[np.float64]
) -> dict[str, Any]:
    """Return errors of the mean and deviation, whether their intervals hold, and distances."""
    shares = counts / counts.sum()
    mean = float(shares @ middles)
    variance = float(shares @ (middles - mean) ** 2)
    about, spread = found.mean_interval(), found.variance_interval()
    assert about is not None
    assert spread is not None
    # A column within one bin has no deviation of its own.
    grain = float(middles[2] - middles[1]) ** 2 / 12
    gaps = np.abs(np.cumsum(found.mass - shares))
    return {
        "mean": 2 * (found.mean() - mean) / (about[1] - about[0]),
        "deviation": found.std() / np.sqrt(variance + grain),
        "mean covered": about[0] <= mean <= about[1],
        "variance covered": spread[0] <= variance + grain <= spread[1],
        "mean inside": min(found.mean() - about[0], about[1] - found.mean()),
        "mean width": about[1] - about[0],
        "variance inside": min(found.variance() - spread[0], spread[1] - found.variance()),
        "variance width": spread[1] - spread[0],
        "W1": float(gaps.mean()),
        "KS": float(gaps.max()),
    }


def measure(
    *,
    columns: Sequence[str],
    factors: Sequence[int],
    epsilons: Sequence[float],
    people: Sequence[int],
    repeats: int,
) -> dict[str, Any]:
    """Return what is judged of each column, range and model, with epsilon and people in turn."""
    cells = []
    for number, (column, factor) in enumerate(product(columns, factors)):
        place = number + number // len(factors)  # or each factor has few of the pairs
        epsilon = epsilons[place % len(epsilons)]
        rows = people[place // len(epsilons) % len(people)]
        for model in MODELS:
            each = []
            for seed in range(repeats):
                if model == "reports":
                    randomizer = recommend(
                        Interval(0, 100 * factor), epsilon=epsilon, users=rows
                    ).randomizer
                    counts, middles = counted(column, factor, randomizer.domain, rows, seed)
                    tally = simulate(randomizer, counts, rng=seed)
                    found = SpectralPrior().decode(randomizer.channel, tally)
                    with patch.object(Posterior, "_with_tails", lambda _, mass, line: mass):
                        before = SpectralPrior(band=False).decode(randomizer.channel, tally)
                    gaps = np.abs(np.cumsum(before.mass - counts / rows))
                    one = judged(found, counts, middles)
                    one |= {"W1 before": float(gaps.mean()), "KS before": float(gaps.max())}
                else:
                    promise = Promise("replace-one", epsilon=str(epsilon), delta="1e-6")
                    domain = Interval(
                        0, 100 * factor, bins=recommended_bins(epsilon), outside="clip"
                    )
                    curated = ExactCounts.of_values([1.0], domain).domain
                    counts, middles = counted(column, factor, curated, rows, seed)
                    mechanism = recommended_mechanism(curated, promise)
                    exact = ExactCounts(curated, counts)
                    release = mechanism.release(exact, promise, rng=seeded(seed))
                    found = release_decoder(mechanism, release.domain).decode(
                        release.channel, release
                    )
                    one = judged(found, counts, middles)
                each.append({key: float(value) for key, value in one.items()})
            cells.append(
                {
                    "column": column,
                    "factor": factor,
                    "model": model,
                    "epsilon": epsilon,
                    "people": rows,
                    "each": each,
                }
            )
    return {"cells": cells}


def _row(model: str, factor: int, cells: Sequence[dict[str, Any]]) -> list[str]:
    """Return one row of the table: all columns of a model at a factor."""
    each = [one for cell in cells for one in cell["each"]]

    def mean(key: str) -> float:
        return float(np.mean([one[key] for one in each]))

    bias = np.abs([np.mean([one["mean"] for one in cell["each"]]) for cell in cells])
    inside = [
        float(np.mean([one[f"{kind} inside"] >= 0.1 * one[f"{kind} width"] for one in each]))
        for kind in ("mean", "variance")
    ]
    ratios = [
        f"{np.exp(np.mean([np.log(one[key] / one[f'{key} before']) for one in each])):.2f}"
        if model == "reports"
        else "-"
        for key in ("W1", "KS")
    ]
    return [
        model,
        f"{factor:,}",
        f"{len(each)}",
        f"{mean('mean'):+.2f}",
        f"{np.median(bias):.2f}",
        f"{np.median([one['deviation'] for one in each]):.2f}",
        f"{max(one['deviation'] for one in each):.1f}",
        f"{100 * mean('mean covered'):.0f}",
        f"{100 * mean('variance covered'):.0f}",
        *(f"{100 * part:.0f}" for part in inside),
        *ratios,
    ]


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return a row for each model and factor, all columns together."""
    cells = measured["cells"]
    rows = [
        _row(model, factor, chosen)
        for model in MODELS
        for factor in settings["factors"]
        if (chosen := [one for one in cells if (one["model"], one["factor"]) == (model, factor)])
    ]
    listed = ", ".join(f"{people:,}" for people in settings["people"])
    return "\n\n".join(
        [
            f"{len(settings['columns'])} columns in the first part of a range that is *factor* "
            "times too wide, of default reports and default releases. Epsilon "
            f"({', '.join(f'{one:g}' for one in settings['epsilons'])}) and people ({listed}) take "
            "turns. Error of the mean: in half widths of its nominal 95% interval, the mean over "
            "all answers, and the median over the columns of the size of each one's mean. Ratio: "
            "standard deviation over that of the people. Inside: percent of estimates that are a "
            "tenth of the width or more away from both ends of their interval. W1 and KS: ratios "
            "to those of the nearest distribution in the posterior's metric, with no more "
            "done for the tails (geometric means).",
            table(
                [
                    *("model", "factor", "answers", "error of mean", "its size"),
                    *("median ratio", "largest", "mean covered, %", "variance covered, %"),
                    *("mean inside, %", "variance inside, %", "W1", "KS"),
                ],
                rows,
                texts=1,
            ),
        ]
    )
