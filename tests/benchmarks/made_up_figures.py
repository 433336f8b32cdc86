"""Made-up measurements of the functional-approximation figures, for tests of their scripts."""

from __future__ import annotations

import numpy as np

KEYS = ("ks", "w1", "energy")


def series(mean: float, *, spread: float = 0.01, seed: int = 0) -> dict:
    """Return a kept figure of twenty repeats around a mean."""
    rng = np.random.default_rng(seed)
    values = (mean * (1 + spread * rng.normal(size=20))).tolist()
    return {"mean": mean, "standard_error": mean * spread / 20**0.5, "values": values}


def row(column: str, epsilon: float, **means: float) -> dict:
    return {
        "column": column,
        "epsilon": epsilon,
        "methods": {
            name: {key: series(mean, seed=place) for key in KEYS}
            for place, (name, mean) in enumerate(means.items())
        },
    }


def points(shape, places, forms) -> list[dict]:
    """Return a sweep: form -> a mean by its place."""
    return [
        {
            "at": at,
            "columns": {
                "normal": {
                    form: {key: series(curve(at), seed=17 * number + at % 89) for key in KEYS}
                    for number, (form, curve) in enumerate(forms.items())
                }
            },
        }
        for at in places
    ]
