"""A host's name is in each of its lines: a pattern that needs no more than that is tried on all of a site's logs."""

from __future__ import annotations

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor import reading
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.catalogue import catalogue
from ansible_collections.rocemesh.multinode.plugins.module_utils._judge.words import letters_of


@pytest.mark.parametrize("host", ["gpu01", "node12", "dgx-7", "compute04", "host1", "server2", "h100-03", "rank0"])
def test_no_pattern_is_tried_for_the_name_of_a_host(host: str) -> None:
    line = f"Feb  1 10:00:00 {host} service[812]: the quick brown fox"
    assert reading._index(catalogue().signs).possible(letters_of(line)) == {}
