# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has to change on an Onyx switch, as data. Pure: no I/O, no Ansible.

The order is the least disturbing one for a device without transactions: VLAN, RoCE mode (one toggle of all links),
port modes, access VLANs, MTU. Every command is a single line that leaves the session in configuration mode.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import re
from typing import Any, Callable, Iterable, Mapping, Sequence

from .._layer import Operation, RefusedError, VerifyError
from .state import Neighbor, Port, SwitchState, port_key

MODES = ("lossless", "semi-lossless", "lossy", "absent")
ROCE_SINCE = (3, 8, 2000)
MTU_MIN, MTU_MAX = 1500, 9216
VLAN_MIN, VLAN_MAX = 1, 4094
DEFAULT_VLAN = 1
ROCE_PRIORITY = 3  # the switch priority, and the traffic class, that the RoCE template uses
_RANGE_RE = re.compile(r"(?:Eth|ethernet )?(\d+/\d+(?:/\d+)?)(?:-(\d+/\d+(?:/\d+)?))?")
# What may stand in a command line without quotes; a line break or a quote would become a command of its own.
_NAME_RE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,39}")
_RANGE_LIMIT = 256
_FILE_RE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
# How far a change may reach: every link of the switch, the requested ports, nobody.
DISRUPTIONS = ("any", "requested_ports", "none")


@dataclasses.dataclass(frozen=True)
class Wanted:
    """The request, validated as far as that is possible without the switch.

    ``mode`` None: RoCE off. ``vlan``/``mtu`` None: leave as it is. ``convertible``: ports that may become access
    ports although they are trunk, hybrid or routed ports now; None: any of the requested. ``neighbors``: patterns of
    the hosts that may be behind a port that is changed, empty: no guard; ``strangers``: ports that may be changed
    whoever is behind them, None: any. ``disruption``: one of `DISRUPTIONS`. ``snapshot``: name of a configuration
    file to write before the first change, empty: none.
    """

    mode: str | None = "lossless"
    vlan: int | None = None
    vlan_name: str | None = None
    ports: tuple[str, ...] = ()
    mtu: int | None = None
    mtu_method: str = "force"
    convertible: frozenset[str] | None = frozenset()
    svi: bool = False
    neighbors: tuple[str, ...] = ()
    strangers: frozenset[str] | None = frozenset()
    disruption: str = "any"
    snapshot: str = ""


def expand(host: str, spec: str) -> list[str]:
    """``1/1-1/4`` -> ``["1/1", "1/2", "1/3", "1/4"]``; a range stays within one slot and one breakout."""
    match = _RANGE_RE.fullmatch(str(spec).strip())
    if not match:
        raise RefusedError(
            "not a port or a range of ports",
            host=host,
            thing="ports",
            value=spec,
            remedy="write ports as 1/1, ranges as 1/1-1/4, breakout ports as 1/1/1-1/1/4, one list entry each",
        )
    first, last = match.group(1), match.group(2) or match.group(1)
    parent, low = first.rsplit("/", 1)
    other, high = last.rsplit("/", 1)
    count = int(high) - int(low) + 1
    if parent != other or not 0 < count <= _RANGE_LIMIT:
        raise RefusedError(
            f"a range runs upwards within one slot (or one breakout port) and covers at most {_RANGE_LIMIT} ports",
            host=host,
            thing="ports",
            value=spec,
            remedy="write one list entry per slot or breakout port",
        )
    return [f"{parent}/{number}" for number in range(int(low), int(high) + 1)]


def _expand_all(host: str, specs: Iterable[str]) -> tuple[str, ...]:
    names = {name for spec in specs for name in expand(host, spec)}
    return tuple(sorted(names, key=port_key))


