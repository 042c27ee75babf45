"""What people give a doctor: nothing, rubbish, traps, other people's archives. Nothing is written, nothing grows."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import pathlib
import subprocess
import sys
import tarfile
import zipfile
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor import bundle, readers
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose, unusable

ROOT = pathlib.Path(__file__).resolve().parents[3]
XID = b"[  812.1] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n"
MEMORY = 256 << 10  # KiB


def member(name: str, data: bytes = b"", **fields: Any) -> tuple[tarfile.TarInfo, bytes]:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    for field, value in fields.items():
        setattr(entry, field, value)
    return entry, data


def packed(*members: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
        for entry, data in members:
            archive.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


def given(folder: pathlib.Path, data: bytes, name: str = "given") -> dict[str, Any]:
    """The answer; nothing in the folder or anywhere beside it may have changed."""
    inside = folder / "in"
    inside.mkdir()
    (inside / name).write_bytes(data)
    before = sorted(folder.rglob("*"))
    found = diagnose(inside / name)
    assert sorted(folder.rglob("*")) == before
    return found


def measured(path: pathlib.Path) -> tuple[int, str]:
    """Largest memory in KiB of the command on ``path``, and what it prints."""
    code = (
        "import resource,subprocess,sys;"
        "done=subprocess.run(sys.argv[1:],capture_output=True,text=True);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss);print(done.stdout+done.stderr)"
    )
    words = [sys.executable, "-c", code, sys.executable, str(ROOT / "workloads" / "doctor.py"), str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    most, _newline, said = done.stdout.partition("\n")
    return int(most), said


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (bytes(range(256)) * 64, "binary"),
        (packed(member("a", os.urandom(1 << 16)))[:2000], "broken or cut short"),
        (b"\x1f\x8b" + b"\x00" * 64, "broken or cut short"),
        (b"PK\x03\x04" + b"\x00" * 64, "broken or cut short"),
        (gzip.compress(b""), "empty"),
        (packed(), "binary"),
    ],
    ids=["empty", "binary", "cut", "no gzip", "no zip", "empty gzip", "empty tar"],
)
def test_what_cannot_be_read_is_said_in_the_answer_itself(tmp_path: pathlib.Path, data: bytes, why: str) -> None:
    found = given(tmp_path, data)
    assert (found["verdict"], found["findings"]) == ("cannot_tell", [])
    assert why in found["message"]
    assert "What to do: give a log" in found["message"]


@pytest.mark.parametrize("name", ["../../evil", "/etc/evil", "a/../../evil", "evil\x1b[31m\n"])
def test_a_path_out_of_an_archive_is_a_name_and_nothing_else(tmp_path: pathlib.Path, name: str) -> None:
    found = given(tmp_path, packed(member(name, XID)))
    assert found["findings"][0]["cause"] == "gpu_fault"
    assert all(piece.isprintable() for piece in found["read"])
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(name, XID)
    (tmp_path / "zip").mkdir()
    assert given(tmp_path / "zip", stream.getvalue())["findings"][0]["cause"] == "gpu_fault"
    assert not pathlib.Path("/etc/evil").exists()


def test_a_broken_member_of_a_zip_costs_itself_alone(tmp_path: pathlib.Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("hosts/gpu01/a.txt", "".join(f"line {number}\n" for number in range(2000)))
        archive.writestr("hosts/gpu02/dmesg.txt", XID)
    data = bytearray(stream.getvalue())
    data[60:64] = b"\xff\xff\xff\xff"
    found = given(tmp_path, bytes(data))
    assert found["findings"][0]["cause"] == "gpu_fault" and found["read"] == ["hosts/gpu02/dmesg.txt"]
    assert any(note.startswith("hosts/gpu01/a.txt: broken") for note in found["notes"])


def test_a_long_table_hides_no_line_of_another_form() -> None:
    row = "mlx5_{0}\t1\t{1}\tfe80:0000:0000:0000:0000:0000:0000:0001\t\tv2\tens{0}"
    table = [row.format(number, number % 8) for number in range(5000)]
    found = set()
    for make in readers.READERS:
        reader = make()
        for number, line in enumerate([*table, "NCCL INFO NCCL_IB_GID_INDEX set by environment to 3."]):
            reader.line(number, line)
        found |= {each.sign for each in reader.result()}
    assert "gid_chosen_link_local" in found


KINDS = (
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    tarfile.CHRTYPE,
    tarfile.BLKTYPE,
    tarfile.FIFOTYPE,
    tarfile.GNUTYPE_SPARSE,
)


@pytest.mark.parametrize("kind", KINDS)
def test_links_and_devices_of_an_archive_are_left_out(tmp_path: pathlib.Path, kind: bytes) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(XID)
    trap = member("trap.log", type=kind, linkname=str(secret), devmajor=1, devminor=5)
    found = given(tmp_path, packed(trap, member("ok.log", b"ulimit -l: unlimited\n")))
    assert (found["verdict"], found["read"]) == ("no_fault_seen", ["ok.log"])
    assert found["notes"] == ["given:trap.log: not a plain file, left out"]


def test_links_pipes_and_devices_of_a_folder_are_left_out(tmp_path: pathlib.Path) -> None:
    (tmp_path / "secret").write_bytes(XID)
    folder = tmp_path / "bundle"
    folder.mkdir()
    (folder / "link.log").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / "pipe.log")
    (folder / "zero.log").symlink_to("/dev/zero")
    (folder / os.fsdecode(b"\xff\x1b.log")).write_bytes(b"ulimit -l: unlimited\n")
    found = diagnose(folder)
    assert (found["verdict"], found["read"]) == ("no_fault_seen", ["??.log"])
    assert len(found["notes"]) == 3


@pytest.mark.parametrize("kind", ["gzip", "xz", "zip", "tar"])
def test_a_bomb_is_left_when_it_has_grown_out_of_proportion(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(bundle, "ROOM", 1 << 20)
    monkeypatch.setattr(bundle, "RATIO", 50)
    text = b"quiet line\n" * (8 << 20 >> 3)
    if kind == "zip":
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.log", XID)
            archive.writestr("b.log", text)
        data = stream.getvalue()
    elif kind == "tar":
        # What it hides is no text: it has to be unpacked nevertheless, to get behind it.
        data = packed(member("a.log", XID), member("b.bin", b"\0" * (16 << 20)), member("c.log", XID))
    else:
        data = (gzip.compress if kind == "gzip" else lzma.compress)(XID + text)
    found = given(tmp_path, data)
    assert found["findings"][0]["cause"] == "gpu_fault", "what stands before it is read"
    assert any("more than 50 times" in note for note in found["notes"])
    assert found["bytes"] < 4 << 20


def test_a_log_that_packs_well_is_no_bomb(tmp_path: pathlib.Path) -> None:
    found = given(tmp_path, gzip.compress(b"ulimit -l: unlimited\n" * 200_000))
    assert (found["verdict"], found["bytes"]) == ("no_fault_seen", 21 * 200_000)


def test_a_header_of_a_gigabyte_is_no_name(tmp_path: pathlib.Path) -> None:
    name = tarfile.TarInfo("././@LongLink")
    name.type, name.size = tarfile.GNUTYPE_LONGNAME, 1 << 30
    head = packed(member("a.log", XID), mode="w")[:1024]
    found = given(tmp_path, head + name.tobuf(tarfile.GNU_FORMAT) + b"\0" * (1 << 20))
    assert found["findings"][0]["cause"] == "gpu_fault"
    assert any("a header of 1073741824 bytes" in note for note in found["notes"])


def test_an_archive_of_countless_members_ends(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MEMBERS", 50)
    found = given(tmp_path, packed(*(member(f"{number}.log") for number in range(80)), member("z.log", XID)))
    assert found["findings"] == []
    assert any("more than 50 members" in note for note in found["notes"])
    assert len(found["notes"]) <= 200


def test_an_archive_in_archives_is_read_twice_deep_and_no_deeper(tmp_path: pathlib.Path) -> None:
    inner = packed(member("dmesg", XID))
    found = given(tmp_path, packed(member("in.tgz", inner)))
    assert found["findings"][0]["cause"] == "gpu_fault"
    deep = inner
    for _level in range(4):
        deep = packed(member("in.tgz", deep))
    (tmp_path / "deep").mkdir()
    found = given(tmp_path / "deep", deep)
    assert "archive within archives" in found["message"]


def test_a_line_of_ten_gigabytes_takes_no_memory(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "long.log"
    with path.open("wb") as stream:
        stream.write(XID + b"x" * 65536)
        stream.truncate(10 << 30)  # a hole: it costs no disk
    most, said = measured(path)
    assert most < MEMORY
    assert "gpu_fault" in said
    assert "more than 64 MiB" in said


def test_other_people_s_archives(tmp_path: pathlib.Path) -> None:
    sos = "sosreport-gpu07-2026-02-01-abcdefg/"
    report = packed(
        member(sos + "sos_logs/sos.log", b"2026-02-01 10:00:00,000 INFO: [plugin:networking] collecting\n"),
        member(sos + "lspci", type=tarfile.SYMTYPE, linkname="sos_commands/pci/lspci"),
        member(sos + "proc/kcore", b"\x7fELF" + b"\0" * 4096),
        member(sos + "sos_commands/kernel/dmesg", XID),
        mode="w:xz",
    )
    found = given(tmp_path, report, "sosreport.tar.xz")
    assert found["findings"][0]["evidence"][0]["file"] == sos + "sos_commands/kernel/dmesg"
    bug = b"Start of NVIDIA bug report log file.\n____________________________________________\n\n*** dmesg\n" + XID
    (tmp_path / "bug").mkdir()
    found = given(tmp_path / "bug", gzip.compress(bug + b"\x00\x01" * 8), "nvidia-bug-report.log.gz")
    assert found["findings"][0]["evidence"][0]["line"] == 5
    window = b"vmx - PCIPassthru: total number of pages needed (4206594) exceeds limit (917504), failing\n"
    support = packed(
        member("esx-esx01-2026/var/run/log/vmkernel.1.gz", gzip.compress(b"cpu1: boot done\n")),
        member("esx-esx01-2026/vmfs/volumes/1/gpu01/vmware.log", window),
        member("esx-esx01-2026/var/core/vmkernel-zdump.1", b"\0" * 4096),
    )
    (tmp_path / "vm").mkdir()
    found = given(tmp_path / "vm", support, "vm-support.tgz")
    assert found["findings"][0]["cause"] == "mmio_window"
    assert "esx-esx01-2026/var/run/log/vmkernel.1.gz" in found["read"]


def test_zeros_that_a_crash_left_between_lines_make_no_binary(tmp_path: pathlib.Path) -> None:
    found = given(tmp_path, b"[  811.0] all is well\n" * 100 + b"\0" * 512 + XID)
    assert found["findings"][0]["cause"] == "gpu_fault"


def test_an_empty_folder_is_said_to_be_one(tmp_path: pathlib.Path) -> None:
    assert "nothing in it" in diagnose(tmp_path)["message"]


def test_text_of_another_coding_is_read(tmp_path: pathlib.Path) -> None:
    assert given(tmp_path, XID.decode().encode("utf-16"))["findings"][0]["cause"] == "gpu_fault"


def test_the_command_names_what_it_could_not_read(tmp_path: pathlib.Path) -> None:
    path = tmp_path / os.fsdecode(b"photo\xff.jpg")
    path.write_bytes(b"\xff\xd8\x00\x01" * 100)
    _most, said = measured(path)
    assert "binary, left out" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("error", "options", "said"),
    [
        (FileNotFoundError(2, "No such file", "/a"), {"bundle": "/a", "dest": "/b"}, "bundle '/a': No such file"),
        (
            PermissionError(13, "Permission denied", "/b"),
            {"bundle": "/a", "dest": "/b"},
            "dest '/b': Permission denied",
        ),
        (OSError(28, "No space left on device"), {"bundle": "/a", "dest": "/b"}, "dest '/b': No space left"),
        (OSError(5, "Input/output error"), {"bundle": "/a", "dest": None}, "bundle '/a': Input/output error"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_with_its_option(error: OSError, options: dict[str, Any], said: str) -> None:
    message = unusable("doctor", error, options)
    assert message.startswith(f"doctor: {said}")
    assert "What to do: " in message


def test_a_line_of_a_rank_that_breaks_off_before_its_colon_is_read(tmp_path: pathlib.Path) -> None:
    found = given(tmp_path, b"[1,0]<stdout NCCL INFO 100 images/sec\n[1,1]<stdout>: " + XID)
    assert (found["verdict"], found["lines"]) == ("faulty", 2)
