"""Files that an ordinary user must not be able to lead elsewhere, and files that belong to others."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ApplyError, RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh.state import Account

from tests.unit.mesh.harness import Node

as_root = pytest.mark.skipif(os.getuid() != 0, reason="an account and root's files need root")


def lines(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if line and not line.startswith("#")]


def joined(node: Node) -> dict[str, Any]:
    shape = {"transport": "container"}
    return node.run(peers=[node.identity(**shape)], **shape)


@as_root
def test_everything_that_the_container_mounts_is_roots(node: Node) -> None:
    node.account = Account("nvidia", 12345, 12345, str(node.home))
    os.chown(node.home, 12345, 12345)
    joined(node)
    found = [node.root / "etc", *(node.root / "etc").rglob("*")]
    assert len(found) > 10
    assert all(path.lstat().st_uid == 0 and not path.lstat().st_mode & 0o022 for path in found)


def test_home_on_nfs_that_root_may_not_read_is_no_hindrance(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transport `container` has nothing in the user's home; the guide's way has, and says what it cannot do."""
    opened = os.open

    def squashed(path: Any, *arguments: Any, **named: Any) -> int:
        if path == str(node.home):
            raise PermissionError(13, "Permission denied")
        return opened(path, *arguments, **named)

    monkeypatch.setattr(os, "open", squashed)
    assert joined(node)["changed"] is True
    assert joined(node)["changed"] is False
    with pytest.raises(ApplyError, match="Permission denied"):
        node.identity()


# ----------------------------------------------------------------------------------------------- where names can be led


@as_root
@pytest.mark.parametrize("which", ["etc/rocemesh", "etc/rocemesh/mesh", "etc/rocemesh/mesh/container", "etc"])
@pytest.mark.parametrize("how", ["link", "writable", "owner"])
def test_a_directory_that_somebody_could_exchange_is_refused(node: Node, tmp_path: Path, which: str, how: str) -> None:
    joined(node)
    place = node.root / which
    if how == "link":
        place.rename(tmp_path / "elsewhere")
        place.symlink_to(tmp_path / "elsewhere")
    elif how == "writable":
        place.chmod(0o777)
    else:
        os.chown(place, 12345, 12345)
    before = node.snapshot()
    with pytest.raises(RefusedError, match=r"symbolic link|written by others|belongs to uid 12345"):
        joined(node)
    assert node.snapshot() == before


@as_root
def test_a_public_key_cannot_be_led_out_of_the_users_directory_while_it_is_made(
    make_node: Callable[..., Node], tmp_path: Path
) -> None:
    """The user watches ~/.ssh and puts a link in the place of every name that appears there. With a key pair made by
    ssh-keygen in that directory, the public half of the user's own key would end up in root's authorized_keys."""
    victim = tmp_path / "root-ssh"
    victim.mkdir(mode=0o700)
    node = make_node()
    node.ssh.mkdir(mode=0o700)
    ended = threading.Event()
    seen: set[str] = set()

    def user() -> None:
        while not ended.is_set():
            for name in os.listdir(node.ssh):
                if name not in seen and not name.endswith(".pub"):
                    seen.add(name)
                    with contextlib.suppress(FileExistsError):
                        os.symlink(victim / "authorized_keys", node.ssh / f"{name}.pub")

    watching = threading.Thread(target=user)
    watching.start()
    try:
        for _attempt in range(5):
            with contextlib.suppress(RefusedError, ApplyError):
                node.run(state="identity")
            for path in node.ssh.iterdir():
                path.unlink()
    finally:
        ended.set()
        watching.join()
    assert seen, "nobody watched"
    assert list(victim.iterdir()) == []


