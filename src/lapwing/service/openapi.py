"""The description of all addresses (OpenAPI 3.1), in one place; a test compares it with the routes.

The pages for people are not part of it.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import msgspec

from lapwing.protocol.messages.batch import (
    EPOCH_NAME,
    JSON_MEDIA_TYPE,
    LARGEST_BATCH,
    MEDIA_TYPE,
    MOST_REPORTS,
)
from lapwing.protocol.messages.problems import UPLOAD_PROBLEMS, Problem
from lapwing.results.answer_documents import (
    DifferenceAnswer,
    HeavyHittersAnswer,
    LabelsAnswer,
    NumbersAnswer,
)
from lapwing.service.decoding_orders import MEDIA_TYPES
from lapwing.service.survey_life import (
    LARGEST_MINIMUM,
    LONGEST_GRACE,
    LONGEST_RETENTION,
    MOST_TOKENS,
    USUAL_MINIMUM,
)
from lapwing.survey.survey import FORMAT


def openapi_document() -> Document:
    """Return the document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Lapwing collector",
            "version": version("lapwing"),
            "description": "Takes randomized reports of devices, and shows what they say together.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "tags": [
            {"name": "devices", "description": "Open to all, from any page."},
            {"name": "analysts", "description": "Needs a token of the role analyst or admin."},
            {"name": "admins", "description": "Needs a token of the role admin."},
            {"name": "operations", "description": "For those who run it."},
        ],
        "paths": {**_operations(), **_devices(), **_admins(), **_analysts()},
        "components": {
            "securitySchemes": {
                "role": {"type": "http", "scheme": "bearer", "description": "lwa_..."},
                "invitation": {"type": "http", "scheme": "bearer", "description": "lwu_..."},
            },
            "schemas": schemas(),
        },
    }


def _operations() -> Document:
    health = object_of({"status": TEXT})
    return {
        "/healthz": {
            "get": _operation(
                "Whether reports can be stored",
                "operations",
                {200: _json("They can.", health), 503: _json("They cannot now.", health)},
            )
        },
        "/metrics": {
            "get": _operation(
                "Counters for Prometheus",
                "operations",
                {200: _answer("Counters.", "text/plain", TEXT)},
                Problem.TOKEN_NEEDED,
                description="Open to all where the setting `open_counters` is true.",
                security=ROLE,
            )
        },
        "/openapi.json": {
            "get": _operation(
                "This document", "operations", {200: _json("It.", {"type": "object"})}
            )
        },
    }


def _devices() -> Document:
    batch = _parameter("batch", "16 random bytes.", {"type": "string", "pattern": "^[0-9a-f]{32}$"})
    stored = _json("Stored.", reference("Stored"))
    upload = _operation(
        "Store a batch of reports, whole or not at all",
        "devices",
        {
            201: {**stored, "description": "Stored now: it is on disk."},
            200: {**stored, "description": "It was stored before; nothing is counted twice."},
        },
        *UPLOAD_PROBLEMS,
        description="The batch may be sent again with the same bytes until it is answered. A "
        "device drops it at any 2xx or 4xx but 408, 425 and 429, and keeps it at all others.",
        security=[{}, {"invitation": []}],
        body={
            MEDIA_TYPE: {"type": "string", "format": "binary", "maxLength": LARGEST_BATCH},
            JSON_MEDIA_TYPE: reference("Batch"),
        },
    )
    may: Answers = {204: {"description": "It may."}}
    allowed = _operation("Whether another page may send this", "devices", may)
    return {
        "/v1/surveys/{survey}/epochs": {
            "parameters": [SURVEY],
            "get": _operation(
                "When the survey is answered",
                "devices",
                {200: _json("The epochs.", object_of({"epochs": list_of(reference("Epoch"))}))},
                Problem.UNKNOWN_SURVEY,
                Problem.MALFORMED_REQUEST,
            ),
            "options": allowed,
        },
        "/v1/surveys/{survey}/epochs/{epoch}/batches/{batch}": {
            "parameters": [SURVEY, EPOCH, batch],
            "put": upload,
            "post": {**upload, "summary": "The same, for pages that are being closed"},
            "options": allowed,
        },
    }


