"""The fabric from what NICs and switches were read to say, and what differs in that already. Pure.

A NIC whose value differs from what most NICs of its rail have is named before anything is measured.
"""

from __future__ import annotations

import collections
import dataclasses
import ipaddress
from typing import Any, Iterator, Mapping, Sequence

from .._judge.finding import Finding
from .._judge.sentences import refusal
from .._judge.xids import Known
from .._layer import RefusedError
from .._results.readers.reading import by_key, number, short
from .gpus import Gpus, judge
from .judge import Place
from .model import Fabric, Port, from_rows, usual
from .reach import FAULTS, fault


@dataclasses.dataclass(frozen=True)
class Readings:
    fabric: Fabric
    netdevs: Mapping[int, str]
    faults: tuple[Finding, ...]
    notes: tuple[str, ...]
    simulated: bool
    gpus: Gpus


def fabric_from(
    hosts: Sequence[Mapping[str, Any]],
    readings: Mapping[str, Any],
    switches: Mapping[str, Any] | None = None,
    networks: Sequence[str] = (),
    known_xids: Sequence[Known] = (),
) -> Readings:
    """``hosts``: of the run; ``readings``: host to what `rdma_info` returned.

    ``networks``: CIDRs, one per rail or one for all; ``known_xids``: what an operator has looked at.
    """
    nets = [ipaddress.ip_network(text, strict=False) for text in networks]
    notes: list[str] = []
    chosen: dict[str, list[Mapping[str, Any] | None]] = {}
    for host in hosts:
        name = str(host["name"])
        if name in chosen:
            raise RefusedError("is listed twice", host=name, thing="fabric_hosts", remedy="list each host once")
        read = (_addressed(port, nets) for port in (readings.get(name) or {}).get("devices") or ())
        ports = [port for port in read if _usable(name, port, nets, notes)]
        ports.sort(key=lambda port: (len(str(port["name"])), str(port["name"])))  # mlx5_10 comes after mlx5_9
        chosen[name] = _in_rails(name, ports, nets)
    if not nets:
        _same_number(chosen)
    if not any(port for row in chosen.values() for port in row):
        where = f" in {', '.join(networks)}" if networks else ""
        first = str(hosts[0]["name"]) if hosts else "fabric"
        remedy = "; ".join(notes[:3]) or "run the guest stage, and look at rdma_info on the hosts"
        raise refusal("no_roce_port", list(networks), no_plan=True, host=first, where=where, remedy=remedy)
    plugged = _plugged(switches or {}, chosen, readings)
    fabric = from_rows(
        {
            name: [_port(port, *plugged.get((name, str(port["netdev"])), ())) if port else None for port in row]
            for name, row in chosen.items()
        }
    )
    flat = dict(zip(fabric.ports, (port for row in chosen.values() for port in row if port)))
    gpus = judge(fabric.hosts, readings, known_xids)
    return Readings(
        fabric,
        {nic: str(port.get("gid_netdev") or port["netdev"] or "") for nic, port in flat.items()},
        (*_odd_ones(fabric, flat), *_absent(fabric, readings), *gpus.faults),
        (*notes, *gpus.notes),
        any(bool((readings.get(name) or {}).get("simulated")) for name in chosen),
        gpus,
    )


def _same_number(chosen: Mapping[str, Sequence[Any]]) -> None:
    """Without networks the order of the devices says the rail: of a host with one more or one less it says nothing."""
    most, _share = usual(len(row) for row in chosen.values() if row)
    other = [name for name, row in chosen.items() if row and len(row) != most]
    if other:
        raise refusal("rails_unknown", no_plan=True, host=other[0], count=len(chosen[other[0]]), most=most)


def _absent(fabric: Fabric, readings: Mapping[str, Any]) -> Iterator[Finding]:
    """What cannot be measured does not pass: a host that was not read, or that lacks the port of a rail."""
    for nic in sorted(fabric.absent):
        given = readings.get(fabric.hosts[fabric.host_of(nic)]) or {}
        yield fault("absent", Place("nic", (nic,)), why=given.get("error") or "no usable RoCE v2 port was read")


def _addressed(port: Mapping[str, Any], nets: Sequence[Any]) -> Mapping[str, Any]:
    """The port with that GID of it which lies in a network, the chosen one if it does; ``gid_netdev``: maybe a VLAN."""
    gids = [gid for gid in port.get("gids") or () if gid["type"] == "RoCE v2" and gid["ipv4"]]
    for gid in sorted(gids, key=lambda gid: bool(gid["index"] != port["roce_gid_index"])):
        if not nets or any(ipaddress.ip_address(gid["ipv4"]) in net for net in nets):
            return {**port, "roce_gid_index": gid["index"], "roce_gid_ipv4": gid["ipv4"], "gid_netdev": gid["netdev"]}
    return port


