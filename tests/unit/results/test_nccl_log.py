"""NCCL's lines are found in any surroundings, and what they say is kept as it was said."""

from __future__ import annotations

import pathlib
import tracemalloc
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.rocemesh.multinode.plugins.filter import nccl_path as nccl_path_filter
from ansible_collections.rocemesh.multinode.plugins.filter.read_log import read_log
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.path.path_verdict import judge
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.path.reasons import oldest
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers.nccl_log import NcclLog, Reader
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers.nccl_log import read as parse
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.results.nccl_shapes import DIED, HOSTS, LIVES, Job

INFO = "gpu01:1000:2000 [0] NCCL INFO "
RANK = INFO + "comm 0x5 rank 0 nranks 2 cudaDev 0 busId b1000 - Init COMPLETE\n"
WARN = "\ngpu01:1000:2000 [0] net_ib.cc:839 NCCL WARN "


def only(line: str, prefix: str = INFO) -> NcclLog:
    return parse(prefix + line + "\n")


# ----------------------------------------------------------------------------------------------------- single lines


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Channel 00 : 2[c7000] -> 0[87000] [receive] via NET/IB/5/GDRDMA", (2, 0, "receive", "net", "IB", 5, True)),
        ("Channel 02/0 : 13[b2000] -> 4[b1000] [send] via NET/IB/0(5)/GDRDMA", (13, 4, "send", "net", "IB", 0, True)),
        ("Channel 02/0 : 13[5] -> 4[4] [send] via NET/IB/11/Shared", (13, 4, "send", "net", "IB", 11, False)),
        (
            "Channel 03/0 : 47[7] -> 39[7] [receive] via NET/IBext_v8/2",
            (47, 39, "receive", "net", "IBext_v8", 2, False),
        ),
        ("Ring 00 : 1 -> 0 [receive] via NET/IB/0/GDRDMA", (1, 0, "receive", "net", "IB", 0, True)),
        ("Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0", (0, 1, "send", "net", "Socket", 0, False)),
        ("Channel 00 : 0[e000] -> 1[13000] via P2P/IPC/read", (0, 1, "", "p2p", "", None, False)),
        ("Channel 03 : 3[62000] -> 2[60000] via P2P/direct pointer", (3, 2, "", "p2p", "", None, False)),
        ("Channel 01 : 3[62000] -> 2[60000] via P2P/indirect/1[61000]", (3, 2, "", "p2p", "", None, False)),
        ("Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM", (0, 1, "", "p2p", "", None, False)),
        ("Channel 00/0 : 0[0] -> 4[0] via P2P/MNNVL", (0, 4, "", "fabric", "", None, False)),
        ("Channel 00 : 4[84000] -> 3[9000] via direct shared memory", (4, 3, "", "shm", "", None, False)),
        ("Channel 00 : 0[0] -> 1[1] via SHM/direct/direct", (0, 1, "", "shm", "", None, False)),
        ("Channel 00 : 0[0] -> 1[1] via SHM/direct", (0, 1, "", "shm", "", None, False)),
    ],
)
def test_channel_line(line: str, expected: tuple[Any, ...]) -> None:
    (found,) = only(line).channels
    assert (
        found.source,
        found.target,
        found.direction,
        found.kind,
        found.network,
        found.device,
        found.gdr,
    ) == expected
    assert found.line == line


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("comm 0x7f rank 3 nranks 4 cudaDev 1 nvmlDev 1 - Init COMPLETE", (3, 4, 1, "", "", True)),
        ("comm 0x7f rank 3 nranks 4 cudaDev 1 busId b1000 - Init COMPLETE", (3, 4, 1, "b1000", "", True)),
        (
            "comm 0x7f rank 0 nranks 16 cudaDev 0 nvmlDev 0 busId 1c000 commId 0x65e0 - Init START",
            (0, 16, 0, "1c000", "0x65e0", False),
        ),
        (
            "[Rank 0] ncclCommInitRankConfig comm 0x7f rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1c000 commId 0x65 - "
            "Init START",
            (0, 2, 0, "1c000", "0x65", False),
        ),
    ],
)
def test_line_of_a_communicator(line: str, expected: tuple[Any, ...]) -> None:
    (found,) = only(line).ranks
    assert (found.rank, found.nranks, found.device, found.bus_id, found.comm, found.complete) == expected


def test_start_and_end_of_the_start_are_one_rank() -> None:
    line = "comm 0x7f rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1c000 commId 0x65 - Init "
    (found,) = parse(INFO + line + "START\n" + INFO + line + "COMPLETE\n").ranks
    assert found.complete


@pytest.mark.parametrize(
    ("line", "devices", "ordered"),
    [
        (
            "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB ens192:192.0.2.1<0>",
            [(0, "mlx5_0", 1, "RoCE"), (1, "mlx5_1", 1, "RoCE")],
            True,
        ),
        ("NET/IB : Using [0]mlx5_0:1/IB ; OOB ib0:192.168.11.1<0>", [(0, "mlx5_0", 1, "IB")], False),
        (
            "NET/IB : Using [0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE} [RO]; OOB ens192:192.0.2.1<0>",
            [(0, "mlx5_0+mlx5_1", 1, "RoCE")],
            True,
        ),
        ("NET/IB : Using [0]mlx5_0:1:0:1/RoCE [RO]; OOB ens192:192.0.2.1<0>", [(0, "mlx5_0", 1, "RoCE")], True),
    ],
)
def test_devices_of_the_using_line(line: str, devices: list[tuple[Any, ...]], ordered: bool) -> None:
    found = only(line)
    assert [(hca.index, hca.name, hca.port, hca.layer) for hca in found.hcas] == devices
    assert found.relaxed_ordering is ordered


