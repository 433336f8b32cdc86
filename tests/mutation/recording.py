"""Plugin of pytest: writes for every test how long it took and which functions it called."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path
from types import CodeType, FrameType

import pytest

PACKAGE = str(Path("src/lapwing").resolve()) + os.sep
# Absent where the file is only looked through for doctests.
OUTPUT = Path(os.environ.get("LAPWING_MUTATION", os.devnull))

_called: dict[int, CodeType] = {}
_passed: dict[str, bool] = {}


def _note(frame: FrameType, event: str, argument: object) -> None:
    if event == "call":
        _called[id(frame.f_code)] = frame.f_code


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    _called.clear()
    started = time.perf_counter()
    threading.setprofile(_note)
    sys.setprofile(_note)
    try:
        return (yield)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        functions = {
            (code.co_filename.removeprefix(PACKAGE), code.co_qualname.partition(".<locals>")[0])
            for code in _called.values()
            if code.co_filename.startswith(PACKAGE)
        }
        row = {
            "test": item.nodeid,
            "file": str(item.path),
            "seconds": time.perf_counter() - started,
            "passed": _passed.get(item.nodeid, False),
            "functions": sorted(functions),
        }
        with OUTPUT.open("a") as output:
            output.write(json.dumps(row) + "\n")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    before = _passed.get(report.nodeid, True)
    _passed[report.nodeid] = before and (report.passed or hasattr(report, "wasxfail"))
