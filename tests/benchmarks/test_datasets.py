"""The loader: columns, the folder they come from, and the formats of the data folder.

Nothing here needs the data folder. Where it exists, the last class checks the rows that its README
states; where it does not, that class is not defined, so that nothing counts as skipped.
"""

import gzip
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from benchmarks import data_catalog, datasets
from benchmarks.datasets import Column, DataFolderError, load
from benchmarks.paper_files import DataFileError

FIXTURES = Path(__file__).parent / "fixtures"


def column(**changes) -> Column:
    """A legal column of three values, with changes."""
    legal = {
        "name": "three",
        "values": np.array([0.0, 1.5, 2.0]),
        "low": 0,
        "high": 3,
        "kept": 3,
        "dropped": 0,
        "rule": "all",
        "source": "here",
        "is_stand_in": False,
    }
    return Column(**(legal | changes))


def table(**changes) -> Column:
    """A legal count table of six people in the categories 1, 2, 3, with changes."""
    legal = {"values": None, "counts": np.array([3, 0, 3]), "low": 1, "high": 4, "kept": 6}
    return column(**(legal | changes))


class TestColumn:
    @pytest.mark.parametrize(
        "changes",
        [
            {"counts": np.array([1, 1, 1])},  # both kinds
            {"values": None},  # neither
            {"values": np.array([0.0, 1.5, 3.0])},  # the upper end is not in the domain
            {"values": np.array([0.0, -0.1, 2.0])},
            {"values": np.array([0.0, np.nan, 2.0])},
            {"values": np.array([0.0, 1.5, 2.0], dtype=np.float32)},
            {"kept": 2},
            {"dropped": -1},
            {"values": np.zeros(0), "kept": 0},
        ],
    )
    def test_refuses_statements_that_contradict_each_other(self, changes):
        with pytest.raises(ValueError, match=r"must"):
            column(**changes)

    @pytest.mark.parametrize(
        "changes", [{"high": 5}, {"kept": 5}, {"counts": np.array([3, -1, 4])}]
    )
    def test_refuses_counts_that_do_not_fit_the_domain(self, changes):
        with pytest.raises(ValueError, match=r"must"):
            table(**changes)

    def test_names_the_position_of_a_bad_value_and_not_the_value(self):
        with pytest.raises(ValueError, match=r"value 1 must lie") as caught:
            column(values=np.array([0.0, 77.25, 2.0]))
        assert "77.25" not in str(caught.value)

    def test_cannot_be_changed(self):
        with pytest.raises(ValueError, match="read-only"):
            column().values[0] = 1.0
        with pytest.raises(ValueError, match="read-only"):
            table().counts[0] = 1

    def test_padding_adds_empty_categories_at_the_end(self):
        padded = table().padded(5)
        assert padded.counts.tolist() == [3, 0, 3, 0, 0]
        assert (padded.low, padded.high, padded.kept) == (1, 6, 6)
        assert padded.rule == "all; 2 categories with count 0 added"

    @pytest.mark.parametrize(("one", "size"), [(table(), 2), (column(), 5)])
    def test_padding_refuses_to_cut_and_refuses_values(self, one, size):
        with pytest.raises(ValueError, match="count table of at most"):
            one.padded(size)

    def test_drawing_without_replacement_takes_each_person_once(self):
        everyone = column().drawn(3, seed=4, with_replacement=False)
        assert sorted(everyone.values) == [0.0, 1.5, 2.0]
        assert everyone.rule == "all; 3 of these 3 drawn without replacement, seed 4"
        assert column().drawn(2, seed=4, with_replacement=False).kept == 2

    def test_drawing_with_replacement_reaches_any_size(self):
        drawn = column().drawn(3000, seed=4, with_replacement=True)
        assert (drawn.kept, drawn.dropped) == (3000, 0)
        again = column().drawn(3000, seed=4, with_replacement=True)
        np.testing.assert_array_equal(drawn.values, again.values)
        # 10 standard deviations of a binomial count: about 1e-23 false alarms.
        _, counts = np.unique(drawn.values, return_counts=True)
        assert np.all(np.abs(counts - 1000) < 10 * math.sqrt(3000 * 2 / 9))

    def test_drawing_refuses_a_count_table_and_an_impossible_size(self):
        with pytest.raises(ValueError, match="count table"):
            table().drawn(2, seed=0, with_replacement=True)
        for size, with_replacement in ((4, False), (0, False), (0, True)):
            with pytest.raises(ValueError, match="size must be"):
                column().drawn(size, seed=0, with_replacement=with_replacement)


