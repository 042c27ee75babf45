"""Whether the priority that carried the job's bytes is lossless at NICs and switch ports, through `run_report`.

Written from what the readings mean (trust, DSCP map, PFC, counters of priorities), most of it before the witnesses and
the doctor were read; what was changed since, and how many were right at first: docs/mutation.md.
"""

from __future__ import annotations

import copy
import json
import pathlib
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from tests.unit.decisions import decide
from tests.unit.proof import attack_base
from tests.unit.proof.attack_base import Reading, Site
from tests.unit.proof.truth import Run

TWO = Run("2 hosts x 2 GPUs, 2 rails", nodes=2, gpus=2, rails=2, version="2.27.7")
FOUR = Run("4 hosts x 8 GPUs, 2 rails", gpus=8, rails=2, version="2.31.2")
TENANT = Run("2 hosts x 1 GPU, no switch", nodes=2)
WORDS = ("start", "before", "after")
Change = Callable[[Site], Any]


class Case(NamedTuple):
    """``names``: what the reason has to contain."""

    name: str
    names: tuple[str, ...]
    change: Change
    run: Run = TWO
    state: str = "PROVEN"


# ---------------------------------------------------------------------------------------------- a site that is lossless


def qos(priority: int = 3) -> Reading:
    return {
        "trust": "dscp",
        "pfc_priorities": [priority],
        "dscp_prio": {str(dscp): dscp // 8 for dscp in range(64)},
        "prio_tc": {str(number): number for number in range(8)},
        "source": "mlnx_qos",
    }


def setting(value: int) -> str:
    return f"gpu01:1000:2000 [0] NCCL INFO NCCL_IB_TC set by environment to {value}."


def lossless(run: Run, priority: int = 3) -> Site:
    site = attack_base.enriched(run)
    dscp = 8 * priority + 2
    site.nccl.insert(1, setting(4 * dscp + 2))
    site.job["nic_qos"] = True
    for device in site.nics():
        device.update(qos=qos(priority), traffic_class=None, roce_tos=4 * dscp + 2)
        device["counters"]["ethtool"].update({f"rx_prio{number}_discards": 0 for number in range(8)})
        move(device, 3, priority)
    for switch in site.inputs["evidence"].get("switches", {}).values():
        for word in ("before", "after"):
            switch[word]["roce"] = {
                "mode": "lossless",
                "trust": "L3",
                "ecn": "ecn, absolute",
                "pfc": "enabled",
                "pfc_priorities": [priority],
                "dscp_priorities": {str(each): each // 8 for each in range(64)},
            }
            for port in switch[word]["ports"].values():
                port.update(trust="L3", pfc_oper="enabled", pfc_priorities=[priority], roce_priority=priority)
    return site


def move(device: Reading, source: int, target: int, share: float = 1.0, sides: str = "tx rx") -> None:
    """Let the bytes of one priority have been counted on another one, or a share of them."""
    counted = device["counters"]["ethtool"]
    for side in sides.split():
        name, other = f"{side}_prio{source}_bytes", f"{side}_prio{target}_bytes"
        if name != other and name in counted:
            part = round(counted[name] * share)
            counted[name] -= part
            counted[other] = counted.get(other, 0) + part


def nics(host: str = "", rail: int | None = None, words: tuple[str, ...] = WORDS, **change: Any) -> Change:
    """What the QoS of these NICs is."""

    def apply(site: Site) -> None:
        for each in [host] if host else site.hosts:
            for word in words:
                for number, device in enumerate(site.rdma[each][word]["devices"]):
                    if rail in (None, number):
                        device["qos"].update(copy.deepcopy(change))

    return apply


def ports(host: str = "", words: tuple[str, ...] = ("before", "after"), **change: Any) -> Change:
    def apply(site: Site) -> None:
        for word in words:
            for each in [host] if host else site.hosts:
                for rail in range(site.run.rails):
                    site.port(each, word, rail).update(change)

    return apply


def roce(**change: Any) -> Change:
    def apply(site: Site) -> None:
        for word in ("before", "after"):
            site.switches["sw01"][word]["roce"].update(change)

    return apply


def rides(target: int, host: str = "", share: float = 1.0, sides: str = "tx rx") -> Change:
    def apply(site: Site) -> None:
        for each in [host] if host else site.hosts:
            for word in WORDS:
                for device in site.rdma[each][word]["devices"]:
                    move(device, 3, target, share, sides)

    return apply


def uncounted(site: Site) -> None:
    """A NIC without counters of priorities."""
    for device in site.nics():
        kept = device["counters"]["ethtool"]
        device["counters"]["ethtool"] = {name: value for name, value in kept.items() if not name.endswith("_bytes")}


def asks(value: int) -> Change:
    def apply(site: Site) -> None:
        site.nccl = [line for line in site.nccl if "NCCL_IB_TC" not in line]
        site.nccl.insert(1, setting(value))

    return apply


def device(host: str, **change: Any) -> Change:
    def apply(site: Site) -> None:
        for word in WORDS:
            for each in site.rdma[host][word]["devices"]:
                each.update(copy.deepcopy(change))

    return apply


def unused(**change: Any) -> Change:
    """A NIC that NCCL does not use, with a QoS of its own."""

    def apply(site: Site) -> None:
        for number, host in enumerate(site.hosts):
            for word in WORDS:
                more = copy.deepcopy(site.nic(host, "before", 0))
                address = f"0000:0000:0000:0000:0000:ffff:c0a8:000{number + 1}"
                more["gids"] = [{**more["gids"][0], "gid": address, "netdev": "ens9"}]
                guid = f"b8ce:f603:00{number + 1:02x}:9900"
                more.update(name="mlx5_9", netdev="ens9", node_guid=guid, sys_image_guid=guid, pci="0000:99:00.0")
                more["qos"].update(change)
                site.rdma[host][word]["devices"].append(more)

    return apply


def not_asked(site: Site) -> None:
    site.job["nic_qos"] = False


def all_of(*changes: Change) -> Change:
    def apply(site: Site) -> None:
        for change in changes:
            change(site)

    return apply


def whole_site(priority: int) -> Change:
    def apply(site: Site) -> None:
        other = lossless(site.run, priority)
        site.inputs, site.nccl = other.inputs, other.nccl

    return apply


def foreign_port(packets: int, oper: str) -> Change:
    """A port that leads to no host of the job, without PFC."""

    def apply(site: Site) -> None:
        for word, counted in (("before", 0), ("after", packets)):
            port = copy.deepcopy(site.port("gpu01", "before"))
            counters = {name: counted if "roce" in name else 0 for name in port["counters"]}
            port.update(counters=counters, neighbors=[], pfc_oper="disabled", pfc_priorities=[], oper=oper)
            site.switches["sw01"][word]["ports"]["1/30"] = port

    return apply


def more_bytes(priority: int, count: int) -> Change:
    def apply(site: Site) -> None:
        for each in site.nics("after"):
            for side in ("tx", "rx"):
                name = f"{side}_prio{priority}_bytes"
                each["counters"]["ethtool"][name] = each["counters"]["ethtool"].get(name, 0) + count
        for each in site.nics("start", "before"):
            for side in ("tx", "rx"):
                each["counters"]["ethtool"].setdefault(f"{side}_prio{priority}_bytes", 0)

    return apply


def bonded(site: Site) -> None:
    """The RDMA device of a bond of two ports: its data is that of both, its counters of priorities those of one."""
    for each in site.nics():
        for gid in each["gids"]:
            gid["netdev"] = "bond0"
        counted = each["counters"]["ethtool"]
        counted.update({name: value // 2 for name, value in counted.items() if name.endswith("prio3_bytes")})


def unread(*words: str) -> Change:
    def apply(site: Site) -> None:
        for each in site.nics(*words):
            each["qos"] = None

    return apply


def silent_switch(site: Site) -> None:
    for word in ("before", "after"):
        site.switches["sw01"][word]["roce"] = None
        for port in site.switches["sw01"][word]["ports"].values():
            for key in ("trust", "pfc_oper", "pfc_priorities", "roce_priority"):
                del port[key]


def untold(site: Site) -> None:
    uncounted(site)
    site.nccl = [line for line in site.nccl if "NCCL_IB_TC" not in line]


ELSEWHERE = {str(dscp): 4 if dscp == 26 else dscp // 8 for dscp in range(64)}

ATTACKS = (
    Case("A01 PFC of a host on 4", ("gpu01", "3", "4"), nics("gpu01", pfc_priorities=[4])),
    Case("A02 PFC of all on 4", ("gpu01", "gpu02"), nics(pfc_priorities=[4])),
    Case("A03 PFC of a host off", ("gpu02",), nics("gpu02", pfc_priorities=[])),
    Case("A04 PFC of a rail on 0", ("gpu02", "mlx5_1"), nics("gpu02", 1, pfc_priorities=[0])),
    Case("A05 PFC changed in the run", ("gpu01", "5"), nics("gpu01", words=("after",), pfc_priorities=[5])),
    Case("A06 PFC lost in the run", ("gpu01",), nics("gpu01", words=("after",), pfc_priorities=[])),
    Case("A07 a host rides 0", ("gpu01", "0"), rides(0, "gpu01")),
    Case("A08 a host maps 26 to 4", ("gpu01", "4"), all_of(nics("gpu01", dscp_prio=ELSEWHERE), rides(4, "gpu01"))),
    Case("A09 uncounted and mapped to 4", ("gpu01", "4"), all_of(uncounted, nics("gpu01", dscp_prio=ELSEWHERE))),
    Case("A10 uncounted, job asks for 34", ("gpu01", "4"), all_of(uncounted, asks(138))),
    Case("A11 uncounted, trust pcp", ("gpu02", "0"), all_of(uncounted, nics("gpu02", trust="pcp", dscp_prio={}))),
    Case("A12 port with PFC on 4", ("sw01", "1/1"), ports("gpu01", pfc_priorities=[4])),
    Case("A13 port whose PFC does not work", ("sw01", "1/3"), ports("gpu02", pfc_oper="disabled")),
    Case("A14 switch with PFC on 4", ("sw01", "4"), all_of(roce(pfc_priorities=[4]), ports(pfc_priorities=[4]))),
    Case("A15 switch without PFC", ("sw01",), all_of(roce(pfc="disabled", pfc_priorities=[]),
                                                     ports(pfc_priorities=[], pfc_oper="disabled"))),
    Case("A16 port that puts RoCE into 0", ("sw01", "1/1"), ports("gpu01", roce_priority=0)),
    Case("A17 switch that maps 26 to 0", ("sw01",), all_of(roce(dscp_priorities={"26": 0}), ports(roce_priority=None))),
    Case("A18 port whose PFC is lost in the run", ("sw01", "1/1"),
         ports("gpu01", words=("after",), pfc_priorities=[], pfc_oper="disabled")),
    Case("A19 uncounted, another class forced", ("gpu01", "4"), all_of(uncounted, device("gpu01", traffic_class=138))),
    Case("A20 received on 0", ("gpu02", "0"), rides(0, "gpu02", sides="rx")),
    Case("A21 half of it on 0", ("gpu01", "0"), rides(0, "gpu01", share=0.5)),
    Case("A22 NICs on 4, switch on 3", ("sw01", "4"), all_of(rides(4), nics(pfc_priorities=[4], dscp_prio=ELSEWHERE))),
    Case("A23 right at an unused NIC alone", ("gpu01", "mlx5_0"),
         all_of(unused(), nics("gpu01", 0, pfc_priorities=[4]))),
    Case("A24 PFC off everywhere, asked for", ("gpu01", "gpu02"), nics(pfc_priorities=[])),
    Case("A25 wrong before, unread after", ("gpu01", "4"), all_of(nics("gpu01", pfc_priorities=[4]), unread("after"))),
    Case("A26 one of eight NICs on 2", ("gpu03", "mlx5_1", "2"), nics("gpu03", 1, pfc_priorities=[2]), FOUR),
    Case("A27 port that trusts L2", ("sw01", "1/1"), ports("gpu01", trust="L2")),
)  # fmt: skip

SOUND = (
    Case("S01 the lossless site", (), lambda _site: None),
    Case("S02 QoS read nowhere", (), unread()),
    Case("S03 unused NIC without PFC", (), unused(pfc_priorities=[])),
    Case("S03b unused NIC with PFC on 4", (), unused(pfc_priorities=[4])),
    Case("S05 unmarked by choice", (), all_of(not_asked, rides(0), asks(0), nics(pfc_priorities=[]))),
    Case("S06 the whole site on 5", (), whole_site(5)),
    Case("S06b the whole site on 0", (), whole_site(0)),
    Case("S07 a second lossless class", (), nics(pfc_priorities=[3, 4])),
    Case("S09 an empty port without PFC", (), foreign_port(0, "down")),
    Case("S09b a quiet port without PFC", (), foreign_port(12, "up")),
    Case("S10 PFC in operation is not told", (), ports(pfc_oper=None)),
    Case("S12 much TCP on 0", (), more_bytes(0, 60 * 10**9)),
    Case("S13 CNPs on 6", (), more_bytes(6, 3_000_000)),
    Case("S14 a switch that tells no QoS", (), silent_switch),
    Case("S15 nothing tells the priority", (), untold),
    Case("S16 a tenant without a switch", (), lambda _site: None, TENANT, "PATH PROVEN"),
    Case("S17 QoS read at the start alone", (), unread("before", "after")),
    Case("S18 a bond beside much TCP", (), all_of(bonded, more_bytes(0, 20 * 10**9)), state="PATH PROVEN"),
    Case("S19 semi-lossless by choice", (), all_of(roce(mode="semi-lossless"), ports(pfc_oper="disabled"))),
)  # fmt: skip


def reported(folder: pathlib.Path, site: Site, **more: Any) -> Reading:
    """What the module returns in check mode, given JSON as Ansible sends it."""
    given = attack_base._given(site)
    (folder / "logs").mkdir()
    (folder / "logs" / "train.log").write_text("\n".join(site.training) + "\n", encoding="utf-8")
    options = {"evidence": given.evidence, "result": given.result, "layers": given.layers,
               "expected_ranks": given.expected_ranks, "limits": dict(given.limits), **more}  # fmt: skip
    options = json.loads(json.dumps({**options, "path": str(folder), "logs": str(folder / "logs")}))
    return decide("run_report", check=True, run_id="x", plots=False, **options)


def by_name(case: Case) -> str:
    return case.name.replace(" ", "-")


@pytest.mark.parametrize("case", ATTACKS, ids=by_name)
def test_module_refuses_a_priority_that_is_not_lossless(case: Case, tmp_path: pathlib.Path) -> None:
    site = lossless(case.run)
    case.change(site)
    found = reported(tmp_path, site)
    assert not found["verdict"].startswith("PROVEN")
    (witness,) = [one for one in found["summary"]["verdict"]["witnesses"] if one["name"] == "doctor"]
    assert all(word in witness["evidence"] for word in case.names), witness["evidence"]


@pytest.mark.parametrize("case", SOUND, ids=by_name)
def test_module_proves_a_priority_that_is_lossless(case: Case, tmp_path: pathlib.Path) -> None:
    site = lossless(case.run)
    case.change(site)
    found = reported(tmp_path, site)
    assert found["verdict"].startswith(case.state), found["verdict"]


# What the documents ask to be accepted: a switch that is lossy by choice, PCP instead of DSCP.
ACCEPTED = (
    (Case("S04 lossy by choice", ("switch_pfc",),
          all_of(not_asked, rides(0), nics(pfc_priorities=[]), roce(mode="lossy", pfc="disabled", pfc_priorities=[]),
                 ports(pfc_oper="disabled", pfc_priorities=[])))),
    Case("S08 PFC of a host on 4", ("nic_qos_differs",), nics("gpu01", pfc_priorities=[4])),
    Case("S11 trust pcp and tagged", ("nic_qos_differs",), nics(trust="pcp", dscp_prio={})),
)  # fmt: skip


@pytest.mark.parametrize("case", ACCEPTED, ids=by_name)
def test_module_takes_an_accepted_finding_about_pfc(case: Case, tmp_path: pathlib.Path) -> None:
    site = lossless(case.run)
    case.change(site)
    accepted = [{"cause": cause, "why": "on purpose"} for cause in case.names]
    assert reported(tmp_path, site, accepted_findings=accepted)["verdict"].startswith("PROVEN")
