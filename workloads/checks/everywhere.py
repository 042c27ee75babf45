"""Run one command in the containers of all hosts at once, from the container of the head, through the mesh.

Usage: everywhere.py HEAD HOSTS SECONDS program [argument ...]
HOSTS is a JSON list of objects with an ``address``; at HEAD, an address, the command runs here, else by ssh.
Prints a JSON list: of each host whose command succeeded within SECONDS ``item`` (the host as it was given), ``rc``,
``stdout`` and ``stderr``. A host that is left out has to be asked in another way, which can say why it did not answer.
"""

from __future__ import annotations

import concurrent.futures
import json
import shlex
import subprocess
import sys
from typing import Any, Sequence

AT_ONCE = 64  # logins of the head at a time: each is a process of its own


def ask(host: dict[str, Any], here: bool, seconds: float, words: Sequence[str]) -> dict[str, Any] | None:
    command = [*words] if here else ["ssh", str(host["address"]), " ".join(shlex.quote(word) for word in words)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return None
    said = {name: getattr(done, name).decode("utf-8", "replace") for name in ("stdout", "stderr")}
    return {"item": host, "rc": 0, **said}


def main(arguments: Sequence[str]) -> int:
    head, hosts, seconds, words = arguments[0], json.loads(arguments[1]), float(arguments[2]), arguments[3:]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        given = [pool.submit(ask, host, host["address"] == head, seconds, words) for host in hosts]
        answers = [each.result() for each in given]
    print(json.dumps([answer for answer in answers if answer is not None]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
