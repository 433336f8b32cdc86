"""A person's device: its answers, their cost, and the reports that wait to be sent."""

from __future__ import annotations

import hmac
import json
import os
import re
import sqlite3
import time
import warnings
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from lapwing.client.collector_address import CollectorAddress, Epoch, check_fingerprint, check_size
from lapwing.client.device_file import DeviceFile, keyed_hash, row_key
from lapwing.client.outbox import (
    KEEP_DAYS,
    MOST_DAYS,
    Outbox,
    OutgoingBatch,
    Patience,
    State,
    add_token,
    insert,
    new_id,
    of_pile,
)
from lapwing.client.sending import SendResult, send
from lapwing.docstrings import inherits
from lapwing.documents import parse
from lapwing.errors import (
    ArgumentError,
    CollectorError,
    DomainError,
    FormatError,
    LapwingWarning,
    MismatchError,
    PrivacyError,
)
from lapwing.privacy.exact_numbers import ExactNumber, check_whole_field, exact_epsilon
from lapwing.privacy.guarantee import Guarantee
from lapwing.privacy.ledger import Ledger
from lapwing.protocol.domains.label_text import place_of
from lapwing.protocol.domains.units import check_plain_number
from lapwing.protocol.messages.batch import NO_SEGMENT, Batch, check_epoch_name
from lapwing.protocol.messages.group_tallies import OTHER
from lapwing.protocol.messages.reports import Reports
from lapwing.randomizers.categorical.rappor import Rappor
from lapwing.survey.survey import Survey

FILE = "device.lapwing"
"""Name of a device's file in its folder."""

OnChange = Literal["keep", "refuse"]

