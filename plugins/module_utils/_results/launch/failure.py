"""Explain how an mpirun failed, from its exit status and its output of any size. Pure.

Failure texts and exit codes: recorded from Open MPI 4.1.4 with OpenSSH 9.2 and Docker 20.10; of Open MPI 5.0.11 those
that differ in what the head prints. The output is taken in pieces and what is kept does not grow with it: per rule the
first line that matches and the hosts that are named, per rank its last line, and the last three lines.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
from typing import Mapping, Match, Sequence

from ..._judge.packs.loader import form
from ..._judge.packs.model import Rule, groups_of
from ..._judge.words import Index, letters_of, ways_of
from ..readers.reading import Source, pieces, short
from ..readers.tags import Demultiplexer, Line
from .causes import Diagnosis, ending, rules
from .mpirun import Node
from .progress import STEP
from .stall import Stall, behind, held, numbered, table
from .waits import KEPT, Waits, is_echo

_KILLED = 137
TIMED_OUT = (124, _KILLED, 110, 241)  # timeout(1) with SIGTERM, with SIGKILL; mpirun --timeout of Open MPI 4.1, of 5.0
# Rules whose lines may be the echo of another rank's end: who stood still says more.
_ECHOES = ("nccl",)
_NAMES = 1024  # hosts that are kept per rule; a message has room for a few
_RANKS = 1 << 16

# Forms of how mpirun and the program say that the job ended, and what each line of theirs holds.
_SIGNAL, _EXITED, _GENERIC, _COMPLETE = "end_signal", "end_exit", "end_generic", "end_complete"
_SAID = {_SIGNAL: "exited on signal", _EXITED: "Exit code:", _GENERIC: "RTE ", _COMPLETE: "total images/sec"}
_BOX = 12  # lines within which Open MPI 5 names the host whose daemon did not report back
# What mpirun 4.1.4 leaves when its output does not say more. 1 is anything; 128 + n is a signal.
_STATUS = {127: "orted_missing", 132: "program_missing", 213: "orted_broken", 255: "ssh_failed"}


@functools.lru_cache(maxsize=1)
def _index() -> Index[int]:
    """Of the places of rules in their table."""
    return Index((order, way) for order, sign in enumerate(rules().values()) for way in ways_of(sign.text))


@dataclasses.dataclass
class _Hit:
    """What a rule found: its first line, or the first one that names a host (a later line may, where the first does
    not: "has changed" names it, the banner before it does not). ``groups``: what its pattern took out of it."""

    rule: Rule
    rank: int | None
    text: str
    groups: Mapping[str, str]
    hosts: dict[str, None]


class Output:
    """The lines of a failed run on these hosts, one by one; what matters of them is kept."""

    def __init__(self, hosts: Sequence[Node]) -> None:
        # With -map-by slot the ranks fill the hosts in the order of -H.
        self.places = dict(enumerate(node.name for node in hosts for _slot in range(node.slots)))
        self.down = tuple(node.name for node in hosts if node.container not in (None, "running"))
        self._names = {called: n.name for n in hosts for called in (short(n.hostname), n.hostname, n.address, n.name)}
        self.hit: _Hit | None = None
        self.said: dict[str, Match[str]] = {}  # form -> what mpirun first said of it, of `_SAID`
        self.lost: Match[str] | None = None
        self.unreported: Match[str] | None = None
        self.waits = Waits()
        self.nodes: dict[str, None] = {}
        self.last_of: dict[int, str] = {}
        self.steps: dict[int, int] = {}  # rank -> its last step
        self.raised: dict[int, str] = {}  # rank -> its last error, if that is the last thing it said in that stream
        self._erring: set[int] = set()  # ranks whose last words in the stream that is read are an error
        self._tail: collections.deque[str] = collections.deque(maxlen=3)
        self._rules = list(rules().items())
        self._order = len(self._rules)  # rules from here on are worth less than the one that was found
        self._before = ""
        self._box = 0

    def read(self, source: Source) -> None:
        """One stream of the run, from its start to its end."""
        demultiplexer = Demultiplexer()
        self._erring.clear()
        for piece in pieces(source):
            for line in demultiplexer.lines(piece):
                self.line(line)
        for line in demultiplexer.rest():
            self.line(line)

    @property
    def stood_still(self) -> bool:
        """Whether a rank waited in vain, or lost a peer."""
        return self.waits.in_vain or bool(self.waits.peers)

    @property
    def tail(self) -> str:
        return " | ".join(self._tail)[:KEPT]

    def name(self, text: str) -> str:
        """The inventory name of what a message calls a host (address or name)."""
        return self._names.get(text.strip("[]"), text.strip("[]"))

    def host_of(self, rank: int) -> tuple[str, ...]:
        """Empty if the rank is on none of them."""
        return (self.places[rank],) if rank in self.places else ()

    @property
    def silent(self) -> list[int]:
        """Ranks that never said a word."""
        return [rank for rank in self.places if rank not in self.last_of]

    def line(self, line: Line) -> None:
        text = line.text.strip()
        if not text:
            return
        if self._before.endswith(" exited on") and text.startswith("signal "):
            text = f"{self._before} {text}"  # Open MPI 5 prints it on two lines
        self._tail.append(text[:KEPT])
        if line.rank is not None and (line.rank in self.last_of or len(self.last_of) < _RANKS):
            self.last_of[line.rank] = text[:KEPT]
            step = STEP.match(text) if "images/sec" in text else None
            if step:
                self.steps[line.rank] = int(step[1][:18])
        lower = text.lower()
        if line.rank is not None and not is_echo(lower):
            # A rank that goes on after an error was not ended by it. What libraries print at its end does not count.
            if line.rank in self._erring:
                self._erring.discard(line.rank)
                self.raised.pop(line.rank, None)
            if len(self.raised) < _RANKS and form("end_raised").match(text):
                self.raised.pop(line.rank, None)
                self.raised[line.rank] = text[:KEPT]
                self._erring.add(line.rank)
        self._match(line.rank, text)
        self.waits.line(line.rank, text, lower)
        self._ending(text)
        if line.rank is None and "Node:" in text and len(self.nodes) < _NAMES:
            node = form("end_node").search(text)
            if node:
                self.nodes.setdefault(node["host"])
        self._before = text[-KEPT:]

    def _match(self, rank: int | None, text: str) -> None:
        for order in sorted(_index().possible(letters_of(text))):
            rule, sign = self._rules[order]
            match = sign.heard(text) if order <= self._order else None
            if not match:
                continue
            groups = groups_of(match)
            host = groups.get("host")
            if order < self._order or self.hit is None:
                self._order, self.hit = order, _Hit(rule, rank, text[:KEPT], groups, {})
            elif host and "host" not in self.hit.groups:
                self.hit = _Hit(rule, rank, text[:KEPT], groups, self.hit.hosts)
            if host and len(self.hit.hosts) < _NAMES:
                self.hit.hosts.setdefault(host)
            return

    def _ending(self, text: str) -> None:
        """How mpirun says that the job ended. Two of its texts may go over two lines."""
        both = f"{self._before}\n{text}"
        for name, words in _SAID.items():
            match = form(name).search(both if name == _EXITED else text) if words in text else None
            if match:
                self.said.setdefault(name, match)
        if self.lost is None or not any(self.lost.groupdict().values()):
            lost = form("end_lost").search(both if self._before.endswith("Remote host:") else text)
            # The line that says so names no host; one below it does.
            self.lost = lost if lost and (self.lost is None or any(lost.groupdict().values())) else self.lost
        self._box = _BOX if "A daemon failed to report back" in text else self._box - 1
        if self._box > 0 and self.unreported is None:
            self.unreported = form("end_remote").search(text)


def diagnose(
    rc: int, stdout: Source, stderr: Source, hosts: Sequence[Node] = (), stall: Stall | None = None
) -> Diagnosis:
    """Name the cause of a failed run from its exit status and its output (texts, bytes, or iterables of pieces).

    ``rc`` as mpirun (or ``timeout`` around it) left it; -1 if it was never started and ``stderr`` is the reason.
    Order: a line that names a cause; else who stood still while others waited; else how it ended (time, signal, exit
    status); else "unknown" with the last lines. ``stall``: the job was silent for too long, and a check looked at its
    ranks before it was ended; the output is then what there was before.
    """
    seen = Output(hosts)
    seen.read(stderr)
    seen.read(stdout)
    return _diagnose(rc, seen) if stall is None else _stalled(stall, rc, seen)


def _stalled(stall: Stall, rc: int, seen: Output) -> Diagnosis:
    """Why a job was silent: what was seen of a rank itself, else a line that names a cause, else who differs."""
    itself = held(stall, seen.places)
    how = f"no new line of output for {stall.silent:.0f} s"
    at = table(stall, seen.places, seen.steps)
    at = f". Before the job was ended: {at}" if at else ""
    if not itself and (seen.stood_still or (seen.hit is not None and seen.hit.rule.id not in _ECHOES)):
        found = _diagnose(rc, seen)
        return dataclasses.replace(found, summary=f"{found.summary}; {how}{at}")
    stuck = itself or behind(stall, seen.places, seen.steps, seen.last_of) or ending("stalled")
    evidence = seen.tail if stuck.rank is None else seen.last_of.get(stuck.rank, "")
    return dataclasses.replace(stuck, summary=f"{stuck.summary}; {how}{at}", evidence=evidence)


def _diagnose(rc: int, seen: Output) -> Diagnosis:
    hit = seen.hit
    if seen.stood_still and (hit is None or hit.rule.id in _ECHOES):
        return _by_standstill(rc, seen)
    if hit is None:
        return _by_ending(rc, seen)
    rule, groups = hit.rule, hit.groups
    rank = int(groups["rank"]) if "rank" in groups else hit.rank
    found = {*map(seen.name, hit.hosts)}
    if rank is not None and (not found or "by" in groups):
        found |= set(seen.host_of(rank))
    elif "by" in groups:
        found.add(seen.name(groups["by"]))
    if not found and rule.id == "program_missing":
        found = {*map(seen.name, seen.nodes)}
    if not found and rule.id.startswith("container_"):
        found = set(seen.down)
    summary = rule.summary + (f" ({groups['what'].strip()})" if "what" in groups else "")
    return Diagnosis(rule.id, summary, rule.remedy, tuple(sorted(found)), rank, hit.text)


def _by_standstill(rc: int, seen: Output) -> Diagnosis:
    """The victims' own words, turned round, unless they are an echo of the end."""
    if not seen.waits.in_vain:
        return _by_peers(rc, seen)
    ranks, waited, evidence = seen.waits.behind(len(seen.places)), seen.waits.in_words(), seen.waits.evidence
    if not ranks:
        return ending("collective_hang", evidence=evidence, waited=waited)
    where = sorted({name for rank in ranks for name in seen.host_of(rank)})
    return ending("never_came", where, ranks[0], evidence, ranks=numbered(ranks), waited=waited)


