"""How often the intervals of a joint distribution hold what they should."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.pairs.rectangles import rectangles
from lapwing.protocol.domains.product import Product
from lapwing.results.joint_distribution import JointDistribution

LEVEL = 0.95
LOWEST, HIGHEST = 0.02, 0.98
"""Edges beyond which a CDF is too close to 0 or 1 to say anything about a band."""
NUMBER = 200
"""Rectangles that are asked."""
PROBABILITIES = (0.25, 0.5, 0.75)

Shares = dict[str, float]


def covered(
    answer: JointDistribution, held: NDArray[np.int64], population: NDArray[np.float64]
) -> dict[str, Shares]:
    """Return shares of intervals that hold the truth, by what is asked.

    Parameters
    ----------
    answer : JointDistribution
        With draws.
    held : numpy.ndarray
        int64 [first, second]: people in each cell.
    population : numpy.ndarray
        float64 [first, second]: shares of the cells where the people were drawn.

    Returns
    -------
    dict
        For rectangles, marginal CDFs and conditional quantiles: the share of intervals that hold
        the figure of the people's own table ("people") and of the population ("population"), and
        the mean half-width ("reach").
    """
    truths = {
        "people": JointDistribution.of_counts(held, answer.domain),
        "population": JointDistribution(answer.domain, population.ravel()),
    }
    return {
        "rectangles": _rectangles(answer, truths),
        "marginal CDFs": _marginals(answer, truths),
        "conditional quantiles": _quantiles(answer, truths),
    }


def asked_of(
    domain: Product, low: int, high: int, left: int, right: int
) -> dict[str, tuple[float, float]]:
    """Return the condition of a rectangle of cells, as probability takes it."""
    # An outermost bin also holds what was moved there: it is asked whole by an infinite end.
    edges = [np.concatenate([[-np.inf], axis.left[1:], [np.inf]]) for axis in domain.domains]
    return {
        name: (float(edge[start]), float(edge[stop]))
        for name, edge, (start, stop) in zip(
            domain.names, edges, ((low, high), (left, right)), strict=True
        )
    }


def _shares(
    low: Any, high: Any, values: dict[str, Any], kept: dict[str, Any] | None = None
) -> Shares:
    low, high = np.asarray(low), np.asarray(high)
    found = {}
    for name, truth in values.items():
        holds = (low <= np.asarray(truth)) & (np.asarray(truth) <= high)
        found[name] = float((holds[kept[name]] if kept else holds).mean())
    return {**found, "reach": float((high - low).mean() / 2)}


def _rectangles(answer: JointDistribution, truths: dict[str, JointDistribution]) -> Shares:
    ends = []
    values: dict[str, list[float]] = {name: [] for name in truths}
    for low, high, left, right in rectangles(answer.domain.shape[0], NUMBER):
        asked = asked_of(answer.domain, low, high, left, right)
        ends.append(answer.probability_interval(level=LEVEL, **asked))
        for name, truth in truths.items():
            values[name].append(float(truth.table[low:high, left:right].sum()))
    low_ends, high_ends = np.array(ends).T
    return _shares(low_ends, high_ends, values)


def _marginals(answer: JointDistribution, truths: dict[str, JointDistribution]) -> Shares:
    low, high = [], []
    values: dict[str, Any] = {name: [] for name in truths}
    for axis in answer.domain.names:
        band = answer.marginal(axis).confidence_band(LEVEL, kind="pointwise", target="population")
        assert band is not None
        low.append(band.low)
        high.append(band.high)
        for name, truth in truths.items():
            values[name].append(np.cumsum(truth.marginal(axis).mass))
    every = {name: np.concatenate(some) for name, some in values.items()}
    inner = {name: (some > LOWEST) & (some < HIGHEST) for name, some in every.items()}
    return _shares(np.concatenate(low), np.concatenate(high), every, inner)


def _quantiles(answer: JointDistribution, truths: dict[str, JointDistribution]) -> Shares:
    """Return the same of quartiles of each axis in slices of the other; reach in axis lengths.

    Slices in which nobody is are left out.
    """
    low, high = [], []
    values: dict[str, list[float]] = {name: [] for name in truths}
    for number, axis in enumerate(answer.domain.names):
        of, other = answer.domain.domains[number], answer.domain.names[1 - number]
        by = answer.domain.domains[1 - number]
        ends = {float(end): float(end) for end in by.right}
        ends |= {float(by.left[0]): -np.inf, float(by.right[-1]): np.inf}
        start_of, end_of = float(of.left[0]), float(of.right[-1])
        length = end_of - start_of
        rows = answer.conditional_quantiles(axis, PROBABILITIES, level=LEVEL)
        for start, end, probability, least, most in zip(
            *(rows[key] for key in ("from", "to", "probability", "low", "high")), strict=True
        ):
            inside = {other: (ends[float(start)], ends[float(end)])}
            if not all(truth.probability(**inside) for truth in truths.values()):
                continue  # where nobody is, there is no quantile
            # An outermost bin also holds what was moved there, so an interval can be infinite.
            low.append(float(np.clip(least, start_of, end_of)) / length)
            high.append(float(np.clip(most, start_of, end_of)) / length)
            for name, truth in truths.items():
                values[name].append(float(truth.given(**inside).quantile(probability)) / length)
    return _shares(low, high, values)
