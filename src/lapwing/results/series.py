"""Series of distributions decoded together, with its weeks, changes, differences and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from lapwing.docstrings import inherits
from lapwing.documents import fingerprint, require, require_format, require_spelling
from lapwing.errors import ArgumentError, FormatError
from lapwing.facts import html_of, lines_of
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.units import to_text
from lapwing.questions import Histogram, Question, Share
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.answer_text import facts_of
from lapwing.results.answers import series_answer
from lapwing.results.counted import counted_word, guarantees_of, whom_of
from lapwing.results.difference import Difference
from lapwing.results.directions import Circle
from lapwing.results.distribution import Distribution
from lapwing.results.exact_values import EXACT, StoredResult, is_exact
from lapwing.results.intervals import has_middle
from lapwing.results.question_answers import in_place_of_curve, question_table
from lapwing.results.readable import Columns, TabularResult, about_column, equal_results, frame_of
from lapwing.results.rounding import count_text, exact_text, level_text
from lapwing.results.series_change import SeriesChange, check_names
from lapwing.results.steps import Detail, check_detail
from lapwing.results.symbols import in_numbers, values_of
from lapwing.results.timeline import (
    Timeline,
    answer_timeline,
    label_timeline,
    panels_of,
    quantile_timeline,
    quarter_timeline,
    show_timeline,
)
from lapwing.results.uncertainty import Kind, Target, Uncertainty
from lapwing.results.walk_errors import LabelErrors, WalkErrors
from lapwing.stored_fields import FromFields

VERSION = 2
"""Version of the stored form. Version 1 lacked the errors that two weeks share."""

ALONE = "alone"
"""Entry in the provenance of a week that was decoded without the others, and keeps its own
errors."""

CHECKSUM = "checksum"
"""Checksum of the weeks and their errors. The first files of version 2 had none."""

PROBABILITIES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Quantiles in a table of weeks."""

LABELS = 8
"""Number of labels in a table of weeks: those with the largest shares over all weeks."""

Errors: TypeAlias = WalkErrors | LabelErrors
"""The errors of all weeks, from which those of any two follow."""


@dataclass(frozen=True, eq=False)
class SeriesWeek(FromFields):
    """One week: its name, and its distribution or why there is none.

    name: Name of the week.
    distribution: Distribution of the week. None where there is a gap.
    gap: Reason for the gap, in words.
    """

    name: str
    distribution: Distribution | None
    gap: str | None = None

    _name: ClassVar = "a week of a series"
    __eq__ = equal_results

    def __hash__(self) -> int:
        """Return a number that is equal for equal weeks."""
        return hash((self.name, self.distribution))

    def without_errors(self) -> SeriesWeek:
        """Return the week without its error distribution, if that of all weeks tells it."""
        found = self.distribution
        if found is None or self.is_alone:
            return self
        return replace(self, distribution=_with_law(found, None))

    @property
    def is_alone(self) -> bool:
        """Whether the week was decoded without the others, so that its errors are its own."""
        return self.distribution is not None and ALONE in self.distribution.provenance

    def _check_stored(self) -> None:
        if (self.distribution is None) != isinstance(self.gap, str):
            raise FormatError("a week of a series needs a distribution or a gap")
        how = {} if self.distribution is None else self.distribution.provenance
        if how.get("class") == "series" and how.get("week") != self.name:
            raise FormatError(
                f"week {self.name} of a series contains the distribution of another week"
            )


