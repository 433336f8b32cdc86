"""The pages about the collector do what they say: their code runs, their files are legal."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import ssl
import subprocess
import sys
import time
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from benchmarks.service.running_servers import start_document
from lapwing.service.settings import PREFIX, SECRETS, Settings, read_settings
from tests.cli.running import environment
from tests.clients_js.programs import program
from tests.page_environment import command, run
from tests.service.one_collector import ADMIN, as_role, served

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
COLLECTOR = (DOCS / "guides/operate/collector.md").read_text("utf-8")
DEPLOYMENT = (DOCS / "guides/operate/deploy.md").read_text("utf-8")
SETTINGS = (DOCS / "reference/settings.md").read_text("utf-8")


def blocks(text: str, language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
    assert found
    return found


@pytest.mark.service
def test_the_way_to_a_first_distribution_is_one(tmp_path: Path) -> None:
    """From a shell to an open epoch, then in Python to the results."""
    (text,) = (each for each in blocks(COLLECTOR, "sh") if "add-survey" in each)
    folder = tmp_path / "collector"
    folder.mkdir()
    program = f'lapwing() {{ {shlex.join(command(COLLECTOR, "lapwing"))} "$@"; }}\n'
    with served(folder) as here:
        real = {"http://127.0.0.1:8080": here.address, "lwa_...": ADMIN}
        code = "\n".join(blocks(COLLECTOR, "python"))
        for shown, there in real.items():
            text, code = text.replace(shown, there), code.replace(shown, there)
        subprocess.run(
            ["bash", "-e", "-c", program + text],
            cwd=tmp_path,
            env=environment(),
            check=True,
            timeout=120,
            capture_output=True,
        )
        made = json.loads((tmp_path / "income-survey.json").read_text())
        listed = f"{here.address}/v1/surveys/{made['fingerprint']}/epochs"
        epochs = httpx.get(listed, timeout=60).json()["epochs"]
        assert [(each["name"], each["state"]) for each in epochs] == [("2026-w48", "open")]
        shown = "\nprint(result['reports'], address)\n"
        ran = run(COLLECTOR, "exec", text=code + shown, folder=tmp_path)
        assert (ran.returncode, ran.stderr) == (0, "")
        *lines, last = ran.stdout.splitlines()
        reports, path = last.removesuffix("/results/2026-w48").split()
        assert reports == "5001" and path == listed.removesuffix("/epochs")
        with httpx.Client(headers=as_role(ADMIN), timeout=60) as desk:
            for address in re.findall(r"^\| `(/\w+/EPOCH[^`]*)`", COLLECTOR, re.M):
                filled = path + address.replace("EPOCH", "2026-w48")
                answer = desk.get(filled)
                # A segment, an epoch or a survey that this collector has not.
                foreign = re.search("segment|against|together", address)
                wanted = 404 if foreign else 400 if "start=" in address else 200
                assert answer.status_code == wanted, answer.text
            assert desk.get(f"{path}/state").json()["epochs"][0]["reports"] == 5001
    assert len(lines) == 7 and lines[3].startswith("0.5 ")


def test_all_settings_are_listed_with_what_holds_without_them() -> None:
    table = SETTINGS.partition("| key |")[2].partition("\n\n")[0]
    rows = [row.split("|")[1:3] for row in table.splitlines()[2:]]
    listed = {key.strip(" `"): value.strip(" `") for key, value in rows}
    assert set(listed) == set(Settings.__struct_fields__)
    for key, shown in listed.items():
        default = getattr(Settings(), key)
        text = "" if default is None else str(default).lower()
        assert shown.replace(",", "").removesuffix(".0") == text.removesuffix(".0"), key
    for key in SECRETS:
        assert f"`{PREFIX}{key.upper()}`" in DEPLOYMENT


def test_the_example_of_settings_is_one(tmp_path: Path) -> None:
    (text,) = blocks(DEPLOYMENT, "toml")
    path = tmp_path / "collector.toml"
    path.write_text(text)
    settings, _ = read_settings(path=path, environment={})
    assert settings.secure_cookies and len(tomllib.loads(text)) == 4


def test_the_unit_starts_what_is_there_and_keeps_secrets_out() -> None:
    (text,) = blocks(DEPLOYMENT, "ini")
    unit = configparser.ConfigParser(strict=True, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(text)
    assert set(unit) == {"DEFAULT", "Unit", "Service", "Install"}
    service = unit["Service"]
    program, *arguments = shlex.split(service["ExecStart"])
    assert program.endswith("/lapwing") and arguments[0] == "serve"
    assert "lwa_" not in text
    name, _, value = service["Environment"].partition("=")
    key = name.removeprefix(PREFIX).lower()
    credential = service["LoadCredential"].partition(":")[0]
    assert key in Settings.__struct_fields__ and value == f"%d/{credential}"
    assert float(service["TimeoutStopSec"]) > Settings().stop_seconds
    assert service["KillMode"] == "mixed" and service["DynamicUser"] == "yes"


def nginx() -> str:
    """Return the path of nginx; the test that asks is skipped where there is none."""
    elsewhere = "" if "TESTS_HIDDEN" in os.environ else shutil.which("nginx", path="/usr/sbin")
    return shutil.which("nginx") or elsewhere or program("nginx", package="nginx")


@pytest.mark.service
def test_the_proxy_of_the_page_stands_before_a_collector(tmp_path: Path) -> None:
    (text,) = blocks(DEPLOYMENT, "nginx")
    certificate, key = re.findall(r"ssl_certificate(?:_key)? (\S+);", text)
    folder = tmp_path / "proxy"
    folder.mkdir()
    _certificate(folder / "chain.pem", folder / "key.pem")
    socket = tmp_path / "s"  # the path of a socket must be short
    with served(tmp_path) as here:
        for shown, real in {
            "listen 443 ": f"listen unix:{socket} ",
            f"{certificate};": f"{folder}/chain.pem;",
            f"{key};": f"{folder}/key.pem;",
            "http://127.0.0.1:8080": here.address,
        }.items():
            assert text.count(shown) == 1, shown
            text = text.replace(shown, real)
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        temporary = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
        user = "user root;" if os.geteuid() == 0 else ""
        around = f"{user} daemon off; pid {folder}/pid; events {{}} http {{ {temporary} {text} }}"
        (folder / "nginx.conf").write_text(around)
        line = [nginx(), "-p", str(folder), "-e", "stderr", "-c", str(folder / "nginx.conf")]
        checked = subprocess.run([*line, "-t"], capture_output=True, text=True, timeout=60)
        assert checked.returncode == 0, checked.stderr
        proxy = subprocess.Popen(line)
        try:
            trusted = ssl.create_default_context(cafile=folder / "chain.pem")
            way = httpx.HTTPTransport(verify=trusted, uds=str(socket))
            with httpx.Client(base_url="https://localhost", transport=way) as outside:
                while not (folder / "pid").read_text():  # written once it listens, empty by -t
                    assert proxy.poll() is None, "nginx ended"
                    time.sleep(0.01)
                inside = httpx.get(f"{here.address}/openapi.json", timeout=60)
                assert outside.get("/openapi.json").json() == inside.json()
                hidden = [outside.get(path).status_code for path in ("/metrics", "/healthz")]
        finally:
            proxy.terminate()
            assert proxy.wait(timeout=60) == 0
    assert hidden == [404, 404]


def _certificate(chain: Path, key: Path) -> None:
    """Write a key, and a certificate of this machine that it signed."""
    own = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, own.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(own, hashes.SHA256())
    )
    chain.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    key.write_bytes(own.private_bytes(*form, serialization.NoEncryption()))


def instructions(text: str) -> list[tuple[str, str]]:
    """The instructions of a container file, with their arguments."""
    joined = re.sub(r"\\\n\s*", "", text)
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in joined.splitlines() if line]


def _needed_to_build() -> set[str]:
    """Return what pip reads of the checkout: files, and folders of the first level."""
    read = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    project, wheel = read["project"], read["tool"]["hatch"]["build"]["targets"]["wheel"]
    named = [project["readme"], *project["license-files"], *wheel["packages"]]
    named += wheel["force-include"]
    return {"pyproject.toml", *(name.partition("/")[0] for name in named)}


def test_the_container_file_runs_in_a_fresh_folder(tmp_path: Path) -> None:
    (text,) = blocks(DEPLOYMENT, "dockerfile")
    listed = instructions(text)
    words = [word for word, _ in listed]
    said = dict(listed)
    once = [word for word in words if word != "COPY"]
    assert words[0] == "FROM" and len(once) == len(set(once))
    assert set(words) <= {
        *("FROM", "RUN", "USER", "WORKDIR", "VOLUME", "ENV", "EXPOSE", "STOPSIGNAL"),
        *("HEALTHCHECK", "ENTRYPOINT", "COPY"),
    }
    copied = [argument.split() for word, argument in listed if word == "COPY"]
    assert words.index("COPY") < words.index("RUN")
    assert _needed_to_build() <= {name for *names, _ in copied for name in names}
    for *names, place in copied:
        assert place == "/checkout/" or names == [place.removeprefix("/checkout/")]
    assert re.fullmatch(r"docker\.io/library/python:3\.\d+-slim", said["FROM"])
    assert said["USER"].isdecimal() and said["USER"] in said["RUN"] and said["USER"] != "0"
    assert words.index("USER") < words.index("ENTRYPOINT") and "lwa_" not in text
    folder = said["WORKDIR"]
    assert json.loads(said["VOLUME"]) == [folder]
    variables = dict(pair.split("=") for pair in shlex.split(said["ENV"]))
    assert variables["LAPWING_PORT"] == said["EXPOSE"]
    assert variables["LAPWING_DATABASE"].startswith(f"{folder}/")
    read_settings(environment=variables)

    # The same in a folder of this machine, at a free port.
    program, *arguments = json.loads(said["ENTRYPOINT"])
    assert program == "lapwing"
    own = {
        **environment(),
        **variables,
        "LAPWING_HOST": "127.0.0.1",
        "LAPWING_PORT": "0",
        "LAPWING_DATABASE": variables["LAPWING_DATABASE"].replace(folder, str(tmp_path)),
    }
    log = tmp_path / "log"
    with log.open("w") as lines:
        process = subprocess.Popen(
            [sys.executable, "-m", program, *arguments, "--json"],
            env=own,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=lines,
            text=True,
        )
    try:
        address = start_document(process, log)["address"]
        python, *check = json.loads(said["HEALTHCHECK"].partition("CMD ")[2])
        assert python == "python"
        port = {"LAPWING_PORT": address.rpartition(":")[2]}
        healthy = [sys.executable, *check]
        ran = subprocess.run(healthy, env={**os.environ, **port}, timeout=60, check=False)
        assert ran.returncode == 0
    finally:
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode == 0
    ran = subprocess.run(
        healthy, env={**os.environ, **port}, timeout=60, check=False, capture_output=True
    )
    assert ran.returncode != 0