@pytest.mark.parametrize(
    ("using", "layer"),
    [
        ("[0]mlx5_0:1/RoCE [1]mlx5_1:2/RoCE [2]ib0:1/IB", "RoCE"),
        ("[0]mlx5_0:1/IB [1]mlx5_1:2/IB [2]ib0:1/RoCE", "IB"),
        ("[2]ib0:1/IB", ""),
    ],
)
def test_virtual_devices_have_the_link_layer_of_their_parts(using: str, layer: str) -> None:
    made = "NET/IB : Made virtual device [{}] name={} speed=400000 ndevs=1\n"
    before = INFO + made.format(0, "mlx5_0") + INFO + made.format(1, "mlx5_1")
    after = INFO + made.format(3, "mlx5_1") + INFO + made.format(4, "mlx5_0+mlx5_1")
    hcas = parse(f"{before}{INFO}NET/IB : Using {using} [RO]; OOB eth0:192.0.2.1<0>\n{after}").hcas
    assert sorted((hca.index, hca.name, hca.layer) for hca in hcas if hca.index != 2) == [
        (0, "mlx5_0", layer),
        (1, "mlx5_1", layer),
        (3, "mlx5_1", layer),
        (4, "mlx5_0+mlx5_1", layer),
    ]


USING = "{}:{}:2000 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE{}; OOB ens192:192.0.2.1<0>\n"


@pytest.mark.parametrize(
    ("text", "ordered", "without"),
    [
        (USING.format("gpu01", 1, " [RO]") + USING.format("gpu02", 1, " [RO]"), True, []),
        (USING.format("gpu01", 1, " [RO]") + USING.format("gpu02", 1, " "), False, ["gpu02"]),
        (USING.format("gpu01", 1, " ") + USING.format("gpu02", 1, " [RO]"), False, ["gpu01"]),
        (USING.format("gpu01", 1, " [RO]") + USING.format("gpu01", 2, " "), False, ["gpu01"]),
        ("gpu01:1:2000 [0] NCCL INFO NET/IB : No device found.\n", None, []),
    ],
    ids=["all", "not-the-second", "not-the-first", "one-process-of-a-host-not", "no-device"],
)
def test_relaxed_ordering_is_in_use_if_every_process_says_so(
    text: str, ordered: bool | None, without: list[str]
) -> None:
    found = parse(text)
    assert found.relaxed_ordering is ordered
    assert [process.host for process, used in found.relaxed.items() if not used] == without
    assert judge(found).as_result()["without_relaxed_ordering"] == without


@pytest.mark.parametrize("rail", ["", ":3", ":3:0", "::0"])
def test_nics_are_named_with_and_without_rail_and_plane(rail: str) -> None:
    """src/transport/net_ib/init.cc since 2.30."""
    (found,) = only(f"NET/IB : Using [0]mlx5_0:1{rail}/RoCE [RO]; OOB ens192:192.0.2.1<0>").hcas
    assert (found.name, found.port, found.layer) == ("mlx5_0", 1, "RoCE")


def test_shape_of_nccl_2_2_without_its_word() -> None:
    found = parse(
        "gpu01:340762:340937 [0] INFO NET/IB: [0] mlx5_0:1/IB\ngpu01:340762:340937 [0] INFO Using internal Network IB\n"
    )
    assert [(hca.name, hca.layer) for hca in found.hcas] == [("mlx5_0", "IB")]
    assert [[*names] for names in found.networks.values()] == [["IB"]]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("GPU Direct RDMA Disabled for GPU ca000 / HCA 0 (distance 7 > 4)", (False, "ca000", "0", 7, 4)),
        (
            "GPU Direct RDMA Enabled for GPU 0 / HCA 1 (distance 4 <= 5), read 1 mode Default",
            (True, "0", "1", 4, 5),
        ),
        ("NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0' (no module)", (False, "", "mlx5_0", None, None)),
        ("NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'", (True, "", "mlx5_0", None, None)),
        (
            "NET/IB : GPU Direct RDMA Disabled for GPU 0[0] / HCA 0 (distance 3 >= 3)",
            (False, "0[0]", "0", 3, 3),
        ),
    ],
)
def test_line_about_gpudirect(line: str, expected: tuple[Any, ...]) -> None:
    said = only(line).gdr
    assert len(said) == 1
    found = next(iter(said))
    assert (found.enabled, found.gpu, found.hca, found.distance, found.limit) == expected


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129", "ib_transport_retry_exceeded"),
        (
            "NET/IB : Got completion from peer 192.0.2.2<4> with error 4, opcode 32704, len 0, vendor err 81",
            "ib_local_protection",
        ),
        (
            "NET/IB : Got completion from peer 192.0.2.2<4> with status=5 opcode=32 len=32 vendor err 249 (Recv)",
            "ib_flushed",
        ),
        (
            "NET/IB: Got completion from peer 192.0.2.2<4> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) "
            "vendor_err=129 Send hca mlx5_0",
            "ib_transport_retry_exceeded",
        ),
        ("NET/IB : Got completion with error 99, opcode 1, len 0, vendor err 1", "ib_completion_error"),
        ("Call to ibv_reg_dmabuf_mr failed with error Operation not supported", "verbs_call_failed"),
        ("Call to ibv_reg_mr failed", "verbs_call_failed"),
        ("Failed to initialize any NET plugin", "network_refused"),
        ("Error: network IB not found.", "network_refused"),
        ("NET/IB : mlx5_0:1 async fatal event: port error", "ib_async_event"),
        ("NET/IB : mlx5_0:1 Got async error event: port error", "ib_async_event"),
    ],
)
def test_warning_becomes_a_problem(line: str, code: str) -> None:
    found = only(line, WARN)
    assert [problem.code for problem in found.problems] == [code]
    assert found.problems[0].message.startswith("gpu01:1000: ")
    assert [*found.warnings] == [f"gpu01:1000: {line}"]


