"""One simulator for the tests that need no special one; it is reset before each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.switch.harness import Simulator, running


@pytest.fixture(scope="session")
def shared_simulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    with running(tmp_path_factory.mktemp("switch")) as simulator:
        yield simulator


@pytest.fixture
def simulator(shared_simulator: Simulator) -> Simulator:
    shared_simulator.reset()
    return shared_simulator
