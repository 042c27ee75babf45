# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ports of a node carry the training, in a reading of module rdma_info. Pure.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

import ipaddress
from typing import Any, Iterator, Mapping

ROCE_V2 = "RoCE v2"


def roce_gids(port: Mapping[str, Any], network: str) -> Iterator[Mapping[str, Any]]:
    """RoCE v2 GIDs of a port that are IPv4 addresses in ``network`` (CIDR); of an empty network: all of them."""
    subnet = ipaddress.ip_network(network, strict=False) if network else None
    for gid in port.get("gids") or ():
        if not isinstance(gid, Mapping) or gid.get("type") != ROCE_V2:
            continue
        try:
            address = ipaddress.IPv6Address(str(gid.get("gid"))).ipv4_mapped
        except ValueError:
            continue
        if address is not None and (subnet is None or address in subnet):
            yield gid


def training_ports(reading: Any, network: str) -> list[Mapping[str, Any]]:
    """The ports of this node whose RoCE v2 address is in the network of the training."""
    devices = reading.get("devices") if isinstance(reading, Mapping) else None
    return [
        port
        for port in devices or ()
        if isinstance(port, Mapping) and port.get("link_layer") == "Ethernet" and any(roce_gids(port, network))
    ]


def name(port: Mapping[str, Any]) -> str:
    """mlx5_0, with the number of the port where it is not the first."""
    number = port.get("port", 1)
    return str(port.get("name")) if number == 1 else f"{port.get('name')}:{number}"
