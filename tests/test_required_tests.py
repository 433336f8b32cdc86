"""LAPWING_REQUIRE_ALL=1 turns every kind of skip into a failure, and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = {
    "test_inside.py": """
import pytest

def test_passes():
    pass

def test_skips_itself():
    pytest.skip("no database")

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


def test_with_it_they_fail_and_say_why(folder: Path) -> None:
    code, numbers, text = _run(folder, required="1")
    assert code != 0
    assert "skipped" not in numbers and numbers["xfailed"] == numbers["passed"] == 1
    # Skipped by itself: failed. Skipped by a mark, or as a module: an error before it ran.
    assert numbers["failed"] == 1 and numbers["errors"] == 2
    for reason in ("no database", "no browser", "no package"):
        assert f"LAPWING_REQUIRE_ALL=1 allows no skips: Skipped: {reason}" in text
