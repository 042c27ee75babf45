"""Say what the hosts of an MPI job are, and what each of its ranks answered.

Each reading that is given is joined with `hosts`.
``hosts``: Hosts of the job, the head first.
``slots``: Ranks on each host, in place of its own number.
``containers``: Results of `community.docker.docker_container_info` in a loop over hosts.
``interfaces``: Facts of the head, of which the network with its address is taken.
``output``: Output of mpirun with tags.
``find``: Name to a regular expression. Of each host the lines that match are returned under this name; of an
expression with a group, what the group holds.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Any, Mapping

from ...module_utils._results.readers import answers
from ...module_utils._results.readers.reading import source_of
from ..decision import Context


def container_state(looked: Mapping[str, Any]) -> str:
    """``looked``: one result of docker_container_info in a loop."""
    if looked.get("unreachable"):
        return "unreachable"
    container = looked.get("container")
    if isinstance(container, Mapping):
        return str(container["State"]["Status"])
    return "missing" if "exists" in looked else f"unknown ({looked.get('msg') or 'no answer'})"


def network_of(facts: Mapping[str, Any], address: str) -> str:
    for fact in facts.values():
        interface = fact if isinstance(fact, Mapping) else {}
        for own in (interface.get("ipv4"), *(interface.get("ipv4_secondaries") or ()), *(interface.get("ipv6") or ())):
            if isinstance(own, Mapping) and own.get("address") == address:
                return str(ipaddress.ip_interface(f"{address}/{own['prefix']}").network)
    return ""


HOSTS: dict[str, Any] = {
    "type": "list",
    "elements": "dict",
    "required": True,
    "options": {
        "name": {"required": True},
        "address": {"required": True},
        "slots": {"type": "int", "default": 1},
        "hostname": {},
    },
}
SPEC: dict[str, Any] = {
    "hosts": HOSTS,
    "slots": {"type": "int"},
    "containers": {"type": "list", "elements": "dict", "default": []},
    "interfaces": {"type": "dict", "default": {}},
    "output": {},
    "find": {"type": "dict", "default": {}},
}


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
    if not options["hosts"]:
        raise ValueError("hosts is empty; give at least one host, the head first")
    states = {looked["item"]["name"]: container_state(looked) for looked in options["containers"]}
    hosts = [
        {
            **{key: value for key, value in host.items() if value is not None},
            "slots": options["slots"] or host["slots"],
            **({"container": states[host["name"]]} if host["name"] in states else {}),
        }
        for host in options["hosts"]
    ]
    called = [host.get("hostname") or host["name"] for host in hosts]
    twice = [f"{host['name']} ({name})" for host, name in zip(hosts, called) if called.count(name) > 1]
    if twice:  # whose ranks are whose, no log of the job would say
        remedy = "Give each VM a host name of its own (hostnamectl set-hostname), and restart its container"
        raise ValueError(f"{', '.join(twice[:4])}: hosts with one host name, expected one each. {remedy}.")
    of_rank = [host for host in hosts for _slot in range(host["slots"])]
    said: dict[str, Any] = {}
    if options["output"] is not None:
        said["found"] = _found(options, [str(host["name"]) for host in of_rank])
    return {
        "hosts": hosts,
        "names": [host.get("hostname") or host["name"] for host in of_rank],
        "network": network_of(options["interfaces"], hosts[0]["address"]),
        "stopped": [f"{name} {state}" for name, state in states.items() if state != "running"],
        **said,
    }


def _found(options: dict[str, Any], of_rank: list[str]) -> dict[str, dict[str, list[str]]]:
    patterns = {name: re.compile(str(pattern)) for name, pattern in options["find"].items()}
    found: dict[str, dict[str, list[str]]] = {}
    for answer in answers.read(source_of(options["output"])).parts:
        if answer.rank >= len(of_rank):
            raise ValueError(f"rank {answer.rank} answered, and the job has {len(of_rank)} rank(s)")
        kept = found.setdefault(of_rank[answer.rank], {name: [] for name in patterns})
        for name, pattern in patterns.items():
            hits = [(match, line) for line in answer.lines for match in [pattern.search(line)] if match]
            kept[name] += [match[1] if pattern.groups else line for match, line in hits]
    return found
