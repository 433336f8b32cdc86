"""Spark's daemon, which forks a worker for each task that has none, with all of it read before.

A worker ends with the task that fails in it, and reading everything anew takes each one seconds.
Randomness that forks shared would show itself here as nowhere else.
"""

from __future__ import annotations

from contextlib import suppress

from pyspark import daemon

for name in ("pyarrow", "pandas", "pyspark.worker", "lapwing.engines.spark.worker_jobs"):
    with suppress(ImportError):
        __import__(name)

if __name__ == "__main__":
    daemon.manager()
