"""Faults on real kernels and a real bridge: the fabric check and the modules name what is wrong, and where."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import config, engine
from lab.vm import machine

from .check import fabric_check, readings
from .guests import counters, module, pair, sh

Two = tuple[config.Node, config.Node]
SEEN = Path(__file__).with_name("seen.py").read_text()


@pytest.fixture(scope="module")
def said(two: Two) -> dict[str, Any]:
    """What both say while nothing is wrong, with room for jumbo frames."""
    for node in two:
        module("roce_interface", node, interface=["ens1"], management="allow", driver=["virtio_net"], mtu=9000)
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


def test_another_vlan(two: Two, said: dict[str, Any]) -> None:
    with on_the_way(two[1], "drop"), on_the_way(two[0], "drop"):
        done = fabric_check(two, said)
    # Not even the first host's desk is reached: the second host is missing.
    assert not done["report"]["ok"] and two[1].name in json.dumps(done["report"]["missing"] + done["report"]["faults"])


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
        device = module("rdma_info", node)["devices"][0]
        assert device["roce_gid_index"] == seen["roce_gid_index"] != before
        assert device["roce_gid_ipv4"] == node.cluster_ip
    finally:
        sh(node, "nohup sh -c 'ip link set ens1 down; ip link set ens1 up; sleep 1; networkctl reconfigure ens1' &")


def test_one_packet_of_a_hundred_is_lost_and_the_counters_of_the_kernel_show_it(two: Two) -> None:
    client, server = two
    before = counters(client), counters(server)
    with on_the_way(server, "udp dport 4791 numgen random mod 100 == 0 drop"):
        pair("ib_write_bw -d rxe0 -R -s 65536 -n 60", server=server, client=client)
    after = counters(client), counters(server)
    errors = ("out_of_seq_request", "rcvd_seq_err", "completer_retry_err", "duplicate_request")
    assert sum(new[name] - old[name] for old, new in zip(before, after) for name in errors) > 0
