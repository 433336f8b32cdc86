"""The program as most tests run it: in this process, in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lapwing import Survey
from lapwing.cli import main
from tests.cli.running import Program, Run, the_survey, write_ages


@pytest.fixture
def lapwing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Program:
    """Run a command in an empty folder; all that differs from a process is the missing one."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Run:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Run(code, captured.out, captured.err)

    return run


@pytest.fixture
def done(lapwing: Program) -> Program:
    """Run a command that must succeed, and say so if it does not."""

    def run(*arguments: object) -> Run:
        result = lapwing(*arguments)
        assert result.code == 0, result.err
        return result

    return run


@pytest.fixture
def survey(tmp_path: Path) -> Survey:
    """The survey, written as survey.json."""
    made = the_survey()
    (tmp_path / "survey.json").write_text(made.to_json())
    return made


@pytest.fixture
def ages(tmp_path: Path) -> np.ndarray:
    """The numbers, written as ages.csv and ages.parquet."""
    return write_ages(tmp_path)
