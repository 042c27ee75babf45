"""60 ordinary lines of kernels, and 30 logs of other trades: ``attack_lines.yml``."""

from __future__ import annotations

import pathlib

import yaml

_TEXT = pathlib.Path(__file__).with_suffix(".yml").read_text(encoding="utf-8")
_LINES = yaml.safe_load(_TEXT)
ORDINARY: list[str] = _LINES["ordinary"]
TRADES: dict[str, str] = {name: "\n".join(lines) + "\n" for name, lines in _LINES["trades"].items()}
