"""Action of rocemesh.multinode.preflight: list all blocking problems of a run.

An action, because it looks at the controller and at the inventory: both are here, not on a target. What devices and
nodes say comes as arguments. The judgement is in module_utils/_preflight.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import pathlib
import platform
import shutil
import sys
import time
from typing import Any, Iterator, Mapping, Sequence

import jinja2
import yaml
from ansible.errors import AnsibleError
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.release import __version__ as ansible_version
from jinja2 import meta

from ..module_utils._judge.finding import NOTE, WARNING, Finding
from ..module_utils._preflight import controller, devices, layers, nodes, relations
from ..module_utils._preflight import variables as inventory
from ..module_utils._preflight.findings import summary
from ..module_utils._preflight.values import forms, plain, truth
from ..module_utils._site.systems import PARTS
from ..modules.preflight import DOCUMENTATION
from ..plugin_utils import inventory_names, stage_options
from ..plugin_utils.decision import Decision
from ..plugin_utils.decisions.esxi_batches import LOGIN

# Variables that a stage asks for; without them the site stops there, perhaps after others have been changed.
_NEEDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "switches": (
        ("switch_password", "the password of switch_username, from a vault"),
        ("switch_vlan", "the VLAN of the RoCE network"),
        ("switch_ports", "the ports of the GPU servers"),
    ),
    "gpu_vms": (
        ("container_registry", "the registry that all GPU VMs reach, host:port"),
        ("rocemesh_address", "its address in the RoCE network"),
    ),
}
_VCENTER = (
    ("hostname", "VMWARE_HOST", "name or address of vCenter"),
    ("username", "VMWARE_USER", "the account of docs/vsphere-privileges.md"),
    ("password", "VMWARE_PASSWORD", "its password, from a vault"),
)
_FILES: Mapping[str, str] = {
    "switch_known_hosts": "ssh-keyscan the switch, compare the fingerprint on its console, and write the line there",
    "switch_ca_path": "put the CA of the switch's certificate there",
    "ansible_ssh_private_key_file": "put the key of the account there, or take the variable out",
    "rocemesh_vcenter_ca_path": "download vCenter's root CA (https://VCENTER/certs/download.zip), put it there as PEM",
    "container_registry_ca_path": "put the CA of the registry's certificate there",
}
# A file that no stage opens may be missing: variable -> the one that says so, if it is false.
_IF: Mapping[str, str] = {
    "switch_known_hosts": "switch_host_key_checking",
    "switch_ca_path": "switch_validate_certs",
    "rocemesh_vcenter_ca_path": "rocemesh_vcenter_validate_certs",
}

_CONTEXT = pathlib.Path(__file__).resolve().parents[2] / "workloads"
_DOCKERFILE = "multinode/Dockerfile"  # of this collection, for a first run: torch for CPUs
_OF_NODES = ("rocemesh_slots", "gpu_vm_wanted", "container_toolkit_source", "container_gpus", "container_toolkit")
_MMIO = frozenset(("mmio_size_gb", "use_64bit_mmio"))  # of module vmx_passthru, as gpu_vm_wanted names them


class ActionModule(Decision):
    documentation = DOCUMENTATION

    def decide(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        hostvars, groups = inventory_names.Hostvars(variables["hostvars"]), variables["groups"]
        findings = list(controller.judge(groups, **_controller()))
        findings += list(inventory.groups(groups))
        found, unset, site = of_inventory(hostvars, groups)
        findings += found
        findings += list(_devices({**options, "dry": self._task.check_mode}, hostvars, groups, unset))
        for reading, names, _vms in _vcenters(options["vcenter"], hostvars, groups):
            findings += list(layers.placement(reading, names))
        findings += list(layers.addresses(site, options["nodes"]))
        findings += list(layers.interfaces(site, options["nodes"]))
        looked_at = ["controller", "inventory", *options["switches"], *options["nodes"]]
        looked_at += ["vCenter"] if options["vcenter"] else []
        result = summary(findings, looked_at)
        unwritten = _write(pathlib.Path(options["dest"]), {**result, "at": time.time()}) if options["dest"] else ""
        if unwritten:
            remedy = "name a file that can be written in preflight_dest, or none ('')"
            unkept = Finding("controller", "preflight_dest", unwritten, remedy, WARNING)
            result = summary([*findings, unkept], looked_at)
        return dict(result)


def _devices(
    options: Mapping[str, Any], hostvars: Any, groups: Mapping[str, Sequence[str]], unset: set[str]
) -> Iterator[Finding]:
    for name, reading in options["switches"].items():
        if name not in unset:  # what it lacks is listed already; its own words would be about the module's arguments
            yield from devices.switch(name, reading)
    vcenters = _vcenters(options["vcenter"], hostvars, groups)
    if not unset & set(groups.get("esxi_hosts") or ()):
        for reading, _names, vms in vcenters:
            yield from devices.vcenter(reading, vms, windows=options["windows"], dry=options["dry"])
    sleeping = {vms.get(name): why for read, _names, vms in vcenters for name, why in devices.asleep(read).items()}
    for name, reading in options["nodes"].items():
        # What has a wrong form is listed already.
        said = relations.Said({each: _value(hostvars, name, each) for each in _OF_NODES}, {})
        wanted = {
            "asleep": sleeping.get(name, ""),
            "slots": max(said.number("rocemesh_slots"), 0),
            "mmio": bool(_MMIO & set(said.mapping("gpu_vm_wanted"))),
            "toolkit_repository": bool(said.mapping("container_toolkit_source").get("repository")),
            **_wishes(hostvars, name),
            "esx": bool(groups.get("esxi_hosts")),
            "no_gpus": "none" in (said("container_gpus"), said("container_toolkit")),
        }
        yield from nodes.judge(name, reading, wanted)
    refuse = "leave --limit out where the mesh and the job are to be run: playbook site refuses it"
    for group, answered, remedy, level in (
        ("switches", options["switches"], "", NOTE),
        ("gpu_vms", options["nodes"], refuse, WARNING if options["nodes"] else NOTE),
    ):
        for name in groups.get(group) or ():
            if name not in answered:
                yield Finding(name, "not looked at", "it is not among the hosts of this run (--limit)", remedy, level)


def _vcenters(
    readings: Sequence[Mapping[str, Any]], hostvars: Any, groups: Mapping[str, Sequence[str]]
) -> list[tuple[Mapping[str, Any], list[str], dict[str, str]]]:
    """Each reading with what the inventory has on that vCenter: names of ESXi hosts there, and VMs (name there -> host
    of the inventory). A host whose login was not used in this run (--limit) may be on any."""

    def login(host: str) -> tuple[str, ...]:
        return tuple(str(_value(hostvars, host, variable)) for variable in LOGIN)

    known = {login(reading["batch"]["first"]): reading.get("vcenter_uuid") for reading in readings}
    found = []
    for reading in readings:
        uuid = reading.get("vcenter_uuid")
        names = {
            group: {
                str(_value(hostvars, host, variable) or host): host
                for host in groups.get(group) or ()
                if known.get(login(host), uuid) == uuid
            }
            for group, variable in (("esxi_hosts", "esxi_host_name"), ("gpu_vms", "gpu_vm_name"))
        }
        found.append((reading, list(names["esxi_hosts"]), names["gpu_vms"]))
    return found


def _wishes(hostvars: Any, name: str) -> dict[str, Any]:
    """The options of this host's stages, where the inventory leaves it to the roles' defaults as well."""

    def value(variable: str, default: Any) -> Any:
        found = _value(hostvars, name, variable)
        return default if found is None else found

    def true(*variables: str, default: bool = False) -> bool:
        """The first that is set."""
        found = [value(variable, None) for variable in variables]
        return bool(boolean(next((each for each in found if each is not None), default), strict=False))

    profile = str(value("guest_ofed_profile", "mstflint"))
    parts = ["ats", *([] if profile == "none" else [profile]), "container", "mesh"]
    engine = ["engine"] if true("container_install_engine", default=True) else []
    # As playbooks/guest.yml tells the role: known before the image is there.
    built = true("container_build", default=True) and value("container_build_dockerfile", _DOCKERFILE) == _DOCKERFILE
    own = "container_build_context" in hostvars.raw_get(name)
    own = own or ("container_build_args" in hostvars.raw_get(name) and not true("rocemesh_simulated"))
    return {
        "parts": [part for part in [*parts, *engine] if part in PARTS],
        "unlisted": true("guest_allow_unlisted_system", "rocemesh_allow_unlisted_system"),
        "look": true("guest_check_gpus", default=True),
        "gpu": {
            "idle_allowed": true("guest_allow_idle_gpus", "rocemesh_allow_idle_gpus"),
            "cpu_allowed": true("guest_allow_cpu", "rocemesh_allow_cpu"),
            "image": "cpu" if built and not own else "",
            "image_cuda": str(value("guest_image_cuda", "")),
        },
    }


# ---------------------------------------------------------------------------------------------------------- controller


def _controller() -> dict[str, Any]:
    """As `controller.judge` takes it."""
    return {
        "ansible": ansible_version,
        "python": platform.python_version(),
        "executable": sys.executable,
        "libraries": {name: _library(name, row["project"]) for name, row in controller.needs("libraries").items()},
        "collections": {name: _collection(name) for name in controller.needs("collections")},
        "programs": [name for name in controller.needs("programs") if shutil.which(name)],
    }


def _library(name: str, project: str) -> str | None:
    """Release, if it can be imported: a distribution whose modules are broken does not count."""
    try:
        importlib.import_module(name)
        return importlib.metadata.version(project.partition("[")[0])
    except Exception:  # a library may fail in any way while it is imported
        return None


def _collection(name: str) -> str | None:
    try:
        place = importlib.import_module(f"ansible_collections.{name}").__path__
        folder = pathlib.Path(next(iter(place)))
    except (ImportError, StopIteration):
        return None
    try:
        if (folder / "MANIFEST.json").exists():
            return str(json.loads((folder / "MANIFEST.json").read_text())["collection_info"]["version"])
        return str(yaml.safe_load((folder / "galaxy.yml").read_text())["version"])
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError):
        return None


# ----------------------------------------------------------------------------------------------------------- inventory


def of_inventory(
    hostvars: Any, groups: Mapping[str, Sequence[str]]
) -> tuple[list[Finding], set[str], dict[str, dict[str, Any]]]:
    """Findings, the hosts that lack a value (their devices cannot be asked), and the effective values of each host."""
    known, _prefixes = inventory_names.known_variables()
    own = inventory_names.own(groups)
    names = {host: inventory_names.given(hostvars, host) for host in own}
    needs: dict[tuple[str, str, str], list[str]] = {}
    asked = set()
    for group, name, what in _needed(hostvars, groups):
        asked.add(name)
        for host in groups.get(group) or ():
            error = _error(hostvars, host, name) if name in hostvars.raw_get(host) else ""
            value = _value(hostvars, host, name)
            if name == "switch_vlan" and not error and _value(hostvars, host, "switch_port_mode") == "routed":
                continue
            # ansible-core before 2.19 leaves what it cannot make out as it is written.
            if error or value in (None, "", []) or (isinstance(value, str) and "{{" in value):
                needs.setdefault((name, error, what), []).append(host)
    doubtful: dict[tuple[str, str], list[str]] = {}
    given: dict[str, dict[str, Any]] = {host: {} for host in own}
    for host in own:
        for name in sorted(names[host] & (known | set(forms()) | layers.LOGIN)):
            error = _error(hostvars, host, name)
            if not error:
                given[host][name] = plain(_value(hostvars, host, name))
            elif name not in asked:
                doubtful.setdefault((name, error), []).append(host)
    findings = [
        *inventory_names.unread(hostvars, groups),
        *(inventory.unset(name, hosts, error, what) for (name, error, what), hosts in needs.items()),
        *(inventory.unclear(name, hosts, error) for (name, error), hosts in doubtful.items()),
        *_files(hostvars, own, names),
        *stage_options.judge(given),
        *layers.judge(given, groups, stage_options.defaults(), {host: names[host] - set(given[host]) for host in own}),
    ]
    return findings, {host for hosts in needs.values() for host in hosts}, given


def _needed(hostvars: Any, groups: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str, str]]:
    for group, needs in _NEEDS.items():
        for name, what in needs:
            yield group, name, what
    hosts = [*(groups.get("esxi_hosts") or ())]
    for option, environment, what in _VCENTER:
        given = any(_value(hostvars, host, f"rocemesh_vcenter_{option}") for host in hosts)
        if not given and not os.environ.get(environment):
            yield "esxi_hosts", f"rocemesh_vcenter_{option}", what


def _value(hostvars: Any, host: str, name: str) -> Any:
    """None where it is not set, or cannot be made out."""
    try:
        value = hostvars[host].get(name)
    except AnsibleError:
        return None
    return None if _left_as_written(hostvars, host, value) else value


def _error(hostvars: Any, host: str, name: str) -> str:
    try:
        value = hostvars[host][name]
        str(value)
    except (AnsibleError, KeyError) as error:
        return str(error).strip().split("\n", maxsplit=1)[0]
    return _left_as_written(hostvars, host, value)


def _left_as_written(hostvars: Any, host: str, value: Any) -> str:
    """ansible-core before 2.19 leaves a template with an unknown variable as it is: what is unknown in it."""
    if not (isinstance(value, str) and "{{" in value):
        return ""
    try:
        names = meta.find_undeclared_variables(jinja2.Environment().parse(value))
    except jinja2.TemplateSyntaxError:
        return ""
    unknown = sorted(name for name in names if name not in hostvars[host])
    return f"'{unknown[0]}' is undefined" if unknown else ""


def _files(hostvars: Any, own: Sequence[str], names: Mapping[str, set[str]]) -> Iterator[Finding]:
    seen: set[tuple[str, str]] = set()
    for host in own:
        for variable, remedy in _FILES.items():
            path = str(_value(hostvars, host, variable) or "") if variable in names[host] else ""
            if truth(_value(hostvars, host, _IF.get(variable, ""))) is False:
                continue
            if path and (variable, path) not in seen:
                seen.add((variable, path))
                yield from _file(variable, path, remedy, pathlib.Path(os.path.expandvars(path)).expanduser())
        if truth(_value(hostvars, host, "container_build")) is False:
            continue
        dockerfile = str(_value(hostvars, host, "container_build_dockerfile") or "")
        context = str(_value(hostvars, host, "container_build_context") or "")
        folder = pathlib.Path(context or _CONTEXT).expanduser()
        if context and ("container_build_context", context) not in seen:
            seen.add(("container_build_context", context))
            remedy = "name the folder with everything that the Dockerfile copies"
            yield from _file("container_build_context", context, remedy, folder, "folder")
        if dockerfile and folder.is_dir() and ("container_build_dockerfile", dockerfile) not in seen:
            seen.add(("container_build_dockerfile", dockerfile))
            place = folder / dockerfile
            remedy = "name a Dockerfile below container_build_context"
            yield from _file("container_build_dockerfile", str(place), remedy, place)


def _file(variable: str, path: str, remedy: str, place: pathlib.Path, kind: str = "file") -> list[Finding]:
    exists = place.is_dir() if kind == "folder" else place.is_file()
    return inventory.file(variable, path, remedy, exists=exists, readable=os.access(place, os.R_OK), kind=kind)


def _write(path: pathlib.Path, content: Mapping[str, Any]) -> str:
    """Why the file could not be written: the list is worth more than the file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        return f"{path} cannot be written: {error.strerror}"
    return ""
