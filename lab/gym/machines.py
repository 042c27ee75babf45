"""Faults of ESXi hosts, VMs, GPUs and their drivers."""

from __future__ import annotations

from .model import ESXI, HOST, Fault, add, fault, swap

_H = "hosts/{host}/"
_E = "esxi/{esx}/"
_V = "vms/{host}/"
_XID = "NVIDIA: XID errors"
_WHEN = "2026-02-01T09:58:00.000Z"
_ATS_GONE = swap(_H + "lspci.txt", "ATSCtl:	Enable+", "ATSCtl:	Enable-")
_NOT_ON = swap(
    _V + "vmware.log", "Transitioned vmx/execState/val to poweredOn", "Module 'DevicePowerOn' power on failed."
)
_SMI = "nvidia-smi.txt"
_SMI_TEXT = "| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |"
_SMI_REST = (
    "| N/A   33C    P0             68W / 400W |      0MiB / 81920MiB |      0%      Default |\n"
    "|  No running processes found                                                             |\n"
)


def _xid(name: str, number: str, text: str, cause: str = "gpu_hardware: gpu_fault") -> Fault:
    return fault(
        name,
        cause,
        HOST,
        _XID + ", " + number,
        add(_H + "dmesg.txt", f"[ 8120.10] NVRM: Xid (PCI:0000:0b:00): {number}, pid='<unknown>', {text}"),
        symptom="gone",
    )


