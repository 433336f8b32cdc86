"""The pages of a survey: how many reported, what their reports say, and what they cannot."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response

from lapwing.protocol.domains.product import Product
from lapwing.protocol.messages.problems import Problem
from lapwing.results.rounding import exact_text
from lapwing.service.analyst_routes import found_survey, pair_question
from lapwing.service.catalog import KeptSurvey
from lapwing.service.collector import Collector
from lapwing.service.pages.page_answers import page
from lapwing.service.pages.plain_words import (
    TEXTS,
    asked_in_words,
    guarantee_in_words,
    learned_at_most,
    look_in_words,
    predicted,
)
from lapwing.service.pages.result_views import (
    difference_view,
    pair_asks,
    pair_difference_view,
    pair_view,
    result_view,
)
from lapwing.service.pages.sign_in import admin_here, admin_proof, analyst_here, to_sign_in
from lapwing.service.problem_answers import ProblemError, malformed
from lapwing.service.requests import check_query, collector_of
from lapwing.service.results import Question
from lapwing.service.survey_states import state_document, survey_rows
from lapwing.survey.browser import why_not_in_browser

QUERY = ("epoch", "segment", "level", "against", "low", "high", "condition", "error", "wait")

LEVELS = ("0.8", "0.9", "0.95", "0.99", "0.999")

QUICK_ALARM = 256
"""Symbols up to which a page looks for fabricated reports unasked."""
# Above, it takes seconds, and results that are asked for meanwhile would wait for it.

PATIENCE = 0.3
"""Seconds that a page waits for a result. A later one is put in by a script, or by a click."""

MOST_SIGNS = 100
"""Of an end of a range."""


@dataclass(frozen=True, kw_only=True)
class Wish:
    """Fields of the form on a survey's page.

    segment: "" is everybody.
    level: One of the levels of the form.
    against: "epoch:NAME", "segment:LABEL", or "" for no comparison.
    low, high: Ends of a range. "" is open.
    condition: Of two attributes: the one that the range is of.
    error: The error that is wanted, or "".
    """

    epoch: str
    segment: str = ""
    level: str = "0.95"
    against: str = ""
    low: str = ""
    high: str = ""
    condition: str = ""
    error: str = ""

    @property
    def query(self) -> str:
        """The query of an address that asks the same."""
        fields = {key: value for key, value in vars(self).items() if value}
        return urlencode(fields)

    def question(self, kept: KeptSurvey, *, ranged: bool = True) -> Question:
        """Return what is asked of the reports, but for the comparison."""
        domain = kept.survey.randomizer.domain
        if isinstance(domain, Product):
            asked = pair_asks(domain, self.condition, self.low, self.high) if ranged else ()
            return pair_question(
                kept, self.epoch, segment=self.segment or None, level=float(self.level), asks=asked
            )
        asks = ranged and (self.low or self.high)
        return Question(
            epoch=self.epoch,
            segment=self.segment or None,
            level=float(self.level),
            ranges=((self.low, self.high),) if asks else (),
        )

    def comparison(self, kept: KeptSurvey) -> Question | None:
        """Return what is asked of two. None without a comparison."""
        kind, _, name = self.against.partition(":")
        if not name:
            return None
        epoch, segment = (name if kind == each else None for each in ("epoch", "segment"))
        return replace(self.question(kept, ranged=False), against=epoch, against_segment=segment)

    def files(self, kept: KeptSurvey, question: Question) -> dict[str, str]:
        """Return the addresses of a result in its forms."""
        kind = "pairs" if _is_pair(kept) else "results"
        fields = {
            "segment": question.segment,
            "level": self.level,
            "against": question.against,
            "against_segment": question.against_segment,
        }
        query = urlencode({key: value for key, value in fields.items() if value})
        stem = f"/v1/surveys/{kept.stored.fingerprint}/{kind}/{quote(self.epoch)}"
        pictured = kind == "results" or not question.compares
        return {
            form: f"{stem}{'' if form == 'json' else '.' + form}?{query}"
            for form in ("json", "csv", *(("png", "svg") if pictured else ()))
        }


async def show_overview(request: Request) -> Response:
    """Return the page of all surveys."""
    if not analyst_here(request):
        return to_sign_in(request)
    check_query(request, ())
    collector = collector_of(request)
    asked = {kept.stored.fingerprint: kept for kept in collector.catalog}
    rows = [
        {
            **row,
            "asks": asked_in_words(asked[row["survey"]].survey),
            "question": asked[row["survey"]].survey.question,
            "promise": guarantee_in_words(asked[row["survey"]].survey)[1],
            "app_only": why_not_in_browser(asked[row["survey"]].survey),
        }
        for row in survey_rows(collector.catalog)
        if row["survey"] in asked
    ]
    return page("overview.html", surveys=rows, admin=bool(admin_proof(request)), signed_in=True)


async def show_survey(request: Request) -> Response:
    """Return the page of a survey, with what its reports say when that is soon known."""
    if not analyst_here(request):
        return to_sign_in(request)
    check_query(request, QUERY)
    collector, kept = found_survey(request)
    state = await state_document(collector, kept, admin=admin_here(request))
    wish = _wish(request, state)
    shown: dict[str, Any] = {"result": None, "waiting": False}
    if wish is not None:
        patience = None if request.query_params.get("wait") else PATIENCE
        told = await _soon(_told(collector, kept, wish, state), patience)
        shown = {"result": told, "waiting": told is None}
    return page(
        "survey.html",
        **_about(kept, state),
        wish=wish,
        texts=_texts(kept, wish),
        levels=LEVELS,
        proof=admin_proof(request),
        admin=admin_here(request),
        signed_in=True,
        compared=_comparable(kept, state, wish),
        **shown,
    )


async def show_result(request: Request) -> Response:
    """Return what the reports say, as the part of a page. It takes as long as it takes."""
    if not analyst_here(request):
        raise _nobody()
    check_query(request, QUERY)
    collector, kept = found_survey(request)
    state = await state_document(collector, kept, admin=admin_here(request))
    wish = _wish(request, state)
    if wish is None:
        raise malformed("the survey has no epoch yet")
    result = await _told(collector, kept, wish, state)
    template = "pair.html" if _is_pair(kept) else "result.html"
    return page(template, result=result, wish=wish, **_about(kept, state))


async def show_alarm(request: Request) -> Response:
    """Return whether reports were fabricated, as a page or (``part=1``) as a part of one."""
    if not analyst_here(request):
        return to_sign_in(request)
    check_query(request, ("epoch", "segment", "part"))
    collector, kept = found_survey(request)
    query = request.query_params
    found: dict[str, Any] = {"alarm": None, "refused": None}
    try:
        found["alarm"] = await collector.results.alarm(
            kept, query.get("epoch", ""), query.get("segment") or None
        )
    except ProblemError as problem:
        if problem.problem != Problem.CANNOT_BE_SAID:
            raise
        found["refused"] = problem.detail
    template = "alarm.html" if query.get("part") else "alarm_page.html"
    return page(
        template,
        **found,
        name=kept.survey.name,
        fingerprint=kept.stored.fingerprint,
        epoch=query.get("epoch", ""),
        signed_in=True,
    )


def _is_pair(kept: KeptSurvey) -> bool:
    return kept.survey.randomizer.domain.name == Product.name


def _nobody() -> ProblemError:
    return ProblemError(Problem.TOKEN_NEEDED, "sign in again. The rest of the page is kept")


async def _soon(work: Any, seconds: float | None) -> Any:
    """Return what work gives, or None when it takes longer. It goes on for whoever asks next."""
    task = asyncio.ensure_future(work)
    done, _ = await asyncio.wait([task], timeout=seconds)
    if done:
        return task.result()
    task.add_done_callback(_taken)
    return None


def _taken(task: asyncio.Future[Any]) -> None:
    """Look at an error that nobody waits for. The next request is told."""
    if not task.cancelled():
        task.exception()


def _wish(request: Request, state: Mapping[str, Any]) -> Wish | None:
    """Return what the form asks. Of the newest epoch with enough reports, when it names none."""
    query = request.query_params
    epochs = state["epochs"]
    if not epochs:
        return None
    enough = [epoch for epoch in epochs if epoch["reports"] is not None]
    newest = (enough or epochs)[-1]["name"]
    low, high, error = (query.get(key, "").strip() for key in ("low", "high", "error"))
    level = query.get("level", "0.95")
    if level not in LEVELS:
        raise malformed(f"the level must be one of {', '.join(LEVELS)}")
    if max(len(low), len(high)) > MOST_SIGNS:
        raise malformed(f"an end of a range must have at most {MOST_SIGNS} characters")
    return Wish(
        epoch=query.get("epoch") or newest,
        segment=query.get("segment", ""),
        level=level,
        against=query.get("against", ""),
        low=low,
        high=high,
        condition=query.get("condition", ""),
        error=error,
    )


async def _told(
    collector: Collector, kept: KeptSurvey, wish: Wish, state: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the reports say, and of each part that cannot be said, why."""
    told: dict[str, Any] = {
        "view": None,
        "problem": None,
        "range_problem": None,
        "difference": None,
        "difference_problem": None,
        "look": None,
        "difference_looks": [],
        "files": wish.files(kept, wish.question(kept)),
        "difference_files": None,
    }
    try:
        document = await _document(collector, kept, wish, told)
    except ProblemError as problem:
        return {**told, "problem": _said(problem)}
    view = pair_view if _is_pair(kept) else result_view
    told["view"], told["look"] = view(document), look_in_words(document["look"])
    told["planned"] = predicted(kept.survey, reports=document["reports"], error=_wanted(wish.error))
    told["error_problem"] = bool(wish.error) and _wanted(wish.error) is None
    compared = wish.comparison(kept)
    if compared is not None:
        told["difference_files"] = wish.files(kept, compared)
        try:
            gap = await _decoded(collector, kept, compared)
            told["difference"] = (pair_difference_view if _is_pair(kept) else difference_view)(gap)
            if gap["against"] != gap["epoch"]:
                told["difference_looks"] = [
                    f"{gap[name]}: {look_in_words(gap[look])}"
                    for name, look in (("epoch", "look"), ("against", "against_look"))
                ]
        except ProblemError as problem:
            told["difference_problem"] = _said(problem)
    return told


