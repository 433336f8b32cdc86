"""Bands and intervals of a difference, from the error distributions of its two sides.

A side is a :class:`Comparable` result: it has what a difference needs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from lapwing.docstrings import inherits
from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector
from lapwing.linear.memoized import cached_property
from lapwing.privacy.guarantee import Guarantee, People
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.domain_text import domain_text
from lapwing.protocol.domains.ranges import Closed, bin_of_low, held_values, symbol_places, to_spans
from lapwing.results.cumulative import Cumulative
from lapwing.results.directions import (
    circle_from,
    directions_of,
    mean_shift,
    quantile_arc,
    shift_interval,
)
from lapwing.results.distribution_intervals import DistributionIntervals
from lapwing.results.intervals import band_on, ends_of_share, mean_ends, probability_ends, reaching
from lapwing.results.readable import Columns
from lapwing.results.uncertainty import (
    SIMULATED_LIMIT,
    Among,
    DifferenceBand,
    Kind,
    Target,
    Uncertainty,
    check_level,
    cut_band,
    table_kind,
    to_zero,
)

__all__ = ["Comparable", "People", "domain_mismatch", "people_of"]


class Comparable(Protocol):
    """One side of a difference: a Distribution, as far as a difference needs it."""

    @property
    def domain(self) -> Domain:
        """The legal values."""
        ...

    @property
    def mass(self) -> Vector:
        """Shares of the symbols among all people: float64 [domain.size]."""
        ...

    @property
    def cumulative(self) -> Cumulative:
        """The CDF among those whose value is present."""
        ...

    @property
    def reports(self) -> int:
        """People behind it."""
        ...

    @property
    def guarantee(self) -> Guarantee | None:
        """The privacy guarantee under which the reports were collected."""
        ...

    @property
    def provenance(self) -> Mapping[str, Any]:
        """How it was made. If the reports are memoized, it names their survey."""
        ...

    @property
    def _present_uncertainty(self) -> Uncertainty | None:
        """The error distribution among those whose value is present."""
        ...

    def share(self, label: Any, *, among: Among = "all") -> float:
        """Return the share of one symbol."""
        ...

    def _warn_when_limited(self) -> None:
        """Warn, once, where a mean is not that of all values."""
        ...

    def to_dict(self, *, level: float = 0.95, kind: Kind | None = None) -> Columns:
        """Return a table as a dict of columns."""
        ...


def people_of(first: Comparable, second: Comparable) -> People:
    """Return "different" for two segments of one release or one set of tallies, else "same".

    Each person is in one segment only. Without segments, "same" is the cautious choice.
    """
    one, two = first.provenance, second.provenance
    segments = "segments_of" in one and one["segments_of"] == two.get("segments_of")
    return "different" if segments and one.get("segment") != two.get("segment") else "same"


def domain_mismatch(one: Domain, two: Domain) -> str:
    """Return in words how two domains differ, and what to do about it."""
    first, second = one.to_document(), two.to_document()
    rest = [{**each, "missing": None} for each in (first, second)]
    if rest[0] == rest[1]:
        return (
            "only one of them counts missing values, as every curator release does. Declare "
            f"missing={'category' if not one.ordered else 'bin'!r} in the survey's domain too "
            "(--missing), before collecting its reports"
        )
    rest = [{**each, "missing": None, "outside": None} for each in (first, second)]
    if rest[0] == rest[1]:
        return (
            "they count values outside the range differently. Declare the same outside= in both "
            "domains (--outside)"
        )
    if not one.ordered and not two.ordered:
        return "their labels differ, or the order of their labels"
    both = f"the first is {domain_text(one)}, the second {domain_text(two)}"
    return f"{both}. Release or decode both with the same bins"


class DifferenceIntervals:
    """Bands and intervals that every :class:`Difference` has."""

    if TYPE_CHECKING:  # fields and methods of a Difference
        first: Comparable
        second: Comparable
        target: Target
        joint: Mapping[Kind, Uncertainty] | None

        def quantile(self, probabilities: ArrayLike, *, start: Any = None) -> Vector:
            """Return how much higher a quantile of the first is."""
            ...

        def probability(self, low: Any, high: Any, *, closed: Closed | None = None) -> float:
            """Return the probability of a range in the first minus that in the second."""
            ...

        def share(self, label: Any, *, among: Among = "all") -> float:
            """Return the share of a symbol in the first minus that in the second."""
            ...

    @inherits(DistributionIntervals.probability_interval)
    def probability_interval(
        self, low: Any, high: Any, *, closed: Closed | None = None, level: float = 0.95
    ) -> tuple[float, float] | None:
        """Return an interval for :meth:`probability`.

        Returns
        -------
        tuple of float, or None
            Lower and upper end of a pointwise interval, in [-1, 1]. None when one of the two has no
            error distribution.

        Raises
        ------
        DomainError
            When the domain has categories, or an end cannot be read in its unit.

        Notes
        -----
        **Accuracy.** It holds wherever the values lie inside the bins in which the range ends, in
        each of the two separately.

        **Cost.** O(bins times the rank of the covariances).
        """
        error_laws = self._error_laws()
        if error_laws is None:
            return None
        domain = self.first.domain
        spans = to_spans(low, high, domain, closed)
        one, two = (probability_ends(each, domain, spans) for each in error_laws)
        interval = one.minus(two).interval(level, least=-1.0, most=1.0)
        return reaching(interval, self.probability(low, high, closed=closed))

    @inherits(DistributionIntervals.share_interval)
    def share_interval(
        self, label: Any, *, level: float = 0.95, among: Among = "all"
    ) -> tuple[float, float] | None:
        """Return an interval for :meth:`share`.

        It holds for this one label. The intervals of :meth:`to_dict` hold for all labels at once.

        Returns
        -------
        tuple of float, or None
            Lower and upper end of a pointwise interval, in [-1, 1]. None when one of the two has no
            error distribution.
        """
        one, two = (
            ends_of_share(each, label, self.target, among) for each in (self.first, self.second)
        )
        if one is None or two is None:
            return None
        interval = one.minus(two).interval(level, least=-1.0, most=1.0)
        return reaching(interval, self.share(label, among=among))

    @inherits(DistributionIntervals.mean_interval)
    def mean_interval(self, *, level: float = 0.95) -> tuple[float, float] | None:
        """Return an interval for :meth:`mean`.

        Returns
        -------
        tuple of float, or None
            Lower and upper end, in the unit of the values. None when one of the two has no error
            distribution, and on a circle when one has no clear middle.

        Raises
        ------
        ArgumentError
            When the level is not in (0, 1).

        Notes
        -----
        **Accuracy.** Values may be anywhere inside their bins, in each of the two separately. On a
        circle, an end may be more than half the circle from zero if the two directions are nearly
        opposite.
        """
        error_laws = self._error_laws()
        if error_laws is None:
            return None
        circle, shift = self.first.cumulative.circle, mean_shift(self, level)
        if circle is not None:
            if math.isnan(shift):
                return None
            return shift_interval(*directions_of(self, level), circle=circle, shift=shift)
        left, right = held_values(self.first.domain)
        length = float(right[-1] - left[0])
        one, two = (mean_ends(each, left, right) for each in error_laws)
        interval = one.minus(two).interval(level, least=-length, most=length)
        return reaching(interval, shift)

    @inherits(DistributionIntervals.quantile_interval)
    def quantile_interval(
        self, probability: float, *, level: float = 0.95, start: Any = None
    ) -> tuple[float, float] | None:
        """Return an interval for the shift of a quantile.

        Returns
        -------
        tuple of float, or None
            Lower and upper end, in the unit of :meth:`quantile`. An end is infinite if a quantile
            may be outside the range. None when one of the two has no error distribution, or the
            shift is not known.

        Notes
        -----
        **Accuracy.** Each side has an interval whose level is the square root of `level`. Their
        errors are independent, so both hold together with probability `level`. The intervals
        consist of whole bins.

        **Cost.** That of the two confidence bands.
        """
        check_level(level)
        if np.ndim(probability):
            raise ArgumentError("a quantile interval takes one probability, got several")
        one, two = self.first._present_uncertainty, self.second._present_uncertainty
        if one is None or two is None:
            return None
        if start is not None:
            return self._arc_shift(probability, start, (one, two), level)
        shift = float(self.quantile(probability))
        left, right = self.first.domain.left, self.first.domain.right
        bands = (
            each.band(
                level=level**0.5, kind="pointwise", target=self.target, left=left, right=right
            )
            for each in (one, two)
        )
        if math.isnan(shift):
            return None
        starts, stops = (places.points for places in symbol_places(self.first.domain))
        ends = [band.quantile_symbols(probability) for band in bands]
        (low, high), (other_low, other_high) = ((starts[a], stops[b]) for a, b in ends)
        return reaching((float(low - other_high), float(high - other_low)), shift)

    def _arc_shift(
        self, probability: float, start: Any, laws: Sequence[Uncertainty], level: float
    ) -> tuple[float, float]:
        """Return the interval of the shift of a quantile on a circle."""
        domain = self.first.domain
        _, begin = circle_from(domain, start)
        arcs = []
        for each, law in zip((self.first, self.second), laws, strict=True):
            value = float(each.cumulative.turned(begin).quantile(probability))
            arcs.append(
                quantile_arc(
                    law,
                    domain,
                    probability,
                    value,
                    start=begin,
                    level=level**0.5,
                    kind="pointwise",
                    target=self.target,
                )
            )
        (low, high), (other_low, other_high) = arcs
        return low - other_high, high - other_low

    @inherits(DistributionIntervals.confidence_band)
    def confidence_band(
        self, level: float = 0.95, *, kind: Kind = "pointwise"
    ) -> DifferenceBand | None:
        """Return the confidence band of the difference of the CDFs, or of the shares.

        Returns
        -------
        DifferenceBand or None
            Confidence band. None when one of the two has no error distribution.

        Raises
        ------
        ArgumentError
            When the level is not in (0, 1), or `kind` is none of its allowed words.

        Notes
        -----
        **Accuracy.** The errors of the two are independent, so their covariances add. A pointwise
        band is cut to the simultaneous one, as in :meth:`Distribution.confidence_band`. A
        simultaneous band tests equality: its `leaves_zero` says whether it excludes zero somewhere.
        At `low` each side may be anything from the share below `low` to the share up to the end of
        the first bin.

        **Cost.** The simultaneous band of two CDFs simulates 1,000 errors of the whole curve, once
        for each level. Up to 32,768 bins, the pointwise band also needs this simulation.

        Examples
        --------
        >>> import lapwing as lw
        >>> bins, rng = lw.Interval(0, 100, bins=4), lw.seeded(1)  # for this example only
        >>> young, old = [25] * 600 + [45] * 400, [25] * 400 + [45] * 600
        >>> how = {"epsilon": 1, "neighbors": "replace-one", "rng": rng}
        >>> one, two = (lw.release(each, bins, **how).distribution for each in (young, old))
        >>> change = one.difference(two, people="different")
        >>> change.confidence_band(kind="simultaneous").leaves_zero
        True
        """
        check_level(level)
        error_law = self._error_law(kind)
        if error_law is None:
            return None
        domain = self.first.domain
        points = domain.right if domain.ordered else np.arange(domain.size, dtype=np.float64)
        if kind == "simultaneous":
            low, high = (curve.copy() for curve in self._whole_curve(level, error_law))
        else:
            curves = error_law.curves(level, kind, cumulative=domain.ordered, least=-1.0)
            law = self._error_law("simultaneous")
            if law is not None and domain.size <= SIMULATED_LIMIT:
                curves = cut_band(*curves, *self._whole_curve(level, law))
            low, high = to_zero(*curves)
        if (symbol := bin_of_low(domain)) is not None:
            # Of each of the two, all people of this bin may hold just `low`.
            how: Any = {"level": level, "kind": kind, "target": self.target}
            laws = (each._present_uncertainty for each in (self.first, self.second))
            bands = [band for law in laws if (band := band_on(domain, law, **how)) is not None]
            first, second = (band.high[symbol] - band.low[0] for band in bands)
            low[0], high[0] = max(low[0] - second, -1.0), min(high[0] + first, 1.0)
        return DifferenceBand(points, low, high, level, kind, self.target, error_law.method)

    def _whole_curve(self, level: float, law: Uncertainty) -> tuple[Vector, Vector]:
        """Return the simultaneous band, whose simulation is done once for each level."""
        if level not in self._whole_curves:
            ordered = self.first.domain.ordered
            curves = law.curves(level, "simultaneous", cumulative=ordered, least=-1.0)
            self._whole_curves[level] = to_zero(*curves)
        return self._whole_curves[level]

    @cached_property
    def _whole_curves(self) -> dict[float, tuple[Vector, Vector]]:
        """Simultaneous bands that were asked for, by level."""
        return {}

    def _shown_band(self, level: float, kind: Kind | None = None) -> DifferenceBand | None:
        """Return the intervals of a table of labels, each with its gap inside."""
        kind = kind or table_kind(ordered=self.first.domain.ordered)
        band = self.confidence_band(level, kind=kind)
        return None if band is None else band.reaching(self.first.mass - self.second.mass)

    def _error_laws(self, kind: Kind = "simultaneous") -> tuple[Uncertainty, Uncertainty] | None:
        """Return the error distributions of the two, or None when one of them has none.

        The default kind is that from which single numbers are answered
        (:func:`lapwing.results.intervals.answering`).
        """
        one, two = self.first._present_uncertainty, self.second._present_uncertainty
        if one is None or two is None:
            return None
        return one.about(kind, self.target), two.about(kind, self.target)

    def _error_law(self, kind: Kind) -> Uncertainty | None:
        """Return the error distribution of the difference: independent errors add."""
        if self.joint is not None:
            return self._joint_law(kind)
        both = self._error_laws(kind)
        if both is None:
            return None
        one, two = both
        methods = dict.fromkeys([one.method, two.method])
        return Uncertainty(
            one.center - two.center,
            one.noise + two.noise,
            one.remainder + two.remainder,
            one.plug_in,
            min(one.reports, two.reports),
            "difference of two: " + "; ".join(methods),
            tails=max(one.tails, two.tails),
            laplace=_laplace_of(one, two),
            whole=one.whole or two.whole,
        )

    def _joint_law(self, kind: Kind) -> Uncertainty:
        """Return the error distribution of two weeks: each week's people are a sample.

        Each week has the noise of its own reports or release, and so its tails.
        """
        assert self.joint is not None
        law, both = self.joint[kind], self._error_laws(kind)
        if self.target != "empirical":
            of_population = law.variants.answering(kind, self.target)
            if of_population is not None:
                law = of_population
            else:
                for each in (self.first, self.second):
                    of_week = each._present_uncertainty
                    if of_week is not None:
                        law = replace(law, noise=law.noise + of_week.sampling)
        if both is None or law.laplace is None:
            return law
        one, two = both
        return replace(law, laplace=_laplace_of(one, two), whole=one.whole or two.whole)


def _laplace_of(one: Uncertainty, two: Uncertainty) -> float | None:
    """Return the variance of one Laplace error with the kurtosis of the two. None without any."""
    if one.laplace is None and two.laplace is None:
        return None
    return math.hypot(one.laplace or 0.0, two.laplace or 0.0)
