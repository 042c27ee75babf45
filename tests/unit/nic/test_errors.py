"""A fake card per class of error: each has its own words and diagnosis, and nothing is stored."""

from __future__ import annotations

import pathlib
from typing import Any, Sequence

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import (
    ApplyError,
    LayerError,
    RefusedError,
    UnreachableError,
    converge,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.plan import DIAGNOSES, AtsWanted
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.state import Failure
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.transport import Finished, Sysfs

from tests.unit.nic.twin import Rack, card

ENABLE = AtsWanted(enabled=True)
READ = AtsWanted(enabled=None)
USAGE = "    NAME:\n        mlxconfig\n    SYNOPSIS:\n        mlxconfig [Options] <Commands>\n"


class FakeCard:
    """mlxconfig answers one command word with one error, everything else as the simulated card does."""

    def __init__(self, rack: Rack, word: str, out: str, err: str = "", code: int = 3) -> None:
        self.rack = rack
        rack.before["mlxconfig"] = lambda argv: Finished(code, out, err) if word in argv else None

    def fail(self, wanted: AtsWanted = ENABLE, **options: object) -> LayerError:
        with pytest.raises(LayerError) as caught:
            converge(self.rack.layer(**options), wanted)  # type: ignore[arg-type]
        self.rack.guest_reboot()
        assert self.rack.cards[0]["params"]["ATS_ENABLED"]["next"] == 0
        return caught.value


# command word, stdout, stderr, class, kind of error, words of the message
CLASSES = [
    (
        "query",
        "-E- Failed to open the device\n",
        "",
        Failure.CANNOT_OPEN,
        UnreachableError,
        "although it is on the bus",
    ),
    (
        "query",
        "-E- Failed to open the device\n",
        "write counter to semaphore: Permission denied\n",
        Failure.LOCKDOWN,
        RefusedError,
        "Secure Boot",
    ),
    ("query", "-E- Failed to identify the device\n", "", Failure.UNIDENTIFIED, RefusedError, "cannot identify it"),
    (
        "query",
        "-E- The Device doesn't support ATS_ENABLED parameter\n",
        "",
        Failure.UNSUPPORTED_PARAMETER,
        RefusedError,
        "firmware has no ATS_ENABLED",
    ),
    ("query", "-E- Unknown Parameter: ATS_ENABLED\n" + USAGE, "", Failure.UNKNOWN_PARAMETER, RefusedError, "4.13"),
    (
        "query",
        "-E- Failed to find Param / TLV with name 'ATS_ENABLED' port 0 module -1\n",
        "",
        Failure.UNKNOWN_PARAMETER,
        RefusedError,
        "4.13",
    ),
    ("query", "-E- Device in Livefish mode is not supported\n", "", Failure.LIVEFISH, RefusedError, "without firmware"),
    ("query", "-E- Unsupported device\n", "", Failure.UNSUPPORTED_DEVICE, RefusedError, "does not serve this card"),
    (
        "query",
        "-E- No devices found, mst might be stopped. You may need to run 'mst start' to load MST modules. \n",
        "",
        Failure.NO_DEVICES,
        UnreachableError,
        "sees no card",
    ),
    (
        "query",
        "-E- Cannot access NV register. Either FW does not support NV access register, or HW access is disabled."
        " rc=(4)\n",
        "",
        Failure.NO_NV_ACCESS,
        RefusedError,
        "mlxprivhost",
    ),
    (
        "query",
        "-E- Error when trying to check if NV access registers are supported rc=(5)\n",
        "",
        Failure.NEEDS_POWER_CYCLE,
        RefusedError,
        "power the server off and on",
    ),
    ("query", "-E- Failed to query some of the TLVs:\n", "", Failure.PARTIAL, UnreachableError, "part of the query"),
    (
        "query",
        "-E- Device doesn't support any configuration changes.\n",
        "",
        Failure.NOT_CONFIGURABLE,
        RefusedError,
        "nothing to configure",
    ),
    (
        "set",
        "-E- Operation is not supported (Read only TLV: nv_pci_conf)\n",
        "",
        Failure.READ_ONLY,
        ApplyError,
        "read-only",
    ),
    (
        "set",
        "Applying... Failed!\n-E- Failed to set nv_pci_conf settings Timed out (5)\n",
        "",
        Failure.SET_FAILED,
        ApplyError,
        "Timed out",
    ),
    ("set", "-E- Aborted by user.\n", "", Failure.ABORTED, ApplyError, "its own question"),
    ("set", "-E- Invalid Configuration argument -y\n" + USAGE, "", Failure.BAD_ARGUMENT, ApplyError, "arguments"),
]
# An answer of the card itself, not a failure of the tool: named as the device's diagnosis.
_DEVICE = {Failure.UNSUPPORTED_PARAMETER: "unsupported", Failure.UNKNOWN_PARAMETER: "tool_too_old"}


@pytest.mark.parametrize("entry", CLASSES, ids=lambda entry: entry[3].value)
def test_each_class_has_its_message_and_its_diagnosis(tmp_path: pathlib.Path, entry: tuple[Any, ...]) -> None:
    word, out, err, failure, kind, words = entry
    error = FakeCard(Rack(tmp_path), word, out, err).fail()
    assert error.__class__ is kind
    assert error.details["diagnosis"] == _DEVICE.get(failure, failure.value)
    for part in ("gpu01", "0000:3b:00.0", words, "What to do"):
        assert part in str(error)
    # the message is one sentence about one thing: nothing is said twice
    assert str(error).count("What to do") == 1
    if failure not in _DEVICE:
        assert out.split("-E- ")[1].split("\n", maxsplit=1)[0].strip() in str(error)


def test_every_class_has_a_fake_card() -> None:
    assert {entry[3] for entry in CLASSES} == set(Failure) - {Failure.UNKNOWN}


def test_no_class_of_the_tool_has_the_name_of_a_device_diagnosis() -> None:
    assert not {failure.value for failure in Failure} & set(DIAGNOSES)


@pytest.mark.parametrize("text", ["-E- Failed to open the device\n", "-E- Failed to identify the device\n"])
def test_under_lockdown_the_same_words_mean_lockdown(tmp_path: pathlib.Path, text: str) -> None:
    (tmp_path / "sys/kernel/security").mkdir(parents=True)
    (tmp_path / "sys/kernel/security/lockdown").write_text("none [integrity] confidentiality\n")
    error = FakeCard(Rack(tmp_path), "query", text).fail(sysfs=Sysfs(str(tmp_path / "sys")))
    assert error.details["diagnosis"] == "lockdown"
    assert "says integrity" in str(error)
    (tmp_path / "sys/kernel/security/lockdown").write_text("[none] integrity confidentiality\n")
    other = FakeCard(Rack(tmp_path), "query", text).fail(sysfs=Sysfs(str(tmp_path / "sys")))
    assert other.details["diagnosis"] in ("cannot_open", "unidentified")


def test_a_build_without_json_is_asked_for_the_table(tmp_path: pathlib.Path) -> None:
    rack = Rack(tmp_path)
    rack.faults["tool_version"] = "4.31.0"
    rack.write()
    rack.before["mlxconfig"] = lambda argv: (
        Finished(3, "-E- invalid argument: -j\n" + USAGE, "") if "-j" in argv else None
    )
    assert converge(rack.layer(), ENABLE)["changed"] is True
    # asked once: later queries know
    assert sum("-j" in call for call in rack.calls) == 1 + sum("set" in call for call in rack.calls)


# ---- bare metal -----------------------------------------------------------------------------------------------------


def on_bare_metal(directory: pathlib.Path) -> Rack:
    rack = Rack(directory)
    rack.faults["virtualization"] = "none"
    rack.write()
    return rack


def test_on_bare_metal_enabling_is_refused_and_nothing_is_set(tmp_path: pathlib.Path) -> None:
    rack = on_bare_metal(tmp_path)
    for check_mode in (True, False):
        with pytest.raises(RefusedError, match="bare metal") as caught:
            converge(rack.layer(), ENABLE, check_mode)
        assert caught.value.details["diagnosis"] == "bare_metal"
        assert "0000:3b:00.0" in str(caught.value)
    assert rack.sets() == []
    allowed = converge(rack.layer(), AtsWanted(enabled=True, bare_metal_allowed=True))
    assert (allowed["changed"], allowed["environment"]) == (True, "bare_metal")
    assert any("slows PCI down" in text for text in converge(rack.layer(), READ)["warnings"])
    assert converge(rack.layer(), AtsWanted(enabled=False))["changed"] is True
    assert not any("slows PCI" in text for text in converge(rack.layer(), READ)["warnings"])


@pytest.mark.parametrize(
    ("cpuinfo", "environment"),
    [
        ("flags\t\t: fpu vme hypervisor lahf_lm\n", "vm"),
        ("flags\t\t: fpu vme lahf_lm\n", "bare_metal"),
        ("Features\t: fp asimd\n", "unknown"),  # not x86: the flag does not exist there
        ("", "unknown"),
    ],
)
def test_without_the_program_the_cpu_tells_and_unknown_is_not_refused(
    tmp_path: pathlib.Path, cpuinfo: str, environment: str
) -> None:
    rack = Rack(tmp_path)
    rack.missing = ["systemd-detect-virt"]
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text(cpuinfo)
    assert converge(rack.layer(sysfs=Sysfs(str(tmp_path / "sys"))), READ)["environment"] == environment
    if environment == "bare_metal":
        with pytest.raises(RefusedError):
            converge(rack.layer(sysfs=Sysfs(str(tmp_path / "sys"))), ENABLE)
    else:
        converge(rack.layer(sysfs=Sysfs(str(tmp_path / "sys"))), ENABLE)


# ---- names ----------------------------------------------------------------------------------------------------------


def two_cards(directory: pathlib.Path) -> tuple[Rack, Sysfs]:
    rack = Rack(
        directory,
        [
            card(serial="MT2026X1"),
            card(serial="MT2026X1", pci="0000:3b:00.1", netdev="eth1"),
            card(serial="MT2026X9", pci="0000:5e:00.0", netdev="eth2"),
        ],
    )
    rack.simulate_sysfs("10.78.0.11")
    return rack, Sysfs(str(directory / "sys"))


@pytest.mark.parametrize(
    ("name", "functions"),
    [
        ("5e:00.0", ["0000:5e:00.0"]),
        ("eth1", ["0000:3b:00.1"]),
        ("mlx5_2", ["0000:5e:00.0"]),
        ("MT2026X1", ["0000:3b:00.0", "0000:3b:00.1"]),
        ("guid of the second card", ["0000:5e:00.0"]),
    ],
)
def test_a_function_is_found_by_address_interface_device_guid_and_serial(
    tmp_path: pathlib.Path, name: str, functions: Sequence[str]
) -> None:
    rack, sysfs = two_cards(tmp_path)
    if name.startswith("guid"):
        name = (tmp_path / "sys/class/infiniband/mlx5_2/sys_image_guid").read_text().strip()
    found = converge(rack.layer([name], sysfs=sysfs), READ)["devices"]
    assert [device["pci"] for device in found] == functions


@pytest.mark.parametrize("name", ["eth9", "mlx5_7", "MT0000", "lo", "../net/eth0", "0c42:a1ff:ffff:ffff"])
def test_a_name_of_nothing_is_refused_with_what_there_is(tmp_path: pathlib.Path, name: str) -> None:
    rack, sysfs = two_cards(tmp_path)
    with pytest.raises(RefusedError, match=r"there are: 0000:3b:00\.0, 0000:3b:00\.1, 0000:5e:00\.0") as caught:
        converge(rack.layer([name], sysfs=sysfs), READ)
    assert name in str(caught.value)


def test_functions_of_one_card_have_one_key_and_one_set(tmp_path: pathlib.Path) -> None:
    rack, sysfs = two_cards(tmp_path)
    result = converge(rack.layer(sysfs=sysfs), ENABLE)
    assert [call[2] for call in rack.sets()] == ["0000:3b:00.0", "0000:5e:00.0"]
    keys = [device["card"] for device in result["devices"]]
    assert keys[0] == keys[1] != keys[2]


# ---- the other tools ------------------------------------------------------------------------------------------------


def test_the_mst_path_is_reported_while_mst_runs_and_never_needed(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_MST_DIR", str(tmp_path / "mst"))
    rack = Rack(tmp_path)
    assert converge(rack.layer(), READ)["devices"][0]["mst"] == ""
    rack.run(["mst", "start"], 5.0)
    assert converge(rack.layer(), READ)["devices"][0]["mst"] == "/dev/mst/mt4125_pciconf0"
    rack.before["mst"] = lambda argv: Finished(0, "something new\n", "")
    result = converge(rack.layer(), READ)
    assert result["devices"][0]["mst"] == ""
    assert any("something new" in text for text in result["warnings"])
    rack.missing = ["mst"]
    assert converge(rack.layer(), READ)["warnings"] == []


NO_WARM = "Reset-levels:\n3: Driver restart and PCI reset -Not Supported\n4: Warm Reboot -Not Supported\n"


def test_on_later_runs_the_card_says_which_restart_it_needs(tmp_path: pathlib.Path) -> None:
    rack = Rack(tmp_path)
    converge(rack.layer(), ENABLE)
    assert converge(rack.layer(), READ)["reboot_kind"] == "reboot"
    rack.before["mlxfwreset"] = lambda argv: Finished(0, NO_WARM, "")
    assert converge(rack.layer(), READ)["reboot_kind"] == "power_cycle"
    rack.before["mlxfwreset"] = lambda argv: Finished(1, "-E- Failed to Identify Device\n", "")
    assert converge(rack.layer(), READ)["reboot_kind"] == "reboot"
    assert not any("reset" in call for call in rack.calls)
    rack.host_reboot()
    rack.calls.clear()
    converge(rack.layer(), READ)
    assert not any(call[0] == "mlxfwreset" for call in rack.calls)


def test_auto_takes_the_tool_that_knows_the_parameter(tmp_path: pathlib.Path) -> None:
    rack = Rack(tmp_path)
    old = Finished(0, "mlxconfig, mft 4.12.0-105, built on Jan 1 2019\n", "")
    rack.before["mlxconfig"] = lambda argv: old if argv[-1] == "-v" else None
    assert converge(rack.layer(), READ)["tool"] == "mstconfig"
    result = converge(rack.layer(tool="mlxconfig"), READ)
    assert (result["tool"], result["tool_version"]) == ("mlxconfig", "4.12.0-105")
    assert any("older than 4.13" in text for text in result["warnings"])
    rack.missing = ["mstconfig"]
    assert converge(rack.layer(), READ)["tool"] == "mlxconfig"
