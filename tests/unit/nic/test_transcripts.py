"""Recorded texts of the vendor's tools, each to the state that it means. Rows are numbered as the transcripts were.

Layouts follow public transcripts and the tools' own print formats; values are examples.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any, Callable

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ParseError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.rdma_state import (
    Release,
    parse_ibv_devinfo,
    parse_modules,
    parse_ofed_info,
    parse_topology,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.state import (
    Failure,
    PciAts,
    classify,
    first_error,
    parse_flag,
    parse_query,
    parse_query_json,
    parse_reboot_kind,
    parse_setpci_ats,
    parse_tool_version,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.tool_state import (
    parse_mst_status,
    parse_reset_query,
    parse_vpd_serial,
)

HOST = "gpu01"


def row(header: str, line: str) -> dict[str, Any]:
    """One table with one row -> its three values, as the module reads them."""
    opening = "\nDevice #1:\n----------\n\nDevice type:    ConnectX6DX     \nDevice:         3b:00.0         \n\n"
    star = "The '*' shows parameters with next value different from default/current value.\n"
    (query,) = parse_query(f"{opening}Configurations:      {header}\n{line}\n{star}", HOST)
    ((_name, cells),) = query.values.items()
    return {column: parse_flag(text, HOST, "x") for column, text in cells.items()}


def json_row(cells: dict[str, Any]) -> dict[str, Any]:
    text = json.dumps({"Device #1": {"device": "3b:00.0", "tlv_configuration": {"ATS_ENABLED": cells}}})
    (query,) = parse_query_json(text, HOST)
    return {column: parse_flag(value, HOST, "x") for column, value in query.values["ATS_ENABLED"].items()}


THREE = "Default         Current         Next Boot"
PENDING = {"default": False, "current": False, "next": True}
ACTIVE = {"default": False, "current": True, "next": True}
SET_TAIL = (
    "Configurations:                                          Next Boot       New\n"
    "        BOOT_VLAN                                   1                    0                   \n"
    " Apply new Configuration? (y/n) [n] : y\nApplying... Done!\n"
    "-I- Please {} machine to load new configurations.\n"
)
MST_STOPPED = (
    "MST modules:\n------------\n    MST PCI module is not loaded\n    MST PCI configuration module is not loaded\n"
)
MST_VERBOSE = """MST modules:
------------
    MST PCI module is not loaded
    MST PCI configuration module loaded
PCI devices:
------------
DEVICE_TYPE             MST                           PCI       RDMA            NET                                     NUMA  
ConnectX7(rev:0)        /dev/mst/mt4129_pciconf8      e3:00.0   mlx5_10         net-ib7                                 3     

ConnectX6DX(rev:0)      NA                            3b:00.1   mlx5_1                                                  -1    

NA                      NA                            3b:00.2   mlx5_2          net-net1                                0     

"""  # noqa: E501, W291  (as printed)
DEVINFO = """hca_id:\tmlx5_0
\ttransport:\t\t\tInfiniBand (0)
\tfw_ver:\t\t\t\t28.42.1000
\tnode_guid:\t\t\ta288:c203:005b:03ec
\tvendor_part_id:\t\t\t4129
\tboard_id:\t\t\tMT_0000000838
\tphys_port_cnt:\t\t\t1
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tmax_mtu:\t\t4096 (5)
\t\t\tactive_mtu:\t\t1024 (3)
\t\t\tsm_lid:\t\t\t0
\t\t\tlink_layer:\t\tEthernet
"""
TOPOLOGY = (
    "\tGPU0\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tPHB\tPIX\t0-15\t\tN/A\t\tN/A\nNIC0\tPHB\t X \tSYS\t\t\t\t\nNIC1\tPIX\tSYS\t X \t\t\t\t\n\n"
    "Legend:\n\n  X    = Self\n  PHB  = Connection traversing PCIe\n\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_10\n"
)
RESET = """Reset-levels:
0: Driver, PCI link, network link will remain up ("live-Patch")  -Not Supported
3: Driver restart and PCI reset                                  -Supported     (default)
4: Warm Reboot                                                   -Supported

