"""The Beam engine: its tests run in an environment of their own; without Beam it says so."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import pytest

import lapwing as lw
from lapwing.engines import beam
from lapwing.errors import MissingExtraError
from tests.engines.beam.beam_environment import ROOT, beam_python_or_skip, clean_environment

HERE = Path(__file__).parent
FILES = ["in_beam_pipelines.py"]


@pytest.mark.service
@pytest.mark.xdist_group("beam")
def test_in_an_environment_with_beam() -> None:
    python = beam_python_or_skip()
    # Warnings of Beam and of what it brings are not ours.
    options = ["-q", "--tb=short", "--no-header", "-p", "no:cacheprovider", "-W", "default"]
    done = subprocess.run(
        [
            python,
            "-m",
            "pytest",
            *options,
            "--disable-warnings",
            *(str(HERE / file) for file in FILES),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=900,  # of a machine that does much else
    )
    if done.returncode:
        pytest.fail(f"in Beam's environment:\n{done.stdout}\n{done.stderr[-4000:]}", pytrace=False)
    assert " passed" in done.stdout and "skipped" not in done.stdout, done.stdout


def test_every_file_of_such_tests_is_run() -> None:
    assert sorted(path.name for path in HERE.glob("in_beam_*.py")) == FILES


@pytest.mark.skipif(
    importlib.util.find_spec("apache_beam") is not None, reason="apache-beam is installed"
)
def test_without_beam_it_says_what_to_install() -> None:
    survey = lw.Survey("x", lw.SquareWave(lw.Interval(0, 1, bins=4), 1))
    for call in (
        lambda: beam.CountReports(survey),
        lambda: beam.CountValues(survey.randomizer.domain),
        lambda: beam.RandomizeValues(survey, column="v"),
    ):
        with pytest.raises(MissingExtraError, match=r"lapwing\[beam\]"):
            call()
