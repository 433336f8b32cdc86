"""Everything that is refused: its exit code, one sentence, and nothing written or overwritten."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lapwing import Interval, Reports, SquareWave, Survey, Tally
from lapwing.cli import main
from lapwing.errors import INSTALL
from lapwing.protocol.messages.reports import Header, write_blocks
from tests.cli.running import Program, environment, listing, the_survey, write_ages

SECRET = "31337.5"
"""The value that no message may hold."""


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with good and bad inputs of every kind, and old outputs of every name."""
    folder = tmp_path_factory.mktemp("inputs")

    def done(*arguments: str) -> None:
        named = [str(folder / word) if "." in word else word for word in arguments]
        assert main([*named, "--quiet"]) == 0

    survey = the_survey()
    (folder / "survey.json").write_text(survey.to_json())
    write_ages(folder)
    done("randomize", "survey.json", "ages.csv", "-o", "reports.lwr")
    done("randomize", "survey.json", "ages.csv", "-o", "reports.csv")
    done("tally", "survey.json", "reports.lwr", "-o", "tally.json")
    done("decode", "survey.json", "tally.json", "-o", "result.json")
    other = Survey("weight", survey.randomizer)
    (folder / "other.json").write_text(other.to_json())
    strict = Survey("s", SquareWave(Interval(0, 100, bins=20, outside="refuse"), epsilon=2))
    (folder / "strict.json").write_text(strict.to_json())
    done("randomize", "other.json", "ages.csv", "-o", "other.lwr")
    done("tally", "other.json", "other.lwr", "-o", "other-tally.json")

    changed = json.loads((folder / "survey.json").read_text())
    changed["randomizer"]["epsilon"] = "1"
    (folder / "weaker.json").write_text(json.dumps(changed))
    (folder / "not.json").write_text('{"format": ')
    (folder / "empty.json").write_text("")
    (folder / "empty.lwr").write_text("")
    (folder / "text.csv").write_text(f"age\n30\n{SECRET} years\n")
    (folder / "outside.csv").write_text(f"age\n30\n{SECRET}\n")
    (folder / "missing.csv").write_text("age\n30\nNA\n")
    (folder / "nothing.csv").write_text("age\n")
    (folder / "ragged.csv").write_text(f"age\n30\n40,{SECRET}\n")
    (folder / "bare.csv").write_text(f"{SECRET}\n30\n")
    (folder / "dates.csv").write_text("age\n2019-01-01\n")
    (folder / "empty.csv").write_text("")

    whole = (folder / "reports.lwr").read_bytes()
    (folder / "torn.lwr").write_bytes(whole[:-1])
    (folder / "flipped.lwr").write_bytes(whole[:500] + bytes([whole[500] ^ 1]) + whole[501:])
    (folder / "none.lwr").write_bytes(whole[:84])
    (folder / "short.csv").write_bytes((folder / "reports.csv").read_bytes()[:-2])
    impossible = np.full((3, 1), 255, dtype=np.uint8)
    with (folder / "impossible.lwr").open("wb") as stream:
        header = Header(1, survey.fingerprint, survey.randomizer.fingerprint)
        write_blocks(stream, header, [Reports(impossible, survey.randomizer.fingerprint)])
    (folder / "folder").mkdir()
    for name in ("out.json", "out.lwr", "out.png"):
        (folder / name).write_bytes(b"what was there before")
    return folder


@pytest.fixture
def folder(made_once: Path, tmp_path: Path) -> Path:
    """A copy of it, to be looked at afterwards."""
    shutil.copytree(made_once, tmp_path, dirs_exist_ok=True)
    os.link(tmp_path / "reports.lwr", tmp_path / "link.lwr")
    return tmp_path


INTERVAL = ("--low", "0", "--high", "1", "--bins", "8")
NEW = ("new", "-o", "out.json", "--name", "n", "--randomizer", "square-wave")
RANDOMIZE = ("randomize", "survey.json")
TALLY = ("tally", "survey.json")
DECODE = ("decode", "survey.json", "tally.json", "-o", "out.json")

