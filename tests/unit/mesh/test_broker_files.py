# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The broker is installed whole, before a key leads to it, as root's, and never over what is not a file."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ApplyError, RefusedError, converge
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh import broker
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh.layer import MeshNode
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh.state import Account, FileState, parse_wanted
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh.transport import NodeTransport

from tests.unit.mesh.harness import DEFAULTS, Node

RAW: dict[str, Any] = {
    "directory": "/usr/local/libexec/rocemesh",
    "program": "#!/usr/bin/python3\nprint()",
    "grammar": "LONGEST = 1",
    "settings": {"container": "mpicont", "prefixes": ["/usr"]},
    "caller": "rocemesh-mesh",
}
COMMAND = ["/usr/bin/sudo", "-n", "/usr/local/libexec/rocemesh/mesh-broker"]
as_root = pytest.mark.skipif(os.getuid() != 0, reason="the files have to belong to root")


class Machine:
    """A node whose root directory is a temporary directory."""

    def __init__(self, folder: Path, visudo: str = "#!/bin/sh\nexit 0\n") -> None:
        self.root = folder / "machine"
        for directory in ("usr/bin", "usr/local", "etc/sudoers.d"):
            (self.root / directory).mkdir(parents=True)
        (self.root / "usr/bin/sudo").touch()
        (folder / "visudo").write_text(visudo)
        (folder / "visudo").chmod(0o755)
        (folder / "home").mkdir()
        (folder / "etc").mkdir()
        (folder / "etc/ssh_host_ed25519_key.pub").write_text(
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8cBvDVhR6KpQdRVt1rEm8Hqv3zFf6o3lDgGzqB9xwB\n"
        )
        self.node = Node("gpu01", 1, folder / "home", folder / "etc")
        self.node.root = self.root
        self.node.system = NodeTransport("gpu01", Account("root", 0, 0, str(self.root)))

    def run(self, check: bool = False, raw: dict[str, Any] | None = None) -> dict[str, Any]:
        node = self.node
        identity = node.identity()
        params = {**DEFAULTS, "name": "gpu01", "peers": [identity], "forced_command": COMMAND}
        wanted = parse_wanted(params, host="gpu01", user="nvidia", planning=check)
        wanted = dataclasses.replace(wanted, broker=broker.parse(raw or RAW, host="gpu01"))
        layer = MeshNode("gpu01", node.transport, node.account, wanted, os.geteuid(), system=node.system)
        return converge(layer, wanted, check_mode=check)

    def files(self) -> dict[str, tuple[int, str]]:
        found = (
            path for path in self.root.rglob("*") if path.is_file() and re.search("mesh.(broker|grammar)", path.name)
        )
        return {str(p.relative_to(self.root)): (p.stat().st_mode & 0o7777, p.read_text()) for p in sorted(found)}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(broker, "VISUDO", str(tmp_path / "visudo"))
    return Machine(tmp_path)


@as_root
def test_one_call_installs_everything_and_the_second_changes_nothing(machine: Machine) -> None:
    first = machine.run()
    assert machine.files() == {
        "etc/sudoers.d/rocemesh-mesh-broker": (0o440, broker.parse(RAW, host="gpu01").sudoers),
        "usr/local/libexec/rocemesh/mesh-broker": (0o755, RAW["program"] + "\n"),
        "usr/local/libexec/rocemesh/mesh_grammar.py": (0o644, RAW["grammar"] + "\n"),
        "usr/local/libexec/rocemesh/mesh-broker.json": (
            0o644,
            json.dumps({**RAW["settings"], "caller": RAW["caller"]}, indent=4, sort_keys=True) + "\n",
        ),
    }
    assert (machine.root / "usr/local/libexec/rocemesh").stat().st_mode & 0o7777 == 0o755
    descriptions = [operation["description"] for operation in first["operations"]]
    keys = next(number for number, text in enumerate(descriptions) if "authorise the keys" in text)
    assert max(number for number, text in enumerate(descriptions) if "rocemesh" in text and "broker" in text) < keys
    assert machine.run()["changed"] is False


def test_the_rule_names_the_caller_and_one_call_without_arguments() -> None:
    found = broker.parse(RAW, host="gpu01")
    assert found is not None and found.call == COMMAND
    rules = [line for line in found.sudoers.splitlines() if not line.startswith(("#", "Defaults!"))]
    assert rules == [f'rocemesh-mesh ALL=(root) NOPASSWD: {COMMAND[-1]} ""']
    assert json.loads(found.settings)["caller"] == "rocemesh-mesh"


