"""What the tools print -> state: real layouts of six eras, real errors, and refusal of everything else."""

from __future__ import annotations

import json

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ParseError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.state import (
    Failure,
    PciAts,
    PciFunction,
    classify,
    first_error,
    full_address,
    parse_bus,
    parse_enum_code,
    parse_flag,
    parse_flint,
    parse_query,
    parse_query_json,
    parse_reboot_kind,
    parse_setpci_ats,
    parse_tool_version,
)

HOST = "gpu01"
OPENING = """
Device #1:
----------

Device type:    ConnectX6DX     
Name:           MCX623106AN-CDA_Ax
Description:    ConnectX-6 Dx EN adapter card; 100GbE; PCIe 4.0 x16; No Crypto
Device:         3b:00.0         

"""  # noqa: W291  (the tool pads with spaces)
STAR = "The '*' shows parameters with next value different from default/current value.\n"


def table(indent: int, name_width: int, width: int, prefix: str, *columns: str) -> str:
    """A table as one era prints it: the header is not exactly above the values, and widths differ."""
    header = "Configurations:".ljust(indent) + "".join(title.ljust(width) for title in columns).rstrip()
    row = (
        prefix
        + "ATS_ENABLED".ljust(name_width)
        + "".join(cell.ljust(width) for cell in ("False(0)", "False(0)", "True(1)"))
    )
    return f"{header}\n{row}\n"


COLUMNS = ("Default", "Current", "Next Boot")
ERAS = {
    "4.16": table(45, 36, 16, "*        ", *COLUMNS),
    "4.22": table(53, 44, 16, "*        ", *COLUMNS),
    "4.25": table(53, 44, 16, "*       ", *COLUMNS),
    "4.28": table(57, 44, 20, "*       ", *COLUMNS),
    "4.31-read-only": table(57, 44, 20, "*RO     ", *COLUMNS),
    "4.36": table(60, 48, 33, "*       ", *COLUMNS),
}


@pytest.mark.parametrize("era", ERAS)
def test_every_column_layout_gives_the_same_three_values(era: str) -> None:
    (query,) = parse_query(OPENING + ERAS[era] + STAR, HOST)
    assert query.values == {"ATS_ENABLED": {"default": "False(0)", "current": "False(0)", "next": "True(1)"}}
    assert (query.device, query.device_type, query.name) == ("3b:00.0", "ConnectX6DX", "MCX623106AN-CDA_Ax")


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        # A value as wide as its column has one space behind it.
        (
            "Default Current Next Boot",
            "*        ROCE_CONTROL                                ROCE_ENABLE(2)  DEVICE_DEFAULT(0) ROCE_ENABLE(2)",
            {"default": "ROCE_ENABLE(2)", "current": "DEVICE_DEFAULT(0)", "next": "ROCE_ENABLE(2)"},
        ),
        # The plain query that looks at Next Boot only.
        ("Next Boot", "        ATS_ENABLED                                 False(0)            ", {"next": "False(0)"}),
        ("Default Next Boot", "         ATS_ENABLED False(0) True(1)", {"default": "False(0)", "next": "True(1)"}),
        ("Current Next Boot", "  RO     ATS_ENABLED True(1) True(1)", {"current": "True(1)", "next": "True(1)"}),
        ("Next Boot       New", "         ATS_ENABLED False(0) True(1)", {"next": "False(0)", "requested": "True(1)"}),
        ("Next Boot", "         HAIRPIN_DESCRIPTORS Array[0..7]", {"next": "Array[0..7]"}),
        ("Next Boot", "*ATS_ENABLED True(1)", {"next": "True(1)"}),
    ],
)
def test_the_header_names_the_columns_not_their_position(header: str, row: str, expected: object) -> None:
    (query,) = parse_query(f"{OPENING}Configurations:      {header}\n{row}\n", HOST)
    assert list(query.values.values()) == [expected]


@pytest.mark.parametrize(
    "trailer",
    [
        STAR,
        "\nThe 'RO' shows parameters which are for read only and cannot be changed\n",
        "Device Firmware does not support reading current configurations\n",
        "Device Firmware does not support reading default and current configurations\n",
    ],
)
def test_known_trailers_are_no_rows(trailer: str) -> None:
    (query,) = parse_query(OPENING + ERAS["4.16"] + trailer, HOST)
    assert list(query.values) == ["ATS_ENABLED"]


