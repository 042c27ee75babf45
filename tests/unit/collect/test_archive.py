"""The archive: the same bytes of the same material, for the owner alone, with its list, never over a file."""

from __future__ import annotations

import hashlib
import json
import pathlib
import tarfile

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._collect import archive

TEXTS = {
    "hosts/gpu01/dmesg.txt": "Feb  1 10:00:00 gpu01 kernel: 192.0.2.11 up\n",
    "hosts/gpu02/dmesg.txt": "Feb  1 10:00:00 gpu02 kernel: peer gpu01 192.0.2.11\n",
}


def made(texts: dict[str, str]) -> archive.Redacted:
    return archive.redacted(archive.Pieces(texts), [], [])


def test_the_same_material_makes_the_same_bytes() -> None:
    assert archive.packed(made(TEXTS)) == archive.packed(made(dict(TEXTS)))
    assert archive.packed(made(TEXTS)) != archive.packed(made({**TEXTS, "x": "y"}))


def test_a_host_that_only_the_name_of_a_piece_tells_is_replaced_there() -> None:
    names = ["sosreport-gpu07-2024-01-31-abcdef/dmesg", "logs/gpu08/dmesg.txt", "gpu09-ibstat.log"]
    found = made(dict.fromkeys(names, "NVRM: loaded\n"))
    assert list(found.texts) == [
        "sosreport-host-1-2024-01-31-abcdef/dmesg",
        "logs/host-2/dmesg.txt",
        "host-3-ibstat.log",
    ]


def test_it_is_for_the_owner_and_its_list_is_right(tmp_path: pathlib.Path) -> None:
    found = made(TEXTS)
    archive.write(archive.packed(found), tmp_path / "a.tar.gz")
    assert (tmp_path / "a.tar.gz").stat().st_mode & 0o777 == 0o600
    with tarfile.open(tmp_path / "a.tar.gz") as packed:
        members = {member.name: packed.extractfile(member).read() for member in packed}  # type: ignore[union-attr]
        assert {(member.mode, member.mtime, member.uname) for member in packed} == {(0o600, 0, "")}
    listed = json.loads(members.pop(archive.MANIFEST))
    assert (listed["format"], listed["redacted"]) == (1, True)
    assert (
        [row["name"] for row in listed["pieces"]]
        == list(members)
        == ["hosts/host-1/dmesg.txt", "hosts/host-2/dmesg.txt"]
    )
    assert [row["sha256"] for row in listed["pieces"]] == [
        hashlib.sha256(data).hexdigest() for data in members.values()
    ]
    assert b"host-1" in members["hosts/host-2/dmesg.txt"] and b"gpu0" not in b"".join(members.values())
    assert listed["stand_ins"] == {"address": 1, "host": 2, "network": 1}
    assert "2 pieces" in archive.table(found, "a.tar.gz")[0] and "2 hosts" in archive.table(found, "a.tar.gz")[1]


@pytest.mark.parametrize("kind", ["file", "link", "dangling"])
def test_what_is_there_is_never_overwritten(tmp_path: pathlib.Path, kind: str) -> None:
    path, other = tmp_path / "a.tar.gz", tmp_path / "other"
    if kind == "file":
        path.write_text("mine")
    else:
        path.symlink_to(other)
        if kind == "link":
            other.write_text("mine")
    with pytest.raises(ValueError, match="What to do"):
        archive.write(b"x", path)
    assert (path if kind == "file" else other).exists() == (kind != "dangling")
    if kind != "dangling":
        assert path.read_text() == "mine"


def test_a_folder_of_logs_is_read_and_an_archive_of_ours_again(tmp_path: pathlib.Path) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "out.log").write_text("gpu01:1:2 [0] NCCL INFO Using 192.0.2.1\n")
    first = archive.redacted(archive.of_folder(tmp_path / "job"), [], [])
    archive.write(archive.packed(first), tmp_path / "a.tar.gz")
    again = archive.of_folder(tmp_path / "a.tar.gz")
    assert list(again.texts) == ["out.log"]


@pytest.mark.parametrize("kind", ["file", "dangling", "no folder", "folder is a file"])
def test_a_place_that_cannot_be_written_is_told_before_anything_is_read(tmp_path: pathlib.Path, kind: str) -> None:
    path = tmp_path / "there" / "a.tar.gz"
    archive.check_free(tmp_path / "a.tar.gz")
    if kind == "folder is a file":
        path.parent.write_text("")
    elif kind != "no folder":
        path.parent.mkdir()
        path.symlink_to("nowhere") if kind == "dangling" else path.write_text("")
    with pytest.raises(FileNotFoundError if "folder" in kind else ValueError) as caught:
        archive.check_free(path)
    assert str(path.parent) in str(caught.value)


def test_what_was_not_written_is_not_said_to_be_there() -> None:
    first = archive.table(made(TEXTS), "a.tar.gz", written=False)[0]
    assert "would hold 2 pieces" in first and "Nothing was written" in first


def test_bytes_that_are_not_utf_8_are_no_reason_to_fail() -> None:
    odd = b"caf\xe9".decode("utf-8", "surrogateescape")
    found = archive.redacted(
        archive.Pieces({f"job/{odd}.log": f"{odd} up\n", "job/caf?.log": "x"}, [odd]), [odd], [odd]
    )
    assert list(found.texts) == ["job/[secret-1].log", "job/[secret-1].log.2"] and found.notes == ["[secret-1]"]
    assert archive.packed(found) and "\n".join(archive.table(found, "a.tar.gz")).encode()


def test_pieces_of_one_name_stay_two() -> None:
    # Without what each is about they would be one.
    found = made({"job/a.10.0.0.1.log": "x", "job/a.10.0.0.1.log.2": "y"})
    assert len(found.texts) == 2


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("../../../etc/x", "etc/x"),
        ("/var/log/run.log", "var/log/run.log"),
        ("a/./b//c.log", "a/b/c.log"),
        ("..", "unnamed"),
    ],
)
def test_member_stays_where_the_archive_is_unpacked(given: str, written: str) -> None:
    found = archive.redacted(archive.Pieces({given: "a line"}, []), [], [])
    assert list(found.texts) == [written]
