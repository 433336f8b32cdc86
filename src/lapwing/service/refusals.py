"""Refused uploads, counted by survey, epoch and reason, and stored now and then."""

from __future__ import annotations

from collections import Counter

from lapwing.errors import NotStoredError
from lapwing.service.storage.store import Refused, Store


class Refusals:
    """Counts in memory until they are stored.

    A crash loses the last few seconds of them, which no result depends on; writing each at once
    would let whoever sends nonsense keep the disk busy.
    """

    def __init__(self) -> None:
        self._counted: Counter[tuple[str, str, str]] = Counter()

    def add(self, survey: str, epoch: str, reason: str) -> None:
        """Count one.

        Parameters
        ----------
        survey : str
            One that exists.
        epoch : str
            One that exists, or "".
        reason : str
            The word of a problem.
        """
        self._counted[survey, epoch, reason] += 1

    def store(self, store: Store) -> None:
        """Store them, and begin anew; what cannot be stored now is kept."""
        counted, self._counted = self._counted, Counter()
        by_survey: dict[str, list[Refused]] = {}
        for (survey, epoch, reason), number in counted.items():
            by_survey.setdefault(survey, []).append(Refused(epoch, reason, number))
        while by_survey:
            survey, rows = by_survey.popitem()
            try:
                store.add_refused(survey, rows)
            except NotStoredError:
                continue  # the survey, or its epoch, was deleted meanwhile
            except BaseException:
                by_survey[survey] = rows
                for name, kept in by_survey.items():
                    self._counted.update({(name, r.epoch, r.reason): r.number for r in kept})
                raise
