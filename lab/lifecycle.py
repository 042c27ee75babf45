"""The lab's stages in their order: up, reset, down."""

from __future__ import annotations

import concurrent.futures
import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

from . import (
    base_image,
    config,
    control,
    engine,
    files,
    gateway,
    hardware,
    images,
    keys,
    nodes,
    preflight,
    processes,
    registry,
    scheduler,
)
from .vm import accelerator

_PROGRAMS = (*config.VCENTERS, "physics", "switch", *(("gateway",) if config.SHAPE.ipv6_alone else ()))


class Stages:
    """Runs named steps, prints one line for each, and keeps their times."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._begin = time.monotonic()

    def run(self, name: str, step: Callable[[], str | None]) -> None:
        start = time.monotonic()
        said = step()
        self.seconds[name] = round(time.monotonic() - start, 2)
        print(f"{self.seconds[name]:7.1f} s  {name:<16} {said or ''}".rstrip(), flush=True)

    def together(self, *steps: tuple[str, Callable[[], str | None]]) -> None:
        """At the same time; each one's time is its own, so they do not add up. The first error is raised."""
        with concurrent.futures.ThreadPoolExecutor(max_workers=len(steps)) as pool:
            for future in [pool.submit(self.run, name, step) for name, step in steps]:
                future.result()

    def finish(self, what: str) -> None:
        self.seconds["total"] = round(time.monotonic() - self._begin, 2)
        print(f"{self.seconds['total']:7.1f} s  {what}", flush=True)


