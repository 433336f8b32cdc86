"""A curator's release: noisy whole numbers, and everything that is needed to read them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from lapwing.declared import Declared, From
from lapwing.documents import Stored, fingerprint, require, require_format, require_spelling
from lapwing.errors import (
    ArgumentError,
    FormatError,
    LapwingError,
    MismatchError,
    PrivacyError,
    kind_of,
)
from lapwing.linear.memoized import cached_property, memoized
from lapwing.privacy.guarantee import Guarantee, People, Standing, weakest_standing
from lapwing.privacy.integer_noise import Noise
from lapwing.privacy.privacy_loss import PrivacyLoss
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import RandomSource, source_of, standing_of
from lapwing.protocol.channels.additive_noise import AdditiveNoise
from lapwing.protocol.channels.channel import Block, Channel
from lapwing.protocol.domains.domain import Described, Domain
from lapwing.protocol.domains.domain_documents import build, build_domain
from lapwing.protocol.domains.domain_text import domain_text
from lapwing.protocol.messages.exact_counts import MOST_PEOPLE, ExactCounts
from lapwing.protocol.messages.release_identity import (
    IDENTIFIER,
    SummedRelease,
    check_digests,
    digests_of_sum,
    is_stated,
)
from lapwing.protocol.messages.tally import Kind
from lapwing.registry import MECHANISMS
from lapwing.stored_fields import UNSAID, FromFields

VERSION = 1

LARGEST_ANSWER = 2**62

LARGEST_SUM = 2**63 - 2**12
"""Sums of answers stay below it, even when computed as a float."""


class Mechanism(Described):
    """Base class of the curator's algorithms: a frozen dataclass with a few public parameters.

    Values derived from the fields are defined here. A class may inherit from it, but need not: any
    frozen dataclass with the same public names is a mechanism.
    """

    linear: ClassVar[bool] = False
    """Whether releases of different people can be added to get a release of all of them."""

    most_people: ClassVar[int] = MOST_PEOPLE
    """Largest number of people whose counts it adds exactly."""
    # A smaller limit is public, so only mechanisms that show the number of people have one.

    _adaptive: ClassVar[bool] = False
    """Whether it chooses later questions by earlier answers, so that no release tells its error."""

    hides_units: ClassVar[bool] = False
    """Whether its noise can hide all rows of a unit. It must be stated, because noise for one row
    would not."""

    @property
    def _decoder(self) -> Any:
        """Decoder of its releases, where that of linear mechanisms does not read them."""
        return None

    @property
    def rounds(self) -> int:
        """Number of noise draws that one payment covers."""
        return 1

    @abstractmethod
    def check(self, domain: Domain) -> None:
        """Raise ArgumentError if it cannot be used on a domain.

        Parameters
        ----------
        domain : Domain
            Domain of the exact counts.

        Raises
        ------
        ArgumentError
            When the domain does not suit the mechanism.
        """

    @abstractmethod
    def loss(self, domain: Domain, promise: Promise) -> PrivacyLoss:
        """Return the privacy cost of a release, before anything is drawn.

        A payment is made after this call. So every reason to refuse :meth:`release` is checked
        here: once it returns, any counts on the domain will be released.

        Parameters
        ----------
        domain : Domain
            Domain of the values.
        promise : Promise
            Privacy parameters of the release.

        Returns
        -------
        PrivacyLoss
            Privacy cost for each person.

        Raises
        ------
        ArgumentError, PrivacyError, MissingExtraError
            When the release would be refused.
        """

    def release(
        self,
        summary: ExactCounts,
        promise: Promise,
        *,
        rng: RandomSource | None = None,
        identifier: str | None = None,
    ) -> Release:
        """Return a private release of exact counts.

        Parameters
        ----------
        summary : ExactCounts
            Exact histogram, which is secret.
        promise : Promise
            Privacy parameters of the release.
        rng : RandomSource, optional
            Source of random numbers. A seeded one is for tests and simulation only. Default: the
            secure source of the operating system.
        identifier : str, optional
            Identifier under which the release was paid for, 32 hex digits. Default: random.

        Returns
        -------
        Release
            Noisy answers, which may be published.

        Raises
        ------
        ArgumentError, PrivacyError, MissingExtraError
            As for :meth:`loss`, for the same reasons. Nothing has been drawn.
        """
        if not isinstance(summary, ExactCounts) or not isinstance(promise, Promise):
            raise ArgumentError(
                "a mechanism releases the counts of ExactCounts under a Promise, got a "
                f"{type(summary).__name__} and {kind_of(promise)}. Pass "
                "ExactCounts.of_values(values, domain), or use lapwing.release(values, domain, ...)"
            )
        check_unit(self, promise, summary)
        source = source_of(rng)
        made = self._draw(summary, promise, source, identifier)
        return made.marked(weakest_standing(standing_of(source), summary.standing))

    @abstractmethod
    def _draw(
        self, summary: ExactCounts, promise: Promise, source: RandomSource, identifier: str | None
    ) -> Release:
        """Return the release, with noise from this source."""

    @abstractmethod
    def verify(self, release: Release) -> None:
        """Raise PrivacyError unless the noise of a release meets its privacy guarantees.

        Parameters
        ----------
        release : Release
            Release of this mechanism.
        """

    def channel_for(self, release: Release) -> Channel:
        """Return the channel that a decoder needs with a release: one block.

        Parameters
        ----------
        release : Release
            Release of this mechanism.

        Returns
        -------
        Channel
            Channel from the domain to the noisy answers.
        """
        block = Block(self._operator_for(release), AdditiveNoise(self._variance_for(release)))
        return Channel(release.domain, [block], release.fingerprint, release.guarantee)

    @abstractmethod
    def _operator_for(self, release: Release) -> LinearOperator:
        """Return the matrix from counts to answers, without noise."""

    def _variance_for(self, release: Release) -> float:
        """Return the variance of the noise in each answer that a decoder reads."""
        return release.variance

    def combined(self, release: Release) -> NDArray[Any]:
        """Return the answers that a decoder reads, by default the release's own.

        Parameters
        ----------
        release : Release
            Release of this mechanism.

        Returns
        -------
        numpy.ndarray
            Noisy answers, int64 or float64 [answers].
        """
        return release.answers

    def estimated_people(self, release: Release) -> int:
        """Return the number of people, using only public numbers and noisy answers.

        Parameters
        ----------
        release : Release
            Release of this mechanism.

        Returns
        -------
        int
            Public number of people, or an estimate of it, at least 1.
        """
        return release.people or 1


def check_unit(mechanism: Mechanism, promise: Promise, *counted: ExactCounts) -> None:
    """Raise PrivacyError unless exact counts and a mechanism suit the unit of a guarantee.

    A plain dataclass that does not state whether it hides units is treated as one that does not.
    """
    if promise.unit is not None and not getattr(mechanism, "hides_units", False):
        raise PrivacyError(
            f"{mechanism.name} needs a public number of rows, but with a unit it is secret. Use "
            "a linear mechanism such as prefix-sums, or label-counts for labels"
        )
    for summary in counted:
        if summary.unit != promise.unit:
            raise PrivacyError(
                f"the exact counts are of {summary.unit or 'single rows'}, but the guarantee is "
                f"for {promise.unit or 'single rows'}. Pass Promise(..., unit=counts.unit)"
            )


@dataclass(frozen=True)
class ReleasePart(Declared, FromFields):
    """One draw of noise: one site, or one round.

    identifier: Random identifier, 32 hex digits, so that no part is added twice.
    promise: Privacy parameters of the part.
    noise: Noise of every number of the release.
    loss: Privacy cost for each person who contributed to it.
    people: Number of rows. None when the neighbor relation or a unit keeps it secret.
    standing: That its noise came from a seed, or from another library whose maker states the
        promise. Default: None, for secure noise of this library.
    """

    identifier: str
    promise: Promise
    noise: Noise
    loss: PrivacyLoss
    people: Annotated[int, From(0, MOST_PEOPLE)] | None
    standing: Standing | None = field(default=None, metadata=UNSAID)

    _name: ClassVar = "a part of a release"

    def __post_init__(self) -> None:
        """Check the fields, and that a secret number of people is left out."""
        super().__post_init__()
        if self.people is not None and not self.promise.shows_people:
            raise ArgumentError("people", "must be None if their number is secret")
        if not IDENTIFIER.fullmatch(self.identifier):
            raise ArgumentError("identifier", "must be 32 lowercase hex digits")
        if is_stated(self.identifier) != (self.standing == "stated"):
            raise ArgumentError(
                "standing", "must be 'stated' for another library's counts, and only for them"
            )

    @classmethod
    def list_of(cls, documents: Sequence[Any]) -> list[Self]:
        """Return the parts of documents, reading once what the parts of a large sum share."""
        shared: dict[str, Self] = {}
        found = []
        for document in documents:
            own, rest = {}, document
            if isinstance(document, dict) and document.keys() >= {"identifier", "people"}:
                own = {name: document[name] for name in ("identifier", "people")}
                rest = {name: document[name] for name in document if name not in own}
            key = repr(rest)  # which distinguishes 1, 1.0 and True
            if own and key in shared:
                found.append(replace(shared[key], **own))
            else:
                found.append(cls.from_document(document))
                shared[key] = found[-1]
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Release(SummedRelease, Stored):
    """Release of a central mechanism: its noisy answers, which are public.

    Releases of different people by one mechanism are added with ``+``. Those of the same people,
    such as one for each month, are added with :meth:`sum_of`.

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism that made the release.
    domain : Domain
        Domain of the values.
    answers : numpy.ndarray
        Noisy answers, int64 [answers of the mechanism]: exact answers plus the noise of all parts.
    parts : sequence of ReleasePart
        One part for each release that was added, at least one.
    choices : dict
        Private choices of an adaptive mechanism, as JSON values. Default: empty.
    groups : sequence of int
        Number of parts in each group, in the order of the parts. The parts of one group may be of
        the same people. Those of different groups are of different people. Default: each part is a
        group.
    digests : sequence of str
        32 hex digits for each release of a sum, or for a release of few numbers. They reveal a
        copy under another identifier. Default: computed.

    See Also
    --------
    lapwing.release : Makes a release from raw values.

    Notes
    -----
    **Privacy.** Each person contributed to only one group of parts. So :attr:`guarantee` is that
    of the group with the largest epsilon and delta. Within a group the privacy losses compose.

    **Accuracy.** Each answer has the noise of all parts, with variance :attr:`variance`.

    Examples
    --------
    >>> import lapwing as lw
    >>> domain = lw.Interval(0, 100, bins=50, outside="clip")
    >>> north, south = (
    ...     lw.release(ages, domain, neighbors="replace-one", epsilon=1, delta="1e-6").release
    ...     for ages in ([20, 30, 40], [50, 60])
    ... )
    >>> (north + south).people, (north + south).guarantee.epsilon == 1
    (5, True)
    """

    mechanism: Mechanism
    domain: Domain
    answers: NDArray[np.int64]
    parts: Sequence[ReleasePart]
    choices: dict[str, Any] = field(default_factory=dict)
    groups: Sequence[int] = ()
    digests: Sequence[str] = ()

    kind: ClassVar[Kind] = "release"

    _name: ClassVar = "a release"

    def __eq__(self, other: object) -> bool:
        """Return whether two releases say the same: also after pickling, and after JSON."""
        return isinstance(other, Release) and self.to_document() == other.to_document()

    def __hash__(self) -> int:
        """Return a number that is equal for equal releases."""
        return hash(self.answers.tobytes())

    def __post_init__(self) -> None:
        """Check and freeze."""
        answers = np.asarray(self.answers)
        if answers.ndim != 1 or answers.dtype.kind not in "iu" or not len(self.parts):
            raise ArgumentError("a release needs a list of whole numbers and at least one part")
        if answers.dtype.kind == "u" and answers.max(initial=0) >= 2 * LARGEST_ANSWER:
            raise ArgumentError("an answer of this release is too large")
        answers = answers.astype(np.int64)
        answers.flags.writeable = False
        object.__setattr__(self, "answers", answers)
        object.__setattr__(self, "parts", tuple(self.parts))
        groups = tuple(self.groups)
        if groups and (
            any(type(size) is not int or size < 1 for size in groups)
            or sum(groups) != len(self.parts)
            or max(groups) == 1
        ):
            raise ArgumentError(
                "groups",
                "must be whole numbers from 1 on that sum to the number of parts, one of them 2 "
                "or more",
            )
        object.__setattr__(self, "groups", groups)
        check_digests(self, [part.identifier for part in self.parts])
        relations = {(part.promise.neighbors, part.promise.unit) for part in self.parts}
        if len(relations) > 1:
            raise MismatchError(
                "the parts of a release must have the same neighbor relation, and the same unit"
            )
        if len({part.identifier for part in self.parts}) < len(self.parts):
            raise MismatchError(
                "every part of a release must have its own identifier. A repeated part would "
                "count its people twice"
            )

    def __repr__(self) -> str:
        """Return one line."""
        return (
            f"<Release of {self.mechanism.name}, {len(self.parts)} part(s), "
            f"{self.answers.size} numbers, {self.guarantee}>"
        )

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of mechanism and domain in hexadecimal. Releases that share it can be added."""
        try:
            return _fingerprint(self.mechanism, self.domain)
        except TypeError:  # a mechanism of somebody else's that cannot be looked up
            return fingerprint([self.mechanism.to_document(), _document(self.domain)])

    @property
    def guarantee(self) -> Guarantee:
        """Privacy guarantee of each person, who contributed to only one group of parts."""
        parts = iter(self.parts)
        promises = [_composed([*islice(parts, size)]) for size in self._groups]
        return Guarantee(
            max(promise.epsilon for promise in promises),
            max(promise.delta for promise in promises),
            promises[0].neighbors,
            "central",
            unit=promises[0].unit,
            summed=self._groups if len(self.parts) > 1 else (),
            standing=weakest_standing(*(part.standing for part in self.parts)),
        )

    def _drawn(self) -> Iterable[tuple[Noise, NDArray[np.int64]]]:
        return [(self.parts[0].noise, self.answers)] if len(self.parts) == 1 else []

    @property
    def _groups(self) -> Sequence[int]:
        """Number of parts of each group."""
        return self.groups or (1,) * len(self.parts)

    @property
    def people(self) -> int | None:
        """Total number of rows in all parts, or None if it is secret."""
        numbers = [part.people for part in self.parts]
        return None if None in numbers else sum(number for number in numbers if number is not None)

    @property
    def variance(self) -> float:
        """Variance of the noise in each answer."""
        return sum(part.noise.variance for part in self.parts)

    @property
    def channel(self) -> Channel:
        """Distribution of the answers for each value, for decoders."""
        return self.mechanism.channel_for(self)

    @property
    def blocks(self) -> tuple[NDArray[Any], ...]:
        """Answers in the form that a decoder reads, in one block."""
        return (self.mechanism.combined(self),)

    @property
    def reports(self) -> tuple[int, ...]:
        """Number of people in the block, as far as it is public, at least 1."""
        return (self.total,)

    @property
    def total(self) -> int:
        """Number of people, or its private estimate if the number is secret, at least 1."""
        known = self.people
        if known is None:
            known = self.mechanism.estimated_people(self)
        return max(1, int(known))

    def marked(self, standing: Standing | None) -> Release:
        """Return the release with this standing in each part, unless it is None.

        Parameters
        ----------
        standing : {"seeded"} or None
            Standing of the noise and of the choice of rows.

        Returns
        -------
        Release
            Release whose parts have this standing.
        """
        if standing is None:
            return self
        return replace(self, parts=[replace(part, standing=standing) for part in self.parts])

    def __add__(self, other: Release) -> Release:
        """Return the release of the people of both: other sites, or newly collected rows.

        Nobody may be in both. Releases of the same people add with :meth:`sum_of`.

        Raises MismatchError when the domains, mechanisms or neighbor relations differ, the
        mechanism is not linear, a part is in both, or a sum does not fit 64 bits.
        """
        if not isinstance(other, Release):
            return NotImplemented
        if self.fingerprint != other.fingerprint:
            raise MismatchError(_what_differs(self, other))
        if not self.mechanism.linear:
            raise MismatchError(
                f"releases of {self.mechanism.name} cannot be added, only those of a linear "
                "mechanism such as prefix-sums. Publish each on its own"
            )
        known = {part.identifier for part in self.parts}
        if known & {part.identifier for part in other.parts}:
            raise MismatchError("the same release is in both, so its people would count twice")
        digests = digests_of_sum(self, other)
        if self.answers.size != other.answers.size:
            raise MismatchError("releases can be added only when they have equally many answers")
        # Beyond 64 bits NumPy wraps without a word.
        answers = self.answers.astype(np.float64) + other.answers
        if np.abs(answers).max(initial=0.0) >= LARGEST_SUM:
            raise MismatchError(
                "the answers of these releases are too large to be added. Decode them one by one"
            )
        return Release(
            self.mechanism,
            self.domain,
            self.answers + other.answers,
            [*self.parts, *other.parts],
            groups=[*self._groups, *other._groups] if self.groups or other.groups else (),
            digests=digests,
        )

    @classmethod
    def sum_of(cls, releases: Iterable[Any], *, people: People) -> Release:
        """Return the sum of releases, which states whether they are of the same people.

        Parameters
        ----------
        releases : iterable of Release or Publication
            Releases of one mechanism and domain, at least one.
        people : {"different", "same"}
            Whether a person may have contributed to two of them. "different" is the same as ``+``,
            and each person has the guarantee of one release. With "same", such as monthly
            releases, the privacy losses compose.

        Returns
        -------
        Release
            The sum. Its guarantee, its file and every screen state the choice.

        Raises
        ------
        ArgumentError
            When there is no release, or `people` is neither of its two values.
        MismatchError
            As for ``+``.

        Notes
        -----
        **Privacy.** Losses of the same people add (:class:`lapwing.privacy.PrivacyLoss`). Their
        epsilon is stated at the largest delta of the releases, or at a larger one if approximate
        guarantees have spent more. If a release is itself a sum, all its parts compose. Gaussian
        noise composes more tightly than Laplace noise, so choose a mechanism with Gaussian noise,
        or pay from a ledger.

        Examples
        --------
        >>> import lapwing as lw
        >>> how = dict(neighbors="add-or-remove-one", epsilon="0.5", delta="1e-6",
        ...            mechanism="prefix-sums")
        >>> ages = lw.Interval(0, 100, bins=50)
        >>> months = [lw.release([20, 30, 40] * 99, ages, **how) for month in range(3)]
        >>> quarter = lw.Release.sum_of(months, people="same")
        >>> round(float(quarter.guarantee.epsilon), 2)
        0.9
        >>> str(quarter.guarantee).split("central model")[1][2:]
        'sum of 3 releases of the same people, composed'
        """
        if people not in ("different", "same"):
            raise ArgumentError(
                "people",
                "must be 'different' (nobody is in two of the releases) or 'same'",
                repr(people),
            )
        given = [getattr(each, "release", each) for each in releases]
        if not given or not all(isinstance(each, Release) for each in given):
            raise ArgumentError("sum_of needs a list of at least one release")
        whole: Release = sum(given[1:], given[0])
        if people == "different" or len(whole.parts) == 1:
            return whole
        return replace(whole, groups=[len(whole.parts)])

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "format": "lapwing-release",
            "version": VERSION,
            "mechanism": self.mechanism.to_document(),
            "domain": _document(self.domain),
            "answers": self.answers.tolist(),
            "parts": [part.to_document() for part in self.parts],
            "choices": self.choices,
            **({"groups": list(self.groups)} if self.groups else {}),
            **({"digests": list(self.digests)} if self.digests else {}),
        }

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Return the release that :meth:`to_document` wrote.

        Returns
        -------
        Release
            Stored release.

        Raises
        ------
        FormatError
            When it is not a release, has an unknown version, is damaged, or states less noise than
            its privacy guarantee needs.
        """
        require_format(document, name="lapwing-release", version=VERSION)
        keys = {"format", "version", "mechanism", "domain", "answers", "parts", "choices"}
        require(document, keys | (document.keys() & {"groups", "digests"}), name="a release")
        answers, parts, choices = document["answers"], document["parts"], document["choices"]
        groups = document.get("groups", [])
        whole = isinstance(answers, list) and isinstance(parts, list) and isinstance(choices, dict)
        whole = whole and isinstance(groups, list)
        whole = whole and len(answers) > 0 and len(parts) > 0
        if not whole or any(type(number) is not int for number in answers):
            raise FormatError(
                "a release must contain a list of whole numbers and its parts. Do not use this "
                "document"
            )
        if any(abs(number) >= 2 * LARGEST_ANSWER for number in answers):
            raise FormatError("an answer of this release is too large")
        try:
            mechanism = build(document["mechanism"], MECHANISMS, name="the mechanism")
            domain = build_domain(document["domain"])
            mechanism.check(domain)
            found = cls(
                mechanism,
                domain,
                np.array(answers, dtype=np.int64),
                ReleasePart.list_of(parts),
                choices,
                groups,
                document.get("digests", ()),
            )
            mechanism.verify(found)
            outputs, held = found.channel.blocks[0].outputs, found.blocks[0].size
        except FormatError:
            raise
        except LapwingError as error:
            raise FormatError(f"the release cannot be used: {error}") from None
        except (ArithmeticError, LookupError, TypeError, ValueError):
            # From the algebra of a mechanism that was given other answers than it makes.
            raise FormatError(
                "the release cannot be used: its answers, choices or parameters do not fit its "
                "mechanism"
            ) from None
        if outputs != held:
            raise FormatError(
                f"the mechanism of this release gives {outputs} answers, but the release has {held}"
            )
        require_spelling(document, found.to_document(), name="the release")
        return found


def _composed(parts: Sequence[ReleasePart]) -> Guarantee:
    """Return the guarantee of people who may have contributed to all of these parts."""
    one = parts[0].promise
    alone = [part.promise.guarantee(part.loss) for part in parts]
    if len(parts) == 1:
        return alone[0]
    loss = sum([part.loss for part in parts], PrivacyLoss())
    delta = loss.delta
    if loss.mu_squared or loss.rho:  # Gaussian noise needs a delta above what others have spent
        delta += max(guarantee.delta for guarantee in alone)
    epsilon = max(loss.epsilon_at(delta), *(guarantee.epsilon for guarantee in alone))
    return Guarantee(epsilon, delta, one.neighbors, "central", unit=one.unit)


def _what_differs(ours: Release, theirs: Release) -> str:
    """Return why two releases cannot be added: what differs, and what to agree on."""
    said, agreed = [], []
    mechanisms = [each.mechanism.to_document() for each in (ours, theirs)]
    if mechanisms[0] != mechanisms[1]:
        said.append(f"the mechanisms are {' and '.join(_told(*mechanisms))}")
        agreed.append("mechanism= (--mechanism)")
    domains = [_document(each.domain) for each in (ours, theirs)]
    if domains[0] != domains[1]:
        texts = [domain_text(each.domain) for each in (ours, theirs)]
        texts = texts if texts[0] != texts[1] else _told(*domains)
        said.append(f"the domains are {' and '.join(texts)}")
        bins_alone = {**domains[0], "bins": None} == {**domains[1], "bins": None}
        agreed.append("bins= (--bins)" if bins_alone else "the domain (--domain)")
    return (
        "releases can be added only when their mechanism and domain are equal. Here "
        f"{', and '.join(said)}. Agree on {' and '.join(agreed)} before you release"
    )


def _told(*documents: dict[str, Any]) -> list[str]:
    """Return two documents in words: the class, and the parameters in which they differ."""
    one, two = documents
    keys = [key for key in {**one, **two} if key != "class" and one.get(key) != two.get(key)]
    if one["class"] != two["class"]:
        keys = []
    texts = []
    for each in documents:
        values = {key: each.get(key) for key in keys}
        shown = [
            f"{key} of {len(value)} entries" if isinstance(value, list | dict) else f"{key} {value}"
            for key, value in values.items()
        ]
        texts.append(f"{each['class']} with {', '.join(shown)}" if shown else each["class"])
    return texts


def _document(domain: Domain) -> dict[str, Any]:
    return domain.to_document()


@memoized(most=8)
def _fingerprint(mechanism: Mechanism, domain: Domain) -> str:
    """Return that of the releases of a mechanism. Own functions take long to be written down."""
    return fingerprint([mechanism.to_document(), _document(domain)])
