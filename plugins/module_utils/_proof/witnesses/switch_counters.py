"""Witness: Counters of the switch in the lossless class. See `counters`. Pure."""

from __future__ import annotations

from typing import Any, Mapping

from ..._results.readers.reading import few
from ..counters import PACKET_BYTES
from ..counters import judge as judge_counters
from ..evidence import Evidence, short
from ..snapshots import IDLE_SHARE
from ..witness import Doubts

# How far NICs and switch may differ: both are read within seconds, not at one moment.
SLACK = 0.15
CONTROL_PACKETS = 100_000  # of connections and of other small traffic in the lossless class


def judge(evidence: Evidence, doubts: Doubts) -> str:
    job = evidence.job
    text = judge_counters(evidence.switches, evidence.due, doubts)
    for place, seen in ((evidence.switches or {}).get("places") or {}).items():
        nodes = seen.get("nodes")
        if nodes != len(job.hosts):
            doubts.wrong.append(f"{place}: counted for {nodes} nodes, the job had {len(job.hosts)}")
        readings = seen.get("readings") or {}
        if not readings:
            doubts.missing.append(f"{place}: when it was read is not known")
        for switch, times in readings.items():
            job.around(str(switch), times, doubts)
        own = _neighbors(seen, evidence, doubts)
        doubts.wrong.extend(f"{pair} are one switch: the same ports and counters" for pair in seen.get("same") or ())
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
        doubts.unseen.append(f"whose ports counted is not known: they lead to {few(foreign)}, no host of the job")
        return 0
    if foreign:
        doubts.wrong.append(f"RoCE packets were counted at {few(foreign)}, no host of the job")
    absent = [node for node, names in own.items() if not any(names & there for there in neighbors.values())]
    if absent and neighbors and all(neighbors.values()):
        doubts.wrong.append(f"no port that counted leads to {few(absent)}")
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
        doubts.wrong.append(
            f"all NICs together sent {total[0] / 1e9:.3f} GB and received {total[1] / 1e9:.3f} GB: what one sends, "
            "another one receives"
        )
        return
    # What leaves a node came in at its port; acknowledgements of what it received leave it as packets, too.
    most = sum(total) * (1 + SLACK) / min(mtus or {256}) + CONTROL_PACKETS
    for side, word in enumerate(("sent", "received")):
        ports = {port: both[side] for port, both in (seen.get("by_port") or {}).items()}
        packets, least = sum(ports.values()), total[side] * (1 - SLACK) / max(mtus or {PACKET_BYTES})
        if not least <= packets <= most:
            doubts.wrong.append(
                f"the NICs {word} {total[side] / 1e9:.3f} GB, which are {least:,.0f} to {most:,.0f} packets; the "
                f"switch counted {packets:,}"
            )
            return
        if own > len(nics):  # bonds
            doubts.unseen.append(f"which port counted for which NIC is not known: {len(nics)} NICs, {own} ports")
            return
        shares = sorted((both[side] / total[side] for both in nics.values()), reverse=True)
        _shares(ports, shares, word, len(mtus) == 1, doubts)


def _shares(ports: Mapping[str, int], shares: list[float], word: str, comparable: bool, doubts: Doubts) -> None:
    """``shares``: of the NICs, the largest first; packets compare with bytes only where all have the same MTU."""
    packets = sum(ports.values())
    busiest = sorted(ports.items(), key=lambda item: -item[1])
    extra = [port for port, count in busiest[len(shares) :] if count > IDLE_SHARE * packets]
    if extra:
        doubts.wrong.append(f"RoCE packets of no host of the job at {few(extra)}")
    if len(ports) < len(shares):
        doubts.wrong.append(f"{len(shares)} NICs {word} data, packets were counted at {len(ports)} switch ports")
    elif comparable:
        unlike = [
            f"{port} ({100 * count / packets:.0f} % of the packets)"
            for (port, count), share in zip(busiest, shares)
            if abs(count / packets - share) > SLACK * share + IDLE_SHARE / len(shares)
        ]
        if unlike:
            doubts.wrong.append(f"no NIC {word} what was counted at {few(unlike)}")
