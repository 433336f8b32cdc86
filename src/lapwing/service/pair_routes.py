"""Routes of surveys of two attributes: the document, a table and pictures."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from lapwing.errors import ArgumentError
from lapwing.protocol.domains.product import Product
from lapwing.protocol.messages.batch import EPOCH_NAME
from lapwing.results.joint_documents import JointAnswer, JointDifferenceAnswer
from lapwing.results.joint_questions import read_joint
from lapwing.service.analyst_routes import (
    DECODED,
    MOST_ASKED,
    SURVEY,
    ComparedQuery,
    ResultHead,
    epoch_and_form,
    found_survey,
    in_form,
)
from lapwing.service.catalog import KeptSurvey
from lapwing.service.decoding_orders import MEDIA_TYPES
from lapwing.service.problem_answers import malformed
from lapwing.service.requests import AnswerSchema, endpoint, json_answer
from lapwing.service.results import Question


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


_RESULT = {
    "description": "The questions and their answers, as from `lapwing decode --json`.",
    "allOf": [ResultHead, {"oneOf": [JointAnswer, JointDifferenceAnswer]}],
}


@endpoint(
    "GET",
    SURVEY + "/pairs/{epoch}",
    "Estimated joint distribution of two attributes with its intervals",
    *DECODED,
    role="analyst",
    query=PairQuery,
    parts={
        "epoch": (
            "Name of the epoch. Append .csv, .svg or .png for a table or a picture.",
            {"type": "string", "pattern": rf"^{EPOCH_NAME.pattern}(\.(csv|svg|png))?$"},
        )
    },
    answers={
        200: AnswerSchema(
            "A result.",
            {
                media_type.partition(";")[0]: _RESULT
                if form == "json"
                else {"type": "string", **({"format": "binary"} if form == "png" else {})}
                for form, media_type in MEDIA_TYPES.items()
            },
        )
    },
)
async def show_pair(request: Request, query: PairQuery) -> Response:
    """Return what the reports say about two attributes, as JSON, a table or a picture."""
    collector, kept = found_survey(request)
    epoch, form = epoch_and_form(request.path_params["epoch"], kept)
    question = pair_question(
        kept,
        epoch,
        segment=query.segment,
        against=query.against,
        against_segment=query.against_segment,
        target=query.target,
        level=query.level,
        asks=query.ask,
        quantiles_of=query.quantiles_of,
        draws=query.draws,
    )
    if form == "json":
        return json_answer(await collector.results.document(kept, question))
    return in_form(await collector.results.content(kept, question, form), kept, epoch, form)


def pair_question(
    kept: KeptSurvey, epoch: str, *, asks: tuple[str, ...] = (), **more: Any
) -> Question:
    """Return what is asked of two attributes. A ProblemError says what cannot be read."""
    domain = kept.survey.randomizer.domain
    if not isinstance(domain, Product):
        raise malformed("this survey asks about one attribute. Its results are under results/")
    if len(asks) > MOST_ASKED:
        raise malformed(f"at most {MOST_ASKED} questions can be asked at once, got {len(asks)}")
    try:
        texts = tuple(dict.fromkeys(read_joint(each, domain).text for each in asks))
        if more.get("quantiles_of") is not None:
            domain.axis_number(more["quantiles_of"])
    except ArgumentError as error:
        raise malformed(str(error)) from None
    return Question(epoch=epoch, asks=texts, **more)
