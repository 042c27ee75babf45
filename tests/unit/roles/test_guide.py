"""docs/guide.yml, the guide item by item: files, tests and errata that it names exist, and nothing is left open."""

from __future__ import annotations

import ast
import functools
import pathlib
import subprocess
import sys
from typing import Any

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
DATA: dict[str, Any] = yaml.safe_load((ROOT / "docs/guide.yml").read_text())
ITEMS = [item for section in DATA["sections"] for item in section["items"]]
ERRATA = [entry["id"] for entry in DATA["errata"]]


@functools.cache
def names_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)} | {"*"}


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: f"item-{item['id']}")
def test_what_an_item_names_exists(item: dict[str, Any]) -> None:
    for path in item.get("here", []):
        assert (ROOT / path).is_file(), path
    for test in item.get("tests", []):
        path, _colons, name = test.partition("::")
        assert (ROOT / path).is_file(), test
        assert name in names_in(path), test
    assert set(item.get("errata", [])) <= set(ERRATA)


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: f"item-{item['id']}")
def test_no_item_is_left_open(item: dict[str, Any]) -> None:
    """Done and guarded by a test, or an erratum that says why not."""
    assert item.get("errata") or (item.get("here") and item.get("tests"))
    assert not item.get("tests") or item.get("here")


def test_items_are_numbered_in_the_order_of_the_guide() -> None:
    assert sorted(item["id"] for item in ITEMS) == list(range(1, len(ITEMS) + 1))
    assert len(ITEMS) >= 162


def test_every_erratum_belongs_to_an_item_and_has_one_name() -> None:
    assert len(set(ERRATA)) == len(ERRATA)
    assert {name for item in ITEMS for name in item.get("errata", [])} == set(ERRATA)


def test_the_pages_are_made_from_it() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs/generate.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
