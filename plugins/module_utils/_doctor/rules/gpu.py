# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs: Xid errors, driver, fabric manager, NVML. Pure data."""

from __future__ import annotations

import re
from typing import Match

from ..._judge.xids import APPLICATION, CATALOGUE, DRIVER, GPU, NVLINK, numbers
from ..model import CANDIDATE, ECHO, FACT, LIKELY, QUIET, rule, sign

_XID = "NVIDIA: XID errors (" + CATALOGUE + ")"
_ERR = "CUDA driver API: CUresult"

# Denied; or what a policy or a condition names: that speaks of what may come.
_DENIED = re.compile(
    r"\b(?:no|not|without|zero)\b[^.;,]{0,30}$"
    r"|\b(?:if|unless|polic(?:y|ies)|watch(?:es|ing)?|alert(?:s|ing)? on|monitor(?:s|ing)? for)\b[^.;]{0,60}$",
    re.IGNORECASE,
)
_NONE = re.compile(r"\w*\s*(?:count\s*)?[:=]\s*(?:0|no|n/a)\b", re.IGNORECASE)


def _said(match: Match[str]) -> bool:
    """Said to be there: "no Xid 79" is none, and a counter at 0 is none."""
    return not _DENIED.search(match.string[: match.start()]) and not _NONE.match(match.string[match.end() :])


_XID_IS = r"\bXid\b(?: ?(?:error|code|event|id))?s?(?: ?\(PCI:(?P<device>[0-9a-f:.]+)\))?(?:: | |\(|=|:)+"


def _xids(cause: str, *at_fault: str) -> str:
    return _XID_IS + rf"(?P<value>{numbers((cause,), at_fault or (APPLICATION, GPU, NVLINK, DRIVER))})\b"


