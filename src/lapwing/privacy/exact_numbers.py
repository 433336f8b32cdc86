"""Epsilon and delta as the exact fractions that were written, and bounds of ``e^epsilon``."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from functools import partial
from numbers import Rational, Real
from typing import Annotated, Any

from lapwing.declared import From, Read, checked, requirement
from lapwing.errors import ArgumentError, LapwingError, PrivacyError, kind_of
from lapwing.linear.memoized import memoized

ExactNumber = int | float | str | Decimal | Fraction
"""What an epsilon may be written as. A float means its shortest decimal form, not its bits."""

MAXIMUM_EPSILON = 24
"""Above this, 64-bit thresholds cannot express ``e^epsilon`` well (the loss grows past 1e-6)."""

_WORDS = f"greater than 0 and at most {MAXIMUM_EPSILON}"

_RANGE = f"must be {_WORDS}"

LARGEST_GUARANTEE = 10**9
"""Far beyond any epsilon that protects, but many surveys of one person may add up to much."""

LARGEST_DENOMINATOR = 10**30
"""More digits than this would only make exact arithmetic slow."""

_QUOTIENT = re.compile(r"[0-9]{1,32}/[1-9][0-9]{0,31}")

# Not all that Decimal reads: no underscores, and no digits of other scripts.
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,9})?")

_LONGEST_TEXT = 80
"""Characters of an epsilon. The digits of a longer one are a denial of service."""


def exact_epsilon(epsilon: Any, *, name: str = "epsilon") -> Fraction:
    """Return epsilon as the exact fraction that was written. 0.1 and "0.1" are the same.

    epsilon: In [1e-12, 24], nats, with a denominator of at most 10^30. A float means its shortest
        decimal form, not its binary expansion. A string is a decimal or a quotient such as "1/3".
    name: Of the number, for the message.
    returns: Epsilon in nats.

    Raises PrivacyError when it is not a number, not finite, not in that range, or is a bool.

    >>> exact_epsilon(0.1) == exact_epsilon("0.1") == Fraction(1, 10)
    True
    """
    if isinstance(epsilon, bool) or not isinstance(epsilon, str | Real | Decimal):
        raise PrivacyError(
            name, _RANGE, kind_of(epsilon), f"Pass for example {name}=1", others=(name,)
        )
    exact = _exact(epsilon, name)
    if not 0 < exact <= MAXIMUM_EPSILON:
        raise PrivacyError(name, _RANGE, shown_number(exact))
    if exact < Fraction(1, 10**12):
        raise PrivacyError(name, f"{_RANGE}, and at least 1e-12", shown_number(exact))
    if exact.denominator > LARGEST_DENOMINATOR:
        raise PrivacyError(name, f"{_RANGE}, with a denominator of at most 10^30", "more digits")
    return exact


def epsilon_field(name: str) -> Read:
    """Return what reads a field that holds an epsilon."""
    return Read(partial(exact_epsilon, name=name), f"a number {_WORDS}")


Epsilon = Annotated[Fraction, epsilon_field("epsilon")]


def _exact(number: Any, name: str = "epsilon", wanted: str = _RANGE) -> Fraction:
    if isinstance(number, Rational):
        return Fraction(int(number.numerator), int(number.denominator))
    text = str(number).strip()
    if len(text) > _LONGEST_TEXT:
        raise PrivacyError(name, f"{wanted}, in at most {_LONGEST_TEXT} characters", str(len(text)))
    if _QUOTIENT.fullmatch(text):
        return Fraction(text)
    if text.lower().lstrip("+-") in ("inf", "infinity", "nan"):
        why = ". There is no privacy without a finite epsilon" if wanted == _RANGE else ""
        raise PrivacyError(name, wanted, text + why)
    if not _DECIMAL.fullmatch(text):
        raise PrivacyError(
            name, wanted, repr(text[:40]), f"Pass for example {name}=1", others=(name,)
        )
    decimal = Decimal(text)
    # An exponent of a million digits would make the fraction itself a denial of service.
    if decimal != 0 and not -30 <= decimal.adjusted() <= 30:
        raise PrivacyError(name, f"{wanted} and at least 1e-12", text[:40])
    return Fraction(decimal)


def exact_number(number: Any, *, name: str) -> Fraction:
    """Return a number of a guarantee or a loss as the exact fraction that was written.

    Unlike :func:`exact_epsilon` it has no range, because sums of many epsilons are numbers as well.

    number: A float means its shortest decimal form, not its binary expansion.
    name: Name of the number, for the message.

    Raises PrivacyError when it is not a number, not finite, or is a bool.

    >>> exact_number(0.1, name="epsilon"), exact_number("1/3", name="epsilon")
    (Fraction(1, 10), Fraction(1, 3))
    """
    wanted = "must be a finite number: int, string, Decimal, Fraction or float"
    if isinstance(number, bool) or not isinstance(number, str | Real | Decimal):
        raise PrivacyError(name, wanted, kind_of(number))
    return _exact(number, name, wanted)


def shown_number(exact: Fraction) -> str:
    """Return an exact number in readable form. A huge one is shown by its size."""
    if abs(exact) > 10**9:
        return "a number beyond 10^9"
    return str(exact) if exact.denominator == 1 else f"{float(exact):g}"


def check_whole(
    name: str,
    value: Any,
    *,
    low: int,
    high: int | None = None,
    error: type[LapwingError] = ArgumentError,
) -> int:
    """Return a whole number as an int: also NumPy's, but no bool and no float.

    name: Name of the number, for the message.
    value: Number to be checked.
    low, high: Least and largest legal number. None: no largest one.
    error: Class of the error.

    >>> check_whole("users", 1000, low=1)
    1000
    >>> check_whole("bins", 0, low=1, high=4)
    Traceback (most recent call last):
    lapwing.errors.ArgumentError: bins must be a whole number from 1 to 4, got 0
    """
    hint = Annotated[int, From(low, math.inf if high is None else high)]
    whole: int = checked(value, hint, name=name, error=error)
    return whole


def check_whole_field(made: Any, name: str, **limits: Any) -> None:
    """Make a field of a frozen dataclass an int. For limits see :func:`check_whole`."""
    object.__setattr__(made, name, check_whole(name, getattr(made, name), **limits))


def exact_delta(delta: Any) -> Fraction:
    """Return delta as the exact fraction that was written. 1e-6 and "1e-6" are the same.

    delta: Zero, or in [1e-30, 1).

    Raises PrivacyError when it is not a number in that range.

    >>> exact_delta(1e-6) == exact_delta("1e-6") == Fraction(1, 10**6)
    True
    """
    wanted = f"must be {requirement(Delta)}, for example 1e-6"
    if isinstance(delta, bool) or not isinstance(delta, str | Real | Decimal):
        raise PrivacyError("delta", wanted, kind_of(delta))
    try:
        exact = _exact(delta)
    except PrivacyError:
        raise PrivacyError("delta", f"{wanted}, with at most 30 digits") from None
    if not 0 <= exact < 1 or exact.denominator > LARGEST_DENOMINATOR:
        raise PrivacyError("delta", f"{wanted}, with at most 30 digits", shown_number(exact))
    return exact


Delta = Annotated[Fraction, Read(exact_delta, "a number in [0, 1)")]


def epsilon_text(epsilon: Fraction) -> str:
    """Return epsilon as the shortest text that :func:`exact_epsilon` reads back exactly.

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


@memoized(most=256)
def exponential_bounds(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Return rational numbers ``low <= e^exponent <= high`` that differ by less than 2^-200 of it.

    The Taylor series of a non-negative number has positive terms, so a partial sum is a lower
    bound. Once a term's ratio to its predecessor is below 1/2, the rest is less than that term.
    Both ends are rounded outwards to 256 binary digits so that they stay small.

    exponent: In [0, 48].
    """
    if not 0 <= exponent <= 2 * MAXIMUM_EPSILON:
        raise PrivacyError("exponent", f"must be in [0, {2 * MAXIMUM_EPSILON}]", str(exponent))
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

    It is the epsilon of a mechanism whose worst ratio is known exactly and was not chosen.

    ratio: In [1, e^48].

    >>> float(least_epsilon(Fraction(3)))
    1.098613
    """
    million = 10**6
    logarithm = math.log(ratio.numerator) - math.log(ratio.denominator)
    steps = max(math.floor(logarithm * million) - 1, 0)
    while exponential_bounds(Fraction(steps, million))[0] < ratio:
        steps += 1
    return Fraction(steps, million)
