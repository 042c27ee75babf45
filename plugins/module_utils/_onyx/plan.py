"""What has to change on an Onyx switch, as data. Pure: no I/O, no Ansible.

The order is the least disturbing one for a device without transactions: VLAN, RoCE mode (one toggle of all links),
port modes, VLANs or addresses of the ports, MTU. Every command is a single line that leaves the session in
configuration mode.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Collection, Iterable, Mapping, Sequence

from .._layer import Operation, RefusedError
from .._switch import guards
from .._switch import request as asking
from .._switch.guards import Use
from .._switch.judge import has_vlan
from .._switch.request import Naming, Wanted
from .state import Port, Roce, SwitchState, port_key

MODES = ("lossless", "semi-lossless", "lossy", "absent")
ROCE_SINCE = (3, 8, 2000)
DEFAULT_VLAN = 1
_RANGE_RE = re.compile(r"(?:Eth|ethernet )?(\d+/\d+(?:/\d+)?)(?:-(\d+/\d+(?:/\d+)?))?")
_RANGE_LIMIT = 256
ROUTING = r"ip (?:routing|l3)(?: vrf default)?"


def expand(host: str, spec: str) -> list[str]:
    """``1/1-1/4`` -> ``["1/1", "1/2", "1/3", "1/4"]``; a range stays within one slot and one breakout."""
    match = _RANGE_RE.fullmatch(str(spec).strip())
    if not match:
        raise asking.bad_range(
            host,
            spec,
            "not a port or a range of ports",
            "write ports as 1/1, ranges as 1/1-1/4, breakout ports as 1/1/1-1/1/4, one list entry each",
        )
    first, last = match.group(1), match.group(2) or match.group(1)
    parent, low = first.rsplit("/", 1)
    other, high = last.rsplit("/", 1)
    count = int(high) - int(low) + 1
    if parent != other or not 0 < count <= _RANGE_LIMIT:
        raise asking.bad_range(
            host,
            spec,
            f"a range runs upwards within one slot (or one breakout port) and covers at most {_RANGE_LIMIT} ports",
            "write one list entry per slot or breakout port",
        )
    return [f"{parent}/{number}" for number in range(int(low), int(high) + 1)]


NAMING = Naming(expand=expand, key=port_key, example="['1/31']")


def request(host: str, params: Mapping[str, Any]) -> Wanted:
    return asking.request(host, params, NAMING)


def runs(names: Iterable[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Contiguous ports as ranges: ``[("1/1-1/4", ("1/1", ...)), ("1/7", ("1/7",))]``.

    A range never crosses a slot, a breakout or a port that is not in the list: what a switch does with a range over a
    hole is unknown.
    """
    groups: list[list[str]] = []
    for name in sorted(names, key=port_key):
        if groups:
            before, now = port_key(groups[-1][-1]), port_key(name)
            if before[:-1] == now[:-1] and before[-1] + 1 == now[-1]:
                groups[-1].append(name)
                continue
        groups.append([name])
    return [(group[0] if len(group) == 1 else f"{group[0]}-{group[-1]}", tuple(group)) for group in groups]


def plan(state: SwitchState, wanted: Wanted) -> list[Operation]:
    """The operations, in the order in which they are sent. Raises `RefusedError` if one of them would do harm."""
    _refuse_old_release(state, wanted)
    _refuse_other_priority(state, wanted)
    _refuse_ipv6(state, wanted)
    refuse_missing(state.host, state.ports, wanted.ports)
    reasons = [reason for name in wanted.ports for reason in _reasons_against(state.ports[name], wanted)]
    guards.refuse_used(state.host, reasons)
    operations = [*_vlan(state, wanted), *roce_operations(state, wanted), *_routing(state, wanted)]
    operations += [*_port_modes(state, wanted), *_CONTENTS[wanted.port_mode](state, wanted), *_mtus(state, wanted)]
    if state.neighbors is not None:
        guards.refuse_neighbors(state.host, behind(state, touched(operations)), wanted)
    guards.refuse_disruption(state.host, operations, wanted, spelled)
    return operations


