# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drivers of NICs: modules against kernels, libraries against drivers, firmware and its tools. Pure data."""

from __future__ import annotations

from ..model import CANDIDATE, FACT, rule, sign

SIGNS = (
    # Kernel: kernel/module/version.c, main.c. Whose symbols they are tells which stack does not fit.
    sign(
        "rdma_symbols",
        r"disagrees about version of symbol (?:_*ib_|_*rdma_|_*rdmacm|ibnl|mlx|iw_|rvt_)\w*"
        r"|Unknown symbol (?:_*ib_|_*rdma_|_*rdmacm|ibnl|mlx|iw_|rvt_)\w*",
    ),
    # MLNX_OFED: openibd, mlnxofedinstall; DOCA: doca-kernel-support.
    sign(
        "ofed_installer",
        r"belongs? to .{0,60}not a part of MLNX|Loading HCA driver and Access Layer.{0,40}FAILED"
        r"|Failed to build MLNX_OFED|MLNX_OFED_LINUX is intended for|kernel is installed but do(?:es)? not have drivers"
        r"|mlnxofedinstall.{0,80}(?:fail|error)|mlnx_add_kernel_support.{0,80}(?:fail|error)"
        r"|doca-(?:ofed|kernel-support|host)\S*.{0,60}(?:fail|error|not support)|Failed executing .*MLNX_OFED"
        r"|ko2iblnd|Can't load LND o2ib",
    ),
    # libibverbs and UCX against another driver: calls that the other side does not know.
    sign(
        "verbs_unknown_call",
        r"\bibv_exp_\w+\W.{0,40}(?:returned|failed|error)|Inappropriate ioctl for device"
        r"|undefined symbol: (?:uct_ib|ucs|ucp|ibv_exp"
        r"|mlx5dv_|mlx4dv_|efadv_)\w*|Invalid active_(?:width|speed)|DEVX requested but not supported"
        r"|mlx5dv_\w+\W.{0,60}(?:Operation not supported|Function not implemented|Protocol not supported)"
        r"|symbol \S+, version (?:IBVERBS|MLX5|RDMACM|EFA)\S* not defined|mlx5dv_devx_create_event_channel.{0,40}fail"
        r"|ibv_create_cq\(?.{0,20}\)?.{0,20}(?:Invalid argument|\(22\))",
    ),
    # UCX: uct/ib; QPs that need no peer yet, so no address has a part in it.
    sign(
        "ucx_qp_invalid",
        r"modify UD QP to INIT|modify\w*\(?DC[IT]\b|modifying DCT to (?:INIT|RTR)"
        r"|mlx5dv_devx_qp_modify.{0,60}Invalid argument",
    ),
    sign(
        "firmware_no_answer",
        r"mlx5dv_\w+\(?\w*\)?.{0,40}(?:Connection timed out|Operation canceled|Input/output error)"
        r"|hwrm req_type 0x\w+ .*error|hwrm_\w+.{0,40}(?:timeout|failed)|Error \(timeout: \d+\) msg"
        r"|bnxt_qplib_rcfw.{0,60}(?:timed?out|stall)"
        r"|FW stall detected|HW channel .{0,20}not responding|irisc not responding|ICM fetch PCI error|FFSER error"
        r"|async EQ buffer overrun|unrecoverable hardware error|devlink health .{0,60}(?:error|unhealthy)"
        r"|reporter fw\w* .*state error",
    ),
    # flint, mlxfwmanager, mstfwreset, fwupd.
    sign(
        "firmware_burn",
        r"Digest in the signature is wrong|-E- .{0,80}(?:burn|image|firmware|PSID|flash)|PSID (?:mismatch"
        r"|does not match)"
        r"|^\s*Fail : |FW image verification failed|firmware (?:flash|update|burn) (?:has )?failed"
        r"|failed to (?:burn|flash|update) .{0,20}firmware"
        r"|image .{0,30}not compatible with .{0,20}device",
    ),
    sign(
        "firmware_blamed",
        r"\b(?:issue|bug|problem|regression) (?:of|in|with) (?:the )?(?:NIC'?s? |HCA'?s? |card'?s? |ConnectX\S* "
        r"|Mellanox )?(?:firmware|FW)\b"
        r"|\b(?:NIC|HCA|ConnectX\S*|Mellanox|adapter)\b.{0,30}\b(?:firmware|FW) (?:bug|issue|regression|problem)\b"
        r"|please upgrade to (?:a )?(?:later|newer) (?:firmware|FW)\b"
        r"|(?:needs?|requires?|fixed by|solved by|after) (?:a |an |the )?(?:newer )?(?:NIC |HCA )?(?:firmware"
        r"|FW) (?:update|upgrade)",
    ),
    # The port and its counters are in order, and still it is slow: NIC, slot or host.
    sign(
        "link_clean",
        r"(?:link )?(?:error )?counters? (?:are |is )?(?:clean|zero|all zero)|no (?:link|physical|symbol) errors"
        r"|clean link counters",
        FACT,
    ),
    # perftest: memory that cannot be registered; the number is an errno.
    sign("mr_refused", r"Couldn't allocate MR with error=(?:14|22|38|93|95)\b|Couldn't allocate MR\b(?! with)"),
    # libfabric and its EFA provider; kernels before 5.12 export DMA-BUF and cannot import it.
    sign(
        "mr_refused_other",
        r"Unable to register MR\b.{0,60}(?:Bad address|Operation not supported|Protocol not supported|Invalid argument)"
        r"|fi_mr_reg\w*.{0,40}(?:Bad address|-14\b|-95\b|-93\b)|EPROTONOSUPPORT|gdr_pin_buffer failed",
    ),
    sign(
        "kernel_part_off",
        r"CONFIG_\w*(?:P2PDMA|DMABUF_MOVE_?NOTIFY|HSA_AMD_P2P|ZONE_DEVICE|PCI_ATS|INFINIBAND\w*|MLX5\w*|VFIO\w*"
        r"|INTEL_IOMMU|AMD_IOMMU)\b"
        r".{0,40}\b(?:disabled|missing|absent|unset|not (?:set|enabled|defined|available)|never defined|needed"
        r"|required)\b"
        r"|CONFIG_\w*(?:P2PDMA|DMABUF_MOVE_?NOTIFY|HSA_AMD_P2P|ZONE_DEVICE)\w*=n\b",
    ),
    sign("iwarp", r"transport:\s+iWARP|\biWARP\b", FACT),
    # Kernel: drivers/infiniband/hw/mlx5/cq.c, whenever a work request fails.
    sign("cqe_dump", r"dump error cqe|\bdump_cqe:\d+"),
)

