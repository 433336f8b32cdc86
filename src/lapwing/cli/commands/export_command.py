"""`lapwing export`: one survey of a collector, as a file."""

from __future__ import annotations

from typing import Annotated

import typer

from lapwing.cli.console import Output, facts
from lapwing.cli.outputs import check_output, writing
from lapwing.cli.reading.collector_store import StoreOptions
from lapwing.cli.reading.options import Force, OutputFile
from lapwing.errors import ArgumentError


def export(
    survey: Annotated[
        str,
        typer.Argument(metavar="FINGERPRINT", help="Of the survey: all 64 digits, or the first."),
    ],
    output: OutputFile,
    force: Force = False,
    *,
    where: StoreOptions,
    out: Output,
) -> None:
    """Write a survey of a collector, with all that was collected for it, into a file.

    The collector may go on meanwhile: the file is as of one moment. It holds reports and the ids of
    batches, and no token. `lapwing import` reads it.
    """
    check_output(output, inputs=[], force=force)
    with where.store(reading=True) as store:
        known = [each.fingerprint for each in store.surveys()]
        named = [each for each in known if each.startswith(survey)] if survey else []
        if len(named) != 1:
            raise ArgumentError(
                f"there must be one survey whose fingerprint begins so, there are {len(named)}"
            )
        size = 0
        with writing(output, mode=0o600) as stream:  # as the database it comes from
            for chunk in store.export(named[0]):
                size += len(chunk)
                stream.write(chunk)
    document = {"command": "export", "survey": named[0], "bytes": size, "output": str(output)}
    out.show(document, facts({"survey": named[0], "written": str(output)}))
