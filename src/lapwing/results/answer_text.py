"""How an answer is written for people: its tables, and its facts.

Its numbers become text in :mod:`lapwing.results.rounding`.

The terminal, ``summary()``, notebooks and the collector's pages take tables (:func:`tables_of`)
and facts (:func:`facts_of`) from here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lapwing.privacy.guarantee import standing_text
from lapwing.protocol.domains.ranges import OpenEnd
from lapwing.protocol.domains.text_values import Unit
from lapwing.protocol.domains.units import to_text
from lapwing.questions import MISSING
from lapwing.results.answer_documents import (
    LIST_LIMIT,
    Answer,
    AnswerDocument,
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
    ShiftRow,
)
from lapwing.results.counted import ALL_NOISE, counted_in_two, counted_word
from lapwing.results.exact_values import EXACT, NO_ERROR
from lapwing.results.question_answers import asks_curve
from lapwing.results.readable import about_column, rows_of
from lapwing.results.rounding import (
    AMOUNTS,
    NONE,
    OPEN_ENDS,
    NumberWriter,
    argument_text,
    beyond_text,
    count_text,
    estimate_text,
    exact_text,
    interval_text,
    length_writer,
    level_text,
    number_text,
    number_writer,
    percent,
    points,
    shift_writer,
    with_interval,
)
from lapwing.results.symbols import MISSING_UNSEEN, missing_unseen
from lapwing.results.unanswered import reason_of
from lapwing.results.uncertainty import Target

METHOD = "method of the intervals"
"""The fact about where the intervals come from."""

NOT_KNOWN = "not known"
"""The shift of a quantile that is outside the range in one of two: how far, nobody knows."""

ATOM_LIMIT = 12
"""Atoms in a table, those of the largest shares. A document has all."""


@dataclass(frozen=True)
class TextTable:
    """A table of strings. The first column is a name."""

    title: str
    headers: list[str]
    rows: list[list[str]]


def label_text(label: Any) -> str:
    """Return a label, or what stands for missing values."""
    return MISSING if label is None else str(label)


def bin_text(row: BinEnds | QuarterRow, write: NumberWriter, unit: Unit) -> str:
    """Return the ends of a bin. One of them is None where the bin is open.

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


def limited_text(limits: Sequence[float], write: NumberWriter) -> str:
    """Return what a mean is the mean of, where values outside the range are moved to its ends."""
    return f"of values limited to {write(limits[0])} to {write(limits[1])}"


def interval_name(band: BandDocument | None, level: float, *, kind: str | None = None) -> str:
    """Return what the intervals of a table are: its header.

    >>> interval_name({"kind": "pointwise", "target": "empirical", "method": ""}, 0.95)
    '95% interval (pointwise)'
    """
    kind = kind or (None if band is None else band["kind"])
    return f"{level_text(level)} interval" + ("" if kind is None else f" ({kind})")


CHANGES = {"jump": "change point", "odd week": "outlier"}
"""The kinds of changes in words."""


def band_text(band: BandDocument, level: float, about: str) -> str:
    """Return what the intervals are, and about whom (:func:`whom`).

    Those of a posterior are credible intervals, all others confidence intervals.
    """
    sort = "credible" if "posterior" in band["method"] else "confidence"
    return f"{band['kind']} {level_text(level)} {sort} intervals, about {about}"


