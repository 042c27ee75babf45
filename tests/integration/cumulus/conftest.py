"""One simulator of each kind for the tests that need no special one; it is reset before each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.cumulus.harness import Simulator, running


@pytest.fixture(scope="session")
def shared_nvue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    with running(tmp_path_factory.mktemp("nvue"), "nvue", "--ays-seconds", "2") as simulator:
        yield simulator


@pytest.fixture
def nvue(shared_nvue: Simulator) -> Simulator:
    shared_nvue.reset()
    return shared_nvue
