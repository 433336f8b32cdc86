"""Sums of reports: public, exact, merged with ``+`` in any order to identical bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.documents import require, require_format
from lapwing.errors import FormatError, MismatchError, TallyError

VERSION = 1
LARGEST_COUNT = 2**53 - 1
"""The largest whole number that JSON carries exactly in every language."""


@dataclass(frozen=True, eq=False, repr=False)
class Counts:
    """A tally that counts outputs.

    Parameters
    ----------
    blocks : sequence of numpy.ndarray
        int64 [outputs] for each block of the channel, not negative.
    reports : sequence of int
        Reports of each block.
    fingerprint : str
        Of the randomizer whose reports were counted.
    survey : str, optional
        Fingerprint of the survey that collected them; two surveys may share a randomizer, and
        their tallies must not be merged.

    Notes
    -----
    Adding is exact and associative: shards, restarts and any order give identical bytes.
    """

    blocks: Sequence[NDArray[np.int64]]
    reports: Sequence[int]
    fingerprint: str
    survey: str | None = None

    def __post_init__(self) -> None:
        """Check the numbers and freeze them."""
        given = [np.asarray(counts) for counts in self.blocks]
        if any(counts.dtype.kind not in "iu" for counts in given):
            raise TallyError("counts must be whole numbers")
        blocks = tuple(np.array(counts, dtype=np.int64) for counts in given)
        reports = tuple(int(number) for number in self.reports)
        if len(blocks) != len(reports) or not blocks:
            raise TallyError(
                f"a tally needs a number of reports for each of its {len(blocks)} blocks, "
                f"got {len(reports)}"
            )
        for counts, number in zip(blocks, reports, strict=True):
            if counts.ndim != 1 or counts.size == 0:
                raise TallyError(f"counts must be one-dimensional, got shape {counts.shape}")
            if number < 0 or counts.min() < 0:
                raise TallyError("counts and numbers of reports must not be negative")
            if max(int(counts.max()), number) > LARGEST_COUNT:
                raise TallyError("a count above 2^53 - 1 cannot be stored exactly")
            counts.flags.writeable = False
        object.__setattr__(self, "blocks", blocks)
        object.__setattr__(self, "reports", reports)

    def __repr__(self) -> str:
        """Return one line: whose it is and how much it holds."""
        return f"<Counts of {self.total} reports in {len(self.blocks)} block(s), {_shown(self)}>"

    @property
    def total(self) -> int:
        """Reports in all blocks together."""
        return sum(self.reports)

    def __add__(self, other: Counts) -> Counts:
        """Return the tally of both sets of reports.

        Raises
        ------
        MismatchError
            When they were made by different randomizers or for different surveys, or one of
            them is damaged and holds counts of other sizes.
        """
        if not isinstance(other, Counts):
            return NotImplemented
        if self.fingerprint != other.fingerprint or self.survey != other.survey:
            raise MismatchError(
                "tallies can be merged only when the same survey collected them; these are of "
                f"{_shown(self)} and {_shown(other)}"
            )
        if [counts.size for counts in self.blocks] != [counts.size for counts in other.blocks]:
            raise MismatchError("tallies can be merged only when they hold counts of equal sizes")
        return Counts(
            [ours + theirs for ours, theirs in zip(self.blocks, other.blocks, strict=True)],
            [ours + theirs for ours, theirs in zip(self.reports, other.reports, strict=True)],
            self.fingerprint,
            self.survey,
        )

    def __radd__(self, other: object) -> Counts:
        """Let ``sum(tallies)`` start from 0."""
        if isinstance(other, int) and other == 0:
            return self
        return NotImplemented

    def __eq__(self, other: object) -> bool:
        """Return whether all counts and fingerprints agree."""
        if not isinstance(other, Counts):
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
            "format": "lapwing-tally",
            "version": VERSION,
            "kind": "counts",
            "survey": self.survey,
            "randomizer": self.fingerprint,
            "reports": list(self.reports),
            "blocks": [counts.tolist() for counts in self.blocks],
        }

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Counts:
        """Return the tally that :meth:`to_document` wrote.

        Raises
        ------
        FormatError
            When it is not a tally, of an unknown version or damaged.
        """
        require_format(document, name="lapwing-tally", version=VERSION)
        keys = {"format", "version", "kind", "survey", "randomizer", "reports", "blocks"}
        require(document, keys, name="a tally")
        if document["kind"] != "counts":
            raise FormatError(f"a tally must be of kind 'counts', got {document['kind']!r}")
        blocks, reports = document["blocks"], document["reports"]
        survey, fingerprint = document["survey"], document["randomizer"]
        whole = isinstance(blocks, list) and isinstance(reports, list)
        whole = whole and all(isinstance(counts, list) for counts in blocks)
        whole = whole and all(type(n) is int for part in [reports, *blocks] for n in part)
        if not whole or not isinstance(fingerprint, str) or not isinstance(survey, str | None):
            raise FormatError("a tally must hold lists of whole numbers and its fingerprints")
        if any(not 0 <= n <= LARGEST_COUNT for part in [reports, *blocks] for n in part):
            raise FormatError("a tally must hold counts in 0..2^53-1")
        return cls(
            [np.array(counts, dtype=np.int64) for counts in blocks], reports, fingerprint, survey
        )


def _shown(tally: Counts) -> str:
    survey = f"survey {tally.survey[:12]}" if tally.survey else "no survey"
    return f"{survey}, randomizer {tally.fingerprint[:12]}"