@pytest.mark.parametrize("caller", ["ALL, root", "%docker", "a b", "x\\ny"])
def test_a_caller_that_would_be_more_than_one_account_is_refused(caller: str) -> None:
    with pytest.raises(RefusedError):
        broker.parse({**RAW, "caller": caller}, host="gpu01")


@as_root
def test_a_new_program_is_shown_by_its_digest_and_a_changed_one_line_by_line(machine: Machine) -> None:
    path = "/usr/local/libexec/rocemesh/mesh-broker"
    assert "sha256:" in machine.run()["diff"]["after"][path]
    (machine.root / path[1:]).write_text("#!/bin/sh\nexec sh\n")
    changed = machine.run()["diff"]
    assert changed["before"][path] == ["#!/bin/sh", "exec sh"]
    assert changed["after"][path] == RAW["program"].splitlines()


@as_root
def test_check_mode_says_all_of_it_and_writes_nothing(machine: Machine) -> None:
    machine.node.identity()
    planned = machine.run(check=True)
    assert planned["changed"] and machine.files() == {}
    assert [operation["description"] for operation in planned["operations"]] == [
        operation["description"] for operation in machine.run()["operations"]
    ]


@as_root
def test_what_others_changed_is_put_right(machine: Machine) -> None:
    machine.run()
    before = machine.files()
    directory = machine.root / "usr/local/libexec/rocemesh"
    (directory / "mesh-broker").write_text('#!/bin/sh\nexec sh -c "$SSH_ORIGINAL_COMMAND"\n')
    (directory / "mesh-broker.json").chmod(0o666)
    directory.chmod(0o777)
    os.chown(machine.root / "etc/sudoers.d/rocemesh-mesh-broker", 65534, 65534)
    assert machine.run()["changed"]
    assert machine.files() == before and directory.stat().st_mode & 0o7777 == 0o755
    assert (machine.root / "etc/sudoers.d/rocemesh-mesh-broker").stat().st_uid == 0


@as_root
def test_a_rule_that_visudo_refuses_never_takes_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "VISUDO", str(tmp_path / "visudo"))
    machine = Machine(tmp_path, '#!/bin/sh\ntest -s "$2" || exit 3\necho "syntax error near line 1" >&2\nexit 1\n')
    with pytest.raises(ApplyError, match="syntax error near line 1"):
        machine.run()
    assert list((machine.root / "etc/sudoers.d").iterdir()) == []
    assert not (machine.node.ssh / "authorized_keys").exists(), "a key leads to a broker that cannot be started"


def test_a_node_without_sudo_is_refused_before_anything_is_written(machine: Machine) -> None:
    (machine.root / "usr/bin/sudo").unlink()
    with pytest.raises(RefusedError, match="sudoers rule; nothing was changed"):
        machine.run()
    assert machine.files() == {} and not (machine.node.ssh / "authorized_keys").exists()


@as_root
def test_without_a_rule_sudo_is_not_asked_for(machine: Machine) -> None:
    (machine.root / "usr/bin/sudo").unlink()
    machine.run(raw={**RAW, "caller": ""})
    assert not (machine.root / "etc/sudoers.d/rocemesh-mesh-broker").exists()


@pytest.mark.parametrize("path", ["usr/local/libexec/rocemesh/mesh-broker", "usr/local/libexec/rocemesh"])
def test_links_are_not_followed(machine: Machine, tmp_path: Path, path: str) -> None:
    target = machine.root / path
    target.parent.mkdir(parents=True)
    (tmp_path / "victim").mkdir()
    target.symlink_to(tmp_path / "victim")
    with pytest.raises(RefusedError, match="symlink"):
        machine.run()
    assert list((tmp_path / "victim").iterdir()) == []


@pytest.mark.parametrize("directory", ["relative", "/", "/usr/../tmp"])
def test_odd_directories_are_refused(directory: str) -> None:
    with pytest.raises(RefusedError, match="absolute path"):
        broker.parse({**RAW, "directory": directory}, host="gpu01")


def test_only_root_can_arrange_it() -> None:
    wanted = broker.parse(RAW, host="gpu01")
    assert wanted is not None
    with pytest.raises(RefusedError, match="has to belong to root"):
        broker.plan(wanted, {broker.SUDO: FileState(broker.SUDO, "file")}, host="gpu01", effective_uid=1000)