def _by_peers(rc: int, seen: Output) -> Diagnosis:
    first = seen.said.get(_SIGNAL) or seen.said.get(_EXITED)
    if rc in TIMED_OUT and not first and seen.last_of and seen.silent:
        # The time ran out while a rank had never said a word: connections that close then are an echo of the end.
        return _by_ending(rc, seen)
    losers = seen.waits.losers
    named = {*map(seen.name, seen.waits.peers)}
    lost = named & set(seen.places.values())
    # Ended with an error and lost no peer, on a host that others lost (any, if no lost host is known).
    alone = [rank for rank in seen.raised if rank not in losers and (not lost or lost & set(seen.host_of(rank)))]
    if alone and _SIGNAL not in seen.said:
        return ending("failed_alone", seen.host_of(alone[0]), alone[0], seen.raised[alone[0]])
    if losers and first and int(first["rank"]) not in losers:
        # mpirun names the rank that ended first. If that one lost no peer, it is the cause: a rank that lost it, or
        # one of those that ended because of it, is an echo.
        return _by_ending(rc, seen)
    # A peer that itself lost a peer ended because of that, if every rank of its host did.
    echoes = set(seen.places.values()) - {host for rank, host in seen.places.items() if rank not in losers}
    return ending("peer_lost", sorted(named - echoes or named), evidence=seen.waits.evidence)


