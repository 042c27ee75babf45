"""Which way the data of a NCCL job went, for each pair of ranks that crosses hosts, and why. Pure.

Verdicts, worst first (`ORDER`): ``not_one_job`` (the processes did not compute together: every figure is void),
``sockets`` (TCP), ``rdma_via_host`` (RDMA, staged in host memory), ``receive_only`` (the receiving ends use GPUDirect
RDMA, the sending ones stage in host memory, as that release of NCCL may), ``unknown``, ``gdrdma`` (NIC and GPU memory
without detour, both ways). A known fault goes before ``unknown``, because it says what to do; neither is ``gdrdma``.
Silence is never taken for consent: a missing line, rank or host leaves ``unknown`` at best.

Groups that hold a part of the job each (tensor by data parallel) are one job if their members connect all ranks.

Rules from NCCL's source (tags 2.7.8 to 2.30.7; src/transport/net.cc, src/graph/paths.cc, src/graph/topo.h):
the receiving side uses GPUDirect RDMA if the distance between GPU and NIC allows it; the sending side, before 2.19,
only if the GPU has NVLink or is the only one of its host. Distances are numbers that changed with the version.
"""

from __future__ import annotations

import collections
import dataclasses
import ipaddress
import re
from typing import Any, Iterable, Mapping, Sequence

from ..readers.nccl_facts import Channel, Edge, GdrLine, Hca, NcclLog, Process, Rank
from ..readers.reading import Problem, picked
from ..readers.reading import names as listed

NOT_ONE_JOB = "not_one_job"
SOCKETS = "sockets"
VIA_HOST = "rdma_via_host"
RECEIVE_ONLY = "receive_only"
UNKNOWN = "unknown"
GDRDMA = "gdrdma"
ORDER = (NOT_ONE_JOB, SOCKETS, VIA_HOST, RECEIVE_ONLY, UNKNOWN, GDRDMA)

_TCP = re.compile("socket|tcp", re.IGNORECASE)
_OF_RDMA = re.compile(r"verbs|NET/(?!Socket)|RDMA|\bibv?_", re.IGNORECASE)
# Ways between two GPUs of one host that lead through the host's memory.
_STAGED = {
    "shm": "through shared memory of the host",
    VIA_HOST: "over a NIC and the host's memory",
    SOCKETS: "over TCP",
}
# First release -> numbers that NCCL prints for PXB, PHB and SYS (src/graph/topo.h, since 2.30 src/include/graph.h).
_DISTANCES = (
    ((2, 27), {5: "PXB", 8: "PHB", 9: "SYS"}),
    ((2, 26), {5: "PXB", 7: "PHB", 8: "SYS"}),
    ((2, 12), {4: "PXB", 6: "PHB", 7: "SYS"}),
    ((2, 8), {4: "PXB", 5: "PHB", 6: "SYS"}),
    ((2, 6), {3: "PXB", 4: "PHB", 5: "SYS"}),
)
_SEND_FROM_GPU_BY_DEFAULT = (2, 19)


@dataclasses.dataclass(frozen=True)
class Side:
    """What one end of a connection says. ``lines``: path -> number of channel lines; ``devices``: NICs by NCCL's
    index."""

    path: str
    reason: str
    lines: Mapping[str, int]
    devices: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True)
class Pair:
    """Data that goes from rank ``source`` to rank ``target`` on another host."""

    source: int
    target: int
    source_host: str
    target_host: str
    send: Side
    receive: Side
    verdict: str
    reason: str


_LISTS = ("hosts", "layers", "networks", "versions", "without_relaxed_ordering", "notes")
# What decides how good a path of GPUDirect RDMA is, and was asked for by a variable.
SETTINGS = ("NCCL_IB_PCI_RELAXED_ORDERING", "NCCL_TOPO_FILE")


