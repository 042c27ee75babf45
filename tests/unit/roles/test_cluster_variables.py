"""The hosts of a job as the playbooks hand them to the roles."""

from __future__ import annotations

from typing import Any

from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from tests.older_core import trust_as_template
from tests.unit.roles.collection import ROOT, load

HOSTVARS: dict[str, dict[str, Any]] = {
    "gpu01.example.com": {
        "rocemesh_address": "192.0.2.11", "run_gpu_count": 8, "run_rdma_readings": {"start": {"hostname": "GPU01"}},
    },
    "gpu02.example.com": {"rocemesh_address": "192.0.2.12", "rocemesh_slots": "4"},
}  # fmt: skip


def test_hosts_of_a_job_have_the_names_that_they_call_themselves() -> None:
    shared = {name: trust_as_template(str(text)) for name, text in load(ROOT / "playbooks/vars/cluster.yml").items()}
    variables = {**shared, "groups": {"gpu_vms": list(HOSTVARS)}, "hostvars": HOSTVARS}
    found = Templar(loader=DataLoader(), variables=variables).template(trust_as_template("{{ cluster_hosts }}"))
    assert [tuple(host[key] for key in ("name", "address", "slots", "hostname")) for host in found] == [
        ("gpu01.example.com", "192.0.2.11", 8, "GPU01"),
        ("gpu02.example.com", "192.0.2.12", 4, ""),  # not read: it is taken to be called as the inventory does
    ]
