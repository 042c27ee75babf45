"""ansible-playbook on this machine, with a stand-in for community.docker, whose container is this machine."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[3]
PLAYBOOK = pathlib.Path(sys.executable).parent / "ansible-playbook"

# With the options and answers of the real ones. The search for left-overs of earlier runs is answered here: it would
# see the whole machine, and what others run there is none of our business.
DOCKER = {
    "docker_container_exec": """
import json, os, subprocess
from ansible.module_utils.basic import AnsibleModule
module = AnsibleModule({
    "container": {"required": True},
    "argv": {"type": "list", "elements": "str", "required": True},
    "env": {"type": "dict"},
})
if module.params["container"] != "mpicont":
    module.fail_json(msg=f"Could not find container \\"{module.params['container']}\\"")
argv = module.params["argv"]
if argv[3:4] == ["list"] and "LAUNCHERS" in argv[2]:
    module.exit_json(changed=True, rc=0, stdout=json.dumps({"found": []}), stderr="")
environment = {**os.environ, **(module.params["env"] or {})}
done = subprocess.run(argv, capture_output=True, text=True, env=environment)
module.exit_json(changed=True, rc=done.returncode, stdout=done.stdout, stderr=done.stderr)
""",
    "docker_container_info": """
from ansible.module_utils.basic import AnsibleModule
module = AnsibleModule({"name": {"required": True}})
container = {"State": {"Status": "running"}, "HostConfig": {"PidMode": ""}, "Image": "sha256:stand-in"}
module.exit_json(changed=False, exists=True, container=container)
""",
}


def make_docker(place: pathlib.Path) -> None:
    modules = place / "collections" / "ansible_collections" / "community" / "docker" / "plugins" / "modules"
    modules.mkdir(parents=True)
    for name, text in DOCKER.items():
        (modules / f"{name}.py").write_text(text)


def environment(place: pathlib.Path, callback: str = "ansible.builtin.default") -> dict[str, str]:
    return {
        **os.environ,
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_COLLECTIONS_PATH": f"{place / 'collections'}:{ROOT / 'collections'}",
        "ANSIBLE_STDOUT_CALLBACK": callback,
        "ANSIBLE_HOME": str(place / "home"),
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_PIPELINING": "1",
        "ANSIBLE_LOCALHOST_WARNING": "0",
        "LC_ALL": "C.UTF-8",
        "PATH": f"{place / 'bin'}:{os.environ['PATH']}",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


@contextlib.contextmanager
def playing(
    place: pathlib.Path, playbook: pathlib.Path, *arguments: str, callback: str = "ansible.builtin.default"
) -> Iterator[Any]:
    """A running ansible-playbook; its standard output goes to place/stdout."""
    with open(place / "stdout", "w+") as out, subprocess.Popen(
        [
            *(str(PLAYBOOK), "-i", "localhost,", "-e", f"ansible_python_interpreter={sys.executable}"),
            *(str(playbook), *arguments),
        ],
        env=environment(place, callback),
        cwd=place,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.STDOUT if callback.endswith("default") else subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def eventually(condition: Callable[[], bool], what: str, seconds: float = 180) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"not within {seconds} s: {what}"
        time.sleep(0.05)


def output(place: pathlib.Path) -> str:
    return (place / "stdout").read_text()


def why(place: pathlib.Path) -> str:
    """The output from the first failed task on, then all of it: logs keep the beginning of a long message."""
    text = output(place)
    failed = re.search(r"^(?:fatal:|failed:|ERROR|\[ERROR\]).*", text, re.MULTILINE | re.DOTALL)
    return f"{failed[0][:6000]}\n\nfrom the beginning:\n{text}" if failed else text
