"""LAPWING_REQUIRE_ALL=1 turns every kind of skip into a failure, and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

TESTS = {
    "test_inside.py": """
import pytest

def test_passes():
    pass

def test_skips_itself():
    pytest.skip("PostgreSQL is not here: install it")

@pytest.mark.skipif(True, reason="no browser")
def test_marked():
    pass

@pytest.mark.xfail(reason="known", strict=True)
def test_expected_failure():
    assert False
""",
    "test_module.py": """
import pytest

pytest.importorskip("a_package_that_nobody_has", reason="no package")

def test_never_reached():
    pass
""",
}


def _run(folder: Path, *, required: str | None) -> tuple[int, dict[str, int], str]:
    environment = {key: value for key, value in os.environ.items() if key != "LAPWING_REQUIRE_ALL"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # loading them takes a second
    if required is not None:
        environment["LAPWING_REQUIRE_ALL"] = required
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--rootdir=.", "--continue-on-collection-errors"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    closing = done.stdout.strip().splitlines()[-1]
    numbers = {word: int(number) for number, word in re.findall(r"(\d+) ([a-z]+)", closing)}
    return done.returncode, numbers, done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path / "conftest.py")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider -ra\n")
    for name, text in TESTS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("required", [None, "", "0"])
def test_without_it_skips_are_skips(folder: Path, required: str | None) -> None:
    code, numbers, text = _run(folder, required=required)
    assert code == 0, text
    assert numbers["passed"] == 1 and numbers["skipped"] == 3 and numbers["xfailed"] == 1
    last, closing = text.strip().splitlines()[-2:]
    assert "DID NOT RUN: 2 tests and 1 whole files." in last and "passed" in closing
    assert "Not here: PostgreSQL (1), other reasons (2)" in last


def test_with_it_they_fail_and_say_why(folder: Path) -> None:
    code, numbers, text = _run(folder, required="1")
    assert code != 0
    assert "skipped" not in numbers and numbers["xfailed"] == numbers["passed"] == 1
    # Skipped by itself: failed. Skipped by a mark, or as a module: an error before it ran.
    assert numbers["failed"] == 1 and numbers["errors"] == 2
    for reason in ("PostgreSQL is not here", "no browser", "no package"):
        assert f"LAPWING_REQUIRE_ALL=1 allows no skips: Skipped: {reason}" in text


def test_a_generator_of_a_module_begins_anew_for_each_test(folder: Path) -> None:
    """Each of these two fails where it runs after the other."""
    for file in TESTS:
        (folder / file).unlink()
    (folder / "test_draws.py").write_text(
        """
import numpy as np

RNG = np.random.default_rng(1)
FIRST = RNG.random()

def test_one():
    assert RNG.random() == np.random.default_rng(1).random(2)[1]

def test_other():
    test_one()
"""
    )
    _, numbers, text = _run(folder, required=None)
    assert numbers == {"passed": 2}, text


def test_a_program_is_started_by_marked_tests_only(folder: Path) -> None:
    for file in TESTS:
        (folder / file).unlink()
    (folder / "curl").write_text("#!/bin/sh\n")
    (folder / "curl").chmod(0o755)
    (folder / "pytest.ini").write_text(
        "[pytest]\naddopts = -p no:cacheprovider -ra\nmarkers = service\n"
    )
    (folder / "test_programs.py").write_text(
        """
import pathlib, subprocess, pytest

CURL = str(pathlib.Path(__file__).with_name("curl"))

@pytest.mark.service
def test_marked():
    subprocess.run([CURL], check=True)

def test_unmarked():
    subprocess.run([CURL], check=True)

def test_after_it():
    pass
"""
    )
    _, numbers, text = _run(folder, required=None)
    assert numbers == {"passed": 2, "failed": 1}, text
    assert "it starts curl, so it must be marked" in text


def test_arguments_take_the_place_of_all_paths() -> None:
    """`make test PYTEST_ARGS="tests/results -k band"` runs that folder, and nothing else."""
    lines = (ROOT / "Makefile").read_text("utf-8").splitlines()
    (runs,) = (line for line in lines if "--doctest-modules" in line)
    assert runs == "\t$(PYTEST) --doctest-modules $(PYTEST_ARGS)"
    (pytest_line,) = (line for line in lines if line.startswith("PYTEST :="))
    assert "tests" not in pytest_line.replace("pytest", "")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert settings["tool"]["pytest"]["ini_options"]["testpaths"] == ["tests", "src/lapwing"]


CLOSING = "===== 5 passed in 1.0s ====="
STEPS = ("test", "without-programs", "without-packages", "lint", "docs-check")


def _check_everything(folder: Path, *failing: str) -> tuple[int, list[str]]:
    """Run the whole check with programs that print their name and fail when it is among these."""
    program = f"""#!/bin/sh
case "$0 $*" in
    *" test") name=test; echo "{CLOSING}" ;;
    *pytest*tests.without_programs*tests) name=without-$TESTS_WITHOUT-$LAPWING_REQUIRE_ALL ;;
    *) name=$1 ;;
esac
echo "ran $name"
case " {" ".join(failing)} " in *" ${{name%-[01]}} "*) exit 1 ;; esac
"""
    shutil.rmtree(folder, ignore_errors=True)
    for name in (".ci/run", ".venv/bin/python", "bin/make", *(f"bin/{name}" for name in NEEDED)):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((ROOT / name).read_text("utf-8") if name == ".ci/run" else program)
        path.chmod(0o755)
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    ran = subprocess.run(
        [folder / ".ci" / "run"], env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    return ran.returncode, ran.stdout.splitlines()


NEEDED = ("chromium", "cc", "nginx", "java", "curl", "initdb")


def test_the_whole_check_runs_every_step_and_fails_with_each(tmp_path: Path) -> None:
    code, lines = _check_everything(tmp_path / "all")
    assert code == 0 and lines[-1] == CLOSING
    ran = [name.removesuffix("-0") for name in (line.removeprefix("ran ") for line in lines)]
    assert [name for name in ran if name in STEPS] == [*STEPS]
    assert sum(line.endswith(" seconds") for line in lines) == 5
    for step in STEPS:
        code, lines = _check_everything(tmp_path / step, step)
        assert code != 0 and lines[-1] == CLOSING, step
