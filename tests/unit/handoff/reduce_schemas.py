"""Reduces the published CRDs to what the manifests of a hand-off use, closed against unknown fields.

    python -m tests.unit.handoff.reduce_schemas KIND CRD.yaml > tests/unit/handoff/schemas/KIND.json

Descriptions go; a pod template becomes the mark CORE, since kubernetes-validate has the schemas of the core. What is
left out here is refused in a manifest, so the reduction can only be too strict.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import yaml

CORE = "x-core-pod-template"
_UNUSED = ("status", "volumeClaimPolicies", "initializer", "runtimePatches", "podGroupPolicy", "flux", "jax", "xgboost")
_KEPT = (
    "type",
    "enum",
    "format",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "required",
)


def reduce(node: dict[str, Any]) -> dict[str, Any]:
    inner = node.get("properties") or {}
    if "containers" in ((inner.get("spec") or {}).get("properties") or {}):
        names: dict[str, Any] = {name: {"type": "object"} for name in ("metadata", "spec")}
        return {CORE: True, "type": "object", "properties": names, "additionalProperties": False}
    if node.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    found = {key: node[key] for key in _KEPT if key in node}
    if inner:
        found["properties"] = {name: reduce(value) for name, value in inner.items() if name not in _UNUSED}
        found["additionalProperties"] = False
    elif isinstance(node.get("additionalProperties"), dict):
        found["additionalProperties"] = reduce(node["additionalProperties"])
    if isinstance(node.get("items"), dict):
        found["items"] = reduce(node["items"])
    return found


def main(kind: str, path: str) -> None:
    with open(path, encoding="utf-8") as stream:
        crd = yaml.safe_load(stream)
    assert crd["spec"]["names"]["kind"] == kind
    (version,) = [one for one in crd["spec"]["versions"] if one["storage"]]
    schema = reduce(version["schema"]["openAPIV3Schema"])
    # An object's own metadata is that of the core; the API server checks name, namespace, labels.
    schema["properties"]["metadata"] = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "pattern": "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", "maxLength": 63},
            "namespace": {"type": "string", "pattern": "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", "maxLength": 63},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "required": ["name", "namespace"],
        "additionalProperties": False,
    }
    schema["properties"]["apiVersion"] = {"const": f"{crd['spec']['group']}/{version['name']}"}
    schema["properties"]["kind"] = {"const": kind}
    json.dump(schema, sys.stdout, indent=1, sort_keys=True)
    print()


if __name__ == "__main__":
    main(*sys.argv[1:])
