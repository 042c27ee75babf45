from __future__ import annotations

import dataclasses
import http.client
import xml.parsers.expat
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import (
    ApplyError,
    LayerError,
    UnreachableError,
    converge,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.host_vms import HostReader, is_agent
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.plan_reboot import RebootWanted, Timeouts
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.reboot import RebootLayer
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.transport import (
    Endpoint,
    translated,
    vim,
    vmodl,
)

from tests.unit.vsphere.fakes import FakeSite, vm_row

WANTED = RebootWanted(required=True, vm_policy="shutdown", vm_allowlist=("gpu01",))


def reboot(site: FakeSite, wanted: RebootWanted = WANTED, **limits: float) -> dict[str, Any]:
    return converge(RebootLayer(site, "esx01", wanted, Timeouts(**limits)), wanted)


def running() -> FakeSite:
    return FakeSite(vm=vm_row(power="poweredOn"))


class Stubborn(FakeSite):
    """The guest hears the request and stays up."""

    def call(self, moid: str, method: str, arguments: dict[str, Any]) -> Any:
        task = super().call(moid, method, arguments)
        if method == "ShutdownGuest":
            self.rows[moid]["runtime.powerState"] = "poweredOn"
        return task


def test_guest_that_stays_up_is_cut_off_only_if_told() -> None:
    site = Stubborn(vm=vm_row(power="poweredOn"))
    with pytest.raises(ApplyError, match=r"running after 300 s.*still go down"):
        reboot(site)
    assert site.calls == ["ShutdownGuest"]
    site = Stubborn(vm=vm_row(power="poweredOn"))
    reboot(site, RebootWanted(required=True, vm_policy="shutdown", vm_allowlist=("gpu01",), hard_off=True))
    assert site.calls[:2] == ["ShutdownGuest", "PowerOffVM_Task"]


def test_lost_answer_to_a_shutdown_is_followed_and_asked_once() -> None:
    class Lost(FakeSite):
        def call(self, moid: str, method: str, arguments: dict[str, Any]) -> Any:
            super().call(moid, method, arguments)
            if method == "ShutdownGuest":
                with translated("gpu01", "shut down the guest"):
                    raise http.client.RemoteDisconnected("gone")
            return SimpleNamespace(_moId="task-9")

    site = Lost(vm=vm_row(power="poweredOn"))
    assert reboot(site)["rebooted"] and site.calls.count("ShutdownGuest") == 1


def test_vcenter_that_is_gone_after_a_shutdown_gets_no_power_on_and_the_vm_is_named() -> None:
    class Gone(FakeSite):
        silent = False

        def fail(self, method: str) -> None:
            if self.silent:
                raise UnreachableError("no answer", host="vcenter")
            super().fail(method)

        def call(self, moid: str, method: str, arguments: dict[str, Any]) -> Any:
            task = super().call(moid, method, arguments)
            self.silent = self.silent or method == "ShutdownGuest"
            return task

    site = Gone(vm=vm_row(power="poweredOn"))
    with pytest.raises(UnreachableError) as caught:
        reboot(site)
    assert caught.value.details["vms_shut_down"] == ["gpu01"]
    assert "not up again: gpu01" in str(caught.value) and "out of reach" in str(caught.value)
    assert site.calls == ["ShutdownGuest"]


@pytest.mark.parametrize("restore", [True, False])
def test_vms_stay_off_after_the_reboot_if_told_and_come_back_if_there_was_none(restore: bool) -> None:
    wanted = RebootWanted(required=True, vm_policy="shutdown", vm_allowlist=("gpu01",), restore_vms=restore)
    site = running()
    reboot(site, wanted)
    assert ("PowerOnVM_Task" in site.calls) is restore
    site = running()
    site.faults["RebootHost_Task"] = [vim.fault.NoPermission(privilegeId="Host.Config.Maintenance")]
    with pytest.raises(LayerError, match="Powered on again: gpu01"):
        reboot(site, wanted)


def test_refused_reboot_is_not_taken_for_one_that_may_have_arrived() -> None:
    site = running()
    site.faults["RebootHost_Task"] = [vmodl.fault.HostNotConnected(msg="it is gone")]
    with pytest.raises(UnreachableError, match="HostNotConnected"):
        reboot(site)
    assert site.time.now < 60, "nobody waits three minutes for what was refused"
    assert site.calls[-2:] == ["ExitMaintenanceMode_Task", "PowerOnVM_Task"]


def test_host_counts_as_back_only_when_it_answers_a_command() -> None:
    class Waking(FakeSite):
        asked = 0

        def run_esxcli(self, host: Any, host_name: str, command: str, values: Any = None) -> Any:
            if "RebootHost_Task" in self.calls and self.asked < 3:
                self.asked += 1
                assert "ExitMaintenanceMode_Task" not in self.calls
                raise UnreachableError("still starting", host="esx01")
            return super().run_esxcli(host, host_name, command, values)

    site = Waking()
    assert reboot(site)["rebooted"] and site.asked == 3


def test_host_that_never_answers_is_not_called_back() -> None:
    class Dumb(FakeSite):
        def run_esxcli(self, host: Any, host_name: str, command: str, values: Any = None) -> Any:
            raise UnreachableError("nothing", host="esx01")

    with pytest.raises(LayerError):
        reboot(Dumb(), reboot=60.0)


@pytest.mark.parametrize(
    ("own", "reported", "is_controller"),
    [("192.0.2.2", "192.0.2.2", True), ("192.0.2.2", "192.0.2.3", False), ("127.0.0.1", "127.0.0.1", False)],
)
def test_machine_that_runs_the_play_is_known_by_its_address(own: str, reported: str, is_controller: bool) -> None:
    class Site(FakeSite):
        def addresses(self) -> tuple[str, str]:
            return "192.0.2.1", own

    site = Site(vm=vm_row(power="poweredOn", **{"guest.ipAddress": reported}))
    (vm,) = HostReader(site).vms([SimpleNamespace(_moId="vm-1")])
    assert vm.is_controller is is_controller


def managed(key: str = "", kind: str = "") -> Any:
    return vim.ext.ManagedByInfo(extensionKey=key, type=kind)


@pytest.mark.parametrize(
    ("row", "agent"),
    [
        pytest.param({"config.managedBy": managed("com.vmware.vim.eam", "cluster-agent")}, True, id="agent_of_eam"),
        pytest.param({"config.managedBy": managed("VirtualCenter", "vcls-entity")}, True, id="embedded_vcls_by_type"),
        pytest.param(
            {"config.extraConfig": [vim.option.OptionValue(key="HDCS.agent", value="true")]},
            True,
            id="embedded_vcls_by_its_key",
        ),
        pytest.param(
            {"config.extraConfig": [vim.option.OptionValue(key="HDCS.agent", value="false")]}, False, id="key_false"
        ),
        pytest.param({"config.managedBy": managed("VirtualCenter", "other")}, False, id="other_vm_of_vcenter"),
        pytest.param({"config.managedBy": managed("com.vendor.plugin", "vm")}, False, id="vm_of_a_vendor"),
        pytest.param({}, False, id="ordinary_vm"),
    ],
)
def test_agents_are_left_to_vcenter_and_nothing_else_is(row: dict[str, Any], agent: bool) -> None:
    assert is_agent(row) is agent


def test_answer_that_is_no_soap_is_an_error_with_a_remedy() -> None:
    with pytest.raises(UnreachableError, match=r"no SOAP.*proxy"), translated(Endpoint("v", "u", "p").name, "reading"):
        xml.parsers.expat.ParserCreate().Parse("", True)


def test_a_host_that_does_not_come_back_is_in_this_runs_maintenance_mode_and_the_way_on_is_told() -> None:
    class Dark(FakeSite):
        def call(self, moid: str, method: str, arguments: dict[str, Any]) -> Any:
            task = super().call(moid, method, arguments)
            if method == "RebootHost_Task":
                self.rows["host-1"]["runtime.connectionState"] = "notResponding"
            return task

    site = Dark(vm=vm_row(power="poweredOn"))
    with pytest.raises(UnreachableError) as caught:
        reboot(site)
    told = str(caught.value)
    assert "esx01 is in" in told and "(entered by this" in told
    assert "in_maintenance=adopt and power_on=['gpu01']" in told
    assert "is not known" in told
    assert caught.value.details["rebooted"] is None


def test_a_last_look_that_fails_names_the_vms_that_stay_off() -> None:
    class Cut(FakeSite):
        def properties(self, objects: Any, paths: Any, doing: str = "reading") -> list[dict[str, Any]]:
            if doing == "reading the host" and "ExitMaintenanceMode_Task" in self.calls:
                raise UnreachableError("no answer", host="vcenter")
            return super().properties(objects, paths, doing)

    site = Cut(vm=vm_row(power="poweredOn"))
    with pytest.raises(UnreachableError, match="not up again: gpu01") as caught:
        reboot(site, dataclasses.replace(WANTED, restore_vms=False))
    assert caught.value.details["resume"] == {"power_on": ["gpu01"]} and caught.value.details["rebooted"] is True


@pytest.mark.parametrize(("in_maintenance", "looks"), [("recover", 1), ("refuse", 0), ("adopt", 0)])
def test_other_runs_are_looked_for_once_before_a_recovery_and_only_then(in_maintenance: str, looks: int) -> None:
    wanted = RebootWanted(in_maintenance=in_maintenance)
    layer = RebootLayer(FakeSite(), "esx01", wanted, Timeouts())
    asked: list[str] = []
    layer._bookkeeping = SimpleNamespace(  # type: ignore[assignment]
        refuse_beside_others=lambda: asked.append("others"), records=SimpleNamespace(mark=lambda: None)
    )
    layer.observe()
    layer.observe()
    assert asked == ["others"] * looks


def test_a_failed_run_tells_of_a_mark_that_stays() -> None:
    layer = RebootLayer(FakeSite(), "esx01", WANTED, Timeouts())
    layer._begun = layer._maintenance.entered = layer._maintenance.left = True
    layer._maintenance.clear_own = lambda: " MARK STAYS"  # type: ignore[method-assign]
    error = ApplyError("cut", host="esx01")
    layer.failed(error)
    assert str(error).endswith("MARK STAYS")
