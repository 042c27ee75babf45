"""The doctor's answers: healthy outputs, faults, echoes, hosts compared, bad input. Lines are of our own making."""

from __future__ import annotations

import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import zipfile
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor import (
    bundle,
    readers,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.catalogue import catalogue
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.catalogue import layers as owners
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose, evidence_texts, table
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.questions import Question, rank
from ansible_collections.rocemesh.multinode.plugins.module_utils._judge.words import ways_of

from tests.unit.doctor.cases_fresh import FRESH_SOUND
from tests.unit.doctor.cases_systems_b import SYSTEMS_SOUND
from tests.unit.doctor.cases_systems_c import SYSTEMS_C_SOUND
from tests.unit.doctor.cases_systems_d import SYSTEMS_D_SOUND
from tests.unit.doctor.cases_systems_e import SYSTEMS_THIRD_SOUND
from tests.unit.doctor.cases_systems_f import SYSTEMS_LAST_SOUND
from tests.unit.doctor.healthy import OUTPUTS
from tests.unit.doctor.healthy_noise import NOISY
from tests.unit.doctor.healthy_threads import SOUND
from tests.unit.doctor.silent_failures import SOUND_JOBS

ROOT = pathlib.Path(__file__).resolve().parents[3]
READ = set(readers.reader_signs())
XID = "Feb  1 10:00:00 gpu03 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n"


def ask(*lines: str) -> dict[str, Any]:
    return diagnose(None, {"job.log": "\n".join(lines) + "\n"})


def layers(found: dict[str, Any]) -> list[str]:
    return [finding["layer"] for finding in found["findings"]]


HEALTHY = (
    *OUTPUTS,
    *NOISY,
    *SOUND,
    *FRESH_SOUND,
    *SYSTEMS_SOUND,
    *SYSTEMS_C_SOUND,
    *SYSTEMS_D_SOUND,
    *SYSTEMS_THIRD_SOUND,
    *SYSTEMS_LAST_SOUND,
)
HEALTHY_OUTPUTS = 174


# Whole jobs over other links than the sound job's: a figure cannot fit both.
OTHER_LINKS = {
    "perftest",
    "perftest over several queue pairs",
    "perftest over InfiniBand",
    "providers of other makers",
    "nccl-tests 2.13 with 16 ranks",
}
SOUND_JOB = "\n".join(SOUND_JOBS["two hosts"])


@pytest.mark.parametrize(("name", "source", "text"), HEALTHY, ids=[name for name, _source, _text in HEALTHY])
def test_sound_output_alone_and_beside_a_job_is_no_fault(name: str, source: str, text: str) -> None:
    alone, beside = ask(text), ask(text, SOUND_JOB)
    assert (alone["findings"], beside["findings"]) == ([], []), source
    assert alone["verdict"] in ("healthy", "no_fault_seen")
    assert beside["verdict"] == ("cannot_tell" if name in OTHER_LINKS else "healthy"), beside["not_shown"]


def test_so_many_outputs_are_known_to_be_healthy() -> None:
    assert len({text for _name, _source, text in HEALTHY}) == HEALTHY_OUTPUTS >= 60
    assert len({name for name, _source, _text in HEALTHY}) == HEALTHY_OUTPUTS
    assert len(OTHER_LINKS) <= 0.05 * HEALTHY_OUTPUTS


def test_every_rule_names_signs_and_causes_that_exist_and_a_source() -> None:
    signs = {sign.name for sign in catalogue().signs} | READ
    assert len(signs) == len(catalogue().signs) + len(READ)
    for rule in catalogue().rules:
        assert {name for group in rule.needed for name in group} | set(rule.excluded) | set(rule.explains) <= signs
        assert rule.needed
        assert set(rule.causes) <= set(catalogue().causes)
        assert rule.source
    for cause in catalogue().causes.values():
        assert cause.layer in owners()
        assert all((cause.means, cause.where, cause.look, cause.fix, cause.source))


def test_every_cause_is_said_by_a_rule() -> None:
    said = {cause for rule in catalogue().rules for cause in rule.causes} | {
        entry.causes[0] for entry in catalogue().compares
    }
    assert set(catalogue().causes) - said == set()


@pytest.mark.parametrize(
    ("pattern", "ways"),
    [
        (r"abc\d+", [((("abc",),), False)]),
        (r"err [1-9]", [((("err ",),), True)]),
        (r"x[^0-9\n]yes", [((("yes",),), False)]),
        (r"mlx5", [((("mlx",),), True)]),
        (r"quiet \d|loud [1-3]|fast 2", [((("quiet ",),), False), ((("loud ",),), True), ((("fast ",),), True)]),
        (r"(?:down|off|link lost)\b.*[]|x]port (?!7)", [((("port ",), ("down\b", "link lost\b", "off\b")), True)]),
        (r"(?:one)?two\|three", [((("two|three",),), False)]),
        (r"four(?:five|six|7)", [((("four",),), True)]),
        (r"\b(?:p2p|c10d)\b.*slow", [((("slow",), ("\bcd\b", "\bpp\b")), True)]),
    ],
)
def test_each_alternative_has_the_words_that_it_needs(pattern: str, ways: list[Any]) -> None:
    assert [(way.needs, way.digits) for way in ways_of(pattern)] == ways


@pytest.mark.parametrize("pattern", ["(?:abc)?[|]", "four|a[bc]d", r"12345"])
def test_an_alternative_without_a_word_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"a\[bc\]d|12345|abc"):
        ways_of(pattern)


