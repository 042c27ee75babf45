"""The NVIDIA container toolkit with real apt on a throw-away disk, beside an engine that is SIMULATED: it reads its
configuration and looks for the hook when it starts, and lists a container that runs."""

from __future__ import annotations

import json
from typing import Any, Iterator

import pytest

from tests.integration.nic.profile_node import Node
from tests.integration.nic.throwaway import checksum, index, package, sign

OLD, NEW = "1.19.0-1", "1.20.0-1"
CONFIG = "/etc/docker/daemon.json"
OWN = {"mtu": 9000, "data-root": "/data", "log-opts": {"max-size": "10m"}, "runtimes": {"own": {"path": "/opt/own"}}}

# As 1.17.8 and 1.20.0, built and run: sorted keys on standard output, its log on the other; a file that it cannot read,
# an empty one too, and a key runtimes that is no object end it.
CTK = """#!/usr/bin/python3
# SIMULATED nvidia-ctk
import json, os, sys
def log(level, text):
    print(f'time="2026-11-28T19:56:40Z" level={level} msg="{text}"', file=sys.stderr)
if sys.argv[1:] == ["cdi", "list"]:
    sys.exit(log("info", "Found 0 CDI devices"))
assert sys.argv[1:4] == ["runtime", "configure", "--runtime=docker"] and sys.argv[5] == "--dry-run", sys.argv
path, config = sys.argv[4].partition("=")[2], {}
if os.path.exists(path):
    log("info", f"Loading config from {path}")
    try:
        config = json.load(open(path))
    except ValueError as error:
        sys.exit(log("error", f"unable to load config for runtime docker: {error}") or 1)
else:
    log("info", "Config file does not exist; using empty config")
config.setdefault("runtimes", {})["nvidia"] = {"args": [], "path": "nvidia-container-runtime"}
print(json.dumps(config, indent=4, sort_keys=True))
"""
DOCKER = """#!/bin/sh
# SIMULATED docker
kill -0 "$(cat /var/run/docker.pid 2>/dev/null)" 2>/dev/null || exit 1
case "$*" in
  *"info"*Runtimes*) cat /var/run/SIMULATED-runtimes ;;
  *"info"*LiveRestore*) echo false ;;
  *" ps "*) echo container mpicont ;;
  *" version "*) echo 20.10.24 ;;
esac
"""
ENGINE = """#!/bin/sh
# SIMULATED init script of an engine
stop() { [ ! -e /var/run/docker.pid ] || kill "$(cat /var/run/docker.pid)"; rm -f /var/run/docker.pid; }
start() {
  python3 -c 'import json, os; p = "/etc/docker/daemon.json"; own = json.load(open(p)) if os.path.exists(p) else {}
print(json.dumps({"runc": {"path": "runc"}, **own.get("runtimes", {})}))' > /var/run/SIMULATED-runtimes
  sleep 900 >/dev/null 2>&1 &
  echo "$!" > /var/run/docker.pid
  echo started >> /var/run/SIMULATED-starts
}
case "$1" in start) start ;; stop) stop ;; restart) stop; start ;; status) [ -e /var/run/docker.pid ] ;; esac
"""
GPU = "#!/bin/sh\necho 'GPU 0: SIMULATED (UUID: GPU-0)'\n"


@pytest.fixture(name="node")
def fixture_node(throwaway: Node) -> Iterator[Node]:
    disk = throwaway.disk
    disk.run("rm", "-f", "/var/run/docker.pid", "/usr/bin/nvidia-ctk")
    for path, text in (("/usr/sbin/docker", DOCKER), ("/etc/init.d/docker", ENGINE), ("/usr/sbin/nvidia-smi", GPU)):
        disk.write(path, text)
    disk.write(CONFIG, json.dumps(OWN), 0o640)
    assert disk.run("/etc/init.d/docker", "start").returncode == 0
    # Its hook is to be younger than the engine, and times count in seconds.
    disk.run("sh", "-c", 'begun=$(date +%s); while [ "$(date +%s)" -le $((begun + 1)) ]; do sleep 0.1; done')
    try:
        yield throwaway
    finally:
        disk.run("/etc/init.d/docker", "stop")


def repository(node: Node) -> dict[str, Any]:
    directory = node.shared / "toolkit"
    directory.mkdir()
    for version in (OLD, NEW):
        package(directory, "libnvidia-container1", version)
        package(directory, "libnvidia-container-tools", version, Depends=f"libnvidia-container1 (= {version})")
        package(directory, "nvidia-container-toolkit-base", version, **{"file:/usr/bin/nvidia-ctk": CTK})
        needs = ", ".join(
            f"{name} (= {version})" for name in ("nvidia-container-toolkit-base", "libnvidia-container-tools")
        )
        package(directory, "nvidia-container-toolkit", version, Depends=needs,
                **{"file:/usr/bin/nvidia-container-runtime-hook": "#!/bin/sh\n"})  # fmt: skip
    index(directory)
    key = sign(directory)
    return {
        "container_toolkit_source": {
            "repository": "file:///mirror/toolkit",
            "key_url": key.as_uri(),
            "key_checksum": checksum(key),
        },
    }


