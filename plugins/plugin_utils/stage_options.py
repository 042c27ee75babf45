"""The values of an inventory against the argument specifications of all roles, before any stage begins."""

from __future__ import annotations

import functools
import pathlib
from typing import Any, Mapping

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ..module_utils import _yaml_files
from ..module_utils._judge.finding import Finding
from ..module_utils._layer import RefusedError
from ..module_utils._preflight import values
from ..module_utils._preflight.findings import grouped
from ..module_utils._results.readers.reading import few
from ..module_utils._results.report.diagnosis import accepted_from

_ROLES = pathlib.Path(__file__).resolve().parents[2] / "roles"
_SPEC = ("type", "elements", "choices")
_ACCEPTED = "report_accepted_findings"


@functools.lru_cache(maxsize=1)
def options() -> Mapping[str, Mapping[str, Any]]:
    """Variable -> its option, of all entry points of all roles, of the site, and of a login."""
    found: dict[str, Mapping[str, Any]] = {**values.table("site"), **values.table("login")}
    for path in sorted(_ROLES.glob("*/meta/argument_specs.yml")):
        for entry in _yaml_files.read(path)["argument_specs"].values():
            found.update(entry.get("options") or {})
    return found


@functools.lru_cache(maxsize=1)
def defaults() -> Mapping[str, Any]:
    """Variable, or key of one (``switch_options.timeout``) -> its default, where that is no template."""
    rows = dict(options())
    for name, option in options().items():
        rows.update({f"{name}.{key}": each for key, each in (option.get("options") or {}).items()})
    given = {name: option["default"] for name, option in rows.items() if "default" in option}
    return {name: value for name, value in given.items() if "{{" not in str(value)}


@functools.lru_cache(maxsize=1)
def prefixes() -> frozenset[str]:
    return frozenset(f"{path.parents[1].name}_" for path in _ROLES.glob("*/meta/argument_specs.yml"))


def judge(site: Mapping[str, Mapping[str, Any]]) -> list[Finding]:
    """``site``: host -> effective values of those variables that have one. A value of a group is one finding."""
    found: list[Finding] = []
    for host, given in site.items():
        for name, value in given.items():
            option = options().get(name, {"type": "raw"})
            wrong = _refusal(name, option, value)
            if wrong:
                text = f"it is {values.shown(value, secret=values.is_secret(name, option))}, expected {wrong}"
                remedy = f"set {name} to {wrong.partition(' (')[0]}"
                found.append(Finding(host, name, text, remedy))
    return grouped(found, few)


def _refusal(name: str, option: Mapping[str, Any], value: Any) -> str:
    """What was expected instead of ``value``; empty where it is right."""
    spec = _spec(option)
    kinds = (list, str) if spec.get("type") == "list" else (Mapping, str)
    if "options" in spec and not isinstance(value, kinds):  # the validator would raise
        return values.expected(option)
    checked = ArgumentSpecValidator({name: spec}).validate({name: value})
    if checked.error_messages:
        return values.expected(option) + (f" ({checked.error_messages[0]})" if "options" in spec else "")
    value = checked.validated_parameters.get(name)
    return next(values.refusals(name, option, value), "") or (_causes(value) if name == _ACCEPTED else "")


def _causes(value: Any) -> str:
    try:
        accepted_from(value or [])
    except RefusedError as error:
        return f"causes of the doctor, each with a reason ({error})"
    return ""


def _spec(option: Mapping[str, Any]) -> dict[str, Any]:
    spec = {key: option[key] for key in _SPEC if key in option}
    if option.get("options"):
        spec["options"] = {
            name: {**_spec(each), "required": each.get("required", False)} for name, each in option["options"].items()
        }
    return spec