def test_every_pattern_has_words_without_digits() -> None:
    for sign in catalogue().signs:
        for way in ways_of(sign.text):
            words = [word for needed in way.needs for word in needed]
            assert all(word and not any(letter.isdigit() for letter in word) for word in words), sign.name


def test_alternatives_together_are_the_pattern() -> None:
    for sign in catalogue().signs:
        assert "|".join(way.text for way in ways_of(sign.text)) == sign.text


FAULTS = (
    ("gpu_hardware", "faulty", XID),
    (
        "vm_mmio",
        "faulty",
        "vmx| I005: PCIPassthru: total number of pages needed (4206594) exceeds limit (917504), failing",
    ),
    ("mpi_launch", "faulty", "Permissions 0644 for '/root/.ssh/id_ed25519' are too open."),
    ("foreign_traffic", "faulty", "NCCL WARN socketFinalizeAccept: wrong magic 2f20544547202020 != 7970663b906d70b9"),
    ("gpu_driver", "faulty", "Failed to initialize NVML: Driver/library version mismatch"),
    ("gpu_driver", "cannot_tell", "gpu01:1:2 [2] transport/nvls.cc:244 NCCL WARN Cuda failure 1 'invalid argument'"),
    (
        "pcie_acs",
        "cannot_tell",
        "NCCL WARN NET/IB : Got completion from peer 192.0.2.7<3> with error 4, opcode 1, len 0, vendor err 81",
    ),
    ("rdma_gid", "cannot_tell", "NCCL WARN NET/IB : Got async event : GID table change"),
    ("guest_driver", "faulty", "modprobe: ERROR: could not insert 'nvidia_peermem': Invalid argument"),
    ("guest_kernel", "cannot_tell", "# CONFIG_PCI_P2PDMA is not set"),
    (
        "vm_memory",
        "faulty",
        "Invalid memory setting: memory reservation (sched.mem.min) should be equal to memsize(32768).",
    ),
    (
        "container",
        "faulty",
        "NCCL WARN Error while creating shared memory segment /dev/shm/a (size 96), error: No space left on device",
    ),
    (
        "nic_firmware",
        "faulty",
        "mlx5_core 0000:61:00.0: wait_func:1132: CREATE_DCT(0x710) timeout. Will cause a leak of a command resource",
    ),
    ("host_limits", "faulty", "NCCL WARN Call to socket failed : Too many open files"),
    ("cabling", "cannot_tell", "mlx5_core 0000:0b:00.0: Port module event: module 0, Cable unplugged"),
    ("application", "faulty", "Traceback (most recent call last):\nModuleNotFoundError: No module named 'apex'"),
    ("host_routing", "cannot_tell", "  Message:    connect() to 172.17.0.1:1024 failed"),
    ("switch_config", "cannot_tell", "PFC watchdog: storm detected on queue 3 of port Eth1/4"),
    ("rdma_gid", "cannot_tell", "NCCL WARN Call to ibv_modify_qp failed with 61 No data available"),
    ("esxi_host", "cannot_tell", "atsSupport  Bool  TRUE        FALSE    FALSE    Enable PCIe ATS support"),
)


@pytest.mark.parametrize(("layer", "verdict", "text"), FAULTS)
def test_a_fault_is_named_first(layer: str, verdict: str, text: str) -> None:
    found = ask(text)
    assert (layers(found)[0], found["verdict"]) == (layer, verdict)
    first = found["findings"][0]
    assert first["evidence"][0]["file"] == "job.log"
    assert all((first["next"]["run"], first["fix"]["what"], first["fix"]["who"], first["rests_on"]))


def test_a_message_that_several_faults_print_is_never_certain() -> None:
    found = ask("NCCL WARN NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129")
    assert found["verdict"] == "cannot_tell"
    assert set(layers(found)) == {"rdma_gid", "cabling"}
    assert {finding["certainty"] for finding in found["findings"]} == {"candidate"}
    assert found["next"]


