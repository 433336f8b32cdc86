"""Make the table of predicted errors of pairs: the default mixture on made-up pairs.

`python -m benchmarks.accuracy.promises.pair_table` writes `src/lapwing/planning/pair_table.json`.
It takes about six minutes on an idle core.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from lapwing.planning.pair_recommendation import (
    BINS,
    boxes_for,
    reference_pairs,
    simulated_pair_errors,
)
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.product import Product

EPSILON = (0.5, 1.0, 2.0, 4.0, 8.0)
USERS = (2_000, 20_000, 200_000, 1_000_000)
REPEATS = 3
SEED = 20_261_125

TARGET = Path(__file__).parents[3] / "src" / "lapwing" / "planning" / "pair_table.json"


def made() -> dict[str, object]:
    """Return the table as it is stored."""
    axis = Integers(0, BINS - 1, outside="clip")
    domain = Product(x=axis, y=axis)
    pairs = reference_pairs(domain.shape)
    errors = {kind: np.zeros((len(EPSILON), len(USERS))) for kind in pairs}
    for row, epsilon in enumerate(EPSILON):
        for column, users in enumerate(USERS):
            randomizer = boxes_for(domain, epsilon, users)
            found = simulated_pair_errors(
                randomizer, users=users, pairs=pairs, repeats=REPEATS, seed=SEED
            )
            for kind, each in found.items():
                errors[kind][row, column] = np.mean(each)
    return {
        "format": "lapwing-pair-table",
        "version": 1,
        "bins": BINS,
        "repeats": REPEATS,
        "seed": SEED,
        "epsilon": EPSILON,
        "users": USERS,
        "errors": {
            kind: [[float(f"{error:.4g}") for error in row] for row in nodes]
            for kind, nodes in errors.items()
        },
    }


if __name__ == "__main__":
    TARGET.write_text(json.dumps(made(), indent=1) + "\n", "utf-8")
