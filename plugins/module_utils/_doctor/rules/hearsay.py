# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What people found out and say in their own words: a variable that hurts, ranks with unequal work, limits that do not
arrive. Pure data."""

from __future__ import annotations

from ..model import CANDIDATE, FACT, rule, sign

_VARIABLE = (
    r"(?:NCCL(?!_DEBUG)|RCCL|UCX(?!_LOG)|OMPI_MCA|GLOO|TORCH_NCCL|FI(?!_LOG)|HSA|NVSHMEM|CUDA_(?!VERSION|ERROR|HOME))"
    r"_?\w+"
)
_AWAY = r"(?:remov\w+|unset\w*|without|delet\w+|drop\w+|comment\w*(?: out)?|not set\w*|leav\w+ out|clear\w+)"
_WELL = r"(?:fix\w*|work\w*|solv\w*|resolv\w*|help\w*|gone|fine|ok|success\w*|disappear\w*|recover\w*)"
_BADLY = r"(?:hangs?|hung|stuck|deadlock\w*|crash\w*|fails?|failed|slow\w*|segfault\w*|error\w*|stall\w*)"

SIGNS = (
    sign(
        "variable_away",
        rf"\b{_AWAY} (?:the |of |export |our |my |variable |env(?:ironment)? )*\W{{0,2}}{_VARIABLE}\S*.{{0,60}}"
        rf"\b{_WELL}\b"
        rf"|\b{_WELL}\b.{{0,40}}\b(?:after|by|when|once|with)? ?{_AWAY} (?:the )?\W{{0,2}}{_VARIABLE}",
    ),
    sign(
        "variable_hurts",
        rf"\b{_BADLY}\b.{{0,30}}\b(?:with|when|if|because of|due to|caused by|after)\b.{{0,30}}(?<![\w-])"
        rf"{_VARIABLE}\W{{0,2}}=\W{{0,2}}\w+|{_VARIABLE}\W{{0,2}}=\W{{0,2}}\w+\W{{0,3}} (?:makes|causes|cuts|breaks"
        r"|leads|costs|halves|disables|slows)\b",
    ),
    # Ranks do not do the same: they wait for a call that somebody never makes.
    sign(
        "unequal_work",
        r"\b(?:different|unequal|uneven|fewer|more|less|another|mismatched|not the same|inconsistent) (?:number|amount"
        r"|count|length|order)s? of (?:\w+ )?(?:samples?|batch\w*|steps?|iterations?|inputs?|tokens?|items?|elements?"
        r"|calls?|collectives?|parameters?|epochs?)\b"
        r"|\b(?:rank|process|worker) ?\d* (?:gets|has|had|receives?|sees?) (?:no|zero|0|fewer|more|an extra|one more"
        r"|one less) (?:samples?|batch\w*|steps?|data)\b"
        r"|\bnot divisible by (?:the )?(?:number of |world)",
    ),
    # Memory that may be locked: how the limit reaches a process. systemd.exec(5), pam_limits(8), capabilities(7).
    sign(
        "lock_limit",
        r"\bmlock(?:all)?\(?\)?\W.{0,60}(?:fail\w*|ENOMEM|stop\w*|denied|not permitted|exceed\w*|limit\w*)"
        r"|\b(?:no|without|missing|lacks?|unset|not set) (?:a )?(?:LimitMEMLOCK|RLIMIT_MEMLOCK|memlock|IPC_LOCK"
        r"|CAP_IPC_LOCK)\b"
        r"|\b(?:LimitMEMLOCK|RLIMIT_MEMLOCK|IPC_LOCK)\b.{0,40}(?:missing|not (?:set|honou?red|effective|inherited"
        r"|applied|granted)|inert|ignored|lost)"
        r"|\b(?:limits?|ulimit)\b.{0,40}\bnot (?:honou?red|applied|inherited|propagated|effective)",
    ),
    # perftest, Open MPI, UCX, DPDK: a region or a queue that cannot be made, and no word of why.
    sign(
        "registration_plain",
        r"\bibv_reg_mr\w*\(?\)? (?:always |sometimes |often )?(?:fails|returns? NULL|returned NULL|failed)\b"
        r"(?! with error)"
        r"|Failed to create a completion queue|Couldn't allocate MR\b|failed to allocate MR\b|\bmlx\d: reg_mr failed",
    ),
    sign(
        "gpu_pinned_said",
        r"Bad address|EFAULT|nvidia[_-]peermem|dma-?buf|GPU (?:memory|buffer)|cuda(?:Malloc| memory)",
        FACT,
    ),
    # Several addresses of one host in one subnet: ip-sysctl of the kernel, rp_filter, arp_ignore.
    sign(
        "one_subnet",
        r"\b(?:in|on|share|of|within) (?:the same|one|a single) (?:IP )?(?:subnet|network|/\d\d)\b.{0,100}\b(?:single"
        r"|one|same|other|wrong|first) (?:interface|NIC|port|device|link)"
        r"|(?:single|one|same|other|wrong|first) (?:interface|NIC|port)\b.{0,80}\b(?:in|on|share|of) (?:the same|one|a"
        r" single) (?:IP )?subnet|\brp_filter\s*=?\s*1\b|\bARP flux\b",
    ),
)

RULES = (
    rule(
        "variable_blamed",
        "variable_away|variable_hurts",
        CANDIDATE,
        "vars_wrong nccl_bug acs_redirects",
        "somebody tried it: trouble with a variable, none without; NCCL documentation: what each of them is for",
    ),
    rule(
        "unequal_work",
        "unequal_work",
        CANDIDATE,
        "app_collective_mismatch application_failed",
        "NCCL documentation: every rank has to call the same collectives; PyTorch: Join for uneven inputs",
    ),
    rule(
        "lock_limit",
        "lock_limit",
        CANDIDATE,
        "container_memlock memlock_host",
        "systemd.exec(5), capabilities(7): the limit comes from the service that starts containers or logins",
    ),
    rule(
        "registration_plain",
        "registration_plain !reg_mr_enomem|create_enomem|gpu_pinned_said|gpu_reg_mr|dmabuf_failed",
        CANDIDATE,
        "container_memlock memlock_host kernel_pinning",
        "verbs: regions and queues are locked memory; without an errno the limit is looked at first",
    ),
    rule(
        "one_subnet",
        "one_subnet",
        CANDIDATE,
        "wrong_interface",
        "kernel ip-sysctl: rp_filter, arp_ignore; a host with two addresses in one subnet sends through one of them",
    ),
)
