"""Releases of labels beside OpenDP's histograms at the same promise."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.markdown import table
from benchmarks.summaries import summary

TITLE = "Releases of labels"
FULL: dict[str, Any] = {"people": 10_000, "repeats": 100}
QUICK: dict[str, Any] = {"people": 1000, "repeats": 2}

PROMISES = (("0.1", "0"), ("1", "0"), ("0.1", "1e-6"), ("0.01", "1e-2"))
WAYS = ("OpenDP", "nearest", "default")

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


def compared(
    shares: Shares, epsilon: str, delta: str, *, people: int, repeats: int
) -> dict[str, Any]:
    """Return deviations of counts, and errors of the answers to the same people in each repeat."""
    domain = lw.Categories(shares.size, missing="category")
    promise = lw.privacy.Promise("replace-one", epsilon=epsilon, delta=delta)
    theirs, mechanism = opendp_counts(float(epsilon), float(delta))
    kept: dict[str, list[tuple[float, float]]] = {}
    for repeat in range(repeats):
        drawn = np.random.default_rng([repeat, 5]).multinomial(people, shares / shares.sum())
        counts = np.append(drawn, 0)
        noisy = np.maximum(mechanism(counts.tolist()), 0)
        answers = {"OpenDP": noisy / max(1, noisy.sum())}
        release = lw.mechanisms.LabelCounts().release(
            lw.protocol.ExactCounts(domain, counts), promise, rng=lw.seeded(repeat)
        )
        for name, sparse in (("nearest", False), ("default", None)):
            decoder = lw.decoders.LabelShares(sparse=sparse, band=False)
            answers[name] = decoder.decode(release.channel, release).mass
        for name, answer in answers.items():
            kept.setdefault(name, []).append(errors(answer, counts / people))
    return {"deviations": (theirs, release.variance**0.5), "errors": kept}


def measure(*, people: int, repeats: int) -> dict[str, Any]:
    """Return both errors of every way, with OpenDP's version; no rows without OpenDP."""
    try:
        import opendp  # noqa: F401
    except ImportError:
        return {"rows": None}
    rows = []
    for name, shares in populations().items():
        for epsilon, delta in PROMISES:
            found = compared(shares, epsilon, delta, people=people, repeats=repeats)
            sums, largest = (
                {way: summary([one[place] for one in found["errors"][way]]) for way in WAYS}
                for place in (0, 1)
            )
            rows.append(
                {
                    "labels": name,
                    "epsilon": epsilon,
                    "delta": delta,
                    "deviations": list(found["deviations"]),
                    "sum": sums,
                    "largest": largest,
                }
            )
    return {"rows": rows, "opendp": version("opendp")}


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the table and what it says."""
    if measured["rows"] is None:
        return "**Skipped: the package `opendp` is not installed.**\n\n" + table(["labels"], [])
    head = ["labels", "ε", "δ", "deviation of a count: OpenDP", "ours"]
    head += [f"sum: {way}" for way in WAYS] + [f"largest: {way}" for way in WAYS]
    rows = [
        [
            *(row["labels"], row["epsilon"], row["delta"]),
            *(f"{deviation:.2f}" for deviation in row["deviations"]),
            *(_cell(row[figure][way]) for figure in ("sum", "largest") for way in WAYS),
        ]
        for row in measured["rows"]
    ]
    return "\n\n".join(
        [
            f"{settings['people']:,} people, other ones in each of {settings['repeats']} repeats; "
            f"sum and largest of the absolute errors of shares. *OpenDP*: {opendp(measured)}, the "
            "better of its two noises for the promise (discrete Laplace, or discrete Gaussian "
            "through zero-concentrated privacy, the only way it has for a delta), with negative "
            "counts set to zero and divided by their sum, as its users do. *Nearest*: our noise, "
            "the nearest shares. *Default*: our noise and the decoder that `release` takes.",
            table(head, rows, texts=3),
        ]
    )


def opendp(measured: dict[str, Any]) -> str:
    """Return the version of OpenDP that was measured, or that the result does not say it."""
    return f"version {measured['opendp']}" if "opendp" in measured else "version not recorded"


def _cell(one: dict[str, Any]) -> str:
    return f"{one['mean']:.4f} ± {one['standard_error']:.4f}"
