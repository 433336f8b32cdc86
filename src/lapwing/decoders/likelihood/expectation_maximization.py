"""Expectation maximization, plain (EM) and with a smoothing step (EMS)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import reduce
from operator import add
from typing import Annotated, ClassVar, Literal

import numpy as np

from lapwing.declared import AtLeastOne, Declared, From, Positive, Whole
from lapwing.decoders.decoder import Decoder, decoder_document, distribution_of, smoother
from lapwing.decoders.unbiased.linear_estimate import available_band
from lapwing.docstrings import inherits
from lapwing.errors import ArgumentError, ConvergenceWarning, UnsupportedChannelError
from lapwing.linear.arrays import Vector, one_thread
from lapwing.linear.operators.operator import Operator
from lapwing.linear.solvers import Solution, extrapolated
from lapwing.protocol.channels.channel import Channel, Multinomial, check_given
from lapwing.protocol.messages.tally import CountTally, Kind
from lapwing.results.distribution import Distribution
from lapwing.results.uncertainty import Uncertainty

Rows = list[tuple[Operator, Vector]]

LIMIT = 20_000
"""Most iterations when `limit` is not given."""

_PLAIN = 4096
"""Bins up to which plain iterations take a tenth of a second, so that nothing else is needed."""

STRENGTHS = (0, 1, 2, 4, 8, 16)
"""Numbers of smoothing steps per iteration among which held-out reports choose. 0 is EM."""

FOLDS = 5
"""Parts of the reports. Each is held out once."""

_TINY = 1e-300
"""Keeps the logarithm and the quotient finite where an output cannot occur and did not."""


def likelihood_rows(channel: Channel, tally: CountTally) -> Rows:
    """Return the (operator, counts) pairs whose ``sum(counts * log(operator mass))`` is maximized.

    For multinomial blocks this is the log-likelihood. For blocks of bits it is the composite
    marginal-binomial likelihood: set and unset bits as if all were independent.
    """
    rows: Rows = []
    for block, counts, reports in zip(channel.blocks, tally.blocks, tally.reports, strict=True):
        for operator, part in block.law.likelihood_rows(block.operator, counts, reports):
            rows.append((operator, part.astype(np.float64)))
    return rows


def expect(rows: Rows, mass: Vector) -> tuple[Vector, float]:
    """Return the expected counts of the bins given the reports, and the log-likelihood.

    It takes one product with every operator and one with its adjoint, O(outputs) for structured
    ones.
    """
    expected: Vector | None = None
    likelihood = 0.0
    for operator, counts in rows:
        # The hooks behind matvec and rmatvec: at 1024 bins SciPy's checks of shapes would cost
        # a quarter of an iteration, and the shapes were checked with the channel. SciPy's own
        # operator of a dense matrix answers with a column.
        mean = operator._matvec(mass).reshape(-1)
        np.maximum(mean, _TINY, out=mean)
        likelihood += float(counts.dot(np.log(mean)))
        part = operator._rmatvec(np.divide(counts, mean, out=mean)).reshape(-1)
        expected = part if expected is None else expected + part
    assert expected is not None
    expected *= mass
    return expected, likelihood


def iterate(
    rows: Rows,
    start: Vector,
    *,
    smooth: Callable[[Vector], Vector] | None,
    tolerance: float,
    limit: int,
    accelerated: bool = False,
) -> Solution:
    """Repeat expectation, maximization and smoothing until the log-likelihood stays.

    It stops when the log-likelihood, summed over all reports, changes by less than `tolerance` in
    an iteration. The paper's experiments do so (its text says "relative").

    rows: Of :func:`likelihood_rows`.
    start: float64 [size], positive, of sum one.
    smooth: Average of neighbors. Default: none.
    limit: Most iterations.
    accelerated: Whether two iterations at a time are extrapolated (SQUAREM), and then followed by a
        third. The place where they land is kept unless its likelihood is lower. With smoothing the
        likelihood may fall on the way. The place may then lose as much as the two iterations would
        over the same distance.
    """

    def improved(mass: Vector) -> tuple[Vector, float]:
        following, likelihood = expect(rows, mass)
        following /= np.add.reduce(following)
        if smooth is not None:
            following = smooth(following)
            following /= np.add.reduce(following)
        return following, likelihood

    if accelerated:
        return _leaping(improved, start, tolerance=tolerance, limit=limit)
    mass, previous = start, -math.inf
    for step in range(limit):
        following, likelihood = improved(mass)
        if abs(likelihood - previous) < tolerance:
            return Solution(mass, likelihood, step, True)
        mass, previous = following, likelihood
    return Solution(mass, previous, limit, False)


_LEAP, _SHORTEST = 4.0, 2.0
"""Factor of the longest leap after a leap was taken or dropped, and the least leap."""


def _leaping(
    improved: Callable[[Vector], tuple[Vector, float]],
    start: Vector,
    *,
    tolerance: float,
    limit: int,
) -> Solution:
    """Return where :func:`iterate` stops with acceleration."""
    point, steps, longest = start, 0, _LEAP
    likelihood = -math.inf
    while steps + 3 <= limit:
        first, before = improved(point)
        second, likelihood = improved(first)
        steps += 2
        rise = likelihood - before
        if abs(rise) < tolerance:
            return Solution(first, likelihood, steps, True)
        leap, length = extrapolated(point, first, second, most=longest)
        point = second
        if length > 1:
            # A share that is to vanish, which no iteration takes to zero, falls to a thousandth.
            leap = np.maximum(leap, second / 1000)
            leap /= np.add.reduce(leap)
            landed, reached = improved(leap)
            steps += 1
            if reached >= likelihood + min(length**2 * rise, 0.0):
                point = landed
                longest *= _LEAP if length == longest else 1.0
            else:
                longest = max(length / _LEAP, _SHORTEST)
    return Solution(point, likelihood, steps, False)


def folds(channel: Channel, tally: CountTally, *, seed: int) -> list[CountTally]:
    """Return the tallies of random parts of the people, of about equal size.

    Every report is an output counted once. So splitting each count at random is splitting the
    people at random, exactly.

    Raises UnsupportedChannelError when a block counts a report more than once (bits, subsets). Its
    tally does not show which counts are of one person.
    """
    if not all(isinstance(block.law, Multinomial) for block in channel.blocks):
        raise UnsupportedChannelError(
            "holding reports out needs reports of one output each. A tally does not separate "
            "sets of bits, so give strength as a number"
        )
    rng = np.random.default_rng(seed)
    split = [rng.multinomial(counts, [1 / FOLDS] * FOLDS).T for counts in tally.blocks]
    return [
        CountTally(parts, [int(part.sum()) for part in parts], tally.fingerprint, tally.survey)
        for parts in zip(*split, strict=True)
    ]


@dataclass(frozen=True)
class ExpectationMaximization(Declared):
    """Expectation maximization: EM, and EMS with smoothing (Li et al., 2020).

    It starts from the uniform distribution and increases the likelihood. EM stops early. EMS
    averages neighbors after each step.

    Parameters
    ----------
    smoothed : bool
        False: EM. True: EMS, with the (1, 2, 1) / 4 average of neighbors after every step, which
        needs an ordered domain. For pairs it averages along both axes. Default: False.
    tolerance : float, optional
        Stop when the log-likelihood, summed over all reports, changes by less than this, in nats.
        For EM this is the regularizer: iterated to convergence, EM follows the noise. Default, as
        in the paper: ``1e-3 e^epsilon`` for EM and ``1e-3`` for EMS.
    limit : int, optional
        Most iterations, which are then plain ones, as papers count them. Reaching the limit gives
        a ConvergenceWarning. Default: 20,000, where EMS is accelerated above 4,096 bins.
    band : bool
        Whether to compute the exact linear confidence band, where the channel can be inverted (up
        to 2048 bins, O(size^3)). It depends on the channel and the tally, and the decoded curve is
        drawn in it. Default: True.
    strength : int or "held-out"
        Averages of neighbors after each step of EMS, in 0..64. A strength of s is a binomial kernel
        of ``2 s + 1`` bins. "held-out" chooses the one of 0, 1, 2, 4, 8 and 16 that makes held-out
        reports most likely. Each fifth of the reports is held out once. Then all reports are
        decoded with it. This costs no privacy, because it uses reports only. Default: 1.
    seed : int
        Seed of the split into fifths, so that decoding again gives the same answer. Default: 0.

    See Also
    --------
    SpectralPrior : The recommended decoder for numerical values.

    Notes
    -----
    **Privacy.** A decoder is post-processing of private reports, so it costs no privacy.

    **Accuracy.** EM converges to the maximum of the likelihood, which is concave. EMS oversmooths
    features narrower than the wave. See the tables of `benchmarks/accuracy`. With
    ``strength="held-out"`` its Wasserstein-1 error on smooth columns is 0.9 to 1.25 times that of
    one average. On multimodal and spiky columns it is half of that. It fails to smooth a smooth
    column about once in twenty times, as the tests measure.

    **Cost.** Two products with every operator for each iteration: O(outputs) for square waves. The
    number of iterations grows with the number of reports, because the tolerance is absolute.
    Choosing the strength takes 30 more decodes.

    Above 4,096 bins and without `limit` the iterations of EMS are accelerated by SQUAREM [4]_.
    Under a small `tolerance` they end at the same fixed point. Under the default tolerance both
    stop before it, and the accelerated ones stop nearby, after a ninth of the iterations. Their
    Wasserstein-1 error on synthetic columns of 16,384 bins was 0.98 to 1.04 times that of the
    plain ones. EM is not accelerated, because stopping early is its regularizer.

    On multinomial blocks, EM maximizes the likelihood. On blocks of bits, it maximizes the
    composite marginal-binomial likelihood, and the provenance of the answer says so.

    The method is that of [1]_, section 5.5 and algorithm 1. It differs in three points. At the
    ends, which the paper leaves open, smoothing keeps 3/4 of the mass, so none is lost. Bins of
    unequal width exchange mass by density. Declared atoms are not smoothed. EM itself is from [2]_,
    and the smoothing step from [3]_.

    References
    ----------
    .. [1] Z. Li, T. Wang, M. Lopuhaä-Zwakenberg, N. Li, B. Škorić, "Estimating numerical
       distributions under local differential privacy", SIGMOD, 2020. doi:10.1145/3318464.3389700
    .. [2] A. P. Dempster, N. M. Laird, D. B. Rubin, "Maximum likelihood from incomplete data via
       the EM algorithm", Journal of the Royal Statistical Society B 39(1), 1977.
    .. [3] B. W. Silverman, M. C. Jones, J. D. Wilson, D. W. Nychka, "A smoothed EM approach to
       indirect estimation problems, with particular reference to stereology and emission
       tomography", Journal of the Royal Statistical Society B 52(2), 1990.
    .. [4] R. Varadhan, C. Roland, "Simple and globally convergent methods for accelerating the
       convergence of any EM algorithm", Scandinavian Journal of Statistics, 2008.
       doi:10.1111/j.1467-9469.2007.00585.x

    Examples
    --------
    >>> import lapwing as lw
    >>> wave = lw.SquareWave(lw.Interval(0, 100, bins=50, outside="clip"), epsilon=2)
    >>> people = [0] * 10 + [1000] * 20 + [0] * 20  # ages 20 to 60, half of them below 40
    >>> tally = lw.simulate(wave, people, rng=1)
    >>> result = lw.ExpectationMaximization(smoothed=True).decode(wave.channel, tally)
    >>> round(float(result.cdf(40)), 2)
    0.5
    """

    _: KW_ONLY
    smoothed: bool = False
    tolerance: Positive | None = None
    limit: AtLeastOne | None = None
    band: bool = True
    strength: Annotated[int, From(0, 64)] | Literal["held-out"] = 1
    seed: Whole = 0

    name: ClassVar[str] = "expectation-maximization"
    reads: ClassVar[Kind] = "counts"

    def __post_init__(self) -> None:
        """Check the fields, and that a strength has something to smooth."""
        super().__post_init__()
        if not self.smoothed and self.strength != 1:
            raise ArgumentError(
                "strength",
                "is a setting of the smoothing",
                advice="Also pass smoothed=True",
                others=("smoothed",),
            )

    @one_thread
    @inherits(Decoder.decode)
    def decode(self, channel: Channel, tally: CountTally) -> Distribution:
        """Return the distribution where the iteration stopped.

        Returns
        -------
        Distribution
            Estimate, with the exact linear confidence band if `band` and the channel can be
            inverted.

        Raises
        ------
        UnsupportedChannelError
            When the channel has no likelihood, or the domain has no order for smoothing.
        """
        check_given(channel, tally)
        strength = self._strength(channel, tally)
        rows = likelihood_rows(channel, tally)
        solution = self._climb(channel, rows, strength)
        if not solution.converged:
            warnings.warn(
                f"expectation maximization stopped at its limit of {self.limit or LIMIT} "
                "iterations. "
                "Raise the limit or the tolerance",
                ConvergenceWarning,
                stacklevel=2,
            )
        composite = len(rows) > len(channel.blocks)
        return distribution_of(
            channel,
            tally,
            solution.point,
            provenance={
                **decoder_document(self),
                "likelihood": "composite marginal-binomial" if composite else "full",
                "iterations": solution.iterations,
                "converged": solution.converged,
                **({"chosen_strength": strength} if self.strength == "held-out" else {}),
            },
            uncertainty=self._uncertainty(channel, tally, solution.point),
        )

    def _climb(self, channel: Channel, rows: Rows, strength: int) -> Solution:
        """Return where the iteration stops with so many averages of neighbors a step."""
        size = channel.domain.size
        average = smoother(channel.domain) if strength else None

        def smooth(mass: Vector) -> Vector:
            assert average is not None
            for _ in range(strength):
                mass = average(mass)
            return mass

        return iterate(
            rows,
            np.full(size, 1 / size),
            smooth=smooth if strength > 1 else average,
            tolerance=self._tolerance(channel, strength),
            limit=self.limit or LIMIT,
            accelerated=bool(strength)
            and self.limit is None
            and channel.domain.inside_size > _PLAIN,
        )

    def _strength(self, channel: Channel, tally: CountTally) -> int:
        """Return the averages a step: none, those asked for, or those that held-out reports say."""
        if not self.smoothed:
            return 0
        if self.strength != "held-out":
            return self.strength
        parts = folds(channel, tally, seed=self.seed)
        likelihood = dict.fromkeys(STRENGTHS, 0.0)
        for number, held in enumerate(parts):
            rest = reduce(add, parts[:number] + parts[number + 1 :])
            if not held.total or not rest.total:
                continue
            seen, unseen = likelihood_rows(channel, rest), likelihood_rows(channel, held)
            for strength in STRENGTHS:
                mass = self._climb(channel, seen, strength).point
                likelihood[strength] += expect(unseen, mass)[1]
        # With too few reports to hold any out, all are equal, and the paper's one average stays.
        best = max(likelihood.values())
        return 1 if likelihood[1] == best else max(likelihood, key=lambda s: likelihood[s])

    def _tolerance(self, channel: Channel, strength: int) -> float:
        if self.tolerance is not None:
            return self.tolerance
        if strength:
            return 1e-3
        if channel.guarantee is None:
            raise UnsupportedChannelError(
                "the stopping rule of EM needs the channel's epsilon, but this channel states "
                "no guarantee. Pass tolerance"
            )
        return 1e-3 * math.exp(channel.guarantee.epsilon)

    def _uncertainty(self, channel: Channel, tally: CountTally, mass: Vector) -> Uncertainty | None:
        return available_band(channel, tally, mass) if self.band else None