def _admins() -> Document:
    terms = _json("Its terms.", reference("Terms"))
    same = "It was here with these terms. Where the body has a text for people, that is shown now."
    moved = _json("The epoch as it is now.", reference("Epoch"))
    gone: Answers = {204: {"description": "It is forgotten, with all that was collected."}}

    def admin(summary: str, answers: Answers, *problems: Problem, body: Any = None) -> Document:
        sent = () if body is None else (Problem.TOO_LARGE, Problem.BUSY)
        return _operation(
            summary,
            "admins",
            answers,
            *(Problem.MALFORMED_REQUEST, Problem.TOKEN_NEEDED, Problem.NOT_ALLOWED),
            *problems,
            *(*sent, Problem.NOT_READY, Problem.FULL),
            security=ROLE,
            body=None if body is None else {"application/json": body},
        )

    unknown = Problem.UNKNOWN_SURVEY
    neither = (Problem.UNKNOWN_SURVEY, Problem.UNKNOWN_EPOCH)
    times = {
        "opens": {**MOMENT, "description": "null: by hand."},
        "closes": {**MOMENT, "description": "null: by hand."},
        "grace_seconds": _whole(0, LONGEST_GRACE),
    }
    create = object_of(
        {
            "survey": {"type": "object", "description": "A survey's document."},
            "minimum": {**_whole(1, LARGEST_MINIMUM), "default": USUAL_MINIMUM},
            "upload": {"enum": ["open", "tokens"], "default": "open"},
            "retention_days": {**_whole(0, LONGEST_RETENTION), "type": ["integer", "null"]},
            "epoch": {
                **object_of(
                    {"name": {"type": "string", "pattern": f"^{EPOCH_NAME.pattern}$"}, **times},
                    required=["name"],
                ),
                "description": "Publishes the survey with this new epoch, both or neither.",
            },
        },
        required=["survey"],
    )
    bare = {
        "type": "object",
        "description": "The document alone: the terms are the defaults.",
        "properties": {"format": {"const": FORMAT}},
        "required": ["format"],
    }
    plan = object_of(times, required=[])
    tokens = object_of({"count": _whole(1, MOST_TOKENS)})
    role = object_of(
        {
            "role": {"enum": ["admin", "analyst"]},
            "label": {"type": "string", "maxLength": 100},
        },
        required=["role"],
    )
    unchanged: Answers = {
        200: _json("The document, the same bytes for ever.", {"type": "object"}),
        304: {"description": "It is what the sender has."},
    }
    made: Answers = {201: _json("Shown this once.", object_of({"tokens": list_of(TEXT)}))}
    told: Answers = {201: _json("Shown this once.", object_of({"token": TEXT, "role": TEXT}))}
    return {
        "/v1/surveys/{survey}": {
            "parameters": [SURVEY],
            "get": _operation(
                "The survey's document",
                "devices",
                unchanged,
                *(unknown, Problem.MALFORMED_REQUEST),
            ),
            "options": _operation(
                "Whether another page may ask", "devices", {204: {"description": "It may."}}
            ),
            "put": admin(
                "Keep a survey as a draft, or publish it with an epoch",
                {201: terms, 200: {**terms, "description": same}},
                *(Problem.EXISTS, Problem.STATE, Problem.SURVEY_REFUSED),
                body={"oneOf": [create, bare]},
            ),
            "delete": admin("Forget a survey", gone, unknown),
        },
        "/v1/surveys/{survey}/publish": {
            "parameters": [SURVEY],
            "post": admin("Let devices see it", {200: terms}, unknown, Problem.STATE),
        },
        "/v1/surveys/{survey}/retire": {
            "parameters": [SURVEY],
            "post": admin("Close it with all of its epochs", {200: terms}, unknown),
        },
        "/v1/surveys/{survey}/upload-tokens": {
            "parameters": [SURVEY],
            "post": admin("Invite devices", made, unknown, Problem.STATE, body=tokens),
        },
        "/v1/surveys/{survey}/epochs/{epoch}": {
            "parameters": [SURVEY, EPOCH],
            "put": admin(
                "Plan an epoch, or change its times",
                {201: moved, 200: moved},
                unknown,
                Problem.STATE,
                body=plan,
            ),
            "delete": admin("Forget an epoch", gone, *neither),
        },
        "/v1/surveys/{survey}/epochs/{epoch}/open": {
            "parameters": [SURVEY, EPOCH],
            "post": admin("Open it now", {200: moved}, *neither, Problem.STATE),
        },
        "/v1/surveys/{survey}/epochs/{epoch}/close": {
            "parameters": [SURVEY, EPOCH],
            "post": admin("Close it now; in its grace, end that", {200: moved}, *neither),
        },
        "/v1/tokens": {"post": admin("Make a token of a role", told, body=role)},
    }


