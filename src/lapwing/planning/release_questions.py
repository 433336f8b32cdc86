"""Expected errors of released answers to questions, from public knowledge alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector
from lapwing.mechanisms.question_draws import QuantileDraws, QuestionDraws
from lapwing.planning.expected_error import ErrorByKind, ExpectedError
from lapwing.planning.release_defaults import quick_release_decoder
from lapwing.privacy.integer_noise import Noise
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Mechanism
from lapwing.questions import Mean, Quantile
from lapwing.results.asked_numbers import AskedNumbers, Counts, symbols_in, within
from lapwing.results.released_answers import chosen_points, share_points

DRAWS = 200
"""Draws of each question and column: their root mean square is known to a twelfth."""

CURVES = 20
"""Curves that are drawn and decoded for each column."""


@dataclass(frozen=True)
class AnswersMethod:
    """The method of an expected error: answers to questions with shares of the budget."""

    draws: QuestionDraws
    from_curve: tuple[Quantile, ...] = ()

    name = "question-release"

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        shares = {str(one): str(share) for one, share in self.draws.shares.items()}
        curve = {"from_curve": [*map(str, self.from_curve)]} if self.from_curve else {}
        return {"class": self.name, "shares": shares, **curve}


def expected_answers(
    draws: QuestionDraws,
    people: int,
    columns: Mapping[str, Vector],
    *,
    from_curve: tuple[Quantile, ...] = (),
    curve: tuple[Mechanism, Promise] | None = None,
) -> ExpectedError:
    """Return the expected error of each question of a release: of a mean in its unit.

    draws: Questions, with their shares of the budget.
    people: Number of rows. By segment they are taken to be in equal parts.
    columns: Masses of the bins of the domain, without segments, by kind.
    from_curve: Quantiles that the curve answers.
    curve: Its mechanism and privacy parameters, where it answers any.
    """
    if isinstance(draws.domain, Segmented):
        people = max(1, people // len(draws.domain.segments))
    counted = within(draws.counted)
    tables = {kind: _counts(mass, people, counted, draws) for kind, mass in columns.items()}
    rng, found = seeded(0), {}
    for numbers, _, noise in draws.numbers:
        errors = {}
        for kind, (fine, bins) in tables.items():
            of = _quantile_errors if isinstance(numbers.question, Quantile) else _sum_errors
            squares = of(numbers, noise, fine, bins, counted, rng)
            errors[kind] = float(np.sqrt(np.mean(np.square(squares))))
        found[str(numbers.question)] = ErrorByKind(errors)
    for asked in from_curve:
        assert curve is not None
        errors = {
            kind: _curve_error(asked, *curve, bins, draws.domain)
            for kind, (_, bins) in tables.items()
        }
        found[str(asked)] = ErrorByKind(errors)
    method = AnswersMethod(draws, from_curve)
    return ExpectedError(method, people, {}, "simulation", questions=found)


def _counts(
    mass: Vector, people: int, counted: Domain, draws: QuestionDraws
) -> tuple[Counts, Counts]:
    """Return so many people in the counted bins and in those of the domain, evenly in each."""
    domain = within(draws.domain)
    places = symbols_in(counted, domain)
    width = np.ones(counted.size)
    if counted.ordered:
        width[: counted.left.size] = np.maximum(counted.right - counted.left, 0.0)
        width[width == 0] = 1e-9 * width.max()
    share = width / np.bincount(places, width, domain.size)[places]
    ends = np.rint(people * np.cumsum(mass[places] * share) / mass.sum())
    fine = np.diff(np.append(0, ends)).astype(np.int64)
    bins = np.zeros(domain.size, dtype=np.int64)
    np.add.at(bins, places, fine)
    return fine, bins


def _sum_errors(
    numbers: AskedNumbers, noise: Noise, fine: Counts, bins: Counts, counted: Domain, rng: Any
) -> Vector:
    """Return the errors of shares, or of a mean in its unit."""
    exact, people = numbers.exact(fine, counted), int(fine.sum())
    truth = share_points(numbers, exact, people, None)
    drawn = noise.draw(DRAWS * numbers.noises, rng).reshape(DRAWS, -1)
    found = [share_points(numbers, exact + each, people, noise) for each in drawn]
    domain = within(numbers.domain)
    length = float(domain.high - domain.low) if isinstance(numbers.question, Mean) else 1.0
    errors: Vector = length * (np.array(found) - truth)
    return errors


def _quantile_errors(
    numbers: AskedNumbers, noise: Noise, fine: Counts, bins: Counts, counted: Domain, rng: Any
) -> Vector:
    """Return how far the ranks of the bin of each quantile are from its own, over people."""
    asked, draws, errors = numbers.question, QuantileDraws(numbers, noise.scale), []
    assert isinstance(asked, Quantile)
    for each in noise.draw(DRAWS * numbers.noises, rng).reshape(DRAWS, -1):
        points = chosen_points(numbers, draws.draw(bins, each, rng))
        errors += _rank_errors(asked, points, bins, within(numbers.domain))
    return np.array(errors)


def _curve_error(
    asked: Quantile, mechanism: Mechanism, promise: Promise, bins: Counts, domain: Domain
) -> float:
    """Return the root mean square error of quantiles of the decoded curve, in ranks."""
    decoder = quick_release_decoder(mechanism, domain)
    counts = ExactCounts(domain, bins, promise.unit)
    errors: list[float] = []
    for seed in range(CURVES):
        made = mechanism.release(counts, promise, rng=seeded(seed))
        result = decoder.decode(mechanism.channel_for(made), made)
        points = result.cumulative.quantile(asked.probabilities)
        errors += _rank_errors(asked, points, bins, domain)
    return float(np.sqrt(np.mean(np.square(errors))))


def _rank_errors(
    asked: Quantile, points: Iterable[float], bins: Counts, domain: Domain
) -> list[float]:
    """Return how far the ranks of the bins of quantiles are from their own, over people."""
    upto = np.cumsum(bins[: domain.left.size])
    if not upto[-1]:
        raise ArgumentError("like", "must have somebody with a value")
    errors: list[float] = []
    for probability, point in zip(asked.probabilities, points, strict=True):
        place = min(int(np.searchsorted(domain.right, point)), upto.size - 1)
        ranks = np.append(0, upto)[place : place + 2] / upto[-1]
        errors.append(float(np.clip(probability, *ranks)) - probability)
    return errors