def test_two_devices_stay_two_devices() -> None:
    second = OPENING.replace("#1", "#2").replace("3b:00.0", "5e:00.0") + ERAS["4.16"].replace("True(1)", "False(0)")
    queries = parse_query(OPENING + ERAS["4.16"] + STAR + second, HOST)
    assert [(q.device, q.values["ATS_ENABLED"]["next"]) for q in queries] == [
        ("3b:00.0", "True(1)"),
        ("5e:00.0", "False(0)"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing like a table\n",
        OPENING,
        OPENING + "Configurations:      Default  Later  Next Boot\n",
        OPENING + ERAS["4.16"] + "*        BROKEN  True(1)\n",
        OPENING + ERAS["4.16"] + "something new in this version\n",
        OPENING + ERAS["4.16"].replace("True(1)", "True (1)"),
    ],
)
def test_an_unknown_query_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_query(text, HOST)
    assert HOST in str(caught.value)
    assert "raw" in caught.value.details


def test_json_of_newer_tools_gives_the_same_state_and_ignores_modified() -> None:
    cells = {"current_value": "True(1)", "default_value": "False(0)", "modified": True, "next_value": "True(1)"}
    section = {"device": "3b:00.0", "device_type": "ConnectX6DX", "tlv_configuration": {"ATS_ENABLED": cells}}
    (query,) = parse_query_json(json.dumps({"Device #1": section}), HOST)
    assert query.values["ATS_ENABLED"] == {"default": "False(0)", "current": "True(1)", "next": "True(1)"}


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", '{"Device #1": {}}', '{"Device #1": {"tlv_configuration": 7}}']
)
def test_unknown_json_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        parse_query_json(text, HOST)


@pytest.mark.parametrize(
    ("text", "value"),
    [("True(1)", True), ("False(0)", False), ("True", True), ("0", False), ("1", True), ("N/A", None), (None, None)],
)
def test_flag_values(text: str | None, value: bool | None) -> None:
    assert parse_flag(text, HOST, "x") is value


@pytest.mark.parametrize("text", ["", "ETH(2)", "True(0)", "False(1)", "2", "true(1)", "True(1"])
def test_a_strange_flag_is_refused_not_guessed(text: str) -> None:
    with pytest.raises(ParseError):
        parse_flag(text, HOST, "x")


ERRORS = [
    ("-E- Failed to open the device\n", "", Failure.CANNOT_OPEN),
    ("-E- Failed to open the device\n", "write counter to semaphore: Permission denied\n", Failure.LOCKDOWN),
    ("-E- Failed to identify the device\n", "", Failure.UNIDENTIFIED),
    ("-E- The Device doesn't support ATS_ENABLED parameter\n", "", Failure.UNSUPPORTED_PARAMETER),
    ("-E- Unknown Parameter: ATS_ENABLED\n    NAME:\n", "", Failure.UNKNOWN_PARAMETER),
    ("-E- Unknown Parameter ATS_ENABLED\n", "", Failure.UNKNOWN_PARAMETER),
    (
        "-E- Failed to find Param / TLV with name 'ATS_ENABLED' port 0 module -1\n",
        "",
        Failure.UNKNOWN_PARAMETER,
    ),
    ("-E- Device in Livefish mode is not supported\n", "", Failure.LIVEFISH),
    ("-E- Unsupported device\n", "", Failure.UNSUPPORTED_DEVICE),
    ("-E- No devices found, mst might be stopped. You may need to run 'mst start'\n", "", Failure.NO_DEVICES),
    ("-E- No devices found.\n", "", Failure.NO_DEVICES),
    ("-E- Failed to get devices.\n", "", Failure.NO_DEVICES),
    (
        "-E- Cannot access NV register. Either FW does not support NV access register, or HW access is disabled.",
        "",
        Failure.NO_NV_ACCESS,
    ),
    (
        "-E- Error when trying to check if NV access registers are supported rc=(5)\n",
        "",
        Failure.NEEDS_POWER_CYCLE,
    ),
    ("-E- Failed to query some of the TLVs:\n", "", Failure.PARTIAL),
    ("-E- Operation is not supported (Read only TLV: nv_pci_conf)\n", "", Failure.READ_ONLY),
    ("-E- Device doesn't support any configuration changes.\n", "", Failure.NOT_CONFIGURABLE),
    (" Apply new Configuration? (y/n) [n] : \n-E- Aborted by user.\n", "", Failure.ABORTED),
    ("Applying... Failed!\n-E- Failed to set nv_pci_conf settings Timed out (260)\n", "", Failure.SET_FAILED),
    ("Applying... Failed! -E- Failed to set nv_pci_conf settings Timed out (260)\n", "", Failure.SET_FAILED),
    ("-E- invalid argument: -j\n    NAME:\n", "", Failure.BAD_ARGUMENT),
    ("-E- Invalid Configuration argument -y\n", "", Failure.BAD_ARGUMENT),
    ("-E- set command expects device to be specified.\n", "", Failure.BAD_ARGUMENT),
    ("-E- Duplicate parameter, A.\n", "", Failure.BAD_ARGUMENT),
    ("-E- something that nobody has seen\n", "", Failure.UNKNOWN),
    ("Segmentation fault\n", "", Failure.UNKNOWN),
]


