"""The 50 largest of 16,000 sparse labels: what shrinking costs them, and what nobody could save."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw
from benchmarks.datasets import load
from benchmarks.markdown import table
from benchmarks.signed_decoder import SignedDecoder
from benchmarks.summaries import geometric, ratio_of_means
from lapwing.decoders.unbiased.linear_estimate import UnbiasedShares, unbiased_shares

TITLE = "The head of sparse labels"
FULL: dict[str, Any] = {
    "repeats": 12,
    "size": 16_000,
    "columns": [
        ["kosarak", 800_000],
        ["kosarak", 8_000_000],
        ["english_words", 200_000],
        ["english_words", 1_000_000],
        ["english_words", 5_000_000],
    ],
    "epsilons": [0.5, 1, 2, 4],
}
QUICK: dict[str, Any] = {**FULL, "repeats": 3, "columns": [["kosarak", 800_000]], "epsilons": [4]}

ASKED = {"largest": 1.1, "all": 1.03}
"""Of the squared error of the 50 largest to the unbiased one's; of all to the earlier default's."""

BEFORE = Path(__file__).with_name("head_before.json")
"""The default's squared errors at commit 3a0ae02, of the same tallies, by cell and repeat."""

OURS, UNBIASED, PROJECTION = "MixturePrior", "unbiased", "simplex projection"

DECODERS: dict[str, Any] = {
    OURS: lw.MixturePrior(band=False),
    PROJECTION: lw.LeastSquares(),
    UNBIASED: SignedDecoder(lw.papers.baselines.Normalization(method="additive", band=False)),
}

_TOP = 50

_COSTS = [0.0, *np.geomspace(0.1, 1000, 33).tolist()]


def measure(
    *,
    repeats: int,
    size: int,
    columns: Sequence[Sequence[Any]],
    epsilons: Sequence[Any],
) -> dict[str, Any]:
    """Return squared errors, summed over all labels and over the largest, by cell and repeat.

    Without a column the shares are a Zipf law's.
    """
    cells = []
    for column, people in columns:
        counts = _counts(column, size, people)
        held = counts / counts.sum()
        largest = np.argsort(-counts, kind="stable")[:_TOP]
        for epsilon in epsilons:
            randomizer = lw.randomizers.OptimizedUnaryEncoding(lw.Categories(size), epsilon)
            errors: dict[str, dict[str, list[float]]] = {
                name: {"all": [], "largest": []} for name in DECODERS
            }
            known = []
            for repeat in range(repeats):
                tally = lw.simulate(randomizer, counts, rng=np.random.default_rng([repeat, 50]))
                for name, decoder in DECODERS.items():
                    squares = (decoder.decode(randomizer.channel, tally).mass - held) ** 2
                    errors[name]["all"].append(float(squares.sum()))
                    errors[name]["largest"].append(float(squares[largest].sum()))
                found = unbiased_shares(randomizer.channel, tally).with_total()
                known.append(_informed(found, held, largest))
            cells.append(
                {
                    "column": column or "zipf",
                    "people": int(counts.sum()),
                    "epsilon": epsilon,
                    "smallest": float(held[largest[-1]] / found.deviation[0]),
                    "errors": errors,
                    "informed": np.mean(known, axis=0).tolist(),
                }
            )
    return {"cells": cells}


def _counts(column: str | None, size: int, people: int) -> NDArray[np.int64]:
    """Return how many people hold each label, the largest labels of a column."""
    shares: NDArray[np.float64] = 1 / np.arange(1, size + 1)
    if column is not None:
        found = load(column).counts
        assert found is not None
        shares = np.sort(found)[::-1][:size].astype(np.float64)
    return np.random.default_rng(50).multinomial(people, shares / shares.sum())


def _informed(
    found: UnbiasedShares, held: NDArray[np.float64], largest: NDArray[np.int64]
) -> list[list[float]]:
    """Return errors of all and of the largest by rules that know every share but not whose it is.

    Each is the best there is for one cost of an error in the head: the posterior mean under the
    true shares, those of the head weighted by one more than the cost. It knows that the largest
    share is the largest, which no decoder does.
    """
    shares, place = np.unique(held, return_inverse=True)
    inside = np.bincount(place[largest], minlength=shares.size)
    variance = found.empty[0] + found.slope * shares
    reach = np.sqrt(variance.max())
    estimates = np.linspace(found.shares.min(), found.shares.max(), 2000)
    near = np.exp(-np.minimum((estimates[:, None] - shares) ** 2 / (2 * variance), 700)) * np.sqrt(
        reach**2 / variance
    )
    weights = np.bincount(place)[:, None] + np.outer(inside, _COSTS)
    rules = near @ (weights * shares[:, None]) / (near @ weights)
    errors = []
    for rule in rules.T:
        squares = (np.interp(found.shares, estimates, rule) - held) ** 2
        errors.append([float(squares.sum()), float(squares[largest].sum())])
    return errors


