# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RoCE addresses and path MTUs in the words of programs and people: which index helps, which sizes pass. Pure data."""

from __future__ import annotations

import re
from typing import Match

from ..model import CANDIDATE, FACT, rule, sign

_NO = re.compile(r"\bnot\b|n't\b|\bno\b|\bnever\b|\bnone\b", re.IGNORECASE)
_HELPS = r"(?:fix\w*|works?|worked|gone|helps?|helped|solve[sd]?|resolve[sd]?|cannot be reproduced|no longer)\b"
_INDEX = r"(?:NCCL_IB_|UCX_IB_|MC_|GLOO_|UCCL_IB_|NVSHMEM_IB_)?GID[_ ](?:INDEX|IDX)\b"
_SIZE = r"(?:-s|sizes?|length|bytes?|messages?|writes?|mr_size|packets?)"


def _helps(match: Match[str]) -> bool:
    return not _NO.search(match.group().replace("cannot be reproduced", "").replace("no longer", ""))


def _two_indexes(match: Match[str]) -> bool:
    return match["one"] != match["two"]


SIGNS = (
    sign(
        "gid_index_helps",
        rf"{_INDEX}.{{0,40}}\b{_HELPS}|\b{_HELPS}.{{0,40}}\b{_INDEX}",
        test=_helps,
    ),
    sign(
        "gid_indexes_differ",
        rf"{_INDEX}\W{{0,6}}(?P<one>\d+)\b.{{0,80}}{_INDEX}\W{{0,6}}(?P<two>\d+)\b",
        test=_two_indexes,
    ),
    # Kernel: drivers/infiniband/core/cache.c, roce_gid_mgmt.c.
    sign(
        "gid_not_added",
        r"unable to (?:add|delete) gid|__ib_cache_gid_add|(?:add|del)_roce_gid.{0,60}fail|failed to (?:add"
        r"|set) (?:RoCE )?gid"
        r"|gid table (?:is )?(?:full|empty)|\b(?:no|missing|empty) RoCE ?v2 GID|GID (?:is )?(?:all )?zero(?:s|es)?\b",
    ),
    sign(
        "gid_trouble",
        r"\bGIDs?\b.{0,80}\b(?:stale|wrong|old|moves?|moved|away|lost|gone|mismatch\w*|hole|vanish\w*|unroutable"
        r"|not (?:routable|there|present|valid|visible))\b|\b(?:stale|wrong|moves?|moved|lost|old)\b.{0,40}\bGIDs?\b",
    ),
    sign("roce_version_set", r"NCCL_IB_ROCE_VERSION_NUM|NCCL_IB_ADDR_(?:FAMILY|RANGE)|UCX_IB_ROCE_\w+", FACT),
    # A path MTU that a program takes without asking the port.
    sign(
        "mtu_fixed",
        r"\bIBV_MTU_(?:1024|2048|4096)\b|hard-?cod\w+.{0,30}\bMTU\b|\bMTU\b.{0,30}hard-?cod",
    ),
    sign(
        "size_threshold",
        rf"{_SIZE}\D{{0,6}}\d+.{{0,40}}\b(?:works?|ok|fine|pass(?:es)?|succeeds?)\b.{{0,60}}\d+.{{0,30}}"
        r"\b(?:fails?|failed|hangs?|stuck|times? out)\b"
        rf"|\b(?:fails?|hangs?|breaks?)\b.{{0,40}}\b(?:above|over|beyond|more than|larger than|greater than)\b.{{0,10}}"
        r"(?:\b\d+ ?(?:B|bytes?|K|KB|KiB|MTU)\b|\b\d{3,}\b)"
        r"|\b(?:invalid|fail\w*|cannot|lost|hang\w*)\b.{0,60}\b(?:large|larger|greater|bigger|more"
        r"|longer) than \d{3,}\b"
        r"|\bsmall(?:er)? (?:messages?|packets?|sizes?|transfers?)\b.{0,40}\b(?:works?|ok|fine|pass)\b.{0,60}"
        r"\b(?:large|big|bigger|larger)\b.{0,40}\b(?:fails?|hangs?|lost|stuck|time)"
        r"|\b(?:large|big|bigger|larger) (?:messages?|packets?|sizes?|transfers?|tensors?)\b.{0,40}"
        r"\b(?:fails?|hangs?|lost|stuck|time out)\b",
    ),
)

RULES = (
    rule(
        "gid_index_helps",
        "gid_index_helps",
        CANDIDATE,
        "gid_wrong gid_sparse",
        "NCCL documentation, NCCL_IB_GID_INDEX: another index helps where the chosen one is not routed or not there",
    ),
    rule(
        "gid_indexes_differ",
        "gid_indexes_differ",
        CANDIDATE,
        "gid_sparse gid_moved",
        "kernel: indexes depend on the order in which addresses came up, so they differ between hosts and containers",
    ),
    rule(
        "gid_not_added",
        "gid_not_added|gid_trouble",
        CANDIDATE,
        "gid_wrong gid_moved guest_ofed_mismatch",
        "kernel: drivers/infiniband/core/cache.c, roce_gid_mgmt.c",
    ),
    rule(
        "roce_version_set",
        "roce_version_set hang|modify_qp_other|modify_qp_invalid|modify_qp_timeout|wc_retry_exceeded|modify_qp_no_data",
        CANDIDATE,
        "gid_wrong gid_sparse",
        "NCCL documentation, NCCL_IB_ROCE_VERSION_NUM: decides which GID is taken",
    ),
    rule(
        "gid_chosen",
        "gid_chosen_link_local|gid_chosen_absent",
        CANDIDATE,
        "gid_wrong gid_moved",
        "two lines: the index that was set, and what the table of the device holds there",
    ),
    rule(
        "qp_no_device_roce",
        "modify_qp_no_device ethernet_wanted",
        CANDIDATE,
        "gid_wrong vars_wrong application_failed",
        "verbs: a RoCE port is reached by a global route only, so the program has to set a GID index",
    ),
    rule(
        "mtu_fixed",
        "mtu_fixed",
        CANDIDATE,
        "mtu_differs nccl_bug",
        "ibv_modify_qp(3): IBV_QP_PATH_MTU may not be more than the active MTU of the port",
    ),
    rule(
        "size_threshold",
        "size_threshold",
        CANDIDATE,
        "mtu_differs switch_mtu gdr_broken",
        "what fits into one packet passes, what takes several or full ones does not: the path MTU",
    ),
    rule(
        "mtus_several",
        "mtus_several hang|slow|wc_flush|wc_retry_exceeded|wc_loc_len|wc_rem_inv|wc_rem_access|modify_qp_other"
        "|modify_qp_invalid|size_threshold|qp_access_event|wc_loc_qp",
        CANDIDATE,
        "mtu_differs switch_mtu",
        "two facts: a connection that fails, and ports or programs with different path MTUs",
    ),
)
