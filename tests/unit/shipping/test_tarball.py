"""The tarball as a user gets it: what is on the list, nothing else, and every link of its documents leads to a file."""

from __future__ import annotations

import fnmatch
import pathlib
import re
import subprocess
import sys
import tarfile

import pytest

from tests.unit.roles.collection import ROOT, load, program

_LINK = re.compile(r"(?:\]\(|\b(?:src|href)=\")(?P<target>[^)\s\"]+)")
_OUTSIDE = re.compile(r"[a-z]+:|#")
BIN = pathlib.Path(sys.executable).parent


TARBALL = program(ROOT / ".ci" / "tarball.py")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("built") / "a folder at home"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, str(ROOT / ".ci" / "tarball.py"), str(folder)],
        capture_output=True, text=True, check=False,
        # The checkout may be another user's: git then asks for its safe.directory.
        env={"PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8", "GIT_CONFIG_COUNT": "1",
             "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    path = pathlib.Path(done.stdout.strip())
    with tarfile.open(path) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # 3.11.4 and later have it
        archive.extractall(folder / "unpacked")
    return path


def unpacked(built: pathlib.Path) -> pathlib.Path:
    return built.parent / "unpacked"


def test_it_holds_what_is_listed_and_nothing_else(built: pathlib.Path) -> None:
    root = unpacked(built)
    files = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    listed = set(TARBALL.shipped(TARBALL.tracked()))
    assert files - {"MANIFEST.json", "FILES.json"} == listed - {"galaxy.yml"}
    packs = [name for name in files if name.startswith("plugins/module_utils/_judge/packs/")]
    assert "plugins/module_utils/_judge/packs/causes/cabling/link_faulty.yml" in packs
    assert {"LICENSE", "requirements.txt", "playbooks/site.yml", "inventories/example/hosts.yml"} <= files


@pytest.mark.parametrize(
    "stray",
    [
        "id_rsa",
        "vault.yml",
        "inventories/mine/hosts.yml",
        "playbooks/notes.txt",
        "plugins/modules/x.py.orig",
        "roles/switch/files/key.pem",
        "reports/x/summary.json",
        "lab/site.py",
        "tests/unit/x.py",
    ],
)
def test_what_merely_lies_about_is_not_on_the_list(stray: str) -> None:
    assert TARBALL.shipped([stray]) == []


def test_an_installation_from_git_leaves_out_the_same() -> None:
    """ansible-galaxy asks build_ignore for every folder on the way, too."""
    patterns = load(ROOT / "galaxy.yml")["build_ignore"]

    def kept(name: str) -> bool:
        parts = pathlib.PurePath(name).parts
        steps = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
        return not any(fnmatch.fnmatch(step, pattern) for step in steps for pattern in patterns)

    tracked = TARBALL.tracked()
    assert [name for name in tracked if kept(name)] == TARBALL.shipped(tracked)


def test_every_pattern_of_the_list_finds_something() -> None:
    tracked = TARBALL.tracked()
    assert [
        each
        for each in TARBALL.SHIPPED
        if each != "docs/*.png" and not any(fnmatch.fnmatchcase(name, each) for name in tracked)
    ] == []


def test_every_link_of_its_documents_leads_to_a_file_in_it(built: pathlib.Path) -> None:
    root = unpacked(built)
    broken, followed = [], 0
    for page in sorted(root.rglob("*.md")):
        # What stands between backquotes is no link.
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
        for match in _LINK.finditer(text):
            if _OUTSIDE.match(match["target"]):
                continue
            followed += 1
            target = (page.parent / match["target"].partition("#")[0]).resolve()
            if not (target.is_relative_to(root.resolve()) and target.exists()):
                broken.append(f"{page.relative_to(root)}: {match['target']}")
    assert broken == []
    assert followed > 200


def test_ansible_builder_takes_the_execution_environment(built: pathlib.Path, tmp_path: pathlib.Path) -> None:
    version = load(ROOT / "galaxy.yml")["version"]
    assert built.name == f"rocemesh-multinode-{version}.tar.gz"
    for path in (built, ROOT / "execution-environment.yml"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    done = subprocess.run(
        [str(BIN / "ansible-builder"), "create"], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    context = tmp_path / "context" / "_build"
    assert (context / built.name).read_bytes() == built.read_bytes()
    assert built.name in (context / "requirements.yml").read_text()
