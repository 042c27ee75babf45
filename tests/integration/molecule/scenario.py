"""Plays a molecule scenario on the nodes of the running twin."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
# One for each way to get a driver; minutes each, see test_driver_profiles.py.
PROFILES = {"guest_current", "guest_guide"}
# Roles that change nothing on a machine, and where they are played instead.
WITHOUT = {
    "fabric": "tests/integration/fabric: measures between nodes, which it needs namespaces for",
    "preflight": "tests/integration/preflight, and the site suite: nothing found on a right site, nothing changed",
}


def play(scenario: str) -> str:
    """Return its output."""
    program = pathlib.Path(sys.executable).parent / "molecule"
    with tempfile.TemporaryDirectory(prefix="rm-") as home:
        # molecule writes below the home directory; ssh's control sockets need a short path.
        done = subprocess.run(
            [str(program), "test", "-s", scenario],
            cwd=ROOT,
            env={**os.environ, "HOME": home, "NO_COLOR": "1", "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-4000:]
    return done.stdout
