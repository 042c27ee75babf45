# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the mpirun command line, and explain how a run failed. Pure.

Command line: Open MPI 4 and 5 (see open_mpi.py). Failure texts and exit codes: recorded from Open MPI 4.1.4 with
OpenSSH 9.2 and Docker 20.10; of Open MPI 5.0.11 those that differ in what the head prints.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from typing import Any, Mapping, Sequence

from .._layer import RefusedError
from . import open_mpi
from .causes import RULES
from .tags import lines_of

# The head starts at most this many daemons itself; beyond, workers start workers, for which they have no key.
_RADIX = 64
TIMED_OUT = (124, 137, 110, 241)  # timeout(1) with SIGTERM, with SIGKILL; mpirun --timeout of Open MPI 4.1, of 5.0


@dataclasses.dataclass(frozen=True)
class Node:
    """One host of the run. ``slots``: ranks (GPUs) on it; ``container``: state of its container, if somebody looked."""

    name: str
    address: str
    slots: int = 1
    container: str | None = None


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """Why a run failed. ``hosts`` is empty if the output does not tell; ``evidence`` is the line that decided."""

    cause: str
    summary: str
    remedy: str
    hosts: tuple[str, ...] = ()
    rank: int | None = None
    evidence: str = ""

    @property
    def message(self) -> str:
        where = ", ".join(self.hosts) if self.hosts else "mpirun (no single host named)"
        seen = f" Seen: {self.evidence!r}." if self.evidence else ""
        return f"{where}: {self.summary}.{seen} What to do: {self.remedy}."

    def as_result(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "hosts": list(self.hosts), "message": self.message}


# ---------------------------------------------------------------------------------------------------------------- nodes


def nodes(hosts: Sequence[Any]) -> tuple[Node, ...]:
    """Read a list of {name, address, slots} (slots may be left out: 1); raises RefusedError for anything else."""
    found: list[Node] = []
    for entry in hosts:
        if not isinstance(entry, Mapping) or not entry.get("name") or not entry.get("address"):
            raise RefusedError(
                "not a host of a run", host="run_hosts", value=entry, remedy="give name and address of each host"
            )
        name = str(entry["name"])
        try:
            address = str(ipaddress.ip_address(str(entry["address"])))
        except ValueError as error:
            raise RefusedError(
                "not an IP address (Open MPI cuts host names at the first dot, so names are not taken)",
                host=name,
                thing="address",
                value=entry["address"],
                remedy="give the address of this host in the cluster network",
            ) from error
        try:
            slots = int(str(entry.get("slots", 1)).strip())
        except ValueError:
            slots = 0
        if slots < 1:
            raise RefusedError(
                "not a number of ranks", host=name, thing="slots", value=entry.get("slots"), remedy="give 1 or more"
            )
        state = entry.get("container")
        found.append(Node(name, address, slots, None if state is None else str(state)))
    if not found:
        raise RefusedError("no hosts to run on", host="run_hosts", remedy="list at least one host")
    for what in ("name", "address"):
        values = [getattr(node, what) for node in found]
        twice = sorted({value for value in values if values.count(value) > 1})
        if twice:
            raise RefusedError(
                "used by two hosts",
                host="run_hosts",
                thing=what,
                value=twice[0],
                remedy="list each host once, with slots",
            )
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
        raise RefusedError(
            f"not a network ({error})", host="run", thing="network", value=network, remedy="give it as 192.0.2.0/24"
        ) from error
    for node in hosts:
        if ipaddress.ip_address(node.address) not in subnet:
            raise RefusedError(
                f"not in the network {subnet} that the ranks are pinned to",
                host=node.name,
                thing="address",
                value=node.address,
                remedy="give the cluster address of this host, or the right network",
            )
    found = open_mpi.parse_version(version)
    dialect = open_mpi.dialect(found)
    total = sum(slots or node.slots for node in hosts)
    if ranks is not None and not 1 <= ranks <= total:
        raise RefusedError(f"only {total} slots", host="run", thing="ranks", value=ranks, remedy="add hosts or slots")
    # timeout stands INSIDE the container: around `docker exec` it would end the client and leave every rank running.
    argv = ["timeout", "-k", str(kill_after), str(timeout)] if timeout else []
    argv += ["mpirun", *dialect.options]
    argv += ["-H", ",".join(f"{node.address}:{slots or node.slots}" for node in hosts), "-np", str(ranks or total)]
    # Open MPI binds one rank to one core by default, which starves a training process.
    argv += dialect.binding
    parameters: dict[str, Any] = {"btl_tcp_if_include": str(subnet), dialect.network: str(subnet)}
    if len(hosts) > _RADIX:
        parameters[dialect.no_tree] = 1
    argv += open_mpi.parameters({**parameters, **(mca or {})}, found)
    for name, value in (env or {}).items():
        if not re.fullmatch(r"[A-Za-z_]\w*", str(name)):
            raise RefusedError("not the name of an environment variable", host="run", thing="env", value=name)
        argv += ["-x", f"{name}={open_mpi.word(value)}"]
    return [*argv, *(str(word) for word in program)]


