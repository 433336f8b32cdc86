"""The guide for Python devices does what it says, from the shell to the printed result."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

import lapwing as lw
from tests.cli.running import environment
from tests.page_environment import command, run
from tests.service.one_collector import ADMIN, served

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "local" / "python-devices.md"
TEXT = PAGE.read_text("utf-8")
SECTION = TEXT.partition("## With a collector\n")[2].partition("\n## ")[0]
STARTED = ("pip install", "lapwing serve")
"""What a test has or does itself."""


def blocks(language: str, section: str = SECTION) -> list[str]:
    """Return the blocks of a section in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", section, re.M | re.S)


@pytest.mark.service
def test_a_report_arrives_at_a_collector_of_this_machine(tmp_path: Path) -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    assert [line for line in lines if line.startswith(STARTED)] == [
        "pip install '.[serve,client]'",
        "lapwing serve",
    ]
    shell = "\n".join(line for line in lines if not line.startswith(STARTED))
    (code,) = blocks("python")
    (printed,) = blocks("text")
    (tmp_path / "collector").mkdir()
    with served(tmp_path / "collector") as here:
        here_and_now = {"http://127.0.0.1:8080": here.address, "lwa_...": ADMIN}
        for shown, real in here_and_now.items():
            shell, code = shell.replace(shown, real), code.replace(shown, real)
        program = f'lapwing() {{ {shlex.join(command(TEXT, "lapwing"))} "$@"; }}\n'
        subprocess.run(
            ["bash", "-e", "-c", program + shell],
            env=environment(),
            cwd=tmp_path,
            check=True,
            timeout=120,
            capture_output=True,
        )
        ran = run(TEXT, "exec", text=code, folder=tmp_path)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, printed, "")
        lw.Survey.load(tmp_path / "coat.json").randomize(["red"] * 5).save(tmp_path / "monday.lwr")
        (code,) = blocks("python", TEXT.partition("## A gateway\n")[2])
        code = code.replace("http://127.0.0.1:8080", here.address)
        ran = run(TEXT, "exec", text=code, folder=tmp_path)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "1 0\n", "")
