"""The simulated Onyx switch, and onyx_roce run against it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.integration import simulated_switch
from tests.integration.simulated_switch import ADDRESS, started


class Simulator(simulated_switch.Simulator):
    module = "onyx_roce"

    @property
    def known_hosts(self) -> Path:
        return self.trust

    def log(self) -> Any:
        """``sessions`` and ``lines`` since the last reset, or since `forget`."""
        return self.request("GET", "/log")

    def forget(self) -> None:
        self.request("DELETE", "/log")

    @property
    def options(self) -> dict[str, Any]:
        return {**super().options, "username": "admin", "known_hosts": str(self.known_hosts)}

    @property
    def role(self) -> dict[str, Any]:
        return {
            **super().role,
            "switch_port": self.port,
            "switch_known_hosts": str(self.known_hosts),
            "switch_ports": ["1/1-1/4"],
        }


@contextlib.contextmanager
def running(directory: Path, *arguments: str) -> Iterator[Simulator]:
    host_key, known_hosts = directory / "host_key", directory / "known_hosts"
    with started("lab.switch", directory, "--host-key", str(host_key), *arguments) as (port, control):
        kind, key = host_key.with_name("host_key.pub").read_text().split()[:2]
        known_hosts.write_text(f"[{ADDRESS}]:{port} {kind} {key}\n")
        yield Simulator(port, control, known_hosts, directory)
