"""YAML files beside the code: rule packs, tables and sentences. Only the controller has them."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, Mapping

try:
    import yaml
except ImportError as import_error:
    YAML_IMPORT_ERROR: ImportError | None = import_error
else:
    YAML_IMPORT_ERROR = None


class PackError(ValueError):
    """A file is not what it has to be; the text names it."""


def parsed(text: str) -> Any:
    """YAML by libyaml where PyYAML has it: ten times faster. Raises yaml.YAMLError."""
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def read(path: Path) -> dict[Any, Any]:
    """The mapping in a file. Raises PackError, and ImportError without PyYAML."""
    if YAML_IMPORT_ERROR:
        raise ImportError(f"{path.name} needs PyYAML ({YAML_IMPORT_ERROR}). Install it: pip install pyyaml")
    try:
        data = parsed(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise PackError(f"{path}: {error}. Write a mapping in YAML.") from error
    if not isinstance(data, dict):
        raise PackError(f"{path}: holds {type(data).__name__}. Write a mapping in YAML.")
    return data


class Beside:
    """The mapping in a file, read when it is first asked. ``source``: the Python file that it lies beside."""

    def __init__(self, source: str, name: str) -> None:
        self._path = Path(source).with_name(name)

    @functools.cached_property
    def table(self) -> Mapping[Any, Any]:
        """Raises as `read`."""
        return read(self._path)

    def __getitem__(self, name: str) -> Any:
        return self.table[name]
