"""A collector as a device sees it: its address, its surveys, and its answer to a batch."""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from secrets import SystemRandom
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlsplit

from lapwing.client.outbox import LONGEST_PAUSE, Parcel, normal_address
from lapwing.documents import parse
from lapwing.errors import (
    ArgumentError,
    CollectorError,
    DomainError,
    FormatError,
    MismatchError,
    MissingExtraError,
)
from lapwing.protocol.messages.batch import ALREADY, EPOCH_NAME, JSON_MEDIA_TYPE, MEDIA_TYPE, STORED
from lapwing.protocol.messages.problems import PREFIX, Problem
from lapwing.survey.survey import Survey

if TYPE_CHECKING:
    import httpcore

    from lapwing.client.limited_sockets import Limit


LARGEST_SURVEY = 2**20
"""Largest survey document that a device reads, in bytes."""

MOST_SYMBOLS = 2**20
"""Most symbols of a survey that a device answers: more would take too much time and memory.

Hashing randomizers, whose cost does not grow with the symbols, take more.
"""

_LARGEST_ANSWER = 2**20

_LARGEST_HEADERS = 2**16
"""Bytes of an answer alongside its body."""

_LONGEST_DETAIL = 1000
"""Characters of a collector's sentence that an admin is shown."""

FINGERPRINT = re.compile(r"[0-9a-f]{64}")

_ADMIN_TOKEN = re.compile(r"lwa_[A-Za-z0-9_-]{43}")

_TOKEN_ID = re.compile(r"[0-9a-f]{12}")

_WORD = re.compile(r"[a-z][a-z-]{0,63}")

_PROBLEM_TYPE = "application/problem+json"

_LATER = 1.25
"""Longest pause of a device, as a multiple of that which the collector asked for."""

Kind = Literal["stored", "refused", "later"]


@dataclass(frozen=True)
class Epoch:
    """Epoch: a span of time in which each person answers once.

    Parameters
    ----------
    name : str
        Name of the epoch.
    state : {"planned", "open", "grace", "closed"}
        State at the collector. In "grace" no new answers are made, but those on their way are
        accepted.
    opens, closes, grace_until : str, optional
        RFC 3339 timestamps. Default: None, where an admin opens or closes the epoch by hand.
    text : str, optional
        Fingerprint of the text that people are asked in the epoch
        (:attr:`lapwing.Survey.text_fingerprint`). Default: None, where the collector does not say.

    Examples
    --------
    >>> import lapwing as lw
    >>> epoch = lw.client.Epoch("2026-w48", "open", closes="2026-12-06T00:00:00Z")
    >>> epoch.state
    'open'
    """

    name: str
    state: str
    opens: str | None = None
    closes: str | None = None
    grace_until: str | None = None
    text: str | None = None


class ListedEpochs(NamedTuple):
    """Epochs of a survey, as a collector lists them."""

    epochs: list[Epoch]
    invited: bool
    """Whether the survey takes answers of invited people only, each with an upload token."""


@dataclass(frozen=True)
class TokenEntry:
    """Token of an analyst or admin, without the token itself.

    id: 12 hex digits of its hash.
    role: Role of its holder.
    label: Label that an admin gave it.
    last_use: Day of its last use in UTC, such as "2026-12-06". None: never.
    revocable: False where it is in the collector's settings.
    """

    id: str
    role: str
    label: str
    last_use: str | None
    revocable: bool


@dataclass(frozen=True)
class Delivery:
    """Answer of a collector to one upload.

    kind: {"stored", "refused", "later"}. Decision of the collector.
    reason: For people, without anything that was sent.
    retry_after: Seconds that the collector asks to wait. Default: None.
    everywhere: Whether another batch would get the same answer now. Default: False.
    divide: Whether the collector takes only smaller batches. Default: False.
    date: Time of the answer by the collector's own clock, in seconds since 1970. Default: None,
        where no collector spoke, or it did not say.
    """

    kind: Kind
    reason: str
    retry_after: float | None = None
    everywhere: bool = False
    divide: bool = False
    date: float | None = None