REFUSED: list[tuple[int, str, tuple[str, ...]]] = [
    # Usage.
    (2, "no such command: taly (did you mean tally?)", ("taly",)),
    (2, "--salvag (did you mean --salvage?)", (*TALLY, "reports.lwr", "--salvag")),
    (2, "-o", (*TALLY, "reports.lwr")),
    (2, "--seed", (*RANDOMIZE, "ages.csv", "-o", "out.lwr", "--seed", "1")),
    (2, "one of recommended, ", ("new", "-o", "out.json", "--name", "n", "--randomizer", "em",
                                "--epsilon", "1", *INTERVAL)),
    (2, "--bins must be given for this", (*NEW, "--epsilon", "1", *INTERVAL[:4])),
    (2, "one domain", (*NEW, "--epsilon", "1")),
    (2, "one domain", (*NEW, "--epsilon", "1", *INTERVAL, "--integers", "0", "9")),
    (2, "--low must be a number", (*NEW, "--epsilon", "1", "--low", "x", *INTERVAL[2:])),
    (2, "no parameter 'foo'", (*NEW, "--epsilon", "1", *INTERVAL, "--set", "foo=1")),
    (2, "must be JSON", (*NEW, "--epsilon", "1", *INTERVAL, "--set", "width=[0.5,")),
    (2, "must be a number", (*NEW, "--epsilon", "1", *INTERVAL, "--set", "width=[1]")),
    (2, "NAME=VALUE", (*NEW, "--epsilon", "1", *INTERVAL, "--set", "width")),
    (2, "only once", (*NEW, "--epsilon", "1", *INTERVAL, "--set", "grid=8", "--set", "grid=16")),
    (2, "has no parameter 'width'. It has: none", (*NEW[:-1], "unary-encoding", "--epsilon", "1",
                                              *INTERVAL, "--set", "width=.1")),
    (2, "grid must be a multiple", (*NEW, "--epsilon", "1", *INTERVAL, "--set", "grid=9")),
    (2, "1 to 200", (*NEW[:4], "", *NEW[5:], "--epsilon", "1", *INTERVAL)),
    (2, "one is empty", (*NEW[:-1], "unary-encoding", "--epsilon", "1", "--categories", "a,,b")),
    (2, "Leave out --categories", (*NEW[:-1], "unary-encoding", "--epsilon", "1", "--categories",
                               "a,b", "--outside", "refuse")),
    (2, "must end in .lwr, .parquet, .arrow, .feather or .csv",
     (*RANDOMIZE, "ages.csv", "-o", "out.txt")),
    (2, "a table must end in", (*RANDOMIZE, "survey.json", "-o", "out.lwr")),
    (2, "must name one of the columns", (*RANDOMIZE, "ages.parquet", "-o", "out.lwr")),
    (2, "It has: age, row", (*RANDOMIZE, "ages.parquet", "-c", "agee", "-o", "out.lwr")),
    (2, "named twice", (*TALLY, "reports.lwr", "./reports.lwr", "-o", "out.json")),
    (2, "named twice", ("merge", "tally.json", "tally.json", "-o", "out.json")),
    (2, "must be a file", (*TALLY, "reports.lwr", "-o", "-")),
    (2, "is a folder", (*TALLY, "reports.lwr", "-o", "folder")),
    (2, "a device or a pipe", (*TALLY, "reports.lwr", "-o", "/dev/null")),
    (2, "one of the inputs", (*TALLY, "reports.lwr", "-o", "survey.json")),
    (2, "one of the inputs", (*RANDOMIZE, "reports.csv", "-c", "x", "-o", "./reports.csv")),
    (2, "one of the inputs", (*TALLY, "reports.lwr", "-o", "link.lwr")),
    (2, "one of the inputs", ("plot", "out.png", "--truth", "ages.csv", "-o", "./out.png")),
    (2, "decoder must be one of", (*DECODE, "--decoder", "magic")),
    (2, "Add --decoder", (*DECODE, "--set", "smoothed=true")),
    (2, "parameter 'smoothed'", (*DECODE, "--decoder", "least-squares", "--set", "smoothed=true")),
    (2, "parameter 'signed'", (*DECODE, "--decoder", "spectral-prior", "--set", "signed=true")),
    (2, "signed=True is for method", (*DECODE, "--decoder", "tree-consistency",
                                      "--set", "signed=true", "--set", "method=admm")),
    (2, "a number greater than 0 and less than 1", (*DECODE, "--level", "95")),
    (2, "limit must be", (*DECODE, "--decoder", "expectation-maximization", "--set", "limit=0")),
    (2, "must end in .png, .svg or .pdf", ("plot", "result.json", "-o", "out.gif")),
    (2, "is for a table", ("plot", "result.json", "-o", "out.png", "-c", "age",
                           "--truth", "result.json")),
    (2, "Add --truth FILE", ("plot", "result.json", "-o", "out.png", "-c", "age")),
    (2, "or --truth", ("compare", "result.json")),
    (2, "Leave out SECOND", ("compare", "result.json", "result.json", "--truth", "ages.csv")),
    (2, "missing argument 'VALUES'", ("simulate", "survey.json", "-o", "out.json")),
    (2, "at least 0", ("simulate", "survey.json", "ages.csv", "--seed", "-1", "-o", "out.json")),
    # Data.
    (3, "labels of --categories must all", (*NEW[:-1], "unary-encoding", "--epsilon", "1",
                                         "--categories", "a,a")),
    (3, "--low must be less than --high", (*NEW, "--epsilon", "1", "--low", "2", *INTERVAL[2:])),
    (3, "bins must be", (*NEW, "--epsilon", "1", *INTERVAL[:4], "--bins", "99999999999")),
    (3, "Labels have no order", (*NEW, "--epsilon", "1", "--categories", "a,b")),
    (3, "must be a date such as", (*NEW, "--epsilon", "1", *INTERVAL, "--unit", "date")),
    (3, "unit must be one of", (*NEW, "--epsilon", "1", *INTERVAL, "--unit", "days")),
    (3, "the string at row 2 is not", (*RANDOMIZE, "text.csv", "-o", "out.lwr")),
    (3, "the one at row 2 does not", ("randomize", "strict.json", "outside.csv", "-o",
                                        "out.lwr")),
    (3, "the one at row 2 is missing", (*RANDOMIZE, "missing.csv", "-o", "out.lwr")),
    (3, "at row 1 is not", (*RANDOMIZE, "dates.csv", "-o", "out.lwr")),
    (3, "must contain at least one row", (*RANDOMIZE, "nothing.csv", "-o", "out.lwr")),
    (3, "the string at row 2 is not", ("simulate", "survey.json", "text.csv", "-o", "out.json")),
    (3, "the string at row 2 is not", ("compare", "result.json", "--truth", "text.csv")),
    (3, "there is none in none.lwr", (*TALLY, "none.lwr", "-o", "out.json")),
    (3, "at row 1 is not. Nothing was counted", (*TALLY, "impossible.lwr", "-o", "out.json")),
    (3, "at row 1 is not. Nothing was counted", (*TALLY, "reports.lwr", "impossible.lwr", "-o",
                                                 "out.json")),
    (3, "the one at row 3000 is not", (*TALLY, "short.csv", "-o", "out.json")),
    # Files.
    (4, "does not match its epsilon", ("verify", "weaker.json")),
    (4, "does not match its epsilon", ("randomize", "weaker.json", "ages.csv", "-o", "out.lwr")),
    (4, "not.json must be a JSON document", ("verify", "not.json")),
    (4, "empty.json is empty", ("verify", "empty.json")),
    (4, "must be a survey, but it is a tally", ("verify", "tally.json")),
    (4, "must be a distribution, but it is a survey", ("plot", "survey.json", "-o", "out.png")),
    (4, "it is a distribution", ("merge", "tally.json", "result.json", "-o", "out.json")),
    (4, "as many fields in every line", (*RANDOMIZE, "ragged.csv", "-o", "out.lwr")),
    (4, "Add a header line", (*RANDOMIZE, "bare.csv", "-o", "out.lwr")),
    (4, "empty.csv is empty", (*RANDOMIZE, "empty.csv", "-o", "out.lwr")),
    (4, "block 3 of torn.lwr is incomplete, so reports from number 2049 on are lost",
     (*TALLY, "torn.lwr", "-o", "out.json")),
    (4, "--salvage counts those", (*TALLY, "reports.lwr", "torn.lwr", "-o", "out.json")),
    (4, "block 1 of flipped.lwr is damaged, and the reports 1 to 1024 are",
     (*TALLY, "flipped.lwr", "-o", "out.json")),
    (4, "empty.lwr is empty", (*TALLY, "empty.lwr", "-o", "out.json")),
    (4, "must be a report file", (*TALLY, "survey.json", "-o", "out.json")),
    (4, "Use the survey file", (*TALLY, "other.lwr", "-o", "out.json")),
    (4, "other-tally.json cannot be merged with tally.json", ("merge", "tally.json",
                                                         "other-tally.json", "-o", "out.json")),
    (4, "Use the survey file", ("decode", "other.json", "tally.json", "-o", "out.json")),
    # Privacy.
    *((5, "--epsilon must be ", (*NEW, "--epsilon", epsilon, *INTERVAL))
      for epsilon in ("0", "-1", "nan", "inf", "24.1", "one", "1e-13", "", "True")),
    # The system.
    (7, "no file or folder absent.json", ("verify", "absent.json")),
    (7, "no file or folder absent.csv", (*RANDOMIZE, "absent.csv", "-o", "out.lwr")),
    (2, "must contain tables, but it has none", (*TALLY, "folder", "-o", "out.json")),
    (7, "folder: Is a directory", ("verify", "folder")),
    (7, "there is no file or folder", (*TALLY, "reports.lwr", "-o", "absent/out.json")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "says", "arguments"), REFUSED, ids=[" ".join(row[2])[:60] for row in REFUSED]
)
def test_it_is_refused_in_one_sentence_and_changes_nothing(
    lapwing: Program, folder: Path, code: int, says: str, arguments: tuple[str, ...]
) -> None:
    before = listing(folder)
    if "-o" in arguments:  # else the old output would be the reason
        arguments = (*arguments, "--force")
    run = lapwing(*arguments)
    assert (run.code, run.out) == (code, "")
    assert says in run.complaint
    assert SECRET not in run.complaint
    assert listing(folder) == before

    as_json = lapwing(*arguments, "--json")
    assert as_json.err == ""
    error = as_json.document["error"]
    assert error["exit_code"] == as_json.code == code
    assert says in error["message"] and SECRET not in as_json.out
    assert listing(folder) == before