def question_text(row: QuestionRow, unit: Unit, *, whole: bool = False) -> str:
    """Return what a share was asked of.

    whole: Whether the values are whole numbers: the first and the last one of a range are named.
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
    if unit not in AMOUNTS:
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


def facts_of(answer: Answer, *, detail: bool = False, numbers: bool = True) -> dict[str, str]:
    """Return everything that is no row of a table, as names and texts.

    numbers: Whether the mean and other numbers are among them.
    detail: Whether it says where the intervals come from, how far any range can be off, and where a
        smooth estimate leaves its intervals. Few readers need that.
    """
    if answer["kind"] == "difference":
        return _difference_facts(answer)
    if answer["kind"] == "series":
        return _series_facts(answer)
    word = counted_word(answer["guarantee"])
    facts = {
        word: count_text(answer["reports"]),
        **({"caution": ALL_NOISE} if answer["all_noise"] else {}),
        **_guarantee_fact("privacy guarantee", answer),
    }
    exact = answer["guarantee_text"] == EXACT
    if answer["provenance"] and ("class" in answer["provenance"] or not exact):
        facts["estimator"] = provenance_text(answer["provenance"])
    if answer["measured_in"] is not None:
        facts["measured in"] = answer["measured_in"]
    if answer["kind"] == "heavy-hitters":
        facts |= _heavy_hitter_facts(answer)
    else:
        wanted = numbers and (detail or asks_curve(answer["provenance"]))
        if answer["kind"] == "numbers" and wanted:
            facts |= _number_facts(answer, detail=detail)
        missing: Any = answer["missing"]
        if answer["kind"] == "labels":  # a label like the others, with an interval like theirs
            after = answer["shares"][LIST_LIMIT:]
            missing = next((row for row in after if row["label"] is None), None)
        if missing is not None:
            share = number_text(missing, percent, name="share")
            if missing["share"] is not None:
                share += f" of all {word}"
            facts["missing"] = with_interval(share, interval_text(missing, percent))
    band = answer["band"]
    if band is None:
        why = NO_ERROR if exact else "not computed for this estimator or this many bins"
        facts["intervals"] = f"none: {answer['reason'] or why}"
        return facts
    facts["intervals"] = band_text(band, answer["level"], answer["about"])
    if detail:
        facts[METHOD] = band["method"]
    if detail and answer["kind"] != "heavy-hitters" and answer["share_in_band"] is not None:
        where = "bins" if answer["kind"] == "numbers" else "labels"
        inside = percent(answer["share_in_band"])
        facts["estimate in its interval"] = (
            f"at {inside} of the {where}, before intervals are extended to the estimate"
        )
    return facts


def _guarantee_fact(name: str, answer: ResultAnswer | DifferenceAnswer) -> dict[str, str]:
    text = answer["guarantee_text"]
    return {} if text is None else {name: text}


def _share_cells(row: ShareRow | QuestionRow | QuarterRow) -> list[str]:
    return [number_text(row, percent, name="share"), interval_text(row, percent)]


def _number_facts(answer: NumbersAnswer, *, detail: bool) -> dict[str, str]:
    facts = {}
    write = number_writer(answer["unit"])
    for name, row in outside_of(answer, write).items():
        facts[name] = with_interval(*_share_cells(row))
    mean, std, bounds = answer["mean"], answer["std"], answer["range_error_bounds"]

    if mean is not None:
        name = "mean" if answer["quarters"] is None else "mean direction"
        facts[name] = with_interval(number_text(mean, write), interval_text(mean, write))
        facts[name] += "" if "reason" in mean else _limited(answer, write)
    length = answer["resultant_length"]
    if length is not None:
        plain = number_writer("number")
        text = with_interval(number_text(length, plain), interval_text(length, plain))
        facts["mean resultant length R"] = text
    if std is not None and (answer["unit"] == "number" or length is not None):
        width = length_writer(answer["unit"])
        text = with_interval(number_text(std, width), interval_text(std, width))
        facts["standard deviation"] = text if answer["reason"] else text + _limited(answer, write)
    if detail and bounds is not None:
        worst, average = (100 * bounds[name] for name in ("worst", "average"))
        facts["error of the share of a range"] = (
            f"at most {estimate_text(worst)} percentage points for every range at once, "
            f"{estimate_text(average)} on average over ranges (with {level_text(answer['level'])} "
            "confidence)"
        )
    return facts


def outside_of(answer: NumbersAnswer, write: NumberWriter) -> dict[str, ShareRow]:
    """Return the shares below and above the range by what they are. Empty where none are counted.

    write: NumberWriters numbers of its unit.
    """
    if answer["outside"] is None or answer["limited_to"] is None:
        return {}
    low, high = map(write, answer["limited_to"])
    # A number at the upper end holds just that value, as an atom and a bin that is closed there do.
    domain, unit, whole = answer["domain"], answer["unit"], has_whole_numbers(answer)
    holds_high = whole or domain.get("closed") == "right" or domain["high"] in domain["atoms"]
    before, after = ("below", "above") if unit in AMOUNTS else ("before", "after")
    above = f"{after} {high}" if holds_high else beyond_text(high, unit, "at_least")
    return {f"{before} {low}": answer["outside"]["below"], above: answer["outside"]["above"]}


def _limited(answer: NumbersAnswer, write: NumberWriter) -> str:
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
    if any(str(row["label"]).startswith("hash ") for row in answer["shares"]):
        facts["values"] = "hashes of texts. To score your own texts: decode --candidates FILE"
    return facts


def _difference_facts(answer: DifferenceAnswer) -> dict[str, str]:
    facts = {**counted_in_two(answer), **_guarantee_fact("privacy guarantee of both", answer)}
    band = answer["band"]
    exact = answer["guarantee_text"] == EXACT
    facts["intervals"] = f"none: {NO_ERROR if exact else 'not computed'}"
    if band is not None:
        facts["intervals"] = band_text(band, answer["level"], answer["about"])
    if answer["caution"] is not None:
        facts["caution"] = answer["caution"]
    facts["the two differ"] = {
        None: "not known: one result has no error distribution",
        True: "yes: the simultaneous band excludes zero at some point",
        False: "not shown: the simultaneous band contains zero at every point",
    }[answer["differ"]]
    return facts


def _series_facts(answer: SeriesAnswer) -> dict[str, str]:
    weeks = answer["weeks"]
    facts = {
        "weeks": f"{len(weeks)}, {weeks[0]['week']} to {weeks[-1]['week']}",
        answer["counted"]: count_text(sum(week["people"] for week in weeks)),
        "decoded": "from all weeks" if answer["smoothed"] else "each from the weeks up to it",
        **{f"gap {week['week']}": gap for week, gap in _with_joined_gaps(answer) if gap},
    }
    if answer["ordered"] and not (answer["circular"] or "q50" in weeks[0]):
        facts["intervals"] = f"pointwise {level_text(answer['level'])}, about {answer['about']}"
    elif answer["ordered"]:
        write = number_writer(answer["unit"])
        counted = [week for week in weeks if week["week"] not in answer["gaps"]]
        what, columns = "median", ("q50", "median")
        if answer["circular"]:
            what, columns = "mean direction", ("mean", "mean")
        for end, week in (("first", counted[0]), ("last", counted[-1])):
            row = _week_row(week, *columns)
            middle = number_text(row, write, answer["unit"], none="")
            interval = interval_text(row, write, answer["unit"])
            facts[f"{what} of the {end} week"] = with_interval(middle, interval)
        if answer["limited_to"] is not None:
            facts["means"] = limited_text(answer["limited_to"], write)
        facts["intervals"] = f"pointwise {level_text(answer['level'])}, about {answer['about']}"
    elif any(week["interval"] for week in weeks):
        said = "simultaneous over the labels of each week, in the CSV and JSON"
        facts["intervals"] = f"{said}, about {answer['about']}"
    if answer["about"] == EXACT:
        facts |= {"privacy guarantee": EXACT, "intervals": f"none: {NO_ERROR}"}
    if answer["standing"] is not None:
        facts["privacy guarantee"] = standing_text(answer["standing"])
    for change in answer["changes"]:
        facts[f"{CHANGES[change['kind']]} {change['week']}"] = (
            f"since {change['since']}: {change['words']}"
        )
    if not answer["changes"]:
        none = "no change point or outlier was found"
        facts["changes"] = none if answer["smoothed"] else "not searched for"
    return facts


# Tables.


def tables_of(answer: Answer, name: str, *, detail: bool = False) -> list[TextTable]:
    """Return the tables of an answer, the main one first.

    name: Of the survey or the file. Of a difference of both.
    detail: Whether they have all labels and atoms of the answer, not only the largest.
    """
    if answer["kind"] == "difference":
        return [_difference_table(answer, name, detail=detail)]
    if answer["kind"] == "series":
        return [_series_table(answer, name)]
    tables = [answers_table(answer["answers"], name)] if answer["answers"] else []
    match answer["kind"]:
        case "numbers" if tables and not detail and not asks_curve(answer["provenance"]):
            return tables
        case "numbers":
            if answer["quantiles"] or answer["quarters"] is None:
                tables.append(_quantile_table(answer, f"{name}: quantiles"))
            if answer["quarters"] is not None:
                tables.append(_quarter_table(answer, f"{name}: shares of the four quarters"))
            return [*tables, _atom_table(answer, detail=detail)] if answer["atoms"] else tables
        case _:
            return [*tables, _share_table(answer, name, detail=detail)]


def answers_table(answers: Sequence[AnswerDocument], name: str) -> TextTable:
    """Return the table of the answers to questions, a row for each number.

    name: Of the survey or the file, or "".
    """
    rows = [[*line.values()] for answer in answers for line in answer["lines"]]
    heads = ["question", "answer", interval_name(None, answers[0]["level"])]
    return TextTable(f"{name}: answers" if name else "answers", heads, rows)  # type: ignore[arg-type]


def questions_table(answer: ResultAnswer, title: str) -> TextTable:
    """Return the table of the shares that were asked, with the share of the missing last."""
    rows = [
        [
            question_text(row, answer["unit"], whole=has_whole_numbers(answer)),
            number_text(row, percent, name="share"),
            interval_text(row, percent),
        ]
        for row in answer["questions"]
    ]
    share, kind = "share", "pointwise"
    if answer["kind"] == "heavy-hitters":
        kind = "simultaneous"
    elif answer["missing"] is not None:
        missing = answer["missing"]
        name, word = MISSING, counted_word(answer["guarantee"])
        if missing["share"] is not None:
            share, name = "share of those present", f"{MISSING}, of all {word}"
        ends = interval_text(missing, percent)
        rows.append([name, number_text(missing, percent, name="share"), ends])
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
            exact_text(row["probability"]),
            number_text(row, write, unit),
            interval_text(row, write, unit),
        ]
        for row in answer["quantiles"]
    ]
    header = interval_name(answer["band"], answer["level"])
    if answer["start"] is not None:
        title += f", counted from {write(answer['start'])}"
    measure = "" if answer["measured_in"] is None else f", {answer['measured_in']}"
    return TextTable(title, ["probability", f"quantile{measure}", header], rows)


def _quarter_table(answer: NumbersAnswer, title: str) -> TextTable:
    write = number_writer(answer["unit"])
    quarters = answer["quarters"] or []
    rows = [[bin_text(row, write, answer["unit"]), *_share_cells(row)] for row in quarters]
    header = interval_name(None, answer["level"], kind="pointwise")
    return TextTable(title, ["quarter", "share", header], rows)


def _share_table(
    answer: LabelsAnswer | HeavyHittersAnswer, name: str, *, detail: bool
) -> TextTable:
    shown = answer["shares"][: None if detail else LIST_LIMIT]
    rows = [[label_text(row["label"]), *_share_cells(row)] for row in shown]
    size = answer["labels"] if answer["kind"] == "labels" else answer["listed"]
    title = f"{name}: {'shares' if answer['kind'] == 'labels' else 'heavy hitters'}"
    if len(rows) < size:
        title += f", the {len(rows)} largest of {count_text(size)}"
    every = f"share of all {counted_word(answer['guarantee'])}"
    share = every if answer["domain"].get("missing") else "share"
    label = "label" if answer["kind"] == "labels" else "value"
    header = interval_name(answer["band"], answer["level"])
    return TextTable(title, [label, share, header], rows)


def _atom_table(answer: NumbersAnswer, *, detail: bool) -> TextTable:
    """Return the table of the atoms, or of those with the largest shares."""
    write = number_writer(answer["unit"])
    atoms = answer["atoms"] or []
    largest = sorted(atoms, key=lambda atom: -(atom["share"] or 0.0))[
        : None if detail else ATOM_LIMIT
    ]
    rows = []
    for atom in sorted(largest, key=lambda atom: atom["left"]):
        place = atom_place(atom, write, answer["unit"])
        how = "declared" if atom["declared"] else "detected"
        share = number_text(atom, percent, name="share")
        rows.append([place, how, share, interval_text(atom, percent)])
    held = f"many {counted_word(answer['guarantee'])} have"
    title = f"point masses (atoms): values that {held} exactly"
    if len(largest) < len(atoms):
        title += f", the {len(largest)} largest of {len(atoms)}"
    return TextTable(title, ["value", "", "share", interval_name(None, answer["level"])], rows)


def atom_place(atom: AtomRow, write: NumberWriter, unit: Unit) -> str:
    """Return where an atom is. At an end of clipped values it counts what lies beyond."""
    left, right, open_end = atom["left"], atom["right"], atom.get("open")
    if open_end is not None:
        edge = left if open_end in ("above", "at_least") else right
        return beyond_text(write(edge), unit, open_end)
    return f"in {write(left)} to {write(right)}" if left < right else write(left)


def _difference_table(answer: DifferenceAnswer, title: str, *, detail: bool) -> TextTable:
    header = interval_name(answer["band"], answer["level"])
    if answer["shares"] is not None:
        rows = [
            [
                label_text(row["label"]),
                number_text(row, points, name="difference"),
                interval_text(row, points),
            ]
            for row in answer["shares"][: None if detail else LIST_LIMIT]
        ]
        if len(rows) < (answer["labels"] or 0):
            title += f", the {len(rows)} largest of {count_text(answer['labels'] or 0)}"
        return TextTable(title, ["label", "difference", header], rows)

    write = shift_writer(answer["unit"])

    def shift(row: ShiftRow) -> str:
        return number_text(row, write, name="shift", none=NOT_KNOWN)

    def interval(row: ShiftRow) -> str:
        return interval_text(row, write, none=NONE if answer["band"] is None else NOT_KNOWN)

    rows = [
        [exact_text(row["probability"]), shift(row), interval(row)]
        for row in answer["quantiles"] or []
    ]
    mean, limits = answer["mean"], answer["limited_to"]
    if mean is not None:
        of = "" if limits is None else f" {limited_text(limits, number_writer(answer['unit']))}"
        if answer["domain"].get("circular"):
            of = " direction, the shorter way around"
        reason = mean.get("reason")
        ends = NONE if reason else interval(mean)
        rows.append([f"mean{of}", reason or shift(mean), ends])
    return TextTable(title, ["quantile", "shift", header], rows)


def _series_table(answer: SeriesAnswer, title: str) -> TextTable:
    """Return the weeks with what fits on a screen. The CSV and JSON have all columns."""
    weeks, unit = [week for week, _ in _with_joined_gaps(answer)], answer["unit"]
    write, interval = number_writer(unit), interval_name(None, answer["level"])
    columns: dict[str, list[str]] = {
        "week": [str(week["week"]) for week in weeks],
        answer["counted"]: [count_text(week["people"]) for week in weeks],
    }
    if any(week["change"] for week in weeks):  # or why it is a gap
        said = (CHANGES.get(week["change"], week["change"]) or "" for week in weeks)
        columns["change"] = list(said)

    def numbers(header: str, name: str) -> None:
        rows = [_week_row(week, name, "mean" if name == "mean" else "median") for week in weeks]
        columns[header] = [number_text(row, write, unit, none="") for row in rows]
        if name in ("mean", "q50"):
            columns[interval] = [interval_text(row, write, unit, none="") for row in rows]

    if answer["circular"]:
        numbers("mean direction", "mean")
        plain = number_writer("number")
        length = ("" if week["R"] is None else plain(week["R"]) for week in weeks)
        columns["mean resultant length R"] = list(length)
    elif answer["ordered"] and "q50" not in weeks[0]:
        for name in weeks[0]:
            if f"{name}_low" in weeks[0]:
                how = write if name == "mean" or name.startswith("quantile") else percent
                columns[name] = [_asked_cell(_week_row(week, name, name), how) for week in weeks]
    elif answer["ordered"]:
        for header, name in (("10%", "q10"), ("median", "q50"), ("90%", "q90")):
            numbers(header, name)
    else:
        ends = {f"{name}_{end}" for name in weeks[0] for end in ("low", "high")}
        for name in weeks[0]:
            if name not in {"week", "people", "change", "interval", "about", *ends}:
                rows = [_week_row(week, name, name) for week in weeks]
                columns[name] = [number_text(row, percent, none="") for row in rows]
    return TextTable(
        title, list(columns), [list(row) for row in zip(*columns.values(), strict=True)]
    )


def _asked_cell(row: Mapping[str, Any], write: NumberWriter) -> str:
    """Return an answer of a week with its interval. A date is a string already."""
    if isinstance(row["value"] or row["low"], str):
        ends = f"{row['low']} to {row['high']}"
        return with_interval(row["value"] or NONE, NONE if row["low"] is None else ends)
    return with_interval(number_text(row, write, none=""), interval_text(row, write))


def _with_joined_gaps(answer: SeriesAnswer) -> list[tuple[dict[str, Any], str | None]]:
    """Return the weeks, each with why it is a gap. Those that follow each other are one."""
    joined: list[tuple[dict[str, Any], str | None]] = []
    first, last = "", None
    for week in answer["weeks"]:
        reason = answer["gaps"].get(week["week"])
        if reason is None or reason != last:
            joined.append((week, reason))
            first = week["week"]
        else:
            joined[-1] = {**week, "week": f"{first} to {week['week']}"}, reason
        last = reason
    return joined


def _week_row(week: Mapping[str, Any], name: str, interval: str) -> dict[str, Any]:
    """Return a number of a week with the interval of that name, as rows of other answers are."""
    row: dict[str, Any] = {"value": None, "low": None, "high": None}
    for part, key in (("value", name), ("low", f"{interval}_low"), ("high", f"{interval}_high")):
        cell = week.get(key)
        if isinstance(cell, Mapping):  # what is outside the range
            prefix = "" if part == "value" else f"{part}_"
            row |= {f"{prefix}{word}": edge for word, edge in cell.items() if word != "value"}
        else:
            row[part] = cell
    return row


# Rows for a spreadsheet: numbers not rounded, dates and times as texts.


def csv_rows(answer: Answer) -> list[dict[str, Any]]:
    """Return the rows of the main table of an answer. None is an empty cell."""
    match answer["kind"]:
        case "numbers" if answer["quantiles"] or answer["quarters"] is None:
            kind = answer["band"] and answer["band"]["kind"]
            quantile_rows = [_csv_quantile(row, answer["unit"]) for row in answer["quantiles"]]
            rows = [{**row, "interval": kind} for row in quantile_rows]
        case "numbers":
            rows = [_csv_quarter(row) for row in answer["quarters"] or []]
        case "series":
            return [_csv_week(week) for week in answer["weeks"]]
        case "difference" if answer["shares"] is None:
            kind = answer["band"] and answer["band"]["kind"]
            quantiles = [dict(row) for row in answer["quantiles"] or []]
            mean = [] if answer["mean"] is None else [{"probability": "mean", **answer["mean"]}]
            rows = [{**row, "interval": kind} for row in (*quantiles, *mean)]
            rows = list(map(_csv_share, rows)) if answer["reason"] else rows
        case _:
            shares = answer["shares"] or []
            rows = [_csv_share({**row, "label": label_text(row["label"])}) for row in shares]
    return _about_rows(rows, answer["about"])


def _about_rows(rows: Sequence[dict[str, Any]], about: str) -> list[dict[str, Any]]:
    """Return rows of a spreadsheet that say whom their intervals are about."""
    names = about_column([row.get("interval") for row in rows], about)
    return [{**row, "about": name} for row, name in zip(rows, names, strict=True)]


def table_rows(result: Any, level: float, target: Target = "empirical") -> list[dict[str, Any]]:
    """Return the table of a result for a spreadsheet: a row for each bin, label or listed value.

    ``lapwing decode --csv``, ``show --csv`` and the collector's CSV are this.
    """
    columns = result.to_dict(level=level, target=target)
    if "label" in columns:
        columns["label"] = [label_text(label) for label in columns["label"]]
    rows = rows_of(columns)
    if missing_unseen(result):
        rows[-1]["share"] = MISSING_UNSEEN
    reason = reason_of(result)
    for row in rows if reason else ():
        row["share"] = reason if row["share"] is None else row["share"]
    return rows


def question_rows(answer: ResultAnswer) -> list[dict[str, Any]]:
    """Return the rows of the shares that were asked."""
    rows = [
        {"question": question_text(row, answer["unit"], whole=has_whole_numbers(answer))}
        | {name: row[name] for name in ("share", "low", "high", "interval")}
        | ({"share": row["reason"]} if "reason" in row else {})
        for row in answer["questions"]
    ]
    return _about_rows(rows, answer["about"])


def _csv_share(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with its reason in the cell of the number that it does not have."""
    reason = row.pop("reason", None)
    if reason is None:
        return row
    names = ("value", "share", "difference", "shift")
    return {name: reason if name in names else cell for name, cell in row.items()}


