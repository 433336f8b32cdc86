"""Tallies of segments as a table of Arrow, and in a Parquet file: a row for each segment.

The last row is the rest, whose labels are all null. Counts have the smallest type that holds them.
A file is written and read some segments at a time. So all counts of all segments, most of which may
be 0, are never in memory together.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lapwing.documents import opening
from lapwing.errors import ArgumentError, FormatError, LapwingError, MissingExtraError, TallyError
from lapwing.privacy.guarantee import checked_standing
from lapwing.protocol.messages.group_labels import joined, label_in_columns
from lapwing.protocol.messages.group_tally import GroupTally, TallyForm
from lapwing.protocol.messages.tally import Tally, TallyLog

FORMAT = "lapwing-group-tallies"
VERSION = 1

KEYS = ("lapwing.format", "lapwing.version", "lapwing.tally")
"""What the schema says: what it is, its version, and of whom the tallies are."""

_MARK = b"PAR1"
_CELLS_AT_ONCE = 2**22
_SEGMENT = "segment"
_OURS = ("reports", "counts", "records")


class Groups(Protocol):
    """Tallies of segments."""

    @property
    def segments(self) -> Mapping[Any, Tally]:
        """Those that are kept apart."""
        ...

    @property
    def rest(self) -> Tally | None:
        """That of all other people."""
        ...

    @property
    def columns(self) -> Sequence[str]:
        """The columns whose labels name the segments."""
        ...


def table_of(groups: Groups) -> Any:
    """Return a row for each segment as a pyarrow.Table."""
    pa = _pyarrow()
    schema = _schema(groups)
    return pa.Table.from_batches(list(_batches(groups, schema)), schema=schema)


def write_table(groups: Groups, stream: IO[bytes]) -> None:
    """Write the table as Parquet."""
    _pyarrow()
    from pyarrow import parquet

    schema = _schema(groups)
    with parquet.ParquetWriter(stream, schema, write_page_checksum=True) as writer:
        for batch in _batches(groups, schema):
            writer.write_batch(batch)


def read_table(path: Path) -> tuple[Mapping[Any, Tally], Tally | None, list[str]]:
    """Return segments, rest and columns of a table, or raise FormatError."""
    pa = _pyarrow()
    from pyarrow import parquet

    with opening(path), path.open("rb") as stream:
        try:
            file = parquet.ParquetFile(stream, page_checksum_verification=True)
            form, columns, named = _head(file.schema_arrow)
            rows = max(1, _CELLS_AT_ONCE // max(form.cells, 1))
            parts = [_part(batch, form, columns, named) for batch in file.iter_batches(rows)]
        except (pa.ArrowException, OSError):
            raise FormatError(f"{path.name} cannot be read as Parquet: it is damaged") from None
        except (LapwingError, KeyError, TypeError, ValueError) as error:
            reason = str(error) if isinstance(error, LapwingError) else "it is damaged"
            raise FormatError(f"{path.name} must contain tallies of segments: {reason}") from None
    with opening(path):
        try:
            return _groups(parts, columns if named else [])
        except LapwingError as error:
            raise FormatError(f"{path.name} is damaged: {error}") from None


def is_group_table(path: Path) -> bool:
    """Return whether a file is a table that says that it holds tallies of segments."""
    with path.open("rb") as stream:
        if stream.read(len(_MARK)) != _MARK:
            return False
    pa = _pyarrow()
    from pyarrow import parquet

    try:
        said = parquet.read_schema(path).metadata or {}
    except (pa.ArrowException, OSError):
        return False  # whoever reads it says what is wrong
    return bool(said.get(KEYS[0].encode()) == FORMAT.encode())


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow", extra="data") from None
    return pyarrow


def _schema(groups: Groups) -> Any:
    pa = _pyarrow()
    columns = list(groups.columns) or [_SEGMENT]
    if set(columns) & set(_OURS):
        raise ArgumentError(
            f"the columns of segments must not be named {', '.join(_OURS)}. Rename the column"
        )
    form = _form_of(groups)
    fields = [*(pa.field(name, pa.string()) for name in columns), pa.field("reports", pa.int64())]
    if form.is_log:
        fields.append(pa.field("records", pa.large_binary()))
    else:
        largest = max((int(counts.max()) for _, counts in _rows(groups) if counts.size), default=0)
        kind = next(bits for bits in (8, 16, 32, 64) if largest < 2**bits)
        if len(form.sizes) > 1:
            fields.append(pa.field("block_reports", pa.list_(pa.int64(), len(form.sizes))))
        fields.append(pa.field("counts", pa.list_(getattr(pa, f"uint{kind}")(), sum(form.sizes))))
    about = {
        "columns": list(groups.columns),
        "sizes": list(form.sizes),
        "width": form.width,
        "randomizer": form.fingerprint,
        "survey": form.survey,
        **({} if form.standing is None else {"standing": form.standing}),
    }
    words = (FORMAT, str(VERSION), json.dumps(about))
    return pa.schema(fields, metadata=dict(zip(KEYS, words, strict=True)))


def _form_of(groups: Groups) -> TallyForm:
    if isinstance(groups.segments, GroupTally):
        form = groups.segments.form
        return form if groups.rest is None else form.marked(groups.rest.standing)
    return TallyForm.of(next(iter(groups.segments.values()), groups.rest))  # type: ignore[arg-type]


def _rows(groups: Groups) -> Iterator[tuple[str | None, NDArray[Any]]]:
    """Yield each segment with all its numbers, people of blocks first. A log's sorted reports."""
    for name in groups.segments:
        yield name, _numbers(groups.segments[name])
    if groups.rest is not None:
        yield None, _numbers(groups.rest)


