"""What the tests of all simulated switches share: one is started on free loopback ports, and asked by the real module
in the process of the test, by ansible-playbook as a user does it, or by the role."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from lab.rehearsal import simulators
from tests.integration import in_process

REPOSITORY = Path(__file__).resolve().parents[2]
PASSWORD = "Not-to-be-seen-4711"
ADDRESS = "127.0.0.1"
LOCAL = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
RUN_SECONDS = 300
# What the environment of the tests says about logins and output is not for these playbooks; how fast they are, is.
_NOT_THEIRS = ("ANSIBLE_", "SWITCH_")
_THEIRS = ("ANSIBLE_PIPELINING", "ANSIBLE_CALLBACK_PLUGINS")


@dataclasses.dataclass(frozen=True)
class Simulator:
    """A running simulator; ``trust``: the file that leads to it, its host key or its CA certificate. ``module``: what
    configures it."""

    module: ClassVar[str]
    port: int
    control: str
    trust: Path
    directory: Path

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
        """How a module reaches it."""
        return {"hostname": ADDRESS, "port": self.port, "password": PASSWORD, "timeout": 10}

    @property
    def role(self) -> dict[str, Any]:
        """How the role reaches it, and what it is to do."""
        return {"switch_password": PASSWORD, "switch_vlan": 111, "switch_allow_disruption": "any"}

    def given(self, module: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Options with the defaults of these tests; ``None`` takes one of them away."""
        known = self.options
        if module == self.module:
            # The simulated switch has links outside the requested ports; what a failure leaves behind is looked at.
            known |= {"allow_disruption": "any", "rollback": False}
        return {name: value for name, value in {**known, **arguments}.items() if value is not None}


@contextlib.contextmanager
def started(program: str, directory: Path, *arguments: str) -> Iterator[tuple[int, str]]:
    """The simulator's port and the address of its control, as long as it runs."""
    directory.mkdir(parents=True, exist_ok=True)
    password_file = directory / "password"
    password_file.write_text(PASSWORD)
    command = [sys.executable, "-m", program, "--host", ADDRESS, "--port", "0", "--control", f"{ADDRESS}:0"]
    command += ["--password-file", str(password_file), *arguments]
    with simulators.started(command) as (port, control, _process):
        yield port, control


def environment(**changes: str) -> dict[str, str]:
    known = {name: value for name, value in os.environ.items() if name in _THEIRS or not name.startswith(_NOT_THEIRS)}
    known["ANSIBLE_STDOUT_CALLBACK"] = "ansible.posix.json"
    known["ANSIBLE_DEPRECATION_WARNINGS"] = "false"
    return {**known, **changes}


# ---- asking ---------------------------------------------------------------------------------------------------------


def _judged(result: Any, text: str) -> dict[str, Any]:
    assert PASSWORD not in text
    assert isinstance(result, dict) and "Traceback" not in text, text
    return result


def run_module(simulator: Simulator, check: bool = False, module: str = "", **arguments: Any) -> dict[str, Any]:
    """The module's result, in this process; with ``failed`` and ``msg`` if it failed."""
    module = module or simulator.module
    result = in_process.run(module, simulator.given(module, arguments), environment(), check)
    return _judged(result, json.dumps(result))


def command_line(directory: Path, plays: Any, *arguments: str) -> list[str]:
    """ansible-playbook for plays (JSON is YAML)."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "playbook.json"
    path.write_text(json.dumps(plays))
    return [str(Path(sys.executable).with_name("ansible-playbook")), "-i", f"{ADDRESS},", str(path), *arguments]


def playbook(directory: Path, plays: Any, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run plays with ansible-playbook from the repository root."""
    return subprocess.run(
        command_line(directory, plays, *arguments),
        cwd=REPOSITORY,
        env=environment(**env),
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )


def module_play(module: str, *options: dict[str, Any], **keywords: Any) -> list[dict[str, Any]]:
    """A play that asks it with each of the options, one after the other."""
    tasks = [
        {f"rocemesh.multinode.{module}": given, "delegate_to": "localhost", "vars": LOCAL, **keywords}
        for given in options
    ]
    return [{"hosts": "all", "gather_facts": False, "tasks": tasks}]


