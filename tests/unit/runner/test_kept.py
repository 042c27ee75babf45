"""What is kept for a test session (tests/kept) is what would be made again: no stand-in, no other source's."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests import kept
from tests.kept.callback import kept_modules

OURS = "ansible_collections.rocemesh.multinode.plugins.modules.rdma_info-ZIP_DEFLATED"


@pytest.mark.parametrize(
    ("archive", "is_kept"),
    [
        ("ansible.modules.command-ZIP_DEFLATED-none", True),
        (OURS, True),
        ("ansible.modules.docker_container_exec-ZIP_DEFLATED", False),  # of a folder library
        ("ansible_collections.community.docker.plugins.modules.docker_container_exec-ZIP_DEFLATED", False),
    ],
)
def test_modules_of_ansible_and_of_this_tree_are_kept_and_stand_ins_are_not(
    archive: str, is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_modules, "_ours_is_played", lambda: True)
    assert kept_modules._kept(archive) is is_kept


def test_another_copy_of_the_collection_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "ansible_collections" / "rocemesh" / "multinode" / "plugins"
    copy.mkdir(parents=True)
    tree = str(kept_modules._OURS.parents[0] / "collections")
    for paths, is_kept in (([str(tmp_path), tree], False), ([tree, str(tmp_path)], True)):
        kept_modules._ours_is_played.cache_clear()
        monkeypatch.setattr(kept_modules.C, "COLLECTIONS_PATHS", paths)
        assert kept_modules._kept(OURS) is is_kept
    kept_modules._ours_is_played.cache_clear()


def test_byte_code_is_kept_by_its_source(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    environment = {**os.environ, kept.FOLDER: str(folder), "PYTHONPATH": str(kept.HERE / "bytecode")}
    count = []
    for name, text in (("one.zip", "said = 1\n"), ("two.zip", "said = 1\n"), ("three.zip", "said = 2\n")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("told.py", text)
        program = f"import sys; sys.path.insert(0, {str(tmp_path / name)!r}); import told; print(told.said)"
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout == text.removeprefix("said = ")
        count.append(len(list(folder.iterdir())))
    assert count == [1, 1, 2]
