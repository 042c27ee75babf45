# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
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
