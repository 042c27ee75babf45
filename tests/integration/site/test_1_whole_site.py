"""The whole guide on one twin, from factory state. The tests of this file build on each other, in order."""

from __future__ import annotations

import operator
import pathlib
import tempfile
import time
from collections.abc import Iterator

import pytest

from tests import site_run
from tests.site_run import ALLOW, SHORT, Run

STAGES = ("preflight", "switch", "recover", "esxi", "power", "guest", "window", "ats", "image", "mesh", "run", "report")
HOSTS = ("esx01", "esx02")
NODES = ("gpu01", "gpu02", "gpu03", "gpu04")
# Module starts and task results of a node with nothing to change, the jobs apart: docs/benchmarks.md has the same.
MOST = (3, 24)
# The head answers what is asked once for all, makes its keys before the others learn of them, asks the registry, and
# logs in to the others.
MOST_OF_HEAD = (6, 40)


@pytest.fixture(scope="module", autouse=True)
def factory(twin: None) -> Iterator[None]:
    site_run.reset()
    yield


@pytest.fixture(scope="module")
def scratch() -> Iterator[pathlib.Path]:
    """Home of everything temporary of the first run. A short path: ssh's control sockets live in it."""
    with tempfile.TemporaryDirectory(prefix="rocemesh-") as path:
        yield pathlib.Path(path)


def test_preflight_finds_nothing_on_a_right_site_and_changes_nothing(scratch: pathlib.Path) -> None:
    before = site_run.durable()
    run = site_run.play("preflight.yml", "-e", f"preflight_dest={scratch}/preflight.json")
    assert run.rc == 0, run.tail()
    assert "no blocking problems" in run.out, run.tail()
    assert site_run.durable() == before, "preflight changed the twin"


def test_check_mode_prints_the_whole_plan_and_changes_nothing() -> None:
    before = site_run.durable()
    run = site_run.play("site.yml", "--check", "--diff")
    assert run.rc == 0, run.tail()
    assert site_run.durable() == before, "check mode changed the twin"
    for word in (
        "roce",
        "vlan",
        "mtu",
        "atsSupport",
        "pciPassthru.allowP2P",
        "ATS_ENABLED",
        "authorized_keys",
        "mpicont",
    ):
        assert word.lower() in run.out.lower(), f"the plan does not mention {word}"


def test_without_permission_the_run_stops_before_the_containers_and_says_why() -> None:
    run = site_run.play("site.yml")
    assert run.rc != 0
    for host in HOSTS:
        assert f"{host}: host reboot" in run.out, run.tail()
    for reason in ("atsSupport", "pciPassthru.allowP2P", "ATS_ENABLED", "rocemesh_allow_reboot=true"):
        assert reason in run.out, f"the reasons do not mention {reason}"
    assert site_run.boots() == dict.fromkeys(HOSTS, 0), "a host was rebooted without permission"
    assert not any(site_run.containers(node) for node in NODES), "the run went on to the containers"


def test_power_cycling_only_the_vms_does_not_make_ats_active() -> None:
    site_run.power_cycle(NODES)
    views = site_run.state()["physics"]["pci"]
    assert not any(function["ats_enabled"] for view in views.values() for function in view["functions"].values())
    run = site_run.play("ats.yml", "--limit", "gpu_vms")
    assert run.rc != 0, "ATS counts as active without a host reboot"


@pytest.fixture(scope="module")
def first_run(scratch: pathlib.Path) -> Run:
    return site_run.play("site.yml", *ALLOW, *SHORT, "-vvv", scratch=scratch)


def test_allowed_again_it_continues_and_finishes(first_run: Run) -> None:
    assert first_run.rc == 0, first_run.tail()
    report = site_run.summary()
    assert report["ranks"] == 4
    assert report["images_per_second"]["total"] > 0
    assert len(report["images_per_second"]["per_rank"]) == 4
    assert all(rate > 0 for rate in report["images_per_second"]["per_rank"])
    assert sorted(report["hosts_rebooted"]) == list(HOSTS)
    assert report["simulated"] is True
    assert all(layer["verified"] for layer in report["layers"].values()), report["layers"]
    # Switch, ESXi hosts and NICs were configured by the run that had to stop; this one did the rest.
    assert [name for name in ("vm", "container", "mesh") if not report["layers"][name]["changed"]] == []