def test_the_table_has_every_exit_code_of_an_error() -> None:
    assert {code for code, _, _ in REFUSED} == {2, 3, 4, 5, 7}  # 1 and 6: below


def test_salvage_counts_what_is_intact_and_says_so(
    done: Program, survey: Survey, tmp_path: Path
) -> None:
    reports = survey.randomize(np.arange(90) % 100)
    header = Header(1, survey.fingerprint, survey.randomizer.fingerprint)
    with (tmp_path / "r.lwr").open("wb") as stream:
        write_blocks(stream, header, [reports[:30], reports[30:60], reports[60:]])
    (tmp_path / "r.lwr").write_bytes((tmp_path / "r.lwr").read_bytes()[:-1])
    run = done("tally", "survey.json", "r.lwr", "--salvage", "-o", "tally.json")
    assert (
        "warning: block 3 of r.lwr is incomplete, so reports from number 61 on are lost. The 60 "
        "reports" in run.err
    )
    expected = survey.tally(reports[:60])
    assert Tally.load(tmp_path / "tally.json") == expected
    document = done("tally", "survey.json", "r.lwr", "--salvage", "-o", "t.json", "--json").document
    assert document["files"] == [{"file": "r.lwr", "reports": 60, "torn": True}]
    assert len(document["warnings"]) == 1