async def _document(
    collector: Collector, kept: KeptSurvey, wish: Wish, told: dict[str, Any]
) -> dict[str, Any]:
    """Return the result, without the range where just that cannot be said."""
    try:
        return await _decoded(collector, kept, wish.question(kept))
    except ProblemError as problem:
        if problem.problem != Problem.CANNOT_BE_SAID or not (wish.low or wish.high):
            raise
        document = await _decoded(collector, kept, wish.question(kept, ranged=False))
        # The form has no field with such a name.
        detail = re.sub(r"\b(above|at_least|at_most|below) must", "each end must", problem.detail)
        told["range_problem"] = detail
        return document


async def _decoded(collector: Collector, kept: KeptSurvey, question: Question) -> dict[str, Any]:
    try:
        return await collector.results.document(kept, question)
    except ProblemError:
        raise
    except Exception as error:  # a decoder's defect: its place is written down, the page stays
        collector.log.defect(error)
        raise ProblemError(
            Problem.NO_RESULT, "the decoder failed. Please report it. The reports are safe"
        ) from None


def _said(problem: ProblemError) -> dict[str, Any]:
    return {
        "word": problem.problem.value,
        "title": problem.problem.sentence,
        "detail": problem.detail,
        "again": problem.retry_after,
    }


def _wanted(text: str) -> float | None:
    try:
        error = float(text)
    except ValueError:
        return None
    return error if math.isfinite(error) and 0 < error < 1 else None


