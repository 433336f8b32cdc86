"""Memory and time of tallying a report file of 100 million reports.

The file holds the same million square-wave reports again and again: what is measured is reading
checksummed blocks and counting, which do not care.
"""

from __future__ import annotations

import json
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.markdown import figure, seconds, table
from benchmarks.timing import memory_beyond
from lapwing.protocol.messages.reports import Header, write_blocks

TITLE = "Streaming 100 million reports"
FULL: dict[str, Any] = {"reports": 100_000_000, "bins": 1024}
QUICK: dict[str, Any] = {"reports": 1_000_000, "bins": 1024}

ASKED = 500
"""Target: megabytes in which the command must tally 100 million reports."""

_BATCH = 1_000_000

_LIBRARY = """
from pathlib import Path
from lapwing.protocol.messages.reports import read_blocks, read_header
survey = lw.Survey.load({survey!r})
path, total = Path({reports!r}), 0
with path.open("rb") as stream:
    header = read_header(stream, name=path.name)
    for batch in read_blocks(stream, header, path=path):
        total = total + survey.tally(batch)
assert total.total == {number}
"""

_COMMAND = """
import json, sys
sys.argv = ["lapwing", "tally", {survey!r}, {reports!r}, "--output", {tally!r}, "--quiet"]
try:
    code = main()
except SystemExit as stopped:
    code = stopped.code
assert code in (None, 0), f"lapwing tally failed with exit code {{code}}"
"""


def measure(*, reports: int, bins: int) -> dict[str, Any]:
    """Return memory and time of the library's reader, and of the command if there is one."""
    survey = lw.Survey("streaming", lw.SquareWave(lw.Interval(0, 1, bins=bins, outside="clip"), 1))
    with tempfile.TemporaryDirectory() as folder:
        survey_path, report_path = Path(folder) / "survey.json", Path(folder) / "reports.lwr"
        survey_path.write_text(survey.to_json(), encoding="utf-8")
        size = _write_reports(survey, report_path, reports)
        names = {"survey": str(survey_path), "reports": str(report_path)}
        found: dict[str, Any] = {
            "megabytes": size / 1e6,
            "library": memory_beyond(
                "import lapwing as lw",
                _LIBRARY.format(number=reports, **names),
            ),
            "command": None,
        }
        if command_exists("tally"):
            tally_path = Path(folder) / "tally.json"
            found["command"] = memory_beyond(
                "from lapwing.cli import main", _COMMAND.format(tally=str(tally_path), **names)
            )
            tally = lw.tallies.CountTally.from_document(
                json.loads(tally_path.read_text(encoding="utf-8"))
            )
            if tally.total != reports:
                raise RuntimeError(f"the command counted {tally.total} of {reports} reports")
    return found


def command_exists(name: str) -> bool:
    """Return whether this installation has a command of the command line."""
    try:
        return find_spec(f"lapwing.cli.commands.{name}_command") is not None
    except ImportError:
        return False


def _write_reports(survey: lw.Survey, path: Path, number: int) -> int:
    values = np.random.default_rng(1).beta(5, 2, min(number, _BATCH))
    batch = survey.randomize(values, rng=lw.seeded(1))
    header = Header(batch.width, survey.fingerprint, survey.randomizer.fingerprint)
    with path.open("wb") as stream:
        whole, rest = divmod(number, len(batch))
        parts = (batch[: len(batch) if turn < whole else rest] for turn in range(whole + 1))
        write_blocks(stream, header, (part for part in parts if len(part)))
    return path.stat().st_size


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the table and what it says."""
    rows = [("library: `read_blocks` and `tally`", measured["library"])]
    if measured["command"]:
        rows.append(("command: `lapwing tally`", measured["command"]))
    lines = [
        [
            name,
            f"{found['peak']:.0f} MB",
            f"{found['beyond_import']:.0f} MB",
            seconds(found["cpu"]),
            f"{figure(settings['reports'] / found['cpu'] / 1e6)} million",
            f"{ASKED} MB" if name.startswith("command") else "–",
        ]
        for name, found in rows
    ]
    return "\n\n".join(
        [
            f"A report file of {settings['reports']:,} square-wave reports, d = "
            f"{settings['bins']}, ε = 1 ({measured['megabytes']:.0f} MB), in a fresh process. The "
            "peak is the resident memory of the whole process. Measured once each.",
            table(["", "peak", "beyond import", "CPU", "reports per second", "target peak"], lines),
            _reading(measured),
        ]
    )


def _reading(measured: dict[str, Any]) -> str:
    if measured["command"] is None:
        return "**Skipped: `lapwing tally`, which this installation does not have.**"
    return (
        "The target for the peak is met."
        if measured["command"]["peak"] <= ASKED
        else "**The target for the peak is missed.**"
    )
