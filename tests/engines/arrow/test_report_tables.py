"""Files of reports: three formats, one content."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from lapwing import Categories, Interval, Reports, SquareWave, Survey, seeded
from lapwing.engines.arrow.report_tables import read_reports, write_reports
from lapwing.engines.arrow.report_tally import tally
from lapwing.errors import FormatError, LapwingError, MismatchError, ReportError, TornFileError
from lapwing.randomizers import OptimizedUnaryEncoding

ENDINGS = (".lwr", ".parquet", ".csv")
SURVEYS = {
    1: Survey("one byte", SquareWave(Interval(0, 1, bins=20), epsilon=1)),
    2: Survey("two bytes", SquareWave(Interval(0, 1, bins=1000), epsilon=1)),
    9: Survey("nine bytes", OptimizedUnaryEncoding(Categories(70), epsilon=1)),
}


def some_reports(survey: Survey, count: int) -> Reports:
    values = np.random.default_rng(2).integers(0, 2, count)
    return survey.randomize(values, rng=seeded(1))


def write(path: Path, survey: Survey, *batches: Reports) -> Path:
    with path.open("wb") as stream:
        total = write_reports(stream, survey, batches, ending=path.suffix)
    assert total == sum(map(len, batches))
    return path


def read(path: Path, survey: Survey) -> np.ndarray:
    if path.suffix != ".parquet":
        return np.concatenate([batch.data for batch in read_reports(path, survey)])
    rows = parquet.read_table(path)["report"].to_pylist()
    return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("width", SURVEYS)
def test_reports_come_back_in_order(tmp_path: Path, ending: str, width: int) -> None:
    survey = SURVEYS[width]
    assert survey.randomizer.report_width == width
    reports = some_reports(survey, 70_000)
    path = write(tmp_path / f"r{ending}", survey, reports[:1], reports[1:66_000], reports[66_000:])
    assert np.array_equal(read(path, survey), reports.data)
    assert tally(path, survey).tally == survey.tally(reports)
    if ending != ".parquet":
        total = sum(survey.tally(batch) for batch in read_reports(path, survey))
        assert total == survey.tally(reports)


@pytest.mark.parametrize("standing", [None, "seeded"])
def test_the_formats_are_what_the_documentation_says(tmp_path: Path, standing: Any) -> None:
    survey = SURVEYS[2]
    reports = replace(some_reports(survey, 3), standing=standing)
    word = "" if standing is None else " standing=seeded"
    fingerprints = f"survey={survey.fingerprint} randomizer={survey.randomizer.fingerprint}"
    lines = write(tmp_path / "r.csv", survey, reports).read_text().splitlines()
    assert lines[:2] == [f"# lapwing-reports 1 {fingerprints}{word}", "report"]
    assert lines[2:] == [report.tobytes().hex() for report in reports.data]
    table = parquet.read_table(write(tmp_path / "r.parquet", survey, reports))
    assert table.schema.field("report").type == pa.binary(2)
    assert table["report"].to_pylist() == [report.tobytes() for report in reports.data]
    assert table.schema.metadata == {
        b"lapwing.format": b"lapwing-reports",
        b"lapwing.version": b"1",
        b"lapwing.survey": survey.fingerprint.encode(),
        b"lapwing.randomizer": survey.randomizer.fingerprint.encode(),
        **({} if standing is None else {b"lapwing.standing": b"seeded"}),
    }


def test_a_csv_from_another_hand_is_read(tmp_path: Path) -> None:
    survey = SURVEYS[2]
    reports = some_reports(survey, 100)
    path = write(tmp_path / "r.csv", survey, reports)
    text = path.read_text()
    head, _, body = text.partition("\nreport\n")
    path.write_bytes(f"{head}\r\nreport\r\n{body.upper()}".replace("\n", "\r\n").encode())
    assert np.array_equal(read(path, survey), reports.data)
    path.write_text(text.rstrip("\n"))
    assert np.array_equal(read(path, survey), reports.data)


def test_a_csv_with_labels_loses_no_report(tmp_path: Path) -> None:
    survey = SURVEYS[2]
    reports = some_reports(survey, 100)
    path = write(tmp_path / "r.csv", survey, reports)
    first, _, *rows = path.read_text().splitlines()
    path.write_text("\n".join([first, "report,place", *(f"{row},a, b" for row in rows)]))
    assert np.array_equal(read(path, survey), reports.data)


@pytest.mark.parametrize("ending", ENDINGS)
def test_another_survey_s_reports_are_refused_before_any_is_yielded(
    tmp_path: Path, ending: str
) -> None:
    survey = SURVEYS[2]
    same_randomizer = Survey("another name", survey.randomizer)
    path = write(tmp_path / f"r{ending}", survey, some_reports(survey, 10))
    for other in (same_randomizer, SURVEYS[1]):
        with pytest.raises(MismatchError, match="Use the survey file that asked for them"):
            tally(path, other)


class Liar(Survey):
    """States a fingerprint that is not its own, as a forged header does."""

    @property
    def fingerprint(self) -> str:
        return SURVEYS[1].fingerprint


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_forged_survey_fingerprint_does_not_help(tmp_path: Path, ending: str) -> None:
    liar = Liar("liar", SURVEYS[2].randomizer)
    reports = some_reports(SURVEYS[2], 10).of_survey(liar.fingerprint)
    path = write(tmp_path / f"r{ending}", liar, reports)
    with pytest.raises(MismatchError, match="They cannot be counted"):
        tally(path, SURVEYS[1])


def refusal(path: Path, survey: Survey) -> LapwingError:
    with pytest.raises(LapwingError) as caught:
        tally(path, survey)
    assert path.name in str(caught.value)
    return caught.value


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("content", [b"", b"age\n30\n", b"PAR1", b"LWREPORT"])
def test_a_foreign_file_is_refused(tmp_path: Path, ending: str, content: bytes) -> None:
    path = tmp_path / f"r{ending}"
    path.write_bytes(content)
    assert type(refusal(path, SURVEYS[2])) is FormatError


def test_a_table_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    parquet.write_table(pa.table({"report": [b"ab", b"cd"]}), path)
    assert "its schema does not say so" in str(refusal(path, SURVEYS[2]))


def test_a_later_version_is_refused(tmp_path: Path) -> None:
    survey = SURVEYS[2]
    path = write(tmp_path / "r.csv", survey, some_reports(survey, 3))
    path.write_text(path.read_text().replace("reports 1 ", "reports 2 ", 1))
    assert "version 2" in str(refusal(path, survey))
    path = write(tmp_path / "r.parquet", survey, some_reports(survey, 3))
    table = parquet.read_table(path)
    metadata = {**table.schema.metadata, b"lapwing.version": b"2"}
    parquet.write_table(table.replace_schema_metadata(metadata), path)
    assert "version 2" in str(refusal(path, survey))


@pytest.mark.parametrize("wrong", ["00", "zzzz", "000000", "", "00 0"])
def test_a_wrong_line_of_a_csv_is_refused_by_row(tmp_path: Path, wrong: str) -> None:
    survey = SURVEYS[2]
    path = write(tmp_path / "r.csv", survey, some_reports(survey, 50))
    lines = path.read_text().splitlines()
    lines[2 + 41] = wrong
    path.write_text("\n".join(lines))
    error = refusal(path, survey)
    assert isinstance(error, ReportError)
    assert "row 42 is not" in str(error)


def test_a_torn_or_flipped_parquet_is_refused(tmp_path: Path) -> None:
    survey = SURVEYS[2]
    path = write(tmp_path / "r.parquet", survey, some_reports(survey, 5000))
    whole = path.read_bytes()
    flipped = whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:]
    for content in (whole[:-1], whole[:5000], flipped):
        path.write_bytes(content)
        assert "damaged" in str(refusal(path, survey))


def test_a_parquet_with_an_empty_report_is_refused(tmp_path: Path) -> None:
    survey = SURVEYS[2]
    path = write(tmp_path / "r.parquet", survey, some_reports(survey, 2))
    schema = parquet.read_schema(path)
    field = pa.field("report", pa.binary(2), nullable=True)
    schema = pa.schema([field], metadata=schema.metadata)
    parquet.write_table(pa.table([pa.array([b"ab", None], pa.binary(2))], schema=schema), path)
    assert isinstance(refusal(path, survey), ReportError)


def test_every_cut_of_a_compact_file_is_noticed(tmp_path: Path) -> None:
    survey = SURVEYS[2]
    reports = some_reports(survey, 30)
    path = write(tmp_path / "r.lwr", survey, reports[:10], reports[10:20], reports[20:])
    whole = path.read_bytes()
    ends = {84 + 28 * blocks for blocks in range(4)}  # an end between blocks cannot be seen
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        if length in ends:
            assert len(list(read_reports(path, survey))) == (length > 84)
            assert sum(map(len, read_reports(path, survey))) == 10 * ((length - 84) // 28)
            continue
        error = refusal(path, survey)
        if length > 84:
            assert isinstance(error, TornFileError)
            assert error.intact == 10 * ((length - 84) // 28)


def test_standard_input_is_a_compact_file(monkeypatch: pytest.MonkeyPatch) -> None:
    survey = SURVEYS[2]
    reports = some_reports(survey, 30)
    stream = io.BytesIO()
    write_reports(stream, survey, [reports], ending=".lwr")
    stdin = io.TextIOWrapper(io.BytesIO(stream.getvalue()))
    monkeypatch.setattr("sys.stdin", stdin)
    assert np.array_equal(read(Path("-"), survey), reports.data)