@dataclass(frozen=True)
class CollectorAddress:
    """Address of a collector.

    Parameters
    ----------
    url : str
        ``https://...``. Plain http is for this machine only (localhost). Otherwise anybody on the
        network could replace a survey, or see who sends what. The URL is stored in its canonical
        form: scheme and host in lower case, without a default port or trailing slashes.
    seconds : float
        Longest duration of one request, from connecting to the last byte of the answer, in
        seconds, in (0, 86,400]. Default: 30.
    ca_file : Path or str, optional
        PEM file with the only certificate authorities to trust, such as those of your own
        organization. Default: the public ones, from the package certifi.

    Raises
    ------
    ArgumentError
        When the URL is not such an address, or the file has no certificates.

    Examples
    --------
    >>> import lapwing as lw
    >>> lw.client.CollectorAddress("https://Collector.example:443/").url
    'https://collector.example'
    """

    url: str
    _: KW_ONLY
    seconds: float = 30.0
    ca_file: Path | str | None = None

    def __post_init__(self) -> None:
        """Check the address."""
        object.__setattr__(self, "url", normal_address(self.url))
        if isinstance(self.seconds, bool) or not isinstance(self.seconds, int | float):
            raise ArgumentError("seconds", "must be a number", repr(self.seconds))
        if not 0 < self.seconds <= LONGEST_PAUSE:
            raise ArgumentError(
                "seconds", f"must be more than 0 and at most {LONGEST_PAUSE:g}", f"{self.seconds:g}"
            )

    @classmethod
    def of(cls, collector: CollectorAddress | str) -> CollectorAddress:
        """Return an address unchanged, or make one from a URL.

        Parameters
        ----------
        collector : CollectorAddress or str
            Address, or its URL.

        Returns
        -------
        CollectorAddress
            The address.
        """
        return collector if isinstance(collector, CollectorAddress) else cls(collector)

    @contextmanager
    def connected(self) -> Iterator[Connection]:
        """Open a connection for several requests.

        Yields
        ------
        Connection
            The connection, which is closed at the end of the block.
        """
        try:
            from lapwing.client.limited_sockets import Limit, connection_pool
        except ImportError:
            raise MissingExtraError("httpcore", extra="client") from None
        limit = Limit()
        secure = self.url.startswith("https://")
        with connection_pool(limit, secure=secure, ca_file=self.ca_file) as pool:
            yield Connection(self, pool, limit)

    def survey(self, fingerprint: str) -> Survey:
        """Return the survey with a given fingerprint, verified.

        Parameters
        ----------
        fingerprint : str
            Fingerprint of the survey that the person, or their representative, agreed to: 64 hex
            digits. It must come from a source other than this collector.

        Returns
        -------
        Survey
            Survey with this fingerprint.

        Raises
        ------
        CollectorError
            When the collector cannot be reached or has no such survey.
        FormatError
            When the document is not a survey, or its thresholds do not meet its guarantee.
        DomainError
            When the survey has more symbols than a device accepts.
        MismatchError
            When the collector returns another survey.
        """
        check_fingerprint(fingerprint)
        with self.connected() as connection:
            text = connection.get(f"/v1/surveys/{fingerprint}", most=LARGEST_SURVEY)
        check_symbols(parse(text, name="the survey"))
        survey = Survey.from_json(text)
        if survey.fingerprint != fingerprint:
            raise MismatchError(
                f"survey {fingerprint[:12]} was requested, but the collector sent "
                f"{survey.fingerprint[:12]}. Do not answer it"
            )
        return survey

    def epochs(self, survey: Survey | str) -> list[Epoch]:
        """Return the epochs of a survey, as the collector has them.

        Parameters
        ----------
        survey : Survey or str
            Survey, or its fingerprint.

        Returns
        -------
        list of Epoch
            Epochs in the collector's order.

        Raises
        ------
        CollectorError
            When the collector cannot be reached, has no such survey, or gives an invalid answer.
        """
        return self.epoch_list(survey).epochs

    def epoch_list(self, survey: Survey | str) -> ListedEpochs:
        """Return the epochs of a survey, and whether only invited people may answer it.

        Parameters
        ----------
        survey : Survey or str
            Survey, or its fingerprint.

        Returns
        -------
        ListedEpochs
            What :meth:`epochs` returns, and `invited`.

        Raises
        ------
        CollectorError
            As :meth:`epochs`.
        """
        fingerprint = survey.fingerprint if isinstance(survey, Survey) else survey
        check_fingerprint(fingerprint)
        with self.connected() as connection:
            text = connection.get(f"/v1/surveys/{fingerprint}/epochs", most=_LARGEST_ANSWER)
        try:
            document = parse(text, name="the epochs")
            epochs = [_epoch(row) for row in document["epochs"]]
            return ListedEpochs(epochs, document.get("invited") is True)
        except (AttributeError, FormatError, KeyError, TypeError):
            raise CollectorError(
                f"{self.url} lists no epochs, so it is not a collector. Check the address"
            ) from None

    def add_survey(
        self,
        survey: Survey,
        *,
        epoch: str,
        token: str,
        closes: str | None = None,
        minimum: int | None = None,
    ) -> None:
        """Publish a survey and a new epoch, which opens now: both, or neither.

        A survey that the collector already has keeps its terms and gets the new epoch.

        Parameters
        ----------
        survey : Survey
            Survey to publish.
        epoch : str
            Name of the epoch: 1 to 64 of a-z, 0-9, "." and "-", such as "2026-w48".
        token : str
            Token of an admin.
        closes : str, optional
            End of the epoch as an RFC 3339 timestamp, such as "2026-12-06T00:00:00Z". Default:
            None, where an admin closes it by hand.
        minimum : int, optional
            Number of reports below which no result is shown. Default: the collector's own, 1000.

        Raises
        ------
        CollectorError
            When the collector cannot be reached, or gives an invalid answer.
        ArgumentError
            When the collector refuses the token, the name of the epoch or the terms.
        """
        terms = {} if minimum is None else {"minimum": minimum}
        document = {
            "survey": survey.to_document(),
            **terms,
            "epoch": {"name": epoch, "closes": closes},
        }
        with self.connected() as connection:
            path = f"/v1/surveys/{survey.fingerprint}"
            answer = connection.ask_admin("PUT", path, document, token=token)
        if answer.get("survey") != survey.fingerprint:
            raise CollectorError(f"{self.url} does not answer like a collector")

    def role_tokens(self, *, token: str) -> list[TokenEntry]:
        """Return the entries of the tokens of analysts and admins, without the tokens themselves.

        Parameters
        ----------
        token : str
            Token of an admin.

        Returns
        -------
        list of TokenEntry
            Entries in the collector's order.

        Raises
        ------
        CollectorError, ArgumentError
            As :meth:`add_survey`.
        """
        with self.connected() as connection:
            answer = connection.ask_admin("GET", "/v1/tokens", token=token)
        try:
            rows = [TokenEntry(**row) for row in answer["tokens"]]
        except (KeyError, TypeError):
            raise CollectorError(
                f"{self.url} lists no tokens, so it is not a collector. Check the address"
            ) from None
        return [_checked(row, self.url) for row in rows]

    def revoke(self, id: str, *, token: str) -> None:
        """Revoke a token of an analyst or admin immediately.

        Parameters
        ----------
        id : str
            Identifier of the token: 12 hex digits, as :meth:`role_tokens` lists it.
        token : str
            Token of an admin.

        Raises
        ------
        CollectorError, ArgumentError
            As :meth:`add_survey`, and when it is the last admin token.
        """
        if not isinstance(id, str) or not _TOKEN_ID.fullmatch(id):
            raise ArgumentError(
                "the id of a token must be 12 hex digits, as `lapwing collector tokens` lists it"
            )
        with self.connected() as connection:
            connection.ask_admin("DELETE", f"/v1/tokens/{id}", token=token)