class TestSynthetic:
    @pytest.mark.parametrize(
        ("name", "law", "wrong"),
        [
            ("beta52", stats.beta(5, 2), stats.beta(5, 2.05)),
            ("uniform", stats.uniform(), stats.beta(1, 1.05)),
        ],
    )
    def test_follows_its_law_and_the_check_catches_another(self, name, law, wrong):
        values = load(name, seed=7).values
        assert values.size == 100_000
        # Dvoretzky-Kiefer-Wolfowitz: above this distance with probability 1e-6 at most.
        limit = math.sqrt(math.log(2 / 1e-6) / (2 * values.size))
        assert stats.kstest(values, law.cdf).statistic < limit
        assert stats.kstest(values, wrong.cdf).statistic > limit

    def test_the_seed_decides(self):
        first, same, other = (load("beta52", seed=seed).values for seed in (1, 1, 2))
        np.testing.assert_array_equal(first, same)
        assert not np.array_equal(first, other)
        assert not load("beta52").is_stand_in


class TestFolder:
    def test_the_variable_names_it(self, monkeypatch):
        monkeypatch.setenv("LAPWING_DATA", str(FIXTURES))
        assert load("airbnb_us_2020").kept == 12

    def test_an_argument_goes_before_the_variable(self, monkeypatch, tmp_path):
        monkeypatch.setenv("LAPWING_DATA", str(tmp_path / "absent"))
        assert load("airbnb_us_2020", FIXTURES).kept == 12

    def test_a_wrong_variable_is_an_error_and_not_passed_over(self, monkeypatch, tmp_path):
        monkeypatch.setattr(datasets, "DEFAULT_FOLDER", FIXTURES)
        monkeypatch.setenv("LAPWING_DATA", str(tmp_path / "absent"))
        with pytest.raises(DataFolderError, match="LAPWING_DATA names must exist"):
            load("airbnb_us_2020")

    def test_without_any_the_error_names_both_places(self, monkeypatch, tmp_path):
        monkeypatch.delenv("LAPWING_DATA", raising=False)
        monkeypatch.setattr(datasets, "DEFAULT_FOLDER", tmp_path / "shared" / "data")
        with pytest.raises(DataFolderError, match=r"Set LAPWING_DATA .* \.\./shared/data beside"):
            load("taxi")

    def test_the_default_lies_beside_the_repository(self):
        root = Path(__file__).resolve().parents[2]
        assert root.parent / "shared" / "data" == datasets.DEFAULT_FOLDER

    @pytest.mark.parametrize("name", ["taxi", "kosarak", "lyft_yaw", "kosarak_fimi"])
    def test_a_file_that_is_not_there_is_named(self, name, tmp_path):
        with pytest.raises(DataFolderError, match=r"taxi_pickup|kosarak|train\.csv"):
            load(name, tmp_path)

    def test_several_candidates_are_refused_and_a_path_decides(self, tmp_path):
        for copy in ("Employee_Compensation.csv", "employee-compensation-2.csv"):
            (tmp_path / copy).write_bytes((FIXTURES / "Employee_Compensation.csv").read_bytes())
        with pytest.raises(DataFolderError, match=r"one file must match .* 2 do"):
            load("sf_retirement_city", tmp_path)
        assert load("sf_retirement_city", tmp_path / "employee-compensation-2.csv").kept == 5

    def test_an_unknown_name_is_answered_with_the_known_ones(self):
        with pytest.raises(ValueError, match=r"one of beta52, .*kosarak_fimi; not 'texi'"):
            load("texi")
        assert len(set(datasets.names())) == len(datasets.names())


