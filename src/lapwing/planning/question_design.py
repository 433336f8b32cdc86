"""The design that answers given questions best, and its predicted errors.

The default mixture suits the whole curve and quantiles. Shares and histograms are answered better
by one component of cells, at the edges of all of them together. A mean is answered better by a wave
as narrow as the piecewise mechanism, from epsilon 2 on. Below, the default mixture is as accurate.

If the default mixture is one of several components, it gets half of the people. The others share
the rest equally.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from lapwing.errors import ArgumentError, DomainError
from lapwing.linear.arrays import Matrix, Vector
from lapwing.linear.blas_threads import one_thread
from lapwing.planning.chosen_bins import recommended_bins, with_bins
from lapwing.planning.planned_parts import CurveRisk
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.domains.product import Product
from lapwing.protocol.domains.ranges import held_values, touched
from lapwing.protocol.randomizer import Randomizer
from lapwing.questions import (
    Curve,
    Histogram,
    Mean,
    Quantile,
    Question,
    Share,
    label_of,
)
from lapwing.randomizers.numerical.multiscale_wave import (
    OwnCells,
    Wave,
    default_mixture,
    fitted,
)
from lapwing.randomizers.numerical.square_wave import mutual_information_width
from lapwing.results.question_cells import cell_starts

MEAN_EPSILON = 2
"""From here on a wave for the mean beats the default mixture."""

MEAN_BINS = 2048
"""Bins for a mean: its interval reaches from one end of the bins to the other."""

FEW_CELLS, MANY_CELLS = 32, 64
"""Most cells that are answered better one by one: at any epsilon, and where much is known."""

MANY_PEOPLE = 200_000

LEAST_BINS = 8
"""Bins that a multiscale wave needs."""


@dataclass(frozen=True)
class QuestionDesign:
    """A design for questions.

    Parameters
    ----------
    domain : Domain
        The domain, with bins at the edges that are asked where none were declared.
    components : tuple or None
        Components of a :class:`lapwing.MultiscaleWave`. None for the default design.
    reason : str
        The reason, in a sentence or two.
    """

    domain: Domain
    components: tuple[Wave | OwnCells, ...] | None
    reason: str


def question_design(
    domain: Domain, epsilon: Fraction, questions: Sequence[Question], *, users: int
) -> QuestionDesign:
    """Return the design for questions.

    Parameters
    ----------
    domain : Domain
        An interval may have no bins yet.
    epsilon : Fraction
    questions : sequence of Question
    users : int
        Number of people who will report.

    Raises
    ------
    ArgumentError
        When the domain cannot answer a question, or typed bins lack an edge of one.
    """
    if isinstance(domain, Product):
        raise DomainError("questions are about one attribute. Leave them out for pairs")
    if not domain.ordered:
        for each in questions:
            if not isinstance(each, Share) or each.label is None:
                raise ArgumentError(f"{each} is for numbers. For labels ask Share(label=...)")
        return QuestionDesign(domain, None, "")
    points = any(isinstance(each, Mean) for each in questions) and epsilon >= MEAN_EPSILON
    points = points and not domain.circular
    chosen, sentence = with_bins(domain, MEAN_BINS if points else recommended_bins(epsilon))
    if chosen is not domain:
        chosen, more = _with_edges(chosen, questions)
        sentence = f"{sentence} {more}".rstrip()
    starts = cell_starts(questions, chosen)
    asks_cells = any(isinstance(each, Share | Histogram) for each in questions)
    if asks_cells and len(starts) < 2:
        raise ArgumentError(
            "a question must have an edge inside the range of the domain, and there is none. Ask "
            "about a place inside it"
        )
    curve = any(isinstance(each, Curve | Quantile) for each in questions)
    curve = curve or (not points and any(isinstance(each, Mean) for each in questions))
    if chosen.inside_size < LEAST_BINS:
        return QuestionDesign(
            chosen, None, f"With fewer than {LEAST_BINS} bins each bin is asked about. {sentence}"
        )
    if asks_cells and len(starts) > _most_cells(epsilon, users):
        many = f"The questions have {len(starts)} cells, as many as the curve answers better."
        asks_cells, curve, sentence = False, True, f"{many} {sentence}".rstrip()
    if not (asks_cells or points):
        return QuestionDesign(chosen, None, sentence)
    others = asks_cells + points
    rest = (0.5 if curve else 1.0) / others
    table: list[Wave | OwnCells] = []
    said = []
    if curve:
        table += [(kind, size, share / 2) for kind, size, share in _default(epsilon, chosen)]
        said.append("the default mixture for the curve")
    if asks_cells:
        table.append(("cells", starts, rest))
        said.append(f"{len(starts)} cells with the edges that are asked")
    if points:
        width = math.exp(-epsilon / 2) / 2 / mutual_information_width(epsilon)
        table.append(("wave", round(width, 3), rest))
        said.append("a narrow wave for the mean")
    shares = ([0.5] if curve else []) + [rest] * others
    parts = " and ".join(
        f"{what} ({share:.0%} of the people)" for what, share in zip(said, shares, strict=True)
    )
    text = f"multiscale-wave with {parts}."
    if not curve:
        text += " Other questions get much wider intervals. To share the people, ask the curve too."
    return QuestionDesign(chosen, tuple(table), f"{text} {sentence}".rstrip())


def _default(epsilon: Fraction, domain: Domain) -> tuple[Wave, ...]:
    return fitted(default_mixture(float(epsilon)), domain)


def _most_cells(epsilon: Fraction, users: int) -> int:
    much = epsilon >= 2 or (epsilon >= 1 and users >= MANY_PEOPLE)
    return MANY_CELLS if much else FEW_CELLS


_SAME = 1e-6
"""Part of the width of a bin by which an edge and an asked one may differ to be one."""


def _with_edges(domain: Domain, questions: Sequence[Question]) -> tuple[Domain, str]:
    """Return an interval whose chosen bins also have the edges that are asked."""
    assert isinstance(domain, Interval)
    asked = sorted({edge for each in questions for edge in each.edges(domain)})
    edges = domain.bin_edges
    missing = [edge for edge in asked if edge not in edges]
    if not missing:
        return domain, ""
    slack = _SAME * float(np.diff(edges).min())
    kept = [
        edge
        for number, edge in enumerate(edges.tolist())
        if number in (0, edges.size - 1) or min(abs(edge - other) for other in missing) > slack
    ]
    own = sorted({*kept, *missing})
    made = replace(domain, edges=own, bins=None, scale="linear")  # type: ignore[arg-type]
    more = len(own) - edges.size
    return made, f"{more} more edges are those that are asked." if more > 0 else ""


# Predicted errors


@one_thread
def predicted_errors(
    randomizer: Randomizer,
    questions: Sequence[Question],
    columns: Mapping[str, Vector],
    *,
    users: int,
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    """Return the expected distances, and the expected error of each question, by kind of column.

    Near a column the posterior is Gaussian, and each question but a quantile is a sum of masses. So
    its error is known without decoding anything.

    Parameters
    ----------
    randomizer : Randomizer
        On an ordered domain.
    questions : sequence of Question
    columns : mapping of str to numpy.ndarray
        Masses, float64 [domain.size], by kind.
    users : int

    Returns
    -------
    (dict, dict)
        By distance and kind. By the string form of the question and kind: the root mean square
        error, in the unit of :class:`lapwing.planning.ExpectedError`.
    """
    domain = randomizer.domain
    distances: dict[str, dict[str, float]] = {"wasserstein": {}, "kolmogorov_smirnov": {}}
    errors: dict[str, dict[str, float]] = {str(each): {} for each in questions}
    for kind, mass in columns.items():
        risk = CurveRisk(domain, mass, starts=cell_starts(questions, domain))
        information = users * risk.information(randomizer.channel)
        prior = risk.prior(information)
        found = risk.errors(information, prior, people=users)
        for distance, error in zip(distances, found, strict=True):
            distances[distance][kind] = error
        for each in questions:
            rows = _weights(each, domain, mass)
            deviations = risk.linear_errors(information, prior, rows, people=users)
            errors[str(each)][kind] = float(np.sqrt(np.mean(deviations**2)))
    return distances, errors


def _weights(question: Question, domain: Domain, mass: Vector) -> Matrix:
    """Return weights of the symbols on a column, a row for each number of a question."""
    size = domain.size
    if isinstance(question, Share) and question.label is not None:
        symbol = domain.index([label_of(question.label, domain, name="label")])
        return np.eye(size)[symbol]
    if isinstance(question, Share | Histogram):
        rows = np.zeros((len(question.ranges(domain)), size))
        for row, spans in zip(rows, question.ranges(domain), strict=True):
            inside = touched(domain, spans).whole
            row[: inside.size] = inside
        return rows
    row = np.zeros((1, size))
    if isinstance(question, Mean):
        row[0, : domain.left.size] = np.mean(held_values(domain), axis=0)
        return row
    below = np.cumsum(mass) / mass.sum()
    if isinstance(question, Quantile):  # in ranks: the share below the true quantile
        ends = np.searchsorted(below, question.probabilities)
        return np.asarray(np.arange(size) <= ends[:, None], dtype=np.float64)
    return np.tri(size)[: domain.left.size - 1]
