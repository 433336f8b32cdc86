"""Sums of reports: public, exact, and merged with ``+`` to identical bytes in any order."""

from __future__ import annotations

import base64
import binascii
import json
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from lapwing.atomic_files import replacing
from lapwing.documents import Stored, require, require_format, require_spelling
from lapwing.errors import ArgumentError, FormatError, MismatchError, TallyError, kind_of
from lapwing.facts import html_of
from lapwing.linear.memoized import cached_property
from lapwing.privacy.guarantee import Standing, checked_standing, standing_text, weakest_standing

Kind = Literal["counts", "log", "release"]
"""Counts of reports, a log of the reports themselves, or a curator's noisy answers."""


class Observation(Protocol):
    """CountTally, TallyLog or Release: what is decoded, by a decoder that reads its kind."""

    kind: ClassVar[Kind]
    """Which of the three it is. A decoder says which it reads."""

    @property
    def fingerprint(self) -> str:
        """Of the randomizer or mechanism that made it."""
        ...

    @property
    def blocks(self) -> Sequence[NDArray[Any]]:
        """Its numbers, an array for each block."""
        ...

    @property
    def reports(self) -> Sequence[int]:
        """People behind each block."""
        ...

    @property
    def total(self) -> int:
        """People behind all blocks together."""
        ...


def check_observation(observed: Any) -> None:
    """Raise ArgumentError unless it is a tally or a release."""
    if not hasattr(observed, "kind") or not hasattr(observed, "blocks"):
        what = type(observed).__name__
        advice = "Use the tally of one segment, such as tallies['north']"
        if what != "GroupTallies":
            advice = "Add reports up first: tally(reports)"
        raise ArgumentError("tally", "must be a tally or a release", f"a {what}", advice)


class Summed:
    """Base class of objects that are added with ``+``. ``sum`` may start from 0."""

    def __radd__(self, other: object) -> Self:
        """Return this, of 0 and this."""
        if isinstance(other, int) and other == 0:
            return self
        return NotImplemented


VERSION = 1
_TWO_KINDS = (
    "tallies can be merged only when the same survey collected them, but one has counts and "
    "the other has stored reports"
)

MOST_IDS = 1000
"""Most files of one sum whose identifiers are kept. A sum of more gets a single new one."""

_ID = re.compile(r"[0-9a-f]{32}")

LARGEST_COUNT = 2**53 - 1
"""The largest whole number that JSON represents exactly in every language."""


