"""Surveys and steps of a device in Node: `device_driver.mjs` plays them."""

from __future__ import annotations

import json
from typing import Any

import lapwing as lw
from tests.clients_js.programs import node
from tests.clients_js.scripted_collector import Scripted

COLORS = lw.Categories(["red", "green", "blue"])
RESPONSE = lw.RandomizedResponse(COLORS, 1)
SURVEYS = {
    "color": lw.Survey("color", RESPONSE),
    "third": lw.Survey("third", lw.RandomizedResponse(COLORS, "1/3")),
    "kept": lw.Survey("kept", RESPONSE, segments=["north", "south"], remembered=True),
    "income": lw.Survey("income", lw.MultiscaleWave(lw.Interval(0, 1, bins=256), 1)),
    # A report is of another cell than the value with a probability below 1e-8.
    "asking": lw.Survey(
        "asking",
        lw.MultiscaleWave(lw.Interval(0, 500_000, bins=10), 20, components=[("cells", [0, 1], 1)]),
        questions=["share above 50000"],
    ),
}
TEXTS = {name: survey.to_json() for name, survey in SURVEYS.items()}
GENEROUS = {"epsilonCap": 2, "budget": 100}


def play(script: Scripted, *steps: list[Any], **more: Any) -> list[Any]:
    """Return what each step of a device gave."""
    options = {**GENEROUS, "collector": script.address, **more.pop("options", {})}
    task = {"options": options, "surveys": TEXTS, **more, "steps": steps}
    made: list[Any] = json.loads(node("device_driver.mjs", text=json.dumps(task)))
    return made
