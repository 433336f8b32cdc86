"""A folder of reports that appears whole, with one report for each value, or not at all.

Spark does a task again that failed, and may run it twice at once; each attempt draws its own
randomness, so two attempts give two reports of one value, and who sees both learns more than the
survey promises. So nobody sees an attempt: all are written into a folder that only its owner may
enter. Spark's own commit keeps one attempt of each partition there and deletes the others. Then
that folder takes the name of the output, in one step of the file system.

A task that comes late, of a job that failed or of a copy that Spark no longer needs, would make the
closed folder anew if it were gone, open to others. So it is deleted when no such task is at work;
where one does not end, the folder stays, closed. So does that of a job that is killed: nobody can
tell it from that of a job that is at work elsewhere, which must lose nothing.

A job that is killed before the last step leaves nothing that others may see; after it the output
is there, and no job writes to a folder that is there.
"""

from __future__ import annotations

import errno
import os
import secrets
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from lapwing.engines.spark.java_side import file_errors, required_jvm
from lapwing.engines.spark.tagged_work import TaggedWork
from lapwing.errors import ArgumentError, EngineError, LapwingWarning

_OWNER_ONLY = 0o700


def write_once(
    frame: Any, output: str, *, check: Callable[[Any], None], write: Callable[[Any, str], None]
) -> Any:
    """Write a data frame as Parquet, and return it as it was read from there.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        It is worked out once.
    output : str
        A folder that is not there, as Spark names it.
    check : callable
        Given the rows that were written, before anybody else sees them; what it raises is the end.
    write : callable
        Given Spark's writer and the name of a folder.

    Raises
    ------
    ArgumentError
        When something is there already.
    OSError
        When the folder that it is to stand in is not there, or nothing may be written there.
    EngineError
        When the file system cannot do it.
    """
    from py4j.protocol import Py4JError

    session = frame.sparkSession
    jvm = required_jvm(session)
    with file_errors(output):
        place = _Place.of(jvm, session, output)
        place.check_absent()
        staging = place.private_folder()
    work = TaggedWork(session)
    try:
        attempt = staging.suffix("/reports")
        # Version 2 lets the files of a task stand where they stay before all others are done.
        writer = frame.write.option("mapreduce.fileoutputcommitter.algorithm.version", "1")
        with work:
            write(writer, attempt.toString())
        check(session.read.parquet(attempt.toString()))
        place.take(attempt)
    finally:
        # Where Java is gone it cannot be deleted, and stays closed.
        with suppress(Py4JError, OSError):
            if work.ended():
                place.files.delete(staging, True)
    return session.read.parquet(place.path.toString())


class _Place:
    """A name in a file system of Hadoop.

    Parameters
    ----------
    jvm : py4j.java_gateway.JVMView
    conf : org.apache.hadoop.conf.Configuration
    path : org.apache.hadoop.fs.Path
        Absolute, with its file system.
    """

    def __init__(self, jvm: Any, conf: Any, path: Any) -> None:
        self.jvm, self.conf = jvm, conf
        self.files = path.getFileSystem(conf)
        self.path = self.files.makeQualified(path)

    @classmethod
    def of(cls, jvm: Any, session: Any, output: str) -> _Place:
        conf = session._jsparkSession.sessionState().newHadoopConf()
        return cls(jvm, conf, jvm.org.apache.hadoop.fs.Path(output))

    def check_absent(self) -> None:
        """Raise ArgumentError when there is something of that name."""
        if self.files.exists(self.path):
            raise ArgumentError(
                f"the output {self.path.getName()} is there already, so the values may have been "
                "randomized before; use those reports, or choose another folder if they are of "
                "other people"
            )

    @property
    def _start(self) -> str:
        """How the names of its private folders start; Spark's readers pass such names over."""
        return f".{self.path.getName()}.lapwing-"

    def private_folder(self) -> Any:
        """Return a new folder beside the output that only its owner may enter.

        Those that are there stay: another job may be at work in them.
        """
        parent = self.path.getParent()
        if not self.files.exists(parent):
            number = errno.ENOENT
            raise FileNotFoundError(number, os.strerror(number), parent.toUri().getPath())
        left = [one.getPath().getName() for one in self.files.listStatus(parent)]
        left = sorted(name for name in left if name.startswith(self._start))
        if left:
            warnings.warn(
                f"beside {self.path.getName()} is {left[0]}, of a job that was killed or is still "
                "at work; if none is, delete it: it holds reports that nobody else may see",
                LapwingWarning,
                stacklevel=2,
            )
        folder = self.jvm.org.apache.hadoop.fs.Path(parent, self._start + secrets.token_hex(8))
        mode = self.jvm.org.apache.hadoop.fs.permission.FsPermission(format(_OWNER_ONLY, "o"))
        # Empty yet when it is closed to others: the system's mask may have left it open.
        if not self.files.mkdirs(folder, mode):
            raise EngineError(f"a folder beside {self.path.getName()} could not be made")
        self.files.setPermission(folder, mode)
        return folder

    def take(self, attempt: Any) -> None:
        """Give the output its name, in one step; ArgumentError where somebody else was first."""
        from py4j.protocol import Py4JJavaError

        hadoop = self.jvm.org.apache.hadoop.fs
        context = hadoop.FileContext.getFileContext(self.path.toUri(), self.conf)
        try:
            context.rename(attempt, self.path, _no_options(self.jvm))
        except Py4JJavaError as error:
            if "FileAlreadyExists" in str(error.java_exception.getClass().getName()):
                self.check_absent()
            raise EngineError(
                f"the folder of reports could not be given the name {self.path.getName()}, and was "
                "deleted"
            ) from error


def _no_options(jvm: Any) -> Any:
    """Return no options of a renaming: with none, nothing that is there is replaced."""
    kind = jvm.java.lang.Class.forName("org.apache.hadoop.fs.Options$Rename")
    return jvm.java.lang.reflect.Array.newInstance(kind, 0)
