"""What a joint question costs each attribute: its marginals beside surveys of one attribute."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.accuracy.pairs import baselines
from benchmarks.accuracy.pairs.columns import SMALL, by_pair, domain_of, full, shares
from benchmarks.markdown import table
from benchmarks.summaries import geometric, ratio_of_means
from lapwing.decoders import LogDensityPrior
from lapwing.errors import LapwingWarning

TITLE = "What a joint question costs each attribute"
FULL = full(4)
QUICK = SMALL

JOINT = "pairs"
OTHERS: dict[str, tuple[float, Callable[..., NDArray[np.float64]]]] = {
    "all": (1.0, baselines.marginal),
    "half": (0.5, baselines.marginal),
    "AHEAD of all": (1.0, baselines.ahead_alone),
}
"""Surveys of one attribute: the part of the people who are asked, and the method."""


def measure(**settings: Any) -> dict[str, Any]:
    """Return the W1 errors of the marginals of a pair, and of surveys of one attribute."""
    return by_pair(_cell, **settings)


def _cell(
    pair: str, epsilon: float, *, people: int, bins: int, repeats: int, seed: int
) -> dict[str, Any]:
    domain = domain_of(pair, bins)
    boxes = lw.randomizers.MultiscaleBoxes(domain, epsilon)
    errors: dict[str, dict[str, list[float]]] = {
        axis: {name: [] for name in (JOINT, *OTHERS)} for axis in domain.names
    }
    for repeat in range(repeats):
        rng = np.random.default_rng([seed, *pair.encode(), people, repeat, round(1000 * epsilon)])
        counts = rng.multinomial(people, shares(pair, bins).ravel())
        held = counts.reshape(bins, bins)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LapwingWarning)  # weak answers are compared, too
            joint = LogDensityPrior(band=False).decode(
                boxes.channel, lw.simulate(boxes, counts, rng=rng)
            )
            for number, axis in enumerate(domain.names):
                truth = held.sum(axis=1 - number)
                errors[axis][JOINT].append(_w1(joint.table.sum(axis=1 - number), truth))
                for name, (part, estimate) in OTHERS.items():
                    asked = truth if part == 1 else rng.binomial(truth, part)
                    errors[axis][name].append(_w1(estimate(asked, epsilon, rng), truth))
    return {"pair": pair, "epsilon": epsilon, "errors": errors}


def _w1(mass: NDArray[np.float64], truth: NDArray[np.int64]) -> float:
    """Return the W1 distance of two distributions on equal bins, in lengths of the axis."""
    error = np.abs(np.cumsum(mass - truth / truth.sum())).mean()
    return float(f"{error:.4g}")


def ratios(cell: Mapping[str, Any], other: str) -> list[float]:
    """Return the error of a pair's marginals over that of another survey, for both axes."""
    return [
        ratio_of_means(by_survey[JOINT], by_survey[other])["ratio"]
        for by_survey in cell["errors"].values()
    ]


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the ratios by pair and epsilon."""
    lines = []
    for epsilon in settings["epsilons"]:
        here = [cell for cell in measured["cells"] if cell["epsilon"] == epsilon]
        for cell in here:
            row = [f"{value:.2f}" for other in OTHERS for value in ratios(cell, other)]
            lines.append([cell["pair"], f"{epsilon:g}", *row])
        means = [
            geometric([one for cell in here for one in ratios(cell, other)]) for other in OTHERS
        ]
        row = [text for mean in means for text in (f"**{mean:.2f}**", "")]
        lines.append(["**geometric mean**", f"{epsilon:g}", *row])
    return "\n\n".join(
        [
            f"W1 error of the marginals of a joint survey of {settings['people']:,} people, over "
            "that of a survey which asks all of them, or half of them, about one attribute "
            f"(`MultiscaleWave` with `SpectralPrior`, or AHEAD). {settings['bins']} bins, "
            f"{settings['repeats']} repeats. The first number is of the first attribute.",
            table(
                ["pair", "ε", *(text for one in OTHERS for text in (f"over {one}", "second"))],
                lines,
                texts=2,
            ),
        ]
    )
