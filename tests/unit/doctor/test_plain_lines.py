"""A host's name is in each of its lines: a pattern that needs no more than that is tried on all of a site's logs."""

from __future__ import annotations

import random

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor import reading
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.catalogue import catalogue
from ansible_collections.rocemesh.multinode.plugins.module_utils._judge.words import letters_of

from tests.benchmarks.test_doctor import ordinary


@pytest.mark.parametrize("host", ["gpu01", "node12", "dgx-7", "compute04", "host1", "server2", "h100-03", "rank0"])
def test_no_pattern_is_tried_for_the_name_of_a_host(host: str) -> None:
    line = f"Feb  1 10:00:00 {host} service[812]: the quick brown fox"
    assert reading._index(catalogue().signs).possible(letters_of(line)).keys() <= reading._FIELD


def test_most_lines_of_ordinary_words_ask_nothing() -> None:
    """Of the words in them one in twenty is in some rule's samples. What asks more makes every log slow."""
    index = reading._index(catalogue().signs)
    lines = ordinary(random.Random(3), 1 << 18).split("\n")
    asked = [found for line in lines if (found := index.possible(letters_of(line)).keys() - reading._FIELD)]
    assert len(asked) < len(lines) / 6, len(asked) / len(lines)
