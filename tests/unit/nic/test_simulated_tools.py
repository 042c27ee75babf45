"""The simulated tools themselves: texts, exit codes and what they may write, as the real ones have been seen to do."""

from __future__ import annotations

import json
import pathlib

import pytest

from tests.unit.nic.twin import Rack, card, run_tool

ADDRESS = "3b:00.0"


@pytest.fixture(name="rack")
def fixture_rack(tmp_path: pathlib.Path) -> Rack:
    return Rack(tmp_path)


# Seen with mstconfig 4.21.0 on a machine without a card, arguments adapted to a device that exists.
TRANSCRIPTS = [
    (("-d", "00:03.0", "query"), 3, "-E- Failed to open the device"),
    (("-d", "3c:00.0", "-e", "query", "ATS_ENABLED"), 3, "-E- Failed to open the device"),
    (("-d", "3c:00.0", "-y", "set", "ATS_ENABLED=1"), 3, "-E- Failed to open the device"),
    (("-d", ADDRESS, "set", "ATS_ENABLED=1", "-y"), 3, "-E- Invalid Configuration argument -y"),
    (("-d", ADDRESS, "set", "ATS_ENABLED"), 3, "-E- Invalid Configuration argument ATS_ENABLED"),
    (("-d", ADDRESS, "set", "A=1", "A=0"), 3, "-E- Duplicate parameter, A."),
    (("set", "ATS_ENABLED=1"), 3, "-E- set command expects device to be specified."),
    (("-j", "f", "query"), 3, "-E- invalid argument: -j"),
    (("-d", ADDRESS, "foo"), 3, "-E- invalid argument: foo"),
    (("-d", ADDRESS, "-e", "-y"), 3, "-E- No command found. For more information please read the help message:"),
    ((), 3, "-E- No command found. For more information please read the help message:"),
    (("-d", ADDRESS, "query", "NO_SUCH_THING"), 3, "-E- Unknown Parameter: NO_SUCH_THING"),
    (("-d", ADDRESS, "query", "LINK_TYPE_P1"), 3, "-E- The Device doesn't support LINK_TYPE_P1 parameter"),
    (("-d", ADDRESS, "set", "LINK_TYPE_P1=2"), 3, "-E- The Device doesn't support LINK_TYPE_P1 parameter"),
    (("-d", ADDRESS, "set", "ATS_ENABLED=1"), 2, "-E- Aborted by user."),
]


@pytest.mark.parametrize(("arguments", "code", "line"), TRANSCRIPTS)
@pytest.mark.parametrize("tool", ["mlxconfig", "mstconfig"])
def test_errors_stand_on_stdout_with_their_exit_code_and_write_nothing(
    rack: Rack, tool: str, arguments: tuple[str, ...], code: int, line: str
) -> None:
    before = (rack.directory / "nic.json").read_bytes()
    done = run_tool(rack.directory, tool, *arguments)
    assert (done.code, done.err) == (code, "")
    assert [text for text in done.out.splitlines() if text.startswith("-E-")] == [line]
    assert (rack.directory / "nic.json").read_bytes() == before


@pytest.mark.parametrize("arguments", [("-d", ADDRESS, "query"), ("-d", ADDRESS, "-y", "set", "ATS_ENABLED=1")])
def test_not_being_root_looks_like_a_missing_device(rack: Rack, arguments: tuple[str, ...]) -> None:
    done = run_tool(rack.directory, "mstconfig", *arguments, root=False)
    assert (done.code, done.out) == (3, "-E- Failed to open the device\n")


def test_mstconfig_does_not_know_mst_paths(rack: Rack) -> None:
    done = run_tool(rack.directory, "mstconfig", "-d", "/dev/mst/mt4125_pciconf0", "query")
    assert done.err == "Unable to parse device name /dev/mst/mt4125_pciconf0\n"
    assert (done.code, done.out) == (3, "-E- Failed to open the device\n")


def test_no_device_on_the_bus(tmp_path: pathlib.Path) -> None:
    done = run_tool(tmp_path, "mstconfig", "query")
    assert (done.code, done.out) == (3, "-E- Failed to get devices.\n")


