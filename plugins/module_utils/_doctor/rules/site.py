# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the outputs of a device say of its own state, where the bundle tells whose they are. Pure data."""

from __future__ import annotations

from typing import Match

from ..model import CANDIDATE, FACT, LIKELY, Compare, Rule, rule, sign
from .host_signs import small_lock

_GUEST, _CONTAINER, _SWITCH, _ESXI, _VM = (
    rf"(?:^|/){folder}/" for folder in ("hosts", "containers", "switches", "esxi", "vms")
)


def _many(match: Match[str]) -> bool:
    return int(match["count"]) >= 1000


SIGNS = (
    sign(
        "host_lock_small",
        r"(?:ulimit -l|max locked memory)\b[^0-9\n]{0,40}?(?P<value>\d+)\b",
        test=small_lock,
        piece=_GUEST,
    ),
    sign(
        "container_lock_small",
        r"(?:ulimit -l|max locked memory)\b[^0-9\n]{0,40}?(?P<value>\d+)\b",
        test=small_lock,
        piece=_CONTAINER,
    ),
    # setrlimit(2): 8 is RLIMIT_MEMLOCK.
    sign("memlock_refused", r"error setting rlimit type 8\b"),
    sign("container_shm_small", r"^\s*(?:shm|tmpfs)\s+64(?:M|\.0M|536|\.0MiB)?\s.*/dev/shm", piece=_CONTAINER),
    sign("host_no_rdma", r"No IB devices found|Failed to get IB devices list", piece=_GUEST),
    sign("container_no_rdma", r"/dev/infiniband.*No such|No IB devices found", piece=_CONTAINER),
    sign("host_silent", r"^unreachable: did not answer", FACT, piece=_GUEST),
    sign("port_down", r"PORT_DOWN|Link detected: no\b|\bLink (?:is )?down\b", piece=_GUEST),
    sign("link_speed_host", r"^\s*Speed: (?P<value>\d+)Mb/s", FACT, piece=_GUEST),
    sign("driver_version_host", r"Driver Version:\s*(?P<value>\d+\.[\d.]+)", FACT, piece=_GUEST),
    sign(
        "host_link_type_ib",
        r"LINK_TYPE_P\d\s+\S+\s+IB\(1\)\s+\S+|link_layer:\s+InfiniBand|LINK_TYPE_P\d\s+IB\(1\)\s*$",
        piece=_GUEST,
    ),
    sign("link_layer_host", r"link_layer:\s+(?P<value>Ethernet|InfiniBand)", FACT, piece=_GUEST),
    sign("nic_livefish", r"Livefish mode|Flash is corrupted|recovery mode.*(?:mlx|device)", piece=_GUEST),
    sign("nic_power_cycle", r"Please (?:power cycle|reboot) machine to load new config", piece=_GUEST),
    sign("pause_sent", r"^\s*tx_prio\d_pause:\s+(?P<count>\d+)", test=_many, piece=_GUEST),
    # These drivers choose the speed themselves, whatever the governor is called.
    sign(
        "governor",
        r"^(?!.*(?:\bintel_pstate|amd[-_]pstate[-_]epp):).*governor.{0,20}powersave",
        piece=_GUEST,
    ),
    sign("no_gpudirect", r"^GPUDirect: P2PDMA n, nvidia_peermem n\b", piece=_GUEST),
    sign("gpu_copy_behind", r"^GPU copy behind the others: rank", piece=_GUEST),
    sign("loopback_name", r"^getent: 127\.0\.\d+\.\d+\s+(?!localhost)", piece=_GUEST),
    sign(
        "firewall_drops",
        # A rule that drops what is INVALID is on many a host.
        r"^-P INPUT (?:DROP|REJECT)|^-A INPUT (?!.*(?:INVALID|-i lo\b)).*-j (?:DROP|REJECT)\b"
        r"|policy drop|\[UFW BLOCK\]",
        piece=_GUEST,
    ),
    sign("neighbour_failed", r"\bdev \S+\s+(?:lladdr \S+ )?(?:FAILED|INCOMPLETE)\b", piece=_GUEST),
    sign("gpu_driver_nouveau", r"Kernel driver in use: nouveau", piece=_GUEST),
    sign(
        "switch_not_lossless",
        r"RoCE mode\s*:\s*(?:disabled|none|not configured)|PFC \w*\s*mode\s*:\s*(?:off|disabled)"
        r"|trust mode\s*:\s*(?:L2|none|port)|ECN mode\s*:\s*(?:off|disabled)|PFC is not enabled on",
        piece=_SWITCH,
    ),
    sign(
        "switch_port_shut",
        r"Admin state\s*:\s*Disabled|err-?disabled|access vlan is the default|has not this port as member",
        piece=_SWITCH,
    ),
    # What roles read of a device and the inventory wants otherwise (facts.py).
    sign("switch_differs", r"^not as the inventory wants it, RoCE: ", piece=_SWITCH),
    sign("switch_differs_port", r"^not as the inventory wants it, port: ", piece=_SWITCH),
    sign("switch_differs_link", r"^not as the inventory wants it, link: ", piece=_SWITCH),
    sign("switch_differs_mtu", r"^not as the inventory wants it, MTU: ", piece=_SWITCH),
    sign("esxi_differs", r"^not as the inventory wants it, kernel: ", piece=_ESXI),
    sign("vm_differs", r"^not as the inventory wants it, VM: ", piece=_VM),
    sign("guest_no_heartbeat", r"^guest heartbeat: red", piece=_VM),
    sign("switch_mtu_1500", r"MTU\s*:\s*1500 bytes", piece=_SWITCH),
    sign("switch_discards", r"[rt]x discard packets\s*:\s*(?P<count>\d+)", test=_many, piece=_SWITCH),
    sign("switch_storm", r"PFC watchdog|storm detected", piece=_SWITCH),
    sign("switch_neighbour", r"LLDP mismatch", piece=_SWITCH),
    # The module esxi_kernel_setting, of a setting that the inventory wants.
    sign("esxi_unknown", r"kernel setting \S+: this host knows no such setting", piece=_ESXI),
    sign("esxi_ats_absent", r"atsSupport does not exist|Invalid Key.*atsSupport", piece=_ESXI),
    sign(
        "esxi_ats_runtime",
        r"atsSupport\s+Bool\s+(?:TRUE|FALSE)\s+FALSE",
        piece=_ESXI,
    ),
    sign("esxi_in_maintenance", r"Maintenance Mode: Enabled|Entering maintenance mode", piece=_ESXI),
    sign("esxi_power", r"Power Policy: Low Power", piece=_ESXI),
    # Balanced is what ESXi comes with, and nobody knows what somebody made of Custom.
    sign("esxi_power_default", r"Power Policy: (?:Balanced|Custom)", FACT, piece=_ESXI),
    sign("esxi_acs_redirect", r"ACSCtl:.*ReqRedir\+.*DirectTrans-", piece=_ESXI),
    sign("esxi_link_narrow", r"LnkSta:.*downgraded", piece=_ESXI),
    sign("esxi_no_passthrough", r"is not a passthrough device", piece=_ESXI),
    sign(
        "vm_key_off",
        r"pciPassthru\.(?:allowP2P|RelaxACSforP2P)\s*=\s*\"?FALSE"
        r"|^missing: pciPassthru\.(?:allowP2P|RelaxACSforP2P)",
        piece=_VM,
    ),
    sign("vm_off", r"^power state: (?:poweredOff|suspended)", piece=_VM),
    sign("vm_device_taken", r"PCIPassthru: Device \S+ is already in use|is already in use by another VM", piece=_VM),
    sign("vm_memory", r"memory reservation .*should be equal|Invalid memory setting", piece=_VM),
    sign("guest_stands", r"hard LOCKUP|Guest: .*panic", piece=_VM),
)

