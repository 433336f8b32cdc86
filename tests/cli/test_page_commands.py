"""The commands that docs/*.md show run one after the other, from the files that they speak of."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from tests.cli.running import Program, domain_apart

DOCS = Path(__file__).resolve().parents[2] / "docs"


def commands(page: str) -> list[list[str]]:
    """Return the arguments of each command in the blocks of shell of a page."""
    text = (DOCS / page).read_text("utf-8")
    blocks: list[str] = re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    words = [shlex.split(line) for line in lines]
    assert all(line[0] == "lapwing" for line in words)
    return [line[1:] for line in words]


def write_table(path: Path, column: str, *, region: bool = False) -> None:
    """Write 6000 numbers up to some 100,000 of people in two regions."""
    import pyarrow as pa
    from pyarrow import parquet

    columns: dict[str, object] = {column: np.random.default_rng(3).gamma(2, 20_000, 6000)}
    columns["patient"] = np.arange(6000) // 2
    if region:
        columns["region"] = ["north", "south", "south"] * 2000
    parquet.write_table(pa.table(columns), path)


def test_those_of_answers(done: Program, tmp_path: Path) -> None:
    write_table(tmp_path / "values.parquet", "income", region=True)
    ages = lw.Distribution.of_values(np.arange(100.0), lw.Interval(0, 100, bins=20))
    (tmp_path / "result.json").write_text(ages.to_json())
    colors = lw.Distribution.of_values(["blue", "red"], lw.Categories(["blue", "red"]))
    (tmp_path / "colors.json").write_text(colors.to_json())
    ages_by_segment = lw.release(
        np.arange(100.0),
        lw.Interval(0, 100, bins=20),
        by=["north"] * 100,
        segments=["north", "south"],
        neighbors="replace-one",
        epsilon=1,
    )
    (tmp_path / "table.json").write_text(ages_by_segment.release.to_json())
    shown = commands("guides/results/read-a-result.md")
    shown += commands("guides/local/segments-and-periods.md")
    assert len(shown) == 12
    for line in shown:
        done(*line)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


CENTRAL = {
    "release-a-column": 4,
    "mechanisms": 2,
    "labels-and-groups": 6,
    "ledger": 9,
    "sites": 4,
    "rounds": 6,
    "bounds": 2,
    "one-number": 3,
    "synthetic-rows": 3,
}
"""Commands of each guide of the central model."""


def test_the_guides_of_the_central_model_are_all_run() -> None:
    pages = (DOCS / "guides" / "central").glob("*.md")
    assert {page.stem for page in pages if "```sh" in page.read_text("utf-8")} == set(CENTRAL)


@pytest.mark.parametrize("page", CENTRAL)
def test_those_of_the_central_model(page: str, done: Program, tmp_path: Path) -> None:
    write_table(tmp_path / "data.parquet", "salary")
    shutil.copy(tmp_path / "data.parquet", tmp_path / "site.parquet")
    import pyarrow as pa
    from pyarrow import parquet

    visits = {"browser": ["firefox", "safari", "lynx"] * 500, "region": ["north", "south"] * 750}
    visits |= {"minutes": [5.0, 20.0, 35.0] * 500, "visitor": list(map(str, range(750))) * 2}
    parquet.write_table(pa.table(visits), tmp_path / "visits.parquet")
    for month in ("january", "february"):
        (tmp_path / f"{month}.csv").write_text("salary\n" + "50000\n" * 2000)
    shown = commands(f"guides/central/{page}.md")
    assert len(shown) == CENTRAL[page]
    files = ("recommend", "release", "count")  # they take a domain in a file
    assert not any(domain_apart(line)[0] for line in shown if line[0] in files)
    for line in shown:
        if line[0] == "merge":  # the other site does what this one did
            release = next(earlier for earlier in shown if earlier[-1] == "site1.json")
            done(*release[:-1], "site2.json")
        done(*line)
    if page == "sites":
        assert lw.Release.load(tmp_path / "all.json").people == 12_000
    if page == "synthetic-rows":
        assert len((tmp_path / "synthetic.csv").read_text().split()) == 10_001


def test_those_of_two_rounds(done: Program, tmp_path: Path) -> None:
    domain = lw.Interval(0, 60, bins=64)
    people = (20_000 * np.exp(-(((np.arange(64) - 20) / 12) ** 2))).astype(int)
    first = lw.Survey("wait", lw.MultiscaleWave(domain, epsilon=4))
    first.save(tmp_path / "first.json")
    lw.simulate(first.randomizer, people // 4, rng=1).save(tmp_path / "first.tally.json")
    shown = commands("guides/local/two-rounds.md")
    assert [line[0] for line in shown] == ["decode", "new", "decode", "new", "recommend", "new"]
    for line in shown[:2]:
        done(*line)
    second = lw.Survey.load(tmp_path / "second.json")
    assert second.fingerprint != first.fingerprint
    others = people - people // 4
    lw.simulate(second.randomizer, others, rng=2).save(tmp_path / "second.tally.json")
    done(*shown[2])
    both = lw.Distribution.load(tmp_path / "both.json")
    assert both.reports == people.sum()
    both.save(tmp_path / "published.json")
    for line in shown[3:]:
        done(*line)
    assert lw.Survey.load(tmp_path / "survey.json").name == "wait"


def test_those_of_series(lapwing: Program, done: Program, tmp_path: Path) -> None:
    shown = commands("guides/local/ask-every-week.md")
    shown += commands("guides/local/detect-changes.md")
    assert len(shown) == 10
    (tmp_path / "weeks").mkdir()
    done(*shown[0])
    survey = lw.Survey.load(tmp_path / "survey.json")
    held = np.random.default_rng(1).uniform(0, 60, 500)
    (tmp_path / "values.csv").write_text("minutes\n" + "\n".join(map(str, held)) + "\n")
    done("randomize", "survey.json", "values.csv", "-o", "reports-of-the-week.lwr")
    done(*shown[1])
    for week in range(2, 5):
        people = np.full(32, 250) + (100 * np.arange(32) if week > 2 else 0)
        tally = lw.simulate(survey.randomizer, people, rng=week)
        path = tmp_path / "weeks" / f"2026-W{week:02d}.json"
        path.write_text(json.dumps(tally.to_document()))
    (tmp_path / "weeks" / ".DS_Store").touch()
    assert (
        "--alpha must be a number greater than 0 and at most 0.5, got 0"
        in lapwing("series", "--watch", "new.json", "-", "--alpha", "0").complaint
    )
    assert not (tmp_path / "new.json").exists()
    for line in shown[2:]:
        done(*line)
    for picture in ("timeline.png", "small.png"):
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")
    series = lw.Series.from_json((tmp_path / "series.json").read_text())
    assert series.names == [f"2026-W{week:02d}" for week in range(1, 5)]
    assert (tmp_path / "weeks.csv").read_text().startswith('"week","people","change","mean","q10"')
    assert lw.Watch.load(tmp_path / "watch.json").names == ["2026-W01", "2026-W02", "2026-W03"]
