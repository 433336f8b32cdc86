"""An unbiased estimate that is not a distribution: masses may be negative.

Its sums are unbiased, so it answers ranges and averages over many surveys. It has no quantiles and
no samples. A decoder keeps it on request (``LeastSquares(signed=True)``), as
:attr:`lapwing.Distribution.signed`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing.declared import Whole
from lapwing.docstrings import inherits
from lapwing.documents import Stored
from lapwing.errors import ArgumentError
from lapwing.linear.memoized import cached_property
from lapwing.linear.projections import simplex
from lapwing.privacy.guarantee import Guarantee
from lapwing.protocol.domains.domain import Domain, one_for_each_symbol
from lapwing.protocol.domains.domain_documents import StoredDomain
from lapwing.protocol.domains.ranges import Closed, Span, to_places, to_spans
from lapwing.results.cumulative import Cumulative
from lapwing.results.intervals import answering, band_on, probability_ends, reaching
from lapwing.results.readable import equal_results, hash_of_result
from lapwing.results.uncertainty import Band, Kind, Target, Uncertainty
from lapwing.stored_fields import FromFields, StoredArray

Projection = Literal["simplex", "clip-and-normalize"]

Listed = Annotated[NDArray[np.float64], StoredArray(shape=("symbols",))]
"""A number for each symbol of the domain, as a list."""


@dataclass(frozen=True, eq=False, repr=False)
class SignedEstimate(FromFields, Stored):
    """Unbiased estimate of the masses, which may be negative.

    Parameters
    ----------
    domain : Domain
        Domain of the values.
    mass : numpy.ndarray
        Unbiased estimates of the shares, float64 [domain.size]. Their sum is about 1.
    reports : int
        Number of reports.
    guarantee : Guarantee, optional
        Privacy guarantee of each report. Default: None.
    uncertainty : Uncertainty, optional
        Error distribution. Default: None, which means no intervals.
    provenance : dict
        How the estimate was made.

    Raises
    ------
    ArgumentError
        When there is not one finite mass for each bin or category.

    Notes
    -----
    **Accuracy.** Its sums are unbiased, so use it for ranges and for averages over many surveys. A
    single mass may be negative. For quantiles and samples use the distribution.

    Examples
    --------
    >>> import lapwing as lw
    >>> survey = lw.Survey("x", lw.recommend(lw.Interval(0, 10, bins=4), epsilon=2, users=1000))
    >>> tally = survey.tally(survey.randomize([1.0] * 500, rng=lw.seeded(1)))
    >>> result = survey.decode(tally, decoder=lw.LeastSquares(signed=True))
    >>> result.signed.mass.round(2).tolist()
    [1.01, -0.04, -0.01, 0.04]
    >>> result.mass.round(2).tolist()
    [1.0, 0.0, 0.0, 0.0]
    """

    domain: StoredDomain
    mass: Listed
    reports: Whole
    guarantee: Guarantee | None = None
    uncertainty: Uncertainty | None = None
    provenance: dict[str, Any] = field(default_factory=dict)
    _kind: ClassVar[Literal["signed-estimate"]] = "signed-estimate"
    _name: ClassVar = "a signed estimate"
    __eq__ = equal_results
    __hash__ = hash_of_result

    def __post_init__(self) -> None:
        """Check the shape and freeze the masses."""
        mass = one_for_each_symbol(self.mass, self.domain)
        if not np.isfinite(mass).all():
            raise ArgumentError("the masses of a signed estimate must be finite, but some are not")
        mass.flags.writeable = False
        object.__setattr__(self, "mass", mass)

    def __repr__(self) -> str:
        """Return one line: what it is about, not its numbers."""
        kind = type(self.domain).__name__
        return f"<SignedEstimate on {kind} of {self.domain.size} symbols, {self.reports} reports>"

    @cached_property
    def cumulative(self) -> Cumulative:
        """The signed CDF among those whose value is present."""
        return Cumulative.on(self.domain, self.mass)

    def cdf(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return the estimated P(value <= x), which may fall and may leave [0, 1].

        Parameters
        ----------
        points : array_like
            Points in the unit of the values.

        Returns
        -------
        numpy.ndarray
            Estimates, float64, in the shape of `points`.

        Raises
        ------
        DomainError
            When the domain has categories, or a point cannot be read in its unit.
        """
        return self.cumulative.up_to(to_places(points, self.domain))

    def probability(self, low: Any, high: Any, *, closed: Closed | None = None) -> float:
        """Return the estimated probability of a range, as in :meth:`Distribution.probability`.

        Parameters
        ----------
        low, high : float, or a date or time
            Ends of the range, with ``low <= high``. Both may be infinite.
        closed : str, optional
            Ends that belong to the range, as for :meth:`Distribution.probability`.

        Returns
        -------
        float
            Unbiased estimate, which may be negative or above 1.

        Raises
        ------
        ArgumentError
            When `low` is above `high` on a line, or `closed` is none of its allowed words.
        DomainError
            When the domain has categories, or an end cannot be read in its unit.
        """
        return self.cumulative.between(to_spans(low, high, self.domain, closed))

    @inherits(probability)
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

        It contains the probability under the projection onto the simplex.

        Parameters
        ----------
        level : float
            Confidence level, in (0, 1). Default: 0.95.
        target : {"empirical", "population"}
            The people who reported (default), or all people from whom they were drawn.

        Returns
        -------
        tuple of float, or None
            Lower and upper end of a pointwise interval. None without an error distribution.

        Raises
        ------
        ArgumentError
            When the ends do not form a range, or the level is not in (0, 1).
        """
        spans = to_spans(low, high, self.domain, closed)
        present = present_uncertainty(self.uncertainty, self.domain)
        curve = Cumulative.on(self.domain, self.project("simplex"))
        return spans_interval(self.domain, curve, present, spans, level=level, target=target)

    def confidence_band(
        self, level: float = 0.95, *, kind: Kind = "pointwise", target: Target = "empirical"
    ) -> Band | None:
        """Return the confidence band of the CDF, or of the shares of categories.

        Parameters
        ----------
        level : float
            Confidence level, in (0, 1). Default: 0.95.
        kind : {"pointwise", "simultaneous"}
            Whether the level holds at each point alone, or for the whole curve at once.
        target : {"empirical", "population"}
            The people who reported (default), or all people from whom they were drawn.

        Returns
        -------
        Band or None
            Confidence band. None without an error distribution.

        Raises
        ------
        ArgumentError
            When the level is not in (0, 1), or when `kind` or `target` is none of its allowed
            words.
        """
        uncertainty = present_uncertainty(self.uncertainty, self.domain)
        return band_on(self.domain, uncertainty, level=level, kind=kind, target=target)

    def project(self, projection: Projection = "simplex") -> NDArray[np.float64]:
        """Return the masses of a distribution near the estimate: float64 [domain.size].

        Parameters
        ----------
        projection : {"simplex", "clip-and-normalize"}
            "simplex": the nearest distribution in the Euclidean norm (Norm-Sub).
            "clip-and-normalize": negative masses become zero and the rest is divided by its sum.
            This baseline from the papers is biased upward in empty bins.

        Returns
        -------
        numpy.ndarray
            Shares, float64 [domain.size], not negative, summing to 1.

        Raises
        ------
        ArgumentError
            When `projection` is none of its allowed words. Also for "clip-and-normalize" if no
            mass is positive.

        Examples
        --------
        >>> import lapwing as lw
        >>> import numpy as np
        >>> thirds, mass = lw.Interval(0, 3, bins=3), np.array([0.7, 0.4, -0.1])
        >>> estimate = lw.results.SignedEstimate(thirds, mass, reports=100)
        >>> estimate.project().round(3).tolist()
        [0.65, 0.35, 0.0]
        >>> estimate.project("clip-and-normalize").round(3).tolist()
        [0.636, 0.364, 0.0]
        """
        if projection == "simplex":
            return simplex(self.mass)
        if projection == "clip-and-normalize":
            positive = np.maximum(self.mass, 0.0)
            if positive.sum() <= 0:
                raise ArgumentError(
                    "clip-and-normalize needs at least one positive mass, but there is none. "
                    "Use the projection 'simplex'"
                )
            return np.asarray(positive / positive.sum())
        raise ArgumentError(
            "projection", "must be 'simplex' or 'clip-and-normalize'", repr(projection)
        )


def present_uncertainty(uncertainty: Uncertainty | None, domain: Domain) -> Uncertainty | None:
    """Return the error distribution among those whose value is present. None without one."""
    if uncertainty is None or domain.missing_index is None or not domain.ordered:
        return uncertainty
    return uncertainty.given_present() if uncertainty.says_present else None


def spans_interval(
    domain: Domain,
    curve: Cumulative,
    present: Uncertainty | None,
    spans: list[Span],
    *,
    level: float,
    target: Target,
) -> tuple[float, float] | None:
    """Return the pointwise interval of the share of a range. None without an error distribution."""
    error_law = answering(present, target)
    if error_law is None:
        return None
    ends = probability_ends(error_law, domain, spans)
    return reaching(ends.interval(level, least=0.0, most=1.0), curve.between(spans))
