"""Files by pattern ("2026-*/*.parquet") and by address ("s3://bucket/reports").

An address names a file system of pyarrow: s3, gs, abfs, hdfs. Its files are read through that, with
the credentials that pyarrow finds. An address of this machine, file://, is a path.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from lapwing.engines.arrow.inputs import ARROW, PARQUET, pyarrow_or_error
from lapwing.errors import ArgumentError

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/{1,3}(?=.)")
_PATTERN = re.compile(r"[*?\[]")

Keys = dict[str, str | None]
"""What the names of folders say of a file. None where they say that there is no value."""


def address_of(name: str | os.PathLike[str]) -> str | None:
    """Return the address that a name is. None of a path.

    A path that was made of an address has lost a slash, which is given back.
    """
    text = os.fspath(name)
    match = _ADDRESS.match(text)
    if match is None or (isinstance(name, os.PathLike) and Path(text).exists()):
        return None
    slashes = "///" if match.group(1).lower() == "file" else "://"
    start = f"file:{slashes}" if slashes == "///" else match.group(1) + slashes
    return start + text[match.end() :]


def local_path(address: str) -> Path | None:
    """Return the path that an address of this machine names. None of any other."""
    return Path("/" + unquote(address[8:])) if address.startswith("file:///") else None


def matching(pattern: Path) -> list[tuple[Path, Path]] | None:
    """Return the files and folders of a pattern, each with the folder that is fixed in it.

    None where it is no pattern, or there is a file of this very name. The contents of a found
    folder are not named again. ``**`` enters no links, which may lead around in a circle. Pipes and
    devices are passed over, as in a folder.

    Raises ArgumentError when none matches.
    """
    if not _PATTERN.search(str(pattern)) or pattern.exists():
        return None
    parts = _fixed(pattern.parts)
    fixed = Path(*parts)
    names = {path: None for path in _matches(fixed, pattern.parts[len(parts) :])}
    found = [path for path in names if not any(parent in names for parent in path.parents)]
    if not found:
        raise ArgumentError(f"no file matches {pattern}. Check the pattern")
    return [(path, fixed) for path in sorted(found)]


def _matches(folder: Path, patterns: Sequence[str]) -> Iterator[Path]:
    """Yield the files and folders below a folder that fit. None that is hidden."""
    pattern, *rest = patterns
    if pattern == "**":
        if not any(part != "**" for part in rest):
            yield folder
            return
        yield from _matches(folder, rest)
        rest = [pattern, *rest]
    for path in sorted(_visible(folder)):
        if pattern != "**" and not fnmatchcase(path.name, pattern):
            continue
        if path.is_dir() and not (pattern == "**" and path.is_symlink()):
            yield from _matches(path, rest) if rest else [path]
        elif path.is_file() and not rest:
            yield path


def _visible(folder: Path) -> list[Path]:
    """Return what is in a folder, without hidden names. Nothing where it cannot be read."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [folder / name for name in names if not _is_hidden([name])]


def _fixed(parts: Sequence[str]) -> list[str]:
    """Return the parts of a path before the first that is a pattern."""
    place = next(n for n, part in enumerate(parts) if _PATTERN.search(part))
    return list(parts[:place])


def _is_hidden(parts: Sequence[str]) -> bool:
    return any(part.startswith((".", "_")) for part in parts)


def keys_of(parts: Sequence[str]) -> Keys:
    """Return what the folders of a partitioned data set say: ``country=PT``."""
    pairs = [part.partition("=") for part in parts]
    return {key: unquote(value) for key, sign, value in pairs if sign}


def file_system(address: str) -> tuple[Any, str]:
    """Return the file system of pyarrow that an address names, and the path in it.

    Raises ArgumentError when pyarrow knows none.
    """
    pa = pyarrow_or_error()
    from pyarrow import fs

    try:
        system, path = fs.FileSystem.from_uri(address)
    except (pa.ArrowException, OSError, ValueError):
        scheme = address.partition(":")[0]
        raise ArgumentError(
            f"pyarrow cannot open addresses of {scheme}://. Use one of s3://, gs://, abfs://, "
            "hdfs:// or file://, or download the files"
        ) from None
    return system, path


def datasets_at(address: str) -> Iterator[tuple[Any, Keys]]:
    """Yield a pyarrow Dataset for each file at an address, with what its folders say.

    address: Of a file, a folder, or a pattern.

    Raises ArgumentError when there is none, or one is neither Parquet nor Arrow.
    Raises OSError when the file system does not answer.
    """
    from pyarrow import dataset as arrow_dataset

    system, path = file_system(address)
    for name, parts in _files(system, path, address):
        ending = name.lower()
        if not ending.endswith((*PARQUET, *ARROW)):
            raise ArgumentError(
                f"files at an address must end in {', '.join((*PARQUET, *ARROW))}. "
                f"{PurePosixPath(name).name} does not: download it"
            )
        kind = "parquet" if ending.endswith(PARQUET) else "ipc"
        yield arrow_dataset.dataset(name, filesystem=system, format=kind), keys_of(parts)


def _files(system: Any, path: str, address: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return files with the parts of their names below the folder that is fixed."""
    from pyarrow.fs import FileSelector, FileType

    is_pattern = _PATTERN.search(path) is not None
    kind = system.get_file_info(path).type
    if kind == FileType.File:
        return [(path, ())]
    root = path
    if kind == FileType.NotFound and is_pattern:
        root = str(PurePosixPath(*_fixed(PurePosixPath(path).parts)))
    selected = FileSelector(root, allow_not_found=True, recursive=True)
    names = sorted(
        found.path for found in system.get_file_info(selected) if found.type == FileType.File
    )
    files = [(name, PurePosixPath(name).relative_to(root).parts) for name in names]
    files = [(name, parts) for name, parts in files if not _is_hidden(parts)]
    if kind == FileType.NotFound:
        files = [(name, parts) for name, parts in files if is_pattern and _fits(name, path)]
    if not files:
        raise ArgumentError(f"there is no file at {address}. Check the address")
    return [(name, parts[:-1]) for name, parts in files]


def _fits(name: str, pattern: str) -> bool:
    """Return whether each part of a path fits that of a pattern. `**` fits any number of them."""
    return _parts_fit(PurePosixPath(name).parts, PurePosixPath(pattern).parts)


def _parts_fit(parts: Sequence[str], patterns: Sequence[str]) -> bool:
    if not patterns:
        return not parts
    if patterns[0] == "**":
        return any(_parts_fit(parts[n:], patterns[1:]) for n in range(len(parts) + 1))
    return (
        bool(parts) and fnmatchcase(parts[0], patterns[0]) and _parts_fit(parts[1:], patterns[1:])
    )
