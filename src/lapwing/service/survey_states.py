"""State of a survey before anything is decoded: its terms, and how many reported."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Annotated, Any, NotRequired, TypedDict, cast

from msgspec import Meta

from lapwing.results.rounding import count_text
from lapwing.service.catalog import Catalog, KeptSurvey
from lapwing.service.collector import Collector
from lapwing.service.problem_answers import Count
from lapwing.service.results import LookDocument, look_document
from lapwing.service.storage.looks import rests
from lapwing.service.storage.store import Look, StoredEpoch, StoredSurvey, SurveyState, UploadRule
from lapwing.service.survey_life import EpochDocument, epoch_document
from lapwing.service.typed_bodies import Fingerprint

AnswersKind = Annotated[
    str, Meta(extra_json_schema={"enum": ["fresh", "remembered report", "remembered round"]})
]
"""What a device keeps of its answers from one epoch to the next."""


class TermsDocument(TypedDict):
    """Decisions of a collector about a survey."""

    survey: Fingerprint
    state: SurveyState
    minimum: Annotated[int, Meta(ge=1)]
    upload: UploadRule
    retention_days: int | None


class SurveyHead(TermsDocument):
    """A survey in words, before anything is counted."""

    name: str
    randomizer: str
    guarantee: Annotated[dict[str, Any], Meta(description="Privacy guarantee of one report.")]
    guarantee_text: str
    answers: AnswersKind
    segments: list[str]
    segment_minimum: int | None


class SurveyRow(SurveyHead):
    """A survey in the list of all."""

    epochs: list[EpochDocument]


class CountDocument(TypedDict):
    """A number of reports."""

    reports: Annotated[int | None, Meta(description="null: too few to be shown.")]
    reports_text: Annotated[str, Meta(description="The number, or why it is hidden.")]


class SegmentCount(CountDocument):
    """The reports of one segment."""

    segment: str


Reasons = Annotated[
    dict[str, Count] | None,
    Meta(description="Refused uploads by reason. null unless you are an admin."),
]


class CountedEpoch(EpochDocument, CountDocument):
    """An epoch with its reports, all of them as of one look."""

    look: LookDocument | None
    received: Annotated[
        Count | None,
        Meta(description="Reports so far, shown or not. null unless you are an admin."),
    ]
    refused: Reasons
    segments: NotRequired[list[SegmentCount]]


class TokenCounts(TypedDict):
    """Upload tokens of a survey that needs them. Shown to admins only."""

    unused: Count
    used: Count


class StateDocument(SurveyHead):
    """A survey with what was counted."""

    upload_tokens: TokenCounts | None
    epochs: list[CountedEpoch]
    refused: Reasons


def survey_rows(catalog: Catalog) -> list[SurveyRow]:
    """Return a line for each survey."""
    return [
        {**_head(kept), "epochs": [epoch_document(epoch, kept) for epoch in kept.epochs.values()]}
        for kept in catalog
    ]


def terms_document(stored: StoredSurvey) -> TermsDocument:
    """Return a survey's terms."""
    return {
        "survey": stored.fingerprint,
        "state": stored.state,
        "minimum": stored.minimum,
        "upload": stored.upload,
        "retention_days": stored.retention_days,
    }


def _head(kept: KeptSurvey) -> SurveyHead:
    guarantee = kept.survey.guarantee
    return {
        **terms_document(kept.stored),
        "name": kept.survey.name,
        "randomizer": kept.survey.randomizer.name,
        "guarantee": guarantee.to_document(),
        "guarantee_text": str(guarantee),
        "answers": kept.survey.answers,
        "segments": list(kept.segments),
        "segment_minimum": kept.survey.segment_minimum if kept.segments else None,
    }


async def state_document(collector: Collector, kept: KeptSurvey, *, admin: bool) -> StateDocument:
    """Return how many reports a survey has. Those of too few people only as such.

    Counts of reports are those of the last looks. Only an admin sees newer reports, refusals and
    used upload tokens. They would tell when one person reported.

    admin: Whether an admin asks.
    """
    fingerprint, store = kept.stored.fingerprint, collector.store
    looks = [await collector.results.look(kept, name) for name in kept.epochs]
    epochs = [
        _epoch(epoch, kept, look, now=collector.clock())
        for epoch, look in zip(kept.epochs.values(), looks, strict=True)
    ]
    document: StateDocument = {
        **_head(kept),
        "upload_tokens": None,
        "epochs": epochs,
        "refused": None,
    }
    if not admin:
        return document
    # What was refused a moment ago is part of it.
    await collector.ask_store(partial(collector.refusals.store, store))
    reasons: dict[str, dict[str, int]] = {"": {}}
    for one in await collector.ask_store(partial(store.refused, fingerprint)):
        reasons.setdefault(one.epoch, {})[one.reason] = one.number
    received: Counter[str] = Counter()
    for each in await collector.ask_store(partial(store.totals, fingerprint)):
        received[each.epoch] += each.reports
    for shown in epochs:
        shown["received"] = received[shown["name"]]
        shown["refused"] = reasons.get(shown["name"], {})
    if kept.invited_only:
        tokens = await collector.ask_store(partial(store.upload_tokens, fingerprint))
        document["upload_tokens"] = {"unused": tokens.unused, "used": tokens.used}
    document["refused"] = reasons[""]
    return document


def _epoch(epoch: StoredEpoch, kept: KeptSurvey, look: Look | None, *, now: float) -> CountedEpoch:
    minimum = kept.stored.minimum
    total = 0 if look is None else look.total
    enough = total >= minimum
    shown = look_document(look, kept, epoch.name, now=now) if look is not None and enough else None
    counts_and_times = {
        **epoch_document(epoch, kept),
        **count_document(total, minimum=minimum, shown=enough),
        "look": shown,
        "received": None,
        "refused": None,
    }
    document = cast(CountedEpoch, counts_and_times)
    resting = rests(epoch, now, answers=kept.survey.answers)
    if look is None and resting and epoch.state != "planned":
        document["reports_text"] = "shown when it has closed"
    if kept.segments:
        least = max(minimum, kept.survey.segment_minimum)
        counts = dict.fromkeys(kept.segments, 0) if look is None else look.reports
        document["segments"] = [
            {
                "segment": name,
                **count_document(
                    counts[name],
                    minimum=least,
                    shown=look is not None and enough and name in look.visible,
                ),
            }
            for name in kept.segments
        ]
    return document


def count_document(reports: int, *, minimum: int, shown: bool) -> CountDocument:
    """Return a count as it may be told.

    >>> count_document(999, minimum=1000, shown=False)
    {'reports': None, 'reports_text': 'fewer than 1,000'}
    """
    if shown:
        return {"reports": reports, "reports_text": count_text(reports)}
    return {
        "reports": None,
        "reports_text": f"fewer than {count_text(minimum)}" if reports < minimum else "hidden",
    }
