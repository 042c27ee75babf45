"""Read what NCCL prints with ``NCCL_DEBUG=INFO``: who took part, which network, which channel goes which way. Pure.

Only reading happens here; the judgement is in `path_verdict`, the shapes of the lines are in nccl_log.yml. Nothing
anchors at the start of a line: NCCL's prefix ``host:pid:tid [device] NCCL INFO`` is looked for wherever a line of NCCL
begins, also behind another program's text. What is kept grows with ranks and connections, never with the length of the
log; a line of more than 64 KiB is left out with a message (NCCL's own have at most 1023 characters).
"""

from __future__ import annotations

import collections
import dataclasses
import re
from typing import Any, Iterator, Sequence

from .census import DEATHS
from .nccl_facts import Channel, Edge, GdrLine, Hca, NcclLog, Process, Rank
from .reading import LogReader, Problem, names
from .tables import Patterns
from .tags import Line

_KEPT = 300  # characters of a line that are kept as evidence
_WARNINGS = 32  # different warnings that are kept; NCCL repeats one per request
_COMPLAINTS = 4096  # different problems of a kind that are counted
_ENVIRONMENT_VALUES = 16  # different values per variable
_PREFIX_WINDOW = 400

LINES = Patterns("nccl_log.yml")

# Lines that a log of gigabytes consists of are known again by their bytes; see `Reader.quick`.
_QUICK_MARK = b" NCCL INFO "
# A channel, or a call, in which no other line of NCCL can begin.
_QUICK = re.compile(
    rb"Channel (?P<number>\d{1,6}(?:/\d{1,6})?)(?P<rest> : .*)|[A-Z][A-Za-z]{2,30}: opCount [0-9a-z =\[\]]*"
)
_QUICK_LIMIT = 4096  # lines that are kept in mind


@dataclasses.dataclass
class _Record:
    """One line of NCCL, out of its surroundings. ``ended``: its newline came."""

    process: Process
    tid: int | None
    level: str
    device: int = 0
    text: str = ""
    ended: bool = True


