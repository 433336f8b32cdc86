"""The choice for labels: the randomizer of the least variance within limits, and its errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector
from lapwing.planning.expected_error import USER_LIMIT, ErrorByKind
from lapwing.planning.label_costs import Option, options
from lapwing.planning.label_errors import (
    LABEL_LIMIT,
    detectable_share,
    populations,
    predicted_errors,
)
from lapwing.privacy.exact_numbers import ExactNumber, exact_epsilon
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.tally import CountTally
from lapwing.protocol.randomizer import Randomizer
from lapwing.randomizers.categorical.randomized_response import RandomizedResponse
from lapwing.randomizers.categorical.subset_selection import SubsetSelection, optimal_size

DISTANCES = ("l1", "mean_squared_error", "detectable_share")

SAME = 1.01
"""Deviations within this factor are as good as equal, and the cheaper one is taken."""

SMALL_REPORT = 128
"""Reports up to so many bytes count as equally cheap."""


@dataclass(frozen=True)
class CategoricalChoice:
    """A randomizer of labels, for how many people, and what is expected of it.

    Parameters
    ----------
    randomizer : Randomizer
    users : int
    expected : dict of str to ErrorByKind
        By distance: ``"l1"`` and ``"mean_squared_error"`` of the recommended decoder on each of
        the populations (up to 2^18 labels), and the ``"detectable_share"``.
    reason : str
    """

    randomizer: Randomizer
    users: int
    expected: dict[str, ErrorByKind]
    reason: str


def least_variance(domain: Domain, epsilon: ExactNumber) -> Randomizer[CountTally]:
    """Return subset selection of the best size, or randomized response where that is one."""
    if optimal_size(domain.size, exact_epsilon(epsilon)) == 1:
        return RandomizedResponse(domain, epsilon)
    return SubsetSelection(domain, epsilon)


def categorical_choice(
    domain: Domain,
    epsilon: ExactNumber,
    *,
    users: int | None,
    error: float | None,
    distance: str | None,
    report_bytes: int | None = None,
    server_seconds: float | None = None,
    like: Vector | None = None,
) -> CategoricalChoice:
    """Return the choice for a domain without an order; see :func:`lapwing.recommend`.

    Parameters
    ----------
    domain, epsilon, users, error, distance
        As there.
    report_bytes : int, optional
        The most bytes that a report may have.
    server_seconds : float, optional
        The most CPU seconds that tally and decode may take, by a rough model.
    like : numpy.ndarray, optional
        float64 [size]: predict the errors on this population instead of the built-in ones.

    Notes
    -----
    The error of every decoder falls with the deviation of the unbiased shares, so that is what is
    minimized. Within 1 % the cheaper one is taken: fewer report bytes, of which up to 128 count as
    equal, then less work for the server.
    """
    size = domain.size
    if distance is None:
        distance = "l1" if size <= LABEL_LIMIT else "detectable_share"
    if distance not in DISTANCES:
        raise ArgumentError(
            f"the distance of labels must be one of {', '.join(DISTANCES)}, got {distance!r}"
        )
    if size > LABEL_LIMIT and distance != "detectable_share":
        raise ArgumentError(
            f"above {LABEL_LIMIT} labels only the smallest detectable share is predicted, of "
            f"{size} no whole distribution; leave the distance out"
        )
    _check_limit(report_bytes, name="report_bytes", least=1)
    _check_limit(server_seconds, name="server_seconds", least=0)
    laws = {"like": like} if like is not None else populations(size) if size <= LABEL_LIMIT else {}
    target = distance

    def expected(option: Option, people: int) -> dict[str, ErrorByKind]:
        found = predicted_errors(option, people, laws=laws) if laws else {}
        share = detectable_share(option, people)
        return {**found, "detectable_share": ErrorByKind({"any value": min(share, 1.0)})}

    def error_of(option: Option, people: int) -> float:
        if target == "detectable_share":
            return detectable_share(option, people)
        return expected(option, people)[target].typical

    every = options(domain, epsilon)
    short = [o for o in every if report_bytes is None or o.report_bytes <= report_bytes]
    if not short:
        least = min(option.report_bytes for option in every)
        raise ArgumentError(
            f"no randomizer of {size} labels has reports of {report_bytes} bytes; the shortest has "
            f"{least}"
        )
    people = USER_LIMIT if users is None else int(users)
    if users is None:
        assert error is not None
        # The choice hardly depends on the people; where the server is limited it is made again.
        people = _needed(lambda n: error_of(_cheapest(short, n), n), error)
    fast = [
        option
        for option in short
        if server_seconds is None or option.server_seconds(people) <= server_seconds
    ]
    if not fast:
        least_time = min(option.server_seconds(people) for option in short)
        raise ArgumentError(
            f"no randomizer of {size} labels is tallied and decoded in {server_seconds:g} CPU "
            f"seconds for {people} people; the fastest takes about {least_time:.2g}"
        )
    chosen = _cheapest(fast, people)
    if users is None and error is not None and fast != short:
        people = _needed(lambda n: error_of(chosen, n), error)
    return CategoricalChoice(
        chosen.randomizer, people, expected(chosen, people), _reason(chosen, fast, every, people)
    )


def _cheapest(found: list[Option], users: int) -> Option:
    best = min(option.deviation(users) for option in found)
    equal = [option for option in found if option.deviation(users) <= SAME * best]
    return min(
        equal,
        key=lambda option: (max(option.report_bytes, SMALL_REPORT), option.server_seconds(users)),
    )


def _needed(error_of: Callable[[int], float], target: float) -> int:
    """Return the fewest people, to about 1 %, whose error is at most the target."""
    if error_of(USER_LIMIT) > target:
        raise ArgumentError(
            f"no number of people up to {USER_LIMIT} reaches an error of {target:g}; the least "
            f"that is predicted here is {error_of(USER_LIMIT):.2g}"
        )
    low, high = 1, USER_LIMIT
    if error_of(low) <= target:
        return low
    guess = 10**6
    while high > low + 1 and high > 1.01 * low:
        if not low < guess < high:
            guess = max(low + 1, round(math.sqrt(low * high)))
        found = error_of(guess)
        low, high = (low, guess) if found <= target else (guess, high)
        # Errors fall about as the root of the people; half a per cent more brackets the answer.
        step = (found / target) ** 2 * (1 / 1.005 if found <= target else 1.005)
        guess = round(min(guess * step, USER_LIMIT))
    return high


def _reason(chosen: Option, fast: list[Option], every: list[Option], users: int) -> str:
    others = sorted(
        (option.deviation(users) / chosen.deviation(users), option.randomizer.name)
        for option in fast
        if option is not chosen
    )
    text = (
        f"{chosen.randomizer.name}: an unbiased share has a standard deviation of "
        f"{chosen.deviation(users):.3g} over the root of the people, in {chosen.report_bytes} byte"
        f"{'s' if chosen.report_bytes != 1 else ''}"
    )
    if others:
        listed = ", ".join(f"{ratio:.2f} times as much in {name}" for ratio, name in others)
        text += f"; {listed}"
    if len(fast) < len(every):
        text += f"; {len(every) - len(fast)} of {len(every)} exceed the limits"
    return text + "."


def _check_limit(limit: Any, *, name: str, least: float) -> None:
    if limit is None:
        return
    number = isinstance(limit, int | float | np.number) and not isinstance(limit, bool)
    if not number or not least <= limit < math.inf:
        raise ArgumentError(f"{name} must be a number of at least {least}, got {limit!r}")
