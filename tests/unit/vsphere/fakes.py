"""One VM on one host behind the real `Connection`, without a network: reads come from rows, calls are recorded."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.records import CustomFields
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.transport import Connection, Endpoint, vim

from tests.unit.clock import Clock

ENDPOINT = Endpoint("vcenter.example.org", "user", "secret")
BOOT = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


def pci(address: str, vendor: int, device: int, kind: int, *above: str) -> SimpleNamespace:
    """HostPciDevice; ids are signed 16-bit on the wire. ``above``: parent bridge and name."""
    parent, name = above or ("", "")
    signed = vendor - 0x10000 if vendor > 0x7FFF else vendor
    return SimpleNamespace(
        id=address,
        vendorId=signed,
        deviceId=device,
        classId=kind,
        vendorName="vendor",
        deviceName=name,
        subVendorId=0,
        subDeviceId=0,
        parentBridge=parent,
    )


def node(number: int, *addresses: str, cpus: int = 64, memory_mb: int = 262144) -> SimpleNamespace:
    return SimpleNamespace(
        typeId=number, cpuID=list(range(cpus)), memoryRangeLength=memory_mb * 2**20, pciId=list(addresses)
    )


def passthrough(address: str, label: str) -> Any:
    return vim.vm.device.VirtualPCIPassthrough(
        deviceInfo=vim.Description(label=label, summary=label),
        backing=vim.vm.device.VirtualPCIPassthrough.DeviceBackingInfo(
            id=address, deviceId="x", systemId="y", vendorId=0, deviceName="z"
        ),
    )


def host_row(**changed: Any) -> dict[str, Any]:
    """A host with NIC and GPU of one root complex on node 0, a second GPU on node 1."""
    devices = [
        pci("0000:3a:00.0", 0x8086, 0x2030, 0x0604),
        pci("0000:3a:02.0", 0x8086, 0x2030, 0x0604),
        pci("0000:3b:00.0", 0x15B3, 0x101D, 0x0200, "0000:3a:00.0", "ConnectX-6 Dx"),
        pci("0000:3d:00.0", 0x10DE, 0x20F1, 0x0302, "0000:3a:02.0", "A100 PCIe 40GB"),
        pci("0000:ae:00.0", 0x8086, 0x2030, 0x0604),
        pci("0000:b1:00.0", 0x10DE, 0x20F1, 0x0302, "0000:ae:00.0", "A100 PCIe 40GB"),
    ]
    shared = [
        SimpleNamespace(id=d.id, dependentDevice=d.id, passthruCapable=True, passthruEnabled=True, passthruActive=True)
        for d in devices
        if d.classId != 0x0604
    ]
    return {
        "name": "esx01",
        "hardware.cpuInfo": SimpleNamespace(numCpuCores=64, numCpuThreads=128),
        "hardware.numaInfo": SimpleNamespace(
            numaNode=[node(0, "0000:3B:00.0", "0000:3D:00.0"), node(1, "0000:b1:00.0")]
        ),
        "hardware.pciDevice": devices,
        "config.pciPassthruInfo": shared,
        "runtime.connectionState": "connected",
        "runtime.powerState": "poweredOn",
        "runtime.standbyMode": "none",
        "runtime.inMaintenanceMode": False,
        "runtime.bootTime": BOOT,
        "capability.rebootSupported": True,
        "vm": [SimpleNamespace(_moId="vm-1")],
        **changed,
    }


def vm_row(*, power: str = "poweredOff", extra: dict[str, Any] | None = None, **changed: Any) -> dict[str, Any]:
    keys = {"pciPassthru.use64bitMMIO": "TRUE", "pciPassthru.64bitMMIOSizeGB": "128", **(extra or {})}
    return {
        "name": "gpu01",
        "runtime.powerState": power,
        "runtime.connectionState": "connected",
        "runtime.host": SimpleNamespace(_moId="host-1"),
        "runtime.bootTime": BOOT,
        "guest.toolsRunningStatus": "guestToolsRunning" if power == "poweredOn" else "guestToolsNotRunning",
        "config.template": False,
        "config.changeVersion": "v1",
        "config.extraConfig": [vim.option.OptionValue(key=k, value=v) for k, v in keys.items()],
        "config.firmware": "efi",
        "config.memoryReservationLockedToMax": True,
        "config.hardware": SimpleNamespace(
            memoryMB=65536, numCPU=16, device=[passthrough("0000:3b:00.0", "NIC"), passthrough("0000:3d:00.0", "GPU")]
        ),
        "config.hardware.device": [passthrough("0000:3b:00.0", "NIC"), passthrough("0000:3d:00.0", "GPU")],
        **changed,
    }


class FakeSite(Connection):
    """``faults``: method -> exceptions to raise, one per call; ``drops``: keys that are never stored;
    ``after``: method -> function that is called when the call was carried out."""

    def __init__(self, vm: dict[str, Any] | None = None, host: dict[str, Any] | None = None) -> None:
        self.time = Clock()
        super().__init__(ENDPOINT, clock=self.time, sleep=self.time.sleep)
        self.rows: dict[str, dict[str, Any]] = {"vm-1": vm or vm_row(), "host-1": host or host_row()}
        self.calls: list[str] = []
        self.arguments: list[dict[str, Any]] = []
        self.reads = 0
        self.faults: dict[str, list[Exception]] = {}
        self.drops: set[str] = set()
        self.kernel: dict[str, list[str]] = {"atsSupport": ["FALSE", "FALSE"]}  # Configured, Runtime
        self.changed: tuple[str, ...] = ()
        self.logins = 0
        self.task_ids = 0
        self.task_states: dict[str, dict[str, Any]] = {}
        self._service = object()
        self.instance = "11111111-2222-3333-4444-555555555555"

    # ---- Connection
    def open(self) -> Connection:
        self.logins += 1
        self._service = object()
        return self

    @property
    def is_vcenter(self) -> bool:
        return True

    @property
    def group_paths(self) -> tuple[str, ...]:
        return ("config.deviceGroups",)

    def addresses(self) -> tuple[str, str]:
        return "192.0.2.1", "192.0.2.2"

    def server_time(self) -> Any:
        return BOOT + datetime.timedelta(days=1)

    def find_vm(self, name: str, folder: str = "", uuid: str = "", known: Any = None) -> Any:
        return self.reference("vm", name if name in self.rows else "vm-1")

    def listed_vms(self) -> list[tuple[Any, dict[str, Any]]]:
        return []

    def find_hosts(self, wanted: Sequence[str], cluster: str = "") -> list[tuple[Any, str]]:
        return [(self.reference("host", "host-1"), "esx01")]

    def reference(self, kind: str, moid: str) -> Any:
        return Reference(self, moid)

    def properties(self, objects: Sequence[Any], paths: Sequence[str], doing: str = "reading") -> list[dict[str, Any]]:
        self.reads += 1
        found = []
        for wanted in objects:
            self.fail("read " + wanted._moId.split("-")[0])
            row = self.rows.get(wanted._moId) or self.task_states.get(wanted._moId, {"info.state": "success"})
            found.append({path: row[path] for path in paths if path in row})
        return found

    def keys_changed_since(self, vm: Any, since: Any) -> tuple[str, ...] | None:
        return self.changed

    def run_esxcli(self, host: Any, host_name: str, command: str, values: Any = None) -> Any:
        self.fail("esxcli " + command.rpartition(".")[2])
        if command.endswith(".set"):
            self.calls.append("esxcli set")
            self.kernel[values["setting"]][0] = values["value"]
            return "true"
        return [
            {"Name": name, "Type": "Bool", "Configured": pair[0], "Runtime": pair[1], "Default": "FALSE"}
            for name, pair in self.kernel.items()
        ]

    # ---- what calls do
    def fail(self, method: str) -> None:
        planned = self.faults.get(method)
        if planned:
            raise planned.pop(0)

    def call(self, moid: str, method: str, arguments: dict[str, Any]) -> Any:
        self.fail(method)
        self.calls.append(method)
        self.arguments.append(arguments)
        row = self.rows[moid]
        if method in ("PowerOnVM_Task", "PowerOffVM_Task", "ShutdownGuest"):
            row["runtime.powerState"] = "poweredOn" if method == "PowerOnVM_Task" else "poweredOff"
        elif method == "ReconfigVM_Task":
            self._reconfigured(row, arguments["spec"])
        elif method in ("EnterMaintenanceMode_Task", "ExitMaintenanceMode_Task"):
            row["runtime.inMaintenanceMode"] = method.startswith("Enter")
        elif method == "RebootHost_Task":
            row["runtime.bootTime"] = self.server_time() + datetime.timedelta(minutes=10)
            for pair in self.kernel.values():
                pair[1] = pair[0]
        self.task_ids += 1
        return SimpleNamespace(_moId=f"task-{self.task_ids}")

    def _reconfigured(self, row: dict[str, Any], spec: Any) -> None:
        keys = {option.key.lower(): option for option in row["config.extraConfig"]}
        for option in spec.extraConfig:
            if option.key in self.drops:
                continue
            keys.pop(option.key.lower(), None)
            if option.value:
                keys[option.key.lower()] = option
        row["config.extraConfig"] = list(keys.values())
        if spec.memoryReservationLockedToMax is not None:
            row["config.memoryReservationLockedToMax"] = spec.memoryReservationLockedToMax
        if spec.firmware:
            row["config.firmware"] = spec.firmware
        row["config.changeVersion"] += "+"


class Reference:
    """A managed object: any method is a call on the site."""

    def __init__(self, site: FakeSite, moid: str) -> None:
        self._site = site
        self._moId = moid

    def __getattr__(self, method: str) -> Any:
        return lambda **arguments: self._site.call(self._moId, method, arguments)


class Attributes(FakeSite):
    """Custom attributes as vCenter keeps them: a name is defined once, a key is never given again."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[str, int] = {}
        self.given = 100
        self.patience = 0.0
        self.later = datetime.timedelta()
        self.rows["datacenter-1"] = {"customValue": []}

    def server_time(self) -> Any:
        return super().server_time() + self.later

    def definitions(self) -> dict[str, int]:
        return dict(self.names)

    def define(self, name: str, kind: Any) -> int | None:
        if name in self.names:
            return None
        self.given += 1
        self.names[name] = self.given
        return self.given

    def undefine(self, key: int) -> bool:
        known = key in self.names.values()
        self.names = {name: other for name, other in self.names.items() if other != key}
        return known

    def write(self, kind: str, moid: str, key: int, value: str) -> bool:
        if key not in self.names.values():
            return False
        self.rows[moid]["customValue"] = [SimpleNamespace(key=key, value=value)]
        return True

    value = staticmethod(CustomFields.value)