def request(host: str, params: Mapping[str, Any]) -> Wanted:
    """The module's parameters as `Wanted`. Raises `RefusedError` before anything is sent, even before the login."""
    vlan, mtu, name = params.get("vlan"), params.get("mtu"), params.get("vlan_name")
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
    if name is not None and vlan is None:
        raise RefusedError("a VLAN name without a VLAN", host=host, thing="vlan_name", value=name, remedy="set vlan")
    if name is not None and not _NAME_RE.fullmatch(name):
        raise RefusedError(
            "the name would not reach the switch as one word",
            host=host,
            thing="vlan_name",
            value=name,
            remedy="use up to 40 letters, digits, and _ . : - (no blanks)",
        )
    if params.get("svi") and vlan is None:
        raise RefusedError("a layer 3 interface without a VLAN", host=host, thing="svi", remedy="set vlan")
    if mtu is not None and not ports:
        raise RefusedError("an MTU without ports", host=host, thing="mtu", value=mtu, remedy="set ports")
    snapshot = params.get("snapshot") or ""
    if snapshot and not _FILE_RE.fullmatch(snapshot):
        raise RefusedError(
            "not a name for a configuration file",
            host=host,
            thing="snapshot",
            value=snapshot,
            remedy="use up to 64 letters, digits, and _ . - (no blanks), for example before-rdma",
        )
    mode = params.get("mode", "lossless")
    return Wanted(
        mode=None if mode == "absent" else mode,
        vlan=vlan,
        vlan_name=name,
        ports=ports,
        mtu=mtu,
        mtu_method=params.get("mtu_method") or "force",
        convertible=_ports_or_all(host, "allow_mode_change", params.get("allow_mode_change", False)),
        svi=bool(params.get("svi")),
        neighbors=tuple(pattern.strip() for pattern in params.get("expected_neighbors") or () if pattern.strip()),
        strangers=_ports_or_all(host, "allow_unexpected_neighbors", params.get("allow_unexpected_neighbors", False)),
        disruption=params.get("allow_disruption") or "any",
        snapshot=snapshot,
    )


def _ports_or_all(host: str, option: str, value: Any) -> frozenset[str] | None:
    remedy = "name the ports that it may concern, for example ['1/31']"
    return ports_or_all(host, option, value, expand_all=_expand_all, remedy=remedy)


def ports_or_all(
    host: str, option: str, value: Any, *, expand_all: Callable[[str, Any], Iterable[str]], remedy: str
) -> frozenset[str] | None:
    """A boolean (also as text, as templates produce it) or a list of ports. None: all of them.

    ``expand_all``: ``(host, ranges) -> names`` in the way that this kind of switch names its ports.
    """
    if isinstance(value, str) and value.strip().lower() in ("true", "yes", "on", "1"):
        return None
    if isinstance(value, str) and value.strip().lower() in ("false", "no", "off", "0", ""):
        return frozenset()
    if value is True:
        return None
    if value is None or value is False:
        return frozenset()
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, (list, tuple)):
        raise RefusedError(
            "neither a boolean nor a list of ports",
            host=host,
            thing=option,
            value=value,
            remedy=remedy,
        )
    return frozenset(expand_all(host, value))


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
    _refuse_ports(state, wanted)
    operations = [*_vlan(state, wanted), *_roce(state, wanted), *_port_modes(state, wanted)]
    operations += [*_access_vlans(state, wanted), *_mtus(state, wanted)]
    _refuse_strangers(state, wanted, operations)
    _refuse_disruption(state, wanted, operations)
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
    """Raise `VerifyError` if the RoCE mode is the wanted one by name, but not in what it does."""
    problems = unhealthy(state, wanted)
    if problems:
        raise VerifyError(
            f"RoCE mode {wanted.mode} is configured, but not in force: " + "; ".join(problems),
            host=state.host,
            thing="roce",
            remedy="remove the QoS, buffer or flow control settings that conflict with the RoCE template "
            "(show roce, show running-config) and run this again; nothing was saved",
            problems=problems,
        )


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
    if lossless and roce.priorities.get(ROCE_PRIORITY, "").lower() != "enabled":
        problems.append(f"PFC on priority {ROCE_PRIORITY} is {roce.priorities.get(ROCE_PRIORITY, 'not shown')}")
    for name in wanted.ports:
        trust = state.trust.get(name, "")
        if trust.upper() not in ("L3", "BOTH"):
            problems.append(f"port {name} trusts {trust or 'nothing shown'}, not L3")
        ecn = state.ecn.get(name, {}).get(ROCE_PRIORITY, "")
        if "ecn" not in ecn.lower():
            problems.append(f"port {name}: traffic class {ROCE_PRIORITY} has congestion control {ecn or 'not shown'}")
        oper = state.pfc.ports.get(name, ("", ""))[1] if state.pfc else ""
        if lossless and state.ports[name].up and oper.lower() != "enabled":
            problems.append(f"port {name}: PFC is operationally {oper or 'not shown'}")
    return problems


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