def _before(cell: dict[str, Any]) -> dict[str, list[float]]:
    """Return the earlier default's errors of a cell; nothing where it was not measured."""
    kept: dict[str, dict[str, list[float]]] = json.loads(BEFORE.read_text())["errors"]
    return kept.get(_name(cell), {})


def _name(cell: dict[str, Any]) -> str:
    return f"{cell['column']} {cell['people']} {cell['epsilon']:g}"


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the ratios of every cell, and in how many the figures asked are reached."""
    rows, marks = [], []
    for cell in measured["cells"]:
        errors, before = cell["errors"], _before(cell)
        head = ratio_of_means(errors[OURS]["largest"], errors[UNBIASED]["largest"])
        row = [cell["column"], f"{cell['people']:,}", f"{cell['epsilon']:g}"]
        row += [f"{cell['smallest']:.1f}", f"{head['ratio']:.2f} ± {head['standard_error']:.2f}"]
        projected = ratio_of_means(errors[PROJECTION]["largest"], errors[UNBIASED]["largest"])
        row.append(f"{projected['ratio']:.2f}")
        if not before or settings != FULL:
            rows.append([*row, "–", "–", "–", "–"])
            continue
        earlier = ratio_of_means(before["largest"], errors[UNBIASED]["largest"])["ratio"]
        every = ratio_of_means(errors[OURS]["all"], before["all"])
        frontier = np.array(cell["informed"])
        frontier /= np.mean(before["all"]), np.mean(errors[UNBIASED]["largest"])
        best, cost = bounds(frontier)
        marks.append((head["ratio"], earlier, every["ratio"], best, cost))
        row += [f"{earlier:.2f}", f"{best:.2f}", f"{cost:.2f}"]
        rows.append([*row, f"{every['ratio']:.3f} ± {every['standard_error']:.3f}"])
    heads = [
        "column",
        "people",
        "ε",
        "50th",
        "MixturePrior",
        "simplex",
        "earlier default",
        "informed",
        "price",
        "all labels",
    ]
    return "\n\n".join(
        [
            f"Optimized unary encoding, the {settings['size']:,} largest labels of a column, "
            f"{settings['repeats']} repeats. *50th*: the share of the 50th largest label, in "
            "standard deviations of an empty label's share. The next columns have squared errors "
            "of the 50 largest, divided by those of the unbiased estimate on the same tallies. "
            "They are for the default, the projection, the default at commit 3a0ae02, and an "
            "informed rule. That rule knows all shares and which are the largest, and its error "
            f"over all labels may be {ASKED['all']:g} times that of the earlier default. *Price*: "
            "the smallest error over all labels, relative to the earlier default, of a rule with "
            f"at most {ASKED['largest']:g} times the unbiased error for the largest. *All labels*: "
            "the default's squared error over all labels, divided by the earlier default's.",
            table(heads, rows, texts=1),
            _reading(marks),
        ]
    )


def bounds(frontier: NDArray[np.float64]) -> tuple[float, float]:
    """Return the least error of the largest at the price asked, and the least price of that asked.

    Parameters
    ----------
    frontier : numpy.ndarray
        float64 [rules, 2]: errors of all and of the largest, as parts of those they are asked
        beside. Infinite where no rule is that good.
    """
    every, largest = frontier.T
    best = np.min(largest[every <= ASKED["all"]], initial=np.inf)
    return float(best), float(np.min(every[largest <= ASKED["largest"]], initial=np.inf))


def _reading(marks: list[tuple[float, float, float, float, float]]) -> str:
    if not marks:
        return "There are no targets for these sizes."
    head = sum(one[0] <= ASKED["largest"] for one in marks)
    possible = sum(one[3] <= ASKED["largest"] for one in marks)
    dear = [one[4] for one in marks if one[3] > ASKED["largest"]]
    priced = (
        f", and a rule that reaches it has {min(dear):.1f} to {max(dear):.1f} times the error "
        "over all labels"
        if dear
        else ""
    )
    every = sum(one[2] <= ASKED["all"] for one in marks)
    gain = geometric([one[0] / one[1] for one in marks])
    return (
        f"The 50 largest have at most {ASKED['largest']:g} times the unbiased error in {head} of "
        f"{len(marks)} cells. The informed rule reaches this in {possible}, so in the others it is "
        "impossible at this price. There the smallest of the 50 are no larger than the noise of "
        f"thousands of labels{priced}. The default's error for the 50 largest is {gain:.2f} times "
        "the earlier default's (geometric mean). Over all labels, it is at most "
        f"{ASKED['all']:g} times the earlier default's in {every} of {len(marks)} cells, with a "
        f"geometric mean of {geometric([one[2] for one in marks]):.3f}."
    )
