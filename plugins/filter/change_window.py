# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter: whether a change window is open now."""

from __future__ import annotations

DOCUMENTATION = r"""
name: change_window
short_description: Say whether a host may be restarted now
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Compares change windows with the clock of the controller. Reads nothing else and changes nothing.
positional: _input, least_minutes
options:
  _input:
    description:
      - One window or a list of windows. An empty list is always open.
      - Once, C(from) and C(to) in ISO 8601, UTC where no offset is given.
      - Weekly, C(start) and C(end) as V(22:00), with C(days) (V(mon) to V(sun), default all) and C(timezone) (default
        V(UTC)). A window that passes midnight belongs to the day on which it begins.
    type: raw
    required: true
  least_minutes:
    description: A window with fewer minutes left counts as closed.
    type: int
    default: 0
  now:
    description: Moment to compare with, ISO 8601. By default the clock of the controller.
    type: str
"""

EXAMPLES = r"""
- name: Restart only at night
  ansible.builtin.assert:
    that:
      - (windows | rocemesh.multinode.change_window(30)).open
  vars:
    windows:
      - start: "22:00"
        end: "04:00"
        timezone: Europe/Berlin
"""

RETURN = r"""
_value:
  description: C(open), C(minutes_left) (null where there is no end) and C(reason), a sentence.
  type: dict
"""

import datetime
from typing import Any, Callable, Mapping, Sequence

from ansible.errors import AnsibleFilterError

from ..module_utils._site.schedule import change_window as decide


def change_window(
    windows: Sequence[Mapping[str, Any]] | Mapping[str, Any], least_minutes: int = 0, now: str = ""
) -> dict[str, Any]:
    try:
        moment = datetime.datetime.fromisoformat(now) if now else datetime.datetime.now(datetime.timezone.utc)
        return decide(windows, moment, int(least_minutes))
    except (TypeError, ValueError) as error:
        raise AnsibleFilterError(f"change_window: {error}") from error


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"change_window": change_window}
