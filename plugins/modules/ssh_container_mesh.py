#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Thin module: see module_utils/_mesh for the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ssh_container_mesh
short_description: Let containers on several nodes start MPI processes in each other over SSH
version_added: 0.1.0
description:
  - Builds the SSH mesh that C(mpirun) needs between containers with the network of their host.
  - Every container has an SSH server of its own, on a port of its own and on the network of the mesh only. Its keys and
    its configuration lie in C(/etc/rocemesh/mesh/container), which is root's. The container mounts it read-only at
    C(/root/.ssh). C(start_sshd.sh) in there is the container's first program. No program of the mesh runs on the node.
  - Runs on every node. O(state=identity) makes the node's keys and returns the public ones; O(state=present) then gets
    what all nodes returned.
  - Private keys never leave their node. Host keys of the peers are pinned, and every key is accepted only from the
    addresses of its own node.
  - What an earlier release left (an account, a sudoers rule, a program behind it) is removed by its own record.
  - Symbolic links are not followed and files of other owners are not changed; both are errors. Keys that were deleted
    cannot be brought back.
extends_documentation_fragment: [rocemesh.multinode.attributes.changes, rocemesh.multinode.attributes.no_restart]
attributes:
  check_mode:
    description: A node without keys returns an identity without keys. O(state=present) takes such peers here alone.
    support: full
  diff_mode:
    description: Shows every file and block that changes, and never a private key or a line that is not of the mesh.
    support: full
options:
  state:
    description:
      - V(identity) makes sure that the key pairs exist and returns what the other nodes must know.
      - V(present) authorises the peers on this node and lets this node reach them. The keys must exist, unless this
        node is not among O(peers) and O(addresses) or O(cidr) is given. They are then made as with V(identity), so that
        a worker that knows the head alone needs one call.
      - V(absent) removes the blocks, the files and the keys that this module made.
    type: str
    choices: [identity, present, absent]
    default: present
  user:
    description: User of the node whose C(authorized_keys) and C(config) get a marked block with O(transport=guide).
    type: str
    required: true
  name:
    description: Name of this node in O(peers). The default is the node's host name.
    type: str
  transport:
    description:
      - V(container) uses the SSH server of the container. The key of a peer opens the container as O(container_user),
        and nothing of the node.
      - V(guide) uses the SSH server of the node and the script C(mpicont.sh) as forced command. It calls Docker as
        O(user), so this key is worth root on the node.
    type: str
    choices: [container, guide]
    default: container
  addresses:
    description: Addresses of this node in the network of the mesh, for its identity. They must exist on the node.
    type: list
    elements: str
    default: []
  cidr:
    description: Networks of the mesh. The node's addresses in them are used if O(addresses) is empty.
    type: list
    elements: str
    default: []
  ssh_port:
    description: Port of the SSH server that peers log in to. V(0) is 2222, and 22 with O(transport=guide).
    type: int
    default: 0
  peers:
    description:
      - All nodes of the mesh, this one included, each as RV(identity) of that node. Required with O(state=present).
      - With O(head) and without O(host_login) a worker needs the head alone, and the head needs all.
      - A node that is left out loses its access.
    type: list
    elements: dict
    default: []
  head:
    description:
      - Name of the peer from whose container C(mpirun) is started. Only its container key is accepted, so a worker that
        was broken into opens no other node. Beyond 65 nodes Open MPI needs C(plm_rsh_no_tree_spawn) then.
      - The default accepts the container keys of all peers, as the guide has it.
    type: str
  host_login:
    description: Whether users of the nodes may log in to each other, as in the guide. Needs O(transport=guide).
    type: bool
    default: false
  container_name:
    description: Container that the forced command runs in, with O(transport=guide).
    type: str
    default: mpicont
  container_user:
    description: Account that the container runs as (C(name), C(uid), C(gid), C(home) in its image). Empty is root.
    type: dict
    default: {}
  rotation:
    description:
      - For O(state=identity), new keys without a moment in which the mesh is closed. Every step can be repeated.
      - V(prepare) makes a second pair of each key. After O(state=present) with these identities, peers accept both.
      - V(commit) puts the second pair in the place of the first. O(state=present) then takes the old keys away.
    type: str
    choices: [none, prepare, commit]
    default: none
  guide_compatible:
    description: Use the key names and the key type of the guide (C(id_rsa_host), C(id_rsa_cont), RSA with 3072 bits).
    type: bool
    default: false
requirements:
  - root (the SSH client in the container trusts only a C(config) that belongs to its own root)
  - ssh-keygen on the node (package openssh-client)
  - iproute2 on the node, for its identity
author: rocemesh.multinode contributors (@rocemesh)
"""

EXAMPLES = r"""
- name: Make the keys and learn the public ones
  rocemesh.multinode.ssh_container_mesh:
    state: identity
    user: nvidia
    name: "{{ inventory_hostname }}"
    cidr: [10.78.0.0/24]
  become: true
  register: mesh

- name: Connect the nodes
  rocemesh.multinode.ssh_container_mesh:
    state: present
    user: nvidia
    name: "{{ inventory_hostname }}"
    peers: "{{ ansible_play_hosts_all | map('extract', hostvars, ['mesh', 'identity']) | list }}"
  become: true
"""

RETURN = r"""
identity:
  description: What the other nodes must know of this one, one entry of O(peers). Public data only.
  returned: O(state=identity), and O(state=present) where it introduces the node
  type: dict
  sample:
    name: gpu01
    user: nvidia
    addresses: [10.78.0.11]
    port: 2222
    host_public_keys: [] # of the user, with transport guide alone
    container_public_keys: [ssh-ed25519 AAAA, ssh-ed25519 BBBB] # two during a rotation, none before they are made
    ssh_host_keys: [ssh-ed25519 CCCC] # of the SSH server that peers log in to
"""

import os
import platform
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._layer import RefusedError, exit_with, failing
from ..module_utils._mesh.layer import MeshNode
from ..module_utils._mesh.state import Account, parse_wanted
from ..module_utils._mesh.transport import NodeTransport, find_account


def argument_spec() -> dict[str, Any]:
    strings = {"type": "list", "elements": "str"}
    return {
        "state": {"type": "str", "choices": ["identity", "present", "absent"], "default": "present"},
        "user": {"type": "str", "required": True},
        "name": {"type": "str"},
        "transport": {"type": "str", "choices": ["container", "guide"], "default": "container"},
        "addresses": {**strings, "default": []},
        "cidr": {**strings, "default": []},
        "ssh_port": {"type": "int", "default": 0},
        "peers": {"type": "list", "elements": "dict", "default": []},
        "head": {"type": "str"},
        "host_login": {"type": "bool", "default": False},
        "container_name": {"type": "str", "default": "mpicont"},
        "container_user": {"type": "dict", "default": {}},
        "rotation": {"type": "str", "choices": ["none", "prepare", "commit"], "default": "none"},
        "guide_compatible": {"type": "bool", "default": False},
    }


def main() -> None:
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    params = module.params
    host = platform.node()
    with failing(module):
        if os.geteuid() != 0:
            raise RefusedError("is not root", host=host, thing="uid", value=os.geteuid(), remedy="set become: true")
        wanted = parse_wanted(params, host=host, user=params["user"], planning=module.check_mode)
        user = NodeTransport(host, find_account(params["user"], host=host))
        layer = MeshNode(host, user, NodeTransport(host, Account("root", 0, 0, "/")), wanted)
    exit_with(module, layer, wanted)


if __name__ == "__main__":
    main()
