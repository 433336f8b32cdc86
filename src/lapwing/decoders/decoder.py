"""Interface of the decoders, and the parts that they share."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar, Protocol, TypeVar, cast, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csc_matrix

from lapwing.errors import ArgumentError, UnsupportedChannelError, WeakAnswerWarning, kind_of
from lapwing.linear.arrays import Vector, one_thread
from lapwing.linear.memoized import memoized
from lapwing.linear.operators.sums import CellSums
from lapwing.privacy.guarantee import Guarantee
from lapwing.protocol.channels.additive_noise import AdditiveNoise
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.domains.domain import Domain, flat_shares
from lapwing.protocol.domains.product import Product
from lapwing.protocol.messages.tally import Kind, Observation
from lapwing.results.distribution import Distribution
from lapwing.results.heavy_hitters import HeavyHitters
from lapwing.results.signed_estimate import SignedEstimate
from lapwing.results.steps import KEY, step_numbers
from lapwing.results.uncertainty import Uncertainty

Part = TypeVar("Part")


class Decoder(Protocol):
    """Estimator of a distribution: a frozen dataclass of options."""

    name: ClassVar[str]
    """Kebab-case name in documents and on the command line."""

    reads: ClassVar[Kind]
    """Kind of observation that it decodes: counts, stored reports, or a curator's release."""
    # A decoder of counts also decodes stored reports, which are counted first.

    def decode(self, channel: Any, observation: Any, /) -> Distribution:
        """Return the estimate.

        Parameters
        ----------
        channel : Channel
            Distribution of a report, or of a release's answers, for each value.
        observation : CountTally, TallyLog or Release
            Observation of the kind that `reads` names.

        Returns
        -------
        Distribution
            Estimate, with intervals if the decoder has them.

        Raises
        ------
        UnsupportedChannelError
            When the channel does not offer what this decoder needs.
        MismatchError
            When the observation was made for another channel.
        TallyError
            When the observation is a tally without reports.
        """
        ...


class SearchDecoder(Protocol):
    """A decoder that searches labels: it returns those that stand out from the noise."""

    name: ClassVar[str]
    reads: ClassVar[Kind]

    def decode(self, channel: Any, observation: Any, /) -> HeavyHitters:
        """Return the heavy hitters, with the errors of a :class:`Decoder`."""
        ...


_ANSWERS = ("distribution", "joint-distribution", "heavy-hitters")
"""What a decoder may return."""


def check_reads(decoder: Any) -> None:
    """Raise ArgumentError unless a decoder, or its class, says which observations it decodes."""
    kinds = get_args(Kind)
    if getattr(decoder, "reads", None) not in kinds:
        raise ArgumentError(f"the `reads` of a decoder must be one of {', '.join(kinds)}")


def require_answer(answer: Any, domain: Domain, name: str) -> None:
    """Refuse an object that is no answer of a decoder, which a custom one may return.

    Raises ArgumentError when it is not a result, or on another domain than the channel's.
    """
    if getattr(answer, "_kind", None) not in _ANSWERS:
        raise ArgumentError(
            f"the decoder {name} must return a Distribution, JointDistribution or HeavyHitters, "
            "but it returned "
            f"{kind_of(answer)}"
        )
    if answer.domain != domain:
        raise ArgumentError(
            f"the decoder {name} returned a result on a domain other than the channel's"
        )


def decoder_document(decoder: Any) -> dict[str, Any]:
    """Return the JSON form of a decoder: its name and its parameters."""
    return {"class": decoder.name, **dataclasses.asdict(decoder)}


def guarantee_of(promised: Guarantee | None, observation: Observation) -> Guarantee | None:
    """Return the guarantee of a result: that of its channel, marked as what was observed is."""
    return None if promised is None else promised.marked(getattr(observation, "standing", None))


