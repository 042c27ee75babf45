"""The mpirun command line, and the diagnosis of failures on recorded output."""

from __future__ import annotations

import itertools
import pathlib
import re
import tracemalloc

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.rocemesh.multinode.plugins.filter.mpirun_failure import mpirun_failure
from ansible_collections.rocemesh.multinode.plugins.module_utils._judge.packs.model import Sign
from ansible_collections.rocemesh.multinode.plugins.module_utils._judge.words import Index, letters_of, ways_of
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch.causes import rules
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch.failure import diagnose
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch.mpirun import Node, command, nodes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

RECORDED = pathlib.Path(__file__).parent / "fixtures" / "openmpi414"
RECORDED_5 = pathlib.Path(__file__).parent / "fixtures" / "openmpi5011"
HOSTS = (Node("gpu01", "192.0.2.11"), Node("gpu02", "192.0.2.12"), Node("gpu03", "192.0.2.13", 2))
LOOPBACK = (Node("gpu01", "127.0.0.1"), Node("gpu02", "127.0.0.2", 3))
IB = "vm2:1:2 [0] transport/net_ib.cc:1192 NCCL WARN NET/IB : Got completion "  # two shapes, NCCL 2.7 to 2.30
BOX = "ORTE was unable to reliably start one or more daemons.\n* lack of authority to execute on nodes.\n"
# Rank 1 went away first; rank 2 lost rank 0, which ended because of that. In the words of torch's gloo.
_PAIR = "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed by peer "
LOST_PEERS = f"[1,0]<stdout>:{_PAIR}[192.0.2.12]:29500\n[1,2]<stdout>:{_PAIR}[192.0.2.11]:29500\n"


def test_command_line_of_the_guide_put_right() -> None:
    argv = command(
        HOSTS,
        ["python3", "/workspace/train.py", "--model", "resnet50"],
        "192.0.2.0/24",
        env={"NCCL_IB_DISABLE": "0", "NCCL_DEBUG": "INFO"},
        timeout=60,
    )
    assert argv == [
        "timeout",
        "--foreground",
        "-k",
        "10",
        "60",
        "mpirun",
        "--allow-run-as-root",
        "--tag-output",
        "-H",
        "192.0.2.11:1,192.0.2.12:1,192.0.2.13:2",
        "-np",
        "4",
        "-bind-to",
        "none",
        "-map-by",
        "slot",
        "-mca",
        "btl_tcp_if_include",
        "192.0.2.0/24",
        "-mca",
        "oob_tcp_if_include",
        "192.0.2.0/24",
        "-mca",
        "btl_tcp_disable_family",
        "6",
        "-mca",
        "oob_tcp_disable_ipv6_family",
        "1",
        "-x",
        "NCCL_IB_DISABLE=0",
        "-x",
        "NCCL_DEBUG=INFO",
        "python3",
        "/workspace/train.py",
        "--model",
        "resnet50",
    ]


def test_both_kinds_of_connections_are_pinned_and_can_be_overridden() -> None:
    argv = command(HOSTS, ["hostname"], "192.0.2.0/24", mca={"btl_tcp_if_include": "ens192", "btl_openib_warn": True})
    pairs = dict(zip(argv[argv.index("-mca") + 1 :: 3], argv[argv.index("-mca") + 2 :: 3]))
    assert pairs["btl_tcp_if_include"] == "ens192"
    assert pairs["oob_tcp_if_include"] == "192.0.2.0/24"
    assert pairs["btl_openib_warn"] == "1"


