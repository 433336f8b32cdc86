"""A user's own file passes `mypy --strict` beside the installed package, and gets real types."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

pytest.importorskip("mypy", reason="mypy is not installed: pip install 'lapwing[test]'")

PACKAGE = Path(__file__).parent.parent / "src" / "lapwing"

# `assert_type` fails where a type is Any: then an editor would have nothing to complete either.
# What an array of quantiles holds follows from the unit of the domain, which is no type.
USERS_FILE = """
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import lapwing as lw

values = np.random.default_rng(1).normal(50_000, 10_000, 5000)
domain = lw.Interval(0, 131_072, bins=64)
survey = lw.Survey("income", lw.SquareWave(domain, epsilon=1))
assert_type(survey, lw.Survey)
assert_type(lw.local.SquareWave(domain, 1), lw.SquareWave)
tally = survey.tally(survey.randomize(values))
assert_type(tally, lw.Counts | lw.ReportLog)
result = survey.decode(tally, decoder=lw.ExpectationMaximization(smoothed=True))
assert isinstance(result, lw.Distribution)
assert_type(result.quantile([0.1, 0.5, 0.9]), NDArray[Any])
assert_type(result.confidence_band(0.95), lw.Band | None)
published = lw.release(values, domain, epsilon=1, delta=1e-6, neighbours="replace-one")
assert_type(published.distribution.quantile(0.5), NDArray[Any])
assert_type(published.guarantee, lw.Guarantee)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with this checkout's package, which mypy reads only if it says it is typed."""
    environment = tmp_path_factory.mktemp("environment")
    venv.create(environment, with_pip=False, symlinks=True)
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "lapwing").symlink_to(PACKAGE)
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    return environment


def _checked(file: Path, environment: Path) -> subprocess.CompletedProcess[str]:
    # No configuration of this repository, and no path to its source.
    clean = {
        key: value for key, value in os.environ.items() if key not in ("MYPYPATH", "PYTHONPATH")
    }
    return subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--config-file=", file.name),
            *("--python-executable", str(environment / "bin" / "python")),
            *("--cache-dir", str(environment / "cache")),
        ],
        cwd=file.parent,
        env=clean,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_users_file_passes_and_its_mistakes_do_not(installed: Path, tmp_path: Path) -> None:
    file = tmp_path / "users_file.py"
    file.write_text(USERS_FILE, "utf-8")
    done = _checked(file, installed)
    assert done.returncode == 0, done.stdout + done.stderr
    file.write_text(USERS_FILE + "survey.decod(tally)\nlw.SquareWav\n", "utf-8")
    found = _checked(file, installed).stdout
    assert 'has no attribute "decod"; maybe "decode"?' in found and '"SquareWav"' in found


def test_the_users_file_runs() -> None:
    exec(compile(USERS_FILE, "users_file.py", "exec"), {})
