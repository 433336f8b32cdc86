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
from typing import Any, get_args

import pytest

import lapwing as lw
from lapwing.declared import declared_fields
from lapwing.documents import nearest
from lapwing.public_names import RENAMED
from lapwing.registry import DECODERS, GROUPS, HOMES, KNOWN_AS, RANDOMIZERS
from tests.rows import each

NAMESPACES = [
    "client", "datasets", "decoders", "distances", "engines", "errors", "mechanisms", "plugins",
    "privacy", "questions", "randomizers", "shuffle", "tallies", "testing",
]  # fmt: skip
"""Modules among the public names."""

MOST_NAMES = 52

FOLDERS = ["randomizers", "decoders", "mechanisms"]
"""Modules that offer every public class of their folder."""

NAMES = [name for name in lw.__all__ if name not in NAMESPACES]

OLD_NAMES = """
    AdaptiveQuantiles AffineSubsetSelection Band BinomialSmoothing Block Candidates Categories
    CellCounts Certificate Channel CompressiveEstimate CompressivePrivatization Counts
    Cumulative CurveSum Difference Distribution ExhaustiveScan ExpectationMaximization
    ExpectedLabelError ExpectedReleaseError GaussianSmoothing GeneralWave
    GeneralizedRandomizedResponse Guarantee HaarHadamard HadamardResponse HashedTexts
    HeavyHitterSelection HeavyHitters Hierarchical HistogramQuery Integers Interval LabelCounts
    LabelShares LapwingError LeastSquares Ledger LedgerFile LinearHashing LocalHashing
    MatchingPursuit MixturePrior MultiscaleWave Normalization OptimizedUnaryEncoding
    PenalizedLikelihood Piecewise PoisoningAlarm PolynomialProjection PrefixExtension
    PrefixHashing PrefixSums PrivacyLoss PrivateBounds Promise Publication PursuitSite
    QuantileSite Rappor Recommendation Release ReportLog Reports RunningPrefixSums Segmented
    Series SignedEstimate SortedPoints SparseRecovery SpectralPrior SpectralPursuit SquareWave
    StepPursuit StochasticRounding SubsetSelection SumTree Summary Survey Threshold
    TreeConsistency UnaryEncoding Watch Wavelet WaveletClip Wiener allowed_band central
    decile_error decode_series decode_together decoders energy expected_label_release_error
    expected_release_error kolmogorov_smirnov kullback_leibler l1 l2 load_plugins local
    mean_error mean_squared_error people_to_notice poisoning_alarm private_bounds
    promise_of_each pursuit_of_sites quantiles_of_sites range_query_error read_release recommend
    register release secure seeded shuffle simulate tally_by_group testing variance_error
    wasserstein
"""
"""What `lapwing` offered before it offered fifty names."""


def test_the_list_is_sorted_short_and_true() -> None:
    assert len(lw.__all__) <= MOST_NAMES
    assert sorted(lw.__all__) == sorted({*NAMES, *NAMESPACES})
    assert {name for name in dir(lw) if not name.startswith("_")} == set(lw.__all__)
    modules = {info.name for info in pkgutil.iter_modules(lw.__path__)}
    assert not modules & set(NAMES), "a file of this name would take the place of the name"
    assert set(NAMESPACES) <= modules


MOST_MEMBERS = {"Distribution": 36, "SquareWave": 15}
"""Public members of a result and of a randomizer: what completion shows."""


@pytest.mark.parametrize("name", MOST_MEMBERS)
def test_a_class_shows_few_members(name: str) -> None:
    members = [member for member in dir(public(name)) if not member.startswith("_")]
    assert len(members) <= MOST_MEMBERS[name], members


def place_named(message: str) -> object:
    """Return what stands at the place that a message names, without calling it."""
    (place,) = re.findall(r". Use ([\w.]+)(?:\(.*\))?$", message)
    return eval(place, {"lw": lw, "survey": lw.Survey})


@pytest.mark.parametrize("name", OLD_NAMES.split())
def test_an_old_name_says_where_it_is_now(name: str) -> None:
    if name in lw.__all__:
        return
    with pytest.raises(AttributeError, match=rf"^lapwing has no {name}. Use ") as refused:
        getattr(lw, name)
    assert place_named(str(refused.value)) is not None
    # Python shows the message of an import only when it is an ImportError.
    with pytest.raises(ImportError, match=re.escape(str(refused.value))):
        exec(f"from lapwing import {name}")


def test_every_new_name_that_stands_in_the_table_exists() -> None:
    assert RENAMED and not set(RENAMED) & set(lw.__all__)
    for name, place in RENAMED.items():
        assert place_named(f"lapwing has no {name}. Use {place}") is not None


def test_a_file_of_the_package_is_imported_by_its_name() -> None:
    from lapwing import cli, documents

    assert cli.__name__ == "lapwing.cli" and documents.__name__ == "lapwing.documents"


@pytest.mark.parametrize("name", NAMESPACES)
def test_a_namespace_offers_what_it_says_and_is_documented(name: str) -> None:
    namespace = getattr(lw, name)
    assert namespace is importlib.import_module(f"lapwing.{name}")
    if name == "engines":  # its modules need packages that may be absent
        assert namespace.__all__ == ["arrow", "spark"]
        return
    listed = [word for word in dir(namespace) if name != "errors" or word.endswith("Error")]
    assert set(getattr(namespace, "__all__", listed)) <= {*dir(namespace)}
    for offered in getattr(namespace, "__all__", listed):
        assert (inspect.getdoc(getattr(namespace, offered)) or "").strip()


