"""`lapwing recommend`: which randomizer to use, how large the error will be, how many people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from lapwing.cli.console import Output, facts, grid
from lapwing.cli.domain_options import (
    Atoms,
    Bins,
    Bounds,
    Circular,
    High,
    Labels,
    LabelsFile,
    Low,
    Missing,
    Outside,
    Scale,
    UnitName,
    WholeNumbers,
    domain_of,
)
from lapwing.cli.options import AsJson, Quiet
from lapwing.cli.wording import count_text, domain_text
from lapwing.expected_error import ExpectedError
from lapwing.guarantee import exact_epsilon
from lapwing.recommendation import recommend as recommendation
from lapwing.recommendation import recommended_bins

if TYPE_CHECKING:
    from rich.table import Table


def recommend(
    epsilon: Annotated[
        str,
        typer.Option(
            "--epsilon", metavar="NUMBER", help="The promise of one report, in (0, 24]; also 1/3."
        ),
    ],
    users: Annotated[
        int | None, typer.Option("--users", metavar="N", help="How many people will report.")
    ] = None,
    error: Annotated[
        float | None,
        typer.Option(
            "--error",
            metavar="SHARE",
            help="Instead of --users: the error to be reached, and how many people it needs.",
        ),
    ] = None,
    distance: Annotated[
        str | None,
        typer.Option(
            "--distance",
            metavar="NAME",
            help="What is to be small: wasserstein (default) or kolmogorov-smirnov; of "
            "categories l1 (default), mean-squared-error or detectable-share.",
        ),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            metavar="KIND",
            help="The column to plan for: typical (the mean of all), smooth, multimodal or spiky.",
        ),
    ] = "typical",
    refine: Annotated[
        bool, typer.Option("--refine", help="Simulate the answer instead of reading the table.")
    ] = False,
    report_bytes: Annotated[
        int | None,
        typer.Option(
            "--report-bytes", metavar="N", help="Of categories: the most bytes of a report."
        ),
    ] = None,
    server_seconds: Annotated[
        float | None,
        typer.Option(
            "--server-seconds",
            metavar="SECONDS",
            help="Of categories: about the most processor time to tally and decode.",
        ),
    ] = None,
    low: Low = None,
    high: High = None,
    bounds: Bounds = None,
    bins: Bins = None,
    unit: UnitName = None,
    circular: Circular = False,
    scale: Scale = None,
    atom: Atoms = None,
    integers: WholeNumbers = None,
    categories: Labels = None,
    categories_file: LabelsFile = None,
    outside: Outside = None,
    missing: Missing = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Say which randomizer and decoder to use, and what error to expect.

    Nothing is measured on people: errors were simulated on made-up columns, from smooth to
    spiky. Without --bins an interval gets the number that suits epsilon.
    """
    out = Output(as_json, quiet)
    promise = exact_epsilon(epsilon)
    if bins is None and (bounds is not None or high is not None):
        bins = recommended_bins(promise)
    domain = domain_of(
        low=low,
        high=high,
        bounds=bounds,
        bins=bins,
        unit=unit,
        circular=circular,
        scale=scale,
        atom=atom,
        integers=integers,
        categories=categories,
        categories_file=categories_file,
        outside=outside,
        missing=missing,
    )
    with out.listening():
        found = recommendation(
            domain,
            epsilon=promise,
            users=users,
            error=error,
            distance=None if distance is None else distance.replace("-", "_"),
            kind=kind,
            refine=refine,
            report_bytes=report_bytes,
            server_seconds=server_seconds,
        )
    rows = {
        "domain": domain_text(domain),
        "randomizer": found.randomizer.name,
        "decoder": found.decoder.name,
        "promise": str(found.randomizer.guarantee),
        "bytes per report": str(found.report_bytes),
        "people" if error is None else "people needed": count_text(found.users),
        "reason": found.reason,
    }
    document = {"command": "recommend", **found.to_document()}
    out.show(document, facts(rows), _errors(found.expected_error, found.predicted_by))


def _errors(expected: Mapping[str, ExpectedError], source: str) -> Table:
    """Return the table of predicted errors: a row for each distance."""
    kinds = list(dict.fromkeys(kind for error in expected.values() for kind in error.by_kind))
    typical = ["typical"] if len(kinds) > 1 else []
    rows = [
        [
            distance.replace("_", "-"),
            *(
                f"{error.of(kind):.2g}" if kind in ("typical", *error.by_kind) else ""
                for kind in [*typical, *kinds]
            ),
        ]
        for distance, error in expected.items()
    ]
    return grid(f"expected error, by {source}", ["distance", *typical, *kinds], rows)
