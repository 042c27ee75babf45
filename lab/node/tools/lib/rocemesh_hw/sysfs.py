"""Makes a SIMULATED /sys of the node's RDMA devices: what a driver would show after it has bound the cards at boot.

``lab-sysfs ROOT INTERFACE=ADDRESS,...``: the addresses of each interface on its wire, with or without prefix lengths.
The interface's own files are links to the real ones, so its MTU is always the one in force. The collection reads the
tree if ROCEMESH_SYSFS_ROOT names it.
"""

from __future__ import annotations

import ipaddress
import os
import shutil
import sys
from typing import Any, Dict, List, Sequence

from .config_space import endpoint, switch_port
from .hardware import MELLANOX, NVIDIA, Hardware, device_guid
from .modinfo import disk
from .qos import network_root

ROCE_V1, ROCE_V2 = "IB/RoCE v1", "RoCE v2"
_LIVE = ("mtu", "address", "operstate", "speed", "dev_port", "carrier")
_COUNTERS = ("port_xmit_data", "port_rcv_data", "port_xmit_discards", "link_downed")
_HW_COUNTERS = (
    "out_of_sequence",
    "packet_seq_err",
    "local_ack_timeout_err",
    "np_cnp_sent",
    "rp_cnp_handled",
    "np_ecn_marked_roce_packets",
    "rnr_nak_retry_err",
)


def write(path: str, text: Any) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as handle:
        handle.write(f"{text}\n")


def read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as handle:
            return handle.read().strip()
    except OSError:
        return ""


def link_local(mac: str) -> str:
    """The IPv6 link-local address of a MAC (modified EUI-64), as a GID prints it."""
    octets = [int(part, 16) for part in (mac or "02:00:00:00:00:00").split(":")]
    octets[0] ^= 2
    full = [*octets[:3], 0xFF, 0xFE, *octets[3:]]
    words = [f"{full[i]:02x}{full[i + 1]:02x}" for i in range(0, 8, 2)]
    return ":".join(["fe80", "0000", "0000", "0000", *words])


def as_gid(address: str) -> str:
    """An IPv4 address as one that is mapped to IPv6."""
    if ":" in address:
        return ipaddress.IPv6Address(address).exploded
    octets = [int(part) for part in address.split(".")]
    words = [f"{octets[0]:02x}{octets[1]:02x}", f"{octets[2]:02x}{octets[3]:02x}"]
    return ":".join(["0000"] * 5 + ["ffff", *words])


def guid(card: Dict[str, Any]) -> str:
    digits = device_guid(card)
    return ":".join(digits[i : i + 4] for i in range(0, 16, 4))


