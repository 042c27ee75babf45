# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What troubled lines speak of that no rule knows. Lines of our own making."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.catalogue import CAUSES
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose
from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.rules.subjects import SUBJECTS


def layers(found: dict[str, Any]) -> list[str]:
    return [finding["layer"] for finding in found["findings"]]


@pytest.mark.parametrize(
    ("layer", "line"),
    (
        ("container", "widgetd: the pod could not be frobbed"),
        ("gpu_driver", "widgetd: the nvidia thing is in the wrong state"),
        ("mpi_launch", "widgetd: hostfile line 3 is bad"),
        ("host_routing", "widgetd: hostname with a bad letter"),
        ("run_env", "widgetd: wrong environment"),
        ("application", "widgetd: bad checkpoint"),
    ),
)
def test_an_unknown_trouble_leads_to_what_it_speaks_of_as_a_candidate(layer: str, line: str) -> None:
    found = diagnose(None, {"a.log": line + "\n"})
    assert found["verdict"] == "cannot_tell"
    assert layers(found)[0] == layer
    assert {finding["certainty"] for finding in found["findings"]} == {"candidate"}
    assert found["settled"] == ""
    assert found["next"]


def test_what_a_rule_says_stands_before_what_a_line_speaks_of() -> None:
    found = diagnose(None, {"a.log": "RuntimeError: the pod has a bad nvidia driver on this host\n"})
    assert layers(found)[0] == "application"
    assert len(layers(found)) == len(set(layers(found))) == 3


def test_where_the_lines_state_their_cause_nothing_is_guessed() -> None:
    found = diagnose(None, {"a.log": "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\nbad pod\n"})
    assert layers(found) == ["gpu_hardware"]


def test_of_a_site_that_was_read_machine_by_machine_nothing_is_guessed() -> None:
    text = "widgetd: the pod could not be frobbed\n"
    found = diagnose(None, {"hosts/gpu01/a.txt": text, "hosts/gpu01/mtu.txt": "Unable to open device mlx5_0\n"})
    assert "container_down" not in [finding["cause"] for finding in found["findings"]]


def test_every_subject_names_causes_that_exist() -> None:
    assert {cause for _pattern, causes in SUBJECTS for cause in causes} <= set(CAUSES)


FAMILIES = (
    ("container_no_gpu", "Allocate failed due to no healthy devices present; cannot allocate nvidia.com/gpu"),
    ("container_down", "Error: path /run/x is mounted on /run but it is not a shared mount"),
    ("container_devices", "error gathering device information while adding custom device /dev/infiniband"),
    ("container_down", "slurmstepd: error: pyxis: container start failed with error code: 1"),
    ("driver_not_running", "nvidia-container-cli: initialization error: nvml error: driver not loaded"),
    (
        "driver_not_running",
        "RuntimeError: cudaGetDeviceCount() Error 304: OS call failed or operation not supported on this OS",
    ),
    ("driver_too_old", "NCCL WARN CUDA Driver version found is 11000. Minimum requirement is 11020"),
    ("gpu_fault", "| Diagnostic            | Fail - All GPUs |\n|     | PCIe | Fail |"),
    ("gpu_fault", "        Pending                           : Yes"),
    ("launch_failed", "MPIR_pmi_kvs_get(227).......: PMI_KVS_Get returned -1"),
    ("launch_failed", "bash: line 1: deepspeed: command not found"),
    ("vars_wrong", "ValueError: environment variable MASTER_ADDR expected, but not set"),
    ("limits_host", "failed (exitcode: -9) local_rank: 0 (pid: 4321)"),
    ("container_shm", "exitcode  : -7 (pid: 4321)"),
    ("wrong_interface", "RuntimeError: Gloo connectFullMesh failed with [pair.cc:144] no error"),
    ("wrong_interface", "No available node types can fulfill resource request {'GPU': 1.0}"),
    ("foreign_client", "nmap found the port of the store"),
    ("nccl_mixed", "NCCL WARN NCCL version mismatch with remote peer 192.0.2.1 (local: 22703, remote 22605)"),
    ("application_failed", "gpu01:1:2 [0] NCCL WARN AllReduce : invalid root 9 (root should be in the 0..8 range)"),
    ("nccl_bug", "free(): invalid next size (fast) in all_reduce_perf"),
)


@pytest.mark.parametrize(("cause", "line"), FAMILIES)
def test_a_message_of_a_family_leads_to_its_cause_first(cause: str, line: str) -> None:
    found = diagnose(None, {"a.log": line + "\n"})
    assert (found["findings"][0]["cause"], found["findings"][0]["certainty"]) == (cause, "candidate")


def test_an_exception_that_wraps_an_error_does_not_hide_it() -> None:
    plain = diagnose(None, {"a.log": "RuntimeError: the widget is bad\n"})
    wrapped = diagnose(None, {"a.log": "RuntimeError: [Errno 24] Too many open files\n"})
    assert plain["findings"][0]["cause"] == "application_failed"
    assert wrapped["findings"][0]["cause"] == "limits_host"
    assert "application_failed" not in [finding["cause"] for finding in wrapped["findings"]]
