"""The store of a collector: surveys, epochs, tallies, and which batches they hold.

It is the same for SQLite and PostgreSQL. A batch is counted when its epoch takes reports, its id is
new, its token good and each of its reports possible. The id is checked before the
token, so a device that repeats a stored batch learns that, though its token is used up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import get_args

from lapwing.errors import ArgumentError, FormatError, LapwingError, NotStoredError, StoreError
from lapwing.protocol.messages.problems import Problem
from lapwing.protocol.messages.tally import Tally
from lapwing.service.storage.counting import Counting, Row, fold_group
from lapwing.service.storage.driver import ConflictError, Driver, Transaction
from lapwing.service.storage.intake import Delta, Intake, Place
from lapwing.service.storage.looks import (
    final_look,
    kept_look,
    kept_parts,
    live_counts,
    next_look,
    rests,
    take_look,
)
from lapwing.service.storage.state_file import exported, imported
from lapwing.service.storage.store import (
    AccessToken,
    EpochState,
    FirstLook,
    FormerNotice,
    Look,
    Outcome,
    Refused,
    StoredEpoch,
    StoredSurvey,
    SurveyState,
    Total,
    Upload,
    UploadTokens,
)
from lapwing.service.storage.survey_rows import (
    EPOCH_COLUMNS,
    THE_SURVEY,
    change_notice,
    check_epoch,
    check_forward,
    check_survey,
    delete_epoch,
    deleted_names,
    drop_batches,
    drop_old_lists,
    end_names,
    ended_names,
    first_look_stands,
    former_notices,
    insert_epoch,
    insert_survey,
    stored_epochs,
    stored_surveys,
    text_version,
)

MOST_BYTES = 256 * 2**10
MOST_ROWS = 4096

Key = tuple[int, int]
"""Epoch and segment."""


class Pending:
    """Rows and bytes that were added since the last fold, by epoch and segment."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: dict[Key, tuple[int, int, int]] = {}
        self._due: set[Key] = set()

    def add(self, key: Key, size: int, *, rows: int = 1, heavy: int = 0) -> None:
        """Note rows of so many bytes together.

        `heavy` is the size of what folding rewrites: it comes less often where that is large.
        """
        with self._lock:
            old_rows, old_size, _ = self._waiting.get(key, (0, 0, 0))
            now = (old_rows + rows, old_size + size, heavy)
            self._waiting[key] = now
            if now[0] >= MOST_ROWS or now[1] >= max(MOST_BYTES, 2 * heavy):
                self._due.add(key)

    def take(self, *, everything: bool) -> Key | None:
        """Return a group to fold, and forget it. None when none is due."""
        with self._lock:
            chosen = self._due or (self._waiting if everything else None)
            if not chosen:
                return None
            key = next(iter(chosen))
            self._due.discard(key)
            self._waiting.pop(key, None)
            return key

    def give_back(self, key: Key) -> None:
        """Note that a group could not be folded and waits still."""
        with self._lock:
            self._waiting.setdefault(key, (1, 0, 0))


_KEPT = 64
"""Surveys that are kept ready to count."""
_ATTEMPTS = 5

_PLACE = (
    "SELECT s.key, e.key, s.fingerprint, s.state, s.upload, e.state FROM surveys s"
    " JOIN epochs e ON e.survey = s.key WHERE s.fingerprint = ?1 AND e.name = ?2"
)
_LEDGER = "INSERT INTO ledger (epoch, id, digest) VALUES (?1, ?2, ?3)"
_DELTA = "INSERT INTO deltas (epoch, segment, reports, form, body) VALUES (?1, ?2, ?3, ?4, ?5)"
_USED = "UPDATE upload_tokens SET used = 1 WHERE survey = ?1 AND digest = ?2 AND used = 0"
_TOKEN = "SELECT used FROM upload_tokens WHERE survey = ?1 AND digest = ?2"


