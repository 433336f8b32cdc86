"""Private bounds of a column, for a curator who has no public ones."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from numbers import Real
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError, MismatchError
from lapwing.linear.arrays import Values
from lapwing.mechanisms.histogram_query import HistogramQuery
from lapwing.privacy.exact_numbers import ExactNumber
from lapwing.privacy.guarantee import Guarantee, Neighbors, american, weakest_standing
from lapwing.privacy.integer_noise import Noise
from lapwing.privacy.ledger import Ledger, LedgerFile
from lapwing.privacy.privacy_loss import PrivacyLoss
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import RandomSource, source_of, standing_of
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.row_counts import RowCounts, warn_of_rows
from lapwing.protocol.domains.units import to_numbers
from lapwing.protocol.messages.exact_counts import ExactCounts, symbols_of
from lapwing.protocol.messages.unit_rows import UnitRows, unit_named
from lapwing.protocol.release import Release
from lapwing.results.weak_parameters import warn_of_parameters

SMALLEST, LARGEST = -20, 62
"""Values up to 2^SMALLEST in magnitude count as zero, and those above 2^LARGEST as that
magnitude."""

STEPS = LARGEST - SMALLEST

_NEAR = 8
"""An end this many times closer to zero than the other one becomes zero."""

SCALES = Integers(-STEPS, STEPS, outside="clip").for_curator()
"""One step for every power of two in magnitude, of either sign, and one for missing values."""


@dataclass(frozen=True)
class PrivateBounds:
    """Private bounds of a column: the result of :func:`private_bounds`, and its privacy loss.

    Parameters
    ----------
    low, high : float or None
        Lower and upper bound: powers of two, or zero. None when no step had enough rows.
    threshold : int
        Noisy number of rows that a step needed. Values in steps with fewer rows may lie outside
        the bounds.
    release : Release
        The noisy counts, which are public.

    Examples
    --------
    >>> import lapwing as lw
    >>> import numpy as np
    >>> salaries = np.random.default_rng(1).lognormal(10.5, 0.5, size=5000)
    >>> with lw.testing.reproducible(1):
    ...     bounds = lw.private_bounds(
    ...         salaries, neighbors="replace-one", epsilon="0.1")
    >>> bounds.has_bounds, bounds.low, bounds.high, bounds.threshold
    (True, 0.0, 131072.0, 227)
    """

    low: float | None
    high: float | None
    threshold: int
    release: Release

    @property
    def has_bounds(self) -> bool:
        """Whether there are bounds."""
        return self.low is not None

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee to each person, whether or not there are bounds."""
        return self.release.guarantee

    @property
    def loss(self) -> PrivacyLoss:
        """Privacy loss of the noisy counts, whether or not there are bounds."""
        return self.release.parts[0].loss


def steps_of(values: Values, *, faults: list[int] | None = None) -> NDArray[np.float64]:
    """Return the step of every value: float64 [n], NaN for a missing one.

    Step 0 holds values of at most 2^SMALLEST in size. Step k > 0 holds the values in (2^(k - 1),
    2^k] times that, and step -k their negatives. The result is exact, even at powers of two.
    `faults` gets the positions of values that are no number.

    >>> (steps_of([0, 1, 1.5, -1.5, 2]) - steps_of([1])).tolist()
    [-20.0, 0.0, 1.0, -41.0, 1.0]
    """
    x = to_numbers(values, unit="number", unreadable="missing", faults=faults)
    size = np.minimum(np.abs(x), 2.0**LARGEST)
    part, power = np.frexp(size)
    power = power - (part == 0.5)  # size is 2^power now at exact powers, and below it elsewhere
    steps = np.clip(power - SMALLEST, 0, STEPS)
    steps = np.where(size == 0, 0, steps)
    return np.where(np.isnan(x), np.nan, np.sign(x) * steps)


def edges(step: int) -> tuple[float, float]:
    """Return the ends of the values of one step."""
    if step < 0:
        low, high = edges(-step)
        return -high, -low
    end = 2.0 ** (SMALLEST + step)
    return (end / 2, end) if step else (-end, end)


