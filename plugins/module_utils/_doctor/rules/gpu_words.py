# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs in the words of nvidia-smi, DCGM and CUDA: tables, health checks, error names. Pure data."""

from __future__ import annotations

from ..model import CANDIDATE, FACT, rule, sign

_CUDA = "CUDA driver API: CUresult "

SIGNS = (
    # nvidia-smi: what a GPU answers that no longer does.
    sign(
        "smi_err",
        r"\bERR!|\[?GPU is lost\]?|\[Unknown Error\]|\[GPU requires reset\]|GPU access blocked|\bGPU (?:has )?fallen "
        r"off",
    ),
    # The column of uncorrectable errors behind Disp.A.
    sign("smi_ecc", r"\bOff\s*\|\s+[1-9]\d*\s*\|\s*$|(?:Volatile )?Uncorr\. ECC\b[^|0-9]{0,20}[1-9]"),
    sign("rows_pending", r"^\s*Pending(?: Page Blacklist)?\s*: Yes\b"),
    sign(
        "dcgm_failed",
        r"\|\s*(?:Memory|PCIe|SM Stress|Targeted \w+|Diagnostic|Memtest|Memory Bandwidth|Pulse Test|EUD Test"
        r"|NVBandwidth|NVLink\w*)\s*\|\s*Fail"
        r"|DCGM_FR_(?!PASS)\w+|DCGM_(?:HEALTH|DIAG)\w*(?:FAIL|WARN)\w*|dcgmi? (?:diag|health)\b.{0,60}(?:fail|warn"
        r"|error)"
        r"|Overall Health\W+(?:Failure|Warning)",
    ),
    sign(
        "gpu_bad_said",
        r"(?:bad|faulty|defective|broken|dying|dead) (?:GPU|HBM|NVLink|NVSwitch)\b|\bGPU\b.{0,30}\b(?:is|was|were) "
        r"(?:bad|faulty|defective|broken|dead"
        r"|replaced|RMA'?e?d)|\bRMA'?d?\b.{0,40}GPU|GPU.{0,40}\bRMA|row remap\w*.{0,40}(?:exhaust|exceed|fail)|SRAM "
        r"threshold exceeded\s*:\s*Yes"
        r"|page retirement (?:pending|failure)|double bit ECC\s*:\s*[1-9]|DRAM Uncorrectable\s*:\s*[1-9]|SRAM "
        r"Uncorrectable\w*\s*:\s*[1-9]",
    ),
    sign(
        "vgpu_licence",
        r"(?:Failed to|could not|unable to) (?:acquire|obtain) (?:a )?(?:vGPU )?licen[cs]e|\bUnlicensed\b|Device not "
        r"licensed|CUDA_ERROR_DEVICE_NOT_LICENSED",
    ),
    sign("cuda_stub", r"CUDA_ERROR_STUB_LIBRARY|cudaErrorStubLibrary|stub library|lib64/stubs"),
    sign(
        "cuda_driver_code",
        r"cudaGetDeviceCount\W.{0,120}Error (?:304|500|999|34)\b|CUDA_ERROR_(?:OPERATING_SYSTEM"
        r"|SHARED_OBJECT_INIT_FAILED|NOT_FOUND|INVALID_CONTEXT_HANDLE)"
        r"|OS call failed or operation not supported on this OS|named symbol not found|nvidia[-_]uvm\b.{0,60}(?:not"
        r"|missing|No such|fail)"
        r"|cuda(?:GetDeviceCount|Init)\S*.{0,60}unknown error",
    ),
    sign("cuda_hardware", r"hardware stack error|over nvlink or a hardware error|infoROM is corrupted"),
    sign("cuda_unknown", r"CUDA (?:error|failure)\W{1,3}unknown error|cudaErrorUnknown\b|error code 999\b"),
    sign(
        "driver_refuses",
        r"requires use of the NVIDIA open kernel modules|not supported by the (?:open )?NVIDIA"
        r"|nv-hostengine\b.{0,60}(?:fail|error)|kernel headers for this kernel do not seem"
        r"|probe (?:of \S+ |with driver nvidia )failed with error",
    ),
    sign("cuda_api_new", r"API call is not supported in the installed CUDA driver|cudaErrorCallRequiresNewerDriver"),
    sign(
        "cuda_mps",
        r"CUDA_ERROR_MPS_\w+|cudaErrorMps\w+|MPS (?:client|server|control)\b.{0,60}(?:fail|error|terminat|limit|not)",
    ),
    sign("cuda_exclusive", r"EXCLUSIVE_PROCESS|Exclusive_Process|E\. Process\b"),
    sign(
        "cuda_unsupported",
        r"CUDA_ERROR_NOT_SUPPORTED|cudaErrorNotSupported|CUDA error: operation not supported|Cuda failure (?:801 "
        r")?'operation not supported'",
    ),
    sign(
        "cuda_denied", r"CUDA_ERROR_NOT_PERMITTED|cudaErrorNotPermitted|Cuda failure (?:800 )?'operation not permitted'"
    ),
    sign("mig_seen", r"\bMIG\b.{0,40}(?:Enabled|instance|device|profile)|MIG-GPU-|MIG-[0-9a-f]{8}", FACT),
    sign(
        "torch_cpu_build",
        r"Torch not compiled with CUDA enabled|not compiled with (?:NCCL|distributed|CUDA)|Distributed package doesn't "
        r"have NCCL"
        r"|not built with (?:CUDA|NCCL)|NCCL (?:backend )?(?:is )?not (?:available|built)",
    ),
    sign(
        "cluster_worse",
        r"(?:only|one) (?:on )?(?:one|this|a single|that) (?:node|instance|host|machine)\b.{0,40}(?:fail|hang|slow"
        r"|crash)|\[repeated \d+x across cluster\]",
        FACT,
    ),
)

