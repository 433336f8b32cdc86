"""`lapwing release`: publish a distribution once, under central differential privacy."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from lapwing.cli.answer import answer_tables
from lapwing.cli.console import Output
from lapwing.cli.domain_options import (
    Atoms,
    Bins,
    Bounds,
    Circular,
    High,
    Low,
    Scale,
    UnitName,
    WholeNumbers,
    curator_domain_of,
)
from lapwing.cli.dry_run import show_expected_error
from lapwing.cli.knobs import make_with_knobs, pick
from lapwing.cli.options import AsJson, ColumnName, OutputFile, Quiet, Settings
from lapwing.cli.outputs import check_output, write_text
from lapwing.cli.raw_counts import is_summary, summary_of
from lapwing.domain import Domain
from lapwing.errors import ArgumentError
from lapwing.guarantee import Neighbours
from lapwing.ledger_file import LedgerFile
from lapwing.promise import Promise, exact_delta
from lapwing.publication import MECHANISMS, Publication, recommended_mechanism
from lapwing.releases import Mechanism
from lapwing.summary import Summary

NeighboursName = Annotated[
    str,
    typer.Option(
        "--neighbours",
        metavar="RELATION",
        help="What is protected: replace-one (the number of rows is public) or "
        "add-or-remove-one. An epsilon means nothing without it, so there is no default.",
    ),
]


def release(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="A table, .parquet or .csv, or a summary (lapwing summarize)."
        ),
    ],
    output: OutputFile,
    neighbours: NeighboursName,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", metavar="NUMBER", help="In (0, 24].")
    ] = None,
    delta: Annotated[
        str, typer.Option("--delta", metavar="NUMBER", help="In [0, 1); 0 is pure epsilon.")
    ] = "0",
    mu: Annotated[
        str | None,
        typer.Option("--mu", metavar="NUMBER", help="Gaussian differential privacy instead."),
    ] = None,
    rho: Annotated[
        str | None, typer.Option("--rho", metavar="NUMBER", help="Zero-concentrated instead.")
    ] = None,
    column: ColumnName = None,
    low: Low = None,
    high: High = None,
    bounds: Bounds = None,
    bins: Bins = None,
    unit: UnitName = None,
    circular: Circular = False,
    scale: Scale = None,
    atom: Atoms = None,
    integers: WholeNumbers = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            metavar="NAME",
            help=f"One of: {', '.join(MECHANISMS)}. Default: the best for the promise.",
        ),
    ] = None,
    settings: Settings = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            "--ledger",
            metavar="FILE",
            help="Pays before the noise is drawn (lapwing ledger); an unfinished release stays "
            "paid.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="TEXT", help="Of the entry; default: the output's name."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Only say how far the answer would be from the truth: nothing is read, drawn, "
            "paid or written.",
        ),
    ] = False,
    users: Annotated[
        int | None,
        typer.Option(
            "--users", metavar="N", help="--dry-run: how many people, from public knowledge."
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Publish the distribution of a column, with noise that keeps the promise.

    The bounds are yours to know: they must not come from the data. Values outside are clipped,
    missing ones get a share of their own. The output is public; releases of different people
    (sites, rounds) can be merged.
    """
    out = Output(as_json, quiet)
    inputs = [data, *([ledger] if ledger else [])]
    check_output(output, inputs=inputs)
    numbers: dict[str, Any] = {"epsilon": epsilon, "mu": mu, "rho": rho}
    promise = Promise(cast(Neighbours, neighbours), delta=exact_delta(delta), **numbers)
    typed = dict(low=low, high=high, bounds=bounds, bins=bins, unit=unit, scale=scale, atom=atom)
    given = circular or integers is not None or any(value is not None for value in typed.values())
    summary: Summary | None = None
    if dry_run != (users is not None):
        raise ArgumentError("--dry-run needs --users N, and --users is for --dry-run")
    if not dry_run and is_summary(data):
        if given or column is not None:
            raise ArgumentError("a summary knows its domain; leave the bounds and --column out")
        summary = Summary.read(data)
        domain: Domain = summary.domain
    else:
        domain = curator_domain_of(
            low=low,
            high=high,
            bounds=bounds,
            bins=bins,
            unit=unit,
            circular=circular,
            scale=scale,
            atom=atom,
            integers=integers,
        )
    chosen = _mechanism(mechanism, domain, promise, settings)
    # Everything that can be refused is refused before the data are read or anything is paid.
    chosen.check(domain)
    loss = chosen.loss(domain, promise)
    guarantee = promise.guarantee(loss)
    file = None if ledger is None else LedgerFile(ledger)
    label = name or output.name
    if file is not None:
        file.read().spend(label, guarantee, loss=loss)
    if users is not None:
        show_expected_error(out, domain, promise, users, chosen, guarantee)
        return
    if summary is None:
        summary = summary_of(data, column, domain, out)
    identifier = secrets.token_hex(16)

    def publish(counts: Summary) -> Publication:
        made = Publication(chosen.release(counts, promise, identifier=identifier))
        write_text(output, made.release.to_json())
        return made

    if file is None:
        published = publish(summary)
    else:
        with file.paying(label, guarantee, loss=loss, release=identifier):
            published = publish(summary)
    result = published.distribution
    document: dict[str, Any] = {
        "command": "release",
        "mechanism": chosen.to_document(),
        "guarantee": published.guarantee.to_document(),
        "identifier": identifier,
        "output": str(output),
    }
    rest = {"mechanism": chosen.name, "written": str(output)}
    if ledger is not None:
        rest["paid by"] = str(ledger)
    out.show(document, *answer_tables(output.name, result, level=0.95, rest=rest))


def _mechanism(
    name: str | None, domain: Domain, promise: Promise, settings: list[str] | None
) -> Mechanism:
    if name is None:
        if settings:
            raise ArgumentError("--set is for a mechanism that is named with --mechanism")
        return recommended_mechanism(domain, promise)
    made = pick(MECHANISMS, name, what="the mechanism")
    found: Mechanism = make_with_knobs(made, typed={}, settings=settings or ())
    return found
