"""How numbers become text: the one module in which a number that a person reads is rounded.

**With an interval.** The last digit shown is worth between a hundredth and a tenth of the width of
the interval. The low end is rounded down and the high end up, so a printed interval holds all that
the interval holds. The estimate has the same digits, rounded to the nearest, so it lies in its
printed interval.

**Without one.** A share has two decimals of a percent, or four below 0.01%. A number has six
significant digits, and from a million on no decimals. A predicted error has three significant
digits, a parameter that somebody chose all of its own.

A time has whole seconds, or whole minutes where its interval is wide. So has a duration, and a
short one has parts of a second. A date is a whole day. A length of time is in days, hours, minutes
or seconds. From 10,000 on a number has a comma between its thousands. A count of people has it from
1,000 on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:  # without NumPy, so that help and ledgers are quick
    from lapwing.protocol.domains.ranges import OpenEnd
    from lapwing.protocol.domains.text_values import Unit

NONE = "-"
"""What is written where there is no number."""

Rounding = Literal["nearest", "down", "up"]

Ends = tuple[float | None, float | None]
"""The ends of an interval, by whose width a number is rounded. None where there is none."""

_ROUNDING = {"nearest": ROUND_HALF_EVEN, "down": ROUND_FLOOR, "up": ROUND_CEILING}

_LENGTHS = (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))

_BEYOND: dict[OpenEnd, tuple[str, str]] = {
    "above": ("more than {}", "after {}"),
    "at_least": ("{} or more", "{} or later"),
    "at_most": ("{} or less", "{} or earlier"),
    "below": ("less than {}", "before {}"),
}
"""What lies beyond an edge: of numbers, and of dates and times."""

OPEN_ENDS = tuple(_BEYOND)

AMOUNTS: tuple[Unit, ...] = ("number", "duration")
"""Units whose values are more or less, and not later or earlier."""

_WAYS: dict[Unit, tuple[str, str]] = {"duration": (" longer", " shorter")}


@dataclass(frozen=True)
class NumberWriter:
    """Writes numbers of one kind.

    kind: "share". "difference" or "gap" of shares, with its sign or without. "value". "length" or
        "shift" of values, without or with its direction.
    unit: Of the values.
    digits: Significant digits of a length of time without an interval.

    >>> percent(0.15, (0.1234567, 0.2345678)), percent.interval(0.1234567, 0.2345678)
    ('15%', '12% to 24%')
    """

    kind: Literal["share", "difference", "gap", "value", "length", "shift"]
    unit: Unit = "number"
    digits: int = 3

    def __call__(
        self, number: float | None, ends: Ends = (None, None), rounding: Rounding = "nearest"
    ) -> str:
        """Return a number as text.

        ends: Of its interval.
        """
        if number is None:
            return NONE
        if not math.isfinite(number):
            return "infinite" if number > 0 else "minus infinite"
        with localcontext() as context:
            context.prec = 80
            if self.kind in ("share", "difference", "gap"):
                return self._share(number, ends, rounding)
            if self.kind == "value":
                return self._value(number, ends, rounding)
            text, words = self._length(number, ends, rounding)
            return text + words

    def interval(self, low: float, high: float) -> str:
        """Return both ends of an interval, which may be wider by their rounding, never narrower."""
        ends = low, high
        if self.kind in ("length", "shift") and (self.kind == "length" or self.unit != "number"):
            with localcontext() as context:
                context.prec = 80
                (first, word), (last, other) = (
                    self._length(low, ends, "down"),
                    self._length(high, ends, "up"),
                )
            word = other if first == "0" else word
            if word.split()[1:] == other.split()[1:]:  # "3 to 15 minutes later"
                if word.endswith(("earlier", "shorter")):
                    return f"{last} to {first}{word}"
                return f"{first} to {last}{other}"
        return f"{self(low, ends, 'down')} to {self(high, ends, 'up')}"

    def _share(self, number: float, ends: Ends, rounding: Rounding) -> str:
        word = "%" if self.kind == "share" else " points"
        exact = 100 * _decimal(number)
        if abs(exact - 100) < Decimal("1e-10"):  # one but for rounding
            exact = Decimal(100)
        step = _step(*(None if end is None else 100 * end for end in ends))
        if step is None:
            step = Decimal("0.0001") if 0 < abs(exact) < Decimal("0.01") else Decimal("0.01")
        step = min(max(step, Decimal("0.0001")), Decimal(1))
        shown = _on_grid(exact, step, rounding)
        # Only what is 0% or 100% but for rounding looks like it.
        if rounding == "nearest" and shown == 0 != exact:
            return f"{'< ' if exact > 0 else '> -'}{_digits(step, step)}{word}"
        if rounding == "nearest" and shown == 100 != exact and exact < 100:
            return f"> {_digits(100 - step, step)}{word}"
        sign = "+" if self.kind == "difference" and shown > 0 else ""
        return f"{sign}{_digits(shown, step)}{word}"

    def _value(self, number: float, ends: Ends, rounding: Rounding) -> str:
        exact = _decimal(number)
        if self.unit == "number":
            return _number(exact, ends, rounding)
        from lapwing.protocol.domains.units import to_text

        if self.unit == "date":  # a whole day, which holds all of its moments
            return to_text(float(_on_grid(exact, Decimal(1), "down")), unit="date")
        width = _width(ends)
        coarse = width is not None and width >= 600
        if self.unit == "duration":
            fine = _step(*ends) or _significant(exact, 3)
            step = Decimal(60) if coarse else min(Decimal(1), fine)
            return to_text(float(_on_grid(exact, step, rounding)), unit="duration")
        step = Decimal(60 if coarse else 1)
        shown = _on_grid(exact, step, rounding)
        text = to_text(float(shown), unit=self.unit)
        whole = shown % 60 == 0 and (coarse or all(e is None or e % 60 == 0 for e in ends))
        return text[:-3] if whole and text.endswith(":00") else text

    def _length(self, number: float, ends: Ends, rounding: Rounding) -> tuple[str, str]:
        """Return a length as digits, and its unit with "later" or "earlier"."""
        exact = _decimal(number)
        if self.unit == "number":
            signed = self.kind == "shift"
            text = _number(exact, ends, rounding, exact_below=1_000 if signed else 10_000)
            return ("+" if signed and exact > 0 and text != "0" else "") + text, ""
        name, size = "day", 1
        if self.unit != "date":
            # An estimate has a unit of its own: 40 minutes, though its interval is in hours.
            known = (number,) if number and rounding == "nearest" else (*ends, number)
            largest = max(abs(each) for each in known if each is not None)
            fits = (pair for pair in _LENGTHS if largest >= 2 * pair[1])
            name, size = next(fits, _LENGTHS[-1])
        exact /= size
        step = _step(*(None if end is None else float(end) / size for end in ends))
        if step is None:
            step = _significant(exact, self.digits)
        step = min(step, Decimal(1))
        whole = (exact, *(_decimal(end) / size for end in ends if end is not None))
        if name == "second" or all(each % 1 == 0 for each in whole):
            step = Decimal(1)
        shown = _on_grid(exact, step, rounding)
        later, earlier = _WAYS.get(self.unit, (" later", " earlier"))
        way = "" if self.kind == "length" or not shown else later if shown > 0 else earlier
        digits = _digits(abs(shown), step)
        return digits, f" {name}{'' if digits == '1' else 's'}{way}"


percent = NumberWriter("share")
"""Writes a share as a percentage.

