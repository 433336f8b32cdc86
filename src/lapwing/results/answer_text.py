"""How an answer is written for people: the one place where its numbers are rounded.

**Rounding.** A share is a percentage with two decimals, or four where it is below 0.01 %; only
what is 0 % or 100 % but for rounding looks like it. A number has six significant digits, and from
a million on no decimals; a time has whole seconds. An estimate and the ends of its interval are
rounded to the nearest in the same way, so a printed estimate lies in its printed interval.
A difference of shares is in percentage points, a shift in the unit of the values with its sign.
Predicted errors and thresholds have three significant digits, which is all that is known of them.

The terminal, ``summary()``, notebooks and the collector's pages take tables (:func:`tables_of`)
and facts (:func:`facts_of`) from here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lapwing.protocol.domains.ranges import OpenEnd
from lapwing.protocol.domains.text_values import Unit
from lapwing.protocol.domains.units import to_text
from lapwing.results.answer_documents import (
    LIST_LIMIT,
    Answer,
    AtomRow,
    BandDocument,
    BinEnds,
    DifferenceAnswer,
    HeavyHittersAnswer,
    LabelsAnswer,
    NumbersAnswer,
    QuantileRow,
    QuarterRow,
    QuestionRow,
    ResultAnswer,
    SeriesAnswer,
    ShareRow,
)
from lapwing.results.uncertainty import Target

METHOD = "method of the intervals"
"""The fact that a summary leaves out, because it is long."""

NONE = "-"
"""What is written where there is no interval."""

NOT_KNOWN = "not known"
"""The shift of a quantile that is outside the range in one of two: how far, nobody knows."""

MISSING = "(missing)"
"""The label of those whose value is missing."""

ATOM_LIMIT = 12
"""Atoms in a table, those of the largest shares; a document has all."""

ABOUT: dict[Target, str] = {
    "empirical": "the people who reported",
    "population": "the population they were drawn from",
}
"""The targets in words."""

_BEYOND: dict[OpenEnd, tuple[str, str, str]] = {
    "above": ("more than {}", "after {}", ">"),
    "at_least": ("{} or more", "{} or later", ">="),
    "at_most": ("{} or less", "{} or earlier", "<="),
    "below": ("less than {}", "before {}", "<"),
}
"""What lies beyond an edge: of numbers, of dates and times, and in a spreadsheet."""

OPEN_ENDS = tuple(_BEYOND)

Write = Callable[[float], str]


@dataclass(frozen=True)
class TextTable:
    """A table of texts; the first column is a name.

    Parameters
    ----------
    title : str
    headers : list of str
    rows : list of list of str
    """

    title: str
    headers: list[str]
    rows: list[list[str]]


def percent(share: float | None) -> str:
    """Return a share as a percentage.

    Examples
    --------
    >>> percent(0.25), percent(0.00001234), percent(0.9999999), percent(1.0), percent(None)
    ('25.00 %', '0.0012 %', '> 99.99 %', '100.00 %', '-')
    >>> percent(-0.00007), percent(1e-9), percent(-1e-9)
    ('-0.0070 %', '< 0.0001 %', '> -0.0001 %')
    """
    return NONE if share is None else _hundredths(share, "%")


def points(difference: float, *, signed: bool = True) -> str:
    """Return a difference of two shares in percentage points.

    Examples
    --------
    >>> points(0.0125), points(-0.3), points(0.0125, signed=False)
    ('+1.25 points', '-30.00 points', '1.25 points')
    """
    return ("+" if signed and difference > 0 else "") + _hundredths(difference, "points")


def _hundredths(share: float, unit: str) -> str:
    number = 100 * share
    if abs(number - 100) < 1e-10:  # one but for rounding
        return f"100.00 {unit}"
    if 99.99 < number < 100:
        return f"> 99.99 {unit}"
    if 0 < abs(number) < 0.0001:
        return f"< 0.0001 {unit}" if number > 0 else f"> -0.0001 {unit}"
    return f"{number:.4f} {unit}" if 0 < abs(number) < 0.01 else f"{number:.2f} {unit}"


def level_text(level: float) -> str:
    """Return the level of intervals: a percentage as it was asked, not rounded."""
    return f"{100 * level:.10g} %"


def count_text(number: int) -> str:
    """Return a count with a comma between its thousands."""
    return f"{number:,}"


def estimate_text(number: float) -> str:
    """Return a predicted error or a threshold with three significant digits."""
    return f"{number:.3g}"


def shift_text(shift: float, unit: Unit) -> str:
    """Return a difference of two numbers with its sign: of dates in days, of times as a length.

    Examples
    --------
    >>> shift_text(-90.0, "time-of-day"), shift_text(2.5, "number"), shift_text(1.0, "date")
    ('-0:01:30', '+2.5', '+1 days')
    """
    if unit in ("number", "date"):
        text = to_text(shift, unit="number")
        return f"{'+' if shift > 0 else ''}{text}{' days' if unit == 'date' else ''}"
    seconds = round(abs(shift))
    sign = "" if seconds == 0 else "-" if shift < 0 else "+"
    return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def label_text(label: Any) -> str:
    """Return a label, or what stands for missing values."""
    return MISSING if label is None else str(label)


def interval_text(
    row: Mapping[str, Any], write: Write, unit: Unit = "number", *, none: str = NONE
) -> str:
    """Return the interval of a row, its entries "low" and "high"; `none` where there is none.

    Examples
    --------
    >>> interval_text({"low": 0.25, "high": 0.5}, percent)
    '25.00 % to 50.00 %'
    >>> interval_text({"low": 25.0, "high": None, "high_at_least": 30.0}, number_writer("number"))
    '25 to 30 or more'
    """
    low, high = (number_text(row, write, unit, name=name) for name in ("low", "high"))
    if NONE in (low, high):  # a shift may have one end only
        end = low if high == NONE else high
        word: OpenEnd = "at_least" if high == NONE else "at_most"
        return none if end == NONE else beyond_text(end, "number", word)
    return low if low == high and row["low"] is None else f"{low} to {high}"


def number_text(
    row: Mapping[str, Any], write: Write, unit: Unit = "number", *, name: str = "value"
) -> str:
    """Return a number of a row, or by which end of the range it is outside.

    Examples
    --------
    >>> number_text({"value": None, "at_least": 30.0}, number_writer("number"))
    '30 or more'
    """
    prefix = "" if name == "value" else f"{name}_"
    for word in OPEN_ENDS:
        if f"{prefix}{word}" in row:
            return beyond_text(write(row[f"{prefix}{word}"]), unit, word)
    if name == "value" and "reason" in row:
        return str(row["reason"])
    return NONE if row[name] is None else write(row[name])


def beyond_text(edge: str, unit: Unit, word: OpenEnd) -> str:
    """Return what lies beyond an edge, with those who hold just it or without them.

    Examples
    --------
    >>> beyond_text("5", "number", "above"), beyond_text("2026-01-01", "date", "at_most")
    ('more than 5', '2026-01-01 or earlier')
    """
    return _BEYOND[word][unit != "number"].format(edge)


def bin_text(row: BinEnds | QuarterRow, write: Write, unit: Unit) -> str:
    """Return the ends of a bin; one of them is None where the bin is open.

    Examples
    --------
    >>> bin_text({"left": 4, "right": 5}, str, "number")
    '4 to 5'
    >>> bin_text({"left": 4, "right": None, "open": "above"}, str, "number")
    'more than 4'
    """
    left, right = row["left"], row["right"]
    if left is not None and right is not None:
        return f"{write(left)} to {write(right)}"
    edge = left if right is None else right
    assert edge is not None
    return beyond_text(write(edge), unit, row["open"])  # type: ignore[typeddict-item]


def limited_text(limits: Sequence[float], write: Write) -> str:
    """Return what a mean is the mean of, where values outside the range are moved to its ends."""
    return f"of values limited to {write(limits[0])} to {write(limits[1])}"


def with_interval(text: str, interval: str) -> str:
    """Return an estimate with its interval where there is one that says more.

    Examples
    --------
    >>> with_interval("40", "38 to 41"), with_interval("40", "-")
    ('40 (38 to 41)', '40')
    """
    return text if interval in (NONE, text) else f"{text} ({interval})"


def number_writer(unit: Unit) -> Write:
    """Return the function that writes numbers of a unit."""
    return lambda number: to_text(number, unit=unit)


def interval_name(band: BandDocument | None, level: float, *, kind: str | None = None) -> str:
    """Return what the intervals of a table are: its header.

    Examples
    --------
    >>> interval_name({"kind": "pointwise", "target": "empirical", "method": ""}, 0.95)
    '95 % interval (pointwise)'
    """
    kind = kind or (None if band is None else band["kind"])
    return f"{level_text(level)} interval" + ("" if kind is None else f" ({kind})")


CHANGES = {"jump": "change point", "odd week": "outlier"}
"""The kinds of changes in words."""


def band_text(
    band: BandDocument, level: float, *, guarantee: Mapping[str, Any] | None = None
) -> str:
    """Return what the intervals are, and about whom.

    Those of a posterior are credible intervals, all others confidence intervals. The guarantee
    says whether devices reported or a curator held the data.
    """
    sort = "credible" if "posterior" in band["method"] else "confidence"
    about = ABOUT[band["target"]]
    if band["target"] == "empirical" and (guarantee or {}).get("model") == "central":
        about = "the people in the data"
    return f"{band['kind']} {level_text(level)} {sort} intervals, about {about}"


def question_text(row: QuestionRow, unit: Unit, *, whole: bool = False) -> str:
    """Return what a share was asked of.

    Parameters
    ----------
    row : dict
    unit : {"number", "date", "datetime", "time-of-day"}
    whole : bool
        Whether the values are whole numbers: the first and the last one of a range are named.
    """
    write = number_writer(unit)
    if row["question"] == "share":
        if row["left"] is None and row["right"] is None:
            return label_text(row["label"])
        label = row["label"]
        value = write(label) if isinstance(label, int | float) else label_text(label)
        return f"{value}, in its bin {bin_text(row, write, unit)}"
    text = _whole_range(row) if whole else _range_text(row, unit)
    for cut in row["inside"]:
        text += f" ({cut['end']} is inside the bin {bin_text(cut, write, unit)})"
    return text


def _range_text(row: QuestionRow, unit: Unit) -> str:
    after, least, before = "above", "at least", "below"
    if unit != "number":
        after, least, before = "after", "from", "before"
    ends = ((after, "above"), (least, "at_least"), ("at most", "at_most"), (before, "below"))
    said = [f"{word} {row[key]}" for word, key in ends if row[key] is not None]  # type: ignore[literal-required]
    return ", ".join(said) or "all"


def _whole_range(row: QuestionRow) -> str:
    """Return a range of whole numbers by the first and the last one in it."""
    first = last = None
    if row["at_least"] is not None:
        first = math.ceil(float(row["at_least"]))
    elif row["above"] is not None:
        first = math.floor(float(row["above"])) + 1
    if row["at_most"] is not None:
        last = math.floor(float(row["at_most"]))
    elif row["below"] is not None:
        last = math.ceil(float(row["below"])) - 1
    if first is None:
        return "all" if last is None else f"at most {last}"
    if last is None:
        return f"at least {first}"
    if first > last:
        return f"{_range_text(row, 'number')}: no whole number"
    return str(first) if first == last else f"from {first} to {last}"


def provenance_text(provenance: Mapping[str, Any]) -> str:
    """Return how a result was made: the estimator, and its settings that matter to a reader."""
    words = [str(provenance.get("class", "unknown"))]
    if provenance.get("smoothed"):
        words.append("smoothed")
    if provenance.get("simplex") is False:
        words.append("unbiased")
    for key in ("roughness", "tolerance", "projection", "iterations"):
        if provenance.get(key) is not None:
            words.append(f"{key} {provenance[key]}")
    if provenance.get("likelihood", "full") != "full":
        words.append(f"{provenance['likelihood']} likelihood")
    if provenance.get("converged") is False:
        words.append("not converged")
    return ", ".join(words)


# Facts: lines of a name and a text.


def facts_of(answer: Answer) -> dict[str, str]:
    """Return everything that is no row of a table, as names and texts."""
    if answer["kind"] == "difference":
        return _difference_facts(answer)
    if answer["kind"] == "series":
        return _series_facts(answer)
    facts = {
        "people": count_text(answer["reports"]),
        **_guarantee_fact("privacy guarantee", answer),
    }
    if answer["provenance"]:
        facts["estimator"] = provenance_text(answer["provenance"])
    if answer["kind"] == "heavy-hitters":
        facts |= _heavy_hitter_facts(answer)
    else:
        if answer["kind"] == "numbers":
            facts |= _number_facts(answer)
        missing: Any = answer["missing"]
        if answer["kind"] == "labels":  # a label like the others, with an interval like theirs
            after = answer["shares"][LIST_LIMIT:]
            missing = next((row for row in after if row["label"] is None), None)
        if missing is not None:
            share = f"{percent(missing['share'])} of all people"
            facts["missing"] = with_interval(share, interval_text(missing, percent))
    band = answer["band"]
    if band is None:
        facts["intervals"] = "none: not computed for this estimator or this many bins"
        return facts
    facts["intervals"] = band_text(band, answer["level"], guarantee=answer["guarantee"])
    facts[METHOD] = band["method"]
    if answer["kind"] != "heavy-hitters" and answer["share_in_band"] is not None:
        labels = answer["kind"] == "labels"
        where = "for {} of the labels, if they were pointwise" if labels else "at {} of the bins"
        facts["estimate inside them"] = where.format(percent(answer["share_in_band"]))
    return facts


def _guarantee_fact(name: str, answer: ResultAnswer | DifferenceAnswer) -> dict[str, str]:
    text = answer["guarantee_text"]
    return {} if text is None else {name: text}


def _number_facts(answer: NumbersAnswer) -> dict[str, str]:
    facts = {}
    write = number_writer(answer["unit"])
    for name, row in outside_of(answer, write).items():
        facts[name] = with_interval(percent(row["share"]), interval_text(row, percent))
    mean, std, bounds = answer["mean"], answer["std"], answer["range_error_bounds"]

    def width(length: float) -> str:
        return shift_text(length, answer["unit"]).removeprefix("+")

    if mean is not None:
        name = "mean" if answer["quarters"] is None else "mean direction"
        facts[name] = with_interval(number_text(mean, write), interval_text(mean, write))
        facts[name] += _limited(answer, write)
    length = answer["resultant_length"]
    if length is not None:
        plain = number_writer("number")
        text = with_interval(number_text(length, plain), interval_text(length, plain))
        facts["mean resultant length R"] = text
    if std is not None and (answer["unit"] == "number" or length is not None):
        text = with_interval(number_text(std, width), interval_text(std, width))
        facts["standard deviation"] = text + _limited(answer, write)
    if bounds is not None:
        facts["error of range shares"] = (
            f"at most {_hundredths(bounds['worst'], 'percentage points')} for any range, "
            f"{_hundredths(bounds['average'], 'percentage points')} on average over ranges "
            f"(simultaneous {level_text(answer['level'])} bounds)"
        )
    return facts


def outside_of(answer: NumbersAnswer, write: Write) -> dict[str, ShareRow]:
    """Return the shares below and above the range by what they are; empty where none are counted.

    Parameters
    ----------
    answer : dict
    write : callable
        Writes numbers of its unit.
    """
    if answer["outside"] is None or answer["limited_to"] is None:
        return {}
    low, high = map(write, answer["limited_to"])
    # An atom at the upper end holds just that value, and so does a bin that is closed there.
    domain, unit = answer["domain"], answer["unit"]
    holds_high = domain.get("closed") == "right" or domain["high"] in domain["atoms"]
    before, after = ("below", "above") if unit == "number" else ("before", "after")
    above = f"{after} {high}" if holds_high else beyond_text(high, unit, "at_least")
    return {f"{before} {low}": answer["outside"]["below"], above: answer["outside"]["above"]}


def _limited(answer: NumbersAnswer, write: Write) -> str:
    limits = answer["limited_to"]
    return "" if limits is None else f", {limited_text(limits, write)}"


def _heavy_hitter_facts(answer: HeavyHittersAnswer) -> dict[str, str]:
    listed, searched = count_text(answer["listed"]), count_text(answer["searched"])
    facts = {
        "listed": f"{listed} of {searched} values searched",
        "listed from": f"an estimated share of {percent(answer['threshold'])}",
    }
    if answer["expected_false"] is not None:
        facts["listed by chance"] = f"{estimate_text(answer['expected_false'])} values, expected"
    facts["all other values"] = percent(answer["remainder"])
    return facts


def _difference_facts(answer: DifferenceAnswer) -> dict[str, str]:
    reports = count_text(answer["reports"]), count_text(answer["against_reports"])
    facts = {
        "people": " and ".join(reports),
        "in both": "nobody" if answer["people"] == "different" else "perhaps the same people",
        **_guarantee_fact("privacy guarantee of both", answer),
    }
    band = answer["band"]
    facts["intervals"] = "none: not computed"
    if band is not None:
        facts["intervals"] = band_text(band, answer["level"], guarantee=answer["guarantee"])
    if answer["caution"] is not None:
        facts["caution"] = answer["caution"]
    facts["the two differ"] = {
        None: "not known: one of them has no error distribution",
        True: "yes: the simultaneous band excludes zero at some point",
        False: "not shown: the simultaneous band contains zero at every point",
    }[answer["differ"]]
    return facts


def _series_facts(answer: SeriesAnswer) -> dict[str, str]:
    weeks = answer["weeks"]
    facts = {
        "weeks": f"{len(weeks)}, {weeks[0]['week']} to {weeks[-1]['week']}",
        "people": count_text(sum(week["people"] for week in weeks)),
        "decoded": "from all weeks" if answer["smoothed"] else "each from the weeks up to it",
        **{f"gap {week}": reason for week, reason in answer["gaps"].items()},
    }
    if answer["ordered"]:
        write = number_writer(answer["unit"])
        counted = [week for week in weeks if week["week"] not in answer["gaps"]]
        what, columns = "median", ("q50", "median_low", "median_high")
        if answer["circular"]:
            what, columns = "mean direction", ("mean", "mean_low", "mean_high")
        for end, week in (("first", counted[0]), ("last", counted[-1])):
            unit = answer["unit"]
            middle, low, high = (week_text(week[name], write, unit) for name in columns)
            interval = f"{low} to {high}" if low else NONE
            facts[f"{what} of the {end} week"] = with_interval(middle, interval)
        if answer["limited_to"] is not None:
            facts["means"] = limited_text(answer["limited_to"], write)
        facts["intervals"] = f"pointwise {level_text(answer['level'])}, about {ABOUT['empirical']}"
    elif any(week["interval"] for week in weeks):
        facts["intervals"] = "simultaneous over the labels of each week, in the CSV and JSON"
    for change in answer["changes"]:
        facts[f"{CHANGES[change['kind']]} {change['week']}"] = (
            f"since {change['since']}: {change['words']}"
        )
    if not answer["changes"]:
        none = "no change point and no outlier was found"
        facts["changes"] = none if answer["smoothed"] else "not searched for"
    return facts


# Tables.


def tables_of(answer: Answer, name: str) -> list[TextTable]:
    """Return the tables of an answer, the main one first.

    Parameters
    ----------
    answer : dict
    name : str
        Of the survey or the file; of a difference of both.
    """
    match answer["kind"]:
        case "difference":
            return [_difference_table(answer, name)]
        case "series":
            return [_series_table(answer, name)]
        case "numbers":
            tables = []
            if answer["quantiles"] or answer["quarters"] is None:
                tables.append(_quantile_table(answer, f"{name}: quantiles"))
            if answer["quarters"] is not None:
                tables.append(_quarter_table(answer, f"{name}: shares of the four quarters"))
            return [*tables, _atom_table(answer)] if answer["atoms"] else tables
        case _:
            return [_share_table(answer, name)]


def questions_table(answer: ResultAnswer, title: str) -> TextTable:
    """Return the table of the shares that were asked, with the share of the missing last."""
    rows = [
        [
            question_text(row, answer["unit"], whole=has_whole_numbers(answer)),
            percent(row["share"]),
            interval_text(row, percent),
        ]
        for row in answer["questions"]
    ]
    share, kind = "share", "pointwise"
    if answer["kind"] == "heavy-hitters":
        kind = "simultaneous"
    elif answer["missing"] is not None:
        share = "share of those present"
        missing = answer["missing"]
        ends = interval_text(missing, percent)
        rows.append([f"{MISSING}, of all people", percent(missing["share"]), ends])
    headers = ["question", share, interval_name(None, answer["level"], kind=kind)]
    return TextTable(title, headers, rows)


def has_whole_numbers(answer: ResultAnswer) -> bool:
    """Return whether the values are whole numbers."""
    return answer["domain"].get("class") == "integers"


def _quantile_table(answer: NumbersAnswer, title: str) -> TextTable:
    unit = answer["unit"]
    write = number_writer(unit)
    rows = [
        [
            estimate_probability(row["probability"]),
            number_text(row, write, unit),
            interval_text(row, write, unit),
        ]
        for row in answer["quantiles"]
    ]
    header = interval_name(answer["band"], answer["level"])
    if answer["start"] is not None:
        title += f", counted from {write(answer['start'])}"
    return TextTable(title, ["probability", "quantile", header], rows)


def _quarter_table(answer: NumbersAnswer, title: str) -> TextTable:
    write = number_writer(answer["unit"])
    rows = [
        [bin_text(row, write, answer["unit"]), percent(row["share"]), interval_text(row, percent)]
        for row in answer["quarters"] or []
    ]
    header = interval_name(None, answer["level"], kind="pointwise")
    return TextTable(title, ["quarter", "share", header], rows)


def estimate_probability(probability: float) -> str:
    """Return the probability of a quantile as it was asked, not rounded."""
    return f"{probability:.10g}"


def _share_table(answer: LabelsAnswer | HeavyHittersAnswer, name: str) -> TextTable:
    shown = answer["shares"][:LIST_LIMIT]
    rows = [
        [label_text(row["label"]), percent(row["share"]), interval_text(row, percent)]
        for row in shown
    ]
    size = answer["labels"] if answer["kind"] == "labels" else answer["listed"]
    title = f"{name}: {'shares' if answer['kind'] == 'labels' else 'heavy hitters'}"
    if len(rows) < size:
        title += f", the {len(rows)} largest of {count_text(size)}"
    share = "share of all people" if answer["domain"].get("missing") else "share"
    label = "label" if answer["kind"] == "labels" else "value"
    header = interval_name(answer["band"], answer["level"])
    return TextTable(title, [label, share, header], rows)


def _atom_table(answer: NumbersAnswer) -> TextTable:
    """Return the table of the atoms with the largest shares."""
    write = number_writer(answer["unit"])
    atoms = answer["atoms"] or []
    largest = sorted(atoms, key=lambda atom: -atom["share"])[:ATOM_LIMIT]
    rows = []
    for atom in sorted(largest, key=lambda atom: atom["left"]):
        place = atom_place(atom, write, answer["unit"])
        how = "declared" if atom["declared"] else "detected"
        rows.append([place, how, percent(atom["share"]), interval_text(atom, percent)])
    title = "point masses (atoms): values that many people hold exactly"
    if len(largest) < len(atoms):
        title += f", the {len(largest)} largest of {len(atoms)}"
    return TextTable(title, ["value", "", "share", interval_name(None, 0.95)], rows)


def atom_place(atom: AtomRow, write: Write, unit: Unit) -> str:
    """Return where an atom is; at an end of clipped values it counts what lies beyond."""
    left, right, open_end = atom["left"], atom["right"], atom.get("open")
    if open_end is not None:
        edge = left if open_end in ("above", "at_least") else right
        return beyond_text(write(edge), unit, open_end)
    return f"in {write(left)} to {write(right)}" if left < right else write(left)


def _difference_table(answer: DifferenceAnswer, title: str) -> TextTable:
    header = interval_name(answer["band"], answer["level"])
    if answer["shares"] is not None:
        rows = [
            [label_text(row["label"]), points(row["difference"]), interval_text(row, points)]
            for row in answer["shares"][:LIST_LIMIT]
        ]
        if len(rows) < (answer["labels"] or 0):
            title += f", the {len(rows)} largest of {count_text(answer['labels'] or 0)}"
        return TextTable(title, ["label", "difference", header], rows)

    def write(shift: float | None) -> str:
        return NOT_KNOWN if shift is None else shift_text(shift, answer["unit"])

    def interval(row: Any) -> str:
        return interval_text(row, write, none=NONE if answer["band"] is None else NOT_KNOWN)

    rows = [
        [estimate_probability(row["probability"]), write(row["shift"]), interval(row)]
        for row in answer["quantiles"] or []
    ]
    mean, limits = answer["mean"], answer["limited_to"]
    if mean is not None:
        of = "" if limits is None else f" {limited_text(limits, number_writer(answer['unit']))}"
        if answer["domain"].get("circular"):
            of = " direction, the shorter way round"
        reason = mean.get("reason")
        ends = NONE if reason else interval(mean)
        rows.append([f"mean{of}", reason or write(mean["shift"]), ends])
    return TextTable(title, ["quantile", "shift", header], rows)


def _series_table(answer: SeriesAnswer, title: str) -> TextTable:
    write = number_writer(answer["unit"])

    def cell(column: str, value: Any) -> str:
        if column in ("week", "change"):
            return CHANGES.get(value, str(value))
        if column == "people":
            return count_text(value)
        if value is None:
            return ""
        if answer["circular"] and not column.startswith("mean"):
            return number_writer("number")(value) if column == "R" else percent(value)
        return week_text(value, write, answer["unit"]) if answer["ordered"] else percent(value)

    weeks = answer["weeks"]
    unseen = {"interval"}
    if not answer["ordered"]:  # their intervals would not fit on a screen
        unseen |= {f"{name}_{end}" for name in weeks[0] for end in ("low", "high")}
    names = [name for name in weeks[0] if name not in unseen]
    return TextTable(title, names, [[cell(name, week[name]) for name in names] for week in weeks])


def week_text(cell: Any, write: Write, unit: Unit) -> str:
    """Return a cell of a table of weeks: a number, or by which end of the range it is outside."""
    if cell is None:
        return ""
    return number_text(cell, write, unit) if isinstance(cell, Mapping) else write(cell)


# Rows for a spreadsheet: numbers not rounded, dates and times as texts.


def csv_rows(answer: Answer) -> list[dict[str, Any]]:
    """Return the rows of the main table of an answer; None is an empty cell."""
    match answer["kind"]:
        case "numbers" if answer["quantiles"] or answer["quarters"] is None:
            kind = answer["band"] and answer["band"]["kind"]
            rows = [_csv_quantile(row, answer["unit"]) for row in answer["quantiles"]]
            return [{**row, "interval": kind} for row in rows]
        case "numbers":
            return [_csv_quarter(row) for row in answer["quarters"] or []]
        case "series":
            return [
                {name: _csv_cell(cell) for name, cell in week.items()} for week in answer["weeks"]
            ]
        case "difference" if answer["shares"] is None:
            kind = answer["band"] and answer["band"]["kind"]
            quantiles = [dict(row) for row in answer["quantiles"] or []]
            mean = [] if answer["mean"] is None else [{"probability": "mean", **answer["mean"]}]
            return [{**row, "interval": kind} for row in (*quantiles, *mean)]
        case _:
            shares = answer["shares"] or []
            return [{**row, "label": label_text(row["label"])} for row in shares]


def question_rows(answer: ResultAnswer) -> list[dict[str, Any]]:
    """Return the rows of the shares that were asked."""
    return [
        {"question": question_text(row, answer["unit"], whole=has_whole_numbers(answer))}
        | {name: row[name] for name in ("share", "low", "high", "interval")}
        for row in answer["questions"]
    ]


def _csv_quarter(row: QuarterRow) -> dict[str, Any]:
    ends = {end: row.get(f"{end}_text", row[end]) for end in ("left", "right")}
    shares = {"share": row["share"], "low": row["low"], "high": row["high"]}
    return {**ends, **shares, "interval": None if row["low"] is None else "pointwise"}


def _csv_quantile(row: QuantileRow, unit: Unit) -> dict[str, Any]:
    cells: dict[str, Any] = {"probability": row["probability"]}
    for name in ("value", "low", "high"):
        prefix = "" if name == "value" else f"{name}_"
        ends = {word: row.get(f"{prefix}{word}") for word in OPEN_ENDS}
        plain = row.get(f"{prefix}text", row[name])
        cells[name] = _csv_cell({"value": plain} | ends, unit)
    return cells


def _csv_cell(cell: Any, unit: Unit = "number") -> Any:
    """Return a cell of a spreadsheet: of what is outside the range, the end it is beyond."""
    if not isinstance(cell, Mapping):
        return cell
    for word, (_, _, sign) in _BEYOND.items():
        edge = cell.get(word)
        if edge is not None:
            return sign + (f"{edge:.15g}" if unit == "number" else to_text(edge, unit=unit))
    return cell["value"]


# Summaries: facts and the rows of the main table, one a line.


def summary_of(answer: Answer) -> dict[str, str]:
    """Return what a summary says: the facts, and the rows of the main table before the intervals.

    Parameters
    ----------
    answer : dict
    """
    facts = {name: text for name, text in facts_of(answer).items() if name != METHOD}
    rows: dict[str, str] = {}
    for name, text, interval in (row[:3] for row in tables_of(answer, "")[0].rows):
        rows[_row_name(answer, name)] = with_interval(text, interval)
    size = answer.get("labels", answer.get("listed"))
    if isinstance(size, int) and size > len(rows):
        rows["not listed"] = f"{count_text(size - len(rows))} labels"
    said, last = list(facts.items()), list(facts).index("intervals")
    return dict([*said[:last], *rows.items(), *said[last:]])


def _row_name(answer: Answer, name: str) -> str:
    quarters = answer["kind"] == "numbers" and answer["quarters"] and not answer["quantiles"]
    if quarters or answer["kind"] == "heavy-hitters" or answer.get("shares") is not None:
        return f"share of {name}"
    quantile = name
    if not name.startswith("mean"):
        quantile = "median" if name == "0.5" else f"{100 * float(name):.10g} % quantile"
    return f"shift of the {quantile}" if answer["kind"] == "difference" else quantile
