"""Who is asked for the state of its container: each host reads its own at the start; after a failure all are asked."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from tests.older_core import trust_as_template
from tests.unit.roles.conditions import variables_of

HOSTS = [{"name": f"gpu0{number}"} for number in (1, 2, 3)]


def reading(name: str, container: str = "mpicont") -> dict[str, Any]:
    return {"asked": container, "item": {"name": name}, "exists": True, "container": {"State": {"Status": "running"}}}


@pytest.mark.parametrize(
    ("facts", "once_more", "known"),
    [
        ({}, False, []),
        ({"gpu01": {}, "gpu02": {"run_container_reading": {}}}, False, []),
        (
            {name: {"run_container_reading": reading(name)} for name in ("gpu01", "gpu03", "gpu09")},
            False,
            ["gpu01", "gpu03"],
        ),
        ({"gpu02": {"run_container_reading": reading("gpu02", "other")}}, False, []),
        ({"gpu01": {"run_container_reading": reading("gpu01")}}, True, []),
    ],
    ids=["nothing read", "of other playbooks", "two of the job", "another container", "after a failure"],
)
def test_host_that_has_read_its_container_is_not_asked(
    facts: dict[str, Any], once_more: bool, known: list[str]
) -> None:
    given = {**variables_of("run"), "run_hosts": HOSTS, "hostvars": facts, "__run_once_more": once_more}
    given["__run_containers"] = {"results": [{"item": {"name": "asked now"}}]}
    found = Templar(DataLoader(), given).template(trust_as_template("{{ __run_inspected }}"))
    assert [one["item"]["name"] for one in found] == [*known, "asked now"]
