"""Nodes that run for one test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.mesh.servers import Server, connect, two


@pytest.fixture
def servers() -> Iterator[tuple[Server, Server]]:
    with two() as pair:
        yield pair


@pytest.fixture
def mesh(servers: tuple[Server, Server]) -> tuple[Server, Server]:
    connect(servers)
    return servers
