"""Questions of a survey in its document, and its warnings about the curve."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lapwing.errors import FormatError, WeakAnswerWarning, kind_of
from lapwing.questions import Curve, Question


def asks_document(questions: Sequence[Question]) -> dict[str, Any]:
    """Return what documents and results say of questions. Nothing for the whole curve."""
    asks = [each.to_document() for each in questions]
    return {"asks": asks} if asks else {}


def asks_of(document: dict[str, Any]) -> tuple[Any, ...]:
    """Return the questions of a survey's document. FormatError where they are no list."""
    asks = document.get("asks", [])
    if not isinstance(asks, list):
        raise FormatError(f"the questions of a survey must be a list, got {kind_of(asks)}")
    return tuple(asks)


@contextmanager
def quiet_about_the_curve(questions: Sequence[Question]) -> Iterator[None]:
    """Give no warning that the curve is little known, where the questions do not ask for it."""
    with warnings.catch_warnings():
        if questions and Curve() not in questions:
            warnings.simplefilter("ignore", WeakAnswerWarning)
        yield
