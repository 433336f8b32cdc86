"""`lapwing show` prints a file of every kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from lapwing.cli.commands.show_command import _SHOWN
from lapwing.registry import FORMATS
from lapwing.results.signed_estimate import SignedEstimate
from tests.cli.running import Program

DOMAIN = lw.Interval(0, 100, bins=16)
VALUES = np.random.default_rng(1).uniform(0, 100, 400)
STORED = Path(__file__).parents[1] / "stored" / "v1"
PROMISE = ("--epsilon", "1", "--neighbors", "replace-one")


@pytest.fixture
def folder(done: Program, tmp_path: Path) -> Path:
    """A folder with what the commands wrote of one survey and one column."""
    table = "age\n" + "\n".join(f"{value:.3f}" for value in VALUES) + "\n"
    (tmp_path / "age.csv").write_text(table)
    domain = ("--low", "0", "--high", "100", "--bins", "16")
    done("new", "--name", "age", "--epsilon", "4", *domain, "-o", "survey.json")
    done("new", "--domain-only", *domain, "-o", "domain.json")
    return tmp_path


def reports(done: Program) -> None:
    done("randomize", "survey.json", "age.csv", "-o", "x.lwr")


def tally(done: Program) -> None:
    done("simulate", "survey.json", "age.csv", "--seed", "1", "-o", "x.json")


def tally_log(done: Program) -> None:
    survey = lw.Survey("words", lw.LinearHashing(lw.Categories(500), 2))
    survey.tally(survey.randomize(np.arange(7), rng=lw.seeded(1))).save("x.json")


def group_tallies(done: Program) -> None:
    rows = [f"{value:.3f},{'ab'[int(value > 50)]}" for value in VALUES]
    Path("labeled.csv").write_text("\n".join(["age,side", *rows]) + "\n")
    done("randomize", "survey.json", "labeled.csv", "-c", "age", "--by", "side", "-o", "r.csv")
    done("tally", "survey.json", "r.csv", "--by", "side", "--segment-minimum", 1, "-o", "x.json")


def release(done: Program) -> None:
    done("release", "age.csv", "--domain", "domain.json", *PROMISE, "-o", "x.json")


def publication(done: Program) -> None:
    lw.release(VALUES, DOMAIN, neighbors="replace-one", epsilon=1).save("x.json")


def distribution(done: Program) -> None:
    tally(done)
    done("decode", "survey.json", "x.json", "-o", "y.json")
    Path("y.json").replace("x.json")


def heavy_hitters(done: Program) -> None:
    lw.load(STORED / "heavy-hitters" / "heavy-hitters.json").save("x.json")


def signed_estimate(done: Program) -> None:
    SignedEstimate(DOMAIN, np.linspace(-0.1, 0.225, 16), reports=400).save("x.json")


def series(done: Program) -> None:
    tally(done)
    done("simulate", "survey.json", "age.csv", "--seed", "2", "-o", "z.json")
    done("series", "survey.json", "x.json", "z.json", "--names", "a,b", "-o", "y.json")
    Path("y.json").replace("x.json")


def watch(done: Program) -> None:
    tally(done)
    done("series", "--watch", "watch.json", "survey.json", "x.json")
    Path("watch.json").replace("x.json")


def difference(done: Program) -> None:
    first = lw.Distribution.of_counts(np.arange(16), DOMAIN)
    first.difference(lw.Distribution.of_counts(np.ones(16), DOMAIN)).save("x.json", exact=True)


def ledger(done: Program) -> None:
    done("ledger", "x.json", *PROMISE, "--delta", "1e-6")


def exact_counts(done: Program) -> None:
    done("count", "age.csv", "--domain", "domain.json", "-o", "x.lws")


KINDS: dict[Callable[[Program], None], tuple[str, str]] = {
    reports: ("reports", "400"),
    tally: ("tally", "400"),
    tally_log: ("tally", "7"),
    group_tallies: ("group-tallies", "b"),
    release: ("release", "sum-tree"),
    publication: ("release", "sum-tree"),
    distribution: ("distribution", "estimator"),
    heavy_hitters: ("heavy-hitters", "x.json"),
    signed_estimate: ("signed-estimate", "-10.00%"),
    series: ("series", "decoded"),
    watch: ("watch", "alpha"),
    difference: ("difference", "shift"),
    ledger: ("ledger", "budget"),
    exact_counts: ("exact-counts", "secret: not shown"),
}


@pytest.mark.parametrize("write", KINDS, ids=lambda write: write.__name__)
def test_every_kind_is_shown(write: Callable[[Program], None], done: Program, folder: Path) -> None:
    kind, word = KINDS[write]
    write(done)
    (file,) = folder.glob("x.*")
    shown = done("show", file.name).out
    assert word in shown
    assert done("show", file.name, "--json").document["format"] == f"lapwing-{kind}"


def test_exact_counts_show_no_count(done: Program, folder: Path) -> None:
    (folder / "age.csv").write_text("age\n" + "50\n" * 123457)
    exact_counts(done)
    for words in ((), ("--json",)):
        shown = done("show", "x.lws", *words).out
        assert "123457" not in shown and "123,457" not in shown


def test_the_survey_and_the_domain_are_shown(done: Program, folder: Path) -> None:
    assert "randomized-response" in done("show", "survey.json").out
    assert "16 bins" in done("show", "domain.json").out


def test_reports_as_csv_are_shown(done: Program, folder: Path) -> None:
    done("randomize", "survey.json", "age.csv", "-o", "reports.csv")
    document = done("show", "reports.csv", "--json").document
    survey = lw.Survey.load(folder / "survey.json")
    assert document["format"] == "lapwing-reports"
    assert document["survey"] == survey.fingerprint


@pytest.mark.parametrize("text", ["{}", '{"format": "other", "version": 1}'])
def test_other_files_are_refused(text: str, lapwing: Program, folder: Path) -> None:
    (folder / "x.json").write_text(text)
    run = lapwing("show", "x.json")
    assert run.code == 4 and run.complaint.startswith("x.json ")


def test_show_knows_every_class_that_load_returns() -> None:
    classes = {place.partition(":")[2] for place in FORMATS.values()} - {"Tally"}
    classes |= {"CountTally", "TallyLog", "ExactCounts", "ReportFile", "JobProgress"}
    assert classes | {"CollectorExport"} <= set(_SHOWN)
