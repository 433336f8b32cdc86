"""Logs of reports: exact sums in any order to identical bytes, and nothing foreign in them."""

from __future__ import annotations

import base64
import copy
import functools
import itertools
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lapwing import Categories, LinearHashing, Survey
from lapwing.documents import canonical
from lapwing.errors import FormatError, MismatchError, TallyError
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.messages import tally as tally_module
from lapwing.protocol.messages.tally import Tally
from lapwing.randomizers import OptimizedUnaryEncoding
from lapwing.tallies import CountTally, TallyLog
from tests.mistaken import mistaken

HASHING = LinearHashing(Categories(1000), 2)
REPORTS = HASHING.randomize(np.arange(500) % 7, rng=seeded(1))
LOG = HASHING.tally(REPORTS)


def test_any_split_and_order_gives_identical_bytes() -> None:
    whole = canonical(LOG.to_document())
    parts = [HASHING.tally(REPORTS[a:b]) for a, b in ((0, 1), (1, 90), (90, 90), (90, 500))]
    for first, second, third, fourth in itertools.permutations(parts):
        for merged in (((first + second) + third) + fourth, first + (second + (third + fourth))):
            assert canonical(merged.to_document()) == whole and merged == LOG
    assert canonical(sum(parts).to_document()) == whole  # type: ignore[union-attr]  # 0 of none
    # Duplicates are kept: it is a multiset.
    twice = LOG + replace(LOG)
    assert twice.total == 1000 and twice != LOG


def test_records_are_the_reports_sorted_as_numbers() -> None:
    codes = [int.from_bytes(row.tobytes(), "little") for row in REPORTS.data]
    assert LOG.codes.tolist() == sorted(codes)
    width = REPORTS.width
    assert LOG.records() == b"".join(code.to_bytes(width, "little") for code in sorted(codes))


def test_json_both_ways() -> None:
    marked = replace(LOG, survey="s" * 64)
    again = Tally.from_document(json.loads(canonical(marked.to_document())))
    assert isinstance(again, TallyLog)
    assert again == marked and hash(again) == hash(marked) and again.survey == marked.survey
    assert again + replace(again) == marked + replace(marked)
    empty = HASHING.tally(REPORTS[:0])
    assert TallyLog.from_document(empty.to_document()) == empty and empty + LOG == LOG


def test_documents_of_both_kinds_are_told_apart() -> None:
    counts = CountTally([np.array([1, 2])], [3], "f")
    assert isinstance(Tally.from_document(counts.to_document()), CountTally)
    with pytest.raises(FormatError):
        TallyLog.from_document(counts.to_document())
    with pytest.raises(FormatError):
        CountTally.from_document(LOG.to_document())
    with pytest.raises(FormatError, match=r"must be a tally, but it is a survey"):
        Tally.from_document({"format": "lapwing-survey"})


def test_records_out_of_order_or_of_another_number_are_refused() -> None:
    document = replace(LOG, standing=None).to_document()
    unsorted = TallyLog([LOG.codes[::-1].copy()], LOG.width, LOG.fingerprint).to_document()
    assert unsorted == document, "writing sorts"
    records = LOG.records()
    swapped = records[LOG.width :] + records[: LOG.width]
    for change in (
        {"kind": "counts"},
        {"reports": 499},
        {"width": LOG.width + 1},
        {"records": base64.b64encode(swapped).decode()},
    ):
        with pytest.raises(FormatError):
            TallyLog.from_document({**document, **change})


def test_foreign_logs_are_not_merged() -> None:
    stranger = replace(LOG, fingerprint=LinearHashing(Categories(1000), 3).fingerprint)
    with pytest.raises(MismatchError, match="same survey"):
        LOG + stranger
    with pytest.raises(MismatchError, match="same survey"):
        LOG + replace(LOG, survey="another survey")
    with pytest.raises(MismatchError, match="the same width"):
        LOG + replace(LOG, width=LOG.width + 1)
    counts = CountTally([np.array([1])], [1], LOG.fingerprint)
    for mixed in (lambda: LOG + counts, lambda: counts + LOG):
        with pytest.raises(MismatchError, match="the other has stored reports"):
            mixed()
    with pytest.raises(TypeError):
        LOG + mistaken(1)
    with pytest.raises(TypeError):
        1 + LOG


