"""Exact counts: what is counted, that nothing of it is shown, and the private file."""

import hashlib
import stat
import struct

import numpy as np
import pytest

from lapwing.errors import ArgumentError, FormatError, MismatchError
from lapwing.protocol.domains.categories import Categories
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.domains.unordered import HashedStrings
from lapwing.protocol.messages.exact_counts import MAGIC, ExactCounts

DOMAIN = Interval(0, 10, bins=5)
VALUES = [-3.0, 0.0, 1.9, 2.0, 10.0, 99.0, float("nan"), float("inf"), float("-inf")]


def test_every_row_is_counted_and_none_is_refused():
    found = ExactCounts.of_values(VALUES, Interval(0, 10, bins=5, outside="refuse"))
    assert found.domain.outside == "overflow"
    assert found.counts.tolist() == [2, 3, 0, 0, 0, 1, 2, 1]
    assert found.people == len(VALUES)


def test_whole_numbers_are_rounded():
    found = ExactCounts.of_values([0.4, 0.6, 7.0, -9, None], Integers(0, 3))
    assert found.counts.tolist() == [2, 1, 0, 1, 1]


def test_nothing_is_shown():
    found = ExactCounts.of_values([1.0] * 12345, DOMAIN)
    assert "12345" not in repr(found) + str(found) and "secret" in repr(found)


def test_they_add_in_any_order():
    parts = [ExactCounts.of_values(np.full(n, n), DOMAIN) for n in (1, 4, 9)]
    assert np.array_equal(sum(parts).counts, sum(parts[::-1]).counts)
    with pytest.raises(MismatchError):
        parts[0] + ExactCounts.of_values([1], Interval(0, 11, bins=5))


def test_the_file_is_for_its_owner_and_comes_back(tmp_path):
    path = tmp_path / "site.lws"
    found = ExactCounts.of_values(VALUES, DOMAIN)
    found.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = ExactCounts.load(path)
    assert again.domain == found.domain and np.array_equal(again.counts, found.counts)


@pytest.mark.parametrize("place", [0, 3, 30, -1, -40])
def test_a_damaged_file_is_refused(place, tmp_path):
    path = tmp_path / "site.lws"
    ExactCounts.of_values(VALUES, DOMAIN).save(path)
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    with pytest.raises(FormatError):
        ExactCounts.load(path)
    path.write_bytes(bytes(content[:20]))
    with pytest.raises(FormatError):
        ExactCounts.load(path)


def test_errors_speak_of_exact_counts(tmp_path):
    path = tmp_path / "site.lws"
    ExactCounts.of_values(VALUES, DOMAIN).save(path)
    content = path.read_bytes()[:-32].replace(b"lapwing-exact-counts", b"lapwing-summary")
    start = len(MAGIC) + 4
    content = (
        MAGIC
        + struct.pack("<I", len(content[start:]) - 8 * DOMAIN.for_curator().size)
        + content[start:]
    )
    path.write_bytes(content + hashlib.sha256(content).digest())
    with pytest.raises(FormatError, match=r"older format .*again with lapwing count"):
        ExactCounts.load(path)
    path.write_bytes(b"{}")
    with pytest.raises(FormatError, match="must be a file of exact counts"):
        ExactCounts.load(path)


@pytest.mark.parametrize("counts", [[1, 2], [1.0] * 6, [-1, 0, 0, 0, 0, 0], [2**40, 1, 0, 0, 0, 0]])
def test_counts_that_cannot_be(counts):
    with pytest.raises(ArgumentError):
        ExactCounts(DOMAIN, np.array(counts))


def test_symbols_that_cannot_be_listed_are_not_counted():
    with pytest.raises(ArgumentError, match="Interval, Integers or Categories"):
        HashedStrings(8).for_curator()
    with pytest.raises(ArgumentError, match="at most 16777216"):
        Categories(2**24 + 1).for_curator()


def test_labels_that_are_none_are_missing_or_the_other_one():
    values = ["red", "blue", None, 3, "3", True, float("nan"), np.str_("red"), object(), "red\0"]
    plain = ExactCounts.of_values(values, Categories(["red", 3]))
    assert plain.counts.tolist() == [2, 2, 6]
    other = ExactCounts.of_values(values, Categories(["red", 3, "rest"], other="rest"))
    assert other.counts.tolist() == [2, 2, 4, 2]
    counted = ExactCounts.of_values(np.array([0, 4, 5, -1, 2**40]), Categories(5))
    assert counted.counts.tolist() == [1, 0, 0, 0, 1, 3]
    assert ExactCounts.of_values([], Categories(5)).counts.tolist() == [0] * 6
    moments = np.array(["1970-01-01", "NaT"], dtype="datetime64[ns]")
    assert ExactCounts.of_values(moments, Categories(5, other=1)).counts.tolist() == [
        0,
        1,
        0,
        0,
        0,
        1,
    ]


def test_a_summary_of_labels_is_stored_and_added(tmp_path):
    domain = Categories(["red", "rest"], other="rest")
    one = ExactCounts.of_values(["red", "blue", None], domain)
    one.save(tmp_path / "one.lws")
    again = ExactCounts.load(tmp_path / "one.lws")
    assert (one + again).counts.tolist() == [2, 2, 2]
    with pytest.raises(MismatchError):
        one + ExactCounts.of_values(["red"], Categories(["red", "rest"]))