@dataclass(frozen=True, eq=False, repr=False)
class Tally(Stored):
    """Tally, the sum of reports: a :class:`CountTally` or a :class:`TallyLog`.

    Tallies of one survey are added with ``+``, and ``sum`` may start from 0.

    See Also
    --------
    lapwing.Survey.tally : Makes a tally from reports.

    Notes
    -----
    **Privacy.** A tally is post-processing of private reports, so it costs no privacy.

    Examples
    --------
    >>> import lapwing as lw
    >>> response = lw.RandomizedResponse(lw.Categories(["yes", "no"]), epsilon=1)
    >>> monday = response.tally(response.randomize(["yes"] * 70 + ["no"] * 30, rng=lw.seeded(1)))
    >>> tuesday = response.tally(response.randomize(["yes"] * 50, rng=lw.seeded(2)))
    >>> sum([monday, tuesday]).total
    150
    """

    kind: ClassVar[Kind]
    _name: ClassVar = "a tally"

    if TYPE_CHECKING:  # fields and properties of the two

        @property
        def blocks(self) -> Sequence[NDArray[Any]]:
            """Counts or stored reports, an array for each block."""
            ...

        @property
        def reports(self) -> Sequence[int]:
            """Reports of each block."""
            ...

        @property
        def fingerprint(self) -> str:
            """Of the randomizer whose reports are in it."""
            ...

        @property
        def survey(self) -> str | None:
            """Fingerprint of the survey that collected them."""
            ...

        @property
        def standing(self) -> Standing | None:
            """That the reports were drawn from a seed or simulated."""
            ...

        @property
        def total(self) -> int:
            """Reports in all blocks together."""
            ...

        @property
        def ids(self) -> frozenset[str]:
            """Random identifiers of the files that are in it, so that none is added twice."""
            ...

    def __add__(self, other: Tally) -> Self:
        """Return the tally of both sets of reports. MismatchError for another survey's."""
        raise NotImplementedError

    def __radd__(self, other: object) -> Self:
        """Return this, of 0 and this."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def _facts(self) -> dict[str, str]:
        """Return how many reports are counted, and whose, in a few lines for people."""
        return {
            "reports": f"{self.total:,}",
            **({} if self.survey is None else {"survey, fingerprint": self.survey}),
            "randomizer, fingerprint": self.fingerprint,
            **({} if self.standing is None else {"standing": standing_text(self.standing)}),
        }

    def _repr_html_(self) -> str:
        """Return how many reports are counted, and whose, as a notebook shows it."""
        return html_of(self._facts())

    def of_survey(self, survey: str) -> Self:
        """Return the same tally, marked as that of a survey by its fingerprint.

        Parameters
        ----------
        survey : str
            Fingerprint of the survey, 64 hex digits.

        Returns
        -------
        Tally
            Marked copy.
        """
        tally: Any = self
        copy: Self = replace(tally, survey=survey)
        return copy

    def file_text(self) -> str:
        """Return the JSON text that :meth:`save` writes: the document, and what identifies it.

        Returns
        -------
        str
            JSON text with `ids`. They are drawn at random when a tally is first saved, and reveal
            nothing about its reports.
        """
        if not self.ids:
            object.__setattr__(self, "ids", frozenset([secrets.token_hex(16)]))
        return json.dumps({**self.to_document(), "ids": sorted(self.ids)}, allow_nan=False) + "\n"

    def save(self, path: Path | str) -> None:
        """Write the tally to a file, whole or not at all, with a random identifier.

        The identifier reveals copies of a file, however few people it covers. An existing file is
        replaced.
        """
        with replacing(Path(path).resolve()) as stream:
            stream.write(self.file_text().encode())

    def _ids_with(self, other: Tally) -> frozenset[str]:
        """Return the identifiers of a sum. MismatchError when a file is in both."""
        if self.ids & other.ids:
            raise MismatchError(
                "the same tally is in both, and its reports would count twice. Add it once"
            )
        ids = self.ids | other.ids
        return ids if len(ids) <= MOST_IDS else frozenset()

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Return the tally in a document, of either kind.

        Returns
        -------
        CountTally or TallyLog
            Stored tally.

        Raises
        ------
        FormatError
            When it is not a tally, has an unknown version or kind, or is damaged.
        """
        require_format(document, name="lapwing-tally", version=VERSION)
        kind: Any = TallyLog if document.get("kind") == "log" else CountTally
        tally: Self = kind.from_document(document)
        return tally


