# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All faults of the gym, by name."""

from __future__ import annotations

from . import guests, jobs, machines, network, nics
from .model import Fault

FAULTS: dict[str, Fault] = {
    entry.name: entry for table in (network, nics, machines, guests, jobs) for entry in table.FAULTS
}
