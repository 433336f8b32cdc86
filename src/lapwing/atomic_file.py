"""Writing a file entirely or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: Path, *, mode: int = 0o644) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path` that takes its place when the block ends well.

    On an exception, also Ctrl-C, the temporary file is removed and `path` stays as it was. The
    content is on the disk before the name changes, so a crash leaves the old file or the new one.

    Parameters
    ----------
    path : Path
        Its folder must exist.
    mode : int
        Permission bits of the new file, before the process's umask.
    """
    folder = path.parent
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, mode & ~umask)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
