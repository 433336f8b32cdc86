"""A folder of reports that appears whole, and once: until then it is closed to everybody else.

Two reports of one value tell more than the survey promises. So each part is written into a folder
alongside the output. Only its owner may enter it, and one process at a time locks it. When all
parts are there, they take the name of the output in one step, which replaces nothing but an empty
folder. A job that was killed leaves the closed folder, and the same job goes on from there.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lapwing.atomic_files import replacing, sync_folder
from lapwing.engines.arrow.saved_progress import SavedProgress
from lapwing.errors import ArgumentError

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
