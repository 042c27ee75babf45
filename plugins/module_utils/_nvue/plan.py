"""What has to change on a Cumulus switch, as data. Pure: no I/O, no Ansible.

All operations of a plan are one NVUE revision and take effect together or not at all.
"""

from __future__ import annotations

import re
from typing import Any, Iterable, Mapping, Sequence

from .._judge.finding import PROBLEM
from .._layer import Operation, RefusedError
from .._switch import guards, judge
from .._switch import request as asking
from .._switch.guards import Use
from .._switch.request import Naming, Wanted
from . import dialect as saying
from . import tree as trees
from .state import Port, State, is_on, parse_watchdog, release_number
from .uses import LAYER3

# RoCE modes, and the release that brought each (NVIDIA's published schemas of NVUE).
SINCE = {
    "lossless": (5, 0),
    "lossy": (5, 0),
    "lossless-single-ipool": (5, 12),
    "lossy-multi-tc": (5, 14),
    "dci-1": (5, 18),
    "dci-custom": (5, 18),
}
WATCHDOG_SINCE = (5, 6)
# Of the modules: the mode of Onyx is refused in words.
CHOICES = ("lossless", "semi-lossless", *list(SINCE)[1:], "absent")
DEFAULT_DOMAIN = Wanted.domain
_PORT_RE = re.compile(r"(swp\d+(?:s\d+)?)(?:-(?:(swp)?(\d+)))?")
_RANGE_LIMIT = 256


# --- the request


def expand_ports(host: str, spec: str) -> list[str]:
    """``swp1-4`` -> swp1 ... swp4; ``swp3s0-1`` -> the first two lanes of a split port."""
    match = _PORT_RE.fullmatch(str(spec).strip())
    if not match:
        raise asking.bad_range(
            host,
            spec,
            "not a port or a range of ports",
            "write ports as swp1, ranges as swp1-4, lanes of a split port as swp3s0-3, one list entry each",
        )
    first, _prefix, last = match.groups()
    kind, low = trees.split_port(first) or ("", 0)
    high = int(last) if last is not None else low
    if not 0 <= high - low < _RANGE_LIMIT:
        raise asking.bad_range(
            host,
            spec,
            f"a range runs upwards and covers at most {_RANGE_LIMIT} ports",
            "write one list entry per range",
        )
    return [f"{kind}{number}" for number in range(low, high + 1)]


NAMING = Naming(expand=expand_ports, key=trees.port_key, example="['swp31']")


def request(host: str, params: Mapping[str, Any]) -> Wanted:
    if params.get("mode") == "semi-lossless":
        raise RefusedError(
            f"Cumulus Linux has no semi-lossless mode, only {', '.join(SINCE)}",
            host=host,
            thing="mode",
            value="semi-lossless",
            remedy="decide between lossless (PFC and ECN) and lossy (ECN alone); nothing here picks one for you",
        )
    return asking.request(host, params, NAMING)


# --- refusals


def refuse_missing(state: State, names: Iterable[str]) -> None:
    missing = [name for name in names if name not in state.ports]
    split = {name: trees.compressed(lanes) for name, lanes in state.split.items()}
    guards.refuse_missing(state.host, missing, split, trees.compressed(missing), trees.compressed(state.ports))


def refuse(state: State, wanted: Wanted) -> None:
    """Raise `RefusedError` if a port is missing or would lose a use that is not given up. All reasons at once."""
    refuse_missing(state, wanted.ports)
    guards.refuse_used(
        state.host, [reason for name in wanted.ports for reason in _reasons_against(state.ports[name], wanted)]
    )


def touched(operations: Iterable[Operation]) -> list[str]:
    """The ports whose own configuration changes, in order."""
    keys = (key for operation in operations for key in operation.changes if key.startswith("interface swp"))
    return sorted({key.split()[1] for key in keys}, key=trees.port_key)


def behind(state: State, names: Iterable[str]) -> dict[str, Sequence[guards.Neighbor]]:
    """Who is behind those of the ports that have a link."""
    return {name: state.ports[name].neighbors for name in names if state.ports[name].up}


