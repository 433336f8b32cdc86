"""How a task starts on an executor: it must say so when lapwing is missing there, or is another.

The function that Spark sends is one inside another, so it is sent as code, not as the name of
something to import; and its first lines need nothing but Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Batches = Iterator[Any]

MARK = "lapwing-error:"
"""Before what a task says of its end: one line of JSON, which the driver finds in Spark's words."""


def task(version: str, job: str, given: dict[str, Any]) -> Callable[[Batches], Batches]:
    """Return the function of a partition.

    Parameters
    ----------
    version : str
        Of lapwing on the driver.
    job : str
        A function of `lapwing.engines.spark.worker_jobs`.
    given : mapping
        What it needs, as JSON.
    """
    mark = MARK  # what is read in the function is sent with it

    def run(batches: Batches) -> Batches:
        import json
        from importlib import import_module

        def fail(**said: Any) -> RuntimeError:
            return RuntimeError(mark + json.dumps(said))

        try:
            # A folder of that name without the package in it has no version.
            found = getattr(import_module("lapwing"), "__version__", "")
        except ImportError:
            found = ""
        if found != version:
            has = f"lapwing {found}" if found else "no lapwing"
            raise fail(kind="EngineError", message=f"have {has}, the driver has {version}")
        from lapwing.engines.spark import worker_jobs
        from lapwing.errors import LapwingError, MissingExtraError

        try:
            yield from getattr(worker_jobs, job)(given, batches)
        except MissingExtraError as error:
            raise fail(kind="EngineError", message=f"have no {error.package}") from None
        except LapwingError as error:
            raise fail(
                kind=type(error).__name__,
                message=str(error),
                position=getattr(error, "position", None),
                partition=worker_jobs.partition(),
            ) from None

    return run
