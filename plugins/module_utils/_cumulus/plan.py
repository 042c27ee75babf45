# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has to change on a Cumulus switch, as data. Pure: no I/O, no Ansible.

The plan is the same for both command languages; a `Dialect` puts each change into words: trees for NVUE, command lines
for NCLU. On NVUE all operations of a plan are one revision and take effect together or not at all.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import re
from typing import Any, Iterable, Mapping, Protocol, Sequence

from .._layer import Operation, RefusedError
from .._switch.plan import MODES, MTU_MAX, MTU_MIN, VLAN_MAX, VLAN_MIN, ports_or_all
from . import tree as trees
from .state import ROCE_PRIORITY, Port, State, is_on

__all__ = ["DISRUPTIONS", "MODES", "Dialect", "Wanted", "Words", "plan", "request", "unhealthy"]

DISRUPTIONS = ("any", "requested_ports", "none")
DEFAULT_DOMAIN = {"nvue": "br_default", "nclu": "bridge"}
_PORT_RE = re.compile(r"(swp\d+(?:s\d+)?)(?:-(?:(swp)?(\d+)))?")
_DOMAIN_RE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,14}")
_RANGE_LIMIT = 256


@dataclasses.dataclass(frozen=True)
class Wanted:
    """The request, validated as far as that is possible without the switch.

    ``mode`` None: RoCE off. ``vlan``/``mtu`` None: leave as it is. ``convertible``: ports that may become access ports
    although they carry something now; None: any of the requested. ``neighbors``: patterns of the LLDP names that may be
    behind a port that is changed; empty: any. ``strangers``: ports that may be changed whoever is behind them, None:
    any. ``disruption``: one of `DISRUPTIONS`.
    """

    mode: str | None = "lossless"
    vlan: int | None = None
    ports: tuple[str, ...] = ()
    mtu: int | None = None
    convertible: frozenset[str] | None = frozenset()
    svi: bool = False
    domain: str = "br_default"
    neighbors: tuple[str, ...] = ()
    strangers: frozenset[str] | None = frozenset()
    disruption: str = "any"


@dataclasses.dataclass(frozen=True)
class Words:
    """One change in a switch's own language: what is sent, how it is taken back, and what the transport needs."""

    lines: Sequence[str]
    inverse: Sequence[str]
    payload: Mapping[str, Any] = dataclasses.field(default_factory=dict)


class Dialect(Protocol):
    """How a change is said. Every method gets the state before the plan."""

    def vlan(self, state: State, wanted: Wanted) -> Words:
        """Create the VLAN."""

    def svi(self, state: State, wanted: Wanted) -> Words:
        """Create its layer 3 interface."""

    def roce(self, state: State, wanted: Wanted) -> Words:
        """Change the RoCE mode, or switch RoCE off."""

    def release(self, state: State, wanted: Wanted, port: Port) -> Words:
        """Take from a port what it carries, so that it can become an access port."""

    def access(self, state: State, wanted: Wanted, names: Sequence[str]) -> Words:
        """Make ports access ports of the VLAN."""

    def mtu(self, state: State, wanted: Wanted, names: Sequence[str]) -> Words:
        """Set the MTU of ports."""


# --- the request


def expand_ports(host: str, spec: str) -> list[str]:
    """``swp1-4`` -> swp1 ... swp4; ``swp3s0-1`` -> the first two lanes of a split port."""
    match = _PORT_RE.fullmatch(str(spec).strip())
    if not match:
        raise RefusedError(
            "not a port or a range of ports",
            host=host,
            thing="ports",
            value=spec,
            remedy="write ports as swp1, ranges as swp1-4, lanes of a split port as swp3s0-3, one list entry each",
        )
    first, _prefix, last = match.groups()
    kind, low = trees.split_port(first) or ("", 0)
    high = int(last) if last is not None else low
    if not 0 <= high - low < _RANGE_LIMIT:
        raise RefusedError(
            f"a range runs upwards and covers at most {_RANGE_LIMIT} ports",
            host=host,
            thing="ports",
            value=spec,
            remedy="write one list entry per range",
        )
    return [f"{kind}{number}" for number in range(low, high + 1)]


def _expand_all(host: str, specs: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({name for spec in specs for name in expand_ports(host, spec)}, key=trees.port_key))


