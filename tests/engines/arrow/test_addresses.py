"""Patterns and addresses in the place of paths."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import fs, parquet

from lapwing import Categories, RandomizedResponse, Survey, seeded
from lapwing.cli import main
from lapwing.engines.arrow import addresses, randomize, tally
from lapwing.engines.arrow.addresses import address_of, file_system, local_path
from lapwing.engines.arrow.report_tables import report_batch
from lapwing.errors import ArgumentError, FormatError, MismatchError

SURVEY = Survey("color", RandomizedResponse(Categories(20), 2))
REPORTS = SURVEY.randomize(np.arange(60) % 20, rng=seeded(1))
NAMES = ("year=2025/a.parquet", "year=2026/a.parquet", "year=2026/b.arrow")


def _tables() -> list[pa.Table]:
    return [
        pa.Table.from_batches([report_batch(REPORTS[n : n + 20], SURVEY, labels=None, by=None)])
        for n in (0, 20, 40)
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, table in zip(NAMES, _tables(), strict=True):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".parquet"):
            parquet.write_table(table, path)
        else:
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table)
    (tmp_path / "in" / "year=2026" / "_SUCCESS").write_bytes(b"")
    return tmp_path / "in"


@pytest.fixture
def elsewhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same files on a file system in memory, which has no such paths on this machine."""
    system = fs._MockFileSystem()
    for path in folder.rglob("*"):
        if path.is_file():
            name = f"bucket/{path.relative_to(folder)}"
            system.create_dir(os.path.dirname(name), recursive=True)
            with system.open_output_stream(name) as stream:
                stream.write(path.read_bytes())
    monkeypatch.setattr(
        addresses, "file_system", lambda address: (system, address.partition("://")[2])
    )
    return "s3://bucket"


def test_patterns(folder: Path) -> None:
    whole = SURVEY.tally(REPORTS)
    for pattern in ("*/*", "**/*.[pa]*", "year=202[56]/?.*", "year=*"):
        found = tally(str(folder / pattern), SURVEY, by="year")
        assert found.tally == whole, pattern
        assert {label: one.total for label, one in found.groups.items()} == {"2025": 20, "2026": 40}
    some = tally([folder / "*/a.parquet", folder / NAMES[2]], SURVEY)
    assert some.tally == whole
    with pytest.raises(ArgumentError, match="no file matches"):
        tally(folder / "*.nothing", SURVEY)
    odd = folder.parent / "a[1].parquet"
    odd.write_bytes((folder / NAMES[0]).read_bytes())
    assert tally(odd, SURVEY).total == 20, "a file of this very name is no pattern"


def test_a_pattern_names_each_file_once(folder: Path) -> None:
    """A folder stands for its files, so they are not named a second time."""
    whole = SURVEY.tally(REPORTS)
    for pattern in ("**", "**/**", "**/*", "**/*.*", "*/**", "year=*/**/*"):
        found = tally(str(folder / pattern), SURVEY, by="year")
        assert found.tally == whole and len(found.files) == 3, pattern
        assert len(found.groups) == 2, pattern


def test_links_and_pipes(folder: Path) -> None:
    (folder / "year=2025" / "up").symlink_to("..")
    (folder / "year=2025" / "here").symlink_to(".")
    (folder / "year=2025" / "nowhere.parquet").symlink_to("nothing")
    os.mkfifo(folder / "year=2025" / "pipe.parquet")
    os.mkfifo(folder / "pipe.csv")
    for pattern in ("**/*.parquet", "**/?.*", "year=202?/*.*"):
        assert tally(str(folder / pattern), SURVEY).total >= 40, pattern
    for pipe in ("year=2025/pipe.parquet", "pipe.csv"):
        with pytest.raises(ArgumentError, match="is a pipe or a device"):
            tally(folder / pipe, SURVEY, column="report")


def test_addresses_of_this_machine(folder: Path, tmp_path: Path) -> None:
    address = folder.as_uri()
    assert tally(address, SURVEY, by="year").tally == SURVEY.tally(REPORTS)
    assert tally(f"{address}/*/a.parquet", SURVEY).total == 40
    spaced = tmp_path / "with space"
    spaced.mkdir()
    (spaced / "a.parquet").write_bytes((folder / NAMES[0]).read_bytes())
    assert tally((spaced / "a.parquet").as_uri(), SURVEY).total == 20


def test_addresses_elsewhere(elsewhere: str, folder: Path) -> None:
    whole = SURVEY.tally(REPORTS)
    for name in ("", "/*/*.[pa]*", "/**", "/year=*/[ab].*"):
        found = tally(f"{elsewhere}{name}", SURVEY, by="year")
        assert found.tally == whole, name
        assert {label: one.total for label, one in found.groups.items()} == {"2025": 20, "2026": 40}
    assert tally(f"{elsewhere}/{NAMES[1]}", SURVEY).tally == SURVEY.tally(REPORTS[20:40])
    mixed = tally([f"{elsewhere}/{NAMES[0]}", folder / "year=2026"], SURVEY, threads=2)
    assert mixed.tally == whole
    for name in ("/none", "/*.nothing", "/year=2027/*"):
        with pytest.raises(ArgumentError, match="no file at"):
            tally(f"{elsewhere}{name}", SURVEY)


def test_what_an_address_holds_is_checked_as_a_file_is(elsewhere: str, tmp_path: Path) -> None:
    other = Survey("other", SURVEY.randomizer)
    with pytest.raises(MismatchError, match=r"a\.parquet"):
        tally(elsewhere, other)
    system, path = addresses.file_system(elsewhere)
    with system.open_output_stream(f"{path}/plain.parquet") as stream:
        parquet.write_table(pa.table({"report": REPORTS.data.ravel()}), stream)
    with pytest.raises(FormatError, match="does not say so"):
        tally(f"{elsewhere}/plain.parquet", SURVEY)
    assert tally(f"{elsewhere}/plain.parquet", SURVEY, column="report").total == 60
    with system.open_output_stream(f"{path}/plain.csv") as stream:
        stream.write(b"report\n00\n")
    with pytest.raises(ArgumentError, match="download it"):
        tally(f"{elsewhere}/plain.csv", SURVEY, column="report")
    with system.open_output_stream(f"{path}/values.parquet") as stream:
        parquet.write_table(pa.table({"v": [3, 4]}), stream)
    randomize(f"{elsewhere}/values.parquet", SURVEY, column="v", output=tmp_path / "out.lwr")
    assert tally(tmp_path / "out.lwr", SURVEY).total == 2


def test_on_the_command_line(elsewhere: str, folder: Path, tmp_path: Path) -> None:
    SURVEY.save(tmp_path / "survey.json")
    whole = SURVEY.tally(REPORTS)
    for number, name in enumerate((elsewhere, str(folder / "*/*"), folder.as_uri())):
        out = tmp_path / f"{number}.json"
        assert main(["tally", str(tmp_path / "survey.json"), name, "-o", str(out)]) == 0
        assert type(whole).load(out) == whole


def test_an_address_that_was_made_a_path_is_one_again() -> None:
    for address in ("s3://b/c", "gs://b", "hdfs://host:8020/x y", "file:///tmp/a"):
        assert address_of(address) == address and address_of(Path(address)) == address
    for name in ("a.parquet", "/tmp/a", "C:/a", "-", "a:b"):
        assert address_of(name) is None
    assert local_path("file:///tmp/a%20b") == Path("/tmp/a b") and local_path("s3://a/b") is None
    with pytest.raises(ArgumentError, match=r"pyarrow cannot open addresses of what://"):
        file_system("what://a/b")
