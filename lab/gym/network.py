"""Faults of switch and cables."""

from __future__ import annotations

from .model import HOST, JOB, SWITCH, add, fault, swap

_SW = "switches/{switch}/"
_H = "hosts/{host}/"
_ONYX = "Onyx manual, "
_MLX5 = "kernel mlx5/core/"
_PORT_UP = "Eth1/{n}:\n  Admin state                      : Enabled\n  Operational state                : Up\n"
_LINK_LOST = (
    add(_H + "dmesg.txt", "[ 8110.331000] mlx5_core 0000:13:00.0 ens224: Link down"),
    swap(_H + "ethtool.txt", "Link detected: yes", "Link detected: no"),
    swap(_H + "ibv_devinfo.txt", "PORT_ACTIVE (4)", "PORT_DOWN (1)"),
)

FAULTS = (
    fault(
        "switch_roce_off",
        "switch_config: switch_pfc",
        SWITCH,
        _ONYX + "show roce; NVIDIA/nccl issue 378",
        swap(_SW + "roce.txt", "RoCE mode           : lossless", "RoCE mode           : disabled"),
        swap(_SW + "roce.txt", "PFC admin mode      : on", "PFC admin mode      : off"),
        symptom="slow",
    ),
    fault(
        "switch_pfc_off",
        "switch_config: switch_pfc",
        SWITCH,
        _ONYX + "show dcb priority-flow-control",
        swap(_SW + "roce.txt", "PFC admin mode      : on", "PFC admin mode      : off"),
        symptom="slow",
        call=("switch", {"name": "pfc_off", "port": "{port}"}),
    ),
    fault(
        "switch_trust_l2",
        "switch_config: switch_pfc",
        SWITCH,
        _ONYX + "show qos",
        swap(_SW + "roce.txt", "trust mode          : L3", "trust mode          : L2"),
        symptom="slow",
    ),
    fault(
        "switch_ecn_off",
        "switch_config: switch_pfc",
        SWITCH,
        _ONYX + "show roce",
        swap(_SW + "roce.txt", "ECN mode            : on", "ECN mode            : off"),
        symptom="slow",
    ),
    fault(
        "switch_exception",
        "switch_config: switch_pfc",
        SWITCH,
        _ONYX + "show roce: exceptions",
        add(_SW + "roce.txt", "Exception list      : Eth1/{n} PFC is not enabled on the switch port"),
        symptom="slow",
        call=("switch", {"name": "exception", "text": "Eth{port} PFC is not enabled"}),
    ),
    fault(
        "switch_port_shut",
        "switch_config: switch_port_off",
        SWITCH,
        _ONYX + "show interfaces ethernet",
        swap(_SW + "interfaces.txt", _PORT_UP, _PORT_UP.replace("Enabled", "Disabled").replace(": Up", ": Down")),
        *_LINK_LOST,
        symptom="retry",
    ),
    fault(
        "switch_err_disabled",
        "switch_config: switch_port_off",
        SWITCH,
        "switch manuals: bpduguard",
        swap(_SW + "interfaces.txt", _PORT_UP, _PORT_UP.replace(": Up", ": Down")),
        add(_SW + "log.txt", "%PORT-5: Eth1/{n} err-disabled: bpdu-guard"),
        *_LINK_LOST,
        symptom="retry",
    ),
    fault(
        "switch_vlan",
        "switch_config: switch_port_off",
        SWITCH,
        "IEEE 802.1Q; " + _ONYX + "show vlan",
        add(_SW + "log.txt", "Eth1/{n}: access vlan is the default, vlan 100 has not this port as member"),
        add(_SW + "vlan.txt", "1       default    Eth1/{n}"),
        add(_H + "ip-neigh.txt", "192.0.2.1 dev ens224  FAILED"),
        symptom="retry",
    ),
    fault(
        "switch_mtu",
        "switch_config: switch_mtu",
        SWITCH,
        "facts: switch, MTU 9216",
        swap(
            _SW + "interfaces.txt",
            _PORT_UP + "  MTU                              : 9216 bytes(Maximum packet size 9238 bytes)",
            _PORT_UP + "  MTU                              : 1500 bytes(Maximum packet size 1522 bytes)",
        ),
        symptom="retry",
    ),
    fault(
        "switch_drops",
        "switch_config: switch_pfc",
        SWITCH,
        _ONYX + "show interfaces ethernet counters",
        swap(
            _SW + "counters.txt",
            "Eth1/{n} counters:\n  rx discard packets               : 0\n  tx discard packets               : 0",
            "Eth1/{n} counters:\n  rx discard packets               : 0\n  tx discard packets               : 48211",
        ),
        symptom="slow",
        call=("switch", {"name": "counters", "port": "{port}", "tx_discards": 48211}),
    ),
    fault(
        "switch_pfc_watchdog",
        "switch_config: switch_pfc",
        SWITCH,
        "switch manuals: PFC watchdog",
        add(_SW + "log.txt", "PFC watchdog: storm detected on Eth1/{n} queue 3, queue is dropped"),
        symptom="retry",
    ),
    fault(
        "cable_unplugged",
        "cabling: link_faulty",
        HOST,
        _MLX5 + "events.c, port module events",
        add(_H + "dmesg.txt", "[ 8110.330000] mlx5_core 0000:13:00.0: Port module event: module 0, Cable unplugged"),
        *_LINK_LOST,
        symptom="retry",
        call=("switch", {"name": "link_down", "port": "{port}"}),
    ),
    fault(
        "link_flaps",
        "cabling: link_faulty",
        HOST,
        _MLX5 + "en_main.c; NVIDIA/nccl issue 905",
        add(
            _H + "dmesg.txt",
            "[ 8110.330000] mlx5_core 0000:13:00.0 ens224: Link down",
            "[ 8112.330000] mlx5_core 0000:13:00.0 ens224: Link up",
        ),
        swap(_H + "ethtool-S.txt", "link_down_events_phy: 0", "link_down_events_phy: 14"),
        add("job/job.log", "{host}:40{n}:41{n} [0] NCCL WARN NET/IB : mlx5_0:1 Got async event : port error"),
        symptom="retry",
    ),
    fault(
        "cable_symbol_errors",
        "cabling: link_faulty",
        HOST,
        "NVIDIA mlx5 ethtool counters: rx_symbol_err_phy",
        swap(_H + "ethtool-S.txt", "rx_symbol_err_phy: 0", "rx_symbol_err_phy: 918221"),
        symptom="slow",
    ),
    fault(
        "cable_crc_errors",
        "cabling: link_faulty",
        HOST,
        "NVIDIA mlx5 ethtool counters: rx_crc_errors_phy",
        swap(_H + "ethtool-S.txt", "rx_crc_errors_phy: 0", "rx_crc_errors_phy: 77123"),
        symptom="retry",
    ),
    fault(
        "transceiver_unsupported",
        "cabling: link_faulty",
        HOST,
        _MLX5 + "events.c, port module errors",
        add(
            _H + "dmesg.txt",
            "[ 8110.330000] mlx5_core 0000:13:00.0: Port module event[error]: module 0, Cable error, Unsupported cable",
        ),
        symptom="retry",
    ),
    fault(
        "transceiver_hot",
        "cabling: link_faulty",
        HOST,
        _MLX5 + "events.c, port module errors",
        add(
            _H + "dmesg.txt",
            "[ 8110.330000] mlx5_core 0000:13:00.0: Port module event[error]: module 0, Cable error, High Temperature",
        ),
        symptom="slow",
    ),
    fault(
        "link_speed",
        "cabling: link_faulty",
        HOST,
        "ethtool(8); nodes compared",
        swap(_H + "ethtool.txt", "Speed: 100000Mb/s", "Speed: 25000Mb/s"),
        symptom="slow",
    ),
    fault(
        "cable_wrong_port",
        "cabling: link_faulty",
        SWITCH,
        "IEEE 802.1AB; facts: switch, LLDP guard",
        add(_SW + "log.txt", "LLDP mismatch: Eth1/{n} expected {host}, neighbor is another system"),
        symptom="retry",
    ),
    fault(
        "rails_apart",
        "fabric_routing: no_path_between_nics",
        JOB,
        "NVIDIA/nccl issue 2013; ROCm/rccl issue 1303",
        add(
            "job/job.log",
            "{host}:40{n}:41{n} [0] ibvwrap.c:262 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed "
            "out, on dev mlx5_1:1, curr state INIT, next state RTR, local GID index 3",
            "{host}:40{n}:41{n} [0] NCCL INFO the subnets of these NICs are different subnets, rails are not joined",
        ),
        symptom="gone",
    ),
)
