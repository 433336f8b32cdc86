"""The square wave: a report is more likely to be a point near the value than one far from it."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.declared import AtLeastOne, Share
from lapwing.errors import ArgumentError, DomainError
from lapwing.linear.arrays import Values
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.banded import SlidingWindow, circular_window
from lapwing.linear.operators.operator import Repeated
from lapwing.privacy.exact_numbers import ExactNumber
from lapwing.protocol.channels.channel import Block, Channel, Multinomial
from lapwing.protocol.domains.domain import Domain, check_no_overflow, domain_of
from lapwing.protocol.domains.interval import Interval
from lapwing.randomizers.two_level import TwoLevel
from lapwing.randomizers.window_counts import spread_in_circular_windows, spread_in_windows


def mutual_information_width(epsilon: Fraction | float, *, circular: bool = False) -> float:
    """Return the half-width b that maximizes a bound on the information in a report.

    epsilon: Privacy parameter of one report, in (0, 24], in nats.
    circular: Whether the domain is a circle of length 1 instead of the interval [0, 1]. Default:
        False.
    returns: Half-width in (0, 1/2), as a part of the domain's length. As epsilon tends to 0 it
        tends to 1/2 on the interval, and to 1/4 on the circle.

    On the interval ``b = (e e^e - e^e + 1) / (2 e^e (e^e - 1 - e))`` with e = epsilon [1]_, section
    5.3. Both differences cancel for small e, so their power series are summed instead. The terms
    ``(k - 1) e^k / k!`` and ``e^k / k!`` for k >= 2 are positive, so nothing cancels for any e.

    On the circle the report is uniform on the circle itself. Maximizing the same bound gives
    ``2 b = (e e^e - e^e + 1) / (e^e - 1)^2``. This is our own derivation: set the derivative of
    ``2 b e e^e / (1 + 2 b (e^e - 1)) - log(1 + 2 b (e^e - 1))`` to zero.

    .. [1] Z. Li, T. Wang, M. Lopuhaä-Zwakenberg, N. Li, B. Škorić, "Estimating numerical
       distributions under local differential privacy", SIGMOD, 2020. doi:10.1145/3318464.3389700

    >>> [round(mutual_information_width(e), 4) for e in (0.5, 1, 2, 4)]
    [0.3582, 0.2561, 0.1293, 0.0304]
    >>> round(mutual_information_width(1e-9), 6)
    0.5
    """
    e = float(epsilon)
    # Terms e^(k-2) / k!, all positive; 24^k / k! is below 1e-16 of the sum from k = 120.
    terms = [0.5]
    for k in range(3, 121):
        terms.append(terms[-1] * e / k)
    numerator = sum((k - 1) * term for k, term in enumerate(terms, start=2))
    if circular:
        return numerator / (2 * (math.expm1(e) / e) ** 2)
    return numerator / (2 * math.exp(e) * sum(terms))


def half_window(points: int, width: float, *, circular: bool, coprime: bool) -> int:
    """Return the points of a window on either side of its center.

    points: Points of the grid of the values.
    width: Half of the window as a part of the domain's length.
    circular: Whether the domain is a circle.
    coprime: On a circle, whether to take the next narrower window whose length shares no divisor
        with the circle's. The spectrum of a window that does has zeros, so some distributions would
        give the same reports.
    returns: Points on either side, at least 0.
    """
    half = int(width * points)
    if not circular:
        return half
    half = min(half, (points - 2) // 2)
    while coprime and math.gcd(2 * half + 1, points) > 1:
        half -= 1
    return half


@dataclass(frozen=True)
class SquareWave(TwoLevel):
    """Square-wave mechanism for numerical values (Li et al., 2020).

    The value is rounded to a grid. A report is a point of a longer grid. It is more likely to lie
    in the window of outputs centered on the value. The output grid is longer by half a window at
    each end. On a circular interval the window wraps and there are no ends.

    Parameters
    ----------
    domain : Interval or Integers
        Domain of the values, with at least 2 bins.
    epsilon : int, float, str or Fraction
        Privacy parameter of one report, in (0, 24], in nats. The field holds an exact Fraction.
    width : float, optional
        Half-width b of the wave as a fraction of the domain's length, in [0, 1]. Default: the
        width that maximizes a bound on the mutual information between value and report, see
        :attr:`half_width`.
    grid : int, optional
        Number of points of the grid on which values are randomized, a multiple of the interval's
        bins. A finer grid can be decoded at any of its divisors: ``survey.decode(tally,
        bins=...)``. Default: the bins of the domain.

    See Also
    --------
    lapwing.MultiscaleWave : A mixture of waves, the default for numerical values.

    Notes
    -----
    **Privacy.** A report satisfies pure epsilon-local differential privacy. The window is
    ``e^epsilon`` times as likely as the rest, rounded down to a multiple of 2^-64.
    :meth:`certificate` states the exact worst-case likelihood ratio. Values are rounded to a grid
    before they are randomized, the paper's "bucketize before randomize". The low bits of a float
    would reveal the value, so no float leaves a device.

    **Accuracy.** There is no closed form. See `docs/papers/square-wave.md` and the benchmarks. The
    outputs of two values at distance D have Wasserstein distance ``(1 - (2 b + 1) q) D``, the
    largest of all wave shapes. As the grid gets finer, the distribution of a report tends to that
    of the continuous wave.

    **Cost.** A report takes ``ceil(log2(outputs) / 8)`` bytes, 2 at 1024 bins. Randomizing or
    tallying one takes O(1) time. A product with the channel takes O(outputs), and O(outputs log
    outputs) on a circle.

    The method is that of [1]_, sections 5.2 to 5.4, with a half-window of ``floor(b d)`` points.
    It differs on a circle, where the width is this library's own derivation. There a window whose
    length shares a divisor with the number of points is made narrower, because otherwise the
    channel could not be inverted.

    References
    ----------
    .. [1] Z. Li, T. Wang, M. Lopuhaä-Zwakenberg, N. Li, B. Škorić, "Estimating numerical
       distributions under local differential privacy", SIGMOD, 2020. doi:10.1145/3318464.3389700

    Examples
    --------
    >>> import lapwing as lw
    >>> wave = lw.SquareWave(lw.Interval(0, 100, bins=50, outside="clip"), epsilon=2)
    >>> wave.report_width, wave.certificate().holds, round(wave.half_width, 3)
    (1, True, 0.129)
    >>> ages = list(range(20, 60)) * 500  # half of them below 40
    >>> reports = wave.randomize(ages, rng=lw.seeded(1))
    >>> result = lw.SpectralPrior().decode(wave.channel, wave.tally(reports))
    >>> round(float(result.cdf(40)), 1)
    0.5
    """

    domain: Annotated[Domain, domain_of("numbers")]
    _: KW_ONLY
    width: Share | None = None
    grid: AtLeastOne | None = None

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self,
            domain: Domain,
            epsilon: ExactNumber,
            *,
            width: float | None = None,
            grid: int | None = None,
        ) -> None: ...

    name: ClassVar[str] = "square-wave"
    _in_javascript: ClassVar[bool] = True
    decoder: ClassVar[str] = "spectral-prior"

    def _settle(self) -> None:
        """Check the grid against the domain."""
        if self.grid is not None:
            self._check_grid(self.domain)

    def _check_grid(self, domain: Domain) -> None:
        check_no_overflow(domain, name="a square wave with a grid")
        if not isinstance(domain, Interval) or not domain.regular:
            raise DomainError(
                "a grid finer than the bins needs an Interval without atoms or a missing bin"
            )
        if self._points % domain.bins:
            raise ArgumentError(
                "grid", f"must be a multiple of the {domain.bins} bins", str(self.grid)
            )

    @cached_property
    def _points(self) -> int:
        """Points of the input grid."""
        return self.domain.size if self.grid is None else self.grid

    @cached_property
    def _circular(self) -> bool:
        """Whether the window wraps."""
        return self.domain.circular

    @cached_property
    def _half_window(self) -> int:
        """Points of the window on either side of its center."""
        return half_window(
            self._points, self.half_width, circular=self.domain.circular, coprime=True
        )

    @property
    def half_width(self) -> float:
        """Half-width b of the wave: `width`, or the default if `width` was left out.

        The window has ``2 floor(b d) + 1`` of the d grid points, or fewer on some circles.
        """
        if self.width is not None:
            return self.width
        return mutual_information_width(self.epsilon, circular=self.domain.circular)

    @cached_property
    def _near(self) -> int:
        """Points of the window."""
        return 2 * self._half_window + 1

    @cached_property
    def _outputs(self) -> int:
        """Points of the output grid."""
        return self._points if self.domain.circular else self._points + 2 * self._half_window

    def _points_of(self, values: Values) -> NDArray[np.int64]:
        """Return the grid point of each value: int64 [n]."""
        if self.grid is None or not isinstance(self.domain, Interval):
            return self.domain.index(values)
        return self.domain.refined(self.grid).index(values)

    def _locate(
        self, point: NDArray[np.int64], near: NDArray[np.bool_], offset: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return point `offset` of the window of a point, or of what the window leaves out."""
        if self._circular:
            half = self._half_window
            return (point + np.where(near, offset - half, offset + half + 1)) % self._points
        return np.where(near, point + offset, offset + self._near * (offset >= point))

    def _spread_near(
        self, people: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return counts of outputs when everybody is uniform in the window of their point."""
        times = self._points // self.domain.size
        if times > 1:
            people = rng.multinomial(people, np.full(times, 1 / times)).ravel()
        if self.domain.circular:
            starts = np.roll(people, -self._half_window)
            return spread_in_circular_windows(starts, width=self._near, rng=rng)
        return spread_in_windows(people, width=self._near, points=self._outputs, rng=rng)

    def _operator(self, inside: float, outside: float) -> LinearOperator:
        """Return the sliding window, with bins spread over their grid points."""
        return self._operator_at(self.domain.size, inside, outside)

    def _operator_at(self, bins: int, inside: float, outside: float) -> LinearOperator:
        if self.domain.circular:
            wave: LinearOperator = circular_window(
                self._points, width=self._near, inside=inside, outside=outside
            )
        else:
            wave = SlidingWindow(self._points, width=self._near, inside=inside, outside=outside)
        times = self._points // bins
        return wave if times == 1 else wave @ Repeated(bins, times=times)

    def _channel_at(self, bins: int) -> Channel:
        """Return the channel for decoding the same tally at another number of bins.

        bins: A divisor of the grid.

        Raises ArgumentError when it does not divide the grid, or the domain has atoms or a missing
        bin.
        Raises DomainError when the domain counts values outside, and these are not its own bins.
        """
        if self.domain.outside_indices and bins == getattr(self.domain, "bins", None):
            return self.channel
        check_no_overflow(self.domain, name="decoding at another number of bins")
        regular = isinstance(self.domain, Interval) and self.domain.regular
        if not isinstance(self.domain, Interval) or not regular or bins < 2 or self._points % bins:
            raise ArgumentError(
                "bins",
                f"must divide the {self._points} points of the grid of a regular interval",
                str(bins),
            )
        block = Block(self._operator_at(bins, *self._probabilities), Multinomial())
        return Channel(self.domain.refined(bins), [block], self.fingerprint, self.guarantee)
