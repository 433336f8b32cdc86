"""`lapwing release`: publish a distribution once, under central differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lapwing.cli.console import Output
from lapwing.cli.option_groups import option
from lapwing.cli.outputs import check_output, write_text
from lapwing.cli.reading.domain_options import CuratorDomainOptions, decimal_of, texts_of
from lapwing.cli.reading.options import ColumnName, Force, OutputUnlessTried
from lapwing.cli.reading.raw_counts import is_summary, summary_of
from lapwing.cli.reading.release_options import MechanismOptions, PaymentOptions, PromiseOptions
from lapwing.cli.showing.answer import answer_document, answer_tables
from lapwing.cli.showing.dry_run import show_expected_error
from lapwing.cli.showing.release_answer import by_segment
from lapwing.errors import ArgumentError
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.survey.publication import Publication, planned_release

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, kw_only=True)
class DryRunOptions:
    """The options that ask for the errors of a release instead of the release."""

    dry_run: bool = option(
        "Only say how far the answer would be from the truth: nothing is read, drawn, "
        "paid or written.",
        default=False,
    )
    users: int | None = option("--dry-run: how many people, from public knowledge.", "N")

    def check(self) -> None:
        """Raise ArgumentError unless both or neither are given."""
        if self.dry_run != (self.users is not None):
            raise ArgumentError("--dry-run needs --users N, and --users is for --dry-run")


def release(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="A table, .parquet or .csv (- is standard input, CSV), or a summary.",
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
    trial: DryRunOptions,
    out: Output,
) -> None:
    """Publish the distribution of a column, with noise that keeps the promise.

    The bounds, or the labels, are yours to know: they must not come from the data. Values outside
    are clipped; what is none of the labels is missing, unless --other names one for it; missing
    ones get a share of their own (polynomial-projection, matching-pursuit and
    adaptive-quantiles count them at the upper end). The output is public; releases of different
    people (sites, rounds) can be merged.
    """
    files = [data, *([payment.ledger] if payment.ledger else [])]
    trial.check()
    if output is not None:
        check_output(output, inputs=files, force=force or trial.dry_run)
    elif not trial.dry_run:
        raise ArgumentError("missing option '--output' / '-o': only a --dry-run writes nothing")
    promise = promised.promise()
    stored = None if trial.dry_run else _stored(data, column, asked)
    domain = asked.domain() if stored is None else stored.domain
    texts_of(asked.texts, domain)
    decimal_of(asked.decimal, domain)
    # Everything that can be refused is refused before the data are read or anything is paid.
    planned = planned_release(domain, promise, chosen.made())
    name = payment.name or (output.name if output is not None else "dry run")
    file = payment.checked(name, planned)
    if trial.users is not None:
        show_expected_error(out, domain, planned, trial.users)
        return
    assert output is not None  # only a dry run goes without
    summary = stored or summary_of(data, column, domain, out, asked=asked)
    published = planned.publish(
        summary, ledger=file, name=name, keep=lambda made: write_text(output, made.to_json())
    )
    _show(out, published, output, payment.ledger)


def _stored(data: Path, column: str | None, asked: CuratorDomainOptions) -> ExactCounts | None:
    """Return the summary that a file holds; None when it is a table."""
    if not is_summary(data):
        return None
    if asked != CuratorDomainOptions() or column is not None:
        raise ArgumentError(
            "a summary knows its domain; leave the bounds or labels, --column, --texts and "
            "--decimal out"
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
    rest = {"mechanism": made.mechanism.name, "written": str(output)}
    if ledger is not None:
        rest["paid by"] = str(ledger)
    found = published.distribution
    said = answer_document(found, level=0.95)
    tables = answer_tables(output.name, found, said, rest=rest)
    if isinstance(made.domain, Segmented):
        rows, tables = by_segment(output.name, published, level=0.95), tables[1:]
        document["segments"] = [row for row, _ in rows]
        tables = [*(table for _, table in rows), *tables]
    out.show(said | document, *tables)
