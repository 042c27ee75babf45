"""What an argument specification cannot say of a value: its range, its form. Pure."""

from __future__ import annotations

import datetime
import difflib
import ipaddress
import itertools
import re
from typing import Any, Callable, Iterator, Mapping, Sequence

from .._site import schedule

_ANY: Mapping[str, Any] = {"type": "raw"}
_BOOL: Mapping[str, Any] = {"type": "bool"}
_INT: Mapping[str, Any] = {"type": "int"}
_STR: Mapping[str, Any] = {"type": "str"}
_UPGRADE: Mapping[str, Mapping[str, Any]] = {
    "packages": {"type": "dict"},
    "removes": {"type": "list", "elements": "str"},
    "scheduler": {
        "type": "dict",
        "options": {
            "kind": {"type": "str", "choices": ["none", "slurm", "kubernetes"]},
            "host": _STR,
            "minutes": _INT,
        },
    },
}
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
    "rocemesh_plan": {"type": "path"},
    "rocemesh_plan_host_reboot_minutes": _INT,
    "rocemesh_plan_power_cycle_minutes": _INT,
    "rocemesh_power_on_timeout": _INT,
    "rocemesh_reboot_timeout": _INT,
    "rocemesh_roce_networks": _ANY,
    "rocemesh_roce_priority": _INT,
    "rocemesh_scheduler_node": _STR,
    "rocemesh_shutdown_timeout": _INT,
    "rocemesh_simulated": _BOOL,
    "rocemesh_skip_hosts": _ANY,
    "rocemesh_slots": _INT,
    "rocemesh_switch_driver": _STR,
    "rocemesh_take_over": _STR,
    "rocemesh_upgrade": {"type": "dict", "options": _UPGRADE},
    "rocemesh_vcenter_ca_path": {"type": "path"},
    "rocemesh_vcenter_hostname": _STR,
    "rocemesh_vcenter_password": {"type": "str", "no_log": True},
    "rocemesh_vcenter_port": _INT,
    "rocemesh_vcenter_username": _STR,
    "rocemesh_vcenter_validate_certs": _BOOL,
    "rocemesh_vm_policy": {"type": "str", "choices": ["refuse", "shutdown", "evacuate"]},
    "rocemesh_vsan_mode": {"type": "str", "choices": ["ensureObjectAccessibility", "evacuateAllData", "noAction"]},
}

# Ansible's own variables of a login.
LOGIN_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "ansible_host": _STR,
    "ansible_port": _INT,
    "ansible_python_interpreter": _STR,
    "ansible_user": _STR,
}

