"""The contract of a randomizer: its exact distribution, channel, documents and reports."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import MismatchError, PrivacyError, ReportError
from lapwing.linear.operators.operator import dense
from lapwing.privacy.exact_numbers import exponential_bounds
from lapwing.privacy.sampling.randomness import WORD, iterate, seeded
from lapwing.protocol.channels.channel import Multinomial, channel_for
from lapwing.protocol.domains.domain_documents import build
from lapwing.protocol.domains.product import Product
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.messages.tally import CountTally
from lapwing.protocol.randomizer import Randomizer, derived_values, local_guarantee
from lapwing.testing.claims import claim, claim_close, claim_refused

RESULT_LIMIT = 2**12
"""Of one bounded draw that are still listed."""


class TooMany(AssertionError):
    """A distribution of more reports than can be listed."""

    def __init__(self) -> None:
        super().__init__("the distribution has too many reports to list. Use a smaller domain")


class NotFollowed(AssertionError):
    """A word was used in a way that cannot be followed, so the distribution is not known."""


class _Path:
    """One way through the branches: a script of choices, followed by first options."""

    def __init__(self, script: list[int], shares: list[int]) -> None:
        self.script = script
        self.shares = shares
        self.taken: list[tuple[int, int]] = []
        self.probability = Fraction(1)

    def choose(self, probabilities: list[Fraction]) -> int:
        position = len(self.taken)
        option = self.script[position] if position < len(self.script) else 0
        self.taken.append((option, len(probabilities)))
        self.probability *= probabilities[option]
        return option

    def following(self) -> list[int] | None:
        """Return the script of the next way, in the order of an odometer."""
        options = [option for option, _ in self.taken]
        while options and options[-1] + 1 == self.taken[len(options) - 1][1]:
            options.pop()
        if not options:
            return None
        options[-1] += 1
        return options


class _Word:
    """All words of an interval at once. Comparing it with a limit splits it."""

    def __init__(self, path: _Path) -> None:
        self.path = path
        self.low, self.high = 0, WORD
        self.used = False

    def _use(self) -> _Path:
        claim(not self.used and (self.low, self.high) == (0, WORD), "a word is used twice")
        self.used = True
        return self.path

    def __lt__(self, limit: int) -> bool:
        claim(not self.used, "words used by a draw or a coin must not be compared")
        if limit <= self.low or limit >= self.high:
            return limit >= self.high
        below = Fraction(limit - self.low, self.high - self.low)
        if self.path.choose([below, 1 - below]) == 0:
            self.high = limit
            return True
        self.low = limit
        return False

    def __mul__(self, bound: int) -> _Product:
        return _Product(self._use(), bound)

    def __rshift__(self, bits: int) -> int:
        """Return the smallest or the largest coin of a group. Each with half of its share."""
        path = self._use()
        whole = bits == 32 and sum(path.shares) == 2**32
        claim(whole, "public randomness is the high half of a word, and its groups share 2^32")
        option = path.choose([Fraction(share, 2**33) for share in path.shares for _ in range(2)])
        group, largest = divmod(option, 2)
        return sum(path.shares[: group + largest]) - largest


class _Product:
    """A word times a bound: low half, to be rejected or not, and high half, uniform if not."""

    def __init__(self, path: _Path, bound: int) -> None:
        self.path = path
        self.bound = bound
        self.checked = False

    def __mod__(self, modulus: int) -> _Product:
        claim(modulus == WORD, "a product must be taken modulo 2^64")
        return self

    def __ge__(self, excess: int) -> bool:
        claim(excess == WORD % self.bound, "every result must be left with as many words")
        self.checked = True
        return True

    def __rshift__(self, bits: int) -> int:
        claim(bits == 64 and self.checked, "a draw must reject before it takes the high half")
        if self.bound > RESULT_LIMIT:
            raise TooMany
        return self.path.choose([Fraction(1, self.bound)] * self.bound)


def exact_law(
    randomizer: Randomizer, value: int, *, most: int | None = None
) -> dict[bytes, Fraction]:
    """Return the exact probability of every report of an input.

    Parameters
    ----------
    randomizer : Randomizer
        Randomizer to follow.
    value : int
        Index of the input symbol.
    most : int, optional
        Largest number of paths to a report. Default: None, no limit.

    Returns
    -------
    dict
        Probability of each report: Fraction by the bytes of the report. The probabilities sum to 1.

    Raises
    ------
    TooMany
        When a draw has more results than can be listed, or there are more than `most` paths.
    NotFollowed
        When a word is used for more than comparisons and :func:`scalar_below`.

    Examples
    --------
    >>> import lapwing as lw
    >>> randomizer = lw.RandomizedResponse(lw.Categories(["yes", "no"]), epsilon=1)
    >>> law = lw.testing.exact_law(randomizer, 0)
    >>> len(law), round(float(max(law.values())), 3)
    (2, 0.731)
    """

    def words(path: _Path) -> Iterator[_Word]:
        while True:
            yield _Word(path)

    shares = [part.share for part in getattr(randomizer, "groups", ())]
    law: dict[bytes, Fraction] = {}
    script: list[int] | None = []
    ways = 0
    while script is not None:
        ways += 1
        if most is not None and ways > most:
            raise TooMany
        path = _Path(script, shares)
        try:
            report = randomizer.from_words(value, cast(Iterator[int], words(path)))
        except TypeError as error:
            raise NotFollowed(
                "from_words may compare a word with a threshold, or give words to scalar_below. "
                f"Here it did something else with one: {error}"
            ) from error
        law[report] = law.get(report, Fraction(0)) + path.probability
        script = path.following()
    claim(sum(law.values()) == 1, "the chances of all reports must sum to 1")
    return law


def exact_ratio(laws: list[dict[bytes, Fraction]]) -> Fraction:
    """Return the largest ratio of two values' probabilities of one report."""
    reports = {report for law in laws for report in law}
    chances = [[law.get(report, Fraction(0)) for law in laws] for report in reports]
    claim(all(min(row) > 0 for row in chances), "some report reveals a value")
    return max(max(row) / min(row) for row in chances)