@dataclass(frozen=True, eq=False, repr=False)
class CountTally(Tally):
    """Tally that counts the outputs of a randomizer.

    Parameters
    ----------
    blocks : sequence of numpy.ndarray
        Counts of the outputs, int64 [outputs], for each block of the channel. Not negative.
    reports : sequence of int
        Number of reports in each block.
    fingerprint : str
        Fingerprint of the randomizer whose reports were counted, 64 hex digits.
    survey : str, optional
        Fingerprint of the survey that collected them. Even if two surveys share a randomizer,
        their tallies must not be merged. Default: none.
    standing : {"seeded", "simulated"}, optional
        Whether reports in it were drawn from a seed or simulated, and so are not private. Default:
        None.
    ids : frozenset of str, optional
        Random identifiers of the files that are in it. Comparisons ignore them. Default: none.

    Notes
    -----
    **Privacy.** A tally is post-processing of private reports, so it costs no privacy.

    **Accuracy.** Adding is exact and associative. Shards, restarts and any order give identical
    bytes.

    **Cost.** Its size depends on the number of outputs, not on the number of reports.

    Examples
    --------
    >>> import lapwing as lw
    >>> response = lw.RandomizedResponse(lw.Categories(["yes", "no"]), epsilon=1)
    >>> tally = response.tally(response.randomize(["yes"] * 70 + ["no"] * 30, rng=lw.seeded(1)))
    >>> isinstance(tally, lw.tallies.CountTally), tally.total
    (True, 100)
    >>> int(tally.blocks[0].sum())
    100
    """

    blocks: Sequence[NDArray[np.int64]]
    reports: Sequence[int]
    fingerprint: str
    survey: str | None = None
    standing: Standing | None = None
    ids: frozenset[str] = field(default=frozenset(), kw_only=True)

    kind: ClassVar[Kind] = "counts"

    def __post_init__(self) -> None:
        """Check the numbers and freeze them."""
        _check_fingerprints(self.fingerprint, self.survey)
        try:
            given = [np.asarray(counts) for counts in self.blocks]
        except ValueError:
            raise TallyError(
                "counts must be lists of whole numbers, each one-dimensional"
            ) from None
        if any(counts.dtype.kind not in "iu" for counts in given):
            raise TallyError("counts must be whole numbers")
        if any(counts.size and counts.max() > LARGEST_COUNT for counts in given):
            raise TallyError("a count above 2^53 - 1 cannot be stored exactly")
        blocks = tuple(np.array(counts, dtype=np.int64) for counts in given)
        wrong = [n for n in self.reports if type(n) is not int and not isinstance(n, np.integer)]
        if wrong:
            raise TallyError(
                f"numbers of reports must be whole numbers, but one is {kind_of(wrong[0])}"
            )
        reports = tuple(int(number) for number in self.reports)
        if len(blocks) != len(reports) or not blocks:
            raise TallyError(
                f"a tally needs at least one block, and one report count for each block, got "
                f"{len(blocks)} blocks and {len(reports)} report counts"
            )
        for counts, number in zip(blocks, reports, strict=True):
            if counts.ndim != 1 or counts.size == 0:
                raise TallyError(f"counts must be one-dimensional, got shape {counts.shape}")
            if number < 0 or counts.min() < 0:
                raise TallyError("counts and numbers of reports must not be negative")
            if number > LARGEST_COUNT:
                raise TallyError("a number of reports above 2^53 - 1 cannot be stored exactly")
            counts.flags.writeable = False
        object.__setattr__(self, "blocks", blocks)
        object.__setattr__(self, "reports", reports)

    def __repr__(self) -> str:
        """Return one line: whose it is and how much it holds."""
        return (
            f"<CountTally of {self.total} reports in {len(self.blocks)} block(s), {_shown(self)}>"
        )

    @property
    def total(self) -> int:
        """Number of reports in all blocks together."""
        return sum(self.reports)

    def __add__(self, other: Tally) -> Self:
        """Return the tally of both sets of reports.

        Raises MismatchError when they were made by different randomizers or for different surveys,
        or one of them is damaged and holds counts of other sizes.
        """
        if not isinstance(other, CountTally | TallyLog):
            return NotImplemented
        _check_same_survey(self, other)
        if not isinstance(other, CountTally):
            raise MismatchError(_TWO_KINDS)
        if [counts.size for counts in self.blocks] != [counts.size for counts in other.blocks]:
            raise MismatchError("tallies can be merged only when they have counts of equal sizes")
        return type(self)(
            [ours + theirs for ours, theirs in zip(self.blocks, other.blocks, strict=True)],
            [ours + theirs for ours, theirs in zip(self.reports, other.reports, strict=True)],
            self.fingerprint,
            self.survey,
            weakest_standing(self.standing, other.standing),
            ids=self._ids_with(other),
        )

    def __eq__(self, other: object) -> bool:
        """Return whether all counts and fingerprints agree."""
        if not isinstance(other, CountTally):
            return NotImplemented
        ours = (self.fingerprint, self.survey, self.reports, len(self.blocks))
        theirs = (other.fingerprint, other.survey, other.reports, len(other.blocks))
        return ours == theirs and all(map(np.array_equal, self.blocks, other.blocks))

    def __hash__(self) -> int:
        """Return a hash of the fingerprint and the numbers of reports."""
        return hash((self.fingerprint, self.survey, tuple(self.reports)))

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            **_head(self),
            "reports": list(self.reports),
            "blocks": [counts.tolist() for counts in self.blocks],
        }

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Return the tally that :meth:`to_document` wrote.

        Returns
        -------
        CountTally
            Stored tally.

        Raises
        ------
        FormatError
            When it is not a tally, has an unknown version or is damaged.
        """
        fingerprint, survey, ids = _opened(document, kind=cls.kind, keys={"blocks"})
        blocks, reports = document["blocks"], document["reports"]
        whole = isinstance(blocks, list) and isinstance(reports, list)
        whole = whole and all(isinstance(counts, list) for counts in blocks)
        whole = whole and all(type(n) is int for part in [reports, *blocks] for n in part)
        if not whole:
            raise FormatError(
                "a tally must contain lists of whole numbers. Do not use this document"
            )
        if any(not 0 <= n <= LARGEST_COUNT for part in [reports, *blocks] for n in part):
            raise FormatError("a tally must contain counts in 0..2^53-1. Do not use this document")
        try:
            return cls(
                [np.array(counts, dtype=np.int64) for counts in blocks],
                reports,
                fingerprint,
                survey,
                checked_standing(document.get("standing")),
                ids=ids,
            )
        except TallyError as error:
            raise FormatError(f"the tally is damaged: {error}") from None


@dataclass(frozen=True, eq=False, repr=False)
class TallyLog(Tally):
    """Tally that stores the reports themselves, as a sorted multiset.

    It is for seeded hashing over domains too large to count. The seed of a report determines which
    values it supports. So a decoder needs the reports, but not who sent them or when.

    Parameters
    ----------
    runs : sequence of numpy.ndarray
        Stored reports as little-endian numbers, uint64, in one-dimensional arrays. Any order and
        any division are allowed.
    width : int
        Bytes of a report, in 1..8.
    fingerprint : str
        Fingerprint of the randomizer that made them, 64 hex digits.
    survey : str, optional
        Fingerprint of the survey that collected them. Default: none.
    standing : {"seeded", "simulated"}, optional
        As in :class:`CountTally`. Default: None.
    ids : frozenset of str, optional
        Random identifiers of the files that are in it. Comparisons ignore them. Default: none.

    Notes
    -----
    **Privacy.** Each stored report is private on its own, so storing them costs no privacy.

    **Accuracy.** Adding is exact and associative. Shards, restarts and any order give identical
    bytes.

    **Cost.** A sum reuses the runs of both tallies, and moves none of their reports. Runs are
    joined and sorted when they are first read, so adding many batches costs one sort.

    Examples
    --------
    >>> import lapwing as lw
    >>> hashing = lw.LinearHashing(lw.HashedStrings(32), epsilon=2)
    >>> tally = hashing.tally(hashing.randomize(["lapwing", "curlew"], rng=lw.seeded(1)))
    >>> isinstance(tally, lw.tallies.TallyLog), tally.total, tally.width
    (True, 2, 5)
    """

    runs: Sequence[NDArray[np.uint64]]
    width: int
    fingerprint: str
    survey: str | None = None
    standing: Standing | None = None
    ids: frozenset[str] = field(default=frozenset(), kw_only=True)

    kind: ClassVar[Kind] = "log"

    def __post_init__(self) -> None:
        """Check the runs."""
        _check_fingerprints(self.fingerprint, self.survey)
        if type(self.width) is not int or not 1 <= self.width <= 8:
            raise TallyError(
                "a log must have reports of 1..8 bytes, and its width must say how many"
            )
        runs: Sequence[NDArray[np.uint64]] = self.runs
        if isinstance(runs, _SharedRuns):  # checked when they were the runs of the summands
            return
        runs = tuple(runs)
        for codes in runs:
            if codes.dtype != np.uint64 or codes.ndim != 1:
                raise TallyError(
                    f"a log must be lists of unsigned 64-bit numbers, got {codes.dtype.name} of "
                    f"shape {codes.shape}"
                )
            if codes.size and int(codes.max()) >> (8 * self.width):
                raise TallyError(
                    f"a report of {self.width} bytes cannot contain such a large number"
                )
        object.__setattr__(self, "runs", runs)

    def __repr__(self) -> str:
        """Return one line: whose it is and how much it holds."""
        return f"<TallyLog of {self.total} reports of {self.width} byte(s), {_shown(self)}>"

    @cached_property
    def total(self) -> int:
        """Number of reports."""
        return sum(codes.size for codes in self.runs)

    @cached_property
    def codes(self) -> NDArray[np.uint64]:
        """All reports as numbers, sorted: uint64 [total]."""
        joined = _sorted(self.runs)
        joined.flags.writeable = False
        object.__setattr__(self, "runs", (joined,))
        return joined

    @property
    def blocks(self) -> tuple[NDArray[np.uint64]]:
        """Reports as numbers, in one block."""
        return (self.codes,)

    @property
    def reports(self) -> tuple[int]:
        """Number of reports in the single block."""
        return (self.total,)

    def __add__(self, other: Tally) -> Self:
        """Return the log of both sets of reports.

        Raises MismatchError when they were made by different randomizers or for different surveys.
        """
        if not isinstance(other, CountTally | TallyLog):
            return NotImplemented
        _check_same_survey(self, other)
        if not isinstance(other, TallyLog):
            raise MismatchError(_TWO_KINDS)
        if self.width != other.width:
            raise MismatchError("logs can be merged only if their reports have the same width")
        few, many = sorted((self.runs, other.runs), key=len)
        runs = _SharedRuns.of(many).extended(few)
        ids, standing = self._ids_with(other), weakest_standing(self.standing, other.standing)
        log = type(self)(runs, self.width, self.fingerprint, self.survey, standing, ids=ids)
        log.__dict__["total"] = self.total + other.total
        return log

    def __eq__(self, other: object) -> bool:
        """Return whether both hold the same reports of the same survey."""
        if not isinstance(other, TallyLog):
            return NotImplemented
        ours = (self.fingerprint, self.survey, self.width, self.total)
        theirs = (other.fingerprint, other.survey, other.width, other.total)
        return ours == theirs and np.array_equal(self.codes, other.codes)

    def __hash__(self) -> int:
        """Return a hash of the fingerprint and the number of reports."""
        return hash((self.fingerprint, self.survey, self.width, self.total))

    def records(self) -> bytes:
        """Return the sorted reports, each in its little-endian bytes.

        Returns
        -------
        bytes
            Sorted reports, `width` bytes each.
        """
        cells = self.codes.astype("<u8").view(np.uint8).reshape(-1, 8)
        return np.ascontiguousarray(cells[:, : self.width]).tobytes()

    @classmethod
    def from_records(
        cls,
        data: bytes,
        width: int,
        fingerprint: str,
        survey: str | None,
        standing: Standing | None = None,
    ) -> Self:
        """Return the tally that has these :meth:`records`.

        Parameters
        ----------
        data : bytes
            Bytes that :meth:`records` returned.
        width : int
            Bytes of a report, in 1..8.
        fingerprint : str
            Fingerprint of the randomizer.
        survey : str or None
            Fingerprint of the survey, if known.
        standing : {"seeded", "simulated"}, optional
            Standing of the reports. Default: None.

        Returns
        -------
        TallyLog
            Stored tally.

        Raises
        ------
        FormatError
            When the records are not sorted.
        """
        if len(data) % width:
            raise FormatError(f"the records of a log must have {width} bytes each. It is damaged")
        cells = np.zeros((len(data) // width, 8), dtype=np.uint8)
        cells[:, :width] = np.frombuffer(data, dtype=np.uint8).reshape(-1, width)
        codes = cells.view("<u8").ravel().astype(np.uint64)
        if (codes[1:] < codes[:-1]).any():
            raise FormatError("the records of a log must be sorted. This one is damaged")
        codes.flags.writeable = False
        log = cls([codes], width, fingerprint, survey, standing)
        log.__dict__["codes"] = codes
        return log

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            **_head(self),
            "reports": self.total,
            "width": self.width,
            "records": base64.b64encode(self.records()).decode("ascii"),
        }

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Return the log that :meth:`to_document` wrote.

        Raises
        ------
        FormatError
            When it is not a log, has an unknown version or is damaged.
        """
        fingerprint, survey, ids = _opened(document, kind=cls.kind, keys={"width", "records"})
        total, width, text = document["reports"], document["width"], document["records"]
        if type(total) is not int or type(width) is not int or not 1 <= width <= 8:
            raise FormatError(
                "a log must contain a number of reports of 1..8 bytes each. Do not use this "
                "document"
            )
        try:
            data = base64.b64decode(text, validate=True)
        except (TypeError, ValueError, binascii.Error):
            raise FormatError(
                "the records of a log must be base64. Do not use this document"
            ) from None
        if len(data) != total * width:
            raise FormatError(f"{total} reports of {width} bytes were stated. The log is damaged")
        standing = checked_standing(document.get("standing"))
        made = cls.from_records(data, width, fingerprint, survey, standing)
        # Base64 has bits to spare at its end.
        marked = {} if not ids else {"ids": sorted(ids)}
        require_spelling(document, {**made.to_document(), **marked}, name="the log")
        object.__setattr__(made, "ids", ids)
        return made