@pytest.mark.parametrize(("version", "option"), [("4.1", "-mca"), ("5.0", "--prtemca")])
def test_an_ipv6_network_is_named_by_its_family_and_hosts_by_their_names(version: str, option: str) -> None:
    """4.1 reads neither an IPv6 network nor an IPv6 address with slots."""
    hosts = [Node("gpu01", "2001:db8::11"), Node("gpu02", "2001:db8::12")]
    argv = command(hosts, ["hostname"], "2001:db8::/64", version=version)
    assert argv[argv.index("-H") + 1] == "gpu01:1,gpu02:1" and "2001:db8::/64" not in argv
    assert argv[argv.index("btl_tcp_disable_family") + 1] == "4"
    place = argv.index("oob_tcp_disable_ipv4_family")
    assert argv[place - 1 : place + 2] == [option, "oob_tcp_disable_ipv4_family", "1"]


def test_one_rank_per_host_for_checks() -> None:
    argv = command(HOSTS, ["hostname"], "192.0.2.0/24", slots=1)
    assert argv[argv.index("-np") + 1] == "3"
    assert argv[argv.index("-H") + 1] == "192.0.2.11:1,192.0.2.12:1,192.0.2.13:1"


@pytest.mark.parametrize(("count", "flat"), [(64, False), (65, True)])
def test_workers_never_have_to_start_workers(count: int, flat: bool) -> None:
    many = [Node(f"n{index}", f"198.51.100.{index}") for index in range(1, count + 1)]
    assert ("plm_rsh_no_tree_spawn" in command(many, ["hostname"], "198.51.100.0/24")) is flat


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: nodes([]), "no hosts"),
        (lambda: nodes([{"name": "a"}]), "name and address"),
        (lambda: nodes([{"name": "a", "address": "gpu01.example.com"}]), "not an IP address"),
        (lambda: nodes([{"name": "a", "address": "192.0.2.1", "slots": 0}]), "slots"),
        (lambda: nodes([{"name": "a", "address": "192.0.2.1", "slots": "many"}]), "slots"),
        (lambda: nodes([{"name": "a", "address": "192.0.2.1"}, {"name": "b", "address": "192.0.2.1"}]), "two hosts"),
        (lambda: nodes([{"name": "a", "address": "192.0.2.1"}, {"name": "a", "address": "192.0.2.2"}]), "two hosts"),
        (lambda: command(HOSTS, ["x"], "10.0.0.0/8"), "not in the network"),
        (lambda: command(HOSTS, ["x"], "192.0.2.11/24"), "not a network"),
        (lambda: command(HOSTS, ["x"], "192.0.2.0/24", ranks=5), "only 4 slots"),
        (lambda: command(HOSTS, [], "192.0.2.0/24"), "no program"),
        (lambda: command(HOSTS, ["x"], "192.0.2.0/24", env={"A B": 1}), "environment variable"),
    ],
)  # fmt: skip
def test_what_cannot_run_is_refused_with_the_reason(call: object, words: str) -> None:
    with pytest.raises(RefusedError, match=re.escape(words)):
        call()  # type: ignore[operator]


def test_a_blank_in_the_number_of_slots_does_no_harm() -> None:
    # The guide writes -np "4 ", which Open MPI 4.1.4 refuses.
    assert nodes([{"name": "a", "address": "192.0.2.1", "slots": "4 "}])[0].slots == 4


def recorded(name: str, folder: pathlib.Path = RECORDED) -> tuple[int, str]:
    text, _mark, rc = (folder / f"{name}.txt").read_text().rpartition("rc=")
    return int(rc), text


