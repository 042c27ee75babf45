from __future__ import annotations

import pytest

from lab import config, control


@pytest.fixture(scope="session")
def two() -> tuple[config.Node, config.Node]:
    """The VMs of a lab of this shape that is up: `make vm` raises it."""
    assert config.SHAPE.machine, "the lab has another shape: make vm"
    first, second = config.NODES[:2]
    return first, second


@pytest.fixture(scope="session")
def physics(two: tuple[config.Node, config.Node]) -> str:
    """Where power is asked for."""
    assert control.answers("physics")
    return control.url("physics", "/event/vsphere")
