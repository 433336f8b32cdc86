"""Write the stored files that every later version must be able to read.

``python tests/stored/make_stored.py`` writes the cases that have no folder yet and never touches
one that has: a file that a version wrote must stay as it was written. A new randomizer gets a row
in :data:`SURVEYS`.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from lapwing import (
    Categories,
    CompressivePrivatization,
    Distribution,
    Guarantee,
    HashedStrings,
    HeavyHitters,
    Integers,
    Interval,
    LeastSquares,
    Ledger,
    LinearHashing,
    MultiscaleWave,
    Product,
    RandomizedResponse,
    Rappor,
    Release,
    SquareWave,
    SubsetSelection,
    Survey,
    Watch,
    decode_series,
    read_counts,
    release,
    seeded,
    simulate,
)
from lapwing.decoders import Candidates
from lapwing.errors import WeakAnswerWarning
from lapwing.mechanisms import HistogramQuery, LabelCounts, PrefixSums, RunningPrefixSums, SumTree
from lapwing.papers.baselines import LocalHashing, PrefixHashing
from lapwing.papers.functional_approximation import AdaptiveQuantiles
from lapwing.papers.square_wave import GeneralWave, HaarHadamard, Hierarchical
from lapwing.papers.wavelet import Wavelet
from lapwing.privacy import Promise
from lapwing.protocol import ExactCounts
from lapwing.protocol.messages.reports import Header, write_blocks
from lapwing.protocol.release import Mechanism
from lapwing.randomizers import (
    AffineSubsetSelection,
    AskedLabels,
    BoxWave,
    HadamardResponse,
    MultiscaleBoxes,
    OptimizedUnaryEncoding,
    Piecewise,
    UnaryEncoding,
)
from lapwing.results import JointDistribution
from lapwing.results.symbols import in_numbers
from lapwing.survey import Publication
from lapwing.tallies import CountTally, TallyLog
from tests.contracts.registered import example_surveys

FOLDER = Path(__file__).parent / "v1"

SURVEYS: dict[str, Survey] = {
    "closed-on-the-right": Survey(
        "income", MultiscaleWave(Interval(0, 100_000, bins=16, atoms=(0,)), "1.5")
    ),
    "edges-of-its-own": Survey(
        "age", SquareWave(Interval(edges=[0, 18, 25, 35, 50, 65, 120], missing="bin"), 2)
    ),
    "square-wave": Survey("income", SquareWave(Interval(0, 100_000, bins=16), "1.5")),
    "square-wave-circle": Survey(
        "pick-up",
        SquareWave(
            Interval("00:00", "24:00", bins=12, unit="time-of-day", circular=True),
            2,
            width=0.125,
            grid=48,
        ),
    ),
    "square-wave-atoms": Survey(
        "rent", SquareWave(Interval(0, 10, bins=5, atoms=(0, 2.5), missing="bin"), 3)
    ),
    "randomized-response": Survey(
        "color",
        RandomizedResponse(Categories(["red", "green", "grün", 4], missing="category"), "1/3"),
    ),
    "randomized-response-dates": Survey(
        "birthday",
        RandomizedResponse(
            Interval("2026-01-01", "2027-01-01", bins=300, unit="date", outside="refuse"), 8
        ),
    ),
    "unary-encoding": Survey("age", UnaryEncoding(Integers(17, 35), 2)),
    "optimized-unary-encoding": Survey(
        "spending", OptimizedUnaryEncoding(Interval(1, 1e6, bins=9, scale="log"), 0.1)
    ),
    "subset-selection": Survey(
        "browser", SubsetSelection(Categories(["a", "b", "c", "d", "e", "f", "g", "h", "i"]), 1)
    ),
    "subset-selection-size": Survey("age", SubsetSelection(Integers(17, 35), "1/3", size=4)),
    "compressive-privatization": Survey(
        "page", CompressivePrivatization(Categories(30), 4, outputs=24, seed=2026)
    ),
    "compressive-privatization-given": Survey(
        "color",
        CompressivePrivatization(
            Categories(["red", "green", "blue"]),
            2,
            matrix=[[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1]],
            uneven="banded",
        ),
    ),
    "rappor": Survey("habit", Rappor(Categories(11), 2, lifetime=3)),
    "multiscale-wave": Survey(
        "wage",
        MultiscaleWave(
            Interval(0, 100, bins=24),
            1,
            components=[
                ("wave", 0.35, 0.17),
                ("wave", 0.7, 0.57),
                ("subset", 16.0, 0.08),
                ("subset", 24.0, 0.18),
            ],
        ),
    ),
    "multiscale-wave-affine": Survey(
        "wage",
        MultiscaleWave(
            Interval(0, 100, bins=24), 1, components=[("wave", 0.5, 0.7), ("affine", 24, 0.3)]
        ),
    ),
    "affine-subset-selection": Survey(
        "age", AffineSubsetSelection(Integers(17, 35), "1/3", size=4)
    ),
    "multiscale-wave-parts": Survey(
        "hours",
        MultiscaleWave(
            Interval(0, 60, bins=12, atoms=(0, 40), missing="bin"),
            2,
            components=[("wave", 0.5, 0.5), ("wave", 1.25, 0.25), ("subset", 5, 0.25)],
        ),
    ),
    "general-wave": Survey("weight", GeneralWave(Interval(0, 1, bins=10), 1, ratio=0.4)),
    "general-wave-shape": Survey(
        "wind",
        GeneralWave(Interval(0, 360, bins=12, circular=True), 2, shape=(0.25, 0.5, 1, 0.5, 0.25)),
    ),
    "piecewise": Survey("age", Piecewise(Integers(17, 35), 1)),
    "hierarchical": Survey("score", Hierarchical(Interval(0, 1, bins=16), 1)),
    "hierarchical-branching": Survey("score", Hierarchical(Integers(0, 9), "0.5", branching=3)),
    "haar-hadamard": Survey("score", HaarHadamard(Interval(0, 1, bins=12), 1)),
    "hadamard-response": Survey("browser", HadamardResponse(Categories(9), 1)),
    "hadamard-response-blocks": Survey(
        "browser", HadamardResponse(Categories(["a", "b", "c"], missing="category"), 4, blocks=2)
    ),
    "local-hashing": Survey("browser", LocalHashing(Categories(9), 1)),
    "local-hashing-pool": Survey("browser", LocalHashing(Categories(9), 2, hashes=40, seed=7)),
    "linear-hashing": Survey("word", LinearHashing(HashedStrings(8, missing="category"), 2)),
    "linear-hashing-bits": Survey("browser", LinearHashing(Categories(9), 1, hash_bits=1)),
    "prefix-hashing": Survey(
        "browser", PrefixHashing(Categories(16), 2, prefixes=(2, 4), hash_bits=2)
    ),
    "asked-labels": Survey(
        "browser",
        AskedLabels(Categories(9), 1, labels=[2, 5], share=0.5),
        questions=["share label 2", "share label 5", "curve"],
    ),
    "wavelet": Survey("score", Wavelet(Interval(0, 1, bins=16), 1)),
    "wavelet-levels": Survey(
        "score", Wavelet(Integers(0, 15), 3, levels=3, allocation="uniform", users=400)
    ),
    "box-wave": Survey(
        "delay and hour",
        BoxWave(
            Product(
                delay=Interval(0, 60, bins=10, outside="overflow", missing="bin"),
                hour=Interval(
                    "00:00", "24:00", bins=8, unit="time-of-day", circular=True, missing="bin"
                ),
            ),
            2,
            widths=(3, 4),
        ),
    ),
    "multiscale-boxes": Survey(
        "region and age",
        MultiscaleBoxes(
            Product(region=Categories(["north", "south", "east"]), age=Integers(17, 28)),
            "1.5",
            components=[
                ("box", (1, 4), 0.4),
                ("box", (2, None), 0.2),
                ("blocks", (None, 1), 0.2),
                ("blocks", (1, 3), 0.2),
            ],
        ),
    ),
    "segments-remembered": Survey(
        "commute",
        SquareWave(Interval(0, 120, bins=12), 2),
        segments=["north", "south"],
        segment_minimum=500,
        remembered=True,
    ),
}

SURVEYS |= example_surveys(SURVEYS.values())

PEOPLE = 400

AGES = Interval(0, 100, bins=16, atoms=(18,))
PURE = Promise("add-or-remove-one", epsilon="0.5")
NORMAL = Promise("replace-one", epsilon=1, delta="1e-6")

RELEASES: dict[str, tuple[Mechanism, Promise]] = {
    "release-prefix-sums": (PrefixSums(), NORMAL),
    "release-prefix-sums-rho": (PrefixSums(), Promise("add-or-remove-one", rho="1/8")),
    "release-sum-tree": (SumTree(branching=4), PURE),
    "release-histogram-query": (HistogramQuery(bins=8), Promise("replace-one", mu="0.5")),
    "release-label-counts": (LabelCounts(), PURE),
    "release-adaptive-quantiles": (AdaptiveQuantiles(steps=9), NORMAL),
    "release-running-prefix-sums": (RunningPrefixSums(rounds=4), NORMAL),
}
"""Of mechanisms whose matrices are the same whole numbers on every machine."""


SERIES: dict[str, Survey] = {
    "series": Survey("wait", SquareWave(Interval(0, 60, bins=8), 1)),
    "series-labels": Survey("app", OptimizedUnaryEncoding(Categories(["a", "b", "c", "d"]), 1)),
}
"""Beside them stands `series-version-1`, which an earlier version wrote."""


def values_of(survey: Survey) -> list[Any]:
    """Return values that fall into every symbol; of pairs not into every cell."""
    domain: Any = survey.randomizer.domain
    if isinstance(domain, Product):
        rows, columns = (_held(axis) for axis in domain.domains)
        return [
            (rows[i * i % len(rows)], columns[(i * i * i + i) % len(columns)])
            for i in range(PEOPLE)
        ]
    held = _held(domain)
    return [held[i * i % len(held)] for i in range(PEOPLE)]


def _held(domain: Any) -> list[Any]:
    """Return a value for every symbol."""
    held: list[Any]
    if isinstance(domain, HashedStrings):
        held = [f"word {number}" for number in range(40)]
    elif isinstance(domain, Categories):
        held = list(domain.listed)
    else:
        held = ((domain.left + domain.right) / 2).tolist()
    if domain.missing_index is not None:
        held.append(None)
    return held


def document_text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def write_survey(folder: Path, survey: Survey, *, seed: int) -> None:
    """Write survey, reports, tally and distribution of one case, and what they say."""
    folder.mkdir()
    reports = survey.randomize(values_of(survey), rng=seeded(seed))
    tally = survey.tally(reports)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakAnswerWarning)
        made = survey.decode(tally)
        if isinstance(made, HeavyHitters):
            (folder / "heavy-hitters.json").write_text(made.to_json() + "\n", "utf-8")
            made = survey.decode(tally, decoder=LeastSquares())
    header = Header(reports.width, survey.fingerprint, reports.fingerprint)
    with (folder / "reports.lwr").open("wb") as stream:
        write_blocks(stream, header, [reports[:150], reports[150:]])
    (folder / "survey.json").write_text(survey.to_json(), "utf-8")
    (folder / "tally.json").write_text(document_text(tally.to_document()), "utf-8")
    joint = isinstance(made, JointDistribution)
    name = "joint-distribution" if joint else "distribution"
    (folder / f"{name}.json").write_text(made.to_json() + "\n", "utf-8")
    (folder / "facts.json").write_text(document_text(facts(survey, reports, tally, made)), "utf-8")


def counted(survey: Survey, tally: Any) -> CountTally:
    """Return a tally as counts: itself, or what a log says of every symbol."""
    randomizer: Any = survey.randomizer  # those with a log have `counts`
    counts: CountTally = (
        randomizer.log_channel.counts(tally) if isinstance(tally, TallyLog) else tally
    )
    return counts


def facts(survey: Survey, reports: Any, tally: Any, made: Any) -> dict[str, Any]:
    """Return what a reader of any later version must find."""
    found: dict[str, Any] = {
        "name": survey.name,
        "randomizer": survey.randomizer.name,
        "fingerprint": survey.fingerprint,
        "randomizer_fingerprint": survey.randomizer.fingerprint,
        "epsilon": str(survey.guarantee.epsilon),
        "ratio": str(survey.randomizer.certificate().ratio),
        "reports": len(reports),
        "report_width": reports.width,
        "report_bytes": hashlib.sha256(reports.data.tobytes()).hexdigest(),
        "counts": [counts.tolist() for counts in counted(survey, tally).blocks],
        "mass": made.mass.tolist(),
        "provenance": made.provenance["class"],
    }
    if isinstance(made, JointDistribution):
        found["joint"] = joint_facts(JointDistribution.from_json(made.to_json()))
        return found
    # As read back: the error law is stored in single precision.
    band = Distribution.from_json(made.to_json()).confidence_band(0.9)
    found["band"] = None if band is None else [band.low.tolist(), band.high.tolist()]
    if made.domain.ordered:
        line = replace(made.cumulative, circle=None)
        found["quantiles"] = line.quantile([0.1, 0.5, 0.9]).tolist()
        found["mean"] = line.mean
    return found


def joint_facts(made: JointDistribution) -> dict[str, Any]:
    """Return what a joint distribution answers: of marginals, a conditional, and both axes."""
    name = made.domain.names[1]
    axis: Any = made.domain.domains[1]
    asked: dict[str, Any] = {name: (float(axis.left[1]), float(axis.right[4]))}
    band = made.marginal(name).confidence_band(0.9)
    assert band is not None
    return {
        "marginals": {name: made.marginal(name).mass.tolist() for name in made.domain.names},
        "band": [band.low.tolist(), band.high.tolist()],
        "asked": {key: list(ends) for key, ends in asked.items()},
        "probability": made.probability(**asked),
        "interval": made.probability_interval(**asked),
        "given": made.given(**asked).mass.tolist(),
        "information": made.mutual_information(),
        "information interval": made.mutual_information_interval(),
    }


def write_ledger(folder: Path) -> None:
    """Write a ledger with two entries, and what it says."""
    folder.mkdir()
    budget = Guarantee(Fraction(3), Fraction(1, 10**6), "add-or-remove-one", "central")
    ledger = Ledger(budget)
    for name, epsilon, delta in (("income", "0.1", "0"), ("age, again", "1/3", "1/3000000")):
        spent = Guarantee(Fraction(epsilon), Fraction(delta), budget.neighbors, budget.model)
        ledger = ledger.spend(name, spent)
    assert ledger.spent is not None and ledger.remaining is not None
    (folder / "ledger.json").write_text(document_text(ledger.to_document()), "utf-8")
    found = {
        "names": [entry.name for entry in ledger.entries],
        "spent": ledger.spent.to_document(),
        "remaining": ledger.remaining.to_document(),
    }
    (folder / "facts.json").write_text(document_text(found), "utf-8")


def site(number: int) -> ExactCounts:
    """Return the summary of one site: ages that are known, some missing, and one far outside."""
    ages = [18.0] * 40 + [(7 * i * i + 31 * number) % 97 + 0.5 for i in range(PEOPLE)]
    return ExactCounts.of_values([*ages, float("nan"), 1e6], AGES)


def write_release(folder: Path, mechanism: Mechanism, promise: Promise) -> None:
    """Write a release of one site, or of two where they add, and what it says."""
    release = mechanism.release(site(1), promise, rng=seeded(1))
    if mechanism.linear:
        release += mechanism.release(site(2), promise, rng=seeded(2))
    write_made(folder, release)


def write_read_counts(folder: Path) -> None:
    """Write noisy counts of another library, whose guarantee is stated by its maker."""
    counts = [212.25, 409.125, 288.75, 101.5, -3.5]
    domain = Interval(edges=[0, 18, 40, 65, 100], missing="bin")
    stated = Guarantee(1, "1e-9", "replace-one", "central")
    read = read_counts(domain, counts, noise="gaussian", scale="4.5", guarantee=stated)
    write_made(folder, read.release)


def write_released_answers(folder: Path) -> None:
    """Write a release of answers and of the curve, by segment, and what it says."""
    domain = Interval(0, 100, bins=64, outside="overflow")
    values = np.arange(4000) % 97
    made = release(
        values,
        domain,
        neighbors="replace-one",
        rho="1/50",
        by=np.array(["north", "south"])[values % 2],
        segments=["north", "south"],
        questions=[
            "share above 50",
            "histogram edges 0 25 50",
            "mean",
            "quantile 0.25 0.5",
            "curve",
        ],
        rng=seeded(1),
    )
    folder.mkdir()
    (folder / "question-release.json").write_text(made.release.to_json(), "utf-8")
    (folder / "facts.json").write_text(document_text({"answers": made.answers()}), "utf-8")


def write_made(folder: Path, release: Release) -> None:
    """Write a release, and what it says."""
    folder.mkdir()
    (folder / "release.json").write_text(release.to_json(), "utf-8")
    made = Publication(release).distribution
    found = {
        "mechanism": release.mechanism.name,
        "fingerprint": release.fingerprint,
        "answers": release.answers.tolist(),
        "people": release.people,
        "guarantee": release.guarantee.to_document(),
        "variance": release.variance,
        "quantiles": in_numbers(made).quantile([0.1, 0.5, 0.9]).tolist(),
    }
    (folder / "facts.json").write_text(document_text(found), "utf-8")


def write_summary(folder: Path) -> None:
    """Write a summary, which is private elsewhere, and what it says."""
    folder.mkdir()
    summary = site(1)
    summary.save(folder / "summary.bin")
    (folder / "summary.bin").chmod(0o644)  # nobody's data, and to be read by whoever runs the tests
    found = {"domain": summary.domain.to_document(), "counts": summary.counts.tolist()}
    (folder / "facts.json").write_text(document_text(found), "utf-8")


def write_heavy_hitters(folder: Path) -> None:
    """Write a list of candidates with names, which the domain does not know, and what it says."""
    folder.mkdir()
    survey = SURVEYS["linear-hashing"]
    words = [f"word {i * i % 7}" for i in range(PEOPLE)]
    tally = survey.tally(survey.randomize(words, rng=seeded(3)))
    names = [f"word {number}" for number in range(12)]
    found = survey.decode(tally, decoder=Candidates(names, expected_false=3))
    assert isinstance(found, HeavyHitters) and len(found) and found.labels is not None
    (folder / "heavy-hitters.json").write_text(found.to_json() + "\n", "utf-8")
    said = {
        "values": found.values,
        "shares": found.shares.tolist(),
        "threshold": found.threshold,
        "band": found.confidence_band(0.9).low.tolist(),
    }
    (folder / "facts.json").write_text(document_text(said), "utf-8")


def weeks_of(survey: Survey) -> list[Any]:
    """Return seven weeks of a survey: the fourth is a gap, and from the fifth on all is other."""
    size = survey.randomizer.domain.size
    before = np.arange(size, 0, -1) * 120
    weeks: list[Any] = [
        (survey, simulate(survey.randomizer, people, rng=week))
        for week, people in enumerate([before] * 4 + [before[::-1]] * 3)
    ]
    weeks[3] = None
    return weeks


def write_series(folder: Path, survey: Survey) -> None:
    """Write a series, and what it says."""
    folder.mkdir()
    series = decode_series(
        weeks_of(survey)[:6], names=[f"2026-W{week:02d}" for week in range(1, 7)]
    )
    (folder / "series.json").write_text(series.to_json() + "\n", "utf-8")
    bands = [
        None if week.distribution is None else week.distribution.confidence_band(0.9)
        for week in series
    ]
    apart = series.between(0, 5).confidence_band(0.9)
    assert apart is not None
    found = {
        "names": series.names,
        "gaps": [week.gap for week in series],
        "changes": [change.to_document() for change in series.changes],
        "masses": [
            None if week.distribution is None else week.distribution.mass.tolist()
            for week in series
        ],
        "bands": [band and [band.low.tolist(), band.high.tolist()] for band in bands],
        "apart": None if series.to_document()["version"] == 1 else apart.low.tolist(),
    }
    (folder / "facts.json").write_text(document_text(found), "utf-8")


def write_watch(folder: Path) -> None:
    """Write a watch that reported a change and looked at more, and what it notices next."""
    folder.mkdir()
    weeks = weeks_of(SERIES["series"])
    watch = Watch(alpha=0.05)
    for week in weeks[:6]:
        watch, _ = watch.look(week)
    (folder / "watch.json").write_text(watch.to_json(), "utf-8")
    _, noticed = watch.look(weeks[6])
    found = {
        "names": watch.names,
        "changes": [change.to_document() for change in watch.changes],
        "evidence": noticed.evidence,
        "needed": noticed.needed,
    }
    (folder / "facts.json").write_text(document_text(found), "utf-8")


def write_group_tallies(folder: Path) -> None:
    """Write the tallies of two segments and of all other people."""
    folder.mkdir()
    survey = SURVEYS["segments-remembered"]
    reports = survey.randomize(values_of(survey), rng=seeded(11))
    labels = [(*survey.segments, None)[row % 3] for row in range(len(reports))]
    groups = survey.tally(reports, by=labels, minimum=2)
    (folder / "group-tallies.json").write_text(groups.to_json(), "utf-8")
    found = {
        "counts": {
            name: [counts.tolist() for counts in tally.blocks] for name, tally in groups.items()
        },
        "survey": survey.fingerprint,
    }
    (folder / "facts.json").write_text(document_text(found), "utf-8")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for seed, (name, survey) in enumerate(SURVEYS.items()):
        if not (FOLDER / name).exists():
            write_survey(FOLDER / name, survey, seed=seed)
            sys.stdout.write(f"wrote {name}\n")
    if not (FOLDER / "ledger").exists():
        write_ledger(FOLDER / "ledger")
        sys.stdout.write("wrote ledger\n")
    for name, (mechanism, promise) in RELEASES.items():
        if not (FOLDER / name).exists():
            write_release(FOLDER / name, mechanism, promise)
            sys.stdout.write(f"wrote {name}\n")
    for name, survey in SERIES.items():
        if not (FOLDER / name).exists():
            write_series(FOLDER / name, survey)
            sys.stdout.write(f"wrote {name}\n")
    others = {
        "release-read-counts": write_read_counts,
        "release-of-answers": write_released_answers,
        "summary": write_summary,
        "heavy-hitters": write_heavy_hitters,
        "watch": write_watch,
        "group-tallies": write_group_tallies,
    }
    for name, write_case in others.items():
        if not (FOLDER / name).exists():
            write_case(FOLDER / name)
            sys.stdout.write(f"wrote {name}\n")


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    main()