def test_versions_name_the_product(rack: Rack) -> None:
    assert run_tool(rack.directory, "mstconfig", "-v").out.startswith("mstconfig, mstflint 4.16.1, Git SHA Hash: ")
    assert run_tool(rack.directory, "mlxconfig", "-v").out.startswith("mlxconfig, mft 4.16.1-1, built on ")


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("yes\n", 0), ("n\n", 2), ("", 2), ("\n", 2)])
def test_only_a_yes_applies(rack: Rack, answer: str, code: int) -> None:
    done = run_tool(rack.directory, "mlxconfig", "-d", ADDRESS, "set", "ATS_ENABLED=true", stdin=answer)
    stored = json.loads((rack.directory / "nic.json").read_text())["cards"][0]["params"]["ATS_ENABLED"]
    assert (done.code, stored) == (code, {"default": 0, "current": 0, "next": 1 - code // 2})


def test_set_is_not_idempotent_and_always_asks_for_a_reboot(rack: Rack) -> None:
    for _time in range(2):
        done = run_tool(rack.directory, "mlxconfig", "-d", ADDRESS, "-y", "set", "ATS_ENABLED=1")
        assert done.out.endswith("Applying... Done!\n-I- Please reboot machine to load new configurations.\n")


def test_the_guides_own_check_says_true_before_any_reboot(rack: Rack) -> None:
    run_tool(rack.directory, "mlxconfig", "-d", ADDRESS, "-y", "set", "ATS_ENABLED=true")
    done = run_tool(rack.directory, "mlxconfig", "-d", ADDRESS, "query")
    (line,) = [text for text in done.out.splitlines() if "ATS" in text]
    assert line.split() == ["ATS_ENABLED", "True(1)"]


def test_the_star_stays_on_a_card_that_is_active(rack: Rack) -> None:
    run_tool(rack.directory, "mlxconfig", "-d", ADDRESS, "-y", "set", "ATS_ENABLED=true")
    rack.host_reboot()
    done = run_tool(rack.directory, "mlxconfig", "-d", ADDRESS, "-e", "query", "ATS_ENABLED")
    assert "*        ATS_ENABLED                         False(0)        True(1)         True(1)         \n" in done.out


def test_a_wide_value_has_one_space_behind_it(tmp_path: pathlib.Path) -> None:
    rack = Rack(tmp_path, [card(params={"ROCE_CONTROL": {"default": 0, "current": 2, "next": 2}})])
    done = run_tool(rack.directory, "mlxconfig", "-d", ADDRESS, "-e", "query")
    assert "DEVICE_DEFAULT(0) ROCE_ENABLE(2)" in done.out


def test_a_person_sees_that_it_is_simulated(rack: Rack) -> None:
    for arguments in (("mlxconfig", "-d", ADDRESS, "query"), ("lspci", "-vvv"), ("mstflint", "-d", ADDRESS, "q")):
        assert "SIMULATED" in run_tool(rack.directory, *arguments).out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("-Dn", "-d", "15b3:"), "0000:3b:00.0 0200: 15b3:101d\n"),
        (("-D", "-n", "-d", "10de:"), "0000:af:00.0 0302: 10de:20f1\n"),
        (("-s", "3b:00.0"), "3b:00.0 Ethernet controller: Mellanox Technologies MT2892 Family [ConnectX-6 Dx]\n"),
        (("-s", "0000:3b:00.0", "-nn", "-d", "10de:"), ""),
        (("-Dnmm", "-s", "3b:"), '0000:3b:00.0 "0200" "15b3" "101d" -p00 "15b3" "0000"\n'),
        (("-d", "::0302", "-n"), "af:00.0 0302: 10de:20f1\n"),
    ],
)
def test_lspci_formats(rack: Rack, arguments: tuple[str, ...], expected: str) -> None:
    done = run_tool(rack.directory, "lspci", *arguments)
    assert (done.code, done.out) == (0, expected)