def _reasons_against(port: Port, wanted: Wanted) -> list[str]:
    if port.bond:
        return [f"{port.name} is a member of {port.bond}, which carries its VLANs and its MTU"]
    if port.above:
        return [f"{port.name} carries the interfaces {', '.join(port.above)}"]
    if not wanted.sets_ports or _is_as_wanted(port, wanted) or _gets_one_more(port, wanted):
        return []
    uses = port.uses
    if port.mode == "trunk" or (port.mode == "access" and wanted.domain not in port.domains):
        uses = (Use(port.vlans), *uses)
    return guards.reasons(port.name, uses, mode=port.mode, permitted=wanted.may_convert(port.name))


def _is_as_wanted(port: Port, wanted: Wanted) -> bool:
    """What the port carries besides stays, and is no reason to change it."""
    if wanted.port_mode == "routed":
        return port.mode == "routed" and set(port.addresses) == set(wanted.addresses[port.name])
    if wanted.port_mode == "trunk":
        vlan = wanted.vlan or 0
        carried = judge.has_vlan(port.allowed_vlans or "", vlan) or port.native_vlan == vlan
        return _gets_one_more(port, wanted) and carried
    return port.mode == "access" and port.access_vlan == wanted.vlan and wanted.domain in port.domains


def _gets_one_more(port: Port, wanted: Wanted) -> bool:
    """A trunk of the bridge loses nothing when it gets the VLAN."""
    return wanted.port_mode == port.mode == "trunk" and list(port.domains) == [wanted.domain]


def _refuse_mode(state: State, wanted: Wanted) -> None:
    now, release = state.roce.mode, release_number(state.release)
    since = SINCE.get(wanted.mode or "", (0, 0))
    if release[:2] < since:
        raise RefusedError(
            f"the release does not know the mode ({since[0]}.{since[1]} introduced it)",
            host=state.host,
            thing="mode",
            value=wanted.mode,
            remedy=f"upgrade the switch (it has {state.release}), or choose another mode",
        )
    if now is not None and now not in SINCE:
        raise RefusedError(
            "the switch is in a RoCE mode that nothing here knows, and a site has chosen it",
            host=state.host,
            thing="mode",
            value=now,
            remedy="look at it (nv show qos roce); switch RoCE off by hand if it may go, then run this again",
        )


def _loses(port: Port, wanted: Wanted) -> bool:
    """An access port without further use only changes its VLAN; whatever else is configured would be gone."""
    if wanted.port_mode != "access":
        return not _gets_one_more(port, wanted)
    return port.mode == "trunk" or bool(port.uses) or (port.mode == "access" and wanted.domain not in port.domains)


# --- operations


def plan(state: State, wanted: Wanted) -> list[Operation]:
    """The operations in their order. Raises `RefusedError` if one of them would do harm."""
    refuse(state, wanted)
    operations: list[Operation] = []
    if wanted.vlan is not None and wanted.vlan not in state.vlans:
        tree = trees.at(("bridge", "domain", wanted.domain, "vlan", str(wanted.vlan)), {})
        operations.append(_operation(state, f"create VLAN {wanted.vlan} in bridge {wanted.domain}", tree))
    if wanted.vlan is not None and wanted.svi and wanted.vlan not in state.svis:
        what = f"create the layer 3 interface of VLAN {wanted.vlan}"
        operations.append(_operation(state, what, saying.svi(wanted)))
    operations += _roce(state, wanted)
    operations += _ports(state, wanted)
    operations += _mtus(state, wanted)
    operations += _watchdogs(state, wanted)
    guards.refuse_neighbors(state.host, behind(state, touched(operations)), wanted)
    guards.refuse_disruption(state.host, operations, wanted, trees.compressed)
    return operations


def _roce(state: State, wanted: Wanted) -> list[Operation]:
    """Only when the mode differs: whatever it changes, every port's buffers are rewritten."""
    now = state.roce.mode
    if asking.satisfied(now, wanted.mode):
        return []
    _refuse_mode(state, wanted)
    up = [name for name, port in state.ports.items() if port.up]
    return [
        _operation(
            state,
            f"RoCE mode {now or 'off'} -> {wanted.mode or 'off'}",
            saying.roce(state, wanted) if wanted.mode else {},
            {} if wanted.mode else {"qos": {"roce": None}},
            disrupts="buffers, scheduling and trust of every port are rewritten, and traffic of any of them may stop "
            f"for a moment (up now: {trees.compressed(up) or 'none'})",
            bounces=tuple(up),
        )
    ]


