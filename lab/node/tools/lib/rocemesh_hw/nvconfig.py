"""SIMULATED mlxconfig and mstconfig: six column layouts, the real exit codes, errors on stdout.

Rules kept because scripts trip over them: options stand before the command; `set` always writes and always says
"Done!"; a query without -e shows Next Boot alone; every error is exit code 3, an abort is 2; not being root looks
exactly like a missing device; the star marks next != default as well as next != current, so it never goes away on a
card that has been changed.

Faults (``faults`` in nic.json): ``tool_version`` "4.31.0"; ``no_current`` / ``no_default`` (firmware cannot read those
columns); ``lockdown``; ``nv_access`` (wants a power cycle); ``livefish``; ``set_fails`` "reason"; ``set_ignored`` (says
Done and writes nothing); ``set_read_only``; ``mfrl`` (warm boot not prepared: asks for a power cycle); ``hang``
(never answers until killed); ``unknown_row`` "text" (a line that no known version prints).
"""

from __future__ import annotations

import json
import re
import signal
import sys
from typing import Any, Dict, List, NamedTuple, NoReturn, Optional, Sequence, Tuple, Union

from .hardware import Hardware, full_address, is_root, mst_started

OK, ABORTED, ERROR = 0, 2, 3

BOOL = "bool"
INT = "int"
Kind = Union[str, Dict[str, int]]

PARAMETERS: Dict[str, Kind] = {
    "ADVANCED_PCI_SETTINGS": BOOL,
    "ATS_ENABLED": BOOL,
    "CNP_DSCP_P1": INT,
    "INTERNAL_CPU_OFFLOAD_ENGINE": {"ENABLED": 0, "DISABLED": 1},
    "LINK_TYPE_P1": {"IB": 1, "ETH": 2},
    "LINK_TYPE_P2": {"IB": 1, "ETH": 2},
    "MAX_ACC_OUT_READ": INT,
    "NUM_OF_VFS": INT,
    "PCI_WR_ORDERING": {"per_mkey": 0, "force_relax": 1},
    "QOS_TRUST_STATE_P1": {"TRUST_PORT": 0, "TRUST_PCP": 1, "TRUST_DSCP": 2, "TRUST_DSCP_PCP": 3},
    "QOS_TRUST_STATE_P2": {"TRUST_PORT": 0, "TRUST_PCP": 1, "TRUST_DSCP": 2, "TRUST_DSCP_PCP": 3},
    "ROCE_CC_PRIO_MASK_P1": INT,
    "ROCE_CONTROL": {"DEVICE_DEFAULT": 0, "ROCE_DISABLE": 1, "ROCE_ENABLE": 2},
    "SRIOV_EN": BOOL,
}


class Era(NamedTuple):
    """How one range of tool versions lays its table out."""

    since: Tuple[int, int]
    name_width: int
    value_width: int
    read_only_mark: bool
    json: bool


ERAS = (
    Era((0, 0), 36, 16, False, False),
    Era((4, 22), 44, 16, False, False),
    Era((4, 25), 44, 16, True, False),
    Era((4, 28), 44, 20, True, False),
    Era((4, 31), 44, 20, True, True),
    Era((4, 36), 48, 33, True, True),
)


def version_tuple(text: str) -> Tuple[int, int]:
    numbers = re.findall(r"\d+", text)
    return (int(numbers[0]), int(numbers[1])) if len(numbers) > 1 else (4, 16)


def era_of(version: str) -> Era:
    wanted = version_tuple(version)
    return [era for era in ERAS if era.since <= wanted][-1]


class Failure(Exception):
    def __init__(self, text: str, usage: bool = False, code: int = ERROR) -> None:
        super().__init__(text)
        self.usage = usage
        self.code = code


USAGE = """\
    NAME:
        {name} (SIMULATED)
    SYNOPSIS:
        {name} [Options] <Commands> [Parameters]
    OPTIONS:
        -d|--dev <device>   : device to work on.
        -e                  : show default and current values too.
        -y|--yes            : no question before applying.
        -v|--version        : version.
        -h|--help           : this text.
    COMMANDS SUMMARY
        q|query             : supported configurations.
        r|reset             : all configurations to default.
        s|set               : set configurations, NAME=VALUE ...
"""


