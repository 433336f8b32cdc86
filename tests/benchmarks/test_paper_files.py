"""The papers' public files, on small ones of the same format; every row of them is invented.

The treatment of each paper is checked through ``load``: which rows stay, which are dropped, and
that a file of another format is refused in a sentence that repeats none of its values.
"""

import datetime
import gzip
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import paper_files
from benchmarks.datasets import DataFolderError, load
from benchmarks.paper_files import DataFileError

FIXTURES = Path(__file__).parent / "fixtures"


class TestTaxiTrips:
    def month(self, folder: Path, unit: str) -> Path:
        times = [
            datetime.datetime(2018, 1, 1, 0, 0, 0),
            datetime.datetime(2018, 1, 31, 23, 59, 59),
            None,
            datetime.datetime(2018, 1, 15, 13, 37, 42),
            datetime.datetime(2003, 12, 31, 0, 1, 0),  # a wrong clock: other year, kept
            datetime.datetime(1969, 12, 31, 22, 0, 5),  # before the epoch
            datetime.datetime(2018, 1, 15, 13, 37, 42),
        ]
        trips = pa.table(
            {
                "VendorID": pa.array([1, 2, 1, 2, 2, 1, 1], pa.int64()),
                "tpep_pickup_datetime": pa.array(times, pa.timestamp(unit)),
                "tpep_dropoff_datetime": pa.array(times, pa.timestamp(unit)),
                "trip_distance": [0.5, 2.7, 0.8, 10.2, 2.5, 0.5, 1.1],
            }
        )
        path = folder / "yellow_tripdata_2018-01.parquet"
        pq.write_table(trips, path)
        return path

    @pytest.mark.parametrize("unit", ["us", "ns", "s"])
    def test_seconds_of_the_day(self, unit, tmp_path):
        self.month(tmp_path, unit)
        taxi = load("taxi_2018_01", tmp_path)
        assert taxi.values.tolist() == [0, 86_399, 49_062, 60, 79_205, 49_062]
        assert taxi.values.dtype == np.int64
        assert (taxi.kept, taxi.dropped) == (6, 1)
        assert (taxi.low, taxi.high, taxi.circular) == (0, 86_400, True)
        assert not taxi.is_stand_in
        assert taxi.source.startswith("yellow_tripdata_2018-01.parquet (New York City")

    def test_each_paper_reads_its_own_month(self, tmp_path):
        path = self.month(tmp_path, "us")
        with pytest.raises(DataFolderError, match="yellow_tripdata_2021-06"):
            load("taxi_2021_06", tmp_path)
        path.rename(tmp_path / "yellow_tripdata_2021-06.parquet")
        assert load("taxi_2021_06", tmp_path).kept == 6

    def test_text_in_place_of_times_is_refused(self, tmp_path):
        path = tmp_path / "yellow_tripdata_2018-01.parquet"
        pq.write_table(pa.table({"tpep_pickup_datetime": ["2018-01-01 00:21:05"]}), path)
        with pytest.raises(DataFileError, match="must hold timestamps, it holds string"):
            load("taxi_2018_01", tmp_path)

    def test_a_month_of_green_cabs_is_refused(self, tmp_path):
        path = tmp_path / "green.parquet"
        pq.write_table(pa.table({"lpep_pickup_datetime": [datetime.datetime(2018, 1, 1)]}), path)
        with pytest.raises(DataFileError, match="has no column 'tpep_pickup_datetime'"):
            load("taxi_2018_01", path)

    def test_another_format_and_a_cut_file_are_refused(self, tmp_path):
        path = self.month(tmp_path, "us")
        path.write_bytes(path.read_bytes()[:-9])
        with pytest.raises(DataFileError, match="not a Parquet file, or is cut short"):
            load("taxi_2018_01", tmp_path)
        with pytest.raises(DataFileError, match="not a Parquet file, or is cut short"):
            load("taxi_2018_01", FIXTURES / "train.csv")