def _analysts() -> Document:
    form = _parameter(
        "epoch",
        "Name of the epoch; with .csv, .svg or .png behind it a table or a picture.",
        {"type": "string", "pattern": rf"^{EPOCH_NAME.pattern}(\.(csv|svg|png))?$"},
    )
    end = {"type": "string", "maxLength": 100}
    segment = _query("segment", 'One of the survey\'s; "other" for who has none.', TEXT)

    def analyst(
        summary: str, answers: Answers, *problems: Problem, query: tuple[Document, ...] = ()
    ) -> Document:
        return _operation(
            summary,
            "analysts",
            answers,
            *(Problem.MALFORMED_REQUEST, Problem.TOKEN_NEEDED),
            *(*problems, Problem.NOT_READY),
            security=ROLE,
            query=query,
        )

    shown = (
        Problem.UNKNOWN_SURVEY,
        Problem.UNKNOWN_EPOCH,
        Problem.UNKNOWN_SEGMENT,
        Problem.TOO_FEW,
    )
    asked = (
        segment,
        _query("level", "Of all intervals.", {"type": "number", "minimum": 0.5, "maximum": 0.9999}),
        _query("against", "Another epoch, to compare with.", TEXT),
        _query("against_segment", "Another segment, to compare with.", TEXT),
        _query(
            "target",
            "Whom a comparison is about: those from whom both were drawn, or these very people.",
            {"enum": ["population", "empirical"]},
        ),
        _query("low", "Where a range begins. Left out: open.", end),
        _query("high", "Where it ends; it holds the end that bins hold. Left out: open.", end),
        _query("quantiles", "Probabilities with commas between; on a circle with start.", TEXT),
        _query("start", "On a circle: the value from which quantiles are counted.", end),
        _query(
            "together",
            "Epochs of other surveys about the same distribution, FINGERPRINT/EPOCH with commas "
            "between: one answer of all.",
            TEXT,
        ),
    )
    content = {
        media_type.partition(";")[0]: {
            "schema": reference("Result")
            if form_name == "json"
            else {"type": "string", **({"format": "binary"} if form_name == "png" else {})}
        }
        for form_name, media_type in MEDIA_TYPES.items()
    }
    return {
        "/v1/surveys": {
            "get": analyst(
                "All surveys",
                {200: _json("A row each.", object_of({"surveys": list_of(reference("Row"))}))},
            )
        },
        "/v1/surveys/{survey}/state": {
            "parameters": [SURVEY],
            "get": analyst(
                "How many reports there are",
                {200: _json("By epoch and segment.", reference("State"))},
                Problem.UNKNOWN_SURVEY,
            ),
        },
        "/v1/surveys/{survey}/tallies/{epoch}": {
            "parameters": [SURVEY, EPOCH],
            "get": analyst(
                "The tally, for every decoder",
                {200: _json("A tally's document.", {"type": "object"})},
                *shown,
                query=(segment,),
            ),
        },
        "/v1/surveys/{survey}/alarms/{epoch}": {
            "parameters": [SURVEY, EPOCH],
            "get": analyst(
                "Whether honest devices can have sent the reports",
                {200: _json("The alarm.", reference("Alarm"))},
                *shown,
                Problem.CANNOT_BE_SAID,
                Problem.NO_RESULT,
                query=(segment,),
            ),
        },
        "/v1/surveys/{survey}/results/{epoch}": {
            "parameters": [SURVEY, form],
            "get": analyst(
                "What the reports say",
                {200: {"description": "A result.", "content": content}},
                *shown,
                Problem.CANNOT_BE_SAID,
                Problem.NO_RESULT,
                query=asked,
            ),
        },
    }


