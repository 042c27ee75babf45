"""All witnesses, in the order of the report. A new one is a file in `witnesses` and an entry in witnesses.yml."""

from __future__ import annotations

import importlib
from pathlib import Path

from .._judge import yaml_files
from .witness import Witness

_TABLE = yaml_files.read(Path(__file__).with_name("witnesses.yml"))
WITNESSES: tuple[Witness, ...] = tuple(
    Witness(name, judge=importlib.import_module(f"{__package__}.witnesses.{name}").judge, **entry)
    for name, entry in _TABLE.items()
)
NAMES = tuple(_TABLE)
