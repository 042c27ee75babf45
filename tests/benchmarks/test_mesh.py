"""The mesh over 4, 16 and 64 real SSH servers: the role, the guide's steps as a shell loop, and community modules.

In every round all sides take turns, and so does who goes first. Each has a new fleet (tests/integration/mesh/fleet.py),
and has to prove that the head's container reaches the last node. Wall time of the whole command, files and bytes that
it left per node, processor time of everything together, connections that the nodes' servers took. The role has a second
run, with nothing left to change. All nodes and the controller share the cores of this machine, which real nodes do not:
what runs side by side there takes turns here.

Writes mesh.json: `ratios`, and per number of nodes the medians and every run. Settable:
ROCEMESH_BENCH_NODES (4,16,64), ROCEMESH_BENCH_ROUNDS (5,5,3: rounds for each number, or one figure for all).
The pure plan is timed alone for 16, 64 and 256 nodes.
"""

from __future__ import annotations

import base64
import os
import struct
import time
from collections.abc import Callable

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh.plan import plan
from ansible_collections.rocemesh.multinode.plugins.module_utils._mesh.state import (
    MODERN,
    Account,
    FileState,
    MeshState,
    parse_public_key,
    parse_wanted,
)

from tests.benchmarks import mesh_sides
from tests.benchmarks.mesh_sides import processor_time, run
from tests.benchmarks.record import Record, Run, medians, ratio, turns
from tests.integration.mesh.fleet import Fleet, Node, fleet, missing
from tests.unit.mesh.harness import DEFAULTS

NODES = [int(count) for count in os.environ.get("ROCEMESH_BENCH_NODES", "4,16,64").split(",")]
ROUNDS = [int(count) for count in os.environ.get("ROCEMESH_BENCH_ROUNDS", "5,5,3").split(",")]
SIDES = ("role", "shell_loop", "careful_loop", "community")
PLANS = (16, 64, 256)


def written(node: Node) -> tuple[int, int]:
    """Files that were not there before, and their bytes: ~/.ssh, and what the container mounts."""
    files = [
        path for below in ("root/.ssh", "etc/rocemesh") for path in (node.root / below).rglob("*") if path.is_file()
    ]
    return len(files), sum(path.stat().st_size for path in files)


def reaches(nodes: Fleet) -> None:
    head, last = nodes.nodes[0], nodes.nodes[-1]
    if (last.root / "etc/rocemesh/mesh/container/start_sshd.sh").exists():
        last.start_container()
    done = head.in_container(["ssh", "-o", "BatchMode=yes", last.address, "true"])
    assert done.returncode == 0, f"{head.name} does not reach {last.name}: {done.stderr}"


def measure(nodes: Fleet, side: str, used: Callable[[], float]) -> Run:
    connections, before = nodes.connections(), used()
    begun = time.monotonic()
    output = run(nodes, side)
    seconds, busy = time.monotonic() - begun, used() - before
    if side == "role_again":
        assert output.count("changed=0") == len(nodes.nodes), output[-3000:]
    opened = nodes.connections() - connections
    files, size = written(nodes.nodes[-1])
    return {
        "seconds": round(seconds, 3), "processor_seconds": round(busy, 3), "connections": opened,
        "files_per_node": files, "bytes_per_node": size,
    }  # fmt: skip


def one_round(count: int, turn: int, runs: dict[str, list[Run]], used: Callable[[], float]) -> None:
    for side in turns(SIDES, turn):
        with fleet(count) as nodes:
            key = nodes.nodes[0].root / "root/.administrator"
            key.write_bytes(nodes.key.read_bytes())
            key.chmod(0o600)
            runs.setdefault(side, []).append(measure(nodes, side, used))
            reaches(nodes)
            if side == "role":
                runs.setdefault("role_again", []).append(measure(nodes, "role_again", used))


@pytest.fixture(scope="module")
def record() -> Record:
    return Record("mesh", simulated=False, compared=(mesh_sides.__doc__ or "") + (__doc__ or ""))


