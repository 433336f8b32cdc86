"""The stored documents that most commands read, surveys and tallies; errors name the file."""

from __future__ import annotations

from pathlib import Path

from lapwing.documents import read_as
from lapwing.protocol.messages.tally import Tally
from lapwing.survey.survey import Survey


def read_survey(path: Path) -> Survey:
    """Return the survey in a file; FormatError when it is none, or was changed."""
    return read_as(path, Survey.from_document)


def read_tally(path: Path) -> Tally:
    """Return the tally in a file; FormatError when it is none."""
    return read_as(path, Tally.from_document)
