"""The result: a distribution with its guarantee, its uncertainty and how it was made."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing.documents import Stored, require, require_format, require_spelling
from lapwing.errors import ArgumentError, DomainError, FormatError
from lapwing.linear.arrays import Values, as_numbers
from lapwing.linear.memoized import cached_property
from lapwing.privacy.exact_numbers import check_whole
from lapwing.privacy.guarantee import Guarantee
from lapwing.privacy.sampling.randomness import generator_of
from lapwing.protocol.domains.domain import Domain, require_domain
from lapwing.protocol.domains.domain_answers import (
    to_days,
    to_interval,
    to_places,
    to_points,
    to_span,
    to_values,
)
from lapwing.results.atoms import Atom, atoms_of, found_bins
from lapwing.results.band import Band, Kind, Target, kind_when_shown
from lapwing.results.cumulative import Cumulative
from lapwing.results.difference import Difference, People
from lapwing.results.intervals import (
    answering,
    days_of_quantile,
    mean_ends,
    probability_ends,
    reaching,
    variance_interval,
)
from lapwing.results.picture import (
    BAR_LIMIT,
    Bars,
    Curves,
    Densities,
    Picture,
    people_and_guarantee,
)
from lapwing.results.plotting import show
from lapwing.results.shares import Shared
from lapwing.results.signed_estimate import (
    DOCUMENT_KEYS,
    SignedEstimate,
    band_on,
    estimate_fields,
    present_uncertainty,
)
from lapwing.results.summarized import Summarized
from lapwing.results.symbols import drawn_values, one_for_each_symbol
from lapwing.results.uncertainty import Uncertainty

VERSION = 1


@dataclass(frozen=True, eq=False, repr=False)
class Distribution(Summarized, Shared, Stored):
    """Masses of the symbols of a domain, not negative, summing to one.

    On an interval the CDF is linear within bins and steps at atoms; on whole numbers it steps;
    categories have shares only. With a declared missing symbol, all of `cdf`, `quantile`, `mean`
    and `variance` are among those whose value is present, and ``share(None)`` is the rest;
    `mass`, and :meth:`share` unless it is told otherwise, are of all people.

    Parameters
    ----------
    domain : Domain
    mass : numpy.ndarray
        float64 [domain.size].
    reports : int
        People behind it; 0 for a distribution that was not estimated.
    guarantee : Guarantee, optional
        The promise under which the reports were collected.
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
        """Return the empirical distribution with these counts of the symbols."""
        numbers = as_numbers(counts, name="counts")
        if numbers.ndim != 1 or not 0 < numbers.sum() < np.inf:
            raise ArgumentError("counts must be a list with a positive sum")
        return cls(domain, numbers / numbers.sum(), reports=int(numbers.sum()))

    @cached_property
    def cumulative(self) -> Cumulative:
        """The CDF among those whose value is present; DomainError for categories."""
        present = self.mass[: self.domain.left.size]
        if present.sum() <= 0:
            raise ArgumentError("all mass is on the missing symbol, so there is no CDF")
        return Cumulative(self.domain.left, self.domain.right, present / present.sum())

    def pdf(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return the density, per unit of the values; infinite at an atom that holds mass."""
        return self.cumulative.density(to_points(points, unit=self.domain.unit))

    def cdf(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return P(value <= x) for each point, among those whose value is present.

        Points, and the ends of ranges, are dates or times where the domain's values are. A date is
        a whole day, which counts: ``cdf("2026-06-30")`` holds those whose date is just that.
        """
        return self.cumulative.below(to_places(points, self.domain))

    def quantile(self, probabilities: ArrayLike) -> NDArray[Any]:
        """Return the smallest x with P(value <= x) >= p, for each p in [0, 1].

        Values are floats, datetime64 for dates and moments, texts ("09:30:00") for times of day:
        see `lapwing.protocol.domains.domain_answers`. :attr:`cumulative` has plain numbers of all.
        """
        days = to_days(self.cumulative.quantile(probabilities), self.domain)
        found: NDArray[Any] = to_values(days, self.domain)
        return found

    def probability(self, low: Any, high: Any) -> float:
        """Return P(low < value <= high), among those whose value is present."""
        return self.cumulative.between(to_span(low, high, self.domain))

    def mean(self) -> Any:
        """Return the expected value, as :meth:`quantile` does; a float for numbers."""
        mean = self.cumulative.mean
        return mean if self.domain.unit == "number" else to_values(mean, self.domain)

    def variance(self) -> float:
        """Return the variance, in the squared unit of the domain; its root is the deviation.

        ``cumulative.moment(k)`` is the mean of value ** k.
        """
        return self.cumulative.variance

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
        Missing values are NaN or NaT, for categories and times of day None.
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
    def _present_uncertainty(self) -> Uncertainty | None:
        """The error law among those whose value is present; None without one to speak of."""
        return present_uncertainty(self.uncertainty, self.domain)

    @cached_property
    def atoms(self) -> tuple[Atom, ...]:
        """Values that many people hold exactly, from left to right; empty for categories.

        Those that the domain declares, and bins that stand out of those around them by more
        than the reports' noise: in a column without atoms none is found with a probability of 99
        %. Inside the bin of a found one the CDF stays linear, because no report says where.
        """
        if not self.domain.ordered:
            return ()
        return atoms_of(
            self.cumulative.mass,
            answering(self._present_uncertainty, "empirical"),
            self.domain.left,
            self.domain.right,
            circular=self.domain.circular,
        )

    def confidence_band(
        self, level: float = 0.95, *, kind: Kind = "pointwise", target: Target = "empirical"
    ) -> Band | None:
        """Return the band of the CDF (of the shares, for categories); None when not computed.

        Parameters
        ----------
        level : float
            In (0, 1).
        kind : {"pointwise", "simultaneous"}
            Whether the level holds at each point alone, or for the whole curve at once.
        target : {"empirical", "population"}
            The people who reported, or all people they were drawn from.

        Accuracy
        --------
        The band is that of the unbiased linear estimate from the same counts, not of the decoded
        curve, which may be biased; :meth:`Band.share_inside` says how much of the curve lies in
        it. Measured coverage stands in the band's `method`.

        A simultaneous band of a CDF never falls, because a curve that lies in a band and never
        falls lies in that as well. A pointwise one is left as it is: cut in the same way it would
        cover 87 % of the points of a square wave (128 bins, epsilon 1), where it says 95.
        :meth:`Band.monotone` widens it instead, as pictures do.
        """
        uncertainty = self._present_uncertainty
        return band_on(self.domain, uncertainty, level=level, kind=kind, target=target)

    def _shown_band(self, level: float, shown: int) -> Band | None:
        """Return intervals of the shares for a list of the largest, each with its share inside.

        Of all labels at once when only so many are shown: those were chosen for being large.
        """
        band = self.confidence_band(level, kind=kind_when_shown(shown, self.domain.size))
        return None if band is None else band.reaching(self.mass)

    def _share_in_band(self, level: float = 0.95) -> float | None:
        """Return the part of the knots at which this curve lies in its pointwise band."""
        band = self.confidence_band(level)
        if band is None:
            return None
        return band.share_inside(self.cumulative.sums if self.domain.ordered else self.mass)

    def probability_interval(
        self, low: Any, high: Any, *, level: float = 0.95, target: Target = "empirical"
    ) -> tuple[float, float] | None:
        """Return an interval for :meth:`probability`; None without an error law.

        It holds whatever the values do inside the bins in which the range ends: from the whole
        bins in the range to all bins that it touches. All intervals here follow that rule.

        Parameters
        ----------
        low, high : float, or a date or time
            With ``low <= high``; both may be infinite.
        level : float
            In (0, 1).
        target : {"empirical", "population"}
            The people who reported, or all people they were drawn from.
        """
        span = to_span(low, high, self.domain)
        error_law = answering(self._present_uncertainty, target)
        if error_law is None:
            return None
        ends = probability_ends(error_law, self.domain, span)
        return reaching(ends.interval(level, least=0.0, most=1.0), self.probability(low, high))

    def mean_interval(
        self, *, level: float = 0.95, target: Target = "empirical"
    ) -> tuple[Any, Any] | None:
        """Return an interval for the mean, as :meth:`mean` says it; None without an error law.

        Reaches from all values at the left ends of their bins to all at the right ends.
        """
        error_law = answering(self._present_uncertainty, target)
        if error_law is None:
            return None
        left, right = self.domain.left, self.domain.right
        ends = mean_ends(error_law, left, right)
        interval = ends.interval(level, least=float(left[0]), most=float(right[-1]))
        return to_interval(reaching(interval, self.cumulative.mean), self.domain)

    def variance_interval(
        self, *, level: float = 0.95, target: Target = "empirical"
    ) -> tuple[float, float] | None:
        """Return an interval for the variance (delta method); None without an error law."""
        error_law = answering(self._present_uncertainty, target)
        if error_law is None:
            return None
        left, right = self.domain.left, self.domain.right
        return reaching(variance_interval(error_law, left, right, level), self.variance())

    def quantile_interval(
        self,
        probability: float,
        *,
        level: float = 0.95,
        kind: Kind = "pointwise",
        target: Target = "empirical",
    ) -> tuple[Any, Any] | None:
        """Return an interval for one quantile, by inversion of the band; None without one.

        It ends at whole bins. With ``kind="simultaneous"``, the intervals of all quantiles hold
        at once.
        """
        value = self.cumulative.quantile(probability)  # refuses what is no probability, and labels
        if value.ndim:
            raise ArgumentError("a quantile interval is of one probability, got several")
        band = self.confidence_band(level, kind=kind, target=target)
        if band is None:
            return None
        ends = days_of_quantile(band.quantile(probability), float(value), self.domain)
        return to_interval(ends, self.domain)

    def difference(self, other: Distribution, *, people: People = "same") -> Difference:
        """Return this distribution minus another one on the same domain.

        Parameters
        ----------
        other : Distribution
        people : {"same", "different"}
            Whether somebody may stand in both (two periods), the safe default, or nobody does
            (two groups). It decides what was promised together, and whether the difference can
            be about the population.

        Raises
        ------
        MismatchError
            When the domains differ.
        """
        return Difference(self, other, people=people)

    def _picture(self, *, level: float = 0.95, truth: Distribution | None = None) -> Curves | Bars:
        """Return the CDF with its pointwise band, or the shares of categories, as plain data.

        Parameters
        ----------
        level : float
            Of the band.
        truth : Distribution, optional
            Drawn beside it, where it is known.
        """
        title = people_and_guarantee(self.reports, self.guarantee)
        if not self.domain.ordered:
            band = self._shown_band(level, BAR_LIMIT)
            beside = None if truth is None else truth.mass
            return Bars.of_symbols(self.domain, self.mass, band, truth=beside, title=title)
        band = self.confidence_band(level)
        shown = None if band is None else band.monotone()
        known = None if truth is None else truth.cumulative
        curve = self.cumulative
        found, _ = found_bins(self.atoms, curve.left, curve.right)
        return Curves.of_cdf(self.domain, curve, shown, found=found, truth=known, title=title)

    def _density_picture(self, *, truth: Distribution | None = None) -> Densities:
        """Return the density as plain data; DomainError for categories."""
        known = None if truth is None else truth.cumulative
        title = people_and_guarantee(self.reports, self.guarantee)
        curve = self.cumulative
        found, shares = found_bins(self.atoms, curve.left, curve.right)
        return Densities.of_cdf(
            self.domain, curve, found=found, shares=shares, truth=known, title=title
        )

    def _pictures(
        self, *, level: float = 0.95, truth: Distribution | None = None
    ) -> tuple[Picture, ...]:
        """Return what a figure of it shows: density above CDF, or the shares of categories."""
        picture = self._picture(level=level, truth=truth)
        return (self._density_picture(truth=truth), picture) if self.domain.ordered else (picture,)

    def plot(
        self,
        ax: Any = None,
        *,
        level: float = 0.95,
        truth: Distribution | None = None,
        title: str | None = None,
        label: str | None = None,
    ) -> Any:
        """Draw the density above the CDF with its band, or the shares of categories.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where the CDF alone, or the shares, are drawn; a new figure of pyplot without it.
        level : float
            Of the pointwise band.
        truth : Distribution, optional
            Drawn beside it, where it is known.
        title, label : str, optional
            Of the picture, and of the values: what they are, and their unit.

        Returns
        -------
        matplotlib.axes.Axes
            Those of the CDF, or of the shares.
        """
        pictures = self._pictures(level=level, truth=truth)
        return show(*pictures, ax=ax, title=title, label=label)

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form; the key "signed" is absent without a signed estimate."""
        document = {
            "format": "lapwing-distribution",
            "version": VERSION,
            "domain": self.domain.to_document(),
            "mass": self.mass.tolist(),
            "reports": self.reports,
            "guarantee": self.guarantee.to_document() if self.guarantee else None,
            "provenance": self.provenance,
            "uncertainty": self.uncertainty.to_document() if self.uncertainty else None,
        }
        signed = {} if self.signed is None else {"signed": self.signed.to_document()}
        return document | signed

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