def show(kind: Kind, value: Any) -> str:
    if value is None:
        return "N/A"
    if kind == BOOL:
        return f"{'True' if value else 'False'}({int(value)})"
    if isinstance(kind, dict):
        names = [name for name, number in kind.items() if number == value]
        return f"{names[0]}({value})" if names else str(value)
    return str(value)


def read_value(name: str, text: str) -> int:
    kind = PARAMETERS[name]
    if kind == BOOL and text.lower() in ("true", "false"):
        return int(text.lower() == "true")
    if isinstance(kind, dict):
        for label, number in kind.items():
            if label.lower() == text.lower():
                return number
    if not re.match(r"^(0x[0-9a-fA-F]+|\d+)$", text):
        raise Failure(f"Failed to parse {name}={text}", usage=False)
    number = int(text, 0)
    if (kind == BOOL and number > 1) or (isinstance(kind, dict) and number not in kind.values()):
        raise Failure(f"Failed to parse {name}={text}", usage=False)
    return number


class Arguments:
    def __init__(self) -> None:
        self.device: Optional[str] = None
        self.verbose = False
        self.yes = False
        self.json_file: Optional[str] = None
        self.command = ""
        self.rest: List[str] = []


def parse(argv: Sequence[str], era: Era) -> Arguments:
    """Options first, then the command; after the command nothing is an option any more."""
    arguments = Arguments()
    words = list(argv)
    while words and not arguments.command:
        word = words.pop(0)
        if word in ("-d", "--dev"):
            if not words:
                raise Failure(f"missing argument after: {word}", usage=True)
            arguments.device = words.pop(0)
        elif word in ("-e", "--enable_verbosity"):
            arguments.verbose = True
        elif word in ("-y", "--yes"):
            arguments.yes = True
        elif word == "-j" and era.json:
            if not words:
                raise Failure(f"missing argument after: {word}", usage=True)
            arguments.json_file = words.pop(0)
        elif word in ("q", "query"):
            arguments.command = "query"
        elif word in ("s", "set"):
            arguments.command = "set"
        elif word in ("r", "reset"):
            arguments.command = "reset"
        else:
            raise Failure(f"invalid argument: {word}", usage=True)
    if not arguments.command:
        raise Failure("No command found. For more information please read the help message:", usage=True)
    arguments.rest = words
    return arguments


def settings(words: Sequence[str]) -> Dict[str, str]:
    wanted: Dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name or not value:
            raise Failure(f"Invalid Configuration argument {word}", usage=True)
        if name in wanted:
            raise Failure(f"Duplicate parameter, {name}.", usage=True)
        wanted[name] = value
    if not wanted:
        raise Failure("missing configuration arguments. For more information please read the help message.", usage=True)
    return wanted


