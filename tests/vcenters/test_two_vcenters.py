"""The whole guide over two vCenters whose hosts and VMs have equal names and ids, two hosts on each.

The tests of this file build on each other, in order.
"""

from __future__ import annotations

from typing import Any

import pytest

from lab import config
from tests import site_run
from tests.site_run import ALLOW, SHORT, Run

SECOND = [node for node in config.NODES if node.vcenter == "vsphere2"]


@pytest.fixture(scope="module", autouse=True)
def factory(twin: None) -> None:
    if len(config.VCENTERS) < 2:
        pytest.fail(f"the lab has shape {config.SHAPE.name}: `make lab-down`, then `make vcenters`", pytrace=False)
    site_run.reset()
    forget()


def forget() -> None:
    for vcenter in config.VCENTERS:
        site_run.ask(vcenter, "/calls", "DELETE")


def calls(vcenter: str) -> list[dict[str, Any]]:
    """What was asked to change there."""
    found: list[dict[str, Any]] = site_run.ask(vcenter, "/calls")
    return found


@pytest.fixture(scope="module")
def second_alone(factory: None) -> Run:
    """Everything up to the proof of ATS on the second vCenter, with a login to the first in the inventory."""
    names = {name for node in SECOND for name in (node.name, node.host)}
    return site_run.play(
        "site.yml", *ALLOW, "--limit", ",".join(sorted(names)), "--tags", "preflight,esxi,guest,window,ats"
    )


def test_one_vcenter_alone_leaves_the_other_untouched(second_alone: Run) -> None:
    assert second_alone.rc == 0, second_alone.tail()
    assert calls("vsphere") == []
    assert site_run.boots() == {"esx01": 0, "esx02": 0, "esx03": 1, "esx04": 1}
    views = site_run.state()["physics"]["pci"]
    on = {name: view["functions"][config.NIC_PCI]["ats_enabled"] for name, view in views.items()}
    assert on == {"gpu01": False, "gpu02": False, "gpu03": True, "gpu04": True}


@pytest.fixture(scope="module")
def whole(second_alone: Run) -> Run:
    forget()
    return site_run.play("site.yml", *ALLOW, *SHORT, timeout=3600)


def test_the_whole_site_passes_and_touches_only_what_is_left(whole: Run) -> None:
    assert whole.rc == 0, whole.tail()
    assert calls("vsphere") != [] and calls("vsphere2") == []
    assert site_run.boots() == dict.fromkeys(("esx01", "esx02", "esx03", "esx04"), 1)
    summary = site_run.summary()
    assert summary["ranks"] == len(config.NODES)
    assert all(layer["verified"] for layer in summary["layers"].values()), summary["layers"]
    assert site_run.state()["pending"] == []


def test_a_second_run_changes_nothing(whole: Run) -> None:
    forget()
    again = site_run.play("site.yml", *ALLOW, *SHORT, timeout=3600)
    assert again.rc == 0 and again.changed == {}, again.tail()
    assert [calls(vcenter) for vcenter in config.VCENTERS] == [[], []]


def test_from_nothing_both_have_their_windows_in_one_run(whole: Run) -> None:
    site_run.reset(keep_registry=True)
    forget()
    run = site_run.play("site.yml", *ALLOW, *SHORT, timeout=3600)
    assert run.rc == 0, run.tail()
    assert site_run.boots() == dict.fromkeys(("esx01", "esx02", "esx03", "esx04"), 1)
    kinds = [sorted({call["method"] for call in calls(vcenter)}) for vcenter in config.VCENTERS]
    assert kinds[0] == kinds[1] != []
    assert site_run.state()["pending"] == []