def _operation(
    summary: str,
    tag: str,
    answers: Answers,
    *problems: Problem,
    description: str = "",
    security: list[Document] | None = None,
    query: tuple[Document, ...] = (),
    body: Document | None = None,
) -> Document:
    """Return an operation: its good answers, its problems, who may ask, and what is sent."""
    every = sorted({**answers, **_problems(*problems)}.items())
    content = {media_type: {"schema": schema} for media_type, schema in (body or {}).items()}
    rest: Document = {
        "description": description,
        "security": security,
        "parameters": list(query),
        "requestBody": {"required": True, "content": content} if content else None,
    }
    return {
        "summary": summary,
        "tags": [tag],
        "responses": {str(status): answer for status, answer in every},
        **{key: value for key, value in rest.items() if value},
    }


def _problems(*problems: Problem) -> Answers:
    """Return the answers of problems, those of one status together."""
    by_status: dict[int, list[Problem]] = {}
    for problem in problems:
        by_status.setdefault(int(problem.status), []).append(problem)
    return {
        status: _answer(
            "; ".join(f"{each.value}: {each.sentence}" for each in dict.fromkeys(same)) + ".",
            "application/problem+json",
            reference("Problem"),
        )
        for status, same in by_status.items()
    }


def _answer(description: str, media_type: str, schema: Document) -> Document:
    return {"description": description, "content": {media_type: {"schema": schema}}}


def _json(description: str, schema: Document) -> Document:
    return _answer(description, "application/json", schema)


def _parameter(name: str, description: str, schema: Document) -> Document:
    return {**_query(name, description, schema), "in": "path", "required": True}


def _query(name: str, description: str, schema: Document) -> Document:
    return {"name": name, "in": "query", "description": description, "schema": schema}


def _whole(low: int, high: int) -> Document:
    return {"type": "integer", "minimum": low, "maximum": high}


Document = dict[str, Any]
Answers = dict[int, Document]

FINGERPRINT = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
NAME_OF_EPOCH = {"type": "string", "pattern": f"^{EPOCH_NAME.pattern}$"}
MOMENT = {"type": ["string", "null"], "format": "date-time"}
TEXT = {"type": "string"}
SURVEY = _parameter("survey", "Fingerprint of the survey.", FINGERPRINT)
EPOCH = _parameter("epoch", "Name of the epoch.", NAME_OF_EPOCH)
ROLE: list[Document] = [{"role": []}]
"""What an operation says of security that needs the token of a role."""
COUNT = {"type": "integer", "minimum": 0}
ANSWERS = (NumbersAnswer, LabelsAnswer, HeavyHittersAnswer, DifferenceAnswer)
"""What a result says, by its kind."""

NUMBER_OR_NONE = {"type": ["number", "null"]}


