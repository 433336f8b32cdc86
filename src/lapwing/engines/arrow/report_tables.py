"""Reports in files: the compact format, Parquet, Arrow or CSV, by the ending of the name.

===========  ========================================================================
.lwr         the compact report file, see `lapwing.protocol.messages.reports`.
             Only here is a torn end told from a whole file, and what stands before it kept
.parquet     one column "report" of fixed-size binary. The schema's metadata name the
             format, its version and the fingerprints of survey and randomizer
.arrow       the same column and metadata in Arrow's own file format. .feather is another
             name for it
.csv         a first line ``# lapwing-reports 1 survey=<hex> randomizer=<hex>``, then
             the column name "report", then a report in hexadecimal on each line
===========  ========================================================================

All but the first may hold a second column with the public label of each person's group. Each says
whether its reports were drawn from a seed.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from binascii import unhexlify
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from string import hexdigits
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from lapwing.engines.arrow.inputs import STDIN, input_name, pyarrow_or_error, reading
from lapwing.engines.arrow.table_reader import Table
from lapwing.errors import (
    ArgumentError,
    FormatError,
    MismatchError,
    ReportError,
    TornFileError,
    kind_of,
)
from lapwing.privacy.guarantee import Standing, checked_standing
from lapwing.protocol.messages.reports import (
    Header,
    Reports,
    read_blocks,
    read_header,
    reports_per_block,
    write_blocks,
)
from lapwing.survey.survey import Survey

LABELED_ENDINGS = (".parquet", ".arrow", ".feather", ".csv")
ENDINGS = (".lwr", *LABELED_ENDINGS)

Labeled = tuple[Reports, list[str | None]]
VERSION = "1"

KEYS = ("lapwing.format", "lapwing.version", "lapwing.survey", "lapwing.randomizer")
"""What a table of reports says besides its columns."""
STANDING = "lapwing.standing"
"""What it says of reports that are not private. Other reports have no such word."""

_HEADER = re.compile(
    r"# lapwing-reports (\S+) survey=([0-9a-f]{64}) randomizer=([0-9a-f]{64})(?: standing=(\S+))?"
)
_DIGITS = np.frombuffer(
    "".join(f"{byte:02x}" for byte in range(256)).encode(), dtype=np.uint8
).reshape(256, 2)


# Writing.


def write_reports(
    stream: IO[bytes],
    survey: Survey,
    batches: Iterable[Any],
    *,
    ending: str,
    by: str | None = None,
) -> int:
    """Write batches of reports, with the labels alongside them. Return how many reports.

    survey: Whose fingerprint the file carries.
    batches: With labels where there is a column of them. All have the standing of the first.
    ending: One of ENDINGS. With labels one of LABELED_ENDINGS.
    by: The name of the column of labels.
    """
    check_label_column(by)
    batches = iter(batches)
    first = list(islice(batches, 1))
    batches = chain(first, batches)
    standing = None
    for one in first:
        standing = (one if by is None else one[0]).standing
    if ending == ".lwr":
        return write_blocks(stream, _header(survey, standing), batches)
    labeled: Iterable[Labeled] = batches if by is not None else ((batch, []) for batch in batches)
    if ending == ".csv":
        return _write_csv(stream, survey, labeled, by, standing)
    writer = _parquet_writer if ending == ".parquet" else _arrow_writer
    total = 0
    with writer(stream, report_schema(survey, by=by, standing=standing)) as opened:
        for reports, labels in labeled:
            opened.write_batch(report_batch(reports, survey, labels=labels, by=by))
            total += len(reports)
    return total


def check_label_column(by: Any) -> None:
    """Raise ArgumentError unless this may name the column of labels alongside reports."""
    if by is not None and not isinstance(by, str):
        raise ArgumentError(
            "by",
            "must be the name of one column",
            kind_of(by),
            "For a second label, write the reports of each of its values to a separate folder, "
            "such as country=PT",
        )
    if by == "report":
        raise ArgumentError("the column of labels must not be named 'report'. Rename it")


def report_schema(survey: Survey, *, by: str | None, standing: Standing | None = None) -> Any:
    """Return the pyarrow.Schema of a table of reports, which says whose they are.

    by: The name of the column of labels. None for no such column.
    standing: Of the reports.
    """
    pa = pyarrow_or_error()
    check_label_column(by)
    fields = [pa.field("report", pa.binary(survey.randomizer.report_width), nullable=False)]
    if by is not None:
        fields.append(pa.field(by, pa.string()))
    return pa.schema(fields, metadata=report_words(survey, standing))


def report_batch(
    reports: Reports, survey: Survey, *, labels: list[str | None] | None, by: str | None
) -> Any:
    """Return reports, and the label of each where there are any, as a pyarrow.RecordBatch."""
    pa = pyarrow_or_error()
    schema = report_schema(survey, by=by, standing=reports.standing)
    data = pa.py_buffer(np.ascontiguousarray(reports.data))
    kind = schema.field("report").type
    columns = [pa.FixedSizeBinaryArray.from_buffers(kind, len(reports), [None, data])]
    if by is not None:
        columns.append(pa.array(labels, pa.string()))
    return pa.record_batch(columns, schema=schema)


def _header(survey: Survey, standing: Standing | None) -> Header:
    randomizer = survey.randomizer
    return Header(randomizer.report_width, survey.fingerprint, randomizer.fingerprint, standing)


def report_words(survey: Survey, standing: Standing | None = None) -> dict[str, str]:
    """Return what a table of reports says besides its columns: whose they are."""
    values = ("lapwing-reports", VERSION, survey.fingerprint, survey.randomizer.fingerprint)
    words = dict(zip(KEYS, values, strict=True))
    return words if standing is None else {**words, STANDING: standing}


def _parquet_writer(stream: IO[bytes], schema: Any) -> Any:
    pyarrow_or_error()
    from pyarrow import parquet

    return parquet.ParquetWriter(stream, schema, use_dictionary=False, write_page_checksum=True)


def _arrow_writer(stream: IO[bytes], schema: Any) -> Any:
    pa = pyarrow_or_error()
    return pa.ipc.new_file(stream, schema)


def _write_csv(
    stream: IO[bytes],
    survey: Survey,
    batches: Iterable[Labeled],
    by: str | None,
    standing: Standing | None,
) -> int:
    words = f"survey={survey.fingerprint} randomizer={survey.randomizer.fingerprint}"
    words += "" if standing is None else f" standing={standing}"
    heading = "report" if by is None else f"report,{_quoted(by)}"
    stream.write(f"# lapwing-reports {VERSION} {words}\n{heading}\n".encode())
    total = 0
    for batch, labels in batches:
        lines = np.empty((len(batch), 2 * batch.width + 1), dtype=np.uint8)
        lines[:, :-1] = _DIGITS[batch.data].reshape(len(batch), 2 * batch.width)
        lines[:, -1] = ord("\n")
        total += len(batch)
        if by is None:
            stream.write(lines.data)
            continue
        texts = lines[:, :-1].tobytes().decode("ascii")
        digits = lines.shape[1] - 1
        rows = (
            f"{texts[digits * row : digits * (row + 1)]},{_quoted(label or '')}\n"
            for row, label in enumerate(labels)
        )
        stream.write("".join(rows).encode())
    return total


def _quoted(label: str) -> str:
    """Return a label as one field of a CSV."""
    if "\n" in label or "\r" in label:
        raise ArgumentError(
            "the label of a group must be one line, but one is not. Rename the group"
        )
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow([label])
    return text.getvalue()


# Reading.


def read_reports(path: Path, survey: Survey) -> Iterator[Reports]:
    """Yield the reports of a compact file or a CSV in batches. Neither needs pyarrow.

    path: "-" is standard input, in the compact format.
    survey: Whose reports they must be.

    Raises MismatchError when another survey collected them. Nothing was yielded.
    Raises TornFileError when a block of a compact file is torn or damaged. All that is intact was
    yielded.
    Raises FormatError when the file is foreign or damaged.
    Raises ReportError at a report of a wrong length.
    """
    if path == STDIN:
        yield from _read_compact(sys.stdin.buffer, path, survey)
    elif path.suffix.lower() == ".csv":
        yield from _read_csv(path, survey)
    else:
        with path.open("rb") as stream:
            yield from _read_compact(stream, path, survey)


def _check(path: Path, survey: Survey, *, of_survey: str | None, of_randomizer: str) -> None:
    if of_survey not in (None, survey.fingerprint):
        raise MismatchError(
            f"{input_name(path)} contains reports of survey {of_survey[:12]}, but this survey "
            f"is {survey.fingerprint[:12]}. Use the survey file that asked for them"
        )
    if of_randomizer != survey.randomizer.fingerprint:
        raise MismatchError(
            f"{input_name(path)} contains reports of randomizer {of_randomizer[:12]}, but this "
            f"survey's is {survey.randomizer.fingerprint[:12]}. They cannot be counted"
        )


def _read_compact(stream: IO[bytes], path: Path, survey: Survey) -> Iterator[Reports]:
    header = read_header(stream, name=input_name(path))
    _check(path, survey, of_survey=header.survey, of_randomizer=header.randomizer)
    if header.width != survey.randomizer.report_width:
        raise FormatError(
            f"{input_name(path)} must contain reports of {survey.randomizer.report_width} "
            f"bytes, but its header says {header.width}"
        )
    named = Path("standard input") if path == STDIN else path
    yield from _joined(read_blocks(stream, header, path=named), header.width)


def _joined(blocks: Iterator[Reports], width: int) -> Iterator[Reports]:
    """Yield many blocks as one batch. Those before an error are yielded before it is raised."""
    waiting: list[Reports] = []
    error: TornFileError | None = None
    most = reports_per_block(width)
    while True:
        try:
            block = next(blocks, None)
        except TornFileError as torn:
            block, error = None, torn
        held = sum(len(one) for one in waiting)
        if waiting and (block is None or held + len(block) > most):
            yield replace(waiting[0], data=np.vstack([one.data for one in waiting]))
            waiting = []
        if error is not None:
            raise error
        if block is None:
            return
        waiting.append(block)


def check_report_table(
    path: Path, metadata: Mapping[str, str], survey: Survey, *, required: bool = False
) -> bool:
    """Return whether the schema of a table says that it holds reports of this survey.

    metadata: The schema's metadata.
    required: Whether a table that says nothing is refused.

    Raises MismatchError when it says that they are of another survey.
    Raises FormatError when it says that they are of a version that is not known, or must say more.
    """
    known, version, of_survey, of_randomizer = (metadata.get(key, "") for key in KEYS)
    if known != "lapwing-reports":
        if required:
            raise FormatError(
                f"{path.name} must contain reports written by lapwing, but its schema does not "
                "say so. Check the name, or give the column of reports with --column"
            )
        return False
    _check_version(path, version)
    _check(path, survey, of_survey=of_survey, of_randomizer=of_randomizer)
    return True


def open_report_csv(path: Path, survey: Survey, by: Sequence[str]) -> Table:
    """Return a CSV of reports that this package wrote as a table. Errors as of `read_reports`."""
    with path.open("rb") as stream:
        names, standing = _csv_head(stream, path, survey, by)
        empty = not stream.read(1)
    said = {} if standing is None else {STANDING: standing}
    return Table(path, tuple(names), 0 if empty else None, typed=False, skip=1, metadata=said)


def words_of_csv(line: bytes, path: Path) -> tuple[str, str, Standing | None]:
    """Return fingerprints of survey and randomizer, and standing, in the first line of a CSV."""
    words = _HEADER.fullmatch(line.decode("ascii", errors="replace").strip())
    if words is None:
        raise FormatError(
            f"{path.name} must contain reports written by lapwing, but its first two lines do "
            "not say so. Check the name, or give the column of reports with --column"
        )
    version, of_survey, of_randomizer, standing = words.groups()
    _check_version(path, version)
    return of_survey, of_randomizer, checked_standing(standing)


def words_of_table(path: Path) -> tuple[str, str, Standing | None, int]:
    """Return the words of :func:`words_of_csv` in a Parquet or Arrow file, and its rows."""
    pa = pyarrow_or_error()
    from pyarrow import parquet

    with path.open("rb") as stream:
        is_parquet = stream.read(4) == b"PAR1"
    with reading(path):
        if is_parquet:
            schema, number = parquet.read_schema(path), parquet.read_metadata(path).num_rows
        else:
            with pa.memory_map(str(path)) as source:
                file = pa.ipc.open_file(source)
                batches = range(file.num_record_batches)
                schema = file.schema
                number = sum(file.get_batch(batch).num_rows for batch in batches)
    words = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
    kind, version, of_survey, of_randomizer = (words.get(key, "") for key in KEYS)
    _check_columns(path, ["report"] if kind == "lapwing-reports" else [], ())
    _check_version(path, version)
    return of_survey, of_randomizer, checked_standing(words.get(STANDING)), number


def load_report_table(path: Path) -> Reports:
    """Return all reports in a Parquet, Arrow or CSV file that says whose they are.

    Labels alongside the reports are left out.

    Raises FormatError when it is of another kind or of an unknown version, or damaged.
    """
    with path.open("rb") as stream:
        if stream.read(1) == b"#":
            stream.seek(0)
            of_survey, of_randomizer, standing = words_of_csv(stream.readline(300), path)
            _check_columns(path, next(csv.reader([stream.readline(2000).decode().strip()])), ())
            lines = [line.rstrip(b"\r\n").partition(b",")[0] for line in stream]
            try:
                data = _bytes_of(lines, len(lines[0]) if lines else 2, path=path, row=0)
            except ReportError as error:
                raise FormatError(str(error)) from None
            return Reports(data, of_randomizer, of_survey, standing)
    of_survey, of_randomizer, standing, _ = words_of_table(path)
    pa = pyarrow_or_error()
    from pyarrow import parquet

    content = pa.py_buffer(path.read_bytes())
    with reading(path):
        if content[:4] == b"PAR1":
            table = parquet.read_table(content, columns=["report"], page_checksum_verification=True)
        else:
            table = pa.ipc.open_file(content).read_all()
        column = table["report"].combine_chunks()
    if not pa.types.is_fixed_size_binary(column.type) or column.null_count:
        raise FormatError(
            f"{path.name} must contain reports of the same width in all rows, but it does not"
        )
    width = column.type.byte_width
    data = np.frombuffer(column.buffers()[1] or b"", dtype=np.uint8)
    data = data[column.offset * width :][: len(column) * width].reshape(-1, width)
    return Reports(data, of_randomizer, of_survey, standing)


def _csv_head(
    stream: IO[bytes], path: Path, survey: Survey, by: Sequence[str]
) -> tuple[list[str], Standing | None]:
    """Read the two lines before the reports. Return the names of the columns, and the standing."""
    first = stream.readline(300)
    heading = stream.readline(2000).decode("utf-8", errors="replace").strip()
    first = first if heading.startswith("report") else b""
    of_survey, of_randomizer, standing = words_of_csv(first, path)
    names = next(csv.reader([heading]))
    _check_columns(path, names, by)
    _check(path, survey, of_survey=of_survey, of_randomizer=of_randomizer)
    return names, standing


def _check_columns(path: Path, names: list[str], by: Sequence[str]) -> None:
    """Raise unless a table has reports, alongside them at most labels, and the labels asked for."""
    if names[:1] != ["report"] or len(names) > 2:
        raise FormatError(
            f"{path.name} must contain reports written by lapwing, but its schema does not say "
            "so. Check the name"
        )
    if by and names[1:] != list(by):
        found = f"the column of labels {names[1]!r}" if names[1:] else "no column of labels"
        missing = next(name for name in by if names[1:] != [name])
        raise ArgumentError(
            f"{path.name} has no column {missing!r} alongside the reports. It has {found}"
        )


def _read_csv(path: Path, survey: Survey) -> Iterator[Reports]:
    with path.open("rb") as stream:
        names, standing = _csv_head(stream, path, survey, ())
        digits = 2 * survey.randomizer.report_width
        row = 0
        size = reports_per_block(digits // 2) * (digits + 1)
        while lines := stream.readlines(size):
            if len(names) > 1:
                # Labels may hold commas, reports do not.
                lines = [line.rstrip(b"\r\n").partition(b",")[0] for line in lines]
            data = _bytes_of(lines, digits, path=path, row=row)
            row += len(lines)
            yield Reports(data, survey.randomizer.fingerprint, survey.fingerprint, standing)


def _bytes_of(lines: list[bytes], digits: int, *, path: Path, row: int) -> NDArray[np.uint8]:
    lines = [line.rstrip(b"\r\n") for line in lines]
    for position, line in enumerate(lines):
        if len(line) != digits or line.strip(hexdigits.encode()):
            raise _wrong_report(path, row + position, digits)
    data = np.frombuffer(unhexlify(b"".join(lines)), dtype=np.uint8)
    return data.reshape(len(lines), digits // 2)


def _wrong_report(path: Path, row: int, digits: int) -> ReportError:
    return ReportError(
        f"{path.name}: every report must be {digits} hexadecimal digits, but the one at row "
        f"{row + 1} is not. The file was not counted",
        position=row,
    )


def _check_version(path: Path, version: str) -> None:
    if version != VERSION:
        raise FormatError(
            f"{path.name} contains reports in version {version[:20]} of the format, but this "
            f"software reads {VERSION}. Update lapwing"
        )
