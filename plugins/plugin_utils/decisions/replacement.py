"""Whether a NIC or a GPU of a node was replaced, and nothing else, and what still names the old one.

``host``: The node. ``part``: What was replaced, nic or gpu.
``before``, ``after``: What rdma_info (`rdma`), gpu_info (`gpus`) and vmx_passthru (`devices`) said, and `macs` (one
interface and its address per line), before the card was taken out and now.
``named``: What the inventory says, variable to value, and `files` (lines with a path and a MAC address of the guest's
network configuration).

A card is known by its GUID, a GPU by its UUID. Returns `problem` (why this is no replacement; empty: it is one),
`changed` (old and new identity, lines for a person), `stale` (what still names the old one) and `readings` (``before``,
with the PCI addresses that the part has now, for decision upgrade).
"""

from __future__ import annotations

import json
import re
from typing import Any, Iterator, Mapping

from ..decision import Context

SPEC: dict[str, Any] = {
    "host": {"type": "str", "required": True},
    "part": {"type": "str", "required": True, "choices": ["nic", "gpu"]},
    "before": {"type": "dict", "required": True},
    "after": {"type": "dict", "required": True},
    "named": {"type": "dict", "default": {}},
}
_AND = ", "  # between the functions of one card
_WORDS = {"nic": "NICs", "gpu": "GPUs"}
# Variables that name devices by their address on the ESXi host.
_ON_HOST = ("gpu_vm_gpu_pci_ids", "gpu_vm_wanted")


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
    host, part = options["host"], options["part"]
    found = {kind: [_parts(kind, options[side]) for side in ("before", "after")] for kind in _WORDS}
    old, new = found[part]
    gone, come = [key for key in old if key not in new], [key for key in new if key not in old]
    problem = _problem(part, found, gone, come)
    answer: dict[str, Any] = {"problem": f"{host}: {problem}. Nothing was changed." if problem else "", "changed": []}
    answer |= {"stale": [], "readings": options["before"]}
    if problem:
        return answer
    (left,), (put,) = gone, come
    answer["changed"] = [
        f"{host}: {word}: {old[left][word] or 'not known'} -> {new[put][word] or 'not known'}"
        for word in old[left]
        if old[left][word] != new[put][word]
    ]
    places = [_places(part, options[side]) for side in ("before", "after")]
    if places[0] != places[1]:
        moved = f"{_listed(places[0] - places[1])} -> {_listed(places[1] - places[0])}"
        answer["changed"].append(f"{host}: address on the ESXi host: {moved}")
    words = {each for word in old[left] if old[left][word] != new[put][word] for each in old[left][word].split(_AND)}
    others = {each for part in new.values() for value in part.values() for each in value.split(_AND)} | {""}
    # Addresses in the guest and on the host are of two buses: each is looked for where it means something.
    named = dict(options["named"])
    on_host = {name: named.pop(name) for name in _ON_HOST if name in named}
    answer["stale"] = [*_stale(host, words - others, named), *_stale(host, places[0] - places[1], on_host)]
    answer["readings"] = _moved(part, options["before"], old[left]["PCI address"], new[put]["PCI address"])
    return answer


def _problem(part: str, found: Mapping[str, Any], gone: list[str], come: list[str]) -> str:
    for kind, (old, new) in found.items():
        if len(old) != len(new):
            return f"{len(new)} {_WORDS[kind]}, expected {len(old)} as before; put the card in, or give it to the VM"
        if kind != part and set(old) != set(new):
            return f"other {_WORDS[kind]} too: {', '.join(sorted(set(new) - set(old)))}, expected {part} alone"
    if not gone:
        return f"the {_WORDS[part]} are those from before; replace the card, and run the same command again"
    if len(gone) > 1:
        return f"{len(gone)} {_WORDS[part]} are other ones ({', '.join(sorted(come))}), expected one at a time"
    return ""


def _parts(kind: str, said: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Identity -> words that may name the part somewhere. Functions of one card are one part."""
    found: dict[str, dict[str, str]] = {}
    if kind == "gpu":
        for gpu in said["gpus"].get("state") or said["gpus"].get("gpus") or ():
            uuid = str(gpu.get("uuid") or "")
            found[uuid] = {"UUID": uuid, "PCI address": str(gpu.get("bus") or "")}
        return found
    macs = dict(re.findall(r"^(\S+) (\S+)$", str(said.get("macs") or ""), re.M))
    # By the GUID of the function: another slot may give them addresses in another order.
    ports = sorted(said["rdma"].get("devices") or (), key=lambda port: (str(port.get("node_guid")), str(port["pci"])))
    for port in ports:
        guid = str(port.get("sys_image_guid") or port.get("node_guid") or "")
        netdev = str(port.get("netdev") or "")
        words = {"GUID": guid, "PCI address": str(port["pci"]), "RDMA device": str(port["name"]), "interface": netdev}
        part = found.setdefault(guid, {})
        for word, value in {**words, "MAC address": macs.get(netdev, "")}.items():
            part[word] = _AND.join(dict.fromkeys(filter(None, (*part.get(word, "").split(_AND), value))))
    return found


def _places(kind: str, said: Mapping[str, Any]) -> set[str]:
    return {str(each["address"]) for each in said.get("devices") or () if each["kind"] == kind and each["address"]}


def _listed(words: set[str]) -> str:
    return ", ".join(sorted(words)) or "none"


def _stale(host: str, words: set[str], named: Mapping[str, Any]) -> Iterator[str]:
    for name, value in named.items():
        text = value if isinstance(value, str) else json.dumps(value)
        for word in sorted(words):
            forms = {word, word.replace(":", ""), word.removeprefix("0000:")}
            if any(re.search(rf"(?<![\w:]){re.escape(form)}(?![\w:])", text, re.IGNORECASE) for form in forms):
                lines = [line for line in text.splitlines() if word.lower() in line.lower()] if name == "files" else []
                yield f"{host}: {'; '.join(lines) if lines else name} names {word}"


def _moved(part: str, before: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    first, second, key = {"nic": ("rdma", "devices", "pci"), "gpu": ("gpus", "state", "bus")}[part]
    places = dict(zip(old.split(_AND), new.split(_AND)))
    moved = [{**row, key: places.get(row.get(key), row.get(key))} for row in before[first].get(second) or ()]
    return {**before, first: {**before[first], second: moved}}
