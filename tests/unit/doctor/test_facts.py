"""What a site is and what its inventory wants: a state that is right elsewhere is a fault here, at its place."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor import facts
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose, evidence_texts

WANTED = {"mode": "lossless", "mtu": 9216, "neighbors": ["gpu*"]}
PORT = {
    "admin": "up",
    "oper": "up",
    "mtu": 9216,
    "neighbors": [{"system": "gpu02", "port": "eth0"}],
    "counters": {"rx_discards": 0, "tx_discards": 0},
}
SWITCH = {
    "roce": {"mode": "lossless", "pfc": "enabled", "trust": "L3", "ecn": "ECN"},
    "ports": {"1/2": PORT},
    "problems": [],
    "unreadable": [],
    "wanted": WANTED,
}
KERNEL = {"name": "atsSupport", "type": "Bool", "configured": "TRUE", "runtime": "TRUE", "default": "FALSE"}
ESXI = {"found": [KERNEL], "changes": [], "reboot_reasons": []}
VM = {"changes": [], "power_state": "poweredOn"}
BRIDGE = """2: docker0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc noqueue state DOWN group default
    inet 172.17.0.1/16 brd 172.17.255.255 scope global docker0
       valid_lft forever preferred_lft forever
    RX:  bytes packets errors dropped  missed   mcast
         19734     330      0       0       0       0
