"""The moments at which a run is killed: each is something that a device has received or done, as the device says it.

The heading of a task is printed before the task does anything, so a kill at a heading kills nothing that had begun.
"""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable
from typing import Any

from lab import config, engine
from tests import site_run

Trigger = Callable[[], bool]
WORKERS = tuple(node.name for node in config.NODES[1:])
_CONFIGURES = re.compile(r"^(interface|vlan|roce|dcb|lldp)\b")
# A layer of a megabyte at least, which the engine still has to unpack; the image's description is asked for before.
_PULLED = re.compile(r'"GET /v2/\S+/blobs/\S+ \S+ 200 \d{7,} ')


def seldom(trigger: Trigger) -> Trigger:
    """For a moment that lasts: a process in a node per look, all the time, would slow down the run that is watched.

    A node that is off, or whose engine does not answer yet, has not reached it.
    """
    next_look = 0.0

    @functools.wraps(trigger)
    def look() -> bool:
        nonlocal next_look
        if time.monotonic() < next_look:
            return False
        try:
            reached = trigger()
        except config.LabError:
            reached = False
        next_look = time.monotonic() + 1.0
        return reached

    return look


def calls(method: str) -> list[dict[str, Any]]:
    """What vCenter was asked to do since `listen`, reads left out."""
    return [call for call in site_run.ask("vsphere", "/calls") if method in call["method"]]


def listen() -> None:
    """Forget what the devices were told before, so that only this run's lines and calls count."""
    site_run.ask("switch", "/log", "DELETE")
    site_run.ask("vsphere", "/calls", "DELETE")


def switch_took_a_line() -> bool:
    return any(_CONFIGURES.search(line) for line in site_run.ask("switch", "/log")["lines"])


def a_host_took_its_kernel_setting() -> bool:
    return bool(calls("kernel.set"))


def a_card_stored_ats() -> bool:
    nics = site_run.ask("physics", "/state")["nic"].values()
    return any(card["params"].get("ATS_ENABLED", {}).get("next") == 1 for nic in nics for card in nic["cards"])


def a_vm_took_its_keys() -> bool:
    return bool(calls("ReconfigVM_Task"))


def a_host_was_told_to_reboot() -> bool:
    return bool(calls("RebootHost_Task"))


def a_host_is_back_and_its_guests_are_not() -> bool:
    """It has booted and powered a VM on, and that VM's tools do not run yet, as its sshd does not answer.

    Asked of vCenter directly: a guest boots faster than `lab status` has looked at all of them."""
    if not calls("RebootHost_Task"):
        return False
    seen = site_run.ask("vsphere", "/state")
    return any(
        seen["hosts"][node.host]["boots"]
        and seen["vms"][node.name]["power"] == "on"
        and seen["vms"][node.name]["tools"] != "running"
        for node in config.NODES
    )


@seldom
def an_image_is_being_built() -> bool:
    """The engine of the head runs a step of the build, in a container of its own."""
    steps = site_run.on_node(config.NODES[0].name, "docker", "ps", "--no-trunc", "--format", "{{.Command}}")
    return any(step.startswith('"/bin/sh -c') for step in steps.splitlines())


@seldom
def a_worker_fetches_layers() -> bool:
    log = engine.docker("logs", "--since", "30s", config.REGISTRY_CONTAINER)
    workers = {config.BY_NAME[name].cluster_ip for name in WORKERS}
    return any(
        _PULLED.search(line) and any(address in line for address in workers)
        for line in (log.stdout + log.stderr).splitlines()
    )


@seldom
def a_node_has_its_keys() -> bool:
    return any(
        site_run.on_node(node, "sh", "-c", "ls /etc/rocemesh/mesh/container/sshd_config 2> /dev/null || true").strip()
        for node in config.BY_NAME
    )


@seldom
def a_worker_trains() -> bool:
    return site_run.trains(WORKERS[-1])
