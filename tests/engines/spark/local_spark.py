"""A real Spark on this machine, where there is Java. Its tests are skipped elsewhere."""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients_js.programs import skip_without

ROOT = Path(__file__).parents[3]
WARM = Path(__file__).parent / "workers" / "warm_daemon.py"


def java_or_skip() -> None:
    """Find Java, or skip the test."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        skip_without("Java", package="default-jre-headless")


def start(master: str = "local[2,2]", **settings: str) -> Any:
    """Return a session; a task may fail once before its job does."""
    java_or_skip()
    with warnings.catch_warnings(action="ignore"):
        from pyspark.sql import SparkSession

        builder: Any = SparkSession.builder.master(master)
        settings = {
            "spark.ui.enabled": "false",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "700m",
            # Jobs of a second: what a better compiler and a second collector cost comes never back.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.log.level": "OFF",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.files.maxPartitionBytes": "9000",
            "spark.sql.files.openCostInBytes": "0",
            "spark.sql.warehouse.dir": "/nonexistent",
            "spark.ui.showConsoleProgress": "false",
            # Of the workers alone, so that a test may give them another.
            "spark.executorEnv.PYTHONPATH": f"{ROOT / 'src'}:{WARM.parent}",
            "spark.python.daemon.module": WARM.stem,
            "spark.python.task.killTimeout": "100ms",
            "spark.executorEnv.OMP_NUM_THREADS": "1",
            **settings,
        }
        for name, setting in settings.items():
            builder = builder.config(name, setting)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYSPARK_PYTHON", sys.executable)
            patch.delenv("PYTHONPATH", raising=False)  # Java would hand it on to every worker
            patch.setenv("PYTHONNOUSERSITE", "1")
            return builder.getOrCreate()


def python_without_lapwing(folder: Path) -> str:
    """Return a Python that has what this one has, but for packages that a checkout stands for."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (found,) = folder.glob("lib/python*/site-packages")
    # What a line of a .pth adds has its own .pth files passed over.
    (found / "same.pth").write_text("\n".join(site.getsitepackages()))
    shutil.copy(WARM, found)
    return str(folder / "bin" / "python")


def failing_once(folder: Path, *, times: int = 1) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a step before a job: it hands on all rows, and then the first of its tasks fails.

    Of each attempt it leaves a file, with what stands beside it in the folder and who may enter.
    """
    beside = str(folder)

    def step(batches: Iterator[Any]) -> Iterator[Any]:
        import os
        import time

        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        number, attempt = context.partitionId(), context.attemptNumber()
        yield from batches
        fails = number == 0 and attempt < times
        if fails:
            time.sleep(0.1)  # what was handed on is written
        there = [
            f"{name} {os.stat(os.path.join(beside, name)).st_mode & 0o777:o}"
            for name in sorted(os.listdir(beside))
            if not name.startswith("attempt-")
        ]
        with open(os.path.join(beside, f"attempt-{number}-{attempt}"), "w") as stream:
            stream.write("\n".join(there))
        if fails:
            raise OSError("planted: this task fails after it has handed on its last row")

    return step
