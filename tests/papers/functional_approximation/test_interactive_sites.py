"""Sites that a hub asks: each keeps its own promise, whatever the hub, and pays for it once."""

import copy
import os
import pickle
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy import stats

from lapwing.errors import ArgumentError, BudgetError, MismatchError, PrivacyError
from lapwing.papers.functional_approximation import interactive_sites
from lapwing.papers.functional_approximation.adaptive_quantiles import (
    AdaptiveQuantiles,
    noisy_answers,
)
from lapwing.papers.functional_approximation.interactive_sites import (
    PursuitSite,
    QuantileSite,
    pursuit_of_sites,
    quantiles_of_sites,
)
from lapwing.papers.functional_approximation.matching_pursuit import (
    MatchingPursuit,
    PursuitPlan,
    pursue,
)
from lapwing.papers.functional_approximation.plain_curves import CurveSum, SortedPoints
from lapwing.privacy.guarantee import Guarantee
from lapwing.privacy.integer_noise import Noise
from lapwing.privacy.ledger import Ledger
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Release
from tests.papers.functional_approximation.test_matching_pursuit_law import log_chosen

DOMAIN = Interval(0, 1, bins=32, outside="clip")
PURE = Promise("replace-one", epsilon=1)
APPROXIMATE = Promise("replace-one", epsilon=1, delta="1e-6")
LOUD = Promise("replace-one", epsilon=24)
SIZES = (600, 300, 1100)
KINDS = [
    (QuantileSite, AdaptiveQuantiles(7), quantiles_of_sites),
    (PursuitSite, MatchingPursuit(3, atoms=8), pursuit_of_sites),
    (PursuitSite, MatchingPursuit(3, "splines", atoms=8, form="published"), pursuit_of_sites),
]
EVERY = pytest.mark.parametrize(
    ("kind", "mechanism", "hub"), KINDS, ids=["quantiles", "pursuit", "published"]
)


def summaries():
    rng = np.random.default_rng(1)
    return [ExactCounts.of_values(rng.beta(5, 2 + k, n), DOMAIN) for k, n in enumerate(SIZES)]


def sites_of(kind, mechanism, promise=PURE, **options):
    return [
        kind(mechanism, one, promise, rng=seeded(number), **options)
        for number, one in enumerate(summaries())
    ]


def quiet(monkeypatch):
    monkeypatch.setattr(Noise, "draw", lambda self, count, source: np.zeros(count, dtype=np.int64))
    monkeypatch.setattr(PursuitPlan, "choose", lambda self, scores, source: int(np.argmax(scores)))