# ------------------------------------------------------------------------------------------------------- diagnosis


_SIGNAL = re.compile(
    r"process rank (?P<rank>\d+) with PID \d+ on node (?P<host>\S+) "
    r"exited on signal (?P<signal>\d+) \((?P<name>[^)]*)\)"
)
_WRAPPED = re.compile(r"( exited on)\n(signal \d)")  # Open MPI 5 prints it on two lines
_EXIT = re.compile(r"Process name: \[(?:\[\d+,\d+\]|[^,\]\s]+),(?P<rank>\d+)\]\s+Exit code:\s+(?P<code>\d+)")
_UNREPORTED = re.compile(r"A daemon failed to report back[\s\S]{0,600}?Remote host:\s+(?P<host>\S+)")  # Open MPI 5
_GENERIC = re.compile("(?:ORTE|PRTE) was unable to reliably start one or more daemons|ORTE does not know how to route")
_NODE = re.compile(r"^\s*Node:\s+(?P<host>\S+)", re.MULTILINE)
_LOST = re.compile(
    r"ORTE has lost communication with a remote daemon|Remote host:\s+(?P<host>\S+)|lost connection to the daemon",
    re.IGNORECASE,
)
_COMPLETE = re.compile(r"total images/sec: \d")
# What mpirun 4.1.4 leaves when its output does not say more. 1 is anything; 128 + n is a signal.
_STATUS = {
    127: (
        "orted_missing",
        "mpirun ended with status 127: Open MPI's daemon (orted) was not found on at least one host",
        "use the same image on all hosts, with the directory of orted in the image's PATH",
    ),
    132: (
        "program_missing",
        "mpirun ended with status 132: a program could not be started",
        "check that the program is in the image of every host (same digest)",
    ),
    213: (
        "orted_broken",
        "mpirun ended with status 213: Open MPI's daemon started on a host and could not initialise",
        'check the forced command in authorized_keys: "$SSH_ORIGINAL_COMMAND" must stand in double quotes',
    ),
    255: (
        "ssh_failed",
        "mpirun ended with status 255: the login on at least one host failed, and the output does not say why",
        "run the mesh stage's login check: it tries each host alone",
    ),
}


def diagnose(rc: int, stdout: str, stderr: str, hosts: Sequence[Node] = ()) -> Diagnosis:
    """Name the cause of a failed run from its exit status and its output.

    ``rc`` as mpirun (or ``timeout`` around it) left it; -1 if it was never started and ``stderr`` is the reason.
    Order: a line that names a cause; else how it ended (time, signal, exit status); else "unknown" with the last lines.
    """
    stdout, stderr = _WRAPPED.sub(r"\1 \2", stdout), _WRAPPED.sub(r"\1 \2", stderr)
    lines = [(line.rank, line.text.strip()) for line in lines_of(stderr) + lines_of(stdout) if line.text.strip()]
    for rule in RULES:
        # A later match may name the host where an earlier one does not ("has changed" names it, the banner does not).
        matches = [(rank, text, match) for rank, text in lines for match in [rule.pattern.search(text)] if match]
        if not matches:
            continue
        groups = [match.groupdict() for _rank, _text, match in matches]
        named = [group.get("host") or group.get("host2") for group in groups]
        best = next((index for index, name in enumerate(named) if name), 0)
        rank, text, match = matches[best]
        what = next((value for key, value in match.groupdict().items() if key.startswith("what") and value), None)
        if match.groupdict().get("rank"):
            rank = int(match["rank"])
        found = {_name(name, hosts) for name in named if name}
        if not found and rank is not None:
            found = set(_host_of_rank(rank, hosts))
        if not found and rule.cause == "program_missing":
            found = {_name(node, hosts) for node in _NODE.findall(stdout + "\n" + stderr)}
        if not found and rule.cause.startswith("container_"):
            found = {node.name for node in hosts if node.container not in (None, "running")}
        return Diagnosis(
            rule.cause,
            rule.summary + (f" ({what.strip()})" if what else ""),
            rule.remedy,
            tuple(sorted(found)),
            rank,
            text[:300],
        )
    return _by_ending(rc, "\n".join(text for _rank, text in lines), lines, hosts)


