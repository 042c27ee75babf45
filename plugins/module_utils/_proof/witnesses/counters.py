"""Witnesses: RDMA counters of the NICs, and counters of the switch in the lossless class. See `counters`. Pure."""

from __future__ import annotations

from typing import Any, Mapping

from ..counters import PACKET_BYTES, judge
from ..evidence import Evidence, Job, ends, gathered, host_of, rows, short
from ..snapshots import IDLE_SHARE
from ..witness import Doubts

# How far NICs and switch may differ: both are read within seconds, not at one moment.
SLACK = 0.15
CONTROL_PACKETS = 100_000  # of connections and of other small traffic in the lossless class


def rdma(evidence: Evidence, doubts: Doubts) -> str:
    job = evidence.job
    text = judge(evidence.rdma, evidence.due, doubts)
    places = (evidence.rdma or {}).get("places") or {}
    doubts.add_if(sorted(set(places) - set(job.hosts)), "counters_foreign")
    for place, seen in places.items():
        for strange in (seen.get("strange"), *(seen.get("replaced") or ())):
            doubts.add_if(strange, "reading_strange", place=place)
        _idle(place, len(seen.get("ports") or ()), list(seen.get("idle") or ()), evidence, doubts)
        job.around(place, seen, doubts)
    _identity(places, job, doubts)
    return text


def _identity(places: Mapping[str, Mapping[str, Any]], job: Job, doubts: Doubts) -> None:
    """Each node's readings are its own: no boot, card or address is there twice."""
    owners: dict[tuple[str, str], list[str]] = {}
    for place, seen in places.items():
        identity = seen.get("identity") or {}
        own, expected = host_of(identity, "hostname"), short(job.hosts.get(place, ""))
        if own and expected and own != expected:
            doubts.add("reading_of_other", place=place, own=own, expected=expected)
        for kind, word in (("boots", "boot id"), ("guids", "card"), ("addresses", "address")):
            for value in identity.get(kind) or ():
                owners.setdefault((word, str(value)), []).append(place)
    for (word, value), nodes in owners.items():
        if len(nodes) > 1:
            twice = f"two NICs of {nodes[0]}" if len(set(nodes)) == 1 else nodes
            doubts.add_if(twice, "identity_twice", word=word, value=value)


def _idle(node: str, rails: int, idle: list[str], evidence: Evidence, doubts: Doubts) -> None:
    """A rail that NCCL was set to use (its network was asked for, or a channel takes it) has to carry something."""
    # With fewer ranks on a node than rails one may rightly be left: then a channel of NCCL's has to name it.
    own = short(evidence.job.hosts.get(node, ""))
    ranks = sum(host_of(rank) == own for rank in evidence.per_rank)
    everywhere = evidence.job.rdma_networks and ranks >= rails
    wanted = idle if everywhere else [port for port in idle if port in channels(evidence, node)]
    doubts.add_if(wanted, "rail_idle", node=node)
    doubts.add_if([port for port in idle if port not in wanted], "rail_spare", node=node)


def channels(evidence: Evidence, node: str) -> set[str]:
    """The NICs of a node that a channel of NCCL's log takes, as rdma_info names them."""
    host = short(evidence.job.hosts.get(node, ""))
    path = evidence.path or {}
    pairs = rows(path.get("pairs"))
    used = {number for end, _rank, said in ends(pairs) if end == host for number in said.get("devices") or ()}
    chosen = [hca for hca in path.get("hcas") or () if hca.get("index") in used and host_of(hca) == host]
    return gathered(evidence.job, {"hcas": chosen}).get(node, set())


def switch(evidence: Evidence, doubts: Doubts) -> str:
    job = evidence.job
    text = judge(evidence.switches, evidence.due, doubts)
    for place, seen in ((evidence.switches or {}).get("places") or {}).items():
        nodes = seen.get("nodes")
        readings = seen.get("readings") or {}
        doubts.add_if(nodes != len(job.hosts), "switch_nodes", place=place, nodes=nodes, hosts=len(job.hosts))
        doubts.add_if(not readings, "switch_time", place=place)
        for switch, times in readings.items():
            job.around(str(switch), times, doubts)
        own = _neighbors(seen, evidence, doubts)
        for pair in seen.get("same") or ():
            doubts.add_if(pair, "switch_twice")
        if seen.get("received_packets") is not None:
            _partners(seen, (evidence.rdma or {}).get("places") or {}, own, doubts)
    return text


