"""Access, trunk and routed ports on switches that are configured: what is sent, what is refused, and the way back."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ApplyError, RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue import info, plan
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue.reading import NvueReader
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx import plan as onyx
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx.info import survey
from ansible_collections.rocemesh.multinode.plugins.module_utils._site.path_intent import Intent
from ansible_collections.rocemesh.multinode.plugins.module_utils._site.path_switch import switch_rows
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.request import Wanted

from lab.switch.state import Switch
from tests.unit.nvue.harness import Direct, Twin
from tests.unit.nvue.harness import run as run_cumulus
from tests.unit.onyx.harness import FakeSession
from tests.unit.onyx.harness import Run as RunOnyx

RELEASES = ("5.4.0", "5.14.0", "5.15.0", "5.18.0")


class Onyx:
    """One simulated Onyx switch; ``trunk`` and ``routed`` are ports in use."""

    port, trunk, routed, used_address = "1/{}", "1/31", "1/28", "192.0.2.1/31"

    def __init__(self) -> None:
        self.switch = Switch("sw01", "3.10.4006", 32, 0.0, nodes=8)

    def run(self, wanted: Wanted, check_mode: bool = False, **options: Any) -> dict[str, Any]:
        return RunOnyx(self.switch, wanted, **options)(check_mode)

    def facts(self) -> dict[str, Any]:
        return survey("sw01", FakeSession(self.switch), mode="lossless")

    def refuse_last_line(self) -> None:
        self.switch.faults.inject({"name": "refuse_line", "pattern": "address|allowed-vlan"})

    def config(self) -> Any:
        return self.switch.running.as_json()


class Cumulus:
    """One simulated Cumulus switch of a release."""

    port, trunk, routed, used_address = "swp{}", "swp31", "swp28", "192.0.2.1/31"

    def __init__(self, release: str) -> None:
        self.twin = Twin(release=release)

    def run(self, wanted: Wanted, **options: Any) -> dict[str, Any]:
        return run_cumulus(self.twin, wanted, **options)

    def facts(self) -> dict[str, Any]:
        reader = NvueReader("sw02", Direct(self.twin.api, self.twin.clock), "br_default")
        return info.survey(reader, (), "lossless")

    def refuse_last_line(self) -> None:
        self.twin.fault(name="end_in", state="apply_fail", message="synthetic", partial=True)

    def config(self) -> Any:
        return self.twin.applied


SYSTEMS = {"onyx": Onyx, **{f"cumulus-{release}": lambda release=release: Cumulus(release) for release in RELEASES}}


@pytest.fixture(params=SYSTEMS)
def system(request: pytest.FixtureRequest) -> Any:
    return SYSTEMS[request.param]()


def routed(system: Any, numbers: range, **options: Any) -> Wanted:
    """A /31 for each rail."""
    names = [system.port.format(number) for number in numbers]
    addresses = {name: (f"10.78.{number}.0/31",) for number, name in zip(numbers, names)}
    return Wanted(port_mode="routed", ports=tuple(names), addresses=addresses, mtu=9216, **options)


def trunk(system: Any, *names: str, **options: Any) -> Wanted:
    return Wanted(port_mode="trunk", vlan=111, ports=names or (system.port.format(1),), mtu=9216, **options)


def rows(system: Any, wanted: Wanted) -> list[str]:
    """What the consistency check has against the requested ports."""
    found = system.facts()
    found["ports"] = {name: found["ports"][name] for name in wanted.ports}
    found["wanted"] = {"port_mode": wanted.port_mode}
    found["vlan"] = None if wanted.vlan is None else {"id": wanted.vlan}
    intent = Intent(network=[f"10.78.{number}.0/31" for number in range(1, 9)])
    return [f"{row.place} {row.found}" for row in switch_rows("sw", found, 9000, intent) if row.level == "problem"]


def test_routed_rails_eight_then_second_run_is_idle(system: Any) -> None:
    wanted = routed(system, range(1, 9))
    assert system.run(wanted, check_mode=True)["operations"]
    first = system.run(wanted)
    assert first["changed"] and first["saved"]
    assert {name: first["ports"][name]["addresses"] for name in wanted.ports} == {
        name: list(texts) for name, texts in wanted.addresses.items()
    }
    second = system.run(wanted)
    assert not second["changed"] and second["operations"] == []
    assert rows(system, wanted) == []


def test_trunk_carries_vlan_then_second_run_is_idle(system: Any) -> None:
    wanted = trunk(system, system.port.format(1), system.port.format(2))
    assert system.run(wanted)["changed"]
    assert not system.run(wanted)["changed"]
    assert system.facts()["ports"][wanted.ports[0]]["mode"] == "trunk"
    assert rows(system, wanted) == []


def test_trunk_in_use_keeps_its_vlans(system: Any) -> None:
    system.run(trunk(system, system.trunk))
    carried = system.facts()["ports"][system.trunk]["allowed_vlans"].split(",")
    assert sorted(map(int, carried)) == [100, 111, 200]


@pytest.mark.parametrize("before", ["access", "trunk", "routed"])
@pytest.mark.parametrize("after", ["access", "trunk", "routed"])
def test_mode_changes_from_each_to_each(system: Any, before: str, after: str) -> None:
    wishes = {
        "access": Wanted(vlan=111, ports=(system.port.format(1),), mtu=9216, convertible=None),
        "trunk": trunk(system, convertible=None),
        "routed": routed(system, range(1, 2), convertible=None),
    }
    system.run(wishes[before])
    result = system.run(wishes[after])
    assert result["changed"] is (before != after)
    assert result["ports"][system.port.format(1)]["mode"] == after
    assert not system.run(wishes[after])["changed"]


def test_routed_port_of_somebody_is_refused_then_given_up(system: Any) -> None:
    wanted = Wanted(port_mode="routed", ports=(system.routed,), addresses={system.routed: ("10.78.1.0/31",)})
    with pytest.raises(RefusedError, match=system.used_address):
        system.run(wanted)
    result = system.run(dataclasses.replace(wanted, convertible=frozenset([system.routed])))
    assert result["ports"][system.routed]["addresses"] == ["10.78.1.0/31"]


def test_trunk_becomes_routed_only_if_given_up(system: Any) -> None:
    wanted = Wanted(port_mode="routed", ports=(system.trunk,), addresses={system.trunk: ("10.78.1.0/31",)})
    with pytest.raises(RefusedError, match="100"):
        system.run(wanted)


@pytest.mark.parametrize("mode", ["trunk", "routed"])
def test_change_that_fails_is_taken_back(system: Any, mode: str) -> None:
    system.run(Wanted(vlan=111, ports=(system.port.format(1),), mtu=9216))
    before = system.config()
    system.refuse_last_line()
    with pytest.raises(Exception) as error:
        system.run(trunk(system) if mode == "trunk" else routed(system, range(1, 2)), rollback=True)
    assert error.value.details.get("rolled_back"), error.value
    assert _ports(system.config()) == _ports(before)


def _ports(config: Any) -> Any:
    return config.get("ports", config.get("interface"))


def test_onyx_routing_is_turned_on_once() -> None:
    system = Onyx()
    commands = [each["command"] for each in system.run(routed(system, range(1, 2)))["operations"]]
    assert sum(command.startswith("ip routing ") for command in commands) == 1
    again = [each["command"] for each in system.run(routed(system, range(1, 3)))["operations"]]
    assert not any(command.startswith("ip routing ") for command in again)


def test_onyx_ipv6_is_refused() -> None:
    system = Onyx()
    wanted = Wanted(port_mode="routed", ports=("1/1",), addresses={"1/1": ("2001:db8::/127",)})
    with pytest.raises(RefusedError, match="IPv6"):
        system.run(wanted)


@pytest.mark.parametrize("release", RELEASES)
def test_cumulus_both_families(release: str) -> None:
    system = Cumulus(release)
    texts = ("10.78.1.0/31", "2001:db8:0:1::/127")
    result = system.run(Wanted(port_mode="routed", ports=("swp1",), addresses={"swp1": texts}))
    assert set(result["ports"]["swp1"]["addresses"]) == set(texts)


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"port_mode": "routed"}, "no address for {0}"),
        ({"port_mode": "routed", "vlan": 111, "addresses": {0: "10.0.0.0/31"}}, "no VLAN"),
        ({"port_mode": "routed", "addresses": {0: "10.0.0.1"}}, "prefix length"),
        ({"port_mode": "routed", "addresses": {0: "10.0.0.0/24"}}, "prefix length"),
        ({"port_mode": "routed", "addresses": {0: "10.0.0.256/31"}}, "prefix length"),
        ({"port_mode": "routed", "addresses": {0: "10.0.0.0/31", 1: "10.0.0.2/31"}}, "no routed ports"),
        ({"port_mode": "access", "vlan": 111, "addresses": {0: "10.0.0.0/31"}}, "no routed ports"),
        ({"port_mode": "trunk"}, "trunk of no VLAN"),
        (
            {"port_mode": "routed", "ports": (0, 1), "addresses": {0: "10.0.0.0/31", 1: "10.0.0.1/31"}},
            "overlaps",
        ),
    ],
)
@pytest.mark.parametrize("naming", [(onyx, "1/1", "1/2"), (plan, "swp1", "swp2")], ids=["onyx", "cumulus"])
def test_request_wrong_is_refused(naming: Any, params: dict[str, Any], text: str) -> None:
    module, *names = naming
    ports = [names[each] for each in params.get("ports", (0,))]
    addresses = {names[key]: value for key, value in params.get("addresses", {}).items()}
    with pytest.raises(RefusedError, match=text.format(*names)):
        module.request("sw", {**params, "ports": ports, "addresses": addresses})


def test_apply_error_is_what_onyx_raises() -> None:
    system = Onyx()
    system.refuse_last_line()
    with pytest.raises(ApplyError, match="refused"):
        system.run(routed(system, range(1, 2)))
