# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read-only commands that decide between causes, and what one suspects of a job that only suffers. Pure data.

A look is one line for one kind of machine; where the machine is not known yet, for all of that kind
(``ansible gpu_vms -b -m ansible.builtin.shell -a ...``). ``shows``: causes that stand in its output if they are there;
with a question mark, those that often do not. ``pieces``: names of what it prints, as ``collect`` and playbook
``doctor`` lay them out. ``heard``: signs that tell that such an output is in a loose log.
"""

from __future__ import annotations

from ..model import Look

GUEST, CONTAINER, SWITCH, ESXI, VM, JOB = "hosts", "containers", "switches", "esxi", "vms", "job"
PLACES = {
    GUEST: "on the hosts",
    CONTAINER: "in the containers, by way of docker exec",
    SWITCH: "on the switch",
    ESXI: "on the ESXi hosts",
    VM: "on the ESXi hosts, in the folders of the VMs",
    JOB: "in what the job printed",
}

# How likely a cause stands in the output of a command that can show it.
SURELY, OFTEN = 0.9, 0.4


def look(  # noqa: PLR0917
    id: str,  # noqa: A002
    place: str,
    run: str,
    pieces: str,
    shows: str,
    heard: str = "",
    cost: int = 1,
) -> Look:
    chances = {cause.rstrip("?"): OFTEN if cause.endswith("?") else SURELY for cause in shows.split()}
    return Look(id, place, PLACES[place], run, cost, tuple(pieces.split()), chances, tuple(heard.split()))


# In the order of a check list, from the job's own machines to others: the fixed order that docs/questions.md compares
# with.
LOOKS: tuple[Look, ...] = (
    look(
        "job_log",
        JOB,
        "the whole log of the job, of all ranks, with NCCL_DEBUG=INFO",
        "*",
        "launch_failed mpi_transport application_failed app_collective_mismatch app_gpu_memory app_gpu_shared"
        " app_illegal_access app_fork peer_process_gone foreign_client gid_moved gid_sparse container_libraries"
        " container_caps container_image_cuda nccl_bug gdr_broken gdr_distance",
        "init_start init_end remote_closed watchdog",
    ),
    look(
        "job_env",
        CONTAINER,
        "env | grep -E 'NCCL|UCX|OMPI|CUDA|MASTER'; cat /etc/nccl.conf; NCCL_DEBUG=VERSION of the program",
        "env version",
        "vars_wrong nccl_mixed",
    ),
    look(
        "container",
        CONTAINER,
        "docker ps --all; docker exec NAME sh -c 'ulimit -l; df -h /dev/shm; ls /dev/infiniband; nvidia-smi'",
        "docker ulimit df shm devices nvidia-smi containers",
        "container_memlock container_shm container_devices container_gpu_taken container_no_gpu container_down",
    ),
    look(
        "limits",
        GUEST,
        "ulimit -l; ulimit -n; df -h; grep -E 'Cma|Available' /proc/meminfo",
        "ulimit shm df meminfo",
        "memlock_host kernel_pinning limits_host?",
        "memlock_small memlock_unlimited",
    ),
    look(
        "kernel_log",
        GUEST,
        "dmesg -T",
        "dmesg answer",
        "gpu_fault gpu_error_contained driver_bug kernel_fault peermem_abi nic_firmware_fault container_memory"
        " app_host_memory nvml_mismatch? driver_not_running? guest_ofed_mismatch? peermem_missing? link_faulty?"
        " limits_host? container_gpu_taken? mmio_window? firewall? application_failed?",
        "taint kernel_ok mlx5_ok xid_hardware kernel_fault",
    ),
    look(
        "gpu",
        GUEST,
        "nvidia-smi; nvidia-smi -q -d PERFORMANCE,ECC,ROW_REMAPPER; systemctl status nvidia-fabricmanager",
        "nvidia-smi nvidia-smi-q fabricmanager",
        "gpu_throttled nvml_mismatch driver_not_running driver_differs driver_too_old fabric_manager app_gpu_shared"
        " gpu_fault?",
        "smi_driver nvml_mismatch driver_down",
    ),
    look(
        "rdma",
        GUEST,
        "ibv_devinfo; show_gids",
        "ibv_devinfo show_gids",
        "guest_ofed_mismatch gid_wrong gid_moved mtu_differs ib_subnet link_faulty? nic_firmware_setting?",
        "gids_routable gids_link_local_only",
    ),
    look(
        "kernel",
        GUEST,
        "lsmod | grep -E 'peermem|ib_core|mlx5'; grep P2PDMA /boot/config-$(uname -r); cpupower frequency-info;"
        " numactl -H",
        "lsmod kernel-config kernel cpupower",
        "peermem_missing kernel_p2pdma numa_bios_setting",
    ),
    look(
        "nic",
        GUEST,
        "ethtool NIC; ethtool -S NIC; mlnx_qos -i NIC; grep . /sys/class/infiniband/*/ports/1/hw_counters/*",
        "ethtool ethtool-S hw_counters mlnx_qos qos",
        "link_faulty nic_qos_differs host_slow_receiver",
        "link_speed_low prio_discards",
    ),
    look(
        "addresses",
        GUEST,
        "ip link; ip route; ip neigh; getent hosts $(hostname)",
        "ip-link ip-route ip-neigh getent routes links",
        "wrong_interface host_out_of_reach name_resolution mtu_differs",
        "link_mtu",
    ),
    look("firewall", GUEST, "iptables -S; nft list ruleset", "firewall", "firewall"),
    look(
        "pcie",
        GUEST,
        "lspci -vv | grep -E '^[0-9a-f]|LnkSta:|ATSCtl|driver in use';"
        " mlxconfig -d DEVICE -e query ATS_ENABLED LINK_TYPE_P1",
        "lspci mlxconfig",
        "nic_firmware_setting esxi_setting? passthrough_device? acs_redirects? nic_firmware_fault? driver_not_running?",
        "ats_on ats_off ats_nic_off ats_nic_pending",
    ),
    look(
        "switch_qos",
        SWITCH,
        "show roce; show interfaces ethernet counters (NVUE: nv show interface qos; nv show interface counters)",
        "roce counters",
        "switch_pfc",
        cost=2,
    ),
    look(
        "switch_ports",
        SWITCH,
        "show interfaces ethernet; show vlan; show lldp remote; show log (NVUE: nv show interface)",
        "interfaces vlan log",
        "switch_port_off switch_mtu link_faulty? switch_pfc?",
        cost=2,
    ),
    look(
        "esxi",
        ESXI,
        "esxcli system settings kernel list -o atsSupport; esxcli system maintenanceMode get; esxcli hardware power"
        " policy; lspci -vvv | grep -E '^[0-9a-f]|ACSCtl|LnkSta:'; esxcli hardware pci pcipassthru list;"
        " tail -200 /var/log/vmkernel.log",
        "kernel maintenance power vmkernel.log site lspci pcipassthru",
        "esxi_setting acs_redirects gpu_pcie_degraded passthrough_device?",
        cost=2,
    ),
    look(
        "vm",
        VM,
        "grep -E 'PCIPassthru|power|Memory|Guest' vmware.log; cat VM.vmx",
        "vmware.log vmx",
        "mmio_window memory_reservation passthrough_device kernel_fault?",
        cost=2,
    ),
)

# A job that only suffers: what one suspects then, and how often that is it. From public threads and the field's
# troubleshooting guides; 4 is the first thought, 2 is common, 1 is usual, 0.5 is rare. Of several symptoms the first
# one here counts: the others follow from it.
SUSPECTS: dict[str, dict[str, float]] = {
    # Nobody acknowledges RDMA packets.
    "lost": {
        **dict.fromkeys(("link_faulty", "switch_port_off", "gid_wrong"), 2.0),
        **dict.fromkeys(("mtu_differs", "switch_mtu", "wrong_interface", "nic_firmware_fault", "switch_pfc"), 1.0),
        **dict.fromkeys(("host_out_of_reach", "nic_qos_differs", "firewall"), 0.5),
    },
    # Nobody answers TCP.
    "unreached": {
        **dict.fromkeys(("firewall", "wrong_interface"), 2.0),
        **dict.fromkeys(("host_out_of_reach", "name_resolution", "launch_failed"), 1.0),
        **dict.fromkeys(("switch_port_off", "link_faulty", "kernel_fault"), 0.5),
    },
    "slow": {
        **dict.fromkeys(("nic_qos_differs", "switch_pfc"), 4.0),
        **dict.fromkeys(("link_faulty", "nic_firmware_setting", "acs_redirects"), 2.0),
        **dict.fromkeys(("esxi_setting",), 1.5),
        **dict.fromkeys(("peermem_missing", "gpu_throttled", "vars_wrong", "passthrough_device"), 1.0),
        **dict.fromkeys(("numa_bios_setting", "peermem_abi", "gpu_pcie_degraded", "host_slow_receiver"), 0.5),
        **dict.fromkeys(("kernel_p2pdma", "mtu_differs", "container_devices"), 0.5),
    },
    "gone": {
        **dict.fromkeys(("gpu_fault", "limits_host", "driver_not_running"), 2.0),
        **dict.fromkeys(("fabric_manager", "guest_ofed_mismatch", "container_memory", "container_down"), 1.0),
        **dict.fromkeys(("nvml_mismatch", "driver_bug", "container_no_gpu", "nccl_mixed", "nic_firmware_fault"), 1.0),
        **dict.fromkeys(("passthrough_device", "mmio_window", "memory_reservation", "esxi_setting"), 1.0),
        **dict.fromkeys(("driver_differs", "container_gpu_taken", "nic_firmware_setting", "kernel_fault"), 0.5),
    },
    "hang": {
        **dict.fromkeys(("kernel_fault", "firewall", "wrong_interface"), 2.0),
        **dict.fromkeys(("gpu_fault", "name_resolution", "application_failed", "limits_host"), 1.0),
        **dict.fromkeys(("esxi_setting", "nccl_mixed", "link_faulty", "switch_port_off"), 0.5),
    },
}
# Signs of a job that suffers -> which of these it is.
SUFFERS: dict[str, str] = {
    "wc_retry_exceeded": "lost",
    "modify_qp_timeout": "lost",
    "connect_timeout": "unreached",
    "connect_refused": "unreached",
    "no_route": "unreached",
    "slow": "slow",
    "remote_closed": "gone",
    "nccl_trail": "gone",
    "watchdog": "hang",
    "hang": "hang",
}
# Facts that are no fault by themselves, and what one suspects beside them.
CLUES: dict[str, dict[str, float]] = {
    # In a VM peer-to-peer is translated: host, keys of the VM and NIC have to allow it, all three.
    "ats_off": {"nic_firmware_setting": 2.0, "esxi_setting": 2.0, "passthrough_device": 1.0, "acs_redirects": 1.0},
    # NCCL names the GIDs of a connection that failed, and one of them is not routed.
    "gid_link_local": {"gid_wrong": 2.0},
    "host_silent": {
        **dict.fromkeys(("kernel_fault", "passthrough_device", "esxi_setting"), 2.0),
        **dict.fromkeys(("mmio_window", "memory_reservation", "switch_port_off"), 1.0),
    },
}
# What a host says of the port at its other end: the switch says whether somebody shut it.
BEHIND: dict[str, str] = {
    "port_down": "switch_port_off",
    "link_down": "switch_port_off",
    "ib_port_not_active": "switch_port_off",
    "neighbour_failed": "switch_port_off",
}
