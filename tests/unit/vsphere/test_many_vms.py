"""All VMs of a vCenter in one session: few requests, and one that cannot be read stops no other."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import LayerError, UnreachableError, converge
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.keys import VmxWanted
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.layers import VmxLayer
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.many_vms import AT_ONCE, read_vms

from tests.unit.vsphere.fakes import FakeSite, vm_row

WANTED = VmxWanted(plan_only=True)
# One for the events of a VM that is on; besides the list, and so many VMs or hosts in one request.
MOST_PER_VM, MOST_TOGETHER = 1, 3


class Many(FakeSite):
    def __init__(self, vms: int) -> None:
        super().__init__()
        self.rows |= {f"vm-{number}": vm_row(name=f"gpu{number}") for number in range(1, vms + 1)}
        self.asked = 0
        self.lists = 0

    def listed_vms(self) -> list[tuple[Any, dict[str, Any]]]:
        self.lists += 1
        return []

    def keys_changed_since(self, vm: Any, since: Any) -> tuple[str, ...] | None:
        self.asked += 1
        return super().keys_changed_since(vm, since)


@pytest.mark.parametrize("vms", [1, 2, 512])
def test_requests_per_vm_are_limited(vms: int) -> None:
    site = Many(vms)
    for number in range(1, vms + 1):
        site.rows[f"vm-{number}"]["runtime.powerState"] = "poweredOn"
    rows = read_vms(site, [(f"vm-{number}", WANTED) for number in range(1, vms + 1)])
    assert [row["vm"] for row in rows] == [f"gpu{number}" for number in range(1, vms + 1)]
    assert site.asked <= MOST_PER_VM * vms and site.lists + site.reads <= MOST_TOGETHER + vms // AT_ONCE


def test_row_is_what_one_vm_alone_gives() -> None:
    alone = converge(VmxLayer(FakeSite(), "vm-1", WANTED), WANTED, check_mode=True)
    (row,) = read_vms(FakeSite(), [("vm-1", WANTED)])
    assert row == {"asked": "vm-1", "failed": False, **alone}


def test_vm_that_cannot_be_read_stops_no_other() -> None:
    site = Many(3)
    site.rows["vm-2"]["runtime.connectionState"] = "disconnected"
    rows = read_vms(site, [(f"vm-{number}", WANTED) for number in (1, 2, 3)])
    assert [row["failed"] for row in rows] == [False, True, False]
    assert rows[1]["asked"] == "vm-2" and rows[1]["vm_connection_state"] == "disconnected" and rows[1]["msg"]


def test_silent_vcenter_is_no_row() -> None:
    class Silent(Many):
        def keys_changed_since(self, vm: Any, since: Any) -> tuple[str, ...] | None:
            raise UnreachableError("no answer", host="vc")

    site = Silent(2)
    site.rows["vm-1"]["runtime.powerState"] = "poweredOn"
    with pytest.raises(LayerError, match="no answer"):
        read_vms(site, [("vm-1", WANTED), ("vm-2", WANTED)])
