"""What the README and its page of commands show is what runs: example, output, commands."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import lapwing as lw
from tests.page_environment import run

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = (ROOT / "docs" / "guides" / "command-line.md").read_text(encoding="utf-8")
INCOMES = ROOT / "examples" / "data" / "acs_income_2019.csv"


def blocks(language: str) -> list[str]:
    """Return the blocks of the README: one for devices, and one for a table."""
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    assert len(found) == 2
    return found


def test_the_readme_is_read_in_a_few_minutes() -> None:
    """Beside the code, at 250 words a minute."""
    words = re.sub(r"^```.*?^```$|\]\(.*?\)", " ", README, flags=re.DOTALL | re.MULTILINE).split()
    assert 200 < len(words) < 460 and 60 <= len(README.splitlines()) <= 86


def test_what_is_shown_first_is_what_is_recommended() -> None:
    """The randomizer of each survey; its decoder is the default, which test_defaults.py checks."""
    five, demo = (
        (ROOT / "examples" / name).read_text("utf-8") for name in ("five_minutes.py", "demo.py")
    )
    program = 'lw.Survey("income", lw.recommend(lw.Interval(0, 500_000), epsilon=2, users=30_000))'
    assert program in five and "published.save" in five
    domain = lw.Interval(0, 524_288, bins=128, atoms=[0])
    best = lw.recommend(domain, epsilon=2, users=29_144).randomizer
    surveyed = re.findall(r"lw\.Survey\(\s*\"[^\"]+\",\s*lw\.(\w+)\(", demo)
    assert surveyed and set(surveyed) == {type(best).__name__}
    assert "decoder=" not in five + demo


def test_the_example_is_the_file() -> None:
    five = (ROOT / "examples" / "five_minutes.py").read_text(encoding="utf-8")
    assert five.partition("\n\n")[2] == "\n".join(blocks("python"))


PRINTED = (
    r"([0-9.]+)% earn at most \$50,000\. Median: \$([0-9,]+) to \$([0-9,]+)",
    r"Median: \$([0-9,]+), epsilon = 1, pure, neighbors replace-one, central model",
)


def test_the_example_prints_what_the_readme_shows(tmp_path: Path) -> None:
    """The randomness is real, so numbers are compared within what chance allows."""
    ran = run(README, "exec", text="\n".join(blocks("python")), folder=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    for lines in (ran.stdout.splitlines(), "".join(blocks("text")).splitlines()):
        read = [re.fullmatch(*each) for each in zip(PRINTED, lines, strict=True)]
        share, low, high, median = (
            float(number.replace(",", "")) for found in read if found for number in found.groups()
        )
        assert abs(share - 65.7) < 8
        assert low < high and abs((low + high) / 2 - 30_000) < 9_000
        assert abs(median - 30_000) < 4_100  # a bin
    assert lw.load(tmp_path / "income.json").domain.bins == 250  # type: ignore[attr-defined]


def test_the_reasons_of_the_readme_are_on_the_pages_that_they_link_to() -> None:
    """Every number of "Why Lapwing", so a new measurement is not forgotten here."""
    reasons = README.partition("## Why Lapwing")[2].partition("\n## ")[0].strip().split("\n- ")
    assert len(reasons) == 4
    for reason in reasons:
        text, page = re.fullmatch(r"(?s)(.*)\[[^]]+\]\((\S+)\)\.", reason).groups()  # type: ignore[union-attr]
        linked = (ROOT / page).read_text("utf-8")
        numbers = re.findall(r"[0-9][0-9.,^]*[0-9]", text)
        assert numbers and [number for number in numbers if number not in linked] == []


def test_the_commands_run_as_shown(tmp_path: Path) -> None:
    """Tuesday's people earn ten times as much, so a comparison with other people shows."""
    with INCOMES.open(newline="") as stream:
        incomes = [
            int(row["income"]) for row in csv.DictReader(stream) for _ in range(int(row["count"]))
        ]
    for day, part in (("monday", incomes[0::2]), ("tuesday", [10 * n for n in incomes[1::2]])):
        (tmp_path / f"{day}.csv").write_text("\n".join(["income", *map(str, part)]) + "\n")
    shown = re.findall(r"^```sh\n(.*?)^```$", COMMANDS, re.DOTALL | re.MULTILINE)
    assert len(shown) == 2, "one walk-through for each model"
    ran = run(COMMANDS, "commands", text="".join(shown), folder=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.count("$ lapwing ") == 19
    compared = ran.stdout.partition("$ lapwing compare ")[2]
    error = re.search(r"kolmogorov-smirnov +([0-9.]+)", compared)
    assert error is not None and float(error[1]) < 0.1, compared
    assert (tmp_path / "result.png").read_bytes().startswith(b"\x89PNG")
