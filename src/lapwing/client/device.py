"""A person's device: what it answers, what that costs, and what it keeps until it is sent."""

from __future__ import annotations

import hmac
import json
import os
import sqlite3
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from lapwing.client.collector_address import (
    CollectorAddress,
    Epoch,
    SendResult,
    check_fingerprint,
    check_size,
    send,
)
from lapwing.client.device_file import DeviceFile, keyed_hash, row_key
from lapwing.client.outbox import Outbox, OutgoingBatch, Patience, State, insert, of_pile
from lapwing.documents import parse
from lapwing.errors import ArgumentError, FormatError, MismatchError, PrivacyError
from lapwing.privacy.exact_numbers import ExactNumber, exact_epsilon
from lapwing.privacy.guarantee import Guarantee
from lapwing.privacy.ledger import Ledger
from lapwing.protocol.domains.label_text import place_of
from lapwing.protocol.messages.batch import NO_SEGMENT, Batch, check_epoch_name
from lapwing.protocol.messages.reports import Reports
from lapwing.randomizers.categorical.rappor import Rappor
from lapwing.survey.survey import Survey

FILE = "device.lapwing"
"""The file of a device, in the folder it is given."""

OnChange = Literal["keep", "refuse"]


@dataclass(frozen=True)
class Answer:
    """What became of an answer; nothing of the value.

    Parameters
    ----------
    batch : str
        Under which the collector knows it.
    epoch : str
    state : {"waiting", "stored", "refused"}
    charged : Guarantee, optional
        What was paid for it now. None when it was paid already: in this epoch, or with a
        remembered report.
    """

    batch: str
    epoch: str
    state: State
    charged: Guarantee | None