@pytest.mark.parametrize(
    ("name", "cause", "hosts", "rank"),
    [
        ("orted_missing", "orted_missing", (), None),
        ("ssh_refused", "ssh_refused", ("gpu02",), None),
        ("host_key_unknown", "host_key_unknown", ("gpu02",), None),
        ("host_key_changed", "host_key_changed", ("gpu02",), None),
        ("permission_denied", "permission_denied", ("gpu02",), None),
        ("name_unknown", "name_unknown", ("nosuchhost",), None),
        ("name_unknown_fqdn", "name_unknown", ("nosuchhost.invalid",), None),
        ("docker_down", "docker_down", (), None),
        ("orted_broken", "orted_broken", (), None),
        ("np_with_blank", "mpirun_option", (), None),
        ("slots", "slots", (), None),
        ("run_as_root", "run_as_root", (), None),
        ("program_missing", "program_missing", ("vm",), None),
        ("signal_9", "host_memory", ("gpu02",), 2),
        ("rank_exit_7", "rank_failed", ("gpu02",), 2),
        ("traceback_gpu_memory", "gpu_memory", ("gpu02",), 1),
        ("mpirun_timeout", "timeout_at_start", (), None),
    ],
)
def test_recorded_failures_get_their_cause_and_host(
    name: str, cause: str, hosts: tuple[str, ...], rank: int | None
) -> None:
    rc, text = recorded(name)
    for stdout, stderr in ((text, ""), ("", text)):
        found = diagnose(rc, stdout, stderr, LOOPBACK)
        assert (found.cause, found.hosts, found.rank) == (cause, hosts, rank)
        assert found.remedy in found.message
        assert all(host in found.message for host in hosts)


@pytest.mark.parametrize(
    ("name", "cause", "hosts", "rank"),
    [
        ("rank_exit_7", "rank_failed", ("gpu02",), 1),
        ("program_missing", "program_missing", ("vm",), None),
        ("program_none", "program_missing", ("vm",), None),
        ("signal_9", "host_memory", ("vm",), 0),
        ("ssh_refused", "ssh_refused", ("gpu02",), None),
        ("run_as_root", "run_as_root", (), None),
        ("slots", "slots", (), None),
    ],
)
def test_failures_of_open_mpi_5_get_their_cause_and_host(
    name: str, cause: str, hosts: tuple[str, ...], rank: int | None
) -> None:
    rc, text = recorded(name, RECORDED_5)
    for stdout, stderr in ((text, ""), ("", text)):
        found = diagnose(rc, stdout, stderr, LOOPBACK)
        assert (found.cause, found.hosts, found.rank) == (cause, hosts, rank)


def test_a_daemon_of_open_mpi_5_that_never_reported_is_named_where_ssh_said_nothing() -> None:
    rc, text = recorded("ssh_refused", RECORDED_5)
    text = text[text.index("-----------------------\nA daemon failed") :]
    assert (diagnose(rc, "", text, LOOPBACK).cause, diagnose(rc, "", text, LOOPBACK).hosts) == (
        "ssh_failed",
        ("gpu02",),
    )
    assert diagnose(1, "", text, LOOPBACK).hosts == ("gpu02",)


def test_a_network_that_open_mpi_ignored_is_the_cause_only_where_nothing_else_is_said() -> None:
    _rc, text = recorded("ssh_refused", RECORDED_5)
    warning = text[: text.index("ssh: connect")]
    assert diagnose(1, "", warning, LOOPBACK).cause == "network_ignored"
    assert diagnose(1, "", warning + "CUDA out of memory\n", LOOPBACK).cause == "gpu_memory"


