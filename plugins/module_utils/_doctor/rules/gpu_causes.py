# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs: what may be wrong, where one looks, what puts it right. Pure data."""

from __future__ import annotations

from ..._judge.xids import CATALOGUE
from ..model import Cause

_XID = "NVIDIA: XID errors (" + CATALOGUE + ")"

CAUSES = (
    Cause(
        "gpu_fault",
        "gpu_hardware",
        "A GPU failed in hardware (memory, NVLink, bus, power), whatever other ranks say.",
        "on the host that is named",
        "dmesg | grep -i xid; nvidia-smi -q -d ECC,ROW_REMAPPER,PERFORMANCE; nvidia-smi topo -m",
        "drain the host; reset the GPU or restart the host; replace it if the Xid comes back",
        _XID,
        interrupts="the jobs on this host",
    ),
    Cause(
        "gpu_error_contained",
        "gpu_hardware",
        "An uncorrectable error in the memory of a GPU ended the program that met it; the GPU goes on.",
        "on the host that is named",
        "dmesg | grep -i xid; nvidia-smi -q -d ECC,ROW_REMAPPER",
        "start the program again; reset the GPU in the next window, so that the row is remapped",
        _XID + ": 94",
        interrupts="nothing now; the reset: the jobs on this GPU",
    ),
    Cause(
        "gpu_pcie_degraded",
        "gpu_hardware",
        "A PCIe link of a GPU or NIC runs narrower or slower than both ends can.",
        "on the physical host (a VM may show made-up values)",
        "lspci -vv | grep -E 'LnkCap:|LnkSta:'; nvidia-smi -q | grep -A8 'GPU Link Info' (under load)",
        "reseat the card or riser; check slot and bifurcation in the BIOS",
        "PCI Express: LnkSta against LnkCap",
        interrupts="the host",
        cost=2,
    ),
    Cause(
        "gpu_throttled",
        "gpu_hardware",
        "The GPU is slowed down by heat or power.",
        "on the host that is named",
        "nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE",
        "airflow, power supply, power limit",
        "nvidia-smi: clocks event reasons",
        interrupts="nothing",
    ),
    Cause(
        "nvml_mismatch",
        "gpu_driver",
        "The loaded kernel module and the installed user space of the NVIDIA driver are of different versions.",
        "on the host that is named",
        "cat /proc/driver/nvidia/version; dpkg -l | grep nvidia; tail /var/log/apt/history.log",
        "restart the guest (or reload the module) in a window; hold the driver's packages",
        "NVML: NVML_ERROR_LIB_RM_VERSION_MISMATCH",
        interrupts="the jobs on this host",
    ),
    Cause(
        "driver_differs",
        "gpu_driver",
        "The hosts do not run the same driver of the GPUs.",
        "on every host",
        "nvidia-smi --query-gpu=driver_version --format=csv",
        "one driver on all hosts of the job",
        "nodes compared; CUDA compatibility guide",
        interrupts="the jobs on this host",
    ),
    Cause(
        "vgpu_driver_differs",
        "gpu_driver",
        "The vGPU manager of the host and the driver in the guest are of releases that do not go together.",
        "in the guest, then on the ESXi host",
        "nvidia-smi --query-gpu=driver_version --format=csv; host: nvidia-smi vgpu; "
        "esxcli software vib list | grep -i nv",
        "guest driver of the same vGPU release as the manager (or of the branch before)",
        "NVIDIA vGPU release notes: compatibility of manager and guest driver",
        interrupts="the guest",
    ),
    Cause(
        "fabric_manager",
        "gpu_driver",
        "NVSwitch GPUs are not initialised: the fabric manager is missing, stopped, of another "
        "version than the driver, or was restarted without a reset of the GPUs. (NV_WARN_NOTHING_TO_DO: there is no "
        "NVSwitch and it is not needed.)",
        "on the host that is named",
        "systemctl status nvidia-fabricmanager; nvidia-smi -q | grep -A3 Fabric; dpkg -l "
        "| grep -E 'fabricmanager|nvidia-driver'",
        "install the fabric manager of just the driver's version, start it, then reset the GPUs or restart",
        "NVIDIA Fabric Manager user guide; CUDA_ERROR_SYSTEM_NOT_READY 802",
        interrupts="the jobs on this host",
    ),
    Cause(
        "driver_not_running",
        "gpu_driver",
        "The NVIDIA driver is not loaded or did not come up (not built for this kernel, unsigned "
        "under Secure Boot, nouveau in its place, GSP failed).",
        "on the host that is named",
        "nvidia-smi; lsmod | grep -E 'nvidia|nouveau'; dmesg | grep -E 'NVRM|nvidia"
        "|nouveau'; dkms status; mokutil --sb-state",
        "install the driver for the running kernel; blacklist nouveau; sign the module or turn off Secure Boot",
        "NVIDIA driver installation guide",
        interrupts="the guest",
    ),
    Cause(
        "driver_too_old",
        "gpu_driver",
        "The driver is older than the CUDA of the program wants.",
        "on the host that is named",
        "nvidia-smi (driver and newest CUDA it runs) against nvcc --version or torch.version.cuda",
        "newer driver, or an image for its CUDA",
        "CUDA compatibility guide",
        interrupts="the jobs on this host",
    ),
    Cause(
        "driver_bug",
        "gpu_driver",
        "The driver's own processor (GSP) or branch hangs: Xid 109, 119, 120.",
        "on the host that is named",
        "dmesg | grep -i xid; nvidia-smi -q | grep -i gsp",
        "newer driver branch; reset of the GPU",
        _XID,
        interrupts="the jobs on this host",
    ),
    Cause(
        "app_illegal_access",
        "application",
        "The program (or a kernel that it calls) reads or writes memory of the GPU that is not its own.",
        "where the program runs",
        "CUDA_LAUNCH_BLOCKING=1, then compute-sanitizer",
        "fix the program or take another version of the library",
        _XID + ": 13, 31 are most often the program's",
        cost=3,
    ),
)
