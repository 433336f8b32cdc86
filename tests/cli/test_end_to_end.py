"""The whole way on real files: new, randomize, tally, merge, decode, plot, distances.

`randomize` has no seed, so these tests draw anew each time. Where they compare with the truth
they ask for epsilon = 8 and leave ten standard errors of room.
"""

from __future__ import annotations

import datetime as dt
import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from lapwing import Distribution, Survey
from lapwing.results.answers import share_in_band
from lapwing.tallies import CountTally
from tests.cli.running import Program


def split_into_files(numbers: np.ndarray, folder: Path) -> list[str]:
    """Write three batches in three formats; return their names."""
    first, second, third = np.array_split(numbers, 3)
    parquet.write_table(pa.table({"age": first}), folder / "one.parquet", row_group_size=700)
    (folder / "two.csv").write_text("id,age\n" + "".join(f"7,{n}\n" for n in second))
    packed = gzip.compress(("age\n" + "".join(f"{n}\n" for n in third)).encode())
    (folder / "three.csv.gz").write_bytes(packed)
    return ["one.parquet", "two.csv", "three.csv.gz"]


def test_from_values_to_distances(done: Program, tmp_path: Path) -> None:
    numbers = np.round(np.random.default_rng(1).gamma(5, 8, 30_000), 2)
    done(
        *("new", "-o", "survey.json", "--name", "age", "--randomizer", "square-wave"),
        *("--epsilon", "8", "--low", 0, "--high", 100, "--bins", 64),
    )
    batches = []
    endings = ("lwr", "parquet", "csv")
    for name, ending in zip(split_into_files(numbers, tmp_path), endings, strict=True):
        reports = f"{name.partition('.')[0]}-reports.{ending}"
        made = done("randomize", "survey.json", name, "-c", "age", "-o", reports, "--json")
        assert made.document["reports"] == 10_000
        batches.append(reports)

    done("tally", "survey.json", *batches, "-o", "at-once.json")
    for number, batch in enumerate(batches):
        done("tally", "survey.json", batch, "-o", f"tally-{number}.json")
    done("merge", "tally-2.json", "tally-0.json", "tally-1.json", "-o", "merged.json")
    merged, at_once = (CountTally.load(f"{name}.json") for name in ("merged", "at-once"))
    assert merged.to_json() == at_once.to_json()
    assert (len(merged.ids), len(at_once.ids)) == (3, 1)
    tally = CountTally.from_document(json.loads((tmp_path / "merged.json").read_text()))
    assert tally.total == numbers.size == tally.blocks[0].sum()

    answer = done(
        "decode", "survey.json", "merged.json", "-o", "result.json", "--force", "--json"
    ).document
    assert answer["reports"] == numbers.size and answer["guarantee"]["epsilon"] == "8"
    clipped = np.clip(numbers, 0, 100)
    for row in answer["quantiles"]:
        assert row["low"] <= row["value"] + 5 and row["value"] - 5 <= row["high"]
        assert abs(row["value"] - np.quantile(clipped, row["probability"])) < 3
    assert abs(answer["mean"]["value"] - clipped.mean()) < 2

    (tmp_path / "all.csv").write_text("age\n" + "".join(f"{n}\n" for n in numbers))
    found = done("compare", "result.json", "--truth", "all.csv", "--json").document
    assert found["people"] == numbers.size
    assert found["distances"]["wasserstein"]["value"] < 2
    done("plot", "result.json", "-o", "picture.png", "--truth", "all.csv")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG\r\n")
    done("plot", "result.json", "-o", "picture.svg", "--truth", "result.json")
    assert (tmp_path / "picture.svg").read_text().startswith("<?xml")


def test_no_two_runs_of_randomize_agree(done: Program, survey: Survey, ages: np.ndarray) -> None:
    for name in ("a.lwr", "b.lwr"):
        done("randomize", "survey.json", "ages.csv", "-o", name)
    assert Path("a.lwr").read_bytes() != Path("b.lwr").read_bytes()