def test_a_full_disk_is_one_sentence(folder: Path) -> None:
    """The kernel refuses to let a file grow past 1 KiB, in the middle of the work."""
    before = listing(folder)
    ran = subprocess.run(
        [sys.executable, "-m", "lapwing", *RANDOMIZE, "ages.csv", "--force", "-o", "out.lwr"],
        cwd=folder,
        # Python 3.11 would leave bytecode that is cut off, and every later start would fail.
        env={**environment(), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)),
    )
    assert (ran.returncode, ran.stdout) == (7, "")
    assert ran.stderr == "lapwing: out.lwr: File too large\n"
    assert listing(folder) == before


def test_a_folder_that_takes_no_files_is_one_sentence(lapwing: Program, folder: Path) -> None:
    if os.geteuid() == 0:  # root may write anywhere but where there is nothing to write to
        target = Path("/proc/out.json")
    else:
        (folder / "folder").chmod(0o555)
        target = folder / "folder" / "out.json"
    run = lapwing(*TALLY, "reports.lwr", "-o", target)
    assert run.code == 7
    assert str(target.parent) in run.complaint


@pytest.mark.parametrize(
    ("package", "extra", "arguments"),
    [
        ("pyarrow", "data", (*RANDOMIZE, "ages.csv", "-o", "out.lwr")),
        ("pyarrow", "data", (*RANDOMIZE, "ages.parquet", "-c", "age", "-o", "out.parquet")),
        ("matplotlib", "plot", ("plot", "result.json", "-o", "out.png")),
    ],
)
def test_a_missing_extra_is_named_with_its_install_line(
    folder: Path, package: str, extra: str, arguments: tuple[str, ...]
) -> None:
    before = listing(folder)
    without = (
        f"import sys; sys.modules['{package}'] = None\n"
        "from lapwing.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", without, *arguments, "--force"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.returncode, ran.stdout) == (6, "")
    assert INSTALL.format(extra) in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    assert listing(folder) == before


