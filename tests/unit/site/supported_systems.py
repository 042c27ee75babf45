# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`PYTHONPATH=collections python -m tests.unit.site.supported_systems` writes docs/supported-systems.md."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.rocemesh.multinode.plugins.module_utils._site.systems import PAGE, page

FILE = Path(__file__).parents[3] / PAGE

if __name__ == "__main__":
    FILE.write_text(page())
