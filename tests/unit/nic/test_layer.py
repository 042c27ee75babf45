"""The four verbs against the simulated tools, in every era, with every fault. The rack's own model is the judge."""

from __future__ import annotations

import copy
import pathlib
import tempfile
from typing import Any, Sequence

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import (
    ApplyError,
    CredentialError,
    LayerError,
    ParseError,
    RefusedError,
    UnreachableError,
    VerifyError,
    converge,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.plan import AtsWanted
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.transport import (
    Finished,
    NicTools,
    Sysfs,
    run_command,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.nic.twin import Rack, card, run_tool

VERSIONS = ["4.13.0", "4.16.1", "4.22.1", "4.25.0", "4.28.0", "4.31.0", "4.34.1", "4.36.0"]
ENABLE = AtsWanted(enabled=True)
READ = AtsWanted(enabled=None)


@pytest.fixture(name="rack")
def fixture_rack(tmp_path: pathlib.Path) -> Rack:
    return Rack(tmp_path)


@pytest.mark.parametrize("tool", ["mlxconfig", "mstconfig"])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_way_to_active_in_every_era(rack: Rack, version: str, tool: str) -> None:
    rack.faults["tool_version"] = version
    rack.host_configured = rack.vm_keys = True
    rack.write()

    first = converge(rack.layer(tool=tool), ENABLE)
    assert first["changed"] is True
    assert (first["reboot_required"], first["reboot_scope"], first["reboot_kind"]) == (True, "esxi_host", "reboot")
    assert first["diff"] == {
        "before": {"0000:3b:00.0 ATS_ENABLED next boot": False},
        "after": {"0000:3b:00.0 ATS_ENABLED next boot": True},
    }
    assert first["active"] is False
    assert first["devices"][0]["psid"] == "MT_0000000359"
    assert first["tool"] == tool
    assert first["tool_version"].startswith(version)

    rack.guest_reboot()
    again = converge(rack.layer(tool=tool), ENABLE)
    assert (again["changed"], again["reboot_required"], again["active"]) == (False, True, False)

    rack.host_reboot()
    last = converge(rack.layer(tool=tool), AtsWanted(enabled=True, require_active=True))
    assert (last["changed"], last["reboot_required"], last["reboot_scope"]) == (False, False, "none")
    assert (last["active"], last["devices"][0]["diagnosis"], last["reboot_kind"]) == (True, "active", "none")
    assert len(rack.sets()) == 1


def test_check_mode_predicts_and_never_calls_set(rack: Rack) -> None:
    predicted = converge(rack.layer(), ENABLE, check_mode=True)
    assert rack.sets() == []
    real = converge(rack.layer(), ENABLE)
    waits = ("reboot_required", "reboot_scope", "reboot_reasons", "reboot_kind")
    assert [predicted[key] for key in waits] == [real[key] for key in waits]
    for key in ("changed", "diff", "operations", "undo", "reboot_required", "reboot_scope"):
        assert predicted[key] == real[key], key


@pytest.mark.parametrize("check_mode", [True, False])
def test_taking_back_what_was_never_loaded_waits_for_nothing(rack: Rack, check_mode: bool) -> None:
    converge(rack.layer(), ENABLE)
    result = converge(rack.layer(), AtsWanted(enabled=False), check_mode)
    assert result["changed"] is True
    assert (result["reboot_required"], result["reboot_reasons"], result["reboot_kind"]) == (False, [], "none")


def test_queried_never_calls_set_and_writes_nothing(rack: Rack) -> None:
    before = {path.name: path.read_bytes() for path in rack.directory.iterdir()}
    result = converge(rack.layer(), READ)
    assert (result["changed"], rack.sets()) == (False, [])
    assert {path.name: path.read_bytes() for path in rack.directory.iterdir()} == before


def test_undo_is_what_takes_it_back(rack: Rack) -> None:
    result = converge(rack.layer(), ENABLE)
    (undo,) = result["undo"]
    assert rack.run(undo.split(), 5.0).code == 0
    assert converge(rack.layer(), READ)["reboot_required"] is False


def test_enabled_card_on_a_host_without_ats_blames_host_or_vm_not_the_card(rack: Rack) -> None:
    converge(rack.layer(), ENABLE)
    rack.vm_keys = True
    rack.host_reboot()  # atsSupport was not configured
    with pytest.raises(VerifyError) as caught:
        converge(rack.layer(), AtsWanted(enabled=None, require_active=True))
    assert caught.value.details["layer"] == "esxi_host_or_vm"
    assert caught.value.details["diagnosis"] == "host_not_enabled"


def test_require_active_is_a_warning_in_check_mode(rack: Rack) -> None:
    result = converge(rack.layer(), AtsWanted(enabled=True, require_active=True), check_mode=True)
    assert any("not in force" in text for text in result["warnings"])


def test_a_tool_that_says_done_and_writes_nothing_is_not_believed(rack: Rack) -> None:
    rack.faults["set_ignored"] = True
    rack.write()
    with pytest.raises(VerifyError, match="in force afterwards"):
        converge(rack.layer(), ENABLE)


def test_power_cycle_is_passed_on_when_the_card_asks_for_it(rack: Rack) -> None:
    rack.faults["mfrl"] = True
    rack.write()
    result = converge(rack.layer(), ENABLE)
    assert result["reboot_kind"] == "power_cycle"
    assert any("off and on" in text for text in result["warnings"])


FAULTS: list[tuple[dict[str, Any], type[LayerError], str]] = [
    ({"lockdown": True}, RefusedError, "lockdown"),
    ({"lockdown": True, "tool_version": "4.33.0"}, RefusedError, "lockdown"),
    ({"livefish": True}, RefusedError, "livefish"),
    ({"nv_access": True}, RefusedError, "power the server off and on"),
    ({"set_fails": "Timed out"}, ApplyError, "Timed out"),
    ({"set_read_only": True}, ApplyError, "read-only"),
    ({"unknown_row": "=== new in this version ==="}, ParseError, "new in this version"),
]


@pytest.mark.parametrize(("fault", "kind", "text"), FAULTS)
def test_each_failure_has_its_own_words_and_changes_nothing(
    rack: Rack, fault: dict[str, Any], kind: type[LayerError], text: str
) -> None:
    rack.faults.update(fault)
    rack.write()
    with pytest.raises(kind) as caught:
        converge(rack.layer(), ENABLE)
    message = str(caught.value)
    assert "gpu01" in message
    assert text in message
    assert "What to do" in message
    rack.guest_reboot()
    assert rack.cards[0]["params"]["ATS_ENABLED"]["next"] == 0


@pytest.mark.parametrize("version", ["4.16.1", "4.31.0", "4.36.0"])
def test_firmware_without_ats_is_named_with_psid_and_firmware(tmp_path: pathlib.Path, version: str) -> None:
    rack = Rack(tmp_path, [card(params={"ROCE_CONTROL": {"default": 0, "current": 0, "next": 0}})])
    rack.faults["tool_version"] = version
    rack.write()
    with pytest.raises(RefusedError) as caught:
        converge(rack.layer(), ENABLE)
    for part in ("gpu01", "0000:3b:00.0", "MT_0000000359", "22.31.1014", "ATS_ENABLED", "nothing was changed"):
        assert part in str(caught.value)
    assert converge(rack.layer(), READ)["devices"][0]["diagnosis"] == "unsupported"
    assert rack.sets() == []


def test_a_virtual_function_is_told_to_be_set_on_the_host(tmp_path: pathlib.Path) -> None:
    rack = Rack(tmp_path, [card(kind="vf", device_id="101e", params={})])
    with pytest.raises(RefusedError, match="physical function") as caught:
        converge(rack.layer(), ENABLE)
    assert "virtual function" in str(caught.value)
    assert not any("query" in call for call in rack.calls)


@pytest.mark.parametrize(
    ("faults", "columns"),
    [
        ({"no_current": True}, (False, None)),
        ({"no_default": True}, (None, False)),
        ({"no_current": True, "no_default": True}, (None, None)),
    ],
)
@pytest.mark.parametrize("version", ["4.16.1", "4.31.0"])
def test_firmware_without_columns_falls_back_to_the_bus(
    rack: Rack, faults: dict[str, bool], columns: tuple[bool | None, bool | None], version: str
) -> None:
    rack.faults.update(faults, tool_version=version)
    rack.host_configured = rack.vm_keys = True
    rack.write()
    found = converge(rack.layer(), READ)["devices"][0]
    assert (found["default"], found["current"]) == columns
    assert converge(rack.layer(), ENABLE)["reboot_required"] is True
    rack.host_reboot()
    after = converge(rack.layer(), AtsWanted(enabled=True, require_active=True))
    assert (after["active"], after["reboot_required"]) == (True, False)


def test_a_two_port_card_is_set_once(tmp_path: pathlib.Path) -> None:
    rack = Rack(tmp_path, [card(serial="MT2026X1"), card(serial="MT2026X1", pci="0000:3b:00.1")])
    result = converge(rack.layer(), ENABLE)
    assert len(rack.sets()) == 1
    assert [entry["next"] for entry in result["devices"]] == [True, True]


def test_a_function_that_did_not_follow_its_card_is_set_too(tmp_path: pathlib.Path) -> None:
    rack = Rack(tmp_path, [card(), card(pci="0000:3b:00.1")])  # no common flash
    converge(rack.layer(), ENABLE)
    assert [call[2] for call in rack.sets()] == ["0000:3b:00.0", "0000:3b:00.1"]


def test_only_the_named_device_is_touched(tmp_path: pathlib.Path) -> None:
    rack = Rack(tmp_path, [card(), card(pci="0000:5e:00.0")])
    result = converge(rack.layer(["5e:00.0", "0000:5e:00.0"]), ENABLE)
    assert [entry["pci"] for entry in result["devices"]] == ["0000:5e:00.0"]
    assert [call[2] for call in rack.sets()] == ["0000:5e:00.0"]


@pytest.mark.parametrize(
    ("devices", "part"),
    [
        (["0000:af:00.0"], "is no PCI address"),
        (["/dev/mst/mt4123_pciconf0"], "is no PCI address"),
        (["auto", "0000:3b:00.0"], "is no PCI address"),
        ([], None),
    ],
)
def test_a_wrong_device_is_refused_with_what_there_is(rack: Rack, devices: Sequence[str], part: str | None) -> None:
    if part is None:
        assert converge(rack.layer(devices), ENABLE)["devices"] == []
        return
    with pytest.raises(RefusedError, match=part) as caught:
        converge(rack.layer(devices), ENABLE)
    assert "0000:3b:00.0" in str(caught.value)


def test_no_card_at_all(tmp_path: pathlib.Path) -> None:
    with pytest.raises(RefusedError, match="Mellanox network function"):
        converge(Rack(tmp_path, []).layer(), ENABLE)


def test_without_root_nothing_is_run(rack: Rack) -> None:
    with pytest.raises(CredentialError, match="become"):
        converge(rack.layer(is_root=False), ENABLE)
    assert rack.calls == []


def test_without_a_tool_the_package_is_named(rack: Rack) -> None:
    rack.missing = ["mlxconfig", "mstconfig"]
    with pytest.raises(RefusedError, match="mstflint"):
        converge(rack.layer(), ENABLE)
    rack.missing = ["mlxconfig"]
    assert converge(rack.layer(), READ)["tool"] == "mstconfig"
    with pytest.raises(RefusedError, match="mlxconfig"):
        converge(rack.layer(tool="mlxconfig"), READ)


def test_without_the_pci_check_the_card_alone_is_never_active(rack: Rack) -> None:
    rack.host_configured = rack.vm_keys = True
    converge(rack.layer(), ENABLE)
    rack.host_reboot()
    result = converge(rack.layer(verify_pci=False), READ)
    assert (result["active"], result["devices"][0]["diagnosis"]) == (False, "nic_ready")


def test_an_old_tool_is_told_apart_from_an_old_firmware(rack: Rack) -> None:
    rack.before["mlxconfig"] = lambda argv: (
        Finished(3, "-E- Unknown Parameter: ATS_ENABLED\n", "") if "query" in argv else None
    )
    with pytest.raises(RefusedError, match=r"4\.13") as caught:
        converge(rack.layer(), ENABLE)
    assert caught.value.details["diagnosis"] == "tool_too_old"


def test_an_answer_about_another_device_is_refused(tmp_path: pathlib.Path) -> None:
    rack = Rack(tmp_path, [card(), card(pci="0000:5e:00.0")])

    def swapped(argv: Sequence[str]) -> Finished | None:
        if "query" not in argv:
            return None
        return run_tool(tmp_path, "mlxconfig", *(word.replace("0000:3b", "0000:5e") for word in argv[1:]))

    rack.before["mlxconfig"] = swapped
    with pytest.raises(ParseError, match="another device"):
        converge(rack.layer(["0000:3b:00.0"]), READ)


def test_an_unknown_error_shows_its_raw_text(rack: Rack) -> None:
    rack.before["mlxconfig"] = lambda argv: Finished(139, "", "Segmentation fault\n") if "query" in argv else None
    with pytest.raises(ParseError, match="Segmentation fault"):
        converge(rack.layer(), READ)


def test_json_is_used_only_where_there_is_json_and_leaves_no_file(rack: Rack) -> None:
    for version, expected in (("4.30.1", False), ("4.31.0", True)):
        rack.faults["tool_version"] = version
        rack.write()
        rack.calls.clear()
        converge(rack.layer(), READ)
        (query,) = [call for call in rack.calls if "query" in call]
        assert ("-j" in query) is expected
        if expected:
            assert not pathlib.Path(query[query.index("-j") + 1]).parent.exists()


def test_a_missing_json_file_is_an_error(rack: Rack) -> None:
    rack.faults["tool_version"] = "4.31.0"
    rack.write()
    rack.before["mlxconfig"] = lambda argv: Finished(0, "fine\n", "") if "query" in argv else None
    with pytest.raises(ParseError, match="no JSON file"):
        converge(rack.layer(), READ)


@pytest.mark.parametrize("device_id", ["a2d6", "a2df"])
def test_bluefield_in_dpu_mode_is_refused_and_in_nic_mode_served(tmp_path: pathlib.Path, device_id: str) -> None:
    params = {
        "ATS_ENABLED": {"default": 0, "current": 0, "next": 0},
        "INTERNAL_CPU_OFFLOAD_ENGINE": {"default": 0, "current": 0, "next": 1},
    }
    rack = Rack(tmp_path, [card(device_id=device_id, params=params)])
    with pytest.raises(RefusedError, match="NIC mode"):
        converge(rack.layer(), ENABLE)
    rack.host_reboot()
    assert converge(rack.layer(), ENABLE)["changed"] is True


# ---- the outside ----------------------------------------------------------------------------------------------------


def test_a_command_runs_in_the_c_locale_without_a_shell_and_without_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    done = run_command(["/bin/sh", "-c", 'cat; echo "$LC_ALL" "$0"; echo no >&2; exit 3', "a; b $HOME"], 10.0)
    assert done == Finished(3, "C a; b $HOME\n", "no\n")


def test_a_tool_that_never_answers_is_stopped_and_named(tmp_path: pathlib.Path) -> None:
    stuck = tmp_path / "mlxconfig"
    stuck.write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    stuck.chmod(0o755)
    tools = NicTools("gpu01", timeout=0.3, which=lambda name: str(stuck), is_root=True)
    with pytest.raises(UnreachableError, match=r"0\.3 s.*query_timeout"):
        tools.open()


def fake_sysfs(root: pathlib.Path, address: str, device_id: str = "101d", **extra: str) -> Sysfs:
    device = root / "bus" / "pci" / "devices" / address
    (device / "infiniband" / "mlx5_0").mkdir(parents=True)
    for name, text in {"class": "0x020000", "vendor": "0x15b3", "device": f"0x{device_id}"}.items():
        (device / name).write_text(text + "\n", encoding="utf-8")
    for name, text in extra.items():
        (device / "infiniband" / "mlx5_0" / name).write_text(text + "\n", encoding="utf-8")
    (device / "config").write_bytes(b"\0" * 256)
    return Sysfs(str(root))


def test_the_kernel_serves_when_lspci_is_missing(rack: Rack, tmp_path: pathlib.Path) -> None:
    rack.missing = ["lspci"]
    sysfs = fake_sysfs(
        tmp_path / "sys", "0000:3b:00.0", fw_ver="22.35.1012", board_id="MT_77", sys_image_guid="b8ce:f603:00:1"
    )
    (device,) = converge(rack.layer(sysfs=sysfs), READ)["devices"]
    assert (device["firmware"], device["psid"], device["config_space_bytes"]) == ("22.35.1012", "MT_77", 256)
    assert device["card"] == "b8cef603001"


def test_the_kernel_is_not_asked_about_another_device_at_the_same_address(rack: Rack, tmp_path: pathlib.Path) -> None:
    # A container sees the bus of the machine underneath.
    sysfs = fake_sysfs(tmp_path / "sys", "0000:3b:00.0", device_id="1017", fw_ver="16.0.0", board_id="MT_OTHER")
    (device,) = converge(rack.layer(sysfs=sysfs), READ)["devices"]
    assert (device["firmware"], device["psid"]) == ("22.31.1014", "MT_0000000359")
    assert device["config_space_bytes"] is None


def test_virtual_functions_of_a_card_that_the_node_owns_are_left_out_of_auto(tmp_path: pathlib.Path) -> None:
    rack = Rack(tmp_path, [card(), card(pci="0000:3b:00.2", kind="vf", device_id="101e", params={})])
    sysfs = fake_sysfs(tmp_path / "sys", "0000:3b:00.2", device_id="101e")
    (tmp_path / "sys/bus/pci/devices/0000:3b:00.2/physfn").mkdir()
    assert [d["pci"] for d in converge(rack.layer(sysfs=sysfs), ENABLE)["devices"]] == ["0000:3b:00.0"]


# ---- the property ---------------------------------------------------------------------------------------------------

STEPS = (
    "enable",
    "disable",
    "query",
    "guest_reboot",
    "host_reboot",
    "power_cycle",
    "host_on",
    "host_off",
    "keys_on",
    "keys_off",
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    steps=st.lists(st.sampled_from(STEPS), min_size=1, max_size=12),
    prepared=st.sampled_from([(), ("host_on", "keys_on"), ("host_on", "keys_on", "enable", "host_reboot")]),
    version=st.sampled_from(VERSIONS),
    no_current=st.booleans(),
)
def test_active_is_claimed_exactly_when_it_is_true_after_any_history(
    steps: list[str], prepared: tuple[str, ...], version: str, no_current: bool
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        live(Rack(pathlib.Path(directory)), [*prepared, *steps], version, no_current)


def live(rack: Rack, steps: list[str], version: str, no_current: bool) -> None:
    rack.faults = {"tool_version": version, "no_current": no_current}
    rack.write()
    for step in steps:
        if step in ("enable", "disable", "query"):
            wanted = AtsWanted(enabled={"enable": True, "disable": False}.get(step))
            predicted = converge(rack.layer(), wanted, check_mode=True)
            result = converge(rack.layer(), wanted)
            again = converge(rack.layer(), wanted)
            assert predicted["changed"] == result["changed"]
            assert predicted["diff"] == result["diff"]
            assert again["changed"] is False
            judge(rack, again, no_current)
        elif step == "guest_reboot":
            rack.guest_reboot()
        elif step == "host_reboot":
            rack.host_reboot()
        elif step == "power_cycle":
            rack.power_on()
        else:
            setattr(rack, "host_configured" if step.startswith("host") else "vm_keys", step.endswith("on"))
    result = converge(rack.layer(), READ)
    judge(rack, result, no_current)
    if not rack.truth():
        with pytest.raises(VerifyError):
            converge(rack.layer(), AtsWanted(enabled=None, require_active=True))


def judge(rack: Rack, result: dict[str, Any], no_current: bool) -> None:
    assert result["active"] is rack.truth()
    stored = copy.deepcopy(rack.cards[0]["params"]["ATS_ENABLED"])
    assert result["devices"][0]["next"] is bool(stored["next"])
    if not no_current:
        assert result["devices"][0]["current"] is bool(stored["current"])
        assert result["reboot_required"] is (stored["current"] != stored["next"])
        assert (result["reboot_scope"] == "esxi_host") is result["reboot_required"]


@pytest.mark.parametrize("silent_from", [2, 3])
def test_a_card_that_falls_silent_after_the_value_was_stored_is_told_as_that(
    tmp_path: pathlib.Path, silent_from: int
) -> None:
    """Two cards: the second one does not answer, when its value is to be stored or when all is read again."""
    rack = Rack(tmp_path, [card(), card(pci="0000:5e:00.0", mst="", netdev="eth1")])
    rack.write()

    def answer(argv: Sequence[str]) -> Finished | None:
        stored = len(rack.sets())
        if stored >= silent_from or (silent_from == 3 and stored == 2 and "query" in argv):
            return Finished(3, "-E- Failed to open the device\n", "")
        return None

    rack.before = {"mlxconfig": answer, "mstconfig": answer}
    with pytest.raises(LayerError) as caught:
        converge(rack.layer(), ENABLE)
    commands = caught.value.as_result()["applied"]
    assert len(commands) == silent_from - 1 and "0000:3b:00.0" in commands[0]
    assert len(caught.value.details["undo"]) == silent_from - 1


def test_a_second_function_that_does_not_answer_says_what_the_first_has_stored(tmp_path: pathlib.Path) -> None:
    rack = Rack(tmp_path, [card(), card(pci="0000:3b:00.1", mst="", netdev="eth1")])
    rack.write()

    def answer(argv: Sequence[str]) -> Finished | None:
        silent = rack.sets() and "query" in argv and "0000:3b:00.1" in argv
        return Finished(3, "-E- Failed to query some of the TLVs\n", "") if silent else None

    rack.before = {"mlxconfig": answer, "mstconfig": answer}
    with pytest.raises(UnreachableError) as caught:
        converge(rack.layer(), ENABLE)
    assert f"{' '.join(rack.sets()[0])[:-1]}0" in str(caught.value)


def test_what_this_run_has_stored_waits_for_its_first_reboot_whatever_was_stored_before(rack: Rack) -> None:
    """The value was stored, the host booted, and somebody has taken the value back since."""
    rack.write()
    found = converge(rack.layer(), AtsWanted(enabled=True, settled_since=1000.0, host_boot_time=2000.0))
    assert found["changed"] and found["reboot_required"]
    with pytest.raises(VerifyError, match="another warm reboot"):
        converge(rack.layer(), AtsWanted(enabled=True, settled_since=1000.0, host_boot_time=2000.0))
