# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for mpirun over the hosts of the fabric check: STEP PLAN -> what the first host would print.

STUB_LACKS: hosts whose image has no perftest; STUB_SLOW: a NIC at 150 of 390 Gb/s.
"""

from __future__ import annotations

import os
import sys

from tests.unit.fabric.test_check import printed

HOSTS = 4


def main(step: str, plan: str) -> str:
    if step == "fabric_programs":
        lacking = os.environ.get("STUB_LACKS", "").split()
        lines = []
        for rank in range(HOSTS):
            lines += [f"[1,{rank}]<stdout>:LACKS ib_write_bw\n"] if str(rank) in lacking else []
            lines.append(f"[1,{rank}]<stdout>:LOOKED\n")
        return "".join(lines)
    slow = int(os.environ.get("STUB_SLOW", "-1"))
    part = {"part": step.rsplit("_", 1)[1], "plan": plan}
    return printed(part, lambda pair: 150.0 if slow in pair else 390.0)


if __name__ == "__main__":
    sys.stdout.write(main(*sys.argv[1:3]))