@pytest.mark.parametrize("event", ["GID table change", "SM change", "client reregistration"])
@pytest.mark.parametrize("said", ["Got async event :", "mlx5_0:1 Got async error event:"])
def test_a_change_of_the_network_that_breaks_no_connection_is_kept_and_no_problem(event: str, said: str) -> None:
    found = parse(RANK + WARN + f"NET/IB : {said} {event}\n")
    assert (len(found.warnings), found.problems) == (1, ())


def test_problems_of_a_kind_are_counted_however_many_they_are() -> None:
    text = "".join(f"gpu01:{pid}:1 [0] init.cc:1 NCCL WARN Cuda failure 'unknown error'\n" * 2 for pid in range(90))
    assert [problem.message for problem in parse(text).problems][-1].split()[0] == "85"


@pytest.mark.parametrize(
    "prefix",
    [
        "gpu01:1000:2000 [0] ncclIbInit, 717 NCCL INFO ",
        "(RayWorkerWrapper pid=1000, ip=192.0.2.1) gpu01:1000:2000 [0] NCCL INFO ",
    ],
)
@pytest.mark.parametrize("behind", ["", " [repeated 3x across cluster] (Ray deduplicates logs)", "\x1b[0m"])
def test_what_others_print_in_front_of_a_line_and_behind_it_is_no_part_of_it(prefix: str, behind: str) -> None:
    lines = ["Using network IB", "NCCL_IB_HCA set by environment to mlx5", "NET/IB : Using [0]mlx5_0:1/RoCE [RO]"]
    found = parse("".join(f"{prefix}{line}{behind}\n" for line in lines))
    assert {process.name: [*names] for process, names in found.networks.items()} == {"gpu01:1000": ["IB"]}
    assert (found.hosts, [*found.environment["NCCL_IB_HCA"]]) == (("gpu01",), ["mlx5"])
    assert [(hca.host, hca.name) for hca in found.hcas] == [("gpu01", "mlx5_0")]


def test_a_word_in_brackets_may_stand_for_the_name_of_the_host() -> None:
    assert parse(RANK.replace("gpu01", "[pod-name]")).hosts == ("[pod-name]",)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1", "110 Connection timed out"),
        ("Call to ibv_reg_mr_iova2 failed with error Bad address errno 14", "ulimit -l"),
    ],
)
def test_a_failed_call_is_told_with_its_reason(line: str, said: str) -> None:
    assert said in only(line, WARN).problems[0].message


def test_environment_and_version_are_kept() -> None:
    found = parse("NCCL version 2.27.6+cuda13.0\n" + INFO + "NCCL_IB_DISABLE set by environment to 0.\n")
    assert [*found.versions] == ["2.27.6"]
    assert found.as_dict()["environment"] == {"NCCL_IB_DISABLE": ["0"]}


# ------------------------------------------------------------------------------------------------------ surroundings


def test_line_glued_to_the_text_before_it_belongs_to_its_host() -> None:
    text = (
        Job(hosts=HOSTS[:2])
        .text()
        .replace("gpu01:1000:2000 [0] NCCL INFO Channel", "7.71gpu01:1000:2000 [0] NCCL INFO Channel")
    )
    assert parse(text).hosts == ("gpu01", "gpu02")


def test_host_whose_first_line_was_glued_is_recognised_later() -> None:
    text = "7.71" + Job(hosts=HOSTS[:2]).text().split("\n", 1)[1]
    assert parse(text).hosts == ("gpu01", "gpu02")
    assert judge(parse(text), 2, HOSTS[:2]).verdict == "gdrdma"


def test_name_that_lost_its_beginning_is_the_host_of_its_process() -> None:
    lines = Job(hosts=HOSTS[:2]).text().splitlines(keepends=True)
    for number in (next(n for n, line in enumerate(lines) if line.startswith(HOSTS[0])), len(lines) - 1):
        cut = [*lines[:number], lines[number][2:], *lines[number + 1 :]]
        assert parse("".join(cut)).hosts == ("gpu01", "gpu02")


