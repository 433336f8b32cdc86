"""The description of all addresses (OpenAPI 3.1), made from the endpoints.

The pages for people are not part of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from inspect import cleandoc
from typing import Any

import msgspec

from lapwing.protocol.messages.problems import Problem
from lapwing.service.problem_answers import MEDIA_TYPE, ProblemDocument
from lapwing.service.requests import Endpoint
from lapwing.service.typed_bodies import BatchId, EpochName, Fingerprint

Document = dict[str, Any]

_TEMPLATE = "#/components/schemas/{name}"

PATH_PARTS: Mapping[str, tuple[str, Any]] = {
    "survey": ("Fingerprint of the survey.", Fingerprint),
    "epoch": ("Name of the epoch.", EpochName),
    "batch": ("16 random bytes.", BatchId),
}
"""What the usual parameters of paths are."""


def openapi_document(endpoints: Iterable[Endpoint]) -> Document:
    """Return the description of endpoints."""
    paths: Document = {}
    for each in endpoints:
        item = paths.setdefault(each.path, {})
        if parts := _parts(each):
            item["parameters"] = parts
        item[each.method.lower()] = _operation(each)
    schemas: Document = {}
    paths = _written(paths, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Lapwing collector",
            "version": version("lapwing"),
            "description": "Receives randomized reports from devices and estimates distributions.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "tags": [
            {"name": "devices", "description": "Open to everybody, from any website."},
            {"name": "analysts", "description": "Needs a token with the role analyst or admin."},
            {"name": "admins", "description": "Needs a token with the role admin."},
            {"name": "operations", "description": "For operators."},
        ],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "role": {"type": "http", "scheme": "bearer", "description": "lwa_..."},
                "invitation": {"type": "http", "scheme": "bearer", "description": "lwu_..."},
            },
            "schemas": schemas,
        },
    }


def _parts(each: Endpoint) -> list[Document]:
    """Return the parameters of a path."""
    known = {**PATH_PARTS, **each.parts}
    names = re.findall(r"{(\w+)}", each.path)
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": known[name][0],
            "schema": known[name][1],
        }
        for name in names
    ]


def _operation(each: Endpoint) -> Document:
    """Return an operation: its good answers, its problems, who may ask, and what is sent."""
    answers = {
        status: {
            "description": answer.description,
            "content": {name: {"schema": schema} for name, schema in answer.content.items()},
        }
        for status, answer in each.answers.items()
    }
    every = sorted({**answers, **_problems(each)}.items())
    content: Mapping[str, Any] = {}
    if isinstance(each.body, type):
        other = each.body.alternative
        content = {"application/json": {"oneOf": [each.body, other]} if other else each.body}
    elif each.body is not None:
        content = each.body
    sent = {name: {"schema": schema} for name, schema in content.items()}
    rest: Document = {
        "description": each.description,
        "security": each.security or ([{"role": []}] if each.role else None),
        "parameters": _query(each),
        "requestBody": {"required": True, "content": sent} if sent else None,
    }
    return {
        "summary": each.summary,
        "tags": [each.tag],
        "responses": {
            str(status): {key: value for key, value in answer.items() if value}
            for status, answer in every
        },
        **{key: value for key, value in rest.items() if value},
    }


def _query(each: Endpoint) -> list[Document]:
    """Return the parameters of a query: the fields of its type."""
    if each.query is None:
        return []
    _, found = msgspec.json.schema_components([each.query], ref_template=_TEMPLATE)
    (shape,) = found.values()
    parameters = []
    for name, schema in shape["properties"].items():
        typed = {key: value for key, value in schema.items() if value is not None}
        for kind in typed.pop("anyOf", []):
            typed |= kind if kind != {"type": "null"} else {}
        required = {"required": True} if name in shape["required"] else {}
        said = {"description": typed.pop("description")} if "description" in typed else {}
        parameters.append({"name": name, "in": "query", **required, **said, "schema": typed})
    return parameters


def _problems(each: Endpoint) -> dict[int, Document]:
    """Return the answers of problems, those of one status together."""
    usual: list[Problem] = []
    if each.role is not None:
        usual += [Problem.MALFORMED_REQUEST, Problem.TOKEN_NEEDED, Problem.NOT_READY]
    if each.role == "admin":
        usual += [Problem.NOT_ALLOWED, Problem.FULL]
    if isinstance(each.body, type):
        usual += [Problem.MALFORMED_REQUEST, Problem.TOO_LARGE, Problem.BUSY, Problem.NOT_READY]
    by_status: dict[int, list[Problem]] = {}
    for problem in Problem:
        if problem in usual or problem in each.problems:
            by_status.setdefault(int(problem.status), []).append(problem)
    return {
        status: {
            "description": "; ".join(f"{each.value}: {each.sentence}" for each in same) + ".",
            "content": {MEDIA_TYPE.decode(): {"schema": ProblemDocument}},
        }
        for status, same in by_status.items()
    }


def _written(node: Any, schemas: Document, *, closed: bool = True) -> Any:
    """Return JSON with types in it as JSON alone. The types go to the named schemas.

    An object of a named type has no other keys, but where `allOf` joins it with another type.
    """
    if isinstance(node, Mapping):
        return {
            key: _written(value, schemas, closed=closed and key != "allOf")
            for key, value in node.items()
        }
    if isinstance(node, list | tuple):
        return [_written(value, schemas, closed=closed) for value in node]
    if node is None or isinstance(node, str | int | float):
        return node
    (schema,), components = msgspec.json.schema_components([node], ref_template=_TEMPLATE)
    own = node.__module__.startswith("lapwing.service")
    for name, component in components.items():
        if "description" in component:
            component["description"] = cleandoc(component["description"])
        if "properties" in component and (closed or (own and name != node.__name__)):
            component["additionalProperties"] = False
    schemas.update(components)
    return schema
