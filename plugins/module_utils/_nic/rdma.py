"""Observes the RDMA devices of a node: sysfs first, tools for what sysfs does not have. Changes nothing.

What cannot be read is None and listed in ``unreadable`` with the reason and what to do. It is never filled with a
likely value. A format that is new is such a reason too, with its raw text: the rest of the node is still reported.
cma_roce_tos is not called: it makes and removes a directory in configfs, which is a write.

Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import dataclasses
import os
import platform
from typing import Any, Sequence

from .._layer import RefusedError
from .interface_state import parse_links
from .node import REPORT, Node
from .path_reading import NO_FUNCTION, NO_FUNCTION_REMEDY, read_path
from .pcie_state import MOST_LANES, parse_device_control, parse_link_speed, parse_link_width
from .rdma_state import (
    ETHERNET,
    Gid,
    Qos,
    Release,
    VerbsPort,
    choose_gid,
    dma_buf,
    parse_dcb,
    parse_dpkg,
    parse_ethtool_counters,
    parse_gid,
    parse_global_tclass,
    parse_ibv_devinfo,
    parse_mlnx_qos,
    parse_modules,
    parse_ofed_info,
    parse_topology,
)
from .state import VF_IDS, full_address

_PACKAGES = ("doca-ofed", "mlnx-ofed-kernel-dkms")
_PEER_MODULES = ("nvidia_peermem", "nv_peer_mem")
# Parts of the driver itself, which its restart unloads.
_OWN_MODULES = frozenset(
    {"mlx5_ib", "mlx5_core", "mlx4_ib", "ib_uverbs", "ib_umad", "ib_mad", "ib_sa", "ib_addr", "ib_ipoib"}
    | {"ib_cm", "iw_cm", "rdma_cm", "rdma_ucm"}
)


class RdmaReader(Node):
    """The RDMA devices of one node."""

    silent = "look at dmesg for the device"

    def __init__(self, host: str, *, kernel: str | None = None, boot_id: str = "", **outside: Any) -> None:
        super().__init__(host, **outside)
        self.kernel = platform.release() if kernel is None else kernel
        self.boot_id = boot_id

    # ---- reading ----------------------------------------------------------------------------------------------------

    def text(self, what: str, *parts: str, optional: bool = False) -> str | None:
        """Content of a file under the root, or None; a file that is there and refuses to be read is always named."""
        path = os.path.join(self.sysfs.root, *parts)
        try:
            with open(path, encoding="utf-8", errors="replace") as handle:
                return handle.read().strip()
        except FileNotFoundError:
            if not optional:
                there = parts[0] == "class/infiniband" and os.path.isdir(self.path(*parts[:2]))
                remedy = "nothing: this driver does not show it" if there else "check that the driver is loaded (lsmod)"
                self.miss(what, f"{path}: no such file", remedy)
        except OSError as error:
            remedy = "run with become: true" if isinstance(error, PermissionError) else "look at dmesg for the device"
            self.miss(what, f"{path}: {error.strerror}", remedy)
        return None

    def read_bytes(self, what: str, *parts: str) -> bytes | None:
        path = os.path.join(self.sysfs.root, *parts)
        try:
            with open(path, "rb") as handle:
                return handle.read(4096)
        except OSError as error:
            self.miss(what, f"{path}: {error.strerror}", "read LnkSta and DevCtl with lspci -vv as root")
        return None

    def number(self, what: str, *parts: str, optional: bool = False) -> int | None:
        text = self.text(what, *parts, optional=optional)
        if text is None:
            return None
        try:
            return int(text, 0)
        except ValueError:
            self.miss(what, f"{self.path(*parts)}: {text!r} is no number", REPORT)
            return None

    def function(self, device: str) -> str | None:
        """The PCI address that the kernel made the device for; None: it is no function of the bus."""
        return full_address(os.path.basename(os.path.realpath(self.path("class/infiniband", device, "device"))))

    def listing(self, *parts: str) -> list[str]:
        try:
            return sorted(os.listdir(os.path.join(self.sysfs.root, *parts)))
        except FileNotFoundError:
            return []
        except OSError as error:
            self.miss("/".join(parts), str(error), "run with become: true")
            return []

    # ---- one port ---------------------------------------------------------------------------------------------------

    def _gids(self, device: str, port: int) -> list[Gid]:
        base = ("class/infiniband", device, "ports", str(port))
        found = []
        for index in sorted(int(name) for name in self.listing(*base, "gids") if name.isdigit()):
            where = f"{device} port {port} GID {index}"
            text = self.text(where, *base, "gids", str(index))
            gid = self.parsed(where, parse_gid, text, self.host, where) if text else ""
            if not gid:
                continue
            kind = self.text(f"{where} type", *base, "gid_attrs/types", str(index)) or ""
            netdev = self.text(f"{where} interface", *base, "gid_attrs/ndevs", str(index), optional=True) or ""
            found.append(Gid(index, gid, kind, netdev, self._vlan_of(netdev)))
        return found

    def _vlan_of(self, netdev: str) -> str:
        """What a VLAN lies on, whatever it is called: the kernel says the kind (net/8021q/vlan_dev.c), and links it."""
        kind = self.text(f"{netdev} kind", "class/net", netdev, "uevent", optional=True) if netdev else None
        names = self.listing("class/net", netdev) if "DEVTYPE=vlan" in (kind or "").split() else ()
        return next((name[len("lower_") :] for name in names if name.startswith("lower_")), "")

    def _netdev(self, device: str, port: int, gids: Sequence[Gid]) -> str:
        """The interface of this port: the only one of the function, else the one with the port's number; without a
        function the one that the device was tied to (rdma_rxe says so), else that of its first GID."""
        names = self.listing("class/infiniband", device, "device/net")
        if len(names) > 1:
            numbered = [
                name
                for name in names
                if self.number(f"{name} port number", "class/net", name, "dev_port", optional=True) == port - 1
            ]
            owned = [name for name in numbered if name in {gid.netdev for gid in gids}]
            names = owned or numbered or names
        if names:
            return names[0]
        parent = self.text(f"{device} parent", "class/infiniband", device, "parent", optional=True)
        return parent or next((gid.netdev for gid in gids if gid.netdev), "")

    def _qos(self, netdev: str) -> Qos | None:
        done = self.tool("mlnx_qos", "-i", netdev)
        if done is not None and done.code == 0:
            return self.parsed(f"QoS of {netdev}", parse_mlnx_qos, done.out, self.host)
        if done is not None:
            self.miss(f"QoS of {netdev} through mlnx_qos", self.said(done), "trying dcb; run with become: true")
        answers = [self.tool("dcb", *words, "show", "dev", netdev) for words in (("pfc",), ("-N", "app"), ("ets",))]
        if answers[0] is not None and answers[0].code == 0:
            pfc, app, ets = (answer.out if answer is not None and answer.code == 0 else "" for answer in answers)
            if answers[1] is not None and answers[1].code == 0:
                return self.parsed(f"QoS of {netdev}", parse_dcb, pfc, app, ets, self.host)
        failed = next((answer for answer in answers if answer is not None and answer.code != 0), None)
        self.miss(
            f"trust and PFC of {netdev}",
            "neither mlnx_qos nor dcb is installed" if failed is None else f"dcb: {self.said(failed)}",
            "install mlnx-tools or iproute2 5.11 or newer; on a virtual function the ESXi host decides",
        )
        return None

    def _counters(self, device: str, port: int, netdev: str) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for kind in ("counters", "hw_counters"):
            base = ("class/infiniband", device, "ports", str(port), kind)
            values = {}
            for name in self.listing(*base):
                text = self.text(f"{device} port {port} {kind}/{name}", *base, name)
                if name != "lifespan" and text is not None and text.isdigit():
                    values[name] = int(text)
            found[kind] = values
        done = self.tool("ethtool", "-S", netdev) if netdev else None
        if done is not None and done.code == 0:
            found["ethtool"] = parse_ethtool_counters(done.out)
        elif netdev:
            why = "ethtool is not installed" if done is None else self.said(done)
            self.miss(f"counters of {netdev}", why, "install ethtool")
        return found

    def _ecn(self, netdev: str) -> dict[str, list[int]] | None:
        """Priorities with congestion notification, of OFED's driver: np sends the notices, rp obeys them. None: no such
        files, as with the kernel's own driver."""
        found: dict[str, list[int]] = {}
        for side in ("np", "rp"):
            base = ("class/net", netdev, "ecn", f"roce_{side}", "enable")
            names = [name for name in self.listing(*base) if name.isdigit()]
            if not names:
                return None
            found[side] = [
                int(name) for name in names if self.number(f"ECN {side} of {netdev} priority {name}", *base, name)
            ]
        return found

    def _roce_tos(self, device: str, port: int) -> int | None:
        """Default ToS of rdma_cm applications, if its configfs directory is there; making it would be a write."""
        what, base = f"{device} port {port} RoCE ToS", ("kernel/config/rdma_cm", device, "ports", str(port))
        if not os.path.isdir(self.path(*base)):
            self.miss(
                what,
                "configfs has no directory for the device, and making one would be a change",
                "cma_roce_tos -d DEVICE -p PORT shows it (as root)",
            )
            return None
        return self.number(what, *base, "default_roce_tos")

    def _pcie(self, device: str) -> dict[str, Any]:
        """The link of the function as this machine sees it; in a VM that is what the host passes on."""
        found: dict[str, Any] = {}
        if self.function(device) is None:
            self.miss(f"{device} PCIe link", NO_FUNCTION, NO_FUNCTION_REMEDY)
            return {"current_link_speed": None, "max_link_speed": None, "current_link_width": None,
                    "max_link_width": None, "max_payload": None}  # fmt: skip
        for name, parse in (("link_speed", parse_link_speed), ("link_width", parse_link_width)):
            for which in ("current", "max"):
                what = f"{device} PCIe {which}_{name}"
                text = self.text(what, "class/infiniband", device, "device", f"{which}_{name}")
                found[f"{which}_{name}"] = self.parsed(what, parse, text, self.host, what) if text else None
        if (found["current_link_width"] or 0) > MOST_LANES:
            why = f"x{found['current_link_width']} is a placeholder of the hypervisor, as 5 GT/s x32 is of ESXi"
            self.miss(f"{device} PCIe link", why, "read LnkSta on the host (lspci -vv)")
            found.update(dict.fromkeys(found))
        what = f"{device} PCIe MaxPayload"
        config = self.read_bytes(what, "class/infiniband", device, "device", "config")
        control = self.parsed(what, parse_device_control, config, self.host, what) if config else None
        found["max_payload"] = control.max_payload if control else None
        return found

    def _attribute(self, device: str, *parts: str) -> str | None:
        """An attribute that not every driver has: None is then no failure."""
        return self.text(f"{device} {parts[-1]}", "class/infiniband", device, *parts, optional=True)

    def _port(self, device: str, port: int, verbs: VerbsPort | None, counters: bool) -> dict[str, Any]:
        first = len(self.unreadable)
        base = ("class/infiniband", device, "ports", str(port))
        link_layer = self.text(f"{device} link layer", *base, "link_layer")
        gids = self._gids(device, port)
        netdev = self._netdev(device, port, gids)
        ethernet = link_layer == ETHERNET
        best = choose_gid(gids, netdev) if ethernet else None
        qos = self._qos(netdev) if ethernet and netdev else None
        device_id = (self._attribute(device, "device/device") or "").replace("0x", "")
        numa = ("class/infiniband", device, "device/numa_node")
        entry = {
            "name": device,
            "port": port,
            "netdev": netdev,
            "pci": self.function(device),
            "device_id": device_id,
            "firmware": self.text(f"{device} firmware", "class/infiniband", device, "fw_ver"),
            "psid": self._attribute(device, "board_id"),
            "node_guid": self._attribute(device, "node_guid"),
            "sys_image_guid": self._attribute(device, "sys_image_guid"),
            "link_layer": link_layer,
            "state": (self.text(f"{device} state", *base, "state") or "").split(":")[-1].strip() or None,
            "rate": self._attribute(device, "ports", str(port), "rate"),
            "active_mtu": verbs.active_mtu if verbs else None,
            "max_mtu": verbs.max_mtu if verbs else None,
            "netdev_mtu": self.number(f"MTU of {netdev}", "class/net", netdev, "mtu") if netdev else None,
            "pcie": self._pcie(device),
            "numa_node": self.number(f"{device} NUMA node", *numa, optional=True),
            "is_vf": device_id in VF_IDS or os.path.exists(self.path("class/infiniband", device, "device/physfn")),
            "gids": [{**dataclasses.asdict(gid), "ipv4": gid.ipv4} for gid in gids],
            "roce_gid_index": best.index if best else None,
            "roce_gid_ipv4": best.ipv4 if best else None,
            "qos": qos.as_result() if qos else None,
            "ecn": self._ecn(netdev) if ethernet and netdev else None,
            "roce_tos": self._roce_tos(device, port) if ethernet else None,
            "traffic_class": parse_global_tclass(self._attribute(device, "tc", str(port), "traffic_class") or ""),
            "counters": self._counters(device, port, netdev) if counters else {},
        }
        entry["unreadable"] = self.unreadable[first:]
        return entry

    def path(self, *parts: str) -> str:
        return os.path.join(self.sysfs.root, *parts)

    # ---- the node ---------------------------------------------------------------------------------------------------

    def _verbs(self) -> dict[tuple[str, int], VerbsPort]:
        remedy = "install ibverbs-utils and ibverbs-providers; sysfs does not have it"
        return self.asked("active MTU", remedy, parse_ibv_devinfo, "ibv_devinfo") or {}

    def _interfaces(self) -> list[dict[str, Any]] | None:
        """Every interface with its addresses, RDMA or not: NCCL's TCP connections need one, too."""
        words = ("-json", "address", "show")
        links = self.asked("addresses of the interfaces", "install iproute2", parse_links, "ip", *words)
        if links is None:
            return None
        return [{"name": link.name, "addresses": list(link.addresses)} for link in links.values() if link.addresses]

    def _release(self) -> Release:
        done = self.tool("dpkg-query", "-W", "-f=${Package} ${db:Status-Status} ${Version}\\n", *_PACKAGES)
        # dpkg-query ends with 1 when one of the packages is unknown, and still prints the others
        found = parse_dpkg(done.out) if done is not None else None
        if found is None:
            found = parse_ofed_info(self.output("ofed_info", "-s"))
        return found or Release("inbox", "", "no package and no ofed_info")

    def _modinfo(self, module: str, field: str) -> str | None:
        """A field of the module on the disk; '' for a field that it does not have, None for no such module."""
        done = self.tool("modinfo", "-F", field, module)
        if done is None or (done.code != 0 and "not found" not in done.err):
            why = "modinfo is not installed" if done is None else self.said(done)
            self.miss(f"{module} on the disk", why, "install kmod")
            return None
        return done.out.strip() if done.code == 0 else None

    def _driver(self) -> dict[str, Any]:
        release = self._release()
        loaded = os.path.isdir(self.path("module/mlx5_core"))
        version = self.text("mlx5_core version", "module/mlx5_core/version", optional=True)
        source = self.text("mlx5_core srcversion", "module/mlx5_core/srcversion", optional=True)
        disk_version, disk_source = self._modinfo("mlx5_core", "version"), self._modinfo("mlx5_core", "srcversion")
        reload: bool | None = None
        if loaded and source and disk_source:
            reload = source != disk_source
        elif loaded and version and disk_version:
            reload = version != disk_version
        intree = self._modinfo("mlx5_core", "intree") if disk_source is not None else None
        return {
            **dataclasses.asdict(release),
            "loaded": loaded,
            "loaded_version": version,
            "loaded_srcversion": source,
            "installed": disk_source is not None,
            "installed_version": disk_version,
            "installed_srcversion": disk_source,
            "in_tree": None if intree is None else intree == "Y",
            "reload_required": reload,
            "kernel": self.kernel,
        }

    def _peer_memory(self) -> dict[str, Any]:
        modules = {
            name: {
                "loaded": os.path.isdir(self.path("module", name)),
                "version": self.text(f"{name} version", "module", name, "version", optional=True),
                "installed": self._modinfo(name, "filename") is not None,
            }
            for name in _PEER_MODULES
        }
        clients = self.listing("kernel/mm/memory_peers")
        through = dma_buf(self.kernel, self._modinfo("nvidia", "license"))
        # Two paths say the same thing; tools that look at one of them miss the other.
        usable = [name for name in _PEER_MODULES if modules[name]["loaded"]]
        usable += ["memory_peers/" + name for name in clients if not usable and name.startswith("nv_mem")]
        return {
            "modules": modules,
            "memory_peers": clients,
            "dma_buf": through,
            "usable": [*usable, *(["dma_buf"] if through else [])],
        }

    def _holders(self) -> list[str]:
        """What holds ib_core and is no part of the driver itself: it stops a restart of the driver."""
        users = parse_modules(self.sysfs.read_proc("modules")).get("ib_core", [])
        return [name for name in users if name not in _OWN_MODULES]

    def _gpu_links(self) -> list[dict[str, Any]]:
        words = ("topo", "-m")
        what, remedy = "links between GPUs and NICs", "install the NVIDIA driver"
        return self.asked(what, remedy, parse_topology, "nvidia-smi", *words) or []

    def read(
        self, devices: Sequence[str] = ("auto",), counters: bool = True, node: bool = True, path: bool = False
    ) -> dict[str, Any]:
        """The whole result of the module. Raises `RefusedError` for a device that is not there."""
        names = self.listing("class/infiniband")
        if list(devices) != ["auto"]:
            unknown = [name for name in devices or [""] if name not in names]
            if unknown:
                raise RefusedError(
                    f"no such RDMA device; there are: {', '.join(names) or 'none'}",
                    host=self.host,
                    thing="device",
                    value=unknown[0],
                    remedy="name devices as in /sys/class/infiniband (mlx5_0), or write auto alone",
                )
            names = [name for name in names if name in devices]
        if not names:
            self.miss(
                "RDMA devices",
                f"{self.path('class/infiniband')} has none",
                "load the driver (modprobe mlx5_ib) and check the passthrough of this VM (lspci -d 15b3:)",
            )
        verbs = self._verbs() if names else {}
        ports = [
            self._port(name, int(port), verbs.get((name, int(port))), counters)
            for name in names
            for port in sorted(self.listing("class/infiniband", name, "ports"), key=int)
        ]
        about_node: dict[str, Any] = {}
        links = self._gpu_links() if node or path else []
        if node:
            about_node = {
                "driver": self._driver(),
                "peer_memory": self._peer_memory(),
                "holders": self._holders(),
                "gpu_links": links,
            }
        if path:
            about_node["path"] = read_path(self, names, links)
        return {
            "hostname": self.host,
            "boot_id": self.boot_id,
            "devices": ports,
            "interfaces": self._interfaces(),
            **about_node,
            "simulated": self.sysfs.simulated,
            "unreadable": self.unreadable,
        }