def _by_ending(rc: int, seen: Output) -> Diagnosis:
    if _COMPLETE in seen.said and rc != 0 and rc not in TIMED_OUT:
        return ending("failed_after_result", evidence=seen.tail, rc=rc)
    if rc in TIMED_OUT and _SIGNAL not in seen.said:
        return _timed_out(rc, seen)
    reported = _by_report(seen)
    # The box that names all causes is worth less than the status.
    if rc in _STATUS and (reported is None or reported.cause == "daemons"):
        named, evidence = (reported.hosts, reported.evidence) if reported else (seen.down, seen.tail)
        rule = next((rule for rule in rules() if rule.id == _STATUS[rc]), None)
        if rule is None:
            return ending(_STATUS[rc], named, evidence=evidence, rc=rc)
        summary = f"mpirun ended with status {rc}: {rule.summary}"
        return Diagnosis(rule.id, summary, rule.remedy, named, evidence=evidence)
    return reported or ending("unknown", seen.down, evidence=seen.tail, rc=rc)


def _by_report(seen: Output) -> Diagnosis | None:
    """What mpirun itself reports about the end of the job, most precise report first."""
    signal, exited, generic = (seen.said.get(name) for name in (_SIGNAL, _EXITED, _GENERIC))
    lost = seen.lost
    if signal:
        host = seen.name(signal["host"])
        return ending("signal", [host], int(signal["rank"]), signal[0], signal=signal["signal"], name=signal["name"])
    if exited:
        rank = int(exited["rank"])
        evidence = seen.raised.get(rank, seen.last_of.get(rank, exited[0]))[:KEPT]
        return ending("first_to_fail", seen.host_of(rank), rank, evidence, code=exited["code"])
    if seen.unreported:
        evidence = f"A daemon failed to report back after being spawned. {seen.unreported[0]}"
        return ending("daemons", [seen.name(seen.unreported["host"])], evidence=evidence)
    if lost:
        named = [seen.name(lost["host"] or lost["by"])] if lost["host"] or lost["by"] else seen.down
        return ending("host_lost", named, evidence=lost[0].strip())
    return ending("daemons", seen.down, evidence=generic[0]) if generic else None


def _timed_out(rc: int, seen: Output) -> Diagnosis:
    # timeout(1) ends so if it had to kill mpirun, and if another process did.
    how = "the time limit was reached" + (", or mpirun was killed" if rc == _KILLED else "") + f" (status {rc})"
    if not seen.last_of:
        return ending("timeout_at_start", seen.down, evidence=seen.tail, how=how)
    if seen.silent:
        hosts = sorted({seen.places[rank] for rank in seen.silent})
        return ending("timeout_silent_ranks", hosts, evidence=seen.tail, how=how)
    return ending("timeout", seen.down, evidence=seen.tail, how=how)