_UPLOAD_TOKEN = re.compile(r"lwu_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True)
class DeviceAnswer:
    """State of an answer, without its value.

    Parameters
    ----------
    batch : str
        Identifier of the batch at the collector: 32 hex digits.
    epoch : str
        Name of the epoch.
    state : {"waiting", "stored", "refused", "withdrawn", "expired"}
        As in :class:`OutgoingBatch`.
    charged : Guarantee or None
        Guarantee that was paid for now. None when it was paid for earlier: in this epoch, or with
        a memoized report.

    Examples
    --------
    >>> import lapwing as lw
    >>> import tempfile
    >>> survey = lw.Survey("age", lw.SquareWave(lw.Interval(0, 100, bins=10), epsilon="0.5"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     device = lw.client.Device.open(folder, epsilon_cap=1, budget=2)
    ...     answer = device.answer(survey, 41, epoch="2026-12")
    >>> answer.state, str(answer.charged)
    ('waiting', 'epsilon = 0.5, pure, neighbors replace-one, local model')
    """

    batch: str
    epoch: str
    state: State
    charged: Guarantee | None


@dataclass(frozen=True)
class Device:
    """Device: answers surveys for one person, never twice in one epoch.

    Use :meth:`open`. Threads and processes may share it.

    Parameters
    ----------
    file : DeviceFile
        File of the device: its ledger, its answers and their reports.
    epsilon_cap : Fraction
        Largest epsilon of one survey, in (0, 24]. It limits one report, or all of them where they
        are memoized.
    on_change : {"keep", "refuse"}
        Rule for a changed value in a survey with memoized reports. "keep" (default): the first
        report, or RAPPOR's first permanent round, is used again. "refuse": the answer is refused.
    keep_days : int
        Least number of days that an answer waits, in 1..3650. Default: 60.

    Notes
    -----
    **Privacy.** An answer is one transaction of one file. It asks the ledger, which covers all
    surveys, randomizes the value, and stores the report together with its payment. Only stored
    reports are ever sent, so nothing leaves unpaid. A report is paid for once, because a second
    answer in the same epoch finds the first. If the device stops before the transaction is on the
    disk, the draw is lost and nobody has seen it. If it stops after that, the same bytes are sent
    again. Never lose the file, and never replace it with an older copy.

    In a survey with memoized reports, only the value of the first answer is ever read. So all
    reports together have the loss that the ledger states, however the value changes. With "refuse"
    this is true of the reports. But a device that refused is silent, and its silence reveals that
    the value changed. To notice a change it also keeps a keyed hash of the first value. Anybody
    who has the file can find that value. With "keep" the file does not reveal it.

    `tests/adversary/test_histories.py` checks all pairs of histories of a device.
    `tests/client/test_killed_devices.py` kills a device at every line, and compares the reports
    that a collector received with the payments. `tests/client/test_power_cut_devices.py` cuts the
    power at every sync.

    **Cost.** One transaction of the file for each answer.

    Examples
    --------
    >>> import lapwing as lw
    >>> import tempfile
    >>> survey = lw.Survey("age", lw.SquareWave(lw.Interval(0, 100, bins=10), epsilon="0.5"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     device = lw.client.Device.open(folder, epsilon_cap=1, budget=2)
    ...     first = device.answer(survey, 41, epoch="2026-12")
    ...     again = device.answer(survey, 42, epoch="2026-12")
    ...     (first.batch == again.batch, again.charged, device.ledger.spent.epsilon)
    (True, None, Fraction(1, 2))
    """

    file: DeviceFile
    epsilon_cap: Fraction
    on_change: OnChange = "keep"
    keep_days: int = KEEP_DAYS

    def __post_init__(self) -> None:
        """Check the number of days."""
        check_whole_field(self, "keep_days", low=1, high=MOST_DAYS)

    @classmethod
    def open(
        cls,
        folder: Path | str,
        *,
        epsilon_cap: ExactNumber,
        budget: Guarantee | ExactNumber,
        on_change: OnChange = "keep",
        keep_days: int = KEEP_DAYS,
    ) -> Device:
        """Return the device whose file is in a folder. The file is created if it does not exist.

        Parameters
        ----------
        folder : Path or str
            Folder, which must exist.
        epsilon_cap : int, float, str, Decimal or Fraction
            Largest epsilon of one survey, in (0, 24].
        budget : Guarantee, int, float, str, Decimal or Fraction
            Largest total loss of all of the person's answers, in the local model, or its epsilon.
            It is declared when the file is created, and cannot change.
        on_change : {"keep", "refuse"}
            Rule for a changed value in a survey with memoized reports. Default: "keep".
        keep_days : int
            Least number of days that an answer made from now on waits, in 1..3650. Default: 60. An
            answer that no collector has taken by then is given up.

        Returns
        -------
        Device
            The device.

        Raises
        ------
        ArgumentError
            When `on_change` is neither of its two values, or `keep_days` is out of range.
        MismatchError
            When the file was created with another budget, or the budget is not in the local model.
        FormatError
            When the file is not a device's file, or is damaged. A new one would forget what was
            spent.
        DeviceError
            When the file cannot be read or written.
        """
        if on_change not in get_args(OnChange):
            raise ArgumentError("on_change", "must be 'keep' or 'refuse'", repr(on_change))
        if not isinstance(budget, Guarantee):
            budget = Guarantee(budget, 0, "replace-one", "local")
        if (budget.neighbors, budget.model) != ("replace-one", "local"):
            raise MismatchError(
                "the budget of a device must have replace-one neighbors in the local model, got "
                f"{budget}"
            )
        empty = Ledger(budget)
        file = DeviceFile(Path(folder) / FILE)
        device = cls(file, exact_epsilon(epsilon_cap), on_change, keep_days)
        if not os.path.lexists(file.path):
            file.create(ledger=_written(empty))
        held = device.ledger.budget
        if held != budget:
            raise MismatchError(
                f"the budget of this device was declared as {held} and cannot change, got {budget}"
            )
        return device

    @property
    def ledger(self) -> Ledger:
        """The person's ledger: the payments for all surveys."""
        with self.file.transaction() as connection:
            return _ledger(connection)

    def batches(self) -> list[OutgoingBatch]:
        """Return every answer ever made, with its state.

        Returns
        -------
        list of OutgoingBatch
            Answers, ordered by survey and epoch.
        """
        return Outbox(self.file).batches()

    def fetch(
        self, collector: CollectorAddress | str, fingerprint: str, *, text: str | None = None
    ) -> Survey:
        """Return a survey that the person agreed to, from a collector or the device's own copy.

        Answers to it are sent to this collector only. The device remembers the text of the survey,
        and refuses another text until the person agrees to it.

        Parameters
        ----------
        collector : CollectorAddress or str
            Address of the collector.
        fingerprint : str
            Fingerprint of the survey that the person agreed to, 64 hex digits. It must not come
            from this collector.
        text : str, optional
            Fingerprint of the text that the person agreed to, 64 hex digits:
            :attr:`lapwing.Survey.text_fingerprint`. Default: the text that the device remembers,
            or any text the first time.

        Returns
        -------
        Survey
            Survey with this fingerprint. It is the device's copy where the collector does not
            provide the survey, or something else answers, such as a network's sign-in page.

        Raises
        ------
        PrivacyError
            When the survey costs more than the cap.
        FormatError, MismatchError
            When the survey has another text. Also when the device has no copy, and the collector's
            answer cannot be verified or is another survey.
        DomainError
            When the survey has more symbols than a device accepts.
        CollectorError
            When the collector cannot be reached or has no such survey, and the device has no copy.
        """
        check_fingerprint(fingerprint)
        address = CollectorAddress.of(collector)
        with self.file.transaction() as connection:
            row = connection.execute(
                "SELECT document FROM survey WHERE fingerprint = ?", (fingerprint,)
            ).fetchone()
        try:
            # Asked each time: the text may be another one since the last epoch.
            survey = address.survey(fingerprint)
        except (CollectorError, DomainError, FormatError, MismatchError):
            if row is None:
                raise
            survey = Survey.from_json(row[0])
        self._check_survey(survey)
        document = survey.to_json().encode()
        with self.file.transaction() as connection:
            _agree(connection, survey, text)
            connection.execute(
                "INSERT INTO survey VALUES (?, ?, ?)"
                " ON CONFLICT DO UPDATE SET document = ?2, collector = ?3",
                (fingerprint, document, address.url),
            )
        return survey

    @inherits(CollectorAddress.epochs)
    def epochs(self, collector: CollectorAddress | str, survey: Survey) -> list[Epoch]:
        """Return the epochs of a survey as the collector lists them, each with its state.

        The device remembers the list for a day. During that day :meth:`answer` refuses an epoch
        that is not listed, has ended or asks another text, before anything is paid for.

        Parameters
        ----------
        collector : CollectorAddress or str
            Address of the collector.
        survey : Survey
            Survey whose epochs are listed.

        Raises
        ------
        CollectorError
            When the collector cannot be reached, or has no such survey.
        """
        listed = CollectorAddress.of(collector).epoch_list(survey)
        states = json.dumps({epoch.name: (epoch.state, epoch.text) for epoch in listed.epochs})
        row = (survey.fingerprint, time.time(), states, listed.invited)
        with self.file.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO epoch_list VALUES (?, ?, ?, ?)", row)
        return listed.epochs

    def answer(
        self,
        survey: Survey,
        value: Any,
        *,
        epoch: str,
        segment: str | None = None,
        upload_token: str | None = None,
        text: str | None = None,
    ) -> DeviceAnswer:
        """Answer a survey in an epoch, once. The stored report waits for :meth:`send`.

        The notice of the survey (:attr:`lapwing.Survey.notice`) is stored with the answer. A
        second answer in an epoch changes nothing but the upload token, whatever its value. It
        returns the first answer, whose bytes are sent until they arrive. An epoch that was
        answered under another notice is refused. In a survey with memoized reports, the value of
        the first answer counts in every epoch. Later values are not read, unless a change is
        refused.

        Parameters
        ----------
        survey : Survey
            Survey to answer.
        value : Any
            The person's value, in the survey's domain. It is secret. A pair of attributes is given
            as ``(800, "09:00")``, or by the names of the axes as ``{"ms": 800, "hour": "09:00"}``.
            A date or a time of day must not be a plain number, which could be hours or seconds.
        epoch : str
            Name of the epoch. :meth:`epochs` shows which are open. A device that has no list from
            the last day accepts any name, and its answer waits until the collector has the epoch.
        segment : str, optional
            Public label of the person. A label that the survey does not have counts as "other",
            with a warning. Default: none.
        upload_token : str, optional
            Token of an invited person, if the collector requires one: ``lwu_`` and 43 more
            characters. A second call stores it with the waiting report, in place of an earlier
            token. Default: none.
        text : str, optional
            Fingerprint of the text that the person agreed to, as in :meth:`fetch`. It is needed
            where the text is not the one that the device remembers. Default: none.

        Returns
        -------
        DeviceAnswer
            State of the answer, and its payment.

        Raises
        ------
        ArgumentError
            When the epoch or the token is malformed, the epoch is not listed or has ended, or the
            survey needs a token. Also when a token is given for a report that ended without being
            stored.
        DomainError
            When the survey's domain refuses the value, or has more symbols than a device accepts.
        PrivacyError
            When the survey costs more than the cap, or a changed value is refused.
        BudgetError
            When the payment would exceed the person's budget.
        MismatchError
            When the text is not the one that the person agreed to, or the epoch was answered under
            another text. Also when a memoized report is for another question or unit.
        DeviceError
            When the file cannot be written. After any error, nothing has been spent or stored.
        """
        check_epoch_name(epoch)
        token = _checked_token(upload_token)
        number = segment_number(survey, segment)
        with self.file.transaction() as connection:
            found = of_pile(connection, survey.fingerprint, epoch)
            if found:
                _check_same_text(connection, survey, epoch)
                first = found[0][0]
                if token is not None:
                    add_token(connection, first, token)
                return DeviceAnswer(first.id, epoch, first.state, None)
            self._check_survey(survey)
            _check_listed(connection, survey, epoch, token)
            _agree(connection, survey, text)
            reports, cost = self._drawn(connection, survey, value)
            batch = new_id()
            if cost is not None:
                paid = _ledger(connection).spend(f"{survey.name} ({epoch})", cost, release=batch)
                connection.execute("UPDATE person SET ledger = ?", (_written(paid),))
            if survey.notice:
                _keep_notice(connection, survey, epoch)
            made = Batch.of(reports, survey=survey.fingerprint, segment=number)
            row = connection.execute(
                "SELECT collector FROM survey WHERE fingerprint = ?", (survey.fingerprint,)
            ).fetchone()
            insert(
                connection,
                made,
                epoch,
                text=survey.text_fingerprint,
                id=batch,
                days=self.keep_days,
                collector=None if row is None else row[0],
                token=token,
            )
        return DeviceAnswer(batch, epoch, "waiting", cost)

    def withdraw(self, survey: Survey | str | None = None, *, epoch: str | None = None) -> int:
        """Withdraw waiting answers, so that they are never sent.

        Their bytes are overwritten. Their epsilon stays spent, and their epochs stay answered. A
        memoized report stays on the device for later epochs.

        Parameters
        ----------
        survey : Survey or str, optional
            Survey, or its fingerprint. Default: all surveys.
        epoch : str, optional
            Name of the epoch. Default: all epochs.

        Returns
        -------
        int
            Number of answers that were withdrawn. Answers that were already sent cannot be
            withdrawn.

        Raises
        ------
        ArgumentError
            When nothing was answered under these names.

        Examples
        --------
        >>> import lapwing as lw
        >>> import tempfile
        >>> survey = lw.Survey("age", lw.SquareWave(lw.Interval(0, 100, bins=10), epsilon="0.5"))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     device = lw.client.Device.open(folder, epsilon_cap=1, budget=2)
        ...     answer = device.answer(survey, 41, epoch="2026-12")
        ...     (device.withdraw(survey), device.withdraw(), device.batches()[0].state)
        (1, 0, 'withdrawn')
        """
        if epoch is not None:
            check_epoch_name(epoch)
        return Outbox(self.file).withdraw(_fingerprint(survey), epoch)

    def send(
        self,
        collector: CollectorAddress | str,
        *,
        survey: Survey | str | None = None,
        epoch: str | None = None,
        patience: Patience | None = None,
    ) -> SendResult:
        """Send the waiting answers to a collector.

        See :func:`lapwing.client.sending.send`.

        Parameters
        ----------
        collector : CollectorAddress or str
            Address of the collector.
        survey : Survey or str, optional
            Send only the answers to this survey, given as a Survey or its fingerprint. Default:
            all.
        epoch : str, optional
            Send only the answers in this epoch. Default: all.
        patience : Patience, optional
            Attempts and pauses. Default: ``Patience()``.

        Returns
        -------
        SendResult
            Numbers of batches that were stored, were refused or are waiting, and the problems.
        """
        patience = patience or Patience()
        fingerprint = _fingerprint(survey)
        return send(Outbox(self.file), collector, patience, survey=fingerprint, epoch=epoch)

    def _check_survey(self, survey: Survey) -> None:
        check_size(survey)
        cost = survey.lifetime_guarantee or survey.guarantee
        if cost.epsilon > self.epsilon_cap or cost.delta > 0:
            raise PrivacyError(
                "this device answers surveys with an epsilon of at most "
                f"{float(self.epsilon_cap):g}. {survey.name!r} costs {cost}, so it was not "
                "answered"
            )

    def _drawn(
        self, connection: sqlite3.Connection, survey: Survey, value: Any
    ) -> tuple[Reports, Guarantee | None]:
        """Return a report and what it costs now, and store what must be memoized of it."""
        if survey.answers == "fresh":
            check_plain_number(value, domain=survey.randomizer.domain)
            return survey.randomize([value]), survey.guarantee
        (secret,) = connection.execute("SELECT secret FROM person").fetchone()
        if survey.answers == "remembered report":
            return self._remembered(connection, secret, survey, value)
        if isinstance(survey.randomizer, Rappor):
            return self._round(connection, secret, survey, survey.randomizer, value)
        raise ArgumentError(
            f"a device cannot store permanent rounds of {survey.randomizer.name}. The survey "
            "was not answered"
        )

    def _remembered(
        self, connection: sqlite3.Connection, secret: bytes, survey: Survey, value: Any
    ) -> tuple[Reports, Guarantee | None]:
        row = connection.execute(
            "SELECT report, tag FROM remembered_report WHERE survey = ?", (survey.fingerprint,)
        ).fetchone()
        if row is not None:
            _check_same_question(connection, survey)
            self._check_unchanged(row["tag"], secret, survey, value)
            data = np.frombuffer(row["report"], dtype=np.uint8).reshape(1, -1)
            return Reports(data, survey.randomizer.fingerprint, survey.fingerprint), None
        check_plain_number(value, domain=survey.randomizer.domain)
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
        if row is None:
            check_plain_number(value, domain=survey.randomizer.domain)
            permanent, before = rappor.permanent_round(value), 0
            new = (key, permanent, self._tag(secret, survey, value))
            connection.execute("INSERT INTO permanent_round VALUES (?, ?, ?, 1)", new)
        else:
            _check_same_question(connection, survey)
            self._check_unchanged(row["tag"], secret, survey, value)
            permanent, before = row["round"], row["reports"]
            connection.execute(
                "UPDATE permanent_round SET reports = reports + 1 WHERE key = ?", (key,)
            )
        reports = rappor.report(permanent, survey=survey.fingerprint)
        return reports, rappor.charge(1, after=before)

    def _tag(self, secret: bytes, survey: Survey, value: Any) -> bytes | None:
        """Return what a later value is compared with. None where any is taken."""
        return None if self.on_change == "keep" else _value_hash(secret, survey, value)

    def _check_unchanged(
        self, tag: bytes | None, secret: bytes, survey: Survey, value: Any
    ) -> None:
        """Refuse a value that is not the first one, where a change is to be refused."""
        if self.on_change == "keep":
            return
        if tag is None:
            raise PrivacyError(
                f"the first answer to {survey.name!r} was given with on_change='keep', so a "
                "change cannot be noticed. The survey was not answered. To answer, open the "
                "device with on_change='keep', which resends the first answer whatever the "
                "value is now"
            )
        if not hmac.compare_digest(tag, _value_hash(secret, survey, value)):
            raise PrivacyError(
                f"the answer to {survey.name!r} differs from the first one, and on_change is "
                "'refuse', so it was not answered"
            )


def _fingerprint(survey: Survey | str | None) -> str | None:
    fingerprint = survey.fingerprint if isinstance(survey, Survey) else survey
    if fingerprint is not None:
        check_fingerprint(fingerprint)
    return fingerprint


_LIST_SECONDS = 86_400.0
"""Seconds for which a list of epochs is believed."""


def _check_listed(
    connection: sqlite3.Connection, survey: Survey, epoch: str, token: str | None
) -> None:
    """Refuse what the collector said that it would not take."""
    row = connection.execute(
        "SELECT listed, states, invited FROM epoch_list WHERE survey = ?", (survey.fingerprint,)
    ).fetchone()
    if row is None or not 0 <= time.time() - row["listed"] <= _LIST_SECONDS:
        return
    again = "Nothing was spent. Call epochs() for the current list"
    state, text = json.loads(row["states"]).get(epoch, (None, None))
    if state is None:
        raise ArgumentError(f"the collector listed no epoch {epoch!r} of {survey.name!r}. {again}")
    if state in ("grace", "closed"):
        raise ArgumentError(f"epoch {epoch!r} of {survey.name!r} takes no new answers. {again}")
    if text not in (None, survey.text_fingerprint):
        raise MismatchError(
            f"epoch {epoch!r} of {survey.name!r} asks a different text from this copy of the "
            "survey. Nothing was spent. Call fetch() and show the person its text"
        )
    if row["invited"] and token is None:
        raise ArgumentError(
            f"{survey.name!r} takes answers from invited people only. Nothing was spent. Pass "
            "upload_token="
        )


def segment_number(survey: Survey, segment: str | None) -> int:
    """Return the number of a segment in batches. A label that is not listed has that of none.

    Warns of it, because a typing mistake would move a person into the rest, and nobody could see it
    later. It is no error: a survey may list a few countries, and its devices know their own.
    """
    if not isinstance(segment, str | None):
        raise ArgumentError("segment", "must be a string, or left out")
    if segment is None or segment == OTHER:
        return NO_SEGMENT
    place = place_of(segment, survey.segments)
    if place is not None:
        return place + 1
    listed = ", ".join(repr(label) for label in survey.segments[:20]) or "none"
    warnings.warn(
        "the survey does not have this segment, so the report counts as "
        f"{OTHER!r}. Its segments: {listed}. Pass segment={OTHER!r} where that is meant",
        LapwingWarning,
        stacklevel=3,
    )
    return NO_SEGMENT


AGREED = ""
"""Marks, in place of an epoch in the table of notices, the notice that the person agreed to."""


def _agree(connection: sqlite3.Connection, survey: Survey, text: str | None) -> None:
    """Remember the notice of a survey. MismatchError when the person agreed to another one.

    connection: Open transaction of the file.
    text: Fingerprint of the text that the person agrees to now.
    """
    if text is not None:
        check_fingerprint(text, of="text")
        if text != survey.text_fingerprint:
            raise MismatchError(
                f"text {text[:12]} was agreed to, but survey {survey.name!r} has text "
                f"{survey.text_fingerprint[:12]}. Do not answer it"
            )
    elif _notice(connection, survey, AGREED) not in (None, survey.notice):
        raise MismatchError(
            f"the text of survey {survey.name!r} is not the one that this device remembers. Show "
            f"it to the person, and pass text={survey.text_fingerprint!r} when they agree"
        )
    _keep_notice(connection, survey, AGREED)


def _check_same_text(connection: sqlite3.Connection, survey: Survey, epoch: str) -> None:
    """Refuse another question in an epoch that was answered: its answer would be dropped."""
    if (_notice(connection, survey, epoch) or {}) != survey.notice:
        raise MismatchError(
            f"epoch {epoch} of survey {survey.name!r} was answered under another text. The "
            "first answer is kept, and this question was not answered"
        )


def _check_same_question(connection: sqlite3.Connection, survey: Survey) -> None:
    """Refuse a question that the memoized report does not answer, whatever the person agreed to."""
    row = connection.execute(
        "SELECT epoch FROM batch WHERE survey = ? LIMIT 1", (survey.fingerprint,)
    ).fetchone()
    first = None if row is None else _notice(connection, survey, row["epoch"]) or {}
    if first is not None and any(
        first.get(name) != survey.notice.get(name) for name in ("question", "measured_in")
    ):
        raise MismatchError(
            f"the memoized report of {survey.name!r} answers a different question or unit, and "
            "would be sent again. Nothing was answered. Ask a new question in a new survey"
        )


def _notice(connection: sqlite3.Connection, survey: Survey, epoch: str) -> Any:
    row = connection.execute(
        "SELECT text FROM notice WHERE survey = ? AND epoch = ?", (survey.fingerprint, epoch)
    ).fetchone()
    return None if row is None else json.loads(row["text"])


def _keep_notice(connection: sqlite3.Connection, survey: Survey, epoch: str) -> None:
    row = (survey.fingerprint, epoch, json.dumps(survey.notice))
    connection.execute("INSERT OR REPLACE INTO notice VALUES (?, ?, ?)", row)


def _checked_token(token: Any) -> str | None:
    if token is None:
        return None
    if not isinstance(token, str) or not _UPLOAD_TOKEN.fullmatch(token):
        raise ArgumentError(
            "an upload token must be lwu_ and 43 more characters, exactly as the collector's "
            "admin gave it"
        )
    return token


def _written(ledger: Ledger) -> str:
    return json.dumps(ledger.to_document(), allow_nan=False)


def _ledger(connection: sqlite3.Connection) -> Ledger:
    row = connection.execute("SELECT ledger FROM person").fetchone()
    if row is None:
        raise FormatError("this file belongs to a gateway, which stores reports of many people")
    return Ledger.from_document(parse(row[0], name="the device's ledger"))


def _value_hash(secret: bytes, survey: Survey, value: Any) -> bytes:
    symbol = int(survey.randomizer.domain.index([value])[0])
    return keyed_hash(secret, "value", survey.fingerprint, symbol)
