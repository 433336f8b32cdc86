"""What is told of a survey before anything is decoded: its terms, and how many reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import Annotated, Any, NotRequired, TypedDict, cast

from msgspec import Meta

from lapwing.service.catalog import Catalog, KeptSurvey
from lapwing.service.collector import Collector
from lapwing.service.problem_answers import Count
from lapwing.service.shown_counts import CountDocument, count_document, shown_segments
from lapwing.service.storage.store import (
    StoredEpoch,
    StoredSurvey,
    SurveyState,
    UploadRule,
    UploadTokens,
)
from lapwing.service.survey_life import EpochDocument, epoch_document
from lapwing.service.typed_bodies import Fingerprint

AnswersKind = Annotated[
    str, Meta(extra_json_schema={"enum": ["fresh", "remembered report", "remembered round"]})
]
"""What a device keeps of its answers from one epoch to the next."""


class TermsDocument(TypedDict):
    """What a collector has decided about a survey."""

    survey: Fingerprint
    state: SurveyState
    minimum: Annotated[int, Meta(ge=1)]
    upload: UploadRule
    retention_days: int | None


class SurveyHead(TermsDocument):
    """A survey in words, before anything is counted."""

    name: str
    randomizer: str
    guarantee: Annotated[dict[str, Any], Meta(description="What one report promises its sender.")]
    guarantee_text: str
    answers: AnswersKind
    segments: list[str]
    segment_minimum: int | None


class SurveyRow(SurveyHead):
    """A survey in the list of all."""

    epochs: list[EpochDocument]


class SegmentCount(CountDocument):
    """The reports of one segment."""

    segment: str


class CountedEpoch(EpochDocument, CountDocument):
    """An epoch with its reports, and the uploads that were refused, by the reason."""

    refused: dict[str, Count]
    segments: NotRequired[list[SegmentCount]]


class TokenCounts(TypedDict):
    """Upload tokens; null while the number would tell how many reported."""

    unused: Count | None
    used: Count | None


class StateDocument(SurveyHead):
    """A survey with what was counted."""

    upload_tokens: TokenCounts | None
    epochs: list[CountedEpoch]
    refused: dict[str, Count]


def survey_rows(catalog: Catalog) -> list[SurveyRow]:
    """Return a line for each survey."""
    return [
        {
            **_head(kept),
            "epochs": [epoch_document(epoch) for epoch in kept.epochs.values()],
        }
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


async def state_document(collector: Collector, kept: KeptSurvey) -> StateDocument:
    """Return how many reports a survey has; those of too few people only as such.

    Parameters
    ----------
    collector : Collector
    kept : KeptSurvey
    """
    fingerprint, store = kept.stored.fingerprint, collector.store
    # What was refused a moment ago is part of it.
    await collector.ask_store(partial(collector.refusals.store, store))
    totals = await collector.ask_store(partial(store.totals, fingerprint))
    refused = await collector.ask_store(partial(store.refused, fingerprint))
    tokens = None
    if kept.invited_only:
        tokens = await collector.ask_store(partial(store.upload_tokens, fingerprint))
    minimum = kept.stored.minimum
    counts: dict[str, Counter[str]] = {}
    for each in totals:
        counts.setdefault(each.epoch, Counter())[each.segment] += each.reports
    reasons: dict[str, dict[str, int]] = {}
    for one in refused:
        reasons.setdefault(one.epoch, {})[one.reason] = one.number
    return {
        **_head(kept),
        "upload_tokens": None if tokens is None else _tokens(tokens, counts.values(), minimum),
        "epochs": [
            _epoch(epoch, kept, counts.get(epoch.name, Counter()), reasons.get(epoch.name, {}))
            for epoch in kept.epochs.values()
        ],
        "refused": reasons.get("", {}),
    }


def _tokens(tokens: UploadTokens, epochs: Iterable[Counter[str]], minimum: int) -> TokenCounts:
    """Return how many tokens there are; hidden while they would tell a number of reports that is.

    A used token is one report, so those used less the reports that are shown are the others: in
    epochs of too few, or deleted.
    """
    together = (epoch.total() for epoch in epochs)
    hidden = tokens.used - sum(reports for reports in together if reports >= minimum)
    if 0 < hidden < minimum:
        return {"unused": None, "used": None}
    return {"unused": tokens.unused, "used": tokens.used}


def _epoch(
    epoch: StoredEpoch, kept: KeptSurvey, counts: Counter[str], refused: dict[str, int]
) -> CountedEpoch:
    minimum = kept.stored.minimum
    together = counts.total()
    enough = together >= minimum
    counts_and_times = {
        **epoch_document(epoch),
        **count_document(together, minimum=minimum, shown=enough),
        "refused": refused,
    }
    document = cast(CountedEpoch, counts_and_times)
    if kept.segments:
        least = max(minimum, kept.survey.segment_minimum)
        by_segment = {name: counts[name] for name in kept.segments}
        shown = shown_segments(by_segment, minimum=least) if enough else set()
        document["segments"] = [
            {
                "segment": name,
                **count_document(reports, minimum=least, shown=name in shown),
            }
            for name, reports in by_segment.items()
        ]
    return document
