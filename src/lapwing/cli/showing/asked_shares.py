"""The shares that somebody asks for, as rows with the ends of their intervals."""

from __future__ import annotations

import math
from typing import Any

from lapwing.cli.reading.stored_answers import require_no_segments
from lapwing.cli.wording import number_text
from lapwing.documents import nearest
from lapwing.errors import ArgumentError, DomainError
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.units import to_number
from lapwing.results.distribution import Distribution
from lapwing.results.heavy_hitters import HeavyHitters

Row = dict[str, Any]
"""What was asked, its share, and the ends of its interval, None without one."""


def row_of_range(
    result: Distribution, low: str | None, high: str, *, flag: str, level: float
) -> Row:
    """Return the share above one end, or all below, and at most the other, as they were typed.

    Raises
    ------
    ArgumentError, DomainError
        When an end is none of the domain's unit, or the range goes backwards.
    """
    require_no_segments(result, flag=flag)
    domain = result.domain
    if not domain.ordered:
        raise ArgumentError("--at-most and --between are for numbers; of labels ask --share")
    ends = [-math.inf if low is None else _end(low, domain, flag), _end(high, domain, flag)]
    if low is not None and _number(low, domain, flag) > _number(high, domain, flag):
        round_the_end = ""
        if domain.circular:
            first, last = (number_text(end, domain) for end in (domain.left[0], domain.right[-1]))
            round_the_end = (
                "; what goes round the end of the circle is the sum of two: --between "
                f"{low} {last} and --between {first} {high}"
            )
        raise ArgumentError(f"--between needs the lower end first{round_the_end}")
    asked = f"at most {high}" if low is None else f"above {low}, at most {high}"
    around = result.probability_interval(*ends, level=level)
    return _row(asked, result.probability(*ends), around)


def row_of_share(result: Distribution, text: str, *, level: float) -> Row:
    """Return the share of a label or a value, of those present; errors as it cannot be asked."""
    label, asked = _label(text, result.domain), text
    share = result.share(label, among="present")
    place = _bin_of(result, label)
    if place is not None:
        asked = f"{text}, in its bin {place}"
    return _row(asked, share, result.share_interval(label, level=level, among="present"))


def row_of_missing(result: Distribution, *, level: float) -> Row | None:
    """Return the share of all people whose value is missing; None where these do not count."""
    if result.domain.missing_index is None:
        return None
    ends = result.share_interval(None, level=level)
    return _row("(missing), of all people", result.missing_share, ends)


def row_of_listed(found: HeavyHitters, text: str, *, level: float) -> Row:
    """Return the share of a listed value; ArgumentError when it is not listed."""
    band = found.confidence_band(level)
    places = {str(value): place for place, value in enumerate(found.values) if value is not None}
    if text not in places:
        raise ArgumentError(
            f"{text!r} is not listed{nearest(text, places)}; values are listed from a share of "
            f"{100 * found.threshold:.3g} % on, and of others nothing is said"
        )
    place = places[text]
    ends = float(band.low[place]), float(band.high[place])
    return _row(text, float(found.shares[place]), ends)


def _row(asked: str, share: float, ends: tuple[float, float] | None) -> Row:
    low, high = (None, None) if ends is None else ends
    return {"asked": asked, "share": share, "low": low, "high": high}


def _end(text: str, domain: Domain, flag: str) -> Any:
    """Return the end of a range; a date as its text, because it is a whole day."""
    number = _number(text, domain, flag)
    return text if domain.unit == "date" else number


def _number(text: str, domain: Domain, flag: str) -> float:
    """Return a number, date or time as it was typed."""
    try:
        number = float(text) if domain.unit == "number" else None
    except ValueError:
        raise ArgumentError(f"{flag} must be a number, got {text!r}") from None
    if number is None:
        return to_number(text, unit=domain.unit, name=flag)
    if math.isnan(number):
        raise ArgumentError(f"{flag} must be a number, got {text!r}")
    return number


def _label(text: str, domain: Any) -> Any:
    """Return the label, or the value, of a text."""
    if domain.name == "hashed-strings":
        return text
    if domain.name == "integers":
        whole = text.removeprefix("-").isdecimal() and len(text) < 20
        if not whole or not domain.low <= int(text) <= domain.high:
            raise ArgumentError(f"--share must be in {domain.low} to {domain.high}, got {text!r}")
        return int(text)
    if domain.ordered:
        return _number(text, domain, "--share")
    labels = {str(label): label for label in domain.listed}
    if text in labels:
        return labels[text]
    other = getattr(domain, "other", None)
    if other is not None:
        raise DomainError(f"there is no label {text!r} of its own; it is counted in {other!r}")
    raise ArgumentError(f"there is no label {text!r}{nearest(text, labels)}")


def _bin_of(result: Distribution, value: Any) -> str | None:
    """Return the bin that holds a value, in words; None for labels and single values."""
    domain = result.domain
    if not domain.ordered:
        return None
    symbol = int(domain.index([value])[0])
    left, right = float(domain.left[symbol]), float(domain.right[symbol])
    if left == right:
        return None
    return f"{number_text(left, domain)} to {number_text(right, domain)}"
