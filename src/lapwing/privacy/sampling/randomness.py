"""Random 64-bit words, and the exact draws made from them.

Wherever a value is protected, the default is :func:`secure`: AES-256 in counter mode, keyed by the
operating system. For tests and test vectors, :func:`seeded` is the same cipher with a key derived
from a seed. Both feed the same draws, which are exact. A Bernoulli draw compares a word with an
integer threshold. A bounded integer rejects the words that would bias it.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, Protocol
from weakref import WeakSet

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from lapwing.errors import ArgumentError, PrivacyError, kind_of
from lapwing.privacy.exact_numbers import check_whole
from lapwing.privacy.guarantee import Standing

WORD = 2**64
"""A threshold T represents the probability T / WORD."""

BUFFER_BYTES = 64 * 1024
"""The keystream is made in pieces of this size, which stay in a core's L2 cache."""

_ZEROS = bytes(BUFFER_BYTES)

_REKEY_BYTES = 2**36
"""2^32 AES blocks: after this much keystream a new key is drawn."""


class RandomSource(Protocol):
    """Where random words come from: :func:`secure`, :func:`seeded`."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return `count` independent uniform words: uint64 [count]."""
        ...


class _Key:
    """The keystream under one key, from its first block to the last one that it may give.

    secret: 48 bytes: the key and the first counter block.
    """

    def __init__(self, secret: bytes) -> None:
        cipher = Cipher(algorithms.AES(secret[:32]), modes.CTR(secret[32:48]))
        self._stream = cipher.encryptor()
        # update_into wants room for one more block than it is given.
        self._buffer = bytearray(BUFFER_BYTES + 16)
        self._position = BUFFER_BYTES
        self._left = _REKEY_BYTES

    @property
    def spent(self) -> bool:
        return self._left == 0 and self._position == BUFFER_BYTES

    def fill_start(self, target: memoryview) -> int:
        """Fill the start of a buffer, as far as the block at hand reaches. Return the length."""
        if self._position == BUFFER_BYTES:
            self._left -= BUFFER_BYTES
            self._stream.update_into(_ZEROS, self._buffer)
            self._position = 0
        start = self._position
        length = min(len(target), BUFFER_BYTES - start)
        # First of all the place moves on: a draw that is interrupted from here on loses words, and
        # never leaves any to be handed out again, or the zeros that they are wiped with.
        self._position = start + length
        target[:length] = memoryview(self._buffer)[start : start + length]
        # What was handed out is wiped: a later look at memory must not reveal it.
        self._buffer[start : start + length] = _ZEROS[:length]
        return length


class Keystream:
    """AES-256-CTR keystream as little-endian 64-bit words.

    Not made directly: use :func:`secure` or :func:`seeded`.

    draw_key: 48 bytes: the key and the first counter block. Called at the start, after 2^36 bytes,
        and in a forked child (a child that went on with its parent's stream would repeat it).

    Thread-safe, but not to be drawn from inside a signal handler. A fork may come at any time:
    the child forgets its parent's key, and the lock that another thread of the parent held. Copies
    are refused. About 5-9 GB/s on one core with AES instructions, faster than NumPy's PCG64.
    """

    def __init__(self, draw_key: Callable[[], bytes]) -> None:
        self._draw_key = draw_key
        self._forget()
        _keystreams.add(self)

    def _forget(self) -> None:
        """Start with no key and a free lock: at first, and in a child that was just forked."""
        self._lock = threading.Lock()
        self._key: _Key | None = None
        self._process = os.getpid()
        self._life = object()

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or pickled."""
        raise PrivacyError(
            "a source of randomness must not be copied or pickled, because the copy would give "
            "the same words. Call lapwing.privacy.secure() where it is needed, or "
            "lapwing.seeded() with another seed"
        )

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return `count` independent uniform words: uint64 [count]."""
        out = np.empty(count, dtype="<u8")
        self.fill(memoryview(out.data).cast("B"))
        return out.astype(np.uint64, copy=False)

    def fill(self, target: memoryview) -> None:
        """Fill a writable buffer of bytes."""
        if self._process != os.getpid():
            self._forget()  # forked by C code, which runs none of Python's hooks
        life = None
        while life is not self._life:
            if life is not None:
                # This very thread was forked in the middle: what the child has is its parent's.
                self._forget()
            life = self._life
            with self._lock:
                self._fill(target)

    def _fill(self, target: memoryview) -> None:
        done = 0
        while done < len(target):
            key = self._key
            if key is None or key.spent:
                key = self._key = self._next_key()
            done += key.fill_start(target[done:])

    def _next_key(self) -> _Key:
        with _making:
            return _Key(self._draw_key())


