"""Test of whether honest devices could have sent a tally (data poisoning).

Anybody may send a collector any reports. An honest report of a false value can never be detected.
Under local privacy nothing distinguishes it from that of a person who holds the value. But reports
that the randomizer did not make leave counts that no distribution of people explains, unless the
attacker takes care. The test looks for these.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lapwing.decoders.likelihood.expectation_maximization import expect, likelihood_rows
from lapwing.errors import UnsupportedChannelError
from lapwing.linear.arrays import Vector, one_thread
from lapwing.linear.operators.operator import Stacked, dense
from lapwing.linear.projections import simplex
from lapwing.linear.solvers import gap, largest_eigenvalue, projected_gradient, quadratic_on_simplex
from lapwing.planning.simulation import simulate, simulated_exactly
from lapwing.protocol.channels.channel import Channel, Multinomial, channel_for
from lapwing.protocol.messages.tally import CountTally, Tally
from lapwing.protocol.randomizer import Randomizer

ALARM = 1e-4
"""At most this p-value sounds the alarm. It is a bound: honest tallies reach it more rarely."""

SIMULATIONS = 49
"""Honest tallies simulated at the fit."""
# Their mean and spread give the p-value by a gamma distribution, the shape of a chi-square. The
# spread is known to 10%.

SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Shares of copied reports that are tried, to say which would have been seen."""

TRIES = 2
"""Forged tallies of a share, all of which must sound the alarm for it to count as seen."""

DENSE = 1024
"""Symbols up to which the smallest distance is found."""
# Above, gradients come as near as they come, and the proved lower bound of the distance is used.

_PILOT = 200
_STEPS = 500
_TINY = 1e-12


@dataclass(frozen=True)
class PoisoningAlarm:
    """Data-poisoning check of a tally.

    It states how far the tally is from any tally that honest devices would send.

    Parameters
    ----------
    chi_square : float
        Smallest chi-square statistic over all distributions of people, or a proved lower bound of
        it.
    honest : tuple of float
        Mean and standard deviation of the same distance between honest tallies and the distribution
        from which they were drawn.
    p_value : float
        Upper bound on the probability of such a distance among honest people, in [0, 1].
    visible : float or None
        Share of the reports, among the shares tried, that would have been detected if all were
        copies of one report. None if even half of them would not have been detected.

    See Also
    --------
    lapwing.Survey.check_poisoning : Makes it.

    Examples
    --------
    >>> import lapwing as lw
    >>> survey = lw.Survey("age", lw.SquareWave(lw.Interval(0, 1, bins=64), epsilon=1))
    >>> tally = lw.simulate(survey.randomizer, [500] * 64, rng=1)
    >>> alarm = survey.check_poisoning(tally)
    >>> isinstance(alarm, lw.planning.PoisoningAlarm), alarm.sounds
    (True, False)
    """

    chi_square: float
    honest: tuple[float, float]
    p_value: float
    visible: float | None

    @property
    def sounds(self) -> bool:
        """Whether honest people cannot explain the tally."""
        return self.p_value <= ALARM

    @property
    def sentence(self) -> str:
        """Result as a sentence."""
        if self.sounds:
            found = (
                "Honest devices do not send these counts, whatever people's values are (p = "
                f"{self.p_value:.1g}). Reports were fabricated, or a client is broken."
            )
        else:
            found = f"Honest devices explain these counts (p = {self.p_value:.2g})."
        if self.visible is None:
            power = "No number of copies of one report would have been detected."
        else:
            power = (
                f"Copies of one report would have been detected from about {self.visible:.1%} "
                "copies on."
            )
        return f"{found} {power} Honest reports of false values are never detected."


