"""The tool that plants errors: what it plants, which tests it runs, and what it reports."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

from tests.mutation.__main__ import RESULTS, run, to_plant
from tests.mutation.belonging import FAR, Checkout
from tests.mutation.choosing import AREAS, area_of, chosen
from tests.mutation.planting import KINDS, PlantedError, errors_of
from tests.mutation.results import JUDGMENTS, Results, Survivor
from tests.mutation.running import Outcome

ROOT = Path(__file__).resolve().parents[1]
CHECKOUT = Checkout(ROOT)
TEXTS = {
    path.relative_to(ROOT / "src" / "lapwing").as_posix(): path.read_text("utf-8")
    for path in CHECKOUT.sources.values()
}
PLANTED_IN = {file: text for file, text in TEXTS.items() if area_of(file)}

SMALL = '''
"""A file with a little of everything."""

import math

LIMIT: int = 3


def worst(values: list[int], *, bound: float = 2.0) -> int:
    """Return 1 + 1."""
    if not values:
        raise ValueError(f"none of {len(values) + 1}")
    found = max(abs(value) for value in values if value > -bound)
    found += sum(range(3))
    check(found)
    return min(found, math.inf) if found < 5 and found != 4 else found << 1


@cache(size=4)
def named(x):
    return [x, 1 - x][0] + (x in (True, False))
'''


def changes(text: str) -> set[tuple[str, str]]:
    return {(error.before, error.after) for error in errors_of("a.py", text)}


def test_operators_constants_and_what_is_left_out_are_changed() -> None:
    found = changes(SMALL)
    wanted = {
        ("3", "4"),
        ("2.0", "4.0"),
        ("not values", "values"),
        ("value > -bound", "value >= -bound"),
        ("-bound", "bound"),
        ("abs(value)", "value"),
        ("found += sum(range(3))", "pass"),
        ("check(found)", "pass"),
        ("range(3)", "range(1, 3)"),
        ("range(3)", "range(3 - 1)"),
        ("min(found, math.inf)", "max(found, math.inf)"),
        ("min(found, math.inf)", "found"),
        ("math.inf", "-math.inf"),
        ("found < 5 and found != 4", "found < 5 or found != 4"),
        ("found < 5 and found != 4", "found != 4"),
        ("found << 1", "found >> 1"),
        ("[x, 1 - x]", "[1 - x]"),
        ("[x, 1 - x][0] + (x in (True, False))", "[x, 1 - x][0]"),
        ("x in (True, False)", "x not in (True, False)"),
        ("True", "False"),
    }
    assert wanted <= found
    loop = "(abs(value) for value in values if value > -bound)"
    assert (loop, "(abs(value) for value in list(values)[1:] if value > -bound)") in found
    assert (loop, "(abs(value) for value in values)") in found
    guard = next(before for before, after in found if "raise" in before)
    assert (guard, "pass") in found


def test_what_only_people_read_is_left_alone() -> None:
    lines = {error.line for error in errors_of("a.py", SMALL)}
    told = [n for n, line in enumerate(SMALL.splitlines(), 1) if '"""' in line or "@" in line]
    assert lines.isdisjoint(told) and len(told) == 3
    assert not any("len(values)" in before and "if" not in before for before, _ in changes(SMALL))


def test_an_error_changes_one_place_and_its_file_still_compiles() -> None:
    planted = errors_of("a.py", SMALL)
    assert len({error.key for error in planted}) == len(planted) > 40
    assert {error.kind for error in planted} == set(KINDS)
    for error in planted:
        text = error.plant(SMALL)
        assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(SMALL)), error
        assert text.startswith(SMALL.encode()[: error.start].decode())
        assert text.endswith(SMALL.encode()[error.end :].decode())


def test_an_error_is_known_again_when_lines_and_folders_move() -> None:
    def keys(file: str, text: str) -> set[tuple[str, str, str, str, int]]:
        return {error.key for error in errors_of(file, text)}

    assert keys("a.py", SMALL) == keys("deep/down/a.py", "\n\n" + SMALL)
    assert keys("a.py", SMALL) != keys("b.py", SMALL)


def test_names_before_an_error_may_hold_any_letters() -> None:
    text = 'name = "größer als ½"; size = 3 + len(name)\n'
    (error,) = (e for e in errors_of("a.py", text) if e.after == "len(name)")
    assert error.plant(text) == 'name = "größer als ½"; size = (len(name))\n'


