"""Releases of labels beside OpenDP's histograms at the same promise.

``python -m benchmarks.accuracy.central.central_labels [repeats]`` prints a Markdown table; needs
the package `opendp`. Theirs is the better of its two noises for the promise (discrete Laplace, or
discrete Gaussian through zero-concentrated privacy, the only way it has for a delta), with
negative counts set to zero and divided by their sum, as its users do. Each repeat has other people.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw

PEOPLE = 10_000
PROMISES = (("0.1", "0"), ("1", "0"), ("0.1", "1e-6"), ("0.01", "1e-2"))

Shares = NDArray[np.float64]


def populations() -> dict[str, Shares]:
    """Return shares of labels: a few, a long tail, and few of many."""
    rng = np.random.default_rng(1)
    tail = 1.0 / np.arange(1, 1001)
    few = np.zeros(10_000)
    few[rng.choice(few.size, 50, replace=False)] = rng.gamma(0.5, size=50)
    return {"20 labels": np.full(20, 0.05), "1000, long tail": tail, "50 of 10,000 held": few}


def opendp_counts(epsilon: float, delta: float) -> tuple[float, Callable[[list[int]], list[int]]]:
    """Return OpenDP's mechanism of least deviation for replaced rows, and that deviation."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    atoms = dp.vector_domain(dp.atom_domain(T="i64"))

    def laplace(scale: float) -> Any:
        return dp.m.make_laplace(atoms, dp.l1_distance(T="i64"), scale=scale)

    def gaussian(scale: float) -> Any:
        return dp.m.make_gaussian(atoms, dp.l2_distance(T="f64"), scale=scale)

    def promised(scale: float) -> Any:
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(gaussian(scale)), delta=delta)

    one = dp.binary_search_param(laplace, d_in=2, d_out=epsilon)
    ways = [(deviation_of_laplace(one), laplace(one))]
    if delta:
        other = dp.binary_search_param(promised, d_in=2**0.5, d_out=(epsilon, delta))
        ways.append((other, gaussian(other)))
    return min(ways, key=lambda way: way[0])


def deviation_of_laplace(scale: float) -> float:
    """Return the standard deviation of discrete Laplace noise."""
    ratio = np.exp(-1 / scale)
    return float(np.sqrt(2 * ratio) / (1 - ratio))


def errors(found: Shares, truth: Shares) -> tuple[float, float]:
    """Return the sum and the largest of the absolute errors of shares."""
    return float(np.abs(found - truth).sum()), float(np.abs(found - truth).max())


def compared(shares: Shares, epsilon: str, delta: str, repeats: int) -> dict[str, Any]:
    """Return deviations of counts, and mean errors of the answers to the same people."""
    domain = lw.Categories(shares.size, missing="category")
    promise = lw.Promise("replace-one", epsilon=epsilon, delta=delta)
    theirs, mechanism = opendp_counts(float(epsilon), float(delta))
    kept: dict[str, list[tuple[float, float]]] = {}
    for repeat in range(repeats):
        drawn = np.random.default_rng([repeat, 5]).multinomial(PEOPLE, shares / shares.sum())
        counts = np.append(drawn, 0)
        noisy = np.maximum(mechanism(counts.tolist()), 0)
        answers = {"OpenDP": noisy / max(1, noisy.sum())}
        release = lw.LabelCounts().release(
            lw.Summary(domain, counts), promise, rng=lw.seeded(repeat)
        )
        for name, sparse in (("nearest", False), ("default", None)):
            decoder = lw.LabelShares(sparse=sparse, band=False)
            answers[name] = decoder.decode(release.channel, release).mass
        for name, answer in answers.items():
            kept.setdefault(name, []).append(errors(answer, counts / PEOPLE))
    means = {name: np.mean(found, axis=0) for name, found in kept.items()}
    return {"deviations": (theirs, release.variance**0.5), "errors": means}


def main(repeats: int) -> None:
    """Print the table."""
    ways = ("OpenDP", "nearest", "default")
    head = ["labels", "epsilon", "delta", "deviation of a count: OpenDP, ours"]
    head += [f"sum of errors: {', '.join(ways)}", f"largest error: {', '.join(ways)}"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name, shares in populations().items():
        for epsilon, delta in PROMISES:
            found = compared(shares, epsilon, delta, repeats)
            cells = [name, epsilon, delta]
            cells.append(", ".join(f"{one:.2f}" for one in found["deviations"]))
            for place in (0, 1):
                cells.append(", ".join(f"{found['errors'][way][place]:.4f}" for way in ways))
            lines.append(f"| {' | '.join(cells)} |")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
