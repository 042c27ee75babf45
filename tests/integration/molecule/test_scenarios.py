# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every role has a molecule scenario (prepare, converge, idempotence, testinfra), and it passes."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
# In the order of the data path: a scenario finds what the ones before it have left.
ORDER = (
    "stage",
    "switch",
    "esxi_host",
    "gpu_vm",
    "guest",
    "mesh",
    "container",
    "run",
    "consistency",
    "benchmark",
    "report",
)


# One for each way to get a driver. tests/integration/nic/test_molecule_profiles.py plays them on a throw-away disk,
# because an interrupted one leaves a node without its tools, which all scenarios behind it need.
PROFILES = {"guest_current", "guest_guide"}


def test_every_role_has_a_scenario() -> None:
    roles = {path.name for path in (ROOT / "roles").iterdir() if path.is_dir()}
    scenarios = {path.parent.name for path in (ROOT / "molecule").glob("*/molecule.yml")}
    assert roles == set(ORDER)
    assert scenarios == roles | PROFILES


@pytest.mark.usefixtures("twin")
@pytest.mark.parametrize("role", ORDER)
def test_scenario(role: str) -> None:
    program = pathlib.Path(sys.executable).parent / "molecule"
    with tempfile.TemporaryDirectory(prefix="rm-") as home:
        # molecule writes below the home directory; ssh's control sockets need a short path.
        done = subprocess.run(
            [str(program), "test", "-s", role],
            cwd=ROOT,
            env={**os.environ, "HOME": home, "NO_COLOR": "1", "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-4000:]
