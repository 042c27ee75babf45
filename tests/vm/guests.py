"""What the tests of real guests have in common: programs in two VMs, and the collection's modules on them."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from lab import config, nodes

SECONDS = 240


def sh(node: config.Node, script: str, *, check: bool = True) -> str:
    return nodes.inside(node, "bash", "-c", script, check=check, timeout=SECONDS).stdout


def counters(node: config.Node) -> dict[str, int]:
    text = sh(node, "cd /sys/class/infiniband/rxe0/ports/1/hw_counters && grep -H . *")
    return {name: int(value) for name, value in (line.split(":") for line in text.split())}


def pair(program: str, *, server: config.Node, client: config.Node, address: str | None = None) -> str:
    """perftest's or rping's two ends; what the client printed. ``program`` without the server's address."""
    ready = threading.Event()
    failed: list[str] = []

    def serve() -> None:
        ready.set()
        done = nodes.inside(server, "bash", "-c", f"timeout {SECONDS} {program}", check=False, timeout=SECONDS + 30)
        if done.returncode:
            failed.append(f"{program} on {server.name}: status {done.returncode}: {done.stdout}{done.stderr}")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    ready.wait()
    # It listens a moment after it was started; the client is tried until then.
    where = address or server.cluster_ip
    script = f"for n in $(seq 20); do timeout {SECONDS} {program} {where} && exit 0; sleep 2; done; exit 1"
    text = sh(client, script)
    thread.join(60)
    assert not failed, failed[0]
    return text


def module(name: str, node: config.Node, **options: Any) -> dict[str, Any]:
    """A module of the collection on a guest, as root, through Ansible."""
    done = subprocess.run(
        [
            *(str(Path(sys.executable).with_name("ansible")), node.name),
            *(word for inventory in config.SHAPE.inventories for word in ("-i", inventory)),
            *(
                "-b",
                "-m",
                f"rocemesh.multinode.{name}",
                "--one-line",
                *(("-a", json.dumps(options)) if options else ()),
            ),
        ],
        cwd=config.REPO,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert " => " in done.stdout, done.stdout + done.stderr
    result: dict[str, Any] = json.loads(done.stdout.split(" => ", 1)[1])
    assert done.returncode == 0, result
    return result
