"""Repeats as a few numbers, and the ratio of two series that were measured side by side."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any


def summary(samples: Sequence[float]) -> dict[str, Any]:
    """Return median, extremes, mean, the standard error of the mean, and the number of repeats."""
    return {
        "median": float(statistics.median(samples)),
        "min": float(min(samples)),
        "max": float(max(samples)),
        "mean": float(statistics.fmean(samples)),
        "standard_error": _standard_error(samples),
        "repeats": len(samples),
    }


def mean_and_error(samples: Sequence[float]) -> dict[str, float]:
    """Return only the mean and its standard error, for the many cells of a figure."""
    return {"mean": float(statistics.fmean(samples)), "standard_error": _standard_error(samples)}


def ratio_of_pairs(ours: Sequence[float], theirs: Sequence[float]) -> dict[str, float]:
    """Return the median of the pairs' ratios of times, with the standard error of their mean.

    Both of a pair ran next to each other, so what the machine's drift does to both cancels; a
    median, because times have outliers.
    """
    pairs = [a / b for a, b in zip(ours, theirs, strict=True)]
    return {"ratio": statistics.median(pairs), "standard_error": _standard_error(pairs)}


def ratio_of_means(ours: Sequence[float], theirs: Sequence[float]) -> dict[str, float]:
    """Return mean(ours) / mean(theirs) of paired errors, with its linearized standard error."""
    below = statistics.fmean(theirs)
    ratio = statistics.fmean(ours) / below
    residuals = [a - ratio * b for a, b in zip(ours, theirs, strict=True)]
    return {"ratio": ratio, "standard_error": _standard_error(residuals) / below}


def geometric(values: Sequence[float]) -> float:
    """Return the geometric mean."""
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))


def _standard_error(samples: Sequence[float]) -> float:
    if len(samples) < 2:
        return 0.0
    return float(statistics.stdev(samples) / math.sqrt(len(samples)))