def _comparable(
    kept: KeptSurvey, state: Mapping[str, Any], wish: Wish | None
) -> list[tuple[str, str]]:
    """Return what a shown result can be compared with, as values and texts of a choice."""
    if wish is None:
        return []
    epochs = [each["name"] for each in state["epochs"] if each["name"] != wish.epoch]
    if kept.survey.answers != "fresh":
        epochs = []
    segments = [name for name in kept.segments if name != wish.segment]
    return [(f"epoch:{name}", f"epoch {name}") for name in epochs] + [
        (f"segment:{name}", f"segment {name}") for name in segments
    ]


def _texts(kept: KeptSurvey, wish: Wish | None) -> list[tuple[str, str]]:
    """Return what people are asked in the epoch that is shown, as names and texts."""
    epoch = None if wish is None else kept.epochs.get(wish.epoch)
    notice = kept.survey.notice if epoch is None else kept.notice_of(epoch)
    return [(label, notice[key]) for key, label in TEXTS if key in notice]


def _about(kept: KeptSurvey, state: Mapping[str, Any]) -> dict[str, Any]:
    survey = kept.survey
    epsilon = survey.guarantee.epsilon
    return {
        "state": state,
        "fingerprint": kept.stored.fingerprint,
        "name": survey.name,
        "asks": asked_in_words(survey),
        "pair": _is_pair(kept),
        "quick_alarm": survey.randomizer.domain.size <= QUICK_ALARM,
        "guarantee": guarantee_in_words(survey),
        "learned": learned_at_most(epsilon),
        "epsilon": exact_text(epsilon),
        "app_only": why_not_in_browser(survey),
    }
