# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The four verbs for an Onyx switch: the plan of `plan.py` carried out over a session of `transport.py`.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from typing import Any, Callable, Iterable, Mapping, Sequence

from .._layer import ApplyError, Layer, LayerError, Operation, ParseError, UnreachableError, VerifyError
from . import plan as planning
from . import state as parsing
from .plan import Wanted
from .state import Link, Port, Switchport, SwitchState
from .transport import Cli

SAVE_POLICIES = ("when_clean", "always", "never")
_POLL_SECONDS = 0.5
_JSON = " | json-print"


class SwitchLayer(Layer[SwitchState, Wanted]):
    """One switch, one session.

    ``connect`` opens a session (called once, and once more only to bring ports back up after a broken one). ``save``:
    when_clean, always, never. ``wait_for_links``: seconds that links which this run bounced get to come back; 0: do
    not wait. ``clock`` and ``sleep`` are injected for tests.
    """

    def __init__(
        self,
        host: str,
        connect: Callable[[], Cli],
        wanted: Wanted,
        *,
        save: str = "when_clean",
        wait_for_links: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.host = host
        self._connect = connect
        self._wanted = wanted
        self._save = save
        self._wait_for_links = wait_for_links
        self._clock = clock
        self._sleep = sleep
        self._cli: Cli | None = None
        self._first: SwitchState | None = None
        self._applied: list[Operation] = []
        self._bounced: set[str] = set()
        self._links_lost: list[str] = []
        self._notes: list[str] = []
        self._unsaved = False

    @property
    def cli(self) -> Cli:
        if self._cli is None:
            self._cli = self._connect()
        return self._cli

    def close(self) -> None:
        if self._cli is not None:
            self._cli.close()
            self._cli = None

    # --- observe

    def observe(self) -> SwitchState:
        try:
            if self._bounced:
                self._await_links()
            state = self._read_state()
        except LayerError as error:
            if self._applied:  # it broke while verifying: say what is there, unverified
                error.details.setdefault("applied", [operation.command for operation in self._applied])
                error.details.setdefault("undo", _inverses(self._applied))
            raise
        self._unsaved = state.unsaved
        if self._first is None:
            self._first = state
        return state

    def _json(self, command: str) -> str:
        return self.cli.show(command + _JSON)

    def _links(self) -> dict[str, Link]:
        return parsing.parse_links(self.host, self._json("show interfaces ethernet"))

    def _switchports(self) -> dict[str, Switchport]:
        return parsing.parse_switchport(self.host, self._json("show interfaces switchport"))

    def _read_state(self) -> SwitchState:
        host = self.host
        version = parsing.parse_version(host, self._json("show version"))
        unsaved = parsing.parse_unsaved(host, self.cli.show("show configuration files"))
        knows_roce = version.release >= planning.ROCE_SINCE
        roce = parsing.parse_roce(host, self.cli.show("show roce")) if knows_roce else parsing.Roce()
        vlans = parsing.parse_vlans(host, self._json("show vlan"))
        ports = self._ports(self._links(), self._switchports())
        foreign = self._foreign_lines() if unsaved and self._first is None else ()
        state = SwitchState(host, version, roce, vlans, ports, unsaved, foreign)
        existing = [name for name in self._wanted.ports if name in ports]
        if roce.mode is not None and roce.mode == self._wanted.mode and existing:
            state = dataclasses.replace(
                state,
                pfc=parsing.parse_pfc(host, self._json("show dcb priority-flow-control")),
                ecn=self._by_range(
                    existing, "show interfaces ethernet {0} congestion-control", parsing.parse_congestion
                ),
                trust=self._by_range(existing, "show qos interface ethernet {0}", parsing.parse_trust),
            )
        if self._wanted.svi:
            state = dataclasses.replace(state, svis=parsing.parse_svis(host, self.cli.show("show running-config")))
        return state

    def _foreign_lines(self) -> tuple[str, ...]:
        """Compare what runs with what is saved. If that cannot be read, everything unsaved counts as foreign."""
        try:
            running, saved = (
                parsing.parse_config(self.host, command, self.cli.show(command))
                for command in ("show running-config", "show configuration")
            )
        except ParseError as error:
            return (f"(unknown, because the saved configuration could not be read: {str(error)[:200]})",)
        return planning.foreign_lines(parsing.unsaved_lines(running, saved), self._wanted)

    def _ports(self, links: Mapping[str, Link], switchports: Mapping[str, Switchport]) -> dict[str, Port]:
        lags = parsing.parse_port_channels(self.host, self._json("show interfaces port-channel summary"))
        result = {}
        for name, link in links.items():
            lag = link.lag or lags.get(name)
            layer2 = switchports.get(name)
            config: tuple[str, ...] = ()
            if lag:
                mode = "lag"
            elif layer2 is not None:
                mode = layer2.mode
            else:
                mode = "routed"
                if name in self._wanted.ports:
                    config = self._interface_config(name)
                    # Absence from the layer 2 table alone makes no routed port: members of an MLAG may lack there too.
                    if not any(" no switchport" in line for line in config):
                        mode = "unknown"
            result[name] = Port(
                name=name,
                mode=mode,
                mtu=link.mtu,
                admin=link.admin,
                oper=link.oper,
                access_vlan=layer2.access_vlan if layer2 else None,
                allowed_vlans=layer2.allowed_vlans if layer2 else "",
                lag=lag,
                config=config,
                counters=link.counters,
            )
        return result

    def _interface_config(self, name: str) -> tuple[str, ...]:
        text = self.cli.show(f"show running-config interface ethernet {name}")
        return parsing.parse_interface_config(self.host, name, text)

    def _by_range(
        self, names: Sequence[str], command: str, parse: Callable[[str, str], Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Read ports by ranges; whatever a range does not answer for is asked port by port."""
        result: dict[str, Any] = {}
        for spec, members in planning.runs(names):
            with contextlib.suppress(ParseError):
                result.update(parse(self.host, self._json(command.format(spec))))
            for name in members:
                if name not in result:
                    result.update(parse(self.host, self._json(command.format(name))))
        return result

    def _await_links(self) -> None:
        """Wait until the links that this run bounced are up again; what stays down is for `plan` to judge."""
        deadline = self._clock() + self._wait_for_links
        while True:
            links = self._links()
            down = sorted((name for name in self._bounced if not links[name].up), key=parsing.port_key)
            if not down:
                break
            if self._wait_for_links <= 0:
                self._notes.append(f"these links were up before and are down now (not waited for): {', '.join(down)}")
                break
            if self._clock() >= deadline:
                self._links_lost = down
                break
            self._sleep(_POLL_SECONDS)
        self._bounced = set()

    # --- plan

    def plan(self, state: SwitchState, wanted: Wanted) -> list[Operation]:
        operations = planning.plan(state, wanted)
        try:
            if self._links_lost:
                raise VerifyError(
                    f"these links were up before and did not come back within {self._wait_for_links:g} s: "
                    + ", ".join(self._links_lost),
                    host=self.host,
                    thing="links",
                    remedy="check cable, transceiver and the host behind the port; nothing was saved, so that a "
                    "reload of the switch takes everything back",
                )
            if not operations:
                planning.require_health(state, wanted)
        except VerifyError as error:
            error.details.setdefault("applied", [operation.command for operation in self._applied])
            error.details.setdefault("undo", _inverses(self._applied))
            raise
        if not operations and not self._applied and state.unsaved and self._may_save(state):
            # Saving after own changes is `commit`, which comes after the verification.
            operations = [planning.save_operation()]
        return operations

    def _may_save(self, first: SwitchState) -> bool:
        """Saving writes the whole running configuration, with what somebody else left unsaved before this run."""
        return self._save == "always" or (self._save == "when_clean" and not first.foreign)

    # --- apply

    def apply(self, operation: Operation) -> None:
        done: list[str] = []
        try:
            for line in operation.payload["lines"]:
                refusal = self.cli.configure(line)
                if refusal:
                    self._refused(operation, line, refusal, done)
                    break
                done.append(line)
        except LayerError as error:
            self._explain_failure(error, operation, done)
            raise
        self._applied.append(operation)
        up = {name for name, port in self._first.ports.items() if port.up} if self._first else set()
        self._bounced |= up & set(operation.payload["bounces"])

    def _refused(self, operation: Operation, line: str, refusal: str, done: Sequence[str]) -> None:
        """A line was refused. A range is tried port by port, since nobody documents what a range does then."""
        self._reopen_ports(done)
        members: Mapping[str, Mapping[str, Any]] = operation.payload["members"]
        if not members or (len(members) == 1 and not any(member.get("fallback") for member in members.values())):
            raise ApplyError(
                f"the switch refused it: {refusal}",
                host=self.host,
                thing="command",
                value=line,
                remedy="see undo for taking back what was applied before; nothing was saved",
                device_message=refusal,
            )
        changed: list[str] = []
        for name, member in members.items():
            if self._differs(name, operation):
                self._configure_member(name, member, operation, changed)
            changed.append(name)
        self._notes.append(f"{line!r} was refused ({refusal}); its ports were configured one by one")

    def _differs(self, name: str, operation: Operation) -> bool:
        """Read again: the refused range may have changed some of its ports already."""
        for key, (_before, after) in operation.changes.items():
            if key == f"port {name} mtu":
                return bool(self._links()[name].mtu != after)
            if key == f"port {name} access_vlan":
                return bool(self._switchports()[name].access_vlan != after)
        return False

    def _configure_member(
        self, name: str, member: Mapping[str, Any], operation: Operation, changed: Sequence[str]
    ) -> None:
        refusals: list[str] = []
        for lines in filter(None, (member["lines"], member.get("fallback"))):
            done: list[str] = []
            for line in lines:
                refusal = self.cli.configure(line)
                if refusal:
                    refusals.append(f"{line!r}: {refusal}")
                    self._reopen_ports(done)
                    break
                done.append(line)
            else:
                return
        members = operation.payload["members"]
        raise ApplyError(
            f"the switch refused it for port {name} ({'; '.join(refusals)}); "
            f"changed before that: {', '.join(changed) or 'no port'}",
            host=self.host,
            thing="port",
            value=name,
            remedy="see undo for taking back what was applied; nothing was saved",
            device_message="\n".join(refusals),
            undo=[*("\n".join(members[other]["inverse"]) for other in reversed(changed)), *_inverses(self._applied)],
        )

    def _reopen_ports(self, done: Iterable[str]) -> None:
        """A port that this operation has shut down is not left so because a later line failed."""
        for line in done:
            if line.endswith(" shutdown") and not line.endswith(" no shutdown"):
                self.cli.configure(line[: -len("shutdown")] + "no shutdown")

    def _explain_failure(self, error: LayerError, operation: Operation, done: Sequence[str]) -> None:
        """Add how far it got, and after a broken session bring ports back up that were just shut down."""
        error.details.setdefault("applied", [*(other.command for other in self._applied), *done])
        error.details.setdefault("failed_operation", operation.command)
        undo = _inverses(self._applied)
        if isinstance(error, UnreachableError):
            # The line that was under way may have taken effect.
            undo = [*([operation.inverse] if operation.inverse else []), *undo]
            error.details["ports_brought_up"] = self._rescue(operation)
        error.details.setdefault("undo", undo)

    def _rescue(self, operation: Operation) -> list[str]:
        """One new session to undo the ``shutdown`` of this operation; what was sent, or nothing if that failed too."""
        lines = [line for line in operation.payload["lines"] if line.endswith(" no shutdown")]
        if not lines:
            return []
        try:
            self.close()
            return [line for line in lines if not self.cli.configure(line)]
        except LayerError:
            return []

    # --- commit

    def commit(self, operations: Sequence[Operation]) -> None:
        """Save, once everything was verified, unless that would write what somebody else left unsaved."""
        if not self._applied or self._first is None or not self._unsaved or not self._may_save(self._first):
            return
        try:
            self._write_configuration()
        except LayerError as error:
            self._explain_failure(error, planning.save_operation(), ())
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
            )

    # --- results

    def warnings(self, state: SwitchState, wanted: Wanted) -> list[str]:
        result = [*self._notes, *(f"the switch said something unexpected: {text}" for text in self.cli.remarks)]
        if self.cli.role == "standby":
            result.append("this node calls itself standby: each MLAG peer is configured on its own")
        foreign = self._first.foreign if self._first else ()
        if self._unsaved and foreign:
            result.append(
                f"nothing was saved, because somebody else's changes are unsaved (save={self._save}): "
                + "; ".join(foreign[:5])
                + (f" and {len(foreign) - 5} more" if len(foreign) > 5 else "")
                + ". A reload loses them and what this run changed. Look at them, then use save=always"
            )
        elif self._unsaved:
            result.append(f"not saved (save={self._save}): a reload of the switch takes unsaved changes back")
        strangers = unexpected_members(state, wanted)
        if strangers:
            result.append(f"VLAN {wanted.vlan} is not isolated: it also reaches {', '.join(strangers)}")
        for name in wanted.ports:
            port = state.ports[name]
            if not port.admin:
                result.append(f"port {name} is shut down")
            elif not port.up:
                result.append(f"port {name} has no link (operationally {port.oper})")
        return result

    def facts(self, state: SwitchState) -> dict[str, Any]:
        wanted = self._wanted
        vlan = None
        if wanted.vlan is not None and wanted.vlan in state.vlans:
            known = state.vlans[wanted.vlan]
            vlan = {
                "id": wanted.vlan,
                "name": known.name,
                "members": list(known.members),
                "unexpected_members": unexpected_members(state, wanted),
            }
        roce = state.roce
        return {
            "version": state.version.text,
            "roce": {
                "mode": roce.mode or "absent",
                "trust": roce.trust,
                "ecn": roce.ecn,
                "ecn_min_kb": roce.ecn_min_kb,
                "ecn_max_kb": roce.ecn_max_kb,
                "pfc": roce.pfc,
                "pfc_priorities": sorted(number for number, text in roce.priorities.items() if text == "enabled"),
                "lldp": roce.lldp,
                "exceptions": list(roce.exceptions),
            },
            "vlan": vlan,
            "ports": {name: _port_fact(state, name) for name in wanted.ports},
            "saved": not self._unsaved,
            "unsaved_before": bool(self._first and self._first.unsaved),
            "foreign_changes": list(self._first.foreign) if self._first else [],
        }


def unexpected_members(state: SwitchState, wanted: Wanted) -> list[str]:
    """Who else is in the wanted VLAN; the default VLAN holds everybody and says nothing."""
    if wanted.vlan is None or wanted.vlan == planning.DEFAULT_VLAN or wanted.vlan not in state.vlans:
        return []
    return [name for name in state.vlans[wanted.vlan].members if name not in wanted.ports]


def _port_fact(state: SwitchState, name: str) -> dict[str, Any]:
    port = state.ports[name]
    pfc = state.pfc.ports.get(name) if state.pfc else None
    return {
        "mode": port.mode,
        "access_vlan": port.access_vlan,
        "mtu": port.mtu,
        "admin": "up" if port.admin else "down",
        "oper": "up" if port.up else "down",
        "pfc_oper": pfc[1].lower() if pfc else None,
        "counters": dict(port.counters),
    }


def _inverses(operations: Sequence[Operation]) -> list[str]:
    return [operation.inverse for operation in reversed(operations) if operation.inverse]