@EVERY
class TestEverySite:
    def test_the_release_of_all_verifies_and_keeps_each_promise(self, kind, mechanism, hub):
        promises = [PURE, Promise("replace-one", epsilon=2), PURE]
        sites = [
            kind(mechanism, one, promise, rng=seeded(number))
            for number, (one, promise) in enumerate(zip(summaries(), promises, strict=True))
        ]
        found = Release.from_document(hub(sites).to_document())
        assert found.people == sum(SIZES) and len(found.parts) == 3
        assert [part.promise for part in found.parts] == promises
        assert found.variance == sum(site.release_part.noise.variance for site in sites)
        assert found.guarantee.epsilon == 2
        for part in found.parts:
            assert part.loss.within(part.promise.epsilon, part.promise.delta)

    def test_the_ledger_pays_first_and_once(self, kind, mechanism, hub, tmp_path, monkeypatch):
        ledger = Ledger.open(tmp_path / "budget.json")
        Ledger(Guarantee(1, 0, "replace-one", "central")).save(ledger.path)
        held = summaries()[0]
        site = kind(mechanism, held, PURE, ledger=ledger, name="here")
        (entry,) = ledger.read().entries
        assert (entry.name, entry.release, entry.state) == (
            "here",
            site.release_part.identifier,
            "released",
        )
        drawn = []
        draw = Noise.draw
        monkeypatch.setattr(Noise, "draw", lambda *args: drawn.append(1) or draw(*args))
        with pytest.raises(BudgetError):
            kind(mechanism, held, PURE, ledger=ledger)
        assert not drawn and len(ledger.read().entries) == 1
        assert hub([site]).parts[0].identifier == entry.release

    def test_what_is_refused_is_not_paid_for(self, kind, mechanism, hub, tmp_path):
        ledger = Ledger.open(tmp_path / "budget.json")
        Ledger(Guarantee(9, "1e-6", "add-or-remove-one", "central")).save(ledger.path)
        hidden = Promise("add-or-remove-one", epsilon=1, delta="1e-6")
        with pytest.raises(PrivacyError, match="must be public"):
            kind(mechanism, summaries()[0], hidden, ledger=ledger)
        with pytest.raises(ArgumentError, match="ExactCounts"):
            kind(mechanism, [0.5], PURE, ledger=ledger)
        other = KINDS[kind is QuantileSite][1]
        with pytest.raises(ArgumentError, match=f"answers for {mechanism.name}"):
            kind(other, summaries()[0], PURE, ledger=ledger)
        assert not ledger.read().entries
        assert hub is not None

    def test_there_is_one_of_each(self, kind, mechanism, hub, monkeypatch):
        site = kind(mechanism, summaries()[0], PURE, rng=seeded(1))
        for again in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(PrivacyError, match="noise again"):
                again(site)
        with pytest.raises(MismatchError, match="twice"):
            hub([site, site])
        # As in a process that was forked off, and in one that got the id of its ancestor.
        with monkeypatch.context() as forked:
            forked.setattr(interactive_sites.os, "getpid", lambda: 1 - os.getppid())
            with pytest.raises(PrivacyError, match="forked"):
                hub([site])
        interactive_sites._start_child()
        with pytest.raises(PrivacyError, match="forked"):
            hub([site])

    def test_what_fails_while_it_is_drawn_stays_paid(
        self, kind, mechanism, hub, tmp_path, monkeypatch
    ):
        ledger = Ledger.open(tmp_path / "budget.json")
        Ledger(Guarantee(1, 0, "replace-one", "central")).save(ledger.path)
        seen = []

        def failing(self, count, source):
            seen.extend((entry.name, entry.state) for entry in ledger.read().entries)
            raise RuntimeError("killed")

        held = summaries()[0]
        with monkeypatch.context() as killed:
            killed.setattr(Noise, "draw", failing)
            with pytest.raises(RuntimeError, match="killed"):
                hub([kind(mechanism, held, PURE, ledger=ledger, name="here")])
        # A site that draws at once is paid for when it does; what it drew cannot be known.
        early = kind is QuantileSite
        assert ("here", "reserved" if early else "released") in seen
        assert [one.state for one in ledger.read().entries] == ["reserved" if early else "released"]
        with pytest.raises(BudgetError):
            kind(mechanism, held, PURE, ledger=ledger)

    def test_a_site_may_have_nobody_or_missing_values_only(self, kind, mechanism, hub):
        for held, people in (([], 0), ([np.nan] * 40, 40)):
            empty = ExactCounts.of_values(held, DOMAIN)
            for others in ([], summaries()[:1]):
                found = hub([kind(mechanism, one, PURE, rng=seeded(1)) for one in [empty, *others]])
                assert Release.from_document(found.to_document()) == found
                assert found.people == people + 600 * len(others)

    def test_nothing_is_given_twice(self, kind, mechanism, hub):
        sites = sites_of(kind, mechanism)
        hub(sites)
        with pytest.raises(BudgetError, match="paid for"):
            hub(sites)

    def test_the_hub_asks_only_sites_that_belong_together(self, kind, mechanism, hub):
        held = summaries()[0]
        site = kind(mechanism, held, PURE, rng=seeded(1))
        elsewhere = ExactCounts.of_values([0.5] * 9, Interval(0, 2, bins=32, outside="clip"))
        other = kind(mechanism, elsewhere, PURE, rng=seeded(2))
        with pytest.raises(MismatchError, match="same domain"):
            hub([site, other])
        with pytest.raises(ArgumentError, match="at least one"):
            hub([])
        assert hub([site]).people == SIZES[0]

    def test_nothing_secret_is_shown(self, kind, mechanism, hub):
        site = kind(mechanism, summaries()[0], PURE, rng=seeded(1))
        assert "600" not in repr(site) and hub is not None


