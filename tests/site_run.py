"""Runs playbooks against the lab and reads what they and the twin say; for the site, fault and benchmark suites."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import yaml

from lab import config, control, nodes, status

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAB = pathlib.Path(os.environ.get("ROCEMESH_LAB_DIR", ROOT / ".lab"))
ALLOW = ("-e", "rocemesh_allow_reboot=true")
# The training is a proof of the path, not a benchmark: short in tests.
SHORT = ("-e", '{"run_num_batches": 4, "run_num_warmup_batches": 1, "run_batch_size": 1}')
_RECAP = re.compile(r"^(\S+)\s+: (ok=.*)$", re.M)


@dataclasses.dataclass(frozen=True)
class Run:
    rc: int
    out: str
    seconds: float

    @property
    def recap(self) -> dict[str, dict[str, int]]:
        return {
            host: {key: int(value) for key, value in (pair.split("=") for pair in counts.split())}
            for host, counts in _RECAP.findall(self.out)
        }

    @property
    def changed(self) -> dict[str, int]:
        return {host: counts["changed"] for host, counts in self.recap.items() if counts["changed"]}

    def tail(self, lines: int = 60) -> str:
        return "\n".join(self.out.splitlines()[-lines:])


def environment() -> dict[str, str]:
    return {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORCE_COLOR": "0", "LC_ALL": "C.UTF-8"}


def command(playbook: str, *arguments: str) -> list[str]:
    program = pathlib.Path(sys.executable).parent / "ansible-playbook"
    inventories = [word for inventory in config.SHAPE.inventories for word in ("-i", inventory)]
    # An absolute path stays what it is.
    return [str(program), str(ROOT / "playbooks" / playbook), *inventories, *arguments]


def play(
    playbook: str,
    *arguments: str,
    timeout: float = 1500,
    when: tuple[str | Callable[[], bool], Callable[[int], None]] | None = None,
    scratch: pathlib.Path | None = None,
    counted: pathlib.Path | None = None,
) -> Run:
    """Run a playbook to its end. ``when``: (what, action): ``action(pid)`` at the first match of the output with a
    pattern, or as soon as a question to the twin is answered with yes. (A heading stands there before its task began.)
    ``scratch``: where everything temporary of this run goes, to look at it afterwards. ``counted``: where callback
    starts writes what the run costs."""
    begun = time.monotonic()
    places = {"TMPDIR": str(scratch), "ANSIBLE_HOME": str(scratch / "home")} if scratch else {}
    if counted:
        places |= {"ANSIBLE_CALLBACK_PLUGINS": str(ROOT / "tests/callback"), "ROCEMESH_STARTS": str(counted)}
    with tempfile.NamedTemporaryFile("w+", suffix=".log") as log:
        process = subprocess.Popen(
            command(playbook, *arguments),
            cwd=ROOT,
            env={**environment(), "PYTHONUNBUFFERED": "1", **places},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        output = pathlib.Path(log.name)
        try:
            while process.poll() is None:
                if time.monotonic() - begun > timeout:
                    raise TimeoutError(
                        f"{playbook}: no end within {timeout} s: {output.read_text(errors='replace')[-3000:]}"
                    )
                if when and (
                    re.search(when[0], output.read_text(errors="replace")) if isinstance(when[0], str) else when[0]()
                ):
                    when[1](process.pid)
                    when = None
                time.sleep(0.05)
        finally:
            kill(process.pid)
            process.wait()
        return Run(process.returncode, output.read_text(errors="replace"), time.monotonic() - begun)


def cost(counted: pathlib.Path, leave: Collection[str] = ()) -> dict[str, tuple[int, int]]:
    """Module starts and task results of each host, without the plays that ``leave`` names. No load changes them."""
    found: dict[str, list[int]] = {}
    for line in counted.read_text().splitlines():
        kind, host, *_more, play, _task = json.loads(line)
        if play not in leave:
            found.setdefault(host, [0, 0])[kind == "result"] += 1
    return {host: (starts, results) for host, (starts, results) in found.items()}


def plays(*playbooks: str) -> set[str]:
    return {play["name"] for name in playbooks for play in yaml.safe_load((ROOT / "playbooks" / name).read_text())}


def kill(root: int) -> None:
    """SIGKILL to ansible-playbook and all its workers; nothing gets to clean up."""
    for pid in descendants(root):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def descendants(root: int) -> list[int]:
    """The process and everything below it (workers leave the session, so the group is not enough), parents first."""
    children: dict[int, list[int]] = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
                persistent = (
                    b"ControlPersist" in (entry / "cmdline").read_bytes()
                    and b"[mux]" in (entry / "cmdline").read_bytes()
                )
            except OSError:
                continue
            if not persistent:
                children.setdefault(int(stat.rsplit(")", 1)[1].split()[1]), []).append(int(entry.name))
    found, queue = [], [root]
    while queue:
        pid = queue.pop(0)
        found.append(pid)
        queue += children.get(pid, [])
    return found


def lab_command(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "lab", *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=1200
    )
    if done.returncode:
        raise RuntimeError(f"lab {' '.join(arguments)}: rc {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def reset(*, keep_registry: bool = False) -> None:
    lab_command("reset", *(["--keep-registry"] if keep_registry else []))


def state() -> dict[str, Any]:
    value: dict[str, Any] = json.loads(lab_command("status", "--json"))
    return value


def durable() -> list[str]:
    """Everything durable in the twin, one value per line: what `lab status --hash` hashes, so that differences show."""

    def lines(prefix: str, value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            for key, inner in sorted(value.items()):
                yield from lines(f"{prefix}/{key}", inner)
        else:
            yield from (f"{prefix}: {line}" for line in str(value).splitlines())

    return list(lines("", status.durable()))


def on_node(node: str, *arguments: str) -> str:
    """A command inside a node, through the engine and not through the node's own sshd."""
    output: str = nodes.inside(config.BY_NAME[node], *arguments).stdout
    return output


