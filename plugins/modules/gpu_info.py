#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_info
short_description: NVIDIA GPUs of a node, their driver and Fabric Manager
version_added: 0.1.0
description:
  - Reads which GPUs and NVSwitches are on the PCI bus, which GPUs the driver shows, the version of the driver loaded
    and on the disk, the newest CUDA that it runs, and whether Fabric Manager runs in the same version. With
    O(gather_state) the state of each GPU as well. Changes nothing and loads nothing.
  - Problems are returned in RV(problems), each with the host, the versions and the next command. The module does not
    fail because of it.
extends_documentation_fragment:
  - rocemesh.multinode.attributes.reads
  - rocemesh.multinode.attributes.node
author: rocemesh.multinode contributors (@rocemesh)
requirements:
  - C(nvidia-smi), C(modinfo), C(nv-fabricmanager), C(systemctl), C(dmesg) and C(journalctl) as far as they are there
options:
  ranks:
    description: Ranks (slots) that this node shall have. V(0) - as many as GPUs.
    type: int
    default: 0
  allow_idle_gpus:
    description: Whether fewer ranks than GPUs are wanted.
    type: bool
    default: false
  image:
    description: What torch of the image was built for, as far as that is known before it runs. Empty - not known.
    type: str
    choices: ['', cpu, cuda]
    default: ''
  allow_cpu:
    description: Whether training on CPUs beside usable GPUs is wanted.
    type: bool
    default: false
  image_cuda:
    description: Version of CUDA in the image, for example V(12.4). Empty - not known.
    type: str
    default: ''
  waits_for:
    description:
      - Keys of the VM that a maintenance window is still to set, and without which a driver may not reach its GPUs, for
        example V(pciPassthru.64bitMMIOSizeGB). What such a key can mend is then returned in RV(waiting) instead of
        RV(problems).
    type: list
    elements: str
    default: []
  settle_timeout:
    description:
      - Seconds to look again as long as something is wrong. Shortly after a boot the driver or Fabric Manager may still
        be starting.
    type: int
    default: 0
  gather_state:
    description:
      - Whether to read the state of each GPU, its NVLinks and the Xid errors of the kernel log as well. The kernel log
        needs C(become).
    type: bool
    default: false
  tool_timeout:
    description: Seconds to wait for one call of a tool. The first C(nvidia-smi) without persistence mode takes long.
    type: int
    default: 60
notes:
  - Not verified with Fabric Manager and NVSwitches.
seealso:
  - module: rocemesh.multinode.rdma_info
"""

EXAMPLES = r"""
- name: Look at GPUs, driver and Fabric Manager
  rocemesh.multinode.gpu_info:
    ranks: 8
  register: gpu

- name: Stop if they cannot be used
  ansible.builtin.assert:
    that: gpu.problems | length == 0
    fail_msg: "{{ gpu.problems | join(' ') }}"
"""

RETURN = r"""
gpus:
  description:
    - GPUs that C(nvidia-smi -L) shows (C(index), C(name), C(uuid)). Null if it is not there or does not answer.
  returned: success
  type: list
  elements: dict
  sample: [{"index": 0, "name": "NVIDIA H100 80GB HBM3", "uuid": "GPU-5b0e8f3a-0000-0000-0000-000000000001"}]
pci:
  description: NVIDIA devices on the PCI bus (C(address), C(kind) V(gpu) or V(nvswitch)).
  returned: success
  type: list
  elements: dict
driver:
  description:
    - C(loaded) and C(installed) (versions of the kernel module in memory and on the disk, empty if there is none),
      C(license) and C(cuda) (the newest CUDA that it runs).
  returned: success
  type: dict
  sample: {"loaded": "550.54.15", "installed": "550.54.15", "license": "Dual MIT/GPL", "cuda": "12.4"}
fabric_manager:
  description: C(installed), C(version), C(state) and C(enabled) (as systemd says).
  returned: success
  type: dict
  sample: {"installed": true, "version": "550.54.15", "state": "active", "enabled": "enabled"}
usable:
  description: Whether there are GPUs that CUDA can open (C(nvidia-smi -L) shows some, and C(/dev/nvidiactl) is there).
  returned: success
  type: bool
problems:
  description: What keeps the GPUs from being used as wanted; one sentence each, with the next command.
  returned: success
  type: list
  elements: str
waiting:
  description:
    - What is wrong and may be so because of the keys in O(waits_for). It has to be looked at again after the window
      that sets them.
  returned: success
  type: list
  elements: str
state:
  description:
    - Of each GPU its C(index), C(uuid), C(name), C(bus), C(performance_state), C(persistence), C(ecc), C(ecc_corrected)
      and C(ecc_uncorrected) (since the driver was loaded), C(remap_failed), C(remap_pending), C(pcie_width),
      C(pcie_width_most), C(pcie_gen), C(pcie_gen_most), C(slowed) (by heat, power brake or hardware), C(fabric) and
      C(fabric_status) (as the GPU says of NVSwitches), C(nvlinks_active), C(nvlinks), C(nvlinks_gb_s) (of all
      links in one direction), C(recovery) (what the driver asks for). Null for what a GPU does not have or does not
      say.
    - Null if C(nvidia-smi) did not tell, empty without a GPU.
  returned: with O(gather_state=true)
  type: list
  elements: dict
xids:
  description:
    - Xid errors of the kernel log but those that it calls Nonfatal (C(bus), C(xid), C(count), C(last) in UTC, empty
      if the log has no times, C(earlier), whether the driver was loaded again after it). Null if it could not be read.
  returned: with O(gather_state=true)
  type: list
  elements: dict
  sample: [{"bus": "0000:3b:00.0", "xid": 79, "count": 1, "last": "2026-01-31T09:30:00Z", "earlier": false}]
since_boot:
  description: Whether the kernel log reached back to the boot, so that no Xid means none since then.
  returned: with O(gather_state=true)
  type: bool
unreadable:
  description: What could not be read (C(what)), the error as it was seen (C(why)) and what to do (C(remedy)).
  returned: success
  type: list
  elements: dict
"""

import platform
import time

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._layer import failing
from ..module_utils._nic import wishes

_PAUSE = 2.0  # seconds


def main() -> None:
    module = AnsibleModule(argument_spec=wishes.GPUS, supports_check_mode=True)
    until = time.monotonic() + module.params["settle_timeout"]
    with failing(module):
        while True:
            found = wishes.gpus(module.params, platform.node())
            if not found["problems"] or time.monotonic() >= until:
                break
            time.sleep(_PAUSE)
    module.exit_json(changed=False, **found)


if __name__ == "__main__":
    main()
