"""Several rows of one person: what a release of units hides, over all small tables."""

import math
from itertools import combinations_with_replacement, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, FormatError, MismatchError, PrivacyError, RowsWarning
from lapwing.mechanisms import HistogramQuery, LabelCounts, PrefixSums, RunningPrefixSums, SumTree
from lapwing.mechanisms.linear_mechanism import LinearMechanism, strategy_under
from lapwing.mechanisms.private_bounds import count_steps
from lapwing.papers.functional_approximation import (
    AdaptiveQuantiles,
    MatchingPursuit,
    PolynomialProjection,
    PursuitSite,
    QuantileSite,
)
from lapwing.privacy import Ledger, PrivacyUnit, Promise
from lapwing.protocol import ExactCounts
from lapwing.protocol.messages.unit_rows import UnitRows, unit_text
from lapwing.registry import MECHANISMS
from tests.mistaken import mistaken

RELATIONS: list[Any] = ["replace-one", "add-or-remove-one"]

ORDERED = lw.Interval(0, 3, bins=3, outside="clip").for_curator()
LABELS = lw.Categories(["a", "b", "c"]).for_curator()

HIDING: list[tuple[Any, Any]] = [
    (LabelCounts(), LABELS),
    (HistogramQuery(3), ORDERED),
    (HistogramQuery(2), ORDERED),
    (SumTree(branching=2), ORDERED),
    (SumTree(strategy="haar"), ORDERED),
    (PrefixSums(), ORDERED),
    (PolynomialProjection(2), ORDERED),
    (PolynomialProjection(2, shape="moments"), ORDERED),
    (PolynomialProjection(3, basis="chebyshev", shape="equal"), ORDERED),
]
"""Mechanisms of units on domains of four symbols, the missing one among them."""


def units_of(most: int) -> list[tuple[int, ...]]:
    """All units with up to so many rows of four symbols."""
    return [rows for n in range(most + 1) for rows in combinations_with_replacement(range(4), n)]


def counts_of(rows: tuple[int, ...]) -> Any:
    return np.bincount(np.array(rows, dtype=np.int64), minlength=4)


def kept(unit: tuple[int, ...], most: int) -> dict[tuple[int, ...], float]:
    """The rows of a unit that are counted, and how probable they are."""
    if len(unit) <= most:
        return {unit: 1.0}
    assert most == 1 and len(unit) == 2
    return {(row,): unit.count(row) / 2 for row in set(unit)}


class Ranked:
    """A source whose words have a given order."""

    def __init__(self, ranks: tuple[int, ...]) -> None:
        self.ranks = ranks

    def words(self, count: int) -> Any:
        assert count == len(self.ranks)
        return np.array(self.ranks, dtype=np.uint64) << np.uint64(40)


