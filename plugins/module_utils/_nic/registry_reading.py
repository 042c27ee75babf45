"""What a registry has of images: digests, without any layer being moved. Runs on Python 3.8, on nodes.

Asked through Docker, or by skopeo, since Podman has no such question: they know the CA and every way of logging in.
"""

from __future__ import annotations

import base64
import http.client
import json
import re
import socket
import subprocess
from typing import Any, Callable, Mapping, Sequence

from .._layer import LayerError

_ABSENT = re.compile("manifest unknown|not found|name unknown|no such manifest")
Ask = Callable[[str], "tuple[str, str]"]  # reference -> digest, or what was answered in its place


class _Socket(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def docker(path: str, registry: str, login: tuple[str, str], timeout: float) -> Ask:
    """``path``: of the engine's socket; ``login``: user and password, both empty without one."""
    said = {"username": login[0], "password": login[1], "serveraddress": registry} if login[0] else {}
    headers = {"X-Registry-Auth": base64.urlsafe_b64encode(json.dumps(said).encode()).decode()}

    def ask(reference: str) -> tuple[str, str]:
        connection = _Socket(path, timeout)
        try:
            connection.request("GET", f"/distribution/{reference}/json", headers=headers)
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            return "", f"the engine at {path}: {error or type(error).__name__}"
        finally:
            connection.close()
        found = _object(text)
        if answer.status == 200:
            return str(_object(found.get("Descriptor")).get("digest") or ""), text
        return "", str(found.get("message") or text.strip() or f"HTTP status {answer.status}")

    return ask


def skopeo(registry: str, login: tuple[str, str], timeout: float, run: Any = subprocess.run) -> Ask:
    """The password goes to its standard input, and on no command line."""
    known = {registry: {"auth": base64.b64encode(":".join(login).encode()).decode()}} if login[0] else {}
    command = ["skopeo", "inspect", "--no-tags", "--authfile", "/dev/stdin", "--format", "{{.Digest}}"]

    def ask(reference: str) -> tuple[str, str]:
        given = json.dumps({"auths": known})
        try:
            done = run(
                [*command, f"docker://{reference}"],
                input=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=timeout,
                check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return "", str(error)
        return (done.stdout.strip(), "") if done.returncode == 0 else ("", done.stderr.strip() or "no message")

    return ask


def digests(ask: Ask, references: Sequence[str], registry: str, host: str) -> Mapping[str, str]:
    """Reference -> digest, empty where the registry says that it has none. Raises LayerError for any other answer."""
    found = {}
    for reference in references:
        digest, said = ask(reference)
        if not digest.startswith("sha") and not _ABSENT.search(said):
            raise LayerError(
                f"registry {registry} gave no answer about {reference}: {said or 'no message'}",
                host=host,
                remedy="check that the registry runs and can be reached from this node, its certificate and the login",
            )
        found[reference] = digest if digest.startswith("sha") else ""
    return found


def _object(value: Any) -> Mapping[str, Any]:
    """An object, or the object that a text holds; empty for everything else."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}