COMPARES = (
    Compare("link_speeds", "link_speed_host", "link_faulty", "nodes compared: speed of the link", CANDIDATE),
    Compare(
        "driver_versions", "driver_version_host", "driver_differs", "nodes compared: driver of the GPUs", CANDIDATE
    ),
    Compare("link_layers", "link_layer_host", "nic_firmware_setting", "nodes compared: link layer", CANDIDATE),
)


_TWO = "two facts: what the device says, and what the job suffers"
_WANTED = "two facts: what the device says, and what the inventory wants of it"


def _state(id: str, when: str, causes: str, source: str, explains: str = "") -> Rule:  # noqa: A002
    """A state that is right on some sites (a port that nobody uses, a default): a candidate."""
    return rule(id, when, CANDIDATE, causes, source, explains=explains)


def _wrong(id: str, when: str, causes: str, source: str, explains: str = "") -> Rule:  # noqa: A002
    """A state that is right on no site of this kind: likely."""
    return rule(id, when, CANDIDATE, causes, source, explains=explains, told=LIKELY)


_LINK = "port_down link_down link_flap ib_port_not_active wc_retry_exceeded"
_SUFFERS = "wc_retry_exceeded|modify_qp_timeout|connect_timeout|connect_refused|hang|ib_port_not_active"
_ATS = "ats_off slow"
_LOCK = "reg_mr_enomem create_enomem memlock_small"
_POWER_ON = "device_power_on vmx_power "

