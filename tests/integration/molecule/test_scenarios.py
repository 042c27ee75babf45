"""Every role that changes something has a molecule scenario (prepare, converge, idempotence, testinfra) that passes. In
`make test` the second run of the whole site, in the site suite, is the idempotence of each."""

from __future__ import annotations

import pytest

from tests.integration.molecule.scenario import PROFILES, ROOT, WITHOUT, play

# In the order of the data path: a scenario finds what the ones before it have left.
ORDER = (
    "stage",
    "switch",
    "esxi_host",
    "gpu_vm",
    "guest",
    "mesh",
    "container",
    "run",
    "consistency",
    "benchmark",
    "report",
)


def test_every_role_has_a_scenario() -> None:
    roles = {path.name for path in (ROOT / "roles").iterdir() if path.is_dir()} - set(WITHOUT)
    scenarios = {path.parent.name for path in (ROOT / "molecule").glob("*/molecule.yml")}
    assert roles == set(ORDER)
    assert scenarios == roles | PROFILES


@pytest.mark.usefixtures("twin")
@pytest.mark.parametrize("role", ORDER)
def test_scenario(role: str) -> None:
    play(role)
