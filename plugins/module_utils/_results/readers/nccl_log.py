"""Read what NCCL prints with ``NCCL_DEBUG=INFO``: who took part, which network, which channel goes which way. Pure.

Only reading happens here; the judgement is in `path_verdict`. Shapes: NCCL 2.2 to 2.31, from the source of each
release (NVIDIA/nccl, tags) and from lines quoted in its public issues. Nothing anchors at the start of a line: NCCL's
prefix ``host:pid:tid [device] NCCL INFO`` is looked for wherever a line of NCCL begins, also behind another program's
text. What is kept grows with ranks and connections, never with the length of the log; a line of more than 64 KiB is
left out with a message (NCCL's own have at most 1023 characters).
"""

from __future__ import annotations

import collections
import dataclasses
import json
import re
from pathlib import Path
from typing import Any, Iterator, Sequence

from .nccl_facts import Channel, Edge, GdrLine, Hca, NcclLog, Process, Rank
from .reading import LogReader
from .tags import Line

_KEPT = 300  # characters of a line that are kept as evidence
_WARNINGS = 32  # different warnings that are kept; NCCL repeats one per request
_ENVIRONMENT_VALUES = 16  # different values per variable

_MARK = re.compile(r"(?P<word>NCCL )?(?P<level>INFO|WARN|TRACE) {1,40}(?=\S)")
_PREFIX_WINDOW = 400
_PREFIX = re.compile(
    r"(?P<host><[\w-]+>|[^\s:\[\]<>/()=,;.'\"]+):(?P<pid>\d+):(?P<tid>\d+) "
    r"(?:\[(?P<device>-?\d+)\] )?(?:\d+\.\d+ )?(?:[^\s:]+:\d+ )?(?:\([^\s()]*\) )?$"
)
# Another program that quotes a line of NCCL; a line of a container's log as JSON is the line itself.
_QUOTED = re.compile(r"[\"'`]\Z")
_JSON = re.compile(r'\s*\{"')
_VERSION = re.compile(r"NCCL version (?P<version>\d+\.\d+(?:\.\d+)?)")
_INIT = re.compile(
    r"\brank (?P<rank>\d+) nranks (?P<nranks>\d+) cudaDev (?P<device>\d+)(?: nvmlDev \d+)?(?: busId (?P<bus>\w+))?"
    r"(?P<rest>.*?) ?- (?P<state>Init START|Init COMPLETE|Abort COMPLETE)"
)
# Other lines that name a rank and how many there are; the topology line comes behind the first exchange of all ranks.
_SAID = re.compile(
    r"(?:(?:\[Rank \d+\] )?(?:\w+ )?comm 0x\w+|(?:Init )?timings(?: - \w+)?:) rank (?P<rank>\d+) "
    r"n[rR]anks (?P<nranks>\d+) (?:cudaDev (?P<device>\d+) |nNodes \d|total \d|P2p )"
)
_COMM_ID = re.compile(r"\bcommId (?P<id>0x[0-9a-f]+)")
_SPLIT = re.compile(r"\bparent (?P<parent>0x[0-9a-f]+)")
_CHANNEL = re.compile(
    r"(?:Channel|Ring) (?P<number>\d+(?:/\d+)?) : (?P<source>\d+)(?:\[[0-9a-fA-F]+\])? -> "
    r"(?P<target>\d+)(?:\[[0-9a-fA-F]+\])? (?:\[(?P<direction>send|receive)\] )?via (?P<via>\S.*)"
)
# The name of a network may hold blanks ("AWS Libfabric"); the number behind it is NCCL's index of the device.
_NET = re.compile(
    r"NET/(?P<network>[^/]+)/(?P<device>\d+)(?:\((?P<proxy>\d+)\))?"
    r"(?P<suffixes>(?:/[A-Za-z]\w*(?:\([A-Za-z0-9]+\))?(?:=\w+)?)*)"
)
# src/transport/net.cc: /GDRDMA, since 2.24 /GDRDMA(PCI) on systems with C2C; /Shared; since 2.31 /flush=NAME.
_GDR_SUFFIX = re.compile(r"GDRDMA(?:\(PCI\))?")
_SUFFIX = re.compile(r"GDRDMA(?:\(PCI\))?|Shared|flush=\w+")
_LOCAL = (
    ("P2P/MNNVL", "fabric"),
    ("P2P/", "p2p"),
    ("SHM/", "shm"),
    ("direct shared memory", "shm"),
)
_RING = re.compile(r"^Ring (?P<number>\d+) : (?P<before>-?\d+) -> (?P<rank>-?\d+) -> (?P<after>-?\d+)")
# Rank 0 prints the whole ring of a channel; every rank its place in the trees: children -> rank -> parent.
_WHOLE_RING = re.compile(r"^Channel (?P<number>\d+)(?:/\d+)? : +(?P<ranks>\d+(?: +\d+)+)\s*$")
_TREE = re.compile(r"\[(?P<number>\d+)\] (?P<down>-?\d+(?:/-?\d+)*)->(?P<rank>\d+)->(?P<up>-?\d+)(?:/-?\d+)*")
_BOOTSTRAP = re.compile(r"^Bootstrap ?: Using ?\[?\d*\]?(?P<name>[^\s:]+):(?P<address>[^\s<]+)")
_CONNECTED = (("Connected all rings", "ring"), ("Connected all trees", "tree"), ("Connected NVLS tree", "nvls"))
_NETWORK = re.compile(
    r"^(?:Using network (?P<name>\S.*?)|Using internal Network (?P<old>\S+)"
    r"|Assigned NET plugin (?P<new>\S.*?) to comm)\s*$"
)
_IB_USING = re.compile(r"^NET/IB ?: Using ?(?P<devices>.*?) ?(?:; OOB (?P<oob>\S+?)(?:<\d+>)?)?\s*$")
_IB_OLD = re.compile(r"^NET/IB: (?P<devices>\[\d+\] \S+:\d+/\w+.*)$")
_IB_DEVICE = re.compile(r"\[(?P<index>\d+)\] ?(?P<name>[A-Za-z][\w.+-]*):(?P<port>\d+)(?::\w+)*/(?P<layer>\w+)")
# 2.20 to 2.23: several ports are one device.
_IB_MERGED = re.compile(r"\[(?P<index>\d+)\]=\{(?P<parts>[^}]*)\}")
_IB_VIRTUAL = re.compile(r"^NET/IB ?: Made virtual device \[(?P<index>\d+)\] name=(?P<name>[A-Za-z][\w.+-]*)")
_SOCKET_USING = re.compile(r"^NET/Socket ?: Using ?(?P<interfaces>.*)$")
_SOCKET_INTERFACE = re.compile(r"\[\d+\](?P<name>[^\s:]+):(?P<address>[^\s<]+)")
_GDR_DEVICE = re.compile(
    r"^NET/(?P<network>[^:]+?) ?: GPU Direct RDMA (?P<state>Enabled|Disabled) for HCA (?P<index>\d+) '(?P<name>[^']*)'"
    r"(?: \((?P<why>[^)]*)\))?"
)
_GDR_PAIR = re.compile(
    r"^(?:NET/\S+ ?: )?GPU Direct RDMA (?P<state>Enabled|Disabled) for GPU (?P<gpu>\S+) / HCA (?P<hca>\w+)"
    r"(?: '[^']*')? \((?:distance (?P<distance>\d+) (?:<=|>=|<|>) (?P<limit>\d+)|(?P<why>[^)]*))\)"
    r"(?:, read (?P<read>\d))?"
)
_ENVIRONMENT = re.compile(r"^(?P<name>NCCL_[A-Z0-9_]+) set(?: by environment)? to (?P<value>.*?)\.?\s*$")
_COMPLETION = re.compile(
    r"Got completion (?:from peer (?P<peer>\S+) )?with (?:error (?P<error>\d+)|status=(?:[^\s(]*\()?(?P<status>\d+)\)?)"
    r".*?vendor[ _]err[ =](?P<vendor>\d+)"
)
_CALL = re.compile(r"Call to (?P<call>ibv_\w+) failed(?: with error (?P<error>.*))?")
_RINGS = re.compile(r"^Connected all rings(?:, use ring PXN (?P<pxn>\d) GDR (?P<gdr>\d))?")

