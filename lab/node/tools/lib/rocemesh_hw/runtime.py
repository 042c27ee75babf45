"""What a node's SIMULATED card forgets at a restart: trust mode, flow control, default ToS. Directory LAB_RUN_DIR."""

from __future__ import annotations

import json
import os
from typing import Any, Dict

DEFAULT_DIR = "/run/rocemesh-lab"
FACTORY: Dict[str, Any] = {"trust": "pcp", "pfc": [0] * 8, "prio_tc": list(range(8))}


def directory() -> str:
    return os.environ.get("LAB_RUN_DIR") or DEFAULT_DIR


def _path() -> str:
    return os.path.join(directory(), "qos.json")


def load() -> Dict[str, Any]:
    """Interface -> its settings, and "tos" -> RDMA device -> default ToS."""
    try:
        with open(_path(), encoding="utf-8") as handle:
            content: Dict[str, Any] = json.load(handle)
            return content
    except FileNotFoundError:
        return {}


def interface(name: str) -> Dict[str, Any]:
    return {**FACTORY, **load().get(name, {})}


def store(content: Dict[str, Any]) -> None:
    os.makedirs(directory(), exist_ok=True)
    temporary = _path() + ".new"
    with open(temporary, "w", encoding="utf-8") as handle:
        json.dump(content, handle)
    os.replace(temporary, _path())
