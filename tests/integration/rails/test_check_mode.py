"""Four hosts with eight GPUs and eight NICs each, in check mode: plan, topology, variables as in golden/.

Nothing is changed meanwhile. golden/README.md says for each line why it is right.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.integration.rails import big_site
from tests.integration.rails.big_site import HOSTS, NODES, RAILS, guest_address
from tests.integration.vsphere.conftest import Pki

GOLDEN = pathlib.Path(__file__).parent / "golden"
STAGES = "switch,esxi,guest,window,all"
SKIPPED = "preflight,recover,power,ats,image,mesh,run,report"
# Who sets the interfaces up is asked of the machine that the tests run on; how it is told is tests/integration/nic's.
_BY_WHOM = re.compile(r"(MTU 9000) (?:whenever|at every).*")
_TOTAL = re.compile(r"\d+ change\(s\); ")


@dataclasses.dataclass(frozen=True)
class Played:
    code: int
    said: str
    out: pathlib.Path
    before: Any
    after: Any

    @property
    def plan(self) -> list[str]:
        """The last thing that is shown."""
        lines = self.said.splitlines()
        first = max(number for number, line in enumerate(lines) if line.startswith("device "))
        return lines[first : lines.index("", first)]


@pytest.fixture(scope="module")
def played(pki: Pki, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    root = tmp_path_factory.mktemp("site")
    (root / "out").mkdir()
    with big_site.standing(root, pki) as site:
        before = site.state()
        words = ("playbooks/site.yml", "tests/integration/rails/written.yml", "--tags", STAGES, "--skip-tags", SKIPPED)
        done = site.play(*words, "-e", f"out={root / 'out'}")
        yield Played(done.returncode, done.stdout + done.stderr, root / "out", before, site.state())


def test_it_plays_to_the_end_and_changes_nothing(played: Played) -> None:
    assert played.code == 0, played.said[-4000:]
    assert played.after == played.before


def test_the_simulated_site_has_32_gpus_and_32_nics(played: Played) -> None:
    vms = big_site.topology()["hosts"]
    devices = [device["kind"] for host in vms for vm in host["vms"] for device in vm["devices"]]
    assert (len(vms), devices.count("gpu"), devices.count("nic")) == (HOSTS, HOSTS * RAILS, HOSTS * RAILS)
    assert json.loads((played.out / "slots.json").read_text()) == [RAILS] * HOSTS, "a rank per GPU"


def test_the_plan_is_the_golden_one(played: Played) -> None:
    """Cells of a row that goes on below are joined, so that the golden file has a line per row."""
    assert rows(played.plan) == (GOLDEN / "plan.txt").read_text().splitlines()


def rows(lines: list[str]) -> list[str]:
    starts = [lines[0].index(word) for word in ("device", "change", "interrupts", "restart", "minutes")]
    found: list[list[str]] = []
    end: list[str] = []
    for line in lines[1:]:
        if end or _TOTAL.match(line):
            end.append(line)
            continue
        cells = [line[at:until].strip() for at, until in zip(starts, [*starts[1:], None])]
        if cells[-1]:
            found.append(cells)
        else:
            found[-1] = [f"{one} {more}".strip() for one, more in zip(found[-1], cells)]
    return [_BY_WHOM.sub(r"\1 for every boot | nothing | no | <1", " | ".join(row)) for row in found] + end


@pytest.mark.parametrize("name", ["topology-gpu01.xml", "variables.json"])
def test_what_nccl_is_given_is_the_golden_file(played: Played, name: str) -> None:
    assert (played.out / name).read_text() == (GOLDEN / name).read_text()


def test_hosts_of_one_kind_have_one_topology(played: Played) -> None:
    first, last = ((played.out / f"topology-{node}.xml").read_text() for node in ("gpu01", "gpu04"))
    assert last == first.replace("gpu01", "gpu04")


def test_each_gpu_lies_below_one_switch_with_the_nic_of_its_own_rail(played: Played) -> None:
    root = ElementTree.fromstring((played.out / "topology-gpu01.xml").read_text())
    switches = [
        {str(child.get("busid")) for child in switch}
        for switch in root.iter("pci")
        if str(switch.get("busid")).startswith("ffff")
    ]
    assert sorted(map(sorted, switches)) == sorted(
        sorted({guest_address("nic", rail), guest_address("gpu", rail)}) for rail in range(RAILS)
    )


def test_every_node_has_a_port_on_every_rail_and_no_nic_is_left_out(played: Played) -> None:
    found = json.loads((played.out / "variables.json").read_text())
    ports = {(port["node"], port["device"]): rail["network"] for rail in found["rails"] for port in rail["ports"]}
    assert ports == {(node, f"mlx5_{rail}"): f"10.{rail + 1}.0.0/24" for node in NODES for rail in range(RAILS)}
    assert found["left_out"] == []
