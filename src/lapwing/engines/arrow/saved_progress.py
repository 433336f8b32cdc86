"""Progress of a job, kept alongside its output, so that a job that was killed can resume.

The file holds the request, the finished files with their sizes, times and a digest, and the counts
of these files, under one checksum. It is written whole or not at all, so what is counted and which
files it was counted in always agree. It is as secret as what it holds, and is readable by its owner
only.
"""

from __future__ import annotations

import hashlib
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lapwing.atomic_files import replacing
from lapwing.documents import canonical, parse, require, require_format
from lapwing.errors import ArgumentError, FormatError

MAGIC = b"LAPWING-PROGRESS\n"
FORMAT = "lapwing-progress"
VERSION = 1

_ENDS = 2**20
_SHARE = 10
"""Saving takes at most about a tenth of the time."""


def identity(path: Path) -> dict[str, Any]:
    """Return what tells whether a file is the one that was read, and not changed since.

    Its size, the time of its last change, and a SHA-256 of its first and last MiB: the whole would
    be read twice. Of Parquet and Arrow files, the end says where everything else is.
    """
    about = path.stat()
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        digest.update(stream.read(_ENDS))
        if about.st_size > _ENDS:
            stream.seek(max(_ENDS, about.st_size - _ENDS))
            digest.update(stream.read())
    return {
        "size": about.st_size,
        "changed": str(about.st_mtime_ns),  # too large for a number of JSON
        "ends": digest.hexdigest(),
    }


def read_head(path: Path) -> tuple[dict[str, Any], bytes]:
    """Return the head of a file of progress, and what was counted. FormatError when damaged."""
    content = path.read_bytes()
    content, digest = content[:-32], content[-32:]
    start = len(MAGIC) + 4
    whole = content.startswith(MAGIC) and hashlib.sha256(content).digest() == digest
    if not whole or len(content) < start:
        raise FormatError(
            f"{path.name} must contain the progress of a job, but it does not, or is damaged. "
            "Delete it to start the job again"
        )
    (length,) = struct.unpack("<I", content[start - 4 : start])
    head = parse(content[start : start + length], name=path.name)
    require_format(head, name=FORMAT, version=VERSION)
    require(head, {"format", "version", "job", "done"}, name="the progress of a job")
    return head, content[start + length :]


@dataclass
class SavedProgress:
    """The progress of one job, in a file.

    path: Beside the output. None for a job that keeps nothing: then no file is ever done.
    job: The request, in JSON. A job with another request does not resume from here.
    """

    path: Path | None
    job: Mapping[str, Any]
    _done: dict[str, dict[str, Any]] = field(default_factory=dict, init=False)
    _saved: float = field(default=float("-inf"), init=False)
    _cost: float = field(default=0.0, init=False)

    def load(self) -> bytes | None:
        """Return what was counted so far. None when the job starts.

        Raises ArgumentError when the file is of another job.
        Raises FormatError when it is damaged, or of another version.
        """
        if self.path is None or not self.path.exists():
            return None
        head, counted = read_head(self.path)
        if canonical(head["job"]) != canonical(dict(self.job)):
            raise ArgumentError(
                f"{self._name} contains the progress of another job, with a different survey or "
                "options. Finish that job, or delete the file to start again"
            )
        self._done = dict(head["done"])
        return counted

    @property
    def _name(self) -> str:
        return "" if self.path is None else str(self.path)

    def is_done(self, path: Path | None) -> dict[str, Any] | None:
        """Return what was said of a file when it was done. None when it was not, or is no file.

        Raises ArgumentError when it was, and is another file now.
        """
        if path is None or not self._done:
            return None
        entry = self._done.get(_key(path))
        if entry is None:
            return None
        if entry["identity"] != identity(path):
            raise ArgumentError(
                f"{path.name} was changed after it was counted, so the job cannot resume from "
                f"{self._name}. Delete that file to start again"
            )
        said: dict[str, Any] = entry["said"]
        return said

    def check_only(self, paths: list[Path | None]) -> None:
        """Raise ArgumentError when a file was counted that the job has no more."""
        if not self._done:
            return
        left = self._done.keys() - {_key(path) for path in paths if path is not None}
        if left:
            raise ArgumentError(
                f"{Path(min(left)).name} was counted before but is not named now. Name all "
                f"files again, or delete {self._name} to start again"
            )

    def identity(self, path: Path | None) -> dict[str, Any] | None:
        """Return the :func:`identity` of a file that is to be noted. None where nothing is."""
        return None if self.path is None or path is None else identity(path)

    def add(
        self, path: Path | None, before: Mapping[str, Any] | None, said: Mapping[str, Any]
    ) -> None:
        """Note that a file is done.

        before: Its :meth:`identity` before it was read.
        said: The words that describe it.

        Raises ArgumentError when it was changed while it was read.
        """
        if path is None or before is None:
            return
        if identity(path) != before:
            raise ArgumentError(
                f"{path.name} was changed while it was read, so its counts mix two versions. "
                "Start again when no program writes to it"
            )
        self._done[_key(path)] = {"identity": dict(before), "said": dict(said)}

    def due(self) -> bool:
        """Return whether it is time to save: seldom where that takes long."""
        return self.path is not None and time.monotonic() - self._saved >= _SHARE * self._cost

    def save(self, counted: bytes) -> None:
        """Put everything on the disk, in the place of what was there."""
        if self.path is None:
            return
        start = time.monotonic()
        head = canonical(
            {"format": FORMAT, "version": VERSION, "job": dict(self.job), "done": self._done}
        )
        content = MAGIC + struct.pack("<I", len(head)) + head + counted
        with replacing(self.path, mode=0o600) as stream:
            stream.write(content)
            stream.write(hashlib.sha256(content).digest())
        self._saved = time.monotonic()
        self._cost = self._saved - start


def finished(progress: Path | str) -> None:
    """Remove the progress file of a job whose result is stored.

    Parameters
    ----------
    progress : Path or str
        File of the progress. It need not exist.

    Examples
    --------
    >>> import lapwing as lw
    >>> lw.engines.arrow.finished("no-such-job.progress")
    """
    Path(progress).unlink(missing_ok=True)


def _key(path: Path) -> str:
    return str(path.resolve())
