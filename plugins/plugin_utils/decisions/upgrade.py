"""What an upgrade of a node's packages has to do, and whether the node is worse after it.

``wanted``: `rocemesh_upgrade` of the node: `packages` (name to version) and `removes` (patterns of packages that apt
may remove for them).
``firmware_allowed``: Whether a package that burns the firmware of NICs may come with it.
``probe``: What the node says, one word and its value per line: `package` (name, status, version), `record` (JSON, what
an unfinished upgrade left), `restart` (packages were changed since the boot), `apt` (its simulation), `apt_rc`.
``host_boot``: Since when the ESXi host runs; a card loads its firmware when that boots.
``carried_out``: An answer with ``probe`` that was carried out: its entries for the journal are returned.
``before``, ``after``: What rdma_info (`rdma`), gpu_info (`gpus`) and mlxconfig_ats (`ats`) said. With both, `worse` is
returned, one sentence for each thing.
``host``: The node, for these sentences.

With ``probe``: `texts` (what is to do, for a person; empty: nothing), `due` (packages to install, name to version),
`found` (present versions), `restart` (none, guest or esxi_host), `record` (what an unfinished upgrade left), `firmware`
(whether that of a NIC is burnt), `problem` (why it is refused), `operations`, `undo` and `diff` for the journal.
"""

from __future__ import annotations

import datetime
import fnmatch
import json
import re
from typing import Any, Iterator, Mapping

from ...module_utils._fabric.gpus import judge
from ...module_utils._layer import Reboot
from ...module_utils._results.readers.reading import names
from ...module_utils._site.reboot import GUEST
from ...module_utils._vsphere.plan_reboot import is_same_boot
from ..decision import Context

SPEC: dict[str, Any] = {
    "wanted": {"type": "dict", "default": {}},
    "firmware_allowed": {"type": "bool", "default": False},
    "probe": {},
    "host_boot": {"default": ""},
    "carried_out": {"type": "dict"},
    "before": {"type": "dict"},
    "after": {"type": "dict"},
    "host": {"default": ""},
}
# Its installation burns what it carries into every card of the node.
FIRMWARE = ("mlnx-fw-updater*", "doca-firmware*")
_SHOWN = 6


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    if options["probe"] is not None:
        answer = _pending(options["wanted"], options["probe"], options)
    if options["carried_out"] is not None:
        answer |= {key: options["carried_out"][key] for key in ("operations", "undo", "diff")}
    if options["before"] is not None and options["after"] is not None:
        answer["worse"] = list(_worse(options["host"], options["before"], options["after"]))
    return answer


def _pending(wanted: Mapping[str, Any], said: str, options: Mapping[str, Any]) -> dict[str, Any]:
    host = options["host"]
    packages = {str(name): str(version) for name, version in (wanted.get("packages") or {}).items()}
    lines = [line.partition(" ")[::2] for line in said.splitlines()]
    rows = [rest.split() for word, rest in lines if word == "package"]
    found = {row[0]: row[2] for row in rows if len(row) == 3 and row[1] == "installed"}
    record: dict[str, Any] = next((json.loads(rest) for word, rest in lines if word == "record" and rest.strip()), {})
    due = {name: version for name, version in packages.items() if found.get(name) != version}
    changed = [re.match(r"(Inst|Remv) (\S+)", rest) for word, rest in lines if word == "apt"]
    inst = [one[2] for one in changed if one and one[1] == "Inst"]
    remv = [one[2] for one in changed if one and one[1] == "Remv"]
    firmware = [name for name in {*due, *inst} if _matches(name, FIRMWARE)]
    problem = ""
    if due:
        unnamed = [name for name in remv if not _matches(name, wanted.get("removes") or [])]
        errors = [rest for word, rest in lines if word == "apt" and rest.startswith("E:")]
        # What an unfinished upgrade left half done is finished first; only then apt can say that it installs the rest.
        if ("apt_rc", "0") not in lines and not record:
            problem = f"apt cannot install it: {' '.join(errors) or 'it said nothing'}"
        elif unnamed:
            problem = f"apt would remove {', '.join(sorted(unnamed))}, which rocemesh_upgrade.removes does not name"
        elif firmware and not options["firmware_allowed"]:
            problem = (
                f"{', '.join(sorted(firmware))} burns the firmware of NICs, and guest_allow_firmware_update is false"
            )
    restart = GUEST if due or ("restart", "") in lines else Reboot.NONE.value
    is_waiting = record.get("firmware") and is_same_boot(*map(_moment, (record.get("host_boot"), options["host_boot"])))
    if firmware or is_waiting:
        restart = Reboot.ESXI_HOST.value
    texts = [f"{name}: {found.get(name, 'not installed')} -> {version}" for name, version in due.items()]
    others = sorted({*inst} - {*due})
    if texts and others:
        texts.append(f"with it {names(others, _SHOWN)}")
    if texts and remv:
        texts.append(f"removed for it {names(sorted(remv), _SHOWN)}")
    if not texts and restart != Reboot.NONE.value:
        texts = ["packages of an unfinished upgrade wait for a restart"]
    if not texts and record:
        texts = ["the proof of an unfinished upgrade is due"]
    old = {name: found.get(name) for name in due}
    back = " ".join(f"{name}={version}" for name, version in old.items() if version)
    return {
        "texts": texts,
        "due": due,
        "restart": restart,
        "record": record,
        "firmware": bool(firmware or record.get("firmware")),
        "problem": f"{host}: {problem}. Nothing was changed." if problem else "",
        "operations": [
            {
                "description": text,
                "command": "apt-get install " + " ".join(f"{name}={version}" for name, version in due.items()),
                "disrupts": f"all that runs on {host}",
                "reboot": restart,
            }
            for text in texts
        ],
        "undo": [f"apt-get install --allow-downgrades {back}"] if back else [],
        "diff": {"before": old, "after": due},
        "found": {name: found.get(name) for name in packages},
    }


