"""The result: a distribution with its guarantee, its uncertainty and how it was made."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from math import isnan
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing.documents import Stored, html_of, lines_of, require, require_format, require_spelling
from lapwing.errors import ArgumentError, DomainError, FormatError, LimitedWarning
from lapwing.linear.arrays import Values, Vector, as_numbers
from lapwing.linear.memoized import cached_property
from lapwing.privacy.exact_numbers import check_whole
from lapwing.privacy.guarantee import Guarantee
from lapwing.privacy.sampling.randomness import generator_of
from lapwing.protocol.domains.domain import Domain, require_domain
from lapwing.protocol.domains.domain_answers import (
    to_days,
    to_places,
    to_points,
    to_values,
)
from lapwing.protocol.domains.ranges import Closed, to_spans
from lapwing.protocol.domains.units import to_text
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.answer_text import summary_of
from lapwing.results.answers import result_answer, table_columns
from lapwing.results.atoms import Atom, atoms_at, found_bins
from lapwing.results.band import Among, Kind, Target, table_kind
from lapwing.results.circle import circle_from
from lapwing.results.counted import counted_word
from lapwing.results.cumulative import Cumulative
from lapwing.results.difference import Difference, People, people_of
from lapwing.results.distribution_intervals import DistributionIntervals
from lapwing.results.intervals import (
    answering,
    functional,
)
from lapwing.results.picture import Picture, pictures_of
from lapwing.results.plotting import show
from lapwing.results.readable import Columns, equal_results, frame_of, hash_of_result
from lapwing.results.rounding import estimate_text
from lapwing.results.signed_estimate import (
    DOCUMENT_KEYS,
    VERSION,
    SignedEstimate,
    estimate_document,
    estimate_fields,
)
from lapwing.results.steps import Detail, Steps, check_detail
from lapwing.results.symbols import (
    counts_of_values,
    drawn_values,
    one_for_each_symbol,
    share_symbol,
)
from lapwing.results.uncertainty import Uncertainty


@dataclass(frozen=True, eq=False, repr=False)
class Distribution(DistributionIntervals, Stored):
    """Probability distribution over the bins or categories of a domain.

    Its masses are not negative and sum to one.

    On an interval the CDF is linear within bins and steps at atoms; on whole numbers it steps;
    categories have shares only. With a declared missing symbol, all of `cdf`, `quantile`, `mean`
    and `variance` are among those whose value is present, and ``share(None)`` is the rest;
    `mass`, and :meth:`share` unless it is told otherwise, are of all people.

    Parameters
    ----------
    domain : Domain
        Domain of the values.
    mass : numpy.ndarray
        Shares of the bins or categories, float64 [domain.size].
    reports : int
        People behind it; 0 for a distribution that was not estimated.
    guarantee : Guarantee, optional
        The privacy guarantee under which the reports were collected.
    uncertainty : Uncertainty, optional
        Its error law, computed when it was decoded. Without one there is no band.
    provenance : dict
        How it was made: decoder, iterations, whether it converged. JSON values only.
    signed : SignedEstimate, optional
        The estimate before it became a distribution, which may be negative. A decoder keeps it
        on request: ``LeastSquares(signed=True)``.

    Examples
    --------
    >>> from lapwing.protocol.domains.interval import Interval
    >>> thirds = Distribution(Interval(0, 3, bins=3), np.array([0.5, 0.25, 0.25]))
    >>> float(thirds.cdf(1)), float(thirds.quantile(0.75)), thirds.probability(0, 2), thirds.mean()
    (0.5, 2.0, 0.75, 1.25)
    """

    domain: Domain
    mass: NDArray[np.float64]
    reports: int = 0
    guarantee: Guarantee | None = None
    uncertainty: Uncertainty | None = None
    provenance: dict[str, Any] = field(default_factory=dict)
    signed: SignedEstimate | None = None
    _kind: ClassVar[Literal["distribution"]] = "distribution"

    _name: ClassVar = "a distribution"
    __eq__ = equal_results
    __hash__ = hash_of_result

    def __post_init__(self) -> None:
        """Check that it is a distribution, and freeze it."""
        mass = one_for_each_symbol(self.mass, self.domain)
        if not np.isfinite(mass).all() or mass.min() < 0 or abs(float(mass.sum()) - 1) > 1e-6:
            raise ArgumentError(
                "masses must be finite, not negative and sum to 1; project a signed estimate first"
            )
        # A sum that is one but for rounding is left alone, so that storing changes no bit.
        if abs(float(mass.sum()) - 1) > 1e-12:
            mass /= mass.sum()
        mass.flags.writeable = False
        object.__setattr__(self, "mass", mass)
        if self.signed is not None:
            # Whoever replaces the domain or the guarantee replaces them of both.
            shared = ("domain", "reports", "guarantee", "provenance")
            changes = {name: getattr(self, name) for name in shared}
            object.__setattr__(self, "signed", replace(self.signed, **changes))

    def __repr__(self) -> str:
        """Return one line: what it is about, not its numbers."""
        kind = type(self.domain).__name__
        promise = f", {self.guarantee}" if self.guarantee else ""
        size = self.domain.size
        return f"<Distribution on {kind} of {size} symbols, {self.reports} reports{promise}>"

    @classmethod
    def of_values(cls, values: Values, domain: Domain) -> Distribution:
        """Return the empirical distribution of raw values in the bins of a domain."""
        require_domain(domain)
        return cls.of_counts(np.bincount(domain.index(values), minlength=domain.size), domain)

    @classmethod
    def of_counts(cls, counts: ArrayLike, domain: Domain) -> Distribution:
        """Return the empirical distribution with these counts of the symbols.

        Without counts of the symbols below and above the range, nobody is there.
        """
        require_domain(domain)
        numbers = as_numbers(counts, name="counts")
        if numbers.ndim != 1 or not 0 < numbers.sum() < np.inf:
            raise ArgumentError("counts must be a list with a positive sum")
        numbers = domain.with_nobody_outside(numbers)
        return cls(domain, numbers / numbers.sum(), reports=int(numbers.sum()))

    @cached_property
    def cumulative(self) -> Cumulative:
        """The CDF among those whose value is present; DomainError for categories."""
        if self.mass[: self.domain.left.size].sum() <= 0:
            raise ArgumentError("all mass is on the missing symbol, so there is no CDF")
        curve = Cumulative.on(self.domain, self.mass)
        return replace(curve, warn=self._warn_when_limited) if curve.outside else curve

    def pdf(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return the density, per unit of the values; infinite at an atom that holds mass."""
        return self.cumulative.density(to_points(points, unit=self.domain.unit))

    def cdf(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return P(value <= x) for each point, among those whose value is present.

        Points, and the ends of ranges, are dates or times where the domain's values are. A date is
        a whole day, which counts: ``cdf("2026-06-30")`` holds those whose date is just that.

        Where the domain counts values outside its range, a point above `high` is answered with the
        share up to `high`, and a point below `low` with the share below `low`.

        Parameters
        ----------
        points : array_like
            Points in the unit of the values.

        Returns
        -------
        numpy.ndarray
            Probabilities in [0, 1], float64, in the shape of `points`.
        """
        return np.minimum(self.cumulative.up_to(to_places(points, self.domain)), 1.0)

    def quantile(self, probabilities: ArrayLike, *, start: Any = None) -> NDArray[Any]:
        """Return the smallest x with P(value <= x) >= p, for each p in [0, 1].

        On a circle values are counted from `start` on, once round: ``start="12:00"`` for times
        around midnight. Elsewhere there is no start.

        Values are floats, datetime64 for dates and moments, texts ("09:30:00") for times of day:
        see `lapwing.protocol.domains.domain_answers`. :attr:`cumulative` has plain numbers of all.
        A quantile above the range is ``inf`` and one below it ``-inf``: nobody knows how far.

        Parameters
        ----------
        probabilities : array_like
            Probabilities in [0, 1].
        start : object, optional
            Place on a circle from which values are counted. Required there only.

        Returns
        -------
        numpy.ndarray
            Quantiles in the shape of `probabilities`.

        Raises
        ------
        ArgumentError
            When a probability is not in [0, 1]; on a circle without a start.
        """
        places = self._quantile_places(probabilities, start)
        found: NDArray[Any] = to_values(places, self.domain)
        return found

    def _quantile_places(self, probabilities: ArrayLike, start: Any) -> Vector:
        """Return quantiles in numbers of the line, of dates whole days."""
        if start is None:
            return to_days(self.cumulative.quantile(probabilities), self.domain)
        circle, begin = circle_from(self.domain, start)
        days = to_days(self.cumulative.turned(begin).quantile(probabilities), self.domain)
        places: Vector = circle.wrapped(np.maximum(days, begin))
        return places

    def probability(self, low: Any, high: Any, *, closed: Closed | None = None) -> float:
        """Return the probability of a range, among those whose value is present.

        Parameters
        ----------
        low, high : float, or a date or time
            With ``low <= high``; both may be infinite. On a circle a range may go round the end:
            ``probability("22:00", "02:00")``.
        closed : {"left", "right", "both", "neither"}, optional
            Which ends belong to the range. Default: the end that belongs to the bins, so that
            edges of bins are exact: ``low < value <= high`` for numbers, ``low <= value < high``
            for dates, times and circles.

        Returns
        -------
        float
            Probability in [0, 1].
        """
        return min(self.cumulative.between(to_spans(low, high, self.domain, closed)), 1.0)

    def mean(self) -> Any:
        """Return the expected value, as :meth:`quantile` does; a float for numbers.

        It is the mean of values limited to the range of the domain: who is outside counts at the
        nearest end. A LimitedWarning comes once where somebody is outside, beyond chance.

        On a circle it is the direction of the mean resultant vector. It is None, "no clear middle",
        where the mean resultant length may be zero: where its 95 % interval holds that.

        Returns
        -------
        object
            Mean, or None where a circle has no clear middle.
        """
        self._warn_when_limited()
        mean = self.cumulative.mean
        if isnan(mean) or not self._has_middle(0.95, "empirical"):
            return None
        return mean if self.domain.unit == "number" else to_values(mean, self.domain)

    def variance(self) -> float:
        """Return the variance, in the squared unit of the domain; its root is the deviation.

        ``cumulative.moment(k)`` is the mean of value ** k. Both are of values limited to the range
        of the domain, as :meth:`mean`. ArgumentError on a circle, which has neither.
        """
        self._warn_when_limited()
        return self.cumulative.variance

    def std(self) -> float:
        """Return the standard deviation, in the unit of the domain: of times in seconds.

        On a circle it is ``sqrt(-2 ln R)`` radians, with the mean resultant length R, which is
        ``cumulative.resultant_length``. It is infinite where R is zero.
        """
        self._warn_when_limited()
        return self.cumulative.std

    def _warn_when_limited(self) -> None:
        """Warn, once, where a mean is not that of all values: somebody is outside the range."""
        if self._limited is None or "_warned" in self.__dict__:
            return
        self.__dict__["_warned"] = True
        share, low, high = self._limited
        outside = estimate_text(100 * share)
        warnings.warn(
            f"{outside} % of the {counted_word(self.guarantee)} are outside the range {low} to "
            f"{high}, so means "
            "and deviations are those of values limited to it; declare a wider range to include "
            "theirs",
            LimitedWarning,
            stacklevel=3,
        )

    @cached_property
    def _limited(self) -> tuple[float, str, str] | None:
        """The share outside and the range, where the interval of that share lies above zero."""
        outside = self.domain.outside_indices
        if not outside:
            return None
        share = float(self.cumulative.mass[outside].sum())
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

    def sample(self, size: int, *, rng: np.random.Generator | int) -> NDArray[Any]:
        """Return synthetic values [size]: as those of :meth:`quantile`, or labels of categories.

        Parameters
        ----------
        size : int
            At least 0.
        rng : numpy.random.Generator or int
            A generator, or a seed. No privacy hangs on it: the distribution is published.

        Notes
        -----
        Missing values are NaN or NaT, for categories and times of day None. People below or above
        the range are drawn at its ends, because nobody knows how far beyond they are.
        """
        check_whole("the size of a sample", size, low=0, high=2**40, error=ArgumentError)
        return drawn_values(self.domain, self.mass, size, generator_of(rng))

    def _in_numbers(self) -> Distribution:
        """Return the same distribution of plain numbers: of days, or of seconds.

        All of its answers are floats, to calculate with.
        """
        if self.domain.unit == "number":
            return self
        return replace(self, domain=replace(self.domain, unit="number"))  # type: ignore[type-var]

    @cached_property
    def atoms(self) -> tuple[Atom, ...]:
        """Values that many people hold exactly, from left to right; empty for categories.

        Those that the domain declares, and bins that stand out of those around them by more
        than the reports' noise: in a column without atoms none is found with a probability of 99
        %. Inside the bin of a found one the CDF stays linear, because no report says where.
        """
        return atoms_at(self, 0.95)

    @property
    def _missing_share(self) -> float:
        """Share of people whose value is missing; 0 when the domain declares no such symbol.

        ``share_interval(None)`` is its interval.
        """
        return 0.0 if self.domain.missing_index is None else float(self.mass[-1])

    def share(self, label: Any, *, among: Among = "all") -> float:
        """Return the share of one category, or of the symbol that holds a value.

        Parameters
        ----------
        label : object
            A label of the domain, a value in it, or None for the missing symbol. What is none of
            these is refused, also where a person's value of that kind is counted elsewhere. On a
            circle every finite value is in the domain, because values wrap.
        among : {"all", "present"}
            Of all people, or of those whose value is present, as all answers of the CDF are. The
            two differ only where the domain has a missing symbol.

        Returns
        -------
        float
            Share in [0, 1].

        Raises
        ------
        ArgumentError
            When the missing share is asked of a release by matching pursuit, polynomial projection
            or adaptive quantiles: they count missing values at the upper end, so it is not known.
        """
        symbol, present = share_symbol(self, label, among), 1.0
        if among == "present" and self.domain.missing_index is not None:
            present = float(self.mass[:-1].sum())
            if present <= 0:
                raise ArgumentError(
                    "all mass is on the missing symbol, so nobody's value is present"
                )
        return float(self.mass[symbol]) / present

    def difference(
        self, other: Distribution, *, people: People | None = None, target: Target = "population"
    ) -> Difference:
        """Return this distribution minus another one on the same domain.

        Parameters
        ----------
        other : Distribution
        people : {"same", "different"}, optional
            Whether somebody may stand in both (two periods), the cautious default, or nobody does
            (two groups, the default for two segments of one release). It decides the guarantee of
            both together.
        target : {"population", "empirical"}
            Whether the intervals are about the people from whom both were drawn, or about these
            very people.

        Raises
        ------
        MismatchError
            When the domains differ.
        """
        return Difference(self, other, people=people or people_of(self, other), target=target)

    def _steps(self, *, level: float = 0.95, steps: int | None = None) -> Steps:
        """Return the shares of so many steps, or of all bins; DomainError for categories."""
        curve = self.cumulative
        found, _ = found_bins(self.atoms, curve.left, curve.right)
        error_law = answering(self._present_uncertainty, "empirical")
        return Steps.of_mass(
            self.domain, curve.mass, steps, atom_bins=found, error_law=error_law, level=level
        )

    def _pictures(
        self,
        *,
        level: float = 0.95,
        truth: Distribution | Values | None = None,
        detail: Detail = "resolved",
        xlim: tuple[Any, Any] | None = None,
    ) -> tuple[Picture, ...]:
        """Return what a figure of it shows: density above CDF, or the shares of categories."""
        check_detail(detail)
        known: Any = truth
        if truth is not None and not isinstance(truth, Distribution):
            known = Distribution.of_counts(*counts_of_values(truth, self.domain))
        return pictures_of(self, level=level, truth=known, detail=detail, xlim=xlim)

    def plot(
        self,
        ax: Any = None,
        *,
        level: float = 0.95,
        truth: Distribution | Values | None = None,
        detail: Detail = "resolved",
        xlim: tuple[Any, Any] | None = None,
        title: str | None = None,
        label: str | None = None,
    ) -> Any:
        """Draw the density above the CDF, both with bands, or the shares of categories.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where the CDF alone, or the shares, are drawn; a new figure of pyplot without it.
        level : float
            Of the pointwise band of the CDF, and of the simultaneous one of the density.
        truth : Distribution or array_like, optional
            Drawn beside it, where it is known, in the same steps: a distribution, or the values
            themselves (a list, an array or a pandas Series), one for each person.
        detail : {"resolved", "all"}
            Density in steps that so many reports can distinguish, or every bin. How many depends on
            channel, people and domain alone (:mod:`lapwing.decoders.resolution`).
        xlim : (low, high), optional
            Ends of the axis of the values, in their unit; None for an end of the domain. Default:
            the whole domain. An end is moved to the 0.5 % or 99.5 % quantile where that halves the
            axis or more. The picture then says which share it does not show.
        title, label : str, optional
            Of the picture, and of the values: what they are, and their unit.

        Returns
        -------
        matplotlib.axes.Axes
            Those of the CDF, or of the shares.
        """
        pictures = self._pictures(level=level, truth=truth, detail=detail, xlim=xlim)
        return show(*pictures, ax=ax, title=title, label=label)

    def median(self, *, start: Any = None) -> NDArray[np.float64]:
        """Return the quantile of 1/2; `quantile_interval(0.5)` is its interval.

        On a circle it needs a `start`, as :meth:`quantile`.
        """
        middle: NDArray[np.float64] = self.quantile(0.5, start=start)
        return middle

    def to_dict(self, *, level: float = 0.95, kind: Kind | None = None) -> Columns:
        """Return a table as a dict of columns, one row for each symbol of the domain.

        Parameters
        ----------
        level : float
            Of the intervals, in (0, 1).
        kind : {"pointwise", "simultaneous"}, optional
            Whether the level holds for each row alone, or for all rows at once. Default:
            simultaneous for labels, so that intervals hold after sorting by size; pointwise for
            the CDF of numbers.

        Returns
        -------
        dict of str to list
            For numbers `left`, `right` (texts of dates and times), `share`, and the CDF at the
            right end (P(date < right) of dates) with its interval: `cdf`, `low`, `high`, which
            never fall (:meth:`Band.monotone`) and hold it. A row that counts what lies outside
            the range ends at ``-inf`` or ``inf``. For labels `label` and `share` with
            its interval: `low`, `high`. The column `interval` says of which kind these are. None
            where there is none, as for the missing symbol.
            `share` is of all people, a CDF of those whose value is present; where the domain has
            a missing symbol, `share_of_present` is the share among those. :meth:`to_document`
            returns everything, for a file.
        """
        return table_columns(self, level, kind or table_kind(ordered=self.domain.ordered))

    def to_pandas(self, *, level: float = 0.95, kind: Kind | None = None) -> Any:
        """Return :meth:`to_dict` as a pandas DataFrame; MissingExtraError without pandas."""
        return frame_of(self.to_dict(level=level, kind=kind))

    def summary(self, *, level: float = 0.95) -> str:
        """Return a few lines for people: the privacy guarantee, and the first answers.

        Of more than 20 labels the largest are listed. Intervals of labels are simultaneous.
        """
        return lines_of(self._facts(level))

    def _repr_html_(self) -> str:
        """Return the summary as a notebook shows it."""
        return html_of(self._facts(0.95))

    def _facts(self, level: float) -> dict[str, str]:
        request = AnswerRequest(
            level=level, probabilities=(0.1, 0.25, 0.5, 0.75, 0.9), range_errors=False, atoms=False
        )
        return summary_of(result_answer(self, request))

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form; the key "signed" is absent without a signed estimate."""
        signed = {} if self.signed is None else {"signed": self.signed.to_document()}
        return estimate_document(self) | signed

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Return the distribution that :meth:`to_document` wrote.

        Raises
        ------
        FormatError
            When it is not a distribution, of an unknown version or damaged.
        """
        require_format(document, name="lapwing-distribution", version=VERSION)
        require(document, DOCUMENT_KEYS, name="a distribution", optional={"signed"})
        signed = document.get("signed")
        try:
            found = cls(
                **estimate_fields(document, name="a distribution"),
                signed=None if signed is None else SignedEstimate.from_document(signed),
            )
        except (ArgumentError, DomainError) as error:
            raise FormatError(f"the distribution is damaged: {error}") from None
        require_spelling(document, found.to_document(), name="the distribution")
        return found
