"""A module of this collection in the process of the test: a playbook for each of hundreds of questions would cost more
than the device does. What ansible-playbook adds (arguments from a task, check mode, what is printed) is asked once."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import unittest.mock
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from tests.older_core import patch_module_args


def run(name: str, arguments: dict[str, Any], environment: dict[str, str], check: bool = False) -> dict[str, Any]:
    """What the module returns; with ``failed`` and ``msg`` if it failed. ``environment``: all of it."""
    program = importlib.import_module(f"ansible_collections.rocemesh.multinode.plugins.modules.{name}")
    given = {**arguments, "_ansible_check_mode": check, "_ansible_diff": True}
    printed = io.StringIO()
    warned: list[str] = []
    # In a process that has imported any of Ansible's controller, warnings go to its display, not into the result.
    collected = unittest.mock.patch.object(AnsibleModule, "warn", lambda _self, text, **_more: warned.append(text))
    surroundings = unittest.mock.patch.dict(os.environ, environment, clear=True)
    ended = contextlib.suppress(SystemExit)
    with surroundings, collected, patch_module_args(given), contextlib.redirect_stdout(printed), ended:
        program.main()
    try:
        result = json.loads(printed.getvalue().strip().splitlines()[-1])
    except (ValueError, LookupError):
        raise AssertionError(f"{name}: no result\n{printed.getvalue()}") from None
    assert isinstance(result, dict)
    return {"failed": False, "changed": False, **result, "warnings": warned}