@pytest.mark.parametrize("most", [1, 2])
def test_every_order_of_the_draws_keeps_random_rows_of_each_unit_alone(most: int) -> None:
    # Three units with zero to two rows; a row's symbol is its number, so each choice is seen.
    for sizes in product(range(3), repeat=3):
        whose = [unit for turn in range(2) for unit in range(3) if turn < sizes[unit]]
        seen: dict[tuple[int, ...], int] = {}
        for ranks in permutations(range(len(whose))):
            rows = UnitRows(most, mistaken(Ranked(ranks)))
            rows.add([f"u{unit}" for unit in whose], np.arange(len(whose)))
            counts = tuple(rows.counts(max(1, len(whose))).tolist())
            seen[counts] = seen.get(counts, 0) + 1
        choices = 2 ** sum(size == 2 for size in sizes) if most == 1 else 1
        orders = math.factorial(len(whose))
        assert set(seen.values()) == {orders // choices} and len(seen) == choices, sizes


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize(("mechanism", "domain"), HIDING, ids=lambda made: str(made)[:50])
class TestAllTables:
    def test_the_noise_hides_what_a_unit_moves_exactly(
        self, mechanism: LinearMechanism, domain: Any, most: int, relation: Any
    ) -> None:
        promise = Promise(relation, epsilon=1, unit=PrivacyUnit("u", most))
        strategy = strategy_under(mechanism, domain, promise)
        answers = [strategy.answers(counts_of(rows)) for rows in units_of(most)]
        pairs = list(product(answers, answers if relation == "replace-one" else answers[:1]))
        moved = [[int(x) for x in one - two] for one, two in pairs]
        hidden = strategy.sensitivity(relation)
        assert hidden.squared == max(sum(x * x for x in difference) for difference in moved)
        assert hidden.absolute == max(sum(map(abs, difference)) for difference in moved)

    def test_exact_output_distributions_keep_epsilon(
        self, mechanism: LinearMechanism, domain: Any, most: int, relation: Any
    ) -> None:
        """All tables of three units with up to two rows, at all exact answers as outputs."""
        promise = Promise(relation, epsilon=1, unit=PrivacyUnit("u", most))
        strategy = strategy_under(mechanism, domain, promise)
        noise, sensitivity = mechanism.noise_for(strategy, promise)
        scale = float(noise.scale)
        if noise.kind != "laplace":
            pytest.fail("a pure epsilon is kept by Laplace noise")
        units = units_of(2)
        columns = [strategy.answers(column) for column in np.eye(4, dtype=np.int64)]
        whole = [sum((columns[s] for s in rows), start=0 * columns[0]) for rows in units_of(2)]
        # The noise of each answer is independent: the density of a table is a mixture over what
        # its units keep. Outputs where the ratio is extreme are exact answers of some table.
        places = np.array(
            sorted({tuple(map(int, one + two)) for one, two in product(whole, whole)})
        )
        keeps = [
            [
                (chance, sum((columns[s] for s in rows), start=0 * columns[0]))
                for rows, chance in kept(unit, most).items()
            ]
            for unit in units
        ]

        def law(*table: int) -> Any:
            total = np.zeros(len(places))
            for chosen in product(*(keeps[unit] for unit in table)):
                chance = math.prod(one for one, _ in chosen)
                exact = sum((answers for _, answers in chosen), start=0 * columns[0])
                total += chance * np.exp(-np.abs(places - exact).sum(axis=1) / scale)
            return np.log(total)

        # The two units that stay are any pair, in any order.
        worst = 0.0
        for first, second in combinations_with_replacement(range(len(units)), 2):
            laws = np.array([law(first, second, third) for third in range(len(units))])
            if relation == "replace-one":
                apart = laws.max(axis=0) - laws.min(axis=0)
            else:
                apart = np.abs(laws - laws[0]).max(axis=0)
            worst = max(worst, float(apart.max()))
        assert worst <= 1 + 1e-9
        # Not more noise than needed: with the sensitivity of one row less it would not hold.
        assert worst > 0.4, worst
        assert sensitivity.absolute / scale <= 1 + 1e-12


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("mechanism", "domain"), HIDING, ids=lambda made: str(made)[:50])
def test_the_number_of_rows_is_estimated_from_the_answers(
    mechanism: LinearMechanism, domain: Any, relation: Any
) -> None:
    values = ["a", "b", "c"] * 3000 if domain == LABELS else [0.5, 1.5, 2.5] * 3000
    found = lw.release(
        values, domain, unit=np.arange(9000) // 3, most=2, neighbors=relation, epsilon=4,
        mechanism=mechanism, rng=lw.seeded(1),
    )  # fmt: skip
    assert found.release.people is None
    assert abs(found.release.total - 6000) < 60
    assert found.distribution.mass.sum() == pytest.approx(1)


def test_every_mechanism_hides_units_or_refuses_them(tmp_path: Path) -> None:
    hiding = {type(mechanism) for mechanism, _ in HIDING}
    refusing: dict[Any, Any] = {
        AdaptiveQuantiles: AdaptiveQuantiles(3),
        MatchingPursuit: MatchingPursuit(2, atoms=3),
        RunningPrefixSums: RunningPrefixSums(2),
    }
    assert hiding | set(refusing) == set(MECHANISMS.values())
    assert {made for made in MECHANISMS.values() if made.hides_units} == hiding
    path = tmp_path / "ledger.json"
    Ledger(lw.Guarantee(5, "1e-5", "replace-one", "central")).save(path)
    domain, before = lw.Interval(0, 1, bins=16), path.read_bytes()
    values, whose = np.linspace(0, 1, 40), np.arange(40) // 2
    how: Any = {"neighbors": "replace-one", "epsilon": 1, "ledger": path}
    for mechanism in [*refusing.values(), PolynomialProjection(3, shape="algorithm-1")]:
        with pytest.raises(PrivacyError, match="unit"):
            lw.release(values, domain, mechanism=mechanism, unit=whose, most=2, **how)
        counts = ExactCounts.of_values(values, domain, unit=whose, most=2)
        with pytest.raises(PrivacyError, match="unit"):
            lw.release(counts, mechanism=mechanism, **how)
        promise = Promise("replace-one", epsilon=1, unit=counts.unit)
        with pytest.raises(PrivacyError, match="unit"):
            mechanism.release(counts, promise)
    assert path.read_bytes() == before


