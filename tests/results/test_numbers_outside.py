"""Whole numbers outside the range, and codes among them: what a result says of both."""

from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import LimitedWarning

PEOPLE = 20_000


def days() -> np.ndarray:
    """Return days of which about a quarter are above 60, a few below 0, and a tenth the code 99."""
    rng = np.random.default_rng(1)
    values = rng.gamma(2, 22, size=PEOPLE).astype(int)
    values[: PEOPLE // 50] = -1
    values[-PEOPLE // 10 :] = 99
    return values


def released(domain: Any) -> Any:
    promise: dict[str, Any] = {"neighbors": "replace-one", "epsilon": 1, "delta": "1e-6"}
    return lw.release(days(), domain, **promise).distribution


def test_numbers_outside_are_counted_and_every_answer_says_so() -> None:
    values, result = days(), released(lw.Integers(0, 60))
    above, below = float((values > 60).mean()), float((values < 0).mean())
    assert result.mass[-2] == pytest.approx(above, abs=0.02)
    assert result.mass[0] == pytest.approx(below, abs=0.01)
    assert result.cdf(60) == pytest.approx(1 - above, abs=0.02)
    assert result.quantile(0.95) == np.inf
    with pytest.warns(LimitedWarning, match="outside the range 0 to 60"):
        result.mean()
    said = result.summary()
    assert "above 60" in said and "below 0" in said and "of values limited to 0 to 60" in said
    assert "more than 60" in said and "60 or more" not in said
    assert "point mass" not in said  # those outside are no number that many hold


def test_where_they_are_clipped_the_end_says_how_many_it_holds() -> None:
    values, result = days(), released(lw.Integers(0, 60, outside="clip"))
    said = result.summary()
    assert "point mass at 60 or more" in said and "above 60" not in said
    (atom,) = (each for each in result.atoms if each.left == 60)
    assert atom.share == pytest.approx(float((values >= 60).mean()), abs=0.03)


@pytest.mark.parametrize("domain", [lw.Integers(-5, 200), lw.Integers(-5, 200, outside="clip")])
def test_a_code_that_the_release_shows_is_listed(domain: Any) -> None:
    result = released(domain)
    found = {atom.left: atom.share for atom in result.atoms if not atom.declared}
    assert found[99] == pytest.approx(0.1, abs=0.02)
    assert "point mass at 99" in result.summary()
    assert len(result.atoms) == len(found) <= 3  # not every number is one


def test_a_column_without_codes_lists_none() -> None:
    values = np.random.default_rng(2).integers(0, 100, PEOPLE)
    promise: dict[str, Any] = {"neighbors": "replace-one", "epsilon": 1, "delta": "1e-6"}
    result = lw.release(values, lw.Integers(0, 99), **promise).distribution
    assert not result.atoms and "point mass" not in result.summary()


def test_pictures_and_tables_have_the_numbers_inside() -> None:
    result = released(lw.Integers(0, 60))
    table = result.to_dict()
    assert table["left"][:2] == [-np.inf, 0] and table["right"][-2] == np.inf
    figure = result.plot().figure
    assert figure.axes


def test_reports_of_a_survey_are_counted_outside_too() -> None:
    survey = lw.Survey("days", lw.recommend(lw.Integers(0, 60), epsilon=3, users=PEOPLE))
    reports = survey.randomize(days(), rng=lw.seeded(3))
    result = survey.decode(survey.tally(reports))
    assert result.mass[-1] == pytest.approx(float((days() > 60).mean()), abs=0.1)


def test_an_axis_of_pairs_counts_them() -> None:
    pairs = lw.Product(days=lw.Integers(0, 60), sex=lw.Categories(["f", "m"]))
    assert pairs.size == 63 * 2
    assert pairs.index([(-1, "f"), (61, "m"), (60, "f")]).tolist() == [0, 125, 122]


def test_a_method_for_numbers_inside_says_what_to_do() -> None:
    with pytest.raises(lw.errors.DomainError, match=r"Declare outside='clip'"):
        lw.randomizers.Piecewise(lw.Integers(0, 60), epsilon=1)