# The choice.


@pytest.mark.soak
def test_every_area_has_files_and_every_file_tests() -> None:
    assert {area_of(file) for file in PLANTED_IN} == set(AREAS)
    for file in PLANTED_IN:
        source = "lapwing." + file.removesuffix(".py").replace("/", ".")
        assert CHECKOUT.tests_of(source), f"no test belongs to {file}"


def test_guarantees_ledgers_noise_and_both_models_are_in_an_area() -> None:
    areas = {Path(file).name: area_of(file) for file in PLANTED_IN}
    assert areas["guarantee.py"] == areas["gaussian_dp.py"] == "guarantees"
    assert areas["ledger.py"] == "ledgers"
    assert areas["integer_noise.py"] == areas["randomness.py"] == "noise"
    assert areas["square_wave.py"] == "randomizers" and areas["sum_tree.py"] == "mechanisms"
    assert area_of("decoders/wiener_noise.py") == "decoders" and area_of("__main__.py") is None
    rooms = {file.partition("/")[0] for file in TEXTS if "/" in file}
    assert {file.partition("/")[0] for file in PLANTED_IN if "/" in file} == rooms


def test_the_choice_is_the_seed_s_and_reaches_every_area_and_file() -> None:
    few = {}
    for area in AREAS:  # files of a middle size
        files = sorted((f for f in PLANTED_IN if area_of(f) == area), key=lambda f: len(TEXTS[f]))
        few |= {file: TEXTS[file] for file in files[len(files) // 3 :][:2]}
    number = 8 * len(AREAS)
    one = chosen(few, errors=number, seed=1)
    assert one == chosen(few, errors=number, seed=1)
    assert one != chosen(few, errors=number, seed=2)
    assert len({error.key for error in one}) == number
    assert {error.file for error in one} == set(few)
    for area in AREAS:
        assert sum(area_of(error.file) == area for error in one) >= number / len(AREAS)
    for kind in KINDS:
        assert sum(error.kind == kind for error in one) > 20


def test_a_small_file_is_exhausted_and_nothing_comes_twice() -> None:
    everything = chosen({"ledger.py": SMALL}, errors=10_000, seed=3)
    assert sorted(e.key for e in everything) == sorted(e.key for e in errors_of("ledger.py", SMALL))


# What belongs to a file.


@pytest.mark.parametrize(
    ("source", "test", "rule"),
    [
        ("guarantee", "test_guarantee.py", 0),
        ("square_wave", "test_square_wave.py", 0),
        ("guarantee", "test_randomizer_privacy.py", 1),  # by import
        ("sum_tree", "test_linear_mechanisms.py", 1),  # by its public name
        ("square_wave", "test_randomizer_privacy.py", 2),  # through what is registered
        ("noise_kernels", "test_integer_noise.py", 3),  # mirrors a file that imports it
        ("two_level", "test_randomizer_privacy.py", 3),  # a contract of a file that imports it
    ],
)
def test_tests_belong_by_name_and_import(source: str, test: str, rule: int) -> None:
    (name,) = (name for name in CHECKOUT.sources if name.endswith(f".{source}"))
    found = {path.name: number for path, number in CHECKOUT.tests_of(name).items()}
    assert found[test] == rule
    assert "test_plotting.py" not in found or source == "square_wave"


def test_what_is_far_belongs_to_what_it_mirrors_only() -> None:
    for name in FAR:
        assert list((ROOT / "tests").rglob(name)) or list((ROOT / "tests").rglob(f"{name}.py"))
    (cost,) = (name for name in CHECKOUT.sources if name.endswith(".privacy_statement"))
    mirrors = [path for path, rule in CHECKOUT.tests_of(cost).items() if rule == 0]
    assert [path.parent.name for path in mirrors] == ["survey"]
    (wave,) = (name for name in CHECKOUT.sources if name.endswith(".square_wave"))
    assert {path.parent.name for path in CHECKOUT.tests_of(wave)}.isdisjoint(FAR)


# A whole run, on a checkout of its own.


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    package, tests = root / "src" / "lapwing", root / "tests"
    package.mkdir(parents=True)
    tests.mkdir()
    (package / "__init__.py").write_text("from lapwing.guarantee import spent\n")
    (package / "guarantee.py").write_text(
        "def spent(charges):\n"
        "    total = 0\n"
        "    for charge in charges:\n"
        "        total = total + charge\n"
        "    return total\n"
        "\n\n"
        "def unseen(charge):\n"
        "    return charge > 1\n"
    )
    (tests / "test_guarantee.py").write_text(
        "from lapwing.guarantee import spent\n\n"
        "def test_it_adds():\n"
        "    assert spent([1, 2]) == 3\n\n"
        "def test_it_is_broken_anyway():\n"
        "    assert spent([1]) == 2\n"
    )
    (root / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    shutil.copytree(Path(__file__).with_name("mutation"), tests / "mutation")
    return root


@pytest.mark.soak  # as the errors themselves are planted there
def test_a_run_finds_what_no_test_notices(
    checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in checkout.rglob("*.py")}
    results = tmp_path / "results.json"
    found = run(checkout, results, errors=99, seed=1, minutes=5, workers=2, files="*")
    assert {path: path.read_bytes() for path in checkout.rglob("*.py")} == before
    assert Results.read(results) == found
    survived = {(each.error.function, each.error.before, each.error.after) for each in found.open()}
    assert survived == {
        ("unseen", "charge > 1", "charge >= 1"),
        ("unseen", "charge > 1", "charge < 1"),
        ("unseen", "1", "2"),
        ("unseen", "1", "0"),
    }
    numbers = found.run
    assert numbers["planted"] == numbers["chosen"] == numbers["noticed"] + numbers["survived"] == 8
    said = capsys.readouterr().out
    assert "left out: tests/test_guarantee.py::test_it_is_broken_anyway" in said
    assert "guarantee.py:9 unseen: charge > 1 -> charge >= 1" in said


# The results in the repository.

KNOWN = Results.read(RESULTS)


def test_the_last_results_are_complete() -> None:
    assert KNOWN.run["planted"] >= 30
    assert KNOWN.run["planted"] == sum(
        KNOWN.run[verdict] for verdict in ("noticed", "timed out", "survived")
    )


@pytest.mark.parametrize(
    "survivor",
    [*KNOWN.survivors, *KNOWN.noticed_since],
    ids=lambda s: f"{s.error.file}:{s.error.line}",
)
def test_every_survivor_was_judged(survivor: Survivor) -> None:
    assert survivor.judgment in JUDGMENTS
    assert len(survivor.reason) > 15
    assert (survivor.judgment == "test added") == bool(survivor.test)
    if survivor.test:
        file, _, name = survivor.test.partition("::")
        (path,) = ROOT.glob(f"tests/**/{file}")
        defined = {
            node.name
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        assert name.rpartition("::")[2] in defined, f"{file} has no {name}"


def test_what_a_test_was_added_for_is_no_survivor() -> None:
    assert [each for each in KNOWN.survivors if each.judgment == "test added"] == []


def test_judgments_are_kept_and_unjudged_survivors_are_open() -> None:
    one, two, three = errors_of("ledger.py", SMALL)[:3]
    known = Results({}, (Survivor(one, "equivalent", "the same"), Survivor(two, "test added")))
    now = known.after(
        {"seed": 1},
        [Outcome(two, "noticed", "tests/a.py::b", 3), Outcome(three, "survived", "", 3)],
    )
    assert [each.error for each in now.survivors] == [one, three]
    assert [(each.error, each.judgment) for each in now.noticed_since] == [(two, "test added")]
    assert [each.error for each in now.open()] == [three]
    assert now.run == {"seed": 1, "planted": 2, "noticed": 1, "timed out": 0, "survived": 1}
    # What the code no longer holds is forgotten, and what a test was to notice is open again.
    later = now.after({}, [Outcome(two, "survived", "", 3)], gone=[one.key])
    assert [each.error for each in later.survivors] == [two, three]
    assert [each.error for each in later.open()] == [two, three]


def test_known_survivors_are_planted_first() -> None:
    def planted(known: list[PlantedError]) -> list[PlantedError]:
        keys = [error.key for error in known]
        return to_plant({"ledger.py": SMALL}, keys, errors=5, seed=1, files="ledger*")

    last = errors_of("ledger.py", SMALL)[-1]
    assert last not in planted([])
    assert planted([last])[0] == last and len(planted([last])) == 5
    assert to_plant({"ledger.py": SMALL}, [], errors=5, seed=1, files="randomizers/*") == []