SIGNS = (
    sign(
        "xid_hardware",
        _xids("gpu_fault", GPU) + r"|fallen off the bus|uncorrectable ECC error"
        r"|double[- ]bit ECC error|Remapping Failure Occurred\s*: Yes|cudaErrorECCUncorrectable"
        r"|CUDA_ERROR_ECC_UNCORRECTABLE",
        test=_said,
    ),
    sign(
        "xid_link",
        _xids("gpu_fault", NVLINK) + r"|GPU is lost"
        r"|uncorrectable (?:NVLink|memory)|row remap\w* (?:failure|pending)|NVSwitch.*(?:fatal"
        r"|SXid)|SXid.*fatal|nvlink \d+.*(?:inactive|down)|NVLink.{0,20}(?:fatal|training) error"
        r"|cudaErrorNvlinkUncorrectable|uncorrectable_errors\W+[1-9]"
        rf"|caused by previous Xid (?:{numbers(('gpu_fault',), (NVLINK,))})\b",
        test=_said,
    ),
    sign(
        "xid_gsp",
        _xids("driver_bug") + r"|Timeout waiting for RPC from GSP|GSP (?:RPC"
        r"|firmware).*(?:time|fail|error)|kgspBootstrap|RmInitAdapter failed|_kgspProcessRpcEvent",
        test=_said,
    ),
    sign(
        "xid_contained",
        _xids("gpu_error_contained") + r"|CUDA_ERROR_CONTAINED|cudaErrorContained",
        test=_said,
    ),
    sign(
        "xid_application",
        _xids("app_illegal_access") + r"(?!.*caused by previous Xid)|\bMMU Fault|illegal memory access"
        r"|cudaErrorIllegalAddress|CUDA_ERROR_ILLEGAL_ADDRESS|misaligned address"
        r"|device-side assert",
        test=_said,
    ),
    # The GPU goes on: whatever else its line says, nothing is wrong now.
    sign("xid_recorded", _xids(""), QUIET),
    sign("xid_other", r"NVRM: Xid "),
    sign(
        "gpu_throttle",
        r"(?:HW|SW)? ?(?:Thermal|Power Brake|HW Slowdown"
        r"|SW Thermal) ?(?:Slowdown)?\s*: Active|thermal(?:ly)? throttl\w+|throttl\w+.*(?:thermal"
        r"|temperature|power)|GPU.{0,20}(?:overheat\w*|over temperature)|power brake"
        r"|clocks_(?:throttle|event)_reasons\.(?:hw_\w+|sw_thermal\w*)\W+Active|power excursion",
    ),
    sign(
        "pcie_degraded",
        r"LnkSta:.*(?:\(downgraded\)|Width x[1248]\b.*downgraded)|(?:PCIe|PCI express"
        r"|bus).{0,40}(?:x[1248]\b.{0,20}(?:instead|expected|of x16|rather)|degraded|downgraded)"
        r"|limited by .* x[1248] link|limited to .*PCIe|available PCIe bandwidth, limited",
    ),
    sign(
        "aer",
        r"AER:.*(?:error|fatal)|PCIe Bus Error: severity=(?:Uncorrected|Fatal|Corrected)"
        r"|Completion Timeout.*pcie|Bad(?:TLP|DLLP)\+|Hardware error from APEI",
    ),
    sign(
        "nvml_mismatch",
        r"Driver/library version mismatch|NVML_ERROR_LIB_RM_VERSION_MISMATCH"
        r"|API mismatch: the client has the version|RM version mismatch|nvml: .*version mismatch",
    ),
    sign(
        "nvrm_api_mismatch",
        r"API mismatch: the client has the version (?P<value>[\d.]+)"
        r"|this kernel module has the version",
    ),
    sign("nvml_unknown", r"Failed to initialize NVML: Unknown Error|NVML.*Unknown Error"),
    sign(
        "nvml_other",
        r"(?:Failed to initialize NVML|nvml\w*\(?\)? fail\w*|NVML: ).*(?:Not Found|not loaded"
        r"|Insufficient|library not)|NVML Shared Library Not Found"
        r"|libnvidia-ml\.so\S*: cannot open|could not load NVML|NVML library .*not found",
    ),
    sign("nvrm_versions", r"NVRM version: NVIDIA UNIX.*Kernel Module\s+(?P<value>[\d.]+)", FACT),
    sign("smi_driver", r"Driver Version:\s*(?P<value>\d+\.[\d.]+)", FACT),
    sign(
        "upgraded_driver",
        r"unattended-upgrade|Upgrade: .*(?:nvidia|libnvidia|cuda-drivers)|(?:upgraded?"
        r"|updated?) .{0,40}(?:nvidia|driver)",
        FACT,
    ),
    sign(
        "fabric_manager",
        r"system not yet initialized|CUDA_ERROR_SYSTEM_NOT_READY|cudaErrorSystemNotReady|(?:cuda"
        r"|error) ?(?:error|code)? ?[:=]? ?802\b|fabric ?manager.*(?:don'?t match|mismatch"
        r"|fail\w*|not (?:running|found|installed|started)|abort\w*|error|inactive|stopped"
        r"|missing|terminat\w*)|(?:fail\w*|error|not (?:running|found)|without"
        r"|missing).{0,40}fabric ?manager|nvidia-fabricmanager.*(?:failed|inactive|exit)"
        r"|Fabric\s+State\s*:\s*(?:In Progress|Not Started)"
        r"|fabric manager NVIDIA GPU driver interface version",
    ),
    sign(
        "nvls",
        r"\bnvls\b.*(?:invalid argument|fail\w*|error|WARN|CUDA failure|unsupported)|(?:WARN"
        r"|fail\w*).*\bnvls\b|multicast.*(?:bind|create|fail)|cuMulticast\w+"
        r"|Failed to bind NVLink SHARP|CUDA_ERROR_INVALID_VALUE.*multicast",
    ),
    # nvidia-smi: NVML has a handle of every GPU that answers.
    sign("gpu_no_handle", r"Unable to (?:determine|detect) the device handle for GPU"),
    # vGPU manager, in vmware.log and on KVM hosts.
    sign("vgpu_versions", r"Incompatible Guest/Host drivers|VGX version is (?:older|newer)|Disabling vGPU"),
    sign("fm_restarted", r"(?:restart\w*|reload\w*).{0,40}fabric ?manager|fabric ?manager.{0,40}restart\w*", FACT),
    sign(
        "driver_down",
        r"(?:nvidia\S* ?.*dkms|dkms.*nvidia).*(?:fail|bad exit)|var/lib/dkms/nvidia\S*make\.log"
        r"|NVIDIA-SMI has failed because it couldn't communicate|no NVIDIA driver"
        r"|Found no NVIDIA driver|NVIDIA driver .*(?:not (?:loaded|installed|running))"
        r"|Unable to load the kernel module '?nvidia"
        r"|modprobe: .*\bnvidia\b.*(?:not found|could not insert)|could not insert '?nvidia'?\b"
        r"|NVRM: (?:The NVIDIA kernel module was not|No NVIDIA (?:GPU|devices) "
        r"|GPU .*RmInitAdapter)|nvidia: (?:version magic|disagrees about|Unknown symbol"
        r"|module verification failed.*required key)|nvidia-persistenced.*failed|cuInit.*(?:999"
        r"|unknown error|CUDA_ERROR_UNKNOWN)|CUDA unknown error",
    ),
    sign(
        "secure_boot",
        r"Key was rejected by service|Required key not available|Lockdown:.*unsigned module"
        r"|module verification failed: signature.*(?:nvidia|mlx5|peermem)"
        r"|Loading of unsigned module is rejected|PKCS#7 signature not signed with a trusted key",
    ),
    sign(
        "nouveau",
        r"\bnouveau\b.*(?:loaded|in use|conflict\w*|already|bound|DRM|\[drm\]|unknown chipset"
        r"|probe|failed)|NVRM:.*nouveau|Kernel driver in use: nouveau",
    ),
    sign(
        "cuda_no_device",
        r"no CUDA-capable device|cudaErrorNoDevice|CUDA_ERROR_NO_DEVICE|No devices were found"
        r"|cuda(?:GetDeviceCount|\.is_available)\W+(?:returned 100|False|.*0 )"
        r"|sees no CUDA device|No CUDA GPUs are available",
    ),
    sign(
        "cuda_not_initialised",
        r"(?:CUDA_ERROR_NOT_INITIALIZED|cudaErrorInitializationError|initialization error"
        r"|cuInit\S* (?:failed|returned)).{0,40}\b3?\b|CUDA (?:driver )?initialization (?:failed"
        r"|error)|cuda failure 3\b|cuda failure.*initialization error",
    ),
    sign(
        "cuda_too_old",
        r"driver on your system is too old|driver version is insufficient"
        r"|cudaErrorInsufficientDriver|unsupported display driver ?/ ?cuda"
        r"|CUDA_ERROR_(?:COMPAT_NOT_SUPPORTED_ON_DEVICE|SYSTEM_DRIVER_MISMATCH"
        r"|UNSUPPORTED_PTX_VERSION)|forward compatibility was attempted"
        r"|provided PTX was compiled with an unsupported toolchain|requires? (?:a )?(?:newer "
        r"|at least )?(?:nvidia )?driver(?: version)?\s*>?=?\s*\d{3}"
        r"|system has unsupported display driver|unsatisfied condition: (?:cuda|driver)",
    ),
    sign(
        "gpu_busy",
        r"GPU .*(?:requires reset|in use by another client|is in prohibited|busy or unavailable)"
        r"|all CUDA-capable devices are busy|CUDA_ERROR_DEVICE_UNAVAILABLE"
        r"|cudaErrorDevicesUnavailable|GPU requires reset",
    ),
    sign(
        "gpu_memory",
        r"CUDA (?:error: )?out of memory|CUDA_ERROR_OUT_OF_MEMORY|ResourceExhaustedError"
        r"|OOM when allocating|cuda failure '?out of memory|torch\.(?:cuda\.)?OutOfMemoryError"
        r"|cudaErrorMemoryAllocation|Cuda failure 2 'out of memory'",
    ),
    sign(
        "cuda_failure",
        r"(?:CUDA|Cuda) (?:error|failure)|unhandled cuda error|ncclUnhandledCudaError|cudaError\w+",
        ECHO,
    ),
)

