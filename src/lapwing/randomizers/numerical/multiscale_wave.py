"""A mixture of square waves of several widths, with a few people reporting subsets of fine bins.

A single wave loses the frequencies at which its spectrum is zero. Waves of other widths keep them.
Subset selection on fine bins captures features that are narrower than every wave.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from lapwing.errors import ArgumentError
from lapwing.linear.memoized import cached_property
from lapwing.privacy.exact_numbers import ExactNumber
from lapwing.protocol.domains.domain import Domain, domain_of
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.messages.tally import CountTally
from lapwing.protocol.randomizer import Randomizer
from lapwing.randomizers.categorical.affine_subset_selection import MOST_CELLS
from lapwing.randomizers.categorical.own_cells import (
    BITS,
    check_in_domain,
    checked_starts,
    set_randomizer,
)
from lapwing.randomizers.mixture import Component, Mixture, component_groups
from lapwing.randomizers.numerical.square_wave import SquareWave, mutual_information_width

Wave = tuple[str, float, float]
"""Component: ("wave", multiple, share), ("subset", cells, share) or ("affine", cells, share)."""
# The multiple is of the mutual-information width.

OwnCells = tuple[str, tuple[int, ...], float]
"""("cells", first bin of each cell, share)."""

WHOLE = 256
"""In a table, subsets of this many cells represent the finest ones, however many bins there
are."""

FINE = 0.25
"""Fraction of their share that goes to single bins, on more bins."""
# A subset tells of each of its cells equally much however many there are, so one of single bins
# tells of :data:`WHOLE` cells little, and it is these that a column is made of, but only single
# bins find a heavy value. By Bayes risk a quarter costs 1 to 2% at the edges of the cells up to
# epsilon 2, a half twice that, and none could double the error within cells where there are such
# values. On made-up columns a width between the two gained nothing.

SUBSETS = (8, 16, 64, WHOLE)
"""Cells of the subsets in the default mixture, in the order of their shares."""


@dataclass(frozen=True)
class MixtureRow:
    """The default mixture at one epsilon: the same four waves and four subsets at every epsilon.

    multiples, waves: Width of each wave as a multiple of the mutual-information width, and its
        share.
    subsets: Share of each of :data:`SUBSETS`, 0 for none. All shares of a row sum to 1.
    """

    multiples: tuple[float, ...]
    waves: tuple[float, ...]
    subsets: tuple[float, ...]


DEFAULT_MIXTURES = {
    0.5: MixtureRow((0.35, 0.7, 0.7, 0.7), (0.15, 0.20, 0.20, 0.18), (0.06, 0.04, 0.05, 0.12)),
    1.0: MixtureRow((0.35, 0.7, 0.7, 0.7), (0.17, 0.19, 0.19, 0.19), (0, 0.08, 0, 0.18)),
    2.0: MixtureRow((0.35, 0.6, 1.0, 1.4), (0.15, 0.25, 0.23, 0.13), (0, 0, 0.08, 0.16)),
    3.0: MixtureRow((0.35, 0.75, 1.1, 1.6), (0.13, 0.20, 0.26, 0.26), (0, 0, 0, 0.15)),
    4.0: MixtureRow((0.45, 0.95, 1.5, 2.2), (0.13, 0.17, 0.28, 0.29), (0, 0, 0, 0.13)),
    6.0: MixtureRow((0.45, 0.95, 1.5, 2.2), (0.13, 0.17, 0.28, 0.29), (0, 0, 0, 0.13)),
    8.0: MixtureRow((5.0, 5.0, 8.3, 8.3), (0.24, 0.24, 0.10, 0.10), (0, 0, 0, 0.32)),
}
"""The default mixtures by epsilon."""
# They were designed against the error about the people who reported, for smooth, rough and atomic
# columns at once, from the information of the reports. At epsilon 8 the mutual-information width is
# less than a third of a 256th, so waves several times wider keep more values: windows of 3 and 5
# bins of 256. See `benchmarks/accuracy/local/large_epsilon.py`.

_LEAST = 0.01
"""Interpolated shares below this are left out."""


def default_mixture(epsilon: float) -> tuple[Wave, ...]:
    """Return the default mixture: linear in the logarithm of epsilon between rows of the table.

    Below the first row and above the last one these rows are used. Waves of the same width are one
    component. Shares sum to 1 within 1e-9.

    epsilon: Privacy parameter of one report, in (0, 24], in nats.
    returns: Mixture components, as :class:`MultiscaleWave` takes them.

    Multiples are rounded to 0.001 and shares to 0.0001. So machines whose logarithms differ in the
    last digit agree on the components.

    >>> default_mixture(1)
    (('wave', 0.35, 0.17), ('wave', 0.7, 0.57), ('subset', 16, 0.08), ('subset', 256, 0.18))
    """
    table = np.array(
        [[*row.multiples, *row.waves, *row.subsets] for row in DEFAULT_MIXTURES.values()]
    )
    place = math.log(epsilon)
    row = [np.interp(place, np.log(list(DEFAULT_MIXTURES)), column) for column in table.T]
    waves = (len(row) - len(SUBSETS)) // 2
    kinds = [("wave", round(float(width), 3)) for width in row[:waves]]
    sums: dict[tuple[str, float], float] = {}
    for key, share in zip(
        [*kinds, *(("subset", cells) for cells in SUBSETS)], row[waves:], strict=True
    ):
        sums[key] = sums.get(key, 0.0) + round(float(share), 4)
    shares = {key: share for key, share in sums.items() if share >= _LEAST}
    total = math.fsum(shares.values())
    return tuple((kind, size, round(share / total, 9)) for (kind, size), share in shares.items())


@dataclass(frozen=True)
class MultiscaleWave(Mixture[CountTally]):
    """Mixture of square waves of several widths and subset selections.

    Public randomness draws one component for each person, which then randomizes the value. This is
    the default randomizer for numerical values.

    Parameters
    ----------
    domain : Interval or Integers
        Domain of the values, with at least 8 bins. On a circular interval the waves do not wrap.
        The ends serve as reference points, and the decoder treats them as touching.
    epsilon : int, float, str or Fraction
        Privacy parameter of one report, in (0, 24], in nats. The field holds an exact Fraction.
    components : sequence of (kind, size, share), optional
        Mixture components, whose shares are positive and are divided by their sum.

        Component ``("wave", c, share)`` is a square wave whose width is c times that of
        :class:`SquareWave`. Component ``("subset", cells, share)`` is subset selection on that
        many equal groups of bins, with the set sent as bits. The kind ``"affine"`` is the same
        with affine sets, sent in 2 or 3 bytes. Component ``("cells", starts, share)`` has your own
        cells, each given by its first bin: ``[0, 51]`` means bins 0 to 50, and the rest. It uses
        randomized response or subset selection, whichever has less variance.

        Default: from a table by epsilon. The document of a survey lists them, so a later, better
        table never changes a survey.

    See Also
    --------
    SquareWave : A single wave.
    SpectralPrior : The recommended decoder.

    Notes
    -----
    **Privacy.** The component does not depend on the value, and each component satisfies pure
    epsilon-local differential privacy. So the worst-case likelihood ratio is that of the worst
    component, which :meth:`certificate` states exactly.

    **Accuracy.** Compared with one square wave it halves the error on columns with point masses,
    and is no worse on smooth ones. See the tables of `benchmarks/accuracy`.

    **Cost.** A report takes one byte more than the widest component. With the default mixture that
    is 3 bytes up to 256 bins, 4 bytes up to 4096, and 5 bytes beyond.

    The mixture is this library's own design (`docs/papers/index.md`). Its components are the square
    wave [1]_ and subset selection [2]_.

    References
    ----------
    .. [1] Z. Li, T. Wang, M. Lopuhaä-Zwakenberg, N. Li, B. Škorić, "Estimating numerical
       distributions under local differential privacy", SIGMOD, 2020. doi:10.1145/3318464.3389700
    .. [2] M. Ye, A. Barg, "Optimal schemes for discrete distribution estimation under locally
       differential privacy", IEEE Transactions on Information Theory 64(8), 2018.
       doi:10.1109/TIT.2018.2809790

    Examples
    --------
    >>> import lapwing as lw
    >>> mixture = lw.MultiscaleWave(lw.Interval(0, 100, bins=100, outside="clip"), epsilon=1)
    >>> len(mixture.groups), mixture.certificate().holds
    (4, True)
    >>> ages = list(range(20, 60)) * 500  # half of them below 40
    >>> reports = mixture.randomize(ages, rng=lw.seeded(1))
    >>> result = lw.SpectralPrior().decode(mixture.channel, mixture.tally(reports))
    >>> round(float(result.cdf(40)), 1)
    0.5
    """

    domain: Annotated[Domain, domain_of("numbers", least=8)]
    _: KW_ONLY
    components: Sequence[Wave | OwnCells] | None = None

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self,
            domain: Domain,
            epsilon: ExactNumber,
            *,
            components: Sequence[Wave | OwnCells] | None = None,
        ) -> None: ...

    name: ClassVar[str] = "multiscale-wave"
    _in_javascript: ClassVar[bool] = True
    decoder: ClassVar[str] = "spectral-prior"

    def _settle(self) -> None:
        """Choose the components, or read those that were passed."""
        components = self.components
        if components is None:
            components = fitted(default_mixture(float(self.epsilon)), self.domain)
        object.__setattr__(self, "components", tuple(_component(row) for row in components))

    @cached_property
    def groups(self) -> tuple[Component, ...]:
        """Mixture component of each group of people, in the order of the group numbers."""
        return component_groups(self.components or (), self._randomizer)

    def _randomizer(self, kind: str, scale: float | tuple[int, ...]) -> Randomizer:
        size = self.domain.size
        if kind == "wave" and not isinstance(scale, tuple):
            width = min(scale * mutual_information_width(self.epsilon), 1.0)
            # Half a cell less on either side, rounded: the window then has the wave's width.
            points = max(0, round(width * size - 0.5))
            cells = Integers(0, size - 1, outside="clip")  # with all symbols of the domain
            return SquareWave(cells, self.epsilon, width=(points + 0.5) / size)
        if not isinstance(scale, tuple):
            return set_randomizer(int(scale), self.epsilon, affine=kind == "affine")
        check_in_domain(scale, size)
        return set_randomizer(len(scale), self.epsilon, affine=len(scale) > BITS)


def _component(row: Any) -> Wave | OwnCells:
    try:
        kind, given, share = row
        cells, share = kind == "cells", float(share)
        scale = 2.0 if cells else float(given)
    except (TypeError, ValueError):
        raise ArgumentError("components", "must each be (kind, size, share)") from None
    if kind not in ("wave", "subset", "affine", "cells"):
        raise ArgumentError(
            f"a component must be a 'wave', a 'subset', 'affine' or 'cells', got {kind!r}"
        )
    if not (0 < share <= 1 and 0 < scale < math.inf):
        raise ArgumentError(
            f"the size and the share of a component must be positive, got {scale:g} and {share:g}"
        )
    if kind != "wave" and (scale < 2 or scale != int(scale)):
        raise ArgumentError(
            f"a component of subsets needs a whole number of at least 2 cells, got {scale:g}"
        )
    return (kind, checked_starts(given), share) if cells else (kind, scale, share)


def fitted(table: Sequence[Wave], domain: Domain) -> tuple[Wave, ...]:
    """Return a table for the symbols of a domain, each set in the fewest bytes.

    table: As :func:`default_mixture` returns it: subsets of :data:`WHOLE` cells stand for the
        finest.
    domain: Two symbols for values outside do not make its bins many.
    """
    size = domain.size
    many = domain.inside_size > WHOLE
    shares: dict[tuple[str, float], float] = {}
    for kind, scale, share in table:
        targets = [(scale, share)]
        if kind == "subset" and scale == WHOLE:
            finest = float(min(size, MOST_CELLS))
            targets = [(finest, share)]
            if many:
                targets = [(scale, share * (1 - FINE)), (finest, share * FINE)]
        for cells, weight in targets:
            key = (kind, cells)
            if kind == "subset":
                cells = min(cells, float(size))
                key = ("affine" if cells > BITS else kind, cells)
            shares[key] = shares.get(key, 0.0) + weight
    return tuple((kind, scale, share) for (kind, scale), share in shares.items())
