"""What the whole path shall be, and a row of the table that compares it with what is. Pure."""

from __future__ import annotations

import dataclasses
import ipaddress
from typing import Any, Sequence

from .._judge.finding import OK, Finding, compared
from .rails import Network, networks, refused

SWITCH, NIC, CONTAINER = "switch", "nic", "container"

# Headers that RoCE v2 puts before the payload, as the kernel reserves them (iboe_get_mtu).
ROCE_HEADERS = 96
RDMA_MTUS = (256, 512, 1024, 2048, 4096)


@dataclasses.dataclass(frozen=True)
class Intent:
    """``traffic_class``: the whole byte (DSCP * 4 + ECN bits); ``mtu`` 0: the same on a whole rail, whatever it is;
    ``network``: CIDR of the RoCE addresses, one per rail (a list, or a text with commas), '' for any."""

    dscp: int = 26
    traffic_class: int = 106
    priority: int = 3
    mtu: int = 0
    network: str | Sequence[str] = ""
    networks: tuple[Network, ...] = dataclasses.field(init=False, default=())

    def __post_init__(self) -> None:
        for name, largest in (("dscp", 63), ("traffic_class", 255), ("priority", 7), ("mtu", 65535)):
            value = getattr(self, name)
            if not 0 <= value <= largest:
                raise refused("consistency", f"is not within 0 to {largest}", "", name, value)
        if self.traffic_class >> 2 != self.dscp:
            what = f"its DSCP is {self.traffic_class >> 2} and dscp is {self.dscp}"
            remedy = f"give {self.dscp * 4 + 2} (with ECN) or {self.dscp * 4} (without)"
            raise refused("consistency", what, remedy, "traffic_class", self.traffic_class)
        if self.network:
            object.__setattr__(self, "networks", networks(self.network, host="consistency"))

    def rail(self, address: str) -> str:
        """The network that an address is in; '' for none."""
        return next((str(one) for one in self.networks if ipaddress.ip_address(address) in one), "")

    def holds(self, address: str) -> bool:
        return not self.networks or bool(self.rail(address))

    def networks_text(self) -> str:
        return ", ".join(map(str, self.networks))


def row(  # noqa: PLR0917 (the columns of the table, in their order)
    item: str, layer: str, where: str, expected: Any, found: Any, right: bool | None, remedy: str
) -> Finding:
    return in_table(compared(item, where, layer, found, str(expected), right, remedy))


def same(found: Any, wanted: Any) -> bool | None:
    """None: not known."""
    return None if found is None else found == wanted


def in_table(finding: Finding) -> Finding:
    """A row: its code is the item, its thing the layer, its place host and thing; what is right needs no remedy."""
    found = "not known" if finding.found is None else finding.found
    return dataclasses.replace(finding, found=found, remedy="" if finding.level == OK else finding.remedy)


def rdma_mtu(interface_mtu: int) -> int:
    """The largest RDMA MTU that an interface MTU has room for; 256 at least."""
    return max((size for size in RDMA_MTUS if size <= interface_mtu - ROCE_HEADERS), default=RDMA_MTUS[0])
