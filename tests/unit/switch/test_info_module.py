"""switch_roce_info refuses what the system does not have, before it logs in."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration import in_process

# Nothing listens there: an answer that is not a refusal would be "unreachable".
LOGIN = {"hostname": "127.0.0.1", "port": 1, "username": "u", "password": "p-4711", "timeout": 1}


@pytest.mark.parametrize(
    ("system", "options", "words"),
    [
        ("onyx", {"mode": "lossy-multi-tc"}, "semi-lossless"),
        ("cumulus", {"mode": "semi-lossless"}, "lossless-single-ipool"),
        ("eos", {"mode": "semi-lossless"}, "choose one of lossless, lossy, absent"),
        ("onyx", {"vlan": 111}, "sonic, eos, nxos, not with onyx"),
        ("cumulus", {"mtu": 9000}, "sonic, eos, nxos, not with cumulus"),
        ("onyx", {"port_mode": "trunk"}, "not with onyx"),
        ("sonic", {"bridge_domain": "br0"}, "exists with cumulus, not with sonic"),
    ],
)
def test_option_of_another_system_is_refused(system: str, options: dict[str, Any], words: str) -> None:
    result = in_process.run("switch_roce_info", {**LOGIN, "system": system, **options}, {})
    assert result["error_code"] == "refused" and words in result["msg"] and next(iter(options)) in result["msg"]


@pytest.mark.parametrize("options", [{"hostname": ""}, {"timeout": 0}, {"timeout": -1}])
@pytest.mark.parametrize("system", ["onyx", "cumulus", "sonic"])
def test_login_that_cannot_be_is_refused(system: str, options: dict[str, Any]) -> None:
    result = in_process.run("switch_roce_info", {**LOGIN, "system": system, **options}, {})
    assert result["error_code"] == "refused" and next(iter(options)) in result["msg"]


@pytest.mark.parametrize(("address", "place"), [("127.0.0.1", "127.0.0.1:1"), ("::1", "[::1]:1")])
@pytest.mark.parametrize("system", ["onyx", "cumulus", "sonic"])
def test_every_system_is_asked_at_its_port(system: str, address: str, place: str) -> None:
    result = in_process.run("switch_roce_info", {**LOGIN, "system": system, "hostname": address}, {})
    assert result["error_code"] == "unreachable" and result["msg"].startswith(place)
