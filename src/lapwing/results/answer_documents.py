"""The documents of :mod:`lapwing.results.answers`: what is asked, and the shape of each answer.

They are plain JSON. The collector's description of its answers is made from these types.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

from lapwing.privacy.guarantee import Standing
from lapwing.protocol.domains.ranges import OpenEnd
from lapwing.protocol.domains.text_values import Unit
from lapwing.questions import Share
from lapwing.results.uncertainty import Kind, Target

PROBABILITIES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
"""The quantiles of a document that is asked for no others."""

LIST_LIMIT = 20
"""Labels in a list for people, those of the largest shares: as many as fit on a screen."""

ROW_LIMIT = 2000
"""Labels in a document, those of the largest shares. `to_dict` has all."""

RANGE_LIMIT = 4096
"""Symbols up to which errors of ranges are bounded. Beyond, it takes seconds."""


@dataclass(frozen=True, kw_only=True)
class AnswerRequest:
    """Questions put to a result.

    level: Of all intervals, in (0, 1).
    target: Whom they are about. A difference has its own.
    probabilities: Of the quantiles.
    shares: Shares of ranges, labels or values, which have a row alongside the answers.
    asks: Questions, or their string forms. Without one the questions of the survey.
    start: From where quantiles on a circle are counted, as typed. Without it a circle has none.
    moments, range_errors, atoms: Whether a document of numbers has mean and standard deviation,
        bounds of the errors of ranges, and atoms. The last two take a second on large domains.
    curve: Whether the document has a row for each bin: density, CDF and both bands.
    """

    level: float = 0.95
    target: Target = "empirical"
    probabilities: Sequence[float] = PROBABILITIES
    shares: Sequence[Share] = ()
    asks: Sequence[Any] = ()
    start: str | None = None
    moments: bool = True
    range_errors: bool = True
    atoms: bool = True
    curve: bool = False

    @property
    def how(self) -> dict[str, Any]:
        """The arguments of a method that returns an interval."""
        return {"level": self.level, "target": self.target}


class BandDocument(TypedDict):
    """Kind and target of the intervals in a document."""

    kind: Kind
    target: Target
    method: str


class ShareRow(TypedDict):
    """A share with its interval. None where there is none, or for the `reason` that is given."""

    share: float | None
    low: float | None
    high: float | None
    reason: NotRequired[str]


class IntervalRow(TypedDict):
    """An interval, and whether it holds together with those of all other rows. None without one."""

    low: float | None
    high: float | None
    interval: Kind | None


class LabelShareRow(IntervalRow):
    """The share of a label or of a listed value. The label is None for the missing symbol."""

    label: str | int | float | None
    share: float | None
    reason: NotRequired[str]


class BinEnds(TypedDict):
    """The ends of a bin. None is the open end of one that holds values outside the range.

    `open` says how these lie beyond its other end.
    """

    left: float | None
    right: float | None
    open: NotRequired[OpenEnd]


class QuestionRow(IntervalRow, BinEnds):
    """The share of a range, or of a label or value, which lies in the bin `left` to `right`.

    A range begins at one of `above` and `at_least` and ends at one of `at_most` and `below`. Those
    of `inside` are the bins that its ends cut in two: nobody knows where in them values are. None
    is an open end, also of a bin, the missing symbol, and what does not belong to the question. The
    share is None if an end is `low` or `high` of the domain and in a bin with other values. It may
    then be anything in its interval, and `reason` says so. So it does where a survey did not ask
    this, and the interval spans half of the range.
    """

    question: Literal["range", "share"]
    above: str | None
    at_least: str | None
    at_most: str | None
    below: str | None
    inside: list[CutBin]
    label: str | int | float | None
    share: float | None
    reason: NotRequired[str]


class CutBin(BinEnds):
    """An end of a range, and the nearest edges of bins around it. None where there is none."""

    end: str


class NumberRow(TypedDict):
    """A number in the unit of the domain with its interval. Texts for dates and times.

    Anything outside the range is None. `above`, `at_least`, `at_most` or `below` then names the end
    of the range beyond which the number is. `high_above` and so on do so for the ends of its
    interval. `reason` says why a circle has no clear middle, whose mean is None. An interval on a
    circle whose lower end is after the upper one goes round the end of the circle.
    """

    value: float | None
    low: float | None
    high: float | None
    text: NotRequired[str]
    low_text: NotRequired[str]
    high_text: NotRequired[str]
    above: NotRequired[float]
    at_least: NotRequired[float]
    at_most: NotRequired[float]
    below: NotRequired[float]
    low_above: NotRequired[float]
    low_at_least: NotRequired[float]
    low_at_most: NotRequired[float]
    low_below: NotRequired[float]
    high_above: NotRequired[float]
    high_at_least: NotRequired[float]
    high_at_most: NotRequired[float]
    high_below: NotRequired[float]
    reason: NotRequired[str]


class QuantileRow(NumberRow):
    """A quantile."""

    probability: float


class AtomRow(ShareRow):
    """A declared or detected point mass (atom), by the ends of its bin."""

    left: float
    right: float
    declared: bool
    text: NotRequired[str]
    open: NotRequired[OpenEnd]


class QuarterRow(ShareRow):
    """The share of a quarter of a circle, from `left` to `right`."""

    left: float
    right: float
    left_text: NotRequired[str]
    right_text: NotRequired[str]


class OutsideRow(TypedDict):
    """The shares of the values below and above the range, with their intervals."""

    below: ShareRow
    above: ShareRow


class ShiftRow(TypedDict):
    """How much higher a number of the first is, in days or seconds for dates and times.

    Not known where a quantile is outside the range, or a circle has no clear middle, for the
    `reason` that is given. An interval with one end is open at the other. Of means on a circle it
    is the shorter way round.
    """

    shift: float | None
    low: float | None
    high: float | None
    reason: NotRequired[str]


class QuantileShiftRow(ShiftRow):
    """How much higher a quantile of the first is."""

    probability: float


class GapRow(IntervalRow):
    """The share of a label in the first minus that in the second."""

    label: str | int | float | None
    difference: float | None
    reason: NotRequired[str]


class CurveDocument(TypedDict):
    """Columns of one length, a row for each bin. `low`, `high` are pointwise, two others not.

    `start` has what lies below the first bin: the heights at which the curves begin, zero without.
    `steps` has the steps of a density: `left`, `right`, `share`, and `low` and `high`, which hold
    at all of them at once. It is absent of a difference.
    """

    columns: dict[str, list[Any]]
    start: dict[str, float]
    band: BandDocument | None
    steps: NotRequired[dict[str, list[float]]]


class RangeErrors(TypedDict):
    """How far the share of a range can be off: on average over ranges, and of any range."""

    average: float
    worst: float


class AnswerLine(TypedDict):
    """A number of an answer and its interval, as people read them."""

    question: str
    text: str
    interval: str


class AnswerDocument(TypedDict):
    """The answer to one question, as `lapwing answer --ask` gives it.

    `value`, `low` and `high` are lists for a histogram, several quantiles and the curve. They are
    None where there is no number, or one beyond the range, for which `lines` have the words. The
    curve has no lines. `note` says why a number is missing.
    """

    question: dict[str, Any]
    value: Any
    low: Any
    high: Any
    level: float
    target: Target
    about: str
    note: str | None
    lines: list[AnswerLine]


class ResultDocument(TypedDict):
    """Keys of every result. The reason says why its rows have none of their numbers.

    `about` says whom the intervals are about. `answers` are to what was asked, or else to what the
    survey asks.
    """

    reason: str | None
    about: str
    answers: list[AnswerDocument]
    reports: int
    level: float
    guarantee: dict[str, Any] | None
    guarantee_text: str | None
    all_noise: bool
    provenance: dict[str, Any]
    domain: dict[str, Any]
    unit: Unit
    measured_in: str | None
    band: BandDocument | None
    questions: list[QuestionRow]


class NumbersAnswer(ResultDocument):
    """Keys of a distribution of numbers. All but `missing` is of those with a value.

    On a circle there are the mean resultant length R and the shares of the four quarters, and
    quantiles only from a start. On a line these are None.
    """

    kind: Literal["numbers"]
    missing: ShareRow | None
    outside: OutsideRow | None
    limited_to: list[float] | None
    share_in_band: float | None
    start: float | None
    quantiles: list[QuantileRow]
    mean: NumberRow | None
    std: NumberRow | None
    resultant_length: NumberRow | None
    quarters: list[QuarterRow] | None
    range_error_bounds: RangeErrors | None
    atoms: list[AtomRow] | None
    curve: CurveDocument | None


class LabelsAnswer(ResultDocument):
    """Keys of a distribution of labels: the largest shares, of all people."""

    kind: Literal["labels"]
    missing: ShareRow | None
    share_in_band: float | None
    labels: int
    shares: list[LabelShareRow]


class HeavyHittersAnswer(ResultDocument):
    """Keys of a list of frequent values."""

    kind: Literal["heavy-hitters"]
    listed: int
    searched: int
    threshold: float
    expected_false: float | None
    remainder: float
    shares: list[LabelShareRow]


class DifferenceAnswer(TypedDict):
    """Keys of a difference: the first result minus the second."""

    kind: Literal["difference"]
    reason: str | None
    level: float
    reports: int
    against_reports: int
    units: list[dict[str, Any] | None]
    people: Literal["same", "different"]
    target: Target
    about: str
    guarantee: dict[str, Any] | None
    guarantee_text: str | None
    caution: str | None
    differ: bool | None
    domain: dict[str, Any]
    unit: Unit
    band: BandDocument | None
    labels: int | None
    shares: list[GapRow] | None
    limited_to: list[float] | None
    mean: ShiftRow | None
    quantiles: list[QuantileShiftRow] | None
    curve: CurveDocument | None


class ChangeRow(TypedDict):
    """A change in a series: the largest difference of the week from the one before it."""

    week: str
    since: str
    kind: str
    evidence: float
    size: float
    low: float
    high: float
    words: str


class SeriesAnswer(TypedDict):
    """Keys of a series: a row for each week, why weeks are missing, and the changes.

    `counted` is "people", or "rows" where a unit of privacy has several. `standing` says why a week
    is not private.
    """

    kind: Literal["series"]
    level: float
    about: str
    counted: str
    standing: Standing | None
    smoothed: bool
    limited_to: list[float] | None
    unit: Unit
    ordered: bool
    circular: bool
    weeks: list[dict[str, Any]]
    gaps: dict[str, str]
    changes: list[ChangeRow]


ResultAnswer = NumbersAnswer | LabelsAnswer | HeavyHittersAnswer
Answer = ResultAnswer | DifferenceAnswer | SeriesAnswer
