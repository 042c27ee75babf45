"""The plan of a check run in one table: nothing is lost, nothing is told twice, and windows are foreseen."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.utils.display import Display
from ansible_collections.rocemesh.multinode.plugins.module_utils._site import plan_table
from ansible_collections.rocemesh.multinode.plugins.module_utils._site.plan_table import Row

from tests.unit.decisions import decide

ATS = {
    "description": "0000:3b:00.0: ATS_ENABLED False -> True for the next boot of the ESXi host",
    "command": "mlxconfig",
    "disrupts": "",
    "reboot": "esxi_host",
}
MTU = {"description": "port 1/1: MTU 1500 -> 9216", "command": "mtu", "disrupts": "the link of 1/1", "reboot": "none"}
KEY = {"key": "pciPassthru.allowP2P", "text": "set pciPassthru.allowP2P to TRUE"}
HOSTVARS: dict[str, dict[str, Any]] = {
    "sw01": {"switch_plan": [MTU]},
    "esx01": {
        "esxi_host_outcome": {"changes": ["configure atsSupport"]},
        "esxi_host_pending": {"host": "esx01", "host_moid": "h-1", "reboot_required": False, "reboot_reasons": []},
    },
    "esx02": {
        "esxi_host_outcome": {"changes": []},
        "esxi_host_pending": {"host": "esx02", "host_moid": "h-2", "reboot_required": False, "reboot_reasons": []},
    },
    "gpu01": {
        "guest_plan": [],
        "gpu_vm_pending": {"esxi_host": "esx01", "esxi_host_moid": "h-1", "changes": [KEY]},
        "guest_pending": {"reboot_required": False, "reboot_reasons": []},
    },
    "gpu02": {
        "guest_plan": [ATS],
        "gpu_vm_pending": {"esxi_host": "esx02", "esxi_host_moid": "h-2", "changes": [KEY]},
        "guest_pending": {"reboot_required": False, "reboot_reasons": []},
    },
}
SITE = {"groups": {"switches": ["sw01"], "esxi_hosts": ["esx01", "esx02"], "gpu_vms": ["gpu01", "gpu02"]},
        "hostvars": HOSTVARS}  # fmt: skip
OPTIONS: dict[str, Any] = {
    "layers": {
        "switch": ["switches", "switch_plan"],
        "esxi": ["esxi_hosts", "esxi_host_outcome"],
        "guest": ["gpu_vms", "guest_plan"],
    },
    "waiting": {
        "hosts": ["esxi_hosts", "esxi_host_pending"],
        "vms": ["gpu_vms", "gpu_vm_pending"],
        "nics": ["gpu_vms", "guest_pending"],
    },
}


def site(**changes: dict[str, Any]) -> dict[str, Any]:
    return {**SITE, "hostvars": {host: {**facts, **changes.get(host, {})} for host, facts in HOSTVARS.items()}}


def test_every_change_of_every_layer_is_a_row_with_whom_it_interrupts_and_what_restarts() -> None:
    found = decide("site_plan", SITE, **OPTIONS)
    assert [(tuple(row["devices"]), row["interrupts"], row["restart"], row["minutes"]) for row in found["rows"]] == [
        (("sw01",), "the link of 1/1", "no", None),
        (("esx01",), "nothing", "ESXi host", None),
        (("gpu02",), "nothing", "ESXi host", None),
        (("gpu01", "gpu02"), "nothing", "VM off and on", None),
        (("esx01",), "gpu01", "ESXi host", 15),
        (("esx02",), "gpu02", "ESXi host", 15),
    ]
    assert found["unknown"] == []


def test_a_window_is_foreseen_from_what_this_run_would_change() -> None:
    """The setting of one host and the card of another do not wait yet: they are not set."""
    found = decide("site_plan", SITE, **OPTIONS)
    windows = [row for row in found["rows"] if row["minutes"] is not None]
    assert [row["change"] for row in windows] == ["maintenance window: one restart of the host"] * 2


def test_a_window_for_keys_alone_stops_vms_and_no_host() -> None:
    found = decide("site_plan", site(esx01={"esxi_host_outcome": {"changes": []}}), **OPTIONS)
    row = next(row for row in found["rows"] if row["devices"] == ["esx01"])
    assert (row["change"], row["restart"], row["minutes"]) == ("maintenance window: VMs off and on", "VMs", 5)


@pytest.mark.parametrize(("batch", "minutes"), [(1, 40), (2, 20), (5, 20)])
def test_minutes_count_the_rounds_of_windows(batch: int, minutes: int) -> None:
    found = decide("site_plan", SITE, **OPTIONS, batch=batch, minutes_host_reboot=20)
    assert "2 host(s) need" in found["table"][-1]

    assert f", {batch} at a time: about {minutes} minutes" in found["table"][-1]


def test_a_host_that_is_left_out_has_no_window() -> None:
    """Of esx02, which a person has named, only what is done at once is told; reboot.yml has published why."""
    windows = [{"host": "esx01", "left_out": ""}, {"host": "esx02", "left_out": "named in rocemesh_skip_hosts"}]
    found = decide("site_plan", {**SITE, "window_plan": windows}, **OPTIONS)
    assert [row["devices"] for row in found["rows"] if row["minutes"]] == [["esx01"]]
    assert not [row for row in found["rows"] if row["change"] == KEY["text"] and "gpu02" in row["devices"]]
    assert any(line.startswith("esx02: no window") for line in found["table"])


def test_a_host_that_published_nothing_is_named_and_no_window_is_made_up_for_the_others() -> None:
    found = decide("site_plan", site(gpu02={"guest_plan": None, "guest_pending": None}), **OPTIONS)
    assert found["unknown"] == ["gpu02 (guest)", "gpu02 (window)"]
    assert not [row for row in found["rows"] if row["minutes"] is not None]
    assert "gpu02 (guest), gpu02 (window)" in found["table"][-1]


def test_a_site_as_it_should_be_says_so_in_one_line() -> None:
    variables = {"groups": {"switches": ["sw01"]}, "hostvars": {"sw01": {"switch_plan": []}}}
    found = decide("site_plan", variables, layers={"switch": ["switches", "switch_plan"]})
    assert found["table"] == ["Nothing would be changed, interrupted or restarted."]


def test_what_is_not_known_is_not_told_as_nothing() -> None:
    hole = site(gpu01={"guest_plan": None})
    quiet = {"groups": {"gpu_vms": ["gpu01"]}, "hostvars": hole["hostvars"]}
    found = decide("site_plan", quiet, layers={"guest": ["gpu_vms", "guest_plan"]})
    assert found["table"][0] == "Nothing that is known would be changed, interrupted or restarted."
    restarting = decide("site_plan", site(gpu01={"guest_pending": None}), **OPTIONS)["table"]
    assert "are not known." in restarting[-2] and "Nothing restarts" not in restarting[-2]
    row = Row(("sw01",), "MTU")
    assert plan_table.table([row])[-1].endswith("Nothing restarts.")
    assert plan_table.table([row], whole=False)[-1].endswith("Nothing of this restarts.")


def test_words_that_stand_for_many_changes_stand_once_and_only_if_there_are_any() -> None:
    variables = {
        "groups": {"gpu_vms": ["gpu01", "gpu02", "gpu03"]},
        "hostvars": {
            "gpu01": {"m": {"changes": ["a", "b"]}},
            "gpu02": {"m": {"changes": []}},
            "gpu03": {"m": {"changes": ["c"]}},
        },
    }
    found = decide("site_plan", variables, layers={"mesh": ["gpu_vms", "m", "files"]})
    assert [(row["devices"], row["change"]) for row in found["rows"]] == [(["gpu01", "gpu03"], "files")]


def test_nothing_of_a_long_text_is_cut_off_and_no_line_is_wider_than_a_screen() -> None:
    change = "ports " + ",".join(f"1/{port}" for port in range(1, 60)) + ": " + "access VLAN 1 -> 111 " * 9
    row = Row(tuple(f"sw{number:02d}" for number in range(9)), change, "every link of the switch may toggle " * 3)
    lines = plan_table.table([row])
    assert max(map(len, lines)) <= 141
    assert "sw03 and 5 more" in " ".join(" ".join(line[:22].split()) for line in lines)
    start = lines[0].index("change")
    width = lines[0].index("interrupts") - start
    told = "".join(line[start : start + width].strip() for line in lines[1:-1])
    assert told.replace(" ", "") == change.replace(" ", "")


@pytest.mark.parametrize("fact", ["text", 5, {"no": "changes"}, ["text"], [{"description": "x", "reboot": "later"}]])
def test_a_fact_of_another_form_is_refused_and_shown(fact: Any) -> None:
    variables = {"groups": {"switches": ["sw01"]}, "hostvars": {"sw01": {"switch_plan": fact}}}
    with pytest.raises(ValueError, match="sw01"):
        decide("site_plan", variables, layers={"switch": ["switches", "switch_plan"]})


def test_the_table_is_shown_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(Display, "display", lambda _self, text, *_more, **_named: shown.append(text))
    found = decide("site_plan", SITE, **OPTIONS)
    assert shown == []
    decide("site_plan", SITE, **OPTIONS, show=True)
    assert shown == ["\n".join(["", *found["table"], "", ""])]