@one_thread
def check_poisoning(randomizer: Randomizer, tally: Tally, *, seed: int = 0) -> PoisoningAlarm:
    """Return whether honest people could have sent a tally.

    randomizer: Randomizer whose channel has a joint distribution that can be simulated: all that
        send codes, bits or sets.
    tally: Tally of at least one of its reports.
    seed: Seed of the simulations, so that repeating gives the same answer. Default: 0.
    returns: Distance of the tally from honest ones, with its p-value.

    Raises UnsupportedChannelError when the reports are stored, or the randomizer has no joint
    distribution to simulate (hashing).
    Raises TallyError, MismatchError when the tally is empty, or of another randomizer.

    **Privacy.** It uses the tally only, so it costs no privacy.

    **Accuracy.** The statistic is the smallest weighted sum of squares ``sum((c - n M p)^2 / v)``
    over all distributions p. The weights have the variance v of a count at a first fit. For a
    mixture the chi-square of the group sizes is added. The p-value compares it with that sum at the
    distribution from which the simulated people were drawn, without fitting them. A fit is never
    further than the truth, so the p-value is conservative, even where shares are zero. There a
    simulation that fits every tally again alarms too often, because a fit to noise has fewer zeros
    than the truth. The price is power, which is stated: `visible`.

    **Cost.** 49 simulated tallies and up to 9 fits of O(size^3) each: up to 10 s at 1024 bins.

    >>> import numpy as np
    >>> from lapwing.randomizers.numerical.square_wave import SquareWave
    >>> from lapwing.protocol.domains.interval import Interval
    >>> wave = SquareWave(Interval(0, 1, bins=64), epsilon=1)
    >>> honest = simulate(wave, [500] * 64, rng=1)
    >>> check_poisoning(wave, honest).sounds
    False
    >>> counts = honest.blocks[0]
    >>> forged = CountTally([counts + 300 * (np.arange(counts.size) == 7)],
    ...                 [honest.total + 300], honest.fingerprint)
    >>> check_poisoning(wave, forged).sounds
    True
    """
    if tally.kind != "counts" or not simulated_exactly(randomizer):
        raise UnsupportedChannelError(
            "the alarm needs counts of codes, bits or sets. Reports of hashed values have no "
            "joint distribution that can be simulated, so fabricated ones are not detected"
        )
    channel = channel_for(randomizer, tally)
    if not isinstance(channel, Channel) or not isinstance(tally, CountTally):
        raise UnsupportedChannelError(f"the alarm does not support reports of {randomizer.name}")
    channel.check(tally)
    rng = np.random.default_rng(seed)
    found, mass = _nearest(channel, tally)
    honest = _distances(randomizer, channel, mass, tally.total, rng)
    return PoisoningAlarm(
        chi_square=found,
        honest=honest,
        p_value=_tail(found, honest),
        visible=_visible(randomizer, channel, mass, tally.total, honest, rng),
    )


def _nearest(channel: Channel, tally: CountTally) -> tuple[float, Vector]:
    """Return the smallest distance of a tally from the honest ones, and where it is reached.

    The weights are those of a first fit, a few steps of expectation maximization: smooth enough
    not to follow the counts that they weigh.
    """
    rows = likelihood_rows(channel, tally)
    pilot = np.full(channel.domain.size, 1 / channel.domain.size)
    for _ in range(_PILOT):
        pilot = expect(rows, pilot)[0]
        pilot /= pilot.sum()
    weights = np.concatenate(_weights(channel, pilot, tally.reports)) / tally.total
    target = np.concatenate(
        [counts / max(n, 1) for counts, n in zip(tally.blocks, tally.reports, strict=True)]
    )
    operator = Stacked([block.operator for block in channel.blocks])
    right = operator.rmatvec(weights * target)
    if pilot.size <= DENSE:
        matrix = dense(operator)
        gram = matrix.T @ (weights[:, None] * matrix)
        # The distance is found to .02; it spreads by more than one.
        mass = quadratic_on_simplex(gram, right, tolerance=0.01 / tally.total).point
    else:
        lipschitz = largest_eigenvalue(
            lambda mass: operator.rmatvec(weights * operator.matvec(mass)), pilot.size, rounds=20
        )
        mass = projected_gradient(
            operator,
            target,
            weights=weights,
            project=simplex,
            start=pilot,
            limit=_STEPS,
            lipschitz=lipschitz,
        ).point
    left = operator.matvec(mass) - target
    above = gap(mass, operator.rmatvec(weights * left))
    squares = max(0.0, float(weights.dot(left**2)) - 2 * above)
    return squares * tally.total + _groups(channel, tally.reports), mass


