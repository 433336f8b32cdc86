"""Bands and intervals of a distribution, all computed from its error distribution.

An interval holds wherever the values lie inside their bins (:mod:`lapwing.results.intervals`). It
always contains the estimate.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lapwing.docstrings import inherits
from lapwing.errors import ArgumentError, LimitedWarning, callers_level
from lapwing.linear.memoized import cached_property
from lapwing.privacy.guarantee import Guarantee
from lapwing.protocol.domains.domain import Domain, bins_of
from lapwing.protocol.domains.ranges import (
    Closed,
    Places,
    end_symbol,
    held_values,
    to_days,
    to_interval,
    to_spans,
)
from lapwing.protocol.domains.units import to_text
from lapwing.questions import Curve, Question
from lapwing.results.answer_documents import AnswerDocument
from lapwing.results.atoms import Atom, found_bins
from lapwing.results.counted import counted_word
from lapwing.results.cumulative import Cumulative
from lapwing.results.directions import Circle, circle_from, quantile_arc, refuse_on_circle
from lapwing.results.intervals import (
    answering,
    band_on,
    direction_of,
    ends_of_share,
    functional,
    mean_ends,
    quantile_ends,
    reaching,
    variance_interval,
)
from lapwing.results.question_answers import Answer, answer_documents, answer_question, asked_in
from lapwing.results.rounding import estimate_text
from lapwing.results.signed_estimate import SignedEstimate, present_uncertainty, spans_interval
from lapwing.results.unanswered import is_small
from lapwing.results.uncertainty import Among, Band, Kind, Target, Uncertainty, table_kind


class DistributionIntervals:
    """Bands and intervals that every :class:`Distribution` has."""

    if TYPE_CHECKING:  # fields, properties and methods of a Distribution
        domain: Domain
        mass: NDArray[np.float64]
        reports: int
        guarantee: Guarantee | None
        uncertainty: Uncertainty | None
        provenance: dict[str, Any]

        @property
        def cumulative(self) -> Cumulative:
            """CDF among those whose value is present."""
            ...

        @property
        def atoms(self) -> tuple[Atom, ...]:
            """Values that many people hold exactly."""
            ...

        def share(self, label: Any, *, among: Among = "all") -> float:
            """Return the share of one category or bin."""
            ...

    @cached_property
    def _present_uncertainty(self) -> Uncertainty | None:
        """The error distribution among those whose value is present, or None."""
        return present_uncertainty(self.uncertainty, self.domain)

    @property
    def bin_mass(self) -> NDArray[np.float64]:
        """Shares of only the bins or categories, which sum to one: float64 [bins].

        They refer to the people whose value is in the range, as ``numpy.histogram`` counts them.
        The entries of `mass` for missing values and for values outside are left out. Use it with
        your own distance functions. Atoms have entries among the bins, in the order of the values.

        Examples
        --------
        >>> import lapwing as lw
        >>> ages = lw.Distribution.of_values([23, 35, 35, 58], lw.Interval(0, 60, bins=3))
        >>> ages.bin_mass
        array([0.  , 0.75, 0.25])
        """
        inside = self.mass[bins_of(self.domain)]
        if not inside.sum() > 0:
            raise ArgumentError("nobody has a value in the range, so bins have no shares. Use mass")
        return np.asarray(inside / inside.sum())

    @inherits(SignedEstimate.confidence_band)
    def confidence_band(
        self, level: float = 0.95, *, kind: Kind = "pointwise", target: Target = "empirical"
    ) -> Band | None:
        """Return the confidence band of the CDF, or of the shares of categories.

        It is a credible band if the estimate is a posterior. If values outside are counted, its
        first point is `low`. People who have exactly `low` are in the first bin. So at `low` the
        band extends from the share below it to that up to the first bin's end, unless `low` is an
        atom.

        Parameters
        ----------
        level : float
            Nominal coverage, in (0, 1). Default: 0.95.
        kind : {"pointwise", "simultaneous"}
            Whether the level holds at each point alone (default), or for the whole curve at once.

        Notes
        -----
        **Accuracy.** The band is that of the unbiased linear estimate from the same counts. The
        decoded curve may be biased: :meth:`Band.share_inside` returns how much of it lies in the
        band. The band's `method` states the measured coverage.

        A simultaneous band of a CDF is cut so that its curves never fall. Nothing is lost, because
        no CDF falls. A pointwise band cut like this would cover 87% of the points of a square wave
        (128 bins, epsilon 1), not 95%. The method :meth:`Band.monotone` widens a pointwise band
        instead, as pictures do.

        Up to 32,768 bins, a pointwise band is cut to the simultaneous one of the same level and
        target. So it is never the wider one, in numbers or as drawn. Its coverage does not change:
        see `accuracy/cut_bands` in the benchmarks.

        **Cost.** The simultaneous band of a CDF simulates 1,000 errors of the whole curve, once for
        each level and target. Up to 32,768 bins, the pointwise band also needs this simulation.

        Examples
        --------
        >>> import lapwing as lw
        >>> ages, bins = [25] * 400 + [45] * 600, lw.Interval(0, 100, bins=4)
        >>> rng = lw.seeded(1)  # for this example only
        >>> published = lw.release(ages, bins, epsilon=1, neighbors="replace-one", rng=rng)
        >>> band = published.distribution.confidence_band(kind="simultaneous")
        >>> band.points.tolist(), band.low.round(2).tolist(), band.high.round(2).tolist()
        ([25.0, 50.0, 75.0, 100.0], [0.39, 0.99, 0.99, 1.0], [0.41, 1.0, 1.0, 1.0])
        """
        uncertainty = self._present_uncertainty
        return band_on(self.domain, uncertainty, level=level, kind=kind, target=target)

    def _shown_band(
        self, level: float, kind: Kind | None = None, target: Target = "empirical"
    ) -> Band | None:
        """Return the intervals of a table of labels, each with its share inside."""
        kind = kind or table_kind(ordered=self.domain.ordered)
        band = self.confidence_band(level, kind=kind, target=target)
        return None if band is None else band.reaching(self.mass)

    def answer(
        self, question: Question | str, *, level: float = 0.95, target: Target = "empirical"
    ) -> Answer:
        """Return the answer to one question, with its interval.

        Parameters
        ----------
        question : Question or str
            A question from :mod:`lapwing.questions`, or its string form: "share above 50000".
        level : float
            Confidence level of each interval, in (0, 1). Default: 0.95.
        target : {"empirical", "population"}
            Whom the intervals are about: the people in the data, or the population.

        Returns
        -------
        Answer
            Value, interval, and whom they are about. If a survey designed for other questions has
            an interval of at least half of the range, there is no value, and `note` says so.

        Raises
        ------
        ArgumentError
            When the string is not a question, or this domain cannot answer it.

        Examples
        --------
        >>> import lapwing as lw
        >>> hours = lw.Distribution.of_counts([10, 40, 40, 10], lw.Interval(0, 24, bins=4))
        >>> round(hours.answer("share above 12").value, 2), hours.answer("quantile 0.5").value
        (0.5, 12.0)
        """
        return answer_question(self, question, level=level, target=target)

    def _answer_documents(self, asks: Sequence[Question | str], **how: Any) -> list[AnswerDocument]:
        """Return the answers to questions, or else to those of the survey but for the curve."""
        asked = asks or [each for each in asked_in(self.provenance) if each != Curve()]
        return answer_documents([self.answer(each, **how) for each in asked], self.domain)

    @inherits(SignedEstimate.probability_interval)
    def probability_interval(
        self,
        low: Any,
        high: Any,
        *,
        closed: Closed | None = None,
        level: float = 0.95,
        target: Target = "empirical",
    ) -> tuple[float, float] | None:
        """Return an interval for :meth:`probability`.

        It holds wherever the values lie inside the bins in which the range ends. So its lower end
        counts only whole bins in the range, and its upper end counts all bins that the range
        touches.

        Parameters
        ----------
        low, high : float, or a date or time
            Ends of the range, with ``low <= high``. Both may be infinite. On a circle a range may
            wrap around the end.
        closed : {"left", "right", "both", "neither"}, optional
            Ends that belong to the range. Default: as for :meth:`probability`.

        Returns
        -------
        tuple of float, or None
            Lower and upper end of a pointwise interval, in [0, 1]. None without an error
            distribution.

        Raises
        ------
        DomainError
            When an end cannot be read in the unit of the domain, or when the domain has categories.

        Notes
        -----
        **Accuracy.** If both ends are edges of bins, only the noise determines the width of the
        interval. An end inside a bin widens it by about the share of this bin.

        **Cost.** O(bins times the rank of the covariance).

        Examples
        --------
        >>> import lapwing as lw
        >>> ages, bins = [25] * 400 + [45] * 600, lw.Interval(0, 100, bins=4)
        >>> rng = lw.seeded(1)  # for this example only
        >>> published = lw.release(ages, bins, epsilon=1, neighbors="replace-one", rng=rng)
        >>> low, high = published.distribution.probability_interval(25, 50)
        >>> print(f"{low:.1%} to {high:.1%}")
        59.2% to 60.2%
        """
        spans = to_spans(low, high, self.domain, closed)
        present = self._present_uncertainty
        return spans_interval(
            self.domain, self.cumulative, present, spans, level=level, target=target
        )

    def mean_interval(
        self, *, level: float = 0.95, target: Target = "empirical"
    ) -> tuple[Any, Any] | None:
        """Return an interval for :meth:`mean`.

        It extends from the mean with all values at the left ends of their bins to the mean with
        all values at the right ends.

        Parameters
        ----------
        level : float
            Confidence level, in (0, 1). Default: 0.95.
        target : {"empirical", "population"}
            The people who reported (default), or all people from whom they were drawn.

        Returns
        -------
        tuple, or None
            Lower and upper end, in the type of :meth:`mean`. None without an error distribution,
            or without a clear middle on a circle.

        Raises
        ------
        ArgumentError
            When the level is not in (0, 1), or `target` is none of its allowed words.
        DomainError
            When the domain has categories.

        Notes
        -----
        **Accuracy.** The interval is for the mean of values limited to the range of the domain. On
        a circle it inverts a test, as Fieller's interval for a ratio does.

        **Cost.** O(bins times the rank of the covariance).

        Examples
        --------
        >>> import lapwing as lw
        >>> ages, bins = [25] * 400 + [45] * 600, lw.Interval(0, 100, bins=50)
        >>> rng = lw.seeded(1)  # for this example only
        >>> published = lw.release(ages, bins, epsilon=1, neighbors="replace-one", rng=rng)
        >>> low, high = published.distribution.mean_interval()
        >>> print(f"{low:.1f} to {high:.1f}")
        35.2 to 39.6
        """
        direction = direction_of(self, level, target)
        if direction is not None:
            circle, mean = Circle.of_domain(self.domain), self.cumulative.mean
            assert circle is not None
            if isnan(mean) or not direction.is_clear:
                return None
            return to_interval(direction.interval(circle, mean), self.domain)
        error_law = answering(self._present_uncertainty, target)
        if error_law is None:
            return None
        left, right = held_values(self.domain)
        ends = mean_ends(error_law, left, right)
        interval = ends.interval(level, least=float(left[0]), most=float(right[-1]))
        return to_interval(reaching(interval, self.cumulative.mean), self.domain)

    @inherits(mean_interval)
    def variance_interval(
        self, *, level: float = 0.95, target: Target = "empirical"
    ) -> tuple[float, float] | None:
        """Return an interval for :meth:`variance`, by the delta method.

        Returns
        -------
        tuple of float, or None
            Lower and upper end, in the squared unit of the domain. None without an error
            distribution. The square roots of the ends form an interval for :meth:`std`.

        Raises
        ------
        ArgumentError
            On a circle, where the variance is not defined. Also when the level is not in (0, 1).

        Notes
        -----
        **Accuracy.** First order in the error of the masses. A value differs from the middle of its
        bin by at most half the width of the bin. The standard deviation of these differences is
        added on each side.

        **Cost.** O(bins times the rank of the covariance).

        Examples
        --------
        >>> import lapwing as lw
        >>> ages, bins = [25] * 400 + [45] * 600, lw.Interval(0, 100, bins=50)
        >>> rng = lw.seeded(1)  # for this example only
        >>> published = lw.release(ages, bins, epsilon=1, neighbors="replace-one", rng=rng)
        >>> low, high = published.distribution.variance_interval()
        >>> print(f"{low:.1f} to {high:.1f}")
        46.0 to 173.7
        """
        if self.cumulative.circle is not None:
            raise refuse_on_circle("variance")
        error_law = answering(self._present_uncertainty, target)
        if error_law is None:
            return None
        left, right = held_values(self.domain)
        return reaching(variance_interval(error_law, left, right, level), self.cumulative.variance)

    @inherits(mean_interval)
    def quantile_interval(
        self,
        probability: float,
        *,
        level: float = 0.95,
        kind: Kind = "pointwise",
        target: Target = "empirical",
        start: Any = None,
    ) -> tuple[Any, Any] | None:
        """Return an interval for one quantile, by inversion of the confidence band.

        It consists of whole bins. On a circle it may wrap around the end: the lower end is then
        after the upper one.

        Parameters
        ----------
        probability : float
            Probability of the quantile, in [0, 1]: 0.5 for the median.
        kind : {"pointwise", "simultaneous"}
            Whether the level holds for this quantile alone (default), or for the intervals of all
            quantiles at once.
        start : object, optional
            Place on a circle from which values are counted. It is required there, and only there.

        Returns
        -------
        tuple, or None
            Lower and upper end, in the type of :meth:`quantile`. An end beyond the range is
            infinite if the domain counts values outside. None without an error distribution.

        Raises
        ------
        ArgumentError
            When the probability is not one number in [0, 1], or the level is not in (0, 1). Also on
            a circle without a start, and on a line with one.

        Notes
        -----
        **Accuracy.** A band gives no information inside the bins, so the interval has at least one
        bin.

        **Cost.** That of :meth:`confidence_band`.

        Examples
        --------
        >>> import lapwing as lw
        >>> ages, bins = [25] * 400 + [45] * 600, lw.Interval(0, 100, bins=4)
        >>> rng = lw.seeded(1)  # for this example only
        >>> published = lw.release(ages, bins, epsilon=1, neighbors="replace-one", rng=rng)
        >>> published.distribution.quantile_interval(0.5)
        (25.0, 50.0)
        """
        if start is not None:
            places = self._quantile_arc(probability, start, level=level, kind=kind, target=target)
            if places is None:
                return None
            return to_interval(circle_from(self.domain, start)[0].arc(*places), self.domain)
        value = self.cumulative.quantile(probability)  # refuses what is no probability, and labels
        if value.ndim:
            raise ArgumentError("a quantile interval takes one probability, got several")
        band = self.confidence_band(level, kind=kind, target=target)
        if band is None:
            return None
        ends = quantile_ends(band, probability, float(value), self.domain)
        return to_interval(ends, self.domain)

    def _quantile_arc(
        self, probability: float, start: Any, *, level: float, kind: Kind, target: Target
    ) -> tuple[float, float] | None:
        """Return the interval of a quantile on a circle in numbers from its start on."""
        _, begin = circle_from(self.domain, start)
        value = self.cumulative.turned(begin).quantile(probability)
        if value.ndim:
            raise ArgumentError("a quantile interval takes one probability, got several")
        law = self._present_uncertainty
        if law is None:
            return None
        place = max(float(to_days(value, self.domain)), begin)
        how: Any = {"level": level, "kind": kind, "target": target}
        return quantile_arc(law, self.domain, probability, place, start=begin, **how)

    def share_interval(
        self, label: Any, *, level: float = 0.95, target: Target = "empirical", among: Among = "all"
    ) -> tuple[float, float] | None:
        """Return an interval for :meth:`share`.

        It holds for this one label. The intervals of :meth:`to_dict` hold for all labels at once.

        Parameters
        ----------
        label : object
            Label of the domain, a value in it, or None for the missing category.
        level : float
            Confidence level, in (0, 1). Default: 0.95.
        target : {"empirical", "population"}
            The people who reported (default), or all people from whom they were drawn.
        among : {"all", "present"}
            Share of all people (default), or of those whose value is present.

        Returns
        -------
        tuple of float, or None
            Lower and upper end of a pointwise interval, in [0, 1]. None without an error
            distribution.

        Raises
        ------
        ArgumentError
            When :meth:`share` refuses the label, or the level is not in (0, 1).

        Notes
        -----
        **Accuracy.** Among those present, the share is a ratio of two numbers with errors. Its
        interval is then a first-order one (delta method).

        **Cost.** O(bins times the rank of the covariance).

        Examples
        --------
        >>> import lapwing as lw
        >>> answers, rng = ["no"] * 400 + ["yes"] * 600, lw.seeded(1)  # for this example only
        >>> labels = lw.Categories(["no", "yes"])
        >>> published = lw.release(answers, labels, epsilon=1, neighbors="replace-one", rng=rng)
        >>> low, high = published.distribution.share_interval("yes")
        >>> print(f"{low:.1%} to {high:.1%}")
        59.3% to 60.3%
        """
        ends = ends_of_share(self, label, target, among)
        if ends is None:
            return None
        interval = ends.interval(level, least=0.0, most=1.0)
        return reaching(interval, self.share(label, among=among))

    def _warn_when_limited(self) -> None:
        """Warn, once, where a mean is not that of all values: somebody is outside the range."""
        if self._limited is None or "_warned" in self.__dict__:
            return
        self.__dict__["_warned"] = True
        share, low, high = self._limited
        outside = estimate_text(100 * share)
        warnings.warn(
            f"{outside}% of the {counted_word(self.guarantee)} are outside the range {low} to "
            f"{high}, so means and standard deviations are of values clipped to it. Declare a "
            "wider range to include them",
            LimitedWarning,
            stacklevel=callers_level(),
        )

    @cached_property
    def _limited(self) -> tuple[float, str, str] | None:
        """The share outside and the range, where the interval of that share lies above zero."""
        outside = self.domain.outside_indices
        if not outside or is_small(self):
            return None
        share = float(self.cumulative.mass[outside].sum())
        if 2 * share * self.reports < 1 <= self.reports:  # less than half a person
            return None
        law = answering(self._present_uncertainty, "empirical")
        if law is None:
            least = share
        else:
            weights = np.zeros(law.center.size)
            weights[outside] = 1.0
            reading = functional(law, weights)
            least = reading.value - reading.reach(0.95)
        ends = (self.domain.left[0], self.domain.right[-1])
        low, high = (to_text(float(end), unit=self.domain.unit) for end in ends)
        return (share, low, high) if min(least, share) > 0 else None


def warn_at_an_end(result: Any, *places: Places) -> None:
    """Warn, once, where a place cuts a bin at an end that many people seem to hold."""
    ends = [
        Places(np.asarray(point), np.asarray(before))
        for point in (float(result.domain.left[0]), float(result.domain.right[-1]))
        for before in (False, True)
        if any(((each.points == point) & (each.before == before)).any() for each in places)
    ]
    cut = {
        symbol: float(end.points)
        for end in ends
        if (symbol := end_symbol(result.domain, end)) is not None
    }
    if not cut or "_warned_at_an_end" in result.__dict__:
        return
    curve = result.cumulative
    for symbol in found_bins(result.atoms, curve.left, curve.right)[0].tolist():
        if symbol in cut:
            result.__dict__["_warned_at_an_end"] = True
            point = to_text(cut[symbol], unit=result.domain.unit)
            warnings.warn(
                f"the share at {point} may be anything up to the share of its bin, where "
                f"many {counted_word(result.guarantee)} seem to have the same value. Declare "
                f"{point} as an atom of the domain: atoms=[{point}] (--atom {point})",
                LimitedWarning,
                stacklevel=callers_level(),
            )
