"""playbooks/undo.yml against simulators of switch, vCenter and NIC: the state after it is the state before the run."""

from __future__ import annotations

from tests.integration.day2.conftest import Site


def test_undo_restores_switch_kernel_and_nic_once(site: Site) -> None:
    """The stages that need no window: VM keys stay, since they wait for one."""
    before = site.hashes()
    run = site.configure()
    configured = site.hashes()
    assert all(configured[layer] != before[layer] for layer in ("switch", "kernel", "keys", "nic"))

    done = site.undo(run, "--tags", "guest,esxi,switch")
    assert done.returncode == 0, done.stdout + done.stderr
    site.rack.host_reboot()
    assert site.hashes() == {**before, "keys": configured["keys"]}

    runs = site.runs()
    assert len(runs) == 2 and site.journal(runs[-1]).begin["playbook"] == "undo.yml"
    again = site.undo(run, "--tags", "guest,esxi,switch")
    assert again.returncode == 0 and site.runs() == runs, again.stdout
    assert site.hashes() == {**before, "keys": configured["keys"]}
