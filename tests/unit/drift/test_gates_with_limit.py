"""A gate that is asked on localhost alone is left out by every --limit, and the plays behind it run."""

from __future__ import annotations

import pathlib
import subprocess

import pytest

from tests.unit.roles.collection import ROOT, load

# No vCenter is named: without its gate the playbook sends nothing either.
INVENTORY = """
all:
  children:
    switches: {hosts: {leaf01: {}}}
    esxi_hosts: {hosts: {esx01: {}, esx02: {}}}
    gpu_vms: {hosts: {gpu01: {}, gpu02: {}}}
"""
UPGRADE = '{"rocemesh_upgrade": {"packages": {"a": "1"}}}'


GATES = [
    ("drift.yml", (), "This playbook reads. Run it with --check."),
    ("replace.yml", ("-e", "part=nic"), "host is not set"),
    ("upgrade.yml", (), "rocemesh_upgrade is not set"),
    ("add_host.yml", (), "host is not set"),
    ("remove_host.yml", (), "host is not set"),
    ("undo.yml", (), "run is not set"),
    ("approved.yml", ("-e", "rocemesh_plan=/nonexistent/plan.jsonl"), "/nonexistent/plan.jsonl"),
]
REFUSED = [
    ("remove_host.yml", ("-e", "host=gpu01", "--limit", "gpu01,localhost"), "without --limit"),
    ("remove_host.yml", ("-e", '{"host_ports": {"leaf01": "1/15"}}'), "host_ports is"),
    ("remove_host.yml", ("-e", '{"host_ports": {"leaf01": ["1/5-1/6"]}}'), "host_ports is"),
    ("remove_host.yml", ("-e", '{"host_ports": {"leaf1": ["1/5"]}}'), "host_ports is"),
    ("remove_host.yml", ("-e", '{"host_ports": {"leaf01": ["1/5"]}}'), "host is not set"),
    ("undo.yml", ("-e", "run=a", "-e", "rocemesh_skip_hosts=gpu1"), "Correct gpu1."),
    ("undo.yml", ("-e", "run=some", "--limit", "gpu01"), "-e rocemesh_skip_hosts="),
    ("replace.yml", ("-e", "host=gpu01", "-e", "part=nic", "--limit", "gpu01,localhost"), "the mesh needs"),
    ("upgrade.yml", ("-e", UPGRADE, "--limit", "esx01,gpu01"), "the mesh needs"),
    ("add_host.yml", ("-e", "host=gpu02", "--limit", "gpu02,localhost"), "the mesh needs"),
    ("site.yml", ("--limit", "gpu01"), "expected a run with gpu02, which the mesh needs, and the job:"),
    ("site.yml", ("--limit", "esx01", "--check"), "expected a run with gpu01, gpu02, which the mesh"),
    ("site.yml", ("--limit", "gpu02", "--skip-tags", "mesh"), "add --skip-tags run,"),
    ("site.yml", ("--limit", "gpu02", "--tags", "guest,mesh"), "add --skip-tags mesh,"),
    ("site.yml", ("--limit", "gpu_vms", "-e", "container_nccl_topology=auto"), "expected a run with esx01, esx02,"),
    ("run.yml", ("--limit", "gpu01"), "the job needs"),
    ("benchmark.yml", ("--limit", "gpu02"), "the job needs"),
    ("handoff.yml", ("--limit", "gpu01,localhost"), "the job needs"),
    ("fabric.yml", ("--limit", "gpu01"), "the job needs"),
]


@pytest.mark.parametrize(
    ("playbook", "given", "refusal"),
    [*REFUSED, *GATES[:2], *((playbook, (*given, "--limit", "esx02"), refusal) for playbook, given, refusal in GATES)],
)
def test_no_limit_takes_a_gate_away(
    tmp_path: pathlib.Path, playbook: str, given: tuple[str, ...], refusal: str
) -> None:
    (tmp_path / "hosts.yml").write_text(INVENTORY)
    command = ["ansible-playbook", "-i", str(tmp_path / "hosts.yml"), f"playbooks/{playbook}", *given]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and refusal in done.stdout, done.stdout + done.stderr
    plays = 2 if playbook == "run.yml" or (playbook in ("add_host.yml", "upgrade.yml") and "the mesh" in refusal) else 1
    assert done.stdout.count("PLAY [") == plays, done.stdout


