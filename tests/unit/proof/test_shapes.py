"""Every shape of true evidence gets the grade that the documents name for it, and a lower grade says why."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import yaml

from tests.unit.proof.attack_base import summary
from tests.unit.proof.shapes import SHAPES, Shape, built

OPEN: dict[str, str] = yaml.safe_load(pathlib.Path(__file__).with_name("shapes_open.yml").read_text()) or {}


def right(shape: Shape) -> bool:
    verdict: dict[str, Any] = summary(built(shape))["verdict"]
    return verdict["state"] == shape.grade and shape.told in verdict["line"]


@pytest.mark.parametrize("shape", [each for each in SHAPES if each.name not in OPEN], ids=lambda each: each.name)
def test_true_evidence_gets_its_grade(shape: Shape) -> None:
    assert right(shape)


@pytest.mark.parametrize("shape", [each for each in SHAPES if each.name in OPEN], ids=lambda each: each.name)
def test_open_shape_is_still_open(shape: Shape) -> None:
    """If this fails, the shape gets its grade: remove its line from shapes_open.yml."""
    assert not right(shape)


def test_sixty_shapes_are_known_by_name() -> None:
    names = {each.name for each in SHAPES}
    assert len(names) == len(SHAPES) >= 60 and set(OPEN) <= names
