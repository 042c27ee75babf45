#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: the work is done by the action plugin of the same name.

from __future__ import annotations

DOCUMENTATION = r"""
module: doctor
short_description: Name the root cause of a failed or slow run from whatever logs there are
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Reads logs and outputs of any kind and size, and says what is wrong, how sure that is, and what to look at next.
  - Changes nothing, contacts nothing, writes nothing but O(dest).
  - What a piece is, is known from its content. A log of a job, C(dmesg), C(nvidia-smi), C(show_gids),
    C(mlnx_qos), C(ethtool -S), C(lspci), C(vmware.log), outputs of C(esxcli), of switches, of Docker, and texts where
    several of these stand, are read.
  - A single message that several faults print names none of them. It yields candidates, and the read-only command that
    decides between them. With O(interactive), it asks the person at the terminal for what that command prints.
extends_documentation_fragment:
  - rocemesh.multinode.attributes.looks
attributes:
  check_mode:
    support: full
    description: Reads only; O(dest) is not written.
options:
  bundle:
    description:
      - A folder, an archive (tar, zip; also with gzip, bzip2, xz), or a single file. Nothing is unpacked to the disk.
    type: path
  evidence:
    description:
      - Outputs that were just read, by the name of the piece, for example C(hosts/gpu01/dmesg.txt). Read together with
        O(bundle), if both are given.
      - Or by host what one command said that asks all - C(said), the outputs, each below C(=== ROCEMESH NAME), a NAME
        C(container/NAME) for what was asked inside the container; C(error), why the host did not answer.
      - Or what roles published - C(switches/NAME) switch_observed, C(esxi/NAME) esxi_host_pending, C(vms/NAME)
        gpu_vm_pending, C(vcenter) preflight_reading.
    type: dict
  looked:
    description: Names of commands that were run though they printed nothing, as V(look) of RV(next) has them.
    type: list
    elements: str
    default: []
  packs:
    description:
      - Folders with rule packs of the site, in folders C(causes/LAYER), C(symptoms), C(facts), C(noise) and C(normal)
        as those of the collection. Read together with these; no name may be in both.
    type: list
    elements: path
    default: []
  interactive:
    description:
      - Shows the read-only command that splits the candidates best for its cost, and reads what it printed, from a file
        that the person names or as pasted text. Then again, until one cause is left.
      - Runs no command itself. Without a terminal it asks nothing, and RV(asked_for) has the commands as a list.
    type: bool
    default: false
  dest:
    description: File to which the answer is written as JSON.
    type: path
notes:
  - Runs on the controller, where O(bundle) and O(dest) are. Causes are in C(docs/causes.md), signs in C(signs.md).
  - One of O(bundle) and O(evidence) is required.
"""

EXAMPLES = r"""
- name: What is wrong in this log
  rocemesh.multinode.doctor:
    bundle: /home/me/job-4711.log
  register: doctor

- name: From the log of a job, question by question
  rocemesh.multinode.doctor:
    bundle: /home/me/job-4711.log
    interactive: true
  register: asked

- name: What does the kernel of this host say
  rocemesh.multinode.doctor:
    evidence:
      hosts/gpu01/dmesg.txt: "{{ dmesg.stdout }}"
"""

RETURN = r"""
verdict:
  description:
    - V(healthy), V(faulty), V(cannot_tell) or V(no_fault_seen).
    - V(healthy) means that a whole job or fabric check was shown. V(no_fault_seen) means that no line is trouble, and
      that what was read proves no sound job. RV(not_shown) says what is missing.
  type: str
  returned: success
message:
  description: The answer in one sentence.
  type: str
  returned: success
text:
  description: The whole answer for a person.
  type: str
  returned: success
findings:
  description:
    - What is or may be wrong, root cause first.
    - C(layer) is the part of the site, C(cause) the stable name of the cause, as in C(docs/causes.md), C(certainty)
      V(proven), V(likely) or V(candidate), C(means) what it means, C(rests_on) the sources of the rules.
    - C(host) and C(device) are those that the evidence names, or empty, C(rank) the rank that it names, or null, and
      C(hosts) all hosts, switches or ESXi hosts that it names as the place of the fault.
    - C(evidence) has the lines that say so, each with C(file), C(line) and C(text), C(explains) lines that only follow
      from this.
    - C(next) is the read-only command that confirms or excludes this cause, with C(where), C(run) and C(cost), C(fix)
      what puts it right, with C(what), C(who), C(role) of this collection, and what it C(interrupts).
  type: list
  elements: dict
  returned: success
line:
  description:
    - The line that says what failed, with C(file), C(line) and C(text).
    - That of the first finding; without one, what a program calls an error before what only tells how it ended.
    - Empty unless RV(verdict) is V(faulty) or V(cannot_tell), and where no line is trouble.
  type: dict
  returned: success
next:
  description:
    - Read-only commands for the whole, the one that decides most for its cost first, each with C(where), C(run),
      C(cost) (1 a host of the job, 2 another machine, 3 a short job) and C(look), its name in C(docs/questions.md).
  type: list
  elements: dict
  returned: success
settled:
  description: The one cause that is left, or an empty string as long as several may be.
  type: str
  returned: success
shown:
  description: What came to its end - tests, programs, communicators.
  type: list
  elements: str
  returned: success
not_shown:
  description:
    - What would have to be shown for V(healthy), each with C(code), C(text), C(file) and C(line).
    - Codes are V(job), V(job_end), V(last_row), V(last_step), V(ranks), V(gpus), V(finite), V(wrong_values), V(figure),
      V(link_speed), V(rest).
    - Empty unless RV(verdict) is V(no_fault_seen), or V(cannot_tell) because of a figure or of wrong values.
  type: list
  elements: dict
  returned: success
asked:
  description: What would have helped and was not there.
  type: list
  elements: str
  returned: success
unknown:
  description: Lines that look like trouble and that no rule knows.
  type: list
  elements: dict
  returned: success
notes:
  description: What was left out, and why.
  type: list
  elements: str
  returned: success
read:
  description: Pieces that were read.
  type: list
  elements: str
  returned: success
lines:
  description: Number of lines.
  type: int
  returned: success
bytes:
  description: Number of bytes.
  type: int
  returned: success
asked_for:
  description: Names of the commands that were asked for, in their order.
  type: list
  elements: str
  returned: with O(interactive=true)
ended:
  description: V(one cause is left), V(nothing left to ask), V(no terminal) or V(stopped by the person).
  type: str
  returned: with O(interactive=true)
exit_status:
  description: 0 healthy, 2 faulty, 3 cannot tell, 6 no fault seen.
  type: int
  returned: success
"""