FAULTS = (
    fault(
        "esxi_ats_pending",
        "esxi_host: esxi_setting",
        ESXI,
        "facts: vsphere, Configured against Runtime",
        swap(_E + "kernel.txt", "TRUE        TRUE     FALSE", "TRUE        FALSE    FALSE"),
        _ATS_GONE,
        symptom="slow",
        call=("vsphere", {"name": "kernel_set_ignored", "host": "{esx}", "setting": "atsSupport"}),
    ),
    fault(
        "esxi_ats_off",
        "esxi_host: esxi_setting",
        ESXI,
        "facts: vsphere, esxcli system settings kernel",
        swap(_E + "kernel.txt", "TRUE        TRUE     FALSE", "FALSE       FALSE    FALSE"),
        _ATS_GONE,
        symptom="slow",
    ),
    fault(
        "esxi_ats_absent",
        "esxi_host: esxi_setting",
        ESXI,
        "facts: vsphere, releases without atsSupport",
        swap(
            _E + "kernel.txt",
            "atsSupport  Bool  TRUE        TRUE     FALSE    Enable PCIe ATS support",
            "Invalid Key: atsSupport does not exist on this ESXi host: not supported by this release",
        ),
        _ATS_GONE,
        symptom="slow",
        call=("vsphere", {"name": "kernel_setting_absent", "host": "{esx}", "setting": "atsSupport"}),
    ),
    fault(
        "esxi_maintenance",
        "esxi_host: esxi_setting",
        ESXI,
        "VMware esxcli system maintenanceMode",
        swap(_E + "maintenance.txt", "Maintenance Mode: Disabled", "Maintenance Mode: Enabled"),
        symptom="gone",
    ),
    fault(
        "esxi_maintenance_stuck",
        "esxi_host: esxi_setting",
        ESXI,
        "VMware: DirectPath VMs cannot migrate (guide defect G7)",
        add(
            _E + "vmkernel.log",
            f"{_WHEN} Wa(180) vmkernel: Entering maintenance mode: cannot migrate, task in progress",
        ),
        symptom="hang",
        call=("vsphere", {"name": "maintenance_blocked", "host": "{esx}"}),
    ),
    fault(
        "esxi_power_policy",
        "esxi_host: esxi_setting",
        ESXI,
        "VMware: host power policy",
        swap(_E + "power.txt", "Power Policy: High Performance", "Power Policy: Low Power"),
        symptom="slow",
        call=("vsphere", {"name": "power_policy", "host": "{esx}", "policy": "low"}),
    ),
    fault(
        "esxi_acs",
        "pcie_acs: acs_redirects",
        ESXI,
        "NVIDIA/nccl issue 949; NVIDIA/nccl-tests issue 380",
        swap(_E + "lspci.txt", "EgressCtrl- DirectTrans+", "EgressCtrl- DirectTrans-"),
        symptom="slow",
    ),
    fault(
        "esxi_not_passthrough",
        "vm_passthrough: passthrough_device",
        ESXI,
        "Broadcom: device is not a passthrough device (hot plug)",
        add(
            _E + "vmkernel.log",
            f"{_WHEN} Wa(180) vmkernel: PCIPassthru: Device 0000:3b:00.0 is not a passthrough device",
        ),
        symptom="gone",
    ),
    fault(
        "vm_mmio_small",
        "vm_mmio: mmio_window",
        HOST,
        "Broadcom KB 323402; Dell 000199172",
        add(
            _V + "vmware.log",
            f"{_WHEN}| vmx| | I005: PCIPassthru: total number of pages needed (4206594) exceeds limit "
            f"(917504), failing",
        ),
        _NOT_ON,
        symptom="gone",
    ),
    fault(
        "vm_mmio_guest",
        "vm_mmio: mmio_window",
        HOST,
        "canonical/lxd issue 14381",
        add(
            _H + "dmesg.txt",
            "[    6.3] NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:",
            "[    6.3] NVRM: BAR0 is 0M @ 0x0 (PCI:0000:0b:00.0)",
        ),
        symptom="gone",
    ),
    fault(
        "vm_memory_not_reserved",
        "vm_memory: memory_reservation",
        HOST,
        "VMware: DirectPath I/O requirements",
        add(
            _V + "vmware.log",
            f"{_WHEN} In(05) vmx - Invalid memory setting: memory reservation (sched.mem.min) should be "
            f"equal to memsize",
        ),
        _NOT_ON,
        symptom="gone",
    ),
    fault(
        "vm_device_taken",
        "vm_passthrough: passthrough_device",
        HOST,
        "VMware: DirectPath I/O",
        add(
            _V + "vmware.log", f"{_WHEN} In(05) vmx - PCIPassthru: Device 0000:3b:00.0 is already in use by another VM"
        ),
        _NOT_ON,
        symptom="gone",
    ),
    fault(
        "vm_p2p_keys",
        "vm_passthrough: passthrough_device",
        HOST,
        "facts: vsphere, allowP2P; the guide, step VMX",
        swap(_V + "vmx", 'pciPassthru.allowP2P = "TRUE"', 'pciPassthru.allowP2P = "FALSE"'),
        _ATS_GONE,
        symptom="slow",
        call=("vsphere", {"name": "drop_key", "vm": "{host}", "key": "pciPassthru.allowP2P"}),
    ),
    fault(
        "vm_relax_acs",
        "vm_passthrough: passthrough_device",
        HOST,
        "facts: vsphere, RelaxACSforP2P; the guide, step VMX",
        swap(_V + "vmx", 'pciPassthru.RelaxACSforP2P = "TRUE"', 'pciPassthru.RelaxACSforP2P = "FALSE"'),
        _ATS_GONE,
        symptom="slow",
        call=("vsphere", {"name": "drop_key", "vm": "{host}", "key": "pciPassthru.RelaxACSforP2P"}),
    ),
    _xid("gpu_off_bus", "79", "name=<unknown>, GPU has fallen off the bus."),
    _xid("gpu_ecc", "48", "An uncorrectable double bit error (DBE) has been detected on GPU"),
    _xid("gpu_nvlink", "74", "NVLink: fatal error detected on link 2"),
    _xid("gpu_uncontained", "95", "Uncontained ECC error"),
    _xid("gpu_gsp", "119", "Timeout waiting for RPC from GSP0!", "gpu_driver: driver_bug"),
    fault(
        "gpu_remap_failed",
        "gpu_hardware: gpu_fault",
        HOST,
        "nvidia-smi(1): remapped rows",
        swap(
            _H + "nvidia-smi-q.txt", "Remapping Failure Occurred        : No", "Remapping Failure Occurred        : Yes"
        ),
        symptom="gone",
    ),
    fault(
        "gpu_hot",
        "gpu_hardware: gpu_throttled",
        HOST,
        "nvidia-smi(1): clocks event reasons",
        swap(
            _H + "nvidia-smi-q.txt",
            "HW Thermal Slowdown           : Not Active",
            "HW Thermal Slowdown           : Active",
        ),
        symptom="slow",
    ),
    fault(
        "gpu_power_brake",
        "gpu_hardware: gpu_throttled",
        HOST,
        "nvidia-smi(1): clocks event reasons",
        swap(
            _H + "nvidia-smi-q.txt",
            "HW Power Brake Slowdown       : Not Active",
            "HW Power Brake Slowdown       : Active",
        ),
        symptom="slow",
    ),
    fault(
        "gpu_pcie_narrow",
        "gpu_hardware: gpu_pcie_degraded",
        ESXI,
        "PCI Express: LnkSta against LnkCap; on the host, a VM's values are made up",
        add(_E + "lspci.txt", "		LnkSta:	Speed 16GT/s (ok), Width x4 (downgraded)"),
        symptom="slow",
    ),
    fault(
        "driver_mismatch",
        "gpu_driver: nvml_mismatch",
        HOST,
        "NVML: NVML_ERROR_LIB_RM_VERSION_MISMATCH",
        swap(_H + _SMI, _SMI_TEXT + "\n" + _SMI_REST, "Failed to initialize NVML: Driver/library version mismatch\n"),
        add(
            _H + "dmesg.txt",
            "[ 8120.1] NVRM: API mismatch: the client has the version 550.90.07, but this kernel module has "
            "the version "
            "550.54.15.",
        ),
        symptom="gone",
    ),
    fault(
        "driver_not_loaded",
        "gpu_driver: driver_not_running",
        HOST,
        "NVIDIA driver installation guide",
        swap(
            _H + _SMI,
            _SMI_TEXT + "\n" + _SMI_REST,
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
            "NVIDIA driver is installed and running.\n",
        ),
        symptom="gone",
    ),
    fault(
        "driver_secure_boot",
        "gpu_driver: module_not_signed",
        HOST,
        "kernel: module signing under lockdown",
        add(
            _H + "dmesg.txt",
            "[    6.1] Loading of unsigned module is rejected",
            "[    6.1] nvidia: Key was rejected by service",
        ),
        symptom="gone",
    ),
    fault(
        "driver_nouveau",
        "gpu_driver: driver_not_running",
        HOST,
        "NVIDIA driver installation guide: disabling nouveau",
        swap(_H + "lspci.txt", "	Kernel driver in use: nvidia", "	Kernel driver in use: nouveau"),
        symptom="gone",
    ),
    fault(
        "driver_other_version",
        "gpu_driver: driver_differs",
        HOST,
        "nodes compared",
        swap(
            _H + _SMI,
            "NVIDIA-SMI 550.54.15              Driver Version: 550.54.15",
            "NVIDIA-SMI 535.183.01             Driver Version: 535.183.01",
        ),
        symptom="gone",
    ),
    fault(
        "fabric_manager_stopped",
        "gpu_driver: fabric_manager",
        HOST,
        "pytorch/pytorch issue 35710; NVIDIA Fabric Manager user guide",
        swap(
            _H + "fabricmanager.txt",
            "nv-fabricmanager[1500]: Successfully configured all the available GPUs and NVSwitches to route "
            "NVLink traffic.",
            "nvidia-fabricmanager.service: inactive (dead)",
        ),
        swap(
            _H + "nvidia-smi-q.txt",
            "State                             : Completed",
            "State                             : In Progress",
        ),
        symptom="gone",
    ),
    fault(
        "fabric_manager_version",
        "gpu_driver: fabric_manager",
        HOST,
        "NVIDIA Fabric Manager user guide",
        swap(
            _H + "fabricmanager.txt",
            "nv-fabricmanager[1500]: Successfully configured all the available GPUs and NVSwitches to route "
            "NVLink traffic.",
            "fabric manager NVIDIA GPU driver interface version 550.90.07 don't match with driver version 550.54.15.",
        ),
        symptom="gone",
    ),
)
