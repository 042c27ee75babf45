"""What the probes say: who does not reach whom, with which size, DSCP and interface, and which place explains it. Pure.

Each property is judged as measurements are (`judge`), with 1 for right and 0 for wrong: so one NIC that drops the DSCP
is one NIC, and not the sixty pairs that it is part of. What the kernel says about an interface goes before what follows
from it.
"""

from __future__ import annotations

import collections
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence, Tuple

from .._judge.finding import Finding
from .._judge.sentences import Sentences
from .._results.readers.reading import by_key
from .judge import Place, Sample, judge
from .model import Fabric, usual
from .wire import Replies

FAULTS = Sentences(__file__, "faults.yml")
fault = FAULTS.finding
Directed = Tuple[int, int]
Probe = Mapping[str, Any]
Property = Callable[[Directed, Probe], Optional[bool]]


def faults(fabric: Fabric, got: Replies, *, tos: int, netdevs: Mapping[int, str], mtu: int) -> list[Finding]:
    said = _Said(fabric, got, tos, netdevs)
    found = [
        fault("agent", Place("host", (number,))) for number, name in enumerate(fabric.hosts) if name in got.missing
    ]
    found += said.of_interfaces(mtu)
    known = {nic for each in found for nic in each.place.nics(fabric, "switch")}
    properties: dict[str, Property] = {
        "answers": said.answers, "arp_elsewhere": said.arp, "mtu_unfilled": said.mtu, "dscp_changed": said.dscp,
        "route_elsewhere": said.route,
    }  # fmt: skip
    for code, right in properties.items():
        # What is wrong with a NIC already shows in everything that it takes part in.
        places = judge(fabric, said.samples(right, known), enough=1)
        for place in (*places.accused, *places.open):
            if code == "route_elsewhere" and place.kind in ("rail", "fabric"):
                continue  # rails in one subnet: the table names one interface for all of them, and RDMA does not ask it
            nics = set(place.nics(fabric, "switch"))
            if nics and nics <= known:
                continue
            if code == "answers":
                known |= nics
                found.append(said.silence(place))
            else:
                found.append(fault(code, place, sent=tos >> 2, arrived=said.tos(place) >> 2))
    return found


