"""The counters, as Prometheus reads them."""

from __future__ import annotations

import re

from lapwing.service.counters import Counters

SAMPLE = re.compile(r'([a-z_]+)(\{([a-z]+="[^"]*",?)+\})? (-?[0-9.e+]+|\+Inf)')


def test_every_line_is_a_comment_or_a_number() -> None:
    counters = Counters()
    counters.uploads[201, "stored"] += 2
    counters.requests[200] += 1
    counters.watch("lapwing_waiting_uploads", "gauge", "Uploads that wait.", lambda: 7)
    for seconds in (0.0005, 0.003, 0.003, 99.0):
        counters.storing.add(seconds)
    names, typed = set(), set()
    for line in counters.text(everything=True).splitlines():
        if line.startswith("# TYPE "):
            typed.add(line.split()[2])
        elif not line.startswith("# HELP "):
            match = SAMPLE.fullmatch(line)
            assert match, line
            names.add(re.sub(r"_(bucket|sum|count)$", "", match[1]))
    assert names == typed
    text = counters.text(everything=True)
    assert 'lapwing_uploads_total{status="201",answer="stored"} 2' in text
    assert "lapwing_waiting_uploads 7" in text
    for end, number in (("0.001", 1), ("0.0025", 1), ("0.005", 3), ("10", 3), ("+Inf", 4)):
        assert f'lapwing_storing_seconds_bucket{{le="{end}"}} {number}\n' in text
    assert "lapwing_storing_seconds_count 4" in text
