"""Plays playbooks/site.yml on the twin: one line per stage, and the whole output in a file."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from . import config

LOG = config.REPO / "reports" / "site.log"


def play(arguments: Sequence[str], *, everything: bool) -> int:
    """The exit status of ansible-playbook. ``everything``: its output as well."""
    shown = {"ANSIBLE_LOG_PATH": str(LOG)} if everything else {"ANSIBLE_STDOUT_CALLBACK": "rocemesh.multinode.stages"}
    command = [
        *(str(Path(sys.executable).with_name("ansible-playbook")), "playbooks/site.yml"),
        *(word for inventory in config.SHAPE.inventories for word in ("-i", inventory)),
        # The lab is the one place where a restart needs no further word: it is simulated.
        *("-e", "rocemesh_allow_reboot=true", *arguments),
    ]
    if config.SHAPE.machine:
        print('site.yml was played on this shape without its jobs; see lab/README.md, "Real guests".')
    begun = time.time()
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with subprocess.Popen(command, cwd=config.REPO, env={**os.environ, "ROCEMESH_LOG": str(LOG), **shown}) as run:
        # Ctrl-C reaches both: the run says what it leaves behind.
        while run.poll() is None:
            with contextlib.suppress(KeyboardInterrupt):
                run.wait()
    rc = run.returncode
    if rc:
        why = "It was killed: run" if rc < 0 else "Put right what the message names and run"
        print(f"site.yml stopped with rc {rc}. Nothing needs cleaning up. {why} the same command again; it goes on.")
        return rc
    report = config.REPO / "reports" / "latest" / "report.html"
    if report.exists() and report.stat().st_mtime >= begun:
        print(f"Report (SIMULATED devices): {report}")
    return 0
