"""What a stored release says, by itself and in each of its segments."""

from __future__ import annotations

from pathlib import Path

from lapwing.cli.reading.stored_answers import read_stored_release
from lapwing.cli.showing.answer import ShownAnswer, shown_answer
from lapwing.protocol.domains.segmented import NO_SEGMENT, Segmented
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.answer_text import count_text
from lapwing.survey.publication import Publication


def release_answer(path: Path, request: AnswerRequest) -> ShownAnswer:
    """Return what the release in a file says."""
    release = read_stored_release(path)
    published = Publication(release)
    rest = {"mechanism": release.mechanism.name}
    return published_answer(published, path.name, request, rest=rest)


def published_answer(
    published: Publication, name: str, request: AnswerRequest, *, rest: dict[str, str]
) -> ShownAnswer:
    """Return what a release says: a table for each segment, where it has some."""
    release = published.release
    whole = shown_answer(published.distribution, name, request, rest=rest)
    document = {"mechanism": release.mechanism.to_document(), **whole.document}
    if not isinstance(release.domain, Segmented):
        return ShownAnswer(document, whole.tables, whole.rows)
    document["segments"], tables, rows = [], [], []
    for segment, result in published.by_segment().items():
        label = NO_SEGMENT if segment is None else str(segment)
        title = f"{name}, {label}, about {count_text(result.reports)} people"
        answer = shown_answer(result, title, request)
        document["segments"].append({"segment": segment, **answer.document})
        tables.append(answer.tables[0])
        rows += [{"segment": label, **row} for row in answer.rows]
    return ShownAnswer(document, [*tables, *whole.tables[1:]], rows)
