"""The commands that pages show run with the extras that their page names, on made-up files."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import lapwing as lw
from lapwing.cli import main
from tests.cli.running import domain_apart
from tests.page_environment import run

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs" / "guides"

COLORS = "lapwing new --domain-only --categories red,blue -o colors-domain.json"
RELEASE = (
    "lapwing release {} -c {} --domain {} --epsilon 1 --delta 1e-6 --neighbors replace-one -o {}"
)
TALLY = "lapwing simulate {} visits.parquet -c minutes --seed {} -o {}"
SURVEY = "lapwing new -o {} --name x --epsilon 2 --low 0 --high 60 --bins 32 {}"

BEFORE: dict[str, dict[str, list[str]]] = {
    "start/table.md": {},
    "start/choose.md": {"verify": [SURVEY.format("survey.json", "")]},
    "privacy/what-you-tell-people.md": {"verify": [SURVEY.format("survey.json", "")]},
    "guides/central/release-a-column.md": {},
    "guides/central/bounds.md": {},
    "guides/central/one-number.md": {},
    "guides/central/mechanisms.md": {},
    "guides/central/rounds.md": {},
    "guides/central/labels-and-groups.md": {},
    "guides/central/ledger.md": {},
    "guides/central/sites.md": {
        "merge": [
            "lapwing count data.parquet -c salary --domain salaries.json -o site2.lws",
            "lapwing release site2.lws --epsilon 1 --delta 1e-6 --neighbors replace-one "
            "-o site2.json",
        ]
    },
    "guides/central/synthetic-rows.md": {},
    "guides/results/read-a-result.md": {
        "answer result.json --above": [
            "lapwing new --domain-only --low 0 --high 60 -o minutes.json",
            RELEASE.format("visits.parquet", "minutes", "minutes.json", "result.json"),
        ],
        "answer colors.json": [
            COLORS,
            RELEASE.format("visits.parquet", "color", "colors-domain.json", "colors.json"),
        ],
        "answer table.json": [
            "lapwing new --domain-only --low 0 --high 60 --segment north --segment south "
            "-o by.json",
            RELEASE.format("visits.parquet", "minutes", "by.json", "table.json") + " --by region",
        ],
    },
    "guides/local/segments-and-periods.md": {},
    "guides/local/ask-every-week.md": {
        "tally": [
            "lapwing randomize survey.json visits.parquet -c minutes -o reports-of-the-week.lwr"
        ],
        "series": [TALLY.format("survey.json", 2, "weeks/2026-W02.json")],
    },
    "guides/local/two-rounds.md": {
        "decode first.json first.tally.json -o": [
            SURVEY.format("first.json", ""),
            TALLY.format("first.json", 1, "first.tally.json"),
        ],
        "decode first.json first.tally.json second": [
            TALLY.format("second.json", 2, "second.tally.json")
        ],
        "recommend": [
            RELEASE.format("visits.parquet", "minutes", "wait-domain.json", "published.json")
        ],
    },
    "guides/local/plan-a-survey.md": {},
    "guides/local/what-do-you-want-to-know.md": {
        "answer": [
            TALLY.format("survey.json", 1, "tally.json"),
            "lapwing decode survey.json tally.json -o result.json",
        ]
    },
    "guides/local/two-attributes.md": {
        "compare": [
            "lapwing simulate survey.json flights.csv --seed 2 -o earlier.tally.json",
            "lapwing decode survey.json earlier.tally.json -o earlier.json",
        ]
    },
    "guides/local/detect-changes.md": {
        "series": [
            SURVEY.format("survey.json", "--randomizer multiscale-wave"),
            *(TALLY.format("survey.json", n, f"weeks/2026-W0{n}.json") for n in (1, 2)),
        ]
    },
}
"""By page: what is run before the first command that begins so, because the page has it from
elsewhere."""

PEOPLE = 3000
"""Rows of each table."""


def is_picture(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG")


AFTER: dict[str, Callable[[Path], bool]] = {
    "sites": lambda folder: lw.Release.load(folder / "all.json").people == 2 * PEOPLE,
    "synthetic-rows": lambda folder: len((folder / "synthetic.csv").read_text().split()) == 10_001,
    "segments-and-periods": lambda folder: is_picture(folder / "picture.png"),
    "two-rounds": lambda folder: lw.Distribution.load(folder / "both.json").reports == 2 * PEOPLE,
    "ask-every-week": lambda folder: (
        lw.Series.from_json((folder / "series.json").read_text()).names == ["2026-W01", "2026-W02"]
        and (folder / "weeks.csv").read_text().startswith('"week","people","change","mean","q10"')
        and is_picture(folder / "timeline.png")
        and is_picture(folder / "small.png")
    ),
    "detect-changes": lambda folder: (
        lw.Watch.load(folder / "watch.json").names == ["2026-W01", "2026-W02", "2026-W03"]
    ),
}
"""By name of the page: whether the files are what it says."""

ELSEWHERE = {
    "guides/command-line.md": "tests/test_readme.py",
    "guides/operate/collector.md": "tests/service/test_collector_pages.py",
    "guides/local/pairs-from-a-page.md": "tests/clients_js/test_javascript_page.py",
    "guides/operate/keep-and-delete.md": "tests/cli/test_collector_commands.py",
    "guides/local/python-devices.md": "tests/test_pages_in_one_folder.py",
    "start/install.md": "tests/test_install_lines.py",
}
"""Where the commands of other pages run."""


def commands(page: str) -> list[str]:
    """Return the commands of a page, without the lines of other programs."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith("lapwing ")]


