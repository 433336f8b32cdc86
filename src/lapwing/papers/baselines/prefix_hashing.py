"""Prefixes of several lengths, each by linear hashing, for domains too large to scan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.declared import AtLeastOne, From
from lapwing.errors import ArgumentError, DomainError
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.hadamard import is_power_of_two
from lapwing.privacy.exact_numbers import ExactNumber
from lapwing.protocol.channels.hashed_channel import PrefixChannel
from lapwing.protocol.domains.categories import Categories
from lapwing.protocol.domains.domain import Domain, domain_of
from lapwing.protocol.messages.tally import TallyLog
from lapwing.randomizers.categorical.linear_hashing import MOST_HASH_BITS, LinearHashing
from lapwing.randomizers.mixture import Component, Mixture, whole_shares

FIRST_BITS = 24
STEP_BITS = 8


def default_prefixes(key_bits: int) -> tuple[int, ...]:
    """Return prefix lengths that a server extends in seconds: 24 bits, then 8 more at a time.

    key_bits: Bits L of a value, at least 2.
    returns: Increasing lengths in bits. The last one is L.
    """
    return (*range(min(FIRST_BITS, key_bits), key_bits, STEP_BITS), key_bits)


def _of_bits(domain: Domain) -> None:
    if not is_power_of_two(domain.size):
        raise DomainError(
            "domain",
            "must be Categories(2**L) or HashedStrings(L), without a missing category",
            f"{domain.size} values",
        )


@dataclass(frozen=True)
class PrefixHashing(Mixture[TallyLog]):
    """Prefix extending method, PEM (Wang, Li and Jha, 2021), by linear hashing.

    A report is about a prefix of the value, of a length drawn by public randomness. A server
    searches all prefixes of the first length for the frequent ones. It extends each by the next
    bits, scores these with the reports of the next length, and so on to whole values. An
    exhaustive scan of the domain needs fewer people for the same threshold, and far more time.

    Parameters
    ----------
    domain : Categories or HashedStrings
        Domain of 2^L values, with L in 2..40.
    epsilon : int, float, str or Fraction
        Privacy parameter of one report, in (0, 24], in nats. The field holds an exact Fraction.
    prefixes : sequence of int, optional
        Prefix lengths in bits, increasing, the first at most 24 and the last L. Default: 24 bits,
        then 8 more at a time.
    hash_bits : int, optional
        Number of bits of a hash, as for :class:`LinearHashing`. Default: as there.

    Notes
    -----
    **Privacy.** The length does not depend on the value, and each component is
    :class:`LinearHashing` of a function of the value. So the worst-case likelihood ratio is that
    of the worst component. :meth:`certificate` states it, and the contract tests check it.

    **Accuracy.** With g lengths a share is estimated from 1 / g of the people. Its standard
    deviation is ``sqrt(g)`` times that of :class:`LinearHashing`.

    **Cost.** A report takes one byte for the length plus those of :class:`LinearHashing`.

    The method is that of [1]_. It differs in two ways: linear hashing replaces OLH, and public
    randomness draws the lengths.

    References
    ----------
    .. [1] T. Wang, N. Li, S. Jha, "Locally differentially private heavy hitter identification",
       IEEE Transactions on Dependable and Secure Computing 18(2), 2021.
       doi:10.1109/TDSC.2019.2927695

    Examples
    --------
    >>> import lapwing as lw
    >>> hashing = lw.papers.baselines.PrefixHashing(lw.Categories(2**40), epsilon=2)
    >>> len(hashing.groups), hashing.report_width, hashing.certificate().holds
    (3, 7, True)
    """

    domain: Annotated[Domain, domain_of("labels", _of_bits, least=4)]
    _: KW_ONLY
    prefixes: Sequence[AtLeastOne] | None = None
    hash_bits: Annotated[int, From(1, MOST_HASH_BITS)] | None = None

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self,
            domain: Domain,
            epsilon: ExactNumber,
            *,
            prefixes: Sequence[int] | None = None,
            hash_bits: int | None = None,
        ) -> None: ...

    name: ClassVar[str] = "prefix-hashing"
    _in_javascript: ClassVar[bool] = True
    decoder: ClassVar[str] = "prefix-extension"
    collects: ClassVar[Literal["counts", "log"]] = "log"
    _simulation: ClassVar[Literal["exact", "users"]] = "users"

    def _settle(self) -> None:
        """Check the lengths against the domain."""
        lengths = self.prefixes
        if lengths is not None and (
            not lengths
            or [*lengths] != sorted({*lengths})
            or (lengths[0] > FIRST_BITS or lengths[-1] != self._key_bits)
        ):
            raise ArgumentError(
                "prefixes",
                f"must be increasing lengths in bits, the first from 1 to {FIRST_BITS}, the last "
                f"that of a value, {self._key_bits}",
                repr(lengths),
            )

    @cached_property
    def _key_bits(self) -> int:
        """L: bits of a value."""
        return (self.domain.size - 1).bit_length()

    @cached_property
    def _lengths(self) -> tuple[int, ...]:
        """The lengths that were given or chosen."""
        return default_prefixes(self._key_bits) if self.prefixes is None else tuple(self.prefixes)

    @cached_property
    def groups(self) -> tuple[Component, ...]:
        """Linear hashing of each prefix length, with equal shares of the people."""
        shares = whole_shares([1 / len(self._lengths)] * len(self._lengths))
        return tuple(
            Component(
                LinearHashing(Categories(2**bits), self.epsilon, hash_bits=self.hash_bits), share
            )
            for bits, share in zip(self._lengths, shares, strict=True)
        )

    def _cells(self, group: int, symbols: NDArray[np.int64]) -> NDArray[np.int64]:
        # As for all mixtures floor(symbol * cells / size), here without a table of the domain.
        drop = self._key_bits - self._lengths[group]
        prefixes: NDArray[np.int64] = symbols >> drop
        return prefixes

    @cached_property
    def log_channel(self) -> PrefixChannel:
        """Distribution of a report for each value, for decoders that read stored reports."""
        channels = [group.randomizer.log_channel for group in self.groups]  # type: ignore[attr-defined]
        return PrefixChannel(self.domain, tuple(channels), self.fingerprint, self.guarantee)
