"""One benchmark in a process of its own; started by the runner, not by hand.

    python -m benchmarks.isolated NAME FILE full|quick [SETTINGS]

Writes what was measured, or why it could not be, to FILE. SETTINGS are a JSON object of those to
change.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from pathlib import Path
from typing import Any

ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "",
}
"""One thread, read by the libraries when they are imported, so CPU seconds are comparable. And
bytecode is kept, as an installation does: without it every edited file is compiled anew in each
process, which alone took `import lapwing` from 1.2 to 1.5 times its yardstick."""


_FOLDER = Path(__file__).resolve().parent


@cache
def place(name: str) -> str:
    """Return where the script of a benchmark lies below `benchmarks`, without ".py".

    The name of a benchmark, which its result carries, leaves the folder of its family out.
    """
    folder, _, stem = name.partition("/")
    (path,) = (_FOLDER / folder).rglob(f"{stem}.py")
    return path.relative_to(_FOLDER).with_suffix("").as_posix()


def script(name: str) -> Any:
    """Return the module of a benchmark. It judges its claims once for each result."""
    module = import_module("benchmarks." + place(name).replace("/", "."))
    judge = getattr(module, "claims", None)
    if judge is not None and not hasattr(judge, "__wrapped__"):
        module.claims = _judged_once(judge)  # type: ignore[attr-defined]
    return module


def _judged_once(judge: Callable[[Any], list[Any]]) -> Callable[[Any], list[Any]]:
    """Return a function that keeps the claims of the latest result."""
    latest: list[Any] = [None, []]

    @wraps(judge)
    def claims(measured: Any) -> list[Any]:
        if latest[0] is not measured:
            latest[:] = [measured, judge(measured)]
        return [*latest[1]]

    return claims


def main() -> None:
    """Measure one benchmark."""
    name, file, mode, *changed = sys.argv[1:]
    for key, value in ENVIRONMENT.items():
        if os.environ.get(key, "") != value:
            raise SystemExit(f"start this through `python -m benchmarks`: {key} must be {value!r}")
    from benchmarks.datasets import DataFolderError
    from benchmarks.programs import MissingProgramError

    module = script(name)
    settings = module.QUICK if mode == "quick" else module.FULL
    if changed:
        settings = settings | json.loads(changed[0])
    wall = time.perf_counter()
    try:
        measured = module.measure(**settings)
    except (DataFolderError, MissingProgramError) as error:
        document: dict[str, Any] = {"skipped": str(error)}
    else:
        seconds = {"cpu": _cpu_seconds(), "wall": time.perf_counter() - wall}
        document = {"settings": settings, "seconds": seconds, "measured": measured}
    Path(file).write_text(json.dumps(document, allow_nan=False), encoding="utf-8")


def _cpu_seconds() -> float:
    """Return the CPU seconds of this process and of those it started and waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


if __name__ == "__main__":
    main()
