"""Names that reach a switch as words of a command line: only what is a name."""

from __future__ import annotations

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._onyx import plan as onyx

BAD = ["a b", "x\nreload", "../initial", "-force", "", "a" * 65, "x;y", "x|y"]


@pytest.mark.parametrize("name", [name for name in BAD if name])
def test_a_snapshot_that_is_no_file_name_is_refused_before_the_login(name: str) -> None:
    with pytest.raises(RefusedError, match="a configuration file") as caught:
        onyx.request("sw01", {"vlan": 111, "snapshot": name})
    assert "What to do:" in str(caught.value)


@pytest.mark.parametrize("name", ["before-rdma", "a" * 64, "x.1_2-3"])
def test_a_file_name_is_taken_as_it_is(name: str) -> None:
    assert onyx.request("sw01", {"vlan": 111, "snapshot": name}).snapshot == name


@pytest.mark.parametrize("name", [name for name in BAD if name and name != "a" * 65])
def test_a_bridge_that_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(RefusedError, match="of a bridge"):
        onyx.request("sw01", {"vlan": 111, "bridge_domain": name})
