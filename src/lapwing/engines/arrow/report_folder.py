"""A folder of reports that appears whole, and once: until then it is closed to everybody else.

Two reports of one value tell more than the survey promises. So each part is written into a folder
alongside the output. Only its owner may enter it, and one process at a time locks it. When all
parts are there, they take the name of the output in one step, which replaces nothing but an empty
folder. A job that was killed leaves the closed folder, and the same job goes on from there.

The job's progress is a file, which is written whole or not at all. It holds the request, the
finished files with their sizes, times and a digest, and the counts of these files, under one
checksum. So what is counted and which files it was counted in always agree. The file is as secret
as what it holds, and is readable by its owner only.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lapwing.atomic_files import replacing, sync_folder
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


_ATTEMPTS = 1000
"""Closed folders of one name that are opened one after the other, each gone before its lock."""


@dataclass(frozen=True)
class ReportFolder:
    """A folder that is to appear, and the closed one alongside it.

    output: Absolute, without links.
    """

    output: Path

    @property
    def closed(self) -> Path:
        """The folder of unpublished parts, alongside the output."""
        return self.output.with_name(f".{self.output.name}.unpublished")

    @property
    def parts(self) -> Path:
        """The folder that becomes the output."""
        return self.closed / "parts"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out while the block runs.

        Raises ArgumentError when the output is there already, or another process is at work on it.
        Raises OSError when nothing can be written alongside the output.
        """
        if not self.output.name or not self.closed.exists():
            self._check_absent()
        descriptor = self._lock()
        try:
            try:
                self._check_absent()  # whoever had the lock before may have published
            except ArgumentError:
                if not self.parts.exists():  # killed after that
                    shutil.rmtree(self.closed, ignore_errors=True)
                raise
            self.parts.mkdir(mode=0o700, exist_ok=True)
            yield
        finally:
            os.close(descriptor)

    def progress(self, job: Mapping[str, Any], paths: list[Path | None]) -> SavedProgress:
        """Return what a job has done so far. Unfinished parts are deleted, unseen.

        job: The request, in JSON.
        paths: All files of values. None of a table in memory.

        Raises ArgumentError when another job was at work here, or had other files.
        """
        saved = SavedProgress(self.closed / "progress", job)
        saved.load()
        saved.check_only(paths)
        noted = {said["output"] for said in map(saved.is_done, paths) if said is not None}
        for left in self.parts.iterdir():
            if left.name not in noted:
                left.unlink()
        return saved

    def finish_part(
        self,
        number: int,
        path: Path | None,
        saved: SavedProgress,
        write: Callable[[Any], Mapping[str, Any]],
    ) -> Mapping[str, Any]:
        """Write a part unless it is finished. Return what is noted of it.

        number: Of the part.
        path: The file of its values.
        saved: Of the job.
        write: Given a binary file. Returns what to note.

        Raises ArgumentError when the part was finished, and is not there: its values are not
        randomized again.
        """
        part = self.parts / f"part-{number:05d}.parquet"
        noted = saved.is_done(path)
        if noted is not None:
            if noted["output"] != part.name:
                raise ArgumentError(
                    "the input files differ from those when this job started. Give the same "
                    f"files. If nobody has seen its parts, you can delete {self.closed} to "
                    "start again"
                )
            if not part.exists():
                raise ArgumentError(
                    f"{part.name} was written before but is missing from {self.parts}, so "
                    "others may have its reports. Its values are not randomized a second time. "
                    f"Put the part back. If nobody has seen it, delete {self.closed} to start "
                    "again"
                )
            return noted
        before = saved.identity(path)
        with replacing(part) as stream:
            noted = {"output": part.name, **write(stream)}
        # Noted after it has its name: a part that nothing is noted of was seen by nobody, and is
        # written again.
        saved.add(path, before, noted)
        if path is not None:
            saved.save(b"")
        return noted

    def publish(self) -> None:
        """Give the parts the name of the output, in one step, and delete the closed folder.

        Raises ArgumentError when something else took the name. It stays, and so do the parts,
        unseen.
        """
        umask = os.umask(0)
        os.umask(umask)
        sync_folder(self.parts)
        self.parts.chmod(0o777 & ~umask)
        try:
            os.rename(self.parts, self.output)
        except OSError as error:
            self.parts.chmod(0o700)
            self._check_absent()
            raise OSError(error.errno, error.strerror, str(self.output)) from None
        sync_folder(self.output.parent)
        shutil.rmtree(self.closed, ignore_errors=True)  # another process may look for its lock

    def _check_absent(self) -> None:
        """Raise ArgumentError when something has the name of the output."""
        if not self.output.exists():
            return
        if self.output.is_dir() and self.output.is_mount():
            raise ArgumentError(
                "output",
                f"must be a new folder. {self.output.name} is a mount point",
                advice="Give a new folder inside it",
            )
        if self.output.is_dir() and not any(self.output.iterdir()):
            return
        raise ArgumentError(
            f"the output {self.output.name} already exists, so the values may have been randomized "
            "before. Use those reports, or choose another folder if these are from other people"
        )

    def _lock(self) -> int:
        """Return the open file whose lock says that this process alone is at work.

        A lock of the operating system ends with its process, also after a crash.
        """
        try:
            import fcntl
        except ImportError:  # Windows
            raise ArgumentError(
                "a folder of reports needs the file locks of a POSIX system. Name a file of "
                "reports as the output"
            ) from None
        name = self.closed / "lock"
        for _ in range(_ATTEMPTS):
            self._make_closed()
            try:
                descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except FileNotFoundError:  # another process has just published
                continue
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.stat(name), os.fstat(descriptor)):
                    return descriptor
            except FileNotFoundError:
                pass
            except BlockingIOError:
                os.close(descriptor)
                raise ArgumentError(
                    f"another process writes to the output {self.output.name}, so each value "
                    "would be reported twice. Wait until it has ended"
                ) from None
            os.close(descriptor)
        raise ArgumentError(f"{self.closed} keeps being deleted. Nothing was written")

    def _make_closed(self) -> None:
        """Make the closed folder, or check that nobody else may enter the one that is there."""
        try:
            self.closed.mkdir(mode=0o700, exist_ok=True)
            about = os.lstat(self.closed)
        except FileExistsError:
            about = os.lstat(self.closed)
        except FileNotFoundError as error:
            if self.output.parent.exists():
                return
            raise OSError(error.errno, error.strerror, str(self.output.parent)) from None
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.output)) from None
        closed = stat.S_ISDIR(about.st_mode) and not about.st_mode & 0o077
        if not closed or about.st_uid != os.geteuid():
            raise ArgumentError(
                f"{self.closed} must be a folder that only you can open, but it is not. Delete it"
            )
