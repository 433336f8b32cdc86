"""The recommended mixture for pairs, and its predicted error.

The shipped table holds the errors of the default mixture with the log-density prior. They are on
made-up pairs of 64 x 64 bins, over a grid of epsilon and people.
`benchmarks/accuracy/promises/pair_table.py` makes it. With an axis of labels, with `refine` and
with `like`, the errors are simulated instead.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from lapwing.decoders.empirical_bayes.log_density_prior import cells_in_time, decode_seconds
from lapwing.errors import ArgumentError, MismatchError
from lapwing.linear.arrays import Matrix, Vector, as_numbers
from lapwing.planning.chosen_bins import with_bins
from lapwing.planning.defaults import decoder_without_band, recommended_decoder
from lapwing.planning.error_sheet import Sheet, falling
from lapwing.planning.expected_error import (
    USER_LIMIT,
    ErrorByKind,
    ExpectedError,
    Recommendation,
    people_needed,
)
from lapwing.planning.simulation import simulate
from lapwing.protocol.domains.product import Product
from lapwing.randomizers.joint.multiscale_boxes import ORDERED, MultiscaleBoxes, Part, default_boxes

DISTANCE = "rectangle"
"""What is predicted: the root mean squared error of the probability of a random rectangle."""

BINS = 64
"""Bins that an axis without bins gets, about."""

MARGINAL_COST = 1.5
"""How many times the error of a marginal is that of a survey which asks this attribute alone."""
# The geometric mean of the benchmark ``accuracy/marginal_cost`` over epsilons 1, 2 and 4, rounded.

_RECTANGLES = 500

Pair = Callable[[int], Matrix]
"""Shares of the cells of a made-up pair, by the number of a repeat."""


def reference_pairs(shape: tuple[int, int]) -> dict[str, Pair]:
    """Return made-up pairs of four kinds. A number picks a member of each, always the same one.

    shape: Symbols of both axes.
    """
    return {
        "independent": lambda repeat: _mixed(shape, repeat, ridge=False, tied=False),
        "clusters": lambda repeat: _mixed(shape, repeat, ridge=False, tied=True),
        "ridge": lambda repeat: _mixed(shape, repeat, ridge=True, tied=True),
        "rows": lambda repeat: _rows(shape, repeat),
    }


def _mixed(shape: tuple[int, int], repeat: int, *, ridge: bool, tied: bool) -> Matrix:
    """Return a mixture of three normal clusters. Independent where they are not tied."""
    rng = np.random.default_rng([repeat, ridge, tied, 17])
    first, second = ((np.arange(size) + 0.5) / size for size in shape)
    table = np.zeros(shape)
    for weight in rng.dirichlet([2.0] * 3):
        x, y = rng.uniform(0.15, 0.85, 2)
        one, other = rng.uniform(0.06, 0.2, 2)
        across = second[None, :] - y
        if ridge:
            across = across - rng.uniform(0.6, 1.4) * (first[:, None] - x)
        bump = np.exp(-0.5 * (((first - x) / one)[:, None] ** 2 + (across / other) ** 2))
        table += weight * bump / bump.sum()
    if not tied:
        table = np.outer(table.sum(axis=1), table.sum(axis=0))
    return np.asarray(table / table.sum())


def _rows(shape: tuple[int, int], repeat: int) -> Matrix:
    """Return clusters with a few heavy rows, whose people are spread in their own way."""
    rng = np.random.default_rng([repeat, 29])
    table = 0.6 * _mixed(shape, repeat, ridge=False, tied=True)
    place = (np.arange(shape[1]) + 0.5) / shape[1]
    for weight in 0.4 * rng.dirichlet([2.0] * 4):
        row = rng.integers(shape[0])
        bump = np.exp(-0.5 * ((place - rng.uniform(0.1, 0.9)) / rng.uniform(0.1, 0.3)) ** 2)
        table[row] += weight * bump / bump.sum()
    return np.asarray(table / table.sum())


def rectangle_error(answer: Matrix, truth: Matrix) -> float:
    """Return the root mean squared error of the probabilities of 500 random rectangles.

    answer, truth: Shares of the cells.
    """
    sums = np.zeros((answer.shape[0] + 1, answer.shape[1] + 1))
    sums[1:, 1:] = (answer - truth).cumsum(axis=0).cumsum(axis=1)
    rng = np.random.default_rng(0)
    low, high = _ends(rng, answer.shape[0])
    start, stop = _ends(rng, answer.shape[1])
    errors = sums[high, stop] - sums[low, stop] - sums[high, start] + sums[low, start]
    return float(np.sqrt(np.mean(errors**2)))


def _ends(rng: np.random.Generator, size: int) -> tuple[Any, Any]:
    """Return two different ends of each rectangle along an axis, the lower ones first."""
    first = rng.integers(0, size + 1, _RECTANGLES)
    second = (first + rng.integers(1, size + 1, _RECTANGLES)) % (size + 1)
    return np.minimum(first, second), np.maximum(first, second)


def boxes_for(domain: Product, epsilon: Fraction | float, users: int) -> MultiscaleBoxes:
    """Return the default mixture for a public number of people."""
    parts = default_boxes(domain, float(epsilon), users=users)
    return MultiscaleBoxes(domain, epsilon, components=parts)


def simulated_pair_errors(
    randomizer: MultiscaleBoxes, *, users: int, pairs: Mapping[str, Pair], repeats: int, seed: int
) -> dict[str, list[float]]:
    """Return the errors of decoding simulated reports, by pair, one for each repeat.

    pairs: Shares of the cells by repeat.
    """
    decoder: Any = decoder_without_band(randomizer)
    found: dict[str, list[float]] = {name: [] for name in pairs}
    for name, pair in pairs.items():
        for repeat in range(repeats):
            rng = np.random.default_rng([seed, repeat, users % 2**32])
            people = rng.multinomial(users, pair(repeat).ravel())
            answer = decoder.decode(randomizer.channel, simulate(randomizer, people, rng=rng))
            truth = people.reshape(randomizer.domain.shape) / users
            found[name].append(rectangle_error(answer.table, truth))
    return found


@cache
def pair_table() -> Sheet:
    """Return the table that comes with the package: errors by kind of pair."""
    text = resources.files("lapwing.planning").joinpath("pair_table.json").read_text("utf-8")
    document = json.loads(text)
    # Noise of the simulation would let an error rise with the people: there it is pooled.
    errors = {
        kind: np.exp([falling(np.log(row)) for row in nodes])
        for kind, nodes in document["errors"].items()
    }
    return Sheet(tuple(document["epsilon"]), tuple(document["users"]), {DISTANCE: errors})


def with_bins_of_axes(domain: Product, epsilon: float) -> tuple[Product, str]:
    """Return a product whose axes have bins, and sentences about bins and the time of a decode."""
    axes, sentences = {}, []
    for name, axis in domain.axes.items():
        axes[name], sentence = with_bins(axis, BINS)
        if sentence:
            sentences.append(f"{name}: {sentence}")
    made, most = Product(**axes), cells_in_time(epsilon)
    if made.size > most:
        seconds = decode_seconds(made.size, epsilon)
        sentences.append(
            f"A decode of {made.size:,} cells takes about {seconds:,.0f} seconds. A collector "
            f"takes at most {most:,} cells at this epsilon."
        )
    return made, " ".join(sentences)


def recommend_pairs(
    domain: Product,
    epsilon: Fraction,
    *,
    users: int | None,
    error: float | None,
    refine: bool,
    like: Any,
    repeats: int,
    seed: int,
) -> Recommendation:
    """Return the recommendation for pairs of which at least one axis is ordered.

    domain: Its intervals may have no bins yet.
    users, error, refine, like, repeats, seed: As of :func:`lapwing.recommend`, of which one of
        users and error is given.
    """
    domain, bins_sentence = with_bins_of_axes(domain, float(epsilon))
    column = None if like is None else _column(domain, like)
    labelled = not all(axis.ordered for axis in domain.domains)
    simulated = refine or like is not None or labelled
    planned: MultiscaleBoxes | None = None

    def mixture(number: int) -> MultiscaleBoxes:
        return boxes_for(domain, epsilon, number) if planned is None else planned

    if simulated:
        pairs: Mapping[str, Pair] = (
            reference_pairs(domain.shape) if column is None else {"like": lambda _: column}
        )
        if labelled and not refine and like is None:
            repeats = min(repeats, 2)

        def errors(number: int) -> dict[str, float]:
            found = simulated_pair_errors(
                mixture(number), users=number, pairs=pairs, repeats=repeats, seed=seed
            )
            return {kind: float(np.mean(each)) for kind, each in found.items()}

    else:

        def errors(number: int) -> dict[str, float]:
            return pair_table().at(epsilon=float(epsilon), users=number)[DISTANCE]

    reason = _REASON
    if column is not None and not labelled:
        number = users or 100_000
        planned = _planned(mixture(number), column, number, repeats, seed)
        reason += "" if planned is None else " Its components were chosen for this pair."
    people = _people(errors, users, error, simulated=simulated)
    randomizer = mixture(people)
    expected = {DISTANCE: ErrorByKind(errors(people))}
    predicted = ExpectedError(randomizer, people, expected, "simulation" if simulated else "table")
    text = f"{reason} {_marginal_sentence(domain)} {bins_sentence}".rstrip()
    return Recommendation(randomizer, recommended_decoder(randomizer), predicted, text)


_REASON = (
    "multiscale-boxes: boxes of several shapes measure both attributes together, and strips "
    "measure one alone. The log-density prior learns from the reports how the attributes depend "
    "on each other."
)


def _marginal_sentence(domain: Product) -> str:
    names = " or ".join(domain.names)
    return (
        f"The error for {names} alone is about {MARGINAL_COST} times that of a survey of the "
        "same people about only that attribute."
    )


def _column(domain: Product, like: Any) -> Matrix:
    """Return the shares of the cells of a pair that was named."""
    if hasattr(like, "table"):
        if like.domain.to_document() != domain.to_document():
            raise MismatchError("like must be a joint distribution on the same domain")
        like = like.mass
    mass: Vector = as_numbers(like, name="like").ravel()
    if mass.size != domain.size or not np.isfinite(mass).all() or mass.min() < 0:
        raise ArgumentError(
            "like", f"must be {domain.size} masses, one for each cell, finite and not negative"
        )
    if mass.sum() <= 0:
        raise ArgumentError("like", "must have a positive sum")
    return np.asarray((mass / mass.sum()).reshape(domain.shape))


def _planned(
    randomizer: MultiscaleBoxes, column: Matrix, users: int, repeats: int, seed: int
) -> MultiscaleBoxes | None:
    """Return a neighbor of the default mixture with less simulated error on a pair, if one has it.

    Compared are the rows of the table at other epsilons, and the default with half and with twice
    as many people on strips and rows.
    """
    domain, epsilon = randomizer.domain, randomizer.epsilon
    parts = randomizer.components or ()
    tables = [default_boxes(domain, node) for node in ORDERED]
    tables += [_with_marginals(parts, factor) for factor in (0.5, 2.0)]
    best, least = None, math.inf
    for table in [parts, *tables]:
        one = MultiscaleBoxes(domain, epsilon, components=table)
        found = simulated_pair_errors(
            one, users=users, pairs={"like": lambda _: column}, repeats=min(repeats, 4), seed=seed
        )["like"]
        error = float(np.mean(found))
        if table is parts:
            # Another mixture must gain more than the noise of the simulation.
            least = 0.95 * error
        elif error < least:
            best, least = one, error
    return best


def _with_marginals(parts: Sequence[Part], factor: float) -> tuple[Part, ...]:
    """Return parts with the people on one attribute alone multiplied."""
    weighted = [
        (kind, sizes, share * (factor if None in sizes else 1.0)) for kind, sizes, share in parts
    ]
    total = math.fsum(share for _, _, share in weighted)
    return tuple((kind, sizes, round(share / total, 9)) for kind, sizes, share in weighted)


def _people(
    errors: Callable[[int], dict[str, float]],
    users: int | None,
    error: float | None,
    *,
    simulated: bool,
) -> int:
    """Return the people who were given, or who are needed for an error."""
    if users is not None:
        return int(users)
    assert error is not None

    def typical(number: int) -> float:
        return float(np.mean(list(errors(number).values())))

    if not simulated:
        needed = people_needed(typical, error)
    else:
        # The error falls about as the root of the people; three steps bring it near.
        needed = 100_000.0
        for _ in range(3):
            found = typical(int(needed))
            if abs(found / error - 1) < 0.05:
                break
            needed = min(math.ceil(needed * (found / error) ** 2), float(USER_LIMIT) + 1)
            if needed > USER_LIMIT:
                needed = math.inf
                break
    if needed == math.inf:
        raise ArgumentError(
            f"no number of people up to {USER_LIMIT} reaches an error of {error:g}. Choose a "
            "larger one, or a larger epsilon"
        )
    return int(needed)