def _ports(state: State, wanted: Wanted) -> list[Operation]:
    if not wanted.sets_ports:
        return []
    operations = []
    differing = [state.ports[name] for name in wanted.ports if not _is_as_wanted(state.ports[name], wanted)]
    for port in differing:
        away = saying.release(state, wanted, port) if _loses(port, wanted) else {}
        if away:
            was = port.carries if port.mode == wanted.port_mode else f"a {port.mode} port"
            operations.append(
                _operation(
                    state,
                    f"port {port.name}: no longer {was}",
                    to_unset=away,
                    disrupts=f"port {port.name} loses {port.carries}",
                    bounces=(port.name,),
                )
            )
    if wanted.port_mode != "access":
        return operations + [_carries(state, wanted, port) for port in differing]
    groups: dict[str, list[str]] = {}
    for port in differing:
        here = port.mode == "access" and wanted.domain in port.domains
        # A trunk without a list has nothing to unset, and loses every VLAN all the same.
        whole = "" if here or saying.release(state, wanted, port) else port.vlans
        groups.setdefault(f"VLAN {port.access_vlan}" if here else whole or "no access VLAN", []).append(port.name)
    for old, names in groups.items():
        spec = trees.compressed(names)
        operations.append(
            _operation(
                state,
                f"ports {spec}: {old} -> access VLAN {wanted.vlan}",
                _on_ports(names, {"bridge": {"domain": {wanted.domain: {"access": wanted.vlan}}}}),
                disrupts=f"ports {spec} leave {old}" if old != "no access VLAN" else "",
                bounces=tuple(names),
            )
        )
    return operations


def _carries(state: State, wanted: Wanted, port: Port) -> Operation:
    """The VLAN of a trunk, or the addresses of a routed port."""
    if wanted.port_mode == "trunk":
        settings: trees.Tree = {"bridge": {"domain": {wanted.domain: {"vlan": {str(wanted.vlan): {}}}}}}
        what = f"VLAN {wanted.vlan} on the trunk"
    else:
        new = wanted.addresses[port.name]
        settings = saying.addresses(state, new)
        what = f"address {', '.join(port.addresses) or 'none'} -> {', '.join(new)}"
    return _operation(state, f"port {port.name}: {what}", _on_ports([port.name], settings), bounces=(port.name,))


def _mtus(state: State, wanted: Wanted) -> list[Operation]:
    if wanted.mtu is None:
        return []
    groups: dict[int, list[str]] = {}
    for name in wanted.ports:
        if state.ports[name].mtu != wanted.mtu:
            groups.setdefault(state.ports[name].mtu, []).append(name)
    return [
        _operation(
            state,
            f"ports {trees.compressed(names)}: MTU {old} -> {wanted.mtu}",
            _on_ports(names, {"link": {"mtu": wanted.mtu}}),
            disrupts=f"ports {trees.compressed(names)} are reconfigured; a link may bounce",
            bounces=tuple(names),
        )
        for old, names in groups.items()
    ]


def _watchdogs(state: State, wanted: Wanted) -> list[Operation]:
    names = [name for name in wanted.ports if wanted.watchdog and not _watched(state, name)]
    if not names:
        return []
    if release_number(state.release)[:2] < WATCHDOG_SINCE:
        raise RefusedError(
            "the release has no PFC watchdog (5.6 introduced it)",
            host=state.host,
            thing="pfc_watchdog",
            value=True,
            remedy=f"upgrade the switch (it has {state.release}), or set pfc_watchdog to false",
        )
    if not asking.is_lossless(wanted.mode):
        raise RefusedError(
            f"the PFC watchdog needs PFC, and RoCE mode {wanted.mode or 'absent'} has none",
            host=state.host,
            thing="pfc_watchdog",
            value=True,
            remedy="set pfc_watchdog to false, or mode to lossless",
        )
    # The releases that have it spell it alike.
    tree = _on_ports(names, {"qos": {"pfc-watchdog": {"state": "enable"}}})
    return [_operation(state, f"ports {trees.compressed(names)}: PFC watchdog on", tree)]