def _csv_quarter(row: QuarterRow) -> dict[str, Any]:
    ends = {end: row.get(f"{end}_text", row[end]) for end in ("left", "right")}
    share = row.get("reason", row["share"])
    shares = {"share": share, "low": row["low"], "high": row["high"]}
    return {**ends, **shares, "interval": None if row["low"] is None else "pointwise"}


def _csv_quantile(row: QuantileRow, unit: Unit) -> dict[str, Any]:
    cells: dict[str, Any] = {"probability": row["probability"]}
    for name in ("value", "low", "high"):
        prefix = "" if name == "value" else f"{name}_"
        beyond: dict[str, Any] = {word: row.get(f"{prefix}{word}") for word in OPEN_ENDS}
        cells |= _csv_cells(name, row.get(f"{prefix}text", row[name]), beyond, unit)
    return cells if row.get("reason") is None else {**cells, "value": row["reason"]}


def _csv_week(week: Mapping[str, Any]) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for name, cell in week.items():
        beyond = cell if isinstance(cell, Mapping) else {}
        cells |= _csv_cells(name, beyond["value"] if beyond else cell, beyond, "number")
    return cells


def _csv_cells(name: str, cell: Any, beyond: Mapping[str, Any], unit: Unit) -> dict[str, Any]:
    """Return the cells of a number: that of one outside the range is empty.

    Then the end that it is beyond is in a column of its own, which other tables do not have. So
    a column of numbers holds numbers only.
    """
    for word, sign in _SIGNS.items():
        edge = beyond.get(word)
        if edge is not None:
            place = argument_text(edge) if unit == "number" else to_text(edge, unit=unit)
            return {name: None, f"{name}_beyond": f"{sign} {place}"}
    return {name: cell}


_SIGNS: dict[OpenEnd, str] = {"above": ">", "at_least": ">=", "at_most": "<=", "below": "<"}
"""What lies beyond an edge, in a spreadsheet."""


# Summaries: facts and the rows of the main table, one a line.


def summary_of(answer: Answer) -> dict[str, str]:
    """Return what a summary says: the facts, and the main table up to the intervals."""
    facts = facts_of(answer)
    tables, rows = tables_of(answer, ""), {}
    if answer.get("answers"):
        rows = {row[0]: with_interval(*row[1:]) for row in tables.pop(0).rows}
    main, *atoms = tables or [TextTable("", [], [])]
    rows |= {_row_name(answer, row[0]): with_interval(*row[1:3]) for row in main.rows}
    for place, _, text, interval in (row for table in atoms for row in table.rows):
        rows[f"point mass at {place}"] = with_interval(text, interval)
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
        quantile = "median" if name == "0.5" else f"{level_text(float(name))} quantile"
    return f"shift of the {quantile}" if answer["kind"] == "difference" else quantile
