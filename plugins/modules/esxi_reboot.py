#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: esxi_reboot
short_description: Reboot an ESXi host in an orderly way, and prove it
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Shuts down the permitted VMs of one host, puts it into maintenance mode, reboots it, waits until it is back, leaves
    maintenance mode and starts the VMs again.
  - Does nothing unless O(required) is true or one of O(pending_settings) is configured but not in force.
  - The host counts as rebooted when it is connected, reports a newer boot time and answers a command.
  - A host is rebooted at most once in a run, and a reboot cannot be taken back. A setting that is still not in force
    afterwards is an error.
  - Refuses a host that runs this vCenter or the machine that runs the play, a VM that is not in O(vm_allowlist), and
    a host that already is in maintenance mode.
  - If entering maintenance mode fails, or the reboot itself is refused, the host leaves maintenance mode again if this
    run had entered it, and the VMs that were shut down are started again. Maintenance mode that is not reached in time
    is cancelled.
  - The reboot is asked for once. If the connection breaks at that moment, the module does not ask again but watches the
    host.
attributes:
  check_mode:
    support: full
    description: Lists the steps and changes nothing. Refusals are the same as in a real run.
options:
  esxi_hostname:
    description: Name of the ESXi host as vCenter shows it, or its managed object id.
    type: str
    required: true
  required:
    description: Reboot the host whatever its settings say. Everything that runs on it stops meanwhile.
    type: bool
    default: false
  pending_settings:
    description: Reboot the host if one of these kernel settings is configured but not in force.
    type: list
    elements: str
    default: []
  reason:
    description: Why the reboot is wanted, for the log and the result.
    type: list
    elements: str
    default: []
  vm_policy:
    description:
      - What to do with running VMs.
      - V(refuse) does not reboot a host with a running VM. V(shutdown) shuts down the VMs in O(vm_allowlist), and
        refuses if another one runs.
      - VMs with passthrough devices cannot be moved to another host while they are on, so waiting for that never ends.
      - V(evacuate) also moves the VMs that have no passthrough device to other hosts of the cluster, by DRS where it is
        fully automated, else by one vMotion each to the host with the fewest VMs. They are not moved back. VMs with
        passthrough devices are shut down if they are in O(vm_allowlist).
    type: str
    choices: [refuse, shutdown, evacuate]
    default: refuse
  vm_allowlist:
    description:
      - Managed object ids or names of the VMs that may be shut down. A running VM that is not in the list forbids the
        reboot, unless O(vm_policy=evacuate) moves it.
    type: list
    elements: str
    default: []
  hard_off:
    description:
      - Cut the power of a permitted VM whose guest does not, or cannot, shut down. What it had not written is lost.
    type: bool
    default: false
  restore_vms:
    description:
      - Start the VMs again that this run shut down. With V(false) they stay powered off after the reboot; a run that
        fails before the reboot starts them in any case.
    type: bool
    default: true
  power_on:
    description:
      - Managed object ids or names of VMs of this host that must run at the end, besides those that this run shut down.
    type: list
    elements: str
    default: []
  in_maintenance:
    description:
      - What to do with a host that is in maintenance mode already.
      - V(refuse) refuses. V(allow) reboots it and leaves it in maintenance mode.
      - V(adopt) goes on as if this run had put it there, and leaves maintenance mode at the end, even if no reboot is
        needed any more. It is for a person who knows that an interrupted run left the host so; nothing is compared.
        Name the VMs to start in O(power_on).
      - V(recover) does the same only if vCenter's records prove that an interrupted run of this collection entered, and
        no other user since. It waits for a marked host that still boots, refuses while another run holds the lease, and
        leaves any other maintenance mode alone with a warning that says who entered it.
    type: str
    choices: [refuse, allow, adopt, recover]
    default: refuse
  only_if_booted_at:
    description:
      - Boot time, in ISO 8601, that the host had when the reboot was planned. If it has booted since, O(required) and
        O(reason) mean nothing any more, and the host is rebooted only if one of O(pending_settings) still waits.
      - Without it, each call with O(required=true) is an order of its own.
    type: str
  vsan_mode:
    description:
      - What happens to the data of a vSAN host while it is in maintenance mode. If not given, vCenter decides. Without
        vSAN it has no effect.
      - V(ensureObjectAccessibility) keeps all objects readable, V(evacuateAllData) moves everything away first,
        V(noAction) moves nothing, and objects may be out of reach.
    type: str
    choices: [ensureObjectAccessibility, evacuateAllData, noAction]
  shutdown_timeout:
    description:
      - Seconds that a guest may take to shut down. After that the reboot is given up, unless O(hard_off) is true.
    type: int
    default: 300
  maintenance_timeout:
    description: Seconds that entering or leaving maintenance mode may take. When they are over, the task is cancelled.
    type: int
    default: 600
  reboot_timeout:
    description: Seconds from the reboot until the host must be back. Servers with GPUs may take 20 minutes.
    type: int
    default: 3600
  power_on_timeout:
    description: Seconds that powering a VM on or off may take.
    type: int
    default: 300