def run_playbook(
    simulator: Simulator, *flags: str, env: dict[str, str] | None = None, **arguments: Any
) -> dict[str, Any]:
    """The module's result as a user gets it, through ansible-playbook."""
    plays = module_play(simulator.module, simulator.given(simulator.module, arguments))
    done = playbook(simulator.directory, plays, *flags, **(env or {}))
    try:
        result = json.loads(done.stdout)["plays"][0]["tasks"][0]["hosts"][ADDRESS]
    except (ValueError, LookupError):
        raise AssertionError(f"no result\n{done.stdout}\n{done.stderr}") from None
    return _judged(result, done.stdout + done.stderr)


def run_role(
    simulator: Simulator, *flags: str, entry: str = "main", moments: tuple[str, ...] = ("",), **changes: Any
) -> tuple[int, dict[str, Any]]:
    """Exit status, and the results by task name. ``moments``: the entry point is played once at each."""
    variables = {**simulator.role, **changes}
    include = {"name": "rocemesh.multinode.switch", "tasks_from": entry}
    tasks: list[dict[str, Any]] = [
        {
            "ansible.builtin.include_role": include,
            "vars": {**variables, **({"switch_moment": moment} if moment else {})},
        }
        for moment in moments
    ]
    tasks += [
        {"name": name, "ansible.builtin.debug": {"var": f"switch_{name}"}}
        for name in ("outcome", "observed", "readings")
    ]
    done = playbook(simulator.directory, [{"hosts": "all", "gather_facts": False, "tasks": tasks}], *flags)
    assert PASSWORD not in done.stdout + done.stderr
    played = json.loads(done.stdout)["plays"][0]["tasks"]
    return done.returncode, {task["task"]["name"]: task["hosts"].get(ADDRESS, {}) for task in played}


# ---- rules of every module of a switch ------------------------------------------------------------------------------


def assert_converges_and_stays(results: list[tuple[int, dict[str, Any]]]) -> None:
    """Of two runs of the role."""
    (first, configured), (second, again) = results
    outcome = configured["outcome"]["switch_outcome"]
    assert first == 0 and outcome["changed"] and outcome["verified"] and outcome["found"]["saved"]
    assert len(outcome["changes"]) == 4
    outcome = again["outcome"]["switch_outcome"]
    assert second == 0 and not outcome["changed"] and outcome["verified"] and outcome["changes"] == []


def assert_verify_names_what_is_missing(status: int, results: dict[str, Any]) -> None:
    message = next(result["msg"] for result in results.values() if result.get("failed"))
    assert status != 0 and "create VLAN 111" in message and "MTU 1500 -> 9216" in message


def assert_no_password_even_at_vvv(
    simulator: Simulator, place: Path, ready: dict[str, Any], wrong: tuple[dict[str, Any], ...]
) -> None:
    """One run that converges, and one with each of the ``wrong`` options: not in what is printed, logged or left."""
    variables = place / "secret.json"
    variables.write_text(json.dumps({"secret": PASSWORD}))
    options = {**simulator.options, "password": "{{ secret }}"}
    changes = ({**ready, "allow_disruption": "any"}, *wrong)
    plays = module_play(simulator.module, *({**options, **change} for change in changes), ignore_errors=True)
    done = playbook(
        place / "run",
        plays,
        "-vvv",
        "-e",
        f"@{variables}",
        ANSIBLE_STDOUT_CALLBACK="default",
        ANSIBLE_LOCAL_TEMP=str(place / "local"),
        ANSIBLE_KEEP_REMOTE_FILES="0",
        ANSIBLE_LOG_PATH=str(place / "log"),
    )
    assert "failed=0" in done.stdout and f"ignored={len(wrong)}" in done.stdout
    for text in (done.stdout, done.stderr, (place / "log").read_text()):
        assert PASSWORD not in text
    left = [path for path in place.rglob("*") if path.is_file() and path != variables]
    assert left and not [path for path in left if PASSWORD.encode() in path.read_bytes()]
