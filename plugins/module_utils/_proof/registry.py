"""All witnesses, in the order of the report. A new one is a file in `witnesses` and an entry in witnesses.yml."""

from __future__ import annotations

import functools
import importlib
from pathlib import Path

from .._judge import yaml_files
from .witness import Witness


@functools.lru_cache(maxsize=1)
def witnesses() -> tuple[Witness, ...]:
    """Raises ImportError without PyYAML."""
    table = yaml_files.read(Path(__file__).with_name("witnesses.yml"))
    return tuple(
        Witness(name, judge=importlib.import_module(f"{__package__}.witnesses.{name}").judge, **entry)
        for name, entry in table.items()
    )
