# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NIC, cable and switch: what may be wrong, where one looks, what puts it right. Pure data."""

from __future__ import annotations

from ..model import Cause

_MLX5 = "kernel: drivers/net/ethernet/mellanox/mlx5/core"

CAUSES = (
    Cause(
        "vf_without_guid",
        "nic_firmware",
        "A virtual function has no node GUID: rdma_cm and registrations fail on it.",
        "where the job runs, then on the host of the VF",
        "ibv_devinfo | grep -E 'hca_id|guid'",
        "on the host: ip link set PF vf N node_guid ... port_guid ..., then bind the VF's driver again "
        "(SR-IOV operator: a release that does it)",
        "ip-link(8): vf NUM node_guid, port_guid",
        cost=1,
        interrupts="what uses this VF",
    ),
    Cause(
        "link_faulty",
        "cabling",
        "The link is down, flaps or corrupts packets: cable, transceiver, port, or plugged into the wrong port.",
        "on the host, and on the switch port it hangs on",
        "ethtool NIC; ethtool -m NIC; ethtool -S NIC | grep -E 'phy|symbol"
        "|fcs'; mlxlink -d DEVICE -m -e; dmesg | grep -i link",
        "reseat or replace cable and transceiver; compare with a port that works",
        "IEEE 802.3 link states; mlxlink documentation",
        cost=2,
        interrupts="this link",
    ),
    Cause(
        "ib_subnet",
        "fabric_routing",
        "InfiniBand: no subnet manager brings the port up, or the ends are not members of one partition (PKey).",
        "on the host that is named",
        "ibstat (State, SM lid); sminfo; grep -H . /sys/class/infiniband/*/ports/1/pkeys/* | grep -v 0x0000",
        "start the subnet manager (one master per fabric); the same partition for all ports of the job",
        "InfiniBand Architecture: subnet management, partitions",
        cost=2,
    ),
    Cause(
        "switch_port_off",
        "switch_config",
        "The switch port is shut, in another VLAN, speed or FEC mode than the NIC.",
        "on the switch",
        "show interfaces status; show vlan; show lldp remote (NVUE: nv show interface)",
        "enable the port, same VLAN, speed and FEC on both ends",
        "switch manuals",
        role="switch",
        cost=2,
        interrupts="this port",
    ),
    Cause(
        "switch_pfc",
        "switch_config",
        "The switch does not treat the RoCE priority as lossless (PFC, trust, ECN), or its PFC "
        "watchdog drops that queue.",
        "on the switch",
        "show interfaces ethernet 1/1 counters pfc; show roce; show dcb priority-flow-control "
        "(NVUE: nv show interface swp1 qos roce)",
        "same lossless priority and trust L3 on every port of the path; find who sends the pause frames",
        "IEEE 802.1Qbb; switch manuals",
        role="switch",
        cost=2,
        interrupts="traffic of the port, briefly",
    ),
    Cause(
        "switch_mtu",
        "switch_config",
        "A switch port drops frames as large as the hosts send.",
        "on the switch",
        "show interfaces ethernet 1/1 "
        "| include MTU (NVUE: nv show interface swp1 link); from a host ping -M do -s 8972 PEER",
        "MTU 9216 on every port of the path",
        "RoCE packets carry the path MTU plus headers",
        role="switch",
        cost=2,
        interrupts="the port toggles on some systems",
    ),
    Cause(
        "mtu_differs",
        "nic_mtu",
        "The two ends have different MTUs (or the path is smaller than they think): small "
        "messages pass, large ones fail or hang.",
        "on every host",
        "ip link show NIC; ibv_devinfo | grep mtu; ping -M do -s 8972 PEER",
        "one MTU on all NICs of the job (9000, active_mtu 4096) and more on the switch",
        "InfiniBand specification: path MTU is the smaller of both ports; NCCL since 2.20 takes its own port's",
        role="guest",
        interrupts="the link, briefly",
    ),
    Cause(
        "nic_qos_differs",
        "nic_qos",
        "RoCE packets do not ride the lossless priority of this NIC: trust mode, DSCP map, PFC "
        "or traffic class of the job do not fit.",
        "on every host",
        "mlnx_qos -i NIC (or dcb pfc show dev NIC); ethtool -S NIC | grep prio; echo $NCCL_IB_TC",
        "mlnx_qos --trust dscp --pfc on the RoCE priority, kept over reboots, and NCCL_IB_TC = DSCP * 4 + 2",
        "NVIDIA: mlnx_qos; NCCL documentation, NCCL_IB_TC",
        role="guest",
        interrupts="traffic of the port, briefly",
    ),
    Cause(
        "nic_firmware_fault",
        "nic_firmware",
        "The NIC's firmware failed or does not answer its driver.",
        "on the host (in a VM also on the hypervisor)",
        "dmesg | grep mlx5_core; mstflint -d BDF q; devlink health",
        "update the firmware in a window; a cold start of the host clears it",
        _MLX5 + "/health.c, cmd.c",
        cost=2,
        interrupts="the host",
    ),
    Cause(
        "nic_firmware_setting",
        "nic_firmware",
        "A setting in the NIC's firmware is not what the path needs (ATS_ENABLED, LINK_TYPE, "
        "PCI_WR_ORDERING, SRIOV), or a "
        "firmware waits for a reset.",
        "where the NIC's physical function is",
        "mlxconfig -d DEVICE -e query ATS_ENABLED LINK_TYPE_P1 PCI_WR_ORDERING (look at Current)",
        "mlxconfig set, then restart the host, not only the VM",
        "mlxconfig documentation",
        role="guest",
        cost=2,
        interrupts="the host",
    ),
)
