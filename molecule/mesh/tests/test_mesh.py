"""What the mesh must leave on a node."""

import json

import pytest

HOME = "/home/nvidia/.ssh"
MESH = "/etc/rocemesh/mesh"
LOGIN = "rocemesh-mesh"
BROKER = "/usr/local/libexec/rocemesh"


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        (HOME, 0o700),
        (f"{MESH}/container", 0o755),
        (f"{MESH}/login/.ssh/authorized_keys", 0o644),
        (f"{BROKER}/mesh_grammar.py", 0o644),
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
        keys = host.run(f"grep -rl 'PRIVATE KEY' {HOME} {MESH}").stdout.split()
        assert len(keys) == 2
        assert {host.file(key).mode & 0o077 for key in keys} == {0}


def test_nothing_of_the_mesh_can_be_moved_by_anybody_but_root(host):
    with host.sudo():
        found = host.check_output("find /etc/rocemesh -printf '%u %m %y\\n'").splitlines()
    assert found and all(line.split()[0] == "root" for line in found)
    assert not any(int(line.split()[1], 8) & 0o022 for line in found)


def test_the_container_cannot_write_what_it_is_given(host):
    with host.sudo():
        mounted = host.run("docker inspect --format '{{json .Mounts}}' mpicont")
    if mounted.rc == 0 and mounted.stdout.strip() not in ("", "null"):
        (ssh,) = [each for each in json.loads(mounted.stdout) if each["Destination"] == "/root/.ssh"]
        assert (ssh["Source"], ssh["RW"]) == (f"{MESH}/container", False)


def test_the_controllers_own_key_is_still_there(host):
    with host.sudo():
        text = host.file(f"{HOME}/authorized_keys").content_string
    assert "ssh-ed25519" in text and ":container" not in text


def test_container_keys_can_only_run_the_broker(host):
    with host.sudo():
        lines = host.file(f"{MESH}/login/.ssh/authorized_keys").content_string.splitlines()
    keys = [line for line in lines if line and not line.startswith("#")]
    # The head's alone, and never without its forced command.
    assert len(keys) == 1 and keys[0].startswith("restrict,from=") and keys[0].endswith(":container")
    assert f'command="/usr/bin/sudo -n {BROKER}/mesh-broker"' in keys[0]


def test_the_user_does_not_reach_docker(host):
    assert "docker" not in host.user("nvidia").groups
    assert host.run("sudo -u nvidia docker ps").rc != 0


@pytest.mark.parametrize(
    "asked", ["cat /etc/shadow", "orted; id", 'orted -mca orte_hnp_uri "1.0;tcp://192.0.2.9:1"', ""]
)
def test_the_broker_refuses_and_logs(host, asked):
    with host.sudo():
        done = host.run(
            f"sudo -u {LOGIN} env SSH_ORIGINAL_COMMAND=%s SSH_CONNECTION='10.78.0.11 1 10.78.0.12 22' "
            "sudo -n /usr/local/libexec/rocemesh/mesh-broker",
            asked,
        )
        assert done.rc in (64, 65), done.stderr
        assert "refused from 10.78.0.11" in host.check_output("journalctl -t rocemesh-mesh --no-pager -n 1")


def test_the_sudoers_rule_names_one_program_without_arguments(host):
    with host.sudo():
        text = host.file("/etc/sudoers.d/rocemesh-mesh-broker").content_string
    rules = [line for line in text.splitlines() if line and not line.startswith(("#", "Defaults"))]
    assert rules == [f'{LOGIN} ALL=(root) NOPASSWD: {BROKER}/mesh-broker ""']


def test_host_keys_are_pinned_and_checked(host):
    """The head knows every node. A worker has to reach nobody, and was told of the head alone."""
    with host.sudo():
        assert "StrictHostKeyChecking yes" in host.file(f"{MESH}/container/config").content_string
        known = host.file(f"{MESH}/container/known_hosts").content_string
    nodes = range(1, 5) if host.check_output("uname -n") == "gpu01" else [1]
    found = [number for number in range(1, 5) if f"10.78.0.1{number}" in known]
    assert found == list(nodes)
