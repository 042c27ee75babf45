"""What the mesh must leave on a node."""

import pytest

HOME = "/home/nvidia/.ssh"
BROKER = "/usr/local/libexec/rocemesh"


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        (HOME, 0o700),
        (f"{HOME}/authorized_keys", 0o600),
        (f"{HOME}/ssh_container", None),
        (f"{BROKER}/mesh-broker", 0o755),
        (f"{BROKER}/mesh-broker.json", 0o644),
        ("/etc/sudoers.d/rocemesh-mesh-broker", 0o440),
    ],
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
    keys = [line for line in lines if line.endswith(":container")]
    # The head's alone, and never without its forced command.
    assert len(keys) == 1 and keys[0].startswith("restrict,from=")
    assert f'command="/usr/bin/sudo -n {BROKER}/mesh-broker"' in keys[0]


def test_the_user_reaches_docker_through_the_broker_only(host):
    assert "docker" not in host.user("nvidia").groups
    assert host.run("sudo -u nvidia docker ps").rc != 0


@pytest.mark.parametrize(
    "asked", ["cat /etc/shadow", "orted; id", 'orted -mca orte_hnp_uri "1.0;tcp://192.0.2.9:1"', ""]
)
def test_the_broker_refuses_and_logs(host, asked):
    with host.sudo():
        done = host.run(
            "sudo -u nvidia env SSH_ORIGINAL_COMMAND=%s SSH_CONNECTION='10.78.0.11 1 10.78.0.12 22' "
            "sudo -n /usr/local/libexec/rocemesh/mesh-broker",
            asked,
        )
        assert done.rc in (64, 65), done.stderr
        assert "refused from 10.78.0.11" in host.check_output("journalctl -t rocemesh-mesh --no-pager -n 1")


def test_the_sudoers_rule_names_one_program_without_arguments(host):
    with host.sudo():
        text = host.file("/etc/sudoers.d/rocemesh-mesh-broker").content_string
    rules = [line for line in text.splitlines() if line.startswith("nvidia ")]
    assert rules == [f'nvidia ALL=(root) NOPASSWD: {BROKER}/mesh-broker ""']


def test_host_keys_are_pinned_and_checked(host):
    """The head knows every node. A worker has to reach nobody, and was told of the head alone."""
    with host.sudo():
        assert "StrictHostKeyChecking yes" in host.file(f"{HOME}/ssh_container/config").content_string
        known = host.file(f"{HOME}/ssh_container/known_hosts").content_string
    nodes = range(1, 5) if host.check_output("uname -n") == "gpu01" else [1]
    found = [number for number in range(1, 5) if f"10.78.0.1{number}" in known]
    assert found == list(nodes)