def count_steps(
    values: Values,
    *,
    unit: Values | None = None,
    most: int | None = None,
    rng: RandomSource | None = None,
    rows: RowCounts | None = None,
) -> ExactCounts:
    """Return the exact counts of the steps: secret, and they add up over parts of a column.

    `unit`, `most` and `rng` are as of :meth:`lapwing.protocol.ExactCounts.of_values`. `rows` gets
    how many values are missing and unreadable.
    """
    rows = RowCounts() if rows is None else rows
    whose = unit_named(unit, most)
    steps = step_symbols(values, rows=rows)
    if whose is None or unit is None:
        return ExactCounts(SCALES, np.bincount(steps, minlength=SCALES.size))
    kept = UnitRows(whose.most, source_of(rng))
    kept.add(unit, steps)
    rows.left_out += kept.left_out
    return ExactCounts(SCALES, kept.counts(SCALES.size), whose, standing_of(kept.source))


def step_symbols(values: Values, *, rows: RowCounts) -> NDArray[np.int64]:
    """Return the symbol of the step of every value. `rows` counts the values without one."""
    faults: list[int] = []
    steps = steps_of(values, faults=faults)
    rows.add_unreadable(faults)
    return symbols_of(steps, SCALES, rows=rows)


@american
def private_bounds(
    values: Values | ExactCounts,
    *,
    neighbors: Neighbors,
    epsilon: ExactNumber,
    delta: ExactNumber = 0,
    confidence: float = 0.999,
    unit: Values | None = None,
    most: int | None = None,
    ledger: LedgerFile | Path | str | None = None,
    name: str = "bounds",
    rng: RandomSource | None = None,
) -> PrivateBounds:
    """Approximate bounds: private bounds of a column (Wilson et al., 2020).

    They come from noisy counts of the powers of two. Public bounds are better, because they cost
    nothing and exclude nobody. The epsilon of private bounds is spent in addition to that of the
    release that uses them, even when no bounds are found.

    Parameters
    ----------
    values : array_like [n], or ExactCounts
        Numbers, or the exact counts that :func:`count_steps` made of them.
    neighbors : {"replace-one", "add-or-remove-one"}
        Neighbor relation. It must be given.
    epsilon : int, float, str, Decimal or Fraction
        Privacy parameter, in (0, 24].
    delta : int, float, str, Decimal or Fraction
        Privacy parameter, in [0, 1). Default: 0, which is pure differential privacy.
    confidence : float
        Least probability that no empty step is mistaken for one with rows, in (0, 1). Default:
        0.999.
    unit : array_like [n], optional
        Privacy unit of each row, where a person may have several rows. Default: each row belongs
        to a different person.
    most : int, optional
        With `unit`: largest number of rows counted for one unit.
    ledger : LedgerFile, Path or str, optional
        Ledger that pays before the noise is drawn. Default: none.
    name : str
        Name of the entry in the ledger. Default: "bounds".
    rng : RandomSource, optional
        Default: secure randomness. A seeded source is for tests and simulation only.

    Returns
    -------
    PrivateBounds
        Bounds, if any, with their guarantee and privacy loss.

    Raises
    ------
    PrivacyError, ArgumentError
        When an argument is out of range, before anything is drawn.
    MismatchError
        When exact counts are not counts of steps.
    BudgetError
        When the ledger cannot pay.

    Warns
    -----
    RowsWarning
        When more than half of at least 100 values are missing or unreadable, or more than 1% are
        unreadable. It comes before anything is paid for. It contains exact counts, for your eyes
        only.
    PrivacyWarning
        As from :func:`lapwing.release`, before anything is drawn.

    Notes
    -----
    **Privacy.** The step of a row depends on that row alone, and the steps are fixed. So the counts
    are a :class:`HistogramQuery` of 165 cells. The bounds are post-processing of its noisy answers.
    The tests compare the sensitivity with all pairs of small data sets.

    **Accuracy.** A step is taken when its noisy count reaches a threshold. All empty steps stay
    below the threshold with the given confidence. It is 227 rows at epsilon 0.1, replace-one. Ends
    are powers of two, so an interval is up to twice as wide as necessary. Steps of fewer rows are
    cut off. The end near zero becomes zero if it is at most an eighth of the other end.

    **Cost.** 165 numbers, in linear time.

    The exponential histogram is that of [1]_ ("approximate bounds"), here with whole-number noise.

    References
    ----------
    .. [1] R. J. Wilson, C. Y. Zhang, W. Lam, D. Desfontaines, D. Simmons-Marengo, B. Gipson,
       "Differentially private SQL with bounded user contribution", PoPETs, 2020.
       doi:10.2478/popets-2020-0025

    Examples
    --------
    >>> import lapwing as lw
    >>> import numpy as np
    >>> salaries = np.random.default_rng(1).lognormal(10.5, 0.5, size=5000)
    >>> with lw.testing.reproducible(1):
    ...     bounds = lw.private_bounds(
    ...         salaries, neighbors="replace-one", epsilon="0.1")
    >>> bounds.low, bounds.high
    (0.0, 131072.0)
    >>> print(bounds.guarantee)
    epsilon = 0.1, pure, neighbors replace-one, central model
    """
    counted = isinstance(values, ExactCounts)
    if counted and (unit is not None or most is not None):
        raise ArgumentError("exact counts already have a unit. Leave out unit and most")
    whose = values.unit if isinstance(values, ExactCounts) else unit_named(unit, most)
    promise = Promise(neighbors, epsilon=epsilon, delta=delta, unit=whose)
    check_confidence(confidence)
    rng = source_of(rng)  # before anything is paid
    query = HistogramQuery(2 * STEPS + 1)
    loss = query.loss(SCALES, promise)
    if isinstance(values, ExactCounts):
        summary = values
    else:
        rows = RowCounts()
        summary = count_steps(values, unit=unit, most=most, rng=rng, rows=rows)
        warn_of_rows(rows, SCALES, stacklevel=4)
    if summary.domain != SCALES:
        raise MismatchError("the exact counts must come from count_steps")
    people = summary.people if promise.shows_people else None
    warn_of_parameters(promise, promise.guarantee(loss).epsilon, people, stacklevel=3)
    if ledger is None:
        return _bounds(query.release(summary, promise, rng=rng), confidence)
    file = Ledger.open(ledger)
    identifier = secrets.token_hex(16)
    paid = promise.guarantee(loss).marked(weakest_standing(standing_of(rng), summary.standing))
    with file.paying(name, paid, loss=loss, release=identifier):
        made = query.release(summary, promise, rng=rng, identifier=identifier)
    return _bounds(made, confidence)