def test_dates(done: Program, tmp_path: Path) -> None:
    days = np.random.default_rng(2).triangular(0, 60, 365, 20_000).astype(int)
    dates = [dt.date(2019, 1, 1) + dt.timedelta(days=int(day)) for day in days]
    parquet.write_table(pa.table({"born": pa.array(dates, pa.date32())}), "dates.parquet")
    (tmp_path / "dates.csv").write_text("born\n" + "".join(f"{date}\n" for date in dates))
    done(
        *("new", "-o", "survey.json", "--name", "born", "--randomizer", "square-wave"),
        *("--epsilon", "8", "--unit", "date"),
        *("--low", "2019-01-01", "--high", "2020-01-01", "--bins", 73),
    )
    for name in ("dates.parquet", "dates.csv"):
        done("randomize", "survey.json", name, "-o", "reports.lwr", "--force")
        done("tally", "survey.json", "reports.lwr", "-o", "tally.json", "--force")
        answer = done(
            "decode", "survey.json", "tally.json", "-o", "r.json", "--json", "--force"
        ).document
        middle = dt.date.fromisoformat(answer["quantiles"][3]["text"])
        assert abs((middle - sorted(dates)[10_000]).days) < 10
    assert "2019-0" in done("decode", "survey.json", "tally.json").out
    found = done("compare", "r.json", "--truth", "dates.csv", "--json").document["distances"]
    assert found["wasserstein"]["unit"] == "days" and found["wasserstein"]["value"] < 10


def test_times_of_day_on_a_circle(done: Program, lapwing: Program, tmp_path: Path) -> None:
    # Around midnight, so that the circle matters.
    seconds = np.random.default_rng(3).normal(0, 5_000, 20_000) % 86_400
    start = np.datetime64("2024-03-01", "us")
    stamps = start + (1e6 * seconds).astype("timedelta64[us]")
    table = pa.table(
        {"when": pa.array(stamps), "time": pa.array((1e6 * seconds).astype(int), pa.time64("us"))}
    )
    parquet.write_table(table, "times.parquet")
    done(
        *("new", "-o", "survey.json", "--name", "t", "--randomizer", "square-wave"),
        *("--epsilon", "8", "--unit", "time-of-day", "--scale", "circular"),
        *("--low", "00:00", "--high", "24:00", "--bins", 96),
    )
    for column in ("when", "time"):
        done(
            *("randomize", "survey.json", "times.parquet", "-c", column),
            *("-o", "reports.csv", "--force"),
        )
        done("tally", "survey.json", "reports.csv", "-o", "tally.json", "--force")
        decoded = done("decode", "survey.json", "tally.json", "-o", "result.json", "--force")
        assert "mean direction" in decoded.out and "18:00 to 24:00" in decoded.out
        truth = ("--truth", "times.parquet", "-c", column)
        found = done("compare", "result.json", *truth, "--json").document["distances"]
        assert found["wasserstein on the circle"]["unit"] == "seconds"
        assert found["wasserstein on the circle"]["value"] < 900
        assert found["error of the mean direction, the shorter way around"]["value"] < 900
        assert "error of the deciles" not in found and "error of the variance" not in found
        asked = ("answer", "result.json", "--quantile", "0.5")
        assert "needs --start" in lapwing(*asked).complaint
        assert "counted from 12:00" in done(*asked, "--start", "12:00").out
        assert "--start is only for" not in lapwing(*asked, "--start", "noon").complaint
        assert found["wasserstein"]["value"] >= found["wasserstein on the circle"]["value"]


