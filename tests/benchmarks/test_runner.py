"""The benchmarks at a tiny size, the result document, and the pages made from it."""

import copy
import json
import math
import re
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import machine, markdown, results, runner, summaries, tables, timing
from benchmarks.__main__ import main
from benchmarks.accuracy.local import textbook
from benchmarks.isolated import ENVIRONMENT, place, script
from benchmarks.programs import MissingProgramError
from tests.false_alarms import accepts, multinomial_tail

TINY = json.loads(Path(__file__).with_name("tiny_sizes.json").read_text("utf-8"))
"""Sizes at which every benchmark runs in the tests, in a second or two."""


def document(name: str, settings: dict, measured: dict) -> dict:
    """A whole result around what a script measured."""
    return {
        "format": results.FORMAT,
        "version": results.VERSION,
        "name": name,
        "date": "2026-01-02T03:04Z",
        **machine.commit(),
        "machine": machine.machine(),
        "versions": machine.versions(),
        "load": {"before": 0.1, "after": 1.1},
        "seconds": {"cpu": 1.0, "wall": 1.0},
        "settings": settings,
        "measured": measured,
    }


@pytest.fixture
def kept() -> dict:
    """A small legal result."""
    return document("speed/example", {"people": 3}, {"cpu": summaries.summary([1.0, 2.0, 4.0])})


IN_EVERY_RUN = ("accuracy/ems_reference", "accuracy/central_default", "speed/merging")
"""One of each kind. The others run in soak: what they call has tests of its own."""

WITH_A_PROGRAM = ("service/first_picture", "service/javascript_reports", "speed/spark")
"""These run Chromium, Node or Java."""


