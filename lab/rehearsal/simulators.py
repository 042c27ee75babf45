"""Build the simulated vCenter; start simulators as children of this process."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from lab.config import REPO, LabError

START_SECONDS = 60
READY = re.compile(r"ready (?:https|ssh)=\S+:(\d+) control=(\S+)|READY https://\S+:(\d+)/sdk control http://(\S+)")


def build_vcenter() -> Path:
    """Build the simulated vCenter from its sources; the Go cache makes later builds quick."""
    ready = os.environ.get("ROCEMESH_LABVSPHERE")
    if ready:
        return Path(ready)
    cache, binary = REPO / ".build" / "vsphere" / "gocache", REPO / ".build" / "vsphere" / "labvsphere"
    cache.mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ,
        "GO111MODULE": "off",
        "GOPATH": "/usr/share/gocode",
        "GOCACHE": str(cache),
        "CGO_ENABLED": "0",
    }
    # Processes of a test session start together: one of them compiles, the others find it done.
    with (cache.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            subprocess.run(
                ["go", "build", "-o", str(binary), "."],
                cwd=REPO / "lab" / "vsphere",
                env=environment,
                check=True,
                timeout=600,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise LabError(
                f"the simulated vCenter is not built: {error}. Install golang-go and golang-github-vmware-govmomi-dev."
            ) from error
    return binary


@contextlib.contextmanager
def started(command: Sequence[str]) -> Iterator[tuple[int, str, subprocess.Popen[str]]]:
    """The simulator's port, the address of its control and its process, as long as it runs."""
    process = subprocess.Popen(command, cwd=REPO, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        port, control = _await_ready(process)
        yield port, control, process
    finally:
        process.terminate()
        process.communicate(timeout=30)


def _await_ready(process: subprocess.Popen[str]) -> tuple[int, str]:
    assert process.stdout is not None
    deadline = time.monotonic() + START_SECONDS
    output = ""
    while time.monotonic() < deadline:
        if not select.select([process.stdout], [], [], 1)[0]:
            continue
        line = process.stdout.readline()
        output += line
        ready = READY.search(line)
        if ready:
            return int(ready.group(1) or ready.group(3)), ready.group(2) or ready.group(4)
        if not line:
            break
    raise LabError(f"the simulator did not start: {output}")