RULES = (
    rule(
        "cuda_hardware",
        "cuda_hardware",
        CANDIDATE,
        "gpu_fault app_illegal_access fabric_manager",
        _CUDA + "714; peer memory over NVLink; infoROM",
    ),
    rule("cuda_unknown", "cuda_unknown", CANDIDATE, "driver_not_running gpu_fault container_no_gpu", _CUDA + "999"),
    rule(
        "driver_refuses",
        "driver_refuses !driver_down|xid_gsp",
        CANDIDATE,
        "driver_not_running passthrough_device gpu_fault",
        "NVIDIA driver installation guide: which GPUs a release and the open modules drive",
    ),
    rule("cuda_api_new", "cuda_api_new", CANDIDATE, "driver_too_old container_image_cuda", _CUDA + "36"),
    rule(
        "smi_err",
        "smi_err",
        CANDIDATE,
        "gpu_fault driver_not_running",
        "nvidia-smi(1): ERR! stands where NVML gets no value of a GPU",
    ),
    rule(
        "smi_err_more",
        "smi_err toolkit_driver|driver_down|cuda_failure|gpu_no_handle|cuda_no_device",
        CANDIDATE,
        "gpu_fault",
        "two facts: a GPU without values, and a driver that cannot use it",
    ),
    rule(
        "smi_ecc",
        "smi_ecc",
        CANDIDATE,
        "gpu_fault",
        "nvidia-smi(1): volatile uncorrectable errors since the last load of the driver",
    ),
    rule(
        "rows_pending",
        "rows_pending",
        CANDIDATE,
        "gpu_fault",
        "NVIDIA GPU memory error management: a row is remapped when the GPU is reset",
    ),
    rule(
        "smi_ecc_memory",
        "smi_ecc gpu_memory|cuda_failure|gpu_busy|remote_closed",
        CANDIDATE,
        "gpu_fault",
        "two facts: uncorrectable errors, and calls that fail on this GPU",
    ),
    rule(
        "dcgm",
        "dcgm_failed",
        CANDIDATE,
        "gpu_fault driver_not_running fabric_manager",
        "DCGM documentation: diagnostics and health",
    ),
    rule("gpu_bad", "gpu_bad_said", CANDIDATE, "gpu_fault", "NVIDIA GPU memory error management; GPU debug guidelines"),
    rule(
        "vgpu_licence",
        "vgpu_licence",
        CANDIDATE,
        "vgpu_driver_differs driver_not_running",
        "NVIDIA vGPU licensing guide; " + _CUDA + "102",
    ),
    rule(
        "cuda_stub",
        "cuda_stub",
        CANDIDATE,
        "container_image_cuda vars_wrong",
        _CUDA + "34: the stub of libcuda was loaded",
    ),
    rule(
        "cuda_driver_code",
        "cuda_driver_code",
        CANDIDATE,
        "driver_not_running container_no_gpu",
        _CUDA + "303, 304, 500, 999: the driver, or its devices",
    ),
    rule(
        "cuda_mps",
        "cuda_mps|cuda_exclusive gpu_busy|cuda_mps",
        CANDIDATE,
        "app_gpu_shared driver_not_running",
        _CUDA + "805 to 810; compute modes",
    ),
    rule(
        "cuda_unsupported",
        "cuda_unsupported",
        CANDIDATE,
        "nccl_bug driver_bug passthrough_device vars_wrong",
        _CUDA + "801: vGPU, MIG and WSL lack calls that NCCL makes",
    ),
    rule(
        "cuda_denied",
        "cuda_denied",
        CANDIDATE,
        "container_devices container_caps fabric_manager",
        _CUDA + "800: fabric handles want an IMEX channel, multicast a right",
    ),
    rule(
        "mig",
        "mig_seen duplicate_gpu|nccl_one_gpu|no_such_gpu|cuda_no_device|invalid_usage",
        CANDIDATE,
        "app_gpu_shared vars_wrong",
        "NCCL documentation: instances of one GPU are one device to it",
    ),
    rule(
        "cpu_build",
        "torch_cpu_build",
        CANDIDATE,
        "container_libraries application_failed nccl_bug",
        "PyTorch: a build without CUDA or NCCL",
    ),
    rule(
        "bad_instance",
        "cluster_worse cuda_failure|hang|remote_closed",
        CANDIDATE,
        "gpu_fault driver_not_running",
        "a CUDA error without its name: one node of many",
    ),
)
