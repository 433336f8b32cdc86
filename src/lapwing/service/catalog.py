"""The surveys and epochs that a collector has, in memory: an upload must not ask the database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Lock

from lapwing.documents import canonical
from lapwing.linear.memoized import cached_property
from lapwing.protocol.messages.problems import Problem
from lapwing.service.storage.sql_store import Store
from lapwing.service.storage.store import EpochState, FormerNotice, StoredEpoch, StoredSurvey
from lapwing.service.storage.survey_rows import THE_SURVEY
from lapwing.survey.survey import Survey, text_fingerprint

EVERYBODY_ELSE = "other"
"""The segment of reports without one."""


@dataclass(eq=False)
class KeptSurvey:
    """A survey, ready to receive reports.

    survey: Read from its document.
    notices: Earlier texts of the survey, the oldest first.
    past: Epochs whose end is past by the latest look at the clock alone, with what that look makes
        of them: "grace" or "closed". They have not moved on yet.
    pages: Pages about the survey that were made, by their templates. None of them shows epochs.
    """

    stored: StoredSurvey
    survey: Survey
    epochs: dict[str, StoredEpoch] = field(default_factory=dict)
    notices: list[FormerNotice] = field(default_factory=list)
    past: dict[str, EpochState] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)

    def state_of(self, epoch: StoredEpoch) -> EpochState:
        """Return the public state of an epoch. Past its end, it takes no new answers."""
        return "grace" if epoch.name in self.past and epoch.state != "closed" else epoch.state

    @cached_property
    def tag(self) -> str:
        """A hash of the document: its text may change, though the fingerprint does not."""
        return sha256(self.stored.document).hexdigest()

    def notice_of(self, epoch: StoredEpoch) -> Mapping[str, str]:
        """Return the text that people are asked in an epoch."""
        return self._texts[min(epoch.text_version, len(self.notices))]

    def document_of(self, name: str) -> bytes:
        """Return the document of the survey with the text that people are asked in an epoch."""
        notice = self.notice_of(self.epochs[name])
        if notice == self.survey.notice:
            return self.stored.document
        document = {**self.survey.to_document(), "notice": dict(notice)}
        if not notice:
            del document["notice"]
        return canonical(document)

    def text_of(self, epoch: StoredEpoch) -> str:
        """Return the fingerprint of that text."""
        return self._fingerprints[min(epoch.text_version, len(self.notices))]

    @property
    def _texts(self) -> list[Mapping[str, str]]:
        return [*(each.text for each in self.notices), self.survey.notice]

    @cached_property
    def _fingerprints(self) -> list[str]:
        return [text_fingerprint(each) for each in self._texts]

    @property
    def invited_only(self) -> bool:
        """Whether a report needs an upload token."""
        return self.stored.upload == "tokens"

    @property
    def segments(self) -> tuple[str, ...]:
        """All labels that reports are counted under. Empty when the survey declares none."""
        named = self.survey.segments
        return (*named, EVERYBODY_ELSE) if named else ()


class Catalog:
    """Contents of the store as of the last change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: dict[str, KeptSurvey] = {}
        self._deleted: dict[str, set[str]] = {}
        self._loading = Lock()

    def __iter__(self) -> Iterator[KeptSurvey]:
        return iter(list(self._kept.values()))

    @property
    def new(self) -> bool:
        """Whether there never was a survey."""
        return not self._kept and not self._deleted

    def get(self, fingerprint: str) -> KeptSurvey | None:
        """Return a survey. None where there is none."""
        return self._kept.get(fingerprint)

    def deleted(self, fingerprint: str, epoch: str) -> Problem | None:
        """Return what an upload hears of a survey or epoch that is gone. None: it never was."""
        names = self._deleted.get(fingerprint, set())
        if fingerprint not in self._kept:
            return Problem.SURVEY_DELETED if THE_SURVEY in names else None
        return Problem.EPOCH_DELETED if epoch in names else None

    def load(self) -> None:
        """Read all surveys and epochs again.

        Earlier readings are used again: reading a survey proves its thresholds, which takes
        time. One name is bound last, so whoever looks meanwhile sees the old or the new. Of two
        who read at once, the later one's reading stays.
        """
        with self._loading:
            self._deleted = self._store.deleted()
            self._kept = {
                stored.fingerprint: self._one(stored, epochs, notices)
                for stored, epochs, notices in self._store.catalog()
            }

    def _one(
        self, stored: StoredSurvey, epochs: list[StoredEpoch], notices: list[FormerNotice]
    ) -> KeptSurvey:
        known = self._kept.get(stored.fingerprint)
        if known is not None and known.stored.document == stored.document:
            survey = known.survey
        else:
            survey = Survey.from_json(stored.document)
        named = {epoch.name: epoch for epoch in epochs}
        past, pages = ({}, {}) if known is None else (known.past, known.pages)
        if known is not None and (known.stored, known.notices) != (stored, notices):
            pages = {}
        return KeptSurvey(stored, survey, named, notices, past, pages)
