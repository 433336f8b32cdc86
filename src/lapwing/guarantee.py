"""What a randomizer or mechanism promises, and the exact arithmetic that proves it.

A :class:`Guarantee` never states an epsilon without its neighbour relation and model. A
:class:`Certificate` compares the exact worst likelihood ratio of an integer-threshold randomizer
with rational bounds of ``e^epsilon``: no floating-point number takes part.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from numbers import Rational, Real
from typing import Any, Literal

from lapwing.errors import FormatError, PrivacyError

MAXIMUM_EPSILON = 24
"""Above this, 64-bit thresholds cannot express ``e^epsilon`` well (the loss grows past 1e-6)."""

RANGE = f"epsilon must be a number in (0, {MAXIMUM_EPSILON}]"

LARGEST_DENOMINATOR = 10**30
"""More digits than this would only make exact arithmetic slow."""

_QUOTIENT = re.compile(r"[0-9]{1,32}/[1-9][0-9]{0,31}")

_LONGEST_TEXT = 80
"""Characters of an epsilon; the digits of a longer one are a denial of service."""

_STORED = re.compile(r"[0-9]{1,300}(/[1-9][0-9]{0,299})?")

Neighbours = Literal["replace-one", "add-or-remove-one"]
Model = Literal["local", "central", "shuffle"]


def exact_epsilon(epsilon: Any) -> Fraction:
    """Return epsilon as the exact fraction that was written: 0.1 and "0.1" are the same promise.

    Parameters
    ----------
    epsilon : int, float, str, Decimal or Fraction
        In [1e-12, 24], nats, with a denominator of at most 10^30. A float means its shortest
        decimal form, not its binary expansion; text is a decimal or a quotient such as "1/3".

    Raises
    ------
    PrivacyError
        When it is not a number, not finite, not in that range, or is a bool.

    Examples
    --------
    >>> exact_epsilon(0.1) == exact_epsilon("0.1") == Fraction(1, 10)
    True
    """
    if isinstance(epsilon, bool) or not isinstance(epsilon, str | Real | Decimal):
        raise PrivacyError(f"{RANGE}, got a {type(epsilon).__name__}; pass for example epsilon=1")
    exact = _exact(epsilon)
    if not 0 < exact <= MAXIMUM_EPSILON:
        raise PrivacyError(f"{RANGE}, got {_shown(exact)}")
    if exact < Fraction(1, 10**12):
        raise PrivacyError(f"{RANGE} and at least 1e-12, got {_shown(exact)}")
    if exact.denominator > LARGEST_DENOMINATOR:
        raise PrivacyError(f"{RANGE} with a denominator of at most 10^30, got more digits")
    return exact


def _exact(epsilon: Any) -> Fraction:
    if isinstance(epsilon, Rational):
        return Fraction(int(epsilon.numerator), int(epsilon.denominator))
    text = str(epsilon).strip()
    if len(text) > _LONGEST_TEXT:
        raise PrivacyError(f"{RANGE} of at most {_LONGEST_TEXT} characters, got {len(text)}")
    if _QUOTIENT.fullmatch(text):
        return Fraction(text)
    try:
        decimal = Decimal(text)
    except InvalidOperation:
        raise PrivacyError(f"{RANGE}, got {text[:40]!r}; pass for example epsilon=1") from None
    if not decimal.is_finite():
        raise PrivacyError(f"{RANGE}, got {text}; there is no privacy without a finite epsilon")
    # An exponent of a million digits would make the fraction itself a denial of service.
    if decimal != 0 and not -30 <= decimal.adjusted() <= 30:
        raise PrivacyError(f"{RANGE} and at least 1e-12, got {text[:40]}")
    return Fraction(decimal)


def _shown(exact: Fraction) -> str:
    if abs(exact) > 10**9:
        return "a number beyond 10^9"
    return str(exact) if exact.denominator == 1 else f"{float(exact):g}"


def exact_delta(delta: Any) -> Fraction:
    """Return delta as the exact fraction that was written: 1e-6 and "1e-6" are the same promise.

    Parameters
    ----------
    delta : int, float, str, Decimal or Fraction
        In [0, 1); 0, or at least 1e-30.

    Raises
    ------
    PrivacyError
        When it is not a number in that range.

    Examples
    --------
    >>> exact_delta(1e-6) == exact_delta("1e-6") == Fraction(1, 10**6)
    True
    """
    wanted = "delta must be a number in [0, 1), for example 1e-6"
    if isinstance(delta, bool) or not isinstance(delta, str | Real | Decimal):
        raise PrivacyError(f"{wanted}, got a {type(delta).__name__}")
    try:
        exact = _exact(delta)
    except PrivacyError:
        raise PrivacyError(f"{wanted}, with at most 30 digits") from None
    if not 0 <= exact < 1 or exact.denominator > LARGEST_DENOMINATOR:
        raise PrivacyError(f"{wanted}, with at most 30 digits, got {_shown(exact)}")
    return exact


def epsilon_text(epsilon: Fraction) -> str:
    """Return epsilon as the shortest text that :func:`exact_epsilon` reads back exactly.

    Examples
    --------
    >>> epsilon_text(Fraction(1, 10)), epsilon_text(Fraction(2)), epsilon_text(Fraction(1, 3))
    ('0.1', '2', '1/3')
    """
    denominator = epsilon.denominator
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    if denominator != 1:
        return str(epsilon)
    digits = 0
    while (epsilon * 10**digits).denominator != 1:
        digits += 1
    whole = str((epsilon * 10**digits).numerator).rjust(digits + 1, "0")
    return whole if digits == 0 else f"{whole[:-digits]}.{whole[-digits:]}"


@lru_cache(maxsize=256)
def exponential_bounds(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Return rational numbers ``low <= e^exponent <= high`` that differ by less than 2^-200 of it.

    The Taylor series of a non-negative number has positive terms, so a partial sum is a lower
    bound; once a term's ratio to its predecessor is below 1/2, the rest is less than that term.
    Both ends are rounded outwards to 256 binary digits so that they stay small.

    Parameters
    ----------
    exponent : Fraction
        In [0, 48].
    """
    if not 0 <= exponent <= 2 * MAXIMUM_EPSILON:
        raise PrivacyError(f"the exponent must be in [0, {2 * MAXIMUM_EPSILON}], got {exponent}")
    total = term = Fraction(1)
    index = 0
    while 2 * exponent > index + 1 or term * 2**210 > total:
        index += 1
        term = term * exponent / index
        total += term
    scale = 2**256
    low = Fraction(math.floor(total * scale), scale)
    high = Fraction(math.ceil((total + term) * scale), scale)
    return low, high


