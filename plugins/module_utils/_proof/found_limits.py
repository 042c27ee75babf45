"""What the nodes' RDMA devices say about the limits of the cluster, each figure with its source. Pure.

A run is as fast as its slowest node, so the least of all nodes counts; a figure that one node does not tell is unknown
for the cluster, because the silent node may be the slowest.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Collection, Mapping, NamedTuple, Sequence

from .._results.figures.limits import PCIE_GENERATIONS
from .evidence import whole
from .rdma_ports import gbit_per_s, name, networks_text, roce_gids, training_ports
from .snapshots import SIMULATED

_GENERATIONS = {rate: generation for generation, (rate, _share) in PCIE_GENERATIONS.items()}


class _Port(NamedTuple):
    """A port that carries the training; ``label``: node and device."""

    label: str
    facts: Mapping[str, Any]
    networks: tuple[str, ...]


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
    if any((readings.get(node) or {}).get("simulated") for node in nodes):
        return {"limits": {}, "sources": {}, "unknown": {}, "notes": [SIMULATED]}
    chosen = hcas or {}
    by_node = {node: training_ports(readings.get(node), networks, chosen.get(node)) for node in nodes}
    silent = [
        node
        for node, ports in by_node.items()
        if not ports or set(chosen.get(node) or ()) - {name(port) for port in ports}
    ]
    if silent or not by_node:
        what = (
            "not every NIC that NCCL names"
            if chosen
            else f"no RDMA port with a RoCE v2 address in {networks_text(networks)}"
        )
        why = f"{what} was seen on {', '.join(silent)}"
        return {"limits": {}, "sources": {}, "unknown": {}, "notes": [why if by_node else "no node was read"]}
    ports = [
        _Port(f"{node} {name(port)}", port, tuple(networks) if not chosen else ())
        for node, found in by_node.items()
        for port in found
    ]
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    unknown: dict[str, str] = {}
    for key, read, source in _READ:
        seen = [(read(port), port) for port in ports]
        missing = [port.label for value, port in seen if value is None]
        if missing:
            unknown[key] = f"not reported by {', '.join(missing[:4])}"
            continue
        uneven = _uneven(seen) if key == "nic_link_gbit_per_s" else ""
        if uneven:  # NCCL names NICs of storage or management, too: the least times their number is below the truth
            unknown[key] = f"the NICs that NCCL names on {uneven} do not run at one rate; name those of the training"
            continue
        distinct = sorted({value for value, _port in seen})
        values[key] = distinct[0]
        sources[key] = source + _slowest(seen, distinct)
    _pcie(ports, values, sources, unknown)
    _tags(ports, values, sources, unknown)
    _nvlinks([(readings.get(node) or {}).get("gpus") for node in nodes], values, sources)
    counts = {node: len(found) for node, found in by_node.items()}
    values["nics_per_node"] = min(counts.values())
    which = "the NICs that NCCL names" if chosen else f"ports with a RoCE v2 address in {networks_text(networks)}"
    sources["nics_per_node"] = f"rdma_info: {which}" + (
        "" if len(set(counts.values())) == 1 else f" (the fewest; {counts})"
    )
    values["ip_version"], sources["ip_version"] = 4, "rdma_info: the GIDs are IPv4 addresses"
    return {"limits": values, "sources": sources, "unknown": unknown, "notes": _degraded(ports)}


def _slowest(reported: Sequence[tuple[Any, _Port]], distinct: Sequence[Any]) -> str:
    if len(distinct) == 1:
        return ", the same on all nodes"
    return (
        f", the least ({next(port.label for value, port in reported if value == distinct[0])}; up to {distinct[-1]:g})"
    )


def _uneven(seen: Sequence[tuple[Any, _Port]]) -> str:
    """The first node whose own NICs differ; empty if there is none."""
    rates: dict[str, set[Any]] = {}
    for value, port in seen:
        rates.setdefault(port.label.partition(" ")[0], set()).add(value)
    return next((node for node, values in rates.items() if len(values) > 1), "")


def _rate(port: _Port) -> float | None:
    found = gbit_per_s(port.facts)
    return found if found in ETHERNET_GBIT_PER_S else None


_READ: tuple[tuple[str, Callable[[_Port], Any], str], ...] = (
    ("nic_link_gbit_per_s", _rate, "rdma_info: rate of the port (sysfs)"),
    ("roce_mtu_bytes", lambda port: whole(port.facts.get("active_mtu")), "rdma_info: active_mtu (ibv_devinfo)"),
    ("interface_mtu_bytes", lambda port: whole(port.facts.get("netdev_mtu")), "rdma_info: MTU of the interface"),
    (
        "pcie_max_payload_bytes",
        lambda port: whole((port.facts.get("pcie") or {}).get("max_payload")),
        "rdma_info: MaxPayload (configuration space, as the VM sees it)",
    ),
)


def _pcie(ports: Sequence[_Port], values: dict[str, Any], sources: dict[str, str], unknown: dict[str, str]) -> None:
    """Generation and width belong together: those of the port whose link carries least."""
    links = []
    for port in ports:
        pcie = port.facts.get("pcie") or {}
        generation, width = (
            _GENERATIONS.get(pcie.get("current_link_speed") or 0.0),
            whole(pcie.get("current_link_width")),
        )
        if generation is None or width is None:
            link = f"{pcie.get('current_link_speed')} GT/s x{pcie.get('current_link_width')}"
            unknown["pcie_generation"] = f"{port.label}: {link if pcie else 'PCIe link not read'}"
            return
        links.append(
            (PCIE_GENERATIONS[generation][0] * width * PCIE_GENERATIONS[generation][1], generation, width, port)
        )
    least = min(links, key=lambda link: link[0])
    source = "rdma_info: current_link_speed and current_link_width (sysfs, as the VM sees it)"
    source += ", the same on all nodes" if len({link[:3] for link in links}) == 1 else f", the least ({least[3].label})"
    values["pcie_generation"], values["pcie_width"] = least[1], least[2]
    sources["pcie_generation"] = sources["pcie_width"] = source


def _tags(ports: Sequence[_Port], values: dict[str, Any], sources: dict[str, str], unknown: dict[str, str]) -> None:
    """Packets carry a tag if the GID belongs to a VLAN interface on top of the port's own. A virtual function says
    nothing: its host may add a tag that the guest never sees."""
    tagged = set()
    for port in ports:
        interfaces = {str(gid.get("netdev") or "") for gid in roce_gids(port.facts, port.networks)}
        own = str(port.facts.get("netdev") or "")
        if port.facts.get("is_vf") is not False:
            unknown["vlan_tagged"] = f"{port.label} may be a virtual function, to which the host can add a tag"
            return
        if interfaces == {own} and own:
            tagged.add(False)
        elif own and all(re.fullmatch(re.escape(own) + r"\.\d{1,4}", each) for each in interfaces):
            tagged.add(True)
        else:
            unknown["vlan_tagged"] = f"{port.label}: the GID belongs to {', '.join(sorted(interfaces)) or 'nothing'}"
            return
    if len(tagged) != 1:
        unknown["vlan_tagged"] = "some ports send with a VLAN tag and others without"
        return
    values["vlan_tagged"] = tagged.pop()
    sources["vlan_tagged"] = "rdma_info: the GID belongs to " + (
        "a VLAN interface" if values["vlan_tagged"] else "the interface of the port itself"
    )


def _nvlinks(gpus: Sequence[Any], values: dict[str, Any], sources: dict[str, str]) -> None:
    """Of the GPU with the least, where every GPU has them."""
    rates: list[float] = [gpu.get("nvlinks_gb_s") or 0 for each in gpus for gpu in (each or {}).get("state") or [{}]]
    if rates and all(rates):
        values["nvlink_gbyte_per_s"] = min(rates)
        sources["nvlink_gbyte_per_s"] = "gpu_info: nvidia-smi nvlink -s, all links of the GPU with the least"


def _degraded(ports: Sequence[_Port]) -> list[str]:
    """Links that run below what the device can do: the cable of a slot, so to say."""
    notes = []
    for port in ports:
        pcie = port.facts.get("pcie") or {}
        for key, unit in (("link_speed", "GT/s"), ("link_width", "lanes")):
            now, best = pcie.get(f"current_{key}"), pcie.get(f"max_{key}")
            if now and best and now < best:
                notes.append(f"{port.label}: PCIe runs with {now:g} of {best:g} {unit}: look at slot and firmware")
    return notes
