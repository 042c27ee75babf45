#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_info
short_description: Read what a GPU VM has, what its layers lack, and what its next boot changes
version_added: 0.1.0
description:
  - V(system) of O(gather) reads Python, operating system, clock, space, GPUs, NVIDIA driver, Fabric Manager, container
    toolkit, Docker engine, addresses and RDMA devices, and tries to reach the registry. It judges nothing;
    M(rocemesh.multinode.preflight) does.
  - V(next_boot) of O(gather) computes from the node's files what its next boot makes of its interfaces and mounts, and
    compares that with what is there now. Addresses, routes, MTU, names, members of bonds, drivers and mounts are
    compared.
  - For that it reads the files of netplan (its own generator runs on a copy), systemd-networkd, udev, NetworkManager
    (keyfiles and ifcfg files), ifupdown, enabled units in C(/etc/systemd/system), C(/etc/rc.local),
    C(/etc/modprobe.d) and C(/etc/fstab). It names files of other releases of this collection, and the role that
    removes them.
  - V(layers) of O(gather) compares cards, interfaces, files and GPUs with what is wanted, all in one start.
  - V(images) of O(gather) asks O(registry) for the digests of O(images), through the engine of the node. It fails if
    the registry neither names a digest nor says that it has none.
  - Changes nothing. Run it with C(become) to learn whether that works.
extends_documentation_fragment:
  - rocemesh.multinode.attributes.reads
  - rocemesh.multinode.attributes.node
author: rocemesh.multinode contributors (@rocemesh)
options:
  gather:
    description: What is read.
    type: list
    elements: str
    choices: [system, next_boot, layers, images]
    default: [system, next_boot]
  controller_time:
    description: The controller's clock, seconds since 1970 in UTC, to compare the node's with. V(0) compares nothing.
    type: float
    default: 0
  registry:
    description: Registry as the engine names it, V(host) or V(host:port). Empty tries none.
    type: str
    default: ""
  layers:
    description:
      - Options of the modules whose check mode is wanted. Keys are C(ats) (M(rocemesh.multinode.mlxconfig_ats)),
        C(interface) (M(rocemesh.multinode.roce_interface)), C(manifest) (M(rocemesh.multinode.node_manifest)) and
        C(gpus) (M(rocemesh.multinode.gpu_info)). What is not named is not read.
    type: dict
    default: {}
  images:
    description: Images that the registry is asked for, V(REGISTRY/NAME:TAG).
    type: list
    elements: str
    default: []
  engine:
    description: Engine of the node. Docker asks the registry itself; beside Podman C(skopeo) asks.
    type: str
    choices: [docker, podman]
    default: docker
  registry_username:
    description: User of the registry for O(images). Empty asks without a login.
    type: str
    default: ""
  registry_password:
    description: Password of that user. It goes to the engine's socket, or to the standard input of C(skopeo).
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
  - Addresses from DHCP and router advertisements, routes of routing daemons, and single addresses beside others of an
    interface (VRRP) are not differences of the next boot.
  - Not followed are scripts that units call, what cloud-init writes at the next boot, and dispatcher scripts.
seealso:
  - module: rocemesh.multinode.preflight
  - module: rocemesh.multinode.node_manifest
"""

EXAMPLES = r"""
- name: Look at the node
  rocemesh.multinode.node_info:
    controller_time: "{{ now().timestamp() }}"
    registry: registry.example.com:5000
  become: true
  register: node

- name: Compare the next boot with the present
  rocemesh.multinode.node_info:
    gather: [next_boot]
    timeout: 20
  become: true
  register: node

- name: Refuse a restart that changes the network
  ansible.builtin.assert:
    that: node.next_boot.differences | length == 0
    fail_msg: "{{ node.next_boot.differences | map(attribute='text') | join('; ') }}"
"""

RETURN = r"""
asked:
  description: O(controller_time) and O(layers) as they were given, for a play that uses the reading later.
  returned: success, if V(layers) is in O(gather)
  type: dict
  sample: {"controller_time": 1798710000.5, "layers": {"manifest": {"roles": ["guest"]}}}
