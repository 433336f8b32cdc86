"""Whatever is stored is saved and loaded in one way, and `lw.load` knows what a file is."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.documents import Stored
from lapwing.engines.arrow.report_folder import SavedProgress, identity
from lapwing.engines.arrow.report_tables import write_reports
from lapwing.errors import ArgumentError, FormatError, MismatchError, ReportError, TornFileError
from lapwing.protocol import ExactCounts
from lapwing.registry import FORMATS
from lapwing.stored_files import JobProgress, ReportFile
from lapwing.survey import Publication, QuestionPublication

DOMAIN = lw.Interval(0, 8, bins=8)
SURVEY = lw.Survey("wait", lw.SquareWave(DOMAIN, 1))
HASHED = lw.Survey("words", lw.LinearHashing(lw.HashedStrings(16), 2))
REPORTS = SURVEY.randomize(np.linspace(0, 8, 200), rng=lw.seeded(1))
TALLY = SURVEY.tally(REPORTS)
LATER = SURVEY.tally(SURVEY.randomize(np.linspace(0, 6, 200), rng=lw.seeded(4)))
LOG = HASHED.tally(HASHED.randomize(["owl", "wren"] * 20, rng=lw.seeded(2)))
RESULT = SURVEY.decode(TALLY)
PUBLISHED = lw.release(
    [1.0, 2.0, 5.0] * 200, DOMAIN, epsilon=1, delta=1e-6, neighbors="replace-one", rng=lw.seeded(3)
)
ANSWERS = lw.release(
    [1.0, 2.0, 5.0] * 200,
    DOMAIN,
    epsilon=1,
    neighbors="replace-one",
    rng=lw.seeded(3),
    questions=["mean", "quantile 0.5", "histogram bins 4"],
)
SERIES = lw.decode_series([(SURVEY, TALLY), (SURVEY, LATER)])

DOCUMENTS: dict[str, Callable[[], Any]] = {
    "survey": lambda: SURVEY,
    "count tally": lambda: TALLY,
    "tally log": lambda: LOG,
    "tallies of segments": lambda: SURVEY.tally(REPORTS, by=["owl", "wren"] * 100, minimum=1),
    "tallies of segments and the rest": lambda: HASHED.tally(
        HASHED.randomize(["owl"] * 9, rng=lw.seeded(5)),
        by=[1, 1, 1, 1, 1, 2, None, 3, 3],
        minimum=5,
    ),
    "distribution": lambda: RESULT,
    "signed estimate": lambda: SURVEY.decode(TALLY, decoder=lw.LeastSquares(signed=True)).signed,
    "distribution with its signed estimate": lambda: SURVEY.decode(
        TALLY, decoder=lw.LeastSquares(signed=True)
    ),
    "joint distribution": lambda: lw.results.JointDistribution(
        lw.Product(x=lw.Integers(0, 1), y=lw.Integers(0, 1)), np.array([0.4, 0.1, 0.2, 0.3])
    ),
    "release": lambda: PUBLISHED.release,
    "released answers": lambda: ANSWERS.release,
    "heavy hitters": lambda: HASHED.decode(LOG, decoder=lw.decoders.Candidates(["owl", "wren"])),
    "series": lambda: SERIES,
    "difference": lambda: RESULT.difference(RESULT, people="different"),
    "difference within a series": lambda: SERIES.between(*SERIES.names),
    "watch": lambda: lw.Watch().look((SURVEY, TALLY))[0],
}


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_what_is_saved_is_loaded(kind: str, tmp_path: Path) -> None:
    thing = DOCUMENTS[kind]()
    path = tmp_path / "stored.json"
    thing.save(path)
    written = json.loads(path.read_text())
    identified = written.pop("ids", None) is not None  # of a tally's file alone
    assert identified == isinstance(thing, lw.Tally)
    assert written == json.loads(thing.to_json()) and thing.to_json().endswith("}\n")
    assert identified or path.read_text() == thing.to_json()
    for again in (lw.load(path), lw.load(str(path)), type(thing).load(path)):
        assert type(again) is type(thing)
        assert again.to_json() == thing.to_json()
    assert type(thing).from_json(thing.to_json()).to_json() == thing.to_json()


def test_every_door_reads_released_answers(tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    for published in (ANSWERS, PUBLISHED):
        published.save(path)
        found = Publication.load(path)
        assert type(found) is type(published) and found.release == published.release
        assert type(Publication.from_json(path.read_text())) is type(published)
        assert lw.load(path) == published.release
    PUBLISHED.save(path)
    with pytest.raises(FormatError, match="must be a question release"):
        QuestionPublication.load(path)


def test_every_kind_of_document_is_tried() -> None:
    tried = {json.loads(make().to_json())["format"] for make in DOCUMENTS.values()}
    assert tried | {"lapwing-ledger"} == set(FORMATS)
    assert all(isinstance(make(), Stored) for make in DOCUMENTS.values())


def test_a_tally_of_either_kind_is_a_tally(tmp_path: Path) -> None:
    for tally in (TALLY, LOG):
        tally.save(tmp_path / "tally.json")
        assert isinstance(tally, lw.Tally)
        assert lw.Tally.load(tmp_path / "tally.json") == tally
        again = lw.Tally.from_json(tally.to_json())
        assert sum([tally, again]).total == 2 * tally.total  # type: ignore[arg-type]


def test_a_publication_is_stored_as_its_release(tmp_path: Path) -> None:
    PUBLISHED.save(tmp_path / "release.json")
    assert lw.load(tmp_path / "release.json") == PUBLISHED.release
    again = Publication.load(tmp_path / "release.json")
    assert again.choice is None  # the file of a release says what was released, not why
    unchosen = replace(PUBLISHED, choice=None)
    assert again.distribution == unchosen.distribution


def test_exact_counts_stay_secret(tmp_path: Path) -> None:
    counts = ExactCounts.of_values([1.0, 1.0, 3.0], DOMAIN)
    counts.save(tmp_path / "counts.lws")
    again = lw.load(tmp_path / "counts.lws")
    assert again == counts and "secret" in repr(again) and "3" not in repr(again)
    assert not hasattr(counts, "to_json")


@pytest.mark.parametrize("name", ["r.lwr", "r.parquet", "r.arrow", "r.csv"])
def test_reports_are_loaded_and_described_without_being_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with path.open("wb") as stream:
        write_reports(stream, SURVEY, iter([REPORTS] * 30), ending=path.suffix)
    randomizer = SURVEY.randomizer.fingerprint
    number = None if name == "r.csv" else 30 * len(REPORTS)
    assert ReportFile.of(path) == ReportFile(path, SURVEY.fingerprint, randomizer, number, "seeded")
    again = lw.load(path)
    assert type(again) is lw.Reports and again.survey == SURVEY.fingerprint
    assert again.fingerprint == randomizer
    assert np.array_equal(again.data, np.vstack([REPORTS.data] * 30))
    assert SURVEY.tally(again).reports == tuple(30 * number for number in TALLY.reports)


@pytest.mark.parametrize("name", ["r.parquet", "r.arrow", "r.csv"])
def test_labeled_reports_are_loaded_without_their_labels(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    labels: list[str | None] = ['a,"b"', None, "wren", ""] * 50
    with path.open("wb") as stream:
        parts = iter([(REPORTS, labels)])
        write_reports(stream, SURVEY, parts, ending=path.suffix, by="bird")
    assert lw.load(path) == REPORTS


def test_saved_reports_are_the_file_that_the_command_line_writes(tmp_path: Path) -> None:
    path = tmp_path / "r.lwr"
    many = lw.Reports(np.vstack([REPORTS.data] * 30), REPORTS.fingerprint, SURVEY.fingerprint)
    many.save(str(path))
    with (tmp_path / "by-command.lwr").open("wb") as stream:
        write_reports(stream, SURVEY, iter([many]), ending=".lwr")
    assert path.read_bytes() == (tmp_path / "by-command.lwr").read_bytes()
    for again in (lw.load(path), lw.Reports.load(path), lw.Reports.load(str(path))):
        assert again == many and again.survey == many.survey
    many[5:9].save(path)
    assert lw.load(path) == many[5:9] and lw.load(path).survey == SURVEY.fingerprint
    many[:0].save(path)
    assert len(lw.load(path)) == 0 and lw.load(path).width == many.width


def test_reports_that_no_survey_asked_for_are_stored(tmp_path: Path) -> None:
    """Their randomizer says enough to tally them; a survey that asked for them is told apart."""
    path = tmp_path / "r.lwr"
    alone = SURVEY.randomizer.randomize([1.0, 2.0], rng=lw.seeded(1))
    alone.save(path)
    assert lw.load(path).survey is None and ReportFile.of(path).survey is None
    assert SURVEY.tally(lw.load(path)).total == 2
    another = lw.Survey("another", SURVEY.randomizer)
    with pytest.raises(MismatchError, match="asked for these reports"):
        another.tally(REPORTS)
    assert another.tally(lw.load(path)).survey == another.fingerprint


def test_reports_that_have_no_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"end in \.lwr"):
        REPORTS.save(tmp_path / "r.parquet")
    for wrong in (
        lw.Reports(REPORTS.data.copy(), "another"),
        lw.Reports(REPORTS.data.copy(), REPORTS.fingerprint, "wait"),
        lw.Reports(np.zeros((3, 0), dtype=np.uint8), REPORTS.fingerprint),
    ):
        with pytest.raises(ReportError, match="64 hex digits"):
            wrong.save(tmp_path / "r.lwr")
    assert not list(tmp_path.iterdir())


def test_progress_is_described(tmp_path: Path) -> None:
    progress = SavedProgress(tmp_path / "job", {"verb": "tally"})
    (tmp_path / "a.csv").write_text("1\n")
    progress.add(tmp_path / "a.csv", identity(tmp_path / "a.csv"), {"reports": 1})
    progress.save(b"counted")
    assert lw.load(tmp_path / "job") == JobProgress(tmp_path / "job", {"verb": "tally"}, 1)


def refused(path: Path) -> str:
    """Return the one sentence with which a file is refused."""
    with pytest.raises(FormatError) as error:
        lw.load(path)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_what_is_no_file_of_lapwing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    assert "no file" in refused(path) and "is a folder" in refused(tmp_path)
    for content, reason in [
        ("", "is empty"),
        ("hello", "damaged or of another kind"),
        ("[1]", "JSON object"),
        ("{}", "must state its format"),
        ('{"format": 3}', "must state its format"),
        ('{"format": "lapwing-surveys"}', "did you mean lapwing-survey"),
        ('{"format": "os:system"}', "cannot read"),
        ("PAR1xxxx", "damaged"),
        ("ARROW1xxxx", "damaged"),
        ("LWREPORT", "header"),
        ("LAPWING-SECRET\n\0xxx", "damaged"),
        ("LAPWING-PROGRESS\nxxx", "damaged"),
        ("# lapwing-reports\n", "must contain reports"),
        ('{"format":"lapwing-collector-state","version":1}\n', "lacks the key"),
    ]:
        path.write_text(content)
        assert reason in refused(path)


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_newer_or_damaged_document_is_refused(kind: str, tmp_path: Path) -> None:
    text = DOCUMENTS[kind]().to_json()
    path = tmp_path / "x.json"
    document = json.loads(text)
    path.write_text(json.dumps(document | {"version": 99}))
    assert "x.json" in refused(path) and "Update lapwing" in refused(path)
    path.write_text(json.dumps(document | {"more": 1}))
    assert "unknown key 'more'" in refused(path)
    path.write_text(text[: len(text) // 2])
    assert "damaged or of another kind" in refused(path)


def test_a_device_file_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "device")
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    assert "Device.open" in refused(tmp_path / "device")


def test_a_torn_file_of_reports_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.lwr"
    REPORTS.save(path)
    path.write_bytes(path.read_bytes()[:-1])
    assert "block 1 of r.lwr is incomplete" in refused(path)
    with pytest.raises(TornFileError):
        lw.Reports.load(path)
    with pytest.raises(FormatError, match="incomplete or damaged after 0 reports"):
        ReportFile.of(path)


def test_a_newer_foreign_or_empty_file_of_reports_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.lwr"
    REPORTS.save(path)
    whole = bytearray(path.read_bytes())
    for place, reason in ((8, "Update lapwing"), (20, "is damaged"), (90, "is damaged")):
        damaged = whole.copy()
        damaged[place] ^= 2
        path.write_bytes(damaged)
        assert "r.lwr" in refused(path) and reason in refused(path)
    for content, reason in ((b"", "is empty"), (b"{}", "must be a report file")):
        path.write_bytes(content)
        with pytest.raises(FormatError, match=reason):
            lw.Reports.load(path)
    with pytest.raises(FormatError, match="no file"):
        lw.Reports.load(tmp_path / "absent.lwr")


def test_no_document_imports_anything(tmp_path: Path) -> None:
    assert "antigravity" not in sys.modules
    document = SURVEY.to_document()
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document | {"randomizer": {"class": "antigravity"}}))
    refused(path)
    path.write_text('{"format": "antigravity:load"}')
    refused(path)
    assert "antigravity" not in sys.modules


def test_of_two_writers_the_last_one_stays_whole(tmp_path: Path) -> None:
    """A link is followed, so what it points to is replaced."""
    target, link = tmp_path / "a.json", tmp_path / "b.json"
    target.write_text("old")
    link.symlink_to(target)
    SURVEY.save(link)
    assert link.is_symlink() and lw.load(target) == SURVEY
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b.json"]
