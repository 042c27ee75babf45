"""RDMA devices of other drivers: what the kernel shows is said, and nothing is made of what it does not show."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any, Sequence

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.interface_choice import Wanted, choose
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.interface_reading import InterfaceReader
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.rdma import RdmaReader
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.transport import Finished, Sysfs

RXE = json.loads((Path(__file__).parent / "recorded/rxe.json").read_text())
SIW_GIDS = {
    "gids/0": "5054:00bb:0002:0000:0000:0000:0000:0000",
    "gid_attrs/types/0": "IB/RoCE v1",
    "gid_attrs/ndevs/0": "ens1",
}
ROCE_GIDS = {"gids/0": "0000:0000:0000:0000:0000:ffff:0a4e:000c", "gid_attrs/types/0": "RoCE v2"}


def tree(
    device: str, function: str, netdev: str, driver: str, *, kind: str = "1: CA", layer: str = "Ethernet", **port: str
) -> dict[str, Any]:
    """As rxe.json. Of the kernel's ABI (stable/sysfs-class-infiniband) and drivers: nothing of it was recorded."""
    place = f"devices/pci0000:00/{function}" if function else "devices/virtual"
    infiniband, net = f"{place}/infiniband/{device}", f"{place}/net/{netdev}"
    files = {f"{infiniband}/node_type": kind, f"{infiniband}/fw_ver": "1.2.3.4"}
    state = {
        "state": "4: ACTIVE",
        "phys_state": "5: LinkUp",
        "rate": "100 Gb/sec (4X EDR)",
        "link_layer": layer,
        **port,
    }
    files.update({f"{infiniband}/ports/1/{name}": text for name, text in state.items()})
    links = {f"class/infiniband/{device}": f"../../{infiniband}"}
    if netdev:
        files[f"{net}/mtu"] = "9000"
        links[f"class/net/{netdev}"] = f"../../{net}"
    if function:
        files.update({f"{place}/numa_node": "0", f"{place}/device": "0x0001"})
        links.update({f"{infiniband}/device": "../..", f"{place}/driver": f"../../../bus/pci/drivers/{driver}"})
        if netdev:
            links[f"{net}/device"] = "../.."
    return {"files": files, "links": links, "bytes": {}}


BNXT = tree("bnxt_re0", "0000:17:00.0", "ens3f0np0", "bnxt_en", **ROCE_GIDS, **{"gid_attrs/ndevs/0": "ens3f0np0"})
IRDMA = tree("rocep24s0", "0000:18:00.0", "ens4", "ice", **ROCE_GIDS, **{"gid_attrs/ndevs/0": "ens4"})
IWARP = tree("iwp24s0", "0000:18:00.0", "ens4", "ice", kind="4: RNIC")
EFA = tree("rdmap0s6", "0000:00:06.0", "", "efa", kind="7: <unknown>", layer="Unspecified")
SIW = tree("siw0", "", "ens1", "", kind="4: RNIC", **SIW_GIDS)


def plant(root: Path, recorded: dict[str, Any]) -> Sysfs:
    for name, content in [*recorded["files"].items(), *recorded["bytes"].items()]:
        path = root / "sys" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name in recorded["bytes"]:
            path.write_bytes(base64.b64decode(content).ljust(4096, b"\0"))
        else:
            path.write_text(f"{content}\n")
    for name, target in recorded["links"].items():
        path = root / "sys" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
        if "drivers/" in target:
            (path.parent / target).mkdir(parents=True, exist_ok=True)
    return Sysfs(str(root / "sys"))


class Outside:
    """Nothing is installed but ip, which knows the interfaces of the tree."""

    def __init__(self, root: Path, recorded: dict[str, Any]) -> None:
        self.sysfs = plant(root, recorded)
        self.names = sorted(os.listdir(path) if (path := root / "sys/class/net").is_dir() else ())

    def run(self, argv: Sequence[str], _timeout: float) -> Finished:
        rows = [
            {"ifname": name, "ifindex": 2, "mtu": 9000, "addr_info": [{"local": "10.78.0.12", "prefixlen": 24}]}
            for name in self.names
        ]
        return Finished(0, "[]" if "route" in argv else json.dumps(rows), "")

    @staticmethod
    def which(name: str) -> str | None:
        return "/usr/bin/ip" if name == "ip" else None

    def rdma(self) -> dict[str, Any]:
        reader = RdmaReader("gpu02", run=self.run, which=self.which, sysfs=self.sysfs, kernel="6.1.0-50-amd64")
        return reader.read(node=False, path=True)

    def interfaces(self, *drivers: str) -> tuple[str, ...]:
        reader = InterfaceReader("gpu02", run=self.run, which=self.which, sysfs=self.sysfs)
        return choose(reader.links(), frozenset(), Wanted(drivers=drivers or ("mlx5_core",)), "gpu02")

    def refused(self, *drivers: str, name: str = "auto") -> str:
        reader = InterfaceReader("gpu02", run=self.run, which=self.which, sysfs=self.sysfs)
        with pytest.raises(RefusedError) as error:
            choose(reader.links(), frozenset(), Wanted((name,), drivers=drivers or ("mlx5_core",)), "gpu02")
        return " ".join(str(error.value).split())


