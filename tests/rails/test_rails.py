"""The whole guide on the lab's second shape: two GPUs and two NICs per VM, two networks, eight ranks.

The tests of this file build on each other, in order. They change nodes and switch and put them back.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lab import config
from tests import site_run
from tests.site_run import ALLOW, Run

NODES = tuple(node.name for node in config.NODES)
SECOND = config.RAILS[-1]
INFINIBAND = "/run/rocemesh-lab/sys/class/infiniband"


@pytest.fixture(scope="module", autouse=True)
def factory(twin: None) -> None:
    if len(config.RAILS) < 2:
        pytest.fail(f"the lab has shape {config.SHAPE.name}: `make lab-down`, then `make rails`", pytrace=False)
    site_run.reset()


def written(playbook: str, out: pathlib.Path) -> dict[str, Any]:
    """What a playbook of this folder writes."""
    run = site_run.play(str(pathlib.Path(__file__).parent / playbook), "-e", f"out={out}")
    assert run.rc == 0, run.tail()
    content: dict[str, Any] = json.loads(out.read_text())
    return content


@pytest.fixture(scope="module")
def first_run(factory: None) -> Run:
    return site_run.play("site.yml", *ALLOW, timeout=3600)


def test_from_nothing_it_finishes_with_a_rank_per_gpu(first_run: Run) -> None:
    assert first_run.rc == 0, first_run.tail()
    summary = site_run.summary()
    assert summary["ranks"] == len(NODES) * len(config.SHAPE.gpus)
    assert all(rate > 0 for rate in summary["images_per_second"]["per_rank"])
    assert all(layer["verified"] for layer in summary["layers"].values()), summary["layers"]


def test_both_cards_of_every_vm_have_ats_in_force(first_run: Run) -> None:
    views = site_run.state()["physics"]["pci"]
    off = [
        (vm, rail.nic) for vm in NODES for rail in config.RAILS if not views[vm]["functions"][rail.nic]["ats_enabled"]
    ]
    assert off == []


def test_both_rails_stand_in_nccls_variables_and_in_the_plan_of_the_counters(
    first_run: Run, tmp_path: pathlib.Path
) -> None:
    found = written("variables.yml", tmp_path / "variables.json")
    assert found["shared"]["NCCL_IB_HCA"] == "=mlx5_0:1,mlx5_1:1"
    assert found["shared"]["NCCL_CROSS_NIC"] == "0"
    assert found["shared"]["NCCL_SOCKET_IFNAME"] == f"={config.RAILS[0].netdev}"
    assert [rail["network"] for rail in found["rails"]] == [rail.subnet for rail in config.RAILS]
    for number, rail in enumerate(found["rails"]):
        own = config.RAILS[number]
        assert [(port["node"], port["netdev"], port["address"]) for port in rail["ports"]] == [
            (node.name, own.netdev, own.address(node.number)) for node in config.NODES
        ]
        assert all({"port_xmit_data", "port_rcv_data"} <= set(port["counters"]) for port in rail["ports"])
    assert found["left_out"] == []


def test_jumbo_frames_pass_on_the_second_rail(first_run: Run) -> None:
    said = site_run.on_node("gpu01", "ping", "-M", "do", "-c", "1", "-W", "5", "-s", "8972", SECOND.address(2))
    assert " 1 received" in said


def test_second_run_changes_nothing(first_run: Run) -> None:
    run = site_run.play("site.yml", *ALLOW, timeout=3600)
    assert run.rc == 0, run.tail()
    assert run.changed == {}, run.out


# -------------------------------------------------------------------------------- one thing wrong on the second rail


def compare(folder: pathlib.Path) -> set[str]:
    report = written("report.yml", folder / "report.json")
    return {*report["mismatches"], *report["unknown"]}


def port(**options: Any) -> None:
    """The second rail's port of gpu02 on the switch, as somebody else would set it."""
    login = {
        "hostname": config.SWITCH_IP,
        "port": config.SSH_PORT,
        "username": config.SWITCH_USER,
        "password": config.paths().secret("switch").read_text().strip(),
        "known_hosts": str(config.paths().known_hosts),
    }
    wanted = {"mode": "lossless", "vlan": 111, "ports": [SECOND.port(2)], "mtu": 9216, "allow_disruption": "any"}
    arguments = {**login, **wanted, **options}
    program = pathlib.Path(sys.executable).parent / "ansible"
    done = subprocess.run(
        [str(program), "localhost", "-m", "rocemesh.multinode.onyx_roce", "-a", json.dumps(arguments),
         "-e", f"ansible_python_interpreter={sys.executable}"],
        cwd=site_run.ROOT, env=site_run.environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def shell(script: str) -> None:
    site_run.on_node("gpu02", "sh", "-ec", script)


@dataclasses.dataclass(frozen=True)
class Wrong:
    """``words``: all of them stand in what consistency finds then and did not find before."""

    do: Callable[[], None]
    undo: Callable[[], None]
    words: tuple[str, ...]


def gids(script: str) -> tuple[Callable[[], None], Callable[[], None]]:
    """``script`` changes the simulated card's files in $P; they are put back from a copy."""
    tree = "/run/rocemesh-lab"
    keep = f"cp -a {tree}/sys {tree}/kept; P={INFINIBAND}/mlx5_1/ports/1; {script}"
    return lambda: shell(keep), lambda: shell(f"rm -rf {tree}/sys; mv {tree}/kept {tree}/sys")


FOREIGN = 'for n in 2 3; do echo 0000:0000:0000:0000:0000:ffff:ac10:000c > "$P/gids/$n"; done'
TABLE = {
    "mtu_of_the_interface": Wrong(
        lambda: shell(f"ip link set {SECOND.netdev} mtu 1500"),
        lambda: shell(f"ip link set {SECOND.netdev} mtu 9000"),
        ("gpu02", "1500"),
    ),
    "mtu_of_the_switch_port": Wrong(lambda: port(mtu=1500), lambda: port(mtu=9216), (SECOND.port(2), "1500")),
    "vlan_of_the_switch_port": Wrong(lambda: port(vlan=112), lambda: port(vlan=111), (SECOND.port(2), "112")),
    "address_in_another_network": Wrong(*gids(FOREIGN), ("gpu02", SECOND.subnet)),
    "roce_v1_alone": Wrong(*gids('echo "IB/RoCE v1" > "$P/gid_attrs/types/3"'), ("gpu02", SECOND.subnet)),
    "card_is_gone": Wrong(*gids(f"rm {INFINIBAND}/mlx5_1"), ("gpu02", SECOND.subnet)),
}


@contextlib.contextmanager
def wrong(name: str) -> Iterator[Wrong]:
    entry = TABLE[name]
    entry.do()
    try:
        yield entry
    finally:
        entry.undo()


@pytest.fixture(scope="module")
def before(first_run: Run, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The lab's site sets no quality of service on its NICs: what stands there already is not what is looked for."""
    return compare(tmp_path_factory.mktemp("before"))


@pytest.mark.parametrize("name", TABLE)
def test_each_single_mismatch_on_the_second_rail_is_found_and_named(
    name: str, before: set[str], tmp_path: pathlib.Path
) -> None:
    with wrong(name) as entry:
        found = compare(tmp_path) - before
    assert any(all(word in text for word in entry.words) for text in found), sorted(found)


def test_what_was_put_right_is_found_no_more(before: set[str], tmp_path: pathlib.Path) -> None:
    assert compare(tmp_path) == before
