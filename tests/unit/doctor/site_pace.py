"""What the gym's outputs mean for the pace of a job: what a ring of the site's hosts gets of its links, and how fast
each GPU talks to its host. The devices decide, also those that no run reads; the names of faults do not."""

from __future__ import annotations

import re

from ansible_collections.rocemesh.multinode.plugins.module_utils._results.figures.limits import pcie_gbyte_per_s

from lab.gym import site
from tests.unit.doctor.site_readings import Pieces, found
from tests.unit.proof.truth import COPY_GB_S, SOUND_SHARE

LINK_GBIT = 100  # what the gym's ports run at
LINK_GB_S = LINK_GBIT / 8 * 4096 / (4096 + 82)
SECONDS = 80.0  # between the two readings of the counters, in truth.Run
# A switch port above GPU and NIC that redirects sends what passes between them up to the root complex and back: in a VM
# of two A100 and two 200 Gb/s NICs 56 % of the links was left (NVIDIA/nccl issue 949, before and after DirectTrans).
REDIRECTED = 0.56
# DCQCN (Zhu et al., SIGCOMM 2015, sections 3.2 and 3.3; the NIC's own congestion control): a receiver answers marked
# packets with at most one notification per 50 us; with one in every such time the sender's estimate goes to 1, and each
# notification halves its rate. So a flow with marks in all of them gets a half at most.
NOTIFIED_EVERY_S, HALVED = 50e-6, 0.5


def share(pieces: Pieces) -> float:
    """A ring goes at the pace of its slowest host."""
    return min(SOUND_SHARE, *(_host(pieces, host) for host in site.HOSTS))


def copies(pieces: Pieces, at: str) -> dict[str, float]:
    """Host -> GB/s between it and its GPU. ``at``: whose GPU the narrow link of the ESXi host belongs to."""
    lanes = _lanes(pieces, site.ESXI[at])
    return {at: COPY_GB_S * lanes / 16} if lanes < 16 else {}


def _host(pieces: Pieces, host: str) -> float:
    esxi = site.ESXI[host]
    gpu = pcie_gbyte_per_s(4, _lanes(pieces, esxi), 256).value or 0.0
    redirected = "DirectTrans-" in pieces[f"esxi/{esxi}/lspci.txt"]
    statistics, counters = (pieces[f"hosts/{host}/{name}.txt"] for name in ("ethtool-S", "hw_counters"))
    paused = int(found(r"tx_prio3_pause_duration: (\d+)", statistics, "0")) / 1e6 / SECONDS
    marked = int(found(r"np_ecn_marked_roce_packets: (\d+)", counters, "0"))
    notified = marked / (SECONDS / NOTIFIED_EVERY_S) >= HALVED
    return min(gpu / LINK_GB_S, REDIRECTED if redirected else 1.0, 1 - paused, HALVED if notified else 1.0)


def _lanes(pieces: Pieces, esxi: str) -> int:
    narrow = re.search(r"Width x(\d+) \(downgraded\)", pieces[f"esxi/{esxi}/lspci.txt"])
    return int(narrow[1]) if narrow else 16
