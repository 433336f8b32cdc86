"""`lapwing release`: publish a distribution once, under central differential privacy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from lapwing.cli.console import Output
from lapwing.cli.option_groups import option
from lapwing.cli.outputs import check_output, write_text
from lapwing.cli.reading.domain_options import CuratorDomainOptions, decimal_of, texts_of
from lapwing.cli.reading.options import ColumnName, Force, OutputUnlessTried
from lapwing.cli.reading.raw_counts import is_summary, summary_of
from lapwing.cli.reading.release_options import MechanismOptions, PaymentOptions, PromiseOptions
from lapwing.cli.showing.dry_run import show_expected_error
from lapwing.cli.showing.next_round import publish_round
from lapwing.cli.showing.release_answer import published_answer
from lapwing.errors import ArgumentError
from lapwing.planning.release_defaults import release_bins
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.results.answer_documents import AnswerRequest
from lapwing.survey.publication import Publication, planned_release


@dataclass(frozen=True, kw_only=True)
class KindOptions:
    """The options that ask for one more round, or for errors instead of a release."""

    next_round: Path | None = option(
        "Publish one more round, of newly collected people, after this release in rounds.",
        "RELEASE",
    )

    dry_run: bool = option(
        "Only say how far the answer would be from the truth: nothing is read, drawn, "
        "paid or written.",
        default=False,
    )
    users: int | None = option("--dry-run: how many people, from public knowledge.", "N")

    def check(self, data: list[Path]) -> None:
        """Raise ArgumentError unless both or neither are given, and one file but for rounds."""
        if len(data) > 1 and self.next_round is None:
            raise ArgumentError("release one file; count several first: lapwing count")
        if self.dry_run != (self.users is not None):
            raise ArgumentError("--dry-run needs --users N, and --users is for --dry-run")


def release(
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA",
            help="A table, .parquet or .csv (- is standard input, CSV), or exact counts (lapwing "
            "count); with --next-round those of all rounds in order, the new one last.",
        ),
    ],
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

    Values outside the bounds are clipped. Values that are none of the labels are missing, unless
    the domain names another label for them. Missing values get a share of their own, but
    polynomial-projection, matching-pursuit and adaptive-quantiles count them at the upper end. The
    output is public. Releases of different people (sites, rounds) can be merged.

    For rounds, the first release takes --mechanism running-prefix-sums, --set rounds=N and
    --ledger, which pays for all rounds. Each later one takes --next-round and that ledger. A round
    is marked in the ledger before its noise is drawn, because it may be drawn once: a run that is
    stopped earlier can be repeated, and one that is stopped later ends the rounds.
    """
    kind.check(data)
    if kind.next_round is not None:
        rest = (promised, column, asked, chosen)
        _round(kind, data, output, payment, out, rest=rest, force=force)
        return
    if output is not None:
        files = [*data, *([payment.ledger] if payment.ledger else [])]
        check_output(output, inputs=files, force=force or kind.dry_run)
    elif not kind.dry_run:
        raise ArgumentError("missing option '--output' / '-o': only a --dry-run writes nothing")
    promise = promised.promise()
    stored = None if kind.dry_run else _stored(data[0], column, asked)
    bins = release_bins(promise)
    domain, note = asked.curated(bins=bins) if stored is None else (stored.domain, "")
    texts_of(asked.texts, domain), decimal_of(asked.decimal, domain)
    # Everything that can be refused is refused before the data are read or anything is paid.
    planned = planned_release(domain, promise, chosen.made())
    name = payment.name or (output.name if output else "dry run")
    file = payment.checked(name, planned)
    if kind.users is not None:
        show_expected_error(out, domain, planned, kind.users, note=note)
        return
    assert output is not None
    counts = stored or summary_of(data[0], column, domain, out, asked=asked)
    published = planned.publish(
        counts, ledger=file, name=name, keep=lambda made: write_text(output, made.to_json())
    )
    _show(out, replace(published, note=note), output, payment.ledger)


def _round(
    kind: KindOptions,
    data: list[Path],
    output: Path | None,
    payment: PaymentOptions,
    out: Output,
    *,
    rest: tuple[Any, ...],
    force: bool,
) -> None:
    """Publish one more round; ArgumentError where another option is given."""
    alone = (
        *(PromiseOptions(), None, CuratorDomainOptions(), MechanismOptions()),
        *(KindOptions(next_round=kind.next_round), PaymentOptions(ledger=payment.ledger)),
    )
    if (*rest, kind, payment) != alone or output is None or payment.ledger is None:
        raise ArgumentError("--next-round takes DATA, --output and --ledger, and no others")
    assert kind.next_round is not None
    publish_round(kind.next_round, data, output, payment.ledger, out, force=force)


def _stored(data: Path, column: str | None, asked: CuratorDomainOptions) -> ExactCounts | None:
    """Return the exact counts that a file holds; None when it is a table."""
    if not is_summary(data):
        return None
    if asked != CuratorDomainOptions() or column is not None:
        raise ArgumentError(
            "exact counts know their domain; leave --domain, --column, --by, --texts and --decimal "
            "out"
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
    rest = {"mechanism": made.mechanism.name}
    if published.note:
        document["note"] = rest["bins"] = published.note
    rest["written"] = str(output)
    if ledger is not None:
        rest["paid by"] = str(ledger)
    request = AnswerRequest(curve=out.as_json)
    answer = published_answer(published, output.name, request, rest=rest)
    out.show(answer.document | document, *answer.tables)