"""


def said(command: str, text: str) -> dict[str, Any]:
    """As the reading of a GPU VM."""
    return {"said": f"=== ROCEMESH {command}\n{text}"}


def first(evidence: dict[str, Any]) -> tuple[str, str, str, list[str]]:
    answer = diagnose(None, evidence_texts(evidence))
    if not answer["findings"]:
        return (answer["verdict"], "", "", [])
    found = answer["findings"][0]
    return (answer["verdict"], found["cause"], found["certainty"], found["hosts"])


RIGHT = {"switches/leaf01": SWITCH, "esxi/esx01": ESXI, "vms/gpu02": VM}


def test_a_site_that_is_as_it_is_wanted_has_no_finding() -> None:
    answer = diagnose(None, evidence_texts(RIGHT))
    assert (answer["verdict"], answer["findings"]) == ("no_fault_seen", [])


@pytest.mark.parametrize(
    ("name", "value", "cause", "host"),
    [
        (
            "switches/leaf01",
            {**SWITCH, "problems": ["port 1/2: PFC is operationally Disabled"]},
            "switch_pfc",
            "leaf01",
        ),
        ("switches/leaf01", {**SWITCH, "roce": {**SWITCH["roce"], "mode": "lossy"}}, "switch_pfc", "leaf01"),
        ("switches/leaf01", {**SWITCH, "ports": {"1/2": {**PORT, "admin": "down"}}}, "switch_port_off", "leaf01"),
        ("switches/leaf01", {**SWITCH, "ports": {"1/2": {**PORT, "oper": "down"}}}, "link_faulty", "leaf01"),
        ("switches/leaf01", {**SWITCH, "ports": {"1/2": {**PORT, "mtu": 1500}}}, "switch_mtu", "leaf01"),
        (
            "switches/leaf01",
            {**SWITCH, "ports": {"1/2": {**PORT, "neighbors": [{"system": "somebody-else"}]}}},
            "link_faulty",
            "leaf01",
        ),
        ("esxi/esx01", {**ESXI, "changes": ["set atsSupport to TRUE (configured: FALSE)"]}, "esxi_setting", "esx01"),
        ("esxi/esx01", {**ESXI, "reboot_reasons": ["atsSupport: TRUE waits for a reboot"]}, "esxi_setting", "esx01"),
        (
            "esxi/esx01",
            {"answer": "unreachable: esx01: kernel setting atsSupport: this host knows no such setting"},
            "esxi_setting",
            "esx01",
        ),
        (
            "vms/gpu02",
            {**VM, "changes": [{"key": "pciPassthru.allowP2P", "before": None}]},
            "passthrough_device",
            "gpu02",
        ),
    ],
    ids=[
        "PFC that the switch does not operate",
        "another RoCE mode",
        "a port that is shut",
        "a port without a link",
        "an MTU that is too small",
        "somebody else behind the port",
        "a kernel setting that is not configured",
        "a kernel setting that waits for a reboot",
        "a kernel setting that the release does not have",
        "a VM key that is missing",
    ],
)
def test_what_differs_from_the_inventory_is_named_at_its_place(name: str, value: Any, cause: str, host: str) -> None:
    assert first({**RIGHT, name: value}) == ("faulty", cause, "likely", [host])


def test_of_ports_that_differ_the_one_that_trusts_nothing_is_heard() -> None:
    """As SONiC, EOS and NX-OS say it."""
    roce = {**SWITCH["roce"], "trust": "dscp, not configured"}
    assert first({**RIGHT, "switches/leaf01": {**SWITCH, "roce": roce}})[1] == "switch_pfc"


def test_without_the_inventorys_word_a_port_without_a_link_is_a_candidate() -> None:
    """A cable that nobody plugged in is no fault."""
    alone = {key: value for key, value in SWITCH.items() if key != "wanted"}
    verdict, _cause, certainty, _hosts = first(
        {"switches/leaf01": {**alone, "ports": {"1/2": {**PORT, "oper": "down"}}}}
    )
    assert (verdict, certainty) == ("cannot_tell", "candidate")


def test_a_guest_without_a_heartbeat_is_named() -> None:
    reading = {"vms": [{"asked": "gpu02", "problem": "", "power": "poweredOn", "heartbeat": "red"}]}
    assert first({**RIGHT, "vcenter": reading}) == ("faulty", "kernel_fault", "likely", ["gpu02"])
    reading["vms"][0]["heartbeat"] = "gray"
    assert diagnose(None, evidence_texts({**RIGHT, "vcenter": reading}))["verdict"] == "no_fault_seen", (
        "no Tools is no fault"
    )


def test_a_bridge_of_containers_is_no_link_of_the_job() -> None:
    answer = diagnose(None, evidence_texts({**RIGHT, "gpu02": said("links.txt", BRIDGE)}))
    assert (answer["findings"], answer["unknown"]) == ([], [])


def test_rules_of_a_container_engine_and_its_freezer_are_no_firewall() -> None:
    rules = "-P INPUT ACCEPT\n-N DOCKER-USER\n-A DOCKER-ISOLATION-STAGE-2 -o docker0 -j DROP\n"
    kernel = "[58204.661755] Freezing with imperfect legacy cgroup freezer. See cgroup.freeze of cgroup v2\n"
    answer = diagnose(None, evidence_texts({**RIGHT, "gpu02": said("firewall.txt", rules + kernel)}))
    assert (answer["findings"], answer["unknown"]) == ([], [])


def test_an_engine_that_may_not_lock_memory_is_named() -> None:
    words = (
        "OCI runtime exec failed: exec failed: unable to start container process: error setting rlimits for ready "
        "process: error setting rlimit type 8: operation not permitted: unknown"
    )
    assert first({**RIGHT, "gpu02": said("container/ulimit.txt", words)})[1:] == (
        "container_memlock",
        "likely",
        ["gpu02"],
    )


@pytest.mark.parametrize(
    ("rule", "named"),
    [
        ("-A INPUT -s 10.78.0.0/24 -i eth0 -p tcp -m tcp ! --dport 22 --tcp-flags FIN,SYN,RST,ACK SYN -j DROP", True),
        ("-A INPUT -m conntrack --ctstate INVALID -j DROP", False),
        ("-P INPUT DROP", True),
    ],
)
def test_a_firewall_that_drops_what_the_job_sends_is_a_candidate(rule: str, named: bool) -> None:
    found = first({**RIGHT, "gpu02": said("firewall.txt", rule)})
    assert (found[1] == "firewall") is named, found


def test_of_two_states_that_of_one_host_stands_before_that_of_every_host() -> None:
    limits = {f"gpu0{number}": said("ulimit.txt", "ulimit -l: 8192") for number in (1, 2, 3)}
    dropping = {**SWITCH, "ports": {"1/2": {**PORT, "counters": {"rx_discards": 0, "tx_discards": 48211}}}}
    assert first({**RIGHT, **limits})[1] == "memlock_host"
    assert first({**RIGHT, **limits, "switches/leaf01": dropping})[1] == "switch_pfc"


def test_a_peer_that_a_rank_cannot_reach_is_no_fault_of_the_launcher() -> None:
    log = (
        "[1,3]<stderr>:RuntimeError: [./gloo/transport/tcp/pair.cc:799] connect [192.0.2.2]:43444: Connection timed out"
        "\nmpirun detected that one or more processes exited with non-zero status, thus causing the job to be ended.\n"
    )
    assert first({"job/train.err": log})[1] == "firewall"


def test_a_rank_that_computes_slower_is_no_trouble_of_the_path() -> None:
    line = "Straggler: rank 0 takes 310.7 ms to compute a step without any exchange, the median rank 270.3 ms\n"
    answer = diagnose(None, evidence_texts({**RIGHT, "job/train.log": f"[1,0]<stdout>:{line}"}))
    assert (answer["findings"], answer["unknown"]) == ([], [])


@pytest.mark.parametrize(
    ("piece", "line", "cause"),
    [
        pytest.param(
            "hosts/gpu02/cpupower.txt", "64 acpi-cpufreq: governor powersave", "numa_bios_setting", id="lowest"
        ),
        pytest.param(
            "hosts/gpu02/cpupower.txt", "64 intel_cpufreq: governor powersave", "numa_bios_setting", id="passive"
        ),
        pytest.param("hosts/gpu02/cpupower.txt", "64 intel_pstate: governor powersave", "", id="intel chooses itself"),
        pytest.param("hosts/gpu02/cpupower.txt", "64 amd-pstate-epp: governor powersave", "", id="amd chooses itself"),
        pytest.param(
            "hosts/gpu02/kernel-config.txt", "GPUDirect: P2PDMA n, nvidia_peermem n", "kernel_p2pdma", id="none"
        ),
        pytest.param(
            "hosts/gpu02/kernel-config.txt", "GPUDirect: P2PDMA n, nvidia_peermem y", "", id="peermem does it"
        ),
        pytest.param(
            "hosts/gpu02/kernel-config.txt", "GPUDirect: P2PDMA y, nvidia_peermem n", "", id="the kernel does"
        ),
        pytest.param("esxi/esx01/power.txt", "Power Policy: Low Power", "esxi_setting", id="low power"),
        pytest.param("esxi/esx01/power.txt", "Power Policy: Balanced", "", id="what ESXi comes with"),
    ],
)
def test_what_a_setting_means_beside_what_makes_it_right(piece: str, line: str, cause: str) -> None:
    found = diagnose(None, {piece: f"{line}\n"})["findings"]
    assert (found[0]["cause"] if found else "") == cause


def test_the_power_policy_that_vcenter_shows_is_that_host_s() -> None:
    row = {"asked": "esx01", "problem": "", "connection": "connected", "power_policy": "Low Power"}
    texts = facts.pieces("vcenter", {"hosts": [row, {**row, "asked": "esx02", "power_policy": None}]})
    name = "esxi/esx01/vcenter/facts/power.json"
    assert [found.sign for found in facts.read(name, texts[name]) or ()] == ["esxi_power"]
    assert "esxi/esx02/vcenter/facts/power.json" not in texts