class TestQuantiles:
    def test_a_hub_that_asks_for_the_worst_learns_what_is_charged_and_no_more(self, monkeypatch):
        quiet(monkeypatch)
        domain = Interval(0, 1, bins=5).for_curator()
        mechanism = AdaptiveQuantiles(4, noise="normal")
        worst = 0
        for first, second in permutations(range(domain.size), 2):
            units = np.eye(domain.size, dtype=np.int64)
            moved = []
            for place in range(6):
                one, two = (
                    QuantileSite(
                        mechanism, ExactCounts(domain, units[s]), APPROXIMATE, rng=seeded(1)
                    )
                    for s in (first, second)
                )
                moved.append(abs(one.below(place) - two.below(place)))
            worst = max(worst, *moved)
        loss = mechanism.loss(domain, APPROXIMATE)
        noise, _ = mechanism.noise_of(APPROXIMATE)
        # Asked at that place every time: the squares of four answers.
        assert loss.mu_squared == Fraction(4 * worst**2) / noise.scale**2

    def test_it_asks_and_answers_as_one_table_with_the_summed_noise(self, monkeypatch):
        noises = iter(np.random.default_rng(4).integers(-40, 40, (3, 7)))
        drawn = []
        monkeypatch.setattr(
            Noise, "draw", lambda self, count, source: drawn.append(next(noises)) or drawn[-1]
        )
        found = quantiles_of_sites(sites_of(QuantileSite, AdaptiveQuantiles(7)))
        everyone = sum(summaries()[1:], summaries()[0])
        below = np.append(0, np.cumsum(everyone.counts[:32]))
        # The noise of a site is taken from its end.
        summed = np.sum(drawn, axis=0)[::-1]
        assert found.answers.tolist() == noisy_answers(below, summed, people=everyone.people)

    def test_every_site_has_noise_of_its_own(self):
        # Noise that is added to the sum once would be that of one site, or of none.
        steps, sites = 400, []
        for number in range(3):
            nobody = ExactCounts.of_values([], DOMAIN)
            sites.append(
                QuantileSite(AdaptiveQuantiles(steps), nobody, APPROXIMATE, rng=seeded(number))
            )
        scale = float(sites[0].release_part.noise.scale)
        answers = np.array([[site.below(9) for _ in range(steps)] for site in sites])
        for own in answers:
            # Fails once in a million.
            spread = (own**2).sum() / scale**2
            assert stats.chi2.ppf(5e-7, steps) < spread < stats.chi2.isf(5e-7, steps)
        correlation = np.corrcoef(answers)[np.triu_indices(3, 1)]
        assert np.abs(correlation).max() < 5.1 / steps**0.5

    @pytest.mark.parametrize("place", [-1, 33, 1.0, True, None, np.int64(3)])
    def test_a_place_that_is_none_costs_nothing(self, place):
        site = QuantileSite(AdaptiveQuantiles(1), summaries()[0], PURE, rng=seeded(1))
        with pytest.raises(ArgumentError, match="place"):
            site.below(place)
        site.below(32)
        with pytest.raises(BudgetError, match="1 answers"):
            site.below(0)

    def test_much_is_learned_with_little_noise(self):
        found = quantiles_of_sites(sites_of(QuantileSite, AdaptiveQuantiles(20), LOUD))
        everyone = sum(summaries()[1:], summaries()[0])
        result = SortedPoints().decode(found.channel, found)
        truth = np.cumsum(everyone.counts[:32]) / everyone.people
        assert np.abs(np.cumsum(result.mass)[:32] - truth).max() < 0.05


SMALL = Interval(-1, 1, bins=4).for_curator()
TINY = [
    MatchingPursuit(2, dictionary, atoms=4, form=form)
    for dictionary in ("legendre", "fourier")
    for form in ("repaired", "published")
]


