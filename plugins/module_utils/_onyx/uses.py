"""What the running configuration of an Onyx switch uses a port for. Pure: no I/O, no Ansible."""

from __future__ import annotations

import re
from typing import Iterable

from .._switch.guards import Use

# What may follow "interface ethernet P" and does no harm when the port changes its VLAN. Its mode and its VLANs
# (switchport) are judged by what the switch shows of them.
_HARMLESS = (
    r"(?:no )?(?:switchport|description|mtu|speed|shutdown|lldp|dcb|qos|traffic-class|traffic-pool|flowcontrol|"
    r"fec-override|spanning-tree|load-interval|storm-control|ingress-buffer|egress-buffer|pool|congestion-control|"
    r"bandwidth|cable-length|boot-delay|pfc-wd)\b.*"
)
_PORT = r"\d+/\d+(?:/\d+)?"
_OWN_RE = re.compile(rf"(?:no )?interface ethernet ({_PORT}) (.*)")
# Whatever names a port: "ethernet 1/8", "Eth1/8", ranges of both, and lists.
_MENTION_RE = re.compile(rf"\b(?:ethernet |eth ?)((?:{_PORT})(?:[-,]{_PORT})*)", re.IGNORECASE)
# What a person has written: a name or a description there is no use of the port that it may name.
_FREE_RE = re.compile(r"(?:vlan \S+ name|interface .*? description|snmp-server (?:location|contact)) .*")
_GROUP_RE = re.compile(r"(mlag-)?channel-group (\d+)\b")


def port_lines(lines: Iterable[str], name: str) -> tuple[str, ...]:
    """The lines of the configuration at the port itself, each as the switch writes it."""
    prefix = f"interface ethernet {name} "
    return tuple(line for line in lines if line.startswith((prefix, "no " + prefix)))


def group(lines: Iterable[str], name: str) -> str | None:
    """The port-channel (Po1) or the MLAG port-channel (Mpo1) that the port is a member of."""
    for line in port_lines(lines, name):
        found = _GROUP_RE.search(line)
        if found and not line.startswith("no "):
            return f"{'Mpo' if found.group(1) else 'Po'}{found.group(2)}"
    return None


def port_uses(lines: Iterable[str], name: str) -> list[Use]:
    """What is configured at the port, besides its layer 2 mode."""
    settings = [_OWN_RE.fullmatch(line) for line in port_lines(lines, name)]
    return [Use(found.group(2)) for found in settings if found and not re.fullmatch(_HARMLESS, found.group(2))]


def references(lines: Iterable[str]) -> dict[str, list[Use]]:
    """Port -> every line outside its own settings that names it."""
    found: dict[str, list[Use]] = {}
    for line in lines:
        own = _OWN_RE.fullmatch(line)
        if _FREE_RE.fullmatch(line):
            continue
        for mention in _MENTION_RE.finditer(own.group(2) if own else line):
            for name in _expanded(mention.group(1)):
                if own is None or own.group(1) != name:
                    found.setdefault(name, []).append(Use(line, elsewhere=True))
    return found


def _expanded(spec: str) -> Iterable[str]:
    for part in spec.split(","):
        low, _hyphen, high = part.partition("-")
        parent, _slash, first = low.rpartition("/")
        last = high.rpartition("/")[2] or first
        yield from (f"{parent}/{number}" for number in range(int(first), int(last) + 1))
