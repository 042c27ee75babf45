# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Container engines: NVIDIA's toolkit, Docker, containerd, Kubernetes, enroot, Apptainer. Pure data."""

from __future__ import annotations

from ..model import CANDIDATE, ECHO, FACT, rule, sign

SIGNS = (
    # libnvidia-container asks the driver before it looks at the container.
    sign(
        "toolkit_driver",
        r"nvidia-container-\w+\S*:.{0,200}(?:nvml error|cuda error|driver error|driver rpc error|driver not loaded"
        r"|version mismatch|load library failed|libnvidia-ml|libcuda)"
        r"|failed to (?:get driver version|locate driver libraries|create nvidia device nodes)"
        r"|failed to (?:generate CDI spec|get device handle from (?:index|UUID))",
    ),
    # Device plugin, CRI, CDI: what they say where no GPU comes into the container.
    sign(
        "gpu_runtime",
        r"no runtime for \S+ is configured|unknown runtime handler|RuntimeHandler \S+ not supported"
        r"|RuntimeClass\W.{0,40}not found|unresolvable CDI|could not (?:find|resolve) CDI|CDI (?:device|spec)\w*.{0,40}"
        r"(?:not found|invalid|conflict|missing)|Allocate failed due to|no healthy devices present"
        r"|Incompatible (?:platform|strategy) detected|did you configure the NVIDIA Container Toolkit"
        r"|NVIDIA_VISIBLE_DEVICES\W{1,3}(?:void|none)\b|Could not find any nv files on this host"
        r"|unknown flag: --gpus|could not select device driver|nvidia-container-runtime\S*: (?:executable file )?not "
        r"found"
        r"|(?:Capacity|Allocatable|allocatable)\b.{0,60}nvidia\.com/gpu\W+0\b"
        r"|Failed to (?:start|initialize) (?:device )?plugin|NVIDIA Driver was not detected",
    ),
    sign(
        "nvml_blocked",
        r"GPU access blocked by the operating system|NVML: Insufficient Permissions",
    ),
    sign(
        "smi_absent",
        r"nvidia-smi\W{1,3}(?: \S+)?(?:command )?not found|couldn't find libnvidia-ml|No supported GPU\S* detected",
    ),
    sign("pyxis_failed", r"pyxis: .{0,80}(?:fail|error|couldn't)|enroot\S*: .{0,80}(?:fail|error)"),
    sign(
        "engine_start",
        r"is not a shared mount|FailedCreatePodSandBox|Failed to create pod sandbox|CreateContainer(?:Config)?Error"
        r"|RunContainerError|ContainerCannotRun|StartError\b|FailedMount|MountVolume\.\w+ failed|FailedAttachVolume"
        r"|Unable to attach or mount volumes"
        r"|failed to (?:generate container spec|create (?:containerd|shim) task|start (?:container|shim))"
        r"|Error response from daemon|bind source path does not exist|port is already allocated"
        r"|driver failed programming external connectivity|Back-off restarting failed container"
        r"|pyxis: (?:failed|couldn't|error)|enroot-\w+: |container creation failed|while loading container"
        r"|squashfs.{0,60}(?:fail|error|corrupt)|no match for platform in manifest"
        r"|Init:(?:CrashLoopBackOff|Error)|PodInitializing\b.{0,60}(?:stuck|minutes|hours)"
        r"|Evicted\b.{0,80}(?:DiskPressure|low on)",
    ),
    sign(
        "engine_device",
        r"error gathering device information while adding custom device|no such device node|is not a device node"
        r"|bad device (?:mode|path)",
    ),
    sign(
        "gpu_node_denied",
        r"/dev/nvidia[\w-]*\W.{0,80}(?:EPERM|EACCES|Operation not permitted|Permission denied)",
    ),
    sign("cpu_manager", r"cpu-?manager-?policy\W{0,3}static|CPUManagerPolicy\W{0,3}static|cpu_manager_state", FACT),
    sign(
        "major_changed",
        r"major (?:device )?numbers?.{0,60}(?:differ|other|chang|on the host|mismatch)|devices\.allow|devices\.list",
        FACT,
    ),
    # Two containers of one host: memory of GPUs and file descriptors go by way of names that both have to see.
    sign(
        "ipc_between",
        r"(?:failed to|could not|cannot) (?:open|get|import|close) CUDA IPC|UDS: (?:Binding|Sending|Receiving|Cannot)"
        r"|cudaIpc(?:Get|Open)\w+.{0,60}(?:fail|error|invalid)"
        r"|cuMemImportFromShareableHandle.{0,60}(?:fail|error)|ncclIpcSocket|ncclProxyCallBlockingUDS"
        r"|ncclProxyClientGetFd.{0,60}fail|pidfd_(?:getfd|open).{0,60}(?:fail|error|denied|not permitted)",
    ),
    # NCCL, ncclSystemError: a call to the system failed. In a container that is most often its /dev/shm or its network.
    sign("system_error", r"unhandled system error|ncclSystemError", ECHO),
    sign(
        "one_gpu_each",
        r"NVIDIA_VISIBLE_DEVICES\W{1,3}\d\b.{0,60}\bother\b|(?:both|two|each|separate|different) (?:pods?"
        r"|containers?)\b.{0,80}(?:one|own|single|same) (?:GPU|node|host)"
        r"|(?:pods?|containers?) (?:on|of|run on) (?:the same|one) (?:node|host)",
        FACT,
    ),
)

