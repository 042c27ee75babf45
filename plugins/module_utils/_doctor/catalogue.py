# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All causes, signs and rules of the doctor, from the files in ``rules`` and from the rules of a failed run. Pure.

``_results/causes.py`` explains a failed mpirun. Its patterns are signs here, so that both say the same of one line.
"""

from __future__ import annotations

from .._results.launch.causes import RULES as RUN_RULES
from .model import CANDIDATE, ECHO, FAULT, LAYERS, Cause, Compare, Rule, Sign
from .rules import (
    addresses,
    engines,
    fabric,
    figures,
    gpu,
    gpu_causes,
    gpu_words,
    guests,
    hearsay,
    host,
    host_causes,
    host_signs,
    job,
    job_causes,
    launch,
    libraries,
    links,
    managers,
    modules,
    nccl_words,
    network_words,
    nic,
    nic_causes,
    noise,
    normal,
    pcie_vm,
    pcie_vm_causes,
    peers,
    pods,
    rdma,
    site,
    start,
    switch,
    trees,
)

# Cause of a failed run -> what it may be here. Causes that only repeat an error of a lower layer are echoes.
RUN_CAUSES: dict[str, str] = {
    "host_key_changed": "launch_failed",
    "host_key_unknown": "launch_failed",
    "key_file_refused": "launch_failed",
    "orted_missing": "launch_failed",
    "orted_broken": "launch_failed",
    "slots": "launch_failed",
    "mpirun_option": "launch_failed",
    "run_as_root": "launch_failed",
    "docker_permission": "container_down",
    "docker_down": "container_down",
    "container_not_running": "container_down",
    "container_missing": "container_down",
    "container_exec": "container_down",
    "program_missing": "application_failed",
    "wrong_sum": "nccl_bug",
    "weights_differ": "application_failed",
}
_ECHOES = ("nccl", "cuda", "nccl_tests")


def _run_signs() -> tuple[list[Sign], list[Rule]]:
    signs, rules = [], []
    for entry in RUN_RULES:
        name = f"run_{entry.cause}"
        kind = ECHO if entry.cause in _ECHOES else FAULT
        if entry.cause in RUN_CAUSES:
            signs.append(Sign(name, entry.pattern, kind))
            rules.append(Rule(name, name, CANDIDATE, (RUN_CAUSES[entry.cause],), "recorded: " + entry.summary))
    return signs, rules


_SIGNS, _RULES = _run_signs()

CAUSES: dict[str, Cause] = {
    cause.id: cause
    for causes in (
        rdma.CAUSES,
        nic_causes.CAUSES,
        gpu_causes.CAUSES,
        pcie_vm_causes.CAUSES,
        host_causes.CAUSES,
        job_causes.CAUSES,
        fabric.CAUSES,
    )
    for cause in causes
}
SIGNS: tuple[Sign, ...] = (
    *start.SIGNS,
    *rdma.SIGNS,
    *nic.SIGNS,
    *switch.SIGNS,
    *gpu.SIGNS,
    *pcie_vm.SIGNS,
    *host_signs.SIGNS,
    *launch.SIGNS,
    *job.SIGNS,
    *site.SIGNS,
    *addresses.SIGNS,
    *links.SIGNS,
    *modules.SIGNS,
    *peers.SIGNS,
    *figures.SIGNS,
    *guests.SIGNS,
    *trees.SIGNS,
    *engines.SIGNS,
    *managers.SIGNS,
    *nccl_words.SIGNS,
    *gpu_words.SIGNS,
    *network_words.SIGNS,
    *pods.SIGNS,
    *libraries.SIGNS,
    *hearsay.SIGNS,
    *normal.SIGNS,
    *noise.SIGNS,
    *_SIGNS,
)
RULES: tuple[Rule, ...] = (
    *start.RULES,
    *rdma.RULES,
    *nic.RULES,
    *switch.RULES,
    *gpu.RULES,
    *pcie_vm.RULES,
    *host.RULES,
    *launch.RULES,
    *job.RULES,
    *site.RULES,
    *addresses.RULES,
    *links.RULES,
    *modules.RULES,
    *peers.RULES,
    *figures.RULES,
    *guests.RULES,
    *trees.RULES,
    *pods.RULES,
    *fabric.RULES,
    *engines.RULES,
    *managers.RULES,
    *nccl_words.RULES,
    *gpu_words.RULES,
    *network_words.RULES,
    *libraries.RULES,
    *hearsay.RULES,
    *_RULES,
)
COMPARES: tuple[Compare, ...] = (*job.COMPARES, *site.COMPARES)

if any(cause.layer not in LAYERS for cause in CAUSES.values()):
    raise ValueError("a cause has a layer that is not in the vocabulary")
