"""The guide's check behind the reboot, as playbooks/ats.yml asks it."""

from __future__ import annotations

import pathlib
import sys

import yaml

from .conftest import ROOT, Run, Vcenter
from .test_playbook import run_play


def test_a_setting_that_is_configured_and_not_in_force_is_no_proof(
    run: Run, vcenter: Vcenter, tmp_path: pathlib.Path
) -> None:
    run("esxi_kernel_setting", esxi_hostname="esx01", settings={"atsSupport": True})
    host = vcenter.host("esx01")["kernel"]["atsSupport"]
    assert (host["configured"], host["runtime"]) == ("TRUE", "FALSE")
    login = {f"rocemesh_vcenter_{name}": value for name, value in vcenter.login.items()}
    group = {"hosts": {"esx01": {"ansible_connection": "local"}}, "vars": login}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump({"all": {"children": {"esxi_hosts": group}}}))
    playbook = [
        str(pathlib.Path(sys.executable).with_name("ansible-playbook")),
        *("-i", str(tmp_path / "hosts.yml"), "-e", f"ansible_python_interpreter={sys.executable}"),
        str(ROOT / "playbooks" / "ats.yml"),
    ]
    done = run_play(playbook, tmp_path)
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode != 0
    assert "not in force: esx01: kernel setting atsSupport is configured TRUE but FALSE" in said
    # A person leaves it out of the windows: the hosts that had theirs are proved, and the run goes on.
    done = run_play([*playbook, "-e", "rocemesh_skip_hosts=esx01"], tmp_path)
    assert done.returncode == 0 and "esx01: left out" in done.stdout, done.stdout + done.stderr
