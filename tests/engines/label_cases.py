"""One table of labels that every engine must read as the same symbols and the same groups."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import lapwing as lw
from lapwing.protocol.messages.reports import Reports

FIRST, SECOND = dt.date(2026, 1, 2), dt.date(2026, 1, 3)

DOMAINS = {
    "texts": lw.Categories(["a", "1", "2", "true", "2026-01-02", "rest"], other="rest"),
    "numbers": lw.Categories([1, 2, 9], other=9),
    "long": lw.Categories(["12345678901234567", str(2**60), "rest"], other="rest"),
    "counted": lw.Categories(3, other=2),
}

CASES: dict[str, tuple[list[Any], dict[str, list[int]], dict[str | None, int]]] = {
    # Cells; how many hold each symbol of each domain, the missing last; how many are in each group.
    # There are no groups where a cell cannot be a label of one.
    "texts": (
        ["a", "b", "a", None],
        {"texts": [2, 0, 0, 0, 0, 1, 1], "numbers": [0, 0, 3, 1], "counted": [0, 0, 3, 1]},
        {"a": 2, "b": 1, None: 1},
    ),
    "whole numbers": (
        [1, 2, 1, None],
        {"texts": [0, 2, 1, 0, 0, 0, 1], "numbers": [2, 1, 0, 1], "counted": [0, 2, 1, 1]},
        {"1": 2, "2": 1, None: 1},
    ),
    "digits": (
        ["1", "01", "1", None],
        {"texts": [0, 2, 0, 0, 0, 1, 1], "numbers": [2, 0, 1, 1], "counted": [0, 3, 0, 1]},
        {"1": 2, "01": 1, None: 1},
    ),
    "truth values": (
        [True, False, True, None],
        {"texts": [0, 0, 0, 2, 0, 1, 1], "numbers": [0, 0, 3, 1]},
        {"true": 2, "false": 1, None: 1},
    ),
    "dates": (
        [FIRST, SECOND, FIRST, None],
        {"texts": [0, 0, 0, 0, 2, 1, 1], "numbers": [0, 0, 3, 1]},
        {"2026-01-02": 2, "2026-01-03": 1, None: 1},
    ),
    "decimals": (
        [Decimal("1.00"), Decimal("1.00000000000000000001"), Decimal("2"), None],
        {"texts": [0, 1, 1, 0, 0, 1, 1], "numbers": [1, 1, 1, 1], "counted": [0, 1, 2, 1]},
        {},
    ),
    "floats": (
        [1.0, 2.0**60, 1.5, None],
        {"texts": [0, 1, 0, 0, 0, 2, 1], "numbers": [1, 0, 2, 1], "counted": [0, 1, 2, 1]},
        {},
    ),
    "long numbers": (
        [12345678901234567, 2**60, 1, None],
        {"texts": [0, 1, 0, 0, 0, 2, 1], "long": [1, 1, 1, 1]},
        {"12345678901234567": 1, str(2**60): 1, "1": 1, None: 1},
    ),
    "words": (
        ["True", "true", "None", "NaN"],
        {"texts": [0, 0, 0, 1, 0, 3, 0], "numbers": [0, 0, 4, 0], "counted": [0, 0, 4, 0]},
        {"True": 1, "true": 1, "None": 1, "NaN": 1},
    ),
}

SURVEY = lw.Survey("label", lw.RandomizedResponse(lw.Categories(4), epsilon=1))
CELLS = [b"\0", b"\1", b"\2", b"\3"]


def all_reports() -> Reports:
    """Return a report of each symbol."""
    data = np.frombuffer(b"".join(CELLS), np.uint8).reshape(4, 1)
    return Reports(data, SURVEY.randomizer.fingerprint)


def table_of(cells: list[Any]) -> pa.Table:
    """Return a table with a report, a value and a label in each row."""
    return pa.table({"report": pa.array(CELLS), "v": cells, "g": cells})


FOLDERS: dict[str, tuple[list[str], dict[str | None, int]]] = {
    # Names of folders with one, two, ... reports; how many are in each group.
    "month": (["01", "12", "__HIVE_DEFAULT_PARTITION__"], {"1": 1, "12": 2, None: 3}),
    "code": (["01", "AB"], {"01": 1, "AB": 2}),
    "day": (["2026-01-02", "2026-01-03"], {"2026-01-02": 1, "2026-01-03": 2}),
    "flag": (["true", "false"], {"true": 1, "false": 2}),
    "place": (["São%20Paulo", "a b"], {"São Paulo": 1, "a b": 2}),
}


def folders(root: Path) -> None:
    """Write a partitioned data set for each of them."""
    for name, (words, _) in FOLDERS.items():
        for number, word in enumerate(words, 1):
            folder = root / name / f"{name}={word}"
            folder.mkdir(parents=True)
            table = pa.table({"report": pa.array(CELLS[:number])})
            parquet.write_table(table, folder / "a.parquet")
