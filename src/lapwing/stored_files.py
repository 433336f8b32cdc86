"""Reads any stored file by the format that it states.

A document states its format, and a binary file begins with its own mark. Nothing that a file names
is imported: the tables here determine which class reads which format. For files that may be large,
or that belong to a running program, a description is returned instead.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from lapwing.documents import (
    canonical,
    nearest,
    opening,
    parse,
    quoted,
    read,
    read_as,
    require,
    require_format,
)
from lapwing.errors import FormatError, LapwingError
from lapwing.privacy.guarantee import Standing
from lapwing.protocol.domains.domain_documents import build_open_domain
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.messages.reports import Reports, read_header, reports_per_block
from lapwing.registry import FORMATS, class_of

__all__ = ["CollectorExport", "JobProgress", "ReportFile", "load"]

DOMAIN = "lapwing-domain"
EXPORT = "lapwing-collector-state"
SCAN = "lapwing-scan"

_LONGEST_MARK = 32
_LONGEST_LINE = 64 * 2**20


@dataclass(frozen=True)
class ReportFile:
    """A file of reports: what it says about them. The reports stay in the file.

    survey: Fingerprint, 64 hex digits. None where no survey asked for them.
    randomizer: Fingerprint.
    reports: How many it holds. None where only reading all of them tells.
    standing: That a seed drew the reports.
    """

    path: Path
    survey: str | None
    randomizer: str
    reports: int | None
    standing: Standing | None = None

    @classmethod
    def of(cls, path: Path) -> ReportFile:
        """Return what a file of reports says about them. FormatError when it is none."""
        with opening(path), path.open("rb") as stream:
            first = stream.readline(300)
        if first.startswith(b"LWREPORT"):
            return _compact_reports(path)
        from lapwing.engines.arrow.report_tables import words_of_csv, words_of_table

        if first.startswith(b"#"):
            survey, randomizer, standing = words_of_csv(first, path)
            return cls(path, survey, randomizer, None, standing)
        survey, randomizer, standing, number = words_of_table(path)
        return cls(path, survey, randomizer, number, standing)


@dataclass(frozen=True)
class JobProgress:
    """Progress of a job. The job itself reads it and goes on.

    job: The request to the job.
    done: Files that were counted, or tiles that were searched.
    """

    path: Path
    job: dict[str, Any]
    done: int


@dataclass(frozen=True)
class CollectorExport:
    """The state of a survey that a collector exported. `lapwing collector import` reads it.

    epochs: How many there are.
    """

    path: Path
    survey: Any
    state: str
    epochs: int


def load(path: Path | str) -> Any:
    """Return the object stored in a file of any kind.

    Parameters
    ----------
    path : Path or str
        File to read.

    Returns
    -------
    object
        A Survey, Domain, Reports, Tally, GroupTallies, Release, QuestionRelease, Distribution,
        JointDistribution, HeavyHitters, Series, Difference, Watch, SignedEstimate, Ledger (a
        snapshot: paying needs :meth:`Ledger.open`) or ExactCounts. An unfinished job gives a
        :class:`JobProgress`, and a collector's export gives a :class:`CollectorExport`. Reports in
        a table are returned without the labels alongside them.

    Raises
    ------
    FormatError
        When there is no such file, or it is empty, damaged, not a Lapwing file, or from a newer
        version. Also for the database of a device, which only :class:`lapwing.client.Device`
        opens.

    Examples
    --------
    >>> import tempfile
    >>> import lapwing as lw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     counted = lw.Distribution.of_counts([1, 3], lw.Integers(0, 1))
    ...     counted.save(f"{folder}/result.json", exact=True)
    ...     lw.load(f"{folder}/result.json").mean()
    0.75
    """
    path = Path(path)
    with opening(path):
        with path.open("rb") as stream:
            mark = stream.read(_LONGEST_MARK)
        if not mark:
            raise FormatError(f"{path.name} is empty. Make it again, or check the name")
        for known, reader in _MARKS.items():
            if mark.startswith(known):
                return reader(path)
        document = _exported_head(path) if mark.startswith(b'{"format":') else None
        if document is not None:
            return _export(path, document)
        document = read(path)
        name = document.get("format")
        if name == SCAN:
            return _scan(path, document)
        if name == DOMAIN:
            return read_as(path, _domain)
        if not isinstance(name, str) or name not in FORMATS:
            raise FormatError(_unknown(path, name))
        return read_as(path, class_of(name).from_document)


def _unknown(path: Path, name: Any) -> str:
    """Return the sentence that refuses a document whose format nobody here reads."""
    if not isinstance(name, str):
        return f"{path.name} must state its format, as every lapwing document does, but it does not"
    known = nearest(name, [*FORMATS, DOMAIN])
    return f"{path.name} is a {quoted(name)} document, which this version cannot read{known}"


def _domain(document: dict[str, Any]) -> Any:
    """Return the domain of `lapwing new --domain-only`, which may leave its bins open."""
    require_format(document, name=DOMAIN, version=1)
    require(document, {"format", "version", "domain"}, name="a file of a domain")
    held = document["domain"]
    if not isinstance(held, dict):
        raise FormatError("it contains no domain")
    return build_open_domain(held)


# Binary files, by the mark at their beginning.


def _exact_counts(path: Path) -> Any:
    return ExactCounts.load(path)


def _compact_reports(path: Path) -> ReportFile:
    """Return the header of a compact file, and its number of reports from block to block."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        header = read_header(stream, name=path.name)
        total = 0
        while place := stream.read(8):
            count = struct.unpack("<I", place[:4])[0] if len(place) == 8 else 0
            end = stream.tell() + count * header.width
            if not 1 <= count <= reports_per_block(header.width) or end > size:
                raise FormatError(
                    f"{path.name} is incomplete or damaged after {total} reports. `lapwing "
                    "tally --salvage` counts the intact ones"
                )
            total += count
            stream.seek(end)
    return ReportFile(path, header.survey, header.randomizer, total, header.standing)


