"""Both driver profiles on the nodes of the twin: install, again without change, upgrade through a full disk and kills,
testinfra. tests/integration/nic/test_molecule_profiles.py plays the same on a throw-away disk, without a twin.
"""

from __future__ import annotations

import pytest

from tests.integration.molecule.scenario import PROFILES, play


@pytest.mark.usefixtures("twin")
@pytest.mark.parametrize("scenario", sorted(PROFILES))
def test_driver_profile(scenario: str) -> None:
    play(scenario)
