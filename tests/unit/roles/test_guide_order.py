"""Lines of the guide that stand in a playbook or in a default: the order of the run, and the user."""

from __future__ import annotations

from typing import Any

import yaml

from tests.unit.roles.collection import ROOT, defaults


def stages() -> list[str]:
    plays: list[dict[str, Any]] = yaml.safe_load((ROOT / "playbooks/site.yml").read_text())
    return [play["ansible.builtin.import_playbook"].removesuffix(".yml") for play in plays]


def test_the_vmkernel_is_configured_before_the_vms_and_both_before_the_one_restart() -> None:
    order = stages()
    assert order.index("switch") < order.index("esxi") < order.index("guest") < order.index("reboot")
    assert order[order.index("reboot") + 1] == "ats", "what the restart was for is looked at right behind it"


def test_the_training_comes_last_and_after_image_and_mesh() -> None:
    order = stages()
    places = [order.index(name) for name in ("ats", "image", "mesh", "run", "report")]
    assert places == sorted(places)
    assert order[places[-1] + 1 :] == ["plan"], "after it only the table of a check run, which touches nothing"


def test_the_user_is_the_guides_and_every_task_of_the_mesh_takes_the_variable() -> None:
    assert defaults("mesh")["mesh_user"] == "nvidia"
    users = {
        path.name: task[module]["user"]
        for path in (ROOT / "roles/mesh/tasks").glob("*.yml")
        for task in yaml.safe_load(path.read_text())
        for module in task
        if module == "rocemesh.multinode.ssh_container_mesh"
    }
    assert set(users.values()) == {"{{ mesh_user }}"} and set(users) == {"identity.yml", "configure.yml"}
