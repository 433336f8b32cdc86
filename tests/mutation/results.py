"""The results that the repository keeps: what was planted, what nobody noticed, and why.

A survivor is judged by a person, in the file itself, and keeps its judgment from run to run:

* "equivalent": the changed program does the same;
* "no promise": it differs, and no sentence of the documentation is broken by it;
* "test added": it broke a promise; `test` names what notices it since, and every later run plants
  the error again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.mutation.planting import PlantedError
from tests.mutation.running import Outcome

JUDGMENTS = ("equivalent", "no promise", "test added")

Key = tuple[str, str, str, str, int]


@dataclass(frozen=True)
class Survivor:
    """An error that no test noticed once, and what was thought of it.

    Parameters
    ----------
    error : PlantedError
        As it stood in that run.
    judgment : str
        One of :data:`JUDGMENTS`; "" as long as nobody judged it.
    reason : str
        One sentence; for "test added" what was broken.
    test : str
        "file::name" of the test that was added.
    """

    error: PlantedError
    judgment: str = ""
    reason: str = ""
    test: str = ""

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        error = self.error
        return {
            "file": error.file,
            "line": error.line,
            "function": error.function,
            "kind": error.kind,
            "before": error.before,
            "after": error.after,
            "number": error.number,
            "shown": error.shown,
            "judgment": self.judgment,
            "reason": self.reason,
            **({"test": self.test} if self.test else {}),
        }

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Survivor:
        """Return what :meth:`to_document` wrote."""
        document = dict(document)
        judged = {name: document.pop(name, "") for name in ("judgment", "reason", "test")}
        return cls(PlantedError(**document, start=0, end=0), **judged)


@dataclass(frozen=True)
class Results:
    """One run, with the judgments of all runs before it.

    Parameters
    ----------
    run : dict
        Seed, commit, numbers.
    survivors : tuple of Survivor
        In the order of their files and lines.
    noticed_since : tuple of Survivor
        Survivors of an earlier run that a later one noticed.
    """

    run: dict[str, Any] = field(default_factory=dict)
    survivors: tuple[Survivor, ...] = ()
    noticed_since: tuple[Survivor, ...] = ()

    def judged(self) -> dict[Key, Survivor]:
        """Return everything that ever survived, by what stays of it when files move."""
        return {each.error.key: each for each in (*self.survivors, *self.noticed_since)}

    def after(
        self, run: dict[str, Any], outcomes: Iterable[Outcome], *, gone: Iterable[Key] = ()
    ) -> Results:
        """Return the results of a new run, with the judgments of this one.

        Parameters
        ----------
        run : dict
            Seed, commit and the like.
        outcomes : iterable of Outcome
            What this run planted. Whatever else once survived stays as it stands,
        gone : iterable of tuple, optional
            but for these: the code no longer holds what they change.
        """
        outcomes = list(outcomes)
        before = self.judged()
        for key in gone:
            del before[key]
        survivors, since = [], []
        for outcome in outcomes:
            old = before.pop(outcome.error.key, None)
            now = Survivor(
                outcome.error, *((old.judgment, old.reason, old.test) if old else ("", "", ""))
            )
            if outcome.verdict == "survived":
                survivors.append(now)
            elif old:
                since.append(now)
        survivors += [each for each in self.survivors if each.error.key in before]
        since += [each for each in self.noticed_since if each.error.key in before]
        verdicts = Counter(outcome.verdict for outcome in outcomes)
        numbers = {
            "planted": len(outcomes),
            "noticed": verdicts["noticed"],
            "timed out": verdicts["timed out"],
            "survived": verdicts["survived"],
        }
        return Results(run | numbers, _in_order(survivors), _in_order(since))

    def open(self) -> list[Survivor]:
        """Return the survivors that nobody judged, or that a test was to notice."""
        return [each for each in self.survivors if each.judgment in ("", "test added")]

    def write(self, path: Path) -> None:
        """Write the results as JSON that a person can edit."""
        document = {
            **self.run,
            "survivors": [each.to_document() for each in self.survivors],
            "noticed since": [each.to_document() for each in self.noticed_since],
        }
        path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", "utf-8")

    @classmethod
    def read(cls, path: Path) -> Results:
        """Return what :meth:`write` wrote; empty results where there is no file yet."""
        if not path.exists():
            return cls()
        document = json.loads(path.read_text("utf-8"))
        survivors = tuple(map(Survivor.from_document, document.pop("survivors")))
        since = tuple(map(Survivor.from_document, document.pop("noticed since")))
        return cls(document, survivors, since)


def _in_order(found: list[Survivor]) -> tuple[Survivor, ...]:
    return tuple(sorted(found, key=lambda s: (s.error.file, s.error.line, s.error.key)))
