"""Say how the Docker engine gets NVIDIA's runtime, and why it has to be restarted.

Takes the runtime `nvidia` from what `nvidia-ctk runtime configure --dry-run` would write, and nothing else of it.
Every key of the file stays as it is and where it is. An entry of that name is never replaced. Compares what the
running engine knows with what is on the disk. It needs no memory of an earlier run.
Source: `nvidia-ctk runtime configure` of 1.13.5, 1.17.8 and 1.20.0, built and run. It replaces an entry of the same
name whole, with its arguments, writes the rest back in another order, and does not read an empty file. So its answer
is asked for without the file and merged here.
``config``: The present `daemon.json`, empty where there is none. With `offer`, `merged` is returned.
``offer``: Standard output of `nvidia-ctk`.
``probe``: What the node answers to the role's look, one word and its value per line. Of the engine - `started` (when
it started, epoch), `hook` (when the toolkit's hook was installed, epoch), `configured` (its configuration has the
runtime), `runtimes` (JSON), `live_restore`, and one `container` per running container. With it `state` is returned,
and the node's other answers under their names; `seen` is the container, with `info`, `inside`, `limits` and `gpus`;
`at` says when, in seconds since 1970.
"""

from __future__ import annotations

import functools
import json
import re
import time
from typing import Any

from ..decision import Context

SPEC: dict[str, Any] = {"config": {"default": ""}, "offer": {}, "probe": {}}
RUNTIME = "nvidia"
GPUS_LABEL = "io.rocemesh.gpus"
# The oldest that was tried, and the first whose Docker-compatible socket gives what a client asks for by CDI
# (its release notes of 5.4.0).
PODMAN_LEAST, PODMAN_CDI = (4, 3), (5, 4)
Values = dict[str, list[str]]


def _document(text: str, whose: str) -> dict[str, Any]:
    """An empty file is an empty document; Docker 20.10 does not start with one, and does with what is written."""
    found = json.loads(text) if text.strip() else {}
    if not isinstance(found, dict):
        raise ValueError(f"{whose} is {type(found).__name__}, not an object")
    return found


def merge_runtime(current: str, proposed: str) -> dict[str, Any]:
    """daemon.json with NVIDIA's runtime and every key of the user's as it was, in its order.

    ``proposed``: what nvidia-ctk would write. Result: ``content`` (the file), ``changed``, ``kept`` (an entry of the
    user's that differs from NVIDIA's and stays), ``problem`` ('' or why neither can be used).
    """
    refused = {"content": current, "changed": False, "kept": ""}
    try:
        own = _document(current, "it")
    except ValueError as error:
        return {**refused, "problem": f"it cannot be read: {error}"}
    try:
        offered = _document(proposed, "the answer")["runtimes"][RUNTIME]
        path = offered["path"]
    except (ValueError, KeyError, TypeError) as error:
        problem = f"nvidia-ctk offers no runtime {RUNTIME} with a path ({error!r}): {proposed[:200]}"
        return {**refused, "problem": problem}
    runtimes = own.get("runtimes", {})
    if not isinstance(runtimes, dict):
        return {**refused, "problem": "its key runtimes is no object"}
    if RUNTIME in runtimes:
        there = runtimes[RUNTIME]
        same = isinstance(there, dict) and there.get("path") == path
        return {**refused, "kept": "" if same else json.dumps(there), "problem": ""}
    own["runtimes"] = {**runtimes, RUNTIME: offered}
    return {"content": json.dumps(own, indent=4, ensure_ascii=False) + "\n", "changed": True, "kept": "", "problem": ""}


def engine_state(values: Values, configured: bool) -> dict[str, Any]:
    """What the running engine lacks. ``configured``: daemon.json has the runtime. ``pending``: one reason each;
    ``running``: names of the containers that a restart stops."""
    if "started" not in values:
        return {"pending": [], "running": [], "live_restore": False, "started": False}
    started = int(values["started"][0])
    pending = []
    # An engine that has the runtime was started with a hook; a newer hook is that of an upgrade, which needs no restart
    # (moby, daemon/nvidia_linux.go: whether there is one is asked at the start, and it is run by its name).
    if RUNTIME not in json.loads(_first(values, "runtimes") or "{}"):
        if any(int(changed) > started for changed in values.get("hook", [])):
            pending.append("the engine was started before the NVIDIA container toolkit, so it cannot give GPUs")
        if configured:
            pending.append(f"the engine has not read the runtime {RUNTIME} from its configuration")
    return {
        "pending": pending,
        "running": values.get("container", []),
        "live_restore": values.get("live_restore") == ["true"],
        "started": True,
    }


