"""The workload scripts live outside the packages of the collection: import them as the container does, by folder."""

from __future__ import annotations

import importlib
import pathlib
import sys
from types import ModuleType
from typing import Callable, Iterator

import pytest

WORKLOADS = pathlib.Path(__file__).parents[3] / "workloads"


@pytest.fixture(scope="session")
def load() -> Iterator[Callable[[str, str], ModuleType]]:
    """load("resnet50", "output") -> workloads/resnet50/output.py. Writes no bytecode: the folder is a build context."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    folders = [str(WORKLOADS / name) for name in ("resnet50", "checks", "benchmarks")]
    sys.path[:0] = folders
    try:
        yield lambda _folder, name: importlib.import_module(name)
    finally:
        sys.dont_write_bytecode = before
        for folder in folders:
            sys.path.remove(folder)
