"""A mesh node whose home directory is a temporary directory; ssh-keygen and the file system are real."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import converge
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh.layer import MeshNode
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh.state import Account, parse_wanted
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh.transport import NodeTransport

DEFAULTS: dict[str, Any] = {
    "state": "present",
    "name": None,
    "addresses": [],
    "cidr": [],
    "ssh_port": 22,
    "peers": [],
    "head": None,
    "host_login": True,
    "transport": "guide",
    "container_name": "mpicont",
    "container_user": {},
    "rotation": "none",
    "guide_compatible": False,
}

ADDRESSES = """[{"ifname":"lo","addr_info":[{"family":"inet","local":"127.0.0.1","prefixlen":8}]},
 {"ifname":"eth0","addr_info":[{"family":"inet","local":"10.0.0.%d","prefixlen":24}]},
 {"ifname":"docker0","addr_info":[{"family":"inet","local":"172.17.0.1","prefixlen":16}]}]"""


class Transport(NodeTransport):
    """The real transport, but for the addresses of the machine that the tests happen to run on."""

    number = 1
    in_docker = True

    def may_call_docker(self) -> bool:
        return self.in_docker

    def address_report(self) -> str:
        return ADDRESSES % self.number


class System(NodeTransport):
    """From the root of the file system, but for the accounts of the machine that the tests happen to run on."""

    accounts: dict[str, tuple[int, str]]
    user: Transport
    busy = False

    def account_at(self, name: str, home: str) -> int | None:
        uid, place = self.accounts.get(name, (0, ""))
        return uid if uid and place == home else None

    def is_busy(self, uid: int) -> bool:
        return self.busy

    def usermod(self, _path: str, *, name: str) -> None:
        assert name == self.user.account.name
        self.user.in_docker = True

    def userdel(self, _path: str, *, name: str) -> None:
        del self.accounts[name]


class Node:
    """One node: ``node.run(state="identity")`` is one module call."""

    def __init__(self, name: str, number: int, home: Path, host_keys: Path) -> None:
        self.name = name
        self.home = home
        self.ssh = home / ".ssh"
        self.account = Account("nvidia", os.getuid(), os.getgid(), str(home))
        self.transport = Transport(name, self.account, str(host_keys))
        # What lies in no home, below a directory of its own.
        self.root = home.with_name(home.name + "-root")
        self.root.mkdir(mode=0o755, exist_ok=True)
        self.system = System(name, Account("root", os.getuid(), os.getgid(), str(self.root)))
        self.system.accounts, self.system.user = {}, self.transport
        self.transport.number = number
        self.address = f"10.0.0.{number}"

    @property
    def mesh(self) -> Path:
        """The mesh's directory."""
        return self.root / "etc/rocemesh/mesh"

    @property
    def container(self) -> Path:
        """What the container has at /root/.ssh."""
        return self.mesh / "container"

    def at(self, name: str) -> Path:
        """``container/...`` is the mesh's, everything else the user's ``.ssh``."""
        return (self.mesh if name.partition("/")[0] == "container" else self.ssh) / name

    def run(self, *, check: bool = False, **params: Any) -> dict[str, Any]:
        merged = {**DEFAULTS, "name": self.name, **params}
        if merged["transport"] == "container":
            merged.update({"host_login": False, "ssh_port": 2222, **params})
        if merged["state"] == "identity":
            merged.update({"addresses": [self.address], **params})
        wanted = parse_wanted(merged, host=self.name, user=self.account.name, planning=check)
        layer = MeshNode(self.name, self.transport, self.system, wanted)
        return converge(layer, wanted, check_mode=check)

    def identity(self, **params: Any) -> dict[str, Any]:
        identity: dict[str, Any] = self.run(state="identity", **params)["identity"]
        return identity

    def snapshot(self) -> dict[str, tuple[int, bytes]]:
        """Every file below the home directory and of the mesh: mode and bytes."""
        return {
            str(path.relative_to(self.home.parent)): (path.stat().st_mode, path.read_bytes())
            for path in (*sorted(self.home.rglob("*")), *sorted(self.root.rglob("*")))
            if path.is_file()
        }

    def untouched(self) -> bool:
        """Nothing was made, neither in the home directory nor for the mesh."""
        return not list(self.home.iterdir()) and not list(self.root.iterdir())
