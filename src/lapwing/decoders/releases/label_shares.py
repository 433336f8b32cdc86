"""Shares of labels from their noisy counts: unbiased with an exact band, or shrunk where sparse.

A table of segments gives one distribution for each segment (:func:`segment_shares`). Often the
number of people is known from a noisy count only (:class:`NoisyTotal`). Shares are then counts
divided by that number, and have intervals only where it passes a threshold. A group just below the
threshold passes it when its noise is high, and then all shares are off in one direction. So the
number of people has an interval that holds for groups that passed. The error distribution of the
shares allows for the whole of it.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from lapwing.declared import Declared
from lapwing.decoders.decoder import Decoder, decoder_document, distribution_of, required
from lapwing.decoders.empirical_bayes.mixture_prior import shrunk
from lapwing.decoders.unbiased.linear_estimate import Tails, UnbiasedShares
from lapwing.docstrings import inherits
from lapwing.errors import ArgumentError, UnsupportedChannelError
from lapwing.linear.arrays import Vector, one_thread
from lapwing.linear.covariance import Covariance
from lapwing.linear.operators.sums import CellSums
from lapwing.linear.projections import simplex
from lapwing.protocol.channels.additive_noise import AdditiveNoise
from lapwing.protocol.channels.channel import Channel, check_given
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.messages.tally import Kind
from lapwing.protocol.release import Release
from lapwing.results.distribution import Distribution
from lapwing.results.spread_law import SpreadLaw
from lapwing.results.unanswered import too_few
from lapwing.results.uncertainty import (
    MOSTLY_ZERO,
    Uncertainty,
    Variants,
    as_stored,
    normal_critical_value,
)

KNOWN_WELL = 8.0
"""Standard deviations that a noisy number of people must be above zero to be divided by."""

_RARE = 3.0
"""Groups more standard deviations below the threshold are not considered: one of 740 passes."""

_LEVEL = 0.95


@dataclass(frozen=True)
class NoisyTotal:
    """Number of people with Gaussian noise.

    people: Noisy number.
    deviation: Standard deviation of its noise.
    """

    people: float
    deviation: float

    @property
    def is_known(self) -> bool:
        """Whether it passes the threshold, so that shares can be divided by it."""
        return self.people >= KNOWN_WELL * self.deviation

    @property
    def is_positive(self) -> bool:
        """Whether the 95% interval of the true number excludes zero."""
        return self.people > normal_critical_value(_LEVEL) * self.deviation

    @property
    def ends(self) -> tuple[float, float]:
        """An interval for the true number, given that the noisy one passed the threshold."""
        above = self.people / self.deviation - KNOWN_WELL
        down = max(normal_critical_value(_LEVEL), min(_reach(above), above + _RARE))
        up = normal_critical_value(_LEVEL)
        return self.people - down * self.deviation, self.people + up * self.deviation

    def allowed(self, law: Uncertainty, along: Vector) -> Uncertainty:
        """Return an error distribution of shares that allows for the interval of the number.

        law: Of the counts divided by the noisy number, to first order in its noise.
        along: float64 [symbols]: the part of the number's noise that is in each count, on average.

        The distances of the counts from ``number * along`` have errors that do not depend on the
        number's noise. So only the number by which they are divided is unknown.
        """
        if not self.deviation > 0:
            return law
        low, high = self.ends
        middle = (self.people / low + self.people / high) / 2
        usual = normal_critical_value(_LEVEL)
        # A group that passed by chance is always near the lower end. So this end, unlike that of
        # a normal error, must leave room for the other errors of a share.
        room = (self.people - low) / self.deviation / usual
        spread = (self.people / low - self.people / high) / 2 / usual * room
        more = max(spread**2 - (middle * self.deviation / self.people) ** 2, 0.0)

        def one(each: Uncertainty) -> Uncertainty:
            apart = each.center - along
            center, column = along + middle * apart, np.sqrt(more) * apart[:, None]
            changed = replace(
                each,
                center=center,
                remainder=as_stored(each.remainder * middle**2),
                reports=max(1, round(each.reports / middle)),
                laplace=None if each.laplace is None else each.laplace * middle**2,
                of_cells=None,
            )
            if each.of_cells is None:
                added = Covariance(np.zeros(center.size), column, np.ones(1))
                return replace(changed, noise=each.noise.scaled(middle**2) + added)
            cells = each.of_cells
            column = np.add.reduceat(column, cells.spread.start, axis=0)
            factor = as_stored(np.hstack([cells.factor * middle, column]))
            law = SpreadLaw(cells.spread, center, factor)
            spread_law = Uncertainty.spread(
                law, changed.remainder, each.plug_in, changed.reports, each.method
            )
            return replace(spread_law, tails=each.tails, whole=each.whole)

        variants = {name: one(each) for name, each in law.variants.listed().items()}
        return replace(one(law), variants=Variants(**variants))


def _reach(above: float) -> float:
    """Return how far below a noisy number, in deviations, the least true one is.

    Of noise that passes the threshold, which is `above` deviations below the number, a twentieth is
    larger.
    """
    tail = NormalDist().cdf
    low, high = 0.0, above + _RARE
    for _ in range(50):
        middle = (low + high) / 2
        if tail(-middle) > (1 - _LEVEL) * tail(above - middle):
            low = middle
        else:
            high = middle
    return high


MANY = 64
"""Number of labels from which their distribution can be learned."""

METHOD = "exact noise of the counts"


@dataclass(frozen=True)
class LabelShares(Declared):
    """Shares of labels from noisy counts, by projection or empirical Bayes.

    Parameters
    ----------
    sparse : bool, optional
        False: the nearest shares (least squares on the simplex). True: empirical Bayes, which
        learns the distribution of the shares from the release (:class:`MixturePrior`). So where
        most labels are empty, noise is not mistaken for data. Default: True from 64 labels on.
    band : bool
        Whether to compute the confidence band. Default: True.

    Notes
    -----
    **Privacy.** A decoder is post-processing of a release, so it costs no privacy.

    **Accuracy.** The confidence band is that of the unbiased shares. The noise of different labels
    is independent, so a simultaneous band follows from the band of one label, without simulation.

    **Cost.** O(labels).

    Where the number of people is public, the excess of the counts' sum over it is subtracted
    evenly from all counts. Where it is secret, the counts are divided by their own sum. The noise
    of that sum is accounted for: ``e_i - share_i sum(e)``. There is no band where the sum is not 8
    standard deviations above zero, because then the shares are not determined. A sum near that
    threshold may have passed it by chance, so its band is wider (:class:`NoisyTotal`).

    The decoder is this library's own.

    Examples
    --------
    >>> import lapwing as lw
    >>> answers = ["yes"] * 700 + ["no"] * 300
    >>> published = lw.release(
    ...     answers, lw.Categories(["yes", "no"]), neighbors="replace-one", epsilon=1,
    ...     rng=lw.seeded(1),
    ... )
    >>> release = published.release
    >>> round(float(lw.decoders.LabelShares().decode(release.channel, release).share("yes")), 1)
    0.7
    """

    _: KW_ONLY
    sparse: bool | None = None
    band: bool = True

    name: ClassVar[str] = "label-shares"
    reads: ClassVar[Kind] = "release"

    @one_thread
    @inherits(Decoder.decode)
    def decode(self, channel: Channel, release: Release) -> Distribution:
        """Return the shares, with the exact confidence band of the unbiased shares.

        Raises
        ------
        UnsupportedChannelError
            When the release does not contain the counts of all categories.
        """
        check_given(channel, release)
        law = noise_of_counts(channel)
        tails = tails_of(release)
        known = release.people is not None
        people = release.total
        found = CountedShares.of(release.blocks[0], people, law.variance, total_is_known=known)
        sparse = channel.domain.size >= MANY if self.sparse is None else self.sparse
        mass = found.sparse(tails) if sparse else simplex(found.center)
        provenance = decoder_document(self) | {"sparse": sparse}
        uncertainty = found.uncertainty(people, tails) if self.band else None
        provenance |= too_few(self.band and uncertainty is None)
        return distribution_of(
            channel, release, mass, provenance=provenance, uncertainty=uncertainty
        )


def has_counts(channel: Channel) -> bool:
    """Return whether a channel is one of the counts of all symbols."""
    operator = channel.blocks[0].operator
    return isinstance(operator, CellSums) and operator.shape[0] == operator.shape[1]


def noise_of_counts(channel: Channel) -> AdditiveNoise:
    """Return the noise of the counts of all categories, or raise UnsupportedChannelError."""
    refusal = "label shares are read from label counts. Use step pursuit for other releases"
    operator = required(channel.blocks[0].operator, CellSums, refusal)
    if operator.shape[0] != operator.shape[1]:
        raise UnsupportedChannelError(refusal)
    return required(channel.blocks[0].law, AdditiveNoise, refusal)


def tails_of(release: Release) -> Tails:
    """Return the shape of the noise in each count: Laplace if that of any part is."""
    return "laplace" if any(p.noise.kind == "laplace" for p in release.parts) else "normal"


@dataclass(frozen=True, eq=False)
class CountedShares:
    """Unbiased shares of the people behind noisy counts.

    center: Shares, float64 [labels], of either sign. Their sum is one.
    deviation: Standard deviation of the noise in one count, as a share of the people.
    total_is_known: Whether the number of people is known, and not only the sum of the counts.
    """

    center: Vector
    deviation: float
    total_is_known: bool

    @classmethod
    def of(
        cls, answers: Any, people: int, variance: float, *, total_is_known: bool
    ) -> CountedShares:
        """Return the shares of noisy counts, all of one variance."""
        counts = np.asarray(answers, dtype=np.float64)
        missed = (people - float(counts.sum())) / counts.size
        # A sum that is too small to be divided by was set to 1 person.
        return cls((counts + missed) / people, float(np.sqrt(variance)) / people, total_is_known)

    @property
    def noise(self) -> Covariance:
        """The covariance of the errors: float64 parts of [labels, labels]."""
        size, one = self.center.size, self.deviation**2
        even = np.full((size, 1), 1 / np.sqrt(size))
        if self.total_is_known:
            return Covariance(np.full(size, one), even, np.array([-one]))
        # (I - s 1')(I - 1 s') = I + size (s - 1/size)(s - 1/size)' - 11' / size
        uneven = (self._plug_in - 1 / size)[:, None]
        columns = np.hstack([uneven, even])
        return Covariance(np.full(size, one), columns, np.array([size * one, -one]))

    @property
    def _plug_in(self) -> Vector:
        return simplex(self.center)

    def sparse(self, tails: Tails) -> Vector:
        """Return shares that are shrunk by their common distribution, and sum to one."""
        empty = np.full(self.center.size, self.deviation**2)
        return shrunk(UnbiasedShares(self.center, empty, 0.0, 1, tails)).mass

    def uncertainty(self, people: int, tails: Tails) -> Uncertainty | None:
        """Return the error distribution, or None where the people are too few to divide by."""
        size = self.center.size
        total = NoisyTotal(people, people * self.deviation * float(np.sqrt(size)))
        if not (self.total_is_known or total.is_known):
            return None
        zeros = np.zeros(size)
        laplace = self.deviation**2 if tails == "laplace" else 0.0
        law = Uncertainty(
            *(self.center, self.noise, zeros, self._plug_in, people, METHOD),
            laplace=laplace,
            whole=(self.deviation * people) ** 2 < MOSTLY_ZERO,
        )
        return law if self.total_is_known else total.allowed(law, np.full(size, 1 / size))


@one_thread
def segment_shares(
    release: Release, decoder: LabelShares | None = None
) -> dict[str | int | None, Distribution]:
    """Return a distribution for each segment, and under None that of rows in none of them.

    release: Release of label counts on a :class:`Segmented` domain.
    decoder: Decoder of each segment. Default: ``LabelShares()``.

    Raises ArgumentError when the release has no segments.
    Raises UnsupportedChannelError when the release does not hold the counts of all cells.

    The number of people of a segment is not public. So the noisy counts are divided by their sum,
    and `reports` is that sum, at least 1. The band has the noise of both. There is none where the
    sum is too small to divide by (:class:`LabelShares`). A simultaneous band holds for all labels
    of its segment at once. For all segments at once ask for level ``level ** (1 / segments)``.
    """
    table, asked = release.domain, decoder or LabelShares()
    if not isinstance(table, Segmented):
        raise ArgumentError(
            "this release has no segments. To have them, pass by= and segments= when you release"
        )
    noise = noise_of_counts(release.channel)
    inner, tails = table.domain, tails_of(release)
    sparse = inner.size >= MANY if asked.sparse is None else asked.sparse
    answers = release.blocks[0].reshape(-1, inner.size)
    one_release = "+".join(part.identifier for part in release.parts)
    found = {}
    for segment, counts in zip([*table.segments, None], answers, strict=True):
        people = max(1, round(sum(counts.tolist())))
        shares = CountedShares.of(counts, people, noise.variance, total_is_known=False)
        uncertainty = shares.uncertainty(people, tails) if asked.band else None
        found[segment] = Distribution(
            inner,
            shares.sparse(tails) if sparse else simplex(shares.center),
            reports=people,
            guarantee=release.guarantee,
            uncertainty=uncertainty,
            provenance=decoder_document(asked)
            | {"sparse": sparse, "segment": segment, "segments_of": one_release}
            | too_few(asked.band and uncertainty is None),
        )
    return found