@pytest.mark.parametrize(
    ("rc", "stderr", "cause", "hosts"),
    [
        (255, "ssh: connect to host 192.0.2.12 port 22: Connection timed out\n" + BOX, "ssh_timeout", ("gpu02",)),
        (255, "kex_exchange_identification: read: Connection reset by peer\n" + BOX, "ssh_closed", ()),
        (255, "Connection closed by 192.0.2.12 port 22\n" + BOX, "ssh_closed", ("gpu02",)),
        (255, "ssh: connect to host 192.0.2.12 port 22: No route to host\n" + BOX, "ssh_timeout", ("gpu02",)),
        (
            1,
            "[1,3]<stderr>:RuntimeError: [./gloo/transport/tcp/pair.cc:799] connect [192.0.2.12]:4: Connection timed"
            " out\n"
            + BOX,
            "ranks_unreachable",
            ("gpu02",),
        ),
        (
            1,
            "[1,0]<stdout>:gpu01:1:2 [0] misc/socket.cc:50 NCCL WARN Call to connect to 192.0.2.12<40001> failed : "
            "Connection timed out\n",
            "ranks_unreachable",
            ("gpu02",),
        ),
        (
            1,
            "[1,0]<stdout>:gpu01:1:2 [0] misc/socket.cc:578 NCCL WARN socketPollConnect: connect to 192.0.2.12<40001> "
            "returned No route to host, exceeded error retry count after 35 attempts\n",
            "ranks_unreachable",
            ("gpu02",),
        ),
        (255, "nvidia@192.0.2.13: Permission denied (publickey).\n" + BOX, "permission_denied", ("gpu03",)),
        (255, "Bad owner or permissions on /root/.ssh/config\n" + BOX, "key_file_refused", ()),
        (1, "Error response from daemon: Container 3f2a is not running\n" + BOX, "container_not_running", ()),
        (1, "Error: No such container: mpicont\n" + BOX, "container_missing", ()),
        (1, "Got permission denied while trying to connect to the Docker daemon socket\n", "docker_permission", ()),
        (-1, 'The container "mpicont" has been paused (409: Container 3f is not running)', "container_not_running", ()),
        (-1, 'Could not find container "mpicont"', "container_missing", ()),
        (1, BOX, "daemons", ()),
        (1, "[1,2]<stderr>:RuntimeError: ... Address already in use\n", "port_in_use", ("gpu03",)),
        (1, "[1,3]<stderr>:python3: can't open file '/workspace/x.py': [Errno 2]\n", "program_missing", ("gpu03",)),
        (5, "[1,1]<stderr>:gpu02: no interface has an address in 192.0.2.0/24\n", "interface_missing", ("gpu02",)),
        (124, "Open MPI accepted a TCP connection from what appears to be a\nanother Open MPI", "interfaces", ()),
        (1, "[1,0]<stderr>:gpu01:1:1 [0] misc/socket.cc:1 NCCL WARN Net: connect failed\n", "nccl", ("gpu01",)),
        (1, IB + "from peer 198.51.100.12<6> with error 4, len 0\n", "rdma_protection", ("198.51.100.12", "vm2")),
        (1, IB + "with error 12, opcode 1, len 0, vendor err 129\n", "rdma_retries", ("vm2",)),
        (1, "[1,2]<stdout>:" + IB + "from peer 192.0.2.11<4> with status=12\n", "rdma_retries", ("gpu01", "gpu03")),
        (1, IB + "from peer 192.0.2.11<4> with status=IBV_WC_LOC_PROT_ERR(4)\n", "rdma_protection", ("gpu01", "vm2")),
        (1, "[1,1]<stdout>:gpu02:1:2 [0] a.cc:9 NCCL WARN Cuda failure 2 'out of memory'\n", "gpu_memory", ("gpu02",)),
        (1, " Failed status-transport retry counter exceeded (12): wr_id 0 syndrom 0x81\n", "rdma_retries", ()),
        (1, "ibvwrap.cc:288 NCCL WARN Call to ibv_reg_dmabuf_mr failed with error Operation\n", "dmabuf", ()),
        (1, "[1,1]<stdout>:gpu02: Test NCCL failure common.cu:499 'unhandled error'\n", "nccl_tests", ("gpu02",)),
        (1, "OCI runtime exec failed: exec failed: unable to start container process: x\n", "container_exec", ()),
        (1, " Did not detect devices \n If device exists, check if driver is up\n", "no_rdma_device", ()),
        (127, BOX, "orted_missing", ()),
        (213, BOX, "orted_broken", ()),
        (255, BOX, "ssh_failed", ()),
        (132, "", "program_missing", ()),
        (3, "[1,0]<stderr>:rank 0: the ranks ended with different weights\n", "weights_differ", ("gpu01",)),
        (137, "process rank 1 with PID 27 on node 192.0.2.12 exited on signal 9 (Killed).", "host_memory", ("gpu02",)),
        (139, "process rank 1 with PID 27 on node gpu02 exited on signal 11 (SIGSEGV).", "signal", ("gpu02",)),
        (1, "ORTE has lost communication with a remote daemon.\n  HNP daemon\n", "host_lost", ()),
        (
            205,
            "ORTE has lost communication with a remote daemon.\n\n  HNP daemon   : [[58687,0],0] on node gpu01\n"
            "  Remote daemon: [[58687,0],1] on node 192.0.2.12\n",
            "host_lost",
            ("gpu02",),
        ),
        (1, "[1,1]<stderr>:ValueError: no such layer\n" + LOST_PEERS, "rank_failed", ("gpu02",)),
        (1, LOST_PEERS, "peer_lost", ("gpu02",)),
        (3, "something new", "unknown", ()),
        (1, "[1,0]<stderr>:UserWarning: Failed to initialize NumPy: No module named 'numpy'\n", "unknown", ()),
        (1, "[1,0]<stderr>:ModuleNotFoundError: No module named 'torch'\n", "program_missing", ("gpu01",)),
    ],
)  # fmt: skip
def test_other_failures_get_their_cause_and_host(rc: int, stderr: str, cause: str, hosts: tuple[str, ...]) -> None:
    found = diagnose(rc, "", stderr, HOSTS)
    assert (found.cause, found.hosts) == (cause, hosts)