def test_lspci_without_root_says_nothing_about_ats(rack: Rack) -> None:
    done = run_tool(rack.directory, "lspci", "-vvv", "-s", "3b:00.0", root=False)
    assert "\tCapabilities: <access denied>" in done.out
    assert "ATS" not in done.out


def test_the_capability_appears_with_the_loaded_value_and_enable_with_the_host(rack: Rack) -> None:
    def probe() -> tuple[int, str]:
        done = run_tool(rack.directory, "setpci", "-s", "0000:3b:00.0", "ECAP_ATS+6.w")
        return done.code, done.out + done.err

    code, text = probe()
    assert code == 1
    assert "Instance #0 of Extended capability 000f not found" in text
    run_tool(rack.directory, "mlxconfig", "-d", ADDRESS, "-y", "set", "ATS_ENABLED=1")
    rack.guest_reboot()
    assert probe()[0] == 1
    rack.host_reboot()
    assert probe() == (0, "0000\n")
    rack.host_configured = rack.vm_keys = True
    rack.guest_reboot()
    assert probe() == (0, "0000\n")
    rack.host_reboot()
    assert probe() == (0, "8000\n")
    assert "ATSCtl:\tEnable+, Smallest Translation Unit: 00" in run_tool(rack.directory, "lspci", "-vvv").out


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("-s", "5e:00.0", "ECAP_ATS+6.w"), 0, "No devices selected for operation group 1."),
        (("-s", "zz", "ECAP_ATS+6.w"), 1, "Unable to parse filter -s Invalid slot number."),
        (("-s", "3b:00.0", "FOO"), 1, 'Unknown register "FOO".'),
        (("-s", "3b:00.0", "ECAP_ATS+6.w=8000"), 1, "not simulated"),
    ],
)
def test_setpci_refusals(rack: Rack, arguments: tuple[str, ...], code: int, text: str) -> None:
    done = run_tool(rack.directory, "setpci", *arguments)
    assert (done.code, done.out) == (code, "")
    assert text in done.err


@pytest.mark.parametrize(("version", "text"), [("4.21.0", "not supported on virtual machines"), ("4.16.1", "Bridge")])
def test_a_vm_cannot_reset_the_card(rack: Rack, version: str, text: str) -> None:
    rack.faults["tool_version"] = version
    rack.write()
    done = run_tool(rack.directory, "fwreset", "-d", ADDRESS, "-y", "reset")
    assert done.code == 1
    assert text in done.out


def test_ofed_info_answers_only_if_ofed_is_on_the_disk(rack: Rack) -> None:
    assert run_tool(rack.directory, "ofed", "-s").code == 127
    (rack.directory / "guest.json").write_text('{"ofed": "5.2-2.2.4.0"}', encoding="utf-8")
    assert run_tool(rack.directory, "ofed", "-s").out == "MLNX_OFED_LINUX-5.2-2.2.4.0:\n"


def test_firmware_is_never_burnt(rack: Rack) -> None:
    done = run_tool(rack.directory, "mstflint", "-d", ADDRESS, "-i", "fw.bin", "burn")
    assert done.code == 1


def test_a_vf_and_a_card_off_the_bus_cannot_be_opened(tmp_path: pathlib.Path) -> None:
    rack = Rack(tmp_path, [card(kind="vf", device_id="101e")])
    assert run_tool(tmp_path, "mlxconfig", "-d", ADDRESS, "q").out == "-E- Failed to identify the device\n"
    rack.bus.pop("0000:3b:00.0")
    rack.write()
    assert run_tool(tmp_path, "mlxconfig", "-d", ADDRESS, "q").out == "-E- Failed to open the device\n"


# ---- what a driver and its tools show of the card -------------------------------------------------------------------

PFC = "0,0,0,1,0,0,0,0"


