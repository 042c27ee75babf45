"""Sixty shapes of true evidence: releases of NCCL, algorithms, launchers, names, devices, fabrics and sites.

Each is a whole sound run as a site would hand it in. ``grade`` is what docs/report.md names for it, written down before
the run was judged: PROVEN, or PATH PROVEN with what was not observed. Lines as in NCCL's source and in public logs
(NVIDIA/nccl issues 707, 1052, 1412, 1538, 1814, 2389, ray-project/ray 59778, Azure/aks-rdma-infiniband 30).
"""

from __future__ import annotations

import copy
import functools
import pathlib
import pickle
import re
import tempfile
from typing import Any, Callable, NamedTuple

from ansible_collections.rocemesh.multinode.plugins.module_utils._handoff import home

from tests.unit.proof.attack_base import Site, enriched
from tests.unit.proof.truth import SOUND_SHARE, STARTED, Run

Change = Callable[[Site], Any]
PREFIX = re.compile(r"^(\S+?:\d+:\d+ \[\d+\]) NCCL INFO ")


class Shape(NamedTuple):
    """``told``: words that the line of a grade below PROVEN has to contain."""

    name: str
    run: Run
    changes: tuple[Change, ...]
    grade: str
    told: str


SHAPES: list[Shape] = []


def shape(name: str, *changes: Change, grade: str = "PROVEN", told: str = "", **facts: Any) -> None:
    SHAPES.append(Shape(name, Run(name, **facts), changes, grade, told))


@functools.lru_cache(maxsize=None)
def _built(name: str) -> bytes:
    found = next(each for each in SHAPES if each.name == name)
    site = enriched(found.run)
    for change in found.changes:
        assert change(site) is not False, (name, change)
    return pickle.dumps(site)


def built(found: Shape) -> Site:
    return pickle.loads(_built(found.name))  # type: ignore[no-any-return]


# ----------------------------------------------------------------------------------------------------- what NCCL prints


def _ranks(site: Site) -> dict[str, list[int]]:
    """Prefix of a process to the numbers of its lines."""
    found: dict[str, list[int]] = {}
    for number, line in enumerate(site.nccl):
        match = PREFIX.match(line)
        if match:
            found.setdefault(match[1], []).append(number)
    return found


def _around(before: list[str], after: list[str]) -> Change:
    """Lines of each process before its first and behind its last one."""

    def change(site: Site) -> None:
        ranks = _ranks(site)
        first = {numbers[0]: prefix for prefix, numbers in ranks.items()}
        last = {numbers[-1]: prefix for prefix, numbers in ranks.items()}
        lines = []
        for number, line in enumerate(site.nccl):
            if number in first:
                lines += [f"{first[number]} NCCL INFO {text}" for text in before]
            lines.append(line)
            if number in last:
                lines += [f"{last[number]} NCCL INFO {text}" for text in after]
        site.nccl = lines

    return change


OLD = _around(
    [
        "cudaDriverVersion 12020",
        "Bootstrap : Using ens192:192.0.2.1<0>",
        "NET/Plugin : Plugin load (libnccl-net.so) returned 2 : libnccl-net.so: cannot open shared object file",
        "NET/Plugin : No plugin found, using internal implementation",
        "NCCL_IB_HCA set to mlx5",
        "NCCL_IB_GID_INDEX set by environment to 3.",
    ],
    [
        "threadThresholds 8/8/64 | 128/8/64 | 512 | 512",
        "16 coll channels, 16 collnet channels, 0 nvls channels, 16 p2p channels, 2 p2p channels per peer",
        "P2P Chunksize set to 131072",
    ],
)
NEW = _around(
    [
        "Bootstrap: Using ens192:192.0.2.1<0>",
        "NCCL_DEBUG_SUBSYS set by environment to INIT,NET,ENV,GRAPH",
        "NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.",
        "RAS client listening socket at 127.0.0.1<28028>",
        "NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'",
        "DMA-BUF is available on GPU device 0",
        "TUNER/Plugin: Could not find: libnccl-tuner.so. Using internal tuner plugin.",
        "PROFILER/Plugin: Could not find: libnccl-profiler.so.",
    ],
    [
        "[Proxy Service] Device 0 CPU core 3",
        "New proxy send connection 0 from local rank 0, transport 2",
        "Connected to proxy localRank 0 -> connection 0xe4dcfc004f40",
        "Check P2P Type isAllDirectP2p 1 directMode 0 isAllCudaP2p 1",
        "Init timings - ncclCommInitRankConfig: rank 0 nranks 8 total 1.08 (kernels 0.51, alloc 0.2, bootstrap 0.22)",
    ],
)


