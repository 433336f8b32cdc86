"""Local hashing: a report is a public hash of the value, or another value of that hash.

A hash is one multiplication, by a seed of 64 bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.declared import From
from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Vector, Words
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.operator import Operator
from lapwing.privacy.exact_numbers import ExactNumber
from lapwing.privacy.sampling.randomness import RandomSource, bernoulli, scalar_below, uniform_below
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.channels.hashed_channel import hashed_channel
from lapwing.protocol.domains.domain import Domain, domain_of
from lapwing.protocol.messages.reports import pack_codes, unpack_codes
from lapwing.protocol.randomizer import CHUNK, Fault, check_symbol, fault_of, fill_reports, refuse
from lapwing.randomizers.two_level import LARGEST_TABLE, TwoLevel

_GAMMA = np.uint64(0x9E3779B97F4A7C15)


def _mixed(words: Words) -> Words:
    """Return the finalizer of SplitMix64: a one-to-one map that scatters neighbors."""
    mixed = words ^ (words >> np.uint64(30))
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def factors_and_shifts(seeds: Words) -> tuple[Words, Words]:
    """Return the two numbers that make a hash of each seed: the next two of SplitMix64."""
    return _mixed(seeds + _GAMMA), _mixed(seeds + _GAMMA + _GAMMA)


def keys_of(symbols: NDArray[np.int64]) -> Words:
    """Return 32 scattered bits of each symbol, different for different symbols: uint64 [n].

    The finalizer of MurmurHash3. Multiplication alone would hash symbols in arithmetic progression
    to such a progression, whose members are not independent of each other.
    """
    bits = symbols.astype(np.uint32)
    bits ^= bits >> np.uint32(16)
    bits *= np.uint32(0x85EBCA6B)
    bits ^= bits >> np.uint32(13)
    bits *= np.uint32(0xC2B2AE35)
    bits ^= bits >> np.uint32(16)
    return bits.astype(np.uint64)


def hashes(factors: Words, shifts: Words, keys: Words, *, size: int) -> NDArray[np.int64]:
    """Return hashes in 0..size-1: ``floor(size * ((factor * key + shift) >> 32) / 2^32)``.

    factors, shifts, keys: uint64, of shapes that broadcast.
    size: In 2..2^16.
    """
    high = (factors * keys + shifts) >> np.uint64(32)
    return ((high * np.uint64(size)) >> np.uint64(32)).view(np.int64)


def intervals(hashed: NDArray[np.int64], *, size: int) -> tuple[NDArray[np.uint32], ...]:
    """Return the first of the high halves that hash to each value, and how many do."""
    first = -(-(hashed << 32) // size)
    stop = -(-((hashed + 1) << 32) // size)
    return first.astype(np.uint32), (stop - first).astype(np.uint32)


class PooledHashes(Operator):
    """`inside` at a symbol's hash under each hash of a pool, `outside` elsewhere.

    Output ``number * size + value`` is one value of one hash. The table of all hashes is never
    kept: each product hashes all symbols again, 1 ns a hash.

    factors, shifts: uint64 [hashes].
    keys: uint64 [symbols].
    size: Values of a hash.
    """

    def __init__(
        self,
        factors: Words,
        shifts: Words,
        keys: Words,
        *,
        size: int,
        inside: float,
        outside: float,
    ) -> None:
        super().__init__((factors.size * size, keys.size))
        self.factors = factors
        self.shifts = shifts
        self.keys = keys
        self.size = size
        self.inside = inside
        self.outside = outside

    def _matvec(self, x: Vector) -> Vector:
        from lapwing.linear.operators.hash_kernels import pooled_sums

        mass = np.ascontiguousarray(x.reshape(-1), dtype=np.float64)
        sums = np.zeros(self.shape[0])
        pooled_sums(self.factors, self.shifts, self.keys, self.size, mass, sums)
        product: Vector = (self.inside - self.outside) * sums + self.outside * mass.sum()
        return product

    def _rmatvec(self, r: Vector) -> Vector:
        from lapwing.linear.operators.hash_kernels import pooled_reads

        rates = np.ascontiguousarray(r.reshape(-1), dtype=np.float64)
        reads = np.zeros(self.shape[1])
        pooled_reads(self.factors, self.shifts, self.keys, self.size, rates, reads)
        product: Vector = (self.inside - self.outside) * reads + self.outside * rates.sum()
        return product

    def _rmatmat(self, r: Vector) -> Vector:
        # Without compiled code: a client checks the channel and needs no more.
        rows = np.asarray(r, dtype=np.float64).reshape(self.factors.size, self.size, -1)
        reads = np.zeros((self.keys.size, rows.shape[2]))
        for number, row in enumerate(rows):
            reads += row[self.row(number)]
        product: Vector = (self.inside - self.outside) * reads + self.outside * rows.sum((0, 1))
        return product

    def squared_entries(self) -> PooledHashes:
        """Return the matrix of squared entries."""
        return PooledHashes(
            self.factors,
            self.shifts,
            self.keys,
            size=self.size,
            inside=self.inside**2,
            outside=self.outside**2,
        )

    def row(self, number: int) -> NDArray[np.int64]:
        """Return one hash of every symbol: int64 [symbols]."""
        return hashes(self.factors[number], self.shifts[number], self.keys, size=self.size)


LARGEST_HASH = 2**16
"""Most values of a hash."""

_SEED_BYTES = 8


def least_variance_size(epsilon: Fraction | float) -> int:
    """Return the number of hash values with the least variance, at most 2^16.

    epsilon: Privacy parameter of one report, in (0, 24], in nats.
    returns: Values g of a hash, in 2..65536.

    The variance ``(e^epsilon + g - 1)^2 / ((e^epsilon - 1)^2 (g - 1))`` of one report is least at
    ``g = e^epsilon + 1`` [1]_. The better of the two whole numbers next to it is taken.

    .. [1] T. Wang, J. Blocki, N. Li, S. Jha, "Locally differentially private protocols for
       frequency estimation", USENIX Security, 2017.
    """
    power = math.exp(epsilon)
    below = max(2, math.floor(power + 1))
    sizes = [min(size, LARGEST_HASH) for size in (below, below + 1)]
    return min(sizes, key=lambda size: (power + size - 1) ** 2 / (size - 1))


@dataclass(frozen=True)
class LocalHashing(TwoLevel):
    """Local hashing: OLH (Wang et al., 2017) and FLH (Cormode et al., 2021).

    A public hash maps the value to one of g numbers, and generalized randomized response reports
    that number. Without a pool (OLH) everybody draws a 64-bit seed. A report then supports every
    category whose hash is the reported number, and the tally counts this support. With a pool
    (FLH) everybody draws one of `hashes` public hashes, and the tally counts each number of each
    hash.

    Parameters
    ----------
    domain : Categories
        Domain of the values, without an order, with 2 to 2^26 categories.
    epsilon : int, float, str or Fraction
        Privacy parameter of one report, in (0, 24], in nats. The field holds an exact Fraction.
    hashes : int, optional
        Number of hashes in the pool, at least 1, with ``hashes * size`` at most 2^26. Default: no
        pool, and a fresh seed for each report.
    size : int, optional
        Number g of values of a hash, in 2..65536. Default: the number with the least variance,
        about ``e^epsilon + 1``.
    seed : int
        Seed of the pool of hashes, in 0..2^32-1. Reports from another pool are refused. It is 0
        without a pool. Default: 0.

    See Also
    --------
    lapwing.LinearHashing : Hashing that a server can invert, so every category can be searched.

    Notes
    -----
    **Privacy.** The hash does not depend on the value. Given the hash, the report is randomized
    response on its g values. So the worst-case likelihood ratio is ``T (g - 1) / (2^64 - T)`` for
    every hash, whatever its quality. :meth:`certificate` states it. The contract tests check it for
    pools, and the unit tests for seeds.

    **Accuracy.** A share near zero has variance
    ``(e^epsilon + g - 1)^2 / ((e^epsilon - 1)^2 (g - 1) n)``, that of optimized unary encoding.
    With a pool of H hashes, two categories that collide under a hash cannot be distinguished by it.
    Errors then keep a variance of ``sum of p^2 / (H (g - 1))``, which does not shrink with n.
    Decoders that use the channel instead of its support counts remove much of it. The hashes are
    pairwise independent to about 2^-32.

    **Cost.** Without a pool a report takes 8 bytes plus those of a hash value. With a pool it
    takes the bytes of a number below ``hashes * size``. Randomizing a value takes O(1) time.
    Without a pool a tally takes 0.12 ns for each report and category (0.12 s for 1e6 reports and
    1024 categories). With a pool, it takes O(1) for each report, and a decoder takes 1 ns for each
    hash, category and product.

    OLH is from [1]_ and FLH from [2]_. Here g is the better of the two whole numbers next to
    ``e^epsilon + 1``.

    References
    ----------
    .. [1] T. Wang, J. Blocki, N. Li, S. Jha, "Locally differentially private protocols for
       frequency estimation", USENIX Security, 2017.
    .. [2] G. Cormode, S. Maddock, C. Maple, "Frequency estimation under local differential
       privacy", Proceedings of the VLDB Endowment 14(11), 2021. doi:10.14778/3476249.3476261

    Examples
    --------
    >>> import lapwing as lw
    >>> hashing = lw.papers.baselines.LocalHashing(lw.Categories(1000), epsilon=1)
    >>> hashing.report_width, hashing.certificate().holds
    (9, True)
    >>> lw.papers.baselines.LocalHashing(lw.Categories(1000), epsilon=1, hashes=500).report_width
    2
    >>> reports = hashing.randomize([7] * 14_000 + [8] * 6000, rng=lw.seeded(1))
    >>> result = lw.MixturePrior().decode(hashing.channel, hashing.tally(reports))
    >>> result.mass[[7, 8]].round(1).tolist()
    [0.7, 0.3]
    """

    domain: Annotated[Domain, domain_of("labels", most=LARGEST_TABLE)]
    _: KW_ONLY
    hashes: Annotated[int, From(1, LARGEST_TABLE)] | None = None
    size: Annotated[int, From(2, LARGEST_HASH)] | None = None
    seed: Annotated[int, From(0, 2**32 - 1)] = 0

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
        """Check the fields and the pool."""
        super().__post_init__()
        if self.hashes is None and self.seed:
            raise ArgumentError(
                "seed chooses a pool of hash functions. Also give hashes, or leave seed out"
            )

    if not TYPE_CHECKING:  # to a type checker they are class variables, as everywhere else

        @property
        def decoder(self) -> str:
            """Name of the default decoder: the mixture prior cannot read the channel of a pool."""
            return "mixture-prior" if self.hashes is None else "least-squares"

        @property
        def _simulation(self) -> str:
            """Exact with a pool. Without one everybody is randomized."""
            return "users" if self.hashes is None else "exact"

    @cached_property
    def _hash_size(self) -> int:
        """g: the size that was given or chosen."""
        return self.size or least_variance_size(self.epsilon)

    @cached_property
    def _near(self) -> int:
        """One value of a hash. Of a pool, one of each."""
        return self.hashes or 1

    @cached_property
    def _outputs(self) -> int:
        """Values of a hash. Of a pool, of each."""
        return self._near * self._hash_size

    @cached_property
    def report_width(self) -> int:
        """Bytes of one report."""
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
            factors, shifts, self._keys, size=self._hash_size, inside=inside, outside=outside
        )

    # Without one: a seed before each report, and supports instead of codes.

    @cached_property
    def channel(self) -> Channel:
        """Distribution of a report for each value: one block.

        With a pool the block counts the pool's outputs. Without a pool it has a bit for each
        category, whether a report supports it.
        """
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
        """Return the report that these random 64-bit words produce for one category.

        With a pool it is as for every two-level randomizer. The offset then chooses the hash, and
        far from the value also the reported number. Without a pool the first word is near if it is
        below T, and otherwise far. The next words give the offset: below 1 if near, and below
        ``g - 1`` if far. The last word is the seed.
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

        refuse(self._faults(data))
        answers = unpack_codes(data[:, _SEED_BYTES:])
        size = self._hash_size
        seeds = np.ascontiguousarray(data[:, :_SEED_BYTES]).view("<u8").ravel().astype(np.uint64)
        counts = np.zeros(self.domain.size, dtype=np.int64)
        for start in range(0, seeds.size, CHUNK):
            chunk = slice(start, start + CHUNK)
            first, width = intervals(answers[chunk], size=size)
            factors, shifts = factors_and_shifts(seeds[chunk])
            hashed_supports(factors, shifts, first, width, self._keys, counts)
        return [(counts, len(data))]

    def _faults(self, data: NDArray[np.uint8]) -> Iterator[Fault]:
        if self.hashes is not None:
            return super()._faults(data)
        answers = unpack_codes(data[:, _SEED_BYTES:])
        size = self._hash_size
        return fault_of(answers >= size, f"contain a value in 0..{size - 1}")
