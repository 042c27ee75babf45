"""Action of rocemesh.multinode.decide: the decisions that only this collection's roles and playbooks need."""

from __future__ import annotations

from typing import Any, Mapping

from ..module_utils._layer import LayerError
from ..modules.decide import DOCUMENTATION
from ..plugin_utils.decision import Context, Decision, decide


class ActionModule(Decision):
    documentation = DOCUMENTATION

    def decide(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        given = dict(options["options"])
        if options["script"]:
            given["probe"] = self._asked(options["script"], variables)
        return decide(options["function"], given, Context(variables, self._task.check_mode))

    def _asked(self, script: str, variables: Mapping[str, Any]) -> str:
        """What the script prints on the host. In check mode nothing is proved: a script that fails is no error."""
        done = self._execute_module(
            module_name="ansible.legacy.command",
            module_args={"_raw_params": script, "_uses_shell": True},
            task_vars=variables,
        )
        if done.get("rc") != 0 and not variables.get("ansible_check_mode"):
            said = str(done.get("stderr") or done.get("module_stderr") or done.get("msg") or "").strip()
            raise LayerError(
                f"reading the host ended with exit status {done.get('rc')}: {said}",
                host=variables["inventory_hostname"],
                remedy="run the task's script on the host by hand to see why",
            )
        return str(done.get("stdout", ""))