def test_a_compact_file_needs_no_extra(folder: Path) -> None:
    without = (
        "import sys; sys.modules['pyarrow'] = sys.modules['matplotlib'] = None\n"
        "from lapwing.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    for arguments in ((*TALLY, "reports.csv", "-o", "out.json"), DECODE):
        ran = subprocess.run(
            [sys.executable, "-c", without, *arguments, "--force"],
            cwd=folder,
            env=environment(),
            capture_output=True,
            timeout=60,
        )
        assert ran.returncode == 0


def test_a_defect_is_told_apart_and_quotes_no_value(
    lapwing: Program, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise RuntimeError(f"could not convert {SECRET}")

    monkeypatch.setattr("lapwing.cli.commands.tally_command.read_survey", broken)
    before = listing(folder)
    run = lapwing(*TALLY, "reports.lwr", "--force", "-o", "out.json")
    assert run.code == 1
    assert "unexpected RuntimeError in test_bad_input.py" in run.complaint
    assert SECRET not in run.complaint
    assert listing(folder) == before


def test_no_memory_is_no_defect(lapwing: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def huge(*arguments: object, **options: object) -> None:
        raise MemoryError

    monkeypatch.setattr("lapwing.cli.commands.tally_command.read_survey", huge)
    run = lapwing("tally", "s", "r", "-o", "t")
    assert (run.code, run.complaint.partition(".")[0]) == (7, "there is not enough memory for this")
