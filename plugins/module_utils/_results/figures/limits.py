"""What this very cluster can do at most, computed from its links; nothing here knows a product. Pure.

Every limit is a `Limit`: a figure with the way it was computed, or no figure and the reason. A missing input is never
replaced by a usual value. GB are 1e9 bytes, Gbit are 1e9 bits.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import TYPE_CHECKING, Any, Callable, Mapping

from ..._yaml_files import Beside
from ..readers.machine import real
from ..readers.reading import picked

if TYPE_CHECKING:
    from typing import ParamSpec, TypeGuard

    Given = ParamSpec("Given")

# Other modules compute from these when they are imported, where there may be no PyYAML; the rest is in limits.yml.
ROCE_MTUS_BYTES = (256, 512, 1024, 2048, 4096)  # InfiniBand Architecture Specification volume 1, path MTU
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
_KNOWN = Beside(__file__, "limits.yml")
RESNET50_PARAMETERS = 25_557_032  # this collection's model and torchvision's; workloads/resnet50/model.py checks it
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


def unknown(name: str, unit: str, because: str) -> Limit:
    return Limit(name, None, unit, f"{_UNKNOWN}{because}")


class UnknownError(Exception):
    """There is no figure; the text says why."""


def _computed(name: str, unit: str) -> Callable[[Callable[Given, tuple[float, str]]], Callable[Given, Limit]]:
    """Makes a limit of a function that returns its value and the computation in words, or raises UnknownError."""

    def decorate(compute: Callable[Given, tuple[float, str]]) -> Callable[Given, Limit]:
        @functools.wraps(compute)
        def limit(*given: Given.args, **named: Given.kwargs) -> Limit:
            try:
                value, how = compute(*given, **named)
            except UnknownError as error:
                return unknown(name, unit, str(error))
            return Limit(name, value, unit, how)

        return limit

    return decorate


def _known(given: Mapping[str, Any]) -> list[Any]:
    """The values. Raises UnknownError with the names of those that are no positive figure."""
    lacking = [name for name, value in given.items() if not is_positive(value)]
    if lacking:
        many = ", ".join(lacking[:-1]) + " and " if lacking[1:] else ""
        raise UnknownError(f"{many}{lacking[-1]} {'are' if many else 'is'} not known")
    return [*given.values()]


def roce_header_bytes(vlan_tagged: bool, ip_version: int = 4) -> int:
    """Bytes of link time around the payload of one RoCE v2 data packet, the gap to the next one included.

    The 16 bytes of RETH stand in the first packet of a message only and are left out: the figure is an upper bound.
    """
    tag = _KNOWN["vlan_tag"] if vlan_tagged else 0
    return int(sum(_KNOWN["around"].values()) + _KNOWN["ip_header"][ip_version] + tag)


def roce_mtu_bytes(interface_mtu_bytes: float) -> int | None:
    """The RoCE MTU that Linux takes for an interface with this MTU; None: too small for any."""
    room = interface_mtu_bytes - _KNOWN["linux_roce_reserve"]
    return max((mtu for mtu in ROCE_MTUS_BYTES if mtu <= room), default=None)


@_computed("wire payload per node", "GB/s")
def wire_gbyte_per_s(
    link_gbit_per_s: float | None,
    mtu_bytes: float | None,
    *,
    vlan_tagged: bool | None,
    ip_version: int = 4,
    nics_per_node: float | None = 1,
) -> tuple[float, str]:
    """RDMA payload per direction and node: link rate x MTU / (MTU + headers), times the number of NICs."""
    rate, mtu, _told, nics = _known(
        {
            "the link speed of the NIC": link_gbit_per_s,
            "the RoCE MTU": mtu_bytes,
            "whether packets carry a VLAN tag": 1 if isinstance(vlan_tagged, bool) else None,
            "the number of NICs per node": nics_per_node,
        }
    )
    if mtu not in ROCE_MTUS_BYTES:
        raise UnknownError(f"{mtu} is not a RoCE MTU ({', '.join(map(str, ROCE_MTUS_BYTES))})")
    headers = roce_header_bytes(bool(vlan_tagged), ip_version)
    share = mtu / (mtu + headers)
    many = "" if nics == 1 else f"{nics:g} NICs x "
    return nics * rate / 8 * share, (
        f"{many}{rate:g} Gbit/s / 8 x {mtu:g} / ({mtu:g} + {headers} bytes of headers and gap, "
        f"IPv{ip_version}, {'VLAN tag' if vlan_tagged else 'no VLAN tag'}) = {100 * share:.1f} % of the link"
    )


def pcie_link_status(text: str | None) -> tuple[int, int] | None:
    """(generation, width) from ``LnkSta: Speed 16GT/s (ok), Width x16`` as lspci prints it; None if it is not that."""
    found = _LINK_STATUS.search(text or "")
    if not found:
        return None
    speed, width = float(found["speed"]), int(found["width"])
    for generation, (rate, _share) in PCIE_GENERATIONS.items():
        if rate == speed and width in _KNOWN["pcie_widths"]:
            return generation, width
    return None


@_computed("PCIe payload per node", "GB/s")
def pcie_gbyte_per_s(
    generation: int | None, width: int | None, max_payload_bytes: float | None, *, slots_per_node: float | None = 1
) -> tuple[float, str]:
    """Payload of memory writes through the NIC's slots, per direction: lanes x rate x encoding x TLP share.

    Acknowledgements and flow control come on top and depend on the devices: an upper bound, never reached.
    """
    number, lanes, payload, slots = _known(
        {
            "the PCIe generation (LnkSta)": generation,
            "the PCIe width (LnkSta)": width,
            "MaxPayload (DevCtl)": max_payload_bytes,
            "the number of NICs per node": slots_per_node,
        }
    )
    if number not in PCIE_GENERATIONS:
        raise UnknownError(f"PCIe generation {number!r} is not in the table of this collection")
    if lanes not in _KNOWN["pcie_widths"]:
        raise UnknownError(f"x{lanes} is not a PCIe width")
    if payload not in _KNOWN["pcie_max_payloads"]:
        raise UnknownError(f"{payload!r} is not a MaxPayload of PCIe (128 to 4096 bytes)")
    rate, encoding = PCIE_GENERATIONS[number]
    around = _KNOWN["tlp_header"] + _KNOWN["tlp_frame"][number]
    many = "" if slots == 1 else f"{slots:g} slots x "
    return slots * rate * lanes * encoding / 8 * payload / (payload + around), (
        f"{many}generation {number} x{lanes}: {rate:g} GT/s x {lanes} lanes x {encoding:.4f} encoding / 8 x "
        f"{payload:g} / ({payload:g} + {around} bytes per packet)"
    )


@_computed("bandwidth of the NICs (the tighter of both)", "GB/s")
def tightest(*limits: Limit) -> tuple[float, str]:
    """Known only if each of them is: else the ratio to it would flatter."""
    values = _known({limit.name: limit.value for limit in limits})
    value, which = min(zip(values, (limit.name for limit in limits)))
    return value, f"the smaller one is: {which}"


@_computed("size of the gradients", "bytes")
def gradient_bytes(parameters: float | None, precision: str | None) -> tuple[float, str]:
    """Bytes that one all-reduce of all gradients moves through the algorithm, per rank."""
    (count,) = _known({"the number of parameters of the model": parameters})
    sizes = _KNOWN["bytes_per_element"]
    size = sizes.get(precision or "")
    if size is None:
        what = f"{precision!r}, which is not one of {', '.join(sizes)}" if precision else "not known"
        raise UnknownError(f"the number format of the gradients is {what}")
    return float(count) * size, f"{count:,.0f} parameters x {size} bytes ({precision})"


def ring_factor(ranks: int) -> float:
    """Bytes that each rank sends in a ring all-reduce, per byte of data: 2 (n - 1) / n."""
    return 2 * (ranks - 1) / ranks


def bus_gbyte_per_s(size_bytes: float, ranks: int, seconds: float) -> float:
    """Bus bandwidth as nccl-tests and MXNet's measure.py define it: size x 2 (n - 1) / n / seconds."""
    return size_bytes * ring_factor(ranks) / seconds / 1e9


