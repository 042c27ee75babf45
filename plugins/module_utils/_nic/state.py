"""What the NIC tools print, as frozen dataclasses. Pure: text in, state out, an unknown text is a `ParseError`.

Sources: table layouts of mlxconfig/mstconfig 4.13 to 4.36 read from their printf formats; errors of mstconfig 4.21 and
of setpci/lspci 3.9 seen on a machine without a card. Not verified on hardware.

Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import re
import shlex
from typing import Any, Mapping, Sequence

from .._layer import ParseError

PARAMETER = "ATS_ENABLED"
OFFLOAD_PARAMETER = "INTERNAL_CPU_OFFLOAD_ENGINE"
MELLANOX = "15b3"
MISSING = "N/A"

# Virtual functions have ids of their own. 101e is every virtual function from ConnectX-6 Dx on.
VF_IDS = frozenset({"1004", "1014", "1016", "1018", "101a", "101c", "101e", "a2d3"})
BLUEFIELD_IDS = frozenset({"a2d2", "a2d6", "a2dc", "a2df"})
NETWORK_CLASS = "02"

_ADDRESS = re.compile(r"^(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])$")


def full_address(text: str) -> str | None:
    """``3b:00.0`` or ``0000:3B:00.0`` -> ``0000:3b:00.0``; None when the text is no PCI address."""
    found = _ADDRESS.match(text.strip().lower())
    if not found:
        return None
    domain, bus, slot, function = found.groups()
    return "{}:{}:{}.{}".format(domain or "0000", bus, slot, function)


@dataclasses.dataclass(frozen=True)
class PciFunction:
    """One line of the bus list: lower-case hex without prefix."""

    address: str
    device_class: str
    vendor: str
    device_id: str

    @property
    def is_vf(self) -> bool:
        return self.device_id in VF_IDS

    @property
    def is_nic(self) -> bool:
        return self.vendor == MELLANOX and self.device_class.startswith(NETWORK_CLASS)


@dataclasses.dataclass(frozen=True)
class PciAts:
    """The ATS extended capability in this function's configuration space. ``stu``: smallest translation unit field."""

    present: bool
    enabled: bool = False
    stu: int | None = None


@dataclasses.dataclass(frozen=True)
class Query:
    """One device section of a query. ``values``: parameter -> column (default, current, next) -> printed text.

    Firmware that cannot read a column simply has fewer.
    """

    values: Mapping[str, Mapping[str, str]]
    device: str
    device_type: str
    name: str
    description: str


@dataclasses.dataclass(frozen=True)
class NicDevice:
    """One Mellanox function of this VM. The three booleans are None when the firmware does not tell.

    ``card`` groups the functions of one physical card. ``problem`` says why there is no parameter (empty: there is).
    """

    pci: str
    device_id: str
    card: str
    is_vf: bool
    supported: bool
    device_type: str = ""
    name: str = ""
    description: str = ""
    psid: str = ""
    firmware: str = ""
    default: bool | None = None
    current: bool | None = None
    next: bool | None = None
    pci_ats: PciAts | None = None
    config_space_bytes: int | None = None
    problem: str = ""
    mst: str = ""


@dataclasses.dataclass(frozen=True)
class NicState:
    """``environment``: vm, bare_metal or unknown. ``reboot_kind``: what the card says of a warm reboot, or ''.

    ``notes``: what could not be read and does not matter for the decision, one sentence each.
    """

    tool: str
    tool_version: str
    devices: tuple[NicDevice, ...]
    environment: str = "unknown"
    reboot_kind: str = ""
    notes: tuple[str, ...] = ()


class Failure(str, enum.Enum):
    """What the first ``-E-`` line of mlxconfig means, with how that line begins; exit code 3 alone says nothing."""

    pattern: str

    def __new__(cls, code: str, pattern: str = "") -> Failure:
        made = str.__new__(cls, code)
        made._value_, made.pattern = code, pattern
        return made

    CANNOT_OPEN = "cannot_open", r"Failed to open the device"
    LOCKDOWN = "lockdown"
    UNIDENTIFIED = "unidentified", r"Failed to identify the device"
    UNSUPPORTED_PARAMETER = "unsupported_parameter", r"The Device doesn't support \S+ parameter"
    UNKNOWN_PARAMETER = "unknown_parameter", r"Unknown Parameter:? |Failed to find Param / TLV with name "
    LIVEFISH = "livefish", r"Device in Livefish mode is not supported"
    UNSUPPORTED_DEVICE = "unsupported_device", r"Unsupported device"
    NO_DEVICES = "no_devices", r"No devices found|Failed to get devices"
    NO_NV_ACCESS = "no_nv_access", r"Cannot access NV register"
    NEEDS_POWER_CYCLE = "needs_power_cycle", r"Error when trying to check if NV access registers are supported"
    PARTIAL = "partial", r"Failed to query some of the TLVs"
    READ_ONLY = "read_only", r"Operation is not supported \(Read only TLV"
    NOT_CONFIGURABLE = "not_configurable", r"Device doesn't support any configuration changes"
    ABORTED = "aborted", r"Aborted by user"
    SET_FAILED = "set_failed", r"Failed to set \S+ settings"
    BAD_ARGUMENT = (
        "bad_argument",
        r"invalid argument|Invalid Configuration argument|No command found|Duplicate parameter"
        r"|set command expects device",
    )
    UNKNOWN = "unknown"


