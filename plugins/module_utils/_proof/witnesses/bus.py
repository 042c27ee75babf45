"""Witnesses beside the verdict: how good the way between GPU and NIC is, asked of each NIC of the training. Pure."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Tuple

from ..._results.figures.limits import MEASUREMENT_MARGIN
from ..._results.readers.reading import by_key, few
from ..evidence import Evidence, below_best, rows
from ..witness import Doubts

NOT_READ = "not read"
# Lists of `Doubts`, and how they speak of NICs. A note names none: a name is where something is to be done.
WRONG, UNREAD, NOTE = "wrong", "missing", "notes"
_SENTENCES = {WRONG: "{what}: {places}", UNREAD: NOT_READ + " on {places}: {what}", NOTE: "{what} ({count} of {all})"}
Word = Tuple[str, str]  # one of these lists, and what is said


class PathNic(NamedTuple):
    """``device``: the name without the number of the port; ``facts``: what module rdma_info says under ``path.nics``,
    empty if it was not read; ``node_facts``: ``path``; ``pcie``: of the device."""

    node: str
    name: str
    device: str
    facts: Mapping[str, Any]
    node_facts: Mapping[str, Any]
    pcie: Mapping[str, Any]

    @property
    def in_vm(self) -> bool:
        """Unknown counts as a VM: then nothing is taken for the truth about the host's switches."""
        return self.node_facts.get("machine") != "bare_metal"


def survey(evidence: Evidence, doubts: Doubts, look: Callable[[PathNic], Iterable[Word]]) -> list[PathNic]:
    """The NICs of the training. What ``look`` says of several of them in the same words becomes one doubt, or note."""
    found = list(_nics(evidence, doubts))
    places = by_key((word, f"{nic.node} {nic.name}") for nic in found for word in look(nic))
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
        links = {port.get("name"): port.get("pcie") for port in rows(start.get("devices"))}
        for name in names:
            device = name.split(":", maxsplit=1)[0]
            facts, pcie = known.get(device), links.get(device) or {}
            yield PathNic(node, name, device, facts if isinstance(facts, Mapping) else {}, path, pcie)
    if blind or not evidence.job.hosts:
        doubts.missing.append(f"{NOT_READ} on {few(blind)}" if blind else f"{NOT_READ}: the job names no host")


_WITHOUT = {"off": "ATS is off", "absent": "the NIC shows no ATS (ATS_ENABLED is not in force in its firmware)"}


def ats(evidence: Evidence, doubts: Doubts) -> str:
    """The NIC translates addresses itself (ATS)."""
    found = survey(evidence, doubts, _ats)
    return f"in force on {len(found) - sum(map(_is_unneeded, found))} of {len(found)} NICs"


def _is_unneeded(nic: PathNic) -> bool:
    return nic.facts.get("ats") in _WITHOUT and nic.facts.get("iommu") in ("none", "identity") and not nic.in_vm


def _ats(nic: PathNic) -> Iterator[Word]:
    state = nic.facts.get("ats")
    if state == "on":
        if (nic.facts.get("firmware") or {}).get("ATS_ENABLED") == "False":
            yield WRONG, "its firmware has ATS_ENABLED False"
    elif state not in _WITHOUT:
        yield UNREAD, "configuration space is not shown whole (root, and 4096 bytes of it, are needed)"
    elif _is_unneeded(nic):
        yield NOTE, "no IOMMU translates there, so the NIC need not"
    elif nic.in_vm or nic.facts.get("iommu"):
        yield WRONG, _WITHOUT[state]
    else:
        yield UNREAD, "ATS is off, and whether an IOMMU translates the NIC's addresses is not known"


_KEY = "pciPassthru.RelaxACSforP2P"


