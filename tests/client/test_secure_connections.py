"""Over https: certificates of known authorities only, for the name that was asked for, in time."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import certifi
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from lapwing import Categories, RandomizedResponse, Survey
from lapwing.cli import main
from lapwing.client import CollectorAddress
from lapwing.errors import ArgumentError, CollectorError

COLOR = Survey("color", RandomizedResponse(Categories(3), 1))


def certificate(folder: Path, *, address: str) -> Path:
    """Return a file of a key and of a certificate, signed with it, for an address."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tests")])
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"{address}.pem"
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + signed.public_bytes(pem))
    return path


@contextmanager
def secure_server(path: Path) -> Iterator[str]:
    """Run a collector that has one survey, over https."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    text = COLOR.to_json().encode()
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.05)

        def run() -> None:
            while not stop.is_set():
                try:
                    plain, _ = listening.accept()
                    plain.settimeout(10)
                    with context.wrap_socket(plain, server_side=True) as connection:
                        connection.recv(65536)
                        head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(text)
                        connection.sendall(head + text)
                except OSError:
                    continue

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield f"https://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            stop.set()
            thread.join()


def test_a_known_authority_is_believed_and_nothing_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, keys = certificate(tmp_path, address="127.0.0.1"), tmp_path / "keys"
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    monkeypatch.setenv("SSLKEYLOGFILE", str(keys))
    with secure_server(path) as url:
        with pytest.raises(CollectorError, match="certificate not trusted"):
            CollectorAddress(url).survey(COLOR.fingerprint)
        monkeypatch.setattr(certifi, "where", lambda: str(path))
        assert CollectorAddress(url).survey(COLOR.fingerprint) == COLOR
    assert not keys.exists()


def test_an_authority_of_ones_own_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In Python by an argument, for a command by the standard variable."""
    path, other = (certificate(tmp_path, address=f"127.0.0.{last}") for last in (1, 2))
    monkeypatch.setenv("LAPWING_ADMIN_TOKEN", "lwa_" + 43 * "A")
    with secure_server(path) as url:
        assert CollectorAddress(url, ca_file=path).survey(COLOR.fingerprint) == COLOR
        with pytest.raises(CollectorError, match="certificate not trusted"):
            CollectorAddress(url, ca_file=other).survey(COLOR.fingerprint)
        for authorities, trusted in ((None, False), (other, False), (path, True)):
            if authorities is not None:
                monkeypatch.setenv("SSL_CERT_FILE", str(authorities))
            # The server has a survey, and no tokens.
            assert main(["collector", "tokens", url]) == 7
            said = capsys.readouterr().err
            assert ("not trusted" in said) != trusted == ("lists no tokens" in said)
    for wrong in ("absent.pem", "empty.pem"):
        (tmp_path / "empty.pem").write_text("")
        with pytest.raises(ArgumentError, match=f"PEM file of certificates, but '{wrong}'"):
            CollectorAddress(url, ca_file=tmp_path / wrong).survey(COLOR.fingerprint)


def test_another_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = certificate(tmp_path, address="127.0.0.2")
    monkeypatch.setattr(certifi, "where", lambda: str(path))
    with (
        secure_server(path) as url,
        pytest.raises(CollectorError, match="certificate not trusted"),
    ):
        CollectorAddress(url).survey(COLOR.fingerprint)


def test_a_handshake_that_does_not_end_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begun = time.monotonic()
        url = f"https://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(CollectorError, match="TimeoutError"):
            CollectorAddress(url, seconds=0.5).epochs(COLOR)
        assert time.monotonic() - begun < 30
