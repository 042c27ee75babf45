"""What the tests of real guests have in common: programs in two VMs, and the collection's modules on them."""

from __future__ import annotations

import concurrent.futures
import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab import config, nodes

SECONDS, ATTEMPT = 240, 50
NIC = config.RAILS[0].nic
BOOT = "cat /proc/sys/kernel/random/boot_id"


def sh(node: config.Node, script: str, *, check: bool = True) -> str:
    return nodes.inside(node, "bash", "-c", script, check=check, timeout=SECONDS).stdout


def on_both(two: tuple[config.Node, config.Node], what: Callable[[config.Node], Any]) -> list[Any]:
    """At the same time: each VM has a processor to itself."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return list(pool.map(what, two))


def bit(node: config.Node) -> str:
    """ATS in force, of lspci: '' without the capability."""
    found = re.search(r"ATSCtl:\s+Enable([+-])", sh(node, f"/usr/bin/lspci -vvv -s {NIC}"))
    return found[1] if found else ""


def counters(node: config.Node) -> dict[str, int]:
    text = sh(node, "cd /sys/class/infiniband/rxe0/ports/1/hw_counters && grep -H . *")
    return {name: int(value) for name, value in (line.split(":") for line in text.split())}


def pair(program: str, *, server: config.Node, client: config.Node, address: str | None = None) -> str:
    """perftest's or rping's two ends; what the client printed. ``program`` without the server's address.

    Now and then both ends of perftest wait for each other without an end: then both begin again.
    """
    ready = threading.Event()
    failed: list[str] = []

    def serve() -> None:
        ready.set()
        script = f"for n in 1 2 3; do timeout {ATTEMPT + 10} {program} && exit 0; done; exit 1"
        done = nodes.inside(server, "bash", "-c", script, check=False, timeout=SECONDS + 30)
        if done.returncode:
            failed.append(f"{program} on {server.name}: status {done.returncode}: {done.stdout}{done.stderr}")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    ready.wait()
    # It listens a moment after it was started; the client is tried until then.
    where = address or server.cluster_ip
    script = f"for n in $(seq 20); do sleep 3; timeout {ATTEMPT} {program} {where} && exit 0; done; exit 1"
    text = sh(client, script)
    thread.join(60)
    assert not failed, failed[0]
    return text


def broken(program: str, *, server: config.Node, client: config.Node, until: str, user: str = "root") -> str:
    """What the client printed of a program that does not end well; ``until``: words by which that is known."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        serving = pool.submit(sh, server, f"timeout {SECONDS} {program}", check=False)
        # It listens a moment after it was started.
        once = f"su {user} -c 'timeout {SECONDS} {program} {server.cluster_ip}' > /run/job.log 2>&1"
        script = (
            f"for n in $(seq 20); do {once}; grep -qE '{until}' /run/job.log && break; sleep 2; done; cat /run/job.log"
        )
        text = sh(client, script)
        while not serving.done():
            sh(server, f"pkill -x {program.split(maxsplit=1)[0]}", check=False)
            concurrent.futures.wait([serving], 5)
    return text


def doctor(**pieces: str) -> list[dict[str, Any]]:
    """What the doctor finds in texts, worst first. ``pieces``: host, or ``job`` -> what was read there."""
    evidence = {"job.log" if name == "job" else f"hosts/{name}/answer.txt": text for name, text in pieces.items()}
    findings: list[dict[str, Any]] = ansible("localhost", "doctor", {"evidence": evidence})[1]["findings"]
    return findings


def module(name: str, node: config.Node, **options: Any) -> dict[str, Any]:
    """A module of the collection on a guest, as root, through Ansible."""
    code, result = ansible(node.name, name, options, "-b")
    assert code == 0, result
    return result


def refusal(name: str, node: config.Node, **options: Any) -> dict[str, Any]:
    """What a module says that refuses."""
    code, result = ansible(node.name, name, options, "-b")
    assert code != 0, result
    return result


def ansible(host: str, name: str, options: dict[str, Any], *words: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [
            *(str(Path(sys.executable).with_name("ansible")), host),
            *(word for inventory in config.SHAPE.inventories for word in ("-i", inventory)),
            *(*words, "-m", f"rocemesh.multinode.{name}", "--one-line"),
            *(("-a", json.dumps(options)) if options else ()),
        ],
        cwd=config.REPO,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    said = done.stdout.partition(" => ")[2]
    assert said, done.stdout + done.stderr
    result: dict[str, Any] = json.loads(said)
    return done.returncode, result