class Store:
    """Surveys, epochs, tallies and batches, in the tables of a database.

    driver: An open database whose tables are of the newest version. It is closed where the store
        cannot be made.

    Every method may be called from any thread. Writes wait for their turn. When a method returns,
    its work is on disk. A missing survey or epoch raises NotStoredError, a full disk
    StoreFullError, and any other database failure StoreError. Then nothing of the call is stored.
    The exception is a connection that broke while storing, when all of it may be stored.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._ready: dict[str, Counting] = {}
        self._ready_lock = Lock()
        self._pending = Pending()
        try:
            self._look()
        except BaseException:
            driver.close()
            raise

    def _look(self) -> None:
        """Note what waits to be folded or dropped."""
        with self._driver.reading() as transaction:
            waiting = transaction.rows(
                "SELECT epoch, segment, COUNT(*), SUM(LENGTH(body)) FROM deltas"
                " GROUP BY epoch, segment"
            )
            self._dropping = bool(transaction.rows("SELECT epoch FROM dropped LIMIT 1"))
        for epoch, segment, rows, size in waiting:
            self._pending.add((epoch, segment), int(size), rows=rows)

    # Surveys and epochs

    def surveys(self) -> list[StoredSurvey]:
        """Return all surveys, in the order in which they came."""
        return [survey for survey, _, _ in self.catalog()]

    def catalog(self) -> list[tuple[StoredSurvey, list[StoredEpoch], list[FormerNotice]]]:
        """Return all surveys, each with its epochs and its former texts, as of one moment."""
        with self._driver.reading() as transaction:
            return [
                (survey, stored_epochs(transaction, key), former_notices(transaction, key))
                for key, survey in stored_surveys(transaction).items()
            ]

    def add_survey(self, survey: StoredSurvey) -> bool:
        """Keep a survey. Return False, and change nothing, when it is there already.

        Raises FormatError when the document is no survey, or another one than the fingerprint says.
        """
        _check_new(survey)
        with self._driver.writing() as transaction:
            return insert_survey(transaction, survey) is not None

    def set_notice(self, survey: StoredSurvey, *, now: int) -> bool:
        """Let a survey say to people what this document says. Return whether it said otherwise.

        Of a survey with an epoch that has opened, what it said before is kept. ArgumentError while
        an epoch can be answered.
        """
        _check_new(survey)
        with self._driver.writing() as transaction:
            key, state = self._survey(transaction, survey.fingerprint, self._driver.alone)
            return change_notice(transaction, key, state, survey.document, now=now)

    def notices(self, survey: str) -> list[FormerNotice]:
        """Return what a survey said to people before its text was changed, the oldest first."""
        with self._driver.reading() as transaction:
            return former_notices(transaction, self._survey(transaction, survey)[0])

    def add_epoch(self, survey: StoredSurvey, epoch: StoredEpoch, *, now: int) -> None:
        """Publish a survey with a new epoch: both, or neither.

        A survey that exists keeps its terms. Its texts for people are those of this document.

        Raises FormatError as :meth:`add_survey`.
        Raises ArgumentError when the survey is retired, or the name of the epoch is not legal or
        taken. When the text is another one, and an epoch of the former text can still be answered.
        """
        _check_new(survey)
        check_epoch(epoch)
        with self._driver.writing() as transaction:
            insert_survey(transaction, survey)
            key, state = self._survey(transaction, survey.fingerprint, self._driver.alone)
            check_forward(state, "published", get_args(SurveyState), "a survey")
            transaction.run("UPDATE surveys SET state = ?1 WHERE key = ?2", "published", key)
            names = transaction.rows("SELECT name FROM epochs WHERE survey = ?1", key)
            if (epoch.name,) in [tuple(row) for row in names]:
                raise ArgumentError(
                    "the survey already has an epoch with this name. Choose another name"
                )
            change_notice(transaction, key, state, survey.document, now=now)
            self._insert_epoch(transaction, survey.fingerprint, key, epoch)

    def _insert_epoch(
        self, transaction: Transaction, survey: str, key: int, epoch: StoredEpoch
    ) -> None:
        if epoch.name in ended_names(transaction, survey):
            raise ArgumentError(
                "an epoch with this name was deleted. A new one would count the reports sent "
                "to the first again. Choose another name"
            )
        version = text_version(transaction, key)
        insert_epoch(transaction, key, replace(epoch, text_version=version))

    def set_survey_state(self, survey: str, state: SurveyState) -> None:
        """Publish or retire a survey. ArgumentError when it would go back."""
        with self._driver.writing() as transaction:
            key, now = self._survey(transaction, survey, self._driver.alone)
            check_forward(now, state, get_args(SurveyState), "a survey")
            transaction.run("UPDATE surveys SET state = ?1 WHERE key = ?2", state, key)

    def delete_survey(self, survey: str) -> None:
        """Forget a survey and all that was collected for it.

        The names of its epochs are not given again, even when the survey comes back.
        """
        with self._driver.writing() as transaction:
            key, _ = self._survey(transaction, survey, self._driver.alone)
            epochs = transaction.rows("SELECT key, name FROM epochs WHERE survey = ?1", key)
            end_names(transaction, survey, [THE_SURVEY, *(name for _, name in epochs)])
            for epoch, _ in epochs:
                delete_epoch(transaction, epoch)
            for table in ("refused", "upload_tokens", "notices"):
                transaction.run(f"DELETE FROM {table} WHERE survey = ?1", key)
            transaction.run("DELETE FROM surveys WHERE key = ?1", key)
        self._dropping = True
        with self._ready_lock:
            self._ready.pop(survey, None)

    def deleted(self) -> dict[str, set[str]]:
        """Return the names of deleted epochs by survey. The empty one is that of a deleted survey.

        They stay, so that devices learn that nobody will take their reports.
        """
        with self._driver.reading() as transaction:
            return deleted_names(transaction)

    def epochs(self, survey: str) -> list[StoredEpoch]:
        """Return the epochs of a survey, in the order in which they came."""
        with self._driver.reading() as transaction:
            return stored_epochs(transaction, self._survey(transaction, survey)[0])

    def put_epoch(self, survey: str, epoch: StoredEpoch) -> bool:
        """Keep an epoch, or change its times. Return whether it is new.

        The state of an existing epoch is left alone. So is its opening time once it has opened,
        because the last look depends on it. ArgumentError when the name is illegal or that of a
        deleted epoch, or when the epoch is closed or opened at another time.
        """
        check_epoch(epoch)
        with self._driver.writing() as transaction:
            key, _ = self._survey(transaction, survey, self._driver.alone)
            found = transaction.rows(
                "SELECT key, state, opens, closes, grace_seconds FROM epochs"
                " WHERE survey = ?1 AND name = ?2" + self._driver.alone,
                key,
                epoch.name,
            )
            if not found:
                self._insert_epoch(transaction, survey, key, epoch)
                return True
            state, opened, *end = found[0][1:]
            if state == "closed":
                raise ArgumentError(
                    "a closed epoch cannot be changed. Create one with another name"
                )
            if state != "planned":
                if epoch.opens not in (None, opened):
                    raise ArgumentError(
                        "opens cannot be changed after the epoch has opened. Leave it out"
                    )
                epoch = replace(epoch, opens=opened)
                check_epoch(epoch)
            if end != [epoch.closes, epoch.grace_seconds]:
                # Another collector may have looked at the former end, and not know of this one.
                transaction.run("DELETE FROM deletions WHERE epoch = ?1", found[0][0])
            transaction.run(
                "UPDATE epochs SET opens = ?1, closes = ?2, grace_seconds = ?3 WHERE key = ?4",
                epoch.opens,
                epoch.closes,
                epoch.grace_seconds,
                found[0][0],
            )
            return False

    def set_epoch_state(
        self, survey: str, epoch: str, state: EpochState, *, mark: int | None = None
    ) -> None:
        """Open or close an epoch. ArgumentError when it would go back.

        Closing is permanent. The list of the received batches stays until :meth:`drop_lists`, so
        that a repeated batch is answered as before. With a `mark`, nothing happens unless the first
        look still stands that has it.
        """
        with self._driver.writing() as transaction:
            place = self._place(transaction, survey, epoch, self._driver.alone)
            if not first_look_stands(transaction, place.epoch, mark):
                return
            transaction.run("DELETE FROM deletions WHERE epoch = ?1", place.epoch)
            check_forward(place.epoch_state, state, get_args(EpochState), "an epoch")
            transaction.run("UPDATE epochs SET state = ?1 WHERE key = ?2", state, place.epoch)
            if place.epoch_state == "planned":  # a draft's text may have changed meanwhile
                version = text_version(transaction, place.survey)
                transaction.run(
                    "UPDATE epochs SET text_version = ?1 WHERE key = ?2", version, place.epoch
                )

    def drop_lists(self, ended: int) -> None:
        """Drop the lists of batches of epochs that ended before a time, in seconds since 1970."""
        with self._driver.writing() as transaction:
            drop_old_lists(transaction, ended)
        self._dropping = True

    def first_looks(self) -> dict[tuple[str, str], FirstLook]:
        """Return the first looks that found epochs at their end, by survey and epoch."""
        with self._driver.reading() as transaction:
            rows = transaction.rows(
                "SELECT s.fingerprint, e.name, d.mark, d.seen FROM deletions d"
                " JOIN epochs e ON e.key = d.epoch JOIN surveys s ON s.key = e.survey"
            )
            return {
                (survey, name): FirstLook(int(mark), int(seen)) for survey, name, mark, seen in rows
            }

    def note_first_look(self, survey: str, epoch: str, *, mark: int, time: int) -> None:
        """Note a first look that found an epoch at its end, unless there is one already.

        mark: A number that no other look has.
        time: Time by the clock, in seconds since 1970.
        """
        with self._driver.writing() as transaction:
            place = self._place(transaction, survey, epoch, self._driver.alone)
            transaction.run(
                "INSERT INTO deletions (epoch, mark, seen) VALUES (?1, ?2, ?3)"
                " ON CONFLICT (epoch) DO NOTHING",
                place.epoch,
                mark,
                time,
            )

    def forget_first_look(self, survey: str, epoch: str) -> None:
        """Note that an epoch was not at its end after all."""
        with self._driver.writing() as transaction:
            place = self._place(transaction, survey, epoch, self._driver.alone)
            transaction.run("DELETE FROM deletions WHERE epoch = ?1", place.epoch)

    def delete_epoch(self, survey: str, epoch: str, *, mark: int | None = None) -> None:
        """Forget an epoch and all that was collected in it.

        Its name is not given again: what was sent to it would be counted a second time. With a
        `mark`, nothing happens unless the first look still stands that has it.
        """
        with self._driver.writing() as transaction:
            place = self._place(transaction, survey, epoch, self._driver.alone)
            if not first_look_stands(transaction, place.epoch, mark):
                return
            transaction.run(
                "DELETE FROM refused WHERE survey = ?1 AND epoch = ?2", place.survey, epoch
            )
            end_names(transaction, survey, [epoch])
            delete_epoch(transaction, place.epoch)
        self._dropping = True

    # Reports

    def store(self, uploads: Sequence[Upload]) -> list[Outcome]:
        """Store batches in one transaction, and return what became of each.

        A batch that is reported as stored is on disk, counted once.
        """
        for _ in range(_ATTEMPTS):
            try:
                return self._store(uploads)
            except ConflictError:
                continue
        raise StoreError("other collectors keep storing the same batches. Try again later")

    def _store(self, uploads: Sequence[Upload]) -> list[Outcome]:
        with self._driver.writing() as transaction:
            intake = Intake(
                uploads,
                {
                    key: self._met(transaction, *key)
                    for key in dict.fromkeys([(upload.survey, upload.epoch) for upload in uploads])
                },
                known=transaction.stored_digests,
                token=lambda survey, digest: self._token(transaction, survey, digest),
                counting=lambda survey: self._counting(transaction, survey),
            )
            if intake.ledger:
                # In one order, so that two collectors never wait for each other.
                transaction.many(_LEDGER, sorted(intake.ledger))
                transaction.many(
                    _DELTA, [(one.epoch, one.segment, *one.row) for one in intake.deltas]
                )
            for token in sorted(intake.tokens):
                if transaction.run(_USED, *token) != 1:
                    raise ConflictError("another collector took the same upload token. Try again")
        self._note(intake.deltas)
        return intake.outcomes

    def holds(self, survey: str, epoch: str, id: bytes) -> bool:
        """Return whether an epoch is known to have the batch of an id."""
        with self._driver.reading() as transaction:
            place = self._place(transaction, survey, epoch)
            return bool(transaction.stored_digests(place.epoch, [id]))

    def _note(self, deltas: Iterable[Delta]) -> None:
        for epoch, segment, row, heavy in deltas:
            self._pending.add((epoch, segment), len(row.body), heavy=heavy)

    def tally(
        self, survey: str, epoch: str, *, segment: str | None = None, shown: bool = False
    ) -> Tally:
        """Return the tally of an epoch, or of one of its segments ("other": of none).

        shown: Whether it is that of what is shown (:meth:`look`): else of all reports that there
            are.

        Raises ArgumentError when the survey has no such segment.
        """
        with self._driver.reading() as transaction:
            place = self._place(transaction, survey, epoch)
            counting = self._counting(transaction, survey)
            where, arguments = " WHERE epoch = ?1", [place.epoch]
            if segment is not None:
                where += " AND segment = ?2"
                arguments.append(counting.segment(segment))
            tables = [f"folded{where}", f"deltas{where}"]
            if shown and not self._all_shown(transaction, place, counting):
                tables = [f"folded{where} AND look = 1"]
            rows = [
                Row(reports, form, bytes(body))
                for table in tables
                for reports, form, body in transaction.rows(
                    f"SELECT reports, form, body FROM {table}", *arguments
                )
            ]
        return counting.total(rows)

    def look(self, survey: str, epoch: str, *, now: float) -> Look | None:
        """Return the public view of an epoch, or None while nothing is shown.

        That is the last look. Before the epoch has closed, a new one is taken here if there may be
        one. It is the same for all collectors of a database.
        """
        with self._driver.reading() as transaction:
            place = self._place(transaction, survey, epoch)
            counting = self._counting(transaction, survey)
            minimum, stored = self._terms(transaction, place)
            if stored.state == "closed":
                return self._final(transaction, place, counting)
            answers = counting.survey.answers
            if answers != "fresh":
                return None
            look = kept_look(transaction, place.epoch, counting)
            if rests(stored, now, answers=answers):
                return look
            counts = live_counts(transaction, place.epoch, counting)
            before = kept_parts(transaction, place.epoch, counting)
            least = counting.least(minimum)
            if next_look(before, counts, minimum=minimum, least=least) is None:
                return look
        with self._driver.writing() as transaction:
            # While this row is locked nobody adds to the epoch, folds it, or looks at it.
            transaction.rows(
                "SELECT key FROM epochs WHERE key = ?1" + self._driver.alone, place.epoch
            )
            if self._terms(transaction, place)[1].state == "open":
                take_look(transaction, place.epoch, counting, minimum=minimum, now=now)
            return kept_look(transaction, place.epoch, counting)

    def _all_shown(self, transaction: Transaction, place: Place, counting: Counting) -> bool:
        """Return whether what is shown of an epoch is all that there is."""
        return place.epoch_state == "closed" and (
            self._final(transaction, place, counting).complete
        )

    def _final(self, transaction: Transaction, place: Place, counting: Counting) -> Look:
        """Return what is shown of a closed epoch."""
        minimum, _ = self._terms(transaction, place)
        return final_look(
            place.epoch,
            kept_parts(transaction, place.epoch, counting),
            live_counts(transaction, place.epoch, counting),
            minimum=minimum,
            least=counting.least(minimum),
        )

    def _terms(self, transaction: Transaction, place: Place) -> tuple[int, StoredEpoch]:
        """Return the minimum of an epoch's survey, and the epoch."""
        ((minimum,),) = transaction.rows("SELECT minimum FROM surveys WHERE key = ?1", place.survey)
        rows = transaction.rows(f"SELECT {EPOCH_COLUMNS} FROM epochs WHERE key = ?1", place.epoch)
        if not rows:
            raise NotStoredError("the survey has no epoch with this name. Add it first")
        return int(minimum), StoredEpoch(*rows[0])

    def totals(self, survey: str) -> list[Total]:
        """Return how many reports there are, by epoch and segment. Those without any are absent."""
        with self._driver.reading() as transaction:
            key, _ = self._survey(transaction, survey)
            counting = self._counting(transaction, survey)
            rows = transaction.rows(
                "SELECT e.name, r.segment, SUM(r.reports) FROM (SELECT epoch, segment, reports"
                " FROM folded UNION ALL SELECT epoch, segment, reports FROM deltas) r"
                " JOIN epochs e ON e.key = r.epoch WHERE e.survey = ?1"
                " GROUP BY e.key, e.name, r.segment ORDER BY e.key, r.segment",
                key,
            )
            return [Total(name, counting.label(segment), int(n)) for name, segment, n in rows]

    def add_refused(self, survey: str, refused: Iterable[Refused]) -> None:
        """Add to the numbers of refused uploads."""
        with self._driver.writing() as transaction:
            key, _ = self._survey(transaction, survey, self._driver.share)
            transaction.many(
                "INSERT INTO refused (survey, epoch, reason, number) VALUES (?1, ?2, ?3, ?4)"
                " ON CONFLICT (survey, epoch, reason)"
                " DO UPDATE SET number = refused.number + excluded.number",
                [(key, *row) for row in refused],
            )

    def refused(self, survey: str) -> list[Refused]:
        """Return how many uploads were refused, by epoch and reason."""
        with self._driver.reading() as transaction:
            key, _ = self._survey(transaction, survey)
            rows = transaction.rows(
                "SELECT epoch, reason, number FROM refused WHERE survey = ?1"
                " ORDER BY epoch, reason",
                key,
            )
            return [Refused(*row) for row in rows]

    # Tokens

    def add_upload_tokens(self, survey: str, digests: Iterable[bytes]) -> None:
        """Keep the SHA-256 of tokens, each good for one batch."""
        with self._driver.writing() as transaction:
            key, _ = self._survey(transaction, survey, self._driver.share)
            transaction.many(
                "INSERT INTO upload_tokens (survey, digest) VALUES (?1, ?2)"
                " ON CONFLICT (survey, digest) DO NOTHING",
                [(key, digest) for digest in digests],
            )

    def upload_tokens(self, survey: str) -> UploadTokens:
        """Return how many upload tokens there are."""
        with self._driver.reading() as transaction:
            key, _ = self._survey(transaction, survey)
            rows = transaction.rows(
                "SELECT used, COUNT(*) FROM upload_tokens WHERE survey = ?1 GROUP BY used", key
            )
            counts = {int(used): int(number) for used, number in rows}
            return UploadTokens(counts.get(0, 0), counts.get(1, 0))

    def add_access_token(self, token: AccessToken) -> None:
        """Keep the SHA-256 of a token of an analyst or admin."""
        with self._driver.writing() as transaction:
            transaction.run(
                "INSERT INTO access_tokens (digest, role, label) VALUES (?1, ?2, ?3)"
                " ON CONFLICT (digest) DO UPDATE SET role = excluded.role, label = excluded.label",
                *(token.digest, token.role, token.label),
            )

    def access_tokens(self) -> list[AccessToken]:
        """Return the hashes of all analysts' and admins' tokens."""
        with self._driver.reading() as transaction:
            rows = transaction.rows(
                "SELECT digest, role, label, last_use FROM access_tokens ORDER BY digest"
            )
            return [AccessToken(bytes(digest), *rest) for digest, *rest in rows]

    def note_token_uses(self, uses: Iterable[tuple[bytes, int]]) -> None:
        """Keep the days on which tokens were used. An earlier day than the stored one is not."""
        with self._driver.writing() as transaction:
            transaction.many(
                "UPDATE access_tokens SET last_use = ?2 WHERE digest = ?1"
                " AND (last_use IS NULL OR last_use < ?2)",
                sorted(uses),
            )

    def delete_access_token(self, digest: bytes, *, other_admins: int = 1) -> bool:
        """Forget a token. Return whether it was there.

        ArgumentError when it is of an admin and the last one. `other_admins` says how many
        tokens there are that no table holds.
        """
        with self._driver.writing() as transaction:
            # All admins' rows are locked, so that two collectors do not take two at once.
            admins = transaction.rows(
                "SELECT digest FROM access_tokens WHERE role = 'admin' ORDER BY digest"
                + self._driver.alone
            )
            if [bytes(row[0]) for row in admins] == [digest] and not other_admins:
                raise ArgumentError(
                    "this is the last admin token. Create another one first, sign in with it, "
                    "then revoke this one"
                )
            return transaction.run("DELETE FROM access_tokens WHERE digest = ?1", digest) > 0

    # What happens behind

    def fold(self, *, everything: bool = False) -> bool:
        """Count what waits to be counted, and drop what is no longer needed, some at a time.

        Return whether there may be more to do. Call it again then. Answers are the same before
        and after. Without `everything` it is done when enough waits, and costs nothing before.
        """
        key = self._pending.take(everything=everything)
        if key is not None:
            try:
                with self._driver.writing() as transaction:
                    more = fold_group(
                        transaction,
                        *key,
                        lambda survey: self._counting(transaction, survey),
                        share=self._driver.share,
                        fold_lock=self._driver.fold_lock,
                    )
            except BaseException:
                self._pending.give_back(key)
                raise
            if more:
                self._pending.give_back(key)
            return True
        if self._dropping:
            with self._driver.writing() as transaction:
                waiting = transaction.rows("SELECT epoch FROM dropped LIMIT 1")
                for (epoch,) in waiting:
                    drop_batches(transaction, epoch)
            self._dropping = bool(waiting)
            if waiting:
                return True
        if everything:
            self._driver.rest()
        return False

    def export(self, survey: str) -> Iterator[bytes]:
        """Yield a survey, its epochs, tallies and batch list as of this moment, as a file."""
        with self._driver.reading() as transaction:
            yield from exported(transaction, survey, self._counting(transaction, survey))

    def import_(self, chunks: Iterable[bytes]) -> str:
        """Keep what :meth:`export` yielded, all or nothing. Return the survey's fingerprint.

        Raises FormatError when the file is not an export, of an unknown version or damaged.
        Raises ArgumentError when the survey is there already.
        """
        with self._driver.writing() as transaction:
            survey = imported(transaction, chunks)
        self._look()
        return survey

    def backup(self, path: Path) -> None:
        """Write a copy of everything, as of one moment, while reports keep coming."""
        self._driver.backup(path)

    def check(self) -> list[str]:
        """Return what is wrong with the database. Empty when nothing is."""
        found = self._driver.check()
        if found:
            return found
        for survey in self.surveys():
            for epoch in self.epochs(survey.fingerprint):
                try:
                    self.tally(survey.fingerprint, epoch.name)
                except LapwingError as error:
                    found.append(f"survey {survey.fingerprint[:12]}, {epoch.name}: {error}")
        return found

    def discard(self) -> None:
        """Let go of the database after a failure. A file that it made goes with it."""
        self._driver.discard()

    def close(self) -> None:
        """Let go of the database. It can be opened again."""
        self._driver.close()

    def _survey(self, transaction: Transaction, survey: str, locking: str = "") -> tuple[int, str]:
        """Return the key and the state of a survey."""
        rows = transaction.rows(
            "SELECT key, state FROM surveys WHERE fingerprint = ?1" + locking, survey
        )
        if not rows:
            raise NotStoredError("the collector has no survey with this fingerprint. Add it first")
        return int(rows[0][0]), rows[0][1]

    def _place(self, transaction: Transaction, survey: str, epoch: str, locking: str = "") -> Place:
        """Return an epoch as it is."""
        rows = transaction.rows(_PLACE + locking, survey, epoch)
        if not rows:
            self._survey(transaction, survey)
            raise NotStoredError("the survey has no epoch with this name. Add it first")
        return Place(*rows[0])

    def _met(self, transaction: Transaction, survey: str, epoch: str) -> Place | Problem:
        """Return an epoch as an upload meets it. It stays so until the transaction has ended."""
        rows = transaction.rows(_PLACE + self._driver.share, survey, epoch)
        if rows:
            return Place(*rows[0])
        known = transaction.rows("SELECT key FROM surveys WHERE fingerprint = ?1", survey)
        deleted = transaction.rows(
            "SELECT epoch FROM ended WHERE fingerprint = ?1 AND epoch = ?2",
            *(survey, epoch if known else THE_SURVEY),
        )
        if known:
            return Problem.EPOCH_DELETED if deleted else Problem.UNKNOWN_EPOCH
        return Problem.SURVEY_DELETED if deleted else Problem.UNKNOWN_SURVEY

    def _token(self, transaction: Transaction, survey: int, digest: bytes) -> bool | None:
        rows = transaction.rows(_TOKEN, survey, digest)
        return bool(rows[0][0]) if rows else None

    def _counting(self, transaction: Transaction, survey: str) -> Counting:
        """Return a survey ready to count. The first time it is read, which takes its time."""
        with self._ready_lock:
            if survey in self._ready:
                return self._ready[survey]
        rows = transaction.rows("SELECT document FROM surveys WHERE fingerprint = ?1", survey)
        if not rows:
            raise NotStoredError("the collector has no survey with this fingerprint. Add it first")
        made = Counting(bytes(rows[0][0]))
        with self._ready_lock:
            if len(self._ready) >= _KEPT:
                self._ready.pop(next(iter(self._ready)))
            return self._ready.setdefault(survey, made)


def _check_new(survey: StoredSurvey) -> None:
    if Counting(survey.document).survey.fingerprint != survey.fingerprint:
        raise FormatError("the survey's document has a different fingerprint from the one given")
    check_survey(survey)
