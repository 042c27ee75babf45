# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the filters that read logs share: the input and its errors.

Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, TypeVar

from ansible.errors import AnsibleFilterError

from ..module_utils._results.readers.reading import source_of

R = TypeVar("R")


def read_log(name: str, value: Any, reader: Callable[[Iterator[bytes]], R]) -> R:
    """Read ``value`` (the text of a log or the absolute path of one) with ``reader``; ``name``: of the filter."""
    try:
        source = source_of(value)
    except ValueError as error:
        raise AnsibleFilterError(f"{name}: {error}") from error
    try:
        return reader(source)
    except OSError as error:
        raise AnsibleFilterError(
            f"{name}: {value}: cannot be read ({error.strerror}); give a log on this machine"
        ) from error


def count(name: str, option: str, value: Any) -> int | None:
    """A whole number of at least 1, or None."""
    if value is None:
        return None
    try:
        found = int(str(value).strip())
    except ValueError:
        found = 0
    if found < 1:
        raise AnsibleFilterError(f"{name}: {option} {value!r} is not a whole number of at least 1")
    return found
