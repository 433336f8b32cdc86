"""The file of a ledger, open and locked by one process at a time."""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass
from pathlib import Path

from lapwing.atomic_files import has_name, lock_file, replacing
from lapwing.errors import BudgetError

_PAUSE = 0.02
"""Seconds between two attempts to lock."""

_ATTEMPTS = 1000
"""Files of one name that are opened one after the other, each replaced before it was locked."""


@dataclass
class LockedFile:
    """A ledger's file, open and locked, and what was last read from or written to it."""

    path: Path
    descriptor: int
    content: bytes

    def close(self) -> None:
        """Release the lock. A second call does nothing."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1

    def _is_current(self) -> bool:
        return has_name(self.path, self.descriptor) and _read(self.descriptor) == self.content

    def write(self, content: bytes) -> bool:
        """Replace the content. Return False when the file is no longer the one that was read."""
        if not self._is_current():
            return False
        if content == self.content:
            return True
        _check_links(self.path, self.descriptor)
        mode = stat.S_IMODE(os.fstat(self.descriptor).st_mode)
        taken = False
        try:
            with replacing(self.path, mode=mode) as stream:
                descriptor = os.dup(stream.fileno())
                taken = True
                # Locked before it has the name: nobody comes between two states of a payment.
                _lock(descriptor)
                stream.write(content)
                stream.flush()
                os.fsync(descriptor)
                if not self._is_current():
                    raise _ReplacedError
                _check_links(self.path, self.descriptor)
        except BaseException as error:
            if taken:
                os.close(descriptor)
            if isinstance(error, _ReplacedError):
                return False
            raise
        self.close()
        self.descriptor, self.content = descriptor, content
        return True


class _ReplacedError(Exception):
    """The file is not the one that was read. Nothing was written."""


def acquire(path: Path, wait: float) -> LockedFile:
    """Return the file of that name, locked.

    Raises BudgetError when another process keeps the lock.
    """
    deadline = time.monotonic() + wait
    for _ in range(_ATTEMPTS):
        real = Path(os.path.realpath(path))
        descriptor = os.open(real, os.O_RDWR)
        try:
            while not _lock(descriptor):
                if time.monotonic() >= deadline:
                    raise BudgetError(
                        f"the ledger {path.name} is in use by another process. Nothing was "
                        "spent. Try again when it has ended"
                    )
                time.sleep(_PAUSE)
            # Who held the lock before has given the name to another file.
            if has_name(real, descriptor):
                _check_links(path, descriptor)
                return LockedFile(real, descriptor, _read(descriptor))
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
    raise BudgetError(f"the ledger {path.name} keeps being replaced. Nothing was spent")


def _check_links(path: Path, descriptor: int) -> None:
    if os.fstat(descriptor).st_nlink > 1:
        raise BudgetError(
            f"the ledger {path.name} has several hard links, and each would get a budget of its "
            "own. Nothing was written to it, and its reserved payments stay reserved. Remove the "
            "other names (or put a copy in its place) first"
        )


def _read(descriptor: int) -> bytes:
    with open(os.dup(descriptor), "rb") as stream:
        stream.seek(0)
        return stream.read()


def _lock(descriptor: int) -> bool:
    """Lock an open file without waiting. False when another has it."""
    locked = lock_file(descriptor)
    if locked is None:  # Windows, where an open file cannot be replaced, for one
        raise BudgetError(
            "a ledger file needs the file locks of a POSIX system. Nothing was spent, keep the "
            "ledger on one"
        )
    return locked