@dataclass(frozen=True)
class Device:
    """Device: answers surveys for one person, and never twice for one epoch.

    Use :meth:`open`. Threads and processes may share it.

    Parameters
    ----------
    file : DeviceFile
    epsilon_cap : Fraction
        The most that one survey may cost: one report, or all of them where they are remembered.
    on_change : {"keep", "refuse"}
        What becomes of a value that changed, in a survey whose answers are remembered. "keep": the
        first report, or RAPPOR's first permanent round, goes on. "refuse": the answer is refused.

    Notes
    -----
    **Privacy.** An answer is one transaction of one file: the ledger of all surveys is asked, the
    value randomized, and the report stored together with its payment. Only what is stored is ever
    sent, so nothing leaves unpaid, and a report is paid once, because a second answer of the same
    epoch finds the first. When the device stops before the transaction is on the disk, what was
    drawn was seen by nobody and is gone; when it stops after it, the same bytes are sent again.
    What must not be done is to lose the file, or to put an older copy in its place.

    Of a survey whose answers are remembered, only the value of the first answer is ever read. So
    all reports together tell about that value what the ledger says, whatever the value becomes.
    With "refuse" that holds for the reports. A device that refused is silent, and its silence
    tells that the value changed. To notice a change it also keeps a keyed hash of the first value:
    whoever has the file can find that value out. With "keep" the file does not tell it.

    `tests/adversary/test_histories.py` goes through all pairs of histories of a device.
    `tests/client/test_killed_devices.py` kills a device at every line and compares what a collector
    got with what was paid; `tests/client/test_power_cut_devices.py` cuts its power at every sync.

    Examples
    --------
    >>> import tempfile
    >>> from lapwing.randomizers.numerical.square_wave import SquareWave
    >>> from lapwing.protocol.domains.interval import Interval
    >>> age = Survey("age", SquareWave(Interval(0, 100, bins=10), "0.5"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     device = Device.open(folder, epsilon_cap=1, budget=2)
    ...     first = device.answer(age, 41, epoch="2026-12")
    ...     again = device.answer(age, 42, epoch="2026-12")
    ...     (first.batch == again.batch, again.charged, device.ledger.spent.epsilon)
    (True, None, Fraction(1, 2))
    """

    file: DeviceFile
    epsilon_cap: Fraction
    on_change: OnChange = "keep"

    @classmethod
    def open(
        cls,
        folder: Path | str,
        *,
        epsilon_cap: ExactNumber,
        budget: Guarantee | ExactNumber,
        on_change: OnChange = "keep",
    ) -> Device:
        """Return the device whose file is in a folder; it is made when there is none.

        Parameters
        ----------
        folder : Path or str
            It must exist.
        epsilon_cap : int, float, str or Fraction
            The most that one survey may cost.
        budget : Guarantee, int, float, str or Fraction
            The most that all answers of the person together may cost, in the local model; or its
            epsilon. Declared when the file is made, and the same ever after.
        on_change : {"keep", "refuse"}
            What becomes of a value that changed, in a survey whose answers are remembered.

        Raises
        ------
        ArgumentError
            When `on_change` is neither.
        MismatchError
            When the file was made with another budget, or the budget is none of the local model.
        FormatError
            When the file is something else or damaged. A new one would forget what was spent.
        DeviceError
            When it cannot be read or written.
        """
        if on_change not in get_args(OnChange):
            raise ArgumentError(f"on_change must be 'keep' or 'refuse', got {on_change!r}")
        if not isinstance(budget, Guarantee):
            budget = Guarantee(budget, 0, "replace-one", "local")
        if (budget.neighbors, budget.model) != ("replace-one", "local"):
            raise MismatchError(
                "the budget of a device must have replace-one neighbors in the local model, got "
                f"{budget}"
            )
        empty = Ledger(budget)
        file = DeviceFile(Path(folder) / FILE)
        if not os.path.lexists(file.path):
            file.create(ledger=_written(empty))
        device = cls(file, exact_epsilon(epsilon_cap), on_change)
        held = device.ledger.budget
        if held != budget:
            raise MismatchError(
                f"the budget of this device was declared as {held} and cannot change, got {budget}"
            )
        return device

    @property
    def ledger(self) -> Ledger:
        """What the person has spent on all surveys."""
        with self.file.transaction() as connection:
            return _ledger(connection)

    def batches(self) -> list[OutgoingBatch]:
        """Return every answer that was ever made, and where it is on its way."""
        return Outbox(self.file).batches()

    def fetch(self, collector: CollectorAddress | str, fingerprint: str) -> Survey:
        """Return a survey that the person agreed to, from the device or else from a collector.

        Answers to it are sent to this collector only.

        Parameters
        ----------
        collector : CollectorAddress or str
        fingerprint : str
            Of the survey, 64 hex digits: what was agreed to, and not something that this
            collector says.

        Raises
        ------
        PrivacyError
            When it costs more than the cap.
        FormatError, MismatchError
            When it does not verify, or is another survey.
        DomainError
            When it has more symbols than a device takes.
        CollectorError
            When the collector cannot be reached, or has no such survey.
        """
        check_fingerprint(fingerprint)
        address = CollectorAddress.of(collector)
        with self.file.transaction() as connection:
            row = connection.execute(
                "SELECT document FROM survey WHERE fingerprint = ?", (fingerprint,)
            ).fetchone()
        survey = address.survey(fingerprint) if row is None else Survey.from_json(row[0])
        self._check_survey(survey)
        with self.file.transaction() as connection:
            connection.execute(
                "INSERT INTO survey VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET collector = ?",
                (fingerprint, survey.to_json().encode(), address.url, address.url),
            )
        return survey

    def epochs(self, collector: CollectorAddress | str, survey: Survey) -> list[Epoch]:
        """Return the epochs of a survey as the collector lists them, each with its state.

        Parameters
        ----------
        collector : CollectorAddress or str
        survey : Survey

        Raises
        ------
        CollectorError
            When the collector cannot be reached, or has no such survey.
        """
        return CollectorAddress.of(collector).epochs(survey)

    def answer(
        self,
        survey: Survey,
        value: Any,
        *,
        epoch: str,
        segment: str | None = None,
        upload_token: str | None = None,
    ) -> Answer:
        """Answer a survey in an epoch, once; what is stored waits for :meth:`send`.

        What the survey says to people (:attr:`lapwing.Survey.notice`) is kept with the answer.
        A second answer of an epoch changes nothing, whatever its value: it returns the first, whose
        bytes are sent until they have arrived. Of a survey whose answers are remembered, the value
        of the first answer counts in every epoch; later ones are not read, unless a change is
        refused.

        Parameters
        ----------
        survey : Survey
        value : Any
            Of its domain.
        epoch : str
            The name of the span of time; the collector says which is open.
        segment : str, optional
            A label of the survey that may be known of the person; one that the survey does not
            have counts as none.
        upload_token : str, optional
            That lets an invited person in, when the collector asks for it.

        Returns
        -------
        Answer

        Raises
        ------
        DomainError
            When the survey's domain refuses the value, or has more symbols than a device takes.
        PrivacyError
            When the survey costs more than the cap, or the value changed and that is refused.
        BudgetError
            When the person would have spent more than the budget.
        DeviceError
            When the file cannot be written. Whatever is raised, nothing was spent or stored.
        """
        check_epoch_name(epoch)
        token = _checked_token(upload_token)
        number = segment_number(survey, segment)
        with self.file.transaction() as connection:
            found = of_pile(connection, survey.fingerprint, epoch)
            if found:
                first = found[0][0]
                return Answer(first.id, epoch, first.state, None)
            self._check_survey(survey)
            reports, cost = self._drawn(connection, survey, value)
            batch = os.urandom(16).hex()
            if cost is not None:
                paid = _ledger(connection).spend(f"{survey.name} ({epoch})", cost, release=batch)
                connection.execute("UPDATE person SET ledger = ?", (_written(paid),))
            if survey.notice:
                shown = (survey.fingerprint, epoch, json.dumps(survey.notice))
                connection.execute("INSERT INTO notice VALUES (?, ?, ?)", shown)
            made = Batch.of(reports, survey=survey.fingerprint, segment=number)
            row = connection.execute(
                "SELECT collector FROM survey WHERE fingerprint = ?", (survey.fingerprint,)
            ).fetchone()
            insert(
                connection,
                OutgoingBatch(batch, survey.fingerprint, epoch, 0, 1, "waiting", 0, None),
                made.to_bytes(),
                collector=None if row is None else row[0],
                token=token,
            )
        return Answer(batch, epoch, "waiting", cost)

    def send(
        self,
        collector: CollectorAddress | str,
        *,
        survey: Survey | str | None = None,
        epoch: str | None = None,
        patience: Patience | None = None,
    ) -> SendResult:
        """Send what waits for a collector; see :func:`lapwing.client.collector_address.send`.

        Parameters
        ----------
        collector : CollectorAddress or str
        survey : Survey or str, optional
            Send only the answers to this survey, or to that of this fingerprint. Default: all.
        epoch : str, optional
            Send only the answers of this epoch. Default: all.
        patience : Patience, optional
            How often to try, and how long to wait.

        Returns
        -------
        SendResult
        """
        fingerprint = survey.fingerprint if isinstance(survey, Survey) else survey
        if fingerprint is not None:
            check_fingerprint(fingerprint)
        patience = patience or Patience()
        return send(Outbox(self.file), collector, patience, survey=fingerprint, epoch=epoch)

    def _check_survey(self, survey: Survey) -> None:
        check_size(survey)
        self._check_cap(survey)

    def _check_cap(self, survey: Survey, *, rounds: int = 1) -> None:
        """Refuse a survey that costs more than the cap, with so many permanent rounds."""
        cost = survey.lifetime_guarantee or survey.guarantee
        if rounds * cost.epsilon > self.epsilon_cap or cost.delta > 0:
            raise PrivacyError(
                f"this device answers surveys of at most epsilon {float(self.epsilon_cap):g}; "
                f"{survey.name!r} costs {cost}; it was not answered"
            )

    def _drawn(
        self, connection: sqlite3.Connection, survey: Survey, value: Any
    ) -> tuple[Reports, Guarantee | None]:
        """Return a report and what it costs now, and store what must be remembered of it."""
        if survey.answers == "fresh":
            return survey.randomize([value]), survey.guarantee
        (secret,) = connection.execute("SELECT secret FROM person").fetchone()
        if survey.answers == "remembered report":
            return self._remembered(connection, secret, survey, value)
        if isinstance(survey.randomizer, Rappor):
            return self._round(connection, secret, survey, survey.randomizer, value)
        raise ArgumentError(
            f"a device cannot keep the permanent rounds of {survey.randomizer.name}; it was not "
            "answered"
        )

    def _remembered(
        self, connection: sqlite3.Connection, secret: bytes, survey: Survey, value: Any
    ) -> tuple[Reports, Guarantee | None]:
        row = connection.execute(
            "SELECT report, tag FROM remembered_report WHERE survey = ?", (survey.fingerprint,)
        ).fetchone()
        if row is not None:
            self._check_unchanged(row["tag"], secret, survey, value)
            data = np.frombuffer(row["report"], dtype=np.uint8).reshape(1, -1)
            return Reports(data, survey.randomizer.fingerprint, survey.fingerprint), None
        reports = survey.randomize([value])
        connection.execute(
            "INSERT INTO remembered_report VALUES (?, ?, ?)",
            (survey.fingerprint, reports.data.tobytes(), self._tag(secret, survey, value)),
        )
        return reports, survey.randomizer.guarantee

    def _round(
        self,
        connection: sqlite3.Connection,
        secret: bytes,
        survey: Survey,
        rappor: Rappor,
        value: Any,
    ) -> tuple[Reports, Guarantee | None]:
        """Return a report of the permanent round, charged by how many it has had before."""
        key = row_key(secret, survey.fingerprint)
        row = connection.execute("SELECT * FROM permanent_round WHERE key = ?", (key,)).fetchone()
        earlier = 0 if row is None else row["earlier"]
        if earlier > 1:
            raise PrivacyError(
                f"this device answered {survey.name!r} about a value that changed, with an earlier "
                "version of lapwing; no epsilon covers those reports, so it is not answered again"
            )
        if row is None or row["round"] is None:
            self._check_cap(survey, rounds=1 + earlier)
            permanent, before = rappor.permanent_round(value), 0
            new = (key, permanent, self._tag(secret, survey, value), earlier)
            connection.execute("INSERT OR REPLACE INTO permanent_round VALUES (?, ?, ?, 1, ?)", new)
        else:
            self._check_unchanged(row["tag"], secret, survey, value)
            permanent, before = row["round"], row["reports"]
            connection.execute(
                "UPDATE permanent_round SET reports = reports + 1 WHERE key = ?", (key,)
            )
        reports = rappor.report(permanent, survey=survey.fingerprint)
        return reports, rappor.charge(1, after=before)

    def _tag(self, secret: bytes, survey: Survey, value: Any) -> bytes | None:
        """Return what a later value is compared with; None where any is taken."""
        return None if self.on_change == "keep" else _value_hash(secret, survey, value)

    def _check_unchanged(
        self, tag: bytes | None, secret: bytes, survey: Survey, value: Any
    ) -> None:
        """Refuse a value that is not the first one, where a change is to be refused."""
        if self.on_change == "keep":
            return
        if tag is None:
            raise PrivacyError(
                f"the first answer to {survey.name!r} was given with on_change='keep', so a change "
                "cannot be noticed; it was not answered. To answer, open the device with "
                "on_change='keep': it sends its first answer again, whatever the value is now"
            )
        if not hmac.compare_digest(tag, _value_hash(secret, survey, value)):
            raise PrivacyError(
                f"the answer to {survey.name!r} is not the first one, and on_change is 'refuse'; "
                "it was not answered"
            )


