"""Clients without a token cannot fill the memory of a collector."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lapwing as lw
from benchmarks.service.hostile_clients import hostile_clients
from benchmarks.service.running_servers import collector

LARGEST_MEGABYTES = 300


@pytest.mark.soak
def test_three_kinds_of_hostile_clients_at_once_take_no_memory(tmp_path: Path) -> None:
    survey = lw.Survey("hostile", lw.RandomizedResponse(lw.Categories(8), 1))
    with collector(str(tmp_path)) as site:
        path = site.open_epoch(survey, "e")
        held = []
        with hostile_clients(site.url, path, survey=survey.fingerprint, seconds=60) as clients:
            while clients.poll() is None:
                held.append(site.memory())
                assert held[-1] < LARGEST_MEGABYTES
                site.ask("GET", f"/v1/surveys/{survey.fingerprint}/epochs")
            assert clients.stdout is not None
            tries = json.loads(clients.stdout.read())
    assert {*tries["connections"]} == {*tries["sent"]}
    assert min(tries["sent"].values()) >= 2**14
    assert min(tries["sent"]["headers"], tries["sent"]["pipelined"]) > 2**20
    assert tries["answers"]["headers"] == ["431"]
    assert [tries["answers"][name] for name in sorted(tries["sent"]) if "json" in name] == [
        ["413"],
        ["400"],
    ]
