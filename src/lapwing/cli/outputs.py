"""Where results go: checked before the work starts, written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from lapwing.documents import replacing
from lapwing.errors import ArgumentError

if TYPE_CHECKING:
    from lapwing.protocol.messages.tally import Tally

ENDINGS = (".png", ".svg", ".pdf")


def check_output(path: Path, *, inputs: Sequence[Path], force: bool) -> None:
    """Raise before any work is done, when the output cannot or must not be written.

    A file that is there may be the only copy of what cannot be made again: a survey whose reports
    are being collected, or the raw data. So it is replaced only when the user says so.

    Parameters
    ----------
    path : Path
    inputs : sequence of Path
        Files that the command reads: the output must be none of them.
    force : bool
        Whether a file that is there may be replaced (--force); a read-only one never is.

    Raises
    ------
    ArgumentError
        When it is an input, a folder, a device or a pipe; or a file that must stay.
    OSError
        When its folder does not exist or may not be written to.
    """
    if str(path) == "-":
        raise ArgumentError(
            "the output must be a file: a stream that breaks off cannot be told from a whole one"
        )
    if path.is_dir():
        raise ArgumentError(f"the output must be a file, {path} is a folder")
    if path.exists() and not path.is_file():
        raise ArgumentError(f"the output must be a plain file, {path} is a device or a pipe")
    for other in inputs:
        same = path.resolve() == other.resolve()
        if same or (path.exists() and other.exists() and path.samefile(other)):
            raise ArgumentError(
                f"the output must not be one of the inputs, {path} is; choose another name"
            )
    folder = path.resolve().parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
    _check_replaced(path, force=force)


def _check_replaced(path: Path, *, force: bool) -> None:
    """Raise ArgumentError when a file is there that must stay."""
    if not path.exists():
        return
    # Its mode is asked too, because the system lets root write to whatever is read-only.
    writable = path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)
    if not writable or not os.access(path, os.W_OK):
        raise ArgumentError(
            f"the output {path} is there already and is read-only, so it is not replaced, with "
            "--force neither; choose another name"
        )
    if not force:
        raise ArgumentError(
            f"the output {path} is there already; choose another name, or replace it with --force"
        )


def check_ending(path: Path, endings: Sequence[str], *, what: str) -> str:
    """Return the ending of a file's name in lower case, or raise ArgumentError."""
    ending = path.suffix.lower()
    if ending not in endings:
        raise ArgumentError(f"{what} must end in {_either(endings)}, {path.name!r} does not")
    return ending


def _either(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


@contextmanager
def writing(path: Path, *, mode: int = 0o644) -> Iterator[IO[bytes]]:
    """Open the output; it takes its name when the block ends well, see `replacing`.

    Errors of the disk name the output, not the temporary file.

    Parameters
    ----------
    path : Path
    mode : int
        Permission bits of the file, before the process's umask.
    """
    target = path.resolve()  # what a link points to is replaced, not the link
    try:
        with replacing(target, mode=mode) as stream:
            yield stream
    except OSError as error:
        temporary = f".{target.name}."
        if error.filename is None or Path(str(error.filename)).name.startswith(temporary):
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


def write_text(path: Path, text: str) -> None:
    """Write a whole document."""
    with writing(path) as stream:
        stream.write(text.encode())


def write_figure(path: Path, figure: Any) -> None:
    """Write a picture, of the kind that its ending says."""
    from lapwing.results.plotting import write_picture  # only where a picture is drawn

    kind: Any = check_ending(path, ENDINGS, what="the picture")[1:]
    with writing(path) as stream:
        write_picture(figure, stream, kind=kind)


def tally_text(tally: Tally) -> str:
    """Return the JSON text of a tally; equal tallies give equal bytes."""
    return tally.to_json()