def _weights(channel: Channel, mass: Vector, reports: Sequence[int]) -> list[Vector]:
    """Return one over the variance of the mean of every output, block by block."""
    weights = []
    for block, n in zip(channel.blocks, reports, strict=True):
        mean = np.maximum(block.mean(mass), 0.0)
        # Counts of codes take the whole of Pearson's sum, which their covariance makes exact.
        spread = mean if isinstance(block.law, Multinomial) else mean * (1 - mean)
        weights.append(n / np.maximum(spread, _TINY))
    return weights


def _groups(channel: Channel, reports: Sequence[int]) -> float:
    """Return the chi-square of how many people each group has."""
    expected = sum(reports) * np.array([block.share for block in channel.blocks])
    return float(((np.array(reports) - expected) ** 2 / expected).sum())


def _distances(
    randomizer: Randomizer, channel: Channel, mass: Vector, people: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Return mean and deviation of the distance of honest tallies from what they came from."""
    found = []
    means = [block.mean(mass) for block in channel.blocks]
    for _ in range(SIMULATIONS):
        tally = simulate(randomizer, rng.multinomial(people, mass), rng=rng)
        squares = _groups(channel, tally.reports)
        weights = _weights(channel, mass, tally.reports)
        for counts, n, mean, weight in zip(
            tally.blocks, tally.reports, means, weights, strict=True
        ):
            squares += float(weight.dot((counts / max(n, 1) - mean) ** 2))
        found.append(squares)
    return float(np.mean(found)), float(np.std(found, ddof=1))


def _tail(found: float, honest: tuple[float, float]) -> float:
    """Return the probability of such a distance under a gamma distribution."""
    from scipy.special import gammaincc

    mean, deviation = honest
    if not deviation > 0:
        return 1.0 if found <= mean * (1 + 1e-9) else 0.0
    scale = deviation**2 / mean
    return float(gammaincc(mean / scale, max(found, 0.0) / scale))


def _visible(
    randomizer: Randomizer,
    channel: Channel,
    mass: Vector,
    people: int,
    honest: tuple[float, float],
    rng: np.random.Generator,
) -> float | None:
    """Return the smallest share of copies of one report that all tries see."""
    shares = [share for share in SHARES if round(people * share) >= 1]

    def seen(share: float) -> bool:
        forged = round(people * share)
        return all(
            _tail(_nearest(channel, _copied(randomizer, mass, people, forged, rng))[0], honest)
            <= ALARM
            for _ in range(TRIES)
        )

    # More copies are seen more easily, so halving finds the smallest share in a few tries.
    number = bisect_left(shares, True, key=seen)
    return shares[number] if number < len(shares) else None


def _copied(
    randomizer: Randomizer, mass: Vector, people: int, forged: int, rng: np.random.Generator
) -> CountTally:
    """Return an honest tally in which so many people sent copies of one honest report."""
    one = simulate(randomizer, rng.multinomial(1, mass), rng=rng)
    rest: NDArray[np.int64] = rng.multinomial(people - forged, mass)
    blocks = [forged * counts for counts in one.blocks]
    reports = [forged * n for n in one.reports]
    if people > forged:
        honest = simulate(randomizer, rest, rng=rng)
        blocks = [mine + theirs for mine, theirs in zip(blocks, honest.blocks, strict=True)]
        reports = [mine + theirs for mine, theirs in zip(reports, honest.reports, strict=True)]
    return CountTally(blocks, reports, randomizer.fingerprint)
