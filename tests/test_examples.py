"""Every example runs, says first what it shows, and prints what it should."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lapwing as lw

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run(example: str, *arguments: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / example), *arguments],
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_every_example_is_run_by_a_test() -> None:
    """five_minutes.py by test_readme.py, the others here."""
    assert [path.name for path in EXAMPLES] == ["demo.py", "five_minutes.py", "poisoning.py"]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_opens_with_a_sentence(path: Path) -> None:
    first = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split("\n\n")[0]
    assert re.match(r"[A-Z].*\.$", first, re.DOTALL), f"{path.name} must say what it shows"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("demo")
    return run("demo.py", folder=folder), folder / "demo-output"


def test_the_demo_shows_every_step(demo: tuple[str, Path]) -> None:
    text, _ = demo
    for step in ("survey", "randomize", "tally", "merge", "decode"):
        assert len(re.findall(rf"^  {step}  ", text, re.MULTILINE)) == 2
    assert "260,000 reports; backwards it is the same tally" in text
    assert "29,144 reports; backwards it is the same tally" in text
    assert all(len(line) <= 80 or "lapwing decode" in line for line in text.splitlines())


def test_the_demo_has_quantiles_beside_the_truth(demo: tuple[str, Path]) -> None:
    """Five for each column. Each interval misses one time in twenty; most are expected to hold."""
    text, _ = demo
    rows = re.findall(r"^ 0\.[0-9]+ .* (yes|no) *$", text, re.MULTILINE)
    assert len(rows) == 10
    # P(Bin(5, .05) > 3) = 3e-5 for a column, were they independent; they are correlated.
    assert rows.count("yes") >= 3
    for distance in ("Wasserstein-1", "Kolmogorov-Smirnov", "energy"):
        assert text.count(f" {distance} ") == 2
    errors = [float(error) for error in re.findall(r"Kolmogorov-Smirnov +([0-9.]+)", text)]
    assert len(errors) == 2 and max(errors) < 0.12


def test_no_report_of_the_demo_tells_more_than_promised(demo: tuple[str, Path]) -> None:
    text, _ = demo
    taxi, income = text.split("2. Incomes", 1)
    for part, bound in ((taxi, 2.7183), (income, 7.3891)):
        factors = [float(f) for f in re.findall(r"%  +[0-9.]+%  +([0-9.]+) *$", part, re.MULTILINE)]
        assert len(factors) >= 4
        assert all(1 / bound - 0.005 <= factor <= bound + 0.005 for factor in factors)
        assert max(factors) > 1.01


def test_the_demo_leaves_documents_that_load(demo: tuple[str, Path]) -> None:
    _, folder = demo
    for column, reports in (("taxi", 260_000), ("income", 29_144)):
        survey = lw.Survey.read(folder / column / "survey.json")
        answer = lw.Distribution.from_json((folder / column / "distribution.json").read_text())
        assert answer.reports == reports
        assert answer.guarantee == survey.guarantee
        assert (folder / f"{column}.png").read_bytes().startswith(b"\x89PNG")


def test_the_poisoning_table_of_the_privacy_page(tmp_path: Path) -> None:
    """Simulated with seeds, but a new NumPy may draw otherwise: within a point, or a tenth."""
    names = {
        "none: raw values": "none: raw answers",
        "square-wave": "square wave, EMS",
        "optimized-unary-encoding": "optimised unary encoding",
    }
    measured: dict[tuple[str, str], list[float]] = {}
    pattern = r"^ *(none: raw values|[a-z-]+) +(-|[0-9]) +[0-9.]+% +[0-9,]+ +([0-9.]+)% *$"
    for name, epsilon, share in re.findall(
        pattern, run("poisoning.py", folder=tmp_path), re.MULTILINE
    ):
        measured.setdefault((names[name], epsilon), []).append(float(share))
    page = (ROOT / "docs" / "privacy.md").read_text("utf-8")
    assert len(measured) == 5
    for (name, epsilon), shares in measured.items():
        row = re.search(rf"^\| {name} \| {epsilon} \|(.*)\|$", page, re.MULTILINE)
        assert row is not None, f"{name}, epsilon {epsilon} is not in the table"
        shown = [float(number) for number in re.findall(r"([0-9.]+) %", row.group(1))]
        assert shown == pytest.approx(shares, abs=1, rel=0.1)
