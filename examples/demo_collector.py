"""A collector at work: four programs send 200,000 real reports, and its page shows the results.

Run it with `make demo-collector`, or `python examples/demo_collector.py`. It starts `lapwing serve`
on a free port with a database in a temporary folder, and publishes two surveys. Four processes
randomize real values and send them. Then the page's address stays on the screen until you press
Enter. Without a terminal, it ends on its own. Nothing is simulated: every value is
randomized on its own, with secure randomness, before anything of it is sent.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import takewhile
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import lapwing as lw
from lapwing.client import CollectorAddress, Gateway, send_reports
from lapwing.protocol.domains.units import to_text

PROCESSES = 4

PICK_UP = lw.Survey(
    "taxi pick-up time",
    lw.MultiscaleWave(
        lw.Interval("00:00", "24:00", bins=144, unit="time-of-day", circular=True), epsilon=1
    ),
)
INCOME = lw.Survey(
    "income in 2019",
    # Many people have exactly 0, so 0 is declared to be a symbol of its own.
    lw.MultiscaleWave(lw.Interval(0, 2**19, bins=128, atoms=(0,)), epsilon=2),
)


@dataclass(frozen=True)
class Crowd:
    """People who answer one survey in one epoch: real values, each held by one of them."""

    survey: lw.Survey
    epoch: str
    table: lw.datasets.CountTable
    people: int

    def values(self) -> np.ndarray:
        """Return their values: those of the table, or as many of them as there are people."""
        held = np.random.default_rng(1).multivariate_hypergeometric(self.table.counts, self.people)
        return np.repeat(self.table.numbers, held)


CROWDS = (
    Crowd(PICK_UP, "2018-to-2020", lw.datasets.load_taxi(), 100_000),
    Crowd(PICK_UP, "pandemic", lw.datasets.load_taxi("pandemic"), 70_856),
    Crowd(INCOME, "2019", lw.datasets.load_income(), 29_144),
)


def client(number: int, folder: str, url: str) -> float:
    """Randomize and send the values of one process, and return the seconds it took.

    It fetches every survey by its fingerprint, and refuses one that does not verify.
    """
    started = time.perf_counter()
    collector = CollectorAddress(url)
    gateway = Gateway.open(Path(folder) / f"gateway-{number}.lapwing")
    for crowd in CROWDS:
        survey = collector.survey(crowd.survey.fingerprint)
        reports = survey.randomize(crowd.values()[number::PROCESSES])
        sent = send_reports(
            survey,
            reports,
            epoch=crowd.epoch,
            pile=f"process {number}",
            gateway=gateway,
            collector=collector,
        )
        assert sent.refused == sent.waiting == 0, sent
    return time.perf_counter() - started


class Admin:
    """Requests with a token."""

    def __init__(self, url: str, token: str) -> None:
        self.url = url
        self.token = token

    def ask(self, method: str, path: str, document: Any = None) -> Any:
        """Return what the collector answers, read as JSON."""
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if document is None else json.dumps(document).encode(),
            headers={"authorization": f"Bearer {self.token}", "content-type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read() or b"null")

    def publish(self, crowd: Crowd) -> None:
        """Publish a survey with an open epoch."""
        document = {
            "survey": crowd.survey.to_document(),
            "minimum": 1000,
            "epoch": {"name": crowd.epoch},
        }
        self.ask("PUT", f"/v1/surveys/{crowd.survey.fingerprint}", document)


@contextmanager
def collector(folder: str) -> Iterator[Admin]:
    """Run `lapwing serve`, with its log in a file."""
    command = [sys.executable, "-m", "lapwing", "serve", "--json", "--port", "0"]
    command += ["--database", f"{folder}/collector.db"]
    with (
        open(f"{folder}/collector.log", "wb") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        assert process.stdout is not None
        # One JSON document; when it has ended, the collector listens.
        said = json.loads("".join([*takewhile(lambda line: line != "}\n", process.stdout), "}"]))
        try:
            yield Admin(said["address"], said["admin_token"])
        finally:
            process.terminate()


def show(admin: Admin, crowd: Crowd) -> None:
    """Print quantiles of the collector's answer, and the truth that nobody else holds."""
    domain = crowd.survey.randomizer.domain
    path = f"/v1/surveys/{crowd.survey.fingerprint}/results/{crowd.epoch}?quantiles=0.25,0.5,0.75"
    # On a circle quantiles are counted from somewhere: here from midnight.
    start = domain.low if domain.circular else None
    found = admin.ask("GET", path + ("&start=00:00" if domain.circular else ""))
    truth = lw.Distribution.of_values(crowd.values(), domain).cumulative
    print(f"\n{crowd.survey.name}, {crowd.epoch}: {found['reports']:,} reports, each with")
    print(f"{found['guarantee_text']}")
    print(f"  {'quantile':10}{'estimate':>12}   {'95% interval':24}{'truth':>10}")
    for row in found["quantiles"]:
        truly = float(truth.quantile(row["probability"], start=start))
        numbers = (row["value"], row["low"], row["high"], truly)
        value, low, high, true = (to_text(number, unit=domain.unit) for number in numbers)
        print(f"  {row['probability']:<10}{value:>12}   {f'{low} to {high}':24}{true:>10}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, collector(folder) as admin:
        for crowd in CROWDS:
            admin.publish(crowd)
        print(f"{admin.url} collects {len({c.survey for c in CROWDS})} surveys")
        started = time.perf_counter()
        with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
            jobs = [pool.submit(client, number, folder, admin.url) for number in range(PROCESSES)]
            for job in jobs:
                job.result()
        seconds = time.perf_counter() - started
        people = sum(crowd.people for crowd in CROWDS)
        print(f"{PROCESSES} processes randomized and sent {people:,} reports in {seconds:.1f} s")
        for crowd in CROWDS:
            show(admin, crowd)
        token = admin.ask("POST", "/v1/tokens", {"role": "analyst", "label": "demo"})["token"]
        print(f"\nPage: {admin.url}/\n\nToken: {token}")
        if sys.stdin.isatty() and sys.stdout.isatty():
            with suppress(KeyboardInterrupt, EOFError):
                input("Enter ends the collector, and forgets everything. ")


if __name__ == "__main__":
    main()
