"""One job for other launchers: what was asked is checked, then said as data (job.json) and as NCCL's files. Pure.

A wrong device, digest or namespace is refused here, when the files are made, and not by a scheduler hours later.
"""

from __future__ import annotations

import ipaddress
import json
import re
from typing import Any, Mapping, NoReturn, Sequence

from .._layer import RefusedError

FORMAT = 1
LAUNCHERS = ("slurm", "torchrun", "mpijob", "trainjob", "jobset")
KUBERNETES = ("mpijob", "trainjob", "jobset")
# What ties a variable to the interfaces of the node itself; a pod with a network of its own has others.
_OF_THE_NODE = ("NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "NCCL_IB_GID_INDEX", "NCCL_TOPO_FILE")
TOPOLOGY = "/etc/rocemesh/nccl/topology.xml"

_IMAGE = re.compile(r"(?P<name>[a-z0-9][a-zA-Z0-9._:/-]*)(?P<at>@(?P<digest>.*))?")
_TAG = re.compile(r":[A-Za-z0-9_][A-Za-z0-9_.-]*$")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?")
_RESOURCE = re.compile(rf"(?a)(?!requests\.){_LABEL.pattern}(\.{_LABEL.pattern})*/[^\W_]([\w.-]{{0,61}}[^\W_])?")
_SLURM_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN = re.compile(r"[A-Za-z0-9._:=,/^+-]+")
_QUANTITY = re.compile(r"[1-9]\d*([kKMGTmgt]i?)?[bB]?")
SECRET = re.compile(r"TOKEN(?!IZ)|PASSW|SECRET|CREDENTIAL|PRIVATE|API_?KEY|ACCESS_?KEY", re.IGNORECASE)
# Launchers say these themselves. A value in the environment of all ranks would make each of them the same rank.
_LAUNCHERS_OWN = re.compile(
    r"(SLURM|OMPI|PMIX|PMI|PET|TORCHELASTIC)_.*|RANK|LOCAL_RANK|GROUP_RANK|NODE_RANK|WORLD_SIZE|LOCAL_WORLD_SIZE"
    r"|MASTER_ADDR|MASTER_PORT"
)


def _refuse(what: str, thing: str, value: Any, remedy: str, host: str = "handoff") -> NoReturn:
    raise RefusedError(what, host=host, thing=thing, value=value, remedy=remedy)


def _joined(networks: Any) -> str:
    """One text, as the report takes it, of a list too."""
    return ",".join(map(str, networks)) if isinstance(networks, (list, tuple)) else str(networks)


def job_of(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The content of job.json. ``asked``: as role run gives it, see module handoff_job. Raises RefusedError."""
    launchers = _launchers(asked)
    name = _name(str(asked["name"]))
    hosts = _hosts(asked["hosts"], str(asked.get("network") or ""))
    cluster = [part for part in launchers if part in KUBERNETES]
    pyxis = bool(asked.get("pyxis")) and "slurm" in launchers
    image = _image(str(asked.get("image") or ""), [*cluster, *(["slurm with pyxis"] if pyxis else [])])
    command = _command(asked["command"])
    nccl = _nccl(asked.get("nccl") or {}, hosts, asked.get("facts") or {})
    env = _environment(asked.get("env") or {})
    if "NCCL_IB_HCA" in env:
        for host in hosts:
            _devices(host["name"], env["NCCL_IB_HCA"], (asked.get("facts") or {}).get(host["name"]))
    overlap = sorted(set(env) & {key for values in nccl["nodes"].values() for key in values})
    for key in overlap:  # what a person set goes before what was computed, as under mpirun
        for values in nccl["nodes"].values():
            values.pop(key, None)
    seconds = _whole(asked.get("seconds", 3600), "run_timeout", 60)
    return {
        "format": FORMAT,
        "name": name,
        "launchers": launchers,
        "image": image,
        "hosts": hosts,
        "ranks": sum(host["slots"] for host in hosts),
        "slots": hosts[0]["slots"],
        "port": _whole(asked.get("port", 29500), "run_master_port", 1024, 65535),
        "command": command,
        "pod_command": _without_interface(command) if asked.get("pod_network") else command,
        "env": env,
        "nccl": nccl,
        "probe": str(asked.get("probe") or ""),
        "probe_arguments": [str(word) for word in asked.get("probe_arguments") or ()],
        "gpus": bool(asked.get("gpus")),
        "network": str(asked.get("network") or ""),
        "nccl_network": str(asked.get("nccl_network") or ""),
        "rdma_networks": _joined(asked.get("rdma_networks") or ""),
        "limits": {
            "seconds": seconds,
            "minutes": -(-seconds // 60),
            "shared_memory": _quantity(str(asked.get("shared_memory") or "1Gi")),
        },
        "slurm": {
            "partition": _slurm_name(str(asked.get("partition") or ""), "run_handoff_options.partition"),
            "account": _slurm_name(str(asked.get("account") or ""), "run_handoff_options.account"),
            "pyxis": pyxis,
        },
        "kubernetes": _kubernetes(asked) if cluster else {},
        "simulated": bool(asked.get("simulated")),
    }


def files_of(job: Mapping[str, Any], topologies: Mapping[str, str]) -> dict[str, str]:
    """job.json, nccl.env, nccl.d/<host>.env and the topology: name in the folder -> content. ``topologies``: host ->
    NCCL's topology file as it lies on that node."""
    found = {"job.json": json.dumps(job, indent=2, sort_keys=True) + "\n"}
    nodes: Mapping[str, Mapping[str, str]] = job["nccl"]["nodes"]
    first = next(iter(nodes.values()), {})
    alike = {key: value for key, value in first.items() if all(node.get(key) == value for node in nodes.values())}
    found["nccl.env"] = nccl_file(alike, "every node of this job")
    for host in job["hosts"]:
        values = dict(nodes[host["hostname"]])
        if host["hostname"] in topologies:
            values.setdefault("NCCL_TOPO_FILE", TOPOLOGY)
        found[f"nccl.d/{host['hostname']}.env"] = nccl_file(values, host["hostname"])
    texts = {text if text.endswith("\n") else text + "\n" for text in topologies.values()}
    if len(texts) == 1 and len(topologies) == len(job["hosts"]):
        found["topology.xml"] = texts.pop()
    else:
        found.update({f"topology.d/{host}.xml": text for host, text in topologies.items()})
    return found


def nccl_file(values: Mapping[str, str], where: str) -> str:
    """As NCCL reads /etc/nccl.conf: one NAME=value per line. A line without = is skipped, by all releases."""
    lines = [f"# NCCL's variables for {where}, computed from the RDMA devices; why is in job.json"]
    return "\n".join([*lines, *(f"{key}={value}" for key, value in sorted(values.items()))]) + "\n"


# ---------------------------------------------------------------------------------------------------------------- parts


def _launchers(asked: Mapping[str, Any]) -> list[str]:
    launchers = [str(part) for part in asked.get("launchers") or LAUNCHERS]
    unknown = [part for part in launchers if part not in LAUNCHERS]
    if unknown:
        _refuse("not a launcher", "run_handoff_launchers", unknown[0], f"give some of {', '.join(LAUNCHERS)}")
    others = [part for part in launchers if part != "mpijob"]
    if asked.get("workload") == "tf_cnn_benchmarks" and not asked.get("own_command") and others:
        _refuse(
            "tf_cnn_benchmarks asks MPI for its rank, which this launcher does not answer",
            "run_handoff_launchers",
            others[0],
            "give [mpijob], or run_workload: torch",
        )
    return launchers


def _name(name: str) -> str:
    # Kubeflow's rule for a TrainJob: a letter first.
    if not _LABEL.fullmatch(name) or not name[0].isalpha() or len(name) > 40:
        _refuse(
            "not a name for a job of every launcher",
            "run_handoff_name",
            name,
            "use at most 40 lower-case letters, digits and dashes, beginning with a letter and not ending with a dash",
        )
    return name


def _hosts(given: Sequence[Mapping[str, Any]], network: str) -> list[dict[str, Any]]:
    if not given:
        _refuse("no host", "run_hosts", [], "name the hosts of the job")
    hosts = []
    for host in given:
        name = str(host["name"])
        own = str(host.get("hostname") or name).split(".", maxsplit=1)[0]
        # Kubernetes' name of the node may be a full one, where the host calls itself so; kubelet uses lower case.
        node = str(host.get("hostname") or own).lower()
        if not all(_HOST.fullmatch(label) for label in node.split(".")):
            _refuse("not a host name", "hostname", node, "give what the node calls itself", host=name)
        try:
            address = ipaddress.ip_address(str(host["address"]))
            inside = not network or address in ipaddress.ip_network(network)
        except ValueError as error:
            _refuse(f"not an address ({error})", "address", host["address"], "correct rocemesh_address", host=name)
        if not inside:
            _refuse(
                f"not in the cluster network {network}",
                "address",
                str(address),
                "correct rocemesh_address, or run_network",
                host=name,
            )
        slots = _whole(host.get("slots", 1), "slots", 1, host=name)
        hosts.append({"name": name, "hostname": own, "node": node, "address": str(address), "slots": slots})
    for key in ("hostname", "address"):
        values = [host[key] for host in hosts]
        twice = [value for value in values if values.count(value) > 1]
        if twice:
            _refuse("two hosts have it", key, twice[0], "each host needs its own")
    if len({host["slots"] for host in hosts}) > 1:
        _refuse(
            "every launcher but mpirun starts the same number of ranks on each node",
            "rocemesh_slots",
            ", ".join(f"{host['name']} {host['slots']}" for host in hosts),
            "give all hosts the same number, or hand off the part of them that has",
        )
    return hosts


def _image(image: str, needed_by: Sequence[str]) -> str:
    if not image:
        if needed_by:
            _refuse(
                f"{' and '.join(needed_by)} pull the image, and none is known by digest",
                "run_handoff_options.image",
                image,
                "push the image to a registry that the nodes reach (container_registry), or give "
                "registry/name@sha256:...",
            )
        return image
    match = _IMAGE.fullmatch(image)
    if match is None or not match["at"]:
        _refuse(
            "a name or tag can mean another image tomorrow",
            "run_handoff_options.image",
            image,
            "give it by digest, as registry/name@sha256:...; docker image inspect shows it under RepoDigests",
        )
    if not _DIGEST.fullmatch(match["digest"]):
        _refuse(
            "not a digest",
            "run_handoff_options.image",
            image,
            "a digest is sha256: and 64 hexadecimal digits in lower case",
        )
    # Beside a digest a tag says nothing, and not every engine takes both.
    return f"{_TAG.sub('', match['name'])}@{match['digest']}"


def _command(given: Any) -> list[str]:
    if isinstance(given, str) or not given:
        _refuse(
            "not a list of words",
            "run_handoff_command",
            given,
            "give the program and its arguments as a list of strings",
        )
    words = [str(word) for word in given]
    broken = [word for word in words if "\n" in word or "\0" in word]
    if broken:
        _refuse("a line break in a word", "run_handoff_command", broken[0], "put such text into a file")
    return words


def _without_interface(command: Sequence[str]) -> list[str]:
    """The workload without the network of the nodes, which a pod's own interfaces are not in."""
    if "--interface_cidr" not in command:
        return list(command)
    at = command.index("--interface_cidr")
    return [*command[:at], *command[at + 2 :]]


def _environment(given: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    for name, value in given.items():
        text = str(value)
        if not _VARIABLE.fullmatch(str(name)):
            _refuse("not the name of a variable", "run_env", name, "use letters, digits and underscores")
        if _LAUNCHERS_OWN.fullmatch(str(name)):
            _refuse("each launcher says this itself, to each rank", "run_env", name, "leave it out")
        if SECRET.search(str(name)):
            _refuse(
                "would stand in files that everybody may read",
                "run_env",
                name,
                "leave it out, and give it by the launcher's own means (a Secret, sbatch --export)",
            )
        if "\n" in text or "\0" in text:
            _refuse("a line break in the value", "run_env", name, "put such text into a file")
        found[str(name)] = text
    return found


def _nccl(given: Mapping[str, Any], hosts: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> dict[str, Any]:
    """``given``: as filter nccl_variables returns it, with the names of the inventory; here with the nodes' own."""
    shared = {str(key): str(value) for key, value in (given.get("shared") or {}).items()}
    nodes: dict[str, dict[str, str]] = {}
    for host in hosts:
        name = host["name"]
        values = {**shared, **{str(k): str(v) for k, v in ((given.get("per_node") or {}).get(name) or {}).items()}}
        for key, value in values.items():
            if not _VARIABLE.fullmatch(key) or not _PLAIN.fullmatch(value):
                _refuse("not a value that NCCL's file can hold", key, value, "use plain characters", host=name)
        _devices(name, values.get("NCCL_IB_HCA", ""), facts.get(name))
        nodes[str(host["hostname"])] = values
    return {"nodes": nodes, "reasons": list(given.get("reasons") or ()), "notes": list(given.get("notes") or ())}


def _devices(host: str, wanted: str, facts: Mapping[str, Any] | None) -> None:
    """Refuse a device in NCCL_IB_HCA that the node does not have, where its devices were read."""
    if facts is None or wanted.startswith("^") or not wanted:
        return
    have = {f"{device.get('name')}:{device.get('port', 1)}" for device in facts.get("devices") or ()}
    for name in wanted.lstrip("=").split(","):
        device, _colon, port = name.partition(":")
        exact = {one for one in have if one.split(":")[0] == device}
        if not exact and not wanted.startswith("="):
            exact = {one for one in have if one.startswith(device)}
        if not any(one.endswith(f":{port}") or not port for one in exact):
            _refuse(
                f"no such RDMA device; there are: {', '.join(sorted(have)) or 'none'}",
                "NCCL_IB_HCA",
                name,
                "name the devices of this node as in /sys/class/infiniband, or leave the variable to be computed",
                host=host,
            )


def _kubernetes(asked: Mapping[str, Any]) -> dict[str, Any]:
    namespace = str(asked.get("namespace") or "")
    if not _LABEL.fullmatch(namespace) or len(namespace) > 63:
        _refuse(
            "not the name of a namespace",
            "run_handoff_options.namespace",
            namespace,
            "use at most 63 lower-case letters, digits and dashes, beginning and ending with a letter or digit",
        )
    if namespace.startswith("kube-"):
        _refuse("is Kubernetes' own", "run_handoff_options.namespace", namespace, "use a namespace of your own")
    for thing in ("rdma_resource", "gpu_resource"):
        value = str(asked.get(thing) or "")
        if value and not _RESOURCE.fullmatch(value):
            _refuse(
                "not the name of a device plugin's resource",
                f"run_handoff_options.{thing}",
                value,
                "kubectl describe node lists them under Allocatable, as rdma/rdma_shared_device_a or nvidia.com/gpu",
            )
    if asked.get("gpus") and not asked.get("gpu_resource"):
        _refuse("the ranks need GPUs", "run_handoff_options.gpu_resource", "", "give nvidia.com/gpu")
    pod_network = str(asked.get("pod_network") or "")
    if "\n" in pod_network:
        _refuse(
            "a line break",
            "run_handoff_options.pod_network",
            pod_network,
            "give names of networks, with commas between",
        )
    return {
        "namespace": namespace,
        "rdma_resource": str(asked.get("rdma_resource") or ""),
        "gpu_resource": str(asked.get("gpu_resource") or "") if asked.get("gpus") else "",
        "pod_network": pod_network,
        "of_the_node": list(_OF_THE_NODE) if pod_network else [],
        "mpi": _whole(asked.get("mpi", 4), "Open MPI", 4, 5),
    }


def _slurm_name(value: str, thing: str) -> str:
    if value and not _SLURM_NAME.fullmatch(value):
        _refuse("not a name that Slurm takes", thing, value, "sinfo -s lists the partitions, sacctmgr the accounts")
    return value


def _quantity(value: str) -> str:
    """As Kubernetes writes it: Docker's 1g is 1Gi there."""
    if not _QUANTITY.fullmatch(value):
        _refuse("not a size", "run_handoff_options.shared_memory", value, "give it as 1Gi")
    text = value.rstrip("ibB")
    return text if text[-1].isdigit() else text[:-1] + text[-1].upper() + "i"


def _whole(value: Any, thing: str, least: int, most: int | None = None, host: str = "handoff") -> int:
    try:
        number = int(str(value))
    except ValueError:
        number = least - 1
    if number < least or (most is not None and number > most):
        upper = "" if most is None else f" and at most {most}"
        _refuse("not a number that works here", thing, value, f"give at least {least}{upper}", host=host)
    return number