class Reader(LogReader[NcclLog]):
    """``hosts``: names of the hosts that take part, if known: they tell a name from text that is glued to it."""

    name = "nccl_log"
    wants = "line of NCCL"
    # TRACE lines and the version have NCCL's own word; before 2.4 INFO and WARN do not.
    needles = (
        b"INFO ",
        b"WARN ",
        b"NCCL ",
        b"RCCL version",
        b"WorkNCCL(",
        b"last completed work: ",
        *(word.encode() for word in DEATHS),
    )

    def __init__(self, hosts: Sequence[str] = ()) -> None:
        super().__init__()
        self._log = NcclLog()
        self._given: set[str] = {name.split(".")[0] for name in hosts}
        self._hosts: dict[int, collections.Counter[str]] = {}  # pid -> names, one each but for broken lines
        self._tags: dict[int, Process] = {}
        self._ranks: dict[tuple[Process, int, int, str, int], Rank] = {}
        self._said: dict[tuple[Process, int | None], Rank] = {}  # what another line of a thread says of its rank
        self._current: dict[tuple[Process, int | None], str] = {}
        self._planning: dict[tuple[Process, int | None], int] = {}  # thread -> rank for which it plans trees
        self._comms: dict[tuple[Process, str | None], str] = {}  # address of a communicator -> what it is called
        self._channels: dict[tuple[Any, ...], Channel] = {}
        self._complaints: set[Problem] = set()
        # Prefix and what is behind the number of a channel -> the channel; of a call: None and None.
        self._usual: dict[tuple[bytes, bytes | None], Channel | None] = {}
        self._last: _Record | None = None
        self._counted: Channel | None = None
        self._stuck: dict[tuple[str, int], dict[int, float]] = {}  # call and its number -> rank -> seconds
        self._done: dict[int, int] = {}  # rank -> number of the last call that it completed
        self._aborted: dict[int, dict[int, str]] = {}  # size of the communicator -> rank -> process
        # What NCCL may go on after, until the log shows it: process and shape of that line, or its thread -> lines
        self._unsettled: dict[tuple[Process, str | int | None], dict[str, None]] = {}
        # Communicators that went on without SHARP: all ranks decide it together, and one of each host says so.
        self._to_point: set[str] = set()
        self._collnet: collections.Counter[str] = collections.Counter()  # communicator -> channels over SHARP
        self._got_over: dict[tuple[Process, str], None] = {}  # lines that are none if it did

    def found(self) -> NcclLog:
        log, versions = self._log, self._log.versions
        # A line may be torn inside the version.
        torn = {each for each in versions if any(other != each and other.startswith(each) for other in versions)}
        log.versions = {each: None for each in versions if each not in torn}
        if len(log.versions) > 1:
            self._problem("mixed_versions", versions=", ".join(log.versions))
        self._settle()
        # NVIDIA's plugin (IBext) did not always print [RO] where it uses it, NCCL's own transport does.
        plugin = {process for process, names in log.networks.items() if any(name.startswith("IBext") for name in names)}
        log.relaxed = {process: on for process, on in log.relaxed.items() if on or process not in plugin}
        self._layers()
        self._timeouts()
        log.collnet = sum(count for comm, count in self._collnet.items() if comm not in self._to_point)
        over = {"point_to_point"} if self._to_point else set()
        left = [(who, text) for (who, until), texts in self._unsettled.items() if until not in over for text in texts]
        for process, text in [*left, *(() if self._to_point else self._got_over)]:
            self._problem("nccl_failure", process=self._process(process).name, line=text)
        for said in dict.fromkeys((*self.deaths, *self.census.ends())) if log.lines else ():
            self._problem("nccl_failure", process="the job", line=said)
        for nranks, ranks in self._aborted.items():
            # Up to 2.5 PyTorch ends every group so (pull request 141510); a rank that gives up does it alone. Of the
            # ranks on other hosts the log may say nothing.
            heard = {(rank.rank, rank.complete) for rank in self._ranks.values() if rank.nranks == nranks}
            in_order = len(ranks) == nranks or heard == {(rank, True) for rank in ranks}
            for rank, name in () if in_order else ranks.items():
                self._problem("aborted", process=name, rank=rank, nranks=nranks)
        self._unfinished()
        if not log.lines and not log.timeouts:
            self.nothing()
        log.tagged = {rank: str(self._process(process).host) for rank, process in self._tags.items()}
        for channel in self._channels.values():  # most of their lines went the quick way
            if channel.process.host is not None and channel.process.pid in self._hosts:
                self._hosts[channel.process.pid][channel.process.host] += channel.count
        log.hosts = tuple(sorted({self._host(name, pid, 0) for pid in self._hosts for name in [*self._hosts[pid]]}))
        log.ranks = tuple(
            sorted(self._ranks.values(), key=lambda rank: (-rank.nranks, rank.comm, rank.rank, rank.process.name))
        )
        log.channels = tuple(self._channels.values())
        log.problems = self.problems.all()
        return log

    def _timeouts(self) -> None:
        for (call, number), ranks in self._stuck.items():
            # What is larger than the call that hangs was never filled in.
            done = [self._done[rank] for rank in ranks if rank in self._done and not 0 < number <= self._done[rank]]
            last = min(done, default=None)
            waited, who = max(ranks.values()), sorted(ranks)
            said = {"call": call, "number": number, "seconds": waited, "ranks": names(who)}
            self._log.timeouts.append({**said, "ranks": who, "completed": last})
            self._problem("collective_timeout", completed={None: "not said", -1: "none"}.get(last, last), **said)

    def _settle(self) -> None:
        """Give the processes whose first lines were glued to other text their real host."""
        for key in [key for key in self._channels if self._process(key[0]) != key[0]]:
            glued, process = self._channels.pop(key), self._process(key[0])
            whole = dataclasses.replace(glued, process=process, count=0)
            channel = self._channels.setdefault((process, *key[1:]), whole)
            channel.count += glued.count
            channel.numbers |= glued.numbers
        stated = {(self._process(rank.process), rank.rank, rank.nranks) for rank in self._ranks.values()}
        comms_of = {(rank.nranks, rank.comm) for rank in self._ranks.values()}
        ranks = list(self._ranks.values())
        for thread, said in self._said.items():
            comms = [comm for nranks, comm in comms_of if nranks == said.nranks]
            if thread not in self._current and (self._process(said.process), said.rank, said.nranks) not in stated:
                ranks.append(dataclasses.replace(said, comm=comms[0] if len(comms) == 1 else ""))
        ranks = [dataclasses.replace(rank, process=self._process(rank.process)) for rank in ranks]
        self._ranks = {}
        for rank in sorted(ranks, key=lambda rank: rank.complete):
            self._ranks[rank.process, rank.rank, rank.nranks, rank.comm, rank.device] = rank
        tables: tuple[dict[Process, Any], ...] = (self._log.networks, self._log.edges, self._log.connected)
        for table in tables:
            for process in [process for process in table if self._process(process) != process]:
                table[self._process(process)].update(table.pop(process))
        relaxed = self._log.relaxed
        for process in [*relaxed]:
            relaxed[self._process(process)] = relaxed.get(self._process(process), False) | relaxed.pop(process)

    def _layers(self) -> None:
        """Virtual devices (2.24 and later) have the link layer of their parts: NCCL makes none of two (net_ib.cc)."""
        real = [hca for hca in self._log.hcas if hca.layer]
        layers: dict[tuple[str, str], set[str]] = collections.defaultdict(set)
        for hca in real:
            layers[hca.host, hca.name].add(hca.layer)
        named = {(hca.host, hca.index, hca.name) for hca in real}
        found = []
        for hca in self._log.hcas:
            if hca.layer:
                found.append(hca)
            elif (hca.host, hca.index, hca.name) not in named:
                of_parts = set().union(*(layers[hca.host, part] for part in hca.name.split("+")))
                found.append(dataclasses.replace(hca, layer=of_parts.pop() if len(of_parts) == 1 else ""))
        self._log.hcas = dict.fromkeys(found)

    def _unfinished(self) -> None:
        """Ranks that neither finished nor aborted. A line that lost its prefix may be the missing one."""
        ranks = self._ranks.values()
        torn = {(rank.nranks, rank.rank) for rank in ranks if rank.complete and rank.process.host is None}
        left = {(rank.nranks, rank.rank) for rank in ranks if not rank.complete}
        # Before 2.17 no line says that a communicator begins.
        begun = set(self._planning.values()).difference(rank for _size, rank in torn) if ranks else set()
        numbers = sorted(begun.union(rank for size, rank in left - torn if rank not in self._aborted.get(size, ())))
        if numbers:
            self._problem("unfinished", ranks=names(numbers))
        if self._log.lines and not ranks and not self._complaints:
            self._problem("unfinished/no_rank")

    # ------------------------------------------------------------------------------------------------ out of the text

    def line(self, line: Line) -> None:
        found = list(self._records(line))
        for record in found:
            self._log.lines += 1
            self._last = record
            self._record(record)
        for said in LINES["wait_watchdog"].finditer(line.text):
            key = said["what"], int(said["number"] or 0)
            if key in self._stuck or len(self._stuck) < _ENVIRONMENT_VALUES:
                self._stuck.setdefault(key, {}).setdefault(int(said["who"] or said["rank"]), int(said["ms"]) / 1000)
        for said in LINES["work_done"].finditer(line.text) if "last completed" in line.text else ():
            self._done.setdefault(int(said["who"] or said["rank"]), int(said["number"]))
        if not found and (version := LINES["version"].search(line.text)):
            self._log.lines += 1
            self._log.versions.setdefault(_release(version))

    # ------------------------------------------------------------------------------------------- the usual line, again

    def quick(self, lines: bytes) -> None:
        """A line that was read before, but for the number of its channel, only counts; a call's line says nothing.

        Everything that a line of NCCL says is kept once, except for how often a channel was seen. So the same bytes
        again need no second reading, as long as no communicator begins in between (`_init` forgets all).
        """
        others: list[bytes] = []  # lines of another shape, which are read together
        for raw in lines[:-1].split(b"\n"):
            head, _mark, tail = raw.partition(_QUICK_MARK)
            if not (usual := _QUICK.fullmatch(tail)):
                others.append(raw)
                continue
            if others:
                self.slow(b"\n".join([*others, b""]))
                others = []
            idle = self.demultiplexer.idle  # else a line was torn by another rank's tag: this may be its rest
            if idle and (head, usual["rest"]) in self._usual:
                self._log.lines += 1
                if channel := self._usual[head, usual["rest"]]:
                    channel.count += 1
                    channel.numbers.add(usual["number"].decode())
                continue
            before, self._last, self._counted = self._log.lines, None, None
            self.slow(raw + b"\n")
            if idle and self.demultiplexer.idle and self._log.lines == before + 1 and self._is_usual(raw, tail):
                self._usual[head, usual["rest"]] = self._counted
        if others:
            self.slow(b"\n".join([*others, b""]))

    def _is_usual(self, raw: bytes, tail: bytes) -> bool:
        """Whether the line that was read is one whole record of a known channel or of a call, alone in its line."""
        last = self._last
        if last is None or last.process.host is None or last.level != "INFO" or last.text.encode() != tail.rstrip():
            return False
        known = self._counted is not None or not tail.startswith(b"Channel ")
        return known and b"\r" not in raw and len(self._usual) < _QUICK_LIMIT

    def _records(self, line: Line) -> Iterator[_Record]:
        text, previous = line.text, 0
        begun: list[tuple[int, int, _Record]] = []  # where it begins, where its text does
        for mark in LINES["mark"].finditer(text):
            window = text[max(previous, mark.start() - _PREFIX_WINDOW) : mark.start()]
            prefix = LINES["prefix"].search(window)
            begin, record = mark.start(), _Record(Process(None, None, line.rank), None, mark["level"])
            if prefix is None or (not mark["word"] and prefix["device"] is None):
                # Without a prefix only NCCL's own word makes it a line of NCCL (quoted logs are often cut so).
                if not mark["word"] or window.rstrip().endswith(("'", '"', "`")):
                    continue
            elif LINES["quoted"].search(window, 0, prefix.start()) and not LINES["json"].match(text):
                previous = mark.end()
                continue
            else:
                host = self._host(prefix["host"], int(prefix["pid"]))
                begin -= len(window) - prefix.start() - max(0, len(prefix["host"]) - len(host))
                process = Process(host, int(prefix["pid"]), line.rank)
                if line.rank is not None:
                    self._tags.setdefault(line.rank, process)
                level = prefix[0].partition(" ras/")[1] + mark["level"]  # NCCL goes on without its RAS
                record = _Record(process, int(prefix["tid"]), level, int(prefix["device"] or 0))
            begun.append((begin, mark.end(), record))
            previous = mark.end()
        ends = [begin for begin, _start, _record in begun[1:]]
        for (_begin, start, record), end in zip(begun, [*ends, None]):
            said = text[start:end]
            if "[repeated " in said or "\x1b" in said:
                said = LINES["behind"].sub("", said)
            record.text, record.ended = said.rstrip(), line.ended or end is not None
            yield record

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
        if self._unsettled:
            self._went_on(record)
        if record.level.endswith("WARN"):
            self._warning(record)
        elif " -> " in text and LINES["passed_on"].search(text):
            self._wait_for(record, record.tid)
        elif " retrying" in text and LINES["refused"].search(text):
            self._wait_for(record, "started")
        if " via " in text and self._channel(record):
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
            self._collnet[self._comm(record)] += 1
            return True
        if not (match := LINES["channel"].search(record.text)):
            return False
        via = match["via"]
        kind, network, device, gdr = "unknown", "", None, False
        if net := LINES["net"].match(via):
            # Text of another program may follow without a blank; what is not a whole word of NCCL stays unknown.
            suffixes = [part for part in net["suffixes"].split("/") if part]
            gdr = any(LINES["gdr_suffix"].fullmatch(part) for part in suffixes)
            # A word that this reader does not know may name another path.
            readable = all(LINES["suffix"].fullmatch(part) for part in suffixes)
            # "via NET/IB/1" may be the beginning of "via NET/IB/12/GDRDMA": without newline it proves nothing.
            cut = not gdr and (not record.ended or via[net.end() :].startswith("/"))
            if readable and not cut:
                kind, network, device = "net", net["network"], int(net["device"])
        elif local := LINES["local"].match(via):
            kind = str(local.lastgroup)
        if kind == "unknown":
            self._problem("unreadable_channel", line=record.text[:_KEPT])
        comm = self._comm(record)
        source, target = int(match["source"]), int(match["target"])
        gpus = match["source_gpu"] or "", match["target_gpu"] or ""
        if (of := LINES["channel_of"].search(via)) and (record.ended or of.end() < len(via)):
            comm = self._comms.get((record.process, of["at"]), comm)
            own = target if match["direction"] == "receive" else source
            self._say(record, Rank(record.process, own, int(of["nranks"]), record.device, "", "", False))
        key = (record.process, comm, source, target, match["direction"] or "", kind, network, device, gdr, gpus)
        channel = self._channels.get(key)
        if channel is None:
            channel = self._channels[key] = Channel(*key, line=record.text[:_KEPT])
        channel.count += 1
        channel.numbers.add(match["number"])
        if kind != "unknown":
            self._counted = channel
        return True

    def _init(self, record: _Record) -> bool:
        match = LINES["init"].search(record.text)
        if not match:
            if said := LINES["said"].match(record.text):
                rank, nranks = int(said["rank"]), int(said["nranks"])
                device = record.device if said["device"] is None else int(said["device"])
                if record.ended or said.end() < len(record.text):
                    self._say(record, Rank(record.process, rank, nranks, device, "", "", bool(said["done"])))
            return said is not None
        found, split = LINES["comm_id"].search(match["rest"]), LINES["split"].search(record.text)
        begun = "" if match["state"] == "Init START" else self._comms.get((record.process, match["at"]), "")
        comm = found["id"] if found else begun
        if split and not comm:  # since 2.23 NCCL prints whose part it is, at its start and at its end
            comm = f"{self._comms.get((record.process, split['parent']), '')}/{split['count']}/{split['color']}"
        self._comms[record.process, match["at"]] = comm
        rank, nranks, device = int(match["rank"]), int(match["nranks"]), int(match["device"])
        if match["state"] == "Abort COMPLETE":
            self._aborted.setdefault(nranks, {}).setdefault(rank, record.process.name)
            if any((each.process, each.rank) == (record.process, rank) for each in self._ranks.values()):
                return True
        key = (record.process, rank, nranks, comm, device)
        known = self._ranks.get(key)
        complete = match["state"] == "Init COMPLETE" or (known is not None and known.complete)
        nvml = None if match["nvml"] is None else int(match["nvml"])
        bus = match["bus"] or ""
        self._ranks[key] = Rank(record.process, rank, nranks, device, bus, comm, complete, bool(split), nvml)
        thread = record.process, record.tid
        if complete:
            self._planning.pop(thread, None)
            self._got_over.update({(record.process, text): None for text in self._unsettled.pop(thread, ())})
        self._current[thread] = comm
        self._usual.clear()
        return True

    def _say(self, record: _Record, rank: Rank) -> None:
        """What a line that begins no communicator tells of the thread's rank."""
        known = self._said.get((record.process, record.tid))
        if known is None or rank.complete:
            self._said[record.process, record.tid] = rank

    def _gdr_line(self, record: _Record) -> bool:
        if not (said := LINES["gdr"].match(record.text)):
            return False
        distance, limit = (None if said[name] is None else int(said[name]) for name in ("distance", "limit"))
        hca, enabled = said["name"] or said["hca"], said["state"] == "Enabled"
        line = GdrLine(record.process, enabled, said["gpu"] or "", hca, distance, limit, record.text[:_KEPT])
        self._log.gdr.setdefault(line)
        return True

    def _net(self, record: _Record) -> bool:
        text, host = record.text, record.process.host or ""
        if using := LINES["ib_using"].match(text):
            self._ib(record.process, using["devices"])
            if host and ":" in (using["oob"] or ""):
                self._log.sockets[host].setdefault(using["oob"].replace(":", " ", 1))
        elif virtual := LINES["ib_virtual"].match(text):
            self._log.hcas.setdefault(Hca(host, int(virtual["index"]), virtual["name"], 1, ""))
        elif sockets := LINES["socket_using"].match(text):
            for match in LINES["socket_interface"].finditer(sockets["interfaces"]):
                self._log.sockets[host].setdefault(f"{match['name']} {match['address']}")
        elif not self._complain(record, "nic_changed"):
            if not LINES["ib_none"].match(text):
                return False
            self._log.no_ib_device.setdefault(record.process)
        return True

    def _ib(self, process: Process, devices: str) -> None:
        """The NICs that NCCL uses."""
        host, hcas = process.host or "", self._log.hcas
        for merged in LINES["ib_merged"].finditer(devices):
            parts = list(LINES["ib_device"].finditer(merged["parts"]))
            for first in parts[:1]:
                name = "+".join(part["name"] for part in parts)
                hcas.setdefault(Hca(host, int(merged["index"]), name, int(first["port"]), first["layer"]))
        for match in LINES["ib_device"].finditer(LINES["ib_merged"].sub("", devices)):
            hcas.setdefault(Hca(host, int(match["index"]), match["name"], int(match["port"]), match["layer"]))
        if LINES["ib_device"].search(devices):
            self._log.relaxed[process] = self._log.relaxed.get(process, False) or "[RO]" in devices

    def _rest(self, record: _Record) -> None:
        text, log = record.text, self._log
        if network := LINES["network"].match(text):
            name = network["name"] or network["old"] or network["new"]
            if record.ended or name in ("IB", "Socket"):
                log.networks[record.process].setdefault(name)
        elif environment := LINES["environment"].match(text):
            values = log.environment[environment["name"]]
            if len(values) < _ENVIRONMENT_VALUES:
                values.setdefault(environment["value"])
        elif (bootstrap := LINES["bootstrap"].match(text)) and record.process.host:
            log.sockets[record.process.host].setdefault(f"{bootstrap['name']} {bootstrap['address']}")
        elif version := LINES["version"].search(text):
            log.versions.setdefault(_release(version))
        else:
            self._planned(record)

    def _planned(self, record: _Record) -> None:
        """Neighbours in rings and trees, and that they are connected."""
        text, log = record.text, self._log
        if ring := LINES["ring"].match(text):
            before, rank, after = int(ring["before"]), int(ring["rank"]), int(ring["after"])
            self._neighbours(record, "ring", ring["number"], [(before, rank), (rank, after)])
        elif (whole := LINES["whole_ring"].match(text)) and record.ended:
            around = [int(number) for number in whole["ranks"].split()]
            # NCCL cuts this line at its own buffer's end: only a ring of all ranks of the communicator is one.
            if len(around) == self._size(record) == len(set(around)):
                self._neighbours(record, "ring", whole["number"], list(zip(around, [*around[1:], around[0]])))
        elif text.startswith("Trees "):
            for tree in LINES["tree"].finditer(text):
                rank = self._planning[record.process, record.tid] = int(tree["rank"])
                beside = [int(number) for number in [*tree["down"].split("/"), tree["up"]]]
                pairs = [pair for other in beside for pair in ((other, rank), (rank, other))]
                self._neighbours(record, "tree", f"{int(tree['number']):02d}", pairs)
        elif connected := LINES["connected"].match(text):
            log.connected[record.process].setdefault((self._comm(record), str(connected.lastgroup)))
            if rings := LINES["summary"].match(text):
                log.summaries[record.process] = rings["gdr"]

    def _warning(self, record: _Record) -> None:
        text, process = record.text, record.process.name
        if completion := LINES["completion"].search(text):
            status = completion["error"] or completion["status"]
            peer = f" with peer {completion['peer']}" if completion["peer"] else ""
            said = {"status": status, "vendor": completion["vendor"], "peer": peer}
            self._problem(LINES.table["completions"].get(status, "ib_completion_error"), process=process, **said)
        elif call := LINES["call"].search(text):
            error, hint = (call["error"] or "no reason given").strip(), LINES.table["hints"].get(call["call"], "")
            self._problem("verbs_call_failed", process=process, call=call["call"], error=error, hint=hint)
        elif LINES["point_to_point"].search(text):
            self._to_point.add(self._comm(record))
        elif until := next((line for shape, line in LINES.table["went_on"].items() if LINES[shape].search(text)), None):
            self._wait_for(record, until)
        elif not self._complain(record, "warned") and record.level == "WARN" and not LINES["optional"].search(text):
            self._complain(record, "failed")
        if len(self._log.warnings) < _WARNINGS:
            self._log.warnings.setdefault(f"{process}: {text[:_KEPT]}")

    def _went_on(self, record: _Record) -> None:
        """Take back what the process has got over with this line."""
        for until in LINES.table["went_on"].values():
            if (record.process, until) in self._unsettled and LINES[until].search(record.text):
                del self._unsettled[record.process, until]

    def _wait_for(self, record: _Record, until: str | int | None) -> None:
        lines = self._unsettled.setdefault((record.process, until), {})
        if len(lines) < _WARNINGS:
            lines.setdefault(record.text[:_KEPT])

    def _comm(self, record: _Record) -> str:
        """The communicator that this thread is setting up; empty if it has no name."""
        return self._current.get((record.process, record.tid), "")

    def _size(self, record: _Record) -> int | None:
        """Its ranks."""
        comm = self._current.get((record.process, record.tid))
        return next((rank.nranks for rank in self._ranks.values() if rank.comm == comm), None)

    def _neighbours(self, record: _Record, kind: str, number: str, pairs: Sequence[tuple[int, int]]) -> None:
        for source, target in pairs:
            if min(source, target) >= 0 and source != target:
                self._log.edges[record.process].setdefault(Edge(kind, number, self._comm(record), source, target))

    def _complain(self, record: _Record, shapes: str) -> bool:
        """Whether the line has one of these shapes, each of which is a problem."""
        name = next((name for shape, name in LINES.table[shapes].items() if LINES[shape].search(record.text)), None)
        if name is not None:
            self._problem(name, process=record.process.name, line=record.text[:_KEPT])
        return name is not None

    def _problem(self, name: str, **words: Any) -> None:
        # Each once: NCCL repeats an error for every request that it fails.
        problem = self.problems.worded(name, **words)
        if problem not in self._complaints and self.problems.counts[problem.code] < _COMPLAINTS:
            self._complaints.add(problem)
            self.problems.put(problem)


read = Reader.read


def _release(version: re.Match[str]) -> str:
    return ("RCCL " if version["maker"] == "R" else "") + version["version"]


def _is_within(text: str, name: str) -> bool:
    """Whether the letters of ``text`` are in ``name`` in their order, the first and the last one at its ends."""
    letters = iter(name)
    return text[:1] == name[:1] and text[-1:] == name[-1:] and all(letter in letters for letter in text)