def test_tcp_between_hosts_is_known_without_the_number_of_ranks() -> None:
    lines = (
        "gpu01:1:9 [7] NCCL INFO Ring 00 : 7 -> 8 [send] via NET/Socket/0\n"
        "gpu02:2:9 [7] NCCL INFO Ring 00 : 15 -> 0 [send] via NET/Socket/0\n"
    )
    assert judge(parse(lines)).verdict == "sockets"
    assert judge(parse(lines.replace("Socket", "IB"))).verdict == "unknown"


def test_two_lines_glued_together_are_two() -> None:
    text = Job(hosts=HOSTS[:2]).text()
    glued = text.replace("[send] via NET/IB/0/GDRDMA\n", "[send] via NET/IB/0/GDRDMA")
    assert glued != text
    assert judge(parse(glued), 2, HOSTS[:2]).verdict == "gdrdma"


def test_a_host_that_ends_like_another_one_stays_itself() -> None:
    lines = "".join(
        f"[2026-05-05 06:16:47] {host}:{rank}:2 [0] NCCL INFO comm 0x7 rank {rank} nranks 2 cudaDev 0 busId 1 "
        "commId 0x1 - Init COMPLETE\n"
        for rank, host in enumerate(("node1", "gpunode1"))
    )
    assert parse(lines).hosts == ("gpunode1", "node1")


@pytest.mark.parametrize("mark", ["'", '"', "`"])
def test_a_line_that_a_text_quotes_is_none(mark: str) -> None:
    assert not parse(f"wanted is {mark}NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0{mark}\n").lines


def test_other_programs_info_lines_are_not_nccl() -> None:
    assert parse("2026-01-01 INFO starting\nworker:1:2 INFO step 3 done via NET/IB/0\n[0] INFO x\n").lines == 0


def test_overlong_line_is_cut_with_a_message_and_the_rest_is_read() -> None:
    reader = Reader()
    for _piece in range(128):
        reader.feed("x" * 1024)
    reader.feed("\n" + Job().text())
    found = reader.result()
    assert [problem.code for problem in found.problems] == ["overlong_line"]
    assert judge(found, 4, HOSTS).verdict == "gdrdma"


def test_memory_does_not_grow_with_the_length_of_the_log() -> None:
    """0.25 and 1 MB of log, of which the reader may keep little: each line comes many times, with other numbers."""
    text, peaks = Job().text(), []
    for repeats in (100, 400):
        reader = Reader()
        tracemalloc.start()
        for number in range(repeats):
            reader.feed(text)
            reader.feed(f"{INFO}Mem Realloc old size {number}\n{WARN}NET/IB : strange thing number {number}\n")
        reader.result()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert 300 * len(text) > 650_000
    assert peaks[1] < peaks[0] + 20_000 and peaks[1] < 600_000


# ---------------------------------------------------------------------------------------------------------- properties

JOBS = st.builds(
    Job,
    version=st.sampled_from(["2.7.8", "2.12.12", "2.18.6", "2.24.3", "2.30.7"]),
    hosts=st.sampled_from([HOSTS[:2], HOSTS]),
    gpus=st.integers(1, 2),
    send=st.sampled_from(["NET/IB/0/GDRDMA", "NET/IB/12", "NET/Socket/0"]),
    receive=st.sampled_from(["NET/IB/0/GDRDMA", "NET/IB/12/Shared", "NET/Socket/1"]),
)


def facts(log: NcclLog) -> tuple[Any, ...]:
    channels = {
        (c.process.host, c.process.pid, c.source, c.target, c.direction, c.kind, c.network, c.device, c.gdr): c.count
        for c in log.channels
    }
    ranks = {(r.process.host, r.process.pid, r.rank, r.nranks, r.complete) for r in log.ranks}
    return channels, ranks, set(log.hcas), log.problems


# No deadline: the time of an example says more about the machine than about the reader.
@settings(max_examples=40, deadline=None)
@given(JOBS, st.data())
def test_any_interleaving_tagging_and_chunking_gives_the_same_facts(job: Job, data: st.DataObject) -> None:
    streams = {rank: job.rank_lines(rank) for rank in range(job.size)}
    expected = facts(parse("\n".join(line for lines in streams.values() for line in lines) + "\n"))
    tagged = data.draw(st.booleans())
    out = ""
    for rank in data.draw(st.permutations([rank for rank, lines in streams.items() for _line in lines])):
        out += (f"[1,{rank}]<stdout>:" if tagged else "") + streams[rank].pop(0) + "\n"
    reader = Reader()
    edges = sorted(data.draw(st.lists(st.integers(0, len(out)), max_size=12)))
    for begin, end in zip([0, *edges], [*edges, len(out)]):
        reader.feed(out[begin:end])
    assert facts(reader.result()) == expected


@settings(max_examples=100, deadline=None)
@given(JOBS, st.data())
def test_truncation_never_makes_a_path_better_and_never_raises(job: Job, data: st.DataObject) -> None:
    text = job.text()
    hosts = job.hosts
    whole = judge(parse(text), job.size, hosts).verdict
    verdict = judge(parse(text[: data.draw(st.integers(0, len(text)))]), job.size, hosts).verdict
    assert verdict != "gdrdma" or whole == "gdrdma"


