"""A plan that --check wrote, carried out with rocemesh_plan; on a site that moved on it is refused."""

from __future__ import annotations

import json

from ansible_collections.rocemesh.multinode.plugins.plugin_utils import journal_file

from tests.integration.day2.conftest import REPOSITORY, Site


def test_plan_is_carried_out_once_and_refused_afterwards(site: Site) -> None:
    plays = json.loads(site.forward.read_text())
    site.forward.write_text(json.dumps([{"import_playbook": str(REPOSITORY / "playbooks" / "approved.yml")}, *plays]))
    before = site.hashes()
    checked = site.play(site.forward, "--check")
    assert checked.returncode == 0 and site.hashes() == before, checked.stdout + checked.stderr
    (plan,) = (site.folder / "journal").glob("*-plan.jsonl")

    done = site.play(site.forward, "-e", f"rocemesh_plan={plan}")
    assert done.returncode == 0, done.stdout + done.stderr
    planned = journal_file.changes(journal_file.read_plan(plan).entries)
    changed = journal_file.changes(site.journal(site.runs()[-1]).entries)
    followed = {place for place in changed if place[3] in ("power", "saved", "restart")}
    wanted = {place: sides for place, sides in planned.items() if place[3] not in ("power", "saved", "restart")}
    assert {place: sides for place, sides in changed.items() if place not in followed} == wanted

    configured = site.hashes()
    again = site.play(site.forward, "-e", f"rocemesh_plan={plan}")
    assert again.returncode != 0 and "moved on" in again.stdout and "- leaf01: port 1/1 mtu" in again.stdout
    assert site.hashes() == configured