def release(options: dict[str, Any], version: str) -> dict[str, Any]:
    return {"container_toolkit_source": {**options["container_toolkit_source"], "version": version}}


def toolkit(node: Node, *options: str, **variables: Any) -> tuple[int, str]:
    return node.role(*options, name="container", entry="toolkit", **variables)


def config(node: Node) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(node.disk.run("cat", CONFIG).stdout)
    return found


def starts(node: Node) -> int:
    return len(node.disk.run("cat", "/var/run/SIMULATED-starts").stdout.split())


def test_it_is_installed_merged_and_pending_until_a_restart_is_allowed(node: Node) -> None:
    options = repository(node)
    code, output = toolkit(node, "--check", "--diff", **options)
    assert code == 0, output
    assert "would install nvidia-container-toolkit" in output
    assert node.disk.version("nvidia-container-toolkit") == "" and config(node) == OWN

    code, output = toolkit(node, **release(options, OLD))
    assert code == 0, output
    for name in (
        "nvidia-container-toolkit",
        "nvidia-container-toolkit-base",
        "libnvidia-container-tools",
        "libnvidia-container1",
    ):
        assert node.disk.version(name) == OLD
    found = config(node)
    assert list(found) == list(OWN)
    assert found["runtimes"].pop("nvidia")["path"] == "nvidia-container-runtime"
    assert found == OWN
    assert node.disk.run("stat", "-c", "%a", CONFIG).stdout.strip() == "640"
    backup = node.disk.run("sh", "-c", f"cat {CONFIG}.*~").stdout
    assert json.loads(backup) == OWN
    assert "NVIDIA container toolkit" in output
    assert "the runtime nvidia" in output
    assert "stops mpicont" in output and "was not restarted" in output
    assert starts(node) == 1

    # A second run changes nothing, and still says what waits.
    code, output = toolkit(node, **release(options, OLD))
    assert code == 0 and "changed=0 " in output, output
    assert "was not restarted" in output

    code, output = toolkit(node, **release(options, OLD), container_allow_engine_restart=True)
    assert code == 0, output
    assert "now stops mpicont" in output
    assert starts(node) == 2
    code, output = toolkit(node, **release(options, NEW), container_allow_engine_restart=True)
    assert code == 0, output
    assert node.disk.version("nvidia-container-toolkit") == NEW
    assert starts(node) == 2

    code, output = toolkit(node, **release(options, NEW), container_allow_engine_restart=True)
    assert code == 0 and "changed=0 " in output, output


def test_a_configuration_that_cannot_be_read_is_left_alone(node: Node) -> None:
    node.disk.write(CONFIG, '{"mtu": 9000,}')
    code, output = toolkit(node, **repository(node))
    assert code != 0
    assert f"localhost: {CONFIG} was not changed" in output
    assert node.disk.run("cat", CONFIG).stdout == '{"mtu": 9000,}'
    assert starts(node) == 1


def test_an_empty_configuration_gets_the_runtime_alone(node: Node) -> None:
    """nvidia-ctk ends with EOF at such a file."""
    node.disk.write(CONFIG, "")
    code, output = toolkit(node, **repository(node))
    assert code == 0, output
    assert config(node) == {"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}}


# Whether the node has a GPU -> case -> (settings, what it is refused with; "": left alone).
WANTED: dict[bool, dict[str, tuple[dict[str, Any], str]]] = {
    True: {
        "gpu": ({}, "container_toolkit_source.repository (it is empty)"),
        "none": ({"container_toolkit": "none"}, ""),
        "no_gpus_for_containers": ({"container_gpus": "none"}, ""),
    },
    False: {
        "wanted": (
            {"container_toolkit": "present"},
            "container_toolkit_source.key_checksum as sha256:DIGEST (it is empty)",
        ),
        "no_gpu": ({}, ""),
    },
}


@pytest.mark.parametrize("gpu", WANTED, ids=["gpu", "no-gpu"])
def test_it_is_wanted_only_where_a_container_is_to_have_a_gpu(node: Node, gpu: bool) -> None:
    if not gpu:
        node.disk.run("rm", "/usr/sbin/nvidia-smi")
    cases = {case: variables for case, (variables, _words) in WANTED[gpu].items()}
    heard = node.heard(cases, name="container", entry="toolkit")
    for case, (_variables, words) in WANTED[gpu].items():
        failed, changed, said = heard[case]
        assert failed is bool(words) and words in said, (case, said)
        assert changed == 0, case
    assert config(node) == OWN and starts(node) == 1