@settings(deadline=None)
@given(st.text())
def test_no_text_raises_and_none_is_good(text: str) -> None:
    assert not judge(parse(text), 4, HOSTS).good


@settings(max_examples=40, deadline=None)
@given(JOBS, st.lists(st.text(st.characters(codec="latin-1")), max_size=6), st.data())
def test_noise_between_the_lines_changes_nothing(job: Job, noise: list[str], data: st.DataObject) -> None:
    lines = job.text().splitlines()
    for text in noise:
        lines.insert(data.draw(st.integers(0, len(lines))), text.replace("\n", " ").replace("NCCL", ""))
    found = parse("\n".join(lines) + "\n")
    assert facts(found)[:2] == facts(parse(job.text()))[:2]


# -------------------------------------------------------------------------------------------------------------- filters


def test_filters_return_plain_data() -> None:
    assert read_log(Job().text(), "nccl_log")["hosts"] == list(HOSTS)
    assert nccl_path_filter.nccl_path(Job().text(), 4, list(HOSTS))["ok"] is True


def test_filter_says_unknown_for_silence() -> None:
    assert nccl_path_filter.nccl_path("")["verdict"] == "unknown"
    assert read_log("", "nccl_log")["found"] is False and read_log("", "nccl_log")["ok"] is False
    assert [problem["code"] for problem in read_log("", "nccl_log")["problems"]] == ["no_result"]


def test_filters_read_a_file_too(tmp_path: pathlib.Path) -> None:
    saved = tmp_path / "nccl.log"
    saved.write_text(Job().text())
    assert read_log(str(saved), "nccl_log") == read_log(Job().text(), "nccl_log")
    assert nccl_path_filter.nccl_path(str(saved), 4, list(HOSTS))["verdict"] == "gdrdma"
    with pytest.raises(AnsibleFilterError, match="cannot be read"):
        nccl_path_filter.nccl_path(str(tmp_path / "nothing"))


@pytest.mark.parametrize(
    "call",
    [
        lambda: read_log(None, "nccl_log"),
        lambda: nccl_path_filter.nccl_path(["no", "text"]),
        lambda: nccl_path_filter.nccl_path("", hosts="gpu01"),
    ],
)
def test_wrong_input_is_a_filter_error(call: Any) -> None:
    with pytest.raises(AnsibleFilterError):
        call()


def test_a_communicator_that_some_ranks_abort_names_them_and_one_that_all_leave_is_no_fault() -> None:
    lines = [
        f"gpu01:{rank}:{rank} [{rank}] NCCL INFO comm 0x5{rank} rank {rank} nranks 2 cudaDev {rank} - Abort COMPLETE\n"
        for rank in (0, 1)
    ]
    aborted = "".join(lines)
    found = parse(aborted)
    assert [(rank.rank, rank.nranks, rank.complete) for rank in found.ranks] == [(0, 2, False), (1, 2, False)]
    assert not found.problems
    alone = parse(aborted.replace("Abort", "Init") + lines[1])
    assert [(problem.code, "rank 1 of 2" in problem.message) for problem in alone.problems] == [("aborted", True)]
    of_another_size = parse(aborted + lines[0].replace("nranks 2", "nranks 4"))
    assert ["rank 0 of 4" in problem.message for problem in of_another_size.problems] == [True]
    assert judge(found).nranks == 2
    started = parse(aborted.replace("Abort", "Init") + aborted)
    assert [rank.complete for rank in started.ranks] == [True, True]
    one_host = lines[0].replace("Abort", "Init") + lines[0]
    assert parse(one_host).good
    assert not parse(one_host + lines[1].replace("Abort COMPLETE", "Init START")).good


def test_a_line_that_lost_its_prefix_may_be_the_one_that_is_missing() -> None:
    start = "gpu01:{0}:{0} [{0}] NCCL INFO comm 0x5{0} rank {0} nranks 2 cudaDev {0} commId 0x9 - Init {1}\n"
    torn = start.format(0, "START") + start.format(1, "START") + start.format(0, "COMPLETE")
    lost = start.format(1, "COMPLETE").partition("[1] ")[2]
    said = [problem.message for problem in judge(parse(torn + lost)).problems]
    assert not any("Init COMPLETE" in message for message in said)
    assert any("Init COMPLETE" in problem.message for problem in judge(parse(torn)).problems)


def test_rows_of_the_tuner_are_lines_and_the_ras_is_no_failure() -> None:
    result = parse(f"{INFO}  Algorithm   |  Tree  |\n{INFO}    Broadcast |  0.0/  0.0 |\n")
    assert (result.lines, result.hosts) == (2, ("gpu01",))
    bind = "NCCL WARN Call to bind failed : Address already in use\n"
    for file, expected in (
        ("ras/client_support.cc:181", []),
        ("ras/client_support.cc:181 (operator())", []),
        ("misc/socket.cc:181", ["nccl_failure"]),
    ):
        result = parse(f"{RANK}gpu01:1000:2000 [0] {file} {bind}")
        assert ([entry.code for entry in result.problems], len(result.warnings)) == (expected, 1)


