"""The one way to repeat secure draws, for tests and documentation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lapwing.privacy.sampling import randomness
from lapwing.privacy.sampling.randomness import RandomSource


@contextmanager
def reproducible(seed: int | RandomSource) -> Iterator[None]:
    """Replace the secure source by a seeded one inside a block, for tests and documentation.

    Nothing that is drawn in the block is private, and nothing is marked as seeded. It is the only
    function that does this. Everything else that a seed draws says "seeded: not private".

    Parameters
    ----------
    seed : int or RandomSource
        Seed, in 0..2^64-1, or a source of random words of one's own.

    Yields
    ------
    None
        Draws of all threads are those of the seed until the block ends.

    Notes
    -----
    **Privacy.** It holds for all threads of the process. Never use it with values of real people.

    Examples
    --------
    >>> import lapwing as lw
    >>> yes_no = lw.RandomizedResponse(lw.Categories(["yes", "no"]), epsilon=1)
    >>> with lw.testing.reproducible(1):
    ...     first = yes_no.randomize(["yes"] * 100)
    >>> with lw.testing.reproducible(1):
    ...     second = yes_no.randomize(["yes"] * 100)
    >>> first == second, first.standing
    (True, None)
    """
    source = randomness.seeded(seed) if isinstance(seed, int) else seed
    before, randomness._secure = randomness._secure, source
    try:
        yield
    finally:
        randomness._secure = before