@pytest.mark.parametrize(
    "given",
    [
        (),
        ("--limit", "gpu_vms"),
        ("--limit", "all:!leaf01", "-e", "container_nccl_topology=auto"),
        ("--limit", "gpu01", "--tags", "guest"),
        ("--limit", "gpu01", "--skip-tags", "mesh,run"),
    ],
    ids=" ".join,
)
def test_a_limit_that_no_stage_of_the_site_refuses_is_let_through(
    tmp_path: pathlib.Path, given: tuple[str, ...]
) -> None:
    """The plan that is not there is looked for behind it."""
    (tmp_path / "hosts.yml").write_text(INVENTORY)
    words = ("playbooks/site.yml", "-e", "rocemesh_plan=/nonexistent/plan.jsonl", *given)
    command = ["ansible-playbook", "-i", str(tmp_path / "hosts.yml"), *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "/nonexistent/plan.jsonl" in done.stdout, done.stdout + done.stderr


def test_mesh_without_the_devices_of_the_esxi_hosts_is_refused(tmp_path: pathlib.Path) -> None:
    """Its containers would be made again without their topology."""
    (tmp_path / "hosts.yml").write_text(INVENTORY)
    words = ("-e", "container_nccl_topology=auto", "--limit", "gpu01,gpu02")
    command = ["ansible-playbook", "-i", str(tmp_path / "hosts.yml"), "playbooks/mesh.yml", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "esx01, esx02: PCI" in done.stdout, done.stdout


@pytest.mark.parametrize("playbook", ["replace.yml", "upgrade.yml", "add_host.yml", "remove_host.yml"])
def test_inventory_without_gpu_vms_is_refused_in_words(tmp_path: pathlib.Path, playbook: str) -> None:
    (tmp_path / "hosts.yml").write_text("all: {children: {esxi_hosts: {hosts: {esx01: {}}}}}")
    command = ["ansible-playbook", "-i", str(tmp_path / "hosts.yml"), f"playbooks/{playbook}", "-e", "host=a part=nic"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "localhost: " in done.stdout and "no attribute" not in done.stdout, done.stdout


def test_limit_does_not_take_the_table_of_consistency_away(tmp_path: pathlib.Path) -> None:
    """Nothing compared, and an exit status of 0."""
    (tmp_path / "hosts.yml").write_text(INVENTORY)
    command = ["ansible-playbook", "-i", str(tmp_path / "hosts.yml"), "playbooks/consistency.yml", "--limit", "esx02"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "gpu01: not known" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("playbook", ["plan.yml", "report.yml", "upgrade.yml"])
def test_limit_takes_neither_plan_nor_report_away(playbook: str) -> None:
    play = load(ROOT / "playbooks" / playbook)[-1]
    assert play["hosts"] == "localhost,all" and play["strategy"] == "ansible.builtin.linear"
    assert all(task["run_once"] for task in play["tasks"])


def test_removal_goes_on_only_where_all_other_nodes_were_there() -> None:
    """A node that does not answer drops its whole play, and ends no run: role stage does."""
    plays = load(ROOT / "playbooks/remove_host.yml")
    (place,) = [index for index, play in enumerate(plays) if play["name"] == "Removal - mesh of the other nodes"]
    assert [role["role"] for role in plays[place + 1]["roles"]] == ["rocemesh.multinode.stage"]
    assert plays[place + 1]["any_errors_fatal"] and plays[place + 1]["tags"] == ["always"]


@pytest.mark.parametrize(("first", "ours"), [("# NCCL's variables for gpu01", True), ("NCCL_DEBUG=INFO", False)])
def test_removal_takes_the_file_of_a_handoff_and_nobody_elses(tmp_path: pathlib.Path, first: str, ours: bool) -> None:
    (written,) = [
        task["ansible.builtin.copy"] for task in load(ROOT / "roles/run/tasks/handoff_install.yml")
        if "ansible.builtin.copy" in task
    ]  # fmt: skip
    asked, removed = load(ROOT / "playbooks/remove_host.yml")[-1]["tasks"][-2:]
    *words, path = asked["ansible.builtin.command"]["argv"]
    assert path == removed["ansible.builtin.file"]["path"] == written["dest"]
    (tmp_path / "conf").write_text(f"{first}\n# NCCL's variables for gpu02\n")
    done = subprocess.run([*words, "conf"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert bool(done.stdout) is ours
