"""The four verbs for an Onyx switch: the plan of `plan.py` carried out over a session of `transport.py`."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import time
from typing import Any, Callable, Mapping, Sequence

from .._layer import ApplyError, Layer, LayerError, Operation, ParseError, RefusedError, VerifyError, inverses
from .._switch import guards, observed, saving
from .._switch.judge import has_vlan
from .._switch.request import Wanted
from . import plan as planning
from . import state as parsing
from .lease import SwitchLease, write_copy
from .reading import Reader
from .state import Port, Roce, SwitchState
from .transport import OnyxSession

# Saving is a change of its own when nothing else has to change.
_SAVE = planning.operation(
    "save the running configuration, which has unsaved changes", ["configuration write"], {"saved": (False, True)}, []
)


class SwitchLayer(Layer[SwitchState, Wanted]):
    """One switch, one session.

    ``connect`` opens a session (called once, and once more only to bring ports back up after a broken one). ``save``:
    when_clean, always, never. ``wait_for_links``: seconds that links which this run bounced get to come back; 0: do
    not wait. ``rollback``: take everything back when a change is refused, breaks off or does not come into force.
    ``clock`` and ``sleep`` are injected for tests.
    """

    def __init__(
        self,
        host: str,
        connect: Callable[[], OnyxSession],
        wanted: Wanted,
        *,
        save: str = "when_clean",
        wait_for_links: float = 60.0,
        rollback: bool = False,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.host = host
        self._connect = connect
        self._wanted = wanted
        self._save = save
        self._wait_for_links = wait_for_links
        self._rollback = rollback
        self._clock = clock
        self._sleep = sleep
        self._cli: OnyxSession | None = None
        self._first: SwitchState | None = None
        self._last: SwitchState | None = None
        self._planned: list[Operation] = []
        self._applied: list[Operation] = []
        self._failed: Operation | None = None  # the one that was under way when it went wrong
        self._bounced: set[str] = set()
        self._shut: list[str] = []  # what brings ports up again that this run has just shut down
        self._links_lost: list[str] = []
        self._notes: list[str] = []
        self._unsaved = False
        self._lease = SwitchLease(host, sleep)

    @property
    def cli(self) -> OnyxSession:
        if self._cli is None:
            self._cli = self._connect()
        return self._cli

    @property
    def read(self) -> Reader:
        return Reader(self.host, self.cli)

    def close(self) -> None:
        if self._cli is not None:
            self._lease.release(self._cli)
            self._cli.close()
            self._cli = None

    # --- observe

    def observe(self) -> SwitchState:
        try:
            state = self._read_state(links=self._await_links() if self._bounced else None)
        except LayerError as error:
            if self._applied:  # it broke while verifying: say what is there, unverified
                error.args = (f"{error} What was sent before (applied) was accepted, is not verified and not saved.",)
            raise
        self._unsaved = state.unsaved
        self._first, self._last = self._first or state, state
        return state

    def _read_state(self, health: bool = True, links: Mapping[str, Port] | None = None) -> SwitchState:
        """``health``: also what the RoCE mode does on the ports, which is not configuration. ``links``: as `ports`."""
        read, wanted = self.read, self._wanted
        version = self._first.version if self._first else read.version()  # no run is so long that it would change
        lines = read.running()  # before the question what is unsaved: what appears in between is seen the next time
        unsaved, files = read.files()
        roce = read.roce(version)
        vlans = read.vlans()
        ports = read.ports(lines, links)
        state = SwitchState(
            self.host,
            version,
            roce,
            vlans,
            ports,
            unsaved,
            lines=lines,
            foreign=self._foreign(lines, unsaved),
            svis=parsing.parse_svis(lines),
            files=files,
        )
        existing = [name for name in wanted.ports if name in ports]
        if health and roce.mode is not None and roce.mode == wanted.mode and existing:
            ecn, marked = read.congestion(existing)
            state = dataclasses.replace(state, pfc=read.pfc(), ecn=ecn, marked=marked, trust=read.trust(existing))
        if wanted.neighbors:
            # Read once: a link that has just been bounced has no neighbour yet.
            seen = self._first.neighbors if self._first else read.neighbors()
            state = dataclasses.replace(state, neighbors=seen)
        return state

    def _foreign(self, lines: Sequence[str], unsaved: bool) -> tuple[str, ...]:
        """What another user has changed: unsaved before this run, or made since it began."""
        first = self._first
        if first is not None:
            new = planning.foreign_lines(
                parsing.difference(lines, first.lines), self._wanted, template=first.roce.mode != self._wanted.mode
            )
            return tuple(dict.fromkeys((*first.foreign, *new)))
        if not unsaved:
            return ()
        try:
            saved = self.read.saved()
        except ParseError as error:  # then everything that is unsaved counts as foreign
            return (f"(unknown, because the saved configuration could not be read: {str(error)[:200]})",)
        return planning.foreign_lines(parsing.difference(lines, saved), self._wanted)

    def _await_links(self) -> Mapping[str, Port]:
        """Wait for links that this run bounced; what stays down is for `plan` to judge. Returns what was read last."""
        timing = (self._wait_for_links, self._clock, self._sleep)
        links, self._links_lost, notes = guards.await_links(self._bounced, self.read.links, parsing.port_key, timing)
        self._notes += notes
        self._bounced = set()
        return links

    # --- plan

    def plan(self, state: SwitchState, wanted: Wanted) -> list[Operation]:
        operations = planning.plan(state, wanted)
        if operations and not self._applied:
            self._planned = operations
            self._look_behind(planning.touched(operations))
        if operations and not self._applied and wanted.snapshot in state.files:
            raise RefusedError(
                "a configuration file of this name exists, and it would be overwritten",
                host=self.host,
                thing="snapshot",
                value=wanted.snapshot,
                remedy="choose another name, or delete the file on the switch if it is no longer needed",
            )
        more = "; nothing was saved, so that a reload of the switch takes everything back"
        guards.links_lost(self.host, self._links_lost, self._wait_for_links, more)
        if not operations:
            planning.require_health(state, wanted)
        if not operations and not self._applied and state.unsaved and saving.may_save(self._save, state.foreign):
            # Saving after own changes is `commit`, which comes after the verification.
            operations = [_SAVE]
        return operations

    def _look_behind(self, names: Sequence[str]) -> None:
        """Who is behind the ports that change, for a warning: before their links are interrupted."""
        if names and self._first is not None and self._first.neighbors is None:
            with contextlib.suppress(ParseError):
                self._first = dataclasses.replace(self._first, neighbors=self.read.neighbors())

    # --- apply

    def apply(self, operation: Operation) -> None:
        done: list[str] = []
        if not self._applied:
            # What is refused up to here has sent nothing: what is on the switch is another run's, and stays unsaved.
            self._lease.take(self.cli)
            self._refuse_outdated_plan()
            if operation is not _SAVE:
                self._take_snapshot()
        # Read again before a save, as `commit` does: what was read for the plan is as old as that.
        if operation is _SAVE and not saving.may_save(self._save, self._foreign(self.read.running(), True)):
            self._applied.append(operation)
            return
        try:
            for line in operation.payload["lines"]:
                refusal = self._configure(line)
                if refusal:
                    self._refused(operation, line, refusal)
                    break
                done.append(line)
        except LayerError as error:
            self._failed = operation
            self._explain_failure(error, operation, done)
            raise
        self._applied.append(operation)
        up = {name for name, port in self._first.ports.items() if port.up} if self._first else set()
        self._bounced |= up & set(operation.payload["bounces"])

    def _refuse_outdated_plan(self) -> None:
        """What another run changed between the reading and the lease, of what this one is about to change."""
        before = self._last.lines if self._last else ()
        changed = parsing.difference(self.read.running(), before)
        own = sorted(set(changed) - set(planning.foreign_lines(changed, self._wanted)))
        if own:
            raise RefusedError(
                f"another run changed the same settings since they were read: {saving.shown(own)}",
                host=self.host,
                thing="running configuration",
                remedy="run this again: it reads the new configuration; agree on one controller if this goes on",
            )

    def _take_snapshot(self) -> None:
        """A copy of the running configuration under its own name, before the first change."""
        name = self._wanted.snapshot
        if not name:
            return
        remedy = "check the file system of the switch, or run this without a snapshot"
        write_copy(self.host, self.cli, name, "snapshot", remedy)
        self._notes.append(f"the configuration as it was is in {name} (going back to it restarts the switch)")

    def _refused(self, operation: Operation, line: str, refusal: str) -> None:
        """A line was refused. A range is tried port by port, since it is not documented what a range does then."""
        self._reopen_ports()
        members: Mapping[str, Mapping[str, Any]] = operation.payload["members"]
        if not members or (len(members) == 1 and not any(member.get("fallback") for member in members.values())):
            raise ApplyError(
                f"the switch refused it: {refusal}",
                host=self.host,
                thing="command",
                value=line,
                remedy="put right what it refuses and run again; what undo lists is still in force; nothing was saved",
                device_message=refusal,
            )
        changed: list[str] = []
        for name in members:
            if self._differs(name, operation):
                self._configure_member(name, operation, changed)
            changed.append(name)
        self._notes.append(f"{line!r} was refused ({refusal}); its ports were configured one by one")

    def _differs(self, name: str, operation: Operation) -> bool:
        """Read again: the refused range may have changed some of its ports already."""
        for key, (_before, after) in operation.changes.items():
            if key == f"port {name} mtu":
                return bool(self.read.links()[name].mtu != after)
            if key == f"port {name} access_vlan":
                return bool(self.read.switchports()[name].access_vlan != after)
        return False

    def _configure_member(self, name: str, operation: Operation, changed: Sequence[str]) -> None:
        members = operation.payload["members"]
        refusals: list[str] = []
        for lines in filter(None, (members[name]["lines"], members[name].get("fallback"))):
            for line in lines:
                refusal = self._configure(line)
                if refusal:
                    refusals.append(f"{line!r}: {refusal}")
                    self._reopen_ports()
                    break
            else:
                return
        raise ApplyError(
            f"the switch refused it for port {name} ({'; '.join(refusals)}); "
            f"changed before that: {', '.join(changed) or 'no port'}",
            host=self.host,
            thing="port",
            value=name,
            remedy="put right what it refuses and run again; what undo lists is still in force; nothing was saved",
            device_message="\n".join(refusals),
            undo=[*("\n".join(members[other]["inverse"]) for other in reversed(changed)), *inverses(self._applied)],
        )

    def _configure(self, line: str) -> str:
        up = re.sub("( no)? shutdown$", " no shutdown", line)
        if up != line:
            self._shut.append(up)
        refusal = self.cli.configure(line)
        if up in self._shut and (up != line) == bool(refusal):  # it did not go down, or is up again
            self._shut.remove(up)
        return refusal

    def _reopen_ports(self) -> list[str]:
        """A port that was shut down is not left so because a later line failed; what was sent."""
        return [line for line in list(self._shut) if not self._configure(line)]

    def _explain_failure(self, error: LayerError, operation: Operation, done: Sequence[str]) -> None:
        """Add how far it got, and after a broken session bring ports back up that were just shut down."""
        error.details.setdefault("applied", [*(other.command for other in self._applied), *done])
        error.details.setdefault("failed_operation", operation.command)
        undo = inverses(self._applied)
        if not _is_refusal(error):
            # The session broke, or waits for an answer; the line that was under way may have taken effect.
            undo = [*([operation.inverse] if operation.inverse else []), *undo]
            error.details["ports_brought_up"] = self._rescue()
        error.details.setdefault("undo", undo)

    def _rescue(self) -> list[str]:
        """One new session to bring ports up again; what was sent, or nothing if that failed too."""
        with contextlib.suppress(LayerError):
            if self._shut:
                self.close()
                return self._reopen_ports()
        return []

    # --- roll back

    def failed(self, error: LayerError) -> None:
        """Take back what this run changed, if that was asked for. The error stays what it is and tells how it went."""
        suspects = [each for each in (*self._applied, self._failed) if each and each is not _SAVE]
        if not self._rollback or not suspects or self._failed is _SAVE:
            return
        sent: list[str] = []
        try:
            if not _is_refusal(error):
                self.close()  # what is left of this session may be waiting for something
            left = self._take_back(suspects, sent)
        except LayerError as trouble:
            sent += self._rescue()
            left = [f"rolling back failed: {trouble}"]
        error.details.update(rolled_back=not left, rollback_commands=sent, rollback_left=left)
        if not left:
            error.details["undo"] = []
        error.args = (
            str(error)
            + (
                " What this run had changed was taken back and read again, and nothing was saved."
                if not left
                else f" Taking it back did not succeed: {'; '.join(left)}. The commands in undo are still to be sent."
            ),
        )

    def _take_back(self, operations: Sequence[Operation], sent: list[str]) -> list[str]:
        """Undo what is really there, newest first; what still differs afterwards, in words."""
        sent += self._reopen_ports()
        state = self._read_state(health=False)
        first = self._first or state
        for operation in reversed(operations):
            for line in _way_back(state, operation, first, self._wanted.ports):
                sent.append(line)
                refusal = self._configure(line)
                if refusal:
                    sent += self._reopen_ports()
                    return [f"{line!r} was refused: {refusal}"]
        state = self._read_state(health=False)
        return [
            f"{key} is {_value(state, key)!r} and was {before!r}"
            for key, before in _before(operations).items()
            if _value(state, key) != before
        ]

    # --- commit

    def commit(self, operations: Sequence[Operation]) -> None:
        """Save, once everything was verified, unless that would write what another user left unsaved."""
        if not self._applied or self._last is None or not self._unsaved or self._save == "never":
            return
        try:
            lines = self.read.running()  # what is written next
            self._last = dataclasses.replace(self._last, lines=lines, foreign=self._foreign(lines, True))
            if saving.may_save(self._save, self._last.foreign):
                self._write_configuration()
        except LayerError as error:
            self._failed = _SAVE
            self._explain_failure(error, _SAVE, ())
            raise

    def _write_configuration(self) -> None:
        refusal = self.cli.configure("configuration write")
        self._unsaved = parsing.parse_unsaved(self.host, self.cli.show("show configuration files"))
        if refusal or self._unsaved:
            raise ApplyError(
                "everything is in force, but it could not be saved: " + (refusal or "changes are still unsaved"),
                host=self.host,
                thing="command",
                value="configuration write",
                remedy="check the file system of the switch and save by hand; a reload would lose the changes",
                device_message=refusal,
            )

    # --- results

    def warnings(self, state: SwitchState, wanted: Wanted) -> list[str]:
        result = [*self._notes, *(f"the switch said something unexpected: {text}" for text in self.cli.remarks)]
        if self.cli.role == "standby":
            result.append("this node calls itself standby: each MLAG peer is configured on its own")
        before = self._first.foreign if self._first else ()
        foreign = self._last.foreign if self._last else ()
        meanwhile = [line for line in foreign if line not in before]
        result += saving.warnings(self._save, unsaved=self._unsaved, foreign=foreign, meanwhile=meanwhile)
        if wanted.mode and state.roce.mode and state.roce.lldp.lower() == "disabled":
            result.append("LLDP is off: a host that learns flow control over DCBX gets nothing to learn from")
        if self._first and self._first.neighbors is not None:
            result += guards.neighbor_warnings(planning.behind(self._first, planning.touched(self._planned)), wanted)
        links = {port.name: (port.admin, port.up, port.oper) for port in map(state.ports.__getitem__, wanted.ports)}
        return result + guards.port_warnings(wanted, unexpected_members(state, wanted), links)

    def facts(self, state: SwitchState) -> dict[str, Any]:
        wanted = self._wanted
        known = state.vlans.get(wanted.vlan or 0, parsing.Vlan("", ()))
        counters = self._counters() if state.roce.mode else {}
        return {
            "version": state.version.text,
            "serial": state.version.serial,
            "roce": roce_fact(state.roce),
            "vlan": guards.vlan_fact(wanted, state.vlans, known.name, known.members, unexpected_members(state, wanted)),
            "ports": {name: _port_fact(state, name, counters.get(name, {})) for name in wanted.ports},
            "saved": not self._unsaved,
            "unsaved_before": bool(self._first and self._first.unsaved),
            "foreign_changes": list(self._last.foreign) if self._last else [],
            "problems": planning.unhealthy(state, wanted),
        }

    def _counters(self) -> dict[str, dict[str, int]]:
        """For information: a switch that does not answer now has still been configured and verified."""
        with contextlib.suppress(LayerError):
            return self.read.counters(self._wanted.ports, self._wanted.priority)
        return {}


def roce_fact(roce: Roce) -> dict[str, Any]:
    """``show roce`` as a result; ``mode`` absent if RoCE is off."""
    priorities = sorted(number for number, text in roce.priorities.items() if text == "enabled")
    return observed.roce_fact(roce, ecn=roce.ecn, pfc=roce.pfc, pfc_priorities=priorities)


def unexpected_members(state: SwitchState, wanted: Wanted) -> list[str]:
    """Who else carries the wanted VLAN; the default VLAN holds everybody and says nothing."""
    if wanted.vlan is None or wanted.vlan == planning.DEFAULT_VLAN or wanted.vlan not in state.vlans:
        return []
    members = list(state.vlans[wanted.vlan].members)
    # A port that allows a range of VLANs carries this one too, whether the VLAN's table lists it or not.
    members += [
        name for name, port in state.ports.items() if name not in members and has_vlan(port.allowed_vlans, wanted.vlan)
    ]
    return [name for name in members if name not in wanted.ports]


def _is_refusal(error: LayerError) -> bool:
    """The switch said no and shows its prompt again; or nothing was sent at all when it went wrong."""
    return "device_message" in error.details or isinstance(error, VerifyError)


def _value(state: SwitchState, key: str) -> Any:
    """What is there now for a key of `Operation.changes`, in the same notation as its "before"."""
    kind, _blank, rest = key.partition(" ")
    if kind == "roce":
        return state.roce.mode
    if kind == "vlan":
        known = state.vlans.get(int(rest))
        return {"name": known.name} if known else None
    if kind == "ip":
        return "on" if any(re.fullmatch(planning.ROUTING, line) for line in state.lines) else None
    if kind == "interface":
        return "present" if int(rest.split()[1]) in state.svis else None
    name, setting = rest.split()
    return _port_value(state.ports[name], setting)


def _port_value(port: Port, setting: str) -> Any:
    if setting == "access_vlan" and port.mode != "access":
        return planning.DEFAULT_VLAN  # as `plan` sees it: a port that is no access port has not got one yet
    if setting.startswith("carries:"):
        return port.mode == "trunk" and has_vlan(port.allowed_vlans, int(setting.partition(":")[2]))
    return planning.carried(port) or None if setting == "carried" else getattr(port, setting)


def _before(operations: Sequence[Operation]) -> dict[str, Any]:
    """Of a setting that several of them change, the value before the first."""
    return {key: before for each in reversed(operations) for key, (before, _after) in each.changes.items()}


def _way_back(state: SwitchState, operation: Operation, first: SwitchState, own: Sequence[str]) -> list[str]:
    """The inverse, as far as it is needed: a link is not bounced to undo what never happened, and what another user
    has set since, or uses (a VLAN), stays."""
    differing = [
        key
        for key, (before, after) in operation.changes.items()
        if _value(state, key) != before and not _somebodys(state, key, after, first, own)
    ]
    members = operation.payload["members"]
    if not differing or not operation.inverse:
        return []
    if not members or len(differing) == len(members):
        return operation.inverse.split("\n")
    return [line for key in differing for line in members[key.split()[1]]["inverse"]]


def _somebodys(state: SwitchState, key: str, after: Any, first: SwitchState, own: Sequence[str]) -> bool:
    kind, _blank, rest = key.partition(" ")
    if kind == "port":
        return bool(_value(state, key) != after)
    return kind == "vlan" and any(
        port.access_vlan == int(rest) or has_vlan(port.allowed_vlans, int(rest))
        for name, port in state.ports.items()
        if name not in own and (name not in first.ports or _vlans(port) != _vlans(first.ports[name]))
    )


def _vlans(port: Port) -> tuple[int | None, str]:
    return port.access_vlan, port.allowed_vlans


def _port_fact(state: SwitchState, name: str, counters: Mapping[str, int]) -> dict[str, Any]:
    pfc = state.pfc.get(name)
    return observed.port_fact(
        state.ports[name], pfc_oper=pfc[1].lower() if pfc else None, counters=counted(state, name, counters)
    )


def counted(state: SwitchState, name: str, counters: Mapping[str, int]) -> dict[str, int]:
    """All counters of a port; ``counters``: those that were read by themselves."""
    marked = {"ecn_marked": state.marked[name]} if name in state.marked else {}
    return {**state.ports[name].counters, **marked, **counters}
