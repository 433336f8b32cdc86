"""Looks: what is shown of an epoch that still takes reports, and when it is updated.

All parts of an epoch are shown as of one look. Two looks at different times would otherwise tell
of the few who reported between them, by subtraction.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from lapwing.service.storage.counting import Counting, Row, fold_rows
from lapwing.service.storage.driver import Transaction
from lapwing.service.storage.store import Look, StoredEpoch

HOUR = 3600

LAST_PART = 10
"""In the last tenth of an epoch's time, no new look is given."""


class SegmentLook(NamedTuple):
    """A segment at the last look."""

    reports: int
    visible: bool
    last_shown: int
    """Its reports at the last look that showed it. 0 where none did."""


def next_look(
    before: Mapping[str, SegmentLook],
    counts: Mapping[str, int],
    *,
    minimum: int,
    least: int | None,
    last: bool = False,
) -> set[str] | None:
    """Return the segments that a new look shows. None while there must be no new look.

    before: Each segment at the last look. Empty where there was none.
    counts: Reports of each segment now.
    minimum: More reports that the whole needs.
    least: More reports that a segment needs, at least `minimum`. None: the survey has no segments.
    last: Whether the epoch has closed, so that nothing is gained by waiting for a better look.

    **Rule.** A look needs `minimum` more reports than the last one. If some segment has 1 to
    `least` - 1 more reports, a look before the last one also needs as many new reports as there
    were. It shows a segment that has `least` more reports, and one that the last look showed and
    that has no more. The others are hidden. Together they must have `least` more reports, or all
    that came, or none since they were last shown. They may also have no more than at the last look,
    if no segment that it hid is shown again. If they do not, the look also hides the segment with
    the fewest more reports.

    **Privacy.** No linear combination of what all looks have shown, the last one included, concerns
    fewer than `minimum` people, unless it concerns nobody. This is about one epoch whose reports
    each come once. *Proof.* Call the people of segment s who came between looks j - 1 and j the
    cell (s, j). A combination has coefficients a(j) for the growth of the whole at look j, and b(s,
    I) for the growth of s over I. I is the looks since s was last shown. The cell (s, j) has the
    coefficient a(j) + b(s, I), and a(j) after the last look that showed s. Take the last look L. A
    segment shown at L - 1 and L is a cell of its own, which is empty or of `least` people. A
    segment shown at L and hidden at L - 1 has `least` people in (s, L), so its b is -a(L) or we are
    done. The cells (s, L) of hidden segments have the coefficient a(L). If they have `least` people
    together, or all of the look, a(L) is 0 or we are done. If they have nobody since they were last
    shown, adding a constant to all a(j) changes no cell with people. So let a(L) be 0. Then what
    remains is a combination of the looks before L, in which the segments that L showed again are
    hidden: use induction. If the hidden ones have no more people and no segment is shown again, no
    cell at L with people has a coefficient. Then the same holds. Where no segment is shown, the
    hidden ones have the `minimum` more reports of the whole. `tests/service/test_looks.py` checks
    all sequences of looks at small epochs.

    >>> first = next_look({}, {"north": 5, "south": 4, "other": 0}, minimum=3, least=3)
    >>> sorted(first)
    ['north', 'south']
    >>> before = {"north": SegmentLook(5, True, 5), "south": SegmentLook(4, True, 4)}
    >>> next_look(before, {"north": 8, "south": 5}, minimum=3, least=3) is None
    True
    >>> sorted(next_look(before, {"north": 8, "south": 7}, minimum=3, least=3))
    ['north', 'south']
    """
    parts = {name: before.get(name, SegmentLook(0, False, 0)) for name in counts}
    more = {name: counts[name] - part.reports for name, part in parts.items()}
    grown, old = sum(more.values()), sum(part.reports for part in parts.values())
    if grown < minimum:
        return None
    if least is None:
        return set()
    if not last and grown < old and any(0 < each < least for each in more.values()):
        return None
    shown = {
        name
        for name, part in parts.items()
        if more[name] >= least or (part.visible and more[name] == 0)
    }
    hidden = [name for name in counts if name not in shown]
    growth = sum(more[name] for name in hidden)
    again = any(not parts[name].visible for name in shown)
    unseen = sum(counts[name] - parts[name].last_shown for name in hidden)
    if shown and (0 < growth < min(least, grown) or (growth == 0 and again and unseen > 0)):
        grew = [name for name in shown if more[name] > 0]
        shown.remove(min(grew, key=lambda name: (more[name], name)))
    return shown


def rests(epoch: StoredEpoch, now: float, *, answers: str) -> bool:
    """Return whether an epoch gets no new look before it has closed.

    now: Seconds since 1970.
    answers: As `Survey.answers`.

    The final results leave out the reports since the last look if these are fewer than the minimum.
    To avoid this, the last look is never in the last tenth of the planned time, and never in the
    grace period.

    Devices with memoized reports send the same report in every epoch. Looks at two open epochs
    would then reveal the few who reported in only one. So such an epoch is shown once, after it has
    closed.
    """
    end = last_look(epoch)
    return answers != "fresh" or epoch.state != "open" or (end is not None and now >= end)


def last_look(epoch: StoredEpoch) -> int | None:
    """Return the time from which an epoch gets no new look. None: it is closed by hand."""
    if epoch.opens is None or epoch.closes is None:
        return None
    return epoch.closes - (epoch.closes - epoch.opens) // LAST_PART


