"""Wrong lines of newcomers: a sentence with the option typed, what must hold, and what to do."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import lapwing as lw
from lapwing.cli.program import main

NEW = "new -o x.json --name a --epsilon 1"
RANGE = f"{NEW} --low 0 --high 10"
RECOMMEND = "recommend --domain survey.json --epsilon 1"
DECODE = "decode survey.json tally.json"
RELEASE = "release people.csv --domain survey.json --column age -o r.json --neighbors replace-one"

WRONG = [
    (f"{NEW} --low 0 --high ten", "--high must be a number, got 'ten'. For dates"),
    (f"{NEW} --low 0", "--low is the start of an interval. Add --high"),
    (NEW, "a column needs one domain: an interval (--low and --high, or --edges), or"),
    (f"{NEW} --low 10 --high 0", "--low must be less than --high, got 10 and 0. Exchange them"),
    (f"{RANGE} --bins 0", "--bins must be a whole number from 1 to "),
    (f"{RANGE} --scale cubic", "--scale must be one of linear, log, circular, got 'cubic'"),
    (f"{RANGE} --categories a,b", "--categories is one domain, of labels. Leave out --low and --"),
    (f"{RANGE} --atom 50", "--atom must lie between --low and --high. Leave out"),
    (f"{NEW} --edges 0,5,9 --bins 3", "--edges says where each bin ends. Leave out --bins"),
    (f"{NEW} --categories a,b --other c", "--other must be one of the labels. Add"),
    (f"{NEW} --categories hash:99", "BITS of --categories hash:BITS must be a whole number from 1"),
    (f"{RANGE} --set width=0.2", "--set belongs to a randomizer. Add --randomizer"),
    (f"{RANGE} --segment a --segment a", "--segment must be named once"),
    (f"{RANGE} --segment-minimum 5", "--segment-minimum is the smallest size of a segment. Add --"),
    ("new -o x.json --after survey.json result.json --epsilon 2", "--after takes only --name and"),
    ("new -o x.json --domain-only --low 0 --high 1 --name a", "--domain-only takes only the"),
    (RECOMMEND, "give --users (how many people will report), or use --error or --change to"),
    (f"{RECOMMEND} --users 5 --error 0.1", "--error asks how many people are needed. Leave out --"),
    (f"{RECOMMEND} --users 5 --report-bytes 5", "--report-bytes and --server-seconds are for lab"),
    ("verify survey.json --budget nine", "--budget must be greater than 0 and at most 24, got 'n"),
    ("verify survey.json --rounds 3", "--rounds needs the limit of one person. Add --budget"),
    ("tally survey.json r.lwr -o t.json --segment-minimum 5", "--segment-minimum is the smallest"),
    (f"{DECODE} --decoder expectation-maximization --set strength=3", "--set strength is a "
    "setting of "
     "the smoothing. Also pass --set smoothed=True"),
    ("series survey.json tally.json --watch w.json --so-far", "--watch takes one week at a time"),
    ("answer result.json --from 5 --before 1", "--from must not be greater than --before, got 5"),
    ("answer result.json --start 3 --share 0.5", "--start sets where quantiles are counted from"),
    ("compare result.json result.json --truth people.csv", "--truth compares one result with the"),
    (f"{RELEASE} --epsilon 1 --mu 1", "--epsilon already states the privacy loss. Leave out --mu"),
    (f"{RELEASE} --mu 1 --delta 1e-6", "--delta belongs to --epsilon. With --mu or --rho, leave"),
    (f"{RELEASE} --epsilon 1 --unit who", "--unit and --most belong together"),
    (f"{RELEASE} --epsilon 1 --unit age --most 2", "--unit must differ from --column and --by"),
    (f"{RELEASE} --epsilon 1 --mechanism sum-tree --set branching=two", "--set branching must be"),
    ("bounds people.csv --epsilon 1 --neighbors replace-one --confidence 2", "--confidence must"),
    ("ledger l.json --epsilon 1", "a new ledger needs --epsilon and --neighbors (and --delta)"),
]  # fmt: skip


def test_each_is_answered_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    survey = lw.Survey("age", lw.SquareWave(lw.Interval(0, 10, bins=20), epsilon=2))
    survey.save("survey.json")
    tally = lw.simulate(survey.randomizer, [50] * 20, rng=1)
    Path("tally.json").write_text(tally.to_json())
    survey.decode(tally).save("result.json")
    Path("people.csv").write_text("age,who\n0.5,a\n0.25,b\n")
    files = sorted(Path().iterdir())
    for line, says in WRONG:
        code = main(shlex.split(line))
        (said,) = capsys.readouterr().err.splitlines()
        assert said.startswith(f"lapwing: {says}"), f"{line}\n{said}"
        assert code in (2, 3, 5), line
        assert not re.search(r"[a-z]_[a-z]", said), line
        assert sorted(Path().iterdir()) == files, line