_WINDOW = "{start: '22:00', end: '04:00', days: [sat], timezone: Europe/Berlin}"
_PORT = ((1, 65535),)
_MANY = ((1, 10**9),)
_TOS = ((0, 255),)
_PAGES = ((2**16, 10**18),)  # a limit in bytes below this is one in another unit
# Numbers that are none of these ranges are refused. Every other number is 0 or more, unless its default is below.
RANGES: Mapping[str, Sequence[tuple[float, float]]] = {
    "ansible_port": _PORT,
    "benchmark_bandwidth.iterations": ((1, 200),),
    "benchmark_image_size": ((32, 10**9),),
    "consistency_dscp": ((0, 63),),
    "consistency_priority": ((0, 7),),
    "container_memlock": ((-1, -1), *_PAGES),
    "fabric_options.drop": ((0, 1),),
    "fabric_limit": _MANY,
    "fabric_options.port": _PORT,
    "fabric_options.seconds": _MANY,
    "fabric_options.size": _MANY,
    "fabric_options.tos": _TOS,
    "guest_mtu": ((0, 0), (1500, 9900)),
    "guest_qos_tos": _TOS,
    "mesh_ssh_port": ((0, 65535),),
    "preflight_timeout": _MANY,
    "rocemesh_lease_seconds": ((60, 10**9),),  # one that expires within a step protects nothing
    "rocemesh_roce_priority": ((0, 7),),
    "rocemesh_vcenter_port": _PORT,
    "run_batch_size": _MANY,
    "run_display_every": _MANY,
    "run_image_size": _MANY,
    "run_master_port": _PORT,
    "run_num_batches": _MANY,
    "run_progress_interval": _MANY,
    "run_rdma_dscp": ((-1, 63),),
    "switch_mtu": ((1500, 9216),),
    "switch_port": _PORT,
    "switch_roce_priority": ((0, 7),),
    "switch_options.timeout": _MANY,
    "switch_vlan": ((1, 4094),),
}
_NETWORKS = ("alexnet", "vgg16", "inception-bn", "inception-v3", "resnet50", "resnet152")
# Words that the elements of a list are of; ``name*8`` is one of eight times the batch.
WORDS: Mapping[str, Sequence[str]] = {
    "benchmark_advice.advice": ("none", "half_the_processors", "affinity", "both", "without_autotune"),
    "benchmark_advice.models": _NETWORKS,
    "benchmark_bandwidth.networks": (*_NETWORKS, "resnet200"),
    "benchmark_bandwidth.paths": (
        "gpu_direct", "gpu_host", "gpu_sockets", "gpu_staged", "cpu", "cpu_staged", "servers", "servers_async",
        "point_to_point",
    ),
    "benchmark_parts": (
        "bandwidth", "scaling", "scoring", "training", "nccl_tests", "perftest", "advice", "input",
    ),
    "benchmark_scoring.models": _NETWORKS,
    "benchmark_training.models": _NETWORKS,
    "fabric_programs": (
        "ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_send_lat", "ib_write_lat", "ib_read_lat",
    ),
    "run_handoff_launchers": ("slurm", "torchrun", "mpijob", "trainjob", "jobset"),
}  # fmt: skip
# What is written for true and false, as Ansible and esxcli read it.
TRUE, FALSE = frozenset(("true", "yes", "on", "1", "y", "t")), frozenset(("false", "no", "off", "0", "n", "f"))
_PLACEHOLDER = re.compile(
    r"(?i)^(change[-_ ]?(me|it|this)\W*|replace[-_ ]?(me|this)?\W*|fix[-_ ]?me|to[-_ ]?do|tbd|tba|placeholder"
    r"|<.*>|\.{3,}|x{3,}|\*{3,}|\?{2,}|your[-_ ].*|insert[-_ ].*)$"
)
_NO_SECRET = re.compile(r"(?i)^(none|null|dummy)$")
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
    for text in words(value):
        try:
            network = ipaddress.ip_network(text, strict=False)
        except ValueError:
            return "networks as 192.0.2.0/24"
        if "/" not in text:
            return "networks with their length, as 192.0.2.0/24"
        if not network.prefixlen:
            return "networks that are not all addresses, as 192.0.2.0/24"
    return ""


def words(value: Any) -> list[str]:
    if isinstance(value, (list, tuple)):
        return [str(each) for each in value]
    return [] if value is None else str(value).replace(",", " ").split()


def _rails(value: Any) -> str:
    try:
        networks = [ipaddress.ip_network(text) for text in dict.fromkeys(words(value))]
    except ValueError as error:
        return f"one network per rail, as 192.0.2.0/24 ({error})"
    for one, other in itertools.combinations(networks, 2):
        if one.version == other.version and one.overlaps(other):
            return f"networks that do not overlap, one per rail ({one} and {other} do)"
    return ""


def _address(value: Any) -> str:
    if value in (None, ""):
        return ""
    try:
        found = ipaddress.ip_address(str(value))
    except ValueError:
        return "one address without length, as 192.0.2.11"
    if "%" in str(value):
        return "one address without a zone, as fd00::11"
    return _NO_HOST if _of_no_host(found) else ""


_NO_HOST = "the address of one host"


