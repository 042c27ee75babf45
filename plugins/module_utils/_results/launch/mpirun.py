"""Build the mpirun command line, for Open MPI 4 and 5 (see open_mpi.py). Pure. `failure` explains failed runs."""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from typing import Any, Mapping, Sequence

from ..._judge.sentences import refusal
from ..._layer import RefusedError
from ..readers.reading import integer
from . import open_mpi

# The head starts at most this many daemons itself; beyond, workers start workers, for which they have no key.
_RADIX = 64


@dataclasses.dataclass(frozen=True)
class Node:
    """One host of the run. ``slots``: ranks (GPUs) on it; ``container``: its state; ``hostname``: its own; if known."""

    name: str
    address: str
    slots: int = 1
    container: str | None = None
    hostname: str = ""


def nodes(hosts: Sequence[Any]) -> tuple[Node, ...]:
    """Read a list of {name, address, slots} (slots may be left out: 1); raises RefusedError for anything else."""
    found: list[Node] = []
    for entry in hosts:
        if not isinstance(entry, Mapping) or not entry.get("name") or not entry.get("address"):
            raise refusal("no_host", entry)
        name = str(entry["name"])
        try:
            address = str(ipaddress.ip_address(str(entry["address"])))
        except ValueError as error:
            raise refusal("no_address", entry["address"], name=name) from error
        slots = integer(str(entry.get("slots", 1)).strip()) or 0
        if slots < 1:
            raise refusal("no_slots", entry.get("slots"), name=name)
        state, own = entry.get("container"), str(entry.get("hostname") or "")
        found.append(Node(name, address, slots, None if state is None else str(state), own))
    if not found:
        raise RefusedError("no hosts to run on", host="run_hosts", remedy="list at least one host")
    for what in ("name", "address"):
        values = [getattr(node, what) for node in found]
        for twice in sorted({value for value in values if values.count(value) > 1}):
            raise refusal("host_twice", twice, thing=what)
    return tuple(found)


def command(
    hosts: Sequence[Node],
    program: Sequence[str],
    network: str,
    *,
    ranks: int | None = None,
    slots: int | None = None,
    env: Mapping[str, Any] | None = None,
    mca: Mapping[str, Any] | None = None,
    timeout: int = 0,
    kill_after: int = 10,
    version: str = open_mpi.DEFAULT,
) -> list[str]:
    """The argument vector to run inside the head's container. ``timeout`` in seconds, 0: none; ``version``: what
    ``mpirun --version`` printed there.

    ``network`` (CIDR) pins both of Open MPI's kinds of TCP connections to the cluster network: with its own choice it
    takes docker0, which every Docker host has with the same address, and the first collective hangs for ever.
    ``slots`` overrides each host's slots (1: one rank per host). Raises RefusedError, and ParseError for the version.
    """
    if not program:
        raise RefusedError("no program to start", host="run", thing="program", remedy="give an argument vector")
    try:
        subnet = ipaddress.ip_network(network)
    except ValueError as error:
        raise refusal("no_network", network, error=error) from error
    for node in hosts:
        if ipaddress.ip_address(node.address) not in subnet:
            raise refusal("outside_network", node.address, name=node.name, subnet=subnet)
    major = open_mpi.major_of(version)
    dialect = open_mpi.dialect(major)
    total = sum(slots or node.slots for node in hosts)
    if ranks is not None and not 1 <= ranks <= total:
        raise RefusedError(f"only {total} slots", host="run", thing="ranks", value=ranks, remedy="add hosts or slots")
    # timeout runs INSIDE the container: around `docker exec` it would end the client and leave every rank running.
    # In the foreground it signals mpirun alone, and once. Otherwise it also signals its own group, mpirun among it, and
    # a second SIGTERM within 5 s makes Open MPI 4.1 leave at once: the ranks of its own node live on.
    argv = ["timeout", "--foreground", "-k", str(kill_after), str(timeout)] if timeout else []
    argv += ["mpirun", *dialect["options"]]
    # 4.1 cuts an IPv6 address at its colons; the mesh's ssh_config knows the names.
    named = [node.address if subnet.version == 4 else node.name for node in hosts]
    argv += ["-H", ",".join(f"{name}:{slots or node.slots}" for name, node in zip(named, hosts))]
    argv += ["-np", str(ranks or total)]
    # Open MPI binds one rank to one core by default, which starves a training process.
    argv += dialect["binding"]
    # An interface of this network may have an address of the other family as well, which both would use besides. IPv6
    # networks it cannot read; docker0 and its like have IPv4 alone.
    other = 6 if subnet.version == 4 else 4
    parameters: dict[str, Any] = (
        {"btl_tcp_if_include": str(subnet), dialect["network"]: str(subnet)} if other == 6 else {}
    )
    parameters |= {"btl_tcp_disable_family": other, f"oob_tcp_disable_ipv{other}_family": 1}
    if len(hosts) > _RADIX:
        parameters[dialect["no_tree"]] = 1
    argv += open_mpi.parameters({**parameters, **(mca or {})}, major)
    for name, value in (env or {}).items():
        if not re.fullmatch(r"[A-Za-z_]\w*", str(name)):
            raise RefusedError("not the name of an environment variable", host="run", thing="env", value=name)
        argv += ["-x", f"{name}={open_mpi.word(value)}"]
    return [*argv, *(str(word) for word in program)]
