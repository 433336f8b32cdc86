"""Label counts: one noisy count for each symbol, the release of a table of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError
from lapwing.linear.operators.sums import CellSums
from lapwing.mechanisms.linear_mechanism import LinearMechanism, check_noise
from lapwing.privacy.guarantee import Neighbors
from lapwing.privacy.integer_noise import Sensitivity
from lapwing.protocol.domains.domain import Domain

MOST_SYMBOLS = 2**20
"""A release is a list of numbers that people send and read; noise takes a microsecond each."""


@dataclass(frozen=True)
class CountStrategy:
    """The counts of all symbols as they are: the matrix is the identity.

    Parameters
    ----------
    size : int
        Symbols.
    """

    size: int

    @property
    def operator(self) -> CellSums:
        """The matrix in floating point: every symbol is a cell of its own."""
        return CellSums(range(self.size), self.size)

    @property
    def largest(self) -> int:
        """Counts are taken as they are."""
        return 1

    def answers(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the counts."""
        return np.array(counts, dtype=np.int64)

    def sensitivity(self, neighbors: Neighbors) -> Sensitivity:
        """Return it: a row that changes its symbol changes two counts, one that comes changes one.

        Every pair of symbols gives the same, so there is no worst pair to look for.
        """
        changed = 2 if neighbors == "replace-one" and self.size > 1 else 1
        return Sensitivity(changed, changed)


@dataclass(frozen=True)
class LabelCounts(LinearMechanism):
    """Noisy histogram of labels (Dwork, McSherry, Nissim and Smith, 2006).

    Every count gets independent noise. It is the default release of labels.

    Parameters
    ----------
    noise : {"normal", "laplace"}, optional
        Default: the one with less variance for the promise.

    Notes
    -----
    **Privacy.** Every row has one symbol: a label, or the missing one. A row that is replaced takes
    one from a count and adds one to another, so the counts move by 2 in sum and by the root of 2 in
    Euclidean distance, however many labels there are; a row that comes or goes moves one count by
    one. Whole-number noise is added to every count, those of labels that nobody holds included:
    that a label is there at all tells nothing, because the list is public.

    **Accuracy.** At epsilon 1, replace-one: standard deviation of a count 2.8 people (pure,
    Laplace), 6.0 at delta 1e-6 if normal noise is asked for; the lesser is taken. It does not
    depend on the number of labels. For shares of ranges of numbers prefix sums have less.

    **Cost.** One number a symbol, at most 2^20 of them.

    Noisy histograms are those of [1]_. Discrete Laplace noise is the best for a single count [2]_.

    References
    ----------
    .. [1] C. Dwork, F. McSherry, K. Nissim, A. Smith, "Calibrating noise to sensitivity in private
       data analysis", TCC, 2006. doi:10.1007/11681878_14
    .. [2] A. Ghosh, T. Roughgarden, M. Sundararajan, "Universally utility-maximizing privacy
       mechanisms", STOC, 2009. doi:10.1145/1536414.1536464

    Examples
    --------
    >>> from lapwing import Categories
    >>> from lapwing.privacy import Promise
    >>> from lapwing.protocol import ExactCounts
    >>> from lapwing.privacy.sampling.randomness import seeded
    >>> summary = ExactCounts.of_values(["red"] * 600 + ["blue"] * 400, Categories(["red", "blue"]))
    >>> promise = Promise("replace-one", epsilon=1)
    >>> LabelCounts().release(summary, promise, rng=seeded(1)).answers.size
    3
    """

    noise: Literal["normal", "laplace"] | None = None

    name: ClassVar[str] = "label-counts"

    def __post_init__(self) -> None:
        """Check the noise."""
        check_noise(self.noise)

    def check(self, domain: Domain) -> None:
        """Raise ArgumentError when there are more than 2^20 symbols."""
        if domain.size > MOST_SYMBOLS:
            raise ArgumentError(
                f"label counts are released for at most {MOST_SYMBOLS} symbols, got "
                f"{domain.size}; declare those that matter, and an other label for the rest"
            )

    def strategy_for(self, domain: Domain, neighbors: Neighbors) -> CountStrategy:
        """Return the counts of all symbols."""
        self.check(domain)
        return CountStrategy(domain.size)
