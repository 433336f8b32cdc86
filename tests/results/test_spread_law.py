"""Error laws that are spread from cells: the file holds the cells, and gives the same law back."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lapwing.errors import FormatError
from lapwing.results.spread_law import Spread, SpreadLaw, encoded
from lapwing.results.uncertainty import Uncertainty, Variants

SIZE, RANK = 40, 12
START = np.array([0, 3, 4, 20])
RNG = np.random.default_rng(4)
SHARE = np.concatenate([RNG.dirichlet(np.ones(n)) for n in np.diff([*START, SIZE])])
PLUG_IN = RNG.dirichlet(np.ones(SIZE))


def law_of(seed: int, *, plug_in: np.ndarray = PLUG_IN, start: np.ndarray = START) -> Uncertainty:
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(start.size, RANK)).astype(np.float32).astype(np.float64)
    remainder = rng.random(SIZE).astype(np.float32).astype(np.float64)
    law = SpreadLaw(Spread(start, SHARE), rng.dirichlet(np.ones(start.size)), factor)
    return Uncertainty.spread(law, remainder, plug_in, 1000, "by hand")


def whole(**more: Any) -> Uncertainty:
    variants = Variants(law_of(1), law_of(2, **more), law_of(3))
    return replace(law_of(0), variants=variants, tails=0.5)


def through_a_file(law: Uncertainty) -> Uncertainty:
    return Uncertainty.from_document(json.loads(json.dumps(law.to_document())), symbols=SIZE)


def assert_same(one: Uncertainty, two: Uncertainty) -> None:
    for name in ("center", "remainder", "plug_in"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    np.testing.assert_array_equal(one.noise.factor, two.noise.factor)
    np.testing.assert_array_equal(one.noise.diagonal, two.noise.diagonal)
    # Sums depend on the order in memory, and bands on the sums.
    assert one.noise.factor.flags.f_contiguous and two.noise.factor.flags.f_contiguous
    assert (one.reports, one.method, one.tails) == (two.reports, two.method, two.tails)
    assert one.variants.listed().keys() == two.variants.listed().keys()
    for left, right in zip(
        one.variants.listed().values(), two.variants.listed().values(), strict=True
    ):
        assert_same(left, right)


def test_a_symbol_has_its_share_of_its_cell() -> None:
    law = law_of(0)
    assert law.of_cells is not None
    for symbol, cell in ((0, 0), (3, 1), (19, 2), (39, 3)):
        row = SHARE[symbol] * law.of_cells.factor[cell]
        np.testing.assert_array_equal(law.noise.factor[symbol], row)
        assert law.center[symbol] == SHARE[symbol] * law.of_cells.center[cell]


def test_a_file_holds_cells_and_gives_the_law_back() -> None:
    law = whole()
    document = law.to_document()
    assert_same(through_a_file(law), law)
    assert through_a_file(law).to_document() == document
    # The shares and the plug-in are held once; nobody needs a diagonal of zeros.
    assert "diagonal" not in document
    for variant in document["variants"].values():
        assert "cells" not in variant and "plug_in" not in variant
    by_symbol = replace(
        law,
        of_cells=None,
        variants=Variants(
            **{name: replace(one, of_cells=None) for name, one in law.variants.listed().items()}
        ),
    )
    # As files held it before, which are still read.
    assert "cells" not in by_symbol.to_document()
    older = through_a_file(by_symbol)
    np.testing.assert_allclose(older.noise.factor, law.noise.factor, rtol=1e-6)
    assert len(json.dumps(document)) < 0.4 * len(json.dumps(by_symbol.to_document()))


def test_a_variant_keeps_what_is_its_own() -> None:
    other = np.roll(PLUG_IN, 1)
    law = whole(plug_in=other)
    assert "plug_in" in law.to_document()["variants"]["empirical simultaneous"]
    assert_same(through_a_file(law), law)
    # Of other cells: then all hold their symbols.
    mixed = whole(start=np.array([0, 5, 9, 30]))
    assert "cells" not in mixed.to_document()
    back = through_a_file(mixed)
    np.testing.assert_allclose(back.noise.factor, mixed.noise.factor, rtol=1e-6)


def test_a_law_about_the_population_is_no_longer_that_of_the_cells() -> None:
    """It has the sampling of the people, too, which a file of the cells would leave out."""
    about = law_of(0).about("pointwise", "population")
    np.testing.assert_allclose(
        through_a_file(about).noise.variance(), about.noise.variance(), rtol=1e-5
    )
    assert (about.noise.variance() != law_of(0).noise.variance()).any()


def _cells(**more: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda document: document["cells"].update(more)


DAMAGED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "not from the first": _cells(start=[1, 3, 4, 20]),
    "falling": _cells(start=[0, 4, 3, 20]),
    "beyond the last": _cells(start=[0, 3, 4, 40]),
    "not whole": _cells(start=[0, 3.0, 4, 20]),
    "true": _cells(start=[0, True, 4, 20]),
    "no cells": _cells(start=[]),
    "a text": _cells(start="0"),
    "one cell less": _cells(start=[0, 3, 4]),
    "no shares": lambda document: document["cells"].pop("share"),
    "shares of others": lambda document: _cells(share=document["center"])(document),
    "cells of a list": lambda document: document.update(cells=[]),
    "no plug-in": lambda document: document.pop("plug_in"),
    "a diagonal": lambda document: document.update(diagonal=document["plug_in"]),
    "signs": lambda document: document.update(signs=encoded(-np.ones(RANK))),
    "cells in a variant": lambda document: document["variants"]["population pointwise"].update(
        cells=document["cells"]
    ),
    "variants in a variant": lambda document: document["variants"]["population pointwise"].update(
        variants={"population simultaneous": {}}
    ),
}


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_refused(damage: Callable[[dict[str, Any]], Any]) -> None:
    document = json.loads(json.dumps(whole().to_document()))
    damage(document)
    with pytest.raises(FormatError):
        Uncertainty.from_document(document, symbols=SIZE)