Reset-sync (relevant only for reset-level 3):
0: Tool is the owner  -Not supported
1: Driver is the owner  -Supported     (default)
"""
NO_CAPABILITY = (
    "setpci: 0000:00:03.0: Instance #0 of Extended capability 000f not found"
    " - there are no capabilities with that id.\n"
)
WIDE = "*        ROCE_CONTROL                                ROCE_ENABLE(2)  DEVICE_DEFAULT(0) ROCE_ENABLE(2)"

TABLE: list[tuple[str, Callable[[], object], object]] = [
    ("T1 no devices", lambda: classify("-E- Failed to get devices.\n", ""), Failure.NO_DEVICES),
    ("T1 not there, or not root", lambda: classify("-E- Failed to open the device\n", ""), Failure.CANNOT_OPEN),
    (
        "T1 mst path with mstconfig",
        lambda: classify(
            "-E- Failed to open the device\n", "Unable to parse device name /dev/mst/mt4123_pciconf0\n"
        ),
        Failure.CANNOT_OPEN,
    ),
    (
        "T1 option behind the command",
        lambda: classify("-E- Invalid Configuration argument -y\n    NAME:\n        mstconfig\n", ""),
        Failure.BAD_ARGUMENT,
    ),
    ("T1 twice", lambda: classify("-E- Duplicate parameter, A.\n", ""), Failure.BAD_ARGUMENT),
    (
        "T1 set without device",
        lambda: classify("-E- set command expects device to be specified.\n", ""),
        Failure.BAD_ARGUMENT,
    ),
    ("T1 no JSON before 4.31", lambda: classify("-E- invalid argument: -j\n", ""), Failure.BAD_ARGUMENT),
    (
        "T1 version",
        lambda: parse_tool_version("mstconfig, mstflint 4.21.0, Git SHA Hash: N/A\n"),
        ("4.21.0", (4, 21)),
    ),
    (
        "T2 pending, until 4.21",
        lambda: row(THREE, "*        ATS_ENABLED                         False(0)        False(0)        True(1)    "),
        PENDING,
    ),
    (
        "T2 active, the star stays",
        lambda: row(THREE, "*        ATS_ENABLED                         False(0)        True(1)         True(1)    "),
        ACTIVE,
    ),
    (
        "T2 plain query",
        lambda: row("Next Boot", "        ATS_ENABLED                                 False(0)            "),
        {"next": False},
    ),
    (
        "T2b 4.28 to 4.35",
        lambda: row(
            "Default             Current         Next Boot",
            "*       ATS_ENABLED                                 False(0)            False(0)            True(1)     ",
        ),
        PENDING,
    ),
    ("T3 reboot", lambda: parse_reboot_kind(SET_TAIL.format("reboot")), "reboot"),
    ("T3 power cycle", lambda: parse_reboot_kind(SET_TAIL.format("power cycle")), "power_cycle"),
    ("T3 aborted", lambda: classify("-E- Aborted by user.\n", ""), Failure.ABORTED),
    (
        "T3 failed",
        lambda: classify("Applying... Failed!\n-E- Failed to set nv_pci_conf settings Timed out (5)\n", ""),
        Failure.SET_FAILED,
    ),
    (
        "T4 pending",
        lambda: json_row(
            {
                "current_value": "False(0)",
                "default_value": "False(0)",
                "modified": True,
                "next_value": "True(1)",
                "read_only": False,
            }
        ),
        PENDING,
    ),
    (
        "T4 firmware without current",
        lambda: json_row({"modified": True, "next_value": "True(1)", "default_value": "N/A"}),
        {"default": None, "next": True},
    ),
    (
        "T5 one space behind a wide value",
        lambda: list(parse_query(f"Configurations:  {THREE}\n{WIDE}\n", HOST)[0].values["ROCE_CONTROL"].values()),
        ["ROCE_ENABLE(2)", "DEVICE_DEFAULT(0)", "ROCE_ENABLE(2)"],
    ),
    (
        "T5 arrays and mixed rows",
        lambda: [
            next(iter(query.values.values()))["current"]
            for line in (
                "         ESWITCH_HAIRPIN_DESCRIPTORS  Array[0..7]  Array[0..7]  Array[0..7]",
                "         PCI_DOWNSTREAM_PORT_OWNER[0] DEVICE_DEFAULT(0) 148 DEVICE_DEFAULT(0)",
            )
            for query in parse_query(f"Configurations:  {THREE}\n{line}\n", HOST)
        ],
        ["Array[0..7]", "148"],
    ),
    ("T6 the first line counts", lambda: first_error("-E- Unsupported device\nusage\n-E- x\n"), "Unsupported device"),
    ("T7 stopped", lambda: parse_mst_status(MST_STOPPED, HOST), {}),
    ("T7 verbose, a row each", lambda: parse_mst_status(MST_VERBOSE, HOST),
     {"0000:e3:00.0": "/dev/mst/mt4129_pciconf8"}),
    ("T9 enabled", lambda: parse_setpci_ats("8000\n", "", 0, HOST, "x"), PciAts(True, True, 0)),
    ("T9 not enabled", lambda: parse_setpci_ats("0000\n", "", 0, HOST, "x"), PciAts(True, False, 0)),
    ("T9 no capability", lambda: parse_setpci_ats("", NO_CAPABILITY, 1, HOST, "x"), PciAts(False)),
    ("T10 -s", lambda: parse_ofed_info("MLNX_OFED_LINUX-4.7-1.0.0.1:\n"),
     Release("MLNX_OFED", "4.7-1.0.0.1", "ofed_info")),
    ("T10 first line", lambda: parse_ofed_info("MLNX_OFED_LINUX-4.4-1.0.0.0 (OFED-4.4-1.0.0):\nmore\n"),
     Release("MLNX_OFED", "4.4-1.0.0.0", "ofed_info")),
    ("T10 of DOCA", lambda: parse_ofed_info("OFED-internal-25.10-1.6.6:\n"),
     Release("DOCA-OFED", "25.10-1.6.6", "ofed_info")),
    ("T10 no OFED", lambda: parse_ofed_info("ofed_info: command not found\n"), None),
    ("T13 ibv_devinfo", lambda: [(key, port.active_mtu) for key, port in parse_ibv_devinfo(DEVINFO, HOST).items()],
     [(("mlx5_0", 1), 1024)]),
    ("T14 lsmod", lambda: parse_modules(
        "Module                  Size  Used by\nnvidia_peermem         16384  0\n"
        "ib_core               442368  9 rdma_cm,ib_ipoib,nvidia_peermem,mlx5_ib\n"),
     {"nvidia_peermem": [], "ib_core": ["rdma_cm", "ib_ipoib", "nvidia_peermem", "mlx5_ib"]}),
    ("T15 flat bus and switch", lambda: parse_topology(TOPOLOGY, HOST),
     [{"gpu": "GPU0", "nic": "mlx5_0", "link": "PHB", "gdr_by_default": False},
      {"gpu": "GPU0", "nic": "mlx5_10", "link": "PIX", "gdr_by_default": True}]),
    ("T17 warm reboot works", lambda: parse_reset_query(RESET, HOST), "reboot"),
    ("T17 warm reboot does not work", lambda: parse_reset_query(
        RESET.replace("4: Warm Reboot                                                   -Supported",
                      "4: Warm Reboot                                                   -Not Supported"), HOST),
     "power_cycle"),
    ("T17 the fragment about sync alone", lambda: parse_reset_query(RESET[RESET.index("Reset-sync"):], HOST), ""),
    ("serial number in the VPD", lambda: parse_vpd_serial("\t\t\t[SN] Serial number: MT2026X1\n"), "MT2026X1"),
]  # fmt: skip


@pytest.mark.parametrize(("read", "state"), [entry[1:] for entry in TABLE], ids=[entry[0] for entry in TABLE])
def test_a_recorded_text_means_its_state(read: Callable[[], object], state: object) -> None:
    assert read() == state


@pytest.mark.parametrize(
    "read",
    [
        lambda: parse_mst_status("", HOST),
        lambda: parse_mst_status(MST_VERBOSE + "MST fwctl devices: 2\n", HOST),
        lambda: parse_mst_status(MST_VERBOSE.replace("e3:00.0", "nowhere"), HOST),
        lambda: parse_reset_query(RESET.replace("-Supported     (default)", "-Perhaps"), HOST),
        lambda: parse_ibv_devinfo("Failed to get IB devices list\n", HOST),
        lambda: parse_ibv_devinfo(DEVINFO.replace("1024 (3)", "invalid MTU (9)"), HOST),
        lambda: parse_topology("No devices were found\n", HOST),
        lambda: parse_topology(TOPOLOGY.replace("PHB\tPIX", "NEW\tPIX"), HOST),
    ],
)
def test_a_text_that_is_new_is_refused_with_its_words(read: Callable[[], object]) -> None:
    with pytest.raises(ParseError, match="raw text"):
        read()


def test_every_transcript_of_this_layer_has_a_row() -> None:
    numbers = {int(name.split()[0][1:].rstrip("b")) for name, _read, _state in TABLE if name[0] == "T"}
    # T8 is of lspci's capabilities, T11 with the installer (test_install), T12 below, T16 with the readers of NCCL
    assert numbers == set(range(1, 18)) - {8, 11, 12, 16}


def test_t12_the_gid_table_of_sysfs_is_the_one_of_show_gids(tmp_path: pathlib.Path) -> None:
    from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.rdma import RdmaReader  # noqa: PLC0415
    from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.transport import Sysfs  # noqa: PLC0415

    printed = [
        (1, "fe80:0000:0000:0000:a288:c2ff:fe5b:03ec", "", "v2", "ens3np0"),
        (3, "0000:0000:0000:0000:0000:ffff:0b00:0048", "11.0.0.72", "v2", "ens3np0"),
    ]
    port = tmp_path / "sys/class/infiniband/mlx5_0/ports/1"
    for name in ("gids", "gid_attrs/types", "gid_attrs/ndevs"):
        (port / name).mkdir(parents=True)
    for index, gid, _ipv4, version, netdev in printed:
        (port / "gids" / str(index)).write_text(gid + "\n")
        (port / "gid_attrs/types" / str(index)).write_text(f"RoCE {version}\n")
        (port / "gid_attrs/ndevs" / str(index)).write_text(netdev + "\n")
    (port / "gids/4").write_text(":".join(["0000"] * 8) + "\n")
    (port / "link_layer").write_text("Ethernet\n")
    reader = RdmaReader(HOST, which=lambda name: None, sysfs=Sysfs(str(tmp_path / "sys")), kernel="5.4.0")
    (device,) = reader.read(counters=False)["devices"]
    assert [(g["index"], g["gid"], g["ipv4"], g["type"][-2:], g["netdev"]) for g in device["gids"]] == printed
    assert (device["roce_gid_index"], device["roce_gid_ipv4"], device["netdev"]) == (3, "11.0.0.72", "ens3np0")