def test_counts_of_units_are_charged_as_such_by_every_door(tmp_path: Path) -> None:
    domain = lw.Interval(0, 1, bins=16, outside="clip")
    counts = ExactCounts.of_values(np.linspace(0, 1, 40), domain, unit=np.arange(40) // 4, most=3)
    assert counts.unit == PrivacyUnit("unit", 3) and counts.people == 30
    plain = ExactCounts.of_values(np.linspace(0, 1, 40), domain)
    row, unit = (
        Promise("replace-one", epsilon=1),
        Promise("replace-one", epsilon=1, unit=counts.unit),
    )
    for mechanism in (PrefixSums(), AdaptiveQuantiles(3)):
        with pytest.raises(PrivacyError, match=r"Promise\(..., unit=counts.unit\)"):
            mechanism.release(counts, row)
    with pytest.raises(PrivacyError, match="single rows, but the guarantee is for unit"):
        PrefixSums().release(plain, unit)
    for site, mechanism in (
        (QuantileSite, AdaptiveQuantiles(3)),
        (PursuitSite, MatchingPursuit(2)),
    ):
        for promise in (row, unit):
            with pytest.raises(PrivacyError):
                mistaken(site)(mechanism, counts, promise)
    path = tmp_path / "ledger.json"
    Ledger(lw.Guarantee(5, "1e-5", "replace-one", "central")).save(path)
    running = RunningPrefixSums(2)
    first = lw.release(
        plain, neighbors="replace-one", epsilon=1, mechanism=running, ledger=path
    ).release
    before = path.read_bytes()
    with pytest.raises(PrivacyError, match="unit"):
        running.following(first, [plain], counts, ledger=path)
    assert path.read_bytes() == before


def test_a_release_of_units_says_so_everywhere(tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(40, 10, size=4000).clip(0, 99)
    pd = pytest.importorskip("pandas")
    whose = pd.Series(np.arange(4000) // 5, name="patient")
    path = tmp_path / "ledger.json"
    Ledger(lw.Guarantee(5, "1e-5", "replace-one", "central")).save(path)
    domain = lw.Interval(0, 100, bins=64)
    how: Any = {"neighbors": "replace-one", "epsilon": 1, "delta": 1e-6}
    with lw.testing.reproducible(1):
        found = lw.release(values, domain, unit=whose, most=3, ledger=path, **how)
    unit = PrivacyUnit("patient", 3)
    assert found.release.people is None and found.release.parts[0].promise.unit == unit
    assert str(found.guarantee) == (
        "epsilon = 1, delta = 1e-06, neighbors replace-one of patient (at most 3 rows), central "
        "model"
    )
    assert found.distribution.guarantee == found.guarantee
    assert abs(found.distribution.reports - 2400) < 400
    assert lw.Release.from_document(found.release.to_document()) == found.release
    (entry,) = Ledger.load(path).entries
    assert entry.guarantee.unit == unit and entry.guarantee.neighbors == "replace-one"
    # Three times the noise of rows.
    rows = lw.release(values, domain, mechanism=found.release.mechanism, **how).release
    assert math.sqrt(found.release.variance / rows.variance) == pytest.approx(3)
    expected: Any = {"neighbors": "replace-one", "epsilon": 1, "delta": 1e-6, "repeats": 1}
    expected |= {"mechanism": found.release.mechanism}
    three, one = (lw.expected_error(domain, 2400, most=most, **expected) for most in (3, 1))
    assert three.deviation == pytest.approx(3 * mistaken(one.deviation), rel=0.01)


def test_a_document_that_hides_the_unit_or_shows_the_people_is_refused() -> None:
    whose, values = np.arange(100) // 2, np.linspace(0, 1, 100)
    found = lw.release(
        values, lw.Interval(0, 1, bins=4), unit=whose, most=2, neighbors="replace-one", epsilon=1
    ).release
    for wrong in ({"name": "unit", "most": 1}, {"name": "unit", "most": 3}, None):
        document = found.to_document()
        document["parts"][0]["promise"]["unit"] = wrong
        with pytest.raises(FormatError):
            lw.Release.from_document(document)
    document = found.to_document()
    del document["parts"][0]["promise"]["unit"]
    with pytest.raises(FormatError):
        lw.Release.from_document(document)
    document = found.to_document()
    document["parts"][0]["people"] = 100
    with pytest.raises(FormatError, match="must be None"):
        lw.Release.from_document(document)


def test_parts_of_a_table_add_up_to_as_many_rows_of_a_unit(tmp_path: Path) -> None:
    domain = lw.Integers(0, 3)
    one, two = (ExactCounts.of_values([1, 1, 2], domain, unit=["u"] * 3, most=2) for _ in "12")
    both = one + two
    assert both.unit == PrivacyUnit("unit", 4) and both.people == 4
    both.save(tmp_path / "both.lws")
    assert ExactCounts.load(tmp_path / "both.lws") == both
    assert ExactCounts.load(tmp_path / "both.lws").unit == both.unit
    with pytest.raises(MismatchError, match="units"):
        one + ExactCounts.of_values([1], domain)
    with pytest.raises(MismatchError, match="units"):
        one + ExactCounts(one.domain, one.counts, PrivacyUnit("other", 2))
    assert "2" not in repr(one).replace("domain of 5", "")


def test_private_bounds_of_units() -> None:
    salaries = np.random.default_rng(1).lognormal(10.5, 0.5, size=20_000)
    whose = np.arange(20_000) // 4
    how: Any = {"neighbors": "replace-one", "epsilon": 1, "rng": lw.seeded(1)}
    found = lw.private_bounds(salaries, unit=whose, most=2, **how)
    assert found.guarantee.unit == PrivacyUnit("unit", 2) and found.has_bounds
    rows = lw.private_bounds(salaries, **how)
    assert found.release.parts[0].noise.scale == 2 * rows.release.parts[0].noise.scale
    counted = count_steps(salaries, unit=whose, most=2)
    assert counted.people == 10_000
    assert lw.private_bounds(counted, **how).guarantee == found.guarantee
    with pytest.raises(ArgumentError, match="already have a unit"):
        lw.private_bounds(counted, unit=whose, most=2, **how)


def test_a_unit_counts_at_most_its_rows_whatever_names_it() -> None:
    import datetime
    import uuid
    from decimal import Decimal

    nan = float("nan")
    assert unit_text(Decimal("1e400000000")) == "0.1e400000001"
    assert unit_text(Decimal("1e-400000000")) == "0.1e-399999999"
    assert unit_text(10**5000) == hex(10**5000)
    assert {unit_text(x) for x in (1, 1.0, "1", np.int8(1), np.float32(1), Decimal("1.00"))} == {
        "1"
    }
    assert len({unit_text(x) for x in (True, "1", 1.5, b"1", datetime.date(2026, 1, 1))}) == 5
    assert {unit_text(x) for x in ("caf\u00e9", " cafe\u0301", "caf\u00e9\t")} == {"caf\u00e9"}
    nobody = [
        " ",
        None,
        nan,
        np.nan,
        Decimal("nan"),
        Decimal("sNaN"),
        np.datetime64("NaT"),
        "",
        [1],
        {},
    ]
    assert {unit_text(x) for x in [*nobody, float("inf"), -np.inf, object()]} == {None}
    assert unit_text(uuid.UUID(int=1)) == "00000000-0000-0000-0000-000000000001"
    mixed: list[Any] = [1, "1", 1.0, True, None, nan, 2.5, b"x", 10**400, object(), "", "1"]
    found = ExactCounts.of_values([0] * 12, lw.Integers(0, 1), unit=mixed, most=1)
    assert found.people == 5  # 1, true, 2.5, bytes and the long number


@pytest.mark.filterwarnings("ignore::lapwing.errors.RowsWarning")
@pytest.mark.parametrize(
    "column",
    ["array", "texts", "objects", "pandas", "categorical", "nullable", "polars", "arrow", "floats"],
)
def test_columns_of_any_kind_name_the_same_units(column: str) -> None:
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    numbers = np.repeat(np.arange(50), 4)
    texts = [None if n == 7 else f"person {n}" for n in numbers.tolist()]
    columns: dict[str, Any] = {
        "array": numbers,
        "texts": np.array([text or "" for text in texts]),
        "objects": texts,
        "pandas": pd.Series(texts),
        "categorical": pd.Series(texts, dtype="category"),
        "nullable": pd.Series([None if n == 7 else n for n in numbers], dtype="Int64"),
        "polars": pl.Series("who", texts),
        "arrow": pa.chunked_array([texts[:70], texts[70:]]),
        "floats": np.where(numbers == 7, np.nan, numbers.astype(float)),
    }
    found = ExactCounts.of_values(
        np.zeros(200), lw.Integers(0, 1), unit=columns[column], most=3, rng=lw.seeded(1)
    )
    assert found.people == (150 if column == "array" else 147)


def test_one_unit_with_a_million_rows_counts_a_few() -> None:
    rows = UnitRows(5, lw.seeded(1))
    for _ in range(10):
        rows.add(["all"] * 99_999 + ["one"], np.zeros(100_000, dtype=np.int64))
        assert rows._rows <= 2**16 + 100_000
    assert rows.counts(1).tolist() == [10]


def test_rows_without_a_unit_are_left_out_and_told() -> None:
    whose = [None] * 40 + list(range(160))
    with pytest.warns(RowsWarning, match="40 without a unit, left out. Check the column of units"):
        found = ExactCounts.of_values([1.0] * 200, lw.Integers(0, 1), unit=whose, most=1)
    assert found.people == 160


def test_what_does_not_fit_is_refused_before_anything() -> None:
    how: Any = {"neighbors": "replace-one", "epsilon": 1}
    domain = lw.Integers(0, 1)
    for wrong in ({"unit": ["a"]}, {"most": 2}):
        with pytest.raises(ArgumentError, match="belong together"):
            lw.release([1], domain, **wrong, **how)
    with pytest.raises(ArgumentError, match="got a str, pass the column itself"):
        lw.release([1], domain, unit=mistaken("patient"), most=1, **how)
    with pytest.raises(ArgumentError, match="a budget has no unit"):
        Ledger(lw.Guarantee(1, 0, "replace-one", "central", unit=PrivacyUnit("u", 1)))
    for most in (0, -1, 1.5, True, 2**20 + 1):
        with pytest.raises(ArgumentError, match="most"):
            lw.release([1], domain, unit=["a"], most=most, **how)
    with pytest.raises(ArgumentError, match="a unit for each value"):
        lw.release([1, 0], domain, unit=["a"], most=1, **how)
    with pytest.raises(PrivacyError, match="central model"):
        lw.Guarantee(1, 0, "replace-one", "local", unit=PrivacyUnit("u", 1))
    for name in ("", "x" * 101, "a\nb", 3):
        with pytest.raises(ArgumentError, match="name must be"):
            PrivacyUnit(mistaken(name), 1)


def test_a_part_of_a_promise_is_to_the_same_unit() -> None:
    whole = Promise("replace-one", epsilon=1, delta="1e-6", unit=PrivacyUnit("u", 3))
    each = whole.split(4, PrefixSums(), lw.Interval(0, 1, bins=8))
    assert each.unit == whole.unit
    assert Promise.from_document(each.to_document()) == each
    assert "unit" not in Promise("replace-one", epsilon=1).to_document()


def test_a_mechanism_that_says_nothing_of_units_is_refused() -> None:
    class Silent(LabelCounts):
        hides_units = False

    with pytest.raises(PrivacyError, match="needs a public number of rows"):
        lw.release(
            ["a"], LABELS, unit=[1], most=2, neighbors="replace-one", epsilon=1, mechanism=Silent()
        )
