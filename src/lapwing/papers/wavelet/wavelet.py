"""The wavelet expansion: every person reports one level of the Haar coefficients of their value.

Level j cuts the domain into 2^j cells. A person of that level reports the cell of the value and its
half by signed subset selection.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.declared import AtLeastOne, From
from lapwing.errors import ArgumentError, DomainError, LapwingWarning
from lapwing.linear.memoized import cached_property
from lapwing.papers.wavelet.signed_subset_selection import (
    MOST_COORDINATES,
    SignedSubsetSelection,
    optimal_members,
    summed_variance,
)
from lapwing.privacy.exact_numbers import ExactNumber, check_whole, exact_epsilon
from lapwing.protocol.domains.domain import Domain, bins_alone, domain_of
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.messages.tally import CountTally
from lapwing.randomizers.mixture import Component, Mixture, whole_shares

Allocation = Literal["optimal", "uniform"]
Rule = Literal["paper", "bound"]

MOST_LEVELS = MOST_COORDINATES.bit_length()


def coefficient_variance(level: int, epsilon: Any) -> float:
    """Return V_j: the sum of the variances of a level's coefficients, for one report.

    level: Level j, from 0.
    epsilon: Privacy parameter of one report, in (0, 24], in nats.
    returns: Variance, greater than 0.

    It is ``2^j`` times
    :func:`~lapwing.papers.wavelet.signed_subset_selection.summed_variance` at the best size
    of the sets. It grows as ``4^j / epsilon^2`` for small epsilon and as ``2^j`` for
    ``epsilon > j``.

    This is equation 75 and lemma 7 of [1]_, with ``2 q`` in place of ``q`` (see there).

    .. [1] P. Zhao, Z. Zhang, B. Sun, L. Shen, L. Zhang, S. Wang, Z. Liu, "Consistent estimation of
       numerical distributions under local differential privacy by wavelet expansion", 2026.
       arXiv:2509.19661.
    """
    exact = exact_epsilon(epsilon)
    members = optimal_members(2**level, exact)
    return float(2**level) * summed_variance(2**level, members, exact)


def allocation_shares(
    levels: int, epsilon: Any, *, allocation: Allocation = "optimal"
) -> NDArray[np.float64]:
    """Return the share of the people for every level: float64 [levels], summing to 1.

    levels: Number of levels, at least 1.
    epsilon: Privacy parameter of one report, in (0, 24], in nats.
    allocation: Shares proportional to ``2^-j sqrt(V_j)``, which minimizes :func:`error_bound`, or
        equal ones. For ``epsilon <= ln 3`` the two are the same. Default: "optimal".
    returns: Shares of the levels, coarsest first.

    This is equation 83 of [1]_.

    .. [1] P. Zhao, Z. Zhang, B. Sun, L. Shen, L. Zhang, S. Wang, Z. Liu, "Consistent estimation of
       numerical distributions under local differential privacy by wavelet expansion", 2026.
       arXiv:2509.19661.
    """
    check_whole("levels", levels, low=1, high=MOST_LEVELS)
    if allocation not in ("optimal", "uniform"):
        raise ArgumentError("allocation", "must be 'optimal' or 'uniform'", repr(allocation))
    if allocation == "uniform":
        return np.full(levels, 1 / levels)
    weights = np.array([coefficient_variance(j, epsilon) ** 0.5 / 2**j for j in range(levels)])
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares


def allocate(
    users: int, levels: int, epsilon: Any, *, allocation: Allocation = "optimal"
) -> NDArray[np.int64]:
    """Return n_j, how many people each level gets: int64 [levels], summing to `users`.

    users: Number of people, at least `levels`.
    levels, epsilon, allocation: As in :func:`allocation_shares`.
    returns: People of each level, coarsest first.

    Numbers are rounded down. The people left over go one each to the levels with the largest
    remainders.
    """
    check_whole("users", users, low=1)
    if users < levels:
        raise ArgumentError(
            f"there must be at least one person per level, {levels} in all, got {users}"
        )
    ideal = allocation_shares(levels, epsilon, allocation=allocation) * users
    people = ideal.astype(np.int64)
    left = users - int(people.sum())
    people[np.argsort(people - ideal, kind="stable")[:left]] += 1
    return people


def error_bound(
    levels: int, users: int, epsilon: Any, *, allocation: Allocation = "optimal"
) -> float:
    """Return the paper's bound of the expected Wasserstein-1 distance, from public numbers only.

    levels: Number of levels J + 1, at least 1.
    users: Number of people, at least 1.
    epsilon: Privacy parameter of one report, in (0, 24], in nats.
    allocation: As in :func:`allocation_shares`. Default: "optimal".
    returns: Bound for the estimate before clipping, as a part of the domain's length.

    It is ``2^-(J+1) + sqrt(sum_j 2^-(2j+2) V_j / n_j)``. A cell may hold its mass anywhere, and the
    coefficients have errors. It assumes nothing about the distribution. On a smooth one the first
    term is far too large and fewer levels do better.

    It follows from lemmas 5 and 6 of [1]_, with ``2 q`` in place of ``q`` in V_j.

    .. [1] P. Zhao, Z. Zhang, B. Sun, L. Shen, L. Zhang, S. Wang, Z. Liu, "Consistent estimation of
       numerical distributions under local differential privacy by wavelet expansion", 2026.
       arXiv:2509.19661.

    >>> [round(error_bound(levels, 100_000, 1), 4) for levels in (4, 8, 10)]
    [0.0762, 0.0313, 0.0352]
    """
    check_whole("users", users, low=1)
    shares = allocation_shares(levels, epsilon, allocation=allocation)
    variances = np.array([coefficient_variance(j, epsilon) / 4 ** (j + 1) for j in range(levels)])
    return float(2.0**-levels + np.sqrt((variances / shares).sum() / users))


def paper_levels(users: int) -> int:
    """Return the levels J + 1 of the paper's rule ``J = ceil(log2(users) / 2)``.

    users: Number of people, at least 1.

    The rule of section 5.4 of [1]_ balances the bound's two terms up to a logarithm.
    :func:`best_levels` minimizes the bound itself and gives fewer levels.

    .. [1] P. Zhao, Z. Zhang, B. Sun, L. Shen, L. Zhang, S. Wang, Z. Liu, "Consistent estimation of
       numerical distributions under local differential privacy by wavelet expansion", 2026.
       arXiv:2509.19661.
    """
    check_whole("users", users, low=1)
    return ((users - 1).bit_length() + 1) // 2 + 1


def best_levels(
    users: int, epsilon: Any, *, most: int = MOST_LEVELS, allocation: Allocation = "optimal"
) -> int:
    """Return the number of levels, in 1..most, with the smallest :func:`error_bound`."""
    bounds = [
        error_bound(levels, users, epsilon, allocation=allocation) for levels in range(1, most + 1)
    ]
    return int(np.argmin(bounds)) + 1


@dataclass(frozen=True)
class Wavelet(Mixture[CountTally]):
    """Wavelet expansion by signed subset selection (Zhao et al., 2026).

    A report is a person's Haar coefficient at one level. Public randomness draws the level.

    Parameters
    ----------
    domain : Interval or Integers
        Domain of the values, with at least 2 bins. A cell of the finest level has ``size /
        2^levels`` of them, rounded up or down.
    epsilon : int, float, str or Fraction
        Privacy parameter of one report, in (0, 24], in nats. Every level has all of it. The field
        holds an exact Fraction.
    levels : int, "bound" or "paper", optional
        Number of levels, the paper's J + 1. They are numbered 0..J and end in ``2^levels`` cells,
        and the domain must have at least as many bins. "bound" minimizes the error bound within
        what the bins allow. "paper" is the paper's rule, reduced with a warning if there are too
        few bins. The field holds the number. Default: "bound" if `users` is given, and otherwise
        all that the bins allow.
    users : int, optional
        Number of people expected, for the two rules, at least one for each level.
    allocation : {"optimal", "uniform"}
        Allocation of the people to the levels: to minimize the error bound, or equal. For
        ``epsilon <= ln 3`` the two are the same. Default: "optimal".

    See Also
    --------
    lapwing.papers.wavelet.WaveletClip : The estimator of the paper.

    Notes
    -----
    **Privacy.** Public randomness draws the level, and each level's report satisfies pure
    epsilon-local differential privacy. So the worst-case likelihood ratio is that of the worst
    level, which :meth:`certificate` states exactly.

    **Accuracy.** The expected Wasserstein-1 distance of the unclipped estimate is at most the error
    bound of lemmas 5 and 6 of [1]_. For ``epsilon <= ln 3`` a report has the distribution of
    one-bit Hadamard response at each level.

    **Cost.** With ``d = 2^(levels - 1)`` a report takes ``1 + ceil(d / 8)`` bytes for
    ``epsilon <= ln 3``, and ``1 + 2 ceil(d / 8)`` above. A million people at 10 levels take 0.4 s
    of one core to randomize and tally at epsilon 1, and 1 s above ln 3. Simulating them takes 0.06
    s.

    The method is that of [1]_, algorithm 1 and sections 4 and 5. It differs in three ways. Each
    device draws its level, so the levels' numbers of people are multinomial. Level 0 is included,
    which the loop of section 4.7 drops. A value at the upper end is in the last cell.

    References
    ----------
    .. [1] P. Zhao, Z. Zhang, B. Sun, L. Shen, L. Zhang, S. Wang, Z. Liu, "Consistent estimation of
       numerical distributions under local differential privacy by wavelet expansion", 2026.
       arXiv:2509.19661.

    Examples
    --------
    >>> import lapwing as lw
    >>> domain = lw.Interval(0, 64, bins=64, outside="clip")
    >>> wavelet = lw.papers.wavelet.Wavelet(domain, epsilon=1, users=20_000)
    >>> wavelet.levels, len(wavelet.groups), wavelet.certificate().holds
    (6, 6, True)
    >>> ages = list(range(20, 60)) * 500  # half of them below 40
    >>> tally = wavelet.tally(wavelet.randomize(ages, rng=lw.seeded(1)))
    >>> round(float(lw.papers.wavelet.WaveletClip().decode(wavelet.channel, tally).cdf(40)), 1)
    0.5
    """

    domain: Annotated[Domain, domain_of("numbers", bins_alone)]
    _: KW_ONLY
    levels: Annotated[int, From(1, MOST_LEVELS)] | Rule | None = None
    users: AtLeastOne | None = None
    allocation: Allocation = "optimal"

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self,
            domain: Domain,
            epsilon: ExactNumber,
            *,
            levels: int | Rule | None = None,
            users: int | None = None,
            allocation: Allocation = "optimal",
        ) -> None: ...

    name: ClassVar[str] = "wavelet"
    _in_javascript: ClassVar[bool] = True
    decoder: ClassVar[str] = "wavelet-clip"

    def _settle(self) -> None:
        """Turn the rule into a number, and check it against the domain."""
        object.__setattr__(self, "levels", self._resolved_levels())
        if self.domain.missing_index is not None and self._cell_number != self.domain.size:
            raise DomainError(
                "missing values would share a cell with the highest values. Use a domain of "
                "2^levels symbols, or drop the missing values"
            )

    def _resolved_levels(self) -> int:
        most = min(self.domain.size.bit_length() - 1, MOST_LEVELS)
        rule = self.levels
        if rule is None:
            rule = most if self.users is None else "bound"
        if isinstance(rule, str):
            if self.users is None:
                raise ArgumentError(f"levels={rule!r} needs the number of users. Pass users=")
            if rule == "bound":
                rule = best_levels(self.users, self.epsilon, most=most, allocation=self.allocation)
            else:
                rule = self._of_the_paper(self.users, most)
        if rule > most:
            raise DomainError(
                f"{rule} levels end in 2^{rule} cells, but the domain has {self.domain.size} "
                f"symbols. Use at most {most} levels, or more bins"
            )
        if self.users is not None and self.users < rule:
            raise ArgumentError(
                f"there must be at least one person per level, {rule} in all, got {self.users}. "
                "Use fewer levels"
            )
        return rule

    @staticmethod
    def _of_the_paper(users: int, most: int) -> int:
        rule = paper_levels(users)
        if rule > most:
            warnings.warn(
                f"the paper's rule asks for {rule} levels, which end in 2^{rule} cells. The "
                f"domain allows {most} levels, which are used",
                LapwingWarning,
                stacklevel=5,
            )
        return min(rule, most)

    @property
    def _cell_number(self) -> int:
        """Cells at the end of the finest level: 2^levels."""
        return int(2 ** int(self.levels or 0))

    @cached_property
    def groups(self) -> tuple[Component, ...]:
        """Randomizer of each level, coarsest first."""
        levels = self._cell_number.bit_length() - 1
        shares = allocation_shares(levels, self.epsilon, allocation=self.allocation)
        cells = [Integers(0, 2 ** (j + 1) - 1, outside="clip") for j in range(levels)]
        return tuple(
            Component(SignedSubsetSelection(domain, self.epsilon), share)
            for domain, share in zip(cells, whole_shares(shares.tolist()), strict=True)
        )
