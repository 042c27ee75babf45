"""Reading the VMs of a host, and where in its cluster they could go."""

from __future__ import annotations

import ipaddress
from typing import Any

from .state import HostVm, parse_extra_config, type_name
from .transport import Connection

_VM_PATHS = (
    "name",
    "runtime.powerState",
    "runtime.question",
    "guest.toolsRunningStatus",
    "guest.hostName",
    "guest.ipAddress",
    "guest.net",
    "config.vAppConfig",
    "config.managedBy",
    "config.extraConfig",
    "config.template",
    "config.hardware.device",
)
# Agent VMs belong to vCenter, which stops and starts them around maintenance. Embedded vCLS (8.0 U3 and later) carries
# VirtualCenter as its manager, so its type and the key that its vendor names are what tells it.
_AGENT_EXTENSIONS = ("com.vmware.vim.eam", "com.vmware.vcls")
_AGENT_TYPES = ("vcls-entity",)
_AGENT_KEY = "hdcs.agent"
_HOST_DEVICES = ("VirtualPCIPassthrough", "VirtualSriovEthernetCard")


def guest_addresses(row: dict[str, Any]) -> set[str]:
    """All addresses that VMware Tools report for a VM."""
    found = {str(row.get("guest.ipAddress", "") or "")}
    for nic in row.get("guest.net") or []:
        found |= {str(address) for address in getattr(nic, "ipAddress", None) or []}
    return found - {""}


def is_agent(row: dict[str, Any]) -> bool:
    manager = row.get("config.managedBy")
    if str(getattr(manager, "extensionKey", "") or "").startswith(_AGENT_EXTENSIONS):
        return True
    if str(getattr(manager, "type", "") or "") in _AGENT_TYPES:
        return True
    return parse_extra_config(row.get("config.extraConfig") or []).get(_AGENT_KEY, ("", ""))[1].lower() == "true"


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


class HostReader:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._addresses: tuple[str, str] | None = None

    def vms(self, references: list[Any]) -> tuple[HostVm, ...]:
        rows = self._connection.properties(references, _VM_PATHS, "reading the VMs of the host")
        found = [self._vm(reference, row) for reference, row in zip(references, rows) if not row.get("config.template")]
        return tuple(sorted(found, key=lambda vm: (vm.name, vm.moid)))

    def _vm(self, reference: Any, row: dict[str, Any]) -> HostVm:
        if self._addresses is None:
            self._addresses = self._connection.addresses()
        server, own = self._addresses
        addresses = guest_addresses(row)
        products = getattr(row.get("config.vAppConfig"), "product", None) or []
        question = row.get("runtime.question")
        return HostVm(
            name=str(row.get("name", reference._moId)),
            moid=reference._moId,
            power=str(row.get("runtime.powerState", "")),
            has_passthrough=any(
                type_name(device) in _HOST_DEVICES for device in row.get("config.hardware.device") or []
            ),
            tools_running=row.get("guest.toolsRunningStatus") == "guestToolsRunning",
            is_vcenter=(self._connection.is_vcenter and server in addresses)
            or str(row.get("guest.hostName", "")).lower() == self._connection.endpoint.hostname.lower()
            or any("vcenter server" in str(getattr(product, "name", "")).lower() for product in products),
            is_controller=own in addresses and not _is_loopback(own),
            is_agent=is_agent(row),
            question=str(question.text) if question is not None else "",
        )

    def refuges(self, host: Any) -> tuple[bool, tuple[tuple[str, str], ...]]:
        """Whether DRS moves VMs by itself, and the other hosts of the cluster that are open, emptiest first."""
        connection = self._connection
        parent = connection.read(host, ["parent"], "looking for the cluster of the host").get("parent")
        if parent is None:
            return False, ()
        row = connection.read(parent, ["host", "configurationEx"], "reading the cluster")
        others = [other for other in row.get("host") or [] if other._moId != host._moId]
        paths = ("name", "runtime.connectionState", "runtime.inMaintenanceMode", "runtime.standbyMode", "vm")
        found = []
        for other, state in zip(others, connection.properties(others, paths, "reading the hosts of the cluster")):
            is_open = state.get("runtime.connectionState") == "connected" and not state.get("runtime.inMaintenanceMode")
            if is_open and str(state.get("runtime.standbyMode") or "none") == "none":
                found.append((len(state.get("vm") or []), other._moId, str(state.get("name", ""))))
        drs = getattr(row.get("configurationEx"), "drsConfig", None)
        automatic = drs is not None and bool(drs.enabled) and str(drs.defaultVmBehavior) == "fullyAutomated"
        return automatic, tuple((moid, name) for _count, moid, name in sorted(found))
