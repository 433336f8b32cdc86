"""The shapes of what is sent and answered, for the description of all addresses."""

from __future__ import annotations

from typing import Any

import msgspec

from lapwing.protocol.messages.batch import MOST_REPORTS
from lapwing.results.answer_documents import (
    DifferenceAnswer,
    HeavyHittersAnswer,
    LabelsAnswer,
    NumbersAnswer,
)

Document = dict[str, Any]

FINGERPRINT = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
EPOCH_NAME = {"type": "string", "pattern": "^[a-z0-9][a-z0-9.-]{0,63}$"}
MOMENT = {"type": ["string", "null"], "format": "date-time"}
TEXT = {"type": "string"}
COUNT = {"type": "integer", "minimum": 0}
ANSWERS = (NumbersAnswer, LabelsAnswer, HeavyHittersAnswer, DifferenceAnswer)
"""What a result says, by its kind."""

NUMBER_OR_NONE = {"type": ["number", "null"]}


def schemas() -> Document:
    """Return them all, by their names."""
    guarantee = {"type": "object", "description": "What one report promises its sender."}
    epoch = {
        "name": EPOCH_NAME,
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
                        "epoch": EPOCH_NAME,
                        "segment": {"type": ["string", "null"]},
                        "answers": row["answers"],
                        "against": EPOCH_NAME,
                        "against_segment": {"type": ["string", "null"]},
                        "together": list_of(
                            object_of({"survey": FINGERPRINT, "epoch": EPOCH_NAME})
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
