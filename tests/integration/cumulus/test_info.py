"""switch_roce_info of a Cumulus switch over HTTPS: it agrees with the module that configures, and only reads."""

from __future__ import annotations

from typing import Any

from tests.integration.cumulus.harness import Simulator
from tests.integration.simulated_switch import run_module

READY: dict[str, Any] = {"vlan": 111, "ports": ["swp1-4"], "mtu": 9216}


def look(simulator: Simulator, **arguments: Any) -> dict[str, Any]:
    return dict(run_module(simulator, module="switch_roce_info", **arguments)["switch"])


def test_nvue_agrees_with_the_module_that_configures_and_only_reads(nvue: Simulator) -> None:
    done = run_module(nvue, **READY)
    begun = len(nvue.state()["requests"])
    found = look(nvue, ports=["swp1-4"], mode="lossless")
    assert found["healthy"] and found["roce"] == done["roce"] and found["version"] == done["version"]
    assert found["ports"]["swp1"]["counters"] == done["ports"]["swp1"]["counters"]
    assert all(request.startswith("GET ") for request in nvue.state()["requests"][begun:])