def acs(evidence: Evidence, doubts: Doubts) -> str:
    """No port above the NIC sends its requests up to the root complex (ACS)."""
    keys = (evidence.layers.get("vm") or {}).get("found")

    def look(nic: PathNic) -> Iterator[Word]:
        if not nic.in_vm:
            yield from _of_ports(nic.facts.get("ports_above"))
        elif _relaxed(keys, nic.node) is False:
            yield WRONG, f"the VM has not got {_KEY} in force, so the switches of its host redirect"
        else:
            yield UNREAD, "a VM sees no switch of its host; DirectTrans of ACSCtl shows on the host only"

    nics = f"{len(survey(evidence, doubts, look))} NICs"
    return f"no switch port above {nics} redirects what goes from device to device; those above GPUs were not read"


def _of_ports(ports: Any) -> Iterator[Word]:
    ports = ports if isinstance(ports, list) else []
    # The last is the root port: what stays below a switch never gets there, and the kernel sets its ACS.
    states = [port.get("acs") for port in rows(ports[:-1])]
    known = [state for state in states if isinstance(state, Mapping) and isinstance(state.get("redirects"), bool)]
    redirecting = [state for state in known if state["redirects"]]
    if len(ports) == 1:
        yield UNREAD, "the NIC has a root port of its own, so what goes to a GPU passes the root complex"
    elif any(state.get("direct_translated") is not True for state in redirecting):
        yield WRONG, "a port above the NIC redirects requests to the root complex, and DirectTrans is off"
    elif not states or len(known) != len(states):
        yield UNREAD, "the ports above the NIC, or their ACSCtl, are not shown (root is needed)"
    elif redirecting:
        yield NOTE, "by DirectTrans, which serves requests that ATS translated"


def _relaxed(found: Any, node: str) -> bool | None:
    """Whether the role that set the VM's keys found this one in force; None: not known."""
    keys = found.get(node) if isinstance(found, Mapping) else None
    if not isinstance(keys, Mapping) or _KEY not in keys:
        return None
    return str(keys[_KEY]).strip().strip('"').lower() in ("true", "1", "yes", "on")


_VARIABLE = "NCCL_IB_PCI_RELAXED_ORDERING"


def relaxed_ordering(evidence: Evidence, doubts: Doubts) -> str:
    """Relaxed ordering of PCIe writes, asked for, allowed and in use."""
    path = evidence.path or {}
    in_use, asked = path.get("relaxed_ordering"), str((path.get("settings") or {}).get(_VARIABLE, "")).strip()
    found = survey(evidence, doubts, _relaxed_ordering)
    forced = [(nic.facts.get("firmware") or {}).get("PCI_WR_ORDERING") == "force_relax" for nic in found]
    if in_use is False and asked == "0":
        doubts.wrong.append(f"switched off by {_VARIABLE}=0")
    elif in_use is False and not (forced and all(forced)):
        why = f"although {_VARIABLE}={asked} asked for it" if asked else "neither asked for nor chosen by itself"
        without = path.get("without_relaxed_ordering")
        where = few([str(host) for host in without] if isinstance(without, list) else []) or "a host (name unknown)"
        doubts.wrong.append(f"NCCL does not use it on {where} (no [RO] behind its NICs), {why}")
    elif in_use is False:
        doubts.notes.append("NCCL does not ask; the firmware forces it (PCI_WR_ORDERING force_relax)")
    elif in_use is not True:
        doubts.missing.append(f"{NOT_READ}: NCCL's log does not say whether it is in use")
    return f"in use by NCCL ([RO]) and allowed on {len(found)} NICs"


def _relaxed_ordering(nic: PathNic) -> Iterator[Word]:
    allowed = nic.facts.get("relaxed_ordering")
    if allowed is False:
        yield WRONG, "the NIC may not ask for it (DevCtl RlxdOrd-)"
    elif allowed is not True:
        yield UNREAD, "DevCtl (RlxdOrd) is not shown"


# nvidia-smi topo -m: a single switch, or several switches without the CPU's bridge.
NEAR = ("PIX", "PXB")


