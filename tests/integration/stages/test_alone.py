"""A stage that is played without the whole site."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.plays import ROOT, ansible

SITE = {
    "esxi_hosts": {"hosts": {"esx-01": {}}},
    "gpu_vms": {"hosts": {"gpu-01": {"ansible_connection": "local"}}, "vars": {"guest_mtuu": 9000}},
}


@pytest.mark.parametrize("limit", [[], ["--limit", "gpu-01"]], ids=["all", "limit"])
def test_a_name_that_no_role_reads_is_refused_before_anything(limit: list[str], tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(SITE))
    done = ansible(tmp_path, "-i", "hosts.yml", *limit, str(ROOT / "playbooks/guest.yml"))
    assert done.returncode != 0
    assert "! gpu-01: guest_mtuu" in done.stdout and "write guest_mtu" in done.stdout, done.stdout
    assert "NIC tools" not in done.stdout
