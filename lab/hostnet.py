"""What a Docker engine changes in this machine's network: written down before, taken back after.

Only what mentions an engine's own chains or bridges is removed, so rules that somebody added meanwhile stay.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from pathlib import Path
from typing import Any

Tables = dict[str, dict[str, Any]]
_SYSCTLS = ("net.ipv4.ip_forward", "net.ipv4.conf.all.forwarding", "net.ipv4.conf.default.forwarding")
# Files and directories that dockerd or containerd make on their first start, outside their data root.
_TRACES = ("/etc/docker/key.json", "/etc/docker", "/opt/containerd/bin", "/opt/containerd/lib", "/opt/containerd")
_ENGINE = re.compile(r"DOCKER|docker0|\b172\.17\.")


def parse_save(text: str) -> Tables:
    """`iptables-save` output -> {table: {"policies": {chain: policy}, "rules": [rule without counters]}}.

    A chain that a person or program made has the policy "-".
    """
    tables: Tables = {}
    table: dict[str, Any] = {}
    for line in text.splitlines():
        if line.startswith("*"):
            table = tables.setdefault(line[1:].strip(), {"policies": {}, "rules": []})
        elif line.startswith(":"):
            chain, policy = line[1:].split()[:2]
            table["policies"][chain] = policy
        elif line.startswith("-A "):
            table["rules"].append(line)
    return tables


def undo_arguments(
    before: Tables, after: Tables, bridges: tuple[str, ...], subnets: tuple[str, ...]
) -> list[list[str]]:
    """Argument lists for iptables that bring ``after`` back to ``before``, as far as an engine made the difference."""
    ours = re.compile("|".join([_ENGINE.pattern, *map(re.escape, bridges), *map(re.escape, subnets)]))
    result: list[list[str]] = []
    for name, table in after.items():
        old = before.get(name, {"policies": {}, "rules": []})
        extra = [rule for rule in table["rules"] if rule not in old["rules"] and ours.search(rule)]
        chains = [c for c, p in table["policies"].items() if p == "-" and c not in old["policies"] and ours.search(c)]
        result += [["-t", name, "-D", *_words(rule)[1:]] for rule in extra if _words(rule)[1] not in chains]
        result += [["-t", name, "-F", chain] for chain in chains]
        result += [["-t", name, "-X", chain] for chain in chains]
        for chain, policy in table["policies"].items():
            # A table that was not loaded before had the kernel's policy: ACCEPT.
            was = old["policies"].get(chain, "ACCEPT")
            if policy != "-" and chain == "FORWARD" and policy != was:
                result.append(["-t", name, "-P", chain, was])
    return result


def _words(rule: str) -> list[str]:
    return [part.strip('"') for part in re.findall(r'"[^"]*"|\S+', rule)]


def _tables(family: str) -> Tables:
    try:
        run = subprocess.run([f"{family}-save"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return {}
    return parse_save(run.stdout) if run.returncode == 0 else {}


def _sysctl(name: str) -> Path:
    return Path("/proc/sys") / name.replace(".", "/")


def record() -> dict[str, Any]:
    """The present state, to be stored as JSON."""
    return {
        "sysctl": {name: _sysctl(name).read_text().strip() for name in _SYSCTLS if _sysctl(name).exists()},
        "tables": {family: _tables(family) for family in ("iptables", "ip6tables")},
        "absent": [path for path in _TRACES if not Path(path).exists()],
        "links": sorted(path.name for path in Path("/sys/class/net").iterdir()),
    }


def restore(before: dict[str, Any], bridges: tuple[str, ...], subnets: tuple[str, ...]) -> list[str]:
    """Takes back what the engine changed since ``before``; returns what was done, and what did not work."""
    done: list[str] = []

    def run(*command: str) -> None:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        done.append(" ".join(command) + (f": FAILED: {result.stderr.strip()}" if result.returncode else ""))

    for bridge in ("docker0", *bridges):
        if bridge not in before["links"] and Path("/sys/class/net", bridge).exists():
            run("ip", "link", "delete", bridge)
    for family, tables in before["tables"].items():
        for arguments in undo_arguments(tables, _tables(family), ("docker0", *bridges), subnets):
            run(family, "-w", *arguments)
    for name, value in before["sysctl"].items():
        if _sysctl(name).read_text().strip() != value:
            _sysctl(name).write_text(value)
            done.append(f"sysctl {name}={value}")
    for path in map(Path, before["absent"]):
        try:
            path.rmdir() if path.is_dir() else path.unlink()
            done.append(f"removed {path}")
        except OSError:
            continue  # not there, or not empty because somebody else uses it
    _remove_empty_cgroups()
    return done


def _remove_empty_cgroups() -> None:
    """The groups of ended containers. One that still has a process in it (another engine's) cannot be removed."""
    roots = [*Path("/sys/fs/cgroup").glob("docker"), *Path("/sys/fs/cgroup").glob("*/docker")]
    for root in roots:
        for directory, _directories, _files in os.walk(root, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(directory)
