#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: the work is done by the action plugin of the same name.

from __future__ import annotations

DOCUMENTATION = r"""
module: collect
short_description: Put logs and outputs into an archive with stand-ins for secrets, addresses and names
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Makes an archive that M(rocemesh.multinode.doctor) reads as it reads the originals, and that can be sent.
  - Secrets, IP and MAC addresses, names of hosts, domains and users, serial numbers and UUIDs become stand-ins, the
    same for the same thing in all pieces. Addresses of one network stay in one network.
  - Every word that is not known to be harmless (words of the field, figures, times, versions, paths of them) could be a
    secret and has a mark, C([masked-1]), the same for the same value.
  - What is secret and what is a name follows from the inventory (variables, and keys in them, with C(password),
    C(secret) or C(token) in their name, or C(_key) at its end; names, addresses and users of all hosts) and from what
    is in the texts.
  - Then detect-secrets looks at the finished archive with rules of its own. While it finds anything, the archive is not
    written, and the message names piece, line and rule.
  - Changes nothing, contacts nothing, writes nothing but O(dest), which the owner alone can read, and overwrites
    nothing.
  - A name that is in no inventory, and where no program prints names, cannot be known as one. Look through
    the archive before it is sent.
extends_documentation_fragment:
  - rocemesh.multinode.attributes.looks
attributes:
  check_mode:
    support: full
    description: Tells what the archive would hold; O(dest) is looked at as without it, and not written.
options:
  evidence:
    description:
      - Outputs that were just read, by the name of the piece, for example C(hosts/gpu01/dmesg.txt).
      - Or what hosts said and roles published, as M(rocemesh.multinode.doctor) takes it.
    type: dict
    default: {}
  bundle:
    description:
      - A folder, an archive (tar, zip) or a file with logs of a job, read as M(rocemesh.multinode.doctor) reads it.
    type: path
  dest:
    description: The archive, a gzipped tar. It must not be there, its folder must.
    type: path
    required: true
requirements:
  - detect-secrets (1.5 or later, below 2) on the controller
seealso:
  - module: rocemesh.multinode.doctor
"""

EXAMPLES = r"""
- name: A log to send, without names and addresses
  rocemesh.multinode.collect:
    bundle: /home/me/job-4711.log
    dest: /home/me/job-4711.tar.gz
  register: collected

- name: What it holds
  ansible.builtin.debug:
    var: collected.text
"""

RETURN = r"""
path:
  description: The archive.
  type: str
  returned: success
text:
  description: For a person - what it holds, and what stand-ins were put for.
  type: list
  elements: str
  returned: success
pieces:
  description: Names of the pieces, redacted.
  type: list
  elements: str
  returned: success
stand_ins:
  description: Kind (address, host, secret, masked, ...) to the number of different things that have a stand-in.
  type: dict
  returned: success
sha256:
  description: Of the archive. The same material makes the same archive.
  type: str
  returned: success
"""
