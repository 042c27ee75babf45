"""Daemon that plays physics: power of the VMs, what a host reboot does to a card, what a guest sees on its bus.

``python -m lab.physics``. vSphere tells it of power (POST /event/... and waits for the answer), Docker tells it of
guests that stopped by themselves. It alone writes pci.json, and the "current" half of nic.json.

    GET /state    POST /event/VCENTER {"event": ...}    POST /reset    GET, POST, DELETE /fault
    POST /carry {"on": ...}
"""

from __future__ import annotations

import functools
import http.server
import json
import logging
import re
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from . import ats, carrier, config, control, engine, files, hardware, nodes, processes

log = logging.getLogger("physics")

# How a container ends when its systemd called reboot(2): the kernel kills the first process of the pid namespace.
# Measured: `reboot`, `shutdown -r` 129 (SIGHUP); `poweroff`, `halt`, `docker stop` 130 (SIGINT).
GUEST_REBOOT = 129

# Less than the 60 s that vSphere waits for an answer.
_SHUTDOWN_SECONDS = 50

_FACTORY_VM: dict[str, Any] = {"power": "off", "power_on": None}


class BadRequest(ValueError):
    """The caller's mistake; answered with 400."""


class Physics:
    """State of the whole lab's power; every method may be called from any thread."""

    def __init__(self, paths: config.Paths) -> None:
        self.paths = paths
        stored = files.read_json(paths.physics / "state.json", {"vms": {}, "faults": []})
        self.vms: dict[str, dict[str, Any]] = {
            node.name: {**_FACTORY_VM, **stored["vms"].get(node.name, {})} for node in config.NODES
        }
        self.faults: list[dict[str, Any]] = stored["faults"]
        self.tools: dict[str, str] = dict.fromkeys(config.BY_NAME, "notRunning")
        self._locks = {name: threading.RLock() for name in config.BY_NAME}
        self._store_lock = threading.Lock()
        # Containers that this daemon itself ended: Docker will report a death that is no news.
        self._expected: Counter[str] = Counter()
        self._outbox = threading.Condition()
        self._messages: list[dict[str, str]] = []
        self.carrier = carrier.Carriers(_in_node)
        self.carrier.on = bool(stored.get("carry", True))
        self._awaited: set[str] = set()

    # --- state ------------------------------------------------------------------------------------------------------

    def _store(self) -> None:
        with self._store_lock:
            state = {"vms": self.vms, "faults": self.faults, "carry": self.carrier.on}
            files.write_json(self.paths.physics / "state.json", state)

    def as_json(self) -> dict[str, Any]:
        return {
            "simulated": True,
            "vms": {name: {**vm, "tools": self.tools[name]} for name, vm in self.vms.items()},
            "nic": {name: hardware.read_nic(self.paths, name) for name in config.BY_NAME},
            "pci": {name: hardware.read_pci(self.paths, name) for name in config.BY_NAME},
            "faults": self.faults,
            "carrier": self.carrier.as_json(),
        }

    def carry(self, message: dict[str, Any]) -> None:
        """Whether the switch decides what the nodes' traffic does."""
        if not isinstance(message.get("on"), bool):
            raise BadRequest('{"on": true} or {"on": false}')
        self.carrier.switch_on(message["on"])
        self._store()

    def fault(self, name: str, vm: str) -> dict[str, Any] | None:
        return next((fault for fault in self.faults if fault["name"] == name and fault.get("vm") == vm), None)

    # --- what vSphere says ------------------------------------------------------------------------------------------

    def event(self, message: dict[str, Any], vcenter: str = "vsphere") -> None:
        names = {node.vm: node.name for node in config.NODES if node.vcenter == vcenter}
        message = {
            **message,
            **({"vm": names.get(message["vm"], message["vm"])} if "vm" in message else {}),
            **({"vms": [names.get(name, name) for name in message["vms"]]} if "vms" in message else {}),
        }
        actions: dict[str, Callable[[dict[str, Any]], None]] = {
            "vm_power_on": self._power_on,
            "vm_power_off": self._power_off,
            "vm_shutdown_guest": self._shutdown_guest,
            "vm_reboot_guest": self._reboot_guest,
            "host_rebooted": self._host_rebooted,
        }
        name = message.get("event")
        if name not in actions:
            raise BadRequest(f"unknown event {name!r}; known: {', '.join(actions)}")
        log.info("event %s", json.dumps(message, sort_keys=True))
        actions[name](message)

    def _vm(self, message: dict[str, Any]) -> config.Node:
        node = config.BY_NAME.get(str(message.get("vm")))
        if node is None:
            raise BadRequest(f"unknown vm {message.get('vm')!r}; known: {', '.join(config.BY_NAME)}")
        return node

    def _power_on(self, message: dict[str, Any]) -> None:
        node = self._vm(message)
        runtime, keys = bool(message["ats_runtime"]), dict(message["extra_config"])
        with self._locks[node.name]:
            self._kill(node)
            hardware.power_on(self.paths, node.name, ats_runtime=runtime, extra_config=keys)
            self.vms[node.name] = {"power": "on", "power_on": {"ats_runtime": runtime, "extra_config": keys}}
            self._store()
            self._start(node)

    def _power_off(self, message: dict[str, Any]) -> None:
        """The plug is pulled: the guest gets no chance to write anything."""
        node = self._vm(message)
        with self._locks[node.name]:
            self.vms[node.name]["power"] = "off"
            self._store()
            self._kill(node)

    def _shutdown_guest(self, message: dict[str, Any]) -> None:
        """Orderly: asks systemd and answers when the guest has ended; vSphere takes the answer as "it is off"."""
        node = self._vm(message)
        with self._locks[node.name]:
            self._expected[node.name] += 1
        try:
            engine.docker("exec", node.container, "systemctl", "poweroff", timeout=30)
            processes.wait_for(f"{node.name} shuts down", lambda: not nodes.running(node), _SHUTDOWN_SECONDS, 0.1)
        except config.LabError:
            # It may still end later: then that is news, and guest_ended tells vSphere.
            with self._locks[node.name]:
                self._expected[node.name] -= 1
            raise
        with self._locks[node.name]:
            self.vms[node.name]["power"] = "off"
            self._store()
            self._tools(node.name, "notRunning")

    def _reboot_guest(self, message: dict[str, Any]) -> None:
        engine.docker("exec", self._vm(message).container, "systemctl", "reboot", timeout=30)

    def _host_rebooted(self, message: dict[str, Any]) -> None:
        for name in message["vms"]:
            node = self._vm({"vm": name})
            with self._locks[node.name]:
                if self.fault("nic_value_stuck", name):
                    log.info("fault nic_value_stuck: next stays next on %s", name)
                    continue
                if self.fault("nic_needs_power_cycle", name) and not message.get("cold", False):
                    log.info("fault nic_needs_power_cycle: %s had power all the time, next stays next", name)
                    continue
                for pci, parameter, before, after in hardware.host_rebooted(self.paths, name):
                    log.info("%s %s %s: current %s -> %s", name, pci, parameter, before, after)

    # --- containers -------------------------------------------------------------------------------------------------

    def _kill(self, node: config.Node) -> None:
        self._tools(node.name, "notRunning")
        if nodes.running(node):
            self._expected[node.name] += 1
            with self.carrier.held():
                engine.docker("kill", node.container)

    def _start(self, node: config.Node) -> None:
        with self.carrier.held(node.name):
            engine.docker("start", node.container)
        with self._outbox:
            self._awaited.add(node.name)
            self._outbox.notify_all()

    def _tools(self, name: str, state: str) -> None:
        if self.tools[name] != state:
            self.tools[name] = state
            self._tell({"vm": name, "tools": state})

    def guest_ended(self, name: str, status: int) -> None:
        """Docker: the container of a VM has ended."""
        node = config.BY_NAME[name]
        with self._locks[name]:
            if self._expected[name]:
                self._expected[name] -= 1
                return
            if self.vms[name]["power"] == "off" or nodes.running(node):
                return
            self._tools(name, "notRunning")
            if status == GUEST_REBOOT:
                # pci.json stays: vmx keys and host settings are read at power-on, a guest's reboot is none.
                log.info("%s reboots itself", name)
                self._start(node)
                return
            log.info("%s ended with status %s: powered off by its guest", name, status)
            self.vms[name]["power"] = "off"
            self._store()
            self._tell({"vm": name, "power": "off"})

    def resume(self) -> None:
        """After a start of this daemon: deaths that nobody saw, and guests whose tools have to be reported again."""
        for node in config.NODES:
            if self.vms[node.name]["power"] == "off":
                continue
            present = engine.inspect("container", node.container)
            if present and not present["State"]["Running"]:
                self.guest_ended(node.name, int(present["State"]["ExitCode"]))
            elif present:
                with self._outbox:
                    self._awaited.add(node.name)
                    self._outbox.notify_all()

    # --- what this daemon says to vSphere ---------------------------------------------------------------------------

    def _tell(self, message: dict[str, str]) -> None:
        """Queued: vSphere may be waiting for our own answer right now."""
        with self._outbox:
            self._messages.append(message)
            self._outbox.notify_all()

    def speak(self) -> None:
        """Thread: delivers the queue in order; nobody listening is no error, vSphere asks at its own start."""
        while True:
            with self._outbox:
                self._outbox.wait_for(lambda: bool(self._messages))
                message = self._messages.pop(0)
            node = config.BY_NAME[message["vm"]]
            try:
                control.request("POST", control.url(node.vcenter, "/guest"), {**message, "vm": node.vm}, timeout=30)
            except (ConnectionError, config.LabError) as error:
                log.warning("vSphere did not take %s: %s", message, error)

    def watch_boots(self) -> None:
        """Thread: VMware Tools count as running once sshd of a started guest greets."""
        while True:
            with self._outbox:
                self._outbox.wait_for(lambda: bool(self._awaited))
                awaited = sorted(self._awaited)
            for name in awaited:
                if self.fault("tools_not_running", name) or not nodes.ssh_answers(config.BY_NAME[name]):
                    continue
                with self._locks[name]:
                    with self._outbox:
                        self._awaited.discard(name)
                    if self.vms[name]["power"] == "on":
                        self._apply_boot_faults(name)
                        if not self.fault("node_frozen", name):
                            self._tools(name, "running")
            time.sleep(0.2)  # interval between two looks, not a wait for anything

    def watch_engine(self) -> None:
        """Thread: follows `docker events`; after a break it looks for what it has missed."""
        while True:
            events = subprocess.Popen(
                engine.command(
                    *("events", "--filter", "type=container", "--filter", "event=die"),
                    *("--filter", f"label={config.VM_LABEL}", "--format", "{{json .Actor.Attributes}}"),
                ),
                stdout=subprocess.PIPE,
                text=True,
                env=engine.environment(),
            )
            try:
                self.resume()
            except config.LabError as error:
                log.warning("%s", error)
            for line in events.stdout or ():
                attributes = json.loads(line)
                try:
                    self.guest_ended(attributes[config.VM_LABEL], int(attributes["exitCode"]))
                except (config.LabError, KeyError, ValueError) as error:
                    log.error("death of %s not handled: %s", line.strip(), error)
            log.warning("docker events ended with status %s; following again", events.wait())
            time.sleep(1)  # the engine is gone or restarting; `docker events` would end at once

    # --- reset and faults -------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Every part as delivered; nodes new from their image and powered off (vSphere's reset powers them on)."""
        self.clear_faults()
        for lock in self._locks.values():
            lock.acquire()
        try:
            for node in config.NODES:
                self.vms[node.name] = dict(_FACTORY_VM)
                self.tools[node.name] = "notRunning"
                if nodes.running(node):
                    self._expected[node.name] += 1
            with self._outbox:
                self._awaited.clear()
                self._messages.clear()
            self._store()
            with self.carrier.held(*config.BY_NAME):
                nodes.recreate_all(self.paths)
            for node in config.NODES:
                hardware.make_factory(self.paths, node.name, replace=True)
        finally:
            for lock in self._locks.values():
                lock.release()

    def inject(self, fault: dict[str, Any]) -> None:
        """{"name": ..., "vm": ...}; see README.md for the list."""
        name = fault.get("name")
        if name not in FAULTS:
            raise BadRequest(f"unknown fault {name!r}; known: {', '.join(FAULTS)}")
        unknown = set(fault) - {"name", *FAULTS[name]}
        missing = set(FAULTS[name]) - set(fault)
        if unknown or missing:
            raise BadRequest(f"fault {name} takes {', '.join(FAULTS[name]) or 'nothing'}; got {sorted(fault)}")
        vm = self._vm(fault).name if "vm" in fault else ""
        if name == "nic_tool" and not isinstance(fault["faults"], dict):
            raise BadRequest("nic_tool: faults is an object, see node/tools/README.md")
        active = dict(fault)
        if name in {"nic_without_ats", "nic_is_vf"}:
            if self.fault("nic_without_ats", vm) or self.fault("nic_is_vf", vm):
                raise BadRequest(f"{vm} has another card already; DELETE /fault first")
            cards = hardware.read_nic(self.paths, vm)["cards"]
            active["original"] = cards
            change = ats.without_ats if name == "nic_without_ats" else ats.as_virtual_functions
            hardware.set_cards(self.paths, vm, change(cards))
        self.faults.append(active)
        self._store()
        if name == "nic_tool":
            hardware.set_tool_faults(self.paths, vm, fault["faults"])
        elif name == "tools_not_running":
            self._tools(vm, "notRunning")
        elif name in {"cluster_ports_blocked", "node_frozen", "sudo_password", "memlock_refused"}:
            self._apply_boot_faults(vm)
        elif name == "registry_down":
            engine.docker("stop", "--time", "1", config.REGISTRY_CONTAINER)

    def _apply_boot_faults(self, vm: str) -> None:
        """Faults that live inside the running container and have to be put in place after each boot."""
        node = config.BY_NAME[vm]
        if not nodes.running(node):
            return
        if self.fault("cluster_ports_blocked", vm):
            self._firewall(node, "-I", check=True)
        asked = self.fault("sudo_password", vm)
        if asked:
            _script(node, _ASK_FOR_PASSWORD, asked["password"])
        if self.fault("memlock_refused", vm):
            _script(node, f"touch {_REFUSES}")
        if self.fault("node_frozen", vm):
            engine.docker("pause", node.container, check=False)
            self._tools(vm, "silent")

    @staticmethod
    def _firewall(node: config.Node, action: str, *, check: bool) -> None:
        engine.docker(
            *("exec", node.container, "iptables", "-w", action, "INPUT", "--in-interface", "eth0"),
            *("--source", config.SUBNET, "--protocol", "tcp", "!", "--destination-port", "22", "--syn", "-j", "DROP"),
            check=check,
        )

    def clear_faults(self) -> None:
        while self.faults:
            fault = self.faults.pop()
            name, vm = fault["name"], fault.get("vm", "")
            if "original" in fault:
                hardware.set_cards(self.paths, vm, fault["original"])
            if name == "nic_tool":
                hardware.set_tool_faults(self.paths, vm, {})
            elif name == "node_frozen":
                engine.docker("unpause", config.BY_NAME[vm].container, check=False)
                self._wait_for_tools(vm)
            elif name == "sudo_password":
                _script(config.BY_NAME[vm], _NEVER_ASK, check=False)
            elif name == "memlock_refused":
                _script(config.BY_NAME[vm], f"rm -f {_REFUSES}", check=False)
            elif name == "cluster_ports_blocked":
                self._firewall(config.BY_NAME[vm], "-D", check=False)
            elif name == "tools_not_running":
                self._wait_for_tools(vm)
            elif name == "registry_down":
                engine.docker("start", config.REGISTRY_CONTAINER)
        self._store()

    def _wait_for_tools(self, vm: str) -> None:
        """They are reported as running as soon as the guest answers."""
        if self.vms[vm]["power"] == "on":
            with self._outbox:
                self._awaited.add(vm)
                self._outbox.notify_all()


