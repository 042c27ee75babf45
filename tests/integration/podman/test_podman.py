"""Role container with the distribution's own Podman, really installed on a throw-away disk, and a real registry.

SIMULATED: systemd; the API service is started here as its unit would. The OCI runtime runs behind the lab's wrapper,
which lowers limits that this machine cannot grant.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import socket
import subprocess
import time
from typing import Any, Callable, Iterator

import pytest

from tests.integration.nic.throwaway import REPOSITORY, Disk, disk, playbook, possible

PACKAGES = pathlib.Path(
    os.environ.get("ROCEMESH_PODMAN")
    or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "rocemesh/podman"
)
SOCKET = "/run/podman/podman.sock"
PASSWORD = "not-a-secret"
HTPASSWD = "builder:$2y$05$F1pZdmyNSz4gTGOjphM.1eqYGy.dyak54/E3ADeqNifLifYi2xTHa\n"
REGISTRY_CONFIG = """version: 0.1
storage: {{filesystem: {{rootdirectory: /var/lib/registry}}}}
http: {{addr: "127.0.0.1:{port}", tls: {{certificate: /etc/registry/tls.crt, key: /etc/registry/tls.key}}}}
auth: {{htpasswd: {{realm: test, path: /etc/registry/htpasswd}}}}
"""
ENGINE_CONFIG = """[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "crun"
[engine.runtimes]
crun = ["/usr/local/sbin/lab-runc"]
"""
BASE = """set -e
mkdir -p /base/bin /base/etc /base/root /base/tmp /base/proc /base/sys /base/dev
cp /bin/busybox /base/bin/busybox
for name in $(/bin/busybox --list | grep -v '^busybox$'); do ln -sf busybox "/base/bin/$name"; done
tar -C /base -cf /base.tar .
"""
# A device of the machine under another name and kind: what CDI gives is real, that it is a GPU is not.
CDI = {
    "cdiVersion": "0.5.0",
    "kind": "nvidia.com/gpu",
    "devices": [
        {
            "name": name,
            "containerEdits": {
                "deviceNodes": [{"path": path, "hostPath": "/dev/zero", "type": "c", "major": 1, "minor": 5}],
            },
        }
        for name, path in (("0", "/dev/nvidia0"), ("all", "/dev/nvidiactl"))
    ],
}
DOCKERFILE = "ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nRUN echo built > /built\nCOPY . /workspace/\n"


class Engine:
    def __init__(self, place: Disk, shared: pathlib.Path, port: int) -> None:
        self.disk, self.shared = place, shared
        self.given = {
            "container_engine": "podman",
            "container_registry": f"registry.test:{port}",
            "container_registry_username": "builder",
            "container_registry_password": PASSWORD,
            "container_registry_ca_path": str(shared / "tls.crt"),
            "container_build_context": str(shared / "context"),
            "container_build_dockerfile": "Dockerfile",
            "container_build_args": {"BASE_IMAGE": "localhost/base:1"},
            "container_build_network": "host",
            # The wrapper above lowers it.
            "container_memlock_required": False,
            "container_shm_size": "1m",
            "container_gpus": "none",
            "container_infiniband": "none",
        }

    def play(self, tasks: list[dict[str, Any]], *options: str) -> tuple[int, str]:
        """Exit code and output, white space made one."""
        book = self.shared / "play.yml"
        book.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
        python = ["-e", "ansible_python_interpreter=/usr/bin/python3", "-e", "ansible_connection=local"]
        command = ["env", "-C", str(REPOSITORY), playbook(), "-i", "localhost,", *python, *options, str(book)]
        env = {
            "ANSIBLE_HOME": str(self.shared / "home"),
            "ANSIBLE_LOCAL_TEMP": str(self.shared / "ansible"),
            "ANSIBLE_COLLECTIONS_PATH": str(REPOSITORY / "collections"),
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "ANSIBLE_NOCOLOR": "1",
        }
        done = self.disk.run(*command, env=env, timeout=900)
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    def role(self, entry: str, *options: str, **changes: Any) -> tuple[int, str]:
        role = {"name": "rocemesh.multinode.container", "tasks_from": entry}
        return self.play([{"ansible.builtin.include_role": role, "vars": {**self.given, **changes}}], *options)

    def ask(self, *arguments: str) -> str:
        done = self.disk.run("podman", "--host", f"unix://{SOCKET}", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def inside(self, script: str) -> str:
        return self.ask("exec", "mpicont", "/bin/sh", "-c", script)


def changed(output: str) -> int:
    return int(re.findall(r"changed=(\d+)", output)[-1])


def wait_for(what: Callable[[], bool], process: subprocess.Popen[bytes], log: pathlib.Path) -> None:
    end = time.monotonic() + 120
    while not what():
        assert process.poll() is None and time.monotonic() < end, log.read_text()
        time.sleep(0.1)


def listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(name="engine", scope="module")
def fixture_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    if possible():
        pytest.skip(possible())
    if not list(PACKAGES.glob("podman_*.deb")):
        pytest.skip(f"{PACKAGES} has no podman: tests/podman_tools.sh brings it")
    top = tmp_path_factory.mktemp("podman")
    shared = top / "shared"
    (shared / "context").mkdir(parents=True)
    (shared / "context/Dockerfile").write_text(DOCKERFILE)
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=registry.test", "-addext", "subjectAltName=DNS:registry.test",
         "-keyout", str(shared / "tls.key"), "-out", str(shared / "tls.crt")],
        check=True, capture_output=True,
    )  # fmt: skip
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = []
    with disk(top / "disk", shared) as place:
        place.write("/usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n")
        subprocess.run(["cp", "-r", str(PACKAGES), str(shared / "packages")], check=True)
        done = place.run("sh", "-c", f"dpkg --install {shared}/packages/*.deb")
        assert done.returncode == 0, done.stdout + done.stderr
        wrapper = (REPOSITORY / "lab/node/files/usr/sbin/runc").read_text()
        place.write("/usr/local/sbin/lab-runc", wrapper)
        place.write("/etc/containers/containers.conf", ENGINE_CONFIG, 0o644)
        place.write("/etc/registry/config.yml", REGISTRY_CONFIG.format(port=port), 0o644)
        place.write("/etc/registry/htpasswd", HTPASSWD, 0o644)
        script = f"cp {shared}/tls.* /etc/registry; echo 127.0.0.1 registry.test >> /etc/hosts"
        script += "; ln -f /usr/bin/crun /usr/sbin/runc.distrib; mkdir -p /run/podman /etc/rocemesh/mesh/container"
        script += f"; ln -sfn {SOCKET} /var/run/docker.sock"
        # crun refuses cgroups of both versions at once, as some machines have them.
        script += "; if mountpoint -q /sys/fs/cgroup/unified; then umount -l /sys/fs/cgroup/unified; fi"
        done = place.run("sh", "-ec", script)
        assert done.returncode == 0, done.stderr
        # Podman's layers cannot lie on layers.
        place.small("/var/lib/containers", 1 << 30)
        try:
            for command, there in (
                (("docker-registry", "serve", "/etc/registry/config.yml"), lambda: listens(port)),
                (("podman", "system", "service", "--time=0", f"unix://{SOCKET}"), lambda: place.exists(SOCKET)),
            ):
                log = shared / f"{command[0]}.log"
                running.append(place.boot(*command, env={"HOME": "/root"}, output=log))
                wait_for(there, running[-1], log)
            found = Engine(place, shared, port)
            done = place.run("sh", "-ec", BASE)
            assert done.returncode == 0, done.stderr
            found.ask("import", "/base.tar", "localhost/base:1")
            yield found
        finally:
            place.run("podman", "--host", f"unix://{SOCKET}", "rm", "--force", "--all", "--time", "0")
            for process in running:
                process.kill()
                process.wait(30)


def test_image_and_container_by_podman_and_nothing_to_do_again(engine: Engine) -> None:
    code, output = engine.role("main", container_registry_password="wrong")
    assert code != 0 and "gave no answer" in output and "authentication required" in output
    code, output = engine.role("main")
    assert code == 0, output
    status = dict(line.split(":\t") for line in engine.inside("cat /proc/1/status").splitlines())
    # AUDIT_WRITE, IPC_LOCK, SETGID, SETUID, SYS_CHROOT.
    assert int(status["CapBnd"], 16) == 1 << 29 | 1 << 14 | 1 << 6 | 1 << 7 | 1 << 18 and status["NoNewPrivs"] == "1"
    for name in ("ipc", "uts", "net"):
        assert engine.inside(f"readlink /proc/self/ns/{name}") == os.readlink(f"/proc/self/ns/{name}")
    assert engine.inside("tr '\\0' ' ' < /proc/1/cmdline").endswith("-- sleep infinity")
    assert engine.inside("touch /root/.ssh/x 2>&1 || true").endswith("Read-only file system")

    for options in ((), ("--check",)):
        code, output = engine.role("main", *options)
        assert code == 0 and changed(output) == 0, output
        # One reading says so, and what changes something is not even looked at.
        assert "Start the container" in output
        assert "Run | Start the container]" not in output and "Install | Refuse an engine" not in output


def test_another_request_makes_it_again_once_and_not_under_what_runs_in_it(engine: Engine) -> None:
    code, output = engine.role("run", container_env={"A": "b=c d"})
    assert code == 0 and changed(output) == 1, output
    assert engine.inside('echo "$A"') == "b=c d"
    code, output = engine.role("run", container_env={"A": "b=c d"})
    assert code == 0 and changed(output) == 0, output

    engine.ask("exec", "--detach", "mpicont", "sleep", "987")
    before = engine.ask("inspect", "--format", "{{.Id}}", "mpicont")
    code, output = engine.role("run")
    assert code != 0 and "sleep 987" in output
    assert engine.ask("inspect", "--format", "{{.Id}}", "mpicont") == before
    code, output = engine.role("run", container_replace_in_use=True)
    assert code == 0 and engine.ask("inspect", "--format", "{{.Id}}", "mpicont") != before, output

    engine.ask("stop", "--time", "1", "mpicont")
    code, output = engine.role("run")
    assert code == 0 and changed(output) == 1, output


def test_the_modules_of_the_other_roles_reach_it(engine: Engine) -> None:
    code, output = engine.role("main", container_replace_in_use=True)
    assert code == 0, output
    code, output = engine.play(
        [
            {"community.docker.docker_container_info": {"name": "mpicont"}, "register": "seen"},
            {
                "community.docker.docker_container_exec": {
                    "container": "mpicont",
                    "argv": ["sh", "-c", "cat; exit 3"],
                    "stdin": "words",
                },
                "register": "said",
                "failed_when": False,
            },
            {
                "ansible.builtin.assert": {
                    "that": ["seen.container.State.Running", "said.rc == 3", "said.stdout == 'words'"]
                }
            },
        ]
    )
    assert code == 0, output


def server_version(engine: Engine) -> tuple[int, ...]:
    return tuple(map(int, engine.ask("version", "--format", "{{.Server.Version}}").split(".")[:2]))


def test_what_this_podman_cannot_is_refused(engine: Engine) -> None:
    version = server_version(engine)
    code, output = engine.role("run", container_gpus="all")
    assert code != 0
    assert f"(it is {version[0]}.{version[1]}" in output and "nvidia-ctk cdi list" in output
    code, output = engine.role("run", container_engine="docker")
    assert code != 0 and "expected Docker" in output


def test_devices_of_cdi_reach_the_container_from_5_4_on(engine: Engine) -> None:
    """SIMULATED: the GPU and nvidia-ctk. An older socket ignores the request in silence, so the role has to refuse."""
    engine.disk.write("/etc/cdi/nvidia.yaml", json.dumps(CDI), 0o644)
    engine.disk.write("/usr/bin/nvidia-ctk", "#!/bin/sh\necho nvidia.com/gpu=0\necho nvidia.com/gpu=all\n")
    gives = server_version(engine) >= (5, 4)
    request = {"driver": "cdi", "count": 0, "device_ids": ["nvidia.com/gpu=0"]}
    direct = {"name": "direct", "image": "localhost/base:1", "command": "sleep infinity", "device_requests": [request]}
    code, output = engine.play([{"community.docker.docker_container": {**direct, "network_mode": "host"}}])
    assert code == 0, output
    assert ("nvidia0" in engine.ask("exec", "direct", "ls", "/dev").split()) == gives

    code, output = engine.role("run", container_gpus="all", container_replace_in_use=True)
    if not gives:
        assert code != 0 and "from 5.4 on" in output
        return
    assert code == 0, output
    assert "/dev/nvidiactl" in engine.inside("ls -l /dev/nvidiactl")
    code, output = engine.role("run", container_gpus="all")
    assert code == 0 and changed(output) == 0, output
