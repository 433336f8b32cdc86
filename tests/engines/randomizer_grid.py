"""Every randomizer in every engine: each engine's tests take their cases of one grid from here.

`make test` runs the covering array: every pair of a randomizer and a job, a domain and a job, a
domain and an engine, and every randomizer with Arrow. Each engine does every job with counts, with
a log, with reports of one byte and of several. Workers of Spark get the document of a survey,
whatever its randomizer is. `make soak` runs the whole grid.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lapwing import Product, Survey
from lapwing.documents import canonical
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.messages.reports import Reports
from lapwing.registry import RANDOMIZERS as KNOWN
from lapwing.testing.randomizer_contract import exact_law, report_tail
from tests.contracts.covering import covering
from tests.contracts.registered import DOMAINS, RANDOMIZERS, RandomizerCase
from tests.false_alarms import accepts

PEOPLE = 403
BAD_ROWS = (5, 77, PEOPLE - 1)
EPSILON = 4
"""Large, so that 403 reports tell two values apart."""

JOBS = ("tally", "tally by groups", "tally with bad rows", "randomize")

Documents = dict[str | None, bytes]


@cache
def _case(name: str, domain: str) -> RandomizerCase:
    row = RANDOMIZERS[name]
    return RandomizerCase(row, row.make(DOMAINS[domain], EPSILON))


@dataclass(frozen=True)
class EngineCase:
    """A job on reports or values of one randomizer."""

    name: str
    domain: str
    engine: str
    job: str

    @property
    def case(self) -> RandomizerCase:
        return _case(self.name, self.domain)

    @cached_property
    def survey(self) -> Survey:
        return Survey("grid", self.case.randomizer)

    @property
    def pairs(self) -> bool:
        """Whether the values are pairs, whose columns are named as the axes."""
        return isinstance(self.case.randomizer.domain, Product)

    @property
    def column(self) -> str | None:
        """The column of the values; None of pairs."""
        return None if self.pairs else "value"

    @property
    def by(self) -> str | None:
        return "place" if self.job == "tally by groups" else None

    @property
    def skip_bad(self) -> bool:
        return self.job == "tally with bad rows"

    @cached_property
    def _reports(self) -> Reports:
        values = self.case.values(np.arange(PEOPLE) % self.case.inputs)
        return self.survey.randomize(values, rng=seeded(1))

    @property
    def _labels(self) -> list[str | None]:
        return [["north", "south", None][row * 31 // 7 % 3] for row in range(PEOPLE)]

    @cached_property
    def table(self) -> pa.Table:
        """The rows that the engine gets: `report` and `place`, or values."""
        if self.job == "randomize":
            value = self.case.value(self.case.inputs - 1)
            known = self.case.value(0)
            if self.pairs:
                names = self.case.randomizer.domain.names
                return pa.table(
                    {name: [one] * PEOPLE for name, one in zip(names, value, strict=True)}
                )
            kind = pa.string() if isinstance(known, str) else pa.array([known]).type
            return pa.table({"value": pa.array([value] * PEOPLE, kind)})
        cells: list[bytes | None] = [bytes(row) for row in self._reports.data]
        if self.skip_bad:
            bad = itertools.cycle([None, *self.case.row.impossible(self.case.randomizer)])
            for row, cell in zip(BAD_ROWS, bad, strict=False):
                cells[row] = cell
        return pa.table({"report": pa.array(cells, pa.binary()), "place": self._labels})

    @property
    def wanted(self) -> tuple[Documents, int]:
        """The documents of the tallies in memory, by label, and the number of refused rows."""
        kept = np.delete(np.arange(PEOPLE), BAD_ROWS if self.skip_bad else ())
        labels = np.array([self._labels[row] if self.by else None for row in kept], dtype=object)
        tallies = {
            label: self.survey.tally(
                Reports(self._reports.data[kept[labels == label]], self._reports.fingerprint)
            )
            for label in dict.fromkeys(labels.tolist())
        }
        return _documents(tallies), PEOPLE - kept.size

    def check_tally(self, counted: Any) -> None:
        """Raise AssertionError unless the engine counted what is counted in memory."""
        assert (_documents(counted.groups), counted.refused) == self.wanted, self
        assert counted.grouped == (self.by is not None), self

    def check_reports(self, cells: Iterable[bytes]) -> None:
        """Raise AssertionError unless reports have the law of the one value that all rows hold."""
        randomizer, last = self.case.randomizer, self.case.inputs - 1
        data = np.frombuffer(b"".join(cells), dtype=np.uint8)
        data = data.reshape(PEOPLE, randomizer.report_width)
        assert accepts(report_tail(data, exact_law(randomizer, last))), self
        assert not accepts(report_tail(data, exact_law(randomizer, last // 2))), self


def _documents(tallies: dict[Any, Any]) -> Documents:
    return {label: canonical(tally.to_document()) for label, tally in tallies.items()}


def pairs(case: EngineCase) -> Iterator[tuple[str, ...]]:
    """Yield what a case covers; tests/contracts covers the pairs of a randomizer and a domain."""
    if case.engine == "arrow":
        yield case.engine, case.name
    yield case.engine, case.domain
    yield case.job, case.name
    yield case.job, case.domain
    randomizer = case.case.randomizer
    yield case.engine, case.job, randomizer.collects
    yield case.engine, case.job, "one byte" if randomizer.report_width == 1 else "several bytes"


@cache
def grid() -> list[EngineCase]:
    """Return the whole grid: a part of a mixture has no survey, and no engine meets it.

    Only Arrow reads pairs from two columns.
    """
    whole = [
        EngineCase(name, domain, engine, job)
        for name, row in RANDOMIZERS.items()
        for domain in row.domains
        if KNOWN.knows(type(_case(name, domain).randomizer))
        for engine in ("arrow", "spark")
        for job in JOBS
    ]
    return [
        one for one in whole if one.engine == "arrow" or one.job != "randomize" or not one.pairs
    ]


@cache
def chosen() -> tuple[EngineCase, ...]:
    """Return the cases of `make test`."""
    return tuple(covering(grid(), pairs))


def in_engine(engine: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test on the `cases` of an engine: those of `make test`, and the others in soak."""
    own = [case for case in grid() if case.engine == engine]
    few = [case for case in own if case in set(chosen())]
    return pytest.mark.parametrize(
        "cases",
        [
            pytest.param(few, id="every pair"),
            pytest.param(
                [case for case in own if case not in few], id="the others", marks=pytest.mark.soak
            ),
        ],
    )
