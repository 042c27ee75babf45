# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for community.docker.docker_container_exec: a folder for each container; mpirun writes what NCCL would.

$STUB_HOST is the host (its interpreter sets it), $STUB_DIR holds one folder per host, ``plan.json`` (what a run says)
and ``calls.jsonl`` (the argument vectors of all runs).
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess

from ansible.module_utils.basic import AnsibleModule

ROOT = pathlib.Path(os.environ["STUB_DIR"])


def mpirun(argv: list[str]) -> dict[str, object]:
    plan = json.loads((ROOT / "plan.json").read_text())
    with (ROOT / "calls.jsonl").open("a") as calls:
        calls.write(json.dumps(argv) + "\n")
    given = dict(argv[at + 1].split("=", 1) for at, word in enumerate(argv) if word == "-x")
    prefix = given.get("NCCL_DEBUG_FILE", "").split(".%h")[0]
    if prefix:
        for host, text in plan["nccl"].items():
            folder = ROOT / host
            folder.mkdir(exist_ok=True)
            (folder / (pathlib.Path(prefix).name + f".{host}.7.log")).write_text(text)
        (ROOT / plan["head"] / (pathlib.Path(prefix).name + ".topology.xml")).write_text('<system version="1"/>')
        return {"rc": plan["rc"], "stdout": "probe figures", "stderr": plan["stderr"]}
    return {"rc": 0, "stdout": "training figures", "stderr": ""}


def main() -> None:
    module = AnsibleModule(
        {"container": {"type": "str"}, "argv": {"type": "list", "elements": "str"}}, supports_check_mode=True
    )
    argv = module.params["argv"]
    if "mpirun" in argv:
        module.exit_json(changed=True, **mpirun(argv))
    folder = ROOT / os.environ["STUB_HOST"]
    folder.mkdir(exist_ok=True)
    argv[-1] = str(folder / pathlib.Path(argv[-1]).name)  # the container's /tmp
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    module.exit_json(changed=True, rc=done.returncode, stdout=done.stdout, stderr=done.stderr)


if __name__ == "__main__":
    main()
