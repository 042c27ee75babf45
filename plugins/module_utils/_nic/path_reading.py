"""What lies between GPU and NIC on the bus of a node: ATS, ports and their ACS, relaxed ordering, NUMA nodes, links.

What cannot be read is None and named by the reader. In a VM the ports above a function are the hypervisor's own: they
are not read, because they say nothing about the switches of the host.

Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .._layer import ParseError
from .gpu_state import kind_of
from .pcie_state import parse_acs, parse_ats, parse_device_control
from .state import PARAMETER, VF_IDS, full_address, parse_query
from .tool_state import UNKNOWN, VM, environment_of

if TYPE_CHECKING:
    from .rdma import RdmaReader

ORDERING = "PCI_WR_ORDERING"
NO_FUNCTION = "the kernel shows no PCI function of its own for it"
NO_FUNCTION_REMEDY = "nothing, for a device that is made in software (rdma_rxe, siw); else lspci -nn shows the card"
_OF_A_FUNCTION = (
    *("pci", "numa_node", "max_payload", "max_read_request", "relaxed_ordering"),
    *("iommu", "ats", "ports_above", "firmware"),
)


def read_path(reader: RdmaReader, names: list[str], links: list[dict[str, Any]]) -> dict[str, Any]:
    """``machine`` (vm, bare_metal, unknown), ``nics`` (RDMA device to its facts), ``gpus``, ``links``."""
    machine = _machine(reader)
    return {
        "machine": machine,
        "nics": {name: _nic(reader, name, machine) for name in names},
        "gpus": _gpus(reader),
        "links": links,
    }


def _machine(reader: RdmaReader) -> str:
    done = reader.tool("systemd-detect-virt", "--vm")
    found = environment_of(done.code if done else None, done.out if done else "", reader.sysfs.read_proc("cpuinfo"))
    if found == UNKNOWN:
        reader.miss("whether this is a VM", "systemd-detect-virt does not tell", "install systemd")
    return found


def _nic(reader: RdmaReader, name: str, machine: str) -> dict[str, Any]:
    base = ("class/infiniband", name, "device")
    real = os.path.realpath(reader.path(*base))
    address = reader.function(name)
    if address is None:  # nothing of the PCI bus is known of it
        reader.miss(f"{name} on the PCI bus", NO_FUNCTION, NO_FUNCTION_REMEDY)
        return dict.fromkeys(_OF_A_FUNCTION)
    config = reader.read_bytes(f"{name} configuration space", *base, "config") or b""
    where = f"{name} Device Control"
    control = None
    if _is_function_of_another(reader, *base):
        # PCIe, SR-IOV: these fields of a virtual function read 0, and mean nothing.
        reader.miss(where, "a virtual function has none of its own", "read its physical function on the host")
    elif config:
        control = reader.parsed(where, parse_device_control, config, reader.host, where)
    where = f"{name} ATS"
    return {
        "pci": address,
        "numa_node": reader.number(f"{name} NUMA node", *base, "numa_node", optional=True),
        "max_payload": control.max_payload if control else None,
        "max_read_request": control.max_read_request if control else None,
        "relaxed_ordering": control.relaxed_ordering if control else None,
        "iommu": _iommu(reader, name),
        "ats": reader.parsed(where, parse_ats, config, reader.host, where) if config else None,
        "ports_above": None if machine == VM else _ports(reader, name, real),
        "firmware": {setting: _setting(reader, name, address, setting) for setting in (PARAMETER, ORDERING)},
    }


def _is_function_of_another(reader: RdmaReader, *base: str) -> bool:
    kind = (reader.text(f"{base[1]} device id", *base, "device", optional=True) or "").strip().lower()
    return kind.replace("0x", "") in VF_IDS or os.path.exists(reader.path(*base, "physfn"))


def _iommu(reader: RdmaReader, name: str) -> str | None:
    """``none``: a function in no group; else the type of its group as the kernel names it (Documentation/ABI/testing,
    sysfs-kernel-iommu_groups): ``identity`` translates nothing, ``DMA`` and ``DMA-FQ`` do. None: not known."""
    base = ("class/infiniband", name, "device", "iommu_group")
    if not os.path.isdir(reader.path(*base)):
        return "none"
    return reader.text(f"IOMMU of {name}", *base, "type")


def _ports(reader: RdmaReader, name: str, real: str) -> list[dict[str, Any]] | None:
    """From the device's own up to the root port. ``acs``: None if it was not read, ``redirects`` False where the
    port has no such capability."""
    found: list[dict[str, Any]] = []
    place = os.path.dirname(real)
    while full_address(os.path.basename(place)):
        where = f"ACS of {os.path.basename(place)} above {name}"
        config = reader.read_bytes(where, place, "config")
        acs: dict[str, bool] | None = None
        if config:
            try:
                parsed = parse_acs(config, reader.host, where)
                acs = {"redirects": False, "direct_translated": False} if parsed is None else parsed._asdict()
            except ParseError as error:
                reader.miss(where, str(error), "run with become: true; lspci -vvv shows ACSCtl")
        found.append({"pci": os.path.basename(place), "acs": acs})
        place = os.path.dirname(place)
    if not found:
        reader.miss(f"ports above {name}", f"{real} lies below none", "lspci -t shows them")
    return found or None


def _setting(reader: RdmaReader, name: str, address: str, setting: str) -> str | None:
    """The current value in the card's firmware, as mlxconfig names it (``per_mkey``, ``True``)."""
    what, remedy = f"{setting} of {name}", "run with become: true; mlxconfig -d DEVICE -e query shows it"
    for program in ("mlxconfig", "mstconfig"):
        done = reader.tool(program, "-d", address, "-e", "query", setting)
        if done is None:
            continue
        if done.code != 0:
            reader.miss(what, f"{program}: {reader.said(done)}", remedy)
            return None
        answers = reader.parsed(what, parse_query, done.out, reader.host) or []
        values = answers[0].values.get(setting, {}) if len(answers) == 1 else {}
        if "current" not in values:
            reader.miss(what, f"{program} shows no Current value", remedy)
            return None
        return str(values["current"]).split("(", maxsplit=1)[0]
    reader.miss(what, "neither mlxconfig nor mstconfig is installed", "install mstflint")
    return None


def _gpus(reader: RdmaReader) -> list[dict[str, Any]]:
    found = []
    for address in reader.listing("bus/pci/devices"):
        base = ("bus/pci/devices", address)
        kind = reader.text(f"{address} class", *base, "class", optional=True) or ""
        vendor = reader.text(f"{address} vendor", *base, "vendor", optional=True) or ""
        if kind_of(kind[2:6], vendor.replace("0x", "")) == "gpu":
            node = reader.number(f"{address} NUMA node", *base, "numa_node", optional=True)
            found.append({"pci": address, "numa_node": node})
    return found
