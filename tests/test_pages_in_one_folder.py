"""The pages of a newcomer run one after another, in one folder and with one collector."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.page_environment import command, run
from tests.service.one_collector import ADMIN, served

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/guides/operate/collector.md", "docs/guides/local/python-devices.md")

LEFT_OUT = (
    *("pip install '.[", "lapwing serve", "curl -X DELETE"),
    "    http://127.0.0.1:8080/v1/surveys/FINGERPRINT/epochs/2026-w48",
    "lapwing collector revoke 0123456789ab",
)
"""What the test has or does itself, and what deletes."""

HELPERS = """
import contextlib, io, subprocess
def quietly(code):
    with contextlib.redirect_stdout(io.StringIO()):
        exec(code, globals())
def shell(lines):
    ran = subprocess.run(["bash", "-e", "-c", lines], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
"""


def session(page: str, real: Mapping[str, str]) -> str:
    """Return a page as one session of Python, in its order, with its commands and its output.

    Output that a page does not show right after a program is free, and so is that of commands.
    """
    lapwing = f'lapwing() {{ {shlex.join(command(page, "lapwing"))} "$@"; }}\n'
    lapwing += f"export LAPWING_ADMIN_TOKEN={ADMIN}\n"
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$\n*(?:```text\n(.*?)^```$)?", page, re.M | re.S)
    parts = [f">>> exec({HELPERS!r})\n"]
    for language, block, printed in blocks:
        if language == "sh":
            kept = [line for line in block.splitlines() if not line.startswith(LEFT_OUT)]
            block = "\n".join(kept)
        for shown, here in real.items():
            block = block.replace(shown, here)
        if language == "python" and ">>> " in block:
            parts.append(block)
        elif language == "python":
            parts.append(f">>> {'exec' if printed else 'quietly'}({block!r})\n{printed}")
        elif language == "sh":
            parts.append(f">>> shell({lapwing + block!r})\n")
    return "\n".join(parts)


@pytest.mark.service
def test_a_newcomer_follows_the_pages_in_one_folder(tmp_path: Path) -> None:
    (tmp_path / "collector").mkdir()
    (folder := tmp_path / "folder").mkdir()
    with served(tmp_path / "collector") as here:
        real = {"http://127.0.0.1:8080": here.address, "lwa_...": ADMIN}
        for name in PAGES:
            page = (ROOT / name).read_text("utf-8")
            ran = run(page, "doctest", name, text=session(page, real), folder=folder)
            assert (ran.returncode, ran.stderr) == (0, ""), name + ran.stdout
    assert {path.name for path in folder.iterdir()} >= {
        *("income.json", "income-survey.json", "device.lapwing"),
        *("gateway.lapwing", "coat.json", "monday.lwr"),
    }
