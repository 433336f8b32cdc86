"""A process that stores reports of known codes and says which were acknowledged.

Arguments: the database, the file for what was acknowledged ("-": its output), how durable, the
codes as "first-last" with some left out by commas. Each code is one report with an id of its own.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from lapwing.service.storage.opening import SqliteStore
from lapwing.service.storage.store import ALREADY, STORED, Upload
from lapwing.service.storage.writer import Writer
from tests.service.uploading import COUNTED, batch

CONNECTIONS = 24
LINE = 64
"""Bytes that acknowledge a code: many, so that they do not pile up unread in a pipe."""


def id_of(code: int) -> bytes:
    return code.to_bytes(16, "little")


async def send(store: SqliteStore, acknowledged: int, codes: list[int]) -> None:
    writer = Writer(store)
    waiting = iter(codes)

    async def connection() -> None:
        for code in waiting:
            made = Upload(COUNTED.fingerprint, "w1", id_of(code), batch([code], COUNTED))
            outcome = await writer.submit(made)
            assert outcome.verdict in (STORED, ALREADY)
            os.write(acknowledged, code.to_bytes(LINE, "little"))

    await asyncio.gather(*(connection() for _ in range(CONNECTIONS)))
    await asyncio.to_thread(writer.stop)


def main(database: str, target: str, durable: str, wanted: str) -> None:
    store = SqliteStore(Path(database))
    driver = store._driver
    # Often, so that few reports see many checkpoints and folds.
    driver._writer.execute("PRAGMA wal_autocheckpoint = 30")  # type: ignore[attr-defined]
    driver._writer.execute(f"PRAGMA synchronous = {durable}")  # type: ignore[attr-defined]
    first, _, last = wanted.partition("-")
    left_out = {int(code) for code in os.environ.get("LEFT_OUT", "").split(",") if code}
    codes = [code for code in range(int(first), int(last)) if code not in left_out]
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    acknowledged = 1 if target == "-" else os.open(target, flags, 0o600)
    asyncio.run(send(store, acknowledged, codes))
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