@dataclass(frozen=True)
class _Answer:
    """The answer to a request: its body is None when it is not a collector's."""

    status: int
    headers: dict[str, str]
    content: bytes | None


class Connection:
    """Connection to one collector, made by :meth:`CollectorAddress.connected`."""

    def __init__(self, address: CollectorAddress, pool: httpcore.ConnectionPool, limit: Limit):
        self._address = address
        self._url = address.url
        self._pool = pool
        self._limit = limit

    def _ask(
        self,
        method: str,
        path: str,
        *,
        most: int = _LARGEST_ANSWER,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        seconds: float | None = None,
    ) -> _Answer | str:
        """Return the answer to a request, or why there is none.

        It says nothing that tells one device from another: no version and no cookie. A redirect is
        an answer like others, because it would lead to an address that nobody checked. A body that
        is encoded is not a collector's: 1.6 kB of it may stand for gigabytes.
        """
        from lapwing.client.limited_sockets import FAILURES, TooLongError, collector_url

        parts = urlsplit(self._url)
        sent = {
            "host": parts.netloc,
            "user-agent": "lapwing",
            "accept": "*/*",
            "accept-encoding": "identity",
            **(headers or {}),
        }
        host = (parts.hostname or "").encode()
        target = (parts.path + path).encode()
        try:
            where = collector_url(parts.scheme.encode(), host, parts.port, target)
            self._limit.begin(
                seconds=min(self._address.seconds, seconds or self._address.seconds),
                most=most + _LARGEST_HEADERS,
            )
            with self._pool.stream(method, where, headers=[*sent.items()], content=body) as answer:
                read = {
                    name.decode("latin-1").lower(): value.decode("latin-1")
                    for name, value in answer.headers
                }
                plain = read.get("content-encoding", "identity") == "identity"
                return _Answer(answer.status, read, _read(answer, most) if plain else None)
        except TooLongError:
            return f"{self._url} sent more than {most} bytes. It is not a collector"
        except ssl.SSLCertVerificationError:
            return (
                f"{self._url}: certificate not trusted. If it is of an authority of your own, name "
                "the file of that authority: ca_file= in Python, SSL_CERT_FILE for commands"
            )
        except FAILURES as error:
            # Not what the error says: it may hold names of this machine.
            return f"{self._url} cannot be reached ({type(error).__name__})"

    def get(self, path: str, *, most: int) -> bytes:
        """Return what stands at a path, of at most so many bytes."""
        answer = self._ask("GET", path, most=most)
        if isinstance(answer, str):
            raise CollectorError(answer)
        if answer.content is None:
            raise CollectorError(f"{self._url} sent an encoded answer, so it is not a collector")
        if answer.status != 200:
            raise CollectorError(f"{self._url} says {_said(answer.status, answer.content)}")
        if _media_type(answer) == "text/html":
            raise CollectorError(
                f"{self._url} sent a web page, so it is not a collector. The network may ask you "
                "to sign in first"
            )
        return answer.content

    def put(self, parcel: Parcel, *, seconds: float | None = None) -> Delivery:
        """Send a batch, and return the collector's answer. A failure of the network is an answer.

        parcel: Batch to be sent.
        seconds: Largest duration, if this is less than the address allows. Default: that of the
            address.
        """
        headers = {"content-type": MEDIA_TYPE}
        if parcel.token is not None:
            headers["authorization"] = f"Bearer {parcel.token}"
        path = f"/v1/surveys/{parcel.survey}/epochs/{parcel.epoch}/batches/{parcel.id}"
        path += f"?text={parcel.text}"
        answer = self._ask("PUT", path, body=parcel.body, headers=headers, seconds=seconds)
        if isinstance(answer, str):
            return Delivery("later", answer, everywhere=True)
        content = answer.content
        foreign = f"{self._url} does not answer like a collector"
        if content is None:
            return Delivery("later", foreign, everywhere=True)
        status, pause = answer.status, _pause(answer.headers.get("retry-after"))
        if status in (200, 201):
            # A page for signing in to a network says 200 to everything.
            if _confirms(answer, parcel.id):
                return Delivery("stored", "the collector has it")
            return Delivery("later", foreign, pause, everywhere=True)
        said, problem = _said(status, content), _own_problem(answer)
        if problem is not None and problem.final:
            return Delivery("refused", said)
        everywhere = problem in (Problem.BUSY, Problem.NOT_READY, Problem.FULL)
        if problem is None:  # of a proxy, which may let another batch pass at these two
            everywhere = status not in (413, 500)
        return Delivery(
            "later",
            said,
            pause,
            everywhere=everywhere,
            divide=problem is Problem.TOO_LARGE,
            date=None if problem is None else _date(answer.headers.get("date")),
        )

    def ask_admin(
        self, method: str, path: str, document: dict[str, Any] | None = None, *, token: str
    ) -> dict[str, Any]:
        """Return a collector's answer to an admin. An error has the collector's reason."""
        if not _ADMIN_TOKEN.fullmatch(token):
            raise ArgumentError("an admin token must be lwa_ and 43 more characters")
        headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
        body = None if document is None else json.dumps(document).encode()
        answer = self._ask(method, path, body=body, headers=headers)
        if isinstance(answer, str):
            raise CollectorError(answer)
        if answer.content is None:
            raise CollectorError(f"{self._url} sent an encoded answer, so it is not a collector")
        content = answer.content
        problem = _problem(content)
        if answer.status in (200, 201, 204):
            return problem
        if answer.status == 401:
            raise ArgumentError(f"{self._url} does not know this token. Use an admin token")
        if answer.status == 403:
            raise ArgumentError("this token allows reading only. Use an admin token")
        detail = problem.get("detail")
        if not isinstance(detail, str) or not detail.isprintable() or len(detail) > _LONGEST_DETAIL:
            said = _said(answer.status, content)
            raise CollectorError(f"{self._url} does not answer like a collector. It says: {said}")
        kind = CollectorError if answer.status >= 500 else ArgumentError
        raise kind(f"the collector refused it: {detail}")


