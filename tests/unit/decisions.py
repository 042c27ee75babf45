"""Modules that decide, called as a task calls them: options checked against their documentation, no play around."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.rocemesh.multinode.plugins.modules import decide as private
from ansible_collections.rocemesh.multinode.plugins.plugin_utils import decision
from ansible_collections.rocemesh.multinode.plugins.plugin_utils.decision import Decision, argument_spec

PRIVATE = yaml.safe_load(private.DOCUMENTATION)["options"]["function"]["choices"]
PACKAGE = "ansible_collections.rocemesh.multinode.plugins.action."


def decide(name: str, variables: dict[str, Any] | None = None, check: bool = False, **options: Any) -> dict[str, Any]:
    """The result of module or private decision ``name``. Raises what it raises, and ValueError for refused options."""
    variables = variables or {"inventory_hostname": "this host"}
    if name in PRIVATE:
        return decision.decide(name, options, decision.Context(variables, check))
    plugin: type[Decision] = importlib.import_module(PACKAGE + name).ActionModule
    spec = argument_spec(yaml.safe_load(plugin.documentation)["options"])
    validated = ArgumentSpecValidator(spec).validate(options)
    if validated.error_messages:
        raise ValueError("; ".join(validated.error_messages))
    action = plugin.__new__(plugin)
    action._task = SimpleNamespace(check_mode=check)
    return action.decide(validated.validated_parameters, variables)
