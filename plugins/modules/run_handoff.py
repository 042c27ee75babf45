#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: run_handoff
short_description: Write the folder with which other launchers start a job
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Writes the files of a hand-off (job, NCCL's variables, scripts, manifests) into one folder, with their checksums in
    C(SHA256SUMS). Starts nothing.
  - A file that this module did not write, or that was edited since, is never written over or removed. The module then
    fails before it changes anything.
  - Files of an earlier hand-off into the same folder that this job has no more are removed.
extends_documentation_fragment:
  - rocemesh.multinode.attributes.changes
  - rocemesh.multinode.attributes.fails
  - rocemesh.multinode.attributes.no_restart
options:
  path:
    description: The folder. It is created if it is missing.
    type: path
    required: true
  files:
    description: Name in the folder to content. What begins with C(#!) becomes executable.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Write a hand-off
  rocemesh.multinode.run_handoff:
    path: reports/handoff
    files: "{{ handoff.files }}"
  delegate_to: localhost
"""

RETURN = r"""
path:
  description: The folder.
  type: str
  returned: success
files:
  description: Names of its files.
  type: list
  elements: str
  returned: success
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._handoff.folder import Folder, Wanted
from ..module_utils._layer import exit_with, failing


def main() -> None:
    module = AnsibleModule(
        argument_spec={"path": {"type": "path", "required": True}, "files": {"type": "dict", "required": True}},
        supports_check_mode=True,
    )
    with failing(module):
        wanted = Wanted({str(name): str(text) for name, text in module.params["files"].items()})
        exit_with(module, Folder(module.params["path"], wanted), wanted)


if __name__ == "__main__":
    main()
