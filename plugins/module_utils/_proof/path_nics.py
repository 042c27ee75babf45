"""What was read of the bus between GPU and NIC, asked of each NIC of the training. Pure."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Tuple

from .counters import few
from .evidence import Evidence
from .witness import Doubts

NOT_READ = "not read"
# Lists of `Doubts`, and how they speak of NICs. A note names none: a name is where something is to be done.
WRONG, UNREAD, NOTE = "wrong", "missing", "notes"
_SENTENCES = {WRONG: "{what}: {places}", UNREAD: NOT_READ + " on {places}: {what}", NOTE: "{what} ({count} of {all})"}
Word = Tuple[str, str]  # one of these lists, and what is said


class PathNic(NamedTuple):
    """``facts``: what module rdma_info says under ``path.nics``, empty if it was not read; ``node_facts``: ``path``;
    ``pcie``: of the device."""

    node: str
    name: str
    facts: Mapping[str, Any]
    node_facts: Mapping[str, Any]
    pcie: Mapping[str, Any]

    @property
    def device(self) -> str:
        """Without the number of the port."""
        return self.name.split(":", maxsplit=1)[0]

    @property
    def in_vm(self) -> bool:
        """Unknown counts as a VM: then nothing is taken for the truth about the host's switches."""
        return self.node_facts.get("machine") != "bare_metal"


def survey(evidence: Evidence, doubts: Doubts, look: Callable[[PathNic], Iterable[Word]]) -> list[PathNic]:
    """The NICs of the training. What ``look`` says of several of them in the same words becomes one doubt, or note."""
    found = list(_nics(evidence, doubts))
    places: dict[Word, list[str]] = {}
    for nic in found:
        for word in look(nic):
            places.setdefault(word, []).append(f"{nic.node} {nic.name}")
    for (kind, what), names in places.items():
        getattr(doubts, kind).append(
            _SENTENCES[kind].format(what=what, places=few(names), count=len(names), all=len(found))
        )
    return found


def _nics(evidence: Evidence, doubts: Doubts) -> Iterator[PathNic]:
    """Nodes whose bus was not read are missing."""
    blind = []
    for node in evidence.job.hosts:
        start = evidence.start.get(node) or {}
        path = start.get("path")
        path = path if isinstance(path, Mapping) else {}
        known = path.get("nics")
        names = evidence.used.get(node) or ()
        if not names or not isinstance(known, Mapping):
            blind.append(node)
            continue
        links = {port.get("name"): port.get("pcie") for port in start.get("devices") or () if isinstance(port, Mapping)}
        for name in names:
            nic = PathNic(node, name, {}, path, {})
            facts = known.get(nic.device)
            facts = facts if isinstance(facts, Mapping) else {}
            yield nic._replace(facts=facts, pcie=links.get(nic.device) or {})
    if blind or not evidence.job.hosts:
        doubts.missing.append(f"{NOT_READ} on {few(blind)}" if blind else f"{NOT_READ}: the job names no host")
