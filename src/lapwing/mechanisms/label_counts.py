"""Label counts: one noisy count for each symbol, the release of a table of labels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.declared import From
from lapwing.errors import ArgumentError, PrivacyError
from lapwing.linear.operators.sums import CellSums
from lapwing.mechanisms.linear_mechanism import LinearMechanism, check_part
from lapwing.privacy.guarantee import Neighbors
from lapwing.privacy.integer_noise import Sensitivity
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.release import Release

FINEST = 2**20
"""Most steps per row. Noise in such steps differs from continuous noise by far less than a row."""

MOST_SYMBOLS = 2**20
"""Most symbols of a release, which people send and read. Noise takes a microsecond per symbol."""


@dataclass(frozen=True)
class CountStrategy:
    """The counts of all symbols as they are: the matrix is the identity.

    size: Symbols.
    steps: Answers per row.
    """

    size: int
    steps: int = 1

    @property
    def operator(self) -> CellSums:
        """The matrix in floating point: every symbol is a cell of its own."""
        return CellSums(range(self.size), self.size)

    @property
    def largest(self) -> int:
        """A row is so many steps."""
        return self.steps

    def answers(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the counts, in steps."""
        return np.array(counts, dtype=np.int64) * self.steps

    def sensitivity(self, neighbors: Neighbors) -> Sensitivity:
        """Return it: a row that changes its symbol changes two counts, one that comes changes one.

        Every pair of symbols gives the same, so there is no worst pair to look for.
        """
        changed = 2 if neighbors == "replace-one" and self.size > 1 else 1
        return Sensitivity(changed * self.steps**2, changed * self.steps)


@dataclass(frozen=True)
class LabelCounts(LinearMechanism):
    """Noisy histogram of labels (Dwork, McSherry, Nissim and Smith, 2006).

    Every count gets independent noise. It is the default release of labels.

    Parameters
    ----------
    noise : {"normal", "laplace"}, optional
        Kind of the noise. Default: the kind with less variance under the privacy guarantee.
    steps : int
        Number of steps into which a row is divided to state counts, in 1..2^20. Counts with
        continuous noise, read by :func:`lapwing.read_counts`, have 2^20. Default: 1, for whole
        rows.

    Raises
    ------
    ArgumentError
        When `noise` is none of these.

    Notes
    -----
    **Privacy.** Every row has one symbol: a label, or the missing one. A replaced row takes one
    from one count and adds one to another. So however many labels there are, the counts differ by
    2 in L1 norm and by the square root of 2 in L2 norm. A row that is added or removed changes one
    count by one. Every count gets whole-number noise, even that of a label that nobody has. The
    list of labels is public, so the presence of a label in the release reveals nothing.

    **Accuracy.** At epsilon 1, replace-one, the standard deviation of a count is 2.8 people (pure,
    Laplace). With Gaussian noise at delta 1e-6 it is 6.0. The smaller of the two is used. It does
    not depend on the number of labels. For probabilities of numeric ranges, prefix sums have less
    noise.

    **Cost.** One number for each symbol, at most 2^20 symbols.

    Noisy histograms are those of [1]_. Discrete Laplace noise is optimal for a single count [2]_.

    References
    ----------
    .. [1] C. Dwork, F. McSherry, K. Nissim, A. Smith, "Calibrating noise to sensitivity in private
       data analysis", TCC, 2006. doi:10.1007/11681878_14
    .. [2] A. Ghosh, T. Roughgarden, M. Sundararajan, "Universally utility-maximizing privacy
       mechanisms", STOC, 2009. doi:10.1145/1536414.1536464

    Examples
    --------
    >>> import lapwing as lw
    >>> colors = ["red"] * 600 + ["blue"] * 400
    >>> with lw.testing.reproducible(1):
    ...     published = lw.release(
    ...         colors, lw.Categories(["red", "blue"]), neighbors="replace-one", epsilon=1,
    ...         mechanism=lw.mechanisms.LabelCounts())
    >>> round(published.distribution.share("red"), 2)
    0.6
    """

    noise: Literal["normal", "laplace"] | None = None
    steps: Annotated[int, From(1, FINEST)] = field(default=1, metadata={"absent": 1})

    name: ClassVar[str] = "label-counts"

    def check(self, domain: Domain) -> None:
        """Raise ArgumentError if there are more than 2^20 symbols."""
        if domain.size > MOST_SYMBOLS:
            raise ArgumentError(
                f"label counts are released for at most {MOST_SYMBOLS} labels, got "
                f"{domain.size}. Declare those that matter, and one label for all others"
            )

    def strategy_for(self, domain: Domain, neighbors: Neighbors) -> CountStrategy:
        """Return the strategy: the counts of all symbols."""
        self.check(domain)
        return CountStrategy(domain.size, self.steps)

    def combined(self, release: Release) -> NDArray[Any]:
        """Return the noisy counts in rows.

        Returns
        -------
        numpy.ndarray
            Noisy counts, int64 or, with several steps per row, float64 [symbols].
        """
        return release.answers if self.steps == 1 else release.answers / self.steps

    def _variance_for(self, release: Release) -> float:
        """Return the variance of the noise in each count, in squared rows."""
        return release.variance / self.steps**2

    def estimated_people(self, release: Release) -> int:
        """Return the estimated number of people: the sum of the noisy counts."""
        return round(Fraction(super().estimated_people(release), self.steps))

    def verify(self, release: Release) -> None:
        """Raise PrivacyError unless every component has the stated loss and privacy guarantee.

        A guarantee stated for another library's counts is not compared with the noise, because
        their sensitivity is not known.
        """
        own = [part for part in release.parts if part.standing != "stated"]
        for part in release.parts:
            if part.standing == "stated":
                check_part(part, part.promise.whole_loss)
        if own and self.steps > 1:
            raise PrivacyError(
                "counts in steps of one row come from another library, so state that"
            )
        if own:
            super().verify(replace(release, parts=own, groups=(), digests=()))