@pytest.mark.parametrize("name", FOLDERS)
def test_a_namespace_offers_all_public_classes_of_its_folder(name: str) -> None:
    lives = {n for n in NAMES if getattr(lw, n).__module__.startswith(f"lapwing.{name}.")}
    namespace = getattr(lw, name)
    table = {made.__name__ for made in GROUPS[f"lapwing.{name}"].values()}
    assert lives | (table - set(HOMES)) <= set(namespace.__all__)
    assert all(getattr(namespace, offered) is getattr(lw, offered) for offered in lives)


def test_each_name_stands_in_a_stub_once() -> None:
    """What a type checker and an editor read is what is imported."""
    for name in ("", *FOLDERS, "privacy", "protocol", "results", "planning", "survey"):
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
    with pytest.raises(AttributeError, match=r"^lapwing has no fish$"):
        _ = lw.fish


def test_a_name_that_is_near_another_is_told_where_that_is() -> None:
    with pytest.raises(AttributeError, match=r"\(did you mean lw.papers.wavelet.Wavelet\?\)$"):
        _ = lw.wavelet
    with pytest.raises(AttributeError, match=r"\(did you mean SquareWave\?\)$"):
        _ = lw.SquareWav
    for folder, name, near in (
        ("papers", "wavlet", "wavelet"),
        ("decoders", "Wienr", "lw.papers.convolution.Wiener"),
    ):
        with pytest.raises(AttributeError, match=f"^lapwing.{folder} has no {name} .*{near}"):
            getattr(importlib.import_module(f"lapwing.{folder}"), name)


@each("name", NAMES)
def test_every_name_is_documented_and_ours(name: str) -> None:
    thing = getattr(lw, name)
    assert thing.__module__.startswith("lapwing.")
    assert (inspect.getdoc(thing) or "").strip(), name
    assert thing.__name__ == name


@each("name", HOMES)
def test_a_method_of_a_paper_is_in_its_folder_and_other_folders_say_so(name: str) -> None:
    made = getattr(importlib.import_module(HOMES[name]), name)
    assert made.__module__.startswith(f"{HOMES[name]}.") and (inspect.getdoc(made) or "").strip()
    place = f"Use {HOMES[name].replace('lapwing', 'lw')}.{name}"
    for folder in (*FOLDERS, "survey", "papers"):
        with pytest.raises(AttributeError, match=rf"^lapwing.{folder} has no {name}. {place}$"):
            getattr(importlib.import_module(f"lapwing.{folder}"), name)
        with pytest.raises(ImportError, match=f"{place}$"):
            exec(f"from lapwing.{folder} import {name}")


@pytest.mark.parametrize("table", [RANDOMIZERS, DECODERS], ids=["randomizers", "decoders"])
def test_what_a_document_may_name_is_public(table: dict[str, Any]) -> None:
    for name, made in table.items():
        assert made.__name__ in {*lw.randomizers.__all__, *lw.decoders.__all__, *HOMES}
        # JSON and command-line names are the class name in kebab case.
        assert name == re.sub(r"(?<!^)(?=[A-Z])", "-", made.__name__).lower() == made.name
        assert dataclasses.is_dataclass(made)


def test_a_type_checker_lets_people_write_epsilon_as_they_may() -> None:
    """A number or a text goes in, a Fraction comes out; the field and the constructor say so."""
    for made in RANDOMIZERS.values():
        assert get_args(declared_fields(made)["epsilon"])[0] is Fraction
        source = inspect.getsource(made)
        assert "epsilon: ExactNumber" in source, f"{made.__name__}(domain, 1) would fail in mypy"


def public(name: str) -> Any:
    """Return what a public name stands for, in whatever public module it is."""
    try:
        return getattr(lw, name)
    except AttributeError as refused:
        return place_named(str(refused))


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
            "outside": None,
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
    "MultiscaleWave": (["domain", "epsilon"], {"components": None}),
    "LeastSquares": ([], {"signed": False}),
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
    found = inspect.signature(public(name)).parameters
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
    made = public(name)
    assert {method for method in METHODS[name] if not hasattr(made, method)} == set()


def test_a_certificate_has_its_exact_ratio() -> None:
    randomizer = lw.RandomizedResponse(lw.Integers(0, 3), 1)
    ratio = randomizer.certificate().ratio
    assert type(ratio) is Fraction
    assert Fraction("2.7182818") < ratio < Fraction("2.71828182845904523537")


def every_module() -> list[str]:
    found = pkgutil.walk_packages(lw.__path__, "lapwing.")
    return sorted(module.name for module in found if not module.name.endswith("__main__"))


@each("name", every_module())
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


def test_names_of_the_literature_and_near_ones_are_answered() -> None:
    for name, use in {
        "GRR": "lw.RandomizedResponse",
        "OUE": "lw.randomizers.OptimizedUnaryEncoding",
        "EM": "lw.decoders.ExpectationMaximization",
        "EMS": "smoothed=True",
        "laplace": "lw.release",
        "Laplace": "lw.release",
    }.items():
        with pytest.raises(AttributeError, match=f"lapwing has no {name}. Use .*{use}"):
            getattr(lw, name)
    for use in set(KNOWN_AS.values()) - {KNOWN_AS["laplace"], KNOWN_AS["histogram"]}:
        eval(use.partition(" (")[0], {"lw": lw})
    # Dashes make no option near.
    assert nearest("--mean", ["--segment"]) == ""
    assert nearest("--quantle", ["--quantile"]) == " (did you mean --quantile?)"


def test_what_is_declared_shows_ten_labels() -> None:
    labels = lw.Categories([f"label {number}" for number in range(16_470)])
    survey = lw.Survey("words", lw.SubsetSelection(labels, 1))
    for shown in (labels, lw.Interval(edges=range(999)), survey):
        assert len(repr(shown)) < 600
    assert "'label 9', ... 16,460 more" in repr(survey) and "label 10" not in repr(survey)