RULES = (
    rule(
        "toolkit_driver",
        "toolkit_driver !nvml_mismatch",
        CANDIDATE,
        "driver_not_running container_no_gpu nvml_mismatch gpu_fault",
        "libnvidia-container source: nvc.c asks NVML and CUDA of the host first; NVIDIA container toolkit "
        "troubleshooting",
    ),
    rule(
        "gpu_runtime",
        "gpu_runtime",
        CANDIDATE,
        "container_no_gpu container_down driver_not_running",
        "containerd and CRI-O: runtime handlers; Container Device Interface; Kubernetes device plugins",
    ),
    rule(
        "engine_start",
        "engine_start !gpu_runtime|toolkit_driver",
        CANDIDATE,
        "container_down container_no_gpu container_devices",
        "Kubernetes: events of the kubelet; Docker and enroot documentation",
    ),
    rule(
        "nvml_blocked",
        "nvml_blocked",
        CANDIDATE,
        "driver_not_running container_no_gpu container_caps",
        "NVML: NVML_ERROR_OPERATING_SYSTEM, NVML_ERROR_NO_PERMISSION: the device nodes, or a hypervisor in between",
    ),
    rule(
        "smi_absent",
        "smi_absent",
        CANDIDATE,
        "container_no_gpu driver_not_running",
        "NVIDIA container toolkit: NVIDIA_DRIVER_CAPABILITIES without utility; on a host: no driver",
    ),
    rule(
        "pyxis",
        "pyxis_failed",
        CANDIDATE,
        "container_down container_no_gpu launch_failed",
        "pyxis and enroot: the container of a Slurm step did not start",
    ),
    rule(
        "engine_device",
        "engine_device",
        CANDIDATE,
        "container_devices guest_ofed_mismatch",
        "docker run --device: the host has no such node",
    ),
    rule(
        "gpu_node_denied",
        "gpu_node_denied",
        CANDIDATE,
        "container_gpu_taken container_caps container_no_gpu",
        "cgroup device controller: EPERM for a node whose rights allow it",
    ),
    rule(
        "devices_rewritten",
        "nvml_unknown|gpu_node_denied cpu_manager|major_changed",
        CANDIDATE,
        "container_gpu_taken",
        "Kubernetes static CPU manager and restarts: the runtime writes the device list anew without the GPUs",
    ),
    rule(
        "ipc_between",
        "ipc_between !nvls",
        CANDIDATE,
        "container_caps container_no_gpu nccl_bug",
        "CUDA IPC: both processes have to see both GPUs, and share namespaces for the handles",
    ),
    rule(
        "system_error_container",
        "system_error in_container",
        CANDIDATE,
        "container_shm wrong_interface container_devices",
        "NCCL documentation: ncclSystemError; troubleshooting: shared memory and networks of containers",
    ),
    rule(
        "one_gpu_each",
        "one_gpu_each no_such_gpu|ipc_between|no_peer_access|cuda_failure|hang",
        CANDIDATE,
        "container_no_gpu container_caps",
        "two facts: containers of one host with a GPU each, and a call that needs both",
    ),
)