def _of_no_host(address: Any) -> bool:
    return bool(address.is_unspecified or address.is_multicast)


def _server(value: Any) -> str:
    """A name or an address, as the libraries that connect take it. The last label of a name is no number."""
    text = str(value or "x")
    try:
        return _NO_HOST if _of_no_host(ipaddress.ip_address(text.partition("%")[0])) else ""
    except ValueError:
        if re.match(r"^[A-Za-z0-9_.-]*\.\d+$", text):
            return "a name, or an address of four numbers to 255"
        named = re.match(r"^[A-Za-z0-9_.-]+$", text)
    return "" if named else "a name or an address alone: no https://, path, port or brackets"


def _registry(value: Any) -> str:
    """As role container takes it; the engine's login and CA go by this name."""
    good = re.match(
        r"^(?:[A-Za-z0-9-]*\.[A-Za-z0-9.-]+|localhost|[A-Za-z0-9-]+(?=:))(?::(\d{1,5}))?$", str(value or "x.y")
    )
    if good and int(good[1] or 1) in range(1, 65536):
        return ""
    return "host or host:port without https:// and without a path; a project is the first part of container_image"


def _pattern(pattern: str, form: str, *, empty: bool = True) -> Callable[[Any], str]:
    """``form``: in words; ``empty``: whether nothing is right as well."""
    compiled = re.compile(pattern)
    return lambda value: "" if (empty and value in (None, "")) or compiled.fullmatch(str(value)) else form


def truth(value: Any) -> bool | None:
    """None where it is neither."""
    word = str(value).strip().lower()
    return word in TRUE if word in TRUE | FALSE else None


def _memory(value: Any) -> str:
    found = re.match(r"^(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?$", str(value).lower())
    least = found and float(found[1]) * 1024 ** " kmgt".index(found[2] or " ") >= 2**20
    return "" if least or value in (None, "") else "a size from 1m, as 1g"


def _each(pattern: str, form: str) -> Callable[[Any], str]:
    compiled = re.compile(pattern)
    return lambda value: "" if all(compiled.fullmatch(str(each)) for each in value or ()) else form


def _kernel_settings(value: Any) -> str:
    if isinstance(value, Mapping) and "atsSupport" in value and truth(value["atsSupport"]) is None:
        return "a mapping with true or false for atsSupport"
    for name in value if isinstance(value, Mapping) else ():
        if difflib.get_close_matches(str(name).lower(), ["atssupport"], 1, 0.8) not in ([], [str(name).lower()]):
            return f"the name atsSupport ({name} is like it)"
    return ""


def _numa(value: Any) -> str:
    nodes = words(value)
    good = nodes in (["auto"], ["absent"]) or all(re.match(r"^\d+$", node) for node in nodes)
    return "" if good else "auto, absent, or a list of numbers of nodes"


def _gpu_addresses(value: Any) -> str:
    good = all(re.match(r"^\d+$", str(at)) and (not pci or _PCI.match(str(pci))) for at, pci in dict(value).items())
    return "" if good else "numbers of devices with addresses of GPUs, as {0: 0000:3b:00.0}"


def _devices(value: Any) -> str:
    texts = [str(each) for each in value or ()]
    if texts == ["auto"] or all(_DEVICE.match(text) and text != "auto" for text in texts):
        return ""
    return "auto alone, or addresses as 0000:3b:00.0"


def _dscp_priorities(value: Any) -> str:
    pairs = [(str(dscp), str(priority)) for dscp, priority in dict(value).items()]
    good = all(re.match(r"^\d+$", one) and int(one) < 64 and re.match(r"^[0-7]$", other) for one, other in pairs)
    return "" if good else "DSCPs (0 to 63) with priorities (0 to 7)"


