"""Witness: RDMA counters of the NICs. See `counters`. Pure."""

from __future__ import annotations

from typing import Any, Mapping

from ..counters import judge as judge_counters
from ..evidence import Evidence, Job, ends, gathered, host_of, rows, short
from ..witness import Doubts


def judge(evidence: Evidence, doubts: Doubts) -> str:
    job = evidence.job
    text = judge_counters(evidence.rdma, evidence.due, doubts)
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