# ibverbs' completion status and the vendor's syndrome -> what it means in this setting.
_COMPLETIONS = json.loads(Path(__file__).with_name("completions.json").read_text(encoding="utf-8"))


# What NCCL warns of when something went wrong, and not when it only advises (src/**: WARN of 2.18 to 2.30).
_FAILURE = re.compile(r"(?i)\b(?:(?:fail(?:ed|ure)|error|reset by peer|timed? ?out|closed by|no device found)\b|abort)")
_PORT_LOST = re.compile(r"Got async (?:fatal )?event ?: (?:port error|device fatal)")
# src/transport/net_ib/p2p_resiliency.cc (2.30): a NIC failed, and the connection went on over another one.
_FAILOVER = re.compile(
    r"^NET/IB ?: \w+: (?:Replacing QP: |The error is not fatal\. |Tracking a new failed send request )"
)
_SPEED_CHANGE = re.compile(r"^NET/IB ?: \S+ speed change detected: ")
_OPTIONAL = re.compile(r"(?i)plugin|not supported|topology|NUMA|iommu")

# Lines that a log of gigabytes consists of are known again by their bytes; see `Reader.quick`.
_QUICK_MARK = b" NCCL INFO "
_QUICK_NUMBER = re.compile(rb"Channel \d{1,6}(?:/\d{1,6})?")
_QUICK_CALL = re.compile(
    rb"[A-Z][A-Za-z]{2,30}: opCount [0-9a-z =\[\]]*"
)  # nothing in it can begin another line of NCCL
_QUICK_LIMIT = 4096  # lines and heads that are kept in mind
_QUICK_SHARE = 0.7  # of the lines have to be known, or the ordinary way is the quicker one
_QUICK_PAUSE = 8  # parts until it is tried again


