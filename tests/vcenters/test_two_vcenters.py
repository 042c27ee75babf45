"""The whole guide over two vCenters whose hosts and VMs have equal names and ids, two hosts on each, and the way back.

The tests of this file build on each other, in order: each leaves the site as the next wants it, and nothing is reset
between them. The whole guide is played once; what asks vCenter alone goes as far as the proof of ATS.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import pytest

from lab import config
from tests import site_run
from tests.faults.test_undo import differences, durable, newest
from tests.site_run import ALLOW, SHORT, Run

FIRST, SECOND = ([node for node in config.NODES if node.vcenter == name] for name in ("vsphere", "vsphere2"))
# Up to the proof of ATS: all that vCenter is asked for.
WINDOWS = (*ALLOW, "--tags", "preflight,esxi,guest,window,ats")


@pytest.fixture(scope="module")
def factory(twin: None) -> list[str]:
    if len(config.VCENTERS) < 2:
        pytest.fail(f"the lab has shape {config.SHAPE.name}: `make lab-down`, then `make vcenters`", pytrace=False)
    site_run.reset()
    return durable()


def calls() -> list[list[str]]:
    """What each vCenter was asked to change since the last question, each kind of request once."""
    found: list[list[dict[str, Any]]] = [site_run.ask(vcenter, "/calls") for vcenter in config.VCENTERS]
    for vcenter in config.VCENTERS:
        site_run.ask(vcenter, "/calls", "DELETE")
    return [sorted({call["method"] for call in each}) for each in found]


@dataclasses.dataclass(frozen=True)
class Played:
    """``asked``: what of each vCenter; ``booted``: how often each host."""

    run: Run
    asked: list[list[str]]
    booted: dict[str, int]
    id: str


def play(playbook: str, *arguments: str) -> Played:
    """A run that has to pass."""
    calls()
    before = collections.Counter(site_run.boots())
    run = site_run.play(playbook, *arguments, timeout=3600)
    assert run.rc == 0, run.tail()
    booted = {host: count - before[host] for host, count in site_run.boots().items()}
    return Played(run, calls(), booted, newest(playbook) if run.changed else "")


def boots(*nodes: list[config.Node]) -> dict[str, int]:
    """One of each host of these VMs, and none of the others."""
    mine = {node.host for each in nodes for node in each}
    return {node.host: int(node.host in mine) for node in config.NODES}


def ats_is_on(names: set[str]) -> bool:
    views = site_run.state()["physics"]["pci"]
    return names == {name for name, view in views.items() if view["functions"][config.NIC_PCI]["ats_enabled"]}


@pytest.fixture(scope="module")
def second_alone(factory: list[str]) -> Played:
    """The second vCenter's part, with a login to the first in the inventory."""
    names = sorted({name for node in SECOND for name in (node.name, node.host)})
    return play("site.yml", *WINDOWS, "--limit", ",".join(names))


def test_one_vcenter_alone_leaves_the_other_untouched(second_alone: Played) -> None:
    assert second_alone.asked[0] == [] and second_alone.asked[1] != []
    assert second_alone.booted == boots(SECOND)
    assert ats_is_on({node.name for node in SECOND})


@pytest.fixture(scope="module")
def rest(second_alone: Played) -> Played:
    return play("site.yml", *WINDOWS)


def test_a_run_of_all_touches_only_what_is_left(rest: Played) -> None:
    assert rest.asked[0] != [] and rest.asked[1] == []
    assert rest.booted == boots(FIRST)
    assert ats_is_on({node.name for node in config.NODES})
    assert site_run.state()["pending"] == []


@pytest.fixture(scope="module")
def undone(second_alone: Played, rest: Played) -> list[Played]:
    """Both runs set the same values, on the same names and ids: the one goes back, then the other."""
    assert "" != second_alone.id != rest.id
    one = play("undo.yml", "-e", f"run={second_alone.id}", *ALLOW)
    assert ats_is_on({node.name for node in FIRST})
    return [one, play("undo.yml", "-e", f"run={rest.id}", *ALLOW)]


def test_undo_of_one_run_leaves_what_the_other_set_on_the_other_vcenter(undone: list[Played]) -> None:
    one, other = undone
    assert one.asked[0] == [] and one.asked[1] != [] and one.booted == boots(SECOND)
    assert other.asked[0] != [] and other.asked[1] == [] and other.booted == boots(FIRST)


def test_undo_of_both_runs_restores_the_factory_state(undone: list[Played], factory: list[str]) -> None:
    assert differences(factory) == []


@pytest.fixture(scope="module")
def whole(undone: list[Played]) -> Played:
    return play("site.yml", *ALLOW, *SHORT)


def test_from_nothing_both_have_their_windows_in_one_run_of_the_whole_guide(whole: Played) -> None:
    assert whole.asked[0] == whole.asked[1] != []
    assert whole.booted == boots(FIRST, SECOND)
    summary = site_run.summary()
    assert summary["ranks"] == len(config.NODES)
    assert all(layer["verified"] for layer in summary["layers"].values()), summary["layers"]
    assert site_run.state()["pending"] == []


def test_a_second_run_changes_nothing(whole: Played) -> None:
    """Without the job: tests/integration/site plays it twice, and it asks no vCenter."""
    again = play("site.yml", *ALLOW, "--skip-tags", "run,report")
    assert again.run.changed == {}, again.run.tail()
    assert again.asked == [[], []] and again.booted == boots()
