"""When EM stops, and the branching of a curator's trees: sentences of the square-wave paper."""

import numpy as np
import pytest

from benchmarks.accuracy.papers.square_wave import square_wave_stopping as stopping
from benchmarks.verdicts import CONTRADICTED, HOLDS


def test_the_variance_of_a_tree_is_that_of_least_squares(monkeypatch):
    """Of all ranges of 16 cells, from the dense normal equations with the total known."""
    monkeypatch.setattr(stopping, "CELLS", 16)
    monkeypatch.setattr(stopping, "BRANCHINGS", (2, 4))
    ranges = [(a, b) for a in range(16) for b in range(a, 16)]

    class Every:
        """Draws each pair of ends once, in either order."""

        def integers(self, *_):
            pairs = [(a, b) for a in range(16) for b in range(16)]
            return np.array(pairs).T

    monkeypatch.setattr(stopping.np.random, "default_rng", lambda seed: Every())
    found = stopping.curators_trees()
    for branching, levels in ((2, 4), (4, 2)):
        nodes = np.vstack(
            [
                np.kron(np.eye(branching**depth), np.ones(16 // branching**depth))
                for depth in range(1, levels + 1)
            ]
        )
        known = np.vstack([nodes, 1e6 * np.ones((1, 16))])
        covariance = np.linalg.inv(known.T @ known)
        weights = {(a, b): 1 if a == b else 2 for a, b in ranges}
        total = 0.0
        for (a, b), weight in weights.items():
            row = np.zeros(16)
            row[a : b + 1] = 1
            total += weight * row @ covariance @ row
        mean = total / sum(weights.values())
        assert found["budget"][str(branching)] == pytest.approx(mean * levels**2, rel=1e-4)
        assert found["people"][str(branching)] == pytest.approx(mean * levels, rel=1e-4)


def test_a_curator_wants_16_and_devices_about_4():
    assert [one.verdict for one in stopping.tree_claims(stopping.curators_trees())] == [HOLDS] * 2
    turned = {"budget": {"4": 1.0, "16": 1.3}, "people": {"4": 1.3, "16": 1.0}}
    assert {one.verdict for one in stopping.tree_claims(turned)} == {CONTRADICTED}