_keystreams: WeakSet[Keystream] = WeakSet()

_making = threading.RLock()
"""Lock that is held while a key is made, and by whoever forks."""
# OpenSSL has locks of its own, which a child would find held for ever when it was forked while
# another thread set up a cipher.


def _start_child() -> None:
    _making.release()
    for keystream in list(_keystreams):
        keystream._forget()


if sys.platform != "win32":
    # Process ids do not tell: a child may get the id of a parent that is gone.
    os.register_at_fork(
        before=_making.acquire, after_in_parent=_making.release, after_in_child=_start_child
    )


_secure: RandomSource = Keystream(lambda: os.urandom(48))


def secure() -> RandomSource:
    """Cryptographic randomness: the process's keystream, keyed by the operating system.

    A forked child draws its own key, even if another thread draws during the fork. `copy` and
    `pickle` refuse the result, so call the function again where you need it.

    Returns
    -------
    RandomSource
        Source of random 64-bit words.

    Examples
    --------
    >>> import lapwing as lw
    >>> lw.privacy.secure().words(2).size
    2
    """
    return _secure


def standing_of(source: RandomSource) -> Standing | None:
    """Return "seeded" for every source but :func:`secure`, and None for that."""
    return None if source is _secure else "seeded"


def source_of(rng: RandomSource | None) -> RandomSource:
    """Return the source that somebody passed, or :func:`secure` for None.

    Raises ArgumentError when it is no source: a seed alone, or a generator of NumPy, which protects
    nobody.
    """
    if rng is None:
        return secure()
    if not callable(getattr(rng, "words", None)):
        raise ArgumentError(
            "rng",
            "must be a source of random words",
            kind_of(rng),
            "Leave it out for secure randomness. In a test, lapwing.seeded(1) protects nobody "
            "but is reproducible",
        )
    return rng


def generator_of(rng: np.random.Generator | RandomSource | int) -> np.random.Generator:
    """Return the generator that somebody passed or seeded, for draws that protect nobody.

    A source of random words seeds it with its next four words.

    Raises ArgumentError when it is no source, no generator of NumPy and no whole number of at least
    0.
    """
    words: Any = getattr(rng, "words", None)
    try:
        return np.random.default_rng(rng if words is None else words(4))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        said = str(rng) if isinstance(rng, int) else kind_of(rng)
        raise ArgumentError(
            "rng",
            "must be a seed (a whole number of at least 0) or a NumPy generator",
            said,
            "Pass for example rng=1",
        ) from None


def seeded(seed: int) -> RandomSource:
    """Reproducible keystream, for tests and simulation only, because a seed is not a secret.

    A forked child continues with the next key derived from the seed. That key differs from the
    parent's, but is the same in all children forked at the same point.

    Parameters
    ----------
    seed : int
        Seed, in 0..2^64-1. The key is the SHA-512 hash of a label, the seed and the number of keys
        drawn.

    Returns
    -------
    RandomSource
        Source of pseudorandom 64-bit words.

    Raises
    ------
    ArgumentError
        When the seed is out of range.

    Examples
    --------
    >>> import lapwing as lw
    >>> lw.seeded(1).words(1) == lw.seeded(1).words(1)
    array([ True])
    """
    seed = check_whole("seed", seed, low=0, high=WORD - 1)
    keys = 0

    def draw_key() -> bytes:
        nonlocal keys
        keys += 1
        return hashlib.sha512(f"lapwing seeded {int(seed)} {keys}".encode()).digest()[:48]

    return Keystream(draw_key)


