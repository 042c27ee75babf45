"""Evidence that is not of this run, not enough, too much, or of another way of the data. Each is refused by the witness
that reads it, with a reason that names the thing; its shape is otherwise that of a sound run."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from tests.unit.proof.truth import RUNS, Run, verdict

ONE = next(run for run in RUNS if run.name == "4x1 ring")
EIGHT = next(run for run in RUNS if run.name == "2x8 8 rails")
Inputs = dict[str, Any]
Change = Callable[[Inputs], None]
PREFIX = "gpu02:1001:2001 [0] NCCL INFO "
DAY = 86400.0


class Attack(NamedTuple):
    """``names``: what the reason has to contain."""

    name: str
    witness: str
    names: str
    change: Change
    run: Run = ONE


# ------------------------------------------------------------------------------------------------------------- the lies


def log(change: Callable[[str], str], run: Run = ONE) -> Change:
    def apply(inputs: Inputs) -> None:
        text = change(run.nccl())
        assert text != run.nccl()
        inputs["evidence"]["nccl_path"] = run.path(text)

    return apply


def replaced(old: str, new: str, run: Run = ONE) -> Change:
    return log(lambda text: text.replace(old, new), run)


def added(line: str) -> Change:
    return log(lambda text: text + line + "\n")


def again(commid: bool) -> Callable[[str], str]:
    """A second communicator of the same processes, over sockets, without a channel yet."""

    def change(text: str) -> str:
        text = text if commid else text.replace(" commId 0xabc1", "")
        retry = text.replace("0xabc1", "0xabc2").replace("network IB", "network Socket")
        kept = [line for line in retry.split("\n") if not re.search("Channel|Ring|Connected", line)]
        return text + "\n".join(kept)

    return change


def readings(inputs: Inputs, word: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for host, each in inputs["evidence"]["rdma"].items():
        for moment in [word] if word else ["start", "before", "after"]:
            yield host, each[moment]


def nics_times(factor: float, *hosts: str) -> Change:
    def change(inputs: Inputs) -> None:
        for host, after in readings(inputs, "after"):
            before = inputs["evidence"]["rdma"][host]["before"]
            for first, last in zip(before["devices"], after["devices"]) if not hosts or host in hosts else ():
                for counter, value in last["counters"]["counters"].items():
                    begun = first["counters"]["counters"][counter]
                    last["counters"]["counters"][counter] = begun + int((value - begun) * factor)

    return change


def ports(inputs: Inputs, word: str = "after") -> dict[str, Any]:
    found: dict[str, Any] = inputs["evidence"]["switches"]["sw01"][word]["ports"]
    return found


def switch_times(factor: float) -> Change:
    def change(inputs: Inputs) -> None:
        for name, port in ports(inputs).items():
            for counter in ("tx_roce_packets", "rx_roce_packets"):
                begun = ports(inputs, "before")[name]["counters"][counter]
                port["counters"][counter] = begun + int((port["counters"][counter] - begun) * factor)

    return change


def one_port(inputs: Inputs) -> None:
    total = sum(port["counters"]["rx_roce_packets"] for port in ports(inputs).values())
    for number, port in enumerate(ports(inputs).values()):
        for counter in ("tx_roce_packets", "rx_roce_packets"):
            port["counters"][counter] = total if number == 0 else 512


def strange_port(inputs: Inputs) -> None:
    for word in ("before", "after"):
        ports(inputs, word)["1/30"] = copy.deepcopy(ports(inputs, word)["1/1"])


def second_name(factor: float) -> Change:
    def change(inputs: Inputs) -> None:
        switch_times(factor)(inputs)
        inputs["evidence"]["switches"]["sw02"] = copy.deepcopy(inputs["evidence"]["switches"]["sw01"])

    return change


def replace_card(key: str, value: str, word: str = "after") -> Change:
    def change(inputs: Inputs) -> None:
        for device in inputs["evidence"]["rdma"]["gpu03"][word]["devices"]:
            device[key] = value

    return change


def other_boot(inputs: Inputs) -> None:
    inputs["evidence"]["rdma"]["gpu03"]["after"]["boot_id"] = "another"


def other_address(inputs: Inputs) -> None:
    for device in inputs["evidence"]["rdma"]["gpu03"]["after"]["devices"]:
        device["gids"][0]["gid"] = "0000:0000:0000:0000:0000:ffff:0a00:0063"


def one_address(inputs: Inputs) -> None:
    for _host, reading in readings(inputs):
        reading["devices"][0]["gids"][0]["gid"] = "0000:0000:0000:0000:0000:ffff:0a00:00c8"


def copied(inputs: Inputs) -> None:
    inputs["evidence"]["rdma"]["gpu03"] = copy.deepcopy(inputs["evidence"]["rdma"]["gpu02"])


def swapped(inputs: Inputs) -> None:
    rdma = inputs["evidence"]["rdma"]
    rdma["gpu02"], rdma["gpu03"] = rdma["gpu03"], rdma["gpu02"]


def problem(code: str, message: str) -> Change:
    def change(inputs: Inputs) -> None:
        inputs["problems"] = [{"code": code, "message": message}]

    return change


def machine(key: str, value: Any, rank: int | None = None) -> Change:
    def change(inputs: Inputs) -> None:
        for each in inputs["result"]["per_rank"]:
            if rank in (None, each["rank"]):
                each["machine"][key] = value

    return change


def two_days(inputs: Inputs) -> None:
    evidence = inputs["evidence"]
    evidence["job"]["ended"] = evidence["job"]["started"] + 2 * DAY
    for each in (*(after for _host, after in readings(inputs, "after")), evidence["switches"]["sw01"]["after"]):
        each["at"] = evidence["job"]["ended"] + 20


def around_by_minutes(inputs: Inputs) -> None:
    job = inputs["evidence"]["job"]
    job["ended"] = job["started"] + 1000
    for _host, before in readings(inputs, "before"):
        before["at"] = job["started"] - 890
    for _host, after in readings(inputs, "after"):
        after["at"] = job["ended"] + 890
    inputs["evidence"]["switches"]["sw01"]["after"]["at"] = job["ended"] + 20
    nics_times(40)(inputs)


def quoted(text: str) -> str:
    return "\n".join(f'INFO:root:docs say: "{line}"' if "1[0] -> 2[0]" in line else line for line in text.split("\n"))


def without_rails(text: str) -> str:
    lost = re.compile(r"Ring \d|Channel \d\d/\d\d : \d+ \d|via NET/IB/[1-7]")
    return "\n".join(line for line in text.split("\n") if not lost.search(line))


def nvls(share: float) -> Run:
    return Run(f"NVLS {share}", nodes=2, gpus=8, rails=4, algorithm="nvls", version="2.27.7", share=share)


def nothing(_inputs: Inputs) -> None:
    """The run itself is the lie."""


ATTACKS = (
    # ---------------------------------------------------------------------------------------------- way within a host
    Attack(
        "shared memory within", "path", "shared memory", replaced("P2P/CUMEM/read", "SHM/direct/direct", EIGHT), EIGHT
    ),
    Attack(
        "NIC and host memory within",
        "path",
        "host's memory",
        replaced("via P2P/CUMEM/read", "[send] via NET/IB/0", EIGHT),
        EIGHT,
    ),
    Attack("TCP within", "path", "TCP", replaced("via P2P/CUMEM/read", "[send] via NET/Socket/0", EIGHT), EIGHT),
    # --------------------------------------------------------------------------------------------------------- the end
    Attack("run failed", "job", "139", problem("run_failed", "mpirun ended with 139")),
    Attack("launcher failed", "job", "status 1", problem("job_failed", "the job ended with status 1")),
    Attack("no end", "job", "still runs", problem("job_no_end", "the job still runs")),
    # ----------------------------------------------------------------------------------------------------------- speed
    Attack("tree over half its links", "speed", "50 %", nothing, nvls(0.918)),
    Attack("NVLS over half the lanes", "speed", "45 %", nothing, nvls(0.815)),
    Attack("speed over 8 bytes", "speed", "8 bytes", machine("exchange", {"bytes": 8, "times": 1, "seconds": 1e-9})),
    # -------------------------------------------------------------------------------------------------------- quantity
    *(Attack(f"NICs x{times}", "rdma_counters", "more moved", nics_times(times)) for times in (5, 12, 30)),
    Attack("one host x5", "rdma_counters", "gpu02", nics_times(5, "gpu02")),
    Attack("x40 in wide readings", "rdma_counters", "more moved", around_by_minutes),
    *(Attack(f"switch x{times}", "switch_counters", "packets", switch_times(times)) for times in (12, 100)),
    Attack("NICs x12 beside the switch", "switch_counters", "packets", nics_times(12)),
    Attack("all packets on one port", "switch_counters", "1/1", one_port),
    Attack("port of no host", "switch_counters", "no host", strange_port),
    Attack("switch with two names", "switch_counters", "sw01 and sw02", second_name(1.0)),
    Attack("half at a switch with two names", "switch_counters", "sw01 and sw02", second_name(0.5)),
    # -------------------------------------------------------------------------------------------------------- identity
    Attack("other address after", "rdma_counters", "10.0.0.99", other_address),
    Attack("other card after", "rdma_counters", "node_guid", replace_card("node_guid", "other")),
    Attack("other card before", "rdma_counters", "node_guid", replace_card("node_guid", "other", "before")),
    Attack("other card at the start", "rdma_counters", "node_guid", replace_card("node_guid", "other", "start")),
    Attack("link slower afterwards", "rdma_counters", "25 Gb/sec", replace_card("rate", "25 Gb/sec (1X EDR)")),
    Attack("restarted between", "rdma_counters", "boot id", other_boot),
    Attack("readings of another host", "rdma_counters", "gpu02", copied),
    Attack("readings swapped", "rdma_counters", "gpu03", swapped),
    Attack("one address on four hosts", "rdma_counters", "10.0.0.200", one_address),
    # --------------------------------------------------------------------------------------------------- communicators
    Attack("second communicator over TCP", "path", "Socket", log(again(True))),
    Attack("the same without commId", "path", "Socket", log(again(False))),
    Attack("network named twice", "path", "Socket", added(PREFIX + "Using network Socket")),
    Attack("rails that no channel takes", "path", "carry none", log(without_rails, EIGHT), EIGHT),
    # ------------------------------------------------------------------------------------------------- words of the log
    Attack("line only quoted", "path", "gpu02", log(quoted)),
    *(
        Attack(f"suffix {suffix}", "path", "cut or not known", replaced("NET/IB/0/GDRDMA", f"NET/IB/0/{suffix}"))
        for suffix in ("GDRDMA/HostStaged", "GDRDMA=0", "GDRDMA(off)", "GDRDMAfoo", "noGDRDMA")
    ),
    Attack(
        "disabled for the NIC",
        "path",
        "Disabled",
        added(PREFIX + "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'"),
    ),
    # ------------------------------------------------------------------------------------------------------------- time
    Attack("training of seconds in two days", "log", "172800 s", two_days),
    Attack("clock of a rank", "log", "it says 1 s", machine("wall_seconds", 1, 2)),
    # ---------------------------------------------------------------------------------------------------- stored result
    Attack("weights differ", "ranks", "checksum", machine("checksum", "6" * 64, 2)),
    Attack("no GPU", "job", "llvmpipe", machine("device", "llvmpipe", 2)),
)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name.replace(" ", "-"))
def test_attack_is_refused_by_its_witness(attack: Attack) -> None:
    inputs = attack.run.inputs()
    attack.change(inputs)
    found = verdict(inputs)
    (witness,) = [each for each in found["witnesses"] if each["name"] == attack.witness]
    assert found["state"] != "PROVEN"
    assert witness["state"] != "agrees" and attack.names in witness["evidence"], witness


@pytest.mark.parametrize("simulated", [{"simulated": True}, {"gpus": {"simulated": True}}], ids=["NICs", "GPUs"])
def test_devices_simulated_at_the_start_mark_the_run(simulated: dict[str, Any]) -> None:
    inputs = ONE.inputs()
    inputs["evidence"]["rdma"]["gpu02"]["start"].update(simulated)
    assert verdict(inputs)["simulated"] and verdict(inputs)["state"] == "NOT PROVEN"


def test_limit_below_the_usual_is_said_in_the_first_line() -> None:
    inputs = ONE.inputs()
    inputs["limits"] = {"least_share": 0.0001}
    for rank in inputs["result"]["per_rank"]:
        rank["machine"]["exchange"]["seconds"] *= 100
    assert "least_share is 0.0001" in verdict(inputs)["line"]


# ----------------------------------------------------------------------------------------------------- true evidence


def upper(inputs: Inputs) -> None:
    inputs["evidence"]["nccl_path"] = ONE.path(re.sub("^gpu", "GPU", ONE.nccl(), flags=re.MULTILINE))


def more_nics(layer: str) -> Change:
    return replaced("mlx5_0:1/RoCE [RO]", f"mlx5_0:1/RoCE [1]mlx5_9:1/{layer} [RO]")


def links_of_esxi(inputs: Inputs) -> None:
    for _host, reading in readings(inputs):
        for device in reading["devices"]:
            device["pcie"].update(current_link_speed=5.0, current_link_width=32)


def suffix_of_dhcp(inputs: Inputs) -> None:
    for host, after in readings(inputs, "after"):
        after["hostname"] = f"{host}.lease.example.com"


def counters(names: dict[str, int]) -> Change:
    def change(inputs: Inputs) -> None:
        for _host, reading in readings(inputs):
            for device in reading["devices"]:
                device["counters"]["ethtool"] = dict(names)

    return change


@pytest.mark.parametrize(
    ("change", "run"),
    [
        pytest.param(upper, ONE, id="host names in upper case"),
        pytest.param(suffix_of_dhcp, ONE, id="suffix of a DHCP lease after the run"),
        pytest.param(more_nics("RoCE"), ONE, id="storage NIC that no channel takes"),
        pytest.param(more_nics("IB"), ONE, id="InfiniBand card that no channel takes"),
        pytest.param(counters({"rx_discards_phy": 3}), ONE, id="discards of the whole port only"),
        pytest.param(nothing, nvls(1.63), id="NVLS over whole links"),
        pytest.param(replaced("/GDRDMA", "/GDRDMA(PCI)"), ONE, id="GDRDMA through PCI beside C2C"),
        pytest.param(log(lambda text: re.sub("^", "[worker-0] ", text, flags=re.MULTILINE)), ONE, id="prefix of a pod"),
    ],
)
def test_true_evidence_is_proven(change: Change, run: Run) -> None:
    inputs = run.inputs()
    change(inputs)
    assert verdict(inputs)["state"] == "PROVEN", verdict(inputs)["line"]


# ---------------------------------------------------------------------------------------------------- the lower grade


def no_switch(inputs: Inputs) -> None:
    del inputs["evidence"]["switches"]
    inputs["layers"]["switch"].update(verified=None, found={})


def no_vcenter(inputs: Inputs) -> None:
    for layer in ("esxi", "vm"):
        inputs["layers"][layer].update(verified=None, found={})


def bonds(inputs: Inputs) -> None:
    """Each NIC is a bond over two switches."""
    switches = inputs["evidence"]["switches"]
    for word in ("before", "after"):
        for number, port in enumerate(switches["sw01"][word]["ports"].values()):
            port["neighbors"] = [{"system": f"gpu{number + 1:02}"}]
    switch_times(0.5)(inputs)
    switches["sw02"] = copy.deepcopy(switches["sw01"])
    for port in switches["sw02"]["after"]["ports"].values():
        port["counters"]["tx_roce_packets"] += 17


def virtual(inputs: Inputs) -> None:
    counters({})(inputs)
    for _host, reading in readings(inputs):
        for device in reading["devices"]:
            device["is_vf"] = True
            device["node_guid"] = "0000:0000:0000:0000"


@pytest.mark.parametrize(
    ("change", "run", "names"),
    [
        pytest.param(no_switch, ONE, "not observed: counters of the switch", id="tenant without the switch"),
        pytest.param(no_vcenter, ONE, "not checked: ESXi hosts", id="tenant without vCenter"),
        pytest.param(virtual, ONE, "discards were not read", id="virtual functions"),
        pytest.param(links_of_esxi, EIGHT, "not observed: figures below", id="link that ESXi shows its VMs"),
        pytest.param(bonds, ONE, "4 NICs, 8 ports", id="bonds over two switches"),
        pytest.param(nothing, Run("slow", share=0.45), "46 % of what the links carry", id="slow system of PCI Express"),
    ],
)
def test_path_alone_is_proven_and_the_rest_is_named(change: Change, run: Run, names: str) -> None:
    inputs = run.inputs()
    change(inputs)
    found = verdict(inputs)
    assert found["state"] == "PATH PROVEN" and names in found["line"], found["line"]


def test_path_is_not_proven_where_the_switch_contradicts() -> None:
    inputs = Run("slow", share=0.45).inputs()
    switch_times(12)(inputs)
    assert verdict(inputs)["state"] == "NOT PROVEN"