def _volumes(value: Any) -> str:
    for text in value or ():
        source, target, modes, *_more = [*(str(text) if ":" in str(text) else f":{text}").split(":", 2), ""]
        named = not source or source.startswith("/") or re.match(r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", source)
        if not named or not target.startswith("/") or not set(filter(None, modes.split(","))) <= _MODES:
            return "volumes as /data:/data:ro, with whole paths"
    return ""


def _account(value: Any) -> str:
    given = {key: str(said) for key, said in dict(value or {}).items()}
    numbers = [int(given[key]) if given.get(key, "").isdigit() else 0 for key in ("uid", "gid")]
    whole = set(given) == {"name", "uid", "gid", "home"} and min(numbers) > 0 and given["name"] != "root"
    if given and not (whole and given["home"].startswith("/")):
        return "name, uid, gid and home of an account of the image that is not root, or nothing"
    return ""


def _environment(value: Any) -> str:
    for name, said in dict(value or {}).items():
        if not re.match(r"^[A-Za-z_]\w*$", str(name)) or isinstance(said, (list, Mapping)):
            return f"names of letters, digits and _, each with one value ({name} is none)"
    return ""


_PCI = re.compile(r"(?i)^([0-9a-f]{1,4}:)?[0-9a-f]{1,2}:[0-9a-f]{1,2}\.[0-7]$")
# An address, a GUID, or the name of a device; or a serial number.
_DEVICE = re.compile(rf"{_PCI.pattern}|^[0-9a-f]{{4}}(:[0-9a-f]{{4}}){{3}}$|^[^\s:/]+$")
_MODES = frozenset((
    "ro", "rw", "z", "Z", "nocopy", "consistent", "cached", "delegated", "private", "rprivate", "shared", "rshared",
    "slave", "rslave",
))  # fmt: skip


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


_ONYX = r"[1-9]\d*(/[1-9]\d*){1,2}"
# Driver -> a port or a range of its switches, and how that is written. A role of the site's own has names of its own.
DRIVERS: Mapping[str, tuple[str, str]] = {
    "onyx": (rf"(Eth|ethernet )?{_ONYX}(-{_ONYX})?", "1/1 or 1/1-1/4"),
    "cumulus": (r"swp[1-9]\d*(s\d+)?(-(swp)?\d+)?", "swp1 or swp1-4"),
    "sonic": (r"Ethernet\d+(-\d+)?", "Ethernet0 or Ethernet0-12"),
    "eos": (r"Ethernet[1-9]\d*(/[1-9]\d*)*(-\d+)?", "Ethernet1/1 or Ethernet1/1-4"),
    "nxos": (r"Ethernet[1-9]\d*(/[1-9]\d*)+(-\d+)?", "Ethernet1/1 or Ethernet1/1-4"),
}
_DRIVER = _pattern(
    rf"{'|'.join(DRIVERS)}|[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*){{2}}", f"{', '.join(DRIVERS)}, or a role", empty=False
)
_NAME = _pattern(r"[A-Za-z0-9][A-Za-z0-9_.-]*", "a name of letters, digits, _, . and -", empty=False)
_URL = _pattern(r"(https?|ftp|file)://\S+", "a URL, as https://mirror.example.com/...")
_VERSION = _pattern(r"\d+(\.\d+)+([-+.~]\w+)*", "a version, as 2.21.5")
_CHECKSUM = _pattern(r"(sha256|sha384|sha512|sha1|md5):[0-9A-Fa-f]+", "ALGORITHM:DIGEST, as sha256:...")
# Variable, or key of one -> what gives the form that was expected, or nothing where the value has it.
FORMS: Mapping[str, Callable[[Any], str]] = {
    "ansible_host": _server,
    "ansible_python_interpreter": _pattern(r"(?!.*python(2(\.\d+)?|3\.[0-7])$).*", "Python 3.8 or newer"),
    "ansible_user": _pattern(r"[^\s:/]+", "the name of an account"),
    "benchmark_env": _environment,
    "benchmark_scaling.batches": _each("fp32|bf16|fp16", "numbers of images for fp32, bf16 or fp16"),
    "benchmark_scaling.cases": _each(r"[1-9]\d*n[1-9]\d*g", "cases of nodes and ranks per node, as 2n8g"),
    "container_env": _environment,
    "container_image": _pattern(
        r"[a-z0-9]+((\.|_{1,2}|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_{1,2}|-+)[a-z0-9]+)*)*",
        "a repository in lower case without a tag",
        empty=False,
    ),
    "container_image_tag": _pattern(
        r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", "one word of letters, digits, _, . and -", empty=False
    ),
    "container_name": _NAME,
    "container_registry": _registry,
    "container_shm_size": _memory,
    "container_toolkit_source.repository": _URL,
    "container_user": _account,
    "container_volumes": _volumes,
    "esxi_host_kernel_settings": _kernel_settings,
    "gpu_vm_gpu_pci_ids": _gpu_addresses,
    "gpu_vm_wanted.mmio_size_gb": _mmio,
    "gpu_vm_numa_node_affinity": _numa,
    "guest_devices": _devices,
    "guest_doca_repository": _URL,
    "guest_image_cuda": _VERSION,
    "guest_networks": _network,
    "guest_qos_dscp_priority": _dscp_priorities,
    "guest_qos_pfc": _pattern(r"[01](,[01]){7}", "eight of 0 and 1 with commas between them"),
    "mesh_address": _address,
    "mesh_cidr": _network,
    "mesh_container_name": _NAME,
    "mesh_user": _pattern(r"[^\s:/]+", "the name of an account"),
    "rocemesh_address": _address,
    "rocemesh_change_window": _change_window,
    "rocemesh_max_unavailable": _max_unavailable,
    "rocemesh_roce_networks": _rails,
    "rocemesh_vcenter_hostname": _server,
    "rocemesh_switch_driver": _DRIVER,
    "run_container": _NAME,
    "run_env": _environment,
    "run_handoff_name": _pattern(r"[a-z0-9-]{1,40}", "at most 40 lower-case letters, digits and dashes"),
    "run_handoff_options.shared_memory": _pattern(
        r"\d+(\.\d+)?(m|k|[KMGTPE]i|[MGTPE])?", "a size of Kubernetes, as 1Gi"
    ),
    "run_network": _network,
    "run_site": _pattern(r"[A-Za-z0-9_.]{1,40}", "at most 40 letters, digits, _ and ."),
    "switch_driver": _DRIVER,
    "switch_host": _server,
    "switch_username": _pattern(r"\S+", "the name of an account", empty=False),
    "switch_options.vlan_name": _pattern(r"\S+", "one word"),
}
# The same by the end of a variable's name.
_FORMS_BY_END: Mapping[str, Callable[[Any], str]] = {"checksum": _CHECKSUM, "url": _URL}


def is_secret(name: str, option: Mapping[str, Any]) -> bool:
    """An environment may hold one."""
    return bool(option.get("no_log")) or name.endswith(("password", "_pass", "_token", "_env"))


def refusals(name: str, option: Mapping[str, Any], value: Any) -> Iterator[str]:
    """What was expected, of a value that has its type: nothing where range and form are right."""
    text, secret = str(value or ""), is_secret(name, option)
    if (secret and _NO_SECRET.match(text)) or ((secret or option.get("type") == "str") and _PLACEHOLDER.match(text)):
        yield "the real one, not a placeholder"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        allowed = RANGES.get(name) or (((0, float("inf")),) if _from_zero(option) else ())
        if allowed and not any(least <= value <= most for least, most in allowed):
            yield " or ".join(_range(least, most) for least, most in allowed)
    if name in WORDS and not {str(each).partition("*")[0] for each in value or ()} <= set(WORDS[name]):
        yield f"a list of {', '.join(WORDS[name])}"
    ending = next((form for end, form in _FORMS_BY_END.items() if name.endswith(end)), None)
    judge = FORMS.get(name) or ending
    form = judge(value) if judge else ""
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