RULES = (
    _state("site_memlock_host", "host_lock_small", "memlock_host", "ulimit -l of the host"),
    rule(
        "site_memlock_host_seen",
        "host_lock_small reg_mr_enomem|create_enomem !container_lock_small",
        LIKELY,
        "memlock_host",
        _TWO,
        explains=_LOCK,
    ),
    _state("site_memlock_container", "container_lock_small", "container_memlock", "ulimit -l of the container"),
    rule(
        "site_memlock_container_seen",
        "container_lock_small reg_mr_enomem|create_enomem",
        LIKELY,
        "container_memlock",
        _TWO,
        explains=_LOCK,
    ),
    rule(
        "memlock_refused",
        "memlock_refused",
        LIKELY,
        "container_memlock",
        "runc: it may not raise RLIMIT_MEMLOCK to what the container asks for",
        explains=_LOCK + " container_lock_small container_down",
    ),
    _state("site_shm", "container_shm_small", "container_shm", "df of the container"),
    rule(
        "site_shm_seen",
        "container_shm_small shm_full",
        LIKELY,
        "container_shm",
        _TWO,
        explains="shm_full shm_small disk_full",
    ),
    _state("site_no_rdma", "host_no_rdma", "guest_ofed_mismatch passthrough_device", "ibv_devinfo of the host"),
    _state("site_no_devices", "container_no_rdma", "container_devices", "/dev/infiniband of the container"),
    _state("site_link", "port_down !switch_port_shut", "link_faulty switch_port_off", "kernel and ethtool of the host"),
    _state("site_link_type", "host_link_type_ib", "nic_firmware_setting", "mlxconfig: LINK_TYPE_P1"),
    _wrong("site_livefish", "nic_livefish", "nic_firmware_fault", "mlxconfig: the flash does not run"),
    _wrong("site_power_cycle", "nic_power_cycle", "nic_firmware_setting", "mlxconfig: Next Boot differs from Current"),
    _state("site_pause", "pause_sent", "host_slow_receiver", "IEEE 802.1Qbb: who pauses cannot take more"),
    _state(
        "site_governor",
        "governor",
        "numa_bios_setting",
        "kernel documentation: CPU performance scaling; intel_pstate and amd-pstate-epp choose the speed themselves",
    ),
    _state(
        "site_gpudirect",
        "no_gpudirect",
        "kernel_p2pdma peermem_missing",
        "kernel: drivers/pci/Kconfig; without it a NIC reaches GPU memory by nvidia_peermem alone",
    ),
    _state(
        "site_copy",
        "gpu_copy_behind",
        "gpu_pcie_degraded numa_bios_setting",
        "copies of alike GPUs from and to their hosts, measured by the job",
    ),
    _state("site_name", "loopback_name", "name_resolution", "getaddrinfo(3): others are sent to their own loopback"),
    _state("site_firewall", "firewall_drops", "firewall", "iptables -S; kernel log of ufw"),
    _state(
        "site_neighbour",
        "neighbour_failed !switch_port_shut",
        "host_out_of_reach switch_port_off",
        "ip-neighbour(8): nobody answers for this address",
    ),
    # A card that only shows a picture may run with it.
    _state("site_nouveau", "gpu_driver_nouveau", "driver_not_running", "lspci -k", "nouveau"),
    _state("site_lossless", "switch_not_lossless", "switch_pfc", "show roce of the switch"),
    # "~22.5 GB/s" may be as fast as it should be; retries that ran out are wrong everywhere.
    _state("site_lossless_slow", "switch_not_lossless slow", "switch_pfc", _TWO, "switch_pfc_off slow"),
    _wrong("site_lossless_lost", "switch_not_lossless wc_retry_exceeded", "switch_pfc", _TWO, "switch_pfc_off slow"),
    _wrong("site_roce", "switch_differs", "switch_pfc", _WANTED, "switch_not_lossless slow prio_discards"),
    _wrong(
        "site_port_wanted",
        "switch_differs_port",
        "switch_port_off",
        _WANTED,
        _LINK + " switch_port_shut neighbour_failed",
    ),
    _wrong(
        "site_link_wanted",
        "switch_differs_link !port_down",
        "link_faulty switch_port_off",
        _WANTED,
        _LINK + " neighbour_failed",
    ),
    _wrong("site_mtu_wanted", "switch_differs_mtu", "switch_mtu", _WANTED, "switch_mtu_1500"),
    _wrong("site_kernel_wanted", "esxi_differs", "esxi_setting", _WANTED, _ATS + " esxi_ats_runtime"),
    _wrong("site_kernel_unknown", "esxi_unknown", "esxi_setting", _WANTED, _ATS),
    _wrong("site_vm_wanted", "vm_differs", "passthrough_device", _WANTED, _ATS + " vm_key_off passthrough_said"),
    # The managed object VirtualMachine: "red" is no heartbeat, the guest may have stopped responding.
    _wrong("site_heartbeat", "guest_no_heartbeat", "kernel_fault", "vSphere API: VirtualMachine.guestHeartbeatStatus"),
    _state("site_port", "switch_port_shut", "switch_port_off", "show interfaces of the switch"),
    _wrong(
        "site_port_host",
        f"switch_port_shut port_down|neighbour_failed {_SUFFERS}",
        "switch_port_off",
        "three facts: a port that is shut, a host without a link, and a job that suffers (else nobody may use them)",
        _LINK + " switch_port_down switch_vlan neighbour_failed routes_said",
    ),
    _state("site_mtu", "switch_mtu_1500", "switch_mtu", "show interfaces of the switch"),
    _state("site_discards", "switch_discards", "switch_pfc", "counters of the switch"),
    _state("site_storm", "switch_storm", "switch_pfc", "log of the switch"),
    _wrong("site_lldp", "switch_neighbour", "link_faulty", "LLDP of the switch", "cable_wrong_port"),
    _wrong("site_ats_absent", "esxi_ats_absent ats_off|slow", "esxi_setting", "esxcli of the host", _ATS),
    _state("site_ats", "esxi_ats_runtime", "esxi_setting", "esxcli: what the host runs with"),
    _state("site_maintenance", "esxi_in_maintenance", "esxi_setting", "esxcli of the host"),
    _state("site_power", "esxi_power", "esxi_setting", "power policy of the host"),
    _state("site_power_slow", "esxi_power_default slow", "esxi_setting", _TWO),
    _state("site_acs", "esxi_acs_redirect", "acs_redirects", "lspci of the ESXi host"),
    _state("site_narrow", "esxi_link_narrow", "gpu_pcie_degraded", "lspci of the ESXi host"),
    # Other devices of the host say so, too, and a log is older than what was mended since.
    _state("site_passthrough", "esxi_no_passthrough", "passthrough_device", "vmkernel.log", "passthrough_said"),
    _wrong("site_keys", "vm_key_off ats_off|slow", "passthrough_device", "VMX file", _ATS + " passthrough_said"),
    _state(
        "site_vm_off",
        "vm_off !vm_device_taken|vm_memory|mmio_pages",
        "passthrough_device mmio_window memory_reservation",
        "power state in vCenter: a VM of the job is off, its log says why",
    ),
    _state("site_taken", "vm_device_taken", "passthrough_device", "vmware.log", _POWER_ON + "passthrough_said"),
    _wrong("site_reserved", "vm_memory", "memory_reservation", "vmware.log", _POWER_ON + "memory_reserved"),
    _wrong("site_guest", "guest_stands", "kernel_fault", "vmware.log: what the guest's screen says", "kernel_fault"),
)