def distribution_of(
    channel: Channel,
    observation: Observation,
    mass: Vector,
    *,
    provenance: dict[str, Any],
    uncertainty: Uncertainty | None = None,
    signed: SignedEstimate | None = None,
) -> Distribution:
    """Return decoded masses with what every estimate carries on from what was observed.

    channel: Its domain, and the guarantee under which the reports were collected.
    observation: For the number of people.
    mass: float64 [domain.size].
    provenance: How: :func:`decoder_document`, and what the decoder learned on the way. The number
        of steps that a picture of the density has is added (:func:`resolved_steps`).
    uncertainty: Error distribution. Without one there is no band.
    signed: The estimate before it became a distribution. It gets the guarantee and the provenance
        of the distribution.
    """
    if isinstance(channel.domain, Product):
        # Most callers decode one attribute, so the declared type is that of its result.
        return cast(Distribution, _joint(channel, observation, mass, provenance, uncertainty))
    return Distribution(
        channel.domain,
        mass,
        reports=observation.total,
        guarantee=guarantee_of(channel.guarantee, observation),
        uncertainty=uncertainty,
        provenance=provenance | steps_entry(channel, observation.total),
        signed=signed,
    )


def _joint(
    channel: Channel,
    observation: Observation,
    mass: Vector,
    provenance: dict[str, Any],
    uncertainty: Uncertainty | None,
) -> Any:
    """Return decoded masses of pairs, with draws of their errors."""
    from lapwing.results.joint_distribution import JointDistribution
    from lapwing.results.joint_uncertainty import JointUncertainty

    domain: Any = channel.domain
    draws = None
    if uncertainty is not None:
        law = uncertainty.about("simultaneous", "empirical")
        errors = law.noise.sample(_DRAWS_OF_PAIRS, np.random.default_rng(0))
        draws = JointUncertainty(law.center, errors.astype(np.float32), law.method)
    return JointDistribution(
        domain,
        mass,
        reports=observation.total,
        guarantee=guarantee_of(channel.guarantee, observation),
        uncertainty=draws,
        provenance=provenance,
    )


_DRAWS_OF_PAIRS = 200
"""Draws of the errors of pairs from a covariance."""


def required(part: object, kind: type[Part], refusal: str) -> Part:
    """Return a part of a channel that a decoder needs: its operator or its distribution.

    Raises UnsupportedChannelError with the words of `refusal`, when it is of another class.
    """
    if not isinstance(part, kind):
        raise UnsupportedChannelError(refusal)
    return part


def warn_when_weak(estimate: Uncertainty, *, what: str, stacklevel: int) -> None:
    """Warn when a band of the CDF is so wide that the answer says little about the data."""
    widest = NormalDist().inv_cdf(0.975) * float(estimate.cdf_deviation("empirical").max())
    if widest > 0.5:
        warnings.warn(
            f"{estimate.reports} reports say little: {what} of the CDF is +-{widest:.2g} at its "
            "widest. Collect more reports or use fewer bins",
            WeakAnswerWarning,
            stacklevel=stacklevel,
        )


LEAST_STEPS = 8
"""Bins are not merged further: fewer steps show no shape."""

MOST_STEPS = 256
"""Of a picture 720 points wide each is then three points wide."""

RELATIVE_ERROR = 0.25
"""Of a step's share, in parts of the mean share: what is merged has a larger one."""


def steps_entry(channel: Any, reports: int) -> dict[str, int]:
    """Return the entry of a result's provenance about its steps, empty for labels and logs."""
    known = isinstance(channel, Channel) and channel.domain.ordered and reports > 0
    steps = resolved_steps(channel, reports) if known else None
    return {} if steps is None else {KEY: steps}


