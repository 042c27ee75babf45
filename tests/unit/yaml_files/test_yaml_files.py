"""YAML beside the code is a mapping, or refused with the name of its file."""

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils import _yaml_files as yaml_files


@pytest.mark.parametrize(
    "text", ["a: [1\n", "- a\n- b\n", "", "a: 1\n\tb: 2\n", "\x00"], ids=["open", "list", "empty", "tab", "zero"]
)
def test_what_is_no_mapping_is_refused_with_its_file(tmp_path: pathlib.Path, text: str) -> None:
    path = tmp_path / "words.yml"
    path.write_text(text)
    with pytest.raises(yaml_files.PackError, match=r"words\.yml"):
        yaml_files.read(path)


def test_a_file_that_is_missing_or_no_text_is_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "b.yml").write_bytes(b"\xff\xfe\x00")
    for name in ("a.yml", "b.yml"):
        with pytest.raises(yaml_files.PackError, match=name):
            yaml_files.read(tmp_path / name)


def test_a_file_is_read_when_it_is_first_asked(tmp_path: pathlib.Path) -> None:
    found = yaml_files.Beside(str(tmp_path / "code.py"), "words.yml")
    (tmp_path / "words.yml").write_text("a: 1\n")
    assert found["a"] == 1 and found.table == {"a": 1}
    (tmp_path / "words.yml").unlink()
    assert found["a"] == 1


def test_without_pyyaml_the_file_that_needs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_files, "YAML_IMPORT_ERROR", ImportError("No module named 'yaml'"))
    with pytest.raises(ImportError, match=r"words\.yml.*pip install pyyaml"):
        yaml_files.read(pathlib.Path("words.yml"))