def test_two_facts_decide_where_one_does_not() -> None:
    failed = "ibv_reg_mr_iova2 failed with error Cannot allocate memory"
    assert layers(ask(failed, "ulimit -l: 64"))[0] == "host_limits"
    kernel = ask(failed, "CmaTotal: 32768 kB")
    assert layers(kernel)[0] == "guest_kernel"
    assert ask("Failed to initialize NVML: Unknown Error", "systemd[1]: Reloading.")["verdict"] == "faulty"


def test_what_others_say_of_a_failure_is_an_echo() -> None:
    found = ask(
        "gpu01:1:2 [0] NCCL WARN Connection closed by remote peer gpu03<3>",
        "[rank0]: [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3)",
        XID,
    )
    assert (layers(found), found["findings"][0]["host"]) == (["gpu_hardware"], "gpu03")
    assert any("Connection closed by remote peer" in text for text in found["findings"][0]["explains"])


def test_hosts_are_compared_with_each_other() -> None:
    found = diagnose(None, {f"hosts/gpu0{n}/nccl.txt": f"NCCL version 2.{19 + n}.3+cuda12.4\n" for n in (1, 2)})
    assert (found["verdict"], layers(found)) == ("faulty", ["nccl_version"])
    same = diagnose(None, {f"hosts/gpu0{n}/nccl.txt": "NCCL version 2.21.5+cuda12.4\n" for n in (1, 2)})
    assert same["findings"] == []


def test_a_log_that_stops_after_the_bootstrap_asks_for_the_network() -> None:
    found = ask("gpu01:1:1 [0] NCCL INFO Bootstrap : Using ens224:192.0.2.11<0>")
    assert (found["verdict"], found["findings"]) == ("cannot_tell", [])
    assert "nc -vz" in found["next"][0]["run"]


def test_trouble_in_words_that_no_rule_knows_is_shown_and_not_healthy() -> None:
    found = ask("NCCL INFO Connected all rings", "frobnicator: fatal: the widget exploded")
    assert found["verdict"] == "cannot_tell"
    assert found["unknown"][0]["text"] == "frobnicator: fatal: the widget exploded"


def test_a_line_with_two_signs_is_shown_once() -> None:
    found = diagnose(None, {"job.log": XID})
    assert len(found["findings"][0]["evidence"]) > 1 and table(found).count("seen: ") == 1


def test_tables_are_read_over_several_lines() -> None:
    routes = ask(
        "192.0.2.0/24 dev ens224 scope link src 192.0.2.11", "192.0.2.0/24 dev ens225 scope link src 192.0.2.12"
    )
    assert layers(routes)[0] == "host_routing"
    counters = "rx_prio0_bytes: 99121218000", "rx_prio3_bytes: 0"
    assert layers(ask(*counters, "rx_vport_rdma_unicast_bytes: 98121218000"))[0] == "nic_qos"
    assert layers(ask(*counters)) == []  # TCP is in priority 0 everywhere


def look(run: str, cost: int = 1, chance: float = 1.0) -> dict[Question, float]:
    return {Question("x", run, cost): chance}


@pytest.mark.parametrize(
    ("candidates", "looks", "order"),
    [
        ([("a", 1), ("b", 1)], {"a": look("dear", 5), "b": look("cheap", 1)}, ["cheap", "dear"]),
        ([("a", 8), ("b", 1), ("c", 1)], {name: look(name) for name in "abc"}, ["a", "b", "c"]),
        ([("a", 1)], {"a": look("a")}, ["a"]),
        ([("a", 1), ("b", 1), ("c", 2)], {"a": look("both"), "b": look("both"), "c": look("c", 2)}, ["both", "c"]),
        ([("a", 2), ("b", 1), ("c", 2)], {"a": look("seldom", chance=0.3), "b": look("b"), "c": {}}, ["b", "seldom"]),
        ([("a", 1)], {}, []),
    ],
)
def test_the_next_command_splits_best_for_its_cost(candidates: Any, looks: Any, order: list[str]) -> None:
    assert [question.run for question in rank(candidates, looks)] == order