class TestEveryBenchmark:
    def test_has_the_same_settings_in_every_size(self):
        assert set(TINY) == set(runner.BENCHMARKS)
        for name, tiny in TINY.items():
            module = script(name)
            assert set(module.FULL) == set(module.QUICK) == set(tiny), name

    @pytest.mark.parametrize(
        "name",
        [
            pytest.param(
                name,
                marks=[pytest.mark.soak] * (name not in IN_EVERY_RUN)
                + [pytest.mark.service] * (name in WITH_A_PROGRAM),
            )
            for name in TINY
        ],
    )
    def test_runs_and_is_shown(self, name):
        module = script(name)
        try:
            measured = json.loads(json.dumps(module.measure(**TINY[name])))
        except MissingProgramError as error:
            pytest.skip(str(error))
        whole = document(name, TINY[name], measured)
        results.check(whole)
        text = tables.section(name, whole)
        assert text.startswith(f"## {module.TITLE}\n")
        assert "\n| ---" in text
        assert not re.search(r"\bnan\b|\binf\b", text)

    def test_a_run_through_a_process_of_its_own(self, capfd):
        assert main(["speed/streaming", "--quick"]) == 0
        shown = capfd.readouterr().out
        assert "`lapwing tally`" in shown
        assert socket.gethostname() not in shown
        assert str(machine.ROOT) not in shown

    def test_without_its_data_a_benchmark_is_skipped_loudly(self, capfd, monkeypatch, tmp_path):
        monkeypatch.setenv("LAPWING_DATA", str(tmp_path / "absent"))
        assert runner.run("accuracy/real_columns", quick=True) is None
        assert "SKIPPED accuracy/real_columns" in capfd.readouterr().err

    @pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "PYTHONDONTWRITEBYTECODE"])
    def test_a_process_with_threads_or_without_bytecode_is_refused(
        self, name, monkeypatch, tmp_path
    ):
        for key, value in ENVIRONMENT.items():
            monkeypatch.setenv(key, value)
        monkeypatch.setenv(name, "2")
        done = subprocess.run(
            [
                *(sys.executable, "-m", "benchmarks.isolated"),
                *("speed/starting", str(tmp_path / "out"), "quick"),
            ],
            cwd=machine.ROOT,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 1
        assert f"{name} must be" in done.stderr


class TestNames:
    def test_a_folder_means_its_benchmarks(self):
        assert runner.chosen(["speed"]) == [n for n in runner.BENCHMARKS if n.startswith("speed/")]
        assert runner.chosen(["speed/"]) == runner.chosen(["speed"])

    def test_a_family_means_its_benchmarks(self) -> None:
        found = runner.chosen(["accuracy/bands"])
        assert "accuracy/coverage" in found
        assert found == [n for n in runner.BENCHMARKS if place(n).startswith("accuracy/bands/")]
        assert runner.chosen(["accuracy/bands/coverage"]) == ["accuracy/coverage"]

    def test_every_script_is_listed_or_read_by_one(self) -> None:
        """A script that has sizes is a benchmark, so it has a row."""
        with_sizes = {
            "/".join(path.relative_to(machine.ROOT / "benchmarks").with_suffix("").parts)
            for folder in ("accuracy", "speed", "service")
            for path in (machine.ROOT / "benchmarks" / folder).rglob("*.py")
            if "\nFULL" in path.read_text("utf-8")
        }
        assert with_sizes == {place(name) for name in runner.BENCHMARKS}

    def test_none_means_all(self):
        assert runner.chosen([]) == list(runner.BENCHMARKS)

    @pytest.mark.parametrize("name", ["sped", "speed/absent", "spee", ""])
    def test_others_are_refused(self, name):
        with pytest.raises(runner.UnknownBenchmarkError, match="--list"):
            runner.chosen([name])


class TestResult:
    def test_a_whole_one_passes(self, kept):
        results.check(kept)

    @pytest.mark.parametrize("key", ["date", "commit", "machine", "load", "settings", "measured"])
    def test_a_missing_part_is_refused(self, kept, key):
        del kept[key]
        with pytest.raises(results.ResultError, match=key):
            results.check(kept)

    @pytest.mark.parametrize(
        ("path", "value"),
        [
            (("host",), "somewhere"),
            (("machine", "host"), "somewhere"),
            (("version",), 1),
            (("load", "before"), "low"),
            (("measured", "cpu", "median"), math.nan),
            (("measured", "cpu", "median"), 5.0),
            (("measured", "cpu", "repeats"), 0),
        ],
    )
    def test_what_is_wrong_is_refused(self, kept, path, value):
        part = kept
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value
        with pytest.raises(results.ResultError):
            results.check(kept)

    def test_a_summary_without_its_error_is_refused(self, kept):
        del kept["measured"]["cpu"]["standard_error"]
        with pytest.raises(results.ResultError, match=r"measured\.cpu"):
            results.check(kept)

    def test_it_is_read_as_it_was_written(self, kept, monkeypatch, tmp_path):
        monkeypatch.setattr(results, "_FOLDER", tmp_path)
        (tmp_path / "speed").mkdir()
        assert results.read("speed/example") is None
        results.write(kept)
        assert results.read("speed/example") == kept

    def test_a_result_under_another_name_is_refused(self, kept, monkeypatch, tmp_path):
        monkeypatch.setattr(results, "_FOLDER", tmp_path)
        (tmp_path / "speed").mkdir()
        results.write(kept).rename(tmp_path / "speed" / "results" / "other.json")
        with pytest.raises(results.ResultError, match="speed/example"):
            results.read("speed/other")


class TestPages:
    def test_the_committed_pages_are_what_the_results_give(self, capsys):
        assert main(["tables", "--check"]) == 0, capsys.readouterr().err

    def test_every_kept_result_is_of_what_its_commit_holds(self):
        kept = {name: results.read(name) for name in runner.BENCHMARKS}
        unclean = [name for name, one in kept.items() if one and one["clean"] is not True]
        assert unclean == []
        assert sum(one is not None for one in kept.values()) > 50

    def test_a_stale_page_is_named(self, monkeypatch, capsys):
        page = tables.FOLDER / "speed" / "README.md"
        stale = {page: page.read_text("utf-8") + "x"}
        monkeypatch.setattr(tables, "pages", lambda: stale)
        assert main(["tables", "--check"]) == 1
        assert "benchmarks/speed/README.md is stale" in capsys.readouterr().err

    def test_a_page_changes_with_its_result(self):
        name = "speed/streaming"
        found = results.read(name)
        if found is None:
            assert "Not measured yet" in tables.section(name, None)
            return
        other = copy.deepcopy(found)
        other["measured"]["library"]["peak"] *= 2
        assert tables.section(name, other) != tables.section(name, found)

    def test_a_benchmark_without_a_result_says_so(self):
        assert "Not measured yet" in tables.section("speed/streaming", None)

    def test_kept_results_name_no_place(self):
        for name in runner.BENCHMARKS:
            text = json.dumps(results.read(name))
            assert socket.gethostname() not in text
            assert not re.search(r"/(home|root|tmp|Users|work)/", text)


class TestCommit:
    @pytest.fixture
    def repository(self, monkeypatch, tmp_path):
        monkeypatch.setattr(machine, "ROOT", tmp_path)
        for file in ("src/a.py", "benchmarks/speed/b.py"):
            (tmp_path / file).parent.mkdir(parents=True)
            (tmp_path / file).write_text("1\n")
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "first"]):
            subprocess.run(["git", *command], cwd=tmp_path, check=True)
        return tmp_path

    def test_new_results_and_pages_are_no_change_of_what_is_measured(self, repository):
        (repository / "benchmarks/speed/results").mkdir()
        (repository / "benchmarks/speed/results/b.json").write_text("{}")
        (repository / "benchmarks/speed/README.md").write_text("#")
        found = machine.commit()
        assert re.fullmatch("[0-9a-f]{40}", found["commit"])
        assert found["clean"] is True

    @pytest.mark.parametrize("file", ["src/a.py", "src/new.py", "benchmarks/speed/b.py"])
    def test_a_change_of_code_is_told(self, repository, file):
        (repository / file).write_text("2\n")
        assert machine.commit()["clean"] is False

    def test_without_git_nothing_is_claimed(self, monkeypatch, tmp_path):
        monkeypatch.setattr(machine, "ROOT", tmp_path)
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
        assert machine.commit() == {"commit": None, "clean": None}


