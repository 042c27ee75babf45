"""YAML files beside the code: words of problems, marks of programs, shapes of lines. Only the controller has them."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any, Mapping

from ... import _yaml_files as yaml_files

_PART = re.compile(r"\{([a-z_]+)\}")


class Table:
    """The mapping in a file, read when it is first asked. Raises ImportError without PyYAML.

    ``source``: the Python file that it lies beside.
    """

    def __init__(self, name: str, source: str = __file__) -> None:
        self._path = Path(source).with_name(name)

    @functools.cached_property
    def _entries(self) -> Mapping[str, Any]:
        return yaml_files.read(self._path)

    def __getitem__(self, name: str) -> Any:
        return self._entries[name]

    def get(self, name: str, default: Any) -> Any:
        return self._entries.get(name, default)


class Patterns:
    """Regular expressions by name. Lines of a block are joined without a space; ``{name}`` is a part of ``words``."""

    def __init__(self, name: str) -> None:
        self._table = Table(name)
        self._compiled: dict[str, re.Pattern[str]] = {}

    def __getitem__(self, name: str) -> re.Pattern[str]:
        if name not in self._compiled:
            words = self._table.get("words", {})
            text = "".join(self._table[name].splitlines())
            self._compiled[name] = re.compile(_PART.sub(lambda part: str(words[part[1]]), text))
        return self._compiled[name]
