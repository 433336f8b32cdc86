"""What a device keeps for RAPPOR: a secret from which its permanent rounds follow."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from lapwing.errors import FormatError, PrivacyError
from lapwing.privacy.sampling.randomness import Keystream, iterate

_MAGIC = b"LWMEMORY"
_SECRET_BYTES = 32


class Memory:
    """A device's secret. Its permanent rounds are a function of it, so none can be drawn twice.

    There is one permanent round for each survey and value, and asking again gives the same one: not
    because it was stored, but because nothing else can come out. A crash between two reports, two
    processes at once or a restored backup change nothing. What must not be done is to lose the
    secret, or to share it between people.

    Use :meth:`open` on a device; ``Memory()`` is a new secret that lives as long as the object.

    Privacy
    -------
    The words of a permanent round are an AES-256-CTR keystream under a key that is the SHA-512 of
    the secret, the survey, the randomizer's fingerprint and the symbol. Whoever does not hold the
    secret cannot tell them from fresh random words, which is what is assumed of the secure source
    of randomness, too. The secret says which rounds are whose: it must not leave the device.
    """

    def __init__(self) -> None:
        self._secret = os.urandom(_SECRET_BYTES)

    def __repr__(self) -> str:
        """Return one word; the secret stays unprinted."""
        return "<Memory>"

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: a copy is the way out of the device."""
        raise PrivacyError("a Memory must not leave its device; open its file there instead")

    @classmethod
    def open(cls, path: Path | str) -> Memory:
        """Return the memory in a file; a new one is drawn and stored when there is none.

        The file is made at once with its content and for its owner alone (mode 0600). Of two
        processes that find none, one makes it and both use it.

        Raises
        ------
        FormatError
            When the file is something else, or damaged.
        """
        path = Path(path)
        try:
            return cls._read(path)
        except FileNotFoundError:
            pass
        made = cls()
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(_MAGIC + made._secret + made._check())
                stream.flush()
                os.fsync(stream.fileno())
            # A link, unlike a rename, never replaces a file that came into being meanwhile.
            os.link(temporary, path)
        except FileExistsError:
            pass
        finally:
            Path(temporary).unlink(missing_ok=True)
        return cls._read(path)

    @classmethod
    def of_secret(cls, secret: bytes) -> Memory:
        """Return the memory of a secret that the device keeps elsewhere: 32 random bytes."""
        if not isinstance(secret, bytes) or len(secret) != _SECRET_BYTES:
            raise FormatError(f"the secret of a memory must be {_SECRET_BYTES} bytes")
        memory = cls()
        memory._secret = secret
        return memory

    @classmethod
    def _read(cls, path: Path) -> Memory:
        content = path.read_bytes()
        memory = cls()
        memory._secret = content[len(_MAGIC) : len(_MAGIC) + _SECRET_BYTES]
        if content != _MAGIC + memory._secret + memory._check():
            raise FormatError(
                f"{path.name} must be a RAPPOR memory, it is foreign or damaged; restore it, "
                "because a new one would draw permanent rounds a second time"
            )
        return memory

    def _check(self) -> bytes:
        return hashlib.sha256(_MAGIC + self._secret).digest()[:4]

    def words(self, survey: str, fingerprint: str, symbol: int) -> Iterator[int]:
        """Yield the words of one permanent round, always the same.

        Parameters
        ----------
        survey, fingerprint : str
            Of the survey and of its randomizer.
        symbol : int
        """
        text = json.dumps(["lapwing permanent", survey, fingerprint, symbol]).encode()
        key = hashlib.sha512(self._secret + text).digest()[:48]
        return iterate(Keystream(lambda: key))
