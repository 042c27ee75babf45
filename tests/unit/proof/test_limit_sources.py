"""A limit that was found says by what its NICs were chosen: by the network, or by NCCL's own words."""

from __future__ import annotations

from ansible_collections.rocemesh.multinode.plugins.module_utils._proof.found_limits import find

from tests.unit.proof.test_found_limits import NETWORK, NODES, found, port


def test_nics_that_were_chosen_by_their_address_are_not_said_to_be_named_by_nccl() -> None:
    assert f"RoCE v2 address in {NETWORK}" in found(port())["sources"]["nics_per_node"]


def test_nics_that_nccl_names_are_said_to_be() -> None:
    readings = {node: {"devices": [port()]} for node in NODES}
    told = find(readings, NODES, [NETWORK], {node: [port()["name"]] for node in NODES})
    assert "the NICs that NCCL names" in told["sources"]["nics_per_node"]
