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
from lapwing.protocol.domains.ranges import held_values, to_values
from lapwing.protocol.domains.segmented import Segmented, segment_text
from lapwing.questions import Histogram, Mean, Quantile, Question, Share, label_of, read
from lapwing.results.asked_numbers import AskedNumbers, range_symbols, within
from lapwing.results.counted import counted_word, whom
from lapwing.results.intervals import Ends, answering, ends_of_share, functional, mean_ends
from lapwing.results.question_answers import WIDE, Answer
from lapwing.results.question_release import QuestionPart, QuestionRelease
from lapwing.results.uncertainty import Target, check_level, normal_critical_value

FEW = 100
"""People times epsilon from which on a quantile has a point."""

LEVEL = 0.95
"""The level of the intervals of quantiles, which their draw fixes."""

_FINE_SCALE = 64
"""A larger scale of noise is computed on a coarser grid, with straight pieces between."""

_FINENESS = 1e-4
"""Part of the distance between a point and an end of its interval up to which the end is known."""

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
    curve: Any = None,
) -> Answer:
    """Return the answer of a release to one of its questions.

    segment: One of the segments, for a release by segment. None there means rows in none.
    curve: Distribution that was decoded from the curve of the release. Shares and means are then
        weighted means of both estimates, by their variances.

    Raises ArgumentError when the question was not asked, and for intervals that there are not.
    """
    asked: Question = read(question)
    part = part_for(release, asked)
    if part is None:
        said = ", ".join(f"'{each}'" for each in release.questions)
        raise ArgumentError(f"this release does not answer '{asked}'. It answers {said}")
    if target != "empirical" and (
        not isinstance(part.question, Share | Histogram) or release.promise.unit is not None
    ):
        raise ArgumentError(
            "target",
            "must be 'empirical' for a mean, for drawn quantiles and for several rows per person. "
            "Such a release does not show the sampling error. Ask for the curve, and use "
            "made.distribution.answer(...)",
        )
    check_level(level)
    numbers = AskedNumbers(part.question, release.domain, release.promise)
    mine = part.answers.reshape(numbers.segments, -1)[_row(release, segment)]
    if isinstance(asked, Quantile) and isinstance(part.question, Quantile):
        pairs = _quantiles(release, part, numbers, mine, level)
        together = dict(zip(part.question.probabilities, pairs, strict=True))
        rows = [together[each] for each in asked.probabilities]
    else:
        rows = _sums(release, part, numbers, mine, level, curve, target)
    note = None
    if any(row[0] is None for row in rows):
        note = f"too few {counted_word(release.guarantee)} for this privacy budget"
    value, low, high = (_joined(column, asked) for column in zip(*rows, strict=True))
    about = whom(target, release.guarantee)
    return Answer(asked, value, low, high, level, target, about, note)


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
    release: QuestionRelease,
    part: QuestionPart,
    numbers: AskedNumbers,
    mine: Any,
    level: float,
    curve: Any,
    target: Target,
) -> list[_Entry]:
    """Return shares, or a mean, with their intervals."""
    domain, sites = within(release.domain), len(release.identifiers)
    shares = _shares(numbers, mine, release.people, part.noise, sites, 1 - level)
    readings = [] if curve is None else _readings(numbers, curve)
    if readings:
        shares = [_both(*each, level) for each in zip(shares, readings, strict=True)]
    if target == "population":
        people = sum(map(int, mine)) / numbers.top
        if numbers.public:
            people = (release.people or 0) - max(0, int(mine[-1])) / numbers.top
        shares = [_of_sample(share, max(1.0, people), level) for share in shares]
    if not isinstance(numbers.question, Mean):
        return [_unless_wide(share, 1.0) for share in shares]
    (share,) = shares
    length, half = domain.high - domain.low, 0.5 / numbers.steps
    half = 0.0 if domain.name == "integers" else half
    value, low, high = share
    ends = [domain.low + length * each for each in (value, max(0, low - half), min(1, high + half))]
    value, low, high = _unless_wide((ends[0], ends[1], ends[2]), length)
    return [_in_units((value, low, high), domain)]


