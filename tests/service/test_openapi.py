"""The description and the routes are of the same addresses, and made-up requests break nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode

from lapwing.protocol.messages.batch import MEDIA_TYPE
from lapwing.service.app import ENDPOINTS
from lapwing.service.openapi import openapi_document
from lapwing.service.problem_answers import Problem
from lapwing.service.requests import routes_of
from tests.service.one_collector import (
    ADMIN,
    Site,
    as_role,
    batch_of,
    labels_survey,
    open_survey,
    served,
)

DOCUMENT = openapi_document(ENDPOINTS)
METHODS = {"get", "put", "post", "delete", "options"}

SURVEY = labels_survey(segments=["north"])


def described() -> set[tuple[str, str]]:
    return {
        (path, method.upper())
        for path, item in DOCUMENT["paths"].items()
        for method in item
        if method in METHODS
    }


def routed() -> set[tuple[str, str]]:
    found = {
        (route.path, method)
        for route in routes_of(ENDPOINTS)
        for method in (route.methods or ()) - {"HEAD"}
    }
    # The way of uploads stands before the routes.
    batch = "/v1/surveys/{survey}/epochs/{epoch}/batches/{batch}"
    return found | {(batch, "PUT"), (batch, "POST")}


def test_every_route_is_described_and_every_description_routed() -> None:
    assert described() == routed()


def test_the_addresses_that_the_pages_name_are_routed() -> None:
    """Closing and deleting above all: nobody finds these by trying."""
    docs = Path(__file__).parents[2] / "docs"
    names = {"FINGERPRINT": "{survey}", "EPOCH": "{epoch}", "ID": "{token}"}
    named = set()
    for page in ("guides/operate/collector.md", "guides/operate/deploy.md"):
        for method, path in re.findall(
            r"`(GET|PUT|POST|DELETE) (/v1/[^ `]+)`", (docs / page).read_text("utf-8")
        ):
            parts = (names.get(part, part) for part in path.split("/"))
            named.add(("/".join(parts), method))
    assert named <= routed()
    survey = "/v1/surveys/{survey}"
    epoch = f"{survey}/epochs/{{epoch}}"
    ends = {(survey, "DELETE"), (epoch, "DELETE"), (f"{epoch}/close", "POST")}
    assert named >= ends | {(f"{survey}/retire", "POST")}


def test_a_path_names_its_parameters() -> None:
    for path, item in DOCUMENT["paths"].items():
        named = {each["name"] for each in item.get("parameters", [])}
        assert named == {part.strip("{}") for part in path.split("/") if part.startswith("{")}


async def test_an_address_that_is_not_described_is_not_there(here: Site) -> None:
    told = await here.done("GET", "/openapi.json", token=None)
    assert told.json() == DOCUMENT
    for path, item in DOCUMENT["paths"].items():
        filled = path.replace("{survey}", "0" * 64).replace("{epoch}", "e")
        filled = filled.replace("{batch}", "0" * 32)
        for method in METHODS | {"patch"}:
            answer = await here.ask(method.upper(), filled)
            assert (answer.status_code == 405) == (method not in item), (method, path)
            if answer.status_code == 405:
                allowed = {each.lower() for each in answer.headers["allow"].split(", ")}
                assert allowed - {"head"} == set(item) & METHODS, path


def test_every_problem_is_one_sentence_under_one_status() -> None:
    for problem in Problem:
        assert 400 <= problem.status < 600
        assert problem.sentence and not problem.sentence.endswith(".")


SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)

OPERATIONS = [found.ok() for found in SCHEMA.get_all_operations()]

CHECKS = [
    schemathesis.checks.CHECKS.get_one(name)
    for name in (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
    )
]

LASTING = {"delete", "retire", "close"}
"""What would end the survey that the others are asked about."""

MADE_UP = settings(
    max_examples=6,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A collector with a survey that has some reports."""
    with served(tmp_path_factory.mktemp("collector")) as collector:
        path = open_survey(collector.address, SURVEY)
        headers = {"content-type": MEDIA_TYPE}
        body = batch_of(SURVEY, *range(8)).to_bytes()
        sent = f"{path}/epochs/e/batches/{'0' * 32}"
        stored = httpx.put(sent, content=body, headers=headers, timeout=60)
        assert stored.status_code == 201
        yield collector.address
        assert collector.stop() == 0
        assert "defect" not in collector.log.read_text()


def call(case: Any, address: str) -> None:
    case.headers = {**(case.headers or {}), **as_role(ADMIN)}
    # The first of the decoded answers waits for a process that compiles its kernels: 0.1 CPU
    # minutes, and over a minute on a machine that did six other things.
    case.call_and_validate(base_url=address, checks=CHECKS, timeout=300)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.label)
def test_what_is_made_up_from_the_description_is_answered_as_it_says(
    operation: Any, address: str
) -> None:
    real = {"survey": SURVEY.fingerprint, "epoch": "e", "batch": "0" * 32}
    path = {name: value for name, value in real.items() if f"{{{name}}}" in operation.path}
    strategy = operation.as_strategy(GenerationMode.POSITIVE)
    if path and not LASTING & {operation.method, operation.path.rpartition("/")[2]}:
        strategy |= operation.as_strategy(GenerationMode.POSITIVE, path_parameters=path)

    @MADE_UP
    @given(case=strategy)
    def run(case: Any) -> None:
        call(case, address)

    run()


WRONG = [
    each
    for each in OPERATIONS
    if "{" in each.path or "requestBody" in each.definition.raw or each.query.items
]


@pytest.mark.parametrize("operation", WRONG, ids=lambda each: each.label)
def test_what_the_description_forbids_is_refused_without_a_defect(
    operation: Any, address: str
) -> None:
    @MADE_UP
    @given(case=operation.as_strategy(GenerationMode.NEGATIVE))
    def run(case: Any) -> None:
        case.headers = {**(case.headers or {}), **as_role(ADMIN)}
        case.call_and_validate(base_url=address, checks=CHECKS[:1])

    run()
