"""A figure uses the file that its paper used where the user has it, and says which it used."""

import datetime
import gzip
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import datasets
from benchmarks.accuracy.papers import figure_columns
from benchmarks.accuracy.papers.figure_columns import (
    Population,
    beta52,
    items,
    paper_column,
    permuted,
    smoothed,
    stand_in,
)
from benchmarks.paper_files import DataFileError

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty data folder of the user's."""
    monkeypatch.setenv("LAPWING_DATA", str(tmp_path))
    return tmp_path


def never() -> Population:
    raise AssertionError("the stand-in was asked for beside the paper's own file")


def month(folder: Path, name: str, hours: list[int]) -> None:
    """Write a month of trips as the Commission does, with a pick-up at each of some hours."""
    times = [datetime.datetime(2018, 1, 1 + i, hour, 30) for i, hour in enumerate(hours)]
    trips = {
        "VendorID": pa.array([1] * len(hours), pa.int64()),
        "tpep_pickup_datetime": pa.array(times, pa.timestamp("us")),
    }
    pq.write_table(pa.table(trips), folder / f"yellow_tripdata_{name}.parquet")


# The file, its name in the catalog, and people by quarter of the range, counted by hand.
PUBLISHED = [
    ("psam_pusa.csv psam_pusb.csv", "acs_income_2017", "[0, 524,288)", None),
    ("Employee_Compensation.csv", "sf_retirement_city", "[0, 60,000)", [3, 1, 0, 1]),
    ("AB_US_2020.csv", "airbnb_us_2020", "[0, 366)", None),
    ("train.csv", "lyft_yaw", "[-pi, pi)", [3, 2, 0, 2]),
]


@pytest.mark.parametrize(("files", "name", "span", "quarters"), PUBLISHED)
def test_the_rows_of_a_publishers_file_are_the_people(files, name, span, quarters, folder):
    for file in files.split():
        shutil.copy(FIXTURES / file, folder)
    one = paper_column("income", name, never)
    column = datasets.load(name)
    place = (column.values - column.low) / (column.high - column.low)
    part = np.maximum(np.ceil(4 * place) - 1, 0).astype(int)  # an edge belongs to what is below
    by_hand = np.bincount(part, minlength=4).tolist()
    if quarters is not None:
        assert by_hand == quarters
    first, again = (one.draw(4, np.random.default_rng(seed)) for seed in (1, 2))
    assert first.tolist() == again.tolist() == by_hand
    assert one.people == column.kept == first.sum()
    assert one.name == "income"
    assert one.own_file
    assert one.rule.startswith(f"the paper's own file {', '.join(files.split())} (")
    for told in (f"its {column.kept} rows as they are", span, f"{column.dropped} rows dropped"):
        assert told in one.rule


def test_a_taxi_month_is_neither_smoothed_nor_resized(folder):
    month(folder, "2021-06", [0, 0, 7, 23])
    month(folder, "2018-01", [12, 12])
    one = paper_column("taxi", "taxi_2021_06", lambda: smoothed("taxi", 2_834_264, width=0.01))
    counts = one.draw(24, np.random.default_rng(1))
    assert np.flatnonzero(counts).tolist() == [0, 7, 23]
    assert counts[[0, 7, 23]].tolist() == [2, 1, 1]
    assert "yellow_tripdata_2021-06.parquet" in one.rule
    mixed = permuted(one, seed=3)
    assert mixed.own_file
    assert sorted(mixed.draw(24, np.random.default_rng(1))) == sorted(counts)
    assert mixed.draw(24, np.random.default_rng(1)).tolist() != counts.tolist()


def test_clicks_get_the_papers_number_of_labels(folder):
    shutil.copy(FIXTURES / "kosarak.dat", folder)
    one = paper_column("kosarak", "kosarak_fimi", never, size=50)
    counts = one.draw(50, np.random.default_rng(1))
    clicks = [int(item) for item in (folder / "kosarak.dat").read_text("ascii").split()]
    assert counts.tolist() == np.bincount(clicks, minlength=51)[1:].tolist()
    assert one.people == len(clicks)
    assert "categories with count 0 added" in one.rule
    with pytest.raises(ValueError, match="50 labels and no other"):
        one.law(49)
    with pytest.raises(ValueError, match="at most 40 categories"):
        paper_column("kosarak", "kosarak_fimi", never, size=40)


def test_without_the_file_the_stand_in_says_that_it_is_one(folder):
    taken = {"pickup_second": [0, 50_000, 50_000], "year_month": [201801] * 3}
    pq.write_table(pa.table(taken), folder / "taxi_pickup_seconds.parquet")
    month(folder, "2021-06", [1])  # another paper's month does not do
    one = paper_column("pick-up", "taxi_2018_01", lambda: stand_in("taxi", 500))
    assert (one.name, one.people, one.own_file) == ("pick-up", 500, False)
    draws = [one.draw(4, np.random.default_rng(seed)) for seed in (1, 2)]
    assert [draw.sum() for draw in draws] == [500, 500]
    assert draws[0].tolist() != draws[1].tolist()
    for told in ("a stand-in, drawn with replacement from the 3 rows", "[0, 86,400)", "2018-01 to"):
        assert told in one.rule


def test_a_folder_that_comes_later_is_read_anew(folder, tmp_path, monkeypatch):
    month(folder, "2018-01", [1, 2])
    assert paper_column("taxi", "taxi_2018_01", never).people == 2
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setenv("LAPWING_DATA", str(other))
    assert paper_column("taxi", "taxi_2018_01", beta52).people == 100_000


def test_a_file_that_cannot_be_read_is_not_passed_over(folder):
    (folder / "yellow_tripdata_2018-01.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataFileError, match="not a Parquet file"):
        paper_column("taxi", "taxi_2018_01", beta52)
    for copy in ("Employee_Compensation.csv", "employee-compensation-2.csv"):
        shutil.copy(FIXTURES / "Employee_Compensation.csv", folder / copy)
    with pytest.raises(datasets.DataFolderError, match="one file must match"):
        paper_column("retirement", "sf_retirement_city", beta52)
    with pytest.raises(ValueError, match="'taxi' is none"):
        paper_column("taxi", "taxi", beta52)


def test_labels_of_a_stand_in_are_told_as_such(folder):
    (folder / "kosarak_first100k_counts.csv.gz").write_bytes(
        gzip.compress(b"item,count\n1,3\n2,1\n")
    )
    one = paper_column("kosarak", "kosarak_fimi", lambda: items("kosarak", 8, size=5), size=5)
    assert one.rule.startswith("a stand-in, 8 draws from kosarak_first100k")
    assert one.law(5).tolist() == [0.75, 0.25, 0, 0, 0]
    assert figure_columns.coarser(one.draw(5, np.random.default_rng(1)), 1).tolist() == [8]
