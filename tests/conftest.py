"""With LAPWING_REQUIRE_ALL=1 a skipped test fails: a check that did not run proves nothing."""

from __future__ import annotations

import os
from collections.abc import Generator

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


@pytest.fixture
def registered_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone after it."""
    from lapwing.survey.registry import GROUPS

    for table in GROUPS.values():
        monkeypatch.setattr(table, "_registered", dict(table._registered))
