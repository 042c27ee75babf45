"""Facts that do not matter for PROVEN, each with the reason. A change of any other fact has to be noticed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

EVERY = ".*"
NOT_THERE = "drop|zero|cut"
AGAIN = "saturate"  # a list nine times: nothing new in it

# (fact, kinds of change, because)
FACTS: tuple[tuple[str, str, str], ...] = (
    # ------------------------------------------------------------------------------------------------------------ job
    (
        r"evidence\.job\.cluster_network",
        EVERY,
        "NCCL names its NICs; where to look for them is asked only without that",
    ),
    (
        r"evidence\.job\.rdma_networks(\.\*)?",
        "drop|zero|saturate|cut",
        "a network is asked for or not: fewer ask for less, and NCCL names its NICs",
    ),
    (r"expected_ranks", "drop", "the job has the number, too"),
    # ----------------------------------------------------------------------------------------------------------- path
    (r"evidence\.nccl_path\.(hcas|hosts|layers|networks)", AGAIN, "the same said again"),
    (r"evidence\.nccl_path\.hcas\.\*\.port", "drop", "port 1 is what a NIC without a number of its port means"),
    (r"evidence\.nccl_path\.notes", "drop|add a problem", "notes are no faults"),
    (r"evidence\.nccl_path\.(pairs\.\*\.)?((send|receive)\.)?reason", EVERY, "a sentence for people"),
    (
        r"evidence\.nccl_path\.pairs\.\*\.(send|receive)\.lines(\.gdrdma)?",
        EVERY,
        "how many lines say so; the path of this end is the worst that one of them says",
    ),
    (r"evidence\.nccl_path\.pairs\.\*\.(send|receive)", "cut", "path and NICs stay: its first half"),
    (
        r"evidence\.nccl_path\.pairs\.\*\.(send|receive)\.devices(\.\*)?",
        "drop|saturate|zero|cut",
        "one of several NICs of a host, all of which NCCL named and whose counters count together",
    ),
    (
        r"evidence\.nccl_path\.pairs\.\*\.(source|target)",
        "zero|cut",
        "which GPU of a host: the data crosses the network between the hosts",
    ),
    (
        r"evidence\.nccl_path\.grouped",
        "drop|saturate|zero",
        "the rank numbers are compared one by one, or host by host",
    ),
    (
        r"result\.per_rank\.\*\.machine\.copy_gb_s",
        EVERY,
        "which GPU is slow, for the doctor; whether it slows the exchange down, the exchange itself says",
    ),
    (
        r"result\.per_rank\.\*\.machine\.warmup_batches",
        EVERY,
        "where ranks do not agree, or say more than were timed, it is not believed: the usual number is taken",
    ),
    (r"result\.per_rank\.\*\.machine\.exchange\.seconds", "cut|zero", "the slowest of the ranks tells the speed"),
    (r"evidence\.nccl_path\.within(\..*)?", EVERY, "which way pairs of one host take; the problems say what is wrong"),
    (r"(evidence\.nccl_path|result)\.problems", "drop", "that there is none is said by ok, too"),
    (
        r"evidence\.nccl_path\.((without_)?relaxed_ordering|settings)",
        EVERY,
        "how fast the path is, not whether the data took it; a witness beside the verdict says it",
    ),
    (r"evidence\.nccl_path\.versions\.\*", "zero|saturate|cut", "the path stands in the channel lines"),
    # ----------------------------------------------------------------------------------------------------------- NICs
    (r"evidence\.rdma\.\*\.(start|before|after)\.devices", AGAIN, "the same said again"),
    (
        r"evidence\.rdma\.\*\.(start|before|after)\.(hostname|boot_id|devices\.\*\.node_guid)",
        "drop|zero",
        "identities are compared where two readings tell them; a collector of a hand-off has no GUID",
    ),
    (r"evidence\.rdma\.\*\.(start|before|after)\.error", "drop", "no error is no error"),
    (r"evidence\.rdma\.\*\.start\.simulated", "drop", "the readings around the training say it, and have to"),
    (r"evidence\.rdma\.\*\.start\.at", EVERY, "links and slots do not change between two readings of one run"),
    (
        r"evidence\.rdma\.\*\.start\.devices\.\*\.(counters|qos)(\..*)?",
        EVERY,
        "this reading is for the limits; counters are read around the training",
    ),
    (
        r"evidence\.rdma\.\*\.start\.devices\.\*\.(active_mtu|netdev_mtu)",
        EVERY,
        "one stands for the other, and the least of all nodes counts",
    ),
    (
        r"evidence\.rdma\.\*\.start\.devices\.\*\.(rate|pcie\.current_link_width|pcie\.max_payload)",
        "saturate|cut",
        "the least of all nodes counts; a smaller limit is harder to stay below",
    ),
    (r"evidence\.rdma\.\*\.(start|before|after)\.devices\.\*\.gids\.\*\.index", EVERY, "an address is an address"),
    (r"evidence\.rdma\.\*\.(start|before|after)\.devices\.\*\.gids", AGAIN, "the same said again"),
    (r"evidence\.rdma\.\*\.(start|before|after)\.devices\.\*\.port", "drop", "port 1 is the port without a number"),
    (
        r"evidence\.rdma\.\*\.(before|after)\.devices\.\*\.(active_mtu|netdev_mtu|netdev|is_vf|pcie)(\..*)?",
        EVERY,
        "limits come from the first reading",
    ),
    (
        r"evidence\.rdma\.\*\.(before|after)\.devices\.\*\.rate",
        EVERY,
        "bounds what can have moved between two readings of NICs; what was due has to be there anyhow",
    ),
    (
        r"evidence\.rdma\.\*\.before\.devices\.\*\.gids(\..*)?",
        EVERY,
        "NCCL names its NICs; that they are in the network is read after the training",
    ),
    (r"evidence\.rdma\.\*\.after\.devices\.\*\.gids\.\*\.netdev", EVERY, "limits come from the first reading"),
    (
        r"evidence\.rdma\.\*\.(before|after)\.devices\.\*\.qos(\..*)?",
        EVERY,
        "without priorities the discards of all of them count",
    ),
    # -------------------------------------------------------------------------------------------------------- switches
    (r"evidence\.switches\.\*\.(before|after)\.error", "drop", "no error is no error"),
    (
        r"evidence\.switches\.\*\.(before|after)\.ports\.\*\.oper",
        EVERY,
        "a port that was up in one of the two readings counts, and one that was not moves nothing",
    ),
    (
        r"evidence\.switches\.\*\.before\.ports\.\*\.counters\.(rx|tx)_roce_packets",
        "zero|cut",
        "more packets than there were: what the NICs counted bounds it from below",
    ),
    (
        r"evidence\.switches\.\*\.after\.ports\.\*\.counters\.(rx|tx)_roce_packets",
        "cut",
        "one rail of one node, within the tenth that may be lost between the readings",
    ),
    (
        r"evidence\.rdma\.\*\.after\.devices\.\*\.counters\.counters\.port_(rcv|xmit)_data",
        "cut",
        "one rail of one node, within the tenth that may be lost between the readings",
    ),
    # ---------------------------------------------------------------------------------------------------------- layers
    (r"layers\.\w+\.(changed|changes)", EVERY, "what a run changed does not say how it is"),
    (r"layers\.\w+", "cut", "verified stays: its first half"),
    (r"layers\.\w+\.found\.\*(\.as)?", "zero|cut|saturate|drop", "shown; the role's own verified is the judgement"),
    (r"layers\.(switch|esxi|mesh|run)\.found", EVERY, "not by node of the job; the role's verified is the judgement"),
    # ----------------------------------------------------------------------------------------------------- the training
    (r"result\.agreement", "cut", "ok stays, and the sum is computed again"),
    (r"result\.agreement\.relative_difference", EVERY, "shown; computed again"),
    (
        r"result\.(last_step|numbered_listing|printed_totals(\.\*)?|ranks|step_lines|sum_of_ranks)",
        EVERY,
        "counted or computed again from the ranks and the total",
    ),
    (r"result\.parameters\.precision", EVERY, "gradients of this workload are fp32, whatever it computes in"),
    (r"result\.parameters\.variables", AGAIN, "the same said again"),
    (r"result\.per_rank\.\*\.(loss|source)", EVERY, "the reader judged it: loss_not_finite is a problem"),
    (
        r"result\.per_rank\.\*\.machine\.(checksum|images_per_second|total_images_per_second|wall_seconds|rank|host)",
        EVERY,
        "the reader compared it and says problems; it stands in the result a second time",
    ),
    (r"result\.per_rank\.\*\.machine\.(batches|batch_size|world)", "drop", "the other ranks and the head say it"),
    (r"result\.per_rank\.\*\.machine\.device", "saturate|cut", "any name that is not the CPU's"),
    # ------------------------------------------------------------------------------------------------- lines of NCCL
    (r"nccl log: Channel N/N : N(?: N)* ?", EVERY, "each rank prints its neighbours in the ring, too"),
    (r"nccl log: Trees .*", EVERY, "the neighbour prints its place in the tree, too, and both ends their channels"),
    (r"nccl log: Ring .*", EVERY, "both neighbours print the same, and rank 0 the whole ring"),
    (r"nccl log: Connected .*", EVERY, "every rank says so"),
    (r"nccl log: Channel .* via PNP/CUMEM/read", EVERY, "does not cross hosts"),
    (
        r"nccl log: Channel .* \[send\] via NET/IB/N\(N\).*",
        "number one higher",
        "which GPU of the host sends for the others",
    ),
    (
        r"nccl log: Channel .* \[(send|receive)\] via NET/IB/N.*",
        "number one higher|line cut short",
        "another NIC of the same host, which NCCL named; or a suffix behind /GDRDMA",
    ),
    (
        r"nccl log: NCCL version .*",
        "line cut short|line of another version|number one higher|line of another host",
        "above",
    ),
    (
        r"nccl log: NET/IB : Using .*",
        "line dropped|line cut|line cut short|number one higher",
        "each process of the host prints it, and the end of the line is an address outside of RDMA",
    ),
    (r"nccl log: Using network IB", EVERY, "the channel lines name the network"),
    (
        r"nccl log: ncclCommInitRankConfig .*",
        "line dropped|line cut|line cut short",
        "the start is told by its end, too",
    ),
    # ------------------------------------------------------------------------------------------ lines of the training
    (r"training log: N\timages/sec: .*", EVERY, "the machine lines have the exact figures"),
    (r"training log: total images/sec: N", EVERY, "every rank prints it"),
    (r"training log: Precision: .*", EVERY, "see result.parameters.precision"),
    (r"training log: Variables: .*", "line cut short|number one higher", "the same words at its beginning"),
)

# (fact, other fact, because): neither matters any more once the other was changed.
TOGETHER: tuple[tuple[str, str, str], ...] = (
    (
        r"evidence\.job\.rdma_networks(\.\*)?",
        r"evidence\.rdma\.\*\.after\.devices\.\*\.gids(\..*)?",
        "where no network is asked for, no address is compared with it: NCCL names its NICs",
    ),
)


def together(wheres: Sequence[str]) -> str:
    """Why a pair of changes may go unnoticed, each of which would not; empty: it may not."""
    for first, second, reason in TOGETHER:
        for one, other in itertools.permutations(wheres, 2):
            if re.fullmatch(first, one) and re.fullmatch(second, other):
                return reason
    return ""


def because(kind: str, where: str) -> str:
    """Why this change may go unnoticed; empty: it may not."""
    for fact, kinds, reason in FACTS:
        if re.fullmatch(fact, where) and re.fullmatch(kinds, kind):
            return reason
    return ""
