"""A survey of pairs for two weeks: devices and a gateway report, and commands tell what changed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import numpy as np
import pytest

import lapwing as lw
from lapwing.client import Device, Gateway
from tests.cli.running import Program
from tests.service.one_collector import ADMIN, as_role, served

pytestmark = pytest.mark.service

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "local" / "pairs-from-a-page.md"


def test_two_weeks_of_pairs_by_commands(
    tmp_path: Path, done: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAPWING_ADMIN_TOKEN", ADMIN)
    guide = GUIDE.read_text("utf-8")
    for line in re.findall(r"^lapwing (new .*)$", guide, re.MULTILINE):
        done(*line.replace("--epsilon 1 ", "--epsilon 4 ").split())
    survey = lw.Survey.load("start-up.json")
    gateway = Gateway.open("gateway.lapwing")
    device = Device.open(tmp_path, epsilon_cap=4, budget=10)
    rng = np.random.default_rng(1)
    with served(tmp_path) as here:
        path = f"{here.address}/v1/surveys/{survey.fingerprint}"
        for week, slow in (("w48", 1), ("w49", 3)):
            epoch = f"2026-{week}"
            add = ("collector", "add-survey", "start-up.json", here.address, "--epoch", epoch)
            assert done(*add, "--json").document["take_part"].endswith(survey.fingerprint)
            hours = rng.uniform(0, 24, 20_000)
            ms = rng.gamma(4, np.where((hours >= 6) & (hours < 12), 250 * slow, 250))
            reports = survey.randomize({"ms": ms, "hour": 3600 * hours})
            gateway.put(survey, reports, epoch=epoch, pile="office")
            gateway.send(here.address)
            device.fetch(here.address, survey.fingerprint)
            device.answer(survey, {"ms": 800, "hour": "09:00"}, epoch=epoch)
            assert device.send(here.address).stored == 1
            tally = httpx.get(f"{path}/tallies/{epoch}", headers=as_role(ADMIN), timeout=60)
            Path(f"tally-{week}.json").write_text(tally.text)
            done("decode", "start-up.json", f"tally-{week}.json", "-o", f"{week}.json")
    ask = re.findall(r'lapwing answer w49.json --ask "(.*)"', guide)
    assert len(ask) == 1
    medians = {}
    for week, true in (("w48", 918), ("w49", 2754)):
        row, *_ = done("answer", f"{week}.json", "--ask", *ask, "--json").document["answers"]
        assert 0.85 * row["low"] <= true <= 1.15 * row["high"], week
        medians[week] = row["value"]
    assert medians["w49"] > 1.5 * medians["w48"]
    gap = done("compare", "w49.json", "w48.json", "-o", "weeks.png", "--json").document
    assert gap["reports"] == gap["against_reports"] == 20_001
    shown = json.loads(json.dumps(gap["map"]))
    sure = (np.array(shown["low"]) > 0) | (np.array(shown["high"]) < 0)
    assert sure.sum() >= 2 and Path("weeks.png").read_bytes().startswith(b"\x89PNG")
