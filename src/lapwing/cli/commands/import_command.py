"""`lapwing import`: a survey that another collector exported."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from lapwing.cli.console import Output, facts
from lapwing.cli.reading.collector_store import StoreOptions

_CHUNK = 2**20


def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="What `lapwing export` has written.")
    ],
    *,
    where: StoreOptions,
    out: Output,
) -> None:
    """Read a survey that `lapwing export` wrote into a collector's database, all or nothing.

    Of an SQLite file the collector must be stopped. A survey that is there already is refused.
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
        "command": "import",
        "survey": fingerprint,
        "epochs": epochs,
        "reports": reports,
    }
    out.show(
        document,
        facts({"survey": fingerprint, "epochs": f"{epochs:,}", "reports": f"{reports:,}"}),
    )
