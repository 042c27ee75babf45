"""What an earlier run changed and its way back, as every kind of switch is asked for it. Pure."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping

from .._layer import RefusedError


@dataclasses.dataclass(frozen=True)
class Restore:
    """``before``, ``after``: a key of `Operation.changes` -> its value, as that run's ``--diff`` has them."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]


def parse(host: str, given: Mapping[str, Any]) -> Restore:
    """The option ``restore``, whose two sides have the same keys. Raises `RefusedError`."""
    before, after = dict(given.get("before") or {}), dict(given.get("after") or {})
    if set(before) != set(after):
        raise refused(host, "keys", sorted(set(before) ^ set(after)), "give both sides of each setting")
    return Restore(before, after)


def refused(host: str, thing: str, value: Any, remedy: str) -> RefusedError:
    return RefusedError("this is no change that this module makes", host=host, thing=thing, value=value, remedy=remedy)
