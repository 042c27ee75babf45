"""What a program says in plain words: of its own end, of counters at zero, of what it only thinks of."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose

from tests.unit.doctor.attacks import is_other_trade

# A text of a program of the field: longer than what a person writes.
WORK = "".join(f"MPI rank {number} is on gpu01\n" for number in range(12))
ABORT = (
    "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD\nwith errorcode 1.\n\n"
    "NOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes.\n"
)


def ask(text: str) -> dict[str, Any]:
    return diagnose(None, {"job.log": WORK + text})


def causes(found: dict[str, Any]) -> list[str]:
    return [finding["cause"] for finding in found["findings"]]


OWN_WORDS = (
    ("ERROR: Cannot open input script in.lj: No such file or directory (src/lammps.cpp:529)", ABORT),
    ("FATAL ERROR: Unable to open config file stmv.namd", ABORT),
    (" Error: the domain is split in 3 parts, which 28 ranks do not divide", f"{ABORT}[gpu01:32] 3 more processes\n"),
    ("World size must be two for ./ping_pong", ABORT),
    ("NPB: the number of processes requires a perfect square", ABORT),
    ("solver: this case needs 4 or more ranks!", ABORT),
    (
        "ERROR: this application must be run on at least 10 nodes",
        "Primary job  terminated normally, but 1 process returned\na non-zero exit code.\n"
        "mpirun detected that one or more processes exited with non-zero status, thus causing\n",
    ),
    ("ERROR: -ntomp 4 asks for more threads than there are", "mpirun noticed that the job aborted, but has no info\n"),
    ("OpenCL error: CL_OUT_OF_RESOURCES from file <GPUInterfaceOpenCL.cpp>, line 12.", ""),
    ("exchange_keys: Couldn't read the address of the other side", "Failed to exchange data\n"),
)


@pytest.mark.parametrize(("line", "after"), OWN_WORDS)
def test_a_program_that_ends_itself_is_quoted(line: str, after: str) -> None:
    found = ask(f"{line}\n{after}")
    assert (found["verdict"], causes(found)) == ("cannot_tell", ["application_failed"])
    assert found["line"]["text"] == line.strip()
    assert {finding["certainty"] for finding in found["findings"]} == {"candidate"}


def test_a_heading_is_shown_with_the_line_below_it() -> None:
    heading, below = "Fatal error:", "There is no decomposition for 28 ranks"
    found = ask(f"{heading}\n{below}\n{ABORT}")
    assert (causes(found), found["line"]["line"]) == (["application_failed"], 13)
    assert found["line"]["text"] == f"{heading} {below}"


@pytest.mark.parametrize(
    "text",
    (
        "ERROR: could not read the cache, starting anew\n" + "step 1 of 9 loss 1.0\n" * 8,
        "[  812.331000] frobnicator 0000:3b:00.0: Failed to frob\n",
        "gpu01:42:43 [0] misc/wrap.cc:173 NCCL WARN lib wrapper not initialized.\n",
    ),
)
def test_what_ended_no_program_is_no_word_of_its_end(text: str) -> None:
    assert causes(ask(text)) == []


ECHOES = (
    ("job_cancelled", "gpu02: rank 3 died from signal 15"),
    ("job_cancelled", "[gpu01:mpi_rank_0] Caught signal 2, ending"),
    ("peer_process_gone", "train: NCCL error: remote process exited or there was a network error, NCCL version 2.20.5"),
    ("peer_process_gone", "RuntimeError: [pair.cc:598] Connection closed by peer [192.0.2.7]:11454"),
    ("peer_process_gone", "ray.exceptions.RayActorError: The actor died unexpectedly before finishing this task."),
    (
        "rank_missing",
        "[rank1]:[E0303 10:27:21.4 ProcessGroupNCCL.cpp:629] [Rank 1] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=7, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600010 milliseconds\n"
        "[rank1]:[E0303 10:27:22.4 ProcessGroupNCCL.cpp:2168] [PG ID 0 Rank 1]  failure detected by watchdog at work "
        "sequence id: 7 PG status: last enqueued work: 9, last completed work: 6\n"
        "Exception raised from checkTimeout at /pytorch/ProcessGroupNCCL.cpp:632 (most recent call first):",
    ),
)


@pytest.mark.parametrize(("cause", "text"), ECHOES)
def test_where_nothing_is_louder_an_echo_says_who_ended(cause: str, text: str) -> None:
    found = ask(f"{text}\n")
    assert (found["verdict"], causes(found)) == ("cannot_tell", [cause])
    louder = ask(f"{text}\nNVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n")
    assert causes(louder) == ["gpu_fault"]


HARMLESS = (
    "Errors: 0, Drops: 0, Framing errors: 0, L2 mismatch timeouts: 0, Resource errors: 0",
    "Input errors:\n  Errors: 0, Drops: 0, Policed discards: 0",
    "-I- No bad links (of any width) were found",
    "-I- No invalid PM counters values were found",
    "ring check: no CUDA errors, no hangs and no failed ranks",
    "Failed: 0   Killed: 0   Hung ranks: 0",
    "OOMKilled: false",
    "Last error: none",
    "pi is 3.14159265, Error is 0.0000000000000821",
    "max relative error = 1.2e-07 at n = 12",
    "relative error of 3e-12",
    "Ethernet FEC statistics              Errors\n    STAGE                     Errors Warnings",
)


@pytest.mark.parametrize("text", HARMLESS)
def test_zeros_denials_and_figures_are_no_trouble(text: str) -> None:
    found = ask(f"{text}\n")
    assert (found["verdict"], found["line"], found["unknown"]) == ("no_fault_seen", {}, [])


TROUBLE = (
    "Errors: 3, Drops: 0",
    "Error: No such device mlx5_9",
    "Error: None of the ranks came up",
    "no such file: the job failed",
    "Failed: 4   Killed: 0",
    "check: error is fatal",
    "error: null pointer in step 3",
)


@pytest.mark.parametrize("text", TROUBLE)
def test_words_beside_a_zero_stay_trouble(text: str) -> None:
    found = ask(f"{text}\n")
    assert found["verdict"] == "cannot_tell"
    assert found["line"]["text"] == text


def test_what_a_program_informs_of_is_asked_and_no_trouble() -> None:
    found = ask("INFO: the first upload failed, trying the mirror\n-I- Bad Guids/LIDs Info\n")
    assert found["verdict"] == "no_fault_seen"
    assert [gap["code"] for gap in found["not_shown"]].count("line") == 2
    called = "ERROR: the INFO block of the image is bad\n"
    assert ask(called)["verdict"] == "cannot_tell"


def test_a_list_of_possible_reasons_states_none() -> None:
    died = "The actor is dead because its worker process has died."
    guess = "There are some potential root causes. (1) It is killed by SIGKILL by OOM killer. (2) ray stop is called."
    assert "limits_host" not in causes(ask(f"ray.exceptions.RayActorError: it died\n{died} {guess}\n"))
    stated = "torch killed: Out of memory: Killed process 4242 (python3)"
    assert causes(ask(f"{stated}\n"))[0] == "killed_for_memory"


CONTRARY = (
    # One word of another cause beside a harmless or a true one.
    ([], "[ 4711.281454] NVRM: Xid (PCI:0000:3b:00): 16, Head 00000001 Count 00000012"),
    ([], "topo.cc:66 NCCL WARN Merging NICs of different NUMA domains is not supported."),
    (
        [],
        "    Ethernet8   U  53,123,006,123  432.10 MB/s   8.30%   0     2,345    0  388,299  52 MB/s  1.0%  0  0  0",
    ),
    ([], "mlx5_core 0000:3b:00.0: cmd_work_handler:902:(pid 17): failed to allocate command entry"),
    (["gpu_fault"], "Unable to determine the device handle for GPU3: 0000:5E:00.0: Unknown Error"),
    (["host_slow_receiver"], "rx_missed_errors:  51234\nrx_out_of_buffer:  51234"),
    (["switch_pfc"], "drop-type: no-drop, xon: 10240, xoff: 30720\nPkts discarded on ingress  : 4711"),
    (["nic_driver_failed"], "mlx5_core: probe of 0000:3b:00.0 failed with error -12"),
    (["cuda_arch_not_built"], "gpu01:42:43 [0] enqueue.cc:66 NCCL WARN Cuda failure 'invalid kernel file'"),
)


@pytest.mark.parametrize(("expected", "text"), CONTRARY)
def test_only_what_the_text_speaks_for_is_a_candidate(expected: list[str], text: str) -> None:
    found = ask(f"{text}\n")
    assert (found["verdict"], causes(found)) == ("cannot_tell", expected)
    assert found["line"]["text"].split()[0] in text


@pytest.mark.parametrize(
    ("cause", "free", "own"),
    [("app_gpu_shared", "12.50 MiB", "22.30 GiB"), ("app_gpu_memory", "12.50 MiB", "38.90 GiB")],
)
def test_who_holds_the_memory_of_a_gpu_is_what_the_line_says(cause: str, free: str, own: str) -> None:
    old = f"(GPU 0; 39.50 GiB total capacity; 20.15 GiB already allocated; {free} free; {own} reserved)"
    new = f"GPU 0 has a total capacity of 39.50 GiB of which {free} is free. This process has {own} memory in use."
    for said in (old, new):
        found = ask(f"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB {said}\n")
        assert causes(found) == [cause]


def test_a_figure_that_its_message_rate_contradicts_is_none() -> None:
    head = " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
    found = ask(f"{head} 65536      900000           0.00               94.31                0.179885\n")
    gaps = [gap["text"] for gap in found["not_shown"] if gap["code"] == "figure"]
    assert len(gaps) == 1 and "11.789" in gaps[0]


def test_a_rate_is_seen_in_any_part_of_its_line() -> None:
    line = "INFO 03-09 21:50:12 Avg prompt throughput: {} tokens/s, Avg generation throughput: {} tokens/s\n"
    assert not [gap for gap in ask(line.format("0.0", "12.5"))["not_shown"] if gap["code"] == "figure"]
    assert [gap["text"] for gap in ask(line.format("0.0", "0.0"))["not_shown"] if gap["code"] == "figure"]


def test_rows_of_an_unknown_form_are_named_and_not_their_end() -> None:
    head = "#   size     count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw\n"
    row = "    67108864      16777216     float     sum   -1    512.4  130.97  245.57   0    511.0  131.33  246.24  ?\n"
    found = ask(f"{head}{row}# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 240.146\n")
    assert [gap["code"] for gap in found["not_shown"]] == ["rows"]


def test_who_computes_wrongly_is_named_though_the_program_came_to_its_end() -> None:
    burnt = "50.0%  proc'd: 700 (9000 Gflop/s)   errors: 0  temps: 61 C\ndone\n\nTested 2 GPUs:\n"
    found = ask(f"{burnt}\tGPU 0: OK\n\tGPU 1: FAULTY\n")
    assert (found["verdict"], causes(found)) == ("faulty", ["gpu_fault"])


def test_a_passed_check_is_no_trouble_whatever_it_looked_for() -> None:
    found = ask("PASS: check_port_flapping: 0 flaps\nOK: no retry exceeded, no GPU lost\n[OK] link down events\n")
    assert (found["verdict"], found["unknown"]) == ("no_fault_seen", [])
    halfway = ask("OK so far, then NCCL WARN NET/IB : Got completion with error 12\n")
    assert halfway["verdict"] != "no_fault_seen"


def test_a_connection_of_gloo_that_worked_names_who_went_away() -> None:
    lost = "RuntimeError: [/src/gloo/gloo/transport/tcp/pair.cc:580] Connection closed by peer [192.0.2.12]:41000\n"
    assert causes(ask(lost)) == ["peer_process_gone"]
    never = "RuntimeError: [/src/gloo/gloo/transport/tcp/pair.cc:799] connect [127.0.0.1]:41000: Connection refused\n"
    assert causes(ask(never))[:1] == ["wrong_interface"]


def test_a_step_that_ends_with_its_first_rank_was_not_cancelled_from_outside() -> None:
    end = "slurmstepd: error: *** STEP 7.0 ON gpu01 CANCELLED AT 2026-11-26T10:00:00 ***\n"
    assert causes(ask(end)) == ["job_cancelled"]
    after_a_rank = ask(f"srun: error: gpu01: task 0: Exited with exit code 1\n{end}")
    assert "job_cancelled" not in causes(after_a_rank)


def test_a_call_of_libfabric_below_mpi_is_no_plugin_of_nccl() -> None:
    stack = "Abort(15) on node 2: Fatal error in PMPI_Send: Other MPI error, error stack:\n"
    sent = "MPIDI_OFI_send_normal(430): OFI tagged senddata failed (ofi_send.h:430:MPIDI_OFI_send_normal:Bad address)\n"
    assert "nccl_mixed" not in causes(ask(stack + sent))


def test_a_level_behind_a_time_is_heard() -> None:
    for line in ("2026-11-27T15:00:00Z ERROR giving way", "Nov 27 15:00:00 ERROR giving way"):
        assert ask(line)["line"]["text"] == line


def test_counters_of_an_infiniband_port_are_of_this_field() -> None:
    assert not is_other_trade("PortSelect:......................1\nPortXmitData:....................178791657177235\n")


@pytest.mark.parametrize("tag", ["", "[1,3]<stderr>:"])
def test_a_line_begins_behind_the_tag_of_its_rank(tag: str) -> None:
    passed = "SUCCESS:  nhc:  Health check passed:  check_ib_link_flapping: No IB link flapping found"
    found = diagnose(None, {"job.log": f"{tag}{passed}\nNCCL INFO Connected all rings\n"})
    assert (found["verdict"], found["findings"], found["unknown"]) == ("no_fault_seen", [], [])
