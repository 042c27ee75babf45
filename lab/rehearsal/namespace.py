"""The namespace of a rehearsal: loopback alone, which has every address of the inventory, and names of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from lab.config import REPO, LabError
from lab.rehearsal import simulators

OUTER = "ROCEMESH_REHEARSAL_OUTER"  # in the environment: the network namespace that was left


def entering(module: str, arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The command that runs this module inside, and its environment. What is inside ends with it."""
    binary = simulators.build_vcenter()
    as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
    command = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", *as_root, "--"]
    command += [sys.executable, "-m", module, *arguments]
    paths = [str(REPO), str(REPO / "collections"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        OUTER: namespace(),
        "PYTHONPATH": os.pathsep.join(paths),
        "ROCEMESH_LABVSPHERE": str(binary),
    }
    try:
        probe = subprocess.run([*command[: command.index("--")], "true"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise LabError(f"unshare is not there: {error}. Install util-linux.") from error
    if probe.returncode != 0:
        raise LabError(
            f"no network namespace can be made here: {probe.stderr.strip()}. Run as root, or allow user namespaces "
            "(sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0)."
        )
    return command, environment


def namespace() -> str:
    return os.readlink("/proc/self/ns/net")


def refuse_a_way_out(outer: str) -> None:
    """Raises LabError unless this is another network namespace with loopback alone."""
    links = [row["ifname"] for row in json.loads(_run("ip", "-json", "link", "show"))]
    if namespace() == outer or links != ["lo"]:
        raise LabError(f"this network namespace has {', '.join(links)}, expected lo alone. Nothing was played.")
    _run("ip", "link", "set", "lo", "up")
    # Sockets of this machine's services, a container engine's among them: no packet is needed for those.
    _run("mount", "-t", "tmpfs", "tmpfs", "/run")


def give_addresses(addresses: Sequence[str]) -> None:
    for address in addresses:
        if not address.startswith("127.") and address != "::1":
            six = ":" in address
            _run("ip", "address", "add", f"{address}/{128 if six else 32}", "dev", "lo", *(["nodad"] if six else []))


def give_names(names: dict[str, str], folder: Path) -> None:
    """``names``: name -> address; no name server answers here."""
    rows = ["127.0.0.1 localhost", "::1 localhost", *(f"{address} {name}" for name, address in names.items())]
    hosts = folder / "hosts"
    hosts.write_text("\n".join(rows) + "\n")
    _run("mount", "--bind", str(hosts), "/etc/hosts")


def give_accounts(users: Sequence[str], folder: Path) -> None:
    """``users`` exist beside this machine's own, each with an empty home; settings of the collection do not."""
    known = {line.partition(":")[0] for line in Path("/etc/passwd").read_text().splitlines()}
    for file, row in (("passwd", "{name}:x:{number}:{number}::{home}:/bin/sh"), ("group", "{name}:x:{number}:")):
        rows = [Path("/etc", file).read_text().rstrip("\n")]
        for number, name in enumerate(users, 64000):
            if name not in known:
                home = folder / "home" / name
                home.mkdir(parents=True, exist_ok=True)
                rows.append(row.format(name=name, number=number, home=home))
        (folder / file).write_text("\n".join(rows) + "\n")
        _run("mount", "--bind", str(folder / file), f"/etc/{file}")
    for hidden in ("/etc/rocemesh", "/etc/docker", "/root/.ssh", "/root/.docker"):
        if Path(hidden).is_dir():
            _run("mount", "-t", "tmpfs", "tmpfs", hidden)


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout
