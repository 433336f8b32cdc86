"""A copy of the checkout in which errors are planted, one at a time, and its tests run on it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from tests.mutation.belonging import GENERIC, Checkout
from tests.mutation.planting import PlantedError

NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", "__pycache__", ".hypothesis", ".*_cache", "build", "dist", "demo-output"
)

MOST_MEMORY = 12 * 2**30
"""Bytes of address space: an error may ask for any amount."""

SECONDS_OF_TESTS = 30.0
"""An error meets its tests in their order until they took this long in the first run."""

SPARE_SECONDS = 15.0
"""A test with an error in it may take five times as long as before, and this much more."""

SECONDS_OF_COMPILING = 60.0
"""And this much more where compiled loops are compiled anew."""


@dataclass(frozen=True)
class TestRecord:
    """What one test did without an error.

    Parameters
    ----------
    name : str
        As pytest names it.
    file : pathlib.Path
        Where it stands; for a doctest the source file.
    seconds : float
    passed : bool
    functions : frozenset of (str, str)
        File below the package and outermost function of all that it called.
    """

    __test__ = False

    name: str
    file: Path
    seconds: float
    passed: bool
    functions: frozenset[tuple[str, str]]

    @cached_property
    def files(self) -> frozenset[str]:
        """The files of the package that it called something of."""
        return frozenset(file for file, _ in self.functions)

    def below(self, old: Path, new: Path) -> TestRecord:
        """Return the same record of another copy."""
        return replace(self, file=new / self.file.relative_to(old))


@dataclass(frozen=True)
class Outcome:
    """What the tests said of one error.

    Parameters
    ----------
    error : PlantedError
    verdict : {"noticed", "timed out", "survived"}
    noticed_by : str
        The first test that failed; "" when none did, or none was reached.
    tests : int
        How many were to run.
    """

    error: PlantedError
    verdict: str
    noticed_by: str
    tests: int


@dataclass(frozen=True)
class WorkingCopy:
    """A whole copy of a checkout in a temporary folder.

    Parameters
    ----------
    root : pathlib.Path
        Of the copy.
    """

    root: Path
    checkout: Checkout = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "checkout", Checkout(self.root))

    @classmethod
    def of(cls, root: Path, folder: Path) -> WorkingCopy:
        """Copy a checkout into a folder that does not exist yet."""
        shutil.copytree(root, folder, ignore=NOT_COPIED)
        return cls(folder.resolve())

    @property
    def package(self) -> Path:
        return self.root / "src" / "lapwing"

    def texts(self) -> dict[str, str]:
        """Return the text of every file by its path below the package."""
        return {
            path.relative_to(self.package).as_posix(): path.read_text("utf-8")
            for path in self.checkout.sources.values()
        }

    def source(self, file: str) -> str:
        """Return the name under which a file of the package is imported."""
        return "lapwing." + file.removesuffix(".py").replace("/", ".")

    def test_files(self, file: str) -> dict[Path, int]:
        """Return the files whose tests belong to a file of the package, with the rule for each."""
        path = self.package / file
        own = {path: 0} if ">>> " in path.read_text("utf-8") else {}
        return own | self.checkout.tests_of(self.source(file))

    def record(self, files: Iterable[str], *, seconds: float) -> tuple[list[TestRecord], bool]:
        """Run what belongs to these files once without an error; at most so long.

        Returns
        -------
        list of TestRecord
        bool
            Whether the time was enough: a test that was not reached is not used.
        """
        rules: dict[Path, int] = {}
        for file in files:
            for path, rule in self.test_files(file).items():
                rules[path] = min(rule, rules.get(path, rule))
        output = self.root / "recorded.jsonl"
        output.write_text("")
        # What is reached at all should be the nearest, should the time be too short.
        paths = sorted(
            rules, key=lambda path: (rules[path] != 0, path.parent.name not in GENERIC, path)
        )
        code, _ = self._pytest("recording", output, paths, seconds=seconds, first=False)
        rows = [json.loads(line) for line in output.read_text().splitlines()]
        records = [
            TestRecord(
                name=row["test"],
                file=Path(row["file"]),
                seconds=row["seconds"],
                passed=row["passed"],
                functions=frozenset((file, function) for file, function in row["functions"]),
            )
            for row in rows
        ]
        return records, code is not None

    def belonging(self, error: PlantedError, records: list[TestRecord]) -> list[TestRecord]:
        """Return the tests that an error meets: nearest and cheapest first, for a limited time.

        First the tests that call the function, then those that mirror the file, then those that
        call anything in it, then all others that belong to it.
        """
        rules = self.test_files(error.file)

        def order(record: TestRecord) -> tuple[bool, bool, bool, float]:
            called = (error.file, error.function) in record.functions
            return (
                not called,
                rules[record.file] != 0,
                error.file not in record.files,
                record.seconds,
            )

        kept, total = [], 0.0
        for record in sorted((r for r in records if r.passed and r.file in rules), key=order):
            if kept and total + record.seconds > SECONDS_OF_TESTS:
                continue
            kept.append(record)
            total += record.seconds
        return kept

    def judge(self, error: PlantedError, tests: list[TestRecord]) -> Outcome:
        """Plant an error, run these tests on it until one fails, and take it out again."""
        path = self.package / error.file
        text, held = path.read_text("utf-8"), path.stat()
        listed = self.root / "selected.json"
        path.write_text(error.plant(text), "utf-8")
        # Compiled files are known by size and time, in whole seconds.
        os.utime(path, (held.st_atime, held.st_mtime + 10))
        # Compiled loops are kept by file: where the error may be in one, all are compiled anew.
        kernels = re.search(r"^import numba", text, re.MULTILINE) is not None
        spare = SPARE_SECONDS + (SECONDS_OF_COMPILING if kernels else 0)
        listed.write_text(json.dumps([(test.name, spare + 5 * test.seconds) for test in tests]))
        try:
            code, said = self._pytest(
                "selecting",
                listed,
                dict.fromkeys(test.file for test in tests),
                seconds=60 + spare + 3 * sum(test.seconds for test in tests),
                first=True,
                fresh_kernels=kernels,
            )
        finally:
            path.write_text(text, "utf-8")
            os.utime(path, ns=(held.st_atime_ns, held.st_mtime_ns))
        if code == -signal.SIGALRM:
            code = None
        if code in (4, 5):
            raise RuntimeError(f"pytest ended with {code} instead of a verdict:\n{said}")
        failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", said, re.MULTILINE)
        verdict = "timed out" if code is None else "noticed" if code else "survived"
        return Outcome(error, verdict, failed[1] if code and failed else "", len(tests))

    def _pytest(
        self,
        plugin: str,
        told: Path,
        files: Iterable[Path],
        *,
        seconds: float,
        first: bool,
        fresh_kernels: bool = False,
    ) -> tuple[int | None, str]:
        """Return the exit code of pytest, None when it took too long, and what it wrote."""
        files = [path.relative_to(self.root) for path in files]
        doctests = any(path.parts[0] == "src" for path in files)
        with tempfile.TemporaryDirectory() as kernels:
            environment = {
                **os.environ,
                "PYTHONPATH": str(self.root / "src"),
                "LAPWING_MUTATION": str(told),
                "OMP_NUM_THREADS": "1",
                "MPLBACKEND": "Agg",
                **({"PYTHONDONTWRITEBYTECODE": "1"} if first else {}),
                **({"NUMBA_CACHE_DIR": kernels} if fresh_kernels else {}),
            }
            process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=no"),
                    *("-p", "no:cacheprovider", "-p", f"tests.mutation.{plugin}"),
                    *(["-x"] if first else []),
                    *(["--doctest-modules"] if doctests else []),
                    *map(str, files),
                ],
                cwd=self.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
                preexec_fn=_limit_memory,
            )
            late = False
            try:
                said, _ = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                late = True
                _end_group(process)
                said, _ = process.communicate()
            finally:
                _end_group(process)
            return None if late else process.returncode, said


def _end_group(process: subprocess.Popen[str]) -> None:
    """End what was started here, with whatever its tests started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
