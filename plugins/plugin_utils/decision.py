"""Modules that decide and touch nothing: readings in, a decision out, on the controller, in check mode as well.

The options are those that the module of the same name documents: they are written once. What only roles need has no
module of its own: it is a file of ``decisions``, called as rocemesh.multinode.decide.
"""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any, ClassVar, Mapping

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase

from ..module_utils import _yaml_files
from ..module_utils._layer import LayerError

_SPEC = ("type", "elements", "required", "default", "choices", "no_log")
_DECISIONS = f"{__name__.rpartition('.')[0]}.decisions"


@dataclasses.dataclass(frozen=True)
class Context:
    """What a decision may read besides its options: the task's variables, and whether it runs in check mode."""

    variables: Mapping[str, Any]
    check_mode: bool = False


def argument_spec(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a DOCUMENTATION as Ansible checks them."""
    spec: dict[str, Any] = {}
    for name, option in options.items():
        spec[name] = {key: option[key] for key in _SPEC if key in option}
        if "suboptions" in option:
            spec[name]["options"] = argument_spec(option["suboptions"])
    return spec


def decide(function: str, options: Mapping[str, Any], context: Context) -> dict[str, Any]:
    """Return the answer of ``decisions/<function>.py``. Raises what it raises, and ValueError for refused options."""
    decision = importlib.import_module(f"{_DECISIONS}.{function}")
    checked = ArgumentSpecValidator(decision.SPEC).validate(dict(options))
    if checked.error_messages:
        raise ValueError(f"{function}: {'; '.join(checked.error_messages)}")
    answer: dict[str, Any] = decision.decide(checked.validated_parameters, context)
    return answer


class Decision(ActionBase):
    """``documentation``: DOCUMENTATION of the module; `decide` gets its options, checked, and may raise LayerError,
    ValueError or KeyError (a reading that lacks a word)."""

    TRANSFERS_FILES = False
    _supports_check_mode = True
    _supports_async = False
    documentation: ClassVar[str] = ""

    def decide(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        documented = _yaml_files.parsed(self.documentation)
        spec = argument_spec(documented["options"])
        _validation, options = self.validate_argument_spec(argument_spec=spec)  # type: ignore[no-untyped-call]
        try:
            return {**result, "changed": False, **self.decide(options, task_vars or {})}
        except KeyError as error:
            name = options.get("function") or documented["module"]
            return {**result, "failed": True, "msg": f"{name}: what was read has no {error}"}
        except LayerError as error:
            return {**result, "failed": True, **error.as_result()}
        except ValueError as error:
            return {**result, "failed": True, "msg": str(error)}
