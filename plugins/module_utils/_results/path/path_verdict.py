"""Which way the data of a NCCL job went, for each pair of ranks that crosses hosts, and why. Pure.

Verdicts, worst first (`ORDER`): ``not_one_job`` (the processes did not compute together: every figure is void),
``sockets`` (TCP), ``rdma_via_host`` (RDMA, staged in host memory), ``receive_only`` (the receiving ends use GPUDirect
RDMA, the sending ones stage in host memory, as that release of NCCL may), ``unknown``, ``gdrdma`` (NIC and GPU memory
without detour, both ways). A known fault goes before ``unknown``, because it says what to do; neither is ``gdrdma``.
Silence is never taken for consent: a missing line, rank or host leaves ``unknown`` at best.

Rules from NCCL's source (tags 2.7.8 to 2.30.7; src/transport/net.cc, src/graph/paths.cc): the receiving side uses
GPUDirect RDMA if the distance between GPU and NIC allows it; the sending side, before 2.19 (since then of GPUs before
Ampere), only if the GPU has NVLink or is the only one of its host.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import Any, Iterable, Iterator, Mapping, Sequence

from ..readers.nccl_facts import Channel, Edge, GdrLine, Hca, NcclLog, Process
from ..readers.reading import Problem, picked, shown
from ..readers.reading import names as listed
from .ranks import Ranks
from .reasons import TCP, oldest, reason, reasons, setting, tcp_setting, why_staged, why_tcp

NOT_ONE_JOB = "not_one_job"
SOCKETS = "sockets"
VIA_HOST = "rdma_via_host"
RECEIVE_ONLY = "receive_only"
UNKNOWN = "unknown"
GDRDMA = "gdrdma"
ORDER = (NOT_ONE_JOB, SOCKETS, VIA_HOST, RECEIVE_ONLY, UNKNOWN, GDRDMA)

_SEND_FROM_GPU_BY_DEFAULT = (2, 19)
# What decides how good a path of GPUDirect RDMA is, and was asked for by a variable.
SETTINGS = ("NCCL_IB_PCI_RELAXED_ORDERING", "NCCL_IB_TC", "NCCL_TOPO_FILE")


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
    relaxed_ordering: bool | None
    without_relaxed_ordering: tuple[str, ...]
    settings: Mapping[str, str]
    within: Mapping[str, int]

    @property
    def good(self) -> bool:
        """Every pair uses GPUDirect RDMA and nothing in the log speaks against it."""
        return self.verdict == GDRDMA and not self.problems

    def as_result(self) -> dict[str, Any]:
        found = collections.Counter(pair.verdict for pair in self.pairs)
        counts = {verdict: found[verdict] for verdict in ORDER if found[verdict]}
        return shown(self, *(field.name for field in dataclasses.fields(self)), ok=self.good, counts=counts)


def judge(log: NcclLog, ranks: int | None = None, hosts: Sequence[str] | None = None) -> PathVerdict:
    """``ranks``: how many were started; ``hosts``: names of the hosts that take part. None: believe the log."""
    return _Judge(log, Ranks(log, ranks, hosts)).verdict()


class _Judge:
    def __init__(self, log: NcclLog, ranks: Ranks) -> None:
        self._log = log
        self._ranks = ranks
        self._within: dict[str, dict[tuple[int, int], str]] = collections.defaultdict(dict)
        known = ("no_result", "unfinished")  # what is missing is said once, below
        self._problems = [problem for problem in log.problems if problem.code not in known] + ranks.problems
        self._failed = next((each.message for each in log.problems if each.code == "nccl_failure"), "")
        self._version = oldest(log.versions)
        self._network = {process: [*names][-1] for process, names in log.networks.items()}
        self._from_gpu = {channel.process for channel in log.channels if channel.gdr}
        self._connected = {entry for entries in log.connected.values() for entry in entries}
        # Of each two ranks on different hosts: channels by their side, "send" first, and numbers of those planned.
        self._sides: dict[tuple[int, int], dict[str, list[Channel]]] = collections.defaultdict(
            lambda: {"send": [], "receive": []}
        )
        self._planned: dict[tuple[int, int], set[str]] = collections.defaultdict(set)
        # Which processes have lines that fit several hosts, of which end.
        self._unclear: set[tuple[Process, str]] = set()
        # By host, and GPUs as NCCL names them: with thousands of ranks nothing may be searched for.
        self._refused: dict[str | None, list[GdrLine]] = collections.defaultdict(list)
        for line in (line for line in log.gdr if not line.enabled):
            self._refused[line.process.host].append(line)
        self._gpus = {(rank.process, gpu) for rank in log.ranks for gpu in (str(rank.rank), rank.bus_id)}
        # A bus id; shorter is NVML's number, and a GPU of that number may be another rank's.
        self._gpus |= {(each.process, each.own_gpu) for each in log.channels if len(each.own_gpu) > 3}

    def verdict(self) -> PathVerdict:
        log = self._log
        if not (log.ranks or log.channels or log.networks):
            if self._failed:
                return self._done(UNKNOWN, reason("no_ranks_failed", why=self._failed), ())
            return self._done(UNKNOWN, reason("no_known_line" if log.lines else "no_line"), ())
        apart = self._ranks.apart()
        if apart:
            return self._done(UNKNOWN if self._ranks.side_by_side else NOT_ONE_JOB, apart, ())
        pairs = self._pairs()
        self._staged_within()
        lacking = self._lacking(pairs)
        if pairs:
            worst = min(pairs, key=lambda pair: ORDER.index(pair.verdict))
            failed = worst.verdict == UNKNOWN and self._ranks.nranks is None and self._failed
            if lacking and (failed or worst.verdict == GDRDMA):
                return self._done(UNKNOWN, lacking, pairs)
            alike = sum(1 for pair in pairs if pair.verdict == worst.verdict)
            return self._done(worst.verdict, reason("pairs", alike=alike, all=len(pairs), reason=worst.reason), pairs)
        seen, said = self._one_ended()
        return self._done(seen, said or lacking or reason("no_other_host"), ())

    def _one_ended(self) -> tuple[str, str]:
        """Without a pair of hosts in the log: the verdict and the line of one end that decides for both."""
        heard = [(each.process, each.line) for each in self._log.channels if TCP.search(each.network)]
        if len(self._ranks.hosts) > 1 or len(self._ranks.wanted_hosts) > 1:
            using = ((process, name) for process, name in self._network.items() if TCP.search(name))
            heard += [(process, reason("using", network=name)) for process, name in using]
        for process, line in heard:
            why = why_tcp(self._log, process)
            return SOCKETS, reason("one_end", process=process.name, line=line.rstrip(), why=why)
        for each in self._to_unheard():
            if each.direction == "receive" and not each.gdr:
                why = self._why_staged(each.process, [each.device], "receive")
                return VIA_HOST, reason("one_end", process=each.process.name, line=each.line.rstrip(), why=why)
        return UNKNOWN, ""

    def _to_unheard(self) -> list[Channel]:
        """Channels over a network whose other end is not in the log."""
        return [each for each in self._log.channels if each.kind == "net" and self._ranks.ends(each) is None]

    def _crosses(self, ends: tuple[int, int]) -> bool:
        return self._ranks.host_of[ends[0]] != self._ranks.host_of[ends[1]]

    # ---------------------------------------------------------------------------------------------- what is missing

    def _lacking(self, pairs: Sequence[Pair]) -> str:
        """What keeps a faultless log from being a proof; each is also a problem."""
        reasons = [*self._lacking_ranks(pairs), *self._lacking_hosts(pairs)]
        if pairs:
            reasons += [each for each in (self._disabled(), self._second_network(), self._one_gpu_twice()) if each]
        reasons += self._summaries_that_contradict()
        reasons += self._idle_nics() if pairs else []
        changed = [each for each in self._log.warnings if "GID table change" in each]
        reasons += [reason("gids_changed", line=changed[0])] if pairs and changed else []
        if pairs and not reasons:
            reasons = [each.message for each in self._log.problems if each.code == "unfinished"]
        for each in reasons:
            self._problem("incomplete", each)
        if not pairs and not reasons and len(self._ranks.hosts) == 1:
            return reason("one_host", host=self._ranks.hosts[0])
        return reasons[0] if reasons else ""

    def _lacking_ranks(self, pairs: Sequence[Pair]) -> Iterator[str]:
        ranks = self._ranks
        if ranks.nranks is None:
            yield reason("no_ranks_failed", why=self._failed) if self._failed else reason("no_ranks")
            return
        # A line that lost its prefix may be the one that is missing.
        unfinished = sorted({n for n, rank in ranks.world.items() if not rank.complete}.difference(ranks.torn))
        if unfinished and not pairs and not any(rank.complete for rank in ranks.whole):
            if self._failed:
                yield reason("start_failed", why=self._failed)
            elif not (self._log.edges or self._log.channels):
                yield reason("start_unfinished")
        # Ranks whose lines begin behind their start; of several communicators a line may be of another one.
        own = {each.own_end for each in self._log.channels} if len(ranks.maps) == 1 else set()
        unfinished = sorted({*unfinished, *own.difference(ranks.world)})
        missing = [str(number) for number in range(ranks.nranks) if number not in ranks.world and number not in own]
        if missing and len(ranks.hosts) == 1 and ranks.crosses_network:
            crossing = sum(each.count for each in self._to_unheard() if each.gdr)
            said = f"; {crossing} lines of this end say GDRDMA" if crossing else ""
            heard = {"heard": len(own.union(ranks.world)), "nranks": ranks.nranks, "shown": said}
            yield reason("log_of_one_host", host=ranks.hosts[0], **heard)
        elif missing:
            yield reason("ranks_missing", ranks=", ".join(missing), nranks=ranks.nranks)
        for (comm, size), members in sorted(ranks.maps.items()) if ranks.grouped else ():
            if len(members) != size:
                yield reason("group_cut", group=comm or "without name", size=size, heard=len(members))
        if unfinished:
            yield reason("start_cut", ranks=", ".join(map(str, unfinished)))
        if ranks.torn:
            yield reason("prefix_torn", ranks=", ".join(map(str, ranks.torn)))
        begun = sorted({rank.process.name for rank in self._log.ranks if not rank.complete})
        if begun and not unfinished:
            yield reason("communicator_unfinished", processes=listed(begun, 4))
        if ranks.wanted and ranks.nranks > ranks.wanted:
            yield reason("ranks_too_many", nranks=ranks.nranks, wanted=ranks.wanted)

    def _lacking_hosts(self, pairs: Sequence[Pair]) -> Iterator[str]:
        ranks = self._ranks
        if ranks.one_name_for_all:
            yield reason("one_name_for_all", host=ranks.hosts[0])
        elif ranks.missing_hosts:
            yield reason("hosts_missing", hosts=", ".join(ranks.missing_hosts))
        unheard = self._to_unheard()
        heard = {"from": {pair.source_host for pair in pairs}, "to": {pair.target_host for pair in pairs}}
        for way, hosts in heard.items():
            alone = sorted(set(ranks.hosts) - hosts)
            if pairs and alone and not unheard:  # an end whose host is not known may be there
                yield reason("host_alone", way=way, hosts=", ".join(alone))
        yield from self._one_sided(pairs)
        unclear = sum(each.count for each in unheard)
        if pairs and unclear and len(ranks.world) == ranks.nranks:
            yield reason("ends_unclear", count=unclear)
        if not pairs and len(ranks.hosts) > 1:
            if unheard:
                yield reason("ends_unheard", count=unclear, line=unheard[0].line)
            else:
                yield reason("no_channel_cut" if self._connected else "no_channel", hosts=len(ranks.hosts))

    def _summaries_that_contradict(self) -> Iterator[str]:
        """Since 2.24 "Connected all rings" says whether each connection of every rank uses GPUDirect RDMA."""
        without = [process.name for process, with_gdr in self._log.summaries.items() if with_gdr == "0"]
        over_net = [channel.gdr for channel in self._log.channels if channel.kind == "net"]
        if without and over_net and all(over_net):
            yield reason("summary_contradicts", process=without[0])

    def _disabled(self) -> str:
        """NCCL says that a NIC has no GPUDirect RDMA, or none for this GPU, and a channel takes it with GDRDMA. Its
        number is decimal up to 2.20, and hexadecimal from 2.21 on."""
        named: dict[tuple[str | None, str], set[int]] = collections.defaultdict(set)
        for hca in self._log.hcas:
            for name in (*hca.name.split("+"), str(hca.index), f"{hca.index:x}"):
                named[hca.host, name].add(hca.index)
        taken = {(who, one.device) for one in self._log.channels if one.gdr for who in (one.process, one.process.host)}
        for line in (line for lines in self._refused.values() for line in lines):
            who = line.process if line.gpu else line.process.host
            meant = named.get((line.process.host, line.hca), ())
            enough = all if len(line.hca) < 3 else any  # a number is read in two ways; a name is also in merged NICs
            if meant and self._is_of(line, line.process) and enough((who, index) in taken for index in meant):
                return reason("gdr_disabled", process=line.process.name, line=line.line)
        return ""

    def _is_of(self, line: GdrLine, process: Process) -> bool:
        """A NIC without it has none for any process of its host; of a GPU only the process that has it is meant."""
        alone = self._ranks.on_each.get(str(process.host), 0) <= 1
        return not line.gpu or alone or (process, line.gpu) in self._gpus

    def _why_staged(self, process: Process, devices: Iterable[int | None], direction: str) -> str:
        hcas = {name for device in devices if device is not None for name in (str(device), f"{device:x}")}
        lines = self._refused.get(process.host) or self._refused.get(None, [])
        own = [line for line in lines if self._is_of(line, process) and (not line.gpu or line.hca in hcas)]
        return why_staged(self._log, own, direction)

    def _second_network(self) -> str:
        """A communicator over TCP beside those whose channels are in the log: its channels would say so, or are not
        there yet."""
        for process, names in self._log.networks.items():
            tcp = [name for name in names if TCP.search(name)]
            if tcp and (len(names) > 1 or process in self._from_gpu):
                return reason("second_network", process=process.name, network=tcp[0])
        was_set = tcp_setting(self._log)
        if was_set and any(each.kind == "net" and not TCP.search(each.network) for each in self._log.channels):
            return reason("setting_not_kept", variable=was_set[0], value=was_set[1])
        levels = self._log.environment.get("NCCL_NET_GDR_LEVEL", ())
        if any(level.upper() in ("LOC", "0") for level in levels) and any(each.gdr for each in self._log.channels):
            return reason("level_not_kept")
        return ""

    def _one_gpu_twice(self) -> str:
        """Two ranks of a communicator on one GPU, which NCCL refuses: their lines are of several jobs."""
        for (comm, size), members in self._ranks.maps.items():
            if (comm, size) in self._ranks.shared:
                continue
            seen: dict[tuple[str | None, int, str], int] = {}
            for number, rank in members.items():
                gpu = (rank.process.host, rank.device, rank.bus_id)
                if rank.bus_id and seen.setdefault(gpu, number) != number:
                    said = {"comm": comm or "one communicator", "gpu": rank.bus_id, "host": gpu[0]}
                    return reason("gpu_twice", one=seen[gpu], other=number, **said)
        return ""

    def _idle_nics(self) -> Iterator[str]:
        """Rails that no channel takes: hosts with fewer NICs in use than they have ranks and NICs, or than others."""
        used = self._nics_in_use()
        named: dict[str, set[int]] = collections.defaultdict(set)
        for hca in self._log.hcas:
            if hca.layer == "RoCE":
                named[hca.host].add(hca.index)
        merged = {hca.host for hca in self._log.hcas if "+" in hca.name}
        most = max(map(len, used.values()), default=0)
        for host, taken in sorted(used.items()):
            idle, there = sorted(named[host] - taken), len(named[host])
            if idle and host not in merged and len(taken) < min(there, max(self._ranks.on_each[host], most)):
                yield reason("nics_idle", host=host, used=len(taken), named=there, idle=listed(idle, 8))

    def _nics_in_use(self) -> dict[str, set[int]]:
        """Of each host the devices that channels take."""
        used: dict[str, set[int]] = collections.defaultdict(set)
        for channel in self._log.channels:
            if channel.kind == "net" and channel.device is not None and channel.process.host:
                used[channel.process.host].add(channel.device)
        return used

    def _one_sided(self, pairs: Sequence[Pair]) -> list[str]:
        """Channels that an end does not name: their lines are missing, as both ends print one number (NCCL, net.cc)."""
        for pair in pairs:
            ends = (pair.source, pair.target)
            seen = self._sides[ends].values()
            sent, received = ({number for each in side for number in each.numbers} for side in seen)
            both = {number.split("/")[0] for number in sent & received}
            lost = (sent ^ received) | (self._planned.get(ends, set()) - both)
            if sent and received and lost:
                said = picked(pair, "source", "source_host", "target", "target_host")
                return [reason("one_sided", channels=listed(sorted(lost), 8), **said)]
        return []

    # --------------------------------------------------------------------------------------------------------- pairs

    def _pairs(self) -> tuple[Pair, ...]:
        for channel in self._log.channels:
            ends = self._ranks.ends(channel)
            if ends and self._crosses(ends):
                self._sides[ends][channel.direction or "send"].append(channel)
            elif ends:
                kind = channel.kind if channel.kind != "net" else _path(channel)
                self._within[kind].setdefault(ends, channel.line)
            elif channel.kind == "net" and len(self._ranks.world) == self._ranks.nranks:
                self._unclear.add((channel.process, channel.direction))
        for process, edges in self._log.edges.items():
            for edge in edges:
                if not self._was_connected(process, edge):
                    continue
                ends = self._ranks.ends_of(process, edge.comm, (edge.source, edge.target))
                if ends and self._crosses(ends):
                    self._planned[ends].add(edge.number)
        return tuple(self._pair(ends, self._sides[ends]) for ends in sorted({*self._sides, *self._planned}))

    def _was_connected(self, process: Process, edge: Edge) -> bool:
        """Since 2.22 NCCL plans rings and trees at its start, and connects what the first collective needs. Before it
        said so, rings were always connected."""
        if not self._connected:
            return edge.kind == "ring"
        return (edge.comm, edge.kind) in self._connected or ("", edge.kind) in self._log.connected.get(process, ())

    def _staged_within(self) -> None:
        """Pairs of one host whose data leave the GPUs' memory on the way."""
        for kind, how in reasons["staged"].items():
            for (source, target), line in sorted(self._within.get(kind, {}).items())[:1]:
                said = {"source": source, "target": target, "host": self._ranks.host_of[source], "line": line.rstrip()}
                text = reason("staged_within_host", pairs=len(self._within[kind]), how=how, **said)
                self._problem("staged_within_host", text)

    def _pair(self, ends: tuple[int, int], sides: Mapping[str, Sequence[Channel]]) -> Pair:
        source, target = ends
        send = self._side("send", source, sides["send"])
        receive = self._side("receive", target, sides["receive"])
        together, version = self._ranks.on_each[self._ranks.host_of[source]], self._version
        may_stage = version is not None and version < _SEND_FROM_GPU_BY_DEFAULT and together > 1
        forced = self._log.environment.get("NCCL_NET_GDR_READ", ())
        if send.path == VIA_HOST and receive.path == GDRDMA and may_stage and not forced:
            text = reason("send_stages", reason=send.reason, version=".".join(map(str, version or ())))
            send = dataclasses.replace(send, path=RECEIVE_ONLY, reason=text)
        worst = min((send, receive), key=lambda side: ORDER.index(side.path))
        hosts = {"source_host": self._ranks.host_of[source], "target_host": self._ranks.host_of[target]}
        direction, host = ("send", "source_host") if worst is send else ("receive", "target_host")
        said = {"direction": direction, "host": hosts[host], "reason": worst.reason}
        text = reason("pair", source=source, target=target, **hosts, **said)
        return Pair(source, target, **hosts, send=send, receive=receive, verdict=worst.path, reason=text)

    def _side(self, direction: str, rank: int, channels: Sequence[Channel]) -> Side:
        lines: dict[str, int] = collections.Counter()
        first: dict[str, str] = {}
        for channel in channels:
            path = _path(channel)
            lines[path] += channel.count
            first.setdefault(path, channel.line)
        process = self._ranks.world[rank].process if rank in self._ranks.world else None
        devices = tuple(sorted({channel.device for channel in channels if channel.device is not None}))
        if not lines:
            if process is not None and TCP.search(self._network.get(process, "")):
                using = reason("using", network=self._network[process])
                return Side(SOCKETS, reason("side", line=using, why=why_tcp(self._log, process)), {})
            silent = "side_unclear" if process and (process, direction) in self._unclear else "no_side"
            return Side(UNKNOWN, reason(silent, direction=direction), {})
        path = min(lines, key=ORDER.index)
        said, asked = first[path], process or channels[0].process
        if path == SOCKETS:
            said = reason("side", line=said, why=why_tcp(self._log, asked))
        elif path == VIA_HOST:
            said = reason("side", line=said, why=self._why_staged(asked, devices, direction))
        elif path == UNKNOWN:
            said = reason("line_unknown", line=said)
        return Side(path, said.rstrip(), dict(lines), devices)

    # ------------------------------------------------------------------------------------------------------- the end

    def _problem(self, code: str, message: str) -> None:
        problem = Problem(code, message)
        if problem not in self._problems:
            self._problems.append(problem)

    def _done(self, verdict: str, why: str, pairs: tuple[Pair, ...]) -> PathVerdict:
        log, used = self._log, self._nics_in_use()
        hcas = tuple([hca for hca in log.hcas if hca.index in used.get(hca.host, ())] or log.hcas)
        if log.collnet:
            self._problem("collnet", reason("collnet", count=log.collnet))
        without = tuple(sorted({process.host or process.name for process, on in log.relaxed.items() if not on}))
        detoured = without and verdict in (GDRDMA, VIA_HOST)
        if verdict == NOT_ONE_JOB:
            self._problem(NOT_ONE_JOB, why)
        return PathVerdict(
            verdict=verdict,
            reason=why,
            pairs=pairs,
            **picked(self._ranks, "hosts", "nranks", "grouped"),
            rank_hosts=dict(sorted(self._ranks.host_of.items())),
            layers=tuple(sorted({hca.layer for hca in hcas})),
            networks=tuple(sorted({channel.network for channel in log.channels if channel.kind == "net"})),
            hcas=hcas,
            versions=tuple(log.versions),
            notes=(reason("relaxed_ordering_off", hosts=listed(without)),) if detoured else (),
            problems=tuple(self._problems),
            relaxed_ordering=log.relaxed_ordering,
            without_relaxed_ordering=without,
            settings={name: value for name in SETTINGS for value in [setting(log, name)] if value is not None},
            within={kind: len(found) for kind, found in sorted(self._within.items())},
        )


def _path(channel: Channel) -> str:
    if channel.kind != "net":
        return UNKNOWN
    if TCP.search(channel.network):
        return SOCKETS
    return GDRDMA if channel.gdr else VIA_HOST
