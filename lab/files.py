"""Small files, written so that a reader sees either the old or the new content."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any


def write(path: Path, content: str | bytes, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            os.fchmod(stream.fileno(), mode)
            stream.write(data)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def write_json(path: Path, value: Any) -> None:
    write(path, json.dumps(value, indent=1, sort_keys=True) + "\n")


def read_json(path: Path, default: Any = None) -> Any:
    """The parsed content; ``default`` where there is no such file."""
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return default