def touched(operations: Iterable[Operation]) -> list[str]:
    """The ports whose own configuration changes, in order."""
    names = {
        found.group(1)
        for operation in operations
        for found in (re.match(r"port (\S+) ", key) for key in operation.changes)
        if found
    }
    return sorted(names, key=port_key)


def require_health(state: SwitchState, wanted: Wanted) -> None:
    remedy = (
        "remove the QoS, buffer or flow control settings that conflict with the RoCE template "
        "(show roce, show running-config) and run this again; nothing was saved"
    )
    guards.refuse_unhealthy(state.host, wanted, unhealthy(state, wanted), remedy)


def unhealthy(state: SwitchState, wanted: Wanted) -> list[str]:
    """What contradicts the wanted RoCE mode. Ports that are down are left out: they have no operational state."""
    roce = state.roce
    if wanted.mode is None or roce.mode != wanted.mode:
        return []
    problems = [f"exception list: {row}" for row in roce.exceptions]
    if roce.trust.upper() != "L3":
        problems.append(f"port trust mode is {roce.trust or 'not shown'}, not L3")
    if "ecn" not in roce.ecn.lower():
        problems.append(f"congestion control is {roce.ecn or 'not shown'}, not ECN")
    lossless = wanted.mode == "lossless"
    if lossless and roce.pfc.lower() != "enabled":
        problems.append(f"PFC is {roce.pfc or 'not shown'}")
    if lossless and roce.priorities.get(wanted.priority, "").lower() != "enabled":
        problems.append(f"PFC on priority {wanted.priority} is {roce.priorities.get(wanted.priority, 'not shown')}")
    for name in wanted.ports:
        trust = state.trust.get(name, "")
        if trust.upper() not in ("L3", "BOTH"):
            problems.append(f"port {name} trusts {trust or 'nothing shown'}, not L3")
        traffic_class = roce_class(roce, wanted.priority)
        ecn = state.ecn.get(name, {}).get(traffic_class, "")
        if "ecn" not in ecn.lower():
            problems.append(f"port {name}: traffic class {traffic_class} has congestion control {ecn or 'not shown'}")
        _admin, oper = state.pfc.get(name, ("", ""))
        if lossless and state.ports[name].up and oper.lower() != "enabled":
            problems.append(f"port {name}: PFC is operationally {oper or 'not shown'}")
    return problems


def roce_class(roce: Roce, priority: int) -> int:
    """The traffic class of a priority; the one of the same number where the switch does not say."""
    return next((number for each, number, _application, _ets in roce.classes if each == priority), priority)


# --- refusals


def _refuse_old_release(state: SwitchState, wanted: Wanted) -> None:
    if wanted.mode is not None and state.version.release < ROCE_SINCE:
        raise RefusedError(
            "the release does not know the roce command (3.8.2000 introduced it)",
            host=state.host,
            thing="release",
            value=state.version.text,
            remedy="upgrade the switch; PFC, ECN and buffers are not configured one by one here",
        )


def _refuse_other_priority(state: SwitchState, wanted: Wanted) -> None:
    """The command sets PFC and ECN on priority 3: with another one wanted it would be sent, fail and be taken back."""
    if wanted.mode in (None, "absent") or state.roce.mode == wanted.mode or wanted.priority == asking.PRIORITY:
        return
    raise RefusedError(
        f"RoCE mode {wanted.mode} has to be set, and the switch's template knows priority {asking.PRIORITY} alone",
        host=state.host,
        thing="priority",
        value=wanted.priority,
        remedy=f"set rocemesh_roce_priority to {asking.PRIORITY}, or move RoCE there by hand (PFC, ECN, buffers "
        "and maps) before this run",
    )


