"""Stands in for mpirun over the hosts of the fabric check: STEP PLAN -> what the first host would print.

The look into the images is the role's own shell text, run once per host with what that host's image would have on its
PATH. STUB_LACKS: hosts whose image has no perftest; STUB_SLOW: a NIC at 150 of 390 Gb/s.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.unit.fabric.test_check import printed

HOSTS = 4


def look(text: str, programs: tuple[str, ...]) -> list[str]:
    """What the shell of an image says that has these programs, and nothing else, on its PATH."""
    with tempfile.TemporaryDirectory() as folder:
        for name in programs:
            (Path(folder) / name).write_text("#!/bin/sh\n")
            (Path(folder) / name).chmod(0o755)
        said = subprocess.run(["/bin/sh", "-c", text], env={"PATH": folder}, capture_output=True, text=True, check=True)
    return said.stdout.splitlines()


def main(step: str, plan: str) -> str:
    if step == "fabric_programs":
        lacking = os.environ.get("STUB_LACKS", "").split()
        lines = []
        for rank in range(HOSTS):
            there = () if str(rank) in lacking else ("ib_write_bw", "ib_read_bw")
            lines += [f"[1,{rank}]<stdout>:{line}\n" for line in look(plan, there)]
        return "".join(lines)
    slow = int(os.environ.get("STUB_SLOW", "-1"))
    part = {"part": step.rsplit("_", 1)[1], "plan": plan}
    return printed(part, lambda pair: 150.0 if slow in pair else 390.0)


if __name__ == "__main__":
    sys.stdout.write(main(*sys.argv[1:3]))
