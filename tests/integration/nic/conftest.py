"""A node on a throw-away disk, for the tests that really install packages."""

from __future__ import annotations

import functools
import pathlib
from typing import Iterator

import pytest

from tests.integration.nic.profile_node import Node
from tests.integration.nic.throwaway import disk, possible

why_not = functools.cache(possible)


@pytest.fixture(name="throwaway")
def fixture_throwaway(tmp_path: pathlib.Path) -> Iterator[Node]:
    if why_not():
        pytest.skip(why_not())
    shared = tmp_path / "shared"
    shared.mkdir()
    with disk(tmp_path / "disk", shared) as place:
        yield Node(shared, place)
