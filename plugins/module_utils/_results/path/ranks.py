"""Which process of a NCCL log is which rank of the job, and on which host. Pure.

Groups that hold a part of the job each (tensor by data parallel) are one job if their members connect all ranks.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import operator
from typing import Mapping, Sequence

from ..readers.nccl_facts import Channel, NcclLog, Process, Rank
from ..readers.reading import Problem, short
from .reasons import reason


class Ranks:
    """``nranks``: size of the largest communicator, None if NCCL did not say; ``world``: number -> rank of the whole
    job; ``maps``: (commId, size) -> rank -> who it is; ``shared``: those that are several groups, of which
    NCCL says no more than the size (no commId before 2.16); ``grouped``: no communicator holds all ranks; ``torn``:
    ranks with a line that lost its prefix; ``host_of``: number -> host; ``wanted``: how many were started.
    """

    def __init__(self, log: NcclLog, wanted: int | None, hosts: Sequence[str] | None) -> None:
        self._log = log
        self.wanted = wanted
        self.wanted_hosts = tuple(dict.fromkeys(self._named(short(host)) for host in hosts or ()))
        self.problems: list[Problem] = []
        # Communicators that were made by splitting another one may hold a part of the job; the others may not.
        self.whole = [rank for rank in log.ranks if not rank.split] or list(log.ranks)
        self.nranks = max((rank.nranks for rank in self.whole), default=None)
        # A line whose prefix is torn is of no other process.
        named = [rank for rank in self.whole if rank.process.host is not None]
        self.torn = sorted({rank.rank for rank in self.whole if rank.process.host is None}) if named else []
        self.whole = named or self.whole
        self.world = {rank.rank: rank for rank in self.whole if rank.nranks == self.nranks}
        self.maps: dict[tuple[str, int], dict[int, Rank]] = collections.defaultdict(dict)
        self.shared: set[tuple[str, int]] = set()
        for rank in log.ranks:
            members = self.maps[rank.comm, rank.nranks]
            if members.setdefault(rank.rank, rank).process != rank.process:
                self.shared.add((rank.comm, rank.nranks))
            members[rank.rank] = rank
        groups = self._mixed()
        self.grouped = bool(groups)
        if groups:
            self.nranks, self.world = len(groups), groups
        self._claims: dict[int, set[Process]] = collections.defaultdict(set)
        for rank in () if self.grouped else self.whole:
            if rank.nranks == self.nranks:
                self._claims[rank.rank].add(rank.process)
        # Looked up once per channel: with thousands of ranks nothing may be searched for there.
        self.host_of = {
            number: str(rank.process.host)
            for number, rank in self.world.items()
            if rank.process.host and len(self._claims[number]) < 2
        }
        self._number_of = {(rank.process, rank.device): number for number, rank in reversed(self.world.items())}
        self._member_of: dict[tuple[Process, int], list[Rank]] = collections.defaultdict(list)
        # commId, size, rank in it, its GPU or "" for any, its host or "" -> ranks of the world; "?": of unknown GPU
        self._having: dict[tuple[str, int, int, str, str], set[int | None]] = collections.defaultdict(set)
        for rank in log.ranks:
            self._member_of[rank.process, rank.rank].append(rank)
            for gpu in ("", *(rank.gpus if rank.bus_id else "?")):
                for host in ("", str(rank.process.host)):
                    having = self._having[rank.comm, rank.nranks, rank.rank, gpu, host]
                    if len(having) < 2:  # two are as good as many: no line can mean both
                        having.add(self._in_world(rank))
        if not self.world:
            self._hosts_from_channels()
        claimed = {str(process.host) for processes in self._claims.values() for process in processes if process.host}
        self.hosts = tuple(sorted(claimed or set(self.host_of.values()) or set(log.hosts)))
        heard = {host.lower() for host in self.hosts}
        self.missing_hosts = [name for name in self.wanted_hosts if name.lower() not in heard]
        self.on_each: Mapping[str, int] = collections.Counter(self.host_of.values())

    @property
    def crosses_network(self) -> bool:
        return any(channel.kind == "net" for channel in self._log.channels)

    @property
    def one_name_for_all(self) -> bool:
        """All ranks give the same host and still use the network: containers that share one name.

        Where ranks are missing in the log it is the log of one host alone.
        """
        return len(self.world) == self.nranks and len(self.hosts) == 1 and self.crosses_network

    @property
    def side_by_side(self) -> bool:
        """Each rank is claimed as often as any other, from GPUs of one host: so are groups of a job without commId."""
        whole = (rank for rank in self.whole if rank.nranks == self.nranks and rank.bus_id and not rank.comm)
        gpus = {(rank.rank, *_gpu(rank)) for rank in whole}
        claims = [len(processes) for processes in self._claims.values()]
        on_one_host = len({gpu[:2] for gpu in gpus}) == len(claims) and len(gpus) == sum(claims)
        return on_one_host and len({*claims}) == 1 and self.wanted != self.nranks

    def ends(self, channel: Channel) -> tuple[int, int] | None:
        """The ranks of the whole job that a channel line means; None if a host is not known, or several are meant."""
        within = str(channel.process.host) if not channel.direction and channel.kind in ("p2p", "shm") else ""
        numbers, own = (channel.source, channel.target), int(channel.direction == "receive")
        return self.ends_of(channel.process, channel.comm, numbers, gpus=channel.gpus, own=(own,), host=within)

    def ends_of(
        self,
        process: Process,
        comm: str,
        numbers: tuple[int, int],
        *,
        gpus: tuple[str, str] = ("", ""),
        own: Sequence[int] = (0, 1),
        host: str = "",
    ) -> tuple[int, int] | None:
        """The same of two ``numbers`` of a communicator: of a channel, or of neighbours in a ring or tree.

        A thread's communicator is the last one that it began, and may have been set up by another thread: what the
        line says of the GPUs decides. ``own``: which end, or one of which, is the process; ``host``: of both ends."""
        source, target = numbers
        if not self.maps:
            return (source, target) if source in self.host_of and target in self.host_of else None
        found: dict[str, set[tuple[int | None, int | None]]] = collections.defaultdict(set)
        for end in own:
            for rank in self._member_of.get((process, numbers[end]), ()):
                if not gpus[end] or not rank.bus_id or gpus[end] in rank.gpus:
                    key = rank.comm, rank.nranks, numbers[1 - end]
                    others = [self._having.get((*key, gpu, host), ()) for gpu in (gpus[1 - end], "?")]
                    here = self._in_world(rank)
                    pairs = ((there, here) if end else (here, there) for each in others for there in each)
                    found[rank.comm].update(pairs)
        meant = found.get(comm) or set().union(*found.values())
        if len(meant) != 1:
            return None
        one, other = meant.pop()
        return None if one is None or other is None else (one, other)

    def _in_world(self, rank: Rank) -> int | None:
        number = rank.rank if rank.nranks == self.nranks else self._number_of.get((rank.process, rank.device))
        return number if number in self.host_of else None

    def apart(self) -> str:
        """Why these processes are not one job; empty if they are, or if that is not known."""
        if self.nranks is None:
            return ""
        processes, wanted = len({(rank.process, rank.device) for rank in self.whole}), self.wanted or 0
        missing = ", ".join(self.missing_hosts)
        if self.nranks == 1 and (processes > 1 or wanted > 1 or len(self.wanted_hosts) > 1):
            return reason("computed_alone", processes=processes)
        text = self._twice()
        if text:
            return text
        if self.nranks < wanted:
            where = f" (no rank on {missing})" if missing else ""
            text = reason("ranks_took_no_part", nranks=self.nranks, wanted=wanted, where=where)
        elif processes > self.nranks:
            text = reason("several_jobs", processes=processes, nranks=self.nranks)
        elif missing and len(self.world) == self.nranks and not self.one_name_for_all:
            text = reason("hosts_took_no_part", nranks=self.nranks, hosts=", ".join(self.hosts), missing=missing)
        return text

    def _twice(self) -> str:
        """A rank that several processes claim; empty if there is none."""
        why = "rank_beside" if self.side_by_side else "rank_twice"
        for number, processes in sorted(self._claims.items()):
            if len(processes) > 1:
                names = ", ".join(sorted(process.name for process in processes))
                return reason(why, rank=number, nranks=self.nranks, times=len(processes), processes=names)
        return ""

    def _named(self, host: str) -> str:
        """The name of the host that has this address, as far as the log tells it; of a name, itself."""
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
        known = {(str(rank.process.host), rank.device, rank.process.pid or 0): rank for rank in self._log.ranks}
        who = [known[key] for key in sorted(known)]
        groups = [members for (comm, _size), members in self.maps.items() if comm]
        wanted = self.wanted or len(who)
        if self.nranks is None or not self.nranks < len(who) == wanted or len(groups) < 2 or self.nranks == 1:
            return {}
        parts: list[set[tuple[Process, int]]] = []
        for members in groups:
            joined = {(rank.process, rank.device) for rank in members.values()}
            touching = [part for part in parts if part & joined]
            parts = [part for part in parts if not part & joined] + [joined.union(*touching)]
        if len(parts) != 1 or len(parts[0]) != len(who):
            return {}
        # A GPU that has more processes than any group has on it: one of them took the place of another.
        on_gpu = [collections.Counter(map(_gpu, members.values())) for members in groups]
        if collections.Counter(map(_gpu, who)) - functools.reduce(operator.or_, on_gpu):
            return {}
        begun = {(rank.process, rank.device) for rank in self._log.ranks if not rank.complete}
        return {
            number: dataclasses.replace(
                rank, rank=number, nranks=len(who), comm="", complete=(rank.process, rank.device) not in begun
            )
            for number, rank in enumerate(who)
        }

    def _hosts_from_channels(self) -> None:
        """Without a line of a communicator, the side that prints a channel tells where its rank is, and so do mpirun's
        tags where they are NCCL's ranks."""
        for channel in self._log.channels:
            own, host = channel.own_end, channel.process.host
            if host is None or self.host_of.setdefault(own, host) == host:
                continue
            said = reason("rank_on_two_hosts", rank=own, one=self.host_of[own], other=host)
            problem = Problem("rank_on_two_hosts", said)
            if problem not in self.problems:
                self.problems.append(problem)
        channels = self._log.channels
        if channels and all(each.process.tag in (None, each.own_end) for each in channels):
            self.host_of = {**self._log.tagged, **self.host_of}


def _gpu(rank: Rank) -> tuple[Process | str | None, str]:
    return (rank.process.host if rank.bus_id else rank.process), rank.bus_id