def ring_summary(site: Site) -> None:
    """Since 2.24 NCCL says it in one line, of rings."""
    site.replace(r"Connected all rings$", "Connected all rings, use ring PXN 0 GDR 1")


def version_with_prefix(site: Site) -> None:
    """Since 2.27 the version is a line like the others, of every process."""
    version = site.nccl.pop(0)
    _around([version], [])(site)


def assigned(site: Site) -> None:
    _around([], ["Assigned NET plugin IB to comm", "Using network IB"])(site)


def with_comm(site: Site) -> Any:
    """Some builds print the communicator behind the channels of a host."""
    return site.replace(r"(via P2P/\S+)$", r"\1 comm 0x5609976f9470 nRanks 32")


def shared_suffix(site: Site) -> Any:
    return site.replace(r"(\[send\] via NET/IB/\S+/GDRDMA)$", r"\1/Shared")


def through_pcie(site: Site) -> Any:
    """Grace: GPU and NIC have two ways to each other."""
    return site.replace(r"(\[send\] via NET/IB/\S+/GDRDMA)$", r"\1(PCI)")


def nvls_lines(site: Site) -> None:
    _around(["NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 16)"], ["Connected NVLS tree"])(site)


def point_to_point(site: Site) -> None:
    """Send and receive use channels of their own: /1."""
    site.nccl += [site.nccl[number].replace("/0 : ", "/1 : ", 1) for number in site.channels()]


def plugin(site: Site) -> None:
    """HPC-X's plugin, which the run asked for by its name."""
    site.replace(r"network IB$", "network IBext_v8")
    site.replace(r"via NET/IB/", "via NET/IBext_v8/")
    site.job["network"] = "IBext_v8"


def bonded(site: Site) -> None:
    """2.20 to 2.23: two ports of one card are one device of NCCL."""
    site.replace(r"Using \[0\](\S+) \[1\](\S+)", r"Using [0]={[0] \1, [1] \2}")
    site.replace(r"via NET/IB/1", "via NET/IB/0")


def virtual_device(site: Site) -> None:
    """Since 2.24: the same as a device of its own."""
    made = "NET/IB : Made virtual device [2] name=mlx5_0+mlx5_1 speed=400000 ndevs=2"
    for number in reversed([number for number, line in enumerate(site.nccl) if "NET/IB : Using" in line]):
        site.nccl.insert(number + 1, re.sub(r"NET/IB : Using.*", made, site.nccl[number]))
    site.replace(r"via NET/IB/[01]", "via NET/IB/2")


def no_relaxed_ordering(site: Site) -> Any:
    return site.replace(r" \[RO\];", " ;")


def out_of_band_by_ipv6(site: Site) -> Any:
    return site.replace(r"OOB ens192:[\d.]+<0>", "OOB ens192:fd00::21<0>")


def buses_in_names(site: Site) -> Any:
    """Before 2.18 a GPU was named by its bus."""
    gpus = range(site.run.gpus)
    return all(site.replace(rf"(\d)\[{gpu}\](?= -> | via | \[)", rf"\g<1>[{gpu + 1}1000]") for gpu in gpus)


# ------------------------------------------------------------------------------------------------------------ launchers


