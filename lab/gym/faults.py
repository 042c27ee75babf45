"""All faults of the gym, by name."""

from __future__ import annotations

from . import guests, jobs, machines, network, nics
from .model import Fault

FAULTS: dict[str, Fault] = {
    entry.name: entry for table in (network, nics, machines, guests, jobs) for entry in table.FAULTS
}