def test_qos_is_written_by_root_alone_and_not_on_a_virtual_function(tmp_path: pathlib.Path) -> None:
    rack = Rack(tmp_path)
    rack.simulate_sysfs("10.78.0.11")
    arguments = ("-i", "eth0", "--trust", "dscp", "--pfc", PFC)
    assert run_tool(tmp_path, "mlnx_qos", *arguments, root=False).code == 1
    assert not (tmp_path / "run/qos.json").exists()
    done = run_tool(tmp_path, "mlnx_qos", *arguments)
    assert (done.code, "Priority trust state: dscp" in done.out) == (0, True)
    assert "SIMULATED" in run_tool(tmp_path, "mlnx_qos", "-i", "eth0", root=False).out
    rack.cards[0].update(kind="vf", device_id="101e")
    rack.write()
    assert run_tool(tmp_path, "mlnx_qos", *arguments).code == 1


@pytest.mark.parametrize(
    "arguments", [("-i", "eth9"), (), ("-i", "eth0", "--pfc", "3"), ("-i", "eth0", "--trust", "x"), ("--foo",)]
)
def test_mlnx_qos_refuses_and_writes_nothing(rack: Rack, arguments: tuple[str, ...]) -> None:
    assert run_tool(rack.directory, "mlnx_qos", *arguments).code in (1, 2)
    assert not (rack.directory / "run/qos.json").exists()


def test_the_default_tos_is_kept_until_a_restart(rack: Rack) -> None:
    assert run_tool(rack.directory, "cma_roce_tos", "-d", "mlx5_0").out == "0\n"
    assert run_tool(rack.directory, "cma_roce_tos", "-d", "mlx5_0", "-t", "106").out == "106\n"
    assert run_tool(rack.directory, "cma_roce_tos", "-d", "mlx5_0").out == "106\n"
    assert run_tool(rack.directory, "cma_roce_tos", "-d", "mlx5_9").code == 1
    assert run_tool(rack.directory, "cma_roce_tos", root=False).code == 1


def test_the_tree_is_marked_follows_the_interface_and_is_made_anew(tmp_path: pathlib.Path) -> None:
    rack = Rack(tmp_path, [card(), card(pci="0000:5e:00.0", netdev="eth1")])
    root = rack.simulate_sysfs("10.78.0.11")
    assert "lab" in (root / "SIMULATED").read_text()
    assert sorted(path.name for path in (root / "class/infiniband").iterdir()) == ["mlx5_0", "mlx5_1"]
    (tmp_path / "net/eth0/mtu").write_text("9000\n")
    assert (root / "class/infiniband/mlx5_0/device/net/eth0/mtu").read_text() == "9000\n"
    assert (root / "class/net/eth1/device").resolve().name == "0000:5e:00.0"
    rack.cards.pop()
    rack.power_on()
    rack.simulate_sysfs("10.78.0.12")
    assert [path.name for path in (root / "class/infiniband").iterdir()] == ["mlx5_0"]
    assert (root / "class/infiniband/mlx5_0/ports/1/gids/3").read_text().strip().endswith("ffff:0a4e:000c")


def test_modinfo_knows_the_simulated_drivers_and_their_absence(rack: Rack) -> None:
    (rack.directory / "guest.json").write_text('{"ofed": "5.2-2.2.4.0", "modules": {"nvidia": null}}', encoding="utf-8")
    assert run_tool(rack.directory, "modinfo", "-F", "version", "mlx5_core").out == "5.2-2.2.4\n"
    assert run_tool(rack.directory, "modinfo", "mlx5_core").out.startswith("filename:")
    for module in ("nvidia", "nvidia_peermem"):
        done = run_tool(rack.directory, "modinfo", "-F", "license", module)
        assert (done.code, done.err) == (1, f"modinfo: ERROR: Module {module} not found.\n")


@pytest.mark.parametrize(("fault", "word", "code"), [({}, "vmware", 0), ({"virtualization": "none"}, "none", 1)])
def test_a_node_is_a_vm_unless_told(rack: Rack, fault: dict[str, str], word: str, code: int) -> None:
    rack.faults.update(fault)
    rack.write()
    done = run_tool(rack.directory, "systemd-detect-virt", "--vm")
    assert (done.out, done.code) == (f"{word}\n", code)