def test_what_is_no_log_is_refused() -> None:
    good = np.array([3, 1], dtype=np.uint64)
    for runs, width in (
        ([good.astype(np.int64)], 2),
        ([good.reshape(1, 2)], 2),
        ([good], 0),
        ([good], 9),
        ([good], True),
        ([np.array([256], dtype=np.uint64)], 1),
    ):
        with pytest.raises(TallyError):
            TallyLog(mistaken(runs), width, "f")


def test_frozen() -> None:
    with pytest.raises(ValueError, match="read-only"):
        LOG.codes[0] += np.uint64(1)
    with pytest.raises(AttributeError):
        mistaken(LOG).width = 1


def test_surveys_keep_logs_apart() -> None:
    spring, autumn = Survey("spring", HASHING), Survey("autumn", HASHING)
    with pytest.raises(MismatchError, match="same survey"):
        spring.tally(REPORTS) + autumn.tally(REPORTS)
    with pytest.raises(MismatchError, match="collected by survey"):
        spring.decode(autumn.tally(REPORTS))
    counting = Survey("spring", OptimizedUnaryEncoding(Categories(4), 1))
    with pytest.raises(MismatchError, match="has stored reports"):
        counting.decode(LOG)


@pytest.fixture
def sorts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many reports each sort of a log sorted."""
    sizes: list[int] = []
    assert LOG.codes.size == LOG.total  # sorted before sorts are counted, whatever test comes first
    sort = tally_module._sorted

    def counted(runs: Any) -> Any:
        joined = sort(runs)
        sizes.append(joined.size)
        return joined

    monkeypatch.setattr(tally_module, "_sorted", counted)
    return sizes


def _ones(number: int) -> list[TallyLog]:
    return [HASHING.tally(REPORTS[place : place + 1]) for place in range(number)]


@pytest.mark.parametrize("way", ["sum", "+=", "from the right", "in pairs"])
def test_many_batches_are_sorted_once_and_no_run_is_looked_at_twice(
    way: str, sorts: list[int]
) -> None:
    logs = _ones(500)
    looks = _Looks()
    for log in logs:
        (codes,) = log.runs
        object.__setattr__(log, "runs", (codes.view(_Watched),))
    _Watched.looks = looks
    if way == "sum":
        total = sum(logs)
    elif way == "+=":
        total = logs[0]
        for log in logs[1:]:
            total += log
    elif way == "from the right":
        total = functools.reduce(lambda one, other: other + one, logs)
    else:
        while len(logs) > 1:
            logs = [sum(logs[place : place + 2]) for place in range(0, len(logs), 2)]
        (total,) = logs
    assert isinstance(total, TallyLog) and total.total == 500
    assert looks.number == 0 and sorts == [], "adding reads no report"
    assert total == LOG and sorts == [500], "one sort, of all"
    assert total.codes is total.codes and len(total.runs) == 1


class _Looks:
    number = 0


class _Watched(np.ndarray):  # type: ignore[type-arg]
    looks = _Looks()

    def max(self, *args: Any, **options: Any) -> Any:
        _Watched.looks.number += 1
        return super().max(*args, **options)


def test_sums_that_start_from_one_log_do_not_see_each_other() -> None:
    first, second, third, fourth = _ones(4)
    start = first + second
    left, right = start + third, start + fourth
    again = third + start
    longer = left + fourth
    assert [log.total for log in (start, left, right, again, longer)] == [2, 3, 3, 3, 4]
    assert left == again == HASHING.tally(REPORTS[:3]) != right
    assert longer == HASHING.tally(REPORTS[:4])
    assert start == HASHING.tally(REPORTS[:2])
    start = first + second
    assert (start + third).total == 3, "its run stands behind those of `start`"
    travelled = pickle.loads(pickle.dumps(start))
    assert len(travelled.runs) == 2 and travelled == start
    assert copy.deepcopy(start) == start and replace(start, survey="s").total == 2


def test_threads_that_extend_one_sum_take_no_run_of_each_other() -> None:
    start = sum(_ones(2))
    assert isinstance(start, TallyLog)
    others = _ones(200)
    with ThreadPoolExecutor(8) as pool:
        sums = list(pool.map(lambda other: start + replace(other), others))
    for other, log in zip(others, sums, strict=True):
        assert log.total == 3 == sum(run.size for run in log.runs)
        assert log.runs[-1] is other.runs[0] or log.runs[0] is other.runs[0]


def test_a_log_that_was_read_is_sorted_no_more(sorts: list[int]) -> None:
    document = LOG.to_document()
    sorts.clear()
    log = TallyLog.from_document(document)
    assert log.records() == LOG.records() and sorts == []
