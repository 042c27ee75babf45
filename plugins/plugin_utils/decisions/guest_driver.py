"""Judge what a guest says about its RDMA driver.

Each reading that is given is judged. Readings are what the named programs print, in the locale C.
``failure``: Result of a task that failed. Whether a disk was full is looked for in all of it.
``apt``: What `apt-get install --print-uris --assume-yes` says.
``df``: One line per path - the path, a tab, and the last line of `df --block-size=1
--output=avail,size,iavail,target` for it.
``needs``: What an installation needs, each with `path`, `bytes` and `what`. Each path has to be one of `df`.
``dkms``: What `dkms status` says.
``dkms_modules``: DKMS modules that have to be there.
``rdma``: Result of `rdma_info`.
``connection``: The interface that carries the session. Empty for none.
``installer``: Standard output and standard error of `mlnxofedinstall`.
``ofed``: What `ofed_info -s` says, empty where it does not answer.
``ofed_package``: Status and version of `mlnx-ofed-kernel-dkms`, as `dpkg-query -f='${db:Status-Status} ${Version}'`.
``ofed_wanted``: The wanted release, for example `5.2-2.2.4.0`.
``ofed_unfinished``: Whether an installation has begun and not ended.
"""

from __future__ import annotations

from typing import Any

from ...module_utils._nic import install_state, space
from ..decision import Context

SPEC: dict[str, Any] = {
    "failure": {"type": "dict"},
    "apt": {},
    "df": {},
    "needs": {"type": "list", "elements": "dict", "default": []},
    "dkms": {},
    "dkms_modules": {"type": "list", "elements": "str", "default": []},
    "running_kernel": {"default": ""},
    "kernel_images": {"type": "list", "elements": "str", "default": []},
    "rdma": {"type": "dict"},
    "connection": {"default": ""},
    "installer": {},
    "installer_rc": {"type": "int", "default": 1},
    "ofed": {},
    "ofed_package": {"default": ""},
    "ofed_wanted": {"default": ""},
    "ofed_unfinished": {"type": "bool", "default": False},
}


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
    host = str(context.variables.get("inventory_hostname", "this host"))
    found: dict[str, Any] = {}
    if options["failure"] is not None:
        found["full"] = space.out_of_space(options["failure"])
    if options["apt"] is not None:
        found["room"] = space.apt_needs(options["apt"])
    if options["df"] is not None:
        places = space.parse_places(options["df"], host)
        found["space"] = {"shortages": space.shortages(places, options["needs"]), "places": space.fullest_first(places)}
    if options["dkms"] is not None:
        found["gaps"] = install_state.dkms_gaps(
            options["dkms"], host, options["dkms_modules"], options["running_kernel"], options["kernel_images"]
        )
    if options["rdma"] is not None:
        found["refusals"] = install_state.restart_refusals(options["rdma"], options["connection"])
    if options["installer"] is not None:
        found["installed"] = install_state.parse_installer(options["installer_rc"], options["installer"])
    if options["ofed"] is not None:
        found["release"] = install_state.ofed_state(
            options["ofed"], options["ofed_package"], options["ofed_wanted"], options["ofed_unfinished"]
        )
    return found
