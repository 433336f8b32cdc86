"""A number that no option takes: the message names the option as it was typed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import lapwing as lw
from lapwing.cli.command_list import COMMANDS, PARTS, command_of
from lapwing.cli.command_list import _built as built
from tests.cli.running import Program

NEW = ("new", "-o", "out.json", "--name", "age", "--force")
NUMBERS = (*NEW, "--epsilon", "1", "--low", "0", "--high", "1")
LIKE = ("recommend", "--domain", "survey.json", "--epsilon", "1")
RELEASE = ("release", "people.csv", "--domain", "survey.json", "-o", "out.json", "--force")
RELEASE = (*RELEASE, "--neighbors", "replace-one")
BOUNDS = ("bounds", "people.csv", "--neighbors", "replace-one")
VERIFY = ("verify", "survey.json")
TALLY = ("tally", "survey.json", "reports.csv", "-o", "out.json", "--by", "region", "--force")
SAMPLE = ("sample", "result.json", "-o", "out.csv", "--force")
LEDGER = ("ledger", "new-ledger.json", "--neighbors", "replace-one")

WRONG: dict[str, dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "recommend": {
        "--epsilon": (("recommend", "--domain", "survey.json", "--users", "9"), ("0", "25", "x")),
        "--users": (LIKE, ("0", "x")),
        "--error": (LIKE, ("0", "2")),
        "--change": (LIKE, ("0", "2")),
        "--weeks": ((*LIKE, "--change", "0.1"), ("0", "9999")),
        "--report-bytes": (
            ("recommend", "--domain", "labels.json", "--epsilon", "1", "--users", "9"),
            ("0",),
        ),
        "--server-seconds": (
            ("recommend", "--domain", "labels.json", "--epsilon", "1", "--users", "9"),
            ("-1",),
        ),
    },
    "new": {
        "--epsilon": ((*NEW, "--low", "0", "--high", "1"), ("0", "30", "x", "nan", "1e-13")),
        "--users": (NUMBERS, ("0",)),
        "--segment-minimum": ((*NUMBERS, "--segment", "a"), ("0",)),
        "--bins": (NUMBERS, ("0", "-1", "99999999")),
        "--low": ((*NEW, "--epsilon", "1", "--high", "1"), ("2", "x", "inf")),
        "--high": ((*NEW, "--epsilon", "1", "--low", "1"), ("x",)),
        "--atom": (NUMBERS, ("5", "x")),
        "--edges": ((*NEW, "--epsilon", "1"), ("0,5,3", "0,x")),
        "--integers": ((*NEW, "--epsilon", "1"), ("5 1", "1 x")),
        "--categories": ((*NEW, "--epsilon", "1"), ("0", "hash:99", "a,a")),
        "--set": ((*NUMBERS, "--randomizer", "square-wave", "--bins", "9"), ("width=9", "grid=0")),
    },
    "verify": {
        "--shuffle-users": ((*VERIFY, "--delta", "1e-6"), ("0",)),
        "--delta": ((*VERIFY, "--shuffle-users", "1000"), ("2", "x")),
        "--rounds": ((*VERIFY, "--budget", "4"), ("0",)),
        "--budget": (VERIFY, ("0", "30", "x")),
    },
    "simulate": {
        "--seed": (("simulate", "survey.json", "people.csv", "-o", "out.json"), ("-1", "x"))
    },
    "randomize": {
        "--threads": (("randomize", "survey.json", "people.csv", "-o", "out.lwr"), ("0", "999"))
    },
    "tally": {"--threads": (TALLY, ("0",)), "--segment-minimum": (TALLY, ("0",))},
    "decode": {"--level": (("decode", "survey.json", "tally.json"), ("0", "1"))},
    "series": {
        "--level": (("series", "survey.json", "tally.json"), ("0", "1")),
        "--alpha": (("series", "survey.json", "tally.json", "--watch", "w.json"), ("0", "2")),
    },
    "answer": {
        "--level": (("answer", "result.json", "--quantile", "0.5"), ("0", "1")),
        "--quantile": (("answer", "result.json"), ("2", "x")),
        "--at-most": (("answer", "result.json"), ("x",)),
        "--between": (("answer", "result.json"), ("5 1", "1 x")),
        "--share": (("answer", "result.json"), ("x",)),
    },
    "compare": {"--level": (("compare", "result.json", "result.json"), ("0", "1"))},
    "plot": {"--level": (("plot", "result.json", "-o", "out.png"), ("0", "1"))},
    "show": {"--level": (("show", "result.json"), ("0", "1"))},
    "release": {
        "--epsilon": (RELEASE, ("0", "25", "x")),
        "--delta": ((*RELEASE, "--epsilon", "1"), ("1", "x")),
        "--mu": (RELEASE, ("0", "x")),
        "--rho": (RELEASE, ("-1", "25")),
        "--noise-scale": (
            ("release", "--counts", "counts.csv", "--noise", "laplace", "-o", "out.json"),
            ("0", "x"),
        ),
        "--dry-run": ((*RELEASE, "--epsilon", "1"), ("0",)),
        "--most": ((*RELEASE, "--epsilon", "1", "--unit", "who"), ("0", "x")),
        "--set": ((*RELEASE, "--epsilon", "1", "--mechanism", "sum-tree"), ("branching=1",)),
    },
    "bounds": {
        "--epsilon": (BOUNDS, ("0", "x")),
        "--delta": ((*BOUNDS, "--epsilon", "1"), ("1",)),
        "--confidence": ((*BOUNDS, "--epsilon", "1"), ("0", "2")),
    },
    "count": {
        "--threads": (
            ("count", "people.csv", "--domain", "survey.json", "-o", "out.lws", "--force"),
            ("0",),
        )
    },
    "sample": {"--size": (SAMPLE, ("0", "x")), "--seed": ((*SAMPLE, "--size", "1"), ("-1",))},
    "ledger": {
        "--epsilon": (LEDGER, ("0", "25")),
        "--delta": ((*LEDGER, "--epsilon", "1"), ("1",)),
    },
    "serve": {"--port": (("serve",), ("99999", "x"))},
}
"""The options of each command that take numbers: the rest of a call, and wrong values."""

OF_NUMBERS = {"NUMBER", "N", "SHARE", "P", "LEVEL", "SECONDS", "EPSILON", "S"}
"""What stands for a number in the help."""


@pytest.fixture
def files(tmp_path: Path) -> None:
    made = lw.Survey("age", lw.SquareWave(lw.Interval(0, 1, bins=20), epsilon=2))
    made.save(tmp_path / "survey.json")
    lw.Survey("c", lw.RandomizedResponse(lw.Categories(["a", "b"]), epsilon=2)).save(
        tmp_path / "labels.json"
    )
    tally = lw.simulate(made.randomizer, [50] * 20, rng=1)
    (tmp_path / "tally.json").write_text(tally.to_json())
    made.decode(tally).save(tmp_path / "result.json")
    (tmp_path / "people.csv").write_text("age\n0.5\n0.25\n")
    (tmp_path / "counts.csv").write_text("age,count\na,3.5\nb,2.5\n")
    reports = made.randomize([0.5, 0.25], rng=lw.seeded(1)).data
    words = f"survey={made.fingerprint} randomizer={made.randomizer.fingerprint}"
    lines = [f"{one.tobytes().hex()},north" for one in reports]
    text = [f"# lapwing-reports 1 {words}", "report,region", *lines]
    (tmp_path / "reports.csv").write_text("\n".join(text) + "\n")


@pytest.mark.parametrize("command", WRONG)
def test_the_option_is_named(lapwing: Program, files: None, command: str) -> None:
    for option, (call, values) in WRONG[command].items():
        for value in values:
            done = lapwing(*call, option, *value.split())
            said = f"{command} {option} {value}: {done.complaint}"
            assert done.code in (2, 3, 5), said
            named = option
            if option == "--set":
                named += f" {value.partition('=')[0]}"
            assert re.search(rf"{named}\b", done.complaint), said
            # No argument of the library under its own name before what must hold.
            assert not re.match(r"(the )?[a-z_]+ must", done.complaint), said
            assert not re.search(r"[a-z]_[a-z]", done.complaint), said


def options_of_numbers(command: str) -> set[str]:
    own: Any = built(command, command_of(command)).params
    return {
        next(flag for flag in one.opts if flag.startswith("--"))
        for one in own
        if one.param_type_name == "option" and one.metavar in OF_NUMBERS
    }


def test_no_option_is_left_out() -> None:
    for command in COMMANDS:
        if command not in PARTS:
            left = options_of_numbers(command) - set(WRONG.get(command, ()))
            assert not left, f"lapwing {command}: {left}"


def test_what_was_not_typed_is_not_named(lapwing: Program, files: None) -> None:
    """A sentence about a file keeps its words, though an option has the name of one."""
    document = json.loads(Path("survey.json").read_text())
    document["randomizer"]["epsilon"] = "99"
    Path("survey.json").write_text(json.dumps(document))
    done = lapwing("verify", "survey.json", "--budget", "4")
    assert done.code == 4 and "--budget" not in done.complaint
