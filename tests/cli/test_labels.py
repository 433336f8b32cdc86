"""Labels on the command line: the decoders of sparse data, what is recommended, and shuffling."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.running import Program


@pytest.fixture
def collected(tmp_path: Path, done: Program) -> tuple[str, str]:
    """A survey of 60 labels and a tally of 50,000 people; three labels hold nearly all."""
    done(
        *("new", "--name", "pages", "--categories", 60, "--epsilon", 2, "-o", "s.json"),
        *("--randomizer", "optimized-unary-encoding"),
    )
    held = {7: 25_000, 11: 15_000, 40: 9_000, 3: 1_000}
    rows = "".join(f"{label},{people}\n" for label, people in held.items())
    (tmp_path / "c.csv").write_text("page,count\n" + rows)
    done("simulate", "s.json", "c.csv", "--count-column", "count", "--seed", 1, "-o", "t.json")
    return "s.json", "t.json"


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("mixture-prior", []),
        ("mixture-prior", ["estimate=median"]),
        ("threshold", ["control=false-discovery", "alpha=0.1"]),
        ("normalization", ["method=norm-cut"]),
    ],
)
def test_every_decoder_of_labels(
    done: Program, collected: tuple[str, str], name: str, settings: list[str]
) -> None:
    given = [part for one in settings for part in ("--set", one)]
    done("decode", *collected, "--decoder", name, *given, "-o", "result.json")
    result = json.loads(Path("result.json").read_text())
    assert result["provenance"]["class"] == name
    assert result["mass"][7] == pytest.approx(0.5, abs=0.03)
    assert result["mass"][11] == pytest.approx(0.3, abs=0.03)


def test_the_default_decoder_of_labels(done: Program, collected: tuple[str, str]) -> None:
    done("decode", *collected, "-o", "result.json")
    assert json.loads(Path("result.json").read_text())["provenance"]["class"] == "mixture-prior"


def test_heavy_hitters_of_counts(
    done: Program, lapwing: Program, collected: tuple[str, str]
) -> None:
    asked = ("decode", *collected, "--decoder", "heavy-hitter-selection")
    found = done(*asked, "--set", "top=3", "-o", "found.json", "--json").document
    assert [row["label"] for row in found["shares"]] == [7, 11, 40]
    assert found["expected_false"] == 0.05 and found["searched"] == 60
    assert json.loads(Path("found.json").read_text())["format"] == "lapwing-heavy-hitters"
    refused = lapwing(*asked, "--set", "signed=true")
    assert refused.code == 2
    assert "parameter 'signed'" in refused.complaint


def test_verify_shows_what_a_shuffler_adds(
    done: Program, lapwing: Program, collected: tuple[str, str]
) -> None:
    survey = collected[0]
    given = ("--shuffle-users", 10_000, "--delta", "1e-6")
    shuffled = done("verify", survey, *given, "--json").document["shuffled"]
    assert shuffled["users"] == 10_000
    assert shuffled["guarantee"]["model"] == "shuffle"
    assert shuffled["guarantee"]["delta"] == "1/1000000"
    assert "shuffle model" in done("verify", survey, *given).out
    assert "shuffled" not in done("verify", survey, "--json").document
    for alone in (("--delta", "1e-6"), ("--shuffle-users", 100)):
        refused = lapwing("verify", survey, *alone)
        assert refused.code == 2
        assert re.search(r"\. Add --(delta|shuffle-users)$", refused.complaint)
    refused = lapwing("verify", survey, "--shuffle-users", 100, "--delta", 2)
    assert refused.code == 5 and refused.complaint.startswith("--delta must be a number in [0, 1)")


def test_recommendations_of_labels_within_limits(done: Program) -> None:
    asked = ("recommend", "--categories", 60_000, "--epsilon", 1, "--users", 100_000, "--json")
    free = done(*asked).document
    assert free["randomizer"]["class"] == "linear-hashing" and free["report_bytes"] == 3
    assert done(*asked, "--report-bytes", 2).document["report_bytes"] == 2
    huge = done(
        *("recommend", "--categories", 2**32, "--epsilon", 2, "--users", 1_000_000, "--json")
    ).document
    assert set(huge["expected_error"]) == {"detectable_share"}
    assert huge["decoder"]["class"] == "exhaustive-scan"
    shown = done("recommend", "--categories", 50, "--epsilon", 2, "--users", 5000).out
    assert "detectable-share" in shown and "zipf" in shown
