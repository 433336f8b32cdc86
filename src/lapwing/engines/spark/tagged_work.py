"""The jobs of Spark that a block starts: stopped when it is left early, and seen to have ended."""

from __future__ import annotations

import secrets
import time
from contextlib import suppress
from typing import Any

_PATIENCE = 60.0
"""Seconds in which the tasks of a job that is over must end."""


class TaggedWork:
    """Jobs that carry a tag of their own.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        A classic one.
    """

    def __init__(self, session: Any) -> None:
        self._context = session.sparkContext
        self._tag = f"lapwing-{secrets.token_hex(8)}"

    def __enter__(self) -> None:
        self._context.addJobTag(self._tag)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        from py4j.protocol import Py4JError

        with suppress(Py4JError, OSError):  # Java may be gone
            self._context.removeJobTag(self._tag)
            if kind is not None:
                self._context.cancelJobsWithTag(self._tag)

    def ended(self) -> bool:
        """Return whether none of their tasks is at work, after some patience.

        A job is over before its last tasks are: when it failed or was stopped, and when one of two
        attempts was enough.
        """
        java = self._context._jsc.sc()
        end = time.monotonic() + _PATIENCE
        # What is known of tasks comes through a queue, which is behind what just happened.
        java.listenerBus().waitUntilEmpty(int(1000 * _PATIENCE))
        tracker = java.statusTracker()
        while at_work := _at_work(tracker, self._tag):
            if time.monotonic() > end:
                break
            time.sleep(0.05)
        return not at_work


def _at_work(tracker: Any, tag: str) -> bool:
    """Return whether a task of some job of a tag is at work."""
    for number in tracker.getJobIdsForTag(tag):
        job = tracker.getJobInfo(number)
        if job.isEmpty():
            continue
        for stage in job.get().stageIds():
            info = tracker.getStageInfo(stage)
            if info.isDefined() and info.get().numActiveTasks():
                return True
    return False