def first_error(stdout: str) -> str:
    """The text of the first ``-E-`` line (errors are on stdout, often with the usage text behind them), or ''."""
    for line in stdout.splitlines():
        at = line.find("-E- ")
        # "Applying... Failed!" and the prompt may share a line with the error.
        if at >= 0:
            return line[at + 4 :].strip()
    return ""


def classify(stdout: str, stderr: str) -> Failure:
    if "Permission denied" in stderr and "semaphore" in stderr:
        return Failure.LOCKDOWN
    error = first_error(stdout)
    known = (each for each in Failure if each.pattern and re.match(each.pattern, error))
    return next(known, Failure.UNKNOWN)


# ---- tables ---------------------------------------------------------------------------------------------------------

_COLUMN = re.compile(r"Default|Current|Next Boot|New")
_COLUMN_KEYS = {"Default": "default", "Current": "current", "Next Boot": "next", "New": "requested"}
_SECTION = re.compile(r"^Device #\d+:\s*$")
_LABELS = ("Device", "Device type", "Name", "Description")
_LABEL = re.compile(rf"^({'|'.join(_LABELS)}):\s*(.*?)\s*$")
_TRAILERS = re.compile(r"^(The '(\*|RO)' shows |Device Firmware does not support reading |-[IW]- )")


def _columns(line: str, host: str) -> tuple[str, ...]:
    rest = line.split(":", 1)[1]
    titles = _COLUMN.findall(rest)
    if _COLUMN.sub("", rest).strip() or not titles:
        raise ParseError("a table header with unknown columns", host=host, thing="mlxconfig", raw=line)
    return tuple(_COLUMN_KEYS[title] for title in titles)


def _row(line: str, columns: Sequence[str], host: str) -> tuple[str, dict[str, str]]:
    """``[*][RO] NAME value...``: split at whitespace (a wide value has one space behind it); the star means nothing."""
    words = line.split()
    if words and words[0].startswith("*"):
        words[:1] = [words[0][1:]] if len(words[0]) > 1 else []
    if words and words[0] == "RO":
        words = words[1:]
    if len(words) != 1 + len(columns):
        what = f"a row with {len(words) - 1} values under {len(columns)} columns ({', '.join(columns)})"
        raise ParseError(what, host=host, thing="mlxconfig", raw=line)
    return words[0], dict(zip(columns, words[1:]))


def parse_query(text: str, host: str) -> list[Query]:
    """Every table layout from 4.13 to 4.36: the header says which columns there are, never the position."""
    queries: list[Query] = []
    labels: dict[str, str] = {}
    columns: tuple[str, ...] = ()
    values: dict[str, dict[str, str]] = {}

    def close() -> None:
        if columns:
            queries.append(Query(dict(values), *(labels.get(label, "") for label in _LABELS)))

    for line in text.splitlines():
        stripped = line.strip()
        label = _LABEL.match(line)
        if _SECTION.match(line):
            close()
            labels, columns, values = {}, (), {}
        elif not stripped or set(stripped) == {"-"}:
            continue
        elif not columns and label:
            labels[label.group(1)] = label.group(2)
        elif line.startswith("Configurations:"):
            columns = _columns(line, host)
        elif _TRAILERS.match(line):
            continue
        elif columns and line[0] in " *":
            name, cells = _row(line, columns, host)
            values[name] = cells
        else:
            raise ParseError("an unknown line in a query", host=host, thing="mlxconfig", raw=text)
    close()
    if not queries:
        raise ParseError("no configuration table in a query", host=host, thing="mlxconfig", raw=text)
    return queries


_JSON_KEYS = {"default_value": "default", "current_value": "current", "next_value": "next"}


def _json_section(section: Any, host: str, raw: str) -> Query:
    table = section.get("tlv_configuration") if isinstance(section, dict) else None
    if not isinstance(table, dict) or not all(isinstance(cells, dict) for cells in table.values()):
        raise ParseError("JSON without tlv_configuration", host=host, thing="mlxconfig", raw=raw)
    values = {
        name: {short: str(cells[key]) for key, short in _JSON_KEYS.items() if key in cells}
        for name, cells in table.items()
    }
    labels = (str(section.get(key, "")) for key in ("device", "device_type", "name", "description"))
    return Query(values, *labels)


