"""`lapwing release`: publish a distribution once, under central differential privacy."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from lapwing.cli.console import Output, check_output, facts, grid, write_text
from lapwing.cli.option_groups import Rule, argument, option
from lapwing.cli.reading.column_options import is_summary, reading_of, summary_of
from lapwing.cli.reading.domain_options import CuratorDomainOptions
from lapwing.cli.reading.noisy_counts import RULES as COUNTS_RULES
from lapwing.cli.reading.noisy_counts import CountsOptions
from lapwing.cli.reading.options import (
    ColumnName,
    Force,
    OutputUnlessTried,
    Settings,
    make_with_settings,
    pick,
    relation_of,
)
from lapwing.cli.reading.stored_answers import read_stored_release
from lapwing.cli.showing.answer import ShownAnswer, shown_answer
from lapwing.cli.showing.released import released_answers
from lapwing.declared import requirement
from lapwing.engines.arrow.inputs import STDIN
from lapwing.errors import ArgumentError, WeakAnswerWarning
from lapwing.mechanisms.continual_prefix_sums import RunningPrefixSums
from lapwing.planning.chosen_bins import advice_on
from lapwing.planning.error_prediction import expected_error, question_columns
from lapwing.planning.expected_error import ExpectedError, question_error_text
from lapwing.planning.release_defaults import mechanism_choice, mechanism_text, release_bins
from lapwing.planning.release_questions import expected_answers
from lapwing.planning.simulation import KINDS
from lapwing.privacy.exact_numbers import Delta, Epsilon, exact_delta
from lapwing.privacy.ledger import Ledger, LedgerFile
from lapwing.privacy.promise import Promise
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.segmented import Segmented, segment_text
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Mechanism, Release
from lapwing.questions import read
from lapwing.registry import MECHANISMS
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.answer_text import band_text
from lapwing.results.counted import VAGUE, counted_word, vague, whom
from lapwing.results.rounding import count_text, percent
from lapwing.results.weak_parameters import delta_line
from lapwing.survey.publication import (
    Planned,
    PlannedAnswers,
    PlannedRelease,
    Publication,
    QuestionPublication,
    decode_release,
    planned,
)

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True, kw_only=True)
class PromiseOptions:
    """The options of a privacy guarantee."""

    neighbors: str | None = option(
        "Neighboring data sets: replace-one (the number of rows is public) or "
        "add-or-remove-one. There is no default, because epsilon has no meaning without it.",
        "RELATION",
    )
    epsilon: str | None = option(f"Privacy parameter, {requirement(Epsilon)}.", "NUMBER")
    delta: str = option(
        f"With --epsilon, {requirement(Delta)}. 0 is pure differential privacy.",
        "NUMBER",
        default="0",
    )
    mu: str | None = option("Instead of --epsilon: Gaussian differential privacy.", "NUMBER")
    rho: str | None = option(
        "Instead of --epsilon: zero-concentrated differential privacy.", "NUMBER"
    )

    def promise(self) -> Promise:
        """Return the privacy guarantee that the options mean."""
        numbers: dict[str, Any] = {"epsilon": self.epsilon, "mu": self.mu, "rho": self.rho}
        neighbors = relation_of(self.neighbors or "")
        return Promise(neighbors, delta=exact_delta(self.delta), **numbers)


@dataclass(frozen=True, kw_only=True)
class QuestionOptions:
    """The options of answers instead of the whole curve."""

    ask: list[str] | None = option(
        "Publish only the answer to a question, with its own noise, instead of the whole "
        "curve: 'share above 50000', 'histogram bins 8', mean, 'quantile 0.5' or curve. May be "
        "repeated.",
        "QUESTION",
    )
    shares: str | None = option(
        "Budget shares of the questions, in order, such as 0.2,0.8. Default: half for the "
        "curve, if asked or if there are several quantiles, and the rest divided equally.",
        "LIST",
    )


@dataclass(frozen=True, kw_only=True)
class MechanismOptions(QuestionOptions):
    """The options of a mechanism, and of what is released."""

    mechanism: str | None = option(
        f"One of: {', '.join(MECHANISMS)}. Default: the one with the smallest predicted error.",
        "NAME",
    )
    settings: Settings = None

    def build_mechanism(self) -> Mechanism | None:
        """Return the mechanism that is named. None for that which suits the privacy guarantee."""
        if self.mechanism is None:
            return None
        made = pick(MECHANISMS, self.mechanism, what="--mechanism")
        found: Mechanism = make_with_settings(made, settings=self.settings or ())
        return found

    def planned(
        self, domain: Domain, promise: Promise, *, composed: bool
    ) -> PlannedRelease | PlannedAnswers:
        """Return the release that is asked, before anything is drawn or paid."""
        shares = None if self.shares is None else self.shares.split(",")
        how: Any = {"mechanism": self.build_mechanism(), "composed": composed}
        return planned(domain, promise, self.ask, shares=shares, **how)


_NOISE = 0.25
"""Standard deviation of the noise in a share from which its 95% interval says nothing."""


@dataclass(frozen=True, kw_only=True)
class PaymentOptions:
    """The options of a payment."""

    ledger: Path | None = option(
        "Ledger file to charge before noise is drawn (lapwing ledger). An interrupted release "
        "stays charged.",
        "FILE",
    )
    name: str | None = option(
        "Name of the entry in the ledger. Default: the name of the output.", "TEXT"
    )

    def checked(self, output: Path | None, planned: Planned) -> tuple[LedgerFile | None, str]:
        """Return the ledger, if one is named, and the entry. BudgetError unless it can pay."""
        name = self.name or (output.name if output else "dry run")
        if self.ledger is None:
            return None, name
        file = Ledger.open(self.ledger)
        file.read().spend(name, planned.guarantee, loss=planned.loss)
        return file, name


@dataclass(frozen=True, kw_only=True)
class KindOptions(CountsOptions):
    """The options that ask for one more round, for errors, or for counts of another library."""

    next_round: Path | None = option(
        "Add one more round of new people to this release in rounds.", "RELEASE"
    )

    dry_run: int | None = option(
        "Only show the expected error for so many people (with --unit: rows), from public "
        "knowledge, and how many rows of DATA cannot be used. Nothing is drawn, paid or written. "
        "DATA need not exist.",
        "N",
        names={"people": "--dry-run"},
    )

    def check(self, data: list[Path]) -> None:
        """Raise ArgumentError unless there is one file, and no folder, but for rounds."""
        folder = next((path for path in data if path.is_dir()), None)
        if folder is not None:
            raise ArgumentError(
                f"release takes one file, but {folder} is a folder. Count its tables first: "
                f"lapwing count {folder}"
            )
        if len(data) > 1 and self.next_round is None:
            raise ArgumentError("release takes one file. Count several first: lapwing count")


_LOSS = "already states the privacy loss"

RULES = (
    *COUNTS_RULES,
    Rule("", "missing argument 'DATA'", needs=("data", "counts")),
    Rule("next_round", "takes only DATA, --output and --ledger", only=("data", "ledger")),
    Rule("next_round", "takes only DATA, --output and --ledger", needs=("ledger",)),
    Rule("epsilon", _LOSS, excludes=("mu", "rho")),
    Rule("mu", _LOSS, excludes=("rho",)),
    Rule(
        "",
        "give one of --epsilon, --mu and --rho",
        ("epsilon", "mu", "rho", "next_round", "counts"),
    ),
    Rule(
        "",
        "missing option '--neighbors': replace-one or add-or-remove-one",
        needs=("neighbors", "next_round", "counts"),
    ),
    Rule(
        "",
        "missing option '--output' / '-o': only --dry-run writes nothing",
        needs=("output", "dry_run"),
    ),
    Rule("shares", "divides the budget among questions", needs=("ask",)),
    Rule("settings", "belongs to a mechanism", needs=("mechanism",)),
)


def release(
    data: Annotated[
        list[Path] | None,
        argument(
            "A table (.parquet, .csv or - for standard input) or exact counts (lapwing "
            "count). With --next-round, those of all rounds, the new one last.",
            "DATA",
        ),
    ] = None,
    output: OutputUnlessTried = None,
    force: Force = False,
    *,
    promised: PromiseOptions,
    column: ColumnName = None,
    asked: CuratorDomainOptions,
    chosen: MechanismOptions,
    payment: PaymentOptions,
    kind: KindOptions,
    out: Output,
) -> None:
    """A private distribution of a column, published once.

    Values outside the bounds are clipped, or counted below and above where the domain says so.
    Values that are not labels are missing, unless the domain names a label for them. Missing values
    get a share of their own. Polynomial-projection, matching-pursuit and adaptive-quantiles count
    them at the upper end. The output is public. Releases of different people can be merged.

    For rounds, the first release takes --mechanism running-prefix-sums, --set rounds=N and
    --ledger, which pays for all rounds. Each later one takes --next-round and that ledger. Noise
    is drawn once: a run stopped before can be repeated, one stopped later ends the rounds.

    With --counts, noisy counts of another library become a release with intervals. Their maker
    states the privacy guarantee: --neighbors with --epsilon, --mu or --rho.
    """
    if data is None or kind.next_round is not None:
        _release_otherwise(kind, data or [], promised, output, payment.ledger, out, force=force)
        return
    kind.check(data)
    if output is not None:
        files = [*data, payment.ledger] if payment.ledger else data
        check_output(output, inputs=files, force=force or kind.dry_run is not None)
    stored = _stored(data[0], column, asked) if kind.dry_run is None else None
    promise = replace(promised.promise(), unit=asked.whose() if stored is None else stored.unit)
    bins = release_bins(promise, by_segment=asked.by is not None)
    domain, note = _domain_and_note(asked, stored, bins=bins)
    reading_of(asked, domain)  # refused before it is paid
    composed = payment.ledger is not None
    planned = chosen.planned(domain, promise, composed=composed)
    file, name = payment.checked(output, planned)
    if kind.dry_run is not None:
        _examine(data[0], column, domain, out, asked=asked)
        _show_expected(out, domain, planned, kind.dry_run, note=note, composed=composed)
        return
    assert output is not None
    counts = stored or summary_of(data[0], column, planned.counted, out, asked=asked)
    published = planned.publish(
        counts, ledger=file, name=name, keep=lambda made: write_text(output, made.to_json())
    )
    _show_published(out, published, output, payment.ledger, note=note)


def _show_expected(
    out: Output,
    domain: Domain,
    planned: PlannedRelease | PlannedAnswers,
    users: int,
    *,
    note: str,
    composed: bool,
) -> None:
    if isinstance(planned, PlannedAnswers):
        _show_expected_answers(out, planned, users, note=note)
    else:
        show_expected_error(out, domain, planned, users, note=note, composed=composed)


def _show_published(
    out: Output, published: Publication, output: Path, ledger: Path | None, *, note: str
) -> None:
    if isinstance(published, QuestionPublication):
        _show_released_answers(out, published, output, ledger, note=note)
    else:
        _show(out, replace(published, note=note), output, ledger)


def _release_otherwise(
    kind: KindOptions,
    rounds: list[Path],
    promised: PromiseOptions,
    output: Path | None,
    ledger: Path | None,
    out: Output,
    *,
    force: bool,
) -> None:
    """Publish one more round, or write the release of counts that another library made."""
    assert output is not None  # by the rules
    if kind.counts is None:
        kind.check(rounds)
        assert kind.next_round is not None and ledger is not None
        publish_round(kind.next_round, rounds, output, ledger, out, force=force)
        return
    check_output(output, inputs=[kind.counts], force=force)
    read = kind.read(None if promised == PromiseOptions() else promised.promise())
    write_text(output, read.release.to_json())
    _show(out, read, output, None)


def _examine(
    data: Path, column: str | None, domain: Domain, out: Output, *, asked: CuratorDomainOptions
) -> None:
    """Say how many rows are missing, unreadable and outside, where there is a table."""
    if data == STDIN or (data.exists() and not is_summary(data)):
        summary_of(data, column, domain, out, asked=asked, ask=False)


def _domain_and_note(
    asked: CuratorDomainOptions, stored: ExactCounts | None, *, bins: int
) -> tuple[Domain, str]:
    """Return the domain of the release, and what to say of it before it is paid."""
    if stored is not None:
        return stored.domain, ""
    domain, note = asked.curated(bins=bins)
    return domain, f"{advice_on(domain)} {note}".strip()


def _stored(data: Path, column: str | None, asked: CuratorDomainOptions) -> ExactCounts | None:
    """Return the exact counts that a file holds. None when it is a table."""
    if not is_summary(data):
        return None
    if asked != CuratorDomainOptions() or column is not None:
        raise ArgumentError(
            "exact counts already have a domain and a unit. Leave out --domain, --column, "
            "--by, --unit, --most, --count-column and the options that describe a table's "
            "strings"
        )
    return ExactCounts.load(data)


def _show(out: Output, published: Publication, output: Path, ledger: Path | None) -> None:
    made = published.release
    document: dict[str, Any] = {
        "command": "release",
        "mechanism": made.mechanism.to_document(),
        "guarantee": published.guarantee.to_document(),
        "identifier": made.parts[-1].identifier,
        "output": str(output),
    }
    rest = {"mechanism": mechanism_text(made.mechanism)}
    if published.choice is not None:
        document["choice"] = published.choice.to_document()
        rest["chosen"] = str(published.choice)
    if published.note:
        document["note"] = rest["bins"] = published.note
    rest["written"] = str(output)
    if ledger is not None:
        rest["paid by"] = str(ledger)
    request = AnswerRequest(curve=out.as_json)
    answer = published_answer(published, output.name, request, rest=rest)
    out.show(answer.document | document, *answer.tables)


def _show_released_answers(
    out: Output, published: QuestionPublication, output: Path, ledger: Path | None, *, note: str
) -> None:
    rest = {"bins": note} if note else {}
    rest["written"] = str(output)
    if ledger is not None:
        rest["paid by"] = str(ledger)
    shown = released_answers(published, output.name, level=0.95, rest=rest)
    identifier = published.release.identifiers[0]
    document = {"command": "release", "identifier": identifier, "output": str(output)}
    out.show(shown.document | document, *shown.tables)


def _show_expected_answers(out: Output, planned: PlannedAnswers, users: int, *, note: str) -> None:
    """Print the expected error of each question of a release that is not made."""
    promise, domain = planned.promise, planned.draws.domain
    curve = None if planned.curve is None else (planned.curve.mechanism, planned.curve.promise)
    columns, read_off = question_columns(domain), planned.from_curve
    errors = expected_answers(planned.draws, users, columns, from_curve=read_off, curve=curve)
    within = domain.domain if isinstance(domain, Segmented) else domain
    rows = [
        [name, question_error_text(read(name), error, within)]
        for name, error in (errors.questions or {}).items()
    ]
    word = counted_word(planned.guarantee)
    facts_of = {word: count_text(users), "privacy guarantee": str(planned.guarantee)}
    facts_of["errors"] = (
        "root mean square, typical of simulated columns. Errors of quantiles are in ranks, to "
        "the bin of the answer"
    )
    if line := delta_line(promise, users):
        facts_of["delta"] = line
    if note:
        facts_of["bins"] = note
    facts_of["released"] = "nothing: this was a dry run"
    document = {
        "command": "release",
        "dry_run": True,
        "guarantee": planned.guarantee.to_document(),
        "expected_error": errors.to_document(),
    }
    table = grid("expected error of each answer", ["question", "error"], rows)
    out.show(document, table, facts(facts_of))


def show_expected_error(
    out: Output, domain: Domain, planned: PlannedRelease, users: int, *, note: str, composed: bool
) -> None:
    """Print the expected errors of a release that is not made, and how its bins were chosen."""
    promise, mechanism, guarantee = planned.promise, planned.mechanism, planned.guarantee
    privacy = {key: getattr(promise, key) for key in ("neighbors", "epsilon", "delta", "mu", "rho")}
    most = None if promise.unit is None else promise.unit.most
    errors = expected_error(domain, users, mechanism=mechanism, most=most, **privacy)
    document: dict[str, Any] = {
        "command": "release",
        "dry_run": True,
        "guarantee": guarantee.to_document(),
        "expected_error": errors.to_document(),
    }
    if planned.choice is not None:
        document["choice"] = planned.choice.to_document()
    word = counted_word(guarantee)
    rows = {
        "mechanism": mechanism_text(mechanism),
        word: count_text(users),
        "privacy guarantee": str(guarantee),
    }
    if planned.choice is not None:
        rows["chosen"] = str(planned.choice)
        other, _ = mechanism_choice(domain, promise, expected=users, composed=composed)
        document["least_error"] = other.to_document()
        if other != mechanism:
            rows[f"smallest error for {count_text(users)}"] = _options_of(other)
    if line := delta_line(promise, users):
        rows["delta"] = line
    if domain.ordered:
        rows["noise in a share"] = (
            "not known in advance: it depends on the data"
            if errors.deviation is None
            else f"{percent(errors.deviation)} of the {word} (root mean square), at most "
            f"{percent(errors.largest_deviation)}"
        )
    elif errors.margin is not None:
        rows["one share, at 95%"] = f"within {percent(errors.margin)} of the share among the {word}"
        rows["all shares at once"] = f"within {percent(errors.simultaneous_margin or 0.0)}"
    if errors.segment is not None:
        rows["in each segment"] = _segment_text(errors.segment, word)
    if (errors.deviation or 0.0) >= _NOISE or (errors.margin or 0.0) >= 2 * _NOISE:
        smaller = "" if most is None else f"a smaller --most (now {count_text(most)}), "
        out.warn(
            f"with {count_text(users)} {word} the result would be all noise: the noise is about "
            f"as large as the number of {word}. Choose {smaller}a larger --epsilon, or release "
            f"more {word}"
        )
    if note:
        document["note"] = rows["bins"] = note
    rows["released"] = "nothing: this was a dry run"
    tables = [_errors_of_curve(errors, word)] if domain.ordered else []
    out.show(document, *tables, facts(rows))


def _options_of(mechanism: Mechanism) -> str:
    """Return the options that name a mechanism."""
    given = mechanism.to_document().items()
    knobs = (f" --set {key}={value}" for key, value in given if type(value) is int)
    return f"--mechanism {mechanism.name}{''.join(knobs)}"


def _segment_text(error: ExpectedError, word: str) -> str:
    """Return the expected error within one segment of the mean number of people."""
    size = f"with {count_text(error.people)} {word} in it"
    if error.margin is not None:
        every = percent(error.simultaneous_margin or 0.0)
        return (
            f"one share at 95%: within {percent(error.margin)}, all shares at once: within "
            f"{every}, {size}"
        )
    largest = error["kolmogorov_smirnov"]
    return (
        f"largest error of the CDF: {percent(largest.typical)} on average over simulated "
        f"columns, {size}"
    )


def _errors_of_curve(errors: Any, word: str) -> Table:
    sources = {
        "noise alone": errors.noise,
        "sampling alone": errors.sampling,
        "noise and sampling, before smoothing": errors.together,
    }
    largest = errors["kolmogorov_smirnov"]
    sources |= {f"the answer, {kind} column": largest.of(kind) for kind in KINDS}
    body = [[name, percent(value)] for name, value in sources.items()]
    title = "Expected largest error of the CDF at the bin edges"
    return grid(title, ["source", f"of the {word}"], body)


def publish_round(
    before: Path, rounds: list[Path], output: Path, ledger: Path, out: Output, *, force: bool
) -> None:
    """Publish the round after a release in rounds, and show all of them.

    before: The release of the rounds so far, which stays as it is.
    rounds: The exact counts of all rounds in order, the new one last.
    ledger: The ledger that paid for the first round.
    force: Whether an output that is there may be replaced.
    """
    check_output(output, inputs=[before, *rounds, ledger], force=force)
    made = read_stored_release(before)
    running = made.mechanism
    if not isinstance(running, RunningPrefixSums):
        raise ArgumentError(
            f"only a release by running-prefix-sums has rounds, but {before.name} is by "
            f"{running.name}. Combine other releases with lapwing merge"
        )
    if len(rounds) != len(made.parts) + 1:
        raise ArgumentError(
            f"give {len(made.parts) + 1} files of exact counts, got {len(rounds)}. "
            f"{before.name} has {len(made.parts)} round(s): give their counts in order, then "
            "the new ones"
        )
    for path in rounds:
        if not is_summary(path):
            raise ArgumentError(
                f"{path.name} must contain exact counts, which later rounds need. Make them "
                "first: lapwing count"
            )
    *earlier, newest = [ExactCounts.load(path) for path in rounds]
    after = running.following(made, earlier, newest, ledger=ledger)
    write_text(output, after.to_json())
    _show_rounds(out, after, output, most=running.rounds)


def _show_rounds(out: Output, after: Release, output: Path, *, most: int) -> None:
    drawn = len(after.parts)
    document = {"command": "release", "round": drawn, "rounds": most, "output": str(output)}
    rest = {"round": f"{drawn} of {most}", "written": str(output)}
    request = AnswerRequest(curve=out.as_json)
    answer = shown_answer(decode_release(after), output.name, request, rest=rest)
    out.show(answer.document | document, *answer.tables)


def release_answer(
    release: Release, name: str, request: AnswerRequest, *, detail: bool = False
) -> ShownAnswer:
    """Return what a stored release says."""
    rest = {"mechanism": release.mechanism.name}
    with warnings.catch_warnings():  # the answer itself says so
        warnings.simplefilter("ignore", WeakAnswerWarning)
        return published_answer(Publication(release), name, request, rest=rest, detail=detail)


def published_answer(
    published: Publication,
    name: str,
    request: AnswerRequest,
    *,
    rest: dict[str, str],
    detail: bool = False,
) -> ShownAnswer:
    """Return what a release says: a table for each segment, where it has some."""
    release = published.release
    mechanism = {"mechanism": release.mechanism.to_document()}
    if not isinstance(release.domain, Segmented):
        whole = shown_answer(published.distribution, name, request, rest=rest, detail=detail)
        return ShownAnswer(mechanism | whole.document, whole.tables, whole.rows)
    segments, tables, intervals = [], [], "none: too few in every segment"
    answers: dict[str, ShownAnswer] = {}
    for segment, result in published.by_segment().items():
        label = segment_text(segment)
        word = counted_word(release.guarantee, result.reports)
        title = f"{name}, {label}, about {count_text(result.reports)} {word}"
        if segment is not None and vague(result):
            title += f". Too few: {VAGUE[0].lower()}{VAGUE[1:]}"
        answers[label] = answer = shown_answer(result, title, request, detail=detail)
        segments.append({"segment": segment, **answer.document})
        if (band := answer.document["band"]) is not None:
            about = whom(request.target, release.guarantee)
            intervals = f"in each segment: {band_text(band, request.level, about)}"
        tables.append(answer.tables[0])

    def rows() -> list[dict[str, Any]]:
        return [{"segment": name, **row} for name, one in answers.items() for row in one.rows()]

    rest = {"intervals": intervals, **rest}
    whole = shown_answer(published.distribution, name, request, rest=rest, detail=detail)
    document = {**mechanism, **whole.document, "segments": segments}
    return ShownAnswer(document, [*tables, *whole.tables[1:]], rows)
