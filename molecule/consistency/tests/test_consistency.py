"""Without being told otherwise, the playbook fails on a contradiction and says what to do."""

import os
import pathlib
import sys


def test_a_contradiction_is_a_failure_with_a_remedy(host):
    project = os.environ["MOLECULE_PROJECT_DIRECTORY"]
    program = pathlib.Path(sys.executable).parent / "ansible-playbook"
    done = host.run(
        "cd %s && %s playbooks/consistency.yml -i %s", project, str(program), f"{project}/inventories/lab"
    )  # fmt: skip
    said = " ".join((done.stdout + done.stderr).split())
    assert done.rc != 0
    assert "contradictions" in said and "NCCL_IB_TC" in said and "SIMULATED" in said, said[-3000:]
    assert "changed=1" not in said and "unreachable=1" not in said
