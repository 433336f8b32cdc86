"""What a row of the contract suites says of a randomizer, and what several rows share.

The rows stand beside the tests of their classes, in `tests/randomizers/**/registered_*.py`. Shared
is how a client is tampered with, and what a code, packed bits or a group before a report mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

ORDERED = ("linear", "circular", "log", "atoms-and-missing", "integers")
ALL = (*ORDERED, "categories", "categories-missing")
PAIRS = ("pair", "pair-apart", "pair-of-labels")
"""Names of domains, see `registered.DOMAINS`."""


@dataclass(frozen=True)
class RandomizerRow:
    """How the contracts make and break one kind of randomizer.

    `make(domain, epsilon)`; `loosen(randomizer)` moves a threshold by one unit past its legal
    limit; `impossible(randomizer)` lists reports that it cannot send; `adds(randomizer, report)`
    says by hand in which block and outputs a report is counted. `log`: its tally is a log of
    reports, which gives counts. `near_sets(randomizer)`: the knobs that keep its near sets when
    epsilon changes.
    """

    make: Callable[[Any, Any], Any]
    domains: tuple[str, ...]
    loosen: Callable[[Any], Any]
    impossible: Callable[[Any], list[bytes]]
    adds: Callable[[Any, bytes], tuple[int, list[int]]]
    log: bool = False
    near_sets: Callable[[Any], dict[str, Any]] = lambda randomizer: {}


def with_attributes(randomizer: Any, **cached: Any) -> Any:
    """Return a copy with cached thresholds overwritten: what a tampered client would hold."""
    changed = replace(randomizer)
    changed.__dict__.update(cached)
    return changed


def loosen_near(randomizer: Any) -> Any:
    return with_attributes(randomizer, _threshold=randomizer._threshold + 1)


def loosen_first_group(randomizer: Any) -> Any:
    first, *others = randomizer.groups
    loose = replace(first, randomizer=loosen_near(first.randomizer))
    return with_attributes(randomizer, groups=(loose, *others))


def impossible_codes(randomizer: Any) -> list[bytes]:
    width = randomizer.report_width
    codes = [randomizer._outputs, randomizer._outputs + 1, 256**width - 1]
    return [code.to_bytes(width, "little") for code in codes if code < 256**width]


def spare_bits(randomizer: Any) -> list[bytes]:
    width, size = randomizer.report_width, randomizer.domain.size
    return [(1 << bit).to_bytes(width, "little") for bit in range(size, 8 * width)]


def code_of(randomizer: Any, report: bytes) -> tuple[int, list[int]]:
    return 0, [int.from_bytes(report, "little")]


def set_bits(randomizer: Any, report: bytes) -> tuple[int, list[int]]:
    bits = [8 * i + bit for i, byte in enumerate(report) for bit in range(8) if byte >> bit & 1]
    return 0, bits


def row_of(randomizer: Any) -> RandomizerRow:
    """Return a row of the kind of a randomizer: a part of a mixture has one of its own."""
    from tests.contracts.registered import RANDOMIZERS  # which reads the rows that need this file

    return next(row for name, row in RANDOMIZERS.items() if name.split(",")[0] == randomizer.name)


def wrong_groups(randomizer: Any) -> list[bytes]:
    width = randomizer.report_width
    wrong = [bytes([len(randomizer.groups)]).ljust(width, b"\0"), b"\xff" * width]
    for number, part in enumerate(randomizer.groups):
        row = row_of(part.randomizer)
        for report in row.impossible(part.randomizer):
            wrong.append((bytes([number]) + report).ljust(width, b"\0"))
        padding = width - 1 - part.randomizer.report_width
        if padding:
            wrong.append(bytes([number] + [0] * (width - 2) + [1]))
    return wrong


def in_group(randomizer: Any, report: bytes) -> tuple[int, list[int]]:
    part = randomizer.groups[report[0]].randomizer
    own, padding = report[1 : 1 + part.report_width], report[1 + part.report_width :]
    assert not any(padding)
    return report[0], row_of(part).adds(part, own)[1]


CODES = (loosen_near, impossible_codes, code_of)
"""`loosen`, `impossible` and `adds` of a row whose reports are one code."""

GROUPS = (loosen_first_group, wrong_groups, in_group)
"""The same of a mixture."""
