"""Inventories of sites that nobody has prepared for a rehearsal are rehearsed to the end, and nothing can leave it."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.config import LabError
from lab.rehearsal import namespace
from tests.integration.rehearsal.inventories import INVENTORIES, write

ROOT = Path(__file__).resolve().parents[3]
# All with ROCEMESH_REHEARSALS=all (an hour of processor time), else one.
CHOSEN = list(INVENTORIES) if os.environ.get("ROCEMESH_REHEARSALS") == "all" else ["mixed-leafs"]


def rehearse(inventory: Path, dest: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lab.rehearsal", "-i", str(inventory), "--dest", str(dest), *words],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != namespace.OUTER},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=7200,
        check=False,
    )


@pytest.mark.parametrize("name", CHOSEN)
def test_foreign_inventory_is_rehearsed_to_the_end(name: str, tmp_path: Path) -> None:
    inventory = write(INVENTORIES[name](), tmp_path / "inventory")
    before = inventory.read_bytes()
    done = rehearse(inventory, tmp_path / "out")
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    preflight = json.loads((tmp_path / "out/reports/preflight.json").read_text())
    assert preflight["problems"] == [] and "NOT PROVEN" in done.stdout
    windows = re.findall(r"^\S+ +maintenance window:", done.stdout.partition("\ndevice ")[2], re.M)
    assert len(windows) == len(INVENTORIES[name]()["groups"]["esxi_hosts"]["hosts"])
    assert inventory.read_bytes() == before
    stages, table, _rows = done.stdout.partition("\ndevice ")
    assert table and len(stages.splitlines()) < 40
    (plan,) = (tmp_path / "out/reports/journal").glob("*-plan.jsonl")
    planned = [json.loads(line) for line in plan.read_text().splitlines()]
    hosts = {row.get("host") for row in planned}
    assert {*INVENTORIES[name]()["groups"]["gpu_vms"]["hosts"]} <= hosts


def test_problem_of_an_inventory_ends_the_rehearsal_by_its_name(tmp_path: Path) -> None:
    inventory = INVENTORIES["mixed-leafs"]()
    inventory["all"]["rocemesh_max_unavailable"] = "banana"
    done = rehearse(write(inventory, tmp_path / "inventory"), tmp_path / "out")
    assert done.returncode == 2 and "rocemesh_max_unavailable" in done.stdout and "banana" in done.stdout


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, str]]:
    """A port of the machine's own loopback and an abstract socket, where somebody listens."""
    name = f"rocemesh-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(f"\0{name}")
        unix.listen()
        monkeypatch.setenv("PYTHONPATH", str(ROOT))
        yield server.getsockname()[1], name


def test_packet_out_of_the_namespace_is_impossible(outside: tuple[int, str]) -> None:
    port, name = outside
    words = ("-m", "tests.integration.rehearsal.way_out", str(port), name)
    here = subprocess.run([sys.executable, *words, ""], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {"outer loopback", "abstract socket"} <= set(json.loads(here.stdout))
    command, environment = namespace.entering(words[1], [str(port), name, namespace.namespace()])
    inside = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(inside.stdout) == []


def test_rehearsal_refuses_a_namespace_with_a_way_out() -> None:
    with pytest.raises(LabError, match="lo alone"):
        namespace.refuse_a_way_out(namespace.namespace())
