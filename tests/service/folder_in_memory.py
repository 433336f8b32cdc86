"""A folder in memory where there is one, for files that are synced at each change."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


def place() -> str:
    """Return memory where there is enough: what is synced there is synced in no time."""
    memory = Path("/dev/shm")
    if memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2**29:
        return str(memory)
    return tempfile.gettempdir()


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """In place of pytest's own."""
    with tempfile.TemporaryDirectory(prefix="lapwing-", dir=place()) as folder:
        yield Path(folder)
