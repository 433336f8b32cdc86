"""The unit of counts: people, or rows if there is a unit of privacy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lapwing.privacy.guarantee import Guarantee, PrivacyUnit
from lapwing.results.answer_documents import DifferenceAnswer
from lapwing.results.exact_values import EXACT, is_exact, parts_of
from lapwing.results.intervals import quantile_ends
from lapwing.results.rounding import count_text
from lapwing.results.uncertainty import Target

Promise = Guarantee | Mapping[str, Any] | None
"""A guarantee, or its document."""


def unit_of(guarantee: Promise) -> PrivacyUnit | None:
    """Return the unit of a guarantee. None where a row is what it protects."""
    if guarantee is None or isinstance(guarantee, Guarantee):
        return None if guarantee is None else guarantee.unit
    written = guarantee.get("unit")
    return None if written is None else PrivacyUnit.from_document(written)


def _times_counted(guarantee: Promise) -> int:
    """Return in how many releases a person may be: above 1 where those of the same were added."""
    written = guarantee.to_document() if isinstance(guarantee, Guarantee) else guarantee or {}
    return int(max(written.get("summed", (1,))))


def unit_document(guarantee: Promise) -> dict[str, Any] | None:
    """Return the unit of a guarantee as JSON values. None where a row is what it protects."""
    unit = unit_of(guarantee)
    return None if unit is None else unit.to_document()


def counted_word(guarantee: Promise, number: int = 0) -> str:
    """Return what is counted, in words: of one or of several.

    >>> counted_word(None), counted_word(None, 1)
    ('people', 'person')
    """
    if unit_of(guarantee) is None and _times_counted(guarantee) == 1:
        return "person" if number == 1 else "people"
    return "row" if number == 1 else "rows"


def whom(target: Target, guarantee: Promise = None, reports: int = 0) -> str:
    """Return whom intervals are about: every table, picture, page and file takes the words here.

    guarantee: With a unit of privacy, its rows are counted, and perhaps not all of them.
    reports: How many are counted. 0: not said.

    >>> whom("empirical"), whom("population")
    ('the people in the data', 'the population')
    """
    unit, about_all = unit_of(guarantee), target == "population"
    if unit is None and _times_counted(guarantee) == 1:
        return "the population" if about_all else "the people in the data"
    number = f"{count_text(reports)} " if reports else ""
    if unit is None:
        most, name = ", of releases of the same people", "person"
    else:
        rows = unit.most * _times_counted(guarantee)
        most, name = f", at most {rows} of each {unit.name}", unit.name
    return (
        f"{'the population' if about_all else f'the {number}counted rows{most}'}. They may be too "
        f"narrow or too wide{'' if about_all else ' for the population'}, because rows of one "
        f"{name} are alike"
    )


def guarantees_of(result: Any) -> list[Guarantee | None]:
    """Return the different guarantees of the sides of a difference, or of the weeks of a series."""
    # A mark takes no part in comparisons of guarantees, but a marked week is another.
    return list({str(each.guarantee): each.guarantee for each in parts_of(result)}.values())


def whom_of(result: Any, target: Target) -> str:
    """Return :func:`whom` of a result, or of both sides of a difference or all weeks of a series.

    Exact values have no intervals, and are not private.
    """
    if is_exact(result):
        return EXACT
    if parts_of(result) == (result,):
        return whom(target, result.guarantee, result.reports)
    texts = [whom(target, each) for each in guarantees_of(result)]
    return max(texts, key=len) if target == "population" else "; ".join(dict.fromkeys(texts))


ALL_NOISE = "too few values: the numbers are all noise"
"""What is said of a release whose noise is about as large as all that it counts."""

_WIDEST = 0.8
"""Mean width of the 95% intervals of shares from which they say nothing. At most 1."""


def all_noise(result: Any) -> bool:
    """Return whether the numbers of a curator's release are noise, by the width of their band."""
    if result.guarantee is None or result.guarantee.model != "central":
        return False
    band = result.confidence_band(0.95, target="empirical")
    return band is not None and float((band.high - band.low).mean()) >= _WIDEST


VAGUE = "The 95% interval of the median spans more than half of the range, or there is no interval"
"""What is said of a segment of numbers with too few people."""


def vague(result: Any) -> bool:
    """Return whether a release of numbers says hardly anything about the median.

    returns: True where the 95% interval of the median spans more than half of the range, or there
        is no band. Labels have no median, so False.
    """
    domain = result.domain
    if not domain.ordered:
        return False
    band = result.confidence_band(0.95, target="empirical")
    if band is None or domain.circular:
        return band is None
    median = float(result.cumulative.quantile(0.5))
    first, last = float(domain.left[0]), float(domain.right[-1])
    low, high = quantile_ends(band, 0.5, median, domain)
    return min(high, last) - max(low, first) > (last - first) / 2


def counted_in_two(answer: DifferenceAnswer) -> dict[str, str]:
    """Return the facts of how many are behind the two sides of a difference, and who they are."""
    units = [None if each is None else PrivacyUnit.from_document(each) for each in answer["units"]]
    words = ["people" if unit is None else "rows" for unit in units]
    numbers = [count_text(answer["reports"]), count_text(answer["against_reports"])]
    if words[0] == words[1]:
        facts = {words[0]: " and ".join(numbers)}
    else:
        facts = {"counted": f"{numbers[0]} {words[0]} and {numbers[1]} {words[1]}"}
    names = {None if unit is None else unit.name for unit in units}
    whose = "people" if len(names) > 1 or None in names else str(names.pop())
    both = "nobody" if answer["people"] == "different" else f"perhaps the same {whose}"
    return {**facts, "in both": both}
