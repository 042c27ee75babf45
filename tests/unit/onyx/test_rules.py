"""One row for every rule about RoCE, MTU, VLANs, ports, ranges and order on an Onyx switch.

The number is that of the rule in the project's notes on the device (2.1 RoCE, 2.2 health, 2.3 MTU, 2.4 VLANs and
ports, 2.5 names and ranges, 2.6 order); the words after it say the rule. Each row is a function of its own, because
most rules need a switch that remembers what it was told.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import (
    ApplyError,
    LayerError,
    RefusedError,
    VerifyError,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx import plan as planning
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx import state as parsing
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx.info import survey
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.judge import has_vlan
from ansible_collections.rocemesh.multinode.plugins.module_utils._switch.request import Wanted

from lab.switch.state import Switch
from tests.unit.onyx import printed
from tests.unit.onyx.harness import WANTED, FakeSession, Run, new_switch
from tests.unit.onyx.test_layer import type_in

ROWS: list[tuple[str, Callable[[], None]]] = []


def rule(identity: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def register(check: Callable[[], None]) -> Callable[[], None]:
        ROWS.append((identity, check))
        return check

    return register


def operations(switch: Switch, wanted: Wanted) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = Run(switch, wanted)(check_mode=True)["operations"]
    return result


def commands(switch: Switch, wanted: Wanted) -> list[str]:
    return [line for operation in operations(switch, wanted) for line in operation["command"].split("\n")]


def refused(switch: Switch, wanted: Wanted, *words: str) -> RefusedError:
    """The request is refused, in check mode too, without one configuration line."""
    before = switch.as_json()
    for check_mode in (True, False):
        run = Run(switch, wanted)
        with pytest.raises(RefusedError) as caught:
            run(check_mode)
        assert run.sent == []
    assert switch.as_json() == before
    for word in words:
        assert word in str(caught.value)
    return caught.value


# --- 2.1 roce


@rule("2.1 the mode is always spelled out, as plain 'roce' means lossless")
def rule_01() -> None:
    for mode in ("lossless", "semi-lossless", "lossy"):
        assert commands(new_switch(), Wanted(mode=mode)) == [f"roce {mode}"]
    switch = new_switch()
    type_in(switch, "roce", "configuration write")
    assert commands(switch, Wanted(mode="lossless")) == []


@rule("2.1 'no roce' turns it off")
def rule_02() -> None:
    switch = new_switch()
    assert commands(switch, Wanted(mode=None)) == []
    type_in(switch, "roce lossy")
    assert commands(switch, Wanted(mode=None)) == ["no roce"]


@rule("2.1 lossless is PFC on priority 3 and ECN, semi-lossless and lossy need no PFC")
def rule_03() -> None:
    for mode in ("lossless", "semi-lossless", "lossy"):
        switch = new_switch()
        switch.faults.inject({"name": "pfc_off"})
        if mode == "lossless":
            with pytest.raises(VerifyError, match="PFC"):
                Run(switch, dataclasses.replace(WANTED, mode=mode))()
        else:
            assert Run(switch, dataclasses.replace(WANTED, mode=mode))()["saved"]


@rule("2.1 a change of the mode may toggle every link: named in check mode, for all ports and not only ours")
def rule_04() -> None:
    (operation,) = operations(new_switch(), Wanted(ports=()))
    assert "may toggle" in operation["disrupts"] and "1/31" in operation["disrupts"]


@rule("2.1 a change of the mode is guarded by allow_disruption")
def rule_05() -> None:
    wanted = dataclasses.replace(WANTED, disruption="requested_ports")
    refused(new_switch(), wanted, "RoCE mode off -> lossless", "1/31", "allow_disruption")


@rule("2.1 the command is never sent again in the same mode, because whether that toggles links is unknown")
def rule_06() -> None:
    switch = new_switch()
    Run(switch)()
    flaps = dict(switch.flaps)
    assert not Run(switch)()["changed"] and switch.flaps == flaps


@rule("2.1 what the mode results in is read: trust L3, ECN 150/1500 KB, PFC 3, ETS, pools")
def rule_07() -> None:
    roce = parsing.parse_roce("sw01", printed.ROCE_REAL)
    assert (roce.trust, roce.ecn_min_kb, roce.ecn_max_kb, roce.priorities) == ("L3", 150, 1500, {3: "enabled"})
    assert roce.classes == ((3, 3, "RoCE", "WRR 50%"), (6, 6, "CNP", "Strict"))
    assert [pool[:2] for pool in roce.pools] == [("lossy-default", "lossy"), ("roce-reserved", "lossless")]


@rule("2.1 'roce' does not turn LLDP on: told, since hosts that use DCBX need it, and not changed")
def rule_08() -> None:
    switch = new_switch()
    type_in(switch, "no lldp", "configuration write")
    run = Run(switch)
    assert any("LLDP is off" in text for text in run()["warnings"])
    assert not [line for line in run.sent if "lldp" in line]


@rule("2.1 access ports carry no PCP, so every port has to trust DSCP (L3)")
def rule_09() -> None:
    state = Run(new_switch()).layer.observe()
    lossless = parsing.parse_roce("sw01", printed.ROCE_REAL)
    wanted = Wanted(ports=("1/1", "1/2"))
    healthy = {name: {3: "ECN"} for name in wanted.ports}
    pfc = dict.fromkeys(wanted.ports, ("Auto", "Enabled"))
    for trust, right in (("L3", True), ("both", True), ("L2", False), ("", False)):
        judged = dataclasses.replace(
            state, roce=lossless, ecn=healthy, pfc=pfc, trust={"1/1": "L3", "1/2": trust} if trust else {"1/1": "L3"}
        )
        assert (planning.unhealthy(judged, wanted) == []) is right


@rule("2.1 leftovers of a configuration by hand show up as exceptions and are not removed for anybody")
def rule_10() -> None:
    switch = new_switch()
    switch.faults.inject({"name": "exception", "text": "Eth1/3 traffic-class 3 differs"})
    run = Run(switch)
    with pytest.raises(VerifyError, match="traffic-class 3 differs"):
        run()
    assert "configuration write" not in run.sent


@rule("2.1 before 3.8.2000 there is no 'roce': refused with the release, not emulated")
def rule_11() -> None:
    for version in ("3.6.5000", "3.7.1102", "3.8.1999"):
        refused(new_switch(version), WANTED, version, "3.8.2000")
    for version in ("3.8.2000", "3.8.2008", "3.10.4006"):
        assert "roce lossless" in commands(new_switch(version), WANTED)


# --- 2.2 healthy


@rule("2.2 each part of the predicate can fail it: mode, trust, ECN, PFC, priority 3, exceptions, each port")
def rule_12() -> None:
    switch = new_switch()
    Run(switch)()
    layer = Run(switch).layer
    state = layer.observe()
    assert planning.unhealthy(state, WANTED) == []
    roce = state.roce
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("trust mode", {"roce": dataclasses.replace(roce, trust="L2")}),
        ("congestion control", {"roce": dataclasses.replace(roce, ecn="")}),
        ("PFC is disabled", {"roce": dataclasses.replace(roce, pfc="disabled")}),
        ("priority 3", {"roce": dataclasses.replace(roce, priorities={4: "enabled"})}),
        ("exception list: row", {"roce": dataclasses.replace(roce, exceptions=("row",))}),
        ("port 1/2 trusts", {"trust": {**state.trust, "1/2": "L2"}}),
        ("port 1/2: traffic class 3", {"ecn": {**state.ecn, "1/2": {3: "none"}}}),
        ("port 1/2: PFC", {"pfc": {**state.pfc, "1/2": ("On", "Disabled")}}),
    ]
    for words, change in wrong:
        (problem,) = planning.unhealthy(dataclasses.replace(state, **change), WANTED)
        assert words in problem


@rule("2.2 PFC counts by its operational state: admin may read Auto")
def rule_13() -> None:
    assert parsing.parse_pfc("sw01", printed.pfc(printed.NEW))["1/1"] == ("Auto", "Enabled")
    switch = new_switch()
    Run(switch)()
    state = Run(switch).layer.observe()
    auto = dict.fromkeys(WANTED.ports, ("Auto", "Enabled"))
    assert planning.unhealthy(dataclasses.replace(state, pfc=auto), WANTED) == []


@rule("2.2 a port without a link is warned of and fails nothing")
def rule_14() -> None:
    result = Run(new_switch(), dataclasses.replace(WANTED, ports=("1/1", "1/9")))()
    assert result["saved"] and any("1/9 has no link" in text for text in result["warnings"])


@rule("2.2 counters are reported and never fail anything: discards, hoq discards, PFC pauses, ECN marks, RoCE packets")
def rule_15() -> None:
    switch = new_switch()
    many = {"rx_discards": 1, "tx_discards": 2, "tx_hoq_discards": 3, "ecn_marked": 4}
    switch.faults.inject({"name": "counters", **many, "rx_pause": 5, "tx_pause": 6, "roce_packets": 7})
    counters = Run(switch)()["ports"]["1/2"]["counters"]
    assert counters == {
        **many,
        "rx_pfc_pause": 5,
        "tx_pfc_pause": 6,
        "rx_roce_packets": 7,
        "tx_roce_packets": 7,
    }
    switch.faults.inject({"name": "refuse_line", "pattern": "counters"})
    assert Run(switch)()["ports"]["1/2"]["counters"] == many


# --- 2.3 MTU


@rule("2.3 the range is 1500 to 9216")
def rule_16() -> None:
    for mtu in (1499, 9217, 9612, 0, -1):
        with pytest.raises(RefusedError, match="1500 to 9216"):
            planning.request("sw01", {"mtu": mtu, "ports": ["1/1"]})
    for mtu in (1500, 9216):
        assert planning.request("sw01", {"mtu": mtu, "ports": ["1/1"]}).mtu == mtu


@rule("2.3 the MTU is printed with and without a blank before the bracket")
def rule_17() -> None:
    for era in (printed.OLD, printed.NEW):
        links = parsing.parse_links("sw01", printed.ethernet(era))
        assert (links["1/1"].mtu, links["1/10/2"].mtu) == (9216, 1500)


@rule("2.3 force is one line per range, shutdown three")
def rule_18() -> None:
    wanted = Wanted(mode=None, ports=WANTED.ports, mtu=9216)
    assert commands(new_switch(), wanted) == ["interface ethernet 1/1-1/4 mtu 9216 force"]
    assert commands(new_switch(), dataclasses.replace(wanted, mtu_method="shutdown")) == [
        "interface ethernet 1/1-1/4 shutdown",
        "interface ethernet 1/1-1/4 mtu 9216",
        "interface ethernet 1/1-1/4 no shutdown",
    ]


@rule("2.3 force may bounce the link: named, and only for ports whose MTU differs")
def rule_19() -> None:
    switch = new_switch()
    type_in(switch, "interface ethernet 1/2 mtu 9216 force")
    found = operations(switch, Wanted(mode=None, ports=WANTED.ports, mtu=9216))
    assert [operation["command"] for operation in found] == [
        "interface ethernet 1/1 mtu 9216 force",
        "interface ethernet 1/3-1/4 mtu 9216 force",
    ]
    assert all("bounce" in operation["disrupts"] for operation in found)


@rule("2.3 a port that was shut down is never brought up, and needs no force")
def rule_20() -> None:
    for method in ("force", "shutdown"):
        switch = new_switch()
        type_in(switch, "interface ethernet 1/2 shutdown", "configuration write")
        run = Run(switch, dataclasses.replace(WANTED, mtu_method=method))
        run()
        assert not switch.running.ports["1/2"].admin and switch.running.ports["1/2"].mtu == 9216
        assert not [line for line in run.sent if "1/2 no shutdown" in line]


@rule("2.3 where force is refused, that port falls back to shutdown, and it is told")
def rule_21() -> None:
    switch = new_switch()
    switch.faults.inject({"name": "refuse_force", "port": "1/3"})
    run = Run(switch)
    assert any("one by one" in text for text in run()["warnings"])
    assert "interface ethernet 1/3 shutdown" in run.sent and "interface ethernet 1/2 shutdown" not in run.sent


@rule("2.3 the MTU of a LAG member belongs to the LAG: refused, with its name")
def rule_22() -> None:
    refused(new_switch(), Wanted(mode=None, ports=("1/29",), mtu=9000), "1/29", "Po1", "MTU")


@rule("2.3 the MTU of the layer 3 interface is another one and is not touched")
def rule_23() -> None:
    sent = commands(new_switch(), dataclasses.replace(WANTED, svi=True))
    assert "interface vlan 111" in sent and not [line for line in sent if "vlan" in line and "mtu" in line]


# --- 2.4 VLAN and ports


@rule("2.4 'vlan N' opens a sub-mode, a name makes it one line: the next line starts in configuration mode")
def rule_24() -> None:
    assert commands(new_switch(), Wanted(mode=None, vlan=111)) == ["vlan 111"]
    assert commands(new_switch(), Wanted(mode=None, vlan=111, vlan_name="rdma")) == ["vlan 111 name rdma"]
    switch = new_switch()
    Run(switch, Wanted(vlan=111, ports=("1/1",)))()
    assert switch.running.ports["1/1"].access_vlan == 111


@rule("2.4 a VLAN is layer 2; the layer 3 interface is made only when asked for")
def rule_25() -> None:
    assert "interface vlan 111" not in commands(new_switch(), WANTED)
    switch = new_switch()
    Run(switch, dataclasses.replace(WANTED, svi=True))()
    assert switch.running.svis == [111]
    assert not Run(switch, dataclasses.replace(WANTED, svi=True))()["changed"]


@rule("2.4 a port comes from VLAN 1 and its way back leads there")
def rule_26() -> None:
    result = Run(new_switch(), Wanted(mode=None, vlan=111, ports=("1/1",)))(check_mode=True)
    assert result["undo"][0] == "interface ethernet 1/1 switchport access vlan 1"


@rule("2.4 trunk, hybrid and routed ports are refused with what they carry, unless told")
def rule_27() -> None:
    for name, words in (("1/31", "100,200"), ("1/27", "100"), ("1/28", "192.0.2.1/31")):
        refused(new_switch(), Wanted(vlan=111, ports=(name,)), name, words, "allow_mode_change")
        told = Wanted(vlan=111, ports=(name,), convertible=frozenset({name}))
        assert any("loses" in operation["disrupts"] for operation in operations(new_switch(), told))


@rule("2.4 the VLAN is created before a port is put into it")
def rule_28() -> None:
    sent = commands(new_switch(), WANTED)
    assert sent.index("vlan 111 name rdma") < sent.index("interface ethernet 1/1-1/4 switchport access vlan 111")


@rule("2.4 a port that is missing in the layer 2 table is routed, or unknown, and refused")
def rule_29() -> None:
    refused(new_switch(), Wanted(vlan=111, ports=("1/28",)), "routed port")


@rule("2.4 ports of the VLAN that were not asked for are reported, trunks that allow it among them")
def rule_30() -> None:
    switch = new_switch()
    type_in(
        switch,
        "vlan 111",
        "interface ethernet 1/9 switchport access vlan 111",
        "interface ethernet 1/31 switchport trunk allowed-vlan add 111",
    )
    result = Run(switch, dataclasses.replace(WANTED, vlan_name=None), save="always")()
    assert result["vlan"]["unexpected_members"] == ["1/9", "1/31"]
    for allowed, carried in (("all", True), ("100-200", True), ("2,4,111", True), ("112-115", False), ("", False)):
        assert has_vlan(allowed, 111) is carried


# --- 2.5 names and ranges


@rule("2.5 1/1, Eth1/1 and ethernet 1/1 are the same port, with and without its port-channel behind it")
def rule_31() -> None:
    for text in ("1/1", "Eth1/1", "ethernet 1/1"):
        assert planning.expand("sw01", text) == ["1/1"]
    links = json.dumps(
        [{"Eth1/1 (Po100)": [{"MTU": "1500 bytes", "Admin state": "Enabled", "Operational state": "Up"}]}]
    )
    assert list(parsing.parse_links("sw01", links)) == ["1/1"]


@rule("2.5 breakout ports have three numbers, and a range stays in one breakout")
def rule_32() -> None:
    assert planning.expand("sw01", "1/32/1-1/32/4") == [f"1/32/{lane}" for lane in range(1, 5)]
    for wrong in ("1/32/1-1/33/2", "1/1-1/32/2", "1/1-2/4", "1/4-1/1"):
        with pytest.raises(RefusedError):
            planning.expand("sw01", wrong)
    switch = new_switch()
    assert Run(switch, Wanted(vlan=111, ports=("1/32/1", "1/32/2"), mtu=9216))()["saved"]
    assert switch.running.ports["1/32/2"].mtu == 9216


@rule("2.5 one line per contiguous run, no comma lists, never across a hole, a slot or a breakout")
def rule_33() -> None:
    names = ["1/1", "1/2", "1/4", "1/31", "1/32/1", "1/32/2", "2/1"]
    specs = [spec for spec, _members in planning.runs(names)]
    assert specs == ["1/1-1/2", "1/4", "1/31", "1/32/1-1/32/2", "2/1"]
    sent = commands(new_switch(), Wanted(mode=None, vlan=111, ports=("1/1", "1/2", "1/4", "1/32/1", "1/32/2")))
    assert not [line for line in sent if "," in line] and len(sent) == 4


@rule("2.5 after a split the parent is gone: named with its lanes; missing ports with those that exist")
def rule_34() -> None:
    refused(new_switch(), Wanted(vlan=111, ports=("1/31", "1/32")), "1/32 is split into 1/32/1-1/32/4")
    refused(new_switch(), Wanted(vlan=111, ports=("1/40",)), "1/40", "1/1-1/31")


@rule("2.5 what a refused range has changed is read again, and the rest is done port by port")
def rule_35() -> None:
    for partial in (False, True):
        switch = new_switch()
        switch.faults.inject({"name": "refuse_force", "port": "1/3"})
        if partial:
            switch.faults.inject({"name": "range_partial"})
        assert Run(switch)()["saved"]
        assert {switch.running.ports[name].mtu for name in WANTED.ports} == {9216}


# --- 2.6 order


@rule("2.6 read, validate everything, snapshot, VLAN, RoCE, access VLAN, MTU, links, read again, save")
def rule_36() -> None:
    switch = new_switch()
    run = Run(switch, dataclasses.replace(WANTED, snapshot="before"))
    run()
    assert run.sent == [
        "configuration write to before no-switch",
        "vlan 111 name rdma",
        "roce lossless",
        "interface ethernet 1/1-1/4 switchport access vlan 111",
        "interface ethernet 1/1-1/4 mtu 9216 force",
        "configuration write",
    ]
    assert len(run.sessions) == 1


@rule("2.6 everything is validated before the first line")
def rule_37() -> None:
    error = refused(new_switch(), dataclasses.replace(WANTED, ports=("1/1", "1/27", "1/29", "1/31")))
    assert len(error.details["reasons"]) == 3


@rule("2.6 the wait for links is bounded")
def rule_38() -> None:
    run = Run(new_switch(link_delay=3600), wait_for_links=7)
    with pytest.raises(VerifyError, match="within 7 s"):
        run()
    assert 7 <= run.clock.now < 9


@rule("2.6 saved only if verified, and only if something is unsaved")
def rule_39() -> None:
    switch = new_switch()
    switch.faults.inject({"name": "ignore_line", "pattern": "mtu"})
    run = Run(switch)
    with pytest.raises(VerifyError):
        run()
    assert "configuration write" not in run.sent
    switch.faults.clear()
    assert Run(switch)().get("saved")
    again = Run(switch)
    again()
    assert "configuration write" not in again.sent


@rule("2.6 on an error: stop, tell what was applied, what failed, the device's words and the way back; unsaved")
def rule_40() -> None:
    switch = new_switch()
    switch.faults.inject({"name": "refuse_line", "pattern": "access vlan", "message": "no resources"})
    run = Run(switch)
    with pytest.raises(ApplyError, match="no resources") as caught:
        run()
    details = caught.value.details
    assert details["applied"] == ["vlan 111 name rdma", "roce lossless"]
    assert details["undo"] == ["no roce", "no vlan 111"]
    assert "switchport access vlan" in details["failed_operation"] and "no resources" in details["device_message"]
    assert switch.unsaved and not [line for line in run.sent if "mtu" in line]


@rule("2.6 the way back is computed from what was read first, and sent only when told")
def rule_41() -> None:
    for rollback in (False, True):
        switch = new_switch()
        type_in(switch, "interface ethernet 1/2 mtu 4200 force", "configuration write")
        before = switch.running.as_json()
        switch.faults.inject({"name": "pfc_off", "port": "1/3"})
        with pytest.raises(LayerError) as caught:
            Run(switch, rollback=rollback)()
        undo = "\n".join(caught.value.details["rollback_commands" if rollback else "undo"])
        assert "1/2 mtu 4200 force" in undo
        assert (switch.running.as_json() == before) is rollback


@rule("2.6 somebody else's unsaved changes: when_clean leaves them, always writes them, never writes nothing")
def rule_42() -> None:
    for save, written in (("when_clean", False), ("always", True), ("never", False)):
        switch = new_switch()
        type_in(switch, "interface ethernet 1/9 description mine")
        result = Run(switch, save=save)()
        assert result["saved"] is written is not switch.unsaved
        assert result["foreign_changes"] == ["+ interface ethernet 1/9 description mine"]


@rule("2.6 all of it can be read without a configuration line")
def rule_43() -> None:
    switch = new_switch()
    Run(switch)()
    before = switch.as_json()
    session = FakeSession(switch)
    result = survey("sw01", session, mode="lossless")
    assert result["healthy"] and result["saved"] and result["ports"]["1/29"]["lag"] == "Po1"
    assert session.sent == [] and switch.as_json() == before


@pytest.mark.parametrize("check", [row[1] for row in ROWS], ids=[row[0] for row in ROWS])
def test_rule(check: Callable[[], None]) -> None:
    check()