@pytest.mark.parametrize(
    "warning",
    [
        "misc/socket.cc:397 NCCL WARN Net : connecting to address  with family 33621 is neither AF_INET(2)",
        "ucx_plugin.c:498 NCCL WARN Failed: UCX error ucx_plugin.c:498 '-5' Invalid parameter",
    ],
)
def test_a_warning_of_an_address_or_from_within_a_plugin_is_a_failure(warning: str) -> None:
    assert [entry.code for entry in parse(f"gpu01:1000:2000 [0] {warning}\n").problems] == ["nccl_failure"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("init.cc:1358 -> 2", ["nccl_failure"]),
        ("init.cc:1358 (initTransportsRank) -> 1", ["nccl_failure"]),
        ("misc/nvmlwrap.cc:200 -> 2", []),
        ("group.cc:79 (ncclAsyncJobMain) -> 5 [Async thread]", ["nccl_failure"]),
        ("misc/socket.cc:832 -> 3", []),
        ("misc/socket.cc:58 (socketWait) -> 6", []),
        ("ras/ras.cc:181 -> 2", []),
    ],
)
def test_an_error_that_reaches_the_program_is_a_problem_unless_an_abort_or_a_peer_leads_to_it(
    text: str, found: list[str]
) -> None:
    assert [entry.code for entry in parse(f"{RANK}gpu01:1000:2000 [0] NCCL INFO {text}").problems] == found


def test_a_log_without_a_rank_is_not_whole() -> None:
    found = only("NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:192.0.2.1<0>")
    assert ([problem.code for problem in found.problems], found.good) == (["unfinished"], False)
    assert not judge(found).problems


@pytest.mark.parametrize(
    "place",
    [
        "init.cc:544 ",
        "openPlugin(), plugin/open.cc:102 ",
        "0.3 find(), misc/socket.cc:14 ",
        "int make_it(nccl_net_t*, const char**, uint16_t):77 ",
        "static ncclResult_t net::init(logger_t &):7 ",
        "ncclResult_t end_it():96 ",
    ],
)
def test_a_line_that_names_its_place_in_the_source_keeps_its_host(place: str) -> None:
    found = parse(f"gpu01:100:101 [0] {place}NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:192.0.2.1<0>\n")
    assert (found.hosts, [hca.host for hca in found.hcas]) == (("gpu01",), ["gpu01"])


def test_a_process_that_died_is_a_failure() -> None:
    for text in DIED:
        found = parse(f"{RANK}{text}\n")
        assert [problem.code for problem in found.problems] == ["nccl_failure"]
        assert (found.problems[0].message, found.lines) == (f"the job: {text}", 1)


@pytest.mark.parametrize("text", LIVES)
def test_a_line_like_those_of_a_death_is_none(text: str) -> None:
    assert parse(f"{RANK}{text}\n").good


def test_an_exception_of_the_program_is_a_failure_unless_nccl_goes_on() -> None:
    trace = (
        '[default3]:Traceback (most recent call last):\n  File "a.py", line 7, in go\n[default3]:MemoryError: at 7\n'
    )
    for behind in ("", f"{INFO}comm 0x5 rank 0 nranks 1 cudaDev 0 busId b1000 - Abort COMPLETE\n"):
        (problem,) = parse(f"{RANK}{trace}{behind}").problems
        assert (problem.code, problem.message) == ("nccl_failure", "the job: MemoryError: at 7")
    assert parse(f"{trace}{RANK}").good


def test_a_version_within_an_exception_is_none() -> None:
    said = "RuntimeError: NCCL error in: x.cpp:7, unhandled cuda error, NCCL version 21.4.3"
    assert [*parse(f"{INFO}NCCL version 2.14.3+cuda11.7\n{said}\n{RANK}").versions] == ["2.14.3"]


# Two communicators of one process, as a release prints them that does not say when it begins one.
TREES = "gpu01:1000:{} [0] NCCL INFO Trees [0] 1/-1/-1->0->-1 [1] -1/-1/-1->0->1\n"
BOTH = "gpu01:1000:{} [0] NCCL INFO comm 0x{} rank 0 nranks 1 cudaDev 0 busId b1000 - Init COMPLETE\n"


@pytest.mark.parametrize("thread", [2000, 2001])
def test_a_second_communicator_that_plans_and_does_not_finish_is_a_problem(thread: int) -> None:
    text = TREES.format(2000) + BOTH.format(2000, 5) + TREES.format(thread)
    assert [problem.code for problem in parse(text).problems] == ["unfinished"]
    assert parse(text + BOTH.format(thread, 6)).good


def test_a_communicator_that_is_not_finished_leaves_the_path_open() -> None:
    text = Job("2.7.8").text()
    assert judge(parse(text)).good
    assert judge(parse(text + TREES.format(2999))).verdict == "unknown"


