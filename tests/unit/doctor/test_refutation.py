"""What was read against a cause: of the host that complains, at the place of the cause."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.catalogue import catalogue
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose

NCCL = "gpu02:4242:4260 [0] NCCL "
ENOMEM = f"{NCCL}WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory\n"
NO_GPUDIRECT = f"{NCCL}INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n"
MODULE = "nvidia_peermem         16384  0\n"
UNLIMITED = "root@gpu02:/# ulimit -l\nunlimited\n"


def ask(log: str, **pieces: str) -> dict[str, Any]:
    return diagnose(None, {"job/a.log": log, **{name.replace("__", "/"): text for name, text in pieces.items()}})


def causes(found: dict[str, Any]) -> list[str]:
    return [finding["cause"] for finding in found["findings"]]


@pytest.mark.parametrize(
    ("cause", "log", "piece", "read"),
    [
        ("peermem_missing", NO_GPUDIRECT, "hosts__gpu02__lsmod", MODULE),
        ("container_memlock", ENOMEM, "containers__gpu02__limits", UNLIMITED),
        ("memlock_host", ENOMEM, "hosts__gpu02__limits", UNLIMITED),
        ("threads_limit", "RuntimeError: can't start new thread\n", "hosts__gpu02__limits", "ulimit -u: unlimited\n"),
        (
            "disk_is_full",
            "OSError: [Errno 28] No space left on device: '/data/a'\n",
            "hosts__gpu02__df",
            "/dev/sda2       400G  120G  280G  31% /data\n",
        ),
        (
            "mtu_differs",
            f"{NCCL}WARN NET/IB : Got completion from peer 192.0.2.21<4711> with status=1 opcode=0 len=0\n",
            "hosts__gpu02__ping",
            "$ ping -M do -s 8972 192.0.2.21\n8980 bytes from 192.0.2.21: icmp_seq=1 ttl=64 time=0.1 ms\n",
        ),
    ],
)
def test_cause_whose_refutation_was_read_is_not_named(cause: str, log: str, piece: str, read: str) -> None:
    assert cause in causes(ask(log))
    found = ask(log, **{piece: read})
    assert cause not in causes(found)
    assert [note for note in found["notes"] if note.startswith(f"Not {cause}: {piece.replace('__', '/')}:")]


@pytest.mark.parametrize(
    ("cause", "log", "piece", "read"),
    [
        pytest.param("peermem_missing", NO_GPUDIRECT, "hosts__gpu01__lsmod", MODULE, id="another host"),
        pytest.param("container_memlock", ENOMEM, "hosts__gpu02__limits", UNLIMITED, id="the host of the container"),
        pytest.param("memlock_host", ENOMEM, "hosts__gpu02__limits", UNLIMITED + "ulimit -l: 64\n", id="both"),
        pytest.param(
            "nccl_mixed",
            f"{NCCL}WARN Message truncated : received 1024 bytes instead of 256\n",
            "hosts__gpu02__version",
            "NCCL version 2.21.5+cuda12.4\n",
            id="one host alone has nothing to be compared with",
        ),
    ],
)
def test_reading_of_another_place_refutes_nothing(cause: str, log: str, piece: str, read: str) -> None:
    assert cause in causes(ask(log, **{piece: read}))


def test_what_the_device_says_of_itself_is_not_refuted() -> None:
    """The host prints a module that is not there and, earlier, one that is."""
    missing = "modprobe: FATAL: Module nvidia_peermem not found in directory /lib/modules/5.15.0\n"
    assert "peermem_missing" in causes(ask(NO_GPUDIRECT, hosts__gpu02__lsmod=MODULE, hosts__gpu02__modprobe=missing))


def test_a_command_and_its_answer_are_facts_and_no_trouble() -> None:
    """The words of a command are no failure of a device."""
    said = "$ dmesg | grep -i 'segfault at'\nnothing\n$ cat /sys/fs/cgroup/memory.max\nmax\n"
    found = ask(said)
    assert (found["findings"], found["unknown"]) == ([], [])


def test_most_causes_can_be_refuted() -> None:
    assert sum(bool(cause.refuted_by) for cause in catalogue().causes.values()) >= 30


SILENT, BACK = "nfs: server 192.0.2.5 not responding, still trying", "nfs: server 192.0.2.5 OK"


@pytest.mark.parametrize(("order", "named"), [((SILENT, BACK), False), ((SILENT, BACK, SILENT), True)])
@pytest.mark.parametrize("often", [1, 40], ids=["once", "often"])
def test_what_works_again_speaks_only_for_what_is_above_it(order: tuple[str, ...], named: bool, often: int) -> None:
    lines = [line for each in order for line in [each] * often]
    log = "".join(f"[{100 + second}.453001] {line}\n" for second, line in enumerate(lines))
    assert ("storage_server_silent" in causes(ask("", hosts__gpu02__dmesg=log))) is named