def tar_of(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


def test_an_archive_is_read_in_memory_and_nothing_is_written(tmp_path: pathlib.Path) -> None:
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "bundle.tgz"
    path.write_bytes(tar_of(**{"../../evil.txt": XID.encode(), "hosts/gpu09/dmesg.txt": b"ok\n"}))
    before = sorted(tmp_path.rglob("*"))
    found = diagnose(path)
    assert (found["verdict"], layers(found)) == ("faulty", ["gpu_hardware"])
    assert sorted(tmp_path.rglob("*")) == before
    packed = tmp_path / "in" / "bundle.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("hosts/gpu03/dmesg.txt", XID)
    assert diagnose(packed)["findings"][0]["host"] == "gpu03"


@pytest.mark.parametrize(
    ("data", "note"),
    [
        (b"", "empty"),
        (bytes(range(256)) * 64, "binary"),
        (tar_of(a=os.urandom(1 << 16))[:2000], "broken or cut short"),
        (b"PK\x03\x04 no zip", "broken or cut short"),
        (tar_of(**{"photo.jpg": b"\xff\xd8\x00\x01" * 100}), "binary"),
        (b"x" * (bundle.LINE_LIMIT * 200), "longer than"),
    ],
)
def test_bad_input_is_named_and_never_healthy(tmp_path: pathlib.Path, data: bytes, note: str) -> None:
    path = tmp_path / "unknown"
    path.write_bytes(data)
    found = diagnose(path)
    assert found["verdict"] == "cannot_tell"
    assert any(note in text for text in found["notes"])


def test_what_stands_before_a_cut_is_still_read(tmp_path: pathlib.Path) -> None:
    noise = os.urandom(1 << 18).hex().encode()
    path = tmp_path / "cut.tgz"
    path.write_bytes(tar_of(**{"hosts/gpu03/dmesg.txt": XID.encode(), "z.txt": noise})[:60000])
    assert diagnose(path)["verdict"] == "faulty"


def test_a_line_without_an_end_does_not_fill_the_memory(tmp_path: pathlib.Path) -> None:
    class Endless:
        peek = b"x"

        def __init__(self) -> None:
            self.left = 64

        def read(self, _size: int) -> bytes:
            self.left -= 1
            return b"x" * bundle.CHUNK if self.left else b""

    box = bundle.Bundle(tmp_path)
    kept = list(box._lines("long", Endless(), "utf-8"))  # type: ignore[arg-type]
    assert sum(map(len, kept)) <= bundle.LINE_LIMIT
    assert box.notes


def test_a_link_out_of_the_folder_is_left_alone(tmp_path: pathlib.Path) -> None:
    (tmp_path / "secret").write_text(XID)
    folder = tmp_path / "bundle"
    folder.mkdir()
    (folder / "link.txt").symlink_to(tmp_path / "secret")
    found = diagnose(folder)
    assert (found["findings"], found["read"]) == ([], [])
    assert "a plain file" in found["notes"][0]


@pytest.mark.parametrize(
    ("text", "status"), [(XID, 2), ("ulimit -l unlimited\n", 6), ("total images/sec: 8400.66\n", 0), ("hello\n", 3)]
)
def test_the_command_needs_no_ansible_and_tells_by_its_status(tmp_path: pathlib.Path, text: str, status: int) -> None:
    log = tmp_path / "a.log"
    log.write_text(text)
    done = subprocess.run(
        [sys.executable, str(ROOT / "workloads" / "doctor.py"), str(log), "--json", str(tmp_path / "doctor.json")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (status, "")
    assert json.loads((tmp_path / "doctor.json").read_text())["lines"] == 1


@pytest.mark.parametrize("words", [[], ["a.log", "b.log"], ["--jsn", "x"], ["/no/such.log"]])
def test_a_command_that_is_wrong_does_not_end_as_a_fault(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "workloads" / "doctor.py"), *words], capture_output=True, check=False
    )
    assert done.returncode == 1


def test_what_a_host_said_is_split_per_command() -> None:
    asked = "=== ROCEMESH routes.txt\ndefault\n=== ROCEMESH container/shm.txt\ntmpfs\n"
    given = {
        "gpu02": {"unreachable": True},
        "gpu03": {"said": "", "error": "Missing sudo password"},
        "gpu04": {"said": asked, "since": 0, "error": ""},
        "loose.txt": "text",
    }
    assert evidence_texts(given) == {
        "hosts/gpu04/routes.txt": "default\n",
        "containers/gpu04/shm.txt": "tmpfs\n",
        "hosts/gpu02/answer": "unreachable: did not answer\n",
        "hosts/gpu03/answer": "unreachable: Missing sudo password\n",
        "loose.txt": "text",
    }


def test_program_shows_no_control_characters_of_a_log(tmp_path: pathlib.Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("NET/IB : Got completion from peer 192.0.2.1 with status=12 \x1b]0;title\x07 \x1b[2J opcode=1\n")
    done = subprocess.run(
        [sys.executable, str(ROOT / "workloads" / "doctor.py"), str(log)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert "\\x1b[2J opcode=1" in done.stdout, done.stdout
    assert all(each.isprintable() or each == "\n" for each in done.stdout)


def test_a_remedy_of_a_weaker_rule_is_left_out() -> None:
    """An undefined symbol of NCCL is certain; the internal error that it causes only suggests what to do."""
    symbol = "ImportError: /opt/torch/lib/libtorch_cuda.so: undefined symbol: ncclCommSplit"
    first = ask(f"{symbol}\nncclInternalError: Internal check failed.")["findings"][0]
    assert first["cause"] == "nccl_mixed"
    assert "first WARN line" not in first["fix"]["what"]
