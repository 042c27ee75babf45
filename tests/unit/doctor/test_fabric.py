"""fabric.json of the fabric check in a bundle: each fault leads to a finding with its place, a sound report to none."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils import _yaml_files as yaml_files
from ansible_collections.rocemesh.multinode.plugins.module_utils._collect.archive import Pieces, packed, redacted
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose, table
from ansible_collections.rocemesh.multinode.plugins.module_utils._judge.packs import loader

from tests.unit.fabric.test_check import site, whole

HANG = "gpu01:1:1 [0] NCCL WARN Got completion with error 12 opcode 0 len 0 status=12 vendor err 129\n"


def written(report: dict[str, Any]) -> str:
    """As the role writes it (to_nice_json)."""
    return json.dumps(report, indent=4, sort_keys=True) + "\n"


def reported(*faults: dict[str, Any], **changed: Any) -> str:
    report = whole(site())[0]["report"]
    return written({**report, "ok": not faults, "faults": list(faults), **changed})


def fault(thing: str, kind: str, place: str, *hosts: str) -> dict[str, Any]:
    return {"thing": thing, "kind": kind, "place": place, "hosts": list(hosts), "found": "seen", "remedy": "mend it"}


def ask(text: str, **pieces: str) -> dict[str, Any]:
    return diagnose(None, {"fabric/20261122T100000Z/fabric.json": text, **pieces})


def test_a_slow_nic_is_named_with_host_device_and_switch_port() -> None:
    report = whole(site(), lambda pair: 150.0 if 5 in pair else 390.0)[0]["report"]
    found = ask(written(report))
    assert found["verdict"] == "faulty"
    (first,) = found["findings"]
    assert (first["cause"], first["certainty"], first["layer"]) == ("fabric_link", "likely", "cabling")
    assert (first["host"], first["hosts"], first["device"]) == ("gpu02", ["gpu02"], "mlx5_1")
    (evidence,) = first["evidence"]
    assert evidence["text"].startswith("gpu02 rail 1 (mlx5_1) at leaf1 1/3: slow: ")
    assert evidence["line"] > 1
    assert '"gpu02 rail 1 (mlx5_1) at leaf1 1/3' in written(report).splitlines()[evidence["line"] - 1]
    assert "gpu02" in found["message"] and "leaf1 1/3" in table(found)


def test_a_sound_one_leads_to_nothing_and_is_a_good_word() -> None:
    report = whole(site())[0]["report"]
    assert report["ok"]
    found = ask(written(report))
    assert (found["verdict"], found["findings"], found["unknown"]) == ("healthy", [], [])


def test_a_sound_one_hides_nothing_that_stands_beside_it() -> None:
    found = diagnose(None, {"fabric.json": reported(), "job.log": HANG})
    assert found["verdict"] == "cannot_tell" and found["findings"]
    assert not [finding for finding in found["findings"] if finding["evidence"][0]["file"] == "fabric.json"]


def test_what_the_job_suffers_from_comes_after_what_was_measured() -> None:
    what = fault("slow", "nic", "gpu02 rail 1 (mlx5_1) at leaf1 1/3", "gpu02")
    found = diagnose(None, {"fabric.json": reported(what), "job.log": HANG})
    assert (found["verdict"], found["findings"][0]["cause"]) == ("faulty", "fabric_link")


PLACES = (
    ("slow", "host", "host gpu02", ["gpu02"], "fabric_host", "host gpu02"),
    ("dead", "pair", "gpu01 rail 0 (mlx5_0) with gpu02 rail 0 (mlx5_0)", ["gpu01", "gpu02"], "fabric_pair", "mlx5_0"),
    ("slow", "rail", "rail 1", [], "fabric_switch", "rail 1"),
    ("dead", "switch", "switch leaf1", ["gpu01", "gpu02"], "fabric_switch", "switch leaf1"),
    ("damage", "nic", "gpu02 rail 1 (mlx5_1)", ["gpu02"], "link_faulty", "mlx5_1"),
    ("mtu", "nic", "gpu02 rail 1 (mlx5_1)", ["gpu02"], "mtu_differs", "mlx5_1"),
    ("mtu", "rail", "rail 1", [], "switch_mtu", "rail 1"),
    ("dscp", "nic", "gpu02 rail 1 (mlx5_1)", ["gpu02"], "nic_qos_differs", "mlx5_1"),
    ("pfc", "switch", "switch leaf1", [], "switch_pfc", "switch leaf1"),
    ("neighbour", "nic", "gpu02 rail 1 (mlx5_1)", ["gpu02"], "no_path_between_nics", "mlx5_1"),
    ("arp", "nic", "gpu02 rail 1 (mlx5_1)", ["gpu02"], "host_out_of_reach", "mlx5_1"),
    ("address", "nic", "gpu02 rail 1 (mlx5_1)", ["gpu02"], "wrong_interface", "mlx5_1"),
    ("firewall", "host", "host gpu02", ["gpu02"], "firewall", "host gpu02"),
    ("pcie", "nic", "gpu02 rail 1 (mlx5_1)", ["gpu02"], "gpu_pcie_degraded", "mlx5_1"),
    ("xid", "gpu", "gpu02 GPU 5 (0000:1d:00.0)", ["gpu02"], "gpu_fault", "0000:1d:00.0"),
    ("slowed down", "gpu", "gpu02 GPU 5 (0000:1d:00.0)", ["gpu02"], "gpu_throttled", "0000:1d:00.0"),
    ("fabric manager", "gpu", "gpu02 GPU 5 (0000:1d:00.0)", ["gpu02"], "fabric_manager", "0000:1d:00.0"),
)


@pytest.mark.parametrize("row", PLACES, ids=[f"{row[0]} {row[1]}" for row in PLACES])
def test_each_fault_has_its_cause_and_place(row: tuple[str, str, str, list[str], str, str]) -> None:
    thing, kind, place, hosts, cause, device = row
    found = ask(reported(fault(thing, kind, place, *hosts)))
    assert found["verdict"] == "faulty"
    (first,) = found["findings"]
    assert (first["cause"], first["certainty"], first["device"]) == (cause, "likely", device)
    assert first["hosts"] == ([] if kind in ("rail", "switch") else hosts)
    assert first["evidence"][0]["text"] == f"{place}: {thing}: seen; mend it"


@pytest.mark.parametrize("thing", ["absent", "agent", "firmware", "gpu driver", "something new"])
def test_what_has_several_reasons_stays_a_candidate_with_its_place(thing: str) -> None:
    found = ask(reported(fault(thing, "nic", "gpu02 rail 1 (mlx5_1)", "gpu02")))
    assert found["verdict"] == "cannot_tell"
    assert found["findings"][0]["hosts"] == ["gpu02"]
    assert "gpu02 rail 1 (mlx5_1)" in found["findings"][0]["evidence"][0]["text"]


def test_every_thing_of_the_check_is_known_here() -> None:
    """A new one would be a candidate without a cause of its own."""
    faults = yaml_files.read(loader.FOLDER.parents[1] / "_fabric" / "faults.yml")
    things = {entry.get("thing", code) for code, entry in faults.items() if "text" in entry}
    assert len(things) > 20
    assert things <= set(loader.load().lists["readers"]["things"])


def test_a_check_that_did_not_see_everything_is_not_healthy() -> None:
    found = ask(reported(complete=False, ok=False, missing=["gpu03"]))
    assert (found["verdict"], found["findings"]) == ("cannot_tell", [])
    assert ask(reported(measured={}))["verdict"] == "cannot_tell"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"faults": 3, "rails": 2}', '{"name": "link down, error"}\n' + HANG])
def test_another_program_s_fabric_json_is_read_as_any_text(text: str) -> None:
    found = ask(text)
    assert found["verdict"] == "cannot_tell"
    assert bool(found["findings"]) == (HANG in text)


def test_an_archive_with_stand_ins_says_the_same(tmp_path: pathlib.Path) -> None:
    report = whole(site(), lambda pair: 150.0 if 5 in pair else 390.0)[0]["report"]
    texts = {"fabric/fabric.json": written(report)}
    archive = tmp_path / "out.tar.gz"
    archive.write_bytes(packed(redacted(Pieces(texts), [], ["gpu02", "leaf1"])))
    before, after = diagnose(None, texts), diagnose(archive)
    assert [finding["cause"] for finding in after["findings"]] == [finding["cause"] for finding in before["findings"]]
    assert "gpu02" not in json.dumps(after) and after["findings"][0]["device"] == "mlx5_1"