def worst_round(mechanism, monkeypatch, *, promise=PURE, said_of=4):
    """Return the largest log-ratio of a vote and a product, over neighbors and what is said.

    The hub says anything: other functions, and products far from those of any rows. What is drawn
    is recorded, so it is the noise of the site's own answers and not what it should be.
    """
    seen, scales = [], []
    monkeypatch.setattr(
        PursuitPlan, "choose", lambda self, scores, source: seen.append((scores, self)) or 0
    )
    monkeypatch.setattr(
        Noise,
        "draw",
        lambda self, count, source: (
            scales.append(float(self.scale)) or np.zeros(count, dtype=np.int64)
        ),
    )
    rng = np.random.default_rng(3)
    said = [([], [])] + [
        ([int(rng.integers(4))], [int(rng.integers(-(2**23), 2**23))]) for _ in range(said_of)
    ]
    units = np.eye(SMALL.size, dtype=np.int64)

    def two(first, second):
        return [
            PursuitSite(mechanism, ExactCounts(SMALL, units[0] + units[s]), promise, rng=seeded(1))
            for s in (first, second)
        ]

    worst = 0.0
    for first, second in combinations(range(SMALL.size), 2):
        votes, products = [], []
        for chosen, answers in said:
            for site in two(first, second):
                site.vote(chosen, answers, 3)
            laws = [log_chosen(scores, plan) for scores, plan in seen[-2:]]
            assert len(laws[0]) == sum(mechanism.again or a not in chosen for a in range(4))
            votes.append(np.abs(laws[0] - laws[1]).max())
        for atom in range(4):
            one, other = (site.product(atom) for site in two(first, second))
            products.append(abs(one - other) / min(scales[-2:]))
        # The hub may name any function, so the worst vote comes with the worst product.
        worst = max(worst, max(votes) + max(products))
    return worst


