# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Test: was this saved measurement made with these parameters."""

from __future__ import annotations

from typing import Any, Callable, Mapping

from ..module_utils._results.figures.benchmarks import same_measurement


def is_same_measurement(text: str, parameters: Mapping[str, Any]) -> bool:
    return same_measurement(str(text), parameters)


class TestModule:
    def tests(self) -> dict[str, Callable[..., Any]]:
        return {"same_measurement": is_same_measurement}
