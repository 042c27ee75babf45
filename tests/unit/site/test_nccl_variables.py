"""NCCL's variables follow from the facts; what the facts do not say is refused, not guessed."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.rocemesh.multinode.plugins.filter.nccl_variables import nccl_variables

NETWORK = "198.51.100.0/24"


def gid(index: int, address: str, kind: str = "RoCE v2") -> dict[str, Any]:
    """An IPv4 GID as sysfs spells it."""
    if ":" in address:
        return {"index": index, "gid": address, "type": kind, "netdev": "ens192"}
    parts = [int(part) for part in address.split(".")]
    words = f"{parts[0]:02x}{parts[1]:02x}:{parts[2]:02x}{parts[3]:02x}"
    return {"index": index, "gid": f"0000:0000:0000:0000:0000:ffff:{words}", "type": kind, "netdev": "ens192"}


def port(name: str = "mlx5_0", *gids: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "name": name,
        "port": 1,
        "netdev": "ens192",
        "pci": "0000:13:00.0",
        "link_layer": "Ethernet",
        "active_mtu": 4096,
        "gids": list(gids),
        **changes,
    }


def usual(number: int, index: int = 3, name: str = "mlx5_0", **changes: Any) -> dict[str, Any]:
    """Link-local v1 and v2, then the address as v1 and v2: what a mlx5 port with one IPv4 address shows."""
    local = f"fe80:0000:0000:0000:a288:c2ff:fe5b:{number:04x}"
    address = f"198.51.100.{number}"
    gids = [gid(0, local, "IB/RoCE v1"), gid(1, local), gid(index - 1, address, "IB/RoCE v1"), gid(index, address)]
    return port(name, *gids, **changes)


def nodes(*ports: dict[str, Any]) -> dict[str, Any]:
    return {f"gpu{number:02d}": {"devices": [one]} for number, one in enumerate(ports, 1)}


SAME = nodes(usual(11), usual(12))
DIFFERENT = nodes(usual(11, 3), usual(12, 5))


def test_what_is_alike_on_all_nodes_is_one_value_for_all() -> None:
    found = nccl_variables(SAME, NETWORK, dscp=26)
    assert found["shared"] == {
        "NCCL_IB_HCA": "=mlx5_0:1",
        "NCCL_SOCKET_IFNAME": "=ens192",
        "NCCL_IB_GID_INDEX": "3",
        "NCCL_IB_TC": "106",
        "NCCL_IB_FIFO_TC": "106",
    }
    assert (found["per_node"], found["launcher"], found["notes"]) == ({}, [], [])


def test_every_value_has_its_reason() -> None:
    for facts in (SAME, DIFFERENT):
        found = nccl_variables(facts, NETWORK, dscp=26)
        given = {(name, value, "") for name, value in found["shared"].items()}
        given |= {(n, v, node) for node, values in found["per_node"].items() for n, v in values.items()}
        assert {(reason["name"], reason["value"], reason["node"]) for reason in found["reasons"]} == given
        assert all(reason["reason"] for reason in found["reasons"])


def test_gid_index_that_differs_is_given_per_node() -> None:
    found = nccl_variables(DIFFERENT, NETWORK)
    assert found["per_node"] == {"gpu01": {"NCCL_IB_GID_INDEX": "3"}, "gpu02": {"NCCL_IB_GID_INDEX": "5"}}
    assert "NCCL_IB_GID_INDEX" not in found["shared"]


def test_device_name_that_differs_is_given_per_node() -> None:
    found = nccl_variables(nodes(usual(11), usual(12, name="mlx5_2")), NETWORK)
    assert found["per_node"]["gpu02"] == {"NCCL_IB_HCA": "=mlx5_2:1"}


def run_launcher(words: list[str], hostname: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    fake = tmp_path / "hostname"
    fake.write_text(f"#!/bin/sh\necho {hostname}\n")
    fake.chmod(0o755)
    program = [*words, "sh", "-c", 'echo "$NCCL_IB_GID_INDEX|$1"', "sh", "a b"]
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    return subprocess.run(program, env=path, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("hostname", "index"), [("gpu01", "3"), ("worker-2", "5")])
def test_launcher_gives_each_host_its_value_and_the_program_its_arguments(
    hostname: str, index: str, tmp_path: Path
) -> None:
    words = nccl_variables(DIFFERENT, NETWORK, hostnames={"gpu02": "worker-2"})["launcher"]
    done = run_launcher(words, hostname, tmp_path)
    assert (done.returncode, done.stdout) == (0, f"{index}|a b\n")


def test_value_that_was_set_for_the_run_goes_before_the_computed_one(tmp_path: Path) -> None:
    words = nccl_variables(DIFFERENT, NETWORK)["launcher"]
    assert run_launcher(["env", "NCCL_IB_GID_INDEX=7", *words], "gpu01", tmp_path).stdout == "7|a b\n"


def test_launcher_fails_on_a_host_that_it_does_not_know(tmp_path: Path) -> None:
    done = run_launcher(nccl_variables(DIFFERENT, NETWORK)["launcher"], "gpu09", tmp_path)
    assert (done.returncode, done.stdout) == (64, "")
    assert "gpu09" in done.stderr


def test_gid_index_that_differs_on_one_node_is_refused_before_2_21_and_not_needed_since() -> None:
    facts = {"gpu01": {"devices": [usual(11, 3), usual(21, 5, name="mlx5_1")]}}
    for version in ("", "2.20.5"):
        with pytest.raises(AnsibleFilterError, match=r"mlx5_1:1 has 198\.51\.100\.21 at 5"):
            nccl_variables(facts, NETWORK, nccl_version=version)
    found = nccl_variables(facts, NETWORK, nccl_version="2.21.5")["shared"]
    assert found["NCCL_IB_ADDR_RANGE"] == NETWORK and "NCCL_IB_GID_INDEX" not in found
    assert found["NCCL_IB_HCA"] == "=mlx5_0:1,mlx5_1:1"


def test_one_device_can_be_named() -> None:
    facts = {"gpu01": {"devices": [usual(11, 3), usual(21, 5, name="mlx5_1")]}}
    assert nccl_variables(facts, NETWORK, devices=["mlx5_1"])["shared"]["NCCL_IB_GID_INDEX"] == "5"


@pytest.mark.parametrize(
    ("dscp", "ecn", "value"),
    [(26, True, "106"), (26, False, "104"), (0, False, "0"), (48, False, "192"), (63, True, "254")],
)
def test_traffic_class_is_the_dscp_with_the_ecn_bits(dscp: int, ecn: bool, value: str) -> None:
    found = nccl_variables(SAME, NETWORK, dscp=dscp, ecn=ecn)["shared"]
    assert found["NCCL_IB_TC"] == found["NCCL_IB_FIFO_TC"] == value


def test_without_a_dscp_no_traffic_class_is_invented() -> None:
    assert not [name for name in nccl_variables(SAME, NETWORK)["shared"] if name.endswith("_TC")]


def test_lowest_of_several_fitting_gids_is_taken() -> None:
    one = port("mlx5_0", gid(5, "198.51.100.11"), gid(3, "198.51.100.12"))
    assert nccl_variables(nodes(one), NETWORK)["shared"]["NCCL_IB_GID_INDEX"] == "3"


def test_control_network_has_its_own_interface() -> None:
    facts = nodes(usual(11))
    facts["gpu01"]["interfaces"] = [
        {"name": "docker0", "addresses": ["172.17.0.1"]},
        {"name": "ens160", "addresses": ["fe80::1", "192.0.2.11"]},
    ]
    found = nccl_variables(facts, NETWORK, control_network="192.0.2.0/24")
    assert found["shared"]["NCCL_SOCKET_IFNAME"] == "=ens160"


@pytest.mark.parametrize(
    ("addresses", "control", "family"),
    [
        (["192.0.2.11", "2001:db8::11"], "192.0.2.0/24", "AF_INET"),
        (["192.0.2.11", "2001:db8::11"], "2001:db8::/64", "AF_INET6"),
        (["192.0.2.11", "fe80::1"], "192.0.2.0/24", None),
        (["2001:db8::11", "fe80::1"], "2001:db8::/64", None),
    ],
)
def test_nccl_socket_family_dual_stack_follows_the_network(
    addresses: list[str], control: str, family: str | None
) -> None:
    facts = nodes(usual(11))
    facts["gpu01"]["interfaces"] = [{"name": "ens160", "addresses": addresses}]
    found = nccl_variables(facts, NETWORK, control_network=control)
    assert found["shared"].get("NCCL_SOCKET_FAMILY") == family
    assert found["shared"]["NCCL_SOCKET_IFNAME"] == "=ens160"


def test_interface_is_left_alone_where_the_facts_do_not_tell_it() -> None:
    found = nccl_variables(SAME, NETWORK, control_network="192.0.2.0/24")
    assert "NCCL_SOCKET_IFNAME" not in found["shared"]
    assert "192.0.2.0/24" in found["notes"][0]


@pytest.mark.parametrize(
    ("sizes", "says"),
    [((1024, 4096), "differs"), ((1024, 1024), "1024 on all 2 port"), ((4096, 4096), ""), ((None, None), "")],
)
def test_mtu_is_looked_at(sizes: tuple[int | None, int | None], says: str) -> None:
    found = nccl_variables(nodes(usual(11, active_mtu=sizes[0]), usual(12, active_mtu=sizes[1])), NETWORK)
    assert any(says in note for note in found["notes"]) if says else found["notes"] == []


NO_ADDRESS = port("mlx5_0", gid(0, "fe80::1", "IB/RoCE v1"), gid(1, "fe80::1"))


@pytest.mark.parametrize(
    ("facts", "options", "says"),
    [
        pytest.param({}, {}, "no facts", id="no_facts"),
        pytest.param(nodes(NO_ADDRESS), {}, "GID 1 RoCE v2 fe80::1", id="link_local_alone"),
        pytest.param(
            nodes(port("mlx5_0", gid(2, "198.51.100.11", "IB/RoCE v1"))), {}, "IB/RoCE v1 198.51.100.11", id="v1_alone"
        ),
        pytest.param(nodes(port("mlx5_0", gid(3, "203.0.113.1"))), {}, "203.0.113.1", id="address_of_another_network"),
        pytest.param(nodes(usual(11, link_layer="InfiniBand")), {}, "link layer InfiniBand", id="infiniband_port"),
        pytest.param({"gpu01": {"devices": []}}, {}, "no RDMA device", id="no_device"),
        pytest.param({**SAME, "gpu03": {"devices": []}}, {}, "gpu03", id="one_node_without_device_is_named"),
        pytest.param(nodes(port("mlx5_0", gid(3, "x:y"))), {}, "not a GID", id="garbled_gid"),
        pytest.param(SAME, {"devices": ["mlx5_9"]}, "no RoCE v2 address", id="named_device_is_not_there"),
        pytest.param(SAME, {"dscp": 64}, "not a DSCP", id="dscp_out_of_range"),
        pytest.param(SAME, {"nccl_version": "new"}, "not a version", id="no_version"),
        pytest.param(
            {"gpu01": {"devices": [usual(11)], "interfaces": []}},
            {"control_network": "192.0.2.0/24"},
            "no interface",
            id="control_network_on_no_interface",
        ),
        pytest.param(SAME, {"control_network": "x"}, "not a network", id="no_control_network"),
        pytest.param(DIFFERENT, {"hostnames": {"gpu02": "a;b"}}, "not a host name", id="name_that_a_shell_would_run"),
        pytest.param(nodes(usual(11, name="mlx5_0;x")), {}, "cannot be handed on|not a value", id="odd_device_name"),
        pytest.param({"gpu01": {"devices": [{"port": 1}]}}, {}, "lack 'name'", id="facts_of_another_shape"),
    ],
)
def test_refused_with_the_facts(facts: dict[str, Any], options: dict[str, Any], says: str) -> None:
    with pytest.raises(AnsibleFilterError) as refusal:
        nccl_variables(facts, NETWORK, **options)
    assert re.search(says, str(refusal.value))


def test_wrong_input_is_a_filter_error() -> None:
    with pytest.raises(AnsibleFilterError, match="facts per node"):
        nccl_variables([], NETWORK)
    with pytest.raises(AnsibleFilterError, match="not a network"):
        nccl_variables(SAME, "198.51.100.1/24")
