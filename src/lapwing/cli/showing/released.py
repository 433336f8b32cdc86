"""Released answers to questions as a command shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lapwing.cli.console import facts, grid
from lapwing.cli.showing.answer import ShownAnswer
from lapwing.documents import read, read_as
from lapwing.results.question_release import QuestionRelease
from lapwing.results.rounding import count_text, level_text
from lapwing.results.uncertainty import Target
from lapwing.survey.publication import QuestionPublication

FORMAT = "lapwing-question-release"


def question_release(path: Path) -> QuestionPublication | None:
    """Return the released answers that a file holds. None for any other file."""
    if read(path).get("format") != FORMAT:
        return None
    return QuestionPublication(read_as(path, QuestionRelease.from_document))


def released_answers(
    published: QuestionPublication,
    name: str,
    *,
    level: float,
    target: Target = "empirical",
    asked: list[str] | None = None,
    segment: str | None = None,
    rest: dict[str, str] | None = None,
) -> ShownAnswer:
    """Return what released answers say.

    asked: Questions to show. Default: all that were asked but the curve.
    segment: Name of one segment. Default: all of them.
    """
    rows = published.answers(level=level, questions=asked, segment=segment, target=target)
    made, segments = published.release, "segment" in rows[0]
    heads = ["segment", "question", "answer", f"{level_text(level)} interval"]
    columns = ["segment", "question", "text", "interval"]
    shown = [[str(row[column]) for column in columns[not segments :]] for row in rows]
    told = {"privacy guarantee": str(published.guarantee)}
    if made.people is not None:
        told["people"] = count_text(made.people)
    told["intervals"] = f"each about {rows[0]['about']}"
    if notes := dict.fromkeys(row["note"] for row in rows if row["note"]):
        told["note"] = "; ".join(notes)
    if made.curve is not None:
        told["curve"] = "in the file: ask it another question, or use Python"
    plain: list[dict[str, Any]] = [
        {key: value for key, value in row.items() if key not in ("text", "interval")}
        for row in rows
    ]
    document = {
        "guarantee": published.guarantee.to_document(),
        "people": made.people,
        "level": level,
        "answers": plain,
    }
    tables = [grid(f"{name}: answers", heads[not segments :], shown), facts(told | (rest or {}))]
    return ShownAnswer(document, tables, lambda: plain)
