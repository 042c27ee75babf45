"""Build the mpirun command line, for Open MPI 4 and 5. Pure. `failure` explains failed runs.

Open MPI 4 starts its daemons with ORTE, Open MPI 5 with PRRTE: other parameter names, other options that carry them,
and no options with one dash and several letters (`-bind-to none` makes `none` the program). They are in open_mpi.yml.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from typing import Any, Mapping, Sequence

from ..._judge.sentences import refusal
from ..._layer import ParseError, RefusedError
from ..._yaml_files import Beside
from ..readers.reading import integer

# The head starts at most this many daemons itself; beyond, workers start workers, for which they have no key.
_RADIX = 64

DEFAULT = "4.1"  # Debian 12 and the NGC images of the guide; only for callers that observed nothing

_NUMBER = r"v?(?P<number>(?P<major>\d{1,3})\.\d{1,3}[\w.+-]{0,40})"
_PRINTED = re.compile(rf"\(Open MPI\)\s+{_NUMBER}")
_PLAIN = re.compile(rf"{_NUMBER}\Z")
_DIALECTS = Beside(__file__, "open_mpi.yml")


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
    version: str = DEFAULT,
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
    major = major_of(version)
    dialect = _DIALECTS["dialects"][major]
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
    argv += options({**parameters, **(mca or {})}, major)
    for name, value in (env or {}).items():
        if not re.fullmatch(r"[A-Za-z_]\w*", str(name)):
            raise RefusedError("not the name of an environment variable", host="run", thing="env", value=name)
        argv += ["-x", f"{name}={word(value)}"]
    return [*argv, *map(str, program)]


# ------------------------------------------------------------------------------------------ words of either version


def major_of(text: str) -> int:
    """Of what ``mpirun --version`` printed, or of a number alone. Raises ParseError and, for a version that was never
    tried, RefusedError."""
    match = _PRINTED.search(text) or _PLAIN.match(text.strip())
    if match is None:
        remedy = "use an image with Open MPI 4 or 5 whose mpirun comes first in PATH"
        raise ParseError("not the version of an Open MPI", host="mpirun --version", raw=text, remedy=remedy)
    if int(match["major"]) not in _DIALECTS["dialects"]:
        raise refusal("open_mpi_version", match["number"])
    return int(match["major"])


def renamed(name: str, major: int) -> str:
    """``name`` as this version calls the parameter; a name that both know stays."""
    for names in _DIALECTS["renamed"].items():
        source, target = names if major >= 5 else names[::-1]
        if name == source or (source.endswith("_") and name.startswith(source)):
            return str(target + name[len(source) :])
    return name


def options(wanted: Mapping[str, Any], major: int) -> list[str]:
    """Options for all parameters, in their order. A parameter that is given under both names counts once, the later
    value wins."""
    named = {renamed(str(name), major): value for name, value in wanted.items()}
    dialect = _DIALECTS["dialects"][major]
    return [each for name, value in named.items() for each in (dialect[_layer(name)], name, word(value))]


def _layer(name: str) -> str:
    """Whose parameter it is, as a dialect names the option for it."""
    framework = name.partition("_")[0]
    layers = _DIALECTS["frameworks"].items()
    return next((layer for layer, frameworks in layers if framework in frameworks), "parameter")


def word(value: Any) -> str:
    # YAML's yes is Python's True; Open MPI reads 1.
    return str(int(value)) if isinstance(value, bool) else str(value)
