"""Two groups or periods compared: the first minus the second, with bands."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from lapwing.docstrings import inherits
from lapwing.errors import ArgumentError, MismatchError, kind_of
from lapwing.linear.arrays import Vector
from lapwing.privacy.guarantee import Guarantee, weakest_standing
from lapwing.protocol.domains.ranges import Closed, to_places, to_spans
from lapwing.registry import class_of
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.answer_text import summary_of
from lapwing.results.answers import difference_answer
from lapwing.results.counted import counted_word, whom_of
from lapwing.results.difference_intervals import (
    Comparable,
    DifferenceIntervals,
    People,
    domain_mismatch,
    people_of,
)
from lapwing.results.directions import circle_from, mean_shift
from lapwing.results.exact_values import EXACT, StoredResult, is_exact
from lapwing.results.picture import (
    Axis,
    Bars,
    Curves,
    Limits,
    Line,
    Picture,
    limits_of,
    not_shown,
    people_and_guarantee,
)
from lapwing.results.plotting import show
from lapwing.results.readable import Columns, TabularResult, equal_results, interval_columns
from lapwing.results.rounding import count_text
from lapwing.results.signed_estimate import SignedEstimate
from lapwing.results.symbols import measured_in
from lapwing.results.unanswered import unless_few
from lapwing.results.uncertainty import Among, Kind, Uncertainty, table_kind
from lapwing.stored_fields import Coded, FromFields

if TYPE_CHECKING:  # so that completion does not stumble over the words of a property
    from lapwing.results.uncertainty import Target

__all__ = ["Comparable", "Difference", "People", "people_of"]

# By its format: a Distribution makes differences, so its file imports this one.
_SIDE = Coded(
    lambda side: side.to_document(),
    lambda document, _: class_of("lapwing-distribution").from_document(document),
)

Side = Annotated[Comparable, _SIDE]
"""A field that holds a distribution."""


@dataclass(frozen=True, eq=False, repr=False)
class Difference(DifferenceIntervals, TabularResult, FromFields, StoredResult):
    """Difference of two distributions: the first minus the second.

    Parameters
    ----------
    first, second : Distribution
        Two distributions on the same domain.
    people : {"same", "different"}
        "same" if a person may have contributed to both, as in two periods. "different" if nobody
        did, as in two groups. This determines the guarantee. Default: "same", the cautious choice,
        under which the privacy parameters add.
    target : {"population", "empirical"}
        Whether all intervals are for the people from whom both sides were drawn (default), or for
        the people who reported. Two random halves of one table differ by chance in the second
        sense, but not in the first.
    joint : mapping, optional
        Error distribution of the difference for each kind of band, if the two are from one series
        and share errors (:meth:`Series.between`). Bands come from it. Intervals of single numbers
        add the errors of the two, and are wider than necessary.

    Raises
    ------
    MismatchError
        When the domains differ. Also when both are from one survey with memoized reports and the
        same people may be in both. Each of their reports is about their first value, so the
        difference would show only the effect of people who joined or left.
    ArgumentError
        When one is not a Distribution, or when `people` or `target` is none of its allowed words.

    Notes
    -----
    **Accuracy.** The randomness in the two sets of reports is independent, even if the same people
    answered twice. So their error covariances add. The two samples of people are independent only
    if nobody is in both. With `target="population"` both samplings count as independent, and
    :attr:`caution` says so if a person may be in both. If a person's two values are similar,
    intervals are then wider than necessary.

    If one of the two has too few people for an interval, points are NaN, as in
    :class:`Distribution`.

    **Cost.** That of the same question asked of both sides.

    Examples
    --------
    >>> import lapwing as lw
    >>> day = lw.Interval(0, 24, bins=4)
    >>> before = lw.Distribution.of_counts([1, 1, 1, 1], day)
    >>> after = lw.Distribution.of_counts([0, 1, 1, 2], day)
    >>> change = after.difference(before)
    >>> float(change.cdf(6)), change.mean(), float(change.quantile(0.5))
    (-0.25, 4.5, 6.0)
    """

    first: Side
    second: Side
    _: KW_ONLY
    people: People = "same"
    target: Target = "population"
    joint: Mapping[Kind, Uncertainty] | None = None

    _kind: ClassVar[Literal["difference"]] = "difference"
    _name: ClassVar = "a difference"
    __eq__ = equal_results

    def __post_init__(self) -> None:
        """Check that the two can be compared."""
        if self.people not in ("same", "different"):
            raise ArgumentError("people", "must be 'same' or 'different'", repr(self.people))
        if self.target not in ("population", "empirical"):
            raise ArgumentError("target", "must be 'population' or 'empirical'", repr(self.target))
        for one in (self.first, self.second):
            if not hasattr(one, "_present_uncertainty"):
                raise ArgumentError(
                    f"only two Distributions have a difference, got {kind_of(one)}. "
                    "Project a signed estimate first"
                )
        if self.first.domain.to_document() != self.second.domain.to_document():
            raise MismatchError(
                "two distributions must have the same domain to be compared. These do not: "
                f"{domain_mismatch(self.first.domain, self.second.domain)}"
            )
        if self._shared is not None:
            raise MismatchError(
                f"two periods of a survey with a {self._shared} cannot be compared. A person's "
                "reports are about the first value, even if it changed, so a difference would "
                "show only who joined and who left. If nobody is in both, pass "
                "people='different'"
            )

    def __hash__(self) -> int:
        """Return a number that is equal for equal differences."""
        return hash((self.first, self.second, self.people, self.target))

    @property
    def _made_of(self) -> tuple[Comparable, Comparable]:
        """Both sides: exact values in one make the difference exact."""
        return self.first, self.second

    @property
    def _shared(self) -> Any:
        """What reports of one person in both have in common. None where it is nothing."""
        one, two = self.first.provenance, self.second.provenance
        same = self.people == "same" and one.get("survey") == two.get("survey")
        return one.get("answers") if same and "survey" in one else None

    @property
    def caution(self) -> str | None:
        """Sentence about a limitation of the intervals. None if there is nothing to say."""
        if self.people == "same" and self.target == "population":
            return (
                "both samples are treated as independent. If many are in both, the intervals are "
                "conservative"
            )
        return None

    def __repr__(self) -> str:
        """Return one line: what it is about, not its numbers."""
        kind = type(self.first.domain).__name__
        said = f"{self.first.reports} and {self.second.reports} reports, {self.people} people"
        said += f", {EXACT}" if is_exact(self) else ""
        return f"<Difference of two distributions on {kind}, {said}>"

    @property
    def guarantee(self) -> Guarantee | None:
        """Privacy guarantee of one person from both together.

        Different people: each is in one group, so it is the weaker of the two guarantees. The same
        people: epsilons and deltas add. None if one has no guarantee, or if they have different
        models or neighbors.
        """
        one, two = self.first.guarantee, self.second.guarantee
        if one is None or two is None:
            return None
        if (one.model, one.neighbors, one.unit) != (two.model, two.neighbors, two.unit):
            return None
        lifetime = None
        if one.lifetime is not None or two.lifetime is not None:
            lifetime = self._both(one.lifetime or one.epsilon, two.lifetime or two.epsilon)
        return Guarantee(
            self._both(one.epsilon, two.epsilon),
            self._both(one.delta, two.delta),
            one.neighbors,
            one.model,
            lifetime=lifetime,
            unit=one.unit,
            standing=weakest_standing(one.standing, two.standing),
        )

    def _both(self, first: Fraction, second: Fraction) -> Fraction:
        return first + second if self.people == "same" else max(first, second)

    @unless_few
    @inherits(SignedEstimate.cdf)
    def cdf(self, points: ArrayLike) -> Vector:
        """Return P(value <= x) in the first minus that in the second, for each point.

        Returns
        -------
        numpy.ndarray
            Differences of probabilities in [-1, 1], float64, in the shape of `points`.

        Examples
        --------
        >>> import lapwing as lw
        >>> day = lw.Interval(0, 24, bins=4)
        >>> before = lw.Distribution.of_counts([1, 1, 1, 1], day)
        >>> after = lw.Distribution.of_counts([0, 1, 1, 2], day)
        >>> after.difference(before).cdf([6, 12, 18]).tolist()
        [-0.25, -0.25, -0.25]
        """
        one, two = self.first.cumulative, self.second.cumulative
        places = to_places(points, self.first.domain)
        return one.up_to(places) - two.up_to(places)

    @unless_few
    def quantile(self, probabilities: ArrayLike, *, start: Any = None) -> Vector:
        """Return how much higher a quantile is in the first than in the second.

        Parameters
        ----------
        probabilities : array_like
            Probabilities in [0, 1].
        start : object, optional
            Place on a circle from which both are counted, as for :meth:`Distribution.quantile`. It
            is required there, and only there.

        Returns
        -------
        numpy.ndarray
            Shifts in the unit of the values, float64, in the shape of `probabilities`: days for
            dates, seconds for timestamps and times of day. NaN if one of the two quantiles is
            outside the range, because its distance is not known.

        Raises
        ------
        ArgumentError
            When a probability is not in [0, 1]. Also on a circle without a start, and on a line
            with one.
        DomainError
            When the domain has categories.

        Examples
        --------
        >>> import lapwing as lw
        >>> day = lw.Interval(0, 24, bins=4)
        >>> before = lw.Distribution.of_counts([1, 1, 1, 1], day)
        >>> after = lw.Distribution.of_counts([0, 1, 1, 2], day)
        >>> float(after.difference(before).quantile(0.5))
        6.0
        """
        curves = [each.cumulative for each in (self.first, self.second)]
        if start is not None:
            _, begin = circle_from(self.first.domain, start)
            curves = [curve.turned(begin) for curve in curves]
        one, two = (curve.quantile(probabilities) for curve in curves)
        known = np.isfinite(one) & np.isfinite(two)
        shift: Vector = np.where(known, one, np.nan) - np.where(known, two, np.nan)
        return shift[()]

    @unless_few
    @inherits(SignedEstimate.probability)
    def probability(self, low: Any, high: Any, *, closed: Closed | None = None) -> float:
        """Return the probability of a range in the first minus that in the second.

        Parameters
        ----------
        low, high : float, or a date or time
            Ends of the range, as for :meth:`Distribution.probability`.
        closed : {"left", "right", "both", "neither"}, optional
            Ends that belong to the range, as for :meth:`Distribution.probability`.

        Returns
        -------
        float
            Difference of the two probabilities, in [-1, 1].

        Examples
        --------
        >>> import lapwing as lw
        >>> day = lw.Interval(0, 24, bins=4)
        >>> before = lw.Distribution.of_counts([1, 1, 1, 1], day)
        >>> after = lw.Distribution.of_counts([0, 1, 1, 2], day)
        >>> after.difference(before).probability(18, 24)
        0.25
        """
        spans = to_spans(low, high, self.first.domain, closed)
        return self.first.cumulative.between(spans) - self.second.cumulative.between(spans)

    @unless_few
    def share(self, label: Any, *, among: Among = "all") -> float:
        """Return the share of a category or bin in the first minus that in the second.

        Parameters
        ----------
        label : object
            Label of the domain, a value in it, or None for the missing category.
        among : {"all", "present"}
            Shares of all people (default), or of those whose value is present.

        Returns
        -------
        float
            Difference of the two shares, in [-1, 1].

        Raises
        ------
        DomainError
            When there is no such label, or the value is not in the domain.
        ArgumentError
            When :meth:`Distribution.share` refuses the label.
        """
        return self.first.share(label, among=among) - self.second.share(label, among=among)

    @unless_few
    def mean(self) -> float | None:
        """Return how much higher the mean is in the first, in the unit of the values.

        On a circle it is the shorter way around from the mean direction of the second to that of
        the first. It is positive if the first is later.

        Returns
        -------
        float or None
            Shift of the mean. None if one of the two has no clear middle on a circle.

        Raises
        ------
        DomainError
            When the domain has categories.

        Notes
        -----
        **Accuracy.** Both are means of values limited to the range, as in
        :meth:`Distribution.mean`.
        """
        for each in (self.first, self.second):
            each._warn_when_limited()
        shift = mean_shift(self, 0.95)
        return None if math.isnan(shift) else shift

    def _picture(
        self,
        *,
        level: float = 0.95,
        names: tuple[str, str] | None = None,
        limits: Limits | None = None,
    ) -> Curves | Bars:
        """Return the difference with its bands, as plain data: of the CDFs, or of the shares.

        level: Of the bands.
        names: Of the two, for the labels.
        limits: Of the axis of the values, in the numbers of the unit.
        """
        label = "{} minus {}".format(*names or ("first", "second"))
        domain = self.first.domain
        if not domain.ordered:
            gaps = self.first.mass - self.second.mass
            band = self._shown_band(level)
            return Bars.of_symbols(
                domain, gaps, band, label=f"share: {label}", title=self._title(names), signed=True
            )
        one, two = (Line.of_cdf(each.cumulative) for each in (self.first, self.second))
        kinds: tuple[Kind, ...] = ("simultaneous", "pointwise")
        bands = (self.confidence_band(level, kind=kind) for kind in kinds)
        return Curves(
            self._axis(limits),
            (Line(one.x, one.y - two.y),),
            label=f"P(value ≤ x): {label}",
            bands=tuple(band for band in bands if band is not None),
            stepped=np.array_equal(domain.left, domain.right),
            signed=True,
            outside=bool(domain.outside_indices),
            title=self._title(names, limits),
        )

    def _axis(self, limits: Limits | None) -> Axis:
        """Return the axis of both, with their unit of measurement where they have the same."""
        one, two = (measured_in(each) for each in (self.first, self.second))
        unit = one if one == two else None
        return Axis.of_domain(self.first.domain, limits, measured_in=unit)

    def _title(self, names: tuple[str, str] | None, limits: Limits | None = None) -> str:
        """Return who is behind the two, and the privacy guarantee to somebody in both or in one.

        Of limits, also which shares are beyond them.
        """
        one, two = names or ("first", "second")
        reports = count_text(self.first.reports), count_text(self.second.reports)
        words = [counted_word(each.guarantee) for each in (self.first, self.second)]
        people = f"{one}: {reports[0]} {words[0]}; {two}: {reports[1]}"
        if words[0] != words[1]:
            people += f" {words[1]}"
        promise = people_and_guarantee(0, self.guarantee, exact=is_exact(self))
        beyond = None
        if limits is not None:
            curves = self.first.cumulative, self.second.cumulative
            beyond = not_shown(self.first.domain, curves, limits)
        known = all(each._present_uncertainty is not None for each in self._made_of)
        about = f"intervals about {whom_of(self, self.target)}" if known else None
        said = "; ".join(filter(None, (people, about)))
        return "\n".join(filter(None, (said, promise, beyond)))

    def _pictures(
        self,
        *,
        level: float = 0.95,
        names: tuple[str, str] | None = None,
        xlim: tuple[Any, Any] | None = None,
    ) -> tuple[Picture, ...]:
        """Return what a figure of it shows: both CDFs above their difference, or of shares that."""
        domain = self.first.domain
        if not domain.ordered:
            return (self._picture(level=level, names=names),)
        limits = limits_of(domain, [self.first.cumulative, self.second.cumulative], xlim)
        picture = self._picture(level=level, names=names, limits=limits)
        one, two = names or ("first", "second")
        lines = (
            Line.of_cdf(self.first.cumulative, "first", one),
            Line.of_cdf(self.second.cumulative, "second", two),
        )
        return Curves(self._axis(limits), lines, title=picture.title), picture

    def plot(
        self,
        ax: Any = None,
        *,
        level: float = 0.95,
        names: tuple[str, str] | None = None,
        xlim: tuple[Any, Any] | None = None,
        title: str | None = None,
        label: str | None = None,
    ) -> Any:
        """Draw both CDFs above their difference and its bands, or draw the differences of shares.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes for the difference alone. Default: a new pyplot figure.
        level : float
            Level of the bands, in (0, 1). Default: 0.95.
        names : (str, str), optional
            Names of the two results, used in labels. Default: "first" and "second".
        xlim : (low, high), optional
            Limits of the x-axis, as for :meth:`Distribution.plot`.
        title : str, optional
            Title of the picture.
        label : str, optional
            Name of the values, with their unit.

        Returns
        -------
        matplotlib.axes.Axes
            Axes of the difference.

        Raises
        ------
        MissingExtraError
            When matplotlib is not installed.
        """
        pictures = self._pictures(level=level, names=names, xlim=xlim)
        return show(*pictures, ax=ax, title=title, label=label)

    def to_dict(self, *, level: float = 0.95, kind: Kind | None = None) -> Columns:
        """Return a table as a dict of columns, one row for each bin or category.

        Returns
        -------
        dict of str to list
            Columns of :meth:`Distribution.to_dict`, each the first minus the second. Numbers have
            `share` for all people, and `cdf` with its interval `low` and `high` for those whose
            value is present. Labels have `share` with its interval. The columns `interval` and
            `about` state the kind of the intervals and whom they are about.

        Examples
        --------
        >>> import lapwing as lw
        >>> labels = lw.Categories(["no", "yes"])
        >>> before = lw.Distribution.of_counts([3, 1], labels)
        >>> after = lw.Distribution.of_counts([2, 2], labels)
        >>> table = after.difference(before).to_dict()
        >>> table["label"], table["share"]
        (['no', 'yes'], [-0.25, 0.25])
        """
        ordered = self.first.domain.ordered
        kind = kind or table_kind(ordered=ordered)
        band = self.confidence_band(level, kind=kind) if ordered else self._shown_band(level, kind)
        # Their own intervals are not shown, so the cheap ones do.
        sides = (self.first, self.second)
        one, two = (each.to_dict(level=level, kind="pointwise") for each in sides)
        shown: Columns = dict(one)
        for name in ("share", "share_of_present", "cdf"):
            if name in one:
                shown[name] = list(map(_less, one[name], two[name]))
        shown |= interval_columns(band, len(one["low"]), whom_of(self, self.target))
        return shown

    def _facts(self, level: float) -> dict[str, str]:
        request = AnswerRequest(level=level, probabilities=(0.25, 0.5, 0.75))
        return summary_of(difference_answer(self, request))


def _less(one: Any, other: Any) -> Any:
    return None if one is None or other is None else one - other
