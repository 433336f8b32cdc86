"""Routes of an analyst: surveys, their state, tallies and results, also of two attributes.

They need a token of a role.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NotRequired, TypedDict, get_args

from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from lapwing.documents import canonical
from lapwing.errors import ArgumentError
from lapwing.protocol.domains.product import Product
from lapwing.protocol.messages.batch import EPOCH_NAME
from lapwing.protocol.messages.problems import Problem
from lapwing.questions import read
from lapwing.results.answer_documents import (
    PROBABILITIES,
    DifferenceAnswer,
    HeavyHittersAnswer,
    LabelsAnswer,
    NumbersAnswer,
)
from lapwing.results.joint_conditions import read_joint
from lapwing.results.joint_documents import JointAnswer, JointDifferenceAnswer
from lapwing.results.uncertainty import Target
from lapwing.service.catalog import KeptSurvey
from lapwing.service.collector import Collector
from lapwing.service.decoding_orders import MEDIA_TYPES, AlarmDocument, Form
from lapwing.service.problem_answers import malformed
from lapwing.service.requests import (
    NOT_KEPT,
    AnswerSchema,
    collector_of,
    endpoint,
    json_answer,
    json_of,
    role_of,
)
from lapwing.service.results import LookDocument, Question
from lapwing.service.survey_states import StateDocument, SurveyRow, state_document, survey_rows
from lapwing.service.typed_bodies import EpochName, Fingerprint, Query

MOST_PROBABILITIES = 100

MOST_TOGETHER = 16

MOST_ASKED = 16

LOWEST_LEVEL, HIGHEST_LEVEL = 0.5, 0.9999

SURVEY = "/v1/surveys/{survey}"

_SHOWN = (
    *(Problem.UNKNOWN_SURVEY, Problem.UNKNOWN_EPOCH, Problem.UNKNOWN_SEGMENT),
    *(Problem.TOO_FEW, Problem.NOT_WHILE_OPEN),
)
DECODED = (*_SHOWN, Problem.CANNOT_BE_SAID, Problem.NO_RESULT)

_Segment = Annotated[
    str | None,
    Meta(description='A segment of the survey, or "other" for reports without a segment.'),
]


class SegmentQuery(Query):
    """Of all, or of one segment."""

    segment: _Segment = None


class ComparedQuery(SegmentQuery):
    """The level, and what a result is compared with."""

    level: Annotated[
        float, Meta(ge=LOWEST_LEVEL, le=HIGHEST_LEVEL, description="Level of all intervals.")
    ] = 0.95
    against: Annotated[str | None, Meta(description="Another epoch to compare with.")] = None
    against_segment: Annotated[str | None, Meta(description="Another segment to compare with.")] = (
        None
    )
    target: Annotated[
        Target,
        Meta(
            description="Target of a comparison: the population from which both groups were "
            "drawn, or the respondents themselves (empirical)."
        ),
    ] = "population"


class ResultQuery(ComparedQuery):
    """Questions put to a result."""

    low: Annotated[
        Annotated[str, Meta(max_length=100)] | None,
        Meta(description="Start of a range. Without it, the range is unbounded."),
    ] = None
    high: Annotated[
        Annotated[str, Meta(max_length=100)] | None,
        Meta(
            description="End of a range, open or closed like the bins. Without it, the "
            "range is unbounded."
        ),
    ] = None
    quantiles: Annotated[
        str | None,
        Meta(
            description="Probabilities of the quantiles, separated by commas. On a circle give "
            "start."
        ),
    ] = None
    start: Annotated[
        Annotated[str, Meta(max_length=100)] | None,
        Meta(description="On a circle: the value from which quantiles are counted."),
    ] = None
    ask: Annotated[
        tuple[str, ...],
        Meta(
            description="A question such as share above 50000, histogram bins 16, mean, quantile "
            "0.5 or curve. May be repeated. Default: the survey's own question. A table or a "
            "picture of the curve accepts no other question."
        ),
    ] = ()
    together: Annotated[
        str | None,
        Meta(
            description="Epochs of other surveys about the same distribution, as FINGERPRINT/EPOCH "
            "separated by commas. All of them give one answer."
        ),
    ] = None


class SurveyList(TypedDict):
    """All surveys."""

    surveys: list[SurveyRow]


class JoinedEpoch(TypedDict):
    """An epoch of another survey whose reports are in the answer."""

    survey: Fingerprint
    epoch: EpochName
    look: LookDocument


class ResultHead(TypedDict):
    """The questions."""

    survey: Fingerprint
    name: str
    epoch: EpochName
    segment: str | None
    notice: Annotated[dict[str, str], Meta(description="The text that people saw in the epoch.")]
    look: LookDocument
    warnings: list[str]
    against: NotRequired[EpochName]
    against_segment: NotRequired[str | None]
    against_look: NotRequired[LookDocument]
    together: NotRequired[list[JoinedEpoch]]


_PARTS = {
    "epoch": (
        "Name of the epoch. Append .csv, .svg or .png for a table or a picture.",
        {"type": "string", "pattern": rf"^{EPOCH_NAME.pattern}(\.(csv|svg|png))?$"},
    )
}


def _result(*documents: Any) -> dict[int, AnswerSchema]:
    """Return the schema of a result, as one of these documents, or as a table or a picture."""
    result = {
        "description": "The questions and their answers, as from `lapwing decode --json`.",
        "allOf": [ResultHead, {"oneOf": [*documents]}],
    }
    content = {
        media_type.partition(";")[0]: result
        if form == "json"
        else {"type": "string", **({"format": "binary"} if form == "png" else {})}
        for form, media_type in MEDIA_TYPES.items()
    }
    return {200: AnswerSchema("A result.", content)}


@endpoint(
    "GET",
    "/v1/surveys",
    "All surveys",
    role="analyst",
    answers={200: json_of("One row per survey.", SurveyList)},
)
async def list_surveys(request: Request) -> Response:
    """Return all surveys, in a line each."""
    return json_answer(SurveyList(surveys=survey_rows(collector_of(request).catalog)))


@endpoint(
    "GET",
    SURVEY + "/state",
    "Number of reports",
    Problem.UNKNOWN_SURVEY,
    role="analyst",
    answers={200: json_of("By epoch and segment.", StateDocument)},
)
async def show_state(request: Request) -> Response:
    """Return how many reports there are, by epoch and segment, and how many were refused."""
    collector, kept = found_survey(request)
    admin = role_of(request, cookie=True) == "admin"
    return json_answer(await state_document(collector, kept, admin=admin))


@endpoint(
    "GET",
    SURVEY + "/tallies/{epoch}",
    "Tally of an epoch",
    *_SHOWN,
    Problem.NO_RESULT,
    role="analyst",
    query=SegmentQuery,
    answers={200: json_of("A tally's document.", {"type": "object"})},
)
async def show_tally(request: Request, query: SegmentQuery) -> Response:
    """Return the tally of an epoch or a segment, as every decoder of the library reads it."""
    collector, kept = found_survey(request)
    tally = await collector.results.tally(kept, request.path_params["epoch"], query.segment)
    return Response(canonical(tally.to_document()), headers=NOT_KEPT, media_type="application/json")


@endpoint(
    "GET",
    SURVEY + "/alarms/{epoch}",
    "Whether honest devices could have sent the reports",
    *DECODED,
    role="analyst",
    query=SegmentQuery,
    answers={200: json_of("The alarm.", AlarmDocument)},
)
async def show_alarm(request: Request, query: SegmentQuery) -> Response:
    """Return whether honest devices could have sent the reports."""
    collector, kept = found_survey(request)
    epoch = request.path_params["epoch"]
    return json_answer(await collector.results.alarm(kept, epoch, query.segment))


@endpoint(
    "GET",
    SURVEY + "/results/{epoch}",
    "Estimated distribution with its intervals",
    *DECODED,
    role="analyst",
    query=ResultQuery,
    parts=_PARTS,
    answers=_result(NumbersAnswer, LabelsAnswer, HeavyHittersAnswer, DifferenceAnswer),
)
async def show_result(request: Request, query: ResultQuery) -> Response:
    """Return what the reports say, as JSON, a table or a picture."""
    collector, kept = found_survey(request)
    question, form = _question_of(query, kept, request)
    return await _in_form(collector, kept, question, form)


async def _in_form(
    collector: Collector, kept: KeptSurvey, question: Question, form: Form
) -> Response:
    """Return a result as JSON, or as a table or a picture, a file of its own."""
    if form == "json":
        return json_answer(await collector.results.document(kept, question))
    content = await collector.results.content(kept, question, form)
    name = f"{kept.stored.fingerprint[:12]}-{question.epoch}.{form}"
    headers = {**NOT_KEPT, "content-disposition": f'inline; filename="{name}"'}
    if form == "svg":  # opened on its own it is a page, in which nothing may run
        headers["content-security-policy"] = "default-src 'none'; style-src 'unsafe-inline'"
    return Response(content, headers=headers, media_type=MEDIA_TYPES[form])


def found_survey(request: Request) -> tuple[Collector, KeptSurvey]:
    """Return the collector, and the survey of the address."""
    collector = collector_of(request)
    return collector, collector.life.survey(request.path_params["survey"])


def _question_of(query: ResultQuery, kept: KeptSurvey, request: Request) -> tuple[Question, Form]:
    """Return what the address and the query ask of a survey, and in which form.

    A ProblemError says what cannot be read.
    """
    epoch, form = _epoch_and_form(request, kept)
    if kept.survey.randomizer.domain.name == Product.name:
        raise malformed("this survey asks about two attributes. Its results are under pairs/")
    ranges: tuple[tuple[str, str], ...] = ()
    if query.low is not None or query.high is not None:
        ranges = ((query.low or "", query.high or ""),)
    circular = kept.survey.randomizer.domain.circular
    if query.start is not None and not circular:
        raise malformed("start is only for a survey on a circle")
    if query.quantiles is not None and circular and query.start is None:
        raise malformed("quantiles on a circle need start, the value where counting begins")
    question = Question(
        epoch=epoch,
        **_compared(query),
        ranges=ranges,
        probabilities=_probabilities(query.quantiles),
        start=query.start,
        asks=_asks(query.ask, lambda each: str(read(each))),
        together=_together(query.together, collector_of(request).life.survey),
    )
    return question, form


def _compared(query: ComparedQuery) -> dict[str, Any]:
    """Return the parameters that questions to results of any kind have."""
    return {name: getattr(query, name) for name in ComparedQuery.__struct_fields__}


def _epoch_and_form(request: Request, kept: KeptSurvey) -> tuple[str, Form]:
    """Return the name of an epoch, which may have a point in it, and the form asked for."""
    name = request.path_params["epoch"]
    stem, point, ending = name.rpartition(".")
    forms: tuple[Form, ...] = get_args(Form)
    form: Any = ending
    if point and name not in kept.epochs and form in forms:
        return stem, form
    return name, "json"


def _probabilities(text: str | None) -> tuple[float, ...]:
    if text is None:
        return PROBABILITIES
    parts = text.split(",")
    if len(parts) > MOST_PROBABILITIES:
        raise malformed(f"at most {MOST_PROBABILITIES} quantiles can be asked at once")
    try:
        numbers = tuple(float(part) for part in parts)
    except ValueError:
        numbers = (float("nan"),)
    if not all(0 <= number <= 1 for number in numbers):
        raise malformed("a quantile must be a number from 0 to 1")
    return numbers


def _asks(asks: tuple[str, ...], words: Callable[[str], str]) -> tuple[str, ...]:
    """Return questions in their own words. A ProblemError names the first that is none."""
    if len(asks) > MOST_ASKED:
        raise malformed(f"at most {MOST_ASKED} questions can be asked at once, got {len(asks)}")
    try:
        return tuple(dict.fromkeys(map(words, asks)))
    except ArgumentError as error:
        raise malformed(str(error)) from None


def _together(
    text: str | None, find: Callable[[str], KeptSurvey]
) -> tuple[tuple[KeptSurvey, str], ...]:
    """Return the surveys of FINGERPRINT/EPOCH,FINGERPRINT/EPOCH, each with the epoch."""
    parts = [] if text is None else text.split(",")
    if len(parts) > MOST_TOGETHER:
        raise malformed(
            f"at most {MOST_TOGETHER} other surveys can be decoded together with one, got "
            f"{len(parts)}"
        )
    pairs = [part.partition("/") for part in parts]
    if not all(survey and epoch for survey, _, epoch in pairs):
        raise malformed(
            "name each epoch to decode together as FINGERPRINT/EPOCH, separated by commas"
        )
    return tuple((find(survey), epoch) for survey, _, epoch in pairs)


class PairQuery(ComparedQuery):
    """Questions about two attributes together."""

    ask: Annotated[
        tuple[str, ...],
        Meta(
            description="A question such as 'quantile 0.5 of ms', 'mean of ms given hour "
            "at-least 6 below 10', 'share ms above 1000 and hour label 7' or 'correlation'. May be "
            "repeated."
        ),
    ] = ()
    quantiles_of: Annotated[
        str | None,
        Meta(
            description="For a picture: the attribute whose quartiles are drawn along the other "
            "attribute."
        ),
    ] = None
    draws: Annotated[
        bool, Meta(description="Whether to include the posterior draws, which take megabytes.")
    ] = False


@endpoint(
    "GET",
    SURVEY + "/pairs/{epoch}",
    "Estimated joint distribution of two attributes with its intervals",
    *DECODED,
    role="analyst",
    query=PairQuery,
    parts=_PARTS,
    answers=_result(JointAnswer, JointDifferenceAnswer),
)
async def show_pair(request: Request, query: PairQuery) -> Response:
    """Return what the reports say about two attributes, as JSON, a table or a picture."""
    collector, kept = found_survey(request)
    epoch, form = _epoch_and_form(request, kept)
    more = {"quantiles_of": query.quantiles_of, "draws": query.draws}
    question = pair_question(kept, epoch, asks=query.ask, **_compared(query), **more)
    return await _in_form(collector, kept, question, form)


def pair_question(
    kept: KeptSurvey, epoch: str, *, asks: tuple[str, ...] = (), **more: Any
) -> Question:
    """Return what is asked of two attributes. A ProblemError says what cannot be read."""
    domain = kept.survey.randomizer.domain
    if not isinstance(domain, Product):
        raise malformed("this survey asks about one attribute. Its results are under results/")
    texts = _asks(asks, lambda each: read_joint(each, domain).text)
    if more.get("quantiles_of") is not None:
        try:
            domain.axis_number(more["quantiles_of"])
        except ArgumentError as error:
            raise malformed(str(error)) from None
    return Question(epoch=epoch, asks=texts, **more)
