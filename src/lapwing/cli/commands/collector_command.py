"""`lapwing collector`: a collector's database, as files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from lapwing.cli.console import Output, check_output, facts, writing
from lapwing.cli.reading.collector_store import StoreOptions
from lapwing.cli.reading.options import Force, OutputFile
from lapwing.errors import ArgumentError
from lapwing.results.rounding import count_text

_CHUNK = 2**20


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
    """One survey of a collector with all its reports, as a file.

    The collector may keep running: the file is a snapshot. It holds reports and the ids of batches,
    and no token. `lapwing collector import` reads it.
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
    document = {
        "command": "collector export",
        "survey": named[0],
        "bytes": size,
        "output": str(output),
    }
    out.show(document, facts({"survey": named[0], "written": str(output)}))


def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="What `lapwing collector export` has written.")
    ],
    *,
    where: StoreOptions,
    out: Output,
) -> None:
    """A survey that another collector exported, all or nothing.

    Stop the collector first if its database is an SQLite file. A survey that already exists in the
    database is refused.
    """
    with file.open("rb") as stream:

        def chunks() -> Iterator[bytes]:
            while chunk := stream.read(_CHUNK):
                yield chunk

        with where.store(reading=False) as store:
            fingerprint = store.import_(chunks())
            epochs = len(store.epochs(fingerprint))
            reports = sum(total.reports for total in store.totals(fingerprint))
    document = {
        "command": "collector import",
        "survey": fingerprint,
        "epochs": epochs,
        "reports": reports,
    }
    out.show(
        document,
        facts(
            {"survey": fingerprint, "epochs": count_text(epochs), "reports": count_text(reports)}
        ),
    )


def backup(
    output: OutputFile,
    force: Force = False,
    *,
    where: StoreOptions,
    out: Output,
) -> None:
    """A copy of a collector's database, made while it runs.

    `lapwing serve` starts from the copy of an SQLite file. For PostgreSQL, use its own pg_dump.
    """
    settings, _ = where.settings()
    own = [] if "://" in settings.database else [Path(settings.database)]
    check_output(output, inputs=own, force=force)
    fresh = output.with_name(f".{output.name}.new")
    try:
        with where.store(reading=True) as store:
            store.backup(fresh)
        os.replace(fresh, output)
    finally:
        fresh.unlink(missing_ok=True)
    size = output.stat().st_size
    document = {"command": "collector backup", "bytes": size, "output": str(output)}
    out.show(document, facts({"bytes": count_text(size), "written": str(output)}))
