"""Files that are added up: each counts once, whatever its name."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from lapwing.engines.arrow.standard_input import STDIN, shown
from lapwing.errors import ArgumentError


def check_distinct(paths: Sequence[Path], *, what: str, allow_equal: bool) -> None:
    """Raise ArgumentError when a file is named twice, or is a copy of another.

    Parameters
    ----------
    paths : sequence of Path
        Standard input may be one of them; it is not compared.
    what : str
        What would count twice: "reports", say.
    allow_equal : bool
        Whether two files may hold the same: those of a few people can by chance.

    Cost
    ----
    Only files of the same size are read.
    """
    seen: set[Path] = set()
    sizes: dict[int, list[Path]] = {}
    for path in paths:
        if path.resolve() in seen:
            raise ArgumentError(f"{shown(path)} is named twice; its {what} would count twice")
        seen.add(path.resolve())
        if path != STDIN and path.is_file():  # what is absent is told by whoever opens it
            sizes.setdefault(path.stat().st_size, []).append(path)
    if not allow_equal:
        for alike in sizes.values():
            _check_contents(alike, what=what)


def _check_contents(paths: Sequence[Path], *, what: str) -> None:
    """Raise ArgumentError when two files of one size hold the same."""
    if len(paths) == 1:
        return
    seen: dict[bytes, Path] = {}
    for path in paths:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").digest()
        if digest in seen:
            raise ArgumentError(
                f"{shown(path)} is a copy of {shown(seen[digest])}; its {what} would count twice. "
                "Leave it out; or, where they are of different people and equal by chance, say "
                "--allow-equal"
            )
        seen[digest] = path
