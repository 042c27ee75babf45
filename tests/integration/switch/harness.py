# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start the simulated switch on free loopback ports and run the real module against it."""

from __future__ import annotations

import contextlib
import dataclasses
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

from tests.integration import in_process

REPOSITORY = Path(__file__).resolve().parents[3]
PASSWORD = "Not-to-be-seen-4711"
ADDRESS = "127.0.0.1"
START_SECONDS = 60
RUN_SECONDS = 300
_READY_RE = re.compile(r"ready ssh=\S+:(\d+) control=(\S+)")


@dataclasses.dataclass(frozen=True)
class Simulator:
    """A running simulator."""

    port: int
    control: str
    known_hosts: Path
    directory: Path

    def request(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{self.control}{path}", data=data, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def state(self) -> Any:
        return self.request("GET", "/state")

    def log(self) -> Any:
        """``sessions`` and ``lines`` since the last reset, or since `forget`."""
        return self.request("GET", "/log")

    def forget(self) -> None:
        self.request("DELETE", "/log")

    def fault(self, **fault: Any) -> None:
        self.request("POST", "/fault", fault)

    def heal(self) -> None:
        self.request("DELETE", "/fault")

    def reset(self) -> None:
        self.request("POST", "/reset")


@contextlib.contextmanager
def running(directory: Path, *arguments: str) -> Iterator[Simulator]:
    directory.mkdir(parents=True, exist_ok=True)
    password_file, host_key = directory / "password", directory / "host_key"
    password_file.write_text(PASSWORD)
    command = [sys.executable, "-m", "lab.switch", "--host", ADDRESS, "--port", "0", "--control", f"{ADDRESS}:0"]
    command += ["--host-key", str(host_key), "--password-file", str(password_file), *arguments]
    process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        port, control = _await_ready(process)
        known_hosts = directory / "known_hosts"
        kind, key = host_key.with_name("host_key.pub").read_text().split()[:2]
        known_hosts.write_text(f"[{ADDRESS}]:{port} {kind} {key}\n")
        yield Simulator(port, control, known_hosts, directory)
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
    known = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "ONYX_"))}
    known["ANSIBLE_STDOUT_CALLBACK"] = "ansible.posix.json"
    known["ANSIBLE_DEPRECATION_WARNINGS"] = "false"
    return {**known, **changes}


def playbook(directory: Path, plays: Any, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run plays (JSON is YAML) with ansible-playbook from the repository root."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "playbook.json"
    path.write_text(json.dumps(plays))
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", f"{ADDRESS},", str(path), *arguments]
    return subprocess.run(
        command,
        cwd=REPOSITORY,
        env=environment(**env),
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )


def _given(simulator: Simulator, module: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Options with the defaults of these tests; ``None`` takes one of them away."""
    known: dict[str, Any] = {
        "hostname": ADDRESS,
        "port": simulator.port,
        "username": "admin",
        "password": PASSWORD,
        "known_hosts": str(simulator.known_hosts),
        "timeout": 10,
    }
    if module == "onyx_roce":
        # The simulated switch has links outside the requested ports; what a failure leaves behind is looked at.
        known |= {"allow_disruption": "any", "rollback": False}
    return {name: value for name, value in {**known, **arguments}.items() if value is not None}


def run_module(
    simulator: Simulator, check: bool = False, module: str = "onyx_roce", **arguments: Any
) -> dict[str, Any]:
    """The module's result, in this process; with ``failed`` and ``msg`` if it failed."""
    return in_process.run(module, _given(simulator, module, arguments), environment(), check)


def run_playbook(
    simulator: Simulator, *flags: str, env: dict[str, str] | None = None, **arguments: Any
) -> dict[str, Any]:
    """The same as a user runs it, through ansible-playbook."""
    play = {
        "hosts": "all",
        "gather_facts": False,
        "tasks": [
            {
                "rocemesh.multinode.onyx_roce": _given(simulator, "onyx_roce", arguments),
                "delegate_to": "localhost",
                "vars": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable},
            }
        ],
    }
    done = playbook(simulator.directory, [play], *flags, **(env or {}))
    try:
        result = json.loads(done.stdout)["plays"][0]["tasks"][0]["hosts"][ADDRESS]
    except (ValueError, LookupError):
        raise AssertionError(f"no result\n{done.stdout}\n{done.stderr}") from None
    assert isinstance(result, dict)
    return result
