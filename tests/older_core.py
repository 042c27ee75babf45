"""What ansible-core has for tests since 2.19, for tests that run with 2.17 and 2.18 as well.

Before, every text was a template, and a module read its arguments from a variable of ``ansible.module_utils.basic``.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from ansible.module_utils import basic

try:
    from ansible.module_utils.testing import patch_module_args
    from ansible.template import trust_as_template
except ImportError:

    def trust_as_template(value: str) -> str:
        return value

    @contextlib.contextmanager
    def patch_module_args(module_args: dict[str, Any] | None = None) -> Iterator[None]:
        before = basic._ANSIBLE_ARGS
        basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": module_args or {}}).encode()
        try:
            yield
        finally:
            basic._ANSIBLE_ARGS = before


__all__ = ["patch_module_args", "trust_as_template"]