@as_root
def test_another_name_of_a_foreign_file_is_not_given_away(node: Node, tmp_path: Path) -> None:
    """Hard links: where the kernel lets users make them, a mode that is put right would change the foreign file."""
    node.identity()
    secret = tmp_path / "secret"
    secret.write_text("root's")
    secret.chmod(0o600)
    target = node.ssh / "id_ed25519_host"
    kept = target.read_bytes()
    target.unlink()
    secret.write_bytes(kept)
    os.link(secret, target)
    secret.chmod(0o644)
    with pytest.raises(ApplyError, match="2 names"):
        node.identity()
    assert secret.stat().st_mode & 0o777 == 0o644


def test_a_setuid_bit_of_the_users_file_is_not_handed_on(node: Node) -> None:
    peers = [node.identity()]
    (node.ssh / "authorized_keys").write_text("ssh-ed25519 AAAA me\n")
    (node.ssh / "authorized_keys").chmod(0o4755)
    node.run(peers=peers)
    assert (node.ssh / "authorized_keys").stat().st_mode & 0o7777 == 0o755


# --------------------------------------------------------------------------------------------------------- empty files


@pytest.mark.parametrize("name", ["id_ed25519_host", "container/id_ed25519_cont"])
@pytest.mark.parametrize("half", ["", ".pub"])
def test_a_key_file_that_was_cut_off_is_named_with_the_way_out(node: Node, name: str, half: str) -> None:
    node.identity()
    path = node.at(name + half)
    path.write_bytes(b"")
    with pytest.raises(RefusedError, match="is empty") as failure:
        node.identity()
    assert "delete it" in str(failure.value) and "report this text" not in str(failure.value)
    path.unlink()
    if not half:
        node.at(name + ".pub").unlink()
    assert node.identity()["container_public_keys"]


# ------------------------------------------------------------------------------------------------ what is whose, quoted


def test_our_header_further_down_makes_no_file_ours(node: Node) -> None:
    peers = [node.identity()]
    node.run(peers=peers)
    config = node.ssh / "config_mesh"
    mine = "Host mine\n    Port 7\n# copied from below:\n" + config.read_text()
    config.write_text(mine)
    with pytest.raises(RefusedError, match="not written by this module"):
        node.run(peers=peers)
    assert config.read_text() == mine


@pytest.mark.parametrize("name", ["id_ed25519_host", "container/id_ed25519_cont"])
def test_a_public_half_alone_is_refused_and_kept(node: Node, name: str) -> None:
    node.identity()
    node.at(name).unlink()
    before = node.at(name + ".pub").read_bytes()
    with pytest.raises(RefusedError, match="without its private key"):
        node.identity()
    assert node.at(name + ".pub").read_bytes() == before


def test_a_home_with_quotes_and_backslashes_reaches_sshd_as_it_is(
    make_node: Callable[..., Node], tmp_path: Path
) -> None:
    node = make_node('od"d \\home')
    node.name = "gpu01"
    node.run(peers=[node.identity()])
    (line,) = [line for line in lines(node.ssh / "authorized_keys") if line.endswith(":container")]
    quoted = line.partition('command="')[2]
    text, position = "", 0
    while quoted[position] != '"':  # sshd undoes \" and nothing else
        position += quoted[position : position + 2] in ('\\"', "\\\\")
        text += quoted[position]
        position += 1
    assert quoted[position + 1 :].startswith(" ssh-ed25519 ")
    done = subprocess.run(
        ["/bin/bash", "-c", text], capture_output=True, text=True, check=False, env={"PATH": "/usr/bin"}
    )
    assert "mpicont.sh on" in done.stderr and "no command was given" in done.stderr, done.stderr


def test_ssh_offers_the_meshs_key_and_no_other(node: Node) -> None:
    """Keys of an agent first would be refused by sshd's limit of attempts."""
    node.run(peers=[node.identity()])
    for path in (node.container / "config", node.ssh / "config_mesh"):
        done = subprocess.run(["ssh", "-G", "-F", path, "10.0.0.1"], check=True, capture_output=True, text=True)
        assert "identitiesonly yes" in done.stdout.splitlines(), path
