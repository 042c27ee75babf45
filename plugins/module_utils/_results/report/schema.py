"""The published shape of summary.json, and a check of it without any library.

docs/schemas/summary.schema.json is this very dictionary (a unit test compares them). `check` understands exactly the
words that `SUMMARY` uses, and refuses any other, so that a word added here cannot go unchecked.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from ..._doctor.doctor import STATUS
from ..._doctor.model import CERTAINTIES
from ..._proof.verdict import VERDICTS
from ..._proof.witness import STATES
from ..figures import speed
from ..figures.benchmark_files import KINDS
from .rank_columns import FACTS


def _object(properties: Mapping[str, Any], optional: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    """An object with exactly these keys."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [key for key in properties if key not in optional],
        "additionalProperties": False,
        **more,
    }


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _map(values: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


def _or_null(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": [kind, "null"], **more}


_TEXT = {"type": "string"}
_FLAG = {"type": "boolean"}
_NUMBER = {"type": "number"}
_COUNT = {"type": "integer", "minimum": 0}
_SHARE = _or_null("number")
_ANY: dict[str, Any] = {}

_WITNESS = _object(
    {
        "name": _TEXT,  # those of this release: docs/problems.md
        "title": _TEXT,
        "state": {"enum": list(STATES)},
        "evidence": _TEXT,
        "decides": _FLAG,
    }
)
_LIMIT = _object({"name": _TEXT, "value": _or_null("number"), "unit": _TEXT, "how": _TEXT})
_COMPARISON = _object(
    {
        "what": _TEXT,
        "achieved": _or_null("number"),
        "limit": _or_null("number"),
        "limit_name": _TEXT,
        "unit": _TEXT,
        "how": _TEXT,
        "ratio": _SHARE,
        "exceeded": _FLAG,
        "physical": _FLAG,
    }
)
_COMMUNICATION = _object(
    {
        "step_s": _or_null("number"),
        "compute_s": _or_null("number"),
        "allreduce_s": _or_null("number"),
        "exposed_s": _or_null("number"),
        "exposed_share": _SHARE,
        "overlap": _SHARE,
        "how": _TEXT,
    }
)
_LAYER = _object(
    {
        "changed": _FLAG,
        "verified": _or_null("boolean"),
        "found": _ANY,
        "changes": _list(_TEXT),
        "simulated": _FLAG,
    }
)
_RANK = _object({fact.key: fact.schema for fact in FACTS})
_SPEED = _object(
    {
        "state": {"enum": list(speed.STATES)},
        "bus_gb_s": _or_null("number"),
        "link_gb_s": _or_null("number"),
        "share": _SHARE,
        "least_share": _NUMBER,
        "how": _TEXT,
        "why": _TEXT,
        "moved_bytes": _NUMBER,
        "slow_copies": _list(
            _object({"rank": _or_null("integer"), "host": _TEXT, "gb_s": _NUMBER, "usual_gb_s": _NUMBER})
        ),
    },
    type=["object", "null"],
)
_BENCHMARK = _object(
    {"simulated": _FLAG, "backend": _TEXT, "rows": _list({"type": "object"}), "problems": _list(_TEXT)}
)

_LINE = _object({"file": _TEXT, "line": _COUNT, "text": _TEXT})
_FINDING = _object(
    {
        "layer": _TEXT,
        "cause": _TEXT,  # docs/causes.md
        "certainty": {"enum": list(CERTAINTIES)},
        "means": _TEXT,
        "host": _TEXT,
        "hosts": _list(_TEXT),
        "rank": _or_null("integer"),
        "device": _TEXT,
        "evidence": _list(_LINE),
        "explains": _list(_TEXT),
        "next": _object({"where": _TEXT, "run": _TEXT, "cost": _COUNT}),
        "fix": _object({"what": _TEXT, "who": _TEXT, "role": _TEXT, "interrupts": _TEXT}),
        "rests_on": _list(_TEXT),
        "simulated": _FLAG,
        "accepted": _TEXT,  # the reason; empty: not accepted
    },
    optional=("accepted",),
)
_DOCTOR = _object(
    {
        "failed": _TEXT,
        "verdict": {"enum": [None, *STATUS]},
        "message": _TEXT,
        "settled": _TEXT,
        "findings": _list(_FINDING),
        "next": _list(_object({"where": _TEXT, "run": _TEXT, "cost": _COUNT, "look": _TEXT})),
        "asked": _list(_TEXT),
        "unknown": _list(_LINE),
        "notes": _list(_TEXT),
        "read": _list(_TEXT),
    },
    type=["object", "null"],
)

SUMMARY: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "https://github.com/rocemesh/multinode/blob/main/docs/schemas/summary.schema.json",
    "title": "summary.json of rocemesh.multinode",
    "description": (
        "What a run found, changed and measured. Rates are images per second, times are seconds unless the key says "
        "_ms, GB are 1e9 bytes, times of day are UTC. Format 1: keys may be added, none is renamed or dropped."
    ),
    **_object(
        {
            "format": {"enum": [1]},
            "run_id": _TEXT,
            "simulated": _FLAG,
            "verdict": _object(
                {
                    "state": {"enum": list(VERDICTS)},
                    "simulated": _FLAG,
                    "line": _TEXT,
                    "reasons": _list(_TEXT),
                    "besides": _list(_TEXT),
                    "witnesses": _list(_WITNESS),
                }
            ),
            "ranks": _COUNT,
            "images_per_second": _object(
                {"total": _or_null("number"), "per_rank": _list(_NUMBER), "sum_of_ranks": _or_null("number")}
            ),
            "agreement": _object({"ok": _or_null("boolean"), "relative_difference": _or_null("number")}),
            "rank_details": _list(_RANK),
            "hosts_rebooted": _list(_TEXT),
            "layers": _object(
                dict.fromkeys(("switch", "esxi", "vm", "nic", "container", "mesh", "run"), _LAYER),
            ),
            "started": _or_null("string"),
            "finished": _or_null("string"),
            "stages": _map({"type": "number", "minimum": 0}),
            "problems": _list(_object({"code": _TEXT, "message": _TEXT})),
            "workload": _map(_ANY),
            "versions": _map(_ANY),
            "path": _or_null("object"),
            "counters": _object({"rdma": _or_null("object"), "switch": _or_null("object")}),
            "fabric": _or_null("object"),
            "limits": _object(
                {
                    "given": _map(_ANY),
                    "sources": _map(_TEXT),
                    "limits": _list(_LIMIT),
                    "comparisons": _list(_COMPARISON),
                    "communication": _COMMUNICATION,
                    "gradient_traffic_bytes": _or_null("number"),
                    "notes": _list(_TEXT),
                    "in_words": _list(_object({"what": _TEXT, "text": _TEXT})),
                },
                optional=("sources", "in_words"),
            ),
            "benchmarks": _object(dict.fromkeys(KINDS, _BENCHMARK), optional=KINDS),
            "throughput_over_time": _or_null(
                "object",
                **{
                    key: value
                    for key, value in _object(
                        {
                            "x_unit": {"enum": ["s", "step"]},
                            "kind": {"enum": ["between_lines", "mean_since_warm_up"]},
                            "reason": _TEXT,
                            "every": _COUNT,
                            "ranks": _list(
                                _object(
                                    {
                                        "rank": _COUNT,
                                        "x": _list(_NUMBER),
                                        "images_per_second": _list(_NUMBER),
                                    }
                                )
                            ),
                        }
                    ).items()
                    if key != "type"
                },
            ),
            "doctor": _DOCTOR,
            "speed": _SPEED,
        },
        # Summaries of earlier releases lack it.
        optional=("counters", "fabric", "doctor", "speed"),
    ),
}

_WORDS = {"type", "properties", "required", "additionalProperties", "items", "enum", "minimum"}
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
    if kinds and not any(_is(document, kind) for kind in kinds):
        return [f"{where}: is {_kind(document)}, not {' or '.join(kinds)}"]
    faults = []
    if "minimum" in rules and _is(document, "number") and document < rules["minimum"]:
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


def _is(value: Any, kind: str) -> bool:
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "integer":
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return whole and not isinstance(value, bool)
    types = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    return isinstance(value, types[kind])


def _kind(value: Any) -> str:
    names = ("null", "boolean", "integer", "number", "string", "array", "object")
    return next((name for name in names if _is(value, name)), type(value).__name__)