def _refuse_ports(state: SwitchState, wanted: Wanted) -> None:
    """All reasons at once, so that one run tells everything."""
    missing = [name for name in wanted.ports if name not in state.ports]
    if missing:
        hints = []
        for name in missing:
            lanes = [other for other in state.ports if other.startswith(name + "/")]
            if lanes:
                hints.append(f"{name} is split into {runs(lanes)[0][0]}")
        existing = ", ".join(spec for spec, _names in runs(state.ports))
        raise RefusedError(
            "no such port on this switch" + (" (" + "; ".join(hints) + ")" if hints else ""),
            host=state.host,
            thing="ports",
            value=", ".join(spec for spec, _names in runs(missing)),
            remedy=f"choose from {existing}",
            missing=missing,
        )
    reasons = [reason for name in wanted.ports for reason in _reasons_against(state.ports[name], wanted)]
    if reasons:
        raise RefusedError(
            "; ".join(reasons),
            host=state.host,
            thing="ports",
            remedy="take these ports out of the list; a trunk, hybrid or routed port that is really meant to lose what "
            "it carries can be named in allow_mode_change",
            reasons=reasons,
        )


def _refuse_strangers(state: SwitchState, wanted: Wanted, operations: Iterable[Operation]) -> None:
    """Change no port behind which somebody else is: an uplink that was cabled to the wrong place looks like a port."""
    if not wanted.neighbors or state.neighbors is None or wanted.strangers is None:
        return
    reasons = []
    for name in touched(operations):
        port = state.ports[name]
        if not port.up or name in wanted.strangers:  # behind a port without a link nobody is disturbed
            continue
        found = state.neighbors.get(name, ())
        if not found:
            reasons.append(f"{name} is up, and nobody says over LLDP who is behind it")
        reasons += [
            f"behind {name} is {neighbor.system or 'a device without a name'}"
            + (f" ({neighbor.description})" if neighbor.description else "")
            for neighbor in found
            if not _is_expected(neighbor, wanted.neighbors)
        ]
    if reasons:
        raise RefusedError(
            "; ".join(reasons) + f", and only {', '.join(wanted.neighbors)} may be behind a port that is changed",
            host=state.host,
            thing="expected_neighbors",
            remedy="check the cabling (show lldp interfaces ethernet remote); a port that is right all the same can be "
            "named in allow_unexpected_neighbors; LLDP has to be on, on the switch and on the host",
            reasons=reasons,
        )


def _is_expected(neighbor: Neighbor, patterns: Iterable[str]) -> bool:
    """Shell patterns, without regard to case; a name without a dot fits a host of any domain."""
    names = {neighbor.system.lower(), neighbor.system.lower().partition(".")[0]}
    return any(fnmatch.fnmatchcase(name, pattern.lower()) for name in names for pattern in patterns if name)


def _refuse_disruption(state: SwitchState, wanted: Wanted, operations: Iterable[Operation]) -> None:
    """Refuse before the first line, and name every change that would reach further than it may."""
    if wanted.disruption == "any":
        return
    reasons = []
    for operation in operations:
        beyond = [name for name in operation.payload["bounces"] if name not in wanted.ports]
        if wanted.disruption == "none" and operation.disrupts:
            reasons.append(f"{operation.description}: {operation.disrupts}")
        elif wanted.disruption == "requested_ports" and beyond:
            links = ", ".join(spec for spec, _names in runs(beyond))
            reasons.append(f"{operation.description}: the links of {links} may toggle, which are not in ports")
    if reasons:
        raise RefusedError(
            "; ".join(reasons),
            host=state.host,
            thing="allow_disruption",
            value=wanted.disruption,
            remedy="run this in a change window with a wider allow_disruption",
            reasons=reasons,
        )


