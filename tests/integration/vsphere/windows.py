"""Runs of `esxi_reboot` that meet trouble: a simulator with quick hosts, a clock that runs faster, a run that can be
killed at any request, and what must be true of every outcome."""

from __future__ import annotations

import contextlib
import json
import time
import unittest.mock
from collections.abc import Callable, Iterator
from typing import Any

from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere import arguments, run_identity
from ansible_collections.rocemesh.multinode.plugins.modules import esxi_window
from pyVmomi import SoapAdapter

from .conftest import Result, Vcenter, run_module
from .patience import Quick

TECHNICIAN = "LAB\\technician"
WINDOW: dict[str, Any] = {
    "esxi_hostname": "esx01",
    "required": True,
    "vm_policy": "shutdown",
    "vm_allowlist": ["gpu01", "gpu02"],
    "shutdown_timeout": 20,
    "maintenance_timeout": 20,
    "reboot_timeout": 60,
    "power_on_timeout": 20,
}
DEAD = "99999999.1"  # a pid that no Linux gives


class Killed(BaseException):
    """SIGKILL: nothing of the run goes on, no cleanup, no message."""


class Killer:
    """Ends the run before or after the ``nth`` request of a method; dead, it asks nothing any more."""

    def __init__(self, method: str, when: str, nth: int = 1) -> None:
        self.method, self.when, self.left = method, when, nth
        self.dead = False

    @contextlib.contextmanager
    def armed(self) -> Iterator[None]:
        real = SoapAdapter.SoapStubAdapter.InvokeMethod

        def invoke(stub: Any, target: Any, info: Any, args: Any, *more: Any, **options: Any) -> Any:
            if self.dead:
                raise Killed
            if info.wsdlName == self.method:
                self.left -= 1
                if self.left == 0:
                    self.dead = True
                    if self.when == "after":
                        real(stub, target, info, args, *more, **options)
                    raise Killed
            return real(stub, target, info, args, *more, **options)

        with unittest.mock.patch.object(SoapAdapter.SoapStubAdapter, "InvokeMethod", invoke):
            yield


@contextlib.contextmanager
def controller(name: str, process: str = "") -> Iterator[None]:
    """Modules run as another run, on another controller."""
    run = run_identity.Run(name, f"ctl-{name}", process)
    with contextlib.ExitStack() as stack:
        for module, replaced, by in (
            (arguments, "Connection", Quick),
            (esxi_window, "Connection", Quick),
            (arguments, "current_run", lambda given="": run),
        ):
            stack.enter_context(unittest.mock.patch.object(module, replaced, by))
        yield


def dead_process() -> str:
    return f"{run_identity._machine()}.{DEAD}"


def run_as(vcenter: Vcenter, name: str, module: str = "esxi_reboot", check: bool = False, **parameters: Any) -> Result:
    with controller(name):
        return run_module(module, {**vcenter.login, **parameters}, check)


def killed_run(vcenter: Vcenter, killer: Killer, **parameters: Any) -> None:
    """A run that dies; its process is gone when somebody looks."""
    with controller("victim", dead_process()), killer.armed():
        try:
            run_module("esxi_reboot", {**vcenter.login, **parameters})
        except Killed:
            return
    raise AssertionError(f"the run never came to {killer.method}")


# ---------------------------------------------------------------- what must be true
def fields(vcenter: Vcenter) -> dict[str, dict[str, str]]:
    return dict(vcenter.ask("GET", "/fields"))


def marks(vcenter: Vcenter) -> list[str]:
    """Marks on hosts and leases that hold somebody's name."""
    return [value for owner, found in fields(vcenter).items() if owner for value in found.values()]


def settle(vcenter: Vcenter) -> None:
    """Whatever is under way ends: hosts are back, nothing is entering."""
    deadline = time.monotonic() + 60
    while any(
        host["connection"] != "connected" or host["entering_maintenance"] for host in vcenter.state()["hosts"].values()
    ):
        assert time.monotonic() < deadline, "the hosts do not come to rest"
        time.sleep(0.02)


def lies(vcenter: Vcenter, before: Any, result: Result, host: str = "esx01") -> list[str]:
    """Everything about an outcome that is not true, or that a person would have to know and is not told."""
    now, found = vcenter.state(), []
    text = result.msg + result.warned
    for name, one in now["hosts"].items():
        if one["boots"] > 1:
            found.append(f"{name} was booted {one['boots']} times")
        if name != host and one != before["hosts"][name]:
            found.append(f"{name} was touched")
    mine = [vm for vm, row in before["vms"].items() if row["host"] == host]
    down = [vm for vm in mine if before["vms"][vm]["power"] == "on" and now["vms"][vm]["power"] == "off"]
    if result.failed:
        found += [f"{vm} is off and not named" for vm in down if vm not in text]
        if now["hosts"][host]["maintenance"] and "in maintenance mode" not in text:
            found.append("maintenance mode is not named")
        if "nothing was changed" in result.msg and now["hosts"] != before["hosts"]:
            found.append("says that nothing was changed")
        if "nothing was changed" in result.msg and down:
            found.append("says that nothing was changed, and VMs are off")
        if result.get("resume", {}).get("in_maintenance") == "adopt" and not now["hosts"][host]["maintenance"]:
            found.append("advises adopt for a host that is not in maintenance mode")
        if (
            down or (now["hosts"][host]["maintenance"] and not before["hosts"][host]["maintenance"])
        ) and "run again" not in text:
            found.append("does not say how to go on")
    else:
        found += [f"success, and {vm} is off" for vm in down if vm not in text]
        if result.get("rebooted") and now["hosts"][host]["boots"] == before["hosts"][host]["boots"]:
            found.append("claims a reboot")
    if not now["hosts"][host]["maintenance"]:
        found += [f"left behind: {value}" for value in marks(vcenter) if value.startswith("rocemesh-window")]
    found += [f"left behind: {value}" for value in marks(vcenter) if value.startswith("rocemesh-lease")]
    return found


def heal_and_resume(vcenter: Vcenter, failed: Result, **parameters: Any) -> Result:
    """Do what the message says."""
    vcenter.heal()
    settle(vcenter)
    again = {key: value for key, value in parameters.items() if key not in ("required", "pending_settings")}
    return run_as(vcenter, "resumer", **again, **failed.get("resume", {}))


Prepare = Callable[[Vcenter], None]


def fault(name: str, **selectors: Any) -> Prepare:
    return lambda vcenter: vcenter.fault(name, **selectors)


def meanwhile(when: str, method: str, do: str, **more: Any) -> Prepare:
    """Somebody else does something at exactly this request."""
    return fault("meanwhile", method=method, when=when, do=do, count=1, **{"host": "esx01", **more})


def admin(vcenter: Vcenter, do: str, **more: Any) -> None:
    vcenter.ask("POST", "/admin", {"do": do, "user": TECHNICIAN, **more})


def as_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
