"""Documents: strict JSON, and the fingerprint of what was agreed.

Every stored JSON document names its format and version. Reading is strict: an unknown key,
class or version is refused, because ignoring a setting could break a privacy guarantee. Each
document has one spelling: the bytes read must be those that would be written.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from lapwing.atomic_files import replacing
from lapwing.docstrings import Documented
from lapwing.errors import FormatError, LapwingError, TallyError, kind_of

Built = TypeVar("Built")

MAXIMUM_DOCUMENT_BYTES = 512 * 2**20

DEEPEST = 100
"""Most nested levels of a document. One document never needs more than a dozen, but results nest
theirs."""

LARGEST = 2**63 - 1
"""The largest whole number in a document, of either sign: the answers of a release have 64 bits."""

LARGEST_EXACT = Fraction(10**100)
"""Exact numbers in a document lie between this and its inverse, or are 0."""
# Far more than any promise, and few enough digits for exact arithmetic.

_NUMBERS = {int, float}

_EXACT = re.compile(r"[0-9]+(/[0-9]+)?")

_LONGEST_EXACT = 2000

_LONGEST_SHOWN = 60

_FOREIGN = "it is damaged or of another kind. Check the file name"

_REPORTS = (b"LWREPORT", b"# lapwing-reports")
"""The first bytes of a file of reports."""

_PARQUET = b"PAR1"

_TABLES = {
    b"lapwing-group-tallies": "holds tallies by segment. Decode one first: lapwing decode SURVEY "
    "{} --segment NAME",
    b"lapwing-reports": "holds reports. Add them up first: lapwing tally SURVEY {}",
}
"""What the schema of a Parquet file says that it is, and what can be done with the file."""


def canonical(document: Any) -> bytes:
    """Return the canonical JSON (RFC 8785) of a document: the same bytes in every language.

    Raises FormatError when it has none, for example because it holds a whole number beyond 2^53 -
    1.
    """
    import rfc8785  # not needed to import lapwing

    try:
        return _canonical(document, rfc8785.dumps)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise FormatError(f"this has no canonical JSON: {error}") from None


def _canonical(document: Any, dumps: Callable[[Any], bytes]) -> bytes:
    """Return the canonical JSON. The standard library writes strings and whole numbers faster."""
    if isinstance(document, list | tuple) and document:
        kinds = set(map(type, document))
        safe = kinds == {int} and min(document) > -(2**53) and max(document) < 2**53
        if safe or kinds == {str}:
            return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
        return b"[%s]" % b",".join([_canonical(each, dumps) for each in document])
    if isinstance(document, dict) and all(isinstance(key, str) for key in document):
        pairs = sorted(document.items(), key=lambda pair: pair[0].encode("utf-16be"))
        written = [dumps(key) + b":" + _canonical(value, dumps) for key, value in pairs]
        return b"{%s}" % b",".join(written)
    return dumps(document)


def fingerprint(document: Any) -> str:
    """Return the SHA-256 of the canonical JSON, as 64 hex digits.

    >>> fingerprint({"b": 1, "a": 2}) == fingerprint({"a": 2, "b": 1})
    True
    """
    return hashlib.sha256(canonical(document)).hexdigest()


def parse(text: str | bytes, *, name: str) -> dict[str, Any]:
    """Return the JSON object in a string, which may begin with a byte order mark.

    Raises FormatError when it is not JSON in UTF-8, not an object, or repeats a key. `name` names
    it in the message.
    """
    if not isinstance(text, str | bytes):
        raise FormatError(f"{name} must be a JSON text, got {kind_of(text)}")
    try:
        document = json.loads(
            _decoded(text).removeprefix("\ufeff"),
            object_pairs_hook=_distinct,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, _NotStrictError) else _FOREIGN
        raise FormatError(f"{name} must be a JSON document: {reason}") from None
    if not isinstance(document, dict):
        raise FormatError(f"{name} must be a JSON object, got {kind_of(document)}")
    return document


class _NotStrictError(ValueError):
    """JSON that the strict reader refuses, with a reason for people."""


def _decoded(text: str | bytes) -> str:
    """Return the characters of a string in UTF-8, the only encoding that JSON is exchanged in."""
    if isinstance(text, str):
        return text
    if text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise _NotStrictError("it is in UTF-16. Save it as UTF-8")
    return text.decode()


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise _NotStrictError("it has a key twice")
    return document


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _NotStrictError("it contains a number that is too large")
    return number


def _refuse_constant(word: str) -> Any:
    raise _NotStrictError(f"it contains {word}, which is not a number")


def read(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file. FormatError as in :func:`parse`."""
    if path.stat().st_size > MAXIMUM_DOCUMENT_BYTES:
        raise FormatError(f"{path.name} is too large to be a lapwing document")
    data = path.read_bytes()
    if not data:
        raise FormatError(f"{path.name} is empty. Make it again, or check the name")
    if data.startswith(_REPORTS):
        raise FormatError(
            f"{path.name} holds reports. Add them up first: lapwing tally SURVEY {path.name}"
        )
    if data.startswith(_PARQUET):
        footer = data[-8 - int.from_bytes(data[-8:-4], "little") :]
        said = next((said for mark, said in _TABLES.items() if mark in footer), None)
        what = "is a table (Parquet), and no JSON document. Check the name"
        raise FormatError(f"{path.name} {(said or what).format(path.name)}")
    return parse(data, name=path.name)


