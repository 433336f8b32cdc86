"""What the benchmarks can load: one entry per column, with its file, legal range and treatment.

Legal ranges are chosen in advance (a paper's, or a round number that holds every value the
attribute can have), never read off the data: a range that follows the data would leak it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.paper_files import Rows, read_csv_numbers, read_lyft_yaw, read_taxi_trips


@dataclass(frozen=True, kw_only=True)
class StandIn:
    """A column of a Parquet file in the data folder.

    ``note`` ends its rule and says what sets it apart from the paper's data; ``at_most`` names
    another column and the largest value of it that is read, ``above`` one whose values up to this
    are left out; ``in_a_paper`` is False for a column that takes no paper's place.
    """

    file: str
    column: str
    span: tuple[float, float]
    source: str
    note: str = ""
    circular: bool = False
    at_most: tuple[str, int] | None = None
    above: tuple[str, int] | None = None
    in_a_paper: bool = True


@dataclass(frozen=True, kw_only=True)
class CountTable:
    """A count table in the data folder.

    ``first`` is the key of the first category; None if the keys are codes with gaps, which are
    then numbered from 0 in their order.
    """

    file: str
    key: str
    first: int | None
    source: str
    note: str
    in_a_paper: bool = True


@dataclass(frozen=True, kw_only=True)
class PaperFile:
    """A public file as its publisher gives it out, with the treatment of the paper that used it.

    ``patterns`` are its usual names, the first that matches counts; ``several`` is True if the
    publisher splits it into parts that belong together.
    """

    patterns: tuple[str, ...]
    read: Callable[[Path], Rows]
    what: str
    span: tuple[float, float]
    source: str
    note: str
    circular: bool = False
    several: bool = False


_DAY = (0, 86_400)
_YEAR = (0, 366)
_CIRCLE = (-math.pi, math.pi)
_TLC = "New York City Taxi and Limousine Commission, trip records"
_PAYROLL = "Transparent California, San Francisco payroll 2011-2014"
_FLIGHTS = "US Bureau of Transportation Statistics, Houston 2011, by hflights, CC0"

STAND_INS = {
    "taxi": StandIn(
        file="taxi_pickup_seconds.parquet",
        column="pickup_second",
        span=_DAY,
        circular=True,
        at_most=("year_month", 202002),
        source=_TLC,
        note="a random sample of 10,000 trips a month, 2018-01 to 2020-02, not a whole month",
    ),
    "taxi_2020": StandIn(
        file="taxi_pickup_seconds.parquet",
        column="pickup_second",
        span=_DAY,
        circular=True,
        above=("year_month", 202002),
        source=_TLC,
        note="a random sample of 10,000 trips a month, 2020-03 to 2020-12, in the pandemic",
        in_a_paper=False,
    ),
    "acs_income": StandIn(
        file="acs_income_2019.parquet",
        column="income",
        span=(0, 2**19),
        source="US Census, American Community Survey 2019, NIST excerpts",
        note="excerpts of chosen areas in 2019, not the survey of 2017; weights not used",
    ),
    "sf_base_pay": StandIn(
        file="sf_salaries.parquet",
        column="base_pay",
        span=(0, 2**18),
        source=_PAYROLL,
        note="base pay, not retirement",
    ),
    "sf_benefits": StandIn(
        file="sf_salaries.parquet",
        column="benefits",
        span=(0, 2**16),
        source=_PAYROLL,
        note="all benefits, not retirement alone",
    ),
    "sf_retirement": StandIn(
        file="sf_retirement_subset.parquet",
        column="retirement",
        span=(0, 60_000),
        source="City and County of San Francisco, employee compensation",
        note="a small subset from which an unknown author removed outliers and zeros",
    ),
    "kitti_yaw": StandIn(
        file="kitti_yaw.parquet",
        column="yaw",
        span=_CIRCLE,
        circular=True,
        source="KITTI object labels, CC BY-NC-SA 3.0, non-commercial",
        note="angles relative to the camera, not the world angles of the Lyft boxes",
    ),
    "airbnb_nyc": StandIn(
        file="airbnb_nyc2019.parquet",
        column="availability_365",
        span=_YEAR,
        source="Inside Airbnb, New York City 2019",
        note="one city, not the whole country",
    ),
    "airbnb_us": StandIn(
        file="airbnb_us2020_sample.parquet",
        column="availability_365",
        span=_YEAR,
        source="US Airbnb Open Data 2020",
        note="10,000 rows of ten regions, not the whole file",
    ),
    "flights_departure": StandIn(
        file="flights_houston2011.parquet",
        column="departure_minute",
        span=(0, 1_440),
        circular=True,
        source=_FLIGHTS,
        in_a_paper=False,
    ),
    "flights_distance": StandIn(
        file="flights_houston2011.parquet",
        column="distance_miles",
        span=(0, 2**12),
        source=_FLIGHTS,
        in_a_paper=False,
    ),
    "flights_delay": StandIn(
        file="flights_houston2011.parquet",
        column="arrival_delay_minutes",
        span=(-128, 1_024),
        source=_FLIGHTS,
        in_a_paper=False,
    ),
    "adult_age": StandIn(
        file="adult_numeric.parquet",
        column="age",
        span=(0, 128),
        source="UCI Adult",
        in_a_paper=False,
    ),
    "adult_hours": StandIn(
        file="adult_numeric.parquet",
        column="hours_per_week",
        span=(0, 128),
        source="UCI Adult",
        in_a_paper=False,
    ),
    "adult_weight": StandIn(
        file="adult_numeric.parquet",
        column="fnlwgt",
        span=(0, 2**21),
        source="UCI Adult",
        in_a_paper=False,
    ),
    "adult_capital_gain": StandIn(
        file="adult_numeric.parquet",
        column="capital_gain",
        span=(0, 2**17),
        source="UCI Adult",
        in_a_paper=False,
    ),
    "house_price": StandIn(
        file="kc_house_price.parquet",
        column="price",
        span=(0, 2**23),
        source="King County house sales 2014-15",
        in_a_paper=False,
    ),
    "house_area": StandIn(
        file="kc_house_price.parquet",
        column="sqft_living",
        span=(0, 2**14),
        source="King County house sales 2014-15",
        in_a_paper=False,
    ),
}

COUNT_TABLES = {
    "kosarak": CountTable(
        file="kosarak_first100k_counts.csv.gz",
        key="item",
        first=1,
        source="FIMI repository, kosarak",
        note="the first 100,000 of 990,002 sessions, items 1 to 23,496 of 41,270",
    ),
    "english_words": CountTable(
        file="english_word_counts_50k.csv.gz",
        key="rank",
        first=1,
        source="FrequencyWords, OpenSubtitles 2018, CC BY-SA 4.0",
        note="the 50,000 most frequent words; the tail is cut off",
        in_a_paper=False,
    ),
    "census_city": CountTable(
        file="census_city_counts.csv.gz",
        key="city_code",
        first=None,
        source="IPUMS USA, whose microdata may not be passed on",
        note="people of no identified city are not in the table",
        in_a_paper=False,
    ),
}

PAPER_FILES = {
    "taxi_2018_01": PaperFile(
        patterns=("yellow_tripdata_2018-01.parquet",),
        read=read_taxi_trips,
        what="second of the day of pick-up",
        span=_DAY,
        circular=True,
        source=_TLC,
        note="Zhao 2026 reports 8,760,687 trips, Li 2020 2,189,968 and does not say which",
    ),
    "taxi_2021_06": PaperFile(
        patterns=("yellow_tripdata_2021-06.parquet",),
        read=read_taxi_trips,
        what="second of the day of pick-up",
        span=_DAY,
        circular=True,
        source=_TLC,
        note="Fang 2023 reports 2,834,264 trips",
    ),
    "acs_income_2017": PaperFile(
        # The national file comes as two halves; the alternative is one file per state.
        patterns=("psam_pus[ab].csv", "psam_p[0-9][0-9].csv"),
        several=True,
        read=partial(read_csv_numbers, column="PINCP", whole=True),
        what="PINCP",
        span=(0, 2**19),
        source="US Census, American Community Survey 2017, person records",
        note="weights and ADJINC not applied; Li 2020 reports 2,308,374 people",
    ),
    "sf_retirement_city": PaperFile(
        patterns=("[Ee]mployee[-_ ][Cc]ompensation*.csv",),
        read=partial(read_csv_numbers, column="Retirement", whole=False),
        what="Retirement",
        span=(0, 60_000),
        source="City and County of San Francisco, employee compensation",
        note="cents kept; Li 2020 reports 178,012 rows, Zhao 2026 682,410 without a range",
    ),
    "airbnb_us_2020": PaperFile(
        patterns=("AB_US_2020.csv",),
        read=partial(read_csv_numbers, column="availability_365", whole=True),
        what="availability_365",
        span=_YEAR,
        source="US Airbnb Open Data, from Inside Airbnb",
        note="Tao 2026 reports 226,030 listings and draws 22,603 of them",
    ),
    "lyft_yaw": PaperFile(
        patterns=("train.csv",),
        read=read_lyft_yaw,
        what="yaw of each box, wrapped to the circle",
        span=_CIRCLE,
        circular=True,
        source="Lyft Level 5, 3D object detection",
        note="Tao 2026 reports 638,179 boxes and draws 31,909 of them",
    ),
}
