from __future__ import annotations

import contextlib
import os
import pathlib
import signal

from .conftest import Vcenter
from .site_playbooks import WAITING, Controller
from .test_reboot import wait_until

ALLOW = ("-e", "rocemesh_allow_reboot=true")
FIRST, SECOND = {"esx01": ["gpu01", "gpu02"]}, {"esx02": ["gpu03"]}


def test_refused_window_then_somebodys_maintenance_then_the_site_from_another_directory(
    vcenter: Vcenter, tmp_path: pathlib.Path
) -> None:
    vcenter.ask("POST", "/guest", {"vm": "gpu02", "tools": "notRunning"})
    refused = Controller(vcenter, tmp_path / "one", FIRST, WAITING).play("reboot.yml", *ALLOW)
    assert refused.returncode != 0 and "gpu02 cannot be shut" in refused.stdout, refused.stdout
    assert "No further host" in refused.stdout
    assert vcenter.ask("GET", "/fields") == {"": {}}, "a refusal leaves nothing"
    for vm in ("gpu01", "gpu02"):
        vcenter.ask("POST", "/admin", {"do": "off", "vm": vm})
    vcenter.ask("POST", "/admin", {"do": "enter", "host": "esx01"})
    other = Controller(vcenter, tmp_path / "elsewhere" / "two", FIRST, WAITING)
    # The stages of the ESXi hosts, in the order of the whole run: there is no switch here and no guest to log in to.
    next_run = other.play("site.yml", *ALLOW, "--tags", "recover,esxi,power,window")
    said = next_run.stdout + next_run.stderr
    assert next_run.returncode != 0, said
    assert "technician" in said, said
    left = vcenter.host("esx01")
    assert (left["maintenance"], left["boots"]) == (True, 0), said
    assert {vcenter.vm(vm)["power"] for vm in ("gpu01", "gpu02")} == {"off"}, said


def test_killed_playbook_is_finished_from_another_directory(vcenter: Vcenter, tmp_path: pathlib.Path) -> None:
    vcenter.fault("host_never_returns", host="esx01")
    process = Controller(vcenter, tmp_path / "one", FIRST, WAITING).start("reboot.yml", *ALLOW)
    wait_until(lambda: vcenter.host("esx01")["connection"] == "notResponding", 180)
    waiting = Controller(vcenter, tmp_path / "elsewhere" / "two", FIRST)
    beside = waiting.play("recover.yml")
    assert beside.returncode != 0 and "another run has" in beside.stdout, beside.stdout
    for pid in [*descendants(process.pid), process.pid]:
        os.kill(pid, signal.SIGKILL)
    process.wait()
    vcenter.heal()
    finished = waiting.play("recover.yml")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert (vcenter.host("esx01")["maintenance"], vcenter.host("esx01")["boots"]) == (False, 1)
    window = Controller(vcenter, tmp_path / "three", SECOND, WAITING).play("reboot.yml", *ALLOW)
    assert window.returncode == 0, window.stdout + window.stderr
    assert (vcenter.host("esx02")["boots"], vcenter.vm("gpu03")["power"]) == (1, "on")
    assert vcenter.ask("GET", "/fields") == {"": {"rocemesh.window": "HostSystem"}}, "nothing is left behind"


def descendants(pid: int) -> list[int]:
    """Children first to be listed, of what this test has started itself."""
    parents: dict[int, list[int]] = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found = parents.get(pid, [])
    return found + [below for child in found for below in descendants(child)]
