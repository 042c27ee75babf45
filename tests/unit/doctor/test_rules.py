# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules one by one: what is no longer healthy, what is named first, what must not be said. Lines of our own making."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose, evidence_texts

GOOD = "gpu01:1:1 [0] NCCL INFO Connected all rings\n"


def ask(*lines: str) -> dict[str, Any]:
    return diagnose(None, {"job.log": "\n".join(lines) + "\n"})


def causes(found: dict[str, Any]) -> list[str]:
    return [finding["cause"] for finding in found["findings"]]


NOT_HEALTHY = (
    "btl_openib_component.c:3644:handle_wc from gpu01 to: gpu02 error polling LP CQ with status RETRY EXCEEDED ERROR",
    "btl_openib_component.c:3644:handle_wc from gpu01 to: gpu02 with status REMOTE ACCESS ERROR status number 10",
    "We see lower performance across two nodes",
    "Read -1, expected 4096, errno = 14",
    "2 more processes have sent help message help-mpi-runtime.txt / mpi_init:startup:internal-failure",
    GOOD + "pod worker-1: fatal: the widget exploded",
    "gpu01:1:1 [0] NCCL INFO init.cc:1501 -> 2",
    "gpu01:1:1 [0] NCCL INFO transport/nvls.cc: NVLS group could not be bound, error 0",
    "Filesystem Size Used Avail Use% Mounted on\nshm 64M 0 64M 0% /dev/shm",
    "PFC configuration:\n  enabled     0   0   0   0   0   0   0   0",
    "# Avg bus bandwidth    : 0.31",
    "GPU0 X SYS\nNIC0 SYS X",
    "UCX WARN network device 'mlx5_9:1' is not available, please use one or more of: 'mlx5_0:1'",
    "         8     2     float     sum      -1    20.1    0.0    0.0      3    19.9    0.0    0.0     #wrong 3",
)


@pytest.mark.parametrize("text", NOT_HEALTHY)
def test_trouble_beside_good_words_is_never_healthy(text: str) -> None:
    assert ask(text)["verdict"] != "healthy"


FIRST = (
    ("gid_wrong", "handle_wc from gpu01: error polling LP CQ with status RETRY EXCEEDED ERROR status number 12"),
    ("peer_process_gone", "handle_wc from gpu01: RECEIVER NOT READY RETRY EXCEEDED ERROR status number 13 for wr_id 1"),
    ("container_shm", "Filesystem Size Used Avail Use% Mounted on\nshm 64M 0 64M 0% /dev/shm"),
    ("nic_qos_differs", "PFC configuration:\n  enabled     0   0   0   0   0   0   0   0"),
    ("gpu_fault", "NVRM: Xid (PCI:0000:3b:00): 94, Contained: SM"),
    ("mtu_differs", "mtu is 9000 on gpu01 but 1500 on gpu02"),
    ("memlock_host", "Max locked memory         65536                65536                bytes"),
    ("peer_process_gone", "gpu01:1:1 [0] NCCL INFO init.cc:1501 -> 2"),
)


@pytest.mark.parametrize(("cause", "text"), FIRST)
def test_a_line_leads_to_its_cause_first_and_stays_a_candidate(cause: str, text: str) -> None:
    found = ask(text)
    assert (causes(found)[0], found["verdict"]) == (cause, "cannot_tell")


CERTAIN = (
    ("gpu_fault", "XID error 79"),
    ("gpu_fault", "kernel: NVRM: Xid (PCI:0000:3b:00): 95, Uncontained"),
    ("mtu_differs", "Got completion with error 12\ngpu01 MTU=9000, gpu02 MTU=1500"),
    ("nccl_mixed", "gpu01: NCCL version 2.21.5\ngpu02: NCCL version 2.22.3"),
    (
        "container_shm",
        "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-a\nshm 64M 0 64M 0% /dev/shm",
    ),
)


@pytest.mark.parametrize(("cause", "text"), CERTAIN)
def test_what_the_lines_state_is_certain(cause: str, text: str) -> None:
    found = ask(text)
    assert (causes(found)[0], found["verdict"]) == (cause, "faulty")


