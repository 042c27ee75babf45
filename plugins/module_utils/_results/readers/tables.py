"""Shapes of what a program prints: a YAML file beside its reader. Only the controller has them."""

from __future__ import annotations

import re

from ..._yaml_files import Beside

_PART = re.compile(r"\{([a-z_]+)\}")


class Patterns(Beside):
    """Regular expressions by name. Lines of a block are joined without a space; ``{name}`` is a part of ``words``."""

    def __init__(self, name: str) -> None:
        super().__init__(__file__, name)
        self._compiled: dict[str, re.Pattern[str]] = {}

    def __getitem__(self, name: str) -> re.Pattern[str]:
        if name not in self._compiled:
            text, words = "".join(self.table[name].splitlines()), self.table.get("words", {})
            self._compiled[name] = re.compile(_PART.sub(lambda part: str(words[part[1]]), text))
        return self._compiled[name]