RULES = (
    rule(
        "rdma_symbols",
        "rdma_symbols !peermem_symbol",
        CANDIDATE,
        "guest_ofed_mismatch",
        "kernel: module versions: built against another ib_core than the one that is loaded",
    ),
    rule(
        "ofed_installer",
        "ofed_installer",
        CANDIDATE,
        "guest_ofed_mismatch kernel_fault",
        "NVIDIA DOCA-OFED and MLNX_OFED installation guides: one build for each kernel",
    ),
    rule(
        "verbs_unknown_call",
        "verbs_unknown_call",
        CANDIDATE,
        "guest_ofed_mismatch container_libraries nic_firmware_fault",
        "rdma-core and UCX: user space and driver of one stack",
    ),
    rule(
        "ucx_qp_invalid",
        "ucx_qp_invalid",
        CANDIDATE,
        "guest_ofed_mismatch nic_firmware_fault ib_subnet",
        "UCX source: uct/ib: QPs that have no peer yet",
    ),
    rule(
        "firmware_no_answer",
        "firmware_no_answer",
        CANDIDATE,
        "nic_firmware_fault guest_ofed_mismatch",
        "kernel: mlx5/core/health.c, bnxt_hwrm.c, bnxt_re/qplib_rcfw.c: commands that the firmware does not answer",
    ),
    rule(
        "firmware_burn",
        "firmware_burn|firmware_blamed",
        CANDIDATE,
        "nic_firmware_fault nic_firmware_setting guest_ofed_mismatch",
        "mstflint and mlxfwmanager documentation; release notes of the NIC",
    ),
    rule(
        "slow_clean",
        "slow link_clean",
        CANDIDATE,
        "nic_firmware_fault numa_bios_setting gpu_pcie_degraded",
        "two facts: a link in order, and less than its rate",
    ),
    rule(
        "mr_refused",
        "mr_refused|mr_refused_other",
        CANDIDATE,
        "gdr_broken kernel_p2pdma container_memlock",
        "ibv_reg_dmabuf_mr(3), kernel >= 5.12; errno EFAULT, EPROTONOSUPPORT, EOPNOTSUPP",
    ),
    rule(
        "kernel_part_off",
        "kernel_part_off",
        CANDIDATE,
        "kernel_p2pdma",
        "kernel: drivers/pci/Kconfig, drivers/dma-buf/Kconfig, drivers/gpu/drm/amd/amdkfd/Kconfig",
    ),
    rule(
        "iwarp",
        "iwarp modify_qp_other|modify_qp_invalid|modify_qp_no_device|modify_qp_timeout|wc_retry_exceeded",
        CANDIDATE,
        "guest_ofed_mismatch vars_wrong",
        "iWARP connects by rdma_cm only; irdma: parameter roce_ena",
    ),
    rule(
        "cqe_dump",
        "cqe_dump",
        CANDIDATE,
        "gdr_broken acs_redirects gid_wrong link_faulty",
        "kernel: drivers/infiniband/hw/mlx5/cq.c; its syndrome says which error it was",
    ),
)
