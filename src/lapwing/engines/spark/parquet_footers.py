"""What the footers of Parquet files say, read on the driver wherever Spark reads the files.

Of each file the last bytes are enough. Arrow reads them: Java's reader takes 25 milliseconds of a
processor for each file, which for small files is more than counting what is in them.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from lapwing.engines.arrow.arrow_files import words_in_footer
from lapwing.engines.spark.java_side import file_errors, required_jvm
from lapwing.errors import FormatError

_ASKED_AT_ONCE = 16
"""Files on other machines, which answer slowly."""

_TAIL = 2**14
"""Bytes that are read at first: a footer of some columns and row groups is smaller."""

_MAGIC, _ENCRYPTED = b"PAR1", b"PARE"


def file_name(uri: str) -> str:
    """Return the last part of a file's address, as messages show it."""
    return Path(unquote(urlsplit(uri).path)).name


def footers(session: Any, uris: list[str]) -> list[dict[str, str]]:
    """Return what the footer of each file says beside its columns.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        A classic one.
    uris : list of str
        As Spark names files: file:///folder/a.parquet, hdfs://...

    Raises
    ------
    FormatError
        When one is no file of Parquet.
    OSError, EngineError
        When one cannot be read.
    """
    here = [urlsplit(uri).scheme in ("", "file") for uri in uris]
    tails = [_tail_of_local(uri) if local else b"" for uri, local in zip(uris, here, strict=True)]
    if not all(here):
        jvm, conf = required_jvm(session), session._jsparkSession.sessionState().newHadoopConf()
        elsewhere = [place for place, local in enumerate(here) if not local]
        with ThreadPoolExecutor(_ASKED_AT_ONCE) as pool:
            found = pool.map(lambda place: _tail_of_remote(jvm, conf, uris[place]), elsewhere)
            for place, tail in zip(elsewhere, found, strict=True):
                tails[place] = tail
    return [_words(tail, uri) for tail, uri in zip(tails, uris, strict=True)]


def _tail_of_local(uri: str) -> bytes:
    """Return the end of a file of this machine, with its whole footer."""
    try:
        with open(unquote(urlsplit(uri).path), "rb") as stream:
            size = stream.seek(0, 2)

            def read(length: int) -> bytes:
                stream.seek(max(size - length, 0))
                return stream.read()

            return _whole_footer(read)
    except OSError as error:
        raise OSError(error.errno, error.strerror, file_name(uri)) from None


def _tail_of_remote(jvm: Any, conf: Any, uri: str) -> bytes:
    """Return the end of a file that Hadoop reads, with its whole footer."""
    hadoop = jvm.org.apache.hadoop.fs
    with file_errors(file_name(uri)):
        path = hadoop.Path(jvm.java.net.URI(uri))
        system = path.getFileSystem(conf)
        size = int(system.getFileStatus(path).getLen())
        stream = system.open(path)

        def read(length: int) -> bytes:
            stream.seek(max(size - length, 0))
            return bytes(stream.readNBytes(min(length, size)))

        try:
            return _whole_footer(read)
        finally:
            stream.close()


def _whole_footer(read: Any) -> bytes:
    """Return the last bytes of a file: as many as its footer has, of which its end tells."""
    tail: bytes = read(_TAIL)
    needed = int.from_bytes(tail[-8:-4], "little") + 12
    return read(needed) if tail.endswith(_MAGIC) and needed > len(tail) else tail


def _words(tail: bytes, uri: str) -> dict[str, str]:
    import pyarrow as pa
    from pyarrow import parquet

    if tail.endswith(_ENCRYPTED):
        return {}  # lapwing writes none such; Spark may know the key
    try:
        said = parquet.read_metadata(pa.BufferReader(tail)).metadata or {}
    except (pa.ArrowException, OSError):
        raise FormatError(
            f"{file_name(uri)} cannot be read as Parquet; it is damaged, or of another kind"
        ) from None
    return words_in_footer(
        {key.decode(errors="replace"): word.decode(errors="replace") for key, word in said.items()}
    )
