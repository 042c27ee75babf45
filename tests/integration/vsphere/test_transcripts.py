"""A recorded session, step by step over the real protocol: a host through its reboot, keys through three changes."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ApplyError, UnreachableError
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.plan import KERNEL_LIST, KERNEL_SET
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.transport import Connection, Endpoint

from .conftest import USER, Vcenter
from .test_reboot import wait_until


def connect(vcenter: Vcenter) -> Connection:
    return Connection(Endpoint("127.0.0.1", USER, vcenter.password, vcenter.port, ca_path=str(vcenter.ca)))


def test_transcript_of_a_host_through_its_reboot(vcenter: Vcenter) -> None:
    with connect(vcenter) as connection:
        host, name = connection.find_hosts(["esx02"])[0]

        def ats() -> tuple[str, str, str]:
            (row,) = [r for r in connection.run_esxcli(host, name, KERNEL_LIST) if r["Name"] == "atsSupport"]
            return row["Configured"], row["Runtime"], row["Type"]

        def runtime(key: str) -> Any:
            return connection.read(host, ["runtime." + key])["runtime." + key]

        def finish(task: Any) -> None:
            connection.wait(task, "step", name, 20)

        assert ats() == ("FALSE", "FALSE", "Bool")
        assert connection.run_esxcli(host, name, KERNEL_SET, {"setting": "atsSupport", "value": "TRUE"}) == "true"
        assert ats() == ("TRUE", "FALSE", "Bool")
        with pytest.raises(ApplyError, match="Timedout"):
            finish(connection.enter_maintenance(host, 1, ""))
        assert runtime("inMaintenanceMode") is False
        finish(connection.find_vm("gpu03").PowerOffVM_Task())
        finish(connection.enter_maintenance(host, 5, ""))
        assert runtime("inMaintenanceMode") is True
        before = runtime("bootTime")
        finish(host.RebootHost_Task(force=False))
        assert runtime("connectionState") == "notResponding", "the task ends when the reboot was issued"
        with pytest.raises(UnreachableError, match="HostNotConnected"):
            ats()
        wait_until(lambda: runtime("connectionState") == "connected")
        assert runtime("bootTime") > before and runtime("inMaintenanceMode") is True
        assert ats() == ("TRUE", "TRUE", "Bool")


def test_transcript_of_keys_through_three_changes(vcenter: Vcenter) -> None:
    with connect(vcenter) as connection:
        vm = connection.find_vm("split")

        def change(**keys: str) -> None:
            wanted = {key.replace("__", "."): value for key, value in keys.items()}
            connection.wait(connection.reconfigure(vm, wanted, {}, ""), "change", "split", 10)

        change(pciPassthru__allowP2P="TRUE", numa__nodeAffinity="0")
        change(PCIPASSTHRU__ALLOWP2P="FALSE")
        change(numa__nodeAffinity="")
        options = connection.read(vm, ["config.extraConfig"])["config.extraConfig"]
        ours = [(o.key, o.value) for o in options if o.key.lower() in ("pcipassthru.allowp2p", "numa.nodeaffinity")]
        assert ours == [("pciPassthru.allowP2P", "FALSE")]
