#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: the work is done by the action plugin of the same name.

from __future__ import annotations

DOCUMENTATION = r"""
module: guest_driver
short_description: Judge what a guest says about its RDMA driver
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Each reading that is given is judged. Readings are what the named programs print, in the locale C.
extends_documentation_fragment:
  - rocemesh.multinode.attributes.decides
options:
  failure:
    description: Result of a task that failed. Whether a disk was full is looked for in all of it.
    type: dict
  apt:
    description: What C(apt-get install --print-uris --assume-yes) says.
    type: str
  df:
    description:
      - One line per path - the path, a tab, and the last line of C(df --block-size=1
        --output=avail,size,iavail,target) for it.
    type: str
  needs:
    description: What an installation needs, each with C(path), C(bytes) and C(what). Each path has to be one of O(df).
    type: list
    elements: dict
    default: []
  dkms:
    description: What C(dkms status) says.
    type: str
  dkms_modules:
    description: DKMS modules that have to be there.
    type: list
    elements: str
    default: []
  running_kernel:
    description: Release of the running kernel.
    type: str
    default: ""
  kernel_images:
    description: Paths of the kernels in C(/boot).
    type: list
    elements: str
    default: []
  rdma:
    description: Result of M(rocemesh.multinode.rdma_info).
    type: dict
  connection:
    description: The interface that carries the session. Empty for none.
    type: str
    default: ""
  installer:
    description: Standard output and standard error of C(mlnxofedinstall).
    type: str
  installer_rc:
    description: Its exit code.
    type: int
    default: 1
  ofed:
    description: What C(ofed_info -s) says, empty where it does not answer.
    type: str
  ofed_package:
    description: Status and version of C(mlnx-ofed-kernel-dkms), as C(dpkg-query -f='${db:Status-Status} ${Version}').
    type: str
    default: ""
  ofed_wanted:
    description: The wanted release, for example V(5.2-2.2.4.0).
    type: str
    default: ""
  ofed_unfinished:
    description: Whether an installation has begun and not ended.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Is a driver built for the next boot?
  rocemesh.multinode.guest_driver:
    dkms: "{{ status.stdout }}"
    dkms_modules: [mlnx-ofed-kernel]
    running_kernel: "{{ ansible_facts.kernel }}"
    kernel_images: "{{ images }}"
  register: driver

- name: Stop if it is not
  ansible.builtin.assert:
    that: driver.gaps | length == 0
"""

RETURN = r"""
full:
  description: C(full), and C(paths), the directories that the lines about it name.
  returned: with O(failure)
  type: dict
room:
  description: C(download) and C(disk) in bytes, 0 where apt does not say.
  returned: with O(apt)
  type: dict
space:
  description:
    - C(shortages), one sentence per file system without room for all that goes there, and C(places), what is free, once
      per file system, the fullest first.
  returned: with O(df)
  type: dict
gaps:
  description: One sentence per module and kernel without a driver.
  returned: with O(dkms)
  type: list
  elements: str
refusals:
  description: What forbids a restart of the driver. Empty if a restart harms nobody.
  returned: with O(rdma)
  type: list
  elements: str
installed:
  description:
    - C(installed), C(firmware) (V(untouched), V(updated) or V(failed)), C(restart) and C(initramfs) (what it asks for),
      C(problem) and C(remedy) (empty if it is installed).
  returned: with O(installer)
  type: dict
release:
  description: C(found), the release on the disk or empty; C(state), V(missing), V(unfinished), V(wanted) or V(other).
  returned: with O(ofed)
  type: dict
"""
