"""Where a benchmark ran: what a reader needs to judge its figures, and nothing that names a place.

Imports the standard library only, so that the process which starts the benchmarks stays small.
"""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

_PACKAGES = ("lapwing", "numpy", "scipy", "numba", "cryptography")

# Results and tables change by measuring; only these decide what was measured.
_MEASURED = ("src", "benchmarks", ":!benchmarks/*/results/*", ":!benchmarks/*README.md")


def processor() -> str:
    """Return the processor's model, as Linux states it, else what Python knows."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def machine() -> dict[str, Any]:
    """Return processor, cores, memory and system: no host name and no path."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": processor(),
        "cores": os.cpu_count() or 1,
        "memory_gib": round(memory / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that do the work."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def commit() -> dict[str, Any]:
    """Return the commit, and whether what is measured is what it holds; None without git."""
    try:
        head = _git("rev-parse", "HEAD")
        changes = _git("status", "--porcelain", "--untracked-files=all", "--", *_MEASURED)
    except (OSError, subprocess.CalledProcessError):
        return {"commit": None, "clean": None}
    return {"commit": head, "clean": not changes}


def load() -> float:
    """Return the average number of running processes over the last minute."""
    return round(os.getloadavg()[0], 2)


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
