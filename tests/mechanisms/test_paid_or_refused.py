"""Nothing is paid for and then refused: a release is made, or the ledger is as it was."""

import json
from fractions import Fraction

import numpy as np
import pytest

from lapwing.errors import ArgumentError, LapwingError, PrivacyError
from lapwing.mechanisms.continual_prefix_sums import RunningPrefixSums
from lapwing.mechanisms.histogram_query import HistogramQuery
from lapwing.mechanisms.label_counts import LabelCounts
from lapwing.mechanisms.prefix_sums import PrefixSums
from lapwing.mechanisms.private_bounds import private_bounds
from lapwing.mechanisms.sum_tree import SumTree
from lapwing.papers.functional_approximation.adaptive_quantiles import AdaptiveQuantiles
from lapwing.papers.functional_approximation.matching_pursuit import MatchingPursuit
from lapwing.papers.functional_approximation.polynomial_projection import PolynomialProjection
from lapwing.privacy.guarantee import Guarantee
from lapwing.privacy.integer_noise import Noise, Sensitivity, calibrated
from lapwing.privacy.ledger import Ledger
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import scalar_below, seeded
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Release
from lapwing.registry import MECHANISMS
from lapwing.survey.curator_release import release
from lapwing.survey.publication import check_people, checked_loss

EVERY = [
    PrefixSums(),
    PrefixSums(noise="laplace"),
    PrefixSums(noise="discrete-normal"),
    SumTree(),
    SumTree(strategy="haar"),
    HistogramQuery(2),
    LabelCounts(),
    PolynomialProjection(2),
    PolynomialProjection(2, basis="fourier", shape="diagonal"),
    PolynomialProjection(1, shape="moments"),
    AdaptiveQuantiles(),
    AdaptiveQuantiles(4, guarded=False),
    MatchingPursuit(1, atoms=2),
    MatchingPursuit(2, "splines", atoms=3, form="published"),
    RunningPrefixSums(3),
]
PROMISES = [
    *(
        {"epsilon": epsilon, "delta": delta}
        for epsilon in ("1e-12", "1", "24")
        for delta in ("0", "0.99")
    ),
    *({kind: size} for kind in ("mu", "rho") for size in ("1e-12", "1")),
]
RELATIONS = ("replace-one", "add-or-remove-one")
TWO, TWELVE = Interval(0, 1, bins=2), Interval(0, 1, bins=12)


@pytest.fixture
def ledger(tmp_path):
    def made(relation="replace-one"):
        file = Ledger.open(tmp_path / f"{relation}.json")
        file.path.unlink(missing_ok=True)
        Ledger(Guarantee(Fraction(1000), Fraction(999, 1000), relation, "central")).save(file.path)
        return file

    return made


def states(file):
    return [entry["state"] for entry in json.loads(file.path.read_bytes())["entries"]]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("mechanism", EVERY, ids=repr)
@pytest.mark.filterwarnings("ignore::lapwing.errors.PrivacyWarning")
def test_at_the_edges_it_releases_or_refuses_before_it_is_paid(mechanism, relation, ledger):
    outcomes = set()
    file = ledger(relation)
    for promise in PROMISES:
        before = file.path.read_bytes()
        try:
            made = release(
                np.linspace(0, 1, 40),
                TWO,
                neighbors=relation,
                mechanism=mechanism,
                ledger=file,
                **promise,
            )
        except LapwingError:
            assert file.path.read_bytes() == before, promise
            outcomes.add("refused")
        else:
            # It can be decoded, and read again: what was paid for is of use.
            assert made.distribution.mass.sum() == pytest.approx(1)
            assert Release.from_document(made.release.to_document()).people == made.release.people
            assert states(file)[-1] == "released"
            file = ledger(relation)
            outcomes.add("released")
    hides = relation == "replace-one" or mechanism.linear
    assert outcomes == ({"released", "refused"} if hides else {"refused"})


def test_every_mechanism_is_tried():
    assert {type(mechanism) for mechanism in EVERY} == set(MECHANISMS.values())


