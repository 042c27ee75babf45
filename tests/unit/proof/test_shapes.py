"""Every shape of true evidence gets the grade that the documents name for it, and a lower grade says why."""

from __future__ import annotations

import pytest

from tests.unit.proof.attack_base import summary
from tests.unit.proof.shapes import SHAPES, Shape, built


@pytest.mark.parametrize("shape", SHAPES, ids=lambda each: each.name)
def test_true_evidence_gets_its_grade(shape: Shape) -> None:
    verdict = summary(built(shape))["verdict"]
    assert verdict["state"] == shape.grade and shape.told in verdict["line"]


def test_sixty_shapes_are_known_by_name() -> None:
    names = {each.name for each in SHAPES}
    assert len(names) == len(SHAPES) >= 60
