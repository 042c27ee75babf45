"""QEMU's machine protocol: one command, one answer."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from .. import config

_SECONDS = 10


def ask(path: Path, command: str, **arguments: Any) -> Any:
    """What QEMU returns; LabError with its own words, or if it does not answer."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_SECONDS)
            connection.connect(str(path))
            with connection.makefile("rw", encoding="utf-8") as stream:
                stream.readline()  # its greeting
                _call(stream, "qmp_capabilities", {})
                return _call(stream, command, arguments)
    except (OSError, ValueError) as error:
        raise config.LabError(f"QEMU at {path} does not answer {command}: {error}") from error


def _call(stream: Any, command: str, arguments: dict[str, Any]) -> Any:
    stream.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
    stream.flush()
    while True:
        answer = json.loads(stream.readline())
        if "error" in answer:
            raise config.LabError(f"QEMU refuses {command}: {answer['error'].get('desc')}")
        if "return" in answer:
            return answer["return"]
        # An event of the machine; nobody here waits for one.