def check_confidence(confidence: float) -> None:
    """Raise ArgumentError unless it is in (0, 1)."""
    if not isinstance(confidence, Real) or not 0 < confidence < 1:
        raise ArgumentError("confidence", "must be between 0 and 1", repr(confidence))


def _bounds(release: Release, confidence: float) -> PrivateBounds:
    threshold = least_count(
        release.parts[0].noise, cells=2 * STEPS + 1, false_alarms=1 - confidence
    )
    present = release.answers[: 2 * STEPS + 1]
    taken = np.flatnonzero(present >= threshold) - STEPS
    if not taken.size:
        return PrivateBounds(None, None, threshold, release)
    first, last = int(taken[0]), int(taken[-1])
    low, high = edges(first)[0], edges(last)[1]
    # A column of one sign starts at zero where that widens it little: its smallest values are often
    # too few to be seen, and would be cut off. The step of zero has no room on the other side.
    if first >= 0 and last > 0 and _NEAR * low <= high:
        low = 0.0
    if last <= 0 and first < 0 and _NEAR * high >= low:
        high = 0.0
    return PrivateBounds(low, high, threshold, release)


def least_count(noise: Noise, *, cells: int, false_alarms: float) -> int:
    """Return the least count that the noise of no empty cell reaches, but for false alarms.

    cells: All of which may be empty.
    false_alarms: In (0, 1): the largest probability that any of them reaches it.
    """
    each, scale = false_alarms / cells, float(noise.scale)
    if noise.kind == "laplace":
        # P(X >= t) = e^(-t / s) / (1 + e^(-1 / s)) for t > 0.
        return max(1, math.ceil(-scale * math.log(each * (1 + math.exp(-1 / scale)))))
    from scipy.special import ndtri

    return max(1, math.ceil(0.5 - scale * float(ndtri(each))))
