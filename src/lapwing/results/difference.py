"""Two groups, or two periods, compared: what the first has more than the second, with bands."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from lapwing.documents import Stored, html_of, lines_of, require, require_format, require_spelling
from lapwing.errors import ArgumentError, FormatError, MismatchError, kind_of
from lapwing.linear.arrays import Vector
from lapwing.linear.memoized import cached_property
from lapwing.privacy.guarantee import Guarantee
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.domain_answers import to_places
from lapwing.protocol.domains.domain_text import domain_text
from lapwing.protocol.domains.ranges import Closed, symbol_places, to_spans
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.answer_text import summary_of
from lapwing.results.answers import difference_answer
from lapwing.results.band import (
    Among,
    DifferenceBand,
    Kind,
    check_level,
    cut_band,
    table_kind,
    to_zero,
)
from lapwing.results.circle import circle_from
from lapwing.results.counted import counted_word
from lapwing.results.cumulative import Cumulative
from lapwing.results.directions import (
    MeanDirection,
    mean_direction,
    quantile_arc,
    shift_interval,
)
from lapwing.results.intervals import Ends, mean_ends, probability_ends, reaching
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
from lapwing.results.readable import Columns, equal_results, frame_of, interval_columns
from lapwing.results.rounding import count_text
from lapwing.results.uncertainty import SIMULATED_LIMIT, Uncertainty

if TYPE_CHECKING:  # so that completion does not stumble over the words of a property
    from lapwing.results.band import Target

People = Literal["same", "different"]

VERSION = 1


def people_of(first: Comparable, second: Comparable) -> People:
    """Return "different" for two segments of one release or one set of tallies, else "same".

    Each person is in one segment only. Of two results that say nothing of it, the cautious word.
    """
    one, two = first.provenance, second.provenance
    segments = "segments_of" in one and one["segments_of"] == two.get("segments_of")
    return "different" if segments and one.get("segment") != two.get("segment") else "same"


_KINDS = set(get_args(Kind))


class Comparable(Protocol):
    """What a difference asks of each of the two; a Distribution has it."""

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
        """The promise under which the reports were collected."""
        ...

    @property
    def provenance(self) -> Mapping[str, Any]:
        """How it was made; of a survey whose answers are remembered, of which."""
        ...

    @property
    def _present_uncertainty(self) -> Uncertainty | None:
        """The error law among those whose value is present."""
        ...

    def share(self, label: Any, *, among: Among = "all") -> float:
        """Return the share of one symbol."""
        ...

    def _warn_when_limited(self) -> None:
        """Warn, once, where a mean is not that of all values."""
        ...

    def _share_ends(self, label: Any, target: Target, among: Among) -> Ends | None:
        """Return the least and the most that a share can be."""
        ...

    def to_dict(self, *, level: float = 0.95, kind: Kind | None = None) -> Columns:
        """Return a table as a dict of columns."""
        ...

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Difference(Stored):
    """Difference of two distributions: the first minus the second.

    Parameters
    ----------
    first, second : Distribution
        On the same domain.
    people : {"same", "different"}
        Whether somebody may stand in both (two periods) or nobody does (two groups). It decides
        the guarantee and nothing else. The cautious default is "same": then the privacy costs add
        up.
    target : {"population", "empirical"}
        Whom all intervals are about: the people from whom those of each side were drawn, or these
        very people. Two random halves of one table differ in the second sense, by chance, and not
        in the first.
    joint : mapping, optional
        The error law of the difference for each kind of band, where the two are of one series and
        share errors (:meth:`Series.between`). Bands come from it. Intervals of single numbers add
        the errors of the two, and are wider than they need be.

    Raises
    ------
    MismatchError
        When the domains differ; or when the two are of one survey whose answers are remembered, and
        somebody may stand in both: both reports of this person are about the first value, whatever
        it has become, so the difference says only who came and who left.
    ArgumentError
        When one is no Distribution, or `people` or `target` is none of its two words.

    Notes
    -----
    The randomness in the reports of the two is independent, also when the same people answered
    twice, so their error covariances add. The people drawn are independent only when nobody
    stands in both. With `target="population"` both samplings count as if they were independent,
    and :attr:`caution` says so where somebody may stand in both: intervals are wider than they
    need be where a person's two values are alike.

    Examples
    --------
    >>> from lapwing.results.distribution import Distribution
    >>> from lapwing.protocol.domains.interval import Interval
    >>> day = Interval(0, 24, bins=4)
    >>> before = Distribution.of_counts([1, 1, 1, 1], day)
    >>> after = Distribution.of_counts([0, 1, 1, 2], day)
    >>> change = before.difference(after)
    >>> float(change.cdf(6)), change.mean(), float(change.quantile(0.5))
    (0.25, -4.5, -6.0)
    """

    first: Comparable
    second: Comparable
    _: KW_ONLY
    people: People = "same"
    target: Target = "population"
    joint: Mapping[Kind, Uncertainty] | None = None

    _name: ClassVar = "a difference"
    __eq__ = equal_results

    def __post_init__(self) -> None:
        """Check that the two can be compared."""
        if self.people not in ("same", "different"):
            raise ArgumentError(f"people must be 'same' or 'different', got {self.people!r}")
        if self.target not in ("population", "empirical"):
            raise ArgumentError(f"target must be 'population' or 'empirical', got {self.target!r}")
        for one in (self.first, self.second):
            if not hasattr(one, "_present_uncertainty"):
                raise ArgumentError(
                    f"only two Distributions have a difference, got {kind_of(one)}; "
                    "project a signed estimate first"
                )
        if self.first.domain.to_document() != self.second.domain.to_document():
            raise MismatchError(
                "two distributions must be on the same domain to have a difference, these are "
                f"not; {_why(self.first.domain, self.second.domain)}"
            )
        if self._shared is not None:
            raise MismatchError(
                f"two periods of one survey with a {self._shared} have no difference: both reports "
                "of a person in both are about the first value, even if it changed, so it would "
                "show only who joined and who left; if nobody is in both, pass people='different'"
            )

    def __hash__(self) -> int:
        """Return a number that is equal for equal differences."""
        return hash((self.first, self.second, self.people, self.target))

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form: the two distributions, and how they belong together."""
        first, second = self.first, self.second
        laws = self.joint
        return {
            "format": "lapwing-difference",
            "version": VERSION,
            "first": first.to_document(),
            "second": second.to_document(),
            "people": self.people,
            "target": self.target,
            "joint": None if laws is None else {k: law.to_document() for k, law in laws.items()},
        }

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Return the difference that :meth:`to_document` wrote.

        Raises
        ------
        FormatError
            When it is none, of an unknown version or damaged.
        """
        require_format(document, name="lapwing-difference", version=VERSION)
        keys = {"format", "version", "first", "second", "people", "target", "joint"}
        require(document, keys, name="a difference")
        # By name: a Distribution makes differences, so its file imports this one.
        distribution = import_module("lapwing.results.distribution").Distribution
        first, second = (distribution.from_document(document[key]) for key in ("first", "second"))
        joint, symbols = document["joint"], first.domain.size
        if joint is not None and (not isinstance(joint, dict) or not set(joint) <= _KINDS):
            raise FormatError("the joint errors of a difference must be those of its bands")
        try:
            laws = joint and {
                kind: Uncertainty.from_document(law, symbols=symbols) for kind, law in joint.items()
            }
            people, target = document["people"], document["target"]
            found = cls(first, second, people=people, target=target, joint=laws)
        except (ArgumentError, MismatchError) as error:
            raise FormatError(f"the difference is damaged: {error}") from None
        require_spelling(document, found.to_document(), name="the difference")
        return found

    @property
    def _shared(self) -> Any:
        """What reports of one person in both have in common; None where it is nothing."""
        one, two = self.first.provenance, self.second.provenance
        same = self.people == "same" and one.get("survey") == two.get("survey")
        return one.get("answers") if same and "survey" in one else None

    @property
    def caution(self) -> str | None:
        """What it cannot tell, in a sentence; None where there is nothing to say."""
        if self.people == "same" and self.target == "population":
            return (
                "the people of both sides count as drawn on their own: where somebody is in both "
                "with like values, the intervals hold, and are wider than they need be"
            )
        return None

    def __repr__(self) -> str:
        """Return one line: what it is about, not its numbers."""
        kind = type(self.first.domain).__name__
        reports = f"{self.first.reports} and {self.second.reports} reports"
        return f"<Difference of two distributions on {kind}, {reports}, {self.people} people>"

    @property
    def guarantee(self) -> Guarantee | None:
        """What one person was promised by both together.

        Different people: each is in one group, so the weaker of the two promises. The same
        people: epsilons and deltas add. None when one has no guarantee, or theirs are of different
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
        )

    def _both(self, first: Fraction, second: Fraction) -> Fraction:
        return first + second if self.people == "same" else max(first, second)

    def cdf(self, points: ArrayLike) -> Vector:
        """Return P(value <= x) in the first minus that in the second, for each point."""
        one, two = self.first.cumulative, self.second.cumulative
        places = to_places(points, self.first.domain)
        return one.up_to(places) - two.up_to(places)

    def quantile(self, probabilities: ArrayLike, *, start: Any = None) -> Vector:
        """Return how much higher a quantile of the first is, in the unit of the values.

        On a circle both are counted from `start` on, as :meth:`Distribution.quantile`.

        A shift is a number: of days for dates, of seconds for moments and times of day. It is NaN
        where one of the two is outside the range: how far, nobody knows.
        """
        curves = [each.cumulative for each in (self.first, self.second)]
        if start is not None:
            _, begin = circle_from(self.first.domain, start)
            curves = [curve.turned(begin) for curve in curves]
        one, two = (curve.quantile(probabilities) for curve in curves)
        known = np.isfinite(one) & np.isfinite(two)
        shift: Vector = np.where(known, one, np.nan) - np.where(known, two, np.nan)
        return shift[()]

    def probability(self, low: Any, high: Any, *, closed: Closed | None = None) -> float:
        """Return the probability of a range in the first minus that in the second.

        The range is that of :meth:`Distribution.probability`.
        """
        spans = to_spans(low, high, self.first.domain, closed)
        return self.first.cumulative.between(spans) - self.second.cumulative.between(spans)

    def share(self, label: Any, *, among: Among = "all") -> float:
        """Return the share of a symbol in the first minus that in the second.

        Of all people or of those whose value is present, as :meth:`Distribution.share`.
        """
        return self.first.share(label, among=among) - self.second.share(label, among=among)

    def mean(self) -> float | None:
        """Return how much higher the mean of the first is, in the unit of the values.

        Both are means of values limited to the range, as :meth:`Distribution.mean`. On a circle it
        is the shorter way round from the mean direction of the second to that of the first:
        positive where the first is later. None where one of them has no clear middle.

        Returns
        -------
        float or None
            Shift of the mean. None where a mean has no clear middle.
        """
        for each in (self.first, self.second):
            each._warn_when_limited()
        shift = self._mean_shift(0.95)
        return None if math.isnan(shift) else shift

    def _mean_shift(self, level: float) -> float:
        """Return the shift of the mean; NaN where at this level one side has no clear middle."""
        shift = self.first.cumulative.mean - self.second.cumulative.mean
        circle = self.first.cumulative.circle
        if circle is None or math.isnan(shift):
            return shift
        clear = all(direction.is_clear for direction in self._directions(level))
        return circle.shorter(shift) if clear else math.nan

    def _directions(self, level: float) -> list[MeanDirection]:
        """Return the mean directions on a circle; none without error laws."""
        domain = self.first.domain
        return [mean_direction(law, domain, level) for law in self._error_laws() or ()]

    def probability_interval(
        self,
        low: Any,
        high: Any,
        *,
        closed: Closed | None = None,
        level: float = 0.95,
    ) -> tuple[float, float] | None:
        """Return an interval for :meth:`probability`; None when one has no error law."""
        error_laws = self._error_laws()
        if error_laws is None:
            return None
        domain = self.first.domain
        spans = to_spans(low, high, domain, closed)
        one, two = (probability_ends(each, domain, spans) for each in error_laws)
        interval = one.minus(two).interval(level, least=-1.0, most=1.0)
        return reaching(interval, self.probability(low, high, closed=closed))

    def share_interval(
        self,
        label: Any,
        *,
        level: float = 0.95,
        among: Among = "all",
    ) -> tuple[float, float] | None:
        """Return an interval for :meth:`share`; None when one has no error law."""
        one, two = (
            each._share_ends(label, self.target, among) for each in (self.first, self.second)
        )
        if one is None or two is None:
            return None
        interval = one.minus(two).interval(level, least=-1.0, most=1.0)
        return reaching(interval, self.share(label, among=among))

    def mean_interval(self, *, level: float = 0.95) -> tuple[float, float] | None:
        """Return an interval for :meth:`mean`; None when one has no error law.

        Values may lie anywhere inside their bins, in each of the two on its own. On a circle it is
        None where one of them has no clear middle. Its ends may then be more than half the circle
        from zero, where the two directions are nearly opposite.
        """
        error_laws = self._error_laws()
        if error_laws is None:
            return None
        circle, shift = self.first.cumulative.circle, self._mean_shift(level)
        if circle is not None:
            if math.isnan(shift):
                return None
            return shift_interval(*self._directions(level), circle=circle, shift=shift)
        left, right = self.first.domain.left, self.first.domain.right
        length = float(right[-1] - left[0])
        one, two = (mean_ends(each, left, right) for each in error_laws)
        interval = one.minus(two).interval(level, least=-length, most=length)
        return reaching(interval, shift)

    def quantile_interval(
        self, probability: float, *, level: float = 0.95, start: Any = None
    ) -> tuple[float, float] | None:
        """Return an interval for the shift of a quantile; None when one has no error law.

        On a circle it needs a `start`, as :meth:`quantile`.

        Each side has an interval of the level's square root; both hold with the level, because
        their errors are independent. They end at whole bins, and are infinite where one of these
        counts values outside the range. None where the shift is not known.
        """
        check_level(level)
        if np.ndim(probability):
            raise ArgumentError("a quantile interval is of one probability, got several")
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

    def confidence_band(
        self, level: float = 0.95, *, kind: Kind = "pointwise"
    ) -> DifferenceBand | None:
        """Return the band of the difference of the CDFs, or of shares; None when not computed.

        Parameters
        ----------
        level : float
            In (0, 1).
        kind : {"pointwise", "simultaneous"}
            Whether the level holds at each point alone, or for the whole curve at once.

        Returns
        -------
        DifferenceBand or None
            Confidence band. None without an error distribution.

        Notes
        -----
        A pointwise band is cut to the simultaneous one, as :meth:`Uncertainty.band` does.
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

    def _picture(
        self,
        *,
        level: float = 0.95,
        names: tuple[str, str] | None = None,
        limits: Limits | None = None,
    ) -> Curves | Bars:
        """Return the difference with its bands, as plain data: of the CDFs, or of the shares.

        Parameters
        ----------
        level : float
            Of the bands.
        names : (str, str), optional
            Of the two, for the labels.
        limits : (float, float), optional
            Of the axis of the values, in the numbers of the unit.
        """
        label = "{} less {}".format(*names or ("first", "second"))
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
            Axis.of_domain(domain, limits),
            (Line(one.x, one.y - two.y),),
            label=f"P(value ≤ x): {label}",
            bands=tuple(band for band in bands if band is not None),
            stepped=np.array_equal(domain.left, domain.right),
            signed=True,
            outside=bool(domain.outside_indices),
            title=self._title(names, limits),
        )

    def _title(self, names: tuple[str, str] | None, limits: Limits | None = None) -> str:
        """Return who is behind the two, and the promise to somebody in both or in one.

        Of limits, also which shares are beyond them.
        """
        one, two = names or ("first", "second")
        reports = count_text(self.first.reports), count_text(self.second.reports)
        words = [counted_word(each.guarantee) for each in (self.first, self.second)]
        people = f"{one}: {reports[0]} {words[0]}; {two}: {reports[1]}"
        if words[0] != words[1]:
            people += f" {words[1]}"
        promise = people_and_guarantee(0, self.guarantee)
        beyond = None
        if limits is not None:
            curves = self.first.cumulative, self.second.cumulative
            beyond = not_shown(self.first.domain, curves, limits)
        return "\n".join(filter(None, (people, promise, beyond)))

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
        return Curves(Axis.of_domain(domain, limits), lines, title=picture.title), picture

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
        """Draw both CDFs above their difference with its bands, or the differences of shares.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where the difference alone is drawn; a new figure of pyplot without it.
        level : float
            Of the bands.
        names : (str, str), optional
            Of the two, for the labels.
        xlim : (low, high), optional
            Ends of the axis of the values, as those of :meth:`Distribution.plot`.
        title, label : str, optional
            Of the picture, and of the values: what they are, and their unit.

        Returns
        -------
        matplotlib.axes.Axes
            Those of the difference.
        """
        pictures = self._pictures(level=level, names=names, xlim=xlim)
        return show(*pictures, ax=ax, title=title, label=label)

    def to_dict(self, *, level: float = 0.95, kind: Kind | None = None) -> Columns:
        """Return a table as a dict of columns, one row for each symbol of the domain.

        Parameters
        ----------
        level : float
            Of the intervals, in (0, 1).
        kind : {"pointwise", "simultaneous"}, optional
            Whether the level holds for each row alone, or for all rows at once. Default:
            simultaneous for labels, pointwise for numbers.

        Returns
        -------
        dict of str to list
            The columns of :meth:`Distribution.to_dict`, each the first less the second: `share`
            of all people, and `cdf` with its interval `low` and `high` of those whose value is
            present; of labels `share` with its interval. The column `interval` has its kind.
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
        shown |= interval_columns(band, len(one["low"]))
        if ordered and band is not None and self.first.domain.outside_indices:
            # People with exactly `low` are in the next symbol, of each of the two.
            both: list[Any] = [self.first, self.second]
            most = [side.confidence_band(level, kind=kind, target=self.target) for side in both]
            first, second = (each.high[1] - each.low[0] for each in most if each is not None)
            shown["low"][0] = max(shown["low"][0] - float(second), -1.0)
            shown["high"][0] = min(shown["high"][0] + float(first), 1.0)
        return shown

    def to_pandas(self, *, level: float = 0.95, kind: Kind | None = None) -> Any:
        """Return :meth:`to_dict` as a pandas DataFrame; MissingExtraError without pandas."""
        return frame_of(self.to_dict(level=level, kind=kind))

    def summary(self, *, level: float = 0.95) -> str:
        """Return a few lines for people: the shifts, and whether the two differ."""
        return lines_of(self._facts(level))

    def _repr_html_(self) -> str:
        """Return the summary as a notebook shows it."""
        return html_of(self._facts(0.95))

    def _facts(self, level: float) -> dict[str, str]:
        request = AnswerRequest(level=level, probabilities=(0.25, 0.5, 0.75))
        return summary_of(difference_answer(self, request))

    def _error_laws(self, kind: Kind = "simultaneous") -> tuple[Uncertainty, Uncertainty] | None:
        """Return the error laws of the two about the target; None when one of them has none.

        The default kind is that from which single numbers are answered
        (:func:`lapwing.results.intervals.answering`).
        """
        one, two = self.first._present_uncertainty, self.second._present_uncertainty
        if one is None or two is None:
            return None
        return one.about(kind, self.target), two.about(kind, self.target)

    def _error_law(self, kind: Kind) -> Uncertainty | None:
        """Return the error law of the difference: independent errors add."""
        if self.joint is not None:
            return self._joint_law(self.joint[kind])
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
        )

    def _joint_law(self, law: Uncertainty) -> Uncertainty:
        """Return the error law of two weeks about the target: each week's people are a sample."""
        if self.target == "empirical":
            return law
        for each in (self.first, self.second):
            of_week = each._present_uncertainty
            if of_week is not None:
                law = replace(law, noise=law.noise + of_week.sampling)
        return law


def _laplace_of(one: Uncertainty, two: Uncertainty) -> float | None:
    """Return the variance of one Laplace error with the kurtosis of the two; None without any."""
    if one.laplace is None and two.laplace is None:
        return None
    return math.hypot(one.laplace or 0.0, two.laplace or 0.0)


def _why(one: Domain, two: Domain) -> str:
    """Say what removes the difference of two domains."""
    first, second = one.to_document(), two.to_document()
    rest = [{**each, "missing": None} for each in (first, second)]
    if rest[0] == rest[1]:
        return (
            "only one of them counts missing values, as each release of a curator does; declare "
            f"missing={'category' if not one.ordered else 'bin'!r} in the domain of the survey, "
            "too (--missing), before its reports are collected"
        )
    rest = [{**each, "missing": None, "outside": None} for each in (first, second)]
    if rest[0] == rest[1]:
        return (
            "they count values outside the range differently; declare the same outside= in both "
            "domains (--outside)"
        )
    if not one.ordered and not two.ordered:
        return "their labels are others, or stand in another order"
    both = f"the first is {domain_text(one)}, the second {domain_text(two)}"
    return f"{both}; decode both at the same bins"


def _less(one: Any, other: Any) -> Any:
    return None if one is None or other is None else one - other
