# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of rocemesh.multinode.guest_driver: what a guest says about its driver, judged."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..module_utils._nic import install_state, space
from ..modules.guest_driver import DOCUMENTATION
from ..plugin_utils.decision import Decision


class ActionModule(Decision):
    documentation = DOCUMENTATION

    def decide(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        host = str(variables.get("inventory_hostname", "this host"))
        found: dict[str, Any] = {}
        if options["failure"] is not None:
            found["full"] = space.out_of_space(options["failure"])
        if options["apt"] is not None:
            found["room"] = space.apt_needs(options["apt"])
        if options["df"] is not None:
            places = space.parse_places(options["df"], host)
            found["space"] = {
                "shortages": space.shortages(places, options["needs"]),
                "places": space.fullest_first(places),
            }
        if options["dkms"] is not None:
            found["gaps"] = install_state.dkms_gaps(
                options["dkms"], host, options["dkms_modules"], options["running_kernel"], options["kernel_images"]
            )
        if options["rdma"] is not None:
            found["refusals"] = install_state.restart_refusals(options["rdma"], options["connection"])
        if options["installer"] is not None:
            found["installed"] = dataclasses.asdict(
                install_state.parse_installer(options["installer_rc"], options["installer"])
            )
        if options["ofed"] is not None:
            found["release"] = install_state.ofed_state(
                options["ofed"], options["ofed_package"], options["ofed_wanted"], options["ofed_unfinished"]
            )
        return found