def test_missing_values_are_counted_where_declared(done: Program, tmp_path: Path) -> None:
    numbers = np.random.default_rng(4).uniform(20, 40, 20_000)
    mask = np.arange(20_000) % 5 == 0
    parquet.write_table(pa.table({"age": pa.array(numbers, mask=mask)}), "ages.parquet")
    done(
        *("new", "-o", "survey.json", "--name", "t", "--randomizer", "square-wave"),
        *("--epsilon", "8", "--low", 0, "--high", 100, "--bins", 50, "--missing", "bin"),
    )
    done("randomize", "survey.json", "ages.parquet", "-o", "reports.lwr")
    done("tally", "survey.json", "reports.lwr", "-o", "tally.json", "--force")
    answer = done(
        "decode", "survey.json", "tally.json", "-o", "result.json", "--force", "--json"
    ).document
    assert abs(answer["missing"]["share"] - 0.2) < 0.05
    assert abs(answer["quantiles"][3]["value"] - 30) < 3
    assert "missing" in done("decode", "survey.json", "tally.json").out
    found = done("compare", "result.json", "--truth", "ages.parquet", "--json").document
    assert found["distances"]["wasserstein"]["value"] < 3


def test_categories_with_text(done: Program, tmp_path: Path) -> None:
    labels = ["Córdoba", "N'Djamena", "[red]", "São Paulo, Brazil", "NA"]
    (tmp_path / "labels.txt").write_text("\n".join(labels) + "\n", "utf-8")
    chosen = np.random.default_rng(5).choice(5, 20_000, p=[0.5, 0.2, 0.15, 0.1, 0.05])
    towns = pa.array([labels[number] for number in chosen])
    parquet.write_table(pa.table({"town": towns.dictionary_encode()}), "towns.parquet")
    quoted = "".join(f'"{labels[number]}"\n' for number in chosen)
    (tmp_path / "towns.csv").write_text(f"town\n{quoted}", "utf-8")
    for randomizer in ("randomized-response", "optimized-unary-encoding"):
        done(
            *("new", "-o", "survey.json", "--name", "t", "--randomizer", randomizer, "--force"),
            *("--epsilon", "8", "--categories", "file:labels.txt"),
        )
        for name in ("towns.parquet", "towns.csv"):
            named = (name, "--column", "town")
            done("randomize", "survey.json", *named, "-o", "reports.lwr", "--force")
            done("tally", "survey.json", "reports.lwr", "-o", "tally.json", "--force")
            run = done(
                "decode", "survey.json", "tally.json", "-o", "result.json", "--force", "--json"
            )
            shares = {row["label"]: row["share"] for row in run.document["shares"]}
            assert abs(shares["Córdoba"] - 0.5) < 0.05 and abs(shares["NA"] - 0.05) < 0.05
            found = done("compare", "result.json", "--truth", *named, "--json").document
            assert found["distances"]["l1"]["value"] < 0.1
            assert "wasserstein" not in found["distances"]
    shown = done("decode", "survey.json", "tally.json").out
    assert "[red]" in shown and "São Paulo, Brazil" in shown
    done("plot", "result.json", "-o", "shares.png")
    done("plot", "result.json", "-o", "compared.png", "--truth", "towns.csv", "-c", "town")
    assert (tmp_path / "shares.png").read_bytes() != (tmp_path / "compared.png").read_bytes()


def test_what_decode_writes_is_what_the_library_reads(
    done: Program, survey: Survey, ages: np.ndarray
) -> None:
    done("simulate", "survey.json", "ages.csv", "--seed", 1, "-o", "tally.json")
    shown = done(
        "decode", "survey.json", "tally.json", "-o", "result.json", "--force", "--json"
    ).document
    result = Distribution.from_json(Path("result.json").read_text())
    tally = CountTally.from_document(json.loads(Path("tally.json").read_text()))
    expected = survey.decode(tally)
    assert isinstance(expected, Distribution)
    assert np.array_equal(result.mass, expected.mass)
    band = expected.confidence_band(0.95)
    assert band is not None
    for row in shown["quantiles"]:
        assert row["value"] == expected.quantile(row["probability"])
        low, high = band.quantile(row["probability"])
        # Values outside were moved into the first and the last bin, so these are open.
        shown_low = row["low_at_most"] if row["low"] is None else row["low"]
        shown_high = row["high_at_least"] if row["high"] is None else row["high"]
        assert (shown_low, shown_high) == (low, high)
        assert (row["low"] is None, row["high"] is None) == (low == 0, high == 100)
    assert shown["mean"]["value"] == expected.mean()
    assert shown["share_in_band"] == share_in_band(expected)
