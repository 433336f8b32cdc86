"""Answers of a release to its questions, each with an exact interval about the people in the data.

A share ``x`` is where a linear statistic of two noisy numbers is zero: ``a X + b Y`` of two noises
with known weights. The interval holds each ``x`` at which these noises explain the distance of the
statistic from zero (Fieller, 1954). So no approximate division takes part.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector
from lapwing.linear.memoized import memoized
from lapwing.privacy.integer_noise import Noise
from lapwing.protocol.domains.domain_answers import to_values
from lapwing.protocol.domains.ranges import held_values
from lapwing.protocol.domains.segmented import Segmented, segment_text
from lapwing.questions import Histogram, Mean, Quantile, Question, read
from lapwing.results.asked_numbers import AskedNumbers, within
from lapwing.results.band import Target
from lapwing.results.counted import counted_word, whom
from lapwing.results.question_answers import WIDE, Answer
from lapwing.results.question_release import QuestionPart, QuestionRelease, share_of

FEW = 100
"""People times epsilon from which on a quantile has a point."""

LEVEL = 0.95
"""The level of the intervals of quantiles, which their two draws fix."""

_FINE_SCALE = 64
"""A larger scale of noise is computed on a coarser grid, with straight pieces between."""

_HALVINGS = 40

_NOBODY = math.log(50)
"""Scales of the noise up to which a number of missing values is taken as none: 99% of noises."""

_Entry = tuple[Any, Any, Any]
"""A point and the ends of its interval."""


def answer_released(
    release: QuestionRelease,
    question: Any,
    *,
    segment: str | int | None = None,
    level: float = LEVEL,
    target: Target = "empirical",
) -> Answer:
    """Return the answer of a release to one of its questions.

    segment: One of the segments, for a release by segment. None there means rows in none.

    Raises ArgumentError when the question was not asked, and for intervals that there are not.
    """
    asked: Question = read(question)
    part = part_for(release, asked)
    if part is None:
        said = ", ".join(f"'{each}'" for each in release.questions)
        raise ArgumentError(f"this release does not answer '{asked}'. It answers {said}")
    if target != "empirical":
        raise ArgumentError(
            "target", "must be 'empirical': the intervals of a release of answers are about data"
        )
    if not 0 < level < 1:
        raise ArgumentError("level", "must be between 0 and 1", repr(level))
    numbers = AskedNumbers(part.question, release.domain, release.promise)
    mine = part.answers.reshape(numbers.segments, -1)[_row(release, segment)]
    if isinstance(asked, Quantile) and isinstance(part.question, Quantile):
        pairs = _quantiles(release, part, numbers, mine, level)
        together = dict(zip(part.question.probabilities, pairs, strict=True))
        rows = [together[each] for each in asked.probabilities]
    else:
        rows = _sums(release, part, numbers, mine, level)
    note = None
    if any(row[0] is None for row in rows):
        note = f"too few {counted_word(release.guarantee)} for this privacy budget"
    value, low, high = (_joined(column, asked) for column in zip(*rows, strict=True))
    about = whom("empirical", release.guarantee)
    return Answer(asked, value, low, high, level, "empirical", about, note)


def part_for(release: QuestionRelease, asked: Question) -> QuestionPart | None:
    """Return the part that answers a question: its own, or quantiles that it is some of."""

    def holds(whole: Question) -> bool:
        if isinstance(whole, Quantile) and isinstance(asked, Quantile):
            return {*asked.probabilities} <= {*whole.probabilities}
        return whole == asked

    fitting = [part for part in release.parts if holds(part.question)]
    return min(fitting, key=lambda part: part.question != asked, default=None)


def _row(release: QuestionRelease, segment: str | int | None) -> int:
    domain = release.domain
    if not isinstance(domain, Segmented):
        if segment is not None:
            raise ArgumentError("segment", "must be left out: this release has no segments")
        return 0
    if segment is None:
        return domain.segmentation.size - 1
    names = {segment_text(each): place for place, each in enumerate(domain.segmentation.listed)}
    if str(segment) not in names:
        raise ArgumentError("segment", f"must be one of {', '.join(names)}")
    return names[str(segment)]


def _joined(column: tuple[Any, ...], asked: Question) -> Any:
    if not isinstance(asked, Histogram) and len(column) == 1:
        return column[0]
    if all(each is None or isinstance(each, float) for each in column):
        return np.array([math.nan if each is None else each for each in column])
    return np.array(column, dtype=object)


def _sums(
    release: QuestionRelease, part: QuestionPart, numbers: AskedNumbers, mine: Any, level: float
) -> list[_Entry]:
    """Return shares, or a mean, with their intervals."""
    domain, sites = within(release.domain), len(release.identifiers)
    shares = _shares(numbers, mine, release.people, part.noise, sites, 1 - level)
    if not isinstance(numbers.question, Mean):
        return [_unless_wide(share, 1.0) for share in shares]
    (share,) = shares
    length, half = domain.high - domain.low, 0.5 / numbers.steps
    half = 0.0 if domain.name == "integers" else half
    value, low, high = share
    ends = [domain.low + length * each for each in (value, max(0, low - half), min(1, high + half))]
    value, low, high = _unless_wide((ends[0], ends[1], ends[2]), length)
    return [_in_units((value, low, high), domain)]


def _unless_wide(entry: _Entry, length: float) -> _Entry:
    value, low, high = entry
    return (None if high - low >= WIDE * length else value, low, high)


def _in_units(entry: _Entry, domain: Any) -> _Entry:
    found = [None if each is None else to_values(each, domain) for each in entry]
    one, low, high = (each.item() if isinstance(each, np.floating) else each for each in found)
    return one, low, high


def share_points(
    numbers: AskedNumbers, mine: Any, people: int | None, noise: Noise | None, *, sites: int = 1
) -> list[float]:
    """Return the share of each cell, or the weighted share of one, between 0 and 1.

    noise: None for exact numbers.
    """
    given, top = [int(each) for each in mine], numbers.top
    cells, total = given[:1], sum(given)
    if numbers.public:
        # A number of missing values that noise explains is none.
        beyond = 0.0 if noise is None else _NOBODY * math.sqrt(sites) * float(noise.scale)
        total = (people or 0) * top - (given[-1] if given[-1] > beyond else 0)
    if isinstance(numbers.question, Histogram):
        cells = given[: numbers.cells]
    elif numbers.public:
        cells, total = [given[0] + total], 2 * total  # the signed sum, and half of the whole
    return [min(1.0, max(0.0, each / max(1, total))) for each in cells]


def _shares(
    numbers: AskedNumbers, mine: Any, people: int | None, noise: Noise, sites: int, missed: float
) -> list[tuple[float, float, float]]:
    """Return each share with its interval."""
    given, noises = [int(each) for each in mine], (sites, sites)
    histogram = isinstance(numbers.question, Histogram)
    cells, total = given[: numbers.cells if histogram else 1], sum(given)
    if numbers.public:
        total = (people or 0) * numbers.top - given[-1]
    elif histogram:
        noises = (sites, sites * max(1, len(given) - 1))
    if numbers.public and not histogram:
        cells, total = [given[0] + total], 2 * total

    def weights(x: float) -> tuple[float, float]:
        if not numbers.public:
            return 1 - x, x
        return 1.0, x if histogram else abs(2 * x - 1)

    points = share_points(numbers, given, people, noise, sites=sites)
    return [
        (point, *_interval(sum_of, total, weights, noise, noises, missed, point))
        for sum_of, point in zip(cells, points, strict=True)
    ]


def _interval(
    sum_of: int,
    total: int,
    weights: Callable[[float], tuple[float, float]],
    noise: Noise,
    copies: tuple[int, int],
    missed: float,
    point: float,
) -> tuple[float, float]:
    """Return the ends of the shares x with ``sum - x total`` within the noise of its weights."""

    def fits(x: float) -> bool:
        return noise_beyond(noise, copies, weights(x), abs(sum_of - x * total)) >= missed

    ends = []
    for end in (0.0, 1.0):
        inside, outside = point, end
        if fits(end):
            ends.append(end)
            continue
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if fits(middle) else (inside, middle)
        ends.append(outside)
    return ends[0], ends[1]


def noise_beyond(
    noise: Noise, copies: tuple[int, int], weights: tuple[float, float], distance: float
) -> float:
    """Return the probability that weighted sums of noise are at least so far from zero.

    copies: Number of independent noises in each of the two sums.
    """
    one, other = weights
    if noise.kind != "laplace":
        variance = noise.variance * (one**2 * copies[0] + other**2 * copies[1])
        if not variance:
            return float(distance == 0)
        return math.erfc(distance / math.sqrt(2 * variance))
    if one < other:
        one, other, copies = other, one, (copies[1], copies[0])
    step = max(1, math.ceil(noise.scale / _FINE_SCALE))
    places, masses = _sum_masses(float(noise.scale) / step, copies[1])
    shifts = other * places
    beyond = [
        _upper(float(noise.scale) / step, copies[0], (distance / step + sign * shifts) / one, step)
        for sign in (-1, 1)
    ]
    return min(1.0, float(masses @ (beyond[0] + beyond[1])))


@memoized(most=64)
def _sum_masses(scale: float, copies: int) -> tuple[Vector, Vector]:
    """Return whole numbers, and the probability that a sum of discrete Laplace noises is each."""
    reach = math.ceil(scale * (32 + 6 * math.sqrt(2 * copies))) + 1
    places = np.arange(-reach, reach + 1, dtype=np.float64)
    one = math.tanh(0.5 / scale) * np.exp(-np.abs(places) / scale)
    if copies == 1:
        return places, one
    from scipy.fft import next_fast_len  # not needed to import lapwing

    size = next_fast_len(2 * places.size)
    around = np.roll(np.append(one, np.zeros(size - one.size)), -reach)
    masses = np.fft.irfft(np.fft.rfft(around).real ** copies, size)
    return places, np.maximum(0.0, np.roll(masses, reach)[: places.size])


@memoized(most=64)
def _tails(scale: float, copies: int) -> Vector:
    """Return the probability that a sum is each number or above."""
    tails: Vector = np.cumsum(_sum_masses(scale, copies)[1][::-1])[::-1]
    return tails


def _upper(scale: float, copies: int, ends: Vector, step: int) -> Vector:
    """Return the probability that a sum of noises is at least each end."""
    places, tails = _sum_masses(scale, copies)[0], _tails(scale, copies)
    if step > 1:  # a number of the grid stands for those around it
        near: Vector = np.interp(ends, places - 0.5, tails, left=1.0, right=0.0)
        return near
    first = np.ceil(ends - 1e-9) - places[0]
    inside = np.clip(first, 0, tails.size - 1).astype(np.int64)
    found: Vector = np.where(first < tails.size, tails[inside], 0.0)
    return found


def _quantiles(
    release: QuestionRelease, part: QuestionPart, numbers: AskedNumbers, mine: Any, level: float
) -> list[_Entry]:
    """Return the middle between two draws, which are the interval, for each probability."""
    if level != LEVEL:
        raise ArgumentError(
            "level", f"must be {LEVEL} for quantiles, because their two draws fix it", str(level)
        )
    domain = within(release.domain)
    length = float(domain.high - domain.low)
    epsilon = float(pure_share(release, part))
    people = (release.people or 0) if numbers.public else None
    few = people is not None and people * epsilon < FEW
    reached = np.sort(mine.reshape(-1, 2), axis=1)
    for pair, (from_first, to_last) in zip(
        reached, numbers.open_ends(people, part.noise.scale), strict=True
    ):
        pair[0] = 0 if from_first else pair[0]
        pair[1] = domain.left.size - 1 if to_last else pair[1]
    middles = [middle for _, middle, _ in chosen_places(domain, mine)]
    rows = []
    for (start, stop), middle, (low, _, high) in zip(
        reached, middles, chosen_places(domain, reached), strict=True
    ):
        value = None if few or high - low >= WIDE * length else middle
        below, above = start == domain.below_index, stop == domain.above_index
        ends = -math.inf if below else low, math.inf if above else high
        rows.append(_in_units((value, *ends), domain))
    return rows


def chosen_places(domain: Any, mine: Any) -> list[tuple[float, float, float]]:
    """Return the low end, the middle and the high end of each pair of chosen bins."""
    first, last = held_values(domain)
    found = []
    for start, stop in np.sort(mine.reshape(-1, 2), axis=1):
        low, high = float(first[start]), float(last[stop])
        middle = (low + high) / 2
        found.append((low, math.floor(middle) if domain.whole else middle, high))
    return found


def pure_share(release: QuestionRelease, part: QuestionPart) -> Any:
    """Return the epsilon that a part costs, for its share of the budget."""
    numbers = AskedNumbers(part.question, release.domain, release.promise)
    promise = share_of(release.promise, part.share)
    return part.noise.loss(numbers.sensitivity).epsilon or promise.epsilon or 0
