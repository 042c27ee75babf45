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

WITNESSES: tuple[Witness, ...] = (
    job.WITNESS,
    log.WITNESS,
    ranks.WITNESS,
    layers.WITNESS,
    path.WITNESS,
    rdma_counters.WITNESS,
    switch_counters.WITNESS,
    limits.WITNESS,
    speed.WITNESS,
    fabric.WITNESS,
    doctor.WITNESS,
    # Beside the verdict: how good the path is.
    ats.WITNESS,
    acs.WITNESS,
    relaxed_ordering.WITNESS,
    topology.WITNESS,
    numa.WITNESS,
    pcie_link.WITNESS,
    detour.WITNESS,
)
NAMES = tuple(witness.name for witness in WITNESSES)
