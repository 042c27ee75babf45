"""What this very cluster can do at most, computed from its links; nothing here knows a product. Pure.

Every limit is a `Limit`: a figure with the way it was computed, or no figure and the reason. A missing input is never
replaced by a usual value. GB are 1e9 bytes, Gbit are 1e9 bits.
"""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any, Mapping

# --- bytes around one RoCE v2 packet's payload -----------------------------------------------------------------------
PREAMBLE_AND_SFD_BYTES = 8  # IEEE 802.3 clause 3.1.1
ETHERNET_HEADER_BYTES = 14  # IEEE 802.3 clause 3.1.1: two addresses and the type
VLAN_TAG_BYTES = 4  # IEEE 802.1Q clause 9.6
IPV4_HEADER_BYTES = 20  # RFC 791, without options
IPV6_HEADER_BYTES = 40  # RFC 8200
UDP_HEADER_BYTES = 8  # RFC 768
BTH_BYTES = 12  # InfiniBand Architecture Specification volume 1, base transport header; RoCE v2: its annex A17
ICRC_BYTES = 4  # the same, invariant CRC
FCS_BYTES = 4  # IEEE 802.3 clause 3.1.1
INTERPACKET_GAP_BYTES = 12  # IEEE 802.3 clause 4.4.2: 96 bit times
ROCE_MTUS_BYTES = (256, 512, 1024, 2048, 4096)  # InfiniBand Architecture Specification volume 1, path MTU
# What Linux takes off an interface's MTU before it chooses the RoCE MTU (include/rdma/ib_addr.h, iboe_get_mtu):
# GRH 40, UDP 8, BTH 12, XRC 4, AtomicETH 28, ICRC 4.
LINUX_ROCE_RESERVE_BYTES = 96

# --- PCI Express ----------------------------------------------------------------------------------------------------
# Generation -> gigatransfers/s per lane, and the share of them that is data: 8b/10b up to 2.x, 128b/130b up to 5.0, and
# in 6.0 the 236 TLP bytes of each 256-byte FLIT (PCI Express Base Specification 6.0, chapter 4; 6.0 gives bits, not
# symbols, per transfer: 64 GT/s is 64 Gbit/s).
PCIE_GENERATIONS: Mapping[int, tuple[float, float]] = {
    1: (2.5, 8 / 10),
    2: (5.0, 8 / 10),
    3: (8.0, 128 / 130),
    4: (16.0, 128 / 130),
    5: (32.0, 128 / 130),
    6: (64.0, 236 / 256),
}
PCIE_WIDTHS = (1, 2, 4, 8, 12, 16, 32)
# Around the payload of one memory write (PCI Express Base Specification, chapters 2 and 4): header with a 64-bit
# address, LCRC, and framing (generation 1 and 2: STP 1 + sequence number 2 + END 1; 3 to 5: STP token 4; 6: none, and
# the FLIT's own CRC instead of an LCRC).
TLP_HEADER_BYTES = 16
LCRC_BYTES = 4
TLP_FRAMING_BYTES = 4

# --- gradients ------------------------------------------------------------------------------------------------------
RESNET50_PARAMETERS = 25_557_032  # this collection's model and torchvision's; workloads/resnet50/model.py checks it
BYTES_PER_ELEMENT: Mapping[str, int] = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2}

# Above a limit by more than this is impossible; below it is the clock's and the rounding's business.
MEASUREMENT_MARGIN = 0.02

_LINK_STATUS = re.compile(r"Speed\s+(?P<speed>\d+(?:\.\d+)?)\s*GT/s.*?Width\s+x(?P<width>\d+)", re.S)


_UNKNOWN = "unknown, because "