def segment_number(survey: Survey, segment: str | None) -> int:
    """Return the number of a segment in batches; that of none for a label that is not listed."""
    if not isinstance(segment, str | None):
        raise ArgumentError("a segment must be a string, or left out")
    if segment is None:
        return NO_SEGMENT
    place = place_of(segment, survey.segments)
    return NO_SEGMENT if place is None else place + 1


def _checked_token(token: Any) -> str | None:
    if token is None:
        return None
    if not isinstance(token, str) or not 1 <= len(token) <= 200 or not token.isascii():
        raise ArgumentError("an upload token must be the string that the collector's admin gave it")
    if not token.isprintable() or " " in token:
        raise ArgumentError("an upload token must have no spaces and no control characters")
    return token


def _written(ledger: Ledger) -> str:
    return json.dumps(ledger.to_document(), allow_nan=False)


def _ledger(connection: sqlite3.Connection) -> Ledger:
    row = connection.execute("SELECT ledger FROM person").fetchone()
    if row is None:
        raise FormatError("this file belongs to a gateway, which holds reports of many people")
    return Ledger.from_document(parse(row[0], name="the device's ledger"))


def _value_hash(secret: bytes, survey: Survey, value: Any) -> bytes:
    symbol = int(survey.randomizer.domain.index([value])[0])
    return keyed_hash(secret, "value", survey.fingerprint, symbol)