def check_fingerprint(fingerprint: Any, *, of: str = "survey") -> None:
    """Refuse what is no fingerprint."""
    if not isinstance(fingerprint, str) or not FINGERPRINT.fullmatch(fingerprint):
        raise ArgumentError(f"the fingerprint of a {of} must be 64 lowercase hex digits")


def check_symbols(document: Any) -> None:
    """Refuse the document of a survey that would cost a device too much, before it is built."""
    randomizer = document.get("randomizer")
    asked = randomizer if isinstance(randomizer, dict) else {}
    hashed = str(asked.get("class")).endswith("-hashing")
    domain = asked.get("domain")
    domains = [domain] if isinstance(domain, dict) else []
    axes = domains[0].get("axes") if domains else None
    rows = axes if isinstance(axes, list) else []
    domains += [row["domain"] for row in rows if isinstance(row, dict) and "domain" in row]
    counts = [_most_symbols(each, hashed=hashed) for each in domains if isinstance(each, dict)]
    if max([_whole(asked.get("grid")), *counts]) > MOST_SYMBOLS:
        raise DomainError(_TOO_MANY)


def _most_symbols(sizes: dict[str, Any], *, hashed: bool) -> int:
    """Return what the document of a domain asks for. Hashes need a table of an interval only."""
    low, high, bits = (_whole(sizes.get(name)) for name in ("low", "high", "bits"))
    counts = [len(each) for each in sizes.values() if isinstance(each, list)]
    counts.append(_whole(sizes.get("bins")))
    if not hashed:
        counts.append(high - low + 1 if sizes.get("class") == "integers" else 0)
        counts += [_whole(sizes.get("labels")), 2 ** min(bits, 64) if bits > 0 else 0]
    return max(counts)


