"""CONTRIBUTING.md names files that exist, and is short."""

from __future__ import annotations

import re
from pathlib import Path

from tests.test_layout import FLOORS

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def test_every_file_that_it_names_exists() -> None:
    named = set(re.findall(r"(?:src|tests|docs|\.ci)/[\w./*-]*\w", TEXT))
    absent = [
        path
        for path in sorted(named)
        if "NAME" not in path and "*" not in path and not (ROOT / path).exists()
    ]
    assert absent == [] and len(named) > 30


def test_every_target_of_make_that_it_names_exists() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)", TEXT))
    assert named <= targets and "test" in named


def test_it_is_read_in_a_few_minutes() -> None:
    assert len(TEXT.split()) <= 1500


def test_its_picture_has_every_floor() -> None:
    picture = TEXT.partition("```text\n")[2].partition("```")[0]
    assert len(picture.splitlines()) <= 20
    drawn = {word.strip("/") for line in picture.splitlines() for word in line[:26].split()}
    rooms = {room for floor in FLOORS for room in floor.split()}
    left_out = {"__main__", "__init__", "shuffle", "tallies", "datasets", "distances"}
    assert drawn == rooms - left_out
