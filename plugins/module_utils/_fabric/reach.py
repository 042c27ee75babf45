"""What the probes say: who does not reach whom, with which size, DSCP and interface, and which place explains it. Pure.

Each property is judged as measurements are (`judge`), with 1 for right and 0 for wrong: so one NIC that drops the DSCP
is one NIC, and not the sixty pairs that it is part of. What the kernel says about an interface goes before what follows
from it.
"""

from __future__ import annotations

import collections
from typing import Any, Callable, Collection, Mapping, Optional, Sequence

from .._judge.finding import Finding
from .._judge.sentences import Sentences
from .judge import Place, Sample, judge
from .model import Fabric
from .wire import Replies

_SENTENCES = Sentences(__file__, "faults.yml")
fault = _SENTENCES.finding


def remedy(code: str) -> str:
    return _SENTENCES.say(code)["remedy"]


def faults(fabric: Fabric, got: Replies, *, tos: int, netdevs: Mapping[int, str], mtu: int) -> list[Finding]:
    found = [
        fault("agent", Place("host", (number,))) for number, name in enumerate(fabric.hosts) if name in got.missing
    ]
    found += _looks(fabric, got, mtu)
    known = {nic for each in found for nic in _nics(fabric, each.place)}
    probes = _probes(got)
    for thing, given in _properties(fabric, got, probes, tos, netdevs).items():
        # What is wrong with a NIC already shows in everything that it takes part in.
        places = judge(fabric, _seen(fabric, probes, given, known), enough=1)
        for place in (*places.accused, *places.open):
            if thing == "route" and place.kind in ("rail", "fabric"):
                continue  # rails in one subnet: the table names one interface for all of them, and RDMA does not ask it
            nics = set(_nics(fabric, place))
            if nics and nics <= known:
                continue
            if thing == "answers":
                known |= nics
            found.append(_described(fabric, thing, place, got=got, probes=probes, tos=tos))
    return found


def _nics(fabric: Fabric, place: Place) -> list[int]:
    if place.kind == "host":
        return fabric.nics_of(place.members[0])
    return list(place.members) if place.kind in ("nic", "switch") else []


def _looks(fabric: Fabric, got: Replies, mtu: int) -> list[Finding]:
    """What an interface says about itself."""
    found = []
    looks = _all_looks(got)
    vlans: dict[int, collections.Counter[int]] = collections.defaultdict(collections.Counter)
    for nic, look in looks.items():
        vlans[fabric.rail_of(nic)][int(look.get("vlan") or 0)] += 1
    for nic, look in sorted(looks.items()):
        usual = vlans[fabric.rail_of(nic)].most_common(1)[0][0]
        own = int(look.get("vlan") or 0)
        if look.get("bind"):
            thing, said = "address", f"no interface has {fabric.port(nic).address} ({look['bind']})"
        elif look.get("operstate") in ("down", "lowerlayerdown"):
            thing, said = "link", f"the interface is {look['operstate']}"
        elif own != usual:
            thing, said = "vlan", f"VLAN {own or 'untagged'}, the others of the rail {usual or 'untagged'}"
        elif mtu and str(look.get("mtu", "")).isdigit() and int(look["mtu"]) < mtu:
            thing, said = "mtu", f"MTU {look['mtu']}, wanted {mtu}"
        else:
            continue
        found.append(fault(thing, Place("nic", (nic,)), said=said))
    return found


Directed = tuple[int, int]
Value = Callable[[Directed, Mapping[str, Any]], Optional[bool]]


def _probes(got: Replies) -> dict[Directed, Mapping[str, Any]]:
    """Every probe of one host to another. One that was heard there did arrive: it is the way back that is broken."""
    found: dict[Directed, Mapping[str, Any]] = {}
    heard = {
        (int(source), int(nic))
        for answer in got.by_host.values()
        for nic, all_of in answer.get("heard", {}).items()
        for source in all_of
    }
    for answer in got.by_host.values():
        for entry in answer.get("probes", ()):
            way = int(entry["from"]), int(entry["to"])
            found[way] = dict(entry, heard=way in heard)
    return dict(sorted(found.items()))  # once: every property goes through all of them in this order


def _properties(
    fabric: Fabric,
    got: Replies,
    probes: Mapping[Directed, Mapping[str, Any]],
    tos: int,
    netdevs: Mapping[int, str],
) -> dict[str, Value]:
    macs = {nic: look.get("address", "") for nic, look in _all_looks(got).items()}
    sources = {
        (int(way.split()[0]), int(way.split()[1])): given
        for answer in got.by_host.values()
        for way, given in answer.get("sources", {}).items()
    }

    def answers(way: Directed, entry: Mapping[str, Any]) -> bool | None:
        # Heard there, but the other way round not even heard: the way back is what is broken.
        return "small" in entry or bool(entry["heard"] and not probes.get((way[1], way[0]), {}).get("heard", True))

    def mtu(_way: Directed, entry: Mapping[str, Any]) -> bool | None:
        return "full" in entry if "small" in entry else None

    def dscp(_way: Directed, entry: Mapping[str, Any]) -> bool | None:
        return entry["small"].get("tos", -1) >> 2 == tos >> 2 if "small" in entry else None

    def arp(way: Directed, entry: Mapping[str, Any]) -> bool | None:
        if "small" not in entry:
            return None
        mac, real = (sources.get(way) or ["", ""])[1], macs.get(way[1], "")
        arrived = entry["small"].get("in", "")
        return (not mac or not real or mac == real) and (not netdevs.get(way[1]) or arrived == netdevs[way[1]])

    def route(way: Directed, entry: Mapping[str, Any]) -> bool | None:
        given = sources.get(way)
        if given is None or not given[0] or "small" not in entry:
            return None
        return bool(given[0] == fabric.port(way[0]).address)

    return {"answers": answers, "arp": arp, "mtu": mtu, "dscp": dscp, "route": route}


