from __future__ import annotations

import sys

from .shapes import ShapeError

try:
    from .cli import main
except ShapeError as error:
    sys.exit(f"lab: {error}")

sys.exit(main())
