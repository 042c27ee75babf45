"""What each VM of the lab has: GPUs, and one NIC per RoCE network. A shape is a file beside this one.

``gpus``: PCI addresses inside each VM; ``rails``, the first of which also carries logins, the registry and MPI: the
network and its Linux bridge, the first three numbers of its addresses, the interface and the PCI address of its NIC,
and the port of the switch behind which the first VM's NIC is (the others follow); ``inventories``: what plays get;
``families``: 4, 6 or both, of the addresses of every VM; ``vcenters``: 1, or 2 with hosts and VMs of equal names.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DEFAULT = "guide"


class ShapeError(ValueError):
    """There is no such shape, or its file is not one; the text says what there is."""


@dataclasses.dataclass(frozen=True)
class Rail:
    """One RoCE network of the lab, and the NIC of every VM in it."""

    network: str
    bridge: str
    prefix: str
    netdev: str
    nic: str
    first_port: int

    @property
    def subnet(self) -> str:
        return f"{self.prefix}.0/24"

    @property
    def gateway(self) -> str:
        return f"{self.prefix}.1"

    @property
    def subnet6(self) -> str:
        return str(ipaddress.ip_network(f"{self._prefix6}/64"))

    @property
    def gateway6(self) -> str:
        return str(ipaddress.ip_address(f"{self._prefix6}1"))

    @property
    def _prefix6(self) -> str:
        return f"fd{self.prefix.replace('.', ':')}::"

    def address(self, number: int) -> str:
        """Of the VM with this number, from 1."""
        return f"{self.prefix}.{10 + number}"

    def address6(self, number: int) -> str:
        return str(ipaddress.ip_address(f"{self._prefix6}{10 + number}"))

    def port(self, number: int) -> str:
        return f"1/{self.first_port + number - 1}"


@dataclasses.dataclass(frozen=True)
class Shape:
    """See above."""

    name: str
    gpus: tuple[str, ...]
    rails: tuple[Rail, ...]
    inventories: tuple[str, ...]
    families: tuple[int, ...] = (4,)
    vcenters: int = 1

    @property
    def ipv6_alone(self) -> bool:
        return self.families == (6,)

    def addresses(self, rail: Rail, number: int) -> list[str]:
        """Of a VM in a network, with prefix lengths."""
        both = {4: f"{rail.address(number)}/24", 6: f"{rail.address6(number)}/64"}
        return [both[family] for family in self.families]


def names() -> list[str]:
    return sorted(path.stem for path in HERE.glob("*.json"))


def read(name: str) -> Shape:
    """Raises ShapeError."""
    if name not in names():
        raise ShapeError(f"there is no shape {name!r} of the lab; there are {', '.join(names())}")
    try:
        content: dict[str, Any] = json.loads((HERE / f"{name}.json").read_text())
        shape = Shape(
            name,
            tuple(content.pop("gpus")),
            tuple(Rail(**rail) for rail in content.pop("rails")),
            tuple(content.pop("inventories")),
            tuple(content.pop("families", (4,))),
            content.pop("vcenters", 1),
        )
    except (ValueError, TypeError, KeyError) as error:
        raise ShapeError(f"{HERE / name}.json is no shape: {type(error).__name__}: {error}") from error
    known = shape.families in ((4,), (4, 6), (6,)) and shape.vcenters in (1, 2)
    if content or not shape.gpus or not shape.rails or not known:
        raise ShapeError(f"{HERE / name}.json: {', '.join(content) or 'no GPU, no rail, other families or vCenters'}")
    return shape
