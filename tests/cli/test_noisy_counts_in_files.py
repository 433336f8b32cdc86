"""`lapwing release --counts`: noisy counts of another library in a CSV."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lapwing.cli import main

BINS = "low,high,count\n0,18,212.3\n18,40,409.1\n40,65,288.7\n65,100,101.4\n"
NOISE = ("--noise", "laplace", "--noise-scale", "2")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read(table: str, *options: str) -> int:
    Path("counts.csv").write_text(table, encoding="utf-8")
    return main(["release", "--counts", "counts.csv", *options, "-o", "made.json", "--force"])


def answers(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_bins_with_missing_values_become_a_release(capsys: pytest.CaptureFixture[str]) -> None:
    assert read(BINS + ",,50.4\n", *NOISE) == 0
    said = capsys.readouterr().out
    assert "stated by its maker, not verified" in said
    assert "missing" in said and "1,06" in said
    answer = answers(capsys, "answer", "made.json", "--ask", "share at most 40")["answers"][0]
    assert answer["value"] == pytest.approx(0.614, abs=0.002)
    assert answer["low"] < answer["value"] < answer["high"]


def test_labels_and_dates_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    table = "color,count\nred,600\nblue,401\n,-2\n"
    noise = ("--noise", "discrete-gaussian", "--noise-scale", "3.5")
    stated = ("--neighbors", "replace-one", "--rho", "0.1")
    assert read(table, *noise, *stated) == 0
    assert "replace-one" in capsys.readouterr().out
    document = json.loads(Path("made.json").read_text())
    assert document["parts"][0]["promise"]["rho"] == "0.1"
    assert document["domain"]["missing"] == "category"
    dates = "low,high,count\n2026-01-01,2026-02-01,31.5\n2026-02-01,2026-04-01,59.25\n"
    assert read(dates, *NOISE) == 0
    assert json.loads(Path("made.json").read_text())["domain"]["unit"] == "date"


def test_clipped_counts_warn_on_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert read(BINS.replace("101.4", "0"), *NOISE) == 0
    assert "the counts were clipped" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("table", "options", "said"),
    [
        (BINS, ("--noise", "laplace"), "Add --noise-scale"),
        (BINS, ("--noise-scale", "2"), "Add --noise"),
        (BINS, ("--noise", "normal", "--noise-scale", "2"), "--noise must be one of laplace"),
        (BINS, ("--noise", "laplace", "--noise-scale", "0"), "--noise-scale must be from 0.01"),
        (BINS, (*NOISE, "--by", "city"), "Leave out --by"),
        (BINS, (*NOISE, "--epsilon", "1"), "--neighbors"),
        (BINS.replace("40,65", "41,65"), NOISE, "--counts must have adjacent bins"),
        (BINS.replace("288.7", "many"), NOISE, "--counts must have numbers in its last column"),
        ("count\n1\n2\n", NOISE, "--counts must be a CSV"),
        (BINS.partition("\n")[2], NOISE, "--counts must be a CSV with a header line"),
        (BINS.replace("288.7", "2_88.7"), NOISE, "--counts must have numbers in its last column"),
        (BINS.replace("288.7", "\u0662.7"), NOISE, "--counts must have numbers in its last column"),
        (BINS.replace("288.7", "1e308"), NOISE, "--counts must be below"),
        ('label,count\n"a\nb",1.5\nc,2.5\n', NOISE, "line break"),
        ("label,count\n" + "a" * 200_000 + ",1.5\nb,2.5\n", NOISE, "--counts must be a CSV"),
        ("a,count\nx,1.5\nx,2.5\n", NOISE, "must all be different"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(
    table: str, options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert read(table, *options) == 2
    error = capsys.readouterr().err
    assert said in error and len(error.splitlines()) == 1
    assert not Path("made.json").exists()


def test_the_noise_is_that_of_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["release", "data.csv", *NOISE, "-o", "made.json"]) == 2
    assert "applies only to --counts. Add --counts" in capsys.readouterr().err
    assert main(["release", "-o", "made.json"]) == 2
    assert "missing argument 'DATA'" in capsys.readouterr().err
