"""Texts of programs as their users publish them: what is no message, what the text itself states, what it refutes."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch.failure import diagnose as explain

PERFTEST = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
COMM = "comm 0x55d0 rank {rank} nranks {of} cudaDev {rank} busId 1a000 commId 0x7f - Init {state}"
HEAD = "# nThread 1 nGpus 1 minBytes 1024 maxBytes 4096 step: 2(factor) warmup iters: 5 iters: 20 validation: 1\n"
TABLE = "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n"
FAILED = "gpu01: Test NCCL failure common.cu:777 'unhandled system error'\n"
CARDS = "".join(
    f"#  Rank  {number} Group  0 Pid   1688 on      gpu01 device  {number} [0x18] Tesla V100-PCIE-16GB\n"
    for number in (0, 1)
)


def ask(text: str) -> dict[str, Any]:
    return diagnose(None, {"unknown.log": text})


def causes(found: dict[str, Any]) -> list[str]:
    return [finding["cause"] for finding in found["findings"]]


def gaps(found: dict[str, Any]) -> str:
    return "; ".join(gap["text"] for gap in found["not_shown"])


def nccl(text: str, host: str = "gpu01", level: str = "INFO", pid: int = 4242) -> str:
    return f"{host}:{pid}:{pid} [0] NCCL {level} {text}\n"


def row(size: int) -> str:
    half = "   40.64    1.00    1.50      0 "
    return f"{size:>12} {size // 4:>13}     float     sum      -1 {half}{half}\n"


# ---------------------------------------------------------------------------------------------------- tables


@pytest.mark.parametrize(
    ("head", "row"),
    [
        pytest.param(
            f"{PERFTEST}\n{PERFTEST}", " 8388608    5000     97.10      97.02        0.001446", id="both ends"
        ),
        pytest.param(
            f"{PERFTEST}  BW min[Gb/sec]",
            " 65536      5000     97.10      97.02        0.185051        96.00",
            id="a new column",
        ),
        pytest.param(
            "# OSU MPI Bandwidth Test v7.4", "4194304             12130.25              Pass", id="validation"
        ),
    ],
)
def test_a_row_is_read_whatever_stands_behind_its_figures(head: str, row: str) -> None:
    found = ask(f"{head}\n{row}\n")
    assert found["verdict"] == "no_fault_seen"
    assert "last row" not in gaps(found)
    assert "bandwidth is 12.1" in gaps(found)


def test_a_table_without_a_row_has_no_last_size() -> None:
    assert "no row" in gaps(ask(PERFTEST + "\n"))


def test_rows_behind_the_label_of_a_task_are_read() -> None:
    head, end = (
        "# nThread 1 nGpus 8 minBytes 8 maxBytes 8\n",
        "# Out of bounds values : 0 OK\n# Avg bus bandwidth : 1.0\n",
    )
    for label in ("(head, rank=0, pid=77) ", "[pod/launcher-x/main] ", "0: "):
        found = ask("".join(f"{label}{line}\n" for line in f"{head}{row(8)}{end}".splitlines()))
        assert [shown.split(": ")[1] for shown in found["shown"]] == ["nccl-tests to 8 bytes"], label


def test_matrices_of_peers_and_ends_of_mpich_are_of_the_field() -> None:
    rows = "".join(f"     {n} 911.08  40.10  41.20  41.10  40.20\n" for n in range(5))
    peers = f"Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n   D\\D     0      1      2      3      4\n{rows}"
    assert ask(peers)["verdict"] == "no_fault_seen"
    frame = "=" * 40 + "\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
    for end in ("=   EXIT CODE: 9\n", "=   RANK 1 PID 42 RUNNING AT gpu02\n=   KILLED BY SIGNAL: 9 (Killed)\n"):
        behind = "[proxy:0:1@gpu02] main (pm/pmiserv/pmip.c:200): demux engine error waiting for event\n"
        found = ask(frame + end + "=" * 40 + "\n" + behind)
        assert causes(found)[0] == "killed_for_memory"
        assert found["line"]["text"] == end.splitlines()[-1]


def test_rows_under_the_tag_of_mpirun_are_of_the_field() -> None:
    tagged = "".join(f"[1,0]<stdout>:{row(size)}" for size in (1024, 2048))
    found = ask(tagged + f"[1,0]<stdout>:{row(4096)}")
    assert (found["verdict"], found["notes"]) == ("no_fault_seen", [])
    assert "end of nccl-tests" in gaps(found)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{HEAD}{HEAD}{TABLE}{row(1024)}", id="two heads"),
        pytest.param("".join(map(row, (1024, 2048, 4096, 1024, 8192, 2048))), id="sizes of two sweeps"),
        pytest.param(
            HEAD + CARDS.replace("Rank  1", "Rank  0").replace("on      gpu01 device  1", "on gpu02 device 0"),
            id="twice rank 0",
        ),
    ],
)
def test_two_jobs_in_one_log_are_named(text: str) -> None:
    found = ask(text)
    assert (found["verdict"], causes(found)) == ("cannot_tell", ["ranks_alone"])
    assert "of their own" in found["findings"][0]["evidence"][0]["text"]


def test_two_tests_one_behind_the_other_are_no_fault() -> None:
    once = (
        HEAD
        + TABLE
        + "".join(map(row, (1024, 2048, 4096)))
        + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1.5\n"
    )
    assert causes(ask(once + once)) == []


# ---------------------------------------------------------------------------------------------- no messages


@pytest.mark.parametrize(
    "line",
    [
        "mpirun --allow-run-as-root -np 8 -H gpu01:4,gpu02:4 --mca pml_ucx_tls any --mca btl_tcp_if_include ens9 a",
        "NCCL_DEBUG=INFO srun -N2 --mpi=pmix ./train --on-error abort --timeout hang",
        "(base) me@login:~/job$ mpirun -x NCCL_IB_DISABLE=1 -np 2 ./train",
        "admin@leaf1:~$ show pfcwd stats",
        "7 more processes have sent help message help-mtl-ofi.txt / OFI call fail",
        "  model_freeze_embeddings ......................... False",
        "freeze: true",
        '  rank_zero_warn("Nobody looks for a deadlock.")',
        "[2024-05-01 10:00:00,000] [INFO] [loss_scaler.py:190:step] [deepspeed] loss scale overflow! Skipping step 3",
        nccl("CollNet is not supported or fails to initialize, ignoring NCCL_ALGO=COLLNET", level="WARN").strip(),
        nccl("NCCL_TOPO_FILE set by environment to /etc/topology.xml").strip(),
    ],
)
def test_commands_parameters_and_ordinary_notes_are_no_trouble(line: str) -> None:
    found = ask(f"{line}\nepoch 1 loss: 2.31\nepoch 2 loss: 2.11\nTraining complete\n")
    assert (found["verdict"], found["findings"], found["unknown"]) == ("healthy", [], [])


def test_launchers_that_report_are_heard_beside_commands() -> None:
    said = "mpirun noticed that process rank 1 with PID 0 on node gpu02 exited on signal 11 (Segmentation fault).\n"
    assert causes(ask(f"mpirun -np 2 -H gpu01,gpu02 ./train\n{said}"))[0] == "application_failed"


# ------------------------------------------------------------------------------------------ what the text states


LIMIT = "slurmstepd: error: *** JOB 4242 ON gpu01 CANCELLED AT 2024-05-01T10:00:00 DUE TO TIME LIMIT ***\n"


def test_what_the_scheduler_ended_is_its_own_cause_for_the_doctor_and_for_the_failed_run() -> None:
    killed = "srun: error: gpu02: tasks 8-15: Killed\nKilling subprocess 4242\nMain process received SIGTERM, exiting\n"
    found = ask(" iteration 4/ 1000 | lm loss: 3.1 |\n" + LIMIT + killed)
    assert (found["verdict"], causes(found), found["findings"][0]["certainty"]) == (
        "faulty",
        ["job_cancelled"],
        "likely",
    )
    assert explain(1, "", LIMIT + killed).cause == "job_cancelled"


def test_the_status_at_the_end_of_a_long_line_is_shown() -> None:
    words = ", ".join(f"'--option-{number}'" for number in range(60))
    said = f"[2024-05-01 10:00:00,000] [ERROR] [launch.py:321:f] ['python', {words}] exits with return code = 1"
    found = ask(f"gpu01: {said}\ngpu02: {said}\ngpu02: [launch.py:315:sigkill_handler] Killing subprocess 4242\n")
    assert causes(found) == ["application_failed"]
    assert found["findings"][0]["hosts"] == ["gpu01", "gpu02"]
    assert all(entry["text"].endswith("return code = 1") for entry in found["findings"][0]["evidence"])


@pytest.mark.parametrize(
    "line",
    [
        "[1,0]<stderr>:Stalled ops:HorovodAllreduce_grad_7 [missing ranks: 3]",
        "Missing ranks:",
        "[E ProcessGroupGloo.cpp:138] Rank 0: [0] Ranks 1 failed to pass monitoredBarrier in 60000 ms",
        "INFO:root:Waiting in store based barrier for rank: 0, key: k:1 (world_size=4, worker_count=3)",
    ],
)
def test_who_waits_names_who_is_missing(line: str) -> None:
    found = ask(f"{line}\n" * 4)
    assert (found["verdict"], causes(found)[0]) == ("cannot_tell", "rank_missing")


def test_a_barrier_that_all_have_reached_misses_nobody() -> None:
    whole = "Waiting in store based barrier for rank: 0, key: k:1 (world_size=4, worker_count=4)\n"
    assert causes(ask(whole + "epoch 1 loss: 2.31\nTraining complete\n")) == []


# ----------------------------------------------------------------------------------------- what the text refutes


def test_a_job_of_one_host_has_no_network_between_hosts() -> None:
    found = ask(HEAD.replace("nGpus 1", "nGpus 2") + CARDS + FAILED)
    assert (found["verdict"], causes(found)) == ("cannot_tell", ["peer_process_gone"])
    two = ask(HEAD + CARDS.replace("gpu01 device  1", "gpu02 device  1") + FAILED)
    assert "firewall" in causes(two)


def test_ranks_that_met_talk_over_an_interface_that_leads_to_each_other() -> None:
    using = "".join(nccl("Bootstrap : Using eth0:172.17.3.106<0>", host) for host in ("gpu01", "gpu02"))
    started = "".join(
        nccl(COMM.format(rank=rank, of=2, state="START"), host) for rank, host in enumerate(("gpu01", "gpu02"))
    )
    assert causes(ask(using + started + "the job hangs\n"))[0] == "wrong_interface"
    assert causes(ask(using + started))[:1] == ["wrong_interface"]
    done = started + started.replace("START", "COMPLETE")
    assert (causes(ask(using + done)), ask(using + done)["verdict"]) == ([], "no_fault_seen")


def test_libibverbs_is_not_missed_where_rdma_was_switched_off() -> None:
    warned = nccl("Failed to open libibverbs.so[.1]", level="WARN") + nccl("NET/Socket : Using [0]ens9:192.0.2.12<0>")
    assert causes(ask(warned))[0] == "container_libraries"
    off = nccl("NCCL_IB_DISABLE set by environment to 1.")
    assert causes(ask(off + warned)) != ["container_libraries"]
    typed = "root@gpu01:~# NCCL_IB_DISABLE=1 NCCL_DEBUG=INFO python train.py --world-size 2\n"
    assert (ask(typed + warned)["verdict"], causes(ask(typed + warned))) == ("no_fault_seen", [])


IBSTAT = (
    "CA 'mlx5_0'\n\tPort 1:\n\t\tState: {state}\n\t\tPhysical state: {physical}\n\t\tBase lid: 65535\n\t\tSM lid: 0\n"
)


@pytest.mark.parametrize(
    ("physical", "first"), [("LinkUp", "ib_subnet"), ("Polling", "link_faulty"), ("Disabled", "ib_port_disabled")]
)
def test_a_link_that_is_up_has_no_bad_cable(physical: str, first: str) -> None:
    found = causes(ask(IBSTAT.format(state="Down", physical=physical)))
    assert found[0] == first
    assert (physical == "Polling") == ("link_faulty" in found)


def test_counters_of_a_switch_are_not_of_a_nic() -> None:
    drops = (
        "Ethernet4        U  81,233,100  286.58 KB/s  0.00%  0  0  0  51,847,244  233.95 KB/s  0.00%  0  412,331  0\n"
    )
    found = ask("admin@leaf1:~$ show interfaces counters\n" + drops)
    assert causes(found) == ["switch_pfc"]


# ------------------------------------------------------------------------------------------- not more than is said


def test_a_line_that_says_status_aborted_is_no_word_of_containers() -> None:
    said = (
        ':::MLLOG {"namespace": "", "key": "run_stop", "metadata": {"file": "/workspace/a.py", "status": "aborted"}}\n'
    )
    found = ask("epoch 1 loss: 2.31\n" + said)
    assert (found["verdict"], causes(found)) == ("cannot_tell", [])


def test_one_release_that_a_program_was_compiled_with_is_no_mixture() -> None:
    assert "nccl_mixed" not in causes(
        ask("# NCCL Tests compiled with NCCL 2.19\nNCCL failure all_reduce.cu:95 'unhandled cuda error'\n")
    )


@pytest.mark.parametrize("prompt", ["", "> ", "# ", "sh-4.4$ ", "gpu01:/home/a # ", "a@gpu01:~> "])
@pytest.mark.parametrize(
    "search",
    [
        'dmesg -T | grep -E "NVRM: Xid|fallen off the bus"',
        'grep -rn "No space left on device" logs/',
        "sudo zgrep 'Permission denied (publickey)' /var/log/auth.log",
        'kubectl describe pod worker-0 | grep -A3 "Reason: *OOMKilled"',
        'echo "Failed to start NVIDIA fabric manager"',
    ],
)
def test_words_of_a_search_are_no_message(prompt: str, search: str) -> None:
    found = ask(f"NCCL INFO cudaDriverVersion 12040\n{prompt}{search}\n")
    assert (found["verdict"], causes(found)) == ("no_fault_seen", [])


# -------------------------------------------------------------------------------------------------- what was typed


@pytest.mark.parametrize(
    "command",
    [
        'dmesg | grep -i "fallen off the bus"',
        'journalctl -u kubelet | grep "Insufficient nvidia.com/gpu"',
        'docker logs server 2>&1 | grep "system not yet initialized"',
        'grep -r "Duplicate GPU detected" *.log',
        "sudo dmesg -T | grep -E 'Xid|API mismatch|Out of memory: Killed process 1'",
        "kubectl get pods | grep CrashLoopBackOff",
    ],
)
def test_what_a_command_looks_for_is_not_what_it_found(command: str) -> None:
    assert all(finding["certainty"] == "candidate" for finding in ask(f"{command}\n")["findings"])


def test_the_name_of_a_pod_in_a_command_is_no_trouble_of_pods() -> None:
    found = ask("k logs gpu-pod\n[Vector addition of 50000 elements]\nTest PASSED\nDone\n")
    assert (found["verdict"], causes(found)) == ("healthy", [])


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ("W0101 1 clusterstate.go:423] static_autoscaler: Failed to find readiness of gpu-pool", "Kubernetes"),
        ("(gcs_server) gcs_server.cc:12: Failed to start the widget of a GPU", "Ray"),
        ("cpu3:2098)WARNING: vmkernel: the widget of a GPU has failed", "ESXi"),
        ("SHARP: sharp_am: failed to create job, no resources", "subnet manager"),
        ("[2025-01-01T00:00:00] error: slurmctld: the widget of a GPU has failed", "Slurm"),
    ],
)
def test_where_nothing_tells_more_one_looks_on_the_platform_of_the_line(line: str, where: str) -> None:
    asked = [question["where"] for question in ask(f"{line}\n")["next"] if not question["look"]]
    assert where in asked[0]