def request(host: str, params: Mapping[str, Any]) -> Wanted:
    """The module's parameters as `Wanted`. Raises `RefusedError` before anything is sent, even before the login."""
    vlan, mtu = params.get("vlan"), params.get("mtu")
    ports = _expand_all(host, params.get("ports") or ())
    if vlan is not None and not VLAN_MIN <= vlan <= VLAN_MAX:
        raise RefusedError(
            f"a VLAN has a number from {VLAN_MIN} to {VLAN_MAX} (0 and 4095 are reserved by 802.1Q)",
            host=host,
            thing="vlan",
            value=vlan,
            remedy="choose a free number for the RDMA network",
        )
    if mtu is not None and not MTU_MIN <= mtu <= MTU_MAX:
        raise RefusedError(
            f"the switch takes an MTU from {MTU_MIN} to {MTU_MAX}",
            host=host,
            thing="mtu",
            value=mtu,
            remedy="use 9216, which leaves room for hosts with 9000",
        )
    mode = params.get("mode", "lossless")
    if mode == "semi-lossless":
        raise RefusedError(
            "Cumulus Linux has no semi-lossless mode, only lossless and lossy",
            host=host,
            thing="mode",
            value=mode,
            remedy="decide between lossless (PFC and ECN) and lossy (ECN alone); nothing here picks one for you",
        )
    if params.get("svi") and vlan is None:
        raise RefusedError("a layer 3 interface without a VLAN", host=host, thing="svi", remedy="set vlan")
    if mtu is not None and not ports:
        raise RefusedError("an MTU without ports", host=host, thing="mtu", value=mtu, remedy="set ports")
    domain = params.get("bridge_domain") or DEFAULT_DOMAIN[params.get("transport") or "nvue"]
    if not _DOMAIN_RE.fullmatch(domain):
        raise RefusedError(
            "not the name of a bridge",
            host=host,
            thing="bridge_domain",
            value=domain,
            remedy="use up to 15 letters, digits and _ . -, beginning with a letter",
        )
    return Wanted(
        mode=None if mode == "absent" else mode,
        vlan=vlan,
        ports=ports,
        mtu=mtu,
        convertible=_ports_or_all(host, "allow_mode_change", params.get("allow_mode_change", False)),
        svi=bool(params.get("svi")),
        domain=domain,
        neighbors=tuple(pattern.strip() for pattern in params.get("expected_neighbors") or () if pattern.strip()),
        strangers=_ports_or_all(host, "allow_unexpected_neighbors", params.get("allow_unexpected_neighbors", False)),
        disruption=params.get("allow_disruption") or "any",
    )


def _ports_or_all(host: str, option: str, value: Any) -> frozenset[str] | None:
    return ports_or_all(host, option, value, expand_all=_expand_all, remedy="name the ports, for example ['swp31']")


# --- refusals


def refuse(state: State, wanted: Wanted) -> None:
    """Raise `RefusedError` if a port is missing or would lose something that nobody gave up. All reasons at once."""
    missing = [name for name in wanted.ports if name not in state.ports]
    if missing:
        hints = [
            f"{name} is split into {trees.compressed(state.split[name])}" for name in missing if name in state.split
        ]
        raise RefusedError(
            "no such port on this switch" + (" (" + "; ".join(hints) + ")" if hints else ""),
            host=state.host,
            thing="ports",
            value=trees.compressed(missing),
            remedy=f"choose from {trees.compressed(state.ports)}",
            missing=missing,
        )
    reasons = [reason for name in wanted.ports for reason in _reasons_against(state.ports[name], wanted)]
    if reasons:
        raise RefusedError(
            "; ".join(reasons),
            host=state.host,
            thing="ports",
            remedy="take these ports out of the list; a trunk or routed port that is really meant to lose what it "
            "carries can be named in allow_mode_change",
            reasons=reasons,
        )


def _reasons_against(port: Port, wanted: Wanted) -> list[str]:
    if port.bond:
        return [f"{port.name} is a member of {port.bond}, which carries its VLANs and its MTU"]
    reasons = []
    if port.above:
        reasons.append(f"{port.name} carries the interfaces {', '.join(port.above)}")
    elif wanted.vlan is not None and _loses(port, wanted) and not _may_convert(port, wanted):
        reasons.append(f"{port.name} is a {port.mode} port that carries {port.carries} and would lose it")
    return reasons


def _refuse_neighbors(state: State, wanted: Wanted, operations: Iterable[Operation]) -> None:
    """A port that is changed leads to hosts that were expected there; ports without a link are not looked at."""
    if not wanted.neighbors or wanted.strangers is None:
        return
    changed = {key.split()[1] for operation in operations for key in operation.changes if key.startswith("port ")}
    reasons = []
    for name in sorted(changed - wanted.strangers, key=trees.port_key):
        port = state.ports[name]
        if port.up and not port.neighbors:
            reasons.append(f"behind {name} nobody announces himself")
        elif port.up:
            unknown = [each for each in port.neighbors if not _is_expected(each, wanted.neighbors)]
            reasons += [f"behind {name} is {', '.join(unknown)}"] if unknown else []
    if reasons:
        raise RefusedError(
            "; ".join(reasons) + f", and only {', '.join(wanted.neighbors)} may be behind a port that is changed",
            host=state.host,
            thing="expected_neighbors",
            remedy="check cabling and ports; a port that is right all the same can be named in "
            "allow_unexpected_neighbors; LLDP has to be on, on the switch and on the host",
            reasons=reasons,
        )