@pytest.mark.parametrize(("out", "err", "failure"), ERRORS)
def test_errors_are_told_apart_by_their_first_line(out: str, err: str, failure: Failure) -> None:
    assert classify(out, err) is failure


def test_the_usage_text_behind_an_error_is_not_the_error() -> None:
    assert first_error("-E- invalid argument: -j\n    NAME:\n-E- second\n") == "invalid argument: -j"
    assert first_error("fine\n") == ""


@pytest.mark.parametrize(
    ("out", "kind"),
    [
        ("Applying... Done!\n-I- Please reboot machine to load new configurations.\n", "reboot"),
        ("Applying... Done!\n-I- Please power cycle machine to load new configurations.\n", "power_cycle"),
        ("Applying... Done!\n", ""),
    ],
)
def test_the_kind_of_restart_is_what_the_tool_says(out: str, kind: str) -> None:
    assert parse_reboot_kind(out) == kind


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("mstconfig, mstflint 4.21.0, Git SHA Hash: N/A\n", ("4.21.0", (4, 21))),
        ("mlxconfig, mft 4.16.1-9, built on Feb 21 2021, 11:54:44. Git SHA Hash: 1d6d5ff\n", ("4.16.1-9", (4, 16))),
        ("mlxconfig, mft 4.31.0-149, built on Jan 1 2025", ("4.31.0-149", (4, 31))),
        ("who knows", ("", (0, 0))),
    ],
)
def test_tool_versions(text: str, version: object) -> None:
    assert parse_tool_version(text) == version


# ---- PCI ------------------------------------------------------------------------------------------------------------

ABSENT = (
    "setpci: 0000:00:03.0: Instance #0 of Extended capability 000f not found"
    " - there are no capabilities with that id.\n"
)


@pytest.mark.parametrize(
    ("out", "err", "code", "expected"),
    [
        ("8000\n", "", 0, PciAts(True, True, 0)),
        ("0000\n", "", 0, PciAts(True, False, 0)),
        ("8005\n", "", 0, PciAts(True, True, 5)),
        ("", ABSENT, 1, PciAts(False)),
    ],
)
def test_setpci_bit_15_is_enable(out: str, err: str, code: int, expected: PciAts) -> None:
    assert parse_setpci_ats(out, err, code, HOST, "3b:00.0") == expected


@pytest.mark.parametrize(
    ("out", "err", "code"),
    [
        # No such device: setpci says so with exit code 0 and nothing on stdout.
        ("", "setpci: Warning: No devices selected for operation group 1.\n", 0),
        ("", "pcilib: Cannot open /proc/bus/pci\n", 1),
        ("8000\n8000\n", "", 0),
        ("8000\n", "", 1),
    ],
)
def test_setpci_without_an_answer_is_not_ats_off(out: str, err: str, code: int) -> None:
    with pytest.raises(ParseError):
        parse_setpci_ats(out, err, code, HOST, "3b:00.0")


def test_bus_list_with_revision_and_interface() -> None:
    text = (
        '0000:00:01.0 "ffff" "1af4" "1045" -r01 -p00 "1af4" "1045"\n0000:3b:00.0 "0200" "15B3" "101d" "15b3" "0016"\n'
    )
    assert parse_bus(text, HOST) == [
        PciFunction("0000:00:01.0", "ffff", "1af4", "1045"),
        PciFunction("0000:3b:00.0", "0200", "15b3", "101d"),
    ]


@pytest.mark.parametrize(
    "text", ["3b:00.0 Ethernet controller: Mellanox\n", '0000:3b:00.0 "0200" "15b3\n', "pcilib: x\n"]
)
def test_an_unknown_bus_list_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        parse_bus(text, HOST)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("3b:00.0", "0000:3b:00.0"),
        ("0000:3B:00.0", "0000:3b:00.0"),
        ("10000:3b:00.0", "10000:3b:00.0"),
        ("/dev/mst/mt4125_pciconf0", None),
        ("mlx5_0", None),
        ("3b:00.8", None),
    ],
)
def test_addresses(text: str, address: str | None) -> None:
    assert full_address(text) == address


def test_running_firmware_counts_not_the_burnt_one() -> None:
    text = (
        "FW Version:            22.32.1010\nFW Version(Running):   22.31.1014\nPSID:                  MT_0000000359\n"
    )
    assert parse_flint(text) == ("MT_0000000359", "22.31.1014")
    assert parse_flint("-E- Cannot open Device") == ("", "")


@pytest.mark.parametrize(("text", "code"), [("DISABLED(1)", 1), ("ENABLED(0)", 0), ("1", 1), ("N/A", None)])
def test_enum_codes(text: str, code: int | None) -> None:
    assert parse_enum_code(text) == code
