"""What the mesh must leave on a node."""

import pytest

HOME = "/home/nvidia/.ssh"


@pytest.mark.parametrize(
    ("path", "mode"),
    [(HOME, 0o700), (f"{HOME}/authorized_keys", 0o600), (f"{HOME}/mpicont.sh", 0o755), (f"{HOME}/ssh_container", None)],
)
def test_files_and_modes(host, path, mode):
    with host.sudo():
        found = host.file(path)
        assert found.exists
        assert mode is None or found.mode == mode


def test_private_keys_are_readable_by_their_owner_only(host):
    with host.sudo():
        keys = host.run(f"grep -rl 'PRIVATE KEY' {HOME}").stdout.split()
        assert keys
        assert {host.file(key).mode & 0o077 for key in keys} == {0}


def test_the_controllers_own_key_is_still_there(host):
    with host.sudo():
        text = host.file(f"{HOME}/authorized_keys").content_string
    assert text.count("BEGIN") == text.count("END") >= 1
    # The block stands first, so that its restrictions win.
    outside = text.rsplit("END", 1)[1]
    assert "ssh-ed25519" in outside, "the block replaced what was there"


def test_container_keys_can_only_run_the_broker(host):
    with host.sudo():
        lines = host.file(f"{HOME}/authorized_keys").content_string.splitlines()
    forced = [line for line in lines if "mpicont" in line and "command=" in line]
    assert forced
    assert all(line.startswith("restrict,") and "from=" in line for line in forced)


def test_host_keys_are_pinned_and_checked(host):
    with host.sudo():
        files = host.run(f"cat {HOME}/ssh_container/config {HOME}/ssh_container/known_hosts").stdout
    assert "StrictHostKeyChecking yes" in files
    for number in range(1, 5):
        assert f"10.78.0.1{number}" in files
