"""What an argument specification cannot say of a value: its range, its form. Pure."""

from __future__ import annotations

import datetime
import ipaddress
import itertools
import re
from typing import Any, Callable, Iterator, Mapping, Sequence

from .._site import schedule

_ANY: Mapping[str, Any] = {"type": "raw"}
_BOOL: Mapping[str, Any] = {"type": "bool"}
_INT: Mapping[str, Any] = {"type": "int"}
_STR: Mapping[str, Any] = {"type": "str"}
# Variables of the whole site, as argument specifications write options: playbooks and roles' defaults read them.
SITE_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "rocemesh_accept_boot": _ANY,
    "rocemesh_address": _STR,
    "rocemesh_adopt_maintenance": _STR,
    "rocemesh_allow_cpu": _BOOL,
    "rocemesh_allow_idle_gpus": _BOOL,
    "rocemesh_allow_reboot": _BOOL,
    "rocemesh_allow_unlisted_system": _BOOL,
    "rocemesh_change_window": _ANY,
    "rocemesh_change_window_least_minutes": _INT,
    "rocemesh_fabric_gate": {"type": "str", "choices": ["auto", "required", "never"]},
    "rocemesh_hard_off": _BOOL,
    "rocemesh_lease_seconds": _INT,
    "rocemesh_maintenance_timeout": _INT,
    "rocemesh_max_unavailable": _ANY,
    "rocemesh_plan_host_reboot_minutes": _INT,
    "rocemesh_plan_power_cycle_minutes": _INT,
    "rocemesh_power_on_timeout": _INT,
    "rocemesh_reboot_timeout": _INT,
    "rocemesh_roce_networks": _ANY,
    "rocemesh_roce_priority": _INT,
    "rocemesh_shutdown_timeout": _INT,
    "rocemesh_simulated": _BOOL,
    "rocemesh_skip_hosts": _ANY,
    "rocemesh_slots": _INT,
    "rocemesh_switch_driver": _STR,
    "rocemesh_take_over": _STR,
    "rocemesh_vcenter_ca_path": {"type": "path"},
    "rocemesh_vcenter_hostname": _STR,
    "rocemesh_vcenter_password": {"type": "str", "no_log": True},
    "rocemesh_vcenter_port": _INT,
    "rocemesh_vcenter_username": _STR,
    "rocemesh_vcenter_validate_certs": _BOOL,
    "rocemesh_vm_policy": {"type": "str", "choices": ["refuse", "shutdown", "evacuate"]},
    "rocemesh_vsan_mode": {"type": "str", "choices": ["ensureObjectAccessibility", "evacuateAllData", "noAction"]},
}

_WINDOW = "{start: '22:00', end: '04:00', days: [sat], timezone: Europe/Berlin}"
_PORT = ((1, 65535),)
_MANY = ((1, 10**9),)
# Numbers that are none of these ranges are refused. Every other number is 0 or more, unless its default is below.
RANGES: Mapping[str, Sequence[tuple[float, float]]] = {
    "fabric_options.drop": ((0, 1),),
    "fabric_options.port": _PORT,
    "fabric_options.seconds": _MANY,
    "fabric_options.tos": ((0, 255),),
    "guest_mtu": ((0, 0), (1500, 9900)),
    "guest_qos_tos": ((0, 255),),
    "mesh_ssh_port": ((0, 65535),),
    "rocemesh_lease_seconds": _MANY,
    "rocemesh_roce_priority": ((0, 7),),
    "rocemesh_vcenter_port": _PORT,
    "run_batch_size": _MANY,
    "run_display_every": _MANY,
    "run_image_size": _MANY,
    "run_master_port": _PORT,
    "run_num_batches": _MANY,
    "run_rdma_dscp": ((-1, 63),),
    "switch_mtu": ((1500, 9216),),
    "switch_port": _PORT,
    "switch_roce_priority": ((0, 7),),
    "switch_vlan": ((1, 4094),),
}
_PLACEHOLDER = re.compile(
    r"(?i)^(change[-_ ]?(me|it|this)\W*|replace[-_ ]?(me|this)?\W*|fix[-_ ]?me|to[-_ ]?do|tbd|tba|placeholder"
    r"|<.*>|\.{3,}|x{3,}|\*{3,}|\?{2,}|your[-_ ].*|insert[-_ ].*|none|null|dummy)$"
)
_TYPES: Mapping[str, str] = {
    "bool": "true or false",
    "dict": "a mapping",
    "float": "a number",
    "int": "a whole number",
    "list": "a list",
    "path": "a path",
    "str": "text",
}


def expected(option: Mapping[str, Any]) -> str:
    """What an option of an argument specification takes, for a person."""
    if option.get("choices"):
        return f"one of {', '.join(str(choice) or repr('') for choice in option['choices'])}"
    if option.get("elements"):
        return f"a list, each element {_TYPES.get(option['elements'], option['elements'])}"
    return _TYPES.get(str(option.get("type")), str(option.get("type")))


def _network(value: Any) -> str:
    for text in _words(value):
        try:
            ipaddress.ip_network(text, strict=False)
        except ValueError:
            return "networks as 192.0.2.0/24"
        if "/" not in text:
            return "networks with their length, as 192.0.2.0/24"
    return ""


def _words(value: Any) -> list[str]:
    return value.replace(",", " ").split() if isinstance(value, str) else [str(each) for each in value or ()]


def _rails(value: Any) -> str:
    try:
        networks = [ipaddress.ip_network(text) for text in dict.fromkeys(_words(value))]
    except ValueError as error:
        return f"one network per rail, as 192.0.2.0/24 ({error})"
    for one, other in itertools.combinations(networks, 2):
        if one.version == other.version and one.overlaps(other):
            return f"networks that do not overlap, one per rail ({one} and {other} do)"
    return ""


