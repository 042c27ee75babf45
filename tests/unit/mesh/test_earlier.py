"""A node that an earlier release, with a broker and an account of its own, has written."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh.state import FILE_HEADER

from tests.unit.mesh.harness import Node

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="the files were root's")
SHAPE: dict[str, Any] = {"transport": "container"}
PROGRAM = "# Copyright: (c) 2026, rocemesh.multinode contributors\n"
RULE = """\
# Managed by rocemesh.multinode (role mesh). Changes made here are overwritten.
Defaults!{directory}/mesh-broker env_keep += "SSH_ORIGINAL_COMMAND SSH_CONNECTION", !requiretty, !use_pty
{account} ALL=(root) NOPASSWD: {directory}/mesh-broker ""
"""


def made_by_an_earlier_release(
    node: Node, account: str = "rocemesh-mesh", directory: str = "/usr/local/libexec/rocemesh"
) -> list[Path]:
    below = node.root / directory.lstrip("/")
    texts = {
        node.root / "etc/sudoers.d/rocemesh-mesh-broker": RULE.format(account=account, directory=directory),
        below / "mesh-broker": "#!/usr/bin/python3 -I\n" + PROGRAM,
        below / "mesh_grammar.py": PROGRAM,
        below / "mesh-broker.json": json.dumps({"container": "mpicont", "docker": ["docker"], "caller": account}),
        node.mesh / "login/.ssh/authorized_keys": FILE_HEADER + '\nrestrict,command="/usr/bin/sudo" ssh-ed25519 AAAA\n',
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True, mode=0o755, exist_ok=True)
        path.write_text(text)
    node.system.accounts[account] = (999, "/etc/rocemesh/mesh/login")
    return list(texts)


def join(node: Node) -> dict[str, Any]:
    return node.run(peers=[node.identity(**SHAPE)], **SHAPE)


@pytest.mark.parametrize(
    ("account", "directory"),
    [("rocemesh-mesh", "/usr/local/libexec/rocemesh"), ("launcher", "/opt/site/broker")],
    ids=["defaults", "named by the rule"],
)
def test_everything_of_the_broker_goes_at_the_next_run(node: Node, account: str, directory: str) -> None:
    paths = made_by_an_earlier_release(node, account, directory)
    made = [operation["description"] for operation in join(node)["operations"]]
    assert not [path for path in paths if path.exists()] and not node.system.accounts
    assert not (node.mesh / "login").exists() and not (node.root / directory.lstrip("/")).exists()
    of_earlier = [text for text in made if text.endswith("of an earlier release")]
    assert "login/.ssh/authorized_keys" in of_earlier[0] and "sudoers.d" in of_earlier[-1]
    assert join(node)["changed"] is False


def test_check_mode_names_it_and_takes_nothing(node: Node) -> None:
    paths = made_by_an_earlier_release(node)
    planned = node.run(check=True, peers=[node.identity(**SHAPE)], **SHAPE)
    assert any("sudoers.d" in operation["description"] for operation in planned["operations"])
    assert all(path.exists() for path in paths) and node.system.accounts


def test_a_launch_keeps_its_account_until_it_is_over(node: Node) -> None:
    paths = made_by_an_earlier_release(node)
    node.system.busy = True
    done = join(node)
    assert [path.name for path in paths if path.exists()] == ["rocemesh-mesh-broker"] and node.system.accounts
    assert any("holds the account rocemesh-mesh" in warning for warning in done["warnings"])
    node.system.busy = False
    join(node)
    assert not paths[0].exists() and not node.system.accounts


def test_absent_takes_it_as_well(node: Node) -> None:
    paths = made_by_an_earlier_release(node)
    node.run(state="absent", **SHAPE)
    assert not [path for path in paths if path.exists()] and not node.system.accounts and not node.mesh.exists()


def test_what_an_interrupted_run_left_is_found_without_the_rule(node: Node) -> None:
    paths = made_by_an_earlier_release(node)
    paths[0].unlink()
    join(node)
    assert not [path for path in paths if path.exists()] and not node.system.accounts


@pytest.mark.parametrize("which", ["rule", "program", "settings", "account", "company"])
def test_files_and_accounts_of_others_stay(node: Node, which: str) -> None:
    rule, program, _grammar, settings, _keys = made_by_an_earlier_release(node)
    other = program.parent / "theirs"
    if which == "rule":
        rule.write_text("ops ALL=(root) NOPASSWD: /usr/bin/true\n")
        kept = [rule]
    elif which == "program":
        program.write_text("#!/bin/sh\n")
        kept = [program]
    elif which == "settings":
        settings.write_text("[]")
        kept = [settings]
    elif which == "company":
        other.write_text("")
        kept = [other]
    else:
        node.system.accounts["rocemesh-mesh"] = (999, "/home/somebody")
        kept = []
    join(node)
    assert all(path.exists() for path in kept)
    assert bool(node.system.accounts) is (which == "account")


def test_a_node_that_never_had_a_broker_is_left_alone(node: Node) -> None:
    (node.root / "usr/local/libexec/rocemesh").mkdir(parents=True)
    made = [operation["description"] for operation in join(node)["operations"]]
    assert not [text for text in made if "earlier" in text]
