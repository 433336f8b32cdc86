"""The log: hours instead of times, counts instead of a line for each, places instead of values."""

from __future__ import annotations

import io
import json
import logging
from typing import Any

from lapwing.service.logs import HOUR, Log, server_lines_in
from tests.service.one_collector import NOON, Clock


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_uploads_are_counted_and_written_when_the_hour_is_over() -> None:
    clock, stream = Clock(NOON + 1234), io.StringIO()
    log = Log(stream, clock=clock)
    for answer in ("stored", "stored", "malformed-batch"):
        log.count_upload("f" * 64, "e", answer)
    log.tick()
    assert stream.getvalue() == ""
    clock.now += HOUR
    log.tick()
    log.tick()
    told = lines(stream)
    assert [(line["answer"], line["number"]) for line in told] == [
        ("malformed-batch", 1),
        ("stored", 2),
    ]
    assert {line["hour"] for line in told} == {"2027-01-15T09:00Z"}


def test_a_defect_is_a_place_and_no_value() -> None:
    stream = io.StringIO()
    log = Log(stream, clock=Clock())
    try:
        int("a secret value")
    except ValueError as error:
        log.defect(error)
    (line,) = lines(stream)
    assert line["event"] == "defect" and line["error"] == "ValueError"
    assert "test_logs.py" in line["place"] and "secret" not in stream.getvalue()


def test_lines_of_the_server_come_without_what_was_filled_in() -> None:
    stream = io.StringIO()
    log = Log(stream, clock=Clock())
    logger = logging.getLogger("uvicorn.error")
    before = logger.handlers, logger.level, logger.propagate
    with server_lines_in(log):
        for port in range(3):
            logger.warning("%s went away", ("203.0.113.7", port))
        logger.info("not even this")
        logging.getLogger("asyncio").error("203.0.113.7 is in the text itself")
        try:
            raise KeyError("203.0.113.7")
        except KeyError:
            logger.exception("of 203.0.113.7")
    assert (logger.handlers, logger.level, logger.propagate) == before
    log.write_uploads()
    told = lines(stream)
    assert "203.0.113.7" not in stream.getvalue()
    said = {line["said"]: line["number"] for line in told if line["event"] == "server"}
    assert said == {"%s went away": 3, "asyncio": 1}
    assert told[0]["event"] == "defect"


def test_a_log_that_nobody_reads_stops_nothing() -> None:
    stream = io.StringIO()
    log = Log(stream, clock=Clock())
    stream.close()
    log.write("started", surveys=3)
