"""Stands in for mpirun: notes its arguments in ``calls.jsonl``, writes what NCCL would, ends as ``plan.json`` says.

Where the plan has an answer for a word of the command line, it prints that and nothing else. ``timed``: what NCCL
writes in the training, where that is not what it wrote in the probe; then the training is what ends as the plan says.
"""

from __future__ import annotations

import json
import os
import pathlib
import sys

ROOT = pathlib.Path(os.environ["STUB_DIR"])


def main() -> int:
    plan = json.loads((ROOT / "plan.json").read_text())
    with (ROOT / "calls.jsonl").open("a") as calls:
        calls.write(json.dumps(sys.argv) + "\n")
    for word, answer in plan["answers"].items():
        if any(word in argument for argument in sys.argv):
            print(answer, end="")
            return 0
    given = dict(
        sys.argv[at + 1].split("=", 1) for at, word in enumerate(sys.argv) if word == "-x" and "=" in sys.argv[at + 1]
    )
    prefix = given.get("NCCL_DEBUG_FILE", "").split(".%h")[0]
    if not prefix:
        print("training figures")
        return 0
    timed = prefix.endswith("-timed")
    for host, text in plan["nccl"].items():
        folder = ROOT / host
        folder.mkdir(exist_ok=True)
        words = plan["timed"].get(host, text) if timed else text
        (folder / (pathlib.Path(prefix).name + f".{host}.7.log")).write_text(words)
    if "NCCL_TOPO_DUMP_FILE" in given:
        (ROOT / plan["head"] / (pathlib.Path(prefix).name + ".topology.xml")).write_text('<system version="1"/>')
    print("training figures" if timed else "probe figures")
    if timed == bool(plan["timed"]):
        print(plan["stderr"], file=sys.stderr, end="")
        return int(plan["rc"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