def _refuse_ipv6(state: SwitchState, wanted: Wanted) -> None:
    """IPv6 at a routed port needs settings whose wording no public text shows."""
    found = [f"{name} {text}" for name, texts in wanted.addresses.items() for text in texts if ":" in text]
    if found:
        raise RefusedError(
            "IPv6 addresses are not configured on Onyx",
            host=state.host,
            thing="addresses",
            value=", ".join(found),
            remedy="name the IPv4 addresses alone, and configure IPv6 by hand; it stays as it is",
        )


def refuse_missing(host: str, ports: Collection[str], names: Iterable[str]) -> None:
    missing = [name for name in names if name not in ports]
    lanes = {name: [other for other in ports if other.startswith(name + "/")] for name in missing}
    split = {name: spelled(others) for name, others in lanes.items() if others}
    guards.refuse_missing(host, missing, split, spelled(missing), spelled(ports))


def spelled(names: Iterable[str]) -> str:
    return ", ".join(spec for spec, _names in runs(names))


def behind(state: SwitchState, names: Iterable[str]) -> dict[str, Sequence[guards.Neighbor]]:
    """Who is behind those of the ports that have a link."""
    return {name: (state.neighbors or {}).get(name, ()) for name in names if state.ports[name].up}


def _reasons_against(port: Port, wanted: Wanted) -> list[str]:
    if port.lag:
        return [f"{port.name} is a member of {port.lag}, which carries its VLANs and its MTU"]
    if port.mode == "unknown":  # also if only its MTU is to change: its owner is not known
        return [f"{port.name} is neither a layer 2 nor a recognisable routed port (member of an MLAG?)"]
    if not wanted.sets_ports or _is_as_wanted(port, wanted):
        return []
    return guards.reasons(port.name, _lost(port, wanted), mode=port.mode, permitted=wanted.may_convert(port.name))


def _is_as_wanted(port: Port, wanted: Wanted) -> bool:
    """What the port carries besides stays, and is no reason to change it."""
    if port.mode != wanted.port_mode:
        return False
    if port.mode == "routed":
        return port.ipv4 == list(wanted.addresses[port.name])
    if port.mode == "trunk":
        return has_vlan(port.allowed_vlans, wanted.vlan or 0)
    return port.access_vlan == wanted.vlan


def _lost(port: Port, wanted: Wanted) -> list[Use]:
    """What the port is used for and would lose, its mode included. A trunk loses nothing when it gets one VLAN more."""
    if port.mode == wanted.port_mode == "trunk":
        return []
    if port.mode == "routed" and wanted.port_mode != "routed":
        own = [Use(line.removeprefix(f"interface ethernet {port.name} ")) for line in port.config]
    else:
        own = [use for use in port.uses if not use.elsewhere]
    if port.mode not in ("routed", "access"):
        native = f" and untagged VLAN {port.access_vlan}" if port.access_vlan is not None else ""
        own.insert(0, Use(f"VLANs {port.allowed_vlans or '(no tagged ones)'}{native}"))
    return [*own, *(use for use in port.uses if use.elsewhere)]


# --- operations


def _vlan(state: SwitchState, wanted: Wanted) -> list[Operation]:
    if wanted.vlan is None:
        return []
    operations = []
    known = state.vlans.get(wanted.vlan)
    key, name = f"vlan {wanted.vlan}", wanted.vlan_name
    if known is None:
        what = f"create VLAN {wanted.vlan}" + (f" named {name}" if name else "")
        line = f"{key} name {name}" if name else key
        operations.append(operation(what, [line], {key: (None, {"name": name or ""})}, [f"no {key}"]))
    elif name is not None and known.name != name:
        sides = ({"name": known.name}, {"name": name})
        back = f'{key} name "{known.name}"' if known.name else f"no {key} name"
        operations.append(operation(f"name VLAN {wanted.vlan} {name}", [f"{key} name {name}"], {key: sides}, [back]))
    if wanted.svi and wanted.vlan not in state.svis:
        what = f"create the layer 3 interface of VLAN {wanted.vlan}"
        key = f"interface {key}"
        operations.append(operation(what, [key], {key: (None, "present")}, [f"no {key}"]))
    return operations


