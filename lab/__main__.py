# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import sys

from .shapes import ShapeError

try:
    from .cli import main
except ShapeError as error:
    sys.exit(f"lab: {error}")

sys.exit(main())
