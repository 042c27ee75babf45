"""Logs that lost something on their way: the reason that is given is the true one."""

from __future__ import annotations

from ansible_collections.rocemesh.multinode.plugins.module_utils._results.path import path_verdict
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import nccl_log, nccl_tests

LINE = "{host}:4711:4712 [0] NCCL INFO Channel 0{n}/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n"


def test_host_name_that_lost_letters_is_no_host_of_its_own() -> None:
    text = LINE.format(host="rack1n0", n=0) + "".join(LINE.format(host="rack12b4n0", n=n % 10) for n in range(20))
    assert nccl_log.read(text).as_dict()["hosts"] == ["rack12b4n0"]


def test_hosts_whose_processes_share_a_number_stay_apart() -> None:
    text = "".join(LINE.format(host=host, n=n % 10) for n in range(20) for host in ("gpu1", "gpu11"))
    assert nccl_log.read(text).as_dict()["hosts"] == ["gpu1", "gpu11"]


def test_table_without_a_readable_row_is_refused_with_the_row() -> None:
    row = "268435456 4194304 float none -1 XXXXX XXX.XX XXX.XX N/A XXXXXX XXX.XX XXX.XX 0\n"
    found = nccl_tests.read(f"# Out of bounds values : 0 OK\n{row}").as_dict()
    assert ([problem["code"] for problem in found["problems"]], found["tables"]) == (["unreadable_row"], [])


def test_channel_over_tcp_on_one_named_host_is_a_path_over_tcp() -> None:
    text = "<cluster>:926:1151 [7] NCCL INFO Channel 03/0 : 15[7] -> 6[6] [send] via NET/Socket/3\n"
    assert path_verdict.judge(nccl_log.read(text)).verdict == "sockets"