def _address(value: Any) -> str:
    try:
        ipaddress.ip_address(str(value))
    except ValueError:
        return "" if value in (None, "") else "one address without length, as 192.0.2.11"
    return ""


def _server(value: Any) -> str:
    """A name or an address, as the libraries that connect take it."""
    named = re.match(r"^[A-Za-z0-9_.:%-]+$", str(value or "x"))
    try:
        port = ":" in str(value) and not ipaddress.ip_address(str(value).partition("%")[0])
    except ValueError:
        port = True
    return "" if named and not port else "a name or an address alone: no https://, path, port or brackets"


def _registry(value: Any) -> str:
    good = re.match(r"^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?(/[a-z0-9._-]+)*$", str(value or "x"))
    return "" if good else "host:port, without https:// and without a slash at the end"


def _pattern(pattern: str, words: str) -> Callable[[Any], str]:
    compiled = re.compile(pattern)
    return lambda value: "" if value in (None, "") or compiled.match(str(value)) else words


def _max_unavailable(value: Any) -> str:
    try:
        schedule.batch_size(value, 100)
    except ValueError:
        return "a number of hosts from 1, or a percentage as '25%'"
    return ""


def _change_window(value: Any) -> str:
    if not isinstance(value, (list, tuple, Mapping)):
        return "" if value == "" else f"windows as {_WINDOW}"
    try:
        schedule.change_window(value, datetime.datetime.now(datetime.timezone.utc))
    except (ValueError, TypeError, AttributeError) as error:
        return f"windows as {_WINDOW} ({str(error).partition(' What to do')[0]})"
    return ""


def _mmio(value: Any) -> str:
    number = int(value) if re.match(r"^[1-9]\d*$", str(value)) else 0
    power = number and not number & (number - 1)
    return "" if power or value in (None, "", "auto") else "auto, or a power of two in GB without a unit"


_CHECKSUM = _pattern(r"^(sha256|sha384|sha512|sha1|md5):[0-9A-Fa-f]+$", "ALGORITHM:DIGEST, as sha256:...")
# Variable, or key of one -> what gives the form that was expected, or nothing where the value has it. ansible_host is
# Ansible's own.
FORMS: Mapping[str, Callable[[Any], str]] = {
    "ansible_host": _server,
    "container_registry": _registry,
    "container_shm_size": _pattern(r"(?i)^\d+(\.\d+)?\s*([kmgt]i?)?b?$", "a size as 1g"),
    "gpu_vm_wanted.mmio_size_gb": _mmio,
    "guest_doca_deb_checksum": _CHECKSUM,
    "guest_doca_key_checksum": _CHECKSUM,
    "guest_networks": _network,
    "guest_nv_peer_memory.checksum": _CHECKSUM,
    "guest_ofed_checksum": _CHECKSUM,
    "guest_qos_pfc": _pattern(r"^[01](,[01]){7}$", "eight of 0 and 1 with commas between them"),
    "container_toolkit_source.key_checksum": _CHECKSUM,
    "mesh_address": _address,
    "mesh_cidr": _network,
    "mesh_user": _pattern(r"^[^\s:/]+$", "the name of an account"),
    "rocemesh_address": _address,
    "rocemesh_change_window": _change_window,
    "rocemesh_max_unavailable": _max_unavailable,
    "rocemesh_roce_networks": _rails,
    "rocemesh_vcenter_hostname": _server,
    "run_handoff_name": _pattern(r"^[a-z0-9-]{1,40}$", "at most 40 lower-case letters, digits and dashes"),
    "run_network": _network,
    "switch_host": _server,
    "switch_options.vlan_name": _pattern(r"^\S+$", "one word"),
}


def is_secret(name: str, option: Mapping[str, Any]) -> bool:
    return bool(option.get("no_log")) or name.endswith(("password", "_pass", "_token"))


def refusals(name: str, option: Mapping[str, Any], value: Any) -> Iterator[str]:
    """What was expected, of a value that has its type: nothing where range and form are right."""
    if is_secret(name, option) and _PLACEHOLDER.match(str(value or "")):
        yield "the real one, not a placeholder"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        allowed = RANGES.get(name) or (((0, float("inf")),) if _from_zero(option) else ())
        if allowed and not any(least <= value <= most for least, most in allowed):
            yield " or ".join(_range(least, most) for least, most in allowed)
    form = FORMS[name](value) if name in FORMS else ""
    if form:
        yield form
    if isinstance(value, Mapping):
        for key, each in (option.get("options") or {}).items():
            if value.get(key) is not None:
                yield from (f"{key}: {words}" for words in refusals(f"{name}.{key}", each, value[key]))


def _from_zero(option: Mapping[str, Any]) -> bool:
    default = option.get("default")
    return not (isinstance(default, (int, float)) and default < 0)


def _range(least: float, most: float) -> str:
    if least == most:
        return str(least)
    return f"{least} or more" if most >= 10**9 else f"{least} to {most}"


def shown(value: Any, *, secret: bool, most: int = 60) -> str:
    if secret:
        return f"{len(value)} characters that are not shown" if isinstance(value, str) else f"a {type(value).__name__}"
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}..."


def plain(value: Any) -> Any:
    """Values of an inventory without Ansible's types around them."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(each) for each in value]
    # What a vault keeps is a sequence of characters and no text in ansible-core before 2.19.
    return str(value) if isinstance(value, Sequence) and not isinstance(value, bytes) else value