def roce_operations(state: SwitchState, wanted: Wanted) -> list[Operation]:
    """Only when the mode differs: the command may toggle every link of the switch, whatever it changes."""
    now = state.roce.mode
    if now == wanted.mode:
        return []
    up = [name for name, port in state.ports.items() if port.up]
    links = spelled(up) or "none"
    return [
        operation(
            f"RoCE mode {now or 'off'} -> {wanted.mode or 'off'}",
            [f"roce {wanted.mode}" if wanted.mode else "no roce"],
            {"roce": (now, wanted.mode)},
            [f"roce {now}" if now else "no roce"],
            disrupts=f"every link of the switch may toggle, not only the RoCE ports (up now: {links})",
            bounces=tuple(up),
        )
    ]


def _routing(state: SwitchState, wanted: Wanted) -> list[Operation]:
    """Without it, routed ports reach nobody but their own hosts."""
    if wanted.port_mode != "routed" or any(re.fullmatch(ROUTING, line) for line in state.lines):
        return []
    return [
        operation(
            "forward between routed ports",
            ["ip routing vrf default"],
            {"ip routing": (None, "on")},
            ["no ip routing vrf default"],
        )
    ]


def carried(port: Port) -> list[str]:
    """The lines that make an access port the port that this one is; none for an access port."""
    prefix = f"interface ethernet {port.name}"
    if port.mode == "access":
        return []
    if port.mode == "routed":
        own = [line for line in port.config if not re.search(r" (no switchport|mtu |shutdown|description )", line)]
        return [f"{prefix} no switchport force", *own]
    lines = [f"{prefix} switchport mode {port.mode}"]
    if port.access_vlan is not None:
        lines.append(f"{prefix} switchport access vlan {port.access_vlan}")
    if port.allowed_vlans or port.mode in ("trunk", "hybrid"):  # which carry every VLAN by default
        lines.append(f"{prefix} switchport {port.mode} allowed-vlan {port.allowed_vlans or 'none'}")
    return lines


def _port_modes(state: SwitchState, wanted: Wanted) -> list[Operation]:
    """One operation per port: each has its own way back."""
    if not wanted.sets_ports:
        return []
    operations = []
    for name in wanted.ports:
        port = state.ports[name]
        if port.mode == wanted.port_mode:
            continue
        prefix = f"interface ethernet {name}"
        lines, inverse = [], carried(port)
        if port.mode == "routed":
            lines.append(f"{prefix} switchport force")
            lost = guards.listed(_lost(port, wanted)) or "routing on it"
        else:
            if port.mode == "access":
                inverse = [f"{prefix} switchport mode access", f"{prefix} switchport access vlan {port.access_vlan}"]
            if wanted.port_mode == "routed":
                inverse = [f"{prefix} switchport force", *inverse]
            lost = f"VLAN {port.access_vlan}" if port.mode == "access" else f"VLANs {port.allowed_vlans or 'none'}"
        if wanted.port_mode == "routed":
            lines.append(f"{prefix} no switchport force")
        elif (port.mode, wanted.port_mode) != ("routed", "access"):
            lines.append(f"{prefix} switchport mode {wanted.port_mode}")
        changes: dict[str, tuple[Any, Any]] = {f"port {name} mode": (port.mode, wanted.port_mode)}
        if wanted.port_mode == "access":
            changes[f"port {name} carried"] = (inverse, None)
        operations.append(
            operation(
                f"port {name}: {port.mode} -> {wanted.port_mode}",
                lines,
                changes,
                inverse,
                disrupts=f"port {name} loses {lost}",
            )
        )
    return operations


