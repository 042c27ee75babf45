"""RoCE between two guests: what the bridge saw, what their kernels counted, and what the collection says of both."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ansible_collections.rocemesh.multinode.plugins.filter.read_log import read_log

from lab import config, engine

from .guests import counters, module, on_both, pair, sh
from .wire import between_vms, captured

Two = tuple[config.Node, config.Node]
# DSCP 26 with ECN-capable transport, as NCCL_IB_TC=106 asks for.
TOS = 106


def write(size: int = 65536, count: int = 40) -> str:
    return f"ib_write_bw -d rxe0 -R -T {TOS} -s {size} -n {count}"


def near(one: int, other: int) -> bool:
    return abs(one - other) <= max(one, other) * 0.01


def test_a_payload_is_roce_v2_with_its_dscp_and_both_kernels_count_what_the_bridge_saw(two: Two) -> None:
    client, server = two
    before = counters(client), counters(server)
    with captured(server) as capture:
        said = pair(write(), server=server, client=client)
        after = counters(client), counters(server)
    assert "BW average" in said
    wire = between_vms(capture.packets)
    payload = [packet for packet in wire if packet.payload]
    assert len(payload) > 40 and {packet.tos for packet in payload} == {TOS}
    assert not [packet for packet in wire if packet.opcode is None and packet.protocol != 1], "no payload beside RoCE"
    there = [packet for packet in wire if packet.opcode is not None and packet.source == client.cluster_ip]
    back = [packet for packet in wire if packet.opcode is not None and packet.source == server.cluster_ip]
    moved = [{name: new[name] - old[name] for name in new} for old, new in zip(before, after)]
    assert near(moved[0]["sent_pkts"], len(there)) and near(moved[1]["rcvd_pkts"], len(there)), (moved, len(there))
    assert near(moved[1]["sent_pkts"], len(back)) and near(moved[0]["rcvd_pkts"], len(back)), (moved, len(back))


MARK = """
table bridge congestion {
  counter marked { }
  chain forward {
    type filter hook forward priority 10
    iifname "eth0" udp dport 4791 ip ecn ect0 counter name marked ip ecn set ce
  }
}
"""


@pytest.fixture
def marking(two: Two) -> Iterator[str]:
    """The bridge before the second VM marks as a switch does whose queue is too long."""
    container = two[1].container
    engine.docker("exec", "--interactive", container, "nft", "-f", "-", stdin=MARK)
    yield container
    engine.docker("exec", container, "nft", "delete table bridge congestion")


def test_as_many_packets_arrive_marked_as_the_bridge_has_marked_and_no_notice_goes_back(two: Two, marking: str) -> None:
    client, server = two
    with captured(server) as capture:
        pair(write(4096, 60), server=server, client=client)
    listed = engine.docker("exec", marking, "nft", "-j", "list counters table bridge congestion").stdout
    marks = sum(item["counter"]["packets"] for item in json.loads(listed)["nftables"] if "counter" in item)
    arrived = [packet for packet in capture.packets if packet.target == server.cluster_ip and packet.marked]
    assert marks == len(arrived) > 0
    # 0x81: what a ConnectX answers. The kernel's own RoCE has no DCQCN, and neither a counter of it.
    assert not [packet for packet in capture.packets if packet.opcode == 0x81]
    assert not [name for name in counters(server) if "cnp" in name or "ecn" in name]


@pytest.mark.parametrize(
    "program, both, table",
    [("ib_send_lat -s 64 -n 20", False, "latency"), ("ib_write_bw -b -s 65536 -n 20", True, "bandwidth")],
)
def test_what_perftest_prints_is_read(two: Two, tmp_path: Path, program: str, both: bool, table: str) -> None:
    client, server = two
    name, _blank, options = program.partition(" ")
    log = tmp_path / "perftest.log"
    log.write_text(pair(f"{name} -d rxe0 -R {options}", server=server, client=client))
    read = read_log(str(log), "perftest")
    (test,) = read["tests"]
    assert read["ok"] and not read["problems"], read["problems"]
    assert test["bidirectional"] is both and test[table], test


def test_connection_manager(two: Two) -> None:
    client, server = two
    sh(server, "nohup timeout 120 rping -s -C 3 > /run/rping.log 2>&1 & sleep 3")
    sh(client, f"timeout 100 rping -c -C 3 -v -a {server.cluster_ip}")


ALLREDUCE = (config.REPO / "workloads/checks/allreduce.py").read_text()
# UCX before 1.19.0 takes the kind of a header from a field of the completion that rxe leaves empty, and drops each IPv4
# packet with which it would connect (openucx/ucx#10209), unless it does not look. Nothing but RC is left to carry data.
MPIRUN = """
docker exec {container} timeout 120 mpirun --allow-run-as-root -np 2 -H {hosts} --bind-to none
 --mca oob_tcp_if_include {network} --mca btl self --mca osc ^ucx
 --mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any
 -x UCX_TLS=rc,self -x UCX_NET_DEVICES=rxe0:1 -x UCX_UD_VERBS_ETH_DGID_CHECK=n
 -x UCX_RNDV_SCHEME=put_zcopy python3 /tmp/allreduce.py 2 {elements}
