"""What is told of a survey before anything is decoded: its terms, and how many reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import Any

from lapwing.service.catalog import Catalog, KeptSurvey
from lapwing.service.collector import Collector
from lapwing.service.shown_counts import count_document, shown_segments
from lapwing.service.storage.store import StoredEpoch, UploadTokens
from lapwing.service.survey_life import epoch_document


def survey_rows(catalog: Catalog) -> list[dict[str, Any]]:
    """Return a line for each survey."""
    return [
        {
            **_head(kept),
            "epochs": [epoch_document(epoch) for epoch in kept.epochs.values()],
        }
        for kept in catalog
    ]


def _head(kept: KeptSurvey) -> dict[str, Any]:
    guarantee = kept.survey.guarantee
    return {
        "survey": kept.stored.fingerprint,
        "name": kept.survey.name,
        "state": kept.stored.state,
        "randomizer": kept.survey.randomizer.name,
        "guarantee": guarantee.to_document(),
        "guarantee_text": str(guarantee),
        "answers": kept.survey.answers,
        "minimum": kept.stored.minimum,
        "upload": kept.stored.upload,
        "retention_days": kept.stored.retention_days,
        "segments": list(kept.segments),
        "segment_minimum": kept.survey.segment_minimum if kept.segments else None,
    }


async def state_document(collector: Collector, kept: KeptSurvey) -> dict[str, Any]:
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


def _tokens(
    tokens: UploadTokens, epochs: Iterable[Counter[str]], minimum: int
) -> dict[str, int | None]:
    """Return how many tokens there are; hidden while they would tell a number of reports that is.

    A used token is one report, so those used less the reports that are shown are the others: in
    epochs of too few, or deleted.
    """
    together = (epoch.total() for epoch in epochs)
    hidden = tokens.used - sum(reports for reports in together if reports >= minimum)
    if 0 < hidden < minimum:
        return {"unused": None, "used": None}
    return tokens._asdict()


def _epoch(
    epoch: StoredEpoch, kept: KeptSurvey, counts: Counter[str], refused: dict[str, int]
) -> dict[str, Any]:
    minimum = kept.stored.minimum
    together = counts.total()
    enough = together >= minimum
    document = {
        **epoch_document(epoch),
        **count_document(together, minimum=minimum, shown=enough),
        "refused": refused,
    }
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
