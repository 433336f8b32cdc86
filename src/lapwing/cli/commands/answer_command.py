"""`lapwing answer`: shares and quantiles that somebody asks for, with their intervals."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from lapwing.cli.console import Output
from lapwing.cli.option_groups import option
from lapwing.cli.reading.options import Force, Level, SegmentName, check_level
from lapwing.cli.reading.stored_answers import (
    read_distribution_or_list,
    require_no_segments,
    segment_text,
)
from lapwing.cli.showing.answer import TableOptions, terminal_table
from lapwing.documents import nearest
from lapwing.errors import ArgumentError, DomainError
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.segmented import Segmented
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.answer_text import (
    MISSING,
    csv_rows,
    number_writer,
    question_rows,
    questions_table,
    tables_of,
)
from lapwing.results.answers import number_of, result_answer
from lapwing.results.distribution import Distribution
from lapwing.results.heavy_hitters import HeavyHitters


@dataclass(frozen=True, kw_only=True)
class AskedShares:
    """The options that say what is asked."""

    at_most: list[str] | None = option(
        "The share of values of at most VALUE; a date includes its whole day. May be repeated.",
        "VALUE",
    )
    between: list[tuple[str, str]] | None = option(
        "The share of values above LOW and of at most HIGH. May be repeated.",
        "LOW HIGH",
    )
    share: list[str] | None = option(
        "The share of a label, a whole number or a listed heavy hitter, or of the bin or atom that "
        "contains a value. May be repeated.",
        "LABEL",
    )

    quantile: list[float] | None = option(
        "The quantile of a probability from 0 to 1, such as 0.5 for the median. May be repeated.",
        "P",
    )

    def check(self) -> None:
        """Raise ArgumentError where nothing is asked, or a probability is none."""
        if not (self.at_most or self.between or self.share or self.quantile):
            raise ArgumentError("ask for something: --at-most, --between, --share or --quantile")
        for probability in self.quantile or ():
            if not 0 <= probability <= 1:
                raise ArgumentError(f"--quantile must be in [0, 1], got {probability:g}")

    def request(self, result: Distribution | HeavyHitters, level: float) -> AnswerRequest:
        """Return what is asked of a result; an error where it cannot be asked of it."""
        if isinstance(result, HeavyHitters):
            if self.at_most or self.between:
                raise ArgumentError("heavy hitters are single values; ask --share of one")
        elif self.at_most or self.between or self.quantile:
            flag = "--quantile" if self.quantile else "--at-most or --between"
            require_no_segments(result, flag=flag)
        if self.quantile and not (isinstance(result, Distribution) and result.domain.ordered):
            raise ArgumentError("--quantile is for numbers; of labels ask --share")
        ranges: list[tuple[str | None, str | None]] = [(None, end) for end in self.at_most or ()]
        ranges += self.between or ()
        if isinstance(result, Distribution):
            for low, high in ranges:
                _check_range(result.domain, low, high or "")
        labels: list[Any] = [*(self.share or ())]
        if isinstance(result, Distribution):
            labels = [_label(text, result.domain) for text in labels]
        return AnswerRequest(
            level=level,
            probabilities=self.quantile or (),
            ranges=ranges,
            labels=labels,
            moments=False,
            range_errors=False,
            atoms=False,
        )


def answer(
    result_file: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT", help="A decoded distribution, heavy hitters, or a release."
        ),
    ],
    *,
    asked: AskedShares,
    segment: SegmentName = None,
    level: Level = 0.95,
    written: TableOptions,
    force: Force = False,
    out: Output,
) -> None:
    """Shares and quantiles of a result, with intervals.

    A share is a share of the people whose value is present. The share of missing values is a share
    of all people. Each interval is for one question (pointwise). It covers every position of the
    values inside the bins in which a range ends. The interval of a quantile comes from inverting
    the band of the distribution function.
    """
    check_level(level)
    asked.check()
    if asked.quantile and asked != AskedShares(quantile=asked.quantile) and written.table:
        raise ArgumentError("--csv holds one table: ask for shares or for quantiles")
    written.check(inputs=[result_file], force=force)
    result = read_distribution_or_list(result_file, segment)
    answered = result_answer(result, asked.request(result, level))
    tables, rows = [], csv_rows(answered)
    if asked.quantile:
        tables.append(terminal_table(tables_of(answered, result_file.name)[0]))
    if answered["questions"]:
        rows = question_rows(answered)
        tables.append(terminal_table(questions_table(answered, result_file.name)))
    written.write(rows)
    output = None if written.table is None else str(written.table)
    out.show({"command": "answer", **answered, "output": output}, *tables)


def _check_range(domain: Domain, low: str | None, high: str) -> None:
    """Raise ArgumentError unless these are the ends of a range, named by their options."""
    if not domain.ordered:
        raise ArgumentError("--at-most and --between are for numbers; of labels ask --share")
    flag = "--at-most" if low is None else "--between"
    last = number_of(high, domain, name=flag)
    if low is None or number_of(low, domain, name=flag) <= last:
        return
    round_the_end = ""
    if domain.circular:
        write = number_writer(domain.unit)
        first, stop = write(domain.left[0]), write(domain.right[-1])
        round_the_end = (
            "; what goes round the end of the circle is the sum of two: --between "
            f"{low} {stop} and --between {first} {high}"
        )
    raise ArgumentError(f"--between needs the lower end first{round_the_end}")


def _label(text: str, domain: Any) -> Any:
    """Return the label, or the value, of a text."""
    if text in ("", "missing", MISSING) and domain.missing_index is not None:
        return None
    if domain.name == "hashed-strings":
        return text
    if domain.name == "integers":
        whole = text.removeprefix("-").isdecimal() and len(text) < 20
        if not whole or not domain.low <= int(text) <= domain.high:
            raise ArgumentError(f"--share must be in {domain.low} to {domain.high}, got {text!r}")
        return int(text)
    if domain.ordered:
        return number_of(text, domain, name="--share")
    labels = {str(label): label for label in domain.listed}
    if text in labels:
        return labels[text]
    other = getattr(domain, "other", None)
    if other is not None:
        raise DomainError(f"there is no label {text!r} of its own; it is counted in {other!r}")
    if isinstance(domain, Segmented):
        names = ", ".join(map(segment_text, domain.segments))
        raise ArgumentError(
            f"there is no label {text!r} in the whole table; name one of its segments with "
            f"--segment: {names}"
        )
    raise ArgumentError(f"there is no label {text!r}{nearest(text, labels)}")