LEVEL = 1e-12
"""False alarms of one comparison."""

REPORTS_PER_VALUE = 200_000
"""Reports of each value in a test of their distribution."""
# Enough for 1.1 epsilon to be told from epsilon = 1: the divergence is at least .0011 nats a
# report, so the statistic is about 220 or more, against a threshold near 53 for 10 outputs, and 340
# against 142 for the 64 of a symmetric unary encoding.


def multinomial_tail(counts: NDArray[Any], probabilities: NDArray[Any]) -> float:
    """Return a bound of P(divergence >= that of the counts) under a multinomial distribution.

    With n draws from k outputs, ``P(n KL(observed | law) >= g) <= e^-g (e g / (k - 1))^(k - 1)``
    for g > k - 1, for every n (Agrawal 2020, theorem 1.2). A count where the distribution has
    probability zero gives 0.
    """
    counts = np.asarray(counts, dtype=np.float64)
    probabilities = np.asarray(probabilities, dtype=np.float64)
    if counts.shape != probabilities.shape or not abs(probabilities.sum() - 1) < 1e-9:
        raise AssertionError("a multinomial law needs a probability for each count, 1 in all")
    if counts[probabilities == 0].any():
        return 0.0
    used = probabilities > 0
    freedom = int(used.sum()) - 1
    held = counts > 0
    expected = counts.sum() * probabilities[held]
    divergence = float(np.dot(counts[held], np.log(counts[held] / expected)))
    if freedom == 0 or divergence <= freedom:
        return 1.0
    return math.exp(-divergence + freedom * math.log(math.e * divergence / freedom))


def report_tail(reports: NDArray[np.uint8], law: dict[bytes, Fraction]) -> float:
    """Return how far out the frequencies of reports, uint8 [n, width], are under a distribution."""
    rows = np.ascontiguousarray(reports).view(f"V{reports.shape[1]}").ravel()
    found: NDArray[Any]
    if reports.shape[1] == 1:
        found, counts = np.arange(256, dtype=np.uint8), np.bincount(reports[:, 0], minlength=256)
    else:
        found, counts = np.unique(rows, return_counts=True)
    seen = dict(zip([report.tobytes() for report in found], counts.tolist(), strict=True))
    keys = sorted({report for report, count in seen.items() if count} | set(law))
    observed = np.array([seen.get(report, 0) for report in keys])
    probabilities = np.array([float(law.get(report, 0)) for report in keys])
    return multinomial_tail(observed, probabilities)


Law = dict[bytes, Fraction]


