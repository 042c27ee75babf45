"""Stands in for community.docker.docker_container_exec: a folder for each container, and an mpirun that only says so.

$STUB_HOST is the host (its interpreter sets it), $STUB_DIR holds one folder per host and ``bin/mpirun``. The supervisor
of the job is the real one; its own folder lies apart, so that a test sees what else stays in a container's /tmp.
"""

from __future__ import annotations

import os
import pathlib
import subprocess

from ansible.module_utils.basic import AnsibleModule

ROOT = pathlib.Path(os.environ["STUB_DIR"])
JOB = "/tmp/rocemesh-job-"


def main() -> None:
    module = AnsibleModule(
        {"container": {"type": "str"}, "argv": {"type": "list", "elements": "str"}, "env": {"type": "dict"}},
        supports_check_mode=True,
    )
    argv = module.params["argv"]
    folder = ROOT / os.environ["STUB_HOST"]
    folder.mkdir(exist_ok=True)
    if any(word.startswith(JOB) for word in argv):
        argv = [str(ROOT / "jobs" / word[len(JOB) :]) if word.startswith(JOB) else word for word in argv]
    else:
        argv[-1] = str(folder / pathlib.Path(argv[-1]).name)  # the container's /tmp
    done = subprocess.run(
        argv,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, **(module.params["env"] or {}), "PATH": f"{ROOT / 'bin'}:{os.environ['PATH']}"},
    )
    module.exit_json(changed=True, rc=done.returncode, stdout=done.stdout, stderr=done.stderr)


if __name__ == "__main__":
    main()
