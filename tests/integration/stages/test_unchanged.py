"""What a node with nothing to change costs in module starts, of the roles alone: its answers are stand-ins, and what is
counted is what the site suite counts on real nodes."""

from __future__ import annotations

import http.server
import json
import socketserver
import stat
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import site_run
from tests.plays import ROOT, ansible
from tests.unit.roles import conditions

HOSTS = ("gpu-01", "gpu-02")
IMAGE = "registry:5000/multinode"
DIGEST = "sha256:" + "a1" * 32
# Says of the engine what role container asks, word by word.
DOCKER = """#!/bin/sh
case "$*" in
*version*) echo 25.0;;
*Runtimes*) echo '{{"runc":{{}}}}';;
*"image inspect"*) echo 'image sha256:1 ["{image}@{digest}"]';;
*"inspect --type container"*) echo 'seen {seen}';;
*mounted*) echo "mounted $(stat -c %d:%i {mesh})"; printf 'limits unlimited 0 1048576\\ngpus 0 none\\nsshd read\\n';;
esac
"""


class _Registry(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        content = json.dumps({"Descriptor": {"digest": DIGEST}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def address_string(self) -> str:
        return "local"

    def log_message(self, *_words: object) -> None:
        """Nobody reads it."""


class _Engine(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: sockets lie in it."""
    with tempfile.TemporaryDirectory(prefix="rm-") as name:
        path = Path(name)
        (path / "mesh").mkdir()
        (path / "mesh/start_sshd.sh").touch()
        (path / "bin").mkdir()
        with _Engine(str(path / "docker.sock"), _Registry) as engine:
            threading.Thread(target=engine.serve_forever, daemon=True).start()
            yield path
            engine.shutdown()


def play(folder: Path, tasks: list[dict[str, Any]], **variables: Any) -> dict[str, tuple[int, int]]:
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    (folder / "hosts.yml").write_text(yaml.safe_dump({"gpu_vms": {"hosts": dict.fromkeys(HOSTS), "vars": local}}))
    path = {"PATH": f"{folder}/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
    play = {"hosts": "gpu_vms", "gather_facts": False, "environment": path, "tasks": tasks}
    (folder / "play.yml").write_text(yaml.safe_dump([play]))
    (folder / "variables.yml").write_text(yaml.safe_dump({"ansible_become": False, **variables}))
    done = ansible(
        folder,
        "-i", "hosts.yml", "-e", "@variables.yml", "play.yml",
        ANSIBLE_CALLBACK_PLUGINS=str(ROOT / "tests/callback"),
        ROCEMESH_STARTS=str(folder / "starts"),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return site_run.cost(folder / "starts")


def role(name: str, entry: str = "main", **variables: Any) -> dict[str, Any]:
    called = {"name": f"rocemesh.multinode.{name}", "tasks_from": entry}
    return {"name": f"{name} {entry}", "ansible.builtin.import_role": called, "vars": variables}


def container(folder: Path, between: list[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    """Entry points image and run, on nodes whose container runs from the registry's image as it is asked for."""
    asked: dict[str, Any] = {
        "container_registry": "registry:5000",
        "container_gpus": "none",
        "container_infiniband": "none",
        "__container_docker_socket": str(folder / "docker.sock"),
        "__container_mesh_directory": str(folder / "mesh"),
    }
    node = {"mesh_start": True, "gpu": False, "gpu_nodes": [], "rdma": False, "cdi": False}
    known = conditions._Judge({**conditions.variables_of("container"), **asked, "__container_node": node})
    seen = {
        "Image": "sha256:1",
        "State": {"Running": True},
        "Config": {"Labels": {"io.rocemesh.request": known.said("{{ __container_request_hash }}").strip()}},
        "HostConfig": {
            "RestartPolicy": {"Name": "unless-stopped"},
            "Binds": [f"{folder}/mesh:/root/.ssh:ro"],
        },
    }
    docker = folder / "bin/docker"
    docker.write_text(DOCKER.format(image=IMAGE, digest=DIGEST, seen=json.dumps(seen), mesh=folder / "mesh"))
    docker.chmod(docker.stat().st_mode | stat.S_IXUSR)
    system = {"distribution": "Ubuntu", "distribution_version": "22.04", "os_family": "Debian"}
    return play(
        folder,
        [role("container", "image"), *between, role("container", "run")],
        **asked,
        guest_reading={"system": system},
    )


def test_container_is_read_once_and_the_registry_asked_once(folder: Path) -> None:
    """By the build host for both tags."""
    cost = container(folder, [])
    assert (cost["gpu-01"][0], cost["gpu-02"][0]) == (2, 1), (folder / "starts").read_text()
    assert cost["gpu-01"][1] <= 14 and cost["gpu-02"][1] <= 12, (folder / "starts").read_text()


def test_container_is_read_again_after_the_mesh_wrote_something(folder: Path) -> None:
    wrote = {"name": "Mesh", "ansible.builtin.set_fact": {"mesh_files": {"changed": True}}}
    cost = container(folder, [wrote])
    assert (cost["gpu-01"][0], cost["gpu-02"][0]) == (3, 2), (folder / "starts").read_text()


@pytest.mark.parametrize(("image", "starts"), [("", 1), ("cuda", 2)], ids=["the-same", "another-wish"])
def test_guest_is_read_once_with_preflight_where_it_wants_the_same(folder: Path, image: str, starts: int) -> None:
    right: dict[str, Any] = {"__guest_settled": True, "__guest_pending_now": {}, "__guest_outcome_now": {}}
    tasks = [role("preflight", "node"), role("guest", guest_image=image)]
    cost = play(
        folder, tasks, preflight_outcome={"ready": True}, preflight_timeout=1, guest_networks=["192.0.2.0/24"], **right
    )
    assert {host: cost[host][0] for host in HOSTS} == dict.fromkeys(HOSTS, starts), (folder / "starts").read_text()
