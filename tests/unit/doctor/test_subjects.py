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
