"""`import lapwing` loads nothing heavy: what a device pays before it reports one value."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache

import pytest

HEAVY = (
    *("numba", "llvmlite", "matplotlib", "pyarrow", "pandas", "typer", "click", "rich", "rfc8785"),
    *("dp_accounting", "opendp", "certifi", "httpcore", "httpx", "scipy.optimize", "scipy.stats"),
    *("scipy.special", "scipy.fft", "scipy.integrate", "scipy.interpolate", "scipy.signal"),
)


pytestmark = pytest.mark.xdist_group("import")  # what is loaded is listed once


@cache
def modules_after(code: str) -> set[str]:
    """Return the modules that a fresh interpreter holds after some code."""
    listing = "; import sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code + listing],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """Return what all public names load beyond what every user of sparse operators has."""
    names = "import lapwing; [getattr(lapwing, name) for name in lapwing.__all__]"
    return modules_after(names) - modules_after("import numpy, scipy.sparse.linalg")


@pytest.mark.parametrize("module", HEAVY)
def test_import_leaves_it_out(loaded: set[str], module: str) -> None:
    assert "lapwing.survey.survey" in loaded and "numpy" not in loaded
    assert module not in loaded


def test_a_name_is_read_when_it_is_first_used() -> None:
    alone = modules_after("import lapwing")
    ours = {name for name in alone if name.startswith("lapwing.")}
    assert "lapwing" in alone and ours <= {"lapwing.public_names"}
    device = modules_after("import lapwing; lapwing.SquareWave; lapwing.Interval")
    assert not any(name.startswith(("lapwing.mechanisms", "lapwing.decoders")) for name in device)


def test_the_listing_sees_what_is_loaded() -> None:
    """The check can fail: an interpreter that does import them shows them."""
    loaded = modules_after("import scipy.stats, scipy.optimize, rich")
    assert {"scipy.stats", "scipy.optimize", "scipy.special", "rich"} <= loaded


def test_randomizing_compiles_nothing() -> None:
    """A device needs no compiler: randomizing by square wave and response loads no numba."""
    loaded = modules_after(
        "import lapwing as lw; "
        "wave = lw.SquareWave(lw.Interval(0, 1, bins=64), 1); wave.randomize([0.5] * 10); "
        "grr = lw.RandomizedResponse(lw.Categories(5), 1); grr.randomize([1, 2]); "
        "lw.Survey('x', wave).fingerprint"
    )
    assert "rfc8785" in loaded
    assert not {"numba", "matplotlib", "scipy.stats", "scipy.optimize"} & loaded


def test_a_small_tally_compiles_nothing() -> None:
    """Nobody waits for a compiler to count the reports of thirty thousand people."""
    loaded = modules_after(
        "import lapwing as lw; "
        "wave = lw.MultiscaleWave(lw.Interval(0, 1, bins=128), 1); survey = lw.Survey('x', wave); "
        "survey.tally(survey.randomize([0.5] * 30_000, rng=lw.seeded(1)))"
    )
    assert "lapwing.randomizers.bit_reports" in loaded and "numba" not in loaded


def test_the_command_line_starts_without_the_extras() -> None:
    loaded = modules_after("import lapwing.cli")
    assert "lapwing.cli" in loaded
    assert not {"matplotlib", "pyarrow", "scipy.stats", "scipy.optimize"} & loaded
