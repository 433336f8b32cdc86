"""Local hashing: send a public hash of the value, or another value of that hash."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.errors import ArgumentError, DomainError
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.multiply_shift import (
    PooledHashes,
    factors_and_shifts,
    hashes,
    intervals,
    keys_of,
)
from lapwing.privacy.exact_numbers import ExactNumber, check_whole_field
from lapwing.privacy.sampling.randomness import (
    RandomSource,
    bernoulli,
    scalar_below,
    uniform_below,
)
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.channels.hashed_channel import hashed_channel
from lapwing.protocol.domains.domain import Domain, require_domain
from lapwing.protocol.messages.reports import pack_codes, unpack_codes
from lapwing.protocol.randomizer import (
    CHUNK,
    check_symbol,
    fill_reports,
    refuse_reports,
)
from lapwing.randomizers.two_level import LARGEST_TABLE, TwoLevel

LARGEST_HASH = 2**16
"""Most values of a hash."""

_SEED_BYTES = 8


def least_variance_size(epsilon: Fraction | float) -> int:
    """Return the number of values of a hash with the least variance, at most 2^16.

    Notes
    -----
    ``(e^epsilon + g - 1)^2 / ((e^epsilon - 1)^2 (g - 1))`` per report is smallest at
    g = e^epsilon + 1; the better of its two neighbors is taken. Wang et al. 2017.
    """
    power = math.exp(epsilon)
    below = max(2, math.floor(power + 1))
    sizes = [min(size, LARGEST_HASH) for size in (below, below + 1)]
    return min(sizes, key=lambda size: (power + size - 1) ** 2 / (size - 1))


@dataclass(frozen=True)
class LocalHashing(TwoLevel):
    """Hash the value by a public hash to a few values, and send that by randomized response.

    Without a pool (OLH) everybody draws a seed of 64 bits: a report supports all symbols whose hash
    is the reported value, and the tally counts supports. With a pool (FLH) everybody draws one of
    `hashes` public hashes, and the tally counts each value of each hash.

    Parameters
    ----------
    domain : Categories
        Of 2..2^26 symbols, without an order.
    epsilon : int, float, str or Fraction
        In (0, 24], nats.
    hashes : int, optional
        Hashes in the pool, at least 1; hashes times size at most 2^26. Default: a fresh seed each.
    size : int, optional
        Values of a hash, g, in 2..65536. Default: :func:`least_variance_size`, about e^epsilon + 1.
    seed : int
        In 0..2^32-1: which pool. Reports of another pool are foreign. 0 without a pool.

    Notes
    -----
    **Privacy.** The hash does not depend on the value. Given it, the report is randomized response
    on its g values, so the worst ratio is ``T (g - 1) / (2^64 - T)`` for every hash, good or bad.
    Checked by :meth:`certificate`, by the contract tests for pools, and in
    `tests/randomizers/categorical/test_local_hashing.py` for seeds.

    **Accuracy.** The variance of a share near zero is ``(e^epsilon + g - 1)^2 / ((e^epsilon - 1)^2
    (g - 1) n)``, that of optimized unary encoding. With a pool of H hashes, two symbols that
    collide under a hash cannot be told apart by it: errors keep a part of variance ``sum of p^2 /
    (H (g - 1))`` that does not shrink with n; decoders that use the channel, and not its support
    counts, remove much of it. The hashes are pairwise independent to about 2^-32.

    **Cost.** 8 bytes and those of a hash per report, or those that count hashes times size; O(1) to
    randomize one. Without a pool a tally takes 0.12 ns per report and symbol (0.12 s for 1e6
    reports and 1024 symbols); with one, O(1) per report, and a decoder 1 ns per hash and symbol and
    product.

    Source: Wang, Blocki, Li and Jha 2017 (OLH); Cormode, Maddock and Maple 2021 (FLH). Differs: g
    is the better neighbor of e^epsilon + 1.

    Examples
    --------
    >>> from lapwing.protocol.domains.categories import Categories
    >>> hashing = LocalHashing(Categories(1024), 1)
    >>> hashing.report_width, hashing.certificate().holds
    (9, True)
    >>> LocalHashing(Categories(1024), 1, hashes=500).report_width
    2
    """

    _: KW_ONLY
    hashes: int | None = None
    size: int | None = None
    seed: int = 0

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self,
            domain: Domain,
            epsilon: ExactNumber,
            *,
            hashes: int | None = None,
            size: int | None = None,
            seed: int = 0,
        ) -> None: ...

    name: ClassVar[str] = "local-hashing"

    def __post_init__(self) -> None:
        """Check the pool, then what all two-level randomizers check."""
        require_domain(self.domain)
        if self.domain.ordered:
            raise DomainError(
                "local hashing is for labels without an order; numbers are better served by a "
                "wave or by subset selection"
            )
        if self.domain.size > LARGEST_TABLE:
            raise DomainError(
                f"local hashing counts at most {LARGEST_TABLE} symbols, got {self.domain.size}; "
                "use LinearHashing"
            )
        for name, least, most in (
            ("hashes", 1, LARGEST_TABLE),
            ("size", 2, LARGEST_HASH),
            ("seed", 0, 2**32 - 1),
        ):
            if name == "seed" or getattr(self, name) is not None:
                check_whole_field(self, name, low=least, high=most)
        if self.hashes is None and self.seed:
            raise ArgumentError(
                "seed chooses a pool of hash functions; also give hashes, or leave seed out"
            )
        super().__post_init__()

    if not TYPE_CHECKING:  # to a type checker they are class variables, as everywhere else

        @property
        def decoder(self) -> str:
            """Name of the default decoder: the mixture prior cannot read the channel of a pool."""
            return "mixture-prior" if self.hashes is None else "least-squares"

        @property
        def _simulation(self) -> str:
            """Exact with a pool; without one everybody is randomized."""
            return "users" if self.hashes is None else "exact"

    @cached_property
    def _hash_size(self) -> int:
        """g: the size that was given or chosen."""
        return self.size or least_variance_size(self.epsilon)

    @cached_property
    def _near(self) -> int:
        """One value of a hash; of a pool, one of each."""
        return self.hashes or 1

    @cached_property
    def _outputs(self) -> int:
        """Values of a hash; of a pool, of each."""
        return self._near * self._hash_size

    @cached_property
    def report_width(self) -> int:
        """Bytes per report."""
        return self._layout.width + (_SEED_BYTES if self.hashes is None else 0)

    @property
    def _derived(self) -> dict[str, Any]:
        pool = {} if self.hashes is None else {"hashes": self.hashes, "seed": self.seed}
        return super()._derived | {"hashed_values": self._hash_size} | pool

    @cached_property
    def _pool(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Factor and shift of every hash of the pool."""
        numbers = np.arange(self._near, dtype=np.uint64)
        return factors_and_shifts((np.uint64(self.seed) << np.uint64(32)) | numbers)

    @cached_property
    def _keys(self) -> NDArray[np.uint64]:
        return keys_of(np.arange(self.domain.size))

    # With a pool: a two-level randomizer like any other.

    def _locate(
        self, point: NDArray[np.int64], near: NDArray[np.bool_], offset: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the value of hash `offset` for a symbol, or another value of a hash."""
        others = self._hash_size - 1
        number = np.where(near, offset, offset // others)
        factors, shifts = self._pool
        own = hashes(factors[number], shifts[number], keys_of(point), size=self._hash_size)
        other = offset % others
        other += other >= own
        code: NDArray[np.int64] = number * self._hash_size + np.where(near, own, other)
        return code

    def _spread_near(
        self, people: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return counts of outputs when everybody draws a hash and tells its value."""
        factors, shifts = self._pool
        counts = np.zeros(self._outputs, dtype=np.int64)
        start = np.arange(self._near) * self._hash_size
        even = np.full(self._near, 1 / self._near)
        for symbol in np.flatnonzero(people):
            key = self._keys[symbol]
            drawn = rng.multinomial(people[symbol], even)
            counts[start + hashes(factors, shifts, key, size=self._hash_size)] += drawn
        return counts

    def _operator(self, inside: float, outside: float) -> LinearOperator:
        """Return the matrix that is `inside` at the values of a symbol's hashes."""
        factors, shifts = self._pool
        return PooledHashes(
            factors,
            shifts,
            self._keys,
            size=self._hash_size,
            inside=inside,
            outside=outside,
        )

    # Without one: a seed before each report, and supports instead of codes.

    @cached_property
    def channel(self) -> Channel:
        """One block: of the pool's outputs, or a bit per symbol, whether a report supports it."""
        if self.hashes is not None:
            return super().channel
        inside, _ = self._probabilities
        return hashed_channel(
            self.domain,
            inside=inside,
            outside=1 / self._hash_size,
            fingerprint=self.fingerprint,
            guarantee=self.guarantee,
        )

    def _reports_of(self, points: NDArray[np.int64], source: RandomSource) -> NDArray[np.uint8]:
        if self.hashes is not None:
            return super()._reports_of(points, source)
        size = self._hash_size

        def fill(symbols: NDArray[np.int64], rows: NDArray[np.uint8]) -> None:
            seeds = source.words(symbols.size)
            own = hashes(*factors_and_shifts(seeds), keys_of(symbols), size=size)
            near = bernoulli(source, threshold=self._threshold, count=symbols.size)
            other = uniform_below(source, bounds=size - 1, count=symbols.size)
            other += other >= own
            rows[:, :_SEED_BYTES] = pack_codes(seeds.view(np.int64), width=_SEED_BYTES)
            rows[:, _SEED_BYTES:] = pack_codes(np.where(near, own, other), width=self._layout.width)

        return fill_reports(points, fill, width=self.report_width)

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        """Return the report that these random 64-bit words make of one symbol.

        With a pool: see :class:`TwoLevel`; the offset chooses the hash, and, far, the
        value. Without one: a word decides near (below T) or far; near, one more word is used for a
        number below 1, far, for a number below g - 1; the last word is the seed.

        Parameters
        ----------
        value : int
            Symbol, in 0..k-1.
        words : iterator of int
            Each in 0..2^64-1.

        Returns
        -------
        bytes
            One report in its wire format.
        """
        if self.hashes is not None:
            return super().from_words(value, words)
        check_symbol(value, self._points, what="an input")
        near = next(words) < self._threshold
        offset = scalar_below(words, 1 if near else self._hash_size - 1)
        seed = next(words)
        own = int(
            hashes(
                *factors_and_shifts(np.array([seed], dtype=np.uint64)),
                keys_of(np.array([value])),
                size=self._hash_size,
            )[0]
        )
        answer = own if near else offset + (offset >= own)
        return seed.to_bytes(_SEED_BYTES, "little") + self._layout.report(answer)

    def _count(self, data: NDArray[np.uint8]) -> list[tuple[NDArray[np.int64], int]]:
        if self.hashes is not None:
            return super()._count(data)
        from lapwing.linear.operators.hash_kernels import hashed_supports

        answers = unpack_codes(data[:, _SEED_BYTES:])
        size = self._hash_size
        refuse_reports(answers >= size, f"hold a value in 0..{size - 1}")
        seeds = np.ascontiguousarray(data[:, :_SEED_BYTES]).view("<u8").ravel().astype(np.uint64)
        counts = np.zeros(self.domain.size, dtype=np.int64)
        for start in range(0, seeds.size, CHUNK):
            chunk = slice(start, start + CHUNK)
            first, width = intervals(answers[chunk], size=size)
            factors, shifts = factors_and_shifts(seeds[chunk])
            hashed_supports(factors, shifts, first, width, self._keys, counts)
        return [(counts, len(data))]