def _by_ending(rc: int, text: str, lines: list[tuple[int | None, str]], hosts: Sequence[Node]) -> Diagnosis:
    down = tuple(node.name for node in hosts if node.container not in (None, "running"))
    if _COMPLETE.search(text) and rc != 0 and rc not in TIMED_OUT:
        return Diagnosis(
            "failed_after_result",
            f"the run printed a complete result and ended with status {rc} afterwards",
            "read the last lines of the saved log; the figures are there, but something broke at the end",
            evidence=_tail(lines),
        )
    if rc in TIMED_OUT and not _SIGNAL.search(text):
        return _timed_out(rc, lines, hosts, down)
    reported = _by_report(text, lines, hosts, down)
    # The box that names all causes is worth less than the status.
    if rc in _STATUS and (reported is None or reported.cause == "daemons"):
        cause, summary, remedy = _STATUS[rc]
        named = reported.hosts if reported else down
        return Diagnosis(cause, summary, remedy, named, evidence=reported.evidence if reported else _tail(lines))
    return reported or Diagnosis(
        "unknown",
        f"mpirun ended with status {rc}",
        "read the saved log; report the text if the cause is in it but was not recognised",
        down,
        evidence=_tail(lines),
    )


def _by_report(
    text: str, lines: list[tuple[int | None, str]], hosts: Sequence[Node], down: tuple[str, ...]
) -> Diagnosis | None:
    """What mpirun itself reports about the end of the job, most precise report first."""
    signal, exited = _SIGNAL.search(text), _EXIT.search(text)
    unreported, lost, generic = _UNREPORTED.search(text), _LOST.search(text), _GENERIC.search(text)
    if signal:
        return Diagnosis(
            "signal",
            f"rank {signal['rank']} died of signal {signal['signal']} ({signal['name']})",
            "read what this rank printed last in the saved log; a crash in a library is likely",
            (_name(signal["host"], hosts),),
            int(signal["rank"]),
            signal[0],
        )
    if exited:
        rank = int(exited["rank"])
        own = [said for who, said in lines if who == rank]
        return Diagnosis(
            "rank_failed",
            f"rank {rank} was the first to fail, with exit status {exited['code']}",
            "read what this rank printed in the saved log",
            _host_of_rank(rank, hosts),
            rank,
            (own[-1] if own else exited[0])[:300],
        )
    if unreported:
        return Diagnosis(
            "daemons",
            "Open MPI's daemon on a host did not report back and the output does not say why",
            "run the mesh stage's login check: it tries each host alone",
            (_name(unreported["host"], hosts),),
            evidence=" ".join(unreported[0].split())[:300],
        )
    if lost:
        return Diagnosis(
            "host_lost",
            "the connection to a host broke during the run",
            "check power, link and load of this host; then run again",
            (_name(lost["host"], hosts),) if lost["host"] else down,
            evidence=lost[0].strip(),
        )
    if generic:
        return Diagnosis(
            "daemons",
            "Open MPI could not start its daemon on at least one host and the output does not say why",
            "run the mesh stage's login check: it tries each host alone",
            down,
            evidence=generic[0],
        )
    return None


def _timed_out(rc: int, lines: list[tuple[int | None, str]], hosts: Sequence[Node], down: tuple[str, ...]) -> Diagnosis:
    spoke = {rank for rank, _text in lines if rank is not None}
    how = f"the time limit was reached (status {rc})"
    if not spoke:
        return Diagnosis(
            "timeout_at_start",
            how + " before any rank said a word: at least one host does not answer or cannot call back to the head",
            "check ssh from the container of the head to each host; they open connections to any port of the head",
            down,
            evidence=_tail(lines),
        )
    ranks = range(sum(node.slots for node in hosts))
    silent = tuple(sorted({name for rank in ranks if rank not in spoke for name in _host_of_rank(rank, hosts)}))
    if silent:
        return Diagnosis(
            "timeout_silent_ranks",
            how + " and not all ranks of these hosts said something",
            "check that these hosts may be reached by the others on any port of the cluster network",
            silent,
            evidence=_tail(lines),
        )
    return Diagnosis(
        "timeout",
        how + " while all ranks were running: too little time, or a collective hangs",
        "compare the last step in the saved log with the limit; if it stands still from the start, look at firewalls "
        "between the workers and at run_network; else raise run_timeout",
        down,
        evidence=_tail(lines),
    )


def _tail(lines: list[tuple[int | None, str]]) -> str:
    return " | ".join(text for _rank, text in lines[-3:])[:300]


def _name(text: str, hosts: Sequence[Node]) -> str:
    """The inventory name of what a message calls a host (address or name)."""
    text = text.strip("[]")
    for node in hosts:
        if text in (node.address, node.name):
            return node.name
    return text


def _host_of_rank(rank: int, hosts: Sequence[Node]) -> tuple[str, ...]:
    """With -map-by slot the ranks fill the hosts in the order of -H; empty if the rank is on none of them."""
    first = 0
    for node in hosts:
        if first <= rank < first + node.slots:
            return (node.name,)
        first += node.slots
    return ()
