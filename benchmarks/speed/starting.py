"""What a fresh process costs: the import, and the command line from cold."""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.markdown import seconds, table, timed
from benchmarks.speed.streaming import command_exists
from benchmarks.summaries import ratio_of_pairs
from benchmarks.timing import Times, run_python

TITLE = "Starting"
FULL: dict[str, Any] = {"pairs": 25, "commands": 7, "bins": 1024}
QUICK: dict[str, Any] = {"pairs": 3, "commands": 2, "bins": 1024}

ASKED = 1.3
"""Target: the import, as a multiple of the one it stands beside."""

IMPORTS = {
    "lapwing": "import lapwing",
    "survey": "import lapwing; lapwing.Survey",
    "names": "import lapwing; [getattr(lapwing, name) for name in lapwing.__all__]",
    "scipy": "import numpy, scipy.sparse.linalg",
}

# Timed within the process: the interpreter's own start would only flatter the ratio.
_TIMED = """
import json, time
wall, cpu = time.perf_counter(), time.process_time()
{line}
print(json.dumps([time.process_time() - cpu, time.perf_counter() - wall]))
"""

# What the console script does, with its output swallowed and its CPU time printed. The clock of
# CPU seconds starts with the process, so the interpreter's own start is in it.
_COMMAND = """
import contextlib, io, json, sys, time
sys.argv = {arguments!r}
with contextlib.redirect_stdout(io.StringIO()):
    from lapwing.cli import main
    try:
        code = main()
    except SystemExit as stopped:
        code = stopped.code
if code not in (None, 0):
    raise SystemExit(f"the command failed with exit code {{code}}")
print(json.dumps([time.process_time(), 0.0]))
"""


def measure(*, pairs: int, commands: int, bins: int) -> dict[str, Any]:
    """Return times of both imports in alternation, and of commands if there are any."""
    imports = {name: Times() for name in IMPORTS}
    for turn in range(-1, pairs):  # the first fills the disk cache and is not counted
        for name in list(IMPORTS) if turn % 2 == 0 else list(IMPORTS)[::-1]:
            cpu, wall = _seconds(_TIMED.format(line=IMPORTS[name]))
            if turn >= 0:
                imports[name].add(cpu, wall)
    found: dict[str, Any] = {
        "imports": {name: times.summaries() for name, times in imports.items()},
        "ratio_cpu": ratio_of_pairs(imports["lapwing"].cpu, imports["scipy"].cpu),
        "ratio_survey": ratio_of_pairs(imports["survey"].cpu, imports["scipy"].cpu),
        "ratio_names": ratio_of_pairs(imports["names"].cpu, imports["scipy"].cpu),
        "ratio_wall": ratio_of_pairs(imports["lapwing"].wall, imports["scipy"].wall),
    }
    return found | {"commands": _commands(commands, bins)}


def _seconds(code: str, **environment: str) -> tuple[float, float]:
    """Return CPU and wall seconds, as the code prints them in its last line."""
    cpu, wall = json.loads(run_python(code, **environment).splitlines()[-1])
    return cpu, wall


def _commands(rounds: int, bins: int) -> dict[str, Any] | None:
    """Return times of commands in fresh processes; None when there is no command line."""
    if not (command_exists("decode") and command_exists("new")):
        return None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        survey = lw.Survey(
            "starting", lw.SquareWave(lw.Interval(0, 1, bins=bins, outside="clip"), 1)
        )
        people = np.random.default_rng(1).multinomial(100_000, np.full(bins, 1 / bins))
        tally = replace(lw.simulate(survey.randomizer, people, rng=1), survey=survey.fingerprint)
        (folder / "survey.json").write_text(survey.to_json(), encoding="utf-8")
        (folder / "tally.json").write_text(json.dumps(tally.to_document()), encoding="utf-8")
        decode = ["decode", str(folder / "survey.json"), str(folder / "tally.json")]
        decode += ["--output", str(folder / "distribution.json"), "--force"]
        works = {"help": ["--help"], "decode": decode}
        times = {work: Times() for work in (*works, "decode, nothing compiled")}
        for turn in range(-1, rounds):  # the first compiles and fills the disk cache
            for work, arguments in works.items():
                _time(arguments, times[work], counted=turn >= 0)
        for turn in range(min(rounds, 3)):
            empty = folder / f"cache-{turn}"
            empty.mkdir()
            _time(decode, times["decode, nothing compiled"], NUMBA_CACHE_DIR=str(empty))
    return {work: spent.summaries() for work, spent in times.items()}


def _time(arguments: list[str], into: Times, *, counted: bool = True, **environment: str) -> None:
    """Run one command in a fresh process; wall seconds are those of the whole process."""
    wall = time.perf_counter()
    cpu, _ = _seconds(_COMMAND.format(arguments=["lapwing", *arguments]), **environment)
    if counted:
        into.add(cpu, time.perf_counter() - wall)


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the tables and what they say."""
    imports = measured["imports"]
    cpu, wall = measured["ratio_cpu"], measured["ratio_wall"]
    ratio = f"{cpu['ratio']:.2f} ± {cpu['standard_error']:.2f}"
    reached = "reached" if cpu["ratio"] <= ASKED else "**missed**"
    parts = [
        f"Fresh processes, {settings['pairs']} alternating pairs, files in the disk cache. The "
        "time is that of the import statement alone, without the start of the interpreter.",
        table(
            ["", "CPU", "wall", "ratio, median of pairs", "target"],
            [
                ["`" + IMPORTS["scipy"] + "`", *_cells(imports["scipy"]), "1", "–"],
                ["`" + IMPORTS["lapwing"] + "`", *_cells(imports["lapwing"]), ratio, f"{ASKED:g}"],
                *(
                    [
                        f"`{IMPORTS[name]}`",
                        *_cells(imports[name]),
                        f"{measured[f'ratio_{name}']['ratio']:.2f} ± "
                        f"{measured[f'ratio_{name}']['standard_error']:.2f}",
                        "–",
                    ]
                    for name in ("survey", "names")
                ),
            ],
        ),
        f"The import of Lapwing takes {ratio} times as long as that of SciPy in CPU time (target "
        f"{ASKED:g}, {reached}) and {wall['ratio']:.2f} ± {wall['standard_error']:.2f} times in "
        "wall time. A name's file is read when the name is first used, with what it needs in turn, "
        "as the other rows show.",
    ]
    if measured["commands"] is None:
        parts.append("**Skipped: the command line, which this installation does not have.**")
    else:
        rows = [[work, *_cells(spent)] for work, spent in _named(measured, settings)]
        parts += [
            "Cold starts of commands, measured as whole processes with the start of the "
            "interpreter. *Nothing compiled*: the cache of kernels is empty, as after "
            "installation.",
            table(["", "CPU", "wall"], rows),
        ]
    return "\n\n".join(parts)


def _named(measured: dict[str, Any], settings: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    names = {
        "help": "`lapwing --help`",
        "decode": f"`lapwing decode`, d = {settings['bins']}, 100,000 reports, with its band",
        "decode, nothing compiled": "the same, nothing compiled",
    }
    return [(names[work], spent) for work, spent in measured["commands"].items()]


def _cells(spent: dict[str, Any]) -> list[str]:
    return [timed(spent["cpu"]), seconds(spent["wall"]["median"])]
