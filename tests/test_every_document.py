"""Whatever a stored document holds: it is read as what it says, or refused in one kind of error.

Every kind of document is damaged in every place in every way of `damaged_documents.py`. What loads
must be what was written, so that a fingerprint is that of the document read; nothing else than an
error of the package may come out, and within a bounded number of lines.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import operator
import struct
import warnings
import zlib
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from lapwing import Distribution, HeavyHitters, LapwingError, Ledger, Series, Survey, Watch
from lapwing.decoders import ExhaustiveScan
from lapwing.documents import parse, read
from lapwing.errors import DomainError, FormatError
from lapwing.privacy.privacy_loss import PrivacyLoss
from lapwing.protocol import ExactCounts
from lapwing.protocol.messages.group_tallies import GroupTallies
from lapwing.protocol.messages.reports import read_blocks, read_header, write_blocks
from lapwing.protocol.messages.tally import Tally, TallyLog
from lapwing.protocol.release import Release
from lapwing.results import JointDistribution
from lapwing.survey import QuestionPublication
from tests.damaged_documents import (
    at_most,
    damaged_bytes,
    forged,
    mutants,
    places,
    spelled,
    with_change,
)

STORED = Path(__file__).parent / "stored" / "v1"

DAMAGES = 150
"""Damaged copies of each kind of document, shared by its files, which have 25 at least."""

MAY_BE_ABSENT = {"checksum", "between"}
"""Keys that the first files of a series did not have."""

LINES = 3_000_000
"""The most that one document may take; those of today take at most a tenth."""


def _ask_release(release: Any) -> None:
    assert release.people is None or release.people >= 0
    assert release.total >= 1 and release.variance > 0 and str(release.guarantee)
    with contextlib.suppress(LapwingError):
        # Twice the same people is refused; their sum, under other names, must not wrap.
        release + release
    assert release.blocks[0].size == release.channel.blocks[0].outputs


def _ask_answers(made: QuestionPublication) -> None:
    assert str(made.release.guarantee)
    with contextlib.suppress(LapwingError):
        assert made.answers()


def _ask_ledger(ledger: Ledger) -> None:
    for _ in range(2):
        with contextlib.suppress(LapwingError):
            assert ledger.spent is None or str(ledger.spent)
        with contextlib.suppress(LapwingError):
            assert ledger.remaining is None or str(ledger.remaining)
        with contextlib.suppress(LapwingError):
            ledger = ledger.spend("more", ledger.budget)


def _ask_survey(survey: Survey) -> None:
    assert survey.randomizer.certificate().holds
    assert survey.guarantee.epsilon == survey.randomizer.epsilon


def _ask_result(result: Any) -> None:
    with contextlib.suppress(LapwingError):
        assert result.confidence_band(0.9) is not result


def _ask_joint(joint: JointDistribution) -> None:
    for name in joint.domain.names:
        with contextlib.suppress(LapwingError):
            _ask_result(joint.marginal(name))
    with contextlib.suppress(LapwingError):
        assert joint.mutual_information() >= 0 and joint.summary()


def _ask_series(series: Any) -> None:
    assert series.summary() and len(series.names) == len(series)
    with contextlib.suppress(LapwingError):
        assert series.between(0, len(series) - 1).confidence_band(0.9) is not series


def _ask_watch(watch: Any) -> None:
    with contextlib.suppress(LapwingError):
        assert len(watch.look(None)[0].weeks) == len(watch.weeks) + 1


Reader = tuple[Callable[[Any], Any], Callable[[Any], Any]]


def _twice(groups: GroupTallies) -> GroupTallies:
    return groups + GroupTallies.from_document(groups.to_document())


READERS: dict[str, Reader] = {
    "survey.json": (Survey.from_document, _ask_survey),
    "tally.json": (Tally.from_document, lambda tally: tally + replace(tally)),
    "group-tallies.json": (GroupTallies.from_document, _twice),
    "distribution.json": (Distribution.from_document, _ask_result),
    "joint-distribution.json": (JointDistribution.from_document, _ask_joint),
    "heavy-hitters.json": (HeavyHitters.from_document, _ask_result),
    "ledger.json": (Ledger.from_document, _ask_ledger),
    "release.json": (Release.from_document, _ask_release),
    "question-release.json": (QuestionPublication.from_document, _ask_answers),
    "series.json": (Series.from_document, _ask_series),
    "watch.json": (Watch.from_document, _ask_watch),
}

LOSSES: list[dict[str, Any]] = [
    {"mu_squared": Fraction(1, 64), "epsilon": Fraction(1, 7)},
    {"rho": Fraction(1, 100), "delta": Fraction(1, 10**8)},
]

FILES = sorted(path for path in STORED.glob("*/*.json") if path.name in READERS)


def test_every_kind_of_document_is_damaged() -> None:
    assert {path.name for path in FILES} == set(READERS)


def case_id(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def current(path: Path) -> dict[str, Any]:
    """Return a stored document as it is written today: an old ledger in the new version."""
    load, _ = READERS[path.name]
    document: dict[str, Any] = json.loads(json.dumps(load(read(path)).to_document()))
    if path.name == "ledger.json":
        for entry, numbers in zip(document["entries"], LOSSES, strict=True):
            loss = PrivacyLoss(**numbers)
            delta = Fraction(1, 10**7)
            entry |= {"loss": loss.to_document(), "release": "a", "state": "reserved"}
            entry["guarantee"] |= {"epsilon": str(loss.epsilon_at(delta)), "delta": str(delta)}
        document["budget"] |= {"epsilon": "20", "delta": "1/100000"}
    return document


def refused_or_itself(document: Any, load: Callable[[Any], Any], ask: Callable[[Any], Any]) -> bool:
    """Assert that a document is refused, or is what it says; return whether it was read."""
    with at_most(LINES), warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            made = load(document)
        except LapwingError as error:
            assert len(str(error)) < 4000  # the longest text that is put in has 3000
            assert isinstance(error, FormatError | DomainError)
            return False
        assert spelled(made.to_document()) == spelled(document)
        assert repr(made)
        ask(made)
    return True


def check_document(path: Path, *, most: int | None, seed: int) -> None:
    load, ask = READERS[path.name]
    document = current(path)
    assert refused_or_itself(document, load, ask)
    for mutant in mutants(document, most=most, seed=seed):
        changed = forged(mutant)
        refused_or_itself(changed, load, ask)
        text = as_text(changed)
        if text is None:
            continue
        with contextlib.suppress(LapwingError):
            parsed = parse(text, name="it")
            if repr(parsed) != repr(changed):  # else it was just read
                refused_or_itself(parsed, load, ask)


def as_text(document: Any) -> str | None:
    """Return a document as JSON text, or None where it is none."""
    try:
        return json.dumps(document)
    except (TypeError, ValueError, RecursionError):
        return None


@pytest.mark.parametrize("path", FILES, ids=case_id)
def test_a_damaged_document_is_refused_or_says_what_it_is(path: Path) -> None:
    files = [other for other in FILES if other.name == path.name]
    check_document(
        path, most=max(25, DAMAGES // len(files)), seed=zlib.crc32(case_id(path).encode())
    )
    if path == files[0]:
        check_keys(path)


def check_keys(path: Path) -> None:
    """Assert that no key or entry may be absent, and that none is taken beside one of a kind."""
    document = current(path)
    for place in places(document):
        if place[-1] not in MAY_BE_ABSENT:
            shorter = with_change(document, place, operator.delitem)
            refused_or_itself(forged(shorter), *READERS[path.name])
        if isinstance(place[-1], str):
            longer = with_change(document, place, lambda holder, _: holder.update(more=1))
            refused_or_itself(forged(longer), *READERS[path.name])


@pytest.mark.soak
@pytest.mark.parametrize("path", FILES, ids=case_id)
def test_every_damage_is_refused_or_says_what_it_is(path: Path) -> None:
    check_document(path, most=None, seed=0)


# Binary files, with checksums that an attacker can make, too.


def _with_checksums(data: bytes) -> bytes:
    """Return a report file with the checksums that its header and its only block should have."""
    if len(data) < 92:
        return data
    header = data[:80] + struct.pack("<I", zlib.crc32(data[:80]))
    count, records = data[84:88], data[92:]
    return header + count + struct.pack("<I", zlib.crc32(records, zlib.crc32(count))) + records


def check_report_file(data: bytes) -> bool:
    """Assert that a report file is refused, or written again as it was; return which."""
    path = Path("reports.lwr")
    try:
        stream = io.BytesIO(data)
        header = read_header(stream, name=path.name)
        blocks = list(read_blocks(stream, header, path=path))
    except LapwingError:
        return False
    again = io.BytesIO()
    write_blocks(again, header, blocks)
    assert again.getvalue() == data
    return True


@pytest.mark.parametrize("seed", [1, 2])
def test_a_damaged_report_file_is_refused_or_written_again_as_it_was(seed: int) -> None:
    whole = (STORED / "subset-selection" / "reports.lwr").read_bytes()
    data = _with_checksums(whole[: 84 + 8 + 20])
    data = _with_checksums(data[:84] + struct.pack("<I", 10) + data[88:])
    assert check_report_file(data) and check_report_file(whole)
    read_anyway = 0
    for mutant in damaged_bytes(data, most=None, seed=seed):
        check_report_file(mutant)
        read_anyway += check_report_file(_with_checksums(mutant))
    assert read_anyway > 100, "other fingerprints and other reports are read"


def test_the_reserved_field_of_a_report_file_is_refused() -> None:
    whole = (STORED / "subset-selection" / "reports.lwr").read_bytes()
    for field in (2, 256, 65_535):
        header = whole[:10] + struct.pack("<H", field) + whole[12:80]
        data = header + struct.pack("<I", zlib.crc32(header)) + whole[84:]
        with pytest.raises(FormatError, match="reserved"):
            read_header(io.BytesIO(data), name="reports.lwr")


def _with_digest(data: bytes) -> bytes:
    return data[:-32] + hashlib.sha256(data[:-32]).digest()


def check_summary(path: Path, data: bytes) -> bool:
    """Assert that a summary is refused, or written again as it was; return which."""
    path.write_bytes(data)
    with at_most(LINES), warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            made = ExactCounts.load(path)
            made.save(path)
        except LapwingError:
            return False
    assert path.read_bytes() == data
    return True


def test_a_damaged_summary_is_refused_or_written_again_as_it_was(tmp_path: Path) -> None:
    data, path = (STORED / "summary" / "summary.bin").read_bytes(), tmp_path / "summary.bin"
    assert check_summary(path, data)
    read_anyway = 0
    for mutant in damaged_bytes(data, most=40, seed=3):
        assert check_summary(path, mutant) == (mutant == data)
        read_anyway += check_summary(path, _with_digest(mutant))
    assert read_anyway > 3, "other counts are read"


def test_a_damaged_header_of_a_summary_is_refused_or_written_again(tmp_path: Path) -> None:
    data, path = (STORED / "summary" / "summary.bin").read_bytes(), tmp_path / "summary.bin"
    (length,) = struct.unpack("<I", data[16:20])
    header = json.loads(data[20 : 20 + length])
    for mutant in mutants(header, most=150, seed=4):
        text = as_text(mutant)
        if text is not None:
            changed = data[:16] + struct.pack("<I", len(text)) + text.encode() + data[20 + length :]
            # Never: it is JSON, but with spaces, and not the canonical bytes.
            assert not check_summary(path, _with_digest(changed))


# The state of a scan.


@pytest.mark.parametrize("most", [100, pytest.param(None, marks=pytest.mark.soak)])
def test_a_damaged_state_of_a_scan_is_refused_or_gone_on_with(
    most: int | None, tmp_path: Path
) -> None:
    survey = Survey.load(STORED / "linear-hashing" / "survey.json")
    log = Tally.from_document(read(STORED / "linear-hashing" / "tally.json"))
    assert isinstance(log, TallyLog)
    randomizer: Any = survey.randomizer
    channel, path = randomizer.log_channel, tmp_path / "state.json"
    scanned = ExhaustiveScan(expected_false=3)
    scanned.decode(channel, log, state=path)
    document = json.loads(path.read_text())
    assert document["done"] == 1 and document["symbols"]
    for mutant in mutants(document, most=most, seed=6):
        text = as_text(mutant)
        if text is not None:
            path.write_text(text)
            with at_most(LINES), contextlib.suppress(LapwingError):
                assert len(scanned.decode(channel, log, state=path)) >= 0
