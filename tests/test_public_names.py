"""What `import lapwing as lw` offers, and the signatures that users and checks rely on."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import importlib.metadata
import inspect
import pkgutil
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import lapwing as lw
from lapwing.survey.registry import DECODERS, RANDOMIZERS

NAMESPACES = ["decoders", "mechanisms", "randomizers", "shuffle", "testing"]
"""Modules among the public names."""

NAMES = [name for name in lw.__all__ if name not in NAMESPACES]


def test_the_list_is_sorted_complete_and_true() -> None:
    assert sorted(lw.__all__) == sorted({*NAMES, *NAMESPACES})
    assert {name for name in dir(lw) if not name.startswith("_")} == set(lw.__all__)
    modules = {info.name for info in pkgutil.iter_modules(lw.__path__)}
    assert not modules & set(NAMES), "a file of this name would take the place of the name"
    assert set(NAMESPACES) <= modules


@pytest.mark.parametrize("name", NAMESPACES)
def test_a_namespace_offers_what_it_says_and_is_documented(name: str) -> None:
    namespace = getattr(lw, name)
    assert namespace is importlib.import_module(f"lapwing.{name}")
    assert namespace.__all__ and set(namespace.__all__) <= {*dir(namespace)}
    for offered in namespace.__all__:
        thing = getattr(namespace, offered)
        assert thing.__name__ == offered and (inspect.getdoc(thing) or "").strip()


@pytest.mark.parametrize("name", ["decoders", "mechanisms", "randomizers"])
def test_a_namespace_offers_all_public_classes_of_its_folder(name: str) -> None:
    lives = {n for n in NAMES if getattr(lw, n).__module__.startswith(f"lapwing.{name}.")}
    namespace = getattr(lw, name)
    assert lives == set(namespace.__all__)
    assert all(getattr(namespace, offered) is getattr(lw, offered) for offered in lives)


def test_each_name_stands_in_a_stub_once() -> None:
    """What a type checker and an editor read is what is imported."""
    for name in ("", "decoders", "mechanisms", "randomizers"):
        package = importlib.import_module(f"lapwing.{name}".rstrip("."))
        stub = Path(str(package.__file__)).with_suffix(".pyi")
        tree = ast.parse(stub.read_text("utf-8"))
        nodes = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
        offered = [alias for node in nodes for alias in node.names]
        # Without "as", the name would be private to the stub.
        assert all(alias.name == alias.asname for alias in offered)
        assert sorted(alias.name for alias in offered) == sorted(package.__all__)
        for node in nodes:
            assert node.level == 1 and (node.module or not name)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="attribute fish"):
        _ = lw.fish


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_documented_and_ours(name: str) -> None:
    thing = getattr(lw, name)
    assert thing.__module__.startswith("lapwing.")
    assert (inspect.getdoc(thing) or "").strip(), name
    assert thing.__name__ == name


@pytest.mark.parametrize("table", [RANDOMIZERS, DECODERS], ids=["randomizers", "decoders"])
def test_what_a_document_may_name_is_public(table: dict[str, Any]) -> None:
    for name, made in table.items():
        assert made.__name__ in NAMES
        # JSON and command-line names are the class name in kebab case.
        assert name == re.sub(r"(?<!^)(?=[A-Z])", "-", made.__name__).lower() == made.name
        assert dataclasses.is_dataclass(made)


def test_a_type_checker_lets_people_write_epsilon_as_they_may() -> None:
    """A number or a text goes in, a Fraction comes out; the field and the constructor say so."""
    for made in RANDOMIZERS.values():
        (written,) = [field.type for field in dataclasses.fields(made) if field.name == "epsilon"]
        assert written == "Fraction"
        source = inspect.getsource(made)
        assert "epsilon: ExactNumber" in source, f"{made.__name__}(domain, 1) would fail in mypy"


KEYWORD, POSITIONAL = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
NONE = inspect.Parameter.empty

SIGNATURES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "Interval": (
        ["low", "high"],
        {
            "bins": None,
            "circular": False,
            "scale": "linear",
            "atoms": (),
            "outside": "clip",
            "missing": "refuse",
            "closed": None,
            "edges": None,
        },
    ),
    "Integers": (["low", "high"], {}),
    "Categories": (["labels"], {}),
    "RandomizedResponse": (["domain", "epsilon"], {}),
    "UnaryEncoding": (["domain", "epsilon"], {}),
    "OptimizedUnaryEncoding": (["domain", "epsilon"], {}),
    "SquareWave": (["domain", "epsilon"], {"width": None, "grid": None}),
    "SubsetSelection": (["domain", "epsilon"], {}),
    "MultiscaleWave": (["domain", "epsilon"], {"parts": None}),
    "LeastSquares": ([], {"simplex": True}),
    "ExpectationMaximization": ([], {"smoothed": False}),
    "Survey": (["name", "randomizer"], {}),
    "simulate": (["randomizer", "counts"], {"rng": NONE}),
    "wasserstein": (["first", "second"], {"grid": None, "circular": False}),
    "kolmogorov_smirnov": (["first", "second"], {}),
    "energy": (["first", "second"], {}),
    "Guarantee": (["epsilon", "delta", "neighbors", "model"], {}),
}
"""From DESIGN, as far as it is built: arguments by position, and by keyword with defaults."""


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures_are_the_agreed_ones(name: str) -> None:
    positional, keywords = SIGNATURES[name]
    found = inspect.signature(getattr(lw, name)).parameters
    assert [n for n, p in found.items() if p.kind is POSITIONAL] == positional
    for keyword, default in keywords.items():
        assert found[keyword].kind is KEYWORD and found[keyword].default == default


METHODS: dict[str, set[str]] = {
    "Distribution": {
        "pdf", "cdf", "quantile", "probability", "mean", "variance", "sample", "confidence_band",
        "plot", "to_json", "from_json",
    },
    "SignedEstimate": {"cdf", "probability", "confidence_band", "project"},
    "Survey": {"randomize", "tally", "decode", "to_json", "from_json", "fingerprint"},
    "Certificate": {"holds", "loss", "check"},
    "SquareWave": {
        "channel", "guarantee", "certificate", "randomize", "from_words", "tally", "report_width",
        "fingerprint",
    },
    "CountTally": {"__add__", "__radd__", "total", "to_document", "from_document"},
    "Ledger": {"spend", "spent", "remaining", "to_document", "from_document"},
    "Channel": {"check"},
    "Block": {"mean", "covariance", "score_and_information", "sample"},
}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_the_agreed_ones(name: str) -> None:
    made = getattr(lw, name)
    assert {method for method in METHODS[name] if not hasattr(made, method)} == set()


def test_a_certificate_has_its_exact_ratio() -> None:
    randomizer = lw.RandomizedResponse(lw.Integers(0, 3), 1)
    ratio = randomizer.certificate().ratio
    assert type(ratio) is Fraction
    assert Fraction("2.7182818") < ratio < Fraction("2.71828182845904523537")


def every_module() -> list[str]:
    found = pkgutil.walk_packages(lw.__path__, "lapwing.")
    return sorted(module.name for module in found if not module.name.endswith("__main__"))


@pytest.mark.parametrize("name", every_module())
def test_every_file_can_be_imported_and_says_what_it_is(name: str) -> None:
    module = importlib.import_module(name)
    assert (module.__doc__ or "").strip(), name
    for thing in vars(module).values():
        ours = inspect.isclass(thing) or inspect.isfunction(thing)
        if ours and thing.__module__ == name and not thing.__name__.startswith("_"):
            assert inspect.getdoc(thing), f"{name}.{thing.__name__}"


def test_the_version_is_that_of_the_distribution() -> None:
    assert lw.__version__ == importlib.metadata.version("lapwing")
    assert re.fullmatch(r"\d+\.\d+\.\d+([ab]\d+|rc\d+)?", lw.__version__)
