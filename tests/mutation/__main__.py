"""Plants single errors in what promises rest on, and lists those that no test notices.

`python -m tests.mutation` works on copies of the checkout and writes `results.json` beside this
file. Errors that survived an earlier run are planted first, then those that the seed chooses. It
ends with 1 when an error survived that nobody judged yet; judgments are written into that file.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import queue
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path

from tests.mutation.choosing import area_of, in_turn
from tests.mutation.planting import PlantedError, errors_of
from tests.mutation.results import Key, Results
from tests.mutation.running import Outcome, TestRecord, WorkingCopy

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).with_name("results.json")

SHARE_OF_THE_FIRST_RUN = 1 / 3
"""Of all minutes, at most: the run without an error, which the choice of tests rests on."""


def to_plant(
    texts: dict[str, str], known: Iterable[Key], *, errors: int, seed: int, files: str
) -> list[PlantedError]:
    """Return the errors of a run: those that are known to survive, then the seed's choice.

    Parameters
    ----------
    texts : dict of str to str
        The text of each file by its path below the package.
    known : iterable of tuple
        What once survived.
    errors : int
        At most.
    seed : int
    files : str
        Patterns of paths or file names, with commas between them; "*" for all.
    """
    texts = {
        file: text
        for file, text in texts.items()
        if area_of(file)
        and any(fnmatch(file, p) or fnmatch(Path(file).name, p) for p in files.split(","))
    }
    again = _planted_before(texts, known)
    held = {error.key for error in again}
    new = (error for error in in_turn(texts, seed) if error.key not in held)
    return [*again, *islice(new, max(0, errors - len(again)))]


def _planted_before(texts: dict[str, str], known: Iterable[Key]) -> list[PlantedError]:
    """Return the known errors, where the code still holds what they change."""
    known = set(known)
    stems = {key[0] for key in known}
    return [
        error
        for file, text in texts.items()
        if Path(file).name in stems
        for error in errors_of(file, text)
        if error.key in known
    ]


def commit() -> str:
    """Return the commit that was checked, with a mark when files differ from it."""
    try:
        said = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return said.stdout.strip()


def run(
    root: Path, results: Path, *, errors: int, seed: int, minutes: float, workers: int, files: str
) -> Results:
    """Plant the errors, one at a time and each in a copy, and write the results."""
    started = time.monotonic()
    known = Results.read(results)
    with tempfile.TemporaryDirectory(prefix="lapwing-mutation-") as folder:
        copies: queue.SimpleQueue[WorkingCopy] = queue.SimpleQueue()
        for number in range(workers):
            copies.put(WorkingCopy.of(root, Path(folder) / str(number)))
        first = copies.get()
        texts, before = first.texts(), known.judged()
        gone = set(before) - {error.key for error in _planted_before(texts, before)}
        planted = to_plant(texts, before, errors=errors, seed=seed, files=files)
        records, complete = first.record(
            dict.fromkeys(error.file for error in planted),
            seconds=60 * minutes * SHARE_OF_THE_FIRST_RUN,
        )
        copies.put(first)
        broken = [record.name for record in records if not record.passed]
        took = sum(record.seconds for record in records)
        print(f"{len(records)} tests belong to them and took {took:.0f} s", flush=True)
        if not complete:
            print("the minutes were too few to run all of them once: survivors may be noticed by")
            print("tests that were not reached", flush=True)
        for name in broken:
            print(f"fails without any error, so it is left out: {name}", flush=True)

        def one(error: PlantedError) -> Outcome | None:
            if time.monotonic() - started > 60 * minutes:
                return None
            copy = copies.get()
            try:
                return _judged(copy, error, _moved(records, first, copy))
            finally:
                copies.put(copy)

        outcomes = []
        with ThreadPoolExecutor(workers) as pool:
            for number, outcome in enumerate(pool.map(one, planted), 1):
                if outcome is not None:
                    outcomes.append(outcome)
                    if outcome.verdict != "noticed":
                        print(f"{number}. {_line(outcome)}", flush=True)
    found = known.after(
        {
            "seed": seed,
            "commit": commit(),
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "python": platform.python_version(),
            "files": files,
            "all tests": complete,
            "minutes": round((time.monotonic() - started) / 60, 1),
            "chosen": len(planted),
        },
        outcomes,
        gone=gone,
    )
    found.write(results)
    return found


def _judged(copy: WorkingCopy, error: PlantedError, records: list[TestRecord]) -> Outcome | None:
    """Return what the tests say; None when none of those that belong to it was reached."""
    tests = copy.belonging(error, records)
    return copy.judge(error, tests) if tests else None


def _moved(records: list[TestRecord], first: WorkingCopy, other: WorkingCopy) -> list[TestRecord]:
    """Return the records of one copy as those of another."""
    if first is other:
        return records
    return [record.below(first.root, other.root) for record in records]


def _line(outcome: Outcome) -> str:
    error = outcome.error
    place = f"{error.file}:{error.line} {error.function}"
    change = f"{error.before} -> {error.after}"
    return f"{outcome.verdict} ({outcome.tests} tests): {place}: {change}\n    {error.shown}"


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--errors", type=int, default=300, help="at most so many (300)")
    parser.add_argument("--seed", type=int, default=1, help="of the choice (1)")
    parser.add_argument("--minutes", type=float, default=60, help="in all (60)")
    parser.add_argument("--workers", type=int, default=1, help="copies at once (1)")
    parser.add_argument("--files", default="*", help="patterns of files, with commas (all)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="read, and written anew")
    told = parser.parse_args(arguments)
    os.environ.setdefault("PYTHONNOUSERSITE", "1")
    found = run(
        ROOT,
        told.results,
        errors=told.errors,
        seed=told.seed,
        minutes=told.minutes,
        workers=told.workers,
        files=told.files,
    )
    numbers = found.run
    print(
        f"{numbers['planted']} of {numbers['chosen']} errors planted: {numbers['noticed']} "
        f"noticed, {numbers['timed out']} timed out, {numbers['survived']} survived"
    )
    for each in found.open():
        error = each.error
        print(f"to judge: {error.file}:{error.line}: {error.before} -> {error.after}")
    return 1 if found.open() else 0


if __name__ == "__main__":
    sys.exit(main())