class _SharedRuns(Sequence[NDArray[np.uint64]]):
    """The first runs of a list that only grows. Longer sums use the same list.

    So a sum of many logs does not copy the list for each: the longest sum extends it, and shorter
    ones do not look beyond their own length. A second sum that starts from a shorter one copies.
    """

    def __init__(self, runs: list[NDArray[np.uint64]]) -> None:
        self._runs, self._length = runs, len(runs)
        self._right = [None]
        """One item: whoever takes it, and no other thread, may extend the list."""

    @classmethod
    def of(cls, runs: Sequence[NDArray[np.uint64]]) -> _SharedRuns:
        """Return runs as such."""
        return runs if isinstance(runs, cls) else cls(list(runs))

    def extended(self, more: Sequence[NDArray[np.uint64]]) -> _SharedRuns:
        """Return these runs with more runs appended."""
        more = tuple(more)
        try:
            self._right.pop()
            runs = self._runs
        except IndexError:
            runs = self._runs[: self._length]
        runs.extend(more)
        return _SharedRuns(runs)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, place: Any) -> Any:
        return self._runs[: self._length][place]

    def __iter__(self) -> Iterator[NDArray[np.uint64]]:
        return iter(self._runs[: self._length])

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as the runs alone: what longer sums hold stays here."""
        return tuple, (self._runs[: self._length],)


def _sorted(runs: Sequence[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Return all runs as one, sorted."""
    joined = np.concatenate([np.zeros(0, dtype=np.uint64), *runs])
    joined.sort()
    return joined