def _neighbors(seen: Mapping[str, Any], evidence: Evidence, doubts: Doubts) -> int:
    """By LLDP the ports that counted lead to hosts of the job, to each by one at least. Their number, if all do."""
    counted = {port: sum(both) for port, both in (seen.get("by_port") or {}).items()}
    busy = [port for port, count in counted.items() if count * len(counted) > IDLE_SHARE * sum(counted.values())]
    neighbors = {port: {short(name) for name in (seen.get("neighbors") or {}).get(port) or ()} for port in busy}
    own: dict[str, set[str]] = {}
    for node, name in evidence.job.hosts.items():
        place = ((evidence.rdma or {}).get("places") or {}).get(node) or {}
        also = str((place.get("identity") or {}).get("hostname") or "")
        own[node] = {short(each) for each in (node, name, also) if each}
    known = {name for names in own.values() for name in names}
    foreign = [
        f"{port} ({', '.join(sorted(names))})" for port, names in neighbors.items() if names and not names & known
    ]
    if foreign and len(foreign) == sum(map(bool, neighbors.values())):
        # A card with a system of its own, such as a DPU, gives that system's name.
        doubts.add_if(foreign, "neighbors_unknown")
        return 0
    doubts.add_if(foreign, "neighbors_foreign")
    absent = [node for node, names in own.items() if not any(names & there for there in neighbors.values())]
    if absent and neighbors and all(neighbors.values()):
        doubts.add_if(absent, "neighbors_absent")
    return len(neighbors) if all(names & known for names in neighbors.values()) else 0


def _partners(seen: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]], own: int, doubts: Doubts) -> None:
    """What the NICs sent and received came by these ports: as much, and at each port as at its NIC."""
    nics = {
        f"{node} {port}": both
        for node, place in nodes.items()
        for port, both in (place.get("by_port") or {}).items()
        if None not in both and sum(both)
    }
    mtus = {mtu for place in nodes.values() for mtu in place.get("mtu") or ()}
    if not nics or any(place.get("sent_bytes") is None for place in nodes.values()):
        return
    total = [sum(both[side] for both in nics.values()) for side in (0, 1)]
    if not min(total) or max(total) > (1 + SLACK) * min(total):
        doubts.add("nics_differ", sent=total[0] / 1e9, received=total[1] / 1e9)
        return
    # What leaves a node came in at its port; acknowledgements of what it received leave it as packets, too.
    most = sum(total) * (1 + SLACK) / min(mtus or {256}) + CONTROL_PACKETS
    for side, word in enumerate(("sent", "received")):
        ports = {port: both[side] for port, both in (seen.get("by_port") or {}).items()}
        packets, least = sum(ports.values()), total[side] * (1 - SLACK) / max(mtus or {PACKET_BYTES})
        if not least <= packets <= most:
            moved = total[side] / 1e9
            doubts.add("packets_differ", word=word, moved=moved, least=least, most=most, packets=packets)
            return
        if own > len(nics):  # bonds
            doubts.add("ports_unknown", nics=len(nics), ports=own)
            return
        shares = sorted((both[side] / total[side] for both in nics.values()), reverse=True)
        _shares(ports, shares, word, len(mtus) == 1, doubts)


def _shares(ports: Mapping[str, int], shares: list[float], word: str, comparable: bool, doubts: Doubts) -> None:
    """``shares``: of the NICs, the largest first; packets compare with bytes only where all have the same MTU."""
    packets = sum(ports.values())
    busiest = sorted(ports.items(), key=lambda item: -item[1])
    extra = [port for port, count in busiest[len(shares) :] if count > IDLE_SHARE * packets]
    doubts.add_if(extra, "ports_extra")
    if len(ports) < len(shares):
        doubts.add("ports_few", nics=len(shares), word=word, ports=len(ports))
    elif comparable:
        unlike = [
            f"{port} ({100 * count / packets:.0f} % of the packets)"
            for (port, count), share in zip(busiest, shares)
            if abs(count / packets - share) > SLACK * share + IDLE_SHARE / len(shares)
        ]
        doubts.add_if(unlike, "ports_unlike", word=word)
