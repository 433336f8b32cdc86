"""Identity of a release: a random identifier, and its noisy numbers."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.documents import fingerprint
from lapwing.errors import MismatchError
from lapwing.linear.memoized import cached_property
from lapwing.privacy.integer_noise import Noise
from lapwing.protocol.messages.tally import Summed

IDENTIFIER = re.compile(r"[0-9a-f]{32}")
"""Identifier of a payment and its draw of noise."""


def stated_identifier(content: Any) -> str:
    """Return the identifier of noisy counts that another library made.

    Equal counts have equal identifiers. The second half is computed from the first, which shows
    that another library made the counts. A random identifier has such halves with probability
    2^-64.
    """
    head = fingerprint(content)[:16]
    return head + _stated_half(head)


def is_stated(identifier: str) -> bool:
    """Return whether an identifier is that of noisy counts that another library made."""
    return identifier[16:] == _stated_half(identifier[:16])


def _stated_half(head: str) -> str:
    return sha256(f"stated {head}".encode()).hexdigest()[:16]


CHANCE = 1e-9
"""Probability of equal numbers from which two releases may agree by chance."""


class SummedRelease(Summed):
    """Base class of releases whose sums identify each release by its numbers.

    A copy under another identifier has the same numbers, so it is not added again. Two releases of
    few numbers may agree by chance, so their digests include the identifier. The release stores
    this digest, so a copy in which only the identifier was edited does not load.
    """

    digests: Sequence[str]

    @abstractmethod
    def _drawn(self) -> Iterable[tuple[Noise, NDArray[np.int64]]]:
        """Return the numbers, and the noise in each."""

    @property
    def _few_numbers(self) -> bool:
        """Whether two releases have such numbers by chance."""
        chances = (held.size * math.log(noise.largest_probability) for noise, held in self._drawn())
        return sum(chances) > math.log(CHANCE)

    def _digest(self, identifier: str = "") -> str:
        """Return 32 hex digits of the numbers, and of the identifier where it is given."""
        numbers = (held.astype("<i8").tobytes() for _, held in self._drawn())
        return sha256(b"".join([identifier.encode(), *numbers])).hexdigest()[:32]

    @cached_property
    def known_digests(self) -> tuple[str, ...]:
        """Digests of the releases that it contains."""
        return (*self.digests,) or ((self._digest(),) if [*self._drawn()] else ())


def digests_of_sum(one: SummedRelease, other: SummedRelease) -> tuple[str, ...]:
    """Return the digests of a sum. MismatchError when both hold the same numbers."""
    ours, theirs = one.known_digests, other.known_digests
    if {*ours} & {*theirs}:
        raise MismatchError(
            "both have the same numbers under two identifiers, so they are copies of one "
            "release. Its people would count twice. Add it once"
        )
    return (*ours, *theirs)


def check_digests(release: SummedRelease, identifiers: Sequence[str]) -> None:
    """Raise MismatchError unless the digests are of the releases with these identifiers."""
    digests = release.digests if isinstance(release.digests, list | tuple) else [None]
    texts = all(isinstance(each, str) and IDENTIFIER.fullmatch(each) for each in digests)
    if not texts or len(set(digests)) < len(digests) or len(digests) > len(identifiers):
        raise MismatchError(
            "the digests must be 32 lowercase hex digits each, at most one for each release "
            "of a sum, all different"
        )
    if len(identifiers) == 1:
        sealed = release._digest(identifiers[0])
        if digests and (release._few_numbers, *digests) != (True, sealed):
            raise MismatchError(
                "the digest does not match the identifier and the numbers, so one of the "
                "three was edited. Use the file as it was released"
            )
        digests = (sealed,) if release._few_numbers else ()
    object.__setattr__(release, "digests", tuple(digests))