def test_each_host_rebooted_exactly_once() -> None:
    assert site_run.boots() == dict.fromkeys(HOSTS, 1)


def test_the_report_marks_what_was_simulated() -> None:
    text = (site_run.ROOT / "reports" / "latest" / "report.md").read_text()
    assert "SIMULATED" in text.splitlines()[0]


def test_the_report_gives_wall_time_by_stage() -> None:
    stages = site_run.summary()["stages"]
    assert [name for name in STAGES if name not in stages and name != "report"] == []
    assert all(seconds >= 0 for seconds in stages.values())


def test_no_secret_in_output_report_or_temp_file(first_run: Run, scratch: pathlib.Path) -> None:
    texts = {"output at -vvv": first_run.out}
    left = [*(site_run.ROOT / "reports").rglob("*"), *scratch.rglob("*")]
    assert any(path.name == "summary.json" for path in left)
    for path in left:
        if path.is_file():
            texts[str(path)] = path.read_text(errors="replace")
    secrets = site_run.secrets()
    found = [
        f"{name} in {where}" for where, text in texts.items() for name, secret in secrets.items() if secret in text
    ]
    assert not found
    private = [where for where, text in texts.items() if "PRIVATE KEY" in text]
    assert not private, "a private key is printed or left behind"


def test_second_run_changes_nothing(scratch: pathlib.Path) -> None:
    """It changes nothing, and costs no more than these module starts and task results, whatever the load."""
    images = {node: site_run.images(node) for node in NODES}
    containers = {node: site_run.containers(node) for node in NODES}
    run = site_run.play("site.yml", *ALLOW, *SHORT, counted=scratch / "starts")
    assert run.rc == 0, run.tail()
    assert run.recap, run.tail()
    cost = site_run.cost(scratch / "starts", site_run.plays("run.yml", "report.yml"))
    most = dict.fromkeys(NODES, MOST) | {"gpu01": MOST_OF_HEAD}
    dear = {node: cost[node] for node in NODES if any(map(operator.gt, cost[node], most[node]))}
    assert dear == {}, dear
    assert run.changed == {}, run.out
    assert site_run.boots() == dict.fromkeys(HOSTS, 1), "rebooted again"
    assert {node: site_run.images(node) for node in NODES} == images, "an image was rebuilt"
    assert {node: site_run.containers(node) for node in NODES} == containers, "a container was recreated"
    assert site_run.summary()["hosts_rebooted"] == []


def test_check_mode_on_a_finished_site_plans_nothing() -> None:
    before = site_run.durable()
    run = site_run.play("site.yml", "--check", "--diff")
    assert run.rc == 0, run.tail()
    assert run.changed == {}, run.out
    assert site_run.durable() == before


def reaches(size: int) -> bool:
    """Whether a packet of this length, not cut, goes from the head to a worker and back over the switch."""
    said = site_run.on_node("gpu01", "sh", "-c", f"ping -M do -c 1 -W 1 -s {size - 28} 10.78.0.12 || true")
    return " 1 received" in said


def until(expected: bool, size: int) -> None:
    deadline = time.monotonic() + 20
    while reaches(size) is not expected:
        assert time.monotonic() < deadline, f"{size} bytes {'do not ' if expected else ''}pass"


def test_the_switch_carries_the_traffic_counts_it_and_stops_it() -> None:
    ports = site_run.ask("physics", "/state")["carrier"]["ports"]
    # The training has sent more than logins and pings do.
    assert all(min(counters["rx_bytes"], counters["tx_bytes"]) > 1 << 20 for counters in ports.values()), ports
    until(True, 9000)
    with site_run.fault("switch", name="link_down", port="1/2"):
        until(False, 100)
    until(True, 9000)


def test_a_container_that_is_gone_comes_back_alone() -> None:
    site_run.on_node("gpu03", "docker", "rm", "-f", "mpicont")
    run = site_run.play("mesh.yml")
    assert run.rc == 0, run.tail()
    assert set(run.changed) == {"gpu03"}, run.tail()
