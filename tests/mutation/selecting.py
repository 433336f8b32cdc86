"""Plugin of pytest: runs the tests of a list in its order, each for a limited time."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest

# Absent where the file is only looked through for doctests.
LISTED = os.environ.get("LAPWING_MUTATION")
LIMITS: dict[str, float] = dict(json.loads(Path(LISTED).read_text())) if LISTED else {}
ORDER = {test: place for place, test in enumerate(LIMITS)}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = sorted(
        (item for item in items if item.nodeid in ORDER), key=lambda item: ORDER[item.nodeid]
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    # Nothing catches it: the process ends at once, also in a compiled loop.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, LIMITS[item.nodeid])
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