def node_state(values: Values) -> dict[str, Any]:
    """What is there on the node: engine, toolkit, devices, the mesh's directory, the wanted image."""
    first = functools.partial(_first, values)
    status, _space, said = first("engine").partition(" ")
    place, _space, kind = first("mesh").partition(" ")
    image, _space, digests = first("image").partition(" ")
    inside = "\n".join(values.get("inside", []))
    podman = first("socket").endswith("/podman.sock")
    version = tuple(int(part) for part in re.findall(r"\d+", said)[:2]) if podman and status == "0" else ()
    return {
        "podman": podman,
        "listens": "listens" in values,
        "old": bool(version) and version < PODMAN_LEAST,
        "daemon": "daemon" in values,
        "engine": {"rc": int(status or 1), "stderr": said},
        "requests": first("requests") == "0",
        "gpu": "gpu" in values,
        "toolkit": "toolkit" in values,
        "ctk": "ctk" in values,
        "package": first("package"),
        "runtime": f'"{RUNTIME}"' in first("runtimes"),
        "cdi": "cdi-all" in values and (first("cdi").startswith('["') or version >= PODMAN_CDI),
        "gpu_nodes": values.get("node", []),
        "rdma": "rdma" in values,
        "mesh": {"place": place, "isdir": kind == "directory"},
        "mesh_start": "mesh_start" in values,
        "images": [{"Id": image, "RepoDigests": json.loads(digests) or []}] if image else [],
        "runs": (json.loads(first("seen") or "null") or {}).get("Image", ""),
        "configured": "configured" in values,
        "ca": first("ca"),
        "inside": {
            "rc": int(first("inside_rc") or 1),
            **({"stdout": inside} if first("inside_rc") == "0" else {"stdout": "", "msg": inside}),
        },
    }


def container_state(values: Values) -> dict[str, Any]:
    """What the engine and the container itself say of it. ``sshd`` of ``inside``: read, stale (its files are newer than
    what it has read), none (it has not come up), or empty without a server of its own."""
    first = functools.partial(_first, values)
    info = json.loads(first("seen") or "null")
    host = info["HostConfig"] if info else {}
    labels = (info or {}).get("Config", {}).get("Labels") or {}
    memlock, stack, shm = [*first("limits").split(), "", "", ""][:3]
    status, _space, said = first("gpus").partition(" ")
    return {
        "info": {"exists": info is not None, "container": info or {}},
        "inside": {"mounted": first("mounted"), "sshd": first("sshd")},
        "limits": {
            "memlock_kib": memlock,
            "stack_kib": stack,
            "shm_kib": int(shm or 0),
            # Podman does not say what devices it was asked for; the label does.
            "gpus": bool(host.get("DeviceRequests")) or labels.get(GPUS_LABEL, "none") != "none",
            "infiniband": any(one["PathOnHost"].startswith("/dev/infiniband") for one in host.get("Devices") or []),
        },
        "gpus": {"rc": int(status or 1), "stdout": said},
        "last": first("last"),  # lines that it printed, where nothing can be started in it
    }


def by_word(text: str) -> Values:
    """The role's probe, one ``WORD VALUE`` per line."""
    values: Values = {}
    for line in text.splitlines():
        word, _space, value = line.partition(" ")
        values.setdefault(word, []).append(value.strip())
    return values


def _first(values: Values, word: str) -> str:
    return values.get(word, [""])[0]


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if options["offer"] is not None:
        found["merged"] = merge_runtime(options["config"], options["offer"])
    if options["probe"] is not None:
        values = by_word(options["probe"])
        found.update(node_state(values))
        found["state"] = engine_state(values, found["configured"])
        found["seen"] = container_state(values)
        found["at"] = time.time()
    return found