class Tool:
    def __init__(self, name: str, hardware: Hardware) -> None:
        self.name = name
        self.hardware = hardware
        self.version = hardware.tool_version
        self.era = era_of(self.version)

    # ---- opening a device -------------------------------------------------------------------------------------

    def find(self, device: str) -> Optional[Dict[str, Any]]:
        """The card behind a -d argument; what the real tool says on stderr about a bad one goes to stderr here too."""
        address = full_address(device)
        if address:
            return self.hardware.card(address)
        if device.startswith("/dev/mst/"):
            if self.name == "mlxconfig":
                return next((c for c in self.hardware.cards if c.get("mst") == device and mst_started(device)), None)
            print(f"Unable to parse device name {device}", file=sys.stderr)
        elif re.match(r"^mlx5_\d+$", device):
            index = int(device[5:])
            if index < len(self.hardware.cards):
                return self.hardware.cards[index]
            print("read link: No such file or directory", file=sys.stderr)
            print(f"Unable to read link /sys/class/infiniband/{device}/device", file=sys.stderr)
        return None

    def open(self, device: str) -> Dict[str, Any]:
        faults = self.hardware.faults
        card = self.find(device)
        if card is None or not is_root():
            raise Failure("Failed to open the device")
        if faults.get("lockdown"):
            if version_tuple(self.version) >= (4, 33):
                raise Failure("Failed to identify the device")
            print("write counter to semaphore: Permission denied", file=sys.stderr)
            raise Failure("Failed to open the device")
        for broken, text in (
            (self.hardware.is_vf(card), "Failed to identify the device"),
            (faults.get("livefish"), "Device in Livefish mode is not supported"),
            (faults.get("nv_access"), "Error when trying to check if NV access registers are supported"),
        ):
            if broken:
                raise Failure(text)
        return card

    # ---- text -------------------------------------------------------------------------------------------------

    def opening(self, index: int, device: str, card: Dict[str, Any]) -> None:
        width = 20 if self.era.name_width == 48 else 16
        print(f"\nDevice #{index}:\n----------\n")
        for label, value in (
            ("Device type:", card.get("device_type", "")),
            ("Name:", card.get("name", "N/A")),
            ("Description:", simulated(card.get("description", ""))),
            ("Device:", device),
        ):
            print(f"{label:<{width}}{value:<16}")
        print()

    def header(self, columns: Sequence[str]) -> None:
        start = 1 + 8 + 36 if self.era.name_width == 36 else 13 + self.era.name_width
        text = f"{'Configurations:':<{start}}"
        for column in columns:
            text += f"{column:<{self.era.value_width}}"
        print(text.rstrip())

    def row(self, name: str, cells: Sequence[str], star: bool, read_only: bool = False) -> None:
        prefix = ("*" if star else " ") + (
            ("RO" if read_only else "  ") + " " * 5 if self.era.read_only_mark else " " * 8
        )
        # A value as wide as its column is followed by exactly one space: columns cannot be cut by position.
        text = f"{name:<{self.era.name_width}}"
        for cell in cells:
            text += f"{cell:<{self.era.value_width}}" if len(cell) < self.era.value_width else cell + " "
        print(prefix + text)

    # ---- commands ---------------------------------------------------------------------------------------------

    def known(self, name: str) -> None:
        if name in PARAMETERS:
            return
        if version_tuple(self.version) >= (4, 34):
            raise Failure(f"Failed to find Param / TLV with name '{name}' port 0 module -1")
        raise Failure(f"Unknown Parameter: {name}")

    def supported(self, card: Dict[str, Any], name: str) -> Dict[str, Any]:
        self.known(name)
        values = card.get("params", {}).get(name)
        if values is None:
            raise Failure(f"The Device doesn't support {name} parameter")
        return dict(values)

    def query_device(self, index: int, device: str, arguments: Arguments, out: Dict[str, Any]) -> None:
        card = self.open(device)
        columns = self.columns(arguments.verbose)
        as_json = arguments.json_file is not None
        if not as_json:
            self.opening(index, device, card)
            self.header([title for title, _key in columns])
        names = arguments.rest or sorted(card.get("params", {}))
        section: Dict[str, Any] = {}
        starred = False
        for name in names:
            values = self.supported(card, name)
            kind = PARAMETERS[name]
            star = any(values["next"] != values[key] for _title, key in columns)
            starred = starred or star
            if as_json:
                section[name] = {"modified": star, "read_only": bool(self.hardware.faults.get("set_read_only"))}
                for _title, key in columns:
                    section[name][f"{key}_value"] = values[key] if kind == INT else show(kind, values[key])
            else:
                self.row(name, [show(kind, values[key]) for _title, key in columns], star)
        unknown = self.hardware.faults.get("unknown_row")
        if unknown and not as_json:
            print(unknown)
        if as_json:
            out[f"Device #{index}"] = {
                "description": simulated(card.get("description", "")),
                "device": device,
                "device_type": card.get("device_type", ""),
                "name": card.get("name", "N/A"),
                "tlv_configuration": section,
            }
        else:
            if starred:
                print("The '*' shows parameters with next value different from default/current value.")
            self.missing_columns(arguments.verbose)
        if not names:
            raise Failure("Device doesn't support any configuration changes.")

    def columns(self, verbose: bool) -> List[Tuple[str, str]]:
        faults = self.hardware.faults
        columns = []
        if verbose and not faults.get("no_default"):
            columns.append(("Default", "default"))
        if verbose and not faults.get("no_current"):
            columns.append(("Current", "current"))
        return [*columns, ("Next Boot", "next")]

    def missing_columns(self, verbose: bool) -> None:
        faults = self.hardware.faults
        gone = [name for name in ("default", "current") if faults.get(f"no_{name}")]
        if verbose and gone:
            print(f"Device Firmware does not support reading {' and '.join(gone)} configurations")

    def query(self, arguments: Arguments) -> int:
        for name in arguments.rest:
            if "=" in name:
                raise Failure(f"Invalid Configuration argument {name}", usage=True)
        devices = [arguments.device] if arguments.device else [card["pci"] for card in self.hardware.cards]
        if not devices:
            raise Failure("Failed to get devices.")
        code = OK
        collected: Dict[str, Any] = {}
        for index, device in enumerate(devices, 1):
            try:
                self.query_device(index, device, arguments, collected)
            except Failure as failure:
                print(f"-E- {failure}")
                code = failure.code
        if arguments.json_file is not None:
            with open(arguments.json_file, "w", encoding="utf-8") as handle:
                json.dump(collected, handle)
                handle.write("\n")
            ending = "successfully" if code == OK else "but one or more devices had an error."
            print(f"Query output saved to {arguments.json_file} {ending}")
        return code

    def confirm(self, question: str, yes: bool) -> None:
        print(f"\n {question} (y/n) [n] : ", end="", flush=True)
        answer = "y" if yes else sys.stdin.readline().strip()
        if yes:
            print("y")
        if answer.lower() not in ("y", "yes"):
            raise Failure("Aborted by user.", code=ABORTED)

    def write(self, card: Dict[str, Any], values: Dict[str, int]) -> None:
        faults = self.hardware.faults
        if faults.get("set_read_only"):
            raise Failure("Operation is not supported (Read only TLV: nv_pci_conf)")
        print("Applying... ", end="", flush=True)
        if faults.get("set_fails"):
            print("Failed!")
            raise Failure(f"Failed to set nv_pci_conf settings {faults['set_fails']} (5)")
        if not faults.get("set_ignored"):
            self.hardware.store_next(card["pci"], values)
        print("Done!")
        what = "power cycle" if faults.get("mfrl") else "reboot"
        print(f"-I- Please {what} machine to load new configurations.")

    def set(self, arguments: Arguments) -> int:
        wanted = settings(arguments.rest)
        if arguments.device is None:
            raise Failure("set command expects device to be specified.", usage=True)
        card = self.open(arguments.device)
        columns = self.columns(arguments.verbose)
        self.opening(1, arguments.device, card)
        self.header([*(title for title, _key in columns), "New"])
        values: Dict[str, int] = {}
        for name, text in wanted.items():
            before = self.supported(card, name)
            values[name] = read_value(name, text)
            kind = PARAMETERS[name]
            cells = [show(kind, before[key]) for _title, key in columns]
            self.row(name, [*cells, show(kind, values[name])], star=False)
        self.confirm("Apply new Configuration?", arguments.yes)
        self.write(card, values)
        return OK

    def reset(self, arguments: Arguments) -> int:
        if arguments.device is None:
            raise Failure("reset command expects device to be specified.", usage=True)
        card = self.open(arguments.device)
        names = arguments.rest or sorted(card.get("params", {}))
        values = {name: int(self.supported(card, name)["default"]) for name in names}
        self.confirm(f"Reset configuration for device {arguments.device}?", arguments.yes)
        self.write(card, values)
        return OK


