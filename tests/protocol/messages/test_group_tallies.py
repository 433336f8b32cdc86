"""Tallies by group: nothing is lost, nothing is mixed, and small groups are put together."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import lapwing as lw
from lapwing import Interval, Reports, SquareWave, Survey, seeded
from lapwing.errors import ArgumentError, FormatError, MismatchError, ReportError, TallyError
from lapwing.protocol.messages import group_labels, group_table
from lapwing.protocol.messages.group_labels import MOST_GROUPS, clean_label, coded_rows
from lapwing.protocol.messages.group_tallies import OTHER, GroupTallies, count_groups
from tests.mistaken import mistaken

SURVEY = Survey("age", SquareWave(Interval(0, 100, bins=16), 2))
REPORTS = SURVEY.randomize(np.linspace(0, 100, 600), rng=seeded(1))
LABELS = ["north"] * 300 + ["south"] * 200 + ["east"] * 60 + ["west"] * 40


def test_each_group_has_the_tally_of_its_own_reports() -> None:
    groups = SURVEY.tally(REPORTS, by=LABELS, minimum=100)
    assert list(groups) == ["north", "south", OTHER]
    assert groups["north"] == SURVEY.tally(REPORTS[:300])
    assert groups["south"] == SURVEY.tally(REPORTS[300:500])
    assert groups[OTHER] == SURVEY.tally(REPORTS[500:])
    assert sum(groups.values()) == SURVEY.tally(REPORTS)


@pytest.mark.parametrize(
    ("minimum", "expected"),
    [
        (1, ["east", "north", "south", "west"]),
        (60, ["east", "north", "south", OTHER]),
        (61, ["north", "south", OTHER]),
        (301, [OTHER]),
    ],
)
def test_groups_below_the_minimum_are_counted_together(minimum: int, expected: list[str]) -> None:
    groups = SURVEY.tally(REPORTS, by=LABELS, minimum=minimum)
    assert list(groups) == expected
    assert sum(tally.total for tally in groups.values()) == 600


def test_the_default_minimum_is_a_thousand() -> None:
    assert list(SURVEY.tally(REPORTS, by=LABELS)) == [OTHER]


def test_people_without_a_label_are_other_beside_a_group_of_that_name() -> None:
    labels: list[Any] = [None, float("nan"), "", "  ", "other", 7, "7", np.int64(7), True, "x"]
    groups = SURVEY.tally(REPORTS[:10], by=labels, minimum=1)
    assert {name: tally.total for name, tally in groups.items()} == {
        "7": 3,
        "true": 1,
        "x": 1,
        OTHER: 1,
        "all other": 4,
    }
    assert list(groups)[-1] == "all other"
    groups = SURVEY.tally(REPORTS[:10], by=labels, minimum=2)
    assert {name: tally.total for name, tally in groups.items()} == {"7": 3, OTHER: 7}


def test_batches_in_any_order_give_the_same_groups() -> None:
    whole = SURVEY.tally(REPORTS, by=LABELS, minimum=50)
    parts = [
        SURVEY.tally(REPORTS[start : start + 200], by=LABELS[start : start + 200], minimum=1)
        for start in (400, 0, 200)
    ]
    added = parts[0] + parts[1] + parts[2]
    assert added.total == 600 and list(added) == sorted(added.segments)
    assert GroupTallies.of_groups({**added}, minimum=50).to_json() == whole.to_json()
    assert (parts[2] + parts[1] + parts[0]).to_json() == added.to_json()


def test_illegal_input_is_refused_and_nothing_counted() -> None:
    with pytest.raises(ArgumentError, match="600 reports and 599 labels"):
        count_groups(SURVEY, REPORTS, LABELS[1:])
    with pytest.raises(ArgumentError, match="at most 100,000 groups"):
        many = SURVEY.randomize(np.zeros(MOST_GROUPS + 1), rng=seeded(1))
        count_groups(SURVEY, many, range(MOST_GROUPS + 1))
    data = REPORTS.data.copy()
    data[5] = 255
    with pytest.raises(ReportError) as caught:
        count_groups(SURVEY, Reports(data, REPORTS.fingerprint), LABELS)
    assert caught.value.position == 5
    with pytest.raises(TallyError, match="at least one report"):
        GroupTallies.of_groups({})
    for minimum in (0, -1, 1.5, True):
        with pytest.raises(ArgumentError, match="minimum"):
            SURVEY.tally(REPORTS, by=LABELS, minimum=mistaken(minimum))


def test_exactly_the_most_groups_are_allowed() -> None:
    reports = SURVEY.randomize(np.zeros(MOST_GROUPS), rng=seeded(1))
    assert len(SURVEY.tally(reports, by=range(MOST_GROUPS), minimum=1)) == MOST_GROUPS


def test_a_survey_keeps_its_own_minimum_and_a_minimum_needs_segments() -> None:
    small = Survey("small", SURVEY.randomizer, segments=["a"], segment_minimum=5)
    few = REPORTS[:10].of_survey(small.fingerprint)
    assert list(small.tally(few, by=["a"] * 6 + ["b"] * 4)) == ["a", OTHER]
    assert list(SURVEY.tally(REPORTS[:10], by=["a"] * 6 + ["b"] * 4)) == [OTHER]
    with pytest.raises(ArgumentError, match="by="):
        SURVEY.tally(REPORTS, minimum=5)  # type: ignore[call-overload]


def test_a_file_of_other_tallies_is_refused() -> None:
    groups = SURVEY.tally(REPORTS, by=LABELS, minimum=50)
    document = groups.to_document()
    assert GroupTallies.from_document(document).to_json() == groups.to_json()
    first, second, *_ = document["segments"]
    foreign = Survey("another", SURVEY.randomizer)
    other = foreign.tally(REPORTS.of_survey(foreign.fingerprint)).to_document()
    for change, reason in [
        ({"segments": [second, first]}, "alphabetical order"),
        ({"segments": [first, first]}, "each once"),
        ({"segments": [{**first, "name": " a"}]}, "without spaces"),
        ({"segments": [{**first, "name": 3}]}, "must be strings"),
        ({"segments": {"a": 1}}, "must be a list"),
        ({"segments": [3]}, "must be a JSON object"),
        ({"segments": [], "rest": None}, "at least one report"),
        ({"segments": [first], "rest": other}, "of one survey"),
        ({"rest": {}}, "this must be a tally"),
    ]:
        with pytest.raises(FormatError, match=reason):
            GroupTallies.from_document(document | change)


KINDS: dict[str, Any] = {
    "counts": SURVEY,
    "blocks": Survey("waves", lw.MultiscaleWave(Interval(0, 100, bins=32), 1)),
    "stored": Survey("words", lw.LinearHashing(lw.Categories(1000), 2)),
    "bits": Survey("bits", lw.randomizers.OptimizedUnaryEncoding(lw.Categories(40), 1)),
}


def _of_kind(kind: str) -> tuple[Survey, Reports]:
    survey = KINDS[kind]
    return survey, survey.randomize(np.arange(600) % 30, rng=seeded(1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("columns", [1, 2])
def test_a_table_says_the_same_and_is_read_back(kind: str, columns: int, tmp_path: Path) -> None:
    survey, reports = _of_kind(kind)
    years = [None if row % 5 == 0 else 2020 + row % 3 for row in range(600)]
    by: Any = LABELS if columns == 1 else {"place": LABELS, "year": years}
    groups = survey.tally(reports, by=by, minimum=45 if columns == 1 else 30)
    assert groups.rest is not None and len(groups) > 3
    table = groups.to_arrow()
    assert table.num_rows == len(groups) and table["reports"].to_pylist() == [
        tally.total for tally in groups.values()
    ]
    names = table.column_names[:columns]
    assert names == (["segment"] if columns == 1 else ["place", "year"])
    assert [table[name][len(groups) - 1].as_py() for name in names] == [None] * columns
    if columns == 2:
        assert table.select(names).to_pylist()[0] == {"place": "north", "year": None}
    if kind == "counts":
        assert table["counts"].type.value_type.bit_width == (16 if columns == 1 else 8)
        assert table["counts"][0].as_py() == groups[next(iter(groups))].blocks[0].tolist()
        assert isinstance(groups.to_pandas()["reports"].sum(), np.int64)
    path = tmp_path / "groups.parquet"
    groups.save(path)
    for again in (GroupTallies.load(path), lw.load(path)):
        assert again.to_json() == groups.to_json() and again.columns == groups.columns
        assert dict(again) == dict(groups)
    assert GroupTallies.from_json(groups.to_json()).columns == groups.columns


def test_a_table_is_written_and_read_some_groups_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_table, "_CELLS_AT_ONCE", 3 * 16)
    written = SURVEY.tally(REPORTS, by=np.arange(600) // 20, minimum=20)
    written.save(tmp_path / "groups.parquet")
    assert parquet.ParquetFile(tmp_path / "groups.parquet").num_row_groups > 5
    assert dict(GroupTallies.load(tmp_path / "groups.parquet")) == dict(written)


def test_a_table_of_something_else_is_refused(tmp_path: Path) -> None:
    groups = SURVEY.tally(REPORTS, by=LABELS, minimum=50)
    table = groups.to_arrow()
    path = tmp_path / "groups.parquet"
    about = json.loads(table.schema.metadata[b"lapwing.tally"])
    changes: list[dict[bytes, bytes]] = [
        {b"lapwing.format": b"lapwing-reports"},
        {b"lapwing.version": b"2"},
        {b"lapwing.tally": b"{}"},
        {b"lapwing.tally": json.dumps(about | {"sizes": [17]}).encode()},
        {b"lapwing.tally": json.dumps(about | {"sizes": [-1]}).encode()},
    ]
    for change in changes:
        parquet.write_table(table.replace_schema_metadata(table.schema.metadata | change), path)
        with pytest.raises(FormatError, match=r"groups\.parquet"):
            GroupTallies.load(path)
    for damaged in (
        pa.concat_tables([table, table.slice(0, 1)]),
        table.drop_columns(["counts"]),
        table.slice(0, 0),
        table.set_column(1, "reports", pa.array([-1] * table.num_rows)),
    ):
        parquet.write_table(damaged, path)
        with pytest.raises(FormatError, match=r"groups\.parquet"):
            GroupTallies.load(path)
    parquet.write_table(table, path)
    content = bytearray(path.read_bytes())
    content[30] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(FormatError, match=r"groups\.parquet"):
        GroupTallies.load(path)
    with pytest.raises(ArgumentError, match="must not be named reports"):
        SURVEY.tally(REPORTS, by={"reports": LABELS}).to_arrow()


@pytest.mark.parametrize("kind", KINDS)
def test_tallies_by_day_add_over_the_union_of_groups(kind: str) -> None:
    survey, reports = _of_kind(kind)
    labels = np.array([f"g{row**2 % (31 + row // 100)}" for row in range(600)])
    days = [
        survey.tally(reports[start : start + 100], by=labels[start : start + 100], minimum=1)
        for start in range(0, 600, 100)
    ]
    assert len({tuple(day) for day in days}) > 1, "days have different groups"
    whole = survey.tally(reports, by=labels, minimum=1)
    for order in (days, days[::-1]):
        added: Any = sum(order)
        assert added.to_json() == whole.to_json()
        small = added.at_least(20)
        assert small.to_json() == survey.tally(reports, by=labels, minimum=20).to_json()
        assert small.rest is not None and small.at_least(1000).to_json() != small.to_json()
    with pytest.raises(MismatchError, match="same columns"):
        survey.tally(reports, by={"a": labels}) + survey.tally(reports, by={"b": labels})


def test_several_columns_however_they_are_held() -> None:
    years = [2020 + row % 2 for row in range(600)]
    named = {"place": LABELS, "year": years}
    expected = SURVEY.tally(REPORTS, by=named, minimum=1)
    assert expected["place=north/year=2020"] == SURVEY.tally(
        Reports(REPORTS.data[:300:2], REPORTS.fingerprint)
    )
    frames = [pa.table(named), pd.DataFrame(named), pl.DataFrame(named)]
    for by in (*frames, [pd.Series(LABELS, name="place"), pl.Series("year", years)]):
        assert SURVEY.tally(REPORTS, by=by, minimum=1).to_json() == expected.to_json()
    unnamed = SURVEY.tally(REPORTS, by=[LABELS, np.array(years)], minimum=1)
    assert unnamed.columns == ("1", "2")
    assert unnamed["1=north/2=2020"] == expected["place=north/year=2020"]
    with pytest.raises(ArgumentError, match="equal length"):
        SURVEY.tally(REPORTS, by=[LABELS, years[1:]])
    with pytest.raises(ArgumentError, match="at least one column"):
        SURVEY.tally(REPORTS, by={})
    with pytest.raises(ArgumentError, match="once"):
        SURVEY.tally(REPORTS, by=[pd.Series(LABELS, name="a"), pd.Series(LABELS, name="a")])


def test_one_column_however_it_is_held() -> None:
    expected = SURVEY.tally(REPORTS, by=LABELS, minimum=1).to_json()
    held = [
        np.array(LABELS),
        np.array(LABELS, dtype=object),
        pa.array(LABELS),
        pa.chunked_array([LABELS[:100], LABELS[100:]]),
        pa.array(LABELS).dictionary_encode(),
        pd.Series(LABELS),
        pd.Series(LABELS, dtype="category"),
        pd.Categorical(LABELS, categories=["unused", *sorted(set(LABELS))]),
        pl.Series(LABELS),
        iter(LABELS),
    ]
    for by in held:
        assert SURVEY.tally(REPORTS, by=by, minimum=1).to_json() == expected, type(by)
    numbers = [row % 7 - 3 for row in range(600)]
    expected = SURVEY.tally(REPORTS, by=numbers, minimum=1).to_json()
    with pytest.raises(ArgumentError, match=r"truth values, but one is a float\. Convert"):
        SURVEY.tally(REPORTS, by=np.array(numbers, np.float32), minimum=1)
    numbers = [*numbers[:-4], -128, -100, 100, 127]  # the farthest apart of 8 bits
    for kind in (np.int8, np.int64):
        by = np.array(numbers, dtype=kind)
        names = [str(one) for one in by.tolist()]
        assert (
            SURVEY.tally(REPORTS, by=by, minimum=1).to_json()
            == SURVEY.tally(REPORTS, by=names, minimum=1).to_json()
        )
    far = np.array(numbers) * 10**15
    assert len(SURVEY.tally(REPORTS, by=far, minimum=1)) == 11


def test_too_many_labels_are_refused_before_the_rest_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[int] = []

    def counted(label: Any) -> Any:
        read.append(1)
        return clean_label(label)

    monkeypatch.setattr(group_labels, "clean_label", counted)
    with pytest.raises(ArgumentError, match="at most 100,000 groups"):
        coded_rows(np.arange(2 * MOST_GROUPS), columns=None)
    assert len(read) == MOST_GROUPS + 1


@pytest.mark.parametrize("kind", KINDS)
def test_counted_reports_are_tallied(kind: str) -> None:
    survey, reports = _of_kind(kind)
    different, counts = np.unique(reports.data, axis=0, return_counts=True)
    few = Reports(different, reports.fingerprint)
    for held in (counts, counts.tolist(), counts.astype(float), [Decimal(int(n)) for n in counts]):
        assert survey.tally(few, counts=held) == survey.tally(reports)
    twice = Reports(np.vstack([different, different[:3]]), reports.fingerprint)
    assert survey.tally(twice, counts=[*counts, 0, 0, 0]) == survey.tally(reports)
    names = np.array(["a", "b"])[np.arange(len(few)) % 2]
    groups = survey.tally(few, by=names, counts=counts, minimum=1)
    assert groups["b"] == survey.tally(few[1::2], counts=counts[1::2])
    assert survey.tally(few, counts=np.zeros(len(few), int)) == survey.tally(reports[:0])


BAD_COUNTS: list[Any] = [-77777, 77777.5, None, float("nan"), float("inf"), "77777", 2**53, True]


@pytest.mark.parametrize("bad", BAD_COUNTS, ids=str)
def test_bad_counts_are_refused_without_the_value(bad: Any) -> None:
    counts: Any = np.array([1, 2, bad, 4], dtype=object)
    with pytest.raises(ReportError, match="position 2 is not") as caught:
        SURVEY.tally(REPORTS[:4], counts=counts)
    assert "77777" not in str(caught.value) and caught.value.position == 2
    with pytest.raises(ArgumentError, match="4 reports"):
        SURVEY.tally(REPORTS[:4], counts=[1, 2, 3])
    with pytest.raises(TallyError, match="add up to at most"):
        SURVEY.tally(REPORTS[:4], counts=[2**53 - 1, 1, 0, 0])
    data = REPORTS.data[:4].copy()
    data[1] = 255
    with pytest.raises(ReportError) as refused:
        SURVEY.tally(Reports(data, REPORTS.fingerprint), counts=[0, 5, 5, 5])
    assert refused.value.position == 1


@pytest.mark.parametrize(
    "texts",
    [
        ["b", "a", "", "b", "NA", "caf\u00e9", "cafe\u0301"],
        ["a", "a\x00b", "a\x00", "b"],
        ["x", "\ud800", "x"],
        [],
    ],
    ids=["plain", "with a NUL inside", "no UTF-8", "none"],
)
def test_texts_of_numpy_are_the_labels_of_a_list(texts: list[str]) -> None:
    array = np.array(texts, dtype="U5")
    labels, numbers = coded_rows(array, columns=None)
    expected, places = coded_rows(array.tolist(), columns=None)
    assert labels == expected and numbers.tolist() == places.tolist()
