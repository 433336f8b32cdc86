"""Surveys of two attributes at a collector: counted, looked at and moved as any other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from lapwing.protocol.messages.batch import Batch
from lapwing.protocol.messages.tally import Tally
from lapwing.service.settings import Settings
from lapwing.service.storage.opening import SqliteStore
from tests.service.one_collector import Site, problem, site

STARTS = lw.Product(
    ms=lw.Interval(0, 5000, bins=16),
    hour=lw.Interval("00:00", "24:00", bins=12, unit="time-of-day", circular=True),
)
PAIRS = lw.Survey(
    "start-up",
    lw.randomizers.MultiscaleBoxes(STARTS, 2),
    segments=["phone", "laptop"],
    segment_minimum=100,
)


def starts(people: int, *, seed: int = 1) -> list[tuple[float, float]]:
    """Start-up times that are longer in the morning."""
    rng = np.random.default_rng(seed)
    hours = rng.uniform(0, 24, people)
    ms = rng.gamma(4, np.where((hours >= 6) & (hours < 10), 500, 250))
    return list(zip(ms.tolist(), (3600 * hours).tolist(), strict=True))


async def fill(here: Site, survey: lw.Survey, values: object, **where: object) -> lw.Reports:
    epoch = str(where.pop("epoch", "e"))
    reports = survey.randomize(values)
    batch = Batch.of(reports, survey=survey.fingerprint, **where)  # type: ignore[arg-type]
    assert (await here.send(batch, epoch=epoch)).status_code == 201
    return reports


async def test_pairs_are_counted_by_epoch_and_segment_and_shown_by_looks(
    tmp_path: Path, settings: Settings
) -> None:
    async with site(tmp_path, database=settings.database) as here:
        path = await here.publish(PAIRS, epochs=("e", "f"), minimum=500)
        few = await fill(here, PAIRS, starts(300), segment=1)
        assert problem(await here.ask("GET", f"{path}/tallies/e")) == "too-few-reports"
        more = await fill(here, PAIRS, starts(700), segment=2)
        everybody = PAIRS.tally(few) + PAIRS.tally(more)
        shown = Tally.from_document((await here.done("GET", f"{path}/tallies/e")).json())
        assert shown == everybody
        hidden = await here.ask("GET", f"{path}/tallies/e?segment=phone")
        assert problem(hidden) == "too-few-reports"
        # Nor the others, from whom it would follow.
        hidden = await here.ask("GET", f"{path}/tallies/e?segment=laptop")
        assert problem(hidden) == "too-few-reports"
        # Later reports are counted, and come with the next look.
        late = await fill(here, PAIRS, starts(200), segment=1)
        again = Tally.from_document((await here.done("GET", f"{path}/tallies/e")).json())
        assert again == everybody
        last_ones = await fill(here, PAIRS, starts(500), segment=2)
        await here.close("e", path)
        last = Tally.from_document((await here.done("GET", f"{path}/tallies/e")).json())
        assert last == everybody + PAIRS.tally(late) + PAIRS.tally(last_ones)
        # The other epoch has none of them.
        assert here.collector.store.tally(PAIRS.fingerprint, "f").total == 0


async def test_damaged_reports_of_pairs_are_refused(here: Site) -> None:
    await here.publish(PAIRS)
    reports = PAIRS.randomize(starts(20))
    for column in range(reports.width):
        data = reports.data.copy()
        data[3, column] = 255
        records = data.tobytes()
        answer = await here.send(Batch(PAIRS.fingerprint, 0, records, 20))
        if column in (0, reports.width - 1):  # no such group, or what is behind a report
            assert problem(answer) == "reports-refused"
    assert here.collector.store.tally(PAIRS.fingerprint, "e").total % 20 == 0


async def test_pairs_go_to_another_collector(tmp_path: Path) -> None:
    async with site(tmp_path) as here:
        await here.publish(PAIRS)
        await fill(here, PAIRS, starts(300), segment=1)
        written = b"".join(here.collector.store.export(PAIRS.fingerprint))
        kept = here.collector.store.tally(PAIRS.fingerprint, "e")
    target = SqliteStore(tmp_path / "target.db")
    try:
        assert target.import_([written]) == PAIRS.fingerprint
        assert target.tally(PAIRS.fingerprint, "e") == kept and kept.total == 300
    finally:
        target.close()


@pytest.mark.parametrize(
    ("bins", "epsilon", "status"), [(256, 1, 201), (260, 1, 422), (191, 4, 201), (194, 4, 422)]
)
async def test_a_survey_that_decodes_too_long_is_refused_when_it_is_added(
    here: Site, bins: int, epsilon: int, status: int
) -> None:
    axes = lw.Product(x=lw.Integers(1, bins), y=lw.Integers(1, bins))
    survey = lw.Survey("large", lw.randomizers.MultiscaleBoxes(axes, epsilon))
    path = f"/v1/surveys/{survey.fingerprint}"
    answer = await here.ask("PUT", path, json={"survey": survey.to_document()})
    assert answer.status_code == status
    if status != 201:
        assert problem(answer) == "survey-refused"
        most = {1: "67,600", 4: "37,332"}[epsilon]
        assert f"at epsilon {epsilon} a collector decodes" in answer.json()["detail"]
        assert f"at most {most} cells" in answer.json()["detail"]