def read_as(path: Path, build: Callable[[dict[str, Any]], Built]) -> Built:
    """Return what a function builds from the document in a file. Its errors name the file."""
    document = read(path)
    try:
        return build(document)
    except TallyError as error:
        raise TallyError(f"{path.name}: {error}") from None
    except LapwingError as error:
        raise FormatError(f"{path.name}: {error}") from None


@contextmanager
def opening(path: Path) -> Iterator[None]:
    """Turn the system's refusal to open a file into a FormatError of one sentence."""
    try:
        yield
    except FileNotFoundError:
        raise FormatError(f"there is no file {path}. Check the name") from None
    except IsADirectoryError:
        raise FormatError(f"{path} is a folder. Name a file in it") from None
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror}") from None


class Stored(Documented):
    """Base of classes stored as JSON: the text and the file follow from the document.

    A class adds `to_document` and `from_document`.
    """

    _name: ClassVar[str]
    """What it is, for messages: "a survey"."""

    _indent: ClassVar[int | None] = None

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form.

        Returns
        -------
        dict
            JSON object that :meth:`from_document` reads.
        """
        raise NotImplementedError

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Return the object that :meth:`to_document` wrote. FormatError when it is something else.

        Parameters
        ----------
        document : dict
            JSON object that :meth:`to_document` returned.
        """
        raise NotImplementedError

    def to_json(self) -> str:
        """Return the JSON text, which ends with a line break.

        Returns
        -------
        str
            JSON text, with a line break at the end.
        """
        return json.dumps(self.to_document(), indent=self._indent, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the object that :meth:`to_json` wrote. FormatError if the text is something else.

        Parameters
        ----------
        text : str or bytes
            JSON text that :meth:`to_json` returned.
        """
        return cls.from_document(parse(text, name=cls._name))

    def save(self, path: Path | str) -> None:
        """Write the JSON text to a file, whole or not at all. An existing file is replaced.

        Parameters
        ----------
        path : Path or str
            Path of the file. Its folder must exist.
        """
        with replacing(Path(path).resolve()) as stream:
            stream.write(self.to_json().encode())

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Return the object stored in a file.

        Parameters
        ----------
        path : Path or str
            File to read.

        Raises
        ------
        FormatError
            When there is no such file, or it is damaged, of another kind or in an unknown version.
            The message names the file.
        """
        path = Path(path)
        with opening(path):
            return read_as(path, cls.from_document)


def require(
    document: Mapping[str, Any], keys: set[str], *, name: str, optional: Collection[str] = ()
) -> None:
    """Raise FormatError unless the document has exactly these keys, and perhaps optional ones."""
    if not isinstance(document, Mapping):
        raise FormatError(f"{name} must be a JSON object, got {kind_of(document)}")
    unknown = sorted(set(document) - keys - set(optional))
    absent = sorted(keys - set(document))
    if unknown:
        raise FormatError(
            f"{name} has the unknown key {quoted(unknown[0])}. Known: "
            f"{_listed(keys | set(optional))}"
        )
    if absent:
        raise FormatError(f"{name} lacks the key {absent[0]!r}. Required: {_listed(keys)}")


def quoted(word: Any) -> str:
    """Return a word in quotes, cut off where it is long."""
    return repr(word if len(str(word)) <= 40 else f"{str(word)[:40]}...")


def _listed(keys: set[str]) -> str:
    return ", ".join(sorted(keys))


_CALLED = {
    "lapwing-collector-state": "the exported state of a collector",
    "lapwing-exact-counts": "exact counts",
    "lapwing-group-tallies": "tallies by segment",
    "lapwing-heavy-hitters": "a list of heavy hitters",
    "lapwing-progress": "the progress of a job",
    "lapwing-scan": "the progress of a scan",
}


def called(name: str) -> str:
    """Return what people call a format.

    >>> called("lapwing-survey"), called("lapwing-exact-counts"), called("other")
    ('a survey', 'exact counts', "a document 'other'")
    """
    if name in _CALLED:
        return _CALLED[name]
    kind = name.removeprefix("lapwing-")
    known = kind != name and re.fullmatch("[a-z-]{1,40}", kind)
    return f"a {kind.replace('-', ' ')}" if known else f"a document {quoted(name)}"


def require_format(document: Mapping[str, Any], *, name: str, version: int) -> None:
    """Raise FormatError unless the document says that it is `name` of a known version.

    The door of every stored document: what passes is plain JSON, see
    :func:`lapwing.documents.require_plain`.
    """
    if not isinstance(document, Mapping):
        raise FormatError(f"this must be {called(name)}, got {kind_of(document)}")
    found = document.get("format")
    if found != name:
        said = called(found) if isinstance(found, str) else "a document that lapwing did not write"
        raise FormatError(f"this must be {called(name)}, but it is {said}. Check the file name")
    stated = document.get("version")
    # Not a bool: True equals 1.
    if type(stated) is not int or stated != version:
        raise FormatError(
            f"this software reads {name} documents of version {version}, but this one has "
            f"version {_version(stated)}. Update lapwing"
        )
    require_plain(document, name=f"a {name} document")


def _version(said: Any) -> str:
    whole = type(said) is int and abs(said) < 10**9
    return str(said) if whole else f"{kind_of(said)} that is none"


def require_plain(document: Any, *, name: str) -> None:
    """Raise FormatError unless this is JSON that every reader understands alike.

    Objects, lists, valid Unicode, finite numbers of at most 64 bits, at most a hundred levels.
    O(size). Later steps may then compute with it without checking for other kinds of value.

    name: Its name in the message.
    """
    level = [document]
    for _ in range(DEEPEST):
        deeper: list[Any] = []
        for value in level:
            kind = type(value)
            if kind is dict:
                _require_texts(value, name)
                deeper += value.values()
            elif kind in (list, tuple):
                kinds = set(map(type, value))
                if kinds <= _NUMBERS:
                    _require_numbers(value, name)
                elif kinds == {str}:
                    _require_texts(value, name)
                else:
                    deeper += value
            elif kind is str:
                _require_texts([value], name)
            elif kind in _NUMBERS:
                _require_numbers([value], name)
            elif value is not None and kind is not bool:
                raise FormatError(f"{name} must be plain JSON, but it contains a {kind.__name__}")
        if not deeper:
            return
        level = deeper
    raise FormatError(f"{name} must be at most {DEEPEST} levels deep, but it is deeper")


def _require_texts(texts: Any, name: str) -> None:
    for text in texts:
        if type(text) is not str:
            raise FormatError(f"{name} must have strings as keys, but one is {kind_of(text)}")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise FormatError(
                f"{name} must be valid Unicode, but a string in it has a lone surrogate"
            ) from None


def _require_numbers(numbers: list[Any], name: str) -> None:
    if not numbers:
        return
    if not all(map(math.isfinite, (n for n in numbers if type(n) is float))):
        raise FormatError(f"{name} must contain finite numbers, but one is not finite")
    whole = [n for n in numbers if type(n) is int]
    if whole and not -LARGEST <= min(whole) <= max(whole) <= LARGEST:
        raise FormatError(
            f"{name} must contain whole numbers of at most 2^63 - 1, but one is larger"
        )


def require_spelling(document: Any, written: Any, *, name: str) -> None:
    """Raise FormatError unless a document is the one that is written for what was read from it.

    document: As it came, checked by :func:`require_plain`.
    written: The document of the object that was made of it.
    name: Its name in the message, which says where the value is and how to write it.
    """
    found = _difference(document, written, "")
    if found is not None:
        place, came, wanted = found
        where = f"the {place.lstrip('.')} of {name}" if place else name
        raise FormatError(
            f"{where} must be written {describe_value(wanted)}, got {describe_value(came)}. A "
            "document has a single spelling, so that it has a single fingerprint"
        )


def _difference(came: Any, wanted: Any, place: str) -> tuple[str, Any, Any] | None:
    """Return the first place where two documents differ and what stands there, or None."""
    if isinstance(came, Mapping) and isinstance(wanted, Mapping):
        if set(came) != set(wanted):
            return place, came, wanted
        pairs = ((came[key], wanted[key], f"{place}.{key}") for key in sorted(wanted))
    elif isinstance(came, list | tuple) and isinstance(wanted, list | tuple):
        if len(came) != len(wanted):
            return place, came, wanted
        kinds = {*map(type, came), *map(type, wanted)}
        if came == wanted and (kinds <= _NUMBERS or kinds == {str}):
            return None
        pairs = (
            (ours, theirs, f"{place}[{number}]")
            for number, (ours, theirs) in enumerate(zip(came, wanted, strict=True))
        )
    else:
        # True equals 1 in Python, and in no other place.
        alike = type(came) is type(wanted) or {type(came), type(wanted)} <= _NUMBERS
        return None if alike and came == wanted else (place, came, wanted)
    return next((found for pair in pairs if (found := _difference(*pair)) is not None), None)


def describe_value(value: Any) -> str:
    """Return how a message names a value of a document: short, and of plain characters."""
    if isinstance(value, Mapping):
        return f"an object of {len(value)} keys"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, str):
        text = f'"{value}"' if value.isprintable() and value.isascii() else ascii(value)
    elif value is None or isinstance(value, bool):
        text = json.dumps(value)
    else:
        text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def spelled_number(text: Any, *, name: str) -> Fraction:
    """Return the exact number that a document holds as a string such as ``"3"`` or ``"1/3"``.

    text: A quotient in lowest terms, or a whole number.
    name: Its name in the message.

    Raises FormatError when it is written in another way, or is neither 0 nor in [1e-100, 1e100].
    """
    readable = isinstance(text, str) and len(text) <= _LONGEST_EXACT and _EXACT.fullmatch(text)
    if not readable:
        raise FormatError(
            f"{name} must be a string such as '3' or '1/3', got {describe_value(text)}"
        )
    try:
        number = Fraction(text)
    except ZeroDivisionError:
        raise FormatError(
            f"{name} must be a fraction with a denominator above 0, got {describe_value(text)}"
        ) from None
    require_spelling(text, str(number), name=name)
    if number and not 1 / LARGEST_EXACT <= number <= LARGEST_EXACT:
        raise FormatError(f"{name} must be 0 or between 1e-100 and 1e100, got another number")
    return number


def nearest(name: str, names: Iterable[str]) -> str:
    """Return words that suggest the nearest name. Empty when none is near."""
    if len(name) > _LONGEST_SHOWN:
        return ""  # no name of ours is as long, and comparing takes its time
    # Dashes of options make none of them near.
    known = {each.lstrip("-"): each for each in names}
    near = get_close_matches(name.lstrip("-"), known, n=1)
    return f" (did you mean {known[near[0]]}?)" if near else ""
