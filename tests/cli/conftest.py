"""The program as most tests run it: in this process, in a folder of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from lapwing import Survey, plugins
from lapwing.cli import command_list, main
from tests.cli.running import (
    Program,
    Run,
    built_once,
    domain_apart,
    installed_once,
    the_survey,
    write_ages,
)


@pytest.fixture
def lapwing(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Program:
    """Run a command in an empty folder; all that differs from a process is the missing one.

    Options of a domain that are typed for a command which takes a file are written to one first.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command_list, "_built", built_once)
    monkeypatch.setattr(plugins, "entry_points", lambda: installed_once(tuple(sys.path)))
    file = tmp_path_factory.mktemp("domain") / "domain.json"

    def alone(words: list[str]) -> Run:
        capsys.readouterr()
        code = main(words)
        captured = capsys.readouterr()
        return Run(code, captured.out, captured.err)

    def run(*arguments: object) -> Run:
        words = [str(argument) for argument in arguments]
        if words[:1] in (["recommend"], ["release"], ["count"]):
            domain, words = domain_apart(words)
            if domain:
                more = [word for word in ("--json", "-q") if word in words]
                made = alone(["new", "--domain-only", *domain, "-o", str(file), "--force", *more])
                if made.code:
                    return made
                words += ["--domain", str(file)]
        return alone(words)

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