def test_rxe_is_told_as_its_kernel_shows_it(tmp_path: Path) -> None:
    """Four false statements of before: no IOMMU, a driver to load, an address that is empty, no device of ens1."""
    outside = Outside(tmp_path, RXE)
    found = outside.rdma()
    (device,) = found["devices"]
    assert {key: device[key] for key in ("name", "netdev", "pci", "numa_node", "is_vf", "state", "netdev_mtu")} == {
        "name": "rxe0", "netdev": "ens1", "pci": None, "numa_node": None, "is_vf": False, "state": "ACTIVE",
        "netdev_mtu": 1500,
    }  # fmt: skip
    assert (device["roce_gid_index"], device["roce_gid_ipv4"]) == (1, "10.78.0.12")
    assert set(device["pcie"].values()) == {None}
    assert device["counters"]["hw_counters"]["sent_pkts"] == 0 and device["counters"]["counters"] == {}
    assert set(found["path"]["nics"]["rxe0"].values()) == {None}
    assert not [entry for entry in found["unreadable"] if "driver" in entry["remedy"] and "load" in entry["remedy"]]
    assert [entry["what"] for entry in found["unreadable"] if "no PCI function" in entry["why"]] == [
        "rxe0 PCIe link",
        "rxe0 on the PCI bus",
    ]


def test_rxe_is_an_interface_only_for_who_asks_for_the_driver_below_it(tmp_path: Path) -> None:
    outside = Outside(tmp_path, RXE)
    assert "ens1 has driver virtio_net, not mlx5_core" in outside.refused(name="ens1")
    assert outside.interfaces("virtio_net") == outside.interfaces("mlx5_core", "virtio_net") == ("ens1",)
    assert "a RoCE device (driver ice)" in outside.refused("ice")


def test_a_driver_that_is_not_there_is_still_to_be_loaded(tmp_path: Path) -> None:
    broken = {**RXE, "files": {key: text for key, text in RXE["files"].items() if not key.endswith("ens1/mtu")}}
    entry = next(e for e in Outside(tmp_path, broken).rdma()["unreadable"] if e["what"] == "MTU of ens1")
    assert "lsmod" in entry["remedy"]


@pytest.mark.parametrize(("made", "driver"), [(BNXT, "bnxt_en"), (IRDMA, "ice")], ids=["bnxt_re", "irdma"])
def test_roce_of_another_vendor_has_its_function_and_interface(
    made: dict[str, Any], driver: str, tmp_path: Path
) -> None:
    outside = Outside(tmp_path, made)
    (device,) = outside.rdma()["devices"]
    assert device["pci"] and device["numa_node"] == 0 and device["netdev"] == outside.names[0]
    assert device["roce_gid_index"] == 0 and not device["is_vf"]
    assert f"has driver {driver}, not mlx5_core" in outside.refused(name=outside.names[0])
    assert outside.interfaces(driver) == tuple(outside.names)


@pytest.mark.parametrize(("made", "driver"), [(IWARP, "ice"), (SIW, "")], ids=["irdma", "siw"])
def test_iwarp_runs_over_ethernet_and_is_no_roce(made: dict[str, Any], driver: str, tmp_path: Path) -> None:
    outside = Outside(tmp_path, made)
    (device,) = outside.rdma()["devices"]
    assert (device["netdev"], device["roce_gid_index"]) == (outside.names[0], None)
    assert "is iWARP, and only RoCE" in outside.refused(driver, name=outside.names[0])


def test_efa_has_a_function_and_no_interface(tmp_path: Path) -> None:
    outside = Outside(tmp_path, EFA)
    (device,) = outside.rdma()["devices"]
    assert (device["pci"], device["netdev"], device["netdev_mtu"]) == ("0000:00:06.0", "", None)
    assert (device["link_layer"], device["roce_gid_index"], device["qos"]) == ("Unspecified", None, None)
    assert "there are: none" in outside.refused("efa")