RULES = (
    rule(
        "xid_link",
        "xid_link",
        CANDIDATE,
        "gpu_fault driver_bug fabric_manager",
        _XID + ": NVLink",
        told=LIKELY,
    ),
    rule(
        "xid_hardware_gsp",
        "xid_hardware xid_gsp",
        CANDIDATE,
        "gpu_fault driver_bug",
        _XID + ": 119 with a fault: either may be first",
    ),
    rule(
        "xid_hardware",
        "xid_hardware !xid_gsp",
        LIKELY,
        "gpu_fault",
        _XID + "; DCGM health: these are memory, NVLink, bus",
        explains="cuda_failure gpu_memory cuda_no_device driver_down gpu_busy",
    ),
    rule("xid_gsp", "xid_gsp", CANDIDATE, "driver_bug gpu_fault driver_not_running", _XID + ": 109, 119, 120"),
    rule(
        "xid_contained",
        "xid_contained !xid_hardware",
        CANDIDATE,
        "gpu_error_contained gpu_fault",
        _XID + ": 94; the program that met it has to be started again",
        explains="cuda_failure",
    ),
    rule(
        "xid_application",
        "xid_application",
        CANDIDATE,
        "app_illegal_access nccl_bug gpu_fault",
        _XID + ": 13, 31, 43, 45",
    ),
    rule(
        "xid_other",
        "xid_other !xid_hardware|xid_link|xid_gsp|xid_application|xid_contained",
        CANDIDATE,
        "gpu_fault driver_bug app_illegal_access",
        _XID,
    ),
    rule("throttle", "gpu_throttle", CANDIDATE, "gpu_throttled numa_bios_setting", "nvidia-smi: clocks event reasons"),
    rule(
        "pcie",
        "pcie_degraded !in_vm",
        CANDIDATE,
        "gpu_pcie_degraded numa_bios_setting",
        "PCI Express: negotiated against possible link",
    ),
    rule(
        "aer",
        "aer",
        CANDIDATE,
        "gpu_pcie_degraded gpu_fault nic_firmware_fault",
        "kernel: PCIe Advanced Error Reporting",
    ),
    rule("mismatch", "nvml_mismatch", CANDIDATE, "nvml_mismatch", "NVML: NVML_ERROR_LIB_RM_VERSION_MISMATCH"),
    rule(
        "mismatch_seen",
        "nvml_mismatch nvrm_versions|upgraded_driver|nvrm_api_mismatch !in_container",
        LIKELY,
        "nvml_mismatch",
        "two facts: the message, and the version or upgrade",
    ),
    rule(
        "unknown_error",
        "nvml_unknown",
        CANDIDATE,
        "container_gpu_taken driver_not_running",
        "nvidia-container-toolkit: containers lose access to GPUs when systemd is reloaded",
    ),
    rule(
        "nvml_other",
        "nvml_other",
        CANDIDATE,
        "container_no_gpu driver_not_running",
        "NVML: library not found, driver not loaded",
    ),
    rule(
        "fabric_manager",
        "fabric_manager",
        CANDIDATE,
        "fabric_manager driver_not_running",
        _ERR + " 802; NVIDIA Fabric Manager user guide",
    ),
    rule(
        "vgpu",
        "vgpu_versions",
        CANDIDATE,
        "vgpu_driver_differs passthrough_device",
        "NVIDIA vGPU release notes: VM running an incompatible guest driver fails to initialize vGPU",
    ),
    rule(
        "no_handle",
        "gpu_no_handle",
        CANDIDATE,
        "gpu_fault driver_not_running container_no_gpu",
        "NVML: nvmlDeviceGetHandleByIndex fails for a GPU that is on the bus and does not answer",
    ),
    rule(
        "links_inactive",
        "links_some_inactive",
        CANDIDATE,
        "gpu_fault fabric_manager",
        "nvidia-smi nvlink --status: some links of a board carry nothing while others do",
    ),
    rule(
        "nvls",
        "nvls",
        CANDIDATE,
        "fabric_manager nccl_bug container_caps",
        "NVLink SHARP needs multicast set up by the fabric manager after a reset of the GPUs",
    ),
    rule(
        "driver_down",
        "driver_down",
        CANDIDATE,
        "driver_not_running gpu_fault container_no_gpu",
        "NVIDIA driver installation guide",
    ),
    rule(
        "secure_boot",
        "secure_boot",
        CANDIDATE,
        "driver_not_running guest_ofed_mismatch",
        "kernel: module signing under lockdown",
    ),
    rule("nouveau", "nouveau", CANDIDATE, "driver_not_running", "NVIDIA driver installation guide: disabling nouveau"),
    rule("no_device", "cuda_no_device", CANDIDATE, "container_no_gpu driver_not_running vars_wrong", _ERR + " 100"),
    rule(
        "not_initialised", "cuda_not_initialised", CANDIDATE, "driver_not_running fabric_manager app_fork", _ERR + " 3"
    ),
    rule(
        "too_old",
        "cuda_too_old",
        CANDIDATE,
        "driver_too_old container_image_cuda",
        "CUDA compatibility guide: 35, 222, 803, 804",
    ),
    rule("busy", "gpu_busy", CANDIDATE, "gpu_fault app_gpu_shared driver_bug", _ERR + " 46"),
    rule("gpu_memory", "gpu_memory", CANDIDATE, "app_gpu_memory app_gpu_shared", _ERR + " 2"),
    rule(
        "cuda",
        "cuda_failure !gpu_memory|xid_application|xid_hardware|cuda_too_old|cuda_no_device"
        "|fabric_manager|cuda_not_initialised|nvls",
        CANDIDATE,
        "app_illegal_access gpu_fault driver_not_running",
        "a later call reports what an earlier one did: CUDA_LAUNCH_BLOCKING=1",
    ),
)