class TestStandInFormats:
    """The reading of the data folder, on files of its format."""

    def test_taxi_stops_at_february_2020(self, tmp_path):
        rows = {
            "year_month": pa.array([201801, 202002, 202003, 201912, 201912], pa.int32()),
            "pickup_second": pa.array([0, 86_399, 5, 86_400, None], pa.int32()),
        }
        pq.write_table(pa.table(rows), tmp_path / "taxi_pickup_seconds.parquet")
        taxi = load("taxi", tmp_path)
        assert taxi.values.tolist() == [0, 86_399]
        assert taxi.values.dtype == np.int64
        assert (taxi.low, taxi.high, taxi.circular) == (0, 86_400, True)
        assert (taxi.kept, taxi.dropped, taxi.is_stand_in) == (2, 3, True)
        assert "year_month <= 202002" in taxi.rule
        assert "[0, 86,400)" in taxi.rule

    def test_money_keeps_its_cents_and_loses_nulls_nans_and_outliers(self, tmp_path):
        pay = [-0.01, 0.0, 65_535.99, 65_536.0, None, math.nan]
        pq.write_table(
            pa.table({"benefits": pa.array(pay, pa.float64())}), tmp_path / "sf_salaries.parquet"
        )
        benefits = load("sf_benefits", tmp_path)
        assert benefits.values.tolist() == [0.0, 65_535.99]
        assert (benefits.kept, benefits.dropped) == (2, 4)

    def test_a_column_nobody_published_is_no_stand_in(self, tmp_path):
        pq.write_table(
            pa.table({"age": pa.array([17, 90], pa.int32())}), tmp_path / "adult_numeric.parquet"
        )
        assert not load("adult_age", tmp_path).is_stand_in

    def test_angles_are_circular_and_the_rule_says_pi(self, tmp_path):
        pq.write_table(pa.table({"yaw": [-3.14, 3.14]}), tmp_path / "kitti_yaw.parquet")
        yaw = load("kitti_yaw", tmp_path)
        assert (yaw.low, yaw.high, yaw.circular) == (-math.pi, math.pi, True)
        assert "[-pi, pi)" in yaw.rule

    def test_counts_go_to_the_place_of_their_item(self, tmp_path):
        with gzip.open(tmp_path / "kosarak_first100k_counts.csv.gz", "wt") as file:
            file.write("item,count\n2,7\n5,1\n1,3\n")
        kosarak = load("kosarak", tmp_path)
        assert kosarak.counts.tolist() == [3, 7, 0, 0, 1]
        assert (kosarak.low, kosarak.high, kosarak.kept) == (1, 6, 11)
        assert kosarak.padded(datasets.KOSARAK_ITEMS).counts.size == 41_270

    def test_codes_with_gaps_are_numbered_in_order(self, tmp_path):
        with gzip.open(tmp_path / "census_city_counts.csv.gz", "wt") as file:
            file.write("city_code,count\n90,5\n10,4\n")
        city = load("census_city", tmp_path)
        assert city.counts.tolist() == [4, 5]
        assert (city.low, city.high) == (0, 2)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("item,count\n1,2\n1,3\n", "must be unique"),
            ("item,count\n1,-2\n", "not negative"),
            ("item,count\n0,2\n", "must not be below 1"),
            ("item,count\n1,\n", "each row, and at least one"),
            ("item,count\n", "each row, and at least one"),
        ],
    )
    def test_a_broken_count_table_is_refused(self, text, message, tmp_path):
        with gzip.open(tmp_path / "kosarak_first100k_counts.csv.gz", "wt") as file:
            file.write(text)
        with pytest.raises(DataFileError, match=message):
            load("kosarak", tmp_path)

    def test_a_column_of_text_is_refused(self, tmp_path):
        pq.write_table(pa.table({"income": ["12", "15"]}), tmp_path / "acs_income_2019.parquet")
        with pytest.raises(DataFileError, match="'income' must hold numbers, it holds string"):
            load("acs_income", tmp_path)


# Kept and dropped rows; their sum is the number of rows that the README of the data folder states.
STAND_IN_ROWS = {
    "taxi": (260_000, 100_000),
    "taxi_2020": (100_000, 260_000),
    "acs_income": (29_144, 376),
    "sf_base_pay": (147_982, 672),
    "sf_benefits": (112_281, 36_373),
    "sf_retirement": (17_229, 1),
    "kitti_yaw": (40_570, 0),
    "airbnb_nyc": (48_895, 0),
    "airbnb_us": (10_000, 0),
    "flights_departure": (224_591, 0),
    "flights_distance": (224_591, 0),
    "flights_delay": (223_874, 717),
    "adult_age": (48_842, 0),
    "adult_hours": (48_842, 0),
    "adult_weight": (48_842, 0),
    "adult_capital_gain": (48_842, 0),
    "house_price": (21_613, 0),
    "house_area": (21_613, 0),
    "kosarak": (801_947, 0),
    "english_words": (725_119_374, 0),
    "census_city": (389_894, 0),
}


def test_every_stand_in_has_its_row_count_written_down():
    known = {*data_catalog.STAND_INS, *data_catalog.COUNT_TABLES}
    assert set(STAND_IN_ROWS) == known


if datasets.DEFAULT_FOLDER.is_dir():

    class TestStandIns:
        @pytest.mark.parametrize("name", STAND_IN_ROWS)
        def test_rows_as_its_readme_states(self, name):
            one = load(name, datasets.DEFAULT_FOLDER)
            assert (one.kept, one.dropped) == STAND_IN_ROWS[name]

        def test_figures_its_readme_states(self):
            zeros = np.mean(load("airbnb_nyc", datasets.DEFAULT_FOLDER).values == 0)
            assert round(zeros, 3) == 0.359
            kosarak = load("kosarak", datasets.DEFAULT_FOLDER)
            assert kosarak.counts.size == 23_496
            assert kosarak.counts.max() == kosarak.counts[6 - 1] == 60_690
            assert np.sum(kosarak.counts == 1) == 7_147
            assert load("census_city", datasets.DEFAULT_FOLDER).counts.size == 102
            assert np.unique(load("kitti_yaw", datasets.DEFAULT_FOLDER).values).size == 629
            benefits = load("sf_benefits", datasets.DEFAULT_FOLDER).values
            assert np.sum(benefits < 60_000) == 111_899
