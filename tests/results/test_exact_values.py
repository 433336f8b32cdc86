"""Results of values without noise say that they are not private, wherever they are shown."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import PrivacyError
from lapwing.results.exact_values import EXACT, NO_ERROR, is_exact

NUMBERS = lw.Interval(0, 100, bins=16)
LABELS = lw.Categories(["no", "yes"])
VALUES = np.random.default_rng(1).uniform(0, 100, 400)
PAIRS = lw.Product(value=NUMBERS, label=LABELS)

published = lw.release(VALUES, NUMBERS, epsilon=4, neighbors="replace-one").distribution
numbers = lw.Distribution.of_values(VALUES, published.domain)
labels = lw.Distribution.of_counts([3, 1], LABELS)
joint = lw.results.JointDistribution.of_counts(np.arange(1, PAIRS.size + 1), PAIRS)

EXACT_RESULTS: dict[str, Any] = {
    "numbers": numbers,
    "labels": labels,
    "pairs": joint,
    "values of pairs": lw.results.JointDistribution.of_values([(1.0, "no")] * 4, PAIRS),
    "one axis": joint.marginal("value"),
    "some people": joint.given(label="yes"),
    "product with exact": lw.results.JointDistribution.independent(value=published, label=labels),
    "difference": numbers.difference(numbers),
    "exact minus private": numbers.difference(published),
    "private minus exact": published.difference(numbers),
    "series": lw.results.Series([lw.results.series.SeriesWeek("2026-W01", numbers)]),
}
NOT_EXACT: dict[str, Any] = {
    "release": published,
    "difference": published.difference(published),
    "model": lw.Distribution(LABELS, np.array([0.5, 0.5])),
    "product": lw.results.JointDistribution.independent(one=published, other=published),
}


@pytest.mark.parametrize("name", EXACT_RESULTS)
def test_every_result_of_exact_values_says_so(name: str) -> None:
    result = EXACT_RESULTS[name]
    assert is_exact(result)
    assert EXACT in repr(result)
    if name != "series":
        assert EXACT in result.summary() and EXACT in result._repr_html_()
    facts = result._facts(0.95) if name != "series" else result._facts()
    assert facts["intervals"] == f"none: {NO_ERROR}"
    assert "estimator" not in facts


@pytest.mark.parametrize("name", NOT_EXACT)
def test_no_other_result_says_so(name: str, tmp_path: Path) -> None:
    result = NOT_EXACT[name]
    assert not is_exact(result) and EXACT not in repr(result) and EXACT not in result.summary()
    assert EXACT not in result.to_json()
    result.save(tmp_path / "x.json")


@pytest.mark.parametrize("name", EXACT_RESULTS)
def test_a_file_of_exact_values_is_asked_for(name: str, tmp_path: Path) -> None:
    result, path = EXACT_RESULTS[name], tmp_path / "x.json"
    with pytest.raises(PrivacyError, match=r"exact values, not private. Pass exact=True"):
        result.save(path)
    assert not path.exists()
    result.save(path, exact=True)
    assert is_exact(lw.load(path))
    assert '"exact": true' in path.read_text()


@pytest.mark.parametrize("name", ["numbers", "labels", "exact minus private"])
def test_every_row_of_a_table_says_so(name: str) -> None:
    about = EXACT_RESULTS[name].to_dict()["about"]
    assert about and set(about) == {EXACT}


def test_a_curve_fitted_to_exact_values_is_exact() -> None:
    fitted = lw.papers.functional_approximation.MatchingPursuit().fit(numbers)
    assert is_exact(fitted)
    assert not is_exact(lw.papers.functional_approximation.MatchingPursuit().fit(published))


def test_documents_of_before_are_read_as_before() -> None:
    document = numbers.to_document()
    assert document["provenance"] == {"exact": True}
    before = lw.Distribution.from_document({**document, "provenance": {}})
    assert not is_exact(before) and before.provenance == {} and EXACT not in before.summary()


def _titles(figure: Any) -> str:
    above = figure._suptitle.get_text() if figure._suptitle else ""
    return "\n".join([above, *(ax.get_title() for ax in figure.axes)])


@pytest.mark.parametrize("domain", [NUMBERS, lw.Integers(0, 100), lw.Integers(0, 9)])
def test_the_legend_of_exact_values_names_no_estimate(domain: Any) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    figure = lw.Distribution.of_values(np.arange(100) % 10, domain).plot(truth=[1, 2]).figure
    legends = [[text.get_text() for text in ax.get_legend().get_texts()] for ax in figure.axes]
    assert len(legends) == 2
    for names in legends:
        assert "exact values" in names and "truth" in names and "estimate" not in names


def test_pictures_say_what_is_exact() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    for result in (numbers, labels, numbers.difference(published)):
        assert EXACT in _titles(result.plot().figure)
    assert EXACT in _titles(joint.plot()) and EXACT in _titles(joint.plot(quantiles_of="value"))
    assert EXACT not in _titles(published.plot().figure)
    for truth in (VALUES, numbers):
        said = _titles(published.plot(truth=truth).figure)
        assert f"truth: {EXACT}" in said and "epsilon = 4" in said
    assert EXACT not in _titles(published.plot(truth=published).figure)