@contextlib.contextmanager
def only_one(paths: config.Paths) -> Iterator[None]:
    """Two at once would build and start everything twice."""
    paths.run.mkdir(parents=True, exist_ok=True)
    with (paths.run / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise config.LabError(f"another `python -m lab` works on {paths.root} right now; wait for it") from None
        yield


# --- up -------------------------------------------------------------------------------------------------------------


def up() -> None:
    paths = config.paths()
    preflight.machine()
    with only_one(paths):
        stages = Stages()
        stages.run("checks", lambda: preflight.ports(paths))
        stages.run("shape", lambda: config.keep_shape(paths))
        stages.run("keys", lambda: ", ".join(keys.make_all(paths)) or "already there")
        stages.run("engine", lambda: engine.ensure(paths))
        stages.run("conflicts", lambda: preflight.in_engine(paths))
        if any(engine.inspect("network", rail.network) is None for rail in config.RAILS):
            preflight.disk()
        stages.run("base image", base_image.ensure)
        stages.run("network", lambda: nodes.ensure_network(paths))
        stages.run("switch", lambda: _switch(paths))
        if config.SHAPE.ipv6_alone:
            stages.run("gateway", lambda: _gateway(paths))
        stages.together(
            ("vsphere", lambda: images.ensure_vsphere(paths)),
            ("node image", _node_image),
            ("registry", lambda: _registry(paths)),
        )
        if config.SHAPE.machine:
            stages.run("accelerator", lambda: accelerator.ensure(paths))
        stages.run("machines", lambda: _machines(paths))
        stages.run("ready", lambda: _ready(paths))
        real = "real guests and RDMA of their kernel" if config.SHAPE.machine else "real nodes"
        stages.finish(f"the lab is up: SIMULATED switch, ESXi hosts and NICs, {real} ({paths.root})")
        files.write_json(paths.run / "stages.json", stages.seconds)
        _notes(paths)


def _node_image() -> str:
    built = images.ensure(config.NODE_IMAGE)
    return f"{built}, machine {images.ensure(config.VM_IMAGE)}" if config.SHAPE.machine else built


def _registry(paths: config.Paths) -> str:
    """Image, container and seeds, while the longer builds go on."""
    built = images.ensure(config.REGISTRY_IMAGE)
    if config.JOB_IMAGE in config.SEEDS.values():
        images.ensure(config.JOB_IMAGE)
    done = registry.ensure(paths)
    return f"image {built}, {done}" if built == "built" else done


def _switch(paths: config.Paths) -> str:
    if processes.pid_of(paths.run, "switch") is not None:
        return "already there"
    processes.start(
        paths.run,
        "switch",
        [
            *(sys.executable, "-m", "lab.switch", "--host", config.SWITCH_IP, "--port", str(config.SSH_PORT)),
            *("--control", f"{config.SWITCH_IP}:{config.CONTROL_PORT}", "--name", config.SWITCH_NAME),
            # As NVIDIA's own listing of `show roce` has it: nobody is heard behind any port.
            "--no-lldp",
            *("--cabled", str(len(config.NODES) * len(config.RAILS))),
            *("--host-key", str(paths.switch / "host_key"), "--password-file", str(paths.secret("switch"))),
        ],
        ready=lambda: control.answers("switch"),
    )
    return "started"


def _gateway(paths: config.Paths) -> str:
    if processes.pid_of(paths.run, "gateway") is not None:
        return "already there"
    address = config.RAILS[0].gateway6
    command = [sys.executable, "-m", "lab.gateway", address]
    processes.start(paths.run, "gateway", command, ready=lambda: _listens(address))
    return f"proxy at [{address}]:{gateway.PORT}"


def _listens(address: str) -> bool:
    # Not by a connection: the address is usable only with the first node.
    shown = subprocess.run(
        ["ss", "-Hltn", f"sport = :{gateway.PORT}"], capture_output=True, text=True, check=True
    ).stdout
    return f"[{address}]:{gateway.PORT}" in shown


def _machines(paths: config.Paths) -> str:
    """Hardware, nodes, physics, and then vSphere, which powers the nodes on."""
    done = []
    for node in config.NODES:
        hardware.make_factory(paths, node.name, replace=False)
    made = nodes.create_all(paths)
    if made:
        done.append(f"created {', '.join(made)}")
    if processes.pid_of(paths.run, "physics") is None:
        processes.start(
            paths.run, "physics", [sys.executable, "-m", "lab.physics"], ready=lambda: control.answers("physics")
        )
        done.append("started physics")
    for vcenter in config.VCENTERS:
        if processes.pid_of(paths.run, vcenter) is None:
            _start_vsphere(paths, vcenter)
            done.append(f"started {vcenter}, VMs powered on")
    return ", ".join(done) or "already there"


# Half of the machines are as many servers are: a VM whose devices were edited keeps gaps in their numbers and has the
# GPU first; firmware tables name no NUMA node of a GPU and no bridge of a NIC.
_AWKWARD_VMS: dict[str, dict[str, object]] = {
    "gpu03": {"devices": [{"kind": "gpu", "number": 1}, {"kind": "nic", "number": 4}]}
}
_AWKWARD_HOSTS: dict[str, dict[str, object]] = {"esx01": {"firmware_tables": "incomplete"}}


# Several devices of a kind lie on both NUMA nodes of the host: the first of each on 0, the second on 1.
_NUMA_NODES = 2


def _devices() -> dict[str, object]:
    """Of a VM with more than one GPU or NIC; one of each is what the simulator makes by itself."""
    nics, gpus = len(config.RAILS), len(config.SHAPE.gpus)
    if (nics, gpus) == (1, 1):
        return {}
    if max(nics, gpus) > _NUMA_NODES:
        raise config.LabError(
            f"shape {config.SHAPE.name}: at most {_NUMA_NODES} GPUs and NICs per VM, one per NUMA node"
        )
    kinds = [("nic", node) for node in range(nics)] + [("gpu", node) for node in range(gpus)]
    return {"node": 0, "gpu_node": 1, "devices": [{"kind": kind, "node": node} for kind, node in kinds]}


def topology(vcenter: str = "vsphere") -> dict[str, object]:
    """What this vCenter has, for lab/vsphere. The tools state of a VM comes from its real node, so none is assumed."""
    several = _devices()
    mine = [node for node in config.NODES if node.vcenter == vcenter]
    return {
        "datacenter": "lab-dc",
        "cluster": "lab",
        "boot_seconds": 2,
        "agent_seconds": 1,
        "hosts": [
            {
                "name": esxi,
                **_AWKWARD_HOSTS.get(host, {}),
                "vms": [
                    {
                        "name": node.vm,
                        "tools": "notRunning",
                        "ip": node.cluster_ip,
                        **(several or _AWKWARD_VMS.get(node.name, {})),
                    }
                    for node in mine
                    if node.host == host
                ],
            }
            for host, esxi in dict.fromkeys((node.host, node.esxi) for node in mine)
        ],
    }


def _start_vsphere(paths: config.Paths, vcenter: str) -> None:
    binary, address = images.vsphere_binary(paths), config.VCENTERS[vcenter]
    layout = paths.vsphere / f"{vcenter}.json"
    files.write_json(layout, topology(vcenter))
    processes.start(
        paths.run,
        vcenter,
        [
            *(str(binary), "--listen", f"{address}:{config.VCENTER_PORT}"),
            *("--control", f"{address}:{config.CONTROL_PORT}"),
            *("--cert", str(paths.pki / "vcenter.crt"), "--key", str(paths.pki / "vcenter.key")),
            *("--user", config.VCENTER_USER, "--password-file", str(paths.secret("vcenter"))),
            *("--topology", str(layout)),
            *("--hook", control.url("physics", f"/event/{vcenter}")),
        ],
        ready=lambda: _healthz(vcenter, "ready"),
    )
    said = f"{vcenter} has powered its VMs on (see `python -m lab logs {vcenter}`)"
    processes.wait_for(said, lambda: _healthz(vcenter, "announced"), 90)


def _healthz(vcenter: str, key: str) -> bool:
    try:
        return bool(control.request("GET", control.url(vcenter, "/healthz"))[key])
    except ConnectionError:
        return False


def _ready(paths: config.Paths) -> str:
    """Every VM that is powered on can be logged into, and its engine answers."""
    power = {name: vm["power"] for name, vm in control.state("physics")["vms"].items()}
    on = [node for node in config.NODES if power[node.name] == "on"]
    with concurrent.futures.ThreadPoolExecutor(max_workers=len(config.NODES)) as pool:
        list(pool.map(nodes.wait_ready, on))
    processes.wait_for("vSphere sees the tools of every node", _tools_reported, 30)
    changed = nodes.write_known_hosts(paths)
    off = [node.name for node in config.NODES if node not in on]
    said = f"{len(on)} nodes"
    if config.SCHEDULER:
        said += f", {scheduler.ensure(paths, on)}"
    if off:
        said += f", powered off: {', '.join(off)} (power them on in vSphere, or `python -m lab reset`)"
    return said + (", host keys" if changed else "")


def _tools_reported() -> bool:
    physics, vsphere = control.state("physics"), control.state("vsphere")
    mute = {fault.get("vm") for fault in physics["faults"] if fault["name"] in ("tools_not_running", "node_frozen")}
    return all(
        vsphere["vms"][name]["tools"] == "running"
        for name, vm in physics["vms"].items()
        if vm["power"] == "on" and name not in mute
    )


def _notes(paths: config.Paths) -> None:
    """What an idempotent `up` leaves as it is although the sources changed."""
    old = nodes.outdated()
    if old:
        print(f"note: {', '.join(old)} run an earlier build of the node image; `python -m lab reset` takes the new one")
    pid = processes.pid_of(paths.run, "vsphere")
    if pid is not None and images.vsphere_binary(paths) and os.readlink(f"/proc/{pid}/exe").endswith(" (deleted)"):
        print("note: vSphere runs an earlier build; `python -m lab down --keep-cache` and `up` take the new one")


def require_up(paths: config.Paths) -> None:
    missing = [name for name in reversed(_PROGRAMS) if processes.pid_of(paths.run, name) is None]
    if missing:
        raise config.LabError(
            f"the lab of {paths.root} is not up ({', '.join(missing)} not running); `python -m lab up`"
        )


# --- reset ----------------------------------------------------------------------------------------------------------


def reset(*, keep_registry: bool = False) -> None:
    """Factory state of every part; no image is built. A site's registry may well hold the image already."""
    paths = config.paths()
    require_up(paths)
    with only_one(paths):
        stages = Stages()

        def switch_and_machines() -> None:
            control.reset("switch")
            # Physics first: vSphere's reset powers the new nodes on.
            control.reset("physics")
            control.reset("vsphere")

        parts = [("machines", switch_and_machines)]
        if not keep_registry:
            parts.append(("registry", lambda: registry.empty(paths)))
        stages.together(*parts)
        stages.run("ready", lambda: _ready(paths))
        stages.finish("the lab is in its factory state")


# --- down -----------------------------------------------------------------------------------------------------------


def down(*, keep_cache: bool) -> None:
    """Removes what the lab made, and nothing else."""
    paths = config.paths()
    if not paths.root.exists() and not engine.HOME.exists() and not config.CACHE_DIR.exists():
        print("the lab is not up: nothing to do")
        return
    others = engine.owner() not in (None, str(paths.root))
    with only_one(paths):
        stages = Stages()
        stages.run("programs", lambda: _stop_programs(paths))
        had_engine = (paths.run / "engine.json").exists() or (engine.HOME.exists() and not others)
        if had_engine:
            stages.run("containers", lambda: _remove_from_engine(paths, keep_cache=keep_cache))
        if not others:
            stages.run("engine", lambda: _join(engine.stop_own(paths, keep_cache=keep_cache)))
            if not keep_cache:
                stages.run("cache", lambda: _join(images.remove_cache()))
        stages.run("files", lambda: _remove_files(paths))
    stages.finish("the lab is down" + (" (images and base kept)" if keep_cache else ""))


def _join(done: list[str]) -> str:
    # The many small rules of a firewall are of interest only where one could not be taken back.
    failed = [line for line in done if "FAILED" in line]
    plain = [line for line in done if not line.startswith(("iptables", "ip6tables"))]
    rules = len(done) - len(plain)
    return "; ".join([*plain, *([f"{rules} firewall rules taken back"] if rules else []), *failed])


def _stop_programs(paths: config.Paths) -> str:
    return ", ".join(name for name in _PROGRAMS if processes.stop(paths.run, name)) or "none ran"


def _remove_from_engine(paths: config.Paths, *, keep_cache: bool) -> str:
    # Starts the lab's own engine again if it died: its containers may have survived it.
    engine.ensure(paths)
    mine = f"label={config.OWNER_LABEL}={paths.root}"
    gone = []
    for kind, listing in (
        ("container", ("ps", "-aq")),
        ("volume", ("volume", "ls", "-q")),
        ("network", ("network", "ls", "-q")),
    ):
        names = engine.docker(*listing, "--filter", mine).stdout.split()
        if names:
            options = ("--force",) if kind != "network" else ()
            engine.docker(
                *((kind, "rm", *options, "--volumes") if kind == "container" else (kind, "rm", *options)), *names
            )
            gone.append(f"{len(names)} {kind}s")
    if not keep_cache:
        images_gone = images.remove_all()
        if images_gone:
            gone.append(f"{len(images_gone)} images")
    return ", ".join(gone) or "nothing there"


def _remove_files(paths: config.Paths) -> str:
    """Everything below .lab; a program that still writes there (a test run) keeps its own directory."""
    shutil.rmtree(paths.root, ignore_errors=True)
    if not paths.root.exists():
        return f"removed {paths.root}"
    left = ", ".join(sorted(entry.name for entry in paths.root.iterdir()))
    return f"left in {paths.root}, because another program writes there: {left}"
