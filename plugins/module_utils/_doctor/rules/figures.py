# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings and states of NICs, bridges and windows that a line gives with their values. Pure data."""

from __future__ import annotations

from ..model import CANDIDATE, FACT, rule, sign

SIGNS = (
    # mlxconfig: functions are a setting of the firmware before they are one of the host.
    sign(
        "functions_off",
        r"\bSRIOV_EN\s+False|\bNUM_OF_VFS\s+0\b|sriov_totalvfs\W+0\b|total_vfs\W+0\b"
        r"|(?:does not|doesn't|don.?t|can(?:not|.?t)|unable to|failed to) create \w*\s*VFs?\b",
    ),
    # kernel: drivers/net/ethernet/mellanox/mlx5/core/cmd.c, cmd_status_str(), and what devlink asks of it.
    sign(
        "mlx5_command",
        r"\bbad (?:operation|parameter|system state|resource state|resource|index|input length|output length"
        r"|QP state)\s?\(0x|\bsyndrome \(0x|can't set eSwitch mode|eswitch mode .{0,40}(?:invalid|fail|not supported)",
    ),
    # kernel: drivers/pci/setup-res.c. A guest says it as well as a server.
    sign("bar_no_room", r"BAR \d+ ?(?:\[[^\]]*\])?: (?:no space|failed to assign|can't assign)"),
    sign("room_above", r"above ?4G|Resizable BAR|64-?bit ?MMIO\b|\b64MMIO\b", FACT),
    sign(
        "room_of_bios",
        r"\bBIOS\b.{0,120}(?:above ?4G|Resizable BAR)"
        r"|(?:above ?4G|Resizable BAR).{0,120}(?:\bBIOS\b|disabled|enabled?)",
        FACT,
    ),
    sign("netlink_refused", r"RTNETLINK answers"),
    sign("mtu_asked", r"\bmtu \d{4,5}\b|\bMTU (?:of |to )?\d{4,5}\b", FACT),
    sign(
        "rate_unsteady",
        r"\bhiccups?\b|\b(?:down|drops?|dropping|falls?|goes) to (?:almost |nearly |about )?(?:zero\b|0(?:\.\w+)?\b)"
        r"|\bfluctuat\w+|\bsaw-?tooth\w*",
    ),
    sign(
        "nic_nearer",
        r"\b(?:NIC|HCA|mlx5_)\s?\d+\b.{0,30}\b(?:closer|nearest|nearer|farther|further)\b",
    ),
    sign(
        "rails_by_subnet",
        r"\b(?:GPU|NIC|rail)\S*\b.{0,60}\b\d+\.\d+\.\d+\.[x\d]+/\d\d\b.{0,80}\b\d+\.\d+\.\d+\.[x\d]+/\d\d\b",
    ),
    # ESXi: the PCIe hot-plug driver of the vmkernel takes the slot of a device that is being reset.
    sign("esxi_hotplug", r"\bPCIEHP: .{0,80}(?:hotplug slot|Adapter removed|Device insertion)"),
)

RULES = (
    rule(
        "functions_off",
        "functions_off",
        CANDIDATE,
        "nic_firmware_setting passthrough_device numa_bios_setting",
        "mlxconfig documentation: SRIOV_EN, NUM_OF_VFS; after a change the firmware is reset",
    ),
    rule(
        "mlx5_command",
        "mlx5_command",
        CANDIDATE,
        "nic_firmware_setting guest_ofed_mismatch nic_firmware_fault",
        "kernel: drivers/net/ethernet/mellanox/mlx5/core/cmd.c: the firmware refuses a command in this state",
    ),
    rule(
        "bar_no_room",
        "bar_no_room",
        CANDIDATE,
        "mmio_window numa_bios_setting gpu_pcie_degraded",
        "kernel: drivers/pci/setup-res.c: no window above the device is large enough, that of a VM or of the BIOS",
    ),
    rule(
        "room_of_guest",
        "room_above room_of_bios|mmio_said in_vm|vm_host",
        CANDIDATE,
        "mmio_window",
        "OVMF: 64-bit PCI aperture; Broadcom KB 323402",
    ),
    rule(
        "netlink",
        "netlink_refused",
        CANDIDATE,
        "wrong_interface no_path_between_nics",
        "iproute2: what the kernel answers to a change of links, addresses or routes",
    ),
    rule(
        "mtu_refused",
        "netlink_refused mtu_asked",
        CANDIDATE,
        "mtu_differs",
        "ip-link(8): a size above what the driver or the upper device allows is refused",
    ),
    rule(
        "roce_unsteady",
        "rate_unsteady ethernet_wanted",
        CANDIDATE,
        "nic_qos_differs switch_pfc link_faulty",
        "NCCL maintainers on RoCE: rates that collapse and come back are packets that a lossy fabric drops",
    ),
    rule(
        "nic_nearer",
        "nic_nearer",
        CANDIDATE,
        "gdr_distance numa_bios_setting",
        "NCCL documentation, NCCL_TOPO_FILE: virtual bridges of PCIe switches hide who is near",
    ),
    rule(
        "rails_by_subnet",
        "rails_by_subnet",
        CANDIDATE,
        "no_path_between_nics gdr_distance wrong_interface",
        "NCCL maintainers: NICs are paired by place, not by subnet",
    ),
    rule(
        "esxi_hotplug",
        "esxi_hotplug",
        CANDIDATE,
        "esxi_setting passthrough_device",
        "HPE advisory a00121002en_us: PCIe hot-plug of the vmkernel removes passthrough devices",
    ),
)