@one_thread
def resolved_steps(channel: Channel, reports: int) -> int | None:
    """Return the most steps of a density that so many reports can distinguish, None for labels.

    reports: People.

    The standard error of a step's share is that of a weighted least-squares estimate at the flat
    distribution. The estimate is of a density that is constant on each step. Its error is the
    inverse of the information about the steps, under the known total of one. An estimate of all
    bins at once has a far larger error. Most of it is about differences within steps, which a
    picture of steps does not show.

    The most steps, at least 8 and at most 256, whose shares are precise. The root mean square of
    their standard errors is at most a quarter of the mean share. Bins are merged in equal numbers
    where that costs less than a third of the steps. Declared atoms, and the symbols for values
    outside the range and for missing ones, are estimated along with the steps, and are no steps
    themselves.
    """
    domain = channel.domain
    if not domain.ordered:
        return None
    bins = int((flat_shares(domain) > 0).sum())
    most = -(-bins // -(-bins // MOST_STEPS))

    def fine(steps: int) -> bool:
        return step_error(channel, reports, steps) <= RELATIVE_ERROR

    # The error grows with the number of steps. Few are tried first, which is quicker.
    low = min(LEAST_STEPS, bins)
    while low < most and fine(min(2 * low, most)):
        low = min(2 * low, most)
    high = min(2 * low, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fine(middle) else (low, middle)
    return preferred_steps(bins, low)


def preferred_steps(bins: int, most: int) -> int:
    """Return how many steps to draw where at most so many can be distinguished.

    Steps of equally many bins, unless that would make them half as wide again.

    >>> preferred_steps(256, 40), preferred_steps(300, 22), preferred_steps(31, 20)
    (32, 20, 20)
    """
    most = max(min(most, bins), min(LEAST_STEPS, bins))
    least = max(2 * most / 3, min(LEAST_STEPS, bins))
    even = (steps for steps in range(most, 0, -1) if bins % steps == 0 and steps >= least)
    return next(even, most)


def step_error(channel: Channel, reports: int, steps: int) -> float:
    """Return the standard error of a step's share, in parts of the mean share.

    The root mean square over the steps, infinite where they cannot be estimated.

    channel: On an ordered domain.
    """
    known = _unit_errors(channel.fingerprint, channel.domain.size)
    if steps not in known:
        known[steps] = _unit_error(channel, steps)
    law = channel.blocks[0].law
    if isinstance(law, AdditiveNoise):
        noise = known[steps] * math.sqrt(law.variance) / reports
        return math.hypot(noise, math.sqrt(steps / reports))
    return known[steps] / math.sqrt(reports)


@memoized(most=64)
def _unit_errors(fingerprint: str, size: int) -> dict[int, float]:
    """Return the errors of a channel that are known, by the number of steps."""
    return {}


def _unit_error(channel: Channel, steps: int) -> float:
    """Return the relative error with one report. Of a release with one person and unit noise."""
    size = channel.domain.size
    shares = flat_shares(channel.domain)
    places = step_numbers(channel.domain, steps)
    used, count = np.flatnonzero(shares > 0), int(places[-1]) + 1
    rest = np.setdiff1d(np.arange(size), used)
    steps_of = np.full(size, -1)
    steps_of[used], steps_of[rest] = places, count + np.arange(rest.size)
    weights = np.ones(size)
    weights[used] = shares[used]
    weights /= np.bincount(steps_of, weights)[steps_of]
    # Of very many bins a dense matrix with a column for each step needs gigabytes.
    columns = csc_matrix((weights, (np.arange(size), steps_of)))
    uniform = np.full(size, 1 / size)
    information = np.zeros((columns.shape[1],) * 2)
    for block in channel.blocks:
        if isinstance(block.operator, CellSums) and isinstance(block.law, AdditiveNoise):
            counts = block.operator.sparse @ columns
            information += (counts.T @ counts).toarray()
            continue
        answers = block.operator.matmat(columns.toarray())
        if isinstance(block.law, AdditiveNoise):
            information += answers.T @ answers
        else:
            variance = np.maximum(block.covariance(uniform).variance(), 1e-300)
            information += answers.T @ ((block.share / variance)[:, None] * answers)
    try:
        inverse = cho_solve(cho_factor(information), np.eye(columns.shape[1]))
    except LinAlgError:
        return math.inf
    total = inverse.sum(axis=0)
    inverse -= np.outer(total, total) / total.sum()
    mean = float(np.diag(inverse)[:count].mean())
    return math.sqrt(max(mean, 0.0)) * count


@dataclass(frozen=True, eq=False)
class Neighbors:
    """Pairs of symbols that touch.

    joined: int64: the symbols that touch, in order.
    first, second: int64 [pairs].
    width: float64 [size]: width of every symbol relative to the widest, and 1 for whole numbers.
    even: Whether all symbols touch in a row and have one width.
    circular: Whether the last touches the first.
    """

    joined: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    width: Vector
    even: bool
    circular: bool

    @classmethod
    def of(cls, domain: Domain) -> Neighbors:
        """Return the pairs of a domain, or raise UnsupportedChannelError when it has no order."""
        if not domain.ordered:
            raise UnsupportedChannelError(
                "smoothing needs an ordered domain, but labels have no neighbors. Use "
                "LeastSquares, or ExpectationMaximization without smoothing"
            )
        extent = domain.right - domain.left
        if not extent.any():
            joined = np.arange(extent.size)
            width = np.ones(domain.size)
        else:
            joined = np.flatnonzero(extent > 0)
            width = np.ones(domain.size)
            # On a logarithmic scale bins are meant to be equal, so only parts of a split bin are
            # narrow; they are recognized by the mean of their two neighbors.
            width[joined] = _relative_widths(domain, joined)
        first, second = joined[:-1], joined[1:]
        if domain.circular:
            first, second = np.append(first, joined[-1]), np.append(second, joined[0])
        even = joined.size == domain.size and bool(np.allclose(width, 1.0))
        return cls(joined, first, second, width, even, domain.circular)

    def smooth(self, mass: Vector) -> Vector:
        """Return masses after a quarter of each has moved to each neighbor, along the first axis.

        With equal widths this is the (1, 2, 1) / 4 average, with 3/4 kept at an end: mass is
        preserved and the uniform distribution stays. Between bins of unequal width w the flow is
        ``min(w, w') (density' - density) / 4``, which keeps both properties.
        """
        if self.even and not self.circular:
            moved: Vector = mass / 2
            moved[1:] += mass[:-1] / 4
            moved[:-1] += mass[1:] / 4
            moved[0] += mass[0] / 4
            moved[-1] += mass[-1] / 4
            return moved
        width = self.width.reshape(-1, *[1] * (mass.ndim - 1))
        density = mass / width
        flow = np.minimum(width[self.first], width[self.second]) / 4
        flow = flow * (density[self.second] - density[self.first])
        moved = mass.copy()
        # A symbol is the first of at most one pair, and the second of at most one.
        moved[self.first] += flow
        moved[self.second] -= flow
        return moved


def smoother(domain: Domain) -> Callable[[Vector], Vector]:
    """Return one step of smoothing: of a pair along both axes.

    Raises UnsupportedChannelError when the domain has no order.
    """
    if not isinstance(domain, Product):
        return Neighbors.of(domain).smooth
    first, second = (Neighbors.of(axis) for axis in domain.domains)

    def smooth(mass: Vector) -> Vector:
        table = first.smooth(mass.reshape(domain.shape))
        smoothed: Vector = second.smooth(np.ascontiguousarray(table.T)).T.ravel()
        return smoothed

    return smooth


def _relative_widths(domain: Domain, joined: NDArray[np.int64]) -> Vector:
    left, right = domain.left[joined], domain.right[joined]
    logarithmic = getattr(domain, "scale", "linear") == "log"
    extent = np.log(right) - np.log(left) if logarithmic else right - left
    widths: Vector = extent / extent.max()
    return np.where(np.isclose(widths, 1.0, rtol=1e-6), 1.0, widths)