def _seen(
    fabric: Fabric, probes: Mapping[Directed, Mapping[str, Any]], value: Value, without: Collection[int]
) -> list[Sample]:
    """What the probes say of one thing, but for those of some NICs."""
    rails: dict[tuple[int, int], tuple[list[Directed], list[float]]] = {}
    count = fabric.rails
    for way, entry in probes.items():
        if without and (way[0] in without or way[1] in without):
            continue
        said = value(way, entry)
        if said is not None:
            key = way[0] % count, way[1] % count
            if key not in rails:
                rails[key] = [], []
            rails[key][0].append(way)
            rails[key][1].append(1.0 if said else 0.0)
    return [Sample(tuple(ways), values) for ways, values in rails.values()]


def _described(
    fabric: Fabric,
    thing: str,
    place: Place,
    *,
    got: Replies,
    probes: Mapping[Directed, Mapping[str, Any]],
    tos: int,
) -> Finding:
    concerned = _concerned(fabric, place, probes)
    if thing != "answers":
        example = next((entry for entry in concerned if "small" in entry), {})
        given = {
            "mtu": "small packets arrive, those that fill the MTU do not",
            "dscp": f"DSCP {example.get('small', {}).get('tos', 0) >> 2} arrives where {tos >> 2} was sent",
            "arp": "its packets arrive at another interface, or another MAC answers for its address",
            "route": "the routing table sends these packets over another interface",
        }[thing]
        return fault(thing, place, said=given)
    silent = [entry for entry in concerned if "small" not in entry]
    ways = [way for way in probes if way[0] in _nics(fabric, place)]
    away = [way for way in ways if _told(got, way)[0] != fabric.port(way[0]).address]
    if away and 2 * len(away) >= len(ways):
        return fault("route", place, said="the routing table sends its packets over another interface")
    wrong = _wrong_mac(fabric, place, silent, got)
    if wrong is not None:
        return wrong
    if all(entry["heard"] for entry in silent):
        return fault("arp", place, said="packets arrive, and the answers come back over another interface")
    errors = collections.Counter(entry.get("error", "TIMEOUT") for entry in silent)
    # An error says more than silence: the one end knows why, the other only waits.
    error = max(errors, key=lambda code: (code != "TIMEOUT", errors[code])) if errors else "TIMEOUT"
    resolved = [entry for entry in silent if _told(got, (int(entry["from"]), int(entry["to"])))[1]]
    what = {
        "ENETUNREACH": "route",
        "EACCES": "route",
        "EHOSTUNREACH": "neighbour",
        "EPERM": "firewall",
        "EADDRNOTAVAIL": "address",
        "ECONNREFUSED": "duplicate",
    }.get(error, "silent" if 2 * len(resolved) > len(silent) else "neighbour")
    return fault(what, place, said=f"{len(silent)} probe(s) without an answer ({error})")


def _wrong_mac(fabric: Fabric, place: Place, silent: Sequence[Mapping[str, Any]], got: Replies) -> Finding | None:
    """Another MAC than the interface's own answers for an address."""
    owners = {look.get("address", ""): nic for nic, look in _all_looks(got).items()}
    real = {nic: mac for mac, nic in owners.items()}
    for entry in silent:
        target = int(entry["to"])
        _source, mac, static = _told(got, (int(entry["from"]), target))
        if not mac or not real.get(target) or mac == real[target]:
            continue
        owner = owners.get(mac)
        if owner is None:
            whose, thing = "of no host that takes part", "neighbour" if static else "duplicate"
        elif fabric.host_of(owner) == fabric.host_of(target):
            whose, thing = "of the host's other interface", "arp"
        else:
            whose, thing = f"of {fabric.name(owner)}", "duplicate"
        return fault(thing, place, said=f"{fabric.port(target).address} has the MAC {mac}, {whose}")
    return None


def _all_looks(got: Replies) -> dict[int, Mapping[str, Any]]:
    return {int(nic): look for answer in got.by_host.values() for nic, look in answer.get("look", {}).items()}


def _told(got: Replies, way: Directed) -> tuple[str, str, str]:
    """Source address that the routing table takes, the MAC of the peer, and whether a person has set that."""
    for answer in got.by_host.values():
        given = answer.get("sources", {}).get(f"{way[0]} {way[1]}")
        if given:
            return str(given[0]), str(given[1]), str(given[2])
    return "", "", ""


def _concerned(
    fabric: Fabric, place: Place, probes: Mapping[Directed, Mapping[str, Any]]
) -> Sequence[Mapping[str, Any]]:
    if place.kind == "pair":
        return [entry for way, entry in probes.items() if set(way) == set(place.members)]
    if place.kind == "rail":
        return [entry for way, entry in probes.items() if fabric.rail_of(way[0]) == place.members[0]]
    nics = set(_nics(fabric, place))
    return [entry for way, entry in probes.items() if not nics or nics.intersection(way)]
