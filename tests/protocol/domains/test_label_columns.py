"""Columns of labels in frames: the same symbols and errors as of a plain list, without a loop."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lapwing as lw
from lapwing.errors import DomainError
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.label_columns import coded_labels
from lapwing.protocol.domains.unordered import Unordered

DOMAINS: dict[str, Any] = {
    "texts": lw.Categories(["b", "1", "a", "ü"]),
    "numbers": lw.Categories([3, 1, 2**40]),
    "mixed": lw.Categories(["1", 4, "2", 3, "b"], missing="category"),
    "other": lw.Categories(["b", "a", "rest", 7], other="rest"),
    "counted": lw.Categories(4, missing="category"),
    "hashed": lw.HashedStrings(20, missing="category"),
}
TEXTS: list[list[Any]] = [
    ["a", "b", "a", "1", "b"],
    ["a", None, "b"],
    ["b", "x", None, "1"],
    ["b", None, "x"],
    ["", "ü", "1 ", "a"],
    [None, None],
    [],
]
NUMBERS: list[list[Any]] = [[1, 3, 1], [3, None, 1], [2**40, 1], [0, 9, 1], [2**60, 1], [None], []]


def split(array: Any) -> pa.ChunkedArray:
    """Return chunks of sizes that differ, one of them empty and one with an offset."""
    return pa.chunked_array([array[:1], array[:0], array[1:]], array.type)


def own_dictionaries(cells: list[Any]) -> pa.ChunkedArray:
    """Return chunks whose dictionaries have other orders, and values that do not occur."""
    first = pa.array(["unused", *cells[:2]]).dictionary_encode()[1:]
    return pa.chunked_array(
        [first, pa.array(cells[2:][::-1], pa.string()).dictionary_encode()[::-1]]
    )


def categories(cells: list[Any]) -> pd.Series:
    known = sorted({cell for cell in cells if cell is not None}, key=str, reverse=True)
    return pd.Series(pd.Categorical(cells, categories=[*known, *(["zz"] if "a" in known else [])]))


Maker = Callable[[list[Any]], Any]
OF_TEXTS: dict[str, Maker] = {
    "polars": lambda cells: pl.Series(cells, dtype=pl.String),
    "polars chunks": lambda cells: pl.concat(
        [pl.Series(cells[:1], dtype=pl.String), pl.Series(cells[1:], dtype=pl.String)],
        rechunk=False,
    ),
    "polars categories": lambda cells: pl.Series(cells, dtype=pl.Categorical),
    "polars enum": lambda cells: pl.Series(
        cells,
        dtype=pl.Enum(sorted({"q", *filter(None, cells)} | ({""} & set(cells)), reverse=True)),
    ),
    "pandas string": lambda cells: pd.Series(cells, dtype="string"),
    "pandas python string": lambda cells: pd.Series(cells, dtype=pd.StringDtype("python")),
    "pandas arrow": lambda cells: pd.Series(cells, dtype=pd.ArrowDtype(pa.large_string())),
    "pandas categories": categories,
    "pandas categorical": lambda cells: pd.Categorical(cells),
    "pandas index": lambda cells: pd.Series(cells, dtype="string", index=range(9, 9 + len(cells))),
    "arrow": lambda cells: pa.array(cells, pa.string()),
    "arrow large": lambda cells: pa.array(cells, pa.large_string()),
    "arrow view": lambda cells: pa.array(cells, pa.string_view()),
    "arrow chunks": lambda cells: split(pa.array(cells, pa.string())),
    "arrow slice": lambda cells: pa.array(["a", None, *cells], pa.string())[2:],
    "arrow dictionary": lambda cells: pa.array(cells, pa.string()).dictionary_encode(),
    "arrow dictionaries": own_dictionaries,
}
OF_NUMBERS: dict[str, Maker] = {
    "polars": lambda cells: pl.Series(cells, dtype=pl.Int64),
    "polars unsigned": lambda cells: pl.Series(cells, dtype=pl.UInt64),
    "pandas": lambda cells: pd.Series(cells, dtype="Int64"),
    "pandas arrow": lambda cells: pd.Series(cells, dtype=pd.ArrowDtype(pa.int64())),
    "pandas categories": lambda cells: pd.Series(pd.Categorical(cells)),
    "arrow": lambda cells: pa.array(cells, pa.uint64()),
    "arrow chunks": lambda cells: split(pa.array(cells, pa.int64())),
    "arrow dictionary": lambda cells: pa.array(cells, pa.int64()).dictionary_encode(),
}


class Letter(StrEnum):
    """Texts of a class of its own, which are no labels."""

    B = "b"


def found(call: Callable[[], Any]) -> Any:
    """Return symbols, or an error's message and position."""
    try:
        symbols = call()
    except DomainError as error:
        return str(error), error.position
    assert symbols.dtype == np.int64
    return symbols.tolist()