@dataclasses.dataclass(frozen=True)
class PathVerdict:
    """``nranks``: size of the largest communicator, None if NCCL did not say; ``notes``: worth knowing, no fault.

    ``networks``: names of the networks that channels between hosts take; ``hcas``: the NICs that channels take (all
    that NCCL names, where there is no channel); ``within``: kind of transport -> number of pairs of ranks on one host;
    ``grouped``: no communicator holds all ranks, so their numbers are this reader's own; ``relaxed_ordering``: NCCL
    says [RO] on every host, None: it names no NIC; ``without_relaxed_ordering``: hosts (or processes, where the log
    does not name the host) whose NICs it names without; ``settings``: variables of `SETTINGS` that NCCL was given.
    """

    verdict: str
    reason: str
    pairs: tuple[Pair, ...]
    hosts: tuple[str, ...]
    nranks: int | None
    rank_hosts: Mapping[int, str]
    grouped: bool
    layers: tuple[str, ...]
    networks: tuple[str, ...]
    hcas: tuple[Hca, ...]
    versions: tuple[str, ...]
    notes: tuple[str, ...]
    problems: tuple[Problem, ...]
    relaxed_ordering: bool | None = None
    without_relaxed_ordering: tuple[str, ...] = ()
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    within: Mapping[str, int] = dataclasses.field(default_factory=dict)

    @property
    def good(self) -> bool:
        """Every pair uses GPUDirect RDMA and nothing in the log speaks against it."""
        return self.verdict == GDRDMA and not self.problems

    def as_result(self) -> dict[str, Any]:
        """Plain types, for a filter."""
        counts = collections.Counter(pair.verdict for pair in self.pairs)
        return {
            "ok": self.good,
            **{name: list(getattr(self, name)) for name in _LISTS},
            **picked(self, "verdict", "reason", "nranks", "grouped", "relaxed_ordering"),
            "counts": {verdict: counts[verdict] for verdict in ORDER if counts[verdict]},
            "pairs": [_plain(pair) for pair in self.pairs],
            "rank_hosts": {str(rank): host for rank, host in self.rank_hosts.items()},
            "hcas": [dataclasses.asdict(hca) for hca in self.hcas],
            "settings": dict(self.settings),
            "within": dict(self.within),
            "problems": [dataclasses.asdict(problem) for problem in self.problems],
        }


def _plain(pair: Pair) -> dict[str, Any]:
    plain = dataclasses.asdict(pair)
    for side in ("send", "receive"):
        plain[side]["devices"] = list(plain[side]["devices"])
    return plain


def judge(log: NcclLog, ranks: int | None = None, hosts: Sequence[str] | None = None) -> PathVerdict:
    """``ranks``: how many were started; ``hosts``: names of the hosts that take part. None: believe the log."""
    return _Judge(log, ranks, None if hosts is None else tuple(map(short, hosts))).verdict()