def _trunk_vlans(state: SwitchState, wanted: Wanted) -> list[Operation]:
    """A port that was no trunk carries this VLAN alone, a trunk carries it as well."""
    operations = []
    for port in (state.ports[name] for name in wanted.ports):
        if _is_as_wanted(port, wanted):
            continue
        prefix = f"interface ethernet {port.name} switchport trunk allowed-vlan"
        was = port.mode == "trunk"
        operations.append(
            operation(
                f"port {port.name}: VLAN {wanted.vlan} on the trunk",
                [f"{prefix} {'add ' if was else ''}{wanted.vlan}"],
                {f"port {port.name} carries:{wanted.vlan}": (False, True)},
                [f"{prefix} {port.allowed_vlans or 'none'}"] if was else [],
            )
        )
    return operations


def _addresses(state: SwitchState, wanted: Wanted) -> list[Operation]:
    """The first address is the primary one, which changes only when all have gone."""
    operations = []
    for port in (state.ports[name] for name in wanted.ports):
        new, old = list(wanted.addresses[port.name]), port.ipv4
        if new == old:
            continue
        prefix = f"interface ethernet {port.name}"
        here = [f"{prefix} ip address {text}" for text in old]
        there = [f"{prefix} ip address {text}" for text in new]
        operations.append(
            operation(
                f"port {port.name}: address {', '.join(old) or 'none'} -> {', '.join(new)}",
                [*([f"{prefix} no ip address"] if old else []), *there],
                {f"port {port.name} ipv4": (old, new)},
                [f"{prefix} no ip address", *here],
                disrupts=f"port {port.name} loses {', '.join(old)}" if old else "",
            )
        )
    return operations


def _grouped(ports: Iterable[Port], key: Callable[[Port], Any]) -> list[tuple[str, tuple[str, ...], Any]]:
    """Ranges of ports that share the same old value, so that each range has one inverse."""
    groups: dict[Any, list[str]] = {}
    for port in ports:
        groups.setdefault(key(port), []).append(port.name)
    result = [(spec, names, old) for old, members in groups.items() for spec, names in runs(members)]
    return sorted(result, key=lambda entry: port_key(entry[1][0]))


def _access_vlans(state: SwitchState, wanted: Wanted) -> list[Operation]:
    if wanted.vlan is None:
        return []
    # A port that becomes an access port starts in the default VLAN, whatever it carried untagged before.
    ports = [state.ports[name] for name in wanted.ports]
    differing = [port for port in ports if port.mode != "access" or port.access_vlan != wanted.vlan]
    return [
        access_operation(spec, names, old, wanted.vlan)
        for spec, names, old in _grouped(
            differing, lambda port: (port.access_vlan or DEFAULT_VLAN) if port.mode == "access" else DEFAULT_VLAN
        )
    ]


def access_operation(spec: str, names: Sequence[str], old: int, new: int, note: str = "") -> Operation:
    """``names``: the ports of the range ``spec``."""

    def lines(ports: str, vlan: int) -> tuple[str, ...]:
        return (f"interface ethernet {ports} switchport access vlan {vlan}",)

    return operation(
        f"ports {spec}: access VLAN {old} -> {new}{note}",
        lines(spec, new),
        {f"port {name} access_vlan": (old, new) for name in names},
        lines(spec, old),
        disrupts=f"ports {spec} leave VLAN {old}",
        members={name: {"lines": lines(name, new), "inverse": lines(name, old)} for name in names},
    )


# What a port carries, once it is of its mode.
_CONTENTS = {"access": _access_vlans, "trunk": _trunk_vlans, "routed": _addresses}


def _mtu_lines(spec: str, mtu: int, method: str, admin: bool) -> tuple[str, ...]:
    """The commands that set an MTU. A port that is shut down stays so and needs no force."""
    prefix = f"interface ethernet {spec}"
    if not admin:
        return (f"{prefix} mtu {mtu}",)
    if method == "force":
        return (f"{prefix} mtu {mtu} force",)
    return (f"{prefix} shutdown", f"{prefix} mtu {mtu}", f"{prefix} no shutdown")


