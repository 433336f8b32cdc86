"""Nobody counts twice, no group is mixed with others, and damage costs what it must."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from lapwing import Survey
from lapwing.protocol.messages.reports import WRITTEN_BLOCK
from tests.cli.running import Program

NUMBERS = ("--low", "0", "--high", "100", "--bins", "16")


@pytest.fixture
def files(survey: Survey, ages: np.ndarray, done: Program, tmp_path: Path) -> Path:
    """A file of each kind that can be added, a copy of it, and another one of that kind."""
    for kind in ("lwr", "csv", "parquet"):
        for name in ("first", "other"):
            done("randomize", "survey.json", "ages.csv", "-c", "age", "-o", f"{name}.{kind}")
    for name in ("first", "other"):
        done("tally", "survey.json", f"{name}.lwr", "-o", f"{name}.json")
    done("count", "ages.csv", *NUMBERS, "-o", "first.lws")
    (tmp_path / "more.csv").write_text("age\n1\n2\n")
    done("count", "more.csv", *NUMBERS, "-o", "other.lws")
    for path in list(tmp_path.glob("first.*")):
        shutil.copy(path, path.with_name(f"copy{path.suffix}"))
    shutil.copy(tmp_path / "ages.csv", tmp_path / "again.csv")
    return tmp_path


ADDED = {
    "summaries": (("count",), "lws"),
    "tallies": (("merge",), "json"),
    **{f"reports .{kind}": (("tally", "survey.json"), kind) for kind in ("lwr", "csv", "parquet")},
}


@pytest.mark.parametrize("kind", ADDED)
def test_a_file_and_its_copy_are_refused(files: Path, lapwing: Program, kind: str) -> None:
    start, ending = ADDED[kind]
    first, copy, other = (f"{name}.{ending}" for name in ("first", "copy", "other"))
    for named in ([first, first], [first, f"./{first}"], [other, first, copy]):
        run = lapwing(*start, *named, "-o", "out")
        assert run.code == 2 and "would count twice" in run.complaint
        assert not (files / "out").exists()
    assert f"{copy} is a copy of {first}" in run.complaint and "--allow-equal" in run.complaint
    assert lapwing(*start, first, other, "-o", "out").code == 0
    run = lapwing(*start, first, copy, "--allow-equal", copy, "-o", "twice")
    if kind == "tallies":  # a copy of the file, whatever is said of it
        assert run.code == 4 and "the same tally is in both" in run.complaint
    else:
        assert run.code == 0
    run = lapwing(*start, first, copy, "--allow-equal", "none", "-o", "no")
    assert run.code == 2 and "none is not one" in run.complaint
    shutil.copy(first, f"again.{ending}")
    run = lapwing(*start, first, copy, f"again.{ending}", "--allow-equal", copy, "-o", "no")
    assert run.code == 2 and f"--allow-equal again.{ending}" in run.complaint


def test_reports_that_were_tallied_twice_are_found_and_a_narrow_copy_too(
    files: Path, lapwing: Program, done: Program
) -> None:
    done("tally", "survey.json", "first.lwr", "-o", "again.json")
    run = lapwing("merge", "first.json", "again.json", "-o", "out")
    assert run.code == 2 and "again.json is a copy of first.json" in run.complaint
    done("merge", "first.json", "again.json", "--allow-equal", "again.json", "-o", "out")
    coin = lw.Survey("coin", lw.RandomizedResponse(lw.Categories(2), 1))
    coin.save(files / "coin.json")
    tally = lw.simulate(coin.randomizer, [2500, 2500], rng=1).of_survey(coin.fingerprint)
    tally.save(files / "week.json")
    shutil.copy(files / "week.json", files / "copy.json")
    run = lapwing("merge", "week.json", "copy.json", "-o", "no")
    assert run.code == 4 and "the same tally is in both" in run.complaint
    run = lapwing("series", "coin.json", "week.json", "copy.json")
    assert run.code == 4 and "copy is the same as week week" in run.complaint


def test_shards_of_few_people_merge_without_a_word(done: Program, tmp_path: Path) -> None:
    """Of 100 shards of 50 yes or no, two are equal by chance: nearly all are."""
    coin = lw.Survey("coin", lw.RandomizedResponse(lw.Categories(2), 1))
    names = [f"shard-{number}.json" for number in range(100)]
    for number, name in enumerate(names):
        tally = lw.simulate(coin.randomizer, [25, 25], rng=number).of_survey(coin.fingerprint)
        tally.save(tmp_path / name)
    run = done("merge", *names, "-o", "all.json", "--json")
    assert run.document["reports"] == 5000 and run.document.get("warnings", []) == []


def test_tables_are_not_summarized_twice(files: Path, lapwing: Program) -> None:
    for named in (["ages.csv", "ages.csv"], ["ages.csv", "again.csv"]):
        run = lapwing("count", *named, *NUMBERS, "-o", "out.lws")
        assert run.code == 2 and "people would count twice" in run.complaint


def test_a_group_that_is_named_other_is_a_group(
    done: Program, survey: Survey, tmp_path: Path
) -> None:
    groups = ["other"] * 30 + ["north"] * 40 + ["small"] * 3 + [""] * 2
    rows = "".join(f"{row % 100},{name}\n" for row, name in enumerate(groups))
    (tmp_path / "people.csv").write_text(f"age,group\n{rows}")
    done("randomize", "survey.json", "people.csv", "-c", "age", "--by", "group", "-o", "r.csv")
    by = ("--by", "group", "--segment-minimum", "10")
    run = done("tally", "survey.json", "r.csv", *by, "-o", "t.json", "--json")
    counted = {row["group"]: row["reports"] for row in run.document["groups"]}
    assert counted == {"north": 40, "other": 30, "all other": 5}
    assert any("'all other' has 5" in warning for warning in run.document["warnings"])
    tallies = lw.load(tmp_path / "t.json")
    for name, people in (("other", 30), ("all other", 5)):
        assert tallies[name].total == people


def test_a_flipped_byte_loses_its_block_alone(
    done: Program, lapwing: Program, survey: Survey, tmp_path: Path
) -> None:
    (tmp_path / "people.csv").write_text("age\n" + "".join(f"{n % 100}\n" for n in range(20_000)))
    done("randomize", "survey.json", "people.csv", "-o", "r.lwr")
    content = bytearray((tmp_path / "r.lwr").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "r.lwr").write_bytes(content)
    run = lapwing("tally", "survey.json", "r.lwr", "-o", "t.json")
    assert run.code == 4 and "Nothing was counted (--salvage counts those)" in run.complaint
    assert "the reports 9217 to 10240 are lost" in run.complaint
    run = done("tally", "survey.json", "r.lwr", "--salvage", "-o", "t.json", "--json")
    assert run.document["reports"] == 20_000 - WRITTEN_BLOCK
    (warning,) = run.document["warnings"]
    assert "9217 to 10240" in warning and "Only those were counted" in warning


def test_small_blocks_are_counted_many_at_once(done: Program, survey: Survey) -> None:
    """Adding up costs time for each batch: a log of reports is sorted anew."""
    from lapwing.engines.arrow.report_tables import read_reports

    Path("people.csv").write_text("age\n" + "".join(f"{n % 100}\n" for n in range(20_000)))
    done("randomize", "survey.json", "people.csv", "-o", "r.lwr")
    (batch,) = read_reports(Path("r.lwr"), survey)
    assert isinstance(batch, lw.Reports) and len(batch) == 20_000