def square_root_below(number: Fraction) -> Fraction:
    """Return a rational number at most the square root, within 2^-128 of it."""
    scale = 2**128
    return Fraction(math.isqrt(math.floor(number * scale * scale)), scale)


def least_epsilon(ratio: Fraction) -> Fraction:
    """Return the smallest multiple of 10^-6 whose exponential is proved to be at least a ratio.

    What a mechanism promises whose worst ratio is known exactly and was not chosen.

    Parameters
    ----------
    ratio : Fraction
        In [1, e^48].

    Examples
    --------
    >>> float(least_epsilon(Fraction(3)))
    1.098613
    """
    million = 10**6
    logarithm = math.log(ratio.numerator) - math.log(ratio.denominator)
    steps = max(math.floor(logarithm * million) - 1, 0)
    while exponential_bounds(Fraction(steps, million))[0] < ratio:
        steps += 1
    return Fraction(steps, million)


@dataclass(frozen=True)
class Guarantee:
    """The promise that a randomizer or mechanism keeps.

    Parameters
    ----------
    epsilon : Fraction
        Greater than 0, nats.
    delta : Fraction
        In [0, 1); 0 is pure differential privacy.
    neighbours : {"replace-one", "add-or-remove-one"}
        What may differ between two inputs that must stay indistinguishable. In the local model
        it is always "replace-one": a report hides which value its sender holds.
    model : {"local", "central", "shuffle"}
        Who is trusted: nobody; a curator, with the raw values; or a shuffler, with who sent which
        report.

    Examples
    --------
    >>> print(Guarantee(Fraction(1), Fraction(0), "replace-one", "local"))
    epsilon = 1, pure, neighbours replace-one, local model
    """

    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours
    model: Model

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.epsilon <= 0:
            raise PrivacyError(f"epsilon must be greater than 0, got {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise PrivacyError(f"delta must be in [0, 1), got {self.delta}")
        if self.neighbours not in ("replace-one", "add-or-remove-one"):
            raise PrivacyError(
                "neighbours must be 'replace-one' or 'add-or-remove-one', "
                f"got {self.neighbours!r}; an epsilon means nothing without it"
            )
        if self.model not in ("local", "central", "shuffle"):
            raise PrivacyError(f"model must be 'local', 'central' or 'shuffle', got {self.model!r}")

    def __str__(self) -> str:
        """Return the promise in one line."""
        kind = "pure" if self.delta == 0 else f"delta = {float(self.delta):g}"
        return (
            f"epsilon = {float(self.epsilon):g}, {kind}, neighbours {self.neighbours}, "
            f"{self.model} model"
        )

    def to_document(self) -> dict[str, str]:
        """Return the JSON form; fractions are written exactly, as text."""
        return {
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "neighbours": self.neighbours,
            "model": self.model,
        }

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Guarantee:
        """Return the guarantee that :meth:`to_document` wrote.

        Raises
        ------
        FormatError
            When it is not a guarantee.
        """
        keys = {"epsilon", "delta", "neighbours", "model"}
        if not isinstance(document, dict) or set(document) != keys:
            raise FormatError("a guarantee must have exactly: epsilon, delta, neighbours, model")
        exact = {}
        for name in ("epsilon", "delta"):
            text = document[name]
            # Not every text that Fraction reads: the digits of "1e999999999" would fill memory.
            if not isinstance(text, str) or not _STORED.fullmatch(text):
                raise FormatError(f"the {name} of a guarantee must be a text such as '1/3'")
            exact[name] = Fraction(text)
        try:
            return cls(exact["epsilon"], exact["delta"], document["neighbours"], document["model"])
        except PrivacyError as error:
            raise FormatError(f"the guarantee cannot be used: {error}") from None


@dataclass(frozen=True)
class Certificate:
    """The exact worst-case likelihood ratio of a randomizer, against ``e^epsilon``.

    Parameters
    ----------
    epsilon : Fraction
        The epsilon that was promised.
    ratio : Fraction
        The largest ``P(report | value) / P(report | other value)`` over all reports and pairs of
        values, exactly, from the integer thresholds that the sampler uses.

    Privacy
    -------
    Every probability of an integer-threshold randomizer is a rational number, so `ratio` is
    exact. :attr:`holds` compares it with a rational lower bound of ``e^epsilon``. The contract
    tests recompute it from the dense table of probabilities on small domains, and feed it a
    threshold one above the largest legal one, which must not hold.
    """

    epsilon: Fraction
    ratio: Fraction

    @property
    def bound(self) -> Fraction:
        """A rational number at most ``e^epsilon``, within 2^-200 of it."""
        return exponential_bounds(self.epsilon)[0]

    @property
    def holds(self) -> bool:
        """Whether the worst ratio is proved to be at most ``e^epsilon``."""
        return self.ratio <= self.bound

    @property
    def loss(self) -> float:
        """How much of epsilon the rounding of thresholds leaves unused: ``epsilon - ln(ratio)``.

        Computed as ``-ln(1 - (bound - ratio) / bound)`` in exact differences, because the two
        logarithms agree to about 16 digits.
        """
        return -math.log1p(-float((self.bound - self.ratio) / self.bound))

    def check(self) -> Certificate:
        """Return self.

        Raises
        ------
        PrivacyError
            When the ratio is not proved to be at most ``e^epsilon``.
        """
        if not self.holds:
            raise PrivacyError(
                f"the worst likelihood ratio must be at most e^{epsilon_text(self.epsilon)}, got "
                f"about {float(self.ratio):.6g}; these thresholds must not be used"
            )
        return self
