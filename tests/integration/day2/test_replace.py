"""playbooks/replace.yml against simulators: a NIC with another GUID, and what is none.

The stages of the site between comparison and proof need real guests, and are left out: no test plays them here.
"""

from __future__ import annotations

import json
import subprocess

from tests.integration.day2.conftest import REPOSITORY, Site

STAGES = ("--tags", "always,recover,power", "-e", "host=gpu01", "-e", "part=nic", "-e", "guest_gpus_timeout=0")


def replace(site: Site, *more: str) -> subprocess.CompletedProcess[str]:
    kept = f"replace_kept={site.folder}/kept.json"
    return site.play(REPOSITORY / "playbooks" / "replace.yml", *STAGES, "-e", kept, *more)


def cards(site: Site, serial: str) -> None:
    """What the guest has after its next boot."""
    for card in site.rack.cards:
        card["serial"] = serial
    (site.rack.directory / "nic.json").unlink()
    site.rack.write()
    site.rack.simulate_sysfs("10.78.0.11/24")


def test_nic_is_replaced_in_two_runs_and_only_as_named(site: Site) -> None:
    cards(site, "MT2001X00001")
    kept = site.folder / "kept.json"
    first = replace(site)
    assert first.returncode != 0 and kept.exists(), first.stdout + first.stderr
    old = json.loads(kept.read_text())["rdma"]["devices"][0]["sys_image_guid"]

    # Nothing was replaced yet.
    again = replace(site)
    assert again.returncode != 0 and "those from before" in again.stdout and kept.exists(), again.stdout

    cards(site, "MT2002X00002")
    # The inventory still names the old card.
    stale = replace(site, "-e", json.dumps({"guest_devices": [old]}))
    assert stale.returncode != 0 and f"guest_devices names {old}" in stale.stdout and kept.exists(), stale.stdout

    done = replace(site)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"GUID: {old} -> " in done.stdout and not kept.exists()


def test_host_and_part_have_to_be_named(site: Site) -> None:
    wrong = replace(site, "-e", "part=disk")
    assert wrong.returncode != 0 and "part is disk" in wrong.stdout and site.runs() == [], wrong.stdout