@pytest.mark.skipif(bool(missing()), reason=missing())
@pytest.mark.parametrize("count", NODES)
def test_mesh_over_real_servers(count: int, record: Record) -> None:
    rounds = ROUNDS[NODES.index(count)] if len(ROUNDS) == len(NODES) else ROUNDS[0]
    runs: dict[str, list[Run]] = {}
    with processor_time() as used:
        for turn in range(rounds):
            one_round(count, turn, runs, used)
    ratios = {
        f"mesh_vs_{other}_{count}_nodes{tail}": ratio(runs[other], runs["role"], what)
        for other in SIDES[1:]
        for what, tail in (("seconds", ""), ("connections", "_connections"))
    }
    record.add(f"{count}_nodes", runs, ratios)
    growth(record)
    # What does not depend on the machine: the controller opens one connection to each node, whatever it does there.
    assert all(each["connections"] == count for each in runs["role"]), runs["role"]


def growth(record: Record) -> None:
    """Seconds per node with the most nodes over seconds per node with the fewest: at most 1 is at most linear."""
    cells = record.content["cells"]
    measured = sorted(int(cell.partition("_")[0]) for cell in cells if cell.endswith("_nodes"))
    if len(measured) > 1:
        for side in SIDES:
            few, most = (medians(cells[f"{n}_nodes"]["runs"])[side]["seconds"] / n for n in (measured[0], measured[-1]))
            record.content["ratios"][f"growth_per_node_{side}_{measured[0]}_to_{measured[-1]}"] = round(most / few, 2)
        record.write()


# ------------------------------------------------------------------------------------------------------- plan alone


def public_key(number: int) -> str:
    blob = b"".join(struct.pack(">I", len(part)) + part for part in (b"ssh-ed25519", number.to_bytes(32, "big")))
    return "ssh-ed25519 " + base64.b64encode(blob).decode()


def planned(count: int) -> tuple[float, int]:
    """Seconds of CPU time for one node's plan of a mesh of ``count``, and bytes that it writes."""
    peers = [
        {
            "name": f"n{number}", "user": "root", "addresses": [f"10.0.{number // 256}.{number % 256}"], "port": 22,
            "host_public_keys": [public_key(3 * number)], "container_public_keys": [public_key(3 * number + 1)],
            "ssh_host_keys": [public_key(3 * number + 2)],
        }
        for number in range(count)
    ]  # fmt: skip
    account = Account("root", 0, 0, "/root")
    files, keys = {}, {}
    for path, text in (
        (MODERN.server_key, peers[0]["ssh_host_keys"][0]),
        (MODERN.container_key, peers[0]["container_public_keys"][0]),
    ):
        files[path] = FileState(path, "file", None, 0o600, 0, 0)
        keys[path] = parse_public_key(str(text), host="n0", thing=path)
    state = MeshState(account, account, files, keys, keys)
    params = {
        **DEFAULTS,
        "transport": "container",
        "name": "n0",
        "peers": peers,
        "head": "n0",
        "host_login": False,
    }
    begun = time.process_time()
    operations = plan(state, parse_wanted(params, host="n0", user="root", planning=False), "n0")
    seconds = time.process_time() - begun
    return seconds, sum(len(operation.payload.get("content", b"")) for operation in operations)


def test_the_plan_grows_no_faster_than_the_mesh(record: Record) -> None:
    found = {count: min((planned(count) for _repeat in range(30)), key=lambda pair: pair[0]) for count in PLANS}
    runs = {
        f"{count} nodes": [{"milliseconds": round(1e3 * s, 2), "bytes_per_node": size}]
        for count, (s, size) in found.items()
    }
    few, most = PLANS[0], PLANS[-1]
    ratios = {
        f"plan_seconds_growth_{few}_to_{most}": found[most][0] / found[few][0] / (most / few),
        f"plan_bytes_growth_{few}_to_{most}": found[most][1] / found[few][1] / (most / few),
    }
    record.add("plan", runs, {name: round(value, 2) for name, value in ratios.items()})
    assert ratios[f"plan_bytes_growth_{few}_to_{most}"] <= 1
    assert ratios[f"plan_seconds_growth_{few}_to_{most}"] <= 1.5, "a node's plan must not grow with the square"