def schemas() -> Document:
    """Return them all, by their names."""
    guarantee = {"type": "object", "description": "What one report promises its sender."}
    epoch = {
        "name": NAME_OF_EPOCH,
        "opens": MOMENT,
        "closes": MOMENT,
        "grace_until": MOMENT,
        "state": {"enum": ["planned", "open", "grace", "closed"]},
    }
    count = {
        "reports": {"type": ["integer", "null"], "description": "null: too few to be shown."},
        "text": TEXT,
    }
    reasons = {"type": "object", "additionalProperties": COUNT}
    terms = {
        "survey": FINGERPRINT,
        "state": {"enum": ["draft", "published", "retired"]},
        "minimum": {"type": "integer", "minimum": 1},
        "upload": {"enum": ["open", "tokens"]},
        "retention_days": {"type": ["integer", "null"]},
    }
    row = {
        **terms,
        "name": TEXT,
        "randomizer": TEXT,
        "guarantee": guarantee,
        "guarantee_text": TEXT,
        "answers": {"enum": ["fresh", "remembered report", "remembered round"]},
        "segments": list_of(TEXT),
        "segment_minimum": {"type": ["integer", "null"]},
    }
    counted = object_of(
        {**epoch, **count, "refused": reasons}, required=[*epoch, *count, "refused"]
    )
    counted["properties"]["segments"] = list_of(object_of({"segment": TEXT, **count}))
    told = {**COUNT, "type": ["integer", "null"]}
    tokens = {
        "anyOf": [{"type": "null"}, object_of({"unused": told, "used": told})],
    }
    return {
        "Batch": object_of(
            {
                "survey": FINGERPRINT,
                "segment": {"type": ["string", "null"]},
                "reports": {
                    "type": "array",
                    "items": {"type": "string", "pattern": "^([0-9a-f]{2})+$"},
                    "minItems": 1,
                    "maxItems": MOST_REPORTS,
                },
            },
            required=["survey", "reports"],
        ),
        "Stored": object_of(
            {
                "batch": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
                "reports": {"type": "integer", "minimum": 1},
                "state": {"enum": ["stored", "already stored"]},
            }
        ),
        "Epoch": object_of(epoch),
        "Terms": object_of(terms),
        "Row": object_of({**row, "epochs": list_of(reference("Epoch"))}),
        "State": object_of(
            {**row, "upload_tokens": tokens, "epochs": list_of(counted), "refused": reasons}
        ),
        "Result": {
            "description": "What was asked, and the answer: of `lapwing decode --json` the same.",
            "allOf": [
                {
                    "type": "object",
                    "required": ["survey", "name", "epoch", "segment", "warnings"],
                    "properties": {
                        "survey": FINGERPRINT,
                        "name": TEXT,
                        "epoch": NAME_OF_EPOCH,
                        "segment": {"type": ["string", "null"]},
                        "answers": row["answers"],
                        "against": NAME_OF_EPOCH,
                        "against_segment": {"type": ["string", "null"]},
                        "together": list_of(
                            object_of({"survey": FINGERPRINT, "epoch": NAME_OF_EPOCH})
                        ),
                        "warnings": list_of(TEXT),
                    },
                },
                {"oneOf": [reference(kind.__name__) for kind in ANSWERS]},
            ],
        },
        **_answers(),
        "Alarm": object_of(
            {
                "sounds": {"type": "boolean"},
                "sentence": TEXT,
                "p_value": {"type": "number"},
                "chi_square": {"type": "number"},
                "honest": object_of({"mean": {"type": "number"}, "deviation": {"type": "number"}}),
                "visible": NUMBER_OR_NONE,
            }
        ),
        "Problem": {
            "type": "object",
            "description": "RFC 9457. No text repeats a value that was sent.",
            "required": ["type", "title", "status", "detail"],
            "properties": {
                "type": {"type": "string", "pattern": "^urn:lapwing:problem:[a-z-]+$"},
                "title": TEXT,
                "status": {"type": "integer"},
                "detail": TEXT,
                "reports": list_of(object_of({"position": COUNT, "reason": TEXT})),
                "minimum": {"type": "integer"},
            },
        },
    }


def _answers() -> Document:
    """Return the schemas of the documents of :mod:`lapwing.results.answer_documents`."""
    return msgspec.json.schema_components(ANSWERS, ref_template="#/components/schemas/{name}")[1]


def object_of(properties: Document, *, required: list[str] | None = None) -> Document:
    """Return the schema of an object that has these members and no other."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties) if required is None else required,
        "additionalProperties": False,
    }


def list_of(items: Document) -> Document:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


def reference(name: str) -> Document:
    """Return what stands for a named schema."""
    return {"$ref": f"#/components/schemas/{name}"}
