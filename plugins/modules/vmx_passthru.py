#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: vmx_passthru
short_description: Set the advanced settings of a VM that GPUDirect RDMA between passthrough devices needs
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Sets C(pciPassthru.allowP2P), C(pciPassthru.RelaxACSforP2P), C(numa.nodeAffinity), C(pciPassthruN.cfg.gpu-pci-id)
    and the 64-bit MMIO settings of one VM, and no other advanced setting.
  - Says in RV(prerequisites) what the VM's devices need besides (reserved memory, EFI, 64-bit MMIO and its size), with
    the reason. It sets these only where an option asks for it.
  - All keys change in one guarded operation and are read back. A key that vSphere accepts and silently leaves out is
    an error.
  - These keys can only be changed while the VM is powered off, and come into force at the next power-on. A reboot of
    the guest is not enough. What happens to a running VM is decided by O(power_policy).
options:
  vm:
    description: Name of the VM, or its managed object id. Only one of this and O(vms) is given.
    type: str
  vms:
    description:
      - Several VMs, each with C(vm) and C(wanted) as O(vm) and O(wanted), which are read in one session. Only in check
        mode. One that cannot be read stops nothing.
    type: list
    elements: dict
  folder:
    description: Inventory folder of the VM, or the end of its path, if the name is not unique.
    type: str
  uuid:
    description: BIOS or instance UUID of the VM, if the name is not unique.
    type: str
  allow_p2p:
    description:
      - Value of C(pciPassthru.allowP2P), peer-to-peer traffic between the VM's passthrough devices.
      - Comes into force at the next power-on. A running VM goes down for it only if O(power_policy) says so.
    type: bool
    default: true
  relax_acs:
    description:
      - Value of C(pciPassthru.RelaxACSforP2P), which lets that traffic go straight through PCIe switches.
      - Comes into force at the next power-on. A running VM goes down for it only if O(power_policy) says so.
    type: bool
    default: true
  numa_node_affinity:
    description:
      - NUMA nodes of the host that the VM's CPUs and memory stay on (C(numa.nodeAffinity)).
      - V(auto) takes the nodes of the VM's own passthrough NICs and GPUs, and refuses if a GPU has no NIC on its node
        or a NIC no GPU. A VM with the devices of a whole host gets all of its nodes.
        Where the node of a device is not known, or is decided at the next power-on (Dynamic DirectPath, vGPU, an
        automatic SR-IOV card, a device group) and could be another one, the key is left alone with a warning.
      - V(absent) removes the key. If not given, or given as an empty list, the key is left alone.
    type: list
    elements: str
  gpu_pci_ids:
    description:
      - Number of a passthrough device of the VM (from 0) to PCI address of the physical GPU that it shall use
        (C(pciPassthruN.cfg.gpu-pci-id)). An empty address removes the key.
      - Each address must be an NVIDIA GPU of the VM's present host, and each device must have its own.
      - Name the physical function of a whole GPU. For a GPU in SR-IOV mode NVIDIA's guide asks for the address of a
        virtual function; that of the whole GPU gives a warning then.
      - A device has the number that its place in the VM's list gives it. Where labels and keys of the devices say
        otherwise (a device before it was removed), a new address is refused.
      - Comes into force at the next power-on.
    type: dict
    default: {}
  planned_host:
    description:
      - Managed object id or name of the ESXi host that O(numa_node_affinity) and O(gpu_pci_ids) were made for, as
        C(esxi_host_moid) of the run that made them says.
      - If the VM is on another host now, these two are left alone with a warning. They mean nothing there.
      - If not given, they are taken as made for the VM's present host.
    type: str
  use_64bit_mmio:
    description:
      - Value of C(pciPassthru.use64bitMMIO). If not given, the key is left alone.
      - Comes into force at the next power-on, like every key here.
    type: bool
  mmio_size_gb:
    description:
      - Value of C(pciPassthru.64bitMMIOSizeGB) in GB, a power of two. If not given, the key is left alone.
      - V(auto) computes it from the VM's own GPUs, their memory rounded up to a power of two and doubled. A larger size
        that is there already is kept. Where the memory of a GPU is not known, the key is left alone with a warning.
    type: str
  reserve_memory:
    description:
      - Reserve all memory of the guest, whatever its size (C(memoryReservationLockedToMax)). A VM with passthrough
        devices does not power on without. V(false) takes back this lock and the reservation in MB beside it, which
        would stay otherwise. If not given, both are left alone.
      - Changed only while the VM is off, so O(power_policy) decides about a running VM.
    type: bool
  firmware:
    description:
      - V(efi) changes a VM with BIOS firmware to EFI. If not given, the firmware is left alone.
      - A guest that was installed for BIOS does not boot afterwards. Can only change while the VM is off, so
        O(power_policy) decides about a running VM.
    type: str
    choices: [efi]
  allow_shared_gpu:
    description: Permit O(gpu_pci_ids) to name one GPU for two devices of the VM. Otherwise that is refused.
    type: bool
    default: false
  absent:
    description:
      - Options whose keys are removed from the VM's file, whatever these options say.
      - Comes into force at the next power-on. By default no key is removed.
    type: list
    elements: str
    choices: [allow_p2p, relax_acs, use_64bit_mmio, mmio_size_gb]
    default: []
  wanted:
    description:
      - Options that say what keys and fields shall be, by name, as RV(resolved) of an earlier run has them. They go
        before the same options given singly; null leaves a key alone.
      - Come into force at the next power-on, like those.
    type: dict
    default: {}
  power_only:
    description:
      - Change no key and no field, whatever the other options say, only the power as O(final_power) wants it.
      - By default keys and fields are set.
    type: bool
    default: false
  power_policy:
    description:
      - What to do if keys must change and the VM is powered on.
      - V(fail) refuses and changes nothing. V(shutdown) shuts the guest down, everything in it stops. V(poweroff) cuts
        its power, and unwritten data is lost.
      - In check mode V(fail) shows the power-off that a change would need.
    type: str
    choices: [fail, shutdown, poweroff]
    default: fail
  final_power:
    description:
      - V(as_found) powers the VM on again if this module powered it off, also where the change itself failed.
      - V(on) leaves the VM powered on in any case.
      - It is powered on on the host that it is on, and looked at afterwards. A VM that is on another host then (DRS) is
        an error.
    type: str
    choices: [as_found, 'on']
    default: as_found
  shutdown_timeout:
    description: Seconds that the guest may take to shut down. After that the run fails and the power is not cut.
    type: int
    default: 300
  power_timeout:
    description: Seconds that a power-on, a power-off or a reconfiguration may take.
    type: int
    default: 300
