"""A test that did not run is told at the end; with LAPWING_REQUIRE_ALL=1 it fails.

A check that did not run proves nothing. What a test lacks is named in one way: "NAME is not here".
"""

from __future__ import annotations

import gc
import hashlib
import os
import re
import resource
import sys
from collections import Counter
from collections.abc import Generator
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

REQUIRE_ALL = os.environ.get("LAPWING_REQUIRE_ALL") == "1"


def _fail_if_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    # An expected failure is reported as skipped, too, and is none.
    if REQUIRE_ALL and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"skipped, but LAPWING_REQUIRE_ALL=1 allows no skips: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter,
) -> Generator[None, None, None]:
    """Say before the closing line what time and memory was used, and loudly what did not run."""
    yield
    if rooms := _rooms(terminalreporter):
        terminalreporter.write_line(f"Seconds of each room: {rooms}")
    largest = max(_memory.values(), default=0) or _resident()
    terminalreporter.write_line(f"Largest resident memory of a process of tests: {largest:,.0f} MB")
    if _grown:
        most = ", ".join(f"{name} {more:.0f}" for more, name in sorted(_grown, reverse=True)[:5])
        terminalreporter.write_line(f"Megabytes that a test added to it: {most}")
    skipped = [
        report
        for report in terminalreporter.stats.get("skipped", [])
        if not hasattr(report, "wasxfail")
    ]
    if not skipped:
        return
    lacking: Counter[str] = Counter()
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        named = re.search(r"(?:Skipped: )?(.+?) is not here", reason)
        lacking[named[1] if named else "other reasons"] += 1
    whole = sum(isinstance(report, pytest.CollectReport) for report in skipped)
    files = f" and {whole} whole files" if whole else ""
    causes = ", ".join(f"{name} ({number})" for name, number in sorted(lacking.items()))
    terminalreporter.write_line(
        f"DID NOT RUN: {len(skipped) - whole} tests{files}. Not here: {causes}", red=True, bold=True
    )


def pytest_configure(config: pytest.Config) -> None:
    """Warnings are errors, but not this one: tests draw few reports, and chance decides on it."""
    config.addinivalue_line("filterwarnings", "ignore::lapwing.errors.WeakAnswerWarning")


def _rooms(terminalreporter: pytest.TerminalReporter) -> str:
    """Return the seconds that the tests of each folder took, the longest first."""
    seconds: Counter[str] = Counter()
    for report in chain.from_iterable(terminalreporter.stats.values()):
        if isinstance(report, pytest.TestReport):
            place = report.nodeid.partition("::")[0].split("/")
            seconds["/".join(place[:2]) if len(place) > 2 else place[0]] += report.duration
    return ", ".join(f"{room} {total:.0f}" for room, total in seconds.most_common() if total >= 1)


MOST_MEMORY = 1000.0
"""Megabytes that one test may add to the most that its process ever held. A limit of the system
would end Chromium and Java."""

_memory: dict[str, float] = {}
"""Megabytes of each worker at its end."""

_grown: list[tuple[float, str]] = []
"""Megabytes that a test added to the most that its process ever held, from 50 on, and its name."""


def _resident() -> float:
    """Return the most megabytes that this process has ever held in memory."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e6 if sys.platform == "darwin" else 1e6 / 1024)


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    """Tell the first process what this worker needed."""
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["resident"], output["grown"] = _resident(), _grown
    yield


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Note what a worker needed."""
    told = getattr(node, "workeroutput", {})
    _memory[node.gateway.id] = told.get("resident", 0.0)
    _grown.extend((more, name) for more, name in told.get("grown", ()))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Tests wait for browsers and servers: one worker more than processors uses that time."""
    return int(os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS") or (os.cpu_count() or 1) + 1)


_COMPUTED_ONCE = re.compile(r'scope="module"|^@(functools\.)?(lru_)?cache\b', re.MULTILINE)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests of a file in one process where they share what is computed once."""
    sharing: dict[Path, bool] = {}
    for item in items:
        if item.path not in sharing:
            source = item.path.read_text("utf-8") if item.path.suffix == ".py" else ""
            sharing[item.path] = _COMPUTED_ONCE.search(source) is not None
        if sharing[item.path] and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.name))


PROGRAMS = {
    *("chromium", "java", "node", "nodejs", "initdb", "pg_ctl", "curl", "nginx"),
    *("cc", "gcc", "clang"),
}
_at_hand: list[pytest.Item] = []
_unmarked: list[str] = []


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    """Note a program that a test starts without the mark by which such tests are chosen."""
    if event != "subprocess.Popen" or not _at_hand:
        return
    name = os.path.basename(os.fsdecode(arguments[0]))  # type: ignore[arg-type]
    if name in PROGRAMS and _at_hand[-1].get_closest_marker("service") is None:
        frame = sys._getframe()
        while frame.f_back is not None:
            frame = frame.f_back
            if frame.f_code.co_filename.endswith(os.path.join("ctypes", "util.py")):
                return  # Python asks the compiler where a library is, and can do without
        _unmarked.append(name)


sys.addaudithook(_watch)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    _at_hand.append(item)
    _draw_the_same(item.nodeid)
    try:
        return (yield)
    finally:
        _at_hand.clear()
        if nextitem is None or nextitem.path != item.path:
            _forget(item)


def _draw_the_same(name: str) -> None:
    """Let the secure source draw the words of this test: what passed once never fails by chance.

    Programs and forked children draw their own, and everything does with LAPWING_FRESH_DRAWS=1.
    """
    if os.environ.get("LAPWING_FRESH_DRAWS") == "1":
        return
    from lapwing.privacy.sampling import randomness

    keys, process = count(), os.getpid()

    def draw_key() -> bytes:
        if os.getpid() != process:
            return os.urandom(48)
        return hashlib.shake_256(f"{name} {next(keys)}".encode()).digest(48)

    randomness._secure = randomness.Keystream(draw_key)


def _forget(item: pytest.Item) -> None:
    """Drop what a file of tests computed once, when its last test has run."""
    module: Any = getattr(item, "module", None)
    for made in [] if module is None else list(vars(module).values()):
        if getattr(made, "__module__", None) == module.__name__ and hasattr(made, "cache_clear"):
            made.cache_clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    before = _resident()
    yield
    if (now := _resident()) - before >= 50:
        _grown.append((now - before, item.nodeid))
    if now - before > MOST_MEMORY:
        pytest.fail(f"the process holds {now:,.0f} MB with this test, {before:,.0f} before it")
    if _unmarked:
        started = ", ".join(sorted(set(_unmarked)))
        _unmarked.clear()
        pytest.fail(f"it starts {started}, so it must be marked: @pytest.mark.service")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Search no garbage while tests are collected, and never among them: they stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


_state_at_import: dict[str, dict[str, Any]] = {}
"""States of the generators of each module of tests, by name."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let the generators of a module begin anew, so that no test depends on those before it."""
    names = vars(getattr(item, "module", None) or object)
    generators = {
        name: value.bit_generator
        for name, value in names.items()
        if isinstance(value, np.random.Generator)
    }
    kept = _state_at_import.setdefault(
        names.get("__name__", ""), {name: bits.state for name, bits in generators.items()}
    )
    for name, bits in generators.items():
        bits.state = kept[name]


@pytest.fixture
def registered_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone after it."""
    from lapwing.registry import GROUPS

    for table in GROUPS.values():
        monkeypatch.setattr(table, "_registered", dict(table._registered))
