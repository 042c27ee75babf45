"""The folder of a hand-off: written whole, unchanged the second time, and never over somebody else's file."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._handoff.folder import SUMS, Folder, Wanted
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import LayerError, converge

FILES = {
    "job.json": "{}\n",
    "nccl.d/gpu01.env": "NCCL_IB_TC=106\n",
    "nccl.d/gpu02.env": "A=1\n",
    "run.sh": "#!/bin/sh\n",
}


def write(path: Path, files: dict[str, str], check_mode: bool = False) -> dict[str, Any]:
    wanted = Wanted(files)
    return converge(Folder(str(path), wanted), wanted, check_mode)


def contents(path: Path) -> dict[str, str]:
    return {str(one.relative_to(path)): one.read_text() for one in sorted(path.rglob("*")) if one.is_file()}


def test_it_is_written_with_checksums_that_the_usual_tool_takes_and_a_second_run_changes_nothing(
    tmp_path: Path,
) -> None:
    assert write(tmp_path / "out", FILES)["changed"]
    done = subprocess.run(["sha256sum", "--strict", "-c", SUMS], cwd=tmp_path / "out", capture_output=True, check=False)
    assert done.returncode == 0
    assert os.access(tmp_path / "out/run.sh", os.X_OK) and not os.access(tmp_path / "out/job.json", os.X_OK)
    assert not write(tmp_path / "out", FILES)["changed"]


def test_check_mode_shows_every_file_and_writes_none(tmp_path: Path) -> None:
    result = write(tmp_path / "out", FILES, check_mode=True)
    assert result["diff"]["after"][str(tmp_path / "out/job.json")] == "{}\n"
    assert not (tmp_path / "out").exists()


def test_what_the_job_has_no_more_goes_and_strangers_stay(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    (tmp_path / "results").mkdir()
    (tmp_path / "results/train.log").write_text("theirs")
    (tmp_path / "notes.txt").write_text("theirs")
    fewer = {name: text for name, text in FILES.items() if name != "nccl.d/gpu02.env"}
    assert write(tmp_path, fewer)["changed"]
    assert set(contents(tmp_path)) == {*fewer, SUMS, "results/train.log", "notes.txt"}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("listed", [True, False], ids=["edited", "never ours"])
def test_somebody_elses_file_is_not_written_over_and_nothing_else_is_changed(
    tmp_path: Path, name: str, listed: bool
) -> None:
    if listed:
        write(tmp_path, FILES)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(b"edited by hand \xff\n")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(LayerError, match="another user's") as refused:
        write(tmp_path, {key: text + "more\n" for key, text in FILES.items()})
    assert name in str(refused.value) and "run_handoff_dir" in str(refused.value)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_an_edited_file_that_the_job_has_no_more_is_not_removed(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    (tmp_path / "run.sh").write_text("#!/bin/sh\necho mine\n")
    with pytest.raises(LayerError, match=r"run\.sh"):
        write(tmp_path, {"job.json": "{}\n"})


def test_a_run_that_broke_off_before_the_list_was_written_is_finished_by_the_next(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    (tmp_path / SUMS).unlink()
    (tmp_path / "run.sh").unlink()
    assert write(tmp_path, FILES)["changed"]
    assert contents(tmp_path)["run.sh"] == FILES["run.sh"]


@pytest.mark.parametrize("name", ["../job.json", "/etc/nccl.conf", SUMS, "a/b/c", "-rf", ""])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(LayerError):
        Folder(str(tmp_path), Wanted({name: ""}))


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").write_text("{}\n")
    (tmp_path / "out/job.json").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LayerError, match="move it away"):
        write(tmp_path / "out", FILES)


def test_a_list_with_a_strange_line_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / SUMS).write_text("0" * 64 + "  ../../etc/passwd\n")
    with pytest.raises(LayerError, match="no checksum"):
        write(tmp_path, FILES)