class TestCsvFiles:
    def test_income_of_both_halves_of_the_nation(self):
        income = load("acs_income_2017", FIXTURES)
        assert income.values.tolist() == [10, 38_500, 0, 524_287, 30_000, 30_000, 4, 12_300]
        assert income.values.dtype == np.int64
        # Dropped: three blank (children), a loss, 524,288 exactly, and the one of 1,563,000.
        assert (income.kept, income.dropped) == (8, 6)
        assert (income.low, income.high, income.circular) == (0, 524_288, False)
        assert income.source.startswith("psam_pusa.csv, psam_pusb.csv (US Census")

    def test_income_by_state_where_the_national_file_is_absent(self, tmp_path):
        for state, half in (("psam_p01.csv", "psam_pusa.csv"), ("psam_p39.csv", "psam_pusb.csv")):
            (tmp_path / state).write_bytes((FIXTURES / half).read_bytes())
        assert load("acs_income_2017", tmp_path).kept == 8
        assert load("acs_income_2017", tmp_path / "psam_p39.csv").values.tolist() == [4, 12_300]

    def test_retirement_keeps_zero_and_what_lies_below_60000(self):
        retirement = load("sf_retirement_city", FIXTURES)
        assert retirement.values.tolist() == [11_253.16, 0.0, 59_999.99, 16_000.0, 0.5]
        # Dropped: -28,700, 60,000 exactly, one blank, 101,000 and -0.02.
        assert (retirement.kept, retirement.dropped) == (5, 5)
        assert (retirement.low, retirement.high) == (0, 60_000)

    def test_availability_past_quotes_commas_and_line_breaks_in_names(self):
        days = load("airbnb_us_2020", FIXTURES)
        assert days.values.tolist() == [0, 365, 180, 0, 1, 90, 89, 0, 364, 270, 0, 12]
        assert days.values.dtype == np.int64
        # Dropped: 366, one blank, -1 and NaN.
        assert (days.kept, days.dropped) == (12, 4)
        assert (days.low, days.high) == (0, 366)

    def test_line_breaks_in_names_of_a_file_longer_than_one_block(self, tmp_path):
        # Arrow reads blocks of 1 MiB; nearly every place to cut this file is inside a name.
        name = "words" + "\n" * 300
        rows = "".join(f'"{name}",{k % 366}\n' for k in range(9000))
        path = tmp_path / "AB_US_2020.csv"
        path.write_text(f"name,availability_365\n{rows}")
        assert path.stat().st_size > 2 << 20
        np.testing.assert_array_equal(load("airbnb_us_2020", path).values, np.arange(9000) % 366)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("id,PINCP\n1,10\n2,secret\n", r"'PINCP' must hold numbers; data row 2 does not"),
            ("id,PINCP\n1,10\n2,1 234\n", r"'PINCP' must hold numbers; data row 2 does not"),
            ('id,PINCP\n1,"1,234"\n', r"'PINCP' must hold numbers; data row 1 does not"),
            ("id,PINCP\n1,inf\n", r"'PINCP' must hold numbers; data row 1 does not"),
            ("id,PINCP\n1,\n2,77.25\n", r"must hold whole numbers; data row 2 does not"),
            ("id,PINCP\n1,10\n2,20\n3,30,77\n", r"data row 3 has 3 fields, the header has 2"),
            ("id,INCTOT\n1,10\n", r"first line names a column 'PINCP'; it names none"),
            ("", r"must be a CSV file in UTF-8 with a header"),
            ("id,PINCP\n1,\n2,-5\n", r"at least one row must have a PINCP in \[0, 524,288\)"),
        ],
    )
    def test_a_wrong_file_is_refused_without_its_values(self, text, message, tmp_path):
        path = tmp_path / "psam_pusa.csv"
        path.write_text(text)
        with pytest.raises(DataFileError, match=message) as caught:
            load("acs_income_2017", tmp_path)
        assert "psam_pusa.csv" in str(caught.value)
        for value in ("secret", "1 234", "1,234", "77"):
            assert value not in str(caught.value)
        # The cause would show Arrow's message, which repeats the row.
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__ or caught.value.__context__ is None

    def test_bytes_that_are_no_text_are_refused(self, tmp_path):
        path = tmp_path / "AB_US_2020.csv"
        path.write_bytes("availability_365\nä\n".encode("latin-1"))
        with pytest.raises(DataFileError, match="CSV file in UTF-8"):
            load("airbnb_us_2020", tmp_path)
        pq.write_table(pa.table({"availability_365": [1]}), path)
        with pytest.raises(DataFileError, match=r"AB_US_2020\.csv: must be a CSV file"):
            load("airbnb_us_2020", tmp_path)


