"""The result: a distribution with its guarantee, its uncertainty and its provenance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import isnan
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing.declared import Whole
from lapwing.docstrings import inherits
from lapwing.errors import ArgumentError, DomainError
from lapwing.linear.arrays import Values, as_numbers
from lapwing.linear.memoized import cached_property
from lapwing.privacy.exact_numbers import check_whole
from lapwing.privacy.guarantee import Guarantee
from lapwing.privacy.sampling.randomness import generator_of
from lapwing.protocol.domains.domain import Domain, one_for_each_symbol, require_domain
from lapwing.protocol.domains.domain_documents import StoredDomain
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.product import Product
from lapwing.protocol.domains.ranges import Closed, to_places, to_points, to_spans, to_values
from lapwing.questions import Question
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.answer_text import summary_of
from lapwing.results.answers import result_answer, table_columns
from lapwing.results.atoms import Atom, atoms_at
from lapwing.results.cumulative import Cumulative
from lapwing.results.difference import Difference, People, people_of
from lapwing.results.distribution_intervals import DistributionIntervals, warn_at_an_end
from lapwing.results.exact_values import StoredResult, exact_mark, promise_text
from lapwing.results.intervals import has_middle, quantile_places
from lapwing.results.picture import Picture, pictures_of
from lapwing.results.plotting import show
from lapwing.results.readable import Columns, TabularResult, equal_results, hash_of_result
from lapwing.results.signed_estimate import Listed, SignedEstimate
from lapwing.results.steps import Detail, check_detail
from lapwing.results.symbols import counts_of_values, drawn_values, share_symbol
from lapwing.results.unanswered import columns_without_numbers, is_small, reason_of, unless_few
from lapwing.results.uncertainty import Among, Kind, Target, Uncertainty, table_kind
from lapwing.stored_fields import UNSAID, FromFields


@dataclass(frozen=True, eq=False, repr=False)
class Distribution(DistributionIntervals, TabularResult, FromFields, StoredResult):
    """Probability distribution over the bins or categories of a domain.

    Its masses are not negative and sum to one.

    On an interval the CDF is linear within bins and has steps at atoms. On whole numbers it has
    steps. Categories have only shares. If the domain has a missing category, `cdf`, `quantile`,
    `mean` and `variance` refer to those whose value is present. ``share(None)`` is the share of
    the rest. The field `mass` refers to all people. So does :meth:`share`, unless you pass
    ``among="present"``.

    Parameters
    ----------
    domain : Domain
        Domain of the values.
    mass : numpy.ndarray
        Shares of the bins or categories, float64 [domain.size]. A release counts missing values in
        a last entry, so `mass` is longer than the list of bins. If the domain counts values
        outside the range, those below come first and those above come after the bins.
        :attr:`bin_mass` contains only the bins.
    reports : int
        Number of people who contributed. Default: 0, for a distribution that was not estimated.
    guarantee : Guarantee, optional
        The privacy guarantee under which the reports were collected.
    uncertainty : Uncertainty, optional
        Error distribution, computed during decoding. Without one there are no intervals.
    provenance : dict
        How the result was made: decoder, iterations, whether it converged. JSON values only.
    signed : SignedEstimate, optional
        The estimate before it became a distribution, which may be negative. A decoder keeps it
        on request: ``LeastSquares(signed=True)``.

    See Also
    --------
    lapwing.results.Cumulative : The CDF in plain numbers, with all moments.

    Notes
    -----
    **Accuracy.** Ranges, shares, quantiles, the mean and the variance have intervals if there is an
    error distribution. An answer assumes that the values in a bin are spread evenly. An interval
    allows for any positions in the bin. A group with too few people for an interval has no
    answers. They are NaN, with a :class:`lapwing.errors.WeakAnswerWarning`. `mass` keeps the
    decoded shares.

    **Cost.** The CDF is summed once, in O(bins). A point or a quantile is then found in O(log
    bins).

    Examples
    --------
    >>> import lapwing as lw
    >>> import numpy as np
    >>> thirds = lw.Distribution(lw.Interval(0, 3, bins=3), np.array([0.5, 0.25, 0.25]))
    >>> float(thirds.cdf(1)), float(thirds.quantile(0.75)), thirds.probability(0, 2), thirds.mean()
    (0.5, 2.0, 0.75, 1.25)
    """

    domain: StoredDomain
    mass: Listed
    reports: Whole = 0
    guarantee: Guarantee | None = None
    uncertainty: Uncertainty | None = None
    provenance: dict[str, Any] = field(default_factory=dict)
    signed: SignedEstimate | None = field(default=None, metadata=UNSAID)
    _kind: ClassVar[Literal["distribution"]] = "distribution"

    _name: ClassVar = "a distribution"
    __eq__ = equal_results
    __hash__ = hash_of_result

    def __post_init__(self) -> None:
        """Check that it is a distribution, and freeze it."""
        if getattr(self.domain, "name", None) == Product.name:
            raise DomainError(
                "pairs have a joint distribution: lw.results.JointDistribution(domain, mass)"
            )
        mass = one_for_each_symbol(self.mass, self.domain)
        if not np.isfinite(mass).all() or mass.min() < 0 or abs(float(mass.sum()) - 1) > 1e-6:
            raise ArgumentError(
                "mass",
                "must be finite, not negative and sum to 1",
                advice="Project a signed estimate first",
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
        of = f"{type(self.domain).__name__} of {self.domain.size} symbols"
        said = filter(None, (f"{self.reports} reports", promise_text(self)))
        return f"<Distribution on {of}, {', '.join(said)}>"

    @classmethod
    def of_values(cls, values: Values, domain: Domain) -> Distribution:
        """Return the empirical distribution of raw values in the bins of a domain.

        Parameters
        ----------
        values : array_like
            One value for each person, in the unit of the domain.
        domain : Domain
            Domain of the values.

        Returns
        -------
        Distribution
            Exact values, not private: without intervals, and saved only with ``exact=True``.

        Raises
        ------
        DomainError
            When a value is not in the domain, and the domain does not count such values.

        Examples
        --------
        >>> import lapwing as lw
        >>> dice = lw.Distribution.of_values([1, 2, 2, 6], lw.Integers(1, 6))
        >>> dice.mass.tolist()
        [0.25, 0.5, 0.0, 0.0, 0.0, 0.25]
        """
        require_domain(domain)
        return cls.of_counts(np.bincount(domain.index(values), minlength=domain.size), domain)

    @classmethod
    def of_counts(cls, counts: ArrayLike, domain: Domain) -> Distribution:
        """Return the empirical distribution with these counts for the bins or categories.

        Parameters
        ----------
        counts : array_like
            Number of people in each bin or category, [domain.size], not negative. You may leave
            out the counts below and above the range, which are then zero.
        domain : Domain
            Domain of the values.

        Returns
        -------
        Distribution
            Exact values, not private: without intervals, and saved only with ``exact=True``.

        Raises
        ------
        ArgumentError
            When the counts are not a list of this length with a positive sum, or one is negative.

        Examples
        --------
        >>> import lapwing as lw
        >>> lw.Distribution.of_counts([3, 1], lw.Categories(["no", "yes"])).share("yes")
        0.25
        """
        require_domain(domain)
        numbers = as_numbers(counts, name="counts")
        if numbers.ndim != 1 or not 0 < numbers.sum() < np.inf:
            raise ArgumentError("counts", "must be a list with a positive sum")
        numbers = domain.with_nobody_outside(numbers)
        reports = int(numbers.sum())
        return cls(domain, numbers / numbers.sum(), reports, provenance=exact_mark())

    @cached_property
    def cumulative(self) -> Cumulative:
        """CDF among those whose value is present, in plain numbers. DomainError for categories.

        >>> import lapwing as lw
        >>> ages = lw.Distribution.of_values([23, 35, 35, 58], lw.Interval(0, 100, bins=10))
        >>> round(ages.cumulative.moment(2))
        1533
        """
        if self.mass[: self.domain.left.size].sum() <= 0:
            raise ArgumentError(
                "all mass is on missing values, so there is no CDF. "
                "Ask for the share of missing values"
            )
        curve = Cumulative.on(self.domain, self.mass)
        return replace(curve, warn=self._warn_when_limited) if curve.outside else curve

    @unless_few
    def pdf(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return the density, per unit of the values.

        Parameters
        ----------
        points : array_like
            Points in the unit of the values.

        Returns
        -------
        numpy.ndarray
            Densities, float64, in the shape of `points`. Infinite at an atom that has mass.

        Raises
        ------
        DomainError
            When the domain has categories, or a point cannot be read in its unit.

        Examples
        --------
        >>> import lapwing as lw
        >>> ages = lw.Distribution.of_values([23, 35, 35, 58], lw.Interval(0, 100, bins=10))
        >>> float(ages.pdf(35))
        0.05
        """
        return self.cumulative.density(to_points(points, unit=self.domain.unit))

    @unless_few
    @inherits(SignedEstimate.cdf)
    def cdf(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return P(value <= x) for each point, among those whose value is present.

        Points are dates or times if the values are. A date means the whole day, which is included:
        ``cdf("2026-06-30")`` is the share of the dates up to the end of that day.

        Returns
        -------
        numpy.ndarray
            Probabilities in [0, 1], float64, in the shape of `points`.

        Warns
        -----
        LimitedWarning
            Once, when an atom is detected in an outermost bin and a point is at the end of the
            range in this bin.

        Notes
        -----
        **Accuracy.** At an edge of a bin it is a sum of whole bins. Inside a bin it is
        interpolated, as if the values were spread evenly there. If the domain counts values
        outside its range, a point above `high` gets the share up to `high`. A point below `low`
        gets the share below `low`.

        People who have exactly `low` are in the first bin, and no report shows how many they are.
        So at `low` it is 0, or the share below `low`, and the true value may be up to that of the
        first bin: ``probability_interval(-inf, low)``. Declare `low` as an atom of the domain to
        count them.

        Examples
        --------
        >>> import lapwing as lw
        >>> hours = lw.Distribution.of_counts([10, 40, 40, 10], lw.Interval(0, 24, bins=4))
        >>> hours.cdf([6, 9, 12]).round(3).tolist()
        [0.1, 0.3, 0.5]
        """
        places = to_places(points, self.domain)
        warn_at_an_end(self, places)
        return np.minimum(self.cumulative.up_to(places), 1.0)

    @unless_few
    def quantile(self, probabilities: ArrayLike, *, start: Any = None) -> NDArray[Any]:
        """Return the smallest x with P(value <= x) >= p, for each p in [0, 1].

        On a circle, values are counted from `start`, once around: ``start="12:00"`` for times
        around midnight.

        Parameters
        ----------
        probabilities : array_like
            Probabilities in [0, 1].
        start : object, optional
            Place on a circle from which values are counted. It is required there, and only there.

        Returns
        -------
        numpy.ndarray
            Quantiles in the shape of `probabilities`: float64 for numbers, datetime64 for dates and
            timestamps, strings such as "09:30:00" for times of day. If the domain counts values
            outside, a quantile above the range is ``inf`` and one below it is ``-inf``.

        Raises
        ------
        ArgumentError
            When a probability is not in [0, 1]. Also on a circle without a start, and on a line
            with one.
        DomainError
            When the domain has categories.

        Notes
        -----
        **Accuracy.** Inside a bin it is interpolated, as in :meth:`cdf`. The method
        :meth:`quantile_interval` gives the interval.

        Examples
        --------
        >>> import lapwing as lw
        >>> hours = lw.Distribution.of_counts([10, 40, 40, 10], lw.Interval(0, 24, bins=4))
        >>> hours.quantile([0.1, 0.5, 0.9]).tolist()
        [6.0, 12.0, 18.0]
        """
        places = quantile_places(self, probabilities, start)
        found: NDArray[Any] = to_values(places, self.domain)
        return found

    @unless_few
    @inherits(SignedEstimate.probability)
    def probability(self, low: Any, high: Any, *, closed: Closed | None = None) -> float:
        """Return the probability of a range, among those whose value is present.

        Parameters
        ----------
        low, high : float, or a date or time
            Ends of the range, with ``low <= high``. Both may be infinite. On a circle a range may
            wrap around the end: ``probability("22:00", "02:00")``.
        closed : {"left", "right", "both", "neither"}, optional
            Ends that belong to the range. Default: as for the bins, so that a range between edges
            is exact. It is ``low < value <= high`` for numbers and ``low <= value < high`` for
            dates, times and circles. A range of numbers that begins at the `low` of the domain
            includes it, as the first bin does.

        Returns
        -------
        float
            Probability in [0, 1].

        Examples
        --------
        >>> import lapwing as lw
        >>> hours = lw.Distribution.of_counts([10, 40, 40, 10], lw.Interval(0, 24, bins=4))
        >>> round(hours.probability(6, 12), 3)
        0.4
        """
        spans = to_spans(low, high, self.domain, closed)
        for span in spans:
            warn_at_an_end(self, *span)
        return min(self.cumulative.between(spans), 1.0)

    @unless_few
    def mean(self) -> Any:
        """Return the expected value.

        On a circle it is the direction of the mean resultant vector.

        Returns
        -------
        object
            Mean, a float for numbers and otherwise as in :meth:`quantile`. None if there is no
            clear middle on a circle: the 95% interval of the mean resultant length contains zero.

        Raises
        ------
        DomainError
            When the domain has categories.

        Warns
        -----
        LimitedWarning
            Once, when the share of people outside the range is larger than chance explains.

        Notes
        -----
        **Accuracy.** It is the mean of values limited to the range of the domain: a person outside
        counts at the nearest end. Values are spread evenly in a bin, or evenly over its whole
        numbers if the domain has ``whole=True``. :meth:`mean_interval` gives the interval.

        Examples
        --------
        >>> import lapwing as lw
        >>> hours = lw.Distribution.of_counts([10, 40, 40, 10], lw.Interval(0, 24, bins=4))
        >>> round(hours.mean(), 3)
        12.0
        """
        self._warn_when_limited()
        mean = self.cumulative.mean
        if isnan(mean) or not has_middle(self, 0.95, "empirical"):
            return None
        return mean if self.domain.unit == "number" else to_values(mean, self.domain)

    @unless_few
    def variance(self) -> float:
        """Return the variance of values limited to the range of the domain.

        Returns
        -------
        float
            Variance, in the squared unit of the domain. Its square root is :meth:`std`.

        Raises
        ------
        ArgumentError
            On a circle, where the variance is not defined.

        See Also
        --------
        lapwing.results.Cumulative.moment : Mean of any power of the values.

        Examples
        --------
        >>> import lapwing as lw
        >>> ages = lw.Distribution.of_values([23, 35, 35, 58], lw.Interval(0, 100, bins=10))
        >>> round(ages.variance(), 2)
        127.08
        """
        self._warn_when_limited()
        return self.cumulative.variance

    @unless_few
    def std(self) -> float:
        """Return the standard deviation of values limited to the range of the domain.

        Returns
        -------
        float
            Standard deviation, in the unit of the domain, which is seconds for times. On a circle
            it is ``sqrt(-2 ln R)`` radians, converted to this unit. R is the mean resultant
            length, ``cumulative.resultant_length``. For R = 0 it is infinite.

        Examples
        --------
        >>> import lapwing as lw
        >>> ages = lw.Distribution.of_values([23, 35, 35, 58], lw.Interval(0, 100, bins=10))
        >>> round(ages.std(), 2)
        11.27
        """
        self._warn_when_limited()
        return self.cumulative.std

    @unless_few
    def sample(self, size: int, *, rng: np.random.Generator | int) -> NDArray[Any]:
        """Return synthetic values, drawn from the distribution.

        Parameters
        ----------
        size : int
            Number of values, at least 0.
        rng : numpy.random.Generator or int
            Generator, or a seed. It needs no secure randomness, because the distribution is
            published.

        Returns
        -------
        numpy.ndarray
            Values [size], in the type of :meth:`quantile`, or labels. Missing values are NaN or
            NaT, and None for categories and times of day.

        Raises
        ------
        ArgumentError
            When the size is not a whole number of at least 0.

        Notes
        -----
        **Accuracy.** Values are spread evenly inside their bins. People below or above the range
        are drawn at its ends, because their values are not known.

        Examples
        --------
        >>> import lapwing as lw
        >>> hours = lw.Distribution.of_counts([10, 40, 40, 10], lw.Interval(0, 24, bins=4))
        >>> hours.sample(3, rng=1).round(1).tolist()
        [17.7, 19.9, 8.5]
        """
        check_whole("size", size, low=0, high=2**40, error=ArgumentError)
        return drawn_values(self.domain, self.mass, size, generator_of(rng))

    @cached_property
    def atoms(self) -> tuple[Atom, ...]:
        """Values that many people have exactly, from left to right. It is empty for categories.

        They are the atoms that the domain declares, and the detected ones. A detected atom is a
        bin that exceeds the bins around it by more than the noise. In a column without atoms, with
        a probability of 99%, none is detected. The CDF stays linear inside the bin of a detected
        atom, because no report shows where in the bin it is.

        >>> import lapwing as lw
        >>> dollars = lw.Interval(0, 100, bins=10, atoms=[0])
        >>> zero, = lw.Distribution.of_values([0, 0, 30, 80], dollars).atoms
        >>> zero.right, zero.share
        (0.0, 0.5)
        """
        return () if is_small(self) else atoms_at(self, 0.95)

    @unless_few
    def share(self, label: Any, *, among: Among = "all") -> float:
        """Return the share of one category, or of the bin that contains a value.

        Parameters
        ----------
        label : object
            Label of the domain, a value in it, or None for the missing category. Any other value is
            refused, even if the domain counts it elsewhere. On a circle every finite value is in
            the domain, because values wrap.
        among : {"all", "present"}
            Share of all people (default), or of those whose value is present, as in all answers
            from the CDF. The two differ only if the domain has a missing category.

        Returns
        -------
        float
            Share in [0, 1].

        Raises
        ------
        DomainError
            When there is no such label, or the value is not in the domain.
        ArgumentError
            When the missing share is requested from a release by matching pursuit, polynomial
            projection or adaptive quantiles. They count missing values at the upper end, so it is
            not known.

        Examples
        --------
        >>> import lapwing as lw
        >>> lw.Distribution.of_counts([3, 1], lw.Categories(["no", "yes"])).share("yes")
        0.25
        """
        symbol, present = share_symbol(self, label, among), 1.0
        if among == "present" and self.domain.missing_index is not None:
            present = float(self.mass[:-1].sum())
            if present <= 0:
                raise ArgumentError(
                    "all mass is on missing values, so nobody has one. "
                    "Ask for the share of missing values"
                )
        return float(self.mass[symbol]) / present

    def difference(
        self, other: Distribution, *, people: People | None = None, target: Target = "population"
    ) -> Difference:
        """Return this distribution minus another one on the same domain.

        Parameters
        ----------
        other : Distribution
            Distribution to subtract.
        people : {"same", "different"}, optional
            "same" if a person may have contributed to both, as in two periods. "different" if
            nobody did, as in two groups. This determines the guarantee of both together. Default:
            "different" for two segments of one release or survey, and otherwise the cautious
            "same".
        target : {"population", "empirical"}
            Whether the intervals are for the people from whom both were drawn (default), or for
            the people who reported.

        Returns
        -------
        Difference
            Difference, with its intervals.

        Raises
        ------
        MismatchError
            When the domains differ. Also when both are from one survey with memoized reports and
            the same people may be in both.

        Examples
        --------
        >>> import lapwing as lw
        >>> day = lw.Interval(0, 24, bins=4)
        >>> winter = lw.Distribution.of_counts([10, 40, 40, 10], day)
        >>> summer = lw.Distribution.of_counts([10, 30, 40, 20], day)
        >>> round(float(summer.difference(winter).quantile(0.5)), 3)
        1.5
        """
        return Difference(self, other, people=people or people_of(self, other), target=target)

    def _pictures(
        self,
        *,
        level: float = 0.95,
        truth: Distribution | Values | None = None,
        detail: Detail = "resolved",
        xlim: tuple[Any, Any] | None = None,
        target: Target = "empirical",
        asks: Sequence[Question | str] = (),
    ) -> tuple[Picture, ...]:
        """Return what a figure of it shows: density above CDF, or the shares of categories."""
        check_detail(detail)
        known: Any = truth
        if truth is not None and not isinstance(truth, Distribution):
            known = Distribution.of_counts(*counts_of_values(truth, self.domain))
        return pictures_of(
            self, level=level, truth=known, detail=detail, xlim=xlim, target=target, asks=asks
        )

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
        target: Target = "empirical",
    ) -> Any:
        """Draw the density above the CDF, both with bands, or the shares of categories.

        If a survey asks for shares or a histogram but not for the curve, the answers are drawn
        instead, as points with intervals. ``detail="all"`` draws the curve.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes for the CDF alone, or for the shares. Default: a new pyplot figure.
        level : float
            Level of the pointwise band of the CDF and of the simultaneous band of the density, in
            (0, 1). Default: 0.95.
        truth : Distribution or array_like, optional
            Known distribution, or the values themselves, one for each person. It is drawn in the
            same steps as the density.
        detail : {"resolved", "all"}
            "resolved" (default): density in the steps that this many reports can distinguish.
            Their number depends only on the channel, the number of people and the domain. "all":
            every bin.
        xlim : (low, high), optional
            Limits of the x-axis, in the unit of the values. None means an end of the domain.
            Default: the whole domain, with one exception. An end is moved to the 0.5% or 99.5%
            quantile if that at least halves the axis. The picture states the share that it leaves
            out.
        title : str, optional
            Title of the picture.
        label : str, optional
            Name of the values, with their unit.
        target : {"empirical", "population"}
            Whom the bands are about: the people in the data, or the population.

        Returns
        -------
        matplotlib.axes.Axes
            Axes of the CDF, or of the shares.

        Raises
        ------
        MissingExtraError
            When matplotlib is not installed.

        Examples
        --------
        >>> import lapwing as lw
        >>> hours = lw.Distribution.of_counts([10, 40, 40, 10], lw.Interval(0, 24, bins=4))
        >>> axes = hours.plot(title="Half of the visits are before noon", label="hour of the day")
        >>> axes.get_xlabel()
        'hour of the day'
        """
        how: dict[str, Any] = {"level": level, "target": target}
        pictures = self._pictures(truth=truth, detail=detail, xlim=xlim, **how)
        return show(*pictures, ax=ax, title=title, label=label)

    def to_dict(
        self, *, level: float = 0.95, kind: Kind | None = None, target: Target = "empirical"
    ) -> Columns:
        """Return a table as a dict of columns, one row for each bin or category.

        Parameters
        ----------
        kind : {"pointwise", "simultaneous"}, optional
            Whether the level holds for each row alone, or for all rows at once. Default:
            "simultaneous" for labels, so that intervals hold after sorting by size, and "pointwise"
            for the CDF of numbers.
        target : {"empirical", "population"}
            Whom the intervals are about: the people in the data, or the population.

        Returns
        -------
        dict of str to list
            Columns, see Notes. A cell is None if there is no number.

        Notes
        -----
        Labels have `label` and `share` with its interval `low` and `high`. Numbers have `left`,
        `right` and `share`, and the CDF at the right end with its interval: `cdf`, `low` and
        `high`. For dates this is P(date < right), and the ends are strings. The interval curves
        never fall (:meth:`Band.monotone`), and they contain the CDF.

        A row that counts values outside the range ends at ``-inf`` or ``inf``. At `low`, `cdf` is
        None if the first bin also contains `low` itself: it lies between `low` and `high`. The
        column `interval` states the kind, or that there are too few people for numbers, and
        `about` states whom it is about. The column `share` refers to all people, and `cdf` to
        those whose value is present.

        Examples
        --------
        >>> import lapwing as lw
        >>> table = lw.Distribution.of_counts([3, 1], lw.Categories(["no", "yes"])).to_dict()
        >>> table["label"], table["share"]
        (['no', 'yes'], [0.75, 0.25])
        """
        kind = kind or table_kind(ordered=self.domain.ordered)
        columns = table_columns(self, level, kind, target)
        return columns_without_numbers(columns, reason_of(self))

    def _facts(self, level: float) -> dict[str, str]:
        whole, levels = self.domain.name == Integers.name, (0.1, 0.25, 0.5, 0.75, 0.9)
        request = AnswerRequest(level=level, probabilities=levels, range_errors=False, atoms=whole)
        return summary_of(result_answer(self, request))