def _is_expected(neighbor: str, patterns: Iterable[str]) -> bool:
    """Without regard to case; a name without a dot fits that host in any domain."""
    names = {neighbor.lower(), neighbor.lower().partition(".")[0]}
    return any(fnmatch.fnmatchcase(name, pattern.lower()) for name in names for pattern in patterns)


def _refuse_disruption(state: State, wanted: Wanted, operations: Iterable[Operation]) -> None:
    """Refuse before anything is sent, and name every change that would reach further than it may."""
    if wanted.disruption == "any":
        return
    reasons = []
    for operation in operations:
        beyond = [name for name in operation.payload["bounces"] if name not in wanted.ports]
        if wanted.disruption == "none" and operation.disrupts:
            reasons.append(f"{operation.description}: {operation.disrupts}")
        elif wanted.disruption == "requested_ports" and beyond:
            reasons.append(
                f"{operation.description}: it may disturb {trees.compressed(beyond)}, which are not in ports"
            )
    if reasons:
        raise RefusedError(
            "; ".join(reasons),
            host=state.host,
            thing="allow_disruption",
            value=wanted.disruption,
            remedy="run this in a change window with a wider allow_disruption",
            reasons=reasons,
        )


def _may_convert(port: Port, wanted: Wanted) -> bool:
    return wanted.convertible is None or port.name in wanted.convertible


def _loses(port: Port, wanted: Wanted) -> bool:
    """An access port only changes its VLAN; whatever else is configured would be gone."""
    return port.mode in ("trunk", "routed") or (port.mode == "access" and wanted.domain not in port.domains)


# --- operations


def plan(state: State, wanted: Wanted, dialect: Dialect) -> list[Operation]:
    """The operations in their order. Raises `RefusedError` if one of them would do harm."""
    refuse(state, wanted)
    operations: list[Operation] = []
    if wanted.vlan is not None and wanted.vlan not in state.vlans:
        operations.append(
            _operation(
                f"create VLAN {wanted.vlan} in bridge {wanted.domain}",
                dialect.vlan(state, wanted),
                {f"vlan {wanted.vlan}": (None, {"bridge": wanted.domain})},
            )
        )
    if wanted.vlan is not None and wanted.svi and wanted.vlan not in state.svis:
        operations.append(
            _operation(
                f"create the layer 3 interface of VLAN {wanted.vlan}",
                dialect.svi(state, wanted),
                {f"interface vlan{wanted.vlan}": (None, "present")},
            )
        )
    operations += _roce(state, wanted, dialect)
    operations += _ports(state, wanted, dialect)
    operations += _mtus(state, wanted, dialect)
    _refuse_neighbors(state, wanted, operations)
    _refuse_disruption(state, wanted, operations)
    return operations


def _roce(state: State, wanted: Wanted, dialect: Dialect) -> list[Operation]:
    """Only when the mode differs: whatever it changes, every port's buffers are rewritten."""
    now = state.roce.mode
    if now == wanted.mode:
        return []
    up = [name for name, port in state.ports.items() if port.up]
    return [
        _operation(
            f"RoCE mode {now or 'off'} -> {wanted.mode or 'off'}",
            dialect.roce(state, wanted),
            {"roce": (now, wanted.mode)},
            disrupts="buffers, scheduling and trust of every port are rewritten, and traffic of any of them may stop "
            f"for a moment (up now: {trees.compressed(up) or 'none'})",
            bounces=tuple(up),
        )
    ]


def _ports(state: State, wanted: Wanted, dialect: Dialect) -> list[Operation]:
    if wanted.vlan is None:
        return []
    operations = []
    differing = [
        state.ports[name]
        for name in wanted.ports
        if not (
            state.ports[name].mode == "access"
            and state.ports[name].access_vlan == wanted.vlan
            and wanted.domain in state.ports[name].domains
        )
    ]
    for port in differing:
        if _loses(port, wanted):
            operations.append(
                _operation(
                    f"port {port.name}: no longer a {port.mode} port",
                    dialect.release(state, wanted, port),
                    {f"port {port.name} mode": (port.mode, "access")},
                    disrupts=f"port {port.name} loses {port.carries}",
                    bounces=(port.name,),
                )
            )
    groups: dict[str, list[str]] = {}
    for port in differing:
        here = port.mode == "access" and wanted.domain in port.domains
        groups.setdefault(f"VLAN {port.access_vlan}" if here else "no access VLAN", []).append(port.name)
    for old, names in groups.items():
        spec = trees.compressed(names)
        olds = {name: state.ports[name].access_vlan if old != "no access VLAN" else None for name in names}
        operations.append(
            _operation(
                f"ports {spec}: {old} -> access VLAN {wanted.vlan}",
                dialect.access(state, wanted, names),
                {f"port {name} access_vlan": (olds[name], wanted.vlan) for name in names},
                disrupts=f"ports {spec} leave {old}" if old != "no access VLAN" else "",
                bounces=tuple(names),
            )
        )
    return operations