@dataclasses.dataclass(frozen=True)
class Limit:
    """``value`` in ``unit``, or None. ``how``: the computation, or "unknown, because ..."."""

    name: str
    value: float | None
    unit: str
    how: str

    @property
    def because(self) -> str:
        """Why there is no value."""
        return self.how.removeprefix(_UNKNOWN)

    def as_result(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def unknown(name: str, unit: str, because: str) -> Limit:
    return Limit(name, None, unit, f"{_UNKNOWN}{because}")


def roce_header_bytes(vlan_tagged: bool, ip_version: int = 4) -> int:
    """Bytes of link time around the payload of one RoCE v2 data packet, the gap to the next one included.

    The 16 bytes of RETH stand in the first packet of a message only and are left out: the figure is an upper bound.
    """
    return (
        PREAMBLE_AND_SFD_BYTES
        + ETHERNET_HEADER_BYTES
        + (VLAN_TAG_BYTES if vlan_tagged else 0)
        + (IPV4_HEADER_BYTES if ip_version == 4 else IPV6_HEADER_BYTES)
        + UDP_HEADER_BYTES
        + BTH_BYTES
        + ICRC_BYTES
        + FCS_BYTES
        + INTERPACKET_GAP_BYTES
    )


def roce_mtu_bytes(interface_mtu_bytes: float | None) -> int | None:
    """The RoCE MTU that Linux takes for an interface with this MTU; None: not known, or too small for any."""
    if not _usable(interface_mtu_bytes):
        return None
    room = float(interface_mtu_bytes or 0) - LINUX_ROCE_RESERVE_BYTES
    return max((mtu for mtu in ROCE_MTUS_BYTES if mtu <= room), default=None)


def wire_gbyte_per_s(
    link_gbit_per_s: float | None,
    mtu_bytes: float | None,
    *,
    vlan_tagged: bool | None,
    ip_version: int = 4,
    nics_per_node: float | None = 1,
) -> Limit:
    """RDMA payload per direction and node: link rate x MTU / (MTU + headers), times the number of NICs."""
    name, unit = "wire payload per node", "GB/s"
    lacking = [
        text
        for text, given in (
            ("the link speed of the NIC", _usable(link_gbit_per_s)),
            ("the RoCE MTU", _usable(mtu_bytes)),
            ("whether packets carry a VLAN tag", isinstance(vlan_tagged, bool)),
            ("the number of NICs per node", _usable(nics_per_node)),
        )
        if not given
    ]
    if lacking or link_gbit_per_s is None or mtu_bytes is None or nics_per_node is None:
        return unknown(name, unit, _lacking(lacking))
    if mtu_bytes not in ROCE_MTUS_BYTES:
        return unknown(name, unit, f"{mtu_bytes} is not a RoCE MTU ({', '.join(map(str, ROCE_MTUS_BYTES))})")
    if ip_version not in (4, 6):
        return unknown(name, unit, f"{ip_version!r} is not an IP version")
    headers = roce_header_bytes(bool(vlan_tagged), ip_version)
    share = mtu_bytes / (mtu_bytes + headers)
    value = nics_per_node * link_gbit_per_s / 8 * share
    many = "" if nics_per_node == 1 else f"{nics_per_node:g} NICs x "
    return Limit(
        name,
        value,
        unit,
        f"{many}{link_gbit_per_s:g} Gbit/s / 8 x {mtu_bytes:g} / ({mtu_bytes:g} + {headers} bytes of headers and gap, "
        f"IPv{ip_version}, {'VLAN tag' if vlan_tagged else 'no VLAN tag'}) = {100 * share:.1f} % of the link",
    )


def pcie_link_status(text: str | None) -> tuple[int, int] | None:
    """(generation, width) from ``LnkSta: Speed 16GT/s (ok), Width x16`` as lspci prints it; None if it is not that."""
    found = _LINK_STATUS.search(text or "")
    if not found:
        return None
    speed, width = float(found["speed"]), int(found["width"])
    for generation, (rate, _share) in PCIE_GENERATIONS.items():
        if rate == speed and width in PCIE_WIDTHS:
            return generation, width
    return None


def pcie_gbyte_per_s(
    generation: int | None, width: int | None, max_payload_bytes: float | None, *, slots_per_node: float | None = 1
) -> Limit:
    """Payload of memory writes through the NIC's slots, per direction: lanes x rate x encoding x TLP share.

    Acknowledgements and flow control come on top and depend on the devices: an upper bound, never reached.
    """
    name, unit = "PCIe payload per node", "GB/s"
    lacking = [
        text
        for text, given in (
            ("the PCIe generation (LnkSta)", _usable(generation)),
            ("the PCIe width (LnkSta)", _usable(width)),
            ("MaxPayload (DevCtl)", _usable(max_payload_bytes)),
            ("the number of NICs per node", _usable(slots_per_node)),
        )
        if not given
    ]
    if lacking or not (max_payload_bytes and slots_per_node and width and generation):
        return unknown(name, unit, _lacking(lacking))
    if generation not in PCIE_GENERATIONS:
        return unknown(name, unit, f"PCIe generation {generation!r} is not in the table of this collection")
    if width not in PCIE_WIDTHS:
        return unknown(name, unit, f"x{width} is not a PCIe width")
    if max_payload_bytes not in (128, 256, 512, 1024, 2048, 4096):
        return unknown(name, unit, f"{max_payload_bytes!r} is not a MaxPayload of PCIe (128 to 4096 bytes)")
    rate, encoding = PCIE_GENERATIONS[generation]
    around = TLP_HEADER_BYTES + (0 if generation == 6 else LCRC_BYTES + TLP_FRAMING_BYTES)
    value = slots_per_node * rate * width * encoding / 8 * max_payload_bytes / (max_payload_bytes + around)
    many = "" if slots_per_node == 1 else f"{slots_per_node:g} slots x "
    return Limit(
        name,
        value,
        unit,
        f"{many}generation {generation} x{width}: {rate:g} GT/s x {width} lanes x {encoding:.4f} encoding / 8 x "
        f"{max_payload_bytes:g} / ({max_payload_bytes:g} + {around} bytes per packet)",
    )


def nvlink_gbyte_per_s(gbyte_per_s: float) -> Limit:
    """What the NVLinks of a GPU carry in one direction: within a node, a ring sends each byte of its bus bandwidth over
    them."""
    return Limit("NVLinks of a GPU", gbyte_per_s, "GB/s", "nvidia-smi nvlink -s, all links of the GPU with the least")


def tightest(name: str, *limits: Limit) -> Limit:
    """The smallest of several limits, known only if each of them is: else the ratio to it would flatter."""
    unit = limits[0].unit
    open_questions = [limit.name for limit in limits if limit.value is None]
    if open_questions:
        return unknown(name, unit, _lacking(open_questions))
    least = min(limits, key=lambda limit: limit.value or 0.0)
    return Limit(name, least.value, unit, f"the smaller one is: {least.name}")


def gradient_bytes(parameters: float | None, precision: str | None) -> Limit:
    """Bytes that one all-reduce of all gradients moves through the algorithm, per rank."""
    name, unit = "size of the gradients", "bytes"
    if not _usable(parameters):
        return unknown(name, unit, "the number of parameters of the model is not known")
    if precision not in BYTES_PER_ELEMENT:
        what = "not known" if not precision else f"{precision!r}, which is not one of {', '.join(BYTES_PER_ELEMENT)}"
        return unknown(name, unit, f"the number format of the gradients is {what}")
    size = BYTES_PER_ELEMENT[precision or ""]
    return Limit(
        name, float(parameters or 0) * size, unit, f"{parameters:,.0f} parameters x {size} bytes ({precision})"
    )


def ring_factor(ranks: int) -> float:
    """Bytes that each rank sends in a ring all-reduce, per byte of data: 2 (n - 1) / n."""
    return 2 * (ranks - 1) / ranks


def bus_gbyte_per_s(size_bytes: float, ranks: int, seconds: float) -> float:
    """Bus bandwidth as nccl-tests and MXNet's measure.py define it: size x 2 (n - 1) / n / seconds."""
    return size_bytes * ring_factor(ranks) / seconds / 1e9


def ring_allreduce_seconds(size: Limit, ranks: int | None, link: Limit) -> Limit:
    """The shortest time of a ring all-reduce of ``size`` bytes over ``link`` (GB/s per node)."""
    name, unit = "ring all-reduce of the gradients", "s"
    lacking = [part.name for part in (size, link) if part.value is None]
    lacking += [] if _usable(ranks) else ["the number of ranks"]
    if lacking or not (ranks and size.value and link.value):
        return unknown(name, unit, _lacking(lacking))
    factor = ring_factor(ranks)
    return Limit(
        name,
        size.value * factor / (link.value * 1e9),
        unit,
        f"{size.value:,.0f} bytes x 2 ({ranks} - 1) / {ranks} / {link.value:.2f} GB/s",
    )


def allreduce_gbyte_per_s(link: Limit, nodes: int | None, ranks: int | None) -> Limit:
    """The highest bus bandwidth that any all-reduce without help from the network can show.

    Seen from outside, a node has to send 2 (N - 1) / N of the data whatever happens inside it (N nodes). Bus bandwidth
    counts 2 (n - 1) / n with n ranks, so two nodes of eight GPUs may honestly print 1.9 times the wire (NCCL's tree
    does, nccl#1576): the ring's own bound would call that impossible. In-network reduction, which Ethernet switches of
    this collection do not do, would halve what a node sends.
    """
    name, unit = "all-reduce bus bandwidth", "GB/s"
    lacking = [link.name] if link.value is None else []
    lacking += [] if _usable(nodes) and _usable(ranks) else ["the number of nodes and ranks"]
    if lacking or not (nodes and ranks and link.value):
        return unknown(name, unit, _lacking(lacking))
    if nodes < 2:
        return unknown(name, unit, "all ranks are on one node: the network is not in the way")
    factor = ring_factor(ranks) / ring_factor(nodes)
    return Limit(
        name,
        link.value * factor,
        unit,
        f"{link.value:.2f} GB/s per node"
        + ("" if ranks == nodes else f" x {factor:.3f} ({ranks} ranks on {nodes} nodes)"),
    )


def compute_images_per_s(single_gpu_images_per_s: float | None, ranks: int | None, because: str = "") -> Limit:
    """n times what one GPU of the same VM was measured to do. ``because``: why that is not known."""
    name, unit = "linear scaling from one GPU", "images/s"
    if single_gpu_images_per_s is None or not _usable(single_gpu_images_per_s):
        return unknown(
            name,
            unit,
            because or "the rate of one GPU of this cluster was not measured (benchmark scaling, case 1n1g)",
        )
    if ranks is None or not _usable(ranks):
        return unknown(name, unit, "the number of ranks is not known")
    return Limit(
        name, ranks * single_gpu_images_per_s, unit, f"{ranks} ranks x {single_gpu_images_per_s:g} images/s, measured"
    )


def network_images_per_s(size: Limit, link: Limit, nodes: int | None, images_per_step: float | None) -> Limit:
    """The training rate at which exchanging the gradients alone would fill the wire.

    A run above it did not exchange its gradients, however well communication hides behind computation.
    """
    name, unit = "gradient exchange over the wire", "images/s"
    lacking = [part.name for part in (size, link) if part.value is None]
    lacking += [] if _usable(nodes) else ["the number of nodes"]
    lacking += [] if _usable(images_per_step) else ["the number of images per step"]
    if lacking or not (nodes and images_per_step and size.value and link.value):
        return unknown(name, unit, _lacking(lacking))
    if nodes < 2:
        return unknown(name, unit, "all ranks are on one node: the network is not in the way")
    seconds = size.value * ring_factor(nodes) / (link.value * 1e9)
    return Limit(
        name,
        images_per_step / seconds,
        unit,
        f"{images_per_step:g} images per step / ({size.value:,.0f} bytes x 2 ({nodes} - 1) / {nodes} / "
        f"{link.value:.2f} GB/s)",
    )


@dataclasses.dataclass(frozen=True)
class Comparison:
    """``achieved`` against ``limit``, same unit. ``physical``: above it is impossible; else it is only suspicious."""

    what: str
    achieved: float | None
    limit: Limit
    physical: bool
    margin: float = MEASUREMENT_MARGIN

    @property
    def ratio(self) -> float | None:
        if self.achieved is None or not self.limit.value:
            return None
        return self.achieved / self.limit.value

    @property
    def exceeded(self) -> bool:
        return self.ratio is not None and self.ratio > 1 + self.margin

    def as_result(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "achieved": self.achieved,
            "limit": self.limit.value,
            "limit_name": self.limit.name,
            "unit": self.limit.unit,
            "how": self.limit.how,
            "ratio": self.ratio,
            "exceeded": self.exceeded,
            "physical": self.physical,
        }


@dataclasses.dataclass(frozen=True)
class Communication:
    """Where a step of the n-rank run goes. Seconds; ``overlap``: the hidden share of the all-reduce (0 to 1)."""

    step_s: float | None
    compute_s: float | None
    allreduce_s: float | None
    exposed_s: float | None
    exposed_share: float | None
    overlap: float | None
    how: str

    def as_result(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def communication(step_s: float | None, single_step_s: float | None, allreduce_s: float | None) -> Communication:
    """Exposed communication = step with n ranks - step with one rank, same batch per rank; overlap = 1 - exposed /
    all-reduce measured alone. A step faster than the single one has no exposed communication, and says so."""
    if step_s is None or single_step_s is None or not _usable(step_s) or not _usable(single_step_s):
        missing = "the step time of the run" if not _usable(step_s) else "the step time of one rank alone"
        return Communication(
            step_s, single_step_s, allreduce_s, None, None, None, f"unknown, because {missing} was not measured"
        )
    exposed = max(0.0, step_s - single_step_s)
    how = f"{1e3 * step_s:.3f} ms with all ranks - {1e3 * single_step_s:.3f} ms with one rank"
    if step_s < single_step_s:
        how += "; the run is the faster one, so nothing is exposed (or one of the two was disturbed)"
    overlap = None
    if _usable(allreduce_s) and allreduce_s is not None:
        overlap = min(1.0, max(0.0, 1 - exposed / allreduce_s))
        how += f"; the all-reduce alone takes {1e3 * allreduce_s:.3f} ms"
        if exposed > allreduce_s:
            how += ", less than what is exposed: something else waits, too"
    else:
        how += "; overlap unknown, because the all-reduce of the gradients was not measured alone"
    return Communication(step_s, single_step_s, allreduce_s, exposed, exposed / step_s, overlap, how)


def _usable(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value > 0


def _lacking(things: list[str]) -> str:
    return (
        (", ".join(things[:-1]) + " and " if things[1:] else "")
        + things[-1]
        + (" is not known" if len(things) == 1 else " are not known")
    )
