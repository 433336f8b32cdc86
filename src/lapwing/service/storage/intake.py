"""Intake of uploads within one transaction: judged, then counted or refused."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from lapwing.errors import ReportError
from lapwing.protocol.messages.batch import NO_SEGMENT
from lapwing.protocol.messages.problems import Problem
from lapwing.service.storage.counting import Counting, Row
from lapwing.service.storage.store import ALREADY, STORED, Outcome, Upload, Verdict

DIGEST_BYTES = 16
"""Bytes of the SHA-256 of a batch that are kept."""
# Who finds two batches that share them, by 2^64 hashes, has one of the two counted, as with any two
# batches of one id.

_STORED = Outcome(STORED)


class Place(NamedTuple):
    """An epoch as an upload meets it."""

    survey: int
    epoch: int
    fingerprint: str
    survey_state: str
    upload: str
    epoch_state: str


class Delta(NamedTuple):
    """A row that a transaction adds, and the group that it belongs to."""

    epoch: int
    segment: int
    row: Row
    heavy: int
    """Bytes that folding the group writes again."""


def _digest(upload: Upload) -> bytes:
    return upload.batch.digest[:DIGEST_BYTES]


def refusal(place: Place) -> Problem | None:
    """Return why a place takes no reports now. None when it does."""
    if place.survey_state == "draft":
        return Problem.UNKNOWN_SURVEY
    if place.epoch_state == "closed" or place.survey_state == "retired":
        return Problem.CLOSED
    return Problem.NOT_OPEN if place.epoch_state == "planned" else None


class Intake:
    """The uploads of one transaction.

    places: Where they go, by fingerprint and name of the epoch: a Place, or why there is none.
    known: Returns the digests of those ids that an epoch has.
    token: Returns whether a token of a survey is used, None when it has none such.
    counting: Returns the Counting of a fingerprint.
    """

    def __init__(
        self,
        uploads: Sequence[Upload],
        places: Mapping[tuple[str, str], Place | Problem],
        *,
        known: Callable[[int, list[bytes]], dict[bytes, bytes]],
        token: Callable[[int, bytes], bool | None],
        counting: Callable[[str], Counting],
    ) -> None:
        self.outcomes: list[Outcome] = [_STORED] * len(uploads)
        self.ledger: list[tuple[int, bytes, bytes]] = []
        """Epoch, id and digest of every new batch."""
        self.deltas: list[Delta] = []
        self.tokens: list[tuple[int, bytes]] = []
        """Survey and digest of the tokens that are used up."""
        self._uploads = uploads
        self._token = token
        groups: dict[tuple[str, str], list[int]] = defaultdict(list)
        for index, upload in enumerate(uploads):
            groups[upload.survey, upload.epoch].append(index)
        for key, indices in groups.items():
            place = places[key]
            verdict = place if isinstance(place, Problem) else refusal(place)
            have = {}
            if isinstance(place, Place):
                have = known(place.epoch, [uploads[index].id for index in indices])
            if verdict is not None:
                for index in indices:
                    stored = have.get(uploads[index].id) == _digest(uploads[index])
                    self.outcomes[index] = Outcome(ALREADY if stored else verdict)
            elif isinstance(place, Place):
                counted = counting(place.fingerprint)
                for wave in self._waves(indices, one_by_one=place.upload == "tokens"):
                    self._take(wave, place, have, counted)

    def _waves(self, indices: list[int], *, one_by_one: bool) -> list[list[int]]:
        """Return uploads in parts, each to be judged when those before it have been counted.

        An id stands in a part once: whether its second upload repeats the first depends on what
        became of that. So it is with tokens.
        """
        if one_by_one:
            return [[index] for index in indices]
        if len({self._uploads[index].id for index in indices}) == len(indices):
            return [indices]
        waves: list[list[int]] = []
        times: dict[bytes, int] = defaultdict(int)
        for index in indices:
            came = times[self._uploads[index].id]
            times[self._uploads[index].id] += 1
            if came == len(waves):
                waves.append([])
            waves[came].append(index)
        return waves

    def _take(
        self, indices: list[int], place: Place, have: dict[bytes, bytes], counting: Counting
    ) -> None:
        """Judge some uploads of one place, and count those that are new."""
        segments: dict[int, list[int]] = defaultdict(list)
        known = len(counting.segments)
        for index in indices:
            verdict = self._judged(self._uploads[index], have, place)
            if verdict is None:
                segment = self._uploads[index].batch.segment
                segments[segment if segment <= known else NO_SEGMENT].append(index)
            else:
                self.outcomes[index] = Outcome(verdict)
        for segment, members in segments.items():
            for index in self._counted(members, segment, place, counting):
                upload = self._uploads[index]
                have[upload.id] = _digest(upload)
                self.ledger.append((place.epoch, upload.id, have[upload.id]))
                if place.upload == "tokens" and upload.token is not None:
                    self.tokens.append((place.survey, upload.token))

    def _judged(self, upload: Upload, have: dict[bytes, bytes], place: Place) -> Verdict | None:
        """Return what is known about an upload without a look at its reports."""
        digest = have.get(upload.id)
        if digest is not None:
            return ALREADY if digest == _digest(upload) else Problem.CHANGED
        if place.upload == "tokens":
            if upload.token is None:
                return Problem.UPLOAD_TOKEN_NEEDED
            if (place.survey, upload.token) in self.tokens:
                return Problem.UPLOAD_TOKEN_USED
            used = self._token(place.survey, upload.token)
            if used is not False:
                return Problem.UPLOAD_TOKEN_NEEDED if used is None else Problem.UPLOAD_TOKEN_USED
        return None

    def _counted(
        self, members: list[int], segment: int, place: Place, counting: Counting
    ) -> list[int]:
        """Count the reports of one segment. Return the uploads that were."""
        batches = [self._uploads[index].batch for index in members]
        records = b"".join([batch.records for batch in batches])
        try:
            if any(batch.width != counting.width for batch in batches):
                raise ReportError("every report must have the width of its survey")
            row = counting.row(records)
        except ReportError:
            # One of them at least is wrong: each on its own, once.
            good = []
            for index, batch in zip(members, batches, strict=True):
                refused = counting.refused(batch.records, batch.reports)
                if refused:
                    self.outcomes[index] = Outcome(Problem.REFUSED, refused)
                else:
                    good.append(index)
            members = good
            records = b"".join([self._uploads[index].batch.records for index in members])
            row = counting.row(records)
        if members:
            self.deltas.append(Delta(place.epoch, segment, row, counting.counts_bytes))
        return members
