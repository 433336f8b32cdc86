"""A folder of results that appears when all of it is there, or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lapwing.errors import ArgumentError


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Give a folder to write into, that only its owner can read; at the end it gets its name.

    Parameters
    ----------
    path : Path
        Nothing, or an empty folder.

    Raises
    ------
    ArgumentError
        When something is there: before anything is written.
    """
    there = path.exists() and not (path.is_dir() and not any(path.iterdir()))
    if there or path.suffix:
        raise ArgumentError(
            f"the output must be a folder that is not there yet, {path.name} is "
            f"{'there' if there else 'the name of a file'}; choose another name"
        )
    made = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.absolute().parent))
    try:
        yield made
        for file in made.iterdir():
            if file.is_dir():  # of a sink's runs that were not committed
                shutil.rmtree(file)
            else:
                _to_disk(file)
        _to_disk(made)
        mask = os.umask(0)
        os.umask(mask)
        made.chmod(0o777 & ~mask)
        made.rename(path)
        _to_disk(path.absolute().parent)
    finally:
        if made.exists():
            shutil.rmtree(made)


def _to_disk(path: Path) -> None:
    with suppress(PermissionError):  # Windows opens no folders
        opened = os.open(path, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
