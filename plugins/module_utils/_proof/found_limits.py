"""What the nodes' RDMA devices say about the limits of the cluster, each figure with its source. Pure.

A run is as fast as its slowest node, so the least of all nodes counts; a figure that one node does not tell is unknown
for the cluster, because the silent node may be the slowest.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any, Callable, Collection, Mapping, Sequence, Tuple

from .._results.figures.limits import PCIE_GENERATIONS, UnknownError
from .evidence import below_best, gbit_per_s, port_name, roce_gids, training_ports, whole
from .snapshots import SIMULATED

_GENERATIONS = {rate: generation for generation, (rate, _share) in PCIE_GENERATIONS.items()}
_Figures = Tuple[Mapping[str, Any], str]  # values of `find`'s ``limits``, and their source
_Ports = Mapping[str, Mapping[str, Any]]  # those that carry the training: node and device -> what rdma_info says

# What a port of Ethernet can run at (IEEE 802.3, per port, in Gb/s): anything else was not read rightly.
ETHERNET_GBIT_PER_S = (1, 2.5, 5, 10, 20, 25, 40, 50, 56, 100, 200, 400, 800, 1600)


def find(
    readings: Mapping[str, Any],
    nodes: Sequence[str],
    networks: Sequence[str] = (),
    hcas: Mapping[str, Collection[str]] | None = None,
) -> dict[str, Any]:
    """``limits`` (for the option ``limits`` of run_report), ``sources`` (same keys, texts), ``unknown`` (key -> why),
    ``notes``. ``readings``: node -> what module rdma_info returned there; ``networks``: RoCE networks (CIDR), one
    per rail; ``hcas``: node -> the NICs that NCCL says it uses, which go before the networks."""
    result: dict[str, Any] = {"limits": {}, "sources": {}, "unknown": {}, "notes": []}
    limits, sources = result["limits"], result["sources"]
    if any((readings.get(node) or {}).get("simulated") for node in nodes):
        return {**result, "notes": [SIMULATED]}
    chosen = hcas or {}
    by_node = {node: training_ports(readings.get(node), networks, chosen.get(node)) for node in nodes}
    named = {node: {*map(port_name, found)} for node, found in by_node.items()}
    silent = [node for node, there in named.items() if not there or set(chosen.get(node) or ()) - there]
    addressed = f"with a RoCE v2 address in {', '.join(networks) or 'any network'}"
    if silent or not by_node:
        what = "not every NIC that NCCL names" if chosen else f"no RDMA port {addressed}"
        return {**result, "notes": [f"{what} was seen on {', '.join(silent)}" if by_node else "no node was read"]}
    ports = {f"{node} {port_name(port)}": port for node, found in by_node.items() for port in found}
    readers: dict[str, Callable[[_Ports], _Figures]] = {key: functools.partial(_least, key) for key in _LEAST}
    readers.update(pcie_generation=_pcie, vlan_tagged=functools.partial(_tags, () if chosen else networks))
    for key, read in readers.items():
        try:
            values, source = read(ports)
        except UnknownError as error:
            result["unknown"][key] = str(error)
        else:
            limits.update(values)
            sources.update(dict.fromkeys(values, source))
    gpus = [(readings.get(node) or {}).get("gpus") or {} for node in nodes]
    rates: list[float] = [gpu.get("nvlinks_gb_s") or 0 for each in gpus for gpu in each.get("state") or [{}]]
    if rates and all(rates):
        limits["nvlink_gbyte_per_s"] = min(rates)
        sources["nvlink_gbyte_per_s"] = "gpu_info: nvidia-smi nvlink -s, all links of the GPU with the least"
    counts = {node: len(found) for node, found in by_node.items()}
    limits["nics_per_node"] = min(counts.values())
    sources["nics_per_node"] = f"rdma_info: {'the NICs that NCCL names' if chosen else f'ports {addressed}'}" + (
        "" if len(set(counts.values())) == 1 else f" (the fewest; {counts})"
    )
    limits["ip_version"], sources["ip_version"] = 4, "rdma_info: the GIDs are IPv4 addresses"
    return {**result, "notes": _degraded(ports)}


def _least(key: str, ports: _Ports) -> _Figures:
    read, source = _LEAST[key]
    seen = {label: read(port) for label, port in ports.items()}
    missing = [label for label, value in seen.items() if value is None]
    if missing:
        raise UnknownError(f"not reported by {', '.join(missing[:4])}")
    if key == "nic_link_gbit_per_s":  # NCCL names NICs of storage, too: the least times their number is below the truth
        for node, labels in itertools.groupby(seen, key=lambda label: label.partition(" ")[0]):
            if len({seen[label] for label in labels}) > 1:
                raise UnknownError(
                    f"the NICs that NCCL names on {node} do not run at one rate; name those of the training"
                )
    low = min(seen, key=lambda label: seen[label])
    most = max(seen.values())
    where = "the same on all nodes" if seen[low] == most else f"the least ({low}; up to {most:g})"
    return {key: seen[low]}, f"{source}, {where}"


def _rate(port: Mapping[str, Any]) -> float | None:
    found = gbit_per_s(port)
    return found if found in ETHERNET_GBIT_PER_S else None


# Key -> what is read of a port, and where that comes from.
_LEAST: Mapping[str, tuple[Callable[[Mapping[str, Any]], Any], str]] = {
    "nic_link_gbit_per_s": (_rate, "rdma_info: rate of the port (sysfs)"),
    "roce_mtu_bytes": (lambda port: whole(port.get("active_mtu")), "rdma_info: active_mtu (ibv_devinfo)"),
    "interface_mtu_bytes": (lambda port: whole(port.get("netdev_mtu")), "rdma_info: MTU of the interface"),
    "pcie_max_payload_bytes": (
        lambda port: whole((port.get("pcie") or {}).get("max_payload")),
        "rdma_info: MaxPayload (configuration space, as the VM sees it)",
    ),
}


def _pcie(ports: _Ports) -> _Figures:
    """Generation and width belong together: those of the port whose link carries least."""
    links = []
    for label, port in ports.items():
        pcie = port.get("pcie") or {}
        speed, width = pcie.get("current_link_speed"), whole(pcie.get("current_link_width"))
        generation = _GENERATIONS.get(speed or 0.0)
        if generation is None or width is None:
            link = f"{speed} GT/s x{pcie.get('current_link_width')}" if pcie else "PCIe link not read"
            raise UnknownError(f"{label}: {link}")
        rate, share = PCIE_GENERATIONS[generation]
        links.append((rate * width * share, generation, width, label))
    _carries, generation, width, label = min(links, key=lambda link: link[0])
    where = "the same on all nodes" if len({link[:3] for link in links}) == 1 else f"the least ({label})"
    source = f"rdma_info: current_link_speed and current_link_width (sysfs, as the VM sees it), {where}"
    return {"pcie_generation": generation, "pcie_width": width}, source


def _tags(networks: Sequence[str], ports: _Ports) -> _Figures:
    """Packets carry a tag if the GID belongs to a VLAN interface on top of the port's own. A virtual function says
    nothing: its host may add a tag that the guest never sees."""
    tagged = set()
    for label, port in ports.items():
        gids = [*roce_gids(port, networks)]
        interfaces = {str(gid.get("netdev") or "") for gid in gids}
        own = str(port.get("netdev") or "")
        if port.get("is_vf") is not False:
            raise UnknownError(f"{label} may be a virtual function, to which the host can add a tag")
        if interfaces == {own} and own:
            tagged.add(False)
        elif own and all(gid.get("vlan_of") == own for gid in gids):
            tagged.add(True)
        else:
            raise UnknownError(f"{label}: the GID belongs to {', '.join(sorted(interfaces)) or 'nothing'}")
    if len(tagged) != 1:
        raise UnknownError("some ports send with a VLAN tag and others without")
    owner = "a VLAN interface" if True in tagged else "the interface of the port itself"
    return {"vlan_tagged": tagged.pop()}, f"rdma_info: the GID belongs to {owner}"


def _degraded(ports: _Ports) -> list[str]:
    """Links that run below what the device can do: the cable of a slot, so to say."""
    return [
        f"{label}: PCIe runs with {link}: look at slot and firmware"
        for label, port in ports.items()
        for link in below_best(port.get("pcie") or {})
    ]