def simulated(description: str) -> str:
    return description if "SIMULATED" in description else f"SIMULATED {description}".rstrip()


def hang() -> NoReturn:
    while True:
        signal.pause()


def main(name: str, argv: Sequence[str]) -> int:
    hardware = Hardware()
    tool = Tool("mstconfig" if name.startswith("mst") else "mlxconfig", hardware)
    if any(word in ("-v", "--version") for word in argv[:1]):
        if tool.name == "mstconfig":
            print(f"mstconfig, mstflint {tool.version}, Git SHA Hash: SIMULATED")
        else:
            print(f"mlxconfig, mft {tool.version}-1, built on Jan  1 2026, 00:00:00. Git SHA Hash: SIMULATED")
        return OK
    if any(word in ("-h", "--help") for word in argv[:1]):
        print(USAGE.format(name=tool.name), end="")
        return OK
    if hardware.faults.get("hang"):
        hang()
    try:
        arguments = parse(argv, tool.era)
        return {"query": tool.query, "set": tool.set, "reset": tool.reset}[arguments.command](arguments)
    except Failure as failure:
        sys.stdout.flush()
        if failure.code == ABORTED:
            print()
        print(f"-E- {failure}")
        if failure.usage:
            print(USAGE.format(name=tool.name), end="")
        return failure.code
