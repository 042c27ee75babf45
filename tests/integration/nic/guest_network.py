"""A guest's network for one test: run in name spaces of its own (``unshare --mount --net``), it boots twice.

Real: netplan's generator, systemd-networkd, the interfaces (veth), ip, systemd-analyze. Simulated: the RDMA devices,
and that a name or a driver is that of a NIC. Reads a layout (JSON) from standard input, prints what it saw (JSON).
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time
from typing import Any, Iterator

from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import LayerError, converge
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.interface_choice import Wanted
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.interface_layer import InterfaceLayer
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.interface_reading import InterfaceReader
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.transport import Sysfs

NETWORKD = "/lib/systemd/systemd-networkd"
LINKS = pathlib.Path("/run/systemd/netif/links")


def run(*argv: str, check: bool = True) -> str:
    return subprocess.run(argv, check=check, capture_output=True, text=True).stdout


def name_spaces() -> None:
    """What a guest may write is in memory, and nothing of this machine's network is in sight."""
    kept = {name: pathlib.Path("/etc", name).read_bytes() for name in ("passwd", "group", "ld.so.cache")}
    run("mount", "--make-rprivate", "/")
    for folder in ("/etc", "/run"):
        run("mount", "-t", "tmpfs", "none", folder)
    for name, content in kept.items():
        pathlib.Path("/etc", name).write_bytes(content)
    pathlib.Path("/etc/machine-id").write_text("0123456789abcdef0123456789abcdef\n")  # DHCP's name of this guest
    run("mount", "--bind", "/sys", "/sys")
    run("mount", "-o", "remount,bind,ro", "/sys")  # by this networkd knows that there is no udev
    for name in ("all", "default"):  # a second less for each interface
        pathlib.Path("/proc/sys/net/ipv6/conf", name, "accept_dad").write_text("0")
    run("ip", "link", "set", "lo", "up")


def interfaces(layout: dict[str, Any]) -> None:
    for number, (name, mac) in enumerate(layout["interfaces"].items()):
        run("ip", "link", "add", name, "address", mac, "type", "veth", "peer", "name", f"peer{number}")
        run("ip", "link", "set", f"peer{number}", "up")
        if name in layout.get("by_hand", {}):
            run("ip", "link", "set", name, "up")
            run("ip", "address", "add", layout["by_hand"][name], "dev", name)


