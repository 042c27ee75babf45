"""What the ports of an NVUE configuration are used for. Pure: no I/O, no Ansible.

Releases rename keys (``ip`` of 5.0 to 5.14 is ``ipv4``, ``ipv6`` and ``vrf`` since 5.15), and much that makes a port an
uplink is not configured at the port at all (BGP unnumbered is ``vrf default router bgp neighbor swp51``). So only the
settings named here are harmless, and every other mention of a port is a use of it.
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping

from .._switch.guards import Use
from . import tree as trees

# Settings of layer 3, which a port that becomes an access port loses, in the spellings of 5.0 to 5.18.
LAYER3 = ("ip", "ipv4", "ipv6", "vrf", "router", "evpn", "neighbor", "tunnel")
_HARMLESS = frozenset({"type", "description", "lldp", "qos", "telemetry", "sflow", "storm-control"})
_HARMLESS_LINK = frozenset(
    {"auto-negotiate", "duplex", "fec", "mtu", "speed", "state", "lanes", "fast-linkup", "flap-protection"}
    | {"mac-address", "tx-squelch", "debounce", "apsu-mode", "module-precoding", "admin-status", "stats"}
)
_HARMLESS_BRIDGE = frozenset({"access", "learning", "stp", "untagged", "vlan"})
# What is switched off, or left where it is anyway, is no use.
_NOTHING = frozenset({"off", "disabled", "default", "no", "none", "1x"})


def port_uses(config: Mapping[str, Any], name: str) -> list[Use]:
    """What is configured at the port itself, besides its VLANs."""
    settings = trees.get(config, "interface", name) or {}
    found = [key for key in settings if key not in _HARMLESS | {"link", "bridge"}]
    paths: list[tuple[str, ...]] = [(key,) for key in sorted(found)]
    paths += [("link", key) for key in sorted(set(_branch(settings, "link")) - _HARMLESS_LINK)]
    paths += [("bridge", key) for key in sorted(set(_branch(settings, "bridge")) - {"domain"})]
    for domain, bridge in (trees.get(settings, "bridge", "domain") or {}).items():
        paths += [("bridge", "domain", domain, key) for key in sorted(set(bridge or {}) - _HARMLESS_BRIDGE)]
        paths += _stretched(config, domain, bridge or {})
    return [Use(words) for path in paths for words in _words(config, name, path)]


def _branch(settings: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    branch = settings.get(key)
    return branch if isinstance(branch, Mapping) else {}


def _stretched(config: Mapping[str, Any], domain: str, bridge: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """An access port of a VLAN that VXLAN carries to other switches; not part of the port's own settings."""
    vlan = str(bridge.get("access", ""))
    vni = trees.get(config, "bridge", "domain", domain, "vlan", vlan, "vni")
    return [("", f"VLAN {vlan} of {domain}, which VXLAN stretches (vni {', '.join(map(str, vni))})")] if vni else []


def _words(config: Mapping[str, Any], name: str, path: tuple[str, ...]) -> Iterator[str]:
    if path[0] == "":
        yield path[1]
        return
    value = trees.get(config, "interface", name, *path)
    ends = trees.leaves(value, path) if isinstance(value, Mapping) and value else [(path, value)]
    for where, end in ends:
        last = where[-1] if end == {} else end
        if end is not None and str(last).lower() not in _NOTHING and not (end == {} and where == path):
            yield " ".join(trees.words(where, end))


def references(config: Mapping[str, Any]) -> dict[str, list[Use]]:
    """Port -> every mention of it outside its own settings, in any branch of the configuration.

    Members of bonds and subinterfaces are not among them: they are read as what they are. QoS names ports only to
    assign profiles to them.
    """
    found: dict[str, list[Use]] = {}
    for branch, content in config.items():
        if branch == "qos":
            continue
        if branch != "interface":
            _collect(found, content, (str(branch),))
            continue
        for name, settings in (content or {}).items():
            _collect(found, settings, ("interface", str(name)), owner=str(name))
    return found


def _collect(found: dict[str, list[Use]], value: Any, path: tuple[str, ...], owner: str = "") -> None:
    if path[-1] == "description" or path[-2:] == ("bond", "member"):
        return
    if isinstance(value, Mapping):
        for key, below in value.items():
            _mention(found, str(key), path, owner)
            _collect(found, below, (*path, str(key)), owner)
    elif isinstance(value, (list, tuple)):
        for each in value:
            _collect(found, each, path, owner)
    elif isinstance(value, str):
        _mention(found, value, path, owner)


def _mention(found: dict[str, list[Use]], text: str, path: tuple[str, ...], owner: str) -> None:
    if "swp" not in text:
        return
    try:
        names = trees.expand(text)
    except ValueError:  # no selector, whatever it is
        return
    for name in names:
        base = name.partition(".")[0]  # a neighbor on swp1.100 is one on swp1
        if base != owner.partition(".")[0] and trees.split_port(base):
            found.setdefault(base, []).append(Use(" ".join((*path, name)), elsewhere=True))
