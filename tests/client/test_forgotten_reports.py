"""Nothing by which a report that has arrived can be read stays in the file or its journal."""

from __future__ import annotations

import os
import random
from contextlib import closing
from pathlib import Path

import pytest

import lapwing.client.device_file as device_file
from lapwing.client.device_file import DeviceFile
from lapwing.client.outbox import Outbox, insert
from lapwing.protocol.messages.batch import Batch


def content(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def put(file: DeviceFile, number: int, rnd: random.Random) -> tuple[str, bytes, bytes]:
    """Put a batch into a file; return its id, its bytes and its key."""
    name, records = rnd.randbytes(16).hex(), rnd.randbytes(rnd.choice([33, 64, 200, 5000]))
    batch, epoch = Batch("f" * 64, 0, records, 1), f"e{rnd.getrandbits(40):x}-{number}"
    with file.transaction() as connection:
        insert(connection, batch, epoch, text="0" * 64, id=name, days=60)
        row = connection.execute(
            "SELECT key FROM report_key ORDER BY number DESC LIMIT 1"
        ).fetchone()
    return name, records, row["key"]


@pytest.mark.parametrize("gateway", [False, True])
def test_no_byte_of_a_report_or_its_key_is_left(tmp_path: Path, gateway: bool) -> None:
    """Of 400 runs without keys one had a report in the free space of a page that was divided."""
    rnd = random.Random(11)
    file = DeviceFile(tmp_path / "device.lapwing")
    file.create(ledger=None if gateway else "{}")
    box = Outbox(file)
    waiting: list[tuple[str, bytes, bytes]] = []
    settled: list[tuple[str, bytes, bytes]] = []
    for number in range(260):  # more keys than a page has
        waiting.append(put(file, number, rnd))
        while waiting and (rnd.random() < 0.55 or len(waiting) > 40):
            one = waiting.pop(rnd.randrange(len(waiting)))
            if rnd.random() < 0.3:
                box.postpone(one[0], "503" * rnd.randrange(1, 9), until=0)
                waiting.append(one)
            else:
                parcel = box.parcel(one[0])
                assert parcel is not None and Batch.from_bytes(parcel.body).records == one[1]
                if rnd.random() < 0.2:
                    assert box.withdraw(None, parcel.epoch) == 1
                else:
                    box.settle(one[0], rnd.choice(["stored", "refused", "expired"]), None)
                settled.append(one)
                assert one[2] not in content(tmp_path)
        if number % 20 == 19:
            left = content(tmp_path)
            assert all(key not in left for _, _, key in settled)
            assert all(body[:12] not in left for _, body, _ in (*settled, *waiting))
    assert len(settled) > 150 and waiting


def test_the_journal_is_overwritten_where_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a file has that was removed can be found on the disk."""
    file = DeviceFile(tmp_path / "device.lapwing")
    file.create(ledger="{}")
    name, _, key = put(file, 0, random.Random(1))
    journals: list[int] = []
    found: list[bool] = []
    real = device_file._connected

    def connected(path: Path) -> object:
        connection = real(path)

        def trace(statement: str) -> None:
            if statement == "COMMIT":
                journals.append(os.open(f"{path}-journal", os.O_RDONLY))
                found.append(key in os.pread(journals[-1], 10**6, 0))

        connection.set_trace_callback(trace)
        return connection

    monkeypatch.setattr(device_file, "_connected", connected)
    Outbox(file).settle(name, "stored", None)
    assert found == [True]
    with closing(os.fdopen(journals[0], "rb")) as stream:
        left = stream.read()
    assert left and not left.strip(b"\x00")