class _Said:
    """What all hosts said. ``looks``: NIC to what the kernel says of its interface; ``sources``: of a way the source
    address that the routing table takes, the MAC of the peer, and whether a person has set that; ``probes``: of one
    host to another. One that was heard there did arrive: it is the way back that is broken."""

    def __init__(self, fabric: Fabric, got: Replies, tos: int, netdevs: Mapping[int, str]) -> None:
        self.fabric, self.dscp_sent, self.netdevs = fabric, tos >> 2, netdevs
        answers = list(got.by_host.values())
        self.looks = {int(nic): look for answer in answers for nic, look in answer.get("look", {}).items()}
        self.sources = {
            tuple(map(int, way.split())): tuple(map(str, given))
            for answer in answers
            for way, given in answer.get("sources", {}).items()
            if given
        }
        by_nic = (each for answer in answers for each in answer.get("heard", {}).items())
        heard = {(int(source), int(nic)) for nic, sources in by_nic for source in sources}
        given = [entry for answer in answers for entry in answer.get("probes", ())]
        probes = {(int(entry["from"]), int(entry["to"])): entry for entry in given}
        # Sorted once: every property goes through all of them in this order.
        self.probes: dict[Directed, Probe] = {way: dict(probes[way], heard=way in heard) for way in sorted(probes)}

    def of_interfaces(self, mtu: int) -> Iterator[Finding]:
        vlans = by_key((self.fabric.rail_of(nic), int(look.get("vlan") or 0)) for nic, look in self.looks.items())
        for nic, look in sorted(self.looks.items()):
            most, _share = usual(vlans[self.fabric.rail_of(nic)])
            own = int(look.get("vlan") or 0)
            if look.get("bind"):
                thing, said = "address", f"no interface has {self.fabric.port(nic).address} ({look['bind']})"
            elif look.get("operstate") in ("down", "lowerlayerdown"):
                thing, said = "link", f"the interface is {look['operstate']}"
            elif own != most:
                thing, said = "vlan", f"VLAN {own or 'untagged'}, the others of the rail {most or 'untagged'}"
            elif mtu and str(look.get("mtu", "")).isdigit() and int(look["mtu"]) < mtu:
                thing, said = "mtu", f"MTU {look['mtu']}, wanted {mtu}"
            else:
                continue
            yield fault(thing, Place("nic", (nic,)), said=said)

    # Whether a probe is right in one of these properties; None: it does not tell.

    def answers(self, way: Directed, entry: Probe) -> bool | None:
        # Heard there, but the other way round not even heard: the way back is what is broken.
        back = self.probes.get((way[1], way[0]), {})
        return "small" in entry or bool(entry["heard"] and not back.get("heard", True))

    def mtu(self, _way: Directed, entry: Probe) -> bool | None:
        return "full" in entry if "small" in entry else None

    def dscp(self, _way: Directed, entry: Probe) -> bool | None:
        return entry["small"].get("tos", -1) >> 2 == self.dscp_sent if "small" in entry else None

    def arp(self, way: Directed, entry: Probe) -> bool | None:
        if "small" not in entry:
            return None
        mac, real = self._told(way)[1], self.looks.get(way[1], {}).get("address", "")
        wanted, arrived = self.netdevs.get(way[1]), entry["small"].get("in", "")
        return (not mac or not real or mac == real) and (not wanted or arrived == wanted)

    def route(self, way: Directed, entry: Probe) -> bool | None:
        source = self._told(way)[0]
        return source == self.fabric.port(way[0]).address if source and "small" in entry else None

    def samples(self, right: Property, without: set[int]) -> list[Sample]:
        """What the probes say of one property, but for those of some NICs."""
        said = ((way, right(way, entry)) for way, entry in self.probes.items() if without.isdisjoint(way))
        given = ((way, float(value)) for way, value in said if value is not None)
        rails = by_key((tuple(map(self.fabric.rail_of, way)), (way, value)) for way, value in given)
        return [
            Sample(tuple(way for way, _value in tests), [value for _way, value in tests]) for tests in rails.values()
        ]

    def tos(self, place: Place) -> int:
        """With which an answered probe of this place arrived."""
        return next((int(each["small"].get("tos", 0)) for each in self._concerned(place) if "small" in each), 0)

    def silence(self, place: Place) -> Finding:
        silent = [entry for entry in self._concerned(place) if "small" not in entry]
        own = place.nics(self.fabric, "switch")
        ways = [way for way in self.probes if way[0] in own]
        away = [way for way in ways if self._told(way)[0] != self.fabric.port(way[0]).address]
        if away and 2 * len(away) >= len(ways):
            return fault("route", place, said="the routing table sends its packets over another interface")
        wrong = self._wrong_mac(place, silent)
        if wrong:
            return wrong
        if all(entry["heard"] for entry in silent):
            return fault("arp", place, said="packets arrive, and the answers come back over another interface")
        errors = collections.Counter(entry.get("error", "TIMEOUT") for entry in silent)
        # An error says more than silence: the one end knows why, the other only waits.
        error = max(errors, key=lambda code: (code != "TIMEOUT", errors[code])) if errors else "TIMEOUT"
        resolved = [entry for entry in silent if self._told((int(entry["from"]), int(entry["to"])))[1]]
        meant = (code for code, entry in FAULTS.table.items() if error in entry.get("errors", "").split())
        what = next(meant, "silent" if 2 * len(resolved) > len(silent) else "neighbour")
        return fault(what, place, said=f"{len(silent)} probe(s) without an answer ({error})")

    def _wrong_mac(self, place: Place, silent: Sequence[Probe]) -> Finding | None:
        """Another MAC than the interface's own answers for an address."""
        fabric = self.fabric
        owners = {look.get("address", ""): nic for nic, look in self.looks.items()}
        for entry in silent:
            target = int(entry["to"])
            _source, mac, static = self._told((int(entry["from"]), target))
            real = self.looks.get(target, {}).get("address", "")
            if not mac or not real or mac == real:
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

    def _told(self, way: Directed) -> Sequence[str]:
        return self.sources.get(way, ("", "", ""))

    def _concerned(self, place: Place) -> Sequence[Probe]:
        if place.kind == "pair":
            return [entry for way, entry in self.probes.items() if set(way) == set(place.members)]
        if place.kind == "rail":
            return [entry for way, entry in self.probes.items() if self.fabric.rail_of(way[0]) == place.members[0]]
        nics = set(place.nics(self.fabric, "switch"))
        return [entry for way, entry in self.probes.items() if not nics or nics.intersection(way)]