@pytest.mark.parametrize("rc", [124, 137, 110, 241])
@pytest.mark.parametrize(
    ("stdout", "cause", "hosts"),
    [
        ("", "timeout_at_start", ()),
        ("[1,0]<stdout>:x\n[1,1]<stdout>:x\n[1,2]<stdout>:x\n", "timeout_silent_ranks", ("gpu03",)),
        ("".join(f"[1,{rank}]<stdout>:x\n" for rank in range(4)), "timeout", ()),
    ],
)
def test_a_hang_is_told_apart_by_who_spoke(rc: int, stdout: str, cause: str, hosts: tuple[str, ...]) -> None:
    found = diagnose(rc, stdout, "", HOSTS)
    assert (found.cause, found.hosts) == (cause, hosts)


def test_the_state_of_the_containers_names_the_host_that_the_output_does_not() -> None:
    looked = (Node("gpu01", "192.0.2.11", 1, "running"), Node("gpu02", "192.0.2.12", 1, "exited"))
    refused = "Error response from daemon: Container 3f2a is not running\n"
    assert diagnose(1, "", refused, looked).hosts == ("gpu02",)
    assert diagnose(124, "", "", looked).hosts == ("gpu02",)


def test_a_complete_result_with_a_bad_exit_is_its_own_state() -> None:
    assert diagnose(134, "[1,0]<stdout>:total images/sec: 20.00\n", "").cause == "failed_after_result"


def test_the_generic_box_alone_never_matches_a_specific_cause() -> None:
    _rc, text = recorded("ssh_refused")
    box = text[text.index("ORTE was") :]
    assert [rule.id for rule, sign in rules().items() if any(map(sign.pattern.search, box.splitlines()))] == []


def test_every_cause_is_unique_and_says_what_to_do() -> None:
    causes = [rule.id for rule in rules()]
    assert len(set(causes)) == len(causes)
    assert all(len(rule.remedy) > 15 and not rule.remedy.endswith(".") for rule in rules())


# ------------------------------------------------------------------------------------------------- output of any size

HARMLESS = "".join(
    f"[1,{rank}]<stdout>:{step}\timages/sec: 2100.{rank} +/- 0.5\n" for step in range(50) for rank in range(4)
)


@pytest.mark.parametrize("name", ["ssh_refused", "signal_9", "rank_exit_7", "traceback_gpu_memory", "program_missing"])
@pytest.mark.parametrize("size", [1, 7, 4096])
def test_pieces_of_any_size_give_the_same_diagnosis_as_the_text(name: str, size: int) -> None:
    rc, text = recorded(name)
    data = text.encode()
    parts = [data[at : at + size] for at in range(0, len(data), size)]
    assert diagnose(rc, iter(parts), "", LOOPBACK) == diagnose(rc, text, "", LOOPBACK)


