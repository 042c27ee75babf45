"""Which line of a text says what failed, and when a cause may be named beside it."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose, table

# A text of a program: longer than what a person writes.
WORK = "".join(f"loading part {number} of the training\n" for number in range(12))
TRACE = 'Traceback (most recent call last):\n  File "agent.py", line 920, in _exit_barrier\n'


def ask(text: str, **pieces: str) -> dict[str, Any]:
    return diagnose(None, {"job.log": WORK + text, **pieces})


def causes(found: dict[str, Any]) -> list[str]:
    return [finding["cause"] for finding in found["findings"]]


FRAME = "-" * 74 + "\n{}" + "-" * 74 + "\n"


@pytest.mark.parametrize(
    "text",
    [
        "A system call failed during shared memory initialization that should\n"
        "not have.  It is likely that your MPI job will now either abort or\nexperience performance degradation.\n",
        "The call to cuMemcpyAsync failed. This is a unrecoverable error and will\ncause the program to abort.\n"
        "  cuMemcpyAsync(0x7f, 0x8f, 16) returned value 1\nCheck the cuda.h file for what the return value means.\n",
        "A rank is missing its location specification:\n\n  Rank:        3\n  Rank file:   ranks\n",
        "WARNING: Open MPI failed to handshake with a connecting peer MPI\nprocess over TCP.  This should not happen.\n"
        "\nYour Open MPI job may now hang or fail.\n\n  Local host: gpu01\n",
    ],
)
def test_of_a_message_in_a_frame_its_first_line_says_it_and_no_noun_of_it_names_a_cause(text: str) -> None:
    found = diagnose(None, {"job.log": FRAME.format(text)})
    assert (found["verdict"], found["findings"]) == ("cannot_tell", [])
    assert found["line"]["text"] == text.splitlines()[0]


def test_options_that_perftest_does_not_take_name_no_part_of_the_machine() -> None:
    found = diagnose(None, {"job.log": " XRC does not support RDMA_CM\n Parser function exited with Error\n"})
    assert causes(found) == ["perftest_options"]


@pytest.mark.parametrize(
    ("line", "around"),
    [
        (
            "ERROR:elastic.api:failed (exitcode: 1) local_rank: 3 (pid: 429) of binary: /usr/bin/python",
            "WARNING:elastic.api:Sending process 426 closing signal SIGTERM\n{}\n"
            f"ERROR:elastic.api:Error waiting on exit barrier. Elapsed: 307.2 seconds\n{TRACE}",
        ),
        (
            "gpu01:42:43 [0] misc/wrap.cc:173 NCCL WARN lib wrapper not initialized.",
            "Server did not become ready in 1800s, which is wrong\n{}\n",
        ),
        (
            "gpu01:42:43 [0] transport.cc:154 NCCL WARN Cuda failure 'context is destroyed'",
            "{}\ngpu01:42:44 [0] proxy.cc:1485 NCCL WARN [Service thread] Error encountered progressing op, res=3\n",
        ),
        ("the input device is not a TTY", "{}\n"),
        ("  exitcode  : 1 (pid: 69812)", "{}\n  traceback : To enable traceback see: https://x.example/errors.html\n"),
        ("rank 1: torch.distributed.DistBackendError: /c10d/NCCL.cpp:33, unhandled cuda error", "{}\n"),
        ("ConnectError: [Errno 111] Connection refused", "{}\n"),
    ],
)
def test_the_line_that_says_what_failed_is_shown_and_no_cause_that_nothing_speaks_for(line: str, around: str) -> None:
    found = ask(around.format(line))
    assert (found["verdict"], causes(found)) == ("cannot_tell", [])
    assert found["line"]["text"] == line.strip()
    assert line.strip() in table(found).splitlines()[0] or repr(line.strip()) in table(found).splitlines()[0]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            'FileNotFoundError(f"Checkpoint at {path} not found.")',
            "FileNotFoundError: Checkpoint at /a.ckpt not found.",
        ),
        ("EOFError", "EOFError"),
        ("Unsupported(msg)", "torch._dynamo.exc.Unsupported: Graph break under a context that is not known"),
        ("RendezvousTimeoutError()", "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError"),
    ],
)
def test_what_was_raised_is_shown_and_not_the_line_of_source_that_raises_it(source: str, said: str) -> None:
    assert ask(f"{TRACE}    raise {source}\n{said}\n")["line"]["text"] == said


def test_where_something_is_named_its_line_is_the_one() -> None:
    first = "UCX  ERROR connect(fd=48, dest_addr=172.17.0.1:42887) failed: Connection refused"
    found = ask(f"{first}\nERROR: something else failed\n")
    assert (causes(found)[0], found["line"]["text"]) == ("wrong_interface", first)
    refused = ask("UCX  ERROR connect(fd=48, dest_addr=192.0.2.1:42887) failed: Connection refused\n")
    assert causes(refused) == ["mpi_transport"]


@pytest.mark.parametrize(
    ("cause", "frames"),
    [
        (
            "nccl_bug",
            " 0  /usr/lib/libucs.so.0(ucs_handle_error+0x2d4) [0x7f]\n 3  /opt/libnccl.so(+0x120057) [0x7f]\n",
        ),
        ("nccl_bug", "#0  0x00 in ?? ()\n#1  0x00007f in ncclCudaContextTrack (out=0x55) at misc/strongstream.cc:30\n"),
        ("hcoll_fails", " 0 0x085f0c __GI___libc_free()  :0\n 1 0x0fef1f hcoll_buffer_pool_return()  ???:0\n"),
        ("", " 0  /usr/lib/libucs.so.0(ucs_handle_error+0x2d4) [0x7f]\n 1  /usr/lib/libc.so.6(+0x89144) [0x7f]\n"),
    ],
)
def test_whose_code_crashed_is_what_the_frames_say(cause: str, frames: str) -> None:
    found = ask(f"[gpu01:42:0:43] Caught signal 11 (Segmentation fault: address not mapped)\n{frames}")
    assert "".join(causes(found)[:1]) == cause
    assert "Caught signal 11" in found["line"]["text"]


NOTES = (
    "gpu01:42:42 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1",
    "gpu01:42:42 [0] NCCL INFO NET/OFI Setting NCCL_TOPO_FILE environment variable to /proc/self/fd/150",
    "gpu01:42:42 [0] NCCL INFO NET/IB : No device found.",
)


@pytest.mark.parametrize("line", NOTES)
def test_what_nccl_notes_without_a_word_of_trouble_speaks_only_beside_trouble(line: str) -> None:
    assert (causes(ask(line + "\n")), ask(line + "\n")["verdict"]) == ([], "no_fault_seen")
    assert causes(ask(f"{line}\ngpu01:42:43 [0] NCCL INFO init.cc:1501 -> 2\n"))
    assert causes(ask(f"{line}\n", **{"hosts/gpu01/lsmod.txt": "Module\n"})), "machines were read as well"


def test_an_address_that_leads_nowhere_speaks_alone() -> None:
    found = ask("gpu01:42:42 [0] NCCL INFO Bootstrap : Using docker0:172.17.0.1<0>\n")
    assert causes(found)[0] == "wrong_interface"


@pytest.mark.parametrize(
    "line",
    (
        "mlx5_core 0000:13:00.0: mlx5_pcie_event:297:(pid 11): PCIe slot power capability was not advertised.",
        "gpu01:42:42 [0] ras/client_support.cc:181 NCCL WARN Call to bind failed: Address already in use",
        "gpu01:42:42 [0] ras/client_support.cc:181 (rasInit) NCCL WARN Call to bind failed: Address already in use",
        "[INFO] [scaler.py:181] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
        "(it may even hang or crash), the root cause of this problem is the",
    ),
)
def test_harmless_lines_are_no_line_of_a_fault(line: str) -> None:
    found = ask(line + "\n")
    assert (found["verdict"], causes(found), found["line"]) == ("no_fault_seen", [], {})


def test_the_nouns_of_a_line_that_a_program_printed_name_no_cause() -> None:
    line = "[ERROR] [tid 12727] detected an odd state of the transceiver on physical id 3 port 61"
    found = ask(line + "\n")
    # It has the form of the fabric manager's own log, whatever it is about.
    assert (found["verdict"], causes(found), found["line"]["text"]) == ("cannot_tell", ["fabric_manager"], line)


def test_what_a_bar_stands_before_is_quoted() -> None:
    bar = "".join(f"\r{step}it [30:39,  3.21s/it]" for step in range(100, 160))
    ended = "slurmstepd: error: *** JOB 4242 ON gpu01 CANCELLED AT 2026-02-03T04:10:12 DUE TO TIME LIMIT ***"
    (finding,) = ask(f"{bar}{ended}\n")["findings"]
    assert (finding["cause"], "JOB 4242 ON gpu01 CANCELLED" in finding["evidence"][0]["text"]) == (
        "job_cancelled",
        True,
    )