def _moment(text: Any) -> datetime.datetime | None:
    return datetime.datetime.fromisoformat(str(text).replace("Z", "+00:00")) if text else None


def _matches(name: str, patterns: Any) -> bool:
    return any(fnmatch.fnmatchcase(name.partition(":")[0], str(pattern)) for pattern in patterns)


# ---- worse than before ----------------------------------------------------------------------------------------------
def _worse(host: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    yield from _of_ports(host, before["rdma"], after["rdma"])
    yield from _of_gpus(host, before["gpus"], after["gpus"])
    ats = [(each.get("ats") or {}).get("active") for each in (before, after)]
    if ats[0] and not ats[1]:
        yield f"{host}: ATS was in force before and is not now"


def _of_ports(host: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    now = {(port["pci"], port["port"]): port for port in after.get("devices") or ()}
    for old in before.get("devices") or ():
        name, new = f"{host}: NIC {old['name']} ({old['pci']})", now.get((old["pci"], old["port"]))
        if new is None:
            yield f"{name} is gone"
            continue
        for key in ("state", "qos.trust", "qos.pfc_priorities"):
            was, is_now = _value(old, key), _value(new, key)
            if was is not None and was != is_now and (key != "state" or was == "ACTIVE"):
                yield f"{name}: {key} is {is_now}, was {was}"
        for key in ("rate", "active_mtu", "netdev_mtu", "pcie.current_link_width", "pcie.current_link_speed"):
            was, is_now = _number(_value(old, key)), _number(_value(new, key))
            if was and (is_now or 0) < was:
                yield f"{name}: {key} is {_value(new, key)}, was {_value(old, key)}"
        if old.get("roce_gid_ipv4") and old["roce_gid_ipv4"] != new.get("roce_gid_ipv4"):
            yield f"{name}: address of its GID is {new.get('roce_gid_ipv4')}, was {old['roce_gid_ipv4']}"


def _value(port: Mapping[str, Any], key: str) -> Any:
    first, _dot, second = key.partition(".")
    return (port.get(first) or {}).get(second) if second else port.get(first)


def _number(value: Any) -> float:
    """Of 100 Gb/sec (4X EDR), and of a number."""
    found = re.match(r"\s*([\d.]+)", str(value if value is not None else ""))
    return float(found[1]) if found else 0.0


def _of_gpus(host: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    count = [len(each.get("gpus") or ()) for each in (before, after)]
    if count[1] < count[0]:
        yield f"{host}: {count[1]} GPUs answer, {count[0]} did before"
    manager = [(each.get("fabric_manager") or {}).get("state") for each in (before, after)]
    if manager[0] == "active" and manager[1] != "active":
        yield f"{host}: Fabric Manager is {manager[1]}, was active"
    now = {gpu.get("bus"): gpu for gpu in after.get("state") or ()}
    for old in before.get("state") or ():
        new = now.get(old.get("bus"), old)
        for links, what in (("nvlinks_active", "NVLinks"), ("pcie_width", "PCIe lanes")):
            if (new.get(links) or 0) < (old.get(links) or 0):
                yield f"{host}: GPU {old.get('bus')} has {new.get(links) or 0} {what}, had {old[links]}"
    # By the same judgement as the fabric check, of this host alone: others may have another driver in the middle of an
    # upgrade.
    faults = [
        {(fault.thing, fault.place.part): fault.found for fault in judge([host], {host: {"gpus": each}}).faults}
        for each in (before, after)
    ]
    for key, text in faults[1].items():
        if key not in faults[0]:
            yield f"{host}: {key[1] or key[0]}: {text}"
    for text in after.get("problems") or ():
        if text not in (before.get("problems") or ()):
            yield f"{host}: {text}"