@dataclasses.dataclass
class _Head:
    """What is known behind one prefix: how often each channel was seen (without its number), and other lines."""

    channels: dict[bytes, list[Any]] = dataclasses.field(default_factory=dict)
    lines: set[bytes] = dataclasses.field(default_factory=set)


@dataclasses.dataclass
class _Record:
    """One line of NCCL, out of its surroundings. ``ended``: its newline came."""

    process: Process
    tid: int | None
    level: str
    text: str
    ended: bool
    device: int = 0


class Reader(LogReader[NcclLog]):
    """``hosts``: names of the hosts that take part, if known: they tell a name from text that is glued to it."""

    wants = "line of NCCL"
    # TRACE lines and the version have NCCL's own word; before 2.4 INFO and WARN do not.
    needles = (b"INFO ", b"WARN ", b"NCCL ")

    def __init__(self, hosts: Sequence[str] = ()) -> None:
        super().__init__()
        self._given: set[str] = {name.split(".")[0] for name in hosts}
        self._hosts: dict[int, collections.Counter[str]] = {}  # pid -> names, one each but for broken lines
        self._lines = 0
        self._versions: dict[str, None] = {}
        self._ranks: dict[tuple[Process, int, int, str, int], Rank] = {}
        self._said: dict[tuple[Process, int | None], Rank] = {}  # what another line of a thread says of its rank
        self._current: dict[tuple[Process, int | None], str] = {}
        self._channels: dict[tuple[Any, ...], list[Any]] = {}
        self._networks: dict[Process, dict[str, None]] = collections.defaultdict(dict)
        self._hcas: dict[Hca, None] = {}
        self._relaxed: dict[Process, bool] = {}  # who named its NICs -> whether with [RO]
        self._sockets: dict[str, dict[str, None]] = collections.defaultdict(dict)
        self._no_ib: dict[Process, None] = {}
        self._gdr: dict[tuple[Any, ...], GdrLine] = {}
        self._dma_buf: dict[str, None] = {}
        self._environment: dict[str, dict[str, None]] = collections.defaultdict(dict)
        self._edges: dict[Process, dict[Edge, None]] = collections.defaultdict(dict)
        self._connected: dict[Process, dict[tuple[str, str], None]] = collections.defaultdict(dict)
        self._notes: dict[str, None] = {}
        self._summaries: dict[Process, tuple[int, int] | None] = {}
        self._collnet = 0
        self._warnings: dict[str, None] = {}
        self._complaints: dict[tuple[str, str], None] = {}
        self._heads: dict[bytes, _Head] = {}
        self._numbers: dict[bytes, str] = {}
        self._known = 0
        self._pause = 0
        self._taken: list[_Record] | None = None  # while a line is learnt: the records in it
        self._counted: list[Any] | None = None

    def result(self) -> NcclLog:
        """End of the output."""
        self.finish()
        # A line may be torn inside the version.
        whole = [each for each in self._versions if not any(o != each and o.startswith(each) for o in self._versions)]
        self._versions = dict.fromkeys(whole)
        if len(self._versions) > 1:
            self._problem("mixed_versions", "several NCCL versions in one job: " + ", ".join(self._versions))
        self._settle()
        if not self._lines:
            self.nothing()
        return NcclLog(
            lines=self._lines,
            versions=tuple(self._versions),
            hosts=tuple(sorted({self._host(name, pid, 0) for pid in self._hosts for name in [*self._hosts[pid]]})),
            ranks=tuple(
                sorted(self._ranks.values(), key=lambda rank: (-rank.nranks, rank.comm, rank.rank, rank.process.name))
            ),
            channels=tuple(Channel(*key, *[*seen[:2], tuple(sorted(seen[2]))]) for key, seen in self._channels.items()),
            networks={process: tuple(names) for process, names in self._networks.items()},
            hcas=tuple(self._hcas),
            relaxed_ordering=all(self._relaxed.values()) if self._relaxed else None,
            without_relaxed_ordering=tuple(process for process, used in self._relaxed.items() if not used),
            sockets={host: tuple(names) for host, names in self._sockets.items()},
            no_ib_device=tuple(self._no_ib),
            gdr=tuple(self._gdr.values()),
            dma_buf=tuple(self._dma_buf),
            environment={name: tuple(values) for name, values in self._environment.items()},
            edges={process: tuple(edges) for process, edges in self._edges.items()},
            connected={process: tuple(kinds) for process, kinds in self._connected.items()},
            notes=tuple(self._notes),
            summaries=dict(self._summaries),
            collnet=self._collnet,
            warnings=tuple(self._warnings),
            problems=self.problems.all(),
        )

    def _settle(self) -> None:
        """Give the processes whose first lines were glued to other text their real host."""
        for key in [key for key in self._channels if self._process(key[0]) != key[0]]:
            count, line, numbers = self._channels.pop(key)
            seen = self._channels.setdefault((self._process(key[0]), *key[1:]), [0, line, set()])
            seen[0] += count
            seen[2] |= numbers
        stated = {(self._process(rank.process), rank.rank, rank.nranks) for rank in self._ranks.values()}
        names = {(rank.nranks, rank.comm) for rank in self._ranks.values()}
        ranks = list(self._ranks.values())
        for thread, said in self._said.items():
            comms = [comm for nranks, comm in names if nranks == said.nranks]
            if thread not in self._current and (self._process(said.process), said.rank, said.nranks) not in stated:
                ranks.append(dataclasses.replace(said, comm=comms[0] if len(comms) == 1 else ""))
        ranks = [dataclasses.replace(rank, process=self._process(rank.process)) for rank in ranks]
        self._ranks = {}
        for rank in sorted(ranks, key=lambda rank: rank.complete):
            self._ranks[rank.process, rank.rank, rank.nranks, rank.comm, rank.device] = rank
        tables: tuple[dict[Process, Any], ...] = (self._networks, self._edges, self._connected)
        for table in tables:
            for process in [process for process in table if self._process(process) != process]:
                table[self._process(process)].update(table.pop(process))
        for process in [process for process in self._relaxed if self._process(process) != process]:
            used = self._relaxed.pop(process)
            self._relaxed[self._process(process)] = self._relaxed.get(self._process(process), False) or used

    # ------------------------------------------------------------------------------------------------ out of the text

    def line(self, line: Line) -> None:
        found = list(self._records(line))
        for record in found:
            self._lines += 1
            self._record(record)
        if self._taken is not None:
            self._taken += found
        if not found:
            version = _VERSION.search(line.text)
            if version:
                self._lines += 1
                self._versions.setdefault(version["version"])

    # ------------------------------------------------------------------------------------------- the usual line, again

    def quick(self, lines: bytes) -> None:
        """A line that was read before, but for the number of its channel, only counts; a call's line says nothing.

        Everything that a line of NCCL says is kept once, except for how often a channel was seen. So the same bytes
        again need no second reading, as long as no communicator begins in between (`_init` forgets all).
        """
        if self._pause:
            self._pause -= 1
            self.slow(lines)
            return
        heads, numbers = self._heads, self._numbers
        again = 0
        waiting = False
        rows = lines[:-1].split(b"\n")
        for raw in rows:
            if waiting:  # a line torn by another rank's tag: what follows may be its rest
                self.slow(raw + b"\n")
                waiting = not self.demultiplexer.idle
                continue
            head, _mark, tail = raw.partition(_QUICK_MARK)
            known = heads.get(head)
            if known is not None:
                if tail[:8] == b"Channel ":
                    number, _colon, rest = tail.partition(b" : ")
                    seen = known.channels.get(rest)
                    name = numbers.get(number)
                    if seen is not None and name is not None:
                        seen[0] += 1
                        seen[2].add(name)
                        again += 1
                        continue
                elif tail in known.lines or _QUICK_CALL.fullmatch(tail):
                    again += 1
                    continue
            self._learn(raw, head, tail)
            waiting = not self.demultiplexer.idle
        self._lines += again
        if again < _QUICK_SHARE * len(rows):
            self._pause = _QUICK_PAUSE

    def _learn(self, raw: bytes, head: bytes, tail: bytes) -> None:
        """Read one line, and remember it if it is of the usual shape: one record, alone in its line."""
        taken: list[_Record] = []
        self._taken, self._counted = taken, None
        self.slow(raw + b"\n")
        self._taken = None
        if len(taken) != 1 or not self.demultiplexer.idle or self._known >= _QUICK_LIMIT or b"\r" in raw:
            return
        (record,) = taken
        if record.process.host is None or record.level != "INFO" or record.text.encode() != tail.rstrip():
            return
        number, _colon, rest = tail.partition(b" : ")
        known = self._heads.setdefault(head, _Head())
        if self._counted is not None and _QUICK_NUMBER.fullmatch(number):
            known.channels[rest] = self._counted
            if number not in self._numbers:
                self._numbers[number] = number.decode().partition(" ")[2]
                self._known += 1
        elif " via " not in record.text and " nranks " not in record.text and not tail.startswith(b"Channel "):
            known.lines.add(tail)
        self._known += 1

    def _records(self, line: Line) -> Iterator[_Record]:
        text = line.text
        starts: list[tuple[int, int, Process, int | None, str, int]] = []
        previous = 0
        for mark in _MARK.finditer(text):
            window = text[max(previous, mark.start() - _PREFIX_WINDOW) : mark.start()]
            prefix = _PREFIX.search(window)
            if prefix is None or (not mark["word"] and prefix["device"] is None):
                # Without a prefix only NCCL's own word makes it a line of NCCL (quoted logs are often cut so).
                if mark["word"] and not window.rstrip().endswith(("'", '"')):
                    starts.append((mark.start(), mark.end(), Process(None, None, line.rank), None, mark["level"], 0))
                    previous = mark.end()
                continue
            if _QUOTED.search(window, 0, prefix.start()) and not _JSON.match(text):
                previous = mark.end()
                continue
            host = self._host(prefix["host"], int(prefix["pid"]))
            begin = mark.start() - (len(window) - prefix.start()) + max(0, len(prefix["host"]) - len(host))
            process = Process(host, int(prefix["pid"]), line.rank)
            level = prefix[0].partition(" ras/")[1] + mark["level"]  # NCCL goes on without its RAS
            starts.append((begin, mark.end(), process, int(prefix["tid"]), level, int(prefix["device"] or 0)))
            previous = mark.end()
        for index, (_begin, end, process, tid, level, device) in enumerate(starts):
            last = index + 1 == len(starts)
            body = text[end : None if last else starts[index + 1][0]]
            yield _Record(process, tid, level, body.rstrip(), line.ended or not last, device)

    def _host(self, text: str, pid: int, lines: int = 1) -> str:
        """The host in ``text``: of the names of this process, the one that most lines have.

        Another program's text may be glued in front of a name, and a name may have lost its beginning. NCCL cuts a
        host's name at its first dot, so none is in it.
        """
        if text in self._given:
            return text
        seen = self._hosts.setdefault(pid, collections.Counter())
        seen[text] += lines
        known = [name for name in {*self._given, *seen} if text.endswith(name) or name.endswith(text)]
        if not lines:  # all are known: a name that is rare may have lost letters anywhere
            known += [name for name in seen if 10 * seen[text] <= seen[name] and _is_within(text, name)]
        return max(known, key=lambda name: (name in self._given, seen[name], -len(name)))

    def _process(self, process: Process) -> Process:
        """The process again, now that all names are known: its first line may have been glued to other text."""
        if process.host is None or process.pid is None:
            return process
        return dataclasses.replace(process, host=self._host(process.host, process.pid, 0))

    # ------------------------------------------------------------------------------------------------------- one line

    def _record(self, record: _Record) -> None:
        text = record.text
        if record.level.endswith("WARN"):
            self._warning(record)
        if " via " in text and (self._channel(record) or "via COLLNET/" in text):
            return
        if (" nranks " in text or " nRanks " in text) and self._init(record):
            return
        if "GPU Direct RDMA" in text and self._gdr_line(record):
            return
        if text.startswith("NET/") and self._net(record):
            return
        self._rest(record)

    def _channel(self, record: _Record) -> bool:
        if "via COLLNET/" in record.text:
            self._collnet += 1
            return False
        match = _CHANNEL.search(record.text)
        if not match:
            return False
        via = match["via"]
        network, device, gdr, kind = "", None, False, "unknown"
        net = _NET.match(via)
        if net:
            # Text of another program may follow without a blank; what is not a whole word of NCCL stays unknown.
            suffixes = [part for part in net["suffixes"].split("/") if part]
            gdr = any(_GDR_SUFFIX.fullmatch(part) for part in suffixes)
            # A word that this reader does not know may name another path.
            readable = all(_SUFFIX.fullmatch(part) for part in suffixes)
            # "via NET/IB/1" may be the beginning of "via NET/IB/12/GDRDMA": without newline it proves nothing.
            cut = not gdr and (not record.ended or via[net.end() :].startswith("/"))
            if not readable or cut:
                self._problem("unreadable_channel", f"a channel line is cut or not known: {record.text[:_KEPT]!r}")
            else:
                kind, network, device = "net", net["network"], int(net["device"])
        else:
            kind = next((name for start, name in _LOCAL if via.startswith(start)), "unknown")
            if kind == "unknown":
                self._problem("unreadable_channel", f"a channel line is cut or not known: {record.text[:_KEPT]!r}")
        comm = self._current.get((record.process, record.tid), "")
        source, target = int(match["source"]), int(match["target"])
        key = (record.process, comm, source, target, match["direction"] or "", kind, network, device, gdr)
        seen = self._channels.setdefault(key, [0, record.text[:_KEPT], set()])
        seen[0] += 1
        seen[2].add(match["number"])
        if kind != "unknown":
            self._counted = seen
        return True

    def _init(self, record: _Record) -> bool:
        match = _INIT.search(record.text)
        if not match:
            said = _SAID.match(record.text)
            if said:
                rank, nranks = int(said["rank"]), int(said["nranks"])
                device = record.device if said["device"] is None else int(said["device"])
                named = Rank(record.process, rank, nranks, device, "", "", False)
                self._said.setdefault((record.process, record.tid), named)
            return said is not None
        found = _COMM_ID.search(match["rest"])
        comm = found["id"] if found else ""
        rank, nranks = int(match["rank"]), int(match["nranks"])
        if match["state"] == "Abort COMPLETE":
            self._problem("aborted", f"{record.process.name}: rank {rank} of {nranks} aborted its communicator")
            if any((each.process, each.rank) == (record.process, rank) for each in self._ranks.values()):
                return True
        key = (record.process, rank, nranks, comm, int(match["device"]))
        known = self._ranks.get(key)
        complete = match["state"] == "Init COMPLETE" or (known is not None and known.complete)
        split = bool(_SPLIT.search(match["rest"]))
        bus = match["bus"] or ""
        self._ranks[key] = Rank(record.process, rank, nranks, int(match["device"]), bus, comm, complete, split)
        self._current[record.process, record.tid] = comm
        self._heads.clear()
        return True

    def _gdr_line(self, record: _Record) -> bool:
        found = _GDR_DEVICE.match(record.text) or _GDR_PAIR.match(record.text)
        if not found:
            return False
        said = found.groupdict()
        distance, limit = (None if said.get(name) is None else int(said[name]) for name in ("distance", "limit"))
        read = None if said.get("read") is None else said["read"] == "1"
        hca, enabled = said.get("name") or said["hca"], said["state"] == "Enabled"
        line = GdrLine(record.process, enabled, said.get("gpu", ""), hca, distance, limit, read, record.text[:_KEPT])
        self._gdr.setdefault((line.process, line.gpu, line.hca, line.enabled, line.read), line)
        return True

    def _net(self, record: _Record) -> bool:
        text, host = record.text, record.process.host or ""
        using = _IB_USING.match(text) or _IB_OLD.match(text)
        if using:
            for merged in _IB_MERGED.finditer(using["devices"]):
                parts = list(_IB_DEVICE.finditer(merged["parts"]))
                for port, layer in [(int(part["port"]), part["layer"]) for part in parts][:1]:
                    name = "+".join(part["name"] for part in parts)
                    self._hcas.setdefault(Hca(host, int(merged["index"]), name, port, layer))
            for match in _IB_DEVICE.finditer(_IB_MERGED.sub("", using["devices"])):
                self._hcas.setdefault(Hca(host, int(match["index"]), match["name"], int(match["port"]), match["layer"]))
            self._relaxed[record.process] = self._relaxed.get(record.process, False) or "[RO]" in using["devices"]
            oob = using.groupdict().get("oob")
            if host and oob and ":" in oob:
                self._sockets[host].setdefault(" ".join(oob.split(":", 1)))
            return True
        virtual = _IB_VIRTUAL.match(text)
        if virtual:
            layers = {hca.layer for hca in self._hcas if hca.host == host}
            layer = layers.pop() if len(layers) == 1 else ""
            self._hcas.setdefault(Hca(host, int(virtual["index"]), virtual["name"], 1, layer))
            return True
        sockets = _SOCKET_USING.match(text)
        if sockets:
            for match in _SOCKET_INTERFACE.finditer(sockets["interfaces"]):
                self._sockets[host].setdefault(f"{match['name']} {match['address']}")
            return True
        if self._nic_changed(record):
            return True
        if re.match(r"NET/IB ?: No device found", text):
            self._no_ib.setdefault(record.process)
            return True
        return False

    def _nic_changed(self, record: _Record) -> bool:
        """What NCCL writes of a NIC while data moves."""
        said = f"{record.process.name}: {record.text[:_KEPT]}"
        if _PORT_LOST.search(record.text):
            self._problem("ib_async_event", said)
        elif _FAILOVER.match(record.text):
            self._problem("ib_failover", said)
        elif _SPEED_CHANGE.match(record.text):
            self._problem("ib_speed_change", said)
        else:
            return False
        return True

    def _rest(self, record: _Record) -> None:
        text = record.text
        network, environment = _NETWORK.match(text), _ENVIRONMENT.match(text)
        if network:
            name = network["name"] or network["old"] or network["new"]
            if record.ended or name in ("IB", "Socket"):
                self._networks[record.process].setdefault(name)
        elif environment:
            values = self._environment[environment["name"]]
            if len(values) < _ENVIRONMENT_VALUES:
                values.setdefault(environment["value"])
        elif text.startswith("DMA-BUF is available"):
            self._dma_buf.setdefault(record.process.host or "")
        elif not self._planned(record) and not self._was_connected(record):
            bootstrap, version = _BOOTSTRAP.match(text), _VERSION.search(text)
            if bootstrap and record.process.host:
                self._sockets[record.process.host].setdefault(f"{bootstrap['name']} {bootstrap['address']}")
            elif version:
                self._versions.setdefault(version["version"])

    def _planned(self, record: _Record) -> bool:
        """Neighbours in rings and trees."""
        text = record.text
        ring, whole = _RING.match(text), _WHOLE_RING.match(text)
        if ring:
            before, rank, after = int(ring["before"]), int(ring["rank"]), int(ring["after"])
            self._neighbours(record, "ring", ring["number"], [(before, rank), (rank, after)])
        elif whole and record.ended:
            around = [int(number) for number in whole["ranks"].split()]
            # NCCL cuts this line at its own buffer's end: only a ring of all ranks of the communicator is one.
            if len(around) == self._size(record) == len(set(around)):
                self._neighbours(record, "ring", whole["number"], list(zip(around, [*around[1:], around[0]])))
        elif text.startswith("Trees "):
            for tree in _TREE.finditer(text):
                rank = int(tree["rank"])
                beside = [int(number) for number in [*tree["down"].split("/"), tree["up"]]]
                pairs = [pair for other in beside for pair in ((other, rank), (rank, other))]
                self._neighbours(record, "tree", f"{int(tree['number']):02d}", pairs)
        else:
            return False
        return True

    def _was_connected(self, record: _Record) -> bool:
        if not record.text.startswith("Connected "):
            return False
        comm = self._current.get((record.process, record.tid), "")
        for words, kind in _CONNECTED:
            if record.text.startswith(words):
                self._connected[record.process].setdefault((comm, kind))
        rings = _RINGS.match(record.text)
        if rings:
            self._summaries[record.process] = None if rings["gdr"] is None else (int(rings["pxn"]), int(rings["gdr"]))
        return True

    def _warning(self, record: _Record) -> None:
        text = record.text
        who = record.process.name
        completion, call = _COMPLETION.search(text), _CALL.search(text)
        if completion:
            status = completion["error"] or completion["status"]
            code, meaning = _COMPLETIONS.get(status, ("completion_error", "see the status of ibv_wc_status"))
            peer = f" with peer {completion['peer']}" if completion["peer"] else ""
            self._problem(
                "ib_" + code, f"{who}: InfiniBand/RoCE error {status} (vendor {completion['vendor']}){peer}: {meaning}"
            )
        elif call:
            error = (call["error"] or "no reason given").strip()
            hint = (
                "; set NCCL_DMABUF_ENABLE=0 or update the NIC's driver" if call["call"] == "ibv_reg_dmabuf_mr" else ""
            )
            if call["call"] == "ibv_reg_mr":
                hint = "; check the limit of locked memory (ulimit -l) and the peer-memory module"
            self._problem("verbs_call_failed", f"{who}: {call['call']} failed: {error}{hint}")
        elif re.search(r"async (?:fatal )?event", text):
            self._problem("ib_async_event", f"{who}: {text[:_KEPT]}")
        elif re.search(r"network \S* ?not found|Failed to initialize (?:any )?NET", text, re.IGNORECASE):
            self._problem("network_refused", f"{who}: no network of the wanted kind could be used: {text[:_KEPT]}")
        elif re.search(r"Mismatched NCCL version|NCCL version mismatch", text):
            self._problem("mixed_versions", f"{who}: {text[:_KEPT]}")
        elif _FAILURE.search(text) and not _OPTIONAL.search(text) and record.level == "WARN":
            self._problem("nccl_failure", f"{who}: {text[:_KEPT]}")
        if len(self._warnings) < _WARNINGS:
            self._warnings.setdefault(f"{who}: {text[:_KEPT]}")

    def _size(self, record: _Record) -> int | None:
        """Ranks of the communicator that this thread is setting up."""
        comm = self._current.get((record.process, record.tid))
        return next((rank.nranks for rank in self._ranks.values() if rank.comm == comm), None)

    def _neighbours(self, record: _Record, kind: str, number: str, pairs: Sequence[tuple[int, int]]) -> None:
        comm = self._current.get((record.process, record.tid), "")
        for source, target in pairs:
            if min(source, target) >= 0 and source != target:
                self._edges[record.process].setdefault(Edge(kind, number, comm, source, target))

    def _note(self, text: str) -> None:
        if len(self._notes) < _WARNINGS:
            self._notes.setdefault(text)

    def _problem(self, code: str, message: str) -> None:
        # Each once: NCCL repeats an error for every request that it fails.
        if (code, message) in self._complaints or sum(known == code for known, _text in self._complaints) >= _WARNINGS:
            return
        self._complaints[code, message] = None
        self.problems.add(code, message)


read = Reader.read


def _is_within(text: str, name: str) -> bool:
    """Whether the letters of ``text`` are in ``name`` in their order, the first and the last one at its ends."""
    letters = iter(name)
    return text[:1] == name[:1] and text[-1:] == name[-1:] and all(letter in letters for letter in text)