def iterate(source: RandomSource) -> Iterator[int]:
    """Yield one word after the other, for the scalar path."""
    while True:
        yield int(source.words(1)[0])


def bernoulli(source: RandomSource, *, threshold: int, count: int) -> NDArray[np.bool_]:
    """Return `count` coins that are true with probability threshold / 2^64, exactly.

    threshold: In 0..2^64.
    count: At least 0.
    """
    words = source.words(count)
    if threshold >= WORD:
        return np.ones(count, dtype=np.bool_)
    return words < np.uint64(threshold)


def uniform_below(
    source: RandomSource, *, bounds: NDArray[np.uint64] | int, count: int
) -> NDArray[np.int64]:
    """Return `count` exactly uniform integers, each in 0..bound-1.

    source: Source of the words.
    bounds: Each in 1..2^40.
    count: Number of draws, at least 0.

    The method is multiply-high with rejection ([1]_, algorithm 5). Of the `R = 2^w` words, the `R
    mod bound` that would favor some results are drawn again, so the result is exactly uniform. `w`
    is 32 for bounds up to 2^31 and a bit mask with rejection above.

    .. [1] D. Lemire, "Fast random integer generation in an interval", ACM Transactions on Modeling
       and Computer Simulation, 2019. doi:10.1145/3230636
    """
    bound = np.asarray(bounds, dtype=np.uint64)
    if bound.max(initial=1) > 2**31:
        return _masked_below(source, np.broadcast_to(bound, (count,)))
    return half_words_below(source, half_words(source, count), bound)


def half_words_below(
    source: RandomSource, halves: NDArray[np.uint64], bound: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """Return what :func:`uniform_below` makes of the first words of 32 bits, and of more of them.

    bound: One or as many, each at most 2^31.
    """
    product = halves * bound
    # Only a low half below the bound can be below `2^32 mod bound`; the remainder is slow.
    (suspect,) = (product.astype(np.uint32) < bound).nonzero()
    drawn = product >> np.uint64(32)
    if suspect.size:
        bound = np.broadcast_to(bound, halves.shape)
    while suspect.size:
        excess = np.uint64(2**32) % bound[suspect]
        rejected = product[suspect].astype(np.uint32) < excess
        suspect = suspect[rejected]
        product[suspect] = half_words(source, suspect.size) * bound[suspect]
        drawn[suspect] = product[suspect] >> np.uint64(32)
    return drawn.view(np.int64)


def half_words(source: RandomSource, count: int) -> NDArray[np.uint64]:
    """Return words of 32 bits: uint64 [count]."""
    return source.words((count + 1) // 2).view("<u4")[:count].astype(np.uint64)


def _masked_below(source: RandomSource, bound: NDArray[np.uint64]) -> NDArray[np.int64]:
    # The float logarithm may be one bit short only above 2^52, far over the largest bound.
    bits = np.ceil(np.log2(bound.astype(np.float64))).astype(np.uint64)
    mask = (np.uint64(1) << bits) - np.uint64(1)
    drawn = source.words(bound.size) & mask
    (rejected,) = np.nonzero(drawn >= bound)
    while rejected.size:
        drawn[rejected] = source.words(rejected.size) & mask[rejected]
        rejected = rejected[drawn[rejected] >= bound[rejected]]
    return drawn.view(np.int64)


def scalar_below(words: Iterator[int], bound: int) -> int:
    """Return one exactly uniform integer in 0..bound-1 from an iterator of words.

    Clients in other languages port this rule. Multiply a word by the bound, and take the high half.
    Draw again when the low half is below ``2^64 mod bound``. The bound is in 1..2^64, because
    beyond it every word would be rejected.
    """
    if not 0 < bound <= WORD:
        raise ArgumentError("a uniform number from one word must have a bound in 1..2^64")
    excess = WORD % bound
    while True:
        product = next(words) * bound
        if product % WORD >= excess:
            return product >> 64
