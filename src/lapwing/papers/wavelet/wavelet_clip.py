"""The wavelet's decoder: unbiased Haar coefficients, clipped from coarse to fine.

Coefficients are kept as differences of mass. At level j, this is the mass of the left half of cell
k minus that of its right half, ``2^(-j/2)`` times the paper's a_jk. Then every step is an addition
of masses, and the condition that keeps them non-negative is plain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.declared import Declared
from lapwing.decoders.decoder import Decoder, decoder_document, distribution_of, required
from lapwing.decoders.unbiased.linear_estimate import DENSE, linear_estimate
from lapwing.docstrings import inherits
from lapwing.errors import UnsupportedChannelError
from lapwing.linear.arrays import Vector, one_thread
from lapwing.linear.operators.operator import cell_of
from lapwing.papers.wavelet.signed_subset_selection import SignedSubset
from lapwing.protocol.channels.channel import Channel, check_given
from lapwing.protocol.messages.tally import CountTally, Kind
from lapwing.results.distribution import Distribution
from lapwing.results.signed_estimate import SignedEstimate

Level = tuple[SignedSubset, NDArray[np.int64], int]


def differences_of(mass: Vector) -> list[Vector]:
    """Return left minus right half of every cell, by level: float64 [2^j] for j = 0, 1, ...

    mass: float64 [2^levels].
    """
    found = []
    while mass.size > 1:
        halves = mass.reshape(-1, 2)
        found.append(halves[:, 0] - halves[:, 1])
        mass = halves.sum(axis=1)
    return found[::-1]


def expand(differences: Sequence[Vector], *, clip: bool = False, literal: bool = False) -> Vector:
    """Return the masses of the finest cells: float64 [2^levels], summing to one.

    differences: Coarsest first, float64 [2^j] at level j.
    clip: Whether to keep all masses non-negative. A difference is then held within the mass of its
        cell, as it came down from the coarser levels. Default: False.
    literal: Hold it within the smaller mass of its cell and of the next one to the right. This is
        equation 69 with the density at a cell's right end read as the next cell's. Default: False.

    The method is that of equations 67 to 69 of [1]_. The density is constant on a cell, so the mass
    of the cell itself is enough for ``mass +- difference >= 0``. Equation 69 reduces to that if its
    ``f((k + 1) 2^-j)`` is the cell's own density at its right end. Read from the right, as equation
    11 closes its halves, it is the neighbor's. For the last cell that is beyond the domain, so the
    literal form takes the cell itself there. Masses stay non-negative and sum to one in both. But
    in the literal form no mass can enter a cell next to an empty one. The paper's loop starts at
    level 1 and would drop level 0. Here it starts at level 0.

    .. [1] P. Zhao, Z. Zhang, B. Sun, L. Shen, L. Zhang, S. Wang, Z. Liu, "Consistent estimation of
       numerical distributions under local differential privacy by wavelet expansion", 2026.
       arXiv:2509.19661.
    """
    mass = np.ones(1)
    for level in differences:
        if literal:
            level = _within(level, np.minimum(mass, np.append(mass[1:], mass[-1])))
        elif clip:
            level = _within(level, mass)
        mass = np.column_stack([mass + level, mass - level]).reshape(-1) / 2
    return mass


def _within(level: Vector, limit: Vector) -> Vector:
    return np.clip(level, -limit, limit)


@dataclass(frozen=True)
class WaveletClip(Declared):
    """Wavelet expansion with clipping from coarse to fine (Zhao et al., 2026).

    It inverts every level of the expansion, and then clips so that no mass is negative.

    Parameters
    ----------
    literal : bool
        Whether to read the density at a cell's right end in equation 69 as the next cell's. The
        answer is still a distribution, but a wrong one next to empty regions. For reproduction
        only. Default: False.
    signed : bool
        Whether to keep the unbiased expansion before the clip, which may be negative, as
        :attr:`Distribution.signed`. Default: False.
    mass_sums : bool
        Whether to also use how often a coordinate is present, with either sign. It estimates the
        mass of a cell, unless all coordinates are in every set (``epsilon <= ln 3``). There it
        changes nothing. The paper does not use it. Default: True.
    band : bool
        Whether to compute the exact linear confidence band (up to 2048 bins, O(size^3)). There is
        none when the cells are coarser than the bins, or when a level has no reports. Default:
        True.

    See Also
    --------
    lapwing.papers.wavelet.Wavelet : The randomizer of the paper.

    Notes
    -----
    **Privacy.** A decoder is post-processing of private reports, so it costs no privacy.

    **Accuracy.** The unclipped expansion is unbiased. Lemmas 5 and 6 of [1]_ bound its expected
    Wasserstein-1 distance. Clipping lowers the error most with many levels. Mass sums lower it by
    15 to 20% at epsilon 2, and by 25 to 30% at epsilon 4. This was measured at 256 bins and 8
    levels with 100,000 people, on Beta(5, 2) and on a column of atoms.

    **Cost.** O(size) without iteration, plus the confidence band.

    A level without reports has differences of zero, so its halves are equal. Mass inside a finest
    cell is spread evenly over its bins.

    The method is that of sections 4.5 and 4.7 of [1]_. The use of presences (`mass_sums`) is this
    library's own.

    References
    ----------
    .. [1] P. Zhao, Z. Zhang, B. Sun, L. Shen, L. Zhang, S. Wang, Z. Liu, "Consistent estimation of
       numerical distributions under local differential privacy by wavelet expansion", 2026.
       arXiv:2509.19661.

    Examples
    --------
    >>> import lapwing as lw
    >>> domain = lw.Interval(0, 64, bins=64, outside="clip")
    >>> wavelet = lw.papers.wavelet.Wavelet(domain, epsilon=2)
    >>> people = [0] * 20 + [1000] * 40 + [0] * 4  # ages 20 to 60, half of them below 40
    >>> tally = lw.simulate(wavelet, people, rng=1)
    >>> result = lw.papers.wavelet.WaveletClip().decode(wavelet.channel, tally)
    >>> round(float(result.cdf(40)), 2)
    0.5
    """

    _: KW_ONLY
    literal: bool = False
    signed: bool = False
    mass_sums: bool = True
    band: bool = True

    name: ClassVar[str] = "wavelet-clip"
    reads: ClassVar[Kind] = "counts"

    @one_thread
    @inherits(Decoder.decode)
    def decode(self, channel: Channel, tally: CountTally) -> Distribution:
        """Return the clipped expansion.

        Raises
        ------
        UnsupportedChannelError
            When the channel is not a wavelet's: blocks of signed subsets of 1, 2, 4, ...
            coordinates, one each.
        """
        levels = _levels(channel, tally)
        differences = estimated_differences(levels, mass_sums=self.mass_sums)
        size = channel.domain.size
        cell = cell_of(size, 2 ** len(levels))
        width = np.bincount(cell)
        cells = expand(differences, clip=True, literal=self.literal)
        mass = (cells / width)[cell]
        band = self.band and cells.size == size <= DENSE and bool(all(tally.reports))
        law = linear_estimate(channel, tally, plug_in=mass) if band else None
        provenance, signed = decoder_document(self), None
        if self.signed:
            unclipped = (expand(differences) / width)[cell]
            own = linear_estimate(channel, tally) if band else None
            signed = SignedEstimate(channel.domain, unclipped, tally.total, uncertainty=own)
        return distribution_of(
            channel, tally, mass, provenance=provenance, uncertainty=law, signed=signed
        )


def _levels(channel: Channel, tally: CountTally) -> list[Level]:
    """Return distribution, counts and reports of every level, coarsest first."""
    check_given(channel, tally)
    found: list[Level] = []
    for block, counts, reports in zip(channel.blocks, tally.blocks, tally.reports, strict=True):
        law = required(
            block.law,
            SignedSubset,
            "the wavelet's decoder needs blocks of signed subsets, one for each level, got "
            f"{type(block.law).__name__}. Use the decoder that is recommended for this survey",
        )
        found.append((law, counts, reports))
    found.sort(key=lambda level: level[0].coordinates)
    sizes = [law.coordinates for law, _, _ in found]
    if sizes != [2**j for j in range(len(sizes))]:
        raise UnsupportedChannelError(
            f"a wavelet's levels must have 1, 2, 4, ... coordinates, one block each, got {sizes}"
        )
    return found


def estimated_differences(levels: Sequence[Level], *, mass_sums: bool) -> list[Vector]:
    """Return unbiased differences of every level, coarsest first: float64 [2^j].

    levels: Coarsest first.
    mass_sums: Whether to use the presences as well.

    With the presences, every cell of level j has an unbiased mass in addition to its difference.
    They are gathered from fine to coarse. The children's masses add up to a second estimate of the
    cell's mass, and subtract to a second estimate of its difference. Variances are equal within a
    level, because they are taken at the uniform distribution. So a sum and a difference of children
    are uncorrelated, and inverse-variance means of each are the least-squares answer. A weight
    never depends on the data, so all stays unbiased.
    """
    found: list[Vector] = []
    children: tuple[Vector, float] | None = None
    for law, counts, reports in reversed(levels):
        if reports == 0:
            difference, spread = np.zeros(law.coordinates), np.inf
        else:
            difference = law.differences(counts, reports)
            spread = law.difference_variance(reports)
        if not mass_sums:
            found.append(difference)
            continue
        own = law.mass_variance(reports) if reports else np.inf
        mass = law.masses(counts, reports) if np.isfinite(own) else np.zeros(law.coordinates)
        if children is not None:
            halves, below = children[0].reshape(-1, 2), 2 * children[1]
            difference, _ = _mean(difference, spread, halves[:, 0] - halves[:, 1], below)
            mass, own = _mean(mass, own, halves.sum(axis=1), below)
        children = (mass, own) if np.isfinite(own) else None
        found.append(difference)
    return found[::-1]


def _mean(
    first: Vector, first_variance: float, second: Vector, second_variance: float
) -> tuple[Vector, float]:
    """Return the inverse-variance mean of two estimates, and its variance. Either may be inf."""
    one, two = 1 / first_variance, 1 / second_variance
    if one + two == 0:
        return np.zeros_like(first), np.inf
    mean: Vector = (one * first + two * second) / (one + two)
    return mean, 1 / (one + two)
