"""GPUs in the fabric check: one table of what the hosts said, and each fault with its GPU and what to do."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric import gpus
from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric.check import next_part
from ansible_collections.rocemesh.multinode.plugins.module_utils._judge import xids
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError

from tests.unit.fabric.test_check import site, whole

HOSTS = ("gpu00", "gpu01", "gpu02", "gpu03")
MODEL = "NVIDIA H100 80GB HBM3"


def gpu(index: int, **changed: Any) -> dict[str, Any]:
    """As gpu_info tells one that is right."""
    return {
        "index": index,
        "uuid": f"GPU-{index}",
        "name": MODEL,
        "bus": f"0000:{0x18 + index:02x}:00.0",
        "persistence": True,
        "performance_state": "P0",
        "ecc": True,
        "ecc_corrected": 0,
        "ecc_uncorrected": 0,
        "remap_failed": False,
        "remap_pending": False,
        "pcie_width": 16,
        "pcie_width_most": 16,
        "pcie_gen": 5,
        "pcie_gen_most": 5,
        "slowed": [],
        "fabric": "Completed",
        "fabric_status": "Success",
        "recovery": "",
        "nvlinks_active": 18,
        "nvlinks": 18,
        **changed,
    }


def host(changed: dict[int, dict[str, Any]] | None = None, count: int = 8, **rest: Any) -> dict[str, Any]:
    state = [gpu(index, **(changed or {}).get(index, {})) for index in range(count)]
    return {
        "gpus": [{"index": each["index"], "name": MODEL, "uuid": each["uuid"]} for each in state],
        "pci": [{"address": each["bus"], "kind": "gpu"} for each in state],
        "driver": {"loaded": "550.54.15", "installed": "550.54.15"},
        "fabric_manager": {"installed": True, "version": "550.54.15", "state": "active"},
        "state": state,
        "xids": [],
        "since_boot": True,
        "problems": [],
        "unreadable": [],
        "error": "",
        **rest,
    }


def readings(**changed: dict[str, Any]) -> dict[str, Any]:
    return {name: {"gpus": changed.get(name, host())} for name in HOSTS}


def test_right_gpus_are_one_line_and_nobody_is_accused() -> None:
    found = gpus.judge(HOSTS, readings())
    assert (found.faults, found.notes, len(found.rows)) == ((), (), 32)
    header, line = found.table
    assert header.split("  ")[0] == "host" and "Xid since boot" in header
    assert line.startswith("gpu00, gpu01, gpu02 and 1 more  0-7  " + MODEL)
    for word in ("550.54.15 active", "none", "on, no error", "x16 of x16, generation 5 of 5", "18 of 18", "nothing"):
        assert word in line
    assert line.endswith("in order")


def test_hosts_without_gpus_have_no_table() -> None:
    nothing = {name: {"gpus": {"gpus": None, "pci": [], "state": [], "problems": []}} for name in HOSTS}
    for told in (nothing, {}, {name: {} for name in HOSTS}):
        found = gpus.judge(HOSTS, told)
        assert (found.table, found.faults, found.notes) == ([], (), ())


# One GPU of one host is not as it should be: thing, words of what was found.
ONE = [
    pytest.param({"ecc_uncorrected": 2}, "ecc", "2 uncorrected ECC error(s)", id="ecc"),
    pytest.param({"remap_failed": True}, "ecc", "could not be remapped", id="remap_failed"),
    pytest.param({"remap_pending": True}, "ecc", "waits to be remapped", id="remap_pending"),
    pytest.param({"slowed": ["hw_thermal_slowdown"]}, "slowed down", "hw_thermal_slowdown", id="hot"),
    pytest.param({"fabric": "In Progress", "fabric_status": ""}, "fabric manager", "In Progress", id="fabric_waits"),
    pytest.param({"fabric_status": "Unknown Error"}, "fabric manager", "Completed Unknown Error", id="fabric_failed"),
    pytest.param({"recovery": "GPU Reset"}, "recovery", "GPU Reset", id="reset_due"),
    pytest.param({"pcie_width": 8}, "pcie", "x8 of x16", id="pcie_narrow"),
    pytest.param({"pcie_gen": 3}, "pcie", "generation 3 of 5", id="pcie_slow"),
    pytest.param({"nvlinks_active": 17}, "nvlink", "17 NVLinks are active, 18 on most", id="nvlink_down"),
    pytest.param({"nvlinks_active": 0, "nvlinks": 0}, "nvlink", "0 NVLinks", id="nvlinks_all_down"),
]


@pytest.mark.parametrize(("changed", "thing", "words"), ONE)
def test_each_fault_names_its_gpu(changed: dict[str, Any], thing: str, words: str) -> None:
    found = gpus.judge(HOSTS, readings(gpu02=host({5: changed})))
    (fault,) = found.faults
    assert (fault.thing, fault.place.kind, fault.place.members) == (thing, "gpu", (2,))
    assert fault.place.part == "GPU 5 (0000:1d:00.0)"
    assert words in fault.text and fault.remedy
    (odd,) = [row for row in found.rows if row["judgement"] != "in order"]
    assert (odd["host"], odd["gpu"], odd["judgement"]) == ("gpu02", "5", thing)
    # Its line stands alone, and the others of its host keep theirs.
    assert [line.split("  ")[0] for line in found.table] == ["host", "gpu00, gpu01, gpu03", "gpu02", "gpu02"]


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"pcie_gen": 1, "performance_state": "P8"}, id="a_link_that_sleeps"),
        pytest.param({"pcie_width": 16, "pcie_width_most": 32}, id="a_slot_that_is_like_all_others"),
        pytest.param({"ecc_corrected": 7}, id="corrected_errors"),
        pytest.param({"fabric": "", "fabric_status": ""}, id="no_nvswitch"),
    ],
)
def test_what_is_usual_accuses_nobody(changed: dict[str, Any]) -> None:
    assert gpus.judge(HOSTS, readings(gpu02=host({5: changed}))).faults == ()


def test_links_that_are_the_same_everywhere_accuse_nobody() -> None:
    """A VM shows a link of its own making, and how many NVLinks a board has nobody says."""
    alike = {index: {"pcie_width": 8, "pcie_width_most": 16, "nvlinks_active": 12} for index in range(8)}
    assert gpus.judge(HOSTS, {name: {"gpus": host(alike)} for name in HOSTS}).faults == ()


def test_a_gpu_of_another_model_is_not_compared() -> None:
    other = {5: {"name": "NVIDIA A10", "nvlinks_active": None, "nvlinks": None, "pcie_width": 8, "pcie_gen": 4}}
    assert gpus.judge(HOSTS, readings(gpu02=host(other))).faults == ()


@pytest.mark.parametrize("xid", [entry.number for entry in xids.table().values() if not entry.goes_on])
def test_an_xid_that_stops_the_gpu_is_a_fault(xid: int) -> None:
    told = host(xids=[{"bus": "0000:1d:00.0", "xid": xid, "count": 2}])
    (fault,) = gpus.judge(HOSTS, readings(gpu02=told)).faults
    assert (fault.thing, fault.place.part) == ("xid", "GPU 5 (0000:1d:00.0)")
    assert f"Xid {xid} (2 times)" in fault.text


@pytest.mark.parametrize(("xid", "words"), [(31, "a fault of the program"), (63, "the GPU goes on")])
def test_other_xids_are_told_and_stop_nobody(xid: int, words: str) -> None:
    told = host(xids=[{"bus": "0000:1d:00.0", "xid": xid, "count": 1}])
    found = gpus.judge(HOSTS, readings(gpu02=told))
    assert found.faults == ()
    (note,) = found.notes
    assert note.startswith("gpu02 GPU 5") and f"Xid {xid}" in note and words in note


def test_an_xid_of_a_gpu_that_is_gone_is_the_hosts() -> None:
    told = host(count=7, xids=[{"bus": "0000:1f:00.0", "xid": 79, "count": 1}])
    (fault,) = gpus.judge(HOSTS, readings(gpu02=told)).faults
    assert (fault.thing, fault.place.members, fault.place.part) == ("xid", (2,), "GPU at 0000:1f:00.0")
    assert "Xid 79" in fault.text


FELL_OFF = {"bus": "0000:1d:00.0", "xid": 79, "count": 2, "earlier": False, "last": "2026-01-31T09:30:00Z"}
NAMED = "gpu02/0000:1d:00.0/79/2026-01-31T09:30:00Z"


def judged(entry: dict[str, Any], *known: str, **rest: Any) -> gpus.Gpus:
    return gpus.judge(HOSTS, readings(gpu02=host(xids=[entry], **rest)), xids.known_from(known))


def test_a_driver_that_was_loaded_again_and_shows_the_gpu_settles_an_xid() -> None:
    assert judged(FELL_OFF).faults
    found = judged({**FELL_OFF, "earlier": True})
    assert found.faults == ()
    (note,) = found.notes
    assert "Xid 79 (2 times) before the driver" in note
    assert "before the driver: 79 (2 times)" in {row["xids"] for row in found.rows}
    assert judged({**FELL_OFF, "earlier": True}, count=5).faults, "GPU 5 is not shown any more"


def test_the_message_names_what_settles_an_xid_and_it_does() -> None:
    (fault,) = judged(FELL_OFF).faults
    assert f"fabric_known_xids: [{NAMED}]" in fault.remedy and "last at 2026-01-31T09:30:00Z" in fault.text
    found = judged(FELL_OFF, NAMED)
    assert found.faults == ()
    (note,) = found.notes
    assert "Xid 79 (2 times) is named in fabric_known_xids" in note
    assert "known: 79 (2 times)" in {row["xids"] for row in found.rows}
    assert not judged(FELL_OFF, NAMED, count=5).faults, "not shown any more, and somebody knows"


@pytest.mark.parametrize(
    ("known", "entry"),
    [
        (NAMED.replace("gpu02", "gpu01"), FELL_OFF),
        (NAMED.replace("1d:", "1e:"), FELL_OFF),
        (NAMED.replace("/79/", "/48/"), FELL_OFF),
        (NAMED, {**FELL_OFF, "last": "2026-01-31T09:31:01Z"}),
        (NAMED, {**FELL_OFF, "last": ""}),
    ],
    ids=["another host", "another GPU", "another Xid", "again, later", "no time"],
)
def test_another_xid_or_the_same_later_is_not_settled(known: str, entry: dict[str, Any]) -> None:
    assert [fault.thing for fault in judged(entry, known).faults] == ["xid"]


def test_a_log_without_times_leaves_a_restart_as_the_way_on() -> None:
    (fault,) = judged({**FELL_OFF, "last": ""}).faults
    assert "has no times" in fault.remedy and "fabric_known_xids" not in fault.remedy


def test_what_is_in_no_log_any_more_is_to_be_taken_out() -> None:
    known = xids.known_from([NAMED])
    (note,) = gpus.judge(HOSTS, readings(), known).notes
    assert note == f"fabric_known_xids: {NAMED} is not in the log of gpu02 any more, take it out"
    for unread in (host(xids=None), {}):
        notes = gpus.judge(HOSTS, readings(gpu02=unread), known).notes
        assert not [note for note in notes if "take it out" in note]


@pytest.mark.parametrize("text", ["gpu02", NAMED.replace("79", "x"), NAMED + "/1", NAMED.replace("T", " ")])
def test_an_entry_that_is_not_as_the_message_names_it_is_refused(text: str) -> None:
    with pytest.raises(RefusedError, match="fabric_known_xids") as refused:
        next_part(site(4, 2, known_xids=[text]), [])
    assert text in str(refused.value) and "from the message" in str(refused.value)


def test_the_check_takes_the_xids_that_are_known() -> None:
    for known, kinds in (([], ["gpu"]), ([NAMED], []), (NAMED, [])):
        what = site(4, 2, known_xids=known)
        what["readings"]["gpu02"]["gpus"] = host(xids=[FELL_OFF])
        report = whole(what)[0]["report"]
        assert [fault["kind"] for fault in report["faults"]] == kinds


def test_a_log_that_was_not_read_is_not_none() -> None:
    for told, word in (
        (host(xids=None, since_boot=False), "not known"),
        (host(since_boot=False), "none in what is left of the log"),
    ):
        assert {row["xids"] for row in gpus.judge(HOSTS, {"gpu00": {"gpus": told}}).rows} == {word}


def test_the_odd_driver_is_named_and_two_hosts_that_differ_are_both() -> None:
    old = host(driver={"loaded": "535.183.01"})
    (fault,) = gpus.judge(HOSTS, readings(gpu01=old)).faults
    assert (fault.thing, fault.place.members) == ("gpu driver", (1,))
    assert fault.text == "535.183.01, most hosts 550.54.15"
    (fault,) = gpus.judge(HOSTS[:2], readings(gpu01=old)).faults
    assert fault.place.members == (0, 1)
    assert "535.183.01 on gpu01" in fault.text and "550.54.15 on gpu00" in fault.text


def test_problems_of_driver_and_fabric_manager_are_faults_with_their_remedy() -> None:
    text = "gpu02: 4 NVSwitch(es) on the PCI bus, driver 550.54.15, and Fabric Manager is failed. What to do: look."
    found = gpus.judge(HOSTS, readings(gpu02=host(problems=[text])))
    (fault,) = found.faults
    assert fault.text == "4 NVSwitch(es) on the PCI bus, driver 550.54.15, and Fabric Manager is failed"
    assert fault.remedy == "look"
    assert {row["judgement"] for row in found.rows if row["host"] == "gpu02"} == {"driver"}


def test_a_host_whose_driver_is_gone_is_a_fault_without_a_row() -> None:
    gone = {
        "gpus": None,
        "pci": [{"address": "0000:18:00.0", "kind": "gpu"}],
        "driver": {"loaded": ""},
        "state": None,
        "problems": ["gpu02: 8 NVIDIA GPU(s) on the PCI bus, and no NVIDIA driver is loaded. What to do: install it."],
    }
    found = gpus.judge(HOSTS, readings(gpu02=gone))
    assert [(fault.thing, fault.place.members) for fault in found.faults] == [("gpu driver", (2,))]
    assert "same number of GPUs: 0 on gpu02" in found.notes[0]


def test_settings_and_what_was_not_read_are_notes() -> None:
    told = readings(
        gpu01=host({index: {"persistence": False, "ecc": False} for index in range(8)}),
        gpu02=host(unreadable=[{"what": "kernel log", "why": "nobody may", "remedy": "become: true"}]),
        gpu03={"error": "no Python"},
    )
    found = gpus.judge(HOSTS, told)
    assert found.faults == ()
    notes = "\n".join(found.notes)
    for words in (
        "GPUs of gpu01: persistence mode is off",
        "GPUs of gpu01: ECC is off",
        "GPUs of gpu02: kernel log was not read (nobody may): become: true",
        "GPUs of gpu03: not read (no Python)",
    ):
        assert words in notes
    assert {row["judgement"] for row in found.rows if row["host"] == "gpu01"} == {"persistence off, ecc off"}
    # ECC that is off everywhere is how the site wants it; a host that was not asked has no number of GPUs.
    alike = {name: {"gpus": host({index: {"ecc": False} for index in range(8)})} for name in HOSTS}
    assert gpus.judge(HOSTS, alike).notes == ()
    assert "same number" not in notes


def test_a_state_that_nobody_told_stands_in_the_table_as_not_read() -> None:
    found = gpus.judge(HOSTS, readings(gpu02=host(state=None)))
    rows = [row for row in found.rows if row["host"] == "gpu02"]
    assert len(rows) == 8 and {row["judgement"] for row in rows} == {"not read"}
    assert {row["pcie"] for row in rows} == {"not known"}


def test_the_report_has_the_table_and_the_fault_and_is_not_ok() -> None:
    what = site()
    for name, reading in what["readings"].items():
        reading["gpus"] = host({5: {"ecc_uncorrected": 1}} if name == "gpu02" else None)
    assert any("gpu02" in line and "ecc" in line for line in next_part(what, [])["gpu_table"])
    report = whole(what)[0]["report"]
    (fault,) = report["faults"]
    assert (fault["thing"], fault["kind"], fault["hosts"]) == ("ecc", "gpu", ["gpu02"])
    assert fault["place"] == "gpu02 GPU 5 (0000:1d:00.0)"
    assert not report["ok"] and report["complete"]
    assert len(report["gpus"]) == 48 and set(report["gpus"][0]) == set(gpus.columns())
    assert report["gpu_table"] == next_part(what, [])["gpu_table"]
    assert any("gpu02 GPU 5" in line for line in report["table"])


def test_a_bad_gpu_does_not_hide_that_its_host_is_slow() -> None:
    what = site(8)
    for name, reading in what["readings"].items():
        reading["gpus"] = host({5: {"ecc_uncorrected": 1}} if name == "gpu02" else None)
    report = whole(what, lambda pair: 150.0 if {4, 5} & set(pair) else 390.0)[0]["report"]
    assert {(fault["thing"], fault["kind"]) for fault in report["faults"]} == {("ecc", "gpu"), ("slow", "host")}