def _mtus(state: State, wanted: Wanted, dialect: Dialect) -> list[Operation]:
    if wanted.mtu is None:
        return []
    groups: dict[int, list[str]] = {}
    for name in wanted.ports:
        if state.ports[name].mtu != wanted.mtu:
            groups.setdefault(state.ports[name].mtu, []).append(name)
    return [
        _operation(
            f"ports {trees.compressed(names)}: MTU {old} -> {wanted.mtu}",
            dialect.mtu(state, wanted, names),
            {f"port {name} mtu": (old, wanted.mtu) for name in names},
            disrupts=f"ports {trees.compressed(names)} are reconfigured; a link may bounce",
            bounces=tuple(names),
        )
        for old, names in groups.items()
    ]


def _operation(
    description: str,
    words: Words,
    changes: Mapping[str, tuple[Any, Any]],
    disrupts: str = "",
    bounces: tuple[str, ...] = (),
) -> Operation:
    return Operation(
        description=description,
        command="\n".join(words.lines),
        changes=changes,
        inverse="\n".join(words.inverse),
        disrupts=disrupts,
        payload={"lines": tuple(words.lines), "bounces": bounces, **words.payload},
    )


# --- judgements


def unhealthy(state: State, wanted: Wanted) -> list[str]:
    """What contradicts the wanted RoCE mode although it is configured. Ports that are down are left out."""
    roce = state.roce
    if roce.mode != wanted.mode or not roce.readable:
        return []
    if wanted.mode is None:
        return [f"RoCE is off in the configuration, and the switch reports mode {roce.running}"] if roce.running else []
    problems = [f"exception list: {row}" for row in roce.exceptions]
    if roce.running != wanted.mode:
        problems.append(f"the switch reports mode {roce.running or 'none'}")
    if "dscp" not in roce.trust.lower():
        problems.append(f"port trust mode is {roce.trust or 'not shown'}, without DSCP")
    if "ecn" not in roce.congestion.lower():
        problems.append(f"congestion control is {roce.congestion or 'not shown'}, not ECN")
    elif ROCE_PRIORITY not in roce.ecn_classes:
        problems.append(f"ECN is on for the traffic classes {sorted(roce.ecn_classes)}, not for {ROCE_PRIORITY}")
    if wanted.mode == "lossless":
        if ROCE_PRIORITY not in roce.pfc_priorities:
            problems.append(f"PFC is on for the priorities {sorted(roce.pfc_priorities)}, not for {ROCE_PRIORITY}")
        problems += [
            f"PFC {way} is {word or 'not shown'}"
            for way, word in (("receive", roce.pfc_rx), ("transmit", roce.pfc_tx))
            if not is_on(word)
        ]
        for name in wanted.ports:
            port = state.ports[name]
            if port.up and port.pfc == "disabled":
                problems.append(f"port {name}: PFC is not in force")
    return problems


def own_line(line: str, wanted: Wanted) -> bool:
    """Whether an unsaved line (``+ nv set ...``, ``- nv ...``) belongs to what this request asks for."""
    own = [r"qos roce\b.*"]
    if wanted.vlan is not None:
        bridge = rf"bridge domain {re.escape(wanted.domain)}"
        own += [bridge, rf"{bridge} vlan {wanted.vlan}", rf"{bridge} type vlan-aware"]
        if wanted.svi:
            own.append(rf"interface vlan{wanted.vlan}\b.*")
    match = re.fullmatch(r"[+-] nv (?:set|unset) (.*)", line)
    if not match:
        return False
    if any(re.fullmatch(pattern, match.group(1)) for pattern in own):
        return True
    port = re.fullmatch(r"interface (\S+) (bridge|link mtu|type|ip)\b.*", match.group(1))
    if not port or not set(trees.expand(port.group(1))) <= set(wanted.ports):
        return False
    kind = port.group(2)
    if kind == "link mtu":
        return wanted.mtu is not None
    if kind == "ip":  # what a converted port lost
        return wanted.vlan is not None and line.startswith("-")
    return wanted.vlan is not None or kind == "type"


def unexpected_members(state: State, wanted: Wanted) -> list[str]:
    """Who else is in the wanted VLAN. VLAN 1 holds everybody and says nothing."""
    if wanted.vlan in (None, 1):
        return []
    return [name for name in state.members.get(wanted.vlan or 0, ()) if name not in wanted.ports]
