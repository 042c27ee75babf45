"""A node for the driver profiles: a throw-away disk, the lab's tools on it, and the roles run there for real."""

from __future__ import annotations

import json
import pathlib
import time
from typing import Any, Callable

import yaml

from tests.integration.nic import media
from tests.integration.nic.throwaway import REPOSITORY, Disk, checksum, package, playbook, sign
from tests.unit.nic.twin import TOOLS, Rack

# Ten seconds on a machine with nothing else to do.
TIMEOUT = 900.0
# These disks have a driver's module in a simulated tree and no GPU: what is looked at there is the installation.
DRIVER_ALONE = {"guest_ats_state": "queried", "guest_check_gpus": False}


class Node:
    def __init__(self, shared: pathlib.Path, place: Disk) -> None:
        self.disk = place
        self.shared = shared
        (shared / "hw").mkdir()
        self.rack = Rack(shared / "hw")

    # ---- running a role ----------------------------------------------------------------------------------------------

    def _command(
        self, role: str, entry: str, options: tuple[str, ...], variables: dict[str, Any], hosts: str = "localhost"
    ) -> list[str]:
        task = {
            "ansible.builtin.include_role": {"name": f"rocemesh.multinode.{role}", "tasks_from": entry},
            "vars": variables,
        }
        book = self.shared / "play.yml"
        play = {"hosts": hosts, "connection": "local", "gather_facts": False, "tasks": [task]}
        book.write_text(yaml.safe_dump([play]), encoding="utf-8")
        python = ["-e", "ansible_python_interpreter=/usr/bin/python3"]
        return ["env", "-C", str(REPOSITORY), playbook(), "-i", "localhost,", *python, *options, str(book)]

    @property
    def environment(self) -> dict[str, str]:
        return {
            **self.rack.environment("/usr/sbin:/usr/bin:/sbin:/bin"),
            "ANSIBLE_LOCAL_TEMP": str(self.shared / "ansible"),
            "ANSIBLE_HOME": str(self.shared / "home"),
        }

    def role(self, *options: str, name: str = "guest", entry: str = "main", **variables: Any) -> tuple[int, str]:
        """Exit code and output, white space made one."""
        command = self._command(name, entry, options, variables)
        done = self.disk.run(*command, env=self.environment, timeout=TIMEOUT)
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    def heard(
        self, cases: dict[str, dict[str, Any]], name: str = "guest", entry: str = "main"
    ) -> dict[str, tuple[bool, int, str]]:
        """One play in which this disk is a host once per case, under its name: whether the role failed, what it
        changed, and its words to whoever failed. For what stops before anything is changed: they share the disk."""
        own = {"ansible_connection": "local", "ansible_python_interpreter": "/usr/bin/python3"}
        inventory = self.shared / "cases.json"
        hosts = {case: {**own, **variables} for case, variables in cases.items()}
        inventory.write_text(json.dumps({"all": {"hosts": hosts}}), encoding="utf-8")
        command = self._command(name, entry, (), {}, hosts="all")
        command[command.index("localhost,")] = str(inventory)
        json_callback = {**self.environment, "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json"}
        done = self.disk.run(*command, env=json_callback, timeout=TIMEOUT)
        assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
        try:
            said = json.loads(done.stdout[done.stdout.index("{") :])
        except ValueError:
            raise AssertionError(done.stdout + done.stderr) from None
        words: dict[str, list[str]] = {case: [] for case in cases}
        for play in said["plays"]:
            for task in play["tasks"]:
                for host, result in task["hosts"].items():
                    if result.get("failed"):
                        words[host].append(json.dumps(result, ensure_ascii=False))
        counts = said["stats"]
        return {
            case: (counts[case]["failures"] > 0, counts[case]["changed"], " ".join(" ".join(words[case]).split()))
            for case in cases
        }

    def guest(self, *options: str, **variables: Any) -> tuple[int, str]:
        return self.role(*options, **{**DRIVER_ALONE, **variables})

    def must(self, *options: str, **variables: Any) -> str:
        code, output = self.guest(*options, **variables)
        assert code == 0, output
        return output

    def refused(self, *options: str, **variables: Any) -> str:
        code, output = self.guest(*options, **variables)
        assert code != 0, output
        assert "Traceback" not in output, output
        return output

    def killed_and_again(self, task: str, **variables: Any) -> str:
        """ansible-playbook is ended with SIGKILL while a package is being configured; a second one starts, meets what
        the first has left running, and gets to ``task``. Only then the package may go on."""
        variables = {**DRIVER_ALONE, **variables}
        self.disk.run("touch", "/etc/SIMULATED-wait")
        command = self._command("guest", "main", (), variables)
        first = self.disk.start(*command, env=self.environment, output=self.shared / "first.log")
        try:
            wait_for(lambda: self.disk.exists("/etc/SIMULATED-reached") or first.poll() is not None)
            assert first.poll() is None, (self.shared / "first.log").read_text()
        finally:
            first.kill()
            first.wait(timeout=30)
        assert first.returncode == -9
        log = self.shared / "second.log"
        second = self.disk.start(*command, env=self.environment, output=log)
        try:
            wait_for(lambda: task in log.read_text() or second.poll() is not None)
            assert second.poll() is None, log.read_text()
            self.disk.run("rm", "/etc/SIMULATED-wait")
            second.wait(timeout=TIMEOUT)
        finally:
            second.kill()
            second.wait(timeout=30)
        assert second.returncode == 0, log.read_text()
        return " ".join(log.read_text().split())

    # ---- what is installed from --------------------------------------------------------------------------------------

    def _without_a_driver(self) -> None:
        """The disk loses the simulated ofed_info, so that the package's counts."""
        self.disk.run("rm", "-f", str(TOOLS / "ofed_info"))

    def deb(self, size_kib: int = 0) -> dict[str, Any]:
        """Variables for a package that carries the repository, as doca-host does."""
        self._without_a_driver()
        repository = media.doca(self.shared / "media", size_kib)
        target = "/usr/share/doca-host-3.2.1/repo"
        source = f"deb [trusted=yes] file:{target} ./\n"
        made = package(self.shared, "doca-host", "3.2.1", tree=f"{repository}:/repo",
                       postinst=f"#!/bin/sh\nmkdir -p $(dirname {target}); ln -sfn /repo {target}\n",
                       **{"file:/etc/apt/sources.list.d/doca.list": source})  # fmt: skip
        return {
            "guest_ofed_profile": "current",
            "guest_doca_source": "deb",
            "guest_doca_deb_url": made.as_uri(),
            "guest_doca_deb_checksum": checksum(made),
        }

    def signed(self) -> dict[str, Any]:
        self._without_a_driver()
        repository = media.doca(self.shared / "media")
        key = sign(repository)
        return {
            "guest_ofed_profile": "current",
            "guest_doca_repository": "file:///mirror/media",
            "guest_doca_key_url": key.as_uri(),
            "guest_doca_key_checksum": checksum(key),
        }

    def archive(self, version: str = media.OFED_NEW) -> dict[str, Any]:
        """Variables for MLNX_OFED."""
        self._without_a_driver()
        made = media.ofed(self.shared, version)
        return {
            "guest_ofed_profile": "guide",
            "guest_ofed_version": version,
            "guest_ofed_system": media.SYSTEM,
            "guest_ofed_url": made.as_uri(),
            "guest_ofed_checksum": checksum(made),
        }

    def whole(self, version: str) -> bool:
        """The driver is configured, and dpkg has nothing left to do."""
        return self.disk.version(media.KERNEL_PACKAGE) == version and self.disk.run("dpkg", "--audit").stdout == ""


def wait_for(condition: Callable[[], bool], seconds: float = TIMEOUT) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.1)