def check_randomizer(
    randomizer: Randomizer, *, loosened: Randomizer | None = None, reports: int = REPORTS_PER_VALUE
) -> None:
    """Raise AssertionError unless a randomizer meets its contract.

    * The exact distribution of ``from_words`` has a worst likelihood ratio of two values, in
      fractions. The certificate states the same ratio, and it is at most e^epsilon.
    * The channel is that distribution, seen through the tally.
    * The randomizer can be written to a document and read back, compared, hashed and pickled.
    * Reports from other randomizers or of other widths are refused.
    * Reports of ``randomize`` have that distribution, by a test for each input. Seeds are fixed, so
      the same code always passes or always fails. Over all seeds, correct code fails for an input
      with a probability of at most 1e-12.

    Parameters
    ----------
    randomizer : Randomizer
        Randomizer on a small domain, of 2 to 8 symbols, because every path through its branches is
        taken.
    loosened : Randomizer, optional
        The same randomizer with its thresholds moved one past their limit, made by hand. It must
        break the guarantee, and its certificate must say so. This shows that the thresholds are as
        large as they may be, and that the certificate is computed. Default: none.
    reports : int
        Number of reports of each input, at least 1, for the test of their distribution. Default:
        200,000.

    Raises
    ------
    AssertionError
        When the randomizer breaks the contract. The message names the rule.

    Examples
    --------
    >>> import lapwing as lw
    >>> randomizer = lw.RandomizedResponse(lw.Categories(["yes", "no"]), epsilon=1)
    >>> lw.testing.check_randomizer(randomizer)
    """
    laws = laws_of(randomizer)
    check_promise(randomizer, laws)
    check_channel(randomizer, laws)
    check_refusals(randomizer)
    for point, law in enumerate(laws):
        check_reports(randomizer, point, law, reports=reports)
    check_document(randomizer)
    if loosened is not None:
        check_loosened(randomizer, loosened)


def inputs_of(randomizer: Any) -> int:
    """Return how many values a client tells apart: points of its grid, or symbols."""
    return int(getattr(randomizer, "_points", randomizer.domain.size))


def raw_value(randomizer: Any, point: int) -> Any:
    """Return a raw value of an input. Of a Product a pair of them."""
    domain, inputs = randomizer.domain, inputs_of(randomizer)
    if isinstance(domain, Product):
        symbols = divmod(point, domain.shape[1])
        return tuple(map(_raw_symbol, domain.domains, symbols))
    if domain.ordered and inputs != domain.size and point != domain.missing_index:
        domain = domain.refined(inputs)
    return _raw_symbol(domain, point)


def _raw_symbol(domain: Any, symbol: int) -> Any:
    if symbol == domain.missing_index:
        return float("nan") if domain.ordered else None
    if not domain.ordered:
        return domain.listed[symbol]
    middle = float(domain.left[symbol] + domain.right[symbol]) / 2
    if symbol in domain.outside_indices:
        return middle - 1 if symbol == 0 else middle + 1
    return middle


def laws_of(randomizer: Randomizer) -> list[Law]:
    """Return the exact distribution of the reports of every input."""
    return [exact_law(randomizer, point) for point in range(inputs_of(randomizer))]


def check_promise(randomizer: Randomizer, laws: list[Law]) -> None:
    """Raise AssertionError unless the exact distribution has the stated privacy guarantee."""
    ratio, certificate = exact_ratio(laws), randomizer.certificate()
    bound = exponential_bounds(randomizer.epsilon)[0]
    claim(
        ratio <= bound,
        f"the worst ratio of two values' chances of a report is {float(ratio):.6g}, more than "
        f"e^epsilon = {float(bound):.6g}: the guarantee is broken",
    )
    claim(
        certificate.ratio == ratio,
        f"the certificate states the ratio {float(certificate.ratio):.9g}, the exact law has "
        f"{float(ratio):.9g}",
    )
    claim(certificate.holds and certificate.check() is certificate, "the certificate must hold")
    promise = local_guarantee(randomizer.epsilon)
    claim(certificate.epsilon == randomizer.epsilon, "the certificate is for another epsilon")
    claim(randomizer.guarantee == promise, "the guarantee must be the pure epsilon")
    claim(randomizer.channel.guarantee == promise, "the channel must carry the guarantee")


def check_loosened(randomizer: Randomizer, loosened: Randomizer) -> None:
    """Raise AssertionError unless a threshold past its limit is refused."""
    ratio, certificate = exact_ratio(laws_of(loosened)), loosened.certificate()
    claim(
        ratio > exponential_bounds(loosened.epsilon)[0],
        "the guarantee still holds with looser thresholds, so they could be larger",
    )
    claim(certificate.ratio == ratio, "the certificate does not see a looser threshold")
    claim(not certificate.holds, "the certificate of a looser threshold must not hold")
    claim_refused(PrivacyError, certificate.check, message="the certificate of a looser threshold")
    claim(
        loosened.fingerprint != randomizer.fingerprint,
        "the fingerprint must follow from the thresholds, too",
    )


