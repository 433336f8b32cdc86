"""An environment of its own for Apache Beam, which caps the versions of what others need newer."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HOME = ROOT / ".venv" / "beam"
"""Among what is installed for this checkout: `make clean` removes it."""


class CannotInstallError(Exception):
    """The environment cannot be made here: no index, or no Beam for this Python."""


def beam_python() -> Path:
    """Return the Python of an environment with lapwing[beam] and pytest; made once.

    It is made anew when pyproject.toml changes, as the environments of the Makefile are. The
    installed lapwing is this checkout.

    Raises
    ------
    CannotInstallError
        With pip's last words.
    """
    HOME.parent.mkdir(exist_ok=True)
    wanted = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    python = HOME / "bin" / "python"
    stamp = HOME / ".installed"
    with (HOME.parent / "beam.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stamp.exists() and stamp.read_text() == wanted and _runs(python):
            return python
        shutil.rmtree(HOME, ignore_errors=True)
        # Without pip, which some distributions leave out of venv: ours installs into it.
        venv.create(HOME, with_pip=False, symlinks=True)
        pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
        done = subprocess.run(
            [*pip, "--disable-pip-version-check", "--editable", f"{ROOT}[beam]", "pytest>=8.2"],
            capture_output=True,
            text=True,
            env=clean_environment(),
            timeout=900,
        )
        if done.returncode:
            raise CannotInstallError(done.stderr[-2000:])
        stamp.write_text(wanted)
    return python


def beam_python_or_skip() -> Path:
    """Return it; where it cannot be made the test is skipped, and says why."""
    try:
        return beam_python()
    except CannotInstallError as error:
        pytest.skip(f"lapwing[beam] cannot be installed here: {error}")


def clean_environment() -> dict[str, str]:
    """Return the environment variables without what leads to other packages."""
    left = {"PYTHONPATH", "PYTHONHOME", "LAPWING_REQUIRE_ALL"}
    kept = {name: value for name, value in os.environ.items() if name not in left}
    return kept | {"PYTHONNOUSERSITE": "1"}


def _runs(python: Path) -> bool:
    try:
        return not subprocess.run(
            [python, "-c", "import apache_beam"], capture_output=True
        ).returncode
    except OSError:  # the Python that it was made of has gone away
        return False
