"""Logs of a collector: JSON lines without an address, a time of day or a value.

Uploads are not written one by one: an order of lines would tell who came when. They are counted,
and the counts are written once an hour and at the end.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

HOUR = 3600

Fact = str | int | float | bool | None


class Log:
    """Lines of JSON, and counts that become one.

    stream: Where they go.
    clock: Returns seconds since 1970.
    """

    def __init__(self, stream: IO[str], *, clock: Callable[[], float]) -> None:
        self._stream = stream
        self._clock = clock
        self._uploads: Counter[tuple[str, str, str]] = Counter()
        self._lines: Counter[str] = Counter()
        self._hour = int(clock()) // HOUR

    def write(self, event: str, **facts: Fact) -> None:
        """Write one line, with the hour."""
        hour = datetime.fromtimestamp(int(self._clock()) // HOUR * HOUR, UTC)
        line = {"hour": hour.strftime("%Y-%m-%dT%H:00Z"), "event": event, **facts}
        try:
            self._stream.write(json.dumps(line, ensure_ascii=True) + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            return  # nobody reads it, or its disk is full: reports are still received

    def count_upload(self, survey: str, epoch: str, answer: str) -> None:
        """Count an upload of a survey and an epoch that exist ("" otherwise)."""
        self._uploads[survey, epoch, answer] += 1

    def count_line(self, said: str) -> None:
        """Count a line of the HTTP server: anybody can make it write as many as they like."""
        self._lines[said] += 1

    def tick(self) -> None:
        """Write the counts of an hour that is over."""
        hour = int(self._clock()) // HOUR
        if hour != self._hour:
            self._hour = hour
            self.write_uploads()

    def write_uploads(self) -> None:
        """Write the counts, and begin again."""
        counted, self._uploads = self._uploads, Counter()
        for (survey, epoch, answer), number in sorted(counted.items()):
            self.write(
                "uploads", survey=survey or None, epoch=epoch or None, answer=answer, number=number
            )
        lines, self._lines = self._lines, Counter()
        for said, number in sorted(lines.items()):
            self.write("server", said=said, number=number)

    def defect(self, error: BaseException) -> None:
        """Write where an error happened that nobody expected, without its message."""
        frames = traceback.extract_tb(error.__traceback__)
        last = frames[-1] if frames else None
        place = None if last is None else f"{Path(last.filename).name}:{last.lineno} {last.name}"
        self.write("defect", error=type(error).__name__, place=place)


class ServerLines(logging.Handler):
    """Lines of the HTTP server, without what it would fill in: that may be an address."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write one."""
        if record.exc_info and record.exc_info[1] is not None:
            self._log.defect(record.exc_info[1])
        else:
            # asyncio writes what it holds into its lines before they come here.
            said = "asyncio" if record.name == "asyncio" else str(record.msg)[:200]
            self._log.count_line(said)


@contextmanager
def server_lines_in(log: Log) -> Iterator[None]:
    """Send the lines of the HTTP server into a log, and nowhere else, while the block runs."""
    names = ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio")
    loggers = [logging.getLogger(name) for name in names]
    before = [(each.handlers, each.level, each.propagate) for each in loggers]
    for logger in loggers:
        logger.handlers, logger.propagate = [ServerLines(log)], False
        logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        for logger, (handlers, level, propagate) in zip(loggers, before, strict=True):
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(level)


def standard_log(clock: Callable[[], float]) -> Log:
    """Return the log of a collector that runs on its own: on stderr."""
    return Log(sys.stderr, clock=clock)
