"""Projection on a few functions: release their coefficients, rebuild the distribution function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.declared import From, Read
from lapwing.errors import ArgumentError, PrivacyError
from lapwing.linear.arrays import Vector
from lapwing.linear.function_families import (
    chebyshev,
    check_functions,
    fourier,
    legendre,
    legendre_tails,
    moment_matrix,
    orthonormal,
    splines,
)
from lapwing.linear.memoized import memoized
from lapwing.linear.operators.sums import CurveAnswers
from lapwing.linear.whole_columns import LARGEST_ENTRY, most_moved, whole
from lapwing.mechanisms.linear_mechanism import LinearMechanism, Strategy
from lapwing.papers.functional_approximation.plain_curves import CurveSum
from lapwing.privacy.guarantee import Neighbors
from lapwing.privacy.integer_noise import Noise, Sensitivity, calibrated
from lapwing.privacy.promise import Promise
from lapwing.protocol.domains.domain import Domain, check_no_overflow, check_ordered
from lapwing.protocol.release import Release


def least_trace(differences: Vector, *, steps: int = 400) -> tuple[Vector, float]:
    """Return the covariance of least trace that no difference exceeds, and a lower bound.

    Minimizes ``trace S`` subject to ``d' S^-1 d <= 1`` for every difference d. Noise of this
    covariance hides each difference as unit noise hides a unit step.

    differences: float64 [differences, size], spanning the space.

    Returns
    -------
    covariance : numpy.ndarray
        float64 [size, size], scaled so that the constraint holds exactly on these differences.
    bound : float
        No covariance that meets it has a smaller trace.

    Notes
    -----
    The dual weighs the differences: ``C = sum w d d'`` with weights of sum one gives the bound
    ``trace(C^(1/2))^2``, and ``S = C^(1/2) trace(C^(1/2))`` is optimal when the weights are.
    Multiplicative updates, as for optimal designs (Silvey, Titterington and Torsney 1978).
    """
    weights = np.full(differences.shape[0], 1 / differences.shape[0])
    active = differences
    for step in range(1, steps + 1):
        values, vectors = _root(active, weights)
        along = active @ (vectors / np.sqrt(values))
        weights *= (along**2).sum(axis=1) / values.sum()
        weights /= weights.sum()
        if step % 20 == 0:
            # Most differences end with no weight; the last scaling looks at all of them again.
            kept = weights > 1e-6 / differences.shape[0]
            active, weights = active[kept], weights[kept] / weights[kept].sum()
    values, vectors = _root(active, weights)
    covariance = (vectors * values) @ vectors.T * values.sum()
    largest = (differences @ np.linalg.inv(covariance) * differences).sum(axis=1).max()
    return covariance * largest, float(values.sum() ** 2)


def _root(differences: Vector, weights: Vector) -> tuple[Vector, Vector]:
    """Return eigenvalues and eigenvectors of the square root of the weighted moment matrix."""
    values, vectors = np.linalg.eigh((differences.T * weights) @ differences)
    return np.sqrt(np.maximum(values, 1e-300)), vectors


Integers = NDArray[np.int64]

Shape = Literal["a-optimal", "diagonal", "equal", "moments", "algorithm-1"]

POWERS = ("moments", "algorithm-1")
"""The shapes that release raw moments."""

Basis = str | tuple[tuple[float, ...], ...]

UNIT = 2**20
"""Entries of the strategy are whole multiples of 1 / UNIT: the rounded matrix is the strategy."""

FAMILIES = ("legendre", "chebyshev", "fourier", "splines")

MOST_SYMBOLS = 4096

MOST_FUNCTIONS = 64

_PAIR_POINTS = 97
"""Chebyshev points whose differences shape the noise. The sensitivity is that of all symbols."""


def _basis(given: Any) -> Basis:
    """Return the name of a basis, or functions by their values. ArgumentError for another word."""
    if isinstance(given, str):
        if given not in FAMILIES:
            raise ArgumentError("basis", f"must be one of {', '.join(FAMILIES)}", repr(given))
        return str(given)
    functions = tuple(tuple(map(float, function)) for function in given)
    check_functions(functions)
    return functions


@dataclass(frozen=True, eq=False)
class CurveStrategy:
    """Strategy of :class:`PolynomialProjection`: whole-number answers about a CDF.

    matrix: int64 [answers, symbols].
    curve, start: Arrays of float64. See :class:`lapwing.linear.operators.sums.CurveAnswers`.
    """

    matrix: Integers
    curve: Vector
    start: Vector

    @property
    def operator(self) -> CurveAnswers:
        """The matrix in floating point, with the way back to the curve."""
        return CurveAnswers(self.matrix.astype(np.float64), curve=self.curve, start=self.start)

    @property
    def largest(self) -> int:
        """The largest absolute entry."""
        return max(int(self.matrix.max()), -int(self.matrix.min()))

    def answers(self, counts: Integers) -> Integers:
        """Return the exact answers."""
        return self.matrix @ counts

    def sensitivity(self, neighbors: Neighbors) -> Sensitivity:
        """Return the largest norms over all pairs of symbols, exactly. O(answers symbols^2)."""
        return _sensitivity(self.matrix.tobytes(), self.matrix.shape, neighbors)


@memoized(most=32)
def _sensitivity(content: bytes, shape: tuple[int, ...], neighbors: Neighbors) -> Sensitivity:
    matrix = np.frombuffer(content, dtype=np.int64).reshape(shape)
    return Sensitivity(*most_moved(matrix, replaced=neighbors == "replace-one"))


@dataclass(frozen=True)
class PolynomialProjection(LinearMechanism):
    """Polynomial projection of the empirical CDF (Tao and Sarwate, 2026).

    It releases the coefficients of the CDF with respect to a few functions.

    Parameters
    ----------
    functions : int
        Number of functions, in 1..64 and at most the number of present symbols. Default: 12.
    basis : str or tuple of tuples of float
        "legendre" (default), "chebyshev", "fourier" or "splines". Or your own functions, each
        given by its values at the middles of the present symbols. All except the Legendre
        polynomials are orthonormalized.
    degree : int
        Degree of the splines, in 0..5. Default: 3.
    shape : {"a-optimal", "diagonal", "equal", "moments", "algorithm-1"}
        How the noise is spread over the coefficients. Default: "a-optimal". See Notes.
    monotone : bool
        True (default): decoding makes the CDF nondecreasing by isotonic regression.
    noise : {"normal", "laplace"}, optional
        Kind of the noise. Default: the kind with less variance under the privacy guarantee.

    Raises
    ------
    ArgumentError
        When a parameter is out of range, or raw moments are requested with a basis other than
        Legendre's.

    Notes
    -----
    **Privacy.** Every row adds one fixed column of whole numbers to the answers. The sensitivity is
    the largest distance of two columns. It is computed over all pairs in whole numbers, after
    rounding. A missing value counts as the upper end, and is one of the columns. A matrix that is
    not finite, or too large for exact sums, is refused. The tests go through all shapes up to 12
    symbols with every basis and every relation.

    **Accuracy.** The projection itself has an error that no number of people removes. It is large
    where the data have atoms, steps, or features narrower than the functions resolve. The decoder
    has no confidence band, because the known noise is not the whole error. :func:`allowed_band`
    holds for all data.

    **Cost.** As many numbers as functions. The shape is found once for a number of functions.

    The shapes differ as follows.

    * "a-optimal": Gaussian noise of least mean square error in the curve.
    * "diagonal": each coefficient by its own range, for Laplace noise.
    * "equal": the same noise in every coefficient.
    * "moments": the raw moments of the paper (Legendre only). Their noise is 13 times larger at 6
      functions and 1200 times at 12.
    * "algorithm-1": the same moments with the noise of the paper's algorithm 1. It is calibrated to
      the bound of lemma 6, which is up to 17% above the sensitivity, so the loss is below the
      privacy guarantee. The noise is 15 times larger at 6 functions and 1387 times at 12. Lemma 6
      is about replaced rows, so only "replace-one" can be promised.

    The method is that of [1]_, section IV, algorithm 1. It differs in three ways: coefficients by
    recurrence instead of moments, shaped noise, and exact sensitivities. Each is also available as
    published.

    References
    ----------
    .. [1] Y. Tao, A. D. Sarwate, "Functional Approximation Methods for Differentially Private
       Distribution Estimation", 2026. arXiv:2501.06620v2.

    Examples
    --------
    >>> import lapwing as lw
    >>> from lapwing.papers.functional_approximation import PolynomialProjection
    >>> import numpy as np
    >>> ages = np.random.default_rng(1).normal(40, 12, size=5000)
    >>> published = lw.release(
    ...     ages, lw.Interval(0, 100, bins=64, outside="clip"), neighbors="replace-one", epsilon=1,
    ...     delta="1e-6", mechanism=PolynomialProjection(), rng=lw.seeded(1))
    >>> round(published.distribution.quantile(0.5))
    40
    """

    functions: Annotated[int, From(1, MOST_FUNCTIONS)] = 12
    basis: Annotated[Basis, Read(_basis, f"one of {', '.join(FAMILIES)}, or a list")] = "legendre"
    degree: Annotated[int, From(0, 5)] = 3
    shape: Shape = "a-optimal"
    monotone: bool = True
    noise: Literal["normal", "laplace"] | None = None

    name: ClassVar[str] = "polynomial-projection"

    @property
    def _decoder(self) -> CurveSum:
        """Decoder of its releases."""
        return CurveSum(monotone=self.monotone)

    def __post_init__(self) -> None:
        """Check the fields, then the basis."""
        super().__post_init__()
        if not isinstance(self.basis, str) and len(self.basis) != self.functions:
            raise ArgumentError(
                "functions",
                f"must be the number of functions in the basis, {len(self.basis)}",
                str(self.functions),
            )
        if self.shape in POWERS and self.basis != "legendre":
            raise ArgumentError("raw moments are defined for the Legendre basis. Use another shape")

    def check(self, domain: Domain) -> None:
        """Raise ArgumentError unless the domain has enough symbols, and at most 4096.

        Raises
        ------
        DomainError
            When the symbols have no order, or values outside the range have separate symbols.
        """
        check_ordered(domain, name=self.name)
        check_no_overflow(domain, name=self.name)
        held = domain.left.size
        if not max(2, self.functions) <= held <= MOST_SYMBOLS:
            raise ArgumentError(
                f"{self.functions} functions need {max(2, self.functions)} to {MOST_SYMBOLS} "
                f"symbols, got {held}"
            )
        if not isinstance(self.basis, str) and len(self.basis[0]) != held:
            raise ArgumentError(
                f"every function of the basis must have {held} values, one per present symbol, got "
                f"{len(self.basis[0])}"
            )

    def strategy_for(self, domain: Domain, neighbors: Neighbors) -> CurveStrategy:
        """Return the strategy: coefficients of the CDF, in whole numbers.

        Parameters
        ----------
        neighbors : {"replace-one", "add-or-remove-one"}
            Neighbor relation. With "add-or-remove-one" the strategy also includes the number of
            rows.

        Raises
        ------
        ArgumentError
            When the domain does not suit the mechanism, or the functions are nearly dependent on
            it.
        """
        self.check(domain)
        return _strategy(self, domain.left.size, domain.size, neighbors)

    def noise_for(self, strategy: Strategy, promise: Promise) -> tuple[Noise, Sensitivity]:
        """Return the noise of each answer, and the sensitivity that it covers.

        Returns
        -------
        noise : Noise
            Least noise that meets the privacy guarantee. With shape "algorithm-1", the noise of
            the paper.
        sensitivity : Sensitivity
            Largest L1 norm and squared L2 norm of the difference between the answers of two
            neighbors.

        Raises
        ------
        PrivacyError
            When no noise keeps the privacy guarantee, or "algorithm-1" is requested without a
            public number of rows.
        """
        least, sensitivity = super().noise_for(strategy, promise)
        if self.shape != "algorithm-1":
            return least, sensitivity
        if not promise.shows_people:
            raise PrivacyError(
                "the sensitivity of lemma 6 holds only for replaced rows. Use neighbors "
                "'replace-one' without a unit, or shape 'moments', which allows either relation"
            )
        bound = lemma_6(self.functions)
        # Where the bound is tight, rounding to whole numbers could take it below the exact one.
        held = Sensitivity(
            max(bound.squared, sensitivity.squared), max(bound.absolute, sensitivity.absolute)
        )
        return calibrated(promise, held, kind=self.noise), sensitivity

    def estimated_people(self, release: Release) -> int:
        """Return the estimated number of rows: the last answer, if the number is secret.

        Parameters
        ----------
        release : Release
            Release of this mechanism under "add-or-remove-one" or with a unit.
        """
        return round(int(release.answers[-1]) / UNIT)


def lemma_6(functions: int) -> Sensitivity:
    """Return the paper's bound on how far a replaced row moves so many moments, times UNIT.

    ``(5 m + 8) / 2`` for the square and ``(3 m + 4) / 2`` for the sum, where m = functions - 1.
    """
    m = functions - 1
    return Sensitivity((5 * m + 8) * UNIT**2 // 2, (3 * m + 4) * UNIT // 2)


@memoized(most=16)
def _strategy(
    mechanism: PolynomialProjection, held: int, size: int, neighbors: Neighbors
) -> CurveStrategy:
    middles = (2 * np.arange(held) + 1) / held - 1
    steps, back = _steps(mechanism, middles)
    start = np.zeros(held)
    if mechanism.shape in POWERS:
        # tails(x) = coefficients of the powers of x; the constant is a number of people.
        rows = np.power.outer(middles, np.arange(1, mechanism.functions + 1)).T
        tails = _tail_coefficients(mechanism.functions)
        start = back @ tails[:, 0]
        back = back @ tails[:, 1:]
    else:
        rows, spread = _in_units_of_noise(mechanism, steps)
        back = back @ spread
    # A missing value counts as the upper end, where the tails are zero and the powers one.
    ends = np.full((rows.shape[0], size - held), 1.0 if mechanism.shape in POWERS else 0.0)
    rows = np.hstack([rows, ends])
    curve = back / UNIT
    if neighbors == "add-or-remove-one":
        rows = np.vstack([rows, np.ones((1, size))])
        curve = np.hstack([curve, np.zeros((held, 1))])
    return CurveStrategy(whole(rows, unit=UNIT), curve, start)


def _in_units_of_noise(mechanism: PolynomialProjection, steps: Vector) -> tuple[Vector, Vector]:
    """Return the answers to which unit noise is added, and what turns it into the coefficients'.

    The present symbols span all directions only where there are more of them than functions (by
    far, for functions that are nearly dependent on them). Elsewhere a row moves in the last
    directions only when it becomes missing, so there the shape has to see the missing symbol too.
    """
    seen = steps
    for _ in range(2):
        try:
            with np.errstate(all="ignore"):
                spread = _spread(mechanism, seen)
                rows: Vector = np.asarray(np.linalg.solve(spread, steps), dtype=np.float64)
        except np.linalg.LinAlgError:
            rows = np.full_like(steps, np.nan)
        # A comparison with what is no number is false.
        if (np.abs(rows) < LARGEST_ENTRY / UNIT).all():
            return rows, spread
        seen = np.hstack([steps, np.zeros((steps.shape[0], 1))])
    raise ArgumentError(
        f"{mechanism.functions} of these functions are too nearly dependent on the "
        f"{steps.shape[1]} symbols to shape their noise. Use fewer functions, more bins, or the "
        "shape 'equal'"
    )


def _steps(mechanism: PolynomialProjection, middles: Vector) -> tuple[Vector, Vector]:
    """Return coefficients of a step at each middle, and the functions at the right ends."""
    count, held = mechanism.functions, middles.size
    ends = 2 * np.arange(1, held + 1) / held - 1
    if mechanism.basis == "legendre":
        return legendre_tails(count, middles), legendre(count, ends).T
    if mechanism.basis == "chebyshev":
        raw = chebyshev(count, middles)
    elif mechanism.basis == "fourier":
        raw = fourier(count, middles)
    elif mechanism.basis == "splines":
        raw = splines(count, middles, degree=min(mechanism.degree, count - 1))
    else:
        raw = np.array(mechanism.basis, dtype=np.float64)
    try:
        functions = orthonormal(raw)
    except ValueError as error:
        raise ArgumentError(str(error)) from None
    # Half of a symbol's own cell lies above its middle.
    above = np.cumsum(functions[:, ::-1], axis=1)[:, ::-1] - functions / 2
    right = np.column_stack([(functions[:, :-1] + functions[:, 1:]) / 2, functions[:, -1]])
    return above * (2 / held), right.T


def _spread(mechanism: PolynomialProjection, steps: Vector) -> Vector:
    """Return the matrix that unit noise in the answers is multiplied by in the coefficients."""
    count = mechanism.functions
    if mechanism.shape == "equal":
        return np.eye(count)
    if mechanism.shape == "diagonal":
        # For Laplace noise this power of the ranges is within a few percent of the best.
        return np.diag(np.ptp(steps, axis=1) ** 0.4)
    chosen = np.rint(
        (1 - np.cos(np.pi * np.arange(_PAIR_POINTS) / (_PAIR_POINTS - 1)))
        / 2
        * (steps.shape[1] - 1)
    ).astype(np.int64)
    points = np.unique(steps[:, chosen], axis=1).T
    first, second = np.triu_indices(points.shape[0], 1)
    covariance, _ = least_trace(points[first] - points[second])
    values, vectors = np.linalg.eigh(covariance)
    root: Vector = (vectors * np.sqrt(values)) @ vectors.T
    return root


def _tail_coefficients(count: int) -> Vector:
    """Return the power-series coefficients of the tails of Legendre polynomials."""
    rows = np.zeros((count, count + 1))
    for row, powers in enumerate(moment_matrix(count)):
        integral = np.polynomial.polynomial.polyint(powers[: row + 1])
        rows[row, : row + 2] = -integral
        rows[row, 0] += np.polynomial.polynomial.polyval(1.0, integral)
    return rows
