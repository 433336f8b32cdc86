"""The result of a benchmark: a JSON document that says what was measured, where and when.

::

    format, version        "lapwing-benchmark", 2
    name                   folder/script, as on the command line; families of scripts left out
    date                   UTC, to the minute
    commit                 of the repository; null without git
    clean                  whether src and benchmarks are as that commit has them
    machine                processor, cores, memory_gib, system
    versions               of Python and of the packages that do the work
    load                   before, after: running processes, averaged over a minute
    seconds                cpu, wall: of the whole benchmark
    settings               the sizes it was run with
    measured               what the script found; its summaries have median, min, max, mean,
                           standard_error (of the mean) and repeats
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

FORMAT = "lapwing-benchmark"
VERSION = 2
SUMMARY = {"median", "min", "max", "mean", "standard_error", "repeats"}

_NUMBERS = re.compile(r"\[[-+0-9.eE,\s]+\]")

_FOLDER = Path(__file__).resolve().parent
_SHAPE: dict[str, Any] = {
    "format": str,
    "version": int,
    "name": str,
    "date": str,
    "commit": (str, type(None)),
    "clean": (bool, type(None)),
    "machine": {"processor": str, "cores": int, "memory_gib": float, "system": str},
    "versions": dict,
    "load": {"before": float, "after": float},
    "seconds": {"cpu": float, "wall": float},
    "settings": dict,
    "measured": dict,
}


_READ: dict[Path, tuple[tuple[int, int], dict[str, Any]]] = {}
"""Results that were read and checked, with the time and size of their files."""


class ResultError(ValueError):
    """A document is not a result of a benchmark."""


_CHOSEN_SINCE = "2026-11-28T19:49Z"
"""Since then the default mechanism is that of least predicted error (commit 7605198b2d)."""

_RELEASING = {
    *("accuracy/central_default", "accuracy/curators_bands", "accuracy/default_release_bands"),
    *("accuracy/wide_ranges", "accuracy/values_outside", "accuracy/compared_halves"),
    *("accuracy/round_edges", "accuracy/cut_bands", "accuracy/circle_coverage"),
}
"""Benchmarks that release numbers with the default mechanism."""


def earlier_default(document: dict[str, Any]) -> str:
    """Return which mechanism the default of a result was, where another one is chosen today."""
    if document["name"] not in _RELEASING or document["date"] >= _CHOSEN_SINCE:
        return ""
    return (
        "The default mechanism at that commit was prefix sums with 24 polynomials if there was a "
        "delta, and otherwise a tree with branching 32."
    )


def path_of(name: str) -> Path:
    """Return where the result of a benchmark is kept: in one folder for all families."""
    folder, script = name.split("/")
    return _FOLDER / folder / "results" / f"{script}.json"


def check(document: Any) -> None:
    """Raise ResultError, naming the part that is wrong, unless this is a whole result."""
    _check_shape(document, _SHAPE, "the result")
    if (document["format"], document["version"]) != (FORMAT, VERSION):
        raise ResultError(f"a result must be {FORMAT} version {VERSION}")
    _check_numbers(document["measured"], "measured")


def _check_shape(document: Any, shape: dict[str, Any], where: str) -> None:
    if not isinstance(document, dict) or set(document) != set(shape):
        raise ResultError(f"{where} must have exactly the keys {', '.join(sorted(shape))}")
    for key, kind in shape.items():
        if isinstance(kind, dict):
            _check_shape(document[key], kind, key)
        elif not isinstance(document[key], kind):
            raise ResultError(f"{key} of {where} is a {type(document[key]).__name__}")


def _check_numbers(part: Any, where: str) -> None:
    """Refuse what is not finite, and summaries that lack a part or contradict themselves."""
    if isinstance(part, float) and not math.isfinite(part):
        raise ResultError(f"{where} must be finite")
    if isinstance(part, list):
        for item in part:
            _check_numbers(item, where)
    if isinstance(part, dict):
        for key, item in part.items():
            _check_numbers(item, f"{where}.{key}")
        if "median" in part:
            if set(part) != SUMMARY:
                raise ResultError(f"{where} must have {', '.join(sorted(SUMMARY))}")
            if not part["min"] <= part["median"] <= part["max"] or part["repeats"] < 1:
                raise ResultError(f"{where} contradicts itself")


def write(document: dict[str, Any]) -> Path:
    """Check a result, keep it and return where."""
    check(document)
    path = path_of(document["name"])
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(document, indent=1, allow_nan=False)
    # Hundreds of repeats of one cell stand on one line, not on hundreds.
    text = _NUMBERS.sub(lambda found: " ".join(found[0].split()), text)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def read(name: str) -> dict[str, Any] | None:
    """Return the kept result of a benchmark; None when it was never measured.

    It is the same object until its file changes, so copy it before you change it.
    """
    path = path_of(name)
    if not path.exists():
        return None
    state = path.stat().st_mtime_ns, path.stat().st_size
    kept, document = _READ.get(path, (None, {}))
    if kept != state:
        document = json.loads(path.read_text(encoding="utf-8"))
        check(document)
        if document["name"] != name:
            raise ResultError(f"{path.name} holds the result of {document['name']}")
        _READ[path] = state, document
    return document
