"""Every role that changes something has a molecule scenario (prepare, converge, idempotence, testinfra) that passes. In
`make test` the second run of the whole site, in the site suite, is the idempotence of each."""

from __future__ import annotations

import pytest

from tests.integration.molecule.scenario import PROFILES, ROOT, WITHOUT, play

# In the order of the data path: a scenario finds what the ones before it have left. `run` makes the containers anew as
# another account, and is the last one.
ORDER = (
    "stage",
    "switch",
    "esxi_host",
    "gpu_vm",
    "guest",
    "mesh",
    "container",
    "consistency",
    "benchmark",
    "report",
    "run",
)
# Those with molecule/standing.yml.
ON_A_SITE = ("run", "consistency", "benchmark")


def test_every_role_has_a_scenario() -> None:
    roles = {path.name for path in (ROOT / "roles").iterdir() if path.is_dir()} - set(WITHOUT)
    scenarios = {path.parent.name for path in (ROOT / "molecule").glob("*/molecule.yml")}
    assert roles == set(ORDER)
    assert scenarios == roles | PROFILES


LEFT: list[str] = []


@pytest.mark.usefixtures("twin")
@pytest.mark.parametrize("role", ORDER)
def test_scenario(role: str) -> None:
    """After `container` each scenario leaves the site as it found it: none has to make it again."""
    output = play(role)
    if role in ON_A_SITE and "container" in LEFT:
        assert "The site stands." in output, output[:6000]
    LEFT.append(role)
