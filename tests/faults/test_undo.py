"""The way back in the lab: after site and undo the twin is as before; a host that was removed comes again."""

from __future__ import annotations

import json

import pytest

from tests import site_run
from tests.site_run import ALLOW, SHORT

NO_JOB = ("--skip-tags", "run,report")


def newest(playbook: str) -> str:
    """The id of the newest run of that playbook that changed something."""
    for path in sorted((site_run.ROOT / "reports" / "journal").glob("*.jsonl"), reverse=True):
        if "plan" not in path.stem and json.loads(path.read_text().splitlines()[0])["playbook"] == playbook:
            return path.stem
    raise AssertionError(f"no journal of {playbook}")


def durable() -> list[str]:
    """Everything durable in the twin but images on nodes, which stay (docs/day-2.md), and counters."""
    # vga: set by somebody else before the site, in force from the first reboot on, whoever makes it.
    counts = (": image ", "/switch/flaps/", "/boots: ", "/kernel/vga/runtime: ")
    return [line for line in site_run.durable() if not any(part in line for part in counts)]


def differences(before: list[str]) -> list[str]:
    now = durable()
    return [*(f"- {line}" for line in before if line not in now), *(f"+ {line}" for line in now if line not in before)]


@pytest.fixture
def factory(twin: None) -> list[str]:
    site_run.reset()
    return durable()


def test_undo_of_the_whole_site_restores_the_factory_state(factory: list[str]) -> None:
    run = site_run.play("site.yml", *ALLOW, *SHORT, *NO_JOB)
    assert run.rc == 0 and durable() != factory, run.tail()
    back = ("undo.yml", "-e", f"run={newest('site.yml')}", *ALLOW)
    undone = site_run.play(*back)
    assert undone.rc == 0, undone.tail()
    assert differences(factory) == []
    again = site_run.play(*back)
    assert again.rc == 0 and again.changed == {} and differences(factory) == [], again.tail()


def test_host_that_leaves_has_nothing_left_and_comes_again(factory: list[str]) -> None:
    run = site_run.play("site.yml", *ALLOW, *SHORT, *NO_JOB)
    assert run.rc == 0, run.tail()
    ports = json.dumps({"host_ports": {"sw01": ["1/4"]}})
    removed = site_run.play("remove_host.yml", "-e", "host=gpu04", "-e", ports, *ALLOW)
    assert removed.rc == 0, removed.tail()
    assert [line for line in durable() if line.startswith("/nodes/gpu04")] == [
        line for line in factory if line.startswith("/nodes/gpu04")
    ]
    switch = site_run.state()["switch"]["running"]["ports"]
    assert switch["1/4"]["mtu"] == 1500 and switch["1/3"]["mtu"] == 9216
    assert not any("10.78.0.14" in site_run.on_node("gpu01", "cat", f"/etc/rocemesh/mesh/container/{name}")
                   for name in ("config", "known_hosts", "authorized_keys"))  # fmt: skip
    added = site_run.play("add_host.yml", "-e", "host=gpu04", *ALLOW)
    assert added.rc == 0, added.tail()
    drift = site_run.play("drift.yml", "--check")
    assert drift.rc == 0, drift.tail()