class TestRefusedBeforeThePayment:
    # Each of these once raised, or went on for ever, after the ledger was written.
    @pytest.mark.parametrize(
        ("mechanism", "promise", "message"),
        [
            (MatchingPursuit(1, atoms=2), {"epsilon": "1e-12"}, "cannot be drawn"),
            (PrefixSums(), {"epsilon": "1e-9"}, "cannot be drawn"),
            (PrefixSums(), {"mu": "1e-12"}, "cannot be drawn"),
            (PrefixSums(noise="discrete-normal"), {"epsilon": 1}, "delta"),
        ],
        ids=["pursuit", "pure", "mu", "discrete"],
    )
    def test_noise_that_cannot_be_drawn(self, mechanism, promise, message, ledger):
        file = ledger()
        before = file.path.read_bytes()
        arguments = dict(neighbors="replace-one", mechanism=mechanism, ledger=file, **promise)
        with pytest.raises(PrivacyError, match=message):
            release([0.5], TWELVE, **arguments)
        assert file.path.read_bytes() == before

    @pytest.mark.filterwarnings("ignore::lapwing.errors.PrivacyWarning")
    def test_too_many_people_for_a_mechanism(self, ledger):
        file = ledger()
        before = file.path.read_bytes()
        domain = TWO.for_curator()
        held = ExactCounts(domain, np.array([2**34, 0, 0]))
        arguments = dict(neighbors="replace-one", epsilon=1, delta="1e-6", ledger=file)
        with pytest.raises(ArgumentError, match="computes exact sums for at most"):
            release(held, mechanism=RunningPrefixSums(2), **arguments)
        assert file.path.read_bytes() == before
        most = ExactCounts(domain, np.array([2**34 - 1, 0, 0]))
        assert (
            release(most, mechanism=RunningPrefixSums(2), **arguments).release.people == most.people
        )
        check_people(PrefixSums(), held)

    def test_one_symbol_has_no_distribution_function(self, ledger):
        file = ledger()
        before = file.path.read_bytes()
        for mechanism in EVERY:
            with pytest.raises(ArgumentError):
                release(
                    [0.5],
                    Interval(0, 1, bins=1),
                    neighbors="replace-one",
                    epsilon=1,
                    delta="1e-6",
                    mechanism=mechanism,
                    ledger=file,
                )
        assert file.path.read_bytes() == before

    def test_a_mechanism_that_would_cost_more_than_the_promise(self, ledger, monkeypatch):
        file = ledger()
        before = file.path.read_bytes()
        monkeypatch.setattr(
            Noise, "loss", lambda self, _, loss=Noise.loss: loss(self, Sensitivity(10**9, 10**9))
        )
        with pytest.raises(PrivacyError, match="more than the privacy parameters allow"):
            release([0.5], TWO, neighbors="replace-one", epsilon=1, ledger=file)
        assert file.path.read_bytes() == before

    def test_an_optional_backend_that_is_not_there(self, ledger, monkeypatch):
        import sys

        monkeypatch.setitem(sys.modules, "opendp", None)
        monkeypatch.setitem(sys.modules, "opendp.prelude", None)
        file = ledger()
        before = file.path.read_bytes()
        with pytest.raises(ImportError, match="opendp"):
            release(
                [0.5],
                TWO,
                neighbors="replace-one",
                epsilon=1,
                delta="1e-6",
                mechanism=PrefixSums(noise="discrete-normal"),
                ledger=file,
            )
        assert file.path.read_bytes() == before

    @pytest.mark.parametrize("epsilon", ["1e-12", "1e-9"])
    def test_bounds(self, epsilon, ledger):
        file = ledger()
        before = file.path.read_bytes()
        try:
            private_bounds([1.0], neighbors="replace-one", epsilon=epsilon, ledger=file)
        except PrivacyError:
            assert file.path.read_bytes() == before
        else:
            assert states(file) == ["released"]


class TestTheNoise:
    def test_what_is_calibrated_can_be_drawn(self):
        for promise in PROMISES:
            for size in (1, 10**6, 10**12, 10**18):
                try:
                    noise = calibrated(Promise("replace-one", **promise), Sensitivity(size, size))
                except PrivacyError:
                    continue
                assert noise.draw(3, seeded(1)).shape == (3,)

    def test_one_law_that_can_be_drawn_is_enough(self):
        # Laplace noise of 10^15 cannot be drawn, normal noise can.
        promise = Promise("replace-one", epsilon="1e-3", delta="1e-9")
        assert calibrated(promise, Sensitivity(10**18, 10**12)).kind == "normal"
        with pytest.raises(PrivacyError, match="cannot be drawn"):
            calibrated(promise, Sensitivity(10**18, 10**12), kind="laplace")

    @pytest.mark.parametrize("bound", [0, -1, 2**64 + 1, 2**70])
    def test_a_bound_beyond_a_word_is_refused_and_does_not_hang(self, bound):
        with pytest.raises(ArgumentError, match="bound"):
            scalar_below(iter([0, 1, 2**64 - 1]), bound)
        assert scalar_below(iter([2**64 - 1]), 2**64) == 2**64 - 1

    @pytest.mark.parametrize("scale", ["1/" + "9" * 150, "9" * 400, "281474976710657"])
    def test_noise_that_nobody_can_have_drawn_is_not_read(self, scale):
        with pytest.raises(LapwingError, match=r"cannot have been drawn|between 1e-100 and 1e100"):
            Noise.from_document({"kind": "laplace", "scale": scale})


def test_what_a_command_asks_before_it_pays_is_the_same():
    refused = Promise("replace-one", epsilon="1e-12")
    for mechanism in (PrefixSums(), MatchingPursuit(1, atoms=2), SumTree(strategy="haar")):
        with pytest.raises(PrivacyError, match="cannot be drawn"):
            checked_loss(mechanism, TWELVE.for_curator(), refused)


@pytest.mark.parametrize("form", ["repaired", "published"])
def test_more_terms_than_functions_are_refused_before_anything_is_paid(form):
    # Of three functions two are left when they are made orthogonal on two symbols.
    domain, promise = TWO.for_curator(), Promise("replace-one", epsilon=1)
    for terms in (1, 2):
        mechanism = MatchingPursuit(terms, atoms=3, orthogonal=True, form=form)
        held = ExactCounts(domain, np.array([1, 2, 3]))
        assert checked_loss(mechanism, domain, promise).epsilon > 0
        assert mechanism.release(held, promise, rng=seeded(1)).answers.size == terms
    with pytest.raises(ArgumentError, match="Use fewer terms"):
        checked_loss(MatchingPursuit(3, atoms=3, orthogonal=True, form=form), domain, promise)