@_computed("ring all-reduce of the gradients", "s")
def ring_allreduce_seconds(size: Limit, ranks: int | None, link: Limit) -> tuple[float, str]:
    """The shortest time of a ring all-reduce of ``size`` bytes over ``link`` (GB/s per node)."""
    data, rate, count = _known({size.name: size.value, link.name: link.value, "the number of ranks": ranks})
    how = f"{data:,.0f} bytes x 2 ({count} - 1) / {count} / {rate:.2f} GB/s"
    return data * ring_factor(count) / (rate * 1e9), how


@_computed("all-reduce bus bandwidth", "GB/s")
def allreduce_gbyte_per_s(link: Limit, nodes: int | None, ranks: int | None) -> tuple[float, str]:
    """The highest bus bandwidth that any all-reduce without help from the network can show.

    Seen from outside, a node has to send 2 (N - 1) / N of the data whatever happens inside it (N nodes). Bus bandwidth
    counts 2 (n - 1) / n with n ranks, so two nodes of eight GPUs may honestly print 1.9 times the wire (NCCL's tree
    does, nccl#1576): the ring's own bound would call that impossible. In-network reduction, which Ethernet switches of
    this collection do not do, would halve what a node sends.
    """
    rate, outside, count = _known({link.name: link.value, "the number of nodes": nodes, "the number of ranks": ranks})
    factor = ring_factor(count) / _between(outside)
    inside = "" if count == outside else f" x {factor:.3f} ({count} ranks on {outside} nodes)"
    return rate * factor, f"{rate:.2f} GB/s per node{inside}"


