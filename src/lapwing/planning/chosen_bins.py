"""The bins of an interval that has none yet: round widths that divide the range exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from lapwing.privacy.exact_numbers import ExactNumber, exact_epsilon
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.domains.text_values import DAY
from lapwing.protocol.domains.units import UNITS

FEW_BINS = 256

BINS_FOR_ATOMS = 1024
EPSILON_FOR_ATOMS = 2
"""From this epsilon on so many bins pay, where single values may be held by many people."""

ADVICE = "For whole numbers, declare whole=True (lapwing new --unit whole)."
"""What is said of bounds that are whole numbers."""

MOST_WHOLE = 10_000
"""Whole numbers up to which half of one is worth a sentence: means are then moved by less."""

_MANTISSAS = tuple(map(Fraction, ("1", "2", "2.5", "5")))

_MINUTE = 60

_HOUR = 60 * _MINUTE

_USUAL = (
    *(_MINUTE * n for n in (1, 2, 5, 10, 15, 20, 30)),
    *(_HOUR * n for n in (1, 2, 3, 4, 6, 12)),
)
"""Widths of times that people use, in seconds. Beside them whole days."""

_SECONDS = (1, 2, 5, 10, 15, 20, 30)
"""Widths of durations below a minute."""


def recommended_bins(epsilon: ExactNumber) -> int:
    """Return about how many bins to give an interval: 256, or 1024 from epsilon 2 on.

    Below epsilon 2, finer bins hold noise only. Above, they distinguish values that many people
    hold exactly, and cost nothing on other columns.

    epsilon: Privacy parameter of one report, in (0, 24], in nats.
    """
    return BINS_FOR_ATOMS if exact_epsilon(epsilon) >= EPSILON_FOR_ATOMS else FEW_BINS


def with_bins(domain: Domain, wanted: int) -> tuple[Domain, str]:
    """Return an interval cut into about the number of bins that is wanted, and a sentence about it.

    domain: A domain that has its bins is returned as it is, with an empty sentence.
    wanted: At least 1. With 0 the bins stay open.
    returns: The width is 1, 2, 2.5 or 5 times a power of ten. The width of dates is whole days. The
        width of times is whole minutes, hours or days: a usual one, such as 5 minutes, where one
        fits. The width divides the range exactly and gives wanted / 2 to 2 * wanted bins. Of all
        such widths the nearest in number of bins is chosen, and of two as near the finer. On a
        logarithmic scale each factor of ten has 1, 2 or 5 times a power of ten bins. So powers of
        ten times `low` are edges. Where no width fits, the interval has as many equal bins as are
        wanted. But it never has more than one for each day, or for each second of times. Whole
        numbers get bins of a whole width, and at most one for each number.

    The choice depends on the declared interval alone, never on anybody's value. Ends are taken as
    the decimals that they are printed as: 0.1 is one tenth.

    >>> with_bins(Interval(0, 500_000), 1024)[1]
    'The interval is cut into 1,000 bins of width 500.'
    >>> with_bins(Interval("00:00", "24:00", unit="time-of-day", circular=True), 256)[1]
    'The interval is cut into 288 bins of 5 minutes.'
    >>> with_bins(Interval(0, 1009), 256)[1]
    'No round width cuts the range into 128 to 512 bins, so it has 256 equal bins.'
    """
    if not isinstance(domain, Interval) or domain.bins is not None or wanted == 0:
        return domain, ""
    if domain.scale == "log":
        decades = _decades(domain)
        each = _nearest((n * decades for n in _bins_of_a_decade(decades, wanted)), wanted)
        if each is not None:
            rate = f"{each // decades:,} bins for each factor of ten"
            return replace(domain, bins=each), f"The interval is cut into {each:,} bins, {rate}."
        what = "No round number of bins per factor of ten cuts the range into"
    else:
        bins = _of_round_width(domain, wanted)
        if bins is not None:
            width = _width_text(_range(domain) / bins, domain.unit)
            return replace(domain, bins=bins), f"The interval is cut into {bins:,} bins of {width}."
        whole = {"date": "width of whole days", "number": "round width"}
        what = f"No {whole.get(domain.unit, 'width of whole minutes')} cuts the range into"
        free = domain.unit in ("number", "duration") and not domain.whole
        units = wanted if free else max(1, math.floor(_range(domain)))
        if units < wanted:
            name = {"date": "day", "number": "number"}.get(domain.unit, "second")
            return replace(domain, bins=units), f"The interval has one bin for each {name}."
    return (
        replace(domain, bins=wanted),
        f"{what} {-(-wanted // 2):,} to {2 * wanted:,} bins, so it has {wanted:,} equal bins.",
    )


def advice_on(domain: Domain) -> str:
    """Return what to declare of a domain whose bounds suggest whole numbers. Else an empty text.

    >>> advice_on(Interval(0, 600, bins=600))
    'For whole numbers, declare whole=True (lapwing new --unit whole).'
    >>> advice_on(Interval(0, 0.5, bins=100)), advice_on(Interval(0, 600, bins=600, whole=True))
    ('', '')
    """
    within = domain.domain if isinstance(domain, Segmented) else domain
    if not isinstance(within, Interval) or within.circular or within.whole:
        return ""
    if within.unit != "number" or within.scale != "linear":
        return ""
    ends = (within.low, within.high)
    few = within.high - within.low <= MOST_WHOLE and all(end.is_integer() for end in ends)
    return ADVICE if few else ""


def _range(domain: Interval) -> Fraction:
    """Return high - low of the decimals that the ends are written as."""
    low, high = (Fraction(Decimal(repr(end))) for end in (domain.low, domain.high))
    return high - low


def _of_round_width(domain: Interval, wanted: int) -> int | None:
    """Return the bins of the round width that is nearest to what is wanted. None without one."""
    span = _range(domain)
    if domain.unit == "number" or (domain.unit == "duration" and span < wanted):
        widths = _decimal_widths(span / wanted)
        if domain.whole:
            widths = (width for width in widths if width.denominator == 1)
        return _nearest((span / width for width in widths), wanted)
    if domain.unit == "date":
        return _nearest(_divisors(span, wanted), wanted)
    days = [n * DAY for n in range(1, math.ceil(2 * span / (DAY * wanted)) + 1)]
    short = _SECONDS if domain.unit == "duration" else ()
    found = _nearest((span / width for width in [*short, *_USUAL, *days]), wanted)
    return found or _nearest(_divisors(span / _MINUTE, wanted), wanted)


def _decimal_widths(about: Fraction) -> Iterable[Fraction]:
    """Yield 1, 2, 2.5 and 5 times powers of ten from a tenth to ten times a width."""
    order = math.floor(math.log10(about.numerator) - math.log10(about.denominator))
    for power in range(order - 1, order + 2):
        yield from (mantissa * Fraction(10) ** power for mantissa in _MANTISSAS)


def _divisors(span: Fraction, wanted: int) -> Iterable[Fraction]:
    """Yield the numbers of bins, of half to twice those wanted, that hold whole units each."""
    if span.denominator == 1:
        bins = range(-(-wanted // 2), min(2 * wanted, int(span)) + 1)
        yield from (Fraction(n) for n in bins if span % n == 0)


def _nearest(bins: Iterable[Fraction | int], wanted: int) -> int | None:
    """Return the whole number within a factor of two that is nearest in ratio. The finer of two."""
    whole = [int(n) for n in bins if n % 1 == 0 and wanted <= 2 * n and n <= 2 * wanted]
    return min(whole, key=lambda n: (Fraction(max(n, wanted), min(n, wanted)), -n), default=None)


def _decades(domain: Interval) -> int:
    """Return how many factors of ten an interval spans exactly. 0 when it is no whole number."""
    low, high = (Fraction(Decimal(repr(end))) for end in (domain.low, domain.high))
    decades = round(math.log10(domain.high) - math.log10(domain.low))
    return decades if low * Fraction(10) ** decades == high else 0


def _bins_of_a_decade(decades: int, wanted: int) -> Iterable[int]:
    if decades:
        for power in range(len(str(2 * wanted))):
            yield from (mantissa * 10**power for mantissa in (1, 2, 5))


def _width_text(width: Fraction, unit: str) -> str:
    """Return a width as people write it: 500, 0.25, 5 minutes, 1 day."""
    if unit not in UNITS[1:]:
        return f"width {float(width):,.12g}"
    seconds = width * (DAY if unit == "date" else 1)
    sizes = ((DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute"))
    size, name = next((pair for pair in sizes if seconds % pair[0] == 0), (1, "second"))
    return f"{float(seconds / size):,.12g} {name}{'s' if seconds != size else ''}"