# name -> the fields that it takes besides "name"
FAULTS: dict[str, tuple[str, ...]] = {
    "nic_without_ats": ("vm",),
    "nic_is_vf": ("vm",),
    "nic_value_stuck": ("vm",),
    "nic_needs_power_cycle": ("vm",),
    "sudo_password": ("vm", "password"),
    "memlock_refused": ("vm",),
    "nic_tool": ("vm", "faults"),
    "tools_not_running": ("vm",),
    "cluster_ports_blocked": ("vm",),
    "node_frozen": ("vm",),
    "registry_down": (),
}


# Where lab-runc looks.
_REFUSES = "/run/lab-memlock-refused"
# As an installer leaves a machine whose user was not told to do without. $0 is the password.
_ASK_FOR_PASSWORD = """
set -e
printf '%s:%s\\n' {user} "$0" | chpasswd
printf '{user} ALL=(ALL) ALL\\nDefaults:{user} timestamp_timeout=0\\n' > /etc/sudoers.d/nvidia
""".format(user=config.NODE_USER)
_NEVER_ASK = """
set -e
printf '{user} ALL=(ALL) NOPASSWD:ALL\\n' > /etc/sudoers.d/nvidia
passwd --quiet --lock {user}
""".format(user=config.NODE_USER)


def _script(node: config.Node, script: str, *arguments: str, check: bool = True) -> None:
    engine.docker("exec", node.container, "bash", "-c", script, *arguments, check=check)


