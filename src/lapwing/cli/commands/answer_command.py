"""`lapwing answer`: shares and quantiles that somebody asks for, with their intervals."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from lapwing import declared, questions
from lapwing.cli.console import Output, facts, grid
from lapwing.cli.option_groups import Rule, argument, option
from lapwing.cli.reading.options import Force, IntervalOptions, SegmentName
from lapwing.cli.reading.stored_answers import (
    is_joint,
    read_distribution_or_list,
    require_no_segments,
)
from lapwing.cli.showing.answer import TableOptions, terminal_table
from lapwing.cli.showing.released import question_release, released_answers
from lapwing.declared import excludes, requirement
from lapwing.errors import ArgumentError
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.ranges import number_of
from lapwing.questions import label_of
from lapwing.results.answer_documents import AnswerRequest, ResultAnswer
from lapwing.results.answer_text import (
    answers_table,
    csv_rows,
    question_rows,
    questions_table,
    tables_of,
)
from lapwing.results.answers import result_answer
from lapwing.results.counted import ALL_NOISE, whom
from lapwing.results.distribution import Distribution
from lapwing.results.exact_values import EXACT, NO_ERROR
from lapwing.results.heavy_hitters import HeavyHitters
from lapwing.results.joint_distribution import JointDistribution
from lapwing.results.joint_documents import JointRequest
from lapwing.results.question_answers import answer_documents, question_table
from lapwing.results.rounding import exact_text, level_text
from lapwing.results.uncertainty import Target
from lapwing.survey.publication import QuestionPublication


class _End(NamedTuple):
    """An end of a range as it was typed, and the option that it was typed for."""

    flag: str
    text: str

    @property
    def word(self) -> dict[str, str]:
        """The argument of :class:`lapwing.questions.Share`."""
        return {self.flag[2:].replace("-", "_"): self.text}


@dataclass(frozen=True, kw_only=True)
class AskedShares:
    """The options that say what is asked."""

    above: list[str] | None = option(
        "The share of values greater than this. With an upper limit, the share between the two.",
        "VALUE",
    )
    at_least: list[str] | None = option(
        "The share of values of at least this. With an upper limit, the share between the two.",
        "VALUE",
        flags="--at-least --from",
    )
    at_most: list[str] | None = option(
        "The share of values of at most this. A date includes the whole day.", "VALUE"
    )
    below: list[str] | None = option(
        "The share of values less than this.", "VALUE", flags="--below --before"
    )
    share: list[str] | None = option(
        "The share of a label, whole number or listed heavy hitter, or of the bin or atom that "
        "contains a value. May be repeated.",
        "LABEL",
    )

    quantile: list[float] | None = option(
        f"The quantile at a probability {requirement(declared.Share)}, such as 0.5 for the "
        "median. May be repeated.",
        "P",
    )
    ask: list[str] | None = option(
        "A question in words, such as 'share above 50000', 'histogram bins 16', mean or "
        "'quantile 0.5'. Not with the options above. May be repeated.",
        "QUESTION",
    )
    start: str | None = option(
        "On a circle: the value from which quantiles are counted. Choose one where values are "
        "rare.",
        "VALUE",
    )

    @property
    def _ends(self) -> tuple[list[_End], list[_End]]:
        """The lower and the upper ends that are asked, each with its option."""
        lower = [("--above", self.above), ("--at-least", self.at_least)]
        upper = [("--at-most", self.at_most), ("--below", self.below)]
        first, second = (
            [_End(flag, text) for flag, texts in flags for text in texts or ()]
            for flags in (lower, upper)
        )
        return first, second

    def check(self) -> None:
        """Raise ArgumentError where nothing is asked, or a probability is none."""
        lower, upper = self._ends
        several = lower and upper and len(lower) + len(upper) > 2
        kinds = {end.flag for end in lower}, {end.flag for end in upper}
        if several and (len(lower) != len(upper) or max(map(len, kinds)) > 1):
            raise ArgumentError(
                "several ranges must each have one lower and one upper limit, given with the "
                "same two options. For example: --at-least 0 --below 18 --at-least 18 --below "
                "65"
            )
        for probability in self.quantile or ():
            if excludes(declared.Share, probability):
                must, got = f"must be {requirement(declared.Share)}", exact_text(probability)
                raise ArgumentError("quantile", must, got, "The median is 0.5")

    def _ranges(self, domain: Domain) -> list[questions.Share]:
        """Return the ranges that are asked. ArgumentError names their options."""
        lower, upper = self._ends
        for end in (*lower, *upper):
            number_of(end.text, domain, name=end.flag)
        if not (lower and upper):
            return [questions.Share(**end.word) for end in (*lower, *upper)]
        return [self._range(*ends, domain) for ends in zip(lower, upper, strict=True)]

    def _range(self, first: _End, last: _End, domain: Domain) -> questions.Share:
        """Return the range between two ends. ArgumentError where the first is the greater."""
        low, high = (number_of(end.text, domain, name=end.flag) for end in (first, last))
        if low > high and not domain.circular:
            raise ArgumentError(
                first.flag,
                f"must not be greater than {last.flag}",
                f"{first.text} and {last.text}",
                "Exchange them",
                others=(last.flag,),
            )
        return questions.Share(**first.word, **last.word)

    def request(
        self, result: Distribution | HeavyHitters, level: float, target: Target
    ) -> AnswerRequest:
        """Return what is asked of a result. An error where it cannot be asked of it."""
        lower, upper = self._ends
        flags = " and ".join(dict.fromkeys(end.flag for end in (*lower, *upper)))
        if isinstance(result, HeavyHitters):
            if flags:
                raise ArgumentError("heavy hitters are single values. Use --share for one of them")
        elif flags or self.quantile:
            require_no_segments(result, flag="--quantile" if self.quantile else flags)
        if self.quantile and not (isinstance(result, Distribution) and result.domain.ordered):
            raise ArgumentError("quantile", "is for numbers", advice="For labels, use --share")
        if self.quantile and result.domain.circular != (self.start is not None):
            raise ArgumentError(
                "--quantile on a circle needs --start, the value where counting begins"
                if self.start is None
                else "--start is only for a circular domain. Leave it out"
            )
        if self.start is not None:
            number_of(self.start, result.domain, name="--start")
        shares: list[questions.Share] = []
        if flags and isinstance(result, Distribution):
            if not result.domain.ordered:
                raise ArgumentError(f"{flags} is for numbers. For labels, use --share")
            shares = self._ranges(result.domain)
        for text in self.share or ():
            if isinstance(result, Distribution):
                label_of(text, result.domain, name="--share")
            shares.append(questions.Share(label=text))
        return AnswerRequest(
            level=level,
            target=target,
            probabilities=self.quantile or (),
            shares=shares,
            start=self.start,
            moments=False,
            range_errors=False,
            atoms=False,
        )


RULES = (
    Rule("start", "sets where quantiles are counted from", needs=("quantile",)),
    Rule(
        "",
        "ask a question with --above, --at-least, --at-most, --below, --share, --quantile or --ask",
        needs=("above", "at_least", "at_most", "below", "share", "quantile", "ask"),
    ),
    Rule(
        "ask",
        "is a complete question",
        excludes=("above", "at_least", "at_most", "below", "share", "quantile", "start"),
    ),
)


def answer(
    result_file: Annotated[
        Path, argument("A decoded distribution, heavy hitters, or a release.", "RESULT")
    ],
    *,
    asked: AskedShares,
    segment: SegmentName = None,
    intervals: IntervalOptions,
    written: TableOptions,
    force: Force = False,
    out: Output,
) -> None:
    """Shares and quantiles of a result, with intervals.

    One lower and one upper end ask for the range between them. On a circle the range may contain
    the end. Several such pairs ask for several ranges. With --csv they give a table with edges of
    your own. A share is a share of the people whose value is present. The share of missing values
    is a share of all people. Each interval is for one question (pointwise). Those of heavy hitters
    hold for all listed values at once (simultaneous). An interval covers every position of the
    values inside the bins in which a range ends. The interval of a quantile comes from inverting
    the band of the distribution function. On a circle a quantile needs --start.

    A joint distribution of two attributes takes --ask only. Ask for correlation, 'share ms above
    1000 and hour label 7' or 'quantile 0.5 of ms given hour label 7'.
    """
    how = intervals.how()
    written.check(inputs=[result_file], force=force)
    if is_joint(result_file):
        _show_pair(result_file, asked, how, written, out)
        return
    asked.check()
    if answers := question_release(result_file):
        _show_released(answers, result_file.name, asked, segment, how, written, out)
        return
    result = read_distribution_or_list(result_file, segment)
    if asked.ask:
        _show_answers(result, asked.ask, how, written, out)
        return
    alone = AskedShares(quantile=asked.quantile, start=asked.start)
    if asked.quantile and asked != alone and written.table:
        raise ArgumentError("--csv writes one table: ask for shares or for quantiles, not both")
    answered = result_answer(result, asked.request(result, **how))
    tables, rows = [], csv_rows(answered)
    if asked.quantile:
        tables.append(terminal_table(tables_of(answered, result_file.name)[0]))
    if answered["questions"]:
        rows = question_rows(answered)
        tables.append(terminal_table(questions_table(answered, result_file.name)))
    tables.append(facts(_notes(answered)))
    written.write(rows)
    output = None if written.table is None else str(written.table)
    out.show({"command": "answer", **answered, "output": output}, *tables)


def _notes(answered: ResultAnswer) -> dict[str, str]:
    """Return what stands below the answers: about whom they are, and what limits them."""
    notes = {"caution": ALL_NOISE} if answered["all_noise"] else {}
    notes["intervals"] = f"about {answered['about']}"
    promise = answered["guarantee_text"] or ""
    if promise.endswith(("not private", "not verified")):
        notes["privacy guarantee"] = promise
    why = answered["reason"] or (NO_ERROR if promise == EXACT else None)
    if why is not None:
        notes["intervals"] = f"none: {why}"
    if answered["measured_in"] is not None:
        notes["measured in"] = answered["measured_in"]
    return notes


def _show_released(
    answers: QuestionPublication,
    name: str,
    asked: AskedShares,
    segment: str | None,
    how: dict[str, Any],
    written: TableOptions,
    out: Output,
) -> None:
    """Show the answers of a release of answers."""
    if not asked.ask:
        said = ", ".join(f"'{each}'" for each in answers.release.questions)
        raise ArgumentError(f"{name} contains released answers. Use --ask with one of {said}")
    shown = released_answers(answers, name, asked=asked.ask, segment=segment, **how)
    written.write(shown.rows)
    output = None if written.table is None else str(written.table)
    out.show({"command": "answer", **shown.document, "output": output}, *shown.tables)


def _show_pair(
    path: Path, asked: AskedShares, how: dict[str, Any], written: TableOptions, out: Output
) -> None:
    """Show the answers of a joint distribution to questions in words."""
    from lapwing.results.joint_answers import question_rows, shrunk

    joint = JointDistribution.load(path)
    if not asked.ask:
        one, other = joint.domain.names
        raise ArgumentError(
            f"{path.name} contains two attributes. Ask about them with --ask 'quantile 0.5 of "
            f"{one}', or --ask 'correlation'. A condition goes at the end: 'given {other} above "
            "3'"
        )
    rows = question_rows(joint, JointRequest(asks=asked.ask, **how))
    written.write([{key: row[key] for key in _PLAIN} for row in rows])  # type: ignore[literal-required]
    cells = [[row["question"], row["text"], row["interval"]] for row in rows]
    heads = ["question", "answer", f"{level_text(how['level'])} interval"]
    notes = {"intervals": f"about {whom(how['target'], joint.guarantee)}"}
    if said := [row["note"] for row in rows if row["note"]]:
        notes["no point"] = "; ".join(dict.fromkeys(said))
    output = None if written.table is None else str(written.table)
    caution = shrunk(joint) if any(" given " in row["question"] for row in rows) else None
    if caution is not None:
        notes["caution"] = caution
    document = {"command": "answer", "answers": rows, "caution": caution, "output": output}
    out.show(document, grid("answers", heads, cells), facts(notes))


_PLAIN = ("question", "value", "low", "high", "note")
"""Columns of the answers about two attributes in a file."""


def _show_answers(
    result: Distribution | HeavyHitters,
    asked: list[str],
    how: dict[str, Any],
    written: TableOptions,
    out: Output,
) -> None:
    """Show the answers to questions in words, each by `Distribution.answer`."""
    if not isinstance(result, Distribution):
        raise ArgumentError("heavy hitters are single values. Use --share for one of them")
    if result.domain.ordered:
        require_no_segments(result, flag="--ask")
    answers = [result.answer(each, **how) for each in asked]
    written.write(question_table(answers, result.domain))
    documents = answer_documents(answers, result.domain)
    notes = {"intervals": f"about {answers[0].about}"}
    if said := [each.note for each in answers if each.note]:
        notes["note"] = "; ".join(dict.fromkeys(said))
    output = None if written.table is None else str(written.table)
    document = {"command": "answer", "answers": documents, "output": output}
    out.show(document, terminal_table(answers_table(documents, "")), facts(notes))