def write_tables(folder: Path) -> None:
    """Write the tables that the pages speak of."""
    rng = np.random.default_rng(3)
    size = PEOPLE
    salary = rng.lognormal(10.5, 0.6, size).round().clip(0, 400_000)
    patient = rng.integers(0, 1000, size)
    for name in ("data", "site"):
        parquet.write_table(
            pa.table({"salary": salary, "patient": patient}), folder / f"{name}.parquet"
        )
    for name in ("data", "january", "february"):
        csv.write_csv(pa.table({"salary": salary}), folder / f"{name}.csv")
    region = rng.choice(["north", "south"], size)
    parquet.write_table(
        pa.table(
            {
                "browser": rng.choice(["firefox", "chrome", "safari", "lynx"], size),
                "color": rng.choice(["red", "blue"], size),
                "region": region,
                "minutes": rng.gamma(3, 5, size).clip(0, 60),
                "visitor": rng.integers(0, 1000, size),
            }
        ),
        folder / "visits.parquet",
    )
    parquet.write_table(pa.table({"income": salary, "region": region}), folder / "values.parquet")
    csv.write_csv(
        pa.table({"delay": rng.gamma(2, 8, size).clip(0, 60), "hour": rng.uniform(0, 24, size)}),
        folder / "flights.csv",
    )
    (folder / "weeks").mkdir()
    (folder / "weeks" / ".DS_Store").touch()
    (folder / "notice.json").write_text('{"question": "What do you earn a year?"}')


IN_A_FILE = ("recommend", "release", "count")
"""Commands that take a domain in a file."""


@pytest.mark.parametrize("name", BEFORE)
def test_the_commands_of_a_page_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes from elsewhere is made in this process, which has every extra."""
    monkeypatch.chdir(tmp_path)
    write_tables(tmp_path)
    page = (ROOT / "docs" / name).read_text("utf-8")
    parts: list[list[str]] = [[]]
    waiting = dict(BEFORE[name])
    for line in commands(page):
        for start in [start for start in waiting if line.startswith(f"lapwing {start}")]:
            parts += [waiting.pop(start), []]
        parts[-1].append(line)
    assert not waiting, "no command begins so"
    for place, lines in enumerate(parts):
        if place % 2:
            assert [main(shlex.split(line)[1:]) for line in lines] == [0] * len(lines)
            continue
        ran = run(page, "commands", text="".join(f"{line}\n" for line in lines), folder=tmp_path)
        assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
        assert ran.stdout.count("$ lapwing ") == len(lines)
    words = [shlex.split(line)[1:] for line in commands(page)]
    assert not any(domain_apart(line)[0] for line in words if line[0] in IN_A_FILE)
    assert AFTER.get(Path(name).stem, Path.exists)(tmp_path)


def test_every_page_with_commands_is_run() -> None:
    found = {
        path.relative_to(ROOT / "docs").as_posix()
        for path in (ROOT / "docs").rglob("*.md")
        if "reference/cli" not in path.as_posix() and commands(path.read_text("utf-8"))
    }
    assert found == {*BEFORE, *ELSEWHERE}
    assert all((ROOT / place).exists() for place in ELSEWHERE.values())