def _numbers(tally: Tally) -> NDArray[Any]:
    if tally.kind == "log":
        return np.asarray(tally.blocks[0])
    return np.concatenate([np.array(tally.reports, dtype=np.int64), *tally.blocks])


def _batches(groups: Groups, schema: Any) -> Iterator[Any]:
    form = _form_of(groups)
    names: list[str | None] = []
    rows: list[NDArray[Any]] = []
    for name, numbers in _rows(groups):
        names.append(name)
        rows.append(numbers)
        if sum(row.size for row in rows) >= _CELLS_AT_ONCE:
            yield _batch(names, rows, groups, form, schema)
            names, rows = [], []
    if names:
        yield _batch(names, rows, groups, form, schema)


def _batch(
    names: list[str | None], rows: list[NDArray[Any]], groups: Groups, form: TallyForm, schema: Any
) -> Any:
    pa = _pyarrow()
    split = zip(*(label_in_columns(groups.columns, name) for name in names), strict=True)
    columns = [pa.array(labels, pa.string()) for labels in split]
    if form.is_log:
        columns.append(pa.array([row.size for row in rows], pa.int64()))
        logs = [TallyLog([row], form.width, form.fingerprint) for row in rows]
        records = [log.records() for log in logs]
        columns.append(pa.array(records, pa.large_binary()))
        return pa.record_batch(columns, schema=schema)
    blocks, whole = len(form.sizes), np.vstack(rows)
    columns.append(pa.array(whole[:, :blocks].sum(axis=1)))
    if blocks > 1:
        columns.append(_lists(whole[:, :blocks], schema.field("block_reports").type))
    columns.append(_lists(whole[:, blocks:], schema.field("counts").type))
    return pa.record_batch(columns, schema=schema)


def _lists(whole: NDArray[np.int64], kind: Any) -> Any:
    pa = _pyarrow()
    values = whole.astype(kind.value_type.to_pandas_dtype())
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), whole.shape[1])


def _head(schema: Any) -> tuple[TallyForm, list[str], bool]:
    """Return whose tallies a table holds, its columns of labels, and whether they were named."""
    said = schema.metadata or {}
    name, version, about = (said.get(key.encode(), b"").decode(errors="replace") for key in KEYS)
    if name != FORMAT:
        raise FormatError("its schema does not say so. Check the name")
    if version != str(VERSION):
        raise FormatError(f"it is of version {version[:20]}, but this software reads {VERSION}")
    words = json.loads(about)
    columns, sizes, width = words["columns"], words["sizes"], words["width"]
    whole = [*sizes, width]
    if any(type(number) is not int or number < 0 for number in whole) or width > 8:
        raise FormatError("it is damaged")
    form = TallyForm(tuple(sizes), width, words["randomizer"], words["survey"])
    form = form.marked(checked_standing(words.get("standing")))
    return form, columns or [_SEGMENT], bool(columns)


def _part(batch: Any, form: TallyForm, columns: list[str], named: bool) -> GroupTally:
    """Return the tallies of some rows."""
    labels = [batch.column(name).to_pylist() for name in columns]
    names = [
        joined(columns, row) if len(columns) > 1 else row[0] for row in zip(*labels, strict=True)
    ]
    if form.is_log:
        tallies = {
            name: TallyLog.from_records(
                cell, form.width, form.fingerprint, form.survey, form.standing
            )
            for name, cell in zip(names, batch.column("records").to_pylist(), strict=True)
        }
        return GroupTally.of(tallies)
    if form.blocks > 1:
        people = _matrix(batch, "block_reports", form.blocks).astype(np.int64)
    else:
        people = batch.column("reports").to_numpy(zero_copy_only=False)[:, None].astype(np.int64)
    if len(set(names)) < len(names) or (people < 0).any():
        raise TallyError("it is damaged")
    whole = _matrix(batch, "counts", sum(form.sizes)).astype(np.int64)
    if (whole < 0).any():
        raise TallyError("it is damaged")
    places, cells = np.nonzero(whole)
    starts = np.searchsorted(places, np.arange(len(names) + 1)).astype(np.int64)
    return GroupTally(form, names, people, starts, cells, whole[places, cells])


def _matrix(batch: Any, name: str, size: int) -> NDArray[Any]:
    column = batch.column(name)
    if column.null_count or column.type.list_size != size:
        raise TallyError("it is damaged")
    values: NDArray[Any] = column.flatten().to_numpy(zero_copy_only=False)
    return values.reshape(len(column), size)


def _groups(
    parts: list[GroupTally], columns: list[str]
) -> tuple[Mapping[Any, Tally], Tally | None, list[str]]:
    if not parts:
        raise TallyError("it has no rows")
    whole = parts[0]
    for part in parts[1:]:
        whole = whole + part
    if len(whole) < sum(len(part) for part in parts):
        raise TallyError("it names a segment twice")
    rest = whole.get(None)
    numbers = [n for n, label in enumerate(whole.labels) if label is not None]
    numbers.sort(key=lambda n: whole.labels[n] or "")
    segments: Any = whole.selection(np.array(numbers, dtype=np.int64)) if numbers else {}
    return segments, rest, columns
