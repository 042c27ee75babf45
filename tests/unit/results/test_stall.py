"""A job that prints nothing any more: the rank that holds it up is named by what was seen of itself; nobody is accused
of waiting."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.filter.mpirun_failure import mpirun_failure

HOSTS = [{"name": f"gpu0{number}", "address": f"192.0.2.1{number}", "slots": 2} for number in (1, 2)]
WORLD = 4


def steps(*last: int) -> str:
    """What the ranks printed; -1: nothing at all."""
    lines = [f"[1,{rank}]<stdout>:Running warm up" for rank, at in enumerate(last) if at >= 0]
    for rank, at in enumerate(last):
        lines += [
            f"[1,{rank}]<stdout>:{step}\timages/sec: 10.0 +/- 0.0 (jitter = 0.0)\t7.0" for step in range(10, at + 1, 10)
        ]
    return "\n".join(lines) + "\n"


def process(rank: int | None, **changes: Any) -> dict[str, Any]:
    told = {"pid": 100 + (-1 if rank is None else rank), "rank": rank, "state": "S", "waits_in": "do_poll", "cpu": 0.0}
    return {**told, "command": "python3 resnet50.py", **changes}


def looks(**special: Any) -> list[dict[str, Any]]:
    """Results of the loop over both hosts. ``rank2={...}`` changes a process; ``gpu02="..."``: no answer from there."""
    found = []
    for number, host in enumerate(HOSTS):
        if isinstance(special.get(host["name"]), str):
            found.append({"item": host, "failed": True, "msg": special[host["name"]]})
            continue
        ranks = (2 * number, 2 * number + 1)
        told = [
            process(None, command="orted -mca ess env"),
            *(process(n, **special.get(f"rank{n}", {})) for n in ranks),
        ]
        answer = {"processes": told, "ras": special.get("ras", {})}
        found.append({"item": host, "rc": 0, "stdout": json.dumps(answer)})
    return found


def why(printed: str = steps(30, 30, 30, 30), errors: str = "", **special: Any) -> dict[str, Any]:
    said = {"stalled": True, "silent": 300.4, "stdout": printed, "stderr": errors, "looked": looks(**special)}
    return mpirun_failure({**said, "msg": "train: no new line of output"}, HOSTS)


def named(found: dict[str, Any]) -> tuple[str, list[str], int | None]:
    return found["cause"], found["hosts"], found["rank"]


def test_a_stopped_rank_is_named_with_its_state_and_the_others_with_their_steps() -> None:
    found = why(steps(40, 40, 40, 30), rank3={"state": "T"})
    assert named(found) == ("rank_stuck", ["gpu02"], 3)
    assert "rank 3 stood still: process 103 is stopped (state T)" in found["message"] and "300 s" in found["message"]
    assert "rank 3 on gpu02: step 30, state T" in found["message"]
    assert "ranks 0, 1 on gpu01: step 40, state S in do_poll" in found["message"]


def test_a_rank_in_the_kernel_is_named_with_where_it_waits() -> None:
    found = why(rank1={"state": "D", "waits_in": "rpc_wait_bit_killable"})
    assert named(found) == ("rank_stuck", ["gpu01"], 1)
    assert "in the kernel (state D, in rpc_wait_bit_killable)" in found["message"]
    assert "dmesg" in found["remedy"]


def test_any_process_of_a_rank_may_hold_it_up() -> None:
    held = looks()
    told = json.loads(held[1]["stdout"])["processes"] + [process(2, pid=777, state="D", command="data loader")]
    held[1]["stdout"] = json.dumps({"processes": told})
    found = mpirun_failure({"stalled": True, "silent": 9, "stdout": steps(30, 30, 30, 30), "looked": held}, HOSTS)
    assert named(found) == ("rank_stuck", ["gpu02"], 2)
    assert "process 777" in found["message"]


def test_a_stopped_daemon_is_named_by_its_host() -> None:
    held = looks()
    held[1]["stdout"] = held[1]["stdout"].replace('"state": "S"', '"state": "T"', 1)
    found = mpirun_failure({"stalled": True, "silent": 9, "stdout": steps(30, 30, 30, 30), "looked": held}, HOSTS)
    assert named(found) == ("rank_stuck", ["gpu02"], None)
    assert "orted (no rank)" in found["message"]


def test_a_host_that_does_not_answer_while_others_do_is_named() -> None:
    found = why(gpu02="Container mpicont is paused, unpause the container before exec")
    assert named(found) == ("rank_stuck", ["gpu02"], 2)
    assert "ranks 2, 3 could not" in found["message"] and "is paused" in found["message"]


def test_where_nobody_could_look_the_steps_still_speak() -> None:
    found = why(steps(40, 40, 30, 40), gpu01="no connection", gpu02="no connection")
    assert named(found) == ("rank_stuck", ["gpu02"], 2)
    assert "still after step 30, the others at 40" in found["message"]


def test_a_rank_that_never_spoke_is_named() -> None:
    assert named(why(steps(40, -1, 40, 40))) == ("rank_stuck", ["gpu01"], 1)


def test_ranks_of_which_only_one_prints_are_not_accused_of_silence() -> None:
    assert named(why(steps(40, -1, -1, -1))) == ("stalled", [], None)


@pytest.mark.parametrize(
    ("odd", "rest", "words"),
    [(0.99, 0.0, "computes, while the others sleep"), (0.0, 1.0, "sleeps, while the others compute or poll")],
)
def test_who_only_differs_from_the_others_is_shown_as_no_more_than_that(odd: float, rest: float, words: str) -> None:
    shares = {f"rank{rank}": {"cpu": odd if rank == 2 else rest, "state": "R"} for rank in range(WORLD)}
    found = why(**shares)
    assert named(found) == ("stalled", ["gpu02"], 2)
    assert f"rank 2 {words}" in found["message"]


def test_where_all_do_the_same_no_rank_is_named() -> None:
    found = why()
    assert named(found) == ("stalled", [], None)
    assert "no rank differs" in found["message"] and "ranks 0, 1 on gpu01: step 30" in found["message"]


def test_a_line_that_names_a_cause_goes_before_who_is_behind_and_keeps_the_ranks() -> None:
    found = why(steps(40, 40, 30, 40), "[1,2]<stderr>:OSError: [Errno 28] No space left on device\n")
    assert named(found) == ("disk_full", ["gpu02"], 2)
    assert "no new line of output for 300 s" in found["message"] and "rank 2 on gpu02: step 30" in found["message"]


def test_a_stopped_rank_goes_before_what_the_others_say_of_it() -> None:
    said = "[1,0]<stderr>:RuntimeError: [./gloo/transport/tcp/pair.cc:589] Read error [192.0.2.11]:23937: Broken pipe\n"
    assert named(why(errors=said, rank3={"state": "T"})) == ("rank_stuck", ["gpu02"], 3)


@pytest.mark.parametrize(
    "answer", ["", "Welcome", "[1]", '{"processes": 7}', '{"processes": [{"pid": 1}]}', '{"processes": null}']
)
def test_an_answer_that_is_none_is_a_host_that_did_not_answer(answer: str) -> None:
    held = looks()
    held[1] = {"item": HOSTS[1], "rc": 0, "stdout": answer}
    found = mpirun_failure({"stalled": True, "silent": 9, "stdout": steps(30, 30, 30, 30), "looked": held}, HOSTS)
    assert found["hosts"] == ["gpu02"] and "be looked at" in found["message"]


def test_of_an_answer_that_breaks_off_nothing_counts() -> None:
    held = looks(rank3={"state": "T"})
    whole = json.loads(held[1]["stdout"])["processes"]
    broken = json.dumps({"processes": [*whole, {"pid": 1}]})
    said = {"stalled": True, "silent": 9, "stdout": steps(30, 30, 30, 30)}
    first, second = (
        mpirun_failure({**said, "looked": [held[0], {**held[1], "stdout": text}]}, HOSTS) for text in (broken, "")
    )
    assert first == second


def test_a_job_that_was_ended_without_a_look_is_still_told_by_its_steps() -> None:
    found = mpirun_failure({"rc": 143, "stalled": True, "silent": 9.0, "stdout": steps(40, 30, 40, 40)}, HOSTS)
    assert named(found) == ("rank_stuck", ["gpu01"], 1)


def ras(*begun: int, lost: tuple[int, ...] = ()) -> dict[str, Any]:
    return {"begun": {rank: count for rank, count in enumerate(begun) if rank not in lost}, "lost": list(lost)}


def test_the_rank_that_has_begun_fewer_collectives_holds_the_others_up() -> None:
    found = why(ras=ras(1204, 1204, 1203, 1204))
    assert named(found) == ("rank_stuck", ["gpu02"], 2)
    assert "1203" in found["message"] and "1204" in found["message"]


def test_a_rank_that_nccl_has_lost_is_named_before_what_others_did() -> None:
    assert named(why(ras=ras(1204, 1204, 1204, 1203, lost=(1,)))) == ("rank_stuck", ["gpu01"], 1)


@pytest.mark.parametrize(
    "said",
    [ras(1204, 1204, 1204, 1204), ras(1200, 1204, 1204, 1204), ras(1, 2, 3, 4), ras(1, 1, 1, 4), {}, ras(lost=(0, 1))],
    ids=["alike", "rank-0-waits-for-its-log", "all-differ", "most-are-behind", "nothing", "too-many-lost"],
)
def test_counts_that_name_no_rank_accuse_none(said: dict[str, Any]) -> None:
    assert why(ras=said)["rank"] == why()["rank"] and why(ras=said)["hosts"] == why()["hosts"]


def test_a_step_that_was_printed_goes_before_counts() -> None:
    assert named(why(steps(40, 40, 40, 30), ras=ras(5, 4, 5, 5)))[2] == 3
