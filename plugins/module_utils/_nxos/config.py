"""The QoS of ports in the running configuration of NX-OS (Nexus 9000). Pure.

What a port does with RoCE follows from three policies, of the port or of ``system qos``: type qos (DSCP -> qos-group),
type network-qos (qos-group -> no-drop priority) and type queuing (qos-group -> ECN). Lines: Cisco Nexus 9000 Series
NX-OS Quality of Service Configuration Guide, and RoCE configurations that Microsoft publishes for Azure Local switches.
Classes that the system has of itself are known by their names (c-8q-nq3, c-out-8q-q3 ...). ``pause no-drop`` without a
priority, of releases before Nexus 9000, is refused: which priority it pauses is not in the line.
"""

from __future__ import annotations

import re
from typing import Iterable

from .._layer import ParseError
from .._switch.observed import Marking, PortSeen
from .._switch.sections import Line, addresses, numbers, thresholds, trunk

KINDS = ("qos", "network-qos", "queuing")
# Names of RFC 2474, 2597 and 3246 that NX-OS takes for a DSCP.
DSCP_NAMES = {"default": 0, "ef": 46, **{f"cs{number}": 8 * number for number in range(1, 8)}}
DSCP_NAMES.update({f"af{high}{low}": 8 * high + 2 * low for high in range(1, 5) for low in range(1, 4)})
_SYSTEM_GROUP = re.compile(r"c-(?:out-)?(?:\dq-)?n?q(?P<number>\d)")
_WATCHDOG = "priority-flow-control watch-dog-interval"
_UNITS = ("bytes", "kbytes", "mbytes", "packets")


class Policies:
    """What the class maps and policy maps of the switch mean."""

    def __init__(self, host: str, root: Line) -> None:
        self.host = host
        self._root = root
        system = next(root.lines("system qos"), Line(""))
        self.of_system = {kind: _attached(system, kind) for kind in KINDS}

    def _policy(self, kind: str, name: str) -> list[Line]:
        """The classes of a policy; none of a default of the system, which is not printed."""
        policy = next(self._root.lines(f"policy-map type {kind} {name}"), None)
        if policy is None and not name.startswith("default-"):
            raise ParseError(f"policy-map type {kind} {name} is named and not there", host=self.host, raw=name)
        return [] if policy is None else [line for line in policy.below if line.text.startswith("class ")]

    def _matches(self, kind: str, name: str) -> list[str]:
        """What a class matches, without the word match."""
        for line in self._root.lines(f"class-map type {kind}"):
            if line.text.split()[-1] == name:
                return line.rest("match")
        return []

    def _groups(self, kind: str, name: str) -> Iterable[int]:
        found = [rest.partition("qos-group ")[2] for rest in self._matches(kind, name) if rest.startswith("qos-group")]
        own = _SYSTEM_GROUP.fullmatch(name)
        if not found and own:
            found = [own["number"]]
        for each in found:
            yield from numbers(self.host, each)

    def dscp_groups(self, name: str | None) -> tuple[dict[int, int], str | None]:
        """(DSCP -> qos-group in effect, what is trusted: dscp, pcp or None) of a policy of type qos."""
        found: dict[int, int] = {}
        kinds = set()
        rest_of_all = 0  # the group of packets that no class matches
        for line in self._policy("qos", name) if name else ():
            group = next(iter(line.rest("set qos-group")), None)
            if group is None or not group.isdigit():
                continue
            class_name = line.text.split()[-1]
            if class_name == "class-default":
                rest_of_all = int(group)
            for rest in self._matches("qos", class_name):
                word, _blank, values = rest.partition(" ")
                if word == "cos":
                    kinds.add("pcp")
                    continue
                kinds.add("dscp")
                # The first class that matches a packet takes it.
                found = {**dict.fromkeys(self._marks(word, values, rest), int(group)), **found}
        whole = {dscp: found.get(dscp, rest_of_all) for dscp in range(64)}
        return whole, "dscp" if "dscp" in kinds else "pcp" if kinds else None

    def _marks(self, word: str, values: str, rest: str) -> list[int]:
        """The DSCPs that a line of a class matches."""
        if word == "dscp":
            return list(self._dscps(values))
        if word == "precedence":
            return [8 * high + low for high in numbers(self.host, values) for low in range(8)]
        raise ParseError("a match of a class that is not known", host=self.host, raw=rest)

    def _dscps(self, values: str) -> Iterable[int]:
        for each in re.split(r"[ ,]+", values.strip()):
            if each.lower() in DSCP_NAMES:
                yield DSCP_NAMES[each.lower()]
            else:
                yield from numbers(self.host, each)

    def paused(self) -> dict[int, int]:
        """qos-group -> the priority that it pauses; network-qos is one for the whole switch."""
        found = {}
        name = self.of_system["network-qos"]
        for line in self._policy("network-qos", name) if name else ():
            for rest in line.rest("pause"):
                match = re.match(r"pfc-cos (\d)\b", rest)
                if match is None:
                    raise ParseError("which priority is paused is not in the line", host=self.host, raw=f"pause {rest}")
                for group in self._groups("network-qos", line.text.split()[-1]):
                    found[group] = int(match[1])
        return found

    def marking(self, name: str | None) -> dict[int, Marking]:
        """qos-group -> ECN of a policy of type queuing."""
        found: dict[int, Marking] = {}
        for line in self._policy("queuing", name) if name else ():
            for rest in line.rest("random-detect"):
                mark = self._mark(rest)
                if mark:
                    found.update(dict.fromkeys(self._groups("queuing", line.text.split()[-1]), mark))
        return found

    def _mark(self, rest: str) -> Marking | None:
        """Without the word ecn, packets are dropped and not marked."""
        mark, more = thresholds(self.host, rest, _UNITS)
        return mark if "ecn" in more else None


def _attached(block: Line, kind: str) -> str | None:
    direction = {"qos": "input ", "queuing": "output ", "network-qos": ""}[kind]
    for rest in block.rest(f"service-policy type {kind}"):
        if rest.startswith(direction):
            return rest[len(direction) :].split()[0]
    return None


def port(policies: Policies, root: Line, name: str) -> PortSeen:
    """What is configured at a port; its own policies go before those of the system."""
    block = next(root.lines(f"interface {name}"), Line(""))
    names = {kind: _attached(block, kind) or policies.of_system[kind] for kind in KINDS}
    groups, trust = policies.dscp_groups(names["qos"])
    paused = policies.paused()
    marks = policies.marking(names["queuing"])
    # A group that is not paused has no priority of its own, and is called by its number.
    priority = {group: paused.get(group, group) for group in {*groups.values(), *marks, *paused}}
    mode = next(iter(block.rest("priority-flow-control mode")), "auto").split()[0]
    switchport = next(iter(block.rest("switchport mode")), "").split()
    allowed, native = trunk(policies.host, block) if switchport == ["trunk"] else (None, None)
    watch = [*root.rest(_WATCHDOG), *block.rest(_WATCHDOG)]  # the port's own line goes before that of the switch
    return PortSeen(
        allowed_vlans=allowed,
        native_vlan=native,
        addresses=addresses(block),
        watchdog=bool(watch) and watch[-1].split()[:1] != ["off"],
        trust=trust,
        # With auto it depends on what the neighbor says over DCBX: whether it works is read, not configured.
        lossless=frozenset(paused.values()) if mode in ("on", "auto") else frozenset(),
        dscp={dscp: priority[group] for dscp, group in groups.items()},
        marking={priority[group]: mark for group, mark in marks.items()},
    )
