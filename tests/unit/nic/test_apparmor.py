"""AppArmor in the kernel without its parser: Docker answers, and starts no container."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.node import Node
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.node_reading import apparmor
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.transport import Sysfs

PARAMETER, PROFILES = "module/apparmor/parameters/enabled", "kernel/security/apparmor/profiles"
ON = {PARAMETER: "Y\n", PROFILES: "lsb_release (enforce)\n"}


@pytest.mark.parametrize(
    ("files", "parser", "said"),
    [
        (ON, False, True),
        (ON, True, False),
        ({**ON, PROFILES: "docker-default (enforce)\n"}, False, False),
        ({**ON, PARAMETER: "N\n"}, False, False),
        ({PARAMETER: "Y\n"}, False, False),  # of a container: nothing is mounted there
        ({}, False, False),
    ],
)
def test_missing_parser_is_told_where_docker_needs_it(
    tmp_path: Path, files: dict[str, str], parser: bool, said: bool
) -> None:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    which = {"apparmor_parser": "/usr/sbin/apparmor_parser"}.get if parser else {}.get
    assert bool(apparmor(Node("gpu01", which=which, sysfs=Sysfs(str(tmp_path))))) is said
