"""What somebody types at an Onyx switch, past everything that the collection knows of it."""

from __future__ import annotations

from pathlib import Path

import paramiko


def typed(address: tuple[str, int], password: str, known_hosts: Path, *lines: str) -> None:
    """In configuration mode, line by line. AssertionError: the switch refused one."""
    with paramiko.SSHClient() as client:
        client.load_host_keys(str(known_hosts))
        client.connect(*address, "admin", password, look_for_keys=False, allow_agent=False)
        shell = client.invoke_shell()
        shell.settimeout(30)
        for line in ("enable", "configure terminal", *lines, "show version"):
            shell.send(f"{line}\n".encode())
        said = b""
        while b"Product" not in said:
            said += shell.recv(65536)
    assert b"\n%" not in said, said.decode()
