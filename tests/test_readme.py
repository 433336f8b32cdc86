"""What the README and its page of commands show is what runs: example, output, commands."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import lapwing as lw
from tests.page_environment import run
from tests.pictures import check_picture

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = (ROOT / "docs" / "guides" / "command-line.md").read_text(encoding="utf-8")
INCOMES = ROOT / "examples" / "data" / "acs_income_2019.csv"


def block(language: str, page: str = README) -> str:
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(found) == 1, f"the page must have one block of {language}"
    return found[0]


def test_the_readme_is_read_in_a_few_minutes() -> None:
    """Beside the code, at 250 words a minute."""
    words = re.sub(r"^```.*?^```$|\]\(.*?\)", " ", README, flags=re.DOTALL | re.MULTILINE).split()
    assert 200 < len(words) < 400 and 60 <= len(README.splitlines()) <= 80


def test_what_is_shown_first_is_what_is_recommended() -> None:
    """The randomizer of each survey; its decoder is the default, which test_defaults.py checks."""
    five, demo = (
        (ROOT / "examples" / name).read_text("utf-8") for name in ("five_minutes.py", "demo.py")
    )
    program = 'lw.Survey("income", lw.recommend(lw.Interval(0, 500_000), epsilon=2, users=30_000))'
    assert program in five and "published.release.save" in five
    domain = lw.Interval(0, 524_288, bins=128, atoms=[0])
    best = lw.recommend(domain, epsilon=2, users=29_144).randomizer
    surveyed = re.findall(r"lw\.Survey\(\s*\"[^\"]+\",\s*lw\.(\w+)\(", demo)
    assert surveyed and set(surveyed) == {type(best).__name__}
    assert "decoder=" not in five + demo


def test_the_example_is_the_file() -> None:
    assert block("python") == (ROOT / "examples" / "five_minutes.py").read_text(encoding="utf-8")


def test_the_example_prints_what_the_readme_shows(tmp_path: Path) -> None:
    """The randomness is real, so numbers are compared within what chance allows."""
    ran = run(README, "exec", text=block("python"), folder=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    printed, shown = ran.stdout.splitlines(), block("text").splitlines()
    assert printed[0] == shown[0]
    assert [line[:17] for line in printed[1:]] == [line[:17] for line in shown[1:]]
    for lines in (printed, shown):
        assert re.fullmatch(r"one report: +[0-9a-f]{8}, of 4 bytes", lines[1])
        share = float(lines[2].split()[-1].rstrip("%"))
        assert abs(share - 65.7) < 8
        low, high = (
            float(number.replace(",", "")) for number in re.findall(r"[0-9,]+", lines[3][17:])
        )
        assert low < high and abs((low + high) / 2 - 30_000) < 9_000
        published = float(lines[4].split()[-1].replace(",", ""))
        assert abs(published - 30_000) < 4_100  # a bin
        assert len(lines) == 5
    saved = lw.load(tmp_path / "income.json")
    assert isinstance(saved, lw.Release) and saved.domain.bins == 250  # type: ignore[attr-defined]
    check_picture(tmp_path / "income.png", "income.png")


def test_the_commands_run_as_shown(tmp_path: Path) -> None:
    """Tuesday's people earn ten times as much, so a comparison with other people shows."""
    with INCOMES.open(newline="") as stream:
        incomes = [
            int(row["income"]) for row in csv.DictReader(stream) for _ in range(int(row["count"]))
        ]
    for day, part in (("monday", incomes[0::2]), ("tuesday", [10 * n for n in incomes[1::2]])):
        (tmp_path / f"{day}.csv").write_text("\n".join(["income", *map(str, part)]) + "\n")
    blocks = re.findall(r"^```sh\n(.*?)^```$", COMMANDS, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2, "one walk-through for each model"
    ran = run(COMMANDS, "commands", text="".join(blocks), folder=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.count("$ lapwing ") == 19
    compared = ran.stdout.partition("$ lapwing compare ")[2]
    error = re.search(r"kolmogorov-smirnov +([0-9.]+)", compared)
    assert error is not None and float(error[1]) < 0.1, compared
    assert (tmp_path / "result.png").read_bytes().startswith(b"\x89PNG")
