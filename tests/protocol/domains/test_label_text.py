"""A label is one label in any Unicode form: in lists, arrays, frames, files and questions."""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.client.device import segment_number
from lapwing.engines.arrow import randomize, summarize
from lapwing.errors import ArgumentError, DomainError, LapwingError, LapwingWarning
from lapwing.protocol import ExactCounts, Segmented
from lapwing.protocol.domains import label_text
from lapwing.protocol.domains.label_text import compared_text
from lapwing.protocol.messages.unit_rows import unit_text
from lapwing.questions import label_of
from tests.vectors.label_vectors import ILLEGAL

NFC, NFD = "caf\u00e9", "cafe\u0301"
LATER = "e\u0301\U0001fae8"
"""With a character that came after Unicode 14: compared as it is."""
VALUES = [NFC, NFD, "tea", "cafe", None, LATER, "\u00e9\U0001fae8"] * 30
DRINKS = lw.Categories([NFD, "tea", LATER, "other"], other="other", missing="category")
EXPECTED = [60, 30, 30, 60, 30]


def column(kind: str) -> Any:
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    made: dict[str, Any] = {
        "list": VALUES,
        "array": np.array(VALUES, dtype=object),
        "pandas": pd.Series(VALUES),
        "pandas strings": pd.Series(VALUES, dtype="string"),
        "pandas categories": pd.Series(VALUES, dtype="category"),
        "polars": pl.Series(VALUES),
        "polars categories": pl.Series(VALUES, dtype=pl.Categorical),
        "arrow": pa.array(VALUES),
        "arrow chunks": pa.chunked_array([VALUES[:50], VALUES[50:]]),
        "arrow dictionary": pa.array(VALUES).dictionary_encode(),
        "arrow views": pa.array(VALUES, pa.string_view()),
    }
    return made[kind]


KINDS = [
    *("list", "array", "pandas", "pandas strings", "pandas categories", "polars"),
    *("polars categories", "arrow", "arrow chunks", "arrow dictionary", "arrow views"),
]