def _report_table(path: Path) -> Any:
    from lapwing.engines.arrow.report_tables import load_report_table

    return load_report_table(path)


def _parquet(path: Path) -> Any:
    from lapwing.protocol.messages.group_table import is_group_table, read_table

    if not is_group_table(path):
        return _report_table(path)
    return class_of("lapwing-group-tallies")(*read_table(path))


def _progress(path: Path) -> JobProgress:
    from lapwing.engines.arrow.report_folder import read_head

    head, _ = read_head(path)
    return JobProgress(path, head["job"], len(head["done"]))


def _device(path: Path) -> Any:
    raise FormatError(
        f"{path.name} is a database of a device or a collector, not a document. Open it with "
        "lapwing.client.Device.open, or serve it with `lapwing serve`"
    )


_MARKS: dict[bytes, Callable[[Path], Any]] = {
    b"LAPWING-SECRET\n": _exact_counts,
    b"LWREPORT": Reports.load,
    b"# lapwing-reports": _report_table,
    b"PAR1": _parquet,
    b"ARROW1": _report_table,
    b"LAPWING-PROGRESS\n": _progress,
    b"SQLite format 3": _device,
}


# Documents that belong to a program that was stopped.


def _scan(path: Path, document: dict[str, Any]) -> JobProgress:
    require_format(document, name=SCAN, version=1)
    done = document.get("done")
    if type(done) is not int or done < 0:
        raise FormatError(f"{path.name} is damaged. Remove it to start the search again")
    job = {key: document.get(key) for key in ("survey", "randomizer", "expected_false", "tiles")}
    return JobProgress(path, job, done)


def _exported_head(path: Path) -> dict[str, Any] | None:
    """Return the first line of a collector's export. None of any other file."""
    with path.open("rb") as stream:
        line = stream.readline(_LONGEST_LINE)
    if not line.startswith(f'{{"format":"{EXPORT}"'.encode()):
        return None
    return parse(line, name=path.name)


def _export(path: Path, head: dict[str, Any]) -> CollectorExport:
    """Return what an export says, once its checksum agrees."""
    require_format(head, name=EXPORT, version=1)
    keys = {"survey", "state", "minimum", "upload", "retention_days"}
    require(head, {"format", "version", *keys}, name=path.name)
    digest, lines, epochs, end = sha256(), 0, 0, b""
    with path.open("rb") as stream:
        while line := stream.readline(_LONGEST_LINE):
            if end:
                digest.update(end)
                lines += 1
                epochs += end.startswith(b'{"epoch":')
            end = line
    written = {"end": {"lines": lines, "sha256": digest.hexdigest()}}
    if end != json.dumps(written, separators=(",", ":")).encode() + b"\n":
        raise FormatError(f"{path.name} is damaged or ends early. Export the survey again")
    survey = class_of("lapwing-survey")
    try:
        agreed = survey.from_document(parse(canonical(head["survey"]), name=path.name))
    except LapwingError as error:
        raise FormatError(f"{path.name}: {error}") from None
    return CollectorExport(path, agreed, str(head["state"]), epochs)
