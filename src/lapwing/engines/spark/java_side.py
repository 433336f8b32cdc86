"""The Java side of a session, and what its file systems throw as errors for people."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lapwing.errors import EngineError


def jvm_of(session: Any) -> Any:
    """Return the Java side of a session; None of one of Spark Connect, which shows none."""
    return getattr(session, "_jvm", None)


def required_jvm(session: Any) -> Any:
    """Return the Java side of a session; EngineError of one of Spark Connect."""
    jvm = jvm_of(session)
    if jvm is None:
        raise EngineError(
            "this needs a classic session of Spark, not Spark Connect, which shows nobody its file "
            "systems; start one without SPARK_REMOTE"
        )
    return jvm


@contextmanager
def file_errors(name: str) -> Iterator[None]:
    """Give what Hadoop's files throw as errors for people.

    Parameters
    ----------
    name : str
        Of the file or folder, for messages.

    Raises
    ------
    OSError
        When it is not there, or may not be read.
    EngineError
        For all else: a file system that is unknown, or that does not answer.
    """
    from py4j.protocol import Py4JError

    known = {"FileNotFoundException": errno.ENOENT, "AccessControlException": errno.EACCES}
    try:
        yield
    except Py4JError as error:
        thrown = thrown_by(error)
        if thrown in known:
            number = known[thrown]
            raise OSError(number, os.strerror(number), name) from None
        raise EngineError(
            f"{name} is in no place that Spark reaches ({thrown}); look at how it is written, and "
            "at what the cluster is set to"
        ) from error


def thrown_by(error: Exception) -> str:
    """Return the name of what Java threw, without the package that it is of."""
    java = getattr(error, "java_exception", None)
    return type(error).__name__ if java is None else str(java.getClass().getSimpleName())
