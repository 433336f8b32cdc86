"""A store under any order of uploads, repeats, changes, closings, restarts and folds.

Every report has a value of its own: one that was lost shows as a 0, one counted twice as a 2.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lapwing.errors import ArgumentError, NotStoredError
from lapwing.protocol.messages.problems import Problem
from lapwing.service.storage.opening import SqliteStore
from lapwing.service.storage.sql_store import Store
from lapwing.service.storage.store import ALREADY, STORED, StoredEpoch, Upload, Verdict
from tests.service.postgres_server import PostgresServer
from tests.service.uploading import COUNTED, HASHED, batch, codes, counts, fold, new_id, publish

EPOCHS = ("w1", "w2")
KINDS = st.sampled_from(["new", "new", "new", "again", "changed", "same id twice", "wrong"])


class StoreMachine(RuleBasedStateMachine):
    """The store beside a model of it: a dictionary."""

    survey: Any = COUNTED

    def open(self) -> Store:
        raise NotImplementedError

    @initialize()
    def begin(self) -> None:
        self.next_code = 0
        self.sent: list[Upload] = []
        self.state = dict.fromkeys(EPOCHS, "open")
        self.ledger: dict[tuple[str, bytes], bytes] = {}
        self.truth: dict[str, list[int]] = {epoch: [] for epoch in EPOCHS}
        self.store = self.open()
        publish(self.store, self.survey)
        self.store.put_epoch(self.survey.fingerprint, StoredEpoch("w2", "open"))

    def fresh(self, number: int) -> list[int]:
        start = self.next_code
        self.next_code += number
        return list(range(start, start + number))

    def made(self, kind: str, epoch: str, number: int, pick: int) -> list[Upload]:
        fingerprint = self.survey.fingerprint
        if kind == "wrong":
            made = batch([0], self.survey)
            wide = type(made)(fingerprint, 0, made.records + b"\0", 1)
            return [Upload(fingerprint, epoch, new_id(), wide)]
        if kind in ("again", "changed") and self.sent:
            old = self.sent[pick % len(self.sent)]
            if kind == "again":
                return [old]
            return [old._replace(batch=batch(self.fresh(number), self.survey))]
        upload = Upload(fingerprint, epoch, new_id(), batch(self.fresh(number), self.survey))
        self.sent.append(upload)
        return [upload, upload] if kind == "same id twice" else [upload]

    def expected(self, upload: Upload) -> Verdict:
        """Return what the model says, and let it count."""
        key = (upload.epoch, upload.id)
        if self.state[upload.epoch] == "deleted":
            return Problem.EPOCH_DELETED
        if self.state[upload.epoch] == "closed":
            same = self.ledger.get(key) == upload.batch.digest
            return ALREADY if same else Problem.CLOSED
        if key in self.ledger:
            same = self.ledger[key] == upload.batch.digest
            return ALREADY if same else Problem.CHANGED
        if upload.batch.width != self.survey.randomizer.report_width:
            return Problem.REFUSED
        self.ledger[key] = upload.batch.digest
        reports = upload.batch.to_reports(self.survey.randomizer.fingerprint)
        tally = self.survey.tally(reports)
        if self.survey is COUNTED:
            self.truth[upload.epoch] += tally.blocks[0].nonzero()[0].tolist()
        else:
            self.truth[upload.epoch] += tally.codes.tolist()
        return STORED

    @rule(
        group=st.lists(
            st.tuples(KINDS, st.sampled_from(EPOCHS), st.integers(1, 5), st.integers(0, 999)),
            min_size=1,
            max_size=8,
        )
    )
    def upload(self, group: list[tuple[str, str, int, int]]) -> None:
        uploads = [upload for one in group for upload in self.made(*one)]
        outcomes = [outcome.verdict for outcome in self.store.store(uploads)]
        assert outcomes == [self.expected(upload) for upload in uploads]

    @rule()
    def replay_everything(self) -> None:
        if self.sent:
            outcomes = [outcome.verdict for outcome in self.store.store(self.sent)]
            assert outcomes == [self.expected(upload) for upload in self.sent]

    @rule(epoch=st.sampled_from(EPOCHS), state=st.sampled_from(["grace", "closed"]))
    def go_on(self, epoch: str, state: str) -> None:
        if self.state[epoch] not in ("closed", "deleted"):
            self.state[epoch] = state
            self.store.set_epoch_state(self.survey.fingerprint, epoch, state)  # type: ignore[arg-type]

    @rule()
    def drop_lists(self) -> None:
        self.store.drop_lists(0)
        while self.store.fold(everything=True):
            pass
        closed = [key for key in self.ledger if self.state[key[0]] == "closed"]
        for key in closed:
            del self.ledger[key]

    @precondition(lambda self: self.sent and "deleted" not in self.state.values())
    @rule(epoch=st.sampled_from(EPOCHS))
    def delete(self, epoch: str) -> None:
        self.store.delete_epoch(self.survey.fingerprint, epoch)
        self.state[epoch], self.truth[epoch] = "deleted", []

    @precondition(lambda self: "deleted" in self.state.values())
    @rule()
    def make_anew(self) -> None:
        for epoch in EPOCHS:
            if self.state[epoch] == "deleted":
                self.refuse(epoch)

    def refuse(self, epoch: str) -> None:
        with pytest.raises(ArgumentError):
            self.store.put_epoch(self.survey.fingerprint, StoredEpoch(epoch, "open"))

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.store = self.open()

    @rule(everything=st.booleans())
    def fold_once(self, everything: bool) -> None:
        self.store.fold(everything=everything)

    @rule()
    def fold_all(self) -> None:
        fold(self.store)

    @precondition(lambda self: self.sent)
    @rule()
    def export_and_import(self) -> None:
        written = list(self.store.export(self.survey.fingerprint))
        self.store.delete_survey(self.survey.fingerprint)
        publish(self.store, self.survey, epoch=f"made-anew-{new_id().hex()}")
        for epoch in EPOCHS:
            self.refuse(epoch)
        self.store.delete_survey(self.survey.fingerprint)
        assert self.store.import_(written) == self.survey.fingerprint

    @invariant()
    def everything_is_counted_once(self) -> None:
        for epoch in EPOCHS:
            if self.state[epoch] == "deleted":
                with pytest.raises(NotStoredError):
                    self.store.tally(self.survey.fingerprint, epoch)
                continue
            truth = sorted(self.truth[epoch])
            if self.survey is COUNTED:
                found = np.array(counts(self.store, self.survey, epoch=epoch))
                assert np.repeat(np.arange(found.size), found).tolist() == truth
            else:
                assert codes(self.store, self.survey, epoch=epoch) == truth
            totals = {
                total.epoch: total.reports for total in self.store.totals(self.survey.fingerprint)
            }
            assert totals.get(epoch, 0) == len(truth)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            assert self.store.check() == []
            self.store.close()


def run(
    machine: type[StoreMachine],
    *,
    examples: int = 12,
    steps: int = 12,
    shrink: bool = True,
    anew: bool = False,
) -> None:
    machine.TestCase.settings = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        derandomize=not anew,  # the same cases each time; make soak draws others
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
    )
    machine.TestCase().runTest()


@pytest.mark.parametrize(
    "how",
    [{}, pytest.param({"examples": 150, "steps": 60, "anew": True}, marks=pytest.mark.soak)],
    ids=["few", "long runs"],
)
@pytest.mark.parametrize("survey", [COUNTED, HASHED], ids=["counts", "log"])
def test_sqlite_counts_once_whatever_comes(survey: Any, how: dict[str, Any]) -> None:
    chosen = survey
    with tempfile.TemporaryDirectory() as folder:

        class Machine(StoreMachine):
            survey = chosen

            def __init__(self) -> None:
                super().__init__()
                self.path = Path(tempfile.mkdtemp(dir=folder)) / "collector.db"

            def open(self) -> Store:
                return SqliteStore(self.path)

        run(Machine, **how)


@pytest.mark.service
@pytest.mark.parametrize("survey", [COUNTED, HASHED], ids=["counts", "log"])
def test_postgresql_counts_once_whatever_comes(
    survey: Any, postgres_server: PostgresServer
) -> None:
    from lapwing.service.storage.opening import PostgresStore

    chosen = survey

    class Machine(StoreMachine):
        survey = chosen

        def __init__(self) -> None:
            super().__init__()
            self.address = postgres_server.new_database()

        def open(self) -> Store:
            return PostgresStore(self.address)

    run(Machine, examples=8)


class _CountsTwice(SqliteStore):
    """A store that forgets what it has when it is opened again."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self._driver.writing() as transaction:
            transaction.run("DELETE FROM ledger")


class _Loses(SqliteStore):
    """A store whose fold drops what it does not count."""

    def fold(self, *, everything: bool = False) -> bool:
        with self._driver.writing() as transaction:
            transaction.run("DELETE FROM deltas WHERE key IN (SELECT MAX(key) FROM deltas)")
        return super().fold(everything=everything)


class _ForgetsNames(SqliteStore):
    """A store that does not know any more, when it is opened again, what was deleted."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self._driver.writing() as transaction:
            transaction.run("DELETE FROM ended")


@pytest.mark.parametrize("broken", [_CountsTwice, _Loses, _ForgetsNames])
def test_the_machine_finds_a_store_that_counts_wrongly(broken: type[SqliteStore]) -> None:
    with tempfile.TemporaryDirectory() as folder:

        class Machine(StoreMachine):
            def __init__(self) -> None:
                super().__init__()
                self.path = Path(tempfile.mkdtemp(dir=folder)) / "collector.db"

            def open(self) -> Store:
                return broken(self.path)

        with pytest.raises((AssertionError, pytest.fail.Exception)):
            run(Machine, examples=200, steps=40, shrink=False)
