"""Surveys, epochs and uploads whose counts are known exactly."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import numpy as np

import lapwing as lw
from lapwing.documents import canonical
from lapwing.protocol.messages.batch import Batch
from lapwing.protocol.messages.reports import Reports, pack_codes
from lapwing.protocol.messages.tally import CountTally, TallyLog
from lapwing.service.storage.sql_store import Store
from lapwing.service.storage.store import StoredEpoch, StoredSurvey, Upload

LABELS = lw.Survey("labels", lw.RandomizedResponse(lw.Categories(64), 1))
LARGE = lw.Survey("large", lw.RandomizedResponse(lw.Categories(65_536), 1))
COUNTED = lw.Survey("counted", lw.RandomizedResponse(lw.Categories(8192), 1))
SEGMENTED = lw.Survey(
    "by country", lw.RandomizedResponse(lw.Categories(300), 1), segments=["DE", "FR"]
)
HASHED = lw.Survey("hashed", lw.LinearHashing(lw.Categories(2**32), 1))

_ids = count(1)


def new_id() -> bytes:
    return next(_ids).to_bytes(16, "big")


def publish(
    store: Store, survey: lw.Survey = LABELS, *, epoch: str = "w1", upload: str = "open"
) -> None:
    """Add a survey with one open epoch."""
    document = canonical(survey.to_document())
    assert store.add_survey(StoredSurvey(survey.fingerprint, document, upload=upload))  # type: ignore[arg-type]
    store.set_survey_state(survey.fingerprint, "published")
    assert store.put_epoch(survey.fingerprint, StoredEpoch(epoch))
    store.set_epoch_state(survey.fingerprint, epoch, "open")


def batch(codes: Sequence[int], survey: lw.Survey = LABELS, *, segment: int = 0) -> Batch:
    """Return a batch of reports that are these codes."""
    width = survey.randomizer.report_width
    data = pack_codes(np.array(codes, dtype=np.int64), width=width)
    reports = Reports(data, survey.randomizer.fingerprint)
    return Batch.of(reports, survey=survey.fingerprint, segment=segment)


def upload(
    codes: Sequence[int],
    survey: lw.Survey = LABELS,
    *,
    epoch: str = "w1",
    id: bytes | None = None,
    segment: int = 0,
    token: bytes | None = None,
) -> Upload:
    made = batch(codes, survey, segment=segment)
    return Upload(survey.fingerprint, epoch, id or new_id(), made, token)


def counts(
    store: Store, survey: lw.Survey = LABELS, *, epoch: str = "w1", segment: str | None = None
) -> list[int]:
    """Return how often each code was counted, as far as any was."""
    tally = store.tally(survey.fingerprint, epoch, segment=segment)
    assert isinstance(tally, CountTally)
    found: list[int] = tally.blocks[0].tolist()
    assert sum(found) == tally.total
    return found


def codes(store: Store, survey: lw.Survey, *, epoch: str = "w1") -> list[int]:
    """Return all codes of a log."""
    tally = store.tally(survey.fingerprint, epoch)
    assert isinstance(tally, TallyLog)
    found: list[int] = tally.codes.tolist()
    return found


def fold(store: Store) -> None:
    while store.fold(everything=True):
        pass