@pytest.mark.filterwarnings("ignore::lapwing.errors.RowsWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_every_column_counts_both_forms_as_one(kind: str) -> None:
    counts = np.bincount(DRINKS.index(column(kind)), minlength=5)
    assert counts.tolist() == EXPECTED
    table = Segmented(lw.Integers(0, 1), [NFC, "tea"])
    found = ExactCounts.of_segments([0] * len(VALUES), column(kind), table)
    assert found.counts.reshape(3, -1).sum(axis=1).tolist() == [60, 30, 120]
    units = ExactCounts.of_values([0] * len(VALUES), lw.Integers(0, 1), unit=column(kind), most=1)
    assert units.people == 5


@pytest.mark.filterwarnings("ignore::lapwing.errors.RowsWarning")
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_files_are_counted_and_randomized_so(ending: str, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import csv, feather, parquet

    path = tmp_path / f"drinks{ending}"
    # The second column keeps lines of missing values from being blank.
    table = pa.table({"drink": VALUES, "row": range(len(VALUES))})
    write = {".csv": csv.write_csv, ".parquet": parquet.write_table}
    write.get(ending, feather.write_feather)(table, path)
    assert summarize(path, DRINKS, column="drink").counts.tolist() == EXPECTED
    survey = lw.Survey("drinks", lw.RandomizedResponse(DRINKS, epsilon=24))
    randomize(path, survey, output=tmp_path / "out.lwr", column="drink", rng=lw.seeded(1))
    counts = survey.tally(lw.Reports.load(tmp_path / "out.lwr")).to_document()["blocks"]
    assert counts == [EXPECTED]


def test_documents_keep_the_text_as_typed() -> None:
    typed, composed = lw.Categories([NFD, "tea"]), lw.Categories([NFC, "tea"])
    assert typed.to_document()["labels"] == [NFD, "tea"] and typed != composed
    one, two = (lw.Survey("s", lw.RandomizedResponse(d, epsilon=1)) for d in (typed, composed))
    assert one.fingerprint != two.fingerprint
    assert lw.Categories([NFC, "x"], other=NFD).other == NFD


def test_segments_of_a_survey_are_labels() -> None:
    randomizer = lw.RandomizedResponse(lw.Categories(2), epsilon=1)
    survey = lw.Survey("s", randomizer, segments=[NFD, "tea"])
    assert survey.segments == (NFD, "tea")
    assert [segment_number(survey, name) for name in (NFC, NFD, "tea", None)] == [1, 1, 2, 0]
    with pytest.warns(LapwingWarning, match="Its segments: .*, 'tea'"):
        assert segment_number(survey, "x") == 0
    with pytest.raises(ArgumentError, match="one is named twice"):
        lw.Survey("s", randomizer, segments=[NFD, NFC])
    reports = survey.randomize([0] * 4, rng=lw.seeded(1))
    groups = survey.tally(reports, by=[NFC, NFD, NFC, "tea"], minimum=1)
    assert set(groups.segments) == {NFC, "tea"} and groups[NFD] == groups[NFC] != groups["tea"]


def test_other_and_equal_labels() -> None:
    assert lw.Categories([NFD, "x"], other=NFC).index(["?"]).tolist() == [0]
    with pytest.raises(DomainError, match="positions 0 and 2 differ in Unicode form only"):
        lw.Categories([NFC, "x", NFD])
    with pytest.raises(DomainError, match="positions 0 and 1 are equal"):
        lw.Categories(["x", "x"])
    with pytest.raises(DomainError, match="must all be different"):
        Segmented(lw.Integers(0, 1), [NFC, NFD])
    assert lw.Categories([LATER, "\u00e9\U0001fae8"]).size == 2


def test_hashed_strings_are_words_however_they_are_typed() -> None:
    words = lw.HashedStrings(40)
    assert len(set(words.index([NFC, NFD]).tolist())) == 1
    assert len(set(words.index([LATER, "\u00e9\U0001fae8", "E\u0301"]).tolist())) == 3
    with pytest.raises(DomainError, match="valid Unicode"):
        words.index(["\ud800\u0301"])


def test_no_list_holds_a_label_that_cannot_be_compared_or_seen() -> None:
    randomizer = lw.RandomizedResponse(lw.Categories(2), epsilon=1)
    for case in ILLEGAL:
        label, rule = case["label"], case["rule"]
        with pytest.raises(DomainError, match=f"must each {rule}, but the one at position 1"):
            lw.Categories(["tea", label])
        with pytest.raises(LapwingError, match=f"must {rule}|1 to 200 characters"):
            lw.Survey("s", randomizer, segments=["tea", label])
    for label in ("a" + 30 * "\u030a", 1000 * "\U0001f600", "\u05d0\u200f", "\u0645\u200c\u062e"):
        assert lw.Categories([label]).index([label]).tolist() == [0]
        assert lw.Survey("s", randomizer, segments=[label[:200]]).segments == (label[:200],)


def test_marks_are_those_of_the_unicode_character_database() -> None:
    marks, unassigned = label_text._rows_of_marks(), label_text._unassigned()
    known = unassigned.sub("", "".join(map(chr, range(sys.maxunicode + 1))))
    exact = {
        each for each in known if unicodedata.combining(unicodedata.normalize("NFD", each)[0]) > 0
    }
    assert set("".join(marks.findall(known))) == exact


def test_a_unit_of_many_marks_is_compared_as_it_is() -> None:
    for count, same in ((29, True), (30, False)):  # the ring itself is one of the marks
        composed, typed = (start + count * "\u0f73" for start in ("\u00c5", "A\u030a"))
        assert (unit_text(composed) == unit_text(typed)) == same
        assert (compared_text(composed) == compared_text(typed)) == same


def test_a_form_is_compared_once() -> None:
    for text in (
        "",
        "abc",
        NFC,
        NFD,
        LATER,
        "\u1112\u1161\u11ab",
        "\u0378e\u0301",
        "\ud800e\u0301",
    ):
        assert compared_text(compared_text(text)) == compared_text(text)


def test_a_label_is_asked_for_in_either_form() -> None:
    for domain, asked in ((lw.Categories([NFD, "tea"]), NFC), (lw.Categories([NFC, "tea"]), NFD)):
        found = lw.Distribution(domain, np.array([0.75, 0.25]))
        assert found.share(asked) == found.share(domain.listed[0]) == 0.75
        assert label_of(asked, domain, name="share") == domain.listed[0]
