"""All witnesses, in the order of the report. A new one is a file in `witnesses` and a line here.

Named one by one: what Ansible sends to a target holds only what is imported by name.
"""

from __future__ import annotations

from .witness import Witness
from .witnesses import (
    acs,
    ats,
    detour,
    doctor,
    fabric,
    job,
    layers,
    limits,
    log,
    numa,
    path,
    pcie_link,
    ranks,
    rdma_counters,
    relaxed_ordering,
    speed,
    switch_counters,
    topology,
)

_DECIDING = (job, log, ranks, layers, path, rdma_counters, switch_counters, limits, speed, fabric, doctor)
# Beside the verdict: how good the path is.
_BESIDE = (ats, acs, relaxed_ordering, topology, numa, pcie_link, detour)
WITNESSES: tuple[Witness, ...] = tuple(module.WITNESS for module in (*_DECIDING, *_BESIDE))
NAMES = tuple(witness.name for witness in WITNESSES)
