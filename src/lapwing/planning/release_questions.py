"""Expected errors of released answers to questions, from public knowledge alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector
from lapwing.mechanisms.quantile_draws import QuantileDraws
from lapwing.mechanisms.question_draws import QuestionDraws
from lapwing.planning.expected_error import ErrorByKind, ExpectedError
from lapwing.privacy.integer_noise import Noise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.segmented import Segmented
from lapwing.questions import Mean, Quantile
from lapwing.results.asked_numbers import AskedNumbers, Counts, symbols_in, within
from lapwing.results.released_answers import chosen_points, share_points

DRAWS = 200
"""Draws of each question and column: their root mean square is known to a twelfth."""


@dataclass(frozen=True)
class AnswersMethod:
    """The method of an expected error: answers to questions with shares of the budget."""

    draws: QuestionDraws

    name = "question-release"

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        shares = {str(one): str(share) for one, share in self.draws.shares.items()}
        return {"class": self.name, "shares": shares}


def expected_answers(
    draws: QuestionDraws, people: int, columns: Mapping[str, Vector]
) -> ExpectedError:
    """Return the expected error of each question of a release: of a mean in its unit.

    draws: Questions, with their shares of the budget.
    people: Number of rows. By segment they are taken to be in equal parts.
    columns: Masses of the bins of the domain, without segments, by kind.
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
    return ExpectedError(AnswersMethod(draws), people, {}, "simulation", questions=found)


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
    domain = within(numbers.domain)
    upto = np.cumsum(bins[: domain.left.size])
    if not upto[-1]:
        raise ArgumentError("like", "must have somebody with a value")
    draws, errors = QuantileDraws(numbers, noise.scale), []
    for each in noise.draw(DRAWS * numbers.noises, rng).reshape(DRAWS, -1):
        points = chosen_points(numbers, draws.draw(bins, each, rng))
        for probability, point in zip(
            numbers.question.probabilities,  # type: ignore[union-attr]
            points,
            strict=True,
        ):
            place = min(int(np.searchsorted(domain.right, point)), upto.size - 1)
            ranks = np.append(0, upto)[place : place + 2] / upto[-1]
            errors.append(float(np.clip(probability, *ranks)) - probability)
    return np.array(errors)
