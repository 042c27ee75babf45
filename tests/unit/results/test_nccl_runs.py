"""NCCL writes its path into files, in the probe and in the timed run, and both use the same network."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.rocemesh.multinode.plugins.filter.nccl_run_env import nccl_run_env

BASE = {"NCCL_IB_DISABLE": "0", "NCCL_DEBUG": "INFO", "NCCL_IB_TC": 106, "OMP_NUM_THREADS": 1}


def test_probe_writes_to_files_and_demands_the_network() -> None:
    assert nccl_run_env(BASE, "probe", prefix="/tmp/p") == {
        "NCCL_IB_DISABLE": "0",
        "NCCL_IB_TC": 106,
        "OMP_NUM_THREADS": 1,
        "NCCL_NET": "IB",
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_SUBSYS": "INIT,NET,ENV,GRAPH",
        "NCCL_DEBUG_FILE": "/tmp/p.%h.%p.log",
        "NCCL_TOPO_DUMP_FILE": "/tmp/p.topology.xml",
    }


def test_timed_run_differs_from_the_probe_only_in_what_nccl_writes() -> None:
    probe, timed = nccl_run_env(BASE, "probe", prefix="/tmp/p"), nccl_run_env(BASE, "timed", prefix="/tmp/t")
    assert {name for name in probe if probe[name] != timed.get(name)} == {"NCCL_DEBUG_FILE", "NCCL_TOPO_DUMP_FILE"}
    assert set(timed) - set(probe) == set()
    assert (timed["NCCL_DEBUG"], timed["NCCL_DEBUG_FILE"], timed["NCCL_NET"]) == ("INFO", "/tmp/t.%h.%p.log", "IB")
    # What NCCL prints per collective belongs to other subsystems (src/enqueue.cc, src/proxy.cc).
    assert not {"COLL", "TUNING", "CALL", "PROXY", "P2P", "ALL"} & set(timed["NCCL_DEBUG_SUBSYS"].split(","))


def test_timed_run_without_files_is_quiet() -> None:
    given = {**BASE, "NCCL_DEBUG_FILE": "/tmp/mine", "NCCL_DEBUG_SUBSYS": "COLL"}
    assert nccl_run_env(given, "timed") == {**BASE, "NCCL_DEBUG": "WARN", "NCCL_NET": "IB"}


def test_no_network_is_demanded_where_none_is_wanted() -> None:
    assert "NCCL_NET" not in nccl_run_env(BASE, "probe", prefix="/tmp/p", network="")
    assert "NCCL_NET" not in nccl_run_env(BASE, "timed", network="")


def test_input_is_not_changed() -> None:
    base = dict(BASE)
    nccl_run_env(base, "probe", prefix="/tmp/p")
    assert base == BASE


@pytest.mark.parametrize(
    ("base", "arguments", "says"),
    [
        ({"NCCL_IB_DISABLE": "1"}, {}, "NCCL_IB_DISABLE"),
        ({"NCCL_IB_DISABLE": True}, {}, "NCCL_IB_DISABLE"),
        ({"NCCL_NET": "Socket"}, {}, "contradicts the wanted network IB"),
        ({}, {"prefix": ""}, "absolute path"),
        ({}, {"prefix": "relative/p"}, "absolute path"),
        ({}, {"prefix": "/tmp/%h"}, "plain characters"),
        ({}, {"prefix": "/tmp/a b"}, "plain characters"),
        ({}, {"kind": "timed", "prefix": "/tmp/%p"}, "plain characters"),
        ({}, {"prefix": "/tmp/"}, "plain characters"),
        ({}, {"network": "IB;rm"}, "not the name of a network"),
        ({}, {"kind": "both"}, "probe or timed"),
    ],
)
def test_refused(base: dict[str, Any], arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(AnsibleFilterError, match=says):
        nccl_run_env(base, **{"kind": "probe", "prefix": "/tmp/p", **arguments})


def test_wrong_input_is_a_filter_error() -> None:
    with pytest.raises(AnsibleFilterError):
        nccl_run_env("text", "timed")
