# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RDMA in pods: driver containers, device plugins, network namespaces; connections by rdma_cm; objects that cannot be
made. Pure data."""

from __future__ import annotations

from ..model import CANDIDATE, rule, sign

SIGNS = (
    # DOCA driver container, openibd.
    sign(
        "ofed_container",
        r"No (?:OFED|DOCA) driver found for kernel|Module (?:mlx|ib_|rdma_|iw_)\w+ does not exist, skipping"
        r"|failed to build driver from source|failed to restart (?:driver|openibd)|failed to check module versions"
        r"|mofed-\S+.{0,80}(?:CrashLoop|Error|not ready)|waiting for (?:OFED|mofed) drivers? to be loaded",
    ),
    # k8s-rdma-shared-dev-plugin, sriov-network-device-plugin, rdma-cni.
    sign(
        "rdma_plugin",
        r"\bnon-Rdma Device\b|missing RDMA device spec|RDMA device \W?\"?\w+\W*\"? ?not found"
        r"|no Rdma Devices were found"
        r"|RDMA resources? .{0,30}not found|failed to move RDMA device|no devices in device pool",
    ),
    sign(
        "rdma_namespace",
        r"RDMA subsystem network namespace|RDMA subsystem namespace mode|rdma system .{0,20}netns"
        r"|netns (?:exclusive|shared)",
    ),
    # librdmacm: rdma_get_cm_event(3).
    sign(
        "rdma_cm_failed",
        r"RDMA_CM_EVENT_(?:ADDR_ERROR|ROUTE_ERROR|CONNECT_ERROR|UNREACHABLE|REJECTED)|rdma_resolve_(?:addr"
        r"|route)\W.{0,20}fail"
        r"|rdma_(?:connect|bind_addr|listen|create_ep|getaddrinfo)\W.{0,40}(?:fail|error|No such device|Cannot assign)"
        r"|Unable to perform rdma_client function|rdma_cm .{0,30}(?:timed? ?out|error|fail)",
    ),
    # Objects of verbs that cannot be made, and no word of why.
    sign(
        "create_failed",
        r"ibv_(?:create_(?:qp|cq|srq)|alloc_pd)\w*\W{0,3} failed\s*$|Couldn't create (?:CQ|QP|SRQ|IB resources)\b"
        r"|Couldn't allocate PD\b",
    ),
    sign(
        "create_refused",
        r"ibv_(?:cmd_)?(?:create_(?:qp|cq|srq)|alloc_pd)\w*\b.{0,30}(?:\b22\b|Invalid argument|\b95\b"
        r"|Operation not supported"
        r"|Function not implemented|\b38\b)",
    ),
    # lspci: a BAR without an address.
    sign("bar_unmapped", r"(?:Memory|Region \d+: Memory) at <(?:ignored|unassigned|invalid-win-addr)>"),
    sign(
        "guest_stops",
        r"\b(?:VMs?|guest|virtual machine)\b.{0,60}\b(?:hangs?|does not (?:boot|start|post)|doesn't (?:boot|start|post)"
        r"|boot ?loop\w*|stuck|black screen|crashes|unable to (?:boot|start)|fails? to (?:boot|start))\b",
    ),
    sign(
        "ordering_helps",
        r"RELAXED_ORDERING\s*=\s*(?:1|y\w*|on)\b.{0,60}\b(?:\d+ ?G|faster|better|helps?|works?|without)"
        r"|\bwithout relaxed[- ]ordering|relaxed[- ]ordering.{0,40}\b(?:faster|better|doubles?|helps?|fix\w*)",
    ),
)

RULES = (
    rule(
        "ofed_container",
        "ofed_container",
        CANDIDATE,
        "guest_ofed_mismatch",
        "DOCA driver container and openibd: modules for the running kernel are not there or cannot be built",
    ),
    rule(
        "rdma_plugin",
        "rdma_plugin",
        CANDIDATE,
        "container_devices guest_ofed_mismatch nic_firmware_setting",
        "device plugins of RDMA: a NIC without an RDMA device of the host's driver is not given to pods",
    ),
    rule(
        "rdma_namespace",
        "rdma_namespace",
        CANDIDATE,
        "container_devices guest_ofed_mismatch kernel_fault",
        "rdma-system(8): netns shared for devices that pods share, exclusive for those that are moved into one",
    ),
    rule(
        "rdma_cm_failed",
        "rdma_cm_failed",
        CANDIDATE,
        "host_out_of_reach gid_wrong guest_ofed_mismatch no_path_between_nics",
        "rdma_get_cm_event(3): the address leads to no RDMA device, or nobody answers there",
    ),
    rule(
        "create_failed",
        "create_failed !create_enomem|memlock_small",
        CANDIDATE,
        "container_memlock memlock_host guest_ofed_mismatch",
        "verbs: CQs and QPs lie in locked memory; without an errno the limit is looked at first",
    ),
    rule(
        "create_refused",
        "create_refused",
        CANDIDATE,
        "guest_ofed_mismatch nic_firmware_fault container_libraries",
        "errno EINVAL, ENOSYS, EOPNOTSUPP: library, driver and firmware do not know the same objects",
    ),
    rule(
        "bar_unmapped",
        "bar_unmapped",
        CANDIDATE,
        "mmio_window numa_bios_setting",
        "lspci(8): a BAR that got no address; in a VM its window, on metal Above 4G Decoding",
    ),
    rule(
        "guest_stops",
        "guest_stops",
        CANDIDATE,
        "mmio_window memory_reservation passthrough_device",
        "OVMF and vSphere: a guest that stops before its system comes up with a device, and runs without it",
    ),
    rule(
        "ordering_helps",
        "ordering_helps",
        CANDIDATE,
        "relaxed_ordering acs_redirects",
        "NCCL documentation, NCCL_IB_PCI_RELAXED_ORDERING: with ATS and ACS, so in VMs",
    ),
)
