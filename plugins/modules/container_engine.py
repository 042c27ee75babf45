#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: the work is done by the action plugin of the same name.

from __future__ import annotations

DOCUMENTATION = r"""
module: container_engine
short_description: Say how the Docker engine gets NVIDIA's runtime, and why it has to be restarted
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Takes the runtime V(nvidia) from what C(nvidia-ctk runtime configure --dry-run) would write, and nothing else of
    it. Every key of the file stays as it is and where it is. An entry of that name is never replaced.
  - Compares what the running engine knows with what is on the disk. It needs no memory of an earlier run.
extends_documentation_fragment:
  - rocemesh.multinode.attributes.decides
options:
  config:
    description: The present C(daemon.json), empty where there is none. With O(offer), RV(merged) is returned.
    type: str
    default: ""
  offer:
    description: Standard output of C(nvidia-ctk).
    type: str
  probe:
    description:
      - What the engine answers, one word and its value per line - C(started) (when the engine started, epoch), C(hook)
        (when the toolkit's hook was installed, epoch), C(configured) (its configuration has the runtime), C(runtimes)
        (JSON), C(live_restore), and one C(container) per running container. With it RV(state) is returned.
    type: str
"""

EXAMPLES = r"""
- name: What the configuration would be
  rocemesh.multinode.container_engine:
    config: "{{ daemon.content | b64decode }}"
    offer: "{{ offered.stdout }}"
  register: engine
"""

RETURN = r"""
merged:
  description:
    - C(content) of the file, C(changed), C(kept) (an entry V(nvidia) that differs and stays), C(problem) (empty, or why
      the file or the answer cannot be used).
  returned: with O(offer)
  type: dict
state:
  description:
    - C(pending), one reason for a restart each; C(running), containers that run; C(live_restore), whether they survive
      a restart.
  returned: with O(probe)
  type: dict
"""