def _between(nodes: int) -> float:
    """Ring factor of the nodes. Raises UnknownError for one alone."""
    if nodes < 2:
        raise UnknownError("all ranks are on one node: the network is not in the way")
    return ring_factor(nodes)


@_computed("linear scaling from one GPU", "images/s")
def compute_images_per_s(
    single_gpu_images_per_s: float | None, ranks: int | None, because: str = ""
) -> tuple[float, str]:
    """n times what one GPU of the same VM was measured to do. ``because``: why that is not known."""
    if not is_positive(single_gpu_images_per_s):
        why = "the rate of one GPU of this cluster was not measured (benchmark scaling, case 1n1g)"
        raise UnknownError(because or why)
    count, rate = _known({"the number of ranks": ranks, "its rate": single_gpu_images_per_s})
    return count * rate, f"{count} ranks x {rate:g} images/s, measured"


@_computed("gradient exchange over the wire", "images/s")
def network_images_per_s(
    size: Limit, link: Limit, nodes: int | None, images_per_step: float | None
) -> tuple[float, str]:
    """The training rate at which exchanging the gradients alone would fill the wire.

    A run above it did not exchange its gradients, however well communication hides behind computation.
    """
    exchange = {size.name: size.value, link.name: link.value, "the number of nodes": nodes}
    data, rate, count, images = _known({**exchange, "the number of images per step": images_per_step})
    how = f"{images:g} images per step / ({data:,.0f} bytes x 2 ({count} - 1) / {count} / {rate:.2f} GB/s)"
    return images / (data * _between(count) / (rate * 1e9)), how


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
            **picked(self, "what", "achieved", "ratio", "exceeded", "physical"),
            **picked(self.limit, "unit", "how"),
            "limit": self.limit.value,
            "limit_name": self.limit.name,
        }


def communication(step_s: float | None, single_step_s: float | None, allreduce_s: float | None) -> dict[str, Any]:
    """Where a step of the n-rank run goes; seconds.

    Exposed communication = step with n ranks - step with one rank, same batch per rank; overlap, the hidden share of
    the all-reduce (0 to 1), = 1 - exposed / all-reduce measured alone. A step faster than the single one has no exposed
    communication, and says so.
    """
    found: dict[str, Any] = {"step_s": step_s, "compute_s": single_step_s, "allreduce_s": allreduce_s}
    found.update(dict.fromkeys(("exposed_s", "exposed_share", "overlap")))
    if not (is_positive(step_s) and is_positive(single_step_s)):
        missing = "the step time of the run" if not is_positive(step_s) else "the step time of one rank alone"
        return {**found, "how": f"{_UNKNOWN}{missing} was not measured"}
    exposed = max(0.0, step_s - single_step_s)
    found.update(exposed_s=exposed, exposed_share=exposed / step_s)
    how = f"{1e3 * step_s:.3f} ms with all ranks - {1e3 * single_step_s:.3f} ms with one rank"
    if step_s < single_step_s:
        how += "; the run is the faster one, so nothing is exposed (or one of the two was disturbed)"
    if not is_positive(allreduce_s):
        how += "; overlap unknown, because the all-reduce of the gradients was not measured alone"
        return {**found, "how": how}
    how += f"; the all-reduce alone takes {1e3 * allreduce_s:.3f} ms"
    if exposed > allreduce_s:
        how += ", less than what is exposed: something else waits, too"
    return {**found, "overlap": min(1.0, max(0.0, 1 - exposed / allreduce_s)), "how": how}


def is_positive(value: Any) -> TypeGuard[float]:
    """Whether it is a finite figure above 0."""
    return (real(value) or 0) > 0