def short(name: str) -> str:
    """A host as NCCL prints it: up to its first dot. An address is no name, and stays whole."""
    return name if _is_address(name) else name.split(".", maxsplit=1)[0]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class _Judge:
    def __init__(self, log: NcclLog, expected: int | None, hosts: tuple[str, ...] | None) -> None:
        self._log = log
        self._expected = expected
        self._expected_hosts = None if hosts is None else tuple(dict.fromkeys(map(self._named, hosts)))
        self._notes: dict[str, None] = {}
        self._together: Mapping[str, int] = {}
        self._within: dict[str, dict[tuple[int, int], str]] = collections.defaultdict(dict)
        self._problems = [problem for problem in log.problems if problem.code != "no_result"]
        self._version = _oldest(log.versions)
        # Communicators that were made by splitting another one may hold a part of the job; the others may not.
        self._whole = [rank for rank in log.ranks if not rank.split] or list(log.ranks)
        self._nranks = max((rank.nranks for rank in self._whole), default=None)
        # A line whose prefix is torn is of no other process.
        named = [rank for rank in self._whole if rank.process.host is not None]
        self._torn = sorted({rank.rank for rank in self._whole if rank.process.host is None}) if named else []
        self._whole = named or self._whole
        self._world = {rank.rank: rank for rank in self._whole if rank.nranks == self._nranks}
        self._maps = self._communicators()
        self._groups = self._mixed()
        if self._groups:
            self._nranks, self._world = len(self._groups), self._groups
        self._index()
        self._network = {process: [*names][-1] for process, names in log.networks.items()}
        self._host_of = {number: str(rank.process.host) for number, rank in self._world.items() if rank.process.host}
        if not self._world:
            self._hosts_from_channels()

    def verdict(self) -> PathVerdict:
        if not (self._log.ranks or self._log.channels or self._log.networks):
            return self._done(UNKNOWN, self._silence(), ())
        apart = self._not_one_job()
        if apart:
            return self._done(NOT_ONE_JOB, apart, ())
        pairs = self._pairs()
        self._staged_within()
        lacking = self._lacking(pairs)
        if pairs:
            worst = min(pairs, key=lambda pair: ORDER.index(pair.verdict))
            if worst.verdict == GDRDMA and lacking:
                return self._done(UNKNOWN, lacking, pairs)
            alike = sum(1 for pair in pairs if pair.verdict == worst.verdict)
            return self._done(worst.verdict, f"{alike} of {len(pairs)} pairs: {worst.reason}", pairs)
        seen, said = self._one_ended()
        if said:
            return self._done(seen, said, ())
        return self._done(UNKNOWN, lacking or "no rank talks to another host in this log", ())

    def _one_ended(self) -> tuple[str, str]:
        """Without a pair of hosts in the log: the verdict and the line of one end that decides for both."""
        crossing = self._to_unheard()
        heard = [(each.process, each.line) for each in self._log.channels if _TCP.search(each.network)]
        if len(self._hosts()) > 1 or len(self._expected_hosts or ()) > 1:
            heard += [
                (process, f"Using network {name}") for process, name in self._network.items() if _TCP.search(name)
            ]
        for process, line in heard:
            return SOCKETS, f"{process.name}: {line.rstrip()}. {self._why_tcp(process)}"
        for each in crossing:
            if each.direction == "receive" and not each.gdr:
                why = self._why_staged(each.process, "receive")
                return VIA_HOST, f"{each.process.name}: {each.line.rstrip()}. {why}"
        return UNKNOWN, ""

    def _to_unheard(self) -> list[Channel]:
        """Channels over a network whose other end is not in the log."""
        return [
            each
            for each in self._log.channels
            if each.kind == "net"
            and self._ends(each.process, each.comm, each.source, each.target, each.direction) is None
        ]

    # ---------------------------------------------------------------------------------------------------- who is who

    def _communicators(self) -> dict[tuple[str, int], dict[int, Rank]]:
        """(commId, size) -> rank -> who it is."""
        found: dict[tuple[str, int], dict[int, Rank]] = collections.defaultdict(dict)
        for rank in self._log.ranks:
            found[rank.comm, rank.nranks][rank.rank] = rank
        return found

    def _index(self) -> None:
        """What is looked up once per channel: with thousands of ranks nothing may be searched for there."""
        self._member_of: dict[tuple[Process, int], list[tuple[str, dict[int, Rank]]]] = collections.defaultdict(list)
        for (name, _size), members in sorted(self._maps.items(), key=lambda item: -item[0][1]):
            for number, rank in members.items():
                self._member_of[rank.process, number].append((name, members))
        self._number_of = {(rank.process, rank.device): number for number, rank in reversed(self._world.items())}
        self._by_process: dict[Process, list[Channel]] = collections.defaultdict(list)
        for channel in self._log.channels:
            self._by_process[channel.process].append(channel)
        self._connected = {entry for entries in self._log.connected.values() for entry in entries}

    def _named(self, host: str) -> str:
        """The name of the host that has this address, as far as the log tells it."""
        if not _is_address(host):
            return host
        having = [
            name
            for name, interfaces in self._log.sockets.items()
            if any(interface.split()[-1] == host for interface in interfaces)
        ]
        return having[0] if len(having) == 1 else host

    def _mixed(self) -> dict[int, Rank]:
        """All ranks of a job without a communicator of all of them (tensor by data parallel); empty if it is none.

        Its groups have to be complete, and to connect every rank with every other one.
        """
        who = sorted(
            {(str(rank.process.host), rank.device, rank.process.pid or 0): rank for rank in self._log.ranks}.items(),
            key=lambda item: item[0],
        )
        groups = [members for (comm, _size), members in self._maps.items() if comm]
        wanted = self._expected or len(who)
        if self._nranks is None or not self._nranks < len(who) == wanted or len(groups) < 2 or self._nranks == 1:
            return {}
        parts: list[set[tuple[Process, int]]] = []
        for members in groups:
            joined = {(rank.process, rank.device) for rank in members.values()}
            touching = [part for part in parts if part & joined]
            parts = [part for part in parts if not part & joined] + [joined.union(*touching)]
        if len(parts) != 1 or len(parts[0]) != len(who):
            return {}
        done = {(rank.process, rank.device) for rank in self._log.ranks if not rank.complete}
        return {
            number: dataclasses.replace(
                rank, rank=number, nranks=len(who), comm="", complete=(rank.process, rank.device) not in done
            )
            for number, (_key, rank) in enumerate(who)
        }

    def _cut_groups(self) -> list[str]:
        """Groups of a mixed job of which not every rank is in the log."""
        return [
            f"the group {comm or 'without name'} has {size} ranks, {len(members)} of them are in the log"
            for (comm, size), members in sorted(self._maps.items())
            if self._groups and len(members) != size
        ]

    def _hosts_from_channels(self) -> None:
        """Without a line of a communicator, the side that prints a channel tells where its rank is."""
        for channel in self._log.channels:
            own = channel.target if channel.direction == "receive" else channel.source
            host = channel.process.host
            if host is None:
                continue
            if self._host_of.setdefault(own, host) != host:
                self._problem(
                    "rank_on_two_hosts",
                    f"rank {own} prints from {self._host_of[own]} and from {host}: two jobs or two runs in one log",
                )

    def _hosts(self) -> tuple[str, ...]:
        return tuple(sorted(set(self._host_of.values()) or set(self._log.hosts)))

    def _not_one_job(self) -> str:
        """Why these processes are not one job; empty if they are, or if that is not known."""
        if self._nranks is None:
            return ""
        who = {(rank.process, rank.device) for rank in self._whole}
        wanted = self._expected or 0
        if self._nranks == 1 and (len(who) > 1 or wanted > 1 or len(self._expected_hosts or ()) > 1):
            return (
                f"{len(who)} process(es) each computed alone (nranks 1): the program was built without MPI, or started "
                "apart. Its speed says nothing about the network"
            )
        if self._twice():
            return self._twice()
        missing = self._missing_hosts()
        reason = ""
        if self._nranks < wanted:
            where = f" (no rank on {', '.join(missing)})" if missing else ""
            reason = f"the communicator has {self._nranks} ranks, {wanted} were wanted{where}: the others took no part"
        elif len(who) > self._nranks:
            reason = f"{len(who)} processes, but the largest communicator has {self._nranks} ranks: several jobs"
        elif missing and len(self._world) == self._nranks and not self._one_name_for_all():
            reason = f"all {self._nranks} ranks are on {', '.join(self._hosts())}; no rank on {', '.join(missing)}"
        return reason

    def _twice(self) -> str:
        """A rank that several processes claim; empty if there is none."""
        claims: dict[int, set[Process]] = collections.defaultdict(set)
        for rank in () if self._groups else self._whole:
            if rank.nranks == self._nranks:
                claims[rank.rank].add(rank.process)
        for number, processes in sorted(claims.items()):
            if len(processes) > 1:
                names = ", ".join(sorted(process.name for process in processes))
                return (
                    f"rank {number} of {self._nranks} exists {len(processes)} times ({names}): separate jobs, or the "
                    "logs of several runs in one text"
                )
        return ""

    def _missing_hosts(self) -> list[str]:
        heard = {host.lower() for host in self._hosts()}
        return [name for name in self._expected_hosts or () if name.lower() not in heard]

    def _one_name_for_all(self) -> bool:
        """All ranks give the same host and still use the network: containers that share one name.

        Where ranks are missing in the log it is the log of one host alone.
        """
        whole = self._nranks is not None and len(self._world) == self._nranks
        return whole and len(self._hosts()) == 1 and any(channel.kind == "net" for channel in self._log.channels)

    def _silence(self) -> str:
        if self._log.lines:
            return (
                "NCCL printed, but no line of a rank's start and of a channel can be read: the log is cut, lines lost "
                "their HOST:PID:TID, or NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,NET were not set"
            )
        return "no line of NCCL: set NCCL_DEBUG=INFO and look at the file that NCCL_DEBUG_FILE names"

    def _lacking(self, pairs: Sequence[Pair]) -> str:
        """What keeps a faultless log from being a proof; each is also a problem."""
        reasons = [*self._lacking_ranks(pairs), *self._lacking_hosts(pairs)]
        contradicting = self._summaries_that_contradict()
        if pairs:
            reasons += [each for each in (self._disabled(), self._second_network(), self._one_gpu_twice()) if each]
        reasons += [contradicting] if contradicting else []
        reasons += self._idle_nics() if pairs else []
        for reason in reasons:
            self._problem("incomplete", reason)
        if not pairs and not reasons and len(self._hosts()) == 1:
            return f"all ranks are on {self._hosts()[0]}: nothing crosses hosts"
        return reasons[0] if reasons else ""

    def _lacking_ranks(self, pairs: Sequence[Pair]) -> list[str]:
        if self._nranks is None:
            return ["NCCL does not say how many ranks take part (no 'rank R nranks N' line)"]
        reasons = []
        missing = [str(number) for number in range(self._nranks) if number not in self._world]
        if missing and len(self._hosts()) == 1 and any(channel.kind == "net" for channel in self._log.channels):
            crossing = sum(each.count for each in self._to_unheard() if each.gdr)
            shown = f"; {crossing} lines of this end say GDRDMA" if crossing else ""
            own = {each.target if each.direction == "receive" else each.source for each in self._log.channels}
            heard = len(own.union(self._world)) if len(self._maps) == 1 else len(self._world)
            reasons.append(
                f"this is the log of {self._hosts()[0]} alone: {heard} of {self._nranks} ranks{shown}. Put "
                "the logs of all hosts behind each other"
            )
        elif missing:
            reasons.append(f"no line from rank(s) {', '.join(missing)} of {self._nranks}: the log is incomplete")
        reasons += self._cut_groups()
        # A line that lost its prefix may be the one that is missing.
        unfinished = sorted({n for n, rank in self._world.items() if not rank.complete}.difference(self._torn))
        if unfinished and not pairs and not any(rank.complete for rank in self._whole):
            failed = next((each.message for each in self._problems if each.code == "nccl_failure"), "")
            if failed:
                reasons.insert(0, f"no rank finished its start: {failed}")
            elif not (self._log.edges or self._log.channels):
                reasons.insert(
                    0,
                    "no rank finished its start: the log ends before, or the ranks cannot reach each other; check "
                    "NCCL_SOCKET_IFNAME and the firewall of the cluster network",
                )
        if unfinished:
            numbers = ", ".join(map(str, unfinished))
            reasons.append(f"the log is cut or the start failed: no whole line 'Init COMPLETE' of rank(s) {numbers}")
        if self._torn:
            reasons.append(f"lines of rank(s) {', '.join(map(str, self._torn))} have lost the name of their process")
        begun = sorted({rank.process.name for rank in self._log.ranks if not rank.complete})
        if begun and not unfinished:
            reasons.append(f"{', '.join(begun[:4])} began a communicator and did not finish its start")
        if self._expected and self._nranks > self._expected:
            reasons.append(f"the communicator has {self._nranks} ranks, {self._expected} were wanted")
        return reasons

    def _lacking_hosts(self, pairs: Sequence[Pair]) -> list[str]:
        reasons = []
        if self._one_name_for_all():
            reasons.append(
                f"all ranks give the host name {self._hosts()[0]} and still use the network: the containers share one "
                "name; start them with --uts=host"
            )
        elif self._missing_hosts():
            reasons.append(f"no line from host(s) {', '.join(self._missing_hosts())}")
        for word, heard in (
            ("from", {pair.source_host for pair in pairs}),
            ("to", {pair.target_host for pair in pairs}),
        ):
            alone = sorted(set(self._hosts()) - heard)
            if pairs and alone:
                reasons.append(f"no connection {word} {', '.join(alone)} in the log")
        reasons += self._one_sided(pairs)
        if not pairs and len(self._hosts()) > 1:
            reasons.append(
                f"{len(self._hosts())} hosts, but no channel between them in the log: no collective ran, or "
                "NCCL_DEBUG_SUBSYS is without INIT and NET"
            )
        return reasons

    def _summaries_that_contradict(self) -> str:
        """Since 2.24 "Connected all rings" says whether every connection of the rank uses GPUDirect RDMA."""
        for process, summary in self._log.summaries.items():
            own = [channel for channel in self._by_process[process] if channel.kind == "net"]
            if summary and summary[1] == 0 and own and all(channel.gdr for channel in own):
                return (
                    f"{process.name} says 'Connected all rings ... GDR 0', but each of its channel lines ends in "
                    "/GDRDMA: lines are missing"
                )
        return ""

    # --------------------------------------------------------------------------------------------------------- pairs

    def _pairs(self) -> tuple[Pair, ...]:
        found: dict[tuple[int, int], dict[str, list[Channel]]] = {}
        for channel in self._log.channels:
            ends = self._ends(channel.process, channel.comm, channel.source, channel.target, channel.direction)
            if ends and self._host_of[ends[0]] != self._host_of[ends[1]]:
                sides = found.setdefault(ends, {"send": [], "receive": []})
                sides[channel.direction or "send"].append(channel)
            elif ends:
                kind = channel.kind if channel.kind != "net" else _path(channel)
                self._within[kind].setdefault(ends, channel.line)
        self._planned: dict[tuple[int, int], set[str]] = collections.defaultdict(set)
        for process, edges in self._log.edges.items():
            for edge in edges:
                if not self._was_connected(process, edge):
                    continue
                ends = self._ends(process, edge.comm, edge.source, edge.target, None)
                if ends and self._host_of[ends[0]] != self._host_of[ends[1]]:
                    found.setdefault(ends, {"send": [], "receive": []})
                    self._planned[ends].add(edge.number)
        self._seen = {
            ends: {side: {number for each in seen for number in each.numbers} for side, seen in sides.items()}
            for ends, sides in found.items()
        }
        return tuple(self._pair(ends, found[ends]) for ends in sorted(found))

    def _staged_within(self) -> None:
        """Pairs of one host whose data leave the GPUs' memory on the way."""
        for kind, how in _STAGED.items():
            for (source, target), line in sorted(self._within.get(kind, {}).items())[:1]:
                self._problem(
                    "staged_within_host",
                    f"{len(self._within[kind])} pair(s) of ranks on one host exchange {how}, not from GPU to GPU: "
                    f"rank {source} -> rank {target} on {self._host_of[source]}: {line.rstrip()}. Look at nvidia-smi "
                    "topo -m and NCCL_P2P_DISABLE; in a VM, GPUs reach each other only with P2P keys or NVLink",
                )

    def _disabled(self) -> str:
        """NCCL says that a NIC has no GPUDirect RDMA, or none for this GPU, and a channel takes it with GDRDMA."""
        for line in self._log.gdr:
            if line.enabled:
                continue
            host = line.process.host
            own = [hca for hca in self._log.hcas if hca.host == host]
            index = {hca.index for hca in own if line.hca in (*hca.name.split("+"), str(hca.index))}
            # A NIC without it has none for any process of the host; of a GPU only its own process speaks.
            alone = sum(other == host for other in self._host_of.values()) <= 1
            if line.gpu and not alone and not self._is_gpu_of(line.gpu, line.process):
                continue
            processes = [line.process] if line.gpu else [other for other in self._by_process if other.host == host]
            if any(channel.gdr and channel.device in index for each in processes for channel in self._by_process[each]):
                return f"{line.process.name}: channels end in /GDRDMA, and: {line.line}"
        return ""

    def _is_gpu_of(self, gpu: str, process: Process) -> bool:
        return any(rank.process == process and gpu in (str(rank.device), rank.bus_id) for rank in self._log.ranks)

    def _second_network(self) -> str:
        """A communicator over TCP beside those whose channels are in the log: its channels would say so, or are not
        there yet."""
        for process, names in self._log.networks.items():
            tcp = [name for name in names if _TCP.search(name)]
            if tcp and (len(names) > 1 or any(channel.gdr for channel in self._by_process[process])):
                return f"{process.name} says 'Using network {tcp[0]}', and channels take another network"
        setting = self._tcp_setting()
        if setting:
            return f"{setting[0]} was set to {setting[1]}, and channels take another network"
        levels = self._log.environment.get("NCCL_NET_GDR_LEVEL", ())
        if any(level.upper() in ("LOC", "0") for level in levels) and any(each.gdr for each in self._log.channels):
            return "NCCL_NET_GDR_LEVEL was set to LOC, which is never, and channels end in /GDRDMA"
        return ""

    def _tcp_setting(self) -> tuple[str, str] | None:
        """The variable by which NCCL was told to use no RDMA, and its value."""
        environment = self._log.environment
        if "1" in environment.get("NCCL_IB_DISABLE", ()):
            return "NCCL_IB_DISABLE", "1"
        tcp = [value for value in environment.get("NCCL_NET", ()) if _TCP.search(value)]
        return ("NCCL_NET", tcp[0]) if tcp else None

    def _one_gpu_twice(self) -> str:
        """Two ranks of a communicator on one GPU, which NCCL refuses: their lines are of several jobs."""
        for (comm, _size), members in self._maps.items():
            seen: dict[tuple[str | None, int, str], int] = {}
            for number, rank in members.items():
                gpu = (rank.process.host, rank.device, rank.bus_id)
                if rank.bus_id and seen.setdefault(gpu, number) != number:
                    where = f"GPU {rank.bus_id} on {gpu[0]}"
                    return f"ranks {seen[gpu]} and {number} of {comm or 'one communicator'} have {where}"
        return ""

    def _idle_nics(self) -> list[str]:
        """Rails that no channel takes: hosts with fewer NICs in use than they have ranks and NICs, or than others."""
        used, named, merged, local = self._nics_in_use()
        if not used:
            return []
        most = max(map(len, used.values()))
        found = []
        for host in sorted(used):
            idle = sorted(named[host] - used[host])
            if host in merged or not idle:
                continue
            if len(used[host]) < max(min(local[host], len(named[host])), min(most, len(named[host]))):
                found.append(
                    f"{host}: {len(used[host])} of {len(named[host])} RoCE NICs that NCCL names carry a channel; "
                    f"NCCL's device(s) {', '.join(map(str, idle[:8]))} carry none"
                )
        return found

    def _nics_in_use(self) -> tuple[dict[str, set[int]], dict[str, set[int]], set[str], Mapping[str, int]]:
        """Of each host: devices that channels take, RoCE devices that NCCL names, whether it merges some, its ranks."""
        used: dict[str, set[int]] = collections.defaultdict(set)
        for channel in self._log.channels:
            if channel.kind == "net" and channel.device is not None and channel.process.host:
                used[channel.process.host].add(channel.device)
        named: dict[str, set[int]] = collections.defaultdict(set)
        merged = set()
        for hca in self._log.hcas:
            if hca.layer == "RoCE":
                named[hca.host].add(hca.index)
            if "+" in hca.name:
                merged.add(hca.host)
        return used, named, merged, collections.Counter(self._host_of.values())

    def _hcas(self) -> tuple[Hca, ...]:
        """The NICs that channels take; all, where no channel tells. A merged NIC represents its parts."""
        used = self._nics_in_use()[0]
        taken = [hca for hca in self._log.hcas if hca.index in used.get(hca.host, ())]
        return tuple(taken or self._log.hcas)

    def _was_connected(self, process: Process, edge: Edge) -> bool:
        """Since 2.22 NCCL plans rings and trees at its start, and connects what the first collective needs. Before it
        said so, rings were always connected."""
        if not self._connected:
            return edge.kind == "ring"
        return (edge.comm, edge.kind) in self._connected or ("", edge.kind) in self._log.connected.get(process, ())

    def _one_sided(self, pairs: Sequence[Pair]) -> list[str]:
        """Channels that one end names and the other does not, or that no end names: their lines are missing."""
        for pair in pairs:
            ends = (pair.source, pair.target)
            sent, received = self._seen[ends]["send"], self._seen[ends]["receive"]
            both = {number.split("/")[0] for number in sent & received}
            lost = (sent ^ received) | (self._planned.get(ends, set()) - both)
            if sent and received and lost:
                return [
                    f"rank {pair.source} ({pair.source_host}) -> rank {pair.target} ({pair.target_host}): lines of "
                    f"channel(s) {', '.join(sorted(lost)[:8])} are missing at one end or at both"
                ]
        return []

    def _ends(
        self, process: Process, comm: str, source: int, target: int, direction: str | None
    ) -> tuple[int, int] | None:
        """The ranks of the whole job that a channel line means; None if a host is not known."""
        if not self._maps:
            return (source, target) if source in self._host_of and target in self._host_of else None
        own = {"receive": (target,), None: (source, target)}.get(direction, (source,))
        for name, members in (entry for number in own for entry in self._member_of.get((process, number), ())):
            if comm and name != comm:
                continue
            ends = [self._in_world(members[number]) for number in (source, target) if number in members]
            if len(ends) == 2 and ends[0] is not None and ends[1] is not None:
                return (ends[0], ends[1]) if ends[0] in self._host_of and ends[1] in self._host_of else None
        return None

    def _in_world(self, rank: Rank) -> int | None:
        return rank.rank if rank.nranks == self._nranks else self._number_of.get((rank.process, rank.device))

    def _pair(self, ends: tuple[int, int], sides: Mapping[str, Sequence[Channel]]) -> Pair:
        source, target = ends
        send = self._side("send", source, sides["send"])
        receive = self._side("receive", target, sides["receive"])
        if send.path == VIA_HOST and receive.path == GDRDMA and self._send_may_stage(source):
            version = ".".join(str(part) for part in self._version or ())
            reason = (
                f"NCCL {version} stages what it sends in host memory unless the GPU has NVLink or is the only one of "
                "its host: on GPUs with NVLink this is a fault; NCCL_NET_GDR_READ=1 makes it send from GPU memory"
            )
            send = Side(RECEIVE_ONLY, f"{send.reason}. {reason}", send.lines, send.devices)
        worst = min((send, receive), key=lambda side: ORDER.index(side.path))
        which = "send" if worst is send else "receive"
        where = self._host_of[source if worst is send else target]
        return Pair(
            source,
            target,
            self._host_of[source],
            self._host_of[target],
            send,
            receive,
            worst.path,
            f"rank {source} ({self._host_of[source]}) -> rank {target} ({self._host_of[target]}), {which} side on "
            f"{where}: {worst.reason}",
        )

    def _send_may_stage(self, source: int) -> bool:
        if not self._together:
            self._together = collections.Counter(self._host_of.values())
        together = self._together[self._host_of[source]]
        forced = self._log.environment.get("NCCL_NET_GDR_READ", ())
        return self._version is not None and self._version < _SEND_FROM_GPU_BY_DEFAULT and together > 1 and not forced

    def _side(self, direction: str, rank: int, channels: Sequence[Channel]) -> Side:
        lines: dict[str, int] = collections.Counter()
        first: dict[str, str] = {}
        for channel in channels:
            path = _path(channel)
            lines[path] += channel.count
            first.setdefault(path, channel.line)
        process = self._world[rank].process if rank in self._world else None
        devices = tuple(sorted({channel.device for channel in channels if channel.device is not None}))
        if not lines:
            if process is not None and _TCP.search(self._network.get(process, "")):
                return Side(SOCKETS, f"Using network {self._network[process]}. {self._why_tcp(process)}", {})
            return Side(UNKNOWN, f"no [{direction}] line for this connection in the log", {})
        path = min(lines, key=ORDER.index)
        reason = first[path]
        asked = process or channels[0].process
        if path == SOCKETS:
            reason += ". " + self._why_tcp(asked)
        elif path == VIA_HOST:
            reason += ". " + self._why_staged(asked, direction)
        elif path == UNKNOWN:
            reason += ": this line is cut, or of a kind that this reader does not judge"
        return Side(path, reason.rstrip(), dict(lines), devices)

    # ------------------------------------------------------------------------------------------------------- reasons

    def _why_tcp(self, process: Process) -> str:
        setting = self._tcp_setting()
        if setting:
            return f"Cause: {setting[0]} set by environment to {setting[1]}"
        if any(other.host == process.host for other in self._log.no_ib_device):
            wanted = [*self._log.environment.get("NCCL_IB_HCA", ())]
            chosen = f"; NCCL_IB_HCA is {wanted[0]}: does a device of this name exist?" if wanted else ""
            return (
                f"Cause: NET/IB : No device found on {process.host}{chosen or ': is /dev/infiniband in the container?'}"
            )
        warned = [each for each in self._log.warnings if each.startswith(f"{process.host}:") and _OF_RDMA.search(each)]
        why = "NCCL does not say why; run the probe with NCCL_NET=IB, then it stops with the cause"
        return f"Cause: NCCL warns: {warned[0]}" if warned else why

    def _why_staged(self, process: Process, direction: str) -> str:
        lines = [line for line in self._log.gdr if line.process.host == process.host and not line.enabled]
        lines = lines or [line for line in self._log.gdr if line.process.host is None and not line.enabled]
        far = next((line for line in lines if line.distance is not None), None)
        if far is not None:
            return self._distance(far)
        no_module = next((line for line in lines if not line.gpu or "no module" in line.line), None)
        if no_module is not None:
            return (
                f"Cause: {no_module.line}. The NIC's driver has no access to GPU memory: nvidia-peermem is not "
                "registered (loaded is not enough) and DMA-BUF is not available"
            )
        for name in ("NCCL_NET_GDR_LEVEL", "NCCL_NET_GDR_READ"):
            if name in self._log.environment and (name != "NCCL_NET_GDR_READ" or direction == "send"):
                return f"{name} set by environment to {self._first(name)}"
        if self._version is not None and self._version >= (2, 30):
            return "NCCL 2.30 and later do not print why; look at the distance of GPU and NIC in the dumped topology"
        return "NCCL prints why only with NCCL_DEBUG_SUBSYS=INIT,NET"

    def _first(self, name: str) -> str:
        """The value of a variable that NCCL was given."""
        return next(iter(self._log.environment[name]))

    def _distance(self, line: GdrLine) -> str:
        name = distance_name(self._version, line.distance)
        limit = distance_name(self._version, line.limit)
        meaning = f" = {name}, allowed {limit or line.limit}" if name else ""
        return (
            f"Cause: {line.line}{meaning}. GPU and NIC look too far apart, as they do in the flat PCI tree of a VM: "
            "render NCCL's topology from the ESXi facts"
        )

    def _problem(self, code: str, message: str) -> None:
        problem = Problem(code, message)
        if problem not in self._problems:
            self._problems.append(problem)

    def _done(self, verdict: str, reason: str, pairs: tuple[Pair, ...]) -> PathVerdict:
        hcas = self._hcas()
        layers = tuple(sorted({hca.layer for hca in hcas}))
        if self._log.collnet:
            self._problem(
                "collnet",
                f"{self._log.collnet} COLLNET channel lines: in-network reduction, whose path is not judged here",
            )
        refusing = [process for process, used in self._log.relaxed.items() if not used]
        without = tuple(sorted({process.host or process.name for process in refusing}))
        if without and verdict in (GDRDMA, VIA_HOST):
            self._notes.setdefault(
                f"relaxed ordering is off on {listed(without)} (no [RO]); inside VMs it often decides about the speed"
            )
        if verdict == NOT_ONE_JOB:
            self._problem(NOT_ONE_JOB, reason)
        rank_hosts, grouped = dict(sorted(self._host_of.items())), bool(self._groups)
        networks = tuple(sorted({channel.network for channel in self._log.channels if channel.kind == "net"}))
        seen = (layers, networks, hcas, tuple(self._log.versions), tuple(self._notes), tuple(self._problems))
        settings = {name: self._first(name) for name in SETTINGS if name in self._log.environment}
        within = {kind: len(found) for kind, found in sorted(self._within.items())}
        said = (self._log.relaxed_ordering, without, settings, within)
        return PathVerdict(verdict, reason, pairs, self._hosts(), self._nranks, rank_hosts, grouped, *seen, *said)


def _path(channel: Channel) -> str:
    if channel.kind != "net":
        return UNKNOWN
    if _TCP.search(channel.network):
        return SOCKETS
    return GDRDMA if channel.gdr else VIA_HOST


def _oldest(versions: Iterable[str]) -> tuple[int, int] | None:
    found = [tuple(int(part) for part in version.split(".")[:2]) for version in versions]
    return min(((major, minor) for major, minor in found), default=None)


def distance_name(version: tuple[int, int] | None, number: int | None) -> str | None:
    """PXB, PHB or SYS for the number that this version prints; None if it means something else or is not known."""
    if version is None or number is None:
        return None
    for since, names in _DISTANCES:
        if version >= since:
            return names.get(number)
    return None
