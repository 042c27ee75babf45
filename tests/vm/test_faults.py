"""Faults on real kernels and a real bridge: the fabric check and the modules name what is wrong, and where."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.filter.path_consistency import path_consistency
from ansible_collections.rocemesh.multinode.plugins.filter.read_log import read_log

from lab import config, engine, nodes, processes
from lab.vm import machine, qmp
from tests import site_run
from tests.switch_console import typed

from .check import LITTLE, fabric_check, readings
from .guests import broken, counters, doctor, module, on_both, sh

Two = tuple[config.Node, config.Node]
SEEN = Path(__file__).with_name("seen.py").read_text()


@pytest.fixture(scope="module")
def said(two: Two) -> dict[str, Any]:
    """What both say while nothing is wrong, with room for jumbo frames."""
    wanted: dict[str, Any] = {"interface": ["ens1"], "management": "allow", "driver": ["virtio_net"], "mtu": 9000}
    on_both(two, lambda node: module("roce_interface", node, **wanted))
    return readings(two)


@contextlib.contextmanager
def on_the_way(node: config.Node, rule: str) -> Iterator[None]:
    """A rule for what the other VM sends, on the bridge before this one."""
    (sender,) = (each for each in config.NODES if each != node)
    text = (
        "table bridge fault {\nchain forward {\ntype filter hook forward priority -10\n"
        f'iifname "eth0" ether saddr {machine.mac(0, sender.number)} {rule}\n}}\n}}\n'
    )
    engine.docker("exec", "--interactive", node.container, "nft", "-f", "-", stdin=text)
    try:
        yield
    finally:
        engine.docker("exec", node.container, "nft", "delete table bridge fault")


def named(report: dict[str, Any]) -> dict[str, set[str]]:
    """Thing -> hosts."""
    return {fault["thing"]: set(fault["hosts"]) for fault in report["report"]["faults"]}


def test_nothing_is_wrong_and_nothing_is_named(two: Two, said: dict[str, Any]) -> None:
    done = fabric_check(two, said)
    assert done["report"]["ok"] and done["report"]["complete"], done["report"]["faults"]
    assert done["report"]["measured"]["ib_write_bw"]["medians"]["rail 0"] > 0


def test_mtu_1500_on_the_way(two: Two, said: dict[str, Any]) -> None:
    with on_the_way(two[1], "meta length > 1500 drop"):
        found = named(fabric_check(two, said))
    assert found.get("mtu") == {node.name for node in two}, found


@pytest.fixture
def other_vlan(two: Two) -> Iterator[str]:
    """The switch's port of the second VM, in a VLAN of its own: the lab's bridge carries nothing there any more."""
    port = "1/2"

    def say(*lines: str) -> None:
        paths = config.paths()
        address = config.SWITCH_IP, config.SSH_PORT
        typed(address, paths.secret("switch").read_text().strip(), paths.known_hosts, *lines)

    say("vlan 999", f"interface ethernet {port} switchport access vlan 999")
    try:
        yield port
    finally:
        say(f"interface ethernet {port} switchport access vlan 111", "no vlan 999")


def test_another_vlan(two: Two, other_vlan: str) -> None:
    run = site_run.play("consistency.yml")
    assert run.rc != 0, run.tail()
    lines = [line for line in run.out.splitlines() if "VLAN 999" in line]
    assert lines and all(f"{config.SWITCH_NAME} {other_vlan}" in line and "VLAN 111" in line for line in lines), lines
    lost = sh(two[0], f"ping -c 2 -W 2 {two[1].cluster_ip}; echo status $?", check=False)
    assert "status 1" in lost, "what the switch says is what the wire does"


@pytest.fixture
def control(two: Two) -> Iterator[tuple[str, str]]:
    """A network for the agents, as a site has it: what is wrong with the RoCE addresses leaves it alone."""
    first, second = (f"10.77.0.{node.cluster_ip.rpartition('.')[2]}" for node in two)
    for node, address in zip(two, (first, second)):
        sh(node, f"ip address add {address}/24 dev ens1")
    yield first, second
    for node, address in zip(two, (first, second)):
        sh(node, f"ip address del {address}/24 dev ens1; ip neigh flush dev ens1")


@contextlib.contextmanager
def second_owner(node: config.Node, address: str) -> Iterator[None]:
    """The bridge before a VM has an address as well, for that VM alone, and is asked first."""
    text = 'table bridge owner {\nchain input {\ntype filter hook input priority 0\niifname != "tap0" drop\n}\n}\n'
    engine.docker("exec", "--interactive", node.container, "nft", "-f", "-", stdin=text)
    engine.docker("exec", node.container, "ip", "address", "add", f"{address}/24", "dev", "br0")
    try:
        yield
    finally:
        engine.docker("exec", node.container, "ip", "address", "flush", "dev", "br0")
        engine.docker("exec", node.container, "nft", "delete table bridge owner")


def test_neighbour_that_is_gone(two: Two, said: dict[str, Any], control: tuple[str, str]) -> None:
    with on_the_way(two[0], f"arp saddr ip {two[1].cluster_ip} drop"):
        for node in two:
            sh(node, "ip neigh flush dev ens1")
        found = named(fabric_check(two, said, control=control, patience=LITTLE))
    assert found.get("neighbour") == {node.name for node in two}, found


def test_address_that_another_device_has_as_well(two: Two, said: dict[str, Any], control: tuple[str, str]) -> None:
    first, second = two
    with second_owner(first, second.cluster_ip), on_the_way(first, f"arp saddr ip {second.cluster_ip} drop"):
        sh(first, "ip neigh flush dev ens1")
        done = fabric_check(two, said, control=control, patience=LITTLE)
    found = named(done)
    assert second.name in found.get("duplicate", set()), found
    (fault,) = (fault for fault in done["report"]["faults"] if fault["thing"] == "duplicate")
    assert f"{second.cluster_ip} has the MAC" in fault["found"]


def test_memory_that_may_not_be_locked(two: Two) -> None:
    client, server = two
    low = "/etc/security/limits.d/99-low.conf"
    sh(client, f"echo 'nvidia - memlock 64' > {low}")
    try:
        printed = broken("ib_write_bw -d rxe0 -R -s 1048576", server=server, client=client, until=" MR", user="nvidia")
        limit = sh(client, "su nvidia -c 'echo ulimit -l: $(ulimit -l)'")
    finally:
        sh(client, f"rm {low}")
    worst = doctor(job=printed, **{client.name: limit})[0]
    assert (worst["cause"], worst["hosts"]) == ("memlock_host", [client.name]), printed


def test_apparmor_without_its_parser(two: Two) -> None:
    node = two[1]
    docker_run = "docker run --rm --entrypoint true $(docker images -q | head -n 1)"
    sh(node, "mv /usr/sbin/apparmor_parser /root && printf docker-default > /sys/kernel/security/apparmor/.remove")
    try:
        refused = sh(node, f"{docker_run} 2>&1; echo status $?")
        run = site_run.play("preflight.yml")
    finally:
        sh(node, f"mv /root/apparmor_parser /usr/sbin && {docker_run}")
    assert "AppArmor" in refused and "status 0" not in refused, refused
    lines = [line for line in run.out.splitlines() if "apparmor_parser" in line]
    assert run.rc != 0 and lines and all(node.name in line for line in lines), run.tail()


RENUMBER = """
set -e
sysctl -q -w net.ipv4.conf.ens1.promote_secondaries=1
ip address add 10.78.0.212/24 dev ens1
ip address del {0}/24 dev ens1
ip address add 10.78.0.213/24 dev ens1
ip address add {0}/24 dev ens1
ip address del 10.78.0.213/24 dev ens1
ip address del 10.78.0.212/24 dev ens1
ip route replace default via {1}
"""


def test_gid_table_that_was_numbered_anew(two: Two) -> None:
    node = two[1]
    before = module("rdma_info", node)["devices"][0]["roce_gid_index"]
    sh(node, RENUMBER.format(node.cluster_ip, config.GATEWAY))
    try:
        seen = json.loads(sh(node, f"python3 - <<'SEEN'\n{SEEN}\nSEEN"))["device"]
        read = module("rdma_info", node)
        device = read["devices"][0]
        assert device["roce_gid_index"] == seen["roce_gid_index"] != before
        assert device["roce_gid_ipv4"] == node.cluster_ip
        # A container from before has the index in its environment.
        container = {"name": "job", "env": {"NCCL_IB_GID_INDEX": str(before)}, "infiniband": True}
        rows = path_consistency({node.name: {"nic": read, "container": container}}, {})["rows"]
        (wrong,) = (row for row in rows if "NCCL_IB_GID_INDEX" in row["where"])
        assert (wrong["where"].split()[0], wrong["verdict"]) == (node.name, "mismatch")
        assert (wrong["expected"], wrong["found"]) == (str(seen["roce_gid_index"]), str(before))
    finally:
        sh(node, "nohup sh -c 'ip link set ens1 down; ip link set ens1 up; sleep 1; networkctl reconfigure ens1' &")


def test_one_packet_of_a_hundred_is_lost(two: Two, said: dict[str, Any]) -> None:
    server = two[1]
    with on_the_way(server, "udp dport 4791 numgen random mod 100 == 0 drop"):
        report = fabric_check(two, said)["report"]
    (note,) = (note for note in report["notes"] if "out_of_seq_request" in note)
    assert note.startswith(f"{server.name} rail 0 (rxe0) "), note


def test_link_that_goes_down_in_a_run(two: Two, tmp_path: Path) -> None:
    client, server = two
    machine_of = machine.folder(config.paths(), server) / "qmp"
    before = counters(client)["sent_pkts"]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        # rxe takes a count of 7, perftest's own, for "without an end".
        program = "ib_write_bw -d rxe0 -R --retry_count=2 -s 65536 -n 20000"
        job = pool.submit(broken, program, server=server, client=client, until="with error|BW average")
        processes.wait_for("packets of the run", lambda: counters(client)["sent_pkts"] > before + 500, 120)
        qmp.ask(machine_of, "set_link", name="net0", up=False)
        try:
            processes.wait_for("the end of the run", lambda: not sh(client, "pgrep -x ib_write_bw", check=False), 120)
        finally:
            qmp.ask(machine_of, "set_link", name="net0", up=True)
        processes.wait_for(f"{server.name} again", lambda: nodes.ssh_answers(server), 120)
        printed = job.result()
    (tmp_path / "job.log").write_text(printed)
    read = read_log(str(tmp_path / "job.log"), "perftest")
    assert not read["ok"] and "12" in json.dumps(read["problems"]), printed
    journal = sh(server, "journalctl --no-pager --unit systemd-networkd --since -10min")
    worst = doctor(job=printed, **{server.name: journal})[0]
    assert (worst["cause"], worst["hosts"]) == ("link_faulty", [server.name]), printed