@pytest.mark.parametrize(
    ("states", "codes"),
    [("START", ["unfinished"]), ("START COMPLETE", []), ("COMPLETE", []), ("START Abort", []), ("COMPLETE START", [])],
)
def test_a_rank_that_began_and_did_not_finish_is_a_problem(states: str, codes: list[str]) -> None:
    line = "gpu01:1:1 [0] NCCL INFO comm 0x5 rank 0 nranks 1 cudaDev 0 commId 0x9 - Init {}\n"
    text = "".join(line.format(state).replace("Init Abort", "Abort COMPLETE") for state in states.split())
    found = parse(text)
    assert ([problem.code for problem in found.problems], found.good) == (codes, not codes)
    assert not {"unfinished"} & {problem.code for problem in judge(found).problems}


DONE = "NCCL INFO comm 0x5 rank 0 nranks 2 cudaDev 0 busId b1000 - Init COMPLETE"
TO_POINT = "transport.cc:253 NCCL WARN Cannot initialize CollNet, using point-to-point network instead"


@pytest.mark.parametrize(
    ("lines", "ended"),
    [
        (["misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]"], "NCCL INFO Using network Socket"),
        (
            ["misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]"],
            "NCCL INFO NET/Socket : Using [0]eth0:192.0.2.1<0>",
        ),
        (["NCCL INFO transport.cc:222 -> 2", TO_POINT, "NCCL INFO init.cc:765 -> 2"], DONE),
        (["NCCL INFO Call to connect returned Connection refused, retrying"], DONE),
        (["misc/cudawrap.cc:179 NCCL WARN Failed to find CUDA library libcuda.so (NCCL_CUDA_PATH='')"], DONE),
        (
            [
                "int begin(plugin_t**):7 NCCL WARN NET/OFI Failed to initialize rdma protocol",
                "int begin(plugin_t**):9 NCCL WARN NET/OFI aws-ofi-nccl initialization failed",
            ],
            DONE,
        ),
        (["misc/nvmlwrap.cc:100 NCCL WARN nvmlInit_v2() failed: Driver/library version mismatch"], DONE),
        (
            ["proxy.cc:1458 NCCL WARN [Service thread] Accept failed Resource temporarily unavailable"],
            "proxy.cc:1521 NCCL WARN [Proxy Service 1] Failed to execute operation Close from rank 1, retcode 3",
        ),
        (
            ["NCCL INFO socketPollConnect: connect to 192.0.2.7<41000> returned Connection refused, retrying (1/34)"],
            "NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0",
        ),
    ],
)
def test_what_nccl_got_over_is_no_failure_once_the_log_shows_that_it_did(lines: list[str], ended: str) -> None:
    said = [f"gpu01:1000:2000 [0] {line}\n" for line in lines]
    later, other = f"gpu01:1000:2000 [0] {ended}\n", f"gpu01:1001:2001 [0] {ended}\n"
    of_another = RANK.replace("1000:2000", "1002:2002")
    assert not parse("".join([of_another, *said, later])).problems
    assert len(parse("".join(said)).warnings) == sum("WARN" in line for line in lines)
    for text in ("".join(said), "".join([later, *said]), "".join([*said, other])):
        assert {problem.code for problem in parse(text).problems} == {"nccl_failure"}


@pytest.mark.parametrize(
    "line",
    ["RCCL version : 2.21.5-HEAD:9a0e6a1", "RCCL version 2.21.5+hip6.2 HEAD:d380693+", "> RCCL version 2.21.5+hip6"],
)
def test_the_version_of_rccl_is_one_and_none_of_nccl(line: str) -> None:
    found = parse(f"{line}\n")
    assert ([*found.versions], oldest(found.versions)) == (["RCCL 2.21.5"], None)


@pytest.mark.parametrize(
    ("line", "rank"),
    [
        ("INFO comm 0x2b8b20093600 rank 6 nranks 8", (6, 8, False)),
        ("NCCL INFO rank 6 nranks 8", (6, 8, False)),
        ("INFO comm 0x2b8b20093600 rank 6 nranks 8 - COMPLETE", (6, 8, True)),
        ("NCCL INFO Channel 00/0 : 6[17000] -> 7[21000] via P2P/IPC comm 0x5609976f9470 nRanks 08", (6, 8, False)),
        ("NCCL INFO Channel 00/0 : 7[21000] -> 6[17000] [receive] via NET/IB/0 comm 0x56 nRanks 08", (6, 8, False)),
    ],
)
def test_a_line_that_begins_no_communicator_may_tell_its_rank_and_size(line: str, rank: tuple[int, int, bool]) -> None:
    found = parse(f"gpu01:1000:2000 [2] {line}\n")
    assert [(each.rank, each.nranks, each.complete) for each in found.ranks] == [rank]
    assert [problem.code for problem in found.problems] == ([] if rank[2] else ["unfinished"])
    assert not parse(f"gpu01:1000:2000 [2] {line.partition(' - ')[0]}").ranks  # its last figure may be cut


def test_the_interface_for_the_bootstrap_is_read_as_nccl_2_3_prints_it() -> None:
    found = parse("gpu01:1000:2000 [2] INFO NET : Using interface eth1:192.0.2.1<0>\n")
    assert found.sockets == {"gpu01": {"eth1 192.0.2.1": None}}