NOT_CERTAIN = (
    "Total uncorrectable ECC errors : 0",
    "dmesg shows no Xid 79 at all",
    "Got completion with error 12\ngpu01 MTU=9000, gpu02 MTU=9000",
    "Got completion with error 12\nnetdev MTU: 9000, active MTU: 4096",
    "Got completion with error 12\nthe mtu is fine but 9000 everywhere",
    "gpu01: NCCL version 2.21.5\ngpu02: NCCL version 2.21",
    "kernel: NVRM: Xid (PCI:0000:3b:00): 63, Row Remapper: New row marked for remapping",
)


@pytest.mark.parametrize("text", NOT_CERTAIN)
def test_a_figure_that_is_right_or_denied_makes_nothing_certain(text: str) -> None:
    assert ask(text)["verdict"] != "faulty"


NOT_SAID = (
    ("memlock_host", "docker run --ulimit memlock=-1 image"),
    (
        "kernel_pinning",
        "ibv_reg_mr failed: Cannot allocate memory. Please set max locked memory (ulimit -l) to 'unlimited'",
    ),
    ("memlock_host", "Max locked memory         8589934592           8589934592           bytes"),
)


@pytest.mark.parametrize(("cause", "text"), NOT_SAID)
def test_a_line_that_means_something_else_does_not_lead_there(cause: str, text: str) -> None:
    assert cause not in causes(ask(text))[:1]


HEALTHY = (
    "br-1: port 2(veth1) entered disabled state",
    "\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes, LnkDisable- CommClk+",
    "|                               |                      |             Disabled |",
    "    Persistence Mode                      : Disabled\nDriver Version: 550.54.15\n| NVIDIA-SMI 550.54.15 |",
)


@pytest.mark.parametrize("text", HEALTHY)
def test_what_is_routine_is_healthy(text: str) -> None:
    found = ask(text)
    assert (found["verdict"], found["unknown"]) == ("healthy", [])


def test_ranks_of_one_host_do_not_hide_another_host_s_plugin() -> None:
    inside = "NCCL INFO Using internal network plugin."
    outside = "NCCL INFO NET/Plugin: Loaded net plugin FastNet (v8)"
    found = ask(
        *(f"gpu01:{rank}:1 [{rank}] {inside}" for rank in range(8)),
        *(f"gpu02:{rank}:1 [{rank}] {inside if rank else outside}" for rank in range(8)),
        *(f"gpu03:{rank}:1 [{rank}] {outside}" for rank in range(8)),
    )
    assert found["verdict"] != "faulty"
    found = ask(
        *(f"gpu01:{rank}:1 [{rank}] {inside}" for rank in range(8)),
        *(f"gpu02:{rank}:1 [{rank}] {outside}" for rank in range(8)),
    )
    assert (causes(found)[0], found["verdict"]) == ("nccl_mixed", "faulty")


def test_a_host_that_fails_or_does_not_answer_is_never_part_of_a_healthy_site() -> None:
    good = {"item": {"key": "ulimit.txt"}, "rc": 0, "stdout": "ulimit -l: unlimited"}
    assert site(gpu01=[good])["verdict"] == "healthy"
    assert site(gpu01=[good], gpu02=[])["unknown"][0]["file"] == "hosts/gpu02/answer"
    broken = {
        "item": {"key": "nvidia-smi.txt"},
        "rc": 18,
        "stdout": "Failed to initialize NVML: Driver/library version mismatch",
    }
    found = site(gpu01=[good, broken])
    assert (causes(found), found["findings"][0]["host"]) == (["nvml_mismatch"], "gpu01")
    empty = {"item": {"key": "ibv_devinfo.txt"}, "rc": 255, "stdout": "", "stderr": "No IB devices found"}
    assert "container_devices" in causes(site(gpu01=[good, empty]))


def site(**hosts: list[dict[str, Any]]) -> dict[str, Any]:
    return diagnose(None, evidence_texts({name: {"results": rows} for name, rows in hosts.items()}))