def topology(evidence: Evidence, doubts: Doubts) -> str:
    """NCCL sees a GPU close to each NIC, in the bus or in a file that tells it."""
    file = str(((evidence.path or {}).get("settings") or {}).get("NCCL_TOPO_FILE", "")).strip()

    def look(nic: PathNic) -> Iterator[Word]:
        links = [str(link.get("link")) for link in nic.node_facts.get("links") or () if link.get("nic") == nic.device]
        if not links:
            yield UNREAD, "nvidia-smi topo -m says nothing of it"
        elif not set(links) & set(NEAR) and not file:
            nearest = next((link for link in ("PHB", "NODE", "SYS") if link in links), links[0])
            yield WRONG, f"no GPU is nearer than {nearest}, and NCCL was given no topology file (NCCL_TOPO_FILE)"

    count = len(survey(evidence, doubts, look))
    if file:
        doubts.notes.append(f"NCCL reads its topology from {file}")
        return f"given for {count} NICs"
    return f"a GPU within {' or '.join(NEAR)} of {count} NICs"


def numa(evidence: Evidence, doubts: Doubts) -> str:
    return f"{len(survey(evidence, doubts, _numa))} NICs each have a GPU on their own node"


def _numa(nic: PathNic) -> Iterator[Word]:
    own = nic.facts.get("numa_node")
    nodes = [gpu.get("numa_node") for gpu in nic.node_facts.get("gpus") or ()]
    known = [node for node in nodes if isinstance(node, int) and node >= 0]
    if not isinstance(own, int) or own < 0:
        yield UNREAD, "the bus of this machine names no NUMA node, as in a VM without one"
    elif own in known:
        return
    elif not known or len(known) != len(nodes):
        yield UNREAD, "no GPU is on the bus, or its NUMA node is not named"
    else:
        yield WRONG, "every GPU is on another NUMA node than the NIC"


# Below the specification's 256 and 512 bytes nothing is usual; a request of 4096 is what NIC vendors recommend.
USUAL_PAYLOAD, USUAL_READ, BEST_READ = 256, 512, 4096


def pcie_link(evidence: Evidence, doubts: Doubts) -> str:
    return f"{len(survey(evidence, doubts, _pcie_link))} NICs run as wide and as fast as they can"


def _pcie_link(nic: PathNic) -> Iterator[Word]:
    payload, read = nic.facts.get("max_payload"), nic.facts.get("max_read_request")
    for what in below_best(nic.pcie):
        yield WRONG, what
    for value, usual, name in ((payload, USUAL_PAYLOAD, "MaxPayload"), (read, USUAL_READ, "MaxReadReq")):
        if value and value < usual:
            yield WRONG, f"{name} {value} bytes, {usual} or more is usual"
    link = nic.pcie.get("current_link_speed") and nic.pcie.get("current_link_width")
    if not (payload and read and link):
        yield UNREAD, "width, speed, MaxPayload or MaxReadReq is not shown"
    if read and USUAL_READ <= read < BEST_READ:
        yield NOTE, f"MaxReadReq is below {BEST_READ} bytes, which may cost speed"
    if nic.in_vm:
        yield NOTE, "as the VM sees it"


# Two figures at the wire's own limit cannot differ: then the wire is what was measured, and not the way to it.
AT_THE_WIRE = 0.9
# perftest's figure of host memory is no detour, only the best that this NIC can do: GPU memory may lose this much.
MAY_LOSE = 0.05


def detour(evidence: Evidence, doubts: Doubts) -> str:
    good = []
    for pair in evidence.detours:
        shown = f"{pair.what}: {pair.direct:.4g} GB/s by GPUDirect, {pair.host:.4g} "
        shown += "through host memory" if pair.staged else "from host memory"
        wire = pair.limit is not None and pair.direct >= AT_THE_WIRE * pair.limit
        if pair.staged and pair.direct <= pair.host * (1 + MEASUREMENT_MARGIN) and not wire:
            doubts.wrong.append(f"GPUDirect is not faster than the detour: {shown}")
        elif not pair.staged and pair.direct < pair.host * (1 - MAY_LOSE):
            doubts.wrong.append(f"GPU memory is slower than host memory: {shown}")
        else:
            good.append(shown + (", at the limit of the wire" if wire else ""))
    if not evidence.detours:
        doubts.missing.append(f"{NOT_READ}: both ways were not measured (benchmark bandwidth, gpu_direct and gpu_host)")
    return "; ".join(good[:2])
