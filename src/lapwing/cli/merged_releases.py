"""Releases of sites or rounds, added up by the hub."""

from __future__ import annotations

from pathlib import Path

from lapwing.cli.console import Output, facts
from lapwing.cli.outputs import write_text
from lapwing.cli.wording import count_text
from lapwing.documents import read
from lapwing.errors import FormatError, MismatchError
from lapwing.publication import read_release
from lapwing.releases import Release


def is_release(path: Path) -> bool:
    """Return whether a file holds a release; anything else is left to those who read tallies."""
    try:
        return read(path).get("format") == "lapwing-release"
    except FormatError:
        return False


def merge_releases(paths: list[Path], output: Path, out: Output) -> None:
    """Add releases, write the sum, and show what it holds."""
    total: Release | None = None
    counted = []
    for path in paths:
        part = read_release(path)
        counted.append({"file": str(path), "parts": len(part.parts), "people": part.people})
        try:
            total = part if total is None else total + part
        except MismatchError as error:
            raise MismatchError(f"{path.name} does not go with {paths[0].name}: {error}") from None
    assert total is not None
    write_text(output, total.to_json())
    document = {
        "command": "merge",
        "parts": len(total.parts),
        "people": total.people,
        "files": counted,
        "output": str(output),
    }
    rows = {
        "mechanism": total.mechanism.name,
        "parts": str(len(total.parts)),
        "people": "secret" if total.people is None else count_text(total.people),
    }
    out.show(document, facts(rows | {"written": str(output)}))
