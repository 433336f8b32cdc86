"""Labels are the same symbols and groups in Python, on Arrow and in frames.

Tests of Spark and of the command line read the same table.
The tests fail on errors that were planted: True as the text "True", a date that is refused, a text
that is no number's label, "01" as a text where all others are numbers.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from lapwing.engines import arrow
from lapwing.errors import ArgumentError
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.messages.group_tallies import count_groups
from tests.engines.label_cases import (
    CASES,
    DOMAINS,
    FOLDERS,
    SURVEY,
    all_reports,
    folders,
    table_of,
)


def frames(cells: list[Any]) -> dict[str, Any]:
    """Return a table with these cells in every library."""
    table = table_of(cells)
    coded = table.column("v").dictionary_encode()
    return {
        "arrow": table,
        "dictionary": table.set_column(1, "v", coded).set_column(2, "g", coded),
        "pandas": pd.DataFrame(
            {name: pd.Series(table[name].to_pylist(), dtype=object) for name in table.column_names}
        ),
        "polars": pl.from_arrow(table),
        "lazy": pl.from_arrow(table).lazy(),  # type: ignore[union-attr]
    }


@pytest.mark.parametrize("case", CASES)
def test_values(case: str, tmp_path: Path) -> None:
    cells, wanted, _ = CASES[case]
    for name, counts in wanted.items():
        domain = DOMAINS[name]
        columns = [cells, np.array(cells, object), pa.array(cells), pl.Series(cells)]
        columns += [pd.Series(cells, dtype=object), pa.array(cells).dictionary_encode()]
        for column in columns:
            found = ExactCounts.of_values(column, domain).counts.tolist()
            assert found == counts, (name, type(column))
            present = [cell for cell in cells if cell is not None]
            symbols = domain.index(present)
            assert np.bincount(symbols, minlength=len(counts) - 1).tolist() == counts[:-1]
        for kind, data in frames(cells).items():
            found = arrow.summarize(data, domain, column="v").counts.tolist()
            assert found == counts, (name, kind)


GROUPED = [case for case, (_, _, groups) in CASES.items() if groups]


@pytest.mark.parametrize("case", GROUPED)
def test_groups(case: str) -> None:
    cells, _, wanted = CASES[case]
    for column in (cells, np.array(cells, object), pa.array(cells), pd.Series(cells, dtype=object)):
        groups = count_groups(SURVEY, all_reports(), column)
        assert {name: one.total for name, one in groups.items()} == wanted, type(column)
    for kind, data in frames(cells).items():
        groups = arrow.tally(data, SURVEY, column="report", by="g").groups
        assert {name: one.total for name, one in groups.items()} == wanted, kind


def test_what_is_no_label_of_a_group_is_none_anywhere() -> None:
    decimals = [Decimal(1), Decimal(2), None, Decimal("1.5")]
    for cells in ([1.5, 2.0, None, 1.0], decimals, list(pd.date_range("2026-01-01", periods=4))):
        with pytest.raises(ArgumentError, match="whole numbers, dates"):
            count_groups(SURVEY, all_reports(), cells)
        for data in frames(cells).values():
            with pytest.raises(ArgumentError, match="whole numbers or dates"):
                arrow.tally(data, SURVEY, column="report", by="g")


@pytest.mark.parametrize("name", FOLDERS)
def test_folders(tmp_path: Path, name: str) -> None:
    folders(tmp_path)
    _, wanted = FOLDERS[name]
    root = tmp_path / name
    scanned = pl.scan_parquet(root, hive_partitioning=True)
    for data in (root, [root], scanned, ds.dataset(root, partitioning="hive")):
        groups = arrow.tally(data, SURVEY, column="report", by=name).groups
        assert {label: one.total for label, one in groups.items()} == wanted, type(data)


def test_a_dictionary_of_nothing_is_missing_values() -> None:
    nothing = pa.nulls(4).dictionary_encode()
    for name, domain in DOMAINS.items():
        found = arrow.summarize(pa.table({"v": nothing}), domain, column="v")
        assert found.counts.tolist() == [0] * (found.counts.size - 1) + [4], name
