from __future__ import annotations

import pytest

from .conftest import Run, Vcenter

ATS = {"esxi_hostname": "esx01", "settings": {"atsSupport": True}}


def test_configured_changes_and_runtime_waits_for_the_host(run: Run, vcenter: Vcenter) -> None:
    first = run("esxi_kernel_setting", **ATS)
    assert first["changed"]
    assert first["diff"] == {"before": {"atsSupport": "FALSE"}, "after": {"atsSupport": "TRUE"}}
    assert first["reboot_scope"] == "esxi_host"
    (row,) = first["settings"]
    assert (row["configured"], row["runtime"], row["previous_configured"], row["reboot_required"]) == (
        "TRUE",
        "FALSE",
        "FALSE",
        True,
    )
    assert vcenter.calls() == ["esxcli system.settings.kernel.set esx01"]


def test_second_run_changes_nothing_and_still_says_that_a_reboot_is_pending(run: Run) -> None:
    run("esxi_kernel_setting", **ATS)
    second = run("esxi_kernel_setting", **ATS)
    assert not second["changed"]
    assert second["reboot_required"]
    assert "TRUE but FALSE is in force" in second["reboot_reasons"][0]


def test_check_mode_writes_nothing_and_shows_the_reboot(run: Run, vcenter: Vcenter) -> None:
    before = vcenter.state()
    planned = run("esxi_kernel_setting", check=True, **ATS)
    assert planned["changed"]
    assert planned["reboot_scope"] == "esxi_host"
    assert vcenter.state() == before
    assert vcenter.calls() == []


def test_undo_of_the_result_restores_the_state(run: Run, vcenter: Vcenter) -> None:
    before = vcenter.state()
    done = run("esxi_kernel_setting", **ATS)
    assert done["undo"] == ["esxcli system settings kernel set --setting atsSupport --value FALSE"]
    run("esxi_kernel_setting", esxi_hostname="esx01", settings={"atsSupport": "FALSE"})
    assert vcenter.state() == before


def test_unknown_setting_is_refused_with_near_names_and_nothing_is_changed(run: Run, vcenter: Vcenter) -> None:
    failed = run("esxi_kernel_setting", esxi_hostname="esx01", settings={"vga": True, "atsSuport": True})
    assert failed.failed
    assert failed["error_code"] == "refused"
    for part in ("esx01", "'atsSuport'", "knows no such setting", "atsSupport", "nothing was changed"):
        assert part in failed.msg
    assert vcenter.calls() == []


def test_release_without_the_setting_is_named(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("kernel_setting_absent", host="esx01", setting="atsSupport")
    assert "no such setting" in run("esxi_kernel_setting", **ATS).msg
    assert not run("esxi_kernel_setting", esxi_hostname="esx02", settings={"atsSupport": True}).failed


def test_set_that_answers_true_and_does_nothing_is_not_believed(run: Run, vcenter: Vcenter) -> None:
    vcenter.fault("kernel_set_ignored")
    failed = run("esxi_kernel_setting", **ATS)
    assert failed["error_code"] == "not_in_force"
    assert "esx01" in failed.msg and "atsSupport = TRUE" in failed.msg


def test_security_setting_needs_consent(run: Run, vcenter: Vcenter) -> None:
    wanted = {"esxi_hostname": "esx01", "settings": {"execInstalledOnly": True}}
    assert "execInstalledOnly" in run("esxi_kernel_setting", **wanted).msg
    assert vcenter.calls() == []
    assert run("esxi_kernel_setting", allow_security_settings=True, **wanted)["changed"]


@pytest.mark.parametrize(
    ("value", "changed"), [("no", False), (0, False), ("false", False), ("on", True), ("TRUE", True), (1, True)]
)
def test_any_spelling_of_a_boolean_means_the_same(run: Run, value: object, changed: bool) -> None:
    assert run("esxi_kernel_setting", esxi_hostname="esx01", settings={"atsSupport": value})["changed"] is changed


def test_integer_and_text_settings_keep_their_type(run: Run) -> None:
    wanted = {"entropySources": "0x3", "logPort": "com1 & <x>"}
    done = run("esxi_kernel_setting", esxi_hostname="esx01", settings=wanted)
    assert [row["configured"] for row in done["settings"]] == ["3", "com1 & <x>"]
    assert not run("esxi_kernel_setting", esxi_hostname="esx01", settings=wanted)["changed"]


@pytest.mark.parametrize("spelling", ["reflect_prefix", "undeclared_xsi"])
def test_answers_in_other_spellings_are_read(run: Run, vcenter: Vcenter, spelling: str) -> None:
    vcenter.fault(spelling)
    assert run("esxi_kernel_setting", **ATS)["changed"]
    unknown = run("esxi_kernel_setting", esxi_hostname="esx01", settings={"nope": 1})
    assert unknown["error_code"] == "refused"


def test_host_is_found_by_managed_object_id(run: Run) -> None:
    moid = run("esxi_kernel_setting", **ATS)["esxi_host_moid"]
    assert run("esxi_kernel_setting", esxi_hostname=moid, settings={"atsSupport": True})["esxi_host"] == "esx01"


def test_unknown_host_lists_those_that_exist(run: Run) -> None:
    failed = run("esxi_kernel_setting", esxi_hostname="esx99", settings={"atsSupport": True})
    assert "'esx99'" in failed.msg and "esx01, esx02, esx03, esx04" in failed.msg
