"""The chance that tallies of different people have equal counts: when equal ones are a copy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from lapwing.linear.arrays import Vector
from lapwing.linear.operators.operator import Operator
from lapwing.protocol.channels.channel import Channel, FixedSizeSubset, Multinomial, ProductOfBits
from lapwing.protocol.messages.tally import CountTally, TallyLog

CHANCE = 1e-6
"""Equal tallies are taken for copies if honest ones are equal less often than this."""

_LARGEST_MASS = 0.46883
"""Of a sum of independent bits, times its standard deviation (Baillon et al., 2016)."""

_PARTS = 64
"""Parts into which the outputs of a block are put. Equal counts have equal sums."""

_RARE = 1e-30
"""Chance that a pair of cells has fewer sets with one of the two than is reckoned with."""


def equal_by_chance(tally: Any, number: int, channel: Channel | None = None) -> bool:
    """Return whether a tally may equal another of different people, among so many, by chance.

    tally: One of two equal tallies.
    number: Tallies that are compared, at least 2. The chance is that of any two of them.
    channel: Channel of the tally, where the survey is known. Stored reports need none.
    returns: False where two of the tallies are equal with a probability below 1e-6.

    **Accuracy.** With a channel the bound is proved for any values of the people, who may even
    answer the same each week. The outputs are split in two, each part again in two, and so on. How
    many of the reports in a part are in its left half is a sum of independent bits, given the
    parts before. The bound of a sum of bits with the least variance that any value gives [1]_
    holds for each part, and they multiply. Bits of unary encoding are such sums already. Two cells
    of a set are such a sum in the sets that have one of the two. Other reports have no bound, so
    equal counts of them are never taken for a copy.

    Without a channel, reports are taken for draws from one unknown distribution. The bound is the
    largest probability that any distribution gives to these counts. Counts of bits are taken for
    sums of bits of half of the least variance that they show.

    .. [1] J.-B. Baillon, R. Cominetti, J. Vaisman, "A sharp uniform bound for the distribution of
       sums of Bernoulli trials", Combinatorics, Probability and Computing, 2016.
       doi:10.1017/S0963548315000127
    """
    pairs = math.log(max(number * (number - 1) / 2, 1))
    return _log_chance(tally, channel) + pairs >= math.log(CHANCE)


def _log_chance(tally: Any, channel: Channel | None) -> float:
    """Return the logarithm of a bound on the chance that others have these very counts."""
    if isinstance(tally, TallyLog):
        return _largest_mass(np.unique(tally.codes, return_counts=True)[1])
    if not isinstance(tally, CountTally):  # the tallies of segments
        parts = [] if tally.rest is None else [tally.rest]
        segments: Mapping[str, Any] = tally.segments
        return sum(_log_chance(each, None) for each in [*segments.values(), *parts])
    total = 0.0
    for number, (counts, reports) in enumerate(zip(tally.blocks, tally.reports, strict=True)):
        if channel is None:
            total += _of_counts(counts, reports)
            continue
        block = channel.blocks[number]
        if isinstance(block.law, Multinomial):
            total += _of_outputs(block.operator, counts)
        elif type(block.law) is ProductOfBits:  # those of hashes are no sums of independent bits
            chosen = _spread(block.outputs)
            rows = block.operator.rmatmat(np.eye(block.outputs)[:, chosen])
            total += _of_sums(np.full(chosen.size, reports), _least_spread(rows))
        elif isinstance(block.law, FixedSizeSubset) and block.law.draw is None:
            total += _of_sets(block.law, block.outputs, reports)
    return total


def _spread(outputs: int) -> Any:
    """Return the places of at most `_PARTS` outputs, evenly."""
    return np.unique(np.linspace(0, outputs - 1, min(outputs, _PARTS)).astype(np.int64))


def _least_spread(chances: Vector) -> Vector:
    """Return the least variance of a bit over all values: those of a matrix [values, bits]."""
    chances = np.clip(chances, 0, 1)
    least: Vector = (chances * (1 - chances)).min(axis=0)
    return least


def _of_sums(reports: Any, spread: Vector) -> float:
    """Return the log of the bound for independent sums of so many bits, of at least a variance."""
    variance = np.maximum(np.asarray(reports) * spread, 1e-300)
    return float(np.minimum(math.log(_LARGEST_MASS) - np.log(variance) / 2, 0).sum())


def _of_outputs(operator: Operator, counts: Any) -> float:
    """Return that of counts of which each report adds to one."""
    parts = min(counts.size, _PARTS)
    part_of = np.arange(counts.size) * parts // counts.size
    chances = operator.rmatmat((part_of[:, None] == np.arange(parts)).astype(np.float64))
    held = np.bincount(part_of, weights=counts, minlength=parts)
    total = 0.0
    while held.size > 1:
        if held.size % 2:
            held, chances = np.append(held, 0), np.pad(chances, ((0, 0), (0, 1)))
        left, chances = chances[:, ::2], chances[:, ::2] + chances[:, 1::2]
        held = held[::2] + held[1::2]
        # A value that never comes to this part has nothing to split.
        split = np.divide(left, chances, out=np.full(left.shape, 0.5), where=chances > 0)
        total += _of_sums(held, _least_spread(split))
    return total


def _of_sets(law: FixedSizeSubset, cells: int, reports: int) -> float:
    """Return that of sets, from disjoint pairs of cells: which of the two is in."""
    k, m, pairs = law.symbols, law.members, cells // 2
    if k < 3 or not 0 < law.own < 1 or m == k:
        return 0.0
    apart = law.own * (m - 1) * (k - m) + (1 - law.own) * m * (k - 1 - m)
    one_of_two = min(
        2 * apart / ((k - 1) * (k - 2)), (law.own * (k - m) + (1 - law.own) * m) / (k - 1)
    )
    mean = reports * one_of_two
    fewest = mean - math.sqrt(-2 * math.log(_RARE) * mean)  # Chernoff's bound
    if fewest <= 0:
        return 0.0
    odds = law.own / (1 - law.own) * (k - m) / m  # of a set with the own cell, and one without
    spread = np.full(pairs, odds / (1 + odds) ** 2)
    return min(float(np.logaddexp(_of_sums(fewest, spread), math.log(pairs * _RARE))), 0.0)


def _of_counts(counts: Any, reports: int) -> float:
    """Return that of counts alone: the largest mass that any distribution gives to them."""
    if int(counts.sum()) == reports:
        return _largest_mass(counts)
    shares = counts / max(reports, 1)
    spread = float((shares * (1 - shares)).min()) / 2
    return _of_sums(np.full(counts.size, reports), np.full(counts.size, spread))


def _largest_mass(counts: Any) -> float:
    """Return the log of the largest multinomial probability of these counts."""
    from scipy.special import gammaln  # not needed to import lapwing

    counts = counts[counts > 0].astype(np.float64)
    total = counts.sum()
    if total == 0:
        return 0.0
    logs = counts * np.log(counts / total) - gammaln(counts + 1)
    return float(gammaln(total + 1) + logs.sum())
