"""A lock that the operating system holds for a process, and lets go when the process ends."""

from __future__ import annotations

import os
from pathlib import Path

from lapwing.errors import StoreError


class FileLock:
    """The one collector of a file.

    Parameters
    ----------
    path : Path
        Of the lock, beside what it guards; it stays there, empty.

    Raises
    ------
    StoreError
        When another process holds it.
    """

    def __init__(self, path: Path) -> None:
        try:
            import fcntl
        except ImportError:  # Windows
            raise StoreError(
                "a collector's file needs the file locks of a POSIX system; use PostgreSQL"
            ) from None
        self._path = path
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        try:
            self._made = not path.exists()
            self._descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            raise StoreError(
                f"{path.name} cannot be opened beside the database ({error.strerror}); its folder "
                "must exist and be writable"
            ) from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # One that its holder has just taken away guards nothing.
            if not os.path.samestat(os.fstat(self._descriptor), os.stat(path)):
                raise BlockingIOError
        except OSError:
            os.close(self._descriptor)
            raise StoreError(
                f"another collector holds {path.name.removesuffix('.lock')}; one file is for one "
                "collector: stop the other, or use PostgreSQL"
            ) from None

    def release(self, *, discard: bool = False) -> None:
        """Let another process hold it.

        Parameters
        ----------
        discard : bool
            Whether its file goes, if this one made it.
        """
        if discard and self._made:
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)