def check_size(survey: Survey) -> None:
    """Refuse a survey of more symbols than a device takes."""
    randomizer = survey.randomizer
    if randomizer.collects == "counts" and randomizer.domain.size > MOST_SYMBOLS:
        raise DomainError(_TOO_MANY)


_TOO_MANY = (
    f"a device answers surveys of at most {MOST_SYMBOLS} bins or labels, but this one has more. "
    "Use fewer bins, or a hashing randomizer"
)


def _whole(number: Any) -> int:
    return number if isinstance(number, int) else 0


def _read(answer: httpcore.Response, most: int) -> bytes:
    """Return the body of an answer. TooLongError when it is longer than allowed."""
    from lapwing.client.limited_sockets import TooLongError

    content = bytearray()
    for part in answer.iter_stream():
        content += part
        if len(content) > most:
            raise TooLongError
    return bytes(content)


def _problem(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _own_problem(answer: _Answer) -> Problem | None:
    """Return the problem that a collector answered with. None for the page of anybody else."""
    kind = _problem(answer.content or b"").get("type")
    if _media_type(answer) != _PROBLEM_TYPE or not isinstance(kind, str):
        return None
    for problem in Problem:
        if problem.urn == kind and problem.status == answer.status:
            return problem
    return None


def _said(status: int, content: bytes) -> str:
    """Return the status, and the word of the problem where it is one of a collector."""
    kind = _problem(content).get("type")
    word = kind.removeprefix(PREFIX) if isinstance(kind, str) and kind.startswith(PREFIX) else ""
    return f"{status} ({word})" if _WORD.fullmatch(word) else str(status)


def _confirms(answer: _Answer, batch: str) -> bool:
    """Whether this is a collector's own document that it has a batch."""
    said = _problem(answer.content or b"")
    return (
        _media_type(answer) == JSON_MEDIA_TYPE
        and said.get("batch") == batch
        and said.get("state") in (STORED, ALREADY)
        and type(said.get("reports")) is int
        and said["reports"] > 0
    )


def _media_type(answer: _Answer) -> str:
    return answer.headers.get("content-type", "").partition(";")[0].strip().lower()


def _date(header: str | None) -> float | None:
    """Return the seconds since 1970 of a ``Date``."""
    try:
        return None if header is None else parsedate_to_datetime(header).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def _pause(header: str | None) -> float | None:
    """Return the seconds of a ``Retry-After``, and up to a quarter more.

    Without the random part, all devices that a collector sends away come back together.
    """
    if header is None:
        return None
    if header.isascii() and header.isdigit() and len(header) <= 9:
        left = float(header)
    else:
        try:
            left = (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):
            return None
    asked = min(max(left, 0.0), LONGEST_PAUSE / _LATER)
    return asked * SystemRandom().uniform(1.0, _LATER)


def _checked(row: TokenEntry, url: str) -> TokenEntry:
    """Return a row whose texts may be printed."""
    texts = [row.id, row.role, row.label, row.last_use or ""]
    printable = all(isinstance(text, str) and text.isprintable() for text in texts)
    if not printable or not isinstance(row.revocable, bool) or max(map(len, texts)) > 100:
        raise CollectorError(f"{url} lists no tokens, so it is not a collector. Check the address")
    return row


def _epoch(row: Any) -> Epoch:
    name, state = row["name"], row["state"]
    rest = [row.get(key) for key in ("opens", "closes", "grace_until", "text")]
    texts = all(isinstance(text, str | None) for text in rest) and isinstance(state, str)
    if not isinstance(name, str) or not EPOCH_NAME.fullmatch(name) or not texts:
        raise KeyError
    return Epoch(name, state, *rest)
