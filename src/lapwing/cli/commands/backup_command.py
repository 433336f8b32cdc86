"""`lapwing backup`: a copy of a collector's database."""

from __future__ import annotations

import os
from pathlib import Path

from lapwing.cli.console import Output, facts
from lapwing.cli.outputs import check_output
from lapwing.cli.reading.collector_store import StoreOptions
from lapwing.cli.reading.options import Force, OutputFile


def backup(
    output: OutputFile,
    force: Force = False,
    *,
    where: StoreOptions,
    out: Output,
) -> None:
    """Copy a collector's whole database while it runs, as of one moment.

    The copy of an SQLite file is one that `lapwing serve` starts from. Of PostgreSQL, use its own
    pg_dump.
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
    document = {"command": "backup", "bytes": size, "output": str(output)}
    out.show(document, facts({"bytes": f"{size:,}", "written": str(output)}))
