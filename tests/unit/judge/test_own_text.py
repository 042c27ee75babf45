"""What this project writes of values that it has read as types is read as types: no pattern looks at it."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._collect import archive
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor import (
    bundle,
    catalogue,
    doctor,
    facts,
    reading,
    run_facts,
)

from tests.unit.doctor.test_facts import ESXI, SWITCH, VM
from tests.unit.proof.truth import Run

MARK = "zzmark"
VCENTER = {
    "hosts": [{"asked": "esx01", "problem": MARK, "maintenance": True, "connection": MARK, "power_policy": MARK}],
    "vms": [{"asked": "gpu02", "problem": MARK, "power": MARK, "heartbeat": MARK}],
}


def marked(value: Any) -> Any:
    """The same with a mark in each text."""
    if isinstance(value, dict):
        return {key: marked(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [marked(each) for each in value]
    return f"{value} {MARK}" if isinstance(value, str) else value


def written() -> dict[str, str]:
    """All that the writers have: of roles, of a run, and of its speed."""
    readings = copy.deepcopy(Run("4x1 ring").rdma())
    for moments in readings.values():
        moments["start"]["gpus"] = {
            "driver": {"loaded": "550.1"},
            "xids": [{"bus": "0000:3b:00.0", "xid": 79, "count": 1}],
            "state": [{"bus": "0000:3b:00.0", "slowed": ["hw_slowdown"], "remap_failed": True, "fabric": "Completed"}],
            "pci": [{"kind": "nvswitch"}],
            "fabric_manager": {"state": "failed"},
        }
    pace = {
        "state": "bad", "bus_gb_s": 5.0, "link_gb_s": 12.0,
        "slow_copies": [{"host": "gpu01", "rank": 1, "gb_s": 6.0, "usual_gb_s": 24.0}],
    }  # fmt: skip
    switch = {**SWITCH, "problems": ["PFC is disabled"], "unreadable": [{"what": "PFC", "reason": "error"}]}
    switches = {
        "sw01": {moment: {key: marked(switch[key]) for key in ("roce", "ports")} for moment in ("before", "after")}
    }
    change = {"key": "pciPassthru.allowP2P", "before": None}
    found = run_facts.pieces(
        {"rdma": marked(readings), "switches": switches, "vcenter": VCENTER}, {"esx01": ESXI["found"]}
    )
    found |= run_facts.speed(pace, {}) | facts.pieces("switches/sw02", marked(switch))
    found |= facts.pieces("esxi/esx02", marked({**ESXI, "changes": ["set atsSupport to TRUE"]}))
    return found | facts.pieces("vms/gpu02", marked({**VM, "changes": [change]}))


def test_no_pattern_meets_what_was_read_as_types(monkeypatch: pytest.MonkeyPatch) -> None:
    def met(_self: reading.Reading, piece: Any, *_given: Any, **_more: Any) -> int:
        raise AssertionError(f"{piece.name} is read line by line")

    monkeypatch.setattr(reading.Reading, "_log", met)
    monkeypatch.setattr(reading.Reading, "_line", met)
    texts = written()
    assert len(texts) > 25 and sum(MARK in text for text in texts.values()) > 10
    assert all(facts.is_whole(name) for name in texts), sorted(texts)
    answer = doctor.diagnose(None, texts)
    causes = {finding["cause"] for finding in answer["findings"]}
    assert {"gpu_fault", "switch_pfc"} <= causes, causes


def test_facts_in_an_archive_without_names_are_the_same() -> None:
    found = archive.redacted(archive.Pieces(written(), []), set(), {"sw01", "sw02", "esx01", "esx02", "gpu02"})
    assert not [name for name in ("sw01", "esx01") if name in "".join([*found.texts, *found.texts.values()])]
    answers = [doctor.diagnose(None, texts)["findings"] for texts in (written(), found.texts)]
    causes = [[(each["cause"], each["certainty"]) for each in findings] for findings in answers]
    assert causes[0] == causes[1] and len(causes[0]) > 4


def test_each_fact_has_a_line_of_its_own_by_which_it_is_quoted() -> None:
    texts = facts.pieces("switches/sw01", {"roce": {"mode": "absent", "trust": "L2"}})
    (finding,) = doctor.diagnose(None, texts)["findings"]
    for entry in finding["evidence"]:
        fact = json.loads(texts[entry["file"]].splitlines()[entry["line"] - 1].rstrip(","))
        assert entry["text"] == f"{fact['thing']}: {fact['value']}"


@pytest.mark.parametrize("text", ["no json", '{"thing": 1}', '[{"name": "x"}]', "[1]", '["thing"]', '[{"thing": "x"}]'])
def test_another_file_of_this_name_is_a_log(text: str) -> None:
    name = "hosts/gpu01/facts/custom.json"
    assert facts.read(name, text) is None
    log = f"{text}\nNVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n"
    assert [each["cause"] for each in doctor.diagnose(None, {name: log})["findings"]] == ["gpu_fault"]


@pytest.mark.parametrize(
    ("thing", "value", "signs"),
    [
        ("switch MTU", 1500, {"switch_mtu_small", "switch_mtu_1500"}),
        ("switch MTU", 4200, set()),
        ("Xid", 79, {"xid_hardware", "xid_other"}),
        ("Xid", 45, {"xid_application", "xid_other", "xid_45"}),
        ("rx_prio3_discards", 99, set()),
        ("rx_prio3_discards", 100, {"prio_discards"}),
        ("rx_prio3_discards", 0, {"discards_zero"}),
        ("link_downed", 1, {"link_flap"}),
        ("rx_prio3_cong_discard", 100, {"prio_discards"}),
        ("rx_prio3_buf_discard", 0, {"discards_zero"}),
        ("rx_out_of_buffer", 0, {"discards_zero"}),
        ("tx_pause_storm_error_events", 100, {"prio_discards"}),
        ("link_down_events_phy", 1, set()),
        ("link_down_events_phy", 2, {"link_flap"}),
        ("trust", "not configured", {"switch_not_lossless"}),
        ("RoCE mode", "lossless-single-ipool", {"ethernet_wanted", "switch_lossless", "switch_ok"}),
        ("ECN", "Off", {"switch_not_lossless", "switch_pfc_off"}),
        ("P2P not as wanted", False, {"vm_differs", "in_vm", "passthrough_said", "vm_key_off"}),
        ("VM not as wanted", "", {"vm_differs", "in_vm"}),
        ("tx_prio3_pause", 10_000, {"pause_sent", "pfc_frames"}),
        ("a_counter_of_nobody", 10**9, set()),
        ("maintenance mode", False, {"esxi_ok"}),
        ("link rate", 25_000, {"link_speed_host"}),
    ],
)
def test_signs_of_a_value(thing: str, value: Any, signs: set[str]) -> None:
    ((name, text),) = facts.written("hosts/gpu01", [facts.Fact(thing, value)]).items()
    assert {found.sign for found in facts.read(name, text) or ()} == signs


LOCAL, GLOBAL = "fe80:0000:0000:0000:0a00:27ff:fe00:0001", "0000:0000:0000:0000:0000:ffff:c000:0201"


@pytest.mark.parametrize(
    ("gids", "signs"),
    [
        ([(LOCAL, "IB/RoCE v1"), (LOCAL, "RoCE v2")], {"gids_link_local_only"}),
        ([(LOCAL, "IB/RoCE v1"), (GLOBAL, "IB/RoCE v1")], {"gids_v1_only"}),
        ([(LOCAL, "RoCE v2"), (GLOBAL, "IB/RoCE v1")], set()),
        ([(LOCAL, "IB/RoCE v1")], set()),
        ([(GLOBAL, "RoCE v2")], {"gids_routable"}),
    ],
)
def test_gids_are_judged_alike_as_a_table_and_as_types(gids: list[tuple[str, str]], signs: set[str]) -> None:
    rows = [{"index": number, "gid": gid, "type": kind} for number, (gid, kind) in enumerate(gids)]
    typed = run_facts.pieces({"rdma": {"gpu01": {"start": {"devices": [{"name": "mlx5_0", "gids": rows}]}}}})
    table = "".join(f"mlx5_0\t1\t{row['index']}\t{row['gid']}\t\t{row['type'][-2:]}\tens1\n" for row in rows)
    for texts in (typed, {"hosts/gpu01/show_gids.txt": table}):
        read = reading.Reading(catalogue.catalogue().signs)
        for name, text in texts.items():
            read.piece(bundle.Piece(name, iter((text.encode(),))))
        assert {name for name in read.seen if name.startswith("gids_")} == signs, texts