def _watched(state: State, name: str) -> bool:
    return parse_watchdog(trees.get(state.config, "interface", name, "qos", "pfc-watchdog")) == "enabled"


def _on_ports(names: Iterable[str], settings: Mapping[str, Any]) -> trees.Tree:
    return {"interface": {name: dict(settings) for name in names}}


def _operation(
    state: State,
    description: str,
    to_set: Mapping[str, Any] | None = None,
    to_unset: Mapping[str, Any] | None = None,
    *,
    disrupts: str = "",
    bounces: tuple[str, ...] = (),
) -> Operation:
    """``to_set``, ``to_unset``: trees. Their changes are path in the configuration -> (subtree before, after)."""
    to_set, to_unset = dict(to_set or {}), dict(to_unset or {})
    return Operation(
        description=description,
        command=trees.commands(to_set, to_unset),
        changes=trees.changes(to_set, to_unset, state.config),
        inverse=trees.commands(*trees.inverse(to_set, to_unset, state.config)),
        disrupts=disrupts,
        payload={"set": to_set, "unset": to_unset, "bounces": bounces},
    )


# --- judgements


def unhealthy(state: State, wanted: Wanted) -> list[str]:
    """What contradicts the wanted RoCE mode although it is configured. Ports that are down are left out."""
    roce = state.roce
    if not asking.satisfied(roce.mode, wanted.mode):
        return []
    if wanted.mode is None:
        return [f"RoCE is off in the configuration, and the switch reports mode {roce.running}"] if roce.running else []
    problems = [f"exception list: {row}" for row in roce.exceptions]
    if roce.running != roce.mode:
        problems.append(f"the switch reports mode {roce.running or 'none'}")
    if "dscp" not in roce.trust.lower():
        problems.append(f"port trust mode is {roce.trust or 'not shown'}, without DSCP")
    if "ecn" not in roce.congestion.lower():
        problems.append(f"congestion control is {roce.congestion or 'not shown'}, not ECN")
    elif wanted.priority not in roce.ecn_classes:
        problems.append(f"ECN is on for the traffic classes {sorted(roce.ecn_classes)}, not for {wanted.priority}")
    need = judge.Need(wanted.priority, judge.dscp_of(wanted.priority))
    if judge.trusts_dscp(roce.trust):
        rows = [judge.dscp("", roce.dscp.get(need.dscp), need)]
        rows.append(judge.cnp("", roce.dscp.get(judge.CNP_DSCP), sorted(roce.pfc_priorities), need))
        problems += [each.sentence() for each in rows if each.level == PROBLEM]
    if asking.is_lossless(roce.mode):
        if wanted.priority not in roce.pfc_priorities:
            problems.append(f"PFC is on for the priorities {sorted(roce.pfc_priorities)}, not for {wanted.priority}")
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
    kinds = "|".join(("bridge", "link mtu", "type", "qos pfc-watchdog", *LAYER3))
    port = re.fullmatch(rf"interface (\S+) ({kinds})\b.*", match.group(1))
    if not port or not set(trees.expand(port.group(1))) <= set(wanted.ports):
        return False
    kind = port.group(2)
    asked = {"link mtu": wanted.mtu is not None, "qos pfc-watchdog": wanted.watchdog}
    if kind in asked:
        return asked[kind]
    if kind in LAYER3:  # what a converted port lost, or what a routed one has
        return wanted.sets_ports and (line.startswith("-") or wanted.port_mode == "routed")
    return wanted.sets_ports or kind == "type"


def unexpected_members(state: State, wanted: Wanted) -> list[str]:
    """Who else is in the wanted VLAN. VLAN 1 holds everybody and says nothing."""
    if wanted.vlan in (None, 1):
        return []
    return [name for name in state.members.get(wanted.vlan or 0, ()) if name not in wanted.ports]
