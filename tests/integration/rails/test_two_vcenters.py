"""inventories/example-rails over two SIMULATED vCenters that give equal names and ids: half of the hosts on each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.rails import big_site
from tests.integration.rails.big_site import Site
from tests.integration.rails.test_check_mode import SKIPPED, STAGES
from tests.integration.rails.test_preflight import digest, look
from tests.integration.vsphere.conftest import Pki


@pytest.fixture(scope="module")
def site(pki: Pki, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with big_site.standing(tmp_path_factory.mktemp("site"), pki, vcenters=2) as standing:
        for guest in standing.guests.values():
            guest.put_gpus_on_bus()
        yield standing


def test_preflight_finds_nothing_wrong_with_two_vcenters(site: Site) -> None:
    before = digest(site)
    code, output, told = look(site, "-e", f"container_registry=127.0.0.1:{site.vcenter.port}")
    assert (code, told["problems"], told["cautions"]) == (0, [], []), output[-3000:]
    assert digest(site) == before


def closed(port: int) -> dict[str, Any]:
    ssh = {"ansible_host": "127.0.0.1", "ansible_port": port, "ansible_ssh_common_args": "-F none"}
    return {"ansible_connection": "ssh", **ssh}


def test_preflight_knows_whose_vm_is_off(site: Site) -> None:
    """gpu01 of the second vCenter is gpu03 here: an answer of gpu01 is expected, one of gpu03 is not."""
    site.tell({name: closed(number) for number, name in enumerate(("gpu01", "gpu03"), 1)})
    site.vcenters[1].ask("POST", "/admin", {"do": "off", "vm": "gpu01"})
    try:
        code, output, told = look(site, "-e", f"container_registry=127.0.0.1:{site.vcenter.port}")
    finally:
        site.tell({})
        site.vcenters[1].ask("POST", "/reset")
    assert code == 2
    assert [(row["place"], row["thing"]) for row in told["problems"]] == [("gpu01", "ssh")], output[-3000:]
    assert [(row["place"], row["text"]) for row in told["cautions"]] == [("gpu03", "no answer, and the VM is off")]


def test_stages_plan_every_host_on_its_own_vcenter(site: Site) -> None:
    before = site.state()
    skipped = ",".join(set(SKIPPED.split(",")) - {"recover", "power"})
    done = site.play("playbooks/site.yml", "--tags", f"{STAGES},recover,power", "--skip-tags", skipped)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert site.state() == before
    for host in ("esx01", "esx02", "esx03", "esx04"):
        assert f"{host}.example.com" in done.stdout
