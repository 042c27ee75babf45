"""Faults of the gym that a living device of the lab can show (`python -m lab fault list`).

The doctor finds nothing on the right site, and names each fault first, at its place, within a minute, and changes
nothing. site.yml puts the fault right, or stops and says the same as the doctor; no run with a fault is PROVEN. A fault
that shows only when something is set or restarts is met by a run from factory state.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

from lab import config, control
from lab.gym import model, site, verbs
from lab.gym.faults import FAULTS
from tests import site_run

HOST = "gpu02"
ESX = site.ESXI[HOST]
SECONDS = 60.0
LATE = ("-e", "rocemesh_maintenance_timeout=20")
PORT = "1/2"


@dataclasses.dataclass(frozen=True)
class Met:
    """``says``: what site.yml stops with, the thing and its place; empty: it runs to its end. ``factory``: the fault
    shows only when something is set or restarts."""

    says: str
    factory: bool = False


MET = {
    "switch_pfc_off": Met(rf"port {PORT}: PFC is operationally Disabled"),
    "switch_exception": Met(rf"exception list: Eth{PORT} PFC is not enabled"),
    "switch_drops": Met(""),
    "cable_unplugged": Met(r"no login to gpu02 .*timed out"),
    "nic_without_ats": Met(r"gpu02.*ATS_ENABLED"),
    "nic_livefish": Met(r"gpu02.*[Ll]ivefish"),
    "firewall_drop": Met(r"10\.78\.0\.12"),
    "container_memlock": Met(r"gpu02.*"),
    "host_frozen": Met(r"gpu02.*(?:unreachable|timed out)"),
    "nic_ats_pending": Met(r"gpu02: .*ATS is not in force", factory=True),
    "nic_power_cycle": Met(r"gpu02: .*ATS is not in force", factory=True),
    "esxi_ats_pending": Met(rf"{ESX}.*atsSupport", factory=True),
    "esxi_ats_absent": Met(rf"{ESX}.*atsSupport"),
    "esxi_maintenance_stuck": Met(rf"{ESX}.*maintenance", factory=True),
    "vm_p2p_keys": Met(r"gpu02.*pciPassthru\.allowP2P", factory=True),
    "vm_relax_acs": Met(r"gpu02.*pciPassthru\.RelaxACSforP2P", factory=True),
}


def test_every_fault_that_a_device_can_show_is_met_here() -> None:
    assert set(MET) == {name for name, fault in FAULTS.items() if fault.call}


@pytest.fixture(scope="module")
def standing(twin: None) -> None:
    """The whole guide has been played."""
    run = site_run.play("site.yml", *site_run.ALLOW, *site_run.SHORT)
    assert run.rc == 0, run.tail()


def clear() -> None:
    for program in verbs.PROGRAMS:
        control.request("DELETE", control.url(program, "/fault"), timeout=120)


@pytest.fixture(autouse=True)
def right_again() -> Iterator[None]:
    yield
    clear()


def set_fault(name: str) -> None:
    call = FAULTS[name].call
    assert call
    control.request("POST", control.url(call.program, "/fault"), verbs.body(call, HOST), timeout=60)


def asked(tmp_path: pathlib.Path) -> tuple[site_run.Run, dict[str, Any]]:
    """The doctor's run and its answer."""
    dest = tmp_path / "doctor.json"
    run = site_run.play("doctor.yml", "-e", f"doctor_dest={dest}")
    assert dest.exists(), run.tail()
    answer: dict[str, Any] = json.loads(dest.read_text(encoding="utf-8"))
    return run, answer


def briefly(answer: dict[str, Any]) -> list[tuple[str, str, list[str]]]:
    return [(found["cause"], found["certainty"], found["hosts"]) for found in answer["findings"]]


def place(name: str) -> set[str]:
    """Where the doctor may see it: at its place, and a cable at its port of the switch as well."""
    found = {model.where(FAULTS[name], HOST)}
    if FAULTS[name].layer == "cabling":
        found |= {site.SWITCH, HOST}
    return {config.SWITCH_NAME if each == site.SWITCH else each for each in found}


def named(name: str, answer: dict[str, Any], among: int = 1) -> bool:
    return any(
        found["cause"] in FAULTS[name].causes and place(name) & set(found["hosts"])
        for found in answer["findings"][:among]
    )


def test_on_the_right_site_nothing_is_more_than_a_candidate(standing: None, tmp_path: pathlib.Path) -> None:
    before = site_run.durable()
    run, answer = asked(tmp_path)
    assert [found for found in briefly(answer) if found[1] != "candidate"] == [], run.tail()
    assert answer["verdict"] != "faulty" and run.rc in (0, 3), run.tail()
    assert site_run.durable() == before, "the doctor changed the twin"


@pytest.mark.parametrize("name", [name for name, met in MET.items() if not met.factory])
def test_a_fault_that_shows_is_named_first_and_site_yml_stops_or_mends_it(
    name: str, standing: None, tmp_path: pathlib.Path
) -> None:
    set_fault(name)
    frozen = name == "host_frozen"
    before = None if frozen else site_run.durable()
    run, answer = asked(tmp_path)
    assert frozen or site_run.durable() == before, "the doctor changed the twin"
    assert named(name, answer), (sorted(place(name)), briefly(answer), run.tail())
    assert run.rc in (2, 3) and answer["verdict"] != "healthy", run.tail()
    assert run.seconds < SECONDS, f"{run.seconds:.0f} s"
    met(name, site_run.play("site.yml", *site_run.ALLOW, *site_run.SHORT, *LATE))


@pytest.mark.parametrize("name", [name for name, met in MET.items() if met.factory])
def test_a_fault_that_shows_when_something_is_set_stops_the_run_and_is_named(
    name: str, twin: None, tmp_path: pathlib.Path
) -> None:
    site_run.reset(keep_registry=True)
    set_fault(name)
    met(name, site_run.play("site.yml", *site_run.ALLOW, *site_run.SHORT, *LATE))
    before = site_run.durable()
    run, answer = asked(tmp_path)
    # What the run did not come to is not as the inventory wants it either.
    assert named(name, answer, 3), (sorted(place(name)), briefly(answer), run.tail())
    assert run.seconds < SECONDS, f"{run.seconds:.0f} s"
    assert site_run.durable() == before, "the doctor changed the twin"


def met(name: str, run: site_run.Run) -> None:
    """It stopped with the thing and its place, or ran to its end; and it is not PROVEN."""
    said = " ".join(run.out.split())
    if MET[name].says:
        assert run.rc != 0, run.tail()
        failed = re.search(r"(?:fatal|failed): \[.*", said)
        assert failed and re.search(MET[name].says, failed[0]), run.tail(80)
    else:
        assert run.rc == 0, run.tail()
        assert site_run.summary()["verdict"]["state"] != "PROVEN"