class TestKosarak:
    def counts(self) -> list[int]:
        # Written out by hand from the seventeen lines of the fixture: items 1 to 41.
        found = {1: 5, 2: 1, 3: 5, 6: 9, 7: 3, 11: 4, 28: 1}
        found |= {item: 1 for item in (4, 5, 8, 9, 10, *range(12, 28), 29, 30, 31, 32, 33, 34, 35)}
        found[41] = 1
        return [found.get(item, 0) for item in range(1, 42)]

    def test_every_click_counts(self):
        kosarak = load("kosarak_fimi", FIXTURES)
        assert kosarak.counts.tolist() == self.counts()
        assert kosarak.counts.dtype == np.int64
        tokens = (FIXTURES / "kosarak.dat").read_text().split()
        assert (kosarak.kept, kosarak.dropped) == (len(tokens), 0)
        assert (kosarak.low, kosarak.high, kosarak.values) == (1, 42, None)
        assert not kosarak.is_stand_in

    def test_compressed_as_the_publisher_gives_it(self, tmp_path):
        data = gzip.compress((FIXTURES / "kosarak.dat").read_bytes())
        (tmp_path / "kosarak.dat.gz").write_bytes(data)
        assert load("kosarak_fimi", tmp_path).counts.tolist() == self.counts()
        (tmp_path / "kosarak.dat.gz").write_bytes(data[:-12])
        with pytest.raises(DataFileError, match="not a whole gzip file"):
            load("kosarak_fimi", tmp_path)
        (tmp_path / "kosarak.dat.gz").write_bytes(b"1 2 3\n")
        with pytest.raises(DataFileError, match="not a whole gzip file"):
            load("kosarak_fimi", tmp_path)

    @pytest.mark.parametrize("size", [1, 30, 70])
    def test_the_size_of_the_pieces_it_reads_does_not_matter(self, size, monkeypatch):
        monkeypatch.setattr(paper_files, "_CHUNK_BYTES", size)
        assert load("kosarak_fimi", FIXTURES).counts.tolist() == self.counts()

    @pytest.mark.parametrize("size", [1, 4, 1 << 22])  # one line, two lines, everything
    @pytest.mark.parametrize(
        "line", ["7 0 9", "7 -1", "7,8,9", "item", "1.5", "99999999", "Id 77", "\u0663"]
    )
    def test_a_line_that_holds_no_items_is_named(self, line, size, monkeypatch, tmp_path):
        monkeypatch.setattr(paper_files, "_CHUNK_BYTES", size)
        (tmp_path / "kosarak.dat").write_text(f"1 2\n\n{line}\n4\n", encoding="utf-8")
        with pytest.raises(DataFileError, match=r"kosarak\.dat: line 3 must hold") as caught:
            load("kosarak_fimi", tmp_path)
        assert line not in str(caught.value)

    def test_a_file_without_clicks_is_refused(self, tmp_path):
        (tmp_path / "kosarak.dat").write_text("\n\n")
        with pytest.raises(DataFileError, match="holds no click"):
            load("kosarak_fimi", tmp_path)


class TestLyft:
    def test_the_yaw_of_every_box(self):
        yaw = load("lyft_yaw", FIXTURES)
        expected = [2.604164, -0.335176, 0.0, -math.pi, -math.pi]
        assert yaw.values[:5].tolist() == expected  # inside the circle: to the last bit
        np.testing.assert_allclose(yaw.values[5:], [4.0 - 2 * math.pi, 2 * math.pi - 3.5])
        assert (yaw.kept, yaw.dropped) == (7, 1)  # the box whose yaw is nan
        assert (yaw.low, yaw.high, yaw.circular) == (-math.pi, math.pi, True)

    def test_an_angle_just_below_the_circle_does_not_round_out_of_it(self, tmp_path):
        below = np.nextafter(-math.pi, -4)
        path = tmp_path / "train.csv"
        path.write_text(f"Id,PredictionString\na,0 0 0 1 1 1 {below!s} car\n")
        # 2 pi less the smallest step below pi rounds to 2 pi, that is to pi itself, without care.
        assert np.mod(below + math.pi, 2 * math.pi) - math.pi == math.pi
        assert load("lyft_yaw", path).values.tolist() == [-math.pi]

    def test_a_confidence_before_each_box_is_passed_over(self, tmp_path):
        box = "{} 2742.15 673.16 -18.65 1.834 4.609 1.648 {} car"
        path = tmp_path / "submission.csv"
        # Eight boxes of nine fields are also a multiple of eight fields: the names must decide.
        boxes = " ".join(box.format(0.5, yaw / 8) for yaw in range(8))
        path.write_text(f"Id,PredictionString\na,{boxes}\nb,\nc,{box.format(1.0, -1.5)}\n")
        assert load("lyft_yaw", path).values.tolist() == [*(k / 8 for k in range(8)), -1.5]

    @pytest.mark.parametrize(
        "boxes",
        [
            "77.5 0 0 1 1 1 0.5",  # no class
            "77.5 0 0 1 1 1 0.5 car 2",  # cut short
            "77.5 0 0 1 1 1 north car",
            "0 car 0 1 1 1 77.5 car",
            "opacity 77.5 100 100 200 200",  # another competition's file of the same name
        ],
    )
    def test_a_string_that_is_no_list_of_boxes_is_refused(self, boxes, tmp_path):
        path = tmp_path / "train.csv"
        path.write_text(f"Id,PredictionString\na,0 0 0 1 1 1 0.5 car\nb,{boxes}\n")
        with pytest.raises(DataFileError, match=r"train\.csv: data row 2 must repeat") as caught:
            load("lyft_yaw", path)
        assert "77.5" not in str(caught.value)

    def test_a_file_without_boxes_or_without_the_column_is_refused(self, tmp_path):
        path = tmp_path / "train.csv"
        path.write_text("Id,PredictionString\na,\n")
        with pytest.raises(DataFileError, match="at least one row"):
            load("lyft_yaw", path)
        path.write_text("Id,Target\na,1\n")
        with pytest.raises(DataFileError, match="names a column 'PredictionString'"):
            load("lyft_yaw", path)