def counted(randomizer: Any, reports: list[bytes]) -> CountTally:
    """Return the counts of some reports, also where the tally stores them."""
    width = randomizer.report_width
    data = np.frombuffer(b"".join(reports), dtype=np.uint8).reshape(-1, width)
    tally = randomizer.tally(Reports(data, randomizer.fingerprint))
    counts: CountTally = channel_for(randomizer, tally).counts(tally)
    return counts


def check_channel(randomizer: Randomizer, laws: list[Law]) -> None:
    """Raise AssertionError unless the channel is the exact distribution, seen through the tally."""
    channel = randomizer.channel
    claim(channel.fingerprint == randomizer.fingerprint, "the channel has another fingerprint")
    claim(channel.domain == randomizer.domain, "the channel has another domain")
    shares = sum(block.share for block in channel.blocks)
    claim(abs(shares - 1) < 1e-12, f"the shares of the blocks must sum to 1, got {shares}")
    per_symbol = len(laws) // randomizer.domain.size
    adds = {
        report: counted(randomizer, [report]).blocks for report in {r for law in laws for r in law}
    }
    means = [np.zeros(block.operator.shape) for block in channel.blocks]
    for point, law in enumerate(laws):
        for report, chance in law.items():
            for mean, counts in zip(means, adds[report], strict=True):
                mean[:, point // per_symbol] += float(chance) / per_symbol * counts
    for number, (block, mean) in enumerate(zip(channel.blocks, means, strict=True)):
        matrix = dense(block.operator)
        claim_close(
            block.share * matrix,
            mean,
            f"block {number} of the channel is not the distribution of the reports",
            relative=1e-12,
            absolute=1e-15,
        )
        claim(matrix.min() > 0 and matrix.max() < 1, "chances must lie between 0 and 1")
        if isinstance(block.law, Multinomial):
            claim_close(
                matrix.sum(axis=0),
                np.ones(matrix.shape[1]),
                f"the columns of block {number} must sum to 1",
                relative=1e-12,
                absolute=0,
            )


def check_document(randomizer: Any) -> None:
    """Raise AssertionError unless it can be written, read back, compared, hashed and pickled."""
    document = json.loads(json.dumps(randomizer.to_document(), allow_nan=False))
    again = build(document, {randomizer.name: type(randomizer)}, name="the randomizer")
    json.dumps(derived_values(randomizer), allow_nan=False)
    try:
        pickled = pickle.loads(pickle.dumps(randomizer))
    except Exception as error:
        raise AssertionError(
            f"jobs on several machines must be able to pickle it: {error}"
        ) from error
    for same in (again, pickled):
        claim(same == randomizer and hash(same) == hash(randomizer), "a copy must be equal")
        claim(same.fingerprint == randomizer.fingerprint, "a copy must have the fingerprint")
        claim(derived_values(same) == derived_values(randomizer), "all must derive from the fields")


def check_refusals(randomizer: Randomizer) -> None:
    """Raise AssertionError unless foreign reports and ones of another width are refused."""
    width = randomizer.report_width
    foreign = Reports(np.zeros((1, width), dtype=np.uint8), "another")
    claim_refused(MismatchError, randomizer.tally, foreign, message="another randomizer's reports")
    wide = Reports(np.zeros((1, width + 1), dtype=np.uint8), randomizer.fingerprint)
    claim_refused(ReportError, randomizer.tally, wide, message="reports of another width")


def check_reports(
    randomizer: Randomizer,
    point: int,
    law: Law,
    *,
    reports: int = REPORTS_PER_VALUE,
    level: float = LEVEL,
) -> None:
    """Raise AssertionError unless both ways of making reports have the exact distribution."""
    column: NDArray[Any] = np.array([raw_value(randomizer, point)] * reports)
    batch = randomizer.randomize(column, rng=seeded(1000 + point))
    claim(len(batch) == reports, "there must be one report per value")
    claim(batch.fingerprint == randomizer.fingerprint, "reports must carry the fingerprint")
    claim(batch.width == randomizer.report_width, "reports must be as wide as is said")
    claim(
        report_tail(batch.data, law) >= level,
        f"the reports of input {point} do not have the distribution of from_words",
    )
    words = iterate(seeded(point))
    few = b"".join(randomizer.from_words(point, words) for _ in range(min(reports, 1000)))
    data = np.frombuffer(few, dtype=np.uint8).reshape(-1, randomizer.report_width)
    claim(report_tail(data, law) >= level, f"from_words of input {point} uses words unlike a coin")