"""
# So many that what a rank says to itself, which rxe counts and no cable carries, is less than a hundredth.
CONTAINER, ELEMENTS = "mpicont", 1 << 20


def test_allreduce_of_open_mpi_goes_over_reliable_connections_of_both_kernels(two: Two) -> None:
    for node in two:
        sh(node, f"docker exec -i {CONTAINER} sh -c 'cat > /tmp/allreduce.py' <<'TEXT'\n{ALLREDUCE}\nTEXT")
    words = MPIRUN.format(
        container=CONTAINER,
        hosts=",".join(f"{node.cluster_ip}:1" for node in two),
        network=config.SUBNET,
        elements=ELEMENTS,
    )
    before = [counters(node) for node in two]
    with captured(two[1]) as capture:
        printed = sh(two[0], " ".join(words.split()))
    after = [counters(node) for node in two]
    said = [json.loads(line.partition(" ")[2]) for line in printed.splitlines() if "ROCEMESH-ALLREDUCE" in line]
    assert [each["ok"] for each in said] == [True, True], printed
    wire = between_vms(capture.packets)
    payload = [packet for packet in wire if packet.payload]
    assert {packet.source for packet in payload} == {node.cluster_ip for node in two}
    # Each rank gives the other half of its numbers and half of the sums, in packets of at most 4096 bytes.
    assert len(payload) >= 2 * ELEMENTS * 8 // 4096
    for node, old, new in zip(two, before, after):
        sent = [packet for packet in wire if packet.opcode is not None and packet.source == node.cluster_ip]
        assert near(new["sent_pkts"] - old["sent_pkts"], len(sent)), (node.name, len(sent))


SEEN = Path(__file__).with_name("seen.py").read_text()


def reads_rdma(node: config.Node) -> None:
    said = module("rdma_info", node, gather_path=True)
    seen = json.loads(sh(node, f"python3 - <<'SEEN'\n{SEEN}\nSEEN"))
    (device,) = said["devices"]
    wrong = {name: (device[name], value) for name, value in seen["device"].items() if device[name] != value}
    assert not wrong, f"{node.name}: said, seen: {wrong}"
    (path,) = said["path"]["nics"].values()
    assert path == dict.fromkeys(path), "rxe has no function on the bus, so the bus says nothing of it"
    assert device["qos"] is None and device["ecn"] is None, "what rxe cannot do is not there"
    assert said["simulated"] is False and said["path"]["machine"] == "vm"
    assert set(device["counters"]["hw_counters"]) == set(seen["counters"])
    assert not [entry for entry in device["unreadable"] if "lsmod" in entry["remedy"]]


def reads_interface_and_node(node: config.Node) -> None:
    seen = json.loads(sh(node, f"python3 - <<'SEEN'\n{SEEN}\nSEEN"))
    found = module("roce_interface", node, interface=["ens1"], management="allow", driver=["virtio_net"])
    (interface,) = found["interfaces"]
    assert interface["devices"] == [seen["device"]["name"]]
    assert sorted(interface["addresses"]) == sorted(seen["addresses"])
    assert interface["mtu"] == seen["device"]["netdev_mtu"] and interface["kind"] == "ethernet"
    told = module("node_info", node)
    assert told["rdma_devices"] == ["rxe0"] and told["nics"] == 0, "there is no NVIDIA function on this bus"
    assert told["addresses"]["ens1"] == interface["addresses"]


@pytest.mark.parametrize("reads", [reads_rdma, reads_interface_and_node])
def test_modules_say_nothing_that_the_kernel_contradicts(two: Two, reads: Callable[[config.Node], None]) -> None:
    """Field by field, from other sources than the modules read: `rdma`, `ip`, `lspci` and links of /sys."""
    on_both(two, reads)