def test_one_process_says_for_all_that_they_do_without_sharp() -> None:
    """The ranks of a communicator decide it together (src/transport.cc, ncclTransportCollNetCheck)."""
    refused = "gpu01:1001:2001 [1] NCCL WARN NET/IB :SHARP coll init error: Cannot create SHArP job(-11)\n"
    passed_on = "gpu01:1001:2001 [1] NCCL INFO transport.cc:222 -> 2\n"
    said, done = f"gpu02:1000:2000 [0] {TO_POINT}\n", f"gpu01:1001:2001 [1] {DONE}\n"
    for text in (refused, refused + passed_on + done):
        assert {problem.code for problem in parse(text + done).problems} == {"nccl_failure"}
        assert not parse(text + said + done).problems
        assert not parse(said + text + done).problems
    assert parse(said + done + passed_on).problems


def test_nvidias_plugin_may_use_relaxed_ordering_without_saying_so() -> None:
    names = "gpu01:1000:2000 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB/SHARP{}; OOB eth0:192.0.2.1<0>\n"
    used = "gpu01:1000:2000 [0] NCCL INFO Using network {}\n"
    asked = [("", "IBext"), (" [RO]", "IBext"), ("", "IB")]
    found = [parse(names.format(mark) + used.format(network)).relaxed_ordering for mark, network in asked]
    assert found == [None, True, False]


def test_a_line_without_a_nic_says_nothing_of_relaxed_ordering() -> None:
    assert only("NET/IB : Using [RO]; OOB eth0:192.0.2.1<0>").relaxed_ordering is None


def test_channels_over_sharp_that_was_refused_are_none() -> None:
    text = "gpu01:1000:2000 [0] NCCL INFO CollNet 00 : 0 [send] via COLLNET/SHARP/0\n"
    assert (parse(text).collnet, parse(text + f"gpu01:1000:2000 [0] {TO_POINT}\n").collnet) == (1, 0)


def test_an_error_of_a_thread_that_starts_again_stays_one() -> None:
    text = f"gpu01:1000:2000 [0] NCCL INFO init.cc:765 -> 2\ngpu01:1000:2000 [0] {DONE}\n"
    assert [problem.code for problem in parse(text).problems] == ["nccl_failure"]


def test_a_warning_of_a_connection_is_a_failure_where_it_is_cut_as_well() -> None:
    text = "gpu01:1000:2000 [0] include/socket.h:403 NCCL WARN Connect to"
    assert [problem.code for problem in parse(text).problems] == ["nccl_failure"]


# --------------------------------------------------------------------------------------- what PyTorch says of its calls

GAVE_UP = (
    "[rank{rank}]:[E1114 12:00:00.1 ProcessGroupNCCL.cpp:629] [Rank {rank}] Watchdog caught collective operation "
    "timeout: WorkNCCL({number}OpType={call}, NumelIn=16, NumelOut=16, Timeout(ms)=600000) ran for {ms} milliseconds "
    "before timing out.\n"
)
STATUS = (
    "[rank{rank}]:[E1114 12:00:00.2 ProcessGroupNCCL.cpp:2168] [PG ID 1 PG GUID 1 Rank {rank}]  failure detected by "
    "watchdog at work sequence id: 7 PG status: last enqueued work: 12, last completed work: {done}\n"
)
OLDER = (
    "[PG 0 Rank {rank}] Exception (either an error or timeout) detected by watchdog at work: 7, last enqueued NCCL "
    "work: 9, last completed NCCL work: {done}.\n"
)


@pytest.mark.parametrize(
    ("status", "done", "completed"),
    [(STATUS, -1, -1), (STATUS, 6, 6), (OLDER, 6, 6), (STATUS, 94850624599232, None), ("", 0, None)],
)
def test_collective_that_was_given_up_is_named_with_its_ranks(status: str, done: int, completed: int | None) -> None:
    times = {0: 600081, 3: 600088}
    text = "".join(
        GAVE_UP.format(rank=rank, number="SeqNum=7, ", call="BROADCAST", ms=ms) + status.format(rank=rank, done=done)
        for rank, ms in times.items()
    )
    log = parse(text * 2)
    assert log.timeouts == [
        {"call": "BROADCAST", "number": 7, "seconds": 600.088, "completed": completed, "ranks": [0, 3]}
    ]
    assert ([problem.code for problem in log.problems], log.good) == (["collective_timeout"], False)


def test_ranks_of_a_group_are_named_as_in_the_job() -> None:
    """PyTorch numbers them by the group in its brackets, and by the job in front of the line."""
    text = GAVE_UP.format(rank=1, number="SeqNum=7, ", call="BROADCAST", ms=5000) + STATUS.format(rank=1, done=6)
    (found,) = parse(text.replace("[rank1]:", "[rank5]:")).timeouts
    assert (found["ranks"], found["completed"]) == ([5], 6)


def test_collectives_without_a_number_and_several_of_them_are_kept_apart() -> None:
    calls = [("ALLREDUCE", ""), ("ALLGATHER", "SeqNum=4, "), ("ALLGATHER", "SeqNum=5, ")]
    text = "".join(GAVE_UP.format(rank=1, number=number, call=call, ms=5000) for call, number in calls)
    found = [(each["call"], each["number"]) for each in parse(text).timeouts]
    assert found == [("ALLREDUCE", 0), ("ALLGATHER", 4), ("ALLGATHER", 5)]
