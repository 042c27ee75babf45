"""docs/vsphere-privileges.md names every call that the modules make on vCenter."""

from __future__ import annotations

import ast
import re

from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.site_reading import PRIVILEGES
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.transport import vim, vmodl

from tests.unit.roles.collection import ROOT

KINDS = (
    vim.VirtualMachine, vim.HostSystem, vim.EventManager, vim.CustomFieldsManager, vim.view.ViewManager,
    vim.view.ContainerView, vim.Task, vim.ServiceInstance, vim.Datacenter, vim.AuthorizationManager,
    vmodl.query.PropertyCollector,
)  # fmt: skip
SESSION = {"RetrieveContent", "DropConnections"}  # of login and logout


def called() -> set[str]:
    """Methods of managed objects that the code calls, by pyVmomi's names and those of the API."""
    known = {name for kind in KINDS for name in dir(kind) if name[:1].isupper() and not name.startswith(("Get", "Set"))}
    known |= {"SetField", "ExecuteSoap"}
    found = set()
    for path in (ROOT / "plugins" / "module_utils" / "_vsphere").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in known:
                found.add(node.func.attr)
    return found - SESSION


def rows() -> dict[str, tuple[str, str]]:
    """Call -> (privileges, where that comes from)."""
    found = {}
    for line in (ROOT / "docs" / "vsphere-privileges.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            for call in re.findall(r"`(\w+)`", cells[0]):
                found[call] = (cells[2], cells[4])
    return found


def test_every_call_on_vcenter_has_a_row_with_its_privilege_and_its_source() -> None:
    calls = called()
    assert {"PowerOnVM_Task", "ShutdownGuest", "ReconfigVM_Task", "RebootHost_Task", "QueryEvents"} <= calls
    assert not calls - set(rows()), "a call without a row"
    assert all(privilege and source.startswith(("documented", "inferred")) for privilege, source in rows().values())


def test_preflight_asks_for_the_privileges_of_the_page() -> None:
    named = {
        name for privilege, _source in rows().values() for name in re.findall(r"`([A-Za-z.]+\.[A-Za-z.]+)`", privilege)
    }
    # Part of every role, or of a site that asks for more than the guide does.
    named -= {"System.View", "System.Read", "Resource.HotMigrate"}
    named -= {"VirtualMachine.Config.Resource", "VirtualMachine.Config.Settings"}
    assert named == {privilege.name for privilege in PRIVILEGES}
