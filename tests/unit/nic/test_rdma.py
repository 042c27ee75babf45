"""rdma_info: what sysfs and the tools say, in one shape; what they do not say is named and never guessed."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import tempfile
from typing import Any, Sequence

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ParseError, RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.pcie_state import parse_device_control
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.rdma import RdmaReader
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.rdma_state import (
    Gid,
    Qos,
    choose_gid,
    dma_buf,
    parse_dcb,
    parse_dpkg,
    parse_ethtool_counters,
    parse_gid,
    parse_global_tclass,
    parse_mlnx_qos,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.transport import Finished, Sysfs

from tests.unit.nic.twin import Rack, card, run_tool

HOST = "gpu01"
IP = json.dumps(
    [
        {"ifindex": 1, "ifname": "lo", "mtu": 65536, "addr_info": [{"local": "127.0.0.1", "prefixlen": 8}]},
        {
            "ifindex": 2,
            "ifname": "ens160",
            "mtu": 1500,
            "addr_info": [{"local": "192.0.2.11", "prefixlen": 24}, {"local": "fe80::1", "prefixlen": 64}],
        },
        {"ifindex": 3, "ifname": "ens161", "mtu": 1500, "addr_info": []},
        {},
    ]
)
ADDRESS = "10.78.0.11"


class Node:
    """The simulated tools over the simulated tree; ``without`` names what is not installed."""

    def __init__(self, rack: Rack, *, root: bool = False) -> None:
        self.rack = rack
        self.root = root
        self.without: set[str] = {"dcb", "ethtool", "nvidia-smi", "dpkg-query"}
        self.answers: dict[str, Finished | Exception] = {"ip": Finished(0, IP, "")}
        self.calls: list[list[str]] = []

    def run(self, argv: Sequence[str], timeout: float) -> Finished:
        name = os.path.basename(argv[0])
        self.calls.append([name, *argv[1:]])
        answer = self.answers.get(" ".join([name, *argv[1:]]), self.answers.get(name))
        if isinstance(answer, Exception):
            raise answer
        return answer or run_tool(self.rack.directory, name, *argv[1:], root=self.root)

    def which(self, name: str) -> str | None:
        return None if name in self.without and name not in self.answers else f"/usr/bin/{name}"

    def read(self, *devices: str, counters: bool = True, kernel: str = "5.15.0-91-generic") -> dict[str, Any]:
        sysfs = Sysfs(str(self.rack.directory / "sys"))
        reader = RdmaReader(HOST, run=self.run, which=self.which, sysfs=sysfs, kernel=kernel)
        return reader.read(devices or ("auto",), counters)


@pytest.fixture(name="node")
def fixture_node(tmp_path: pathlib.Path) -> Node:
    rack = Rack(tmp_path)
    (tmp_path / "guest.json").write_text('{"ofed": "5.2-2.2.4.0"}', encoding="utf-8")
    rack.simulate_sysfs(ADDRESS, mtu=9000)
    return Node(rack)


def missing(result: dict[str, Any]) -> list[str]:
    for entry in result["unreadable"]:
        assert entry["what"] and entry["why"] and entry["remedy"], entry
    return [entry["what"] for entry in result["unreadable"]]


def test_a_normal_user_reads_the_whole_port(node: Node) -> None:
    result = node.read()
    (device,) = result["devices"]
    assert {key: device[key] for key in ("name", "port", "netdev", "pci", "device_id", "firmware", "psid")} == {
        "name": "mlx5_0",
        "port": 1,
        "netdev": "eth0",
        "pci": "0000:3b:00.0",
        "device_id": "101d",
        "firmware": "22.31.1014",
        "psid": "MT_0000000359",
    }
    assert (device["link_layer"], device["state"], device["rate"]) == ("Ethernet", "ACTIVE", "100 Gb/sec (4X EDR)")
    assert (device["active_mtu"], device["max_mtu"], device["netdev_mtu"], device["numa_node"]) == (
        4096,
        4096,
        9000,
        -1,
    )
    assert [(gid["index"], gid["type"], gid["ipv4"]) for gid in device["gids"]] == [
        (0, "IB/RoCE v1", ""),
        (1, "RoCE v2", ""),
        (2, "IB/RoCE v1", ADDRESS),
        (3, "RoCE v2", ADDRESS),
    ]
    assert (device["roce_gid_index"], device["roce_gid_ipv4"]) == (3, ADDRESS)
    assert device["qos"]["trust"] == "pcp"
    assert device["qos"]["pfc_priorities"] == []
    assert device["counters"]["hw_counters"]["np_cnp_sent"] == 0
    assert result["simulated"] is True
    json.dumps(result)


@pytest.mark.parametrize(("mtu", "active"), [(1500, 1024), (4191, 2048), (4192, 4096), (9000, 4096)])
def test_the_active_mtu_follows_the_interface(node: Node, mtu: int, active: int) -> None:
    (node.rack.directory / "net/eth0/mtu").write_text(f"{mtu}\n")
    (device,) = node.read()["devices"]
    assert (device["netdev_mtu"], device["active_mtu"]) == (mtu, active)


def test_qos_is_what_was_set_and_gone_after_a_restart(node: Node) -> None:
    node.root = True
    node.run(["mlnx_qos", "-i", "eth0", "--trust", "dscp", "--pfc", "0,0,0,1,0,0,0,0"], 5.0)
    node.root = False
    qos = node.read()["devices"][0]["qos"]
    assert (qos["trust"], qos["pfc_priorities"], qos["dscp_prio"]["26"], qos["prio_tc"]["3"]) == ("dscp", [3], 3, 3)
    assert qos["source"] == "mlnx_qos"
    (node.rack.directory / "run/qos.json").unlink()  # a tmpfs
    assert node.read()["devices"][0]["qos"]["trust"] == "pcp"


DCB = {
    "dcb pfc show dev eth0": "pfc-cap 8 macsec-bypass off delay 0\n"
    "prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off \n",
    "dcb -N app show dev eth0": "default-prio 0\ndscp-prio 24:3 26:3 46:5 \n",
    "dcb ets show dev eth0": "willing on ets-cap 8 cbs off\ntc-bw 0:0 1:0\nprio-tc 0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7 \n",
}


@pytest.mark.parametrize("mlnx_qos", ["not installed", "refused"])
def test_dcb_serves_where_mlnx_qos_does_not(node: Node, mlnx_qos: str) -> None:
    if mlnx_qos == "refused":
        node.answers["mlnx_qos"] = Finished(1, "Netlink error: Operation not permitted. see dmesg.\n", "")
    else:
        node.without.add("mlnx_qos")
    node.answers.update({command: Finished(0, text, "") for command, text in DCB.items()})
    node.without.discard("dcb")
    result = node.read()
    qos = result["devices"][0]["qos"]
    assert (qos["source"], qos["trust"], qos["pfc_priorities"]) == ("dcb", "dscp", [3])
    assert qos["dscp_prio"] == {"24": 3, "26": 3, "46": 5}
    assert any("Operation not permitted" in entry["why"] for entry in result["unreadable"]) is (mlnx_qos == "refused")


def test_without_any_tool_the_answers_are_none_and_named(node: Node) -> None:
    node.without |= {"ibv_devinfo", "mlnx_qos", "modinfo", "ofed_info"}
    result = node.read()
    (device,) = result["devices"]
    assert (device["active_mtu"], device["qos"], device["roce_tos"], device["traffic_class"]) == (None,) * 4
    assert result["driver"]["reload_required"] is None
    assert result["peer_memory"]["dma_buf"] is None
    named = missing(result)
    for what in ("active MTU", "trust and PFC of eth0", "counters of eth0", "mlx5_core on the disk",
                 "mlx5_0 port 1 RoCE ToS", "links between GPUs and NICs"):  # fmt: skip
        assert what in named
    assert [entry["what"] for entry in device["unreadable"]] == [
        "trust and PFC of eth0",
        "mlx5_0 port 1 RoCE ToS",
        "counters of eth0",
    ]


def test_a_file_that_refuses_is_named_with_its_path_and_reason(node: Node) -> None:
    target = node.rack.directory / "sys/bus/pci/devices/0000:3b:00.0/infiniband/mlx5_0/fw_ver"
    target.unlink()
    target.mkdir()  # reading it is an error for root as well
    result = node.read()
    assert result["devices"][0]["firmware"] is None
    (entry,) = [entry for entry in result["unreadable"] if entry["what"] == "mlx5_0 firmware"]
    assert "fw_ver" in entry["why"]
    assert "directory" in entry["why"]


@pytest.mark.parametrize(
    ("tool", "answer", "what"),
    [
        ("ibv_devinfo", Finished(255, "", "Failed to get IB devices list: Function not implemented\n"), "active MTU"),
        ("ibv_devinfo", Finished(0, "something new\n", ""), "active MTU"),
        ("ibv_devinfo", TimeoutError(), "ibv_devinfo"),
        ("mlnx_qos", Finished(0, "Priority trust state: dscp\nsomething new\n", ""), "QoS of eth0"),
        ("nvidia-smi", Finished(0, "something new\n", ""), "links between GPUs and NICs"),
        ("nvidia-smi", Finished(9, "NVIDIA-SMI has failed\n", ""), "links between GPUs and NICs"),
        ("modinfo", Finished(1, "", "modinfo: something new\n"), "mlx5_core on the disk"),
    ],
)
def test_a_tool_that_fails_or_says_something_new_costs_only_its_own_answer(
    node: Node, tool: str, answer: Finished | Exception, what: str
) -> None:
    node.answers[tool] = answer
    result = node.read()
    assert what in missing(result)
    assert result["devices"][0]["roce_gid_index"] == 3
    if isinstance(answer, Finished):
        words = (answer.err or answer.out).splitlines()[-1]
        assert any(words in entry["why"] for entry in result["unreadable"] if entry["what"] == what)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not read")
def test_a_user_without_the_right_gets_the_rest_and_the_reason() -> None:
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        rack = Rack(pathlib.Path(directory))
        rack.simulate_sysfs(ADDRESS)
        secret = pathlib.Path(directory) / "sys/class/infiniband/mlx5_0/board_id"
        secret.chmod(0o600)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:  # nobody, with everything that is needed already imported
            with contextlib.suppress(BaseException):
                os.setgroups([])
                os.setuid(65534)
                answer = json.dumps(Node(rack).read())
                os.write(writing, answer.encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as handle:
            result = json.loads(handle.read())
        os.waitpid(child, 0)
    (device,) = result["devices"]
    assert (device["psid"], device["firmware"], device["roce_gid_index"]) == (None, "22.31.1014", 3)
    (entry,) = [entry for entry in result["unreadable"] if entry["what"] == "mlx5_0 board_id"]
    assert "Permission denied" in entry["why"]
    assert "become" in entry["remedy"]


def test_no_device_is_an_answer_with_a_reason(tmp_path: pathlib.Path) -> None:
    rack = Rack(tmp_path, [])
    rack.simulate_sysfs(ADDRESS)
    result = Node(rack).read()
    assert result["devices"] == []
    assert "RDMA devices" in missing(result)


def test_only_the_named_device_and_an_unknown_one_is_refused(tmp_path: pathlib.Path) -> None:
    rack = Rack(tmp_path, [card(), card(pci="0000:5e:00.0", netdev="eth1")])
    rack.simulate_sysfs(ADDRESS)
    assert [device["name"] for device in Node(rack).read("mlx5_1")["devices"]] == ["mlx5_1"]
    with pytest.raises(RefusedError, match="there are: mlx5_0, mlx5_1"):
        Node(rack).read("mlx5_9")


def test_no_name_at_all_is_refused_where_there_are_devices(tmp_path: pathlib.Path) -> None:
    rack = Rack(tmp_path)
    rack.simulate_sysfs(ADDRESS)
    with pytest.raises(RefusedError, match="there are: mlx5_0"):
        RdmaReader(HOST, sysfs=Sysfs(str(rack.directory / "sys"))).read([])


def test_a_virtual_function_is_told_by_its_id(tmp_path: pathlib.Path) -> None:
    rack = Rack(tmp_path, [card(kind="vf", device_id="101e", params={})])
    rack.simulate_sysfs(ADDRESS)
    assert Node(rack).read()["devices"][0]["is_vf"] is True


def test_infiniband_has_no_roce_gid_and_no_qos(tmp_path: pathlib.Path) -> None:
    rack = Rack(tmp_path, [{**card(), "class": "0207"}])
    rack.simulate_sysfs(ADDRESS)
    (device,) = Node(rack).read()["devices"]
    assert (device["link_layer"], device["roce_gid_index"], device["qos"]) == ("InfiniBand", None, None)


# ---- drivers and peer memory ----------------------------------------------------------------------------------------


def test_driver_on_the_disk_and_driver_in_the_kernel_are_two_things(node: Node) -> None:
    driver = node.read()["driver"]
    assert (driver["product"], driver["version"], driver["source"]) == ("MLNX_OFED", "5.2-2.2.4.0", "ofed_info")
    assert (driver["loaded"], driver["installed"], driver["reload_required"]) == (True, True, False)
    node.answers["modinfo -F srcversion mlx5_core"] = Finished(0, "ANOTHER\n", "")
    assert node.read()["driver"]["reload_required"] is True


def test_packages_are_asked_before_ofed_info(node: Node) -> None:
    listed = "doca-ofed installed 3.2.1-044000\nmlnx-ofed-kernel-dkms installed 25.10.OFED.25.10.1.6.6.1-1\n"
    node.answers["dpkg-query"] = Finished(1, listed, "dpkg-query: no packages found matching x\n")
    driver = node.read()["driver"]
    assert (driver["product"], driver["version"]) == ("DOCA-OFED", "3.2.1-044000")
    assert not any(call[0] == "ofed_info" for call in node.calls)


def test_a_removed_package_is_not_installed() -> None:
    assert parse_dpkg("doca-ofed config-files 3.2.1\nmlnx-ofed-kernel-dkms installed 5.2\n").product == "MLNX_OFED"  # type: ignore[union-attr]
    assert parse_dpkg("doca-ofed not-installed \n") is None


def test_inbox_without_package_and_tool(node: Node) -> None:
    node.without.add("ofed_info")
    assert node.read()["driver"]["product"] == "inbox"


@pytest.mark.parametrize(
    ("present", "usable"),
    [
        (["module/nvidia_peermem"], ["nvidia_peermem"]),
        (["module/nv_peer_mem"], ["nv_peer_mem"]),
        (["kernel/mm/memory_peers/nv_mem"], ["memory_peers/nv_mem"]),
        (["kernel/mm/memory_peers/nv_mem_nc", "module/nvidia_peermem"], ["nvidia_peermem"]),
        ([], []),
    ],
)
def test_peer_memory_is_seen_on_both_paths(node: Node, present: list[str], usable: list[str]) -> None:
    for path in present:
        (node.rack.directory / "sys" / path).mkdir(parents=True)
    assert node.read()["peer_memory"]["usable"] == usable


@pytest.mark.parametrize(
    ("kernel", "text", "expected"),
    [
        ("5.15.0-91-generic", "Dual MIT/GPL", True),
        ("6.8.0-31-generic", "NVIDIA", False),
        ("5.4.0-42-generic", "Dual MIT/GPL", False),
        ("6.8.0", None, None),
        ("strange", "Dual MIT/GPL", None),
    ],
)
def test_dma_buf_needs_the_kernel_and_the_open_module(kernel: str, text: str | None, expected: bool | None) -> None:
    assert dma_buf(kernel, text) is expected


def test_what_holds_the_driver_is_named(node: Node) -> None:
    modules = "ib_core 442368 3 rdma_cm,mlx5_ib,nvidia_peermem,nvme_rdma, Live 0x0\n"
    (node.rack.directory / "proc/modules").write_text(modules)
    assert node.read()["holders"] == ["nvidia_peermem", "nvme_rdma"]


# ---- parsers --------------------------------------------------------------------------------------------------------

QOS = """DCBX mode: OS controlled
Priority trust state: dscp
dscp2prio mapping:
\tprio:0 dscp:07,06,05,04,03,02,01,00,
\tprio:3 dscp:31,30,29,28,27,26,25,24,
default priority:
Receive buffer size (bytes): 130944,130944,0,0,0,0,0,0,total_size=262016
Cable len: 7
PFC configuration:
\tpriority    0   1   2   3   4   5   6   7
\tenabled     0   0   0   1   0   1   0   0   
\tbuffer      0   0   0   1   0   0   0   0   
tc: 0 ratelimit: unlimited, tsa: vendor
\t priority:  1
tc: 3 ratelimit: 10.0 Gbps, tsa: ets, bw: 50%
\t priority:  3
\t priority:  5
"""  # noqa: W291  (as printed)


def test_mlnx_qos_is_read_whole() -> None:
    qos = parse_mlnx_qos(QOS, HOST)
    assert (qos.trust, qos.pfc, qos.dscp_prio[26], dict(qos.prio_tc)) == ("dscp", (3, 5), 3, {1: 0, 3: 3, 5: 3})
    assert 40 not in qos.dscp_prio


# Printed by mlnx_qos of mlnx-tools (August 2026) after --trust dscp --pfc 0,0,0,1,0,0,0,0 and --dscp2prio set,26,4,
# and by dcb of iproute2 6.1.0, over the DCB netlink of Linux 6.1 to a device of the lab (lab/vm/lab_dcb).
MLNX_QOS_SEEN = """DCBX mode: OS controlled
Priority trust state: dscp
dscp2prio mapping:
\tprio:0 dscp:07,06,05,04,03,02,01,00,
\tprio:1 dscp:15,14,13,12,11,10,09,08,
\tprio:2 dscp:23,22,21,20,19,18,17,16,
\tprio:3 dscp:31,30,29,28,27,25,24,
\tprio:4 dscp:26,39,38,37,36,35,34,33,
\tprio:4 dscp:32,
\tprio:5 dscp:47,46,45,44,43,42,41,40,
\tprio:6 dscp:55,54,53,52,51,50,49,48,
\tprio:7 dscp:63,62,61,60,59,58,57,56,
Receive buffer size (bytes): 0,0,0,0,0,0,0,0,max_buffer_size=0
Cable len: 0
PFC configuration:
\tpriority    0   1   2   3   4   5   6   7
\tenabled     0   0   0   1   0   0   0   0   
\tbuffer      0   0   0   0   0   0   0   0   
tc: 0 ratelimit: unlimited, tsa: vendor
\t priority:  0
tc: 1 ratelimit: unlimited, tsa: vendor
\t priority:  1
tc: 2 ratelimit: unlimited, tsa: vendor
\t priority:  2
tc: 3 ratelimit: unlimited, tsa: vendor
\t priority:  3
tc: 4 ratelimit: unlimited, tsa: vendor
\t priority:  4
tc: 5 ratelimit: unlimited, tsa: vendor
\t priority:  5
tc: 6 ratelimit: unlimited, tsa: vendor
\t priority:  6
tc: 7 ratelimit: unlimited, tsa: vendor
\t priority:  7
"""  # noqa: W291  (as printed)
DCB_SEEN = (
    "pfc-cap 8 macsec-bypass off delay 0 \nprio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off \n",
    "dscp-prio 26:3 46:6 \n",
    "willing off ets-cap 8 cbs off \n"
    "tc-bw 0:0 1:0 2:0 3:0 4:0 5:0 6:0 7:0 \n"
    "pg-bw 0:0 1:0 2:0 3:0 4:0 5:0 6:0 7:0 \n"
    "tc-tsa 0:vendor 1:vendor 2:vendor 3:vendor 4:vendor 5:vendor 6:vendor 7:vendor \n"
    "prio-tc 0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7 \n"
    "reco-tc-bw 0:0 1:0 2:0 3:0 4:0 5:0 6:0 7:0 \n"
    "reco-tc-tsa 0:strict 1:strict 2:strict 3:strict 4:strict 5:strict 6:strict 7:strict \n"
    "reco-prio-tc 0:0 1:0 2:0 3:0 4:0 5:0 6:0 7:0 \n",
)


def test_mlnx_qos_and_dcb_of_a_kernel_are_read_as_set() -> None:
    qos, eighths = parse_mlnx_qos(MLNX_QOS_SEEN, HOST), {priority: priority for priority in range(8)}
    assert (qos.trust, qos.pfc, qos.prio_tc) == ("dscp", (3,), eighths)
    assert qos.dscp_prio == {**{dscp: dscp // 8 for dscp in range(64)}, 26: 4}
    assert parse_dcb(*DCB_SEEN, HOST) == Qos("dscp", (3,), {26: 3, 46: 6}, eighths, "dcb")
    # Without an entry `dcb app show` prints nothing.
    assert parse_dcb(DCB_SEEN[0], "", DCB_SEEN[2], HOST) == Qos("pcp", (3,), {}, eighths, "dcb")


@pytest.mark.parametrize("cut", ["Priority trust state: dscp\n", "\tenabled     0   0   0   1   0   1   0   0   \n"])
def test_mlnx_qos_without_trust_or_pfc_is_refused(cut: str) -> None:
    with pytest.raises(ParseError, match="mlnx_qos"):
        parse_mlnx_qos(QOS.replace(cut, ""), HOST)


def test_dcb_without_dscp_entries_is_pcp() -> None:
    pfc = DCB["dcb pfc show dev eth0"]
    assert parse_dcb(pfc, "default-prio 0\n", "", HOST).trust == "pcp"
    with pytest.raises(ParseError, match="prio-pfc"):
        parse_dcb("pfc-cap 8\n", "", "", HOST)


@pytest.mark.parametrize("text", ["", "nonsense", "fe80::1::2"])
def test_a_gid_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        parse_gid(text, HOST, "x")


def test_the_gid_of_the_port_itself_is_preferred_to_a_vlans() -> None:
    vlan = Gid(3, "::ffff:10.0.0.1", "RoCE v2", "ens192.111")
    own = Gid(5, "::ffff:10.0.1.1", "RoCE v2", "ens192")
    assert choose_gid([vlan, own], "ens192") == own
    assert choose_gid([vlan], "ens192") == vlan
    assert (
        choose_gid([Gid(0, "::ffff:10.0.0.1", "IB/RoCE v1", "ens192"), Gid(1, "fe80::1", "RoCE v2", "ens192")]) is None
    )


@pytest.mark.parametrize(("text", "value"), [("Global tclass=106\n", 106), ("", None), ("tclass=1 dgid=x\n", None)])
def test_forced_traffic_class(text: str, value: int | None) -> None:
    assert parse_global_tclass(text) == value


def test_counters_of_priorities_are_kept_and_others_not() -> None:
    text = (
        "NIC statistics:\n     rx_prio3_pause: 7\n     rx_packets: 9\n     rx_discards_phy: 1\n     tx_prio3_bytes: 5\n"
    )
    assert parse_ethtool_counters(text) == {"rx_prio3_pause": 7, "rx_discards_phy": 1, "tx_prio3_bytes": 5}


def test_a_quick_reading_has_the_ports_and_nothing_of_the_node(node: Node) -> None:
    sysfs = Sysfs(str(node.rack.directory / "sys"))
    result = RdmaReader(HOST, run=node.run, which=node.which, sysfs=sysfs).read(node=False)
    assert sorted(result) == ["boot_id", "devices", "hostname", "interfaces", "simulated", "unreadable"]
    assert result["hostname"] == HOST
    assert result["devices"][0]["counters"]["counters"]["port_xmit_data"] == 0
    assert not {"modinfo", "nvidia-smi", "dpkg-query"} & {call[0] for call in node.calls}


def config_space(payload_code: int = 1, *, size: int = 256, listed: bool = True, capability: int = 0x10) -> bytes:
    """A configuration space: MSI-X at 40h, then PCI Express (or what ``capability`` says) at 60h."""
    space = bytearray(size)
    space[0x06] = 0x10 if listed else 0
    space[0x34] = 0x40
    if size > 0x70:
        space[0x40:0x42] = bytes([0x11, 0x60])
        space[0x60:0x62] = bytes([capability, 0])
        space[0x68] = payload_code << 5 | 0x0F
    return bytes(space)


def function_file(node: Node, name: str) -> pathlib.Path:
    return node.rack.directory / "sys/bus/pci/devices/0000:3b:00.0" / name


def test_the_pcie_link_is_read_from_sysfs_and_maxpayload_from_configuration_space(node: Node) -> None:
    function_file(node, "config").write_bytes(config_space(2))
    function_file(node, "current_link_width").write_text("8\n")
    result = node.read()
    assert result["devices"][0]["pcie"] == {
        "current_link_speed": 16.0,
        "max_link_speed": 16.0,
        "current_link_width": 8,
        "max_link_width": 16,
        "max_payload": 512,
    }
    assert not [what for what in missing(result) if "PCIe" in what]


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (None, "No such file"),
        (config_space(size=64), "only 64 bytes of configuration space"),
        (config_space(listed=False), "no PCI Express capability"),
        (config_space(capability=0x05), "no PCI Express capability"),
        (config_space(7), "no PCI Express capability"),
    ],
    ids=["no-file", "normal-user", "no-list", "other-capability", "reserved-code"],
)
def test_a_maxpayload_that_cannot_be_read_is_named(node: Node, config: bytes | None, why: str) -> None:
    function_file(node, "config").unlink()
    if config is not None:
        function_file(node, "config").write_bytes(config)
    result = node.read()
    assert result["devices"][0]["pcie"]["max_payload"] is None
    (entry,) = [entry for entry in result["unreadable"] if entry["what"] == "mlx5_0 PCIe MaxPayload"]
    assert why in entry["why"]


def test_a_list_of_capabilities_that_goes_round_ends() -> None:
    space = bytearray(config_space())
    space[0x61] = 0x40
    space[0x60] = 0x05
    with pytest.raises(ParseError, match="no PCI Express capability"):
        parse_device_control(bytes(space), HOST, "config")


@pytest.mark.parametrize(
    ("name", "text"),
    [("current_link_speed", "Unknown"), ("current_link_width", "255"), ("current_link_width", "0")],
)
def test_a_link_that_is_not_known_is_null_and_named(node: Node, name: str, text: str) -> None:
    function_file(node, name).write_text(text + "\n")
    result = node.read()
    assert result["devices"][0]["pcie"][name] is None
    assert f"mlx5_0 PCIe {name}" in missing(result)


def test_a_link_that_the_hypervisor_made_up_is_null_and_named(node: Node) -> None:
    """What a VM on ESXi sees of each function, whatever its link is."""
    for which in ("current", "max"):
        function_file(node, f"{which}_link_speed").write_text("5.0 GT/s PCIe\n")
        function_file(node, f"{which}_link_width").write_text("32\n")
    result = node.read()
    assert set(result["devices"][0]["pcie"].values()) == {None, result["devices"][0]["pcie"]["max_payload"]}
    assert "mlx5_0 PCIe link" in missing(result)


def test_interfaces_are_told_with_every_address_whether_they_are_rdma_or_not(node: Node) -> None:
    assert node.read()["interfaces"] == [
        {"name": "lo", "addresses": ["127.0.0.1/8"]},
        {"name": "ens160", "addresses": ["192.0.2.11/24", "fe80::1/64"]},
    ]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (None, "not installed"),
        (Finished(1, "", "denied"), "denied"),
        (Finished(0, "what", ""), "no list of interfaces"),
    ],
    ids=["missing", "refused", "garbled"],
)
def test_interfaces_that_cannot_be_read_are_null_and_named(node: Node, answer: Finished | None, why: str) -> None:
    del node.answers["ip"]
    if answer is None:
        node.without.add("ip")
    else:
        node.answers["ip"] = answer
    result = node.read()
    assert result["interfaces"] is None
    (entry,) = [entry for entry in result["unreadable"] if entry["what"] == "addresses of the interfaces"]
    assert why in entry["why"]


def test_congestion_notification_is_told_per_priority_and_null_without_the_files(node: Node) -> None:
    assert node.read()["devices"][0]["ecn"] is None
    netdev = node.read()["devices"][0]["netdev"]
    for side, wanted in (("np", "3"), ("rp", "5")):
        folder = node.rack.directory / "sys/class/net" / netdev / "ecn" / f"roce_{side}" / "enable"
        folder.mkdir(parents=True)
        for priority in range(8):
            (folder / str(priority)).write_text("1\n" if str(priority) == wanted else "0\n")
    assert node.read()["devices"][0]["ecn"] == {"np": [3], "rp": [5]}


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [("storage.7", "vlan", "eth0"), ("roce0", "vlan", "eth0"), ("eth0.7", "macvlan", ""), ("bond0", "bond", "")],
)
def test_gid_of_a_vlan_names_what_the_vlan_lies_on(node: Node, name: str, kind: str, expected: str) -> None:
    sysfs = node.rack.directory / "sys/class"
    (sysfs / "infiniband/mlx5_0/ports/1/gid_attrs/ndevs/3").write_text(f"{name}\n")
    (sysfs / "net" / name / "lower_eth0").mkdir(parents=True)
    (sysfs / "net" / name / "uevent").write_text(f"DEVTYPE={kind}\nINTERFACE={name}\nIFINDEX=7\n")
    (device,) = node.read()["devices"]
    assert [(gid["netdev"], gid["vlan_of"]) for gid in device["gids"][-2:]] == [("eth0", ""), (name, expected)]
