"""Files that earlier versions wrote can be read, and say what they said then.

`tests/stored/make_stored.py` wrote them; a folder holds the files of one case and the facts.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lapwing import Distribution, Guarantee, HeavyHitters, Ledger, Reports, Series, Survey, Watch
from lapwing.decoders.releases.step_pursuit import StepPursuit
from lapwing.documents import read
from lapwing.errors import ArgumentError, FormatError
from lapwing.planning.release_defaults import release_decoder
from lapwing.protocol import ExactCounts
from lapwing.protocol.domains.domain_documents import build_domain
from lapwing.protocol.messages.group_tallies import GroupTallies
from lapwing.protocol.messages.reports import read_header
from lapwing.protocol.messages.tally import Tally
from lapwing.protocol.release import Release
from lapwing.registry import MECHANISMS, RANDOMIZERS
from lapwing.results import JointDistribution
from lapwing.results.symbols import in_numbers
from lapwing.survey import QuestionPublication
from lapwing.survey.publication import decode_release
from tests.rows import each
from tests.stored.make_stored import SERIES as STORED_SERIES
from tests.stored.make_stored import counted, weeks_of

STORED = Path(__file__).parent / "stored"
CASES = sorted(folder for folder in STORED.glob("v*/*") if folder.is_dir())
SURVEYS = [folder for folder in CASES if (folder / "survey.json").exists()]
LEDGERS = [folder for folder in CASES if (folder / "ledger.json").exists()]
RELEASES = [folder for folder in CASES if (folder / "release.json").exists()]
SUMMARIES = [folder for folder in CASES if (folder / "summary.bin").exists()]
SERIES = [folder for folder in CASES if (folder / "series.json").exists()]
WATCHES = [folder for folder in CASES if (folder / "watch.json").exists()]
LISTS = [folder for folder in CASES if folder.name == "heavy-hitters"]
ANSWERS = [STORED / "v1" / "release-of-answers"]
GROUPS = [folder for folder in CASES if (folder / "group-tallies.json").exists()]
PAIRS = [folder for folder in CASES if (folder / "joint-distribution.json").exists()]


def case_id(folder: Path) -> str:
    return f"{folder.parent.name}-{folder.name}"


each_survey = pytest.mark.parametrize("folder", SURVEYS, ids=case_id)


def facts_of(folder: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((folder / "facts.json").read_text("utf-8"))
    return facts


def test_nothing_is_missing() -> None:
    assert {"v1"} == {path.name for path in STORED.glob("v*")}
    assert LEDGERS and SUMMARIES and LISTS and WATCHES and GROUPS and PAIRS
    versions = {facts_of(folder)["apart"] is None for folder in SERIES}
    assert versions == {True, False}, "of version 1, which does not know what weeks share, and 2"
    mechanisms = {facts_of(folder)["mechanism"] for folder in RELEASES}
    assert set(MECHANISMS) - mechanisms == {"matching-pursuit", "polynomial-projection"}, (
        "whose matrices are computed in floating point, so other machines may have other ones"
    )
    stored = {facts_of(folder)["randomizer"] for folder in SURVEYS}
    assert stored >= set(RANDOMIZERS), "add a case to make_stored.py and run it"
    for folder in CASES:
        expected = {"survey.json", "reports.lwr", "tally.json", "distribution.json", "facts.json"}
        if facts_of(folder).get("randomizer") == "prefix-hashing":
            expected.add("heavy-hitters.json")
        if "joint" in facts_of(folder):
            expected ^= {"distribution.json", "joint-distribution.json"}
        for folders, name in (
            (LEDGERS, "ledger.json"),
            (RELEASES, "release.json"),
            (SUMMARIES, "summary.bin"),
            (LISTS, "heavy-hitters.json"),
            (ANSWERS, "question-release.json"),
            (SERIES, "series.json"),
            (WATCHES, "watch.json"),
            (GROUPS, "group-tallies.json"),
        ):
            if folder in folders:
                expected = {name, "facts.json"}
        assert {path.name for path in folder.iterdir()} == expected


@each_survey
def test_the_survey(folder: Path) -> None:
    survey, facts = Survey.load(folder / "survey.json"), facts_of(folder)
    assert survey.name == facts["name"]
    assert survey.randomizer.name == facts["randomizer"]
    assert survey.fingerprint == facts["fingerprint"]
    assert survey.randomizer.fingerprint == facts["randomizer_fingerprint"]
    assert survey.guarantee.epsilon == Fraction(facts["epsilon"])
    assert survey.randomizer.certificate().ratio == Fraction(facts["ratio"])


@each_survey
def test_the_reports_and_their_tally(folder: Path) -> None:
    survey, facts = Survey.load(folder / "survey.json"), facts_of(folder)
    reports = Reports.load(folder / "reports.lwr")
    assert reports.survey == facts["fingerprint"]
    data = reports.data
    assert data.shape == (facts["reports"], facts["report_width"])
    assert hashlib.sha256(data.tobytes()).hexdigest() == facts["report_bytes"]
    tally = Tally.from_document(read(folder / "tally.json"))
    assert [counts.tolist() for counts in counted(survey, tally).blocks] == facts["counts"]
    assert tally.total == facts["reports"] and tally.survey == facts["fingerprint"]
    assert survey.tally(reports) == tally
    survey.check(tally)


@pytest.mark.parametrize("folder", [f for f in SURVEYS if f not in PAIRS], ids=case_id)
def test_the_distribution(folder: Path) -> None:
    survey, facts = Survey.load(folder / "survey.json"), facts_of(folder)
    made = Distribution.from_json((folder / "distribution.json").read_text("utf-8"))
    assert made.domain == survey.randomizer.domain
    assert made.guarantee == survey.guarantee
    assert made.mass.tolist() == facts["mass"] and made.reports == facts["reports"]
    assert made.provenance["class"] == facts["provenance"]
    band = made.confidence_band(0.9)
    if facts["band"] is None:
        assert band is None
    else:
        assert band is not None
        law, ordered = made._present_uncertainty, made.domain.ordered
        assert law is not None
        low, high = law.curves(0.9, "pointwise", cumulative=ordered, least=0.0)
        # The sum of all present was one but for the rounding of columns; now it is one.
        assert low == pytest.approx(facts["band"][0], abs=2e-5)
        assert high == pytest.approx(facts["band"][1], abs=2e-5)
        # What was stored is as it was; since then a band is cut to the simultaneous one.
        whole = made.confidence_band(0.9, kind="simultaneous")
        assert whole is not None
        if ordered:
            assert np.all(band.low >= whole.low) and np.all(band.high <= whole.high)
        else:
            assert band.low.tolist() == low.tolist() and band.high.tolist() == high.tolist()
    if made.domain.ordered:
        # These were written of the line to which a circle is cut.
        line = replace(made.cumulative, circle=None)
        assert line.quantile([0.1, 0.5, 0.9]) == pytest.approx(facts["quantiles"], rel=1e-12)
        assert line.mean == pytest.approx(facts["mean"], rel=1e-12)


@pytest.mark.parametrize("folder", PAIRS, ids=case_id)
def test_the_joint_distribution(folder: Path) -> None:
    survey, facts = Survey.load(folder / "survey.json"), facts_of(folder)
    made = JointDistribution.from_json((folder / "joint-distribution.json").read_text("utf-8"))
    assert made.domain == survey.randomizer.domain and made.guarantee == survey.guarantee
    assert made.mass.tolist() == facts["mass"] and made.reports == facts["reports"]
    assert made.provenance["class"] == facts["provenance"]
    said = facts["joint"]
    asked: dict[str, Any] = {name: tuple(ends) for name, ends in said["asked"].items()}
    assert made.probability(**asked) == pytest.approx(said["probability"], rel=1e-12)
    assert made.probability_interval(**asked) == pytest.approx(said["interval"], abs=1e-6)
    assert made.given(**asked).mass.tolist() == pytest.approx(said["given"], rel=1e-12)
    for name, mass in said["marginals"].items():
        assert made.marginal(name).mass.tolist() == pytest.approx(mass, rel=1e-12)
    band = made.marginal(made.domain.names[1]).confidence_band(0.9)
    assert band is not None
    assert np.array([band.low, band.high]) == pytest.approx(np.array(said["band"]), abs=1e-6)
    assert made.mutual_information() == pytest.approx(said["information"], rel=1e-9)
    interval = made.mutual_information_interval()
    assert interval == pytest.approx(said["information interval"], abs=1e-6)


def test_the_heavy_hitters() -> None:
    folder = STORED / "v1" / "prefix-hashing"
    survey = Survey.load(folder / "survey.json")
    found = HeavyHitters.from_json((folder / "heavy-hitters.json").read_text("utf-8"))
    assert found.domain == survey.randomizer.domain and found.guarantee == survey.guarantee
    assert len(found) > 0 and found.reports == facts_of(folder)["reports"]
    tally = Tally.from_document(read(folder / "tally.json"))
    again = survey.decode(tally)
    assert isinstance(again, HeavyHitters)
    assert again.to_document() == found.to_document()


@pytest.mark.parametrize("folder", LEDGERS, ids=case_id)
def test_the_ledger(folder: Path) -> None:
    ledger, facts = Ledger.from_document(read(folder / "ledger.json")), facts_of(folder)
    assert [entry.name for entry in ledger.entries] == facts["names"]
    assert ledger.spent == Guarantee.from_document(facts["spent"])
    assert ledger.remaining == Guarantee.from_document(facts["remaining"])


def test_the_released_answers() -> None:
    folder = STORED / "v1" / "release-of-answers"
    made = QuestionPublication.load(folder / "question-release.json")
    rows, facts = made.answers(), facts_of(folder)["answers"]
    assert len(rows) == len(facts) == 2 * (1 + 2 + 1 + 2)
    for row, fact in zip(rows, facts, strict=True):
        assert {key: row[key] for key in fact} == pytest.approx(fact, rel=1e-9, nan_ok=True)


@pytest.mark.parametrize("folder", RELEASES, ids=case_id)
def test_the_release(folder: Path) -> None:
    release, facts = Release.load(folder / "release.json"), facts_of(folder)
    assert release.mechanism.name == facts["mechanism"]
    assert release.fingerprint == facts["fingerprint"]
    assert release.answers.tolist() == facts["answers"] and release.people == facts["people"]
    assert release.guarantee == Guarantee.from_document(facts["guarantee"])
    assert release.variance == pytest.approx(facts["variance"], rel=1e-12)
    # Prefix sums and trees were written down as step pursuit reads them, then the default.
    stepped = release_decoder(release.mechanism, release.domain).name == "spectral-pursuit"
    made = decode_release(release, StepPursuit() if stepped else None)
    assert in_numbers(made).quantile([0.1, 0.5, 0.9]) == pytest.approx(facts["quantiles"], rel=1e-6)


@pytest.mark.parametrize("folder", SUMMARIES, ids=case_id)
def test_the_summary(folder: Path, tmp_path: Path) -> None:
    summary, facts = ExactCounts.load(folder / "summary.bin"), facts_of(folder)
    assert summary.domain == build_domain(facts["domain"])
    assert summary.counts.tolist() == facts["counts"]
    summary.save(tmp_path / "again.bin")
    assert (tmp_path / "again.bin").read_bytes() == (folder / "summary.bin").read_bytes()


@pytest.mark.parametrize("folder", LISTS, ids=case_id)
def test_the_list_of_candidates(folder: Path) -> None:
    found = HeavyHitters.from_json((folder / "heavy-hitters.json").read_text("utf-8"))
    facts = facts_of(folder)
    assert found.values == facts["values"] and found.shares.tolist() == facts["shares"]
    assert found.threshold == facts["threshold"]
    assert found.confidence_band(0.9).low == pytest.approx(facts["band"], abs=1e-12)


LOADERS = {
    "release.json": Release.from_document,
    "survey.json": Survey.from_document,
    "tally.json": Tally.from_document,
    "distribution.json": Distribution.from_document,
    "joint-distribution.json": JointDistribution.from_document,
    "ledger.json": Ledger.from_document,
    "heavy-hitters.json": HeavyHitters.from_document,
    "group-tallies.json": GroupTallies.from_document,
}


@each("folder", CASES, ids=case_id)
@each("version", [0, 99, "1", None])
def test_unknown_versions_are_refused(folder: Path, version: Any) -> None:
    for name, load in LOADERS.items():
        if (folder / name).exists():
            document = read(folder / name)
            load(document)
            with pytest.raises(FormatError):
                load({**document, "version": version})


@each_survey
@pytest.mark.parametrize("version", [0, 2, 65_535])
def test_unknown_versions_of_report_files_are_refused(
    folder: Path, version: int, tmp_path: Path
) -> None:
    data = bytearray((folder / "reports.lwr").read_bytes())
    data[8:10] = version.to_bytes(2, "little")
    (tmp_path / "reports.lwr").write_bytes(data)
    with (tmp_path / "reports.lwr").open("rb") as stream, pytest.raises(FormatError):
        read_header(stream, name="reports.lwr")


@pytest.mark.parametrize("folder", SERIES, ids=case_id)
def test_the_series(folder: Path) -> None:
    facts = facts_of(folder)
    series = Series.from_document(read(folder / "series.json"))
    assert series.names == facts["names"]
    assert [week.gap for week in series] == facts["gaps"]
    assert [change.to_document() for change in series.changes] == facts["changes"]
    for week, mass, band in zip(series, facts["masses"], facts["bands"], strict=True):
        found = week.distribution
        if found is None:
            assert mass is None
            continue
        assert found.mass.tolist() == mass
        drawn = found.confidence_band(0.9)
        assert drawn is not None
        assert np.array([drawn.low, drawn.high]) == pytest.approx(np.array(band), abs=1e-6)
    if facts["apart"] is None:
        with pytest.raises(ArgumentError, match="stored by an earlier version"):
            series.between(0, 5)
    else:
        apart = series.between(0, 5, target="empirical").confidence_band(0.9)
        assert apart is not None
        assert apart.low == pytest.approx(np.array(facts["apart"]), abs=1e-6)
    again = Series.from_json(series.to_json())
    assert again.weeks == series.weeks and again.changes == series.changes


@pytest.mark.parametrize("folder", GROUPS, ids=case_id)
def test_the_tallies_of_segments(folder: Path) -> None:
    groups, facts = GroupTallies.load(folder / "group-tallies.json"), facts_of(folder)
    counts = {name: [block.tolist() for block in tally.blocks] for name, tally in groups.items()}
    assert counts == facts["counts"] and list(counts)[-1] == groups.rest_name
    assert {tally.survey for tally in groups.values()} == {facts["survey"]}


@pytest.mark.parametrize("folder", WATCHES, ids=case_id)
def test_the_watch(folder: Path) -> None:
    facts = facts_of(folder)
    watch = Watch.load(folder / "watch.json")
    assert watch.names == facts["names"]
    assert [change.to_document() for change in watch.changes] == facts["changes"]
    _, noticed = watch.look(weeks_of(STORED_SERIES["series"])[6])
    assert noticed.evidence == pytest.approx(facts["evidence"], abs=1e-6)
    assert noticed.needed == facts["needed"]