extends_documentation_fragment:
  - rocemesh.multinode.attributes.changes
  - rocemesh.multinode.vsphere
  - rocemesh.multinode.vsphere.lease
notes:
  - The account needs the privileges C(Host.Config.Maintenance), C(VirtualMachine.Interact.PowerOff) and
    C(VirtualMachine.Interact.PowerOn), for O(vm_policy=evacuate) C(Resource.HotMigrate). For the lease and the mark it
    needs C(Global.ManageCustomFields) on the root folder, and C(Global.SetCustomField) on the datacenter and its hosts.
  - While it works the module holds the lease of the datacenter, so two runs never open windows there at once. On a host
    that this run has put into maintenance mode it writes a mark, the custom attribute C(rocemesh.window), which names
    the run and vCenter's event about it. The mark goes when the host leaves maintenance mode. Check mode writes none.
  - Logged in to a standalone ESXi host there is neither lease nor mark, because it has no custom attributes.
    O(in_maintenance=recover) then leaves every maintenance mode alone.
  - A VM counts as this vCenter if its address is the one that the module is connected to, if its host name is
    O(hostname), or if it was deployed as a vCenter Server appliance.
  - A host that Quick Boot restarts skips its firmware. That is not enough for a change in the firmware of a NIC, switch
    Quick Boot off for such a host.
  - A host that is in standby, or on its way there, is refused. Switch DPM off for it first.
  - Powered-off VMs are never evacuated, and the reboot is never forced.
  - VMs that vCenter manages itself are left to vCenter, that is agent VMs of the ESX Agent Manager and vCLS, also the
    embedded vCLS of vCenter 8.0 U3. Not verified on hardware.
  - Guests are asked to shut down side by side, and have one common deadline.
seealso:
  - module: rocemesh.multinode.esxi_kernel_setting
"""

EXAMPLES = r"""
- name: Reboot the host if its kernel setting waits for it
  rocemesh.multinode.esxi_reboot:
    hostname: vcenter.example.org
    username: automation@vsphere.local
    password: "{{ vcenter_password }}"
    esxi_hostname: esx01.example.org
    pending_settings: [atsSupport]
    vm_policy: shutdown
    vm_allowlist: [gpu01, gpu02]
  delegate_to: localhost
  throttle: 1

- name: Go on after a run that died while the host was in maintenance mode
  rocemesh.multinode.esxi_reboot:
    esxi_hostname: esx01.example.org
    in_maintenance: adopt
    pending_settings: [atsSupport]
    hostname: vcenter.example.org
    username: automation@vsphere.local
    password: "{{ vcenter_password }}"
    power_on: [gpu01, gpu02]
  delegate_to: localhost
"""

RETURN = r"""
rebooted:
  description:
    - Whether this run rebooted the host and saw it come back. After a failure V(null) if it asked for a reboot and what
      became of it is not known.
  returned: success, or failure after the first step
  type: bool
reasons:
  description: Why the host was, or in check mode would be, rebooted. Empty if it was not.
  returned: success
  type: list
  elements: str
