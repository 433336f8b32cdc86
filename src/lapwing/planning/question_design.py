"""The design that answers given questions best, and its predicted errors.

The default mixture suits the whole curve and quantiles. Shares and histograms are answered better
by cells at the edges of all of them together. Up to epsilon 3 a few people on waves tell how
neighboring cells of a histogram go together. A mean is answered better by one wave. Below epsilon 1
the default mixture has the smaller error and the wave the shorter interval, so each gets half of
the people.

Beside the curve, the cells that are asked are cut further, at places that differ between groups of
people. So each report about a share also tells something of the curve, and the default mixture
needs fewer people. From epsilon 8 on only its subsets of fine bins are left.

For labels, each asked label is a cell, and all other labels together are one more. With the curve,
which is the shares of all labels, half of the people report on these cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from lapwing.decoders.unbiased.linear_estimate import asked_noise, guessed_shares
from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Matrix, Vector, one_thread
from lapwing.planning.chosen_bins import FEW_BINS, recommended_bins, with_bins
from lapwing.planning.expected_error import USER_LIMIT
from lapwing.planning.planned_parts import CurveRisk, next_randomizer
from lapwing.protocol.domains.categories import Categories
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.domains.ranges import held_values, touched
from lapwing.protocol.randomizer import Randomizer
from lapwing.questions import (
    Curve,
    Histogram,
    Mean,
    Quantile,
    Question,
    Share,
    check_answerable,
    label_of,
)
from lapwing.randomizers.categorical.affine_subset_selection import MOST_CELLS
from lapwing.randomizers.categorical.asked_labels import AskedLabels
from lapwing.randomizers.categorical.own_cells import BITS, set_randomizer
from lapwing.randomizers.numerical.multiscale_wave import (
    MultiscaleWave,
    OwnCells,
    Wave,
    default_mixture,
    fitted,
)
from lapwing.randomizers.numerical.square_wave import mutual_information_width
from lapwing.results.asked_numbers import cell_starts
from lapwing.results.distribution import Distribution

MEAN_EPSILON = 1
"""From here on a wave alone is better for the mean than with the default mixture."""

MEAN_BINS, FINE_MEAN_BINS = 2048, 4096
"""Bins for a mean, and from epsilon 8 on: its interval reaches from one end of the bins to the
other."""

FEW_CELLS, MANY_CELLS = 32, 64
"""Most cells that are answered better one by one: at any epsilon, and where much is known."""

MANY_PEOPLE = 200_000

FINE_EPSILON = 8
"""From here on cells that are cut further suit the curve better than the default mixture."""

WAVE_EPSILON = 3
"""Up to here a tenth of the people on waves improve a histogram of at least 8 cells."""

CUTS, FINE_CUTS = 4, 8
"""Groups of people whose cells are cut at different places, and from epsilon 8 on."""

MOST_LABELS = 4096
"""Labels up to which a server counts reports about all of them in seconds."""

ALONE, WITH_ALL = 0.95, 0.8
"""Largest accepted ratio of the error of an asked label to that of the design for all labels."""
# Next to the curve, the error of the other labels grows by sqrt(2), because half of the people
# report on them. It grows more where one report almost reveals the label.

LIKE = "like"
"""The kind of a column that somebody names, on which quantiles have errors in their unit."""

LEAST_BINS = 8
"""Bins that a multiscale wave needs."""


@dataclass(frozen=True)
class QuestionDesign:
    """A design for questions.

    domain: The domain, with bins at the edges that are asked where none were declared.
    components: Components of a :class:`lapwing.MultiscaleWave`. None for the default design.
    reason: The reason, in a sentence or two.
    labels: Randomizer of asked labels. Default: None, the design for all labels.
    """

    domain: Domain
    components: tuple[Wave | OwnCells, ...] | None
    reason: str
    labels: AskedLabels | None = None


def question_design(
    domain: Domain, epsilon: Fraction, questions: Sequence[Question], *, users: int
) -> QuestionDesign:
    """Return the design for questions.

    domain: An interval may have no bins yet.
    users: Number of people who will report.

    Raises ArgumentError when the domain cannot answer a question, or typed bins lack an edge of
    one.
    """
    chosen, sentence = _with_bins(domain, questions, epsilon, _most_cells(epsilon, users))
    for each in questions:
        check_answerable(each, chosen)
    if not domain.ordered:
        return _label_design(domain, epsilon, questions)
    means = any(isinstance(each, Mean) for each in questions)
    points = means and not domain.circular
    curve = any(isinstance(each, Curve | Quantile) for each in questions)
    curve = curve or (means and (domain.circular or epsilon < MEAN_EPSILON))
    cells = any(isinstance(each, Share | Histogram) for each in questions)
    starts = cell_starts(questions, chosen)
    if cells and len(starts) < 2:
        raise ArgumentError(
            f"{questions[0]} has no edge inside the range of the domain. Ask about a value "
            "inside it"
        )
    if chosen.inside_size < LEAST_BINS:
        return QuestionDesign(
            chosen, None, f"With fewer than {LEAST_BINS} bins, each bin is asked about. {sentence}"
        )
    if cells and len(starts) > _most_cells(epsilon, users):
        many = (
            f"The questions have {len(starts)} cells. With this many, the curve answers them "
            "better."
        )
        cells, curve, sentence = False, True, f"{many} {sentence}".rstrip()
    if not (cells or points):
        return QuestionDesign(chosen, None, sentence)
    usual, kept, said = _default(epsilon, chosen), 0.0, []
    if curve and cells and epsilon >= FINE_EPSILON:
        usual, kept = tuple(row for row in usual if row[0] != "wave"), 0.06
        said.append(f"subsets of fine bins for the curve ({kept:.0%} of the people)")
    elif curve:
        kept = 0.3 if cells and epsilon >= 2 else 0.5
        said.append(f"the default mixture for the curve ({kept:.0%} of the people)")
    elif not points and epsilon <= WAVE_EPSILON and len(starts) >= LEAST_BINS:
        usual, kept = tuple(row for row in usual if row[0] == "wave"), 0.1
        said.append(f"the waves of the default mixture ({kept:.0%} of the people)")
    rest = (1 - kept) / (cells + points)
    total = math.fsum(share for *_, share in usual)
    table: list[Wave | OwnCells] = []
    if kept:
        table += [(kind, size, share * kept / total) for kind, size, share in usual]
    if cells:
        made = _cut_further(starts, chosen.size, epsilon) if curve else [starts]
        table += [("cells", each, rest / len(made)) for each in made]
        said.append(f"{len(starts)} cells with the edges asked about ({rest:.0%} of the people)")
        if len(made) > 1:
            said[-1] += f", cut further in {len(made)} ways"
    if points:
        width = math.exp(-epsilon / 3) / 2 / mutual_information_width(epsilon)
        table.append(("wave", round(width, 3), rest))
        said.append(f"one wave for the mean ({rest:.0%} of the people)")
    text = f"multiscale-wave with {' and '.join(said)}."
    if not curve:
        text += " Other questions get much wider intervals. To avoid that, also ask for the curve."
    return QuestionDesign(chosen, tuple(table), f"{text} {sentence}".rstrip())


def _label_design(
    domain: Domain, epsilon: Fraction, questions: Sequence[Question]
) -> QuestionDesign:
    """Return the design for shares of labels: cells of the asked ones where they have less error.

    Missing values are a cell of their own, because shares of labels are of the values present.
    """
    shares = [each for each in questions if isinstance(each, Share)]
    curve = len(shares) < len(questions)
    if (
        not shares
        or domain.name != Categories.name
        or not 2 < domain.size <= (MOST_LABELS if curve else MOST_CELLS)
    ):
        return QuestionDesign(domain, None, "")
    missing = [] if domain.missing_index is None else [domain.missing_index]
    asked = tuple(sorted({*missing, *(symbol_of(each, domain) for each in shares)}))
    said = "As many labels are asked as are answered better together."
    if len(asked) > domain.size - 2:
        return QuestionDesign(domain, None, said)
    made = AskedLabels(domain, epsilon, labels=asked, share=0.5 if curve else 1)
    usual = set_randomizer(domain.size, epsilon, affine=domain.size > BITS)
    mass = guessed_shares(domain.size, asked)
    ours, theirs = (
        asked_noise(each.channel, mass, people=USER_LIMIT).variance()[[*asked]].mean()
        for each in (made, usual)
    )
    if math.sqrt(ours / theirs) > (WITH_ALL if curve else ALONE):
        return QuestionDesign(domain, None, said)
    text = f"{made.name} with {len(asked) + 1} cells, the asked labels and all others together"
    if curve:
        text += ", for half of the people, and all labels for the others."
    else:
        text += (
            ". The shares of the other labels are not estimated separately. To share the people, "
            "ask the curve too."
        )
    return QuestionDesign(domain, None, text, made)


def symbol_of(question: Share, domain: Domain) -> int:
    """Return the number of the label that is asked. Of missing values, their symbol."""
    return int(domain.index([label_of(question.label, domain, name="label")])[0])


def next_design(
    randomizer: Randomizer,
    answer: Distribution,
    questions: Sequence[Question],
    *,
    users: int | None,
) -> MultiscaleWave:
    """Return the randomizer of the next epoch: components for the curve are planned, others stay.

    Parameters
    ----------
    randomizer : Randomizer
        That of the epoch so far.
    answer : Distribution
        Its answer.
    questions : sequence of Question
        Questions of the survey.
    users : int or None
        Number of people who will report next. None for as many as have.

    Raises
    ------
    ArgumentError, DomainError, MismatchError
        As :func:`lapwing.planning.planned_parts.next_randomizer` raises them.
    """
    planned = next_randomizer(randomizer, answer, users=users)
    domain, epsilon = planned.domain, planned.epsilon
    if not questions:
        return planned
    design = question_design(domain, epsilon, questions, users=users or answer.reports)
    if design.components is None:
        return planned
    kept, usual = design.components, _default(epsilon, domain)
    curve = kept[: len(usual)]
    if [row[:2] for row in curve] == [row[:2] for row in usual]:
        part = math.fsum(share for *_, share in curve)
        new: list[Any] = [(*row[:2], row[2] * part) for row in planned.components or usual]
        kept = (*new, *kept[len(usual) :])
    return MultiscaleWave(domain, epsilon, components=kept)


def _cut_further(starts: tuple[int, ...], size: int, epsilon: Fraction) -> list[tuple[int, ...]]:
    """Return the cells that are asked, cut at even places that move from one group to the next.

    Cells near the threshold differ between groups, so together they are a window that slides on
    either side of it. Many cells that are asked stay as they are.
    """
    cells = min(max(2, round(0.55 * math.exp(epsilon / 2))), MANY_CELLS)
    if len(starts) > max(cells, CUTS):
        return [starts]
    groups = FINE_CUTS if epsilon >= FINE_EPSILON else CUTS
    width, near = size / cells, (*starts, size)
    made = []
    for group in range(groups):
        places = [round((cell + group / groups) * width) for cell in range(cells)]
        apart = [one for one in places if min(abs(one - other) for other in near) >= width / 4]
        made.append(tuple(sorted({*starts, *apart})))
    return list(dict.fromkeys(made))


def _default(epsilon: Fraction, domain: Domain) -> tuple[Wave, ...]:
    return fitted(default_mixture(float(epsilon)), domain)


def _most_cells(epsilon: Fraction, users: int) -> int:
    much = epsilon >= 2 or (epsilon >= 1 and users >= MANY_PEOPLE)
    return MANY_CELLS if much else FEW_CELLS


_SAME = 1e-6
"""Part of the width of a bin by which an edge and an asked one may differ to be one."""


def _with_bins(
    domain: Domain, questions: Sequence[Question], epsilon: Fraction, most: int
) -> tuple[Domain, str]:
    """Return an interval with bins at the edges that are asked, where none were declared.

    Few bins are enough for few cells. For a mean they are fine.
    """
    if not isinstance(domain, Interval) or domain.bins is not None:
        return domain, ""
    chosen, sentence = with_bins(domain, FEW_BINS)
    wanted = recommended_bins(epsilon)
    few = all(isinstance(each, Share | Histogram) for each in questions)
    if few and len({edge for each in questions for edge in each.edges(chosen)}) < most:
        wanted = FEW_BINS
    if any(isinstance(each, Mean) for each in questions) and not domain.circular:
        wanted = FINE_MEAN_BINS if epsilon >= FINE_EPSILON else MEAN_BINS
    chosen, sentence = with_bins(domain, wanted)
    cells = math.lcm(
        *(each.bins for each in questions if isinstance(each, Histogram) and each.bins)
    )
    if domain.scale == "log" and 1 < cells <= wanted:  # equal cells of a scale that edges lose
        assert isinstance(chosen, Interval) and chosen.bins is not None
        chosen = replace(chosen, bins=cells * -(-chosen.bins // cells))
        sentence = (
            f"The interval is cut into {chosen.bins:,} bins, a multiple of the number of cells."
        )
    chosen, more = _with_edges(chosen, questions)
    return chosen, f"{sentence} {more}".rstrip()


def _with_edges(domain: Domain, questions: Sequence[Question]) -> tuple[Domain, str]:
    """Return an interval whose chosen bins also have the edges that are asked."""
    assert isinstance(domain, Interval)
    edges = domain.bin_edges
    missing = sorted(
        {edge for each in questions for edge in each.edges(domain)} - {*edges.tolist()}
    )
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
    return made, f"{more} more edges were added for the questions." if more > 0 else ""


# Predicted errors


@one_thread
def predicted_distances(
    randomizer: Randomizer, columns: Mapping[str, Vector], *, users: int
) -> dict[str, dict[str, float]]:
    """Return the expected distances to the respondents, by distance and kind of column."""
    distances: dict[str, dict[str, float]] = {"wasserstein": {}, "kolmogorov_smirnov": {}}
    for kind, mass in columns.items():
        risk = CurveRisk(randomizer.domain, mass)
        information = users * risk.information(randomizer.channel)
        found = risk.errors(information, risk.prior(information), people=users)
        for distance, error in zip(distances, found, strict=True):
            distances[distance][kind] = error
    return distances


@one_thread
def question_errors(
    randomizer: Randomizer,
    questions: Sequence[Question],
    columns: Mapping[str, Vector],
    *,
    users: int,
) -> dict[str, dict[str, float]]:
    """Return the expected error of each question, by its string form and kind of column.

    Near a column the posterior is Gaussian, and each question but a quantile is a sum of masses. So
    its error is known without decoding anything. With asked labels, the error of the curve is the
    root of the mean over all labels.

    randomizer: On an ordered domain, or of asked labels.
    columns: Masses, float64 [domain.size], by kind.

    returns: Root mean square errors, in the unit of :class:`lapwing.planning.ExpectedError`.
    """
    squares = _label_squares if isinstance(randomizer, AskedLabels) else _curve_squares
    errors: dict[str, dict[str, float]] = {str(each): {} for each in questions}
    for kind, mass in columns.items():
        found = squares(randomizer, questions, mass, users, in_units=kind == LIKE)
        for each, square in zip(questions, found, strict=True):
            errors[str(each)][kind] = float(np.sqrt(np.mean(square)))
    return errors


def _label_squares(
    randomizer: Randomizer, questions: Sequence[Question], mass: Vector, users: int, **_: Any
) -> Iterator[Vector]:
    """Yield the squared errors of the labels that each question is about."""
    variance = np.minimum(asked_noise(randomizer.channel, mass, people=users).variance(), 1.0)
    for each in questions:
        yield variance[symbol_of(each, randomizer.domain) if isinstance(each, Share) else ...]


def _curve_squares(
    randomizer: Randomizer,
    questions: Sequence[Question],
    mass: Vector,
    users: int,
    *,
    in_units: bool,
) -> Iterator[Vector]:
    """Yield the squared errors of each question.

    in_units: Whether those of quantiles are in the unit of the domain. Else they are ranks.
    """
    domain = randomizer.domain
    risk = CurveRisk(domain, mass, starts=cell_starts(questions, domain))
    information = users * risk.information(randomizer.channel)
    prior = risk.prior(information)
    for each in questions:
        rows = _weights(each, domain, mass)
        found = risk.linear_errors(information, prior, rows, people=users)
        if isinstance(each, Quantile) and in_units:
            found = _in_units(each.probabilities, found, domain, mass)
        yield found**2


def _in_units(
    probabilities: Sequence[float], ranks: Vector, domain: Domain, mass: Vector
) -> Vector:
    """Return by how much quantiles of a column move when their ranks move: half of both ways."""
    held = domain.left.size
    below = np.append(0.0, np.cumsum(mass[:held]) / mass[:held].sum())
    edges = np.append(domain.left[0], domain.right)
    ends = [np.interp(probabilities + side * ranks, below, edges) for side in (-1, 1)]
    moved: Vector = (ends[1] - ends[0]) / 2
    return moved


def _weights(question: Question, domain: Domain, mass: Vector) -> Matrix:
    """Return weights of the symbols on a column, a row for each number of a question."""
    size = domain.size
    if isinstance(question, Share) and question.label is not None:
        return np.eye(size)[[symbol_of(question, domain)]]
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