@contextlib.contextmanager
def booted(layout: dict[str, Any], generate: str) -> Iterator[None]:
    """From nothing to configured interfaces, and back to nothing but the files in /etc."""
    shutil.rmtree("/run/systemd", ignore_errors=True)
    for folder in ("network", "system", "netif/links", "netif/leases", "netif/lldp"):
        pathlib.Path("/run/systemd", folder).mkdir(parents=True)
    run("chown", "-R", "systemd-network:systemd-network", "/run/systemd/netif")
    for path, text in layout.get("run_files", {}).items():
        write(path, text)
    interfaces(layout)
    if layout.get("netplan", True):
        run(generate, "--root-dir", "/")
    networkd = subprocess.Popen([NETWORKD], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 20
        while not all(settled(name) for name in layout["interfaces"]):
            assert not any("ADMIN_STATE=failed" in path.read_text() for path in LINKS.iterdir()), "networkd failed"
            assert time.monotonic() < until, "networkd does not settle: " + run(
                "sh", "-c", "grep . /run/systemd/netif/links/*", check=False
            )
            time.sleep(0.02)
        for unit in pathlib.Path("/etc/systemd/system").glob("*.device.wants/*"):
            start(unit)
        yield
    finally:
        networkd.terminate()
        networkd.wait(20)
        for number in range(len(layout["interfaces"])):
            run("ip", "link", "del", f"peer{number}")


def settled(name: str) -> bool:
    state = LINKS / run("ip", "-o", "link", "show", name).split(":")[0]
    text = state.read_text() if state.exists() else ""
    if "ADMIN_STATE=configuring" not in text:
        return "ADMIN_STATE=configured" in text or "ADMIN_STATE=unmanaged" in text
    # It goes on looking for servers and routers that are not there: done is what stands in its file.
    settings = [line.split("=", 1) for line in file_of(text).splitlines() if "=" in line]
    there = run("ip", "address", "show", name) + run("ip", "route", "show", "dev", name)
    return all(value in there for key, value in settings if key in ("Address", "Gateway"))


def file_of(state: str) -> str:
    path = next((line.partition("=")[2] for line in state.splitlines() if line.startswith("NETWORK_FILE=")), "")
    return pathlib.Path(path).read_text() if path else ""


def start(unit: pathlib.Path) -> None:
    """What systemd does with a unit of ours when its device appears."""
    instance = unit.name.partition("@")[2].rpartition(".")[0].replace("\\x2d", "-")
    for line in unit.read_text().splitlines():
        if line.startswith("ExecStart="):
            words = line.partition("=")[2].replace("$$", "$").replace("%I", instance)
            run(*shlex.split(words))


def write(path: str, text: str) -> None:
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as stream:
        stream.write(text)
    if not path.startswith("/etc/netplan"):
        os.chmod(path, 0o644)


def sysfs(layout: dict[str, Any]) -> Sysfs:
    root = pathlib.Path("/run/tree/sys")
    for number, name in enumerate(layout["rdma"]):
        function = root / "devices" / f"0000:{number:02x}:00.0"
        driver = root / "bus/pci/drivers/mlx5_core"
        for path in (function / "net" / name, function / "infiniband", driver, root / "class/net" / name):
            path.mkdir(parents=True, exist_ok=True)
        (function / "driver").symlink_to(driver)
        (root / "class/net" / name / "device").symlink_to(function)
        device = root / "class/infiniband" / f"mlx5_{number}"
        (device / "ports/1").mkdir(parents=True)
        (device / "ports/1/link_layer").write_text("Ethernet\n")
        (device / "device").symlink_to(function)
    return Sysfs(str(root))


def seen(layout: dict[str, Any]) -> dict[str, Any]:
    """What a person would call the network of the guest. Files as they are made, without the MTU's lines."""
    state: dict[str, Any] = {"mtu": {}, "addresses": {}, "file": {}}
    for row in json.loads(run("ip", "-j", "addr", "show")):
        name = row["ifname"]
        if name in layout["interfaces"]:
            state["mtu"][name] = row["mtu"]
            told = [f"{one['local']}/{one['prefixlen']}" for one in row["addr_info"] if one["scope"] == "global"]
            state["addresses"][name] = sorted(told)
            link = (LINKS / str(row["ifindex"])).read_text().splitlines()
            state["file"][name] = next((line for line in link if line.startswith("NETWORK_FILE=")), "")
    state["routes"] = sorted(run("ip", "route", "show").splitlines())
    state["made"] = {
        str(path): path.read_text()
        for path in sorted(pathlib.Path("/run/systemd/network").rglob("*"))
        if path.is_file()
    }
    return state


def files() -> dict[str, str]:
    found = {}
    for folder in ("/etc/netplan", "/etc/systemd", "/etc/rocemesh", "/etc/network"):
        for path in sorted(pathlib.Path(folder).rglob("*")):
            found[str(path)] = str(path.readlink()) if path.is_symlink() else path.read_text() if path.is_file() else ""
    return found


def main() -> None:
    generate = sys.argv[1]
    layout = json.loads(sys.stdin.read())
    name_spaces()
    for path, text in layout["files"].items():
        write(path, text)
    tree = sysfs(layout)
    wanted = Wanted(networks=tuple(layout.get("networks", ["198.51.100.0/24"])), mtu=layout.get("mtu", 9000),
                    interfaces=tuple(layout.get("wanted", ["auto"])))  # fmt: skip
    answer: dict[str, Any] = {}
    with booted(layout, generate):
        for path, text in layout.get("changed_meanwhile", {}).items():
            write(path, text)
        answer["before"], stored = seen(layout), files()
        reader = InterfaceReader("gpu01", sysfs=tree, generators=[generate])
        try:
            answer["result"] = converge(InterfaceLayer(reader, wanted), wanted)
            answer["again"] = converge(InterfaceLayer(reader, wanted), wanted)["changed"]
        except LayerError as error:
            answer["refused"] = str(error)
        answer["now"] = seen(layout)
        answer["written"] = {name: text for name, text in files().items() if stored.get(name) != text}
    if "refused" not in answer:
        with booted(layout, generate):
            answer["after"] = seen(layout)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