@dataclass(frozen=True, eq=False, repr=False)
class Series(StoredResult):
    """Time series of distributions, decoded together.

    Its weeks are in order.

    Parameters
    ----------
    weeks : sequence of SeriesWeek
        Weeks in order. At least one has reports.
    changes : sequence of SeriesChange
        Change points and outliers that the reports show, in order. Small changes from week to week
        are in the distributions, not here.
    smoothed : bool
        Whether each week was decoded from all weeks (default), or only from the weeks up to it.
    provenance : dict
        How the series was made: decoder and settings. JSON values only.
    errors : WalkErrors or LabelErrors, optional
        Errors of all weeks together, which :meth:`between` needs. None if each week was decoded
        only from the weeks up to it.

    Raises
    ------
    ArgumentError
        When no week has reports, or the weeks have different domains.

    See Also
    --------
    lapwing.decode_series : Decode a series from the tallies of its weeks.

    Examples
    --------
    >>> import lapwing as lw
    >>> domain = lw.Categories(["no", "yes"])
    >>> survey = lw.Survey("vote", lw.recommend(domain, epsilon=2, users=1000))
    >>> weeks = []
    >>> for week, yes in enumerate([300, 500, 500]):
    ...     answers = ["yes"] * yes + ["no"] * (1000 - yes)
    ...     reports = survey.randomize(answers, rng=lw.seeded(week))  # for this example only
    ...     weeks.append((survey, survey.tally(reports)))
    >>> series = lw.decode_series(weeks, names=["May", "June", "July"])
    >>> series.share("yes").round(2).tolist()
    [0.3, 0.51, 0.48]
    >>> round(series.between("May", "July").share("yes"), 2)
    0.18
    """

    weeks: tuple[SeriesWeek, ...]
    changes: tuple[SeriesChange, ...] = ()
    smoothed: bool = True
    provenance: dict[str, Any] = field(default_factory=dict)
    errors: Errors | None = None

    _name: ClassVar = "a series"

    def __post_init__(self) -> None:
        """Check that there is a week, on one domain."""
        object.__setattr__(self, "weeks", tuple(self.weeks))
        object.__setattr__(self, "changes", tuple(self.changes))
        domains = [week.distribution.domain for week in self.weeks if week.distribution]
        if not domains or any(domain != domains[0] for domain in domains):
            raise ArgumentError("a series needs at least one week with reports, all on one domain")

    def __eq__(self, other: object) -> bool:
        """Return whether two series say the same: also after JSON."""
        return isinstance(other, Series) and self.to_document() == other.to_document()

    def __hash__(self) -> int:
        """Return a number that is equal for equal series."""
        return hash(self.weeks)

    def __repr__(self) -> str:
        """Return one line: what it is about, not its numbers."""
        kind = type(self.domain).__name__
        gaps = sum(week.distribution is None for week in self.weeks)
        rest = f", {gaps} of them gaps" if gaps else ""
        changes = f"{len(self.changes)} change{'' if len(self.changes) == 1 else 's'}"
        rest += f" on {kind} of {self.domain.size} symbols"
        said = ", ".join((changes, EXACT) if is_exact(self) else (changes,))
        return f"<Series of {len(self)} weeks{rest}, {said}>"

    def __len__(self) -> int:
        """Return the number of weeks, gaps included."""
        return len(self.weeks)

    def __iter__(self) -> Iterator[SeriesWeek]:
        """Return the weeks, one after the other."""
        return iter(self.weeks)

    @overload
    def __getitem__(self, week: int | str) -> SeriesWeek: ...

    @overload
    def __getitem__(self, week: slice) -> tuple[SeriesWeek, ...]: ...

    def __getitem__(self, week: int | str | slice) -> SeriesWeek | tuple[SeriesWeek, ...]:
        """Return a week by its position or its name."""
        return self.weeks[week] if isinstance(week, slice) else self.weeks[self.position(week)]

    def position(self, week: int | str) -> int:
        """Return the position of a week.

        Parameters
        ----------
        week : int or str
            Position, which may be negative, or name.

        Returns
        -------
        int
            Position, counted from 0.

        Raises
        ------
        ArgumentError
            When there is no such week.
        """
        if isinstance(week, str):
            names = self.names
            if week not in names:
                raise ArgumentError(f"no week is named {week!r}. The weeks are {_listed(names)}")
            return names.index(week)
        if not isinstance(week, int | np.integer) or isinstance(week, bool):
            raise ArgumentError("give a week by its name or by its position, a whole number")
        if not -len(self) <= week < len(self):
            raise ArgumentError(f"there are {len(self)} weeks, so none has position {week}")
        return int(week) % len(self)

    @property
    def names(self) -> list[str]:
        """Names of the weeks."""
        return [week.name for week in self.weeks]

    @property
    def domain(self) -> Domain:
        """Domain of all weeks."""
        return next(week.distribution.domain for week in self.weeks if week.distribution)

    def quantile(self, probability: float, *, start: Any = None) -> NDArray[Any]:
        """Return one quantile over time.

        Parameters
        ----------
        probability : float
            Probability in [0, 1].
        start : object, optional
            Place on a circle from which values are counted. It is required there, and only there.

        Returns
        -------
        numpy.ndarray
            Quantile of each week [weeks], in the type of :meth:`Distribution.quantile`. Missing
            (NaN, NaT or None) in gaps. For times of day it is an array of objects.

        Raises
        ------
        ArgumentError
            When the probability is not in [0, 1]. Also on a circle without a start, and on a line
            with one.
        DomainError
            When the domain has categories.
        """
        found = [
            None
            if week.distribution is None
            else week.distribution.quantile(probability, start=start)
            for week in self.weeks
        ]
        known = [value for value in found if value is not None]
        # A number among dates or times is infinite: that quantile is outside the range.
        some = next((value for value in known if not isinstance(value, float)), known[0])
        kind = np.asarray(some).dtype
        nothing: Any = None
        if np.issubdtype(kind, np.datetime64):
            nothing = np.datetime64("NaT")
        elif np.issubdtype(kind, np.number):
            nothing = np.nan
        values = [nothing if value is None else value for value in found]
        # NumPy would make the number a text among texts.
        return np.array(values, dtype=object if isinstance(some, str) else None)

    @inherits(Distribution.share)
    def share(self, label: Any) -> NDArray[np.float64]:
        """Return the share of a category or bin over time.

        Returns
        -------
        numpy.ndarray
            Shares, float64 [weeks], NaN in gaps.
        """
        return np.array(
            [
                np.nan if week.distribution is None else week.distribution.share(label)
                for week in self.weeks
            ]
        )

    def between(
        self, earlier: int | str, later: int | str, *, target: Target = "population"
    ) -> Difference:
        """Return the later week minus the earlier one, with the joint band of the two.

        The errors of two weeks of a series are not independent, because they come in part from the
        same reports. So their difference is known more precisely than that of two weeks decoded
        separately.

        Parameters
        ----------
        earlier, later : int or str
            Position or name of each week.
        target : {"population", "empirical"}
            Whom the intervals are about: the population (default), or the people in the two weeks.

        Returns
        -------
        Difference
            Later week minus earlier week.

        Raises
        ------
        ArgumentError
            When a week does not exist, is a gap, or is not after the other. Also when the series
            has no joint errors, because it was decoded without smoothing, or stored by a version
            that kept each week separately.

        Notes
        -----
        **Accuracy.** If the domain has a bin for missing values, the difference is among those
        present. Its bands then add the errors of the two weeks, and are wider than necessary.
        """
        one, two = self.position(earlier), self.position(later)
        if one >= two:
            raise ArgumentError(
                f"the first week must come before the second, got {earlier!r} and {later!r}"
            )
        first, second = self.weeks[two].distribution, self.weeks[one].distribution
        if first is None or second is None:
            gap = self.weeks[two if first is None else one]
            raise ArgumentError(f"{gap.name} is a gap: {gap.gap}. Compare another week")
        if self.errors is None:
            raise ArgumentError(
                "this series has no joint errors of two weeks. It was decoded without "
                "smoothing, or stored by an earlier version. To get them, decode it again with "
                "smoothing"
            )
        if self.domain.ordered and self.domain.missing_index is not None:
            return Difference(first, second, target=target)
        joint = laws_between(self.errors, self.weeks, one, two)
        return Difference(first, second, target=target, joint=joint)

    @property
    def _made_of(self) -> list[Distribution]:
        """The weeks that have a distribution."""
        return [week.distribution for week in self.weeks if week.distribution]

    def to_dict(self, *, level: float = 0.95, target: Target = "empirical") -> Columns:
        """Return a table as a dict of columns, one row for each week.

        Parameters
        ----------
        level : float
            Level of the intervals, in (0, 1). Default: 0.95.
        target : {"empirical", "population"}
            Whom the intervals are about: the people in the data, or the population.

        Returns
        -------
        dict of str to list
            Columns of the table, see Notes.

        Notes
        -----
        All tables have `week`, `people`, `change`, `interval` (the kind of the intervals) and
        `about` (whom they are about).

        Numbers have `mean`, quantiles (`q10` and so on), and `median_low` and `median_high`, the
        pointwise interval of the median.

        If the surveys ask the same questions and not the curve, the columns of numbers are the
        answers. Each answer has a column with its name, and its pointwise interval in two columns
        that end in ``_low`` and ``_high``.

        Labels have a column for the share of each of the largest, and its interval in two columns
        that end in ``_low`` and ``_high``. If a column would have the name of another one, all
        three columns of its label get the suffix ``_share``. The intervals hold for all labels of
        one week at once, not for all weeks.

        A circle has the mean direction with its interval, or None without a clear middle. It also
        has the mean resultant length `R` and the shares of the four quarters.
        """
        shown: Columns = {"week": [], "people": [], "change": []}
        changes = {change.week: change.kind for change in self.changes}
        for number, week in enumerate(self.weeks):
            found = week.distribution
            shown["week"].append(week.name)
            shown["people"].append(0 if found is None else found.reports)
            shown["change"].append(changes.get(number, week.gap or ""))
        circle = Circle.of_domain(self.domain)
        if circle is not None:
            shown |= self._directions(circle, level, target)
            kinds = [None if low is None else "pointwise" for low in shown["mean_low"]]
            return {**shown, **self._named(kinds, target)}
        asked = self._asked()
        if asked:
            shown |= self._answers(asked, level, target)
            kinds = ["pointwise" if found and found.uncertainty else None for found in self._found]
            return {**shown, **self._named(kinds, target)}
        if self.domain.ordered:
            for name, values in self._quantiles(level, target).items():
                shown[name] = values
            kinds = [None if low is None else "pointwise" for low in shown["median_low"]]
            return {**shown, **self._named(kinds, target)}
        weeks = [week.distribution for week in self.weeks]
        bands = [None if each is None else each._shown_band(level, target=target) for each in weeks]
        largest = self._largest()
        names = _column_names([label for label, _ in largest], [*shown, "interval", "about"])
        for name, (_, symbol) in zip(names, largest, strict=True):
            shown[name] = [None if each is None else float(each.mass[symbol]) for each in weeks]
            for end in ("low", "high"):
                shown[f"{name}_{end}"] = [
                    None if band is None else float(getattr(band, end)[symbol]) for band in bands
                ]
        kinds = [None if band is None else band.kind for band in bands]
        return {**shown, **self._named(kinds, target)}

    def _named(self, kinds: list[Any], target: Target) -> Columns:
        """Return the columns that say of which kind intervals are, and about whom."""
        return {"interval": kinds, "about": about_column(kinds, whom_of(self, target))}

    def _quantiles(self, level: float, target: Target) -> Columns:
        names = [f"q{exact_text(100 * probability)}" for probability in PROBABILITIES]
        columns: Columns = {name: [] for name in ("mean", *names, "median_low", "median_high")}
        for week in self.weeks:
            if week.distribution is None:
                for values in columns.values():
                    values.append(None)
                continue
            plain = in_numbers(week.distribution)
            ends = plain.quantile_interval(0.5, level=level, target=target) or (None, None)
            row = [plain.cumulative.mean, *plain.quantile(PROBABILITIES).tolist(), *ends]
            for values, value in zip(columns.values(), row, strict=True):
                values.append(None if value is None else float(value))
        return columns

    def _directions(self, circle: Circle, level: float, target: Target) -> Columns:
        """Return the columns of a circle: the mean direction, R and the four quarters."""
        quarters = circle.quarters()
        write = partial(to_text, unit=self.domain.unit)
        names = [f"{write(left)} to {write(right)}" for left, right in quarters]
        columns: Columns = {name: [] for name in ("mean", "mean_low", "mean_high", "R", *names)}
        for week in self.weeks:
            row: list[float | None] = [None] * len(columns)
            if week.distribution is not None:
                plain = in_numbers(week.distribution)
                middle = plain.cumulative.mean if has_middle(plain, level, target) else None
                ends = plain.mean_interval(level=level, target=target) or (None, None)
                shares = [plain.probability(*quarter) for quarter in quarters]
                row = [middle, *ends, plain.cumulative.resultant_length, *shares]
            for values, value in zip(columns.values(), row, strict=True):
                values.append(value)
        return columns

    @property
    def _found(self) -> list[Distribution | None]:
        """The distribution of each week. None where nobody reported."""
        return [week.distribution for week in self.weeks]

    def _asked(self) -> tuple[Question, ...]:
        """Return what all weeks ask in place of the curve."""
        asked = {in_place_of_curve(found) for found in self._made_of}
        return asked.pop() if len(asked) == 1 and self.domain.ordered else ()

    def _answers(self, asked: Sequence[Question], level: float, target: Target) -> Columns:
        """Return the columns of the answers to questions, None in gaps."""
        how: dict[str, Any] = {"level": level, "target": target}
        weeks = [
            None if found is None else [found.answer(each, **how) for each in asked]
            for found in self._found
        ]
        tables = [None if each is None else question_table(each, self.domain) for each in weeks]
        columns: Columns = {}
        for place, row in enumerate(next(each for each in tables if each is not None)):
            for end in ("value", "low", "high"):
                name = row["question"] if end == "value" else f"{row['question']}_{end}"
                columns[name] = [each and each[place][end] for each in tables]
        return columns

    def _largest(self) -> list[tuple[str, int]]:
        masses = [week.distribution.mass for week in self.weeks if week.distribution]
        order = np.argsort(-np.mean(masses, axis=0), kind="stable")[:LABELS]
        values = values_of(self.domain, order)
        names = ["(missing)" if value is None else str(value) for value in values]
        return list(zip(names, order.tolist(), strict=True))

    @inherits(TabularResult.to_pandas)
    def to_pandas(self, *, level: float = 0.95, target: Target = "empirical") -> Any:
        """Return the table of :meth:`to_dict` as a pandas DataFrame.

        Parameters
        ----------
        target : {"empirical", "population"}
            Whom the intervals are about: the people in the data, or the population.
        """
        return frame_of(self.to_dict(level=level, target=target))

    def summary(self) -> str:
        """Return a few lines of text: the weeks, and their changes.

        Returns
        -------
        str
            Lines of text.
        """
        return lines_of(self._facts())

    def _repr_html_(self) -> str:
        """Return the summary as a notebook shows it."""
        return html_of(self._facts())

    def _facts(self) -> dict[str, str]:
        return facts_of(series_answer(self, AnswerRequest()))

    def _picture(self, **how: Any) -> Timeline:
        """Return quantiles (of labels: shares) over time as plain data.

        `how`: level and target of the intervals.
        """
        marks = tuple(change.week for change in self.changes)
        found = [week.distribution for week in self.weeks]
        shares = [each for each in self._asked() if isinstance(each, Share | Histogram)]
        if shares:
            return answer_timeline(self.names, self._answers(shares, **how), marks)
        circle = Circle.of_domain(self.domain)
        if circle is not None:
            return quarter_timeline(self.names, found, circle, marks, **how)
        if self.domain.ordered:
            return quantile_timeline(self.names, found, PROBABILITIES, marks, **how)
        return label_timeline(self.names, found, self._largest(), marks, **how)

    def plot(
        self,
        *,
        kind: str = "timeline",
        detail: Detail = "resolved",
        title: str | None = None,
        label: str | None = None,
        level: float = 0.95,
        target: Target = "empirical",
    ) -> Any:
        """Draw the series.

        Parameters
        ----------
        kind : {"timeline", "weeks"}
            "timeline" (default): quantiles over time with their intervals. For labels, for the
            quarters of a circle, and if the surveys ask for shares, it shows shares over time.
            "weeks": a small picture of every week, alongside the week before it.
        detail : {"resolved", "all"}
            Small pictures in the steps that the reports of every week can distinguish (default),
            or in every bin.
        title : str, optional
            Title of the picture.
        label : str, optional
            Name of the values, with their unit.
        level : float
            Level of the intervals, in (0, 1). Default: 0.95.
        target : {"empirical", "population"}
            Whom the intervals are about: the people in the data, or the population.

        Returns
        -------
        matplotlib.figure.Figure
            Figure with the picture.

        Raises
        ------
        ArgumentError
            When `kind` or `detail` is none of its allowed words.
        MissingExtraError
            When matplotlib is not installed.
        """
        check_detail(detail)
        if kind == "timeline":
            picture = self._picture(level=level, target=target)
            said = self._said(level, target, self.domain.ordered)
            return show_timeline(picture, title=title, label=label, said=said)
        if kind != "weeks":
            raise ArgumentError("kind", "must be 'timeline' or 'weeks'", repr(kind))
        marks = {change.week for change in self.changes}
        found = [(week.name, week.distribution) for week in self.weeks]
        said = self._said(level, target, ordered=None)
        how: dict[str, Any] = {"level": level, "target": target, "said": said}
        return panels_of(found, marks, detail=detail, title=title, label=label, **how)

    def _said(self, level: float, target: Target, ordered: bool | None) -> str:
        """Return who is behind a picture of it, their guarantee, and what its intervals are."""
        counts = [found.reports for found in self._made_of]
        promises = guarantees_of(self)
        word = counted_word(promises[0])
        least, most = count_text(min(counts)), count_text(max(counts))
        people = f"each period: {most if least == most else f'{least} to {most}'} {word}"
        promise = str(promises[0] or "") if len(promises) == 1 else "guarantees differ"
        promise = EXACT if is_exact(self) else promise
        kind = {True: "pointwise", False: "simultaneous over the labels of a period"}
        said = f"{level_text(level)} intervals" + ("" if ordered is None else f" ({kind[ordered]})")
        about = f"{said} about {whom_of(self, target)}"
        known = any(week.distribution and week.distribution.uncertainty for week in self.weeks)
        first = "; ".join(filter(None, (people, promise)))
        return f"{first}\n{about}" if known else first

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form, with the errors of all weeks together if there are any."""
        errors, weeks = self.errors, self.weeks
        if errors is not None and self.domain.ordered:
            weeks = tuple(week.without_errors() for week in weeks)
        document = {
            "format": "lapwing-series",
            "version": VERSION,
            "weeks": [week.to_document() for week in weeks],
            "changes": [change.to_document() for change in self.changes],
            "smoothed": self.smoothed,
            "provenance": self.provenance,
            "errors": None if errors is None else errors.to_document(),
        }
        return document | {CHECKSUM: _checksum(document)}

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Return the series that :meth:`to_document` wrote, in any version.

        Returns
        -------
        Series
            Series that equals the one that was written.

        Raises
        ------
        FormatError
            When it is not a series, is damaged or has an unknown version.
        """
        old = isinstance(document, dict) and document.get("version") in (1, 1.0, True)
        require_format(document, name="lapwing-series", version=1 if old else VERSION)
        keys = {"format", "version", "weeks", "changes", "smoothed", "provenance"}
        keys |= set() if old else {"errors", *({CHECKSUM} & document.keys())}
        require(document, keys, name="a series")
        lists = isinstance(document["weeks"], list) and isinstance(document["changes"], list)
        if not lists or type(document["smoothed"]) is not bool:
            raise FormatError(
                "a series must contain a list of weeks and a list of changes. Do not use this "
                "document"
            )
        if not isinstance(document["provenance"], dict):
            raise FormatError("a series must say how it was made. Do not use this document")
        try:
            found = cls(
                tuple(SeriesWeek.from_document(week) for week in document["weeks"]),
                tuple(SeriesChange.from_document(change) for change in document["changes"]),
                document["smoothed"],
                document["provenance"],
            )
            check_names(found.names)
        except ArgumentError as error:
            raise FormatError(f"the series is damaged: {error}") from None
        if any(not 0 <= change.week < len(found) for change in found.changes):
            raise FormatError("a change of this series is in a week that is not in it")
        if any(change.shift.beyond(found.domain) for change in found.changes):
            raise FormatError("a change of this series is outside its domain")
        if not old and document["errors"] is not None:
            found = found._with_errors(document["errors"])
        if CHECKSUM in document and document[CHECKSUM] != _checksum(document):
            raise FormatError(
                "the weeks, errors and checksum of this series do not match, so the file was "
                "changed or damaged. Decode the weeks again"
            )
        written = {key: value for key, value in found.to_document().items() if key in keys}
        if old:
            written["version"] = 1
        require_spelling(document, written, name="the series")
        return found

    def _with_errors(self, document: Any) -> Self:
        """Return the series with the errors in a document. FormatError when they do not fit."""
        size, ordered = self.domain.size, self.domain.ordered
        kind: type[WalkErrors] | type[LabelErrors] = WalkErrors if ordered else LabelErrors
        errors = kind.from_document(document, size=size, weeks=len(self))
        if isinstance(errors, LabelErrors):
            return replace(self, errors=errors)
        weeks = []
        for number, week in enumerate(self.weeks):
            found, alone = week.distribution, errors.weeks[number]
            people = None if alone is None else alone.reports
            if people != (None if found is None else found.reports):
                raise FormatError(
                    f"the errors of week {week.name} do not match its number of people"
                )
            if found is not None and not week.is_alone:
                week = replace(week, distribution=_with_law(found, errors.law(number)))
            weeks.append(week)
        return replace(self, weeks=tuple(weeks), errors=errors)