def parse_query_json(text: str, host: str) -> list[Query]:
    """The file of ``-j`` (4.31 and later). ``modified`` is the star: it is not read."""
    try:
        content = json.loads(text)
    except ValueError:
        raise ParseError("no JSON in the file of -j", host=host, thing="mlxconfig", raw=text) from None
    if not isinstance(content, dict) or not content:
        raise ParseError("no device section in the file of -j", host=host, thing="mlxconfig", raw=text)
    return [_json_section(section, host, text) for section in content.values()]


def parse_flag(text: str | None, host: str, thing: str) -> bool | None:
    """``True(1)``, ``False(0)``; None for a column that is not there or that the firmware calls N/A."""
    if text is None or text == MISSING:
        return None
    found = re.match(r"^(?:(True|False)(?:\(([01])\))?|([01]))$", text)
    if not found:
        raise ParseError("a boolean parameter with an unknown value", host=host, thing=thing, raw=text)
    word, code, digit = found.groups()
    if word and code and (word == "True") != (code == "1"):
        raise ParseError("a boolean parameter that contradicts itself", host=host, thing=thing, raw=text)
    return word == "True" if word else digit == "1"


def parse_enum_code(text: str) -> int | None:
    """``DISABLED(1)`` or ``1`` -> 1; None when there is no number."""
    found = re.match(r"^(?:[^()]*\((\d+)\)|(\d+))$", text)
    return int(found.group(1) or found.group(2)) if found else None


def parse_reboot_kind(stdout: str) -> str:
    """What `set` asks for: ``reboot``, ``power_cycle``, or '' when it says neither."""
    found = re.search(r"^-I- Please (reboot|power cycle) machine to load new configurations", stdout, re.MULTILINE)
    return "" if not found else found.group(1).replace(" ", "_")


def parse_tool_version(text: str) -> tuple[str, tuple[int, int]]:
    """``mstconfig, mstflint 4.21.0, Git...`` or ``mlxconfig, mft 4.16.1-9, built...`` -> ("4.21.0", (4, 21))."""
    found = re.search(r"\b(?:mft|mstflint)\s+((\d+)\.(\d+)[0-9.\-]*)", text)
    if not found:
        return "", (0, 0)
    return found.group(1).rstrip(".-"), (int(found.group(2)), int(found.group(3)))


FIRST_VERSION = (4, 13)  # the first whose database has ATS_ENABLED


def first_that_knows(versions: Sequence[tuple[int, int]]) -> int:
    """Index of the tool to use: the first that knows the parameter, else the first. (0, 0) is an unknown version."""
    for index, numbers in enumerate(versions):
        if numbers == (0, 0) or numbers >= FIRST_VERSION:
            return index
    return 0


# ---- PCI ------------------------------------------------------------------------------------------------------------


def parse_bus(text: str, host: str) -> list[PciFunction]:
    """``lspci -Dnmm``: address "class" "vendor" "device" [-rNN] [-pNN] "subvendor" "subdevice"."""
    functions: list[PciFunction] = []
    for line in text.splitlines():
        if not line.strip():
            continue
        try:
            words = shlex.split(line)
        except ValueError:
            words = []
        address = full_address(words[0]) if len(words) > 3 else None
        if address is None or not all(re.match(r"^[0-9a-fA-F]{4}$", word) for word in words[1:4]):
            raise ParseError("an unknown line in the list of PCI devices", host=host, thing="lspci -Dnmm", raw=line)
        functions.append(PciFunction(address, words[1].lower(), words[2].lower(), words[3].lower()))
    return functions


_NO_CAPABILITY = re.compile(r"capability 000f not found", re.IGNORECASE)


def parse_setpci_ats(stdout: str, stderr: str, code: int, host: str, device: str) -> PciAts:
    """``setpci -s BDF ECAP_ATS+6.w``: bit 15 is Enable, bits 4:0 the smallest translation unit."""
    text = stdout.strip()
    if code == 0 and re.match(r"^[0-9a-fA-F]{4}$", text):
        control = int(text, 16)
        return PciAts(present=True, enabled=bool(control & 0x8000), stu=control & 0x1F)
    if code != 0 and _NO_CAPABILITY.search(stderr):
        return PciAts(present=False)
    raise ParseError(f"setpci answered with exit code {code}", host=host, thing=device, raw=(stdout + stderr).strip())


def parse_flint(text: str) -> tuple[str, str]:
    """(PSID, running firmware) of ``mstflint -d BDF q``; empty when a line is not there.

    With a burnt but not yet loaded image there are two lines, and ``FW Version(Running)`` is the one that counts.
    """
    lines = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    return lines.get("PSID", "").strip(), lines.get("FW Version(Running)", lines.get("FW Version", "")).strip()