def _readings(numbers: AskedNumbers, curve: Any) -> list[Ends]:
    """Return each share as the curve knows it. Empty where its bins have other edges."""
    asked, domain = numbers.question, within(numbers.domain)
    law = answering(curve._present_uncertainty, "empirical")
    if law is None:
        return []
    if isinstance(asked, Mean):
        length = domain.high - domain.low
        left, right = ((ends - domain.low) / length for ends in held_values(domain))
        return [mean_ends(law, left, right)]
    if isinstance(asked, Share) and asked.label is not None:
        label = label_of(asked.label, domain, name="label")
        missing = int(domain.index_or_missing([label])[0]) == domain.missing_index
        ends = ends_of_share(curve, label, "empirical", "all" if missing else "present")
        return [] if ends is None else [ends]
    try:
        ranges = range_symbols(asked, domain)  # type: ignore[arg-type]
    except ArgumentError:
        return []
    found = []
    for spans in ranges[: numbers.cells]:
        weights = np.zeros(law.center.size)
        for start, stop in spans:
            weights[start:stop] = 1.0
        reading = functional(law, weights)
        found.append(Ends(reading, reading))
    return found


def _both(share: _Entry, ends: Ends, level: float) -> tuple[float, float, float]:
    """Return the mean of two independent estimates of a share, weighted by their variances.

    The distance between the ends of the curve's estimate is a bias, and counts in full.
    """
    value, low, high = share
    mine, theirs = max(value - low, high - value), ends.low.reach(level)
    bias = abs(ends.high.value - ends.low.value) / 2
    whole = mine**2 + theirs**2 + bias**2
    weight = mine**2 / whole if whole else 0.0
    reach = math.hypot((1 - weight) * mine, weight * theirs) + weight * bias
    if reach >= mine:
        return share
    point = (1 - weight) * value + weight * (ends.low.value + ends.high.value) / 2
    point = min(1.0, max(0.0, point))
    return point, max(0.0, point - reach), min(1.0, point + reach)


def _of_sample(entry: _Entry, people: float, level: float) -> tuple[float, float, float]:
    """Return a share with an interval about those whom the people were drawn from.

    The sampling error is the largest of a share in the interval.
    """
    value, low, high = entry
    largest = min(max(low, 0.5), high)
    sampling = normal_critical_value(level) * math.sqrt(largest * (1 - largest) / people)
    least, most = value - math.hypot(value - low, sampling), math.hypot(high - value, sampling)
    return value, max(0.0, least), min(1.0, value + most)


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
    # Noise below nobody, or above all, is no reason to be the surer of nobody, or of all.
    sums = [min(max(0, sum_of), max(0, total)) for sum_of in cells]
    return [
        (point, *_interval(sum_of, total, weights, noise, noises, missed, point))
        for sum_of, point in zip(sums, points, strict=True)
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
        while abs(outside - inside) > max(_FINENESS * abs(outside - point), 2.0**-44):
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
    """Return the chosen point, and the interval between the chosen ends, of each probability."""
    if level != LEVEL:
        raise ArgumentError(
            "level",
            f"must be {LEVEL} for quantiles, because it was fixed when they were drawn",
            str(level),
        )
    domain = within(release.domain)
    length = float(domain.high - domain.low)
    people = (release.people or 0) if numbers.public else int(mine[0])
    few = people * float(part.noise.loss(numbers.sensitivity).epsilon) < FEW
    first, last = held_values(domain)
    rows = []
    for (start, stop, _), point in zip(
        bins_of(numbers, mine), chosen_points(numbers, mine), strict=True
    ):
        low, high = float(first[start]), float(last[stop])
        value = None if few or high - low >= WIDE * length else point
        below, above = start == domain.below_index, stop == domain.above_index
        ends = -math.inf if below else low, math.inf if above else high
        rows.append(_in_units((value, *ends), domain))
    return rows


def bins_of(numbers: AskedNumbers, mine: Any) -> Any:
    """Return the low end, the high end and the point of each quantile, as bins: int64 [.., 3]."""
    return mine[numbers.noises :].reshape(-1, 3)


def chosen_points(numbers: AskedNumbers, mine: Any) -> list[float]:
    """Return the middle of the bin that is the point of each quantile."""
    domain = within(numbers.domain)
    first, last = held_values(domain)
    middles = [float(first[place] / 2 + last[place] / 2) for *_, place in bins_of(numbers, mine)]
    return [math.floor(each) if domain.whole else each for each in middles]
