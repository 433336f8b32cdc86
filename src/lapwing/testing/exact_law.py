"""The exact law of a report, read off the code that makes it.

``from_words`` of a randomizer is run through all its branches. It is given words that are not
numbers: comparing one with a threshold T takes both ways, with probabilities T / 2^64 and the
rest, and remembers what it then is, so that it may be compared with several; a bounded draw takes
every result. Nothing else can be done with such a word, so a randomizer that used one in another
way fails here and is not proved by mistake.

A public coin is the high half of a word, compared with the limits of the groups.

A draw by multiply-high rejects some words and starts anew with the next; given that it ends, its
result is uniform. That premise is proved in the tests of
:mod:`lapwing.privacy.sampling.randomness` for `scalar_below`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import cast

from lapwing.privacy.sampling.randomness import WORD
from lapwing.protocol.randomizer import Randomizer
from lapwing.testing.claims import claim

RESULT_LIMIT = 2**12
"""Of one bounded draw that are still listed."""


class TooMany(AssertionError):
    """A law of more reports than can be listed."""

    def __init__(self) -> None:
        super().__init__("the law has more reports than can be listed; take a smaller domain")


class NotFollowed(AssertionError):
    """A word was used in a way that cannot be followed: the law may be right, and is not known."""


class _Path:
    """One way through the branches: a script of choices, followed by first options."""

    def __init__(self, script: list[int], shares: list[int]) -> None:
        self.script = script
        self.shares = shares
        self.taken: list[tuple[int, int]] = []
        self.probability = Fraction(1)

    def choose(self, probabilities: list[Fraction]) -> int:
        position = len(self.taken)
        option = self.script[position] if position < len(self.script) else 0
        self.taken.append((option, len(probabilities)))
        self.probability *= probabilities[option]
        return option

    def following(self) -> list[int] | None:
        """Return the script of the next way, in the order of an odometer."""
        options = [option for option, _ in self.taken]
        while options and options[-1] + 1 == self.taken[len(options) - 1][1]:
            options.pop()
        if not options:
            return None
        options[-1] += 1
        return options


class _Word:
    """All words of an interval at once; comparing it with a limit splits it."""

    def __init__(self, path: _Path) -> None:
        self.path = path
        self.low, self.high = 0, WORD
        self.used = False

    def _use(self) -> _Path:
        claim(not self.used and (self.low, self.high) == (0, WORD), "a word is used twice")
        self.used = True
        return self.path

    def __lt__(self, limit: int) -> bool:
        claim(not self.used, "what a draw or a coin has used must not be compared")
        if limit <= self.low or limit >= self.high:
            return limit >= self.high
        below = Fraction(limit - self.low, self.high - self.low)
        if self.path.choose([below, 1 - below]) == 0:
            self.high = limit
            return True
        self.low = limit
        return False

    def __mul__(self, bound: int) -> _Product:
        return _Product(self._use(), bound)

    def __rshift__(self, bits: int) -> int:
        """Return the smallest or the largest coin of a group; each with half of its share."""
        path = self._use()
        whole = bits == 32 and sum(path.shares) == 2**32
        claim(whole, "a public coin is the high half of a word, and its groups share 2^32")
        option = path.choose([Fraction(share, 2**33) for share in path.shares for _ in range(2)])
        group, largest = divmod(option, 2)
        return sum(path.shares[: group + largest]) - largest


class _Product:
    """A word times a bound: low half, to be rejected or not, and high half, uniform if not."""

    def __init__(self, path: _Path, bound: int) -> None:
        self.path = path
        self.bound = bound
        self.checked = False

    def __mod__(self, modulus: int) -> _Product:
        claim(modulus == WORD, "a product must be taken modulo 2^64")
        return self

    def __ge__(self, excess: int) -> bool:
        claim(excess == WORD % self.bound, "every result must be left with as many words")
        self.checked = True
        return True

    def __rshift__(self, bits: int) -> int:
        claim(bits == 64 and self.checked, "a draw must reject before it takes the high half")
        if self.bound > RESULT_LIMIT:
            raise TooMany
        return self.path.choose([Fraction(1, self.bound)] * self.bound)


def exact_law(
    randomizer: Randomizer, value: int, *, most: int | None = None
) -> dict[bytes, Fraction]:
    """Return the probability of every report of an input, exactly.

    TooMany when a draw has more results than can be listed, or there are more than `most` ways;
    NotFollowed when a word is used for more than comparisons and :func:`scalar_below`.
    """

    def words(path: _Path) -> Iterator[_Word]:
        while True:
            yield _Word(path)

    shares = [part.share for part in getattr(randomizer, "groups", ())]
    law: dict[bytes, Fraction] = {}
    script: list[int] | None = []
    ways = 0
    while script is not None:
        ways += 1
        if most is not None and ways > most:
            raise TooMany
        path = _Path(script, shares)
        try:
            report = randomizer.from_words(value, cast(Iterator[int], words(path)))
        except TypeError as error:
            raise NotFollowed(
                "from_words may compare a word with a threshold, or give words to scalar_below; "
                f"here it did something else with one: {error}"
            ) from error
        law[report] = law.get(report, Fraction(0)) + path.probability
        script = path.following()
    claim(sum(law.values()) == 1, "the chances of all reports must sum to 1")
    return law


def exact_ratio(laws: list[dict[bytes, Fraction]]) -> Fraction:
    """Return the largest ratio of two values' probabilities of one report."""
    reports = {report for law in laws for report in law}
    chances = [[law.get(report, Fraction(0)) for law in laws] for report in reports]
    claim(all(min(row) > 0 for row in chances), "some report gives a value away")
    return max(max(row) / min(row) for row in chances)
