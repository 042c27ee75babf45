"""Shapes of lines: YAML files beside the code. Only the controller has them."""

from __future__ import annotations

import re

from ..._yaml_files import Beside

_PART = re.compile(r"\{([a-z_]+)\}")


class Patterns:
    """Regular expressions by name. Lines of a block are joined without a space; ``{name}`` is a part of ``words``."""

    def __init__(self, name: str) -> None:
        self._table = Beside(__file__, name)
        self._compiled: dict[str, re.Pattern[str]] = {}

    def __getitem__(self, name: str) -> re.Pattern[str]:
        if name not in self._compiled:
            words = self._table.table.get("words", {})
            text = "".join(self._table[name].splitlines())
            self._compiled[name] = re.compile(_PART.sub(lambda part: str(words[part[1]]), text))
        return self._compiled[name]