def _usable(name: str, port: Mapping[str, Any], nets: Sequence[Any], notes: list[str]) -> bool:
    where = f"{name} {port.get('name')}:{port.get('port', 1)}"
    gid = port.get("roce_gid_ipv4")
    if port.get("link_layer") != "Ethernet":
        notes.append(f"{where} is left out: {port.get('link_layer')}, not Ethernet")
    elif not gid:
        notes.append(f"{where} is left out: no GID of RoCE v2 over IPv4 (state {port.get('state')})")
    elif nets and not any(ipaddress.ip_address(gid) in net for net in nets):
        notes.append(f"{where} is left out: {gid} is in none of {', '.join(map(str, nets))}")
    else:
        return True
    return False


def _in_rails(name: str, ports: Sequence[Mapping[str, Any]], nets: Sequence[Any]) -> list[Mapping[str, Any] | None]:
    """One network per rail: the network says the rail. Otherwise the order of the devices does."""
    if len(nets) < 2:
        return list(ports)
    row: list[Mapping[str, Any] | None] = [None] * len(nets)
    for port in ports:
        address = ipaddress.ip_address(port["roce_gid_ipv4"])
        rail = next(number for number, net in enumerate(nets) if address in net)
        other = row[rail]
        if other is not None:
            words = {"name": name, "one": other["name"], "other": port["name"], "network": nets[rail]}
            raise refusal("rail_twice", str(nets[rail]), **words)
        row[rail] = port
    return row


def _port(port: Mapping[str, Any], switch: str = "", switch_port: str = "") -> Port:
    gid_index = port.get("roce_gid_index")
    return Port(
        device=port["name"],
        address=port["roce_gid_ipv4"],
        gid_index=-1 if gid_index is None else gid_index,
        mtu=port.get("netdev_mtu") or 0,
        rate=number(str(port.get("rate") or "0").split()[0]) or 0.0,
        switch=switch,
        switch_port=switch_port,
    )


def _plugged(
    switches: Mapping[str, Any], chosen: Mapping[str, Sequence[Any]], readings: Mapping[str, Any]
) -> dict[tuple[str, str], tuple[str, str]]:
    """(host, interface) to switch and port, from LLDP's neighbors; a host with one NIC need not name its interface."""
    found = {}
    owners: dict[str, set[str]] = collections.defaultdict(set)
    for host in chosen:  # it names itself with its domain or without, in any case of the letters
        for name in (host.lower(), str((readings.get(host) or {}).get("hostname") or host).lower()):
            owners[name].add(host)
            owners[short(name)].add(host)
    for switch, given in switches.items():
        for name, port in ((given or {}).get("ports") or {}).items():
            for neighbor in port.get("neighbors") or ():
                system = str(neighbor.get("system") or "").lower()
                known = owners.get(system) or owners.get(short(system)) or ()
                owner = min(known) if len(known) == 1 else ""  # a name of several is that of none
                mine = [entry for entry in chosen.get(owner, ()) if entry]
                named = [entry for entry in mine if entry["netdev"] and entry["netdev"] == neighbor.get("port")]
                for entry in named or (mine if len(mine) == 1 else ()):
                    found[owner, str(entry["netdev"])] = (str(switch), str(name))
    return found


def _value(port: Mapping[str, Any], key: str) -> Any:
    inside, _dot, name = key.rpartition(".")
    value = ((port.get(inside) or {}) if inside else port).get(name)
    return tuple(value) if isinstance(value, list) else value


def _odd_ones(fabric: Fabric, ports: Mapping[int, Mapping[str, Any]]) -> Iterator[Finding]:
    alike = {code: entry["alike"] for code, entry in FAULTS.table.items() if "alike" in entry}
    rails = by_key((fabric.rail_of(nic), nic) for nic in ports)
    for nics in rails.values():
        for code, key in alike.items():
            read = {nic: _value(ports[nic], key) for nic in nics}
            values = {nic: value for nic, value in read.items() if value is not None}
            most, share = usual(values.values())
            for nic, value in sorted(values.items()):
                if value != most and share > 0.5:
                    yield fault(code, Place("nic", (nic,)), value=value, most=most)
        switches = {nic: fabric.port(nic).switch for nic in nics if fabric.port(nic).switch}
        usual_switch, share = usual(switches.values())
        for nic, switch in sorted(switches.items()):
            # Several hosts in another switch are a rack of their own.
            if switch != usual_switch and 3 * share > 2 and [*switches.values()].count(switch) == 1:
                behind = fabric.port(nic).behind
                yield fault("plugged_elsewhere", Place("nic", (nic,)), behind=behind, usual=usual_switch)
    # A slot of an older generation is how the machines were bought, where the whole rail is like that.
    best_of = {
        (rail, key): max((ports[nic].get("pcie") or {}).get(f"current_link_{key}") or 0 for nic in nics)
        for rail, nics in rails.items()
        for key in ("width", "speed")
    }
    for nic, port in sorted(ports.items()):
        link = port.get("pcie") or {}
        for key, unit in (("width", "lanes"), ("speed", "GT/s")):
            now, most = link.get(f"current_link_{key}"), link.get(f"max_link_{key}")
            if now and most and now < min(most, best_of[fabric.rail_of(nic), key]):
                yield fault("nic_pcie", Place("nic", (nic,)), key=key, now=now, most=most, unit=unit)
