# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the real orted or prted connects to: started in a network of its own that leads nowhere, watched by strace."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path

# An interface, because a daemon without one gives up before it connects; no route, so that every attempt ends at once.
_ALONE = """ip link set lo up && ip link add name mesh0 type bridge && ip address add 192.0.2.200/32 dev mesh0 &&
ip -6 address add fd00::200/128 dev mesh0 nodad && ip link set mesh0 up && exec "$@" """
OWN = {"192.0.2.200", "fd00::200"}  # where "localhost" leads a daemon
_CONNECTS = re.compile(r'connect\(.*(?:inet_addr\(|inet_pton\(AF_INET6, )"([^"]+)"')
_TOLD = {
    "orted": "-mca ess env -mca ess_base_jobid 1994326016 -mca ess_base_vpid 1 -mca ess_base_num_procs 2",
    "prted": "--allow-run-as-root --prtemca ess env --prtemca ess_base_nspace prterun-vm-9061@0 "
    "--prtemca ess_base_vpid 1 --prtemca ess_base_num_procs 2 --prtemca plm ssh",
}
_HEAD = {"orted": "1994326016.0", "prted": "prterun-vm-9061@0.0"}
_CONTACT = {"orted": ("-mca", "orte_hnp_uri"), "prted": ("--prtemca", "prte_hnp_uri")}


def goes_to(prefix: str, daemon: str, contact: str) -> set[str]:
    """Addresses to which the daemon in ``prefix`` tries to connect when it is told this contact of its head."""
    with tempfile.TemporaryDirectory(prefix="rocemesh-daemon-") as folder:
        trace = Path(folder) / "trace"
        environment = {
            **os.environ, "TMPDIR": folder, "PRTE_PREFIX": prefix, "PMIX_PREFIX": prefix,
            "LD_LIBRARY_PATH": "" if prefix == "/usr" else f"{prefix}/lib",
            "HWLOC_COMPONENTS": "-gl",  # which asks the X servers of this machine for their cards
        }  # fmt: skip
        command = ["strace", "-f", "-qq", "-e", "trace=connect", "-o", str(trace), f"{prefix}/bin/{daemon}"]
        # It goes nowhere for a process of another job.
        told = f"{_HEAD[daemon]};{contact.partition(';')[2]}"
        command += [*_TOLD[daemon].split(), *_CONTACT[daemon], told]
        # A daemon that had no time to connect on a busy machine says nothing about the contact.
        for seconds in ("6", "30"):
            done = subprocess.run(
                ["unshare", "--net", "/bin/sh", "-c", _ALONE, "sh", "timeout", "-k", "1", seconds, *command],
                env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
            )  # fmt: skip
            found = set(_CONNECTS.findall(trace.read_text()))
            if found or done.returncode not in (124, 137):
                break
        return found