def _labelled(form: str, training: bool = False) -> Change:
    """``form`` before each line of NCCL, and of the training if the launcher labels both."""

    def change(site: Site) -> None:
        def label(rank: int) -> str:
            host = site.hosts[rank // site.run.gpus]
            pod = f"train-worker-{site.hosts.index(host)}"
            return form.format(rank=rank, local=rank % site.run.gpus, host=host, pod=pod, node=site.hosts.index(host))

        for number, line in enumerate(site.nccl):
            match = re.match(r"\S+?:(\d+):", line)
            site.nccl[number] = label(int(match[1]) - 1000 if match else 0) + line
        if training:
            site.training = [re.sub(r"^\[1,(\d+)\]<stdout>:", lambda found: label(int(found[1])), line)
                             for line in site.training]  # fmt: skip

    return change


def brought_home(site: Site) -> None:
    """A hand-off's training log is read as `run_report` reads it (docs/other-launchers.md)."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "train.log")
        path.write_text("\n".join(site.training) + "\n", encoding="utf-8")
        site.training = "".join(home._tagged(path, None)).splitlines()


def crlf(site: Site) -> None:
    site.nccl = [line + "\r" for line in site.nccl]
    site.training = [line + "\r" for line in site.training]


def coloured(site: Site) -> None:
    site.nccl = [f"\x1b[32m{line}\x1b[0m" for line in site.nccl]


def stamped_by_nccl(site: Site) -> None:
    site.nccl = [f"[2026-09-21 14:13:{number % 60:02}] {line}" for number, line in enumerate(site.nccl)]


# ---------------------------------------------------------------------------------------------------------------- names


def _named(new: Callable[[str], str], nccl: Callable[[str], str] | None = None) -> Change:
    """How the hosts call themselves; ``nccl``: what NCCL prints of it."""

    def change(site: Site) -> None:
        names = {host: new(host) for host in site.hosts}
        printed = {host: (nccl or (lambda name: name.split(".", 1)[0]))(name) for host, name in names.items()}
        site.nccl = [re.sub(r"^gpu\d+(?=:)", lambda found: printed[found[0]], line) for line in site.nccl]
        site.records(lambda record: record.update(host=names[record["host"]]))
        site.job["hosts"] = dict(names)
        site.names = list(names.values())
        for host, each in site.rdma.items():
            for reading in each.values():
                reading["hostname"] = names[host]

    return change


def _cards(form: str) -> Change:
    """Names of the RDMA devices."""

    def change(site: Site) -> None:
        for device in site.nics():
            device["name"] = form.format(device["name"].rpartition("_")[2])
        site.replace(r"\]mlx5_(\d)", lambda found: "]" + form.format(found[1]))  # type: ignore[arg-type]

    return change


def gpus_named(name: str) -> Change:
    return lambda site: site.records(lambda record: record.update(device=name))


# ---------------------------------------------------------------------------------------------------- devices and sites


def virtual_functions(site: Site) -> None:
    """No counters per priority: what a virtual function discards is not shown."""
    for device in site.nics():
        device["is_vf"] = True
        for name in list(device["counters"]["ethtool"]):
            if "prio" in name or "discards" in name:
                del device["counters"]["ethtool"][name]


def no_switch(site: Site) -> None:
    del site.inputs["evidence"]["switches"]
    site.inputs["layers"]["switch"].update(verified=None, found={})


def pods(site: Site) -> None:
    _named(lambda host: f"nccl-tests-worker-{int(host[3:]) - 1}")(site)
    for device in site.nics():
        device["netdev"] = "net1"
        for gid in device["gids"]:
            gid["netdev"] = "net1"
    virtual_functions(site)
    no_switch(site)


def addresses_of_ipv6(site: Site) -> None:
    for node, host in enumerate(site.hosts):
        for word in ("start", "before", "after"):
            for rail, device in enumerate(site.rdma[host][word]["devices"]):
                device["gids"][0]["gid"] = f"fd00:0000:0000:{rail:04x}:0000:0000:0000:{node + 1:04x}"
                link_local = dict(
                    device["gids"][0], index=1, gid=f"fe80:0000:0000:0000:0000:0000:{rail:04x}:{node + 1:04x}"
                )
                device["gids"].append(link_local)
    site.job["rdma_networks"] = [f"fd00:0:0:{rail:x}::/64" for rail in range(site.run.rails)]


def several_addresses(site: Site) -> None:
    """Each NIC has link-local and v1 entries beside the one that counts."""
    for node, host in enumerate(site.hosts):
        for word in ("start", "before", "after"):
            for rail, device in enumerate(site.rdma[host][word]["devices"]):
                local = f"fe80:0000:0000:0000:0a00:27ff:fe{rail:02x}:{node + 1:04x}"
                first = device["gids"][0]
                device["gids"] = [
                    dict(first, index=0, gid=local, type="IB/RoCE v1"),
                    dict(first, index=1, gid=local),
                    dict(first, index=2, type="IB/RoCE v1"),
                    first,
                ]


def listed_only(layer: str) -> Change:
    """NCCL lists a NIC for storage, and no channel takes it; its counters stand still."""

    def change(site: Site) -> None:
        site.replace(r"(NET/IB : Using .*?)( \[RO\])", rf"\1 [{site.run.rails}]mlx5_9:1/{layer}\2")
        for host in site.hosts:
            for word in ("start", "before", "after"):
                other = copy.deepcopy(site.nic(host, "before"))
                kind = "Ethernet" if layer == "RoCE" else "InfiniBand"
                other.update(name="mlx5_9", netdev="ens9", pci="0000:9c:00.0", link_layer=kind)
                address = other["gids"][0]["gid"].replace(":0a00:", ":0b09:")
                other["gids"] = [{"index": 0, "gid": address, "type": "RoCE v2" if layer == "RoCE" else "IB/RoCE v1"}]
                for key in ("node_guid", "sys_image_guid"):
                    other[key] = other[key].replace("b8ce", "c0fe").replace("b83f", "c0fe")
                site.rdma[host][word]["devices"].append(other)

    return change


def switch_of_each_rail(site: Site) -> None:
    """Rail-optimised: each rail has a leaf of its own."""
    whole = site.switches.pop("sw01")
    for rail in range(site.run.rails):
        mine = copy.deepcopy(whole)
        for word in ("before", "after"):
            ports = mine[word]["ports"]
            mine[word]["ports"] = {
                name: port for name, port in ports.items() if (int(name[2:]) - 1) % site.run.rails == rail
            }
        site.switches[f"leaf{rail + 1}"] = mine


def ports_of(form: str) -> Change:
    def change(site: Site) -> None:
        for reading in site.switches["sw01"].values():
            reading["ports"] = {form.format(name[2:]): port for name, port in reading["ports"].items()}

    return change


def neighbours_with_domain(site: Site) -> None:
    for reading in site.switches["sw01"].values():
        for port in reading["ports"].values():
            for neighbour in port["neighbors"]:
                neighbour["system"] += ".cluster.example.com"


def neighbours_unknown(site: Site) -> None:
    """LLDP is off."""
    for reading in site.switches["sw01"].values():
        for port in reading["ports"].values():
            port["neighbors"] = []


def without_exchange(site: Site) -> None:
    """A program of one's own that measures nothing alone."""

    def drop(record: dict[str, Any]) -> None:
        del record["exchange"]

    site.records(drop)


def links_unknown(site: Site) -> None:
    for device in site.nics("start"):
        device["rate"], device["pcie"] = "", {}


def small_packets(site: Site) -> None:
    """Interfaces of 1500 bytes: RoCE of 1024. The switch counts four times as many packets."""
    for device in site.nics():
        device["active_mtu"], device["netdev_mtu"] = 1024, 1500
    for reading in site.switches["sw01"].values():
        for port in reading["ports"].values():
            for name in ("tx_roce_packets", "rx_roce_packets"):
                port["counters"][name] = 500 + (port["counters"][name] - 500) * 4


def slots_of(speed: float) -> Change:
    """Slots of a newer generation, as such NICs need."""

    def change(site: Site) -> None:
        for device in site.nics():
            device["pcie"]["current_link_speed"] = speed

    return change


def tagged_vlan(site: Site) -> None:
    for device in site.nics():
        for gid in device["gids"]:
            gid.update(netdev=f"roce{gid['index']}", vlan_of=gid["netdev"])


def fabric_checked(site: Site) -> None:
    report = {"schema": 1, "form": "quick", "ok": True, "complete": True, "simulated": False, "hosts": site.hosts}
    report.update(rails=site.run.rails, missing=[], faults=[])
    report["measured"] = {"ib_write_bw": {"tests": 24, "bad": 0, "medians": {"rail 0": 191.5}}}
    site.inputs["evidence"]["fabric"] = {"at": STARTED - 300, "report": report}


def read_early(site: Site) -> None:
    """The first reading ten minutes before the training."""
    for host in site.hosts:
        site.rdma[host]["before"]["at"] = STARTED - 600


def hosts_silent(site: Site) -> None:
    del site.inputs["evidence"]["hosts"]


# --------------------------------------------------------------------------------------------------------------- shapes

# Of the links, as bus bandwidth: a tree over two nodes of eight GPUs prints 1.875 times what its wire carries.
TWO_NODES = 1.875 * SOUND_SHARE
NEWER = (NEW, ring_summary)
NEWEST = (NEW, ring_summary, version_with_prefix, assigned)

shape("2.18 2x1", OLD, nodes=2, version="2.18.6")
shape("2.18 with buses 4x2", OLD, buses_in_names, gpus=2, rails=2, version="2.18.3")
shape("2.19 2x8 four rails", OLD, with_comm, nodes=2, gpus=8, rails=4, version="2.19.4")
shape("2.20 3x4 bonded", OLD, bonded, nodes=3, gpus=4, rails=2, version="2.20.5")
shape("2.21 4x1", OLD, version="2.21.5")
shape("2.22 4x4", OLD, shared_suffix, gpus=4, rails=4, version="2.22.3")
shape("2.23 5x1", OLD, nodes=5, version="2.23.4")
shape("2.24 virtual device", *NEWER, virtual_device, nodes=2, gpus=2, rails=2, version="2.24.3")
shape("2.25 2x8", *NEWER, nodes=2, gpus=8, rails=8, version="2.25.1")
shape("2.26 own times", *NEWER, stamped_by_nccl, nodes=2, gpus=2, rails=2, version="2.26.5")
shape("2.27 4x8", *NEWEST, gpus=8, rails=8, version="2.27.7")
shape("2.28 2x8", *NEWEST, nodes=2, gpus=8, rails=4, version="2.28.9")
shape("2.29 through PCIe", *NEWEST, through_pcie, nodes=2, gpus=4, rails=4, version="2.29.7")
shape("2.30 8x1", *NEWEST, nodes=8, version="2.30.7")
shape("2.31 2x2", *NEWEST, nodes=2, gpus=2, rails=2, version="2.31.2")
shape("tree 2x8", *NEWER, nodes=2, gpus=8, rails=8, algorithm="tree", version="2.26.2", share=TWO_NODES)
shape("tree 16x1", OLD, nodes=16, algorithm="tree")
shape("tree 5x2", *NEWEST, nodes=5, gpus=2, rails=2, algorithm="tree", version="2.28.3")
shape("tree 64x1", OLD, nodes=64, algorithm="tree", version="2.22.3")
shape("NVLS 2x8", *NEWER, nvls_lines, nodes=2, gpus=8, rails=8, algorithm="nvls", version="2.24.3", share=TWO_NODES)
shape("NVLS 8x8 four rails", *NEWEST, nvls_lines, nodes=8, gpus=8, rails=4, algorithm="nvls", version="2.27.7")
shape("ring 64x1", *NEWEST, nodes=64, version="2.27.7")
shape("ring 32x2", OLD, nodes=32, gpus=2, rails=2)
shape("ring 8x8 eight rails", *NEWER, nodes=8, gpus=8, rails=8, version="2.26.5")
shape("PXN four rails", OLD, point_to_point, gpus=8, rails=4)
shape("tensor parallel 8 x data parallel 4", *NEWER, gpus=8, rails=8, groups=True, version="2.25.1")
shape("tensor parallel 4 x data parallel 2", OLD, nodes=2, gpus=4, rails=4, groups=True)
shape("send and receive", *NEWER, point_to_point, nodes=3, gpus=2, rails=2, version="2.24.3")
shape("plugin of HPC-X", OLD, plugin, nodes=2, gpus=2, rails=2, version="2.20.5")
shape("no relaxed ordering", OLD, no_relaxed_ordering, nodes=2)
shape("25G", OLD, nodes=4, link=25)
shape("100G two rails", OLD, nodes=2, gpus=2, rails=2, link=100)
shape(
    "400G 2x8",
    *NEWEST,
    slots_of(32.0),
    gpus_named("NVIDIA H100 80GB HBM3"),
    nodes=2,
    gpus=8,
    rails=8,
    link=400,
    version="2.27.7",
)
shape(
    "800G 2x4", *NEWEST, slots_of(64.0), gpus_named("NVIDIA B300"), nodes=2, gpus=4, rails=4, link=800, version="2.28.9"
)
shape("L40S", OLD, gpus_named("NVIDIA L40S"), nodes=2, gpus=2, rails=2, link=100)
shape("srun -l", _labelled("{rank}: ", training=True), brought_home, OLD, nodes=2, gpus=2, rails=2)
shape("srun -l, wide", _labelled("{rank:>2}: ", training=True), brought_home, nodes=8, gpus=2, rails=2)
shape("torchrun --tee", _labelled("[default{local}]:"), nodes=2, gpus=4, rails=4)
shape("Ray", _labelled("(RayTrainWorker pid=1{rank}, ip=192.0.2.{node}) "), *NEWER, nodes=2, gpus=2, rails=2)
shape("vLLM on Ray", _labelled("(EngineCore_DP0 pid=77) (RayWorkerWrapper pid=2{rank}, ip=192.0.2.7) "), nodes=2)
shape("kubectl logs --prefix", _labelled("[pod/{pod}/pytorch] "), nodes=4)
shape("kubectl logs --timestamps", _labelled("2026-09-21T14:13:20.123456789Z "), nodes=4, gpus=2, rails=2)
shape("docker compose", _labelled("worker-{rank}  | "), nodes=2)
shape("journal", _labelled("Sep 21 14:13:20 {host} torchrun[4{rank}]: "), nodes=2, gpus=2, rails=2)
shape("mpirun 5", _labelled("[1,{rank}]<stdout>: ", training=True), nodes=2, gpus=2, rails=2)
shape("Windows line ends", crlf, nodes=2)
shape("coloured terminal", coloured, nodes=2)
shape("upper-case names", _named(str.upper), *NEWER, nodes=4, version="2.25.1")
shape("NCCL in lower case", _named(str.upper, str.lower), nodes=2, gpus=2, rails=2)
shape("names with domains", _named(lambda host: f"{host}.cluster.example.com"), nodes=4)
shape("names of an operator's pods", _named(lambda host: f"job-3bb823c0-6d27-4312-8094-1c5910bf9b51-worker-{host[3:]}"))
shape("rocep devices", _cards("rocep{}s0f0"), nodes=2, gpus=2, rails=2)
shape("bond devices", _cards("mlx5_bond_{}"), nodes=2, gpus=2, rails=2)
shape("IPv6 addresses", addresses_of_ipv6, out_of_band_by_ipv6, OLD, nodes=4, gpus=2, rails=2)
shape("four entries for each NIC", several_addresses, nodes=2, gpus=2, rails=2)
shape("RoCE NIC that is only listed", listed_only("RoCE"), nodes=2, gpus=2, rails=2)
shape("InfiniBand NIC that is only listed", listed_only("IB"), nodes=4)
shape("leaf of each rail", switch_of_each_rail, gpus=4, rails=4)
shape("ports of SONiC", ports_of("Ethernet{}"), neighbours_with_domain, nodes=4)
shape("ports of Cumulus", ports_of("swp{}s0"), gpus=2, rails=2)
shape("small packets", small_packets, nodes=2)
shape("tagged VLAN", tagged_vlan, nodes=4)
shape("fabric checked, read early", fabric_checked, read_early, nodes=4, gpus=2, rails=2)
shape("hosts said nothing", hosts_silent, nodes=2)
shape("LLDP off", neighbours_unknown, nodes=4)
shape("tenant 4x1", no_switch, grade="PATH PROVEN", told="switch")
shape("tenant 2x8", *NEWEST, no_switch, nodes=2, gpus=8, rails=8, version="2.27.7", grade="PATH PROVEN", told="switch")
shape("virtual functions", virtual_functions, nodes=2, gpus=2, rails=2, grade="PATH PROVEN", told="discard")
shape("virtual functions 4x8", *NEWER, virtual_functions, gpus=8, rails=8, grade="PATH PROVEN", told="discard")
shape("pods", pods, *NEWER, nodes=2, gpus=2, rails=2, grade="PATH PROVEN", told="switch")
shape("exchange not measured", without_exchange, nodes=4, grade="PATH PROVEN", told="exchange")
shape("links not known", links_unknown, nodes=2, grade="PATH PROVEN", told="figures")
