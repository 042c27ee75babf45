# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""cumulus_roce_info over HTTPS and SSH: it agrees with the module that configures, and only reads."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.cumulus.harness import Simulator, run_module

READY: dict[str, Any] = {"vlan": 111, "ports": ["swp1-4"], "mtu": 9216}


def look(simulator: Simulator, **arguments: Any) -> dict[str, Any]:
    return run_module(simulator, module="cumulus_roce_info", **arguments)


def test_nvue_agrees_with_the_module_that_configures_and_only_reads(nvue: Simulator) -> None:
    done = run_module(nvue, **READY)
    begun = len(nvue.state()["requests"])
    found = look(nvue, ports=["swp1-4"], mode="lossless")
    assert found["healthy"] and found["roce"] == done["roce"] and found["version"] == done["version"]
    assert found["ports"]["swp1"]["counters"] == done["ports"]["swp1"]["counters"]
    assert all(request.startswith("GET ") for request in nvue.state()["requests"][begun:])


def test_nclu_agrees_with_the_module_that_configures(nclu: Simulator) -> None:
    done = run_module(nclu, **READY)
    config = nclu.state()["config"]
    found = look(nclu, mode="lossless")
    assert found["healthy"] and not found["in_force_known"] and found["roce"] == done["roce"]
    assert found["ports"]["swp4"]["mtu"] == 9216 and found["ports"]["swp31"]["mode"] == "trunk"
    assert nclu.state()["config"] == config


@pytest.mark.parametrize(
    ("changes", "words", "code"),
    [
        ({"password": "wrong"}, "the login was refused", "credentials"),
        ({"ports": ["swp1-90"]}, "no such port", "refused"),
        ({"ports": ["1/1"]}, "1/1", "refused"),
        ({"ca_path": "/nonexistent/ca.pem"}, "/nonexistent/ca.pem", "refused"),
    ],
    ids=["wrong password", "port that does not exist", "Onyx port name", "no CA file"],
)
def test_bad_input_has_a_reason(nvue: Simulator, changes: dict[str, Any], words: str, code: str) -> None:
    result = look(nvue, **changes)
    assert result["failed"] and result["error_code"] == code and words in result["msg"]
    assert "What to do:" in result["msg"]