def _check_fingerprints(randomizer: Any, survey: Any) -> None:
    if not isinstance(randomizer, str) or not isinstance(survey, str | None):
        raise TallyError(
            "a tally must have the fingerprint of a randomizer, and of a survey or None, as strings"
        )


def _head(tally: Tally) -> dict[str, Any]:
    """Return what the documents of both kinds begin with."""
    return {
        "format": "lapwing-tally",
        "version": VERSION,
        "kind": tally.kind,
        "survey": tally.survey,
        "randomizer": tally.fingerprint,
        **({} if tally.standing is None else {"standing": tally.standing}),
    }


def _opened(document: Any, *, kind: Kind, keys: set[str]) -> tuple[str, str | None, frozenset[str]]:
    """Return the fingerprints of randomizer and survey, and the ids. FormatError at others."""
    require_format(document, name="lapwing-tally", version=VERSION)
    head = {"format", "version", "kind", "survey", "randomizer", "reports"}
    require(document, head | keys, name="a tally", optional={"ids", "standing"})
    if document["kind"] != kind:
        raise FormatError(
            "a tally must have the kind 'counts' or 'log', and be read as what it is. "
            "Do not use this document"
        )
    fingerprint, survey = document["randomizer"], document["survey"]
    if not isinstance(fingerprint, str) or not isinstance(survey, str | None):
        raise FormatError("a tally must contain its fingerprints. Do not use this document")
    ids = document.get("ids", [])
    texts = isinstance(ids, list) and all(isinstance(each, str) for each in ids)
    listed = texts and ids == sorted(set(ids)) and all(map(_ID.fullmatch, ids))
    if not listed or not ("ids" in document) <= len(ids) <= MOST_IDS:
        raise FormatError(
            "the ids of a tally must be a sorted list, of 32 lowercase hex digits each. Do not "
            "use this document"
        )
    return fingerprint, survey, frozenset(ids)


def _check_same_survey(one: Tally, other: Tally) -> None:
    if one is other:
        raise TallyError(
            "a tally cannot be added to itself, because each of its reports would count twice. "
            "Add the tally of another batch"
        )
    if one.fingerprint != other.fingerprint or one.survey != other.survey:
        raise MismatchError(
            "tallies can be merged only when the same survey collected them. These are from "
            f"{_shown(one)} and {_shown(other)}"
        )


def _shown(tally: Tally) -> str:
    survey = f"survey {tally.survey[:12]}" if tally.survey else "no survey"
    return f"{survey}, randomizer {tally.fingerprint[:12]}"