extends_documentation_fragment:
  - rocemesh.multinode.attributes.changes
  - rocemesh.multinode.vsphere
notes:
  - A VM with passthrough devices cannot be migrated, suspended or snapshotted while it is on, and HA does not
    restart it elsewhere.
  - C(numa.vcpu.preferHT), CPU affinity and the virtual NUMA topology are not touched. They size or show nodes to the
    guest, and place nothing.
  - The account needs the privilege C(VirtualMachine.Config.AdvancedConfig), C(VirtualMachine.Config.Resource) for
    O(reserve_memory), and C(VirtualMachine.Interact.PowerOn) and C(VirtualMachine.Interact.PowerOff) if the VM may be
    powered off or on. The file docs/vsphere-privileges.md of the collection has a role for all modules.
  - An answer that is lost (vCenter restarts, the link breaks) is followed on the VM itself. If the VM ends powered off
    against what was asked, the message says so and names the command that starts it.
seealso:
  - module: rocemesh.multinode.esxi_pci_info
"""

EXAMPLES = r"""
- name: Allow peer-to-peer and keep the VM on the node of its devices
  rocemesh.multinode.vmx_passthru:
    hostname: vcenter.example.org
    username: automation@vsphere.local
    password: "{{ vcenter_password }}"
    vm: gpu01
    numa_node_affinity: auto
    power_policy: shutdown
  delegate_to: localhost

- name: Tell which physical GPU the second passthrough device uses, while the VM is off
  rocemesh.multinode.vmx_passthru:
    hostname: vcenter.example.org
    username: automation@vsphere.local
    password: "{{ vcenter_password }}"
    vm: gpu01
    gpu_pci_ids:
      1: "0000:3d:00.0"
    final_power: 'on'
  delegate_to: localhost
