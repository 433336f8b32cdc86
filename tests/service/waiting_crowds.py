"""Crowds of devices, and a gateway, that answer once and send until a collector has it all."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import lapwing as lw
from lapwing.client import Device, Gateway, Patience
from tests.clients_js.programs import FOLDER, program

EPSILON = 3

Planned = list[tuple[str, str]]
"""Names of the survey and the epoch of each answer of a device."""


@dataclass(frozen=True)
class Made:
    """A batch as its sender knows it."""

    id: str
    survey: str
    epoch: str
    state: str
    reason: str | None
    reports: int = 1


class PythonCrowd:
    """Devices in Python, each with a file of its own, and one gateway. Their clock jumps ahead.

    Parameters
    ----------
    folder : Path
    collector : str
    surveys : mapping of str to Survey
    planned : list of list of (str, str)
    """

    def __init__(
        self,
        folder: Path,
        collector: str,
        surveys: Mapping[str, lw.Survey],
        planned: list[Planned],
    ) -> None:
        self._collector, self._surveys, self._planned = collector, surveys, planned
        self._pool = ThreadPoolExecutor(8)
        self._hours = 0.0
        self.gateway = Gateway.open(folder / "gateway.lapwing")
        self._folders = [folder / str(number) for number in range(len(planned))]
        for path in self._folders:
            path.mkdir()

    def close(self) -> None:
        self._pool.shutdown()

    def _each(self, act: Callable[[Device, Planned], Any]) -> list[Any]:
        def one(path: Path, planned: Planned) -> Any:
            budget = EPSILON * len(planned)  # to the last bit: a second draw would be refused
            return act(Device.open(path, epsilon_cap=EPSILON, budget=budget), planned)

        return list(self._pool.map(one, self._folders, self._planned))

    def answer(self) -> None:
        """Answer all that is planned; asked again, this changes nothing."""

        def answered(device: Device, planned: Planned) -> None:
            for survey, epoch in planned:
                device.answer(self._surveys[survey], 2, epoch=epoch)

        self._each(answered)

    def put(self, survey: str, epoch: str, *, reports: int, piles: range) -> None:
        """Give the gateway some groups of reports."""
        for pile in piles:
            made = self._surveys[survey].randomize(np.arange(reports) % 8)
            self.gateway.put(self._surveys[survey], made, epoch=epoch, pile=f"pile {pile}")

    def send_gateway(self) -> None:
        """Send what waits in the gateway. A failure ends a round of all its batches."""
        patience = replace(self._patience(), rounds=20, together=3600)
        self.gateway.send(self._collector, patience=patience)

    def _patience(self) -> Patience:
        """Return that of a time a few hours after the last one."""
        self._hours += 2
        hours = self._hours
        return Patience(
            rounds=2,
            first=0,
            longest=0,
            wait=lambda seconds: None,
            clock=lambda: time.time() + 3600 * hours,
        )

    def send(self) -> None:
        """Send what waits anywhere."""
        gateway, patience = self._pool.submit(self.send_gateway), self._patience()
        self._each(lambda device, _: device.send(self._collector, patience=patience))
        gateway.result()

    def spent(self) -> list[Fraction]:
        spent: list[Fraction] = self._each(lambda device, _: device.ledger.spent.epsilon)
        return spent

    def made(self) -> list[Made]:
        boxes = [*self._each(lambda device, _: device.batches()), self.gateway.batches()]
        return [
            Made(one.id, one.survey, one.epoch, one.state, one.reason, one.reports)
            for box in boxes
            for one in box
        ]


class JavaScriptCrowd:
    """Devices in a Node that goes on as long as this does."""

    def __init__(self, node: subprocess.Popen[str]) -> None:
        self._node = node

    def ask(self, command: str) -> Any:
        """Return what the crowd says to a command."""
        assert self._node.stdin is not None and self._node.stdout is not None
        self._node.stdin.write(f"{command}\n")
        self._node.stdin.flush()
        return json.loads(self._node.stdout.readline())

    def spent(self) -> list[Fraction]:
        return [Fraction(ledger["spent"]) for ledger in self.ask("ledgers")]

    def made(self) -> list[Made]:
        return [
            Made(one["batch"], one["survey"], one["epoch"], one["state"], one["problem"])
            for ledger in self.ask("ledgers")
            for one in ledger["answers"]
        ]


@contextmanager
def javascript_crowd(
    collector: str, surveys: Mapping[str, lw.Survey], planned: list[Planned]
) -> Iterator[JavaScriptCrowd]:
    """Yield devices in Node, which have answered nothing yet."""
    texts = {name: survey.to_json() for name, survey in surveys.items()}
    answers = [[(*each, 2) for each in one] for one in planned]
    begin = {"collector": collector, "surveys": texts, "answers": answers}
    node = subprocess.Popen(
        [program("node", package="nodejs"), "waiting_crowd.mjs"],
        cwd=FOLDER,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    crowd = JavaScriptCrowd(node)
    try:
        assert node.stdin is not None
        node.stdin.write(f"{json.dumps(begin)}\n")
        yield crowd
        node.communicate(timeout=60)
    finally:
        node.kill()
        node.wait(timeout=60)