>>> percent(0.25), percent(0.00001234), percent(0.9999999), percent(1.0), percent(None)
('25.00%', '0.0012%', '> 99.99%', '100.00%', '-')
"""

points = NumberWriter("difference")
"""Writes a difference of two shares in percentage points, with its sign.

>>> points(0.0125), points(-0.3), points.interval(-0.0212, 0.0412)
('+1.25 points', '-30.00 points', '-2.2 points to +4.2 points')
"""


gap = NumberWriter("gap")
"""Writes the size of a difference of two shares: `gap(0.0125)` is `1.25 points`."""


def number_writer(unit: Unit) -> NumberWriter:
    """Return what writes values of a unit.

    >>> number_writer("number")(31250.5), number_writer("time-of-day").interval(34_201, 36_059)
    ('31,250.5', '09:30 to 10:01')
    """
    return NumberWriter("value", unit)


def shift_writer(unit: Unit) -> NumberWriter:
    """Return what writes differences of two values of a unit.

    >>> shift_writer("time-of-day")(-540.0), shift_writer("number")(2.5), shift_writer("date")(1)
    ('9 minutes earlier', '+2.5', '1 day later')
    >>> shift_writer("time-of-day").interval(170, 910), shift_writer("date").interval(-2, 3)
    ('2 to 16 minutes later', '2 days earlier to 3 days later')
    """
    return NumberWriter("shift", unit)


def length_writer(unit: Unit, *, digits: int = 3) -> NumberWriter:
    """Return what writes lengths in a unit: a standard deviation, an error.

    >>> length_writer("time-of-day")(352.0), length_writer("number")(1234.5)
    ('5.87 minutes', '1234.5')
    """
    return NumberWriter("length", unit, digits)


def number_text(
    row: Mapping[str, Any],
    write: NumberWriter,
    unit: Unit = "number",
    *,
    name: str = "value",
    none: str = NONE,
) -> str:
    """Return a number of a row, with the digits of its interval, or where it is outside the range.

    >>> number_text({"value": None, "at_least": 30.0}, number_writer("number"))
    '30 or more'
    >>> number_text({"share": 0.15, "low": 0.1234567, "high": 0.2345678}, percent, name="share")
    '15%'
    """
    prefix = f"{name}_" if name in ("low", "high") else ""
    rounding: Rounding = "down" if name == "low" else "up" if name == "high" else "nearest"
    for word in OPEN_ENDS if name in ("value", "low", "high") else ():
        if f"{prefix}{word}" in row:
            return beyond_text(write(row[f"{prefix}{word}"]), unit, word)
    if name not in ("low", "high") and row[name] is None and "reason" in row:
        return str(row["reason"])
    return none if row[name] is None else write(row[name], _ends_of(row), rounding)


def interval_text(
    row: Mapping[str, Any], write: NumberWriter, unit: Unit = "number", *, none: str = NONE
) -> str:
    """Return the interval of a row, its entries "low" and "high". `none` where there is none.

    >>> interval_text({"low": 0.25, "high": 0.5}, percent)
    '25% to 50%'
    >>> interval_text({"low": 25.0, "high": None, "high_at_least": 30.0}, number_writer("number"))
    '25 to 30 or more'
    """
    if row["low"] is not None and row["high"] is not None:
        return write.interval(row["low"], row["high"])
    low, high = (number_text(row, write, unit, name=name) for name in ("low", "high"))
    if NONE in (low, high):  # a shift may have one end only
        end = low if high == NONE else high
        word: OpenEnd = "at_least" if high == NONE else "at_most"
        return none if end == NONE else beyond_text(end, write.unit, word)
    return low if low == high and row["low"] is None else f"{low} to {high}"


def with_interval(text: str, interval: str) -> str:
    """Return an estimate with its interval where there is one that says more.

    >>> with_interval("40", "38 to 41"), with_interval("40", "-")
    ('40 (38 to 41)', '40')
    """
    return text if interval in (NONE, text) else f"{text} ({interval})"


def beyond_text(edge: str, unit: Unit, word: OpenEnd) -> str:
    """Return what lies beyond an edge, with those who hold just it or without them.

    >>> beyond_text("5", "number", "above"), beyond_text("2026-01-01", "date", "at_most")
    ('more than 5', '2026-01-01 or earlier')
    """
    return _BEYOND[word][unit not in AMOUNTS].format(edge)


def exact_text(number: float | Fraction | str) -> str:
    """Return a parameter as somebody chose it, without the zeros at its end.

    >>> exact_text(0.95), exact_text(Fraction(1, 10**6)), exact_text(2.0), exact_text(1 / 3)
    ('0.95', '1e-06', '2', '0.3333333333')
    """
    return f"{float(number):.10g}"


def argument_text(number: float) -> str:
    """Return a number as it can be typed again, with all its digits."""
    return f"{number:.17g}"


def level_text(level: float) -> str:
    """Return a probability as a percentage as it was asked: `0.95` is `95%`."""
    return f"{exact_text(100 * level)}%"


def count_text(number: int) -> str:
    """Return a count with a comma between its thousands."""
    return f"{number:,}"


def rounded(number: float, digits: int) -> float:
    """Return a number with so many significant digits, which is all that is known of it."""
    return float(_on_grid(_decimal(number), _significant(_decimal(number), digits), "nearest"))


def estimate_text(number: float, digits: int = 3) -> str:
    """Return a predicted error or a threshold with three significant digits, or with fewer.

    >>> estimate_text(0.012345), estimate_text(22026.4), estimate_text(1e-9), estimate_text(4e20)
    ('0.0123', '22,000', '1e-09', '4e+20')
    """
    if not math.isfinite(number):
        return "infinite"
    shown = rounded(number, digits)
    return f"{shown:,.0f}" if 10_000 <= abs(shown) < 1e15 else f"{shown:.{max(digits, 4)}g}"


def factor_text(number: float) -> str:
    """Return a bound on a factor, rounded up to three significant digits.

    >>> factor_text(2.71828), factor_text(22026.4), factor_text(1e300)
    ('2.72', '22,100', 'more than a million million')
    """
    if not math.isfinite(number) or number >= 1e12:
        return "more than a million million"
    exact = _decimal(number)
    step = _significant(exact, 3)
    return f"{_on_grid(exact, step, 'up'):,.{max(0, -step.adjusted())}f}"


def least_text(number: float) -> str:
    """Return a lower bound, rounded down to two significant digits.

    >>> least_text(0.0278), least_text(0.0)
    ('0.027', '0')
    """
    exact = _decimal(number)
    return f"{float(_on_grid(exact, _significant(exact, 2), 'down')):.4g}"


def axis_text(number: float, digits: int = 15) -> str:
    """Return a number at a tick of an axis, without the zeros at its end."""
    return f"{number:,.{digits}g}"


def coordinate_text(number: float) -> str:
    """Return a place in a picture in hundredths of its unit: read by programs, not by people."""
    return f"{number:.2f}"


def power_text(exponent: float) -> str:
    """Return ``e^exponent``, even where it is too large for a float.

    >>> power_text(1.0), power_text(20.0), power_text(1200.0)
    ('2.718', '4.852e+08', '1.4e+521')
    """
    if exponent < 700:
        number = math.exp(exponent)
        return f"{number:.4g}" if number < 1e6 else f"{number:.3e}"
    digits = exponent / math.log(10)
    return f"{10 ** (digits % 1):.1f}e+{int(digits)}"


def bound_text(number: Fraction, *, digits: int) -> str:
    """Return a fraction as a decimal, cut off, not rounded: a bound stays a bound.

    >>> bound_text(Fraction(2, 3), digits=5)
    '0.66666'
    """
    with localcontext() as context:
        context.prec = digits
        context.rounding = ROUND_FLOOR
        return str(Decimal(number.numerator) / Decimal(number.denominator))


def _ends_of(row: Mapping[str, Any]) -> Ends:
    """Return the ends of the interval of a row. Of an open one the edge that it is beyond."""
    ends: list[float | None] = []
    for name in ("low", "high"):
        edges = (row.get(f"{name}_{word}") for word in OPEN_ENDS)
        known = row.get(name)
        ends.append(next((e for e in edges if e is not None), None) if known is None else known)
    low, high = ends
    return low, high


def _decimal(number: float) -> Decimal:
    return Decimal(repr(float(number)))


def _width(ends: Ends) -> float | None:
    """Return the width of an interval. None where there is none, or it is a single number.

    That of an interval which goes round the end of a circle is not its own, but as good.
    """
    low, high = ends
    if low is None or high is None or low == high or not math.isfinite(high - low):
        return None
    return abs(high - low)


def _step(low: float | None, high: float | None) -> Decimal | None:
    """Return the power of ten that is a hundredth to a tenth of a width. None without one."""
    width = _width((low, high))
    return None if width is None else Decimal(1).scaleb(_decimal(width).adjusted() - 1)


def _significant(number: Decimal, digits: int) -> Decimal:
    """Return the value of the last of so many significant digits."""
    return Decimal(1).scaleb((number.adjusted() if number else 0) - digits + 1)


def _on_grid(number: Decimal, step: Decimal, rounding: Rounding) -> Decimal:
    shown = (number / step).to_integral_value(_ROUNDING[rounding]) * step
    return shown if shown else Decimal(0)  # never minus zero


def _number(exact: Decimal, ends: Ends, rounding: Rounding, *, exact_below: int = 10_000) -> str:
    """Return a number with commas, and rounded to more than a unit, from `exact_below` on."""
    step = _step(*ends)
    if step is None:
        step = Decimal(1) if abs(exact) >= 10**6 else _significant(exact, 6)
        shown = _on_grid(exact, step, rounding)
        places = -shown.normalize().as_tuple().exponent  # type: ignore[operator]
        return _digits(shown, Decimal(1).scaleb(-max(places, 0)), comma_from=exact_below)
    known = [exact, *(_decimal(end) for end in ends if end is not None)]
    if max(map(abs, known)) < exact_below:
        step = min(step, Decimal(1))
    if all(each % 1 == 0 for each in known):
        step = max(step, Decimal(1))
    largest = max(map(abs, known))
    return _digits(_on_grid(exact, step, rounding), step, largest=largest, comma_from=exact_below)


def _digits(
    number: Decimal, step: Decimal, *, largest: Decimal = Decimal(0), comma_from: int = 10_000
) -> str:
    """Return a number on a grid with the decimals of its step, with commas as its interval has."""
    places = max(0, -step.adjusted())
    if places > 9 or (number and number.adjusted() >= 15):
        return f"{number.normalize():e}"
    comma = "," if max(abs(number), largest) >= comma_from else ""
    return f"{number:{comma}.{places}f}"