boot_time_before:
  description: Boot time that the host reported before the run.
  returned: success
  type: str
  sample: "2026-01-02T03:04:05+00:00"
boot_time_after:
  description: Boot time after the reboot, null without one.
  returned: success
  type: str
elapsed:
  description: Seconds from the reboot until the host was back.
  returned: success
  type: float
entered_maintenance:
  description: Whether this run put the host into maintenance mode.
  returned: success
  type: bool
in_maintenance:
  description: Whether the host is in maintenance mode at the end.
  returned: success
  type: bool
vms_shut_down:
  description: VMs that this run shut down.
  returned: success, or failure after the first step
  type: list
  elements: str
vms_moved:
  description: VMs that this run moved to another host itself, without those that DRS moved.
  returned: success
  type: list
  elements: str
vms_powered_on:
  description: VMs that this run started.
  returned: success
  type: list
  elements: str
resume:
  description:
    - If the run failed half-way, the options to run again with. C(in_maintenance) is there only if this run has
      entered maintenance mode and no other user has taken it since.
  returned: failure after the first step
  type: dict
  sample: {in_maintenance: adopt, power_on: [gpu01, gpu02]}
"""

import datetime
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._vsphere.arguments import LEASE, lease_from, make_module, run_layer, vsphere_argument_spec
from ..module_utils._vsphere.plan_reboot import RebootWanted, Timeouts
from ..module_utils._vsphere.reboot import RebootLayer
from ..module_utils._vsphere.transport import Connection


def moment(module: AnsibleModule, text: str | None) -> datetime.datetime | None:
    if not text:
        return None
    try:
        found = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        module.fail_json(
            msg=f"only_if_booted_at: {text!r} is no date and time in ISO 8601. What to do: give the boot_time that "
            "rocemesh.multinode.esxi_window returns."
        )
        return None
    return found if found.tzinfo else found.replace(tzinfo=datetime.timezone.utc)


def main() -> None:
    names = {"type": "list", "elements": "str", "default": []}
    module = make_module(
        argument_spec=vsphere_argument_spec(
            esxi_hostname={"type": "str", "required": True},
            required={"type": "bool", "default": False},
            pending_settings=dict(names),
            reason=dict(names),
            vm_policy={"type": "str", "choices": ["refuse", "shutdown", "evacuate"], "default": "refuse"},
            vm_allowlist=dict(names),
            hard_off={"type": "bool", "default": False},
            restore_vms={"type": "bool", "default": True},
            power_on=dict(names),
            in_maintenance={"type": "str", "choices": ["refuse", "allow", "adopt", "recover"], "default": "refuse"},
            only_if_booted_at={"type": "str"},
            **LEASE,
            vsan_mode={"type": "str", "choices": ["ensureObjectAccessibility", "evacuateAllData", "noAction"]},
            shutdown_timeout={"type": "int", "default": 300},
            maintenance_timeout={"type": "int", "default": 600},
            reboot_timeout={"type": "int", "default": 3600},
            power_on_timeout={"type": "int", "default": 300},
        ),
        supports_check_mode=True,
    )
    params = module.params
    lists: dict[str, Any] = {
        name: tuple(params[name]) for name in ("pending_settings", "reason", "vm_allowlist", "power_on")
    }
    wanted = RebootWanted(
        **{name: params[name] for name in ("required", "vm_policy", "hard_off", "in_maintenance", "restore_vms")},
        **lists,
        vsan_mode=params["vsan_mode"] or "",
        booted_at=moment(module, params["only_if_booted_at"]),
    )
    timeouts = Timeouts(
        **{name: params[f"{name}_timeout"] for name in ("shutdown", "maintenance", "reboot", "power_on")}
    )

    def make_layer(connection: Connection) -> RebootLayer:
        return RebootLayer(
            connection,
            params["esxi_hostname"],
            wanted,
            timeouts,
            lease=lease_from(params) if connection.is_vcenter else None,
            check_mode=module.check_mode,
        )

    run_layer(module, make_layer, wanted)


if __name__ == "__main__":
    main()