class TestPursuit:
    @pytest.mark.parametrize("mechanism", TINY, ids=lambda m: f"{m.dictionary}-{m.form}")
    def test_whatever_the_hub_says_a_site_keeps_its_promise(self, mechanism, monkeypatch):
        worst = mechanism.terms * worst_round(mechanism, monkeypatch)
        assert 0.5 < worst <= float(mechanism.loss(SMALL, PURE).epsilon) * (1 + 1e-6)
        assert worst <= 1 + 1e-6

    def test_a_vote_with_less_noise_is_found(self, monkeypatch):
        # A choice charged half of what residuals move against each other, as the paper does.
        plan = MatchingPursuit.plan

        def short(self, domain, promise):
            made = plan(self, domain, promise)
            return PursuitPlan(
                made.rounds, made.selection / 3, made.gumbel, made.record, made.ranges, made.loss
            )

        monkeypatch.setattr(MatchingPursuit, "plan", short)
        assert TINY[0].terms * worst_round(TINY[0], monkeypatch) > 1.1

    def test_a_product_with_less_noise_is_found(self, monkeypatch):
        record = PursuitPlan.weight_noise
        monkeypatch.setattr(
            PursuitPlan,
            "weight_noise",
            lambda self, atom: Noise(self.record.kind, record(self, atom).scale / 2),
        )
        assert TINY[0].terms * worst_round(TINY[0], monkeypatch) > 1.1

    @pytest.mark.parametrize(
        ("answer", "drawing"),
        [
            (lambda site: site.vote([], [], 600), (PursuitPlan, "choose")),
            (lambda site: site.product(3), (Noise, "draw")),
        ],
        ids=["vote", "product"],
    )
    def test_an_answer_is_spent_before_it_is_drawn(self, monkeypatch, answer, drawing):
        site = PursuitSite(MatchingPursuit(1, atoms=8), summaries()[0], PURE, rng=seeded(1))

        def meanwhile(self, *given):
            # As another thread does while this answer is under way.
            with pytest.raises(BudgetError, match=r"1 (votes|products)"):
                answer(site)
            raise RuntimeError("killed")

        with monkeypatch.context() as killed:
            killed.setattr(*drawing, meanwhile)
            with pytest.raises(RuntimeError, match="killed"):
                answer(site)
        with pytest.raises(BudgetError, match=r"1 (votes|products)"):
            answer(site)

    def test_every_answer_has_noise_of_its_own(self):
        # Noise that came again would cancel between answers to one question.
        mechanism = MatchingPursuit(40, atoms=40)
        tiny = Promise("replace-one", epsilon="1/1000")
        sites = [PursuitSite(mechanism, one, tiny, rng=seeded(5)) for one in summaries()[:1] * 2]
        first, second = sites
        products = [first.product(3) for _ in range(40)]
        assert len(set(products)) > 35
        # Of one function many times, were the choice not drawn anew: each has 1 in 40.
        assert len({second.vote([], [], 600) for _ in range(40)}) > 12

    def test_a_product_has_no_more_noise_than_its_own_function_needs(self, monkeypatch):
        scales = []
        monkeypatch.setattr(
            Noise, "draw", lambda self, count, source: scales.append(self.scale) or [0]
        )
        mechanism = MatchingPursuit(4, atoms=8)
        site = PursuitSite(mechanism, summaries()[0], PURE, rng=seeded(1))
        plan = mechanism.plan(site.domain, PURE)
        for atom in (0, 7):
            site.product(atom)
        assert scales == [plan.weight_noise(0).scale, plan.weight_noise(7).scale]
        assert 2 * scales[1] < scales[0]

    def test_a_site_shares_what_is_explained_by_its_people(self, monkeypatch):
        seen = []
        monkeypatch.setattr(
            PursuitPlan, "choose", lambda self, scores, source: seen.append(scores) or 0
        )
        mechanism = MatchingPursuit(3, atoms=8)
        site = PursuitSite(mechanism, summaries()[1], PURE, rng=seeded(1))
        exact = site._exact.copy()
        site.vote([2], [3 * 10**6], 1200)
        gram = mechanism.curves(site.domain).gram
        expected = np.abs(exact - np.rint(3 * 10**6 * gram[2] * 300 / 1200))
        assert np.abs(seen[0] - np.delete(expected, 2)).max() <= 1

    @pytest.mark.parametrize("form", ["repaired", "published"])
    def test_without_noise_one_site_is_one_table(self, monkeypatch, form):
        quiet(monkeypatch)
        mechanism = MatchingPursuit(4, "splines", atoms=9, form=form)
        held = summaries()[2]
        found = pursuit_of_sites([PursuitSite(mechanism, held, PURE, rng=seeded(1))])
        dictionary = mechanism.curves(DOMAIN.for_curator())
        exact = dictionary.products @ held.counts
        chosen, answers = pursue(exact, dictionary, terms=4, again=mechanism.again)
        assert (found.choices["atoms"], found.answers.tolist()) == (chosen, answers)

    def test_the_most_people_have_the_most_votes(self, monkeypatch):
        quiet(monkeypatch)
        sites = sites_of(PursuitSite, MatchingPursuit(1, atoms=8))
        for site, wish in zip(sites, (5, 5, 2), strict=True):
            monkeypatch.setattr(site, "vote", lambda *said, wish=wish: wish)
        found = pursuit_of_sites(sites)
        # 600 and 300 people for one function, 1100 for the other.
        assert found.choices["atoms"] == [2]

    def test_with_little_noise_it_is_what_all_rows_give(self):
        mechanism = MatchingPursuit(4, atoms=10)
        found = pursuit_of_sites(sites_of(PursuitSite, mechanism, LOUD))
        everyone = sum(summaries()[1:], summaries()[0])
        result = CurveSum().decode(found.channel, found)
        truth = np.cumsum(everyone.counts[:32]) / everyone.people
        assert np.abs(np.cumsum(result.mass)[:32] - truth).max() < 0.1

    @pytest.mark.parametrize(
        "said",
        [
            ([0], [], 600),
            ([8], [1], 600),
            ([0], [2**62], 600),
            ([0], [1.5], 600),
            ([], [], 599),
            ([True], [1], 600),
            ([0, 1], [1, 1], 600),
        ],
    )
    def test_what_cannot_be_costs_nothing(self, said):
        site = PursuitSite(MatchingPursuit(2, atoms=8), summaries()[0], PURE, rng=seeded(1))
        with pytest.raises(ArgumentError):
            site.vote(*said)
        with pytest.raises(ArgumentError):
            site.product(8)
        for _ in range(2):
            assert 0 <= site.vote([], [], 600) < 8
            assert isinstance(site.product(3), int)
        with pytest.raises(BudgetError, match="2 votes"):
            site.vote([], [], 600)
        with pytest.raises(BudgetError, match="2 products"):
            site.product(3)