def _checksum(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of what a stored series says of its weeks.

    Rows of the errors that were swapped alone are legal errors, and of the other week.
    """
    return fingerprint({key: document.get(key) for key in ("weeks", "errors")})


def laws_between(
    errors: Errors, weeks: Sequence[SeriesWeek], earlier: int, later: int
) -> Mapping[Kind, Uncertainty]:
    """Return the error distributions of a later week minus an earlier one, both with reports."""
    one, two = weeks[earlier].distribution, weeks[later].distribution
    assert one is not None
    assert two is not None
    return errors.difference(earlier, later, two.mass, min(one.reports, two.reports))


def _with_law(found: Distribution, law: Uncertainty | None) -> Distribution:
    return Distribution(
        found.domain, found.mass, found.reports, found.guarantee, law, dict(found.provenance)
    )


def _listed(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{names[0]}, {names[1]} ... {names[-1]}"


def _column_names(labels: Sequence[str], fixed: Sequence[str]) -> list[str]:
    """Return a name for the share of each label, distinct from all other columns and their ends."""
    names: list[str] = []
    taken = {column for name in fixed for column in _with_ends(name)}
    for name in labels:
        while taken.intersection(_with_ends(name)):
            name += "_share"
        taken.update(_with_ends(name))
        names.append(name)
    return names


def _with_ends(name: str) -> list[str]:
    return [name, f"{name}_low", f"{name}_high"]