def final_look(
    epoch: int,
    before: Mapping[str, SegmentLook],
    counts: Mapping[str, int],
    *,
    minimum: int,
    least: int | None,
) -> Look:
    """Return what is shown of a closed epoch: a last look, or the one before if that cannot be.

    epoch: Its number.
    before, counts, minimum, least: As of :func:`next_look`.

    The reports since the last look are left out permanently if they are fewer than the minimum.
    Otherwise the final results minus that look would be these few.
    """
    shown = next_look(before, counts, minimum=minimum, least=least, last=True)
    if shown is None and before:
        shown = {name for name, part in before.items() if part.visible}
        former = {name: part.reports for name, part in before.items()}
        return Look(epoch, former, frozenset(shown), complete=former == dict(counts))
    return Look(epoch, counts, frozenset(shown or ()))


def kept_parts(transaction: Transaction, epoch: int, counting: Counting) -> dict[str, SegmentLook]:
    """Return the segments of an epoch at its last look. Empty where there was none."""
    rows = transaction.rows(
        "SELECT segment, reports, shown, last_shown FROM look_segments WHERE epoch = ?1", epoch
    )
    return {
        counting.label(segment): SegmentLook(int(reports), bool(shown), int(last))
        for segment, reports, shown, last in rows
    }


def kept_look(transaction: Transaction, epoch: int, counting: Counting) -> Look | None:
    """Return the last look at an epoch. None where there was none."""
    hours = transaction.rows("SELECT hour FROM looks WHERE epoch = ?1", epoch)
    if not hours:
        return None
    parts = kept_parts(transaction, epoch, counting)
    counts = {name: part.reports for name, part in parts.items()}
    shown = frozenset(name for name, part in parts.items() if part.visible)
    return Look(epoch, counts, shown, hour=int(hours[0][0]))


def keep_look(
    transaction: Transaction,
    epoch: int,
    counting: Counting,
    parts: Mapping[str, SegmentLook],
    hour: int,
) -> None:
    """Note a look at an epoch instead of the last one."""
    delete_look(transaction, epoch)
    transaction.run("INSERT INTO looks (epoch, hour) VALUES (?1, ?2)", epoch, hour)
    transaction.many(
        "INSERT INTO look_segments (epoch, segment, reports, shown, last_shown)"
        " VALUES (?1, ?2, ?3, ?4, ?5)",
        [
            (epoch, counting.segment(name), part.reports, int(part.visible), part.last_shown)
            for name, part in parts.items()
        ],
    )


def delete_look(transaction: Transaction, epoch: int) -> None:
    """Forget the look at an epoch."""
    for table in ("looks", "look_segments"):
        transaction.run(f"DELETE FROM {table} WHERE epoch = ?1", epoch)


def live_counts(transaction: Transaction, epoch: int, counting: Counting) -> dict[str, int]:
    """Return how many reports each segment has now."""
    counts = dict.fromkeys((*counting.segments, counting.label(0)), 0)
    for table in ("folded", "deltas"):
        for segment, reports in transaction.rows(
            f"SELECT segment, SUM(reports) FROM {table} WHERE epoch = ?1 GROUP BY segment", epoch
        ):
            counts[counting.label(segment)] += int(reports)
    return counts


def take_look(
    transaction: Transaction, epoch: int, counting: Counting, *, minimum: int, now: float
) -> None:
    """Freeze what an epoch has, as a new look, if there may be one.

    Nobody else may add to the epoch until the transaction has ended.
    """
    segments = transaction.rows("SELECT DISTINCT segment FROM deltas WHERE epoch = ?1", epoch)
    for (segment,) in segments:
        while fold_rows(transaction, epoch, segment, counting):
            pass
    counts, before = (
        live_counts(transaction, epoch, counting),
        kept_parts(transaction, epoch, counting),
    )
    shown = next_look(before, counts, minimum=minimum, least=counting.least(minimum))
    if shown is None:
        return
    parts = {
        name: SegmentLook(reports, True, reports)
        if name in shown
        else SegmentLook(reports, False, before[name].last_shown if name in before else 0)
        for name, reports in counts.items()
    }
    hour = int(now) // HOUR * HOUR
    keep_look(transaction, epoch, counting, parts, hour)
    _freeze(transaction, epoch, counting)


def _freeze(transaction: Transaction, epoch: int, counting: Counting) -> None:
    """Let every folded row of an epoch belong to its look. Short ones are joined."""
    fresh = transaction.rows(
        "SELECT DISTINCT segment FROM folded WHERE epoch = ?1 AND look = 0", epoch
    )
    for (segment,) in fresh:
        short = transaction.rows(
            "DELETE FROM folded WHERE epoch = ?1 AND segment = ?2 AND LENGTH(body) < ?3"
            " RETURNING part, reports, form, body",
            epoch,
            segment,
            counting.joined_below,
        )
        transaction.run(
            "UPDATE folded SET look = 1 WHERE epoch = ?1 AND segment = ?2", epoch, segment
        )
        if short:
            rows = [Row(int(reports), int(form), bytes(body)) for _, reports, form, body in short]
            transaction.run(
                "INSERT INTO folded (epoch, segment, part, reports, form, body, look)"
                " VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1)",
                epoch,
                segment,
                max(int(part) for part, *_ in short),
                *counting.folded(rows),
            )