def _reasons_against(port: Port, wanted: Wanted) -> list[str]:
    if port.lag:
        return [f"{port.name} is a member of {port.lag}, which carries its VLANs and its MTU"]
    if wanted.vlan is None or port.mode == "access":
        return []
    if port.mode == "unknown":
        return [f"{port.name} is neither a layer 2 nor a recognisable routed port (MLAG member?)"]
    if wanted.convertible is None or port.name in wanted.convertible:
        return []
    if port.mode == "routed":
        lines = ", ".join(_without_prefix(port)) or "no further configuration"
        return [f"{port.name} is a routed port ({lines}) and would lose its addresses as an access port"]
    carried = port.allowed_vlans or "no tagged VLANs"
    native = f" and untagged VLAN {port.access_vlan}" if port.access_vlan is not None else ""
    return [f"{port.name} is a {port.mode} port that carries VLANs {carried}{native} and would lose them"]


def _without_prefix(port: Port) -> list[str]:
    prefix = f"interface ethernet {port.name} "
    return [line[len(prefix) :] if line.startswith(prefix) else line for line in port.config]


# --- operations


def _vlan(state: SwitchState, wanted: Wanted) -> list[Operation]:
    if wanted.vlan is None:
        return []
    operations = []
    known = state.vlans.get(wanted.vlan)
    named = f"vlan {wanted.vlan} name {wanted.vlan_name}"
    if known is None:
        after = {"name": wanted.vlan_name or ""}
        operations.append(
            _operation(
                f"create VLAN {wanted.vlan}" + (f" named {wanted.vlan_name}" if wanted.vlan_name else ""),
                [named if wanted.vlan_name else f"vlan {wanted.vlan}"],
                {f"vlan {wanted.vlan}": (None, after)},
                [f"no vlan {wanted.vlan}"],
            )
        )
    elif wanted.vlan_name is not None and known.name != wanted.vlan_name:
        operations.append(
            _operation(
                f"name VLAN {wanted.vlan} {wanted.vlan_name}",
                [named],
                {f"vlan {wanted.vlan}": ({"name": known.name}, {"name": wanted.vlan_name})},
                [f'vlan {wanted.vlan} name "{known.name}"' if known.name else f"no vlan {wanted.vlan} name"],
            )
        )
    if wanted.svi and wanted.vlan not in state.svis:
        operations.append(
            _operation(
                f"create the layer 3 interface of VLAN {wanted.vlan}",
                [f"interface vlan {wanted.vlan}"],
                {f"interface vlan {wanted.vlan}": (None, "present")},
                [f"no interface vlan {wanted.vlan}"],
            )
        )
    return operations


def _roce(state: SwitchState, wanted: Wanted) -> list[Operation]:
    """Only when the mode differs: the command may toggle every link of the switch, whatever it changes."""
    now = state.roce.mode
    if now == wanted.mode:
        return []
    up = [name for name, port in state.ports.items() if port.up]
    links = ", ".join(spec for spec, _names in runs(up)) or "none"
    return [
        _operation(
            f"RoCE mode {now or 'off'} -> {wanted.mode or 'off'}",
            [f"roce {wanted.mode}" if wanted.mode else "no roce"],
            {"roce": (now, wanted.mode)},
            [f"roce {now}" if now else "no roce"],
            disrupts=f"every link of the switch may toggle, not only the RoCE ports (up now: {links})",
            bounces=tuple(up),
        )
    ]


