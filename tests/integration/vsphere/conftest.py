"""The simulated vCenter, built from lab/vsphere, on loopback with a certificate of its own.

Modules run in this process, through their own `main()`: argument spec, check mode, fail_json and all.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import importlib
import io
import ipaddress
import json
import pathlib
import secrets
import subprocess
import unittest.mock
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere import arguments
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.transport import Connection, Endpoint
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from lab.rehearsal.simulators import build_vcenter as build
from tests.older_core import patch_module_args

from .patience import Patient

ROOT = pathlib.Path(__file__).resolve().parents[3]
USER = "administrator@vsphere.local"
TOPOLOGY = {
    "datacenter": "lab-dc",
    "cluster": "lab",
    "boot_seconds": 0.6,
    "shutdown_seconds": 0.05,
    "hosts": [
        {"name": "esx01", "vms": ["gpu01", "gpu02"]},
        {"name": "esx02", "vms": ["gpu03", {"name": "db", "passthrough": False, "power": "off"}]},
        {"name": "esx03", "vms": [{"name": "vcsa", "vcenter": True}]},
        {
            "name": "esx04",
            "vms": [
                {"name": "split", "node": 0, "gpu_node": 1, "power": "off"},
                {"name": "bare", "firmware": "bios", "reserve_memory": False, "power": "off"},
                {"name": "twin", "power": "off"},
                {"name": "twin", "folder": "archive", "power": "off", "passthrough": False},
            ],
        },
    ],
}
# Of the tests of windows: hosts that restart at once.
WINDOWS = {
    "datacenter": "lab-dc",
    "cluster": "lab",
    "boot_seconds": 0.1,
    "shutdown_seconds": 0.02,
    "hosts": [
        {"name": "esx01", "vms": ["gpu01", "gpu02"]},
        {"name": "esx02", "vms": ["gpu03"]},
        {
            "name": "esx03",
            "vms": ["gpu04", {"name": "web01", "passthrough": False}, {"name": "vCLS-4210a", "vcls": True}],
        },
    ],
}


@dataclasses.dataclass(frozen=True)
class Pki:
    ca: pathlib.Path
    other_ca: pathlib.Path
    certificate: pathlib.Path
    key: pathlib.Path


def _authority(name: str) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    return _sign(name, key, name, key, [x509.BasicConstraints(ca=True, path_length=0)]), key


def _sign(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    extensions: list[x509.ExtensionType],
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(days=1))
    )
    for extension in extensions:
        builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
    return builder.sign(issuer_key, hashes.SHA256())


@pytest.fixture(scope="session")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    folder = tmp_path_factory.mktemp("pki")
    authority, authority_key = _authority("lab CA")
    other, _other_key = _authority("another CA")
    key = ec.generate_private_key(ec.SECP256R1())
    names = x509.SubjectAlternativeName(
        [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("vcenter.lab")]
    )
    leaf = _sign("vcenter.lab", key, "lab CA", authority_key, [names])
    files = Pki(folder / "ca.crt", folder / "other.crt", folder / "vcenter.crt", folder / "vcenter.key")
    files.ca.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    files.other_ca.write_bytes(other.public_bytes(serialization.Encoding.PEM))
    files.certificate.write_bytes(leaf.public_bytes(serialization.Encoding.PEM))
    files.key.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return files


class Vcenter:
    """A running simulator: where it is, and its control API."""

    def __init__(
        self, process: subprocess.Popen[str], port: int, control: str, password: str, ca: pathlib.Path
    ) -> None:
        self.process = process
        self.port = port
        self.control = control
        self.password = password
        self.ca = ca

    @property
    def login(self) -> dict[str, Any]:
        return {
            "hostname": "127.0.0.1",
            "port": self.port,
            "username": USER,
            "password": self.password,
            "ca_path": str(self.ca),
            "timeout": 10,
        }

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        request = urllib.request.Request(
            self.control + path, method=method, data=None if body is None else json.dumps(body).encode()
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=30) as answer:
            return json.loads(answer.read())

    def fault(self, name: str, **parameters: Any) -> None:
        self.ask("POST", "/fault", {"name": name, **parameters})

    def heal(self) -> None:
        self.ask("DELETE", "/fault")

    def state(self) -> Any:
        return self.ask("GET", "/state")

    def host(self, name: str) -> Any:
        return self.state()["hosts"][name]

    def vm(self, name: str) -> Any:
        return self.state()["vms"][name]

    def calls(self) -> list[str]:
        """Every change that was asked for, as "method entity"."""
        return [f"{call['method']} {call['entity']}" for call in self.ask("GET", "/calls")]


def start(
    binary: pathlib.Path, pki: Pki, folder: pathlib.Path, topology: dict[str, Any], *more: str, password: str = ""
) -> Vcenter:
    password = password or secrets.token_urlsafe(16)
    (folder / "password").write_text(password)
    (folder / "topology.json").write_text(json.dumps(topology))
    process = subprocess.Popen(
        [
            str(binary),
            *("--listen", "127.0.0.1:0", "--control", "127.0.0.1:0"),
            *("--cert", str(pki.certificate), "--key", str(pki.key)),
            *("--user", USER, "--password-file", str(folder / "password")),
            *("--topology", str(folder / "topology.json"), *more),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    words = process.stdout.readline().split()
    assert words and words[0] == "READY", f"the simulator said {words!r}"
    return Vcenter(process, int(words[1].rsplit(":", 1)[1].split("/")[0]), words[3], password, pki.ca)


@pytest.fixture(scope="session")
def binary() -> pathlib.Path:
    return build()


@contextlib.contextmanager
def started(
    binary: pathlib.Path, pki: Pki, folder: pathlib.Path, topology: dict[str, Any], password: str = ""
) -> Iterator[Vcenter]:
    vcenter = start(binary, pki, folder, topology, password=password)
    try:
        yield vcenter
    finally:
        vcenter.process.terminate()
        vcenter.process.wait(timeout=10)


@pytest.fixture(scope="session")
def running(binary: pathlib.Path, pki: Pki, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vcenter]:
    with started(binary, pki, tmp_path_factory.mktemp("vcenter"), TOPOLOGY) as vcenter:
        yield vcenter


@pytest.fixture(scope="module")
def quick(binary: pathlib.Path, pki: Pki, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vcenter]:
    with started(binary, pki, tmp_path_factory.mktemp("quick"), WINDOWS) as vcenter:
        yield vcenter


@pytest.fixture
def vcenter(running: Vcenter) -> Vcenter:
    """The shared simulator in factory state."""
    running.ask("POST", "/reset")
    return running


class Result(dict[str, Any]):
    """What a module returned; `failed` tells fail_json from exit_json."""

    def __missing__(self, key: str) -> Any:
        raise KeyError(f"{key} is not in {json.dumps(self, default=str)}")

    @property
    def failed(self) -> bool:
        return bool(self.get("failed"))

    @property
    def msg(self) -> str:
        return str(self.get("msg", ""))

    @property
    def warned(self) -> str:
        """All warnings as one text; their wire form differs between releases of ansible-core."""
        return json.dumps(self.get("warnings", []))


Run = Callable[..., Result]


def run_module(name: str, parameters: dict[str, Any], check: bool = False) -> Result:
    module = importlib.import_module(f"ansible_collections.rocemesh.multinode.plugins.modules.{name}")
    printed = io.StringIO()
    given = {**parameters, "_ansible_check_mode": check, "_ansible_diff": True}
    # In a process that has imported any of Ansible's controller, warnings go to its display and not into the result.
    warned: list[str] = []
    collected = unittest.mock.patch.object(AnsibleModule, "warn", lambda _self, text, **_more: warned.append(text))
    used = (
        Patient if arguments.Connection is Connection else arguments.Connection
    )  # one that a test has put there stays
    waiting = unittest.mock.patch.object(arguments, "Connection", used)
    with waiting, collected, patch_module_args(given), contextlib.redirect_stdout(printed), pytest.raises(SystemExit):
        module.main()
    result = Result(json.loads(printed.getvalue().strip().splitlines()[-1]))
    result["warnings"] = warned
    return result


def change_while_on(vcenter: Vcenter, vm: str, extra: dict[str, str]) -> None:
    """What somebody else's client does: change keys without looking at the power state."""
    endpoint = Endpoint("127.0.0.1", USER, vcenter.password, vcenter.port, ca_path=str(vcenter.ca))
    with Connection(endpoint) as connection:
        task = connection.reconfigure(connection.find_vm(vm), extra, {}, "")
        connection.wait(task, "change", vm, 10)


@pytest.fixture
def run(vcenter: Vcenter) -> Run:
    def call(name: str, check: bool = False, **parameters: Any) -> Result:
        return run_module(name, {**vcenter.login, **parameters}, check)

    return call