def containers(node: str) -> list[tuple[str, str, str]]:
    """(name, image id, state) of each container of the node's own engine, with the id, so that a new one is noticed."""
    text = on_node(node, "docker", "ps", "-a", "--no-trunc", "--format", "{{.Names}} {{.ID}} {{.State}}")
    return sorted((name, identity, status) for name, identity, status in map(str.split, text.splitlines()))


def trains(node: str) -> bool:
    """A rank of the training runs in the node's container."""
    if not any(state == "running" for _name, _identity, state in containers(node)):
        return False
    return "resnet50.py" in on_node(node, "docker", "top", "mpicont", "-eo", "pid,args")


def images(node: str) -> list[str]:
    return sorted(on_node(node, "docker", "images", "-q", "--no-trunc").split())


def boots() -> dict[str, int]:
    return {name: host["boots"] for name, host in state()["vsphere"]["hosts"].items()}


def ask(program: str, path: str, method: str = "GET") -> Any:
    """A question to the control port of switch, vsphere or physics."""
    return control.request(method, control.url(program, path))


@contextlib.contextmanager
def fault(program: str, **body: Any) -> Iterator[None]:
    """Inject a fault into switch, vsphere or physics, and take all of that program's faults back at the end."""
    control.request("POST", control.url(program, "/fault"), body)
    try:
        yield
    finally:
        control.request("DELETE", control.url(program, "/fault"), timeout=60)


def summary() -> dict[str, Any]:
    value: dict[str, Any] = json.loads((ROOT / "reports" / "latest" / "summary.json").read_text())
    return value


def secrets() -> dict[str, str]:
    """Everything that must never be printed: the lab's passwords and one line of every private key."""
    found = {path.name: path.read_text().strip() for path in (LAB / "secrets").iterdir()}
    found["controller_ed25519"] = (LAB / "ssh" / "controller_ed25519").read_text().splitlines()[2]
    for node in config.BY_NAME:
        listing = on_node(node, "sh", "-c", "grep -rl 'PRIVATE KEY' /home/nvidia/.ssh /etc/ssh || true")
        for path in listing.split():
            found[f"{node}:{path}"] = on_node(node, "sed", "-n", "3p", path).strip()
    return found


def vsphere() -> Any:
    """A second, independent client of the twin's vCenter (plain pyvmomi)."""
    from pyVim.connect import SmartConnect  # noqa: PLC0415 - only the tests that need it pay for the import

    context = ssl.create_default_context(cafile=str(LAB / "pki" / "ca.crt"))
    password = (LAB / "secrets" / "vcenter_password").read_text()
    return SmartConnect(
        host=config.VCENTER_IP, port=config.VCENTER_PORT, user=config.VCENTER_USER, pwd=password, sslContext=context
    )


def power_cycle(names: Sequence[str]) -> None:
    """Power VMs off and on in vSphere, hosts untouched; returns when their sshd answers again."""
    from pyVmomi import vim  # noqa: PLC0415

    content = vsphere().content
    view = content.viewManager.CreateContainerView(content.rootFolder, [vim.VirtualMachine], True).view
    machines = [machine for machine in view if machine.name in names]
    deadline = time.monotonic() + 120
    for begin in (vim.VirtualMachine.PowerOff, vim.VirtualMachine.PowerOn):
        tasks = [begin(machine) for machine in machines]
        while any(task.info.state in ("queued", "running") for task in tasks):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{names}: {begin} is not done after two minutes")
            time.sleep(0.2)
        failed = [task.info.error for task in tasks if task.info.state != "success"]
        if failed:
            raise RuntimeError(f"{names}: {failed}")
    while not all(state()["nodes"][name]["ssh"] for name in names):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{names}: no sshd two minutes after power-on")
        time.sleep(0.5)
