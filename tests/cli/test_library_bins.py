"""An interval without bins gets the same ones on the command line as in Python."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from lapwing.planning.chosen_bins import ADVICE
from lapwing.protocol.domains.domain import Domain
from tests.cli.running import Program

CLOCK = lw.Interval("00:00", "24:00", unit="time-of-day", circular=True)

DOMAINS = [
    pytest.param(("--low", "0", "--high", "500000"), lw.Interval(0, 500_000), id="income"),
    pytest.param(("--low", "0", "--high", "1009"), lw.Interval(0, 1009), id="no round width"),
    pytest.param(
        ("--low", "1", "--high", "10000", "--scale", "log", "--atom", "30"),
        lw.Interval(1, 10_000, scale="log", atoms=(30,)),
        id="log",
    ),
    pytest.param(
        ("--low", "00:00", "--high", "24:00", "--unit", "time-of-day", "--scale", "circular"),
        CLOCK,
        id="clock",
    ),
]


@pytest.mark.parametrize("epsilon", ["0.5", "2"])
@pytest.mark.parametrize(("typed", "domain"), DOMAINS)
def test_new_writes_the_survey_of_python(
    typed: tuple[str, ...], domain: Domain, epsilon: str, done: Program, tmp_path: Path
) -> None:
    found = lw.recommend(domain, epsilon=epsilon, users=50_000)
    asked = ("--name", "x", "--epsilon", epsilon, "--users", "50000")
    run = done("new", *asked, *typed, "-o", "survey.json", "--json")
    survey = lw.Survey("x", found.randomizer)
    assert json.loads((tmp_path / "survey.json").read_text()) == json.loads(survey.to_json())
    assert found.reason.endswith(run.document["note"])
    done("new", "--domain-only", *typed, "-o", "domain.json")
    done("new", *asked, "--domain", "domain.json", "-o", "same.json")
    assert (tmp_path / "same.json").read_bytes() == (tmp_path / "survey.json").read_bytes()
    said = done("recommend", "--domain", "domain.json", *asked[2:], "--json").document
    document = json.loads(json.dumps(found.to_document()))
    assert said == {"command": "recommend", "warnings": [], **document}


def test_release_has_the_bins_of_python(done: Program, tmp_path: Path) -> None:
    (typed, domain), epsilon = DOMAINS[1].values, "2"
    values = np.random.default_rng(1).integers(0, 1009, 500)
    (tmp_path / "x.csv").write_text("x\n" + "\n".join(map(str, values)))
    published = lw.release(values, domain, neighbors="replace-one", epsilon=epsilon)
    done("new", "--domain-only", *typed, "-o", "domain.json")
    promise = ("--epsilon", epsilon, "--neighbors", "replace-one", "--domain", "domain.json")
    shown = done("release", "x.csv", *promise, "-o", "release.json").out
    assert published.note in " ".join(shown.split())
    made = lw.Release.load(tmp_path / "release.json")
    assert made.domain == published.release.domain
    assert made.mechanism == published.release.mechanism
    tried = done("release", "x.csv", *promise, "--dry-run", "500", "--json").document
    assert tried["note"] == published.note


def test_release_by_gaussian_privacy_has_the_bins_of_python(done: Program, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("x\n1\n2\n")
    done("new", "--domain-only", "--low", "0", "--high", "100", "-o", "domain.json")
    for mu in ("0.2", "1"):
        promise = ("--mu", mu, "--neighbors", "replace-one", "--domain", "domain.json")
        done("release", "x.csv", *promise, "-o", "release.json", "--force")
        published = lw.release([1, 2], lw.Interval(0, 100), neighbors="replace-one", mu=mu)
        assert lw.Release.load(tmp_path / "release.json").domain == published.release.domain


def test_a_domain_with_bins_is_left_as_it_is(done: Program, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("x\n1\n2\n")
    done("new", "--domain-only", "--low", "0", "--high", "9", "--bins", "7", "-o", "domain.json")
    for words in (
        ("release", "x.csv", "--epsilon", "1", "--neighbors", "replace-one", "-o", "release.json"),
        ("count", "x.csv", "-o", "x.lws"),
    ):
        found = done(*words, "--domain", "domain.json", "--json").document
        # Of bins nothing is said, only of bounds that are whole numbers, before a release.
        assert found.get("note") == (ADVICE if words[0] == "release" else None)
    assert lw.Release.load(tmp_path / "release.json").domain.bins == 7


def test_segments_of_an_open_interval_stay_open_until_they_are_released(
    done: Program, tmp_path: Path
) -> None:
    (tmp_path / "x.csv").write_text("x,s\n1,a\n2,b\n")
    done("new", "--domain-only", "--low", "0", "--high", "100", "-o", "open.json")
    done("new", "--domain-only", "--domain", "open.json", "--segment", "a", "-o", "domain.json")
    assert "bins not chosen" in done("show", "domain.json").out
    asked = ("--by", "s", "--domain", "domain.json")
    promise = ("--epsilon", "1", "--neighbors", "replace-one")
    done("release", "x.csv", "--column", "x", *asked, *promise, "-o", "release.json")
    published = lw.release(
        [1, 2],
        lw.Interval(0, 100),
        by=["a", "b"],
        segments=["a"],
        neighbors="replace-one",
        epsilon=1,
    )
    assert lw.Release.load(tmp_path / "release.json").domain == published.release.domain
    counted = done("count", "x.csv", "--column", "x", *asked, "-o", "x.lws", "--json").document
    assert counted["note"] == "The interval is cut into 50 bins of width 2."
