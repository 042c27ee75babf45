"""What was read of the bus between GPU and NIC, for each NIC of the training. Pure."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, NamedTuple

from .counters import few
from .evidence import Evidence
from .witness import Doubts

VM = "vm"
NOT_READ = "not read"


class PathNic(NamedTuple):
    """``facts``: what module rdma_info says under ``path.nics``, empty if it was not read; ``node_facts``: ``path``."""

    node: str
    name: str
    facts: Mapping[str, Any]
    node_facts: Mapping[str, Any]

    @property
    def label(self) -> str:
        return f"{self.node} {self.name}"

    @property
    def in_vm(self) -> bool:
        """Unknown counts as a VM: then nothing is taken for the truth about the host's switches."""
        return self.node_facts.get("machine") != "bare_metal"


def nics(evidence: Evidence, doubts: Doubts) -> Iterator[PathNic]:
    """Every NIC of the training; nodes whose bus was not read are missing."""
    blind = []
    for node in evidence.job.hosts:
        path = (evidence.start.get(node) or {}).get("path")
        path = path if isinstance(path, Mapping) else {}
        known = path.get("nics")
        names = evidence.used.get(node) or ()
        if not names or not isinstance(known, Mapping):
            blind.append(node)
            continue
        for name in names:
            facts = known.get(name.split(":", maxsplit=1)[0])
            yield PathNic(node, name, facts if isinstance(facts, Mapping) else {}, path)
    if blind or not evidence.job.hosts:
        doubts.missing.append(f"{NOT_READ} on {few(blind)}" if blind else f"{NOT_READ}: the job names no host")


def tell(doubts: Doubts, found: Mapping[str, list[str]], missing: Mapping[str, list[str]]) -> None:
    """``found``: what is wrong -> places; ``missing``: why it was not read -> places."""
    doubts.wrong.extend(f"{what}: {few(places)}" for what, places in found.items() if places)
    doubts.missing.extend(f"{NOT_READ} on {few(places)}: {why}" for why, places in missing.items() if places)
