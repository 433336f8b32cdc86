"""Files written completely or not at all, and cleanup after killed processes.

Locks are those of the operating system, so they end with their process.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from lapwing.errors import ArgumentError


@contextmanager
def replacing(path: Path, *, mode: int = 0o644, absent: bool = False) -> Iterator[IO[bytes]]:
    """Open a temporary file alongside `path` that takes its place when the block ends well.

    On an exception, also Ctrl-C, the temporary file is removed and `path` stays as it was. It is
    locked while the block runs, and the lock ends with the process, even if it is killed. So the
    next process that writes to the folder removes the leftovers of a killed one, such as reports of
    values that are randomized again. The content is on the disk before the name changes, so a crash
    leaves the old file or the new one. Once the block has ended, even a power failure leaves the
    new one.

    path: Its folder must exist.
    mode: Permission bits of the new file, before the process's umask.
    absent: Whether nothing may have the name when the block ends. Then an ArgumentError, and what
        has the name stays: of several processes, one gives its file the name.
    """
    folder = path.parent
    try:
        remove_abandoned(folder)
        descriptor, temporary = _locked_temporary(path)
    except OSError as error:
        # The name of the temporary file tells nobody anything.
        raise OSError(error.errno, error.strerror, str(path)) from None
    held = -1
    try:
        with os.fdopen(descriptor, "wb") as stream:
            held = os.dup(descriptor)  # keeps the lock until the file has its name
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        umask = os.umask(0)
        os.umask(umask)
        if absent:  # its reader's bits come last: of a file that finds no place nobody reads any
            _take_name(temporary, path)
            os.chmod(held if os.chmod in os.supports_fd else path, mode & ~umask)
        else:
            os.chmod(temporary, mode & ~umask)
            os.replace(temporary, path)
        sync_folder(folder)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    finally:
        if held >= 0:
            os.close(held)


_TEMPORARY = re.compile(r"\..*\.lapwing-[a-z0-9_]{8}", re.DOTALL)
"""Names of temporary files: of nothing else, so that what has one may be removed."""

_LONGEST_NAME = 48
"""Characters of a file's name in that of its temporary one, which has to stay legal."""

_ATTEMPTS = 100
"""Temporary files in a row that others may take for abandoned before they are locked."""


def _locked_temporary(path: Path) -> tuple[int, str]:
    """Return a new temporary file alongside a path, open and locked, and its name."""
    prefix = f".{path.name[:_LONGEST_NAME]}.lapwing-"
    for _ in range(_ATTEMPTS):
        descriptor, temporary = tempfile.mkstemp(prefix=prefix, dir=path.parent)
        # Another process may take it for abandoned before it is locked, and remove it.
        if lock_file(descriptor) is not False and has_name(temporary, descriptor):
            return descriptor, temporary
        os.close(descriptor)
        Path(temporary).unlink(missing_ok=True)
    raise OSError(errno.EBUSY, "its folder deletes new files immediately")


class _Folders:
    """Folders that a process has looked through: they may have many files, so it does so once."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start again."""
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._seen: set[str] = set()

    def is_new(self, folder: str) -> bool:
        """Return whether a folder is named for the first time, and remember it."""
        if self._process != os.getpid():  # a forked child: a thread may have had the lock
            self.forget()
        with self._lock:
            new = folder not in self._seen
            self._seen.add(folder)
            return new


_folders = _Folders()


def remove_abandoned(folder: Path) -> None:
    """Remove the temporary files in a folder whose processes are gone.

    Where files cannot be locked nobody knows of them, and they stay.
    """
    if not _folders.is_new(os.path.abspath(folder)):
        return
    try:
        with os.scandir(folder) as entries:
            found = [entry.path for entry in entries if _TEMPORARY.fullmatch(entry.name)]
    except OSError:  # a folder that may be written to, and not read
        return
    for temporary in found:
        try:
            _remove_unlocked(temporary)
        except OSError:  # of somebody else, or just gone
            continue


def _remove_unlocked(temporary: str) -> None:
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(temporary, flags)
    try:
        about = os.fstat(descriptor)
        ours = stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid()
        if ours and lock_file(descriptor) and has_name(temporary, descriptor):
            os.unlink(temporary)
    finally:
        os.close(descriptor)


def lock_file(descriptor: int) -> bool | None:
    """Lock an open file without waiting. False when another has it, None where no file is locked.

    A lock of the operating system ends with its process, even after a crash.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def has_name(path: Path | str, descriptor: int) -> bool:
    """Return whether an open file is the one of a name."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _take_name(temporary: str, path: Path) -> None:
    """Give a file its name in one step. ArgumentError where something has that name."""
    try:
        os.link(temporary, path)
        os.unlink(temporary)
    except FileExistsError:
        check_absent(path)
        raise
    except OSError:
        # A file system without links. The name is taken first, by an empty file.
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            check_absent(path)
            raise
        os.replace(temporary, path)


def check_absent(path: Path) -> None:
    """Raise ArgumentError when something has the name of an output that replaces nothing.

    A process that was killed while it wrote for that name leaves nothing, even when it is refused.
    """
    remove_abandoned(path.parent)
    if os.path.lexists(path):
        raise ArgumentError(
            f"the output {path.name} already exists and is not replaced. Use it, or choose "
            "another name"
        )


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk, where the file system has a way to ask for it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