def _port_modes(state: SwitchState, wanted: Wanted) -> list[Operation]:
    """One operation per port: each has its own way back."""
    if wanted.vlan is None:
        return []
    operations = []
    for name in wanted.ports:
        port = state.ports[name]
        if port.mode == "access":
            continue
        prefix = f"interface ethernet {name}"
        if port.mode == "routed":
            lines = [f"{prefix} switchport force"]
            inverse = [f"{prefix} no switchport force"]
            inverse += [line for line in port.config if not re.search(r" (no switchport|mtu |shutdown)", line)]
            lost = ", ".join(_without_prefix(port)) or "routing on it"
        else:
            lines = [f"{prefix} switchport mode access"]
            inverse = [f"{prefix} switchport mode {port.mode}"]
            if port.access_vlan is not None:
                inverse.append(f"{prefix} switchport access vlan {port.access_vlan}")
            if port.allowed_vlans:
                inverse.append(f"{prefix} switchport {port.mode} allowed-vlan {port.allowed_vlans}")
            lost = f"VLANs {port.allowed_vlans or 'none'}"
        operations.append(
            _operation(
                f"port {name}: {port.mode} -> access",
                lines,
                {f"port {name} mode": (port.mode, "access")},
                inverse,
                disrupts=f"port {name} loses {lost}",
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
    operations = []
    for spec, names, old in _grouped(
        differing, lambda port: (port.access_vlan or DEFAULT_VLAN) if port.mode == "access" else DEFAULT_VLAN
    ):
        operations.append(
            _operation(
                f"ports {spec}: access VLAN {old} -> {wanted.vlan}",
                [f"interface ethernet {spec} switchport access vlan {wanted.vlan}"],
                {f"port {name} access_vlan": (old, wanted.vlan) for name in names},
                [f"interface ethernet {spec} switchport access vlan {old}"],
                disrupts=f"ports {spec} leave VLAN {old}",
                members={
                    name: {
                        "lines": (f"interface ethernet {name} switchport access vlan {wanted.vlan}",),
                        "inverse": (f"interface ethernet {name} switchport access vlan {old}",),
                    }
                    for name in names
                },
            )
        )
    return operations


def mtu_lines(spec: str, mtu: int, method: str, admin: bool) -> tuple[str, ...]:
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
    operations = []
    for spec, names, (old, admin) in _grouped(differing, lambda port: (port.mtu, port.admin)):
        operations.append(
            _operation(
                f"ports {spec}: MTU {old} -> {wanted.mtu}",
                mtu_lines(spec, wanted.mtu, wanted.mtu_method, admin),
                {f"port {name} mtu": (old, wanted.mtu) for name in names},
                mtu_lines(spec, old, wanted.mtu_method, admin),
                disrupts=f"the links of ports {spec} bounce" if admin else "",
                bounces=names if admin else (),
                members={
                    name: {
                        "lines": mtu_lines(name, wanted.mtu, wanted.mtu_method, admin),
                        "inverse": mtu_lines(name, old, wanted.mtu_method, admin),
                        # Whether every release takes "force" is not known; shutting the port down works on all of them.
                        "fallback": (
                            mtu_lines(name, wanted.mtu, "shutdown", admin)
                            if admin and wanted.mtu_method == "force"
                            else ()
                        ),
                    }
                    for name in names
                },
            )
        )
    return operations


def foreign_lines(lines: Iterable[str], wanted: Wanted) -> tuple[str, ...]:
    """Unsaved lines (``+ ...``, ``- ...``) that the request does not account for.

    What it does account for is left by an earlier run that ended before it could save.
    """
    own = [r"(?:no )?roce\b.*"]
    if wanted.vlan is not None:
        own.append(rf"vlan {wanted.vlan}(?: name .*)?")
        if wanted.svi:
            own.append(rf"interface vlan {wanted.vlan}")
    settings = "|".join(["mtu .*"] * (wanted.mtu is not None) + ["(?:no )?switchport.*"] * (wanted.vlan is not None))
    if wanted.ports and settings:
        names = "|".join(re.escape(name) for name in wanted.ports)
        own.append(rf"interface ethernet (?:{names}) (?:{settings})")
    pattern = re.compile("[+-] (?:" + "|".join(own) + ")")
    return tuple(line for line in lines if not pattern.fullmatch(line))


def save_operation() -> Operation:
    """Saving is a change of its own when nothing else has to change."""
    return _operation(
        "save the running configuration, which has unsaved changes",
        ["configuration write"],
        {"saved": (False, True)},
        [],
    )


def _operation(
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
