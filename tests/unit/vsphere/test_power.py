"""Power-on in the right place, answers that are lost, and what is said of a VM that is down."""

from __future__ import annotations

import dataclasses
import http.client
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import (
    ApplyError,
    LayerError,
    UnreachableError,
    VerifyError,
    converge,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.keys import VmxWanted
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.layers import VmxLayer
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.power import VmPower
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.transport import translated, vim

from tests.unit.vsphere.fakes import FakeSite, host_row, vm_row

SHUTDOWN = VmxWanted(power_policy="shutdown")
GONE = http.client.RemoteDisconnected("gone")


class Deaf(FakeSite):
    """Carries out a call and loses its answer."""

    def __init__(self, method: str, power: str = "poweredOn") -> None:
        super().__init__(vm_row(power=power))
        self.lost = method

    def call(self, moid: str, method: str, arguments: dict[str, Any]) -> Any:
        task = super().call(moid, method, arguments)
        if method == self.lost:
            self.lost = ""
            raise GONE
        return task


def vmx(site: FakeSite, wanted: VmxWanted = SHUTDOWN) -> dict[str, Any]:
    return converge(VmxLayer(site, "gpu01", wanted), wanted)


def power(site: FakeSite) -> str:
    return str(site.rows["vm-1"]["runtime.powerState"])


def test_power_on_names_the_host_that_the_vm_is_on() -> None:
    site = FakeSite()
    VmPower(site, "vm-1", "gpu01").on(30.0)
    assert site.calls == ["PowerOnVM_Task"] and site.arguments[0]["host"]._moId == "host-1"


@pytest.mark.parametrize(("found", "done"), [("poweredOff", True), ("poweredOn", False)])
def test_guest_that_went_down_by_itself_just_before_the_cut_is_down(found: str, done: bool) -> None:
    site = FakeSite(vm_row(power=found))
    site.faults["PowerOffVM_Task"] = [vim.fault.InvalidPowerState(requestedState="poweredOff", existingState=found)]
    if done:
        VmPower(site, "vm-1", "gpu01").cut(30.0)
        return
    with pytest.raises(ApplyError, match="InvalidPowerState"):
        VmPower(site, "vm-1", "gpu01").cut(30.0)


def test_power_on_of_a_host_alone_names_none() -> None:
    class Alone(FakeSite):
        is_vcenter = False  # type: ignore[assignment]

    site = Alone()
    VmPower(site, "vm-1", "gpu01").on(30.0)
    assert site.arguments == [{}]


def test_vm_that_started_elsewhere_is_an_error_with_both_names() -> None:
    class Moved(FakeSite):
        def call(self, moid: str, method: str, arguments: dict[str, Any]) -> Any:
            self.rows["host-2"] = {"name": "esx02"}
            self.rows["vm-1"]["runtime.host"] = SimpleNamespace(_moId="host-2")
            return super().call(moid, method, arguments)

    with pytest.raises(VerifyError, match="on host esx02 and not on esx01"):
        VmPower(Moved(), "vm-1", "gpu01").on(30.0)


def test_vm_that_is_off_after_a_successful_task_is_an_error() -> None:
    class Fell(FakeSite):
        def call(self, moid: str, method: str, arguments: dict[str, Any]) -> Any:
            task = super().call(moid, method, arguments)
            self.rows["vm-1"]["runtime.powerState"] = "poweredOff"
            return task

    with pytest.raises(VerifyError, match="it is off"):
        VmPower(Fell(), "vm-1", "gpu01").on(30.0)


@pytest.mark.parametrize("method", ["ShutdownGuest", "ReconfigVM_Task", "PowerOnVM_Task"])
def test_lost_answer_is_followed_on_the_vm(method: str) -> None:
    site = Deaf(method)
    assert vmx(site)["changed"] and power(site) == "poweredOn"
    assert site.calls == ["ShutdownGuest", "ReconfigVM_Task", "PowerOnVM_Task"], "nothing is sent twice"


def test_lost_answer_to_a_power_cut_is_followed_on_the_vm() -> None:
    site = Deaf("PowerOffVM_Task")
    vmx(site, VmxWanted(power_policy="poweroff"))
    assert site.calls == ["PowerOffVM_Task", "ReconfigVM_Task", "PowerOnVM_Task"]


def test_change_that_never_arrived_leaves_the_vm_running() -> None:
    site = FakeSite(vm_row(power="poweredOn"))
    site.faults["ReconfigVM_Task"] = [GONE]
    with pytest.raises(UnreachableError, match=r"powered on again"):
        vmx(site)
    assert power(site) == "poweredOn"


def test_final_power_on_starts_a_vm_whose_keys_were_refused_half_way() -> None:
    site = FakeSite()
    site.faults["ReconfigVM_Task"] = [vim.fault.GenericVmConfigFault(msg="no")]
    with pytest.raises(ApplyError, match=r"powered on again"):
        vmx(site, VmxWanted(final_power="on"))
    assert power(site) == "poweredOn"


@pytest.mark.parametrize(
    ("way", "options"),
    [({}, ""), ({"port": 8443, "ca_path": "/etc/vc.pem"}, " port=8443 ca_path=/etc/vc.pem"),
     ({"validate_certs": False}, " validate_certs=False")],
)  # fmt: skip
def test_vm_that_stays_off_is_named_with_the_command_that_starts_it(way: dict[str, Any], options: str) -> None:
    site = FakeSite(vm_row(power="poweredOn"))
    site.endpoint = dataclasses.replace(site.endpoint, **way)
    site.faults["PowerOnVM_Task"] = [vim.fault.GenericVmConfigFault(msg="DevicePowerOn")]
    with pytest.raises(ApplyError) as caught:
        vmx(site)
    assert f"'hostname=vcenter.example.org{options} vm=vm-1 power_only=true final_power=on' (account" in str(
        caught.value
    )
    assert caught.value.details["resume"] == {"vm": "vm-1", "power_only": True, "final_power": "on"}


def test_device_that_the_host_lost_is_named_when_the_vm_stays_off() -> None:
    """A GPU that fell off the bus at the boot: vSphere says that module DevicePowerOn failed."""
    rows = host_row()
    rows["hardware.pciDevice"] = [row for row in rows["hardware.pciDevice"] if row.id != "0000:3d:00.0"]
    site = FakeSite(vm_row(), rows)
    site.faults["PowerOnVM_Task"] = [vim.fault.GenericVmConfigFault(msg="DevicePowerOn")]
    with pytest.raises(ApplyError) as caught:
        vmx(site, VmxWanted(final_power="on"))
    assert "0000:3d:00.0" in str(caught.value) and "esx01" in str(caught.value)
    assert "0000:3b:00.0" not in str(caught.value)


def test_host_in_maintenance_is_named_when_its_vm_stays_off() -> None:
    site = FakeSite(vm_row(), host_row(**{"runtime.inMaintenanceMode": True}))
    site.faults["PowerOnVM_Task"] = [vim.fault.InvalidState(msg="not allowed")]
    with pytest.raises(ApplyError, match=r"esx01.* maintenance mode"):
        vmx(site, VmxWanted(final_power="on"))


def test_vcenter_that_never_comes_back_leaves_no_doubt_unsaid() -> None:
    class Dead(FakeSite):
        dead = False

        def call(self, moid: str, method: str, arguments: dict[str, Any]) -> Any:
            if method == "ShutdownGuest":
                self.dead = True
            return super().call(moid, method, arguments)

        def properties(self, *arguments: Any, **rest: Any) -> Any:
            if self.dead:
                with translated("vcenter.example.org", "reading"):
                    raise GONE
            return super().properties(*arguments, **rest)

    site = Dead(vm_row(power="poweredOn"))
    with pytest.raises(LayerError, match=r"may be powered .*To start it: ansible localhost"):
        vmx(site)


def test_vm_that_was_never_touched_is_not_spoken_of() -> None:
    site = FakeSite()
    site.faults["ReconfigVM_Task"] = [vim.fault.GenericVmConfigFault(msg="no")]
    with pytest.raises(ApplyError) as caught:
        vmx(site, VmxWanted())
    assert "power" not in str(caught.value) and site.calls == []


@pytest.mark.parametrize("parse", [ElementTree.fromstring, lambda text: expat.ParserCreate().Parse(text, True)])
def test_empty_answer_is_no_traceback(parse: Callable[[str], object]) -> None:
    with pytest.raises(UnreachableError, match="no SOAP"), translated("vcenter", "reading"):
        parse("")