"""

RETURN = r"""
vms:
  description:
    - Each VM of O(vms), in this order, with C(asked) (the name that was given), C(failed), and what is returned of one
      VM, of its failure too.
  returned: success with O(vms)
  type: list
  elements: dict
vm:
  description: Name of the VM.
  returned: success
  type: str
  sample: gpu01
vm_moid:
  description: Managed object id of the VM.
  returned: success
  type: str
  sample: vm-62
vm_uuid:
  description: Instance UUID of the VM.
  returned: success
  type: str
power_state:
  description: Power state after the run, V(poweredOn), V(poweredOff) or V(suspended).
  returned: success
  type: str
settings:
  description: The managed keys and their values in the VM's file, null where a key is absent.
  returned: success
  type: dict
  sample: {pciPassthru.allowP2P: 'TRUE', pciPassthru.RelaxACSforP2P: 'TRUE', numa.nodeAffinity: '0'}
changes:
  description:
    - Keys and fields that were changed or, in check mode, would be. Power is not among them.
    - Each item has C(key), C(before), C(after) (null for an absent key) and C(text), a sentence for a person.
  returned: success
  type: list
  elements: dict
  sample: [{key: numa.nodeAffinity, before: null, after: '0', text: set numa.nodeAffinity to 0}]
resolved:
  description:
    - The options of this run with everything computed, by name, null where nothing is wanted. Given to a later run,
      they lead to exactly this plan, also when the VM is off and its devices say less.
  returned: success
  type: dict
  sample: {numa_node_affinity: ['0'], mmio_size_gb: '128'}
left_alone:
  description: One sentence for each wish that could not be computed. They are warnings too.
  returned: success
  type: list
  elements: str
devices:
  description:
    - Passthrough devices of the VM with C(index), C(label), C(key), C(address) on the host, C(kind) (gpu, nic, other),
      C(name) and C(numa_node).
    - C(assignment) is V(fixed), V(dynamic) (Dynamic DirectPath), V(automatic) (SR-IOV card without a physical function
      of its own), V(vgpu) with its C(profile), V(dvx) (a device class, named by C(profile)) or V(unknown) (a backing
      that this release does not know; C(profile) is its type).
    - C(group) and C(group_name) are key and name of the vendor device group, C(candidates) what the present host may
      give at the next power-on.
  returned: success
  type: list
  elements: dict
prerequisites:
  description:
    - What the VM's devices need besides the keys, as the VM is after the run. Empty for a VM without such devices.
    - Each item has C(thing), C(have), C(need), C(ok) (null if it is unknown), C(why) and C(how) (the option
      that sets it, or what a person has to do).
  returned: success
  type: list
  elements: dict
  sample:
    - thing: pciPassthru.64bitMMIOSizeGB
      have: "64"
      need: at least 128
      ok: false
      why: "0000:3d:00.0 has 40 GB: 40 GB, rounded up to a power of two and doubled"
      how: "mmio_size_gb: auto"
power_cycle_required:
  description:
    - Whether keys wait for the VM to be powered off and on.
    - Read from vCenter's events since the last power-on; in check mode also true if the plan would power the VM off.
  returned: success
  type: bool
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ..module_utils._layer import RefusedError, failing
from ..module_utils._vsphere.arguments import endpoint_from, make_module, run_layer, vsphere_argument_spec
from ..module_utils._vsphere.keys import REMOVABLE, TRUTHS, VmxWanted
from ..module_utils._vsphere.layers import VmxLayer
from ..module_utils._vsphere.many_vms import read_vms
from ..module_utils._vsphere.transport import Connection

# What keys and fields shall be: options of the module, and what O(wanted) may name.
KEY_OPTIONS: dict[str, dict[str, Any]] = {
    "allow_p2p": {"type": "bool", "default": True},
    "relax_acs": {"type": "bool", "default": True},
    "numa_node_affinity": {"type": "list", "elements": "str"},
    "gpu_pci_ids": {"type": "dict", "default": {}},
    "use_64bit_mmio": {"type": "bool"},
    "mmio_size_gb": {"type": "str"},
    "reserve_memory": {"type": "bool"},
    "firmware": {"type": "str", "choices": ["efi"]},
    "allow_shared_gpu": {"type": "bool", "default": False},
    "absent": {"type": "list", "elements": "str", "choices": list(REMOVABLE), "default": []},
}


