"""The QoS of ports in the running configuration of EOS. Pure.

Lines and their forms: aristanetworks/avd, schema and templates of eos_cli_config_gen (ethernet_interfaces, qos,
qos_profiles: qos trust, service-profile, priority-flow-control, uc_tx_queues.random_detect.ecn.threshold with its
units); a whole RoCE profile as published for an Arista 7388 in AMD's documentation of its GPU clusters. The default
map from DSCP to traffic class is not printed. EOS's manual (chapter Quality of Service) gives the same one for Arad,
Jericho, Trident, Trident II and Tomahawk, and says that a routed port trusts DSCP and a switched one CoS unless a line
says otherwise.
"""

from __future__ import annotations

import re

from .._layer import ParseError
from .._switch.observed import Marking, PortSeen
from .._switch.sections import Line, addresses, numbers, thresholds, trunk

# DSCP / 8, except that 0 to 7 are traffic class 1 and 8 to 15 traffic class 0.
DEFAULT_MAP = {dscp: {0: 1, 1: 0}.get(dscp // 8, dscp // 8) for dscp in range(64)}

_MAP = re.compile(r"map dscp (?P<dscps>[\d ,-]+) to traffic-class (?P<tc>\d)(?: drop-precedence \w+)?")
_QUEUE_MAP = re.compile(r"map traffic-class (?P<tcs>[\d ,-]+) to (?:uc-tx-queue|tx-queue) (?P<queue>\d+)")
_UNITS = ("bytes", "kbytes", "mbytes", "segments", "milliseconds")
_PRIORITY = re.compile(r"priority (?P<number>\d) (?P<word>no-drop|drop)")


def dscp_map(host: str, root: Line) -> dict[int, int]:
    """DSCP -> traffic class in effect."""
    found = dict(DEFAULT_MAP)
    for rest in root.rest("qos"):
        match = _MAP.fullmatch(rest)
        if match:
            found.update({dscp: int(match["tc"]) for dscp in numbers(host, match["dscps"])})
        elif rest.startswith("map dscp "):
            raise ParseError("a map of DSCPs that is not known", host=host, raw=rest)
    return found


def queue_map(host: str, root: Line) -> dict[int, int]:
    """Traffic class -> queue, where it is not the queue of the same number."""
    rows = filter(None, map(_QUEUE_MAP.fullmatch, root.rest("qos")))
    return {tc: int(row["queue"]) for row in rows for tc in numbers(host, row["tcs"])}


def port(host: str, root: Line, name: str, queues: dict[int, int]) -> PortSeen:
    """What is configured at a port; a profile's lines come first, and the port's own go before them."""
    block = next(root.lines(f"interface {name}"), Line(""))
    below = [*_profile(host, root, block), *block.below]
    whole = Line(name, below)
    mode, vlan = _vlan(host, block, root.has("switchport default mode routed"))
    for line in whole.lines("service-policy type qos input"):
        raise ParseError("a policy that sorts packets is not followed here", host=host, raw=line.text)
    trust = "dscp" if mode == "routed" else None
    for line in below:
        said = re.fullmatch(r"(?:no )?qos trust(?: (.+))?", line.text)
        trust = trust if said is None else said[1] or "untrusted"
    allowed, native = trunk(host, block) if mode == "trunk" else (None, None)
    off = root.has("priority-flow-control all off")
    return PortSeen(
        mode=mode,
        access_vlan=vlan,
        allowed_vlans=allowed,
        native_vlan=native,
        addresses=addresses(block) if mode == "routed" else None,
        trust=trust,
        lossless=frozenset() if off else _lossless(host, whole),
        watchdog=_watchdog(root, whole),
        marking=_marking(host, whole, queues),
    )


def _profile(host: str, root: Line, block: Line) -> list[Line]:
    for rest in block.rest("service-profile"):
        profile = next(root.lines(f"qos profile {rest}"), None)
        if profile is None:
            raise ParseError(f"a port names the profile {rest}, which is not there", host=host, raw=rest)
        return list(profile.below)
    return []


def _lossless(host: str, block: Line) -> frozenset[int]:
    on = False
    found: set[int] = set()
    for rest in block.rest("priority-flow-control"):
        match = _PRIORITY.fullmatch(rest)
        if match:
            (found.add if match["word"] == "no-drop" else found.discard)(int(match["number"]))
        elif rest in ("on", "mode on"):
            on = True
        elif not re.match(r"pause\b", rest):  # the watchdog
            raise ParseError("a line of priority-flow-control that is not known", host=host, raw=rest)
    return frozenset(found) if on and not block.has("no priority-flow-control") else frozenset()


def _watchdog(root: Line, block: Line) -> bool:
    """A port's own line goes before the default of the switch, which a timeout turns on."""
    if block.has("no priority-flow-control pause watchdog"):
        return False
    timeouts = root.rest("priority-flow-control pause watchdog default timeout")
    return any(block.lines("priority-flow-control pause watchdog")) or any(each.strip("0.") for each in timeouts)


def _marking(host: str, block: Line, queues: dict[int, int]) -> dict[int, Marking]:
    marks = {}
    for line in block.below:
        match = re.fullmatch(r"(?:uc-)?tx-queue (\d+)", line.text)
        for rest in line.rest("random-detect ecn") if match else ():
            if match and rest.startswith("minimum-threshold"):
                marks[int(match[1])], _rest = thresholds(host, rest, _UNITS)
            elif rest != "count" and not rest.startswith("delay"):
                raise ParseError("a line of random-detect ecn that is not known", host=host, raw=rest)
    return {tc: marks[queues.get(tc, tc)] for tc in range(8) if queues.get(tc, tc) in marks}


def _vlan(host: str, block: Line, routed: bool) -> tuple[str | None, int | None]:
    """A switched port without a word is an access port of VLAN 1. ``routed``: ports are routed unless they say else."""
    if any(block.rest("channel-group")):
        return "bond", None
    if block.has("no switchport") or (routed and not block.has("switchport")):
        return "routed", None
    for rest in block.rest("switchport mode"):
        if rest != "access":
            return "trunk" if rest.startswith("trunk") else rest, None
    for rest in block.rest("switchport access vlan"):
        if not rest.isdigit():
            raise ParseError("an access VLAN that is no number", host=host, raw=rest)
        return "access", int(rest)
    return "access", 1
