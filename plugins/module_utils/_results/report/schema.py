"""The published shape of summary.json, and a check of it without any library.

The shape is summary.schema.json beside this file. `check` understands exactly the words that it uses, and refuses any
other, so that a word added there cannot go unchecked.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Mapping

SUMMARY: dict[str, Any] = json.loads(Path(__file__).with_name("summary.schema.json").read_text(encoding="utf-8"))

_WORDS = {"type", "properties", "required", "additionalProperties", "items", "enum", "minimum"}
_TYPES: Mapping[str, Any] = {
    "null": type(None),
    "integer": int,
    "number": (int, float),
    "string": str,
    "array": list,
    "object": dict,
}
_ABOUT = {"$schema", "$id", "title", "description"}


def check(document: Any, schema: Mapping[str, Any] | None = None, where: str = "summary") -> list[str]:
    """What in ``document`` does not fit, one text per fault with its place; empty: it fits."""
    rules = SUMMARY if schema is None else schema
    foreign = set(rules) - _WORDS - _ABOUT
    if foreign:
        raise ValueError(f"schema.py cannot check {sorted(foreign)}")
    if "enum" in rules and not any(type(document) is type(value) and document == value for value in rules["enum"]):
        return [f"{where}: {document!r} is none of {rules['enum']}"]
    wanted = rules.get("type")
    kinds = [wanted] if isinstance(wanted, str) else wanted
    if kinds and not any(kind in _kinds(document) for kind in kinds):
        return [f"{where}: is {_kinds(document)[0]}, not {' or '.join(kinds)}"]
    faults = []
    if "minimum" in rules and "number" in _kinds(document) and document < rules["minimum"]:
        faults.append(f"{where}: {document!r} is below {rules['minimum']}")
    if isinstance(document, dict):
        properties = rules.get("properties", {})
        faults += [f"{where}: {key} is missing" for key in rules.get("required", ()) if key not in document]
        more = rules.get("additionalProperties", True)
        for key, value in document.items():
            if key in properties:
                faults += check(value, properties[key], f"{where}.{key}")
            elif more is False:
                faults.append(f"{where}: {key} is not known")
            elif isinstance(more, Mapping):
                faults += check(value, more, f"{where}.{key}")
    elif isinstance(document, list) and "items" in rules:
        for index, value in enumerate(document):
            faults += check(value, rules["items"], f"{where}[{index}]")
    return faults


def _kinds(value: Any) -> list[str]:
    """The names that JSON Schema has for it, the narrowest first."""
    if isinstance(value, bool):
        return ["boolean"]
    whole = ["integer"] if isinstance(value, float) and value.is_integer() else []
    return [*whole, *(name for name, kind in _TYPES.items() if isinstance(value, kind))] or [type(value).__name__]
