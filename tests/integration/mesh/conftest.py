# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that run for one test."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.mesh.servers import Server, connect


@pytest.fixture
def servers() -> Iterator[tuple[Server, Server]]:
    with tempfile.TemporaryDirectory(prefix="rocemesh-", dir="/run") as directory:
        Path(directory).chmod(0o755)
        pair = Server("gpu01", Path(directory)), Server("gpu02", Path(directory))
        try:
            for server in pair:
                server.start()
            yield pair
        finally:
            for server in pair:
                server.stop()


@pytest.fixture
def mesh(servers: tuple[Server, Server]) -> tuple[Server, Server]:
    connect(servers)
    return servers
