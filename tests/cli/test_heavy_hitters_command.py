"""`lapwing decode` on domains too large to list."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lapwing import Distribution, HeavyHitters
from tests.cli.running import Program


@pytest.fixture
def words(done: Program, tmp_path: Path) -> Path:
    """A survey of texts, and the tally of 3000 people."""
    done("new", "--name", "word", "--randomizer", "linear-hashing", "--epsilon", 2,
         "--categories", "hash:22", "-o", "words.json")  # fmt: skip
    rows = ["lapwing"] * 1200 + ["curlew"] * 900 + [f"word {n}" for n in range(900)]
    (tmp_path / "words.csv").write_text("word\n" + "".join(f"{row}\n" for row in rows))
    done("randomize", "words.json", "words.csv", "-c", "word", "-o", "words.lwr")
    done("tally", "words.json", "words.lwr", "-o", "tally.json")
    return tmp_path


def test_candidates(done: Program, words: Path) -> None:
    (words / "list.txt").write_text("heron\ncurlew\nlapwing\n")
    rarely = ("--set", "expected_false=1e-6")  # real reports: 0.05 would fail once in sixty runs
    run = done("decode", "words.json", "tally.json", "--candidates", "list.txt", "--json",
               "-o", "found.json", *rarely)  # fmt: skip
    listed = run.document["shares"]
    assert [row["label"] for row in listed] == ["lapwing", "curlew"]
    assert all(row["low"] < row["share"] < row["high"] for row in listed)
    found = HeavyHitters.from_json((words / "found.json").read_text())
    assert found.values == ["lapwing", "curlew"] and found.searched == 3
    table = done("decode", "words.json", "tally.json", "--candidates", "list.txt", *rarely).out
    assert "heavy hitters" in table and "lapwing" in table and "heron" not in table


def test_a_list_is_drawn(done: Program, lapwing: Program, words: Path) -> None:
    pytest.importorskip("matplotlib")
    (words / "list.txt").write_text("curlew\nlapwing\n")
    done("decode", "words.json", "tally.json", "--candidates", "list.txt", "-o", "found.json")
    done("plot", "found.json", "-o", "found.png")
    assert (words / "found.png").read_bytes().startswith(b"\x89PNG")
    run = lapwing("plot", "found.json", "-o", "other.png", "--truth", "words.csv")
    assert run.code != 0 and "does not apply to a list" in run.complaint


def test_few_hashes_are_a_distribution(done: Program, words: Path) -> None:
    done("new", "--name", "word", "--randomizer", "linear-hashing", "--epsilon", 2,
         "--categories", "hash:6", "-o", "few.json")  # fmt: skip
    done("randomize", "few.json", "words.csv", "-c", "word", "-o", "few.lwr")
    done("tally", "few.json", "few.lwr", "-o", "few-tally.json")
    run = done("decode", "few.json", "few-tally.json", "--json", "-o", "few-result.json")
    assert (
        len(run.document["shares"]) == run.document["labels"] == 64
        and run.document["shares"][0]["share"] > 0.3
    )
    assert "strings by the first 6 bits" in done("verify", "few.json").out
    result = Distribution.from_json((words / "few-result.json").read_text())
    assert len(result.sample(10, rng=1)) == 10
    assert result.share("lapwing") == run.document["shares"][0]["share"]


def test_a_scan_goes_on_from_what_is_done(
    done: Program, lapwing: Program, words: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("decode", "words.json", "tally.json", "--decoder", "exhaustive-scan", "-o", "a.json",
               "--resume", "--json", "--set", "expected_false=1e-6")  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", lambda path, missing_ok=False: None)
        first = done(*command)
    state = json.loads((words / "a.json.progress").read_text())
    assert state["done"] == state["tiles"] == 1
    assert len(first.document["shares"]) == 2 and first.document["searched"] == 2**22
    refused = lapwing(*command[:-1], "expected_false=1", "--force")
    assert refused.code != 0 and "another threshold" in refused.out
    assert done(*command, "--force").document == first.document
    assert not (words / "a.json.progress").exists()


def test_merged_tallies_are_the_whole(done: Program, words: Path) -> None:
    done("tally", "words.json", "words.lwr", "-o", "again.json")
    done("merge", "tally.json", "again.json", "--allow-equal", "again.json", "-o", "both.json")
    merged = json.loads((words / "both.json").read_text())
    assert merged["kind"] == "log" and merged["reports"] == 6000


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--decoder", "candidates"), "--candidates"),
        (("--candidates", "list.txt", "--decoder", "exhaustive-scan"), "--candidates"),
        (("--candidates", "list.txt", "--resume"), "--resume"),
        (("--candidates", "twice.txt"), "positions 0 and 1"),
        (("--candidates", "list.txt", "--set", "smoothed=true"), "smoothed"),
        (("--decoder", "exhaustive-scan", "--set", "expected_false=0"), "expected_false"),
    ],
)
def test_bad_options(
    lapwing: Program, words: Path, options: tuple[str, ...], complaint: str
) -> None:
    (words / "list.txt").write_text("heron\n")
    (words / "twice.txt").write_text("heron\nheron\n")
    run = lapwing("decode", "words.json", "tally.json", *options)
    assert run.code != 0 and complaint in run.complaint and "heron" not in run.complaint


def test_options_of_logs_are_refused_for_counts(lapwing: Program, done: Program) -> None:
    done("new", "--name", "color", "--randomizer", "hadamard-response", "--epsilon", 2,
         "--categories", "red,green,blue", "-o", "colors.json")  # fmt: skip
    Path("colors.csv").write_text("color\n" + "red\n" * 50)
    done("randomize", "colors.json", "colors.csv", "-c", "color", "-o", "colors.lwr")
    done("tally", "colors.json", "colors.lwr", "-o", "colors-tally.json")
    run = lapwing("decode", "colors.json", "colors-tally.json", "--resume")
    assert run.code != 0 and "linear hashing" in run.complaint
    assert done("decode", "colors.json", "colors-tally.json", "--json").document["shares"]
