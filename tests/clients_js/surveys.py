"""Surveys for the tests of the JavaScript client, and surveys that were tampered with."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable
from typing import Any

from lapwing import Survey
from lapwing.documents import fingerprint
from tests.contracts.registered import RandomizerCase, randomizer_cases

ELSEWHERE = {
    "compressive-privatization",
    "general-wave",
    "local-hashing",
    "piecewise",
    "rappor",
}
"""What the JavaScript client says that it lacks."""

ONLY_PARTS = {"signed-hadamard", "signed-subset-selection"}
"""Not askable by themselves: only groups of mixtures are made with them."""


def cases(*epsilons: float) -> dict[str, RandomizerCase]:
    """Return the contract suites' cases of the randomizers that the client has, by their names."""
    found: dict[str, RandomizerCase] = {}
    for parameters in randomizer_cases(*epsilons):
        case: RandomizerCase = parameters.values[0]
        if case.randomizer.name not in ELSEWHERE | ONLY_PARTS:
            found[str(parameters.id)] = case
    assert len(found) > 40
    return found


def survey_text(randomizer: Any) -> str:
    """Return the JSON of a survey."""
    return Survey("tested", randomizer).to_json()


def sealed(document: dict[str, Any]) -> str:
    """Return the JSON of a document with the fingerprint that its content has."""
    agreed = {key: value for key, value in document.items() if key != "fingerprint"}
    return json.dumps({**agreed, "fingerprint": fingerprint(agreed)})


def changed(text: str, change: Callable[[dict[str, Any]], Any]) -> str:
    """Return a survey after a change, with a fingerprint that fits."""
    document = copy.deepcopy(json.loads(text))
    change(document)
    return sealed(document)


def thresholds_of(derived: dict[str, Any]) -> Iterable[dict[str, str]]:
    """Yield the thresholds of a survey, of a mixture those of every group."""
    for part in derived.get("groups", [{"derived": derived}]):
        yield part["derived"]["thresholds"]


def plain(value: Any) -> Any:
    """Return a value as the driver takes it."""
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    value = value.item() if hasattr(value, "item") else value
    return {"$": "nan"} if value != value else value
