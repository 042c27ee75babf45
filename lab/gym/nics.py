"""Faults of NICs: firmware, MTU, priorities, GIDs."""

from __future__ import annotations

from .model import HOST, JOB, add, fault, swap

_H = "hosts/{host}/"
_MLX5 = "kernel mlx5/core/"

FAULTS = (
    fault(
        "nic_ats_off",
        "nic_firmware: nic_firmware_setting",
        HOST,
        "facts: nic, mlxconfig -e",
        swap(
            _H + "mlxconfig.txt",
            "ATS_ENABLED                         False(0)        True(1)         True(1)",
            "ATS_ENABLED                         False(0)        False(0)        False(0)",
        ),
        swap(_H + "lspci.txt", "ATSCtl:	Enable+", "ATSCtl:	Enable-"),
        symptom="slow",
    ),
    fault(
        "nic_ats_pending",
        "nic_firmware: nic_firmware_setting",
        HOST,
        "facts: nic, Next Boot against Current; guide defect G5",
        swap(
            _H + "mlxconfig.txt",
            "ATS_ENABLED                         False(0)        True(1)         True(1)",
            "ATS_ENABLED                         False(0)        False(0)        True(1)",
        ),
        swap(_H + "lspci.txt", "ATSCtl:	Enable+", "ATSCtl:	Enable-"),
        symptom="slow",
        call=("physics", {"name": "nic_value_stuck", "vm": "{host}"}),
    ),
    fault(
        "nic_power_cycle",
        "nic_firmware: nic_firmware_setting",
        HOST,
        "Mellanox/nic-configuration-operator issue 188",
        swap(
            _H + "mlxconfig.txt",
            "ATS_ENABLED                         False(0)        True(1)         True(1)",
            "ATS_ENABLED                         False(0)        False(0)        True(1)",
        ),
        add(_H + "mlxconfig.txt", "-I- Please power cycle machine to load new configurations."),
        swap(_H + "lspci.txt", "ATSCtl:	Enable+", "ATSCtl:	Enable-"),
        symptom="slow",
        call=("physics", {"name": "nic_needs_power_cycle", "vm": "{host}"}),
    ),
    fault(
        "nic_without_ats",
        "nic_firmware: nic_firmware_setting",
        HOST,
        "Mellanox/mstflint issue 551",
        swap(
            _H + "mlxconfig.txt",
            "         ATS_ENABLED                         False(0)        True(1)         True(1)\n",
            "-E- The Device doesn't support ATS_ENABLED parameter\n",
        ),
        swap(_H + "lspci.txt", "		ATSCtl:	Enable+, Smallest Translation Unit: 00\n", ""),
        symptom="slow",
        call=("physics", {"name": "nic_without_ats", "vm": "{host}"}),
    ),
    fault(
        "nic_link_type_ib",
        "nic_firmware: nic_firmware_setting",
        HOST,
        "mlxconfig documentation, LINK_TYPE_P1",
        swap(
            _H + "mlxconfig.txt",
            "LINK_TYPE_P1                        ETH(2)          ETH(2)          ETH(2)",
            "LINK_TYPE_P1                        ETH(2)          IB(1)           IB(1)",
        ),
        swap(_H + "ibv_devinfo.txt", "link_layer:		Ethernet", "link_layer:		InfiniBand"),
        symptom="gone",
    ),
    fault(
        "nic_firmware_fatal",
        "nic_firmware: nic_firmware_fault",
        HOST,
        _MLX5 + "health.c",
        add(
            _H + "dmesg.txt",
            "[ 8110.1] mlx5_core 0000:13:00.0: poll_health:836:(pid 0): device's health compromised - reached miss "
            "count",
            "[ 8110.2] mlx5_core 0000:13:00.0: print_health_info:431:(pid 0): assert_var[0] 0xfc3fc043",
        ),
        symptom="retry",
    ),
    fault(
        "nic_firmware_timeout",
        "nic_firmware: nic_firmware_fault",
        HOST,
        _MLX5 + "cmd.c; openucx/ucx issue 7738",
        add(
            _H + "dmesg.txt",
            "[ 8110.1] mlx5_core 0000:13:00.0: wait_func:1132:(pid 900): CREATE_QP(0x500) timeout. Will "
            "cause a leak of "
            "a command resource",
        ),
        symptom="gone",
    ),
    fault(
        "nic_livefish",
        "nic_firmware: nic_firmware_fault",
        HOST,
        "facts: nic, livefish",
        add(_H + "mlxconfig.txt", "-E- Device in Livefish mode is not supported"),
        symptom="gone",
        call=("physics", {"name": "nic_tool", "vm": "{host}", "faults": {"livefish": True}}),
    ),
    fault(
        "mtu_one_host",
        "nic_mtu: mtu_differs",
        HOST,
        "NVIDIA/nccl issue 1524; kernel: active_mtu 1024 is what 1500 leaves",
        swap(_H + "ip-link.txt", "mtu 9000", "mtu 1500"),
        swap(_H + "ibv_devinfo.txt", "active_mtu:		4096 (5)", "active_mtu:		1024 (3)"),
        symptom="retry",
    ),
    fault(
        "qos_trust_pcp",
        "nic_qos: nic_qos_differs",
        HOST,
        "facts: nic, mlnx_qos; MiaAI-Lab thread 115",
        swap(_H + "mlnx_qos.txt", "Priority trust state: dscp", "Priority trust state: pcp"),
        symptom="slow",
    ),
    fault(
        "qos_pfc_off",
        "nic_qos: nic_qos_differs",
        HOST,
        "facts: nic, mlnx_qos is runtime only",
        swap(_H + "mlnx_qos.txt", "0   0   0   1   0   0   0   0", "0   0   0   0   0   0   0   0"),
        symptom="slow",
    ),
    fault(
        "qos_priority_0",
        "nic_qos: nic_qos_differs",
        HOST,
        "bytedance/byteps issue 179",
        swap(_H + "ethtool-S.txt", "rx_prio0_bytes: 1021{n}", "rx_prio0_bytes: 88178050405854"),
        swap(_H + "ethtool-S.txt", "rx_prio3_bytes: 9912121{n}81", "rx_prio3_bytes: 0"),
        symptom="slow",
    ),
    fault(
        "nic_discards",
        "nic_qos: nic_qos_differs",
        HOST,
        "NVIDIA mlx5 ethtool counters: rx_prio3_discards",
        swap(_H + "ethtool-S.txt", "rx_prio3_discards: 0", "rx_prio3_discards: 48122"),
        symptom="slow",
    ),
    fault(
        "rdma_out_of_sequence",
        "nic_qos: nic_qos_differs",
        HOST,
        "NVIDIA RDMA hw_counters",
        swap(_H + "hw_counters.txt", "out_of_sequence: 0", "out_of_sequence: 912318"),
        symptom="slow",
    ),
    fault(
        "rdma_ecn_marked",
        "nic_qos: nic_qos_differs",
        HOST,
        "NVIDIA RDMA hw_counters",
        swap(_H + "hw_counters.txt", "np_ecn_marked_roce_packets: 0", "np_ecn_marked_roce_packets: 812345"),
        symptom="slow",
    ),
    fault(
        "slow_receiver",
        "numa_bios: host_slow_receiver",
        HOST,
        "IEEE 802.1Qbb; NVIDIA/nccl issue 173",
        swap(_H + "ethtool-S.txt", "tx_prio3_pause: 0", "tx_prio3_pause: 9912331"),
        swap(_H + "ethtool-S.txt", "tx_prio3_pause_duration: 0", "tx_prio3_pause_duration: 47712331"),
        symptom="slow",
    ),
    fault(
        "gid_lost",
        "rdma_gid: gid_wrong",
        HOST,
        "facts: nic, show_gids; RFC 4291 2.5.6",
        swap(
            _H + "show_gids.txt",
            "mlx5_0	1	2	0000:0000:0000:0000:0000:ffff:c000:021{n}	192.0.2.1{n}  	v1	ens224\n"
            "mlx5_0	1	3	0000:0000:0000:0000:0000:ffff:c000:021{n}	192.0.2.1{n}  	v2	ens224\nn_gids_found=4",
            "n_gids_found=2",
        ),
        symptom="retry",
    ),
    fault(
        "gid_index_wrong",
        "rdma_gid: gid_wrong",
        JOB,
        "NVIDIA/nccl issue 426",
        add(
            "job/job.log",
            "{host}:40{n}:41{n} [0] NCCL INFO NCCL_IB_GID_INDEX set by environment to 1.",
            "{host}:40{n}:41{n} [0] NCCL WARN NET/IB : Got completion from peer 192.0.2.11<40101> with status=12 "
            "opcode=0 len=0 vendor err 129 (Send) localGid fe80::250:56ff:fe00:{n} remoteGids fe80::250:56ff:fe00:1",
        ),
        symptom="gone",
    ),
    fault(
        "gid_moved",
        "rdma_gid: gid_moved",
        JOB,
        "NVIDIA/nccl issues 1333, 1819",
        add(
            "job/job.log",
            "{host}:40{n}:41{n} [0] NCCL WARN NET/IB : mlx5_0:1 Got async event : GID table change",
            "{host}:40{n}:41{n} [0] NCCL WARN Call to ibv_modify_qp failed with 61 No data available",
        ),
        symptom="gone",
    ),
    fault(
        "gid_sparse",
        "rdma_gid: gid_sparse",
        JOB,
        "NVIDIA/nccl issue 1573",
        add(
            "job/job.log",
            "{host}:40{n}:41{n} [0] NCCL WARN NET/IB: read failed in ncclIbRoceGetVersionNum: Invalid argument",
        ),
        symptom="gone",
    ),
)