def _in_node(name: str, script: str) -> tuple[int, str]:
    """For the carrier: a script in the node, if there is one."""
    done = engine.docker("exec", config.BY_NAME[name].container, "bash", "-c", script, check=False, timeout=20)
    # The engine's own words for a VM that is off; its exit status is that of a script that failed.
    off = done.returncode != 0 and re.search(r"is not running|is paused|No such container", done.stderr)
    return (125 if off else done.returncode), done.stdout + done.stderr


class Handler(http.server.BaseHTTPRequestHandler):
    physics: Physics

    def _answer(self, status: int, body: Any) -> None:
        data = json.dumps(body, sort_keys=True).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _handle(self) -> None:
        physics = self.physics
        routes: dict[tuple[str, str], Callable[[dict[str, Any]], Any]] = {
            ("GET", "/state"): lambda _: physics.as_json(),
            ("GET", "/fault"): lambda _: {"faults": physics.faults},
            **{("POST", f"/event/{name}"): functools.partial(physics.event, vcenter=name) for name in config.VCENTERS},
            ("POST", "/reset"): lambda _: physics.reset(),
            ("POST", "/carry"): physics.carry,
            ("POST", "/fault"): physics.inject,
            ("DELETE", "/fault"): lambda _: physics.clear_faults(),
        }
        route = routes.get((self.command, self.path))
        if route is None:
            known = ", ".join(f"{method} {path}" for method, path in routes)
            self._answer(404, {"error": f"{self.command} {self.path}: there are {known}"})
            return
        try:
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(text or b"{}")
            if not isinstance(body, dict):
                raise BadRequest("the body is not a JSON object")
            result = route(body)
        except (BadRequest, KeyError, TypeError, json.JSONDecodeError) as error:
            self._answer(400, {"error": f"{type(error).__name__}: {error}"})
        except config.LabError as error:
            log.error("%s %s: %s", self.command, self.path, error)
            self._answer(500, {"error": str(error)})
        else:
            self._answer(200, {"ok": True} if result is None else result)

    do_GET = do_POST = do_DELETE = _handle

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class calls it so
        log.debug(format, *args)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    physics = Physics(config.paths())
    handler = type("PhysicsHandler", (Handler,), {"physics": physics})
    server = Server((config.PHYSICS_IP, config.CONTROL_PORT), handler)
    for loop in (physics.speak, physics.watch_boots, physics.watch_engine):
        threading.Thread(target=loop, name=loop.__name__, daemon=True).start()

    for one in physics.carrier.each:
        threading.Thread(target=one.keep, args=(threading.Event(),), name="carrier", daemon=True).start()

    def stop(number: int, _frame: object) -> None:
        threading.Thread(target=server.shutdown, daemon=True).start()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    log.info("ready on %s:%s", config.PHYSICS_IP, config.CONTROL_PORT)
    server.serve_forever()


if __name__ == "__main__":
    main()
