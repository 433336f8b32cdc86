"""`lapwing backup`: a copy of a collector's database."""

from __future__ import annotations

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
    check_output(output, inputs=[], force=force)
    with where.store(reading=True) as store:
        store.backup(output)
    size = output.stat().st_size
    document = {"command": "backup", "bytes": size, "output": str(output)}
    out.show(document, facts({"bytes": f"{size:,}", "written": str(output)}))