def both(domain: Domain, values: Any, cells: list[Any]) -> None:
    assert isinstance(domain, Unordered)
    assert found(lambda: domain.index(values)) == found(lambda: domain.index(cells))
    if domain.missing_index is not None:
        curated = found(lambda: domain.index_or_missing(values))
        assert curated == found(lambda: domain.index_or_missing(cells))


@pytest.mark.parametrize("name", DOMAINS)
def test_the_symbols_of_a_list(name: str) -> None:
    domain = DOMAINS[name]
    makers = itertools.chain(
        itertools.product(OF_TEXTS.items(), TEXTS), itertools.product(OF_NUMBERS.items(), NUMBERS)
    )
    for (kind, make), cells in makers:
        values = make(cells)
        compared = () if isinstance(domain.listed, range) else domain.listed
        if len(cells) < 1 or cells[0] != 2**60:  # too large for some
            assert coded_labels(values, compared) is not None, kind
        both(domain, values, cells)


@pytest.mark.parametrize("name", DOMAINS)
def test_other_columns_are_gone_through(name: str) -> None:
    domain = DOMAINS[name]
    mixed: list[Any] = [1, "1", "b", None, 1.0, True]
    others: list[tuple[Any, list[Any]]] = [
        (pl.Series([True, False]), [True, False]),
        (pl.Series([1.0, 3.0, 1.5, None]), [1.0, 3.0, 1.5, None]),
        (pd.Series(mixed, dtype=object), mixed),
        (pd.Series([Letter.B, "b"], dtype=object), [Letter.B, "b"]),
        (pa.array([b"a", b"b"]), [b"a", b"b"]),
        (np.array(["a", "b"]), ["a", "b"]),
    ]
    for values, cells in others:
        assert coded_labels(values, domain.listed) is None
        both(domain, values, cells)
    held = pd.Series(pd.Categorical(mixed[:4], categories=["b", "1", 1]))
    both(domain, held, mixed[:4])


def test_what_is_broken_is_left_to_the_loop() -> None:
    broken = pa.array([b"a", b"\xff"]).view(pa.string())
    with pytest.raises(DomainError, match="position 1 "):
        DOMAINS["texts"].index(broken)


def test_surveys_and_summaries_take_them() -> None:
    domain = lw.Categories(["a", "b", "c"], missing="category")
    survey = lw.Survey("x", lw.RandomizedResponse(domain, 1))
    cells = ["a", "c", None, "b"] * 30
    series = pl.Series(cells)
    for values in (series, series.cast(pl.Categorical), pd.Series(cells, dtype="category")):
        made = survey.randomize(values, rng=lw.seeded(3))
        assert (made.data == survey.randomize(cells, rng=lw.seeded(3)).data).all()
        assert lw.protocol.ExactCounts.of_values(
            values, domain
        ) == lw.protocol.ExactCounts.of_values(cells, domain)
    query = pl.LazyFrame({"v": cells}).select("v").collect()["v"]
    assert lw.protocol.ExactCounts.of_values(query, domain) == lw.protocol.ExactCounts.of_values(
        cells, domain
    )