python:
  description: Release of the Python that ran the module.
  returned: success, if V(system) is in O(gather)
  type: str
uid:
  description: User id of the module's process; 0 if becoming root worked.
  returned: success, if V(system) is in O(gather)
  type: int
user:
  description: Name of that user.
  returned: success, if V(system) is in O(gather)
  type: str
distribution:
  description: C(PRETTY_NAME) of C(/etc/os-release).
  returned: success, if V(system) is in O(gather)
  type: str
clock_skew:
  description: Seconds that the node is ahead of O(controller_time), the way to the node included. Null if that is 0.
  returned: success, if V(system) is in O(gather)
  type: float
free_gib:
  description: Free GiB of the file systems that an image goes to, by path.
  returned: success, if V(system) is in O(gather)
  type: dict
system:
  description:
    - C(distribution), C(distribution_version) and C(os_family) as the module C(setup) names them, by which a system is
      found among those that are supported.
  returned: success, if V(system) or V(layers) is in O(gather)
  type: dict
  sample: {"distribution": "Ubuntu", "distribution_version": "22.04", "os_family": "Debian"}
gpu:
  description:
    - GPUs and NVSwitches on the bus, those that C(nvidia-smi) lists, the driver and Fabric Manager, as
      M(rocemesh.multinode.gpu_info) returns them.
  returned: success, if V(system) is in O(gather)
  type: dict
gpu_processes:
  description: Processes that use a GPU now, as C(nvidia-smi) names them.
  returned: success, if V(system) is in O(gather)
  type: list
  elements: str
toolkit:
  description: Whether the NVIDIA container toolkit or a Docker runtime of it is there.
  returned: success, if V(system) is in O(gather)
  type: bool
engine:
  description:
    - C(version) of the Docker engine, empty if there is none, C(error) if it is there and does not answer, and
      C(apparmor), why it starts no container though it answers.
  returned: success, if V(system) is in O(gather)
  type: dict
addresses:
  description: Addresses of each interface, as V(192.0.2.11/24). Empty if C(ip) did not print them.
  returned: success, if V(system) is in O(gather)
  type: dict
listeners:
  description: TCP ports that other machines reach, without those of the container of the mesh, as C(ss) prints them.
  returned: success, if V(system) is in O(gather)
  type: list
  elements: dict
  sample: [{"address": "0.0.0.0", "port": 22, "process": "sshd"}]
rdma_devices:
  description: Names in C(/sys/class/infiniband).
  returned: success, if V(system) is in O(gather)
  type: list
  elements: str
next_boot:
  description:
    - What the next boot of the node makes otherwise than it is now.
    - C(differences) has one entry per difference. Its C(code) is V(address), V(route), V(mtu), V(name), V(master),
      V(state), V(interface), V(driver), V(mount) or V(file_invalid) (a file that its reader refuses), C(place) the
      interface, mount point or file, C(now) and C(then) the two values, C(file) what makes the second one, C(text) all
      of it in one line.
    - C(unknown) says what was not compared, and why. C(leftovers) has paths of other releases of this collection, and
      their roles.
  returned: success, if V(next_boot) is in O(gather)
  type: dict
  sample:
    differences:
      - code: address
        place: ens224
        now: 198.51.100.11/24
        then: ""
        file: /run/systemd/network/10-netplan-ens224.network
        text: >-
          ens224: address is 198.51.100.11/24, after the next boot none (/run/systemd/network/10-netplan-ens224.network)
    unknown: []
    leftovers: {}
layers:
  description:
    - Of each key of O(layers) what the module returns in check mode, or C(failed), C(msg) and C(error_code) of its
      failure.
  returned: success, if V(layers) is in O(gather)
  type: dict
tools:
  description: Programs among C(mlxconfig), C(mstconfig), C(lspci) and C(setpci) that work.
  returned: success, if V(layers) is in O(gather)
  type: list
  elements: str
images:
  description: Digest of each of O(images), empty if the registry has none.
  returned: success, if V(images) is in O(gather)
  type: dict
  sample: {"registry.example.com:5000/multinode:latest": ""}
