"""What the mesh must leave on a node, and what root in its container must not become."""

import json
import pathlib
import runpy
import shlex

import pytest

# Beside this file, which pytest imports without its folder.
ESCAPES = runpy.run_path(str(pathlib.Path(__file__).with_name("escapes.py")))["ESCAPES"]
HOME = "/home/nvidia/.ssh"
MESH = "/etc/rocemesh/mesh"
CAPABILITIES = ["AUDIT_WRITE", "IPC_LOCK", "SETGID", "SETUID", "SYS_CHROOT"]
CONTROL = ("mount_a_tmpfs", "new_mount_namespace", "raw_packets", "address", "files_of_others", "make_a_disk")


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        (f"{MESH}/container", 0o755),
        (f"{MESH}/container/sshd_config", 0o600),
        (f"{MESH}/container/authorized_keys", 0o600),
        (f"{MESH}/container/start_sshd.sh", 0o755),
    ],
)
def test_files_and_modes(host, path, mode):
    with host.sudo():
        assert host.file(path).mode == mode


def test_private_keys_are_readable_by_their_owner_only(host):
    with host.sudo():
        keys = host.run(f"grep -rl 'PRIVATE KEY' {HOME} {MESH}").stdout.split()
        assert sorted(keys) == [f"{MESH}/container/id_ed25519_cont", f"{MESH}/container/ssh_host_ed25519_key"]
        assert {host.file(key).mode & 0o077 for key in keys} == {0}


def test_nothing_of_the_mesh_can_be_moved_by_anybody_but_root(host):
    with host.sudo():
        found = host.check_output("find /etc/rocemesh -printf '%u %m %y\\n'").splitlines()
    assert found and all(line.split()[0] == "root" for line in found)
    assert not any(int(line.split()[1], 8) & 0o022 for line in found)


def test_the_container_is_given_no_more_than_it_needs(host):
    with host.sudo():
        found = json.loads(host.check_output("docker inspect mpicont"))[0]
    settings = found["HostConfig"]
    assert sorted(each.replace("CAP_", "") for each in settings["CapAdd"]) == CAPABILITIES
    assert settings["CapDrop"] == ["ALL"] and "no-new-privileges" in settings["SecurityOpt"]
    assert not settings["Privileged"]
    (ssh,) = [each for each in found["Mounts"] if each["Destination"] == "/root/.ssh"]
    assert (ssh["Source"], ssh["RW"]) == (f"{MESH}/container", False)


def test_the_server_listens_on_the_address_of_the_mesh_alone(host):
    number = host.check_output("uname -n")[-1]
    assert host.check_output("ss -Hltn 'sport = :2222'").split()[3] == f"10.78.0.1{number}:2222"
    assert len(host.check_output("ss -Hltn 'sport = :2222'").splitlines()) == 1


def test_the_heads_key_alone_is_accepted_from_its_address(host):
    with host.sudo():
        lines = host.file(f"{MESH}/container/authorized_keys").content_string.splitlines()
    keys = [line for line in lines if line and not line.startswith("#")]
    assert len(keys) == 1 and keys[0].startswith('restrict,from="10.78.0.11" ') and keys[0].endswith("gpu01:container")


def test_the_users_own_files_hold_nothing_of_the_mesh(host):
    with host.sudo():
        assert host.check_output(f"ls {HOME}") == "authorized_keys"
        text = host.file(f"{HOME}/authorized_keys").content_string
    assert "ssh-ed25519" in text and ":container" not in text and "BEGIN" not in text


def test_nothing_of_an_earlier_release_is_left(host):
    with host.sudo():
        assert not host.file("/etc/sudoers.d/rocemesh-mesh-broker").exists
        assert not host.file("/usr/local/libexec/rocemesh").exists and not host.file(f"{MESH}/login").exists
        assert not host.user("rocemesh-mesh").exists and not host.group("rocemesh-mesh").exists


def test_the_user_does_not_reach_docker(host):
    assert "docker" not in host.user("nvidia").groups
    assert host.run("sudo -u nvidia docker ps").rc != 0


def test_host_keys_are_pinned_and_checked(host):
    """The head knows every node. A worker has to reach no other, and knows the head alone."""
    with host.sudo():
        assert "StrictHostKeyChecking yes" in host.file(f"{MESH}/container/config").content_string
        known = host.file(f"{MESH}/container/known_hosts").content_string
    nodes = range(1, 5) if host.check_output("uname -n") == "gpu01" else [1]
    found = [number for number in range(1, 5) if f"[10.78.0.1{number}]:2222" in known]
    assert found == list(nodes)


def test_a_session_has_the_environment_of_the_image(host):
    if host.check_output("uname -n") == "gpu01":
        with host.sudo():
            said = host.check_output("docker exec mpicont ssh 10.78.0.12 env")
        assert "OMP_NUM_THREADS=1" in said.splitlines()


def tried(host, start, names):
    """Names of the attempts that worked. One connection for all."""
    script = "\n".join(
        f"{start} timeout 20 sh -c {shlex.quote(ESCAPES[name])} > /dev/null 2>&1 < /dev/null && echo {name}"
        for name in names
    )
    with host.sudo():
        return host.run("sh -c %s", script + "\ntrue").stdout.split()


def test_no_attempt_leads_out_of_the_container(host):
    if host.check_output("uname -n") == "gpu02":
        assert len(ESCAPES) >= 60
        assert tried(host, "docker exec mpicont", ESCAPES) == []


def test_the_attempts_work_where_the_rights_are_there(host):
    if host.check_output("uname -n") == "gpu02":
        with host.sudo():
            image = host.check_output("docker inspect --format '{{.Image}}' mpicont")
        rights = "--cap-add SYS_ADMIN --cap-add NET_ADMIN --cap-add MKNOD --security-opt seccomp=unconfined"
        rights += " --security-opt apparmor=unconfined --device-cgroup-rule 'b *:* rmw'"
        done = tried(host, f"docker run --rm --network none {rights} {image}", CONTROL)
        assert set(CONTROL) - {"make_a_disk"} <= set(done)  # a machine may have no disk 8:0