def _mtus(state: SwitchState, wanted: Wanted) -> list[Operation]:
    if wanted.mtu is None:
        return []
    differing = [state.ports[name] for name in wanted.ports if state.ports[name].mtu != wanted.mtu]
    return [
        mtu_operation(spec, names, old, wanted.mtu, admin=admin, method=wanted.mtu_method)
        for spec, names, (old, admin) in _grouped(differing, lambda port: (port.mtu, port.admin))
    ]


def mtu_operation(
    spec: str, names: Sequence[str], old: int, new: int, *, admin: bool, method: str = "force", note: str = ""
) -> Operation:
    """``names``: the ports of the range ``spec``, all of them switched on or none (``admin``)."""
    # Whether every release takes "force" is not known; shutting the port down works on all of them.
    falls_back = admin and method == "force"
    return operation(
        f"ports {spec}: MTU {old} -> {new}{note}",
        _mtu_lines(spec, new, method, admin),
        {f"port {name} mtu": (old, new) for name in names},
        _mtu_lines(spec, old, method, admin),
        disrupts=f"the links of ports {spec} bounce" if admin else "",
        bounces=tuple(names) if admin else (),
        members={
            name: {
                "lines": _mtu_lines(name, new, method, admin),
                "inverse": _mtu_lines(name, old, method, admin),
                "fallback": _mtu_lines(name, new, "shutdown", admin) if falls_back else (),
            }
            for name in names
        },
    )


# What a change of the RoCE mode rewrites by itself, at the switch and at every port.
_TEMPLATE = (
    r"(?:no )?(?:interface (?:ethernet|port-channel|mlag-port-channel) \S+ )?"
    r"(?:dcb|qos|traffic|traffic-class|traffic-pool|pool|advanced|ingress-buffer|egress-buffer|lldp|congestion-control)\b.*"
)


def foreign_lines(lines: Sequence[str], wanted: Wanted, template: bool = False) -> tuple[str, ...]:
    """Lines (``+ ...``, ``- ...``) that the request does not account for.

    What it does account for is of this run, or left by an earlier one that ended before it could save. ``template``:
    whether this run changed the RoCE mode; that an earlier one did is among the lines.
    """
    template = template or any(re.match(r"[+-] (?:no )?roce\b", line) for line in lines)
    own = [r"(?:no )?roce\b.*", *([_TEMPLATE] if template else [])]
    if wanted.vlan is not None:
        own.append(rf"vlan {wanted.vlan}(?: name .*)?")
        if wanted.svi:
            own.append(rf"interface vlan {wanted.vlan}")
    if wanted.port_mode == "routed":
        own.append(ROUTING)
    kinds = {
        "mtu .*": wanted.mtu is not None,
        "(?:no )?switchport.*": wanted.sets_ports,
        "ip address .*": wanted.port_mode == "routed",
    }
    settings = "|".join(kind for kind, asked in kinds.items() if asked)
    if wanted.ports and settings:
        names = "|".join(re.escape(name) for name in wanted.ports)
        own.append(rf"interface ethernet (?:{names}) (?:{settings})")
    pattern = re.compile("[+-] (?:" + "|".join(own) + ")")
    given_up = "|".join(re.escape(name) for name in wanted.ports if wanted.may_convert(name))
    lost = re.compile(rf"- (?:no )?interface ethernet (?:{given_up or '-'}) .*")
    return tuple(line for line in lines if not pattern.fullmatch(line) and not lost.fullmatch(line))


def operation(
    description: str,
    lines: Sequence[str],
    changes: Mapping[str, tuple[Any, Any]],
    inverse: Sequence[str],
    disrupts: str = "",
    **payload: Any,
) -> Operation:
    """``payload``: ``lines`` to send, ``bounces`` (ports whose link goes down for a moment), ``members`` (the same per
    port, for a range that is refused as a whole)."""
    return Operation(
        description=description,
        command="\n".join(lines),
        changes=changes,
        inverse="\n".join(inverse),
        disrupts=disrupts,
        payload={"lines": tuple(lines), "bounces": (), "members": {}, **payload},
    )
