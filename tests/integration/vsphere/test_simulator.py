"""The simulator's contract with the physics daemon and with whoever hashes its state."""

from __future__ import annotations

import http.server
import json
import pathlib
import threading
import urllib.error
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.transport import Connection, Endpoint

from .conftest import TOPOLOGY, USER, Pki, Run, Vcenter, change_while_on, run_module, start
from .test_reboot import wait_until


class Physics:
    """Stands for the daemon behind --hook: keeps every event, and can refuse."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.refuse = ""
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.events.append(event)
                self.send_response(500 if outer.refuse == event["event"] else 200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/event"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self) -> list[tuple[str, str]]:
        """(event, VM or host) since the last look."""
        seen = [(event["event"], event.get("vm") or event["host"]) for event in self.events]
        self.events.clear()
        return seen


@pytest.fixture(scope="module")
def site(binary: pathlib.Path, pki: Pki, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Vcenter, Physics]]:
    physics = Physics()
    vcenter = start(binary, pki, tmp_path_factory.mktemp("hooked"), TOPOLOGY, "--hook", physics.url)
    yield vcenter, physics
    vcenter.process.terminate()
    vcenter.process.wait(timeout=10)
    physics.server.shutdown()


def test_running_vms_are_announced_with_their_keys(site: tuple[Vcenter, Physics]) -> None:
    vcenter, physics = site
    vcenter.ask("POST", "/reset")
    events = {event["vm"]: event for event in physics.events if event["event"] == "vm_power_on"}
    assert set(events) == {"gpu01", "gpu02", "gpu03", "vcsa"}
    assert events["gpu01"]["host"] == "esx01" and events["gpu01"]["ats_runtime"] is False
    assert events["gpu01"]["extra_config"]["pciPassthru.use64bitMMIO"] == "TRUE"


def test_reboot_is_told_before_the_vms_start_with_what_is_in_force_then(site: tuple[Vcenter, Physics]) -> None:
    vcenter, physics = site
    vcenter.ask("POST", "/reset")
    physics.take()
    login = vcenter.login
    run_module("esxi_kernel_setting", {**login, "esxi_hostname": "esx01", "settings": {"atsSupport": True}})
    done = run_module(
        "esxi_reboot",
        {
            **login,
            "esxi_hostname": "esx01",
            "pending_settings": ["atsSupport"],
            "vm_policy": "shutdown",
            "vm_allowlist": ["gpu01", "gpu02"],
        },
    )
    assert done["rebooted"]
    last = physics.events[-1]
    assert last["ats_runtime"] is True
    assert next(e for e in physics.events if e["event"] == "host_rebooted")["vms"] == ["gpu01", "gpu02"]
    told = physics.take()
    # The guests are shut down side by side: either may be the first.
    assert sorted(told[:2]) == [("vm_shutdown_guest", "gpu01"), ("vm_shutdown_guest", "gpu02")]
    assert told[2:] == [("host_rebooted", "esx01"), ("vm_power_on", "gpu01"), ("vm_power_on", "gpu02")]


def test_node_that_does_not_start_fails_the_power_on(site: tuple[Vcenter, Physics]) -> None:
    vcenter, physics = site
    vcenter.ask("POST", "/reset")
    physics.refuse = "vm_power_on"
    failed = run_module("vmx_passthru", {**vcenter.login, "vm": "gpu01", "power_policy": "poweroff"})
    physics.refuse = ""
    assert "DevicePowerOn" in failed.msg and "500" in failed.msg
    assert vcenter.vm("gpu01")["power"] == "off"


def test_guest_that_stops_by_itself_is_off_and_has_no_keys_in_force(vcenter: Vcenter) -> None:
    vcenter.ask("POST", "/guest", {"vm": "gpu01", "power": "off"})
    assert (vcenter.vm("gpu01")["power"], vcenter.vm("gpu01")["in_force"]) == ("off", None)


def test_state_is_the_same_text_until_something_changes(vcenter: Vcenter, run: Run) -> None:
    before = json.dumps(vcenter.state())
    run("esxi_pci_info", esxi_hostname="esx01")
    assert json.dumps(vcenter.state()) == before
    run("esxi_kernel_setting", esxi_hostname="esx01", settings={"atsSupport": True})
    assert json.dumps(vcenter.state()) != before
    vcenter.ask("POST", "/reset")
    assert json.dumps(vcenter.state()) == before


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/fault", {"name": "no_such_fault"}),
        ("/fault", {"name": "duplicate_vm", "vm": "nobody"}),
        ("/guest", {"vm": "nobody", "power": "off"}),
        ("/guest", {"vm": "gpu01", "power": "on"}),
        ("/guest", {"vm": "gpu01", "tools": "perhaps"}),
    ],
)
def test_wrong_control_request_is_refused(vcenter: Vcenter, path: str, body: dict[str, str]) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        vcenter.ask("POST", path, body)
    assert caught.value.code == 400


def test_reset_brings_the_vms_of_a_silent_host_back(vcenter: Vcenter, run: Run) -> None:
    vcenter.fault("host_never_returns", host="esx04")
    run("esxi_reboot", esxi_hostname="esx04", required=True, reboot_timeout=1)
    assert "disconnected" in run("vmx_passthru", vm="split").msg
    vcenter.ask("POST", "/reset")
    assert not run("vmx_passthru", vm="split").failed


def test_reset_voids_what_is_under_way(binary: pathlib.Path, pki: Pki, tmp_path: pathlib.Path) -> None:
    """A guest that was asked before a reset does not go down after it; one that is asked later does."""
    vcenter = start(binary, pki, tmp_path, {**TOPOLOGY, "shutdown_seconds": 0.3})
    try:
        with Connection(Endpoint("127.0.0.1", USER, vcenter.password, vcenter.port, ca_path=str(vcenter.ca))) as client:
            client.find_vm("gpu01").ShutdownGuest()
            vcenter.ask("POST", "/reset")
            client.find_vm("gpu02").ShutdownGuest()
            wait_until(lambda: vcenter.vm("gpu02")["power"] == "off")
            client.find_vm("gpu03").ShutdownGuest()  # by now the first one's time is over for certain
            wait_until(lambda: vcenter.vm("gpu03")["power"] == "off")
        assert vcenter.vm("gpu01")["power"] == "on"
    finally:
        vcenter.process.terminate()
        vcenter.process.wait(timeout=10)


def test_events_of_a_vm_are_all_there_however_many(vcenter: Vcenter, run: Run) -> None:
    vcenter.fault("hot_change_allowed", vm="gpu01")
    for number in range(12):
        change_while_on(vcenter, "gpu01", {"guestinfo.turn": str(number)})
    change_while_on(vcenter, "gpu01", {"pciPassthru.allowP2P": "TRUE", "pciPassthru.RelaxACSforP2P": "TRUE"})
    for number in range(12):
        change_while_on(vcenter, "gpu01", {"guestinfo.turn": str(number)})
    assert run("vmx_passthru", vm="gpu01")["power_cycle_required"]
