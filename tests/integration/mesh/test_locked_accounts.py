"""Accounts of an image that are locked (``!`` in ``/etc/shadow``), as ``useradd`` and some distributions leave them.

sshd, shadow files and the role's question to an image are real; the engine is the fleet's stand-in.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

import pytest
import yaml

from tests.integration.mesh.fleet import Node, fleet, missing
from tests.integration.mesh.playing import OURS, ROOT, play

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())
# What the role container leaves root there; it has no right to a file whose mode gives its owner none.
CAPABILITIES = "-all,+audit_write,+ipc_lock,+setgid,+setuid,+sys_chroot"
LOCKED_ROOT = 13


@pytest.fixture(name="node", scope="module")
def fixture_node() -> Iterator[Node]:
    """The server of its container runs with the capabilities of the real one."""
    with fleet(1) as started:
        done = play(started, OURS, "made")
        assert done.returncode == 0, done.stdout[-3000:]
        (node,) = started.nodes
        engine = node.root / "usr/local/bin/docker"
        limited = f'exec setpriv --bounding-set={CAPABILITIES} "$@"\''
        text = engine.read_text()
        assert 'exec "$@"\'' in text
        engine.write_text(text.replace('exec "$@"\'', limited))
        switch = node.root / "etc/nsswitch.conf"
        switch.write_text(re.sub("^shadow:.*", "shadow: files", switch.read_text(), flags=re.MULTILINE))
        node.start_container()
        yield node


def set_password(node: Node, field: str, mode: int) -> None:
    shadow = node.root / "etc/shadow"
    lines = [line for line in shadow.read_text().splitlines() if not line.startswith("root:")]
    shadow.write_text("\n".join([f"root:{field}:19000:0:99999:7:::", *lines]) + "\n")
    shadow.chmod(mode)


def log_in(node: Node) -> subprocess.CompletedProcess[str]:
    return node.in_container(["ssh", node.address, "true"])


def asked(node: Node) -> int:
    """Exit status of what the role runs in an image before it touches the container."""
    (task, *_rest) = yaml.safe_load((ROOT / "roles/container/tasks/start.yml").read_text())
    argv = task["ansible.builtin.command"]["argv"]
    script = argv[argv.index("-c") + 1]
    return node.inside(["setpriv", "--bounding-set=-all", "/bin/sh", "-c", script, "root", "0:0"]).returncode


@pytest.mark.parametrize("field", ["!", "!!", "!*", "!locked"])
def test_locked_root_is_refused_by_sshd_and_named_before(node: Node, field: str) -> None:
    set_password(node, field, 0o640)
    assert log_in(node).returncode == 255
    assert "account is locked" in node.log()
    assert asked(node) == LOCKED_ROOT


@pytest.mark.parametrize(("field", "mode"), [("*", 0o640), ("", 0o640), ("!locked", 0)])
def test_root_without_password_or_unreadable_shadow_gets_in(node: Node, field: str, mode: int) -> None:
    """Root without CAP_DAC_OVERRIDE cannot read a shadow file of mode 0, and sshd then takes it for unlocked."""
    set_password(node, field, mode)
    done = log_in(node)
    assert done.returncode == 0, done.stderr + node.log()
    assert asked(node) == 0


def test_the_answer_for_unreadable_shadow_is_that_of_sshd(node: Node) -> None:
    """Where the name service switch asks systemd as well, root is ``!*`` without the file (libnss-systemd)."""
    switch = node.root / "etc/nsswitch.conf"
    before = switch.read_text()
    switch.write_text(re.sub("^shadow:.*", "shadow: files systemd", before, flags=re.MULTILINE))
    set_password(node, "*", 0)
    assert asked(node) == (LOCKED_ROOT if log_in(node).returncode else 0)
    switch.write_text(before)


def test_the_named_remedy_unlocks_root(node: Node) -> None:
    set_password(node, "!", 0o640)
    assert log_in(node).returncode == 255
    assert node.inside(["usermod", "-p", "*", "root"]).returncode == 0
    assert log_in(node).returncode == 0 and asked(node) == 0
