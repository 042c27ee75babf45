# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start the simulated switches on free loopback ports and run the real module against them.

`run_playbook` runs it as a user does, with ansible-playbook. `run_module` runs the same file in a process of its own,
as Ansible does on the controller, which takes a fraction of the time: for the many ways in which things go wrong.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import ipaddress
import json
import os
import re
import select
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

REPOSITORY = Path(__file__).resolve().parents[3]
PASSWORD = "Not-to-be-seen-4711"
ADDRESS = "127.0.0.1"
USER = "cumulus"
START_SECONDS = 60
RUN_SECONDS = 120
_READY_RE = re.compile(r"ready (?:https|ssh)=\S+:(\d+) control=(\S+)")


@dataclasses.dataclass(frozen=True)
class Simulator:
    """A running simulator; ``trust``: the CA certificate that leads to it."""

    transport: str
    port: int
    control: str
    trust: Path
    directory: Path
    process: subprocess.Popen[str]

    def request(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{self.control}{path}", data=data, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def state(self) -> Any:
        return self.request("GET", "/state")

    def fault(self, **fault: Any) -> None:
        self.request("POST", "/fault", fault)

    def heal(self) -> None:
        self.request("DELETE", "/fault")

    def reset(self) -> None:
        self.request("POST", "/reset")

    @property
    def options(self) -> dict[str, Any]:
        """How the module reaches it."""
        return {
            "hostname": ADDRESS,
            "port": self.port,
            "username": USER,
            "password": PASSWORD,
            "timeout": 10,
            "ca_path": str(self.trust),
        }


def certificate(directory: Path, name: str, addresses: tuple[str, ...] = (ADDRESS,)) -> tuple[Path, Path]:
    """A certificate that signed itself, as a switch has one, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"SIMULATED {name}")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=10))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]), False
        )
        .sign(key, hashes.SHA256())
    )
    public, private = directory / f"{name}.crt", directory / f"{name}.key"
    public.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.touch(0o600)
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return public, private


@contextlib.contextmanager
def running(directory: Path, transport: str, *arguments: str) -> Iterator[Simulator]:
    directory.mkdir(parents=True, exist_ok=True)
    password_file = directory / "password"
    password_file.write_text(PASSWORD)
    command = [sys.executable, "-m", f"lab.{transport}", "--host", ADDRESS, "--port", "0"]
    command += ["--control", f"{ADDRESS}:0", "--password-file", str(password_file)]
    trust, key = certificate(directory, "server")
    command += ["--certificate", str(trust), "--key", str(key)]
    process = subprocess.Popen(
        [*command, *arguments], cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        port, control = _await_ready(process)
        yield Simulator(transport, port, control, trust, directory, process)
    finally:
        process.terminate()
        process.communicate(timeout=30)


def _await_ready(process: subprocess.Popen[str]) -> tuple[int, str]:
    assert process.stdout is not None
    deadline = time.monotonic() + START_SECONDS
    said = ""
    while time.monotonic() < deadline:
        if not select.select([process.stdout], [], [], 1)[0]:
            continue
        line = process.stdout.readline()
        said += line
        ready = _READY_RE.search(line)
        if ready:
            return int(ready.group(1)), ready.group(2)
        if not line:
            break
    raise RuntimeError(f"the simulator did not start: {said}")


def environment(**changes: str) -> dict[str, str]:
    known = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "CUMULUS_"))}
    known["ANSIBLE_STDOUT_CALLBACK"] = "ansible.posix.json"
    known["ANSIBLE_DEPRECATION_WARNINGS"] = "false"
    return {**known, **changes}


def command_line(directory: Path, plays: Any, *arguments: str) -> list[str]:
    """ansible-playbook for plays (JSON is YAML)."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "playbook.json"
    path.write_text(json.dumps(plays))
    return [str(Path(sys.executable).with_name("ansible-playbook")), "-i", f"{ADDRESS},", str(path), *arguments]


def playbook(directory: Path, plays: Any, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command_line(directory, plays, *arguments),
        cwd=REPOSITORY,
        env=environment(**env),
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )


def module_play(options: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "hosts": "all",
            "gather_facts": False,
            "tasks": [
                {
                    "rocemesh.multinode.cumulus_roce": options,
                    "delegate_to": "localhost",
                    "vars": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable},
                }
            ],
        }
    ]


def _judged(result: Any, text: str) -> dict[str, Any]:
    assert PASSWORD not in text
    assert isinstance(result, dict) and "Traceback" not in text, text
    return result


def _given(simulator: Simulator, arguments: dict[str, Any]) -> dict[str, Any]:
    """``None`` takes a default argument away."""
    return {name: value for name, value in {**simulator.options, **arguments}.items() if value is not None}


def run_module(
    simulator: Simulator, check: bool = False, module: str = "cumulus_roce", **arguments: Any
) -> dict[str, Any]:
    """The module's result; with ``failed`` and ``msg`` if it failed."""
    if module == "cumulus_roce":
        # The simulated switch has links outside the requested ports; what a failure leaves behind is looked at.
        arguments = {"allow_disruption": "any", "rollback": False, **arguments}
    options = {**_given(simulator, arguments), "_ansible_check_mode": check, "_ansible_diff": True}
    done = subprocess.run(
        [sys.executable, "-m", f"ansible_collections.rocemesh.multinode.plugins.modules.{module}"],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": options}),
        cwd=REPOSITORY,
        env={**environment(), "PYTHONPATH": str(REPOSITORY / "collections")},
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )
    try:
        return _judged(json.loads(done.stdout), done.stdout + done.stderr)
    except ValueError:
        raise AssertionError(f"no result\n{done.stdout}\n{done.stderr}") from None


def run_playbook(
    simulator: Simulator, *flags: str, env: dict[str, str] | None = None, **arguments: Any
) -> dict[str, Any]:
    """The same through ansible-playbook."""
    arguments = {"allow_disruption": "any", "rollback": False, **arguments}
    done = playbook(simulator.directory, module_play(_given(simulator, arguments)), *flags, **(env or {}))
    try:
        result = json.loads(done.stdout)["plays"][0]["tasks"][0]["hosts"][ADDRESS]
    except (ValueError, LookupError):
        raise AssertionError(f"no result\n{done.stdout}\n{done.stderr}") from None
    return _judged(result, done.stdout + done.stderr)