nics:
  description: NVIDIA network controllers on the PCI bus.
  returned: success, if V(system) is in O(gather)
  type: int
registry:
  description: C(name), and C(error) if it cannot be reached; empty if none was asked for.
  returned: success, if V(system) is in O(gather)
  type: dict
"""

import platform
from typing import Any, Mapping

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.facts.system.distribution import Distribution

from ..module_utils._layer import LayerError
from ..module_utils._nic import registry_reading, wishes
from ..module_utils._nic.boot_reading import read_next_boot
from ..module_utils._nic.interface_reading import InterfaceReader
from ..module_utils._nic.node import Node
from ..module_utils._nic.node_reading import read_node

GATHER = ["system", "next_boot", "layers", "images"]
TOOLS = {"mlxconfig": "-v", "mstconfig": "-v", "lspci": "--version", "setpci": "--version"}


def read_system(module: AnsibleModule) -> dict[str, str]:
    given = Distribution(module).get_distribution_facts()
    return {name: str(given.get(name) or "") for name in ("distribution", "distribution_version", "os_family")}


def read_layers(module: AnsibleModule, host: str, timeout: float) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, given in module.params["layers"].items():
        if name not in wishes.LAYERS or not isinstance(given, dict):
            module.fail_json(msg=f"{host}: layers has {name}; give {', '.join(wishes.LAYERS)}, each with its options")
        checked = ArgumentSpecValidator(wishes.LAYERS[name][0]).validate(given)
        if checked.error_messages:
            found[name] = {"failed": True, "msg": f"{host}: {name} of layers: {'; '.join(checked.error_messages)}"}
            continue
        found[name] = wishes.look(name, checked.validated_parameters, host)
        for warning in found[name].pop("warnings", []):
            module.warn(warning)
    node = Node(host, timeout=timeout)
    answers = {tool: node.tool(tool, option) for tool, option in TOOLS.items()}
    return {"layers": found, "tools": [tool for tool, done in answers.items() if done is not None and done.code == 0]}


def read_images(module: AnsibleModule, host: str) -> Mapping[str, str]:
    options = module.params
    login = (options["registry_username"], options["registry_password"])
    registry, timeout = options["registry"], float(options["timeout"])
    if options["engine"] == "podman":
        ask = registry_reading.skopeo(registry, login, timeout)
    else:
        ask = registry_reading.docker(options["docker_socket"], registry, login, timeout)
    return registry_reading.digests(ask, options["images"], registry, host)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "gather": {"type": "list", "elements": "str", "choices": GATHER, "default": GATHER[:2]},
            "controller_time": {"type": "float", "default": 0},
            "registry": {"type": "str", "default": ""},
            "layers": {"type": "dict", "default": {}},
            "images": {"type": "list", "elements": "str", "default": []},
            "engine": {"type": "str", "choices": ["docker", "podman"], "default": "docker"},
            "registry_username": {"type": "str", "default": ""},
            "registry_password": {"type": "str", "default": "", "no_log": True},
            "docker_socket": {"type": "path", "default": "/var/run/docker.sock"},
            "timeout": {"type": "int", "default": 10},
        },
        supports_check_mode=True,
    )
    options = module.params
    timeout = float(max(1, options["timeout"]))
    reader = InterfaceReader(platform.node(), timeout=timeout)
    found: dict[str, Any] = {"simulated": reader.sysfs.simulated}
    if set(options["gather"]) & {"system", "layers"}:
        found["system"] = read_system(module)
    if "system" in options["gather"]:
        found.update(read_node(options["controller_time"], options["registry"], options["docker_socket"], timeout))
    if "next_boot" in options["gather"]:
        found["next_boot"] = read_next_boot(reader)
    if "layers" in options["gather"]:
        found.update(read_layers(module, platform.node(), timeout))
        found["asked"] = {"controller_time": options["controller_time"], "layers": options["layers"]}
    if "images" in options["gather"]:
        try:
            found["images"] = read_images(module, platform.node())
        except LayerError as error:
            module.fail_json(**error.as_result())
    module.exit_json(changed=False, **found)


if __name__ == "__main__":
    main()