class TestFigures:
    def test_a_summary(self):
        found = summaries.summary([1.0, 2.0, 6.0])
        assert (found["median"], found["min"], found["max"], found["mean"]) == (2, 1, 6, 3)
        assert found["standard_error"] == pytest.approx(math.sqrt(7) / math.sqrt(3))
        assert summaries.summary([5.0])["standard_error"] == 0

    def test_a_ratio_of_pairs_that_move_together_is_exact(self):
        theirs = [1.0, 3.0, 10.0]
        found = summaries.ratio_of_means([2 * x for x in theirs], theirs)
        assert found == {"ratio": 2.0, "standard_error": 0.0}
        found = summaries.ratio_of_pairs([2 * x for x in theirs], theirs)
        assert found == {"ratio": 2.0, "standard_error": 0.0}

    def test_the_error_of_a_ratio_of_means(self):
        rng = np.random.default_rng(1)
        ratios, errors = [], []
        for _ in range(400):
            theirs = rng.normal(10, 2, 50)
            found = summaries.ratio_of_means(list(theirs + rng.normal(0, 1, 50)), list(theirs))
            ratios.append(found["ratio"])
            errors.append(found["standard_error"])
        # 400 ratios give their spread to 3.5%; 20% is more than five of that.
        assert np.mean(errors) == pytest.approx(np.std(ratios), rel=0.2)

    def test_works_are_timed_in_turn_and_backwards(self):
        calls = []
        times = timing.alternate(
            {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, rounds=2
        )
        assert "".join(calls) == "ba" + "ab" + "ba"
        assert len(times["a"].cpu) == len(times["b"].wall) == 2

    def test_memory_of_a_fresh_process(self):
        found = timing.memory_beyond("import array", "block = array.array('q', [1]) * 5_000_000")
        assert 35 < found["beyond_import"] < 60  # forty megabytes, and a little of Python's own

    def test_a_table_with_a_missing_cell_is_refused(self):
        assert markdown.table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | ---: |\n| 1 | 2 |"
        with pytest.raises(ValueError, match="as many cells"):
            markdown.table(["a", "b"], [["1"]])

    @pytest.mark.parametrize(
        ("number", "text"),
        [(0.0012345, "0.00123"), (12.345, "12.3"), (12345.6, "12,346"), (0, "0"), (9.999, "10.0")],
    )
    def test_significant_digits(self, number, text):
        assert markdown.figure(number) == text

    def test_times_have_a_unit(self):
        assert markdown.seconds(0.0000139) == "13.9 µs"
        assert markdown.seconds(0.0311) == "31.1 ms"
        assert markdown.seconds(5.25) == "5.25 s"


class TestTextbook:
    """The reference of the accuracy benchmark is wrong if its matrices are."""

    @pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
    def test_columns_are_laws_and_the_ratio_is_e_to_the_epsilon(self, epsilon):
        matrix = textbook.discrete_matrix(epsilon, 64)
        np.testing.assert_allclose(matrix.sum(axis=0), 1)
        assert matrix.max() / matrix.min() == pytest.approx(math.exp(epsilon))
        matrix = textbook.continuous_matrix(epsilon, 64)
        np.testing.assert_allclose(matrix.sum(axis=0), 1)
        assert matrix.max() / matrix.min() <= math.exp(epsilon) * (1 + 1e-9)

    def test_continuous_reports_follow_their_matrix(self):
        epsilon, d, number = 2.0, 16, 400_000  # the neighboring bucket's law must fail
        rng = np.random.default_rng(1)
        values = (3 + rng.random(number)) / d  # all in bucket 3
        drawn = textbook.continuous_reports(values, epsilon, rng)
        counts = textbook.continuous_counts(drawn, epsilon, d)
        law = textbook.continuous_matrix(epsilon, d)
        assert accepts(multinomial_tail(counts, law[:, 3]))
        assert not accepts(multinomial_tail(counts, law[:, 4]))

    def test_smoothing_keeps_mass_and_the_uniform_law(self):
        matrix = textbook.smoothing_matrix(8)
        np.testing.assert_allclose(matrix.sum(axis=0), 1)
        np.testing.assert_allclose(matrix.sum(axis=1), 1)
        assert matrix[0, 0] == 0.75
