"""What test_mesh.py compares: the role, the guide's own steps as one shell loop, and tasks of community modules.

All start from nodes with an empty ~/.ssh but for the administrator's key, and all end in containers that reach every
node; `same_end` says what else they end in.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.integration.mesh.fleet import CONTAINER, Fleet
from tests.integration.mesh.playing import OURS, play

ROOT = Path(__file__).resolve().parents[2]


# What a careful user writes, to the role's end: a key pair per node, the head's alone accepted everywhere and from its
# address alone, host keys pinned, a worker told of the head alone.
_HOME = "/root/.ssh"
COMMUNITY: list[dict[str, Any]] = [
    {
        "hosts": "all",
        "gather_facts": False,
        "tasks": [
            {
                "name": "Directory",
                "ansible.builtin.file": {"path": f"{_HOME}/ssh_container", "state": "directory", "mode": "0755"},
            },
            {
                "name": "Key",
                "community.crypto.openssh_keypair": {
                    "path": f"{_HOME}/ssh_container/id_ed25519_cont",
                    "type": "ed25519",
                    "backend": "opensshbin",
                },
                "register": "pair",
            },
            {
                "name": "Host key",
                "ansible.builtin.slurp": {"src": "/etc/ssh/ssh_host_ed25519_key.pub"},
                "register": "own",
            },
            {
                "name": "Key of the head",
                "ansible.posix.authorized_key": {
                    "user": "root",
                    "key": "{{ hostvars[ansible_play_hosts[0]].pair.public_key }}",
                    "key_options": 'restrict,from="{{ hostvars[ansible_play_hosts[0]].ansible_host }}",'
                    f'command="bash {_HOME}/mpicont.sh"',
                },
            },
            {
                "name": "Host keys: of all nodes on the head, of the head on the others",
                "ansible.builtin.copy": {
                    "dest": f"{_HOME}/ssh_container/known_hosts",
                    "mode": "0600",
                    "content": "{% for host in _known %}{{ hostvars[host].ansible_host }} "
                    "{{ hostvars[host].own.content | b64decode }}{% endfor %}",
                },
                "vars": {
                    "_known": "{{ ansible_play_hosts if inventory_hostname == ansible_play_hosts[0] "
                    "else ansible_play_hosts[:1] }}"
                },
            },
            {
                "name": "Client",
                "ansible.builtin.copy": {
                    "dest": f"{_HOME}/ssh_container/config",
                    "mode": "0600",
                    "content": "Host *\n    IdentityFile /root/.ssh/id_ed25519_cont\n    LogLevel ERROR\n",
                },
            },
            {
                "name": "Forced command",
                "ansible.builtin.copy": {
                    "dest": f"{_HOME}/mpicont.sh",
                    "mode": "0755",
                    "content": f'docker exec {CONTAINER} /bin/bash -c "$SSH_ORIGINAL_COMMAND"\n',
                },
            },
        ],
    }
]


@contextmanager
def processor_time() -> Iterator[Callable[[], float]]:
    """Seconds of processor time of this process and of all that it starts, nodes and their servers too; always 0 where
    there is no control group for it. Other than the clock it does not see what else the machine has to do."""
    version2 = Path("/sys/fs/cgroup/cgroup.controllers").exists()
    base = Path("/sys/fs/cgroup" if version2 else "/sys/fs/cgroup/cpuacct")
    group = base / f"rocemesh-bench-{os.getpid()}"
    own = next(
        (line.split(":", 2)[2] for line in Path("/proc/self/cgroup").read_text().splitlines()
         if line.startswith("0::" if version2 else "") and ("cpuacct" in line or version2)), "/",
    )  # fmt: skip
    try:
        group.mkdir()
        (group / "cgroup.procs").write_text(str(os.getpid()))
    except OSError:
        yield lambda: 0.0
        return

    def read() -> float:
        if not version2:
            return int((group / "cpuacct.usage").read_text()) / 1e9
        return int((group / "cpu.stat").read_text().split()[1]) / 1e6

    try:
        yield read
    finally:
        (base / own.lstrip("/") / "cgroup.procs").write_text(str(os.getpid()))
        with suppress(OSError):  # a process that is just ending holds it
            group.rmdir()


def run(fleet: Fleet, side: str) -> str:
    """One side over the whole fleet; its output. Raises AssertionError if it failed."""
    if side in ("role", "role_again", "community"):
        done = play(fleet, COMMUNITY if side == "community" else OURS, side)
    else:
        head, *workers = fleet.nodes
        targets = [node.address for node in (fleet.nodes if side == "careful_loop" else workers)]
        script = Path(__file__).with_name("careful_loop.sh" if side == "careful_loop" else "guide_loop.sh")
        # As text: a node does not see this machine's /root, where the repository may lie.
        done = head.inside(["bash", "-c", script.read_text(), script.name, *targets], timeout=1800)
    assert done.returncode == 0, f"{side}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout
