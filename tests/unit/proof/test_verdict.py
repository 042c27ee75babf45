"""The verdict, witness by witness: what each says if a fact is absent, zero or contradicting. The id names the rule."""

from __future__ import annotations

import copy
import pathlib
import re
from typing import Any, Callable

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._proof.verdict import judge
from ansible_collections.rocemesh.multinode.plugins.module_utils._proof.witness import Heard, Witness
from ansible_collections.rocemesh.multinode.plugins.module_utils._proof.witness import witnesses as all_witnesses
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import tf_cnn
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.report.summary import LAYERS, Inputs, build
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.proof.truth import STARTED, Run
from tests.unit.results.nccl_shapes import Job

FIXTURES = pathlib.Path(__file__).parents[1] / "results" / "fixtures"
FOUR, RAILS = Run("4x1 ring"), Run("2x8 8 rails", nodes=2, gpus=8, rails=8)
TRUTH = {run.name: run.inputs() for run in (FOUR, RAILS)}


def summary(change: Callable[[dict[str, Any]], Any] | None = None, run: Run = FOUR, **more: Any) -> dict[str, Any]:
    inputs = copy.deepcopy(TRUTH[run.name])
    if change is not None:
        change(inputs)
    return build(Inputs(run_id="x", **{**inputs, **more}))


def said(name: str, change: Callable[[dict[str, Any]], Any] | None = None, **more: Any) -> tuple[str, str]:
    (found,) = [one for one in summary(change, **more)["verdict"]["witnesses"] if one["name"] == name]
    return found["state"], found["evidence"]


def put(*place: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    """Change one fact; ``to`` None drops it; a function is called with the old value."""

    def change(inputs: dict[str, Any]) -> None:
        holder = inputs
        for word in place[:-1]:
            holder = holder[word]
        if to is None:
            del holder[place[-1]]
        else:
            holder[place[-1]] = to(holder[place[-1]]) if callable(to) else to

    return change


def problem(reader: str, code: str) -> Callable[[dict[str, Any]], None]:
    def change(inputs: dict[str, Any]) -> None:
        holder = inputs["result"] if reader == "result" else inputs["evidence"]["nccl_path"]
        holder["problems"] = [{"code": code, "message": "because"}]

    return change


PATH, JOB, RDMA, SWITCH = (("evidence", key) for key in ("nccl_path", "job", "rdma", "switches"))
PER_RANK = ("result", "per_rank")
NIC = (*RDMA, "gpu02")
PORTS = (*SWITCH, "sw01", "after", "ports", "1/1", "counters")


def named_by_the_doctor(inputs: dict[str, Any]) -> None:
    inputs["doctor"] = {
        "findings": [{"layer": "cabling", "cause": "link_faulty", "hosts": ["gpu02"], "means": "Down."}]
    }


def another_fabric(inputs: dict[str, Any]) -> None:
    inputs["evidence"]["fabric"] = {
        "at": STARTED - 300,
        "report": {
            "ok": False,
            "complete": True,
            "hosts": [f"gpu0{number}" for number in range(1, 5)],
            "faults": [{"thing": "slow", "place": "rail 0", "hosts": [], "found": "bad"}],
            "measured": {"ib_write_bw": {"tests": 9}},
        },
    }


def exchanged(key: str, value: Any, ranks: tuple[int, ...] = (0, 1, 2, 3)) -> Callable[[dict[str, Any]], None]:
    """Another figure of the all-reduce that these ranks measured alone."""

    def change(inputs: dict[str, Any]) -> None:
        for rank in ranks:
            inputs["result"]["per_rank"][rank]["machine"]["exchange"][key] = value

    return change


def paused(counter: str, seconds: float) -> Callable[[dict[str, Any]], None]:
    """Of the 80 s between the two readings of one NIC."""

    def change(inputs: dict[str, Any]) -> None:
        for word, value in (("before", 17), ("after", 17 + round(seconds * 1e6))):
            device = inputs["evidence"]["rdma"]["gpu02"][word]["devices"][0]
            device["counters"]["ethtool"][counter] = value

    return change


def every(key: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """The same in the machine line of each rank."""

    def change(inputs: dict[str, Any]) -> None:
        for rank in inputs["result"]["per_rank"]:
            rank["machine"][key] = value

    return change


def of_another_machine(inputs: dict[str, Any]) -> None:
    """The counters of nodes that took no part."""
    inputs["evidence"]["rdma"] = {
        f"spare{index}": pair for index, pair in enumerate(inputs["evidence"]["rdma"].values())
    }


# (rule, witness, change, state, words)
TABLE: list[tuple[str, str, Callable[[dict[str, Any]], None], str, str]] = [
    # ---------------------------------------------------------------------------------------------------------- speed
    ("no-rank-measured-alone", "speed", every("exchange", None), "missing", "no rank measured an all-reduce alone"),
    (
        "one-rank-did-not-measure",
        "speed",
        put(*PER_RANK, 2, "machine", "exchange", to=None),
        "missing",
        "not every rank measured the same all-reduce",
    ),
    ("other-sizes-measured", "speed", exchanged("bytes", 64, (1,)), "missing", "not every rank measured the same"),
    ("seconds-make-no-sense", "speed", exchanged("seconds", 0), "missing", "no rank measured an all-reduce alone"),
    ("slower-than-its-links", "speed", exchanged("seconds", 0.05), "disagrees", "% of what the links of a node carry"),
    ("the-slowest-rank-counts", "speed", exchanged("seconds", 0.05, (3,)), "disagrees", "less than 75 % is slow"),
    ("link-not-known", "speed", put(*NIC, "start", "devices", 0, "rate", to="?"), "missing", "link speed of the NIC"),
    ("paused-too-long", "speed", paused("tx_prio3_pause_duration", 21.0), "disagrees", "at gpu02 (26 % of the time)"),
    ("made-to-wait-too-long", "speed", paused("rx_prio3_pause_duration", 60.0), "disagrees", "(75 % of the time)"),
    # ------------------------------------------------------------------------------------------------------------ job
    ("job-not-told", "job", put(*JOB, to=None), "missing", "the run, its hosts"),
    ("job-without-hosts", "job", put(*JOB, "hosts", to={}), "missing", "the run, its hosts"),
    ("job-without-time", "job", put(*JOB, "ended", to=None), "missing", "end of the training"),
    ("job-ends-before-it-begins", "job", put(*JOB, "ended", to=STARTED - 1), "disagrees", "ended before it began"),
    ("nccl-chose-its-network", "job", put(*JOB, "network", to=""), "missing", "free to choose its network"),
    ("gloo-in-the-timed-run", "job", every("backend", "gloo"), "disagrees", "the ranks used gloo, not NCCL"),
    ("cpu-in-the-timed-run", "job", every("device", "cpu"), "disagrees", "computed on cpu, not GPUs"),
    ("backend-not-told", "job", every("backend", ""), "missing", "what the ranks talked through"),
    ("one-rank-on-cpu", "job", put(*PER_RANK, 2, "machine", "device", to="cpu"), "disagrees", "computed on cpu"),
    ("more-ranks-than-started", "job", put("expected_ranks", to=8), "disagrees", "8 ranks were to be started, the job"),
    # ------------------------------------------------------------------------------------------------------------ log
    ("no-result", "log", put("result", to={}), "missing", "there is no training result"),
    ("sum-contradicts-total", "log", put("result", "agreement", "ok", to=False), "impossible", "contradicts the"),
    ("sum-not-compared", "log", put("result", "agreement", "ok", to=lambda _old: None), "missing", "be compared"),
    ("agreement-not-told", "log", put("result", "agreement", to=None), "missing", "cannot be compared"),
    ("no-total", "log", put("result", "total", to=lambda _old: None), "missing", "cannot be compared"),
    ("sum-is-computed-again", "log", put(*PER_RANK, 0, "images_per_second", to=2.0), "impossible", "add up to"),
    ("log-of-another-run", "log", put("result", "job", to="yesterday"), "disagrees", "is of run yesterday, not of"),
    ("log-of-no-run", "log", put("result", "job", to=None), "missing", "run of the result"),
    ("more-work-than-time", "log", put(*JOB, "ended", to=STARTED + 2), "disagrees", "but the run took 2 s"),
    ("reader-not-content", "log", put("result", "ok", to=False), "disagrees", "says that the log is not in order"),
    ("reader-says-nothing", "log", put("result", "ok", to=None), "missing", "does not say whether the log is in order"),
    ("odd-problem-of-a-log", "log", problem("result", "cut_line"), "disagrees", "because"),
    # ---------------------------------------------------------------------------------------------------------- ranks
    ("no-rank", "ranks", put(*PER_RANK, to=[]), "missing", "no rank has a result"),
    ("rank-missing", "ranks", put(*PER_RANK, 3, to=None), "impossible", "4 ranks were started, 3 have a result"),
    ("rank-unknown", "ranks", put(*PER_RANK, 1, "rank", to=lambda _old: None), "missing", "does not tell whose"),
    ("rank-twice", "ranks", put(*PER_RANK, 1, "rank", to=0), "impossible", "number themselves 0, 0, 2, 3"),
    ("other-world", "ranks", put(*PER_RANK, 1, "machine", "world", to=2), "impossible", "there are 2, 4 ranks"),
    ("host-of-a-rank-not-told", "ranks", put(*PER_RANK, 1, "host", to=None), "missing", "hosts of the ranks"),
    ("trained-elsewhere", "ranks", put(*PER_RANK, 1, "host", to="x2"), "disagrees", "x2, which took no part"),
    ("unfinished-rank", "ranks", problem("result", "unfinished"), "disagrees", "because"),
    # --------------------------------------------------------------------------------------------------------- layers
    ("layer-not-as-wanted", "layers", put("layers", "nic", "verified", to=False), "disagrees", "not as wanted: NICs"),
    ("layer-not-looked-at", "layers", put("layers", "nic", "verified", to=None), "missing", "not checked: NICs"),
    ("layer-absent", "layers", put("layers", "mesh", to=None), "missing", "not checked: ssh mesh"),
    ("one-node-not-looked-at", "layers", put("layers", "nic", "found", "gpu03", to=None), "missing", "on gpu03"),
    # ----------------------------------------------------------------------------------------------------------- path
    ("no-nccl-log", "path", put(*PATH, to=None), "missing", "no NCCL log was read"),
    ("bare-verdict", "path", put(*PATH, to={"verdict": "gdrdma"}), "missing", "no pair of ranks"),
    ("staged", "path", put(*PATH, "verdict", to="rdma_via_host"), "disagrees", "RDMA through host memory: "),
    ("receive-only", "path", put(*PATH, "verdict", to="receive_only"), "disagrees", "in receiving only: "),
    ("sockets", "path", put(*PATH, "verdict", to="sockets"), "disagrees", "TCP sockets: "),
    ("not-one-job", "path", put(*PATH, "verdict", to="not_one_job"), "impossible", "did not form one job"),
    ("path-unknown", "path", put(*PATH, "verdict", to="unknown"), "missing", "4 of 4 pairs"),
    ("verdict-of-the-future", "path", put(*PATH, "verdict", to="teleport"), "missing", "which is not known"),
    ("aborted-job", "path", problem("path", "aborted"), "disagrees", "because"),
    ("path-not-ok", "path", put(*PATH, "ok", to=False), "disagrees", "the log is not in order"),
    ("path-ok-not-told", "path", put(*PATH, "ok", to=None), "missing", "whether the log is in order"),
    ("one-pair-by-sockets", "path", put(*PATH, "pairs", 1, "verdict", to="sockets"), "disagrees", "TCP sockets"),
    ("one-end-staged", "path", put(*PATH, "pairs", 1, "send", "path", to="sockets"), "disagrees", "TCP sockets"),
    ("pair-missing", "path", put(*PATH, "pairs", 1, to=None), "disagrees", "sends on nothing of gpu02"),
    ("path-of-fewer-ranks", "path", put(*PATH, "nranks", to=2), "disagrees", "of 2 ranks, the job had 4"),
    ("path-of-unknown-ranks", "path", put(*PATH, "nranks", to=None), "missing", "how many ranks"),
    (
        "path-of-other-hosts",
        "path",
        put(*PATH, to=lambda _old: {**Run("x").path(Run("x").nccl().replace("gpu", "spare")), "verdict": "gdrdma"}),
        "disagrees",
        "spare01",
    ),
    ("path-of-another-run", "path", put(*PATH, "job", to="yesterday"), "disagrees", "is of run yesterday"),
    ("path-of-a-probe", "path", put(*PATH, "at", to=STARTED - 200), "missing", "the training was not observed"),
    ("path-read-in-the-training", "path", put(*PATH, "at", to=STARTED + 20), "missing", "20 s before"),
    ("path-read-hours-later", "path", put(*PATH, "at", to=STARTED + 7200), "disagrees", "15 minutes after the"),
    ("path-read-at-no-time", "path", put(*PATH, "at", to=None), "missing", "when NCCL's log was read"),
    ("another-network-than-asked", "path", put(*PATH, "networks", to=["IBext_v8"]), "disagrees", "asked for was IB"),
    ("infiniband", "path", put(*PATH, "layers", to=["IB"]), "disagrees", "InfiniBand, which is not in scope"),
    ("link-layer-not-told", "path", put(*PATH, "layers", to=[]), "missing", "does not say that its NICs speak RoCE"),
    ("nics-not-named", "path", put(*PATH, "hcas", to=[]), "missing", "NICs that NCCL used"),
    ("several-nccl", "path", put(*PATH, "versions", to=["2.21.5", "2.18.6"]), "disagrees", "several versions"),
    ("ranks-elsewhere", "path", put(*PATH, "rank_hosts", "1", to="gpu03"), "disagrees", "not on the hosts where they"),
    # ----------------------------------------------------------------------------------------------------------- NICs
    ("nics-not-read", "rdma_counters", put(*RDMA, to=None), "missing", "were not read"),
    ("one-node-not-read", "rdma_counters", put(*NIC, to=None), "missing", "gpu02"),
    ("counters-of-others", "rdma_counters", of_another_machine, "disagrees", "which took no part"),
    ("read-too-late", "rdma_counters", put(*NIC, "before", "at", to=STARTED + 5), "disagrees", "do not lie around"),
    ("read-too-early", "rdma_counters", put(*NIC, "before", "at", to=STARTED - 9e3), "disagrees", "than 15 minutes"),
    ("read-nobody-knows-when", "rdma_counters", put(*NIC, "after", "at", to=None), "missing", "when it was read"),
    ("nic-not-in-the-network-asked-for", "rdma_counters", put(*JOB, "rdma_networks", to=["10.9.0.0/24"]), "disagrees",
     "with no address in 10.9.0.0/24"),
    # ---------------------------------------------------------------------------------------------------------- switch
    ("switch-not-read", "switch_counters", put(*SWITCH, to=None), "missing", "were not read"),
    ("switch-dropped", "switch_counters", put(*PORTS, "rx_discards", to=9), "disagrees", "packets were discarded"),
    ("switch-read-before-the-end", "switch_counters", put(*SWITCH, "sw01", "after", "at", to=STARTED + 5), "disagrees",
     "do not lie around"),
    # ---------------------------------------------------------------------------------------------------------- limits
    ("no-limit-known", "limits", put(*NIC, "start", to=None), "missing", "could be compared with a physical limit"),
    # ---------------------------------------------------------------------------------------------------------- fabric
    ("fabric-is-not-right", "fabric", another_fabric, "disagrees", "rail 0: slow (bad)"),
    # ---------------------------------------------------------------------------------------------------------- doctor
    ("doctor-names-a-cause", "doctor", named_by_the_doctor, "disagrees", "gpu02: link_faulty (cabling"),
]  # fmt: skip


def test_what_judges_nothing_hides_no_cause_behind_it() -> None:
    def marks_and_a_cause(inputs: dict[str, Any]) -> None:
        named_by_the_doctor(inputs)
        seen = [{"file": "hosts/gpu02/dmesg.txt", "text": "TCP: Possible SYN flooding on port 29500"}]
        quiet = {"layer": "host", "cause": "limits_host", "hosts": ["gpu02"], "means": "Full.", "evidence": seen}
        inputs["doctor"]["findings"][:0] = [quiet] * 6

    state, sentence = said("doctor", marks_and_a_cause)
    assert state == "disagrees" and "link_faulty" in sentence and "limits_host" in sentence


@pytest.mark.parametrize(("rule", "name", "change", "state", "words"), TABLE, ids=[row[0] for row in TABLE])
def test_a_witness(rule: str, name: str, change: Callable[[dict[str, Any]], None], state: str, words: str) -> None:
    found = said(name, change)
    assert (found[0], found[1] if words not in found[1] else "") == (state, "")
    verdict = summary(change)["verdict"]
    spared = {each.name: each.spares for each in all_witnesses()}
    against = [one for one in verdict["witnesses"] if one["decides"] and one["state"] != "agrees"]
    hard = [one for one in against if one["state"] not in spared[one["name"]]]
    hard = [one for one in hard if one["name"] not in ("fabric", "doctor") or one["state"] != "missing"]
    lower = "NOT PROVEN" if hard else "PATH PROVEN"
    assert verdict["state"] == (
        "INVALID RUN" if "impossible" in {one["state"] for one in verdict["witnesses"]} else lower
    )
    assert any(one["name"] == name and one["evidence"] in " ".join(verdict["reasons"]) for one in verdict["witnesses"])


def test_the_table_has_every_witness_and_no_rule_twice() -> None:
    # The others are in test_path_gaps.py.
    assert {row[1] for row in TABLE} == {witness.name for witness in all_witnesses() if witness.decides}
    assert len({row[0] for row in TABLE}) == len(TABLE)


@pytest.mark.parametrize(
    "code",
    [
        "duplicate_rank",
        "inconsistent_total",
        "loss_not_finite",
        "missing_ranks",
        "not_one_job",
        "rank_conflict",
        "too_many_ranks",
        "totals_disagree",
        "weights_differ",
    ],
)
def test_a_log_that_is_no_result_of_one_job_makes_the_run_invalid(code: str) -> None:
    verdict = summary(problem("result", code))["verdict"]
    assert verdict["state"] == "INVALID RUN" and "because" in verdict["line"]


def test_the_guides_own_sample_is_an_invalid_run() -> None:
    result = tf_cnn.read((FIXTURES / "guide_sample.txt").read_text()).as_dict()
    verdict = summary(put("result", to=result))["verdict"]
    assert verdict["state"] == "INVALID RUN" and "add up to 6655.80" in verdict["line"]


# ------------------------------------------------------------------------------------------------------ the first line


def proven_alone(line: str) -> bool:
    return bool(re.search(r"(?<!NOT )PROVEN", line))


def test_a_run_with_every_witness_is_proven() -> None:
    verdict = summary()["verdict"]
    assert (verdict["state"], verdict["reasons"]) == ("PROVEN", [])
    assert verdict["line"].startswith("PROVEN: 9 independent witnesses agree")


def test_the_same_run_on_simulated_devices_is_never_proven() -> None:
    line = summary(simulated=True)["verdict"]["line"]
    assert line.startswith("SIMULATED - NOT PROVEN: ") and "simulated devices prove" in line
    assert not proven_alone(line)


@pytest.mark.parametrize(
    "change",
    [
        put("layers", "nic", "found", "gpu01", to=["GPU 0: SIMULATED A100"]),
        put("evidence", "rdma", "gpu02", "after", "simulated", to=True),
    ],
    ids=["in the words of a layer", "in the reading of a NIC"],
)
def test_devices_that_call_themselves_simulated_do_so_for_the_whole_run(
    change: Callable[[dict[str, Any]], None],
) -> None:
    """Also where whoever called the module forgot to say it."""
    found = summary(change)
    assert found["simulated"] is True and found["verdict"]["line"].startswith("SIMULATED - ")


@given(st.lists(st.sampled_from(["agrees", "disagrees", "missing", "impossible"]), max_size=7), st.booleans())
def test_proven_takes_hardware_and_the_word_of_every_witness(states: list[str], simulated: bool) -> None:
    verdict = judge(
        [
            Heard(Witness(str(index), "Somebody", lambda _evidence, _doubts: ""), state, "x")
            for index, state in enumerate(states)
        ],
        simulated,
    )
    assert (verdict["state"] == "PROVEN") == (bool(states) and set(states) == {"agrees"} and not simulated)
    assert (verdict["state"] == "INVALID RUN") == ("impossible" in states)
    assert verdict["line"].startswith("SIMULATED - ") == simulated
    if verdict["state"] != "PROVEN":
        assert not proven_alone(verdict["line"])
        assert verdict["reasons"] or not states


def test_the_first_line_says_the_fact_and_not_who_said_it() -> None:
    staged = summary(put(*PATH, "verdict", to="rdma_via_host"))["verdict"]["line"]
    assert staged == "NOT PROVEN: the data path in NCCL's own log: RDMA through host memory."
    dropped = summary(put(*PORTS, "rx_discards", to=9))["verdict"]["line"]
    assert "were discarded at 4 ports of sw01" in dropped


def test_every_problem_of_nccls_log_stands_in_the_report() -> None:
    text = FOUR.nccl() + (
        "gpu01:1000:2000 [0] net_ib.cc:839 NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 0, "
        "vendor err 129\n"
        "gpu02:1001:2001 [0] NCCL INFO comm 0x55aa0001 rank 1 nranks 4 cudaDev 0 busId 11000 - Abort COMPLETE\n"
    )
    found = summary(put(*PATH, to=FOUR.path(text)))
    assert found["verdict"]["state"] == "NOT PROVEN"
    assert {"ib_transport_retry_exceeded", "aborted"} <= {entry["code"] for entry in found["problems"]}
    assert "aborted its communicator" in said("path", put(*PATH, to=FOUR.path(text)))[1]


def test_groups_that_pytorch_ends_by_an_abort_cost_no_proof() -> None:
    """Up to 2.5 `destroy_process_group` is ncclCommAbort: each rank of a sound run says so."""
    ends = [
        f"gpu{rank + 1:02d}:100{rank}:200{rank} [0] NCCL INFO comm 0x55aa000{rank} rank {rank} nranks 4 cudaDev 0 "
        "busId 11000 - Abort COMPLETE\n"
        for rank in range(4)
    ]
    states = [
        summary(put(*PATH, to=FOUR.path(FOUR.nccl() + "".join(each))))["verdict"]["state"] for each in (ends, ends[:3])
    ]
    assert states == ["PROVEN", "NOT PROVEN"]


def test_a_log_that_lost_both_sides_of_a_pair_is_no_proof() -> None:
    """Also without the lines of rings and trees, which only the probe asks for."""
    lines = Job("2.21.5").text().splitlines()
    cut = [line for line in lines if " 2[0] -> 3[0] " not in line]
    assert len(lines) - len(cut) == 2
    path = FOUR.path("\n".join(cut) + "\n")
    assert path["verdict"] == "unknown" and "no connection from gpu03" in path["reason"]


def test_in_network_reduction_is_not_taken_for_gpudirect() -> None:
    collnet = "gpu01:1000:2000 [0] NCCL INFO CollNet 00/0 : 0 [send] via COLLNET/SHARP/0\n"
    state, text = said("path", put(*PATH, to=FOUR.path(FOUR.nccl() + collnet)))
    assert state == "disagrees" and "in-network reduction" in text


@pytest.mark.parametrize("lost", range(8))
def test_one_of_eight_rails_that_nobody_named_is_missed(lost: int) -> None:
    def change(inputs: dict[str, Any]) -> None:
        hcas = inputs["evidence"]["nccl_path"]["hcas"]
        del hcas[next(at for at, hca in enumerate(hcas) if hca["host"] == "gpu01" and hca["index"] == lost)]

    assert said("path", change, run=RAILS) == ("missing", "the NICs that NCCL used on gpu01 are not known")


def idle(node: str, rail: int, bytes_moved: int = 4000) -> Callable[[dict[str, Any]], None]:
    """The others of the node carry what this one should have."""

    def change(inputs: dict[str, Any]) -> None:
        before, after = (inputs["evidence"]["rdma"][node][word]["devices"] for word in ("before", "after"))
        for counter in ("port_xmit_data", "port_rcv_data"):
            old = before[rail]["counters"]["counters"][counter]
            lost = after[rail]["counters"]["counters"][counter] - old
            after[rail]["counters"]["counters"][counter] = old + bytes_moved // 4
            after[(rail + 1) % 8]["counters"]["counters"][counter] += lost

    return change


@pytest.mark.parametrize("moved", [0, 4000], ids=["nothing", "a-few-packets"])
@pytest.mark.parametrize("rail", range(8))
def test_one_of_eight_rails_that_carried_nothing_is_named_and_keeps_the_run_from_proven(rail: int, moved: int) -> None:
    found = summary(idle("gpu02", rail, moved), run=RAILS)
    state, text = said("rdma_counters", idle("gpu02", rail, moved), run=RAILS)
    assert found["verdict"]["state"] == "NOT PROVEN" and state == "disagrees"
    assert f"gpu02: mlx5_{rail} carried nothing, although NCCL" in text


def test_without_networks_asked_for_the_channels_say_which_rails_were_to_be_used() -> None:
    def nobody_asked(inputs: dict[str, Any]) -> None:
        inputs["evidence"]["job"]["rdma_networks"] = []
        idle("gpu02", 3)(inputs)

    def no_channel_takes_it(inputs: dict[str, Any]) -> None:
        nobody_asked(inputs)
        for pair in inputs["evidence"]["nccl_path"]["pairs"]:
            for side in ("send", "receive"):
                pair[side]["devices"] = [0 if number == 3 else number for number in pair[side]["devices"]]

    state, text = said("rdma_counters", nobody_asked, run=RAILS)
    assert state == "disagrees" and "gpu02: mlx5_3 carried nothing" in text
    state, text = said("rdma_counters", no_channel_takes_it, run=RAILS)
    assert state == "agrees" and "gpu02: NCCL names mlx5_3" in text


def test_host_with_fewer_ranks_than_rails_may_leave_one() -> None:
    def one_rank_on_gpu02(inputs: dict[str, Any]) -> None:
        idle("gpu02", 3)(inputs)
        result = inputs["result"]
        there = [rank for rank in result["per_rank"] if rank["host"] == "gpu02"]
        result["per_rank"] = [rank for rank in result["per_rank"] if rank not in there[1:]]
        for pair in inputs["evidence"]["nccl_path"]["pairs"]:
            for side in ("send", "receive"):
                pair[side]["devices"] = [0 if number == 3 else number for number in pair[side]["devices"]]

    state, text = said("rdma_counters", one_rank_on_gpu02, run=RAILS)
    assert state == "agrees" and "gpu02: NCCL names mlx5_3" in text


def test_rails_in_networks_of_their_own_are_no_impossible_speed() -> None:
    fast = {
        "nccl_tests": {
            "kind": "nccl_tests",
            "simulated": False,
            "backend": "nccl",
            "problems": [],
            "results": [],
        }
    }
    found = summary(run=RAILS, benchmarks=fast)
    assert found["limits"]["given"]["nics_per_node"] == 8
    wire = next(limit for limit in found["limits"]["limits"] if limit["name"] == "wire payload per node")
    assert wire["value"] > 190


# -------------------------------------------------------------------------------------------------------- the registry


def test_witnesses_are_the_same_in_the_same_order_whatever_is_given() -> None:
    nothing = build(Inputs(run_id="x"))
    assert [one["name"] for one in nothing["verdict"]["witnesses"]] == [each.name for each in all_witnesses()]
    assert {one["state"] for one in nothing["verdict"]["witnesses"]} == {"missing"}
    assert [one["name"] for one in summary()["verdict"]["witnesses"]] == [each.name for each in all_witnesses()]


def test_each_judge_is_a_witness_of_the_table() -> None:
    folder = pathlib.Path(tf_cnn.__file__).parents[2] / "_proof" / "witnesses"
    judges = [
        (path.stem, name)
        for path in folder.glob("*.py")
        for name in re.findall(r"(?m)^def (\w+)\(evidence: Evidence, doubts: Doubts\) -> str:", path.read_text())
    ]
    table = [each.judge for each in all_witnesses()]
    assert sorted(judges) == sorted((judge.__module__.rpartition(".")[2], judge.__name__) for judge in table)
    assert all(witness.title for witness in all_witnesses())


def test_layers_of_a_sound_run_are_all_layers() -> None:
    assert set(TRUTH[FOUR.name]["layers"]) == set(LAYERS)
