# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kernels, services, package managers and frameworks print on sound machines though it sounds bad. Pure data.

A line stands here only if no fault of this field prints it: tables of a BIOS, buses and consoles that nobody uses,
mitigations of CPUs, parts that a framework was not built with, options and headings that hold a bad word.
"""

from __future__ import annotations

from ..model import NORMAL, QUIET, Sign, sign


def noise(name: str, pattern: str) -> Sign:
    return sign(name, pattern, NORMAL)


def quiet(name: str, pattern: str) -> Sign:
    """A failing system prints it as well: it is no good word."""
    return sign(name, pattern, QUIET)


SIGNS = (
    # rdma-core: verbs asks every provider that is configured, also those of makers whose NICs are not here.
    quiet("other_providers", r"couldn't load driver 'lib(?!mlx|bnxt_re|irdma|efa)\w+-rdmav\d+\.so'"),
    # CUDA: 0x2c0 is 704, peer access is already enabled.
    quiet("cuda_already", r"Cuda API error detected: \w+ returned \(0x2c0\)"),
    # NCCL 2.3 and 2.4, of GPUs without NVLink; nvidia-smi nvlink: encryption of links.
    quiet("nvlink_absent", r"nvmlDeviceGetNvLink\w+\(\) failed: Not Supported|^\s*NVLE: disabled"),
    # nvidia-installer and the driver container, before they load what they built.
    quiet("driver_installer", r"nvidia-drm module will not be installed|^Stopping NVIDIA persistence daemon"),
    # DKMS: there is no module of that name in the kernel's own tree, so nothing is replaced.
    quiet("dkms", r"No original module (?:exists|was found)|Kernel preparation unnecessary"),
    # nvidia-smi topo -m: what its letters mean.
    noise(
        "topo_legend", r"^\s*(?:SYS|NODE|PHB|PXB|PIX|NV#)\s+= Connection traversing|\bCPU Affinity\s+NUMA Affinity\b"
    ),
    # Switches: legends and headings of tables.
    quiet(
        "pfc_legend",
        r"D: PFC Disabled|PFC watchdog (?:timeout|action|recovery|polling)\b"
        r"|^Port\s+Status\s+Priorities\s+Action\s+Timeout",
    ),
    # Launchers that wait or say what they do without.
    quiet(
        "launch_notes",
        r"step creation temporarily disabled, retrying|Unable to find hostfile, will proceed with training with local",
    ),
    # workloads/resnet50: how unevenly the ranks compute, which the report shows with its figures. No trouble of a path.
    quiet("straggler_named", r"Straggler: rank \d+ takes [\d.]+ ms to compute a step without any exchange"),
    # Entry point of the MPI operator: the names of the pods are not in the DNS yet.
    quiet("names_to_come", r"Couldn't resolve \S+\.\.\. Retrying"),
    # nvidia-smi -q, Remapped Rows: what was repaired; "Pending" and "Remapping Failure" say whether something is left.
    quiet("rows_remapped", r"^\s*Uncorrectable Error\s*:\s*\d+\s*$"),
    # Open MPI: a container may not bind memory without CAP_SYS_NICE; the job goes on, unbound.
    quiet(
        "not_bound",
        r"Open MPI tried to bind a process but failed|^\s*warning only; your job will continue|^\s*be degraded\.\s*$"
        r"|Error message:\s+failed to bind memory",
    ),
    # PMIx: it takes another way to share what the ranks tell each other.
    quiet("pmix_store", r"PMIX_ERR_NO_PERMISSIONS in file \S*dstore_\w+\.c"),
    # PyTorch: a barrier without device_ids. A wrong guess shows in ranks that share a GPU.
    quiet("barrier_guess", r"best-guess GPU \d+ to perform barrier"),
    # libnvidia-container with -d: what the host does not have and nobody needs.
    quiet(
        "toolkit_missing", r"nvc_info\.c:\d+\] missing (?:ipc|binary|compat32|firmware|library lib(?!cuda\.|nvidia-ml))"
    ),
    # nvidia-smi: without it the driver is loaded anew for every client, which is slow and no fault.
    quiet("no_persistence", r"Warning: persistence mode is disabled on device"),
    quiet("package_versions", r"dpkg: warning: version '\S+' has bad syntax"),
    # TensorFlow: bfc_allocator.cc tries a larger piece first.
    quiet("allocator", r"The caller indicates that this is not a failure"),
    # Hugging Face transformers at the start of a training.
    quiet("transformers_notes", r"pad token id were not set|is incompatible with gradient checkpointing. Setting"),
    # Kernel: drivers/acpi, drivers/firmware. A BIOS has its own errors; the kernel works around them and says so.
    noise(
        "boot_firmware",
        r"ACPI (?:BIOS )?(?:Error|Warning|Exception)\b|ACPI: OSL: Resource conflict|\[Firmware (?:Bug|Warn|Info)\]"
        r"|_OSC: platform does not support|ERST: Error Record Serialization|GHES: .*APEI|HEST: |SGX disabled by BIOS"
        r"|EDAC \w+: .*(?:ECC disabled|module will not load)|lpc_ich: Resource conflict|x2apic: IRQ remapping",
    ),
    # Kernel: what is not plugged in, or of no use in a server.
    noise(
        "boot_unused",
        r"SATA link down|No controller found|regulatory\.db|Cannot find any crtc"
        r"|No Caching mode page|Assuming drive cache"
        r"|missing or invalid SUBNQN|AER: enabled with|NMI watchdog: (?:Enabled|Perf)"
        r"|overlayfs: .*(?:null uuid|missing)"
        # I/O ports: no GPU and no NIC of these days needs any.
        r"|BAR \d+.*(?:no space for|failed to assign) \[io |BAR \d+ \[io .*(?:can't assign|failed to assign)",
    ),
    # Kernel: Documentation/admin-guide/hw-vuln.
    noise(
        "boot_mitigations",
        r"CPU bug present|RETBleed: |Spectre V\d|Speculative (?:Store|Return)|Stale Data: |mitigation leaves CPU",
    ),
    # Kernel drivers at load; bnxt names the longest wait of its firmware, which is not one that happened.
    noise("boot_drivers", r"may trigger hung task watchdog|TC bandwidth is not configured|callbacks suppressed"),
    # Services that look for what a compute node does not have.
    noise(
        "services",
        r"wait-online\S*: Timeout occurred while waiting for network|thermald\[\d+\]: Unsupported"
        r"|multipathd\S* .*failed to get (?:udev|sysfs) uid|apparmor=\"(?:STATUS|ALLOWED)\""
        r"|Received disconnect from \S+ port \d+: ?11: disconnected by user|Disconnected from user",
    ),
    # Package managers.
    noise(
        "packages",
        r"apt does not have a stable CLI|Running pip as the 'root' user|new release of pip|debconf: "
        r"|update-alternatives: warning|packages? (?:can be upgraded|are looking for funding)",
    ),
    # docker info: bridges of containers, nothing of RDMA or of a host's network.
    noise("docker_bridges", r"bridge-nf-call-ip\d?tables is disabled"),
    # Frameworks: parts they were not built with, and what they say at the end of a run that worked.
    noise(
        "frameworks",
        r"\[WARNING\] +(?:async_io|sparse_attn|using untested triton|please install triton|evoformer_attn)"
        r"|process group has NOT been destroyed before we destruct",
    ),
    # Headings and options with a bad word, and tables in which the bad thing is not so.
    noise(
        "headings",
        r"^\s*(?:GPU Reset Status|ECC Errors|Retired Pages|Page Retirement)\s*$"
        r"|(?:Reset Required|Drain and Reset Recommended)\s*:\s*(?:No|N/A)\b"
        r"|\[INFO\] \[tid \d+\]|TX OK/DROP\s+RX OK/DROP"
        r"|kernel\.numa_balancing\s*=\s*0\b",
    ),
    # QEMU's firmware and vfio when a guest with passthrough devices starts.
    noise(
        "guest_start",
        r"^Platform\w+: +(?:using dynamic mmio window|MMIO Space|Addr Space|limit PhysBits)"
        r"|vfio-pci \S+: (?:enabling device"
        r"|vfio_ecap_init: hiding|vfio_bar_restore: reset recovery|resetting$|reset done$|vgaarb)|^vfio_pci: add \["
        r"|bnxt_re\S*: Low latency framework is enabled",
    ),
    # NCCL: src/graph/xml.cc: what a virtual bridge does not say is taken for an ordinary one.
    quiet("tree_unread", r"Topology detection : could not read|KV Convert to int : could not find value"),
    # ethtool -m: alarms that are off.
    noise("optics_quiet", r"\b(?:alarm|warning)\s*: Off\b|\bloss of signal\s*:\s*\[? ?(?:No|Off|0)\b"),
    # mlxlink: counters that are 0.
    noise(
        "mlxlink_zero",
        r"^\s*(?:Link (?:Down|Error Recovery) Counter|(?:Effective|Raw) Physical Errors|Symbol Errors)\s*:\s*0\s*$",
    ),
    # vmware.log: keys as they were read, devices that were given.
    noise(
        "vmx_read",
        r"DICT\s+pciPassthru\S*\s*=\s*\"?(?:TRUE|\d{2,})|PCIPassthru: Device \S+ (?:is )?(?:registered|assigned)",
    ),
)