def write_bytes(path: str, content: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as handle:
        handle.write(content)


def make_function(root: str, card: Dict[str, Any]) -> str:
    """The directory of the function: below the ports that ``above`` names (``pci``, ``acs``), as the kernel has it."""
    function = os.path.join(root, "bus/pci/devices", card["pci"])
    if card.get("above"):
        place = os.path.join(root, "devices/pci0000:00")
        for above in card["above"]:
            place = os.path.join(place, above["pci"])
            write_bytes(os.path.join(place, "config"), switch_port(above.get("acs")))
        place = os.path.join(place, card["pci"])
        os.makedirs(place)
        os.makedirs(os.path.dirname(function), exist_ok=True)
        os.symlink(os.path.relpath(place, os.path.dirname(function)), function)
    return function


def make_gpu(root: str, address: str, view: Dict[str, Any]) -> None:
    for label, text in (("class", "0x030200"), ("vendor", f"0x{NVIDIA}"), ("numa_node", view["numa_node"])):
        write(os.path.join(root, "bus/pci/devices", address, label), text)


def make_device(root: str, index: int, card: Dict[str, Any], address: str, config: bytes) -> None:
    name, netdev = f"mlx5_{index}", card.get("netdev", "")
    function = make_function(root, card)
    write_bytes(os.path.join(function, "config"), config)
    device = os.path.join(function, "infiniband", name)
    for label, text in (
        ("class", f"0x{card.get('class', '0200')}00"),
        ("vendor", f"0x{MELLANOX}"),
        ("device", f"0x{card['device_id']}"),
        ("numa_node", card.get("numa_node", -1)),
        ("current_link_speed", "16.0 GT/s PCIe"),
        ("current_link_width", 16),
        ("max_link_speed", "16.0 GT/s PCIe"),
        ("max_link_width", 16),
    ):
        write(os.path.join(function, label), text)
    for label, text in (
        ("fw_ver", card.get("firmware", "")),
        ("board_id", card.get("psid", "")),
        ("node_guid", guid(card)),
        ("sys_image_guid", guid(card)),
        ("node_desc", "SIMULATED"),
    ):
        write(os.path.join(device, label), text)
    os.symlink("../..", os.path.join(device, "device"))
    port = os.path.join(device, "ports/1")
    for label, text in (
        ("state", "4: ACTIVE"),
        ("phys_state", "5: LinkUp"),
        ("rate", "100 Gb/sec (4X EDR)"),
        ("link_layer", "InfiniBand" if card.get("class") == "0207" else "Ethernet"),
    ):
        write(os.path.join(port, label), text)
    mac = read(os.path.join(network_root(), netdev, "address"))
    table: List[str] = [link_local(mac)] * 2 + [
        as_gid(each.split("/")[0]) for each in address.split(",") if each for _version in range(2)
    ]
    for slot in range(8):
        write(os.path.join(port, "gids", str(slot)), table[slot] if slot < len(table) else ":".join(["0000"] * 8))
        if slot < len(table):
            write(os.path.join(port, "gid_attrs/types", str(slot)), ROCE_V2 if slot % 2 else ROCE_V1)
            write(os.path.join(port, "gid_attrs/ndevs", str(slot)), netdev)
    for kind, names in (("counters", _COUNTERS), ("hw_counters", _HW_COUNTERS)):
        for counter in names:
            write(os.path.join(port, kind, counter), 0)
    os.makedirs(os.path.join(root, "class/infiniband"), exist_ok=True)
    os.symlink(f"../../bus/pci/devices/{card['pci']}/infiniband/{name}", os.path.join(root, "class/infiniband", name))
    if netdev:
        interface = os.path.join(root, "class/net", netdev)
        os.makedirs(interface, exist_ok=True)
        for label in _LIVE:
            os.symlink(os.path.join(network_root(), netdev, label), os.path.join(interface, label))
        os.symlink(f"../../../bus/pci/devices/{card['pci']}", os.path.join(interface, "device"))
        os.makedirs(os.path.join(function, "net"), exist_ok=True)
        net = os.path.join(os.path.realpath(function), "net")
        os.symlink(os.path.relpath(os.path.realpath(interface), net), os.path.join(net, netdev))


def make(root: str, addresses: Dict[str, str]) -> None:
    hardware = Hardware()
    shutil.rmtree(root, ignore_errors=True)
    write(os.path.join(root, "SIMULATED"), "A tree of the lab. No driver and no card stands behind it.")
    for index, card in enumerate(hardware.cards):
        view = hardware.functions[card["pci"]]
        address = addresses.get(card.get("netdev", ""), "")
        make_device(root, index, card, address, endpoint(card, view, not hardware.faults.get("config_space_256")))
    for place, view in hardware.functions.items():
        # A GPU is in the tree only where a test says on which NUMA node: to the roles it would be one to be used.
        if "numa_node" in view and hardware.card(place) is None:
            make_gpu(root, place, view)
    if hardware.cards:
        loaded = disk(hardware)
        for module, fields in loaded.items():
            if fields is not None:
                for label in ("version", "srcversion"):
                    if fields.get(label):
                        write(os.path.join(root, "module", module, label), fields[label])
                os.makedirs(os.path.join(root, "module", module), exist_ok=True)
        holders = "".join(f"{name}," for name in ("nvidia_peermem", "nv_peer_mem") if loaded.get(name)) + "mlx5_ib,"
        proc = os.path.join(os.path.dirname(root.rstrip("/")), "proc/modules")
        write(proc, f"mlx5_ib 16384 0 - Live 0x0\nib_core 442368 1 {holders} Live 0x0")


def main(name: str, argv: Sequence[str]) -> int:
    if not argv or not all("=" in word for word in argv[1:]):
        print(f"Usage: {name} ROOT [INTERFACE=ADDRESS...]", file=sys.stderr)
        return 2
    make(argv[0], dict(word.split("=", 1) for word in argv[1:]))
    return 0