def test_memory_does_not_grow_with_the_output_and_the_cause_is_found_behind_it() -> None:
    rc, text = recorded("signal_9")
    peaks = []
    for repeats in (50, 200):
        pieces = itertools.chain(itertools.repeat(HARMLESS.encode(), repeats), [text.encode()])
        tracemalloc.start()
        found = diagnose(rc, pieces, "", LOOPBACK)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert (found.cause, found.hosts, found.rank) == ("host_memory", ("gpu02",), 2)
    assert len(HARMLESS) * 150 > 1_000_000
    assert peaks[1] < peaks[0] + 50_000 and peaks[1] < 1_000_000


def test_a_cause_that_comes_later_but_stands_higher_in_the_table_wins() -> None:
    refused = "ssh: connect to host 192.0.2.12 port 22: Connection refused\n"
    changed = "Host key for [192.0.2.13]:2222 has changed and you have requested strict checking.\n"
    for text in (refused + changed, changed + refused):
        assert diagnose(255, "", text, HOSTS).cause == "host_key_changed"


@pytest.mark.parametrize("called", ["TRAIN-2", "TRAIN-2.rack1.example", "192.0.2.12", "gpu02"])
def test_host_is_named_as_in_the_inventory_whatever_it_calls_itself(called: str) -> None:
    rows = [{"name": f"gpu0{n}", "address": f"192.0.2.1{n}", "hostname": f"TRAIN-{n}.rack1.example"} for n in (1, 2)]
    text = f"mpirun noticed that process rank 1 with PID 0 on node {called} exited on signal 11 (Segmentation fault).\n"
    assert diagnose(139, "", text, nodes(rows)).hosts == ("gpu02",)


def test_message_names_a_few_of_very_many_hosts() -> None:
    many = nodes([{"name": f"gpu{number:03d}", "address": f"192.0.2.{number}"} for number in range(1, 255)])
    said = "".join(f"root@{host.address}: Permission denied (publickey).\n" for host in many)
    found = diagnose(255, "", said, many)
    assert len(found.hosts) == 254 and "gpu020 and 234 more: " in found.message


def test_every_host_that_a_cause_names_is_told() -> None:
    lines = "".join(f"ssh: connect to host 192.0.2.{n} port 22: Connection refused\n" for n in (13, 12, 13))
    assert diagnose(255, "", lines, HOSTS).hosts == ("gpu02", "gpu03")


@pytest.mark.parametrize("sign", rules().values(), ids=lambda sign: sign.name)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_whatever_matches_a_rule_has_one_of_its_words(sign: Sign, data: st.DataObject) -> None:
    line = data.draw(st.from_regex(sign.pattern, alphabet=st.characters(codec="ascii")))
    assert Index(("it", way) for way in ways_of(sign.text)).possible(letters_of(line)), line


def test_every_rule_has_words_in_lower_case() -> None:
    for sign in rules().values():
        words = [word for way in ways_of(sign.text) for word in way.needs[0]]
        assert words and all(word == word.lower() for word in words)


def test_the_filter_reads_saved_logs(tmp_path: pathlib.Path) -> None:
    rc, text = recorded("ssh_refused")
    saved = tmp_path / "train.err"
    saved.write_text(text)
    hosts = [{"name": node.name, "address": node.address, "slots": node.slots} for node in LOOPBACK]
    told = mpirun_failure({"rc": rc, "stderr_file": str(saved)}, hosts)
    assert told == mpirun_failure({"rc": rc, "stderr": text, "stdout": ""}, hosts)
    assert told["hosts"] == ["gpu02"]
    with pytest.raises(AnsibleFilterError, match="cannot be read"):
        mpirun_failure({"rc": 1, "stdout_file": str(tmp_path / "nothing")})
    assert mpirun_failure({"msg": 'Could not find container "mpicont"'})["cause"] == "container_missing"
