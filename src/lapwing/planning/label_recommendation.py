"""The choice for labels: the randomizer of the least variance within limits, and its errors.

A randomizer of labels costs noise of a share, bytes of a report and time of the server. Errors of
decoded shares are predicted on an even, a Zipf and a sparse population.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from lapwing.decoders.empirical_bayes.mixture_prior import shrunk
from lapwing.decoders.logs.exhaustive_scan import TILE_BITS
from lapwing.decoders.unbiased.linear_estimate import UnbiasedShares
from lapwing.errors import ArgumentError, DomainError
from lapwing.linear.arrays import Matrix, Vector
from lapwing.linear.projections import simplex
from lapwing.planning.defaults import FEW, decoder_without_band
from lapwing.planning.expected_error import USER_LIMIT, ErrorByKind
from lapwing.planning.simulation import simulate
from lapwing.privacy.exact_numbers import ExactNumber, exact_epsilon
from lapwing.protocol.channels.hashed_channel import LISTED
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.tally import CountTally
from lapwing.protocol.randomizer import Randomizer
from lapwing.randomizers.categorical.compressive_privatization import CompressivePrivatization
from lapwing.randomizers.categorical.hadamard_response import HadamardResponse
from lapwing.randomizers.categorical.linear_hashing import LinearHashing
from lapwing.randomizers.categorical.randomized_response import RandomizedResponse
from lapwing.randomizers.categorical.subset_selection import (
    LARGEST_REPORT,
    SubsetSelection,
    optimal_size,
)
from lapwing.randomizers.two_level import LARGEST_TABLE

ONE_BYTE = 256
"""Outputs of compressive privatization, which is an option where nothing else fits in a byte."""

COMPRESSED = 2**14
"""Most labels that are compressed: their decoder takes as long as labels and outputs multiplied."""


@dataclass(frozen=True)
class Option:
    """A randomizer of labels with its costs.

    randomizer: The randomizer.
    empty: Variance of an unbiased share of zero, times the people.
    slope: Variance that a share of one adds.
    fixed_total: Whether the unbiased shares always sum to one.
    seconds: Approximate CPU seconds of a server, for each report and once. They are rough
        measurements of this version on one machine. A third or three times that is possible.
    crosstalk: Variance of a share that the other labels add, however many people report, where
        reports have fewer outputs than labels. It is that of a Zipf distribution. Default: 0.
    """

    randomizer: Randomizer
    empty: float
    slope: float
    fixed_total: bool
    seconds: tuple[float, float]
    crosstalk: float = 0.0

    def deviation(self, users: int) -> float:
        """Return the standard deviation of a share of zero, times the root of the people."""
        return math.sqrt(self.empty + users * self.crosstalk)

    @property
    def report_bytes(self) -> int:
        """Bytes of a report."""
        return self.randomizer.report_width

    def server_seconds(self, users: int) -> float:
        """Return about how long a server tallies and decodes, CPU seconds."""
        each, once = self.seconds
        return each * users + once


def options(domain: Domain, epsilon: Any) -> list[Option]:
    """Return the options of a domain, as far as it is not too large for them."""
    size = domain.size
    found = []
    if size <= LARGEST_TABLE:
        found.append(option_of(RandomizedResponse(domain, epsilon)))
    if 2 < size <= LARGEST_REPORT and optimal_size(size, epsilon) > 1:
        found.append(option_of(SubsetSelection(domain, epsilon)))
    if size <= LARGEST_TABLE // 2:
        # Some have more outputs than can be counted.
        with suppress(DomainError):
            found.append(_hadamard_response(HadamardResponse(domain, epsilon)))
    if ONE_BYTE < size <= COMPRESSED:
        found.append(_compressed(CompressivePrivatization(domain, epsilon, outputs=ONE_BYTE)))
    if size > 2:
        found.append(_linear_hashing(LinearHashing(domain, epsilon)))
    return found


def option_of(made: Randomizer) -> Option:
    """Return the option of randomized response or subset selection."""
    noise = _pure(*_operator(made).compound)
    each = 1e-8 if made.name == RandomizedResponse.name else 6e-10 * made.report_width
    return Option(made, *noise, fixed_total=True, seconds=(each, _decoding(made)))


def _hadamard_response(made: HadamardResponse) -> Option:
    codes = _operator(made)
    # A share of 1 / blocks of the reports names a block when all are equally popular.
    empty = 1 / (codes.blocks * codes.gain**2)
    once = 4e-7 * made.domain.size + _decoding(made)
    return Option(made, empty, -1.0, fixed_total=False, seconds=(1e-8, once))


def _linear_hashing(made: LinearHashing) -> Option:
    size, points = made.domain.size, 2**made.log_channel.hash.hash_bits - 1
    noise = _pure(made.log_channel.inside, made.log_channel.outside)
    if size <= LISTED:
        seconds = 5e-8 + 6e-9 * points, _decoding(made)
    else:
        tiles = -(-size >> TILE_BITS)
        seconds = 5e-8 + (5e-8 + tiles * 1.3e-9) * points, tiles * 0.012
    return Option(made, *noise, fixed_total=False, seconds=seconds)


def _compressed(made: CompressivePrivatization) -> Option:
    size = made.domain.size
    near, _ = made.balance
    odds = made.certificate().ratio * near / (made.outputs - near)
    noise = _pure(float(odds / (1 + odds)), near / made.outputs)
    zipf = 1 / np.arange(1, size + 1)
    squares = float((zipf**2).sum() / zipf.sum() ** 2)
    once = 0.02 + 3e-8 * size * made.outputs
    return Option(
        made, *noise, fixed_total=True, seconds=(1e-8, once), crosstalk=squares / (made.outputs - 1)
    )


def _operator(made: Randomizer) -> Any:
    """Return the matrix of a randomizer with one block."""
    return made.channel.blocks[0].operator


def _decoding(made: Randomizer) -> float:
    """Return about how long the counts of a domain are decoded, CPU seconds."""
    return 0.02 + 2e-7 * min(made.domain.size, LISTED)


def _pure(own: float, other: float) -> tuple[float, float]:
    """Return variance and slope when a value supports itself and others so often."""
    gap = own - other
    return other * (1 - other) / gap**2, (1 - own - other) / gap


LABEL_LIMIT = 2**18
"""Labels up to which errors of a whole distribution are predicted."""

FOUND = 0.95
"""Probability with which a share of the smallest detectable size is listed."""

ALPHA = 0.05

_ITERATIONS = 100

_SIMULATED = 2**15
"""Labels of all simulations of compressed reports, whose decoder takes long."""


def populations(size: int) -> Mapping[str, Vector]:
    """Return the shares of the populations that errors are predicted on: float64 [size] each."""
    few = min(10, -(-size // 4))
    return {
        "even": np.full(size, 1 / size),
        "zipf": 1 / np.arange(1, size + 1) / (1 / np.arange(1, size + 1)).sum(),
        "few": np.where(np.arange(size) < few, 1 / few, 0.0),
    }


def detectable_share(option: Option, users: int) -> float:
    """Return the smallest share that is listed as a heavy hitter with probability 0.95.

    The threshold lets any value that nobody holds through with probability at most 0.05. So the
    share is ``(Phi^-1(1 - .05 / size) + Phi^-1(.95)) sigma``. For compressed reports sigma counts
    the cross-talk of all labels of a Zipf distribution. Sparse recovery removes that of those it
    finds, so smaller shares are found as well.
    """
    # The lower tail keeps its digits.
    threshold = -NormalDist().inv_cdf(ALPHA / option.randomizer.domain.size)
    reach = threshold + NormalDist().inv_cdf(FOUND)
    return reach * option.deviation(users) / math.sqrt(users)


def predicted_errors(
    option: Option, users: int, *, laws: Mapping[str, Vector], seed: int = 0
) -> dict[str, ErrorByKind]:
    """Return the errors of the recommended decoder by distance and population.

    Labels of compressed reports are not estimated one by one: there the reports are simulated.

    option: Randomizer with its costs.
    users: Number of people.
    laws: Shares of populations: float64 [size].
    seed: Seed of the noise, the same for every number of people, so that errors fall smoothly.

    **Accuracy.** People are drawn from the population, and no report is made. Unbiased shares are
    Gaussian around the people's, with the exact variances, and the real decoder works on them. The
    tests compare with simulated reports: l1, and the Zipf population, within an eighth. Squared
    errors of the even and the sparse one depend on rare accidents and are right to about a half.
    Hadamard response in several blocks is noisier than predicted for labels whose block is popular.

    **Cost.** A few decodes for each population.
    """
    size = option.randomizer.domain.size
    if option.crosstalk:
        return simulated_label_errors(option.randomizer, users, laws=laws, seed=seed)
    repeats = 200 if size < FEW else max(1, min(24, 2**14 // size))
    people, noise = (np.random.default_rng([seed, stream]) for stream in (0, 1))
    l1: dict[str, float] = {}
    squared: dict[str, float] = {}
    for name, law in laws.items():
        absolute, square = [], []
        for _ in range(repeats):
            held = people.multinomial(users, law) / users
            gap = np.abs(_decoded(option, held, users, noise.standard_normal(size)) - held)
            absolute.append(float(gap.sum()))
            square.append(float(np.mean(gap**2)))
        l1[name], squared[name] = float(np.mean(absolute)), float(np.mean(square))
    return {"l1": ErrorByKind(l1), "mean_squared_error": ErrorByKind(squared)}


def simulated_label_errors(
    randomizer: Randomizer, users: int, *, laws: Mapping[str, Vector], seed: int
) -> dict[str, ErrorByKind]:
    """Return the simulated errors of a randomizer and its recommended decoder, as above."""
    gaps = {name: simulated_gaps(randomizer, users, law, seed=seed) for name, law in laws.items()}
    l1 = {name: float(np.abs(each).sum(axis=1).mean()) for name, each in gaps.items()}
    squared = {name: float(np.mean(np.square(each))) for name, each in gaps.items()}
    return {"l1": ErrorByKind(l1), "mean_squared_error": ErrorByKind(squared)}


def simulated_gaps(randomizer: Randomizer, users: int, law: Vector, *, seed: int) -> Matrix:
    """Return errors of all shares in simulated surveys: float64 [surveys, size].

    law: Shares of the population, float64 [size].
    """
    decoder = decoder_without_band(randomizer)
    repeats = max(6, min(48, _SIMULATED // randomizer.domain.size))
    people, noise = (np.random.default_rng([seed, stream]) for stream in (0, 1))
    gaps = []
    for _ in range(repeats):
        counts = people.multinomial(users, law)
        tally = simulate(randomizer, counts, rng=noise)
        gaps.append(decoder.decode(randomizer.channel, tally).mass - counts / users)
    return np.array(gaps)


def _decoded(option: Option, law: Vector, users: int, noise: Vector) -> Vector:
    size = law.size
    variance = np.maximum(option.empty + option.slope * law, 0.0) / users
    if option.fixed_total:
        # Giving the noise its fixed total takes 1 / size of it away, which it does not have.
        variance *= size / (size - 1)
    shares = law + np.sqrt(variance) * noise
    empty = np.full(size, option.empty / users)
    found = UnbiasedShares(shares, empty, option.slope / users, users).with_total()
    if size < FEW:
        return simplex(found.shares)
    return shrunk(found, iterations=_ITERATIONS).mass


DISTANCES = ("l1", "mean_squared_error", "detectable_share")

SAME = 1.01
"""Deviations within this factor are as good as equal, and the cheaper one is taken."""

SMALL_REPORT = 128
"""Reports up to so many bytes count as equally cheap."""


@dataclass(frozen=True)
class CategoricalChoice:
    """A randomizer of labels, for how many people, and what is expected of it.

    expected: By distance: ``"l1"`` and ``"mean_squared_error"`` of the recommended decoder on each
        of the populations (up to 2^18 labels), and the ``"detectable_share"``.
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
    """Return the choice for a domain without an order, see :func:`lapwing.recommend`.

    domain, epsilon, users, error, distance: As there.
    report_bytes: The most bytes that a report may have.
    server_seconds: The most CPU seconds that tally and decode may take, by a rough model.
    like: float64 [size]: predict the errors on this population instead of the built-in ones.

    The error of every decoder falls with the deviation of the unbiased shares, so that is what is
    minimized. Within 1% the cheaper one is taken: fewer report bytes, of which up to 128 count as
    equal, then less work for the server.
    """
    size = domain.size
    if distance is None:
        distance = "l1" if size <= LABEL_LIMIT else "detectable_share"
    if distance not in DISTANCES:
        raise ArgumentError(
            "distance", f"must be one of {', '.join(DISTANCES)} for labels", repr(distance)
        )
    if size > LABEL_LIMIT and distance != "detectable_share":
        raise ArgumentError(
            f"for {size} labels, only the smallest detectable share is predicted. Distances are "
            f"predicted for up to {LABEL_LIMIT} labels. Leave out the distance"
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
            f"no randomizer for {size} labels has reports of {report_bytes} bytes or less. The "
            f"shortest report has {least}"
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
            f"no randomizer for {size} labels can be tallied and decoded in {server_seconds:g} "
            f"CPU seconds for {people} people. The fastest takes about {least_time:.2g}"
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
    """Return the fewest people, to about 1%, whose error is at most the target."""
    if error_of(USER_LIMIT) > target:
        raise ArgumentError(
            f"no number of people up to {USER_LIMIT} reaches an error of {target:g}. The "
            f"smallest predicted error is {error_of(USER_LIMIT):.2g}"
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
        # Errors fall about as the root of the people; half a percent more brackets the answer.
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
        f"{chosen.deviation(users):.3g} divided by the square root of the number of people, "
        f"with reports of {chosen.report_bytes} byte{'s' if chosen.report_bytes != 1 else ''}"
    )
    if others:
        listed = ", ".join(f"{ratio:.2f} times as much in {name}" for ratio, name in others)
        text += f", and {listed}"
    if len(fast) < len(every):
        text += f". Of {len(every)} randomizers, {len(every) - len(fast)} exceed the limits"
    return text + "."


def _check_limit(limit: Any, *, name: str, least: float) -> None:
    if limit is None:
        return
    number = isinstance(limit, int | float | np.number) and not isinstance(limit, bool)
    if not number or not least <= limit < math.inf:
        raise ArgumentError(name, f"must be a number of at least {least}", repr(limit))
