"""Where the vCenter's simulator is built: by this machine's Go, else in an image."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab import config, images


@pytest.fixture
def paths(tmp_path: Path) -> config.Paths:
    return config.Paths(tmp_path)


def test_simulator_is_built_by_go_once_and_again_when_its_sources_changed(
    paths: config.Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources, built = tmp_path / "sources", tmp_path / "built"
    sources.mkdir()
    (sources / "main.go").write_text("package main\n")
    monkeypatch.setitem(images.CONTEXTS, config.VSPHERE_IMAGE, sources)
    monkeypatch.setattr(images, "_go_is_here", lambda: True)
    monkeypatch.setattr(images.simulators, "build_vcenter", lambda: built)
    said = []
    for content in ("one", "one", "two"):
        built.write_text(content)
        (sources / "lab.go").write_text(f"// {content}\n")
        said.append(images.ensure_vsphere(paths))
        assert images.vsphere_binary(paths).read_text() == content
    assert [answer == "already there" for answer in said] == [False, True, False]


def test_simulator_is_built_in_an_image_where_there_is_no_go(
    paths: config.Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(images.shutil, "which", lambda _program: None)
    monkeypatch.setattr(images, "ensure", lambda image: asked.append(image) or "built")
    assert images.ensure_vsphere(paths) == "built" and asked == [config.VSPHERE_IMAGE]
