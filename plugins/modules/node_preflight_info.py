#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_preflight_info
short_description: What a GPU VM has and lacks for a run, before anything is changed there
version_added: 0.1.0
description:
  - Reads Python, operating system, clock, space, GPUs, NVIDIA driver, Fabric Manager, container toolkit, Docker engine,
    addresses, RDMA devices and what the next boot makes of the network, and tries to reach the registry. Changes
    nothing and judges nothing; M(rocemesh.multinode.preflight) does.
  - Run it with C(become) to learn whether that works.
extends_documentation_fragment:
  - rocemesh.multinode.attributes.reads
  - rocemesh.multinode.attributes.node
author: rocemesh.multinode contributors (@rocemesh)
options:
  controller_time:
    description: The controller's clock, seconds since 1970 in UTC, to compare the node's with. V(0) compares nothing.
    type: float
    default: 0
  registry:
    description: Registry as the engine names it, V(host) or V(host:port). Empty tries none.
    type: str
    default: ""
  docker_socket:
    description: Socket of the Docker engine.
    type: path
    default: /var/run/docker.sock
  timeout:
    description: Seconds that one program or one connection may take.
    type: int
    default: 10
notes:
  - Not verified on hardware.
seealso:
  - module: rocemesh.multinode.preflight
"""

EXAMPLES = r"""
- name: Look at the node
  rocemesh.multinode.node_preflight_info:
    controller_time: "{{ now().timestamp() }}"
    registry: registry.example.com:5000
  become: true
  register: node
"""

RETURN = r"""
python:
  description: Release of the Python that ran the module.
  returned: success
  type: str
uid:
  description: User id of the module's process; 0 if becoming root worked.
  returned: success
  type: int
user:
  description: Name of that user.
  returned: success
  type: str
distribution:
  description: C(PRETTY_NAME) of C(/etc/os-release).
  returned: success
  type: str
clock_skew:
  description: Seconds that the node is ahead of O(controller_time), the way to the node included. Null if that is 0.
  returned: success
  type: float
free_gib:
  description: Free GiB of the file systems that an image goes to, by path.
  returned: success
  type: dict
system:
  description:
    - C(distribution), C(distribution_version) and C(os_family) as the module C(setup) names them, by which a system is
      found among those that are supported.
  returned: success
  type: dict
  sample: {"distribution": "Ubuntu", "distribution_version": "22.04", "os_family": "Debian"}
selinux:
  description: Whether SELinux is enforcing.
  returned: success
  type: bool
gpu:
  description:
    - GPUs and NVSwitches on the bus, those that C(nvidia-smi) lists, the driver and Fabric Manager, as
      M(rocemesh.multinode.gpu_info) returns them.
  returned: success
  type: dict
gpu_processes:
  description: Processes that use a GPU now, as C(nvidia-smi) names them.
  returned: success
  type: list
  elements: str
toolkit:
  description: Whether the NVIDIA container toolkit or a Docker runtime of it is there.
  returned: success
  type: bool
engine:
  description: C(version) of the Docker engine, empty if there is none, and C(error) if it is there and does not answer.
  returned: success
  type: dict
addresses:
  description: Addresses of each interface, as V(192.0.2.11/24). Empty if C(ip) did not print them.
  returned: success
  type: dict
rdma_devices:
  description: Names in C(/sys/class/infiniband).
  returned: success
  type: list
  elements: str
next_boot:
  description:
    - What the next boot of the node makes otherwise than it is now, as M(rocemesh.multinode.next_boot_info) returns it.
  returned: success
  type: dict
nics:
  description: NVIDIA network controllers on the PCI bus.
  returned: success
  type: int
registry:
  description: C(name), and C(error) if it cannot be reached; empty if none was asked for.
  returned: success
  type: dict
simulated:
  description: Whether a simulated tree was read and not the kernel's.
  returned: success
  type: bool
"""

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.facts.system.distribution import Distribution

from ..module_utils._nic.node_reading import read_node


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "controller_time": {"type": "float", "default": 0},
            "registry": {"type": "str", "default": ""},
            "docker_socket": {"type": "path", "default": "/var/run/docker.sock"},
            "timeout": {"type": "int", "default": 10},
        },
        supports_check_mode=True,
    )
    options = module.params
    given = Distribution(module).get_distribution_facts()
    module.exit_json(
        changed=False,
        system={name: str(given.get(name) or "") for name in ("distribution", "distribution_version", "os_family")},
        **read_node(
            options["controller_time"],
            options["registry"],
            options["docker_socket"],
            float(max(1, options["timeout"])),
        ),
    )


if __name__ == "__main__":
    main()
