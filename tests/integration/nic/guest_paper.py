"""Guests as folders, for what this kernel has no interfaces of (bonds, VLANs) and for programs that would have to run.

What the running system would answer is written down here; netplan's generator, nmcli --offline, ifquery and
systemd-analyze are real.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
from typing import Any, Sequence

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import converge
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.interface_choice import Wanted
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.interface_layer import InterfaceLayer
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.interface_reading import InterfaceReader
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.transport import Finished, Sysfs

TOOLS = pathlib.Path(
    os.environ.get("ROCEMESH_NETWORK_TOOLS")
    or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "rocemesh/network-tools"
)
GENERATE = TOOLS / "usr/libexec/netplan/generate"
LIBRARIES = {**os.environ, "LD_LIBRARY_PATH": str(TOOLS / "usr/lib/x86_64-linux-gnu")}
NEEDS = [
    pytest.mark.skipif(not GENERATE.exists(), reason=f"{TOOLS} has no netplan: tests/network_tools.sh brings it"),
    pytest.mark.skipif(os.geteuid() != 0, reason="network name spaces need root"),
]

CLOUD_INIT = "/etc/netplan/50-cloud-init.yaml"
MANAGEMENT = "ens192: {addresses: [192.0.2.11/24], routes: [{to: default, via: 192.0.2.1}]}"
BOTH = {"ens192": "00:50:56:00:00:01", "ens224": "00:50:56:00:00:02"}
DROPIN = "90-rocemesh-mtu.conf"


def netplan(*lines: str, kind: str = "ethernets", renderer: str = "networkd") -> str:
    return "\n".join(
        ["network:", "  version: 2", f"  renderer: {renderer}", f"  {kind}:", *(f"    {line}" for line in lines), ""]
    )


class Paper:
    """A guest as a folder. What the running system would answer is written down; generator, nmcli --offline, ifquery,
    systemd-analyze are real."""

    def __init__(self, root: pathlib.Path, rows: list[dict[str, Any]], files: dict[str, str], **more: Any) -> None:
        self.root, self.rows, self.defaults = root, rows, more.get("defaults", ["ens192"])
        self.profiles: dict[str, dict[str, str]] = more.get("profiles", {})
        for path, text in files.items():
            place = root / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
            place.chmod(0o600)
        for folder in ("etc", "run/systemd/system"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        if (root / "etc/netplan").is_dir():
            subprocess.run([GENERATE, "--root-dir", root], check=True, capture_output=True, env=LIBRARIES)
        for row in rows:
            taken = more.get("networkd", {}).get(row["ifname"])
            if taken:
                state = root / f"run/systemd/netif/links/{row['ifindex']}"
                state.parent.mkdir(parents=True, exist_ok=True)
                state.write_text(f"ADMIN_STATE=configured\nNETWORK_FILE={taken}\n")
        sys_root = root / "tree/sys"
        for number, name in enumerate(more.get("rdma", ["ens224"])):
            function = sys_root / f"devices/{number}"
            driver = sys_root / "drivers/mlx5_core"
            device = sys_root / f"class/infiniband/mlx5_{number}"
            for folder in (function / "net" / name, driver, sys_root / "class/net" / name, device / "ports/1"):
                folder.mkdir(parents=True, exist_ok=True)
            (function / "driver").symlink_to(driver)
            (sys_root / "class/net" / name / "device").symlink_to(function)
            (device / "device").symlink_to(function)
            (device / "ports/1/link_layer").write_text("Ethernet\n")
        self.reader = InterfaceReader("gpu01", run=self.run, which=self.which, root=str(root),
                                      sysfs=Sysfs(str(sys_root)), generators=[str(GENERATE)])  # fmt: skip

    @staticmethod
    def which(name: str) -> str | None:
        return {"nmcli": str(TOOLS / "usr/bin/nmcli"), "ifquery": str(TOOLS / "sbin/ifquery")}.get(name, name)

    def run(self, argv: Sequence[str], timeout: float) -> Finished:
        name, words = os.path.basename(argv[0]), list(argv[1:])
        if name == "ip" and words[:2] == ["link", "set"]:
            next(row for row in self.rows if row["ifname"] == words[3])["mtu"] = int(words[5])
            return Finished(0, "", "")
        if name == "ip":
            table = self.rows if "address" in words else [{"dst": "default", "dev": one} for one in self.defaults]
            return Finished(0, json.dumps(table if words[0] != "-6" else []), "")
        if name == "nmcli":
            return self.nmcli(words)
        if name == "ifquery":
            words = ["-i", str(self.root / "etc/network/interfaces"), *words]
        done = subprocess.run(
            [argv[0], *words], capture_output=True, text=True, check=False, timeout=timeout, env=LIBRARIES
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    def nmcli(self, words: list[str]) -> Finished:
        """The answers of a running NetworkManager: --terse, with the escapes of nmcli(1)."""
        if words[-3:-1] == ["device", "show"]:
            uuid = next((uuid for uuid, told in self.profiles.items() if words[-1] in told["devices"].split()), "")
            return Finished(0, f"GENERAL.STATE:100 (connected)\nGENERAL.CON-UUID:{uuid}\n", "")
        if words[-2:] == ["connection", "show"]:
            rows = [
                f"{uuid}:{told['path']}:{device}"
                for uuid, told in self.profiles.items()
                for device in told["devices"].split()
            ]
            return Finished(0, "\n".join(rows) + "\n", "")
        if words[-2:-1] == ["show"]:
            told = self.profiles[words[-1]]
            hidden = ("path", "devices")
            return Finished(0, "".join(f"{key}:{value}\n" for key, value in told.items() if key not in hidden), "")
        assert words[:2] == ["connection", "modify"], words
        told = self.profiles[words[2]]
        told["802-3-ethernet.mtu"] = words[4]
        place = self.root / told["path"].lstrip("/")
        done = subprocess.run([str(TOOLS / "usr/bin/nmcli"), "--offline", *words[:2], *words[3:]], env=LIBRARIES,
                              input=place.read_text(), capture_output=True, text=True, check=True)  # fmt: skip
        place.write_text(done.stdout)
        return Finished(0, "", "")

    def converge(self, *names: str, mtu: int = 9000) -> dict[str, Any]:
        wanted = Wanted(interfaces=names or ("auto",), networks=("198.51.100.0/24",), mtu=mtu)
        return converge(InterfaceLayer(self.reader, wanted), wanted)

    def files(self) -> dict[str, str]:
        """Everything in /etc, and what netplan would make of it at the next boot."""
        (self.root / "next").mkdir(exist_ok=True)
        subprocess.run(["cp", "-aT", self.root / "etc", self.root / "next/etc"], check=True)
        if (self.root / "etc/netplan").is_dir():
            subprocess.run([GENERATE, "--root-dir", self.root / "next"], check=True, capture_output=True, env=LIBRARIES)
        found = {}
        for path in sorted((self.root / "next").rglob("*")):
            if path.is_file() or path.is_symlink():
                found["/" + str(path.relative_to(self.root / "next"))] = (
                    str(path.readlink()) if path.is_symlink() else path.read_text()
                )
        subprocess.run(["rm", "-rf", self.root / "next"], check=True)
        return found


def row(index: int, name: str, *addresses: str, **more: Any) -> dict[str, Any]:
    told = [dict(zip(("local", "prefixlen"), (one.split("/")[0], int(one.split("/")[1])))) for one in addresses]
    return {"ifindex": index, "ifname": name, "mtu": 1500, "addr_info": told, **more}