def _checked(vm: str, wanted: dict[str, Any]) -> dict[str, Any]:
    """Of their types; nothing is added. Raises `RefusedError` for what is no such option, or not of its type."""
    given = {name: value for name, value in wanted.items() if value is not None and name in KEY_OPTIONS}
    result = ArgumentSpecValidator({name: {**KEY_OPTIONS[name], "default": None} for name in given}).validate(given)
    strange = [f"{name} is no such option" for name in wanted if name not in KEY_OPTIONS]
    if strange or result.error_messages:
        raise RefusedError(
            "; ".join([*strange, *result.error_messages]),
            host=vm,
            thing="wanted",
            remedy="name only " + ", ".join(KEY_OPTIONS),
        )
    return {**dict.fromkeys(wanted), **result.validated_parameters}


def wanted_from(params: dict[str, Any], check_mode: bool) -> VmxWanted:
    """Raises `RefusedError` for a device number that is not one, and for what O(wanted) may not name."""
    params = {**params, **_checked(params["vm"], params["wanted"])}
    if params["power_only"]:
        return VmxWanted(allow_p2p=None, relax_acs=None, final_power=params["final_power"], plan_only=check_mode)
    gpu_pci_ids: dict[int, str] = {}
    for number, address in (params["gpu_pci_ids"] or {}).items():
        if not str(number).isdigit():
            raise RefusedError(
                "device numbers are 0, 1, 2 ...",
                host=params["vm"],
                thing="gpu_pci_ids",
                value=number,
                remedy="correct it",
            )
        gpu_pci_ids[int(number)] = str(address or "")
    numa = tuple(node.strip() for node in params["numa_node_affinity"] or ()) or None
    return VmxWanted(
        **{name: params[name] for name in TRUTHS},
        mmio_size_gb=params["mmio_size_gb"],
        reserve_memory=params["reserve_memory"],
        firmware=params["firmware"] or "",
        allow_shared_gpu=params["allow_shared_gpu"],
        numa=numa,
        gpu_pci_ids=gpu_pci_ids,
        absent=tuple(params["absent"] or ()),
        planned_host=params["planned_host"] or "",
        power_policy=params["power_policy"],
        final_power=params["final_power"],
        plan_only=check_mode,
    )


def _read(module: AnsibleModule) -> None:
    """All of O(vms), and leave the module."""
    if not module.check_mode:
        module.fail_json(msg="vms: several VMs are only read. What to do: use check_mode, or give one VM as vm.")
    with failing(module):
        wishes = [
            (str(one["vm"]), wanted_from({**module.params, "vm": one["vm"], "wanted": one.get("wanted", {})}, True))
            for one in module.params["vms"]
        ]
        with Connection(endpoint_from(module.params)) as connection:
            rows = read_vms(connection, wishes)
            for row in rows:
                for warning in row.pop("warnings", ()):
                    module.warn(warning)
            module.exit_json(changed=False, vms=rows, vcenter_uuid=connection.instance)


def main() -> None:
    module = make_module(
        argument_spec=vsphere_argument_spec(
            vm={"type": "str"},
            vms={"type": "list", "elements": "dict"},
            folder={"type": "str"},
            uuid={"type": "str"},
            **KEY_OPTIONS,
            planned_host={"type": "str"},
            wanted={"type": "dict", "default": {}},
            power_only={"type": "bool", "default": False},
            power_policy={"type": "str", "choices": ["fail", "shutdown", "poweroff"], "default": "fail"},
            final_power={"type": "str", "choices": ["as_found", "on"], "default": "as_found"},
            shutdown_timeout={"type": "int", "default": 300},
            power_timeout={"type": "int", "default": 300},
        ),
        supports_check_mode=True,
        required_one_of=[("vm", "vms")],
        mutually_exclusive=[("vm", "vms")],
    )
    params = module.params
    if params["vms"] is not None:
        _read(module)
    with failing(module):
        wanted = wanted_from(params, module.check_mode)
    place: dict[str, Any] = {name: params[name] or "" for name in ("folder", "uuid")}
    timeouts: dict[str, Any] = {name: params[name] for name in ("shutdown_timeout", "power_timeout")}
    run_layer(module, lambda connection: VmxLayer(connection, params["vm"], wanted, **place, **timeouts), wanted)


if __name__ == "__main__":
    main()
